"""Why some of the paper's figures are not reached: what other readings of the method would give.

    python benchmarks/differences.py [--datasets adult bank compas] [--splits 10]

The text leaves open on which data θ is chosen, when the cost for false positives applies, and how many learners the
non-cumulative variant uses. Each line changes one of these, on the splits of `parityboost reproduce`.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, _rates, metrics
from parityboost.experiments._execute import load
from parityboost.notions import DisparateMistreatment


class BehindInBoth(DisparateMistreatment):
    """A cost for false positives only if the group with more of them also has more false negatives."""

    def costs(self, counts, epsilon=0.0):
        u = super().costs(counts, epsilon)
        fnr, fpr = _rates.false_negative_rate(counts), _rates.false_positive_rate(counts)
        if np.argmax(fnr) != np.argmax(fpr):
            u[:, 0] = 0
        return u


VARIANTS = {
    "AdaFair": ({}, False),
    "… θ chosen on the training data": ({"validation_fraction": None}, False),
    "… guarded cost for false positives": ({"notion": BehindInBoth()}, False),
    "… both": ({"notion": BehindInBoth(), "validation_fraction": None}, False),
    "NoCumul": ({"cumulative": False}, False),
    "… with all 200 learners": ({"cumulative": False}, True),
}


def measure(dataset: str, split: int, parameters: dict, all_learners: bool) -> tuple[float, float]:
    bunch = load(dataset)
    X, X_test, y, y_test, s, s_test = train_test_split(
        bunch.data, bunch.target, bunch.sensitive, test_size=0.5, random_state=split
    )
    model = AdaFairClassifier(**{"notion": "disparate_mistreatment", "random_state": split, **parameters})
    model.fit(X, y, sensitive_features=s)
    if all_learners:
        model.theta_ = model.n_estimators_
    predicted = model.predict(X_test)
    unfairness = metrics.disparate_mistreatment(y_test, predicted, sensitive_features=s_test)
    return 1 - metrics.balanced_error_rate(y_test, predicted), unfairness


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["adult", "bank", "compas"])
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    for dataset in arguments.datasets:
        print(f"{load(dataset).name:<36}{'balanced accuracy':>20}{'D.M.':>18}")
        for name, (parameters, all_learners) in VARIANTS.items():
            found = np.array([measure(dataset, split, parameters, all_learners) for split in range(arguments.splits)])
            cells = [f"{mean:.3f} ± {sd:.3f}" for mean, sd in zip(found.mean(0), found.std(0, ddof=1), strict=True)]
            print(f"{name:<36}{cells[0]:>20}{cells[1]:>18}", flush=True)


if __name__ == "__main__":
    main()
