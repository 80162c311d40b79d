"""SMOTE and, for categories, SMOTE-NC (Chawla et al. 2002), on AdaFair's bins; the weak learner of SMOTEBoost.

Distances are SMOTE-NC's (section 6.1), for FAE's clusters as well: numbers differ by their difference, two categories
by the median of the numbers' standard deviations. Numbers are standardised here, so that this median is one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from ..._arrays import Codes, Floats, Integers
from ..._choice.settings import Settings
from ..._engine.codes import MISSING, X_BINNED_DTYPE
from ..._engine.cpu import CpuRows
from ..._engine.kernels import boosting, passes
from ..._engine.threads import Team
from ..._fit.rounds import Trained
from ..._fit.samples import CodedSample, Sample
from ..._fit.trees import Growing, TreeLearner
from ..._table.binning import Binner
from ..._table.bundles import Bundles
from ..._table.sources import NumberSource, Source

# A learner's weight is zero if its error is this close to one half.
AT_CHANCE = 1e-10
# Of numbers whose distances are asked for: the squares of millions of 2^500 have a finite sum, those of 1 next to the
# largest float are still above zero.
LARGEST_EXPONENT = 500


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


class Synthetic(NamedTuple):
    """Synthetic points and the real ones they lie between."""

    points: Points
    base: NDArray[np.intp]
    neighbour: NDArray[np.intp]


class Smote:
    """Draws points between those of one class and their neighbours, which are found once.

    ``rows`` of X are of the class, each chosen in proportion to its weight; if the class has fewer than ``k_neighbors``
    others, all of them are neighbours. ``plain`` is SMOTE as first published: numbers only, distances between them as
    they are. The binner turns synthetic points into codes.
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


class SmoteRows(CpuRows):
    """Real rows, and synthetic ones behind them: of these, one block joins in each round, if they are kept.

    A row that has not joined has no mass. Predictions are counted of the real rows alone.
    """

    def __init__(self, real: CpuRows, synthetic: Codes, cell: int, n_per_round: int, run: Any) -> None:
        rows, n_synthetic = real.arrays, synthetic.shape[1]
        codes = np.concatenate([rows.codes, synthetic], axis=1)
        mass = rows.mass if len(rows.mass) else np.ones(len(real), dtype=np.int64)
        first = len(real) + np.arange(0, n_synthetic, n_per_round)
        blocks = np.column_stack([np.full(len(first), cell), first, first + n_per_round])
        mass = np.append(mass, np.zeros(n_synthetic, dtype=np.int64))
        given = codes, mass, rows.unit, np.concatenate([rows.blocks, blocks]), rows.cell_mass, real.bundle_of
        super().__init__(*given, run)
        self._real = real

    def join(self, j: int, weight: float, classes: boosting.Classes) -> None:
        """Let the j-th block of synthetic rows be there from now on, with ``weight`` in integers each."""
        rows, b = self.arrays, len(self._real.arrays.blocks) + j
        first, last = rows.blocks[b, 1:].tolist()
        rows.mass[first:last] = 1
        weights = self.weights
        weights.values[first:last] = weight
        passes.list_everything(
            weights.values,
            rows.mass,
            rows.blocks,
            b,
            b + 1,
            weights.rows,
            weights.gains,
            weights.n_rows,
            weights.block_sums,
        )
        boosting.add_up(rows.blocks, self.n_groups, weights, classes)

    def put_into_leaves(self, grown: Any) -> Any:
        self._real.put_into_leaves(grown)
        return super().put_into_leaves(grown)

    def move_margins(self, steps: Floats, threshold: float, learner_too: bool) -> Any:
        return self._real.move_margins(steps, threshold, learner_too)

    def sum_masses(self) -> Any:
        return self._real.sum_masses()

    def distribution(self, classes: boosting.Classes, total: float) -> Floats:
        return super().distribution(classes, total)[: len(self._real)]


class SmoteLearner(TreeLearner):
    """The native stump, trained on the real rows and on synthetic ones that each round adds.

    What SMOTE draws does not depend on the boosting, so the points of all rounds are drawn and encoded at once.

    Parameters
    ----------
    bundles, train, selection, start :
        As in :class:`parityboost._fit.trees.TreeLearner`.
    criterion : {"gini", "error"}
        What the stumps optimise.
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
        self._synthetic = bundles.join(list(synthetic))
        self._minority, self._n_synthetic, self._n_real, self._keep = minority, n_synthetic, n_real, keep
        self._n_rounds = synthetic.shape[1] // n_synthetic
        self._round = self._n_joined = 0  # which instances the coming fit sees
        none = np.zeros((0, len(bundles.bundle_of)), dtype=np.bool_)
        super().__init__(bundles, train, selection, start, Growing(1, criterion, None, none, None))

    def _place(self, train: CodedSample) -> CpuRows:
        real: CpuRows = super()._place(train)
        if not self._keep:
            return real
        return SmoteRows(real, self._synthetic, self._minority * real.n_groups, self._n_synthetic, self._team.run)

    def _start(self, start: Floats) -> boosting.Classes:
        n_to_come = self._synthetic.shape[1] if self._keep else 0
        classes = boosting.Classes.of(self.train.cell_mass, start, n_to_come)
        self.rows.start_weights(start, classes)
        return classes

    def fit(self) -> Trained:
        """The stump for the coming round; rounds whose stump is at chance have no weight and are passed over."""
        if self._keep:
            return self._fit_keeping()
        while self._round < self._n_rounds:
            trained = self._fit_once(self._round)
            if abs(trained.error - 0.5) > AT_CHANCE:
                return trained
            self._round += 1
        return self._fit_once(self._n_rounds - 1)._replace(error=0.5)  # all rounds are used up

    def _fit_keeping(self) -> Trained:
        """New synthetic rows become rows like any other: they count in the error and are reweighted."""
        if self._n_joined == self._round:
            # Each weighs as much as a training instance does on average, 1/n under a D that sums to one.
            weight = self.total / (self._n_real + self._round * self._n_synthetic)
            self._make_room(weight * self._n_synthetic)
            self.rows.join(self._round, weight / float(self.classes.units[self._minority]), self.classes)
            self.total = boosting.weigh(self.classes)
            self._n_joined += 1
        return super().fit()

    def _fit_once(self, j: int) -> Trained:
        """Synthetic rows are there for the choice of the stump only; its error is that on the real rows."""
        n, y = self._n_synthetic, self._minority
        self._make_room(self.total / self._n_real * n)
        histograms = self.update_histograms()
        both = histograms.copy()
        new = np.ascontiguousarray(self._synthetic[:, j * n : (j + 1) * n])
        unit = float(self.classes.units[y])
        each = max(round(self.total / self._n_real / unit), 1)
        block = np.array([[y * self.train.n_groups, 0, n]])
        listed = np.arange(n, dtype=np.uint32), np.full(n, each), np.array([n])
        passes.add_to_histograms(new, *listed, block, self.train.n_groups, 0, len(new), both)
        self._grow(both, self.total + each * n * unit)
        return self._trained(self._turn_around_if_worse_than_chance(histograms))

    def _turn_around_if_worse_than_chance(self, histograms: Integers) -> float:
        """The error of the stump on the real rows. The published algorithm does not stop where that is above one half:
        log(1/β) is negative, which is a vote for the other class.
        """
        grown = self._search.grown
        negative, positive = histograms[self.rows.bundle_of[grown.features[0]]].sum(axis=1)
        says_positive = grown.votes[grown.root_leaves] > 0
        units = self.classes.units.tolist()
        wrong = int(negative[says_positive].sum()) * units[0] + int(positive[~says_positive].sum()) * units[1]
        error: float = wrong / self.total
        if error <= 0.5:
            return error
        grown.votes[:], grown.shares[:] = -grown.votes, 1.0 - grown.shares
        return 1.0 - error

    def _make_room(self, weight: float) -> None:
        """See to it that rows of the class that weigh so much in all can be added to its sums."""
        classes, y = self.classes, self._minority
        expected = int(classes.sums[y]) + weight / float(classes.units[y])
        if expected < boosting.ROOM:
            return
        renewed = classes.is_renewed.copy()
        classes.is_renewed[:], classes.bits[:] = False, 0
        classes.is_renewed[y], classes.bits[y] = True, classes.targets[y] - math.frexp(expected)[1]
        classes.powers[y] *= 2.0 ** -int(classes.bits[y])
        self.rows.list_anew(classes)
        classes.is_renewed[:] |= renewed
        self.total = boosting.weigh(classes)

    def several(self, settings: Settings, most: int, keeps_leaves: bool) -> None:
        return None

    def reweight(self, trained: Trained, costs: Floats, alpha: float, update: str) -> float:
        self._round += 1
        return super().reweight(trained, costs, alpha, update)
