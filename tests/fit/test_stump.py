"""The weak learner and plain boosting against scikit-learn, which has the same thing."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.tree import DecisionTreeClassifier

import reference
from parityboost import AdaBoostClassifier, AdaFairClassifier


def distinct_data(seed, n_rows, n_features, weighted):
    """Continuous columns (as float32, which scikit-learn's trees work in): all gains differ almost surely."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32).astype(np.float64)
    y = (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)
    y[:2] = [0, 1]
    # Of few bits: such weights are not rounded.
    weights = rng.integers(2**13, 2**15, n_rows) / 2**14 if weighted else None
    return X, y, weights


@given(st.integers(0, 2**32 - 1), st.integers(10, 60), st.integers(1, 4), st.booleans())
def test_first_stump_equals_scikit_learns_tree_of_depth_one(seed, n_rows, n_features, weighted):
    X, y, weights = distinct_data(seed, n_rows, n_features, weighted)
    D = reference.exactly(y, np.ones(n_rows) if weights is None else weights)
    columns = list(X.T)
    gains = sorted(
        reference.score(split, columns, D, "gini", 0.0) / D.total
        for f in range(n_features)
        for split in reference.candidate_splits(f, columns[f], False, D)
    )
    assume(len(gains) == 1 or gains[-1] - gains[-2] > 1e-9)  # scikit-learn breaks ties at random
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, sample_weight=weights)
    ours = AdaBoostClassifier(1).fit(X, y, sample_weight=weights)
    tree_of_ours = ours.estimators_[0]
    stump = tree_of_ours.root
    assert stump.feature == tree.tree_.feature[0]
    assert ours.glass_box_.binner.columns[stump.feature].edges[stump.split - 1] == pytest.approx(
        tree.tree_.threshold[0]
    )
    np.testing.assert_array_equal(ours.predict(X), tree.predict(X))
    confidence = tree.tree_.value[1:, 0].max(axis=1)
    np.testing.assert_allclose(tree_of_ours.confidences[1:3], confidence)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(20, 200), st.integers(1, 5), st.integers(1, 30))
def test_without_fairness_the_ensemble_is_scikit_learns_adaboost(seed, n_rows, n_features, n_estimators):
    # Random weights: two gains are equal only if the splits separate the same rows.
    X, y, weights = distinct_data(seed, n_rows, n_features, weighted=True)
    theirs = SklearnAdaBoost(DecisionTreeClassifier(max_depth=1), n_estimators=n_estimators, random_state=0)
    theirs.fit(X, y, sample_weight=weights)
    assume(theirs.estimator_errors_.min() > 1e-9)  # after a perfect learner scikit-learn stops with another weight
    ours = AdaFairClassifier("none", n_estimators=n_estimators, update="discrete", validation_fraction=None)
    ours.fit(X, y, sensitive_features=np.arange(n_rows) % 2, sample_weight=weights)
    assert ours.n_estimators_ == len(theirs.estimators_)
    np.testing.assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, atol=1e-8)
    new = np.random.default_rng(seed + 1).normal(size=(50, n_features)).astype(np.float32).astype(np.float64)
    same_columns = [s.root.feature for s in ours.estimators_] == [t.tree_.feature[0] for t in theirs.estimators_]
    for data in [X, new] if same_columns else [X]:
        for mine, sklearns in zip(ours.staged_predict(data), theirs.staged_predict(data), strict=True):
            np.testing.assert_array_equal(mine, sklearns)


@pytest.mark.parametrize("options", [{}, {"learner_weight": "cost"}, {"validation_fraction": None}])
def test_a_tree_of_depth_one_as_estimator_gives_the_native_ensemble(options):
    X, y, _ = distinct_data(3, 250, 4, False)  # as many values as fit into bins of their own
    group = (X[:, 1] > 0).astype(int)
    settings = {"n_estimators": 15, "random_state": 0} | options
    native = AdaFairClassifier(**settings).fit(X, y, sensitive_features=group)
    tree = AdaFairClassifier(estimator=DecisionTreeClassifier(max_depth=1), **settings)
    tree.fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(native.estimator_weights_, tree.estimator_weights_, atol=1e-9)
    assert native.theta_ == tree.theta_
    np.testing.assert_array_equal(native.decision_function(X) > 0, tree.decision_function(X) > 0)
    np.testing.assert_allclose(native.feature_importances_, tree.feature_importances_)
    np.testing.assert_allclose(native.history_["Z"], tree.history_["Z"])


def test_a_category_split_is_a_split_of_its_one_hot_column():
    rng = np.random.default_rng(0)
    jobs = rng.choice(list("abcdef"), 500)
    y = (np.isin(jobs, ["b", "e"]) ^ (rng.random(500) < 0.2)).astype(int)
    one_hot = (jobs[:, None] == np.array(list("abcdef"))).astype(float)
    ours = AdaBoostClassifier(6).fit(jobs[:, None], y)
    theirs = AdaBoostClassifier(6).fit(one_hot, y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_)
    np.testing.assert_array_equal(ours.predict(jobs[:, None]), theirs.predict(one_hot))
    (category,) = ours.estimators_[0].root.split
    assert "abcdef"[category - 1] == "abcdef"[theirs.estimators_[0].root.feature]


def test_missing_values_go_to_the_better_side():
    x = np.array([1.0, 1, 1, 2, 2, 2, np.nan, np.nan])
    for label_of_missing in (0, 1):
        y = np.array([0, 0, 0, 1, 1, 1, label_of_missing, label_of_missing])
        model = AdaBoostClassifier(1).fit(x[:, None], y)
        np.testing.assert_array_equal(model.predict(x[:, None]), y)


def test_missing_values_can_be_separated_from_all_else():
    x = np.array([1.0, 2, 1, 2, np.nan, np.nan])
    y = np.array([0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(AdaBoostClassifier(1).fit(x[:, None], y).predict(x[:, None]), y)
    category = np.array(["a", "b", "a", "b", None, None], dtype=object)
    np.testing.assert_array_equal(AdaBoostClassifier(1).fit(category[:, None], y).predict(category[:, None]), y)


def test_columns_that_cannot_be_split_vote_for_the_majority():
    X, y = np.ones((5, 2)), np.array([0, 1, 1, 1, 0])
    model = AdaBoostClassifier(10).fit(X, y)
    assert model.n_estimators_ == 1
    assert (model.predict(X) == 1).all()
