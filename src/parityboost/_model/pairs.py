"""A sum of trees of depth two as a sum of tables: one per feature, and one per pair of features.

Below one side of its first split a tree asks about one other column, so it is the sum of two functions of two columns
each. Codes that no split of a pair tells apart share a row or column of its table: only what is in use is kept.

The tables are sums of votes ±α. They are multiples of the grid of α, and so is whatever is moved between them, so that
they add up to the same score to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._engine.codes import MISSING, N_CODES
from .grid import all_on_grid
from .trees import Tree

AT_ONCE = 1 << 10  # sides of trees whose votes are added up together
Cells = dict[tuple[int, int], tuple[NDArray[np.uint8], NDArray[np.uint8]]]  # rows and columns of a pair, per code


@dataclass(frozen=True)
class Pair:
    """A table of what two features add to the score together, ``scores[row_of[code], column_of[code]]``."""

    features: tuple[int, int]  # in the order of the columns of X
    row_of: NDArray[np.uint8]  # per code of the first
    column_of: NDArray[np.uint8]  # per code of the second
    scores: Floats
    weight: Floats  # sample weight of the training rows in each cell

    @property
    def kinds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Numbers per code of the first and of the second feature; codes of the same scores have the same number."""
        row = np.unique(self.scores, axis=0, return_inverse=True)[1].ravel()
        column = np.unique(self.scores, axis=1, return_inverse=True)[1].ravel()
        return row[self.row_of], column[self.column_of]

    def at(self, first: NDArray[np.uint8], second: NDArray[np.uint8]) -> Floats:
        """The score of each row, from its codes."""
        scores: Floats = self.scores[self.row_of[first], self.column_of[second]]
        return scores


class Effects(NamedTuple):
    """A model: ``tables[feature, code]`` and the tables of pairs add up to the margin."""

    tables: Floats
    pairs: list[Pair]


class Uses(NamedTuple):
    """The trees' sides by the pair of features that they ask about."""

    cuts: list[tuple[int, bool]]  # where a split is, and whether the column holds categories
    lefts: NDArray[np.bool_]  # [split, code]: whether the code goes left
    votes: Floats  # [tree, leaf], from left to right
    alone: list[tuple[int, int, bool, int]]  # feature, tree, left side, split below or -1 for none
    pairs: dict[tuple[int, int], list[tuple[int, bool, int, bool]]]  # tree, left side, split below, root comes first


def find_uses(trees: list[Tree], categorical: NDArray[np.bool_]) -> Uses:
    """Go through the trees once. Split j is the first one of tree j, the others follow."""
    splits = [tree.root for tree in trees]
    alone: list[tuple[int, int, bool, int]] = []
    pairs: dict[tuple[int, int], list[tuple[int, bool, int, bool]]] = {}
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
                pairs.setdefault((min(root, other), max(root, other)), []).append((j, left, k, root < other))
    features, at, missing_left, _ = zip(*splits, strict=True)
    is_categorical = categorical[list(features)]
    codes, cuts = np.arange(N_CODES, dtype=np.int16), np.array(at, dtype=np.int16)[:, None]
    lefts = np.where(is_categorical[:, None], codes == cuts, codes <= cuts)
    lefts[:, MISSING] = missing_left
    every_vote = np.array([tree.votes for tree in trees], dtype=np.float64)
    all_cuts = list(zip(at, is_categorical.tolist(), strict=True))
    return Uses(all_cuts, lefts, every_vote, alone, dict(sorted(pairs.items())))


def cells_of(cuts: list[tuple[int, bool]]) -> NDArray[np.uint8]:
    """Number the codes so that those which no split of a column tells apart have the same number, in their order.

    Missing has 0, and is alone.
    """
    at = np.array(sorted({cut for cut, _ in cuts if MISSING < cut < N_CODES}), dtype=np.int64)
    cells = np.zeros(N_CODES, dtype=np.uint8)
    if cuts[0][1]:  # each of these categories is alone, all others are together
        is_alone = np.zeros(N_CODES, dtype=np.bool_)
        is_alone[at] = True
        others = np.flatnonzero(~is_alone)[1:]
        starts = is_alone
        starts[others[:1]] = True
        cells[1:] = np.cumsum(starts)[1:]
        cells[others] = cells[others[:1]]
    else:
        cells[1:] = 1 + np.searchsorted(at, np.arange(1, N_CODES))
    return cells


def in_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Equal keys have the same number, from 0 on, in the order in which they first occur."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: NDArray[np.int64] = rank[inverse]
    return numbers


def pair_cells(uses: Uses) -> Cells:
    """The rows and columns of each pair's table, per code."""
    cuts = uses.cuts
    return {
        pair: (
            cells_of([cuts[j if root_first else k] for j, _, k, root_first in sides]),
            cells_of([cuts[k if root_first else j] for j, _, k, root_first in sides]),
        )
        for pair, sides in uses.pairs.items()
    }


def first_of_each(cell_of: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The first code of each cell, if cells are numbered in the order of these."""
    highest = np.maximum.accumulate(cell_of)
    return np.concatenate(([0], 1 + np.flatnonzero(highest[1:] > highest[:-1])))


def representatives(cell_of: NDArray[np.uint8]) -> NDArray[np.intp]:
    """A code of each cell."""
    return np.unique(cell_of, return_index=True)[1]


def add_up(uses: Uses, cells: Cells, alphas: Floats, n_features: int, weights: dict[tuple[int, int], Pair]) -> Effects:
    """What the trees' votes add up to. ``weights`` has the sample weights, in these cells or finer ones.

    Sums are of multiples of a grid, so exact, and a product of matrices may add them up.
    """
    tables = np.zeros((n_features, N_CODES))
    for some in _parts(sorted(uses.alone)):
        features, trees, lefts, below = (np.array(part) for part in zip(*some, strict=True))
        is_here, votes = _votes_below(uses, alphas, trees, lefts, below)
        used, first = np.unique(features, return_index=True)
        tables[used] += np.add.reduceat(np.where(is_here, votes, 0.0), first, axis=0)
    pairs = []
    for (pair, sides), (row_of, column_of) in zip(uses.pairs.items(), cells.values(), strict=True):
        rows, columns = first_of_each(row_of), first_of_each(column_of)
        scores = np.zeros((len(rows), len(columns)))
        for some in _parts(sides):
            trees, lefts, below, root_first = (np.array(part) for part in zip(*some, strict=True))
            is_here, votes = _votes_below(uses, alphas, trees, lefts, below)
            by_row = np.where(root_first[:, None], is_here[:, rows], votes[:, rows])
            by_column = np.where(root_first[:, None], votes[:, columns], is_here[:, columns])
            scores += by_row.T @ by_column
        fine = weights[pair]
        weight = fine.weight
        if fine.row_of is not row_of or fine.column_of is not column_of:
            weight = np.zeros((len(rows), len(columns)))
            at = row_of[representatives(fine.row_of)][:, None], column_of[representatives(fine.column_of)][None, :]
            np.add.at(weight, at, fine.weight)
        pairs.append(Pair(pair, row_of, column_of, scores, weight))
    return Effects(tables, pairs)


def _parts(sides: list[Any]) -> list[list[Any]]:
    """Some sides at a time, so that what is made of them does not take much memory."""
    return [sides[start : start + AT_ONCE] for start in range(0, len(sides), AT_ONCE)]


def _votes_below(
    uses: Uses, alphas: Floats, trees: NDArray[np.intp], lefts: NDArray[np.bool_], below: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], Floats]:
    """Of one side of each tree: which codes of the first split are there, and α times the votes per code asked below.

    Where nothing is asked below, -1, all codes have the same vote.
    """
    is_here = uses.lefts[trees] == lefts[:, None]
    votes = alphas[trees, None] * np.where(lefts[:, None], uses.votes[trees, :2], uses.votes[trees, 2:])
    is_first = uses.lefts[below] | (below < 0)[:, None]
    return is_here, np.where(is_first, votes[:, :1], votes[:, 1:])


def purify(effects: Effects) -> Effects:
    """Move what a feature does on its own out of the tables of pairs.

    The weighted mean of each row and of each column of a pair's table is then 0 (but for rounding to the grid), and the
    tables of the single features have the rest.
    """
    additive = [_additive_part(pair.scores, pair.weight) for pair in effects.pairs]
    pairs = [
        replace(pair, scores=pair.scores - rows[:, None] - columns[None, :])
        for pair, (rows, columns) in zip(effects.pairs, additive, strict=True)
    ]
    return Effects(_with_parts(effects, additive), pairs)


def alone(effects: Effects) -> Floats:
    """What each feature does on its own, ``[feature, code]``: the first half of :func:`purify`."""
    return _with_parts(effects, [_additive_part(pair.scores, pair.weight) for pair in effects.pairs])


def _with_parts(effects: Effects, additive: list[tuple[Floats, Floats]]) -> Floats:
    tables = effects.tables.copy()
    for pair, parts in zip(effects.pairs, additive, strict=True):
        for feature, cell_of, part in zip(pair.features, (pair.row_of, pair.column_of), parts, strict=True):
            tables[feature] += part[cell_of]
    return tables


def _additive_part(scores: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The r[row] + c[column] closest to the scores by weighted squares, on the grid.

    What is left has weighted means of 0. A row without any weight takes the mean that it would have if the columns were
    there as often as in all rows together, and the same for columns.
    """
    if not weight.any():
        weight = np.ones_like(weight)
    of_rows, of_columns = weight.sum(axis=1), weight.sum(axis=0)
    used_rows, used_columns = of_rows.nonzero()[0], of_columns.nonzero()[0]
    n, both, total = len(used_rows), len(used_rows) + len(used_columns), of_rows.sum()
    w, s = weight / total, scores
    if both < len(of_rows) + len(of_columns):
        w, s = (table[used_rows[:, None], used_columns] for table in (w, scores))
    products = w * s
    matrix, target = np.zeros((both, both)), np.empty(both)
    matrix[:n, n:], matrix[n:, :n] = w, w.T
    matrix.flat[:: both + 1] = np.concatenate((of_rows[used_rows], of_columns[used_columns])) / total
    target[:n], target[n:] = products.sum(axis=1), products.sum(axis=0)
    solved = np.linalg.lstsq(matrix, target, rcond=None)[0]
    rows, columns = np.zeros(len(of_rows)), np.zeros(len(of_columns))
    rows[used_rows], columns[used_columns] = solved[:n], solved[n:]
    if n < len(rows):
        empty = of_rows == 0.0
        rows[empty] = (scores[empty] - columns) @ (of_columns / total)
    if both - n < len(columns):
        empty = of_columns == 0.0
        columns[empty] = (scores[:, empty].T - rows) @ (of_rows / total)
    return all_on_grid(rows), all_on_grid(columns)
