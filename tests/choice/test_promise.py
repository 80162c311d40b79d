"""Promises: bounds against exact computation and simulation, choices against brute force, the certificate."""

import pickle
from itertools import permutations, product
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import beta, norm
from sklearn.base import clone

from conftest import make_people
from parityboost import LimitNotMet, ModelFileError, ParityBoostClassifier, load
from parityboost._choice.menu import Menu, make_menu
from parityboost._choice.promise import (
    People,
    Question,
    Rows,
    candidates_with_margins,
    compare,
    exact_bounds,
    gather,
    rows_needed,
    surely_within,
)
from parityboost._choice.thresholds import SelectionData
from parityboost._choice.wishes import Settings, Wishes
from parityboost._fit.bags import draw_folds
from parityboost._stats.rates import balanced_error_rate
from parityboost.notions import FairnessNotion, Gap, View, Viewed, get_notion, precision

SMALL = {"n_bags": 3, "n_estimators": 10, "random_state": 0}


def tables(found, sizes):
    """Counts in which all are of the positive class, and so many of each group are predicted positive."""
    counts = np.zeros((len(found), len(sizes), 2, 2))
    counts[:, :, 1, 1] = found
    counts[:, :, 1, 0] = np.array(sizes) - found
    return counts


def all_tables(sizes):
    return tables(np.array(list(product(*(range(n + 1) for n in sizes)))), sizes)


def chances(counts, rates):
    """How probable each of the tables is."""
    found, sizes = counts[:, :, 1, 1], counts[0, :, 1].sum(axis=-1)
    probability = np.ones(len(counts))
    for g, (n, p) in enumerate(zip(sizes.astype(int), rates, strict=True)):
        of_group = np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
        probability *= of_group[found[:, g].astype(int)]
    return probability


def asking(notion="equal_opportunity", groups=2, **wishes):
    return Question(get_notion(notion), 1, Wishes(**wishes), [f"g{g}" for g in range(groups)], ["no", "yes"])


def effective(counts):
    return counts[0].sum(axis=-1)


# --- Rows that took no part -----------------------------------------------------------------------


@pytest.mark.no_cover
@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 14),
    st.integers(1, 14),
    st.floats(0, 1),
    st.floats(0.02, 0.6),
    st.sampled_from([0.8, 0.9, 0.95, 0.99]),
)
def test_a_broken_limit_passes_as_seldom_as_it_should(n, m, low, limit, confidence):
    """Exactly, by enumerating all tables: the population's gap is a trifle above the limit."""
    high = low + limit
    assume(high <= 1)
    counts = all_tables((n, m))
    (part,) = asking(limit=limit).parts(counts, effective(counts), False)
    passes = np.array([surely_within(part, k, limit - 1e-9, False) >= confidence for k in range(len(counts))])
    for rates in ((low, high), (high, low)):
        assert chances(counts, rates)[passes].sum() <= 1 - confidence + 1e-9


@pytest.mark.no_cover
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 14), st.integers(1, 14), st.floats(0.05, 1), st.floats(0.3, 0.95), st.sampled_from([0.8, 0.95]))
def test_a_broken_ratio_passes_as_seldom_as_it_should(n, m, high, ratio, confidence):
    counts = all_tables((n, m))
    (part,) = asking(min_ratio=ratio).parts(counts, effective(counts), True)
    bound = -np.log(ratio) - 1e-9
    passes = np.array([surely_within(part, k, bound, True) >= confidence for k in range(len(counts))])
    for rates in ((ratio * high, high), (high, ratio * high)):
        assert chances(counts, rates)[passes].sum() <= 1 - confidence + 1e-9


def test_three_groups_need_no_correction():
    counts = all_tables((6, 5, 7))
    (part,) = asking(groups=3, limit=0.5).parts(counts, effective(counts), False)
    passes = np.array([surely_within(part, k, 0.5 - 1e-9, False) >= 0.9 for k in range(len(counts))])
    assert passes.any()
    for rates in ((0.2, 0.7, 0.7), (0.2, 0.45, 0.7), (0.0, 0.5, 0.2), (0.5, 1.0, 1.0)):
        assert chances(counts, rates)[passes].sum() <= 0.1


def test_the_exact_bound_is_the_smallest_limit_that_passes():
    counts = tables(np.array([[40, 70]]), (100, 120))
    question = asking(limit=0.5, min_ratio=0.5)
    bounds = exact_bounds(question, counts, effective(counts), 0, 0.95)
    (part,) = question.parts(counts, effective(counts), False)
    assert surely_within(part, 0, bounds.gap[0], False) >= 0.95 > surely_within(part, 0, bounds.gap[0] - 1e-6, False)
    # Not far from the plain interval of two independent shares.
    plain = 70 / 120 - 0.4 + 1.645 * np.hypot(np.sqrt(0.24 / 100), np.sqrt(7 / 12 * 5 / 12 / 120))
    assert bounds.gap[0] == pytest.approx(plain, abs=0.02)
    assert bounds.ratio[0] < 0.4 / (70 / 120)


# --- Bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(20, 20), (20, 50), (50, 50), (30, 400)])
@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.5, 0.4), (0.9, 0.97), (0.02, 0.2), (0.3, 0.7)])
def test_the_bound_of_one_option_holds_for_small_groups(sizes, rates):
    """Coverage by enumeration, of the one-sided bound at 1.645 standard errors: at least 95 %."""
    counts = all_tables(sizes)
    bounds = asking(limit=1.0, min_ratio=0.1).bounds(counts, effective(counts), 1.645)
    chance = chances(counts, rates)
    assert chance[bounds.gap < abs(rates[0] - rates[1])].sum() <= 0.052
    assert chance[bounds.ratio > min(rates) / max(rates)].sum() <= 0.055


def slow_bound(counts, z, notion):
    """Newcombe's limits of all pairs, of Clopper and Pearson's, in plain loops."""
    tail, worst = norm.sf(z), 0.0
    for classes in {"equal_opportunity": [(1,)], "statistical_parity": [(0, 1)], "equalized_odds": [(0,), (1,)]}[
        notion
    ]:
        limits = []
        for group in counts:
            found = sum(group[y][1] for y in classes)
            n = sum(group[y].sum() for y in classes)
            p = found / n
            low = beta.ppf(tail, found, n - found + 1) if found else 0.0
            high = beta.ppf(1 - tail, found + 1, n - found) if found < n else 1.0
            down, up = p - low, high - p
            if low < 0.5 < p:
                down = max(down, 0.5 * z / np.sqrt(n))
            if p < 0.5 < high:
                up = max(up, 0.5 * z / np.sqrt(n))
            limits.append((p, down, up))
        for (p, _, up), (q, down, _) in permutations(limits, 2):
            worst = max(worst, p - q + np.hypot(up, down))
    return min(worst, 1.0)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(["equal_opportunity", "statistical_parity", "equalized_odds"]), st.integers(2, 4))
def test_bounds_against_plain_loops(data, notion, n_groups):
    cells = data.draw(st.lists(st.integers(1, 60), min_size=4 * n_groups, max_size=4 * n_groups))
    counts = np.array(cells, dtype=float).reshape(n_groups, 2, 2)
    found = asking(notion, n_groups, limit=0.5).bounds(counts[None], counts.sum(axis=-1), 2.0)
    assert found.gap[0] == pytest.approx(slow_bound(counts, 2.0, notion), abs=1e-6)


class PrecisionParity(FairnessNotion):
    name = "precision_parity"
    gaps = (Gap("precision", precision, (0,), high_is_good=True),)


def test_how_many_rows_a_rate_is_a_share_of():
    counts = np.array([[[[30.0, 10], [5, 55]], [[60, 0], [4, 16]]]])
    for rate, n in [
        (get_notion("statistical_parity").gaps[0].rate, [100, 80]),
        (get_notion("equal_opportunity").gaps[0].rate, [60, 20]),
        (get_notion("predictive_equality").gaps[0].rate, [40, 60]),
        (precision, [65, 16]),
    ]:
        part = compare(rate, counts, counts[0].sum(axis=-1))
        assert part.n[0] == pytest.approx(n, rel=1e-5)
        # Weights of two each, and rows that count half.
        part = compare(rate, 2 * counts, 0.5 * counts[0].sum(axis=-1))
        assert part.n[0] == pytest.approx(0.5 * np.array(n), rel=1e-5)


def test_a_notion_of_your_own_is_bounded_by_the_rows_that_it_is_a_share_of():
    counts = np.array([[[[30.0, 10], [5, 55]], [[60, 8], [4, 16]]]])
    question = Question(PrecisionParity(), 1, Wishes(limit=0.1), ["a", "b"], ["no", "yes"])
    found = question.bounds(counts, counts[0].sum(axis=-1), 1.645).gap[0]
    same = tables(np.array([[55, 16]]), (65, 24))  # as true positive rates
    assert found == pytest.approx(asking(limit=0.1).bounds(same, effective(same), 1.645).gap[0], rel=1e-5)


def test_people_count_and_not_rows():
    cell = np.repeat([0, 1, 2, 3], 30)
    cluster = np.repeat(np.arange(40), 3)
    assert People(cell, np.empty(0), None, 2).effective.tolist() == [[30, 30], [30, 30]]
    assert People(cell, np.empty(0), cluster, 2).effective.tolist() == [[10, 10], [10, 10]]
    weight = np.where(np.arange(120) % 2, 3.0, 1.0)
    assert People(cell, weight, None, 2).effective == pytest.approx(np.full((2, 2), 30 * 4 / 5))


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("notion", ["equal_opportunity", "statistical_parity", "equalized_odds"])
def test_of_several_attributes_the_worst_is_promised(notion, share):
    """Each view's bounds are those of its own counts; cells of an unknown group are in none of its groups."""
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 60, (7, 5, 2, 2)).astype(float)
    counts[:, :, :, 1] = np.minimum(counts[:, :, :, 1], counts[0].sum(axis=-1) - 1)
    counts[:, :, :, 0] = counts[0].sum(axis=-1) - counts[:, :, :, 1]
    views = [View("sex", (0,), ("f", "m"), (0, 1, 0, 1, -1)), View("race", (1,), ("a", "b", "c"), (0, 0, 1, 1, 2))]
    groups = [f"g{g}" for g in range(5)]
    wishes = Wishes(limit=0.1, min_group_share=share)
    both = Question(Viewed(get_notion(notion), tuple(views)), 1, wishes, groups, ["no", "yes"])
    found = both.bounds(counts, effective(counts), 2.0)
    alone = []
    for view in views:
        seen = view.sum(counts)
        question = Question(get_notion(notion), 1, wishes, list(view.groups), ["no", "yes"])
        alone.append(question.bounds(seen, effective(seen), 2.0))
    np.testing.assert_allclose(found.gap, np.max([bounds.gap for bounds in alone], axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.ratio, np.min([bounds.ratio for bounds in alone], axis=0), rtol=1e-6)


def test_a_group_of_whom_nothing_is_known_can_be_anywhere():
    counts = tables(np.array([[10, 20, 0]]), (30, 40, 0))
    counts[:, 2, 0, 0] = 25  # a group without positives
    bounds = asking(groups=3, limit=0.5).bounds(counts, effective(counts), 2.0)
    assert bounds.gap[0] == 1
    assert bounds.ratio[0] == 0
    small = asking(groups=3, limit=0.5, min_group_share=0.3).bounds(counts, effective(counts), 2.0)
    assert small.gap[0] < 1


# --- All options at once --------------------------------------------------------------------------


def scored(rng, n, shift, cluster=None):
    """Scores of two groups, whose true rates above any threshold are known: normal ones."""
    group = rng.integers(0, 2, n)
    y = rng.random(n) < 0.5
    score = rng.standard_normal(n) if cluster is None else rng.standard_normal(n // cluster).repeat(cluster)
    if cluster is not None:
        group, y = group[: n // cluster].repeat(cluster), y[: n // cluster].repeat(cluster)
    return score + 1.0 * y + shift * group, (2 * y + group).astype(np.intp)


@pytest.mark.no_cover
@pytest.mark.parametrize("cluster", [None, 4])
def test_the_bounds_of_all_options_hold_at_the_same_time(cluster):
    """As often as they should, by simulation: the options are thresholds. Persons of four rows that are all alike."""
    n, repeats, broken = (600, 150, 0) if cluster is None else (1600, 100, 0)
    notion = get_notion("equal_opportunity")
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        score, cell = scored(rng, n, 0.3, cluster)
        rows = SelectionData(cell, np.empty(0), 2, lambda score=score: iter([score]))
        menu = make_menu(rows, (1.0,), Settings(notion, threshold="auto"), 1.0, per_group=False, may_shift=False)
        question = asking(limit=0.5)
        whom = None if cluster is None else np.arange(n) // cluster
        people = People(cell, np.empty(0), whom, 2)
        place = menu.best(Wishes(limit=0.5), notion, 1.0, 0.5)
        evidence = gather(menu, question, place, rows, people, 1.0, 0.9)
        bounds = question.bounds(menu.counts(), people.effective, evidence.critical)
        true = norm.sf(menu.thresholds - 1.3) - norm.sf(menu.thresholds - 1.0)
        useful = balanced_error_rate(menu.counts()) <= evidence.highest_error
        broken += bool((bounds.gap < true)[useful].any())
    assert broken / repeats <= 0.1 + 2 * np.sqrt(0.09 / repeats)


def test_the_critical_value_is_between_that_of_one_option_and_that_of_many_independent_ones():
    rng = np.random.default_rng(0)
    score, cell = scored(rng, 2000, 0.3)
    rows = SelectionData(cell, np.empty(0), 2, lambda: iter([score]))
    notion = get_notion("equal_opportunity")
    menu = make_menu(rows, (1.0,), Settings(notion, threshold="auto"), 1.0, per_group=False, may_shift=False)
    people = People(cell, np.empty(0), None, 2)
    place = menu.best(Wishes(limit=0.5), notion, 1.0, 0.5)
    found = [gather(menu, asking(limit=0.5), place, rows, people, 1.0, level) for level in (0.8, 0.95)]
    assert 0.84 < found[0].critical < found[1].critical < 3.6
    assert found[0].rows.sum() == 2000


# --- The estimator --------------------------------------------------------------------------------


def fitted(n=3000, notion="equal_opportunity", seed=0, **parameters):
    X, y, s = make_people(n, seed=seed)
    model = ParityBoostClassifier(notion, **SMALL | parameters)
    return model.fit(X, y, sensitive_features=s), (X, y, s)


@pytest.fixture(scope="module")
def promised():
    return fitted(limit=0.3, confidence=0.9)


@pytest.mark.parametrize("notion", ["equal_opportunity", "statistical_parity", "equalized_odds"])
@pytest.mark.parametrize("wish", [{"limit": 0.35}, {"min_ratio": 0.5}, {"limit": 0.4, "min_ratio": 0.4}])
def test_what_is_promised_is_the_best_of_all_whose_bound_is_within(notion, wish):
    """By brute force over all options, with wishes about all people as well."""
    model, _ = fitted(notion=notion, confidence=0.8, maximize="accuracy", capacity=0.9, **wish)
    box = model.glass_box_
    menu, evidence = box.menu, box.evidence
    counts = menu.counts()
    plain = model.choose(confidence=None).glass_box_.place
    question = box.question(box.wishes)
    bounds = question.bounds(counts, evidence.effective, evidence.critical)
    total = counts.sum(axis=1)
    error = (total[:, 0, 1] + total[:, 1, 0]) / total.sum(axis=(1, 2))
    ber = 0.5 * (total[:, 0, 1] / total[:, 0].sum(axis=1) + total[:, 1, 0] / total[:, 1].sum(axis=1))
    ok = menu.offered(box.wishes, question.notion) & (ber <= 0.5 - 0.9 * (0.5 - ber[plain]) + 1e-9)
    ok &= total[:, :, 1].sum(axis=1) / total.sum(axis=(1, 2)) <= 0.9
    ok &= bounds.gap <= wish.get("limit", np.inf)
    ok &= bounds.ratio >= wish.get("min_ratio", -np.inf)
    assert error[box.place] == pytest.approx(error[ok].min(), abs=1e-9)
    certificate = box.certificate
    assert (certificate.largest_gap, certificate.lowest_ratio) == (bounds.gap[box.place], bounds.ratio[box.place])
    assert certificate.gap < certificate.largest_gap
    assert certificate.lowest_ratio < certificate.ratio


def test_the_certificate_says_what_was_promised(promised):
    model, (_, y, s) = promised
    certificate = model.glass_box_.certificate
    assert (certificate.limit, certificate.confidence, certificate.method) == (0.3, 0.9, "out_of_bag")
    rows = [[int(((s == group) & (y == label)).sum()) for label in (0, 1)] for group in model.groups_]
    assert [list(pair) for pair in certificate.rows] == rows  # each row was held out once
    assert certificate.gap <= certificate.largest_gap <= 0.3
    assert certificate.model == model.glass_box_.fingerprint
    assert len(certificate.model) == 64


def test_choosing_again_promises_again(promised):
    model, _ = promised
    bound = model.glass_box_.certificate.largest_gap
    strict = model.choose(limit=0.9 * bound + 0.1 * model.glass_box_.certificate.gap)
    assert strict.glass_box_.certificate.largest_gap <= strict.limit < 0.3
    assert strict.confidence == 0.9
    assert strict.glass_box_.certificate.model != model.glass_box_.certificate.model
    assert model.choose(limit=0.3).glass_box_.certificate == model.glass_box_.certificate
    ratio = model.choose(limit=None, min_ratio=0.5).glass_box_.certificate
    assert ratio.limit is None
    assert ratio.lowest_ratio >= 0.5
    assert model.choose(confidence=0.8).glass_box_.certificate.confidence == 0.8
    plain = model.choose(confidence=None)
    assert plain.glass_box_.certificate is None
    assert plain.confidence is None
    assert plain.choose(confidence=0.9).glass_box_.certificate == model.glass_box_.certificate
    for moved in (model.choose(threshold=0.1), model.choose(fairness=1.0)):
        assert moved.glass_box_.certificate is None
        assert moved.confidence is None
    with pytest.raises(ValueError, match=r"confidence=0.95: what was counted at fit is sure with 0.9 only"):
        model.choose(confidence=0.95)


def test_a_certificate_is_stored_with_the_model_and_of_that_model_alone(promised, tmp_path):
    model, (X, *_) = promised
    path = tmp_path / "model.json"
    model.save(path)
    fitted(limit=0.3, confidence=0.9)[0].save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()  # no date, no chance
    loaded = load(path)
    assert loaded.glass_box_.certificate == model.glass_box_.certificate
    assert loaded.choose(limit=0.29).glass_box_.certificate == model.choose(limit=0.29).glass_box_.certificate
    assert pickle.loads(pickle.dumps(model)).glass_box_.certificate == model.glass_box_.certificate
    assert (loaded.predict(X) == model.predict(X)).all()
    text = path.read_text()
    threshold = f'"threshold": {model.threshold_!r}'
    assert threshold in text
    path.write_text(text.replace(threshold, f'"threshold": {model.threshold_ + 0.25!r}', 1))
    with pytest.raises(ModelFileError, match=r"average\.certificate\.model: expected .* the hash of the model"):
        load(path, verify=False)


def test_a_limit_that_the_rows_cannot_support():
    with pytest.raises(LimitNotMet, match=r"smallest limit that could be promised is 0\.\d+") as error:
        fitted(n=600, limit=0.05, confidence=0.95)
    possible, needed = error.value.possible["limit"], error.value.rows_needed
    assert 0.05 < possible < 1
    assert set(needed) <= {(group, "1") for group in ("a", "b", "f", "m")} | set(needed)
    assert all(number > 100 for number in needed.values())
    model, _ = fitted(n=600, limit=possible + 1e-6, confidence=0.95)
    assert model.glass_box_.certificate.largest_gap <= possible + 1e-6


def test_so_many_rows_would_be_enough_indeed():
    """The same rates of so many more rows: then it can be promised, and of a little fewer it cannot."""
    with pytest.raises(LimitNotMet) as error:
        fitted(n=1500, limit=0.05, confidence=0.95, seed=1)
    needed = error.value.rows_needed
    assert needed, str(error.value)
    _, y, s = make_people(1500, seed=1)
    have = {(group, label): int(((s == group) & (y == int(label))).sum()) for group, label in needed}
    assert all(1 < needed[cell] / have[cell] < 100 for cell in needed)
    model, _ = fitted(n=1500, limit=0.5, confidence=0.95, seed=1)
    box = model.choose(limit=0.5).glass_box_
    question, menu = box.question(Wishes(limit=0.05, confidence=0.95)), box.menu
    rows = Rows(box.evidence.rows, box.evidence.effective, 1.0, box.evidence.critical)
    useful = menu.counts(balanced_error_rate(menu.counts()) <= box.evidence.highest_error)
    found = rows_needed(question, useful, rows)
    times = {cell: n / have for cell, (n, have) in found.items()}

    def is_enough(factor):
        """With each cell so many times as large as was asked for."""
        effective = box.evidence.effective.copy()
        for (g, y), more in times.items():
            effective[g, y] *= max(factor * more, 1.0)
        return question.bounds(useful, effective, box.evidence.critical).gap.min() <= 0.05

    assert is_enough(1.1)
    assert not is_enough(0.0)


def test_held_out_rows_are_tested_on_and_nothing_else():
    model, (X, y, s) = fitted(limit=0.35, confidence=0.9, certify_on="held_out")
    certificate = model.glass_box_.certificate
    assert certificate.method == "held_out"
    assert sum(map(sum, certificate.rows)) == pytest.approx(len(y) / 4, abs=4)
    assert certificate.largest_gap <= 0.35
    assert model.glass_box_.menu.totals.sum() == pytest.approx(len(y) * 3 / 4, abs=4)
    with pytest.warns(UserWarning, match="so this one has no certificate"):
        other = model.choose(limit=0.5)
    assert other.glass_box_.certificate is None
    assert other.confidence is None
    with pytest.raises(ValueError, match="fit again with confidence, and certify_on='out_of_bag'"):
        model.choose(limit=0.5, confidence=0.9)
    given = make_people(2000, seed=5)
    tested = ParityBoostClassifier("equal_opportunity", limit=0.35, confidence=0.9, **SMALL)
    tested.fit(X, y, sensitive_features=s, validation=given)
    box = tested.glass_box_
    assert box.certificate.method == "held_out"
    assert sum(map(sum, box.certificate.rows)) == 2000
    positive = tested.predict(given[0]) == tested.positive_
    rates = [positive[(given[2] == group) & (given[1] == 1)].mean() for group in tested.groups_]
    assert box.certificate.gap == pytest.approx(np.ptp(rates), abs=1e-12)
    assert box.menu.totals.sum() == len(y)  # chosen on rows that the trainings held out


def test_without_confidence_nothing_changes(tmp_path):
    X, y, s = make_people(400, seed=2)
    files = []
    for certify_on in ("auto", "held_out"):
        model = ParityBoostClassifier("equal_opportunity", limit=0.4, certify_on=certify_on, **SMALL)
        model.fit(X, y, sensitive_features=s).set_params(certify_on="auto").save(tmp_path / "model.json")
        files.append((tmp_path / "model.json").read_bytes())
        assert model.glass_box_.evidence is model.glass_box_.certificate is None
    assert files[0] == files[1]
    assert b"certificate" not in files[0]


def test_rows_of_one_person_stay_together_and_count_as_one():
    X, y, s = make_people(1200, seed=3)
    twice = pd.concat([X, X, X], ignore_index=True)
    y, s = np.tile(y, 3), np.tile(s, 3)
    cluster = np.array([f"person {k}" for k in np.tile(np.arange(1200), 3)])
    model = ParityBoostClassifier("equal_opportunity", limit=0.5, confidence=0.9, **SMALL)
    model.fit(twice, y, sensitive_features=s, cluster=cluster)
    certificate = model.glass_box_.certificate
    assert np.sum(certificate.rows) == 3600
    assert np.sum(certificate.effective) == pytest.approx(1200)
    alone = clone(model).fit(twice, y, sensitive_features=s).glass_box_.certificate  # as if all were different people
    assert alone.largest_gap - alone.gap < certificate.largest_gap - certificate.gap
    cell = np.tile(np.arange(1200) % 4, 3)
    for fold in draw_folds(cell, np.tile(np.arange(1200), 3), 0.33, 3, np.random.RandomState(0)):
        assert not set(fold.train % 1200) & set(fold.held % 1200)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 4), st.sampled_from([0.5, 0.33, 0.25]))
def test_every_row_is_held_out_once_in_a_round(seed, n, n_cells, fraction):
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, n_cells, n)
    k = round(1 / fraction)
    folds = draw_folds(cell, None, fraction, k, np.random.RandomState(seed))
    times = np.bincount(np.concatenate([fold.held for fold in folds]), minlength=n)
    sizes = np.bincount(cell)[cell]
    assert (times[sizes == 1] == 0).all()
    assert (times[sizes >= k] == 1).all()
    assert (times[sizes > 1] >= 1).all()
    for fold in folds:
        assert sorted([*fold.train, *fold.held]) == list(range(n))
        for c in np.unique(cell[sizes > 1]):
            assert (cell[fold.held] == c).any()
            assert (cell[fold.train] == c).any()


def test_weights_make_a_promise_harder():
    X, y, s = make_people(3000, seed=4)
    weight = np.where(np.arange(3000) % 3, 1.0, 6.0)
    model = ParityBoostClassifier("equal_opportunity", limit=0.5, confidence=0.9, **SMALL)
    certificate = model.fit(X, y, sensitive_features=s, sample_weight=weight).glass_box_.certificate
    assert np.sum(certificate.rows) == 3000
    assert np.sum(certificate.effective) < 2200


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({"confidence": 0.95}, {}, "confidence=0.95 promises a limit on people who are not known yet: say which"),
        ({"confidence": 0.95, "limit": 0.1, "notion": "none"}, {}, "notion='none' compares nothing"),
        ({"confidence": 1.0, "limit": 0.1}, {}, "'confidence' parameter .* must be a float in the range"),
        (
            {"confidence": 0.9, "limit": 0.1, "certify_on": "out_of_bag"},
            {"validation": True},
            "certify_on='out_of_bag' makes its promise on rows that the trainings hold out",
        ),
        (
            {"confidence": 0.9, "limit": 0.1},
            {"validation": True, "cluster": np.arange(300)},
            "cluster says which rows of X belong together, and nothing of those of validation",
        ),
        ({"confidence": 0.9, "limit": 0.1}, {"cluster": [1.0] * 299 + [np.nan]}, "cluster is missing in row 299"),
        ({"confidence": 0.9, "limit": 0.1}, {"cluster": [1, 2]}, "cluster"),
    ],
)
def test_what_cannot_be_promised_is_refused(parameters, given, message):
    X, y, s = make_people(300, seed=6)
    if given.get("validation"):
        given = given | {"validation": make_people(100, seed=7)}
    model = ParityBoostClassifier(**{"notion": "equal_opportunity"} | SMALL | parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sensitive_features=s, **given)


class OwnViolation(FairnessNotion):
    name = "own"
    gaps = get_notion("equal_opportunity").gaps

    def violation(self, counts):
        return super().violation(counts) ** 2


def test_a_violation_of_its_own_cannot_be_promised():
    with pytest.raises(ValueError, match="the notion 'own' has a violation of its own: give it gaps only"):
        fitted(n=300, notion=OwnViolation(), limit=0.2, confidence=0.9)


def test_where_there_is_nothing_to_compare_something_is_chosen_all_the_same():
    """Nobody of the first group is positive: no bound and no violation is defined, and neither is an error."""
    totals, yes = np.array([[20.0, 0.0], [20.0, 20.0]]), np.array([[5.0, 5.0, 0.0, 15.0], [2.0, 2.0, 0.0, 10.0]])
    stages = (1.0,), None, (0.0,), np.array([0, 0])
    menu = Menu(*stages, np.array([0.1, 0.5]), yes, totals, np.array([[-1.0, 1.0]]), 1.0)
    assert candidates_with_margins(menu, totals, asking(limit=0.5, confidence=0.9), lambda wishes, among: 1) == [1]
    assert menu.best(Wishes(max_violation=0.1), get_notion("equal_opportunity"), 1.0, 0.5) == 0
