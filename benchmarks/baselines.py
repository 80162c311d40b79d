"""Every method on one dataset: performance, fairness and fit seconds over random 50/50 splits.

    python benchmarks/baselines.py [--dataset adult] [--splits 5] [--methods AdaBoost FAE ...] [--no-fairlearn]
                                   [--without-group]

Measured on the test halves with the paper's parameters, one thread, one method after the other. The measure that a
method is for is marked with a star.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import cache
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import train_test_split

from parityboost import metrics
from parityboost.datasets import fetch_bank, fetch_compas, fetch_kdd_census, load_adult
from parityboost.paper.baselines import METHODS

MEASURES = {
    "St.Parity": ("statistical_parity", metrics.statistical_parity_difference),
    "Eq.Op.": ("equal_opportunity", metrics.equal_opportunity_difference),
    "D.M.": ("disparate_mistreatment", metrics.disparate_mistreatment),
}


LOADERS = {
    "adult": load_adult,
    "bank": fetch_bank,
    "compas": lambda: fetch_compas(attributes="zafar"),
    "kdd": fetch_kdd_census,
}


@cache
def load(dataset: str) -> Any:
    return LOADERS[dataset]()


def runs(names: list[str]) -> list[tuple[str, str | None]]:
    """Method and notion: one run for each notion that the method can be told, else one."""
    pairs: list[tuple[str, str | None]] = []
    for name in names:
        method = METHODS[name]
        pairs += [(name, notion) for notion in method.notions] if method.takes_notion else [(name, None)]
    return pairs


def measure(dataset: str, name: str, notion: str | None, split: int, without_group: bool = False) -> dict[str, float]:
    bunch = load(dataset)
    data = bunch.data.drop(columns=bunch.sensitive_names) if without_group else bunch.data
    X, X_test, y, y_test, s, s_test = train_test_split(
        data, bunch.target, bunch.sensitive, test_size=0.5, random_state=split
    )
    method = METHODS[name]
    model = method.make(notion, dataset, random_state=split, n_jobs=1)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether Zafar et al. converged is not the question here
        model.fit(X, y, sensitive_features=s)
    seconds = time.perf_counter() - started
    predicted = (
        model.predict(X_test, sensitive_features=s_test) if method.predict_needs_group else model.predict(X_test)
    )
    table = metrics.group_table(y_test, predicted, sensitive_features=s_test)
    row = {"accuracy": 1 - metrics.error_rate(y_test, predicted)}
    row["bal.acc."] = 1 - metrics.balanced_error_rate(y_test, predicted)
    for label, (_, function) in MEASURES.items():
        row[label] = function(y_test, predicted, sensitive_features=s_test)
    for rate in ("tpr", "tnr"):
        for group in table.index[:-1]:
            row[f"{rate.upper()} {group}"] = float(table[rate][group])
    return {**row, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--dataset", choices=LOADERS, default="adult", help="all but adult need PARITYBOOST_DATA or network"
    )
    parser.add_argument("--without-group", action="store_true", help="leave the sensitive column out of X")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--no-fairlearn", action="store_true", help="only the methods of the paper and AdaFair")
    arguments = parser.parse_args()
    names = [name for name in arguments.methods if METHODS[name].in_paper or not arguments.no_fairlearn]
    measure(arguments.dataset, "AdaFair", "equal_opportunity", 0)  # compiles the kernels
    title = load(arguments.dataset).name + (", sensitive column left out" if arguments.without_group else "")
    print(f"{title}, mean ± standard deviation over {arguments.splits} random 50/50 splits, on the test halves\n")
    for position, (name, notion) in enumerate(runs(names)):
        rows = [
            measure(arguments.dataset, name, notion, split, arguments.without_group)
            for split in range(arguments.splits)
        ]
        if position == 0:
            print(f"{'':<34}" + "".join(f"{column:>15}" for column in rows[0]))
        cells = []
        for column in rows[0]:
            values = np.array([row[column] for row in rows])
            if column == "seconds":
                cells.append(f"{np.median(values):.2f}")
                continue
            targeted = column in MEASURES and MEASURES[column][0] in (
                METHODS[name].notions if notion is None and len(METHODS[name].notions) == 1 else (notion,)
            )
            cells.append(f"{values.mean():.3f} ± {values.std():.3f}{'*' if targeted else ' '}")
        label = name if notion is None else f"{name}, {notion.replace('_', ' ')}"
        print(f"{label:<34}" + "".join(f"{cell:>15}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
