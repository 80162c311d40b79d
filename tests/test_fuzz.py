"""A few attempts of each fuzzer, and whether the engine notices what goes wrong. `make fuzz` makes thousands."""

from dataclasses import replace

import numpy as np
import pytest

from fuzz import checks, engine, failing, fitting
from fuzz.tables import Rows
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier
from parityboost.paper.baselines import SMOTEBoostClassifier

# A few seconds of each.
ATTEMPTS = {"fit": 70, "file": 40, "cli": 40}


@pytest.mark.slow
@pytest.mark.parametrize("fuzzer", ATTEMPTS)
def test_attempts_end_well(fuzzer):
    outcomes = engine.run({fuzzer: ATTEMPTS[fuzzer]}, first_seed=0, n_jobs=1)
    failures = [f"{outcome.command}\n{outcome.detail}" for outcome in outcomes if outcome.result == engine.FAILED]
    assert not failures, "\n".join(failures)
    # As many of both as to be worth the while.
    for result in (engine.ACCEPTED, engine.REFUSED):
        assert sum(outcome.result == result for outcome in outcomes) > ATTEMPTS[fuzzer] / 10


@pytest.mark.slow
def test_every_kind_of_failure_is_found():
    outcomes = engine.run({"failing": len(failing.WAYS)}, first_seed=0, n_jobs=2, limit_s=3)
    result_of = {list(failing.WAYS)[outcome.seed]: outcome.result for outcome in outcomes}
    sound = {"sound": engine.ACCEPTED, "told to users": engine.ACCEPTED, "refused": engine.REFUSED}
    assert result_of == dict.fromkeys(failing.WAYS, engine.FAILED) | sound
    words = {list(failing.WAYS)[outcome.seed]: outcome.detail for outcome in outcomes}
    assert "Timeout" in words["hang"] and "in hang" in words["hang"]
    assert "MemoryError" in words["memory"]
    assert "ZeroDivisionError" in words["error"]
    assert all(outcome.command.endswith(f"tests/fuzz failing {outcome.seed}") for outcome in outcomes)


def test_totals_are_a_table():
    results = [engine.ACCEPTED, engine.REFUSED, engine.REFUSED, engine.FAILED]
    outcomes = [engine.Outcome("fit", seed, result) for seed, result in enumerate(results)]
    outcomes.append(engine.Outcome("cli", 0, engine.ACCEPTED))
    assert engine.table(outcomes).splitlines() == [
        "fuzzer    attempts  accepted   refused  failures",
        "fit              4         1         2         1",
        "cli              1         1         0         0",
        "total            5         2         2         1",
    ]


def test_an_attempt_is_made_from_its_fuzzer_and_seed():
    draws = [engine.generator(*which).random(3).tolist() for which in [("fit", 1), ("fit", 1), ("fit", 2), ("cli", 1)]]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2] and draws[0] != draws[3]


@pytest.mark.parametrize("cls", [AdaFairClassifier, ParityBoostClassifier, AdaBoostClassifier, SMOTEBoostClassifier])
def test_every_parameter_is_drawn(cls):
    drawn_apart = {"n_estimators", "random_state", "categorical_features", "estimator", "sensitive_feature"}
    drawn_apart |= {"bands", "missing_group", "device", "positive", "favourable", "blind"}
    assert set(cls._get_param_names()) <= drawn_apart | fitting.OPTIONS.keys()
    assert set(cls._get_param_names()) <= fitting.BAD_OPTIONS.keys()


class Drawn:
    """A generator of random numbers that gives what it was given."""

    def __init__(self, numbers):
        self.integers = lambda low, high, size: np.array(numbers)


@pytest.mark.trains
def test_drawn_weights_under_which_nothing_can_be_learnt_are_no_failure(monkeypatch):
    labels, codes = np.array([0, 0, 1] * 2), np.repeat([0, 1], 3)
    rows = Rows(np.zeros((6, 1)), labels, codes, None, labels, codes, plain=True)
    options = {"notion": "none", "n_estimators": 1, "validation_fraction": None}
    trial = fitting.Trial(AdaFairClassifier, options, rows, None, True, None, sizes_changed=False)
    trial.model = trial.refit()
    checks.repeats_rows_by_weight(trial, Drawn([1, 1, 3] * 2))
    checks.repeats_rows_by_weight(trial, Drawn([1, 1, 2] * 2))
    assert "no better than chance" in checks.fitted_or_refused(trial, replace(rows, weights=[1, 1, 2] * 2))
    outcome = {True: "refused", False: "fitted"}
    monkeypatch.setattr(checks, "fitted_or_refused", lambda trial, rows: outcome[rows.weights is None])
    with pytest.raises(AssertionError, match="of weighted and repeated rows: fitted, refused"):
        checks.repeats_rows_by_weight(trial, Drawn([1, 1, 2] * 2))
