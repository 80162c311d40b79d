"""What a round of boosting works on: the rows, and the two kinds of weak learner."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from . import _kernels
from ._binning import MISSING, Binner, Codes
from ._ensemble import N_CODES, EstimatorEnsemble, Stump, StumpEnsemble

Floats = NDArray[np.float64]

BLOCK_ROWS = 1 << 15
# Below this much work per kernel call, handing it to threads costs more than it saves.
MIN_PARALLEL_WORK = 1 << 17


class Team:
    """A fixed number of threads that share ranges of work."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def run(self, task: Callable[[int, int], None], n_items: int, work_per_item: int) -> None:
        """Call ``task(first, last)`` so that the ranges cover ``n_items``."""
        if self._pool is None or n_items * work_per_item < MIN_PARALLEL_WORK:
            task(0, n_items)
            return
        bounds = [n_items * k // self.n_threads for k in range(self.n_threads + 1)]
        others = [self._pool.submit(task, a, b) for a, b in pairwise(bounds[1:])]
        task(bounds[0], bounds[1])
        for other in others:
            other.result()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()


class Sample:
    """Rows sorted by class and then by group, with their margin under the ensemble so far."""

    def __init__(
        self,
        y: NDArray[np.int8],
        group: NDArray[np.intp],
        n_groups: int,
        sample_weight: Floats | None,
        rows: NDArray[np.intp],
        team: Team,
    ) -> None:
        cell = y * n_groups + group
        inner = np.argsort(cell, kind="stable")
        self.rows = rows[inner]  # positions in the caller's X
        self.n_groups = n_groups
        self.cell = cell[inner]
        self.sample_weight = np.empty(0) if sample_weight is None else sample_weight[inner]
        self.n_negative = int((y == 0).sum())
        starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=2 * n_groups))])
        self.blocks = np.array(
            [
                (k, first, min(first + BLOCK_ROWS, starts[k + 1]))
                for k in range(2 * n_groups)
                for first in range(starts[k], starts[k + 1], BLOCK_ROWS)
            ],
            dtype=np.int64,
        ).reshape(-1, 3)
        self.margin = np.zeros(len(cell))
        self._team = team
        self._positives = np.empty((len(self.blocks), 3))
        self.totals = self._per_cell(
            self.blocks[:, 2] - self.blocks[:, 1]
            if sample_weight is None
            else np.array([self.sample_weight[first:last].sum() for _, first, last in self.blocks])
        )

    def __len__(self) -> int:
        return len(self.margin)

    @property
    def y(self) -> NDArray[np.intp]:
        return self.cell // self.n_groups

    def advance(self, column: Codes, votes: NDArray[np.int8], alpha: float, threshold: float) -> None:
        """Add α·h to the margins and take the counts that :meth:`counts` reads."""

        def task(first: int, last: int) -> None:
            _kernels.advance(
                column,
                votes,
                alpha,
                threshold,
                self.margin,
                self.sample_weight,
                self.blocks,
                first,
                last,
                self._positives,
            )

        self._team.run(task, len(self.blocks), BLOCK_ROWS)

    def ensemble_counts(self) -> Floats:
        """``counts[group, y_true, y_pred]`` of the partial ensemble H_{1:j}."""
        return self._counts(0)

    def threshold_counts(self) -> Floats:
        """The same with the threshold that was given to :meth:`advance`."""
        return self._counts(1)

    def learner_counts(self) -> Floats:
        """The same of the last weak learner h_j alone."""
        return self._counts(2)

    def _counts(self, which: int) -> Floats:
        positives = self._per_cell(self._positives[:, which])
        return np.stack([np.maximum(self.totals - positives, 0.0), positives], axis=-1)

    def _per_cell(self, per_block: NDArray[Any]) -> Floats:
        """Sums of blocks as ``[group, class]``."""
        sums: Floats = np.bincount(self.blocks[:, 0], weights=per_block, minlength=2 * self.n_groups).astype(np.float64)
        return sums.reshape(2, self.n_groups).T

    def weigh(self, kernel: Callable[..., None], column: Codes, per_cell: NDArray[Any], weights: Floats) -> Floats:
        """Run a kernel that sums ``weights`` per block; the sums per ``[group, class]``."""
        sums = np.empty(len(self.blocks))
        self._team.run(
            lambda first, last: kernel(column, per_cell, weights, self.blocks, first, last, sums),
            len(self.blocks),
            BLOCK_ROWS,
        )
        return self._per_cell(sums)


class Hypothesis(Protocol):
    """A weak learner h_j, trained on D^j: what it says about the rows, and how it changes their weights."""

    error: float  # Σ D_i [h(x_i) ≠ y_i], D summing to one
    votes: NDArray[np.int8]  # h per code of `column`

    def column(self, scored: bool) -> Codes:
        """Codes of the training rows, or of the rows that θ is chosen on."""

    def wrong_weight(self, weights: Floats) -> Floats:
        """Weight of the misclassified rows per ``[group, class]``."""

    def reweight(self, weights: Floats, costs: Floats, alpha: float, confidence: bool) -> float:
        """Multiply misclassified rows by C·exp(2α·conf) in place; the new sum. Eq. (14) divided by exp(−α)."""


@dataclass
class StumpHypothesis:
    stump: Stump
    error: float
    votes: NDArray[np.int8]
    confidences: Floats
    learner: StumpLearner

    def column(self, scored: bool) -> Codes:
        codes = self.learner.scored_codes if scored else self.learner.codes
        column: Codes = codes[self.stump.feature]
        return column

    def _wrong(self) -> NDArray[np.bool_]:
        """``wrong[cell, code]``"""
        k = self.learner.train.n_groups
        return np.repeat(np.stack([self.votes > 0, self.votes < 0]), k, axis=0)

    def wrong_weight(self, weights: Floats) -> Floats:
        return self.learner.train.weigh(_kernels.sum_marked, self.column(False), self._wrong(), weights)

    def reweight(self, weights: Floats, costs: Floats, alpha: float, confidence: bool) -> float:
        boost = np.exp(2.0 * alpha * (self.confidences if confidence else 1.0))
        factors = np.where(self._wrong(), costs.T.reshape(-1, 1) * boost, 1.0)
        sums = self.learner.train.weigh(_kernels.multiply_weights, self.column(False), factors, weights)
        return float(sums.sum())


class StumpLearner:
    """The native weak learner: the best stump over all columns, from one weighted histogram per column."""

    def __init__(
        self, binner: Binner, X: Any, train: Sample, X_scored: Any, scored: Sample, criterion: str, team: Team
    ) -> None:
        self.binner = binner
        self.train = train
        self.codes = binner.encode(X, train.rows)
        self.scored_codes = self.codes if scored is train else binner.encode(X_scored, scored.rows)
        self._categorical = binner.categorical
        self._n_bins = binner.n_bins
        self._has_missing = (self.codes == MISSING).any(axis=1)
        self._criterion = _kernels.ERROR if criterion == "error" else _kernels.GINI
        self._team = team
        n_features = len(self.codes)
        self._histograms = np.empty((n_features, 2, N_CODES))
        self._scores = np.empty(n_features)
        self._splits = np.empty(n_features, dtype=np.int64)
        self._missing_left = np.empty(n_features, dtype=np.bool_)

    def fit(self, weights: Floats, total: float) -> StumpHypothesis:
        """The best stump under ``weights``, whose sum is ``total``."""

        def task(first: int, last: int) -> None:
            _kernels.fill_histograms(self.codes, weights, self.train.n_negative, first, last, self._histograms)
            _kernels.best_splits(
                self._histograms,
                self._n_bins,
                self._categorical,
                self._has_missing,
                self._criterion,
                first,
                last,
                self._scores,
                self._splits,
                self._missing_left,
            )

        self._team.run(task, len(self.codes), self.codes.shape[1])
        stump, error = self._best(total)
        categorical = bool(self._categorical[stump.feature])
        return StumpHypothesis(stump, error, stump.votes(categorical), stump.confidences(categorical), self)

    def _best(self, total: float) -> tuple[Stump, float]:
        feature, tie = 0, _kernels.TIE * total
        for f in range(1, len(self._scores)):
            if self._scores[f] > self._scores[feature] + tie:
                feature = f
        histogram = self._histograms[feature]
        if self._scores[feature] < 0:  # no column has two bins: one leaf for all
            left = np.ones(N_CODES, dtype=bool)
        else:
            left = Stump(feature, int(self._splits[feature]), bool(self._missing_left[feature]), 0, 0, 0, 0).goes_left(
                bool(self._categorical[feature])
            )
        leaf = np.stack([histogram[:, left].sum(axis=1), histogram[:, ~left].sum(axis=1)])
        votes = [1 if positive - negative > tie else -1 for negative, positive in leaf]
        right = [positive if vote > 0 else negative for vote, (negative, positive) in zip(votes, leaf, strict=True)]
        shares = [r / mass if mass > 0 else 1.0 for r, mass in zip(right, leaf.sum(axis=1), strict=True)]
        if self._scores[feature] < 0:
            votes[1], shares[1] = votes[0], shares[0]
        stump = Stump(feature, int(self._splits[feature]), bool(self._missing_left[feature]), *votes, *shares)
        return stump, max(float(leaf.sum() - sum(right)) / total, 0.0)

    def ensemble(self, hypotheses: list[Any], alphas: Floats) -> StumpEnsemble:
        return StumpEnsemble(self.binner, [h.stump for h in hypotheses], alphas)


@dataclass
class EstimatorHypothesis:
    estimator: Any
    error: float
    learner: EstimatorLearner
    predicted: Codes
    confidences: Floats
    votes = np.concatenate([[-1, 1], np.zeros(N_CODES - 2)]).astype(np.int8)

    def column(self, scored: bool) -> Codes:
        return self.learner.predict(self.estimator, self.learner.X_scored) if scored else self.predicted

    def _wrong(self) -> NDArray[np.bool_]:
        return np.asarray(self.predicted != self.learner.train.y)

    def wrong_weight(self, weights: Floats) -> Floats:
        train = self.learner.train
        sums = np.bincount(train.cell, weights=weights * self._wrong(), minlength=2 * train.n_groups)
        return sums.astype(np.float64).reshape(2, train.n_groups).T

    def reweight(self, weights: Floats, costs: Floats, alpha: float, confidence: bool) -> float:
        wrong = self._wrong()
        boost = np.exp(2.0 * alpha * (self.confidences[wrong] if confidence else 1.0))
        weights[wrong] *= costs.T.ravel()[self.learner.train.cell[wrong]] * boost
        return float(weights.sum())


class EstimatorLearner:
    """Any scikit-learn classifier that takes ``sample_weight``, cloned and fitted afresh in each round."""

    def __init__(
        self,
        estimator: Any,
        classes: NDArray[Any],
        X: Any,
        train: Sample,
        X_scored: Any,
        scored: Sample,
        random_state: np.random.RandomState,
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.train = train
        self.X = _safe_indexing(X, train.rows)
        self.X_scored = self.X if scored is train else _safe_indexing(X_scored, scored.rows)
        self._labels = classes[train.y]
        self._random_state = random_state

    def fit(self, weights: Floats, total: float) -> EstimatorHypothesis:
        estimator = clone(self.estimator)
        seeds = {
            name: int(self._random_state.randint(np.iinfo(np.int32).max))
            for name in sorted(estimator.get_params(deep=True))
            if name == "random_state" or name.endswith("__random_state")
        }
        if seeds:
            estimator.set_params(**seeds)
        estimator.fit(self.X, self._labels, sample_weight=weights / total)
        predicted = self.predict(estimator, self.X)
        if hasattr(estimator, "predict_proba"):
            confidences = np.asarray(estimator.predict_proba(self.X), dtype=np.float64).max(axis=1)
        else:
            confidences = np.ones(len(predicted))
        error = float(weights[predicted != self.train.y].sum() / total)
        return EstimatorHypothesis(estimator, error, self, predicted, confidences)

    def predict(self, estimator: Any, X: Any) -> Codes:
        return np.asarray(estimator.predict(X) == self.classes[1]).astype(np.uint8)

    def ensemble(self, hypotheses: list[Any], alphas: Floats) -> EstimatorEnsemble:
        return EstimatorEnsemble([h.estimator for h in hypotheses], alphas, self.classes[1])
