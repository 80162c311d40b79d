"""Finished runs on disk: one small JSON file each, written in one step.

A process may be killed at any moment: a file is there whole or not at all, and starting again finds what is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .._io.atomic import write_atomically
from ._run import Run

FORMAT = 1


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    folder : path
        Made when the first run is stored.

    Examples
    --------
    >>> from parityboost.experiments import Run, Store
    >>> Store("nowhere").load(Run("adult", "AdaBoost", None, 0)) is None
    True
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, run: Run) -> Path:
        """Where a run is stored."""
        return self.folder / f"{run.key}.json"

    def load(self, run: Run) -> dict[str, Any] | None:
        """What is known about a run; None if it is not there, damaged, or was made with other settings."""
        try:
            record = json.loads(self.path(run).read_text(encoding="utf8"))
        except (OSError, ValueError):
            return None
        if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("run") != run.as_dict():
            return None
        return record if _is_whole(record) else None

    def save(self, run: Run, record: dict[str, Any]) -> None:
        """Store a run."""
        text = json.dumps({"format": FORMAT, "run": run.as_dict(), **record}, allow_nan=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path(run), text)

    def missing(self, runs: Iterable[Run], retry_failed: bool = False) -> list[Run]:
        """The runs that are still to be made."""
        return [
            run for run in runs if (record := self.load(run)) is None or (retry_failed and record["status"] == "failed")
        ]


def _is_whole(record: dict[str, Any]) -> bool:
    """Whether a record has all that is read from it later."""
    if not isinstance(record.get("versions"), dict) or not isinstance(record.get("finished"), str):
        return False
    if record.get("status") == "failed":
        return isinstance(record.get("reason"), str)
    try:
        shapes = {np.shape(choice["counts"]) for choice in record["choices"]}
        chosen = {choice["c"]: choice["theta"] for choice in record["choices"]}
        lengths = {np.ndim(values) for values in record["rounds"].values()}
        known = isinstance(record["seconds"], float) and isinstance(record["notes"], list)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return record.get("status") == "ok" and known and 1.0 in chosen and shapes == {(2, 2, 2)} and lengths <= {1}
