"""The grid of learner weights and thresholds: what makes sums of them exact."""

from __future__ import annotations

import numpy as np

from .._arrays import Floats

# Learner weights are multiples of this. Sums of thousands of them are then exact in float64, so a margin is the same to
# the last bit in whatever order it is added up (round by round, per feature, elsewhere), and a tie is a tie.
ALPHA_GRID = 2.0**-36
# Thresholds lie half-way between margins: they need a finer grid for the same to hold of them.
THRESHOLD_GRID = ALPHA_GRID / 16
LARGE_THRESHOLD = 2.0**12  # beyond any margin, and too large for a multiple of the grid


def on_grid(value: float) -> float:
    """The nearest multiple of ``ALPHA_GRID``."""
    return round(value / ALPHA_GRID) * ALPHA_GRID


def on_fine_grid(value: float) -> float:
    """The nearest multiple of ``THRESHOLD_GRID``."""
    return value if abs(value) > LARGE_THRESHOLD else round(value / THRESHOLD_GRID) * THRESHOLD_GRID


def all_on_grid(values: Floats) -> Floats:
    """The nearest multiples of ``ALPHA_GRID``."""
    rounded: Floats = np.rint(values / ALPHA_GRID) * ALPHA_GRID
    return rounded
