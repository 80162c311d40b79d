"""One person explained: how the values of a row move its score away from that of an average row."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd

from .. import explain
from .._io.json_values import to_plain
from ..estimators import AdaFairClassifier
from . import _plot_parts as draw
from . import _tables
from ._model import no_tables
from ._plot_parts import DOWN, INK, MUTED, OURS, ROW, Figure
from ._tables import Row, Table

TOP = 10


def describe(model: AdaFairClassifier, X: Any, y: Any, weights: Any, person: Any) -> Row | None:
    """The parts of the score of a row, given by its position, compared with the mean of all rows."""
    if person is None:
        return None
    n = len(X)
    if isinstance(person, bool) or not isinstance(person, (int, np.integer)) or not 0 <= person < n:
        raise ValueError(f"person must be the position of a row, from 0 to {n - 1}, got {person!r}")
    problem = no_tables(model)
    if problem is not None:
        raise ValueError(f"one person cannot be explained: {problem}")
    all_parts = explain.contributions(model, X)
    mean = pd.Series(np.average(all_parts.to_numpy(), axis=0, weights=weights), index=all_parts.columns)
    own = (all_parts.iloc[person] - mean).iloc[:-1]
    values = X.iloc[person] if isinstance(X, pd.DataFrame) else pd.Series(np.asarray(X)[person])
    known = dict(zip(own.index, values.tolist(), strict=False))  # pairs of features come after the features
    score = float(all_parts.iloc[person].sum())
    order = own.abs().sort_values(ascending=False, kind="stable").index
    return {
        "row": int(person) + 1,
        "score": score,
        "mean": float(mean.sum()),
        "predicted": to_plain(model._outcomes[int(score > 0)]),
        "true": to_plain(np.asarray(y)[person]),
        "parts": [
            {"feature": name, "value": _text(known[name]) if name in known else None, "part": float(own[name])}
            for name in order
            if own[name] != 0
        ],
    }


def _text(value: Any) -> str:
    if pd.isna(value):
        return "missing"
    return _tables.number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def figure(found: Row, positive: Any) -> Figure:
    """A waterfall from the mean score to the row's own."""
    shown, rest = found["parts"][:TOP], found["parts"][TOP:]
    bars = [(_named(part), part["part"]) for part in shown]
    if rest:
        bars.append((f"{len(rest)} others", sum(part["part"] for part in rest)))
    starts = found["mean"] + np.cumsum([0.0, *(part for _, part in bars)])[:-1]
    names = ["an average row", *(name for name, _ in bars), "this row"]
    at = list(range(1, len(bars) + 1))
    traces: list[Row] = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [draw.rounded(part) for _, part in bars],
            "base": [draw.rounded(start) for start in starts.tolist()],
            "y": at,
            "text": [_tables.score(part) for _, part in bars],
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {"color": [OURS if part > 0 else DOWN for _, part in bars]},
            "customdata": [escape(f"{name}: {_tables.score(part)}") for name, part in bars],
            "hovertemplate": "%{customdata}<extra></extra>",
            "showlegend": False,
        },
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [draw.rounded(found["mean"]), draw.rounded(found["score"])],
            "y": [0, len(bars) + 1],
            "text": [_tables.score(found["mean"]), _tables.score(found["score"])],
            "textposition": "middle right",
            "marker": {"size": 11, "color": INK},
            "hoverinfo": "skip",
            "showlegend": False,
        },
    ]
    layout = draw.layout(ROW * len(names) + 70)
    layout["yaxis"] |= draw.named_rows(names)
    ends = [0.0, found["mean"], *(starts + np.array([part for _, part in bars])).tolist()]
    low, high = min(ends), max(ends)
    size = high - low or 1.0  # with room for the numbers on either side, also on a phone
    layout["xaxis"] |= {"range": [draw.rounded(low - 0.4 * size), draw.rounded(high + 0.3 * size)], "nticks": 5}
    layout["xaxis"] |= draw.axis_title("score")
    layout["shapes"] = [
        {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": 0, "x1": 0, "line": {"color": MUTED, "width": 1}}
    ]
    caption = (
        f"Row {found['row']} has the score {_tables.score(found['score'])} and is predicted “{found['predicted']}”; "
        f"its true label is “{found['true']}”. From the mean score of all rows, {_tables.score(found['mean'])}, each "
        f"bar shows how far a value of this row moves the score: to the right speaks for “{positive}”, which is "
        "predicted above 0."
    )
    table = Table(
        f"How the score of row {found['row']} comes about",
        ["Value", "Moves the score by"],
        [
            ["an average row", _tables.score(found["mean"])],
            *([_named(part), _tables.score(part["part"])] for part in found["parts"]),
            ["this row", _tables.score(found["score"])],
        ],
    )
    spec = {"data": traces, "layout": layout}
    return Figure("person", f"Row {found['row']}, step by step", caption, spec, table)


def _named(part: Row) -> str:
    return part["feature"] if part["value"] is None else f"{part['feature']} = {part['value']}"
