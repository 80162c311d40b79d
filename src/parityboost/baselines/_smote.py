"""SMOTE and, for categories, SMOTE-NC (Chawla et al. 2002), on AdaFair's bins; the weak learner of SMOTEBoost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from .. import _kernels
from .._binning import Binner, Codes, Floats
from .._codes import MAX_BINS, X_BINNED_DTYPE
from .._learners import StumpHypothesis, StumpLearner
from .._samples import Sample
from .._sources import NumberSource, Source
from .._threads import Team
from ._points import Points, read_points

# A learner's weight is zero if its error is this close to one half.
AT_CHANCE = 1e-10


class Synthetic(NamedTuple):
    """Synthetic points and the real ones they lie between."""

    points: Points
    base: NDArray[np.intp]
    neighbour: NDArray[np.intp]


class Smote:
    """Draws points between those of one class and their neighbours, which are found once.

    Parameters
    ----------
    binner : Binner
        Turns the synthetic points into codes.
    sources : list of Source
        The columns of X.
    rows : ndarray
        Which rows of X are of the class.
    weights : ndarray or None
        How often each of these rows is to be chosen, relative to the others.
    k_neighbors : int
        Number of neighbours; all others if there are fewer.
    plain : bool
        SMOTE as first published: numbers only, distances between them as they are.
    """

    def __init__(
        self,
        binner: Binner,
        sources: list[Source],
        rows: NDArray[Any],
        weights: Floats | None,
        k_neighbors: int,
        plain: bool = False,
    ) -> None:
        self.binner = binner
        self.plain = plain
        self.points = read_points(binner, sources, rows)
        if plain:
            _check_numbers(binner, self.points)
        self._share = None if weights is None else weights / weights.sum()
        search = NearestNeighbors(n_neighbors=min(k_neighbors, len(rows) - 1), algorithm="brute")
        with threadpool_limits(1):  # with more threads, neighbours at equal distance come in another order
            # Without an argument no point is its own neighbour.
            matrix = self.points.numbers if plain else self.points.matrix()
            self.neighbours = search.fit(matrix).kneighbors(return_distance=False)
        self._majority = _majority(self.points.codes, self.neighbours)

    def draw(self, n_points: int, rng: np.random.RandomState) -> Synthetic:
        """New points: numbers on the line to one of the neighbours, categories by majority of all of them."""
        n_real, k = self.neighbours.shape
        base = rng.choice(n_real, n_points, p=self._share)
        neighbour = self.neighbours[base, rng.randint(k, size=n_points)]
        ours, theirs = self.points.numbers[base], self.points.numbers[neighbour]
        gap = rng.random_sample((n_points, 1))
        numbers = (1.0 - gap) * ours + gap * theirs
        # Nothing lies between a number and a missing one: keep the point's own.
        numbers = np.where(np.isnan(numbers), ours, numbers)
        return Synthetic(Points(numbers, self._majority[base]), base, neighbour)

    def bin_with(self, points: Points, sources: list[Source], train: Sample, max_bins: int) -> None:
        """Bins of the training rows and the synthetic ones together.

        Between a 0 and a 1 of a category's column lie synthetic rows alone, and a tree that sees them splits there.
        """
        weights = None
        if len(train.sample_weight):
            weights = np.append(train.sample_weight, np.full(len(points.numbers), train.sample_weight.mean()))
        columns: list[Any] = []
        for source, drawn in zip(sources, points.numbers.T, strict=True):  # one at a time: there may be hundreds
            values = np.append(source.floats(train.rows), drawn)  # type: ignore[attr-defined]
            together: list[Source] = [NumberSource(source.name, values)]
            columns += Binner.fit(together, slice(None), weights, max_bins, [False], train.team).columns
        self.binner = Binner(tuple(columns))

    def encode(self, points: Points) -> Codes:
        """Codes as the weak learner wants them, one row of the result per column of X."""
        codes = np.empty((len(self.binner.columns), len(points.numbers)), dtype=X_BINNED_DTYPE)
        numeric = categorical = 0
        for j, column in enumerate(self.binner.columns):
            if column.categorical:
                codes[j] = points.codes[:, categorical]
                categorical += 1
            else:
                codes[j] = column.encode(NumberSource(column.name, points.numbers[:, numeric]), slice(None))
                numeric += 1
        return codes


def _check_numbers(binner: Binner, points: Points) -> None:
    """Plain SMOTE has no place for categories and missing values."""
    for column, is_category in zip(binner.columns, binner.categorical, strict=True):
        if is_category:
            raise ValueError(
                f'smote="plain" takes numbers only, but column {column.name!r} holds categories: replace it by a 0/1 '
                'column for each of them, or use smote="nc"'
            )
    missing = np.isnan(points.numbers).any(axis=0)
    if missing.any():
        name = binner.columns[int(np.flatnonzero(missing)[0])].name
        raise ValueError(f'smote="plain" takes no missing values, but column {name!r} has some: fill or drop them')


def _majority(codes: Codes, neighbours: NDArray[np.intp]) -> Codes:
    """The most frequent code among each point's neighbours, of equals that of the nearest."""
    majority = np.empty_like(codes)
    for j, column in enumerate(codes.T):
        theirs = column[neighbours]
        votes = (theirs[:, :, None] == theirs[:, None, :]).sum(axis=2)
        majority[:, j] = np.take_along_axis(theirs, votes.argmax(axis=1)[:, None], axis=1)[:, 0]
    return majority


class SmoteLearner(StumpLearner):
    """The native stump, trained on the real rows and on synthetic ones that each round adds.

    What SMOTE draws does not depend on the boosting, so the points of all rounds are drawn and encoded at once. The
    histograms hold the real rows and, where they are kept, the synthetic rows so far.

    Parameters
    ----------
    binner, sources, train, scored_sources, scored, criterion, team :
        As in :class:`StumpLearner`.
    smote : Smote
        Draws instances of the minority class.
    minority : int
        0 or 1, the class they are of.
    n_synthetic : int
        Number of them per round.
    n_rounds : int
        Largest number of rounds.
    keep : bool
        Whether they stay for the later rounds.
    rng : RandomState
        For the draws.
    max_bins : int
        Of a column, where the synthetic rows have a say in the bins.
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
        *,
        smote: Smote,
        minority: int,
        n_synthetic: int,
        n_rounds: int,
        keep: bool,
        rng: np.random.RandomState,
        max_bins: int = MAX_BINS,
    ) -> None:
        n_points = n_synthetic * n_rounds
        synthetic = smote.draw(n_points, rng).points
        if smote.plain:
            smote.bin_with(synthetic, sources, train, max_bins)
            binner = smote.binner
        super().__init__(binner, sources, train, scored_sources, scored, criterion, team)
        self._keep = keep
        self._n_synthetic = n_synthetic
        self._n_real = len(train)  # before equal rows were merged
        self._n_drawn = 0
        self.minority = minority
        self.synthetic_codes = smote.encode(synthetic)
        self._synthetic_joint = self._bundles.join(self.synthetic_codes)
        # Relative to the class's scale, as those of the real rows.
        self.synthetic_weights = np.zeros(n_points)
        # The synthetic rows so far as a block of their own, the way the kernels want it, and what they gained.
        self._block = np.array([[minority * train.n_groups, 0, 0]])
        self._synthetic_rows = np.zeros(n_points, dtype=np.uint32)
        self._synthetic_gains = np.zeros(n_points)
        self._n_gained = np.zeros(1, dtype=np.int64)
        self._synthetic_sum = np.zeros((1, 2))

    def fit(self) -> StumpHypothesis:
        while self._n_drawn < len(self.synthetic_weights):
            self._hypothesis = self._fit_round()
            if self._keep or abs(self._hypothesis.error - 0.5) > AT_CHANCE:
                return self._hypothesis
            # Its weight is zero and so no other changes: on to the next round with new instances.
        self._hypothesis.error = 0.5  # all rounds are used up
        return self._hypothesis

    def _fit_round(self) -> StumpHypothesis:
        first, last = self._n_drawn, self._n_drawn + self._n_synthetic
        self._n_drawn = last
        # Each weighs as much as a training instance does on average, 1/n under a D that sums to one.
        weight = self.total / (self._n_real + (first if self._keep else 0))
        return self._fit_keeping(first, last, weight) if self._keep else self._fit_once(first, last, weight)

    def _fit_keeping(self, first: int, last: int, weight: float) -> StumpHypothesis:
        """New synthetic rows become rows like any other: they count in the error and are reweighted."""
        new = slice(int(self._n_gained[0]), int(self._n_gained[0]) + last - first)  # behind those that gained
        self._synthetic_rows[new] = np.arange(first, last)
        relative = weight / self.scale[self.minority]
        self._synthetic_gains[new] = self.synthetic_weights[first:last] = relative
        self._n_gained[0] = new.stop
        self._block[0, 2] = last
        self._add(self._synthetic_joint, self._synthetic_rows, self._synthetic_gains, self._n_gained, self._block)
        self._n_gained[0] = 0
        self._synthetic_sum[0, 0] += relative * (last - first)
        self.total = self._sum()
        return super().fit()

    def _fit_once(self, first: int, last: int, weight: float) -> StumpHypothesis:
        """Synthetic rows are there for the choice of the stump only; its error is that on the real rows."""
        self._add(self.codes, self._rows, self._gains, self._n_rows, self.train.blocks)
        self._n_rows[:] = 0  # nothing left for the parent to add
        real, total = self._histograms.copy(), self.total
        rows = np.arange(last - first, dtype=np.uint32)
        weights = np.full(last - first, weight / self.scale[self.minority])
        block, n_rows = np.array([[self._block[0, 0], 0, last - first]]), np.array([last - first])
        self._add(np.ascontiguousarray(self._synthetic_joint[:, first:last]), rows, weights, n_rows, block)
        self.total += weight * (last - first)
        hypothesis = super().fit()
        self._histograms[:], self.total = real, total
        stump, left = hypothesis.stump, hypothesis.left.astype(bool)
        says_positive = np.where(left, stump.left_vote, stump.right_vote) > 0
        negative, positive = real[self.bundle_of(stump.feature)].sum(axis=1) * self.scale[:, None]
        error = float(negative[says_positive].sum() + positive[~says_positive].sum()) / total
        if error > 0.5:
            # The published algorithm does not stop here: log(1/β) is negative, which is a vote for the other class.
            stump = stump._replace(
                left_vote=-stump.left_vote,
                right_vote=-stump.right_vote,
                left_confidence=1.0 - stump.left_confidence,
                right_confidence=1.0 - stump.right_confidence,
            )
            error = 1.0 - error
        return StumpHypothesis(self, stump, error, hypothesis.left)

    def _add(self, codes: Codes, rows: Any, gains: Floats, n_rows: Any, blocks: Any) -> None:
        self._team.run(
            lambda first, last: _kernels.add_to_histograms(
                codes, rows, gains, n_rows, blocks, self.train.n_groups, first, last, self._histograms
            ),
            len(codes),
            codes.shape[1],
        )

    def _change_rows(self, column: Codes, left: NDArray[np.uint8], changes: Floats) -> None:
        super()._change_rows(column, left, changes)
        if self._keep:
            _kernels.change_weights(
                self._synthetic_joint[self.bundle_of(self._hypothesis.stump.feature)],
                left,
                changes,
                self.synthetic_weights,
                self._block,
                0,
                1,
                self._synthetic_rows,
                self._synthetic_gains,
                self._n_gained,
                self._synthetic_sum,
            )

    def _sum(self) -> float:
        return super()._sum() + float(self.scale[self.minority] * self._synthetic_sum[0, 0])

    def _fold(self, factors: Floats) -> None:
        n_drawn = int(self._block[0, 2])
        self.synthetic_weights *= factors[self.minority]
        self._synthetic_rows[:n_drawn] = np.arange(n_drawn)
        self._synthetic_gains[:n_drawn] = self.synthetic_weights[:n_drawn]
        self._n_gained[0] = n_drawn
        self._synthetic_sum[0, 0] = self.synthetic_weights[:n_drawn].sum()
        super()._fold(factors)
