"""Every pass over the rows equals its plain twin, on whatever devices there are; columns on a card equal those here."""

import numpy as np
import pytest

from devices import DEVICES, needs_card
from parityboost._engine.codes import N_CODES
from parityboost._engine.columns import kernels_for, lookup_for
from parityboost._engine.threads import Team
from parityboost._fit.samples import Masses, Sample
from parityboost._table import cuts
from parityboost._table.binning import NumericColumn
from parityboost._table.sources import NumberSource, place_sources

N_GROUPS, N_BUNDLES = 3, 5
CELLS = 2 * N_GROUPS


class Rows:
    """Random rows, placed and as they are; some cells have several blocks, one has none."""

    def __init__(self, team, weighted, n_rows=30_000):
        rng = np.random.default_rng(0)
        cell = rng.choice(CELLS, n_rows, p=[0.5, 0.1, 0.0, 0.3, 0.0999, 0.0001])
        mass = rng.integers(1, 2**20, n_rows) if weighted else np.empty(0, dtype=np.int64)
        self.sample = Sample(cell, N_GROUPS, Masses(mass, 1.0), np.arange(n_rows), team)
        self.blocks, self.cell = self.sample.blocks, self.sample.cell
        self.mass = self.sample.masses.values if weighted else np.ones(n_rows, dtype=np.int64)
        self.codes = rng.integers(0, N_CODES, (N_BUNDLES, n_rows)).astype(np.uint8)
        self.codes[1] = 7  # every row in one bin
        self.weights = np.exp(rng.normal(10.0, 5.0, n_rows)).clip(max=2.0**38)
        self.weights[::100] = 0.25  # an integer of at least one
        self.leaf_of_code = rng.integers(0, 2, N_CODES).astype(np.uint8)
        self.leaves = self.leaf_of_code[self.codes[0]]
        backend = team.backend
        self.placed = (self.sample.placed_mass, self.sample.placed_blocks)
        self.placed_codes = backend.place(self.codes)
        self.placed_weights = backend.place(self.weights.copy())
        self.placed_leaves = self.placed_codes[0], self.leaf_of_code
        self.lists = backend.lists(n_rows, len(self.blocks))
        self.backend = backend

    def per_cell(self, values):
        sums = np.zeros(CELLS, dtype=np.int64)
        np.add.at(sums, self.cell, values)
        return sums

    def whole(self, weights):
        return np.maximum(np.rint(weights).astype(np.int64), 1) * self.mass

    def listed(self):
        """The gain of each row that is listed, 0 for all others; and which rows are listed."""
        rows, gains, n_rows = (self.backend.to_host(part) for part in self.lists)
        gain, is_listed = np.zeros(len(self.cell), dtype=np.int64), np.zeros(len(self.cell), dtype=bool)
        for (_, first, last), n in zip(self.blocks.tolist(), n_rows.tolist(), strict=True):
            here = rows[first : first + n]
            assert n == 0 or (first <= here.min() and here.max() < last)
            assert len(np.unique(here)) == n
            gain[here], is_listed[here] = gains[first : first + n], True
        return gain, is_listed


@pytest.fixture(params=[False, True], ids=["", "weighted"])
def weighted(request):
    return request.param


@pytest.fixture(params=DEVICES)
def rows(request, weighted):
    with Team(1, request.param) as team:
        yield Rows(team, weighted)


@pytest.mark.parametrize(("threshold", "learner_too"), [(0.0, False), (0.25, False), (0.0, True)])
def test_margins_move_and_are_counted(rows, threshold, learner_too):
    margin = np.random.default_rng(1).normal(size=len(rows.cell))
    placed = rows.backend.place(margin.copy())
    steps = np.array([-0.5, 0.75])
    cells, positives = rows.backend.move_margins(
        rows.placed_leaves, steps, threshold, learner_too, placed, *rows.placed, CELLS
    )
    expected = margin + steps[rows.leaves]
    assert np.array_equal(rows.backend.to_host(placed), expected)
    counted = np.zeros((CELLS, 3), dtype=np.int64)
    np.add.at(counted, cells[:, 0], positives)
    assert counted[:, 0].tolist() == rows.per_cell(rows.mass * (expected > 0)).tolist()
    assert counted[:, 1].tolist() == rows.per_cell(rows.mass * (expected > threshold)).tolist()
    if learner_too:
        assert counted[:, 2].tolist() == rows.per_cell(rows.mass * (rows.leaves == 1)).tolist()


def test_weights_start_and_are_scaled(rows):
    start = np.arange(1.0, CELLS + 1)
    placed = rows.backend.zeros(len(rows.cell))
    rows.backend.fill_weights(rows.placed[1], start, placed)
    rows.backend.scale_weights(rows.placed[1], N_GROUPS, 1, 0.5, placed)
    expected = start[rows.cell] * np.where(rows.cell >= N_GROUPS, 0.5, 1.0)
    assert np.array_equal(rows.backend.to_host(placed), expected)


def test_weights_change_and_are_listed(rows):
    factors = np.ones((CELLS, 2))
    factors[0] = 1.0, 1.7
    factors[3] = 0.3, 2.9
    sums = rows.backend.place(np.full(len(rows.blocks), 10))
    rows.backend.change_weights(
        rows.placed_leaves, factors, rows.placed_weights, *rows.placed, len(rows.blocks), rows.lists, sums
    )
    factor = factors[rows.cell, rows.leaves]
    expected = rows.weights * factor
    gains = rows.whole(expected) - rows.whole(rows.weights)
    gain, is_listed = rows.listed()
    assert np.array_equal(rows.backend.to_host(rows.placed_weights), expected)
    assert np.array_equal(is_listed, factor != 1.0)
    assert np.array_equal(gain, gains)
    per_block = [10 + gains[first:last].sum() for _, first, last in rows.blocks.tolist()]
    assert rows.backend.to_host(sums).tolist() == per_block
    per_class = np.zeros(2, dtype=np.int64)
    rows.backend.sum_per_class(rows.placed[1], sums, N_GROUPS, len(rows.blocks) - 1, per_class)
    y = rows.blocks[:-1, 0] >= N_GROUPS
    assert per_class.tolist() == [np.array(per_block[:-1])[y == k].sum() for k in (0, 1)]


def test_everything_is_listed(rows):
    sums = rows.backend.place(np.zeros(len(rows.blocks), dtype=np.int64))
    last = len(rows.blocks)
    rows.backend.list_everything(rows.placed_weights, *rows.placed, 0, last, N_GROUPS, {1}, rows.lists, sums)
    gain, is_listed = rows.listed()
    assert np.array_equal(is_listed, rows.cell >= N_GROUPS)
    assert np.array_equal(gain[is_listed], rows.whole(rows.weights)[is_listed])
    rows.backend.list_everything(rows.placed_weights, *rows.placed, 1, 2, N_GROUPS, {0, 1}, rows.lists, sums)
    _, first, stop = rows.blocks[1].tolist()
    assert rows.backend.to_host(sums)[1] == rows.whole(rows.weights)[first:stop].sum()


def test_a_leaf_is_listed(rows):
    rows.backend.list_leaf(rows.placed_leaves, 1, rows.placed_weights, *rows.placed, rows.lists)
    gain, is_listed = rows.listed()
    assert np.array_equal(is_listed, rows.leaves == 1)
    assert np.array_equal(gain, rows.whole(rows.weights) * is_listed)


def test_what_is_wrong_is_summed(rows):
    wrong = np.random.default_rng(1).random((CELLS, 2)) < 0.5
    found = rows.backend.sum_wrong(rows.placed_leaves, wrong, rows.placed_weights, *rows.placed)
    assert found.tolist() == rows.per_cell(rows.whole(rows.weights) * wrong[rows.cell, rows.leaves]).tolist()


def test_leaves_of_trees(rows):
    rng = np.random.default_rng(1)
    leaf_of_code = np.stack([rng.integers(0, 2, N_CODES), rng.integers(2, 4, N_CODES)]).astype(np.uint8)
    column, right, left = rows.placed_codes[0], rows.placed_codes[2], rows.placed_codes[3]
    leaves, mass = rows.backend.split_leaves(
        column, rows.leaf_of_code, (right, left), leaf_of_code, *rows.placed, CELLS
    )
    expected = np.where(rows.leaves, leaf_of_code[1][rows.codes[3]], leaf_of_code[0][rows.codes[2]])
    assert np.array_equal(rows.backend.to_host(leaves), expected)
    for leaf in range(4):
        assert mass[:, leaf].tolist() == rows.per_cell(rows.mass * (expected == leaf)).tolist()


def test_histograms(rows):
    gain = np.random.default_rng(1).integers(-(2**40), 2**45, len(rows.cell))
    gain[::7] = 3  # and some that need no second word
    is_listed = rows.leaves == 1
    lists = [np.zeros(len(gain), dtype=np.uint32), np.zeros_like(gain), np.zeros(len(rows.blocks), dtype=np.int64)]
    for b, (_, first, last) in enumerate(rows.blocks.tolist()):
        here = np.flatnonzero(is_listed[first:last]) + first
        lists[0][first : first + len(here)], lists[1][first : first + len(here)] = here, gain[here]
        lists[2][b] = len(here)
    values = np.full((N_BUNDLES, 2, 2, N_CODES), 100)
    placed = tuple(rows.backend.place(part) for part in lists)
    rows.backend.add_to_histograms(rows.placed_codes, placed, rows.placed[1], N_GROUPS, values)
    masses = rows.backend.sum_masses(
        rows.placed_codes, rows.placed[0], rows.sample.n_negative, rows.placed[1], N_GROUPS
    )
    for f in range(N_BUNDLES):
        for y in (0, 1):
            here = (rows.cell >= N_GROUPS) == y
            expected, of_masses = np.full(N_CODES, 200), np.zeros(N_CODES, dtype=np.int64)
            np.add.at(expected, rows.codes[f, here & is_listed], gain[here & is_listed])
            np.add.at(of_masses, rows.codes[f, here], rows.mass[here])
            assert values[f, y].sum(axis=0).tolist() == expected.tolist()
            assert masses[y, f].tolist() == of_masses.tolist()


def test_margins_are_counted_in_buckets(rows):
    steps = np.random.default_rng(1).integers(-500, 500, len(rows.cell))
    margin = rows.backend.place(steps * 2.0**-36)
    assert rows.backend.range_of(margin) == (steps.min() * 2.0**-36, steps.max() * 2.0**-36)
    lowest = (int(steps.min()) - 1) >> 3
    n_buckets = ((int(steps.max()) - 1) >> 3) - lowest + 1
    found = rows.backend.count_margins(margin, 2.0**-36, 3, lowest, n_buckets, rows.cell, *rows.placed, CELLS)
    expected = np.zeros((n_buckets, CELLS), dtype=np.int64)
    np.add.at(expected, (((steps - 1) >> 3) - lowest, rows.cell), rows.mass)
    assert np.array_equal(found, expected)


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
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_on_the_card_have_the_same_bins_and_codes(name, weighted, monkeypatch):
    monkeypatch.setattr(cuts, "EXACT_ROWS", 1_000)
    rng = np.random.default_rng(0)
    values = COLUMNS[name](rng, 400_000)
    weights = rng.integers(1, 2**30, len(values)) if weighted else None
    chosen = rng.permutation(len(values))[:300_000].astype(np.int32)
    weights = None if weights is None else weights[chosen]
    here = NumberSource("x", values)
    with Team(1, "cuda") as team:
        for source in (here, NumberSource("x", team.backend.place(values))):
            (there,) = place_sources([source], team.backend.place)
            expected = NumericColumn.fit(here, chosen, weights, 255)
            found = NumericColumn.fit(there, chosen, weights, 255)
            assert found.n_bins == expected.n_bins
            assert found.edges.tolist() == expected.edges.tolist()
            codes = team.backend.to_host(found.encode(there, chosen))
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
            lookup_for(where).add_steps(rows[f], steps[f], where)
        lookup_for(where).add_pair_steps(rows, *pairs, where)
    assert np.array_equal(placed.get(), margin)


def kernels_on_card():
    import cupy

    return kernels_for(cupy.zeros(1))
