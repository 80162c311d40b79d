"""The points that no other beats in two measures."""

from __future__ import annotations

import numpy as np

from .compiling import Array, compiled, compiled_inner

# Points are compared with those in so many bands of one measure before they are sorted.
N_BANDS = 1 << 10
NARROWEST_BAND = 1e-9  # far more than what equal measures may differ by
ROUNDED_TO = 1e12  # parts of one; measures that agree when so rounded are equal
SAME = 1e-12  # values closer than this are equal


@compiled
def list_near_front(first: Array, second: Array, places: Array) -> int:
    """All undominated points and not many others, in ``places``; and how many. Without sorting.

    Left out is what a point beats that is as good in ``second`` and two bands of ``first`` lower, so lower whatever the
    rounding; and what is not defined (NaN).
    """
    low, high = np.inf, -np.inf
    for i in range(first.shape[0]):
        low = first[i] if first[i] < low else low  # comparisons that NaN does not pass
        high = first[i] if first[i] > high else high
    best = np.full(N_BANDS + 2, np.inf)  # of the bands before the last one
    per_band = (N_BANDS - 1) / (high - low) if high - low > N_BANDS * NARROWEST_BAND else 0.0
    for i in range(first.shape[0]):
        if second[i] < np.inf and not np.isnan(first[i]):
            band = int((first[i] - low) * per_band) + 2
            best[band] = min(best[band], second[i])
    for band in range(1, N_BANDS + 2):
        best[band] = min(best[band - 1], best[band])
    n = 0
    for i in range(first.shape[0]):
        if not np.isnan(first[i]):
            places[n] = i
            n += second[i] < best[int((first[i] - low) * per_band)]
    return n


@compiled_inner
def comes_before(first: Array, second: Array, third: Array, a: int, b: int) -> bool:
    """Whether point a is before b by the first measure, the second (both rounded), the third, or else its place."""
    of_a, of_b = np.rint(first[a] * ROUNDED_TO), np.rint(first[b] * ROUNDED_TO)
    if of_a == of_b:
        of_a, of_b = np.rint(second[a] * ROUNDED_TO), np.rint(second[b] * ROUNDED_TO)
    if of_a != of_b:
        return bool(of_a < of_b)
    if third[a] != third[b]:
        return bool(third[a] < third[b])
    return a < b


@compiled_inner
def sift(first: Array, second: Array, third: Array, heap: Array, top: int, n: int) -> None:
    """Let what is at the top sink to where no child comes after it."""
    while 2 * top + 1 < n:
        child = 2 * top + 1
        if child + 1 < n and comes_before(first, second, third, heap[child], heap[child + 1]):
            child += 1
        if not comes_before(first, second, third, heap[top], heap[child]):
            return
        heap[top], heap[child] = heap[child], heap[top]
        top = child


@compiled
def list_front(first: Array, second: Array, third: Array, places: Array) -> int:
    """The undominated points in ``places``, by the first measure; and how many. Of equals the one of the lowest third.

    Measures that agree to twelve decimals are equal.
    """
    n = list_near_front(first, second, places)
    for start in range(n // 2 - 1, -1, -1):  # heapsort
        sift(first, second, third, places, start, n)
    for stop in range(n - 1, 0, -1):
        places[0], places[stop] = places[stop], places[0]
        sift(first, second, third, places, np.int64(0), stop)
    n_kept, lowest = 0, np.inf
    for k in range(n):
        rounded = np.rint(second[places[k]] * ROUNDED_TO)
        if rounded < lowest:
            places[n_kept], lowest = places[k], rounded
            n_kept += 1
    return n_kept


@compiled
def first_lowest(values: Array) -> int:
    """Place of the first value that no other beats by more than rounding."""
    lowest = np.inf
    for k in range(values.shape[0]):
        lowest = values[k] if values[k] < lowest else lowest
    for k in range(values.shape[0]):
        if values[k] <= lowest + SAME:
            return k
    return 0
