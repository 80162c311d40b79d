"""A model as a sum of tables: one per feature, and one per pair of features.

Codes that nothing in a pair tells apart share a row or column of its table: only what is in use is kept. The tables are
multiples of the grid of α, and so is whatever is moved between them: they add up to the same score to the last bit.
The mean of several trainings' tables, rounded to that grid, is as exact as the tables of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import N_CODES, X_BINNED_DTYPE, Codes, Floats, Integers, on_grid
from .._engine.threads import Team, kernels_for
from .._table.binning import Binner
from .._table.sources import place_sources, read_sources

# Rows are predicted in blocks whose codes take up about so many bytes, but not in blocks of less than MIN_BLOCK_ROWS.
BLOCK_BYTES, MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 1 << 20, 1 << 10, 1 << 16
AT_ONCE = 6  # numbers of a byte each that fit into one of eight bytes, behind another
PLACED_ROWS = 1 << 24  # at a time on a graphics card: their codes, and one column of their values


class PairCells(NamedTuple):
    """The rows and columns of the table of two features, per code."""

    features: tuple[int, int]  # in the order of the columns of X
    row_of: NDArray[np.uint8]
    column_of: NDArray[np.uint8]


CountPairs = Callable[[list[PairCells]], list[Integers]]  # the mass of the rows in each cell of each pair


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


@dataclass(frozen=True)
class Effects:
    """``tables[feature, code]`` and the tables of pairs, which add up to the margin."""

    tables: Floats
    pairs: tuple[Pair, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return plain_state(self)

    @cached_property
    def pure(self) -> Effects:
        """The same sums, with all that a feature does on its own in its own table.

        The weighted mean of each row and of each column of a pair's table is then 0, but for rounding to the grid.
        """
        if not self.pairs:
            return self
        tables, pairs = self.tables.copy(), []
        for pair in self.pairs:
            (first, second), (rows, columns) = pair.features, _additive_part(pair.scores, pair.weight)
            tables[first] += rows[pair.row_of]
            tables[second] += columns[pair.column_of]
            pairs.append(replace(pair, scores=pair.scores - rows[:, None] - columns[None, :]))
        return Effects(tables, tuple(pairs))

    @cached_property
    def layout(self) -> Layout:
        """The same, laid out for prediction."""
        return Layout(self)

    def used_features(self) -> set[int]:
        """The features that the margin depends on, or might after rounding."""
        return {*np.flatnonzero(self.tables.any(axis=1)).tolist(), *(f for pair in self.pairs for f in pair.features)}

    def margins(self, codes: Codes, bundle_of: NDArray[Any], code_of: NDArray[Any], rows: Any) -> Floats:
        """The margins of some rows that are there as joint codes."""
        layout, margin = Layout(self, bundle_of, code_of), np.zeros(len(rows))
        layout.add(codes[np.array(layout.used, dtype=np.intp)[:, None], rows], margin)
        return margin

    def predict(self, binner: Binner, X: Any, n_threads: int = 1, device: str = "cpu") -> Floats:
        """The margin of each row of X."""
        sources, layout = read_sources(X), self.layout
        binner.check(sources)
        if device != "cpu":
            return _placed_margin(binner, sources, layout)
        margin = np.zeros(len(X))
        n_used = max(len(layout.used), 1)
        size = min(max(BLOCK_BYTES // n_used, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

        def task(first: int, last: int) -> None:
            codes = np.empty((n_used, min(size, len(margin))), dtype=X_BINNED_DTYPE)
            for b in range(first, last):
                rows = slice(b * size, min((b + 1) * size, len(margin)))
                for k, f in enumerate(layout.used):
                    codes[k, : rows.stop - rows.start] = binner.columns[f].encode(sources[f], rows)
                layout.add(codes, margin[rows])

        with Team(n_threads) as team:
            team.run(task, -(-len(margin) // size), size * len(sources))
        return margin


def plain_state(value: Any) -> dict[str, Any]:
    """The fields of a frozen record, without what was worked out from them."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


class Layout:
    """Tables in the order in which prediction reads them.

    For joint codes column f is in place ``place_of[f]``, and its code is ``code_of[f]`` of that.
    """

    def __init__(
        self, effects: Effects, place_of: NDArray[Any] | None = None, code_of: NDArray[Any] | None = None
    ) -> None:
        alone = np.flatnonzero(effects.tables.any(axis=1)).tolist()
        pairs = [pair for pair in effects.pairs if pair.scores.any()]
        features = np.array(sorted({*alone, *(f for pair in pairs for f in pair.features)}), dtype=np.intp)
        used, places = np.unique(features if place_of is None else place_of[features], return_inverse=True)
        self.used, place = used.tolist(), dict(zip(features.tolist(), places.tolist(), strict=True))
        codes: Any = {f: slice(None) if code_of is None else code_of[f] for f in place}
        self._tables = [(place[f], effects.tables[f][codes[f]]) for f in alone]
        self._columns = np.array([[place[f] for f in pair.features] for pair in pairs], dtype=np.int64).reshape(-1, 2)
        sides = [
            (pair.row_of[codes[first]], pair.column_of[codes[second]])
            for pair in pairs
            for first, second in [pair.features]
        ]
        self._row_of, self._column_of = np.array(sides, dtype=np.uint8).reshape(-1, 2, N_CODES).swapaxes(0, 1).copy()
        self._widths = np.array([pair.scores.shape[1] for pair in pairs], dtype=np.int64)
        sizes = np.array([pair.scores.size for pair in pairs], dtype=np.int64)
        self._starts = np.cumsum(sizes) - sizes
        self._steps = np.concatenate([np.empty(0), *(pair.scores.ravel() for pair in pairs)])

    def add(self, codes: Any, margin: Any) -> None:
        """Add the scores of rows to their margins; ``codes[k]`` is of the k-th feature in use."""
        lookup = kernels_for(margin)
        for k, table in self._tables:
            lookup.add_steps(codes[k][: len(margin)], table, margin)
        if len(self._columns):
            of_pairs = self._columns, self._row_of, self._column_of, self._widths, self._starts, self._steps
            lookup.add_pair_steps(codes, *of_pairs, margin)


def _placed_margin(binner: Binner, sources: list[Any], layout: Layout) -> Floats:
    """The margins of all rows, on the graphics card."""
    from .._engine.cuda import tables  # CuPy is needed only now

    sources = place_sources(sources, tables.place)
    margin = np.empty(len(sources[0]))
    for first in range(0, len(margin), PLACED_ROWS):
        rows = slice(first, min(first + PLACED_ROWS, len(margin)))
        part = tables.zeros(rows.stop - first)
        layout.add([tables.place(binner.columns[f].encode(sources[f], rows)) for f in layout.used], part)
        part.get(out=margin[rows])
        del part
    tables.free()
    return margin


def average(
    parts: Sequence[Effects], factors: Sequence[float], n_codes: Sequence[int], count: CountPairs, unit: float
) -> Effects:
    """The sum of tables, each times its factor. Pairs get the weight of all training rows in their cells; only the
    first ``n_codes[feature]`` codes occur.
    """
    tables = on_grid(np.sum([f * part.tables for part, f in zip(parts, factors, strict=True)], axis=0))
    found: dict[tuple[int, int], list[tuple[Pair, float]]] = {}
    for part, factor in zip(parts, factors, strict=True):
        for pair in part.pairs:
            found.setdefault(pair.features, []).append((pair, factor))
    cells = []
    for features, weighted in sorted(found.items()):
        row_of, column_of = (
            common_cells([getattr(pair, side)[: n_codes[f]] for pair, _ in weighted])
            for side, f in zip(("row_of", "column_of"), features, strict=True)
        )
        cells.append(PairCells(features, row_of, column_of))
    pairs = []
    for (features, row_of, column_of), counts in zip(cells, count(cells), strict=True):
        weighted = found[features]
        rows, columns = first_of_each(row_of), first_of_each(column_of)
        each = [f * pair.scores[np.ix_(pair.row_of[rows], pair.column_of[columns])] for pair, f in weighted]
        weight = counts.astype(np.float64) * unit
        pairs.append(Pair(features, row_of, column_of, on_grid(np.sum(each, axis=0)), weight))
    return Effects(tables, tuple(pairs))


def common_cells(cells: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Number the codes so that those have the same number which have it in each of the tables."""
    common = np.zeros(len(cells[0]), dtype=np.int64)
    for start in range(0, len(cells), AT_ONCE):
        for cell in cells[start : start + AT_ONCE]:
            common = common * N_CODES + cell
        common = in_order(common)  # in the order of their first codes: missing stays 0
    numbers = np.zeros(N_CODES, dtype=np.uint8)  # a code that never occurs is like missing
    numbers[: len(common)] = common
    return numbers


def covariance(first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    """Of two tables per ensemble, entry by entry; of one ensemble 0."""
    a, b = (np.array(tables) - np.mean(tables, axis=0) for tables in (first, second))
    found: Floats = (a * b).sum(axis=0) / max(len(a) - 1, 1)
    return found


def differences(alone: Sequence[Floats], factors: Sequence[float]) -> Floats:
    """The standard deviation over ensembles of what each feature does on its own, per code."""
    scaled = np.array([factor * len(alone) * tables for tables, factor in zip(alone, factors, strict=True)])
    spread: Floats = scaled.std(axis=0, ddof=1) if len(alone) > 1 else np.zeros((scaled.shape[1], N_CODES))
    return spread


def place_pairs(pairs: list[PairCells], place_of: NDArray[Any], code_of: NDArray[Any]) -> list[tuple[Any, ...]]:
    """The cells of pairs for joint codes, as the engine has them; see :class:`Layout`."""
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


def first_of_each(cell_of: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The first code of each cell, if cells are numbered in the order of these."""
    highest = np.maximum.accumulate(cell_of)
    return np.concatenate(([0], 1 + np.flatnonzero(highest[1:] > highest[:-1])))


def in_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Equal keys have the same number, from 0 on, in the order in which they first occur."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    numbers: NDArray[np.int64] = rank[inverse]
    return numbers


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
    return on_grid(rows), on_grid(columns)
