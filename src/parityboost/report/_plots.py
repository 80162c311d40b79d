"""The report's charts as plotly figure specifications: plain dicts, with colours by the names of the page's style.

``var(--ink)`` is a colour of the page; its script puts in the value that the light or the dark theme has for it. Text
of the user's data is escaped, because plotly reads tags in it, and stands on numeric axes, because plotly would read
"10" as a number.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from . import _tables
from ._tables import Row, Table

MAX_BARS = 20
SERIES = tuple(f"var(--series-{i})" for i in range(1, 7))
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


def groups(report: Row, attribute: str, at: int) -> Figure:
    """Rates of the groups with their intervals, one block of rows per rate."""
    rows = _tables.of(report["audit"]["groups"], attribute)
    rates = {name: _tables.RATE_NAMES[name] for name in ("selection_rate", "tpr", "fpr", "accuracy")}
    traces, ticks, labels, notes, y = [], [], [], [], 0.0
    for name, title in rates.items():
        notes.append(_note(title, y))
        shown = [row for row in rows if row[name] is not None]
        places = [y + 1 + i for i in range(len(shown))]
        y += len(shown) + 1.3
        ticks += places
        labels += [_label(row["group"]) for row in shown]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [_round(row[name]) for row in shown],
                "y": places,
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_round(row[f"{name}_upper"] - row[name]) for row in shown],
                    "arrayminus": [_round(row[name] - row[f"{name}_lower"]) for row in shown],
                    "color": MUTED,
                    "thickness": 1.5,
                    "width": 4,
                },
                "marker": {"size": 10, "color": [SERIES[i % len(SERIES)] for i in range(len(shown))]},
                "customdata": [escape(f"{row['group']}: {title} {_tables.rate(row, name)}") for row in shown],
                "hovertemplate": "%{customdata}<extra></extra>",
                "showlegend": False,
            }
        )
    layout = _layout(ROW * y + 70)
    layout["xaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    layout["yaxis"] |= {
        "tickvals": ticks,
        "ticktext": labels,
        "range": [y - 0.6, -0.7],
        "showgrid": False,
        "zeroline": False,
    }
    layout["annotations"] = notes
    caption = (
        f"Rates in each group of {attribute}. The line through a dot is its interval; where lines of two groups do not "
        "overlap, chance is an unlikely explanation of the difference."
    )
    return Figure(f"groups-{at}", f"Rates by group of {attribute}", caption, {"data": traces, "layout": layout}, None)


def reliability(report: Row, attribute: str, at: int) -> Figure:
    """Score against outcome, one line per group."""
    rows = _tables.of(report["audit"]["reliability"], attribute)
    names = list(dict.fromkeys(row["group"] for row in rows))
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [0, 1],
            "y": [0, 1],
            "line": {"color": MUTED, "width": 1, "dash": "dot"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
    for i, name in enumerate(names):
        own = [row for row in rows if row["group"] == name]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": _label(name),
                "x": [_round(row["mean_score"]) for row in own],
                "y": [_round(row["observed"]) for row in own],
                "line": {"color": SERIES[i % len(SERIES)], "width": 2, "dash": _dash(i)},
                "customdata": [escape(f"{name}: {row['n']:,} rows") for row in own],
                "hovertemplate": "%{customdata}<br>score %{x:.1%}, positive %{y:.1%}<extra></extra>",
            }
        )
    layout = _layout(360, legend=len(names))
    for axis, title in (("xaxis", "mean score"), ("yaxis", "share of true positives")):
        layout[axis] |= {"range": [0, 1.02], "tickformat": ".0%"} | _axis_title(title)
    caption = (
        f"Scores against outcomes in each group of {attribute}. On the dotted line a score of 0.3 means that 30 % are "
        "positive. Where two groups’ lines differ, the same score means different things for them."
    )
    table = Table(
        f"Scores and outcomes, groups of {attribute}",
        [attribute, "Rows", "Mean score", "True positives (interval)"],
        [
            [row["group"], f"{row['n']:,}", _tables.percent(row["mean_score"]), _tables.rate(row, "observed")]
            for row in rows
        ],
    )
    return Figure(
        f"reliability-{at}", f"What a score means, by {attribute}", caption, {"data": traces, "layout": layout}, table
    )


def importances(report: Row) -> Figure:
    """The features that matter most."""
    by = "mean_abs_deviation" if "mean_abs_deviation" in report["model"]["importances"][0] else "alpha_share"
    used = [row for row in report["model"]["importances"] if row[by] > 0]
    shown = used[:MAX_BARS]
    values = [_round(row[by]) for row in shown]
    layout = _layout(ROW * len(shown) + 70)
    layout["yaxis"] |= _rows([row["feature"] for row in shown])
    what = "how far it moves the score, on average" if by == "mean_abs_deviation" else "share of the learners’ weights"
    layout["xaxis"] |= _axis_title("share of weights" if by == "alpha_share" else "mean shift of the score")
    trace = _bars(values, [f"{value:.2f}" for value in values], [row["feature"] for row in shown], SERIES[0])
    most = f"the first {len(shown)} of " if len(shown) < len(used) else "all "
    caption = (
        f"Importance of {most}{len(used)} features that the model uses, of {len(report['model']['importances'])}: "
        f"{what}. {shown[0]['feature']} matters most."
        if shown
        else "The model uses no feature."
    )
    table = Table(
        "Importance of the features",
        ["Feature", "Moves the score by", "Share of weights"]
        if by != "alpha_share"
        else ["Feature", "Share of weights"],
        [
            [row["feature"], *([f"{row[by]:.3f}"] if by != "alpha_share" else []), _tables.percent(row["alpha_share"])]
            for row in report["model"]["importances"]
        ],
    )
    return Figure("importances", "Importance of the features", caption, {"data": [trace], "layout": layout}, table)


def shape(found: Row, at: int) -> Figure:
    """A step function: a line over numbers, bars for categories."""
    draw = _category_shape if found["kind"] == "categorical" else _number_shape
    data, layout, what = draw(found)
    table = _tables.shape(found)
    return Figure(f"shape-{at}", found["feature"], what, {"data": data, "layout": layout}, table)


def _number_shape(found: Row) -> tuple[list[Row], Row, str]:
    low, high = map(_round, found["range"])
    scores = found["scores"]
    x = [low, *found["thresholds"], high]
    missing_at = _round(high + 0.06 * (high - low))
    density = {
        "type": "bar",
        "x": [_round((a + b) / 2) for a, b in pairwise(found["edges"])],
        "y": [_round(share) for share in found["shares"]],
        "width": [_round(b - a) for a, b in pairwise(found["edges"])],
        "yaxis": "y2",
        "marker": {"color": GRID},
        "hoverinfo": "skip",
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": [_round(value) for value in x],
        "y": [_round(value) for value in [*scores, scores[-1]]],
        "line": {"color": SERIES[0], "width": 2.5, "shape": "hv"},
        "hovertemplate": "from %{x}: score %{y:+.2f}<extra></extra>",
    }
    missing = {
        "type": "scatter",
        "mode": "markers",
        "x": [missing_at],
        "y": [_round(found["missing"])],
        "marker": {"symbol": "diamond-open", "size": 10, "color": SERIES[1], "line": {"width": 2}},
        "cliponaxis": False,
        "hovertemplate": "missing: score %{y:+.2f}<extra></extra>",
    }
    layout = _layout(240)
    layout["showlegend"] = False
    layout["xaxis"] |= {"range": [low, missing_at], "zeroline": False, "showgrid": False}
    layout["margin"]["b"] = 28
    ends = [*scores, found["missing"], 0.0]
    bottom, top = min(ends), max(ends)
    pad = 0.08 * (top - bottom) or 1.0
    # The lowest quarter of the picture is for the histogram.
    layout["yaxis"] |= {"range": [_round(bottom - 0.35 * (top - bottom) - pad), _round(top + pad)], "zeroline": True}
    layout["yaxis2"] = {
        "range": [0, 4.5 * (max(found["shares"]) or 1)],
        "visible": False,
        "fixedrange": True,
    }
    layout["yaxis"] |= {"overlaying": "y2", "tickmode": "auto", "nticks": 6}  # else it takes over the ticks of y2
    best, worst = (ends_of(found, end) for end in (max, min))
    caption = (
        f"{found['feature']}: the score is highest {best} and lowest {worst}; a missing value adds "
        f"{_tables.score(found['missing'])}."
    )
    return [density, line, missing], layout, caption


def ends_of(found: Row, end: Any) -> str:
    """Where a step function is highest or lowest, in words."""
    scores, cuts = found["scores"], [_tables.number(t) for t in found["thresholds"]]
    i = scores.index(end(scores))
    value = _tables.score(scores[i])
    if not cuts:
        return f"everywhere ({value})"
    if i == 0:
        return f"up to {cuts[0]} ({value})"
    if i == len(scores) - 1:
        return f"above {cuts[-1]} ({value})"
    return f"between {cuts[i - 1]} and {cuts[i]} ({value})"


def _category_shape(found: Row) -> tuple[list[Row], Row, str]:
    """Bars per distinct score, highest first; missing and unseen values last."""
    by_score: dict[float, list[tuple[float, str]]] = {}
    for name, value, share in zip(found["categories"], found["scores"], found["shares"], strict=True):
        by_score.setdefault(value, []).append((share, name))
    most_rows = sorted(by_score, key=lambda value: -sum(share for share, _ in by_score[value]))[:MAX_BARS]
    bars, ends = [], []
    for value in sorted(most_rows, reverse=True):
        members = sorted(by_score[value], key=lambda member: -member[0])
        first, others = members[0][1], len(members) - 1
        more = f" and {others} other{'s' if others > 1 else ''}" if others else ""
        bars.append((_cut(first, LABEL - len(more)) + more, value, sum(share for share, _ in members)))
        ends.append(f"{first}{more} ({_tables.score(value)})")
    caption = f"{found['feature']}: the score is highest for {ends[0]} and lowest for {ends[-1]}."
    if len(by_score) > MAX_BARS:
        caption += f" The {MAX_BARS} scores that most rows have are drawn; all are in the table."
    bars.append(("missing or unseen", found["missing"], found["missing_share"]))
    values = [_round(value) for _, value, _ in bars]
    layout = _layout(ROW * len(bars) + 40)
    layout["margin"]["b"] = 28
    layout["yaxis"] |= _rows([name for name, *_ in bars])
    layout["xaxis"] |= _room_for_text(values)
    colours = [SERIES[0] if value > 0 else SERIES[1] for value in values]
    hover = [f"{name}, {_tables.percent(share)} of the rows" for name, _, share in bars]
    return [_bars(values, [_tables.score(value) for value in values], hover, colours)], layout, caption


def history(report: Row) -> Figure:
    """Balanced error and the gap after every round; the last trace and the last line are moved by the slider."""
    rounds, on = report["rounds"], report["rounds"]["chosen_on"]
    gap = _tables.TITLES.get(rounds["notion"], rounds["notion"])
    series = [("Balanced error, these data", rounds["ber"], SERIES[0], "solid")]
    series.append((f"{gap}, these data", rounds["violation"], SERIES[1], "solid"))
    if on is not None:
        series.append((f"Balanced error, {on}", rounds["chosen_ber"], SERIES[0], "dot"))
        series.append((f"{gap}, {on}", rounds["chosen_violation"], SERIES[1], "dot"))
    traces: list[Row] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": escape(name),
            "x": rounds["rounds"],
            "y": [None if value is None else _round(value) for value in values],
            "line": {"color": colour, "width": 2 if dash == "solid" else 1.3, "dash": dash},
            "hovertemplate": "θ = %{x}: %{y:.3f}<extra></extra>",
        }
        for name, values, colour, dash in series
    ]
    theta = rounds["theta"]
    at = rounds["rounds"].index(theta)
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [theta, theta],
            "y": [rounds["ber"][at], rounds["violation"][at]],
            "marker": {"size": 11, "color": INK},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    )
    layout = _layout(380, legend=len(series))
    layout["xaxis"] |= {"zeroline": False} | _axis_title("number of learners θ")
    layout["yaxis"] |= {"rangemode": "tozero"}
    line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": theta, "x1": theta}
    layout["shapes"] = [
        line | {"line": {"color": MUTED, "width": 1, "dash": "dash"}},
        line | {"line": {"color": INK, "width": 1}},
    ]
    chosen = (
        ""
        if on is None
        else (f" Dotted: on the {on} data, where the objective (error plus gap) is lowest at the chosen θ.")
    )
    caption = (
        f"Balanced error and {gap.lower()} on these data after every round; lower is better. The dashed upright line "
        f"is the chosen θ = {theta}.{chosen}"
    )
    table = Table(
        "Measures after every round",
        ["θ", *(name for name, *_ in series)],
        [
            [str(j), *("–" if values[i] is None else f"{values[i]:.3f}" for _, values, *_ in series)]
            for i, j in enumerate(rounds["rounds"])
        ],
    )
    return Figure("history", "Over the rounds of training", caption, {"data": traces, "layout": layout}, table)


def comparison(report: Row, attribute: str, at: int) -> Figure:
    """The measures of both models with their intervals."""
    rows = [
        row for row in report["comparison"]["rows"] if row["attribute"] == attribute and row["difference"] is not None
    ]
    traces = []
    for i, (which, name) in enumerate(
        (("baseline", report["comparison"]["baseline"]), ("model", report["model"]["name"]))
    ):
        parts = [row[which] for row in rows]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": _label(name),
                "x": [_round(100 * part["value"]) for part in parts],
                "y": [j + 0.16 * (2 * i - 1) for j in range(len(rows))],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_round(100 * (part["upper"] - part["value"])) for part in parts],
                    "arrayminus": [_round(100 * (part["value"] - part["lower"])) for part in parts],
                    "color": MUTED,
                    "thickness": 1.5,
                    "width": 4,
                },
                "marker": {
                    "size": 11,
                    "color": SERIES[1 - i],
                    "symbol": ("circle-open", "circle")[i],
                    "line": {"width": 2, "color": SERIES[1 - i]},
                },
                "customdata": [escape(_tables.interval(part, _tables.points)) for part in parts],
                "hovertemplate": "%{customdata} points<extra></extra>",
            }
        )
    layout = _layout(52 * len(rows) + 90, legend=2)
    layout["yaxis"] |= _rows([_tables.TITLES[row["measure"]].split(" (")[0] for row in rows])
    layout["xaxis"] |= {"rangemode": "tozero"} | _axis_title("difference in points")
    caption = (
        f"Differences between the groups of {attribute} with {report['comparison']['baseline']} and with "
        f"{report['model']['name']}, with intervals. Nearer to 0 is better."
    )
    return Figure(f"comparison-{at}", f"Gaps by {attribute}", caption, {"data": traces, "layout": layout}, None)


def gaps(found: Row, at: int) -> Figure:
    """What each feature adds to the difference between two groups, per model."""
    rows = sorted(found["features"], key=lambda row: -max(map(abs, row["parts"])))
    rows = [row for row in rows if any(row["parts"])]
    n_models = len(found["models"])
    shown = [("total", found["total"]), *((row["feature"], row["parts"]) for row in rows[:12])]
    if len(rows) > 12:
        rest = [sum(row["parts"][m] for row in rows[12:]) for m in range(n_models)]
        shown.append((f"{len(rows) - 12} other features", rest))
    traces = []
    for m, name in enumerate(found["models"]):
        values = [_round(parts[m]) for _, parts in shown]
        colour = SERIES[0] if m == n_models - 1 else SERIES[1]
        trace = _bars(values, [_tables.score(value) for value in values], [label for label, _ in shown], colour)
        traces.append(trace | {"name": _label(name), "showlegend": n_models > 1})
    layout = _layout((ROW + 16 * (n_models - 1)) * len(shown) + 100, legend=n_models if n_models > 1 else 0)
    layout["barmode"] = "group"
    layout["yaxis"] |= _rows([label for label, _ in shown])
    layout["xaxis"] |= _room_for_text([part for _, parts in shown for part in parts])
    layout["xaxis"] |= _axis_title("difference in mean score")
    about = {"all": "", "positives": ", of the truly positive rows", "negatives": ", of the truly negative rows"}
    totals = " and ".join(
        f"{_tables.score(total)} with {name}" for name, total in zip(found["models"], found["total"], strict=True)
    )
    caption = (
        f"Mean score of {found['high']} minus mean score of {found['low']}{about[found['rows']]}: {totals} in total. "
        f"A bar to the right is a feature that scores {found['high']} higher. The bars add up to the total exactly."
    )
    titles = {"all": "All rows", "positives": "Truly positive rows", "negatives": "Truly negative rows"}
    return Figure(f"gap-{at}", titles[found["rows"]], caption, {"data": traces, "layout": layout}, _tables.gaps(found))


def _bars(values: list[float], texts: list[str], hover: list[str], colour: Any) -> Row:
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


def _axis_title(text: str) -> Row:
    return {"title": {"text": text, "font": {"size": 12}}}


def _room_for_text(values: list[float]) -> Row:
    """The range of an axis of bars, with room for the numbers beside them."""
    low, high = min(0.0, *values), max(0.0, *values)
    pad = 0.36 * (high - low) or 1.0
    return {"range": [_round(low - (pad if low < 0 else 0.0)), _round(high + (pad if high > 0 else 0.0))], "nticks": 5}


def _rows(names: list[str]) -> Row:
    """A vertical axis of names."""
    n = len(names)
    return {
        "tickvals": list(range(n)),
        "ticktext": [_label(name) for name in names],
        "range": [n - 0.4, -0.6],
        "showgrid": False,
        "zeroline": False,
    }


def _label(text: str) -> str:
    """A name that fits beside a chart on a phone, as plotly shows it letter by letter."""
    return escape(_cut(text, LABEL))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: max(length, 8) - 1] + "…"


def _note(text: str, y: float) -> Row:
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


def _dash(i: int) -> str:
    return ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")[i % 6]


def _layout(height: float, legend: int = 0) -> Row:
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


def _round(value: float) -> float:
    """Six digits are more than a screen shows."""
    return float(f"{value:.6g}")


def figures(report: Row) -> dict[str, list[Figure]]:
    """All charts, by the part of the page they stand in."""
    attributes = report["data"]["attributes"]
    model, compared = report["model"], report["comparison"]
    audit = report["audit"]
    return {
        "groups": [groups(report, attribute, i) for i, attribute in enumerate(attributes)],
        "reliability": [reliability(report, a, i) for i, a in enumerate(attributes)] if audit["reliability"] else [],
        "importances": [importances(report)] if model and model["importances"] else [],
        "shapes": [shape(found, i) for i, found in enumerate(model["shapes"])] if model and model["shapes"] else [],
        "history": [history(report)] if report["rounds"] else [],
        "comparison": [comparison(report, a, i) for i, a in enumerate(attributes)] if compared else [],
        "gaps": [gaps(found, i) for i, found in enumerate(report["gaps"])],
    }


__all__ = ["Figure", "figures"]
