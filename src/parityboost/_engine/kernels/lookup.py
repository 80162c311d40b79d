"""Prediction: one look-up per column, and one per pair of columns."""

from __future__ import annotations

from .compiling import Array, compiled, compiled_or

CHUNK_ROWS = 1 << 12  # the codes and margins of so many rows stay in the cache while all pairs pass over them


def add_steps_in_numpy(codes: Array, steps: Array, margin: Array) -> None:
    """The twin of :func:`add_steps`."""
    margin += steps[codes]


@compiled_or(add_steps_in_numpy)
def add_steps(codes: Array, steps: Array, margin: Array) -> None:
    """``margin += steps[codes]``."""
    for i in range(margin.shape[0]):
        margin[i] += steps[codes[i]]


def add_pair_steps_in_numpy(
    codes: Array,
    columns: Array,
    row_of: Array,
    column_of: Array,
    widths: Array,
    starts: Array,
    steps: Array,
    margin: Array,
) -> None:
    """The twin of :func:`add_pair_steps`."""
    for p, (first, second) in enumerate(columns.tolist()):
        row, column = row_of[p][codes[first, : len(margin)]], column_of[p][codes[second, : len(margin)]]
        margin += steps[starts[p] + row.astype(int) * widths[p] + column]


@compiled_or(add_pair_steps_in_numpy)
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


def add_tree_in_numpy(
    root: Array,
    left: Array,
    right: Array,
    goes_left: Array,
    left_of: Array,
    right_of: Array,
    steps: Array,
    margin: Array,
) -> None:
    """The twin of :func:`add_tree`."""
    is_left = goes_left[root].astype(bool)
    leaf = 3 - right_of[right].astype(int)
    leaf[is_left] = 1 - left_of[left][is_left].astype(int)
    margin += steps[leaf]


@compiled_or(add_tree_in_numpy)
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
