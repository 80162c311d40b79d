"""Columns: values to codes, equal rows told apart, and prediction, which looks up codes and pairs of codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiling import Array, compiled, compiled_inside

CHUNK_ROWS = 1 << 12  # the codes and margins of so many rows stay in the cache while all pairs pass over them


@compiled(makes_arrays=True)
def find_distinct(values: Array, distinct: Array) -> int:
    """Collect the distinct values other than NaN; their number, or one more than fits if there are too many."""
    n_slots = 1024  # a power of two, and four times what can be in it
    slots = np.full(n_slots, -1, dtype=np.int16)
    bits = values.view(np.uint64)
    n_distinct = 0
    last = np.nan
    for i in range(values.shape[0]):
        value = values[i]
        if value == last or value != value:
            continue
        last = value
        key = bits[i] if value != 0.0 else np.uint64(0)  # -0.0 equals 0.0
        slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(54))
        while slots[slot] >= 0 and distinct[slots[slot]] != value:
            slot = (slot + 1) % n_slots
        if slots[slot] < 0:
            if n_distinct == distinct.shape[0]:
                return n_distinct + 1
            slots[slot] = n_distinct
            distinct[n_distinct] = value
            n_distinct += 1
    return n_distinct


def encode_numbers_in_numpy(values: Array, edges: Array, codes: Array) -> bool:
    """The twin of :func:`encode_numbers`."""
    missing = np.isnan(values)
    codes[:] = np.where(missing, 0, np.searchsorted(edges, values, side="left") + 1)
    return bool((missing | np.isfinite(values)).all())


@compiled(makes_arrays=True, twin=encode_numbers_in_numpy)
def encode_numbers(values: Array, edges: Array, codes: Array) -> bool:
    """``codes[i] = 1 + #{edge < value}``, 0 for NaN; whether all values are finite or NaN."""
    padded = np.full(256, np.inf)
    for k in range(edges.shape[0]):  # one by one: to assign arrays takes two seconds to compile
        padded[k] = edges[k]
    finite = True
    for i in range(values.shape[0]):
        value = values[i]
        # Binary search in eight steps without a branch: the processor works on several rows at once.
        below = 128 * (padded[127] < value)
        below += 64 * (padded[below + 63] < value)
        below += 32 * (padded[below + 31] < value)
        below += 16 * (padded[below + 15] < value)
        below += 8 * (padded[below + 7] < value)
        below += 4 * (padded[below + 3] < value)
        below += 2 * (padded[below + 1] < value)
        below += padded[below] < value
        codes[i] = (below + 1) * (value == value)
        finite &= (value != value) | (value - value == 0.0)
    return finite


@compiled
def hash_rows(codes: Array, hashes: Array) -> None:
    """One 64-bit number per row, equal for equal rows."""
    for i in range(hashes.shape[0]):
        hashes[i] = np.uint64(0xCBF29CE484222325)
    for f in range(codes.shape[0]):
        column = codes[f]
        for i in range(hashes.shape[0]):
            mixed = (hashes[i] ^ np.uint64(column[i])) * np.uint64(0x9E3779B97F4A7C15)
            hashes[i] = mixed ^ (mixed >> np.uint64(29))


@compiled(makes_arrays=True)
def find_masses(values: Array, weights: Array, distinct: Array, masses: Array) -> int:
    """Collect the distinct values and the weight of each; their number, or one more than fits if there are too many.

    No value is NaN; an empty ``weights`` means one each.
    """
    weighted = weights.shape[0] > 0
    n_slots = 4 * distinct.shape[0]
    shift = np.uint64(64)
    while n_slots >> np.int64(64 - shift) > 1:
        shift -= np.uint64(1)
    n_slots = 1 << np.int64(64 - shift)
    slots = np.full(n_slots, -1, dtype=np.int32)
    bits = values.view(np.uint64)
    n_distinct = 0
    for i in range(values.shape[0]):
        value = values[i]
        key = bits[i] if value != 0.0 else np.uint64(0)  # -0.0 equals 0.0
        slot = np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        while slots[slot] >= 0 and distinct[slots[slot]] != value:
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] < 0:
            if n_distinct == distinct.shape[0]:
                return n_distinct + 1
            slots[slot] = n_distinct
            distinct[n_distinct] = value
            masses[n_distinct] = 0
            n_distinct += 1
        masses[slots[slot]] += weights[i] if weighted else 1
    return n_distinct


@compiled_inside
def key_of(value: float, bits: int) -> Any:
    """The bits of a float as an integer, in the order of the floats; -0.0 is 0.0."""
    sign = np.uint64(1 << 63)
    if value == 0.0:
        return sign
    return bits ^ (sign | (np.uint64(0) - (bits >> np.uint64(63))))  # all bits of what is negative, else the sign


@compiled_inside
def stretch_of(key: int, shift: int, parts_of: Array, part_shift: Array, first_new: int) -> Any:
    """The stretch that a key, counted from the start of the first one, is in.

    The first stretches are 2^shift keys long. One that was divided has its parts from ``parts_of`` on, each
    2^part_shift keys long; those from ``first_new`` on are whole.
    """
    at = np.int64(key >> np.uint64(shift))
    while at < first_new and parts_of[at] >= 0:
        within = key & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1))
        shift = part_shift[at]
        at = parts_of[at] + np.int64(within >> np.uint64(shift))
    return at


@compiled
def count_keys(
    values: Array,
    weights: Array,
    start: int,
    shift: int,
    parts_of: Array,
    part_shift: Array,
    first_new: int,
    mass: Array,
) -> None:
    """Add the weight of each value to ``mass`` of its stretch, if that is a new one.

    An empty ``weights`` means one each.
    """
    weighted = weights.shape[0] > 0
    bits = values.view(np.uint64)
    for i in range(values.shape[0]):
        at = stretch_of(np.uint64(key_of(values[i], bits[i])) - start, shift, parts_of, part_shift, first_new)
        if at >= first_new:
            mass[at] += weights[i] if weighted else 1


@compiled
def look_into(
    values: Array,
    start: int,
    shift: int,
    parts_of: Array,
    part_shift: Array,
    first_new: int,
    wanted: Array,
    one_value: Array,
    is_mixed: Array,
) -> None:
    """``one_value`` that occurs in each stretch that is ``wanted``, and whether others do as well."""
    bits = values.view(np.uint64)
    for i in range(values.shape[0]):
        at = stretch_of(np.uint64(key_of(values[i], bits[i])) - start, shift, parts_of, part_shift, first_new)
        if wanted[at] and one_value[at] != values[i]:
            if one_value[at] == one_value[at]:
                is_mixed[at] = True
            else:
                one_value[at] = values[i]


def add_steps_in_numpy(codes: Array, steps: Array, margin: Array) -> None:
    """The twin of :func:`add_steps`."""
    margin += steps[codes]


@compiled(twin=add_steps_in_numpy)
def add_steps(codes: Array, steps: Array, margin: Array) -> None:
    """``margin += steps[codes]``."""
    for i in range(margin.shape[0]):
        margin[i] += steps[codes[i]]


def add_pair_steps_in_numpy(*given: Array) -> None:
    """The twin of :func:`add_pair_steps`."""
    codes, columns, row_of, column_of, widths, starts, steps, margin = given
    for p, (first, second) in enumerate(columns.tolist()):
        row, column = row_of[p][codes[first, : len(margin)]], column_of[p][codes[second, : len(margin)]]
        margin += steps[starts[p] + row.astype(int) * widths[p] + column]


@compiled(twin=add_pair_steps_in_numpy)
def add_pair_steps(
    codes: Array,
    columns: Array,
    row_of: Array,
    column_of: Array,
    widths: Array,
    starts: Array,
    steps: Array,
    margin: Array,
) -> None:
    """Add the steps of every pair p of columns, ``columns[p, 0]`` and ``columns[p, 1]`` of ``codes``, to the margin.

    A pair has a table of ``widths[p]`` columns that starts at ``starts[p]`` of ``steps``. ``row_of[p, code]`` is the
    table's row for a code of the first column, ``column_of[p, code]`` its column for one of the second.
    """
    n_rows = margin.shape[0]
    for start in range(0, n_rows, CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, n_rows)
        for p in range(columns.shape[0]):
            first, second = codes[columns[p, 0]], codes[columns[p, 1]]
            row, column = row_of[p], column_of[p]
            width, table = widths[p], steps[starts[p] :]
            for i in range(start, stop):
                margin[i] += table[row[first[i]] * width + column[second[i]]]


@compiled
def count_cells(first: Array, second: Array, row_of: Array, column_of: Array, mass: Array, counts: Array) -> None:
    """``counts[row_of[first], column_of[second]]`` += mass of each row; an empty ``mass`` means one each."""
    weighted = mass.shape[0] > 0
    for i in range(first.shape[0]):
        counts[row_of[first[i]], column_of[second[i]]] += mass[i] if weighted else 1


def add_tree_in_numpy(*given: Array) -> None:
    """The twin of :func:`add_tree`."""
    root, left, right, goes_left, left_of, right_of, steps, margin = given
    is_left = goes_left[root].astype(bool)
    leaf = 3 - right_of[right].astype(int)
    leaf[is_left] = 1 - left_of[left][is_left].astype(int)
    margin += steps[leaf]


@compiled(twin=add_tree_in_numpy)
def add_tree(
    root: Array,
    left: Array,
    right: Array,
    goes_left: Array,
    left_of: Array,
    right_of: Array,
    steps: Array,
    margin: Array,
) -> None:
    """Add the steps of a tree's four leaves, from left to right, to the margin.

    The columns of codes are those that the first split and the splits on its left and right ask about;
    ``goes_left[code]``, ``left_of[code]`` and ``right_of[code]`` say where their codes go.
    """
    for i in range(margin.shape[0]):
        if goes_left[root[i]]:
            margin[i] += steps[0] if left_of[left[i]] else steps[1]
        else:
            margin[i] += steps[2] if right_of[right[i]] else steps[3]
