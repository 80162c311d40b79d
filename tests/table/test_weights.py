"""Sample weights of any size: nothing overflows, and rows without weight are no rows."""

import numpy as np
import pandas as pd
import pytest

from conftest import make_people
from parityboost import AdaFairClassifier, audit, metrics
from parityboost._table.binning import NumericColumn, find_stretches
from parityboost._table.sources import NumberSource


def fitted(people, weights, **options):
    X, y, group = people
    options = {"n_estimators": 8, "random_state": 0} | options
    return AdaFairClassifier(**options).fit(X, y, sensitive_features=group, sample_weight=weights)


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_groups"])
@pytest.mark.parametrize("factor", [2.0**1017, 2.0**-1073, 2.0**40], ids=["huge", "tiny", "large"])
def test_only_ratios_of_weights_matter(factor, class_weight):
    """Around 1e306 their sum overflows, below 1e-310 their reciprocals do."""
    people = make_people(600)
    weights = np.random.default_rng(0).integers(1, 8, 600).astype(float)
    plain = fitted(people, weights, class_weight=class_weight, threshold="auto")
    scaled = fitted(people, weights * factor, class_weight=class_weight, threshold="auto")
    pd.testing.assert_frame_equal(scaled.history_, plain.history_, check_exact=True)
    np.testing.assert_array_equal(scaled.decision_function(people[0]), plain.decision_function(people[0]))


@pytest.mark.parametrize("largest", [1e17, 1.7e308])
def test_one_weight_that_outweighs_all(people, largest):
    weights = np.ones(len(people[0]))
    weights[5] = largest
    if largest < 1e100:
        assert fitted(people, weights).n_estimators_ >= 1
    else:
        with pytest.raises(
            ValueError, match=r"sample_weight ranges from 1\.0 to 1\.7e\+308, more than a factor of 1e\+150"
        ):
            fitted(people, weights)


def test_a_light_value_behind_a_heavy_one_keeps_its_weight():
    values = np.arange(300.0)
    weights = np.ones(300, dtype=np.int64)
    weights[0] = 10**17
    found = find_stretches(values, weights)
    np.testing.assert_array_equal(found.mass, weights)
    np.testing.assert_array_equal(found.lowest, values)
    assert NumericColumn.fit(NumberSource("x", values), slice(None), weights, 255).n_bins > 200


def test_rows_without_weight_are_no_validation_rows(people):
    X, y, group = people
    training, validation = np.arange(150), np.arange(150, 300)
    weights = np.where(np.arange(150) % 3 == 0, 0.0, 2.0)

    def fit(X_v, y_v, group_v, weights_v):
        model = AdaFairClassifier(n_estimators=15, update="discrete", threshold="auto")
        return model.fit(
            X.iloc[training],
            y[training],
            sensitive_features=group[training],
            validation=(X_v, y_v, group_v, weights_v),
        )

    labels, groups = y[validation].copy(), group[validation].astype(object)
    labels[0], groups[3] = 7, "unseen"  # in rows without weight: no third class, no new group
    kept = validation[weights > 0]
    with_zeros = fit(X.iloc[validation], labels, groups, weights)
    without = fit(X.iloc[kept], y[kept], group[kept], None)
    pd.testing.assert_frame_equal(with_zeros.history_, without.history_, check_exact=True)
    assert with_zeros.threshold_ == without.threshold_
    points = without.frontier(X.iloc[kept], y[kept], sensitive_features=group[kept])
    zeros = with_zeros.frontier(X.iloc[validation], labels, sensitive_features=groups, sample_weight=weights)
    pd.testing.assert_frame_equal(zeros, points)
    pd.testing.assert_frame_equal(with_zeros.frontier(), without.frontier())


def test_rows_without_weight_are_no_training_rows(people):
    X, y, group = people
    weights = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    labels, groups = y.copy(), group.astype(object)
    labels[0], groups[3] = 7, None
    kept = np.flatnonzero(weights)
    model = AdaFairClassifier(n_estimators=8, validation_fraction=None)
    with_zeros = model.fit(X, labels, sensitive_features=groups, sample_weight=weights).history_
    without = model.fit(X.iloc[kept], y[kept], sensitive_features=group[kept]).history_
    pd.testing.assert_frame_equal(with_zeros, without, check_exact=True)


def test_weights_that_cannot_be_summed_are_refused_where_sums_are_shown():
    y, group = [0, 1, 0, 1], list("aabb")
    with pytest.raises(ValueError, match=r"sample_weight is too large to be summed, up to 1e\+308"):
        metrics.group_table(y, y, sensitive_features=group, sample_weight=[1e308, 9e307, 9e307, 9e307])


def test_an_audit_squares_weights_of_any_size():
    y, group = [0, 1, 0, 1] * 20, list("aabb") * 20
    weights = np.arange(1.0, 81.0)
    plain = audit.audit(y, y, sensitive_features=group, sample_weight=weights)
    large = audit.audit(y, y, sensitive_features=group, sample_weight=weights * 2.0**1000)
    pd.testing.assert_frame_equal(large.groups, plain.groups)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["1", "heavy", *["1"] * 298], "sample_weight must hold numbers, got 'heavy' in row 1"),
        ([1, 10**400, *[1] * 298], "sample_weight must hold numbers, got 1000.*… in row 1"),
        ([1, [2], *[1] * 298], r"sample_weight must hold numbers, got \[2\] in row 1"),
    ],
)
def test_weights_that_are_no_numbers_are_named(people, weights, message):
    with pytest.raises(ValueError, match=message):
        fitted(people, weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (pd.date_range("2020", periods=300), r"must hold numbers, got Timestamp\('2020-01-01 00:00:00'\) in row 0"),
        (np.full(300, 1j), "sample_weight must hold numbers, got .*1j.* in row 0"),
        ({"a": 1}, "sample_weight must hold numbers, got {'a': 1}"),
    ],
)
def test_weights_of_other_kinds_are_named(people, weights, message):
    with pytest.raises(ValueError, match=message):
        fitted(people, weights)


def test_factors_of_classes_of_any_size(people):
    plain = fitted(people, None, class_weight={0: 1.0, 1: 2.0})
    large = fitted(people, None, class_weight={0: 2.0**1022, 1: 2.0**1023})
    pd.testing.assert_frame_equal(large.history_, plain.history_, check_exact=True)
    with pytest.raises(ValueError, match=r"class_weight ranges from 1e-300 to 1e\+300"):
        fitted(people, None, class_weight={0: 1e-300, 1: 1e300})
