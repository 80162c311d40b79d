"""Thresholds per group in an ONNX graph, where they are no step function of one column.

The groups are those of one or more columns of X, or of inputs of their own. Each of these *parts* gets a number per
row: the position of its value among those that occur in groups, one more for any other. The numbers of all parts
together are the position in a table of thresholds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats
from .._model.groups import GroupSource
from .._table.grouping import band_names, read_edges
from .._table.inputs import sensitive_frame


class Part(NamedTuple):
    """One of the columns that make the groups."""

    values: list[Any]  # that occur in groups, each once
    edges: list[float] | None  # if its numbers are cut into bands
    missing: int | None  # which of the values stands for what is missing

    @property
    def is_text(self) -> bool:
        """Whether its input is text."""
        numbers = [value for k, value in enumerate(self.values) if k != self.missing]
        return self.edges is None and not all(isinstance(value, (bool, int, float)) for value in numbers)

    @property
    def texts(self) -> list[str]:
        """The values as an input of text has them, without the one that is missing."""
        return [str(value) for k, value in enumerate(self.values) if k != self.missing]


def read_parts(source: GroupSource) -> list[Part]:
    """The parts of the groups, in their order."""
    groups = [group if isinstance(group, tuple) else (group,) for group in source.groups.tolist()]
    cuts = [read_edges(name, edges) for name, edges in (source.grouping.bands or {}).items()]
    parts = []
    for values in zip(*groups, strict=True):
        distinct = list(dict.fromkeys(values))
        name = source.grouping.missing_group
        missing = distinct.index(name) if name in distinct else None
        known = {value for k, value in enumerate(distinct) if k != missing}
        edges = next((edges for edges in cuts if known <= set(band_names(edges))), None)
        parts.append(Part(distinct, edges, missing))
    return parts


def own_names(parts: list[Part]) -> list[str]:
    """What the inputs are called if the groups are no columns of X."""
    return ["sensitive_features"] if len(parts) == 1 else [f"s{j}" for j in range(len(parts))]


def own_inputs(parts: list[Part], sensitive_features: Any, n_rows: int) -> list[NDArray[Any]]:
    """The groups of rows as inputs of the graph."""
    frame = sensitive_frame(sensitive_features)
    if frame.shape != (n_rows, len(parts)):
        raise ValueError(
            f"sensitive_features must have {n_rows} rows and {len(parts)} columns, as the model's groups, got "
            f"{frame.shape[0]} and {frame.shape[1]}"
        )
    found = []
    for j, part in enumerate(parts):
        column = frame.iloc[:, j]
        if part.is_text:
            texts = column.astype(object).map(str, na_action="ignore")
            found.append(texts.fillna(missing_text(part.texts)).to_numpy(dtype=object))
        else:
            found.append(pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan))
    return found


def missing_text(texts: list[str]) -> str:
    """The text that stands for a missing value among the texts of categories."""
    return next(text for text in ("", *(f"missing {i}" for i in range(len(texts)))) if text not in texts)


def add_thresholds(graph: Any, source: GroupSource, parts: list[Part], inputs: list[Any], thresholds: Floats) -> str:
    """The node that has minus the threshold of each row; ``inputs`` are the name and missing text of each part."""
    shape = [len(part.values) + 1 for part in parts]
    table = np.full(shape, source.mean(thresholds))
    groups = [group if isinstance(group, tuple) else (group,) for group in source.groups.tolist()]
    for group, threshold in zip(groups, thresholds.tolist(), strict=True):
        table[tuple(part.values.index(value) for part, value in zip(parts, group, strict=True))] = threshold
    position = None
    for j, (part, (name, missing)) in enumerate(zip(parts, inputs, strict=True)):
        stride = int(np.prod(shape[j + 1 :], dtype=np.int64))
        code = _code(graph, part, name, missing)
        scaled = graph.node("Mul", code, graph.constant(np.int64(stride)))
        position = scaled if position is None else graph.node("Add", position, scaled)
    return str(graph.lookup(position, -table.ravel()))


def _code(graph: Any, part: Part, name: str, missing: str) -> str:
    """The number of each row's value."""
    other = len(part.values)
    if part.is_text:
        keys = [missing if k == part.missing else str(value) for k, value in enumerate(part.values)]
        encoded = graph.node(
            "LabelEncoder",
            name,
            domain="ai.onnx.ml",
            keys_strings=[key.encode("utf8") for key in keys],
            values_int64s=list(range(other)),
            default_int64=other,
        )
        return str(graph.node("Squeeze", encoded, graph.constant([1])))
    is_missing = graph.node("IsNaN", name)
    if part.edges is not None:  # a number at an edge is in the band above it
        names = band_names(part.edges)
        of_band = [part.values.index(band) if band in part.values else other for band in names]
        above = graph.count(graph.node("LessOrEqual", graph.constant(np.array(part.edges)), name))
        gap = graph.count(is_missing, [len(names)])  # NaN is above no edge
        table = [*of_band, other if part.missing is None else part.missing]
        return str(graph.lookup(graph.node("Add", above, gap), np.array(table)))
    known = [k for k in range(other) if k != part.missing]
    same = graph.node("Equal", name, graph.constant(np.array([_number(part.values[k]) for k in known])))
    weights = [(other if part.missing is None else part.missing) - other, *(k - other for k in known)]
    chosen = graph.count(graph.node("Concat", is_missing, same, axis=1), weights)
    return str(graph.node("Add", chosen, graph.constant(np.int64(other))))


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(
            f"group {value!s:.20}… is beyond the numbers of ONNX, which has no larger than 1.8e308"
        ) from None
