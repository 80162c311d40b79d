"""Thresholds to choose from: one between any two neighbouring margins, and what each of them would give.

In the order of their margins the rows above a threshold are a suffix, so one pass over the rows counts for *all*
thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats, Integers, Positions

# So many counts are looked at together: the thresholds of many rows and many groups need not fit into memory at once.
MAX_COUNTS = 1 << 21


@dataclass(frozen=True)
class Candidates:
    """Thresholds worth trying, ascending, and the margins in order: entries of one cell each, rows or many of them.

    What it holds may be there only until the next round is looked at.
    """

    thresholds: Floats
    n_below: Integers  # how many of the entries are at or below each
    cells: NDArray[Any]  # of each entry, class * n_groups + group
    mass: Floats  # of each entry, empty for one each
    unit: float  # what a mass of one weighs
    totals: Floats  # weight per [group, class]

    def counts(self, at: Any = slice(None)) -> Floats:
        """``counts[threshold, group, y_true, y_pred]``, of some of the thresholds."""
        return to_counts(self._negatives_at(at), self.totals)

    @cached_property
    def negatives(self) -> Floats:
        """The weight at or below each threshold, ``[threshold, group, class]``."""
        return self._negatives_at(slice(None))

    def _negatives_at(self, at: Any) -> Floats:
        from .._engine.kernels.thresholds import count_below  # numba is needed only now

        n_below = np.atleast_1d(self.n_below[at])
        order = np.argsort(n_below, kind="stable")
        sums = np.empty((len(n_below), self.totals.size))
        count_below(self.cells, self.mass, n_below[order], sums)
        weights = np.empty(sums.shape)
        weights[order] = sums * self.unit
        negatives = in_groups(weights)
        return negatives[0] if np.ndim(self.n_below[at]) == 0 else negatives

    def parts(self) -> list[slice]:
        """All thresholds, so many at a time that their counts fit into memory."""
        step = max(MAX_COUNTS // (2 * self.totals.size), 1)
        return [slice(first, first + step) for first in range(0, len(self.thresholds), step)]

    def preference(self) -> Positions:
        """The candidates in the order in which equals are preferred: the nearest to 0, then the lower."""
        order: Positions = np.argsort(np.abs(self.thresholds), kind="stable")
        return order


def candidates(margin: Floats, cell: NDArray[Any], weight: Floats, totals: Floats, ends: bool = False) -> Candidates:
    """0 and the midpoints between neighbouring distinct margins (0 stands for the midpoint of the two around it).

    ``cell`` is class * n_groups + group, ``weight`` empty for equal weights. ``ends`` adds a threshold below and one
    above all margins.
    """
    from .._engine.kernels.thresholds import list_thresholds

    order = np.argsort(margin, kind="stable")
    margin = margin[order]
    thresholds, n_below = np.empty(len(margin) + 2), np.empty(len(margin) + 2, dtype=np.int64)
    n = list_thresholds(margin, margin, ends, thresholds, n_below)
    mass = weight[order] if len(weight) else np.empty(0)
    return Candidates(thresholds[:n], n_below[:n], cell[order], mass, 1.0, totals)


def in_groups(per_cell: Floats) -> Floats:
    """``[…, group, class]`` from what there is per cell, class * n_groups + group."""
    found: Floats = np.swapaxes(per_cell.reshape(*per_cell.shape[:-1], 2, per_cell.shape[-1] // 2), -1, -2)
    return found


def to_counts(negatives: Floats, totals: Floats) -> Floats:
    """``counts[…, group, y_true, y_pred]`` from the weight of what is predicted negative, and of all."""
    return np.stack([negatives, np.maximum(totals - negatives, 0.0)], axis=-1)
