"""The compiled inner loops, and the only module that imports numba.

Free functions over arrays: the caller allocates, the kernel fills. They release the GIL, so that ordinary threads can
share the work. Training rows are sorted by class and, within it, by group. A *cell* is one (class, group), a *block* a
run of rows within one cell: inside a block the class, the group and hence the cost of a mistake are constants.

Sums are taken feature by feature or block by block in a fixed order, never thread by thread, so the result does not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ._binning import MISSING

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


@_compiled
def fill_histograms(codes: Array, weights: Array, n_negative: int, first: int, last: int, histograms: Array) -> None:
    """``histograms[f, y, code]`` = weight of the rows of class y with that code, for first ≤ f < last."""
    n_rows = codes.shape[1]
    for f in range(first, last):
        column = codes[f]
        histograms[f] = 0.0
        negative, positive = histograms[f, 0], histograms[f, 1]
        for i in range(n_negative):
            negative[column[i]] += weights[i]
        for i in range(n_negative, n_rows):
            positive[column[i]] += weights[i]


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
    """Best split of each feature first ≤ f < last; ``scores[f]`` is -1 where a feature has none.

    A numeric column is split after bin s: bins 1…s go left. A categorical column is split at category s: bin s goes
    left, all others right. Missing values (bin 0) try both sides, and separating them from all else is a split too.

        bins      0 | 1  2  3  4                 0 | 1  2  3  4
        numeric   ? | L  L  R  R   s = 2         ? | R  L  R  R   s = 2   categorical
        numeric   R | L  L  L  L   s = n_bins    L | R  R  R  R   s = 0   categorical
    """
    for f in range(first, last):
        hist, bins, is_categorical = histograms[f], n_bins[f], categorical[f]
        all_negative, all_positive = 0.0, 0.0
        for b in range(bins + 1):
            all_negative += hist[0, b]
            all_positive += hist[1, b]
        total = all_negative + all_positive
        tie = TIE * total
        scores[f], splits[f], missing_left[f] = -1.0, 0, False

        negative, positive = 0.0, 0.0  # the left leaf, missing values not counted
        for s in range(1, bins + 1):
            if is_categorical:
                negative, positive = hist[0, s], hist[1, s]
            else:
                negative += hist[0, s]
                positive += hist[1, s]
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
                left_negative = negative + hist[0, MISSING] if goes_left else negative
                left_positive = positive + hist[1, MISSING] if goes_left else positive
                score = split_score(criterion, left_negative, left_positive, all_negative, all_positive)
                if score > scores[f] + tie:
                    scores[f], splits[f], missing_left[f] = score, s, goes_left
        if is_categorical and has_missing[f] and bins > 1:
            score = split_score(criterion, hist[0, MISSING], hist[1, MISSING], all_negative, all_positive)
            if score > scores[f] + tie:
                scores[f], splits[f], missing_left[f] = score, 0, True


@_compiled
def advance(
    column: Array,
    votes: Array,
    alpha: float,
    threshold: float,
    margin: Array,
    sample_weight: Array,
    blocks: Array,
    first: int,
    last: int,
    positives: Array,
) -> None:
    """Add α·h to the margin and weigh the positive predictions, block by block.

    ``positives[b]`` = weight of rows with margin > 0, with margin > threshold, and with h = +1. An empty
    ``sample_weight`` means one each.
    """
    weighted = sample_weight.shape[0] > 0
    step = np.empty(votes.shape[0])
    for code in range(votes.shape[0]):
        step[code] = alpha * votes[code]
    for b in range(first, last):
        above_zero, above_threshold, by_learner = 0.0, 0.0, 0.0
        for i in range(blocks[b, 1], blocks[b, 2]):
            weight = sample_weight[i] if weighted else 1.0
            code = column[i]
            margin[i] += step[code]
            if margin[i] > 0.0:
                above_zero += weight
            if margin[i] > threshold:
                above_threshold += weight
            if votes[code] > 0:
                by_learner += weight
        positives[b, 0], positives[b, 1], positives[b, 2] = above_zero, above_threshold, by_learner


@_compiled
def multiply_weights(
    column: Array, factors: Array, weights: Array, blocks: Array, first: int, last: int, sums: Array
) -> None:
    """``weights *= factors[cell, code]``; ``sums[b]`` = new weight of block b."""
    for b in range(first, last):
        factor = factors[blocks[b, 0]]
        total = 0.0
        for i in range(blocks[b, 1], blocks[b, 2]):
            weights[i] *= factor[column[i]]
            total += weights[i]
        sums[b] = total


@_compiled
def sum_marked(column: Array, marks: Array, weights: Array, blocks: Array, first: int, last: int, sums: Array) -> None:
    """``sums[b]`` = weight of the rows of block b whose code is marked for their cell."""
    for b in range(first, last):
        mark = marks[blocks[b, 0]]
        total = 0.0
        for i in range(blocks[b, 1], blocks[b, 2]):
            if mark[column[i]]:
                total += weights[i]
        sums[b] = total


@_compiled
def look_up(codes: Array, tables: Array, first: int, last: int, margin: Array) -> None:
    """``margin[i] = Σ_f tables[f, codes[f, i]]``: a sum of stumps is one table per feature."""
    for i in range(first, last):
        margin[i] = 0.0
    for f in range(codes.shape[0]):
        table, column = tables[f], codes[f]
        for i in range(first, last):
            margin[i] += table[column[i]]
