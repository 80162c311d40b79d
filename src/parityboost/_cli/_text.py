"""Text from files on a terminal."""

from __future__ import annotations

from .._table.values import printable


def one_line(value: object) -> str:
    """A name or value inside a line."""
    return printable(str(value), keep="")


def shortened(text: str, length: int = 80) -> str:
    """What the user typed, in a message: as Python writes it, and not all of it if it is long."""
    return repr(text) if len(text) <= length else f"{text[:length]!r}… ({len(text):,} characters)"
