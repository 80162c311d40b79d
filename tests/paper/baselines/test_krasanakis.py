"""Krasanakis et al.: adaptive sensitive reweighting."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from parityboost.metrics import disparate_mistreatment
from parityboost.paper.baselines._base import Data
from parityboost.paper.baselines._linear import Design, Logistic
from parityboost.paper.baselines.krasanakis import KrasanakisClassifier, _Search, culep_weights


def make_rows(people):
    X, y, group = people
    n = len(y)
    codes = (group == "b").astype(np.intp)
    return Data(Design.fit(X).encode(X), y.astype(np.int8), codes, np.full(n, 1 / n))


def search_of(rows):
    return _Search(rows, 1 / len(rows.y), 4)


def test_weights_match_a_hand_computation():
    errors = np.array([0.5, -0.5, 0.2, -1.0])
    group = np.array([0, 0, 1, 1])
    weights = culep_weights(errors, group, np.array([0.25, 0.9]), np.array([2.0, 3.0]))
    by_hand = [
        0.25 * np.exp(1.0) + 0.75 * np.exp(-1.0),
        0.25 * np.exp(-1.0) + 0.75 * np.exp(1.0),
        0.9 * np.exp(0.6) + 0.1 * np.exp(-0.6),
        0.9 * np.exp(-3.0) + 0.1 * np.exp(3.0),
    ]
    np.testing.assert_allclose(weights, by_hand)


def test_no_beta_means_no_reweighting(people):
    errors = np.linspace(-1, 1, 5)
    group = np.array([0, 1, 0, 1, 0])
    assert (culep_weights(errors, group, np.array([0.3, 0.8]), np.zeros(2)) == 1).all()
    search = search_of(make_rows(people))
    plain = search.train(np.array([0.5, 0.5, 0.0, 0.0]))
    np.testing.assert_allclose(plain, search._plain, atol=1e-3)


def test_the_retrainings_are_those_of_scikit_learn_with_the_same_weights(people):
    rows = make_rows(people)
    parameters = np.array([0.8, 0.3, 1.0, 2.0])
    w = search_of(rows).train(parameters)
    weights = np.ones(len(rows.y))
    model = LogisticRegression(tol=1e-10, max_iter=10_000)
    for _ in range(5):  # the plain classifier and four re-trainings
        model.fit(rows.X[:, :-1], rows.y, sample_weight=weights)
        errors = model.predict_proba(rows.X[:, :-1])[:, 1] - rows.y
        weights = culep_weights(errors, rows.group, parameters[:2], parameters[2:])
        weights *= len(weights) / weights.sum()
    np.testing.assert_allclose(w[:-1], model.coef_[0], atol=2e-3)
    np.testing.assert_allclose(w[-1], model.intercept_[0], atol=2e-3)


def test_logistic_regression_is_scikit_learns_on_sparse_data_as_well():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=400).round(1), rng.integers(0, 12, 400).astype(float)])
    y = (X[:, 0] + (X[:, 1] > 6) + rng.normal(size=400) > 0.5).astype(np.int8)
    design = Design.fit(X, categorical_features=[1])
    matrix = design.encode(X)
    assert not isinstance(matrix, np.ndarray)
    w = Logistic(matrix, y, l2=1 / 400).train_plain(np.full(400, 1 / 400))
    expected = LogisticRegression(tol=1e-10, max_iter=10_000).fit(matrix.toarray()[:, :-1], y)
    np.testing.assert_allclose(w[:-1], expected.coef_[0], atol=1e-3)


def test_objective_is_accuracy_minus_disparate_mistreatment(people):
    X, y, group = people
    model = KrasanakisClassifier(30).fit(X, y, sensitive_features=group)
    predicted = model.predict(X)
    expected = (predicted == y).mean() - disparate_mistreatment(y, predicted, sensitive_features=group)
    assert model.objective_ == pytest.approx(expected)


def test_the_search_is_fairer_than_plain_logistic_regression(people):
    X, y, group = people
    rows = make_rows(people)
    search = search_of(rows)
    model = KrasanakisClassifier(100).fit(X, y, sensitive_features=group)
    assert model.objective_ > search.objective(search._plain) + 0.1
    plain = disparate_mistreatment(y, rows.X @ search._plain > 0, sensitive_features=group, pos_label=1)
    assert disparate_mistreatment(y, model.predict(X), sensitive_features=group) < plain / 2
    assert 100 <= model.n_evaluations_ < 120
    assert ((model.alpha_ >= 0) & (model.alpha_ <= 1)).all()
    assert ((model.beta_ >= 0) & (model.beta_ <= 3)).all()


def test_training_twice_gives_the_same_model(people):
    X, y, group = people
    first, second = (KrasanakisClassifier(20).fit(X, y, sensitive_features=group) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


def test_the_best_parameters_give_the_kept_coefficients(people):
    X, y, group = people
    model = KrasanakisClassifier(20).fit(X, y, sensitive_features=group)
    again = search_of(make_rows(people)).train(np.concatenate([model.alpha_, model.beta_]))
    np.testing.assert_allclose(model.coef_[0], again[:-1])
    assert len(model.design_names_) == model.coef_.shape[1]


def test_weights_count_like_repeated_rows(people):
    X, y, group = people
    times = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    times[5] = 0
    rows = np.repeat(np.arange(len(y)), times)
    weighted = KrasanakisClassifier(10).fit(X, y, sensitive_features=group, sample_weight=times)
    repeated = KrasanakisClassifier(10).fit(X.iloc[rows], y[rows], sensitive_features=group[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def test_clone_pickle_and_labels(people):
    X, y, group = people
    labels = np.where(y == 1, "yes", "no")
    model = KrasanakisClassifier(10, n_retrainings=2, C=0.5).fit(X, labels, sensitive_features=group)
    assert clone(model).get_params() == model.get_params()
    predicted = model.predict(X)
    assert set(predicted) == {"no", "yes"}
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), predicted)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(probability[:, 1] > 0.5, predicted == "yes")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensitive_features": None}, "KrasanakisClassifier needs the sensitive attribute"),
        ({"sensitive_features": ["a", "b", "c"] * 100}, "compares two groups, got 3: 'a', 'b', 'c'"),
        ({"sensitive_features": ["a"] * 300}, "only one group"),
        ({"y": np.arange(300) % 3}, "Only binary classification"),
        ({"sample_weight": -np.ones(300)}, "must not be negative"),
    ],
)
def test_bad_input_names_the_culprit(people, changes, message):
    X, y, group = people
    arguments = {"X": X, "y": y, "sensitive_features": group} | changes
    with pytest.raises(ValueError, match=message):
        KrasanakisClassifier(5).fit(**arguments)


def test_a_group_without_positives_is_an_error(people):
    X, _, group = people
    with pytest.raises(ValueError, match="group 'b' has no example of class '1'"):
        KrasanakisClassifier(5).fit(X, (group == "a") * (np.arange(300) % 2), sensitive_features=group)


@pytest.mark.parametrize("parameters", [{"n_evaluations": 0}, {"n_retrainings": 0}, {"C": 0.0}])
def test_parameters_out_of_range(people, parameters):
    X, y, group = people
    with pytest.raises(ValueError, match=next(iter(parameters))):
        KrasanakisClassifier(**parameters).fit(X, y, sensitive_features=group)
