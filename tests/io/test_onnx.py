"""Models as ONNX graphs: what onnxruntime says of them is what they say."""

import json
import sys
import warnings
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, FitWarning, ParityBoostClassifier, explain, onnx_inputs
from parityboost.datasets import load_adult
from parityboost.paper.baselines import SMOTEBoostClassifier


def fitted(people, kind=AdaFairClassifier, **options):
    X, y, group = people
    return kind(**{"n_estimators": 20, "random_state": 0} | options).fit(X, y, sensitive_features=group)


def run(graph, feed):
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities", "score"], feed)


def assert_same(model, X, **options):
    graph = model.to_onnx(**options)
    onnx.checker.check_model(graph, full_check=True)
    label, probabilities, score = run(graph, onnx_inputs(model, X))
    assert label.tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(score, model.decision_function(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-12)
    assert probabilities.shape == (len(X), 2)
    return graph, label


@pytest.mark.parametrize(
    "options", [{}, {"threshold": "auto", "class_weight": "balanced"}, {"max_bins": 50}, {"max_depth": 2}]
)
def test_adult_is_predicted_the_same(options):
    adult = load_adult()
    model = AdaFairClassifier(n_estimators=200, random_state=0, **options)
    model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    graph, label = assert_same(model, adult.data)
    assert label.dtype == np.int64
    assert [i.name for i in graph.graph.input] == list(adult.data.columns)
    # No more than the learners need is compared; tables of pairs have some cells for each tree.
    per_learner = 3 if model.max_depth == 1 else 20
    assert sum(np.prod(c.dims, dtype=int) for c in graph.graph.initializer) < per_learner * model.theta_


def test_a_column_of_rare_categories_alone_tells_what_is_missing():
    """None of its categories has rows enough: they are all *other*, which is not missing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    rare = pd.Series([None if label and k % 5 else 2**53 + k % 20 for k, label in enumerate(y)], dtype=object)
    X = pd.DataFrame({"rare": rare, "number": rng.normal(size=60)})
    model = AdaFairClassifier(
        "none", n_estimators=4, category_splits="sets", categorical_features=["rare"], validation_fraction=None
    ).fit(X, y)
    assert model.glass_box_.columns[0].categories == () and model.feature_importances_[0] > 0
    assert_same(model, X)


@pytest.mark.parametrize("kind", [AdaBoostClassifier, SMOTEBoostClassifier])
def test_baselines_of_stumps_are_predicted_the_same(people, kind):
    assert_same(fitted(people, kind), people[0])


@pytest.mark.parametrize("opset", [13, 15, 17, 21])
def test_several_opsets_work(people, opset):
    graph, _ = assert_same(fitted(people), people[0], opset=opset)
    assert {o.domain: o.version for o in graph.opset_import} == {"": opset, "ai.onnx.ml": 2}
    assert graph.ir_version <= (8 if opset < 19 else 10)


@pytest.mark.parametrize("opset", [12, 10_000])
def test_an_unknown_opset_is_refused(people, opset):
    with pytest.raises(ValueError, match=rf"opset must be from 13 to \d+, .* got {opset}"):
        fitted(people).to_onnx(opset=opset)


# --- Any column, any value ------------------------------------------------------------------------

NUMBERS = {
    "floats": st.floats(allow_infinity=False),
    "few floats": st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-310, 1.0, np.nextafter(1.0, 2), 1.7e308, np.nan]),
    "integers": st.integers(-(2**63), 2**63 - 1),
    "small integers": st.integers(-2, 2),
    "booleans": st.booleans(),
}
TEXT = st.text(st.characters(codec="utf8", exclude_characters="\0"), max_size=3)
CATEGORIES = {
    "text": TEXT,
    "few texts": st.sampled_from(["", "a", "b", "missing 0"]),
    "mixed": st.sampled_from(["", 1, 2.5, "2.5x", "a"]),
    "categories": st.sampled_from(["x", "y", "z"]),
    "whole categories": st.integers(-3, 3),
    "float categories": st.floats(allow_nan=False) | st.sampled_from([np.inf, 0.5]),
    "yes or no": st.booleans(),
    "intervals": st.sampled_from(list(pd.interval_range(0, 3))),
    "times": st.sampled_from(list(pd.date_range("2020", periods=3, tz="UTC"))),
}
LABELS = [[0, 1], [-5, 2**40], ["no", "ja ü"], [False, True], [1.0, 2.0]]


def make_column(kind, values):
    if kind in NUMBERS:
        return pd.Series(values)
    if kind in ("text", "few texts", "mixed"):
        return pd.Series(values, dtype=object)
    return pd.Series(pd.Categorical(values))


@st.composite
def tables(draw):
    """Training rows, and rows to predict that hold other values too, some of them missing."""
    n_rows, n_new = draw(st.integers(8, 30)), draw(st.integers(1, 10))
    train, new, categorical = {}, {}, []
    kinds = draw(st.lists(st.sampled_from([*NUMBERS, *CATEGORIES]), min_size=1, max_size=5))
    for j, kind in enumerate(kinds):
        values = (NUMBERS | CATEGORIES)[kind]
        missing = kind in CATEGORIES and draw(st.booleans())
        values = values | st.none() if missing else values
        name = f"{kind} {j}"
        train[name] = make_column(kind, draw(st.lists(values, min_size=n_rows, max_size=n_rows)))
        new[name] = make_column(kind, draw(st.lists(values, min_size=n_new, max_size=n_new)))
        if kind in CATEGORIES or (kind in ("small integers", "booleans") and draw(st.booleans())):
            categorical.append(name)
    y = np.arange(n_rows) % 2 if draw(st.booleans()) else np.arange(n_rows) < n_rows // 3
    return pd.DataFrame(train), y.astype(int), pd.DataFrame(new), categorical


@pytest.mark.no_cover
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])
@given(tables(), st.sampled_from(LABELS), st.sampled_from([1, 2]))
def test_every_kind_of_column_is_predicted_the_same(table, labels, depth):
    X, y, new, categorical = table
    labels = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    model = AdaFairClassifier(
        "none", n_estimators=10, max_depth=depth, categorical_features=categorical, validation_fraction=None
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            model.fit(X, labels[y], sensitive_features=np.arange(len(y)) // 2 % 2)
    except ValueError as error:
        assume("no better than chance" not in str(error))
        raise
    for rows in (X, new):
        try:
            model.predict(rows)
        except ValueError as error:  # numbers alone where there was text in training
            assert "in training" in str(error)
            with pytest.raises(ValueError, match="in training"):
                onnx_inputs(model, rows)
            continue
        assert_same(model, rows)


def test_missing_and_unseen_values_are_what_they_are_in_training(people):
    X, y, group = people
    X = X.assign(job=X["job"].where(X["skill"] > -0.3), number=np.where(X["skill"] > 0, 7, 3))
    model = fitted((X, y, group), categorical_features=["job", "city", "number"])
    new = pd.DataFrame(
        {
            "skill": [np.nan, np.nan, 0.3],
            "years": pd.array([None, 3, 4], dtype="Int64"),
            "job": ["smith", None, "astronaut"],
            "city": pd.Categorical(["y", None, "Atlantis"]),
            "member": pd.array([True, None, False], dtype="boolean"),
            "number": [3.0, np.nan, 5.0],
        }
    )
    assert_same(model, new)
    graph = model.to_onnx()
    feed = onnx_inputs(model, new)
    assert feed["job"].tolist() == [["smith"], [""], ["astronaut"]]
    one = run(graph, feed)[2]
    assert feed["number"].dtype == np.float64
    feed["job"][1:] = "something else"
    feed["city"][1:] = "?"
    feed["number"] = np.array([[3.0], [np.nan], [np.nan]])
    np.testing.assert_array_equal(run(graph, feed)[2], one)


def test_an_empty_text_that_is_a_category_is_not_missing():
    y = np.arange(40) % 2
    X = pd.DataFrame({"text": np.where(y == 1, "", "missing 0").astype(object)})
    X.loc[::7, "text"] = None
    model = AdaBoostClassifier(5).fit(X, y)
    graph, _ = assert_same(model, X)
    kinds = [i.type.tensor_type.elem_type for i in graph.graph.input]
    assert kinds == [onnx.TensorProto.STRING]
    assert onnx_inputs(model, X)["text"][0, 0] == "missing 1"


def test_text_that_only_reads_like_a_category_is_unseen():
    y = np.arange(40) % 2
    X = pd.DataFrame({"mixed": np.array(["a", 1], dtype=object)[y]})
    model = AdaBoostClassifier(5).fit(X, y)
    assert_same(model, pd.DataFrame({"mixed": np.array(["a", 1, "1", 1.0, True, None, "b"], dtype=object)}))


def test_arrays_and_columns_that_held_nothing_work():
    X, y, _ = make_people(200)
    X = np.column_stack([X["skill"], np.full(200, np.nan), X["years"]])
    model = AdaBoostClassifier(10).fit(X, y)
    assert list(onnx_inputs(model, X)) == ["x0", "x1", "x2"]
    assert_same(model, X)
    X[::2, 1] = 5
    assert_same(model, X)


def test_a_model_that_says_the_same_of_all_is_a_graph_too(people):
    model = fitted(people)
    # What a model with one leaf for all is like.
    model._rounds = replace(model._rounds, learners=[tree._replace(votes=(1,) * 4) for tree in model.estimators_])
    assert_same(model, people[0])


def test_names_that_are_taken_get_a_number():
    rng = np.random.default_rng(0)
    names = ["label", "score", "Less_1", "constant_0", "label_2", "", "x"]
    X = pd.DataFrame(rng.normal(size=(60, len(names))), columns=names)
    model = AdaBoostClassifier(20).fit(X, X.sum(axis=1) > 0)
    graph, _ = assert_same(model, X)
    expected = ["label_2", "score_2", "Less_1", "constant_0", "label_2_2", "x", "x_2"]
    assert [i.name for i in graph.graph.input] == expected


@pytest.mark.parametrize("column", ["city", "job", "member"])
def test_thresholds_per_group_are_part_of_the_graph(column):
    X, y, _ = make_people(400)
    model = AdaFairClassifier(
        n_estimators=20, threshold="per_group", sensitive_feature=column, validation_fraction=None
    ).fit(X, y)
    assert_same(model, X)
    model.set_threshold(np.linspace(-1, 0.3, len(model.groups_)))
    assert_same(model, X)
    assert_same(model, X.assign(**{column: None}))
    assert_same(model.set_threshold(0.7).set_theta(3), X)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "options",
    [
        {"sensitive_feature": ["city", "member"]},
        {"sensitive_feature": ["job", "city", "member"]},
        {"sensitive_feature": "years", "bands": {"years": [7, 15]}},
        {"sensitive_feature": ["years", "city"], "bands": {"years": [7, 15.5]}},
        {"sensitive_feature": "skill", "bands": {"skill": [0]}, "missing_group": "unknown"},
        {"sensitive_feature": ["hole", "skill"], "bands": {"skill": [0.25]}, "missing_group": "unknown"},
        {"sensitive_feature": ["flag", "city"], "missing_group": "unknown"},
    ],
)
@pytest.mark.parametrize("max_depth", [1, 2])
def test_thresholds_of_crossed_and_banded_groups_are_part_of_the_graph(options, max_depth):
    X, y, _ = make_people(500)
    X = X.assign(hole=X["city"].where(X.index % 4 > 0), flag=(X["years"] > 9).astype(float).where(X.index % 5 > 0))
    model = AdaFairClassifier(
        n_estimators=8, threshold="per_group", validation_fraction=None, max_depth=max_depth, **options
    ).fit(X, y)
    model.set_threshold(np.linspace(-0.4, 0.6, len(model.groups_)))
    assert_same(model, X)
    odd = X.assign(
        city="elsewhere", years=X["years"] + 0.5, hole="nowhere", flag=0.5, skill=X["skill"].where(X.index > 9)
    )
    assert_same(model, odd)  # none of the groups, where it cannot be cut
    at_an_edge = X.assign(years=7, skill=0.25)
    assert_same(model, at_an_edge)


@pytest.mark.parametrize("kind", ["text", "numbers", "bands", "crossed"])
def test_groups_that_are_no_column_are_an_input(kind):
    X, y, group = make_people(300)
    given = {
        "text": pd.Series(group, name="g").where(X.index % 6 > 0),
        "numbers": (group == "a").astype(float),
        "bands": X[["years"]].to_numpy() / 2,
        "crossed": pd.DataFrame({"g": group, "age": X["years"]}),
    }[kind]
    bands = {"bands": {"sensitive_features": [4, 9]}, "crossed": {"age": [12]}}.get(kind)
    missing = "?" if kind == "text" else None
    model = AdaFairClassifier(n_estimators=8, threshold="per_group", bands=bands, missing_group=missing, random_state=0)
    data = X.rename(columns={"skill": "sensitive_features"}) if kind == "numbers" else X.drop(columns="years")
    model.fit(data, y, sensitive_features=given)
    model.set_threshold(np.linspace(-0.4, 0.6, len(model.groups_)))
    names = {"crossed": ["s0", "s1"], "numbers": ["sensitive_features_2"]}.get(kind, ["sensitive_features"])
    graph = model.to_onnx()
    assert [i.name for i in graph.graph.input][data.shape[1] :] == names
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    label, _, score = session.run(None, onnx_inputs(model, data, sensitive_features=given))
    np.testing.assert_array_equal(label, model.predict(data, sensitive_features=given))
    np.testing.assert_array_equal(score, model.decision_function(data, sensitive_features=given))
    with pytest.raises(ValueError, match="the groups are no column of X: pass them too"):
        onnx_inputs(model, data)
    with pytest.raises(ValueError, match=r"sensitive_features must have 300 rows and . columns"):
        onnx_inputs(model, data, sensitive_features=X[["years", "years", "years"]])


# --- What is refused ------------------------------------------------------------------------------


def test_infinite_numbers_are_refused_as_by_predict(people):
    model = fitted(people)
    X = people[0].assign(skill=np.inf)
    with pytest.raises(ValueError, match="column 'skill' of X contains infinity"):
        onnx_inputs(model, X)


def test_what_has_no_graph_is_refused(people):
    X, y, group = people
    with pytest.raises(NotFittedError):
        AdaFairClassifier().to_onnx()
    with pytest.raises(NotFittedError):
        onnx_inputs(AdaFairClassifier(), X)
    other = fitted((X[["years"]], y, group), estimator=DecisionTreeClassifier(max_depth=1))
    assert not hasattr(other, "to_onnx")
    for call in (lambda: other.glass_box_, lambda: onnx_inputs(other, X[["years"]])):
        with pytest.raises(AttributeError, match="only a model of stumps"):
            call()
    model = fitted((X, np.array([0, 2**64 - 1], dtype=np.uint64)[y], group))
    with pytest.raises(ValueError, match="ONNX has no type for the labels"):
        model.to_onnx()
    large = fitted((X.assign(years=2**60 + y), y, group), categorical_features=["years", "job", "city"])
    with pytest.raises(ValueError, match=r"column 'years': the category \d+ is too large for ONNX"):
        large.to_onnx()
    twins = fitted((X.assign(job=np.array([1, "1"], dtype=object)[y]), y, group))
    with pytest.raises(ValueError, match="column 'job': two categories read '1'"):
        twins.to_onnx()


def unused(X, y, group, name, values):
    """A model of another column, with a column that says nothing."""
    X = X.assign(**{name: np.array(values, dtype=object)[np.arange(len(X)) % len(values)]})
    model = fitted((X, y, group), n_estimators=1)
    assert model.estimators_[0].root.feature != X.columns.get_loc(name)
    return model, X


TWINS, NO_UNICODE = ([1, "1"], "two categories read '1'"), (["a", 1, "\ud800"], r"'\\ud800' cannot be written as UTF-8")


@pytest.mark.parametrize("values, problem", [TWINS, NO_UNICODE])
def test_categories_of_a_column_that_is_not_used_are_checked_too(people, values, problem):
    model, X = unused(*people, "other", values)
    for call in (model.to_onnx, lambda: onnx_inputs(model, X)):
        with pytest.raises(ValueError, match=f"column 'other'.*{problem}"):
            call()


def test_text_that_is_no_unicode_is_unseen(people):
    X, y, group = people
    model = fitted(people)
    for name in ("job", "city"):
        column = X[name].astype(object)
        column.iloc[::3] = "\ud800"
        assert_same(model, X.assign(**{name: column}))
    named = X.set_axis(pd.Index([*X.columns[:-1], "\udfff"], dtype=object), axis=1)
    model = fitted((named, y, group), n_estimators=1)
    assert model.estimators_[0].root.feature != 4
    with pytest.raises(ValueError, match=r"column: '\\udfff' cannot be written as UTF-8"):
        model.to_onnx()


def test_a_missing_onnx_is_explained(people, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'to_onnx needs onnx: pip install "onnx>='):
        fitted(people).to_onnx()


def test_the_graph_is_written(people, tmp_path):
    model = fitted(people)
    graph = model.to_onnx(tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == graph
    assert list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert [(o.name, o.type) for o in session.get_outputs()] == [
        ("label", "tensor(int64)"),
        ("probabilities", "tensor(double)"),
        ("score", "tensor(double)"),
    ]
    assert {i.name: i.type for i in session.get_inputs()} == {
        "skill": "tensor(double)",
        "years": "tensor(double)",
        "job": "tensor(string)",
        "city": "tensor(string)",
        "member": "tensor(double)",
    }


def test_a_category_beyond_all_floats_is_unseen(people):
    X, y, group = people
    X = X[["skill"]].assign(job=pd.Categorical([k % 3 for k in range(len(X))]))
    model = AdaFairClassifier(n_estimators=3, random_state=0).fit(X, y, sensitive_features=group)
    codes = [3, *X["job"].tolist()[1:]]
    X = X.assign(job=pd.Categorical.from_codes(codes, pd.Index([0, 1, 2, 10**400], dtype=object)))
    assert onnx_inputs(model, X)["job"][0, 0] == 3  # none of the categories, and not missing
    assert onnx_inputs(model, X)["job"][1, 0] == 1


def test_a_category_of_numbers_that_is_taken_as_numbers():
    X, y, group = make_people(200)
    X = X.assign(years=pd.Categorical(X["years"].where(X["years"] > 3)))[["skill", "years"]]
    model = fitted((X, y, group), categorical_features=None)
    assert_same(model, X)


def test_a_group_beyond_all_floats_is_refused_by_its_name():
    X, y, group = make_people(200)
    groups = np.array([0 if g == "a" else 10**400 for g in group], dtype=object)
    model = fitted((X, y, groups), threshold="per_group")
    with pytest.raises(
        ValueError, match="column 'sensitive_features': the category 10000000000000000000 is too large for ONNX"
    ):
        model.to_onnx()


@pytest.mark.parametrize("options", [{}, {"max_depth": 2}, {"threshold": "per_group", "sensitive_feature": "city"}])
def test_contributions_are_an_output_whose_names_are_in_the_graph(options):
    X, y, group = make_people(300)
    model = AdaFairClassifier(n_estimators=20, random_state=0, **options)
    model.fit(X, y, sensitive_features=None if "sensitive_feature" in options else group)
    graph = model.to_onnx(contributions=True)
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    score, parts = session.run(["score", "contributions"], onnx_inputs(model, X))
    expected = explain.contributions(model, X)
    np.testing.assert_array_equal(parts, expected.to_numpy())
    np.testing.assert_array_equal(parts.sum(axis=1), score)
    names = {item.key: item.value for item in graph.metadata_props}["contributions"]
    assert json.loads(names) == list(expected)
    assert "contributions" not in [output.name for output in model.to_onnx().graph.output]


def test_contributions_of_an_average_with_thresholds_per_group_are_an_output():
    X, y, _ = make_people(800)
    model = ParityBoostClassifier(
        n_bags=2, n_estimators=10, threshold="per_group", sensitive_feature="city", random_state=0
    ).fit(X, y)
    session = onnxruntime.InferenceSession(model.to_onnx(contributions=True).SerializeToString())
    outputs = session.run(["score", "contributions", "probabilities"], onnx_inputs(model, X))
    np.testing.assert_array_equal(outputs[0], model.decision_function(X))
    np.testing.assert_array_equal(outputs[1], explain.contributions(model, X).to_numpy())
    np.testing.assert_allclose(outputs[2], model.predict_proba(X), rtol=0, atol=1e-12)
