"""The rows that a threshold is chosen on, in the order of their margins, round after round."""

from __future__ import annotations

import numpy as np

from .._arrays import Floats
from .._choice.candidates import Candidates, between
from .._engine.kernels import thresholds
from .._model.grid import ALPHA_GRID
from .samples import Leaves, Sample

# Of up to so many rows every margin is told apart. Of more, margins are counted in so many buckets. Rows are counted
# before equal ones are merged: whether that was tried may depend on their order, and a model shall not.
MAX_RANKED = 1 << 20
N_BUCKETS = 1 << 16


class Ranking:
    """The rows of a sample in the order of their margins, which is kept up to date.

    All rows that get the same vote move by the same step and stay in order, so there are sorted runs to merge. If there
    are very many rows, they are counted per bucket of margins and cell instead: margins are multiples of a grid, so the
    buckets do not depend on the order of the rows either.
    """

    def __init__(self, sample: Sample) -> None:
        n_rows, n_cells = len(sample), 2 * sample.n_groups
        self._sample, self._backend = sample, sample.team.backend
        self._cell = np.repeat(np.arange(n_cells, dtype=np.min_scalar_type(n_cells)), sample.sizes)
        self._is_exact = sample.n_given <= MAX_RANKED
        self._is_here = self._is_exact and not self._backend.is_remote
        if self._is_here:
            self._rows, self._margins = np.arange(n_rows, dtype=np.int32), np.zeros(n_rows)
            self._runs = np.empty(0, dtype=np.int32), np.empty(0)

    def move(self, leaves: Leaves, steps: Floats) -> None:
        """Add a step per leaf; the sample's own margins are moved by others."""
        if not self._is_here:
            return
        column = self._backend.to_host(leaves.column)
        leaf_of_code = leaves.leaf_of_code
        if len(steps) > 2 and len(set(steps.tolist())) <= 2:  # as votes of -1 and 1 are
            leaf_of_code, steps = (steps > steps.min()).astype(np.uint8)[leaf_of_code], np.sort(steps)[[0, -1]]
        room = len(steps) * (len(self._rows) + 1)
        if len(self._runs[0]) < room:
            self._runs = np.empty(room, dtype=np.int32), np.empty(room)
        merge = thresholds.merge_leaves if len(steps) == 2 else thresholds.merge_four_leaves
        merge(self._rows, self._margins, column, leaf_of_code, steps, *self._runs)

    def candidates(self) -> Candidates:
        """0 and the midpoints between neighbouring distinct margins, or between buckets."""
        sample, mass = self._sample, self._sample.masses
        if not self._is_exact:
            return self._between_buckets()
        if not self._is_here:
            margins, cell, masses = self._backend.list_margins(sample.margin, sample.placed_mass, sample.placed_blocks)
            order = np.argsort(margins)
            return between(margins[order], margins[order], order, cell, masses, mass.unit, sample.totals)
        return between(self._margins, self._margins, self._rows, self._cell, mass.values, mass.unit, sample.totals)

    def _between_buckets(self) -> Candidates:
        sample, margin = self._sample, self._sample.margin
        lowest, highest = (round(end / ALPHA_GRID) - 1 for end in self._backend.range_of(margin))
        shift = max((highest - lowest).bit_length() - N_BUCKETS.bit_length() + 1, 0)
        first = lowest >> shift
        counts = self._backend.count_margins(
            margin,
            ALPHA_GRID,
            shift,
            first,
            (highest >> shift) - first + 1,
            self._cell,
            sample.placed_mass,
            sample.placed_blocks,
            sample.totals.size,
        )
        # A bucket and cell is like one row, which lies somewhere between the borders of the bucket.
        bucket, cell = np.nonzero(counts)
        below, above = (np.ldexp(ALPHA_GRID * (bucket + first + end).astype(np.float64), shift) for end in (0, 1))
        mass, unit = counts[bucket, cell], sample.masses.unit
        return between(below, above, np.arange(len(cell)), cell, mass, unit, sample.totals)
