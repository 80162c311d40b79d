"""Labels, groups and weights of partitions: what they are together, and then the cell of each row.

A partition may lack a class or a group, or have no rows. What is learnt from it are the distinct values; the rows stay
where they are, as a byte or two each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from .._arrays import Floats, Integers
from .._fit.samples import MassSums, measure_masses, whole_masses
from .._table.grouping import Grouping
from .._table.inputs import cells, check_length, label_values, read_groups, read_target, sensitive_frame
from .._table.weights import WeightSums, plain_weights


class RowFacts(NamedTuple):
    """What is to be known of the rows of a partition before they can be numbered."""

    n_rows: int
    n_counted: int  # of positive weight
    labels: NDArray[Any]  # distinct
    n_missing_labels: int
    groups: pd.DataFrame | None  # the combinations of sensitive values that occur
    missing: dict[Any, int]  # how many values of each sensitive column are
    weights: WeightSums | None


def read_facts(number: int, y: Any, sensitive: Any, weight: Any, bands: Any, names: list[str] | None) -> RowFacts:
    """Of one partition; ``names`` are those of sensitive columns of an Array."""
    y = column_or_1d(y)
    weights, keep = part_weights(number, weight, len(y))
    labels, missing = label_values(y if keep is None else y[keep])
    frame = _frame(number, sensitive, keep, len(y), names)
    groups = None
    absent: dict[Any, int] = {}
    if frame is not None:
        frame = Grouping(bands, None).apply(frame)
        absent = {name: int(frame.iloc[:, j].isna().sum()) for j, name in enumerate(frame.columns)}
        groups = frame.drop_duplicates()
    sums = None if weights is None else WeightSums.of(weights)
    n_counted = len(y) if keep is None else int(keep.sum())
    return RowFacts(len(y), n_counted, pd.unique(labels[~missing]), int(missing.sum()), groups, absent, sums)


class RowPlan(NamedTuple):
    """What turns labels, groups and weights into numbers, the same for all partitions."""

    classes: NDArray[Any]
    groups: NDArray[Any]
    grouping: Grouping
    exponent: int | None  # by which the weights are scaled; None if all are equal
    names: list[str] | None


class Rows(NamedTuple):
    """The rows of a partition: which of them count, and the cell and weight of each."""

    n_rows: int
    keep: NDArray[np.bool_] | None  # None for all
    cell: NDArray[Any]
    weights: Floats | None  # None for equal ones

    @property
    def positions(self) -> NDArray[np.intp]:
        """Of the rows that count, in the partition."""
        return np.arange(self.n_rows) if self.keep is None else np.flatnonzero(self.keep)

    def masses(self, exponent: int) -> Integers:
        """The weights as integers; empty for one each."""
        return np.empty(0, dtype=np.int64) if self.weights is None else whole_masses(self.weights, exponent)


def number_rows(number: int, y: Any, sensitive: Any, weight: Any, plan: RowPlan) -> Rows:
    """The rows of a partition in numbers."""
    y = column_or_1d(y)
    n_rows, n_groups = len(y), len(plan.groups)
    weights, keep = part_weights(number, weight, n_rows)
    if keep is not None:
        y = y[keep]
    small = np.min_scalar_type(2 * n_groups)
    if len(y) == 0:
        return Rows(n_rows, keep, np.empty(0, dtype=small), None if plan.exponent is None else np.empty(0))
    codes, _ = read_target(y, len(y), plan.classes)
    frame = _frame(number, sensitive, keep, n_rows, plan.names)
    if frame is None:
        group: Any = np.zeros(len(y), dtype=np.intp)
    else:
        group, _ = read_groups(plan.grouping.apply(frame), len(y), plan.groups)
    scaled = None
    if plan.exponent is not None and weights is not None:
        scaled = np.ldexp(weights if keep is None else weights[keep], plan.exponent)
    return Rows(n_rows, keep, cells(codes, group, n_groups), scaled)


def part_weights(number: int, weight: Any, n_rows: int) -> tuple[Floats | None, NDArray[np.bool_] | None]:
    """The weights, and which of them are positive if some are not."""
    if weight is None:
        return None, None
    try:
        weights = plain_weights(weight, n_rows)
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
    return weights, None if weights.all() else weights > 0


def _frame(number: int, sensitive: Any, keep: Any, n_rows: int, names: list[str] | None) -> pd.DataFrame | None:
    if sensitive is None:
        return None
    frame = sensitive_frame(sensitive)
    try:
        check_length("sensitive_features", len(frame), n_rows)
    except ValueError:
        raise ValueError(
            f"partition {number}: y has {n_rows} rows, sensitive_features {len(frame)}: they have to be divided alike"
        ) from None
    if names is not None:
        frame.columns = pd.Index(names)
    return frame if keep is None else frame[keep]


def count_cells(rows: Rows, n_groups: int) -> Integers:
    """How many rows that count there are of each cell."""
    return np.bincount(rows.cell, minlength=2 * n_groups)


def measure(rows: Rows, exponent: int) -> MassSums:
    """What the weights add up to in a unit."""
    assert rows.weights is not None
    return measure_masses(rows.weights, exponent)


def mass_per_cell(rows: Rows, held: Any, exponent: int, n_groups: int) -> Integers:
    """The sample weight of each cell, of all rows that count and of those that are held out."""
    masses = rows.masses(exponent)
    found = np.zeros((2, 2 * n_groups), dtype=np.int64)
    for part, chosen in enumerate((np.ones(len(rows.cell), dtype=np.bool_), held_mask(rows, held))):
        weights = masses[chosen] if len(masses) else None
        found[part] = np.bincount(rows.cell[chosen], weights=weights, minlength=2 * n_groups)
    return found


Held = bool | tuple[NDArray[np.uint8], ...]  # all or none, or packed bits per cell


def hold_out_ranks(counts: Integers, ranks: list[NDArray[Any]]) -> list[Held]:
    """Which rows of each partition are held out.

    ``counts[partition, cell]`` says how many rows there are, ``ranks[cell]`` which of all rows of a cell, in the order
    of the partitions.
    """
    firsts = np.cumsum(counts, axis=0) - counts
    marks: list[Held] = []
    held = []
    for cell, chosen in enumerate(ranks):
        mask = np.zeros(int(counts[:, cell].sum()), dtype=np.bool_)
        mask[chosen] = True
        held.append(mask)
    for p in range(len(counts)):
        marks.append(
            tuple(
                np.packbits(mask[first : first + n])
                for mask, first, n in zip(held, firsts[p].tolist(), counts[p].tolist(), strict=True)
            )
        )
    return marks


def held_mask(rows: Rows, held: Held) -> NDArray[np.bool_]:
    """Which of the rows that count are held out."""
    if isinstance(held, bool):
        return np.full(len(rows.cell), held)
    mask = np.zeros(len(rows.cell), dtype=np.bool_)
    for cell, bits in enumerate(held):
        mine = np.flatnonzero(rows.cell == cell)
        mask[mine] = np.unpackbits(bits, count=len(mine)).astype(np.bool_)
    return mask
