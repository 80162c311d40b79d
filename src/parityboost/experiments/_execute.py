"""One run: fit a method on one part of a dataset, measure it on the other."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from .. import _rates
from ..baselines.registry import get_method
from ..datasets import fetch_bank, fetch_compas, fetch_kdd_census, load_adult
from ..explain import choices_over_c
from ..notions import get_notion
from ._plan import C_VALUES, PROTOCOLS, Run

TABLE_1: dict[str, Callable[..., Bunch]] = {
    "adult": load_adult,
    "bank": fetch_bank,
    "compas": fetch_compas,
    "kdd": fetch_kdd_census,
}
# The experiments follow Zafar et al., who use five attributes of Compass; Table 1 counts nine.
LOADERS: dict[str, Callable[..., Bunch]] = {**TABLE_1, "compas": partial(fetch_compas, attributes="zafar")}


@lru_cache(maxsize=1)  # runs come dataset by dataset
def load(dataset: str) -> Bunch:
    """A dataset as the experiments use it."""
    return LOADERS[dataset]()


def execute(run: Run) -> dict[str, Any]:
    """Fit and measure; what is returned can be stored as JSON.

    ``choices`` has, for every c (only 1 for methods without c), θ and ``counts[group][y][ŷ]`` on the test data, the
    protected group first. All measures are functions of these counts. ``rounds`` has what is drawn over the rounds.
    """
    bunch = load(run.dataset)
    protocol = PROTOCOLS[run.protocol]
    X, X_test, y, y_test, s, s_test = train_test_split(
        bunch.data, bunch.target, bunch.sensitive, test_size=protocol["test_size"], random_state=run.split
    )
    method = get_method(run.method)
    parameters: dict[str, Any] = {"random_state": run.split, "n_jobs": 1}
    if "n_estimators" in method.factory().get_params():
        parameters["n_estimators"] = protocol["n_estimators"]
    model = method.make(run.notion, run.dataset, **parameters)
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        started = time.perf_counter()
        model.fit(X, y, sensitive_features=s)
        seconds = time.perf_counter() - started
        groups = [bunch.protected, *sorted(set(bunch.sensitive) - {bunch.protected})]
        cell = 2 * pd.Index(groups).get_indexer(s_test) + np.asarray(y_test)
        if run.method.startswith("AdaFair"):
            choices, rounds = _boosting_path(model, run, X_test, cell)
        else:
            extra = {"sensitive_features": s_test} if method.predict_needs_group else {}
            choices = [{"c": 1.0, "theta": None, "counts": count(cell, model.predict(X_test, **extra) == 1).tolist()}]
            rounds = {}
    notes = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    return {"groups": groups, "seconds": seconds, "choices": choices, "rounds": rounds, "notes": notes}


def count(cell: NDArray[np.intp], positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """``counts[group, y, ŷ]`` of two groups."""
    counts: NDArray[np.intp] = np.bincount(2 * cell + positive, minlength=8).reshape(2, 2, 2)
    return counts


def _boosting_path(
    model: Any, run: Run, X_test: Any, cell: NDArray[np.intp]
) -> tuple[list[dict[str, Any]], dict[str, list[float]]]:
    """Everything the figures show of one fit of AdaFair: c enters the choice of θ only, so no c needs its own fit."""
    history = model.history_
    thetas = choices_over_c(model, C_VALUES)["theta"].to_numpy()
    assert thetas[-1] == model.theta_  # c = 1
    path = np.array([count(cell, margin > 0) for margin in model.staged_decision_function(X_test)])
    choices = [
        {"c": c, "theta": theta, "counts": path[theta - 1].tolist()}
        for c, theta in zip(C_VALUES, thetas.tolist(), strict=True)
    ]
    # history_ has second minus first group, the paper non-protected minus protected.
    protected_first = model.groups_[0] == load(run.dataset).protected
    sign = 1.0 if protected_first else -1.0
    rounds = {name: (sign * history[name]).tolist() for name in history if name.startswith("delta_")}
    if run.protocol == "rounds":
        rounds |= {
            "validation_ber": history["validation_ber"].tolist(),
            "validation_violation": history["validation_violation"].tolist(),
            "objective": history["validation_objective"].tolist(),
            "test_ber": _rates.balanced_error_rate(path.astype(float)).tolist(),
            "test_violation": get_notion(run.notion or "none").violation(path.astype(float)).tolist(),
        }
    return choices, rounds
