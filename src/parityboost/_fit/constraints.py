"""What a user allows the native trees to do: which features may be combined, and in which direction one may act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._table.binning import Binner
from .._table.sources import listed


def read_partners(interaction_cst: Any, names: list[str]) -> NDArray[np.bool_]:
    """Sets of columns as ``[set, column]``: a tree asks only about columns of one set, or about one column.

    Columns that no set names are a set of their own, as in scikit-learn.
    """
    n_columns = len(names)
    if interaction_cst is None or (isinstance(interaction_cst, str) and interaction_cst == "pairwise"):
        return np.ones((1, n_columns), dtype=np.bool_)
    if isinstance(interaction_cst, str):  # "no_interactions"
        return np.zeros((0, n_columns), dtype=np.bool_)
    sets = []
    for members in interaction_cst:
        if isinstance(members, (str, bytes)) or not hasattr(members, "__iter__"):
            raise ValueError(
                f"interaction_cst must be a list of sets of columns, such as [{{{names[0]!r}}}], got {members!r} in it"
            )
        sets.append({_position(member, names, "interaction_cst") for member in members})
    sets.append(set(range(n_columns)) - set().union(*sets))

    partners = np.zeros((len(sets), n_columns), dtype=np.bool_)
    for k, members in enumerate(sets):
        partners[k, list(members)] = True
    return partners


def read_orders(monotonic_cst: Any, names: list[str], binner: Binner) -> NDArray[np.int8] | None:
    """1, -1 or 0 per column: whether the score may only rise or fall with it; None if no column is restricted."""
    if monotonic_cst is None:
        return None
    if isinstance(monotonic_cst, Mapping):
        given = {_position(key, names, "monotonic_cst"): value for key, value in monotonic_cst.items()}
    else:
        values = list(monotonic_cst)
        if len(values) != len(names):
            raise ValueError(f"monotonic_cst has {len(values)} entries, but X has {len(names)} columns")
        given = dict(enumerate(values))
    orders = np.zeros(len(names), dtype=np.int8)
    for column, order in given.items():
        if not isinstance(order, (int, np.integer)) or int(order) not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst of column {names[column]!r} must be 1 (the score may only rise with it), -1 (only "
                f"fall) or 0, got {order!r}"
            )
        if order and binner.columns[column].categorical:
            raise ValueError(
                f"monotonic_cst: column {names[column]!r} holds categories, which have no order; make it a number, or "
                "give it 0"
            )
        orders[column] = order
    return orders if orders.any() else None


def _position(column: Any, names: list[str], parameter: str) -> int:
    """A column by its name or position."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and type(column) is not bool and 0 <= int(column) < len(names):
        return int(column)
    raise ValueError(f"{parameter} names the column {column!r}, which X does not have; its columns are {listed(names)}")
