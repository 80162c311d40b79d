"""The two kinds of weak learner: the native stump, and any scikit-learn classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from . import _kernels
from ._binning import Binner, Codes
from ._bundles import Bundles
from ._codes import N_CODES
from ._ensemble import EstimatorEnsemble, Stump, StumpEnsemble
from ._samples import BLOCK_ROWS, Sample, merge_equal_rows
from ._sources import Source
from ._threads import Team

Floats = NDArray[np.float64]

# The histograms are made anew when a class's common factor has grown so much, or the sum of all weights. Up to then
# rounding errors in a bin grow no faster than the factor.
LARGE_FACTOR = 1e2
LARGE_SUM = 1e100


class Hypothesis(Protocol):
    """A weak learner h_j trained on D^j: what it says about the rows, and how it changes their weights."""

    error: float  # Σ D_i [h(x_i) ≠ y_i], D summing to one
    left: NDArray[np.uint8]  # the leaf of each code of the column, 1 for the left one
    right_vote: int  # h in the two leaves
    left_vote: int

    def column(self, scored: bool) -> Codes:
        """Codes of the training rows, or of the rows that θ is chosen on."""

    def wrong_weight(self) -> Floats:
        """Weight of the misclassified rows per ``[group, class]``, all weights summing to one."""

    def reweight(self, costs: Floats, alpha: float, confidence: bool) -> float:
        """Multiply misclassified rows by C·exp(2α·conf), Eq. (14) times exp(α); new sum of weights by the old one."""


class Learner(Protocol):
    """Fits weak learners to the weights that their hypotheses change."""

    train: Sample
    scored: Sample

    def fit(self) -> Hypothesis:
        """The weak learner for the current weights."""

    def ensemble(self, hypotheses: list[Any], alphas: Floats) -> Any:
        """What remains after training."""

    def scored_margins(self, ensemble: Any) -> Callable[[], Iterator[Floats]]:
        """A function that goes through the margins of the ``scored`` rows again, without the rest of the learner."""

    def distribution(self) -> Floats:
        """D, in the order of the training sample."""


class StumpHypothesis:
    """A stump, with the leaf of each joint code of its feature's bundle."""

    def __init__(self, learner: StumpLearner, stump: Stump, error: float, left: NDArray[np.uint8]) -> None:
        self.learner = learner
        self.stump = stump
        self.error = error
        self.left = left
        self.right_vote, self.left_vote = stump.right_vote, stump.left_vote

    def column(self, scored: bool) -> Codes:
        codes = self.learner.scored_codes if scored else self.learner.codes
        column: Codes = codes[self.learner.bundle_of(self.stump.feature)]
        return column

    def wrong_weight(self) -> Floats:
        learner = self.learner
        votes = np.array([self.stump.right_vote, self.stump.left_vote])
        wrong = np.repeat(np.stack([votes > 0, votes < 0]), learner.train.n_groups, axis=0)  # [cell, leaf]
        learner.train.team.run(
            lambda first, last: _kernels.sum_mistakes(
                self.column(False), self.left, wrong, learner.weights, learner.train.blocks, first, last, learner.sums
            ),
            len(learner.train.blocks),
            BLOCK_ROWS,
        )
        wrong_weight: Floats = learner.train.per_cell(learner.sums, 1) * learner.scale / learner.total
        return wrong_weight

    def reweight(self, costs: Floats, alpha: float, confidence: bool) -> float:
        stump, learner = self.stump, self.learner
        changes = np.empty((2 * len(costs), 2))
        _kernels.relative_changes(
            costs,
            math.exp(2.0 * alpha * (stump.right_confidence if confidence else 1.0)),
            math.exp(2.0 * alpha * (stump.left_confidence if confidence else 1.0)),
            stump.right_vote,
            stump.left_vote,
            learner.train.sizes,
            learner.rows_in_leaves,
            learner.scale,
            changes,
        )
        return learner.change(self.column(False), self.left, changes)


class StumpLearner:
    """The native weak learner: the best stump over all columns, from one weighted histogram per column.

    The histograms are not made anew in each round: they are given what the rows gained that changed their weight. And
    most rows need not change: the factor that most rows of a class are multiplied by is put aside as the class's
    ``scale``, and only the others are changed, relative to it. A row's weight is ``scale[class] * weights[row]``.
    """

    def __init__(
        self,
        binner: Binner,
        sources: list[Source],
        train: Sample,
        scored_sources: list[Source],
        scored: Sample,
        criterion: str,
        team: Team,
    ) -> None:
        self.binner = binner
        self._bundles = bundles = Bundles(binner)
        codes, self._has_missing = bundles.encode(sources, train.rows, team)
        self.codes, self.train = merge_equal_rows(codes, train)
        if scored is train:
            self.scored_codes, self.scored = self.codes, self.train
        else:
            binner.check(scored_sources)
            scored_codes, _ = bundles.encode(scored_sources, scored.rows, team)
            self.scored_codes, self.scored = merge_equal_rows(scored_codes, scored)
        self._categorical = binner.categorical
        self._n_bins = binner.n_bins
        self._criterion = _kernels.ERROR if criterion == "error" else _kernels.GINI
        self._team = team
        n_features = len(binner.columns)
        self._histograms = np.zeros((len(self.codes), 2, 2, N_CODES))  # bundle, class, even or odd place, code
        self._scores = np.empty(n_features)
        self._splits = np.empty(n_features, dtype=np.int64)
        self._missing_left = np.empty(n_features, dtype=np.bool_)
        self._leaves = np.empty((2, 2))

    def start(self, weights: Floats) -> None:
        """Begin with D¹; the array is used from now on."""
        blocks = self.train.blocks
        self.weights = weights
        self.scale = np.ones(2)
        self.sums = np.zeros((len(blocks), 2))
        self._n_negative_blocks = int((blocks[:, 0] < self.train.n_groups).sum())
        self._rows = np.empty(len(weights), dtype=np.uint32)
        self._gains = np.empty(len(weights))
        self._n_rows = np.empty(len(blocks), dtype=np.int64)
        self._n_rows_of = np.zeros((2, len(self.codes), N_CODES), dtype=np.int64)
        self.rows_in_leaves = np.empty((2, 2), dtype=np.int64)
        self._team.run(
            lambda first, last: _kernels.count_rows(self.codes, self.train.n_negative, first, last, self._n_rows_of),
            *self.codes.shape,
        )
        self._gain_everything()

    def _gain_everything(self) -> None:
        """Let the next histograms be made from nothing: every row gains its whole weight."""
        blocks = self.train.blocks
        self._histograms[:] = 0.0
        self._rows[:] = np.arange(len(self._rows), dtype=np.uint32)
        self._gains[:] = self.weights
        self._n_rows[:] = blocks[:, 2] - blocks[:, 1]
        self.sums[:, 0] = [self.weights[first:last].sum() for _, first, last in blocks]
        self.total = self._sum()

    def distribution(self) -> Floats:
        D: Floats = self.weights * self.scale[self.train.y] / self.total
        return D

    def bundle_of(self, feature: int) -> int:
        """Which of the rows of ``codes`` holds a feature."""
        return int(self._bundles.bundle_of[feature])

    def fit(self) -> StumpHypothesis:
        bundles = self._bundles

        def task(first: int, last: int) -> None:
            _kernels.add_to_histograms(
                self.codes,
                self._rows,
                self._gains,
                self._n_rows,
                self.train.blocks,
                self.train.n_groups,
                first,
                last,
                self._histograms,
            )
            _kernels.best_splits(
                self._histograms,
                self.scale,
                bundles.bundle_of,
                bundles.code_of,
                bundles.sizes,
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

        self._team.run(task, *self.codes.shape)
        left = np.empty(N_CODES, dtype=np.uint8)
        feature = _kernels.choose_stump(
            self._histograms,
            self.scale,
            self._n_rows_of,
            bundles.bundle_of,
            bundles.code_of,
            self._categorical,
            self.total,
            self._scores,
            self._splits,
            self._missing_left,
            left,
            self._leaves,
            self.rows_in_leaves,
        )
        (right_negative, right_positive), (left_negative, left_positive) = self._leaves.tolist()
        left_vote, left_share, left_wrong = _majority(left_negative, left_positive, self.total)
        right_vote, right_share, right_wrong = _majority(right_negative, right_positive, self.total)
        if self._scores[feature] < 0.0:  # one leaf for all
            right_vote, right_share = left_vote, left_share
        stump = Stump(
            feature,
            int(self._splits[feature]),
            bool(self._missing_left[feature]),
            left_vote,
            right_vote,
            left_share,
            right_share,
        )
        return StumpHypothesis(self, stump, (left_wrong + right_wrong) / self.total, left)

    def change(self, column: Codes, left: NDArray[np.uint8], changes: Floats) -> float:
        """Change the weights by ``changes[cell, leaf]`` of each; the new sum of all, by the old one."""
        self._change_rows(column, left, changes)
        old, self.total = self.total, self._sum()
        growth = self.total / old
        if max(self.scale.tolist()) > LARGE_FACTOR or self.total > LARGE_SUM:
            self._fold(self.scale / self.total)
        return growth

    def _change_rows(self, column: Codes, left: NDArray[np.uint8], changes: Floats) -> None:
        blocks = self.train.blocks
        self._team.run(
            lambda first, last: _kernels.change_weights(
                column,
                left,
                changes,
                self.weights,
                blocks,
                first,
                last,
                self._rows,
                self._gains,
                self._n_rows,
                self.sums,
            ),
            len(blocks),
            2 * BLOCK_ROWS,
        )

    def _sum(self) -> float:
        return float(_kernels.sum_weights(self.sums, self._n_negative_blocks, self.scale))

    def _fold(self, factors: Floats) -> None:
        """Put a factor per class into the weights themselves, and let the histograms be made anew."""
        self.weights[: self.train.n_negative] *= factors[0]
        self.weights[self.train.n_negative :] *= factors[1]
        self.scale[:] = 1.0
        self._gain_everything()

    def ensemble(self, hypotheses: list[Any], alphas: Floats) -> StumpEnsemble:
        return StumpEnsemble(self.binner, [h.stump for h in hypotheses], alphas)

    def scored_margins(self, ensemble: StumpEnsemble) -> Callable[[], Iterator[Floats]]:
        bundles = self._bundles
        return partial(ensemble.staged_codes, self.scored_codes, bundles.bundle_of, bundles.code_of)


def _majority(negative: float, positive: float, total: float) -> tuple[int, float, float]:
    """Vote of a leaf, the share of its weight that agrees, and the weight that does not; equal weights vote -1."""
    vote = 1 if positive - negative > _kernels.TIE * total else -1
    right, wrong = (positive, negative) if vote > 0 else (negative, positive)
    return vote, right / (right + wrong) if right + wrong > 0.0 else 1.0, wrong


class EstimatorHypothesis:
    """A fitted classifier and what it says about the training rows; its two "leaves" are the classes it predicts."""

    left = np.array([0, 1], dtype=np.uint8)
    right_vote, left_vote = -1, 1

    def __init__(self, learner: EstimatorLearner, estimator: Any, predicted: Codes, confidences: Floats) -> None:
        self.learner = learner
        self.estimator = estimator
        self.predicted = predicted
        self.confidences = confidences
        self.wrong = predicted != learner.train.y
        self.error = float(learner.weights[self.wrong].sum())

    def column(self, scored: bool) -> Codes:
        return self.learner.predict(self.estimator, self.learner.X_scored) if scored else self.predicted

    def wrong_weight(self) -> Floats:
        train = self.learner.train
        sums = np.bincount(train.cell, weights=self.learner.weights * self.wrong, minlength=2 * train.n_groups)
        return sums.astype(np.float64).reshape(2, train.n_groups).T

    def reweight(self, costs: Floats, alpha: float, confidence: bool) -> float:
        weights, wrong = self.learner.weights, self.wrong
        boost = np.exp(2.0 * alpha * (self.confidences[wrong] if confidence else 1.0))
        weights[wrong] *= costs.T.ravel()[self.learner.train.cell[wrong]] * boost
        growth = float(weights.sum())
        weights /= growth
        del self.predicted, self.wrong, self.confidences  # of the rows: of no use after the round
        return growth


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
        self.scored = scored
        self.X = _safe_indexing(X, train.rows)
        self.X_scored = self.X if scored is train else _safe_indexing(X_scored, scored.rows)
        self._labels = classes[train.y]
        self._random_state = random_state

    def start(self, weights: Floats) -> None:
        """Begin with D¹; the array is used from now on."""
        self.weights = weights

    def distribution(self) -> Floats:
        return self.weights

    def fit(self) -> EstimatorHypothesis:
        estimator = clone(self.estimator)
        seeds = {
            name: int(self._random_state.randint(np.iinfo(np.int32).max))
            for name in sorted(estimator.get_params(deep=True))
            if name == "random_state" or name.endswith("__random_state")
        }
        if seeds:
            estimator.set_params(**seeds)
        estimator.fit(self.X, self._labels, sample_weight=self.weights)
        predicted = self.predict(estimator, self.X)
        if hasattr(estimator, "predict_proba"):
            confidences = np.asarray(estimator.predict_proba(self.X), dtype=np.float64).max(axis=1)
        else:
            confidences = np.ones(len(predicted))
        return EstimatorHypothesis(self, estimator, predicted, confidences)

    def predict(self, estimator: Any, X: Any) -> Codes:
        """Predictions as codes of one column, 1 for the positive class."""
        return np.asarray(estimator.predict(X) == self.classes[1]).astype(np.uint8)

    def ensemble(self, hypotheses: list[Any], alphas: Floats) -> EstimatorEnsemble:
        return EstimatorEnsemble([h.estimator for h in hypotheses], alphas, self.classes[1])

    def scored_margins(self, ensemble: EstimatorEnsemble) -> Callable[[], Iterator[Floats]]:
        return partial(ensemble.staged_margin, self.X_scored)
