"""Records of figures (``plot/_chart``) as plotly's specifications: plain dicts that the page's script draws.

``var(--ink)`` is a colour of the page; its script puts in the value that the light or the dark theme has for it, and
cuts names that are too long for the width of the screen. Text of the user's data is escaped, because plotly reads tags
in it, and stands on numeric axes, because plotly would read "10" as a number.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..audit._text import Row
from ..plot._chart import Axis, Bars, Cells, Chart, Line, Points, Rule, Steps, Word, signed

ROW, MORE_LINES = 26, 16  # pixels of a row, and of each further bar in it
BAND = "rgba(0, 114, 178, 0.2)"  # ours, and what lies behind it
SHAPES = {"dot": "circle", "ring": "circle-open", "diamond": "diamond-open"}


def spec(chart: Chart, titles: bool = True) -> Row:
    """What plotly draws: traces and a layout."""
    layout = _layout(chart)
    traces = [trace for mark in chart.marks if type(mark) in _TRACES for trace in _TRACES[type(mark)](mark)]
    for mark in chart.marks:
        if isinstance(mark, Bars):
            layout["annotations"] += [
                _note(text, end, at, 4, 11)
                for text, end, at in zip(mark.texts, mark.ends.max(axis=0), mark.at, strict=True)
            ]
        elif isinstance(mark, Word):
            layout["annotations"].append(
                _note(f"<b>{escape(mark.text)}</b>", mark.x, mark.y, 0, 13) | {"xref": "paper"}
            )
        elif isinstance(mark, Rule):
            layout["shapes"].append(_rule(mark))
        elif isinstance(mark, Steps) and len(mark.heights):  # in the lowest fifth of the picture
            layout["yaxis2"] = {"range": [0, 5 * max(mark.heights)], "visible": False, "fixedrange": True}
            layout["yaxis"] |= {"overlaying": "y2", "tickmode": "auto", "nticks": 6}  # else it takes over those of y2
    if not titles:
        layout["margin"]["b"] = 28
        for axis in ("xaxis", "yaxis"):
            layout[axis].pop("title", None)
    return {"data": traces, "layout": layout}


def rounded(value: float | None) -> float | None:
    """Six digits are more than a screen shows."""
    return None if value is None else float(f"{value:.6g}")


def _all(values: Any) -> list[float | None]:
    return [rounded(value) for value in values]


def _colour(role: str) -> str:
    return f"var(--{role})"


def _hover(texts: Any) -> Row:
    if texts is None:
        return {"hoverinfo": "skip"}
    if isinstance(texts, str):
        return {"hovertemplate": f"{texts}<extra></extra>"}
    return {"customdata": [escape(text) for text in texts], "hovertemplate": "%{customdata}<extra></extra>"}


def _named(name: str) -> Row:
    return {"name": escape(name), "showlegend": True} if name else {"showlegend": False}


def _bars(mark: Bars) -> list[Row]:
    n = len(mark.values)
    hatched = {"pattern": {"shape": [""] * (n - mark.hatched) + ["/"] * mark.hatched}} if mark.hatched else {}
    hover = [f"{name}: {text}" for name, text in zip(mark.hover or (), mark.texts, strict=True)]
    return [
        {
            "type": "bar",
            "orientation": "h",
            "x": _all(mark.values),
            "y": _all(mark.at),
            "width": mark.thickness,
            "marker": {"color": [_colour(role) for role in mark.roles], **hatched},
            **({} if mark.start is None else {"base": _all(mark.start)}),
            **_hover(hover),
            **_named(mark.name),
        }
    ]


def _line(mark: Line) -> list[Row]:
    return [
        {
            "type": "scatter",
            "mode": "lines+markers" if mark.dots else "lines",
            "x": _all(mark.x),
            "y": _all(mark.y),
            "line": {"color": _colour(mark.role), "width": mark.width, "dash": mark.dash},
            **_hover(mark.hover),
            **_named(mark.name),
        }
    ]


def _points(mark: Points) -> list[Row]:
    colour = _colour(mark.roles) if isinstance(mark.roles, str) else [_colour(role) for role in mark.roles]
    trace: Row = {
        "type": "scatter",
        "mode": "markers+text" if mark.texts and any(mark.texts) else "markers",
        "x": _all(mark.x),
        "y": _all(mark.y),
        "marker": {
            "size": round(4 / 3 * mark.size),  # points are pixels there
            "color": colour,
            "symbol": SHAPES[mark.kind],
            "line": {"width": 2, "color": colour},
        },
        "cliponaxis": False,
        **_hover(mark.hover),
        **_named(mark.name),
    }
    if mark.texts:
        trace |= {"text": list(mark.texts), "textposition": "middle right"}
    if mark.low is not None and mark.high is not None:
        away = {"array": _all(np.subtract(mark.high, mark.x)), "arrayminus": _all(np.subtract(mark.x, mark.low))}
        look = {"color": _colour("muted"), "thickness": 1.5, "width": 4}
        trace["error_x"] = {"type": "data", "symmetric": False, **away, **look}
    return [trace]


def _steps(mark: Steps) -> list[Row]:
    def line(away: float, **more: Any) -> Row:
        values = np.array(mark.values) + (0.0 if mark.spread is None else away * np.array(mark.spread))
        shape = {"shape": "hv", "color": _colour("ours"), "width": 0 if away else 2.5}
        y = _all([*values, values[-1]])
        return {"type": "scatter", "mode": "lines", "x": _all(mark.edges), "y": y, "line": shape} | more

    traces = [line(0, **_hover("from %{x}: score %{y:+.2f}"))]
    if mark.spread is not None:
        traces[:0] = [line(-1, hoverinfo="skip"), line(1, hoverinfo="skip", fill="tonexty", fillcolor=BAND)]
    if len(mark.heights):
        middles, widths = np.add(mark.bins[1:], mark.bins[:-1]) / 2, np.diff(mark.bins)
        place = {"x": _all(middles), "y": _all(mark.heights), "width": _all(widths), "yaxis": "y2"}
        traces[:0] = [{"type": "bar", "marker": {"color": _colour("grid")}, "hoverinfo": "skip", **place}]
    return traces


def _cells(mark: Cells) -> list[Row]:
    """Cells of enough rows in the colour of their score, those of few in grey; those of none stay empty."""
    enough = mark.weight >= mark.few
    largest = rounded(float(np.abs(np.where(enough, mark.scores, 0.0)).max())) or 1.0
    scale = [[0, _colour("down")], [0.5, _colour("paper")], [1, _colour("ours")]]
    grey = [[0, _colour("grid")], [1, _colour("grid")]]
    scores, rows = np.vectorize(signed, otypes=[object])(mark.scores), np.vectorize("{:,.0f}".format)(mark.weight)
    hover = np.array(mark.names, dtype=object) + ": " + scores + ", " + rows + " rows"
    common = {"type": "heatmap", "texttemplate": "%{text}", "textfont": {"size": 11}, "hoverongaps": False}
    common |= {"hovertemplate": "%{customdata}<extra></extra>", "showscale": False, "xgap": 1, "ygap": 1}
    common["customdata"] = np.vectorize(escape, otypes=[object])(hover).tolist()
    return [
        common
        | {
            "z": np.where(there, np.vectorize(rounded)(mark.scores), np.array(None)).tolist(),
            "text": np.where(there, scores + "<br>" + rows, "").tolist(),
            **colours,
        }
        for there, colours in (
            (enough, {"colorscale": scale, "zmin": -largest, "zmax": largest}),
            ((mark.weight > 0) & ~enough, {"colorscale": grey}),
        )
    ]


_TRACES: dict[type, Any] = {Bars: _bars, Line: _line, Points: _points, Steps: _steps, Cells: _cells}


def _rule(mark: Rule) -> Row:
    across, along = ("x", "y") if mark.y is None else ("y", "x")
    at = rounded(mark.x if mark.y is None else mark.y)
    ends = {f"{along}ref": "paper", f"{along}0": 0, f"{along}1": 1, f"{across}0": at, f"{across}1": at}
    line = {"color": _colour(mark.role), "width": 1, "dash": mark.dash}
    return {"type": "line", "layer": "below" if mark.role == "grid" else "above", "line": line, **ends}


def _note(text: str, x: float, y: float, shift: int, size: int) -> Row:
    look = {"xanchor": "left", "showarrow": False, "xshift": shift, "font": {"size": size}}
    return {"text": text, "x": rounded(x), "y": rounded(y), **look}


def _axis(axis: Axis) -> Row:
    found: Row = {"gridcolor": _colour("grid"), "zerolinecolor": _colour("muted"), "linecolor": _colour("muted")}
    found |= {"fixedrange": True, "automargin": True}
    if axis.title:
        found["title"] = {"text": escape(axis.title), "font": {"size": 12}, "standoff": 14}
    if axis.names is not None:
        names = {"tickvals": _all(axis.places), "ticktext": [escape(name) for name in axis.names]}
        found |= names | {"showgrid": False, "zeroline": False}
    if axis.range is not None:
        found["range"] = _all(axis.range)
    if axis.bounds is not None:
        found |= {"zeroline": False, "showgrid": False}
    if axis.percent:
        found["tickformat"] = ".0%"
    if axis.from_zero:
        found["rangemode"] = "tozero"
    return found


def _layout(chart: Chart) -> Row:
    """What all charts share; nothing can be dragged, so that a finger scrolls the page."""
    x, y = _axis(chart.x), _axis(chart.y)
    rows = len(chart.y.names or ())
    bars = [mark for mark in chart.marks if isinstance(mark, Bars)]
    if chart.y.names is not None:
        y["range"] = [max(chart.y.places, default=0) + 0.6, -0.6]
    if bars and chart.x.range is None:
        ends = np.concatenate([[0.0], *(mark.ends.ravel() for mark in bars)])
        low, high = float(ends.min()), float(ends.max())
        size = high - low or 1.0  # right of the bars is room for their numbers, also on a phone
        x |= {"range": _all([low - (0.06 * size if low < 0 else 0.0), high + 0.4 * size]), "nticks": 5}
    if any(isinstance(mark, Cells) for mark in chart.marks):
        x["range"], y["range"] = [-0.5, len(chart.x.names or ()) - 0.5], [rows - 0.5, -0.5]
    return {
        "height": round(chart.pixels or (ROW + MORE_LINES * (chart.lines - 1)) * rows + 70 + 30 * chart.legend),
        "margin": {"l": 10, "r": 24, "t": 12, "b": 44},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": _colour("ink"), "size": 13, "family": "system-ui, sans-serif"},
        "hoverlabel": {"bgcolor": _colour("paper"), "bordercolor": _colour("muted"), "font": {"color": _colour("ink")}},
        "dragmode": False,
        "barmode": "overlay",
        "showlegend": chart.legend,
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "xaxis": x,
        "yaxis": y,
        "annotations": [],
        "shapes": [],
    }
