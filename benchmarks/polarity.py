"""Whether the outcome depends on which of the two labels is called positive: the recommended model, statistical parity.

Each model is trained twice on a random half, once with the labels swapped, and both are measured on the other half:
balanced error + the difference in selection rates, which is the same number for both labels.

    python benchmarks/polarity.py            # needs PARITYBOOST_DATA for all but Adult
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, ParityBoostClassifier
from parityboost.datasets import fetch_bank, fetch_compas, load_adult, make_biased_classification
from parityboost.metrics import balanced_error_rate, statistical_parity_difference

DATASETS = {
    "Adult": load_adult,
    "Bank": fetch_bank,
    "COMPAS": fetch_compas,
    "synthetic": lambda: make_biased_classification(20_000, random_state=0),
    "synthetic, small": lambda: make_biased_classification(3_000, random_state=1),
}
MODELS = {"ParityBoostClassifier": ParityBoostClassifier, "AdaFairClassifier": AdaFairClassifier}


def outcome(cls: type, data: object, split: int, swapped: bool) -> float:
    """Balanced error + St.Parity on the test half."""
    y = 1 - np.asarray(data.target) if swapped else np.asarray(data.target)
    X, X_test, y, y_test, s, s_test = train_test_split(data.data, y, data.sensitive, test_size=0.5, random_state=split)
    model = cls("statistical_parity", random_state=split).fit(X, y, sensitive_features=s)
    predicted = model.predict(X_test)
    return balanced_error_rate(y_test, predicted) + abs(
        statistical_parity_difference(y_test, predicted, sensitive_features=s_test)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, load in DATASETS.items():
        data = load()
        for label, cls in MODELS.items():
            found = [[outcome(cls, data, k, swapped) for swapped in (False, True)] for k in range(args.splits)]
            pairs = np.array(found)
            change = pairs[:, 1].mean() - pairs[:, 0].mean()
            rows.append([name, label, *pairs.mean(axis=0), change, np.abs(pairs[:, 1] - pairs[:, 0]).mean()])
            print(*rows[-1], flush=True)
    columns = ["data", "model", "as given", "swapped", "change", "mean change of a split"]
    table = pd.DataFrame(rows, columns=columns)
    print(table.round(3).to_string(index=False))
    print(table.groupby("model")[["change", "mean change of a split"]].agg(lambda v: v.abs().mean()).round(4))


if __name__ == "__main__":
    main()
