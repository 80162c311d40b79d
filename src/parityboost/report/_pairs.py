"""The pairs of features that a model of trees combines: what the report knows about them, and how it draws them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import explain
from .._table.weights import read_weights
from ..estimators import AdaFairClassifier
from . import _plot_parts as draw
from . import _tables
from ._plot_parts import DOWN, GRID, LABEL, OURS, Figure
from ._tables import Row, Table

MAX_PAIRS = 6
MAX_VALUES = 10  # of a feature that are drawn
FEW_ROWS = 20  # a cell of fewer is grey


def describe(model: AdaFairClassifier, X: Any, weights: Any) -> Row:
    """The pairs that matter most, and how much of the score pairs carry; ``None`` for a model without any."""
    functions = list(explain.pair_functions(model).values())
    if not functions:
        return {"pairs": None, "n_pairs": 0, "pair_share": None}
    parts = explain.contributions(model, X).to_numpy()[:, :-1]
    row_weights = read_weights(weights, len(parts))
    alone, together = (
        _movement(part.sum(axis=1), row_weights) for part in np.split(parts, [model.n_features_in_], axis=1)
    )
    shown = [
        {
            "features": list(function.features),
            "rows": function.rows.labels,
            "columns": function.columns.labels,
            "scores": function.scores.tolist(),
            "weight": function.weight.tolist(),
            "mean_abs": function.mean_abs,
        }
        for function in functions[:MAX_PAIRS]
    ]
    share = together / (alone + together) if alone + together > 0 else 0.0
    return {"pairs": shown, "n_pairs": len(functions), "pair_share": share}


def _movement(scores: Any, weights: Any) -> float:
    """How far scores are from their mean, on average."""
    mean = np.average(scores, weights=weights)
    return float(np.average(np.abs(scores - mean), weights=weights))


def figure(found: Row, at: int) -> Figure:
    """A heat map: blue raises the score, orange lowers it; cells of few rows are grey, of none empty."""
    scores, weight = np.array(found["scores"]), np.array(found["weight"])
    rows, columns = _strongest(scores, weight), _strongest(scores.T, weight.T)
    at_shown = np.ix_(rows, columns)
    drawn, support = scores[at_shown], weight[at_shown]
    largest = float(np.abs(np.where(support >= FEW_ROWS, drawn, 0.0)).max()) or 1.0
    names = [draw.label(found["rows"][k]) for k in rows], [draw.label(found["columns"][k]) for k in columns]
    scale = [[0, DOWN], [0.5, "var(--paper)"], [1, OURS]]
    colours = {"colorscale": scale, "zmin": draw.rounded(-largest), "zmax": draw.rounded(largest)}
    traces = [
        _cells(drawn, support, support >= FEW_ROWS, names, colours),
        _cells(drawn, support, (support > 0) & (support < FEW_ROWS), names, {"colorscale": [[0, GRID], [1, GRID]]}),
    ]
    layout = draw.layout(40 * len(rows) + 90)
    axis = {"showgrid": False, "zeroline": False, "type": "linear"}
    layout["yaxis"] |= draw.named_rows([found["rows"][k] for k in rows])
    layout["xaxis"] |= axis | {
        "tickvals": list(range(len(columns))),
        "ticktext": names[1],
        "range": [-0.5, len(columns) - 0.5],
    }
    layout["yaxis"] |= {"range": [len(rows) - 0.5, -0.5]}
    first, second = found["features"]
    layout["yaxis"]["title"] = {**draw.axis_title(draw.label(first))["title"], "standoff": 14}
    layout["xaxis"] |= draw.axis_title(draw.label(second))
    high, low = (_where(found, end) for end in (np.argmax, np.argmin))
    caption = f"{first} and {second} together, beyond what each adds alone: highest {high}, lowest {low}."
    if ((support > 0) & (support < FEW_ROWS)).any():
        caption += f" Grey cells have fewer than {FEW_ROWS} training rows."
    if (support == 0).any():
        caption += " Empty cells have no training rows."
    if len(rows) < int((weight.sum(axis=1) > 0).sum()) or len(columns) < int((weight.sum(axis=0) > 0).sum()):
        caption += " The values with the strongest effect are drawn; all are in the table."
    title = f"{draw.cut(first, LABEL)} × {draw.cut(second, LABEL)}"
    return Figure(f"pair-{at}", title, caption, {"data": traces, "layout": layout}, _table(found))


def _cells(scores: Any, support: Any, shown: Any, names: tuple[list[str], list[str]], colours: Row) -> Row:
    """The cells that are shown in one way."""
    rows, columns = names
    text = [
        [f"{_tables.score(s)}<br>{w:,.0f}" if yes else "" for s, w, yes in zip(*cells, strict=True)]
        for cells in zip(scores, support, shown, strict=True)
    ]
    hover = [
        [f"{row}, {column}: {_tables.score(s)}, {w:,.0f} rows" for column, s, w in zip(columns, *cells, strict=True)]
        for row, *cells in zip(rows, scores, support, strict=True)
    ]
    return {
        "type": "heatmap",
        "z": [
            [draw.rounded(float(s)) if yes else None for s, yes in zip(*cells, strict=True)]
            for cells in zip(scores, shown, strict=True)
        ],
        "text": text,
        "texttemplate": "%{text}",
        "textfont": {"size": 11},
        "customdata": hover,
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        **colours,
    }


def _strongest(scores: Any, weight: Any) -> list[int]:
    """The rows of a table to draw: those with training rows that change the score most, in their order."""
    effect = (np.abs(scores) * weight).sum(axis=1)
    there = [k for k in np.argsort(-effect, kind="stable").tolist() if weight[k].any()]
    return sorted(there[:MAX_VALUES]) or [0]


def _where(found: Row, end: Any) -> str:
    """The cell of enough rows that has the highest or lowest score, in words."""
    scores, weight = np.array(found["scores"]), np.array(found["weight"])
    enough = weight >= FEW_ROWS if (weight >= FEW_ROWS).any() else weight > 0
    worst = -np.inf if end is np.argmax else np.inf
    i, j = np.unravel_index(end(np.where(enough, scores, worst)), scores.shape)
    (first, second), value = found["features"], _tables.score(float(scores[i, j]))
    return f"for {first} {found['rows'][i]} and {second} {found['columns'][j]} ({value})"


def _table(found: Row) -> Table:
    first, second = found["features"]
    rows = [
        [row, column, _tables.score(score), f"{weight:,.0f}"]
        for row, scores, weights in zip(found["rows"], found["scores"], found["weight"], strict=True)
        for column, score, weight in zip(found["columns"], scores, weights, strict=True)
        if weight > 0
    ]
    return Table(f"What {first} and {second} add together", [first, second, "Score", "Training rows"], rows, text=2)


def sentence(model: Row) -> str:
    """How much of the score pairs carry."""
    shown = len(model["pairs"])
    most = "" if shown == model["n_pairs"] else f" The {shown} that matter most are drawn."
    return (
        f"The trees also combine features two at a time: {model['n_pairs']} pairs, which carry "
        f"{_tables.percent(model['pair_share'])} of what moves the score from row to row; single features carry the "
        f"rest.{most} What a feature does on its own is in its curve above, so the cells of a row or column of a "
        "picture average to 0 over the training data."
    )
