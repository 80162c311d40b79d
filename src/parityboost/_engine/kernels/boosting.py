"""Rounds of boosting without the interpreter: what ``_fit.loop`` does with stumps and trees in the usual cases.

Threads that come back to the interpreter after each pass over few rows wait for each other most of the time. So here
are the steps of a round in the same order and with the same numbers to the last bit: the tree, the margins, the costs
of the groups, the new weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .compiling import Array, compiled_inner, compiled_lean
from .rounds import (
    ABOVE_ZERO,
    N_KINDS,
    change_weights,
    fill_counts,
    list_everything,
    move_margins,
    real_factors,
    relative_factors,
)
from .splitting import Columns, Found
from .thresholds import FALSE_NEGATIVE, FALSE_POSITIVE
from .trees import Grown, Rows, Weighing, find_stump, grow

REAL, CONFIDENCE, DISCRETE = 0, 1, 2  # how weights are changed
GOES_ON, NO_BETTER_THAN_CHANCE, PERFECT = 0, 1, 2  # how it ended


class Charges(NamedTuple):
    """What a notion makes groups pay for, by gap."""

    kinds: Array  # the rate, as in ``thresholds``
    high_is_good: Array
    boosts: Array  # [gap, class]: of a group that is behind
    boosts_ahead: Array  # [gap, class]: of a group that is ahead
    epsilon: float


class Weights(NamedTuple):
    """The weights of the training rows, see ``_fit.weights``."""

    values: Array
    block_sums: Array
    scale: Array
    powers: Array
    sums: Array  # by class
    class_mass: Array
    targets: Array
    is_renewed: Array  # whether all rows of a class are listed, with all that they weigh


class How(NamedTuple):
    """How rounds are boosted, and what the sums of weights keep to."""

    update: int
    learning_rate: float
    is_ranked: bool  # whether rows that θ is chosen on are put into leaves, or their margins counted
    room: float
    shrunk: int
    large: float
    perfect: float


class Search(NamedTuple):
    """What trees are grown from and with, see ``trees.grow`` and ``trees.Weighing``."""

    histograms: Array
    mass_of: Array
    columns: Columns
    allowed: Array
    found: Found
    grown: Grown
    leaf_mass: Array
    criterion: int
    prior: float  # as a share of all weight
    rate: float
    grid: float


class Below(NamedTuple):
    """What the sides of a tree's first split are split with."""

    lists: tuple[Array, Array, Array]
    part: Array
    sets: Array


class Scratch(NamedTuple):
    """Room for what is made in a round and needed in it."""

    units: Array
    positives: Array  # [block, kind], of training rows and of others
    other_positives: Array
    steps: Array  # by leaf
    right: Array
    wrong: Array
    rates: Array  # by group
    costs: Array  # [group, class]
    factors: Array  # [cell, leaf]
    largest: Array
    four: Array  # 0 to 3

    @classmethod
    def room(cls, n_leaves: int, n_groups: int, n_blocks: int, n_other_blocks: int) -> Scratch:
        """Arrays to be filled."""
        return cls(
            np.empty(2),
            np.empty((n_blocks, N_KINDS), dtype=np.int64),
            np.empty((n_other_blocks, N_KINDS), dtype=np.int64),
            np.empty(n_leaves),
            np.ones(n_leaves),
            np.empty(n_leaves),
            np.empty(n_groups),
            np.empty((n_groups, 2)),
            np.empty((2 * n_groups, n_leaves)),
            np.empty(2),
            np.arange(4, dtype=np.uint8),
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
    counts: Array  # [round, group, y_true, y_pred]
    costs: Array  # [round, group, class]
    leaves: Array  # [round, row] of the rows that θ is chosen on,
    other_counts: Array  # or their [round, group, y_true, y_pred]


@compiled_inner
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


@compiled_inner
def add_up(weights: Weights, blocks: Array, n_groups: int, units: Array) -> float:
    """The sums of both classes and what they weigh together."""
    weights.sums[:] = 0
    for b in range(blocks.shape[0]):
        weights.sums[1 if blocks[b, 0] >= n_groups else 0] += weights.block_sums[b]
    for y in range(2):
        units[y] = weights.scale[y] * weights.powers[y]
    total: float = float(weights.sums[0]) * units[0] + float(weights.sums[1]) * units[1]
    return total


@compiled_inner
def shift(weights: Weights, blocks: Array, n_groups: int, y: int, n_bits: int) -> None:
    """Add to k of a class, whose rows are to be listed anew."""
    weights.powers[y] *= math.ldexp(1.0, -int(n_bits))
    factor = math.ldexp(1.0, int(n_bits))
    for b in range(blocks.shape[0]):
        if (blocks[b, 0] >= n_groups) == (y == 1):
            for i in range(blocks[b, 1], blocks[b, 2]):
                weights.values[i] *= factor
    weights.is_renewed[y] = True


@compiled_inner
def n_bits_of(number: int) -> int:
    """How many bits a number has."""
    n = 0
    while number > 0:
        number >>= 1
        n += 1
    return n


@compiled_inner
def alpha_of(error: float, how: How, grid: float) -> float:
    """The learner's weight, a multiple of the grid: see ``learner_weight`` of ``_fit.loop``."""
    right = 1.0 - error
    if right <= error:
        return 0.0
    alpha = how.learning_rate * (0.5 * math.log(right / max(error, how.perfect)))
    rounded: float = np.rint(alpha / grid) * grid
    return rounded


@compiled_inner
def reweigh(
    train: Rows,
    n_groups: int,
    column: Array,
    leaf_of_code: Array,
    votes: Array,
    leaf_mass: Array,
    changes: tuple[Array, Array, Array],
    weights: Weights,
    how: How,
    scratch: Scratch,
) -> float:
    """Multiply misclassified rows by ``costs * wrong[leaf]``, the others by ``right[leaf]``; the new sum.

    The histograms have had all changes so far.
    """
    blocks, units, right, wrong = train.blocks, scratch.units, scratch.right, scratch.wrong
    costs, factors, largest = scratch.costs, scratch.factors, scratch.largest
    relative_factors(costs, right, wrong, votes, train.cell_mass, leaf_mass, weights.scale, factors, largest)
    weights.is_renewed[:] = False
    for y in range(2):
        expected = largest[y] * float(weights.sums[y] + weights.class_mass[y])
        if expected >= how.room:
            shift(weights, blocks, n_groups, y, weights.targets[y] - math.frexp(expected)[1])
    rows, gains, n_rows = changes
    change_weights(
        column,
        leaf_of_code,
        factors,
        weights.values,
        train.mass,
        blocks,
        0,
        blocks.shape[0],
        rows,
        gains,
        n_rows,
        weights.block_sums,
    )
    new_total: float = add_up(weights, blocks, n_groups, units)
    for y in range(2):
        n_bits = n_bits_of(weights.sums[y])
        if not weights.is_renewed[y] and n_bits < weights.targets[y] - how.shrunk:
            shift(weights, blocks, n_groups, y, weights.targets[y] - n_bits)
    if weights.is_renewed[0] or weights.is_renewed[1]:
        for b in range(blocks.shape[0]):
            if weights.is_renewed[1 if blocks[b, 0] >= n_groups else 0]:
                list_everything(weights.values, train.mass, blocks, b, b + 1, rows, gains, n_rows, weights.block_sums)
        new_total = add_up(weights, blocks, n_groups, units)
    return new_total


@compiled_inner
def count_after(rows: Rows, column: Array, leaf_of_code: Array, steps: Array, positives: Array, counts: Array) -> None:
    """Add a step per leaf to the margins, and count predictions."""
    blocks = rows.blocks
    move_margins(column, leaf_of_code, steps, 0.0, False, rows.margin, rows.mass, blocks, 0, blocks.shape[0], positives)
    fill_counts(blocks, positives, ABOVE_ZERO, rows.cell_mass, rows.unit, counts)


@compiled_lean
def boost_rounds(
    n_rounds: int,
    train: Rows,
    other: Rows,
    n_groups: int,
    search: Search,
    below: Below | None,
    alone: bool | None,
    changes: tuple[Array, Array, Array],
    weights: Weights,
    how: How,
    charges: Charges,
    scratch: Scratch,
    records: Records,
) -> tuple[int, int]:
    """Up to so many rounds; how many there are, and why there are no more.

    ``other`` has the rows that θ is chosen on, none if they are the training rows. There are trees or stumps ``alone``:
    one of the two is None, and numba then compiles nothing that it would be needed for.
    """
    blocks, grown, columns, has_other = train.blocks, search.grown, search.columns, len(other.blocks) > 0
    n_leaves, units, steps = scratch.steps.shape[0], scratch.units, scratch.steps
    votes, shares, wrong = grown.votes[:n_leaves], grown.shares[:n_leaves], grown.wrong
    total: float = add_up(weights, blocks, n_groups, units)
    for j in range(n_rounds):
        for y in range(2):
            if weights.is_renewed[y]:
                search.histograms[:, y] = 0
        weighing = Weighing(search.criterion, units, total, search.prior * total, search.rate, search.grid)
        if below is not None:
            grow(
                train,
                other,
                n_groups,
                weights.values,
                changes,
                below.lists,
                search.histograms,
                below.part,
                search.mass_of,
                columns,
                below.sets,
                weighing,
                search.allowed,
                search.found,
                grown,
                search.leaf_mass,
            )
            column, other_column, leaf_of_code = train.leaves, other.leaves, scratch.four
        if alone is not None:
            find_stump(
                train,
                n_groups,
                changes,
                search.histograms,
                search.mass_of,
                columns,
                weighing,
                search.allowed,
                search.found,
                grown,
                search.leaf_mass,
            )
            bundle = columns.bundle_of[grown.features[0]]
            column, other_column, leaf_of_code = train.codes[bundle], other.codes[bundle], grown.side_of_code
        changes[2][:] = 0
        weights.is_renewed[:] = False
        error = (wrong[3] + wrong[2] + wrong[1] + wrong[0]) / total
        alpha = 1.0 if how.update == REAL else alpha_of(error, how, search.grid)
        is_silent = True
        for leaf in range(n_leaves):
            steps[leaf] = alpha * votes[leaf]
            is_silent = is_silent and votes[leaf] == 0.0
        if alpha <= 0.0 or is_silent:
            return j, NO_BETTER_THAN_CHANCE
        count_after(train, column, leaf_of_code, steps, scratch.positives, records.counts[j])
        charge(records.counts[j], charges, scratch.rates, records.costs[j])
        for g in range(n_groups):
            for y in range(2):
                scratch.costs[g, y] = 1.0 + records.costs[j, g, y]
        if how.update == REAL:
            real_factors(votes, scratch.right, scratch.wrong)
        else:
            for leaf in range(n_leaves):
                confidence = shares[leaf] if how.update == CONFIDENCE else 1.0
                scratch.wrong[leaf] = math.exp(2.0 * alpha * confidence)
        new_total = reweigh(
            train,
            n_groups,
            column,
            leaf_of_code,
            votes,
            search.leaf_mass,
            changes,
            weights,
            how,
            scratch,
        )
        records.growths[j] = new_total / total
        total = new_total
        if total > how.large:  # a power of two for both classes changes nothing but the size of the floats
            for y in range(2):
                weights.scale[y] /= how.large
            total = add_up(weights, blocks, n_groups, units)
        if how.is_ranked:
            chosen_on = other_column if has_other else column
            for i in range(records.leaves.shape[1]):
                records.leaves[j, i] = leaf_of_code[chosen_on[i]]
        elif has_other:
            count_after(other, other_column, leaf_of_code, steps, scratch.other_positives, records.other_counts[j])
        records.errors[j], records.alphas[j] = error, alpha
        for node in range(3):
            records.features[j, node], records.splits[j, node] = grown.features[node], grown.splits[node]
            records.missing_left[j, node], records.gains[j, node] = grown.missing_left[node], grown.gains[node]
        for leaf in range(4):
            records.votes[j, leaf], records.shares[j, leaf] = grown.votes[leaf], grown.shares[leaf]
        if error <= how.perfect:
            return j + 1, PERFECT
    return n_rounds, GOES_ON
