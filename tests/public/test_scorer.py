"""Scorers that find the groups in X, in scikit-learn's searches, with and without metadata routing; ratio measures."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from fairlearn.metrics import demographic_parity_ratio, equalized_odds_ratio
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier
from parityboost.datasets import load_adult
from parityboost.metrics import (
    ScoringError,
    disparate_mistreatment_ratio,
    equal_opportunity_ratio,
    fairness_objective,
    fairness_scorer,
    predictive_equality_ratio,
    statistical_parity_ratio,
)
from parityboost.notions import FairnessNotion, Gap, precision

ROUTING = pytest.mark.parametrize("routing", [False, True], ids=["plain", "routed"])


@pytest.fixture(scope="module")
def people():
    X, y, group = make_people(600)
    return X.assign(group=group), np.where(y == 1, "yes", "no")


def model(**options):
    return AdaFairClassifier(n_estimators=10, sensitive_feature="group", random_state=0, **options)


def test_it_is_minus_the_objective_of_the_groups_in_x(people):
    X, y = people
    fitted = model().fit(X, y)
    for options in ({}, {"notion": "statistical_parity"}, {"c": 0.25, "notion": "equal_opportunity"}):
        expected = -fairness_objective(y, fitted.predict(X), sensitive_features=X["group"], **options)
        assert fairness_scorer("group", **options)(fitted, X, y) == expected
    crossed = fairness_scorer(["group", "city"])(fitted, X, y)
    assert crossed == -fairness_objective(y, fitted.predict(X), sensitive_features=X[["group", "city"]])
    array = X[["skill", "years"]].assign(group=X["group"] == "b").to_numpy(dtype=float)
    plain = AdaBoostClassifier(5).fit(array, y)
    assert fairness_scorer(2)(plain, array, y) == -fairness_objective(
        y, plain.predict(array), sensitive_features=array[:, 2]
    )


def test_a_fold_in_which_all_are_of_one_class_and_predicted_so_is_scored_by_the_models_classes(people):
    X, y = people
    fitted = model(notion="statistical_parity").fit(X, y)
    rows = np.flatnonzero((y == "yes") & (fitted.predict(X) == "yes"))
    assert fairness_scorer("group", notion="statistical_parity")(fitted, X.iloc[rows], y[rows]) == 0


@ROUTING
def test_the_search_picks_the_fairer_of_two_settings_on_adult(routing):
    adult = load_adult()
    X, y = adult.data[:12_000], adult.target[:12_000]
    search = GridSearchCV(
        AdaFairClassifier(n_estimators=40, sensitive_feature="sex", random_state=0),
        {"notion": ["none", "statistical_parity"]},
        scoring=fairness_scorer("sex", notion="statistical_parity"),
        cv=2,
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        search.fit(X, y)
    assert search.best_params_ == {"notion": "statistical_parity"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    by_accuracy = GridSearchCV(search.estimator, search.param_grid, cv=2).fit(X, y)
    assert by_accuracy.best_params_ == {"notion": "none"}  # what the scorer is for


@ROUTING
def test_cross_validation_alone_and_among_others_and_in_a_pipeline(people, routing):
    X, y = people
    scorer = fairness_scorer("group", notion="equal_opportunity")
    pipeline = make_pipeline(FunctionTransformer(), model())
    with sklearn.config_context(enable_metadata_routing=routing):
        alone = cross_val_score(pipeline, X, y, scoring=scorer, cv=3, params={})  # scikit-learn 1.6 routes no None
        both = cross_validate(pipeline, X, y, scoring={"fair": scorer, "right": "accuracy"}, cv=3, params={})
    np.testing.assert_array_equal(both["test_fair"], alone)
    assert np.isfinite(alone).all() and (alone < 0).all()


@ROUTING
def test_a_threshold_is_tuned_by_it(people, routing):
    X, y = people
    X = X.assign(group=(X["group"] == "b").astype(int))[["skill", "years", "group"]].fillna(0.0)
    scorer = fairness_scorer("group", notion="statistical_parity", c=0.5)
    for estimator in (model(), LogisticRegression()):
        with sklearn.config_context(enable_metadata_routing=routing):
            tuned = TunedThresholdClassifierCV(
                estimator, scoring=scorer, thresholds=[0.2, 0.35, 0.5, 0.65], store_cv_results=True, cv=2
            ).fit(X, y)
        assert len(set(tuned.cv_results_["scores"])) > 1
        scores = [
            cross_val_score(
                FixedThresholdClassifier(estimator, threshold=t, pos_label="yes"), X, y, scoring=scorer, cv=2
            )
            for t in tuned.cv_results_["thresholds"]
        ]
        np.testing.assert_allclose(tuned.cv_results_["scores"], np.mean(scores, axis=1), rtol=1e-12)


def test_weights_are_routed_to_it(people):
    X, y = people
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = fairness_scorer("group").set_score_request(sample_weight=True)
        fitted = model().fit(X, y)
        expected = -fairness_objective(y, fitted.predict(X), sensitive_features=X["group"], sample_weight=weights)
        assert scorer(fitted, X, y, sample_weight=weights) == expected
        search = GridSearchCV(model().set_fit_request(sample_weight=True), {"c": [0.0, 1.0]}, scoring=scorer, cv=2)
        assert np.isfinite(search.fit(X, y, sample_weight=weights).best_score_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_column_that_is_not_there_ends_the_search(people, n_jobs):
    X, y = people
    search = GridSearchCV(model(), {"c": [0.0, 1.0]}, scoring=fairness_scorer("sex"), cv=2, n_jobs=n_jobs)
    message = r"fairness_scorer\('sex'.*X has no column 'sex'; its columns are 'skill'"
    with parallel_config("threading"), pytest.raises(ScoringError, match=message):
        search.fit(X, y)
    assert not hasattr(search, "best_params_")
    with pytest.raises(ScoringError, match="no column 'sex'"):
        cross_validate(model(), X, y, scoring={"fair": fairness_scorer("sex"), "right": "accuracy"}, cv=2)


def test_groups_without_rates_end_the_search(people):
    X, y = people
    rare = X.assign(group=np.where(y == "yes", "a", X["group"]))  # group b has no positives
    plain = AdaBoostClassifier(5)
    with pytest.raises(ScoringError, match=r"fewer than two of the groups \['a', 'b'\] are defined on the 300 rows"):
        GridSearchCV(plain, {"n_estimators": [2, 5]}, scoring=fairness_scorer("group"), cv=2).fit(rare, y)
    with pytest.raises(ScoringError, match="only one group in the rows to score, 'a'"):
        cross_val_score(plain, X.assign(group="a"), y, scoring=fairness_scorer("group"), cv=2)
    with pytest.raises(ScoringError, match="'group' is missing in 1 of"):
        fairness_scorer("group")(plain.fit(X, y), X.assign(group=X["group"].where(X.index > 0)), y)


def test_a_rate_that_a_model_leaves_undefined_is_that_models_fault(people):
    class PredictiveParity(FairnessNotion):
        name = "predictive_parity"
        gaps = (Gap("precision", precision, boosts=()),)

    X, y = people
    nobody = AdaBoostClassifier(1).fit(X, y).set_threshold(100.0)  # it has no precision, others have
    assert np.isnan(fairness_scorer("group", notion=PredictiveParity())(nobody, X, y))


def test_bands_and_missing_values_make_its_groups(people):
    X, y = people
    fitted = model().fit(X, y)
    bands = pd.cut(X["years"], [-1, 9, 100])
    expected = -fairness_objective(y, fitted.predict(X), sensitive_features=bands)
    assert fairness_scorer("years", bands={"years": [10]})(fitted, X, y) == expected
    assert np.isfinite(fairness_scorer("skill", bands={"skill": [0]}, missing_group="unknown")(fitted, X, y))


def test_what_it_is_asked_for_is_checked_and_shown():
    with pytest.raises(ValueError, match="c must be between 0 and 1, got 2"):
        fairness_scorer("sex", c=2)
    with pytest.raises(ValueError, match="unknown fairness notion 'fair'"):
        fairness_scorer("sex", notion="fair")
    assert repr(fairness_scorer("sex", c=0.5)) == "fairness_scorer('sex', notion=DisparateMistreatment(), c=0.5)"
    with pytest.raises(ScoringError, match="has to be called with a model and X"):
        fairness_scorer("sex")._score_func([0, 1], [0, 1])


def test_ratios_are_fairlearns():
    rng = np.random.default_rng(0)
    y, predicted, group = rng.random(500) < 0.4, rng.random(500) < 0.5, rng.choice(list("abc"), 500)
    weights = rng.random(500)
    options = {"sensitive_features": group, "sample_weight": weights}
    assert statistical_parity_ratio(y, predicted, **options) == pytest.approx(
        demographic_parity_ratio(y, predicted, **options)
    )
    assert disparate_mistreatment_ratio(y, predicted, **options) == pytest.approx(
        equalized_odds_ratio(y, predicted, **options)
    )
    assert disparate_mistreatment_ratio(y, predicted, **options) == min(
        equal_opportunity_ratio(y, predicted, **options), predictive_equality_ratio(y, predicted, **options)
    )


def test_ratios_of_rates_that_are_zero_or_not_there():
    assert statistical_parity_ratio([1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=list("mmff")) == 0
    assert statistical_parity_ratio([1, 0, 1, 0], [0, 0, 0, 0], sensitive_features=list("mmff")) == 1  # all alike
    assert np.isnan(equal_opportunity_ratio([1, 1, 0, 0], [1, 0, 0, 0], sensitive_features=list("mmff")))
    scorer = make_scorer(statistical_parity_ratio)  # greater is better as it is
    assert "statistical_parity_ratio" in repr(scorer)
