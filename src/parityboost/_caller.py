"""Warnings that point at the line of the user's own code, however deep in the package they arise."""

from __future__ import annotations

import sys
from types import FrameType
from warnings import warn

_INSIDE = ("parityboost", "sklearn", "joblib")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as of the innermost line outside this package and those that call it on the user's behalf."""
    frame: FrameType | None = sys._getframe(1)
    level = 2  # what warn calls the frame above this one
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warn(message, category, stacklevel=level if frame is not None else 2)


def warn_old(name: str, instead: str) -> None:
    """Warn of a name that goes with the next version."""
    warn_caller(f"{name} is an old name, which goes with the next version; now: {instead}", FutureWarning)
