"""The native weak learner of depth two: the best stump, and below it the best split of either side.

The histograms of all rows are kept up to date as for a stump. Those of the side with less sample weight are made from
its rows, those of the other side are the difference: sums are integers, so the difference is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import Floats, Integers
from ..._engine.cpu import MAX_LEAVES
from ..._engine.kernels import boosting, splitting, trees
from ..._engine.kernels.trees import Grown, Weighing
from ..._model.grid import ALPHA_GRID
from ..._model.tree_ensemble import TreeEnsemble, place_pairs
from ..._model.trees import Tree
from ..._table.bundles import Bundles
from ..samples import CodedSample, Leaves
from ..weights import RowWeights
from .several import LEAVES, rows_of, tree_of
from .stump import Histograms, NativeLearner, StumpSearch, TrainedLeaves, staged_margins


@dataclass(slots=True)
class TrainedTree(TrainedLeaves):
    """A tree and its leaves, from right to left."""

    model: Tree
    grown: Grown
    selection_leaves: Leaves | None  # of the rows that θ is chosen on, where they came with the tree


class TreeSearch(StumpSearch):
    """Finds the tree for given histograms and weights.

    Parameters
    ----------
    bundles, train, criterion, orders, rate :
        As in :class:`StumpSearch`.
    selection : CodedSample
        The rows that θ is chosen on, placed.
    partners : ndarray of bool
        Sets of columns, ``[set, column]``: below a split of a column only those are asked about that share a set.
    """

    def __init__(
        self,
        bundles: Bundles,
        train: CodedSample,
        selection: CodedSample,
        criterion: str,
        orders: NDArray[np.int8] | None,
        partners: NDArray[np.bool_],
        rate: float | None,
    ) -> None:
        super().__init__(bundles, train, criterion, orders, rate)
        self._partners = partners
        sample = train.sample
        self._part = Histograms(train.codes, sample.n_groups, sample.team)
        self._lists = sample.team.backend.lists(len(sample), len(sample.blocks))
        self._allowed = np.empty_like(self._all_columns)
        self._has_selection = selection is not train
        if self._is_one_go:
            self._grown, self._leaf_mass = Grown.room(), np.empty((MAX_LEAVES, 2), dtype=np.int64)
            self._rows, self._other_rows = rows_of(train), rows_of(selection, self._has_selection)

    def best_tree(self, histograms: Histograms, weights: RowWeights) -> TrainedTree:
        """The best stump, each side of which is split if that makes it purer."""
        units, total = weights.units, weights.total
        weighing = Weighing(self._criterion, units, total, self._prior(total), self._rate or 0.0, ALPHA_GRID)
        if self._is_one_go:
            return self._in_one_go(histograms, weights, weighing)
        return self._step_by_step(histograms, weights, weighing)

    def _in_one_go(self, histograms: Histograms, weights: RowWeights, weighing: Weighing) -> TrainedTree:
        histograms.renew(weights.changes)
        trees.grow(
            self._rows,
            self._other_rows,
            self._train.sample.n_groups,
            weights.values,
            weights.changes.lists,
            self._lists,
            histograms.values,
            self._part.values,
            self._mass_of,
            self._columns,
            self._partners,
            weighing,
            self._allowed,
            self._found,
            self._grown,
            self._leaf_mass,
        )
        weights.changes.tell()
        other = Leaves(self._other_rows.leaves, LEAVES) if self._has_selection else None
        return self._trained(self._grown, self._rows.leaves, self._leaf_mass, weighing, other)

    def _step_by_step(self, histograms: Histograms, weights: RowWeights, weighing: Weighing) -> TrainedTree:
        histograms.update(weights.changes, weights.placed_blocks)
        columns, found, grown = self._columns, self._found, Grown.room()  # anew: what reads it may not be done yet
        sample, values, part = self._train.sample, histograms.values, self._part.values
        self._no_limits[2] = splitting.TIE * weighing.total
        self._find_splits(values, weighing.units, self._all_columns, self._no_limits, weighing.prior)
        small = trees.settle_root(values, self._mass_of, columns, weighing, found, grown)
        if small != trees.NONE:
            root = int(grown.features[0])
            leaves = Leaves(self._train.codes[self.bundles.bundle_of[root]], grown.side_of_code)
            given = leaves, small, weights.values, sample.placed_mass, sample.placed_blocks
            self._team.backend.list_leaf(*given, self._lists)
            part[:] = 0
            self._part.add(self._lists, sample.placed_blocks)
            trees.list_partners(self._partners, root, self._allowed)
            for side in (small, 1 - small):
                if side != small:
                    np.subtract(values, part, out=part)
                if grown.side_sums[side].all():
                    self._find_splits(part, weighing.units, self._allowed, grown.limits[side], weighing.prior)
                    trees.settle_side(part, side, columns, weighing, found, grown)
        trees.settle_leaves(weighing, grown)
        found_leaves, mass = self.leaves(self._train, grown)
        leaf_mass = self._team.backend.then(mass, _per_leaf)
        return self._trained(grown, found_leaves, leaf_mass, weighing, None)

    def leaves(self, coded: CodedSample, grown: Grown) -> tuple[Any, Any]:
        """The leaf of each row, and the sample weight per [cell, leaf]; the codes are where the rows are placed."""
        sample, codes = coded.sample, coded.codes
        root, right, left = grown.features.tolist()
        columns = [codes[self.bundles.bundle_of[root if side == trees.NONE else side]] for side in (root, right, left)]
        found: tuple[Any, Any] = sample.team.backend.split_leaves(
            columns[0],
            grown.side_of_code,
            (columns[1], columns[2]),
            grown.leaf_of_code,
            sample.placed_mass,
            sample.placed_blocks,
            2 * sample.n_groups,
        )
        return found

    def _trained(
        self, grown: Grown, leaves: Any, leaf_mass: Any, weighing: Weighing, other: Leaves | None
    ) -> TrainedTree:
        votes, shares, wrong = grown.votes.tolist(), grown.shares.tolist(), grown.wrong.tolist()
        tree = tree_of([*(part.tolist() for part in grown[:4]), votes, shares], self._rate is None)
        error = (wrong[3] + wrong[2] + wrong[1] + wrong[0]) / weighing.total
        found = Leaves(leaves, LEAVES)
        return TrainedTree(tree, error, found, grown.votes.copy(), tuple(shares), leaf_mass, grown, other)

    def _below(self) -> boosting.Below:
        return boosting.Below(self._lists, self._part.values, self._partners)


def _per_leaf(mass: Integers) -> Integers:
    """Per [leaf, class], from the sample weight per [cell, leaf]."""
    return np.ascontiguousarray(mass.reshape(2, -1, MAX_LEAVES).sum(axis=1).T)


class TreeLearner(NativeLearner):
    """Trees of depth two on the rows of a sample, whose weights it keeps.

    Parameters
    ----------
    bundles, train, selection, start, criterion, orders, rate :
        As in :class:`StumpLearner`.
    partners :
        As in :class:`TreeSearch`.
    """

    _search: TreeSearch

    def __init__(
        self,
        bundles: Bundles,
        train: CodedSample,
        selection: CodedSample,
        start: Floats,
        criterion: str,
        orders: NDArray[np.int8] | None,
        partners: NDArray[np.bool_],
        rate: float | None = None,
    ) -> None:
        super().__init__(train, selection, start)
        placed = self._placed, self._placed_selection
        self._search = TreeSearch(bundles, *placed, criterion, orders, partners, rate)

    def fit(self) -> TrainedTree:
        return self._search.best_tree(self._histograms, self._weights)

    def selection_leaves(self, trained: TrainedTree) -> Leaves:
        if trained.selection_leaves is not None:
            return trained.selection_leaves
        leaves, _ = self._search.leaves(self._placed_selection, trained.grown)
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
