"""Makes runs, several at a time, and stores each as soon as it is finished.

A run is to fit a method on one part of a dataset and to measure it on the other. What comes first here is what the
authors' scripts do and the paper's text does not say, on the library's own loop. These rules explain the paper's
figures. They are defects or accidents of the experiments, so they live here and not in the estimator: a cost that is
guarded by the wrong difference, a first round that never pays and never wins, and a choice of θ by the fairness of a
single learner.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib.metadata import version
from multiprocessing import connection, get_context, parent_process
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from ..._arrays import Floats
from ..._choice.thresholds import first_minimum
from ..._stats.rates import NEGATIVE, balanced_error_rate, false_negative_rate
from ...datasets import fetch_compas, load_adult
from ...datasets._loaders import TABLE_1
from ...estimators import AdaFairClassifier
from ...explain import choices_over_c, selection_part
from ...notions import DisparateMistreatment, FairnessNotion, get_notion
from ..baselines import DM, get_method
from ._plan import C_VALUES, PROTOCOLS, RECIPES, RULES, Run
from ._store import Store

PACKAGES = ("parityboost", "numpy", "scipy", "scikit-learn", "pandas", "numba")
OnDone = Callable[[Run, dict[str, Any]], None]
LOADERS: dict[tuple[str, str], Callable[..., Bunch]] = {
    **{(name, "table1"): loader for name, loader in TABLE_1.items()},
    ("adult", "authors"): partial(load_adult, attributes="authors"),
    ("compas", "zafar"): partial(fetch_compas, attributes="zafar"),
}


class GuardedMistreatment(DisparateMistreatment):
    """The non-protected group's false positives cost something only if its true positive rate is lower, δTPR < 0.

    Eq. (12) compares false positive rates. The scripts do so for the protected group alone.

    Parameters
    ----------
    protected : int
        Position of the protected group among the two.
    """

    def __init__(self, protected: int = 0) -> None:
        self.protected = protected

    def costs(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        u = super().costs(counts, epsilon)
        fnr = false_negative_rate(counts)
        other = 1 - self.protected
        lower_tpr = fnr[..., other] > fnr[..., self.protected]
        u[..., other, NEGATIVE] = np.where(lower_tpr, u[..., other, NEGATIVE], 0.0)
        return u


class FreeFirstRound(FairnessNotion):
    """A notion that costs nothing when it is first asked: for one fit, whose rounds ask in turn."""

    def __init__(self, notion: FairnessNotion) -> None:
        self.notion, self.name, self.gaps = notion, notion.name, notion.gaps
        self.is_first = True

    def costs(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        u = self.notion.costs(counts, epsilon)
        was_first, self.is_first = self.is_first, False
        return np.zeros_like(u) if was_first else u


class AuthorsClassifier(AdaFairClassifier):
    """AdaFair by some of the scripts' rules, see ``RULES``. ``theta_`` is still ours: see :func:`choose_theta`."""

    rules: tuple[str, ...] = tuple(RULES)

    def fit(self, X: Any, y: Any, **given: Any) -> Self:
        """Train on X, y."""
        notion = self.notion
        if "first round" in self.rules:
            self.notion = FreeFirstRound(get_notion(notion))
        try:
            super().fit(X, y, **given)
        finally:
            self.notion = notion
        return self


def objective_for_theta(model: AuthorsClassifier, c: float = 1.0) -> Floats:
    """Eq. (16) of every round as the scripts have it; the errors are the ensemble's in any case.

    F.M. is 1 in the first round, and without cumulation that of h_j alone.
    """
    history, part = model.history_, selection_part(model)
    if "learner's theta" in model.rules and not model.cumulative:
        fairness = history.filter(like="delta_").abs().sum(axis=1).to_numpy().copy()
    else:
        fairness = history[f"{part}_violation"].to_numpy().copy()
    if "first round" in model.rules:
        fairness[0] = 1.0
    er, ber = history[f"{part}_er"].to_numpy(), history[f"{part}_ber"].to_numpy()
    objective: Floats = c * ber + (1.0 - c) * er + fairness
    return objective


def choose_theta(model: AuthorsClassifier, c: float = 1.0) -> int:
    """θ by the scripts' rule: the first round with the lowest objective."""
    return first_minimum(objective_for_theta(model, c)) + 1


@lru_cache(maxsize=1)  # runs come dataset by dataset
def load(dataset: str, attributes: str = "table1") -> Bunch:
    """A dataset with some of its attributes."""
    return LOADERS[dataset, attributes]()


def execute(run: Run) -> dict[str, Any]:
    """Fit and measure; what is returned can be stored as JSON.

    ``choices`` has, for every c (only 1 for methods without c), θ and ``counts[group][y][ŷ]`` on the test data, the
    protected group first. All measures are functions of these counts. ``rounds`` has what is drawn over the rounds.
    """
    bunch = load(run.dataset, run.attributes)
    protocol = PROTOCOLS[run.protocol]
    data = one_hot(bunch.data) if RECIPES[run.recipe].get("smote") == "plain" else bunch.data
    X, X_test, y, y_test, s, s_test = train_test_split(
        data, bunch.target, bunch.sensitive, test_size=protocol["test_size"], random_state=run.split
    )
    method = get_method(run.method)
    model = make(run, bunch)
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


def make(run: Run, bunch: Bunch) -> Any:
    """The run's estimator, not fitted yet."""
    method = get_method(run.method)
    parameters: dict[str, Any] = {"random_state": run.split, "n_jobs": 1}
    if "n_estimators" in method.factory().get_params():
        parameters["n_estimators"] = PROTOCOLS[run.protocol]["n_estimators"]
    parameters |= RECIPES[run.recipe]
    rules = parameters.pop("rules", None)
    if rules is None:
        return method.make(run.notion, run.dataset, **parameters)
    model = AuthorsClassifier().set_params(**method.make(run.notion, run.dataset, **parameters).get_params())
    model.rules = tuple(rules)
    if "guard" in rules and run.notion == DM:
        protected = sorted(set(bunch.sensitive)).index(bunch.protected)  # the model's groups are sorted too
        model.set_params(notion=GuardedMistreatment(protected))
    return model


def one_hot(data: pd.DataFrame) -> pd.DataFrame:
    """As the scripts have it: a 0/1 column for each category, one for both of two; numbers of mean 0 and variance 1."""
    columns = {}
    for name, column in data.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories = list(column.cat.categories)
            for category in categories if len(categories) > 2 else categories[1:]:
                columns[f"{name} = {category}"] = (column == category).to_numpy(np.int8)
        else:
            values = column.to_numpy(np.float64)
            columns[str(name)] = (values - values.mean()) / (values.std() or 1.0)
    return pd.DataFrame(columns, index=data.index)


def count(cell: NDArray[np.intp], positive: NDArray[np.bool_]) -> NDArray[np.intp]:
    """``counts[group, y, ŷ]`` of two groups."""
    counts: NDArray[np.intp] = np.bincount(2 * cell + positive, minlength=8).reshape(2, 2, 2)
    return counts


def _boosting_path(
    model: Any, run: Run, X_test: Any, cell: NDArray[np.intp]
) -> tuple[list[dict[str, Any]], dict[str, list[float]]]:
    """Everything the figures show of one fit of AdaFair: c enters the choice of θ only, so no c needs its own fit."""
    history = model.history_
    if isinstance(model, AuthorsClassifier):
        thetas = np.array([choose_theta(model, c) for c in C_VALUES])
        objective = objective_for_theta(model)
    else:
        thetas = choices_over_c(model, C_VALUES)["theta"].to_numpy()
        assert thetas[-1] == model.theta_  # c = 1
        objective = history[f"{selection_part(model)}_objective"].to_numpy()
    path = np.array([count(cell, margin > 0) for margin in model.staged_decision_function(X_test)])
    choices = [
        {"c": c, "theta": theta, "counts": path[theta - 1].tolist()}
        for c, theta in zip(C_VALUES, thetas.tolist(), strict=True)
    ]
    # history_ has second minus first group, the paper non-protected minus protected.
    protected_first = model.groups_[0] == load(run.dataset, run.attributes).protected
    sign = 1.0 if protected_first else -1.0
    rounds = {name: (sign * history[name]).tolist() for name in history if name.startswith("delta_")}
    if run.protocol == "rounds":
        rounds |= {
            "validation_ber": history["validation_ber"].tolist(),
            "validation_violation": history["validation_violation"].tolist(),
            "objective": objective.tolist(),
            "test_ber": balanced_error_rate(path.astype(float)).tolist(),
            "test_violation": get_notion(run.notion or "none").violation(path.astype(float)).tolist(),
        }
    return choices, rounds


def perform(
    runs: Iterable[Run], store: Store, n_jobs: int = 1, on_done: OnDone | None = None, retry_failed: bool = False
) -> None:
    """Make every run that the store does not have yet.

    A run that fails is stored as failed, with its reason, and does not stop the others. Interrupted or killed, it loses
    the runs in flight only; the same call then goes on with what is missing.

    Parameters
    ----------
    runs : iterable of Run
        What :func:`plan` yields.
    store : Store
        Where finished runs are, and go.
    n_jobs : int, default=1
        Number of processes. The results do not depend on it.
    on_done : callable, optional
        Told each run that has just been stored, and its record.
    retry_failed : bool, default=False
        Make runs again that failed before.
    """
    missing = store.missing(runs, retry_failed)
    for run in missing:
        store.path(run).unlink(missing_ok=True)  # damaged, made with other settings, or failed
    tell = on_done or (lambda run, record: None)
    if n_jobs == 1 or len(missing) < 2:
        for run in missing:
            tell(run, attempt(run, store))
        return
    for run in _in_parallel(missing, store, n_jobs, tell):
        # A process died (out of memory, say), and it is not known over which of its runs: one at a time now.
        if store.load(run) is None:
            _in_parallel([run], store, 1, tell)
        if store.load(run) is None:
            record = _failed("the process died, perhaps for lack of memory")
            store.save(run, record)
            tell(run, record)


def attempt(run: Run, store: Store) -> dict[str, Any]:
    """Make one run and store what came of it."""
    try:
        record = {"status": "ok", "reason": None, **execute(run), **_circumstances()}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        record = _failed(f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})")
    store.save(run, record)
    return record


def _in_parallel(runs: list[Run], store: Store, n_jobs: int, tell: OnDone) -> list[Run]:
    """Make the runs; return those that were lost because a process died."""
    waiting = list(reversed(runs))
    lost: list[Run] = []
    while waiting:
        running: dict[Future[dict[str, Any]], Run] = {}
        # Not forked: threads and locks of this process would be copied in whatever state they are.
        pool = ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"), initializer=_start_worker)
        try:
            while waiting or running:
                while waiting and len(running) < n_jobs:
                    run = waiting.pop()
                    running[pool.submit(attempt, run, store)] = run
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    run = running.pop(future)
                    tell(run, future.result())
        except BrokenProcessPool:
            lost += [run, *running.values()]
        except BaseException:
            _terminate(pool)
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return lost


def _start_worker() -> None:
    """Ctrl-C is for the parent to handle; and without a parent there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:  # pragma: no cover - in a process of its own
    connection.wait([sentinel])
    os._exit(1)


def _terminate(pool: ProcessPoolExecutor) -> None:
    if sys.version_info >= (3, 14):  # pragma: no cover
        pool.terminate_workers()
        return
    for process in (pool._processes or {}).values():
        process.terminate()


def _failed(reason: str) -> dict[str, Any]:
    return {"status": "failed", "reason": reason, **_circumstances()}


def _circumstances() -> dict[str, Any]:
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": sys.version.split()[0], **{name: version(name) for name in PACKAGES}},
    }
