"""Fitted ensembles: what remains of boosting once training is over.

A sum of stumps is a sum of one step function per feature, so :class:`StumpEnsemble` decides by one table look-up per
feature. :class:`EstimatorEnsemble` holds scikit-learn classifiers instead and asks each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._binning import Binner, Codes
from ._codes import MISSING, N_CODES
from ._sources import read_sources
from ._threads import Team

Floats = NDArray[np.float64]

# Rows are predicted so many at a time: what a block needs besides its margin stays in the cache.
BLOCK_ROWS = 1 << 16
# Learner weights are multiples of this. Sums of thousands of them are then exact in float64, so a margin is the same to
# the last bit in whatever order it is added up (round by round, per feature, elsewhere), and a tie is a tie.
ALPHA_GRID = 2.0**-36
# Thresholds lie half-way between margins: they need a finer grid for the same to hold of them.
THRESHOLD_GRID = ALPHA_GRID / 16
LARGE_THRESHOLD = 2.0**12  # beyond any margin, and too large for a multiple of the grid


def on_grid(value: float) -> float:
    """The nearest multiple of ``ALPHA_GRID``."""
    return round(value / ALPHA_GRID) * ALPHA_GRID


def on_fine_grid(value: float) -> float:
    """The nearest multiple of ``THRESHOLD_GRID``."""
    return value if abs(value) > LARGE_THRESHOLD else round(value / THRESHOLD_GRID) * THRESHOLD_GRID


class Stump(NamedTuple):
    """A decision tree of depth one on binned data."""

    feature: int
    split: int  # numeric: bins 1…split go left; categorical: bin split goes left
    missing_left: bool
    left_vote: int  # -1 or +1
    right_vote: int
    left_confidence: float  # share of the leaf's weight that belongs to the class it votes for
    right_confidence: float

    def votes(self, categorical: bool) -> NDArray[np.int8]:
        """h(x) per code of the feature's column."""
        codes = np.arange(N_CODES)
        left = codes == self.split if categorical else codes <= self.split
        left[MISSING] = self.missing_left
        return np.where(left, self.left_vote, self.right_vote).astype(np.int8)


class StumpEnsemble:
    """Stumps on binned data with their weights α."""

    def __init__(self, binner: Binner, stumps: list[Stump], alphas: Floats) -> None:
        self.binner = binner
        self.stumps = stumps
        self.alphas = alphas

    @property
    def learners(self) -> list[Stump]:
        """The weak learners."""
        return self.stumps

    def steps(self, j: int) -> Floats:
        """What learner j adds to the margin, per code of its feature's column."""
        stump = self.stumps[j]
        steps: Floats = self.alphas[j] * stump.votes(self.binner.columns[stump.feature].categorical)
        return steps

    def tables(self, theta: int) -> Floats:
        """``tables[f, code]``: what feature f adds to the margin of the first θ stumps."""
        tables = np.zeros((len(self.binner.columns), N_CODES))
        for j in range(theta):
            tables[self.stumps[j].feature] += self.steps(j)
        return tables

    def margin(self, X: Any, theta: int, n_threads: int = 1) -> Floats:
        """Σ_{j≤θ} α_j h_j(x)."""
        from ._kernels import add_steps  # numba is needed only now

        sources, tables = read_sources(X), self.tables(theta)
        self.binner.check(sources)
        margin = np.zeros(len(X))
        used = [f for f in range(len(sources)) if tables[f].any()]

        def task(first: int, last: int) -> None:
            for b in range(first, last):
                rows = slice(b * BLOCK_ROWS, (b + 1) * BLOCK_ROWS)
                for f in used:
                    add_steps(self.binner.columns[f].encode(sources[f], rows), tables[f], margin[rows])

        with Team(n_threads) as team:
            team.run(task, -(-len(margin) // BLOCK_ROWS), BLOCK_ROWS * len(sources))
        return margin

    def staged_margin(self, X: Any) -> Iterator[Floats]:
        """The margin after each round; one column per round is touched."""
        sources = read_sources(X)
        self.binner.check(sources)
        with Team(1) as team:
            codes = self.binner.encode(sources, slice(None), team)
        n_columns = len(codes)
        return self.staged_codes(codes, np.arange(n_columns), np.tile(np.arange(N_CODES), (n_columns, 1)))

    def staged_codes(self, codes: Codes, row_of: NDArray[Any], code_of: NDArray[Any]) -> Iterator[Floats]:
        """The same from codes that may be joint ones: column f is in ``codes[row_of[f]]``, its code is ``code_of[f]``
        of that.
        """
        from ._kernels import add_steps

        margin = np.zeros(codes.shape[1])
        for j, stump in enumerate(self.stumps):
            add_steps(codes[row_of[stump.feature]], self.steps(j)[code_of[stump.feature]], margin)
            yield margin.copy()

    def importances(self, theta: int) -> Floats:
        """Each feature's share of the learners' weights."""
        features = np.array([stump.feature for stump in self.stumps[:theta]])
        shares = np.bincount(features, weights=self.alphas[:theta], minlength=len(self.binner.columns))
        total: Floats = shares / shares.sum()
        return total


class EstimatorEnsemble:
    """scikit-learn classifiers with their weights α."""

    def __init__(self, estimators: list[Any], alphas: Floats, positive: Any) -> None:
        self.estimators = estimators
        self.alphas = alphas
        self.positive = positive

    @property
    def learners(self) -> list[Any]:
        """The weak learners."""
        return self.estimators

    def margin(self, X: Any, theta: int, n_threads: int = 1) -> Floats:
        margin = np.zeros(len(X))
        for estimator, alpha in zip(self.estimators[:theta], self.alphas[:theta], strict=True):
            margin += np.where(estimator.predict(X) == self.positive, alpha, -alpha)
        return margin

    def staged_margin(self, X: Any) -> Iterator[Floats]:
        margin = np.zeros(len(X))
        for estimator, alpha in zip(self.estimators, self.alphas, strict=True):
            margin += np.where(estimator.predict(X) == self.positive, alpha, -alpha)
            yield margin.copy()

    def importances(self, theta: int) -> Floats:
        if not all(hasattr(estimator, "feature_importances_") for estimator in self.estimators[:theta]):
            name = type(self.estimators[0]).__name__
            raise AttributeError(f"feature_importances_ needs base estimators that have it; {name} has none")
        weighted: Floats = np.sum(
            [a * e.feature_importances_ for e, a in zip(self.estimators[:theta], self.alphas[:theta], strict=True)],
            axis=0,
        )
        weighted /= self.alphas[:theta].sum()
        return weighted
