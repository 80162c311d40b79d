"""Rows as boosting sees them: bundles of columns, and equal rows merged."""

import numpy as np
import pandas as pd
import pytest

from conftest import make_people
from parityboost import AdaFairClassifier
from parityboost._engine.kernels import boosting
from parityboost._engine.threads import Team
from parityboost._fit import samples
from parityboost._fit.samples import CodedSample, Sample, merge_equal_rows, to_masses
from parityboost._table.binning import Binner, Bundles
from parityboost._table.sources import read_sources


def test_bundles_hold_the_codes_of_all_their_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, k, 500).astype(float) for k in (2, 3, 200, 7, 40, 5, 2, 15, 300)])
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 0] = np.abs(X[:, 1] - 1) > 0
    sources = read_sources(X)
    with Team(1) as team:
        binner = Binner.fit(sources, slice(None), None, 255, [False] * 9, team)
        expected = np.array(binner.encode(sources, slice(None), team))
        bundles = Bundles(binner)
        codes = bundles.consume(list(expected.copy()))
    assert len(bundles.members) < 9
    assert sorted(j for members in bundles.members for j in members) == list(range(9))
    assert (bundles.sizes <= 256).all()
    for j in range(9):
        b = bundles.bundle_of[j]
        assert j in bundles.members[b]
        assert codes[b].max() < bundles.sizes[b]
        np.testing.assert_array_equal(bundles.code_of[j][codes[b]], expected[j])


def test_room_for_other_categories_is_made_where_they_occur():
    X = pd.DataFrame({"job": list("abab"), "city": list("xyxy")})
    later = pd.DataFrame({"job": list("abca"), "city": ["x", None, "y", "x"]})
    sources, later_sources = read_sources(X), read_sources(later)
    with Team(1) as team:
        binner = Binner.fit(sources, slice(None), None, 255, [True, True], team)
        columns = [binner.encode(sources, slice(None), team), binner.encode(later_sources, slice(None), team)]
        assert Bundles(binner).sizes.tolist() == [16]
        assert Bundles.of(binner, columns[:1]).sizes.tolist() == [9]
        bundles = Bundles.of(binner, columns)
        assert bundles.sizes.tolist() == [12]
        codes = bundles.consume(columns[1])
    assert bundles.code_of[0][codes[0]].tolist() == [1, 2, 3, 1]


def repetitive(n_rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n_rows, 3)).astype(float)
    group = rng.integers(0, 2, n_rows)
    y = (X.sum(axis=1) + group + rng.normal(size=n_rows) > 5).astype(int)
    return X, y, group


@pytest.mark.parametrize("kind", ["equal", "integers", "reals"])
def test_merging_equal_rows_changes_no_bit(monkeypatch, kind):
    X, y, group = repetitive()
    rng = np.random.default_rng(1)
    weights = {"equal": None, "integers": rng.integers(1, 5, len(y)), "reals": rng.uniform(0.5, 2, len(y))}[kind]
    merged = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=group, sample_weight=weights)
    monkeypatch.setattr(samples, "DISTINCT_SHARE", -1.0)
    every = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=group, sample_weight=weights)
    assert merged.estimators_ == every.estimators_
    assert merged.history_.equals(every.history_)


def sample_of(X, y, group):
    with Team(1) as team:
        sample = Sample(y * 2 + group, 2, to_masses(None), np.arange(len(y)), team)
    codes = np.ascontiguousarray(X[sample.rows].T.astype(np.uint8) + 1)
    return CodedSample(sample, codes)


def test_merged_rows_keep_their_cell_and_their_total_weight():
    X, y, group = repetitive()
    coded = sample_of(X, y, group)
    merged = merge_equal_rows(coded)
    assert len(merged.sample) == len({(*row, a, b) for *row, a, b in zip(*X.T, y, group, strict=True)})
    np.testing.assert_array_equal(merged.sample.totals, coded.sample.totals)
    np.testing.assert_array_equal(merged.codes.T, X[merged.sample.rows] + 1)


def test_rows_of_equal_hash_that_differ_are_not_merged(monkeypatch):
    coded = sample_of(*repetitive())
    monkeypatch.setattr(samples, "_hashes", lambda codes: np.zeros(codes.shape[1], dtype=np.uint64))
    assert merge_equal_rows(coded) is coded


def test_few_or_distinct_rows_are_left_alone():
    rng = np.random.default_rng(0)
    coded = sample_of(*repetitive(500))
    assert merge_equal_rows(coded) is coded
    _, y, group = repetitive(8000)
    coded = sample_of(rng.integers(0, 254, (8000, 3)), y, group)
    assert merge_equal_rows(coded) is coded


def test_other_bits_for_the_sums_change_next_to_nothing(monkeypatch):
    X, y, group = make_people(500)
    free = AdaFairClassifier(n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    monkeypatch.setattr(boosting, "TARGET", 57)
    often = AdaFairClassifier(n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(free.estimator_weights_, often.estimator_weights_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(free.history_["Z"], often.history_["Z"])
