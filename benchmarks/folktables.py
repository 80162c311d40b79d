"""ACSIncome as others measure it: the Aequitas Flow benchmark's table and groups, and Cruz and Hardt's plane.

    python benchmarks/folktables.py [--only METHOD ...] [--tables TABLE ...] [--again METHOD ...] [--pages]

Trained on the benchmark's *validation* part (332,900 rows, a third of what its own methods were trained on), tested
once on its *test* part; race, nine groups, is the sensitive attribute. Two tables are made of it:

nine races      race is not among the columns; accuracy against the smallest over the largest rate of true positives.
four races      the four largest races alone; accuracy against the larger of the gaps in true and false positive rates;
                methods that do not see race, that have it as a column, and that are told it to decide.

Whatever can be chosen (thresholds, settings) is chosen on a third of the training rows that a first model has not seen;
then the model is trained again on all of them. Ours is trained once, and chooses on what its trainings held out.
Nothing is chosen by the test rows. Each run is stored, so that a benchmark that was stopped goes on where it was: what
a method made of a table, with its versions, is one file. The pages, results/folktables.{md,csv,svg,png} and
results/folktables-races.{svg,png}, are made from the store alone;
``--pages`` makes nothing else, and ``--check`` says what does not hold that must. One thread; a night on two cores is
more than enough. Needs PARITYBOOST_DATA.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from counted import accuracy, count, count_thresholds, large, larger_gap, tpr_ratio
from peers import install
from sklearn.model_selection import train_test_split
from store import Store

HERE = Path(__file__).parent
RESULTS = HERE / "results"
STORE = Store(RESULTS / "folktables-runs", RESULTS / "folktables.csv")
ENVIRONMENTS = HERE.parent / ".venv" / "peers"
LIMIT = 4 * 3600  # seconds that one run may take

# --- What is compared -----------------------------------------------------------------------------

NO, IN_X, YES = "no", "as a column", "yes"  # what a prediction needs of the group
SCIKIT = ["scikit-learn==1.9.1", "numpy==2.4.6", "pandas==3.1.1"]
REQUIREMENTS = {  # what the methods of judged_methods.py run with, an environment each; the first is what is looked at
    "lightgbm": ["lightgbm==4.7.0", *SCIKIT],
    "scikit-learn": SCIKIT,
    "fairgbm": ["fairgbm==0.9.14", "scikit-learn==1.7.2", "numpy==2.4.6", "pandas==3.1.1"],
    "fairlearn": ["fairlearn==0.15.0", "lightgbm==4.7.0", *SCIKIT],
    "oxonfair": ["oxonfair==0.3", "lightgbm==4.7.0", *SCIKIT],
    "error-parity": ["error-parity==0.3.12", "lightgbm==4.7.0", "scikit-learn==1.9.1", "numpy==1.26.4", "pandas"],
    "parityboost": [],  # this interpreter
}


@dataclass(frozen=True)
class Method:
    """A function of judged_methods.py: its name on the pages, where it runs, and what it needs."""

    name: str
    function: str
    environment: str
    group: str = NO
    random: bool = False
    scores: bool = False  # it gives scores, and thresholds are chosen here; else it decides by itself
    settings: tuple[str, ...] = ("",)  # a run each

    @property
    def version(self):
        if self.environment == "parityboost":
            return our_version()
        return ", ".join(
            r.replace("==", " ") for r in REQUIREMENTS[self.environment] if r[:5] not in ("numpy", "panda")
        )


def with_column(*methods):
    """The same methods with race among the columns."""
    return [replace(method, name=f"{method.name}, race in X", group=IN_X) for method in methods]


ALL_PAIRS = Method("ParityBoost, all pairs, 16 trainings", "parityboost_all_pairs", "parityboost")
OURS = [Method("ParityBoost", "parityboost", "parityboost"), ALL_PAIRS]
BOUNDS = ("0.1", "0.03", "0.01")
BLIND = [
    Method("LightGBM", "lightgbm", "lightgbm", scores=True),
    Method("HistGradientBoosting", "hist_gradient_boosting", "scikit-learn", scores=True),
    Method("FairGBM", "fairgbm", "fairgbm", scores=True),
    Method("oxonfair, inferred race", "oxonfair_inferred", "oxonfair"),
    Method("ExponentiatedGradient", "exponentiated_gradient", "fairlearn", random=True, settings=BOUNDS),
]  # fmt: skip
TOLD = [
    Method("ThresholdOptimizer", "threshold_optimizer", "fairlearn", YES, random=True),
    Method("error-parity", "error_parity", "error-parity", YES, random=True),
    Method("oxonfair", "oxonfair", "oxonfair", YES),
]


@dataclass(frozen=True)
class Table:
    """Rows of ACSIncome, what they are judged by, and the methods that are."""

    name: str
    races: tuple[int, ...]
    notion: str
    measure: Callable[[Any], Any]
    limits: tuple[float, ...]
    methods: list[Method]
    column: bool  # whether race may be one: for methods that have it there, and for those that are told it

    def keeps(self, counts, limit):
        """Whether groups of at least 1 % of the rows are as near to each other as the limit asks."""
        found = self.measure(counts[..., large(counts), :, :])
        return found >= limit if self.measure is tpr_ratio else found <= limit


TABLES = {
    table.name: table
    for table in (
        Table(
            "nine races",
            tuple(range(9)),
            "equal_opportunity",
            tpr_ratio,
            (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
            [*OURS, *BLIND, *TOLD],
            column=False,
        ),
        Table(
            "four races",
            (0, 1, 5, 7),
            "equalized_odds",
            larger_gap,
            (0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02),
            [*OURS, *BLIND, *with_column(OURS[0], *BLIND[:3]), *TOLD],
            column=True,
        ),
    )
}


@cache
def our_version():
    """Of this code, not of the last release: a change of the library is another method."""
    import parityboost

    digest = hashlib.sha256()
    for path in sorted(Path(parityboost.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return f"parityboost {parityboost.__version__}, code {digest.hexdigest()[:8]}"


# --- The rows -------------------------------------------------------------------------------------

CODES = ["OCCP", "POBP", "RELP", "COW", "MAR", "SEX", "RAC1P"]


@cache
def rows_of(name):
    """The training and the test rows of a table, with categories as codes; and which training rows are held out."""
    table = TABLES[name]
    parts = []
    for part in ("validation", "test"):
        path = Path(os.environ["PARITYBOOST_DATA"], "folktables", f"ACSIncome.{part}.parquet")
        found = pd.read_parquet(path).reset_index(drop=True)
        parts.append(found[found["RAC1P"].isin(table.races)].reset_index(drop=True))
    train, test = parts
    X, X_test = (part.drop(columns="PINCP").astype(float) for part in parts)
    for column in CODES:
        known = np.unique(X[column])
        for part in (X, X_test):
            part[column] = pd.Categorical(part[column], known).codes
            part[column] = part[column].where(part[column] >= 0).astype(float)  # not seen in training: missing
    y, s = train["PINCP"].to_numpy(), train["RAC1P"].to_numpy()
    _, held = train_test_split(np.arange(len(y)), test_size=1 / 3, random_state=0, stratify=2 * s + y)
    return X, y, s, np.isin(np.arange(len(y)), held), X_test, test["PINCP"].to_numpy(), test["RAC1P"].to_numpy()


def told(s, train):
    """What methods are told: a race of less than 1 % of the training rows is one with the others of that kind."""
    share = np.bincount(train, minlength=9) / len(train)
    names = {race: k for k, race in enumerate(np.flatnonzero(share >= 0.01))}
    return np.array([names.get(race, len(names)) for race in range(9)])[s]


def arrays_for(table, method):
    X, y, s, held, X_test, _, s_test = rows_of(table.name)
    if method.group == NO or not table.column:
        X, X_test = X.drop(columns="RAC1P"), X_test.drop(columns="RAC1P")
    return {
        "X": X.to_numpy(),
        "y": y,
        "s": told(s, s),
        "held": held,
        "X_test": X_test.to_numpy(),
        "s_test": told(s_test, s),
        "categorical": [k for k, column in enumerate(X.columns) if column in CODES],
        "notion": table.notion,
    }


# --- A run ----------------------------------------------------------------------------------------


def execute(table, method, setting, environments):
    """The rows for the store: a point of the trade-off each, or the reason why there is none."""
    found = run_method(method, arrays_for(table, method) | {"setting": setting}, environments)
    return [{"failed": found}] if isinstance(found, str) else list(points(table, method, found))


def run_method(method, arrays, environments):
    """What a function of judged_methods.py says about a table, or why it says nothing; one thread."""
    python = sys.executable
    if REQUIREMENTS[method.environment]:
        try:
            python = install(environments / method.environment, REQUIREMENTS[method.environment])
        except subprocess.CalledProcessError:
            return "could not be installed"
    one_thread = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    with tempfile.TemporaryDirectory() as work:
        source, target = Path(work, "in.npz"), Path(work, "out.npz")
        np.savez(source, **arrays)
        command = [python, "-W", "ignore", HERE / "judged_methods.py", method.function, source, target]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LIMIT, check=False, env=os.environ | one_thread
            )
        except subprocess.TimeoutExpired:
            return f"not within {LIMIT} s"
        if done.returncode:
            return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        with np.load(target) as found:
            return dict(found)


def points(table, method, found):
    """A method's points: its own, and for scores the most accurate threshold that keeps each limit on held-out rows."""
    _, y, s, held, _, y_test, s_test = rows_of(table.name)
    names = [name.removesuffix("|test") for name in found if name.endswith("|test")]

    def row(point, yes, name):
        counts = count(y_test, s_test, yes, 9)
        return {"point": point, "seconds": round(float(found[f"{name}|seconds"]), 2), "counts": packed(counts)}

    for name in names:
        yes = found[f"{name}|test"]
        yield row(name, yes > 0.5 if method.scores else yes, name)
    if not method.scores:
        return
    candidates = []
    for name in names:
        scores = found[f"{name}|held"]
        cuts = np.unique(np.quantile(scores, np.linspace(0, 1, 500), method="nearest"))
        counts = count_thresholds(y[held], s[held], scores, cuts, 9)
        candidates += [(name, cut, c) for cut, c in zip(cuts, counts, strict=True)]
    counts = np.stack([c for _, _, c in candidates])
    for limit in table.limits:
        kept = table.keeps(counts, limit)
        if kept.any():
            name, cut, _ = candidates[int(np.argmax(np.where(kept, accuracy(counts), -1)))]
            yield row(f"limit {limit:g}", found[f"{name}|test"] > cut, name) | {"of": name}


def packed(counts):
    """Four numbers for each race: negatives answered no and yes, positives answered no and yes."""
    return ";".join(" ".join(f"{number:.10g}" for number in np.round(cells.ravel(), 2)) for cells in counts)


def unpacked(text):
    return np.array([list(map(float, cells.split())) for cells in text.split(";")]).reshape(-1, 2, 2)


def plan(only):
    """(key, table, method, setting) of every run, ours last."""
    runs = [
        ({"table": table.name, "method": method.name, "setting": setting, "split": 0, "version": method.version},
         table, method, setting)
        for table in TABLES.values() for method in table.methods for setting in method.settings
        if only is None or method.name in only
    ]  # fmt: skip
    return sorted(runs, key=lambda run: run[2].environment == "parityboost")


def main():
    names = sorted({method.name for table in TABLES.values() for method in table.methods})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=names, help="only runs of these methods")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="only runs of these tables")
    parser.add_argument("--again", nargs="+", choices=names, default=[], help="forget the runs of these methods")
    parser.add_argument("--pages", action="store_true", help="make the pages from what is stored")
    parser.add_argument("--check", action="store_true", help="say what must be true of the stored runs and is not")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="where the methods' environments are")
    arguments = parser.parse_args()
    if arguments.check:
        from folktables_pages import broken

        found = broken(STORE.frame())
        sys.exit("\n".join(found) if found else 0)
    STORE.forget(arguments.again)
    runs = [run for run in plan(arguments.only) if run[1].name in arguments.tables and not STORE.has(run[0])]
    started = time.perf_counter()
    for k, (key, table, method, setting) in enumerate([] if arguments.pages else runs, 1):
        rows = execute(table, method, setting, arguments.environments)
        STORE.put(key, rows)
        print(
            f"{k}/{len(runs)} after {time.perf_counter() - started:.0f} s: {table.name}, {method.name} {setting}"
            + "".join(f": {row['failed']}" for row in rows if "failed" in row),
            file=sys.stderr,
            flush=True,
        )
    STORE.pack()
    from folktables_pages import write

    write(RESULTS)


if __name__ == "__main__":
    main()
