"""The native weak learner of depth two: the best stump, and below it the best split of either side.

The histograms of all rows are kept up to date as for a stump. Those of the side with less sample weight are made from
its rows, those of the other side are the difference: sums are integers, so the difference is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._arrays import Floats, Integers
from ..._engine.codes import N_CODES
from ..._engine.kernels import splitting
from ..._engine.kernels.splitting import LEFT, RIGHT
from ..._model.tree_ensemble import TreeEnsemble, place_pairs
from ..._model.trees import Split, Tree
from ..._table.bundles import Bundles
from ..constraints import Partners
from ..samples import CodedSample, Leaves, Sample
from ..weights import RowWeights
from .stump import (
    Histograms,
    NativeLearner,
    StumpSearch,
    TrainedLeaves,
    TrainedStump,
    majority,
    staged_margins,
)

N_LEAVES = 4
# A leaf is 2 · the side of the first split + the side of the second; a side that is not split is all on its left.
LEAVES = np.arange(N_LEAVES, dtype=np.uint8)
NO_SPLIT = np.full(N_CODES, LEFT, dtype=np.uint8)


@dataclass(slots=True)
class TrainedTree(TrainedLeaves):
    """A tree and its leaves, from right to left."""

    model: Tree
    paths: Paths


class Paths(NamedTuple):
    """How a row comes to its leaf, in joint codes: which bundle a split asks, and where each code goes."""

    bundle: int
    side_of_code: NDArray[np.uint8]
    bundles: tuple[int, int]  # of the right side and of the left one
    leaf_of_code: NDArray[np.uint8]  # [side, joint code]

    def leaves(self, sample: Sample, codes: Any) -> tuple[Any, Integers]:
        """The leaf of each row, and the sample weight per [cell, leaf]; the codes are where the rows are placed."""
        right, left = self.bundles
        leaves, mass = sample.team.backend.split_leaves(
            codes[self.bundle],
            self.side_of_code,
            (codes[right], codes[left]),
            self.leaf_of_code,
            sample.placed_mass,
            sample.placed_blocks,
            2 * sample.n_groups,
        )
        return leaves, mass


class Side(NamedTuple):
    """One side of a tree's first split."""

    split: Split | None
    bundle: int
    side_of_code: NDArray[np.uint8]
    leaf_sums: list[list[int]]  # [right or left][class]


class TreeSearch(StumpSearch):
    """Finds the tree for given histograms and weights.

    Parameters
    ----------
    bundles, train, criterion, orders, rate :
        As in :class:`StumpSearch`.
    partners : function, optional
        Which columns may be asked about below a split of a given one, as booleans; all if there is none.
    """

    def __init__(
        self,
        bundles: Bundles,
        train: CodedSample,
        criterion: str,
        orders: NDArray[np.int8] | None,
        partners: Partners | None,
        rate: float | None,
    ) -> None:
        super().__init__(bundles, train, criterion, orders, rate)
        self._train = train
        self._partners = partners
        self._orders: NDArray[np.int8] = self._columns[-1]
        self._criterion: int = self._columns[-2]
        sample = train.sample
        self._part = Histograms(train.codes, sample.n_groups, sample.team)
        self._lists = sample.team.backend.lists(len(sample), len(sample.blocks))

    def best_tree(self, histograms: Histograms, weights: RowWeights) -> TrainedTree:
        """The best stump, each side of which is split if that makes it purer."""
        units, total = weights.units, weights.total
        stump = self.best(histograms, units, total)
        score = float(self._scores[stump.model.feature])
        n, p = (sum(part) for part in zip(*stump.leaf_sums, strict=True))
        root = Split(*stump.model[:3], self._gain(score, n, p, units, total))
        sides = [self._unsplit(stump, side) for side in (RIGHT, LEFT)]
        if score >= 0.0 and any(min(side.leaf_sums[LEFT]) > 0 for side in sides):
            # A pure side needs no histograms, but its sibling may need them for the difference.
            right_mass, left_mass = map(sum, stump.leaf_mass.tolist())
            small = RIGHT if right_mass <= left_mass else LEFT
            self._fill(stump.leaves, small, weights)
            limits = self._limits(stump, units, total)
            sides[small] = self._split(sides[small], root.feature, limits[small], units, total)
            np.subtract(histograms.values, self._part.values, out=self._part.values)
            sides[1 - small] = self._split(sides[1 - small], root.feature, limits[1 - small], units, total)
        return self._grown(stump, root, sides, units, total)

    def _unsplit(self, stump: TrainedStump, side: int) -> Side:
        return Side(None, int(self.bundles.bundle_of[stump.model.feature]), NO_SPLIT, [[0, 0], stump.leaf_sums[side]])

    def _fill(self, leaves: Leaves, side: int, weights: RowWeights) -> None:
        """Make the histograms of the rows on one side."""
        sample = self._train.sample
        self._team.backend.list_leaf(
            leaves, side, weights.values, sample.placed_mass, sample.placed_blocks, self._lists
        )
        self._part.values[:] = 0
        self._part.add(self._lists, sample.placed_blocks)

    def _split(self, side: Side, feature: int, limits: Floats, units: Floats, total: float) -> Side:
        """The best split of the rows whose histograms are there, if it gains anything."""
        n, p = side.leaf_sums[LEFT]
        if min(n, p) == 0:
            return side
        allowed = self._all_columns if self._partners is None else self._partners(feature)
        values = self._part.values
        self._find_splits(values, units, allowed, limits, self._prior(total))
        side_of_code, leaf_sums = np.empty(N_CODES, dtype=np.uint8), np.empty((2, 2), dtype=np.int64)
        weight = n * float(units[0]) + p * float(units[1])
        bundles = self.bundles
        best = splitting.choose_split(
            values,
            bundles.bundle_of,
            bundles.code_of,
            self._categorical,
            weight,
            *self._found,
            side_of_code,
            leaf_sums,
        )
        gain = self._gain(float(self._scores[best]), n, p, units, total)
        if gain * total <= splitting.TIE * weight:
            return side
        split = Split(best, int(self._splits[best]), bool(self._missing_left[best]), gain)
        return Side(split, int(bundles.bundle_of[best]), side_of_code, leaf_sums.tolist())

    def _gain(self, score: float, n: int, p: int, units: Floats, total: float) -> float:
        """How much better than no split a score is, relative to all weight."""
        prior = self._prior(total)
        unsplit: float = splitting.leaf_score(self._criterion, n * float(units[0]) + prior, p * float(units[1]) + prior)
        return max(score - unsplit - prior, 0.0) / total

    def _limits(self, stump: TrainedStump, units: Floats, total: float) -> list[Floats]:
        """Between which shares of positives the leaves of either side have to be; see ``is_in_order``."""
        tie = splitting.TIE * total
        order, model = int(self._orders[stump.model.feature]), stump.model
        if order == 0 or model.split == self.bundles.binner.columns[model.feature].n_bins:
            return [np.array([0.0, 1.0, tie])] * 2
        weights = [(n * float(units[0]), p * float(units[1])) for n, p in stump.leaf_sums]
        right, left = (positive / (negative + positive) for negative, positive in weights)
        middle = (left + right) / 2.0
        below, above = np.array([0.0, middle, tie]), np.array([middle, 1.0, tie])
        return [above, below] if order > 0 else [below, above]

    def _grown(self, stump: TrainedStump, root: Split, sides: list[Side], units: Floats, total: float) -> TrainedTree:
        negative_unit, positive_unit = units.tolist()
        leaves = []  # (vote, share, wrong), from right to left
        for side in sides:
            weights = ((n * negative_unit, p * positive_unit) for n, p in side.leaf_sums)
            second, first = (majority(*both, total, self._rate) for both in weights)
            leaves += [second if side.split is not None else (*first[:2], 0.0), first]
        if not any(stump.leaf_sums[RIGHT]):  # nothing could be split: one leaf for all
            leaves[:2] = [(*leaves[3][:2], 0.0)] * 2
        votes, shares, wrong = zip(*leaves, strict=True)
        right, left = sides
        tree = Tree(root, left.split, right.split, votes[::-1], shares[::-1])
        leaf_of_code = np.empty((2, N_CODES), dtype=np.uint8)
        leaf_of_code[RIGHT] = right.side_of_code
        np.add(left.side_of_code, 2, out=leaf_of_code[LEFT])
        bundle = int(self.bundles.bundle_of[root.feature])
        paths = Paths(bundle, stump.leaves.leaf_of_code, (right.bundle, left.bundle), leaf_of_code)
        sample = self._train.sample
        found, mass = paths.leaves(sample, self._train.codes)
        leaf_mass = self._team.backend.then(mass, self._per_leaf)
        error = (wrong[3] + wrong[2] + wrong[1] + wrong[0]) / total
        return TrainedTree(
            tree, error, Leaves(found, LEAVES), np.array(votes, dtype=np.float64), shares, leaf_mass, paths
        )

    def _per_leaf(self, mass: Integers) -> Integers:
        """Per [leaf, class], from the sample weight per [cell, leaf]."""
        return np.ascontiguousarray(mass.reshape(2, -1, N_LEAVES).sum(axis=1).T)


class TreeLearner(NativeLearner):
    """Trees of depth two on the rows of a sample, whose weights it keeps.

    Parameters
    ----------
    bundles, train, selection, start, criterion, orders, rate :
        As in :class:`StumpLearner`.
    partners : function, optional
        Which columns may be asked about below a split of a given one, as booleans; all if there is none.
    """

    def __init__(
        self,
        bundles: Bundles,
        train: CodedSample,
        selection: CodedSample,
        start: Floats,
        criterion: str,
        orders: NDArray[np.int8] | None = None,
        partners: Partners | None = None,
        rate: float | None = None,
    ) -> None:
        super().__init__(train, selection, start)
        self._search = TreeSearch(bundles, self._placed, criterion, orders, partners, rate)

    def fit(self) -> TrainedTree:
        weights = self._weights
        self._histograms.update(weights.changes, weights.placed_blocks)
        return self._search.best_tree(self._histograms, weights)

    def selection_leaves(self, trained: TrainedTree) -> Leaves:
        leaves, _ = trained.paths.leaves(self.selection, self._placed_selection_codes)
        return Leaves(leaves, LEAVES)

    def ensemble(self, models: list[Tree], alphas: Floats) -> TreeEnsemble:
        bundles, masses = self._search.bundles, self.train.masses
        ensemble = TreeEnsemble(bundles.binner, models, alphas)
        ensemble.count_cells(
            lambda pairs: self.train.team.backend.count_pairs(
                self._train_codes, masses.values, place_pairs(pairs, bundles.bundle_of, bundles.code_of)
            ),
            masses.unit,
        )
        return ensemble

    def selection_margins(self, ensemble: TreeEnsemble) -> Callable[[], Iterator[Floats]]:
        return staged_margins(self._search.bundles, self._selection_codes_on_host(), ensemble)
