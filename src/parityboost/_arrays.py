"""Names for the types of arrays, and where an array lives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]
Codes = NDArray[np.uint8]
Rows = NDArray[Any] | slice


def on_card(values: Any) -> bool:
    """Whether an array is one of CuPy's, which lives on a graphics card; CuPy is not imported for the answer."""
    return type(values).__module__.partition(".")[0] == "cupy"


def to_host(values: Any) -> Any:
    """An array of CuPy's as one of NumPy's; whatever else is given as it is."""
    return values.get() if on_card(values) else values
