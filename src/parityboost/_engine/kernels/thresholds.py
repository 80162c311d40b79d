"""All thresholds of a round at once: rows kept in the order of their margins, and what each threshold would give."""

from __future__ import annotations

import numpy as np

from .compiling import Array, compiled, compiled_inner
from .fronts import first_lowest, list_front

# The rates that thresholds are measured by here.
SELECTION, FALSE_NEGATIVE, FALSE_POSITIVE = 0, 1, 2


@compiled
def merge_leaves(
    rows: Array,
    margins: Array,
    column: Array,
    leaf_of_code: Array,
    steps: Array,
    n_leaves: int,
    run_rows: Array,
    run_margins: Array,
) -> None:
    """Rows in the order of their margins, after ``steps[leaf]`` of two or four leaves was added to them.

    All rows of a leaf move by the same step and stay in order, so there are sorted runs to merge. Each run has a place
    more than there are rows; those of four leaves are merged two by two first, into n + 2 places behind them.
    """
    n = rows.shape[0]
    ends = np.empty(n_leaves, dtype=np.uint32)  # an index without a sign need not be looked at for one
    for leaf in range(n_leaves):
        ends[leaf] = leaf * (n + 1)
    for k in range(n):
        leaf = leaf_of_code[column[rows[k]]]
        end = ends[leaf]
        run_rows[end], run_margins[end] = rows[k], margins[k] + steps[leaf]
        ends[leaf] = end + np.uint32(1)
    for leaf in range(n_leaves):
        run_margins[ends[leaf]] = np.inf
    if n_leaves == 2:
        merge_runs(run_rows, run_margins, np.int64(0), n + 1, rows, margins)
        return
    first, last = 4 * (n + 1), 5 * (n + 1)
    middle = first + int(ends[0]) + int(ends[1]) - n  # where the second half starts, behind the end of the first
    run_margins[middle - 1], run_margins[last] = np.inf, np.inf
    for half in range(2):
        start, stop = (first, middle - 1) if half == 0 else (middle, last)
        left = 2 * half * (n + 1)
        merge_runs(run_rows, run_margins, left, left + n + 1, run_rows[start:stop], run_margins[start:stop])
    merge_runs(run_rows, run_margins, first, middle, rows, margins)


@compiled_inner
def merge_runs(run_rows: Array, run_margins: Array, first: int, second: int, rows: Array, margins: Array) -> None:
    """Two sorted runs, each with infinity behind it, as one: linear, and without a branch that depends on the data.

    Of equals those of the first run are first.
    """
    i, j = np.uint32(first), np.uint32(second)
    for k in range(rows.shape[0]):
        is_second = run_margins[j] < run_margins[i]
        p = j if is_second else i
        rows[k], margins[k] = run_rows[p], run_margins[p]
        i += np.uint32(not is_second)
        j += np.uint32(is_second)


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
def count_below(rows: Array, cell: Array, mass: Array, n_below: Array, negatives: Array) -> None:
    """``negatives[t, cell]`` = mass among the first ``n_below[t]`` rows, which ascend; an empty ``mass``: one each."""
    weighted = mass.shape[0] > 0
    sums = np.zeros(negatives.shape[1], dtype=negatives.dtype)
    k = 0
    for t in range(n_below.shape[0]):
        while k < n_below[t]:
            sums[cell[rows[k]]] += mass[rows[k]] if weighted else 1
            k += 1
        for c in range(sums.shape[0]):
            negatives[t, c] = sums[c]


@compiled_inner
def measure_for_two(
    rows: Array,
    cell: Array,
    mass: Array,
    n_below: Array,
    all_of: Array,
    rates: Array,
    belief: Array,
    is_drawn: bool,
    c: float,
    ber: Array,
    violation: Array,
    judged: Array,
    objective: Array,
) -> None:
    """What :func:`measure_thresholds` does, for two groups, in a third of the time."""
    weighted, n_kinds = mass.shape[0] > 0, rates.shape[0]
    negatives, positives = all_of[0], all_of[1]
    everyone = negatives + positives
    below0, below1, below2, below3 = 0.0, 0.0, 0.0, 0.0
    k = 0
    for t in range(n_below.shape[0]):
        while k < n_below[t]:
            one, of = mass[rows[k]] if weighted else 1.0, cell[rows[k]]
            below0 += one if of == 0 else 0.0
            below1 += one if of == 1 else 0.0
            below2 += one if of == 2 else 0.0
            below3 += one if of == 3 else 0.0
            k += 1
        rejected, missed = below0 + below1, below2 + below3
        alarms = negatives - rejected
        if negatives == 0.0:
            ber[t] = missed / positives
        elif positives == 0.0:
            ber[t] = alarms / negatives
        else:
            ber[t] = 0.5 * (missed / positives + alarms / negatives)
        total, drawn_total = 0.0, 0.0
        for kind in range(n_kinds):
            first = rates[kind, 0, 0] + rates[kind, 0, 1] * below0 + rates[kind, 0, 2] * below2
            second = rates[kind, 1, 0] + rates[kind, 1, 1] * below1 + rates[kind, 1, 2] * below3
            total += abs(first - second)
            common = rates[kind, 2, 0] + rates[kind, 2, 1] * rejected + rates[kind, 2, 2] * missed
            first, second = common + belief[kind, 0] * (first - common), common + belief[kind, 1] * (second - common)
            drawn_total += abs(first - second)
        violation[t] = total
        judged[t] = drawn_total if is_drawn else total
        objective[t] = c * ber[t] + (1.0 - c) * (missed + alarms) / everyone + judged[t]


@compiled
def measure_thresholds(
    rows: Array,
    cell: Array,
    mass: Array,
    n_below: Array,
    totals: Array,
    kinds: Array,
    belief: Array,
    c: float,
    ber: Array,
    violation: Array,
    judged: Array,
    objective: Array,
) -> None:
    """Balanced error, violation and objective, Eq. (16), at every threshold; ``totals[cell]`` is all there is.

    The violation is the sum of the spreads of some ``kinds`` of rates. In that which is ``judged`` and counts in the
    objective, the rate of a group is drawn towards that of everyone, unless its ``belief[kind, group]`` is 1. An empty
    ``mass`` means one each.
    """
    weighted = mass.shape[0] > 0
    n_groups, n_kinds = totals.shape[0] // 2, kinds.shape[0]
    all_of = np.zeros(2)  # per class
    for k in range(2 * n_groups):
        all_of[k // n_groups] += totals[k]
    everyone = all_of[0] + all_of[1]
    # Every rate is linear in what is below the threshold: constant + of_negatives · below + of_positives · below. That
    # of a group which has none is NaN, and NaN is never compared. The last group is everyone.
    rates = np.zeros((n_kinds, n_groups + 1, 3))
    for kind in range(n_kinds):
        for g in range(n_groups + 1):
            negatives, positives = (totals[g], totals[n_groups + g]) if g < n_groups else (all_of[0], all_of[1])
            if kinds[kind] == FALSE_NEGATIVE:
                rates[kind, g, 2] = 1.0 / positives if positives > 0.0 else np.nan
            elif kinds[kind] == FALSE_POSITIVE:
                rates[kind, g, 0], rates[kind, g, 1] = 1.0, -1.0 / negatives if negatives > 0.0 else np.nan
            else:
                share = 1.0 / (negatives + positives) if negatives + positives > 0.0 else np.nan
                rates[kind, g, 0], rates[kind, g, 1], rates[kind, g, 2] = 1.0, -share, -share
        n_known = 0
        for g in range(n_groups):
            n_known += not np.isnan(rates[kind, g].sum())
        if n_known < min(2, n_groups):  # nothing to compare, which is not the same as no difference
            rates[kind] = np.nan
    n_drawn = 0
    for kind in range(n_kinds):
        for g in range(n_groups):
            n_drawn += belief[kind, g] != 1.0
    is_drawn = n_drawn > 0
    if n_groups == 2:
        measure_for_two(
            rows, cell, mass, n_below, all_of, rates, belief, is_drawn, c, ber, violation, judged, objective
        )
        return
    below = np.zeros(2 * n_groups)
    k = 0
    for t in range(n_below.shape[0]):
        while k < n_below[t]:
            below[cell[rows[k]]] += mass[rows[k]] if weighted else 1.0
            k += 1
        rejected, missed = 0.0, 0.0
        for g in range(n_groups):
            rejected += below[g]
            missed += below[n_groups + g]
        alarms = all_of[0] - rejected
        if all_of[0] == 0.0:
            ber[t] = missed / all_of[1]
        elif all_of[1] == 0.0:
            ber[t] = alarms / all_of[0]
        else:
            ber[t] = 0.5 * (missed / all_of[1] + alarms / all_of[0])
        total, drawn_total = 0.0, 0.0
        for kind in range(n_kinds):
            lowest, highest = np.inf, -np.inf
            for g in range(n_groups):
                rate = rates[kind, g, 0] + rates[kind, g, 1] * below[g] + rates[kind, g, 2] * below[n_groups + g]
                lowest = rate if rate < lowest else lowest
                highest = rate if rate > highest else highest
            total += highest - lowest if highest >= lowest else np.nan
            if is_drawn:
                everyones = rates[kind, n_groups]
                common = everyones[0] + everyones[1] * rejected + everyones[2] * missed
                lowest, highest = np.inf, -np.inf
                for g in range(n_groups):
                    rate = rates[kind, g, 0] + rates[kind, g, 1] * below[g] + rates[kind, g, 2] * below[n_groups + g]
                    rate = common + belief[kind, g] * (rate - common)
                    lowest = rate if rate < lowest else lowest
                    highest = rate if rate > highest else highest
                drawn_total += highest - lowest if highest >= lowest else np.nan
        violation[t] = total
        judged[t] = drawn_total if is_drawn else total
        objective[t] = c * ber[t] + (1.0 - c) * (missed + alarms) / everyone + judged[t]


@compiled
def measure_rounds(
    n_rounds: int,
    columns: Array,
    leaf_of_code: Array,
    steps: Array,
    n_leaves: Array,
    rows: Array,
    margins: Array,
    run_rows: Array,
    run_margins: Array,
    cell: Array,
    mass: Array,
    totals: Array,
    kinds: Array,
    belief: Array,
    c: float,
    judged_by: int,
    ranked: Array,
    thresholds: Array,
    n_below: Array,
    n_thresholds: Array,
    measures: Array,
    fronts: Array,
    n_fronts: Array,
    lowest: Array,
) -> None:
    """Some rounds after each other: rows in the order of their margins, all thresholds, and what each would give.

    Round j puts the rows into ``n_leaves[j]`` leaves, two or four; its rows in order are ``ranked[j]``, its thresholds
    the first ``n_thresholds[j]`` of ``thresholds[j]``, with ``measures[:, j]``. Those that no other beats in balanced
    error and in the measure ``judged_by`` are the first ``n_fronts[j]`` of ``fronts[j]``; the one with the lowest
    balanced error is ``lowest[j]``. See the functions above.
    """
    distance = np.empty(thresholds.shape[1])
    for j in range(n_rounds):
        merge_leaves(rows, margins, columns[j], leaf_of_code[j], steps[j], n_leaves[j], run_rows, run_margins)
        for k in range(rows.shape[0]):
            ranked[j, k] = rows[k]
        n = list_thresholds(margins, margins, False, thresholds[j], n_below[j])
        n_thresholds[j] = n
        measure_thresholds(
            rows,
            cell,
            mass,
            n_below[j, :n],
            totals,
            kinds,
            belief,
            c,
            measures[0, j],
            measures[1, j],
            measures[2, j],
            measures[3, j],
        )
        for k in range(n):
            distance[k] = abs(thresholds[j, k])
        n_fronts[j] = list_front(measures[0, j, :n], measures[judged_by, j, :n], distance[:n], fronts[j])
        lowest[j] = first_lowest(measures[0, j, :n])


@compiled
def count_fronts(
    ranked: Array, cell: Array, mass: Array, n_below: Array, fronts: Array, n_fronts: Array, negatives: Array
) -> None:
    """``negatives[t, cell]`` = mass at or below the thresholds in the fronts of rounds, one after another."""
    weighted, n_cells = mass.shape[0] > 0, negatives.shape[1]
    sums = np.zeros(n_cells, dtype=np.int64)
    place_of = np.empty(ranked.shape[1] + 2, dtype=np.int64)  # of the threshold below which so many rows are
    start = 0
    for j in range(n_fronts.shape[0]):
        place_of[:] = -1
        for k in range(n_fronts[j]):
            place_of[n_below[j, fronts[j, k]]] = start + k
        sums[:] = 0
        for i in range(ranked.shape[1] + 1):
            if place_of[i] >= 0:
                for c in range(n_cells):
                    negatives[place_of[i], c] = sums[c]
            if i < ranked.shape[1]:
                row = ranked[j, i]
                sums[cell[row]] += mass[row] if weighted else 1
        start += n_fronts[j]
