"""What arrays hold: names for their types, the codes of values, the grid of scores; and where an array lives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]
Codes = NDArray[np.uint8]
Rows = NDArray[Any] | slice

# A code is the one byte that stands for a value of a column.
X_BINNED_DTYPE = np.uint8  # hence MAX_BINS values and one code for missing
MAX_BINS = 255
MAX_CATEGORIES = MAX_BINS - 1  # one more code is for all other categories
N_CODES = MAX_BINS + 1
MISSING = 0

BLOCK_ROWS = 1 << 13  # at most, in a block of rows: what a kernel needs of them stays in the cache
# What training places of each row besides its codes, at most: margin, weight, sample weight, two lists with gains.
BYTES_PER_ROW = 8 + 8 + 8 + 2 * 12

# Learner weights are multiples of this. Sums of thousands of them are then exact in float64, so a margin is the same to
# the last bit in whatever order it is added up (round by round, per feature, elsewhere), and a tie is a tie.
ALPHA_GRID = 2.0**-36
# Thresholds lie half-way between margins: they need a finer grid for the same to hold of them.
THRESHOLD_GRID = ALPHA_GRID / 16
LARGE_THRESHOLD = 2.0**12  # beyond any margin, and too large for a multiple of the grid


def room(*fields: tuple[Any, ...]) -> list[Any]:
    """Arrays to be filled, such as a record has, from the dtype and the shape of each."""
    return [np.zeros(shape, dtype) for dtype, *shape in fields]


def on_grid(values: Floats) -> Floats:
    """The nearest multiples of ``ALPHA_GRID``."""
    rounded: Floats = np.rint(values / ALPHA_GRID) * ALPHA_GRID
    return rounded


def on_fine_grid(value: float) -> float:
    """The nearest multiple of ``THRESHOLD_GRID``."""
    return value if abs(value) > LARGE_THRESHOLD else round(value / THRESHOLD_GRID) * THRESHOLD_GRID


def on_card(values: Any) -> bool:
    """Whether an array is one of CuPy's, which lives on a graphics card; CuPy is not imported for the answer."""
    return type(values).__module__.partition(".")[0] == "cupy"


def to_host(values: Any) -> Any:
    """An array of CuPy's as one of NumPy's; whatever else is given as it is."""
    return values.get() if on_card(values) else values
