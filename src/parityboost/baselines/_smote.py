"""SMOTE and, for categories, SMOTE-NC (Chawla et al. 2002), on AdaFair's bins; the weak learner of SMOTEBoost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from .._arrays import Codes, Floats
from .._choice.settings import Settings
from .._engine.codes import X_BINNED_DTYPE
from .._fit.learners.stump import Histograms, StumpSearch, TrainedStump, boost_wrong, selection_leaves, staged_margins
from .._fit.samples import CodedSample, Leaves, Sample
from .._fit.weights import RowWeights
from .._model.ensemble import StumpEnsemble
from .._model.trees import Stump
from .._table.binning import Binner
from .._table.bundles import Bundles
from .._table.sources import NumberSource, Source
from ._points import Points, read_points

# A learner's weight is zero if its error is this close to one half.
AT_CHANCE = 1e-10
# Of numbers whose distances are asked for: the squares of millions of 2^500 have a finite sum, those of 1 next to the
# largest float are still above zero.
LARGEST_EXPONENT = 500


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
        weights: NDArray[Any] | None,
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
            matrix = _squarable(self.points.numbers) if plain else self.points.matrix()
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
        mass = train.masses.values
        if len(mass):
            mass = np.append(mass, np.full(len(points.numbers), max(round(mass.mean()), 1)))
        columns: list[Any] = []
        for source, drawn in zip(sources, points.numbers.T, strict=True):  # one at a time: there may be hundreds
            values = np.append(source.floats(train.rows), drawn)
            together: list[Source] = [NumberSource(source.name, values)]
            columns += Binner.fit(
                together, slice(None), mass if len(mass) else None, max_bins, [False], train.team
            ).columns
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


def _squarable(numbers: Floats) -> Floats:
    """Huge numbers by one power of two, so that no squared distance overflows; others, and all ratios, stay exact."""
    exponent = int(np.frexp(np.abs(numbers).max(initial=0.0))[1])
    return np.ldexp(numbers, min(LARGEST_EXPONENT - exponent, 0))


def _majority(codes: Codes, neighbours: NDArray[np.intp]) -> Codes:
    """The most frequent code among each point's neighbours, of equals that of the nearest."""
    majority = np.empty_like(codes)
    for j, column in enumerate(codes.T):
        theirs = column[neighbours]
        votes = (theirs[:, :, None] == theirs[:, None, :]).sum(axis=2)
        majority[:, j] = np.take_along_axis(theirs, votes.argmax(axis=1)[:, None], axis=1)[:, 0]
    return majority


class SmoteLearner:
    """The native stump, trained on the real rows and on synthetic ones that each round adds.

    What SMOTE draws does not depend on the boosting, so the points of all rounds are drawn and encoded at once. Where
    they are kept, they are further blocks of rows behind the real ones, of which one joins in each round.

    Parameters
    ----------
    bundles, train, selection, start, criterion :
        As in :class:`parityboost._fit.learners.stump.StumpLearner`.
    synthetic : ndarray of shape (n_columns, n_rounds * n_synthetic)
        Codes of the synthetic rows of all rounds.
    minority : int
        0 or 1, the class they are of.
    n_synthetic : int
        Number of them per round.
    n_real : int
        Number of training rows, before equal ones were merged.
    keep : bool
        Whether they stay for the later rounds.
    """

    def __init__(
        self,
        bundles: Bundles,
        train: CodedSample,
        selection: CodedSample,
        start: Floats,
        criterion: str,
        *,
        synthetic: Codes,
        minority: int,
        n_synthetic: int,
        n_real: int,
        keep: bool,
    ) -> None:
        self.train, self.selection = train.sample, selection.sample
        self._selection_codes = selection.codes
        self._search = StumpSearch(bundles, train, criterion)
        self._synthetic = bundles.join(list(synthetic))
        self._minority = minority
        self._n_synthetic = n_synthetic
        self._n_real = n_real
        self._n_rounds = synthetic.shape[1] // n_synthetic
        self._keep = keep
        self._round = 0  # which instances the coming fit sees
        blocks, mass, codes = self.train.blocks, self.train.masses.values, train.codes
        n_joined = len(blocks)
        if keep:
            codes = np.concatenate([codes, self._synthetic], axis=1)
            mass = np.append(mass, np.ones(synthetic.shape[1], dtype=np.int64)) if len(mass) else mass
            first = len(self.train) + n_synthetic * np.arange(self._n_rounds)
            cell = np.full(self._n_rounds, minority * self.train.n_groups)
            blocks = np.concatenate([blocks, np.column_stack([cell, first, first + n_synthetic])])
        self._weights = RowWeights(blocks, mass, start, self.train.team, n_joined)
        self._n_joined = 0
        self._histograms = Histograms(codes, self.train.n_groups, self.train.team)

    def fit(self) -> TrainedStump:
        """The stump for the coming round; rounds whose stump is at chance have no weight and are passed over."""
        if self._keep:
            return self._fit_keeping()
        while self._round < self._n_rounds:
            trained = self._fit_once(self._round)
            if abs(trained.error - 0.5) > AT_CHANCE:
                return trained
            self._round += 1
        return replace(self._fit_once(self._n_rounds - 1), error=0.5)  # all rounds are used up

    def _fit_keeping(self) -> TrainedStump:
        """New synthetic rows become rows like any other: they count in the error and are reweighted."""
        weights = self._weights
        if self._n_joined == self._round:
            # Each weighs as much as a training instance does on average, 1/n under a D that sums to one.
            weights.join(weights.total / (self._n_real + self._round * self._n_synthetic))
            self._n_joined += 1
        self._histograms.update(weights.changes, weights.blocks)
        return self._search.best(self._histograms, weights.units, weights.total)

    def _fit_once(self, j: int) -> TrainedStump:
        """Synthetic rows are there for the choice of the stump only; its error is that on the real rows."""
        weights, n, y = self._weights, self._n_synthetic, self._minority
        weights.make_room(y, weights.total / self._n_real * n)
        self._histograms.update(weights.changes, weights.blocks)
        new = np.ascontiguousarray(self._synthetic[:, j * n : (j + 1) * n])
        both = Histograms(new, self.train.n_groups, self.train.team)
        both.values[:] = self._histograms.values
        unit = float(weights.units[y])
        each = max(round(weights.total / self._n_real / unit), 1)
        block = np.array([[y * self.train.n_groups, 0, n]])
        both.add((np.arange(n, dtype=np.uint32), np.full(n, each), np.array([n])), block)
        trained = self._search.best(both, weights.units, weights.total + each * n * unit)
        column = self._histograms.codes[self._search.bundles.bundle_of[trained.model.feature]]
        trained = replace(trained, leaves=trained.leaves._replace(column=column))
        return self._turned_around_if_worse_than_chance(trained)

    def _turned_around_if_worse_than_chance(self, trained: TrainedStump) -> TrainedStump:
        """With its error on the real rows. The published algorithm does not stop where that is above one half:
        log(1/β) is negative, which is a vote for the other class.
        """
        stump, votes = trained.model, trained.votes
        bundle = int(self._search.bundles.bundle_of[stump.feature])
        negative, positive = self._histograms.per_code(bundle)
        says_positive = votes[trained.leaves.leaf_of_code] > 0
        units = self._weights.units.tolist()
        wrong = int(negative[says_positive].sum()) * units[0] + int(positive[~says_positive].sum()) * units[1]
        error = wrong / self._weights.total
        if error <= 0.5:
            return replace(trained, error=error)
        stump = stump._replace(
            left_vote=-stump.left_vote,
            right_vote=-stump.right_vote,
            left_confidence=1.0 - stump.left_confidence,
            right_confidence=1.0 - stump.right_confidence,
        )
        return replace(
            trained,
            model=stump,
            error=1.0 - error,
            votes=-votes,
            confidences=tuple(1.0 - share for share in trained.confidences),
        )

    def several(self, settings: Settings, most: int) -> None:
        return None

    def selection_leaves(self, trained: TrainedStump) -> Leaves:
        return selection_leaves(self._search.bundles, self._selection_codes, trained)

    def wrong_weight(self, trained: TrainedStump) -> Floats:
        return self._weights.wrong(trained.leaves, trained.votes)

    def reweight(self, trained: TrainedStump, costs: Floats, alpha: float, update: str) -> float:
        self._round += 1
        return boost_wrong(self._weights, trained, costs, alpha, update)

    def distribution(self) -> Floats:
        return self._weights.distribution()[: len(self.train)]

    def ensemble(self, models: list[Stump], alphas: Floats) -> StumpEnsemble:
        return StumpEnsemble(self._search.bundles.binner, models, alphas)

    def selection_margins(self, ensemble: StumpEnsemble) -> Callable[[], Iterator[Floats]]:
        return staged_margins(self._search.bundles, self._selection_codes, ensemble)
