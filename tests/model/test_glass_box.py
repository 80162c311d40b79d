"""The fitted model as a value: it predicts by itself, and nothing about it can change or be out of date."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, GlassBox, ParityBoostClassifier

MODELS = {
    "stumps": AdaFairClassifier(n_estimators=12, random_state=0),
    "pairs": AdaFairClassifier(n_estimators=12, max_depth=2, threshold="auto", random_state=0),
    "plain": AdaBoostClassifier(12),
    "average": ParityBoostClassifier(n_bags=2, n_estimators=12, random_state=0),
    "dial": ParityBoostClassifier(n_bags=2, n_estimators=12, dial=True, random_state=0),
    "per group": ParityBoostClassifier(n_bags=2, n_estimators=12, threshold="per_group", random_state=0),
}


@pytest.fixture(params=MODELS)
def fitted(request):
    X, y, group = make_people(300)
    model = copy.deepcopy(MODELS[request.param])
    return model.fit(X, y, sensitive_features=group), X, group


def test_a_glass_box_predicts_like_its_model_without_it(fitted):
    model, X, group = fitted
    box, groups = model.glass_box_, {"sensitive_features": group}
    assert isinstance(box, GlassBox)
    np.testing.assert_array_equal(box.decision_function(X, **groups), model.decision_function(X, **groups))
    np.testing.assert_array_equal(box.predict(X, **groups), model.predict(X, **groups))
    np.testing.assert_array_equal(box.predict_proba(X, **groups), model.predict_proba(X, **groups))
    np.testing.assert_array_equal(box.importances, model.feature_importances_)
    assert list(box.about.warnings) == model.warnings_


def test_nothing_of_a_glass_box_can_be_set(fitted):
    box = fitted[0].glass_box_
    for field in fields(box):
        with pytest.raises(FrozenInstanceError):
            setattr(box, field.name, None)


def test_another_threshold_is_another_value(fitted):
    model, X, group = fitted
    box, groups = model.glass_box_, {"sensitive_features": group}
    before = box.decision_function(X, **groups)
    moved = box.with_threshold(box.threshold + 0.25)
    np.testing.assert_allclose(moved.decision_function(X, **groups), before - 0.25, atol=1e-12)
    model = (model.choose if hasattr(model, "choose") else model.set_threshold)(threshold=moved.threshold)
    np.testing.assert_array_equal(model.decision_function(X, **groups), moved.decision_function(X, **groups))
    np.testing.assert_array_equal(box.decision_function(X, **groups), before)


def test_a_pickled_glass_box_is_the_same_and_holds_nothing_worked_out(fitted):
    model, X, group = fitted
    box = model.glass_box_
    unused = len(pickle.dumps(box))
    before = box.decision_function(X, sensitive_features=group)
    box.score_effects() if np.ndim(box.threshold) == 0 else box.feature_effects()
    assert len(pickle.dumps(box)) == unused
    loaded = pickle.loads(pickle.dumps(box))
    np.testing.assert_array_equal(loaded.decision_function(X, sensitive_features=group), before)


def test_another_theta_makes_another_glass_box():
    X, y, group = make_people(300)
    model = copy.deepcopy(MODELS["pairs"]).fit(X, y, sensitive_features=group)
    boxes = [model.set_theta(theta).glass_box_ for theta in (1, 5, 12)]
    for box, staged in zip(boxes, (1, 5, 12), strict=True):
        decision = list(model.staged_decision_function(X))[staged - 1]
        np.testing.assert_array_equal(box.decision_function(X), decision)
        np.testing.assert_array_equal(box.importances, model.set_theta(staged).feature_importances_)


def test_another_blend_makes_another_glass_box_with_importances_and_bands_of_its_own():
    X, y, group = make_people(300)
    model = copy.deepcopy(MODELS["dial"]).fit(X, y, sensitive_features=group)
    plain, fair = (model.glass_box_.at_fairness(w) for w in (0.0, 1.0))
    half = model.choose(fairness=0.5).glass_box_
    for name in ("importances", "spread"):
        ends = [getattr(box, name) for box in (plain, fair)]
        assert not any(np.array_equal(getattr(half, name), end) for end in ends)
    np.testing.assert_allclose(half.margin(X), (plain.margin(X) + fair.margin(X)) / 2, atol=1e-8)
    assert (plain.fairness, half.fairness, fair.fairness) == (0.0, 0.5, 1.0)


def test_columns_that_the_model_does_not_know_are_named():
    X, y, group = make_people(100)
    box = copy.deepcopy(MODELS["stumps"]).fit(X, y, sensitive_features=group).glass_box_
    with pytest.raises(ValueError, match=rf"^X has {X.shape[1] - 1} columns, and the model knows {X.shape[1]}$"):
        box.predict(X.iloc[:, 1:])
    with pytest.raises(ValueError, match=r"^X has the column 'odd' where the model knows 'skill'$"):
        box.predict(X.rename(columns={"skill": "odd"}))


def test_a_model_of_other_classifiers_has_none():
    X, y, group = make_people(100)
    model = AdaFairClassifier(n_estimators=2, estimator=DecisionTreeClassifier(max_depth=1))
    model.fit(X[["skill"]].fillna(0), y, sensitive_features=group)
    assert not hasattr(model, "glass_box_") and not hasattr(model, "to_onnx")
