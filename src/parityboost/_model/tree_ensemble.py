"""A fitted ensemble of trees of depth two: a table per feature and per pair of features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Floats, Integers
from .._engine.codes import N_CODES, X_BINNED_DTYPE
from .._engine.columns import lookup_for
from .._engine.threads import Team
from .._table.binning import Binner
from .._table.sources import read_sources
from .pairs import Cells, Effects, Pair, Uses, add_up, find_uses, pair_cells, purify
from .placed import placed_margin
from .trees import Tree

# Rows are predicted in blocks whose codes take up about so many bytes, but not in blocks of less than MIN_BLOCK_ROWS.
BLOCK_BYTES, MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 1 << 20, 1 << 10, 1 << 16


class PairCells(NamedTuple):
    """The rows and columns of the table of two features, per code."""

    features: tuple[int, int]
    row_of: NDArray[np.uint8]
    column_of: NDArray[np.uint8]


CountPairs = Callable[[list[PairCells]], list[Integers]]  # the mass of the rows in each cell of each pair


def place_pairs(pairs: list[PairCells], place_of: NDArray[Any], code_of: NDArray[Any]) -> list[tuple[Any, ...]]:
    """The same for joint codes, as the engine has them: column f is in place ``place_of[f]``, see ``staged_codes``."""
    return [
        (
            int(place_of[first]),
            int(place_of[second]),
            row_of[code_of[first]],
            column_of[code_of[second]],
            (int(row_of.max()) + 1, int(column_of.max()) + 1),
        )
        for (first, second), row_of, column_of in pairs
    ]


class TreeEnsemble:
    """Trees of depth two on binned data with their weights α.

    Attributes
    ----------
    support : dict of pair of features to Pair
        The sample weight of the training rows in each cell of a pair, for all trees together; its scores are empty.
    """

    def __init__(self, binner: Binner, trees: list[Tree], alphas: Floats) -> None:
        self.binner = binner
        self.trees = trees
        self.alphas = alphas
        self.support: dict[tuple[int, int], Pair] = {}
        self._last: tuple[int, Effects, Tables] | None = None
        self._pure: tuple[int, Effects] | None = None
        self._asked: tuple[int, Uses, Cells] | None = None

    def used_features(self) -> set[int]:
        """The features that some learner asks about."""
        return {feature for learner in self.learners for feature in learner.features}

    @property
    def learners(self) -> list[Tree]:
        """The weak learners."""
        return self.trees

    def _uses(self, theta: int) -> tuple[Uses, Cells]:
        """What the first θ trees ask about; kept until their tables are made."""
        asked = self._asked  # read once: other threads may predict as well
        if asked is None or asked[0] != theta:
            uses = find_uses(self.trees[:theta], self.binner.categorical)
            self._asked = asked = (theta, uses, pair_cells(uses))
        return asked[1:]

    def cells(self) -> Cells:
        """The rows and columns of each pair's table if all trees are used, per code."""
        return self._uses(len(self.trees))[1]

    def count_cells(self, count: CountPairs, unit: float) -> None:
        """Take the sample weights in each pair's cells from training rows."""
        pairs = [PairCells(features, *cells) for features, cells in self.cells().items()]
        for cells, counts in zip(pairs, count(pairs), strict=True):
            self.support[cells.features] = Pair(*cells, np.empty((0, 0)), counts.astype(np.float64) * unit)

    def effects(self, theta: int) -> Effects:
        """The first θ trees as tables, as their votes add up; not to be written to."""
        return self._tables(theta)[0]

    def pure_effects(self, theta: int) -> Effects:
        """The same with all that a feature does on its own in its own table; not to be written to."""
        pure = self._pure
        if pure is None or pure[0] != theta:
            self._pure = pure = (theta, purify(self.effects(theta)))
        return pure[1]

    def _tables(self, theta: int) -> tuple[Effects, Tables]:
        """Kept for the next prediction with the same θ."""
        last = self._last
        if last is None or last[0] != theta:
            effects = add_up(*self._uses(theta), self.alphas, len(self.binner.columns), self.support)
            self._last = last = (theta, effects, Tables(effects))
            self._asked = None
        return last[1:]

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of it; pairs know their features, and some formats have no keys but text."""
        return {**vars(self), "support": list(self.support.values()), "_last": None, "_pure": None, "_asked": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "support": {pair.features: pair for pair in state["support"]}})

    def margin(self, X: Any, theta: int, n_threads: int = 1, device: str = "cpu") -> Floats:
        """Σ_{j≤θ} α_j h_j(x)."""
        return predict_margins(self.binner, self._tables(theta)[1], X, n_threads, device)

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
        from .._engine.kernels.lookup import add_tree

        margin = np.zeros(codes.shape[1])
        categorical = self.binner.categorical
        for tree, alpha in zip(self.trees, self.alphas, strict=True):
            columns, sides = [], []
            for split in (tree.root, tree.left or tree.root, tree.right or tree.root):
                columns.append(codes[row_of[split.feature]])
                sides.append(split.goes_left(bool(categorical[split.feature]))[code_of[split.feature]])
            add_tree(*columns, *sides, alpha * np.array(tree.votes), margin)
            yield margin.copy()

    def importances(self, theta: int) -> Floats:
        """Each feature's share of the learners' weights, which a tree divides among its splits by their gain."""
        shares = np.zeros(len(self.binner.columns))
        for tree, alpha in zip(self.trees[:theta], self.alphas[:theta], strict=True):
            size, gains = alpha * tree.size, sum(split.gain for split in tree.splits)
            for split in tree.splits:
                shares[split.feature] += size * split.gain / gains if gains > 0.0 else 0.0
            if not gains > 0.0:
                shares[tree.root.feature] += size
        total: Floats = shares / shares.sum()
        return total


class Tables:
    """Effects laid out for prediction."""

    def __init__(self, effects: Effects) -> None:
        tables, pairs = effects
        self._alone = np.flatnonzero(tables.any(axis=1)).tolist()
        pairs = [pair for pair in pairs if pair.scores.any()]
        self.used = sorted({*self._alone, *(f for pair in pairs for f in pair.features)})  # features, in this order
        place = {f: k for k, f in enumerate(self.used)}
        self._tables = [(place[f], tables[f]) for f in self._alone]
        self._columns = np.array([[place[f] for f in pair.features] for pair in pairs], dtype=np.int64).reshape(-1, 2)
        self._row_of = np.array([pair.row_of for pair in pairs]).reshape(-1, N_CODES)
        self._column_of = np.array([pair.column_of for pair in pairs]).reshape(-1, N_CODES)
        self._widths = np.array([pair.scores.shape[1] for pair in pairs], dtype=np.int64)
        sizes = np.array([pair.scores.size for pair in pairs], dtype=np.int64)
        self._starts = np.cumsum(sizes) - sizes
        self._steps = np.concatenate([np.empty(0), *(pair.scores.ravel() for pair in pairs)])

    def joint(self, place_of: NDArray[Any], code_of: NDArray[Any]) -> Tables:
        """The same for joint codes: column f is in place ``place_of[f]``, its code is ``code_of[f]`` of that."""
        other = copy(self)
        features = np.array(self.used, dtype=np.intp)
        places, place = np.unique(place_of[features], return_inverse=True)
        other.used = places.tolist()
        other._tables = [(int(place[k]), table[code_of[features[k]]]) for k, table in self._tables]
        first, second = features[self._columns].T
        every = np.arange(len(self._columns))[:, None]
        other._row_of, other._column_of = self._row_of[every, code_of[first]], self._column_of[every, code_of[second]]
        other._columns = place[self._columns]
        return other

    def add(self, codes: Any, margin: Any) -> None:
        """Add the scores of rows to their margins; ``codes[k]`` is of the k-th feature in use."""
        lookup = lookup_for(margin)
        for k, table in self._tables:
            lookup.add_steps(codes[k][: len(margin)], table, margin)
        if len(self._columns):
            lookup.add_pair_steps(
                codes,
                self._columns,
                self._row_of,
                self._column_of,
                self._widths,
                self._starts,
                self._steps,
                margin,
            )


def predict_margins(binner: Binner, tables: Tables, X: Any, n_threads: int, device: str = "cpu") -> Floats:
    """The margin of each row of X."""
    sources = read_sources(X)
    binner.check(sources)
    if device != "cpu":
        return placed_margin(binner, sources, tables.used, tables.add)
    margin = np.zeros(len(X))
    n_used = max(len(tables.used), 1)
    size = min(max(BLOCK_BYTES // n_used, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

    def task(first: int, last: int) -> None:
        codes = np.empty((n_used, min(size, len(margin))), dtype=X_BINNED_DTYPE)
        for b in range(first, last):
            rows = slice(b * size, min((b + 1) * size, len(margin)))
            for k, f in enumerate(tables.used):
                codes[k, : rows.stop - rows.start] = binner.columns[f].encode(sources[f], rows)
            tables.add(codes, margin[rows])

    with Team(n_threads) as team:
        team.run(task, -(-len(margin) // size), size * len(sources))
    return margin
