"""All thresholds of a round at once: rows kept in the order of their margins, and what each threshold would give."""

from __future__ import annotations

import numpy as np

from .compiling import Array, compiled

# The rates that thresholds are measured by here.
SELECTION, FALSE_NEGATIVE, FALSE_POSITIVE = 0, 1, 2


@compiled
def merge_leaves(
    rows: Array, margins: Array, column: Array, leaf_of_code: Array, steps: Array, run_rows: Array, run_margins: Array
) -> None:
    """Rows in the order of their margins, after ``steps[leaf]`` of two leaves was added to them.

    All rows of a leaf move by the same step and stay in order, so there are two sorted runs to merge: linear, and
    without a branch that depends on the data. The runs need two places more than twice the number of rows.
    """
    n = rows.shape[0]
    i, j = 0, n + 1
    for k in range(n):
        leaf = leaf_of_code[column[rows[k]]]
        moved = margins[k] + steps[leaf]
        run_rows[i], run_margins[i] = rows[k], moved
        run_rows[j], run_margins[j] = rows[k], moved
        i += 1 - leaf
        j += leaf
    run_margins[i], run_margins[j] = np.inf, np.inf
    i, j = 0, n + 1
    for k in range(n):
        second = run_margins[j] < run_margins[i]
        p = j if second else i
        rows[k], margins[k] = run_rows[p], run_margins[p]
        i += 1 - second
        j += second


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
        if below[k + 1] > below[k]:
            around_zero = above[k] <= 0.0 and below[k + 1] >= 0.0 and (below[k + 1] > 0.0 or above[k + 1] > 0.0)
            thresholds[n] = 0.0 if around_zero else 0.5 * (above[k] + below[k + 1])
            n_below[n] = k + 1
            n += 1
    if n_rows > 0 and (ends or above[n_rows - 1] <= 0.0):
        thresholds[n] = 0.0 if above[n_rows - 1] <= 0.0 else above[n_rows - 1] + 1.0
        n_below[n] = n_rows
        n += 1
    return n


@compiled
def count_below(cell: Array, mass: Array, n_below: Array, negatives: Array) -> None:
    """``negatives[t, cell]`` = mass among the first ``n_below[t]`` rows, which ascend; an empty ``mass``: one each."""
    weighted = mass.shape[0] > 0
    sums = np.zeros_like(negatives[0])
    k = 0
    for t in range(n_below.shape[0]):
        while k < n_below[t]:
            sums[cell[k]] += mass[k] if weighted else 1
            k += 1
        for c in range(sums.shape[0]):
            negatives[t, c] = sums[c]


@compiled
def measure_thresholds(
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
    n_groups = totals.shape[0] // 2
    below, missed = np.zeros(2 * n_groups), np.zeros(2)
    all_of = np.zeros(2)
    for k in range(2 * n_groups):
        all_of[k // n_groups] += totals[k]
    everyone = all_of[0] + all_of[1]
    k = 0
    for t in range(n_below.shape[0]):
        while k < n_below[t]:
            weight = float(mass[k]) if weighted else 1.0
            below[cell[k]] += weight
            missed[1 if cell[k] >= n_groups else 0] += weight
            k += 1
        false_negatives, false_positives = missed[1], all_of[0] - missed[0]
        if all_of[1] == 0.0:
            ber[t] = false_positives / all_of[0]
        elif all_of[0] == 0.0:
            ber[t] = false_negatives / all_of[1]
        else:
            ber[t] = 0.5 * (false_negatives / all_of[1] + false_positives / all_of[0])
        as_it_is, as_believed = 0.0, 0.0
        for kind in range(kinds.shape[0]):
            lowest, highest, low, high = np.inf, -np.inf, np.inf, -np.inf
            if kinds[kind] == SELECTION:
                common = (everyone - missed[0] - missed[1]) / everyone
            elif kinds[kind] == FALSE_NEGATIVE:
                common = false_negatives / all_of[1]
            else:
                common = false_positives / all_of[0]
            for g in range(n_groups):
                negatives, positives = totals[g], totals[n_groups + g]
                if kinds[kind] == SELECTION:
                    part, of = negatives + positives - below[g] - below[n_groups + g], negatives + positives
                elif kinds[kind] == FALSE_NEGATIVE:
                    part, of = below[n_groups + g], positives
                else:
                    part, of = negatives - below[g], negatives
                if of > 0.0:
                    rate = part / of
                    lowest, highest = min(lowest, rate), max(highest, rate)
                    drawn = common + belief[kind, g] * (rate - common)
                    low, high = min(low, drawn), max(high, drawn)
            as_it_is += highest - lowest if highest >= lowest else np.nan
            as_believed += high - low if high >= low else np.nan
        violation[t], judged[t] = as_it_is, as_believed
        objective[t] = c * ber[t] + (1.0 - c) * (false_negatives + false_positives) / everyone + as_believed
