"""The passes of a round over the rows of a sample, on the processor: numba's kernels, shared by threads.

This is the protocol that all of training knows of a device. What has an entry per row stays inside; what a pass is told
are small arrays (a tree, a step per leaf, a factor per cell and leaf), and what it returns are sums of integers.
:class:`CpuRows` is described here; ``cuda.rows`` and ``dask`` have the same passes elsewhere:

=====================  =====================================================================================
``add_changes``        histograms of all training rows, from the weights that changed
``add_side``           histograms of the rows on one side of a split
``put_into_leaves``    the leaf of each row
``move_margins``       a step per leaf is added to the margins, and predictions are counted
``change_weights``     weights times a factor per cell and leaf (``list_anew`` where integers got too large or small)
``list_margins``       the margins in order, for the choice of the threshold (``count_margins`` if they are many)
=====================  =====================================================================================

Besides there is what is asked for once per training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .codes import BLOCK_ROWS, N_CODES
from .kernels import boosting, lookup, passes, thresholds, trees

Run = Callable[[Callable[[int, int], None], int, float], None]
Array = NDArray[Any]

FOUR_LEAVES = np.arange(passes.MAX_LEAVES, dtype=np.uint8)


class CpuRows:
    """The rows of a sample, sorted by cell.

    Parameters
    ----------
    codes : ndarray of shape (n_bundles, n_rows)
        Joint codes.
    mass : ndarray of int64
        The sample weight of each row, empty for one each.
    unit : float
        What a mass of one weighs.
    blocks : ndarray of shape (n_blocks, 3)
        Cell, first row, last row + 1.
    cell_mass : ndarray of int64
        Mass per cell.
    bundle_of : ndarray
        The bundle of each feature.
    run : function
        Calls a task with ranges of work, as :meth:`Team.run` does.
    """

    def __init__(
        self, codes: Array, mass: Array, unit: float, blocks: Array, cell_mass: Array, bundle_of: Array, run: Run
    ) -> None:
        self.bundle_of, self.n_groups, self._run = bundle_of, len(cell_mass) // 2, run
        n_rows = codes.shape[1]
        none, no_mass = np.empty(0, dtype=np.uint8), np.empty((0, passes.MAX_LEAVES), dtype=np.int64)
        self.arrays = passes.Rows(codes, mass, blocks, np.zeros(n_rows), cell_mass, unit, none, no_mass)
        self.weights = passes.Weights(*(np.empty(0) for _ in range(5)))
        self._leaves: tuple[Array, Array] = none, none
        self._side: tuple[Array, Array, Array] | None = None

    def __len__(self) -> int:
        return len(self.arrays.margin)

    def room_for_leaves(self) -> passes.Rows:
        """The rows with room for their leaves in trees that are more than stumps."""
        if len(self.arrays.leaves) != len(self):
            leaf_mass = np.empty((len(self.arrays.blocks), passes.MAX_LEAVES), dtype=np.int64)
            self.arrays = self.arrays._replace(leaves=np.empty(len(self), dtype=np.uint8), leaf_mass=leaf_mass)
        return self.arrays

    def room_for_side(self) -> tuple[Array, Array, Array]:
        """Room to list the rows on one side of a split."""
        if self._side is None:
            self._side = self._lists()
        return self._side

    def _lists(self) -> tuple[Array, Array, Array]:
        n_rows, n_blocks = len(self), len(self.arrays.blocks)
        return np.empty(n_rows, dtype=np.uint32), np.empty(n_rows, dtype=np.int64), np.zeros(n_blocks, dtype=np.int64)

    def start_weights(self, start: Array, classes: boosting.Classes) -> None:
        """Give all rows of a cell the weight ``start[cell]``, and list them."""
        values = np.empty(len(self))
        for cell, first, last in self.arrays.blocks.tolist():
            values[first:last] = start[cell]
        self.weights = passes.Weights(values, *self._lists(), np.zeros(len(self.arrays.blocks), dtype=np.int64))
        self.list_anew(classes)

    def add_changes(self, histograms: Array) -> None:
        """Add what rows gained to ``histograms[bundle, class, :, joint code]``, once."""
        weights, blocks = self.weights, self.arrays.blocks
        self._add(weights.rows, weights.gains, weights.n_rows, histograms)
        weights.n_rows[: len(blocks)] = 0

    def _add(self, rows: Array, gains: Array, n_rows: Array, histograms: Array) -> None:
        codes, blocks, n_groups = self.arrays.codes, self.arrays.blocks, self.n_groups
        self._run(
            lambda first, last: passes.add_to_histograms(
                codes, rows, gains, n_rows, blocks, n_groups, first, last, histograms
            ),
            *codes.shape,
        )

    def add_side(self, grown: trees.Grown, side: int, histograms: Array) -> None:
        """Add what the rows on one side of a tree's first split weigh."""
        column, mass, blocks = self._column(grown.features[0]), self.arrays.mass, self.arrays.blocks
        lists, values = self.room_for_side(), self.weights.values
        self._run(
            lambda first, last: passes.list_leaf(
                column, grown.side_of_code, side, values, mass, blocks, first, last, *lists
            ),
            len(blocks),
            BLOCK_ROWS,
        )
        self._add(*lists, histograms)

    def put_into_leaves(self, grown: trees.Grown) -> Array:
        """Put the rows into the leaves of a tree, whether they were trained on or not; the mass per [leaf, class]."""
        root, *sides = grown.features.tolist()
        column = self._column(root)
        if sides == [trees.NONE, trees.NONE]:
            self._leaves = column, grown.root_leaves.copy()
            return grown.leaf_mass
        rows = self.room_for_leaves()
        columns = tuple(column if side == trees.NONE else self._column(side) for side in sides)
        self._run(
            lambda first, last: passes.split_leaves(
                column,
                grown.side_of_code,
                columns,
                grown.leaf_of_code,
                rows.mass,
                rows.blocks,
                first,
                last,
                rows.leaves,
                rows.leaf_mass,
            ),
            len(rows.blocks),
            BLOCK_ROWS,
        )
        self._leaves = rows.leaves, FOUR_LEAVES
        per_cell = self._per_cell(rows.leaf_mass)
        return np.ascontiguousarray(per_cell.reshape(2, -1, passes.MAX_LEAVES).sum(axis=1).T)

    def put_as_told(self, leaves: Array) -> None:
        """Put each row into a leaf that is known."""
        self._leaves = leaves, FOUR_LEAVES

    def leaves(self) -> Array:
        """The leaf of each row."""
        column, leaf_of_code = self._leaves
        leaves: Array = leaf_of_code[column]
        return leaves

    def _column(self, feature: int) -> Array:
        column: Array = self.arrays.codes[self.bundle_of[feature]]
        return column

    def move_margins(self, steps: Array, threshold: float, learner_too: bool) -> Array:
        """Add ``steps[leaf]`` to the margins; the mass of positive predictions per [cell, kind], see ``passes``."""
        rows, leaves = self.arrays, self._leaves
        positives = np.empty((len(rows.blocks), passes.N_KINDS), dtype=np.int64)
        self._run(
            lambda first, last: passes.move_margins(
                *leaves, steps, threshold, learner_too, rows.margin, rows.mass, rows.blocks, first, last, positives
            ),
            len(rows.blocks),
            BLOCK_ROWS,
        )
        return self._per_cell(positives)

    def change_weights(self, factors: Array, classes: boosting.Classes) -> None:
        """Multiply the weights by ``factors[cell, leaf]``, after a change of k, and list which integers gained."""
        rows, weights, leaves = self.arrays, self.weights, self._leaves
        boosting.shift(rows, self.n_groups, weights, classes)
        self._run(
            lambda first, last: passes.change_weights(
                *leaves,
                factors,
                weights.values,
                rows.mass,
                rows.blocks,
                first,
                last,
                weights.rows,
                weights.gains,
                weights.n_rows,
                weights.block_sums,
            ),
            len(rows.blocks),
            2 * BLOCK_ROWS,
        )
        boosting.add_up(rows.blocks, self.n_groups, weights, classes)

    def list_anew(self, classes: boosting.Classes) -> None:
        """List all rows of the classes that are renewed with all that they weigh, after a change of k."""
        boosting.list_anew(self.arrays, self.n_groups, self.weights, classes)

    def sum_wrong(self, wrong: Array) -> Array:
        """The sum of the integers per cell of the rows in a leaf that is ``wrong[cell, leaf]``."""
        rows, values, leaves = self.arrays, self.weights.values, self._leaves
        per_block = np.zeros((len(rows.blocks), 1), dtype=np.int64)
        self._run(
            lambda first, last: passes.sum_wrong(
                *leaves, wrong, values, rows.mass, rows.blocks, first, last, per_block[:, 0]
            ),
            len(rows.blocks),
            BLOCK_ROWS,
        )
        return self._per_cell(per_block)[:, 0]

    def sum_masses(self) -> Array:
        """The mass per [class, bundle, joint code]."""
        codes, mass = self.arrays.codes, self.arrays.mass
        n_negative = self._n_negative()
        mass_of = np.zeros((2, len(codes), N_CODES), dtype=np.int64)
        self._run(lambda first, last: passes.sum_masses(codes, mass, n_negative, first, last, mass_of), *codes.shape)
        return mass_of

    def count_pairs(self, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
        """The mass in each cell of tables of two columns: their places, the row and column per code, the shape."""
        return count_pairs(self.arrays.codes, self.arrays.mass, pairs)

    def list_margins(self) -> tuple[Array, Array, Array]:
        """The margin, cell and mass of rows; equal ones may be one."""
        return self.arrays.margin, self.cell(), self.arrays.mass

    def margin_range(self) -> tuple[float, float]:
        """The lowest and the highest margin."""
        return float(self.arrays.margin.min()), float(self.arrays.margin.max())

    def count_margins(self, grid: float, shift: int, lowest: int, n_buckets: int) -> Array:
        """The mass per [bucket of margins, cell]; see ``thresholds.count_margins``."""
        counts = np.zeros((n_buckets, 2 * self.n_groups), dtype=np.int64)
        thresholds.count_margins(self.arrays.margin, grid, shift, lowest, self.cell(), self.arrays.mass, counts)
        return counts

    def cell(self) -> Array:
        """The cell of each row."""
        cell = np.empty(len(self), dtype=np.min_scalar_type(2 * self.n_groups))
        for of, first, last in self.arrays.blocks.tolist():
            cell[first:last] = of
        return cell

    def distribution(self, classes: boosting.Classes, total: float) -> Array:
        """D, which sums to one."""
        rows = self.arrays
        weight: Array = np.maximum(np.rint(self.weights.values), 1.0) * (rows.mass if len(rows.mass) else 1.0)
        for cell, first, last in rows.blocks.tolist():
            weight[first:last] *= classes.units[cell // self.n_groups]
        return weight / total

    def codes_on_host(self) -> Array:
        """The joint codes."""
        return self.arrays.codes

    def _n_negative(self) -> int:
        blocks = self.arrays.blocks
        return int((blocks[:, 2] - blocks[:, 1])[blocks[:, 0] < self.n_groups].sum())

    def _per_cell(self, per_block: Array) -> Array:
        sums = np.empty((2 * self.n_groups, per_block.shape[1]), dtype=np.int64)
        passes.sum_per_cell(self.arrays.blocks, per_block, sums)
        return sums


def count_pairs(codes: Array, mass: Array, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
    """See :meth:`CpuRows.count_pairs`."""
    found = []
    for first, second, row_of, column_of, shape in pairs:
        counts = np.zeros(shape, dtype=np.int64)
        lookup.count_cells(codes[first], codes[second], row_of, column_of, mass, counts)
        found.append(counts)
    return found
