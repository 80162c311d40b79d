"""A sum of trees of depth two as a sum of tables: one per feature, and one per pair of features.

Below one side of its first split a tree asks about one other column, so it is the sum of two functions of two columns
each. Codes that no split of a pair tells apart share a row or column of its table: only what is in use is kept.

The tables are sums of votes ±α. They are multiples of the grid of α, and so is whatever is moved between them, so that
they add up to the same score to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._engine.codes import MISSING, N_CODES
from .grid import all_on_grid
from .trees import Tree

Cells = dict[tuple[int, int], tuple[NDArray[np.uint8], NDArray[np.uint8]]]  # rows and columns of a pair, per code
CHUNK = 48  # bits of a number that tells codes apart


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
    feature, at, missing_left = (np.array(part) for part in list(zip(*splits, strict=True))[:3])
    codes, at = np.arange(N_CODES, dtype=np.int16), at.astype(np.int16)
    lefts = np.where(categorical[feature][:, None], codes == at[:, None], codes <= at[:, None])
    lefts[:, MISSING] = missing_left
    return Uses(lefts, np.array([tree.votes for tree in trees], dtype=np.float64), alone, dict(sorted(pairs.items())))


def cells_of(lefts: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Number the codes so that those which no split tells apart have the same number; missing has 0, and is alone."""
    cell = (np.arange(lefts.shape[1]) != MISSING).astype(np.int64)
    first = cell
    for start in range(0, len(lefts), CHUNK):
        part = lefts[start : start + CHUNK]
        bits = (np.int64(1) << np.arange(len(part))) @ part
        _, first, cell = np.unique((cell << CHUNK) | bits, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.uint8)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: NDArray[np.uint8] = rank[cell]
    return numbers


def pair_cells(uses: Uses) -> Cells:
    """The rows and columns of each pair's table, per code."""
    asked = {
        pair: (
            [j if root_first else k for j, _, k, root_first in sides],
            [k if root_first else j for j, _, k, root_first in sides],
        )
        for pair, sides in uses.pairs.items()
    }
    # Of many features most pairs are in use once: all of these at once.
    once = [split[0] for splits in asked.values() for split in splits if len(split) == 1]
    simple = iter(cells_of_one(uses.lefts[once]))
    cells = {}
    for pair, (first, second) in asked.items():
        if len(first) == 1:
            cells[pair] = next(simple), next(simple)
        else:
            cells[pair] = cells_of(uses.lefts[first]), cells_of(uses.lefts[second])
    return cells


def cells_of_one(lefts: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """:func:`cells_of` for each of several splits alone."""
    cells: NDArray[np.uint8] = 1 + (lefts != lefts[:, [1]]).astype(np.uint8)
    cells[:, MISSING] = 0
    return cells


def representatives(cell_of: NDArray[np.uint8]) -> NDArray[np.intp]:
    """A code of each cell."""
    return np.unique(cell_of, return_index=True)[1]


def add_up(uses: Uses, cells: Cells, alphas: Floats, n_features: int, weights: dict[tuple[int, int], Pair]) -> Effects:
    """What the trees' votes add up to. ``weights`` has the sample weights, in these cells or finer ones."""
    tables = np.zeros((n_features, N_CODES))
    for feature, j, left, k in uses.alone:
        tables[feature] += np.where(uses.lefts[j] == left, _votes_below(uses, alphas, j, left, k), 0.0)
    pairs = []
    for (pair, sides), (row_of, column_of) in zip(uses.pairs.items(), cells.values(), strict=True):
        rows, columns = representatives(row_of), representatives(column_of)
        scores = np.zeros((len(rows), len(columns)))
        for j, left, k, root_first in sides:
            is_here, votes = uses.lefts[j] == left, _votes_below(uses, alphas, j, left, k)
            if root_first:
                scores[is_here[rows]] += votes[columns]
            else:
                scores[:, is_here[columns]] += votes[rows][:, None]
        weight = np.zeros_like(scores)
        fine = weights[pair]
        at = row_of[representatives(fine.row_of)][:, None], column_of[representatives(fine.column_of)][None, :]
        np.add.at(weight, at, fine.weight)
        pairs.append(Pair(pair, row_of, column_of, scores, weight))
    return Effects(tables, pairs)


def _votes_below(uses: Uses, alphas: Floats, j: int, left: bool, k: int) -> Floats:
    """α times the votes of one side of tree j, per code of the column that it asks about."""
    first, second = uses.votes[j, :2] if left else uses.votes[j, 2:]
    votes: Floats = alphas[j] * (np.where(uses.lefts[k], first, second) if k >= 0 else np.full(N_CODES, first))
    return votes


def purify(effects: Effects) -> Effects:
    """Move what a feature does on its own out of the tables of pairs.

    The weighted mean of each row and of each column of a pair's table is then 0 (but for rounding to the grid), and the
    tables of the single features have the rest.
    """
    tables, pairs = effects.tables.copy(), []
    for pair in effects.pairs:
        rows, columns = _additive_part(pair.scores, pair.weight)
        scores = pair.scores - rows[:, None] - columns[None, :]
        first, second = pair.features
        tables[first] += rows[pair.row_of]
        tables[second] += columns[pair.column_of]
        pairs.append(replace(pair, scores=scores))
    return Effects(tables, pairs)


def _additive_part(scores: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The r[row] + c[column] closest to the scores by weighted squares, on the grid.

    What is left has weighted means of 0. A row without any weight takes the mean that it would have if the columns were
    there as often as in all rows together, and the same for columns.
    """
    n_rows, n_columns = scores.shape
    of_rows, of_columns = weight.sum(axis=1), weight.sum(axis=0)
    if not weight.any():
        of_rows, of_columns = np.ones(n_rows), np.ones(n_columns)
        weight = np.ones_like(weight)
    used_rows, used_columns = of_rows.nonzero()[0], of_columns.nonzero()[0]
    w, s = (table[used_rows[:, None], used_columns] for table in (weight, scores))
    w = w / w.sum()
    n, both = len(used_rows), sum(w.shape)
    matrix, target = np.zeros((both, both)), np.empty(both)
    matrix[:n, n:], matrix[n:, :n] = w, w.T
    np.fill_diagonal(matrix[:n, :n], w.sum(axis=1))
    np.fill_diagonal(matrix[n:, n:], w.sum(axis=0))
    target[:n], target[n:] = (w * s).sum(axis=1), (w * s).sum(axis=0)
    solved = np.linalg.lstsq(matrix, target, rcond=None)[0]
    rows, columns = np.zeros(n_rows), np.zeros(n_columns)
    rows[used_rows], columns[used_columns] = solved[:n], solved[n:]
    for row in np.flatnonzero(of_rows == 0.0):
        rows[row] = np.average(scores[row] - columns, weights=of_columns)
    for column in np.flatnonzero(of_columns == 0.0):
        columns[column] = np.average(scores[:, column] - rows, weights=of_rows)
    return all_on_grid(rows), all_on_grid(columns)
