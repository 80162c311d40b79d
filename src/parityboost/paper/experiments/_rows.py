"""Stored runs as tables: everything that is shown or claimed is computed from these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ..._arrays import Floats
from ..._stats import rates as _rates
from ...notions import get_notion
from ..baselines.registry import DM, EO, SP
from ._plan import C_VALUES, SETTINGS, Figure, Run, Setting
from ._store import Store

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


class NotMeasuredError(LookupError):
    """A run that is asked for has not been made, or failed.

    Examples
    --------
    >>> from parityboost.paper.experiments import NotMeasuredError, Results, Store, plan
    >>> results = Results(Store("runs-of-nobody"), plan(["adult"], n_splits=1))
    >>> try:
    ...     results.values("adult", "AdaBoost", "equal_opportunity", "accuracy")
    ... except NotMeasuredError as missing:
    ...     print(missing)
    AdaBoost on Adult census, split 0
    """


def measures_of(figure: Figure) -> list[str]:
    """What a figure shows of each method, or for each c."""
    of_predictions = figure.notion == SP and figure.kind == "performance"
    rates = [f"{rate}_{group}" for rate in (("pos", "neg") if of_predictions else ("tpr", "tnr")) for group in GROUPS]
    return ["accuracy", "balanced_accuracy", figure.notion, *rates]


def measure(counts: Any) -> dict[str, float]:
    """Every measure of ``counts[group, y, ŷ]``, the protected group first."""
    counts = np.asarray(counts, dtype=float)
    row: dict[str, Any] = {
        "accuracy": 1 - _rates.error_rate(counts),
        "balanced_accuracy": 1 - _rates.balanced_error_rate(counts),
    }
    row |= {name: get_notion(name).violation(counts) for name in (SP, EO, DM)}
    positive = _rates.selection_rate(counts)
    rates = {
        "tpr": _rates.true_positive_rate(counts),
        "tnr": _rates.true_negative_rate(counts),
        "pos": positive,
        "neg": 1 - positive,
    }
    for name, values in rates.items():
        row[f"{name}_prot"], row[f"{name}_nonprot"] = values
    return {name: float(value) for name, value in row.items()}


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

    Examples
    --------
    >>> from parityboost.paper.experiments import Results, Store, plan
    >>> results = Results(Store("runs-of-nobody"), plan(["adult"], n_splits=1))
    >>> results.rows["status"].unique().tolist()
    ['missing']
    """

    def __init__(self, store: Store, runs: Iterable[Run], setting: str = "ours") -> None:
        self.setting: Setting = SETTINGS[setting]
        self.runs = list(runs)
        self.records = {run: store.load(run) for run in self.runs}
        rows = {run: _rows(run, self.records[run]) for run in self.runs}
        self.rows = pd.DataFrame([row for run in self.runs for row in rows[run]])
        self._of_run = rows
        self.n_splits = 1 + max((run.split for run in self.runs), default=-1)
        self._values = {(run, row["c"]): row for run in self.runs for row in rows[run] if row["status"] == "ok"}

    def rows_of(self, run: Run) -> list[dict[str, Any]]:
        """What ``rows`` has of a run."""
        return self._of_run[run]

    def values(self, dataset: str, method: str, notion: str, measure: str, c: float = 1.0) -> Floats:
        """A measure on every split, in order; all splits have to be there."""
        values = []
        for split in range(self.n_splits):
            row = self._values.get((self.setting.run(dataset, method, notion, split), c))
            if row is None:
                raise NotMeasuredError(f"{method} on {DATASET_NAMES[dataset]}, split {split}")
            values.append(row[measure])
        if not values:
            raise NotMeasuredError(f"{method} on {DATASET_NAMES[dataset]}")
        return np.array(values)

    def _record(self, run: Run) -> dict[str, Any]:
        record = self.records.get(run)
        if record is None or record["status"] != "ok":
            raise NotMeasuredError(f"{run.method} on {DATASET_NAMES[run.dataset]}, split {run.split}")
        return record

    def rounds(self, run: Run) -> dict[str, Floats]:
        """What a run left of every round."""
        return {name: np.array(values) for name, values in self._record(run)["rounds"].items()}

    def round_by_round(self, dataset: str, notion: str) -> Run:
        """The run of Figure 4."""
        return self.setting.run(dataset, "AdaFair", notion, 0, "rounds")

    def costs(self, dataset: str, method: str, notion: str) -> list[dict[str, Floats]]:
        """The differences δ that the costs of every round come from, of every split."""
        runs = [self.setting.run(dataset, method, notion, split) for split in range(self.n_splits)]
        if not runs:
            raise NotMeasuredError(f"{method} on {DATASET_NAMES[dataset]}")
        last = self.setting.cost_rounds
        return [{name: values[:last] for name, values in self.rounds(run).items()} for run in runs]

    def theta(self, run: Run) -> int:
        """θ that a run chose for c = 1."""
        theta: int = next(choice["theta"] for choice in self._record(run)["choices"] if choice["c"] == 1.0)
        return theta


def _rows(run: Run, record: dict[str, Any] | None) -> list[dict[str, Any]]:
    common = {
        "dataset": run.dataset,
        "attributes": run.attributes,
        "method": run.method,
        "recipe": run.recipe,
        "notion": run.notion,
        "protocol": run.protocol,
        "split": run.split,
    }
    if record is None or record["status"] != "ok":
        status = "missing" if record is None else "failed"
        return [{**common, "c": 1.0, "status": status, "note": record["reason"] if record else None}]
    return [
        {
            **common,
            "c": choice["c"],
            "theta": choice["theta"],
            "status": "ok",
            "note": "; ".join(record["notes"]) or None,
            "seconds": record["seconds"],
            **dict(zip(CELLS, np.ravel(choice["counts"]).tolist(), strict=True)),
            **measure(choice["counts"]),
        }
        for choice in record["choices"]
    ]


def tabulate(figure: Figure, results: Results, dataset: str) -> pd.DataFrame:
    """The numbers behind one panel, in long form.

    Performance: method, measure, mean, sd, n. The effect of c: c in place of the method. Rounds: round and one column
    per line. Costs: round, method, gap, mean over the splits and the middle 80 % of them.
    """
    return {"performance": _performance, "balance": _balance, "rounds": _over_rounds, "costs": _costs}[figure.kind](
        figure, results, dataset
    )


def _performance(figure: Figure, results: Results, dataset: str) -> pd.DataFrame:
    rows = []
    for method in figure.methods:
        for name in measures_of(figure):
            rows.append({"method": method, "measure": name, **_summary(results, dataset, method, figure.notion, name)})
    return pd.DataFrame(rows)


def _balance(figure: Figure, results: Results, dataset: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"c": c, "measure": name, **_summary(results, dataset, "AdaFair", figure.notion, name, c)}
        for c in C_VALUES
        for name in measures_of(figure)
    )


def _summary(
    results: Results, dataset: str, method: str, notion: str, name: str, c: float = 1.0
) -> dict[str, float | int]:
    try:
        values = results.values(dataset, method, notion, name, c)
    except NotMeasuredError:
        return {"mean": np.nan, "sd": np.nan, "n": 0}
    return {"mean": float(values.mean()), "sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0, "n": len(values)}


def _over_rounds(figure: Figure, results: Results, dataset: str) -> pd.DataFrame:
    run = results.round_by_round(dataset, figure.notion)
    rounds = results.rounds(run)
    table = pd.DataFrame({name: values for name, values in rounds.items() if not name.startswith("delta_")})
    table.insert(0, "round", np.arange(1, len(table) + 1))
    table["theta"] = results.theta(run)
    return table


def _costs(figure: Figure, results: Results, dataset: str) -> pd.DataFrame:
    tables = []
    for method in figure.methods:
        found = results.costs(dataset, method, figure.notion)
        for gap in found[0]:
            length = min(len(rounds[gap]) for rounds in found)
            values = np.array([rounds[gap][:length] for rounds in found])
            low, high = np.quantile(values, [0.1, 0.9], axis=0)
            tables.append(
                pd.DataFrame(
                    {
                        "round": np.arange(1, length + 1),
                        "method": method,
                        "gap": gap.removeprefix("delta_"),
                        "mean": values.mean(axis=0),
                        "low": low,
                        "high": high,
                        "split_0": values[0],
                    }
                )
            )
    return pd.concat(tables, ignore_index=True)
