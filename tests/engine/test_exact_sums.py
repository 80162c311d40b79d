"""Integers are summed: the model does not depend on threads, row order, blocks, merged rows; and nothing overflows."""

import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from conftest import make_people
from parityboost import AdaFairClassifier
from parityboost._choice import thresholds
from parityboost._engine import threads
from parityboost._engine.cpu import MAX_LEAVES
from parityboost._engine.kernels import boosting
from parityboost._engine.threads import Team
from parityboost._fit import samples
from parityboost._fit.estimator import EstimatorLearner
from parityboost._fit.loop import Trained
from parityboost._fit.pairs import Shape
from parityboost._fit.samples import CodedSample, Masses, Sample, to_masses
from parityboost._fit.trees import Growing, TreeLearner
from parityboost._table.binning import Binner, Bundles, NumericColumn
from parityboost._table.sources import read_sources

STUMPS = Growing(Shape(1, np.zeros((0, 1), dtype=bool)), "gini", None, None, None)
OPTIONS = [
    {},
    {"threshold": "auto", "update": "discrete"},
    {"threshold": "per_group", "class_weight": "balanced_groups"},
    {"learner_weight": "cost", "cumulative": False, "criterion": "error"},
    {"keep": 0.5, "threshold": "auto", "notion": "statistical_parity"},
    {"update": "real", "learning_rate": 0.3, "threshold": "auto", "max_depth": 2},
]


def data(n_rows=3000, kind="reals"):
    X, y, group = make_people(n_rows)
    rng = np.random.default_rng(1)
    weights = {"none": None, "integers": rng.integers(1, 5, n_rows), "reals": rng.gamma(1.0, 1.0, n_rows) + 0.01}[kind]
    return X, y, group, weights


def fitted(rows, validation=None, **options):
    X, y, group, w = rows
    model = AdaFairClassifier(n_estimators=12, random_state=0, **options)
    return model.fit(X, y, sensitive_features=group, sample_weight=w, validation=validation)


def assert_same_bits(one, other):
    assert one.theta_ == other.theta_
    np.testing.assert_array_equal(one.threshold_, other.threshold_)
    assert one.estimators_ == other.estimators_
    pd.testing.assert_frame_equal(one.history_, other.history_, check_exact=True)
    for ours, theirs in zip(one.glass_box_.binner.columns, other.glass_box_.binner.columns, strict=True):
        assert repr(ours) == repr(theirs)


@pytest.fixture
def workers(monkeypatch):
    """The threads that took part; all work is worth a thread."""
    seen = set()
    run = Team.run

    def watched(self, task, n_items, work_per_item):
        def noted(first, last):
            seen.add(threading.get_ident())
            task(first, last)

        run(self, noted, n_items, work_per_item)

    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(samples, "BLOCK_ROWS", 64)
    monkeypatch.setattr(Team, "run", watched)
    return seen


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["none", "reals"])
@pytest.mark.parametrize("options", OPTIONS)
def test_the_number_of_threads_changes_no_bit(workers, options, kind):
    rows = data(kind=kind)
    models = []
    for n_jobs in (1, 2, 7):
        workers.clear()
        models.append(fitted(rows, n_jobs=n_jobs, **options))
        assert len(workers) >= min(n_jobs, 2)
    for other in models[1:]:
        assert_same_bits(models[0], other)


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["none", "integers", "reals"])
@pytest.mark.parametrize("options", OPTIONS)
def test_the_order_of_the_rows_changes_no_bit(options, kind):
    X, y, group, w = data(kind=kind)
    new_X, new_y, new_group = make_people(800, seed=5)
    rng = np.random.default_rng(2)
    models = []
    for order, new_order in ((np.arange(3000), np.arange(800)), (rng.permutation(3000), rng.permutation(800))):
        rows = X.iloc[order], y[order], group[order], None if w is None else w[order]
        validation = new_X.iloc[new_order], new_y[new_order], new_group[new_order]
        models.append(fitted(rows, validation, **options))
    assert_same_bits(*models)


@pytest.mark.parametrize("options", OPTIONS)
def test_the_number_of_blocks_changes_no_bit(monkeypatch, options):
    rows, models = data(), []
    for block_rows in (1 << 20, 50):
        monkeypatch.setattr(samples, "BLOCK_ROWS", block_rows)
        models.append(fitted(rows, **options))
    assert_same_bits(*models)


def test_more_rows_than_are_sorted_for_bins_and_thresholds_in_any_order(monkeypatch):
    monkeypatch.setattr("parityboost._table.binning.EXACT_ROWS", 500)
    monkeypatch.setattr(thresholds, "N_BUCKETS", 300)
    X, y, group, w = data()
    order = np.random.default_rng(2).permutation(3000)
    one = fitted((X, y, group, w), validation_fraction=None, threshold="auto")
    other = fitted((X.iloc[order], y[order], group[order], w[order]), validation_fraction=None, threshold="auto")
    assert_same_bits(one, other)


# --- Sample weights on a grid -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=50))
def test_masses_are_close_to_the_weights_and_in_any_order_the_same(given_weights):
    w = np.array(given_weights)
    masses = to_masses(w)
    assert masses.values.min() >= 1
    assert masses.values.sum() <= samples.MAX_MASS
    np.testing.assert_allclose(masses.values * masses.unit, w, rtol=0, atol=masses.unit)
    assert masses.unit <= w.mean() / 2**22 or (masses.values * masses.unit == w).all()
    reverse = to_masses(w[::-1].copy())
    assert reverse.unit == masses.unit
    np.testing.assert_array_equal(reverse.values[::-1], masses.values)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50), st.integers(0, 6))
def test_whole_numbers_and_their_fractions_are_exact(numbers, halvings):
    w = np.array(numbers) / 2.0**halvings
    masses = to_masses(w)
    np.testing.assert_array_equal(masses.values * masses.unit, w)
    assert masses.unit >= 2.0**-halvings


def test_equal_weights_need_no_masses():
    masses = to_masses(None)
    assert len(masses.values) == 0
    assert len(masses.at(np.arange(3)).values) == 0


# --- No sum overflows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 1 << 10, 1 << 31])
@pytest.mark.parametrize("mass_per_row", [1, 1 << 9])
@pytest.mark.parametrize("factor", [1.01, 3.0, 1e10])
def test_sums_stay_below_their_limit(n_rows, mass_per_row, factor):
    """Two rows per class stand for very many: what is summed depends on their masses alone."""
    heavy = max(n_rows * mass_per_row - 1, 1)
    mass = np.array([1, heavy, 1, heavy])
    binner = Binner((NumericColumn("x0", np.array([0.5]), 2),))
    bundles = SimpleNamespace(bundle_of=np.array([0]), code_of=np.arange(256)[None], sizes=np.array([3]), binner=binner)
    with Team(1) as team:
        sample = Sample(np.array([0, 0, 1, 1]), 1, Masses(mass, 1.0), np.arange(4), team)
        codes = np.array([[0, 1, 0, 1]], dtype=np.uint8)
        coded = CodedSample(sample, codes)
        learner = TreeLearner(bundles, coded, coded, np.ones(2), STUMPS)
        expected = np.array([1.0, heavy, 1.0, heavy])
        for j in range(60):
            votes = np.array([-1, 1, 1, 1] if j % 3 else [1, -1, 1, 1], dtype=np.float64)
            learner.update_histograms()
            learner.rows.put_as_told(codes[0])
            leaf_mass = np.array([[1, 1], [heavy] * 2, [0, 0], [0, 0]])
            trained = Trained(None, 0.1, votes, np.ones(MAX_LEAVES), leaf_mass)
            growth = learner.reweight(trained, np.ones((1, 2)), np.log(factor) / 2, "discrete")
            before = expected.sum()
            wrong = (votes[codes[0]] > 0) != np.array([False, False, True, True])
            expected = expected * np.where(wrong, factor, 1.0)
            if factor < 1e10:  # beyond what the bits of a sum can hold, rows keep at least an integer of one
                assert growth == pytest.approx(expected.sum() / before, rel=1e-4)
            expected /= expected.max()
            values = learner.rows.weights.values.tolist()
            # Python's integers do not overflow.
            exact = [int(m * max(1, round(v))) for m, v in zip(mass.tolist(), values, strict=True)]
            assert learner.classes.sums.tolist() == [
                sum(exact[:2]),
                sum(exact[2:]),
            ]
            assert learner.classes.sums.max() < 2**boosting.LIMIT


# --- A learner without surprises --------------------------------------------------------------------------------------


def stump_learner(X, y, group):
    sources = read_sources(X)
    categorical = [not isinstance(dtype, np.dtype) or dtype.kind not in "biuf" for dtype in X.dtypes]
    with Team(1) as team:
        binner = Binner.fit(sources, slice(None), None, 255, categorical, team)
        bundles = Bundles(binner)
        sample = Sample(y * 2 + (group == "b"), 2, to_masses(None), np.arange(len(y)), team)
        coded = CodedSample(sample, bundles.consume(binner.encode(sources, sample.rows, team)))
        return TreeLearner(bundles, coded, coded, np.ones(4), STUMPS)


def test_a_stump_asked_for_twice_is_the_same_stump():
    X, y, group, _ = data(300)
    learner = stump_learner(X, y, group)
    for _ in range(5):
        one, again = learner.fit(), learner.fit()
        assert one.model == again.model
        assert one.error == again.error
        np.testing.assert_array_equal(one.leaf_mass, again.leaf_mass)
        learner.reweight(again, np.ones((2, 2)), 0.3, "confidence")


def test_an_estimator_asked_for_twice_is_the_same_estimator():
    X, y, group, _ = data(300)
    X = X.select_dtypes("number").fillna(0)
    with Team(1) as team:
        sample = Sample(y * 2 + (group == "b"), 2, to_masses(None), np.arange(len(y)), team)
    tree = DecisionTreeClassifier(max_depth=2, splitter="random")
    rng = np.random.RandomState(0)
    learner = EstimatorLearner(tree, np.array([0, 1]), X, sample, X, sample, np.ones(4), rng)
    seeds = []
    for _ in range(3):
        one, again = learner.fit(), learner.fit()
        assert one.error == again.error
        assert one.model.random_state == again.model.random_state
        seeds.append(one.model.random_state)
        learner.reweight(again, np.ones((2, 2)), 0.3, "confidence")
    assert len(set(seeds)) == 3


def test_masses_keep_the_weight_of_rows_that_hardly_weigh():
    masses = to_masses(np.array([1e-100, 1.0, 1.7]))
    assert masses.values[0] == 1
    assert isinstance(masses.at(slice(1)), Masses)
