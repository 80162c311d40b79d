"""What :class:`~parityboost._engine.cpu.Cpu` does, on an NVIDIA graphics card.

Arrays with an entry per row or block are CuPy arrays. What a pass over the rows returns is small and read back at once;
the choice of the learner, the costs and α stay on the processor. All sums are integers, and what happens to a row's
margin and weight are single operations of IEEE floats (no fused ones: ``--fmad=false``), so a model does not depend on
the device by a single bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import BLOCK_ROWS, N_CODES
from ..cpu import count_pairs
from ..kernels.rounds import N_KINDS
from .card import Card, compile_module

Array = NDArray[Any]
Lists = tuple[Any, Any, Any]

THREADS = 256  # of a thread block that takes a block of rows; as in rounds.cu
MAX_LEAVES = 4
# The histograms' thread blocks, and how many of these a multiprocessor shall have room for in its shared memory.
HISTOGRAM_THREADS, HISTOGRAM_BLOCKS = 512, 2
LIST_CHUNK = 128  # as in rounds.cu
BYTES_PER_BUNDLE = 8 * N_CODES
MAX_COPIES = 8
PARTS_TOGETHER = 8  # the parts of a histogram are added up by so many threads


class Cuda:
    """CuPy arrays and the kernels of ``rounds.cu``."""

    is_remote = False

    def __init__(self) -> None:
        self._card = Card()
        self._module = compile_module("rounds.cu", self._card.device)
        self._kernels: dict[str, Any] = {}
        self._pinned: Array = np.empty(0)

    def place(self, array: Any) -> Any:
        return self._card.place(array)

    def to_host(self, array: Any) -> Array:
        return self._card.to_host(array)

    def zeros(self, n: int) -> Any:
        return self._card.zeros(n, np.float64)

    def block_sums(self, n: int) -> Any:
        return self._card.zeros(n, np.int64)

    def require(self, n_bytes: int) -> None:
        self._card.require(n_bytes)

    def lists(self, n_rows: int, n_blocks: int) -> Lists:
        return (
            self._card.empty(n_rows, np.uint32),
            self._card.empty(n_rows, np.int64),
            self._card.zeros(n_blocks, np.int64),
        )

    def range_of(self, margin: Any) -> tuple[float, float]:
        with self._card:
            return float(margin.min()), float(margin.max())

    def close(self) -> None:
        self._card.close()

    def move_margins(
        self,
        leaves: tuple[Any, Array],
        steps: Array,
        threshold: float,
        learner_too: bool,
        margin: Any,
        mass: Any,
        blocks: Any,
        n_cells: int,
    ) -> tuple[Array, Array]:
        column, leaf_of_code = leaves
        positives = self._card.zeros((n_cells, N_KINDS), np.int64)
        step_of_code = self.place(steps[leaf_of_code])
        n_kinds = 1 if threshold == 0.0 and not learner_too else N_KINDS
        self._over_blocks(
            "move_margins",
            len(blocks),
            (column, step_of_code, len(step_of_code), threshold, n_kinds, margin, *weighted(mass), blocks, positives),
        )
        counted = self.to_host(positives)
        if n_kinds == 1:  # the threshold is 0
            counted[:, 1] = counted[:, 0]
        return np.arange(n_cells)[:, None], counted

    def fill_weights(self, blocks: Any, start: Array, weights: Any) -> None:
        self._over_blocks("fill_weights", len(blocks), (blocks, self.place(start), weights))

    def scale_weights(self, blocks: Any, n_groups: int, y: int, factor: float, weights: Any) -> None:
        self._over_blocks("scale_weights", len(blocks), (blocks, n_groups, y, factor, weights))

    def change_weights(
        self,
        leaves: tuple[Any, Array],
        factors: Array,
        weights: Any,
        mass: Any,
        blocks: Any,
        n_blocks: int,
        lists: Lists,
        sums: Any,
    ) -> None:
        column, leaf_of_code = leaves
        self._over_blocks(
            "change_weights",
            n_blocks,
            (
                column,
                self.place(leaf_of_code),
                len(leaf_of_code),
                self.place(factors),
                factors.shape[1],
                weights,
                *weighted(mass),
                blocks,
                *lists,
                sums,
            ),
        )

    def list_everything(
        self,
        weights: Any,
        mass: Any,
        blocks: Any,
        first: int,
        last: int,
        n_groups: int,
        classes: Collection[int],
        lists: Lists,
        sums: Any,
    ) -> None:
        rows, gains, n_rows = lists
        self._over_blocks(
            "list_everything",
            last - first,
            (
                weights,
                *weighted(mass),
                blocks[first:last],
                n_groups,
                sum(1 << y for y in classes),
                rows,
                gains,
                n_rows[first:last],
                sums[first:last],
            ),
        )

    def sum_per_class(self, blocks: Any, per_block: Any, n_groups: int, n_blocks: int, sums: Array) -> None:
        per_class = self._card.empty(2, np.int64)
        self._launch("sum_per_class", (2,), 1024, (blocks, per_block, n_groups, n_blocks, per_class))
        sums[:] = self.to_host(per_class)

    def sum_wrong(self, leaves: tuple[Any, Array], wrong: Array, weights: Any, mass: Any, blocks: Any) -> Array:
        column, leaf_of_code = leaves
        sums = self._card.zeros(len(wrong), np.int64)
        self._over_blocks(
            "sum_wrong",
            len(blocks),
            (
                column,
                self.place(leaf_of_code),
                self.place(wrong.astype(np.uint8)),
                wrong.shape[1],
                weights,
                *weighted(mass),
                blocks,
                sums,
            ),
        )
        return self.to_host(sums)

    def list_leaf(
        self, leaves: tuple[Any, Array], leaf: int, weights: Any, mass: Any, blocks: Any, lists: Lists
    ) -> None:
        column, leaf_of_code = leaves
        self._over_blocks(
            "list_leaf",
            len(blocks),
            (
                column,
                self.place(leaf_of_code),
                len(leaf_of_code),
                leaf,
                weights,
                *weighted(mass),
                blocks,
                *lists,
            ),
        )

    def split_leaves(
        self,
        column: Any,
        side_of_code: Array,
        columns: tuple[Any, Any],
        leaf_of_code: Array,
        mass: Any,
        blocks: Any,
        n_cells: int,
    ) -> tuple[Any, Array]:
        leaves = self._card.empty(len(column), np.uint8)
        leaf_mass = self._card.zeros((n_cells, MAX_LEAVES), np.int64)
        self._over_blocks(
            "split_leaves",
            len(blocks),
            (
                column,
                self.place(side_of_code),
                *columns,
                self.place(leaf_of_code),
                *weighted(mass),
                blocks,
                leaves,
                leaf_mass,
            ),
        )
        return leaves, self.to_host(leaf_mass)

    def add_to_histograms(self, codes: Any, lists: Lists, blocks: Any, n_groups: int, values: Array) -> None:
        values[:, :, 0] += self._read(self.histograms(codes, lists, blocks, n_groups))

    def sum_masses(self, codes: Any, mass: Any, n_negative: int, blocks: Any, n_groups: int) -> Array:
        rows, gains, n_rows = lists = self.lists(codes.shape[1], len(blocks))
        self._over_blocks("list_masses", len(blocks), (*weighted(mass), blocks, rows, gains, n_rows))
        return self._read(self.histograms(codes, lists, blocks, n_groups)).transpose(1, 0, 2).copy()

    def count_pairs(self, codes: Any, mass: Array, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
        return count_pairs(self.to_host(codes), mass, pairs)  # once per training: not worth a kernel

    def then(self, result: Array, function: Callable[[Array], Array]) -> Array:
        return function(result)

    def count_margins(
        self,
        margin: Any,
        grid: float,
        shift: int,
        lowest: int,
        n_buckets: int,
        cell: Array,
        mass: Any,
        blocks: Any,
        n_cells: int,
    ) -> Array:
        counts = self._card.zeros((n_buckets, n_cells), np.int64)
        self._over_blocks(
            "count_margins", len(blocks), (margin, grid, shift, lowest, n_cells, *weighted(mass), blocks, counts)
        )
        return self.to_host(counts)

    def histograms(self, codes: Any, lists: Lists, blocks: Any, n_groups: int) -> Any:
        """The sums of what is listed per [bundle, class, joint code], on the card."""
        card = self._card
        n_bundles, n_rows = codes.shape
        room = card.shared_memory // HISTOGRAM_BLOCKS - 1024  # the system takes 1 KB of each thread block
        n_together = min(max(room // BYTES_PER_BUNDLE, 1), n_bundles)
        n_parts = -(-n_bundles // n_together)
        n_together = -(-n_bundles // n_parts)
        n_copies = 1
        while n_copies < MAX_COPIES and 2 * n_copies * n_together * BYTES_PER_BUNDLE <= room:
            n_copies *= 2
        n_chunks = BLOCK_ROWS // LIST_CHUNK
        n_items = -(-len(blocks) * n_chunks // (HISTOGRAM_THREADS // 32))
        grid = min(HISTOGRAM_BLOCKS * card.n_multiprocessors, n_items), n_parts
        parts = card.empty((grid[0], 2, n_bundles, N_CODES), np.int64)
        self._launch(
            "add_to_histograms",
            grid,
            HISTOGRAM_THREADS,
            (
                codes,
                n_rows,
                *lists,
                blocks,
                n_groups,
                len(blocks),
                n_bundles,
                n_together,
                n_copies,
                n_chunks,
                parts,
            ),
            n_together * n_copies * BYTES_PER_BUNDLE,
        )
        histograms = card.zeros((n_bundles, 2, N_CODES), np.int64)
        sums = 2 * n_bundles * N_CODES // THREADS, PARTS_TOGETHER
        self._launch("add_parts", sums, THREADS, (parts, len(parts), n_bundles, histograms))
        return histograms

    def _read(self, histograms: Any) -> Array:
        """What is on the card in memory that it can write to at full speed, until the next call."""
        if self._pinned.shape != histograms.shape:
            self._pinned = self._card.pinned(histograms.shape, histograms.dtype)
        histograms.get(out=self._pinned)
        return self._pinned

    def _over_blocks(self, name: str, n_blocks: int, args: tuple[Any, ...]) -> None:
        if n_blocks:
            self._launch(name, (n_blocks,), THREADS, args)

    def _launch(
        self, name: str, grid: tuple[int, ...], n_threads: int, args: tuple[Any, ...], shared_memory: int = 0
    ) -> None:
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._module.get_function(name)
        if shared_memory > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = shared_memory
        kernel(grid, (n_threads,), args, shared_mem=shared_memory)


def weighted(mass: Any) -> tuple[Any, int]:
    """Sample weights as kernels want them, and whether there are any; an empty array means one each."""
    return mass, int(len(mass) > 0)
