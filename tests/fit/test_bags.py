"""ParityBoostClassifier: several trainings, averaged into one glass box."""

import copy
import json
import pickle
import random
import re
import threading
import time
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, StratifiedKFold, StratifiedShuffleSplit, train_test_split

from conftest import make_people, make_wide
from fuzz.model_files import damage_structure, written
from parityboost import AdaFairClassifier, FitWarning, ModelFileError, ParityBoostClassifier, explain, load
from parityboost._choice import thresholds
from parityboost._choice.thresholds import Counting
from parityboost._fit import bags
from parityboost._fit.bags import standard_deviation
from parityboost._model.calibration import Calibrator
from parityboost._model.dial import WEIGHTS
from parityboost.datasets import load_adult
from parityboost.notions import StatisticalParity, get_notion

SMALL = {"n_bags": 3, "n_estimators": 12, "random_state": 0}
OLD_NAMES = pytest.mark.filterwarnings("ignore:.* is an old name:FutureWarning")


def fitted(n_rows=300, **options):
    X, y, group = make_people(n_rows)
    return ParityBoostClassifier(**{**SMALL, **options}).fit(X, y, sensitive_features=group), X, y, group


def splits_of(y, n_bags=3, seed=0):
    return list(StratifiedShuffleSplit(n_bags, test_size=0.33, random_state=seed).split(np.zeros(len(y)), y))


# --- The average ------------------------------------------------------------------------------------------------------


@OLD_NAMES
@pytest.mark.parametrize("depth", [1, 2])
def test_the_model_is_the_mean_of_its_bags_on_one_scale(depth, monkeypatch):
    """Each bag alone is a model of one bag; the mean of their shifted and scaled margins is that of all."""
    X, y, group = make_people(400)
    folds = splits_of(y)
    options = {"n_estimators": 15, "max_depth": depth, "max_pairs": None, "keep": 0.0}
    model = ParityBoostClassifier(n_bags=folds, **options).fit(X, y, sensitive_features=group)
    margins = np.mean(
        [
            ParityBoostClassifier(n_bags=[fold], **options).fit(X, y, sensitive_features=group).glass_box_.margin(X)
            for fold in folds
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.glass_box_.margin(X), margins, atol=1e-9)
    assert len(model.thetas_) == 3


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([1, 2]), st.sampled_from(["auto", "per_group", 0.1]))
def test_contributions_add_up_to_the_score(seed, dial, depth, threshold):
    X, y, group = make_people(200, seed)
    X = X.assign(group=group)
    model = ParityBoostClassifier(
        "equal_opportunity",
        n_bags=2,
        n_estimators=6,
        max_depth=depth,
        dial=dial,
        threshold=threshold,
        sensitive_feature="group",
        random_state=seed,
    ).fit(X, y)
    new = make_people(50, seed + 1)
    new = new[0].assign(group=new[2], city="unseen")
    for w in (0.0, 0.7, 2.0) if dial else (1.0,):
        if dial:
            model = model.choose(fairness=w)
        scores = model.decision_function(new)
        parts = explain.contributions(model, new)
        np.testing.assert_allclose(parts.sum(axis=1), scores, rtol=0, atol=1e-12)
        gaps = explain.gap_decomposition(model, new, new["group"])
        means = scores[new["group"] == "a"].mean(), scores[new["group"] == "b"].mean()
        assert abs(gaps.loc["total"].iloc[0]) == pytest.approx(abs(means[0] - means[1]), abs=1e-9)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(bags, "FEW_ROWS", 0)
    scores = []
    for n_jobs, at_a_time in ((1, 32), (2, 5), (3, 1)):  # rounds whose thresholds are looked at together
        monkeypatch.setattr(thresholds, "MAX_TOGETHER", at_a_time)
        model, X, _, _ = fitted(n_jobs=n_jobs, dial=True)
        scores.append(model.decision_function(X))
    assert (scores[0] == scores[1]).all() and (scores[0] == scores[2]).all()


@pytest.mark.parametrize("options", [{}, {"dial": True}])
def test_any_number_of_threads_gives_the_same_bits_for_a_wide_column(options, monkeypatch):
    monkeypatch.setattr(bags, "FEW_ROWS", 0)
    X, y, group = make_wide(900, 10)
    one, other = (
        ParityBoostClassifier(**SMALL, max_bins=6, n_jobs=n_jobs, **options).fit(X, y, sensitive_features=group)
        for n_jobs in (1, 3)
    )
    assert one.glass_box_.binner.columns[0].shared is not None
    assert (one.decision_function(X) == other.decision_function(X)).all()


def test_few_rows_have_more_trainings():
    """Rows are counted, and weights that are no whole numbers do not make more of them."""
    X, y, group = make_people(10_000)
    options = {"n_estimators": 2, "max_pairs": 0, "random_state": 0}
    for n_rows, weights, expected in (
        (10_000, None, 4),
        (9_999, None, 8),
        (5_000, np.full(5_000, 2), 4),
        (5_000, np.full(5_000, 2.5), 8),
    ):
        model = ParityBoostClassifier(**options)
        model.fit(X[:n_rows], y[:n_rows], sensitive_features=group[:n_rows], sample_weight=weights)
        assert len(model.thetas_) == expected


def test_trainings_that_end_at_the_cap_are_warned_of(monkeypatch):
    X, y, group = make_people(300)

    def warned(**options):
        options = {"n_bags": 2, "random_state": 0, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ParityBoostClassifier(**options).fit(X, y, sensitive_features=group)
        return [message for message in model.warnings_ if "n_estimators" in message], model

    assert not warned()[0]  # they stopped by themselves
    few, model = warned(n_estimators=20)
    assert not few and model.n_estimators_ <= 40  # asked for on purpose
    monkeypatch.setattr(ParityBoostClassifier, "n_estimators", 20)
    found, _ = warned(n_estimators=20)
    assert len(found) == 1
    assert re.match(r"2 of 2 trainings made all n_estimators=20 rounds: .* the last 100.*a larger n_est", found[0])
    assert not warned(n_estimators=20, n_iter_no_change=None)[0]


def test_any_backend_of_joblib_may_be_asked_for(monkeypatch):
    monkeypatch.setattr(bags, "FEW_ROWS", 0)
    alone, X, _, _ = fitted(n_jobs=1)
    with joblib.parallel_config("loky", n_jobs=2):
        model, _, _, _ = fitted(n_jobs=None)
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


def test_an_interruption_ends_all_trainings(monkeypatch):
    monkeypatch.setattr(bags, "FEW_ROWS", 0)
    looks, look = [], Counting.look

    def interrupt(self, rounds):
        looks.append(self)
        if len(looks) == 3:
            raise KeyboardInterrupt
        return look(self, rounds)

    monkeypatch.setattr(Counting, "look", interrupt)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        fitted(n_jobs=3, n_estimators=100_000)
    deadline = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.no_cover
@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_the_names_of_groups_and_repeated_rows_change_nothing(seed):
    X, y, group = make_people(160, seed)
    rng = np.random.default_rng(seed)
    folds = splits_of(y, 2, seed % 1000)
    options = {"n_estimators": 8, "notion": "disparate_mistreatment"}
    weights = rng.integers(1, 4, len(y))

    def scores(rows, folds, weights=None, names=None):
        named = group if names is None else np.where(group == "a", *names)
        model = ParityBoostClassifier(n_bags=folds, **options)
        model.fit(X.iloc[rows], y[rows], sensitive_features=named[rows], sample_weight=weights)
        return model.decision_function(X)

    everyone = np.arange(len(y))
    expected = scores(everyone, folds)
    assert (scores(everyone, folds, names=("zeta", "alpha")) == expected).all()
    order = rng.permutation(len(y))
    place = np.argsort(order)
    assert (scores(order, [(place[train], place[held]) for train, held in folds]) == expected).all()

    repeated = np.repeat(everyone, weights)
    firsts = np.cumsum(weights) - weights
    copies = [np.arange(first, first + n) for first, n in zip(firsts, weights, strict=True)]
    again = [tuple(np.concatenate([copies[row] for row in rows]) for rows in fold) for fold in folds]
    weighted = scores(everyone, folds, weights)
    np.testing.assert_allclose(scores(repeated, again), weighted, rtol=0, atol=1e-9)


def test_splits_may_keep_rows_together():
    X, y, group = make_people(300)
    person = np.repeat(np.arange(100), 3)
    folds = list(GroupKFold(3).split(X, y, person))
    model = ParityBoostClassifier(n_bags=folds, n_estimators=10).fit(X, y, sensitive_features=group)
    by_splitter = ParityBoostClassifier(
        n_bags=StratifiedShuffleSplit(3, test_size=0.33, random_state=0), n_estimators=10
    ).fit(X, y, sensitive_features=group)
    by_list = ParityBoostClassifier(
        n_bags=list(StratifiedShuffleSplit(3, test_size=0.33, random_state=0).split(X, y)), n_estimators=10
    ).fit(X, y, sensitive_features=group)
    assert len(model.thetas_) == 3
    assert (by_splitter.decision_function(X) == by_list.decision_function(X)).all()


@pytest.mark.parametrize(
    ("n_bags", "message"),
    [
        ([], "holds no splits"),
        ([([0, 1], [1, 2])], r"n_bags\[0\]: row 1 is both trained on and held out"),
        ([([0, 1], [999])], r"n_bags\[0\]\[1\]: there is no row 999, X has 300"),
        ([[0, 1, 2]], r"n_bags\[0\] must be a pair"),
        ([(["a"], [1])], r"n_bags\[0\]\[0\] must be a list of row positions"),
        (0, "n_bags"),
        ("four", "n_bags"),
    ],
)
def test_splits_that_make_no_sense_are_refused(n_bags, message):
    X, y, group = make_people(300)
    with pytest.raises(ValueError, match=message):
        ParityBoostClassifier(n_bags=n_bags).fit(X, y, sensitive_features=group)


def test_a_bag_without_a_class_of_a_group_is_refused_in_words():
    X, y, group = make_people(300)
    only = np.flatnonzero(~((y == 1) & (group == "b")))
    with pytest.raises(ValueError, match="the rows that a bag trains on: group 'b' has no example of class '1'"):
        ParityBoostClassifier("equal_opportunity", n_bags=[(only[:150], only[150:])]).fit(
            X, y, sensitive_features=group
        )


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_groups"])
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("side", "what"), [(0, "train on"), (1, "hold out")])
def test_a_bag_of_one_class_is_refused_and_named(class_weight, label, side, what):
    X, y, group = make_people(300)
    both, one = np.arange(0, 150), np.arange(150, 300)[y[150:] != label]
    bags = [(np.arange(150), np.arange(150, 300)), (one, both) if side == 0 else (both, one)]
    model = ParityBoostClassifier("statistical_parity", n_bags=bags, class_weight=class_weight)
    with pytest.raises(ValueError, match=rf"n_bags\[1\] has no row of class '{label}' to {what}"):
        model.fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("missing", ["approved", "declined"])
def test_a_bag_of_one_class_is_named_rightly_if_the_positive_label_sorts_first(missing):
    X, y, group = make_people(300)
    labels = np.where(y == 1, "approved", "declined")
    bags = [(np.arange(150)[labels[:150] != missing], np.arange(150, 300))]
    model = ParityBoostClassifier("statistical_parity", n_bags=bags, positive="approved")
    with pytest.raises(ValueError, match=rf"n_bags\[0\] has no row of class '{missing}' to train on"):
        model.fit(X, labels, sensitive_features=group)


def test_a_class_that_is_only_there_without_weight_is_not_there():
    X, y, group = make_people(300)
    weight = np.where((np.arange(300) < 150) & (y == 1), 0.0, 1.0)
    model = ParityBoostClassifier("none", n_bags=[(np.arange(150), np.arange(150, 300))], class_weight="balanced")
    with pytest.raises(ValueError, match=r"n_bags\[0\] has no row of class '1' to train on"):
        model.fit(X, y, sensitive_features=group, sample_weight=weight)


def test_a_threshold_on_validation_data_and_one_that_is_given():
    X, y, group = make_people(400)
    part, rest = np.arange(300), np.arange(300, 400)
    model = ParityBoostClassifier(**SMALL)
    model.fit(X.iloc[part], y[part], sensitive_features=group[part], validation=(X.iloc[rest], y[rest], group[rest]))
    other = ParityBoostClassifier(**SMALL).fit(X.iloc[part], y[part], sensitive_features=group[part])
    assert (model.glass_box_.margin(X) == other.glass_box_.margin(X)).all()
    assert model.glass_box_.held_out_counts.sum() == 100
    fixed = ParityBoostClassifier(threshold=0.25, **SMALL).fit(X.iloc[part], y[part], sensitive_features=group[part])
    assert fixed.threshold_ == 0.25


@pytest.mark.parametrize("name", ["statistical_parity", "demographic_parity", "equal_opportunity"])
def test_a_notion_and_its_name_give_the_same_model(name, tmp_path):
    model, X, *_ = fitted(notion=name)
    other, *_ = fitted(notion=get_notion(name))
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    assert other._about.settings == model._about.settings
    other.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.notion == get_notion(name) and loaded._about.settings.notion == model._about.settings.notion


def test_statistical_parity_is_symmetric_unless_asked_otherwise():
    model, *_ = fitted(notion="statistical_parity")
    assert model._about.settings.notion == StatisticalParity(boost="both")
    model, *_ = fitted(notion=StatisticalParity(boost="positives"))
    assert model._about.settings.notion == StatisticalParity(boost="positives")


@pytest.mark.parametrize(
    ("wish", "same"),
    [
        ({}, "balanced_groups"),
        ({"maximize": "balanced_accuracy"}, "balanced_groups"),
        ({"maximize": "accuracy"}, None),
        ({"notion": "none"}, "balanced"),
        ({"maximize": {"false_positive": 1, "false_negative": 5}}, {0: 1.0, 1: 5.0}),
        ({"maximize": {"false_positive": 0, "false_negative": 5}}, {0: 0.005, 1: 5.0}),
    ],
)
def test_the_starting_weights_suit_what_is_maximised(wish, same):
    X, y, group = make_people(300)
    given = {"sensitive_features": group}
    auto = ParityBoostClassifier(**SMALL, **wish).fit(X, y, **given)
    named = ParityBoostClassifier(**SMALL, **wish, class_weight=same).fit(X, y, **given)
    np.testing.assert_array_equal(auto.decision_function(X), named.decision_function(X))


def test_what_needs_the_groups_is_named():
    X, y, _ = make_people(200)
    model = ParityBoostClassifier("none", **SMALL)
    assert model.fit(X, y).groups_.tolist() == ["all"]
    model.set_params(class_weight="balanced_groups")
    with pytest.raises(ValueError, match=r"sensitive attribute for class_weight='balanced_groups' \('balanced'"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"only one group .* two are needed for class_weight='balanced_groups'"):
        model.fit(X, y, sensitive_features=np.full(200, "a"))
    with pytest.raises(ValueError, match=r"needs the sensitive attribute for threshold='per_group' \('auto'"):
        model.set_params(class_weight="balanced", threshold="per_group").fit(X, y)
    assert model.set_params(threshold="auto").fit(X, y).groups_.tolist() == ["all"]
    with pytest.raises(ValueError, match="needs the sensitive attribute for notion='equal_opportunity': pass"):
        model.set_params(notion="equal_opportunity").fit(X, y)


def test_history_has_a_level_for_the_bag_and_shapes_have_bands():
    model, *_ = fitted()
    assert model.history_.index.names == ["bag", "round"]
    assert len(model.history_) == model.n_estimators_ == sum(model._bag_sizes)
    assert model.theta_ == model.thetas_.sum()
    assert model.glass_box_.spread.max() > 0
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_the_deviation_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    values, mass = rng.normal(size=1000) * 1e3, rng.integers(1, 100, 1000)
    order = rng.permutation(1000)
    assert standard_deviation(values, mass) == standard_deviation(values[order], mass[order])
    assert standard_deviation(values, mass) == pytest.approx(np.std(np.repeat(values, mass)))
    assert standard_deviation(np.ones(3), np.empty(0)) == 0.0


# --- The dial ---------------------------------------------------------------------------------------------------------


def test_the_dial_leads_from_the_plain_model_to_the_fair_one():
    model, X, *_ = fitted(600, dial=True, notion="equal_opportunity", n_estimators=30)
    fair, *_ = fitted(600, notion="equal_opportunity", n_estimators=30)
    assert model.fairness_ == 1.0  # too few rows to choose another
    assert (model.decision_function(X) == fair.decision_function(X)).all()
    ends = [model.choose(fairness=w).glass_box_.margin(X) for w in (0, 1)]
    for w in (0.3, 1.5):
        blended = model.choose(fairness=w).glass_box_.margin(X)
        np.testing.assert_allclose(blended, ends[0] + w * (ends[1] - ends[0]), atol=1e-8)
    assert model.fairness_ == 1.0 and model.choose(fairness=1.5).fairness_ == 1.5
    frontier = model.frontier()
    assert set(frontier["fairness"]) <= set(WEIGHTS)
    is_own = (frontier["fairness"] == 1.0) & (frontier["threshold"] == fair.threshold_)  # which another blend may beat
    assert is_own.sum() == 1
    assert (frontier["violation"][~is_own].diff().dropna() <= 0).all()


OF_ONE_TRAINING = [
    *("set_theta", "staged_decision_function", "staged_predict", "staged_predict_proba", "staged_score"),
    *("estimators_", "estimator_weights_"),
]


@pytest.mark.parametrize("name", OF_ONE_TRAINING)
def test_what_only_one_training_has_an_average_has_not(name):
    model, X, y, group = fitted()
    for average in (model, ParityBoostClassifier()):
        assert not hasattr(average, name)
    with pytest.raises(AttributeError) as caught:
        getattr(model, name)
    assert "alternatives() lists its choices" in str(caught.value.__cause__ or caught.value)
    assert hasattr(AdaFairClassifier(n_estimators=2).fit(X, y, sensitive_features=group), name)


@OLD_NAMES
def test_only_a_model_with_a_dial_can_be_moved_along_it():
    assert hasattr(ParityBoostClassifier(dial=True), "set_fairness")
    assert not hasattr(ParityBoostClassifier(dial=False), "set_fairness")
    model, *_ = fitted(dial=False)
    with pytest.raises(AttributeError) as caught:
        model.set_params(dial=True).set_fairness(0.5)  # it was fitted without
    assert "was fitted with dial=True" in str(caught.value.__cause__ or caught.value)
    with pytest.raises(AttributeError, match="was fitted with dial=True"):
        model.choose(fairness=0.5)
    model, *_ = fitted(dial=True)
    with pytest.warns(
        FutureWarning, match=r"set_fairness is an old name, .*; now: choose\(limit=…\), or choose\(fairn"
    ):
        assert model.set_fairness(0.5).fairness_ == 0.5  # which changes the model itself
    for wrong in (-0.1, 2.1, 0.55, "fair", True, np.nan):
        with pytest.raises(ValueError, match=r"fairness must be one of 0.0, 0.1"):
            model.choose(fairness=wrong)


def test_with_enough_rows_the_blend_is_chosen(monkeypatch):
    monkeypatch.setattr("parityboost._choice.menu.MIN_ROWS_FOR_MORE", 10)
    model, *_ = fitted(600, dial=True, n_estimators=30)
    notion = get_notion("disparate_mistreatment")
    objectives = [float(notion.objective(box.held_out_counts)) for box in model.glass_box_.blends()]
    assert objectives[WEIGHTS.index(model.fairness_)] <= min(objectives) + 0.05


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]), st.sampled_from([1, -1]))
def test_every_blend_keeps_the_order_of_a_feature(monkeypatch, seed, depth, order):
    monkeypatch.setattr("parityboost._choice.menu.MIN_ROWS_FOR_MORE", 1)
    X, y, group = make_people(300, seed % 1000)
    options = {"n_bags": 2, "n_estimators": 15, "max_depth": depth, "dial": True, "random_state": seed % 1000}
    model = ParityBoostClassifier("statistical_parity", monotonic_cst={"skill": order}, **options)
    model.fit(X, y, sensitive_features=group)
    grid = np.linspace(-4, 4, 60)
    people = X.iloc[np.repeat(np.arange(20), 60)].assign(skill=np.tile(grid, 20))

    def is_ordered(model):
        return (order * np.diff(model.decision_function(people).reshape(20, 60), axis=1) >= -1e-9).all()

    assert is_ordered(model)  # as fit left it
    assert set(model.frontier()["fairness"]) <= set(model.glass_box_.dial.weights)
    refused = []
    for w in WEIGHTS:
        try:
            blend = model.choose(fairness=w)
        except ValueError as error:
            assert "for monotonic_cst to hold" in str(error) and "'skill'" in str(error)
            refused.append(w)
        else:
            assert is_ordered(blend), w
            assert not refused
    assert not refused or refused[0] > 1.0


def test_blends_that_would_break_an_order_are_not_there(tmp_path):
    model, X, y, group = fitted(600, dial=True, monotonic_cst={"skill": 1, "years": -1}, n_estimators=30)
    highest = model.glass_box_.dial.weights[-1]
    assert 1.0 <= highest < 2.0
    model.save(tmp_path / "model.json")
    for each in (model, load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        with pytest.raises(
            ValueError, match=rf"at most {highest} for monotonic_cst to hold, got 2.*, with '(skill|ye)"
        ):
            each.choose(fairness=2)
        assert each.choose(fairness=highest).frontier(X, y, sensitive_features=group)["fairness"].max() <= highest
    document = json.loads((tmp_path / "model.json").read_text())
    stages = document["average"]["menu"]["stages"]
    stages.append(stages[-1])
    (tmp_path / "more.json").write_bytes(written(document))
    with pytest.raises(ModelFileError, match=rf"a stage for each of {round(10 * highest) + 1} blends and its shifts"):
        load(tmp_path / "more.json")
    free, *_ = fitted(600, dial=True, n_estimators=30)
    assert free.choose(fairness=2).fairness_ == 2.0


@pytest.mark.parametrize("depth", [1, 2])
def test_importances_and_bands_are_those_of_the_blend(depth, tmp_path):
    """At the plain end those of a model that was trained for it, and between both those of the trainings' blends."""
    options = {"max_depth": depth, "n_estimators": 20, "notion": "equal_opportunity", "max_pairs": None}
    model, *_ = fitted(400, dial=True, **options)
    plain, *_ = fitted(400, **options | {"notion": "none", "class_weight": None})
    fair, blend = model.choose(fairness=1.0), model.choose(fairness=0.0)
    np.testing.assert_array_equal(blend.feature_importances_, plain.feature_importances_)
    np.testing.assert_array_equal(blend.glass_box_.spread, plain.glass_box_.spread)
    assert not np.allclose(plain.feature_importances_, fair.feature_importances_)
    for w in (0.5, 1.3):
        blend = model.choose(fairness=w)
        expected = (abs(1 - w) * plain.feature_importances_ + w * fair.feature_importances_) / (abs(1 - w) + w)
        np.testing.assert_allclose(blend.feature_importances_, expected)
        blend.save(tmp_path / "model.json")
        saved = json.loads((tmp_path / "model.json").read_text())["average"]
        np.testing.assert_allclose(saved["importances"], expected)
        loaded = load(tmp_path / "model.json")
        for other in (0.0, w):
            one, again = (each.choose(fairness=other) for each in (model, loaded))
            np.testing.assert_array_equal(again.feature_importances_, one.feature_importances_)
            for name, function in explain.shape_functions(one).items():
                assert explain.shape_function(again, name).spread == function.spread


def test_the_band_of_a_blend_is_the_spread_of_the_blended_trainings():
    X, y, group = make_people(400)
    options = {"n_estimators": 15, "max_depth": 1, "dial": True}
    folds = splits_of(y)
    model = ParityBoostClassifier(n_bags=folds, **options).fit(X, y, sensitive_features=group)
    alone = [ParityBoostClassifier(n_bags=[fold], **options).fit(X, y, sensitive_features=group) for fold in folds]
    for w in (0.0, 0.4, 1.0, 1.7):
        tables = [each.choose(fairness=w).glass_box_.effects.tables for each in alone]
        np.testing.assert_allclose(
            model.choose(fairness=w).glass_box_.spread, np.std(tables, axis=0, ddof=1), atol=1e-7
        )


# --- Limits -----------------------------------------------------------------------------------------------------------


@OLD_NAMES
@pytest.mark.parametrize("options", [{}, {"dial": True}, {"c": 0.2}, {"threshold": "per_group"}])
def test_a_limit_that_is_kept_anyway_changes_nothing(options):
    free, X, _, group = fitted(600, **options)
    own = free.frontier().pipe(lambda f: f[f["objective"] == f["objective"].min()])
    limited, *_ = fitted(600, max_violation=float(own["violation"].max()) + 0.5, **options)
    given = {"sensitive_features": group} if "threshold" in options else {}
    np.testing.assert_array_equal(limited.decision_function(X, **given), free.decision_function(X, **given))
    np.testing.assert_array_equal(limited.threshold_, free.threshold_)


def own_point(model):
    """What fit chose, as a row of the frontier."""
    frontier = model.frontier()
    found = frontier[(frontier["fairness"] == model.fairness_) & (frontier["threshold"] == model.threshold_)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.no_cover
@OLD_NAMES
@pytest.mark.parametrize("c", [1.0, 0.0])
def test_a_limit_on_adult_is_kept_by_a_good_model(c):
    adult = load_adult()
    X, X_test, y, y_test = train_test_split(adult.data, adult.target, test_size=0.5, random_state=0)
    options = {"category_splits": "one", "max_pairs": None, "n_bags": 4, "n_estimators": 200, "n_iter_no_change": None}
    options |= {"c": c, "random_state": 0, "dial": False}
    sex, X, X_test = X["sex"], X.drop(columns="sex"), X_test.drop(columns="sex")
    free = ParityBoostClassifier("equalized_odds", **options).fit(X, y, sensitive_features=sex)
    limit = 0.9 * own_point(free).violation
    model = ParityBoostClassifier("equalized_odds", max_violation=limit, **options | {"dial": True})
    model.fit(X, y, sensitive_features=sex)
    assert own_point(model).violation <= limit
    assert model.score(X_test, y_test) > 0.83


@OLD_NAMES
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [{"c": 0.0}, {"c": 0.5, "dial": True}, {"keep": 0.9}, {"threshold": 0.0}])
def test_the_frontier_has_what_fit_chose(seed, options, monkeypatch):
    monkeypatch.setattr("parityboost._choice.menu.MIN_ROWS_FOR_MORE", 10)
    X, y, group = make_people(400, seed)
    model = ParityBoostClassifier(n_bags=2, n_estimators=10, random_state=0, **options)
    model.fit(X, y, sensitive_features=group)
    point, frontier = own_point(model), model.frontier()
    c = options.get("c", 1.0)
    assert point.objective == pytest.approx(c * point.ber + (1 - c) * point.er + point.violation)
    others = frontier[(frontier["threshold"] != model.threshold_) | (frontier["fairness"] != model.fairness_)]
    error = c * others["ber"] + (1 - c) * others["er"]
    assert error.is_monotonic_increasing and others["violation"].is_monotonic_decreasing
    moved = model.choose(threshold=5.0)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(moved)).frontier(), moved.frontier())


@OLD_NAMES
def test_a_limit_that_costs_much_is_said():
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=3000)
    skill = rng.normal(size=3000) + 0.5 * group
    X = pd.DataFrame({f"x{j}": skill + 0.5 * rng.normal(size=3000) for j in range(3)})
    model = ParityBoostClassifier("statistical_parity", n_bags=2, n_estimators=20, class_weight=None, random_state=0)
    with pytest.warns(FitWarning, match=r"max_violation=0.1 costs much: .*accuracy is 0\.7.*without the limit 0\.9"):
        model.set_params(max_violation=0.1).fit(X, (skill > 0.25).astype(int), sensitive_features=group)
    with pytest.warns(FitWarning, match=r"violation of at most 0.05 .* the closest, 0\.\d+, is used. .*another model"):
        model.set_params(max_violation=0.05).fit(X, (skill > 0.25).astype(int), sensitive_features=group)
    model.set_params(max_violation=None, limit=0.1, maximize="accuracy")
    with pytest.warns(
        FitWarning, match=r"limit=0.1 costs much: .* the accuracy is 0\.7.*without the limit 0\.9.* gap of"
    ):
        model.fit(X, (skill > 0.25).astype(int), sensitive_features=group)


# --- Probabilities ----------------------------------------------------------------------------------------------------


def test_calibrated_probabilities_rise_with_the_score():
    model, X, *_ = fitted(500)
    probabilities = model.predict_proba(X)
    with pytest.warns(FutureWarning, match="predict_calibrated is an old name, .*; now: predict_proba"):
        np.testing.assert_array_equal(model.predict_calibrated(X), probabilities)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(probabilities[order, 1]) >= -1e-12).all()
    assert ((model.decision_function(X) > 0) == (model.predict(X) == model.classes_[1])).all()
    logs = model.predict_log_proba(X)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs), probabilities, atol=1e-15)


@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_a_calibrator_is_monotone_and_does_not_depend_on_the_order_of_rows(seed, n_rows):
    rng = np.random.default_rng(seed)
    margins, weight = rng.integers(-20, 20, n_rows) / 4, rng.integers(1, 5, n_rows).astype(float)
    positive = rng.random(n_rows) < 0.5
    order = rng.permutation(n_rows)
    calibrator = Calibrator.fit(margins, positive, weight)
    again = Calibrator.fit(margins[order], positive[order], weight[order])
    grid = np.linspace(-6, 6, 200)
    values = calibrator.at(grid)
    np.testing.assert_array_equal(again.at(grid), values)
    assert (np.diff(values) >= -1e-12).all() and (values >= 0).all() and (values <= 1).all()


@pytest.mark.no_cover
@pytest.mark.slow
def test_probabilities_on_adult_are_calibrated():
    adult = load_adult()
    half = np.random.default_rng(0).permutation(len(adult.data))
    train, test = half[: len(half) // 2], half[len(half) // 2 :]
    model = ParityBoostClassifier("equal_opportunity", random_state=0)
    model.fit(adult.data.iloc[train], adult.target.iloc[train], sensitive_features=adult.sensitive.iloc[train])
    probability = model.predict_proba(adult.data.iloc[test])[:, 1]
    positive = (adult.target.iloc[test] == model.classes_[1]).to_numpy()
    bins = np.array_split(np.argsort(probability), 15)
    error = sum(len(rows) * abs(probability[rows].mean() - positive[rows].mean()) for rows in bins) / len(test)
    assert error < 0.02


# --- Elsewhere --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"dial": True}, {"threshold": "per_group"}, {"threshold": 0.2, "max_depth": 1}]
)
def test_files_copies_and_onnx_predict_the_same(tmp_path, options):
    ort = pytest.importorskip("onnxruntime")
    from parityboost import onnx_inputs

    X, y, group = make_people(300)
    X = X.assign(group=group)
    model = ParityBoostClassifier(**SMALL, **options, sensitive_feature="group").fit(X, y)
    new = X.assign(city="unseen", skill=X["skill"].where(X.index % 3 > 0))
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    for other in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (other.decision_function(new) == model.decision_function(new)).all()
        assert (other.predict_proba(new) == model.predict_proba(new)).all()
    pd.testing.assert_frame_equal(loaded.history_, model.history_, check_exact=True)
    assert loaded.thetas_.tolist() == model.thetas_.tolist()
    session = ort.InferenceSession(model.to_onnx().SerializeToString())
    label, calibrated, score = session.run(None, onnx_inputs(model, new))
    assert (score == model.decision_function(new)).all() and (label == model.predict(new)).all()
    np.testing.assert_allclose(calibrated, model.predict_proba(new), rtol=0, atol=1e-12)
    if "dial" in options:
        for w in (0.0, 0.4, 2.0):
            one, other = (each.choose(fairness=w) for each in (model, loaded))
            assert (other.decision_function(new) == one.decision_function(new)).all()
            assert (other.predict_proba(new) == one.predict_proba(new)).all()


def test_splits_that_were_given_are_stored_as_their_number(tmp_path):
    X, y, group = make_people(300)
    model = ParityBoostClassifier(n_bags=splits_of(y, 2), n_estimators=5).fit(X, y, sensitive_features=group)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").n_bags == 2


@pytest.mark.parametrize("dial", [False, True])
def test_damaged_files_are_refused_or_predict(tmp_path, dial):
    model, X, *_ = fitted(120, dial=dial, n_bags=2, n_estimators=4)
    model.save(tmp_path / "model.json")
    sound = json.loads((tmp_path / "model.json").read_text(encoding="utf8"))
    rng = random.Random(0)
    refused = 0
    for _ in range(150):
        document = copy.deepcopy(sound)
        damage_structure(document["average"], rng)
        (tmp_path / "bad.json").write_bytes(written(document))
        try:
            loaded = load(tmp_path / "bad.json")
        except ModelFileError:
            refused += 1
            continue
        loaded.predict(X), loaded.predict_proba(X)
    assert refused > 75


@OLD_NAMES
def test_a_useless_average_is_warned_of():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"noise": rng.normal(size=200), "more": rng.integers(0, 3, 200)})
    y, group = rng.integers(0, 2, 200), rng.choice(["a", "b"], 200)
    useless = r"predicts '0' for 95.* of little use. No other θ or threshold of this run was found to do better"
    with pytest.warns(FitWarning, match=useless) as caught:
        options = {"n_bags": 2, "n_estimators": 5, "max_pairs": None, "category_splits": "one", "random_state": 0}
        model = ParityBoostClassifier(keep=0.0, max_violation=0.0, **options)
        model.fit(X, y, sensitive_features=group)
    assert model.warnings_
    assert {warning.filename for warning in caught} == {__file__}  # the line that called fit


def test_a_report_beside_a_plain_model_and_one_row_on_the_command_line(tmp_path):
    """The plain model has no pairs of features: they add nothing to its gap."""
    pytest.importorskip("jinja2"), pytest.importorskip("plotly")
    testing = pytest.importorskip("typer.testing")
    from parityboost import AdaBoostClassifier, cli, report

    model, X, y, group = fitted(400, n_estimators=30, max_pairs=None)
    baseline = AdaBoostClassifier(10).fit(X, y)
    gaps = explain.compare_gaps({"plain": baseline, "ours": model}, X, group)
    assert gaps.notna().all().all() and any(" × " in name for name in gaps.index)
    report.write_report(tmp_path / "report.html", model, X, y, sensitive_features=group, baseline=baseline)
    model.save(tmp_path / "model.json")
    X.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["explain", str(tmp_path / "model.json"), "--data", str(tmp_path / "rows.csv"), "--row", "1"]
    result = testing.CliRunner().invoke(cli.app, [*arguments, "--top", "50"])
    assert result.exit_code == 0, result.output
    assert " × " in result.output and "score" in result.output


# --- Found by hostile tables ------------------------------------------------------------------------------------------


def test_validation_data_that_make_no_sense_leave_no_model():
    X, y, group = make_people(200)
    model = ParityBoostClassifier(**SMALL)
    with pytest.raises(ValueError, match="group 'nobody' does not occur in the training data"):
        model.fit(X, y, sensitive_features=group, validation=(X, y, np.full(len(X), "nobody")))
    with pytest.raises(ValueError, match=r"validation data: .* cannot be compared between fewer than two groups"):
        first = np.asarray(group) == np.unique(group)[0]
        model.fit(X, y, sensitive_features=group, validation=(X[first], y[first], group[first]))
    assert not hasattr(model, "theta_") and not hasattr(model, "glass_box_")


@OLD_NAMES
def test_a_bag_without_the_rows_of_a_bin_keeps_a_column_in_order():
    """The bins are those of all rows, so a bag may have none in the last one: no share of positives to be above."""
    X = np.r_[np.zeros(40), np.ones(40), np.full(4, 2.0)][:, None]
    y = np.r_[np.tile([0, 0, 0, 1], 10), np.tile([0, 1, 1, 1], 10), [0, 1, 0, 1]]  # it rises, and may only fall
    group = np.repeat(np.tile([0, 1], 11), 4)[:84]
    bag = np.r_[0:60], np.r_[60:84]
    model = ParityBoostClassifier(n_bags=[bag], n_estimators=3, monotonic_cst=[-1], keep=0)
    with pytest.raises(ValueError, match="no better than chance"):  # it came to a division by zero
        model.fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("n_equal", [0, 1])  # no row can be held out, or a single one
def test_a_continuous_sensitive_column_is_refused_by_name_with_what_cuts_it(n_equal):
    X, y, _ = make_people(300)
    income = pd.Series(np.random.default_rng(0).normal(size=300), name="income")
    rows = np.flatnonzero(y == 1)[: n_equal + 1]
    income[rows] = income[rows[0]]
    values = rf"'income' has {300 - n_equal} different values, .*: bands=\{{'income': \[…\]\}}"
    with pytest.raises(ValueError, match=values):
        ParityBoostClassifier(**SMALL).fit(X, y, sensitive_features=income)
    crossed = pd.DataFrame({"income": income, "member": y == 1})
    with pytest.raises(ValueError, match=values):
        ParityBoostClassifier(**SMALL).fit(X, y, sensitive_features=crossed)
    table = X.assign(income=income)
    with pytest.raises(ValueError, match=values):
        ParityBoostClassifier(**SMALL, sensitive_feature="income").fit(table, y)
    cut = ParityBoostClassifier(**SMALL, sensitive_feature="income", bands={"income": [0]}).fit(table, y)
    assert cut.groups_.tolist() == ["under 0", "0 or more"]


@pytest.mark.parametrize("kind", [AdaFairClassifier, ParityBoostClassifier])
@pytest.mark.parametrize("n_groups", [1, 9])
def test_a_group_that_a_rate_leaves_out_is_named_once(kind, n_groups):
    """In all parts of all bags, and of many groups some."""
    X, y, group = make_people(600)
    rejected, group = np.flatnonzero(y == 0)[: 12 * n_groups], group.astype(object)
    group[rejected] = [f"rejected {k}" for k in np.arange(len(rejected)) % n_groups]
    with pytest.warns() as caught:
        kind(n_estimators=3, random_state=0).fit(X, y, sensitive_features=group)
    left_out = [str(warning.message) for warning in caught if "left out of the rate" in str(warning.message)]
    parts = "training data and validation data"
    if kind is ParityBoostClassifier:
        parts = "the rows that a bag trains on and the rows that a bag holds out"
    absent = [f"group 'rejected {k}' has no example of class '1'" for k in range(min(n_groups, 5))]
    more = " and 4 others" if n_groups == 9 else ""
    assert left_out == [f"{parts}: {'; '.join(absent)}{more}: left out of the rate 'fnr'"]


def test_rows_that_cannot_be_held_out_are_refused_in_words():
    X, y, group = np.arange(4.0)[:, None], [0, 1, 0, 1], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"no row can be held out of 4, .*: merge groups, .* use AdaFairClassifier"):
        ParityBoostClassifier("none").fit(X, y, sensitive_features=group)
    weight = np.r_[np.ones(8), np.zeros(4)]
    with pytest.raises(ValueError, match="bag 0 has no row to hold out"):
        ParityBoostClassifier("none", n_bags=[(np.arange(8), np.arange(8, 12))]).fit(
            np.arange(12.0)[:, None], np.tile(y, 3), sensitive_features=np.tile(group, 3), sample_weight=weight
        )


def test_a_splitter_is_given_classes_that_it_knows():
    X, y, group = make_people(200)
    labels = np.array([bool(value) for value in y], dtype=object)  # which scikit-learn's splitters refuse
    splitter = StratifiedKFold(2)
    model = ParityBoostClassifier(n_bags=splitter, n_estimators=5).fit(X, labels, sensitive_features=group)
    assert model.classes_.tolist() == [False, True]
    with pytest.raises(ValueError, match=r"n_bags=StratifiedKFold\(n_splits=200.*: n_splits=200 cannot be greater"):
        ParityBoostClassifier(n_bags=StratifiedKFold(200)).fit(X, labels, sensitive_features=group)


@pytest.mark.parametrize("threshold", ["auto", "per_group"])
def test_the_frontier_of_a_dial_is_that_of_every_blend_on_other_data_too(threshold, tmp_path):
    model, X, y, group = fitted(dial=True, threshold=threshold)
    own, other = model.frontier(), model.frontier(X, y, sensitive_features=group)
    assert set(own["fairness"]) <= set(WEIGHTS) and set(other["fairness"]) <= set(WEIGHTS)
    point = other.iloc[-1]
    model = model.choose(fairness=point.fairness, threshold=point.threshold)
    given = {"sensitive_features": group} if threshold == "per_group" else {}
    predicted = model.predict(X, **given)
    rates = [np.mean(predicted[(y == 1) & (group == g)]) for g in np.unique(group)]
    false = [np.mean(predicted[(y == 0) & (group == g)]) for g in np.unique(group)]
    assert np.ptp(rates) + np.ptp(false) == pytest.approx(point.violation)
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    own = model.frontier(X, y, sensitive_features=group)
    pd.testing.assert_frame_equal(loaded.frontier(X, y, sensitive_features=group), own)


@OLD_NAMES
def test_a_training_that_says_the_same_of_nearly_all_rows_does_not_outvote_the_others(tmp_path):
    """Margins are divided by their deviation on the rows that were held out; there one row in 2⁴⁰ differs."""
    _, y, group = make_people(300)
    rare, weight = np.asarray(y, dtype=float), np.ones(300)
    held = np.arange(200, 300)
    rare[held] = 0.0
    rare[held[0]], weight[held[0]] = 1.0, 2.0**-40
    model = ParityBoostClassifier(n_bags=[(np.arange(200), held)], n_estimators=5, keep=0, max_depth=1)
    model.fit(rare[:, None], y, sensitive_features=group, sample_weight=weight)
    assert 1.0 < np.abs(model.glass_box_.effects.tables).max() <= 2**10
    model.save(tmp_path / "model.json")
    load(tmp_path / "model.json")


def test_codes_that_never_occur_have_no_cells_in_a_file(tmp_path):
    """Pairs are tables of 256 codes, of which a column of three bins has four."""
    for seed in range(6):
        X, y, group = make_people(200, seed)
        model = ParityBoostClassifier(n_bags=2, n_estimators=6, max_bins=3, update="confidence", random_state=0)
        model.fit(X, y, sensitive_features=group)
        model.save(tmp_path / "model.json")
        np.testing.assert_array_equal(load(tmp_path / "model.json").predict(X), model.predict(X))


def test_a_file_has_the_columns_of_every_blend(tmp_path):
    """Where both ends of a dial cancel out, nothing depends on a column, but a blend beside it does."""
    model, X, _, _ = fitted(dial=True, max_depth=1)
    plain = model.glass_box_.dial.plain
    nothing = np.zeros_like(plain.tables)
    other = replace(plain, tables=-plain.tables)
    dial = replace(model.glass_box_.dial, fair=other, spreads=(nothing, nothing), covariance=nothing)
    model._box = replace(model.glass_box_, dial=dial)
    model.choose(fairness=0.5).save(tmp_path / "model.json")
    loaded, model = (each.choose(fairness=0.3) for each in (load(tmp_path / "model.json"), model))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert len(set(model.decision_function(X))) > 2


@pytest.mark.parametrize("options", [{}, {"n_jobs": 3, "dial": True}, {"n_estimators": 300, "n_iter_no_change": 1}])
def test_progress_is_that_of_all_trainings(options, capsys):
    """A bar of all rounds; of trainings that stop by themselves how many have ended, for nobody knows how long."""
    options = {"n_iter_no_change": None, **options}
    X, y, group = make_people(300)
    model = ParityBoostClassifier(**{**SMALL, **options}, verbose=1).fit(X, y, sensitive_features=group)
    lines = capsys.readouterr().err.splitlines()
    total = 72 if options.get("dial", True) else 36
    done = f"{total}/{total}" if options["n_iter_no_change"] is None else "6/6 ended  training 6, round "
    *_, bar, ended, chosen = lines
    assert f"{'█' * 8} {done}" in bar
    if options["n_iter_no_change"] is not None:
        assert ended.endswith("s") and ", no improvement, " in ended
        assert not any("/900" in line for line in lines)
    assert max(map(len, [*_, bar, ended])) <= 80
    assert ended.startswith(f"ParityBoost: θ = {model.theta_}, ")
    assert "balanced accuracy" in chosen
