"""What the charts share: colours, bars, names of rows, a bare layout.

``var(--ink)`` is a colour of the page; its script puts in the value that the light or the dark theme has for it. Text
of the user's data is escaped, because plotly reads tags in it, and stands on numeric axes, because plotly would read
"10" as a number.
"""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from ._tables import Row, Table

MAX_BARS = 20
# Models and groups have no colour in common, here and in parityboost.plot: a plain model is grey, ours is blue.
BASELINE, OURS, DOWN = "var(--baseline)", "var(--ours)", "var(--down)"
BAND = "rgba(0, 114, 178, 0.2)"  # ours, and what lies behind it
GROUPS = tuple(f"var(--group-{i})" for i in range(1, 7))
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
INK, GRID, MUTED = "var(--ink)", "var(--grid)", "var(--muted)"
ROW = 26  # pixels
LABEL = 25  # letters


class Figure(NamedTuple):
    """A chart: its name on the page, what it shows in a sentence, its specification, its data as a table."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
    table: Table | None


def bars(values: list[float], texts: list[str], hover: list[str], colour: Any) -> Row:
    """Horizontal bars with their values beside them, the first one on top."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": list(range(len(values))),
        "text": texts,
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": colour},
        "customdata": [escape(text) for text in hover],
        "hovertemplate": "%{customdata}: %{text}<extra></extra>",
        "showlegend": False,
    }


def axis_title(text: str) -> Row:
    return {"title": {"text": text, "font": {"size": 12}}}


def room_for_text(values: list[float]) -> Row:
    """The range of an axis of bars, with room for the numbers beside them, also on a phone."""
    low, high = min(0.0, *values), max(0.0, *values)
    size = high - low or 1.0
    left = 0.5 * size if low < 0 else 0.0  # further left are the names of the rows
    return {"range": [rounded(low - left), rounded(high + (0.36 * size if high > 0 else 0.0))], "nticks": 5}


def named_rows(names: list[str]) -> Row:
    """A vertical axis of names."""
    n = len(names)
    return {
        "tickvals": list(range(n)),
        "ticktext": [label(name) for name in names],
        "range": [n - 0.4, -0.6],
        "showgrid": False,
        "zeroline": False,
    }


def label(text: str) -> str:
    """A name that fits beside a chart on a phone, as plotly shows it letter by letter."""
    return escape(cut(text, LABEL))


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: max(length, 8) - 1] + "…"


def note(text: str, y: float) -> Row:
    """A heading inside a chart."""
    return {
        "text": f"<b>{escape(text)}</b>",
        "xref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "showarrow": False,
        "font": {"size": 13},
    }


def layout(height: float, legend: int = 0) -> Row:
    """What all charts share; nothing can be dragged, so that a finger scrolls the page."""
    axis = {"gridcolor": GRID, "zerolinecolor": MUTED, "linecolor": MUTED, "fixedrange": True, "automargin": True}
    return {
        "height": round(height),
        "margin": {"l": 10, "r": 24, "t": 12, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "size": 13, "family": "system-ui, sans-serif"},
        "hoverlabel": {"bgcolor": "var(--paper)", "bordercolor": MUTED, "font": {"color": INK}},
        "dragmode": False,
        "bargap": 0.3,
        "showlegend": legend > 0,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }


def rounded(value: float) -> float:
    """Six digits are more than a screen shows."""
    return float(f"{value:.6g}")
