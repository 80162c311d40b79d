"""The choice that is kept up to date while rounds come is the choice that would be made anew after each."""

from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from conftest import make_people
from parityboost import AdaFairClassifier, ParityBoostClassifier
from parityboost._choice.rule import Rounds
from parityboost._choice.thresholds import candidates, measure
from parityboost._choice.wishes import Settings
from parityboost.notions import FairnessNotion, Gap, false_negative_rate, get_notion, precision


class PrecisionParity(FairnessNotion):
    """Not defined wherever fewer than two groups have anyone who is predicted positive."""

    name = "precision_parity"
    gaps = (Gap("precision", precision, boosts=(0,), high_is_good=True),)


class CountingNotion(FairnessNotion):
    """Equal opportunity that counts how many tables of counts it is asked about."""

    name = "counting"

    def __init__(self):
        self.tables = 0

        def rate(counts):
            self.tables += int(np.prod(counts.shape[:-3]))
            return false_negative_rate(counts)

        self.gaps = (Gap("fnr", rate, boosts=(1,)),)


NOTIONS = [get_notion("disparate_mistreatment"), get_notion("none"), PrecisionParity()]


def draw_offers(seed, n_rounds, threshold, n_groups):
    """What rounds have to offer: few rows, so that there are ties, and lower and lower errors or none."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2 * n_groups, 25))
    cell = np.r_[np.arange(2 * n_groups), rng.integers(0, 2 * n_groups, n_rows)]
    signal, skill = np.where(cell >= n_groups, 1.0, -1.0), rng.choice([0.0, 0.05])
    totals = np.bincount(cell, minlength=2 * n_groups).astype(float).reshape(2, n_groups).T
    for j in range(n_rounds):
        margin = np.round(rng.normal(size=len(cell)) + skill * j * signal + rng.choice([0, 0, 3]), 1)
        if isinstance(threshold, str):
            yield candidates(margin, cell, np.empty(0), totals)
        else:
            sums = np.bincount(2 * cell + (margin > threshold), minlength=4 * n_groups)
            yield sums.astype(float).reshape(2, n_groups, 2).transpose(1, 0, 2)


SETTINGS = st.builds(
    Settings,
    notion=st.sampled_from(NOTIONS),
    c=st.sampled_from([0.0, 0.5, 1.0]),
    threshold=st.sampled_from([0.0, "auto", "per_group"]),
    keep=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    max_violation=st.sampled_from([None, None, 0.2]),
    choose_theta=st.sampled_from([True, True, True, False]),
)


@pytest.mark.no_cover
@tries(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), SETTINGS, st.integers(2, 3), st.integers(1, 7))
def test_after_each_round_the_choice_is_the_one_made_anew(seed, n_rounds, settings, n_groups, at_a_time):
    rounds = Rounds(settings)
    seen = []
    for j, offer in enumerate(draw_offers(seed, n_rounds, settings.threshold, n_groups), 1):
        rounds.add(offer)
        if j % at_a_time == 0 or j == n_rounds:
            seen += [(*state, rounds.chosen) for state in rounds.watch()]
    again = Rounds(settings)
    assert len(seen) == n_rounds
    for offer, (j, theta, objective, chosen) in zip(
        draw_offers(seed, n_rounds, settings.threshold, n_groups), seen, strict=True
    ):
        again.add(offer)
        choice = again.choose()
        assert (j, theta) == (len(choice.counts), choice.theta)
        np.testing.assert_equal(objective, measure(choice.counts[-1:], settings, 1.0).objective[0])
        np.testing.assert_array_equal(chosen, choice.chosen)


@pytest.mark.no_cover
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 12), SETTINGS, st.booleans())
def test_rounds_that_are_dropped_were_never_there(seed, n_kept, n_dropped, settings, measured_before):
    both = [Rounds(settings), Rounds(settings)]
    for j, offer in enumerate(draw_offers(seed, n_kept + n_dropped, settings.threshold, 2)):
        for rounds in both if j < n_kept else both[:1]:
            rounds.add(offer)
    if measured_before:
        both[0].measure_new()
    both[0].keep_first(n_kept)
    for one, other in zip(*(rounds.choose() for rounds in both), strict=True):
        np.testing.assert_equal(one, other)


@pytest.mark.parametrize("keep", [0.0, 0.5])
@pytest.mark.parametrize("fraction", [None, 0.33])
@pytest.mark.parametrize("options", [{"verbose": 1}, {"n_iter_no_change": 199}])
def test_whoever_watches_measures_each_round_once(keep, fraction, options):
    """On the rows that are trained on the errors fall all the time, and with them what ``keep`` allows."""
    X, y, group = make_people(200)
    settings = {"keep": keep, "validation_fraction": fraction, "update": "real"}
    measured = []
    for more in ({}, options):
        notion = CountingNotion()
        model = AdaFairClassifier(notion, n_estimators=200, learning_rate=0.1, random_state=0, **settings, **more)
        assert model.fit(X, y, sensitive_features=group).n_estimators_ == 200
        measured.append(notion.tables)
    alone, watched = measured
    assert watched <= alone + 3 * 200


@pytest.mark.no_cover
@pytest.mark.parametrize("keep", [0.0, 0.5])
@pytest.mark.parametrize("threshold", [0.0, "auto"])
@pytest.mark.parametrize("options", [{"verbose": 1}, {"n_iter_no_change": 1199}])
def test_whoever_watches_takes_little_longer(keep, threshold, options):
    """Going through all earlier rounds after each takes 20 to 150 times as long."""
    X, y, group = make_people(200)

    def seconds(**more):
        model = AdaFairClassifier(n_estimators=1200, threshold=threshold, keep=keep, update="real", **more)
        model.set_params(learning_rate=0.1, validation_fraction=None, random_state=0)
        started = process_time()
        assert model.fit(X, y, sensitive_features=group).n_estimators_ == 1200
        return process_time() - started

    alone, watched = (min(seconds(**more) for _ in range(3)) for more in ({}, options))
    assert watched < 6 * alone, (watched, alone)


def fit(cls=AdaFairClassifier, **options):
    X, y, group = make_people(400)
    return cls("equal_opportunity", random_state=0, **options).fit(X, y, sensitive_features=group), X


@pytest.mark.no_cover
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("options", [{}, {"cumulative": False}, {"update": "real", "max_depth": 2}])
@pytest.mark.parametrize("threshold", [0.0, "auto"])
@pytest.mark.parametrize("fraction", [None, 0.33])
def test_early_stopping_ends_where_a_fit_of_so_many_rounds_does(keep, options, threshold, fraction):
    options = {**options, "keep": keep, "threshold": threshold, "validation_fraction": fraction}
    for patience in (1, 5, 40):
        stopped, X = fit(n_estimators=300, n_iter_no_change=patience, **options)
        whole, _ = fit(n_estimators=stopped.n_estimators_, **options)
        assert stopped.theta_ == whole.theta_
        assert (stopped.decision_function(X) == whole.decision_function(X)).all()
        assert stopped.history_.equals(whole.history_)
        told, _ = fit(n_estimators=300, n_iter_no_change=patience, verbose=1, **options)
        assert told.n_estimators_ == stopped.n_estimators_


def test_no_rounds_are_made_in_vain_for_early_stopping(monkeypatch):
    from parityboost._fit.trees import Several

    made, following = [], Several.next

    def counting(self, n_rounds):
        made.append(n_rounds)
        return following(self, n_rounds)

    monkeypatch.setattr(Several, "next", counting)
    model, _ = fit(n_estimators=2000, n_iter_no_change=100)
    assert model.n_estimators_ < 2000
    assert sum(made) == model.n_estimators_
    assert len(made) <= model.n_estimators_ / 16 + 2


def test_bags_that_stop_early_are_those_of_so_many_rounds(capsys):
    options = {"n_bags": 2, "n_estimators": 100, "n_iter_no_change": 6}
    model, X = fit(ParityBoostClassifier, **options)
    told, _ = fit(ParityBoostClassifier, verbose=1, **options)
    assert (model.decision_function(X) == told.decision_function(X)).all()
    assert model.n_estimators_ < 200
