"""What native weak learners share, and the stump: the best one over all columns, from one histogram per column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import Codes, Floats, Integers
from ..._choice.settings import Settings
from ..._engine.codes import BLOCK_ROWS, N_CODES
from ..._engine.cpu import MAX_LEAVES
from ..._engine.kernels import boosting, rounds, splitting
from ..._engine.kernels.trees import Grown
from ..._engine.threads import Team
from ..._model.ensemble import StumpEnsemble
from ..._model.grid import ALPHA_GRID
from ..._model.trees import Stump
from ..._table.bundles import Bundles
from ..samples import CodedSample, Leaves
from ..weights import Changes, RowWeights
from .base import Trained
from .several import Several, charges_of, rows_of

# A split is judged as if so much of all weight was in each of its leaves besides, of either class: with steps of any
# size, small pure leaves would otherwise win too often. Plain boosting of Adult and Bank had the best balanced accuracy
# with it, on other halves than those of benchmarks/pairs.py.
PRIOR = 0.001
ONES = np.ones(4)


@dataclass(slots=True)
class TrainedLeaves(Trained):
    """A native learner and what it found in its leaves."""

    confidences: tuple[float, ...]  # share of a leaf's weight that belongs to the class it votes for
    leaf_mass: Any  # sample weight per [leaf, class], an array or what becomes one when it is read


@dataclass(slots=True)
class TrainedStump(TrainedLeaves):
    """A stump and its leaves, the right one first."""

    model: Stump


class Histograms:
    """The weight of each class in each bin, in integers: ``values[bundle, class, even or odd place, joint code]``.

    They are not made anew in each round: they are given what the rows gained that changed their weight.
    """

    def __init__(self, codes: Any, n_groups: int, team: Team) -> None:
        self.codes = codes  # where the rows are placed
        self.values = np.zeros((len(codes), 2, 2, N_CODES), dtype=np.int64)
        self._n_groups = n_groups
        self._backend = team.backend

    def update(self, changes: Changes, blocks: Any) -> None:
        """Add what the rows gained, once."""
        if changes.told:
            return
        self.renew(changes)
        self.add(changes.lists, blocks)
        changes.tell()

    def renew(self, changes: Changes) -> None:
        """Forget the classes whose rows are all listed, with all that they weigh."""
        for y in changes.renewed:
            self.values[:, y] = 0

    def add(self, lists: tuple[Any, Any, Any], blocks: Any) -> None:
        """Add what is listed: rows, what each gained, and how many each block lists."""
        self._backend.add_to_histograms(self.codes, lists, blocks, self._n_groups, self.values)

    def per_code(self, bundle: int) -> Integers:
        """``[class, joint code]`` of one bundle."""
        per_code: Integers = self.values[bundle].sum(axis=1)
        return per_code


class StumpSearch:
    """Finds the best stump for given histograms.

    Parameters
    ----------
    bundles : Bundles
        Which columns share a byte.
    train : CodedSample
        The training rows, placed; they tell which columns have missing values.
    criterion : {"gini", "error"}
        What is optimised.
    orders : ndarray of int8, optional
        For each column 1 or -1 if the score may only rise or fall with it, else 0.
    rate : float, optional
        The leaves vote with so much of half their log-odds, not with -1 or 1.
    """

    def __init__(
        self,
        bundles: Bundles,
        train: CodedSample,
        criterion: str,
        orders: NDArray[np.int8] | None = None,
        rate: float | None = None,
    ) -> None:
        self._rate = rate
        self._criterion = splitting.ERROR if criterion == "error" else splitting.GINI
        self.bundles = bundles
        n_features = len(bundles.bundle_of)
        self._columns = splitting.Columns(
            bundles.bundle_of,
            bundles.code_of,
            bundles.sizes,
            bundles.binner.n_bins,
            bundles.binner.categorical,
            train.has_missing,
            train.has_other,
            np.zeros(n_features, dtype=np.int8) if orders is None else orders,
        )
        self._team = train.sample.team
        self._all_columns = np.ones(n_features, dtype=np.bool_)
        self._no_limits = np.array([0.0, 1.0, 0.0])  # see ``is_in_order``
        self._found = splitting.Found(
            np.empty(n_features), np.empty(n_features, dtype=np.int64), np.empty(n_features, dtype=np.bool_)
        )
        self._train = train
        sample = train.sample
        # Passes that several threads share, or another device makes, are made one by one.
        self._is_one_go = isinstance(train.codes, np.ndarray) and all(
            self._team.n_sharing(*work) < 2 for work in (train.codes.shape, (len(sample.blocks), BLOCK_ROWS))
        )
        self._mass_of = self._team.backend.sum_masses(
            train.codes, sample.placed_mass, sample.n_negative, sample.placed_blocks, sample.n_groups
        )

    def best(self, histograms: Histograms, units: Floats, total: float) -> TrainedStump:
        """The stump with the purest leaves; ``units[class]`` is what an integer in the histograms weighs."""
        values, found = histograms.values, self._found
        self._no_limits[2] = splitting.TIE * total
        self._find_splits(values, units, self._all_columns, self._no_limits, self._prior(total))
        leaf_of_code = np.empty(N_CODES, dtype=np.uint8)
        leaf_sums, leaf_mass = np.empty((2, 2), dtype=np.int64), np.empty((2, 2), dtype=np.int64)
        feature = splitting.choose_stump(
            values, self._mass_of, self._columns, total, found, leaf_of_code, leaf_sums, leaf_mass
        )
        negative_unit, positive_unit = units.tolist()
        how = total, self._rate or 0.0, ALPHA_GRID
        leaves = [splitting.vote_of(n * negative_unit, p * positive_unit, *how) for n, p in leaf_sums.tolist()]
        if found.scores[feature] < 0.0:  # one leaf for all
            leaves[splitting.RIGHT] = (*leaves[splitting.LEFT][:2], 0.0)
        (right_vote, right_share, right_wrong), (left_vote, left_share, left_wrong) = leaves
        kept = float if self._rate is not None else int
        stump = Stump(
            feature,
            int(found.splits[feature]),
            bool(found.missing_left[feature]),
            kept(left_vote),
            kept(right_vote),
            left_share,
            right_share,
        )
        return TrainedStump(
            stump,
            (left_wrong + right_wrong) / total,
            Leaves(histograms.codes[self.bundles.bundle_of[feature]], leaf_of_code),
            np.array([right_vote, left_vote], dtype=np.float64),
            (right_share, left_share),
            leaf_mass,
        )

    def several(
        self, settings: Settings, most: int, selection: CodedSample, histograms: Histograms, weights: RowWeights
    ) -> Several | None:
        """Who boosts several rounds at a time, if that can be."""
        charges = charges_of(settings.notion, settings.epsilon)
        if charges is None or not self._is_one_go:
            return None
        search = boosting.Search(
            histograms.values,
            self._mass_of,
            self._columns,
            np.empty_like(self._all_columns),
            self._found,
            Grown.room(),
            np.empty((MAX_LEAVES, 2), dtype=np.int64),
            self._criterion,
            0.0 if self._rate is None else PRIOR,
            self._rate or 0.0,
            ALPHA_GRID,
        )
        below = self._below()
        has_other, has_leaves = selection is not self._train, below is not None
        rows, other = rows_of(self._train, True, has_leaves), rows_of(selection, has_other, has_leaves)
        n_groups = self._train.sample.n_groups
        return Several(settings, most, rows, other, n_groups, search, below, weights, charges)

    def _below(self) -> boosting.Below | None:
        """What the sides of a first split are split with; a stump has none."""
        return None

    def _prior(self, total: float) -> float:
        """What is added to both classes of a leaf before it is judged."""
        return 0.0 if self._rate is None else PRIOR * total

    def _find_splits(
        self, values: Integers, units: Floats, allowed: NDArray[np.bool_], limits: Floats, prior: float
    ) -> None:
        """The best split of each column that is allowed, for histograms of some rows."""
        self._team.run(
            lambda first, last: splitting.best_splits(
                values, units, self._columns, self._criterion, allowed, limits, prior, first, last, self._found
            ),
            len(allowed),
            4 * N_CODES,
        )


class NativeLearner:
    """What the native learners share: the weights of the rows of a sample, and histograms of all of them.

    Those who inherit it set ``_search``, a :class:`StumpSearch`.

    Parameters
    ----------
    train, selection : CodedSample
        The rows to train on, and those that θ is chosen on; they may be the same.
    start : ndarray of shape (n_cells,)
        The factor that D¹ gives to the rows of each cell, besides their sample weights.
    """

    _search: StumpSearch

    def __init__(self, train: CodedSample, selection: CodedSample, start: Floats) -> None:
        self.train, self.selection = train.sample, selection.sample
        self._train_codes, self._selection_codes = train.codes, selection.codes
        self.train.team.backend.require(train.n_bytes + (0 if selection is train else selection.n_bytes))
        self._placed = train.placed()
        self._placed_selection = self._placed if selection is train else selection.placed()
        sample = self.train
        known = len(sample), sample.cell_mass
        self._weights = RowWeights(sample.blocks, sample.masses.values, start, sample.team, known=known)
        self._histograms = Histograms(self._placed.codes, self.train.n_groups, self.train.team)

    def wrong_weight(self, trained: TrainedLeaves) -> Floats:
        return self._weights.wrong(trained.leaves, trained.votes)

    def reweight(self, trained: TrainedLeaves, costs: Floats, alpha: float, update: str) -> float:
        return boost_wrong(self._weights, trained, costs, alpha, update)

    def several(self, settings: Settings, most: int) -> Several | None:
        return self._search.several(settings, most, self._placed_selection, self._histograms, self._weights)

    def distribution(self) -> Floats:
        return self._weights.distribution()

    def _selection_codes_on_host(self) -> Codes:
        """What goes through the margins later holds nothing on the device."""
        codes: Codes = self.selection.team.backend.to_host(self._selection_codes)
        return codes


class StumpLearner(NativeLearner):
    """The native stump on the rows of a sample, whose weights it keeps.

    Parameters
    ----------
    bundles : Bundles
        Which columns share a byte.
    train, selection, start :
        As in :class:`NativeLearner`.
    criterion, orders, rate :
        As in :class:`StumpSearch`.
    """

    def __init__(
        self,
        bundles: Bundles,
        train: CodedSample,
        selection: CodedSample,
        start: Floats,
        criterion: str,
        orders: NDArray[np.int8] | None = None,
        rate: float | None = None,
    ) -> None:
        super().__init__(train, selection, start)
        self._search = StumpSearch(bundles, self._placed, criterion, orders, rate)

    def fit(self) -> TrainedStump:
        weights = self._weights
        self._histograms.update(weights.changes, weights.placed_blocks)
        return self._search.best(self._histograms, weights.units, weights.total)

    def selection_leaves(self, trained: TrainedStump) -> Leaves:
        return selection_leaves(self._search.bundles, self._placed_selection.codes, trained)

    def ensemble(self, models: list[Stump], alphas: Floats) -> StumpEnsemble:
        return StumpEnsemble(self._search.bundles.binner, models, alphas)

    def selection_margins(self, ensemble: StumpEnsemble) -> Callable[[], Iterator[Floats]]:
        return staged_margins(self._search.bundles, self._selection_codes_on_host(), ensemble)


def boost_wrong(weights: RowWeights, trained: TrainedLeaves, costs: Floats, alpha: float, update: str) -> float:
    """Change the weights as :meth:`Learner.reweight` says; the new sum of weights by the old one."""
    right = ONES[: len(trained.votes)]
    if update == "real":
        right, wrong = np.empty((2, len(trained.votes)))
        rounds.real_factors(trained.votes, right, wrong)
    elif update == "confidence":
        wrong = np.array([math.exp(2.0 * alpha * share) for share in trained.confidences])
    else:
        wrong = np.full(len(trained.votes), math.exp(2.0 * alpha))
    return weights.boost_wrong(trained.leaves, trained.votes, right, wrong, costs, np.asarray(trained.leaf_mass))


def selection_leaves(bundles: Bundles, codes: Any, trained: TrainedStump) -> Leaves:
    """The leaves of other rows than those that a stump was trained on."""
    return Leaves(codes[bundles.bundle_of[trained.model.feature]], trained.leaves.leaf_of_code)


def staged_margins(bundles: Bundles, codes: Codes, ensemble: Any) -> Callable[[], Iterator[Any]]:
    """A function that goes through the margins of rows after each round."""
    return partial(ensemble.staged_codes, codes, bundles.bundle_of, bundles.code_of)
