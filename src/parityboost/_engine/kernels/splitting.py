"""The best split of a node from the histograms of its rows.

Histograms hold integers; ``units[y]`` is what one of them weighs in class y. Leaves are added up as integers and only
then turned into floats, so that equal leaves weigh the same to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..codes import MISSING
from .compiling import Array, compiled, compiled_inner, compiled_lean

GINI, ERROR = 0, 1
# Two scores this close (relative to the total weight) are equal: the first candidate wins, whatever the rounding.
TIE = 1e-12
# The sides of a split.
RIGHT, LEFT = 0, 1
# No leaf is surer than half the log-odds of 1 + DOUBT to DOUBT.
DOUBT = 0.1


class Columns(NamedTuple):
    """What a search for splits has to know about the columns, by feature."""

    bundle_of: Array
    code_of: Array  # [feature, joint code]
    n_joint: Array  # by bundle
    n_bins: Array
    categorical: Array
    has_missing: Array
    has_other: Array
    orders: Array  # 1 or -1 where the score may only rise or fall with the feature, else 0


class Found(NamedTuple):
    """The best split of each feature, by feature; a score of -1 where there is none."""

    scores: Array
    splits: Array
    missing_left: Array


@compiled_inner
def leaf_score(criterion: int, negative: float, positive: float) -> float:
    """How pure a leaf is, weighted; larger is better.

    Gini: the proxy that scikit-learn's trees maximise. Error: the weight that the leaf's majority gets right.
    """
    if criterion == ERROR:
        return max(negative, positive)
    if negative + positive > 0.0:
        return (negative * negative + positive * positive) / (negative + positive)
    return 0.0


@compiled_lean
def split_score(
    criterion: int,
    negative: int,
    positive: int,
    all_negative: int,
    all_positive: int,
    negative_unit: float,
    positive_unit: float,
    prior: float,
) -> float:
    """The score of a split whose left leaf holds these sums, of all that there are, and ``prior`` more of each class.

    So a small leaf has to be purer than a large one to be worth as much; the error does not mind. Without any rows a
    leaf would then be better than with a few, so a split that leaves one is none: -1.
    """
    if prior > 0.0 and (negative + positive == 0 or (all_negative == negative and all_positive == positive)):
        return -1.0
    left: float = leaf_score(criterion, negative * negative_unit + prior, positive * positive_unit + prior)
    right: float = leaf_score(
        criterion,
        (all_negative - negative) * negative_unit + prior,
        (all_positive - positive) * positive_unit + prior,
    )
    return left + right


@compiled_lean
def is_in_order(
    order: int,
    limits: Array,
    negative: int,
    positive: int,
    all_negative: int,
    all_positive: int,
    negative_unit: float,
    positive_unit: float,
) -> bool:
    """Whether a split is allowed where the score may only rise (``order`` 1) or only fall (-1) with a feature.

    The share of positives must not fall from the left leaf to the right one (or not rise), and in both it has to be
    between ``limits[0]`` and ``limits[1]``: so the leaves below a split stay on the side of it where they belong. A
    leaf of less weight than ``limits[2]`` votes -1 whatever its share is; where the share has to mean +1, the vote has
    to be +1 as well. A leaf without rows has no share, so a split that leaves one is not allowed.
    """
    left_negative, left_positive = negative * negative_unit, positive * positive_unit
    right_negative = (all_negative - negative) * negative_unit
    right_positive = (all_positive - positive) * positive_unit
    if left_negative + left_positive <= 0.0 or right_negative + right_positive <= 0.0:
        return False
    left = left_positive / (left_negative + left_positive)
    right = right_positive / (right_negative + right_positive)
    left_votes, right_votes = left_positive - left_negative > limits[2], right_positive - right_negative > limits[2]
    if min(left, right) < limits[0] or max(left, right) > limits[1]:
        return False
    if limits[0] > 0.5 and not (left_votes and right_votes):
        return False
    if order > 0:
        return left <= right and (left + right <= 1.0 or right_votes)
    if order < 0:
        return right <= left and (left + right <= 1.0 or left_votes)
    return True


@compiled
def best_splits(
    histograms: Array,
    units: Array,
    columns: Columns,
    criterion: int,
    allowed: Array,
    limits: Array,
    prior: float,
    first: int,
    last: int,
    found: Found,
) -> None:
    """Best split of the features first ≤ f < last; ``histograms[bundle, y, :, joint code]`` are of bundles.

    A numeric column is split after bin s: bins 1…s go left. A categorical column is split at category s: bin s goes
    left, all others right, also those that share the bin *other* after the last. Missing values (bin 0) try both sides,
    and separating them from all else is a split too.

        bins      0 | 1  2  3  4                 0 | 1  2  3  4  other
        numeric   ? | L  L  R  R   s = 2         ? | R  L  R  R    R    s = 2   categorical
        numeric   R | L  L  L  L   s = n_bins    L | R  R  R  R    R    s = 0   categorical

    Only features that are ``allowed[f]`` are split, and only as ``orders[f]`` and ``limits`` allow (``is_in_order``).
    """
    hist = np.empty((256, 2), dtype=np.int64)
    for f in range(first, last):
        best_split(histograms, units, columns, criterion, allowed, limits, prior, f, hist, found)


@compiled_inner
def best_split(
    histograms: Array,
    units: Array,
    columns: Columns,
    criterion: int,
    allowed: Array,
    limits: Array,
    prior: float,
    f: int,
    hist: Array,
    found: Found,
) -> None:
    """The best split of one feature; ``hist`` is room for its histogram."""
    bundle_of, code_of, n_joint, n_bins, categorical, has_missing, has_other, orders = columns
    scores, splits, missing_left = found
    negative_unit, positive_unit = units[0], units[1]
    is_limited = limits[0] > 0.0 or limits[1] < 1.0
    scores[f], splits[f], missing_left[f] = -1.0, 0, False
    if not allowed[f]:
        return
    bundle = bundle_of[f]
    bins, is_categorical, code = n_bins[f], categorical[f], code_of[f]
    n_values = bins + 1 if has_other[f] else bins
    hist[: n_values + 1] = 0
    for joint in range(n_joint[bundle]):
        hist[code[joint], 0] += histograms[bundle, 0, 0, joint] + histograms[bundle, 0, 1, joint]
        hist[code[joint], 1] += histograms[bundle, 1, 0, joint] + histograms[bundle, 1, 1, joint]
    all_negative, all_positive = np.int64(0), np.int64(0)  # typed: numba would compile what it calls for a literal too
    for b in range(n_values + 1):
        all_negative += hist[b, 0]
        all_positive += hist[b, 1]
    total = all_negative * negative_unit + all_positive * positive_unit
    tie = TIE * total
    some_missing = has_missing[f] and hist[MISSING, 0] + hist[MISSING, 1] > 0
    order, no_order = np.int64(orders[f]), np.int64(0)
    is_bound = is_limited or order != 0

    negative, positive = np.int64(0), np.int64(0)  # the left leaf, missing values not counted
    for s in range(1, bins + 1):
        if is_categorical:
            negative, positive = hist[s, 0], hist[s, 1]
        else:
            negative += hist[s, 0]
            positive += hist[s, 1]
        values_on_the_right = n_values > 1 if is_categorical else s < bins
        if not some_missing:
            if not values_on_the_right:
                continue
            score = split_score(
                criterion, negative, positive, all_negative, all_positive, negative_unit, positive_unit, prior
            )
            if score > scores[f] + tie:
                if is_bound and not is_in_order(
                    order, limits, negative, positive, all_negative, all_positive, negative_unit, positive_unit
                ):
                    continue
                scores[f], splits[f] = score, s
                # No row tells where missing belongs: it is not the category s, or goes to the heavier side.
                left = negative * negative_unit + positive * positive_unit
                missing_left[f] = not is_categorical and left >= 0.5 * total - tie
            continue
        for turn in range(2):
            goes_left = (turn == 0) != is_categorical  # a missing value is first of all not the category s
            if goes_left and not values_on_the_right:
                continue
            left_negative = negative + hist[MISSING, 0] if goes_left else negative
            left_positive = positive + hist[MISSING, 1] if goes_left else positive
            score = split_score(
                criterion,
                left_negative,
                left_positive,
                all_negative,
                all_positive,
                negative_unit,
                positive_unit,
                prior,
            )
            if score > scores[f] + tie:
                if is_bound and not is_in_order(
                    order if values_on_the_right else no_order,  # what is missing is neither below nor above the rest
                    limits,
                    left_negative,
                    left_positive,
                    all_negative,
                    all_positive,
                    negative_unit,
                    positive_unit,
                ):
                    continue
                scores[f], splits[f], missing_left[f] = score, s, goes_left
    if is_categorical and some_missing and n_values > 1:
        negative, positive = hist[MISSING, 0], hist[MISSING, 1]
        score = split_score(
            criterion, negative, positive, all_negative, all_positive, negative_unit, positive_unit, prior
        )
        if score > scores[f] + tie and (
            not is_limited
            or is_in_order(
                no_order, limits, negative, positive, all_negative, all_positive, negative_unit, positive_unit
            )
        ):
            scores[f], splits[f], missing_left[f] = score, 0, True


@compiled_lean
def choose_split(
    histograms: Array, columns: Columns, total: float, found: Found, leaf_of_code: Array, leaf_sums: Array
) -> int:
    """The feature with the best split, and the two leaves that the split makes.

    ``leaf_of_code[joint code]`` is the leaf, ``leaf_sums[leaf, y]`` are the sums of its rows' integers. If nothing can
    be split, everything is on the left.
    """
    scores, splits, missing_left = found
    best = 0
    for f in range(1, scores.shape[0]):
        if scores[f] > scores[best] + TIE * total:
            best = f
    leaf_sums[:] = 0
    bundle = columns.bundle_of[best]
    for joint in range(leaf_of_code.shape[0]):
        code = columns.code_of[best, joint]
        if scores[best] < 0.0:
            goes_left = True
        elif code == MISSING:
            goes_left = missing_left[best]
        elif columns.categorical[best]:
            goes_left = code == splits[best]
        else:
            goes_left = code <= splits[best]
        leaf = LEFT if goes_left else RIGHT
        leaf_of_code[joint] = leaf
        for y in range(2):
            leaf_sums[leaf, y] += histograms[bundle, y, 0, joint] + histograms[bundle, y, 1, joint]
    return best


@compiled_lean
def vote_of(negative: float, positive: float, total: float, rate: float, grid: float) -> tuple[float, float, float]:
    """Vote of a leaf, the share of its weight that agrees with it, and the weight that does not.

    It votes -1 or 1, and -1 if both weigh the same; or, if there is a ``rate``, with that much of
    ½ ln(positive / negative), a multiple of the ``grid``, and 0 without weight. That grows with the share of positives
    and with nothing else, so that votes are in order where shares have to be.
    """
    is_positive = positive - negative > TIE * total
    right, wrong = (positive, negative) if is_positive else (negative, positive)
    weight = negative + positive
    share = right / weight if weight > 0.0 else 1.0
    if rate == 0.0:
        return 1.0 if is_positive else -1.0, share, wrong
    if weight <= 0.0:
        return 0.0, share, wrong
    log_odds = math.log((positive / weight + DOUBT) / (negative / weight + DOUBT))
    return np.rint(rate * (0.5 * log_odds) / grid) * grid + 0.0, share, wrong  # never -0.0
