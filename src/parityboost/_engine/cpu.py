"""The passes of a round over the rows of a sample, on the processor: compiled, and shared by threads.

This is the protocol that all of training knows of a device. What has an entry per row stays inside; what a pass is told
are small arrays (a tree, a step per leaf, a factor per cell and leaf), and what it returns are sums of integers.
:class:`CpuRows` is described here; ``cuda.rows`` and ``dask`` have the same passes elsewhere:

=====================  =====================================================================================
``add_changes``        histograms of all training rows, from the weights that changed
``add_side``           histograms of the rows on one side of a split
``put_into_leaves``    the leaf of each row
``move_margins``       a step per leaf is added to the margins, and predictions are counted
``change_weights``     weights times a factor per cell and leaf (``list_anew`` where integers got too large or small)
``list_margins``       the margins in order, for the choice of the threshold (``count_margins`` if they are many)
=====================  =====================================================================================

Besides there is what is asked for once per training.

A learner puts every row into a leaf: ``leaf_of_code[column[row]]``. What a leaf does is told per leaf or per cell and
leaf, so that no pass knows what the learner looks like. ``mass[row]`` is a row's sample weight as an integer; an empty
array means one each. ``weights.values[row]`` is the float that its factors have multiplied up to. What is *summed* is
the integer ``mass · max(1, round(weight))``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arrays import BLOCK_ROWS, N_CODES, room
from .kernels import columns, thresholds
from .kernels.compiling import Array, compiled, compiled_inside

Run = Callable[[Callable[[int, int], None], int, float], None]

# What ``move_margins`` counts: the columns of ``positives``.
ABOVE_ZERO, ABOVE_THRESHOLD, BY_LEARNER = 0, 1, 2
N_KINDS = 3
MAX_LEAVES = 4
FOUR_LEAVES = np.arange(MAX_LEAVES, dtype=np.uint8)
NONE = -1  # no feature, no side


class Rows(NamedTuple):
    """The rows of a sample, sorted by cell, as kernels want them."""

    codes: Array  # [bundle, row]
    mass: Array
    blocks: Array  # [block]: cell, first row, last row + 1
    margin: Array
    cell_mass: Array  # mass per cell
    unit: float  # what a mass of one weighs
    leaves: Array  # of a tree that is not a stump: the leaf of each row,
    leaf_mass: Array  # and the mass per [block, leaf]


class Listed(NamedTuple):
    """Some of the rows: block b lists its ``n_rows[b]`` from position ``blocks[b, 1]`` on, each with a gain."""

    rows: Array
    gains: Array
    n_rows: Array


class Weights(NamedTuple):
    """The weights of training rows, and by how much the integers grew that the histograms have not been told of."""

    values: Array
    changed: Listed
    block_sums: Array  # of the integers


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
    cells: Array  # what each cell weighs when training begins


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
    categories: Array  # [split, code]: which of them go left, where the codes of a column are categories


GROWN = (  # the dtype and the shape of each
    (np.int64, 3),
    (np.int64, 3),
    (np.bool_, 3),
    (np.float64, 3),
    (np.int64, 2, 2),
    (np.int64, 2, 2, 2),
    (np.uint8, N_CODES),
    (np.uint8, 2, N_CODES),
    *([(np.float64, MAX_LEAVES)] * 3),
    (np.float64, 3, 3),
    (np.int64, MAX_LEAVES, 2),
    (np.uint8, N_CODES),
    (np.bool_, 3, N_CODES),
)


@compiled_inside
def move_margins(
    rows: Rows,
    column: Array,
    step_of_code: Array,
    threshold: float,
    learner_too: bool,
    positives: Array,
    first: int,
    last: int,
) -> None:
    """Add α·h to the margins, and count the positive predictions.

    For the blocks first ≤ b < last, ``positives[b]`` = mass of the rows with margin > 0, with margin > threshold, and,
    if ``learner_too``, with h = +1.
    """
    margin, mass, weighted = rows.margin, rows.mass, rows.mass.shape[0] > 0
    for b in range(first, last):
        start, stop = rows.blocks[b, 1], rows.blocks[b, 2]
        above_zero, above_threshold, by_learner = 0, 0, 0
        if weighted:
            for i in range(start, stop):
                step = step_of_code[column[i]]
                margin[i] += step
                above_zero += mass[i] if margin[i] > 0.0 else 0
                above_threshold += mass[i] if margin[i] > threshold else 0
                by_learner += mass[i] if step > 0.0 else 0
        elif threshold == 0.0 and not learner_too:
            for i in range(start, stop):
                moved = margin[i] + step_of_code[column[i]]
                margin[i] = moved
                above_zero += moved > 0.0
            above_threshold = above_zero
        else:
            for i in range(start, stop):
                step = step_of_code[column[i]]
                margin[i] += step
                above_zero += margin[i] > 0.0
                above_threshold += margin[i] > threshold
                by_learner += step > 0.0
        positives[b, ABOVE_ZERO], positives[b, ABOVE_THRESHOLD] = above_zero, above_threshold
        positives[b, BY_LEARNER] = by_learner


@compiled_inside
def whole(weight: float) -> Any:
    """The integer that stands for a weight; none is nothing."""
    return max(np.int64(np.rint(weight)), np.int64(1))


@compiled(makes_arrays=True)
def change_weights(
    rows: Rows, column: Array, leaf_of_code: Array, factors: Array, weights: Weights, first: int, last: int
) -> None:
    """Multiply the weights by ``factors[cell, leaf]``, and list which rows' integers gained how much.

    For the blocks first ≤ b < last. Where the factor is 1 nothing happens. ``block_sums`` stay the sums of integers.
    """
    mass, weighted, values = rows.mass, rows.mass.shape[0] > 0, weights.values
    listed, gains, n_listed = weights.changed
    factor_of, changes = np.empty(N_CODES), np.empty(N_CODES, dtype=np.uint8)
    for b in range(first, last):
        start, stop = rows.blocks[b, 1], rows.blocks[b, 2]
        of_leaf = factors[rows.blocks[b, 0]]
        changing = 0  # a bit for each leaf
        for leaf in range(MAX_LEAVES):
            changing |= (1 << leaf) if of_leaf[leaf] != 1.0 else 0
        n_listed[b] = 0
        if changing == 0:
            continue
        for code in range(leaf_of_code.shape[0]):
            factor_of[code] = of_leaf[leaf_of_code[code]]
            changes[code] = factor_of[code] != 1.0
        # Every row is written down, but the place moves on only behind one that changes: no branch to mispredict.
        n = start
        for i in range(start, stop):
            listed[n] = i
            n += changes[column[i]]
        gained = 0
        for k in range(start, n):
            i = listed[k]
            before = values[i]
            after = before * factor_of[column[i]]
            values[i] = after
            gain = whole(after) - whole(before)
            if weighted:
                gain *= mass[i]
            gains[k] = gain
            gained += gain
        n_listed[b] = n - start
        weights.block_sums[b] += gained


@compiled_inside
def list_everything(rows: Rows, weights: Weights, first: int, last: int) -> None:
    """List all rows of the blocks first ≤ b < last as if each had gained what it weighs, and add these up anew."""
    mass, weighted = rows.mass, rows.mass.shape[0] > 0
    listed, gains, n_listed = weights.changed
    for b in range(first, last):
        total = 0
        for i in range(rows.blocks[b, 1], rows.blocks[b, 2]):
            gain = whole(weights.values[i])
            if weighted:
                gain *= mass[i]
            listed[i], gains[i] = i, gain
            total += gain
        n_listed[b] = rows.blocks[b, 2] - rows.blocks[b, 1]
        weights.block_sums[b] = total


@compiled_inside
def class_of(rows: Rows, b: int) -> int:
    """The class of a block of rows."""
    return 1 if rows.blocks[b, 0] >= rows.cell_mass.shape[0] // 2 else 0


@compiled_inside
def shift(rows: Rows, weights: Weights, classes: Classes) -> None:
    """Multiply the weights of a class whose k has changed."""
    for b in range(rows.blocks.shape[0]):
        bits = classes.bits[class_of(rows, b)]
        if bits != 0:
            factor = math.ldexp(1.0, int(bits))
            for i in range(rows.blocks[b, 1], rows.blocks[b, 2]):
                weights.values[i] *= factor


@compiled_inside
def add_up(rows: Rows, weights: Weights, classes: Classes) -> None:
    """The sums of both classes."""
    classes.sums[:] = 0
    for b in range(rows.blocks.shape[0]):
        classes.sums[class_of(rows, b)] += weights.block_sums[b]


@compiled
def list_anew(rows: Rows, weights: Weights, classes: Classes) -> None:
    """List all rows of the classes that are to be renewed, after a change of k, and add up."""
    shift(rows, weights, classes)
    for b in range(rows.blocks.shape[0]):
        if classes.is_renewed[class_of(rows, b)]:
            list_everything(rows, weights, b, b + 1)
    add_up(rows, weights, classes)


@compiled
def sum_wrong(
    rows: Rows, column: Array, leaf_of_code: Array, wrong: Array, values: Array, sums: Array, first: int, last: int
) -> None:
    """``sums[b, 0]`` = sum of the integers of block b in a leaf that is wrong for their cell, ``wrong[cell, leaf]``."""
    mass, weighted = rows.mass, rows.mass.shape[0] > 0
    for b in range(first, last):
        is_wrong = wrong[rows.blocks[b, 0]]
        total = 0
        for i in range(rows.blocks[b, 1], rows.blocks[b, 2]):
            if is_wrong[leaf_of_code[column[i]]]:
                number = whole(values[i])
                total += number * mass[i] if weighted else number
        sums[b, 0] = total


@compiled_inside
def list_side(rows: Rows, column: Array, is_there: Array, values: Array, found: Listed, first: int, last: int) -> None:
    """List the rows whose code is there, with their integers, for the blocks first ≤ b < last."""
    mass, weighted = rows.mass, rows.mass.shape[0] > 0
    listed, gains, n_listed = found
    for b in range(first, last):
        start, n = rows.blocks[b, 1], rows.blocks[b, 1]
        for i in range(start, rows.blocks[b, 2]):  # as in change_weights: no branch
            listed[n] = i
            n += is_there[column[i]]
        for k in range(start, n):
            gain = whole(values[listed[k]])
            gains[k] = gain * mass[listed[k]] if weighted else gain
        n_listed[b] = n - start


@compiled_inside
def split_leaves(
    column: Array,
    columns: tuple[Array, Array],
    side_of_code: Array,
    leaf_of_code: Array,
    mass: Array,
    blocks: Array,
    leaves: Array,
    leaf_mass: Array,
    first: int,
    last: int,
) -> None:
    """The leaf, 0 to 3, of each row, and the mass in each; apart from the rows that it is of, it is compiled better."""
    column0, column1 = columns
    leaf0, leaf1 = leaf_of_code[0], leaf_of_code[1]
    for b in range(first, last):
        start, stop = blocks[b, 1], blocks[b, 2]
        for i in range(start, stop):
            leaves[i] = leaf1[column1[i]] if side_of_code[column[i]] else leaf0[column0[i]]
        in_leaf = leaf_mass[b]
        in_leaf[:] = 0
        if mass.shape[0] > 0:
            for i in range(start, stop):
                in_leaf[leaves[i]] += mass[i]
            continue
        for leaf in range(1, 4):
            n = 0
            for i in range(start, stop):
                n += leaves[i] == leaf
            in_leaf[leaf] = n
        in_leaf[0] = stop - start - in_leaf[1] - in_leaf[2] - in_leaf[3]


@compiled_inside
def put_into_leaves(rows: Rows, bundle_of: Array, grown: Grown, first: int, last: int) -> None:
    """Put rows into the leaves of a tree of depth two, for the blocks first ≤ b < last.

    The first split puts a row on the side ``side_of_code[column[row]]``, where its leaf is
    ``leaf_of_code[side, columns[side][row]]``.
    """
    right, left = grown.features[1], grown.features[2]
    column = rows.codes[bundle_of[grown.features[0]]]
    right_column = column if right == NONE else rows.codes[bundle_of[right]]
    left_column = column if left == NONE else rows.codes[bundle_of[left]]
    columns, sides, leaves = (right_column, left_column), grown.side_of_code, grown.leaf_of_code
    split_leaves(column, columns, sides, leaves, rows.mass, rows.blocks, rows.leaves, rows.leaf_mass, first, last)


@compiled_inside
def add_two(column: Array, even: Array, odd: Array, row: int, gain: int, next_row: int, next_gain: int) -> None:
    """The gains of two neighbours in a list of rows."""
    even[column[row]] += gain
    odd[column[next_row]] += next_gain


@compiled_inside
def add_to_histograms(
    codes: Array, listed: Listed, blocks: Array, n_groups: int, histograms: Array, first: int, last: int
) -> None:
    """``histograms[f, y, :, codes[f, row]] += gain`` for first ≤ f < last, for the rows that are listed.

    Here f counts bundles, and gains are integers. A sum has to wait for the one before it in the same bin, so several
    that do not are on their way at once: those of up to four bundles, and those of even and odd places in the list,
    which have a histogram each. Whoever reads them adds the two up: either may overflow, their sum does not.
    """
    rows, gains, n_rows = listed
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


@compiled
def sum_masses(codes: Array, mass: Array, n_negative: int, mass_of: Array, first: int, last: int) -> None:
    """``mass_of[y, f, code]`` = mass of the rows of class y, for first ≤ f < last; an empty ``mass`` means one each."""
    weighted = mass.shape[0] > 0
    for f in range(first, last):
        column = codes[f]
        for i in range(column.shape[0]):
            mass_of[0 if i < n_negative else 1, f, column[i]] += mass[i] if weighted else 1


class CpuRows:
    """The rows of a sample, sorted by cell; ``run`` shares work among threads, as :meth:`Team.run` does."""

    def __init__(
        self, codes: Array, mass: Array, unit: float, blocks: Array, cell_mass: Array, bundle_of: Array, run: Run
    ) -> None:
        self.bundle_of, self.n_groups, self._run = bundle_of, len(cell_mass) // 2, run
        none, no_mass = np.empty(0, dtype=np.uint8), np.empty((0, MAX_LEAVES), dtype=np.int64)
        self.arrays = Rows(codes, mass, blocks, np.zeros(codes.shape[1]), cell_mass, unit, none, no_mass)
        self.weights: Any = None  # of rows that are trained on
        self._leaves: tuple[Array, Array] = none, none
        self._side: Listed | None = None

    def __len__(self) -> int:
        return len(self.arrays.margin)

    def room_for_leaves(self) -> Rows:
        """The rows with room for their leaves in trees that are more than stumps."""
        if len(self.arrays.leaves) != len(self):
            leaf_mass = np.empty((len(self.arrays.blocks), MAX_LEAVES), dtype=np.int64)
            self.arrays = self.arrays._replace(leaves=np.empty(len(self), dtype=np.uint8), leaf_mass=leaf_mass)
        return self.arrays

    def room_for_side(self) -> Listed:
        """Room to list the rows on one side of a split."""
        if self._side is None:
            self._side = Listed(
                *room((np.uint32, len(self)), (np.int64, len(self)), (np.int64, len(self.arrays.blocks)))
            )
        return self._side

    def start_weights(self, start: Array, classes: Classes) -> None:
        """Give all rows of a cell the weight ``start[cell]``, and list them."""
        values, n_blocks = np.asarray(start, dtype=np.float64)[self.cell()], len(self.arrays.blocks)
        changed = Listed(*room((np.uint32, len(self)), (np.int64, len(self)), (np.int64, n_blocks)))
        self.weights = Weights(values, changed, np.zeros(n_blocks, dtype=np.int64))
        list_anew(self.arrays, self.weights, classes)

    def add_changes(self, histograms: Array) -> None:
        """Add what rows gained to ``histograms[bundle, class, :, joint code]``, once."""
        self._add(self.weights.changed, histograms)
        self.weights.changed.n_rows[:] = 0

    def _add(self, listed: Listed, histograms: Array) -> None:
        codes, blocks = self.arrays.codes, self.arrays.blocks
        self._share(add_to_histograms, codes, listed, blocks, self.n_groups, histograms, work=codes.shape)

    def add_side(self, grown: Grown, side: int, histograms: Array) -> None:
        """Add what the rows on one side of a tree's first split weigh."""
        column, listed = self._column(grown.features[0]), self.room_for_side()
        is_there = (grown.side_of_code == side).astype(np.uint8)
        self._share(list_side, self.arrays, column, is_there, self.weights.values, listed)
        self._add(listed, histograms)

    def put_into_leaves(self, grown: Grown) -> Array:
        """Put the rows into the leaves of a tree, whether they were trained on or not; the mass per [leaf, class]."""
        if (grown.features[1:] == NONE).all():
            self._leaves = self._column(grown.features[0]), grown.root_leaves.copy()
            return grown.leaf_mass
        rows = self.room_for_leaves()
        self._share(put_into_leaves, rows, self.bundle_of, grown)
        self._leaves = rows.leaves, FOUR_LEAVES
        return np.ascontiguousarray(self._per_cell(rows.leaf_mass).reshape(2, -1, MAX_LEAVES).sum(axis=1).T)

    def put_as_told(self, leaves: Array) -> None:
        """Put each row into a leaf that is known."""
        self._leaves = leaves, FOUR_LEAVES

    def _column(self, feature: int) -> Array:
        column: Array = self.arrays.codes[self.bundle_of[feature]]
        return column

    def move_margins(self, steps: Array, threshold: float, learner_too: bool) -> Array:
        """Add ``steps[leaf]`` to the margins; the mass of positive predictions per [cell, kind]."""
        column, leaf_of_code = self._leaves
        positives = np.empty((len(self.arrays.blocks), N_KINDS), dtype=np.int64)
        self._share(move_margins, self.arrays, column, steps[leaf_of_code], float(threshold), learner_too, positives)
        return self._per_cell(positives)

    def change_weights(self, factors: Array, classes: Classes) -> None:
        """Multiply the weights by ``factors[cell, leaf]``, after a change of k, and list which integers gained."""
        rows, weights = self.arrays, self.weights
        shift(rows, weights, classes)
        work = len(rows.blocks), 2 * BLOCK_ROWS
        self._share(change_weights, rows, *self._leaves, factors, weights, work=work)
        add_up(rows, weights, classes)

    def list_anew(self, classes: Classes) -> None:
        """List all rows of the classes that are renewed with all that they weigh, after a change of k."""
        list_anew(self.arrays, self.weights, classes)

    def sum_wrong(self, wrong: Array) -> Array:
        """The sum of the integers per cell of the rows in a leaf that is ``wrong[cell, leaf]``."""
        per_block = np.zeros((len(self.arrays.blocks), 1), dtype=np.int64)
        self._share(sum_wrong, self.arrays, *self._leaves, wrong, self.weights.values, per_block)
        return self._per_cell(per_block)[:, 0]

    def sum_masses(self) -> Array:
        """The mass per [class, bundle, joint code]."""
        codes, blocks = self.arrays.codes, self.arrays.blocks
        n_negative = int((blocks[:, 2] - blocks[:, 1])[blocks[:, 0] < self.n_groups].sum())
        mass_of = np.zeros((2, len(codes), N_CODES), dtype=np.int64)
        self._share(sum_masses, codes, self.arrays.mass, n_negative, mass_of, work=codes.shape)
        return mass_of

    def count_pairs(self, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
        """The mass in each cell of tables of two columns: their places, the row and column per code, the shape."""
        return count_pairs(self.arrays.codes, self.arrays.mass, pairs)

    def list_margins(self) -> tuple[Array, Array, Array]:
        """The margin, cell and mass of rows; equal ones may be one."""
        return self.arrays.margin, self.cell(), self.arrays.mass

    def margin_range(self) -> tuple[float, float]:
        """The lowest and the highest margin."""
        return float(self.arrays.margin.min()), float(self.arrays.margin.max())

    def count_margins(self, grid: float, shift: int, lowest: int, n_buckets: int) -> Array:
        """The mass per [bucket of margins, cell]; see ``thresholds.count_margins``."""
        counts = np.zeros((n_buckets, 2 * self.n_groups), dtype=np.int64)
        thresholds.count_margins(self.arrays.margin, grid, shift, lowest, self.cell(), self.arrays.mass, counts)
        return counts

    def cell(self) -> Array:
        """The cell of each row."""
        cell = np.empty(len(self), dtype=np.min_scalar_type(2 * self.n_groups))
        for of, first, last in self.arrays.blocks.tolist():
            cell[first:last] = of
        return cell

    def distribution(self, classes: Classes, total: float) -> Array:
        """D, which sums to one."""
        mass = self.arrays.mass
        weight: Array = np.maximum(np.rint(self.weights.values), 1.0) * (mass if len(mass) else 1.0)
        weight *= classes.units[self.cell() // self.n_groups]
        return weight / total

    def codes_on_host(self) -> Array:
        """The joint codes."""
        return self.arrays.codes

    def _share(self, kernel: Any, *given: Any, work: tuple[int, int] | None = None) -> None:
        """Let threads share the blocks of rows, or other items: of ``work`` the number, and steps for each."""
        n_items, per_item = work or (len(self.arrays.blocks), BLOCK_ROWS)
        self._run(lambda first, last: kernel(*given, first, last), n_items, per_item)

    def _per_cell(self, per_block: Array) -> Array:
        sums = np.zeros((2 * self.n_groups, per_block.shape[1]), dtype=np.int64)
        np.add.at(sums, self.arrays.blocks[:, 0], per_block)
        return sums


def count_pairs(codes: Array, mass: Array, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
    """See :meth:`CpuRows.count_pairs`."""
    found = []
    for first, second, row_of, column_of, shape in pairs:
        counts = np.zeros(shape, dtype=np.int64)
        columns.count_cells(codes[first], codes[second], row_of, column_of, mass, counts)
        found.append(counts)
    return found
