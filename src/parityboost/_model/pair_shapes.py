"""Two features' part in a model of trees: a table of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats, Positions
from .._engine.codes import MISSING
from .._table.binning import CategoricalColumn, Column
from .pairs import Pair
from .shapes import OTHER, intervals, number_values

MOST_NAMED = 3  # categories of a group that has to be named in a few words


@dataclass(frozen=True)
class PairAxis:
    """The values of one of two features, as far as the pair tells them apart; missing values come last.

    Attributes
    ----------
    feature : str
        Name of the column.
    kind : {"numeric", "categorical"}
        How its values are told apart.
    thresholds : tuple of float
        Where a number's score changes; a value equal to a threshold is on its left. Empty for categories.
    categories : tuple of tuples
        The groups of categories that share a score. Empty for numbers.
    other : int
        Which of the groups the categories are in that were rare or unseen in training; after the last one, if they
        count as missing.

    Examples
    --------
    >>> from parityboost.explain import PairAxis
    >>> age = PairAxis("age", "numeric", (27.5,), ())
    >>> age.labels, age.positions([20, 30, None]).tolist()
    (['≤ 27.5', '> 27.5', 'missing'], [0, 1, 2])
    """

    feature: str
    kind: str
    thresholds: tuple[float, ...]
    categories: tuple[tuple[Any, ...], ...]
    other: int = 0

    @property
    def labels(self) -> list[str]:
        """A name for each interval or group of categories, and for missing values."""
        if self.kind == "categorical":
            groups = enumerate(self.categories)
            return [*(_group_label(group, k == self.other) for k, group in groups), "missing"]
        return [*intervals(self.thresholds), "missing"]

    def positions(self, values: Any) -> Positions:
        """Where each value is on the axis."""
        column = pd.Series(values)
        if self.kind == "categorical":
            known = {value: k for k, group in enumerate(self.categories) for value in group}
            missing = len(self.categories)
            groups = [missing if pd.isna(value) else known.get(value, self.other) for value in column]
            return np.array(groups, dtype=np.intp)
        numbers = number_values(column, self.feature)
        steps = np.searchsorted(self.thresholds, numbers)
        return np.where(np.isnan(numbers), len(self.thresholds) + 1, steps)


@dataclass(frozen=True)
class PairFunction:
    """What two features add to the score together, beyond what each of them adds alone.

    The weighted mean over the training data is 0 for every value of either feature: the features' own step functions
    have all that does not depend on the other one.

    Attributes
    ----------
    rows, columns : PairAxis
        The values of the first and of the second feature.
    scores : ndarray of shape (n_rows, n_columns)
        What each combination adds to the score.
    weight : ndarray of shape (n_rows, n_columns)
        Sample weight of the training rows with each combination; without sample weights, their number. Where it is
        small, the score rests on little; where it is 0, on nothing.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, explain
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> y = [0, 1, 1, 0] * 10  # neither feature says anything alone
    >>> model = AdaFairClassifier("none", max_depth=2, n_estimators=1, validation_fraction=None)
    >>> model = model.fit(X, y, sensitive_features=["a", "b"] * 20)
    >>> pair = explain.pair_function(model, "x0", "x1")
    >>> bool(pair.at([0, 0], [0, 1])[0] < 0 < pair.at([0, 0], [0, 1])[1])
    True
    """

    rows: PairAxis
    columns: PairAxis
    scores: Floats
    weight: Floats

    @property
    def features(self) -> tuple[str, str]:
        """The names of the two."""
        return self.rows.feature, self.columns.feature

    def at(self, first: Any, second: Any) -> Floats:
        """Score of each instance, from its values of the two features."""
        scores: Floats = self.scores[self.rows.positions(first), self.columns.positions(second)]
        return scores

    @property
    def mean_abs(self) -> float:
        """How far the score is from 0, on average over the training data."""
        total = float(self.weight.sum())
        return float((self.weight * np.abs(self.scores)).sum() / total) if total > 0.0 else 0.0

    def frame(self) -> pd.DataFrame:
        """A table to read: each combination with its score and the training rows it rests on."""
        rows, columns = self.rows.labels, self.columns.labels
        first, second = (name if name not in ("score", "weight") else f"{name} " for name in self.features)
        return pd.DataFrame(
            {
                first: np.repeat(rows, len(columns)),
                second: np.tile(columns, len(rows)),
                "score": self.scores.ravel(),
                "weight": self.weight.ravel(),
            }
        )


def read_pair(pair: Pair, columns: tuple[Column, ...]) -> PairFunction:
    """The function of a pair, from its table per code."""
    first, second = pair.features
    rows, row_at = _read_axis(columns[first], pair.row_of)
    across, column_at = _read_axis(columns[second], pair.column_of)
    at = np.ix_(row_at, column_at)
    return PairFunction(rows, across, pair.scores[at], pair.weight[at])


def _read_axis(column: Column, cell_of: NDArray[np.uint8]) -> tuple[PairAxis, list[int]]:
    """The values of a column, and the cell of each interval or group, and of missing values."""
    cells, missing = cell_of[1 : column.n_bins + 1], int(cell_of[MISSING])
    if isinstance(column, CategoricalColumn):
        groups: dict[int, list[Any]] = {}
        for category, cell in zip(column.categories, cells.tolist(), strict=True):
            groups.setdefault(cell, []).append(category)
        other = int(cell_of[column.other])
        if other != missing:
            groups[other] = groups.pop(other, [])  # they come last
        cells_there = [*groups, missing]
        axis = PairAxis(column.name, "categorical", (), tuple(map(tuple, groups.values())), cells_there.index(other))
        return axis, cells_there
    changes = np.flatnonzero(cells[1:] != cells[:-1])
    found = [*cells[np.append(changes, len(cells) - 1)].tolist(), missing]
    return PairAxis(column.name, "numeric", tuple(column.edges[changes].tolist()), ()), found


def _group_label(categories: tuple[Any, ...], with_other: bool) -> str:
    """The categories of a group, or some of them; the last word is for those that were rare or unseen in training."""
    if with_other:
        return f"{', '.join(map(str, categories))}, other" if 0 < len(categories) <= 2 else OTHER
    if len(categories) <= MOST_NAMED:
        return ", ".join(map(str, categories))
    return f"{', '.join(map(str, categories[: MOST_NAMED - 1]))} and {len(categories) - MOST_NAMED + 1} more"
