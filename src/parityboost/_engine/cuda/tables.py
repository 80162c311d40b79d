"""What ``kernels.columns`` does, for columns on the graphics card.

The functions of the same names take the same arguments. Values, weights, codes and margins, which have an entry per
row, are CuPy arrays; all others are NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._arrays import N_CODES
from .card import compile_module, load_cupy

Array = NDArray[Any]

THREADS, MAX_BLOCKS = 256, 2048
SHARED_MEMORY = 48 << 10  # what any thread block may have
NOTHING = np.uint64(2**64 - 1)


def place(array: Any) -> Any:
    """A copy on the card; what is there already stays where it is."""
    return load_cupy().asarray(array)


def zeros(n: int) -> Any:
    """A placed array of floats."""
    return load_cupy().zeros(n)


def free() -> None:
    """Give back all memory that nobody uses any more."""
    load_cupy().get_default_memory_pool().free_all_blocks()


def find_inverse(values: Any, most: int) -> tuple[Array, Any] | None:
    """The distinct integers or booleans, sorted, and where each row's is among them; None if there are too many, or
    some that are no floats.
    """
    numbers = values.astype(np.uint8) if values.dtype == np.bool_ else values
    if numbers.dtype.itemsize == 8 and max(abs(int(numbers.min())), abs(int(numbers.max()))) > 2**53:
        return None
    n_distinct, slots, _ = _collect(numbers.astype(np.float64), most)
    if n_distinct > most:
        return None
    distinct = np.sort(slots[slots != NOTHING].view(np.float64)).astype(numbers.dtype)
    return distinct.astype(values.dtype), load_cupy().searchsorted(place(distinct), numbers)


def encode_numbers(values: Any, edges: Array, codes: Any) -> bool:
    padded = np.full(N_CODES, np.inf)
    padded[: len(edges)] = edges
    infinite = load_cupy().zeros(1, dtype=np.int32)
    _launch("encode_numbers", len(values), (values, len(values), place(padded), codes, infinite))
    return not int(infinite[0])


def find_distinct(values: Any, distinct: Array) -> int:
    n_distinct, slots, _ = _collect(values, len(distinct))
    if n_distinct <= len(distinct):
        distinct[:n_distinct] = slots[slots != NOTHING].view(np.float64)
    return n_distinct


def find_masses(values: Any, weights: Any, distinct: Array, masses: Array) -> int:
    n_distinct, slots, placed_slots = _collect(values, len(distinct))
    if n_distinct > len(distinct):
        return n_distinct
    taken = np.flatnonzero(slots != NOTHING)
    distinct[:n_distinct] = slots[taken].view(np.float64)
    place_of = np.zeros(len(slots), dtype=np.int32)
    place_of[taken] = np.arange(n_distinct)
    sums = load_cupy().zeros(n_distinct, dtype=np.uint64)
    slot_bits = len(slots).bit_length() - 1
    weights = place(weights)
    given = values, len(values), slot_bits, placed_slots, place(place_of), n_distinct, weights, int(len(weights) > 0)
    _launch("sum_masses_of", len(values), (*given, sums), 8 * n_distinct)
    masses[:n_distinct] = sums.get().astype(np.int64)
    return n_distinct


def _collect(values: Any, most: int) -> tuple[int, Array, Any]:
    """How many distinct values there are, or one more than ``most``; and the table that has their bits."""
    cupy = load_cupy()
    slot_bits = (4 * most - 1).bit_length()
    slots = cupy.full(1 << slot_bits, NOTHING, dtype=np.uint64)
    n_distinct = cupy.zeros(1, dtype=np.uint32)
    _launch("collect_distinct", len(values), (values, len(values), slot_bits, most, slots, n_distinct))
    return min(int(n_distinct[0]), most + 1), slots.get(), slots


def count_keys(
    values: Any,
    weights: Any,
    start: Any,
    shift: int,
    parts_of: Array,
    part_shift: Array,
    first_new: int,
    mass: Array,
) -> None:
    n_new = len(mass) - first_new
    sums = load_cupy().zeros(n_new, dtype=np.uint64)
    weights = place(weights)
    in_shared = 8 * n_new <= SHARED_MEMORY
    given = values, len(values), weights, int(len(weights) > 0), np.uint64(start), shift
    stretches = place(parts_of), place(part_shift), first_new, n_new
    _launch("count_keys", len(values), (*given, *stretches, int(in_shared), sums), 8 * n_new if in_shared else 0)
    mass[first_new:] += sums.get().astype(np.int64)


def look_into(
    values: Any,
    start: Any,
    shift: int,
    parts_of: Array,
    part_shift: Array,
    first_new: int,
    wanted: Array,
    one_value: Array,
    is_mixed: Array,
) -> None:
    seen = np.where(np.isnan(one_value), NOTHING, one_value.view(np.uint64))
    placed_seen, placed_mixed = place(seen), place(is_mixed.astype(np.uint8))
    given = values, len(values), np.uint64(start), shift, place(parts_of), place(part_shift), first_new
    _launch("look_into", len(values), (*given, place(wanted.astype(np.uint8)), placed_seen, placed_mixed))
    one_value[:] = placed_seen.get().view(np.float64)  # whatever is no value is a NaN
    is_mixed[:] = placed_mixed.get()


def add_steps(codes: Any, steps: Array, margin: Any) -> None:
    _launch("add_steps", len(margin), (codes, len(margin), place(steps), margin))


def add_pair_steps(
    codes: Any,
    columns: Array,
    row_of: Array,
    column_of: Array,
    widths: Array,
    starts: Array,
    steps: Array,
    margin: Any,
) -> None:
    placed_steps, placed_rows, placed_columns = place(steps), place(row_of), place(column_of)
    for p, (first, second) in enumerate(columns.tolist()):
        given = codes[first], codes[second], len(margin), placed_rows[p], placed_columns[p], int(widths[p])
        _launch("add_pair_steps", len(margin), (*given, placed_steps[int(starts[p]) :], margin))


def _launch(name: str, n_rows: int, args: tuple[Any, ...], shared_memory: int = 0) -> None:
    if n_rows == 0:
        return
    kernel = compile_module("tables.cu", int(load_cupy().cuda.Device().id)).get_function(name)
    grid = min(-(-n_rows // THREADS), MAX_BLOCKS)
    kernel((grid,), (THREADS,), args, shared_mem=shared_memory)
