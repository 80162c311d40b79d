"""What a round of boosting decides from sums: a tree, α, the costs of the groups, the new weights; and whole rounds.

A tree is the best split of all rows, and below it the best split of either side; a stump is a tree whose sides are not
split. Whoever passes over the rows, trees are decided by :func:`settle_root`, :func:`settle_side` and
:func:`settle_leaves`.

Threads that come back to the interpreter after each pass over few rows wait for each other most of the time. So
:func:`boost_rounds` makes the passes and decisions of some rounds in one call. Where other threads, a card or other
machines pass over the rows, or a notion is written in Python, the same functions decide, one round at a time.

The weights are kept so that every sum of them is a sum of integers. A row weighs m·f: m is its sample weight as an
integer, f the float64 product of the row's own factors, which depends on nothing but that row's history. What is summed
is the integer

    m · max(1, round(f · 2^k)),    each of which weighs  scale · 2^-k

with one k and one scale per class. Integers add up to the same whatever the order: threads, the order of the rows, the
blocks and the merging of equal rows cannot change a bit of the model.

The factor that most rows of a class are multiplied by is put aside as the class's ``scale``, and only the other rows
are changed, relative to it. How common a factor is comes from sample weights, which merging does not change.

k is such that the integers of a class add up to some 50 bits when it is chosen. It is chosen anew before they could
reach 2^62, and when they have become few; a change by d bits changes f · 2^k by a power of two, which is exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._arrays import N_CODES
from ..cpu import (
    ABOVE_THRESHOLD,
    ABOVE_ZERO,
    BY_LEARNER,
    MAX_LEAVES,
    NONE,
    Classes,
    Grown,
    Listed,
    Rows,
    Weights,
    add_to_histograms,
    add_up,
    change_weights,
    class_of,
    list_anew,
    list_side,
    move_margins,
    put_into_leaves,
    shift,
)
from .compiling import Array, compiled, compiled_inside
from .splitting import LEFT, RIGHT, TIE, Found, Search, Weighing, best_splits, choose_split, leaf_score, vote_of
from .thresholds import FALSE_NEGATIVE, FALSE_POSITIVE

REAL, CONFIDENCE, DISCRETE = 0, 1, 2  # how weights are changed
GOES_ON, NO_BETTER_THAN_CHANCE, PERFECT = 0, 1, 2  # how it ended
# A learner with less weighted error than this is perfect: there is nothing left to boost.
PERFECT_ERROR = 1e-10
# No sum ever reaches 2^LIMIT, so none overflows.
LIMIT = 62
ROOM = 2.0 ** (LIMIT - 1)  # rounding, and integers of at least 1, add less than as much again
# The integers of a class add up to about 2^TARGET at first, and have ten bits to grow: a row of average weight among a
# million is then 32 bits long. Sample weights of many bits need more, so that FACTOR_BITS are left for the factors,
# but five bits to grow have to remain.
TARGET, MAX_TARGET = 52, 57
FACTOR_BITS = 24
MEAN_BITS = 36  # of the largest of numbers that are added up exactly; thousands of them still are
# Fewer than 2^-SHRUNK of the target are too few.
SHRUNK = 8
# A sum of weights so large is made smaller before floats are at their end.
LARGE = 2.0**500


class Charges(NamedTuple):
    """What a notion makes groups pay for, by gap."""

    kinds: Array  # the rate, as in ``thresholds``
    high_is_good: Array
    boosts: Array  # [gap, class]: of a group that is behind
    boosts_ahead: Array  # [gap, class]: of a group that is ahead
    epsilon: float
    group_of: Array  # [view, cell]: the groups that are compared, -1 for none; no views if these are the cells
    n_groups: Array  # of each view
    rest_is_unknown: Array  # of each view whether nobody knows the group of cells that are in none
    counts: Array  # room for those of a view, and for what its groups pay
    costs: Array


class Limits(NamedTuple):
    """What the sums of weights keep to: see the constants of these names."""

    room: float
    shrunk: int
    large: float


def start_classes(cell_mass: Array, start: Array, n_to_come: int = 0) -> Classes:
    """When training begins and each row of a cell weighs ``start[cell]`` times its mass, of ``cell_mass`` in all."""
    n_groups = len(start) // 2
    mass = np.array([int(part.sum()) + n_to_come for part in cell_mass.reshape(2, -1)], dtype=np.int64)
    targets = [min(max(TARGET, int(m).bit_length() + FACTOR_BITS), MAX_TARGET) for m in mass]
    cells, bits = cell_mass * start, []
    for y in (0, 1):
        weight = 0.0
        for cell in range(y * n_groups, (y + 1) * n_groups):
            weight += float(cells[cell])
        bits.append(targets[y] - math.frexp(weight)[1])
    powers, numbers = np.array([2.0**-n for n in bits]), np.array([targets, bits], dtype=np.int64)
    renewed = np.ones(2, dtype=np.bool_)
    return Classes(
        np.zeros(2, dtype=np.int64), np.ones(2), powers, powers.copy(), mass, numbers[0], numbers[1], renewed, cells
    )


class How(NamedTuple):
    """How rounds are boosted."""

    update: int
    learning_rate: float
    threshold: float  # on the margin, at which predictions are counted
    is_cumulative: bool  # whether the partial ensemble is judged, or the weak learner alone
    by_others: bool  # whether by the rows that θ is chosen on
    keeps_leaves: bool  # whether the leaves of these rows are kept, or their predictions counted
    weighing: Weighing  # if all weight was one


class Below(NamedTuple):
    """What the sides of a tree's first split are split with; stumps have none."""

    listed: Listed  # room for the rows of one side,
    is_there: Array  # and for which joint codes are there
    histograms: Array  # of one side
    sets: Array  # [set, feature]: below a split of a feature only those are asked about that share a set


class Plan(NamedTuple):
    """How weights are changed, and what it takes to plan it."""

    factors: Array  # [cell, leaf]
    places: Array  # see ``most_common``
    masses: Array


class Scratch(NamedTuple):
    """What is made in a round and needed in it."""

    positives: Array  # [block, kind], of training rows and of others
    other_positives: Array
    steps: Array  # by leaf
    step_of_code: Array
    rates: Array  # by group
    costs: Array  # [group, class]
    plan: Plan
    four: Array  # see FOUR_LEAVES


class Records(NamedTuple):
    """What is kept of each round."""

    features: Array  # [round, split], as those below
    splits: Array
    missing_left: Array
    gains: Array
    votes: Array  # [round, leaf], from right to left
    shares: Array
    errors: Array  # by round
    alphas: Array
    growths: Array  # the new sum of weights by the old one
    costs: Array  # [round, group, class]
    cost_counts: Array  # [round, group, y_true, y_pred]: what they were taken from
    counts: Array  # at the threshold, of the training rows
    other_counts: Array  # the same of the rows that θ is chosen on, if they are others,
    leaves: Array  # or their leaves, [round, row]
    categories: Array  # [round, split, code]: which of them go left


@compiled_inside
def gain_of(score: float, negative: int, positive: int, weighing: Weighing) -> float:
    """How much better than no split of rows with such sums a score is, relative to all weight."""
    criterion, units, total, prior = weighing.criterion, weighing.units, weighing.total, weighing.prior
    unsplit: float = leaf_score(criterion, negative * units[0] + prior, positive * units[1] + prior)
    return max(score - unsplit - prior, 0.0) / total


@compiled_inside
def list_partners(sets: Array, feature: int, allowed: Array) -> None:
    """Which features may be asked about below a split of one: it, and those that are in a set with it."""
    allowed[:] = False
    allowed[feature] = True
    for k in range(sets.shape[0]):
        if sets[k, feature]:
            for f in range(allowed.shape[0]):
                allowed[f] |= sets[k, f]


@compiled_inside
def leave_unsplit(grown: Grown, side: int) -> None:
    """All of a side is on its left."""
    grown.features[1 + side] = NONE
    for y in range(2):
        grown.leaf_sums[side, RIGHT, y] = 0
        grown.leaf_sums[side, LEFT, y] = grown.side_sums[side, y]
    grown.leaf_of_code[side, :] = 2 * side + LEFT


@compiled_inside
def settle_root(histograms: Array, search: Search, weighing: Weighing) -> int:
    """The first split, from the best one of each feature; the side to list the rows of, or none if no side is mixed.

    That is the side with less sample weight.
    """
    mass_of, columns, found, grown = search.mass_of, search.columns, search.found, search.grown
    units, total, sums, limits = weighing.units, weighing.total, grown.side_sums, grown.limits
    root: int = choose_split(histograms, columns, total, found, grown.side_of_code, sums)
    score, cut = found.scores[root], found.splits[root]
    grown.features[0], grown.splits[0], grown.missing_left[0] = root, cut, found.missing_left[root]
    copy_categories(found, root, grown, 0)
    grown.gains[0] = gain_of(score, sums[0, 0] + sums[1, 0], sums[0, 1] + sums[1, 1], weighing)
    mass = grown.leaf_mass
    mass[:] = 0
    for joint in range(grown.side_of_code.shape[0]):
        leaf = 2 * grown.side_of_code[joint] + LEFT
        grown.root_leaves[joint] = leaf
        for y in range(2):
            mass[leaf, y] += mass_of[y, columns.bundle_of[root], joint]
    for side in range(2):
        leave_unsplit(grown, side)
        limits[side, 0], limits[side, 1], limits[side, 2] = 0.0, 1.0, TIE * total
    n_mixed = 0  # sides that have rows of both classes
    for side in range(2):
        n_mixed += sums[side, 0] > 0 and sums[side, 1] > 0
    if score < 0.0 or n_mixed == 0:
        return NONE
    order = columns.orders[root]
    if order != 0 and cut != columns.n_bins[root]:  # what is missing is neither below nor above the rest
        of_right = sums[RIGHT, 1] * units[1] / (sums[RIGHT, 0] * units[0] + sums[RIGHT, 1] * units[1])
        of_left = sums[LEFT, 1] * units[1] / (sums[LEFT, 0] * units[0] + sums[LEFT, 1] * units[1])
        above = RIGHT if order > 0 else LEFT
        limits[above, 0] = limits[1 - above, 1] = (of_left + of_right) / 2.0
    right, left = 2 * RIGHT + LEFT, 2 * LEFT + LEFT
    return RIGHT if mass[right, 0] + mass[right, 1] <= mass[left, 0] + mass[left, 1] else LEFT


@compiled_inside
def settle_side(histograms: Array, side: int, search: Search, weighing: Weighing) -> None:
    """The split of one side of the first split, from the best one of each feature, if it gains anything."""
    columns, found, grown = search.columns, search.found, search.grown
    negative, positive = grown.side_sums[side, 0], grown.side_sums[side, 1]
    weight = negative * weighing.units[0] + positive * weighing.units[1]
    of_side = grown.leaf_of_code[side]
    best: int = choose_split(histograms, columns, weight, found, of_side, grown.leaf_sums[side])
    gain = gain_of(found.scores[best], negative, positive, weighing)
    if gain * weighing.total <= TIE * weight:
        leave_unsplit(grown, side)
        return
    for joint in range(of_side.shape[0]):
        of_side[joint] += 2 * side
    node = 1 + side
    grown.features[node], grown.splits[node] = best, found.splits[best]
    grown.missing_left[node], grown.gains[node] = found.missing_left[best], gain
    copy_categories(found, best, grown, node)


@compiled_inside
def copy_categories(found: Found, feature: int, grown: Grown, node: int) -> None:
    """Which categories go left."""
    for code in range(found.categories.shape[1]):
        grown.categories[node, code] = found.categories[feature, code]


@compiled_inside
def settle_leaves(weighing: Weighing, grown: Grown) -> float:
    """Votes, once all splits are there, and the weighted error; a leaf without rows votes like its neighbour."""
    units, votes, shares, wrong = weighing.units, grown.votes, grown.shares, grown.wrong
    for side in range(2):
        for leaf in range(2):
            negative, positive = grown.leaf_sums[side, leaf, 0] * units[0], grown.leaf_sums[side, leaf, 1] * units[1]
            k = 2 * side + leaf
            votes[k], shares[k], wrong[k] = vote_of(negative, positive, weighing.total, weighing.rate, weighing.grid)
    for side in range(2):
        right, left = 2 * side + RIGHT, 2 * side + LEFT
        if grown.features[1 + side] == NONE:
            votes[right], shares[right], wrong[right] = votes[left], shares[left], 0.0
    if grown.side_sums[RIGHT, 0] + grown.side_sums[RIGHT, 1] == 0:  # nothing could be split
        for k in range(2):
            votes[k], shares[k], wrong[k] = votes[3], shares[3], 0.0
    error: float = (wrong[3] + wrong[2] + wrong[1] + wrong[0]) / weighing.total
    return error


@compiled_inside
def grow(train: Rows, other: Rows, weights: Weights, weighing: Weighing, search: Search, below: Below | None) -> float:
    """From the histograms of all rows to the leaf of each row, also of others; the weighted error."""
    histograms, columns, grown, hist = search.histograms, search.columns, search.grown, search.hist
    first, n_features = np.int64(0), len(search.allowed)
    search.allowed[:] = True
    limits = grown.limits[2]
    limits[0], limits[1], limits[2] = 0.0, 1.0, TIE * weighing.total
    best_splits(histograms, search, weighing, limits, hist, first, n_features)
    small: int = settle_root(histograms, search, weighing)
    if below is not None:  # noqa: SIM102  (alone, so that numba leaves out for stumps what is behind it)
        if small != NONE:
            listed, is_there, part, sets = below
            blocks, codes = train.blocks, train.codes
            column = codes[columns.bundle_of[grown.features[0]]]
            for code in range(is_there.shape[0]):
                is_there[code] = grown.side_of_code[code] == small
            list_side(train, column, is_there, weights.values, listed, first, len(blocks))
            part[:] = 0
            add_to_histograms(codes, listed, blocks, train.cell_mass.shape[0] // 2, part, first, codes.shape[0])
            list_partners(sets, grown.features[0], search.allowed)
            for side in (small, 1 - small):
                if side != small:
                    subtract(histograms, part)
                if grown.side_sums[side, 0] > 0 and grown.side_sums[side, 1] > 0:
                    best_splits(part, search, weighing, grown.limits[side], hist, first, n_features)
                    settle_side(part, side, search, weighing)
            if is_split(grown):
                put_into_leaves(train, columns.bundle_of, grown, first, len(blocks))
                grown.leaf_mass[:] = 0
                for b in range(len(blocks)):
                    for leaf in range(MAX_LEAVES):
                        grown.leaf_mass[leaf, class_of(train, b)] += train.leaf_mass[b, leaf]
                put_into_leaves(other, columns.bundle_of, grown, first, len(other.blocks))
    error: float = settle_leaves(weighing, grown)
    return error


@compiled_inside
def is_split(grown: Grown) -> bool:
    """Whether a tree is more than a stump."""
    return bool(grown.features[1 + RIGHT] != NONE or grown.features[1 + LEFT] != NONE)


@compiled_inside
def subtract(whole: Array, part: Array) -> None:
    """The histograms of one side, where those of the other are: sums are integers, so the difference is exact."""
    for bundle in range(whole.shape[0]):
        for y in range(2):
            for place in range(2):
                for joint in range(whole.shape[3]):
                    part[bundle, y, place, joint] = whole[bundle, y, place, joint] - part[bundle, y, place, joint]


@compiled_inside
def charge(counts: Array, charges: Charges, rates: Array, costs: Array) -> None:
    """The costs u of misclassified rows in each cell: of its groups in all views the highest.

    Where groups are unknown these rows pay what the known ones owe in the mean. The known ones pay so much more than
    that, or less but never less than nothing, that with its share of the unknown rows each group pays what it owes.
    """
    if charges.group_of.shape[0] == 0:
        charge_groups(counts, charges, rates, costs)
        return
    costs[:] = 0.0
    for view in range(charges.group_of.shape[0]):
        group_of, n_groups = charges.group_of[view], charges.n_groups[view]
        seen, owed = charges.counts[:n_groups], charges.costs[:n_groups]
        seen[:] = 0.0
        for cell in range(counts.shape[0]):
            if group_of[cell] >= 0:
                for y in range(2):
                    for predicted in range(2):
                        seen[group_of[cell], y, predicted] += counts[cell, y, predicted]
        charge_groups(seen, charges, rates, owed)
        for y in range(2):
            known, unknown, mean = 0.0, 0.0, 0.0
            for cell in range(counts.shape[0] if charges.rest_is_unknown[view] else 0):
                unknown += counts[cell, y, 0] + counts[cell, y, 1] if group_of[cell] < 0 else 0.0
            for g in range(n_groups if unknown > 0.0 else 0):
                size = seen[g, y, 0] + seen[g, y, 1]
                known += size
                mean += owed[g, y] * size
            if known > 0.0:
                mean /= known
                for g in range(n_groups):
                    owed[g, y] = max(mean + (owed[g, y] - mean) * ((known + unknown) / known), 0.0)
            for cell in range(counts.shape[0]):
                costs[cell, y] = max(costs[cell, y], owed[group_of[cell], y] if group_of[cell] >= 0 else mean)


@compiled_inside
def charge_groups(counts: Array, charges: Charges, rates: Array, costs: Array) -> None:
    """The costs u of misclassified rows, Eqs. (9), (11) and (13): what ``FairnessNotion.costs`` says."""
    n_groups = counts.shape[0]
    costs[:] = 0.0
    for gap in range(charges.kinds.shape[0]):
        for g in range(n_groups):
            of = counts[g]
            if charges.kinds[gap] == FALSE_NEGATIVE:
                part, other = of[1, 0], of[1, 1]
            elif charges.kinds[gap] == FALSE_POSITIVE:
                part, other = of[0, 1], of[0, 0]
            else:
                part, other = of[0, 1] + of[1, 1], of[0, 0] + of[1, 0]
            whole = part + other
            rates[g] = part / whole if whole > 0.0 else np.nan
        for ahead in range(2):
            boosts = charges.boosts_ahead[gap] if ahead else charges.boosts[gap]
            if not (boosts[0] or boosts[1]):
                continue
            sign = -1.0 if charges.high_is_good[gap] != (ahead == 1) else 1.0
            best = np.inf
            for g in range(n_groups):
                best = min(best, sign * rates[g]) if rates[g] == rates[g] else best
            for g in range(n_groups):
                behind = sign * rates[g] - best
                if behind > charges.epsilon:  # NaN is above nothing
                    for y in range(2):
                        costs[g, y] += behind if boosts[y] else 0.0


@compiled_inside
def alpha_of(right: float, wrong: float, rate: float, grid: float) -> float:
    """α = ½ ln(right / wrong), on the grid that makes sums of α exact; 0 when it would not be positive."""
    if right <= wrong:
        return 0.0
    alpha = rate * (0.5 * math.log(right / max(wrong, PERFECT_ERROR)))
    rounded: float = np.rint(alpha / grid) * grid
    return rounded


@compiled_inside
def most_common(factors: Array, group_mass: Array, leaf_mass: Array, places: Array, masses: Array) -> float:
    """The value among ``factors[group, leaf]`` with the most mass, ``group_mass · leaf_mass``; of equals the largest.

    There may be thousands of groups, so equal values are found by hashing: a value's digits say where in ``places``, of
    which there are twice as many as values, to begin to look for the first place that has it. ``masses`` is by place.
    """
    n_leaves, n_slots = factors.shape[1], places.shape[0]
    places[:] = -1
    masses[:] = 0.0
    for place in range(masses.shape[0]):
        g, leaf = place // n_leaves, place % n_leaves
        value = factors[g, leaf]
        slot = int(math.frexp(value)[0] * 2.0**53) % n_slots
        while places[slot] >= 0 and factors[places[slot] // n_leaves, places[slot] % n_leaves] != value:
            slot = (slot + 1) % n_slots
        if places[slot] < 0:
            places[slot] = place
        masses[places[slot]] += float(group_mass[g]) * float(leaf_mass[leaf])
    best = 0
    for place in range(masses.shape[0]):
        value = factors[place // n_leaves, place % n_leaves]
        is_larger = value > factors[best // n_leaves, best % n_leaves]
        if masses[place] > masses[best] or (masses[place] == masses[best] and is_larger):
            best = place
    common: float = factors[best // n_leaves, best % n_leaves]
    return common


@compiled_inside
def mean_cost(costs: Array, cells: Array) -> float:
    """Of the groups, as the cells of a class weighed at first. On a grid, so that their order does not matter."""
    largest = 0.0
    for g in range(len(cells)):
        largest = max(largest, cells[g])
    if largest <= 0.0:
        return 1.0
    bits = MEAN_BITS - math.frexp(largest)[1]
    paid, of_all = 0.0, 0.0
    for g in range(len(cells)):
        paid += np.rint(math.ldexp(costs[g] * cells[g], bits))
        of_all += np.rint(math.ldexp(cells[g], bits))
    return paid / of_all


@compiled_inside
def plan_weights(
    update: int,
    alpha: float,
    votes: Array,
    shares: Array,
    costs: Array,
    cell_mass: Array,
    leaf_mass: Array,
    limits: Limits,
    classes: Classes,
    plan: Plan,
) -> None:
    """By how much the rows of each cell and leaf are multiplied, relative to what most rows of their class are.

    Rows in a leaf that votes for the other class are multiplied by C·exp(2α·confidence), Eq. (14) times exp(α), and
    others by 1. With votes of any size that is exp(|h|) and exp(-|h|), and C is for all rows of a cell, as a share of
    what it is in the mean of the class, as its cells weighed at first: what is paid for misclassified rows alone grows
    without end in those that nobody can tell, and moves all of a class.

    The most common factor of a class goes to its scale; ``factors[cell, leaf]`` is relative to it. How common one is
    comes from ``cell_mass[cell]`` and ``leaf_mass[leaf, y]``, as if each group was spread over the leaves as its class
    is: that decides how many rows are changed, not how. Where the sums could become too large, k is chosen anew, and
    all rows of the class are to be listed.
    """
    n_groups = costs.shape[0]
    for y in range(2):
        of_class = plan.factors[y * n_groups : (y + 1) * n_groups]
        group_mass = cell_mass[y * n_groups : (y + 1) * n_groups]
        mean = mean_cost(costs[:, y], classes.cells[y * n_groups : (y + 1) * n_groups]) if update == REAL else 1.0
        for leaf in range(MAX_LEAVES):
            if update == REAL:
                right, wrong = math.exp(-abs(votes[leaf])), math.exp(abs(votes[leaf]))
            else:
                right, wrong = 1.0, math.exp(2.0 * alpha * (shares[leaf] if update == CONFIDENCE else 1.0))
            is_wrong = (votes[leaf] > 0) != (y == 1)
            for g in range(n_groups):
                cost = costs[g, y] / mean
                if is_wrong:
                    of_class[g, leaf] = cost * wrong
                else:
                    of_class[g, leaf] = cost * right if update == REAL else right
        common: float = most_common(of_class, group_mass, leaf_mass[:, y], plan.places, plan.masses)
        classes.scale[y] *= common
        largest = 1.0
        for g in range(n_groups):
            for leaf in range(MAX_LEAVES):
                of_class[g, leaf] /= common
                largest = max(largest, of_class[g, leaf])
        expected = largest * float(classes.sums[y] + classes.mass[y])
        choose_bits(classes, y, expected >= limits.room, np.int64(math.frexp(expected)[1]))


@compiled_inside
def check_sums(limits: Limits, classes: Classes) -> bool:
    """Choose k anew where the sums have become too small; whether the rows of a class are to be listed anew."""
    for y in range(2):
        classes.bits[y] = 0
        if not classes.is_renewed[y]:
            n_bits, rest = 0, classes.sums[y]
            while rest > 0:
                rest >>= 1
                n_bits += 1
            choose_bits(classes, y, n_bits < classes.targets[y] - limits.shrunk, n_bits)
    return bool(classes.is_renewed[0] or classes.is_renewed[1])


@compiled_inside
def choose_bits(classes: Classes, y: int, is_due: bool, n_bits: int) -> None:
    """If it is due, take a k with which what adds up to so many bits is at its target."""
    classes.is_renewed[y] = is_due
    classes.bits[y] = classes.targets[y] - n_bits if is_due else 0
    classes.powers[y] *= math.ldexp(1.0, -int(classes.bits[y]))


@compiled
def weigh(classes: Classes) -> float:
    """What the integers of both classes weigh, and all of them together."""
    for y in range(2):
        classes.units[y] = classes.scale[y] * classes.powers[y]
    total: float = float(classes.sums[0]) * classes.units[0] + float(classes.sums[1]) * classes.units[1]
    return total


@compiled_inside
def keep_small(limits: Limits, classes: Classes, total: float) -> float:
    """The total, after a power of two that changes nothing but the size of the floats, if they were too large."""
    if total > limits.large:
        for y in range(2):
            classes.scale[y] /= limits.large
        total = weigh(classes)
    return total


@compiled_inside
def fill_counts(rows: Rows, positives: Array, kind: int, counts: Array) -> None:
    """``counts[group, y_true, y_pred]`` from one kind of positive predictions per block and the mass of every cell.

    Added up as whole numbers, below 2^53, and then turned into weights.
    """
    n_groups = counts.shape[0]
    for cell in range(2 * n_groups):
        counts[cell % n_groups, cell // n_groups, 1] = 0.0
    for b in range(rows.blocks.shape[0]):
        cell = rows.blocks[b, 0]
        counts[cell % n_groups, cell // n_groups, 1] += positives[b, kind]
    for cell in range(2 * n_groups):
        of_class = counts[cell % n_groups, cell // n_groups]
        of_class[0], of_class[1] = (rows.cell_mass[cell] - of_class[1]) * rows.unit, of_class[1] * rows.unit


@compiled
def boost_rounds(
    n_rounds: int,
    train: Rows,
    other: Rows,
    search: Search,
    below: Below | None,
    weights: Weights,
    classes: Classes,
    how: How,
    limits: Limits,
    charges: Charges,
    scratch: Scratch,
    records: Records,
) -> tuple[int, int]:
    """Up to so many rounds; how many there are, and why there are no more.

    ``other`` has the rows that θ is chosen on, none if they are the training rows. Without ``below`` there are stumps,
    and numba compiles nothing that only trees need.
    """
    blocks, codes, grown, has_other = train.blocks, train.codes, search.grown, len(other.blocks) > 0
    n_groups = train.cell_mass.shape[0] // 2
    of_one, votes, steps, costs = how.weighing, grown.votes, scratch.steps, scratch.costs
    first, kind, at_threshold = np.int64(0), np.int64(ABOVE_ZERO), np.int64(ABOVE_THRESHOLD)
    if not how.is_cumulative:
        kind = np.int64(BY_LEARNER)
    total: float = weigh(classes)
    for j in range(n_rounds):
        for y in range(2):
            if classes.is_renewed[y]:
                search.histograms[:, y] = 0
        add_to_histograms(codes, weights.changed, blocks, n_groups, search.histograms, first, codes.shape[0])
        weights.changed.n_rows[:] = 0
        classes.is_renewed[:] = False
        given = of_one.prior * total, of_one.rate, of_one.grid, of_one.row * total, of_one.smooth * total
        weighing = Weighing(of_one.criterion, classes.units, total, *given)
        error: float = grow(train, other, weights, weighing, search, below)
        bundle = search.columns.bundle_of[grown.features[0]]
        column, other_column, leaf_of_code = codes[bundle], other.codes[bundle], grown.root_leaves
        if below is not None and is_split(grown):
            column, other_column, leaf_of_code = train.leaves, other.leaves, scratch.four
        alpha = 1.0 if how.update == REAL else alpha_of(1.0 - error, error, how.learning_rate, of_one.grid)
        is_silent = True
        for leaf in range(MAX_LEAVES):
            steps[leaf] = alpha * votes[leaf]
            is_silent = is_silent and votes[leaf] == 0.0
        if alpha <= 0.0 or is_silent:
            return j, NO_BETTER_THAN_CHANCE
        step_of_code = scratch.step_of_code
        for code in range(leaf_of_code.shape[0]):
            step_of_code[code] = steps[leaf_of_code[code]]
        told, threshold = not how.is_cumulative, how.threshold
        move_margins(train, column, step_of_code, threshold, told, scratch.positives, first, len(blocks))
        fill_counts(train, scratch.positives, at_threshold, records.counts[j])
        watched, positives = train, scratch.positives
        if has_other and not (how.keeps_leaves and not how.by_others):
            positives = scratch.other_positives
            move_margins(other, other_column, step_of_code, threshold, told, positives, first, len(other.blocks))
            fill_counts(other, positives, at_threshold, records.other_counts[j])
        if how.by_others:
            watched = other
        else:
            positives = scratch.positives
        fill_counts(watched, positives, kind, records.cost_counts[j])
        charge(records.cost_counts[j], charges, scratch.rates, records.costs[j])
        # C = 1 + u, line 6 of Algorithm 1: costs only ever boost. Votes of any size are smaller, so is what is paid.
        pace = how.learning_rate if how.update == REAL else 1.0
        for g in range(n_groups):
            for y in range(2):
                costs[g, y] = 1.0 + pace * records.costs[j, g, y]
        known = train.cell_mass, grown.leaf_mass
        plan_weights(how.update, alpha, votes, grown.shares, costs, *known, limits, classes, scratch.plan)
        shift(train, weights, classes)
        change_weights(train, column, leaf_of_code, scratch.plan.factors, weights, first, len(blocks))
        add_up(train, weights, classes)
        if check_sums(limits, classes):
            list_anew(train, weights, classes)
        new_total: float = weigh(classes)
        records.growths[j] = new_total / total
        total = keep_small(limits, classes, new_total)
        if how.keeps_leaves:
            chosen_on = other_column if has_other else column
            for i in range(records.leaves.shape[1]):
                records.leaves[j, i] = leaf_of_code[chosen_on[i]]
        records.errors[j], records.alphas[j] = error, alpha
        for node in range(3):
            records.features[j, node], records.splits[j, node] = grown.features[node], grown.splits[node]
            records.missing_left[j, node], records.gains[j, node] = grown.missing_left[node], grown.gains[node]
            for code in range(N_CODES):
                records.categories[j, node, code] = grown.categories[node, code]
        for leaf in range(MAX_LEAVES):
            records.votes[j, leaf], records.shares[j, leaf] = votes[leaf], grown.shares[leaf]
        if error <= PERFECT_ERROR:
            return j + 1, PERFECT
    return n_rounds, GOES_ON
