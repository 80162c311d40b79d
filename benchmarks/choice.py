"""As accurate as a limit allows: ours beside one threshold on other models, and beside what is told the group.

    python benchmarks/choice.py [--only METHOD ...] [--pages]

Adult and Bank (fifteen splits, 80/20) and ACSIncome by sex (three splits: its *validation* part to train on, a third of
its *test* part each to test on); equalized odds, accuracy under limits on the larger of the two gaps. No method is
given the group as a column, and those of the first kind never see it to predict. Peers choose on a third of the
training rows that a first model has not seen, and are then trained on all of them (judged_methods.py); ours is trained
once and chooses on what its trainings held out. Each run is stored; results/choice.md is made from the store alone.
One thread. Needs PARITYBOOST_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from counted import accuracy, count, count_thresholds, larger_gap
from folktables import BLIND, ENVIRONMENTS, OURS, RESULTS, TOLD, run_method
from sklearn.model_selection import train_test_split
from store import Store
from tradeoff_pages import table as as_table

from parityboost import datasets

STORE = Store(RESULTS / "choice-runs", RESULTS / "choice.csv")
METHODS = [
    *OURS,
    *(method for method in BLIND if method.name in ("LightGBM", "HistGradientBoosting")),
    *(method for method in TOLD if method.name in ("ThresholdOptimizer", "error-parity")),
]
FRESH = (*range(5), *range(20, 30))  # five, and ten more that nothing of the model was chosen by
SPLITS = {"Adult": FRESH, "Bank": FRESH, "ACSIncome": range(3)}
LIMITS = (0.05, 0.10)


@cache
def table(name):
    """X with categories as codes, which columns they are, labels, groups, and which rows are in the test part."""
    if name == "ACSIncome":
        folder = Path(os.environ["PARITYBOOST_DATA"], "folktables")
        parts = [pd.read_parquet(folder / f"ACSIncome.{part}.parquet") for part in ("validation", "test")]
        frame = pd.concat(parts, ignore_index=True)
        y, s = frame.pop("PINCP").to_numpy(), frame.pop("SEX").to_numpy()
        kinds = ["OCCP", "POBP", "RELP", "COW", "MAR", "RAC1P"]
        test = np.arange(len(y)) >= len(parts[0])
    else:
        data = {"Adult": datasets.load_adult, "Bank": datasets.fetch_bank}[name]()
        frame = data.data.drop(columns=data.sensitive_names)
        y, s, test = data.target.to_numpy(), data.sensitive, None
        kinds = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    codes = {column: frame[column].astype("category").cat.codes for column in kinds}
    X = frame.assign(**codes).astype(float).to_numpy()
    s = pd.factorize(np.asarray(s).ravel(), sort=True)[0]
    return X, [list(frame).index(column) for column in kinds], y.astype(int), s, test


def parts_of(name, split):
    """Rows to train on, which of those are held out from a first model, and rows to test on."""
    X, _, y, s, test = table(name)
    if test is None:
        train, new = train_test_split(np.arange(len(X)), test_size=0.2, random_state=split, stratify=2 * s + y)
    else:
        train, new = np.flatnonzero(~test), np.flatnonzero(test)[split::3]
    _, held = train_test_split(np.arange(len(train)), test_size=1 / 3, random_state=split, stratify=(2 * s + y)[train])
    return train, np.isin(np.arange(len(train)), held), new


def execute(name, method, split):
    """Accuracy and gap on the test rows of what a method chooses under each limit, a row each."""
    X, kinds, y, s, _ = table(name)
    train, held, new = parts_of(name, split)
    arrays = {
        "X": X[train], "y": y[train], "s": s[train], "held": held, "X_test": X[new], "s_test": s[new],
        "categorical": kinds, "notion": "equalized_odds", "setting": "",
    }  # fmt: skip
    found = run_method(method, arrays, ENVIRONMENTS)
    if isinstance(found, str):
        return [{"failed": found}]
    rows = []
    for limit in LIMITS:
        yes = chosen(method, found, limit, y[train][held], s[train][held])
        if yes is None:
            rows.append({"point": f"limit {limit:g}", "failed": "nothing keeps the limit"})
            continue
        counts = count(y[new], s[new], yes, 2)
        numbers = {"accuracy": round(float(accuracy(counts)), 5), "gap": round(float(larger_gap(counts)), 5)}
        rows.append({"point": f"limit {limit:g}"} | numbers)
    return rows


def chosen(method, found, limit, y, s):
    """The chances of a yes on the test rows: the most accurate that keeps the limit on the held-out rows."""
    names = [name.removesuffix("|test") for name in found if name.endswith("|test")]
    if method in OURS:
        return next((found[f"{name}|test"] for name in names if name == f"limit {limit:g}"), None)
    best, yes = -1.0, None
    for name in names:
        said = found[f"{name}|held"]
        cuts = np.unique(np.quantile(said, np.linspace(0, 1, 500), method="nearest")) if method.scores else [None]
        counts = count_thresholds(y, s, said, cuts, 2) if method.scores else count(y, s, said, 2)[None]
        right = np.where(larger_gap(counts) <= limit + (0.0 if method.scores else 0.005), accuracy(counts), -1.0)
        if right.max() > best:
            best = right.max()
            test = found[f"{name}|test"]
            yes = test > cuts[int(right.argmax())] if method.scores else test
    return yes


def write():
    """The page, from the store."""
    found = STORE.frame()
    lines = ["# As accurate as a limit allows", "", "Made by `benchmarks/choice.py`. One thread.", ""]
    lines += [
        "Equalized odds between the sexes (Adult, ACSIncome) or by marital status (Bank), the group not among the "
        "columns: accuracy on test rows where the larger of the gaps in true and false positive rates was limited on "
        "the rows that were chosen on; in brackets the gap on the test rows. Mean ± standard error over the splits, "
        "fifteen of Adult and Bank and three of ACSIncome. That 16 trainings are better than 8, and 32 no better, was "
        "measured within ACSIncome's rows to train on.",
        "",
    ]
    rows = []
    for method in METHODS:
        row = [method.name, method.group, "yes" if method.random else "no"]
        for name in SPLITS:
            for limit in LIMITS:
                at = (
                    (found["method"] == method.name) & (found["table"] == name) & (found["point"] == f"limit {limit:g}")
                )
                values = found.loc[at, ["accuracy", "gap"]].astype(float).dropna()
                if len(values) < len(SPLITS[name]):
                    row.append(f"kept in {len(values)} of {len(SPLITS[name])}")
                    continue
                error = values["accuracy"].std(ddof=1) / len(values) ** 0.5
                row.append(f"{values['accuracy'].mean():.4f} ± {error:.4f} ({values['gap'].mean():.3f})")
        rows.append(row)
    columns = ["", "needs the group", "random", *(f"{name}, {limit:g}" for name in SPLITS for limit in LIMITS)]
    lines += [*as_table(columns, rows, 3), ""]
    (RESULTS / "choice.md").write_text("\n".join(lines), encoding="utf8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[method.name for method in METHODS], help="only these methods")
    parser.add_argument("--again", nargs="+", default=[], help="forget the runs of these methods")
    parser.add_argument("--pages", action="store_true", help="make the page from what is stored")
    arguments = parser.parse_args()
    STORE.forget(arguments.again)
    for name, splits in SPLITS.items():
        for method in METHODS if not arguments.pages else []:
            for split in splits:
                key = {"table": name, "method": method.name, "setting": "", "split": split, "version": method.version}
                if STORE.has(key) or (arguments.only and method.name not in arguments.only):
                    continue
                STORE.put(key, found := execute(name, method, split))
                print(name, method.name, split, found, file=sys.stderr, flush=True)
    STORE.pack()
    write()


if __name__ == "__main__":
    main()
