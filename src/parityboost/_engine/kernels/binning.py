"""Values to codes, and equal rows told apart."""

from __future__ import annotations

import numpy as np

from .compiling import Array, compiled


@compiled
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


@compiled
def encode_numbers(values: Array, edges: Array, codes: Array) -> bool:
    """``codes[i] = 1 + #{edge < value}``, 0 for NaN; whether all values are finite or NaN."""
    padded = np.full(256, np.inf)
    padded[: edges.shape[0]] = edges
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
