"""The mean of several trainings: tables like those of one of them, and how far the trainings differ.

Tables are sums of ±α, so a mean of tables predicts like the mean of the trainings. Means are rounded to the grid of α:
sums of them are as exact as those of a single training.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._arrays import N_CODES, Floats, on_grid
from .tables import CountPairs, Effects, Pair, PairCells, first_of_each, in_order

AT_ONCE = 6  # numbers of a byte each that fit into one of eight bytes, behind another


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
