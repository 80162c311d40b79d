"""What a round of boosting decides from sums: α, the costs of the groups, the new weights; and whole rounds of it.

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

from .compiling import Array, compiled_inner, compiled_lean
from .passes import (
    ABOVE_THRESHOLD,
    ABOVE_ZERO,
    BY_LEARNER,
    MAX_LEAVES,
    N_KINDS,
    Rows,
    Weights,
    add_to_histograms,
    change_weights,
    fill_counts,
    list_everything,
    move_margins,
)
from .splitting import Columns, Found
from .thresholds import FALSE_NEGATIVE, FALSE_POSITIVE
from .trees import Below, Grown, Weighing, grow, is_split

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


class Limits(NamedTuple):
    """What the sums of weights keep to: see the constants of these names."""

    room: float
    shrunk: int
    large: float

    @classmethod
    def now(cls) -> Limits:
        """Asked for when a training begins: tests set others."""
        return cls(ROOM, SHRUNK, LARGE)


class Classes(NamedTuple):
    """The sums of weights by class, and how integers are turned into weights."""

    sums: Array
    scale: Array
    powers: Array  # 2^-k
    units: Array  # scale · 2^-k: what an integer weighs
    mass: Array  # sample weight
    targets: Array  # bits that the sums shall have
    bits: Array  # to be added to k before the next pass
    is_renewed: Array  # whether all rows of a class are listed, with all that they weigh

    @classmethod
    def of(cls, cell_mass: Array, start: Array, n_to_come: int = 0) -> Classes:
        """At the start, when each row of a cell weighs ``start[cell]`` times its mass, of ``cell_mass`` in all."""
        n_groups = len(start) // 2
        mass = np.array([int(part.sum()) + n_to_come for part in cell_mass.reshape(2, -1)], dtype=np.int64)
        targets = [min(max(TARGET, int(m).bit_length() + FACTOR_BITS), MAX_TARGET) for m in mass]
        bits = []
        for y in (0, 1):
            weight = 0.0
            for cell in range(y * n_groups, (y + 1) * n_groups):
                weight += float(cell_mass[cell]) * float(start[cell])
            bits.append(targets[y] - math.frexp(weight)[1])
        powers = np.array([2.0**-n for n in bits])
        return cls(
            np.zeros(2, dtype=np.int64),
            np.ones(2),
            powers,
            powers.copy(),
            mass,
            np.array(targets, dtype=np.int64),
            np.array(bits, dtype=np.int64),
            np.ones(2, dtype=np.bool_),
        )


class How(NamedTuple):
    """How rounds are boosted."""

    update: int
    learning_rate: float
    threshold: float  # on the margin, at which predictions are counted
    is_cumulative: bool  # whether the partial ensemble is judged, or the weak learner alone
    by_others: bool  # whether by the rows that θ is chosen on
    keeps_leaves: bool  # whether the leaves of these rows are kept, or their predictions counted
    criterion: int
    prior: float  # as a share of all weight
    rate: float  # of votes by log-odds, or 0
    grid: float


class Search(NamedTuple):
    """What trees are grown from and with, see ``trees.grow``."""

    histograms: Array
    mass_of: Array
    columns: Columns
    allowed: Array
    found: Found
    grown: Grown


class Scratch(NamedTuple):
    """Room for what is made in a round and needed in it."""

    positives: Array  # [block, kind], of training rows and of others
    other_positives: Array
    steps: Array  # by leaf
    right: Array
    wrong: Array
    rates: Array  # by group
    costs: Array  # [group, class]
    factors: Array  # [cell, leaf]
    places: Array  # see ``room_to_count``
    masses: Array
    four: Array  # 0 to 3

    @classmethod
    def room(cls, n_groups: int, n_blocks: int, n_other_blocks: int) -> Scratch:
        """Arrays to be filled."""
        return cls(
            np.empty((n_blocks, N_KINDS), dtype=np.int64),
            np.empty((n_other_blocks, N_KINDS), dtype=np.int64),
            np.empty(MAX_LEAVES),
            np.empty(MAX_LEAVES),
            np.empty(MAX_LEAVES),
            np.empty(n_groups),
            np.empty((n_groups, 2)),
            np.empty((2 * n_groups, MAX_LEAVES)),
            *room_to_count(n_groups * MAX_LEAVES),
            np.arange(MAX_LEAVES, dtype=np.uint8),
        )


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

    @classmethod
    def room(cls, n_rounds: int, n_groups: int, n_rows: int, has_others: bool) -> Records:
        """Arrays to be filled; leaves are of so many rows."""
        counts = n_rounds, n_groups, 2, 2
        return cls(
            np.empty((n_rounds, 3), dtype=np.int64),
            np.empty((n_rounds, 3), dtype=np.int64),
            np.empty((n_rounds, 3), dtype=np.bool_),
            np.empty((n_rounds, 3)),
            np.empty((n_rounds, MAX_LEAVES)),
            np.empty((n_rounds, MAX_LEAVES)),
            np.empty(n_rounds),
            np.empty(n_rounds),
            np.empty(n_rounds),
            np.empty((n_rounds, n_groups, 2)),
            np.empty(counts),
            np.empty(counts),
            np.empty(counts if has_others else (0, *counts[1:])),
            np.empty((n_rounds, n_rows), dtype=np.uint8),
        )


@compiled_lean
def charge(counts: Array, charges: Charges, rates: Array, costs: Array) -> None:
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


@compiled_lean
def alpha_of(right: float, wrong: float, rate: float, grid: float) -> float:
    """α = ½ ln(right / wrong), on the grid that makes sums of α exact; 0 when it would not be positive."""
    if right <= wrong:
        return 0.0
    alpha = rate * (0.5 * math.log(right / max(wrong, PERFECT_ERROR)))
    rounded: float = np.rint(alpha / grid) * grid
    return rounded


@compiled_lean
def boosts_of(update: int, alpha: float, votes: Array, shares: Array, right: Array, wrong: Array) -> None:
    """What a leaf multiplies the weights of those by whom it is right about, or wrong: Eq. (14) times exp(α).

    With votes of any size that is exp(-|h|) and exp(|h|).
    """
    for leaf in range(MAX_LEAVES):
        if update == REAL:
            right[leaf], wrong[leaf] = math.exp(-abs(votes[leaf])), math.exp(abs(votes[leaf]))
        else:
            confidence = shares[leaf] if update == CONFIDENCE else 1.0
            right[leaf], wrong[leaf] = 1.0, math.exp(2.0 * alpha * confidence)


def room_to_count(n_values: int) -> tuple[Array, Array]:
    """Arrays for :func:`most_common` of so many values."""
    return np.empty(2 * n_values + 1, dtype=np.int64), np.empty(n_values)


@compiled_inner
def most_common(factors: Array, group_mass: Array, leaf_mass: Array, places: Array, masses: Array) -> float:
    """The first of the values ``factors[group, leaf]`` with the most mass, ``group_mass · leaf_mass``.

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
        best = place if masses[place] > masses[best] else best
    common: float = factors[best // n_leaves, best % n_leaves]
    return common


@compiled_lean
def plan_weights(
    costs: Array,
    right: Array,
    wrong: Array,
    votes: Array,
    cell_mass: Array,
    leaf_mass: Array,
    limits: Limits,
    classes: Classes,
    factors: Array,
    places: Array,
    masses: Array,
) -> None:
    """By how much the rows of each cell and leaf are multiplied, relative to what most rows of their class are.

    Rows in a leaf that votes for the other class are multiplied by ``costs[group, y] * wrong[leaf]``, all others by
    ``right[leaf]``. The most common factor of a class goes to its scale; ``factors[cell, leaf]`` is relative to it. How
    common one is comes from ``cell_mass[cell]`` and ``leaf_mass[leaf, y]``, as if each group was spread over the leaves
    as its class is: that decides how many rows are changed, not how. Where the sums could become too large, k is chosen
    anew, and all rows of the class are to be listed. ``places`` and ``masses`` are what :func:`room_to_count` makes.
    """
    n_groups, n_leaves = costs.shape[0], right.shape[0]
    for y in range(2):
        of_class = factors[y * n_groups : (y + 1) * n_groups]
        for g in range(n_groups):
            for leaf in range(n_leaves):
                is_wrong = (votes[leaf] > 0) != (y == 1)
                of_class[g, leaf] = costs[g, y] * wrong[leaf] if is_wrong else right[leaf]
        group_mass = cell_mass[y * n_groups : (y + 1) * n_groups]
        common: float = most_common(of_class, group_mass, leaf_mass[:, y], places, masses)
        classes.scale[y] *= common
        largest = 1.0
        for g in range(n_groups):
            for leaf in range(n_leaves):
                of_class[g, leaf] /= common
                largest = max(largest, of_class[g, leaf])
        expected = largest * float(classes.sums[y] + classes.mass[y])
        choose_bits(classes, y, expected >= limits.room, math.frexp(expected)[1])


@compiled_lean
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


@compiled_inner
def choose_bits(classes: Classes, y: int, is_due: bool, n_bits: int) -> None:
    """If it is due, take a k with which what adds up to so many bits is at its target."""
    classes.is_renewed[y] = is_due
    classes.bits[y] = classes.targets[y] - n_bits if is_due else 0
    classes.powers[y] *= math.ldexp(1.0, -int(classes.bits[y]))


@compiled_lean
def weigh(classes: Classes) -> float:
    """What the integers of both classes weigh, and all of them together."""
    for y in range(2):
        classes.units[y] = classes.scale[y] * classes.powers[y]
    total: float = float(classes.sums[0]) * classes.units[0] + float(classes.sums[1]) * classes.units[1]
    return total


@compiled_lean
def keep_small(limits: Limits, classes: Classes, total: float) -> float:
    """The total, after a power of two that changes nothing but the size of the floats, if they were too large."""
    if total > limits.large:
        for y in range(2):
            classes.scale[y] /= limits.large
        total = weigh(classes)
    return total


@compiled_lean
def add_up(blocks: Array, n_groups: int, weights: Weights, classes: Classes) -> None:
    """The sums of both classes."""
    classes.sums[:] = 0
    for b in range(blocks.shape[0]):
        classes.sums[1 if blocks[b, 0] >= n_groups else 0] += weights.block_sums[b]


@compiled_lean
def shift(rows: Rows, n_groups: int, weights: Weights, classes: Classes) -> None:
    """Multiply the weights of a class whose k has changed."""
    for b in range(rows.blocks.shape[0]):
        bits = classes.bits[1 if rows.blocks[b, 0] >= n_groups else 0]
        if bits != 0:
            factor = math.ldexp(1.0, int(bits))
            for i in range(rows.blocks[b, 1], rows.blocks[b, 2]):
                weights.values[i] *= factor


@compiled_lean
def list_anew(rows: Rows, n_groups: int, weights: Weights, classes: Classes) -> None:
    """List all rows of the classes that are to be renewed, after a change of k, and add up."""
    shift(rows, n_groups, weights, classes)
    for b in range(rows.blocks.shape[0]):
        if classes.is_renewed[1 if rows.blocks[b, 0] >= n_groups else 0]:
            list_everything(
                weights.values,
                rows.mass,
                rows.blocks,
                b,
                b + 1,
                weights.rows,
                weights.gains,
                weights.n_rows,
                weights.block_sums,
            )
    add_up(rows.blocks, n_groups, weights, classes)


@compiled_inner
def count_after(
    rows: Rows, column: Array, leaf_of_code: Array, steps: Array, how: How, positives: Array, counts: Array
) -> None:
    """Add a step per leaf to the margins, and count predictions at the threshold."""
    blocks, learner_too = rows.blocks, not how.is_cumulative
    move_margins(
        column,
        leaf_of_code,
        steps,
        how.threshold,
        learner_too,
        rows.margin,
        rows.mass,
        blocks,
        0,
        blocks.shape[0],
        positives,
    )
    fill_counts(blocks, positives, ABOVE_THRESHOLD, rows.cell_mass, rows.unit, counts)


@compiled_lean
def boost_rounds(
    n_rounds: int,
    train: Rows,
    other: Rows,
    n_groups: int,
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
    blocks, grown, columns, has_other = train.blocks, search.grown, search.columns, len(other.blocks) > 0
    votes, steps, costs, right, wrong = grown.votes, scratch.steps, scratch.costs, scratch.right, scratch.wrong
    kind = ABOVE_ZERO if how.is_cumulative else BY_LEARNER
    total: float = weigh(classes)
    for j in range(n_rounds):
        for y in range(2):
            if classes.is_renewed[y]:
                search.histograms[:, y] = 0
        add_to_histograms(
            train.codes,
            weights.rows,
            weights.gains,
            weights.n_rows,
            blocks,
            n_groups,
            0,
            train.codes.shape[0],
            search.histograms,
        )
        weights.n_rows[:] = 0
        classes.is_renewed[:] = False
        weighing = Weighing(how.criterion, classes.units, total, how.prior * total, how.rate, how.grid)
        error: float = grow(
            train,
            other,
            n_groups,
            weights,
            search.histograms,
            search.mass_of,
            columns,
            weighing,
            search.allowed,
            search.found,
            grown,
            below,
        )
        bundle = columns.bundle_of[grown.features[0]]
        column, other_column, leaf_of_code = train.codes[bundle], other.codes[bundle], grown.root_leaves
        if below is not None and is_split(grown):
            column, other_column, leaf_of_code = train.leaves, other.leaves, scratch.four
        alpha = 1.0 if how.update == REAL else alpha_of(1.0 - error, error, how.learning_rate, how.grid)
        is_silent = True
        for leaf in range(MAX_LEAVES):
            steps[leaf] = alpha * votes[leaf]
            is_silent = is_silent and votes[leaf] == 0.0
        if alpha <= 0.0 or is_silent:
            return j, NO_BETTER_THAN_CHANCE
        count_after(train, column, leaf_of_code, steps, how, scratch.positives, records.counts[j])
        if has_other and not (how.keeps_leaves and not how.by_others):
            counts = records.other_counts[j]
            count_after(other, other_column, leaf_of_code, steps, how, scratch.other_positives, counts)
        watched, positives = (other, scratch.other_positives) if how.by_others else (train, scratch.positives)
        fill_counts(watched.blocks, positives, kind, watched.cell_mass, watched.unit, records.cost_counts[j])
        charge(records.cost_counts[j], charges, scratch.rates, records.costs[j])
        for g in range(n_groups):
            for y in range(2):
                costs[g, y] = 1.0 + records.costs[j, g, y]  # C = 1 + u, line 6 of Algorithm 1: costs only ever boost
        boosts_of(how.update, alpha, votes, grown.shares, right, wrong)
        plan_weights(
            costs,
            right,
            wrong,
            votes,
            train.cell_mass,
            grown.leaf_mass,
            limits,
            classes,
            scratch.factors,
            scratch.places,
            scratch.masses,
        )
        shift(train, n_groups, weights, classes)
        change_weights(
            column,
            leaf_of_code,
            scratch.factors,
            weights.values,
            train.mass,
            blocks,
            0,
            blocks.shape[0],
            weights.rows,
            weights.gains,
            weights.n_rows,
            weights.block_sums,
        )
        add_up(blocks, n_groups, weights, classes)
        if check_sums(limits, classes):
            list_anew(train, n_groups, weights, classes)
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
        for leaf in range(MAX_LEAVES):
            records.votes[j, leaf], records.shares[j, leaf] = votes[leaf], grown.shares[leaf]
        if error <= PERFECT_ERROR:
            return j + 1, PERFECT
    return n_rounds, GOES_ON
