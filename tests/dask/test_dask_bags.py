"""The recommended model on Dask collections: the model of one machine, whatever the partitions."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from parityboost import LimitNotMet, ParityBoostClassifier
from parityboost.dask import DaskParityBoostClassifier

pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from test_dask import FEATURES, client, in_partitions, make_table  # noqa: E402, F401


def fit_both(table, collection, weighted=False, validation=None, **options):
    options = {"n_estimators": 6, "n_bags": 2, "random_state": 3, **options}
    found = []
    for cls, data in ((ParityBoostClassifier, table), (DaskParityBoostClassifier, collection)):
        given = {"sensitive_features": data["group"]}
        if weighted:
            given["sample_weight"] = data["weight"]
        if validation is not None:
            part = validation[cls is DaskParityBoostClassifier]
            given["validation"] = part[FEATURES], part["label"], part["group"]
        found.append(cls(**options).fit(data[FEATURES], data["label"], **given))
    return found


def assert_same(local, other, table):
    pd.testing.assert_frame_equal(local.history_, other.history_, check_exact=True)
    np.testing.assert_array_equal(local.threshold_, other.threshold_)
    np.testing.assert_array_equal(local.thetas_, other.thetas_)
    assert local.fairness_ == other.fairness_
    assert local.n_samples_fit_ == other.n_samples_fit_ == other.to_local().n_samples_fit_
    assert local.warnings_ == other.warnings_
    given = {"sensitive_features": table["group"]}
    here = other.to_local()
    assert type(here) is ParityBoostClassifier
    for method in ("decision_function", "predict_proba"):
        np.testing.assert_array_equal(
            getattr(local, method)(table[FEATURES], **given), getattr(here, method)(table[FEATURES], **given)
        )
    ours, theirs = local.glass_box_.effects, here.glass_box_.effects
    np.testing.assert_array_equal(ours.tables, theirs.tables)
    for one, another in zip(ours.pairs, theirs.pairs, strict=True):
        np.testing.assert_array_equal(one.weight, another.weight)


@pytest.mark.filterwarnings("ignore:column '(city|job)' has 3 categories")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_jobs": 2, "max_depth": 1},
        {"dial": True},
        {"threshold": "per_group"},
        {"n_bags": KFold(2)},
        {"n_bags": "auto"},
        {"max_bins": 2},  # three jobs share two codes
        {"max_bins": 2, "category_splits": "one", "max_pairs": None},
        {"n_bags": [(np.arange(0, 300), np.arange(300, 500)), (np.arange(200, 500), np.arange(0, 150))]},
    ],
)
def test_a_model_is_that_of_one_machine(client, options):  # noqa: F811
    table = make_table(np.random.default_rng(0), 500, 2)
    local, other = fit_both(table, in_partitions(table, [100, 0, 250, 7]), **options)
    assert_same(local, other, table)


def test_weights_and_validation_data(client):  # noqa: F811
    rng = np.random.default_rng(1)
    table = make_table(rng, 500, 3).assign(weight=rng.integers(0, 4, 500))
    local, other = fit_both(table, in_partitions(table, [100, 0, 250]), weighted=True)
    assert_same(local, other, table)
    extra = make_table(rng, 200, 3)
    local, other = fit_both(table, in_partitions(table, [300]), validation=(extra, in_partitions(extra, [50, 0])))
    assert_same(local, other, table)


def test_very_many_rows_that_are_held_out_stay_where_they_are(client, monkeypatch):  # noqa: F811
    from parityboost._choice import thresholds
    from parityboost.dask import _training

    monkeypatch.setattr(thresholds, "N_BUCKETS", 50)
    monkeypatch.setattr(_training, "MAX_HERE", 50)
    table = make_table(np.random.default_rng(2), 500, 2)
    assert_same(*fit_both(table, in_partitions(table, [100, 250])), table)


def test_signatures_are_the_local_ones():
    theirs = dict(inspect.signature(DaskParityBoostClassifier).parameters)
    assert theirs.pop("client").default is None
    assert theirs == dict(inspect.signature(ParityBoostClassifier).parameters)


@pytest.mark.filterwarnings("ignore:column '(city|job)' has 3 categories")
@pytest.mark.parametrize("threshold", ["auto", "per_group"])
def test_wishes_choose_and_alternatives_are_those_of_one_machine(client, threshold):  # noqa: F811
    table = make_table(np.random.default_rng(5), 900, 2)
    collection = in_partitions(table, [300, 300, 300])
    options = {"threshold": threshold, "notion": "statistical_parity"}
    wishes = {"maximize": {"false_positive": 1, "false_negative": 3}, "limit": 0.3, "capacity": 0.8}
    local, other = fit_both(table, collection, **options, **wishes)
    assert_same(local, other, table)
    assert other.glass_box_.wishes == local.glass_box_.wishes and other.limit == 0.3
    pd.testing.assert_frame_equal(local.alternatives(), other.alternatives(), check_exact=True)
    for again in ({"limit": None, "maximize": "accuracy"}, {"limit": 0.2}, {"fairness": 0.0}):
        ours, theirs = local.choose(**again), other.choose(**again)
        assert type(theirs) is DaskParityBoostClassifier and type(theirs.to_local()) is ParityBoostClassifier
        assert_same(ours, theirs, table)
        given = {} if threshold == "auto" else {"sensitive_features": collection["group"]}
        predicted = theirs.predict(collection[FEATURES], **given).compute()
        np.testing.assert_array_equal(predicted, ours.predict(table[FEATURES], sensitive_features=table["group"]))
    with pytest.raises(LimitNotMet):
        other.choose(limit=0.0, min_ratio=1.0, capacity=0.01)
    with pytest.raises(LimitNotMet):
        fit_both(table, collection, notion="statistical_parity", limit=0.0, min_ratio=1.0)
