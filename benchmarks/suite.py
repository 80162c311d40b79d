"""Timings of fit and predict for pytest-benchmark, to compare versions of the code on one machine.

    python -m pytest benchmarks/suite.py -o addopts= [--benchmark-autosave] [--benchmark-compare]

These are absolute times, for developers. Claims about speed are ratios, from benchmarks/speed.py.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier
from parityboost.datasets import load_adult, make_biased_classification

MODELS = {
    "stumps": lambda: AdaFairClassifier(random_state=0),
    "trees": lambda: AdaFairClassifier(max_depth=2, random_state=0),
    "automatic threshold": lambda: AdaFairClassifier(threshold="auto", random_state=0),
    "early stopping": lambda: AdaFairClassifier(n_estimators=2000, n_iter_no_change=100, random_state=0),
    "recommended": lambda: ParityBoostClassifier(random_state=0),
}


@pytest.fixture(scope="module")
def adult() -> Any:
    return load_adult()


@pytest.mark.parametrize("n_rows", [1000, 22_587])
@pytest.mark.parametrize("name", MODELS)
def test_fit_on_adult(benchmark: Any, adult: Any, n_rows: int, name: str) -> None:
    X, y, s = (part.iloc[:n_rows] for part in (adult.data, adult.target, adult.sensitive))
    benchmark(lambda: MODELS[name]().fit(X, y, sensitive_features=s))


def test_fit_on_synthetic_rows(benchmark: Any) -> None:
    bunch = make_biased_classification(200_000, 20, random_state=0)
    model = AdaFairClassifier(n_estimators=50, random_state=0)
    benchmark(lambda: model.fit(bunch.data, bunch.target, sensitive_features=bunch.sensitive))


def test_predict(benchmark: Any, adult: Any) -> None:
    model = AdaBoostClassifier(200).fit(adult.data, adult.target)
    new = pd.concat([adult.data] * 4, ignore_index=True)
    benchmark(model.predict, new)


def test_staged_predict(benchmark: Any, adult: Any) -> None:
    model = AdaBoostClassifier(200).fit(adult.data, adult.target)
    benchmark(lambda: sum(1 for _ in model.staged_predict(adult.data)))
