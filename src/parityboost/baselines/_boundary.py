"""Decisions whose boundary depends on the group: what AdaBoost SDB and FAE share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from ._base import DecidesByGroup

# Rates closer than this are equal, whatever the rounding.
SAME_RATE = 1e-12


class Boundaries(DecidesByGroup):
    """A score per row and, for each group, the boundary above which a score means the positive class.

    A subclass sets ``thresholds_``, one per group, and gives the scores.
    """

    _result = "thresholds_"
    thresholds_: Floats

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """One score per row, before any boundary."""

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """The score minus the boundary of the instance's group; positive means the positive class."""
        X = self._read_new(X)
        group = self._read_groups_of(X, sensitive_features)
        return self._scores(X) - self.thresholds_[group]

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Class labels. The decision depends on the group, so the sensitive attribute is needed here as well."""
        return self._labels(self.decision_function(X, sensitive_features=sensitive_features) > 0)


def match_rate(
    scores: Floats,
    positive: NDArray[np.bool_],
    counted: NDArray[np.bool_],
    weights: Floats,
    target: float,
    usual: float,
) -> float:
    """The boundary for one group that brings the share of ``counted`` rows above it nearest to ``target``.

    Candidates are ``usual``, the midpoints between neighbouring distinct scores, and boundaries below and above all of
    them. Sorted by score, the rows below a boundary are a prefix, so that the rates and the errors of all candidates
    are cumulative sums. Among equals the most accurate wins, then the one nearest to ``usual``, then the lower.
    """
    order = np.argsort(scores, kind="stable")
    ordered, weight = scores[order], weights[order]
    stops = np.append(np.flatnonzero(ordered[1:] > ordered[:-1]) + 1, len(ordered))  # rows below a boundary
    below = np.append(0, stops)
    lower, upper = np.append(-np.inf, ordered[stops - 1]), np.append(ordered[below[:-1]], np.inf)
    with np.errstate(invalid="ignore"):  # the two ends are replaced
        boundaries = lower / 2 + upper / 2
    # The midpoint of two neighbouring floats may round to the upper one, which is then no longer above it.
    boundaries = np.where(boundaries >= upper, lower, boundaries)
    boundaries[0], boundaries[-1] = np.nextafter(ordered[0], -np.inf), ordered[-1]
    boundaries[(lower <= usual) & (usual < upper)] = usual

    def sums(values: Floats) -> Floats:
        so_far: Floats = np.append(0.0, np.cumsum(values))[below]
        return so_far

    counts = np.where(counted[order], weight, 0.0)
    rate = 1.0 - sums(counts) / counts.sum()
    # Right are the negatives below the boundary and the positives above it: the same up to a constant.
    right = sums(np.where(positive[order], -weight, weight)) / weight.sum()
    gap = np.abs(rate - target)
    nearest = gap <= gap.min() + SAME_RATE
    best = nearest & (right >= right[nearest].max() - SAME_RATE)
    candidates = boundaries[best]
    return float(candidates[np.argmin(np.abs(candidates - usual))])
