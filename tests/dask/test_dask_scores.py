"""Scores, calibrated probabilities and frontiers of Dask collections: those of one machine, made by the workers."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from test_dask import FEATURES, client, in_partitions, make_table  # noqa: F401

from parityboost.dask import DaskAdaFairClassifier, DaskParityBoostClassifier, _measures
from parityboost.dask import _measures as measures

SIZES = [100, 0, 200, 7]
MODELS = {
    "AdaFair": (DaskAdaFairClassifier, {"n_estimators": 6}),
    "AdaFair of trees": (DaskAdaFairClassifier, {"n_estimators": 6, "max_depth": 2, "update": "real"}),
    "AdaFair per group": (DaskAdaFairClassifier, {"n_estimators": 6, "threshold": "per_group"}),
    "bags": (DaskParityBoostClassifier, {"n_estimators": 5, "n_bags": 2}),
    "bags with a dial": (DaskParityBoostClassifier, {"n_estimators": 5, "n_bags": 2, "dial": True}),
    "bags per group": (DaskParityBoostClassifier, {"n_estimators": 5, "n_bags": 2, "threshold": "per_group"}),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return make_table(rng, 500, 2).assign(weight=rng.integers(0, 4, 500), any_weight=rng.random(500))


@pytest.fixture(scope="module", params=MODELS)
def model(request, client, table):  # noqa: F811
    cls, options = MODELS[request.param]
    there = in_partitions(table, [250])
    return cls(random_state=0, **options).fit(there[FEATURES], there["label"], sensitive_features=there["group"])


@pytest.fixture
def no_row_comes_here(monkeypatch):
    """A collection that is computed as a whole is an error."""

    def refuse(self, *given, **options):
        raise AssertionError("the collection was brought here")

    for cls in (dd.DataFrame, dd.Series, da.Array):
        monkeypatch.setattr(cls, "compute", refuse)
        monkeypatch.setattr(cls, "__array__", refuse)


def columns(data, weight=None):
    given = {"sensitive_features": data["group"]}
    return (data[FEATURES], data["label"]), {**given, **({} if weight is None else {"sample_weight": data[weight]})}


@pytest.mark.parametrize("weight", [None, "weight", "any_weight"])
@pytest.mark.usefixtures("no_row_comes_here")
def test_score_is_counted_on_the_workers(model, table, weight):
    data, options = columns(table, weight)
    theirs, their_options = columns(in_partitions(table, SIZES), weight)
    expected, found = model.to_local().score(*data, **options), model.score(*theirs, **their_options)
    assert found == (pytest.approx(expected, rel=1e-12) if weight else expected)
    assert model.score(*data, **options) == expected


@pytest.mark.parametrize(("weight", "limit"), [(None, None), ("weight", 0.1), ("any_weight", None)])
@pytest.mark.filterwarnings("ignore:no choice of θ and threshold has a violation of at most")
@pytest.mark.usefixtures("no_row_comes_here")
def test_a_frontier_is_that_of_one_machine(model, table, weight, limit, monkeypatch):
    monkeypatch.setattr(measures, "MAX_TOGETHER", 2000)  # several passes
    data, options = columns(table, weight)
    theirs, their_options = columns(in_partitions(table, SIZES), weight)
    expected = model.to_local().frontier(*data, **options, max_violation=limit)
    found = model.frontier(*theirs, **their_options, max_violation=limit)
    assert list(found["threshold"]) == list(expected["threshold"])
    exact = weight != "any_weight"  # these are rounded to integers on a fine grid
    pd.testing.assert_frame_equal(
        found.drop(columns="threshold"), expected.drop(columns="threshold"), check_exact=exact
    )
    here = model.frontier(*data, **options, max_violation=limit)
    pd.testing.assert_frame_equal(here, expected, check_exact=True)


@pytest.mark.usefixtures("no_row_comes_here")
def test_of_very_many_rows_a_frontier_has_the_measures_of_its_own_thresholds(model, table, monkeypatch):
    """With the limits lowered: fewer thresholds are looked at, but what is said about them is exact."""
    monkeypatch.setattr(_measures, "MAX_EXACT", 50)
    monkeypatch.setattr(_measures, "N_BUCKETS", 32)
    theirs, options = columns(in_partitions(table, SIZES))
    others, other_options = columns(in_partitions(table, [333]))
    found, fewer = model.frontier(*theirs, **options), model.frontier(*others, **other_options)
    pd.testing.assert_frame_equal(found, fewer, check_exact=True)  # whatever the partitions
    local = model.to_local()
    for row in found.itertuples():
        if hasattr(row, "theta"):
            found = local.set_theta(row.theta).set_threshold(row.threshold)
        else:
            found = local.choose(fairness=row.fairness, threshold=row.threshold)
        data, given = columns(table)
        assert 1 - found.score(*data, **given) == pytest.approx(row.er, abs=1e-12)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    margins=st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    n_buckets=st.sampled_from([None, 2, 8, 64]),
)
def test_counted_margins_do_not_depend_on_the_partitions(margins, cuts, n_buckets):
    bucket = np.array(margins, dtype=np.int64)
    cell, mass = np.arange(len(bucket)) % 4, np.arange(len(bucket)) + 1
    whole = measures.CountedMargins(bucket, cell, mass, 0).added_up(n_buckets)
    parts = [
        measures.CountedMargins(*of_part, 0).added_up(n_buckets)
        for of_part in zip(*(np.split(values, sorted(cuts)) for values in (bucket, cell, mass)), strict=True)
    ]
    [together] = measures._put_together([[part] for part in parts], n_buckets)
    for ours, theirs in zip(whole, together, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert whole.mass.sum() == mass.sum()
    assert n_buckets is None or len(np.unique(whole.bucket)) <= n_buckets


def test_calibrated_probabilities_are_lazy(client, table):  # noqa: F811
    cls, options = MODELS["bags"]
    there = in_partitions(table, SIZES)
    model = cls(random_state=0, **options).fit(there[FEATURES], there["label"], sensitive_features=there["group"])
    expected = model.to_local().predict_proba(table[FEATURES])
    lazy = model.predict_proba(there[FEATURES])
    assert lazy.npartitions == there.npartitions
    assert list(lazy.columns) == ["0", "1"]
    np.testing.assert_array_equal(lazy.compute().to_numpy(), expected)
    np.testing.assert_array_equal(model.predict_proba(table[FEATURES]), expected)


@pytest.mark.usefixtures("no_row_comes_here")
def test_arrays_are_measured_as_well(client):  # noqa: F811
    rng = np.random.default_rng(1)
    X, group = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    y = (X[:, 0] + 0.3 * group > 0).astype(int)
    given = da.from_array(X, chunks=(90, 2)), da.from_array(y, chunks=70)
    groups = da.from_array(group, chunks=300)
    model = DaskAdaFairClassifier(n_estimators=4, random_state=0).fit(*given, sensitive_features=groups)
    local = model.to_local()
    assert model.score(*given) == local.score(X, y)
    expected = local.frontier(X, y, sensitive_features=group)
    pd.testing.assert_frame_equal(model.frontier(*given, sensitive_features=groups), expected, check_exact=True)


def test_what_cannot_be_measured_is_said_in_words(client, table):  # noqa: F811
    cls, options = MODELS["AdaFair"]
    there = in_partitions(table, [250])
    data, groups = columns(there)
    model = cls(random_state=0, **options)
    for method, wanted in ((model.score, data), (model.frontier, data), (model.predict, data[:1])):
        with pytest.raises(NotFittedError, match="not fitted"):
            method(*wanted)
    model.fit(*data, **groups)
    with pytest.raises(TypeError, match="X must be a Dask DataFrame, Series or Array, got DataFrame"):
        model.score(table[FEATURES], there["label"])
    with pytest.raises(ValueError, match=r"partition \d: X has \d+ rows, y \d+"):
        model.score(data[0], in_partitions(table, [200])["label"])
    with pytest.raises(ValueError, match="feature names"):
        model.score(there[FEATURES[:-1]], there["label"])
    with pytest.raises(ValueError, match="no rows of positive weight in 2 partition"):
        model.score(*data, there["weight"] * 0)
    with pytest.raises(ValueError, match="needs both X and y"):
        model.frontier(y=there["label"])
    with pytest.raises(ValueError, match="needs the sensitive attribute"):
        model.frontier(*data)
    with pytest.raises(TypeError, match=r"needs rows that are here: X.compute\(\) brings them"):
        next(model.staged_predict(data[0]))
