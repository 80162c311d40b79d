"""What a model is made of, to be read and drawn: a step function per feature, a table of scores per pair of features,
and where the values of a feature lie."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import MISSING, Floats, Positions
from .._model.tables import Pair
from .._notebook import bars
from .._table.binning import CategoricalColumn, Column
from .._table.sources import Source

OTHER = "any other"  # category, in tables and pictures
MOST_NAMED = 3  # categories of a group that has to be named in a few words


@dataclass(frozen=True)
class ShapeFunction:
    """What one feature adds to the score, for every value it can have.

    Attributes
    ----------
    feature : str
        Name of the column.
    kind : {"numeric", "categorical"}
        How its values are told apart.
    thresholds : tuple of float
        Where a numeric feature's score changes; a value equal to a threshold is on its left. Empty for categories.
    categories : tuple
        The categories seen in training. Empty for numbers.
    scores : tuple of float
        One for each of the ``len(thresholds) + 1`` steps, or one for each category.
    missing : float
        Score of a missing value.
    other : float or None, default=None
        Score of a category that did not occur in training, or that was too rare to be told apart. None for numbers.
    spread : tuple of float or None, default=None
        For an average of several trainings, how far these differ in each of the ``scores``: the standard deviation.

    Examples
    --------
    >>> from parityboost.explain import ShapeFunction
    >>> age = ShapeFunction("age", "numeric", (27.5, 60.5), (), (-0.5, 0.25, 0.125), -0.5)
    >>> age.at([20, 27.5, 30, None]).tolist()
    [-0.5, -0.5, 0.25, -0.5]
    >>> age.frame()
              value  score
    0        ≤ 27.5 -0.500
    1  (27.5, 60.5]  0.250
    2        > 60.5  0.125
    3       missing -0.500
    """

    feature: str
    kind: str
    thresholds: tuple[float, ...]
    categories: tuple[Any, ...]
    scores: tuple[float, ...]
    missing: float
    other: float | None = None
    spread: tuple[float, ...] | None = None

    @property
    def is_flat(self) -> bool:
        """Whether the score is the same for all values: the model does not use the feature."""
        return all(score == self.missing for score in self.scores) and self.other in (None, self.missing)

    def at(self, values: Any) -> Floats:
        """Score of each value."""
        groups = tuple((category,) for category in self.categories)
        axis = PairAxis(self.feature, self.kind, self.thresholds, groups, other=len(groups) + 1)
        beyond = self.missing if self.other is None else self.other
        scores: Floats = np.array([*self.scores, self.missing, beyond])[axis.positions(values)]
        return scores

    def _repr_html_(self) -> str:
        table = self.frame()
        return bars(f"What {self.feature} adds to the score", zip(table["value"], table["score"], strict=True))

    def frame(self) -> pd.DataFrame:
        """A table to read: each interval or category with its score, then other categories and the missing values."""
        values: list[Any] = [*self.categories] if self.kind == "categorical" else intervals(self.thresholds)
        scores = [*self.scores]
        if self.other is not None:
            values, scores = [*values, OTHER], [*scores, self.other]
        table = pd.DataFrame({"value": [*values, "missing"], "score": [*scores, self.missing]})
        if self.spread is not None:
            table["spread"] = [*self.spread, *[np.nan] * (len(table) - len(self.spread))]
        return table


def read_shape(column: Column, table: Floats, spread: Floats | None = None) -> ShapeFunction:
    """The step function of a column, from its score per code, and how far the trainings of an average differ there."""
    codes = list(column.codes)
    of_bins = None if spread is None else spread[codes]
    scores, missing = table[codes], float(table[MISSING])
    if isinstance(column, CategoricalColumn):
        other = float(table[column.other])
        apart = None if of_bins is None else tuple(of_bins.tolist())
        found = tuple(scores.tolist())
        return ShapeFunction(column.name, "categorical", (), column.categories, found, missing, other, apart)
    if not len(scores):  # a column that held nothing in training: whatever it holds now counts as missing
        scores, of_bins = table[[MISSING]], None if spread is None else spread[[MISSING]]
    changes = np.flatnonzero(scores[1:] != scores[:-1])
    steps = tuple(scores[np.append(changes, len(scores) - 1)].tolist())
    # Bins of the same score are one step: the widest of their bands is the step's.
    apart = None if of_bins is None else tuple(np.maximum.reduceat(of_bins, np.append(0, changes + 1)).tolist())
    edges = tuple(column.edges[changes].tolist())
    return ShapeFunction(column.name, "numeric", edges, (), steps, missing, None, apart)


def intervals(thresholds: tuple[float, ...]) -> list[str]:
    """The steps between thresholds in words, with as many digits as it takes to tell the thresholds apart."""
    if not thresholds:
        return ["any number"]
    for digits in (6, 9, 17):
        text = [f"{threshold:.{digits}g}" for threshold in thresholds]
        if len(set(text)) == len(text):
            break
    return [f"≤ {text[0]}", *(f"({low}, {high}]" for low, high in pairwise(text)), f"> {text[-1]}"]


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
        try:
            numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise ValueError(f"feature {self.feature!r} holds numbers: {error}") from None
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
    cells, missing = cell_of[list(column.codes)], int(cell_of[MISSING])
    name = column.name
    if isinstance(column, CategoricalColumn):
        groups: dict[int, list[Any]] = {}
        for category, cell in zip(column.categories, cells.tolist(), strict=True):
            groups.setdefault(cell, []).append(category)
        other = int(cell_of[column.other])
        if other != missing:
            groups[other] = groups.pop(other, [])  # they come last
        found = [*groups, missing]
        return PairAxis(name, "categorical", (), tuple(map(tuple, groups.values())), found.index(other)), found
    changes = np.flatnonzero(cells[1:] != cells[:-1])
    found = [*cells[np.append(changes, len(cells) - 1)].tolist(), missing]
    return PairAxis(name, "numeric", tuple(column.edges[changes].tolist()), ()), found


def _group_label(categories: tuple[Any, ...], with_other: bool) -> str:
    """The categories of a group, or some of them; the last word is for those that were rare or unseen in training."""
    if with_other:
        return f"{', '.join(map(str, categories))}, other" if 0 < len(categories) <= 2 else OTHER
    if len(categories) <= MOST_NAMED:
        return ", ".join(map(str, categories))
    return f"{', '.join(map(str, categories[: MOST_NAMED - 1]))} and {len(categories) - MOST_NAMED + 1} more"


class Extent(NamedTuple):
    """What part of a number line to draw, and where the rows are on it."""

    range: tuple[float, float]
    edges: Floats  # of some forty bins
    counts: NDArray[np.intp]  # rows in each
    n_missing: int
    n: int  # rows


def extent(function: ShapeFunction, source: Source | None = None) -> Extent:
    values = np.empty(0)
    if source is not None and source.holds_numbers:  # anything else is in a column that held nothing in training
        values = source.floats(slice(None))
    present = values[~np.isnan(values)]
    low, high = _drawn_range(function.thresholds, present)
    edges = np.array([low, high])
    if (present != np.round(present)).any():
        edges = np.linspace(low, high, 41)
    elif len(present):  # of integers, each bin holds as many different ones as the others
        width = np.ceil((high - low) / 40)
        edges = np.arange(np.floor(low) - 0.5, high + width, width)
    return Extent((low, high), edges, np.histogram(present, edges)[0], len(values) - len(present), len(values))


def _drawn_range(thresholds: tuple[float, ...], present: Any) -> tuple[float, float]:
    """What part of a number line to draw: all steps, and the data but for the far ends of its tails."""
    ends = [*thresholds, *(np.quantile(present, [0.01, 0.99]) if len(present) else ())]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    pad = 0.08 * (high - low) or 0.08 * abs(low) or 1.0
    if len(present) and present.min() < present.max():  # no further than there is data, or a step
        return max(low - pad, min(low, present.min())), min(high + pad, max(high, present.max()))
    return low - pad, high + pad


def category_shares(function: ShapeFunction, source: Source) -> list[float]:
    """Share of each category, of all other ones, and of missing values."""
    codes, found = source.factorized(slice(None))
    missing, *counts = np.bincount(codes + 1, minlength=len(found) + 1).tolist()
    by_value = dict(zip(found.tolist(), counts, strict=True))
    known = [by_value.get(category, 0) for category in function.categories]
    return [count / len(codes) for count in (*known, sum(counts) - sum(known), missing)]
