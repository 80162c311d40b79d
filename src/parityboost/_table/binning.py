"""Columns of any dtype to ``uint8`` codes.

Code 0 means missing, codes 1, 2, … are the bins of a column: its distinct values when there are at most ``max_bins`` of
them, else bins of about equal weight, or its categories. The code after the last category means *other*: a category too
rare to have a code of its own, or one that was never seen. The weak learner sees codes only, so missing values,
categories and numbers cost it the same.

A *source* gives access to a column as the user handed it over; a *column* is what was learnt about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Floats, Rows
from .._caller import warn_caller
from .._engine.codes import MAX_CATEGORIES, MISSING, X_BINNED_DTYPE
from .._engine.columns import kernels_for
from .._engine.threads import Team
from .cuts import Stretches, find_stretches
from .sources import CategorySource, NumberSource, Source, raise_infinite
from .values import plain, sort_key


@dataclass(frozen=True)
class NumericColumn:
    """Bins of numbers: x has code ``1 + #{edge < x}``, so x ≤ edge stays on the left, as in scikit-learn."""

    name: str
    edges: Floats
    n_bins: int
    categorical = False

    @property
    def n_codes(self) -> int:
        """How many codes there are, from 0 on."""
        return self.n_bins + 1

    @classmethod
    def fit(cls, source: Source, rows: Rows, weights: NDArray[Any] | None, max_bins: int) -> NumericColumn:
        """Learn the bins from some rows; ``weights`` belong to these rows."""
        values = source.floats(rows)
        distinct = np.empty(max_bins)
        n_distinct = kernels_for(values).find_distinct(values, distinct)
        if n_distinct <= max_bins:
            distinct = np.sort(distinct[:n_distinct])
            stretches = Stretches(distinct, distinct, np.ones(n_distinct))
        else:
            stretches = find_stretches(values, source.place(weights))
        return cls.of(source.name, stretches, max_bins)

    @classmethod
    def of(cls, name: str, stretches: Stretches, max_bins: int) -> NumericColumn:
        """From what is known about the values; there may be none."""
        n_distinct = len(stretches.mass)
        if n_distinct and np.isinf([stretches.lowest[0], stretches.highest[-1]]).any():
            raise_infinite(name)
        edges = stretches.edges(max_bins)
        return cls(name, edges, len(edges) + 1 if n_distinct else 0)

    def check(self, source: Source) -> None:
        """Whether it is still the kind of column that was learnt from."""
        if not source.holds_numbers and self.n_bins:  # a column that held nothing is of any kind
            raise ValueError(f"column {self.name!r} held numbers in training, got {source.kind} values")

    def encode(self, source: Any, rows: Rows) -> Codes:
        """Codes of some rows."""
        if self.n_bins == 0:  # nothing was learnt about it: whatever it holds is unseen
            return np.full(n_rows_of(rows, [source]), MISSING, dtype=X_BINNED_DTYPE)
        values = source.floats(rows)
        codes = np.empty_like(values, dtype=X_BINNED_DTYPE)
        if not kernels_for(values).encode_numbers(values, self.edges, codes):
            raise_infinite(self.name)
        return codes


@dataclass(frozen=True)
class CategoricalColumn:
    """The categories of a column, sorted; category i has code i + 1, and all others share the code after the last.

    In models of the first file format there was no such code: all others counted as missing.
    """

    name: str
    categories: tuple[Any, ...]
    mixed: bool = False  # held text and numbers, though the categories that were kept may all be of one kind
    others_are_missing: bool = False
    categorical = True

    @property
    def n_bins(self) -> int:
        return len(self.categories)

    @property
    def other(self) -> int:
        """The code of whatever is none of the categories."""
        return MISSING if self.others_are_missing else len(self.categories) + 1

    @property
    def n_codes(self) -> int:
        """How many codes there are, from 0 on."""
        return max(self.other, self.n_bins) + 1

    @classmethod
    def fit(cls, source: Source, rows: Rows, weights: NDArray[Any] | None, max_bins: int) -> CategoricalColumn:
        # Rows that are held out have been seen as well: what one of them holds is no surprise.
        return cls.of(source.name, *category_masses(source, rows, weights), max_bins, source.is_mixed)

    @classmethod
    def of(
        cls, name: str, values: Sequence[Any], mass: NDArray[Any], max_bins: int, mixed: bool = False
    ) -> CategoricalColumn:
        """From the values that occur, in any order, and the weight of each; ``mixed`` if others are of another kind."""
        try:
            order = sorted(range(len(values)), key=lambda i: sort_key(values[i]))
        except TypeError as error:
            raise TypeError(f"column {name!r} has categories that cannot be sorted: {error}") from None
        mixed = mixed or len({isinstance(value, str) for value in values}) > 1
        most = min(max_bins, MAX_CATEGORIES)
        if len(order) > most:
            kept = set(sorted(order, key=lambda i: -mass[i])[:most])
            warn_caller(
                f"column {name!r} has {len(order)} categories, more than {most} (max_bins={max_bins}): the "
                f"{len(order) - most} rarest are taken together as 'other'; drop it if it is an identifier or a date"
            )
            order = [i for i in order if i in kept]
        return cls(name, tuple(plain(values[i]) for i in order), mixed)

    def check(self, source: Source) -> None:
        """Whether it is still the kind of column that was learnt from; nothing but missing values is of any kind."""
        if not self.categories or self.mixed:
            return
        kinds = {isinstance(category, str) for category in self.categories}
        if isinstance(source, NumberSource):
            differs = False not in kinds and not np.isnan(source.floats(slice(None))).all()
        elif True in kinds and not isinstance(source, CategorySource):
            differs = False  # objects that are all numbers are a source of numbers
        else:  # new categories are fine, but not if all are text where there were numbers, or the other way round
            differs = kinds.isdisjoint(_kinds_of(source))
        if differs:
            got = "numbers" if True in kinds else "text"
            example = self.categories[0]
            raise ValueError(f"column {self.name!r} held categories in training (such as {example!r}), got {got}")

    def encode(self, source: Source, rows: Rows) -> Codes:
        """Codes of some rows."""
        codes, values = source.factorized(rows)
        # Translate the few values, not the many rows; the extra last entry is for code -1, missing.
        known = {category: i + 1 for i, category in enumerate(self.categories)}
        table = np.array([*(known.get(plain(value), self.other) for value in values), MISSING], dtype=X_BINNED_DTYPE)
        return table[codes]


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True)
class Binner:
    """One encoder per column of X."""

    columns: tuple[Column, ...]

    @classmethod
    def fit(
        cls,
        sources: list[Source],
        rows: Rows,
        weights: NDArray[Any] | None,
        max_bins: int,
        categorical: list[bool],
        team: Team,
    ) -> Binner:
        """Learn the bins from ``rows`` only; ``weights`` belong to these rows."""
        columns: list[Any] = [None] * len(sources)

        def task(first: int, last: int) -> None:
            for j in range(first, last):
                kind = CategoricalColumn if categorical[j] else NumericColumn
                columns[j] = kind.fit(sources[j], rows, weights, max_bins)

        team.run(task, len(sources), n_rows_of(rows, sources))
        return cls(tuple(columns))

    def check(self, sources: list[Source]) -> None:
        """Whether every column is still of the kind that was learnt from."""
        for column, source in zip(self.columns, sources, strict=True):
            column.check(source)

    def encode(self, sources: list[Source], rows: Rows, team: Team) -> list[Codes]:
        """Codes of some rows, an array per column of X."""
        codes: list[Any] = [None] * len(self.columns)

        def task(first: int, last: int) -> None:
            for j in range(first, last):
                codes[j] = self.columns[j].encode(sources[j], rows)

        team.run(task, len(self.columns), n_rows_of(rows, sources))
        return codes

    @property
    def n_bins(self) -> NDArray[np.int64]:
        return np.array([column.n_bins for column in self.columns], dtype=np.int64)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        return np.array([column.categorical for column in self.columns], dtype=np.bool_)


def n_rows_of(rows: Rows, sources: list[Source]) -> int:
    """How many rows a selection has."""
    return len(range(*rows.indices(len(sources[0])))) if isinstance(rows, slice) else len(rows)


def category_masses(source: Source, rows: Rows, weights: NDArray[Any] | None) -> tuple[list[Any], NDArray[Any]]:
    """The values that occur in some rows, and the weight of each; ``weights`` belong to these rows."""
    codes, values = source.factorized(rows)
    occurs = np.flatnonzero(np.bincount(codes + 1, minlength=len(values) + 1)[1:])
    mass = np.bincount(codes + 1, weights=weights, minlength=len(values) + 1)[1:]
    return [values[i] for i in occurs.tolist()], mass[occurs]


def _kinds_of(source: Source) -> set[bool]:
    """Whether the values are text, or not, or some of each; what is missing does not count."""
    if isinstance(source, CategorySource):  # categories that do not occur are looked for only if it matters
        declared = {isinstance(value, str) for value in source.values.categories}
        if len(declared) == 1:
            return declared if (source.values.codes >= 0).any() else {True, False}
    codes, values = source.factorized(slice(None))
    return {isinstance(values[code], str) for code in np.unique(codes[codes >= 0])} or {True, False}
