"""``history_`` in JSON: one list per round, which may have thousands of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .json_values import decode_value, encode_value
from .model_file import MAX_HISTORY
from .strict_json import Node


def encode_history(history: pd.DataFrame) -> list[list[Any]]:
    """One list per round; a float that is no number is null, infinity is text."""
    return [list(row) for row in zip(*(_encode_column(history[name]) for name in history), strict=True)]


def _encode_column(column: pd.Series[Any]) -> list[Any]:
    values: list[Any] = column.tolist()
    if column.dtype == np.float64 and np.isfinite(column.to_numpy()).all():
        return values
    return [None if type(value) is float and np.isnan(value) else encode_value(value, "history_") for value in values]


def decode_history(names: Node, rounds: Node, n_rounds: int) -> pd.DataFrame:
    """The reverse of :func:`encode_history`."""
    columns = [name.text() for name in names.items(MAX_HISTORY)]
    if len(set(columns)) < len(columns):
        names.fail("different names")
    rows = [row.values(len(columns), len(columns)) for row in rounds.items(n_rounds, n_rounds)]
    table = {}
    for i, (name, cells) in enumerate(zip(columns, zip(*rows, strict=True), strict=True)):
        table[name] = values = _decode_column(cells, rounds, i)
        if len(set(map(type, values))) > 1:
            rounds.fail(f"values of one type in the column {name[:50]!r}")
    return pd.DataFrame(table, index=pd.RangeIndex(1, n_rounds + 1, name="round"))


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
