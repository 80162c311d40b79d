"""Between the plain and the fair model: their tables blended, F₀ + w·(F₁ − F₀), and a threshold for each w."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Floats
from .calibration import Calibrator
from .grid import all_on_grid
from .pairs import Effects

# From plain (0) to fair (1) and beyond. Thresholds are chosen for these, and kept, so that they are there after load.
WEIGHTS = tuple(k / 10 for k in range(21))
FAIR = WEIGHTS.index(1.0)


@dataclass(frozen=True)
class Point:
    """What was chosen for one weight, on rows that were held out."""

    threshold: Any  # one, or one per group
    ber: float
    violation: float
    calibrator: Calibrator


@dataclass(frozen=True)
class Dial:
    """Both ends, with the same cells of pairs, and the points between and beyond them."""

    plain: Effects
    fair: Effects
    points: tuple[Point, ...]  # one per weight

    def effects(self, w: float) -> Effects:
        """The tables of a blend."""
        return blend(self.plain, self.fair, w)


def blend(plain: Effects, fair: Effects, w: float) -> Effects:
    """F₀ + w·(F₁ − F₀); at 0 and 1 the tables themselves."""
    if w in (0.0, 1.0):
        return fair if w else plain
    return Effects(
        _between(plain.tables, fair.tables, w),
        [replace(a, scores=_between(a.scores, b.scores, w)) for a, b in zip(plain.pairs, fair.pairs, strict=True)],
    )


def _between(plain: Floats, fair: Floats, w: float) -> Floats:
    return all_on_grid(plain + w * (fair - plain))


def nearest(w: Any) -> int:
    """The position of a weight among those that thresholds were chosen for."""
    number = float(w) if isinstance(w, (int, float, np.number)) and not isinstance(w, (bool, np.bool_)) else np.nan
    at = round(number * 10) if np.isfinite(number) else -1
    if not (0 <= at < len(WEIGHTS) and abs(number - WEIGHTS[at]) < 1e-9):
        raise ValueError(
            f"fairness must be one of 0.0, 0.1, 0.2, … {WEIGHTS[-1]}: 0 is the plain model, 1 the fair one, got {w!r}"
        )
    return at
