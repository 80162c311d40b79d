"""Single values: as Python's own, in an order that any mixture of types has, and as text that can be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """NumPy scalars as Python's own: they hash and compare alike, and print better."""
    return value.item() if isinstance(value, np.generic) else value


def printable(text: str, keep: str = "\n\t") -> str:
    """The text with everything that does not print, but for what is to be kept, written as Python would: a name from a
    file may hold characters that move a terminal's cursor, or that a page must not hold."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def sort_key(value: Any) -> tuple[str, Any]:
    """Numbers before all else, then type by type, each in its own order: whatever order the values come in."""
    return ("", value) if isinstance(value, (bool, int, float, np.number, np.bool_)) else (type(value).__name__, value)


def same_number(wanted: Any) -> Callable[[Any], bool]:
    """Whether a value is the number that ``wanted`` is or is written as; truth values are no numbers."""
    try:
        number = float(wanted)
    except (TypeError, ValueError, OverflowError):
        return lambda value: False
    return lambda value: isinstance(value, (int, float, np.number)) and type(value) is not bool and value == number
