"""The rows that a threshold is chosen on, in the order of their margins, round after round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Floats, Integers, Positions
from .._choice.candidates import Candidates, between, in_groups, to_counts
from .._choice.rule import Measured, Measures, Yardstick, judged_by, measure_candidates
from .._choice.settings import Settings
from .._engine.codes import N_CODES
from .._engine.cpu import MAX_LEAVES
from .._engine.kernels import thresholds
from .._model.grid import ALPHA_GRID
from ..notions import NoNotion
from .samples import Leaves, Sample

# Of up to so many rows every margin is told apart. Of more, margins are counted in so many buckets. Rows are counted
# before equal ones are merged: whether that was tried may depend on their order, and a model shall not.
MAX_RANKED = 1 << 20
N_BUCKETS = 1 << 16
# So many rows of so many rounds are looked at together: threads that train side by side get into each other's way
# whenever they come back from a pass over the rows, so there is one long pass instead of many short ones. With many
# groups there are fewer rounds, so that their counts do not take much memory.
NOTED_ROWS, NOTED_COUNTS, MAX_NOTED = 1 << 18, 1 << 22, 32


class Found(NamedTuple):
    """Room for what ``measure_rounds`` finds."""

    ranked: Any  # [round, place]: the rows in order
    thresholds: Floats  # [round, …]
    n_below: Integers
    n_thresholds: Integers  # per round
    measures: Floats  # [measure, round, …]
    fronts: Positions  # [round, …]
    n_fronts: Integers  # per round
    lowest: Integers

    @classmethod
    def room_for(cls, n_rounds: int, n_rows: int) -> Found:
        shape = n_rounds, n_rows + 2
        n_thresholds, n_fronts, lowest = np.empty((3, n_rounds), dtype=np.int64)
        return cls(
            np.empty((n_rounds, n_rows), dtype=np.uint32),
            np.empty(shape),
            np.empty(shape, dtype=np.int64),
            n_thresholds,
            np.empty((4, *shape)),
            np.empty(shape, dtype=np.intp),
            n_fronts,
            lowest,
        )


class Ranking:
    """The rows of a sample in the order of their margins, which is kept up to date, some rounds at a time.

    All rows that get the same vote move by the same step and stay in order, so there are sorted runs to merge. If there
    are very many rows, they are counted per bucket of margins and cell instead: margins are multiples of a grid, so the
    buckets do not depend on the order of the rows either.

    Parameters
    ----------
    sample : Sample
        The rows. Their margins are read only where the ranking is not ``is_here``.
    settings : Settings
        What thresholds are measured for.
    unit : float
        The number of rows that a weight of one stands for.
    """

    def __init__(self, sample: Sample, settings: Settings, unit: float) -> None:
        n_rows, n_cells = len(sample), 2 * sample.n_groups
        self._sample, self._backend = sample, sample.team.backend
        self._settings, self._unit = settings, unit
        self._cell = np.repeat(np.arange(n_cells, dtype=np.min_scalar_type(n_cells)), sample.sizes)
        self._is_exact = sample.n_given <= MAX_RANKED
        self.is_here = self._is_exact and not self._backend.is_remote
        self._n_noted = 0
        self.most = 1  # rounds that are noted before they are looked at
        if self.is_here:
            n_counts = max(n_rows * n_cells, 1)
            self.most = most = max(min(NOTED_ROWS // max(n_rows, 1), NOTED_COUNTS // n_counts, MAX_NOTED), 1)
            self._columns, self._leaf_of_code = (np.empty((most, n), dtype=np.uint8) for n in (n_rows, N_CODES))
            self._steps, self._n_leaves = np.empty((most, MAX_LEAVES)), np.empty(most, dtype=np.int64)
            self._rows, self._margins = np.arange(n_rows, dtype=np.uint32), np.zeros(n_rows)
            room = (MAX_LEAVES + 1) * (n_rows + 1) + 1  # see ``merge_leaves``
            self._mass = sample.masses.values.astype(np.float64)
            self._runs = np.empty(room, dtype=np.uint32), np.empty(room)
            # A notion with rates of its own is measured elsewhere, and nothing but the balanced error here.
            notions = (settings.notion, NoNotion())
            sticks = [
                Yardstick.of(sample.totals, sample.masses.unit, replace(settings, notion=n), unit) for n in notions
            ]
            self._is_measured = sticks[0] is not None
            self._yardstick = next(stick for stick in sticks if stick is not None)
            self._found = Found.room_for(most, n_rows)

    @property
    def is_full(self) -> bool:
        """Whether no further round can be noted."""
        return self._n_noted == self.most

    def note(self, leaves: Leaves, steps: Floats) -> None:
        """A round that adds a step per leaf to the margins."""
        j = self._n_noted
        self._n_noted += 1
        if not self.is_here:
            return
        leaf_of_code = leaves.leaf_of_code
        if len(steps) > 2 and len(set(steps.tolist())) <= 2:  # as votes of -1 and 1 are
            leaf_of_code, steps = (steps > steps.min()).astype(np.uint8)[leaf_of_code], np.sort(steps)[[0, -1]]
        self._columns[j] = self._backend.to_host(leaves.column)
        self._leaf_of_code[j, : len(leaf_of_code)] = leaf_of_code
        self._steps[j, : len(steps)], self._n_leaves[j] = steps, len(steps)

    def look(self) -> list[Measured]:
        """Of each round noted since: 0 and the midpoints between neighbouring distinct margins, or between buckets.

        They are there until the next look.
        """
        n_rounds, self._n_noted = self._n_noted, 0
        if n_rounds == 0:
            return []
        if not self.is_here:
            return [measure_candidates(self._elsewhere(), self._settings, self._unit)]
        sample, mass, found = self._sample, self._sample.masses, self._found
        thresholds.measure_rounds(
            n_rounds,
            self._columns,
            self._leaf_of_code,
            self._steps,
            self._n_leaves,
            self._rows,
            self._margins,
            *self._runs,
            self._cell,
            self._mass,
            *self._yardstick,
            judged_by(self._settings),
            *found,
        )
        n_fronts = found.n_fronts[:n_rounds]
        starts = np.cumsum(n_fronts) - n_fronts
        negatives = np.empty((int(n_fronts.sum()), sample.totals.size))
        thresholds.count_fronts(found.ranked, self._cell, mass.values, found.n_below, found.fronts, n_fronts, negatives)
        counts = to_counts(in_groups(negatives * mass.unit), sample.totals)
        rounds = []
        for j, n in enumerate(found.n_thresholds[:n_rounds].tolist()):
            given = found.thresholds[j, :n], found.n_below[j, :n], found.ranked[j]
            candidates = Candidates(*given, self._cell, mass.values, mass.unit, sample.totals)
            if self._is_measured:
                front, measures = found.fronts[j, : n_fronts[j]], Measures(*found.measures[:, j, :n])
                own = counts[starts[j] : starts[j] + n_fronts[j]]
                rounds.append(Measured(candidates, measures, int(found.lowest[j]), front, own))
            else:
                rounds.append(measure_candidates(candidates, self._settings, self._unit))
        return rounds

    def _elsewhere(self) -> Candidates:
        sample, mass = self._sample, self._sample.masses
        if not self._is_exact:
            return self._between_buckets()
        margins, cell, masses = self._backend.list_margins(sample.margin, sample.placed_mass, sample.placed_blocks)
        order = np.argsort(margins)
        return between(margins[order], margins[order], order, cell, masses, mass.unit, sample.totals)

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
