"""The mean of several ensembles: tables like those of one of them, and how far the ensembles differ.

Tables are sums of ±α, so a mean of tables predicts like the mean of the ensembles. Means are rounded to the grid of α:
sums of them are as exact as those of a single ensemble.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Floats
from .._engine.codes import N_CODES
from .._table.binning import Binner
from .grid import all_on_grid
from .pairs import Effects, Pair, first_of_each, in_order, purify
from .tree_ensemble import CountPairs, PairCells, Tables, predict_margins

AT_ONCE = 6  # numbers of a byte each that fit into one of eight bytes, behind another
Bundled = tuple[Codes, NDArray[Any], NDArray[Any]]  # joint codes, the row of each feature in them, its code


class AveragedEnsemble:
    """Tables per feature and per pair of features, without the learners that they are made of.

    Attributes
    ----------
    tables : Effects
        What adds up to the margin.
    spread : ndarray of shape (n_features, 256)
        How far the ensembles differ in what a feature does on its own: the standard deviation, per code.
    shares : ndarray of shape (n_features,)
        Each feature's importance.
    """

    def __init__(self, binner: Binner, tables: Effects, spread: Floats, shares: Floats) -> None:
        self.binner = binner
        self.tables = tables
        self.spread = spread
        self.shares = shares
        self._ready: Tables | None = None
        self._pure: Effects | None = None

    def effects(self, theta: int) -> Effects:
        """The tables; there is nothing to choose among."""
        return self.tables

    def pure_effects(self, theta: int) -> Effects:
        """The same with all that a feature does on its own in its own table; not to be written to."""
        if self._pure is None:
            self._pure = purify(self.tables)
        return self._pure

    def margin(self, X: Any, theta: int, n_threads: int = 1, device: str = "cpu") -> Floats:
        """The sum of the tables' scores."""
        if self._ready is None:
            self._ready = Tables(self.tables)
        return predict_margins(self.binner, self._ready, X, n_threads, device)

    def importances(self, theta: int) -> Floats:
        """Each feature's share."""
        return self.shares

    def used_features(self) -> set[int]:
        """The features that anything depends on."""
        alone = np.flatnonzero(self.tables.tables.any(axis=1) | self.spread.any(axis=1)).tolist()
        return {*alone, *(f for pair in self.tables.pairs for f in pair.features)}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_ready": None, "_pure": None}


def average(
    parts: Sequence[Effects], factors: Sequence[float], n_codes: Sequence[int], count: CountPairs, unit: float
) -> Effects:
    """The sum of tables, each times its factor. Pairs get the weight of all training rows in their cells; only the
    first ``n_codes[feature]`` codes occur.
    """
    tables = all_on_grid(np.sum([f * part.tables for part, f in zip(parts, factors, strict=True)], axis=0))
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
        pairs.append(Pair(features, row_of, column_of, all_on_grid(np.sum(each, axis=0)), weight))
    return Effects(tables, pairs)


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


def margins_of(effects: Effects, bundled: Bundled, rows: NDArray[Any]) -> Floats:
    """The margins of some rows that are there as joint codes."""
    codes, place_of, code_of = bundled
    tables, margin = Tables(effects).joint(place_of, code_of), np.zeros(len(rows))
    tables.add(codes[np.array(tables.used, dtype=np.intp)[:, None], rows], margin)
    return margin


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
