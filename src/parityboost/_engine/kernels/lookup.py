"""Prediction: one look-up per column."""

from __future__ import annotations

from .compiling import Array, compiled


@compiled
def add_steps(codes: Array, steps: Array, margin: Array) -> None:
    """``margin += steps[codes]``."""
    for i in range(margin.shape[0]):
        margin[i] += steps[codes[i]]
