"""Shares of several groups and their ratios to the highest, with intervals that all hold at the same time.

A ratio to the highest share is the smallest of the ratios to any group. Whoever may be the highest, by what chance can
do, is taken in turn: a limit of a ratio is then the smallest of the limits of the ratios to each of those. All limits
have one critical value, which is large enough whether one of those groups is the highest or all are equal. Drawn by a
parametric bootstrap, as for differences.

The ratio of two shares has the limits of its logarithm: how far away they are is made of how far the limits of either
share are, which are exact ones. So they are not too narrow for small groups either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._arrays import Floats
from .intervals import Rates, critical_z, exact

MAYBE_HIGHEST = 3.5  # standard errors below the highest, and a group is not the highest
N_DRAWS = 4_000  # of all groups' shares, for the critical value


class Limits(NamedTuple):
    """Values and their limits, per group; NaN where they are not defined."""

    value: Floats
    lower: Floats
    upper: Floats


def simultaneous_shares(rates: Rates, confidence: float) -> Limits:
    """The share of each group, and limits that hold for all groups at once: groups are independent."""
    there = rates.n > 0
    z = critical_z(confidence ** (1.0 / max(int(there.sum()), 1)))
    lower, upper = np.full((2, len(rates.n)), np.nan)
    lower[there], upper[there] = exact(rates.value[there], rates.n[there], z)
    return Limits(rates.value, lower, upper)


def ratios_to_highest(rates: Rates, confidence: float, rng: np.random.Generator) -> Limits:
    """The share of each group divided by the highest, and limits that hold for all groups at once.

    Not defined if no group has any.
    """
    there = np.flatnonzero(rates.n > 0)
    value, lower, upper = np.full((3, len(rates.n)), np.nan)
    share, n = rates.value[there], rates.n[there]
    if len(there) == 0 or share.max() == 0:
        return Limits(value, lower, upper)
    value[there] = share / share.max()
    smooth = (share * n + 0.5) / (n + 1.0)
    deviation = np.sqrt((1.0 - smooth) / (n * smooth))  # of the logarithm
    best = _maybe_highest(share, n)
    critical = _critical(deviation, best, confidence, rng)
    low, high = exact(share, n, critical)
    with np.errstate(divide="ignore"):
        below, above = np.log(smooth / low), np.log(np.maximum(high, smooth) / smooth)
    below = np.maximum(below, 0.0)
    ratio = np.log(smooth)[:, None] - np.log(smooth[best])
    limits = (
        np.exp(ratio - np.hypot(below[:, None], above[best])),
        np.exp(ratio + np.hypot(above[:, None], below[best])),
    )
    own = there[:, None] == there[best]  # a group as a share of itself is 1
    lower[there], upper[there] = (np.minimum(np.where(own, 1.0, limit).min(axis=1), 1.0) for limit in limits)
    return Limits(value, np.fmin(lower, value), np.fmax(upper, value))


def _maybe_highest(share: Floats, n: Floats) -> NDArray[np.intp]:
    """The groups of which chance may explain that they are not the highest."""
    smooth = (share * n + 1.0) / (n + 2.0)
    variance = smooth * (1.0 - smooth) / n
    top = int(np.argmax(share - np.sqrt(variance)))
    behind = (share[top] - share) / np.sqrt(variance + variance[top])
    return np.flatnonzero(behind < MAYBE_HIGHEST)


def _critical(deviation: Floats, best: NDArray[np.intp], confidence: float, rng: np.random.Generator) -> float:
    """The critical value with which all limits hold as often as they should, in the worst of the cases there may be."""
    z = critical_z(confidence)
    if len(deviation) < 3:
        return z
    errors = rng.standard_normal((N_DRAWS, len(deviation))) * deviation
    scale = np.hypot(deviation[:, None], deviation[best])
    highest = np.zeros((len(best), N_DRAWS))  # error of any ratio, if this one is the highest
    equal = np.zeros(N_DRAWS)  # how far above 1 a ratio among them lies, if all of them are
    for k, of in enumerate(best.tolist()):
        error = (errors - errors[:, [of]]) / scale[:, k]
        highest[k] = np.abs(error).max(axis=1)
        equal = np.maximum(equal, -error.min(axis=1))
    found = max(float(np.quantile(worst, confidence)) for worst in (*highest, equal))
    return max(found, float(ndtri(confidence)))
