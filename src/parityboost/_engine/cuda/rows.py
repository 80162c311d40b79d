"""The passes of :class:`~parityboost._engine.cpu.CpuRows` on an NVIDIA graphics card.

What has an entry per row or block is a CuPy array. What a pass returns is small and read back at once; trees, costs and
α are decided on the processor. All sums are integers, and what happens to a row's margin and weight are single
operations of IEEE floats (no fused ones: ``--fmad=false``), so a model does not depend on the device by a single bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import BLOCK_ROWS, BYTES_PER_ROW, N_CODES
from ..cpu import FOUR_LEAVES, MAX_LEAVES, N_KINDS, NONE, Classes, Grown, count_pairs
from .card import Card, compile_module

Array = NDArray[Any]
Lists = tuple[Any, Any, Any]

THREADS = 256  # of a thread block that takes a block of rows; as in passes.cu
# The histograms' thread blocks, and how many of these a multiprocessor shall have room for in its shared memory.
HISTOGRAM_THREADS, HISTOGRAM_BLOCKS = 512, 2
LIST_CHUNK = 128  # as in passes.cu
BYTES_PER_BUNDLE = 8 * N_CODES
MAX_COPIES = 8
PARTS_TOGETHER = 8  # the parts of a histogram are added up by so many threads


class RoundsCard(Card):
    """The card with the kernels of ``passes.cu``."""

    def __init__(self) -> None:
        super().__init__()
        self._module = compile_module("passes.cu", self.device)
        self._kernels: dict[str, Any] = {}
        self._pinned: Array = np.empty(0)

    def over_blocks(self, name: str, n_blocks: int, *args: Any) -> None:
        """Launch a kernel with a thread block for each block of rows."""
        if n_blocks:
            self.launch(name, (n_blocks,), THREADS, args)

    def launch(
        self, name: str, grid: tuple[int, ...], n_threads: int, args: tuple[Any, ...], shared_memory: int = 0
    ) -> None:
        """Launch a kernel."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._module.get_function(name)
        if shared_memory > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = shared_memory
        kernel(grid, (n_threads,), args, shared_mem=shared_memory)

    def read(self, histograms: Any) -> Array:
        """What is on the card in memory that it can write to at full speed, until the next call."""
        if self._pinned.shape != histograms.shape:
            self._pinned = self.pinned(histograms.shape, histograms.dtype)
        histograms.get(out=self._pinned)
        return self._pinned


class CudaRows:
    """As :class:`~parityboost._engine.cpu.CpuRows`, with a card instead of threads."""

    def __init__(
        self,
        codes: Any,
        mass: Array,
        unit: float,
        blocks: Array,
        cell_mass: Array,
        bundle_of: Array,
        card: RoundsCard,
    ) -> None:
        self.bundle_of, self.n_groups, self._card = bundle_of, len(cell_mass) // 2, card
        n_rows, n_bundles = codes.shape[1], len(codes)
        card.require((0 if isinstance(codes, card.cupy.ndarray) else n_rows * n_bundles) + n_rows * BYTES_PER_ROW)
        self._host_codes, self._host_mass, self._blocks_on_host = codes, mass, blocks
        self._codes, self._mass, self._blocks = card.place(codes), card.place(mass), card.place(blocks)
        self._weighted = self._mass, int(len(mass) > 0)
        self._margin = card.zeros(n_rows, np.float64)
        self._leaves: tuple[Any, Any] = None, None
        self._side: Lists | None = None

    def __len__(self) -> int:
        return int(self._codes.shape[1])

    def _lists(self) -> Lists:
        card, n_rows = self._card, len(self)
        n_listed = card.zeros(len(self._blocks), np.int64)
        return card.empty(n_rows, np.uint32), card.empty(n_rows, np.int64), n_listed

    def start_weights(self, start: Array, classes: Classes) -> None:
        card, n_blocks = self._card, len(self._blocks)
        self._weights, self._changes = card.zeros(len(self), np.float64), self._lists()
        self._block_sums = card.zeros(n_blocks, np.int64)
        card.over_blocks("fill_weights", n_blocks, self._blocks, card.place(start), self._weights)
        self.list_anew(classes)

    def add_changes(self, histograms: Array) -> None:
        histograms[:, :, 0] += self._card.read(self._histograms(self._changes))
        self._changes[2][:] = 0

    def add_side(self, grown: Grown, side: int, histograms: Array) -> None:
        card = self._card
        if self._side is None:
            self._side = self._lists()
        given = self._column(grown.features[0]), card.place(grown.side_of_code), N_CODES, side, self._weights
        card.over_blocks("list_leaf", len(self._blocks), *given, *self._weighted, self._blocks, *self._side)
        histograms[:, :, 0] += card.read(self._histograms(self._side))

    def put_into_leaves(self, grown: Grown) -> Array:
        card = self._card
        root, *sides = grown.features.tolist()
        column = self._column(root)
        if sides == [NONE, NONE]:
            self._leaves = column, grown.root_leaves.copy()
            return grown.leaf_mass
        leaves, leaf_mass = card.empty(len(self), np.uint8), card.zeros((2 * self.n_groups, MAX_LEAVES), np.int64)
        columns = [column if side == NONE else self._column(side) for side in sides]
        given = column, card.place(grown.side_of_code), *columns, card.place(grown.leaf_of_code)
        card.over_blocks("split_leaves", len(self._blocks), *given, *self._weighted, self._blocks, leaves, leaf_mass)
        self._leaves = leaves, FOUR_LEAVES
        per_cell = card.to_host(leaf_mass)
        return np.ascontiguousarray(per_cell.reshape(2, -1, MAX_LEAVES).sum(axis=1).T)

    def _column(self, feature: int) -> Any:
        return self._codes[int(self.bundle_of[feature])]

    def move_margins(self, steps: Array, threshold: float, learner_too: bool) -> Array:
        card = self._card
        column, leaf_of_code = self._leaves
        positives = card.zeros((2 * self.n_groups, N_KINDS), np.int64)
        step_of_code = card.place(steps[leaf_of_code])
        n_kinds = 1 if threshold == 0.0 and not learner_too else N_KINDS
        given = column, step_of_code, len(step_of_code), threshold, n_kinds, self._margin
        card.over_blocks("move_margins", len(self._blocks), *given, *self._weighted, self._blocks, positives)
        counted = card.to_host(positives)
        if n_kinds == 1:  # the threshold is 0
            counted[:, 1] = counted[:, 0]
        return counted

    def change_weights(self, factors: Array, classes: Classes) -> None:
        card = self._card
        column, leaf_of_code = self._leaves
        self._shift(classes)
        codes, factors_of = (card.place(leaf_of_code), len(leaf_of_code)), (card.place(factors), factors.shape[1])
        given = column, *codes, *factors_of, self._weights, *self._weighted, self._blocks
        card.over_blocks("change_weights", len(self._blocks), *given, *self._changes, self._block_sums)
        self._add_up(classes)

    def list_anew(self, classes: Classes) -> None:
        self._shift(classes)
        renewed = sum(1 << y for y in (0, 1) if classes.is_renewed[y])
        given = self._weights, *self._weighted, self._blocks, self.n_groups, renewed
        self._card.over_blocks("list_everything", len(self._blocks), *given, *self._changes, self._block_sums)
        self._add_up(classes)

    def _shift(self, classes: Classes) -> None:
        for y in (0, 1):
            if classes.bits[y]:
                given = self._blocks, self.n_groups, y, 2.0 ** int(classes.bits[y]), self._weights
                self._card.over_blocks("scale_weights", len(self._blocks), *given)

    def _add_up(self, classes: Classes) -> None:
        per_class = self._card.empty(2, np.int64)
        given = self._blocks, self._block_sums, self.n_groups, len(self._blocks), per_class
        self._card.launch("sum_per_class", (2,), 1024, given)
        classes.sums[:] = self._card.to_host(per_class)

    def sum_wrong(self, wrong: Array) -> Array:
        card = self._card
        sums = card.zeros(len(wrong), np.int64)
        column, leaf_of_code = self._leaves
        given = column, card.place(leaf_of_code), card.place(wrong.astype(np.uint8)), wrong.shape[1], self._weights
        card.over_blocks("sum_wrong", len(self._blocks), *given, *self._weighted, self._blocks, sums)
        return card.to_host(sums)

    def sum_masses(self) -> Array:
        lists = self._lists()
        self._card.over_blocks("list_masses", len(self._blocks), *self._weighted, self._blocks, *lists)
        return self._card.read(self._histograms(lists)).transpose(1, 0, 2).copy()

    def count_pairs(self, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
        return count_pairs(self.codes_on_host(), self._host_mass, pairs)  # once per training: not worth a kernel

    def list_margins(self) -> tuple[Array, Array, Array]:
        return self._card.to_host(self._margin), self.cell(), self._host_mass

    def margin_range(self) -> tuple[float, float]:
        with self._card:
            return float(self._margin.min()), float(self._margin.max())

    def count_margins(self, grid: float, shift: int, lowest: int, n_buckets: int) -> Array:
        counts = self._card.zeros((n_buckets, 2 * self.n_groups), np.int64)
        given = self._margin, grid, shift, lowest, 2 * self.n_groups
        self._card.over_blocks("count_margins", len(self._blocks), *given, *self._weighted, self._blocks, counts)
        return self._card.to_host(counts)

    def cell(self) -> Array:
        cell = np.empty(len(self), dtype=np.min_scalar_type(2 * self.n_groups))
        for of, first, last in self._blocks_on_host.tolist():
            cell[first:last] = of
        return cell

    def distribution(self, classes: Classes, total: float) -> Array:
        mass = self._host_mass
        weight = np.maximum(np.rint(self._card.to_host(self._weights)), 1.0) * (mass if len(mass) else 1.0)
        weight *= classes.units[self.cell() // self.n_groups]
        found: Array = weight / total
        return found

    def codes_on_host(self) -> Array:
        return self._card.to_host(self._host_codes)

    def _histograms(self, lists: Lists) -> Any:
        """The sums of what is listed per [bundle, class, joint code], on the card."""
        card = self._card
        n_bundles, n_rows = self._codes.shape
        room = card.shared_memory // HISTOGRAM_BLOCKS - 1024  # the system takes 1 KB of each thread block
        n_together = min(max(room // BYTES_PER_BUNDLE, 1), n_bundles)
        n_parts = -(-n_bundles // n_together)
        n_together = -(-n_bundles // n_parts)
        n_copies = 1
        while n_copies < MAX_COPIES and 2 * n_copies * n_together * BYTES_PER_BUNDLE <= room:
            n_copies *= 2
        n_blocks, n_chunks = len(self._blocks), BLOCK_ROWS // LIST_CHUNK
        n_items = -(-n_blocks * n_chunks // (HISTOGRAM_THREADS // 32))
        grid = min(HISTOGRAM_BLOCKS * card.n_multiprocessors, n_items), n_parts
        parts = card.empty((grid[0], 2, n_bundles, N_CODES), np.int64)
        given = self._codes, n_rows, *lists, self._blocks, self.n_groups, n_blocks, n_bundles, n_together, n_copies
        size = n_together * n_copies * BYTES_PER_BUNDLE
        card.launch("add_to_histograms", grid, HISTOGRAM_THREADS, (*given, n_chunks, parts), size)
        histograms = card.zeros((n_bundles, 2, N_CODES), np.int64)
        sums = 2 * n_bundles * N_CODES // THREADS, PARTS_TOGETHER
        card.launch("add_parts", sums, THREADS, (parts, len(parts), n_bundles, histograms))
        return histograms
