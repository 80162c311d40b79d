"""Fairness and accuracy on Adult over random 50/50 splits: AdaBoost, AdaFair, its non-cumulative variant, its options.

    python benchmarks/adult_quality.py [--splits 10] [--options] [--jobs 2]

Each split trains on one half with the defaults (200 rounds, 33 % of the training half held out for θ) and measures the
other half. ``--options`` adds what the paper's text does when it is taken literally, and what the other options do
(docs/paper-notes.md quotes these figures).
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from parityboost import AdaBoostClassifier, AdaFairClassifier, metrics
from parityboost.datasets import load_adult
from parityboost.notions import DisparateMistreatment, StatisticalParity

NOTIONS = {
    "D.M.": ("disparate_mistreatment", metrics.disparate_mistreatment),
    "Eq.Op.": ("equal_opportunity", metrics.equal_opportunity_difference),
    "St.Parity": ("statistical_parity", metrics.statistical_parity_difference),
}


class SignsAsPrinted(DisparateMistreatment):
    """Costs for the group with the *lower* error rate, as Eq. (13) reads with δ = rate(s̄) − rate(s)."""

    def costs(self, counts: Any, epsilon: float = 0.0) -> Any:
        return super().costs(counts, epsilon)[..., ::-1, :]


def models(with_options: bool) -> dict[str, Any]:
    table: dict[str, Any] = {"AdaBoost": AdaBoostClassifier()}
    for label, (notion, _) in NOTIONS.items():
        table[f"AdaFair {label}"] = AdaFairClassifier(notion)
        table[f"NoCumul {label}"] = AdaFairClassifier(notion, cumulative=False)
    if with_options:
        table["AdaBoost, confidence update"] = AdaBoostClassifier(update="confidence")
        table["D.M., costs with the signs as printed"] = AdaFairClassifier(SignsAsPrinted())
        table["St.Parity, costs as printed"] = AdaFairClassifier(StatisticalParity(boost="misclassified"))
        for label, (notion, _) in NOTIONS.items():
            for text, options in {
                "discrete update": {"update": "discrete"},
                "α from costs": {"learner_weight": "cost"},
                "balanced start": {"class_weight": "balanced"},
                "balanced groups": {"class_weight": "balanced_groups"},
                "threshold auto": {"threshold": "auto"},
                "balanced, auto": {"class_weight": "balanced", "threshold": "auto"},
            }.items():
                table[f"{label}, {text}"] = AdaFairClassifier(notion, **options)
    return table


def run(split: int, with_options: bool) -> dict[str, dict[str, float]]:
    adult = load_adult()
    X, X_test, y, y_test, s, s_test = train_test_split(
        adult.data, adult.target, adult.sensitive, test_size=0.5, random_state=split
    )
    rows = {}
    for name, model in models(with_options).items():
        model.set_params(random_state=split).fit(X, y, sensitive_features=s)
        predicted = model.predict(X_test)
        row = {
            "accuracy": 1 - metrics.error_rate(y_test, predicted),
            "bal.acc.": 1 - metrics.balanced_error_rate(y_test, predicted),
        }
        for label, (_, measure) in NOTIONS.items():
            row[label] = measure(y_test, predicted, sensitive_features=s_test)
        rows[name] = {**row, "θ": model.theta_, "rounds": model.n_estimators_}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--options", action="store_true")
    arguments = parser.parse_args()
    runs = Parallel(arguments.jobs)(delayed(run)(split, arguments.options) for split in range(arguments.splits))
    frames = [pd.DataFrame.from_dict(rows, orient="index") for rows in runs]
    values = np.array([frame.to_numpy() for frame in frames])
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    names, columns = frames[0].index, frames[0].columns
    width = max(len(name) for name in names)
    print(f"Adult, mean ± standard deviation over {arguments.splits} random 50/50 splits, on the test halves\n")
    print(" " * width + "".join(f"{column:>16}" for column in columns))
    for i, name in enumerate(names):
        cells = [
            f"{mean[i, j]:>7.0f} ± {deviation[i, j]:<6.0f}"
            if column in ("θ", "rounds")
            else f"{mean[i, j]:>7.3f} ± {deviation[i, j]:.3f} "
            for j, column in enumerate(columns)
        ]
        print(f"{name:<{width}}" + "".join(f"{cell:>16}" for cell in cells).rstrip())
    print()
    for label in NOTIONS:
        j = columns.get_loc(label)
        ber = 1 - values[..., columns.get_loc("bal.acc.")]
        total = {kind: (ber + values[..., j])[:, names.get_loc(f"{kind} {label}")] for kind in ("AdaFair", "NoCumul")}
        worse = np.sum(total["NoCumul"] > total["AdaFair"])
        print(
            f"BER + {label:<10} cumulative {total['AdaFair'].mean():.3f}, "
            f"non-cumulative {total['NoCumul'].mean():.3f}: worse in {worse} of {arguments.splits} splits"
        )


if __name__ == "__main__":
    main()
