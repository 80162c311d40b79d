"""Between the plain and the fair model: their tables blended, F₀ + w·(F₁ − F₀)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import ALPHA_GRID, Floats, on_grid
from .._table.binning import Binner
from .._table.values import listed
from .tables import Effects

# From plain (0) to fair (1) and beyond.
WEIGHTS = tuple(k / 10 for k in range(21))
FAIR = WEIGHTS.index(1.0)


@dataclass(frozen=True)
class Dial:
    """Both ends, with the same cells of pairs, and where the blends between and beyond them are."""

    plain: Effects
    fair: Effects
    spreads: tuple[Floats, Floats]  # of either end: how far its trainings differ, [feature, code]
    covariance: Floats  # over the trainings, of what a feature does at one end and at the other
    shares: tuple[Floats, Floats]  # of either end: each feature's importance
    orders: NDArray[np.int8] | None  # per feature 1 or -1 if the score may only rise or fall with it
    weights: tuple[float, ...]  # those that keep the orders

    def spread(self, w: float) -> Floats:
        """How far the trainings of a blend differ."""
        plain, fair = self.spreads
        if w in (0.0, 1.0):
            return fair if w else plain
        variance = ((1 - w) * plain) ** 2 + (w * fair) ** 2 + 2 * w * (1 - w) * self.covariance
        return np.sqrt(np.maximum(variance, 0.0))

    def importances(self, w: float) -> Floats:
        """Each feature's share of the weights of all learners, of which those of the plain model count 1 - w."""
        plain, fair = self.shares
        return (abs(1 - w) * plain + abs(w) * fair) / (abs(1 - w) + abs(w))

    def place(self, w: Any, binner: Binner) -> int:
        """The position of a weight among those that thresholds were chosen for."""
        at = nearest(w)
        if at >= len(self.weights):
            beyond = blend(self.plain, self.fair, WEIGHTS[len(self.weights)])
            names = [binner.columns[feature].name for feature in unordered(beyond, self.orders, binner)]
            raise ValueError(
                f"fairness must be at most {self.weights[-1]} for monotonic_cst to hold, got {w!r}: above 1 the plain "
                "model is subtracted from the fair one, and the score would no longer only rise, or only fall, with "
                f"{listed(names)}"
            )
        return at


def ordered_weights(plain: Effects, fair: Effects, orders: Any, binner: Binner) -> tuple[float, ...]:
    """The weights whose blends rise and fall as both ends do: all up to 1, since a mean does, and maybe some beyond."""
    if orders is None:
        return WEIGHTS
    last = FAIR
    while last + 1 < len(WEIGHTS) and not unordered(blend(plain, fair, WEIGHTS[last + 1]), orders, binner):
        last += 1
    return WEIGHTS[: last + 1]


def unordered(effects: Effects, orders: Any, binner: Binner) -> list[int]:
    """The features that the score does not rise or fall with as it should, whatever the other features are."""
    found = []
    for feature in np.flatnonzero(orders).tolist():
        codes = np.arange(1, binner.columns[feature].n_bins + 1)
        steps = orders[feature] * np.diff(effects.tables[feature, codes])
        pairs = [pair for pair in effects.pairs if feature in pair.features]
        for pair in pairs:
            is_first = pair.features[0] == feature
            scores = pair.scores[pair.row_of[codes]] if is_first else pair.scores.T[pair.column_of[codes]]
            # The other features of the pairs differ, so each of them can be at its worst.
            steps = steps + (orders[feature] * np.diff(scores, axis=0)).min(axis=1)
        if (steps < -(1 + len(pairs)) * ALPHA_GRID).any():  # more than what rounding the tables can do
            found.append(feature)
    return found


def blend(plain: Effects, fair: Effects, w: float) -> Effects:
    """F₀ + w·(F₁ − F₀); at 0 and 1 the tables themselves."""
    if w in (0.0, 1.0):
        return fair if w else plain
    tables, *scores = (
        on_grid(a + w * (b - a))
        for a, b in [
            (plain.tables, fair.tables),
            *((a.scores, b.scores) for a, b in zip(plain.pairs, fair.pairs, strict=True)),
        ]
    )
    pairs = (replace(pair, scores=scores) for pair, scores in zip(plain.pairs, scores, strict=True))
    return Effects(tables, tuple(pairs))


def nearest(w: Any) -> int:
    """The position of a weight among those that thresholds were chosen for."""
    number = float(w) if isinstance(w, (int, float, np.number)) and not isinstance(w, (bool, np.bool_)) else np.nan
    at = round(number * 10) if np.isfinite(number) else -1
    if not (0 <= at < len(WEIGHTS) and abs(number - WEIGHTS[at]) < 1e-9):
        raise ValueError(
            f"fairness must be one of 0.0, 0.1, 0.2, … {WEIGHTS[-1]}: 0 is the plain model, 1 the fair one, got {w!r}"
        )
    return at
