"""What `verbose` shows while boosting goes on."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

REASONS = {
    "n_estimators": "all rounds done",
    "perfect": "a learner made no mistake",
    "termination": "no learner better than chance",
    "no_change": "no improvement",
}
WIDTH = 8
# Nobody knows when a training ends that stops by itself: where lines stay, there is one for so many of its rounds.
ROUNDS_PER_LINE = 100


class Progress:
    """Where the trainings are, on standard error: redrawn in place on a terminal, now and then a line elsewhere.

    They may go on at the same time. There is a bar of all their rounds; or, if they stop by themselves
    (``is_open``), which is mostly long before the last, one of how many have ended. ``n_rows`` and ``n_workers`` are
    of a cluster.
    """

    def __init__(
        self, name: str, n_rounds: int, is_open: bool, n_trainings: int = 1, n_rows: int = 0, n_workers: int = 0
    ) -> None:
        self._name, self._n_rounds = name.removesuffix("Classifier"), n_rounds
        self._is_open, self._n_trainings = is_open, n_trainings
        self._n_rows, self._n_workers, self._started = n_rows, n_workers, time.perf_counter()
        self._in_place = sys.stderr.isatty()
        self._drawn = 0.0
        self._at: list[int] = []  # the round of each training
        self._best: list[float] = []
        self._n_ended, self._shown, self._lock = 0, "", Lock()

    def begin(self) -> tuple[Callable[[int, Any, float, int], None], Callable[[], None]]:
        """What the next training calls after each of its rounds, and at its end."""
        with self._lock:
            self._at.append(0)
            self._best.append(np.inf)
            k = len(self._at) - 1
        return partial(self._round, k), partial(self._end, k)

    def _round(self, k: int, j: int, _: Any, objective: float, theta: int) -> None:
        with self._lock:
            self._at[k], self._best[k] = j, min(self._best[k], objective)
            best = f"best {self._best[k]:.4f} at {theta}"
            if not self._is_open:
                self._shown = f"objective {objective:.4f}  {best}"
            elif self._n_trainings > 1:
                self._shown = f"training {k + 1}, round {j}, {best}"
            else:
                self._shown = f"round {j}  objective {objective:.4f}  {best}"
            done = sum(self._at)
            of_all = self._n_rounds * self._n_trainings
            is_due = j % ROUNDS_PER_LINE == 0 if self._is_open else done % max(of_all // 10, 1) == 0 or done == of_all
            self._draw(is_due, done == of_all)

    def _end(self, k: int) -> None:
        """A training has ended, perhaps before its last round."""
        with self._lock:
            self._n_ended += 1
            is_early = self._at[k] < self._n_rounds
            if not self._is_open:
                self._at[k] = self._n_rounds
            self._draw(self._is_open or is_early, True)

    def _draw(self, is_due: bool, is_last: bool) -> None:
        now = time.perf_counter()
        if now - self._drawn < 0.05 and not is_last if self._in_place else not is_due:
            return
        self._drawn = now
        done, of_all = sum(self._at), self._n_rounds * self._n_trainings
        line = f"{self._name} "
        if not self._is_open:
            line += f"{_bar(done, of_all)} {done:>{len(str(of_all))}}/{of_all}  "
        elif self._n_trainings > 1:
            line += f"{_bar(self._n_ended, self._n_trainings)} {self._n_ended}/{self._n_trainings} ended  "
        line += f"{self._shown}  {now - self._started:.1f} s"
        if self._n_workers:
            speed = self._n_rows * done / max(now - self._started, 1e-9)
            line += f"  {speed:,.0f} rows per second  {self._n_workers} workers"
        shown, end = (f"\r{line}\x1b[K", "") if self._in_place else (line, "\n")
        print(shown, end=end, file=sys.stderr, flush=True)

    def close(self, theta: int, stopped: Sequence[str]) -> None:
        """All trainings have ended, each for one of the ``REASONS``."""
        seconds = time.perf_counter() - self._started
        times = Counter(REASONS[reason] for reason in stopped)
        why = ", ".join(
            f"{reason} ({n} of {len(stopped)})" if len(times) > 1 else reason for reason, n in times.items()
        )
        start = "\n" if self._in_place else ""
        print(f"{start}{self._name}: θ = {theta}, {why}, {seconds:.1f} s", file=sys.stderr, flush=True)


def _bar(done: int, of_all: int) -> str:
    filled = WIDTH * done // of_all
    return "█" * filled + "░" * (WIDTH - filled)
