"""A tree of depth two: the best stump, and below it the best split of either side.

A tree is grown step by step where threads, a card or other machines pass over the rows, or in one go: then nobody comes
back to the interpreter before the leaves are there, and other trainings can have it. Both decide by ``settle_root`` and
``settle_side``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling import Array, compiled_inner, compiled_lean
from .histogram import add_to_histograms
from .rounds import list_leaf, split_leaves
from .splitting import LEFT, RIGHT, TIE, Columns, Found, best_splits, choose_split, choose_stump, leaf_score, vote_of

NONE = -1  # no feature, no side


class Weighing(NamedTuple):
    """How splits are judged, and how leaves vote."""

    criterion: int
    units: Array  # what an integer of each class weighs
    total: float  # all weight
    prior: float  # what each class of a leaf is given besides
    rate: float  # see ``vote_of``
    grid: float


class Grown(NamedTuple):
    """What there is of a tree. Its splits are the first one, the right side's and the left side's."""

    features: Array  # by split; none where a side is not split
    splits: Array
    missing_left: Array
    gains: Array
    side_sums: Array  # [side, y]: sums of the rows' integers
    leaf_sums: Array  # [side, leaf, y]; a side that is not split is all on its left
    side_of_code: Array  # [joint code of the first split's bundle]
    leaf_of_code: Array  # [side, joint code]: 2 · side + leaf
    votes: Array  # by leaf, from right to left
    shares: Array  # of the weight in a leaf that agrees with its vote
    wrong: Array  # weight that does not
    limits: Array  # [side]: what leaves have to keep to, see ``is_in_order``
    no_limits: Array
    side_mass: Array  # [side, y]: sample weight

    @classmethod
    def room(cls) -> Grown:
        """Arrays to be filled."""
        return cls(
            np.empty(3, dtype=np.int64),
            np.empty(3, dtype=np.int64),
            np.empty(3, dtype=np.bool_),
            np.empty(3),
            np.empty((2, 2), dtype=np.int64),
            np.empty((2, 2, 2), dtype=np.int64),
            np.empty(256, dtype=np.uint8),
            np.empty((2, 256), dtype=np.uint8),
            np.empty(4),
            np.empty(4),
            np.empty(4),
            np.empty((2, 3)),
            np.empty(3),
            np.empty((2, 2), dtype=np.int64),
        )


class Rows(NamedTuple):
    """The rows of a sample; those of a tree are put into leaves."""

    codes: Array
    mass: Array
    blocks: Array
    margin: Array
    cell_mass: Array
    unit: float  # of masses
    leaves: Array
    leaf_mass: Array  # sample weight per [block, leaf]


@compiled_inner
def gain_of(score: float, negative: int, positive: int, weighing: Weighing) -> float:
    """How much better than no split of rows with such sums a score is, relative to all weight."""
    criterion, units, total, prior = weighing.criterion, weighing.units, weighing.total, weighing.prior
    unsplit: float = leaf_score(criterion, negative * units[0] + prior, positive * units[1] + prior)
    return max(score - unsplit - prior, 0.0) / total


@compiled_lean
def list_partners(sets: Array, feature: int, allowed: Array) -> None:
    """Which features may be asked about below a split of one: it, and those that are in a set with it."""
    allowed[:] = False
    allowed[feature] = True
    for k in range(sets.shape[0]):
        if sets[k, feature]:
            for f in range(allowed.shape[0]):
                allowed[f] |= sets[k, f]


@compiled_inner
def leave_unsplit(grown: Grown, side: int) -> None:
    """All of a side is on its left."""
    grown.features[1 + side] = NONE
    for y in range(2):
        grown.leaf_sums[side, RIGHT, y] = 0
        grown.leaf_sums[side, LEFT, y] = grown.side_sums[side, y]
    grown.leaf_of_code[side, :] = 2 * side + LEFT


@compiled_lean
def settle_root(
    histograms: Array, mass_of: Array, columns: Columns, weighing: Weighing, found: Found, grown: Grown
) -> int:
    """The first split, from the best one of each feature; the side to list the rows of, or none if no side is mixed.

    That is the side with less sample weight.
    """
    units, total, sums, limits = weighing.units, weighing.total, grown.side_sums, grown.limits
    side_mass = grown.side_mass
    root: int = choose_stump(histograms, mass_of, columns, total, found, grown.side_of_code, sums, side_mass)
    score, cut = found.scores[root], found.splits[root]
    grown.features[0], grown.splits[0], grown.missing_left[0] = root, cut, found.missing_left[root]
    grown.gains[0] = gain_of(score, sums[0, 0] + sums[1, 0], sums[0, 1] + sums[1, 1], weighing)
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
        right = sums[RIGHT, 1] * units[1] / (sums[RIGHT, 0] * units[0] + sums[RIGHT, 1] * units[1])
        left = sums[LEFT, 1] * units[1] / (sums[LEFT, 0] * units[0] + sums[LEFT, 1] * units[1])
        above = RIGHT if order > 0 else LEFT
        limits[above, 0] = limits[1 - above, 1] = (left + right) / 2.0
    is_right_smaller = side_mass[RIGHT, 0] + side_mass[RIGHT, 1] <= side_mass[LEFT, 0] + side_mass[LEFT, 1]
    return RIGHT if is_right_smaller else LEFT


@compiled_lean
def settle_side(histograms: Array, side: int, columns: Columns, weighing: Weighing, found: Found, grown: Grown) -> None:
    """The split of one side of the first split, from the best one of each feature, if it gains anything."""
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


@compiled_inner
def find_stump(
    train: Rows,
    n_groups: int,
    changes: tuple[Array, Array, Array],
    histograms: Array,
    mass_of: Array,
    columns: Columns,
    weighing: Weighing,
    allowed: Array,
    found: Found,
    grown: Grown,
    leaf_mass: Array,
) -> None:
    """The best stump: what there is of a tree before its sides are split. Its leaves are the sides."""
    rows, gains, n_rows = changes
    codes, sums = train.codes, grown.side_sums
    add_to_histograms(codes, rows, gains, n_rows, train.blocks, n_groups, 0, codes.shape[0], histograms)
    allowed[:] = True
    limits = grown.no_limits
    limits[0], limits[1], limits[2] = 0.0, 1.0, TIE * weighing.total
    criterion, units, prior = weighing.criterion, weighing.units, weighing.prior
    best_splits(histograms, units, columns, criterion, allowed, limits, prior, 0, len(allowed), found)
    root: int = choose_stump(histograms, mass_of, columns, weighing.total, found, grown.side_of_code, sums, leaf_mass)
    grown.features[0], grown.splits[0], grown.missing_left[0] = root, found.splits[root], found.missing_left[root]
    votes, shares, wrong = grown.votes, grown.shares, grown.wrong
    wrong[:] = 0.0
    for leaf in range(2):
        negative, positive = sums[leaf, 0] * units[0], sums[leaf, 1] * units[1]
        votes[leaf], shares[leaf], wrong[leaf] = vote_of(
            negative, positive, weighing.total, weighing.rate, weighing.grid
        )
    if found.scores[root] < 0.0:  # one leaf for all
        votes[RIGHT], shares[RIGHT], wrong[RIGHT] = votes[LEFT], shares[LEFT], 0.0


@compiled_lean
def settle_leaves(weighing: Weighing, grown: Grown) -> None:
    """Votes, once all splits are there; a leaf without rows votes like its neighbour."""
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


@compiled_inner
def subtract(whole: Array, part: Array) -> None:
    """The histograms of one side, where those of the other are."""
    for bundle in range(whole.shape[0]):
        for y in range(2):
            for place in range(2):
                for joint in range(whole.shape[3]):
                    part[bundle, y, place, joint] = whole[bundle, y, place, joint] - part[bundle, y, place, joint]


@compiled_inner
def put_into_leaves(rows: Rows, columns: Columns, grown: Grown) -> None:
    """The leaf of each row."""
    bundle_of, right, left = columns.bundle_of, grown.features[1 + RIGHT], grown.features[1 + LEFT]
    column = rows.codes[bundle_of[grown.features[0]]]
    right_column = column if right == NONE else rows.codes[bundle_of[right]]
    left_column = column if left == NONE else rows.codes[bundle_of[left]]
    split_leaves(
        column,
        grown.side_of_code,
        (right_column, left_column),
        grown.leaf_of_code,
        rows.mass,
        rows.blocks,
        0,
        len(rows.blocks),
        rows.leaves,
        rows.leaf_mass,
    )


@compiled_lean
def grow(
    train: Rows,
    other: Rows,
    n_groups: int,
    weights: Array,
    changes: tuple[Array, Array, Array],
    lists: tuple[Array, Array, Array],
    histograms: Array,
    part: Array,
    mass_of: Array,
    columns: Columns,
    sets: Array,
    weighing: Weighing,
    allowed: Array,
    found: Found,
    grown: Grown,
    leaf_mass: Array,
) -> None:
    """All of it: from the changes of the weights, which the histograms get, to the leaf of each row, also of others.

    ``leaf_mass[leaf, y]`` is the sample weight in each leaf.
    """
    codes, mass, blocks = train.codes, train.mass, train.blocks
    criterion, units, prior = weighing.criterion, weighing.units, weighing.prior
    n_bundles, n_features, n_blocks = codes.shape[0], len(allowed), len(blocks)
    rows, gains, n_rows = changes
    add_to_histograms(codes, rows, gains, n_rows, blocks, n_groups, 0, n_bundles, histograms)
    allowed[:] = True
    limits = grown.no_limits
    limits[0], limits[1], limits[2] = 0.0, 1.0, TIE * weighing.total
    best_splits(histograms, units, columns, criterion, allowed, limits, prior, 0, n_features, found)
    small: int = settle_root(histograms, mass_of, columns, weighing, found, grown)
    if small != NONE:
        column = codes[columns.bundle_of[grown.features[0]]]
        rows, gains, n_rows = lists
        list_leaf(column, grown.side_of_code, small, weights, mass, blocks, 0, n_blocks, rows, gains, n_rows)
        part[:] = 0
        add_to_histograms(codes, rows, gains, n_rows, blocks, n_groups, 0, n_bundles, part)
        list_partners(sets, grown.features[0], allowed)
        for side in (small, 1 - small):
            if side != small:
                subtract(histograms, part)
            if grown.side_sums[side, 0] > 0 and grown.side_sums[side, 1] > 0:
                limits = grown.limits[side]
                best_splits(part, units, columns, criterion, allowed, limits, prior, 0, n_features, found)
                settle_side(part, side, columns, weighing, found, grown)
    settle_leaves(weighing, grown)
    put_into_leaves(train, columns, grown)
    leaf_mass[:] = 0
    for b in range(n_blocks):
        y = 1 if blocks[b, 0] >= n_groups else 0
        for leaf in range(4):
            leaf_mass[leaf, y] += train.leaf_mass[b, leaf]
    if len(other.blocks) > 0:
        put_into_leaves(other, columns, grown)
