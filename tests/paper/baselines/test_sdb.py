import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_validate

from parityboost.datasets import make_biased_classification
from parityboost.metrics import statistical_parity_difference
from parityboost.paper.baselines._base import match_rate
from parityboost.paper.baselines.sdb import AdaBoostSDBClassifier


def fitted(people, **options):
    X, y, group = people
    options = {"n_estimators": 20, "random_state": 0} | options
    return AdaBoostSDBClassifier(**options).fit(X, y, sensitive_features=group)


def naive_match(scores, positive, counted, weights, target, usual):
    """Every candidate one by one: its gap to the target, its error and its distance to the usual boundary."""
    distinct = np.unique(scores)
    edges = [distinct[0] - 1.0, *((distinct[1:] + distinct[:-1]) / 2), distinct[-1]]
    found = []
    for k, boundary in enumerate(edges):
        lower = distinct[k - 1] if k else -np.inf
        upper = distinct[k] if k < len(distinct) else np.inf
        candidate = usual if lower <= usual < upper else boundary
        above = scores > candidate
        rate = weights[above & counted].sum() / weights[counted].sum()
        error = weights[above != positive].sum() / weights.sum()
        found.append((round(abs(rate - target), 10), round(error, 10), abs(candidate - usual), candidate))
    return min(found)


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.booleans(), st.sampled_from([1.0, 2.0])), min_size=1, max_size=25),
    st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]),
    st.sampled_from([0.0, 0.5, -3.0, 10.0, -10.0]),
    st.booleans(),
)
def test_all_candidates_at_once_are_those_one_by_one(rows, target, usual, positives_only):
    scores, positive, weights = (np.array(column) for column in zip(*rows, strict=True))
    positive[0] = True
    counted = positive if positives_only else np.ones(len(scores), dtype=bool)
    boundary = match_rate(scores.astype(float), positive, counted, weights, target, usual)
    gap, error, _, _ = naive_match(scores, positive, counted, weights, target, usual)
    above = scores > boundary
    rate = weights[above & counted].sum() / weights[counted].sum()
    assert abs(rate - target) == pytest.approx(gap, abs=1e-9)
    assert weights[above != positive].sum() / weights.sum() == pytest.approx(error, abs=1e-9)


def test_the_usual_boundary_stays_where_it_is_as_good_as_any():
    scores = np.array([-2.0, -1.0, 3.0, 4.0])
    everyone = np.ones(4, dtype=bool)
    assert match_rate(scores, scores > 0, everyone, np.ones(4), target=0.5, usual=0.0) == 0.0


def test_a_boundary_between_neighbouring_floats_still_divides_them():
    scores = np.array([1.0, np.nextafter(1.0, 2.0)])
    boundary = match_rate(scores, np.array([False, True]), np.ones(2, dtype=bool), np.ones(2), target=0.5, usual=0.0)
    assert (scores > boundary).tolist() == [False, True]


def test_only_the_protected_groups_boundary_moves(people):
    X, _, group = people
    model = fitted(people)
    plain = model.model_.decision_function(X) > 0
    shifted = model.predict(X, sensitive_features=group) == 1
    assert model.protected_ == "b"
    assert model.thresholds_[0] == 0.0
    assert model.thresholds_[1] < 0.0
    assert (plain == shifted)[group == "a"].all()
    assert (plain != shifted)[group == "b"].any()
    assert (plain <= shifted).all()
    margin = model.decision_function(X, sensitive_features=group)
    np.testing.assert_array_equal(margin, model.model_.decision_function(X) - model.thresholds_[(group == "b") * 1])


def test_the_shift_is_on_the_normalised_confidence(people):
    model = fitted(people)
    assert model.shift_ == pytest.approx(-model.thresholds_[1] / model.model_.estimator_weights_.sum())
    assert 0 < model.shift_ <= 1


def test_selection_rates_match_on_new_data():
    data = make_biased_classification(12_000, 8, bias=0.4, random_state=0)
    X, y, group = data.data, data.target, data.sensitive
    train, new = slice(0, 6000), slice(6000, None)
    model = fitted((X[train], y[train], group[train]), n_estimators=60)
    predictions = model.model_.predict(X[new]), model.predict(X[new], sensitive_features=group[new])
    before, after = (statistical_parity_difference(y[new], p, sensitive_features=group[new]) for p in predictions)
    assert before > 0.15
    assert after < 0.05


def test_the_protected_group_may_be_given(people):
    model = fitted(people, protected="a")
    assert model.protected_ == "a"
    assert model.thresholds_[0] > 0.0 == model.thresholds_[1]
    assert model.shift_ < 0


def test_an_unknown_protected_group_is_named(people):
    with pytest.raises(ValueError, match="one of the groups 'a', 'b', got 'c'"):
        fitted(people, protected="c")


def test_predict_needs_the_group(people):
    X, y, group = people
    model = fitted(people)
    for call in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="AdaBoostSDBClassifier decides by group: pass sensitive_features"):
            call(X)
    with pytest.raises(ValueError, match="group 'c' does not occur"):
        model.predict(X, sensitive_features=np.where(group == "a", "a", "c"))
    predicted = model.predict(X, sensitive_features=group)
    assert model.score(X, y, sensitive_features=group) == (predicted == y).mean()


def test_groups_are_routed_through_cross_validation(people):
    X, y, group = people
    with sklearn.config_context(enable_metadata_routing=True):
        model = AdaBoostSDBClassifier(5, random_state=0)
        model.set_fit_request(sensitive_features=True).set_score_request(sensitive_features=True)
        scores = cross_validate(model, X, y, params={"sensitive_features": group}, cv=3, error_score="raise")
        assert (scores["test_score"] > 0.6).all()


def test_labels_come_back_as_they_were_given(people):
    X, y, group = people
    model = fitted((X, np.where(y == 1, "yes", "no"), group))
    assert set(model.predict(X, sensitive_features=group)) == {"yes", "no"}


def test_rows_without_weight_are_no_rows(people):
    X, y, group = people
    weights = np.where(np.arange(len(y)) < 200, 2.0, 0.0)
    weighted = AdaBoostSDBClassifier(20, random_state=0).fit(X, y, sensitive_features=group, sample_weight=weights)
    part = fitted((X[:200], y[:200], group[:200]))
    np.testing.assert_array_equal(weighted.thresholds_, part.thresholds_)


def test_same_seed_same_model(people):
    X, y, group = people
    first = fitted(people)
    second = clone(first).fit(X, y, sensitive_features=group)
    third = pickle.loads(pickle.dumps(first))
    margin = first.decision_function(X, sensitive_features=group)
    for other in (second, third):
        np.testing.assert_array_equal(other.decision_function(X, sensitive_features=group), margin)


def test_bad_input_has_adafairs_errors(people):
    X, y, group = people
    with pytest.raises(ValueError, match="needs the sensitive attribute"):
        AdaBoostSDBClassifier().fit(X, y)
    with pytest.raises(ValueError, match="compares two groups, got 3"):
        AdaBoostSDBClassifier().fit(X, y, sensitive_features=np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="'years' of X contains infinity"):
        AdaBoostSDBClassifier().fit(X.assign(years=np.inf), y, sensitive_features=group)
    with pytest.raises(ValueError, match="validation_fraction"):
        AdaBoostSDBClassifier(validation_fraction=1.5).fit(X, y, sensitive_features=group)


def test_a_group_that_is_too_small_to_hold_out():
    X = pd.DataFrame({"x": np.arange(22.0)})
    y = np.arange(22) % 2
    group = np.array(["a"] * 20 + ["b"] * 2)
    with pytest.raises(ValueError, match="group 'b' has no rows"):
        AdaBoostSDBClassifier().fit(X, y, sensitive_features=group)
