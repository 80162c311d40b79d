"""What is on disk: finished runs, one small JSON file each, and what a folder of results covers.

A process may be killed at any moment: a file is there whole or not at all, and starting again finds what is missing. A
smaller request into a folder of results must not lose the rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._io.atomic import write_atomically
from ..baselines.registry import DATASETS
from ._plan import FIGURES, SETTINGS, Figure, Run, plan

FORMAT = 1
FILE = "scope.json"


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    folder : path
        Made when the first run is stored.

    Examples
    --------
    >>> from parityboost.paper.experiments import Run, Store
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


@dataclass(frozen=True)
class Scope:
    """Figures, datasets and settings, each in its usual order, and the number of splits."""

    figures: tuple[int, ...]
    datasets: tuple[str, ...]
    settings: tuple[str, ...]
    n_splits: int

    @classmethod
    def of(cls, figures: set[int], datasets: set[str], settings: set[str], n_splits: int) -> Scope:
        return cls(
            tuple(figure.number for figure in FIGURES if figure.number in figures),
            tuple(name for name in DATASETS if name in datasets),
            tuple(name for name in SETTINGS if name in settings),
            n_splits,
        )

    @classmethod
    def read(cls, folder: Path) -> Scope | None:
        """What the folder covers; None if it holds no results."""
        if not (folder / FILE).exists():
            if (folder / "rows.csv").exists():
                raise ValueError(f"{folder} holds results of another version of parityboost: choose another --out")
            return None
        found = json.loads((folder / FILE).read_text(encoding="utf8"))
        return cls.of(set(found["figures"]), set(found["datasets"]), set(found["settings"]), found["n_splits"])

    def write(self, folder: Path) -> None:
        write_atomically(folder / FILE, json.dumps(asdict(self), indent=1) + "\n")

    def panels(self) -> list[Figure]:
        return [figure for figure in FIGURES if figure.number in self.figures]

    def runs(self) -> list[Run]:
        """Every run, once."""
        return list(plan(self.datasets, self.panels(), self.n_splits, self.settings))

    def joined(self, other: Scope) -> Scope | None:
        """The one that covers exactly both; None if none does."""
        mine, theirs = asdict(self), asdict(other)
        both = Scope.of(
            {*self.figures, *other.figures},
            {*self.datasets, *other.datasets},
            {*self.settings, *other.settings},
            max(self.n_splits, other.n_splits),
        )
        # Scopes that differ in one respect leave no hole in their union.
        return both if both in (self, other) or sum(mine[name] != theirs[name] for name in mine) == 1 else None

    def __str__(self) -> str:
        return (
            f"figures {', '.join(map(str, self.figures))} of {', '.join(self.datasets)} in the settings "
            f"{', '.join(self.settings)} on {self.n_splits} splits"
        )


def widened(asked: Scope, folder: Path, store: Store) -> Scope:
    """What the folder will cover once what is asked for is there too: nothing that it shows is lost."""
    held = Scope.read(folder)
    if held is None:
        return asked
    scope = held.joined(asked)
    if scope is None:
        raise ValueError(f"{folder} holds {held}; with {asked} it would have holes: choose another --out")
    wanted = set(asked.runs())
    lost = [run for run in store.missing(held.runs()) if run not in wanted]
    if lost:
        raise ValueError(
            f"{folder} shows {held}, but {len(lost)} of the runs behind that are not in {store.folder}: choose another "
            "--out, or ask for all of it again"
        )
    return scope
