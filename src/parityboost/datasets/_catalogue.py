"""What a dataset is declared by; ``catalogue.toml`` declares the four of the paper's Table 1."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import msgspec


@dataclass(frozen=True)
class File:
    """A raw file under its publisher's name, with the sha256 of its *unpacked* contents."""

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One column of the paper's Table 1 and how it comes out of the publisher's files."""

    # Table 1.
    name: str
    instances: int
    class_ratio: str  # positive:negative, truncated to two digits as the paper does
    sensitive: str
    protected: str
    classes: dict[str, str]  # value in the file -> name of the class; the positive class comes last

    # The raw files: read one after the other as if they were one.
    files: tuple[File, ...]
    url: str  # serves the only file, or an archive that holds all of them
    separator: str = ","
    header: bool = True  # False: `attributes` and then `target` are the names of the columns, in their order

    # The table.
    attributes: tuple[str, ...]
    other_attributes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by the name of the choice
    numeric: frozenset[str]  # all other attributes are categorical
    target: str
    keep: str = ""  # the rows that stay, as a pandas query
    keep_needs: tuple[str, ...] = ()  # columns that the query reads and that are no attributes

    # For people.
    description: str
    licence: str
    source: str

    @property
    def archive(self) -> str:
        """The name under which a browser would save `url`."""
        return unquote(PurePosixPath(urlsplit(self.url).path).name)

    def with_attributes(self, choice: str) -> Dataset:
        """The same with Table 1's attributes or another choice of them."""
        known = {"table1": self.attributes, **self.other_attributes}
        if choice not in known:
            raise ValueError(f"attributes must be {' or '.join(map(repr, known))}, got {choice!r}")
        return replace(self, attributes=known[choice])


_TEXT = Path(__file__).with_name("catalogue.toml").read_bytes()
ADULT, BANK, COMPAS, KDD_CENSUS = msgspec.toml.decode(_TEXT, type=dict[str, Dataset]).values()
