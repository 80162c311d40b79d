"""Fitted ensembles: what remains of boosting once training is over.

A sum of stumps is a sum of one step function per feature, so :class:`StumpEnsemble` decides by one table look-up per
feature. :class:`EstimatorEnsemble` holds scikit-learn classifiers instead and asks each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Floats
from .._engine.codes import N_CODES
from .._engine.columns import lookup_for
from .._engine.threads import Team
from .._table.binning import Binner
from .._table.sources import read_sources
from .pairs import Effects
from .placed import placed_margin
from .trees import Stump

# Rows are predicted so many at a time: what a block needs besides its margin stays in the cache.
BLOCK_ROWS = 1 << 16


class StumpEnsemble:
    """Stumps on binned data with their weights α."""

    def __init__(self, binner: Binner, stumps: list[Stump], alphas: Floats) -> None:
        self.binner = binner
        self.stumps = stumps
        self.alphas = alphas
        self._last: tuple[int, Floats, list[int]] | None = None

    def used_features(self) -> set[int]:
        """The features that some learner asks about."""
        return {feature for learner in self.learners for feature in learner.features}

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
        """``tables[f, code]``: what feature f adds to the margin of the first θ stumps; not to be written to."""
        return self._used_tables(theta)[0]

    def effects(self, theta: int) -> Effects:
        """The tables; there are none of pairs."""
        return Effects(self.tables(theta), [])

    pure_effects = effects

    def _used_tables(self, theta: int) -> tuple[Floats, list[int]]:
        """The tables, and which features have one that is not all 0. Kept for the next prediction with the same θ."""
        if self._last is None or self._last[0] != theta:
            tables = np.zeros((len(self.binner.columns), N_CODES))
            for j in range(theta):
                tables[self.stumps[j].feature] += self.steps(j)
            tables.flags.writeable = False
            self._last = (theta, tables, np.flatnonzero(tables.any(axis=1)).tolist())
        return self._last[1:]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def margin(self, X: Any, theta: int, n_threads: int = 1, device: str = "cpu") -> Floats:
        """Σ_{j≤θ} α_j h_j(x)."""
        sources = read_sources(X)
        self.binner.check(sources)
        tables, used = self._used_tables(theta)
        if device != "cpu":
            return placed_margin(self.binner, sources, used, partial(_add_tables, [tables[f] for f in used]))
        from .._engine.kernels.lookup import add_steps  # numba is needed only now

        margin = np.zeros(len(X))

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
            codes = np.array(self.binner.encode(sources, slice(None), team))
        n_columns = len(codes)
        return self.staged_codes(codes, np.arange(n_columns), np.tile(np.arange(N_CODES), (n_columns, 1)))

    def staged_codes(self, codes: Codes, row_of: NDArray[Any], code_of: NDArray[Any]) -> Iterator[Floats]:
        """The same from codes that may be joint ones: column f is in ``codes[row_of[f]]``, its code is ``code_of[f]``
        of that.
        """
        from .._engine.kernels.lookup import add_steps

        margin = np.zeros(codes.shape[1])
        for j, stump in enumerate(self.stumps):
            add_steps(codes[row_of[stump.feature]], self.steps(j)[code_of[stump.feature]], margin)
            yield margin.copy()

    def importances(self, theta: int) -> Floats:
        """Each feature's share of the learners' weights."""
        features = np.array([stump.feature for stump in self.stumps[:theta]])
        sizes = np.array([stump.size for stump in self.stumps[:theta]])
        shares = np.bincount(features, weights=sizes * self.alphas[:theta], minlength=len(self.binner.columns))
        total: Floats = shares / shares.sum()
        return total


def _add_tables(tables: list[Floats], codes: list[Any], margin: Any) -> None:
    for table, column in zip(tables, codes, strict=True):
        lookup_for(margin).add_steps(column, table, margin)


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

    def margin(self, X: Any, theta: int, n_threads: int = 1, device: str = "cpu") -> Floats:
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
