"""Bins of columns that are spread over partitions.

Each pass over the partitions asks every one the same, and the answers are put together on the workers, a few at a time:
distinct values and their weights, categories, and how much weight falls on stretches of the number line. The bins are
those that ``_table`` finds if all rows are in one place, whatever the partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._arrays import Floats, Integers
from .._engine.kernels import columns as kernels
from .._table.binning import (
    EXACT_ROWS,
    MAX_COUNTED,
    Binner,
    Bundles,
    CategoricalColumn,
    Column,
    Division,
    NumericColumn,
    Stretches,
    category_masses,
    sorted_values,
)
from .._table.sources import (
    NUMERIC_KINDS,
    CategorySource,
    NumberSource,
    ObjectSource,
    Source,
    column_names,
    find_categorical,
    raise_infinite,
    read_sources,
)
from .._table.values import plain
from ._cluster import Cluster
from ._rows import Held, PreparedRows, Rows, check_part

NUMBERS_TOGETHER = ("integer", "floating", "mixed-integer-float")  # kinds of objects that are numbers side by side
NO_VALUES = Stretches(np.empty(0), np.empty(0), np.empty(0))
NO_MASS = np.empty(0, dtype=np.int64)


def learn_bins(
    cluster: Cluster, parts: list[PreparedRows], max_bins: int, categorical_features: Any, in_sets: bool
) -> Bundles:
    """The bins, from the rows of the first part that are not held out, with room for what occurs in any part.

    If sets of categories are split, many of them share codes.
    """
    rows = parts[0]
    names, sources = column_names(rows.data.meta), _sources(cluster, rows.data)
    categorical = find_categorical(rows.data.meta, sources, categorical_features)
    how = {"categorical": categorical, "n_groups": len(rows.groups), "exponent": rows.exponent}
    facts = cluster.fold([task for part in parts for task in part.map(_look_at, **how)], _merge_looks)
    asking = {j: _find_stretches(names[j], fact) for j, fact in enumerate(facts) if isinstance(fact, Numbers)}
    stretches: dict[int, Stretches] = {}
    answers: dict[int, Any] = dict.fromkeys(asking)
    while answers:
        questions = {}
        for j, answer in answers.items():
            try:
                questions[j] = asking[j].send(answer)
            except StopIteration as found:
                stretches[j] = found.value
        how = {"exponent": rows.exponent, "questions": questions}
        answers = cluster.fold(rows.map(_count_stretches, **how), _merge_answers) if questions else {}
    columns: list[Column] = []
    n_codes = []  # that occur, in training or held out; *other* mostly does not
    for j, fact in enumerate(facts):
        if isinstance(fact, Numbers):
            columns.append(NumericColumn.of(names[j], stretches[j], max_bins))
            n_codes.append(columns[j].n_codes)
        else:
            values = list(dict.fromkeys(value for value, _ in fact.masses))
            mass = np.array([[fact.masses[value, y] for y in (0, 1)] for value in values], dtype=np.int64).reshape(
                -1, 2
            )
            rows_per_mass = rows.unit * rows.rows_per_weight if in_sets else None
            column = CategoricalColumn.of(names[j], values, mass, max_bins, sources[j].is_mixed, rows_per_mass)
            columns.append(column)
            other = len(values) > len(column.categories) or not fact.held <= set(column.categories)
            n_codes.append(column.n_bins + 1 + other)
    return Bundles(Binner(tuple(columns)), n_codes)


def _find_stretches(name: str, fact: Numbers) -> Generator[tuple[Any, ...] | None, Any, Stretches]:
    """The stretches of a column of numbers; it asks what is to be counted, pass by pass, and is sent the answer.

    That is the weight on stretches, which :attr:`Question.where` tells, or None for all distinct values.
    """
    if np.isinf([fact.lowest, fact.highest]).any() and fact.n:
        raise_infinite(name)
    if fact.values is not None:
        return fact.values
    if fact.n <= EXACT_ROWS:
        values: Stretches = yield None
        return values
    division = Division(fact.lowest, fact.highest)
    one_value: Any = None
    is_mixed: Any = None
    for question in division.questions():
        tree, new = question.tree, question.first_new
        if question.wanted is None:
            mass, one_value, is_mixed = yield question.where
            tree.mass[new:] += mass
        else:  # that was looked up at the same time
            tree.one_value[new:] = np.where(question.wanted[new:], one_value, np.nan)
            tree.is_mixed[new:] = question.wanted[new:] & is_mixed
    return division.stretches()


def part_sources(number: int, x: Any, rows: Rows) -> list[Source]:
    check_part(number, x, rows.n_rows)
    if isinstance(x, np.ndarray) and x.dtype.kind in "US":
        x = x.astype(object)
    return read_sources(x)


# What the columns hold, where the types do not say: objects, and categories that are not known.


def _sources(cluster: Cluster, data: Any) -> list[Source]:
    """What the columns of all partitions are together, without their rows."""
    dtypes = list(data.meta.dtypes) if isinstance(data.meta, pd.DataFrame) else [data.meta.dtype]
    if not any(isinstance(dtype, pd.CategoricalDtype) or dtype == np.dtype(object) for dtype in dtypes):
        return read_sources(data.meta)
    kinds = zip(*cluster.gather(cluster.map(_column_kinds, data.X)), strict=True)
    return [_source_of(name, parts) for name, parts in zip(column_names(data.meta), kinds, strict=True)]


def _column_kinds(x: Any) -> list[tuple[str, list[Any]]]:
    """Of each column of a partition what it holds: a kind of objects, or the categories."""
    found = []
    for source in read_sources(x):
        if isinstance(source, CategorySource):
            found.append(("category", list(source.values.categories)))
        elif isinstance(source, NumberSource) and source.values.dtype != object:
            found.append(("number", []))
        else:
            found.append((pd.api.types.infer_dtype(source.values, skipna=True), []))  # "empty" without any
    return found


def _source_of(name: str, kinds: tuple[tuple[str, list[Any]], ...]) -> Source:
    names = {kind for kind, _ in kinds} - {"empty"}
    if "category" in names:
        return CategorySource(name, pd.Categorical(pd.unique(np.array([v for _, c in kinds for v in c], dtype=object))))
    are_numbers = len(names) == 1 or names <= set(NUMBERS_TOGETHER)
    if names <= {"number"} or (names <= set(NUMERIC_KINDS) and are_numbers):
        return NumberSource(name, np.empty(0))
    several = len(names) > 1 or any(kind.startswith("mixed") for kind in names)
    return ObjectSource(name, np.array(["text", 1] if several else [], dtype=object))


# The first pass: what occurs.


class Numbers(NamedTuple):
    n: int  # numbers that are not missing
    lowest: float
    highest: float
    values: Stretches | None  # the distinct ones; None if they are too many


class Categories(NamedTuple):
    """What occurs in a categorical column: the mass of each value and class, and the values of the rows held out."""

    masses: Counter[tuple[Any, int]]
    held: set[Any]


def _look_at(
    number: int, x: Any, rows: Rows, held: Held, categorical: list[bool], n_groups: int, exponent: int
) -> list[Any]:
    """What occurs in each column of a partition."""
    sources, is_held, masses = part_sources(number, x, rows), rows.is_held(held), rows.masses(exponent)
    train, others = rows.positions[~is_held], rows.positions[is_held]
    weights, positive = masses[~is_held] if len(masses) else None, rows.cell[~is_held] >= n_groups
    found: list[Any] = []
    for source, is_categorical in zip(sources, categorical, strict=True):
        if is_categorical:
            of_values: Counter[tuple[Any, int]] = Counter()
            for value, of_classes in zip(*category_masses(source, train, weights, positive), strict=True):
                for y, mass in enumerate(of_classes.tolist()):
                    of_values[value, y] += mass
            seen, _ = category_masses(source, others, None)
            found.append(Categories(of_values, set(map(plain, seen))))
            continue
        values, own = _present(source.floats(train), weights)
        ends = (float(values.min()), float(values.max())) if len(values) else (np.inf, -np.inf)
        found.append(Numbers(len(values), *ends, _few_distinct(values, own)))
    return found


def _present(values: Floats, weights: Integers | None) -> tuple[Floats, Integers | None]:
    there = ~np.isnan(values)
    return (values, weights) if there.all() else (values[there], None if weights is None else weights[there])


def _distinct(values: Floats, weights: Any) -> Stretches:
    return sorted_values(values, weights) if len(values) else NO_VALUES


def _few_distinct(values: Floats, weights: Integers | None) -> Stretches | None:
    distinct, masses = np.empty(MAX_COUNTED), np.empty(MAX_COUNTED, dtype=np.int64)
    n = kernels.find_masses(values, NO_MASS if weights is None else weights, distinct, masses)
    return None if n > MAX_COUNTED else _distinct(distinct[:n], masses[:n])


def _together(parts: list[Stretches]) -> Stretches:
    """Distinct values and their weights, put together."""
    return _distinct(np.concatenate([part.lowest for part in parts]), np.concatenate([part.mass for part in parts]))


def _merge_looks(looks: list[list[Any]]) -> list[Any]:
    return [_merge_column(column) for column in zip(*looks, strict=True)]


def _merge_column(parts: tuple[Any, ...]) -> Any:
    if isinstance(parts[0], Categories):
        masses: Counter[Any] = Counter()
        for part in parts:
            masses.update(part.masses)
        return Categories(masses, set().union(*(part.held for part in parts)))
    values = None
    if all(part.values is not None for part in parts):
        together = _together([part.values for part in parts])
        values = together if len(together.mass) <= MAX_COUNTED else None
    ends = min(part.lowest for part in parts), max(part.highest for part in parts)
    return Numbers(sum(part.n for part in parts), *ends, values)


# Further passes: stretches of the number line.


def _count_stretches(
    number: int, x: Any, rows: Rows, held: Held, exponent: int, questions: dict[int, tuple[Any, ...] | None]
) -> dict[int, tuple[Any, ...]]:
    """The answers of a partition, per column: distinct values as :class:`Stretches`, or of each new stretch its weight,
    a value, and whether there are others.
    """
    sources, is_kept, masses = part_sources(number, x, rows), ~rows.is_held(held), rows.masses(exponent)
    train, own = rows.positions[is_kept], masses[is_kept] if len(masses) else None
    found: dict[int, tuple[Any, ...]] = {}
    for j, where in questions.items():
        values, weights = _present(sources[j].floats(train), own)
        if where is None:
            found[j] = _distinct(values, weights)
            continue
        n_stretches, first_new = len(where[2]), where[-1]
        mass, is_mixed = np.zeros(n_stretches, dtype=np.int64), np.zeros(n_stretches, dtype=np.bool_)
        one_value = np.full(n_stretches, np.nan)
        kernels.count_keys(values, NO_MASS if weights is None else weights, *where, mass)
        if first_new:  # look into all: which of them are wanted is known once the weights are
            kernels.look_into(values, *where, np.arange(n_stretches) >= first_new, one_value, is_mixed)
        found[j] = mass[first_new:], one_value[first_new:], is_mixed[first_new:]
    return found


def _merge_answers(answers: list[dict[int, tuple[Any, ...]]]) -> dict[int, tuple[Any, ...]]:
    merged: dict[int, tuple[Any, ...]] = {}
    for j, first in answers[0].items():
        if isinstance(first, Stretches):
            merged[j] = _together([Stretches(*answer[j]) for answer in answers])
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
