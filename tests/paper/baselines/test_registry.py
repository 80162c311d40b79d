"""The registry of methods, fairlearn's adapters, and what all baselines have in common."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from conftest import make_people
from parityboost import metrics
from parityboost.paper.baselines import (
    METHODS,
    ExponentiatedGradientClassifier,
    ThresholdOptimizerClassifier,
    get_method,
)
from parityboost.paper.baselines._base import Baseline

QUICK = {
    "AdaBoost": {"n_estimators": 5},
    "SMOTEBoost": {"n_estimators": 5, "n_synthetic": 10},
    "AdaBoost SDB": {"n_estimators": 5},
    "FAE": {"n_estimators": 5},
    "Zafar et al.": {"max_iter": 5},
    "Krasanakis et al.": {"n_evaluations": 5},
    "AdaFair": {"n_estimators": 5},
    "AdaFair NoCumul": {"n_estimators": 5},
    "ExponentiatedGradient": {"n_rounds": 3, "max_iter": 5},
    "ThresholdOptimizer": {"max_iter": 5},
}
NEEDS_GROUPS = [name for name in METHODS if name not in ("AdaBoost", "SMOTEBoost")]


def make(name, **parameters):
    method = METHODS[name]
    return method.make(method.notions[0], **{**QUICK[name], "random_state": 0, **parameters})


def predict(name, model, X, group):
    return model.predict(X, sensitive_features=group) if METHODS[name].predict_needs_group else model.predict(X)


@pytest.mark.filterwarnings("ignore:.*converge.*")
@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_from_mixed_columns(name):
    X, y, group = make_people(400)
    labels = np.array(["no", "yes"])[y]
    model = make(name).fit(X, labels, sensitive_features=group)
    predicted = predict(name, model, X, group)
    assert set(predicted) <= {"no", "yes"}
    assert metrics.error_rate(labels, predicted) < 0.45
    again = predict(name, clone(model).fit(X, labels, sensitive_features=group), X, group)
    np.testing.assert_array_equal(predicted, again)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(predicted, predict(name, thawed, X, group))
    new = X.iloc[:5].assign(job=pd.Categorical(["queen"] * 5), skill=np.nan)
    assert len(predict(name, model, new, group[:5])) == 5


@pytest.mark.parametrize("name", NEEDS_GROUPS)
def test_every_fair_method_asks_for_groups(name, people):
    X, y, _ = people
    with pytest.raises(ValueError, match="needs the sensitive attribute"):
        make(name).fit(X, y)
    with pytest.raises(ValueError, match="only one group in the sensitive attribute, 'a'"):
        make(name).fit(X, y, sensitive_features=["a"] * len(y))


@pytest.mark.filterwarnings("ignore:.*converge.*")
@pytest.mark.parametrize("name", METHODS)
def test_a_fit_that_fails_leaves_nothing_to_predict_with(name, people):
    X, y, group = people
    model = make(name).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(300), sensitive_features=group)
    with pytest.raises(NotFittedError):
        predict(name, model, X, group)


@pytest.mark.parametrize("name", METHODS)
def test_bad_input_has_the_same_errors_everywhere(name, people):
    X, y, group = people
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        make(name).fit(X, np.arange(len(y)) % 3, sensitive_features=group)
    with pytest.raises(ValueError, match="X has 300 rows, y 299"):
        make(name).fit(X, y[:-1], sensitive_features=group)
    with pytest.raises(ValueError, match="column 'skill' of X contains infinity"):
        make(name).fit(X.assign(skill=np.inf), y, sensitive_features=group)


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].predict_needs_group])
def test_methods_that_decide_by_group_say_so(name, people):
    X, y, group = people
    model = make(name).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match="decides by group: pass sensitive_features"):
        model.predict(X)
    with pytest.raises(ValueError, match="group 'c' does not occur in the training data"):
        model.predict(X, sensitive_features=["c"] * len(y))
    accuracy = np.mean(model.predict(X, sensitive_features=group) == y)
    assert model.score(X, y, sensitive_features=group) == pytest.approx(accuracy)


def test_the_papers_parameters_are_the_defaults():
    smote = get_method("SMOTEBoost")
    assert [smote.make(dataset=d).n_synthetic for d in ("compas", "adult", "bank", "kdd")] == [2, 100, 100, 500]
    assert get_method("AdaFair NoCumul").make("equal_opportunity").cumulative is False
    assert get_method("AdaFair").make("equal_opportunity", n_jobs=2).notion == "equal_opportunity"
    assert get_method("AdaBoost").make().n_estimators == 200
    assert sum(method.in_paper for method in METHODS.values()) == 8


def test_a_method_is_made_for_its_notions_only():
    with pytest.raises(ValueError, match="FAE is not for 'statistical_parity', only for equal_opportunity"):
        get_method("FAE").make("statistical_parity")
    with pytest.raises(ValueError, match="unknown dataset 'compass'; known are adult, bank, compas, kdd"):
        get_method("SMOTEBoost").make(dataset="compass")
    with pytest.raises(ValueError, match="unknown method 'Ada'; known are AdaBoost, SMOTEBoost"):
        get_method("Ada")
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        get_method("AdaBoost").make(depth=3)


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("notion", ["statistical_parity", "equal_opportunity", "equalized_odds"])
@pytest.mark.parametrize("kind", [ExponentiatedGradientClassifier, ThresholdOptimizerClassifier])
def test_fairlearns_methods_reduce_the_violation(kind, notion):
    X, y, group = make_people(1500)
    X = X.assign(group=group)
    fair = kind(notion, max_iter=10).fit(X, y, sensitive_features=group)
    predicted = (
        fair.predict(X) if kind is ExponentiatedGradientClassifier else fair.predict(X, sensitive_features=group)
    )
    plain = fair._base_estimator().fit(fair._matrix(X), y).predict(fair._matrix(X))
    before, after = (metrics.violation(y, p, sensitive_features=group, notion=notion) for p in (plain, predicted))
    assert after < before


@pytest.mark.parametrize("name", ["ExponentiatedGradient", "ThresholdOptimizer"])
def test_fairlearns_methods_refuse_weights_and_say_what_to_install(name, people, monkeypatch):
    X, y, group = people
    with pytest.raises(ValueError, match="takes no sample_weight"):
        make(name).fit(X, y, sensitive_features=group, sample_weight=np.arange(300.0) + 1)
    monkeypatch.setitem(sys.modules, "fairlearn", None)
    with pytest.raises(ImportError, match=r"pip install .*fairlearn>="):
        make(name).fit(X, y, sensitive_features=group)


class Majority(Baseline):
    """The least a baseline can be."""

    _result = "data_"

    def _train(self, data):
        self.data_ = data


def test_the_base_class_drops_rows_without_weight(people):
    X, y, group = people
    weights = np.where(group == "a", 1.0, np.linspace(0, 1, 300))
    weights[5:20] = 0
    data = Majority().fit(X, y, sensitive_features=group, sample_weight=weights).data_
    assert len(data.X) == len(data.y) == len(data.group) == (weights > 0).sum()
    with pytest.raises(ValueError, match="only class 1 has rows of positive sample_weight"):
        Majority().fit(X, y, sensitive_features=group, sample_weight=(y == 1) * 1.0)
    with pytest.raises(ValueError, match="only one group in the sensitive attribute, 'b'"):
        Majority().fit(X, y, sensitive_features=group, sample_weight=(group == "b") * 1.0)
    with pytest.raises(ValueError, match="Majority compares two groups, got 3: 'a', 'b', 'c'"):
        Majority().fit(X, y, sensitive_features=np.where(np.arange(300) < 9, "c", group))
