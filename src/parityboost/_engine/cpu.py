"""The passes over the rows on the processor: numba's kernels, shared by threads.

A *backend* is where the arrays that have an entry per row live, and who passes over them. It is all that the rest of
the package knows of a device. :class:`Cpu` is the one that is described here; ``cuda.backend`` has the same methods.
What has an entry per row or per block is *placed* (:meth:`Cpu.place`); tables per leaf, code, cell or class are always
NumPy arrays, and so is whatever is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .codes import BLOCK_ROWS, N_CODES
from .kernels import histogram, lookup, rounds, thresholds

Run = Callable[[Callable[[int, int], None], int, float], None]
Array = NDArray[Any]

MAX_LEAVES = 4


class Cpu:
    """NumPy arrays and numba's kernels.

    Parameters
    ----------
    run : function
        Calls a task with ranges of work, as :meth:`Team.run` does.
    """

    is_remote = False  # whether the rows are in other processes

    def __init__(self, run: Run) -> None:
        self._run = run

    def place(self, array: Array) -> Array:
        """The array where the passes over the rows find it."""
        return array

    def to_host(self, array: Any) -> Array:
        """A placed array as a NumPy array."""
        return array  # type: ignore[no-any-return]

    def zeros(self, n: int) -> Array:
        """A placed array of floats."""
        return np.zeros(n)

    def block_sums(self, n: int) -> Array:
        """A placed array of an integer per block."""
        return np.zeros(n, dtype=np.int64)

    def require(self, n_bytes: int) -> None:
        """Refuse what does not fit into the memory of the device; that of the processor is the system's affair."""

    def lists(self, n_rows: int, n_blocks: int) -> tuple[Array, Array, Array]:
        """Room to list rows, an integer for each, and how many there are per block."""
        return np.empty(n_rows, dtype=np.uint32), np.empty(n_rows, dtype=np.int64), np.zeros(n_blocks, dtype=np.int64)

    def range_of(self, margin: Array) -> tuple[float, float]:
        """The lowest and the highest."""
        return float(margin.min()), float(margin.max())

    def close(self) -> None:
        """Give back whatever is held."""

    def move_margins(
        self,
        leaves: tuple[Array, Array],
        steps: Array,
        threshold: float,
        learner_too: bool,
        margin: Array,
        mass: Array,
        blocks: Array,
        n_cells: int,
    ) -> tuple[Array, Array]:
        """Add ``steps[leaf]`` to the margins, and count the positive predictions.

        They are in ``positives[k, kind]``, each of the cell ``cells[k, 0]``; a cell may have several.
        """
        positives = np.empty((len(blocks), rounds.N_KINDS), dtype=np.int64)
        self._run(
            lambda first, last: rounds.move_margins(
                *leaves, steps, threshold, learner_too, margin, mass, blocks, first, last, positives
            ),
            len(blocks),
            BLOCK_ROWS,
        )
        return blocks, positives

    def fill_weights(self, blocks: Array, start: Array, weights: Array) -> None:
        """Give all rows of a cell the weight ``start[cell]``."""
        for cell, first, last in blocks.tolist():
            weights[first:last] = start[cell]

    def scale_weights(self, blocks: Array, n_groups: int, y: int, factor: float, weights: Array) -> None:
        """Multiply the weights of class y by a power of two."""
        for cell, first, last in blocks.tolist():
            if cell // n_groups == y:
                weights[first:last] *= factor

    def change_weights(
        self,
        leaves: tuple[Array, Array],
        factors: Array,
        weights: Array,
        mass: Array,
        blocks: Array,
        n_blocks: int,
        lists: tuple[Array, Array, Array],
        sums: Array,
    ) -> None:
        """Multiply the weights by ``factors[cell, leaf]``, and list which rows' integers gained how much."""
        self._run(
            lambda first, last: rounds.change_weights(
                *leaves, factors, weights, mass, blocks, first, last, *lists, sums
            ),
            n_blocks,
            2 * BLOCK_ROWS,
        )

    def list_everything(
        self,
        weights: Array,
        mass: Array,
        blocks: Array,
        first: int,
        last: int,
        n_groups: int,
        classes: Collection[int],
        lists: tuple[Array, Array, Array],
        sums: Array,
    ) -> None:
        """List all rows of some classes, in the blocks first ≤ b < last, as if each had gained what it weighs.

        ``sums[b]`` is set anew.
        """
        for b in range(first, last):
            if blocks[b, 0] // n_groups in classes:
                rounds.list_everything(weights, mass, blocks, b, b + 1, *lists, sums)

    def sum_per_class(self, blocks: Array, per_block: Array, n_groups: int, n_blocks: int, sums: Array) -> None:
        """``sums[y]`` = sum over the first so many blocks that are of class y."""
        rounds.sum_per_class(blocks, per_block, n_groups, n_blocks, sums)

    def sum_wrong(self, leaves: tuple[Array, Array], wrong: Array, weights: Array, mass: Array, blocks: Array) -> Array:
        """The sum of the integers per cell of the rows in a leaf that is ``wrong[cell, leaf]``."""
        per_block = np.zeros((len(blocks), 1), dtype=np.int64)
        self._run(
            lambda first, last: rounds.sum_wrong(*leaves, wrong, weights, mass, blocks, first, last, per_block[:, 0]),
            len(blocks),
            BLOCK_ROWS,
        )
        return self._per_cell(blocks, per_block, len(wrong))[:, 0]

    def list_leaf(
        self,
        leaves: tuple[Array, Array],
        leaf: int,
        weights: Array,
        mass: Array,
        blocks: Array,
        lists: tuple[Array, Array, Array],
    ) -> None:
        """List the rows of one leaf with their integers."""
        self._run(
            lambda first, last: rounds.list_leaf(*leaves, leaf, weights, mass, blocks, first, last, *lists),
            len(blocks),
            BLOCK_ROWS,
        )

    def split_leaves(
        self,
        column: Array,
        side_of_code: Array,
        columns: tuple[Array, Array],
        leaf_of_code: Array,
        mass: Array,
        blocks: Array,
        n_cells: int,
    ) -> tuple[Array, Array]:
        """The leaf of each row in a tree of depth two, and the mass per [cell, leaf]."""
        leaves = np.empty(len(column), dtype=np.uint8)
        per_block = np.empty((len(blocks), MAX_LEAVES), dtype=np.int64)
        self._run(
            lambda first, last: rounds.split_leaves(
                column, side_of_code, columns, leaf_of_code, mass, blocks, first, last, leaves, per_block
            ),
            len(blocks),
            BLOCK_ROWS,
        )
        return leaves, self._per_cell(blocks, per_block, n_cells)

    def add_to_histograms(
        self, codes: Array, lists: tuple[Array, Array, Array], blocks: Array, n_groups: int, values: Array
    ) -> None:
        """Add what is listed to ``values[bundle, class, :, joint code]``."""
        self._run(
            lambda first, last: histogram.add_to_histograms(codes, *lists, blocks, n_groups, first, last, values),
            *codes.shape,
        )

    def sum_masses(self, codes: Array, mass: Array, n_negative: int, blocks: Array, n_groups: int) -> Array:
        """The mass per [class, bundle, joint code]."""
        mass_of = np.zeros((2, len(codes), N_CODES), dtype=np.int64)
        self._run(lambda first, last: histogram.sum_masses(codes, mass, n_negative, first, last, mass_of), *codes.shape)
        return mass_of

    def count_pairs(self, codes: Array, mass: Array, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
        """The mass in each cell of tables of two columns: their places, the row and column per code, the shape."""
        return count_pairs(codes, mass, pairs)

    def then(self, result: Array, function: Callable[[Array], Array]) -> Array:
        """What a function makes of a result, whenever that is there: here it is."""
        return function(result)

    def count_margins(
        self,
        margin: Array,
        grid: float,
        shift: int,
        lowest: int,
        n_buckets: int,
        cell: Array,
        mass: Array,
        blocks: Array,
        n_cells: int,
    ) -> Array:
        """The mass per [bucket of margins, cell]; see ``thresholds.count_margins``. ``cell`` is a NumPy array."""
        counts = np.zeros((n_buckets, n_cells), dtype=np.int64)
        thresholds.count_margins(margin, grid, shift, lowest, cell, mass, counts)
        return counts

    def _per_cell(self, blocks: Array, per_block: Array, n_cells: int) -> Array:
        sums = np.empty((n_cells, per_block.shape[1]), dtype=np.int64)
        rounds.sum_per_cell(blocks, per_block, sums)
        return sums


def count_pairs(codes: Array, mass: Array, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
    """See :meth:`Cpu.count_pairs`."""
    found = []
    for first, second, row_of, column_of, shape in pairs:
        counts = np.zeros(shape, dtype=np.int64)
        lookup.count_cells(codes[first], codes[second], row_of, column_of, mass, counts)
        found.append(counts)
    return found
