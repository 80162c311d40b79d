"""Leaves that vote with half their log-odds, and steps that are made smaller."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier


@pytest.mark.parametrize("depth", [1, 2])
def test_real_votes_are_half_the_log_odds_of_a_leaf(people, depth):
    X, y, group = people
    model = AdaFairClassifier("none", n_estimators=1, update="real", max_depth=depth, validation_fraction=None)
    model.fit(X, y, sensitive_features=group)
    margin, positive = model.decision_function(X), y == model.classes_[1]
    for value in np.unique(margin):
        share = positive[margin == value].mean()
        assert value == pytest.approx(0.5 * np.log((share + 0.1) / (1.1 - share)), abs=1e-9)
    shrunk = clone(model).set_params(learning_rate=0.25).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(shrunk.decision_function(X), margin / 4, atol=1e-9)


def test_real_votes_bound_the_training_error(people):
    X, y, group = people
    options = {"n_estimators": 40, "update": "real", "learning_rate": 0.5, "validation_fraction": None}
    history = AdaFairClassifier(notion="none", **options).fit(X, y, sensitive_features=group).history_
    assert (history["train_er"] <= history["bound"]).all()
    history = AdaFairClassifier(**options).fit(X, y, sensitive_features=group).history_
    assert history["bound"].isna().all()  # where groups pay, others weigh less than exp(-y·h)
    assert (history["alpha"] == 1.0).all()


def test_a_learning_rate_scales_every_alpha(people):
    X, y, group = people
    full = AdaFairClassifier("none", n_estimators=1, validation_fraction=None).fit(X, y, sensitive_features=group)
    half = clone(full).set_params(learning_rate=0.5).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(half.estimator_weights_, full.estimator_weights_ / 2, atol=1e-10)


def test_importances_of_real_votes_are_by_their_size(people):
    X, y, group = people
    model = AdaFairClassifier("none", n_estimators=30, update="real", random_state=0)
    model.fit(X, y, sensitive_features=group)
    sizes = np.zeros(X.shape[1])
    for stump in model.estimators_[: model.theta_]:
        sizes[stump.root.feature] += abs(stump.votes[0]) + abs(stump.votes[-1])
    np.testing.assert_allclose(model.feature_importances_, sizes / sizes.sum())


def test_real_votes_need_native_trees_and_have_no_weight_of_their_own(people):
    X, y, group = people
    with pytest.raises(
        ValueError, match=r'^update="real" needs the leaves of the native trees: with estimator=Logistic'
    ):
        AdaFairClassifier(update="real", estimator=LogisticRegression()).fit(X[["skill"]], y, sensitive_features=group)
    with pytest.raises(ValueError, match=r'^learner_weight="cost" weighs votes of -1 and 1'):
        AdaFairClassifier(update="real", learner_weight="cost").fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match=r"'update' parameter of AdaBoostClassifier"):
        AdaBoostClassifier(update="real").fit(X, y)
    for rate in (0, 1e-9, 1.5):
        with pytest.raises(ValueError, match="'learning_rate' parameter of AdaFairClassifier"):
            AdaFairClassifier(learning_rate=rate).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("order", [1, -1])
def test_real_votes_keep_to_the_order_that_is_asked_for(depth, order):
    """A small leaf that is surer than a large one beside it must not vote less: shares decide, not weights."""
    X, y, group = make_people(600, seed=3)
    X["noise"] = np.random.default_rng(0).normal(size=len(X)).round(1)
    options = {"n_estimators": 60, "max_depth": depth, "validation_fraction": None}
    model = AdaFairClassifier(update="real", learning_rate=0.5, monotonic_cst={"noise": order}, **options)
    model.fit(X, y, sensitive_features=group)
    grid = np.sort(X["noise"].unique())
    everyone = X.iloc[np.repeat(np.arange(25), len(grid))].assign(noise=np.tile(grid, 25))
    steps = np.diff(model.decision_function(everyone).reshape(25, len(grid)), axis=1)
    assert (order * steps >= 0.0).all()
    free = model.set_params(monotonic_cst=None).fit(X, y, sensitive_features=group)
    assert (order * np.diff(free.decision_function(everyone).reshape(25, len(grid)), axis=1) < 0.0).any()
