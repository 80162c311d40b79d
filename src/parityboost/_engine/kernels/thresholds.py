"""All thresholds of a round at once: margins in order, what each threshold would give, and which no other beats.

Margins are given as *entries* in ascending order, each of one cell and some mass. An entry is a row, of which the
margin is known; or, if there are very many rows, all rows of a cell in a bucket of margins, between its borders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling import Array, compiled, compiled_inside

# The rates that thresholds are measured by here.
SELECTION, FALSE_NEGATIVE, FALSE_POSITIVE = 0, 1, 2
CHUNK_SIZE = 1 << 10  # counts of so many thresholds and cells stay in the cache
MANY_GROUPS = 64
# Points are compared with those in so many bands of one measure before they are sorted.
N_BANDS = 1 << 10
NARROWEST_BAND = 1e-9  # far more than what equal measures may differ by
ROUNDED_TO = 1e12  # parts of one; measures that agree when so rounded are equal
SAME = 1e-12  # values closer than this are equal


class Yardstick(NamedTuple):
    """What thresholds are measured by: rates of groups that stay the same, in one view of the cells or several."""

    kinds: Array  # of rates
    c: float
    places: Array  # [view, cell]: class * n_groups + group there; no cells where these are the only view's own
    n_groups: Array  # [view]: with a last one for whoever is in none, if there are such,
    n_compared: Array  # and without
    totals: Array  # [view, place]: mass
    beliefs: Array  # [view, kind, place]: how far rates are believed, each once
    belief_of: Array  # [view, kind, group]: the place of its own


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


@compiled_inside
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


@compiled_inside
def count_margins(margin: Array, grid: float, shift: int, lowest: int, cell: Array, mass: Array, counts: Array) -> None:
    """``counts[bucket, cell]`` += mass, the buckets being 2^shift steps of the grid wide; an empty ``mass``: one each.

    A margin on the border of two buckets belongs to the lower one, as it is not above the threshold there.
    """
    weighted = mass.shape[0] > 0
    for i in range(margin.shape[0]):
        bucket = ((np.int64(np.rint(margin[i] / grid)) - 1) >> shift) - lowest
        counts[bucket, cell[i]] += mass[i] if weighted else 1


@compiled_inside
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


@compiled_inside
def buckets_between(low: float, high: float, grid: float, n_buckets: int) -> tuple[int, int]:
    """How wide buckets of margins are, as a power of two of steps of the grid, and the number of the lowest.

    There are at most one more than so many buckets between the lowest and the highest margin.
    """
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


@compiled(makes_arrays=True)
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


@compiled(makes_arrays=True)
def measure_thresholds(cells: Array, mass: Array, n_below: Array, yardstick: Yardstick, measures: Array) -> None:
    """Balanced error, violation, what it is judged by and objective, Eq. (16), at every threshold: ``measures[:, t]``.

    Of several views the worst counts. An empty ``mass``: one each.
    """
    if yardstick.places.shape[1] == 0:
        measure_view(cells, mass, n_below, yardstick, np.int64(0), measures)
        return
    of_view, own = np.empty_like(cells), np.empty((4, n_below.shape[0]))
    for view in range(yardstick.places.shape[0]):
        place = yardstick.places[view]
        for k in range(cells.shape[0]):
            of_view[k] = place[cells[k]]
        measure_view(of_view, mass, n_below, yardstick, view, own)
        for measure in range(4):  # the balanced error is the same in all of them
            best, other = measures[measure], own[measure]
            for t in range(n_below.shape[0]):
                if view == 0 or other[t] > best[t] or np.isnan(best[t]):
                    best[t] = other[t]


@compiled(makes_arrays=True)
def measure_view(cells: Array, mass: Array, n_below: Array, yardstick: Yardstick, view: int, measures: Array) -> None:
    """The same in one view, of which ``cells`` are.

    The violation is the sum of the spreads of some kinds of rates. In that which is judged and counts in the objective,
    the rate of a group is drawn towards that of everyone, unless it is believed whole.

    Some thresholds are measured at a time, so that each step is a loop over neighbouring numbers. Of many groups few
    have entries between these thresholds; of the others, which keep their rates there, only the lowest and the highest
    among those that are believed alike can be the lowest and the highest of all.
    """
    n_groups, n_compared = yardstick.n_groups[view], yardstick.n_compared[view]
    totals, kinds, c = yardstick.totals[view], yardstick.kinds, yardstick.c
    beliefs, belief_of = yardstick.beliefs[view], yardstick.belief_of[view]
    weighted = mass.shape[0] > 0
    n_kinds, n_thresholds = kinds.shape[0], n_below.shape[0]
    all_negative, all_positive = 0.0, 0.0
    for g in range(n_groups):
        all_negative += totals[g]
        all_positive += totals[n_groups + g]
    rates = np.zeros((n_kinds, n_groups + 1, 3))
    list_rates(totals, kinds, all_negative, all_positive, n_compared, rates)
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


@compiled_inside
def list_rates(
    totals: Array, kinds: Array, all_negative: float, all_positive: float, n_compared: int, rates: Array
) -> None:
    """Every rate is linear in what is below a threshold: constant + of_negatives · below + of_positives · below.

    That of a group which has none, or which is not compared, is NaN, and NaN is never compared. The last group is
    everyone.
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
            if n_compared <= g < n_groups:
                rate[0] = np.nan
            if g < n_groups:
                n_known += not np.isnan(rate[0] + rate[1] + rate[2])
        if n_known < min(2, n_compared):  # nothing to compare, which is not the same as no difference
            for g in range(n_groups + 1):
                rates[kind, g, 0] = np.nan


@compiled_inside
def comes_before(first: Array, second: Array, third: Array, a: int, b: int) -> bool:
    """Whether point a is before b by the first measure, the second (both rounded), the third, or else its place."""
    of_a, of_b = np.rint(first[a] * ROUNDED_TO), np.rint(first[b] * ROUNDED_TO)
    if of_a == of_b:
        of_a, of_b = np.rint(second[a] * ROUNDED_TO), np.rint(second[b] * ROUNDED_TO)
    if of_a != of_b:
        return bool(of_a < of_b)
    if third[a] != third[b]:
        return bool(third[a] < third[b])
    return a < b


@compiled_inside
def sift(first: Array, second: Array, third: Array, heap: Array, top: int, n: int) -> None:
    """Let what is at the top sink to where no child comes after it."""
    while 2 * top + 1 < n:
        child = 2 * top + 1
        if child + 1 < n and comes_before(first, second, third, heap[child], heap[child + 1]):
            child += 1
        if not comes_before(first, second, third, heap[top], heap[child]):
            return
        heap[top], heap[child] = heap[child], heap[top]
        top = child


@compiled(makes_arrays=True)
def list_front(first: Array, second: Array, third: Array, places: Array) -> int:
    """The undominated points in ``places``, by the first measure; and how many. Of equals the one of the lowest third.

    Measures that agree to twelve decimals are equal. Few points are sorted: left out before is what a point beats that
    is as good in ``second`` and two bands of ``first`` lower, so lower whatever the rounding; and what is not defined
    (NaN).
    """
    low, high = np.inf, -np.inf
    for i in range(first.shape[0]):
        low = first[i] if first[i] < low else low  # comparisons that NaN does not pass
        high = first[i] if first[i] > high else high
    best = np.full(N_BANDS + 2, np.inf)  # of the bands before the last one
    per_band = (N_BANDS - 1) / (high - low) if high - low > N_BANDS * NARROWEST_BAND else 0.0
    for i in range(first.shape[0]):
        if second[i] < np.inf and not np.isnan(first[i]):
            band = int((first[i] - low) * per_band) + 2
            best[band] = min(best[band], second[i])
    for band in range(1, N_BANDS + 2):
        best[band] = min(best[band - 1], best[band])
    n = 0
    for i in range(first.shape[0]):
        if not np.isnan(first[i]):
            places[n] = i
            n += second[i] < best[int((first[i] - low) * per_band)]
    for start in range(n // 2 - 1, -1, -1):  # heapsort
        sift(first, second, third, places, start, n)
    for stop in range(n - 1, 0, -1):
        places[0], places[stop] = places[stop], places[0]
        sift(first, second, third, places, np.int64(0), stop)
    n_kept, lowest = 0, np.inf
    for k in range(n):
        rounded = np.rint(second[places[k]] * ROUNDED_TO)
        if rounded < lowest:
            places[n_kept], lowest = places[k], rounded
            n_kept += 1
    return n_kept


@compiled_inside
def first_lowest(values: Array) -> int:
    """Place of the first value that no other beats by more than rounding."""
    lowest = np.inf
    for k in range(values.shape[0]):
        lowest = values[k] if values[k] < lowest else lowest
    for k in range(values.shape[0]):
        if values[k] <= lowest + SAME:
            return k
    return 0


@compiled
def measure_rounds(
    n_rounds: int,
    leaves: Array,
    steps: Array,
    margin: Array,
    cell: Array,
    mass: Array,
    starts: Array | None,
    counts: Array | None,
    grid: float,
    yardstick: Yardstick,
    limit: float,
    above_limit: float,
    looked: Looked,
) -> None:
    """Some rounds after each other: margins in order, all thresholds, and what each would give.

    Round j adds ``steps[j, leaves[j, row]]`` to the margins. The rows are entries if there are ``starts`` to sort them
    with; otherwise margins are counted in the buckets of ``counts``. numba compiles the one that is asked for.
    """
    for j in range(n_rounds):
        for i in range(margin.shape[0]):
            margin[i] += steps[j, leaves[j, i]]
        below, above, cells, masses = looked.below[j], looked.above[j], looked.cells[j], looked.mass[j]
        n = margin.shape[0]
        if starts is not None:
            sort_rows(margin, cell, mass, starts, below, cells, masses)
        if counts is not None:
            low, high = np.inf, -np.inf
            for i in range(n):
                low, high = min(low, margin[i]), max(high, margin[i])
            shift, lowest = buckets_between(low, high, grid, counts.shape[0] - 1)
            count_margins(margin, grid, shift, lowest, cell, mass, counts)
            n = list_buckets(counts, grid, shift, lowest, below, above, cells, masses)
        looked.n_entries[j] = n
        measure_entries(j, n, yardstick, limit, above_limit, looked)


@compiled(makes_arrays=True)
def measure_entries(
    j: int, n_entries: int, yardstick: Yardstick, limit: float, above_limit: float, looked: Looked
) -> None:
    """The thresholds between the entries of round j, and what each would give.

    In the front are those that no other beats in balanced error and in cost, which is the objective, or ``above_limit``
    and the violation if that is above ``limit``.
    """
    below, above, at = looked.below[j, :n_entries], looked.above[j, :n_entries], looked.thresholds[j]
    no_ends = below.shape[0] < 0  # no literal: numba would compile for it too
    n = list_thresholds(below, above, no_ends, at, looked.n_below[j])
    looked.n_thresholds[j] = n
    measures = looked.measures[j]
    measure_thresholds(looked.cells[j], looked.mass[j], looked.n_below[j, :n], yardstick, measures)
    distance, cost = np.empty(n), np.empty(n)
    for k in range(n):
        distance[k] = abs(at[k])
        cost[k] = measures[3, k] if measures[1, k] <= limit else above_limit + measures[1, k]
    looked.n_fronts[j] = list_front(measures[0, :n], cost, distance, looked.fronts[j])
    looked.lowest[j] = first_lowest(measures[0, :n])
