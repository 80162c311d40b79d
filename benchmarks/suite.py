"""Timings of kernels, fit and predict for pytest-benchmark, to compare versions of the code on one machine.

    python -m pytest benchmarks/suite.py -o addopts= [--benchmark-autosave] [--benchmark-compare]

These are absolute times, for developers. Claims about speed are ratios, from benchmarks/speed.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from parityboost import AdaFairClassifier
from parityboost._engine.kernels import binning, histogram, rounds
from parityboost._engine.threads import Team
from parityboost._fit.samples import Leaves, Sample, to_masses
from parityboost._table.bundles import Bundles
from parityboost.baselines import AdaBoostClassifier
from parityboost.datasets import load_adult, make_biased_classification

N_ROWS, N_COLUMNS = 100_000, 12


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """Random codes, weights and blocks as training has them."""
    rng = np.random.default_rng(0)
    with Team(1) as team:
        sample = Sample(
            rng.integers(0, 4, N_ROWS).astype(np.uint8), 2, to_masses(None), np.arange(N_ROWS, dtype=np.int32), team
        )
    n_blocks = len(sample.blocks)
    return {
        "codes": np.minimum(rng.geometric(0.05, (N_COLUMNS, N_ROWS)), 255).astype(np.uint8),
        "weights": rng.random(N_ROWS) * 2.0**36,
        "leaf_of_code": (rng.random(256) < 0.5).astype(np.uint8),
        "sample": sample,
        "blocks": sample.blocks,
        "listed": np.arange(N_ROWS, dtype=np.uint32),
        "gains": rng.integers(0, 2**36, N_ROWS),
        "n_listed": sample.blocks[:, 2] - sample.blocks[:, 1],
        "sums": np.zeros(n_blocks, dtype=np.int64),
        "mass": np.empty(0, dtype=np.int64),
        "n_blocks": n_blocks,
    }


@pytest.fixture(scope="module")
def adult() -> Any:
    return load_adult()


def test_histograms_of_all_rows(benchmark: Any, rows: dict[str, Any]) -> None:
    histograms = np.zeros((N_COLUMNS, 2, 2, 256), dtype=np.int64)
    benchmark(
        histogram.add_to_histograms,
        rows["codes"],
        rows["listed"],
        rows["gains"],
        rows["n_listed"],
        rows["blocks"],
        2,
        0,
        N_COLUMNS,
        histograms,
    )


def test_change_of_weights(benchmark: Any, rows: dict[str, Any]) -> None:
    factors = 1 + np.array([[0.0, 1e-9], [0.0, 2e-9], [1e-9, 0.0], [2e-9, 0.0]])
    benchmark(
        rounds.change_weights,
        rows["codes"][0],
        rows["leaf_of_code"],
        factors,
        rows["weights"],
        rows["mass"],
        rows["blocks"],
        0,
        rows["n_blocks"],
        rows["listed"].copy(),
        rows["gains"].copy(),
        rows["n_listed"].copy(),
        rows["sums"],
    )


def test_margins_and_counts(benchmark: Any, rows: dict[str, Any]) -> None:
    leaves = Leaves(rows["codes"][0], rows["leaf_of_code"])
    benchmark(rows["sample"].move_margins, leaves, np.array([-0.1, 0.1]), 0.0)


def test_encoding_of_numbers(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    codes = np.empty(N_ROWS, dtype=np.uint8)
    benchmark(binning.encode_numbers, rng.normal(size=N_ROWS), np.sort(rng.normal(size=254)), codes)


def test_bundling(benchmark: Any, adult: Any) -> None:
    model = AdaBoostClassifier(1).fit(adult.data, adult.target)
    benchmark(Bundles, model._ensemble.binner)


@pytest.mark.parametrize("n_rows", [1000, 22_587])
@pytest.mark.parametrize("notion", ["disparate_mistreatment", "statistical_parity"])
def test_fit_on_adult(benchmark: Any, adult: Any, n_rows: int, notion: str) -> None:
    X, y, s = adult.data.iloc[:n_rows], adult.target.iloc[:n_rows], adult.sensitive.iloc[:n_rows]
    benchmark(lambda: AdaFairClassifier(notion, random_state=0).fit(X, y, sensitive_features=s))


def test_fit_with_automatic_threshold(benchmark: Any, adult: Any) -> None:
    X, y, s = adult.data.iloc[:5000], adult.target.iloc[:5000], adult.sensitive.iloc[:5000]
    benchmark(lambda: AdaFairClassifier(threshold="auto", random_state=0).fit(X, y, sensitive_features=s))


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
