"""Text from files on a terminal: a name may hold characters that would move its cursor or colour what follows."""

from __future__ import annotations


def printable(text: str, keep: str = "\n\t") -> str:
    """The text with everything that does not print, but for what is to be kept, written as Python would."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def one_line(value: object) -> str:
    """A name or value inside a line."""
    return printable(str(value), keep="")


def shortened(text: str, length: int = 80) -> str:
    """What the user typed, in a message: as Python writes it, and not all of it if it is long."""
    return repr(text) if len(text) <= length else f"{text[:length]!r}… ({len(text):,} characters)"
