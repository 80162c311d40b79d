"""The compiled inner loops, and the only module that imports numba.

Free functions over arrays: the caller allocates, the kernel fills. They release the GIL, so that ordinary threads can
share the work. Training rows are sorted by class and, within it, by group. A *cell* is one (class, group), a *block* a
run of rows within one cell, ``(cell, first row, last row + 1)``: inside a block the class, the group and hence the cost
of a mistake are constants, and what belongs to its rows fits into the cache.

Sums are taken block by block in a fixed order, never thread by thread, so no result depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ._codes import MISSING

Array = NDArray[Any]

GINI, ERROR = 0, 1
# Two scores this close (relative to the total weight) are equal: the first candidate wins, whatever the rounding.
TIE = 1e-12


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use and keep the result on disk, or in memory only where no folder can be written to."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


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
    """``histograms[f, y, codes[f, row]] += gain`` for first ≤ f < last, for the rows listed per block.

    Here f counts bundles. Block b lists ``n_rows[b]`` rows from position ``blocks[b, 1]`` on. Four at a time: sums
    that do not wait for each other, and a row's number and gain are read once for all four.
    """
    for b in range(blocks.shape[0]):
        start, stop = blocks[b, 1], blocks[b, 1] + n_rows[b]
        if start == stop:
            continue
        y = 1 if blocks[b, 0] >= n_groups else 0
        f = first
        while f + 4 <= last:
            column0, column1, column2, column3 = codes[f], codes[f + 1], codes[f + 2], codes[f + 3]
            sums0, sums1 = histograms[f, y], histograms[f + 1, y]
            sums2, sums3 = histograms[f + 2, y], histograms[f + 3, y]
            for k in range(start, stop):
                row, gain = rows[k], gains[k]
                sums0[column0[row]] += gain
                sums1[column1[row]] += gain
                sums2[column2[row]] += gain
                sums3[column3[row]] += gain
            f += 4
        while f < last:
            column0, sums0 = codes[f], histograms[f, y]
            for k in range(start, stop):
                sums0[column0[rows[k]]] += gains[k]
            f += 1


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

    ``histograms[b, y, joint code]`` are those of the bundles; ``code_of[f, joint code]`` tells a feature's code.

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
            hist[code[joint], 0] += histograms[bundle, 0, joint]
            hist[code[joint], 1] += histograms[bundle, 1, joint]
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
    bundle_of: Array,
    code_of: Array,
    categorical: Array,
    total: float,
    scores: Array,
    splits: Array,
    missing_left: Array,
    left: Array,
    leaves: Array,
) -> int:
    """The feature with the best split. ``left[joint code]`` is 1 for the left leaf, ``leaves[leaf, y]`` its weight.

    Leaf 1 is the left one. If no feature can be split, everything is on the left.
    """
    best = 0
    for f in range(1, scores.shape[0]):
        if scores[f] > scores[best] + TIE * total:
            best = f
    leaves[:] = 0.0
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
        left[joint] = goes_left
        leaves[left[joint], 0] += histograms[bundle, 0, joint]
        leaves[left[joint], 1] += histograms[bundle, 1, joint]
    return best


# --- A round's passes over the rows ---------------------------------------------------------------


@_compiled
def advance(
    column: Array,
    steps: Array,
    threshold: float,
    learner_too: bool,
    margin: Array,
    sample_weight: Array,
    blocks: Array,
    first: int,
    last: int,
    positives: Array,
) -> None:
    """Add α·h to the margin, ``steps[code]``, and weigh the positive predictions of each block.

    ``positives[b]`` = weight of rows with margin > 0, with margin > threshold, and, if ``learner_too``, with h = +1. An
    empty ``sample_weight`` means one each.
    """
    weighted = sample_weight.shape[0] > 0
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
def sum_per_cell(blocks: Array, per_block: Array, which: int, per_cell: Array) -> None:
    """``per_cell[cell]`` = sum of ``per_block[b, which]`` over the blocks of the cell, in their order."""
    per_cell[:] = 0.0
    for b in range(blocks.shape[0]):
        per_cell[blocks[b, 0]] += per_block[b, which]


@_compiled
def boost_mistakes(
    column: Array,
    left: Array,
    boosts: Array,
    weights: Array,
    blocks: Array,
    first: int,
    last: int,
    rows: Array,
    gains: Array,
    n_rows: Array,
    sums: Array,
) -> None:
    """Add ``weight · boosts[cell, leaf]`` to the weights, and list which rows gained how much.

    ``boosts`` is 0 for the leaves that classify the cell correctly. Block b lists its ``n_rows[b]`` rows from position
    ``blocks[b, 1]`` on; ``sums[b, 0]`` is kept the sum of its weights.
    """
    for b in range(first, last):
        start, stop = blocks[b, 1], blocks[b, 2]
        right_boost, left_boost = boosts[blocks[b, 0], 0], boosts[blocks[b, 0], 1]
        n, gained = start, 0.0
        if right_boost > 0.0 and left_boost > 0.0:
            for i in range(start, stop):
                gain = weights[i] * (left_boost if left[column[i]] else right_boost)
                weights[i] += gain
                rows[i], gains[i] = i, gain
                gained += gain
            n = stop
        elif right_boost > 0.0 or left_boost > 0.0:
            wrong = 1 if left_boost > 0.0 else 0
            boost = left_boost + right_boost
            # Every row is written, but the place moves on only behind a mistake: no branch to mispredict.
            for i in range(start, stop):
                mistake = left[column[i]] == wrong
                gain = weights[i] * boost if mistake else 0.0
                weights[i] += gain
                rows[n], gains[n] = i, gain
                gained += gain
                n += mistake
        n_rows[b] = n - start
        sums[b, 0] += gained


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
