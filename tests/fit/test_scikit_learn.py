"""parityboost among scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, metrics


class GroupsFromX:
    """For scikit-learn's checks, which know no groups: every other row, in the order of the first column."""

    def fit(self, X, y, *, sensitive_features=None, sample_weight=None, validation=None):
        if sensitive_features is None and not sparse.issparse(X):
            try:
                column = pd.Series(_safe_indexing(X if hasattr(X, "shape") else np.asarray(X), 0, axis=1))
                sensitive_features = (column.rank(method="first", na_option="top") % 2).to_numpy()
            except (IndexError, TypeError, ValueError):
                pass  # no table: fit shall say so
        given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "validation": validation}
        return super().fit(X, y, **given)


class AdaFairFromX(GroupsFromX, AdaFairClassifier):
    """AdaFair for the checks."""


class RecommendedFromX(GroupsFromX, ParityBoostClassifier):
    """The same for the recommended model."""


def explained(estimator):
    """The checks that may fail, and why."""
    reasons = {}
    if not isinstance(estimator, GroupsFromX):
        reasons["check_class_weight_classifiers"] = (
            "class_weight sets the weights that boosting starts from; without a choice of θ ten rounds undo it"
        )
    if isinstance(estimator, RecommendedFromX):
        reasons["check_sample_weight_equivalence_on_dense_data"] = (
            "splits are drawn by rows, and a repeated row is several; with splits that are given, weights equal "
            "repeats (test_bags.py)"
        )
    elif parse_version(sklearn.__version__) < parse_version("1.7"):
        reasons["check_sample_weight_equivalence_on_dense_data"] = (
            "scikit-learn 1.6 makes the check's three classes two by the class of the first row, after it has shuffled "
            "one of the data sets to compare: the labels then differ"
        )
    return reasons


# Statistical parity, because the checks' smallest data sets have too few rows for both classes in both groups.
@parametrize_with_checks(
    [
        AdaFairFromX("statistical_parity", n_estimators=10),
        RecommendedFromX("statistical_parity", n_bags=2, n_estimators=5),
        AdaBoostClassifier(10),
    ],
    expected_failed_checks=explained,
)
def test_scikit_learns_estimator_checks(estimator, check):
    check(estimator)


def test_the_decision_is_where_the_score_is_above_zero(people):
    X, y, group = people
    model = ParityBoostClassifier("equal_opportunity", n_bags=2, n_estimators=8, random_state=0)
    model.fit(X, y, sensitive_features=group)
    for choice in (model, model.choose(maximize="accuracy"), model.choose(capacity=0.2)):
        np.testing.assert_array_equal(choice.predict(X), model.classes_[(choice.decision_function(X) > 0).astype(int)])
        order = np.argsort(choice.decision_function(X))  # and the probability rises with the score
        assert (np.diff(choice.predict_proba(X)[order, 1]) >= -1e-12).all()


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_grid_search_with_a_sensitive_column_needs_no_routing(people):
    X, y, group = people
    search = GridSearchCV(
        AdaFairClassifier(sensitive_feature="group", n_estimators=10, random_state=0),
        {"c": [0.0, 1.0], "notion": ["equal_opportunity", "statistical_parity"]},
        cv=3,
        error_score="raise",
    )
    search.fit(X.assign(group=group), y)
    assert search.best_estimator_.groups_.tolist() == ["a", "b"]
    assert search.predict(X.assign(group=group)).shape == (300,)


def test_grid_search_routes_sensitive_features_to_fit_and_to_the_scorer(people, routing):
    X, y, group = people
    seen = []

    def unfairness(y_true, y_pred, *, sensitive_features):
        seen.append(len(sensitive_features) == len(y_true))
        return metrics.equal_opportunity_difference(y_true, y_pred, sensitive_features=sensitive_features)

    scorer = make_scorer(unfairness, greater_is_better=False).set_score_request(sensitive_features=True)
    model = AdaFairClassifier("equal_opportunity", n_estimators=10, random_state=0)
    model.set_fit_request(sensitive_features=True, sample_weight=True)
    search = GridSearchCV(model, {"epsilon": [0.0, 0.1]}, scoring=scorer, cv=3, error_score="raise")
    search.fit(X, y, sensitive_features=group, sample_weight=np.ones(300))
    assert seen and all(seen)
    assert search.best_score_ <= 0


@pytest.mark.parametrize(
    "measure",
    [
        metrics.statistical_parity_difference,
        metrics.equal_opportunity_difference,
        metrics.predictive_equality_difference,
        metrics.disparate_mistreatment,
        metrics.fairness_objective,
    ],
)
def test_every_measure_is_a_scorer(people, routing, measure):
    X, y, group = people
    scorer = make_scorer(measure, greater_is_better=False).set_score_request(sensitive_features=True)
    model = AdaFairClassifier(n_estimators=5, random_state=0).set_fit_request(sensitive_features=True)
    result = cross_validate(
        model, X, y, cv=3, scoring={"unfair": scorer}, params={"sensitive_features": group}, error_score="raise"
    )
    assert (result["test_unfair"] <= 0).all()
    assert pickle.loads(pickle.dumps(measure)) is measure


def test_in_a_pipeline_with_routing(people, routing):
    X, y, group = people
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["skill", "years"]), remainder="drop"),
        AdaFairClassifier(n_estimators=10, random_state=0).set_fit_request(sensitive_features=True),
    )
    model.fit(X, y, sensitive_features=group)
    assert model.predict(X).shape == (300,)


def test_in_a_pipeline_without_routing(people):
    X, y, group = people
    model = make_pipeline(SimpleImputer(), AdaFairClassifier(sensitive_feature=-1, n_estimators=10))
    numbers = X[["skill", "years"]].assign(group=(group == "b") * 1)
    model.fit(numbers, y)
    assert model[-1].groups_.tolist() == [0.0, 1.0]


def test_clone_and_pickle(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=10, random_state=0).fit(X, y, sensitive_features=group)
    copy = clone(model).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(model.decision_function(X), copy.decision_function(X))
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(X), thawed.predict_proba(X))
    assert thawed.history_.equals(model.history_)


def test_feature_names_are_remembered(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=3).fit(X, y, sensitive_features=group)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.n_features_in_ == 5


def test_parameters_can_be_set_and_are_validated(people):
    X, y, group = people
    model = AdaFairClassifier().set_params(c=2.0)
    with pytest.raises(ValueError, match="'c' parameter of AdaFairClassifier must be a float in the range"):
        model.fit(X, y, sensitive_features=group)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=2),
        LogisticRegression(),
        RidgeClassifier(),
        make_pipeline(StandardScaler(), LogisticRegression()).set_params(),
        GradientBoostingClassifier(n_estimators=2),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("options", [{}, {"learner_weight": "cost", "update": "discrete"}, {"cumulative": False}])
def test_any_classifier_with_sample_weight_can_be_boosted(people, estimator, options):
    X, y, group = people
    X = X[["years", "member"]].astype(float)
    if hasattr(estimator, "steps"):
        with pytest.raises(ValueError, match="Pipeline does not take sample_weight"):
            AdaFairClassifier(estimator=estimator).fit(X, y, sensitive_features=group)
        return
    X = X.assign(group=group == "b")
    model = AdaFairClassifier(estimator=estimator, n_estimators=5, random_state=0, **options)
    model.fit(X, y, sensitive_features=group)
    assert model.n_estimators_ == len(model.estimators_) <= 5
    stages = list(model.staged_predict(X))
    np.testing.assert_array_equal(stages[model.theta_ - 1], model.predict(X))
    again = clone(model).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
