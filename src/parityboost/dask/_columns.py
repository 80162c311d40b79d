"""Bins of columns that are spread over partitions.

Each pass over the partitions asks every one the same, and the answers are put together on the workers, a few at a time:
distinct values and their weights, categories, and how much weight falls on stretches of the number line. The bins are
those that ``_table`` finds if all rows are in one place, whatever the partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._arrays import Floats, Integers
from .._engine.kernels import binning as kernels
from .._table.binning import Binner, CategoricalColumn, Column, NumericColumn, category_masses
from .._table.cuts import EXACT_ROWS, MAX_COUNTED, Division, Question, Stretches, sorted_values
from .._table.sources import (
    NUMERIC_KINDS,
    CategorySource,
    NumberSource,
    ObjectSource,
    Source,
    raise_infinite,
    read_sources,
)
from .._table.values import plain
from ._rows import Held, Rows, held_mask

NUMBERS_TOGETHER = ("integer", "floating", "mixed-integer-float")  # kinds of objects that are numbers side by side


def check_part(number: int, x: Any, n_rows: int) -> None:
    """Whether a partition of X has as many rows as that of y."""
    if len(x) != n_rows:
        raise ValueError(
            f"partition {number}: X has {len(x)} rows, y {n_rows}: they have to be divided alike, as columns of one "
            "DataFrame are"
        )


def part_sources(number: int, x: Any, rows: Rows) -> list[Source]:
    """The columns of a partition of X."""
    check_part(number, x, rows.n_rows)
    if isinstance(x, np.ndarray) and x.dtype.kind in "US":
        x = x.astype(object)
    return read_sources(x)


# What the columns hold, where the types do not say: objects, and categories that are not known.


def column_kinds(x: Any) -> list[tuple[str, list[Any]]]:
    """Of each column of a partition what it holds: a kind of objects, or the categories."""
    found = []
    for source in read_sources(x):
        if isinstance(source, CategorySource):
            found.append(("category", list(source.values.categories)))
        elif isinstance(source, NumberSource) and source.values.dtype != object:
            found.append(("number", []))
        elif len(source.values) == 0:
            found.append(("empty", []))
        else:
            found.append((pd.api.types.infer_dtype(source.values, skipna=True), []))
    return found


def source_of(name: str, kinds: list[tuple[str, list[Any]]]) -> Source:
    """What the columns of all partitions are together, without their rows."""
    names = {kind for kind, _ in kinds} - {"empty"}
    if "category" in names:
        return CategorySource(name, pd.Categorical(pd.unique(np.array([v for _, c in kinds for v in c], dtype=object))))
    if not names or names == {"number"}:
        return NumberSource(name, np.empty(0))
    if names <= set(NUMERIC_KINDS) and (len(names) == 1 or names <= set(NUMBERS_TOGETHER)):
        return NumberSource(name, np.empty(0))
    several = len(names) > 1 or any(kind.startswith("mixed") for kind in names)
    return ObjectSource(name, np.array(["text", 1] if several else [], dtype=object))


def needs_a_look(meta: Any) -> bool:
    """Whether the types of the columns do not say all."""
    dtypes = list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [meta.dtype]
    return any(isinstance(dtype, pd.CategoricalDtype) or dtype == np.dtype(object) for dtype in dtypes)


# The first pass: what occurs.


class Numbers(NamedTuple):
    """What occurs in a column of numbers."""

    n: int  # numbers that are not missing
    lowest: float
    highest: float
    values: Floats | None  # distinct and ascending; None if they are too many
    masses: Integers | None


class Categories(NamedTuple):
    """What occurs in a categorical column: the weight of each value, and the values of the rows held out."""

    masses: dict[Any, int]
    held: set[Any]


class Look(NamedTuple):
    """What the first pass wants to know."""

    categorical: tuple[bool, ...]
    exponent: int  # of the sample weights' unit
    exact: bool  # all distinct values, however many


def look_at(number: int, x: Any, rows: Rows, held: Held, look: Look) -> list[Any]:
    """What occurs in each column of a partition."""
    sources, positions, mask = part_sources(number, x, rows), rows.positions, held_mask(rows, held)
    train, others = positions[~mask], positions[mask]
    masses = rows.masses(look.exponent)
    weights = masses[~mask] if len(masses) else None
    found: list[Any] = []
    for source, categorical in zip(sources, look.categorical, strict=True):
        if categorical:
            values, mass = category_masses(source, train, weights)
            seen, _ = category_masses(source, others, None)
            masses_of: dict[Any, int] = {}
            for value, m in zip(values, mass.tolist(), strict=True):
                masses_of[value] = masses_of.get(value, 0) + int(m)
            found.append(Categories(masses_of, set(map(plain, seen))))
        else:
            found.append(_look_at_numbers(source.floats(train), weights, look.exact))
    return found


def _look_at_numbers(values: Floats, weights: Integers | None, exact: bool) -> Numbers:
    values, weights = present(values, weights)
    if len(values) == 0:
        return Numbers(0, np.inf, -np.inf, np.empty(0), np.empty(0, dtype=np.int64))
    lowest, highest = float(values.min()), float(values.max())
    if exact:
        return Numbers(len(values), lowest, highest, *distinct_values(values, weights))
    distinct, masses = np.empty(MAX_COUNTED), np.empty(MAX_COUNTED, dtype=np.int64)
    n = kernels.find_masses(values, np.empty(0, dtype=np.int64) if weights is None else weights, distinct, masses)
    if n > MAX_COUNTED:
        return Numbers(len(values), lowest, highest, None, None)
    order = np.argsort(distinct[:n])
    return Numbers(len(values), lowest, highest, distinct[:n][order], masses[:n][order])


def present(values: Floats, weights: Integers | None) -> tuple[Floats, Integers | None]:
    """Without what is missing."""
    there = ~np.isnan(values)
    return (values, weights) if there.all() else (values[there], None if weights is None else weights[there])


def distinct_values(values: Floats, weights: Integers | None) -> tuple[Floats, Integers]:
    found = sorted_values(values, weights)
    return found.lowest, found.mass.astype(np.int64)


def merge_looks(looks: list[list[Any]], exact: bool) -> list[Any]:
    """What occurs in several partitions together."""
    return [_merge_column(list(column), exact) for column in zip(*looks, strict=True)]


def _merge_column(parts: list[Any], exact: bool) -> Any:
    if isinstance(parts[0], Categories):
        masses: dict[Any, int] = {}
        for part in parts:
            for value, mass in part.masses.items():
                masses[value] = masses.get(value, 0) + mass
        return Categories(masses, set().union(*(part.held for part in parts)))
    n = sum(part.n for part in parts)
    lowest, highest = min(part.lowest for part in parts), max(part.highest for part in parts)
    if any(part.values is None for part in parts):
        return Numbers(n, lowest, highest, None, None)
    values, masses_of = merge_distinct([(part.values, part.masses) for part in parts])
    if not exact and len(values) > MAX_COUNTED:
        return Numbers(n, lowest, highest, None, None)
    return Numbers(n, lowest, highest, values, masses_of)


def merge_distinct(parts: list[tuple[Floats, Integers]]) -> tuple[Floats, Integers]:
    """Distinct values and their weights, put together."""
    values = np.concatenate([values for values, _ in parts])
    if len(values) == 0:
        return parts[0]
    return distinct_values(values, np.concatenate([masses for _, masses in parts]))


# Further passes: stretches of the number line.


class Count(NamedTuple):
    """What a further pass wants to know of a column: the weight on stretches, or all distinct values if it is None."""

    where: tuple[Any, ...] | None
    n_stretches: int
    look_too: bool


Answer = tuple[Any, ...]  # weights, one value and whether there are others of the new stretches; or distinct values


def count_stretches(
    number: int, x: Any, rows: Rows, held: Held, exponent: int, counts: dict[int, Count]
) -> dict[int, Answer]:
    """The answers of a partition, per column."""
    sources, positions, mask = part_sources(number, x, rows), rows.positions, held_mask(rows, held)
    masses = rows.masses(exponent)
    mine = masses[~mask] if len(masses) else None
    found: dict[int, Answer] = {}
    for j, count in counts.items():
        values, weights = present(sources[j].floats(positions[~mask]), mine)
        if count.where is None:
            found[j] = (np.empty(0), np.empty(0, dtype=np.int64))
            if len(values):
                found[j] = distinct_values(values, weights)
            continue
        first_new = count.where[-1]
        mass = np.zeros(count.n_stretches, dtype=np.int64)
        kernels.count_keys(values, np.empty(0, dtype=np.int64) if weights is None else weights, *count.where, mass)
        one_value, is_mixed = np.full(count.n_stretches, np.nan), np.zeros(count.n_stretches, dtype=np.bool_)
        if count.look_too:  # into all: which of them are wanted is known once the weights are
            wanted = np.arange(count.n_stretches) >= first_new
            kernels.look_into(values, *count.where, wanted, one_value, is_mixed)
        found[j] = mass[first_new:], one_value[first_new:], is_mixed[first_new:]
    return found


def merge_answers(answers: list[dict[int, Answer]]) -> dict[int, Answer]:
    """Of several partitions together."""
    merged = dict(answers[0])
    for j, first in merged.items():
        if len(first) == 2:
            merged[j] = merge_distinct([(answer[j][0], answer[j][1]) for answer in answers])
            continue
        mass, one_value, is_mixed = (array.copy() for array in first)
        for answer in answers[1:]:
            other_mass, other_value, other_mixed = answer[j]
            mass += other_mass
            both = ~np.isnan(one_value) & ~np.isnan(other_value)
            is_mixed |= other_mixed | (both & (one_value != other_value))
            one_value = np.where(np.isnan(one_value), other_value, one_value)
        merged[j] = mass, one_value, is_mixed
    return merged


class Bins:
    """The bins of all columns, pass by pass.

    Parameters
    ----------
    names : list of str
        Of the columns.
    facts : list
        What occurs in them, see :func:`look_at`.
    max_bins : int
        As in :class:`Binner`.
    mixed : list of bool
        Which columns hold text and numbers.
    """

    def __init__(self, names: list[str], facts: list[Any], max_bins: int, mixed: list[bool]) -> None:
        self._names, self._facts, self._max_bins, self._mixed = names, facts, max_bins, mixed
        self._stretches: dict[int, Stretches] = {}
        self._divisions: dict[int, Division] = {}
        self._asking: dict[int, Iterator[Question]] = {}
        self._questions: dict[int, Question | None] = {}  # None for all distinct values
        for j, fact in enumerate(facts):
            if isinstance(fact, Categories):
                continue
            if np.isinf([fact.lowest, fact.highest]).any() and fact.n:
                raise_infinite(names[j])
            if fact.values is not None:
                self._stretches[j] = Stretches(fact.values, fact.values, fact.masses.astype(np.float64))
            elif fact.n <= EXACT_ROWS:
                self._questions[j] = None
            else:
                self._divisions[j] = Division(fact.lowest, fact.highest)
                self._asking[j] = self._divisions[j].questions()
                self._questions[j] = next(self._asking[j])

    def wanted(self) -> dict[int, Count]:
        """What the next pass has to count; nothing if all is known."""
        return {
            j: Count(None, 0, False)
            if question is None
            else Count(question.where, len(question.tree.mass), question.first_new > 0)
            for j, question in self._questions.items()
        }

    def tell(self, answers: dict[int, Answer]) -> None:
        """What a pass has found."""
        for j, answer in answers.items():
            question = self._questions.pop(j)
            if question is None:
                values, masses = answer
                self._stretches[j] = Stretches(values, values, masses.astype(np.float64))
                continue
            mass, one_value, is_mixed = answer
            question.tree.mass[question.first_new :] += mass
            following = next(self._asking[j], None)
            if following is not None and following.wanted is not None:  # that was looked up at the same time
                new, wanted = following.first_new, following.wanted[following.first_new :]
                following.tree.one_value[new:] = np.where(wanted, one_value, np.nan)
                following.tree.is_mixed[new:] = wanted & is_mixed
                following = next(self._asking[j], None)
            if following is None:
                self._stretches[j] = self._divisions[j].stretches()
            else:
                self._questions[j] = following

    def binner(self) -> Binner:
        """All columns."""
        columns: list[Column] = []
        for j, (name, fact) in enumerate(zip(self._names, self._facts, strict=True)):
            if isinstance(fact, Categories):
                mass = np.array(list(fact.masses.values()), dtype=np.int64)
                columns.append(CategoricalColumn.of(name, list(fact.masses), mass, self._max_bins, self._mixed[j]))
            else:
                columns.append(NumericColumn.of(name, self._stretches[j], self._max_bins))
        return Binner(tuple(columns))

    def n_codes(self, binner: Binner) -> list[int]:
        """How many codes of each column occur, in training or held out; *other* mostly does not."""
        found = []
        for fact, column in zip(self._facts, binner.columns, strict=True):
            if isinstance(fact, Categories):
                known = set(column.categories)  # type: ignore[union-attr]
                other = len(fact.masses) > column.n_bins or not fact.held <= known
                found.append(column.n_bins + 1 + other)
            else:
                found.append(column.n_codes)
        return found
