"""Prediction: one look-up per column."""

from __future__ import annotations

from .compiling import Array, compiled_or


def add_steps_in_numpy(codes: Array, steps: Array, margin: Array) -> None:
    """The twin of :func:`add_steps`."""
    margin += steps[codes]


@compiled_or(add_steps_in_numpy)
def add_steps(codes: Array, steps: Array, margin: Array) -> None:
    """``margin += steps[codes]``."""
    for i in range(margin.shape[0]):
        margin[i] += steps[codes[i]]
