"""Rows as points that have distances, for SMOTE's neighbours and FAE's clusters.

Distances are SMOTE-NC's (Chawla et al. 2002, section 6.1): numbers differ by their difference, two categories by the
median of the numbers' standard deviations. Numbers are standardised here, so that this median is one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Floats
from .._engine.codes import MISSING
from .._engine.threads import Team
from .._table.binning import Binner
from .._table.sources import Source


class Points(NamedTuple):
    """Rows of numbers and categories, in the order of the numeric and of the categorical columns."""

    numbers: Floats  # [row, numeric column], NaN for missing
    codes: Codes  # [row, categorical column], 0 for missing

    def matrix(self) -> NDArray[np.float32]:
        """Rows whose Euclidean distances are those of the points.

        A missing number is the mean and, like a missing category, one unit away from any value.
        """
        missing = np.isnan(self.numbers)
        numbers = np.where(missing, 0.0, self.numbers)
        largest = np.abs(numbers).max(axis=0, initial=0.0)
        numbers = np.ldexp(numbers, -np.frexp(largest)[1])  # by powers of two: no square can overflow, nothing rounds
        with np.errstate(invalid="ignore", divide="ignore"):  # columns without any value
            mean = numbers.sum(axis=0) / (~missing).sum(axis=0)
        centred = np.where(missing, 0.0, numbers - mean)
        spread = np.sqrt((centred**2).mean(axis=0))
        parts = [np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)]
        parts.append(missing[:, missing.any(axis=0)])
        for column in self.codes.T:
            # Two different categories differ in two places: 2 · (1/√2)² is one unit.
            parts.append((column[:, None] == np.unique(column)) * np.sqrt(0.5))
        return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


def read_points(binner: Binner, sources: list[Source], rows: NDArray[Any]) -> Points:
    """Some rows of X as points; the binner knows which columns are categorical."""
    categorical = np.flatnonzero(binner.categorical)
    chosen = Binner(tuple(binner.columns[j] for j in categorical))
    if len(categorical):
        with Team(1) as team:
            codes = np.array(chosen.encode([sources[j] for j in categorical], rows, team)).T
    else:
        codes = np.full((len(rows), 0), MISSING)
    numbers = [source.floats(rows) for source, is_one in zip(sources, binner.categorical, strict=True) if not is_one]
    return Points(np.column_stack(numbers) if numbers else np.empty((len(rows), 0)), codes)
