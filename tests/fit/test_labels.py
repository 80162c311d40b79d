"""Which label is positive and which is favourable: stated, checked, kept, and never left to the alphabet in silence."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import get_scorer

import parityboost
from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, explain, report
from parityboost.metrics import fairness_scorer

SMALL = {"n_estimators": 5, "random_state": 0}
MODELS = [
    AdaFairClassifier("equal_opportunity", **SMALL),
    AdaFairClassifier("equal_opportunity", max_depth=2, threshold="auto", class_weight="balanced", **SMALL),
    ParityBoostClassifier("equal_opportunity", n_bags=2, **SMALL),
    ParityBoostClassifier("equal_opportunity", n_bags=2, threshold="per_group", dial=True, **SMALL),
]


def words(y, positive="approved", negative="declined"):
    return np.where(y == 1, positive, negative)


@pytest.fixture(scope="module")
def applicants():
    X, y, group = make_people(400)
    return X.assign(group=group), y, pd.Series(group, name="group")


@pytest.mark.parametrize("model", MODELS)
def test_a_positive_label_that_sorts_first_gives_the_same_model_turned_around(applicants, model, tmp_path):
    X, y, group = applicants
    numbers = clone(model).fit(X, y, sensitive_features=group)
    words_of = clone(model).set_params(positive="approved").fit(X, words(y), sensitive_features=group)
    assert words_of.classes_.tolist() == ["approved", "declined"] and words_of.positive_ == "approved"
    words_of.save(tmp_path / "model.json")
    for other in (words_of, parityboost.load(tmp_path / "model.json")):
        np.testing.assert_array_equal(other.predict(X), words(numbers.predict(X)))
        np.testing.assert_array_equal(other.decision_function(X), -numbers.decision_function(X))
        np.testing.assert_allclose(other.predict_proba(X)[:, ::-1], numbers.predict_proba(X), atol=1e-15)
        if not isinstance(model, ParityBoostClassifier):
            for mine, theirs in zip(other.staged_predict(X), numbers.staged_predict(X), strict=True):
                np.testing.assert_array_equal(mine, words(theirs))
        scores = numbers.decision_function(X)
        np.testing.assert_array_equal(explain.contributions(other, X).sum(axis=1), scores)
    assert words_of.feature_importances_.tolist() == numbers.feature_importances_.tolist()


@pytest.mark.parametrize("model", MODELS)
def test_onnx_says_what_the_model_says_also_if_the_positive_label_sorts_first(applicants, model):
    runtime = pytest.importorskip("onnxruntime")
    X, y, group = applicants
    model = clone(model).set_params(positive="approved").fit(X, words(y), sensitive_features=group)
    session = runtime.InferenceSession(model.to_onnx().SerializeToString())
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, parityboost.onnx_inputs(model, X)), strict=True))
    np.testing.assert_array_equal(found["label"], model.predict(X))
    np.testing.assert_array_equal(found["score"], model.decision_function(X))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)


def test_scorers_judge_the_model_by_its_positive_label(applicants):
    X, y, group = applicants
    numbers = AdaFairClassifier("equal_opportunity", **SMALL).fit(X, y, sensitive_features=group)
    model = clone(numbers).set_params(positive="approved").fit(X, words(y), sensitive_features=group)
    for scorer in (
        get_scorer("roc_auc"),
        get_scorer("neg_log_loss"),
        fairness_scorer("group", notion="equal_opportunity"),
    ):
        assert scorer(model, X, words(y)) == pytest.approx(scorer(numbers, X, y))


@settings(max_examples=20, deadline=None)
@given(
    labels=st.sampled_from([("a", "b"), (0, 1), (-1, 1), (2.0, 7.0), (False, True)]),
    first=st.booleans(),
    favourable=st.sampled_from([None, 0, 1]),
    seed=st.integers(0, 100),
)
def test_labels_of_any_kind_can_be_stated(labels, first, favourable, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 2)), np.r_[[0, 1] * 30]
    group = np.repeat(["m", "f"], 30)
    positive, good = labels[0 if first else 1], None if favourable is None else labels[favourable]
    model = AdaFairClassifier(n_estimators=3, validation_fraction=None, positive=positive, favourable=good)
    model.fit(X, np.array(labels)[y], sensitive_features=group)
    assert model.classes_.tolist() == list(labels)
    assert (model.positive_, model.favourable_) == (positive, good)
    expected = AdaFairClassifier(n_estimators=3, validation_fraction=None).fit(
        X, 1 - y if first else y, sensitive_features=group
    )
    np.testing.assert_array_equal(model.predict(X) == positive, expected.predict(X) == 1)


@pytest.mark.parametrize("name", ["positive", "favourable"])
@pytest.mark.parametrize("make", [AdaFairClassifier, ParityBoostClassifier])
def test_a_label_that_does_not_occur_is_refused_with_those_that_do(applicants, make, name):
    X, y, group = applicants
    for wrong in ("yes", 1, True):
        with pytest.raises(ValueError, match=f"{name}={wrong!r} is not one of the labels 'approved', 'declined'"):
            make(**{name: wrong}, **SMALL).fit(X, words(y), sensitive_features=group)
    with pytest.raises(ValueError, match=f"The '{name}' parameter"):
        make(**{name: ["approved"]}, **SMALL).fit(X, words(y), sensitive_features=group)


@pytest.mark.parametrize("make", [AdaFairClassifier, ParityBoostClassifier])
def test_fit_says_which_of_two_texts_it_takes_as_positive(applicants, make, tmp_path, capsys):
    X, y, group = applicants
    model = make("equal_opportunity", verbose=1, **SMALL).fit(X, words(y), sensitive_features=group)
    said = model.warnings_[-1]
    assert said.startswith("'declined' is taken as the positive label, because it comes after 'approved'")
    assert said in capsys.readouterr().err
    model.save(tmp_path / "model.json")
    assert parityboost.load(tmp_path / "model.json").warnings_[-1] == said
    for silent in (
        make("equal_opportunity", positive="declined", **SMALL).fit(X, words(y), sensitive_features=group),
        make("equal_opportunity", **SMALL).fit(X, y, sensitive_features=group),
    ):
        assert not any("taken as the positive label" in message for message in silent.warnings_)


def test_what_is_favourable_is_in_the_file_and_changes_no_prediction(applicants, tmp_path):
    X, y, group = applicants
    model = AdaFairClassifier(favourable=0, **SMALL).fit(X, y, sensitive_features=group)
    model.save(tmp_path / "model.json")
    loaded = parityboost.load(tmp_path / "model.json")
    assert (loaded.favourable, loaded.favourable_, loaded.positive_) == (0, 0, 1)
    silent = AdaFairClassifier(**SMALL).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(loaded.decision_function(X), silent.decision_function(X))
    assert silent.favourable_ is None


def test_adaboost_has_the_positive_label_of_the_model_it_is_compared_with(applicants):
    X, y, group = applicants
    model = AdaFairClassifier(positive="approved", **SMALL).fit(X, words(y), sensitive_features=group)
    page = report.build(model, X, words(y), sensitive_features=group, train=(X, words(y)))
    plain = AdaBoostClassifier(5, positive="approved").fit(X, words(y))
    assert len(page["gaps"][0]["models"]) == 2
    known = explain.contributions(plain, X).sum(axis=1)
    np.testing.assert_array_equal(known, -plain.decision_function(X))
