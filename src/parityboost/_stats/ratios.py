"""Shares of several groups, their ratios to the highest, their largest gap and lowest ratio, with intervals.

Shares have intervals that all hold at the same time. Counts are whole, so those of Clopper and Pearson hold more often
than they say, and of ten groups of 30 in 99 % of samples: Blaker's, which look at both tails at once, are shorter, and
here half-way to mid-P ones (``OWN``).

A ratio to the highest share is the smallest of the ratios to any group. Whoever may be the highest, by what chance can
do, is taken in turn: a limit of a ratio is then the smallest of the limits of the ratios to each of those. In the same
way a limit of the largest gap (lowest ratio) is the largest (smallest) of the limits of the pairs. A limit of a pair is
made of how far the limits of either share are (Newcombe's method; of ratios, on the scale of logarithms).

How far that has to be depends on which groups are equal. The limit on the side of equality fails if chance draws equal
groups apart, and the more of them the easier. The limit on the other side fails if the groups that are furthest apart
come too close, and is the worse the fewer they are. So groups count as equal to the highest (lowest) as long as chance
may explain the difference: where that is so for both ends, the first limit allows for all of them to be equal, and the
second one for none. Critical values are those of groups of the same size, drawn from their order statistics. No cost
grows faster than the number of groups.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrik, betainc, betaincinv, ndtr, ndtri

from .._arrays import Floats
from .intervals import UNDEFINED, Interval, Rates

OWN = 0.85  # how much of the probability of what was observed counts as evidence for a share: 1 Blaker's, 1/2 mid-P
STEPS = 64  # between which a limit of a share is looked for: a step is about a hundredth of a standard error
CORRECTION = 0.25  # of a person, towards the share: 0 is Clopper and Pearson's interval, 1/2 about the mid-P one
MAYBE_HIGHEST = 3.5  # standard errors below the highest, and a group is not the highest, for its ratios
MAYBE_FURTHEST = 2.5  # the same for the groups that are furthest apart
BEYOND = 0.7  # of all errors, those of lower limits of ratios where several groups may be the highest
N_DRAWS = 50_000  # of order statistics
MANY = 64  # more groups, and only those at the edge are compared
ANGLES = 33  # at which the edge is looked for


class Limits(NamedTuple):
    """Values and their limits, per group; NaN where they are not defined."""

    value: Floats
    lower: Floats
    upper: Floats


def simultaneous_shares(rates: Rates, confidence: float) -> Limits:
    """The share of each group, and limits that hold for all groups at once: groups are independent."""
    there = rates.n > 0
    error = 1.0 - confidence ** (1.0 / max(int(there.sum()), 1))
    lower, upper = np.full((2, len(rates.n)), np.nan)
    share, n = rates.value[there], rates.n[there]
    lower[there] = np.minimum(_lower_limit(share * n, n, error), share)
    upper[there] = np.maximum(1.0 - _lower_limit(n - share * n, n, error), share)
    return Limits(rates.value, lower, upper)


def _lower_limit(found: Floats, n: Floats, error: float) -> Floats:
    """The smallest shares of which as many as were found are no surprise, by both tails together."""
    some, others = np.maximum(found, 1e-9), np.maximum(n - found, 1e-9)
    low, high = (betaincinv(some, others + 1.0, min(part * error, 0.5)) for part in (0.5, 4.0))
    share = low + (high - low) * np.linspace(0.0, 1.0, STEPS)[:, None]
    this_many, more = betainc(some, others + 1.0, share), betainc(some + 1.0, others, share)
    # As unlikely on the other side: counts that go up in ones from the remainder of the one that was found.
    remainder = found % 1.0
    few = np.maximum(np.floor(bdtrik(this_many, n, share) - remainder + 1e-9) + remainder, remainder)
    as_few = 1.0 - betainc(few + 1.0, np.maximum(n - few, 1e-9), share)
    as_few = np.where(as_few <= this_many * (1.0 + 1e-9), as_few, 0.0)
    likely = OWN * this_many + (1.0 - OWN) * more + as_few > error
    limit: Floats = share[np.maximum(likely.argmax(axis=0) - 1, 0), np.arange(len(n))]
    return np.where(found > 0, limit, 0.0)


def ratios_to_highest(rates: Rates, confidence: float) -> Limits:
    """The share of each group divided by the highest, and limits that hold for all groups at once.

    Not defined if no group has any.
    """
    there = np.flatnonzero(rates.n > 0)
    value, lower, upper = np.full((3, len(rates.n)), np.nan)
    share, n = rates.value[there], rates.n[there]
    if len(there) == 0 or share.max() == 0:
        return Limits(value, lower, upper)
    value[there] = share / share.max()
    log = _Logarithms(share, n)
    best = np.flatnonzero(_may_be_highest(log.value, log.variance, MAYBE_HIGHEST))
    for limits, sign, z in zip(
        (lower, upper), (-1.0, 1.0), _critical_of_ratios(len(best), len(n), confidence), strict=True
    ):
        below, above = log.sides(z)
        edge = best[_edge(log.value[best], below[best], above[best])]
        own, other = (below, above) if sign < 0 else (above, below)
        limit = np.exp(log.value[:, None] - log.value[edge] + sign * np.hypot(own[:, None], other[edge]))
        limit[np.arange(len(n))[:, None] == edge] = 1.0  # a group as a share of itself
        limits[there] = np.minimum(limit.min(axis=1), 1.0)
    return Limits(value, np.fmin(lower, value), np.fmax(upper, value))


def largest_gap(rates: Rates, confidence: float) -> Interval:
    """The largest difference between the shares of two groups."""
    own = rates.n > 0
    share, n = rates.value[own], rates.n[own]
    if len(n) < 2:
        return UNDEFINED
    smooth = (share * n + 0.5) / (n + 1.0)

    def sides(z: float) -> tuple[Floats, Floats]:
        lower, upper = _corrected(share, n, z)
        at_half = (
            0.5 * z / np.sqrt(n)
        )  # see intervals: a side that passes one half is as long as the variance there asks
        down, up = share - lower, upper - share
        down = np.where((lower < 0.5) & (share > 0.5), np.maximum(down, at_half), down)
        return down, np.where((upper > 0.5) & (share < 0.5), np.maximum(up, at_half), up)

    lower, upper = _furthest_apart(share, smooth * (1.0 - smooth) / n, sides, confidence)
    return Interval(float(np.ptp(share)), max(lower, 0.0), min(upper, 1.0))


def lowest_ratio(rates: Rates, confidence: float) -> Interval:
    """The lowest share divided by the highest; not defined if no group has any."""
    own = rates.n > 0
    share, n = rates.value[own], rates.n[own]
    if len(n) < 2 or share.max() == 0:
        return UNDEFINED
    log = _Logarithms(share, n)
    lower, upper = _furthest_apart(log.value, log.variance, log.sides, confidence)
    value = float(share.min() / share.max())
    return Interval(value, min(float(np.exp(-upper)), value), max(min(float(np.exp(-lower)), 1.0), value))


class _Logarithms:
    """Of shares, with their variances: half a person is added to those who are selected and to those who are not."""

    def __init__(self, share: Floats, n: Floats) -> None:
        self.share, self.n = share, n
        self.smooth = (share * n + 0.5) / (n + 1.0)
        self.value: Floats = np.log(self.smooth)
        self.variance: Floats = (1.0 - self.smooth) / (n * self.smooth)

    def sides(self, z: float) -> tuple[Floats, Floats]:
        """How far the limits are below and above."""
        lower, upper = _corrected(self.share, self.n, z)
        with np.errstate(divide="ignore"):
            return np.log(self.smooth / np.minimum(lower, self.smooth)), np.log(np.maximum(upper / self.smooth, 1.0))


def _corrected(share: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Limits of shares between Clopper and Pearson's, which are too wide for many groups at once, and mid-P ones."""
    tail, found = ndtr(-z), share * n

    def lower(some: Floats, others: Floats) -> Floats:
        limit = betaincinv(np.maximum(some, 1e-9) + CORRECTION, others + 1.0 - CORRECTION, tail)
        return np.where(some > 0, limit, 0.0)

    return np.minimum(lower(found, n - found), share), np.maximum(1.0 - lower(n - found, found), share)


def _may_be_highest(value: Floats, variance: Floats, errors: float) -> NDArray[np.bool_]:
    """The groups of which chance may explain that they are not the highest."""
    top = int(np.argmax(value - np.sqrt(variance)))
    near: NDArray[np.bool_] = (value[top] - value) / np.sqrt(variance + variance[top]) < errors
    return near


def _furthest_apart(
    value: Floats, variance: Floats, sides: Callable[[float], tuple[Floats, Floats]], confidence: float
) -> tuple[float, float]:
    """Limits of the largest difference of two of these values, whose own limits are so far at a critical value."""
    high, low = (_may_be_highest(end, variance, MAYBE_FURTHEST) for end in (value, -value))
    if (high & low).any():
        critical = _critical_of_pair(int((high | low).sum()), 0, confidence), float(ndtri(confidence))
    else:
        critical = (_critical_of_pair(int(high.sum()), int(low.sum()), confidence),) * 2
    limits = []
    for sign, z in zip((-1.0, 1.0), critical, strict=True):
        down, up = sides(z)
        edge = _edge(value, down, up)
        own, other = (down, up) if sign < 0 else (up, down)
        limit = value[edge][:, None] - value[edge] + sign * np.hypot(own[edge][:, None], other[edge])
        np.fill_diagonal(limit, -np.inf)
        limits.append(float(limit.max()))
    return limits[0], limits[1]


def _edge(value: Floats, down: Floats, up: Floats) -> NDArray[np.intp]:
    """The groups that the limits of differences are made of: of many, those that are first or second at some angle.

    The length of (a, b) is the largest of a cos t + b sin t, so the furthest upper limit is one of those at the edge. A
    lower limit that is missing makes the interval a little wider.
    """
    if len(value) <= MANY:
        return np.arange(len(value))
    parts = np.cos(np.linspace(0.0, 0.5 * np.pi, ANGLES))
    ends = (sign * value + part * side for part in parts for sign, side in ((1, up), (1, -down), (-1, -up), (-1, down)))
    return np.unique([np.argpartition(-end, 1)[:2] for end in ends])


@cache
def _critical_of_ratios(n_best: int, n_groups: int, confidence: float) -> tuple[float, float]:
    """Critical values of the lower and the upper limits of all ratios, if so many groups may be the highest."""
    if n_groups == 1:
        return 0.0, 0.0
    upper = _critical_of_equal(n_best, n_groups, confidence)
    if n_best == 1:
        return upper, upper
    once = 1.0 - BEYOND * (1.0 - confidence)
    one, others = _normal(1, 0), _normal(n_groups - 1, 1)
    drawn = float(np.quantile(others - one, once) / np.sqrt(2.0))
    return min(upper, max(drawn, float(ndtri(once ** (1.0 / (n_groups - 1)))))), upper


@cache
def _critical_of_equal(n_best: int, n_groups: int, confidence: float) -> float:
    """If these are equal and the highest: how far any group may be off from any of them, or they from each other."""
    best = _normal(n_best, 0)
    spread = best - _lowest_below(best, n_best, 1)
    independent = 0.0
    if n_best < n_groups:
        others = _normal(n_groups - n_best, 2)
        spread = np.maximum(spread, np.maximum(others - best, best - _lowest_below(others, n_groups - n_best, 3)))
        # A highest group that is large has hardly an error in common with the others.
        independent = float(ndtri(0.5 + 0.5 * confidence ** (1.0 / (n_groups - n_best))))
    return max(float(np.quantile(spread, confidence) / np.sqrt(2.0)), independent)


@cache
def _critical_of_pair(n_high: int, n_low: int, confidence: float) -> float:
    """Of the largest difference between so many equal groups and so many others; or of that among equal ones."""
    high = _normal(n_high, 0)
    furthest = high + _normal(n_low, 2) if n_low else high - _lowest_below(high, n_high, 1)
    return float(np.quantile(np.abs(furthest), confidence) / np.sqrt(2.0))


@cache
def _uniform() -> Floats:
    return np.random.default_rng(0).random((4, N_DRAWS))


def _normal(n: int, stream: int) -> Floats:
    """The largest of n standard normal numbers, drawn many times."""
    drawn: Floats = ndtri(_uniform()[stream] ** (1.0 / n))
    return drawn


def _lowest_below(largest: Floats, n: int, stream: int) -> Floats:
    """The smallest of n numbers of which these are the largest."""
    if n == 1:
        return largest
    drawn: Floats = ndtri(ndtr(largest) * -np.expm1(np.log(_uniform()[stream]) / (n - 1)))
    return drawn
