"""Weak learners as they are kept, a few numbers each, and what they add up to.

A tree asks one question or two; a stump is a tree whose sides are not split. Below one side of its first split it asks
about one column, so it is the sum of functions of one column or two each, and so is a sum of trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import MISSING, N_CODES, Codes, Floats
from .._engine.threads import Team
from .._table.binning import Binner
from .._table.sources import read_sources
from .glass_box import About, Committee, GlassBox
from .tables import CountPairs, Effects, Pair, PairCells, first_of_each, in_order, plain_state

AT_ONCE = 1 << 10  # sides of trees whose votes are added up together


class Split(NamedTuple):
    """A question that a tree asks about one column."""

    feature: int
    split: int | tuple[int, ...]  # numbers: bins 1…split go left; categories: these go left
    missing_left: bool
    gain: float  # how much purer its two sides are, weighted by their share of all weight

    @property
    def goes_left(self) -> NDArray[np.bool_]:
        """Whether each code of the column goes left."""
        left = np.zeros(N_CODES, dtype=np.bool_)
        left[list(self.split) if isinstance(self.split, tuple) else slice(self.split + 1)] = True
        left[MISSING] = self.missing_left
        return left


class Tree(NamedTuple):
    """A decision tree on binned data, of depth two at most."""

    root: Split
    left: Split | None  # None: this side is one leaf
    right: Split | None
    votes: tuple[float, ...]  # of the four leaves from left to right; twice the same where a side is one leaf
    confidences: tuple[float, ...]  # share of a leaf's weight that belongs to the class it votes for

    @property
    def splits(self) -> list[Split]:
        """All there are, the first one first."""
        return [split for split in (self.root, self.left, self.right) if split is not None]

    @property
    def features(self) -> tuple[int, ...]:
        """What it asks about, each once."""
        return tuple(dict.fromkeys(split.feature for split in self.splits))


@dataclass(frozen=True)
class TreeRounds:
    """The rounds of one training: trees with their weights α.

    Attributes
    ----------
    support : tuple of Pair
        The sample weight of the training rows in each cell of a pair, for all trees together; without scores.
    """

    binner: Binner
    learners: list[Tree]
    alphas: Floats
    support: tuple[Pair, ...] = ()
    _last: dict[int, tuple[Effects, Floats]] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**plain_state(self), "_last": {}}

    @classmethod
    def counted(cls, binner: Binner, trees: list[Tree], alphas: Floats, count: CountPairs, unit: float) -> TreeRounds:
        """With the sample weight of the training rows in each pair's cells."""
        pairs = _pair_cells(_find_uses(trees))
        found = zip(pairs, count(pairs) if pairs else [], strict=True)
        support = (Pair(*cells, np.empty((0, 0)), counts.astype(np.float64) * unit) for cells, counts in found)
        return cls(binner, trees, alphas, tuple(support))

    def cells(self) -> list[PairCells]:
        """The rows and columns of each pair's table if all trees are used."""
        return _pair_cells(_find_uses(self.learners))

    def used_features(self) -> set[int]:
        """The features that some tree asks about."""
        return {feature for tree in self.learners for feature in tree.features}

    def effects(self, theta: int) -> Effects:
        """The first θ trees as tables, as their votes add up.

        Sums are of multiples of a grid, so exact, and a product of matrices may add them up.
        """
        uses, tables = _find_uses(self.learners[:theta]), np.zeros((len(self.binner.columns), N_CODES))
        for features, is_here, votes in _votes_of(uses, self.alphas, sorted(uses.alone)):
            used, first = np.unique(features, return_index=True)
            tables[used] += np.add.reduceat(np.where(is_here, votes, 0.0), first, axis=0)
        cells = [PairCells(pair.features, pair.row_of, pair.column_of) for pair in self.support]
        if theta < len(self.learners):
            cells = _pair_cells(uses)
        support, pairs = {pair.features: pair for pair in self.support}, []
        for pair, row_of, column_of in cells:
            rows, columns = first_of_each(row_of), first_of_each(column_of)
            scores = np.zeros((len(rows), len(columns)))
            for root_first, is_here, votes in _votes_of(uses, self.alphas, uses.pairs[pair]):
                by_row = np.where(root_first[:, None], is_here[:, rows], votes[:, rows])
                by_column = np.where(root_first[:, None], votes[:, columns], is_here[:, columns])
                scores += by_row.T @ by_column
            fine = support[pair]  # of these cells, or of finer ones
            weight = fine.weight
            if row_of is not fine.row_of:
                codes_of = (np.unique(cell_of, return_index=True)[1] for cell_of in (fine.row_of, fine.column_of))
                at = np.ix_(*(cell_of[codes] for cell_of, codes in zip((row_of, column_of), codes_of, strict=True)))
                weight = np.zeros_like(scores)
                np.add.at(weight, at, fine.weight)
            pairs.append(Pair(pair, row_of, column_of, scores, weight))
        return Effects(tables, tuple(pairs))

    def model(self, about: About, theta: int, threshold: Any) -> GlassBox:
        """The first θ trees and a threshold. The tables are kept for the next time that θ is the same."""
        found = self._last.get(theta)
        if found is None:
            found = self.effects(theta), self.importances(theta)
            self._last.clear()
            self._last[theta] = found
        return GlassBox(about, threshold, self.binner, *found)

    def importances(self, theta: int) -> Floats:
        """Each feature's share of the first θ trees' weights, which a tree divides among its splits by their gain."""
        shares = np.zeros(len(self.binner.columns))
        for tree, alpha in zip(self.learners[:theta], self.alphas[:theta], strict=True):
            splits = tree.splits
            # Python's own sum rounds otherwise from 3.12 on.
            size = alpha * float(np.sum(np.abs(tree.votes)) / len(tree.votes))  # how far it moves a margin, about
            gains = np.sum([split.gain for split in splits])
            if len(splits) == 1 or not gains > 0.0:
                shares[tree.root.feature] += size
                continue
            for split in splits:
                shares[split.feature] += size * split.gain / gains
        total: Floats = shares / shares.sum()
        return total

    def staged_margin(self, X: Any) -> Iterator[Floats]:
        """The margin after each round."""
        sources = read_sources(X)
        self.binner.check(sources)
        with Team(1) as team:
            codes = np.array(self.binner.encode(sources, slice(None), team))
        n_columns = len(codes)
        return self.staged_codes(codes, np.arange(n_columns), np.tile(np.arange(N_CODES), (n_columns, 1)))

    def staged_codes(self, codes: Codes, row_of: NDArray[Any], code_of: NDArray[Any]) -> Iterator[Floats]:
        """The same from codes that may be joint ones: column f is in ``codes[row_of[f]]``, its code is ``code_of[f]``
        of that.
        """
        from .._engine.kernels.columns import add_steps, add_tree

        margin = np.zeros(codes.shape[1])
        for tree, alpha in zip(self.learners, self.alphas, strict=True):
            columns, sides = [], []
            for split in (tree.root, tree.left or tree.root, tree.right or tree.root):
                columns.append(codes[row_of[split.feature]])
                sides.append(split.goes_left[code_of[split.feature]])
            votes = alpha * np.array(tree.votes)
            if tree.left is tree.right is None:  # one look-up instead of four
                add_steps(columns[0], np.where(sides[0], votes[0], votes[2]), margin)
            else:
                add_tree(*columns, *sides, votes, margin)
            yield margin.copy()


@dataclass(frozen=True)
class EstimatorRounds:
    """The rounds of one training of scikit-learn's classifiers."""

    learners: list[Any]
    alphas: Floats
    positive: Any

    def model(self, about: About, theta: int, threshold: Any) -> Committee:
        """The first θ classifiers and a threshold."""
        return Committee(about, threshold, self.learners[:theta], self.alphas[:theta])

    def staged_margin(self, X: Any) -> Iterator[Floats]:
        """The margin after each round."""
        margin = np.zeros(len(X))
        for learner, alpha in zip(self.learners, self.alphas, strict=True):
            margin += np.where(learner.predict(X) == self.positive, alpha, -alpha)
            yield margin.copy()


class _Uses(NamedTuple):
    """The trees' sides by the feature or the pair of features that they ask about."""

    lefts: NDArray[np.bool_]  # [split, code]: whether the code goes left
    votes: Floats  # [tree, leaf], from left to right
    alone: list[tuple[int, int, bool, int]]  # feature, tree, left side, split below or -1 for none
    pairs: dict[tuple[int, int], list[tuple[bool, int, bool, int]]]  # whether the root comes first, and the same


def _find_uses(trees: list[Tree]) -> _Uses:
    """Go through the trees once. Split j is the first one of tree j, the others follow."""
    splits = [tree.root for tree in trees]
    alone: list[tuple[int, int, bool, int]] = []
    pairs: dict[tuple[int, int], list[tuple[bool, int, bool, int]]] = {}
    for j, tree in enumerate(trees):
        root = tree.root.feature
        for left, split, votes in ((True, tree.left, tree.votes[:2]), (False, tree.right, tree.votes[2:])):
            if split is None or votes[0] == votes[1]:  # purer leaves, but the same vote
                alone.append((root, j, left, -1))
                continue
            k, other = len(splits), split.feature
            splits.append(split)
            if other == root:
                alone.append((root, j, left, k))
            else:
                pairs.setdefault((min(root, other), max(root, other)), []).append((root < other, j, left, k))
    every_vote = np.array([tree.votes for tree in trees], dtype=np.float64)
    return _Uses(np.array([split.goes_left for split in splits]), every_vote, alone, dict(sorted(pairs.items())))


def _pair_cells(uses: _Uses) -> list[PairCells]:
    """The rows and columns of each pair's table, per code."""
    return [
        PairCells(
            pair,
            cells_of(uses.lefts[[j if root_first else k for root_first, j, _, k in sides]]),
            cells_of(uses.lefts[[k if root_first else j for root_first, j, _, k in sides]]),
        )
        for pair, sides in uses.pairs.items()
    ]


def cells_of(lefts: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Number the codes so that those which no split of a column tells apart have the same number, in their order.

    ``lefts[split, code]`` says what goes left. Missing has 0, and is alone.
    """
    goes = np.ascontiguousarray(np.packbits(lefts, axis=0).T)  # [code, eight splits]
    goes = np.column_stack([np.arange(N_CODES) == MISSING, goes]).astype(np.uint8)
    keys = np.unique(goes, axis=0, return_inverse=True)[1].ravel()
    return in_order(keys).astype(np.uint8)


def _votes_of(
    uses: _Uses, alphas: Floats, sides: Sequence[tuple[int, int, bool, int]]
) -> Iterator[tuple[NDArray[Any], NDArray[np.bool_], Floats]]:
    """Of one side of each tree: which codes of the first split are there, and α times the votes per code asked below.

    Where nothing is asked below, -1, all codes have the same vote. Some sides at a time, with what comes first of each,
    so that they do not take much memory.
    """
    for start in range(0, len(sides), AT_ONCE):
        first, trees, lefts, below = (np.array(part) for part in zip(*sides[start : start + AT_ONCE], strict=True))
        is_here = uses.lefts[trees] == lefts[:, None]
        votes = alphas[trees, None] * np.where(lefts[:, None], uses.votes[trees, :2], uses.votes[trees, 2:])
        is_first = uses.lefts[below] | (below < 0)[:, None]
        yield first, is_here, np.where(is_first, votes[:, :1], votes[:, 1:])
