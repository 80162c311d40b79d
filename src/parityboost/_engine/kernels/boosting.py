"""Rounds of boosting without the interpreter: what ``_fit.loop`` does with trees whose votes have any size.

Threads that come back to the interpreter after each pass over few rows wait for each other most of the time. So here
are the steps of a round in the same order and with the same numbers to the last bit: the tree, the margins, the costs
of the groups, the new weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .compiling import Array, compiled, compiled_brief
from .rounds import (
    ABOVE_ZERO,
    change_weights,
    fill_counts,
    list_everything,
    move_margins,
    real_factors,
    relative_factors,
)
from .splitting import Columns, Found
from .thresholds import FALSE_NEGATIVE, FALSE_POSITIVE
from .trees import Grown, Rows, Weighing, grow

# How it ended.
GOES_ON, NO_VOTES, PERFECT = 0, 1, 2


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
    cell_mass: Array


class Limits(NamedTuple):
    """What the sums of weights keep to, and what is perfect."""

    room: float
    shrunk: int
    large: float
    perfect: float


class Search(NamedTuple):
    """What trees are grown from and with, see ``trees.grow`` and ``trees.Weighing``."""

    lists: tuple[Array, Array, Array]
    histograms: Array
    part: Array
    mass_of: Array
    columns: Columns
    sets: Array
    allowed: Array
    found: Found
    grown: Grown
    leaf_mass: Array
    criterion: int
    prior: float  # as a share of all weight
    rate: float
    grid: float


class Records(NamedTuple):
    """What is kept of each round."""

    features: Array  # [round, split], as those below
    splits: Array
    missing_left: Array
    gains: Array
    votes: Array  # [round, leaf], from right to left
    shares: Array
    errors: Array  # by round
    growths: Array  # the new sum of weights by the old one
    counts: Array  # [round, group, y_true, y_pred]
    costs: Array  # [round, group, class]
    leaves: Array  # [round, row] of the rows that θ is chosen on
    mass_unit: float


@compiled_brief
def charge(counts: Array, charges: Charges, costs: Array) -> None:
    """The costs u of misclassified rows, Eqs. (9), (11) and (13): what ``FairnessNotion.costs`` says."""
    n_groups = counts.shape[0]
    rates = np.empty(n_groups)
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


@compiled_brief
def add_up(weights: Weights, blocks: Array, n_groups: int, units: Array) -> float:
    """The sums of both classes and what they weigh together."""
    weights.sums[:] = 0
    for b in range(blocks.shape[0]):
        weights.sums[1 if blocks[b, 0] >= n_groups else 0] += weights.block_sums[b]
    for y in range(2):
        units[y] = weights.scale[y] * weights.powers[y]
    total: float = float(weights.sums[0]) * units[0] + float(weights.sums[1]) * units[1]
    return total


@compiled_brief
def shift(weights: Weights, blocks: Array, n_groups: int, y: int, n_bits: int) -> None:
    """Add to k of a class, whose rows are to be listed anew."""
    weights.powers[y] *= math.ldexp(1.0, -n_bits)
    factor = math.ldexp(1.0, n_bits)
    for b in range(blocks.shape[0]):
        if (blocks[b, 0] >= n_groups) == (y == 1):
            for i in range(blocks[b, 1], blocks[b, 2]):
                weights.values[i] *= factor
    weights.is_renewed[y] = True


@compiled_brief
def n_bits_of(number: int) -> int:
    """How many bits a number has."""
    n = 0
    while number > 0:
        number >>= 1
        n += 1
    return n


@compiled
def reweigh(
    train: Rows,
    n_groups: int,
    leaf_of_code: Array,
    votes: Array,
    costs: Array,
    leaf_mass: Array,
    changes: tuple[Array, Array, Array],
    weights: Weights,
    limits: Limits,
    units: Array,
) -> float:
    """Multiply all rows by exp(-y·h), and misclassified ones by their cost too; the new sum of weights.

    The histograms have had all changes so far.
    """
    blocks, n_leaves = train.blocks, votes.shape[0]
    right, wrong = np.empty(n_leaves), np.empty(n_leaves)
    real_factors(votes, right, wrong)
    factors, largest = np.empty((2 * n_groups, n_leaves)), np.empty(2)
    relative_factors(1.0 + costs, right, wrong, votes, weights.cell_mass, leaf_mass, weights.scale, factors, largest)
    weights.is_renewed[:] = False
    for y in range(2):
        expected = largest[y] * float(weights.sums[y] + weights.class_mass[y])
        if expected >= limits.room:
            shift(weights, blocks, n_groups, y, weights.targets[y] - math.frexp(expected)[1])
    rows, gains, n_rows = changes
    change_weights(
        train.leaves,
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
        if not weights.is_renewed[y] and n_bits < weights.targets[y] - limits.shrunk:
            shift(weights, blocks, n_groups, y, weights.targets[y] - n_bits)
    if weights.is_renewed[0] or weights.is_renewed[1]:
        for b in range(blocks.shape[0]):
            if weights.is_renewed[1 if blocks[b, 0] >= n_groups else 0]:
                list_everything(weights.values, train.mass, blocks, b, b + 1, rows, gains, n_rows, weights.block_sums)
        new_total = add_up(weights, blocks, n_groups, units)
    return new_total


@compiled
def boost_rounds(
    n_rounds: int,
    train: Rows,
    other: Rows,
    n_groups: int,
    margin: Array,
    search: Search,
    changes: tuple[Array, Array, Array],
    weights: Weights,
    limits: Limits,
    charges: Charges,
    records: Records,
) -> tuple[int, int]:
    """Up to so many rounds; how many there are, and why there are no more."""
    blocks, grown = train.blocks, search.grown
    n_blocks = blocks.shape[0]
    positives, units = np.empty((n_blocks, 3), dtype=np.int64), np.empty(2)
    leaf_of_code = np.arange(4).astype(np.uint8)
    total: float = add_up(weights, blocks, n_groups, units)
    for j in range(n_rounds):
        for y in range(2):
            if weights.is_renewed[y]:
                search.histograms[:, y] = 0
        weighing = Weighing(search.criterion, units, total, search.prior * total, search.rate, search.grid)
        grow(
            train,
            other,
            n_groups,
            weights.values,
            changes,
            search.lists,
            search.histograms,
            search.part,
            search.mass_of,
            search.columns,
            search.sets,
            weighing,
            search.allowed,
            search.found,
            grown,
            search.leaf_mass,
        )
        changes[2][:] = 0
        weights.is_renewed[:] = False
        votes = grown.votes
        if not (votes[0] != 0.0 or votes[1] != 0.0 or votes[2] != 0.0 or votes[3] != 0.0):
            return j, NO_VOTES
        move_margins(train.leaves, leaf_of_code, votes, 0.0, False, margin, train.mass, blocks, 0, n_blocks, positives)
        fill_counts(blocks, positives, ABOVE_ZERO, weights.cell_mass, records.mass_unit, records.counts[j])
        charge(records.counts[j], charges, records.costs[j])
        new_total = reweigh(
            train,
            n_groups,
            leaf_of_code,
            votes,
            records.costs[j],
            search.leaf_mass,
            changes,
            weights,
            limits,
            units,
        )
        records.growths[j] = new_total / total
        total = new_total
        if total > limits.large:  # a power of two for both classes changes nothing but the size of the floats
            weights.scale[:] /= limits.large
            total = add_up(weights, blocks, n_groups, units)
        wrong = grown.wrong
        records.errors[j] = (wrong[3] + wrong[2] + wrong[1] + wrong[0]) / weighing.total
        records.features[j], records.splits[j] = grown.features, grown.splits
        records.missing_left[j], records.gains[j] = grown.missing_left, grown.gains
        records.votes[j], records.shares[j] = votes, grown.shares
        records.leaves[j] = other.leaves if len(other.blocks) > 0 else train.leaves
        if records.errors[j] <= limits.perfect:
            return j + 1, PERFECT
    return n_rounds, GOES_ON
