"""SMOTEBoost: AdaBoost in which each round sees new synthetic instances of the minority class.

SMOTE (Chawla et al. 2002) draws them, on AdaFair's bins. Distances are those of its form for categories, SMOTE-NC
(section 6.1), for FAE's clusters as well: numbers differ by their difference, two categories by the median of the
numbers' standard deviations. Numbers are standardised here, so that this median is one.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from ..._arrays import X_BINNED_DTYPE, Codes, Floats, Integers
from ..._choice.wishes import Settings
from ..._engine.cpu import Classes, CpuRows, Listed, add_to_histograms, add_up, list_everything
from ..._engine.kernels import boosting
from ..._fit.loop import Trained
from ..._fit.pairs import Shape
from ..._fit.samples import CodedSample, CodedTables, Sample
from ..._fit.trees import Growing, TreeLearner
from ..._model.glass_box import About
from ..._table.binning import Binner
from ..._table.sources import NumberSource, Source
from ...adaboost import PlainBoosting

AT_CHANCE = 1e-10  # a learner's weight is zero if its error is this close to one half
# Of numbers whose distances are asked for: the squares of millions of 2^500 have a finite sum, those of 1 next to the
# largest float are still above zero.
LARGEST_EXPONENT = 500


@dataclass(eq=False, repr=False)
class SMOTEBoostClassifier(PlainBoosting):
    """SMOTEBoost (Chawla, Lazarevic, Hall, Bowyer 2003) with decision stumps on AdaFair's own kernel.

    In each round SMOTE draws N instances of the rarer class: a random instance of it, one of that instance's
    ``k_neighbors`` nearest neighbours in the class, and a random point on the line between the two. Categories are
    those of the majority of the neighbours (SMOTE-NC). The stump is trained on the training data and these instances,
    each of which weighs as much as a training instance does on average, 1/n. It is about class imbalance, not about
    fairness: ``sensitive_features`` changes nothing but adds the groups to the measures in ``history_``.

    As published, the synthetic instances are discarded after the round, and the learner's weight α comes from its error
    on the training data: a stump worse than chance there votes for the other class, and one that is exactly at chance
    has no weight and is left out of ``estimators_``. With ``keep_synthetic`` they stay, count in the error and are
    reweighted like all others: a much stronger treatment, and the one that gives the figures of the AdaFair paper.

    With ``smote="plain"`` numbers are all there is, as in SMOTE's first form and in the AdaFair paper's experiments,
    which had a 0/1 column for each category: distances are those of the columns as they are, every column of a
    synthetic instance lies on the line, also between 0 and 1, and the stumps may split there.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of boosting rounds T.
    n_synthetic : int, default=100
        Number of synthetic instances per round N. The AdaFair paper has 2 for COMPAS, 100 for Adult and Bank, 500 for
        KDD census.
    k_neighbors : int, default=5
        Number of neighbours to choose from; all other instances of the class if it has fewer.
    keep_synthetic : bool, default=False
        Keep the synthetic instances for all later rounds.
    smote : {"nc", "plain"}, default="nc"
        SMOTE-NC, which knows categories and missing values, or plain SMOTE, which needs numbers throughout.
    update : {"discrete", "confidence"}, default="discrete"
        AdaBoost's own reweighting (AdaBoost.M2 for two classes and learners that vote 0 or 1), or the confidence-rated
        one that AdaFair defaults to.
    criterion, max_bins, categorical_features, positive, n_jobs, verbose, random_state :
        As in :class:`parityboost.AdaFairClassifier`; ``random_state`` is the seed of SMOTE.

    Attributes
    ----------
    minority_class_ : object
        The rarer class, by sample weight; the positive class if both are equal.

    Notes
    -----
    Neighbours are found once, among the training instances. With SMOTE-NC their distance is Euclidean on numbers
    standardised within the class; two different categories, or a number and a missing one, are one standard deviation
    apart. Where one end of the line is missing, the synthetic instance has the value of the instance it started from.

    References
    ----------
    N. Chawla, A. Lazarevic, L. Hall, K. Bowyer: SMOTEBoost: Improving Prediction of the Minority Class in Boosting.
    PKDD 2003.

    N. Chawla, K. Bowyer, L. Hall, W. Kegelmeyer: SMOTE: Synthetic Minority Over-sampling Technique. JAIR 16, 2002.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PlainBoosting._parameter_constraints,
        "n_synthetic": [Interval(Integral, 1, None, closed="left")],
        "k_neighbors": [Interval(Integral, 1, None, closed="left")],
        "keep_synthetic": ["boolean"],
        "smote": [StrOptions({"nc", "plain"})],
    }
    _stored_values = ("minority_class_",)

    n_estimators: int = 200
    _: KW_ONLY
    n_synthetic: int = 100
    k_neighbors: int = 5
    keep_synthetic: bool = False
    smote: str = "nc"
    update: str = "discrete"
    criterion: str = "gini"
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    positive: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None

    def _stump_learner(
        self, coded: CodedTables, about: About, start: Floats, rng: np.random.RandomState, unit: float
    ) -> SmoteLearner:
        sample = coded.train_sample
        per_class = sample.totals.sum(axis=0)
        minority = int(per_class[1] <= per_class[0])
        self.minority_class_ = about.labels.outcomes.tolist()[minority]
        theirs = np.flatnonzero(sample.y == minority)
        theirs = theirs[np.argsort(sample.rows[theirs])]  # in the order of X: what is drawn depends on no group
        if len(theirs) < 2:
            raise ValueError(
                f"SMOTE needs two instances of the rarer class to draw others between them: class "
                f"{self.minority_class_!r} has only one"
            )
        mass, rows = sample.masses.at(theirs).values_or_none, sample.rows[theirs]
        smote = Smote(coded.bundles.binner, coded.sources, rows, mass, self.k_neighbors, self.smote == "plain")
        points = smote.draw(self.n_synthetic * self.n_estimators, rng).points
        if smote.plain:
            smote.bin_with(points, coded.sources, sample, self.max_bins)
            coded = coded.with_binner(smote.binner)
        synthetic = Synthetic(smote.encode(points), minority, self.n_synthetic, self.keep_synthetic)
        return SmoteLearner(coded, start, self.criterion, synthetic)


def read_points(binner: Binner, sources: list[Source], rows: NDArray[Any]) -> Floats:
    """Some rows of X as points: numbers, NaN for missing, and codes of categories, 0 for missing."""
    return np.column_stack(
        [
            column.encode(source, rows) if column.categorical else source.floats(rows)
            for column, source in zip(binner.columns, sources, strict=True)
        ]
    ).astype(np.float64)


def space(points: Floats, categorical: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Rows whose Euclidean distances are those of the points.

    A missing number is the mean and, like a missing category, one unit away from any value.
    """
    numbers = points[:, ~categorical]
    missing = np.isnan(numbers)
    numbers = np.where(missing, 0.0, numbers)
    largest = np.abs(numbers).max(axis=0, initial=0.0)
    numbers = np.ldexp(numbers, -np.frexp(largest)[1])  # by powers of two: no square can overflow, nothing rounds
    with np.errstate(invalid="ignore", divide="ignore"):  # columns without any value
        mean = numbers.sum(axis=0) / (~missing).sum(axis=0)
    centred = np.where(missing, 0.0, numbers - mean)
    spread = np.sqrt((centred**2).mean(axis=0))
    parts = [np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0), missing[:, missing.any(axis=0)]]
    # Two different categories differ in two places: 2 · (1/√2)² is one unit.
    parts += [(column[:, None] == np.unique(column)) * np.sqrt(0.5) for column in points[:, categorical].T]
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


class Drawn(NamedTuple):
    """Synthetic points and the positions of the real ones that they lie between."""

    points: Floats
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
        self.binner, self.plain = binner, plain
        self.points = read_points(binner, sources, rows)
        self._categorical = np.array([column.categorical for column in binner.columns])
        if plain:
            self._check_numbers()
        self._share = None if weights is None else weights / weights.sum()
        search = NearestNeighbors(n_neighbors=min(k_neighbors, len(rows) - 1), algorithm="brute")
        with threadpool_limits(1):  # with more threads, neighbours at equal distance come in another order
            # Without an argument no point is its own neighbour.
            matrix = _squarable(self.points) if plain else space(self.points, self._categorical)
            self.neighbours = search.fit(matrix).kneighbors(return_distance=False)
        self._majority = majority(self.points[:, self._categorical], self.neighbours)

    def _check_numbers(self) -> None:
        """Plain SMOTE has no place for categories and missing values."""
        for column in self.binner.columns:
            if column.categorical:
                raise ValueError(
                    f'smote="plain" takes numbers only, but column {column.name!r} holds categories: replace it by a '
                    '0/1 column for each of them, or use smote="nc"'
                )
        for column, points in zip(self.binner.columns, self.points.T, strict=True):
            if np.isnan(points).any():
                raise ValueError(
                    f'smote="plain" takes no missing values, but column {column.name!r} has some: fill or drop them'
                )

    def draw(self, n_points: int, rng: np.random.RandomState) -> Drawn:
        """New points: numbers on the line to one of the neighbours, categories by majority of all of them."""
        n_real, k = self.neighbours.shape
        base = rng.choice(n_real, n_points, p=self._share)
        neighbour = self.neighbours[base, rng.randint(k, size=n_points)]
        ours, theirs = self.points[base], self.points[neighbour]
        gap = rng.random_sample((n_points, 1))
        points = (1.0 - gap) * ours + gap * theirs
        points = np.where(np.isnan(points), ours, points)  # nothing lies between a number and a missing one
        points[:, self._categorical] = self._majority[base]
        return Drawn(points, base, neighbour)

    def bin_with(self, points: Floats, sources: list[Source], train: Sample, max_bins: int) -> None:
        """Bins of the training rows and the synthetic ones together.

        Between a 0 and a 1 of a category's column lie synthetic rows alone, and a tree that sees them splits there.
        """
        mass = train.masses.values_or_none
        if mass is not None:
            mass = np.append(mass, np.full(len(points), max(round(mass.mean()), 1)))
        columns: list[Any] = []
        for source, drawn in zip(sources, points.T, strict=True):  # one at a time: there may be hundreds
            together: list[Source] = [NumberSource(source.name, np.append(source.floats(train.rows), drawn))]
            columns += Binner.fit(together, slice(None), mass, max_bins, [False], train.team).columns
        self.binner = Binner(tuple(columns))

    def encode(self, points: Floats) -> Codes:
        """Codes as the weak learner wants them, one row of the result per column of X."""
        codes = [
            values if column.categorical else column.encode(NumberSource(column.name, values), slice(None))
            for column, values in zip(self.binner.columns, points.T, strict=True)
        ]
        return np.array(codes, dtype=X_BINNED_DTYPE)


def _squarable(numbers: Floats) -> Floats:
    """Huge numbers by one power of two, so that no squared distance overflows; others, and all ratios, stay exact."""
    exponent = int(np.frexp(np.abs(numbers).max(initial=0.0))[1])
    return np.ldexp(numbers, min(LARGEST_EXPONENT - exponent, 0))


def majority(codes: NDArray[Any], neighbours: NDArray[np.intp]) -> NDArray[Any]:
    """The most frequent code among each point's neighbours, of equals that of the nearest."""
    most = np.empty_like(codes)
    for j, column in enumerate(codes.T):
        theirs = column[neighbours]
        votes = (theirs[:, :, None] == theirs[:, None, :]).sum(axis=2)
        most[:, j] = np.take_along_axis(theirs, votes.argmax(axis=1)[:, None], axis=1)[:, 0]
    return most


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

    def join(self, j: int, weight: float, classes: Classes) -> None:
        """Let the j-th block of synthetic rows be there from now on, with ``weight`` in integers each."""
        rows, b = self.arrays, len(self._real.arrays.blocks) + j
        first, last = rows.blocks[b, 1:].tolist()
        rows.mass[first:last] = 1
        self.weights.values[first:last] = weight
        list_everything(rows, self.weights, b, b + 1)
        add_up(rows, self.weights, classes)

    def put_into_leaves(self, grown: Any) -> Any:
        self._real.put_into_leaves(grown)
        return super().put_into_leaves(grown)

    def move_margins(self, steps: Floats, threshold: float, learner_too: bool) -> Any:
        return self._real.move_margins(steps, threshold, learner_too)

    def sum_masses(self) -> Any:
        return self._real.sum_masses()

    def distribution(self, classes: Classes, total: float) -> Floats:
        return super().distribution(classes, total)[: len(self._real)]


class Synthetic(NamedTuple):
    """The synthetic rows of all rounds: what SMOTE draws does not depend on the boosting."""

    codes: Codes  # [column, row]
    minority: int  # 0 or 1, the class they are of
    n_per_round: int
    keep: bool  # for the later rounds


class SmoteLearner(TreeLearner):
    """The native stump, trained on the real rows and on synthetic ones that each round adds."""

    def __init__(self, coded: CodedTables, start: Floats, criterion: str, synthetic: Synthetic) -> None:
        codes, self._minority, self._n_synthetic, self._keep = synthetic
        self._synthetic = coded.bundles.consume(list(codes.copy()))
        self._n_rounds = codes.shape[1] // self._n_synthetic
        self._n_real = len(coded.train_sample)  # before equal rows were merged
        self._round = self._n_joined = 0  # which instances the coming fit sees
        none = np.zeros((0, len(coded.bundles.bundle_of)), dtype=np.bool_)
        growing = Growing(Shape(1, none), criterion, None, None, None)
        super().__init__(coded.bundles, coded.train, coded.selection, start, growing)

    def _place(self, train: CodedSample, start: Floats) -> tuple[CpuRows, Classes]:
        if not self._keep:
            return super()._place(train, start)
        real = train.sample.place(train.codes, self._bundles.bundle_of)
        rows = SmoteRows(real, self._synthetic, self._minority * real.n_groups, self._n_synthetic, self._team.run)
        classes = boosting.start_classes(train.sample.cell_mass, start, self._synthetic.shape[1])
        rows.start_weights(start, classes)
        return rows, classes

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
        listed = Listed(np.arange(n, dtype=np.uint32), np.full(n, each), np.array([n]))
        add_to_histograms(new, listed, block, self.train.n_groups, both, 0, len(new))
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
