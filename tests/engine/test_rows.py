"""Every pass over the rows equals its plain twin, with threads and on whatever devices there are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices import DEVICES, needs_card
from parityboost._arrays import N_CODES, room
from parityboost._engine import threads
from parityboost._engine.cpu import GROWN, NONE, Grown
from parityboost._engine.kernels import boosting
from parityboost._engine.threads import Team, kernels_for
from parityboost._fit import samples
from parityboost._fit.samples import Masses, Sample
from parityboost._table import binning
from parityboost._table.binning import NumericColumn
from parityboost._table.sources import NumberSource, place_sources

N_GROUPS, N_BUNDLES = 3, 5
CELLS = 2 * N_GROUPS
GRID = 2.0**-36


class Twin:
    """Rows of random cells, codes and weights, placed on a device and as plain arrays beside it."""

    def __init__(self, team, seed, n_rows, weighted):
        self.rng = rng = np.random.default_rng(seed)
        cell = rng.choice(CELLS, n_rows, p=[0.5, 0.1, 0.0, 0.3, 0.09, 0.01])
        mass = rng.integers(1, 2**20, n_rows) if weighted else np.empty(0, dtype=np.int64)
        sample = Sample(cell, N_GROUPS, Masses(mass, 1.0), np.arange(n_rows), team)
        self.sample, self.cell = sample, sample.cell
        self.mass = sample.masses.values if weighted else np.ones(n_rows, dtype=np.int64)
        self.codes = rng.integers(0, N_CODES, (N_BUNDLES, n_rows)).astype(np.uint8)
        self.codes[1] = 7  # every row in one bin
        self.rows = sample.place(self.codes, np.arange(N_BUNDLES))
        self.y = (self.cell >= N_GROUPS).astype(int)
        self.margin = np.zeros(n_rows)

    def start(self):
        start = np.exp(self.rng.normal(size=CELLS))
        self.classes = boosting.start_classes(self.sample.cell_mass, start)
        self.weights = start[self.cell] * 2.0 ** self.classes.bits[self.y]
        self.rows.start_weights(start, self.classes)
        return self.whole()

    def whole(self):
        return np.maximum(np.rint(self.weights).astype(np.int64), 1) * self.mass

    def tree(self):
        """A random tree of two or four leaves."""
        rng, grown = self.rng, Grown(*room(*GROWN))
        grown.features[:] = rng.integers(0, N_BUNDLES), *rng.choice([NONE, 0, 2, 3], 2)
        grown.side_of_code[:] = rng.integers(0, 2, N_CODES)
        grown.root_leaves[:] = 2 * grown.side_of_code + 1
        for side in (0, 1):
            is_split = grown.features[1 + side] != NONE
            grown.leaf_of_code[side] = 2 * side + (rng.integers(0, 2, N_CODES) if is_split else 1)
        self.sides = grown.side_of_code[self.codes[grown.features[0]]]
        below = [self.codes[max(feature, 0)] for feature in grown.features[1:]]
        self.leaves = np.where(self.sides, grown.leaf_of_code[1][below[1]], grown.leaf_of_code[0][below[0]])
        grown.leaf_mass[:] = self.sums(self.mass, self.leaves, self.y, shape=(4, 2))
        return grown

    @staticmethod
    def sums(values, *keys, shape):
        sums = np.zeros(shape, dtype=np.int64)
        np.add.at(sums, keys, values)
        return sums

    def histograms(self, values):
        per_bundle = [self.sums(values, self.y, column, shape=(2, N_CODES)) for column in self.codes]
        return np.array(per_bundle)


def added(add, *given):
    values = np.zeros((N_BUNDLES, 2, 2, N_CODES), dtype=np.int64)
    add(*given, values)
    return values.sum(axis=2)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 700), weighted=st.booleans())
def test_every_pass_equals_its_plain_twin(device, n_threads, seed, n_rows, weighted):
    with pytest.MonkeyPatch.context() as patch, Team(n_threads, device) as team:
        patch.setattr(threads, "WORTH_A_THREAD", 1)
        patch.setattr(samples, "BLOCK_ROWS", 64)
        twin = Twin(team, seed, n_rows, weighted)
        rows, rng = twin.rows, twin.rng
        np.testing.assert_array_equal(rows.sum_masses(), twin.histograms(twin.mass).transpose(1, 0, 2))
        whole = twin.start()
        told = twin.histograms(whole)
        np.testing.assert_array_equal(added(rows.add_changes), told)
        np.testing.assert_array_equal(added(rows.add_changes), 0)  # once
        for _ in range(3):
            grown = twin.tree()
            side = int(rng.integers(0, 2))
            np.testing.assert_array_equal(
                added(rows.add_side, grown, side), twin.histograms(twin.whole() * (twin.sides == side))
            )
            np.testing.assert_array_equal(rows.put_into_leaves(grown), grown.leaf_mass)
            check_margins(twin)
            check_weights(twin, told)
            told = twin.histograms(twin.whole())


def check_margins(twin):
    """A step per leaf is added, and positive predictions are counted."""
    rng, steps = twin.rng, np.rint(twin.rng.normal(size=4) * 2.0**30) * GRID
    threshold, learner_too = [(0.0, False), (0.25, False), (0.0, True)][rng.integers(3)]
    positives = twin.rows.move_margins(steps, threshold, learner_too)
    twin.margin += steps[twin.leaves]
    kinds = [twin.margin > 0, twin.margin > threshold, steps[twin.leaves] > 0]
    for kind in range(3 if learner_too else 2):
        np.testing.assert_array_equal(positives[:, kind], twin.sums(twin.mass * kinds[kind], twin.cell, shape=CELLS))
    margin, cell, mass = twin.rows.list_margins()
    np.testing.assert_array_equal(margin, twin.margin)
    np.testing.assert_array_equal(cell, twin.cell)
    np.testing.assert_array_equal(mass if len(mass) else np.ones(len(cell)), twin.mass)
    low, high = twin.rows.margin_range()
    assert (low, high) == (twin.margin.min(), twin.margin.max())
    shift = int(rng.integers(20, 34))
    numbers = (np.rint(twin.margin / GRID).astype(np.int64) - 1) >> shift
    lowest, n_buckets = int(numbers.min()), int(np.ptp(numbers)) + 1
    np.testing.assert_array_equal(
        twin.rows.count_margins(GRID, shift, lowest, n_buckets),
        twin.sums(twin.mass, numbers - lowest, twin.cell, shape=(n_buckets, CELLS)),
    )


def check_weights(twin, told):
    """They are multiplied, added up, and the histograms get to know what changed."""
    rng, rows, classes = twin.rng, twin.rows, twin.classes
    wrong = rng.random((CELLS, 4)) < 0.5
    np.testing.assert_array_equal(
        rows.sum_wrong(wrong), twin.sums(twin.whole() * wrong[twin.cell, twin.leaves], twin.cell, shape=CELLS)
    )
    factors = np.where(rng.random((CELLS, 4)) < 0.5, 1.0, np.exp(rng.normal(size=(CELLS, 4))))
    renewed, bits = rng.random(2) < 0.3, rng.integers(-3, 3, 2)
    classes.is_renewed[:], classes.bits[:] = False, np.where(renewed, bits, 0)
    rows.change_weights(factors, classes)
    twin.weights = twin.weights * 2.0 ** classes.bits[twin.y] * factors[twin.cell, twin.leaves]
    if renewed.any():
        classes.is_renewed[:], classes.bits[:] = renewed, np.where(renewed, 1, 0)
        rows.list_anew(classes)
        twin.weights = twin.weights * 2.0 ** classes.bits[twin.y]
    assert classes.sums.tolist() == [twin.whole()[twin.y == k].sum() for k in (0, 1)]
    known = told.copy()
    known[:, renewed] = 0  # of a renewed class everything is listed
    np.testing.assert_array_equal(known + added(rows.add_changes), twin.histograms(twin.whole()))
    classes.units[:] = 1.0
    total = float(twin.whole().sum())
    np.testing.assert_allclose(rows.distribution(classes, total), twin.whole() / total)


COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "two values": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "some values": lambda rng, n: rng.integers(0, 2_000, n) / 8,
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.9, -0.0, rng.lognormal(0.0, 30.0, n)),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.gamma(1.0, size=n)),
    "a heavy neighbour": lambda rng, n: np.where(rng.random(n) < 0.2, np.nextafter(1.0, 2.0), rng.random(n) + 0.5),
    "nothing": lambda rng, n: np.full(n, np.nan),
}


@needs_card
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_on_the_card_have_the_same_bins_and_codes(name, weighted, monkeypatch):
    monkeypatch.setattr(binning, "EXACT_ROWS", 1_000)
    rng = np.random.default_rng(0)
    values = COLUMNS[name](rng, 400_000)
    weights = rng.integers(1, 2**30, len(values)) if weighted else None
    chosen = rng.permutation(len(values))[:300_000].astype(np.int32)
    weights = None if weights is None else weights[chosen]
    here = NumberSource("x", values)
    with Team(1, "cuda") as team:
        for source in (here, NumberSource("x", team.card.place(values))):
            (there,) = place_sources([source], team.card.place)
            expected = NumericColumn.fit(here, chosen, weights, 255)
            found = NumericColumn.fit(there, chosen, weights, 255)
            assert found.n_bins == expected.n_bins
            assert found.edges.tolist() == expected.edges.tolist()
            codes = team.card.to_host(found.encode(there, chosen))
            assert np.array_equal(codes, expected.encode(here, chosen))


@needs_card
def test_infinity_on_the_card_is_refused():
    column = NumericColumn("x", np.array([0.5]), 2)
    (there,) = place_sources([NumberSource("x", np.array([0.0, np.inf, 1.0]))], kernels_on_card().place)
    with pytest.raises(ValueError, match="column 'x' of X contains infinity"):
        column.encode(there, slice(None))


@needs_card
def test_look_ups_on_the_card():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, N_CODES, (3, 5_000)).astype(np.uint8)
    steps = rng.integers(-100, 100, (2, N_CODES)) / 8
    margin, placed = np.zeros(5_000), kernels_on_card().zeros(5_000)
    pairs = (
        np.array([[0, 2], [1, 0]]),
        rng.integers(0, 4, (2, N_CODES)).astype(np.uint8),
        rng.integers(0, 3, (2, N_CODES)).astype(np.uint8),
        np.array([3, 3]),
        np.array([0, 12]),
        rng.integers(-100, 100, 24) / 8,
    )
    for where, rows in ((margin, codes), (placed, kernels_on_card().place(codes))):
        for f in range(2):
            kernels_for(where).add_steps(rows[f], steps[f], where)
        kernels_for(where).add_pair_steps(rows, *pairs, where)
    assert np.array_equal(placed.get(), margin)


def kernels_on_card():
    import cupy

    return kernels_for(cupy.zeros(1))
