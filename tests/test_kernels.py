"""Every compiled kernel against a naive twin, on random inputs, as compiled code and as plain Python."""

import numpy as np
import pytest

from conftest import make_people
from parityboost import AdaFairClassifier, _kernels, _learners, _samples
from parityboost._binning import Binner
from parityboost._bundles import Bundles
from parityboost._samples import Sample, merge_equal_rows
from parityboost._sources import read_sources
from parityboost._threads import Team

SEEDS = range(4)


@pytest.fixture(params=["compiled", "plain"])
def kernel(request):
    """Looks a kernel up by name: the compiled one, or the Python function it was made from."""

    def find(name):
        function = getattr(_kernels, name)
        return function if request.param == "compiled" else function.py_func

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
    return codes, cell, np.array(blocks), rng.uniform(0.1, 2, n_rows)


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


def test_hash_rows(kernel, rng):
    codes = rng.integers(0, 2, (5, 100)).astype(np.uint8)
    hashes = np.empty(100, dtype=np.uint64)
    kernel("hash_rows")(codes, hashes)
    same_hash = hashes[:, None] == hashes
    same_row = (codes[:, :, None] == codes[:, None, :]).all(axis=0)
    np.testing.assert_array_equal(same_hash, same_row)


def test_add_to_histograms(kernel, rng):
    codes, cell, blocks, gains = random_rows(rng)
    listed = np.zeros(300, dtype=np.uint32)
    n_listed = np.zeros(len(blocks), dtype=np.int64)
    chosen = rng.random(300) < 0.4
    gain_of = np.zeros(300)
    for b, (_, first, last) in enumerate(blocks):
        rows = first + np.flatnonzero(chosen[first:last])
        n_listed[b] = len(rows)
        listed[first : first + len(rows)] = rows
        gain_of[rows] = gains[first : first + len(rows)]
    for first, last in ((0, 6), (0, 5), (1, 5), (1, 4), (2, 4), (2, 3)):
        histograms = np.full((6, 2, 2, 256), 0.5)
        kernel("add_to_histograms")(codes, listed, gains, n_listed, blocks, 3, first, last, histograms)
        expected = np.ones((6, 2, 256))
        for f in range(first, last):
            for i in np.flatnonzero(chosen):
                expected[f, cell[i] // 3, codes[f, i]] += gain_of[i]
        np.testing.assert_allclose(histograms.sum(axis=2), expected)


@pytest.mark.parametrize("criterion", [_kernels.GINI, _kernels.ERROR])
def test_split_score(kernel, rng, criterion):
    n, p, all_n, all_p = (*rng.random(2), *(2 + rng.random(2)))
    score = kernel("split_score")(criterion, n, p, all_n, all_p)
    leaves = [(n, p), (all_n - n, all_p - p)]
    naive = sum(
        max(leaf) if criterion == _kernels.ERROR else (leaf[0] ** 2 + leaf[1] ** 2) / sum(leaf) for leaf in leaves
    )
    assert score == pytest.approx(naive)
    assert kernel("split_score")(criterion, 0.0, 0.0, 0.0, 0.0) == 0


@pytest.mark.parametrize("criterion", [_kernels.GINI, _kernels.ERROR])
def test_best_splits_and_choice(kernel, rng, criterion):
    n_features = 8
    categorical, has_missing = rng.random(n_features) < 0.5, rng.random(n_features) < 0.5
    n_bins = rng.integers(0, 6, n_features)
    histograms = np.zeros((n_features, 2, 256))
    for f in range(n_features):
        histograms[f, :, (0 if has_missing[f] else 1) : n_bins[f] + 1] = 1.0
        histograms[f] *= rng.random((2, 256))
    scores, splits, left = np.empty(n_features), np.empty(n_features, dtype=int), np.empty(n_features, dtype=bool)
    halves = np.stack([0.25 * histograms, 0.75 * histograms], axis=2)
    alone = np.arange(n_features), np.tile(np.arange(256, dtype=np.uint8), (n_features, 1))  # a bundle per feature
    ones, n_rows_of = np.ones(2), np.arange(2 * n_features * 256).reshape(2, n_features, 256)
    in_leaves = np.empty((2, 2), dtype=np.int64)
    kernel("best_splits")(
        halves,
        ones,
        *alone,
        n_bins + 1,
        n_bins,
        categorical,
        has_missing,
        criterion,
        0,
        n_features,
        scores,
        splits,
        left,
    )

    def score(f, goes_left):
        n, p = histograms[f][:, goes_left].sum(axis=1)
        return _kernels.split_score(criterion, n, p, *histograms[f].sum(axis=1))

    codes = np.arange(256)
    for f in range(n_features):
        candidates = []
        for s in range(n_bins[f] + 1):
            for missing_left in (False, True):
                side = codes == s if categorical[f] else (codes <= s) & (codes > 0)
                side = np.where(codes == 0, missing_left, side)
                used = [c for c in range(n_bins[f] + 1) if c > 0 or has_missing[f]]
                if side[used].any() and not side[used].all():
                    candidates.append(score(f, side))
        assert scores[f] == pytest.approx(max(candidates, default=-1.0))
    sides, leaves = np.empty(256, dtype=np.uint8), np.empty((2, 2))
    total = histograms[0].sum()
    chosen = kernel("choose_stump")(
        halves, ones, n_rows_of, *alone, categorical, total, scores, splits, left, sides, leaves, in_leaves
    )
    for leaf in (0, 1):
        np.testing.assert_array_equal(in_leaves[leaf], n_rows_of[:, chosen][:, sides == leaf].sum(axis=1))
    assert scores[chosen] == scores.max()
    if scores.max() >= 0:
        assert score(chosen, sides.astype(bool)) == pytest.approx(scores.max())
    np.testing.assert_allclose(leaves[1], histograms[chosen][:, sides == 1].sum(axis=1))
    np.testing.assert_allclose(leaves.sum(axis=0), histograms[chosen].sum(axis=1))


@pytest.mark.parametrize("threshold", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_advance_and_counts(kernel, rng, weighted, threshold):
    codes, cell, blocks, weights = random_rows(rng)
    left, margin = (rng.random(256) < 0.5).astype(np.uint8), rng.normal(size=300)
    step = np.where(left[codes[0]], 0.7, -0.4)
    expected = margin + step
    positives = np.empty((len(blocks), 3))
    w = weights if weighted else np.ones(300)
    given = weights if weighted else np.empty(0)
    kernel("advance")(
        codes[0], left, -0.4, 0.7, threshold, threshold != 0, margin, given, blocks, 0, len(blocks), positives
    )
    np.testing.assert_allclose(margin, expected)
    group, y = cell % 3, cell // 3
    totals, counts, sums = np.zeros((3, 2)), np.empty((3, 2, 2)), np.empty((3, 2))
    np.add.at(totals, (group, y), w)
    for which, positive in enumerate([expected > 0, expected > threshold, step > 0]):
        if which == 2 and threshold == 0:
            continue  # not asked for
        naive = np.zeros((3, 2, 2))
        np.add.at(naive, (group, y, positive.astype(int)), w)
        kernel("fill_counts")(blocks, positives, which, totals, counts)
        np.testing.assert_allclose(counts, naive, atol=1e-12)
        kernel("sum_per_cell")(blocks, positives, which, 3, sums)
        np.testing.assert_allclose(sums, naive[..., 1])


@pytest.mark.parametrize("votes", [(-1, 1), (1, -1), (1, 1), (-1, -1)])
def test_relative_changes(kernel, rng, votes):
    costs = 1 + rng.random((3, 2)) * (rng.random((3, 2)) < 0.5)
    sizes, in_leaves = rng.integers(1, 100, 6), rng.integers(1, 100, (2, 2))
    scale, changes = np.array([1.0, 2.0]), np.empty((6, 2))
    kernel("relative_changes")(costs, 1.3, 1.2, *votes, sizes, in_leaves, scale, changes)
    for y in (0, 1):
        rows = {}
        for g in range(3):
            for leaf in (0, 1):
                wrong = (votes[leaf] > 0) != (y == 1)
                factor = costs[g, y] * (1.3, 1.2)[leaf] if wrong else 1.0
                common = scale[y] / (1.0, 2.0)[y]
                assert (1 + changes[y * 3 + g, leaf]) * common == pytest.approx(factor)
                rows[factor] = rows.get(factor, 0) + sizes[y * 3 + g] * in_leaves[leaf, y]
        assert common == pytest.approx(max(rows, key=rows.get))


def test_sum_weights(kernel, rng):
    sums = rng.random((5, 2))
    assert kernel("sum_weights")(sums, 2, np.array([2.0, 3.0])) == pytest.approx(
        2 * sums[:2, 0].sum() + 3 * sums[2:, 0].sum()
    )


def test_change_weights(kernel, rng):
    codes, cell, blocks, weights = random_rows(rng)
    left = (np.arange(256) % 2).astype(np.uint8)
    changes = rng.uniform(-0.5, 1, (6, 2)) * (rng.random((6, 2)) < 0.6)
    rows, gains = np.zeros(300, dtype=np.uint32), np.zeros(300)
    n_rows, sums = np.zeros(len(blocks), dtype=np.int64), np.zeros((len(blocks), 2))
    before = weights.copy()
    kernel("change_weights")(codes[0], left, changes, weights, blocks, 0, len(blocks), rows, gains, n_rows, sums)
    change = changes[cell, left[codes[0]]]
    np.testing.assert_allclose(weights, before * (1 + change))
    listed = np.concatenate([rows[b[1] : b[1] + n] for b, n in zip(blocks, n_rows, strict=True)])
    np.testing.assert_array_equal(listed, np.flatnonzero(change != 0))
    gained = np.concatenate([gains[b[1] : b[1] + n] for b, n in zip(blocks, n_rows, strict=True)])
    np.testing.assert_allclose(gained, (before * change)[change != 0])
    assert sums[:, 0].sum() == pytest.approx((before * change).sum())


def test_count_rows(kernel, rng):
    codes, cell, _, _ = random_rows(rng)
    counts = np.zeros((2, 6, 256), dtype=np.int64)
    kernel("count_rows")(codes, int((cell < 3).sum()), 0, 6, counts)
    for f in range(6):
        for y in (0, 1):
            np.testing.assert_array_equal(counts[y, f], np.bincount(codes[f][cell // 3 == y], minlength=256))


def test_sum_mistakes(kernel, rng):
    codes, cell, blocks, weights = random_rows(rng)
    left = (np.arange(256) % 2).astype(np.uint8)
    wrong = rng.random((6, 2)) < 0.5
    sums = np.zeros((len(blocks), 2))
    kernel("sum_mistakes")(codes[0], left, wrong, weights, blocks, 0, len(blocks), sums)
    assert sums[:, 1].sum() == pytest.approx(weights[wrong[cell, left[codes[0]]]].sum())


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
        expected = binner.encode(sources, slice(None), team)
        bundles = Bundles(binner)
        codes, has_missing = bundles.encode(sources, slice(None), team)
    assert len(bundles.members) < 9
    assert sorted(j for members in bundles.members for j in members) == list(range(9))
    assert (bundles.sizes <= 256).all()
    for j in range(9):
        b = bundles.bundle_of[j]
        assert j in bundles.members[b]
        assert codes[b].max() < bundles.sizes[b]
        np.testing.assert_array_equal(bundles.code_of[j][codes[b]], expected[j])
    np.testing.assert_array_equal(has_missing, (expected == 0).any(axis=1))
    np.testing.assert_array_equal(bundles.join(expected), codes)


# --- What the kernels are embedded in ---------------------------------------------------------------------------------


def repetitive(n_rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n_rows, 3)).astype(float)
    group = rng.integers(0, 2, n_rows)
    y = (X.sum(axis=1) + group + rng.normal(size=n_rows) > 5).astype(int)
    return X, y, group


@pytest.mark.parametrize("weighted", [False, True])
def test_merging_equal_rows_changes_nothing(monkeypatch, weighted):
    X, y, group = repetitive()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    merged = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=group, sample_weight=weights)
    monkeypatch.setattr(_samples, "DISTINCT_SHARE", -1.0)
    every = AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=group, sample_weight=weights)
    assert merged.theta_ == every.theta_
    np.testing.assert_allclose(merged.estimator_weights_, every.estimator_weights_, rtol=0, atol=1e-9)
    numbers = merged.history_.select_dtypes("number").columns
    np.testing.assert_allclose(merged.history_[numbers], every.history_[numbers], atol=1e-9)


def sample_of(X, y, group):
    with Team(1) as team:
        return X.T.astype(np.uint8).copy() + 1, Sample(y * 2 + group, 2, None, np.arange(len(y)), team)


def test_merged_rows_keep_their_cell_and_their_total_weight():
    X, y, group = repetitive()
    codes, sample = sample_of(X, y, group)
    codes = np.ascontiguousarray(codes[:, sample.rows])
    merged_codes, merged = merge_equal_rows(codes, sample)
    assert len(merged) == len({(*row, a, b) for *row, a, b in zip(*X.T, y, group, strict=True)})
    np.testing.assert_array_equal(merged.totals, sample.totals)
    np.testing.assert_array_equal(merged_codes.T, X[merged.rows] + 1)


def test_rows_of_equal_hash_that_differ_are_not_merged(monkeypatch):
    codes, sample = sample_of(*repetitive())
    monkeypatch.setattr(_samples, "_hashes", lambda codes: np.zeros(codes.shape[1], dtype=np.uint64))
    same_codes, same_sample = merge_equal_rows(codes, sample)
    assert same_codes is codes
    assert same_sample is sample


def test_few_or_distinct_rows_are_left_alone():
    rng = np.random.default_rng(0)
    codes, sample = sample_of(*repetitive(500))
    assert merge_equal_rows(codes, sample)[1] is sample
    _, y, group = repetitive(8000)
    codes, sample = sample_of(rng.integers(0, 255, (8000, 3)), y, group)
    assert merge_equal_rows(codes, sample)[1] is sample


@pytest.mark.parametrize(("limit", "value"), [("LARGE_SUM", 1.5), ("LARGE_FACTOR", 1.01)])
def test_making_the_histograms_anew_changes_nothing(monkeypatch, limit, value):
    X, y, group = make_people(500)
    free = AdaFairClassifier(n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    monkeypatch.setattr(_learners, limit, value)
    often = AdaFairClassifier(n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(free.estimator_weights_, often.estimator_weights_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(free.history_["Z"], often.history_["Z"])
