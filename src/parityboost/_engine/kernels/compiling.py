"""How a kernel is compiled; the only module that imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numpy.typing import NDArray

Array = NDArray[Any]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use and keep the result on disk, or in memory only where no folder can be written to."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
