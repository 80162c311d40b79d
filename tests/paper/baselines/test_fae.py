import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from conftest import make_people
from parityboost import AdaBoostClassifier
from parityboost.datasets import make_biased_classification
from parityboost.metrics import balanced_error_rate, equal_opportunity_difference, group_table
from parityboost.paper.baselines._base import Data
from parityboost.paper.baselines.fae import FAEClassifier, draw_bags, equalise_tpr


def fitted(people, **options):
    X, y, group = people
    options = {"n_estimators": 10, "random_state": 0} | options
    return FAEClassifier(**options).fit(X, y, sensitive_features=group)


def balanced_people():
    """As many people of either class in either group."""
    X, y, group = make_people(400)
    rows = np.concatenate([np.flatnonzero((y == label) & (group == name))[:50] for label in (0, 1) for name in "ab"])
    return X.iloc[rows], y[rows], group[rows]


def cells_and_clusters():
    rng = np.random.default_rng(0)
    cell = rng.permutation(np.repeat([0, 1, 2, 3], [500, 120, 40, 75]))
    return cell, rng.choice(4, len(cell), p=[0.1, 0.2, 0.3, 0.4])


def test_the_published_number_of_bags():
    for sizes, n_bags in (([500, 120, 40, 75], 2 * (12 + 1)), ([40, 40, 40, 40], 4)):
        cell = np.repeat([0, 1, 2, 3], sizes)
        X = pd.DataFrame({"x": np.random.default_rng(0).normal(size=len(cell))})
        model = FAEClassifier(2, random_state=0).fit(X, cell // 2, sensitive_features=cell % 2)
        assert model.n_bags_ == n_bags


def test_every_bag_is_balanced_over_the_four_cells_and_holds_the_smallest():
    cell, cluster = cells_and_clusters()
    bags = draw_bags(cell, cluster, 26, np.random.RandomState(0))
    assert len(bags) == 26
    for rows in bags:
        assert np.bincount(cell[rows]).tolist() == [40] * 4
        assert len(np.unique(rows)) == len(rows)
        assert set(np.flatnonzero(cell == 2)) <= set(rows)


def test_bags_keep_the_proportions_of_the_clusters():
    cell, cluster = cells_and_clusters()
    expected = np.bincount(cluster[cell == 0]) / 500
    for rows in draw_bags(cell, cluster, 26, np.random.RandomState(0)):
        share = np.bincount(cluster[rows][cell[rows] == 0], minlength=4) / 40
        np.testing.assert_allclose(share, expected, atol=2.01 / 40)


def test_together_the_bags_hold_every_row_about_equally_often():
    cell, cluster = cells_and_clusters()
    drawn = np.bincount(np.concatenate(draw_bags(cell, cluster, 26, np.random.RandomState(0))))
    for k in range(4):
        assert drawn[cell == k].min() >= 2
        assert np.ptp(drawn[cell == k]) <= 1


def test_bags_differ_in_their_other_cells():
    cell, cluster = cells_and_clusters()
    first, second = draw_bags(cell, cluster, 2, np.random.RandomState(0))
    assert not set(first[cell[first] == 0]) & set(second[cell[second] == 0])


def test_the_boundary_of_the_group_that_is_behind_moves_to_the_others_tpr():
    votes = np.array([0.9, 0.8, 0.2, 0.7, 0.45, 0.4, 0.1, 0.3])
    y = np.array([1, 1, 0, 1, 1, 1, 0, 1], dtype=np.int8)
    group = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    # TPR 2/3 in group 0 and 1/3 in group 1: the second of its positives has to be above the boundary.
    thresholds = equalise_tpr(votes, Data(None, y, group, None), 0.0)
    assert thresholds[0] == 0.5
    assert 0.4 <= thresholds[1] < 0.45
    np.testing.assert_array_equal(equalise_tpr(votes, Data(None, y, group, None), 0.4), [0.5, 0.5])
    assert equalise_tpr(votes, Data(None, y, 1 - group, None), 0.0)[1] == 0.5


def test_true_positive_rates_match_in_training_and_on_new_data():
    data = make_biased_classification(8000, 8, bias=0.4, random_state=0)
    X, y, group = data.data, data.target, data.sensitive
    train, new = slice(0, 4000), slice(4000, None)
    model = fitted((X[train], y[train], group[train]), n_estimators=30)
    for rows, most in ((train, 0.005), (new, 0.05)):
        predicted = model.predict(X[rows], sensitive_features=group[rows])
        assert equal_opportunity_difference(y[rows], predicted, sensitive_features=group[rows]) < most


def test_only_one_boundary_moves(people):
    model = fitted(people)
    assert (model.thresholds_ == 0.5).sum() == 1
    assert model.thresholds_.min() < 0.5


def test_the_number_of_bags_is_chosen_on_twice_the_discrimination_plus_error(people):
    X, y, group = people
    model = fitted(people)
    half = model.n_bags_ // 2
    assert np.isnan(model.objectives_[:half]).all()
    assert half < model.n_bags_used_ <= model.n_bags_
    assert np.nanargmin(model.objectives_) == model.n_bags_used_ - 1
    predicted = model.predict(X, sensitive_features=group)
    tpr = group_table(y, predicted, sensitive_features=group)["tpr"]
    expected = 2 * abs(tpr["a"] - tpr["b"]) + balanced_error_rate(y, predicted)
    assert np.nanmin(model.objectives_) == pytest.approx(expected)


def test_a_bags_vote_is_that_of_an_adaboost():
    X, y, group = balanced_people()
    model = fitted((X, y, group), n_bags=1)
    boundary = model.thresholds_[(group == "b").astype(int)]
    votes = model.decision_function(X, sensitive_features=group) + boundary
    adaboost = AdaBoostClassifier(10).fit(X, y)
    np.testing.assert_allclose(votes, adaboost.predict_proba(X)[:, 1], rtol=1e-9)


def test_votes_are_averaged():
    people = balanced_people()
    # All bags hold all rows, so that their mean is what any of them says.
    one, four = fitted(people, n_bags=1), fitted(people)
    assert four.n_bags_ == 4
    X, _, group = people
    expected = one.decision_function(X, sensitive_features=group)
    np.testing.assert_allclose(four.decision_function(X, sensitive_features=group), expected, atol=1e-9)


def test_a_given_number_of_bags(people):
    model = fitted(people, n_bags=1)
    assert model.n_bags_ == model.n_bags_used_ == 1


def test_few_rows_and_equal_rows_need_no_clusters():
    X = pd.DataFrame({"x": np.repeat([0.0, 1.0], 40), "same": "s"})
    y = np.repeat([0, 1], 40)
    y[::10] = 1 - y[::10]
    group = np.where(np.arange(80) % 4 == 0, "b", "a")
    model = FAEClassifier(3, random_state=0).fit(X, y, sensitive_features=group)
    assert model.score(X, y, sensitive_features=group) > 0.8


@pytest.mark.parametrize("categorical", [True, False])
def test_columns_of_one_kind_only(people, categorical):
    X, y, group = people
    X = X[["job", "city"]] if categorical else X[["skill", "years"]]
    assert fitted((X, y, group)).predict(X, sensitive_features=group).shape == y.shape


@pytest.mark.no_cover
def test_same_seed_same_model_whatever_the_number_of_threads(people):
    X, y, group = people
    first = fitted(people)
    second = clone(first).set_params(n_jobs=2).fit(X, y, sensitive_features=group)
    third = pickle.loads(pickle.dumps(first))
    margin = first.decision_function(X, sensitive_features=group)
    for other in (second, third):
        np.testing.assert_array_equal(other.decision_function(X, sensitive_features=group), margin)
    fourth = fitted(people, random_state=1)
    assert (fourth.decision_function(X, sensitive_features=group) != margin).any()


def test_rows_without_weight_are_no_rows(people):
    X, y, group = people
    weights = np.where(np.arange(len(y)) < 200, 2.0, 0.0)
    weighted = FAEClassifier(5, random_state=0).fit(X, y, sensitive_features=group, sample_weight=weights)
    part = fitted((X[:200], y[:200], group[:200]), n_estimators=5)
    np.testing.assert_allclose(weighted.thresholds_, part.thresholds_)


def test_weights_count_in_the_rates(people):
    X, y, group = people
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = FAEClassifier(5, random_state=0).fit(X, y, sensitive_features=group, sample_weight=weights)
    predicted = model.predict(X, sensitive_features=group)
    gap = equal_opportunity_difference(y, predicted, sensitive_features=group, sample_weight=weights)
    objective = 2 * gap + balanced_error_rate(y, predicted, sample_weight=weights)
    assert np.nanmin(model.objectives_) == pytest.approx(objective)


def test_predict_needs_the_group(people):
    with pytest.raises(ValueError, match="FAEClassifier decides by group: pass sensitive_features"):
        fitted(people).predict(people[0])


def test_all_four_cells_are_needed(people):
    X, y, group = people
    keep = (y == 0) | (group == "a")
    with pytest.raises(ValueError, match="group 'b' has no example of class 1"):
        FAEClassifier().fit(X[keep], y[keep], sensitive_features=group[keep])


def test_bad_input_has_adafairs_errors(people):
    X, y, group = people
    with pytest.raises(ValueError, match="needs the sensitive attribute"):
        FAEClassifier().fit(X, y)
    with pytest.raises(ValueError, match="compares two groups, got 3"):
        FAEClassifier().fit(X, y, sensitive_features=np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="'years' of X contains infinity"):
        FAEClassifier().fit(X.assign(years=np.inf), y, sensitive_features=group)
    with pytest.raises(ValueError, match="n_clusters"):
        FAEClassifier(n_clusters=0).fit(X, y, sensitive_features=group)
