"""FAE: an ensemble of AdaBoosts on balanced bags, with a boundary of its own for the disadvantaged group."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from ..._arrays import Codes, Floats
from ..._choice.thresholds import first_minimum
from ..._choice.wishes import Settings
from ..._engine.kernels.columns import add_steps
from ..._engine.threads import Team
from ..._fit.loop import boost, starting_factors
from ..._fit.pairs import Shape
from ..._fit.samples import CodedSample, Sample, merge_equal_rows, to_masses
from ..._fit.trees import Growing, TreeLearner
from ..._stats import rates as _rates
from ..._table.binning import Binner, Bundles
from ..._table.grouping import group_name
from ..._table.reading import cells
from ..._table.sources import Source, find_categorical, read_sources
from ...adaboost import AdaBoostClassifier
from ...notions import NoNotion
from ._base import Boundaries, Data, match_rate
from .smoteboost import read_points, space

USUAL = 0.5  # the boundary on an averaged vote


@dataclass(eq=False, repr=False)
class FAEClassifier(Boundaries):
    """Fairness-aware ensemble (Iosifidis, Fetahu, Ntoutsi 2019), for equal opportunity.

    Before training, the data is drawn into bags that are balanced over the four cells (group, class): each bag holds
    the whole smallest cell and equally many instances of every other one, drawn across clusters of that cell so that
    its structure is kept. An AdaBoost is trained on each bag, and their votes are averaged. After training, the
    boundary of the group with the lower TPR is shifted so that the TPRs match, on the training data as published.
    The number of bags to use, of the second half of all, is the one with the smallest ``2·|Eq.Op.| + balanced error``.

    The decision depends on the group: :meth:`predict` needs ``sensitive_features`` as well. Sample weights count in the
    AdaBoosts and in the rates; bags are balanced by number, not by weight.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of boosting rounds T in each bag.
    n_bags : int or None, default=None
        Number of bags to train. None is the published 2·(⌊largest/smallest⌋ + 1), by which every instance is drawn at
        least once and about twice if it is of the largest cell.
    n_clusters : int, default=8
        Number of clusters of a cell, found by k-means.
    epsilon : float, default=0.0
        Shift the boundary only if the TPRs differ by more than this.
    update : {"discrete", "confidence"}, default="discrete"
        As in :class:`parityboost.AdaBoostClassifier`.
    criterion, max_bins, categorical_features :
        As in :class:`parityboost.AdaFairClassifier`.
    n_jobs : int or None, default=None
        Number of threads; each trains bags of its own. The fitted model does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the clusters and the draws.

    Attributes
    ----------
    classes_, groups_, n_features_in_, feature_names_in_ :
        As in :class:`parityboost.AdaFairClassifier`.
    n_bags_ : int
        Number of bags that were trained.
    n_bags_used_ : int
        Number of bags whose votes are averaged.
    thresholds_ : ndarray of shape (2,)
        The boundary of each group on the averaged vote, 0.5 where it is not shifted.
    objectives_ : ndarray of shape (n_bags_,)
        What the number of bags was chosen on; NaN for those of the first half.

    Notes
    -----
    The AdaBoosts are those of :class:`parityboost.AdaBoostClassifier`, on bins of the whole training data that they
    share. The vote of an AdaBoost is its ``predict_proba``, as in the authors' code. The error in the objective is the
    balanced one, and fewer than half of the bags are not considered: the authors' code again. They choose the number
    of clusters by a validity index; the bags follow the clusters' proportions whatever their number, so it is fixed
    here. Distances are those of :class:`SMOTEBoostClassifier`.

    References
    ----------
    V. Iosifidis, B. Fetahu, E. Ntoutsi: FAE: A Fairness-Aware Ensemble Framework. IEEE Big Data 2019.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AdaBoostClassifier._parameter_constraints,
        "n_bags": [Interval(Integral, 1, None, closed="left"), None],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
    }

    n_estimators: int = 200
    _: KW_ONLY
    n_bags: int | None = None
    n_clusters: int = 8
    epsilon: float = 0.0
    update: str = "discrete"
    criterion: str = "gini"
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None
    random_state: Any = None

    def _train(self, data: Data) -> None:
        cell = cells(data.y, data.group, 2)
        sizes = np.bincount(cell, minlength=4)
        for k in np.flatnonzero(sizes == 0):
            raise ValueError(
                f"training data: group {group_name(self.groups_[k % 2])!r} has no example of class "
                f"{self.classes_.tolist()[k // 2]!r}: FAE needs all four"
            )
        rng = check_random_state(self.random_state)
        sources = read_sources(data.X)
        categorical = find_categorical(data.X, sources, self.categorical_features)
        masses = to_masses(data.weights)
        with Team(effective_n_jobs(self.n_jobs)) as team:
            binner = Binner.fit(sources, slice(None), masses.values_or_none, self.max_bins, categorical, team)
            codes = np.array(binner.encode(sources, slice(None), team))
            bundles = Bundles.of(binner, [list(codes)])
        # Every row of the largest cell is drawn about twice.
        self.n_bags_ = self.n_bags or 2 * (int(sizes.max()) // int(sizes.min()) + 1)
        bags = draw_bags(cell, self._clusters(binner, sources, cell, rng), self.n_bags_, rng)
        settings = Settings(NoNotion(), n_estimators=self.n_estimators, update=self.update, choose_theta=False)
        growing = Growing(Shape(1, np.zeros((0, len(codes)), dtype=np.bool_)), self.criterion, None, None, None)

        def train(rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
            """The AdaBoost of a bag as one table per column, and its votes on all of the training data."""
            with Team(1) as team:
                sample = Sample(data.y[rows], 1, masses.at(rows), rows, team)
                bag = merge_equal_rows(CodedSample(sample, bundles.consume(list(codes[:, rows]))))
                learner = TreeLearner(bundles, bag, bag, starting_factors(bag.sample.totals, None), growing)
                boosted = boost(learner, settings)
            ensemble = learner.ensemble([r.model for r in boosted.rounds], boosted.alphas)
            tables = ensemble.effects(boosted.choice.theta).tables
            return tables, _votes(codes, tables)

        # The kernels release the GIL: threads share the data and need no copies.
        trained = Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(train)(rows) for rows in bags)
        self.n_bags_used_ = self._choose(data, [votes for _, votes in trained])
        self._binner = binner
        self._tables = [tables for tables, _ in trained[: self.n_bags_used_]]

    def _choose(self, data: Data, votes: list[Floats]) -> int:
        """Sets the boundaries, and returns how many of the bags to use."""
        half = len(votes) // 2
        self.objectives_ = np.full(len(votes), np.nan)
        thresholds = np.full((len(votes), 2), USUAL)
        total = np.zeros(len(data.y))
        for k, vote in enumerate(votes):
            total += vote
            if k < half:
                continue
            mean = total / (k + 1)
            thresholds[k] = equalise_tpr(mean, data, self.epsilon)
            counts = data.counts(mean > thresholds[k][data.group])
            discrimination = _rates.spread(_rates.true_positive_rate(counts))
            self.objectives_[k] = 2.0 * discrimination + _rates.balanced_error_rate(counts)
        chosen = half + first_minimum(self.objectives_[half:])
        self.thresholds_ = thresholds[chosen]
        return chosen + 1

    def _scores(self, X: Any) -> Floats:
        sources = read_sources(X)
        self._binner.check(sources)
        with Team(effective_n_jobs(self.n_jobs)) as team:
            codes = np.array(self._binner.encode(sources, slice(None), team))
        total = np.zeros(len(X))
        for tables in self._tables:  # one after the other, as in training: the sums are the same to the last bit
            total += _votes(codes, tables)
        return total / len(self._tables)

    def _clusters(
        self, binner: Binner, sources: list[Source], cell: NDArray[Any], rng: np.random.RandomState
    ) -> NDArray[np.intp]:
        """The cluster of each row, within its cell. The smallest cell needs none: it is taken whole."""
        sizes = np.bincount(cell, minlength=4)
        cluster = np.zeros(len(cell), dtype=np.intp)
        for k in np.flatnonzero(sizes > max(sizes.min(), self.n_clusters)):
            rows = np.flatnonzero(cell == k)
            points = space(
                read_points(binner, sources, rows), np.array([column.categorical for column in binner.columns])
            )
            with threadpool_limits(effective_n_jobs(self.n_jobs)):
                cluster[rows] = MiniBatchKMeans(self.n_clusters, n_init=1, random_state=rng).fit_predict(points)
        return cluster


def _votes(codes: Codes, tables: Floats) -> Floats:
    """What an AdaBoost's ``predict_proba`` says, from its table per column."""
    margin = np.zeros(codes.shape[1])
    for column, table in zip(codes, tables, strict=True):
        if table.any():
            add_steps(column, table, margin)
    votes: Floats = expit(2.0 * margin)
    return votes


def draw_bags(
    cell: NDArray[Any], cluster: NDArray[np.intp], n_bags: int, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """The rows of each bag: as many of each cell as the smallest one has, none of them twice.

    The rows of a cell are put in an order in which each cluster is spread evenly; consecutive pieces of it, over and
    over again, then hold each cluster in its proportion, and no row is drawn again before all others were.
    """
    sizes = np.bincount(cell, minlength=4)
    size = sizes.min()
    pieces = []
    for k in range(len(sizes)):
        rows = rng.permutation(np.flatnonzero(cell == k))
        place = np.empty(len(rows))
        for c in np.unique(cluster[rows]):
            members = np.flatnonzero(cluster[rows] == c)
            place[members] = (np.arange(len(members)) + rng.random_sample(len(members))) / len(members)
        order = rows[np.argsort(place, kind="stable")]
        pieces.append(order[np.arange(n_bags * size) % len(order)].reshape(n_bags, size))
    return list(np.concatenate(pieces, axis=1))


def equalise_tpr(votes: Floats, data: Data, epsilon: float) -> Floats:
    """The boundary of each group: that of the one with the lower TPR is moved to where it has the other's."""
    thresholds = np.full(2, USUAL)
    tpr = _rates.true_positive_rate(data.counts(votes > USUAL))
    behind = int(tpr[1] < tpr[0])
    if abs(tpr[1] - tpr[0]) > epsilon:
        theirs = data.group == behind
        positive, target = data.y[theirs] == 1, float(tpr[1 - behind])
        thresholds[behind] = match_rate(votes[theirs], positive, positive, data.weight[theirs], target, USUAL)
    return thresholds
