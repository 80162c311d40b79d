"""What is on disk: finished runs, one small JSON file each; and everything that can be read off them.

A process may be killed at any moment: a file is there whole or not at all, and starting again finds what is missing. A
smaller request into a folder of results must not lose the rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._arrays import Floats
from ..._io.atomic import write_atomically
from ..._stats import rates as _rates
from ...notions import get_notion
from ..baselines import DM, EO, SP
from ._plan import SETTINGS, Run, Scope, Setting

FORMAT = 1
DATASET_NAMES = {"adult": "Adult census", "bank": "Bank", "compas": "COMPAS", "kdd": "KDD census"}
MEASURE_NAMES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Bal.Acc.",
    SP: "St.Parity",
    EO: "Eq.Op.",
    DM: "D.M.",
    "tpr_prot": "TPR Prot.",
    "tpr_nonprot": "TPR Non-prot.",
    "tnr_prot": "TNR Prot.",
    "tnr_nonprot": "TNR Non-prot.",
    "pos_prot": "Prot. Pos.",
    "pos_nonprot": "Non-prot. Pos.",
    "neg_prot": "Prot. Neg.",
    "neg_nonprot": "Non-prot. Neg.",
}
GROUPS = ("prot", "nonprot")
CELLS = [f"{group}_{cell}" for group in GROUPS for cell in ("tn", "fp", "fn", "tp")]


class Store:
    """A folder of finished runs.

    Parameters
    ----------
    folder : path
        Made when the first run is stored.
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


class NotMeasuredError(LookupError):
    """A run that is asked for has not been made, or failed."""


def _not_measured(run: Run) -> NotMeasuredError:
    return NotMeasuredError(f"{run.method} on {DATASET_NAMES[run.dataset]}, split {run.split}")


class Results:
    """The stored runs of a plan, looked at in one setting.

    Parameters
    ----------
    store : Store
        Where the runs are.
    runs : iterable of Run
        The plan: what should be there.
    setting : str, default="ours"
        Which of the runs a method's values are taken from.

    Attributes
    ----------
    rows : DataFrame
        One row per run and c, also for failed and missing runs (``status``): ``counts`` of the test data by group and
        outcome, and the measures.
    """

    def __init__(self, store: Store, runs: Iterable[Run], setting: str = "ours") -> None:
        self.setting: Setting = SETTINGS[setting]
        self.runs = list(runs)
        self.records = {run: store.load(run) for run in self.runs}
        rows = [(run, row) for run in self.runs for row in _rows(run, self.records[run])]
        self.rows = pd.DataFrame([row for _, row in rows])
        self.run_of_row = [run for run, _ in rows]
        self.n_splits = 1 + max((run.split for run in self.runs), default=-1)
        self._values = {(run, row["c"]): row for run, row in rows if row["status"] == "ok"}

    def values(self, dataset: str, method: str, notion: str, measure: str, c: float = 1.0) -> Floats:
        """A measure on every split, in order; all splits have to be there."""
        values = []
        for run in self._splits(dataset, method, notion):
            if (run, c) not in self._values:
                raise _not_measured(run)
            values.append(self._values[run, c][measure])
        return np.array(values)

    def _splits(self, dataset: str, method: str, notion: str) -> list[Run]:
        runs = [self.setting.run(dataset, method, notion, split) for split in range(self.n_splits)]
        if not runs:
            raise NotMeasuredError(f"{method} on {DATASET_NAMES[dataset]}")
        return runs

    def _record(self, run: Run) -> dict[str, Any]:
        record = self.records.get(run)
        if record is None or record["status"] != "ok":
            raise _not_measured(run)
        return record

    def rounds(self, run: Run) -> dict[str, Floats]:
        """What a run left of every round."""
        return {name: np.array(values) for name, values in self._record(run)["rounds"].items()}

    def round_by_round(self, dataset: str, notion: str) -> Run:
        """The run of Figure 4."""
        return self.setting.run(dataset, "AdaFair", notion, 0, "rounds")

    def costs(self, dataset: str, method: str, notion: str) -> list[dict[str, Floats]]:
        """The differences δ that the costs of every round come from, of every split."""
        last, runs = self.setting.cost_rounds, self._splits(dataset, method, notion)
        return [{name: values[:last] for name, values in self.rounds(run).items()} for run in runs]

    def theta(self, run: Run) -> int:
        """θ that a run chose for c = 1."""
        theta: int = next(choice["theta"] for choice in self._record(run)["choices"] if choice["c"] == 1.0)
        return theta


def measure(counts: Any) -> dict[str, float]:
    """Every measure of ``counts[group, y, ŷ]``, the protected group first."""
    counts = np.asarray(counts, dtype=float)
    row = {"accuracy": 1 - _rates.error_rate(counts), "balanced_accuracy": 1 - _rates.balanced_error_rate(counts)}
    row |= {name: get_notion(name).violation(counts) for name in (SP, EO, DM)}
    positive = _rates.selection_rate(counts)
    tpr, tnr = _rates.true_positive_rate(counts), _rates.true_negative_rate(counts)
    for name, values in (("tpr", tpr), ("tnr", tnr), ("pos", positive), ("neg", 1 - positive)):
        row |= {f"{name}_{group}": value for group, value in zip(GROUPS, values, strict=True)}
    return {name: float(value) for name, value in row.items()}


def _rows(run: Run, record: dict[str, Any] | None) -> list[dict[str, Any]]:
    keys = ("dataset", "attributes", "method", "recipe", "notion", "protocol", "split")
    common = {name: asdict(run)[name] for name in keys}
    if record is None or record["status"] != "ok":
        status = "missing" if record is None else "failed"
        return [{**common, "c": 1.0, "status": status, "note": record["reason"] if record else None}]
    told = {"status": "ok", "note": "; ".join(record["notes"]) or None, "seconds": record["seconds"]}
    return [
        {
            **common,
            **{"c": choice["c"], "theta": choice["theta"], **told},
            **dict(zip(CELLS, np.ravel(choice["counts"]).tolist(), strict=True)),
            **measure(choice["counts"]),
        }
        for choice in record["choices"]
    ]
