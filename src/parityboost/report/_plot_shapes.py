"""The charts of step functions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .._model.shapes import OTHER
from . import _plot_parts as draw
from . import _tables
from ._plot_parts import BAND, DOWN, GRID, LABEL, MAX_BARS, OURS, ROW, Figure
from ._tables import Row


def shape(found: Row, at: int) -> Figure:
    """A step function: a line over numbers, bars for categories."""
    make = _category_shape if found["kind"] == "categorical" else _number_shape
    data, layout, what = make(found)
    table = _tables.shape(found)
    return Figure(f"shape-{at}", found["feature"], what, {"data": data, "layout": layout}, table)


def _number_shape(found: Row) -> tuple[list[Row], Row, str]:
    low, high = map(draw.rounded, found["range"])
    scores = found["scores"]
    x = [low, *found["thresholds"], high]
    missing_at = draw.rounded(high + 0.06 * (high - low))
    density = {
        "type": "bar",
        "x": [draw.rounded((a + b) / 2) for a, b in pairwise(found["edges"])],
        "y": [draw.rounded(share) for share in found["shares"]],
        "width": [draw.rounded(b - a) for a, b in pairwise(found["edges"])],
        "yaxis": "y2",
        "marker": {"color": GRID},
        "hoverinfo": "skip",
    }
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": [draw.rounded(value) for value in x],
        "y": [draw.rounded(value) for value in [*scores, scores[-1]]],
        "line": {"color": OURS, "width": 2.5, "shape": "hv"},
        "hovertemplate": "from %{x}: score %{y:+.2f}<extra></extra>",
    }
    bands = _band(x, scores, found["spread"]) if found["spread"] is not None else []
    missing = {
        "type": "scatter",
        "mode": "markers",
        "x": [missing_at],
        "y": [draw.rounded(found["missing"])],
        "marker": {"symbol": "diamond-open", "size": 10, "color": DOWN, "line": {"width": 2}},
        "cliponaxis": False,
        "hovertemplate": "missing: score %{y:+.2f}<extra></extra>",
    }
    layout = draw.layout(240)
    layout["showlegend"] = False
    layout["xaxis"] |= {"range": [low, missing_at], "zeroline": False, "showgrid": False}
    layout["margin"]["b"] = 28
    wide = found["spread"] or [0.0]
    ends = [*(value + sign * apart for value, apart in zip(scores, wide, strict=False) for sign in (-1, 1))]
    ends += [*scores, found["missing"], 0.0]
    bottom, top = min(ends), max(ends)
    pad = 0.08 * (top - bottom) or 1.0
    # The lowest quarter of the picture is for the histogram.
    layout["yaxis"] |= {
        "range": [draw.rounded(bottom - 0.35 * (top - bottom) - pad), draw.rounded(top + pad)],
        "zeroline": True,
    }
    layout["yaxis2"] = {
        "range": [0, 4.5 * (max(found["shares"]) or 1)],
        "visible": False,
        "fixedrange": True,
    }
    layout["yaxis"] |= {"overlaying": "y2", "tickmode": "auto", "nticks": 6}  # else it takes over the ticks of y2
    best, worst = (_end_of(found, end) for end in (max, min))
    caption = (
        f"{found['feature']}: the score is highest {best} and lowest {worst}; a missing value adds "
        f"{_tables.score(found['missing'])}."
    )
    if bands:
        caption += " The band shows how far the trainings differ that the model is the mean of."
    return [density, *bands, line, missing], layout, caption


def _band(x: list[float], scores: list[float], spread: list[float]) -> list[Row]:
    """One standard deviation to either side of a step function."""
    edges = []
    for sign in (-1, 1):
        ends = [value + sign * apart for value, apart in zip(scores, spread, strict=True)]
        edges.append([draw.rounded(value) for value in [*ends, ends[-1]]])
    common = {
        "type": "scatter",
        "mode": "lines",
        "x": [draw.rounded(value) for value in x],
        "line": {"width": 0, "shape": "hv", "color": OURS},
        "hoverinfo": "skip",
    }
    return [{**common, "y": edges[0]}, {**common, "y": edges[1], "fill": "tonexty", "fillcolor": BAND}]


def _end_of(found: Row, end: Any) -> str:
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
    """Bars per distinct score, highest first; other categories and missing values last."""
    by_score: dict[float, list[tuple[float, str]]] = {}
    for name, value, share in zip(found["categories"], found["scores"], found["shares"], strict=True):
        by_score.setdefault(value, []).append((share, name))
    most_rows = sorted(by_score, key=lambda value: -sum(share for share, _ in by_score[value]))[:MAX_BARS]
    bars, ends = [], []
    for value in sorted(most_rows, reverse=True):
        members = sorted(by_score[value], key=lambda member: -member[0])
        first, others = members[0][1], len(members) - 1
        more = f" and {others} other{'s' if others > 1 else ''}" if others else ""
        bars.append((draw.cut(first, LABEL - len(more)) + more, value, sum(share for share, _ in members)))
        ends.append(f"{first}{more} ({_tables.score(value)})")
    caption = f"{found['feature']}: the score is highest for {ends[0]} and lowest for {ends[-1]}."
    if len(by_score) > MAX_BARS:
        caption += f" The {MAX_BARS} scores that most rows have are drawn; all are in the table."
    bars += [(OTHER, found["other"], found["other_share"]), ("missing", found["missing"], found["missing_share"])]
    values = [draw.rounded(value) for _, value, _ in bars]
    layout = draw.layout(ROW * len(bars) + 40)
    layout["margin"]["b"] = 28
    layout["yaxis"] |= draw.named_rows([name for name, *_ in bars])
    layout["xaxis"] |= draw.room_for_text(values)
    colours = [OURS if value > 0 else DOWN for value in values]
    hover = [f"{name}, {_tables.percent(share)} of the rows" for name, _, share in bars]
    return [draw.bars(values, [_tables.score(value) for value in values], hover, colours)], layout, caption
