"""Rounds that are boosted several at a time, in compiled code, are those that are asked for one by one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from test_against_reference import assert_equal_to_the_last_bit, fit_both

from conftest import interpret_kernels, make_people
from parityboost import AdaFairClassifier, ParityBoostClassifier
from parityboost._choice import thresholds
from parityboost._engine.cpu import CpuRows
from parityboost._engine.kernels import boosting
from parityboost._fit import loop
from parityboost._fit.trees import TreeLearner
from parityboost.notions import EqualOpportunity, FairnessNotion, Gap, accuracy
from problems import OPTIONS, problems

KNOWN = {"cumulative": True, "learner_weight": "error"}
SEVERAL = {"update": "real", "max_depth": 2, "threshold": "auto", **KNOWN}


def one_by_one(patch):
    patch.setattr(TreeLearner, "several", lambda *_: None)


def how_often(patch):
    """Counts the calls of the compiled rounds."""
    calls, boost_rounds = [], boosting.boost_rounds
    patch.setattr(boosting, "boost_rounds", lambda *given: calls.append(given) or boost_rounds(*given))
    return calls


def fitted(n_rows=600, n_estimators=40, kind="reals", **options):
    X, y, group = make_people(n_rows)
    rng = np.random.default_rng(1)
    w = {"none": None, "integers": rng.integers(1, 5, n_rows), "reals": rng.gamma(1.0, 1.0, n_rows) + 0.01}[kind]
    options = {"notion": "disparate_mistreatment", **SEVERAL, **options}
    model = AdaFairClassifier(n_estimators=n_estimators, random_state=0, **options)
    return model.fit(X, y, sensitive_features=group, sample_weight=w)


def assert_same(one, other):
    assert one.theta_ == other.theta_
    assert one.threshold_ == other.threshold_
    assert one.estimators_ == other.estimators_
    pd.testing.assert_frame_equal(one.history_, other.history_, check_exact=True)


@pytest.mark.no_cover
@settings(max_examples=100)
@given(problems(), OPTIONS, st.sampled_from([0.0, "auto"]), st.booleans())
def test_several_rounds_at_a_time_equal_the_twin(problem, options, threshold, merge):
    options = options | KNOWN | {"threshold": threshold}
    with pytest.MonkeyPatch.context() as patch:
        calls = how_often(patch)
        patch.setattr(thresholds, "MAX_TOGETHER", 5)
        patch.setattr(loop, "MAX_TOGETHER", 5)
        twin, model, _ = fit_both(problem, options, merge)
    assert calls
    if model is not None:
        assert_equal_to_the_last_bit(twin, model, problem, options)


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["none", "integers", "reals"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"notion": "statistical_parity", "epsilon": 0.02},
        {"notion": "statistical_parity", "epsilon": np.float32(0.02)},
        {"notion": "equal_opportunity", "validation_fraction": None, "learning_rate": 0.2},
        {"notion": "none", "class_weight": "balanced_groups"},
        {"interaction_cst": [{"skill", "city"}], "monotonic_cst": {"skill": 1}},
        {"interaction_cst": "no_interactions", "criterion": "error"},
        {"max_depth": 1},
        {"max_depth": 1, "threshold": 0.0, "update": "confidence"},
        {"max_depth": 1, "update": "discrete", "validation_fraction": None, "monotonic_cst": {"skill": 1}},
        {"threshold": 0.0, "update": "discrete", "learning_rate": 0.5},
        {"threshold": 0.0, "update": "confidence", "validation_fraction": None},
        {"threshold": 0.125, "cumulative": False},
        {"costs_from": "validation"},
        {"costs_from": "validation", "threshold": 0.125, "update": "discrete", "cumulative": False},
    ],
)
def test_several_at_a_time_are_those_one_by_one(monkeypatch, options, kind):
    calls = how_often(monkeypatch)
    together = fitted(kind=kind, **options)
    assert len(calls) == 2  # 32 rounds and 8
    one_by_one(monkeypatch)
    assert_same(together, fitted(kind=kind, **options))
    assert len(calls) == 2


@pytest.mark.parametrize(
    "limits", [{"ROOM": 2.0**53}, {"SHRUNK": -1}, {"LARGE": 2.0**2}, {"ROOM": 2.0**53, "SHRUNK": 1}]
)
def test_weights_that_grow_and_shrink(monkeypatch, limits):
    """What is rare: sums that need room, that have become few, and floats that have become large."""
    for name, value in limits.items():
        monkeypatch.setattr(boosting, name, value)
    together = fitted(kind="none")
    one_by_one(monkeypatch)
    renewed, list_anew = [], CpuRows.list_anew
    scales, keep_small = [], boosting.keep_small
    monkeypatch.setattr(CpuRows, "list_anew", lambda *given: renewed.append(given) or list_anew(*given))
    monkeypatch.setattr(boosting, "keep_small", lambda *given: scales.append(given[2]) or keep_small(*given))
    assert_same(together, fitted(kind="none"))
    assert max(scales) > limits["LARGE"] if "LARGE" in limits else len(renewed) > 1  # once when training starts


def test_a_perfect_tree_ends_it(monkeypatch):
    X, y, group = make_people(200)
    X = X.assign(answer=(y == np.unique(y)[1]).astype(float))
    calls = how_often(monkeypatch)
    model = AdaFairClassifier("none", **SEVERAL).fit(X, y, sensitive_features=group)
    assert model.n_estimators_ == 1 and len(calls) == 1
    one_by_one(monkeypatch)
    assert_same(model, AdaFairClassifier("none", **SEVERAL).fit(X, y, sensitive_features=group))


def test_no_vote_at_all_ends_it(monkeypatch):
    calls = how_often(monkeypatch)
    X, y, group = pd.DataFrame({"x": np.zeros(40)}), np.arange(40) % 2, np.arange(40) // 2 % 2
    for _ in range(2):
        with pytest.raises(ValueError, match="no better than chance"):
            AdaFairClassifier("none", class_weight="balanced", **SEVERAL).fit(X, y, sensitive_features=group)
        assert len(calls) == 1
        one_by_one(monkeypatch)


class OwnCosts(EqualOpportunity):
    def costs(self, counts, epsilon=0.0):
        return super().costs(counts, epsilon) / 2


def own_costs_of_an_instance():
    notion = EqualOpportunity()
    notion.costs = lambda counts, epsilon=0.0: np.zeros(counts.shape[:-1])
    return notion


class OwnRate(FairnessNotion):
    name = "accuracy_parity"
    gaps = (Gap("accuracy", accuracy, boosts=(0, 1), high_is_good=True),)


class Listed(FairnessNotion):
    name = "listed"
    gaps = (Gap("fnr", EqualOpportunity.gaps[0].rate, boosts=np.array([0, 1])),)


class Twice(FairnessNotion):
    name = "twice"
    gaps = (Gap("fnr", EqualOpportunity.gaps[0].rate, boosts=(1, 1)),)


@pytest.mark.parametrize(
    "options",
    [
        {"notion": OwnCosts()},
        {"notion": OwnRate()},
        {"notion": Twice()},
        {"notion": Listed()},
        {"notion": own_costs_of_an_instance()},
        {"update": "discrete", "learner_weight": "cost"},
    ],
)
def test_what_a_kernel_does_not_know_is_done_one_by_one(monkeypatch, options):
    calls = how_often(monkeypatch)
    fitted(n_rows=200, n_estimators=3, **options)
    assert not calls


def test_compiled_and_interpreted_rounds_are_the_same(monkeypatch):
    people = make_people(150, 3)
    options = {"n_estimators": 5, "random_state": 0}
    X, y, group = people
    models = [
        ParityBoostClassifier("statistical_parity", n_bags=2, max_pairs=None, category_splits="one", **options),
        ParityBoostClassifier("disparate_mistreatment", n_bags=2, **options),
        AdaFairClassifier("equal_opportunity", **options),
        AdaFairClassifier("equal_opportunity", max_depth=2, update="discrete", validation_fraction=None, **options),
    ]
    for model in models:
        model.fit(X, y, sensitive_features=group)
    interpret_kernels(monkeypatch)
    calls = how_often(monkeypatch)
    for model in models:
        with np.errstate(over="ignore"):  # hashes overflow on purpose
            again = clone(model).fit(X, y, sensitive_features=group)
        np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
        pd.testing.assert_frame_equal(model.history_, again.history_, check_exact=True)
    # Two of them have two bags, each trained twice, and one of these boosts three times to choose its pairs.
    assert len(calls) == 13


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_and_interpreted_kernels_of_large_tables_are_the_same(monkeypatch, weighted):
    """What only large tables need, such as counted margins and stretches of the number line, on small ones."""
    X, y, group = make_people(240, 5)
    X["real"] = np.random.default_rng(1).normal(size=240)  # more values than bins
    weights = np.random.default_rng(2).gamma(2.0, size=240) if weighted else None
    for where, value in {
        "_table.binning.EXACT_ROWS": 32,
        "_choice.thresholds.N_BUCKETS": 16,
        "_fit.samples.MIN_ROWS_TO_MERGE": 4,
    }.items():
        monkeypatch.setattr(f"parityboost.{where}", value)
    options = {"n_estimators": 4, "max_bins": 6, "random_state": 0, "monotonic_cst": {"real": 1}}
    models = [
        AdaFairClassifier("equal_opportunity", max_depth=2, threshold="auto", **options),
        AdaFairClassifier("disparate_mistreatment", threshold="per_group", criterion="error", **options),
        AdaFairClassifier("statistical_parity", learner_weight="cost", update="discrete", max_depth=2, **options),
        ParityBoostClassifier("equal_opportunity", n_bags=2, **options),
    ]
    given = {"sensitive_features": group, "sample_weight": weights}
    for model in models:
        model.fit(X, y, **given)
    before = [(model.decision_function(X, sensitive_features=group), model.frontier()) for model in models]
    interpret_kernels(monkeypatch)
    for model, (decision, frontier) in zip(models, before, strict=True):
        with np.errstate(over="ignore"):  # hashes overflow on purpose
            again = clone(model).fit(X, y, **given)
            np.testing.assert_array_equal(again.decision_function(X, sensitive_features=group), decision)
            pd.testing.assert_frame_equal(again.frontier(), frontier, check_exact=True)
