"""All thresholds of a round at once: margins in order, and what each threshold would give.

Margins are given as *entries* in ascending order, each of one cell and some mass. An entry is a row, of which the
margin is known; or, if there are very many rows, all rows of a cell in a bucket of margins, between its borders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling import Array, compiled, compiled_inner
from .fronts import first_lowest, list_front

# The rates that thresholds are measured by here.
SELECTION, FALSE_NEGATIVE, FALSE_POSITIVE = 0, 1, 2
CHUNK_SIZE = 1 << 10  # counts of so many thresholds and cells stay in the cache
MANY_GROUPS = 64


class Yardstick(NamedTuple):
    """What thresholds are measured by: rates of groups that stay the same."""

    totals: Array  # mass per cell
    kinds: Array  # of rates
    beliefs: Array  # [kind, place]: how far rates are believed, each once
    belief_of: Array  # [kind, group]: the place of its own
    c: float


class Looked(NamedTuple):
    """Entries, thresholds and what these give, by round."""

    below: Array  # [round, entry]: the border below it, or its margin
    above: Array
    cells: Array
    mass: Array  # empty for one each
    n_entries: Array
    thresholds: Array  # [round, threshold]
    n_below: Array  # entries at or below each
    n_thresholds: Array
    measures: Array  # [round, measure, threshold]: balanced error, violation, what it is judged by, objective
    fronts: Array  # [round, …]: thresholds that no other beats in two measures
    n_fronts: Array
    lowest: Array  # [round]: the one with the lowest balanced error

    @classmethod
    def room(cls, n_rounds: int, n_entries: int, n_cells: int, has_mass: bool, has_borders: bool) -> Looked:
        """Arrays to be filled."""
        entries, thresholds = (n_rounds, n_entries), (n_rounds, n_entries + 2)
        below = np.empty(entries)
        n_thresholds, n_fronts, lowest, n_there = np.zeros((4, n_rounds), dtype=np.int64)
        return cls(
            below,
            np.empty(entries) if has_borders else below,
            np.empty(entries, dtype=np.min_scalar_type(n_cells)),
            np.empty(entries if has_mass else (n_rounds, 0)),
            n_there,
            np.empty(thresholds),
            np.empty(thresholds, dtype=np.int64),
            n_thresholds,
            np.empty((n_rounds, 4, n_entries + 2)),
            np.empty(thresholds, dtype=np.intp),
            n_fronts,
            lowest,
        )


@compiled
def sort_rows(
    margin: Array, cell: Array, mass: Array, starts: Array, below: Array, cells: Array, masses: Array
) -> None:
    """Rows as entries; an empty ``mass`` means one each.

    They are dealt out to the buckets between ``starts`` first, which are in order, so that few have to be moved after
    that.
    """
    n, n_buckets, weighted = margin.shape[0], starts.shape[0] - 1, mass.shape[0] > 0
    low, high = np.inf, -np.inf
    for i in range(n):
        low = margin[i] if margin[i] < low else low
        high = margin[i] if margin[i] > high else high
    per_step = (n_buckets - 1) / (high - low) if high > low else 0.0
    starts[:] = 0
    for i in range(n):
        starts[int((margin[i] - low) * per_step) + 1] += 1
    for b in range(n_buckets):
        starts[b + 1] += starts[b]
    for i in range(n):
        b = int((margin[i] - low) * per_step)
        k = starts[b]
        starts[b] = k + 1
        below[k], cells[k] = margin[i], cell[i]
        if weighted:
            masses[k] = mass[i]
    for k in range(1, n):
        value, of, weight = below[k], cells[k], masses[k] if weighted else 1.0
        at = k
        while at > 0 and below[at - 1] > value:
            below[at], cells[at] = below[at - 1], cells[at - 1]
            if weighted:
                masses[at] = masses[at - 1]
            at -= 1
        if at < k:
            below[at], cells[at] = value, of
            if weighted:
                masses[at] = weight


@compiled
def count_margins(margin: Array, grid: float, shift: int, lowest: int, cell: Array, mass: Array, counts: Array) -> None:
    """``counts[bucket, cell]`` += mass, the buckets being 2^shift steps of the grid wide; an empty ``mass``: one each.

    A margin on the border of two buckets belongs to the lower one, as it is not above the threshold there.
    """
    weighted = mass.shape[0] > 0
    for i in range(margin.shape[0]):
        bucket = ((np.int64(np.rint(margin[i] / grid)) - 1) >> shift) - lowest
        counts[bucket, cell[i]] += mass[i] if weighted else 1


@compiled
def list_buckets(
    counts: Array, grid: float, shift: int, lowest: int, below: Array, above: Array, cells: Array, masses: Array
) -> int:
    """What was counted as entries, and how many; the counts are 0 afterwards."""
    n = 0
    for bucket in range(counts.shape[0]):
        for cell in range(counts.shape[1]):
            if counts[bucket, cell] > 0:
                below[n] = grid * float((bucket + lowest) << shift)
                above[n] = grid * float((bucket + lowest + 1) << shift)
                cells[n], masses[n] = cell, counts[bucket, cell]
                counts[bucket, cell] = 0
                n += 1
    return n


@compiled
def find_buckets(margin: Array, grid: float, n_buckets: int) -> tuple[int, int]:
    """How wide buckets of margins are, as a power of two of steps of the grid, and the number of the lowest."""
    low, high = np.inf, -np.inf
    for i in range(margin.shape[0]):
        low = margin[i] if margin[i] < low else low
        high = margin[i] if margin[i] > high else high
    found: tuple[int, int] = buckets_between(low, high, grid, n_buckets)
    return found


@compiled
def buckets_between(low: float, high: float, grid: float, n_buckets: int) -> tuple[int, int]:
    """The same for the lowest and the highest margin: there are at most one more than so many buckets."""
    lowest, highest = np.int64(np.rint(low / grid)) - 1, np.int64(np.rint(high / grid)) - 1
    shift = 0
    while (highest - lowest) >> shift >= n_buckets:
        shift += 1
    return shift, int(lowest >> shift)


@compiled
def list_thresholds(below: Array, above: Array, ends: bool, thresholds: Array, n_below: Array) -> int:
    """0 and the midpoints between sorted margins; how many of the rows are at or below each; and how many there are.

    The margin of row k is above ``below[k]`` and at most ``above[k]``, or known if these are the same number. ``ends``
    adds a threshold below and one above all rows.
    """
    n_rows = below.shape[0]
    n = 0
    all_positive = n_rows == 0 or below[0] > 0.0 or (below[0] == 0.0 and above[0] > 0.0)
    if ends or all_positive:
        thresholds[n] = 0.0 if all_positive else below[0] - 1.0
        n_below[n] = 0
        n += 1
    for k in range(n_rows - 1):
        # Each is written down, but the place moves on only where the margins differ: no branch to mispredict.
        around_zero = (above[k] <= 0.0) & (below[k + 1] >= 0.0) & (above[k + 1] > 0.0)
        thresholds[n] = 0.0 if around_zero else 0.5 * (above[k] + below[k + 1])
        n_below[n] = k + 1
        n += below[k + 1] > below[k]
    if n_rows > 0 and (ends or above[n_rows - 1] <= 0.0):
        thresholds[n] = 0.0 if above[n_rows - 1] <= 0.0 else above[n_rows - 1] + 1.0
        n_below[n] = n_rows
        n += 1
    return n


@compiled
def count_below(cells: Array, mass: Array, n_below: Array, negatives: Array) -> None:
    """``negatives[t, cell]`` = mass among the first ``n_below[t]`` entries, which ascend; no ``mass``: one each."""
    weighted = mass.shape[0] > 0
    sums = np.zeros(negatives.shape[1])
    k = 0
    for t in range(n_below.shape[0]):
        while k < n_below[t]:
            sums[cells[k]] += mass[k] if weighted else 1.0
            k += 1
        for c in range(sums.shape[0]):
            negatives[t, c] = sums[c]


@compiled
def measure_thresholds(cells: Array, mass: Array, n_below: Array, yardstick: Yardstick, measures: Array) -> None:
    """Balanced error, violation, what it is judged by and objective, Eq. (16), at every threshold: ``measures[:, t]``.

    The violation is the sum of the spreads of some kinds of rates. In that which is judged and counts in the objective,
    the rate of a group is drawn towards that of everyone, unless it is believed whole. An empty ``mass``: one each.

    Some thresholds are measured at a time, so that each step is a loop over neighbouring numbers. Of many groups few
    have entries between these thresholds; of the others, which keep their rates there, only the lowest and the highest
    among those that are believed alike can be the lowest and the highest of all.
    """
    totals, kinds, beliefs, belief_of, c = yardstick
    weighted = mass.shape[0] > 0
    n_kinds, n_thresholds, n_groups = kinds.shape[0], n_below.shape[0], totals.shape[0] // 2
    all_negative, all_positive = 0.0, 0.0
    for g in range(n_groups):
        all_negative += totals[g]
        all_positive += totals[n_groups + g]
    rates = np.zeros((n_kinds, n_groups + 1, 3))
    list_rates(totals, kinds, all_negative, all_positive, rates)
    is_drawn = False
    for kind in range(n_kinds):
        for k in range(beliefs.shape[1]):
            is_drawn = is_drawn or beliefs[kind, k] != 1.0
    is_many = n_groups > MANY_GROUPS
    chunk = max(min(MANY_GROUPS if is_many else CHUNK_SIZE // (2 * n_groups), n_thresholds), 1)
    below, sums = np.empty((2, n_groups, chunk)), np.zeros((2, n_groups))
    moving, is_moving = np.arange(n_groups), np.ones(n_groups, dtype=np.bool_)  # groups with entries here
    resting = np.empty((2, beliefs.shape[1]))  # lowest and highest rate of the others, by belief
    rejected, missed, low, high = np.empty((4, chunk))
    ber, violation, judged, objective = measures[0], measures[1], measures[2], measures[3]
    k = 0
    for start in range(0, n_thresholds, chunk):
        n, n_moving = min(chunk, n_thresholds - start), n_groups
        if is_many:
            n_moving = 0
            is_moving[:] = False
            for i in range(k, n_below[start + n - 1]):
                g = cells[i] % n_groups
                if not is_moving[g]:
                    is_moving[g], moving[n_moving] = True, g
                    n_moving += 1
        still_rejected, still_missed = 0.0, 0.0
        for g in range(n_groups):
            if not is_moving[g]:
                still_rejected += sums[0, g]
                still_missed += sums[1, g]
        for t in range(n):
            while k < n_below[start + t]:
                sums[cells[k] // n_groups, cells[k] % n_groups] += mass[k] if weighted else 1.0
                k += 1
            rejected[t], missed[t] = still_rejected, still_missed
            for m in range(n_moving):
                below[0, m, t], below[1, m, t] = sums[0, moving[m]], sums[1, moving[m]]
        for m in range(n_moving):
            for t in range(n):
                rejected[t] += below[0, m, t]
                missed[t] += below[1, m, t]
        for t in range(n):
            alarms = all_negative - rejected[t]
            if all_negative == 0.0:
                ber[start + t] = missed[t] / all_positive
            elif all_positive == 0.0:
                ber[start + t] = alarms / all_negative
            else:
                ber[start + t] = 0.5 * (missed[t] / all_positive + alarms / all_negative)
            violation[start + t], judged[start + t] = 0.0, 0.0
        for kind in range(n_kinds):
            of_all = rates[kind, n_groups]
            if is_many:
                resting[0], resting[1] = np.inf, -np.inf
                for g in range(n_groups):
                    if not is_moving[g]:
                        rate = rates[kind, g, 0] + rates[kind, g, 1] * sums[0, g] + rates[kind, g, 2] * sums[1, g]
                        b = belief_of[kind, g]
                        resting[0, b] = rate if rate < resting[0, b] else resting[0, b]
                        resting[1, b] = rate if rate > resting[1, b] else resting[1, b]
            for drawn in range(2 if is_drawn else 1):
                low[:], high[:] = np.inf, -np.inf
                if is_many:
                    for b in range(beliefs.shape[1]):
                        if resting[1, b] >= resting[0, b]:
                            for t in range(n):
                                lower, higher = resting[0, b], resting[1, b]
                                if drawn:
                                    common = of_all[0] + of_all[1] * rejected[t] + of_all[2] * missed[t]
                                    lower = common + beliefs[kind, b] * (lower - common)
                                    higher = common + beliefs[kind, b] * (higher - common)
                                low[t] = lower if lower < low[t] else low[t]
                                high[t] = higher if higher > high[t] else high[t]
                for m in range(n_moving):
                    of, trust = rates[kind, moving[m]], beliefs[kind, belief_of[kind, moving[m]]]
                    for t in range(n):
                        rate = of[0] + of[1] * below[0, m, t] + of[2] * below[1, m, t]
                        if drawn:
                            common = of_all[0] + of_all[1] * rejected[t] + of_all[2] * missed[t]
                            rate = common + trust * (rate - common)
                        low[t] = rate if rate < low[t] else low[t]
                        high[t] = rate if rate > high[t] else high[t]
                target = judged if drawn else violation
                for t in range(n):
                    target[start + t] += high[t] - low[t] if high[t] >= low[t] else np.nan
        for t in range(n):
            if not is_drawn:
                judged[start + t] = violation[start + t]
            wrong = (1.0 - c) * (missed[t] + (all_negative - rejected[t])) / (all_negative + all_positive)
            objective[start + t] = c * ber[start + t] + wrong + judged[start + t]


@compiled_inner
def list_rates(totals: Array, kinds: Array, all_negative: float, all_positive: float, rates: Array) -> None:
    """Every rate is linear in what is below a threshold: constant + of_negatives · below + of_positives · below.

    That of a group which has none is NaN, and NaN is never compared. The last group is everyone.
    """
    n_groups = rates.shape[1] - 1
    for kind in range(kinds.shape[0]):
        n_known = 0
        for g in range(n_groups + 1):
            negatives, positives = (totals[g], totals[n_groups + g]) if g < n_groups else (all_negative, all_positive)
            rate = rates[kind, g]
            if kinds[kind] == FALSE_NEGATIVE:
                rate[2] = 1.0 / positives if positives > 0.0 else np.nan
            elif kinds[kind] == FALSE_POSITIVE:
                rate[0], rate[1] = 1.0, -1.0 / negatives if negatives > 0.0 else np.nan
            else:
                share = 1.0 / (negatives + positives) if negatives + positives > 0.0 else np.nan
                rate[0], rate[1], rate[2] = 1.0, -share, -share
            if g < n_groups:
                n_known += not np.isnan(rate[0] + rate[1] + rate[2])
        if n_known < min(2, n_groups):  # nothing to compare, which is not the same as no difference
            for g in range(n_groups + 1):
                rates[kind, g, 0] = np.nan


@compiled
def measure_rounds(
    n_rounds: int,
    leaves: Array,
    steps: Array,
    margin: Array,
    cell: Array,
    mass: Array,
    starts: Array,
    counts: Array,
    grid: float,
    yardstick: Yardstick,
    limit: float,
    above_limit: float,
    looked: Looked,
) -> None:
    """Some rounds after each other: margins in order, all thresholds, and what each would give.

    Round j adds ``steps[j, leaves[j, row]]`` to the margins. The rows are entries if there are ``starts`` to sort them
    with; otherwise margins are counted in the buckets of ``counts``. Thresholds are in the front if no other beats them
    in balanced error and in cost, which is the objective, or ``above_limit`` and the violation if that is above
    ``limit``.
    """
    for j in range(n_rounds):
        for i in range(margin.shape[0]):
            margin[i] += steps[j, leaves[j, i]]
        below, above, cells, masses = looked.below[j], looked.above[j], looked.cells[j], looked.mass[j]
        n = margin.shape[0]
        if starts.shape[0] > 0:
            sort_rows(margin, cell, mass, starts, below, cells, masses)
        else:
            shift, lowest = find_buckets(margin, grid, counts.shape[0] - 1)
            count_margins(margin, grid, shift, lowest, cell, mass, counts)
            n = list_buckets(counts, grid, shift, lowest, below, above, cells, masses)
        looked.n_entries[j] = n
        measure_entries(j, n, yardstick, limit, above_limit, looked)


@compiled
def measure_entries(
    j: int, n_entries: int, yardstick: Yardstick, limit: float, above_limit: float, looked: Looked
) -> None:
    """The thresholds between the entries of round j, and what each would give."""
    below, above, at = looked.below[j, :n_entries], looked.above[j, :n_entries], looked.thresholds[j]
    n = list_thresholds(below, above, False, at, looked.n_below[j])
    looked.n_thresholds[j] = n
    measures = looked.measures[j]
    measure_thresholds(looked.cells[j], looked.mass[j], looked.n_below[j, :n], yardstick, measures)
    distance, cost = np.empty((2, n))
    for k in range(n):
        distance[k] = abs(at[k])
        cost[k] = measures[3, k] if measures[1, k] <= limit else above_limit + measures[1, k]
    looked.n_fronts[j] = list_front(measures[0, :n], cost, distance, looked.fronts[j])
    looked.lowest[j] = first_lowest(measures[0, :n])
