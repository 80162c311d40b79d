"""Zafar et al.: logistic regression without disparate mistreatment."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from conftest import make_people
from parityboost.metrics import disparate_mistreatment
from parityboost.paper.baselines._base import Data
from parityboost.paper.baselines._linear import Design, Logistic
from parityboost.paper.baselines.zafar import Covariances, ZafarClassifier


def make_rows(people):
    X, y, group = people
    codes = (group == "b").astype(np.intp)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    return Data(Design.fit(X).encode(X), y.astype(np.int8), codes, weights / weights.sum())


def test_constraint_values_are_the_covariances_of_the_publication(people):
    X, y, group = people
    model = ZafarClassifier(0.02).fit(X, y, sensitive_features=group)
    z = (group == "b").astype(float)
    signs = np.where(y == 1, 1.0, -1.0)
    distance = model.decision_function(X)
    for value, of_class in zip(model.constraint_values_, ((1 + signs) / 2, (1 - signs) / 2), strict=True):
        g = np.minimum(0, of_class * signs * distance)
        assert value == pytest.approx(np.mean((z - z.mean()) * g))  # cov(z, g) = E[(z − z̄) g], their Eq. (9)


def test_constraint_values_fall_as_the_tolerance_tightens(people):
    X, y, group = people
    models = [ZafarClassifier(c).fit(X, y, sensitive_features=group) for c in (1.0, 0.02, 0.01, 0.003, 0.0)]
    largest = [np.abs(model.constraint_values_).max() for model in models]
    assert (np.diff(largest) < 0).all()
    for model, value in zip(models, largest, strict=True):
        assert model.converged_
        assert value <= model.tolerance + model.tol
    assert (np.diff([model.loss_ for model in models]) > 0).all()  # fairness has its price


def test_a_loose_tolerance_leaves_plain_logistic_regression(people):
    X, y, group = people
    model = ZafarClassifier(1.0, l2=1 / 300).fit(X, y, sensitive_features=group)
    matrix = Design.fit(X).encode(X)[:, :-1]
    expected = LogisticRegression(tol=1e-10, max_iter=10_000).fit(matrix, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-3)


def test_it_mistreats_less_than_plain_logistic_regression():
    X, y, group = make_people(2000)
    X["group"] = group  # without it a linear model has little to trade
    plain, fair = (ZafarClassifier(c).fit(X, y, sensitive_features=group) for c in (1.0, 0.0))
    unfairness = [disparate_mistreatment(y, m.predict(X), sensitive_features=group) for m in (plain, fair)]
    assert unfairness[1] < unfairness[0] / 2


@pytest.mark.no_cover
@pytest.mark.parametrize(("seed", "tolerance"), [(0, 0.01), (1, 0.01), (2, 0.0)])
def test_direct_procedure_agrees_with_dccp(seed, tolerance):
    pytest.importorskip("cvxpy")
    pytest.importorskip("dccp")
    X, y, group = make_people(300, seed)
    direct, reference = (
        ZafarClassifier(tolerance, solver=solver).fit(X, y, sensitive_features=group) for solver in ("ccp", "dccp")
    )
    assert direct.converged_
    assert reference.converged_
    assert direct.loss_ == pytest.approx(reference.loss_, abs=1e-3)
    np.testing.assert_allclose(direct.constraint_values_, reference.constraint_values_, atol=1e-3)
    np.testing.assert_allclose(direct.coef_, reference.coef_, atol=0.05)
    assert (direct.predict(X) == reference.predict(X)).mean() > 0.98


def test_dccp_that_stops_early_says_so(people):
    pytest.importorskip("cvxpy")
    pytest.importorskip("dccp")
    X, y, group = people
    with pytest.warns(ConvergenceWarning, match="solver='dccp' did not converge"):
        model = ZafarClassifier(solver="dccp", max_iter=1).fit(X, y, sensitive_features=group)
    assert not model.converged_
    assert np.isfinite(model.coef_).all()


def test_a_solver_that_fails_leaves_plain_logistic_regression(people, monkeypatch):
    cvxpy = pytest.importorskip("cvxpy")
    dccp = pytest.importorskip("dccp")

    def fail(*_args, **_kwargs):
        raise cvxpy.error.SolverError("numerical trouble")

    monkeypatch.setattr(dccp, "dccp", fail)
    X, y, group = people
    with pytest.warns(ConvergenceWarning):
        model = ZafarClassifier(solver="dccp").fit(X, y, sensitive_features=group)
    assert not model.converged_
    np.testing.assert_allclose(model.coef_, ZafarClassifier(1.0).fit(X, y, sensitive_features=group).coef_, atol=1e-3)


@pytest.mark.parametrize("missing", ["cvxpy", "dccp"])
def test_a_missing_extra_says_what_to_install(people, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    X, y, group = people
    with pytest.raises(ImportError, match=r'pip install "cvxpy>='):
        ZafarClassifier(solver="dccp").fit(X, y, sensitive_features=group)


def test_too_few_iterations_warn(people):
    X, y, group = people
    with pytest.warns(ConvergenceWarning, match=r"solver='ccp' did not converge.*max_iter above 1"):
        model = ZafarClassifier(max_iter=1).fit(X, y, sensitive_features=group)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert model.predict(X).shape == y.shape


def test_convexified_constraints_touch_the_covariances_and_are_never_more_lenient(people):
    rows = make_rows(people)
    covariances = Covariances(rows, bound=0.0, width=1e-6)
    rng = np.random.default_rng(3)
    here, there = rng.normal(size=(2, rows.X.shape[1]))
    wrong_now = (covariances.sign * (rows.X @ here) < 0).astype(float)

    def both_sides(w):
        value = covariances.values(rows.X @ w)
        return np.array([value[0], -value[0], value[1], -value[1]])

    np.testing.assert_allclose(covariances.convexified(rows.X @ here, wrong_now)[0], both_sides(here), atol=1e-6)
    assert (covariances.convexified(rows.X @ there, wrong_now)[0] >= both_sides(there) - 1e-9).all()


def test_gradient_of_the_lagrangian(people):
    rows = make_rows(people)
    logistic, covariances = Logistic(rows.X, rows.y, 1e-3), Covariances(rows, bound=0.001, width=0.01)
    rng = np.random.default_rng(4)
    w = 0.5 * rng.normal(size=rows.X.shape[1])
    wrong_now = (covariances.sign * (rows.X @ (w + 0.1)) < 0).astype(float)
    objective = covariances.lagrangian(logistic, wrong_now, np.array([0.0, 0.3, 0.5, 0.1]), rho=100.0, tau=2.0)
    step = 1e-6 * np.eye(len(w))
    numeric = [(objective(w + e)[0] - objective(w - e)[0]) / 2e-6 for e in step]
    np.testing.assert_allclose(objective(w)[1], numeric, atol=1e-6)


def test_weights_count_like_repeated_rows(people):
    X, y, group = people
    times = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    times[5] = 0
    rows = np.repeat(np.arange(len(y)), times)
    weighted = ZafarClassifier(0.01).fit(X, y, sensitive_features=group, sample_weight=times)
    repeated = ZafarClassifier(0.01).fit(X.iloc[rows], y[rows], sensitive_features=group[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def test_training_twice_gives_the_same_model_and_clone_and_pickle_work(people):
    X, y, group = people
    model = ZafarClassifier(0.01).fit(X, y, sensitive_features=group)
    again = clone(model).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensitive_features": None}, "ZafarClassifier needs the sensitive attribute"),
        ({"sensitive_features": ["a", "b", "c"] * 100}, "ZafarClassifier compares two groups, got 3"),
        ({"y": ["yes"] * 300}, "only one class is present"),
        ({"X": np.full((300, 2), np.inf)}, "'x0' of X contains infinity"),
    ],
)
def test_bad_input_names_the_culprit(people, changes, message):
    X, y, group = people
    arguments = {"X": X, "y": y, "sensitive_features": group} | changes
    with pytest.raises(ValueError, match=message):
        ZafarClassifier().fit(**arguments)


@pytest.mark.parametrize("parameters", [{"tolerance": -1.0}, {"solver": "ecos"}, {"mu": 0.5}, {"max_iter": 0}])
def test_parameters_out_of_range(people, parameters):
    X, y, group = people
    with pytest.raises(ValueError, match=next(iter(parameters))):
        ZafarClassifier(**parameters).fit(X, y, sensitive_features=group)


def test_a_group_without_negatives_is_an_error(people):
    X, _, group = people
    with pytest.raises(ValueError, match="group 'b' has no example of class '0'"):
        ZafarClassifier().fit(X, 1 - (group == "a") * (np.arange(300) % 2), sensitive_features=group)
