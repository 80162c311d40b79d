"""``history_`` in JSON: one list per round, which may have thousands of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._model.prediction import History
from .json_values import decode_value, encode_value
from .model_file import MAX_HISTORY
from .strict_json import Node


def encode_history(history: History) -> list[list[Any]]:
    """One list per round; a float that is no number is null, infinity is text."""
    return [list(row) for row in zip(*map(_encode_column, history.values()), strict=True)]


def _encode_column(column: Any) -> list[Any]:
    values: list[Any] = list(column) if isinstance(column, list) else column.tolist()
    if not isinstance(column, list) and column.dtype == np.float64 and np.isfinite(column).all():
        return values
    return [None if type(value) is float and np.isnan(value) else encode_value(value, "history_") for value in values]


def decode_history(names: Node, rounds: Node, n_rounds: int) -> History:
    """The reverse of :func:`encode_history`."""
    columns = [name.text() for name in names.items(MAX_HISTORY)]
    if len(set(columns)) < len(columns):
        names.fail("different names")
    rows = [row.values(len(columns), len(columns)) for row in rounds.items(n_rounds, n_rounds)]
    table: History = {}
    for i, (name, cells) in enumerate(zip(columns, zip(*rows, strict=True), strict=True)):
        values = _decode_column(cells, rounds, i)
        if len(set(map(type, values))) > 1:
            rounds.fail(f"values of one type in the column {name[:50]!r}")
        table[name] = values if type(values[0]) is str else np.array(values)
    return table


def _decode_column(cells: Sequence[Any], rounds: Node, i: int) -> list[Any]:
    """Column i: where something is wrong is looked for only if something is."""
    if set(map(type, cells)) <= {float, type(None)}:
        values = np.array(cells, dtype=np.float64)  # null is NaN
        if not np.isinf(values).any():  # 1e999
            return list(values.tolist())
    return [_decode_measure(Node(cell, f"{rounds.where}[{j}][{i}]")) for j, cell in enumerate(cells)]


def _decode_measure(node: Node) -> Any:
    value = np.nan if node.value is None else decode_value(node)
    if type(value) not in (bool, int, float, str):
        node.fail("a number, text or null")
    return value
