"""All that a fitted model can be without refitting: every θ with every threshold, and the best of these points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats
from .._stats.rates import balanced_error_rate, error_rate
from ..notions import FairnessNotion
from .candidates import candidates
from .thresholds import undominated


@dataclass(frozen=True)
class SelectionData:
    """Rows of a known class and group, and their margin after each round.

    Nothing changes them, so a copy of a model shares them. A stored model shall hold no one's data: they are pickled as
    None, and to whatever else asks for their state (skops does) they are no rows.
    """

    cell: NDArray[Any]  # class * n_groups + group
    weight: Floats  # empty for equal weights
    n_groups: int
    margins: Callable[[], Iterator[Floats]]

    def __copy__(self) -> SelectionData:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SelectionData:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()

    def __getstate__(self) -> dict[str, Any]:
        return {"cell": np.empty(0, dtype=np.intp), "weight": np.empty(0), "n_groups": 0, "margins": None}

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def totals(self) -> Floats:
        """Weight per ``[group, class]``."""
        weight = self.weight if len(self.weight) else None
        sums = np.bincount(self.cell, weights=weight, minlength=2 * self.n_groups)
        return sums.astype(np.float64).reshape(2, self.n_groups).T

    def counts(self, positive: NDArray[np.bool_]) -> Floats:
        """``counts[group, y_true, y_pred]`` of predictions."""
        weight = self.weight if len(self.weight) else None
        sums = np.bincount(2 * self.cell.astype(np.intp) + positive, weights=weight, minlength=4 * self.n_groups)
        return sums.astype(np.float64).reshape(2, self.n_groups, 2).transpose(1, 0, 2)


Points = dict[str, NDArray[Any]]  # columns of a table; plain arrays, which any format can store


def frontier(
    selection: SelectionData, notion: FairnessNotion, c: float, group_thresholds: Floats | None = None
) -> Points:
    """The points (θ, threshold) that no other beats in balanced error and violation, by balanced error.

    ``group_thresholds[round, group]``, if given, adds to the thresholds common to all groups those of each round
    together with all shifts that are common to all groups; ``threshold`` then has a column per group.
    """
    group, totals = selection.cell % selection.n_groups, selection.totals
    common = np.zeros(selection.n_groups)
    parts: list[Points] = []
    for j, margin in enumerate(selection.margins()):
        for base in [common] if group_thresholds is None else [common, group_thresholds[j]]:
            shifted = margin if base is common else margin - base[group]
            found = candidates(shifted, selection.cell, selection.weight, totals, ends=True)
            counts = found.counts()
            ber, violation = balanced_error_rate(counts), notion.violation(counts)
            best = undominated(ber, violation, np.abs(found.thresholds))
            shift = found.thresholds[best]
            parts.append(
                {
                    "theta": np.full(len(best), j + 1),
                    "threshold": shift if group_thresholds is None else base + shift[:, None],
                    "ber": ber[best],
                    "er": error_rate(counts[best]),
                    "violation": violation[best],
                    "objective": notion.objective(counts[best], c),
                }
            )
    points = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    best = undominated(points["ber"], points["violation"])
    return {name: values[best] for name, values in points.items()}


def as_table(points: Points, groups: list[Any]) -> pd.DataFrame:
    """The points as a table, a threshold per group as a dictionary."""
    thresholds: Any = points["threshold"]
    if thresholds.ndim > 1:
        thresholds = [dict(zip(groups, row, strict=True)) for row in thresholds]
    return pd.DataFrame({**points, "threshold": thresholds})
