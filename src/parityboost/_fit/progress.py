"""What `verbose` shows while boosting goes on."""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import Any

import numpy as np


class Progress:
    """A progress bar on standard error: redrawn in place on a terminal, a line at every tenth of the way elsewhere.

    It may be the bar of several trainings of ``of_each`` rounds, which may go on at the same time. ``n_rows`` and
    ``n_workers`` are of a cluster.
    """

    def __init__(self, name: str, n_rounds: int, n_rows: int = 0, n_workers: int = 0) -> None:
        self._name, self._n_rounds, self._started = name.removesuffix("Classifier"), n_rounds, time.perf_counter()
        self._n_rows, self._n_workers = n_rows, n_workers
        self._in_place = sys.stderr.isatty()
        self._best, self._drawn = np.inf, 0.0
        self.of_each = 0
        self._done, self._lock = 0, Lock()

    def __call__(self, j: int, _: Any, objective: float, theta: int) -> None:
        """Another round of the training, or of any of several."""
        with self._lock:
            self._done = self._done + 1 if self.of_each else j
            self._draw(self._done, objective, theta)

    def end(self, n_made: int, objective: float, theta: int) -> None:
        """One of several trainings has ended, perhaps before its last round."""
        with self._lock:
            if n_made < self.of_each:
                self._done += self.of_each - n_made
                self._draw(self._done, objective, theta)

    def _draw(self, j: int, objective: float, theta: int) -> None:
        self._best = min(self._best, objective)
        now = time.perf_counter()
        last = j == self._n_rounds
        if self._in_place and (now - self._drawn < 0.05 and not last):
            return
        if not self._in_place and j % max(self._n_rounds // 10, 1) and not last:
            return
        self._drawn = now
        filled = 12 * j // self._n_rounds
        bar = "█" * filled + "░" * (12 - filled)
        line = (
            f"{self._name} {bar} {j:>{len(str(self._n_rounds))}}/{self._n_rounds}  objective {objective:.4f}  "
            f"best {self._best:.4f} at {theta}  {now - self._started:.1f} s"
        )
        if self._n_workers:
            speed = self._n_rows * j / max(now - self._started, 1e-9)
            line += f"  {speed:,.0f} rows per second  {self._n_workers} workers"
        shown, end = (f"\r{line}\x1b[K", "") if self._in_place else (line, "\n")
        print(shown, end=end, file=sys.stderr, flush=True)

    def close(self, theta: int, stopped: str = "n_estimators") -> None:
        reasons = {
            "n_estimators": "all rounds done",
            "perfect": "a learner made no mistake",
            "termination": "no learner better than chance",
            "no_change": "no improvement",
        }
        seconds = time.perf_counter() - self._started
        start = "\n" if self._in_place else ""
        print(f"{start}{self._name}: θ = {theta}, {reasons[stopped]}, {seconds:.1f} s", file=sys.stderr, flush=True)
