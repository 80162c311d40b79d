"""Thresholds to choose from: one between any two neighbouring margins, and what each of them would give.

In the order of their margins the rows above a threshold are a suffix, so one pass over the rows counts for *all*
thresholds. Of up to ``N_BUCKETS`` rows every margin is told apart. Of more, margins are counted in so many buckets:
they are multiples of a grid, so the buckets depend neither on the order of the rows nor on where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import ALPHA_GRID, Floats, Integers, Positions, room
from .._stats.rates import (
    balanced_error_rate,
    error_rate,
    false_negative_rate,
    false_positive_rate,
    selection_rate,
    spread,
)
from ..notions import FairnessNotion, NoNotion, worst
from .wishes import SAME_OBJECTIVE, Settings

# So many counts are looked at together: the thresholds of many rows and many groups need not fit into memory at once.
MAX_COUNTS = 1 << 21
N_BUCKETS = 1 << 16
# So many rows of so many rounds are looked at together: threads that train side by side get into each other's way
# whenever they come back from a pass over the rows, so there is one long pass instead of many short ones. With many
# groups there are fewer rounds, so that their counts do not take much memory.
ROWS_TOGETHER, COUNTS_TOGETHER, MAX_TOGETHER = 1 << 18, 1 << 22, 32
# A rate of so many instances counts half, the rate of everyone the other half, when `keep` is used: benchmarks/keep.py.
HALF_BELIEVED = 5.0
# The rates that a kernel counts for all thresholds at once, in its order.
COUNTED_RATES = (selection_rate, false_negative_rate, false_positive_rate)
# What is not allowed is worse than anything allowed, and a violation above the limit worse than any objective.
NOT_ALLOWED, ABOVE_LIMIT = 1e6, 1e3


class Measures(NamedTuple):
    """What options are compared by."""

    ber: Floats
    violation: Floats  # as it is
    judged: Floats  # the violation of shrunk rates if `keep` is used
    objective: Floats  # Eq. (16) with the violation so judged

    def at(self, places: Any) -> Measures:
        """Of some options."""
        return Measures(*(part[places] for part in self))

    def cost(self, settings: Settings, allowed: float | Floats = np.inf) -> Floats:
        """What the choice minimises among options with a balanced error up to ``allowed``.

        A limit leaves out options and changes nothing else: where the best of all is within it, that one is taken.
        """
        reached = self.violation <= highest_violation(settings)
        cost = np.where(reached, self.objective, ABOVE_LIMIT + self.violation)
        return np.where(self.ber <= allowed + SAME_OBJECTIVE, cost, NOT_ALLOWED + self.ber)


def highest_violation(settings: Settings) -> float:
    """Up to which a choice is within the limit; without one every violation is, but for one that is not defined."""
    return np.inf if settings.max_violation is None else settings.max_violation + SAME_OBJECTIVE


def measure(counts: Floats, settings: Settings, unit: float) -> Measures:
    """The measures of ``counts[option, …]``, in which one row counts ``1 / unit``."""
    ber, violation = balanced_error_rate(counts), settings.notion.violation(counts)
    judged = violation if settings.keep == 0 else shrunk_violation(settings.notion, counts * unit)
    return Measures(ber, violation, judged, settings.c * ber + (1.0 - settings.c) * error_rate(counts) + judged)


def shrunk_violation(notion: FairnessNotion, counts: Floats, *, on_others: bool = False) -> Floats:
    """The violation if a rate of few instances is believed only in part.

    The largest of many noisy differences is mostly noise. So each group's rate is drawn towards the rate of everyone,
    the more so the fewer instances it is a share of: by one half if there are ``HALF_BELIEVED`` of them. As it is to be
    expected ``on_others``, from the same population, a difference is never 0: its square grows by the variance of the
    difference between these two groups. So nothing is paid to bring one down from little to nothing.
    """
    if type(notion.each).violation is not FairnessNotion.violation:  # a notion with a violation of its own
        return notion.violation(counts)
    everyone, of_views = counts.sum(axis=-3), []
    for seen in notion.seen(counts):
        total = np.zeros(counts.shape[:-3])
        for gap in notion.gaps:
            size = seen[..., list(gap.of), :].sum(axis=(-2, -1))
            common = gap.rate(everyone)[..., None]
            rates = common + size / (size + HALF_BELIEVED) * (gap.rate(seen) - common)
            difference = spread(rates)
            if on_others:
                variance = common * (1.0 - common) / np.maximum(size, 1.0)
                ends = [end.reduce(rates, axis=-1, keepdims=True) for end in (np.fmax, np.fmin)]  # of equals the larger
                by_chance = sum(np.max(variance, axis=-1, where=rates == end, initial=0.0) for end in ends)
                difference = np.sqrt(difference**2 + by_chance)
            total = total + difference
        of_views.append(total)
    return worst(of_views)


def yardstick_of(totals: Floats, mass_unit: float, settings: Settings, unit: float) -> Any:
    """What a kernel measures thresholds by, for groups with these ``totals[group, class]``.

    None if the notion has a violation or rates of its own.
    """
    notion = settings.notion
    rates = [gap.rate for gap in notion.gaps]
    if type(notion.each).violation is not FairnessNotion.violation or not all(rate in COUNTED_RATES for rate in rates):
        return None
    parts = [totals] if not notion.views else [view.sum(totals, 0) for view in notion.views]
    n_compared = [len(part) for part in parts]
    places = np.empty((1, 0), dtype=np.int64)
    if notion.views:
        group_of = np.array([view.group_of for view in notion.views])
        for v, none in enumerate(list(group_of < 0)):
            if none.any():
                parts[v] = np.concatenate([parts[v], totals[none].sum(axis=0, keepdims=True)])
        sizes = np.array([len(part) for part in parts])[:, None]
        places = np.where(group_of < 0, sizes - 1, group_of)
        places = np.concatenate([places, sizes + places], axis=1)
    most = max(map(len, parts))
    shape = len(parts), len(rates), most
    masses, beliefs, belief_of = np.zeros((len(parts), 2 * most)), np.ones(shape), np.zeros(shape, dtype=np.int64)
    n_beliefs = 1
    for v, part in enumerate(parts):
        masses[v, : part.size] = part.T.ravel() / mass_unit
        for k, gap in enumerate(notion.gaps):
            size = part[:, list(gap.of)].sum(axis=1) * unit
            each, belief_of[v, k, : len(part)] = np.unique(
                size / (size + HALF_BELIEVED) if settings.keep > 0 else np.ones(len(part)), return_inverse=True
            )
            beliefs[v, k, : len(each)] = each
            n_beliefs = max(n_beliefs, len(each))
    kinds = np.array([COUNTED_RATES.index(rate) for rate in rates], dtype=np.int64)
    from .._engine.kernels.thresholds import Yardstick  # numba is needed only now

    n_groups = np.array(list(map(len, parts)))
    trimmed = np.ascontiguousarray(beliefs[:, :, :n_beliefs])
    return Yardstick(kinds, float(settings.c), places, n_groups, np.array(n_compared), masses, trimmed, belief_of)


def first_minimum(values: Floats) -> int:
    """Position of the first value that no other beats by more than rounding; NaN is beaten by all others.

    An objective is NaN where a rate of the notion is defined for no group at all.
    """
    values = np.where(np.isnan(values), np.inf, values)
    return int(np.flatnonzero(values <= values.min() + SAME_OBJECTIVE)[0])


def undominated(first: Floats, second: Floats, third: Floats | None = None) -> Positions:
    """Positions of the points that no other is as good as in both and better in one, by the first; of equals one.

    That is the one with the lowest ``third``, or else the first of them. A point whose measure is not defined (NaN) is
    none.
    """
    third = np.zeros(len(first)) if third is None else third
    measures = (np.array(measure, dtype=np.float64) for measure in (first, second, third))  # a notion may give any kind
    places = np.empty(len(first), dtype=np.intp)
    from .._engine.kernels.thresholds import list_front

    return places[: list_front(*measures, places)]


@dataclass(frozen=True)
class SelectionData:
    """Rows of a known class and group, and their margin after each round.

    Nothing changes them, so a copy of a model shares them. A stored model shall hold no one's data: they are pickled as
    None, and to whatever else asks for their state (skops does) they are no rows.
    """

    cell: NDArray[Any]  # class * n_groups + group
    weight: Floats  # empty for equal weights
    n_groups: int
    margins: Callable[[], Iterator[Floats]]
    groups: NDArray[Any] | None = None  # where they are not the model's

    def __copy__(self) -> SelectionData:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SelectionData:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "cell": np.empty(0, dtype=np.intp),
            "weight": np.empty(0),
            "n_groups": 0,
            "margins": None,
            "groups": None,
        }

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def totals(self) -> Floats:
        """Weight per ``[group, class]``."""
        weight = self.weight if len(self.weight) else None
        sums = np.bincount(self.cell, weights=weight, minlength=2 * self.n_groups)
        return sums.astype(np.float64).reshape(2, self.n_groups).T

    def counts(self, positive: NDArray[np.bool_]) -> Floats:
        """``counts[group, y_true, y_pred]`` of predictions."""
        weight = self.weight if len(self.weight) else None
        sums = np.bincount(2 * self.cell.astype(np.intp) + positive, weights=weight, minlength=4 * self.n_groups)
        return sums.astype(np.float64).reshape(2, self.n_groups, 2).transpose(1, 0, 2)


@dataclass(frozen=True)
class Candidates:
    """Thresholds worth trying, ascending, and the margins in order: entries of one cell each, rows or many of them.

    What it holds may be there only until the next round is looked at.
    """

    thresholds: Floats
    n_below: Integers  # how many of the entries are at or below each
    cells: NDArray[Any]  # of each entry, class * n_groups + group
    mass: Floats  # of each entry, empty for one each
    unit: float  # what a mass of one weighs
    totals: Floats  # weight per [group, class]

    def counts(self, at: Any = slice(None)) -> Floats:
        """``counts[threshold, group, y_true, y_pred]``, of some of the thresholds."""
        from .._engine.kernels.thresholds import count_below

        n_below = self.n_below[at]
        order = np.argsort(n_below, kind="stable")
        sums = np.empty((len(n_below), self.totals.size))
        count_below(self.cells, self.mass, n_below[order], sums)
        weights = np.empty(sums.shape)
        weights[order] = sums * self.unit
        return to_counts(weights.reshape(len(weights), 2, len(self.totals)).swapaxes(-1, -2), self.totals)

    @cached_property
    def negatives(self) -> Floats:
        """The weight at or below each threshold, ``[threshold, group, class]``."""
        return np.ascontiguousarray(self.counts()[..., 0])

    def measures(self, settings: Settings, unit: float) -> Measures:
        """What each would give: in one pass over the rows for the rates of our own notions."""
        yardstick = yardstick_of(self.totals, self.unit, settings, unit)
        if yardstick is None:  # so many at a time that their counts fit into memory
            n, step = len(self.thresholds), max(MAX_COUNTS // (2 * self.totals.size), 1)
            parts = (self.counts(slice(first, first + step)) for first in range(0, n, step))
            return joined([measure(part, settings, unit) for part in parts])
        from .._engine.kernels.thresholds import measure_thresholds

        numbers = np.empty((4, len(self.thresholds)))
        measure_thresholds(self.cells, self.mass, self.n_below, yardstick, numbers)
        return Measures(*numbers)

    def measured(self, settings: Settings, unit: float) -> Measured:
        """All of them with what each would give, and which may be chosen."""
        measures = self.measures(settings, unit)
        front = undominated(measures.ber, measures.cost(settings), np.abs(self.thresholds))
        return Measured(self, measures, first_minimum(measures.ber), front, self.counts(front))


class Measured(NamedTuple):
    """Candidates, and what each of them would give."""

    candidates: Candidates
    measures: Measures
    lowest: int  # the one with the lowest balanced error
    front: Positions  # those that no other beats in balanced error and in what the choice minimises
    counts: Floats  # of these, [option, group, y_true, y_pred]


def joined(parts: list[Measures]) -> Measures:
    """The measures of some options and of others."""
    return Measures(*map(np.concatenate, zip(*parts, strict=True)))


def candidates(margin: Floats, cell: NDArray[Any], weight: Floats, totals: Floats, ends: bool = False) -> Candidates:
    """0 and the midpoints between neighbouring distinct margins (0 stands for the midpoint of the two around it).

    ``cell`` is class * n_groups + group, ``weight`` empty for equal weights. ``ends`` adds a threshold below and one
    above all margins.
    """
    order = np.argsort(margin, kind="stable")
    margin = margin[order]
    thresholds, n_below = np.empty(len(margin) + 2), np.empty(len(margin) + 2, dtype=np.int64)
    from .._engine.kernels.thresholds import list_thresholds

    n = list_thresholds(margin, margin, ends, thresholds, n_below)
    mass = weight[order] if len(weight) else np.empty(0)
    return Candidates(thresholds[:n], n_below[:n], cell[order], mass, 1.0, totals)


def to_counts(negatives: Floats, totals: Floats) -> Floats:
    """``counts[…, group, y_true, y_pred]`` from the weight of what is predicted negative, and of all."""
    return np.stack([negatives, np.maximum(totals - negatives, 0.0)], axis=-1)


class Counting:
    """Looks at all thresholds of rounds, on the rows of a ``sample`` that is not boosted yet, and ``rows`` that are.

    ``unit`` is the number of rows that a weight of one stands for.
    """

    def __init__(self, sample: Any, rows: Any, settings: Settings, unit: float) -> None:
        from .._engine.kernels import thresholds

        self._kernels = thresholds
        self._sample, self._rows, self._settings, self._unit = sample, rows, settings, unit
        # Rows are counted before equal ones are merged: whether that was tried may depend on their order, and a model
        # shall not.
        self._is_exact = sample.n_given <= N_BUCKETS
        n_rows, n_cells = len(sample), sample.totals.size
        n_counts = max(n_rows * n_cells, 1)
        self.most = max(min(ROWS_TOGETHER // max(n_rows, 1), COUNTS_TOGETHER // n_counts, MAX_TOGETHER), 1)
        self._n_entries = n_rows if self._is_exact else min(n_rows, (N_BUCKETS + 1) * n_cells)
        # A notion with rates of its own is measured elsewhere, and nothing but the balanced error here.
        sticks = [
            yardstick_of(sample.totals, sample.masses.unit, replace(settings, notion=notion), unit)
            for notion in (settings.notion, NoNotion())
        ]
        self._is_measured = sticks[0] is not None
        self._measuring = (sticks[0] or sticks[1]), highest_violation(settings), ABOVE_LIMIT
        self._room: Any = None

    def look(self, rounds: Sequence[Any]) -> list[Measured]:
        """Of each round 0 and the midpoints between neighbouring distinct margins, or between buckets.

        Rounds come with the leaves of the rows, or one by one after the margins have been moved. What is found is there
        until the next look.
        """
        if not rounds:
            return []
        one_by_one, sample, measured = rounds[0].leaves is None, self._sample, list[Measured]()
        if self._room is None:
            self._mass = sample.masses.values.astype(np.float64)
            if not one_by_one:
                self._margin, self._cell = np.zeros(len(sample)), self._rows.cell()
            self._make_room(1 if one_by_one else self.most, one_by_one or not self._is_exact or len(self._mass) > 0)
        looked, *sorting = self._room
        if one_by_one:
            self._look_at_margins(*self._room)
        else:
            leaves = rounds[0].leaves.base if len(rounds) > 1 else rounds[0].leaves[None]
            steps = np.array([record.steps for record in rounds])
            given = leaves, steps, self._margin, self._cell, self._mass
            self._kernels.measure_rounds(len(rounds), *given, *sorting, ALPHA_GRID, *self._measuring, looked)
        for j in range(len(rounds)):
            n, n_entries, n_front = int(looked.n_thresholds[j]), int(looked.n_entries[j]), int(looked.n_fronts[j])
            entries = looked.cells[j, :n_entries], looked.mass[j, :n_entries]
            thresholds, n_below = looked.thresholds[j, :n], looked.n_below[j, :n]
            found = Candidates(thresholds, n_below, *entries, sample.masses.unit, sample.totals)
            if self._is_measured:
                front, measures = looked.fronts[j, :n_front], Measures(*looked.measures[j, :, :n])
                measured.append(Measured(found, measures, int(looked.lowest[j]), front, found.counts(front)))
            else:
                measured.append(found.measured(self._settings, self._unit))
        return measured

    def _make_room(self, n_rounds: int, has_mass: bool) -> None:
        """Where rounds are looked at, and rows sorted or counted."""
        n_cells, n_buckets = self._sample.totals.size, 1 << (2 * len(self._sample)).bit_length()
        entries, per_round, options = (n_rounds, self._n_entries), (np.int64, n_rounds), (n_rounds, self._n_entries + 2)
        looked = self._kernels.Looked(
            *room(
                (np.float64, *entries),
                (np.float64, *entries),
                (np.min_scalar_type(n_cells), *entries),
                (np.float64, n_rounds, self._n_entries if has_mass else 0),
                per_round,
                (np.float64, *options),
                (np.int64, *options),
                per_round,
                (np.float64, n_rounds, 4, self._n_entries + 2),
                (np.intp, *options),
                per_round,
                per_round,
            )
        )
        if self._is_exact:  # a row has no borders but its margin
            starts = np.empty(min(max(n_buckets, 1 << 8), N_BUCKETS) + 1, dtype=np.int32)
            self._room = looked._replace(above=looked.below), starts, None
        else:
            self._room = looked, None, np.zeros((N_BUCKETS + 1, n_cells), dtype=np.int64)

    def _look_at_margins(self, looked: Any, starts: Any, _: Any) -> None:
        kernels = self._kernels
        entries = looked.below[0], looked.above[0], looked.cells[0], looked.mass[0]
        if self._is_exact:
            margin, cell, mass = self._rows.list_margins()
            n = len(margin)
            mass = mass.astype(np.float64) if len(mass) else np.ones(n)
            kernels.sort_rows(margin, cell.astype(looked.cells.dtype), mass, starts, entries[0], *entries[2:])
        else:
            shift, lowest = kernels.buckets_between(*self._rows.margin_range(), ALPHA_GRID, N_BUCKETS)
            counts = self._rows.count_margins(ALPHA_GRID, shift, lowest, N_BUCKETS + 1)
            n = kernels.list_buckets(counts, ALPHA_GRID, shift, lowest, *entries)
        looked.n_entries[0] = n
        kernels.measure_entries(0, n, *self._measuring, looked)
