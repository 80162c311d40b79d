"""Threads take part, and change nothing. The package check runs this file on every version of Python that it finds."""

import threading
import time
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier
from parityboost._engine import threads
from parityboost._engine.threads import WORTH_A_THREAD, Team
from parityboost._fit import samples
from parityboost._model import tables
from parityboost.paper.baselines import SMOTEBoostClassifier


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 3, 100])
def test_a_team_covers_every_item_once(n_threads, n_items):
    seen = np.zeros(n_items, dtype=int)

    def task(first, last):
        seen[first:last] += 1

    with Team(n_threads) as team:
        team.run(task, n_items, WORTH_A_THREAD)
    assert (seen == 1).all()


@pytest.mark.parametrize("culprit", [0, 9])
def test_an_error_in_any_thread_reaches_the_caller(culprit):
    def task(first, last):
        if first <= culprit < last:
            raise ValueError("bad column")

    with Team(2) as team, pytest.raises(ValueError, match="bad column"):
        team.run(task, 10, WORTH_A_THREAD)


def what_is_done(task):
    """A name for a task; that of what is done for each column, if it is a loop over these."""
    inside = dict(zip(task.__code__.co_freevars, task.__closure__ or (), strict=True))
    return inside["function"].cell_contents.__qualname__ if "function" in inside else task.__qualname__


@pytest.fixture
def took_part(monkeypatch):
    """Makes small data worth many threads, as large data is. For each task of several threads, those that worked."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(samples, "BLOCK_ROWS", 64)
    for name in ("MIN_BLOCK_ROWS", "MAX_BLOCK_ROWS"):
        monkeypatch.setattr(tables, name, 64)
    found = defaultdict(set)
    run = Team.run

    def watched(team, task, n_items, work_per_item):
        def noted(first, last):
            found[what_is_done(task)].add(threading.get_ident())
            task(first, last)

        run(team, noted if team.n_threads > 1 else task, n_items, work_per_item)

    monkeypatch.setattr(Team, "run", watched)
    return found


MODELS = {
    "defaults": AdaFairClassifier(),
    "threshold": AdaFairClassifier(threshold="auto", class_weight="balanced_groups"),
    "per group": AdaFairClassifier(threshold="per_group", update="discrete"),
    "real": AdaFairClassifier(threshold="auto", update="real", learning_rate=0.3),
    "cost": AdaFairClassifier(learner_weight="cost", cumulative=False),
    "sets": AdaFairClassifier(category_splits="sets", max_depth=2),
    "AdaBoost": AdaBoostClassifier(),
    "SMOTEBoost": SMOTEBoostClassifier(n_synthetic=50),
    "SMOTEBoost, kept": SMOTEBoostClassifier(n_synthetic=50, keep_synthetic=True),
}


def fitted(model, n_jobs, people, weights):
    X, y, group = people
    parameters = model.get_params() | {"n_estimators": 6, "n_jobs": n_jobs, "random_state": 0}
    return type(model)(**parameters).fit(X, y, sensitive_features=group, sample_weight=weights)


@pytest.mark.parametrize("name", MODELS)
def test_every_task_is_shared_and_the_model_does_not_depend_on_it(name, took_part):
    people = make_people(3000)
    X, _, group = people
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X)) if "SMOTE" not in name else None
    one = fitted(MODELS[name], 1, people, weights)
    expected = one.decision_function(X, sensitive_features=group)
    assert not took_part
    for n_jobs in (2, 4):
        took_part.clear()
        other = fitted(MODELS[name], n_jobs, people, weights)
        found = other.decision_function(X, sensitive_features=group)
        # Reading, binning, learning, reweighting, counting and predicting.
        assert len(took_part) >= 5
        alone = [task for task, workers in took_part.items() if len(workers) < 2]
        assert not alone
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(other.estimator_weights_, one.estimator_weights_)
        np.testing.assert_array_equal(other.threshold_, one.threshold_)
        pd.testing.assert_frame_equal(other.history_, one.history_, check_exact=True)
        if type(one) is AdaFairClassifier:  # the others choose no θ
            pd.testing.assert_frame_equal(other.frontier(), one.frontier(), check_exact=True)


def test_what_threads_share_is_there_before_they_start(took_part, monkeypatch):
    """An array that a thread makes when it first needs it is made by each of them, and all but one are lost."""
    people = make_people(1000)
    expected = fitted(AdaFairClassifier(), 1, people, None)
    zeros = np.zeros

    def slow(*args, **kwargs):
        array = zeros(*args, **kwargs)
        if array.size > 300:
            time.sleep(0.02)  # the others come as far meanwhile
        return array

    monkeypatch.setattr(np, "zeros", slow)
    found = fitted(AdaFairClassifier(), 4, people, None)
    pd.testing.assert_frame_equal(found.history_, expected.history_, check_exact=True)


@pytest.mark.slow
def test_large_data_is_worth_threads():
    """With the sizes as they are."""
    n_rows = 6 * WORTH_A_THREAD
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (n_rows, 2)).astype(np.float32)
    y = X[:, 0] + rng.integers(0, 50, n_rows) > 50
    threads, run = set(), Team.run

    def watched(team, task, n_items, work_per_item):
        run(team, lambda a, b: (threads.add(threading.get_ident()), task(a, b)), n_items, work_per_item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Team, "run", watched)
        two = AdaBoostClassifier(3, n_jobs=2).fit(X, y)
    assert len(threads) > 1
    one = AdaBoostClassifier(3, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
