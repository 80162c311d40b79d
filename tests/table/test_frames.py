"""Data frames of other libraries are read as the same table in pandas is: names, types, categories, missing values."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import parityboost
from conftest import make_people
from parityboost import AdaFairClassifier, explain, metrics, onnx_inputs, report
from parityboost._table.values import to_pandas
from parityboost.audit import audit
from parityboost.paper.baselines import AdaBoostSDBClassifier, SMOTEBoostClassifier

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

KINDS = {
    "polars": lambda frame: pl.DataFrame({name: polars_column(frame[name]) for name in frame}),
    "lazy": lambda frame: KINDS["polars"](frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def polars_column(column):
    """A pandas column in polars, without pyarrow's help; NaN is null."""
    values = [None if pd.isna(value) else value for value in column.tolist()]
    return pl.Series(values, dtype=pl.Categorical if isinstance(column.dtype, pd.CategoricalDtype) else None)


def collected(frame):
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


@pytest.fixture(scope="module")
def data():
    X, y, group = make_people(400)
    return X.assign(group=pd.Categorical(group)), y


@pytest.fixture(scope="module")
def model(data):
    """From pandas, to compare with."""
    X, y = data
    return AdaFairClassifier(n_estimators=20, sensitive_feature="group", random_state=0).fit(X, y)


def assert_same(model, other, X, X_other=None):
    assert list(other.feature_names_in_) == list(model.feature_names_in_)
    assert other.groups_.tolist() == model.groups_.tolist()
    np.testing.assert_array_equal(
        other.decision_function(X if X_other is None else X_other), model.decision_function(X)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_any_frame_is_the_same_and_predicts_any_other(data, model, kind):
    X, y = data
    frame = KINDS[kind](X)
    other = AdaFairClassifier(n_estimators=20, sensitive_feature="group", random_state=0).fit(frame, y)
    assert_same(model, other, X)
    assert_same(model, other, X, frame)
    np.testing.assert_array_equal(model.decision_function(frame), model.decision_function(X))


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_labels_groups_and_weights_may_be_columns_of_them(data, model, kind):
    X, y = data
    weights = np.arange(len(y)) % 3  # some rows do not count
    frame = KINDS[kind](X.assign(y=y, w=weights))
    options = {"n_estimators": 20, "random_state": 0}
    expected = AdaFairClassifier(**options).fit(X, y, sensitive_features=X["group"], sample_weight=weights)
    columns = frame.drop("y", "w") if kind == "polars" else frame.drop_columns(["y", "w"])
    found = AdaFairClassifier(**options).fit(
        columns, frame["y"], sensitive_features=frame["group"], sample_weight=frame["w"]
    )
    assert_same(expected, found, X, columns)
    assert found.score(columns, frame["y"]) == expected.score(X, y)
    crossed = frame.select(["group", "city"])
    expected = AdaFairClassifier(**options).fit(X, y, sensitive_features=X[["group", "city"]])
    found = AdaFairClassifier(**options).fit(
        columns, frame["y"], sensitive_features=crossed, validation=(columns, frame["y"], crossed)
    )
    assert found.groups_.tolist() == expected.groups_.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_thresholds_per_group_find_the_group_in_the_frame(data, kind):
    X, y = data
    frame = KINDS[kind](X)
    options = {"n_estimators": 10, "threshold": "per_group", "random_state": 0}
    expected = AdaFairClassifier(**options).fit(X, y, sensitive_features=X["group"])
    groups = pl.Series("group", X["group"].tolist()) if kind != "pyarrow" else frame["group"]
    found = AdaFairClassifier(**options).fit(frame, y, sensitive_features=groups)
    assert_same(expected, found, X, frame)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_from_one_kind_and_loaded_it_predicts_another(data, model, kind, tmp_path):
    X, y = data
    AdaFairClassifier(n_estimators=20, sensitive_feature="group", random_state=0).fit(KINDS[kind](X), y).save(
        tmp_path / "model.json"
    )
    loaded = parityboost.load(tmp_path / "model.json")
    assert_same(model, loaded, X)
    assert_same(model, loaded, X, KINDS[kind](X))


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", KINDS)
def test_explaining_exporting_auditing_and_reporting_take_them(data, model, kind):
    pytest.importorskip("onnx")
    X, y = data
    frame = KINDS[kind](X)
    pd.testing.assert_frame_equal(explain.contributions(model, frame), explain.contributions(model, X))
    pd.testing.assert_frame_equal(explain.importances(model, frame), explain.importances(model, X))
    groups = collected(frame)["group"]
    pd.testing.assert_frame_equal(
        explain.gap_decomposition(model, frame, groups), explain.gap_decomposition(model, X, X["group"])
    )
    inputs, expected = onnx_inputs(model, frame), onnx_inputs(model, X)
    assert all(
        np.array_equal(inputs[name], expected[name], equal_nan=inputs[name].dtype.kind == "f") for name in inputs
    )

    y_other = pl.Series(y.tolist()) if kind != "pyarrow" else pa.array(y)
    predicted = model.predict(frame)
    assert str(audit(y_other, predicted, sensitive_features=groups)) == str(
        audit(y, predicted, sensitive_features=X["group"])
    )
    tables = [
        metrics.group_table(labels, predicted, sensitive_features=group)
        for labels, group in ((y_other, groups), (y, X["group"]))
    ]
    pd.testing.assert_frame_equal(*tables)
    pages = [report.build(model, table, labels, created="now") for table, labels in ((frame, y_other), (X, y))]
    assert pages[0] == pages[1]


def test_plots_take_a_row_of_them(data, model):
    pytest.importorskip("matplotlib")
    from parityboost import plot

    X, _ = data
    labels = [
        [label.get_text() for label in plot.waterfall(model, row).get_yticklabels()]
        for row in (KINDS["polars"](X)[:1], X.iloc[:1])
    ]
    assert [label.replace(".0", "") for label in labels[0]] == [label.replace(".0", "") for label in labels[1]]


@pytest.mark.parametrize("baseline", [AdaBoostSDBClassifier, SMOTEBoostClassifier])
def test_other_methods_take_them(data, baseline):
    X, y = data
    options = {"n_estimators": 5, "random_state": 0}
    expected = baseline(**options).fit(X, y, sensitive_features=X["group"])
    frame = KINDS["polars"](X)
    found = baseline(**options).fit(frame, y, sensitive_features=frame["group"])
    mine, theirs = (
        model.predict(table, sensitive_features=table["group"]) for model, table in ((found, frame), (expected, X))
    )
    np.testing.assert_array_equal(mine, theirs)


def test_a_search_and_a_pipeline_of_polars_keep_the_names(data):
    X, y = data
    frame = KINDS["polars"](X)
    steps = make_pipeline(
        FunctionTransformer(lambda table: table.with_columns(pl.col("years") * 2)).set_output(transform="polars"),
        AdaFairClassifier(n_estimators=5, sensitive_feature="group", random_state=0),
    )
    search = GridSearchCV(steps, {"adafairclassifier__c": [0.0, 1.0]}, cv=2).fit(frame, y)
    assert list(search.best_estimator_[-1].feature_names_in_) == list(X)
    assert search.predict(frame).shape == y.shape


def test_types_and_missing_values_are_those_of_pandas():
    frame = pl.DataFrame(
        {
            "whole": [1, None, 3],
            "real": [1.5, None, float("nan")],
            "flag": [True, None, False],
            "text": ["x", None, "y"],
            "kind": pl.Series(["u", None, "v"], dtype=pl.Categorical),
            "level": pl.Series(["low", None, "high"], dtype=pl.Enum(["low", "high"])),
            "price": [decimal.Decimal("1.50"), None, decimal.Decimal("2.00")],
        }
    )
    for source in (frame, frame.lazy()):
        table = to_pandas(source)
        assert table["whole"].dtype == pd.Int64Dtype()
        assert table["real"].dtype == table["price"].dtype == np.float64
        assert table.isna().sum().tolist() == [1, 2, 1, 1, 1, 1, 1]
        assert table["level"].cat.ordered and list(table["level"].cat.categories) == ["low", "high"]
        assert not table["kind"].cat.ordered
    assert to_pandas(pl.Series([1, 2])).name is None
    assert to_pandas({"a": pl.Series([1])})["a"].tolist() == [1]
    assert to_pandas(pa.array(["a", None])).isna().tolist() == [False, True]
    X = np.zeros((2, 2))
    assert to_pandas(X) is X


BEYOND_FLOATS = 2**53  # and the next whole number is no float


def make_frames(values, type_name="int64"):
    """A column of whole numbers and None in the tables of both libraries."""
    polars_type = {"int64": pl.Int64, "uint64": pl.UInt64}[type_name]
    column = pa.array(values, type=getattr(pa, type_name)())
    return [
        pl.DataFrame({"code": pl.Series(values, dtype=polars_type)}),
        pl.LazyFrame({"code": pl.Series(values, dtype=polars_type)}),
        pa.table({"code": column}),
        pa.RecordBatch.from_arrays([column], names=["code"]),
        {"code": column},
        {"code": pa.chunked_array([column])},
        {"code": pl.Series(values, dtype=polars_type)},
    ]


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_whole_numbers_of_any_size_are_the_same_beside_missing_ones(values):
    types = ["int64", "uint64"] if all(value is None or value >= 0 for value in values) else ["int64"]
    for type_name in types:
        for frame in make_frames(values, type_name):
            column = to_pandas(frame)["code"]
            assert [None if pd.isna(value) else value for value in column.tolist()] == values


def test_large_numbers_are_groups_of_their_own_also_if_one_is_missing(data):
    X, y = data
    groups = [BEYOND_FLOATS + (name == "b") for name in X["group"]]
    groups[::10] = [None] * len(groups[::10])
    for frame in make_frames(groups):
        model = AdaFairClassifier(n_estimators=2, missing_group="unknown", random_state=0)
        model.fit(X, y, sensitive_features=collected(frame))
        assert model.groups_.tolist() == [BEYOND_FLOATS, BEYOND_FLOATS + 1, "unknown"]


def test_one_missing_number_changes_no_other_row(data):
    X, y = data
    codes = [BEYOND_FLOATS + 1 + 2 * int(skilled) for skilled in X["skill"] > 0]
    options = {"n_estimators": 5, "categorical_features": ["code"], "random_state": 0}
    for whole, incomplete in zip(make_frames(codes)[:4], make_frames([None, *codes[1:]])[:4], strict=True):
        model = AdaFairClassifier(**options).fit(whole, y, sensitive_features=X["group"])
        scores = model.decision_function(whole)
        assert len(np.unique(scores)) == 2
        np.testing.assert_array_equal(model.decision_function(incomplete)[1:], scores[1:])


def test_missing_labels_and_weights_of_whole_numbers_are_told(data):
    X, y = data
    for frame in make_frames([None, *map(int, y[1:])])[:3]:
        column = collected(frame)["code"]
        with pytest.raises(ValueError, match="Input y contains NaN: 1 of 400 labels are missing"):
            AdaFairClassifier().fit(X, column, sensitive_features=X["group"])
        with pytest.raises(ValueError, match="sample_weight"):
            AdaFairClassifier().fit(X, y, sensitive_features=X["group"], sample_weight=column)


def test_what_cannot_be_learnt_from_is_named():
    days = pl.DataFrame({"day": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 2})
    with pytest.raises(TypeError, match="column 'day' holds dates"):
        AdaFairClassifier(validation_fraction=None).fit(days, [0, 1, 0, 1], sensitive_features=["a", "b", "b", "a"])
    lists = pl.DataFrame({"tags": [[1], [2], [3], [4]]})
    with pytest.raises(TypeError, match="column 'tags': a value's type must be a string or a number"):
        AdaFairClassifier(validation_fraction=None).fit(lists, [0, 1, 0, 1], sensitive_features=["a", "b", "b", "a"])


def test_enums_keep_their_order_as_groups(data):
    X, y = data
    level = pl.Series(
        "level", ["low" if value == "a" else "high" for value in X["group"]], dtype=pl.Enum(["low", "high"])
    )
    model = AdaFairClassifier(n_estimators=2, random_state=0).fit(X, y, sensitive_features=level)
    assert model.groups_.tolist() == ["low", "high"]
