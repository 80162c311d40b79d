"""All thresholds of a round are counted and measured as one by one; undominated ones are those that nothing beats."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parityboost._choice import thresholds
from parityboost._choice.thresholds import Counting, measure, undominated
from parityboost._choice.wishes import Settings
from parityboost._engine.threads import Team
from parityboost._fit.samples import Masses, Sample
from parityboost.notions import StatisticalParity, get_notion

GRID = thresholds.ALPHA_GRID


class OwnNotion(StatisticalParity):
    """A notion whose violation is its own."""

    def violation(self, counts):
        return 2.0 * super().violation(counts)


def naive(margin, cell, mass, n_groups, settings, unit):
    """Thresholds and what each gives: 0 and the midpoints, by counting anew for each."""
    distinct = np.unique(margin)
    middles = (distinct[1:] + distinct[:-1]) / 2
    around = (distinct[:-1] <= 0) & (distinct[1:] > 0)
    middles[around] = 0.0
    at = np.unique(np.append(middles, 0.0))
    y, group = cell // n_groups, cell % n_groups
    counts = np.zeros((len(at), n_groups, 2, 2))
    for t, threshold in enumerate(at):
        np.add.at(counts[t], (group, y, (margin > threshold).astype(int)), mass)
    return at, counts, measure(counts, settings, unit)


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 300),
    n_groups=st.integers(1, 5),
    weighted=st.booleans(),
    notion=st.sampled_from(["disparate_mistreatment", "equal_opportunity", "statistical_parity", "none", OwnNotion()]),
    keep=st.sampled_from([0.0, 0.5]),
    together=st.booleans(),
    coarse=st.integers(0, 20),
)
def test_thresholds_are_measured_as_one_by_one(seed, n_rows, n_groups, weighted, notion, keep, together, coarse):
    rng = np.random.default_rng(seed)
    cell = np.sort(rng.integers(0, 2 * n_groups, n_rows))
    masses = Masses(rng.integers(1, 9, n_rows) if weighted else np.empty(0, dtype=np.int64), 0.5)
    wanted = Settings(get_notion(notion), threshold="auto", keep=keep, c=float(rng.choice([0.0, 0.3, 1.0])))
    with Team(1) as team:
        sample = Sample(cell, n_groups, masses, np.arange(n_rows), team)
        rows = sample.place(np.empty((0, n_rows), dtype=np.uint8), np.empty(0))
        looking = Counting(sample, rows, wanted, 1.0)
        mass = (sample.masses.values if weighted else np.ones(n_rows)) * 0.5
        leaves = rng.integers(0, 4, (3, n_rows)).astype(np.uint8)
        steps = np.rint(rng.normal(size=(3, 4)) * 2.0 ** (36 - coarse)) * 2.0**coarse * GRID
        margin = np.zeros(n_rows)
        if together:
            given_rounds = [SimpleNamespace(leaves=leaves[j], steps=steps[j]) for j in range(3)]
            measured = looking.look(given_rounds)
        for j in range(3):
            margin = margin + steps[j][leaves[j]]
            if not together:
                rows.put_as_told(leaves[j])
                rows.move_margins(steps[j], 0.0, False)
                measured = [None] * j + looking.look([SimpleNamespace(leaves=None, steps=steps[j])])
            at, counts, expected = naive(margin, sample.cell, mass, n_groups, wanted, 1.0)
            found = measured[j]
            np.testing.assert_array_equal(found.candidates.thresholds, at)
            np.testing.assert_allclose(found.candidates.counts(), counts)
            for ours, theirs in zip(found.measures, expected, strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-12)
            np.testing.assert_allclose(found.counts, counts[found.front])
            assert expected.ber[found.lowest] == pytest.approx(expected.ber.min())


@pytest.mark.no_cover
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), together=st.booleans(), n_groups=st.integers(2, 4))
def test_buckets_of_margins_offer_the_thresholds_between_them(seed, together, n_groups):
    rng = np.random.default_rng(seed)
    n_rows = 3000
    wanted = Settings(get_notion("disparate_mistreatment"), threshold="auto")
    cell = np.sort(rng.integers(0, 2 * n_groups, n_rows))
    with pytest.MonkeyPatch.context() as patch, Team(1) as team:
        patch.setattr(thresholds, "N_BUCKETS", 256)
        sample = Sample(cell, n_groups, Masses(np.empty(0, dtype=np.int64), 1.0), np.arange(n_rows), team)
        rows = sample.place(np.empty((0, n_rows), dtype=np.uint8), np.empty(0))
        looking = Counting(sample, rows, wanted, 1.0)
        margin = np.zeros(n_rows)
        for _ in range(6):  # sums of so many steps are different numbers
            leaves = rng.integers(0, 4, n_rows).astype(np.uint8)
            steps = np.rint(rng.normal(size=4) * 2.0**36) * GRID
            margin = margin + steps[leaves]
            if not together:
                rows.put_as_told(leaves)
                rows.move_margins(steps, 0.0, False)
            (found,) = looking.look([SimpleNamespace(leaves=leaves if together else None, steps=steps)])
    candidates = found.candidates
    assert len(candidates.thresholds) <= 258 and 0.0 in candidates.thresholds
    for threshold, counts in zip(candidates.thresholds, candidates.counts(), strict=True):
        assert counts[..., 1].sum() == (margin > threshold).sum()
    _, _, exact = naive(margin, sample.cell, np.ones(n_rows), n_groups, wanted, 1.0)
    assert exact.objective.min() - 1e-9 <= found.measures.objective.min() < exact.objective.min() + 0.05


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), n_points=st.integers(0, 400), spread=st.sampled_from([1.0, 1e-10, 0.0]))
def test_undominated_points_are_those_that_nothing_beats(seed, n_points, spread):
    rng = np.random.default_rng(seed)
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


def test_undominated_points_may_be_given_in_any_kind_of_array():
    first, second = np.array([0.1, 0.2, 0.3], dtype=np.float32), np.array([[3, 0], [1, 0], [2, 0]])[:, 0]
    assert undominated(first, np.broadcast_to(second, (3,))).tolist() == [0, 1]
    assert undominated(first, second > 1).tolist() == [0, 1]
