"""Wishes: what is chosen is the best of all options, by brute force; impossible ones say what is possible."""

import json
import pickle
import warnings
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from conftest import make_people
from parityboost import LimitNotMet, ParityBoostClassifier, load
from parityboost.datasets import load_adult
from parityboost.notions import get_notion

SMALL = {"n_bags": 2, "n_estimators": 8, "random_state": 0}
NOTIONS = ["equalized_odds", "equal_opportunity", "statistical_parity", "predictive_equality"]


def rates(cells, n_groups):
    """TPR, FPR and selection rate of each group, from a dict of plain sums; NaN where nobody is."""

    def share(group, classes):
        total = sum(cells[group, y][0] for y in classes)
        return sum(cells[group, y][1] for y in classes) / total if total else np.nan

    return {
        what: [share(g, classes) for g in range(n_groups)]
        for what, classes in (("tpr", (1,)), ("fpr", (0,)), ("sel", (0, 1)))
    }


COMPARED = {
    "equalized_odds": ["tpr", "fpr"],
    "equal_opportunity": ["tpr"],
    "predictive_equality": ["fpr"],
    "statistical_parity": ["sel"],
}


def measured(above, cell, n_groups, notion, maximize, yes_is_positive):
    """What one way to say yes gives, in plain Python: error, balanced error, gap, ratio, share of yes, FPR."""
    cells = {
        (g, y): (int((cell == y * n_groups + g).sum()), int((above & (cell == y * n_groups + g)).sum()))
        for g in range(n_groups)
        for y in (0, 1)
    }
    n = {y: sum(cells[g, y][0] for g in range(n_groups)) for y in (0, 1)}
    said = {y: sum(cells[g, y][1] for g in range(n_groups)) for y in (0, 1)}
    fpr, fnr = said[0] / n[0], 1 - said[1] / n[1]
    by_name = {"balanced_accuracy": (1 / n[0], 1 / n[1]), "accuracy": (1, 1)}
    costs = by_name[maximize] if isinstance(maximize, str) else tuple(maximize.values())
    error = (costs[0] * said[0] + costs[1] * (n[1] - said[1])) / (costs[0] * n[0] + costs[1] * n[1])
    found = rates(cells, n_groups)
    gaps, ratios = [], []
    for what in COMPARED[notion]:
        there = [value for value in found[what] if value == value]
        gaps.append(max(there) - min(there) if len(there) > 1 else np.nan)
        given = there if yes_is_positive else [1 - value for value in there]
        ratios.append(min(given) / max(given) if len(given) > 1 and max(given) > 0 else np.nan)
    share = (said[0] + said[1]) / len(cell)
    lowest = np.nan if np.isnan(ratios).any() else min(ratios)  # of rates that nobody has there is no ratio
    return error, (fpr + fnr) / 2, max(gaps), lowest, share if yes_is_positive else 1 - share, fpr


def brute_force(options, wishes):
    """The lowest error of the options that keep all wishes; None if none does."""

    def kept(option):
        _, _, _, _, share, fpr = option
        return share <= wishes.get("capacity", 1) + 1e-12 and fpr <= wishes.get("max_false_positive_rate", 1) + 1e-12

    people = [option for option in options if kept(option)]
    if not people:
        return None
    lowest = min(option[0] for option in people)
    best = next(option for option in people if option[0] <= lowest + 1e-12)
    allowed = max(0.5 - 0.5 * (0.5 - best[1]), best[1])
    found = [
        error
        for error, ber, gap, ratio, *_ in people
        if ber <= allowed + 1e-12
        and gap <= wishes["limit"] + 1e-12
        and not ratio < wishes.get("min_ratio", 0) - 1e-12
        and ("min_ratio" not in wishes or ratio == ratio)
    ]
    return min(found, default=None)


@settings(max_examples=25)
@example(343, "equalized_odds", "balanced_accuracy", 0.1, {"min_ratio": 0.5, "max_false_positive_rate": 0.1}, None)
@given(
    st.integers(0, 999),
    st.sampled_from(NOTIONS),
    st.sampled_from(["balanced_accuracy", "accuracy", {"false_positive": 1, "false_negative": 4}]),
    st.sampled_from([0.02, 0.1, 0.3]),
    st.fixed_dictionaries(
        {},
        optional={
            "min_ratio": st.sampled_from([0.5, 0.8, 0.95]),
            "capacity": st.sampled_from([0.2, 0.5]),
            "max_false_positive_rate": st.sampled_from([0.1, 0.3]),
        },
    ),
    st.sampled_from([None, "0", "1"]),
)  # fmt: skip
def test_the_choice_is_the_best_of_all_options(seed, notion, maximize, limit, others, favourable):
    X, y, group = make_people(200, seed)
    y = np.asarray(y).astype(int).astype(str)
    model = ParityBoostClassifier(notion, favourable=favourable, positive="1", **SMALL)
    held = X[120:], y[120:], group[120:]
    model.fit(X[:120], y[:120], sensitive_features=group[:120], validation=held)
    wishes = {"limit": limit, **others}
    options = []
    cell = (held[1] == "1") * 2 + np.searchsorted(model.groups_, held[2])
    for blend in (0.0, 1.0):  # every threshold that makes a difference, of the plain model and of the fair one
        margin = model.choose(fairness=blend).glass_box_.margin(held[0])
        values = np.unique(margin)
        for cut in (values[:-1] + values[1:]) / 2:
            options.append(measured(margin > cut, cell, 2, notion, maximize, favourable != "0"))
    expected = brute_force(options, wishes)
    if expected is None:
        with pytest.raises(LimitNotMet, match="no choice"):
            model.choose(maximize=maximize, **wishes)
        return
    chosen = model.choose(maximize=maximize, **wishes)
    counts = chosen.glass_box_.held_out_counts
    error = float(chosen.glass_box_.wishes.error(counts))
    assert error == pytest.approx(expected, abs=1e-9)
    known = get_notion(notion)
    assert float(known.largest_gap(counts)) <= limit + 1e-9
    if "min_ratio" in others:
        assert float(known.lowest_ratio(counts, int(favourable != "0"))) >= others["min_ratio"] - 1e-9


def test_the_counts_of_an_option_are_those_of_its_model(monkeypatch):
    X, y, group = make_people(600)
    X = X.assign(group=group)
    held, positive = X[400:], np.asarray(y[400:]) == 1
    for options in ({}, {"threshold": "per_group"}, {"dial": False}, {"n_jobs": 2, "max_depth": 1}):
        model = ParityBoostClassifier("equal_opportunity", sensitive_feature="group", **SMALL, **options)
        monkeypatch.setattr("parityboost._choice.menu.MIN_ROWS_FOR_MORE", 1)  # so that groups are shifted
        box = model.fit(X[:400], y[:400], validation=(held, y[400:])).glass_box_
        for place in range(0, len(box.menu), 37):
            option = box.at_option(place)
            yes = option.predict(held) == 1
            for g, name in enumerate(model.groups_):
                in_group = (held["group"] == name).to_numpy()
                rows = [[(in_group & (positive == a) & (yes == b)).sum() for b in (0, 1)] for a in (0, 1)]
                np.testing.assert_array_equal(option.held_out_counts[g], rows)


@pytest.fixture(scope="module")
def adult():
    data = load_adult()
    rows = np.random.default_rng(0).permutation(len(data.target))[:12000]
    train, test = rows[:8000], rows[8000:]
    model = ParityBoostClassifier("equalized_odds", n_bags=2, n_estimators=60, random_state=0)
    model.fit(data.data.iloc[train], data.target.iloc[train], sensitive_features=data.sensitive.iloc[train])
    return model, data.data.iloc[test], data.target.iloc[test], data.sensitive.iloc[test]


def test_choosing_again_changes_nothing_else_and_survives_storing(adult, tmp_path):
    model, X, *_ = adult
    before = model.decision_function(X)
    accurate = model.choose(maximize="accuracy", limit=0.06)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert (accurate.predict(X) != model.predict(X)).any()
    assert accurate.limit == 0.06 and clone(accurate).maximize == "accuracy" and model.limit is None
    accurate.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    for other in (loaded, pickle.loads(pickle.dumps(accurate))):
        np.testing.assert_array_equal(other.decision_function(X), accurate.decision_function(X))
        kept = other.choose(capacity=0.1)  # wishes that are not named stay
        assert kept.glass_box_.wishes.limit == 0.06 and kept.glass_box_.wishes.capacity == 0.1
        np.testing.assert_array_equal(kept.decision_function(X), accurate.choose(capacity=0.1).decision_function(X))
        back = kept.choose(capacity=None, limit=None, maximize=None)
        assert back.glass_box_.wishes == model.glass_box_.wishes
        np.testing.assert_array_equal(back.decision_function(X), before)
    assert json.loads((tmp_path / "model.json").read_text())["average"]["menu"]["wishes"]["limit"] == 0.06


def test_fit_with_wishes_is_choosing_them_afterwards(adult):
    model, X, y, _ = adult
    data = load_adult()
    rows = np.random.default_rng(0).permutation(len(data.target))[:8000]
    fitted = clone(model).set_params(maximize="accuracy", limit=0.12, class_weight=model.starting_weights())
    fitted.fit(data.data.iloc[rows], data.target.iloc[rows], sensitive_features=data.sensitive.iloc[rows])
    chosen = model.choose(maximize="accuracy", limit=0.12)
    assert fitted.score(X, y) == pytest.approx(chosen.score(X, y), abs=0.005)  # fit looks closer around its choice
    assert fitted.glass_box_.wishes == chosen.glass_box_.wishes


def test_a_limit_that_the_default_keeps_is_at_least_as_good(adult):
    model = adult[0]
    counts = model.glass_box_.held_out_counts
    notion = get_notion("equalized_odds")
    for aim in ("balanced_accuracy", "accuracy"):
        limited = model.choose(maximize=aim, limit=float(notion.largest_gap(counts)))
        wishes = limited.glass_box_.wishes
        assert wishes.error(limited.glass_box_.held_out_counts) <= wishes.error(counts) + 1e-12


def test_what_is_impossible_says_what_is_possible(adult):
    model = adult[0]
    with pytest.raises(LimitNotMet, match=r"min_ratio=0\.999: the highest ratio of any useful choice is 0\.") as caught:
        model.choose(min_ratio=0.999)
    assert 0.5 < caught.value.possible["min_ratio"] < 0.999
    possible = model.choose(min_ratio=np.floor(1000 * caught.value.possible["min_ratio"]) / 1000)
    assert possible.glass_box_.wishes.min_ratio < 0.999
    plain = ParityBoostClassifier("none", class_weight=None, **SMALL)
    with pytest.raises(ValueError, match=r"limit=0\.1 limits what a notion compares, and notion='none' compares no"):
        plain.set_params(limit=0.1).fit([[1], [2]] * 20, [0, 1] * 20)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"maximize": "f1"}, "maximize"),
        ({"maximize": {"false_positive": 1}}, "says nothing of 'false_negative'"),
        ({"maximize": {"false_positive": -1, "false_negative": 1}}, "the cost of a false_positive must be a number"),
        ({"maximize": {"false_positive": 0, "false_negative": 0}}, "one of the two mistakes must cost something"),
        ({"limit": 1.5}, "limit"),
        ({"min_ratio": 0}, "min_ratio"),
        ({"capacity": "many"}, "capacity"),
    ],
)
def test_wishes_that_mean_nothing_are_refused(adult, wish, message):
    with pytest.raises(ValueError, match=message):
        adult[0].choose(**wish)


def test_an_exact_number_of_places_and_what_decides_between_equals(adult):
    model, X, _, _ = adult
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of equals at the last place
        yes = model.select(X, n=200) == model.positive_
    assert yes.sum() == 200
    decision = model.decision_function(X)
    assert decision[yes].min() >= decision[~yes].max()
    twins = pd.concat([X.iloc[[int(np.argmax(decision))]]] * 5)
    with pytest.warns(UserWarning, match="5 people have the same score, and there are 2 places left for them"):
        assert (model.select(twins, n=2) == model.positive_).tolist() == [True, True, False, False, False]
    for wrong in (-1, 6, 2.0, True):
        with pytest.raises(ValueError, match="n must be a whole number from 0 to 5"):
            model.select(twins, n=wrong)


def test_capacity_counts_the_favourable_answer(adult):
    model, X, *_ = adult
    for share in (0.1, 0.3):
        yes = model.choose(capacity=share).predict(X) == model.positive_
        assert yes.mean() == pytest.approx(share, abs=0.03) or yes.mean() < share


def test_alternatives_hold_the_choice_the_plain_model_and_the_best_of_each_limit(adult):
    model = adult[0]
    table = model.alternatives()
    assert table["what"].tolist()[0] == "taken, default"
    assert "plain boosting" in table["what"].tolist()
    taken = model.glass_box_.wishes
    for aim in ("balanced_accuracy", "accuracy"):
        for limit in np.arange(1, 21) / 100:
            try:
                best = model.choose(maximize=aim, limit=float(limit)).glass_box_
            except LimitNotMet:
                continue
            value = float(best.wishes.error(best.held_out_counts))
            column = "accuracy" if aim == "accuracy" else "balanced_accuracy"
            within = table[table["largest_gap"] <= limit + 1e-12]
            assert (1 - within[column]).min() <= value + 1e-12
    for value, low, high in (("largest_gap", "gap_lower", "gap_upper"), ("lowest_ratio", "ratio_lower", "ratio_upper")):
        assert (table[low] <= table[value] + 1e-9).all() and (table[value] <= table[high] + 1e-9).all()
    assert taken == model.glass_box_.wishes
    for row in table.itertuples():
        if row.what != "plain boosting":  # which is the best of the plain blend, not of all
            again = model.choose(maximize=row.maximize, limit=row.limit).glass_box_
            found = (again.fairness, again.threshold)
            assert found == pytest.approx((row.fairness, row.threshold))


def test_a_search_over_limits(adult):
    X, y, group = make_people(300)
    X = X.assign(group=group)
    model = ParityBoostClassifier("equal_opportunity", sensitive_feature="group", **SMALL)
    search = GridSearchCV(model, {"limit": [0.2, 0.4]}, cv=2, error_score=np.nan, scoring="accuracy")
    search.fit(X, y)
    assert search.best_estimator_.glass_box_.wishes.limit in (0.2, 0.4)


@pytest.mark.parametrize("wish", [{"max_false_positive_rate": 0.0}, {"limit": 1.0}, {"min_group_share": 0.3}])
def test_a_file_keeps_every_wish_and_chooses_alike(wish, tmp_path):
    """Of weights that are no whole numbers too: what is counted on validation data adds up exactly."""
    X, y, group = make_people(240, 2)
    weight = np.random.default_rng(0).uniform(0.5, 2, 240)
    held = X[120:], y[120:], group[120:], weight[120:]
    model = ParityBoostClassifier("equal_opportunity", **SMALL | {"n_estimators": 60})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:120], y[:120], sensitive_features=group[:120], validation=held)
    model = model.choose(**wish)
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.glass_box_.wishes == model.glass_box_.wishes
    np.testing.assert_array_equal(loaded.glass_box_.menu.yes, model.glass_box_.menu.yes)
    for other in ({"capacity": 0.4}, {"maximize": "accuracy"}):
        found, again = (each.choose(**other).glass_box_ for each in (model, loaded))
        assert (found.fairness, found.threshold) == (again.fairness, again.threshold)


def test_weights_are_repeats_and_the_order_of_rows_is_nothing():
    X, y, group = make_people(150)
    times = np.random.default_rng(0).integers(1, 4, 150)
    part = np.arange(100)
    validation = (X.iloc[100:], y[100:], group[100:], times[100:])
    again = np.repeat(np.arange(100, 150), times[100:])
    np.random.default_rng(1).shuffle(again)
    repeated = (X.iloc[again], y[again], group[again])
    both = []
    for held in (validation, repeated):
        model = ParityBoostClassifier(**SMALL, maximize="accuracy", limit=0.4)
        both.append(model.fit(X.iloc[part], y[part], sensitive_features=group[part], validation=held).glass_box_)
    for name in ("thresholds", "stage"):
        np.testing.assert_array_equal(getattr(both[0].menu, name), getattr(both[1].menu, name))
    np.testing.assert_array_equal(*(box.menu.yes * box.menu.unit for box in both))
    assert both[0].threshold == both[1].threshold
    assert list(chain(both[0].calibrator.edges)) == list(chain(both[1].calibrator.edges))
