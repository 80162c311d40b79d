"""What was fitted stays as fitted, whatever is set or copied afterwards, and a failed fit leaves nothing behind."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

import parityboost
from parityboost import AdaFairClassifier, explain
from parityboost._stats.rates import accuracy
from parityboost.notions import FairnessNotion, Gap


class AccuracyParity(FairnessNotion):
    name = "accuracy_parity"
    gaps = (Gap("accuracy", accuracy, boosts=(0, 1), high_is_good=True),)


def fitted(people, **options):
    X, y, group = people
    options = {"n_estimators": 12, "update": "discrete", "random_state": 0} | options
    return AdaFairClassifier(**options).fit(X, y, sensitive_features=group)


def test_the_weak_learners_are_those_that_were_fitted(people):
    model = fitted(people).set_params(estimator=DecisionTreeClassifier())
    assert len(model.estimators_) == model.n_estimators_
    assert explain.shape_functions(model).keys() == set(people[0])
    X, y, group = people
    other = fitted((X[["years"]], y, group), estimator=DecisionTreeClassifier(max_depth=1)).set_params(estimator=None)
    assert isinstance(other.estimators_[0], DecisionTreeClassifier)
    with pytest.raises(ValueError, match="this one is of DecisionTreeClassifier"):
        explain.shape_functions(other)


@pytest.mark.parametrize("first", [False, True])
def test_the_frontier_measures_what_was_fitted(people, first):
    X, y, group = people
    expected = fitted(people).frontier()
    model = fitted(people)
    if first:
        model.frontier()
    model.set_params(notion="statistical_parity", c=0.0)
    pd.testing.assert_frame_equal(model.frontier(), expected)
    on_data = fitted(people).frontier(X, y, sensitive_features=group)
    pd.testing.assert_frame_equal(model.frontier(X, y, sensitive_features=group), on_data)


def test_a_column_named_after_fit_is_not_the_sensitive_one(people):
    X, y, group = people
    X = X.assign(group=group)
    model = AdaFairClassifier(n_estimators=5, sensitive_feature="group", random_state=0).fit(X, y)
    expected = model.frontier(X, y)
    pd.testing.assert_frame_equal(model.set_params(sensitive_feature="city").frontier(X, y), expected)


def test_a_file_keeps_what_was_fitted_and_what_is_set(people, tmp_path):
    X, y, group = people
    model = fitted(people, sensitive_feature=None)
    expected = model.frontier(X, y, sensitive_features=group)
    model.set_params(notion="statistical_parity", c=0.25).save(tmp_path / "model.json")
    loaded = parityboost.load(tmp_path / "model.json")
    assert (loaded.notion, loaded.c) == ("statistical_parity", 0.25)
    pd.testing.assert_frame_equal(loaded.frontier(X, y, sensitive_features=group), expected)


def test_a_notion_of_ones_own_is_told_to_be_lost(people, tmp_path):
    X, y, group = people
    model = fitted(people, notion=AccuracyParity())
    expected = model.frontier(X, y, sensitive_features=group)
    with pytest.raises(parityboost.ModelFileError, match="the loaded model then know of no notion"):
        model.save(tmp_path / "model.json")
    model.set_params(notion="none").save(tmp_path / "model.json")
    pd.testing.assert_frame_equal(model.frontier(X, y, sensitive_features=group), expected)
    loaded = parityboost.load(tmp_path / "model.json")
    assert (loaded.frontier(X, y, sensitive_features=group)["violation"] == 0).all()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_failed_fit_leaves_nothing_of_the_one_before(people):
    X, y, group = people
    model = fitted(people)
    with pytest.raises(ValueError, match="column 'skill' of X contains infinity"):
        model.fit(X.assign(skill=np.inf), y, sensitive_features=group)
    left = [name for name in vars(model) if name.endswith("_")]
    assert not {"history_", "theta_", "threshold_", "n_estimators_"} & set(left)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_keeps_the_data_of_the_frontier(people, copied):
    model = fitted(people)
    other = copied(model)
    pd.testing.assert_frame_equal(other.frontier(), model.frontier())
    model.set_threshold(7.0)
    assert other.threshold_ != 7.0


def test_a_pickle_holds_nobodys_data(people):
    model = pickle.loads(pickle.dumps(fitted(people)))
    assert model._selection is None
    with pytest.raises(ValueError, match="holds no validation data"):
        model.frontier()


def test_bands_keep_their_order():
    rng = np.random.default_rng(0)
    age = pd.Series(rng.integers(2, 120, 600))
    y = (age / 60 + rng.normal(size=600) > 1).astype(int)
    bands = pd.cut(age, [0, 20, 100, 120])
    model = AdaFairClassifier(n_estimators=3, random_state=0).fit(age.to_frame("age"), y, sensitive_features=bands)
    assert model.groups_.tolist() == list(bands.cat.categories)  # as text (100, 120] would come before (20, 100]
    named = pd.cut(age, [0, 20, 100, 120], labels=["young", "middle", "old"])
    model.fit(age.to_frame("age"), y, sensitive_features=named)
    assert model.groups_.tolist() == ["young", "middle", "old"]
    as_objects = bands.astype(object)
    assert model.fit(age.to_frame("age"), y, sensitive_features=as_objects).groups_.tolist() == model.groups_.tolist()
    assert model.groups_.tolist() == list(bands.cat.categories)


@pytest.mark.parametrize(
    "groups", [[1, "1"], [("x & y", "z"), ("x", "y & z")]], ids=["number and text", "joined in two ways"]
)
def test_groups_that_are_written_alike_have_columns_of_their_own(groups):
    rng = np.random.default_rng(0)
    which = rng.integers(2, size=400)
    X = rng.normal(size=(400, 2)) + which[:, None]
    y = (X[:, 0] + rng.normal(size=400) > 0.5).astype(int)
    sensitive = pd.DataFrame([groups[k] if isinstance(groups[k], tuple) else (groups[k],) for k in which], dtype=object)
    model = AdaFairClassifier(n_estimators=8, threshold="per_group", random_state=0)
    model.fit(X, y, sensitive_features=sensitive)
    costs = [name for name in model.history_ if name.startswith("cost[")]
    thresholds = [name for name in model.history_ if name.startswith("threshold[")]
    assert (len(set(costs)), len(set(thresholds))) == (4, 2)
    assert all(any(repr(group) in name for name in costs) for group in model.groups_.tolist())


def test_too_few_rows_to_hold_any_out_are_said():
    X, y = [[0], [1]], [0, 1]
    with pytest.warns(UserWarning, match="no row can be held out of 2"):
        model = AdaFairClassifier("none", n_estimators=2).fit(X, y, sensitive_features=["a", "b"])
    assert np.isfinite(model.history_["train_objective"]).all()
