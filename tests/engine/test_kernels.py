"""Every compiled kernel against a naive twin, on random inputs, as compiled code and as plain Python."""

import ast
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import parityboost
from conftest import KERNELS, interpret_kernels, make_people
from parityboost import AdaFairClassifier
from parityboost._choice import rule
from parityboost._choice.candidates import between, candidates
from parityboost._choice.settings import Settings
from parityboost._choice.thresholds import undominated
from parityboost._engine.kernels import rounds, splitting
from parityboost._engine.threads import Team
from parityboost._fit import ranking, samples, weights
from parityboost._fit.samples import CodedSample, Leaves, Masses, Sample, merge_equal_rows, to_masses
from parityboost._table import cuts
from parityboost._table.binning import Binner
from parityboost._table.bundles import Bundles
from parityboost._table.sources import read_sources
from parityboost.notions import StatisticalParity, get_notion

SEEDS = range(4)


@pytest.fixture(params=["compiled", "plain"])
def kernel(request, monkeypatch):
    """Looks a kernel up by name: the compiled one, or the Python function it was made from."""
    if request.param == "plain":
        interpret_kernels(monkeypatch)

    def find(name):
        module = next(m for m in KERNELS if hasattr(m, name))
        return getattr(module, name)

    with np.errstate(over="ignore", invalid="ignore"):  # hashes overflow on purpose, as does the test for infinity
        yield find


@pytest.fixture(params=SEEDS)
def rng(request):
    return np.random.default_rng(request.param)


def random_rows(rng, n_rows=300, n_features=6, n_groups=3):
    """Codes, blocks and weights as training has them."""
    cell = np.sort(rng.integers(2 * n_groups, size=n_rows))
    codes = rng.integers(0, 7, (n_features, n_rows)).astype(np.uint8)
    blocks = []
    for k in range(2 * n_groups):
        rows = np.flatnonzero(cell == k)
        for part in np.array_split(rows, 3):
            if len(part):
                blocks.append((k, part[0], part[-1] + 1))
    return codes, cell, np.array(blocks), rng.uniform(0.1, 2000, n_rows)


def whole(weights, mass):
    return np.maximum(np.rint(weights).astype(np.int64), 1) * (mass if len(mass) else 1)


@pytest.fixture(params=["ones", "masses"])
def mass(request, rng):
    return rng.integers(1, 9, 300) if request.param == "masses" else np.empty(0, dtype=np.int64)


def test_find_distinct(kernel, rng):
    values = rng.choice([-1.5, 0.0, -0.0, 2.0, 7.0, np.nan, 1e300], 200)
    distinct = np.empty(6)
    n = kernel("find_distinct")(values, distinct)
    assert sorted(distinct[:n]) == sorted(set(values[~np.isnan(values)]))
    assert kernel("find_distinct")(rng.normal(size=50), np.empty(10)) == 11


def test_encode_numbers(kernel, rng):
    for n_edges in (0, 1, 2, 7, 100, 254):
        edges = np.unique(rng.normal(size=n_edges))
        values = np.concatenate([rng.normal(size=50), edges, [np.nan, -1e308, 1e308]])
        codes = np.empty(len(values), dtype=np.uint8)
        assert kernel("encode_numbers")(values, edges, codes)
        expected = np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values, side="left"))
        np.testing.assert_array_equal(codes, expected)
        assert not kernel("encode_numbers")(np.array([0.0, np.inf]), edges, codes)


@pytest.mark.parametrize("weighted", [False, True])
def test_find_masses(kernel, rng, weighted):
    values = rng.choice([-1.5, 0.0, -0.0, 2.0, 7.0, 1e300], 200)
    weights = rng.integers(1, 9, 200) if weighted else np.empty(0, dtype=np.int64)
    distinct, masses = np.empty(5), np.empty(5, dtype=np.int64)
    assert kernel("find_masses")(values, weights, distinct, masses) == 5
    found = dict(zip(distinct.tolist(), masses.tolist(), strict=True))
    assert found == {x: (weights if weighted else np.ones(200))[values == x].sum() for x in found}
    assert kernel("find_masses")(rng.normal(size=50), weights, np.empty(10), np.empty(10, dtype=np.int64)) == 11


@pytest.mark.parametrize("weighted", [False, True])
def test_keys_are_counted_in_stretches_and_parts(kernel, rng, weighted):
    values = np.concatenate([rng.normal(size=300) * 10.0 ** rng.integers(-9, 9, 300), [0.0, -0.0, 1e-320, -1e308]])
    weights = rng.integers(1, 9, len(values)) if weighted else np.empty(0, dtype=np.int64)
    w = weights if weighted else np.ones(len(values), dtype=np.int64)
    keys = cuts.to_keys(values)
    bits = (values + 0.0).view(np.uint64)
    for value, its_bits, key in zip(values, bits, keys, strict=True):
        assert kernel("key_of")(value, its_bits) == key
    start = keys.min()
    shift = (int(keys.max()) - int(start)).bit_length() - 4
    tree = cuts.Tree.of(np.arange(16, dtype=np.uint64) << np.uint64(shift), shift)
    kernel("count_keys")(values, weights, start, shift, tree.parts_of, tree.part_shift, 0, tree.mass)
    at = ((keys - start) >> np.uint64(shift)).astype(int)
    np.testing.assert_array_equal(tree.mass, np.bincount(at, w, 16))
    fine = tree.divide(np.argsort(tree.mass)[-3:], 8.0)
    kernel("count_keys")(values, weights, start, shift, fine.parts_of, fine.part_shift, 16, fine.mass)
    wanted = np.ones(len(fine.mass), dtype=bool)
    kernel("look_into")(values, start, shift, fine.parts_of, fine.part_shift, 16, wanted, fine.one_value, fine.is_mixed)
    for k in np.flatnonzero(fine.parts_of < 0):  # each whole stretch, with what lies in it
        low = start + fine.starts[k]
        inside = (keys >= low) & (keys - low < np.uint64(1) << np.uint64(fine.shifts[k]))
        assert fine.mass[k] == w[inside].sum()
        assert fine.is_mixed[k] == (len(set(values[inside].tolist())) > 1)
        assert inside.any() == (fine.one_value[k] in values[inside])


def test_hash_rows(kernel, rng):
    codes = rng.integers(0, 2, (5, 100)).astype(np.uint8)
    hashes = np.empty(100, dtype=np.uint64)
    kernel("hash_rows")(codes, hashes)
    same_hash = hashes[:, None] == hashes
    same_row = (codes[:, :, None] == codes[:, None, :]).all(axis=0)
    np.testing.assert_array_equal(same_hash, same_row)


def test_add_to_histograms(kernel, rng):
    codes, cell, blocks, _ = random_rows(rng)
    gains = rng.integers(-(2**40), 2**60, 300)
    listed = np.zeros(300, dtype=np.uint32)
    n_listed = np.zeros(len(blocks), dtype=np.int64)
    chosen = rng.random(300) < 0.4
    gain_of = np.zeros(300, dtype=np.int64)
    for b, (_, first, last) in enumerate(blocks):
        rows = first + np.flatnonzero(chosen[first:last])
        n_listed[b] = len(rows)
        listed[first : first + len(rows)] = rows
        gain_of[rows] = gains[first : first + len(rows)]
    for first, last in ((0, 6), (0, 5), (1, 5), (1, 4), (2, 4), (2, 3)):
        histograms = np.full((6, 2, 2, 256), 3)
        kernel("add_to_histograms")(codes, listed, gains, n_listed, blocks, 3, first, last, histograms)
        expected = np.full((6, 2, 256), 6)
        for f in range(first, last):
            for i in np.flatnonzero(chosen):
                expected[f, cell[i] // 3, codes[f, i]] += gain_of[i]
        np.testing.assert_array_equal(histograms.sum(axis=2), expected)


def test_sum_masses(kernel, rng, mass):
    codes, cell, _, _ = random_rows(rng)
    sums = np.zeros((2, 6, 256), dtype=np.int64)
    kernel("sum_masses")(codes, mass, int((cell < 3).sum()), 0, 6, sums)
    w = mass if len(mass) else np.ones(300, dtype=np.int64)
    for f in range(6):
        for y in (0, 1):
            mine = cell // 3 == y
            np.testing.assert_array_equal(sums[y, f], np.bincount(codes[f][mine], weights=w[mine], minlength=256))


@pytest.mark.parametrize("prior", [0.0, 2.0**48])
@pytest.mark.parametrize("criterion", [splitting.GINI, splitting.ERROR])
def test_split_score(kernel, rng, criterion, prior):
    n, p, all_n, all_p = (*rng.integers(0, 2**50, 2), *(2**51 + rng.integers(0, 2**50, 2)))
    units = rng.random(2)
    score = kernel("split_score")(criterion, n, p, all_n, all_p, *units, prior)
    leaves = [(n * units[0] + prior, p * units[1] + prior)]
    leaves += [((all_n - n) * units[0] + prior, (all_p - p) * units[1] + prior)]
    naive = sum(
        max(leaf) if criterion == splitting.ERROR else (leaf[0] ** 2 + leaf[1] ** 2) / sum(leaf) for leaf in leaves
    )
    assert score == pytest.approx(naive)
    # The same split seen from the other side has the same score, to the last bit.
    assert score == kernel("split_score")(criterion, all_n - n, all_p - p, all_n, all_p, *units, prior)
    assert kernel("split_score")(criterion, 0, 0, 0, 0, *units, prior) == (-1 if prior else 0)
    for empty in ((0, 0), (all_n, all_p)):  # a leaf without rows
        unsplit = kernel("split_score")(criterion, *empty, all_n, all_p, *units, prior)
        assert unsplit == -1 if prior else unsplit > 0


@pytest.mark.parametrize("prior", [0.0, 2.0**39])
@pytest.mark.parametrize("criterion", [splitting.GINI, splitting.ERROR])
def test_best_splits_and_choice(kernel, rng, criterion, prior):
    n_features = 8
    categorical, has_missing = rng.random(n_features) < 0.5, rng.random(n_features) < 0.5
    has_other = categorical & (rng.random(n_features) < 0.5)
    n_bins = rng.integers(0, 6, n_features)
    histograms = np.zeros((n_features, 2, 256), dtype=np.int64)
    for f in range(n_features):
        used = slice(0 if has_missing[f] else 1, n_bins[f] + has_other[f] + 1)
        histograms[f, :, used] = rng.integers(0, 2**40, histograms[f, :, used].shape)
    scores, splits, left = np.empty(n_features), np.empty(n_features, dtype=int), np.empty(n_features, dtype=bool)
    found = splitting.Found(scores, splits, left)
    even = histograms // 3
    halves = np.stack([even, histograms - even], axis=2)
    columns = splitting.Columns(
        np.arange(n_features),  # a bundle per feature
        np.tile(np.arange(256, dtype=np.uint8), (n_features, 1)),
        n_bins + has_other + 1,
        n_bins,
        categorical,
        has_missing,
        has_other,
        np.zeros(n_features, dtype=np.int8),
    )
    units, mass_of = rng.random(2), np.arange(2 * n_features * 256).reshape(2, n_features, 256)
    leaf_mass, leaf_sums = np.empty((2, 2), dtype=np.int64), np.empty((2, 2), dtype=np.int64)
    allowed, limits = np.ones(n_features, dtype=bool), np.array([0.0, 1.0, 0.0])
    kernel("best_splits")(halves, units, columns, criterion, allowed, limits, prior, 0, n_features, found)

    def score(f, goes_left):
        n, p = histograms[f][:, goes_left].sum(axis=1)
        return splitting.split_score(criterion, n, p, *histograms[f].sum(axis=1), *units, prior)

    codes = np.arange(256)
    for f in range(n_features):
        candidates = []
        for s in range(n_bins[f] + 1):
            for missing_left in (False, True):
                side = codes == s if categorical[f] else (codes <= s) & (codes > 0)
                side = np.where(codes == 0, missing_left, side)
                used = [c for c in range(n_bins[f] + has_other[f] + 1) if c > 0 or has_missing[f]]
                if side[used].any() and not side[used].all():
                    candidates.append(score(f, side))
        assert scores[f] == pytest.approx(max(candidates, default=-1.0))
    leaf_of_code = np.empty(256, dtype=np.uint8)
    total = float((histograms[0].sum(axis=1) * units).sum())
    chosen = kernel("choose_stump")(halves, mass_of, columns, total, found, leaf_of_code, leaf_sums, leaf_mass)
    for leaf in (splitting.RIGHT, splitting.LEFT):
        np.testing.assert_array_equal(leaf_mass[leaf], mass_of[:, chosen][:, leaf_of_code == leaf].sum(axis=1))
        np.testing.assert_array_equal(leaf_sums[leaf], histograms[chosen][:, leaf_of_code == leaf].sum(axis=1))
    assert scores[chosen] == scores.max()
    if scores.max() >= 0:
        assert score(chosen, leaf_of_code == splitting.LEFT) == pytest.approx(scores.max())


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_move_margins_and_counts(kernel, rng, mass, threshold):
    codes, cell, blocks, _ = random_rows(rng)
    leaf_of_code, margin = rng.integers(0, 3, 256).astype(np.uint8), rng.normal(size=300)
    steps = np.array([0.7, -0.4, 0.1])
    step = steps[leaf_of_code[codes[0]]]
    expected = margin + step
    positives = np.empty((len(blocks), 3), dtype=np.int64)
    w = mass if len(mass) else np.ones(300, dtype=np.int64)
    kernel("move_margins")(
        codes[0], leaf_of_code, steps, threshold, threshold != 0, margin, mass, blocks, 0, len(blocks), positives
    )
    np.testing.assert_array_equal(margin, expected)
    group, y = cell % 3, cell // 3
    cell_mass, counts, sums = np.bincount(cell, w, 6).astype(np.int64), np.empty((3, 2, 2)), np.empty(6, dtype=np.int64)
    for kind, positive in enumerate([expected > 0, expected > threshold, step > 0]):
        if kind == rounds.BY_LEARNER and threshold == 0:
            continue  # not asked for
        naive = np.zeros((3, 2, 2))
        np.add.at(naive, (group, y, positive.astype(int)), w / 4)
        kernel("fill_counts")(blocks, positives, kind, cell_mass, 0.25, counts)
        np.testing.assert_array_equal(counts, naive)
        kernel("sum_per_cell")(blocks, positives[:, kind], sums)
        np.testing.assert_array_equal(sums, 4 * naive[..., 1].T.ravel())
        per_class = np.empty(2, dtype=np.int64)
        kernel("sum_per_class")(blocks, positives[:, kind], 3, len(blocks), per_class)
        np.testing.assert_array_equal(per_class, 4 * naive[..., 1].sum(axis=0))


def test_real_factors(kernel, rng):
    votes = rng.normal(size=2000) * rng.choice([1e-3, 1.0, 30.0], 2000)
    right, wrong = np.empty((2, 2000))
    kernel("real_factors")(votes, right, wrong)
    assert right.tolist() == [math.exp(-abs(vote)) for vote in votes]
    assert wrong.tolist() == [math.exp(abs(vote)) for vote in votes]


@pytest.mark.parametrize("votes", [(-1, 1, 1), (1, -1, -1), (1, 1, 1), (-1, -1, 1)])
def test_relative_factors(kernel, rng, votes):
    costs = 1 + rng.random((3, 2)) * (rng.random((3, 2)) < 0.5)
    right, wrong = np.array([1.0, 0.9, 1.0]), np.array([1.3, 1.2, 1.1])
    cell_mass, leaf_mass = rng.integers(1, 100, 6), rng.integers(1, 100, (3, 2))
    scale, factors, largest = np.array([1.0, 2.0]), np.empty((6, 3)), np.empty(2)
    kernel("relative_factors")(
        costs, right, wrong, np.array(votes, dtype=np.float64), cell_mass, leaf_mass, scale, factors, largest
    )
    for y in (0, 1):
        mass = {}
        for g in range(3):
            for leaf in range(3):
                is_wrong = (votes[leaf] > 0) != (y == 1)
                factor = costs[g, y] * wrong[leaf] if is_wrong else right[leaf]
                common = scale[y] / (1.0, 2.0)[y]
                assert factors[y * 3 + g, leaf] * common == pytest.approx(factor)
                mass[factor] = mass.get(factor, 0) + cell_mass[y * 3 + g] * leaf_mass[leaf, y]
        assert common == pytest.approx(max(mass, key=mass.get))
        assert largest[y] == max(1.0, factors[y * 3 : y * 3 + 3].max())


def test_change_weights(kernel, rng, mass):
    codes, cell, blocks, values = random_rows(rng)
    leaf_of_code = (np.arange(256) % 3).astype(np.uint8)
    factors = np.where(rng.random((6, 3)) < 0.6, rng.uniform(0.5, 2, (6, 3)), 1.0)
    rows, gains = np.zeros(300, dtype=np.uint32), np.zeros(300, dtype=np.int64)
    n_rows, sums = np.zeros(len(blocks), dtype=np.int64), np.zeros(len(blocks), dtype=np.int64)
    before = values.copy()
    kernel("change_weights")(
        codes[0], leaf_of_code, factors, values, mass, blocks, 0, len(blocks), rows, gains, n_rows, sums
    )
    factor = factors[cell, leaf_of_code[codes[0]]]
    np.testing.assert_array_equal(values, before * factor)
    gained = whole(values, mass) - whole(before, mass)
    listed = np.concatenate([rows[b[1] : b[1] + n] for b, n in zip(blocks, n_rows, strict=True)])
    np.testing.assert_array_equal(listed, np.flatnonzero(factor != 1))
    of_listed = np.concatenate([gains[b[1] : b[1] + n] for b, n in zip(blocks, n_rows, strict=True)])
    np.testing.assert_array_equal(of_listed, gained[factor != 1])
    assert sums.sum() == gained.sum()


def test_list_everything(kernel, rng, mass):
    _, _, blocks, values = random_rows(rng)
    values[::7] = 1e-9  # never less than one
    rows, gains = np.zeros(300, dtype=np.uint32), np.zeros(300, dtype=np.int64)
    n_rows, sums = np.zeros(len(blocks), dtype=np.int64), np.zeros(len(blocks), dtype=np.int64)
    kernel("list_everything")(values, mass, blocks, 0, len(blocks), rows, gains, n_rows, sums)
    np.testing.assert_array_equal(rows, np.arange(300))
    np.testing.assert_array_equal(gains, whole(values, mass))
    np.testing.assert_array_equal(n_rows, blocks[:, 2] - blocks[:, 1])
    assert sums.sum() == whole(values, mass).sum()


def test_sum_wrong(kernel, rng, mass):
    codes, cell, blocks, values = random_rows(rng)
    leaf_of_code = (np.arange(256) % 3).astype(np.uint8)
    wrong = rng.random((6, 3)) < 0.5
    sums = np.zeros(len(blocks), dtype=np.int64)
    kernel("sum_wrong")(codes[0], leaf_of_code, wrong, values, mass, blocks, 0, len(blocks), sums)
    assert sums.sum() == whole(values, mass)[wrong[cell, leaf_of_code[codes[0]]]].sum()


@pytest.mark.parametrize("only", [None, 0, 1])
@pytest.mark.parametrize("n_leaves", [2, 4])
def test_merge_leaves(kernel, rng, n_leaves, only):
    codes, _, _, _ = random_rows(rng)
    leaf_of_code = (np.arange(256) % n_leaves).astype(np.uint8)
    if only is not None:  # leaves without rows
        leaf_of_code[:] = only
    margin, rows, margins = np.zeros(300), np.arange(300, dtype=np.int32), np.zeros(300)
    runs = np.empty(301 * 5 + 1, dtype=np.int32), np.empty(301 * 5 + 1)
    for j in range(6):
        steps = np.round(rng.normal(size=n_leaves), 1)
        margin += steps[leaf_of_code[codes[j]]]
        kernel("merge_leaves")(rows, margins, codes[j], leaf_of_code, steps, n_leaves, *runs)
        np.testing.assert_array_equal(np.sort(rows), np.arange(300))
        np.testing.assert_array_equal(margins, np.sort(margin))
        np.testing.assert_array_equal(margins, margin[rows])


def test_count_margins(kernel, rng, mass):
    cell = rng.integers(0, 6, 300).astype(np.uint8)
    steps = rng.integers(-40, 40, 300)
    counts = np.zeros((20, 6), dtype=np.int64)
    kernel("count_margins")(steps * 2.0**-36, 2.0**-36, 3, -6, cell, mass, counts)
    w = mass if len(mass) else np.ones(300, dtype=np.int64)
    for bucket in range(20):
        inside = (steps > 8 * (bucket - 6)) & (steps <= 8 * (bucket - 5))  # on a border: of the lower bucket
        np.testing.assert_array_equal(counts[bucket], np.bincount(cell[inside], w[inside], 6))
    assert counts.sum() == w.sum()


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("offset", [-9.0, 0.0, 9.0])
def test_list_thresholds(kernel, rng, ends, offset):
    margin = np.sort(np.round(rng.normal(size=40), 1) + offset)
    thresholds, n_below = np.empty(42), np.empty(42, dtype=np.int64)
    n = kernel("list_thresholds")(margin, margin, ends, thresholds, n_below)
    distinct = np.unique(margin)
    expected = [0.0 if a <= 0 < b else (a + b) / 2 for a, b in pairwise(distinct)]
    if ends or distinct[0] > 0:
        expected.insert(0, 0.0 if distinct[0] > 0 else distinct[0] - 1)
    if ends or distinct[-1] <= 0:
        expected.append(0.0 if distinct[-1] <= 0 else distinct[-1] + 1)
    np.testing.assert_array_equal(thresholds[:n], expected)
    np.testing.assert_array_equal(n_below[:n], [(margin <= t).sum() for t in expected])


@pytest.mark.parametrize("keep", [0.0, 0.5])
@pytest.mark.parametrize("name", ["disparate_mistreatment", "equal_opportunity", "statistical_parity", "none"])
@pytest.mark.parametrize(("n_groups", "empty"), [(3, (5,)), (2, ()), (2, (3,)), (2, (2, 3))])
def test_thresholds_are_measured_as_one_by_one(kernel, rng, mass, name, keep, n_groups, empty):
    n_cells = 2 * n_groups
    cell = rng.choice([k for k in range(n_cells) if k not in empty], 300).astype(np.uint8)
    margin = np.round(rng.normal(size=300), 1)
    w = mass if len(mass) else np.ones(300, dtype=np.int64)
    totals = np.bincount(cell, w, n_cells).reshape(2, n_groups).T / 4
    order = np.argsort(margin)
    found = between(margin[order], margin[order], order, cell, mass, 0.25, totals, ends=True)
    settings = Settings(get_notion(name), c=0.7, keep=keep)
    counts = np.zeros((len(found.thresholds), n_groups, 2, 2))
    for t, threshold in enumerate(found.thresholds):
        np.add.at(counts[t], (cell % n_groups, cell // n_groups, (margin > threshold).astype(int)), w / 4)
    np.testing.assert_array_equal(found.counts(), counts)
    np.testing.assert_array_equal(found.counts([5, 2, 2]), counts[[5, 2, 2]])
    np.testing.assert_array_equal(found.counts(3), counts[3])
    negatives = np.empty((len(counts), n_cells), dtype=np.int64)
    kernel("count_below")(found.rows, cell, mass, found.n_below, negatives)
    np.testing.assert_array_equal(negatives, 4 * counts[..., 0].transpose(0, 2, 1).reshape(-1, n_cells))
    expected = rule.measure(counts, settings, 2.0)
    measures = rule.measure_candidates(found, settings, 2.0).measures
    for ours, theirs in zip(measures, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_points", [0, 1, 40, 3000])
@pytest.mark.parametrize("spread", [1.0, 1e-10, 0.0])
def test_undominated_points_are_those_that_nothing_beats(kernel, rng, n_points, spread):
    first = 0.3 + spread * np.round(rng.normal(size=n_points), 2) + 1e-14 * rng.normal(size=n_points)
    second = np.round(np.abs(rng.normal(size=n_points)), 2) - 0.2 * (first - 0.3) + 1e-14 * rng.normal(size=n_points)
    second[rng.random(n_points) < 0.1], first[rng.random(n_points) < 0.02] = np.nan, np.nan
    third = np.round(rng.normal(size=n_points), 1)
    points = [(f, s, t, i) for i, (f, s, t) in enumerate(zip(first.round(12), second.round(12), third, strict=True))]
    points = sorted(point for point in points if not np.isnan(point[0] + point[1]))
    expected = []
    for point in points:  # by the first measure, so only those before can beat it
        if not expected or point[1] < expected[-1][1]:
            expected.append(point)
    assert undominated(first, second, third).tolist() == [point[3] for point in expected]
    assert first[undominated(first, second)].round(12).tolist() == [point[0] for point in expected]
    places = np.empty(n_points, dtype=np.intp)
    if n_points == 3000 and spread == 1.0:
        assert len(expected) <= kernel("list_near_front")(first, second, places) < 300


class OwnNotion(StatisticalParity):
    """A notion whose violation is its own."""

    def violation(self, counts):
        return 2.0 * super().violation(counts)


@pytest.mark.parametrize(
    ("notion", "max_violation", "at_a_time"),
    [("disparate_mistreatment", None, 2), ("disparate_mistreatment", 0.1, 32), ("own", None, 2), ("own", 0.1, 1)],
)
def test_rounds_that_are_looked_at_together_are_those_of_one_at_a_time(
    kernel, rng, mass, max_violation, notion, at_a_time, monkeypatch
):
    cell, n_rounds, n_groups = np.sort(rng.integers(0, 6, 300)).astype(np.uint8), 5, 3
    with Team(1) as team:
        sample = Sample(cell, n_groups, Masses(mass, 0.25 if len(mass) else 1.0), np.arange(300), team)
    chosen = OwnNotion() if notion == "own" else get_notion(notion)
    settings = Settings(chosen, c=0.7, keep=0.5, max_violation=max_violation)
    monkeypatch.setattr(ranking, "MAX_NOTED", at_a_time)
    order = ranking.Ranking(sample, settings, 2.0)
    margin, n_looks = np.zeros(300), 0
    expected = []
    for j in range(n_rounds):
        n_leaves = (2, 4, 4, 2, 4)[j]
        leaf = rng.integers(0, n_leaves, 300).astype(np.uint8)
        steps = [(1.0, 0.25), (1.0, -1.0, 1.0, -1.0), (0.5, 0.125, -1.0, 0.0), (0.0, -0.25), (0.25, 0.5, 0.0, 2.0)][j]
        assert not order.is_full
        order.note(Leaves(leaf, np.arange(n_leaves, dtype=np.uint8)), np.array(steps))
        margin += np.array(steps)[leaf]
        alone = candidates(margin.copy(), cell, sample.sample_weight, sample.totals)
        expected.append(rule.measure_candidates(alone, settings, 2.0))
        if not order.is_full and j < n_rounds - 1:
            continue
        n_looks += 1
        found = order.look()
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours.candidates.thresholds, theirs.candidates.thresholds)
            np.testing.assert_array_equal(ours.candidates.counts(), theirs.candidates.counts())
            for mine, other in zip(ours.measures, theirs.measures, strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-13)
            assert ours.front.tolist() == theirs.front.tolist() and ours.lowest == theirs.lowest
            np.testing.assert_array_equal(ours.counts, theirs.counts)
        expected = []
    assert n_looks == {1: 5, 2: 3, 32: 1}[at_a_time] and order.look() == []


def test_undominated_points_may_be_given_in_any_kind_of_array():
    first, second = np.array([0.1, 0.2, 0.3], dtype=np.float32), np.array([[3, 0], [1, 0], [2, 0]])[:, 0]
    assert undominated(first, np.broadcast_to(second, (3,))).tolist() == [0, 1]
    assert undominated(first, second > 1).tolist() == [0, 1]


def test_buckets_of_margins_offer_the_thresholds_between_them(monkeypatch, rng):
    cell = np.sort(rng.integers(0, 4, 3000)).astype(np.uint8)
    with Team(1) as team:
        sample = Sample(cell, 2, to_masses(None), np.arange(3000), team)
    sample.margin[:] = np.rint(rng.normal(size=3000) * 2.0**36) * 2.0**-36
    exact = candidates(sample.margin, cell, np.empty(0), sample.totals)
    monkeypatch.setattr(ranking, "MAX_RANKED", 100)
    monkeypatch.setattr(ranking, "N_BUCKETS", 256)
    found = ranking.Ranking(sample, Settings(get_notion("none")), 1.0)._elsewhere()
    assert 100 < len(found.thresholds) < 260
    assert 0.0 in found.thresholds
    for threshold, counts in zip(found.thresholds, found.counts(), strict=True):
        assert counts[..., 1].sum() == (sample.margin > threshold).sum()
    notion = get_notion("disparate_mistreatment")
    best = [notion.objective(each.counts(), 1.0).min() for each in (exact, found)]
    assert best[0] <= best[1] < best[0] + 0.02


def test_add_steps(kernel, rng):
    codes, _, _, margin = random_rows(rng)
    steps = rng.normal(size=256)
    expected = margin + steps[codes[0]]
    kernel("add_steps")(codes[0], steps, margin)
    np.testing.assert_array_equal(margin, expected)


def test_bundles_hold_the_codes_of_all_their_columns(rng):
    X = np.column_stack([rng.integers(0, k, 500).astype(float) for k in (2, 3, 200, 7, 40, 5, 2, 15, 300)])
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 0] = np.abs(X[:, 1] - 1) > 0
    sources = read_sources(X)
    with Team(1) as team:
        binner = Binner.fit(sources, slice(None), None, 255, [False] * 9, team)
        expected = np.array(binner.encode(sources, slice(None), team))
        bundles = Bundles(binner)
        codes = bundles.consume(list(expected.copy()), team)
    assert len(bundles.members) < 9
    assert sorted(j for members in bundles.members for j in members) == list(range(9))
    assert (bundles.sizes <= 256).all()
    for j in range(9):
        b = bundles.bundle_of[j]
        assert j in bundles.members[b]
        assert codes[b].max() < bundles.sizes[b]
        np.testing.assert_array_equal(bundles.code_of[j][codes[b]], expected[j])
    np.testing.assert_array_equal(bundles.join(expected), codes)


def test_room_for_other_categories_is_made_where_they_occur():
    X = pd.DataFrame({"job": list("abab"), "city": list("xyxy")})
    later = pd.DataFrame({"job": list("abca"), "city": ["x", None, "y", "x"]})
    sources, later_sources = read_sources(X), read_sources(later)
    with Team(1) as team:
        binner = Binner.fit(sources, slice(None), None, 255, [True, True], team)
        columns = [binner.encode(sources, slice(None), team), binner.encode(later_sources, slice(None), team)]
        assert Bundles(binner).sizes.tolist() == [16]
        assert Bundles.of(binner, columns[:1], team).sizes.tolist() == [9]
        bundles = Bundles.of(binner, columns, team)
        assert bundles.sizes.tolist() == [12]
        sample = Sample(np.array([0, 1, 0, 1]), 1, to_masses(None), np.arange(4), team)
        coded = samples.code_sample(bundles, columns[1], sample)
    assert (coded.has_missing.tolist(), coded.has_other.tolist()) == ([False, True], [True, False])
    job = bundles.code_of[0][coded.codes[0]]
    assert job.tolist() == [1, 2, 3, 1]


# --- What the kernels are embedded in ---------------------------------------------------------------------------------


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
    return CodedSample(sample, codes, *np.zeros((2, len(codes)), dtype=bool))


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
    monkeypatch.setattr(weights, "TARGET", 57)
    often = AdaFairClassifier(n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(free.estimator_weights_, often.estimator_weights_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(free.history_["Z"], often.history_["Z"])


# --- Trees of depth two


@pytest.mark.parametrize("weighted", [False, True])
def test_list_leaf(kernel, rng, weighted):
    codes, _, blocks, weights_of = random_rows(rng)
    mass = rng.integers(1, 5, len(weights_of)) if weighted else np.empty(0, dtype=np.int64)
    leaf_of_code = rng.integers(0, 2, 256).astype(np.uint8)
    n = len(weights_of)
    rows, gains, n_rows = np.empty(n, np.uint32), np.empty(n, np.int64), np.zeros(len(blocks), np.int64)
    kernel("list_leaf")(codes[0], leaf_of_code, 1, weights_of, mass, blocks, 0, len(blocks), rows, gains, n_rows)
    numbers = whole(weights_of, mass)
    for b, (_, first, last) in enumerate(blocks):
        there = np.flatnonzero(leaf_of_code[codes[0, first:last]] == 1) + first
        listed = slice(first, first + n_rows[b])
        np.testing.assert_array_equal(rows[listed], there)
        np.testing.assert_array_equal(gains[listed], numbers[there])


@pytest.mark.parametrize("weighted", [False, True])
def test_split_leaves(kernel, rng, weighted):
    codes, _, blocks, weights_of = random_rows(rng)
    n = len(weights_of)
    mass = rng.integers(1, 5, n) if weighted else np.empty(0, dtype=np.int64)
    side_of_code = rng.integers(0, 2, 256).astype(np.uint8)
    leaf_of_code = np.stack([rng.integers(0, 2, 256), rng.integers(2, 4, 256)]).astype(np.uint8)
    leaves, leaf_mass = np.empty(n, np.uint8), np.full((len(blocks), 4), -1)
    kernel("split_leaves")(
        codes[0], side_of_code, (codes[1], codes[2]), leaf_of_code, mass, blocks, 0, len(blocks), leaves, leaf_mass
    )
    side = side_of_code[codes[0]]
    expected = np.where(side == 1, leaf_of_code[1][codes[2]], leaf_of_code[0][codes[1]])
    np.testing.assert_array_equal(leaves, expected)
    for b, (_, first, last) in enumerate(blocks):
        of_block = np.bincount(expected[first:last], mass[first:last] if weighted else None, minlength=4)
        np.testing.assert_array_equal(leaf_mass[b], of_block)


def test_pairs_are_looked_up_and_counted(kernel, rng):
    codes, _, _, weights_of = random_rows(rng)
    n, n_pairs = len(weights_of), 3
    columns = np.array([[0, 1], [1, 4], [2, 3]])
    shapes = [(2, 3), (4, 1), (3, 3)]
    tables = [rng.integers(-9, 9, shape).astype(float) for shape in shapes]
    row_of = np.array([rng.integers(0, shape[0], 256) for shape in shapes]).astype(np.uint8)
    column_of = np.array([rng.integers(0, shape[1], 256) for shape in shapes]).astype(np.uint8)
    sizes = np.array([table.size for table in tables])
    margin = np.zeros(n)
    steps = np.concatenate([table.ravel() for table in tables])
    widths, starts = np.array([shape[1] for shape in shapes]), np.cumsum(sizes) - sizes
    kernel("add_pair_steps")(codes, columns, row_of, column_of, widths, starts, steps, margin)
    cells = [(row_of[p][codes[columns[p, 0]]], column_of[p][codes[columns[p, 1]]]) for p in range(n_pairs)]
    np.testing.assert_array_equal(margin, sum(table[cell] for table, cell in zip(tables, cells, strict=True)))
    mass = rng.integers(1, 9, n)
    for p, weighted in enumerate([True, False, True]):
        counts = np.zeros(shapes[p], dtype=np.int64)
        first, second = columns[p]
        given = mass if weighted else np.empty(0, dtype=np.int64)
        kernel("count_cells")(codes[first], codes[second], row_of[p], column_of[p], given, counts)
        expected = np.zeros(shapes[p], dtype=np.int64)
        np.add.at(expected, cells[p], mass if weighted else 1)
        np.testing.assert_array_equal(counts, expected)


def test_a_tree_is_added_to_the_margin(kernel, rng):
    codes, _, _, weights_of = random_rows(rng)
    sides = rng.integers(0, 2, (3, 256)).astype(bool)
    steps, margin = rng.integers(-9, 9, 4).astype(float), np.ones(len(weights_of))
    kernel("add_tree")(codes[0], codes[1], codes[2], *sides, steps, margin)
    left, below_left, below_right = (side[code] for side, code in zip(sides, codes[:3], strict=True))
    leaf = np.where(left, np.where(below_left, 0, 1), np.where(below_right, 2, 3))
    np.testing.assert_array_equal(margin, 1 + steps[leaf])


def test_a_split_in_order(kernel):
    in_order = kernel("is_in_order")
    free = np.array([0.0, 1.0, 1e-12])
    given = (10, 30, 100, 100, 1.0, 1.0)  # 3/4 positives on the left, 7/16 on the right
    assert in_order(0, free, *given) and in_order(-1, free, *given)
    assert not in_order(1, free, *given)
    assert not in_order(0, np.array([0.5, 1.0, 0.0]), *given)
    assert not in_order(0, np.array([0.0, 0.7, 0.0]), *given)
    assert in_order(0, np.array([0.4, 0.8, 0.0]), *given)
    assert not in_order(1, free, 0, 0, 10, 10, 1.0, 1.0)  # nothing on the left: no share that could be below
    # A right leaf of next to no weight votes -1 whatever its share: it may not be above a left leaf that votes +1.
    assert not in_order(1, np.array([0.0, 1.0, 5.0]), 10, 30, 10, 34, 1.0, 1.0)
    assert in_order(1, np.array([0.0, 1.0, 3.0]), 10, 30, 10, 34, 1.0, 1.0)


def test_what_has_no_way_in_from_python_is_called_by_kernels_only():
    inner = {
        (module.__name__.rsplit(".", 1)[1], name)
        for module in KERNELS
        for name, found in vars(module).items()
        if getattr(found, "targetoptions", {}).get("no_cpython_wrapper")
    }
    assert ("boosting", "reweigh") in inner
    package = Path(parityboost.__file__).parent
    called = set()
    for path in package.rglob("*.py"):
        if path.parent.name == "kernels":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                called.add((node.value.id, node.attr))
            elif isinstance(node, ast.ImportFrom) and node.module:
                called |= {(node.module.rsplit(".", 1)[-1], alias.name) for alias in node.names}
    assert ("boosting", "boost_rounds") in called
    assert not inner & called
