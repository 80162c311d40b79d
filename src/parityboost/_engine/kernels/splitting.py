"""The best split of a node from the histograms of its rows.

Histograms hold integers; ``units[y]`` is what one of them weighs in class y. Leaves are added up as integers and only
then turned into floats, so that equal leaves weigh the same to the last bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._arrays import MISSING
from ..cpu import Grown
from .compiling import Array, compiled_inside

Given = tuple[int, float, float, float, Array, Array]  # criterion, prior, units by class; scores and splits found

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
    ranks: Array  # [feature, place]: codes of categories by their share of positives among all training rows


class Found(NamedTuple):
    """The best split of each feature, by feature; a score of -1 where there is none."""

    scores: Array
    splits: Array
    missing_left: Array
    categories: Array  # [feature, code]: whether a code goes left, where codes are categories
    order: Array  # [feature, place]: these codes by their share of positives, and the share of each
    shares: Array


class Weighing(NamedTuple):
    """How splits are judged, and how leaves vote."""

    criterion: int
    units: Array  # what an integer of each class weighs
    total: float  # all weight
    prior: float  # what each class of a leaf is given besides
    rate: float  # of votes by log-odds, or 0: see ``vote_of``
    grid: float
    row: float  # the weight of an average row, for how far categories differ by chance; -1 to split them one by one
    smooth: float  # the least that each category is given besides when they are put in order


class Search(NamedTuple):
    """What trees are grown from and with."""

    histograms: Array
    mass_of: Array  # [y, bundle, joint code]: sample weight of all rows
    columns: Columns
    allowed: Array  # by feature
    found: Found
    grown: Grown
    hist: Array  # see ``best_splits``


@compiled_inside
def leaf_score(criterion: int, negative: float, positive: float) -> float:
    """How pure a leaf is, weighted; larger is better.

    Gini: the proxy that scikit-learn's trees maximise. Error: the weight that the leaf's majority gets right.
    """
    if criterion == ERROR:
        return max(negative, positive)
    if negative + positive > 0.0:
        return (negative * negative + positive * positive) / (negative + positive)
    return 0.0


@compiled_inside
def split_score(criterion: int, prior: float, left: tuple[float, float], right: tuple[float, float]) -> float:
    """The score of a split into leaves of such weights by class, and ``prior`` more of each class.

    So a small leaf has to be purer than a large one to be worth as much; the error does not mind. Without any rows a
    leaf would then be better than with a few, so a split that leaves one is none: -1.
    """
    if prior > 0.0 and (left[0] + left[1] == 0.0 or right[0] + right[1] == 0.0):
        return -1.0
    of_left: float = leaf_score(criterion, left[0] + prior, left[1] + prior)
    of_right: float = leaf_score(criterion, right[0] + prior, right[1] + prior)
    return of_left + of_right


@compiled_inside
def is_in_order(order: int, limits: Array, left: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether a split is allowed where the score may only rise (``order`` 1) or only fall (-1) with a feature.

    The share of positives must not fall from the left leaf to the right one (or not rise), and in both it has to be
    between ``limits[0]`` and ``limits[1]``: so the leaves below a split stay on the side of it where they belong. A
    leaf of less weight than ``limits[2]`` votes -1 whatever its share is; where the share has to mean +1, the vote has
    to be +1 as well. A leaf without rows has no share, so a split that leaves one is not allowed.
    """
    if left[0] + left[1] <= 0.0 or right[0] + right[1] <= 0.0:
        return False
    of_left, of_right = left[1] / (left[0] + left[1]), right[1] / (right[0] + right[1])  # shares
    left_votes, right_votes = left[1] - left[0] > limits[2], right[1] - right[0] > limits[2]
    if min(of_left, of_right) < limits[0] or max(of_left, of_right) > limits[1]:
        return False
    if limits[0] > 0.5 and not (left_votes and right_votes):
        return False
    if order > 0:
        return of_left <= of_right and (of_left + of_right <= 1.0 or right_votes)
    if order < 0:
        return of_right <= of_left and (of_left + of_right <= 1.0 or left_votes)
    return True


@compiled_inside
def is_better(
    f: int, s: int, left: tuple[int, int], both: tuple[int, int], order: int, limits: Array, tie: float, given: Given
) -> bool:
    """Whether a split is allowed that has these sums on the left, and better than what was found: then it is found."""
    criterion, prior, negative_unit, positive_unit, scores, splits = given
    of_left = left[0] * negative_unit, left[1] * positive_unit
    of_right = (both[0] - left[0]) * negative_unit, (both[1] - left[1]) * positive_unit
    score = split_score(criterion, prior, of_left, of_right)
    if not score > scores[f] + tie:
        return False
    if order != 0 or limits[0] > 0.0 or limits[1] < 1.0:  # noqa: SIM102  (most often it is not asked)
        if not is_in_order(order, limits, of_left, of_right):
            return False
    scores[f], splits[f] = score, s
    return True


@compiled_inside
def best_splits(
    histograms: Array, search: Search, weighing: Weighing, limits: Array, hist: Array, first: int, last: int
) -> None:
    """Best split of the features first ≤ f < last; ``histograms[bundle, y, :, joint code]`` are of bundles.

    A numeric column is split after bin s: bins 1…s go left. A categorical column is split at category s: bin s goes
    left, all others right, also those that share the bin *other* after the last. Missing values (bin 0) try both sides,
    and separating them from all else is a split too. Or any set of categories goes left: see ``best_set``.

        bins      0 | 1  2  3  4                 0 | 1  2  3  4  other
        numeric   ? | L  L  R  R   s = 2         ? | R  L  R  R    R    s = 2   categorical
        numeric   R | L  L  L  L   s = n_bins    L | R  R  R  R    R    s = 0   categorical

    Only features that are ``allowed[f]`` are split, and only as ``orders[f]`` and ``limits`` allow (``is_in_order``).
    ``hist[code, class]`` is room for the histogram of a feature.
    """
    bundle_of, code_of, n_joint, n_bins, categorical, has_missing, has_other, orders, ranks = search.columns
    scores, splits, missing_left = search.found.scores, search.found.splits, search.found.missing_left
    categories = search.found.categories
    negative_unit, positive_unit = weighing.units[0], weighing.units[1]
    given = weighing.criterion, weighing.prior, negative_unit, positive_unit, scores, splits
    for f in range(first, last):
        scores[f], splits[f], missing_left[f] = -1.0, 0, False
        if not search.allowed[f]:
            continue
        bundle = bundle_of[f]
        bins, is_categorical, code = n_bins[f], categorical[f], code_of[f]
        n_values = bins + 1 if has_other[f] else bins
        hist[: n_values + 1] = 0
        for joint in range(n_joint[bundle]):
            hist[code[joint], 0] += histograms[bundle, 0, 0, joint] + histograms[bundle, 0, 1, joint]
            hist[code[joint], 1] += histograms[bundle, 1, 0, joint] + histograms[bundle, 1, 1, joint]
        all_negative, all_positive = np.int64(0), np.int64(0)
        for b in range(n_values + 1):
            all_negative += hist[b, 0]
            all_positive += hist[b, 1]
        total = all_negative * negative_unit + all_positive * positive_unit
        tie = TIE * total
        both, missing = (all_negative, all_positive), (hist[MISSING, 0], hist[MISSING, 1])
        some_missing = has_missing[f] and missing[0] + missing[1] > 0
        if is_categorical and weighing.row >= 0.0:
            best_set(f, hist, n_values, both, weighing.row, weighing.smooth, ranks[f], search.found, limits, tie, given)
            continue
        order, none = np.int64(orders[f]), np.int64(0)  # typed: numba would compile for a literal too
        negative, positive = none, none  # the left leaf, missing values not counted
        for s in range(1, bins + 1):
            if is_categorical:
                negative, positive = hist[s, 0], hist[s, 1]
            else:
                negative += hist[s, 0]
                positive += hist[s, 1]
            values_on_the_right = n_values > 1 if is_categorical else s < bins
            if not some_missing:
                if values_on_the_right and is_better(f, s, (negative, positive), both, order, limits, tie, given):
                    # No row tells where missing belongs: it is not the category s, or goes to the heavier side.
                    left = negative * negative_unit + positive * positive_unit
                    missing_left[f] = not is_categorical and left >= 0.5 * total - tie
                continue
            for turn in range(2):
                goes_left = (turn == 0) != is_categorical  # a missing value is first of all not the category s
                if goes_left and not values_on_the_right:
                    continue
                on_left = (negative + missing[0], positive + missing[1]) if goes_left else (negative, positive)
                way = order if values_on_the_right else none  # what is missing is neither below nor above the rest
                if is_better(f, s, on_left, both, way, limits, tie, given):
                    missing_left[f] = goes_left
        if is_categorical and some_missing and n_values > 1:  # noqa: SIM102
            if is_better(f, none, missing, both, none, limits, tie, given):
                missing_left[f] = True
        if is_categorical:
            categories[f, :] = False
            categories[f, splits[f]] = True
            categories[f, MISSING] = missing_left[f]


@compiled_inside
def best_set(
    f: int,
    hist: Array,
    n_values: int,
    both: tuple[int, int],
    row: float,
    smooth: float,
    ranks: Array,
    found: Found,
    limits: Array,
    tie: float,
    given: Given,
) -> None:
    """The best split of a column of categories into two sets of them; missing is a category like others.

    In the order of their shares of positives, one of the splits between neighbours is the best of all. But where
    hundreds of categories hardly differ, most of that order is chance. So they are split in the order that they have
    among all training rows, which no round is fitted to, and then in that of the rows that are here, as far as it is
    believed: see ``believe``. What has no rows here goes where most do.
    """
    negative_unit, positive_unit = given[2], given[3]
    order, share = found.order[f], found.shares[f]
    n = 0
    for code in range(n_values + 1):
        share[code] = np.inf
        if hist[code, 0] + hist[code, 1] > 0:
            positives = hist[code, 1] * positive_unit
            share[code] = positives / (hist[code, 0] * negative_unit + positives)
            n += 1
    split_in_order(f, hist, n, ranks, both, found, limits, tie, given)
    believe(hist, n_values, both, row, smooth, share, given)
    for k in range(1, n_values + 1):  # last time's order is nearly this one's
        code, at = order[k], k
        while at > 0:
            before = order[at - 1]
            if share[before] < share[code] or (share[before] == share[code] and before < code):
                break
            order[at] = before
            at -= 1
        order[at] = code
    split_in_order(f, hist, n, order, both, found, limits, tie, given)
    if found.scores[f] >= 0.0:
        found.missing_left[f] = found.categories[f, MISSING]


@compiled_inside
def believe(
    hist: Array, n_values: int, both: tuple[int, int], row: float, smooth: float, share: Array, given: Given
) -> None:
    """Draw the shares of categories towards that of all, as far as they may differ by chance.

    What a category differs by is believed by half if its weight is the variance of a row by that of the categories,
    which is what their shares vary by beyond chance (DerSimonian and Laird, 1986), or ``smooth`` if that is more. If
    they do not vary by more than chance, nothing is believed.
    """
    negative_unit, positive_unit = given[2], given[3]
    total = both[0] * negative_unit + both[1] * positive_unit
    of_all = both[1] * positive_unit / total if total > 0.0 else 0.0
    variance, squares, n = 0.0, 0.0, 0
    for code in range(n_values + 1):
        if hist[code, 0] + hist[code, 1] > 0:
            weight = hist[code, 0] * negative_unit + hist[code, 1] * positive_unit
            variance += weight * (share[code] - of_all) ** 2
            squares += weight * weight
            n += 1
    by_chance = of_all * (1.0 - of_all) * row
    beyond = variance - (n - 1) * by_chance
    half = np.inf
    if beyond > 0.0:
        half = max(by_chance * (total - squares / total) / beyond, smooth)
    for code in range(n_values + 1):
        if hist[code, 0] + hist[code, 1] > 0:
            weight = hist[code, 0] * negative_unit + hist[code, 1] * positive_unit
            share[code] = of_all + weight / (weight + half) * (share[code] - of_all)


@compiled_inside
def split_in_order(
    f: int,
    hist: Array,
    n: int,
    order: Array,
    both: tuple[int, int],
    found: Found,
    limits: Array,
    tie: float,
    given: Given,
) -> None:
    """The best split between neighbours among the ``n`` categories with rows, if it is better than what was found.

    It is judged by the shares that are known of them.
    """
    negative_unit, positive_unit = given[2], given[3]
    share, goes_left = found.shares[f], found.categories[f]
    of_positives = both[1] * positive_unit
    total = both[0] * negative_unit + of_positives
    negative, positive = np.int64(0), np.int64(0)
    believed, n_left, best, rest_left = 0.0, 0, 0, False
    for k in range(order.shape[0]):
        code = order[k]
        if hist[code, 0] + hist[code, 1] == 0:
            continue
        n_left += 1
        if n_left >= n:
            break
        negative += hist[code, 0]
        positive += hist[code, 1]
        left = negative * negative_unit, positive * positive_unit
        right = (both[0] - negative) * negative_unit, (both[1] - positive) * positive_unit
        believed += (hist[code, 0] * negative_unit + hist[code, 1] * positive_unit) * share[code]
        left_weight = left[0] + left[1]
        positives = min(max(believed, 0.0), left_weight)
        score = split_score(
            given[0],
            given[1],
            (left_weight - positives, positives),
            (total - left_weight - (of_positives - positives), of_positives - positives),
        )
        if score > found.scores[f] + tie:
            if (limits[0] > 0.0 or limits[1] < 1.0) and not is_in_order(np.int64(0), limits, left, right):
                continue
            found.scores[f], found.splits[f] = score, n_left
            best, rest_left = n_left, left_weight >= 0.5 * total - tie
    if best == 0:
        return
    goes_left[:] = rest_left
    n_left = 0
    for k in range(order.shape[0]):
        if hist[order[k], 0] + hist[order[k], 1] > 0:
            goes_left[order[k]] = n_left < best
            n_left += 1
            if n_left == n:
                break


@compiled_inside
def choose_split(
    histograms: Array, columns: Columns, total: float, found: Found, leaf_of_code: Array, leaf_sums: Array
) -> int:
    """The feature with the best split, and the two leaves that the split makes.

    ``leaf_of_code[joint code]`` is the leaf, ``leaf_sums[leaf, y]`` are the sums of its rows' integers. If nothing can
    be split, everything is on the left.
    """
    scores, splits, missing_left = found.scores, found.splits, found.missing_left
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
        elif columns.categorical[best]:
            goes_left = found.categories[best, code]
        elif code == MISSING:
            goes_left = missing_left[best]
        else:
            goes_left = code <= splits[best]
        leaf = LEFT if goes_left else RIGHT
        leaf_of_code[joint] = leaf
        for y in range(2):
            leaf_sums[leaf, y] += histograms[bundle, y, 0, joint] + histograms[bundle, y, 1, joint]
    return best


@compiled_inside
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
