"""Compiles what most tests need, once: ``python tests/kernels.py``, before several processes would each do it."""

import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, FitWarning, ParityBoostClassifier

FITS = [
    (AdaFairClassifier, {}),
    (AdaFairClassifier, {"threshold": "auto", "costs_from": "validation", "learner_weight": "cost"}),
    (AdaFairClassifier, {"update": "real", "max_depth": 2, "category_splits": "sets", "threshold": "per_group"}),
    (ParityBoostClassifier, {"n_bags": 2}),
    (ParityBoostClassifier, {"n_bags": 2, "limit": 0.5, "confidence": 0.9, "threshold": "per_group"}),
]


def main():
    warnings.simplefilter("ignore", FitWarning)
    X, y, groups = make_people(600)
    for kind, options in FITS:
        model = kind(n_estimators=4, random_state=0, **options)
        for weight in (None, np.arange(600) % 3 + 0.5):
            model.fit(X, y, sensitive_features=groups, sample_weight=weight)
            model.predict(X, sensitive_features=groups if model.threshold == "per_group" else None)
            model.frontier()
    AdaBoostClassifier(4).fit(X, y).predict(X)


if __name__ == "__main__":
    main()
