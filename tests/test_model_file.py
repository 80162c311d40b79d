"""Models to a file and back: nothing is lost, and no file can do harm."""

import copy
import hashlib
import json
import os
import random
import time
from decimal import Decimal

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
from parityboost import AdaFairClassifier, ModelFileError, _model_json, load
from parityboost._binning import CategoricalColumn
from parityboost._json_values import decode_array, decode_value, encode_array, encode_value
from parityboost._model_file import check_checksum
from parityboost._strict_json import Node
from parityboost.baselines import AdaBoostClassifier, SMOTEBoostClassifier
from parityboost.notions import EqualOpportunity, FairnessNotion, StatisticalParity


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
    assert repr(loaded._group_source) == repr(model._group_source)
    assert loaded.estimators_ == model.estimators_
    assert [(c.name, c.n_bins) for c in loaded._ensemble.binner.columns] == [
        (c.name, c.n_bins) for c in model._ensemble.binner.columns
    ]
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    pd.testing.assert_frame_equal(loaded.history_, model.history_, check_exact=True)
    assert loaded.n_features_in_ == model.n_features_in_
    assert hasattr(loaded, "feature_names_in_") == hasattr(model, "feature_names_in_")
    if hasattr(model, "feature_names_in_"):
        np.testing.assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)


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
}


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
    assert type(AdaFairClassifier.load(tmp_path / "model.json")) is kind
    assert type(kind.load(tmp_path / "model.json")) is kind
    fitted(people).save(tmp_path / "fair.json")
    with pytest.raises(ModelFileError, match=rf"fair.json: holds a AdaFairClassifier, not a {kind.__name__}"):
        kind.load(tmp_path / "fair.json")


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
            "constant": np.ones(n_rows),
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
    for one, other in zip(loaded._ensemble.binner.columns, model._ensemble.binner.columns, strict=True):
        if isinstance(other, CategoricalColumn):
            assert one == other
            assert [type(value) for value in one.categories] == [type(value) for value in other.categories]
        else:
            np.testing.assert_array_equal(one.edges, other.edges)


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
    model.history_.loc[1, ["Z", "bound", "error"]] = [np.inf, -np.inf, np.nan]
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


@given(SCALARS)
def test_every_value_comes_back_with_its_type(value):
    back = decode_value(Node(json.loads(json.dumps(encode_value(value, "value"), allow_nan=False))))
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value)


@given(st.lists(SCALARS, unique=True, max_size=5))
def test_every_array_of_objects_comes_back(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    back = decode_array(Node(json.loads(json.dumps(encode_array(array, "array")))), 5)
    assert list(map(repr, back)) == list(map(repr, array))


# --- What the file looks like ---------------------------------------------------------------------


def test_the_file_reads_well(people, tmp_path):
    model = fitted(people)
    model.save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text(encoding="utf8")
    lines = text.splitlines()
    assert lines[1:4] == ['  "format": "parityboost model",', '  "version": 1,', '  "class": "AdaFairClassifier",']
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
    refused(model, tmp_path, r"only a model of stumps .* is of DecisionTreeClassifier")
    refused(fitted(people, OwnModel), tmp_path, "a OwnModel cannot be stored; models of AdaFairClassifier, AdaBoost")
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


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_COMMAS"])
def test_a_model_too_large_to_read_back_is_not_written(people, tmp_path, monkeypatch, limit):
    monkeypatch.setattr(_model_json, limit, 100)
    refused(fitted(people), tmp_path, "more than .* which no model should have")


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
def saved_per_group(tmp_path_factory):
    """A small file of a model with a threshold per group."""
    return small_file(tmp_path_factory.mktemp("saved"), threshold="per_group", sensitive_feature="city")


def sealed(body):
    """A body with the checksum that belongs to it."""
    return body + f',\n  "sha256": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def written(document):
    """A document, however wrong, as a file whose checksum is right."""
    return sealed(json.dumps({key: value for key, value in document.items() if key != "sha256"})[:-1].encode())


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
    (("version",), 2, "version: expected a version up to 1: the file is from a newer parityboost"),
    (("version",), True, "version: expected a whole number"),
    (("class",), "os.system", "class: expected one of 'AdaFairClassifier'"),
    (("class",), "AdaBoostClassifier", "parameters.c: expected no such field"),
    (("made_with",), {"numpy": 2}, "made_with.numpy: expected text, got 2"),
    (("parameters", "estimator"), "tree", "parameters.estimator: expected null"),
    (("parameters", "c"), 2.0, "parameters: The 'c' parameter of AdaFairClassifier must be a float"),
    (("parameters", "n_jobs"), 0, "parameters.n_jobs: expected a number of threads"),
    (("parameters", "notion"), {"notion": "own"}, "parameters.notion.notion: expected one of"),
    (("parameters", "notion"), {"notion": "none", "boost": "x"}, "parameters.notion: NoNotion"),
    (("parameters", "notion", "boost"), "all", "parameters.notion: boost must be"),
    (("parameters", "unheard_of"), 1, "parameters.unheard_of: expected no such field"),
    (("parameters", "class_weight"), {"pairs": [[1]]}, r"parameters.class_weight.pairs\[0\]: expected a list of 2"),
    (("parameters", "sensitive_feature"), [["a"]], r"parameters.sensitive_feature\[0\]: expected a single value"),
    (("classes", "values"), [1, 1], r"classes.values\[1\]: expected a value that is not there yet"),
    (("classes", "values"), [0], "classes.values: expected a list of 2 values, got a list of 1 values"),
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
    (("theta",), 1.0, "theta: expected a whole number from 1 to 6, got 1.0"),
    (("threshold",), float("nan"), "NaN is no JSON number"),
    (("threshold",), [0.0], "threshold: expected a number from -1e.300 to 1e.300, got a list of 1 values"),
    (("threshold",), 10**18, None),
    (("fitted",), {"_ensemble": 1}, "fitted._ensemble: expected no such field"),
    (("named_columns",), 1, "named_columns: expected true or false"),
    (("columns",), [], "columns: expected a list of 1 to 50000 values"),
    (("columns", 0, "name"), 1, r"columns\[0\].name: expected text"),
    (("columns", 0, "edges"), [1.0, 1.0], r"columns\[0\].edges: expected numbers that increase"),
    (("columns", 0, "edges"), [0.0, True], r"columns\[0\].edges\[1\]: expected a finite number, got True"),
    (("columns", 0, "edges"), list(range(255)), r"columns\[0\].edges: expected a list of 0 to 254 values"),
    (("columns", 0, "categories"), [], r"columns\[0\]: expected either 'edges' or 'categories'"),
    (("columns", 2, "categories"), ["a", "a"], r"columns\[2\].categories\[1\]: expected a value that is not there"),
    (("stumps", 3, "split"), 300, r"stumps\[3\].split: expected a whole number from 0 to"),
    (("stumps", 3, "feature"), 8, r"stumps\[3\].feature: expected a whole number from 0 to 7, got 8"),
    (("stumps", 3, "left_vote"), 0, r"stumps\[3\].left_vote: expected -1 or 1, got 0"),
    (("stumps", 3, "alpha"), 0.0, r"stumps\[3\].alpha: expected a number from"),
    (("stumps", 3, "alpha"), "1", r"stumps\[3\].alpha: expected a number from .*, got '1'"),
    (("stumps", 3, "missing_left"), 0, r"stumps\[3\].missing_left: expected true or false"),
    (("stumps", 3, "right_confidence"), 1.5, r"stumps\[3\].right_confidence: expected a number from 0 to 1"),
    (("stumps", 3), [], r"stumps\[3\]: expected an object, got a list of 0 values"),
    (("stumps", 3), {}, r"stumps\[3\]: expected a field 'alpha', got an object with the fields \(none\)"),
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
    (("per_group", "shares"), [0.5, 2], r"per_group.shares\[1\]: expected a number from 0 to 1"),
    (("per_group", "rounds"), [], "per_group.rounds: expected a list of 6 values"),
    (("per_group", "rounds", 2, 0), True, r"per_group.rounds\[2\]\[0\]: expected a number"),
]


@pytest.mark.parametrize(("path", "to", "message"), PER_GROUP_CHANGES)
def test_errors_in_thresholds_per_group_say_where(saved_per_group, tmp_path, path, to, message):
    with pytest.raises(ModelFileError, match=message):
        read(changed(saved_per_group, *path, to=to), tmp_path)


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


def test_a_file_beyond_the_limits_is_not_read(tmp_path):
    for data in (b" " * (_model_json.MAX_BYTES + 1), b"[" + b"[]," * _model_json.MAX_COMMAS + b"1, 2]"):
        start = time.thread_time()
        with pytest.raises(ModelFileError, match="which no model should have"):
            read(data, tmp_path, verify=False)
        assert time.thread_time() - start < 1
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
    model = read(changed(saved, "stumps", 0, "alpha", to=0.3), tmp_path)
    assert model.estimator_weights_[0] == pytest.approx(0.3, abs=1e-10)
    tables, constant = model._score_tables()
    codes = model._ensemble.binner
    assert np.isfinite(tables).all() and constant == -model.threshold_ and len(codes.columns) == X.shape[1]


# --- Files from a thousand accidents --------------------------------------------------------------


def frame_for(model):
    """Rows that a model can be asked about, whatever its columns are now."""
    columns = []
    for column in model._ensemble.binner.columns:
        if isinstance(column, CategoricalColumn):
            known = [value for value in column.categories if isinstance(value, (str, bool, int, float))][:2]
            values = pd.Series(pd.Categorical([None, *known][:3] + [None] * (2 - len(known)), categories=known))
        else:
            values = pd.Series([np.nan, -1e300, 0.5])
        columns.append(values)
    X = pd.concat(columns, axis=1)
    X.columns = model.feature_names_in_ if hasattr(model, "feature_names_in_") else range(len(columns))
    return X


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


NASTY = [
    *(float("nan"), float("inf"), 1e999, -1, 0, 1, 0.5, 2**64, 10**30, -(10**17), 1e308, True, False, None, "", "a"),
    *("\ud800", [], {}, [[]], list(range(1000)), [0] * 100_000, ["x"] * 50_000, deep(200), {"tuple": [1]}),
    *({"float": "inf"}, {"numpy": "int8", "value": 300}, {"numpy": "str", "value": "a"}, {"notion": "none"}),
    *({"timestamp": "2020-01-01T00:00:00"}, {"interval": [0, 1], "closed": "both"}, {"pairs": [[[], 1]]}),
    *({"timestamp": "9999-99-99T99:99:99+99:99"}, {"numpy": "float16", "value": 1e300}, {"numpy": "str", "value": 1}),
]


def all_places(value):
    """Every container in a document and each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from all_places(value[key])


def damage_structure(document, rng):
    """Change a document in one of many ways."""
    places = list(all_places(document))
    container, key = rng.choice(places)
    nasty = copy.deepcopy(rng.choice(NASTY))
    kind = rng.choice(["replace", "replace", "remove", "add", "copy", "repeat", "number"])
    if kind == "replace":
        container[key] = nasty
    elif kind == "remove":
        del container[key]
    elif kind == "add":
        objects = [document, *(c[k] for c, k in places if isinstance(c[k], dict))]
        rng.choice(objects)[rng.choice(["extra", "edges", "categories", "__class__", "n_jobs"])] = nasty
    elif kind == "copy":
        other, other_key = rng.choice(places)
        container[key] = copy.deepcopy(other[other_key])
    elif kind == "repeat":
        chosen = rng.choice([c[k] for c, k in places if isinstance(c[k], list) and c[k]])
        chosen.insert(rng.randrange(len(chosen)), copy.deepcopy(rng.choice(chosen)))
    else:
        container, key = rng.choice([(c, k) for c, k in places if type(c[k]) in (int, float)])
        container[key] = rng.choice([-container[key], container[key] * 1e6, container[key] + 1, str(container[key])])


def damage_bytes(data, rng):
    """Change some bytes."""
    at, length = rng.randrange(len(data)), rng.randrange(1, 40)
    return rng.choice(
        [
            data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
            data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :],
            data[:at],
            data[:at] + data[at + length :],
            data[:at] + rng.randbytes(length) + data[at:],
            data[:at] + data[at : at + length] + data[at:],
            data[at:],
        ]
    )


def outcome(data, tmp_path, verify):
    """A model, or the one error; anything else goes up. Neither may take long."""
    path = tmp_path / "model.json"
    path.write_bytes(data)
    start = time.thread_time()  # others may use the processor meanwhile
    try:
        return load(path, verify=verify)
    except ModelFileError as error:
        assert len(str(error)) < 1500
        return None
    finally:
        assert time.thread_time() - start < 1


def use(model):
    X = frame_for(model)
    groups = pd.Series([model.groups_[0]] * len(X), dtype=object)
    assert np.isin(model.predict(X, sensitive_features=groups), model.classes_).all()
    assert np.isfinite(model.predict_proba(X, sensitive_features=groups)).all()
    assert np.isfinite(model.feature_importances_).all()
    assert len(model.history_) == model.n_estimators_
    clone(model)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_file_is_an_error_or_a_working_model(saved, saved_per_group, tmp_path, seed):
    rng = random.Random(seed)
    saved = saved_per_group if seed % 2 else saved
    body = saved[: saved.rindex(b",")]
    working = 0
    for _ in range(30):  # the checksum finds every change of bytes
        data = damage_bytes(saved, rng)
        assert data == saved or outcome(data, tmp_path, verify=True) is None
    for _ in range(20):  # and without it, the checks do
        model = outcome(sealed(damage_bytes(body, rng)), tmp_path, verify=True)
        if model is not None:
            use(model)
    for _ in range(70):
        document = json.loads(saved)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            damage_structure(document, rng)
        data = written(document)
        assert outcome(data[:-70] + b"0" * 66 + data[-4:], tmp_path, verify=True) is None
        model = outcome(data, tmp_path, verify=True)
        if model is not None:
            use(model)
            working += 1
    assert 0 < working < 70


def test_every_single_flipped_bit_is_found(saved, tmp_path):
    rng = random.Random(0)
    check_checksum(saved)
    ends = range(len(saved) - 90, len(saved))
    for at in [*ends, *(rng.randrange(len(saved)) for _ in range(500))]:
        for bit in range(8):
            data = saved[:at] + bytes([saved[at] ^ 1 << bit]) + saved[at + 1 :]
            with pytest.raises(ModelFileError):
                check_checksum(data)


def test_the_public_names_are_there():
    assert {"load", "ModelFileError", "onnx_inputs"} <= set(parityboost.__all__)
