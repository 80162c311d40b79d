"""A round's passes over the rows: histograms, leaves, margins and counts, and the new weights.

A learner puts every row into a leaf: ``leaf_of_code[column[row]]``. What a leaf does is told per leaf (``steps[leaf]``)
or per cell and leaf (``factors[cell, leaf]``), so that no pass knows what the learner looks like.

``mass[row]`` is a row's sample weight as an integer; an empty array means one each. ``weights[row]`` is the float that
its factors have multiplied up to. What is *summed* is the integer ``mass · max(1, round(weight))``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .compiling import Array, compiled, compiled_inner, compiled_lean

# What ``move_margins`` counts: the columns of ``positives``.
ABOVE_ZERO, ABOVE_THRESHOLD, BY_LEARNER = 0, 1, 2
N_KINDS = 3
MAX_LEAVES = 4


class Rows(NamedTuple):
    """The rows of a sample, sorted by cell, as kernels want them."""

    codes: Array  # [bundle, row]
    mass: Array
    blocks: Array
    margin: Array
    cell_mass: Array  # mass per cell
    unit: float  # what a mass of one weighs
    leaves: Array  # of a tree that is not a stump: the leaf of each row,
    leaf_mass: Array  # and the mass per [block, leaf]


class Weights(NamedTuple):
    """The weights of training rows, and which of them have changed since the histograms were told."""

    values: Array
    rows: Array  # block b lists its ``n_rows[b]`` rows from position ``blocks[b, 1]`` on,
    gains: Array  # and by how much their integers grew
    n_rows: Array
    block_sums: Array  # of the integers


@compiled
def move_margins(
    column: Array,
    leaf_of_code: Array,
    steps: Array,
    threshold: float,
    learner_too: bool,
    margin: Array,
    mass: Array,
    blocks: Array,
    first: int,
    last: int,
    positives: Array,
) -> None:
    """Add α·h to the margins, ``steps[leaf]`` to each, and count the positive predictions.

    For the blocks first ≤ b < last, ``positives[b]`` = mass of the rows with margin > 0, with margin > threshold, and,
    if ``learner_too``, with h = +1.
    """
    weighted = mass.shape[0] > 0
    step_of = np.empty(256)
    for code in range(leaf_of_code.shape[0]):
        step_of[code] = steps[leaf_of_code[code]]
    for b in range(first, last):
        start, stop = blocks[b, 1], blocks[b, 2]
        above_zero, above_threshold, by_learner = 0, 0, 0
        if weighted:
            for i in range(start, stop):
                step = step_of[column[i]]
                margin[i] += step
                above_zero += mass[i] if margin[i] > 0.0 else 0
                above_threshold += mass[i] if margin[i] > threshold else 0
                by_learner += mass[i] if step > 0.0 else 0
        elif threshold == 0.0 and not learner_too:
            for i in range(start, stop):
                moved = margin[i] + step_of[column[i]]
                margin[i] = moved
                above_zero += moved > 0.0
            above_threshold = above_zero
        else:
            for i in range(start, stop):
                step = step_of[column[i]]
                margin[i] += step
                above_zero += margin[i] > 0.0
                above_threshold += margin[i] > threshold
                by_learner += step > 0.0
        positives[b, ABOVE_ZERO], positives[b, ABOVE_THRESHOLD] = above_zero, above_threshold
        positives[b, BY_LEARNER] = by_learner


@compiled
def sum_per_cell(blocks: Array, per_block: Array, sums: Array) -> None:
    """``sums[cell]`` = sum of ``per_block[b]`` over the blocks of the cell."""
    sums[:] = 0
    for b in range(blocks.shape[0]):
        sums[blocks[b, 0]] += per_block[b]


@compiled
def fill_counts(cells: Array, positives: Array, kind: int, cell_mass: Array, unit: float, counts: Array) -> None:
    """``counts[group, y_true, y_pred]`` from one kind of positive predictions and the mass of every cell.

    ``positives[k]`` is of the cell ``cells[k, 0]``. Added up as integers and then turned into weights.
    """
    n_groups = counts.shape[0]
    positive = np.zeros(2 * n_groups, dtype=np.int64)
    for k in range(cells.shape[0]):
        positive[cells[k, 0]] += positives[k, kind]
    for cell in range(2 * n_groups):
        of_group, y = counts[cell % n_groups], cell // n_groups
        of_group[y, 0], of_group[y, 1] = (cell_mass[cell] - positive[cell]) * unit, positive[cell] * unit


@compiled_inner
def whole(weight: float) -> Any:
    """The integer that stands for a weight; none is nothing."""
    return max(np.int64(np.rint(weight)), np.int64(1))


@compiled
def change_weights(
    column: Array,
    leaf_of_code: Array,
    factors: Array,
    weights: Array,
    mass: Array,
    blocks: Array,
    first: int,
    last: int,
    rows: Array,
    gains: Array,
    n_rows: Array,
    sums: Array,
) -> None:
    """Multiply the weights by ``factors[cell, leaf]``, and list which rows' integers gained how much.

    Where the factor is 1 nothing happens. Block b lists its ``n_rows[b]`` rows from position ``blocks[b, 1]`` on;
    ``sums[b]`` is kept the sum of its integers.
    """
    weighted = mass.shape[0] > 0
    factor_of, changes = np.empty(256), np.empty(256, dtype=np.uint8)
    for b in range(first, last):
        start, stop = blocks[b, 1], blocks[b, 2]
        n_changing = 0
        for leaf in range(factors.shape[1]):
            n_changing += factors[blocks[b, 0], leaf] != 1.0
        n_rows[b] = 0
        if n_changing == 0:
            continue
        for code in range(leaf_of_code.shape[0]):
            factor_of[code] = factors[blocks[b, 0], leaf_of_code[code]]
            changes[code] = factor_of[code] != 1.0
        # Every row is written down, but the place moves on only behind one that changes: no branch to mispredict.
        n = start
        for i in range(start, stop):
            rows[n] = i
            n += changes[column[i]]
        gained = 0
        for k in range(start, n):
            i = rows[k]
            before = weights[i]
            after = before * factor_of[column[i]]
            weights[i] = after
            gain = whole(after) - whole(before)
            if weighted:
                gain *= mass[i]
            gains[k] = gain
            gained += gain
        n_rows[b] = n - start
        sums[b] += gained


@compiled_lean
def list_everything(
    weights: Array,
    mass: Array,
    blocks: Array,
    first: int,
    last: int,
    rows: Array,
    gains: Array,
    n_rows: Array,
    sums: Array,
) -> None:
    """List all rows of the blocks first ≤ b < last as if each had gained what it weighs; ``sums[b]`` is set anew."""
    weighted = mass.shape[0] > 0
    for b in range(first, last):
        total = 0
        for i in range(blocks[b, 1], blocks[b, 2]):
            gain = whole(weights[i])
            if weighted:
                gain *= mass[i]
            rows[i], gains[i] = i, gain
            total += gain
        n_rows[b] = blocks[b, 2] - blocks[b, 1]
        sums[b] = total


@compiled_lean
def sum_wrong(
    column: Array,
    leaf_of_code: Array,
    wrong: Array,
    weights: Array,
    mass: Array,
    blocks: Array,
    first: int,
    last: int,
    sums: Array,
) -> None:
    """``sums[b]`` = sum of the integers of block b in a leaf that is wrong for their cell, ``wrong[cell, leaf]``."""
    weighted = mass.shape[0] > 0
    for b in range(first, last):
        is_wrong = wrong[blocks[b, 0]]
        total = 0
        for i in range(blocks[b, 1], blocks[b, 2]):
            if is_wrong[leaf_of_code[column[i]]]:
                number = whole(weights[i])
                total += number * mass[i] if weighted else number
        sums[b] = total


@compiled
def list_leaf(
    column: Array,
    leaf_of_code: Array,
    leaf: int,
    weights: Array,
    mass: Array,
    blocks: Array,
    first: int,
    last: int,
    rows: Array,
    gains: Array,
    n_rows: Array,
) -> None:
    """List the rows of one leaf with their integers, for the blocks first ≤ b < last, from ``blocks[b, 1]`` on."""
    weighted = mass.shape[0] > 0
    is_there = np.empty(256, dtype=np.uint8)
    for code in range(leaf_of_code.shape[0]):
        is_there[code] = leaf_of_code[code] == leaf
    for b in range(first, last):
        start, n = blocks[b, 1], blocks[b, 1]
        for i in range(start, blocks[b, 2]):  # as in change_weights: no branch
            rows[n] = i
            n += is_there[column[i]]
        for k in range(start, n):
            gain = whole(weights[rows[k]])
            gains[k] = gain * mass[rows[k]] if weighted else gain
        n_rows[b] = n - start


@compiled_lean
def split_leaves(
    column: Array,
    side_of_code: Array,
    columns: tuple[Array, Array],
    leaf_of_code: Array,
    mass: Array,
    blocks: Array,
    first: int,
    last: int,
    leaves: Array,
    leaf_mass: Array,
) -> None:
    """The leaf, 0 to 3, of each row in a tree of depth two, for the blocks first ≤ b < last.

    The first split puts a row on the side ``side_of_code[column[row]]``, where its leaf is
    ``leaf_of_code[side, columns[side][row]]``. ``leaf_mass[b, leaf]`` is the sample weight of a block in each leaf.
    """
    weighted = mass.shape[0] > 0
    column0, column1 = columns
    leaf0, leaf1 = leaf_of_code[0], leaf_of_code[1]
    for b in range(first, last):
        start, stop = blocks[b, 1], blocks[b, 2]
        for i in range(start, stop):
            leaves[i] = leaf1[column1[i]] if side_of_code[column[i]] else leaf0[column0[i]]
        in_leaf = leaf_mass[b]
        in_leaf[:] = 0
        if weighted:
            for i in range(start, stop):
                in_leaf[leaves[i]] += mass[i]
            continue
        for leaf in range(1, 4):
            n = 0
            for i in range(start, stop):
                n += leaves[i] == leaf
            in_leaf[leaf] = n
        in_leaf[0] = stop - start - in_leaf[1] - in_leaf[2] - in_leaf[3]


@compiled_inner
def add_two(column: Array, even: Array, odd: Array, row: int, gain: int, next_row: int, next_gain: int) -> None:
    """The gains of two neighbours in a list of rows."""
    even[column[row]] += gain
    odd[column[next_row]] += next_gain


@compiled_lean
def add_to_histograms(
    codes: Array,
    rows: Array,
    gains: Array,
    n_rows: Array,
    blocks: Array,
    n_groups: int,
    first: int,
    last: int,
    histograms: Array,
) -> None:
    """``histograms[f, y, :, codes[f, row]] += gain`` for first ≤ f < last, for the rows listed per block.

    Here f counts bundles, and gains are integers. Block b lists ``n_rows[b]`` rows from position ``blocks[b, 1]`` on. A
    sum has to wait for the one before it in the same bin, so several that do not are on their way at once: those of up
    to four bundles, and those of even and odd places in the list, which have a histogram each. Whoever reads them adds
    the two up: either may overflow, their sum does not.
    """
    for b in range(blocks.shape[0]):
        start, stop = blocks[b, 1], blocks[b, 1] + n_rows[b]
        if start == stop:
            continue
        y = 1 if blocks[b, 0] >= n_groups else 0
        pairs_end = stop - (stop - start) % 2
        f = first
        while f < last:
            left = last - f
            if left >= 4 and left != 5:  # 5 = 3 + 2 rather than 4 + 1
                column0, column1, column2, column3 = codes[f], codes[f + 1], codes[f + 2], codes[f + 3]
                even0, odd0 = histograms[f, y, 0], histograms[f, y, 1]
                even1, odd1 = histograms[f + 1, y, 0], histograms[f + 1, y, 1]
                even2, odd2 = histograms[f + 2, y, 0], histograms[f + 2, y, 1]
                even3, odd3 = histograms[f + 3, y, 0], histograms[f + 3, y, 1]
                for k in range(start, pairs_end, 2):
                    row, gain, next_row, next_gain = rows[k], gains[k], rows[k + 1], gains[k + 1]
                    add_two(column0, even0, odd0, row, gain, next_row, next_gain)
                    add_two(column1, even1, odd1, row, gain, next_row, next_gain)
                    add_two(column2, even2, odd2, row, gain, next_row, next_gain)
                    add_two(column3, even3, odd3, row, gain, next_row, next_gain)
                taken = 4
            elif left >= 2:
                column0, column1 = codes[f], codes[f + 1]
                even0, odd0 = histograms[f, y, 0], histograms[f, y, 1]
                even1, odd1 = histograms[f + 1, y, 0], histograms[f + 1, y, 1]
                if left == 2:
                    for k in range(start, pairs_end, 2):
                        row, gain, next_row, next_gain = rows[k], gains[k], rows[k + 1], gains[k + 1]
                        add_two(column0, even0, odd0, row, gain, next_row, next_gain)
                        add_two(column1, even1, odd1, row, gain, next_row, next_gain)
                    taken = 2
                else:
                    column2, even2, odd2 = codes[f + 2], histograms[f + 2, y, 0], histograms[f + 2, y, 1]
                    for k in range(start, pairs_end, 2):
                        row, gain, next_row, next_gain = rows[k], gains[k], rows[k + 1], gains[k + 1]
                        add_two(column0, even0, odd0, row, gain, next_row, next_gain)
                        add_two(column1, even1, odd1, row, gain, next_row, next_gain)
                        add_two(column2, even2, odd2, row, gain, next_row, next_gain)
                    taken = 3
            else:
                column0, even0, odd0 = codes[f], histograms[f, y, 0], histograms[f, y, 1]
                for k in range(start, pairs_end, 2):
                    add_two(column0, even0, odd0, rows[k], gains[k], rows[k + 1], gains[k + 1])
                taken = 1
            if pairs_end < stop:
                for g in range(f, f + taken):
                    histograms[g, y, 0, codes[g, rows[pairs_end]]] += gains[pairs_end]
            f += taken


@compiled_lean
def sum_masses(codes: Array, mass: Array, n_negative: int, first: int, last: int, mass_of: Array) -> None:
    """``mass_of[y, f, code]`` = mass of the rows of class y, for first ≤ f < last; an empty ``mass`` means one each."""
    weighted = mass.shape[0] > 0
    for f in range(first, last):
        column = codes[f]
        for i in range(column.shape[0]):
            mass_of[0 if i < n_negative else 1, f, column[i]] += mass[i] if weighted else 1
