"""Measures and audits of Dask collections: counted where the rows are, and the same as of all rows in one place."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from test_dask import in_partitions

from parityboost import metrics
from parityboost.audit import audit


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 1000
    return pd.DataFrame(
        {
            "true": rng.choice(["no", "yes"], n),
            "predicted": rng.choice(["no", "yes"], n, p=[0.6, 0.4]),
            "sex": rng.choice(["f", "m"], n),
            "age": pd.Categorical(rng.choice(["young", "old"], n), categories=["young", "old"], ordered=True),
            "weight": rng.integers(0, 4, n),
        }
    )


SIZES = [300, 0, 17]


def given(data, weighted, columns=("sex", "age")):
    extra = {"sample_weight": data["weight"]} if weighted else {}
    return (data["true"], data["predicted"]), {"sensitive_features": data[list(columns)], **extra}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "measure",
    [
        metrics.group_table,
        metrics.disparate_mistreatment,
        metrics.statistical_parity_ratio,
        metrics.violation,
        metrics.balanced_error_rate,
    ],
)
def test_measures_are_those_of_the_rows_in_one_place(table, weighted, measure):
    keep = table[table["weight"] > 0] if weighted else table
    found = []
    for data in (keep, in_partitions(table, SIZES)):
        labels, options = given(data, weighted)
        if measure is metrics.balanced_error_rate:
            options.pop("sensitive_features")
        if measure is metrics.violation:
            options["notion"] = "equal_opportunity"
        found.append(measure(*labels, **options))
    if isinstance(found[0], pd.DataFrame):
        pd.testing.assert_frame_equal(*found)
    else:
        assert found[0] == found[1]


@pytest.mark.parametrize("weighted", [False, True])
def test_an_audit_is_that_of_the_rows_in_one_place(table, weighted):
    ours, theirs = (
        audit(*labels, **options)
        for labels, options in (given(table, weighted), given(in_partitions(table, SIZES), weighted))
    )
    pd.testing.assert_frame_equal(ours.groups, theirs.groups)
    pd.testing.assert_frame_equal(ours.measures, theirs.measures)
    pd.testing.assert_frame_equal(ours.overall, theirs.overall)
    assert ours.settings == theirs.settings
    assert str(ours) == str(theirs)


def test_what_needs_the_rows_says_so(table):
    there = in_partitions(table, SIZES)
    labels, options = given(there, False)
    with pytest.raises(ValueError, match="scores need all rows in one place"):
        audit(*labels, **options, scores=there["weight"])
    with pytest.raises(TypeError, match="sensitive_features is no Dask collection"):
        audit(*labels, sensitive_features=table["sex"])
    with pytest.raises(ValueError, match="y_true has 4 partitions, y_pred 2"):
        metrics.group_counts(labels[0], in_partitions(table, [5])["predicted"], sensitive_features=there["sex"])
    with pytest.raises(ValueError, match=r"partition \d: y_true has"):
        metrics.group_counts(
            labels[0], in_partitions(table, [299, 0, 17])["predicted"], sensitive_features=there["sex"]
        )
    missing = in_partitions(table.assign(sex=table["sex"].where(table.index != 5)), SIZES)
    with pytest.raises(ValueError, match="'sex' is missing in 1 of 1000 rows"):
        metrics.group_table(missing["true"], missing["predicted"], sensitive_features=missing["sex"])
    arrays = [da.from_array(table[name].to_numpy(dtype=object), chunks=300) for name in ("true", "predicted", "sex")]
    counts, groups = metrics.group_counts(*arrays[:2], sensitive_features=arrays[2])
    expected, _ = metrics.group_counts(table["true"], table["predicted"], sensitive_features=table["sex"])
    np.testing.assert_array_equal(counts, expected)
    assert groups.tolist() == ["f", "m"]
