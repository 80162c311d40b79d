"""Formats that others use: skops and MLflow give back models of every class that predict the same, to the last bit."""

import importlib
import os
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import parityboost
from conftest import make_people, make_wide
from parityboost import SKOPS_TYPES, AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, explain
from parityboost._base import FairClassifier
from parityboost.notions import StatisticalParity
from parityboost.paper import baselines

FAIR = {"n_estimators": 6, "random_state": 0}
CROSSED = {"sensitive_feature": ["group", "city"]}
BANDS = {"sensitive_feature": "years", "bands": {"years": [10, 20]}, "missing_group": "?"}
SETS = {"category_splits": "sets", "max_bins": 2}  # three jobs share two codes
MODELS = {
    "AdaFair": AdaFairClassifier(**FAIR, sensitive_feature="group"),
    "equal_opportunity": AdaFairClassifier("equal_opportunity", **FAIR, sensitive_feature="group"),
    "predictive_equality": AdaFairClassifier("predictive_equality", **FAIR, sensitive_feature="group"),
    "parity": AdaFairClassifier(StatisticalParity(boost="both"), **FAIR, sensitive_feature="group", keep=0.5),
    "per group": AdaFairClassifier(**FAIR, sensitive_feature="group", threshold="per_group"),
    "crossed": AdaFairClassifier(**FAIR, **CROSSED, threshold="per_group"),
    "bands": AdaFairClassifier(**FAIR, **BANDS, threshold="per_group"),
    "pairs": AdaFairClassifier(**FAIR, sensitive_feature="group", max_depth=2),
    "estimator": AdaFairClassifier(estimator=DecisionTreeClassifier(max_depth=2), **FAIR, sensitive_feature=2),
    "recommended": ParityBoostClassifier(n_bags=2, **FAIR, sensitive_feature="group"),
    "dial": ParityBoostClassifier(n_bags=2, **FAIR, dial=True, sensitive_feature="group", threshold="per_group"),
    "sets": AdaFairClassifier(**FAIR, sensitive_feature="group", max_depth=2, **SETS),
    "sets, averaged": ParityBoostClassifier(n_bags=2, **FAIR, sensitive_feature="group", **SETS),
    "AdaBoost": AdaBoostClassifier(6),
    "SMOTEBoost": baselines.SMOTEBoostClassifier(6, random_state=0),
    "FAE": baselines.FAEClassifier(n_estimators=3, random_state=0),
    "SDB": baselines.AdaBoostSDBClassifier(n_estimators=3, random_state=0),
    "Zafar": baselines.ZafarClassifier(),
    "Krasanakis": baselines.KrasanakisClassifier(),
}


@pytest.fixture(scope="module")
def data():
    X, y, group = make_people(300)
    return X.assign(group=group), y


def fitted(name, data):
    """A model, its data, and what prediction takes besides."""
    X, y = data
    if name == "estimator":  # it takes numbers only
        X = np.column_stack([X["skill"].fillna(0), X["years"], X["group"] == "a"]).astype(float)
        return MODELS[name].fit(X, y), X, {}
    if MODELS[name].get_params().get("sensitive_feature") is not None:
        return MODELS[name].fit(X, y), X, {}
    model = MODELS[name].fit(X, y, sensitive_features=X["group"])
    return model, X, {"sensitive_features": X["group"]} if name in ("FAE", "SDB") else {}


def scores(model, X, options):
    method = getattr(model, "decision_function", model.predict)
    try:
        return method(X, **options)
    except ValueError:  # a boundary that shifts with the group
        return method(X, sensitive_features=X["group"])


@pytest.mark.no_cover
@pytest.mark.parametrize("name", MODELS)
def test_skops_gives_the_same_model_back(data, name):
    skops = pytest.importorskip("skops.io")
    model, X, options = fitted(name, data)
    if name == "AdaFair":
        model.frontier()  # what it found is kept
    stored = skops.dumps(model)
    trusted = [*SKOPS_TYPES, *(["sklearn.tree._tree.Tree"] if name == "estimator" else [])]
    assert set(skops.get_untrusted_types(data=stored)) <= set(trusted)
    loaded = skops.loads(stored, trusted=trusted)
    np.testing.assert_array_equal(scores(loaded, X, options), scores(model, X, options))
    assert loaded.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    if isinstance(model, FairClassifier):
        assert loaded.history_.equals(model.history_)
        assert loaded.groups_.tolist() == model.groups_.tolist()
        if name == "AdaFair" or hasattr(model, "choose"):
            assert loaded.frontier().equals(model.frontier())
        elif name != "estimator":
            with pytest.raises(ValueError, match="holds no validation data"):
                loaded.frontier()
            assert len(loaded.frontier(X, data[1], sensitive_features=None)) > 0


def test_every_class_that_skops_is_said_to_store_is_tried():
    public = [getattr(room, name) for room in (parityboost, baselines) for name in room.__all__]
    classes = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    of_fairlearn = {baselines.ExponentiatedGradientClassifier, baselines.ThresholdOptimizerClassifier}
    assert {type(model) for model in MODELS.values()} == classes - of_fairlearn


def test_skops_stores_both_ends_of_the_dial(data):
    skops = pytest.importorskip("skops.io")
    model, X, _ = fitted("dial", data)
    loaded = skops.loads(skops.dumps(model), trusted=SKOPS_TYPES)
    for fairness in (0.0, 0.7, 1.0):
        scored = (m.choose(fairness=fairness).decision_function(X) for m in (loaded, model))
        np.testing.assert_array_equal(*scored)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_skops_stores_no_ones_data(data):
    skops = pytest.importorskip("skops.io")
    X, y = data
    model = AdaFairClassifier(**FAIR, validation_fraction=0.5).fit(X, y, sensitive_features=X["group"])
    assert len(model._selection) > 50
    loaded = skops.loads(skops.dumps(model), trusted=SKOPS_TYPES)
    assert len(loaded._selection) == 0 and loaded._selection.margins is None


@pytest.mark.parametrize("name", ["AdaFair", "pairs", "per group", "dial"])
def test_a_glass_box_is_pickled_without_what_was_worked_out_from_it(data, name):
    model, X, _ = fitted(name, data)
    box = model.glass_box_
    before = pickle.dumps(box)
    expected = box.decision_function(X)
    box.feature_effects()
    assert pickle.dumps(box) == before
    again = pickle.loads(before)
    np.testing.assert_array_equal(again.decision_function(X), expected)
    assert again.about.groups.tolist() == box.about.groups.tolist()


def test_pipelines_and_searches_go_through_skops(data):
    skops = pytest.importorskip("skops.io")
    X, y = data
    pipeline = make_pipeline(FunctionTransformer(), AdaFairClassifier(**FAIR, sensitive_feature="group"))
    search = GridSearchCV(pipeline, {"adafairclassifier__c": [0.0, 1.0]}, cv=2).fit(X, y)
    loaded = skops.loads(skops.dumps(search.best_estimator_), trusted=SKOPS_TYPES)
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))


def test_every_trusted_type_exists():
    for name in SKOPS_TYPES:
        module, _, attribute = name.rpartition(".")
        if module.startswith("parityboost.dask"):
            pytest.importorskip("distributed")
        assert hasattr(importlib.import_module(module), attribute), name


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what MLflow warns of is its own
def test_mlflow_gives_the_same_models_back(data, tmp_path, monkeypatch):
    pytest.importorskip("skops")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.chdir(tmp_path)
    mlflow = pytest.importorskip("mlflow", reason="mlflow or mlflow-skinny is not installed")
    sklearn_flavor = importlib.import_module("mlflow.sklearn")
    for name in MODELS:
        model, X, options = fitted(name, data)
        trusted = [*SKOPS_TYPES, *(["sklearn.tree._tree.Tree"] if name == "estimator" else [])]
        for keywords in (
            {"serialization_format": "skops", "skops_trusted_types": trusted},
            {"serialization_format": "cloudpickle"},
        ):
            with mlflow.start_run():
                info = sklearn_flavor.log_model(model, name="model", pip_requirements=["parityboost"], **keywords)
            loaded = sklearn_flavor.load_model(info.model_uri)
            np.testing.assert_array_equal(scores(loaded, X, options), scores(model, X, options), err_msg=name)
    assert os.listdir(tmp_path / "runs")  # noqa: PTH208


@pytest.mark.parametrize("name", [name for name in MODELS if isinstance(MODELS[name], FairClassifier)])
def test_whatever_can_be_saved_can_be_exported(data, name, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X, _ = fitted(name, data)
    try:
        model.save(tmp_path / "model.json")
    except parityboost.ModelFileError as error:
        assert name == "estimator" and "only a model of native trees" in str(error)
        return
    graph = model.to_onnx().SerializeToString()
    session = onnxruntime.InferenceSession(graph)
    label, _, score, *_ = session.run(None, parityboost.onnx_inputs(model, X))  # an average has calibrated ones too
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_array_equal(score, model.decision_function(X))


@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore:column 'code' has")  # a few are rarer than the others
@pytest.mark.parametrize("n_categories", [300, 5_000])
@pytest.mark.parametrize("kind", [ParityBoostClassifier, AdaFairClassifier])
def test_a_wide_column_comes_back_and_is_explained_in_full(kind, n_categories, tmp_path):
    """More categories than fit into a byte: all are kept, each has its score, and other libraries agree."""
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y, group = make_wide(100 * n_categories, n_categories)
    bags = {"n_bags": 2} if kind is ParityBoostClassifier else {"category_splits": "sets", "max_depth": 2}
    model = kind(n_estimators=5, random_state=0, **bags).fit(X, y, sensitive_features=group)
    column = model.glass_box_.binner.columns[0]
    assert column.shared is not None and 254 < len(column.categories) <= n_categories
    assert len(column.categories) > 0.8 * n_categories
    part = X.iloc[:: len(X) // 500]
    expected = model.decision_function(part)
    model.save(tmp_path / "model.json")
    for loaded in (parityboost.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert loaded.glass_box_.binner.columns[0] == column
        np.testing.assert_array_equal(loaded.decision_function(part), expected)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    np.testing.assert_array_equal(session.run(["score"], parityboost.onnx_inputs(model, part))[0], expected)
    shape = explain.shape_function(model, "code")
    assert shape.categories == column.categories and len(shape.scores) == len(column.categories)
    assert 1 < len(set(shape.scores)) <= column.n_bins
    of_code = dict(zip(column.shared, shape.scores, strict=True))
    assert shape.scores == tuple(of_code[code] for code in column.shared)  # who shares a code has the same score
    assert (shape.at(list(column.categories)) == np.array(shape.scores)).all()
