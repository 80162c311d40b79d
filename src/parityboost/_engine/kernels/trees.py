"""A tree of depth two: the best split of all rows, and below it the best split of either side.

A stump is a tree whose sides are not split. Whoever passes over the rows, trees are decided here, by
:func:`settle_root`, :func:`settle_side` and :func:`settle_leaves`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling import Array, compiled_inner, compiled_lean
from .passes import MAX_LEAVES, Rows, Weights, add_to_histograms, list_leaf, split_leaves
from .splitting import LEFT, RIGHT, TIE, Columns, Found, best_splits, choose_split, leaf_score, vote_of

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
    limits: Array  # [side]: what leaves have to keep to, see ``is_in_order``; the last is of the first split
    leaf_mass: Array  # [leaf, y]: sample weight
    root_leaves: Array  # [joint code]: the leaf, while neither side is split

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
            np.empty(MAX_LEAVES),
            np.empty(MAX_LEAVES),
            np.empty(MAX_LEAVES),
            np.empty((3, 3)),
            np.empty((MAX_LEAVES, 2), dtype=np.int64),
            np.empty(256, dtype=np.uint8),
        )


class Below(NamedTuple):
    """What the sides of a tree's first split are split with; stumps have none."""

    rows: Array  # room to list the rows of one side
    gains: Array
    n_rows: Array
    histograms: Array  # of one side
    sets: Array  # [set, feature]: below a split of a feature only those are asked about that share a set


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

    That is the side with less sample weight. ``mass_of[y, bundle, joint code]`` is the sample weight of all rows.
    """
    units, total, sums, limits = weighing.units, weighing.total, grown.side_sums, grown.limits
    root: int = choose_split(histograms, columns, total, found, grown.side_of_code, sums)
    score, cut = found.scores[root], found.splits[root]
    grown.features[0], grown.splits[0], grown.missing_left[0] = root, cut, found.missing_left[root]
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


@compiled_lean
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


@compiled_inner
def grow(
    train: Rows,
    other: Rows,
    n_groups: int,
    weights: Weights,
    histograms: Array,
    mass_of: Array,
    columns: Columns,
    weighing: Weighing,
    allowed: Array,
    found: Found,
    grown: Grown,
    below: Below | None,
) -> float:
    """From the histograms of all rows to the leaf of each row, also of others; the weighted error."""
    codes, blocks = train.codes, train.blocks
    criterion, units, prior = weighing.criterion, weighing.units, weighing.prior
    n_features = len(allowed)
    allowed[:] = True
    limits = grown.limits[2]
    limits[0], limits[1], limits[2] = 0.0, 1.0, TIE * weighing.total
    best_splits(histograms, units, columns, criterion, allowed, limits, prior, 0, n_features, found)
    small: int = settle_root(histograms, mass_of, columns, weighing, found, grown)
    if below is not None:  # noqa: SIM102  (alone, so that numba leaves out for stumps what is behind it)
        if small != NONE:
            rows, gains, n_rows, part, sets = below
            column = codes[columns.bundle_of[grown.features[0]]]
            list_leaf(
                column,
                grown.side_of_code,
                small,
                weights.values,
                train.mass,
                blocks,
                0,
                len(blocks),
                rows,
                gains,
                n_rows,
            )
            part[:] = 0
            add_to_histograms(codes, rows, gains, n_rows, blocks, n_groups, 0, codes.shape[0], part)
            list_partners(sets, grown.features[0], allowed)
            for side in (small, 1 - small):
                if side != small:
                    subtract(histograms, part)
                if grown.side_sums[side, 0] > 0 and grown.side_sums[side, 1] > 0:
                    limits = grown.limits[side]
                    best_splits(part, units, columns, criterion, allowed, limits, prior, 0, n_features, found)
                    settle_side(part, side, columns, weighing, found, grown)
            if is_split(grown):
                put_into_leaves(train, columns, grown)
                grown.leaf_mass[:] = 0
                for b in range(len(blocks)):
                    y = 1 if blocks[b, 0] >= n_groups else 0
                    for leaf in range(MAX_LEAVES):
                        grown.leaf_mass[leaf, y] += train.leaf_mass[b, leaf]
                if len(other.blocks) > 0:
                    put_into_leaves(other, columns, grown)
    error: float = settle_leaves(weighing, grown)
    return error


@compiled_inner
def is_split(grown: Grown) -> bool:
    """Whether a tree is more than a stump."""
    return bool(grown.features[1 + RIGHT] != NONE or grown.features[1 + LEFT] != NONE)


@compiled_inner
def subtract(whole: Array, part: Array) -> None:
    """The histograms of one side, where those of the other are: sums are integers, so the difference is exact."""
    for bundle in range(whole.shape[0]):
        for y in range(2):
            for place in range(2):
                for joint in range(whole.shape[3]):
                    part[bundle, y, place, joint] = whole[bundle, y, place, joint] - part[bundle, y, place, joint]
