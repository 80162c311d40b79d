"""A team of threads that shares ranges of work, and the device that the rows live on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import pairwise
from typing import Any

from .._arrays import on_card

# Waking a thread costs about as much as this many elementary steps of a kernel.
WORTH_A_THREAD = 1 << 18
MAX_THREADS = 1024  # what a user, or a model file, may ask for


class Team(AbstractContextManager["Team"]):
    """A fixed number of threads; the kernels they call release the GIL.

    Ranges are handed out so that who does what never changes a result: a range's outcome depends on the range alone.
    Passes over the rows of a sample are made where they are placed: by these threads, or on the graphics card.
    """

    def __init__(self, n_threads: int, device: str = "cpu") -> None:
        self.n_threads = n_threads
        self.device = device
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    @cached_property
    def card(self) -> Any:
        """The graphics card."""
        from .cuda.rows import RoundsCard

        return RoundsCard()

    def n_sharing(self, n_items: int, work_per_item: float) -> int:
        """How many threads so much work is worth waking."""
        return min(self.n_threads, n_items, int(n_items * work_per_item / WORTH_A_THREAD))

    def run(self, task: Callable[[int, int], None], n_items: int, work_per_item: float) -> None:
        """Call ``task(first, last)`` so that the ranges cover ``n_items``."""
        n_threads = self.n_sharing(n_items, work_per_item)
        if self._pool is None or n_threads < 2:
            task(0, n_items)
            return
        bounds = [n_items * k // n_threads for k in range(n_threads + 1)]
        others = [self._pool.submit(task, first, last) for first, last in pairwise(bounds[1:])]
        try:
            task(bounds[0], bounds[1])
        finally:
            for other in others:
                other.result()

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        if "card" in vars(self):
            self.card.close()


def kernels_for(values: Any) -> Any:
    """``kernels.columns``, or what does the same on the graphics card if the values are there."""
    if on_card(values):
        from .cuda import tables

        return tables
    from .kernels import columns  # numba is needed only now

    return columns
