"""The thresholds of each round, and what each of them would give: counted from the margins of the rows chosen on.

Of up to ``N_BUCKETS`` rows every margin is told apart. Of more, margins are counted in so many buckets: they are
multiples of a grid, so the buckets depend neither on the order of the rows nor on where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._engine.kernels import thresholds
from ..notions import NoNotion
from .candidates import Candidates
from .rule import ABOVE_LIMIT, Measured, Measures, measure_candidates, yardstick_of
from .settings import Settings

N_BUCKETS = 1 << 16
GRID = 2.0**-36  # of margins: the model's ALPHA_GRID
# So many rows of so many rounds are looked at together: threads that train side by side get into each other's way
# whenever they come back from a pass over the rows, so there is one long pass instead of many short ones. With many
# groups there are fewer rounds, so that their counts do not take much memory.
ROWS_TOGETHER, COUNTS_TOGETHER, MAX_TOGETHER = 1 << 18, 1 << 22, 32


class Counting:
    """Looks at all thresholds of rounds.

    Parameters
    ----------
    sample : Sample
        The rows that are chosen on, before boosting.
    rows : CpuRows, or what has the same passes
        Where they are.
    settings : Settings
        What thresholds are measured for.
    unit : float
        The number of rows that a weight of one stands for.
    """

    def __init__(self, sample: Any, rows: Any, settings: Settings, unit: float) -> None:
        self._sample, self._rows, self._settings, self._unit = sample, rows, settings, unit
        # Rows are counted before equal ones are merged: whether that was tried may depend on their order, and a model
        # shall not.
        self._is_exact = sample.n_given <= N_BUCKETS
        n_rows, n_cells = len(sample), sample.totals.size
        n_counts = max(n_rows * n_cells, 1)
        self.most = max(min(ROWS_TOGETHER // max(n_rows, 1), COUNTS_TOGETHER // n_counts, MAX_TOGETHER), 1)
        self._mass = sample.masses.values.astype(np.float64)
        self._n_entries = n_rows if self._is_exact else min(n_rows, (N_BUCKETS + 1) * n_cells)
        # A notion with rates of its own is measured elsewhere, and nothing but the balanced error here.
        sticks = [
            yardstick_of(sample.totals, sample.masses.unit, replace(settings, notion=notion), unit)
            for notion in (settings.notion, NoNotion())
        ]
        self._is_measured = sticks[0] is not None
        self._yardstick = next(stick for stick in sticks if stick is not None)
        self._room: Any = None

    def look(self, rounds: Sequence[Any]) -> list[Measured]:
        """Of each round 0 and the midpoints between neighbouring distinct margins, or between buckets.

        Rounds come with the leaves of the rows, or one by one after the margins have been moved. What is found is there
        until the next look.
        """
        if not rounds:
            return []
        if rounds[0].leaves is None:
            self._look_at_margins()
        else:
            self._move_and_look(rounds)
        return [self._measured(j) for j in range(len(rounds))]

    def _make_room(self, n_rounds: int, has_mass: bool) -> Any:
        if self._room is None:
            n_cells = self._sample.totals.size
            looked = thresholds.Looked.room(n_rounds, self._n_entries, n_cells, has_mass, not self._is_exact)
            n_sorted = min(max(1 << (2 * len(self._sample)).bit_length(), 1 << 8), N_BUCKETS)
            starts = np.empty(n_sorted + 1 if self._is_exact else 0, dtype=np.int32)
            counts = np.zeros((0 if self._is_exact else N_BUCKETS + 1, n_cells), dtype=np.int64)
            self._room = looked, starts, counts
        return self._room

    def _move_and_look(self, rounds: Sequence[Any]) -> None:
        mass = self._mass
        looked, starts, counts = self._make_room(self.most, not self._is_exact or len(mass) > 0)
        if not hasattr(self, "_margin"):
            self._margin, self._cell = np.zeros(len(self._sample)), self._rows.cell()
        leaves = rounds[0].leaves.base if len(rounds) > 1 else rounds[0].leaves[None]
        steps = np.array([record.steps for record in rounds])
        thresholds.measure_rounds(
            len(rounds),
            leaves,
            steps,
            self._margin,
            self._cell,
            mass,
            starts,
            counts,
            GRID,
            self._yardstick,
            self._settings.highest_violation,
            ABOVE_LIMIT,
            looked,
        )

    def _look_at_margins(self) -> None:
        looked, starts, _ = self._make_room(1, True)
        room = looked.below[0], looked.above[0], looked.cells[0], looked.mass[0]
        if self._is_exact:
            margin, cell, mass = self._rows.list_margins()
            n = len(margin)
            mass = mass.astype(np.float64) if len(mass) else np.ones(n)
            thresholds.sort_rows(margin, cell.astype(looked.cells.dtype), mass, starts, room[0], *room[2:])
        else:
            low, high = self._rows.margin_range()
            shift, lowest = thresholds.buckets_between(low, high, GRID, N_BUCKETS)
            counts = self._rows.count_margins(GRID, shift, lowest, N_BUCKETS + 1)
            n = thresholds.list_buckets(counts, GRID, shift, lowest, *room)
        looked.n_entries[0] = n
        thresholds.measure_entries(0, n, self._yardstick, self._settings.highest_violation, ABOVE_LIMIT, looked)

    def _measured(self, j: int) -> Measured:
        looked, sample = self._room[0], self._sample
        n, n_entries, n_front = int(looked.n_thresholds[j]), int(looked.n_entries[j]), int(looked.n_fronts[j])
        mass = looked.mass[j, :n_entries]
        found = Candidates(
            looked.thresholds[j, :n],
            looked.n_below[j, :n],
            looked.cells[j, :n_entries],
            mass,
            sample.masses.unit,
            sample.totals,
        )
        if not self._is_measured:
            return measure_candidates(found, self._settings, self._unit)
        front = looked.fronts[j, :n_front]
        return Measured(found, Measures(*looked.measures[j, :, :n]), int(looked.lowest[j]), front, found.counts(front))
