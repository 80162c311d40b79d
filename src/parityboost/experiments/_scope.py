"""What a folder of results covers. A smaller request into it must not lose the rest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from .._io.atomic import write_atomically
from ..baselines.registry import DATASETS
from ._plan import FIGURES, Figure, plan
from ._run import Run
from ._settings import SETTINGS
from ._store import Store

FILE = "scope.json"


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

    def contains(self, other: Scope) -> bool:
        return (
            set(self.figures) >= set(other.figures)
            and set(self.datasets) >= set(other.datasets)
            and set(self.settings) >= set(other.settings)
            and self.n_splits >= other.n_splits
        )

    def joined(self, other: Scope) -> Scope | None:
        """The one that covers exactly both; None if none does."""
        if self.contains(other):
            return self
        if other.contains(self):
            return other
        mine, theirs = asdict(self), asdict(other)
        if sum(mine[name] != theirs[name] for name in mine) != 1:
            return None
        return Scope.of(
            {*self.figures, *other.figures},
            {*self.datasets, *other.datasets},
            {*self.settings, *other.settings},
            self.n_splits,
        )

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
