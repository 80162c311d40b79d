"""Rates of a confusion table per group.

Everything the algorithm and its evaluation need is a function of ``counts[..., group, y_true, y_pred]``, the (weighted)
number of instances of each group, true class and predicted class. Leading axes are free: one table, one per round, or
one per decision threshold all go through the same line of NumPy.

A rate whose denominator is empty (a group without positives has no TPR) is NaN, and NaN never takes part in a gap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._arrays import Floats

NEGATIVE, POSITIVE = 0, 1
Rate = Callable[[Floats], Floats]


def _of_groups(example: str) -> Callable[[Rate], Rate]:
    """What the docstrings of all rates go on with, each with what its example gives."""

    def document(rate: Rate) -> Rate:
        rate.__doc__ = f"""{rate.__doc__}

    Parameters
    ----------
    counts : ndarray of shape (..., n_groups, 2, 2)
        Instances by group, true class and predicted class; class 1 is the positive one.

    Returns
    -------
    ndarray of shape (..., n_groups)
        NaN for a group without such instances.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.notions import {rate.__name__}
    >>> counts = np.array([[[30, 10], [10, 50]], [[40, 20], [10, 30]]])
    >>> {rate.__name__}(counts).round(2).tolist()
    {example}
    """
        return rate

    return document


def ratio(part: Floats, whole: Floats) -> Floats:
    """``part / whole``, NaN where there is nothing to divide by."""
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0; a part is never larger than the whole
        return part / whole


@_of_groups("[0.6, 0.5]")
def selection_rate(counts: Floats) -> Floats:
    """The share of a group that is predicted positive: P(ŷ = + | group), equation 1 of the paper."""
    selected = counts[..., NEGATIVE, POSITIVE] + counts[..., POSITIVE, POSITIVE]
    return ratio(selected, selected + counts[..., NEGATIVE, NEGATIVE] + counts[..., POSITIVE, NEGATIVE])


@_of_groups("[0.17, 0.25]")
def false_negative_rate(counts: Floats) -> Floats:
    """The share of a group's positives that is missed: P(ŷ ≠ y | group, y = +), equation 2."""
    missed = counts[..., POSITIVE, NEGATIVE]
    return ratio(missed, missed + counts[..., POSITIVE, POSITIVE])


@_of_groups("[0.25, 0.33]")
def false_positive_rate(counts: Floats) -> Floats:
    """The share of a group's negatives that is predicted positive: P(ŷ ≠ y | group, y = −), equation 3."""
    alarms = counts[..., NEGATIVE, POSITIVE]
    return ratio(alarms, alarms + counts[..., NEGATIVE, NEGATIVE])


@_of_groups("[0.83, 0.75]")
def true_positive_rate(counts: Floats) -> Floats:
    """The share of a group's positives that is found: P(ŷ = y | group, y = +)."""
    found = counts[..., POSITIVE, POSITIVE]
    return ratio(found, found + counts[..., POSITIVE, NEGATIVE])


@_of_groups("[0.75, 0.67]")
def true_negative_rate(counts: Floats) -> Floats:
    """The share of a group's negatives that is predicted negative: P(ŷ = y | group, y = −)."""
    left_alone = counts[..., NEGATIVE, NEGATIVE]
    return ratio(left_alone, left_alone + counts[..., NEGATIVE, POSITIVE])


@_of_groups("[0.8, 0.7]")
def accuracy(counts: Floats) -> Floats:
    """The share of a group that is predicted rightly: P(ŷ = y | group)."""
    correct = counts[..., NEGATIVE, NEGATIVE] + counts[..., POSITIVE, POSITIVE]
    return ratio(correct, correct + counts[..., NEGATIVE, POSITIVE] + counts[..., POSITIVE, NEGATIVE])


def base_rate(counts: Floats) -> Floats:
    """P(y = + | group)."""
    positives = counts[..., POSITIVE, NEGATIVE] + counts[..., POSITIVE, POSITIVE]
    return ratio(positives, positives + counts[..., NEGATIVE, NEGATIVE] + counts[..., NEGATIVE, POSITIVE])


@_of_groups("[0.83, 0.6]")
def precision(counts: Floats) -> Floats:
    """Of those in a group who are predicted positive, the share that is: P(y = + | group, ŷ = +)."""
    right = counts[..., POSITIVE, POSITIVE]
    return ratio(right, right + counts[..., NEGATIVE, POSITIVE])


def spread(rates: Floats) -> Floats:
    """Largest minus smallest rate over the groups that have one; for two groups |δ|.

    NaN where fewer than two of several groups have the rate: there is nothing to compare, which is not the same as no
    difference. A single group in all differs from nobody.
    """
    result: Floats = np.fmax.reduce(rates, axis=-1) - np.fmin.reduce(rates, axis=-1)
    undefined = np.isnan(rates)
    if rates.shape[-1] > 1 and undefined.any():
        result = np.where((~undefined).sum(axis=-1) < 2, np.nan, result)
    return result


def lowest_share(rates: Floats) -> Floats:
    """Smallest rate divided by the largest, over the groups that have one: 1 if all are equal, rates of 0 included.

    NaN where fewer than two of several groups have the rate.
    """
    low, high = np.fmin.reduce(rates, axis=-1), np.fmax.reduce(rates, axis=-1)
    shares = np.where(high == 0, 1.0, ratio(low, high))
    return np.where(np.isnan(spread(rates)), np.nan, shares)


def error_rate(counts: Floats) -> Floats:
    """ER over all groups, Eq. (5)."""
    return 1.0 - accuracy(counts.sum(-3))


def balanced_error_rate(counts: Floats) -> Floats:
    """BER over all groups, Eq. (6); if only one class is present, that class's error."""
    total = counts.sum(-3)
    fnr, fpr = false_negative_rate(total), false_positive_rate(total)
    both = 0.5 * (fnr + fpr)
    return np.where(np.isnan(both), np.fmax(fnr, fpr), both)
