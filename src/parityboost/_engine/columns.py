"""The kernels for columns, by where their values are."""

from __future__ import annotations

from typing import Any

from .._arrays import on_card


def kernels_for(values: Any) -> Any:
    """``kernels.binning``, or what does the same on the graphics card if the values are there."""
    if on_card(values):
        from .cuda import tables

        return tables
    from .kernels import binning  # numba is needed only now

    return binning


def lookup_for(margin: Any) -> Any:
    """``kernels.lookup``, or what does the same on the graphics card if the margins are there."""
    if on_card(margin):
        from .cuda import tables

        return tables
    from .kernels import lookup

    return lookup
