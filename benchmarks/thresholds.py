"""What the choice of the threshold is worth: balanced error plus unfairness on new data over random 50/50 splits.

    python benchmarks/thresholds.py [--splits 10] [--data adult bank] [--jobs 2]

All but "plain" start with equal weight per class (``class_weight="balanced"``). Discrete update, 200 rounds, θ and the
thresholds chosen on 33 % of the training half. Bank needs its raw file, see docs/datasets.md.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, metrics
from parityboost.datasets import fetch_bank, load_adult

DATA = {"adult": load_adult, "bank": fetch_bank}
NOTIONS = {"D.M.": "disparate_mistreatment", "Eq.Op.": "equal_opportunity", "St.Parity": "statistical_parity"}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "balanced": {"class_weight": "balanced"},
    "auto": {"class_weight": "balanced", "threshold": "auto"},
    "per group": {"class_weight": "balanced", "threshold": "per_group"},
}


def run(data: str, split: int) -> list[list[float]]:
    """``[notion][option]``: balanced error plus the notion's measure."""
    bunch = DATA[data]()
    X, X_test, y, y_test, s, s_test = train_test_split(
        bunch.data, bunch.target, bunch.sensitive, test_size=0.5, random_state=split
    )
    values = []
    for notion in NOTIONS.values():
        values.append([])
        for options in OPTIONS.values():
            model = AdaFairClassifier(notion, update="discrete", random_state=split, **options)
            predicted = model.fit(X, y, sensitive_features=s).predict(X_test, sensitive_features=s_test)
            total = metrics.fairness_objective(y_test, predicted, sensitive_features=s_test, notion=notion)
            values[-1].append(total)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", choices=sorted(DATA), default=["adult"])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print(f"BER + measure on the test halves, mean ± standard deviation over {arguments.splits} random splits\n")
    print(" " * 18 + "".join(f"{name:>16}" for name in OPTIONS))
    for data in arguments.data:
        runs = Parallel(arguments.jobs)(delayed(run)(data, split) for split in range(arguments.splits))
        mean, deviation = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1)
        for i, notion in enumerate(NOTIONS):
            cells = (f"{mean[i, j]:.3f} ± {deviation[i, j]:.3f}" for j in range(len(OPTIONS)))
            print(f"{data:<7}{notion:<11}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
