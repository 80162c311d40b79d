"""Names for the types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]
Codes = NDArray[np.uint8]
Rows = NDArray[Any] | slice
