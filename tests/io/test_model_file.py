"""Models to a file and back: nothing is lost, and no file can do harm."""

import itertools
import json
import os
import random
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

import parityboost
from conftest import make_people
from fuzz.model_files import frame_for, written
from parityboost import AdaBoostClassifier, AdaFairClassifier, ModelFileError, explain, load
from parityboost._io import limits
from parityboost._io.json_values import decode_distinct, decode_value, encode_value
from parityboost._io.strict_json import check_checksum
from parityboost._table.binning import CategoricalColumn
from parityboost._table.reading import Labels
from parityboost.notions import EqualOpportunity, FairnessNotion, StatisticalParity
from parityboost.paper.baselines import SMOTEBoostClassifier


def fitted(people, kind=AdaFairClassifier, **options):
    X, y, group = people
    return kind(**{"n_estimators": 12, "random_state": 0} | options).fit(X, y, sensitive_features=group)


def around(model, folder):
    """The model after a trip to a file."""
    path = folder / "model.json"
    model.save(path)
    return load(path)


def assert_same(loaded, model, X, sensitive_features=None):
    assert type(loaded) is type(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert repr(loaded.get_params()) == repr(model.get_params())
    asked = {"X": X, "sensitive_features": sensitive_features}
    np.testing.assert_array_equal(loaded.decision_function(**asked), model.decision_function(**asked))
    np.testing.assert_array_equal(loaded.predict_proba(**asked), model.predict_proba(**asked))
    predicted = loaded.predict(**asked)
    assert predicted.dtype == model.classes_.dtype
    np.testing.assert_array_equal(predicted, model.predict(**asked))
    stages = (m.staged_decision_function(**asked) for m in (loaded, model))
    for one, other in zip(*stages, strict=True):
        np.testing.assert_array_equal(one, other)
    for name in ("classes_", "groups_"):
        one, other = getattr(loaded, name), getattr(model, name)
        assert one.dtype == other.dtype
        assert list(one) == list(other)
        assert [type(value) for value in one] == [type(value) for value in other]
    assert (loaded.theta_, loaded.n_estimators_) == (model.theta_, model.n_estimators_)
    assert type(loaded.threshold_) is type(model.threshold_)
    np.testing.assert_array_equal(loaded.threshold_, model.threshold_)
    np.testing.assert_array_equal(loaded._group_thresholds, model._group_thresholds)
    assert repr(loaded._about) == repr(model._about)
    assert loaded.estimators_ == model.estimators_
    assert_same_columns(loaded, model)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    pd.testing.assert_frame_equal(loaded.history_, model.history_, check_exact=True)
    assert loaded.n_features_in_ == model.n_features_in_
    assert hasattr(loaded, "feature_names_in_") == hasattr(model, "feature_names_in_")
    if hasattr(model, "feature_names_in_"):
        np.testing.assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)


def assert_same_columns(loaded, model):
    """Columns are what they were, but for the edges of numbers that nothing in the model refers to."""
    source = model._about.source
    used = {f for learner in model.estimators_ for f in learner.features} | set(source.columns if source else ())
    pairs = zip(loaded.glass_box_.columns, model.glass_box_.columns, strict=True)
    for j, (one, other) in enumerate(pairs):
        assert (type(one), one.name) == (type(other), other.name)
        if isinstance(other, CategoricalColumn):
            assert one == other
            assert [type(value) for value in one.categories] == [type(value) for value in other.categories]
        elif j in used:
            assert one.n_bins == other.n_bins
            np.testing.assert_array_equal(one.edges, other.edges)
        else:
            assert (len(one.edges), one.n_bins) == (0, min(other.n_bins, 1))


# --- There and back -------------------------------------------------------------------------------

OPTIONS = {
    "defaults": {},
    "discrete": {"update": "discrete", "learner_weight": "cost", "cumulative": False, "c": 0.3},
    "threshold": {"threshold": "auto", "notion": "equalized_odds"},
    "notion object": {"notion": EqualOpportunity()},
    "notion with an option": {"notion": StatisticalParity(boost="misclassified")},
    "class weight": {"class_weight": {0: 2.0, 1: 0.5}},
    "numpy parameters": {"n_estimators": np.int64(7), "c": np.float64(0.5), "cumulative": np.bool_(True)},
    "list": {"categorical_features": ["job", "city", "years", "member"]},
    "booleans": {"categorical_features": [False, True, True, True, False]},
    "few bins": {"max_bins": 4, "n_iter_no_change": 3, "n_jobs": 1},
    "no validation": {"validation_fraction": None, "class_weight": "balanced_groups"},
    "trees": {"max_depth": 2},
    "sets": {"category_splits": "sets"},
    "sets that share codes": {"category_splits": "sets", "max_depth": 2, "max_bins": 2},
    "real": {"update": "real", "learning_rate": 0.3},
    "real trees": {"update": "real", "max_depth": 2, "threshold": "auto"},
    "constraints": {"max_depth": 2, "interaction_cst": [("city", "job"), (0, 1)], "monotonic_cst": {"years": 1}},
}


@pytest.mark.no_cover
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_model_comes_back_to_the_last_bit(people, tmp_path, options):
    model = fitted(people, **options)
    loaded = around(model, tmp_path)
    assert_same(loaded, model, people[0])
    again = clone(loaded).fit(people[0], people[1], sensitive_features=people[2])
    np.testing.assert_array_equal(again.decision_function(people[0]), model.decision_function(people[0]))


@pytest.mark.parametrize("kind", [AdaBoostClassifier, SMOTEBoostClassifier])
def test_a_baseline_of_stumps_comes_back_as_what_it_was(people, tmp_path, kind):
    model = fitted(people, kind, n_estimators=6)
    assert_same(around(model, tmp_path), model, people[0])
    assert type(kind.load(tmp_path / "model.json")) is kind
    fitted(people).save(tmp_path / "fair.json")
    with pytest.raises(ModelFileError, match=rf"fair.json: holds a AdaFairClassifier, not a {kind.__name__}"):
        kind.load(tmp_path / "fair.json")
    with pytest.raises(ModelFileError, match=rf"model.json: holds a {kind.__name__}, not a AdaFairClassifier"):
        AdaFairClassifier.load(tmp_path / "model.json")


LABELS = {
    "int8": np.array([-1, 1], dtype=np.int8),
    "uint64": np.array([3, 2**63 + 5], dtype=np.uint64),
    "bool": np.array([False, True]),
    "float32": np.array([1.0, 2.0], dtype=np.float32),
    "text": np.array(["no", "yes, indeed"]),
    "roomy text": np.array(["n", "y"], dtype="<U40"),
    "objects": np.array(["no", "ÿes \U0001f600\n"], dtype=object),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_keep_their_type(people, tmp_path, labels):
    X, y, group = people
    model = fitted((X, labels[y], group))
    assert_same(around(model, tmp_path), model, X)


GROUPS = {
    "integers": lambda group: (group == "b").astype(int),
    "booleans": lambda group: group == "b",
    "floats": lambda group: np.where(group == "b", 0.1 + 0.2, -0.0),
    "objects": lambda group: np.array([np.float32(0.1) if g == "b" else np.str_("a") for g in group], dtype=object),
    "mixed": lambda group: np.array([7 if g == "b" else "a" for g in group], dtype=object),
    "crossed": lambda group: pd.DataFrame({"g": group, "h": np.arange(len(group)) % 2 == 0}),
    "intervals": lambda group: pd.cut(np.where(group == "b", 10, 30), [0, 18.5, 65]),
    "times": lambda group: pd.to_datetime(
        np.where(group == "b", "2020-02-29T00:00:00.000000000", "2021-01-01T12:30:00.000000001")
    ),
}


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
def test_groups_keep_their_type(people, tmp_path, groups):
    X, y, group = people
    model = fitted((X, y, groups(group)))
    assert_same(around(model, tmp_path), model, X)


def odd_frame(n_rows):
    """Columns of every kind that a model can learn from."""
    rng = np.random.default_rng(1)
    pick = rng.integers(3, size=n_rows)
    return pd.DataFrame(
        {
            "text": np.array(["", "ü", "\u2028"], dtype=object)[pick],
            "interval": pd.cut(pick, [-1, 0, 1, 2]),
            "time": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"])[pick]),
            "whole": pd.Categorical(np.array([2**62, 1, -5])[pick]),
            "float": pd.Categorical(np.array([0.1, np.inf, -np.inf])[pick]),
            "yes": pd.Categorical(pick > 0),
            "mixed": np.array(["a", 1, 2.5], dtype=object)[pick],
            "tiny": np.array([5e-324, 1.7e308, -1.7e308])[pick],
            "empty": np.full(n_rows, np.nan),
            "same": np.ones(n_rows),
            "number": rng.normal(size=n_rows),
        }
    )


def test_columns_of_every_kind_come_back(tmp_path):
    X = odd_frame(300)
    group = np.arange(300) % 2
    y = (X["number"] + (X["text"] == "ü") + (X["tiny"] > 0) + X["mixed"].isin(["a"]) > 0.8).astype(int)
    model = fitted((X, y, group), n_estimators=30)
    loaded = around(model, tmp_path)
    assert_same(loaded, model, X)
    functions, expected = explain.shape_functions(loaded), explain.shape_functions(model)
    assert functions == expected  # also of columns that are not used


@pytest.mark.filterwarnings("ignore:column 'x' has 4 categories")
def test_a_column_of_text_and_rare_numbers_still_takes_both(tmp_path):
    X = pd.DataFrame({"x": pd.Series(["a", "b", "a", "b", 1, 2] * 10, dtype=object)})
    model = AdaBoostClassifier(3, max_bins=2).fit(X, [0, 1, 0, 1, 0, 1] * 10)
    loaded = around(model, tmp_path)
    assert loaded.glass_box_.columns[0].categories == ("a", "b")
    alone = [loaded.decision_function(X.iloc[[i]])[0] for i in range(6)]
    np.testing.assert_array_equal(alone, model.decision_function(X)[:6])


def test_arrays_without_names_come_back_without_names(tmp_path):
    X, y, group = make_people(200)
    X = X[["skill", "years", "member"]].to_numpy(dtype=float)
    model = fitted((X, y, group))
    assert_same(around(model, tmp_path), model, X)


def test_an_index_of_columns_becomes_a_list(people, tmp_path):
    model = fitted(people, categorical_features=people[0].columns[2:4])
    assert around(model, tmp_path).categorical_features == ["job", "city"]


def test_infinite_and_undefined_measures_come_back(people, tmp_path):
    model = fitted(people)
    for name, value in {"Z": np.inf, "bound": -np.inf, "error": np.nan}.items():
        model._history[name][0] = value
    pd.testing.assert_frame_equal(around(model, tmp_path).history_, model.history_, check_exact=True)


PER_GROUP = {
    "a column": {"sensitive_feature": "city"},
    "two columns": {"sensitive_feature": ["city", "member"]},
    "a column without a bin for each": {"sensitive_feature": "years", "max_bins": 3},
    "no column": {},
}


@pytest.mark.parametrize("options", PER_GROUP.values(), ids=PER_GROUP)
def test_thresholds_per_group_come_back(tmp_path, options):
    X, y, group = make_people(400)
    X["years"] //= 8
    group = None if options else group
    model = fitted((X, y, group), threshold="per_group", validation_fraction=None, **options)
    assert_same(around(model, tmp_path), model, X, sensitive_features=group)
    model.set_threshold(np.linspace(-1, 0.3, len(model.groups_)))
    loaded = around(model, tmp_path)
    assert_same(loaded, model, X, sensitive_features=group)
    X.loc[:5, ["city", "member", "years"]] = ["unseen", True, 99]
    if options:
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    else:
        with pytest.raises(ValueError, match="the groups are no column of X"):
            loaded.predict(X)
    thresholds = {g: float(k) for k, g in enumerate(model.groups_)}
    one, other = (m.set_threshold(thresholds).set_theta(3) for m in (loaded, model))
    assert_same(around(one, tmp_path), other, X[6:], sensitive_features=None if group is None else group[6:])


@pytest.mark.parametrize("threshold", [1e300, -1e300, 4096.5, 0.1, -0.0])
def test_a_threshold_of_any_size_comes_back(people, tmp_path, threshold):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=3, threshold=threshold).fit(X, y, sensitive_features=group)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").threshold_ == model.threshold_


def test_a_changed_theta_and_threshold_come_back_and_the_frontier_needs_data(people, tmp_path):
    X, y, group = people
    model = fitted(people).set_theta(4).set_threshold(0.3)
    loaded = around(model, tmp_path)
    assert_same(loaded, model, X)
    with pytest.raises(ValueError, match="holds no validation data"):
        loaded.frontier()
    one, other = (m.frontier(X, y, sensitive_features=group) for m in (loaded, model))
    pd.testing.assert_frame_equal(one, other)


SCALARS = st.recursive(
    st.text(st.characters(codec="utf8"))
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.datetimes().map(pd.Timestamp)
    | st.floats(allow_nan=False, width=32).map(np.float32)
    | st.integers(-128, 127).map(np.int8),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@pytest.mark.no_cover
@given(SCALARS)
def test_every_value_comes_back_with_its_type(value):
    back = decode_value(json.loads(json.dumps(encode_value(value, "value"), allow_nan=False)))
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


@given(st.lists(SCALARS, unique=True, max_size=5))
def test_every_list_of_values_comes_back(values):
    back = decode_distinct(json.loads(json.dumps([encode_value(value, "values") for value in values])), "values")
    assert list(map(repr, back)) == list(map(repr, values))


# --- What the file looks like ---------------------------------------------------------------------


def test_the_file_reads_well(people, tmp_path):
    model = fitted(people)
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text(encoding="utf8")
    lines = text.splitlines()
    assert lines[1:4] == ['  "format": "parityboost model",', '  "version": 3,', '  "class": "AdaFairClassifier",']
    assert sum(line.startswith('    {"alpha": ') for line in lines) == model.n_estimators_
    assert '    {"name": "job", "categories": ["clerk", "cook", "smith"]},' in lines
    assert '    "n_estimators": 12,' in lines
    document = json.loads(text)
    assert document["made_with"]["numpy"] == np.__version__
    assert document["theta"] == model.theta_
    assert len(document["history"]) == model.n_estimators_


def test_saving_replaces_a_file_at_once_and_leaves_nothing_else(people, tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")
    model = fitted(people)

    def fail(_):
        raise OSError("disk full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(os, "fsync", fail)
        model.save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    model.save(str(path))
    assert list(tmp_path.iterdir()) == [path]
    other = tmp_path / "other"
    other.write_text("")
    assert path.stat().st_mode == other.stat().st_mode
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "nowhere" / "model.json")


def test_a_link_keeps_pointing_to_the_file(people, tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "model.json")
    fitted(people).save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    load(tmp_path / "model.json")


# --- What cannot be saved -------------------------------------------------------------------------


class OwnNotion(FairnessNotion):
    name = "own"
    gaps = EqualOpportunity.gaps


class OwnModel(AdaFairClassifier):
    pass


class BorrowedName(EqualOpportunity):
    pass


def refused(model, tmp_path, message):
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("notion", [OwnNotion(), BorrowedName()])
def test_a_notion_of_ones_own_is_refused_with_a_way_out(people, tmp_path, notion):
    model = fitted(people, notion=notion)
    refused(model, tmp_path, "parameter notion: .* is a notion of your own")
    model.set_params(notion="none").save(tmp_path / "model.json")
    X = people[0]
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict(X), model.predict(X))


def test_other_weak_learners_and_classes_are_refused(people, tmp_path):
    X, y, group = people
    X = X[["years"]]
    model = fitted((X, y, group), estimator=DecisionTreeClassifier(max_depth=1))
    refused(model, tmp_path, r"only a model of native trees .* is of DecisionTreeClassifier")
    refused(fitted(people, OwnModel), tmp_path, "a OwnModel cannot be stored; models of AdaFairClassifier, ParityBoost")
    with pytest.raises(NotFittedError):
        AdaFairClassifier().save(tmp_path / "model.json")


def test_values_that_json_cannot_hold_are_refused_by_name(people, tmp_path):
    X, y, group = people
    dated = np.array([pd.Timestamp("2020-01-01").date() if g == "a" else "b" for g in group], dtype=object)
    refused(fitted((X, y, dated)), tmp_path, "groups_: datetime.date.* of type date cannot be stored")
    X = X.assign(price=pd.Categorical([Decimal(k % 2) for k in range(len(X))]))
    refused(fitted((X, y, group)), tmp_path, r"column 'price': Decimal\('0'\) of type Decimal cannot be stored")
    model = fitted(people).set_params(sensitive_feature=[2**70])
    refused(model, tmp_path, "parameter sensitive_feature: 1180591620717411303424 of type int cannot be stored")
    model = fitted(people).set_params(sensitive_feature="\ud800")
    refused(model, tmp_path, "cannot be written as UTF-8")
    model = fitted(people).set_params(n_jobs=5000)
    refused(model, tmp_path, "parameters.n_jobs: expected a number of threads up to 1024")


def test_a_random_state_object_is_left_out_with_a_warning(people, tmp_path):
    model = fitted(people, random_state=np.random.RandomState(0))
    with pytest.warns(UserWarning, match="random_state is a RandomState, of which the file keeps nothing") as warned:
        model.save(tmp_path / "model.json")
    assert warned[0].filename == __file__
    assert load(tmp_path / "model.json").random_state is None


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_COMMAS", "MAX_CONTAINERS"])
def test_a_model_too_large_to_read_back_is_not_written(people, tmp_path, monkeypatch, limit):
    model = fitted(people)
    monkeypatch.setattr(limits, limit, 20)
    refused(model, tmp_path, "more than .* which no model should have")


# --- What cannot be loaded ------------------------------------------------------------------------


def small_file(folder, **options):
    X = pd.concat([make_people(120)[0], odd_frame(120)[["text", "float", "empty"]]], axis=1)
    _, y, group = make_people(120)
    group = None if "sensitive_feature" in options else group
    path = folder / "model.json"
    fitted((X, y, group), n_estimators=6, class_weight={0: 2.0}, notion=StatisticalParity(), **options).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small file."""
    return small_file(tmp_path_factory.mktemp("saved"))


@pytest.fixture(scope="module")
def saved_trees(tmp_path_factory):
    """A small file of a model of trees."""
    return small_file(tmp_path_factory.mktemp("saved"), max_depth=2)


@pytest.fixture(scope="module")
def saved_per_group(tmp_path_factory):
    """A small file of a model with a threshold per group."""
    return small_file(tmp_path_factory.mktemp("saved"), threshold="per_group", sensitive_feature="city")


def changed(saved, *path, to):
    """The file with one value replaced."""
    document = json.loads(saved)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return written(document)


def read(data, tmp_path, **options):
    (tmp_path / "model.json").write_bytes(data)
    return load(tmp_path / "model.json", **options)


CHANGES = [
    (("format",), "pickle", "the document: expected an object with the field format='parityboost model'"),
    (("version",), 4, "version: expected a version up to 3: the file is from a newer parityboost"),
    (("version",), True, "version: expected a whole number"),
    (("class",), "os.system", "class: expected one of 'AdaFairClassifier'"),
    (("class",), "AdaBoostClassifier", "parameters.bands: expected no such field"),
    (("made_with",), {"numpy": 2}, "made_with.numpy: expected text, got 2"),
    (("parameters", "estimator"), "tree", "parameters.estimator: expected null"),
    (("parameters", "c"), 2.0, "parameters: The 'c' parameter of AdaFairClassifier must be a float"),
    (("parameters", "n_jobs"), 0, "parameters.n_jobs: expected a number of threads"),
    (("parameters", "notion"), {"notion": "own"}, "parameters.notion.notion: expected one of"),
    (("parameters", "notion"), {"notion": "none", "boost": "x"}, "parameters.notion: NoNotion"),
    (("parameters", "notion", "boost"), "all", "parameters.notion: boost must be"),
    (("parameters", "unheard_of"), 1, "parameters.unheard_of: expected no such field"),
    (
        ("parameters", "class_weight"),
        {"pairs": [[1]]},
        r"parameters.class_weight.pairs\[0\]: expected a list of length >= 2",
    ),
    (("parameters", "sensitive_feature"), [["a"]], r"parameters.sensitive_feature\[0\]: expected a single value"),
    (("classes", "values"), [1, 1], r"classes.values\[1\]: expected a value that is not there yet"),
    (("classes", "values"), [0], "classes.values: expected a list of length >= 2, got a list of 1 values"),
    (("classes", "values"), ["a", "b"], "classes.values: expected what dtype int64 can hold"),
    (("classes", "dtype"), "int1000", "classes.dtype: expected one of 'bool'"),
    (("classes",), {"dtype": "int8", "values": [0, 200]}, "classes.values: expected what dtype int8 can hold"),
    (("classes",), {"dtype": "float16", "values": [0.0, 0.1]}, "classes.values: expected what dtype float16 can hold"),
    (("classes",), {"dtype": "str1", "values": ["a", "bc"]}, "classes.dtype: expected 'str' and a number"),
    (("classes",), {"dtype": "str999999", "values": ["a", "b"]}, "classes.dtype: expected 'str' and a number"),
    (("groups", 0), "\ud800", r"groups\[0\]: expected text that can be written as UTF-8"),
    (("groups", 0), None, r"groups\[0\]: expected a value that is not there yet"),
    (("groups", 0), {"numpy": "complex", "value": 0}, r"groups\[0\].numpy: expected one of"),
    (("groups", 0), {"float": "nan"}, r"groups\[0\].float: expected one of 'inf', '-inf'"),
    (("groups", 0), {"timestamp": "now"}, r"groups\[0\].timestamp: expected a time such as"),
    (("groups", 0), {"timestamp": "2022-02-30T00:00:00"}, r"groups\[0\]: expected a valid value"),
    (("groups", 0), {"interval": [2, 1], "closed": "left"}, r"groups\[0\]: expected a valid value \(left side"),
    (("groups", 0), {"interval": ["a", 1], "closed": "left"}, r"groups\[0\]: expected a valid value"),
    (("theta",), 7, "theta: expected a whole number from 1 to 6, got 7"),
    (("theta",), 1.0, "theta: expected a whole number, got 1.0"),
    (("threshold",), float("nan"), "NaN is no JSON number"),
    (("threshold",), [0.0], "threshold: expected a number from -1e.300 to 1e.300, got a list of 1 values"),
    (("threshold",), 10**18, None),
    (("fitted",), {"_ensemble": 1}, "fitted._ensemble: expected no such field"),
    (("named_columns",), 1, "named_columns: expected true or false"),
    (("columns",), [], "columns: expected a list of length >= 1, got a list of 0 values"),
    (("columns", 0, "name"), 1, r"columns\[0\].name: expected text"),
    (("columns", 0, "edges"), [1.0, 1.0], r"columns\[0\].edges: expected numbers that increase"),
    (("columns", 0, "edges"), [0.0, True], r"columns\[0\].edges\[1\]: expected a number, got True"),
    (
        ("columns", 0, "edges"),
        list(range(255)),
        r"columns\[0\].edges: expected a list of length <= 254, got a list of 255",
    ),
    (("columns", 0, "categories"), [], r"columns\[0\]: expected either 'edges' or 'categories'"),
    (("columns", 2, "categories"), ["a", "a"], r"columns\[2\].categories\[1\]: expected a value that is not there"),
    (("columns", 0, "mixed"), True, r"columns\[0\].mixed: expected no such field beside 'edges', got True"),
    (("columns", 2, "mixed"), 1, r"columns\[2\].mixed: expected true or false, got 1"),
    (("columns", 2, "mixed"), True, None),
    (("trees", 3, "root", "split"), 300, r"trees\[3\].root.split: expected a whole number <= 255, got 300"),
    (("trees", 3, "root", "split"), 255, r"trees\[3\].root.split: expected a whole number from 0 to \d+, got 255"),
    (("trees", 3, "root", "feature"), 8, r"trees\[3\].root.feature: expected a whole number from 0 to 7, got 8"),
    (("trees", 3, "votes", 0), 1001, r"trees\[3\].votes\[0\]: expected a number <= 1000.0, got 1001"),
    (("trees", 3, "alpha"), 0.0, r"trees\[3\].alpha: expected a number >= 1.4.*e-11, got 0.0"),
    (("trees", 3, "alpha"), "1", r"trees\[3\].alpha: expected a number, got '1'"),
    (("trees", 3, "root", "missing_left"), 0, r"trees\[3\].root.missing_left: expected true or false, got 0"),
    (("trees", 3, "confidences", 3), 1.5, r"trees\[3\].confidences\[3\]: expected a number <= 1.0, got 1.5"),
    (("trees", 3), [], r"trees\[3\]: expected an object, got a list of 0 values"),
    (("trees", 3), {}, r"trees\[3\]: expected a field 'alpha', got an object with the fields \(none\)"),
    (("trees", 3, "x` - at `$.trees[99]"), 1, r"trees\[3\].x` - at `\$.trees\[99\]: expected no such field, got 1"),
    (("x` - at `$.trees[99]",), 1, "expected no such field"),
    (("x" * 9999,), 1, "x{50}: expected no such field, got 1$"),
    (("history_columns", 0), "error", "history_columns: expected different names"),
    (("history", 0), [], r"history\[0\]: expected a list of"),
    (("history", 0, 0), {"tuple": []}, r"history\[0\]\[0\]: expected a number, text or null"),
    (("history", 0, 0), "a", "history: expected values of one type in the column 'alpha'"),
]


@pytest.mark.parametrize(("path", "to", "message"), CHANGES)
def test_errors_say_where(saved, tmp_path, path, to, message):
    data = changed(saved, *path, to=to)
    if message is None:
        read(data, tmp_path)
    else:
        with pytest.raises(ModelFileError, match=message):
            read(data, tmp_path)


PER_GROUP_CHANGES = [
    (("threshold",), [0.0], "threshold: expected a list of 2 values"),
    (("threshold", 1), None, r"threshold\[1\]: expected a number"),
    (("per_group",), None, "threshold: expected a number"),
    (("per_group", "columns"), [0, 3], "per_group.codes: expected null, unless one column holds the groups"),
    (("per_group", "columns"), [8], r"per_group.columns\[0\]: expected a whole number from 0 to 7"),
    (("per_group", "codes"), [1, 3], r"per_group.codes\[1\]: expected a whole number from 1 to 2"),
    (("per_group", "shares"), [0.5, 2], r"per_group.shares\[1\]: expected a number <= 1.0, got 2"),
    (("per_group", "rounds"), [], "per_group.rounds: expected a list of 6 values"),
    (("per_group", "rounds", 2, 0), True, r"per_group.rounds\[2\]\[0\]: expected a number"),
]


@pytest.mark.parametrize(("path", "to", "message"), PER_GROUP_CHANGES)
def test_errors_in_thresholds_per_group_say_where(saved_per_group, tmp_path, path, to, message):
    with pytest.raises(ModelFileError, match=message):
        read(changed(saved_per_group, *path, to=to), tmp_path)


@pytest.mark.parametrize("named", [True, False])
def test_columns_of_one_name_are_refused(saved, tmp_path, named):
    data = changed(saved, "named_columns", to=named)
    name = json.loads(data)["columns"][0]["name"]
    with pytest.raises(ModelFileError, match=rf"columns\[2\].name: expected a name that no other .* got '{name}'"):
        read(changed(data, "columns", 2, "name", to=name), tmp_path)


def test_errors_name_the_file(saved, tmp_path):
    with pytest.raises(ModelFileError, match=r"^.*model\.json: theta: expected"):
        read(changed(saved, "theta", to=-1), tmp_path)


WRONG = {
    "empty": (b"", "not JSON"),
    "not text": (b"\xff\xfe", "not UTF-8 text: byte 0"),
    "another format": (b"[1, 2]", "the document: expected an object, got a list of 2 values"),
    "a field twice": (b'{"a": 1, "b": 1, "b": 2}', "the field 'b' stands twice"),
    "deep": (b"[" * 100_000, "lists within lists without end"),
    "deep objects": (b'{"a":' * 100_000, "lists within lists without end"),
    "a huge number": (b'{"version": ' + b"9" * 10_000 + b"}", "a whole number of 10000 digits"),
    "infinity": (b'{"version": Infinity}', "Infinity is no JSON number"),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_document_is_an_error_of_its_own(tmp_path, data, message):
    with pytest.raises(ModelFileError, match=message):
        read(data, tmp_path, verify=False)
    with pytest.raises(ModelFileError, match="its last line must hold its checksum"):
        read(data, tmp_path)


@pytest.mark.parametrize("levels", [7, 450])
def test_tuples_within_tuples_have_an_end(saved, tmp_path, levels):
    value = 1
    for _ in range(levels):
        value = {"tuple": [value]}
    with pytest.raises(ModelFileError, match=r"groups\[0\](.tuple\[0\]){6}: expected a single value"):
        read(changed(saved, "groups", 0, to=value), tmp_path)


@pytest.mark.no_cover
def test_a_file_beyond_the_limits_is_not_read(tmp_path):
    lists, values = limits.MAX_CONTAINERS, limits.MAX_COMMAS
    for data in (b" " * (limits.MAX_BYTES + 1), b"[" + b"0," * values + b"1, 2]", b"[" + b"[]," * lists + b"1]"):
        start = time.thread_time()
        with pytest.raises(ModelFileError, match="which no model should have"):
            read(data, tmp_path, verify=False)
        assert time.thread_time() - start < 5  # measured: 1
    with pytest.raises(ModelFileError, match="which no model should have"):
        load("/dev/zero")


def test_a_changed_file_is_read_only_when_asked_to(saved, tmp_path):
    data = saved.replace(b'"theta": ', b'"theta":  ')
    assert data != saved
    with pytest.raises(ModelFileError, match=r"does not match its checksum.*verify=False"):
        read(data, tmp_path)
    read(data, tmp_path, verify=False)
    AdaFairClassifier.load(tmp_path / "model.json", verify=False)
    read(saved[: saved.rindex(b",")] + b"}", tmp_path, verify=False)


def test_line_ends_of_windows_are_no_change(saved, tmp_path):
    read(saved.replace(b"\n", b"\r\n"), tmp_path)


def test_an_edited_weight_is_used(saved, tmp_path):
    X = frame_for(read(saved, tmp_path))
    model = read(changed(saved, "trees", 0, "alpha", to=0.3), tmp_path)
    assert model.estimator_weights_[0] == pytest.approx(0.3, abs=1e-10)
    effects, constant = model.glass_box_.score_effects()
    assert np.isfinite(effects.tables).all() and constant == -model.threshold_
    assert len(model.glass_box_.columns) == X.shape[1]


def test_every_single_flipped_bit_is_found(saved, tmp_path):
    rng = random.Random(0)
    check_checksum(saved)
    ends = range(len(saved) - 90, len(saved))
    for at in [*ends, *(rng.randrange(len(saved)) for _ in range(500))]:
        for bit in range(8):
            data = saved[:at] + bytes([saved[at] ^ 1 << bit]) + saved[at + 1 :]
            with pytest.raises(ModelFileError):
                check_checksum(data)


# --- Large models, and files that ask for much ----------------------------------------------------


def test_a_model_of_3000_columns_can_be_stored(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3000)), columns=[f"column {j}" for j in range(3000)])
    y = (X["column 7"] + rng.normal(size=400) > 0).astype(int)
    model = fitted((X, y, np.arange(400) % 2), n_estimators=5)
    loaded = around(model, tmp_path)
    assert (tmp_path / "model.json").stat().st_size < 375_000
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    for one, other in zip(loaded.staged_predict(X), model.staged_predict(X), strict=True):
        np.testing.assert_array_equal(one, other)
    first = (tmp_path / "model.json").read_bytes()
    assert_same_columns(loaded, model)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == first
    for asked in (loaded, model):  # columns that are not used are still asked for, by number, name and kind
        with pytest.raises(ValueError, match="feature"):
            asked.predict(X.drop(columns="column 9"))
        with pytest.raises(ValueError, match="column 'column 9' held numbers in training"):
            asked.predict(X.assign(**{"column 9": "text"}))


def test_files_that_hold_the_bins_of_all_columns_are_read_as_before(saved, tmp_path):
    document = json.loads(saved)
    unused = [j for j, column in enumerate(document["columns"]) if column.get("edges") == []]
    assert unused
    model = read(saved, tmp_path)
    for j in unused:
        document["columns"][j]["edges"] = [0.25, 0.5, 7.0]
    loaded = read(written(document), tmp_path)
    assert [loaded.glass_box_.columns[j].n_bins for j in unused] == [4] * len(unused)
    X = frame_for(model)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def lengthened(model, n_rounds):
    """The model with its rounds repeated, as if it had been trained for so long; no two measures are equal."""
    rounds, rng = model._rounds, np.random.default_rng(0)
    again = np.arange(n_rounds) % model.n_estimators_
    history = model.history_.iloc[again].set_axis(pd.RangeIndex(1, n_rounds + 1, name="round"))
    model._rounds = replace(rounds, learners=[rounds.learners[j] for j in again], alphas=rounds.alphas[again])
    numbers = history.select_dtypes("float64").columns
    model._history = {name: history[name].tolist() for name in history} | {
        name: rng.random(n_rounds) for name in numbers
    }
    if model._group_thresholds is not None:
        model._group_thresholds = model._group_thresholds[again]
    return model


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("threshold, n_groups", [(0.0, 200), ("per_group", 100)])
def test_a_model_of_10000_rounds_and_200_groups_can_be_stored(tmp_path, threshold, n_groups):
    X, y, _ = make_people(20 * n_groups)
    model = fitted((X, y, np.arange(len(X)) % n_groups), threshold=threshold)
    assert_same(around(lengthened(model, 10_000), tmp_path), model, X[:5], np.arange(5))
    assert len(model.history_.columns) > 2 * n_groups


def test_what_cannot_be_stored_is_told_before_training(people, monkeypatch):
    X, y, group = people
    monkeypatch.setattr(limits, "MAX_COMMAS", 500)
    with pytest.warns(UserWarning, match="with 2 groups a file holds at most 14 rounds, and it may have 15") as warned:
        fitted(people, n_estimators=15)
    assert warned[0].filename == __file__
    fitted(people, n_estimators=14)
    fitted(people, n_estimators=15, notion="none")  # costs nothing, and has no costs to store
    with pytest.warns(UserWarning, match="at most 13 rounds"):
        fitted(people, n_estimators=14, threshold="per_group")
    for limit, what in (("MAX_COLUMNS", "columns"), ("MAX_GROUPS", "groups"), ("MAX_ROUNDS", "rounds")):
        with monkeypatch.context() as patch, pytest.warns(UserWarning, match=f"{what}, and a file holds at most 1"):
            patch.setattr(limits, limit, 1)
            fitted(people)
    for n_jobs in (1025, -5000):
        with pytest.raises(ValueError, match=r"'n_jobs' parameter .* in the range \[-1024, 1024\]"):
            AdaFairClassifier(n_jobs=n_jobs).fit(X, y, sensitive_features=group)


def test_the_estimate_of_the_size_is_not_too_low(people, tmp_path, monkeypatch):
    X, y, _ = people
    for groups in (2, 30):
        for options in ({}, {"threshold": "per_group"}, {"notion": "none"}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of small groups
                model = fitted((X, y, np.arange(len(X)) % groups), n_estimators=40, n_iter_no_change=None, **options)
            model.save(tmp_path / "model.json")
            document = json.loads((tmp_path / "model.json").read_text())
            values = len(json.dumps([document.get(key) for key in ("trees", "history", "per_group")]).split(","))
            settings = model._about.settings
            with monkeypatch.context() as patch:
                patch.setattr(limits, "MAX_COMMAS", values - 1)
                of_model = groups, model.n_estimators_, settings.notion, settings.threshold
                assert limits.too_large(5, *of_model) is not None


def test_room_that_a_file_claims_for_labels_is_not_made(saved, tmp_path):
    classes = {"dtype": "str100000", "values": ["no", "yes"]}
    model = read(changed(saved, "classes", to=classes), tmp_path)
    X = frame_for(model).iloc[[0] * 1000]
    predicted = model.predict(X)
    assert predicted.nbytes < 10_000  # and not 400 MB
    assert set(predicted) <= {"no", "yes"}
    assert around(model, tmp_path).classes_.tolist() == ["no", "yes"]


def test_labels_of_a_wide_type_are_stored_as_what_they_are(people, tmp_path):
    X, y, group = people
    for width in (1000, 1001, 200_000):
        model = fitted((X, y, group))
        labels = Labels(np.array(["no", "yes"], dtype=f"<U{width}"), "yes")
        model._about = replace(model._about, labels=labels)
        loaded = around(model, tmp_path)
        assert loaded.classes_.dtype == (model.classes_.dtype if width <= 1000 else object)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def colliding(n):
    """Pairs of whole numbers that all have the same hash: the hash of a tuple can be run backwards."""
    p1, p2, p5, mask = 11400714785074694791, 14029467366897019727, 2870177450012600261, 2**64 - 1

    def turned(x, k):
        return (x << k | x >> 64 - k) & mask

    before = turned((12345 - (2 ^ p5 ^ 3527539)) * pow(p1, -1, 2**64) & mask, 33)
    pairs = []
    for first in range(1, 100 * n):
        lane = (before - turned((p5 + first * p2) & mask, 31) * p1) * pow(p2, -1, 2**64) & mask
        second = lane - 2**64 if lane >> 63 else lane
        if abs(second) < 2**61 - 1 and second != -1:
            pairs.append((first, second))
        if len(pairs) == n:
            return pairs
    raise AssertionError("too few")


@pytest.mark.no_cover
@pytest.mark.skipif(sys.hash_info.width != 64, reason="hashes of 64 bits")
def test_groups_that_are_made_to_collide_are_refused(saved, tmp_path):
    pairs = colliding(50_000)
    assert len({hash(pair) for pair in pairs[:100]}) == 1
    groups = [{"tuple": list(pair)} for pair in pairs]
    start = time.thread_time()
    with pytest.raises(ModelFileError, match="groups: expected values of which no more than 256 have the same hash"):
        read(changed(saved, "groups", to=groups), tmp_path)
    assert time.thread_time() - start < 10  # measured: 1; it was minutes
    read(changed(saved, "groups", to=groups[:256]), tmp_path)
    alike = [{"tuple": list(part)} for part in itertools.product([-1, -2], repeat=8)]  # -1 and -2 have the same hash
    read(changed(saved, "groups", to=alike), tmp_path)
    weights = {"pairs": [[group, 1.0] for group in groups]}
    with pytest.raises(ModelFileError, match=r"class_weight\.pairs: expected a list of length <= 1000"):
        read(changed(saved, "parameters", "class_weight", to=weights), tmp_path)


def greedy_files(saved):
    """Files near the limits: of those tried, the one that takes most memory and the one that takes most time."""
    document = json.loads(saved)
    many = limits.MAX_COMMAS - 10_000
    yield '{"format": "\U0001f600", "x": ["' + '","'.join(f"{i:016x}" for i in range(many)) + '"]}'
    names = [f"c{i}" for i in range(limits.MAX_HISTORY)]
    cells = [[{"float": "inf"}] * len(names) for _ in document["history"]]
    yield json.dumps(document | {"history_columns": names, "history": cells})


GREEDY = """
import resource, sys, time
from parityboost import ModelFileError, load
import parityboost._io.model_json
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
try:
    load(sys.argv[1], verify=False)
except ModelFileError as error:
    pass
print(time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux tells it")
def test_no_file_takes_more_than_a_minute_or_three_gigabytes(saved, tmp_path):
    for text in greedy_files(saved):
        (tmp_path / "model.json").write_text(text, encoding="utf8")
        command = [sys.executable, "-c", GREEDY, tmp_path / "model.json"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, megabytes = map(float, result.stdout.split())
        assert seconds < 60  # measured: 15
        assert megabytes < 3000  # measured: 1800


def test_the_public_names_are_there():
    assert {"load", "ModelFileError", "onnx_inputs"} <= set(parityboost.__all__)


OLD = Path(__file__).parent / "version1"


@pytest.mark.parametrize("name", ["people", "per_group", "numbers"])
def test_files_of_version_1_predict_the_same_to_the_last_bit(name, tmp_path):
    """Written by the last code of that version. A category that is none of the column's counts as missing there."""
    kept = json.loads((OLD / f"{name}.rows.json").read_text(encoding="utf8"))
    rows = kept["rows"]
    X = pd.DataFrame(rows) if isinstance(rows, dict) else np.array(rows, dtype=float)
    if name != "numbers":
        X["level"] = X["level"].astype(object)
    expected = [float.fromhex(score) for score in kept["scores"]]
    again = tmp_path / "again.json"
    model = parityboost.load(OLD / f"{name}.json")
    model.save(again)  # as version 3, with the old rule
    assert json.loads(again.read_text(encoding="utf8"))["version"] == 3
    for loaded in (model, parityboost.load(again)):
        assert loaded.decision_function(X).tolist() == expected
        assert loaded.predict(X).tolist() == kept["labels"]
    if name == "people":
        function = explain.shape_function(model, "job")
        assert function.other == function.missing
        assert (X["job"] == "pilot").sum() == 10


def test_a_file_of_version_1_knows_no_rule_for_other_categories(tmp_path):
    document = json.loads((OLD / "people.json").read_text(encoding="utf8"))
    document["columns"][2]["others_are_missing"] = False
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document), encoding="utf8")
    with pytest.raises(ModelFileError, match="others_are_missing"):
        parityboost.load(path, verify=False)
    document["version"] = 2
    path.write_text(json.dumps(document), encoding="utf8")
    rows = pd.DataFrame(json.loads((OLD / "people.rows.json").read_text(encoding="utf8"))["rows"])
    rows["level"] = rows["level"].astype(object)
    old, new = parityboost.load(OLD / "people.json"), parityboost.load(path, verify=False)
    differs = old.decision_function(rows) != new.decision_function(rows)
    assert set(rows["job"][differs]) <= {"pilot"}


NEWER = Path(__file__).parent / "version2"


@pytest.mark.parametrize("path", sorted(NEWER.glob("*.rows.json")), ids=lambda path: path.name.split(".")[0])
def test_files_of_version_2_predict_the_same_to_the_last_bit(path, tmp_path):
    """Written by the last code of that version: stumps, trees, thresholds per group, averages and dials."""

    def exactly(name):
        return [float.fromhex(number) for number in kept[name]]

    kept = json.loads(path.read_text(encoding="utf8"))
    X = pd.DataFrame(kept["rows"])
    model = load(path.with_name(path.name.replace(".rows", "")))
    model.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf8"))["version"] == 3
    again = load(tmp_path / "again.json")
    again.save(tmp_path / "more.json")
    assert (tmp_path / "more.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    for loaded in (model, again):
        assert loaded.decision_function(X).tolist() == exactly("scores")
        assert loaded.predict(X).tolist() == kept["labels"]
        assert loaded.feature_importances_.tolist() == exactly("importances")
        if "calibrated" in kept:
            assert loaded.predict_proba(X)[:, 1].tolist() == exactly("calibrated")
        if "fairer" in kept:  # what was chosen for other blends is no menu: the model stays where it was
            assert not hasattr(loaded, "set_fairness")
            with pytest.raises(ValueError, match="choose needs what was counted at fit"):
                loaded.choose(maximize="accuracy")


def test_the_first_dials_of_version_2_had_one_spread(tmp_path):
    document = json.loads((NEWER / "dial.json").read_text(encoding="utf8"))
    points = document["average"]["points"]
    document["average"] |= {"points": points + [points[-1]] * (21 - len(points))}
    spread = document["average"]["spread"]
    del document["average"]["dial"]
    model = read(written(document), tmp_path)
    for row, expected in zip(model.glass_box_.spread, spread, strict=True):
        np.testing.assert_array_equal(row[: len(expected or [0])], expected or [0])


@pytest.mark.parametrize(
    "path, value, message",
    [
        (("stumps", 0, "alpha"), -1, r"trees\[0\].alpha: expected a number >= .*, got -1"),
        (("stumps", 0, "feature"), 99, r"trees\[0\].root.feature: expected a whole number from 0 to 3, got 99"),
        (("stumps", 0), {}, r"trees\[0\]: expected a field 'alpha'"),
        (("stumps",), 3, "stumps: expected no such field, got 3"),
        (("trees",), [], "stumps: expected no such field"),
        (("columns",), 3, "columns: expected a list, got 3"),
        (("average",), {"points": 3, "spread": 3}, "average.spread: expected a list, got 3"),
    ],
)
def test_errors_in_older_files_say_where(tmp_path, path, value, message):
    data = (NEWER / "stumps.json").read_bytes()
    with pytest.raises(ModelFileError, match=message):
        read(changed(data, *path, to=value), tmp_path)


# --- Trees of depth two


def test_pairs_come_back_with_their_training_rows(people, tmp_path):
    model = fitted(people, max_depth=2)
    loaded = around(model, tmp_path)
    pairs, others = explain.pair_functions(model), explain.pair_functions(loaded)
    assert pairs
    assert list(pairs) == list(others)
    for one, other in zip(pairs.values(), others.values(), strict=True):
        assert (one.rows, one.columns) == (other.rows, other.columns)
        np.testing.assert_array_equal(one.scores, other.scores)
        np.testing.assert_array_equal(one.weight, other.weight)


@pytest.mark.parametrize(
    "path, value, message",
    [
        (("trees", 0, "root", "feature"), 99, r"trees\[0\]\.root\.feature"),
        (("trees", 0, "root", "split"), -1, r"trees\[0\]\.root\.split"),
        (("trees", 0, "root", "gain"), 7, r"trees\[0\]\.root\.gain"),
        (("trees", 0, "root"), None, r"trees\[0\]\.root"),
        (("trees", 0, "left"), 3, r"trees\[0\]\.left"),
        (("trees", 0, "votes"), [1, 1, 1], r"trees\[0\]\.votes"),
        (("trees", 0, "votes"), [1, 1, 1, "no"], r"trees\[0\]\.votes\[3\]: expected a number"),
        (("trees", 0, "confidences"), [2, 1, 1, 1], r"trees\[0\]\.confidences"),
        (("trees", 0, "alpha"), -1, r"trees\[0\]\.alpha"),
        (("trees",), [], r"the document: expected the field 'trees', and no average"),
        (("pairs",), [], r"pairs"),
        (("pairs", 0, "features"), [0, 0], r"the pair that the trees have here"),
        (("pairs", 0, "weight"), [[1]], r"pairs\[0\]\.weight"),
        (("pairs", 0, "weight", 0, 0), -1, r"pairs\[0\]\.weight\[0\]\[0\]: expected a number >= 0.0, got -1"),
        (("stumps",), [], r"stumps: expected no such field"),
    ],
)
def test_trees_that_cannot_be_are_refused(saved_trees, tmp_path, path, value, message):
    with pytest.raises(ModelFileError, match=message):
        read(changed(saved_trees, *path, to=value), tmp_path)


def test_a_side_that_is_not_split_has_one_vote(saved_trees, tmp_path):
    document = json.loads(saved_trees)
    document["trees"][0] |= {"left": None, "votes": [1, -1, 1, 1]}
    with pytest.raises(ModelFileError, match="the same vote twice on a side that is not split"):
        read(written(document), tmp_path)


def test_a_file_without_learners_is_refused(saved, tmp_path):
    document = json.loads(saved)
    del document["trees"]
    with pytest.raises(ModelFileError, match="the document: expected the field 'trees', and no average"):
        read(written(document), tmp_path)
    document["class"] = "ParityBoostClassifier"
    document["parameters"] = {}
    with pytest.raises(ModelFileError, match="the document: expected the field 'average', and no trees"):
        read(written(document), tmp_path)
