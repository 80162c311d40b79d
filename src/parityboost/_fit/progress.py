"""What `verbose` shows while boosting goes on."""

from __future__ import annotations

import sys
import time
from threading import Lock
from typing import Any

import numpy as np


class Progress:
    """A progress bar on standard error: redrawn in place on a terminal, a line at every tenth of the way elsewhere."""

    def __init__(self, name: str, n_rounds: int, n_rows: int = 0, n_workers: int = 0) -> None:
        self._name, self._n_rounds, self._started = name, n_rounds, time.perf_counter()
        self._n_rows, self._n_workers = n_rows, n_workers  # of a cluster
        self._in_place = sys.stderr.isatty()
        self._best = np.inf
        self._drawn = 0.0

    def __call__(self, j: int, _: Any, objective: float, theta: int) -> None:
        self._best = min(self._best, objective)
        now = time.perf_counter()
        last = j == self._n_rounds
        if self._in_place and (now - self._drawn < 0.05 and not last):
            return
        if not self._in_place and j % max(self._n_rounds // 10, 1) and not last:
            return
        self._drawn = now
        filled = 24 * j // self._n_rounds
        bar = "█" * filled + "░" * (24 - filled)
        line = (
            f"{self._name} {bar} {j:>{len(str(self._n_rounds))}}/{self._n_rounds}  objective {objective:.4f}  "
            f"best {self._best:.4f} at {theta}  {now - self._started:.1f} s"
        )
        if self._n_workers:
            speed = self._n_rows * j / max(now - self._started, 1e-9)
            line += f"  {speed:,.0f} rows per second  {self._n_workers} workers"
        print(
            f"\r{line}\x1b[K" if self._in_place else line,
            end="" if self._in_place else "\n",
            file=sys.stderr,
            flush=True,
        )

    def close(self, theta: int, stopped: str) -> None:
        reasons = {
            "n_estimators": "all rounds done",
            "perfect": "a learner made no mistake",
            "termination": "no learner better than chance",
            "no_change": "no improvement",
        }
        seconds = time.perf_counter() - self._started
        start = "\n" if self._in_place else ""
        print(f"{start}{self._name}: θ = {theta}, {reasons[stopped]}, {seconds:.1f} s", file=sys.stderr, flush=True)


class BagsProgress:
    """One bar for several trainings, which may go on at the same time."""

    def __init__(self, bar: Progress, n_rounds: int) -> None:
        self._bar, self._n_rounds = bar, n_rounds  # of each training
        self._done, self._lock = 0, Lock()

    def __call__(self, j: int, found: Any, objective: float, theta: int) -> None:
        """Another round of any of them."""
        with self._lock:
            self._done += 1
            self._bar(self._done, found, objective, theta)

    def end(self, n_made: int, objective: float, theta: int) -> None:
        """One of them has ended, perhaps before its last round."""
        if n_made < self._n_rounds:
            with self._lock:
                self._done += self._n_rounds - n_made
                self._bar(self._done, None, objective, theta)

    def close(self, theta: int) -> None:
        self._bar.close(theta, "n_estimators")
