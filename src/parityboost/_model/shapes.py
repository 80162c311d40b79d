"""One feature's part in a model: a step function."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from .._arrays import Floats
from .._engine.codes import MISSING
from .._table.binning import CategoricalColumn, Column

OTHER = "any other"  # category, in tables and pictures


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
        column = pd.Series(values)
        if self.kind == "categorical":
            known = dict(zip(self.categories, self.scores, strict=True))
            other = self.missing if self.other is None else self.other
            scores = [self.missing if pd.isna(value) else known.get(value, other) for value in column]
            return np.array(scores, dtype=np.float64)
        numbers = number_values(column, self.feature)
        steps = np.array(self.scores)[np.searchsorted(self.thresholds, numbers)]
        return np.where(np.isnan(numbers), self.missing, steps)

    def frame(self) -> pd.DataFrame:
        """A table to read: each interval or category with its score, then other categories and the missing values."""
        values, scores = [*intervals(self.thresholds)], [*self.scores]
        if self.kind == "categorical":
            values = [*self.categories]
        if self.other is not None:
            values, scores = [*values, OTHER], [*scores, self.other]
        table = pd.DataFrame({"value": [*values, "missing"], "score": [*scores, self.missing]})
        if self.spread is not None:
            table["spread"] = [*self.spread, *[np.nan] * (len(table) - len(self.spread))]
        return table


def read_shape(column: Column, table: Floats, spread: Floats | None = None) -> ShapeFunction:
    """The step function of a column, from its score per code, and how far the trainings of an average differ there."""
    of_bins = None if spread is None else spread[1 : column.n_bins + 1]
    scores, missing = table[1 : column.n_bins + 1], float(table[MISSING])
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


def number_values(column: pd.Series[Any], feature: str) -> Floats:
    """The numbers in a column."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"feature {feature!r} holds numbers: {error}") from None


def intervals(thresholds: tuple[float, ...]) -> list[str]:
    """The steps between thresholds in words, with as many digits as it takes to tell the thresholds apart."""
    if not thresholds:
        return ["any number"]
    for digits in (6, 9, 17):
        text = [f"{threshold:.{digits}g}" for threshold in thresholds]
        if len(set(text)) == len(text):
            break
    return [f"≤ {text[0]}", *(f"({low}, {high}]" for low, high in pairwise(text)), f"> {text[-1]}"]
