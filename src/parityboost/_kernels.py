"""The compiled inner loops, and the only module that imports numba.

Free functions over arrays: the caller allocates, the kernel fills. They release the GIL, so that ordinary threads can
share the work. Training rows are sorted by class and, within it, by group. A *cell* is one (class, group), a *block* a
run of rows within one cell, ``(cell, first row, last row + 1)``: inside a block the class, the group and hence the cost
of a mistake are constants, and what belongs to its rows fits into the cache.

Sums are taken block by block in a fixed order, never thread by thread, so no result depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from warnings import warn

import numba
import numpy as np
from numpy.typing import NDArray

from ._codes import MISSING

Array = NDArray[Any]

GINI, ERROR = 0, 1
# Two scores this close (relative to the total weight) are equal: the first candidate wins, whatever the rounding.
TIE = 1e-12


class ForgivingCache:
    """numba's cache of a compiled kernel. If it is damaged, or the disk full, the kernel is compiled in memory.

    A damaged cache is emptied, so that the next process finds a sound one.
    """

    warned = False

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, *args: Any) -> Any:
        try:
            return self._cache.load_overload(*args)
        except Exception as error:  # unpickling what is damaged may raise anything
            self._warn(error)
            with suppress(Exception):
                self._cache.flush()
            return None

    def save_overload(self, *args: Any) -> None:
        try:
            self._cache.save_overload(*args)
        except Exception as error:
            self._warn(error)

    def _warn(self, error: Exception) -> None:
        if not ForgivingCache.warned:
            ForgivingCache.warned = True
            warn(
                f"the compiled code in {self._cache.cache_path} cannot be used ({type(error).__name__}: {error}): "
                "compiling in memory, which takes some seconds. Make room there, or set NUMBA_CACHE_DIR to another "
                "folder",
                UserWarning,
                stacklevel=2,
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use and keep the result on disk, or in memory only where no folder can be written to."""
    try:
        kernel: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
    kernel._cache = ForgivingCache(kernel._cache)
    return kernel  # type: ignore[no-any-return]


# --- Binning --------------------------------------------------------------------------------------


@_compiled
def find_distinct(values: Array, distinct: Array) -> int:
    """Collect the distinct values other than NaN; their number, or one more than fits if there are too many."""
    n_slots = 1024  # a power of two, and four times what can be in it
    slots = np.full(n_slots, -1, dtype=np.int16)
    bits = values.view(np.uint64)
    n_distinct = 0
    last = np.nan
    for i in range(values.shape[0]):
        value = values[i]
        if value == last or value != value:
            continue
        last = value
        key = bits[i] if value != 0.0 else np.uint64(0)  # -0.0 equals 0.0
        slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(54))
        while slots[slot] >= 0 and distinct[slots[slot]] != value:
            slot = (slot + 1) % n_slots
        if slots[slot] < 0:
            if n_distinct == distinct.shape[0]:
                return n_distinct + 1
            slots[slot] = n_distinct
            distinct[n_distinct] = value
            n_distinct += 1
    return n_distinct


@_compiled
def encode_numbers(values: Array, edges: Array, codes: Array) -> bool:
    """``codes[i] = 1 + #{edge < value}``, 0 for NaN; whether all values are finite or NaN."""
    padded = np.full(256, np.inf)
    padded[: edges.shape[0]] = edges
    finite = True
    for i in range(values.shape[0]):
        value = values[i]
        # Binary search in eight steps without a branch: the processor works on several rows at once.
        below = 128 * (padded[127] < value)
        below += 64 * (padded[below + 63] < value)
        below += 32 * (padded[below + 31] < value)
        below += 16 * (padded[below + 15] < value)
        below += 8 * (padded[below + 7] < value)
        below += 4 * (padded[below + 3] < value)
        below += 2 * (padded[below + 1] < value)
        below += padded[below] < value
        codes[i] = (below + 1) * (value == value)
        finite &= (value != value) | (value - value == 0.0)
    return finite


@_compiled
def hash_rows(codes: Array, hashes: Array) -> None:
    """One 64-bit number per row, equal for equal rows."""
    for i in range(hashes.shape[0]):
        hashes[i] = np.uint64(0xCBF29CE484222325)
    for f in range(codes.shape[0]):
        column = codes[f]
        for i in range(hashes.shape[0]):
            mixed = (hashes[i] ^ np.uint64(column[i])) * np.uint64(0x9E3779B97F4A7C15)
            hashes[i] = mixed ^ (mixed >> np.uint64(29))


# --- The weak learner -----------------------------------------------------------------------------


@_compiled
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

    Here f counts bundles. Block b lists ``n_rows[b]`` rows from position ``blocks[b, 1]`` on. A sum has to wait for the
    one before it in the same bin, so several that do not are on their way at once: those of up to four bundles, and
    those of even and odd places in the list, which have a histogram each, to be added up by whoever reads them.
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
                    row, gain = rows[k], gains[k]
                    even0[column0[row]] += gain
                    even1[column1[row]] += gain
                    even2[column2[row]] += gain
                    even3[column3[row]] += gain
                    row, gain = rows[k + 1], gains[k + 1]
                    odd0[column0[row]] += gain
                    odd1[column1[row]] += gain
                    odd2[column2[row]] += gain
                    odd3[column3[row]] += gain
                taken = 4
            elif left >= 2:
                column0, column1 = codes[f], codes[f + 1]
                even0, odd0 = histograms[f, y, 0], histograms[f, y, 1]
                even1, odd1 = histograms[f + 1, y, 0], histograms[f + 1, y, 1]
                if left == 2:
                    for k in range(start, pairs_end, 2):
                        row, gain = rows[k], gains[k]
                        even0[column0[row]] += gain
                        even1[column1[row]] += gain
                        row, gain = rows[k + 1], gains[k + 1]
                        odd0[column0[row]] += gain
                        odd1[column1[row]] += gain
                    taken = 2
                else:
                    column2, even2, odd2 = codes[f + 2], histograms[f + 2, y, 0], histograms[f + 2, y, 1]
                    for k in range(start, pairs_end, 2):
                        row, gain = rows[k], gains[k]
                        even0[column0[row]] += gain
                        even1[column1[row]] += gain
                        even2[column2[row]] += gain
                        row, gain = rows[k + 1], gains[k + 1]
                        odd0[column0[row]] += gain
                        odd1[column1[row]] += gain
                        odd2[column2[row]] += gain
                    taken = 3
            else:
                column0, even0, odd0 = codes[f], histograms[f, y, 0], histograms[f, y, 1]
                for k in range(start, pairs_end, 2):
                    even0[column0[rows[k]]] += gains[k]
                    odd0[column0[rows[k + 1]]] += gains[k + 1]
                taken = 1
            if pairs_end < stop:
                for g in range(f, f + taken):
                    histograms[g, y, 0, codes[g, rows[pairs_end]]] += gains[pairs_end]
            f += taken


@_compiled
def split_score(
    criterion: int, negative: float, positive: float, total_negative: float, total_positive: float
) -> float:
    """How pure a split with this left leaf is, weighted; larger is better.

    Gini: the proxy that scikit-learn's trees maximise. Error: the weight that the leaves' majorities get right.
    """
    score = 0.0
    for _ in range(2):
        if criterion == ERROR:
            score += max(negative, positive)
        elif negative + positive > 0.0:
            score += (negative * negative + positive * positive) / (negative + positive)
        negative, positive = total_negative - negative, total_positive - positive
    return score


@_compiled
def best_splits(
    histograms: Array,
    scale: Array,
    bundle_of: Array,
    code_of: Array,
    n_joint: Array,
    n_bins: Array,
    categorical: Array,
    has_missing: Array,
    criterion: int,
    first: int,
    last: int,
    scores: Array,
    splits: Array,
    missing_left: Array,
) -> None:
    """Best split of each feature of the bundles first ≤ b < last; ``scores[f]`` is -1 where a feature has none.

    ``histograms[b, y, :, joint code]`` are those of the bundles, to be multiplied by ``scale[y]``;
    ``code_of[f, joint code]`` tells a feature's code.

    A numeric column is split after bin s: bins 1…s go left. A categorical column is split at category s: bin s goes
    left, all others right. Missing values (bin 0) try both sides, and separating them from all else is a split too.

        bins      0 | 1  2  3  4                 0 | 1  2  3  4
        numeric   ? | L  L  R  R   s = 2         ? | R  L  R  R   s = 2   categorical
        numeric   R | L  L  L  L   s = n_bins    L | R  R  R  R   s = 0   categorical
    """
    hist = np.empty((256, 2))
    for f in range(bundle_of.shape[0]):
        bundle = bundle_of[f]
        if bundle < first or bundle >= last:
            continue
        bins, is_categorical, code = n_bins[f], categorical[f], code_of[f]
        hist[: bins + 1] = 0.0
        for joint in range(n_joint[bundle]):
            hist[code[joint], 0] += histograms[bundle, 0, 0, joint] + histograms[bundle, 0, 1, joint]
            hist[code[joint], 1] += histograms[bundle, 1, 0, joint] + histograms[bundle, 1, 1, joint]
        for b in range(bins + 1):
            hist[b, 0] *= scale[0]
            hist[b, 1] *= scale[1]
        all_negative, all_positive = 0.0, 0.0
        for b in range(bins + 1):
            all_negative += hist[b, 0]
            all_positive += hist[b, 1]
        total = all_negative + all_positive
        tie = TIE * total
        scores[f], splits[f], missing_left[f] = -1.0, 0, False

        negative, positive = 0.0, 0.0  # the left leaf, missing values not counted
        for s in range(1, bins + 1):
            if is_categorical:
                negative, positive = hist[s, 0], hist[s, 1]
            else:
                negative += hist[s, 0]
                positive += hist[s, 1]
            values_on_the_right = bins > 1 if is_categorical else s < bins
            if not has_missing[f]:
                if not values_on_the_right:
                    continue
                score = split_score(criterion, negative, positive, all_negative, all_positive)
                if score > scores[f] + tie:
                    scores[f], splits[f] = score, s
                    # No row tells where missing belongs: it is not the category s, or goes to the heavier side.
                    missing_left[f] = not is_categorical and negative + positive >= 0.5 * total - tie
                continue
            for turn in range(2):
                goes_left = (turn == 0) != is_categorical  # a missing value is first of all not the category s
                if goes_left and not values_on_the_right:
                    continue
                left_negative = negative + hist[MISSING, 0] if goes_left else negative
                left_positive = positive + hist[MISSING, 1] if goes_left else positive
                score = split_score(criterion, left_negative, left_positive, all_negative, all_positive)
                if score > scores[f] + tie:
                    scores[f], splits[f], missing_left[f] = score, s, goes_left
        if is_categorical and has_missing[f] and bins > 1:
            score = split_score(criterion, hist[MISSING, 0], hist[MISSING, 1], all_negative, all_positive)
            if score > scores[f] + tie:
                scores[f], splits[f], missing_left[f] = score, 0, True


@_compiled
def choose_stump(
    histograms: Array,
    scale: Array,
    n_rows_of: Array,
    bundle_of: Array,
    code_of: Array,
    categorical: Array,
    total: float,
    scores: Array,
    splits: Array,
    missing_left: Array,
    left: Array,
    leaves: Array,
    rows_in_leaves: Array,
) -> int:
    """The feature with the best split, and its leaves; leaf 1 is the left one.

    ``left[joint code]`` is 1 for the left leaf; ``leaves[leaf, y]`` is the weight and ``rows_in_leaves[leaf, y]`` the
    number of its rows (from ``n_rows_of[y, bundle, joint code]``). If nothing can be split, everything is on the left.
    """
    best = 0
    for f in range(1, scores.shape[0]):
        if scores[f] > scores[best] + TIE * total:
            best = f
    leaves[:] = 0.0
    rows_in_leaves[:] = 0
    bundle = bundle_of[best]
    for joint in range(left.shape[0]):
        code = code_of[best, joint]
        if scores[best] < 0.0:
            goes_left = True
        elif code == MISSING:
            goes_left = missing_left[best]
        elif categorical[best]:
            goes_left = code == splits[best]
        else:
            goes_left = code <= splits[best]
        leaf = 1 if goes_left else 0
        left[joint] = leaf
        for y in range(2):
            weight = histograms[bundle, y, 0, joint] + histograms[bundle, y, 1, joint]
            leaves[leaf, y] += scale[y] * weight
            rows_in_leaves[leaf, y] += n_rows_of[y, bundle, joint]
    return best


# --- A round's passes over the rows ---------------------------------------------------------------


@_compiled
def advance(
    column: Array,
    left: Array,
    right_step: float,
    left_step: float,
    threshold: float,
    learner_too: bool,
    margin: Array,
    sample_weight: Array,
    blocks: Array,
    first: int,
    last: int,
    positives: Array,
) -> None:
    """Add α·h to the margin, one step per leaf, and weigh the positive predictions of each block.

    ``positives[b]`` = weight of rows with margin > 0, with margin > threshold, and, if ``learner_too``, with h = +1. An
    empty ``sample_weight`` means one each.
    """
    weighted = sample_weight.shape[0] > 0
    steps = np.empty(256)
    for code in range(left.shape[0]):
        steps[code] = left_step if left[code] else right_step
    for b in range(first, last):
        start, stop = blocks[b, 1], blocks[b, 2]
        if weighted:
            above_zero, above_threshold, by_learner = 0.0, 0.0, 0.0
            for i in range(start, stop):
                step = steps[column[i]]
                margin[i] += step
                above_zero += sample_weight[i] if margin[i] > 0.0 else 0.0
                above_threshold += sample_weight[i] if margin[i] > threshold else 0.0
                by_learner += sample_weight[i] if step > 0.0 else 0.0
            positives[b, 0], positives[b, 1], positives[b, 2] = above_zero, above_threshold, by_learner
        else:
            n_zero, n_threshold, n_learner = 0, 0, 0
            if threshold == 0.0 and not learner_too:
                for i in range(start, stop):
                    moved = margin[i] + steps[column[i]]
                    margin[i] = moved
                    n_zero += moved > 0.0
                n_threshold = n_zero
            else:
                for i in range(start, stop):
                    step = steps[column[i]]
                    margin[i] += step
                    n_zero += margin[i] > 0.0
                    n_threshold += margin[i] > threshold
                    n_learner += step > 0.0
            positives[b, 0], positives[b, 1], positives[b, 2] = n_zero, n_threshold, n_learner


@_compiled
def sum_per_cell(blocks: Array, per_block: Array, which: int, n_groups: int, sums: Array) -> None:
    """``sums[group, y]`` = sum of ``per_block[b, which]`` over the blocks of the cell, in their order."""
    sums[:] = 0.0
    for b in range(blocks.shape[0]):
        sums[blocks[b, 0] % n_groups, blocks[b, 0] // n_groups] += per_block[b, which]


@_compiled
def fill_counts(blocks: Array, positives: Array, which: int, totals: Array, counts: Array) -> None:
    """``counts[group, y_true, y_pred]`` from the positive predictions per block and ``totals[group, y_true]``."""
    n_groups = totals.shape[0]
    counts[:] = 0.0
    for b in range(blocks.shape[0]):
        counts[blocks[b, 0] % n_groups, blocks[b, 0] // n_groups, 1] += positives[b, which]
    for g in range(n_groups):
        for y in range(2):
            counts[g, y, 0] = max(totals[g, y] - counts[g, y, 1], 0.0)  # sums of weights may round


@_compiled
def relative_changes(
    costs: Array,
    right_boost: float,
    left_boost: float,
    right_vote: int,
    left_vote: int,
    group_sizes: Array,
    rows_in_leaves: Array,
    scale: Array,
    changes: Array,
) -> None:
    """By how much the rows of each cell and leaf change, relative to what most rows of their class do.

    Rows in a leaf that votes for the other class are multiplied by ``costs[group, y] * boost``, all others stay. The
    most common factor of a class goes to ``scale[y]``; ``changes[cell, leaf]`` is the factor relative to it, minus one.
    Each group is taken to be spread over the leaves as its class is: that decides how many rows are changed, not how.
    """
    n_groups = costs.shape[0]
    for y in range(2):
        factors = changes[y * n_groups : (y + 1) * n_groups]
        for g in range(n_groups):
            factors[g, 0] = costs[g, y] * right_boost if (right_vote > 0) != (y == 1) else 1.0
            factors[g, 1] = costs[g, y] * left_boost if (left_vote > 0) != (y == 1) else 1.0
        common, most = 1.0, -1
        for g in range(n_groups):
            for leaf in range(2):
                n_rows = 0
                for other in range(n_groups):
                    for other_leaf in range(2):
                        if factors[other, other_leaf] == factors[g, leaf]:
                            n_rows += group_sizes[y * n_groups + other] * rows_in_leaves[other_leaf, y]
                if n_rows > most:
                    common, most = factors[g, leaf], n_rows
        scale[y] *= common
        for g in range(n_groups):
            for leaf in range(2):
                factors[g, leaf] = factors[g, leaf] / common - 1.0


@_compiled
def sum_weights(sums: Array, n_negative_blocks: int, scale: Array) -> float:
    """The sum of all weights from the sums of the blocks."""
    total = 0.0
    for b in range(sums.shape[0]):
        total += sums[b, 0] * scale[0 if b < n_negative_blocks else 1]
    return total


@_compiled
def change_weights(
    column: Array,
    left: Array,
    changes: Array,
    weights: Array,
    blocks: Array,
    first: int,
    last: int,
    rows: Array,
    gains: Array,
    n_rows: Array,
    sums: Array,
) -> None:
    """Add ``weight · changes[cell, leaf]`` to the weights, and list which rows gained how much.

    Where the change is 0 nothing happens. Block b lists its ``n_rows[b]`` rows from position ``blocks[b, 1]`` on;
    ``sums[b, 0]`` is kept the sum of its weights.
    """
    for b in range(first, last):
        start, stop = blocks[b, 1], blocks[b, 2]
        right_change, left_change = changes[blocks[b, 0], 0], changes[blocks[b, 0], 1]
        n, gained = start, 0.0
        if right_change != 0.0 and left_change != 0.0:
            for i in range(start, stop):
                gain = weights[i] * (left_change if left[column[i]] else right_change)
                weights[i] += gain
                rows[i], gains[i] = i, gain
                gained += gain
            n = stop
        elif right_change != 0.0 or left_change != 0.0:
            changed = 1 if left_change != 0.0 else 0
            change = left_change + right_change
            # Every row is written, but the place moves on only behind one that counts: no branch to mispredict.
            for i in range(start, stop):
                counts = left[column[i]] == changed
                gain = weights[i] * change if counts else 0.0
                weights[i] += gain
                rows[n], gains[n] = i, gain
                gained += gain
                n += counts
        n_rows[b] = n - start
        sums[b, 0] += gained


@_compiled
def count_rows(codes: Array, n_negative: int, first: int, last: int, n_rows_of: Array) -> None:
    """``n_rows_of[y, f, code]`` = number of rows of class y, for first ≤ f < last."""
    for f in range(first, last):
        column = codes[f]
        for i in range(column.shape[0]):
            n_rows_of[0 if i < n_negative else 1, f, column[i]] += 1


@_compiled
def sum_mistakes(
    column: Array, left: Array, wrong: Array, weights: Array, blocks: Array, first: int, last: int, sums: Array
) -> None:
    """``sums[b, 1]`` = weight of the rows of block b in a leaf that is wrong for their cell, ``wrong[cell, leaf]``."""
    for b in range(first, last):
        is_wrong = wrong[blocks[b, 0]]
        total = 0.0
        for i in range(blocks[b, 1], blocks[b, 2]):
            total += weights[i] if is_wrong[left[column[i]]] else 0.0
        sums[b, 1] = total


# --- Prediction -----------------------------------------------------------------------------------


@_compiled
def add_steps(codes: Array, steps: Array, margin: Array) -> None:
    """``margin += steps[codes]``."""
    for i in range(margin.shape[0]):
        margin[i] += steps[codes[i]]
