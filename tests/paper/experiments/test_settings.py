"""The settings of the paper's evaluation: what the authors' scripts do, and that no setting gets another's rows."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from parityboost.datasets import load_adult
from parityboost.paper.baselines import DATASETS, DM, EO, METHODS, SP
from parityboost.paper.experiments import (
    CLAIMS,
    FIGURES,
    FIRST_CLAIMS,
    RECIPES,
    SETTINGS,
    Check,
    Claim,
    Results,
    Run,
    Store,
    _runner,
    compare,
    judge,
    perform,
)
from parityboost.paper.experiments._claims import (
    CHECKS,
    FORMULAS,
    GAINS_OF_C,
    NUMBERS,
    Part,
    above,
    below,
    gain,
    logged,
    near,
    read_table,
    reason,
)
from parityboost.paper.experiments._pages import parts_table
from parityboost.paper.experiments._plan import Scope
from parityboost.paper.experiments._store import MEASURE_NAMES
from problems import draw_rows, frame_of

GUARDED = _runner.GuardedMistreatment


# --- The scripts' rules -----------------------------------------------------------------------------


def scripts_costs(notion, y, group, predicted):
    """Their rule in their words: group 0 is protected, δ is non-protected minus protected."""
    u = np.zeros((2, 2))
    rate = [[(predicted[(group == g) & (y == label)] == label).mean() for label in (0, 1)] for g in (0, 1)]
    delta_tnr, delta_tpr = rate[1][0] - rate[0][0], rate[1][1] - rate[0][1]
    if notion == SP:
        delta = predicted[group == 1].mean() - predicted[group == 0].mean()
        u[0 if delta > 0 else 1, 1] = abs(delta)
        return u
    u[0 if delta_tpr > 0 else 1, 1] = abs(delta_tpr)
    if notion == DM:
        if delta_tnr > 0:
            u[0, 0] = delta_tnr
        elif delta_tpr < 0:
            u[1, 0] = abs(delta_tnr)
    return u


@pytest.mark.no_cover
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), notion=st.sampled_from([DM, EO, SP]), cumulative=st.booleans())
def test_the_authors_rules_on_our_loop_equal_a_plain_twin(seed, notion, cumulative):
    rng = np.random.default_rng(seed)
    columns, y, group, _ = draw_rows(rng, 40, 2, ["integer", "float", "category"], False)
    asked = []

    def costs(name, epsilon, y, group, predicted, w, n_groups, views):
        asked.append(predicted)
        return scripts_costs(name, y, group, predicted) if len(asked) > 1 else np.zeros((2, 2))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "costs", costs)
        twin = reference.fit(
            columns, [False, False, True], y, group, notion=notion, n_estimators=12, update="discrete",
            cumulative=cumulative,
        )  # fmt: skip
    model = _runner.AuthorsClassifier(
        GUARDED() if notion == DM else notion, n_estimators=12, update="discrete", cumulative=cumulative,
        validation_fraction=None,
    )  # fmt: skip
    for _ in range(2):  # also when it is fitted again
        if not twin.stumps:
            return
        model.fit(frame_of(columns), y, sensitive_features=np.array(["a", "b"])[group])
        np.testing.assert_allclose(model.estimator_weights_, twin.alphas, atol=1e-9)
        assert [s.root.feature for s in model.estimators_] == [s.feature for s in twin.stumps]
        # θ: the ensemble's balanced error, the F.M. of the ensemble or of the round's learner, 1 in the first round.
        objectives, margin = [], 0.0
        for j, (stump, alpha) in enumerate(zip(twin.stumps, twin.alphas, strict=True)):
            vote = stump.vote(columns)
            margin = margin + alpha * vote
            judged = (margin if cumulative else vote) > 0
            ones = np.ones(len(y))
            unfair = reference.violation(notion, y, group, judged.astype(int), ones, 2) if j else 1.0
            wrong = [((margin[y == label] > 0) != label).mean() for label in (0, 1)]
            objectives.append(0.5 * sum(wrong) + unfair)
        best = min(objectives)
        assert _runner.choose_theta(model) == next(j for j, v in enumerate(objectives, 1) if v < best + 1e-9)


def counts(tpr, tnr):
    """Counts of 100 in each cell, by group."""
    return np.array([[[100 * n, 100 * (1 - n)], [100 * (1 - p), 100 * p]] for p, n in zip(tpr, tnr, strict=True)])


def test_the_guard_spares_the_non_protected_groups_false_positives_unless_its_tpr_is_lower():
    behind_in_tnr_only = counts(tpr=(0.5, 0.7), tnr=(0.9, 0.8))  # group 1 is not protected
    assert GUARDED(0).costs(behind_in_tnr_only)[1, 0] == 0
    assert GUARDED(1).costs(behind_in_tnr_only)[1, 0] == pytest.approx(0.1)  # now it is the protected one
    behind_in_both = counts(tpr=(0.7, 0.5), tnr=(0.9, 0.8))
    np.testing.assert_allclose(GUARDED(0).costs(behind_in_both), [[0, 0], [0.1, 0.2]])
    assert GUARDED(0).violation(behind_in_both) == pytest.approx(0.3)


def test_the_scripts_recipes_are_what_the_runs_are_made_with():
    bunch = load_adult(attributes="authors")
    model = _runner.make(SETTINGS["authors"].run("adult", "AdaFair NoCumul", DM, 3), bunch)
    assert isinstance(model, _runner.AuthorsClassifier)
    assert (model.n_estimators, model.update, model.validation_fraction, model.cumulative) == (
        500,
        "discrete",
        None,
        False,
    )
    assert model.notion == GUARDED(0)  # Female comes first
    rounds = _runner.make(SETTINGS["authors"].run("adult", "AdaFair", DM, 0, "rounds"), bunch)
    assert (rounds.n_estimators, rounds.validation_fraction, rounds.costs_from) == (500, 0.3, "validation")
    text = _runner.make(SETTINGS["text"].run("adult", "AdaFair", SP, 0), bunch)
    assert (text.n_estimators, text.update, text.validation_fraction, text.notion) == (200, "discrete", 0.33, SP)
    assert SETTINGS["authors"].run("adult", "AdaBoost", DM, 0).recipe == "confidence"
    assert SETTINGS["authors"].run("adult", "AdaBoost", SP, 0).recipe == "default"
    smote = _runner.make(SETTINGS["authors"].run("bank", "SMOTEBoost", EO, 0), bunch)
    assert (smote.smote, smote.n_synthetic, smote.keep_synthetic) == ("plain", 500, True)
    assert _runner.make(SETTINGS["authors"].run("bank", "SMOTEBoost", DM, 0), bunch).n_synthetic == 100


def test_one_hot_has_a_column_per_category_but_one_for_both_of_two():
    data = pd.DataFrame({"x": [1.0, 3.0, 5.0], "two": list("aba"), "three": list("abc"), "same": [7, 7, 7]})
    for name in ("two", "three"):
        data[name] = data[name].astype("category")
    table = _runner.one_hot(data)
    assert list(table) == ["x", "two = b", "three = a", "three = b", "three = c", "same"]
    assert table["x"].mean() == pytest.approx(0)
    assert table["x"].std(ddof=0) == pytest.approx(1)
    assert table["two = b"].tolist() == [0, 1, 0]
    assert table["same"].tolist() == [0, 0, 0]


# --- Rows never mix -----------------------------------------------------------------------------------


def test_two_settings_never_mix_rows(tmp_path):
    store = Store(tmp_path)
    runs = {name: SETTINGS[name].run("adult", "AdaFair", DM, 0) for name in SETTINGS}
    assert len(set(runs.values())) == 3
    perform(runs.values(), store)
    values = {
        name: Results(store, runs.values(), name).values("adult", "AdaFair", DM, "balanced_accuracy")
        for name in SETTINGS
    }
    assert len({float(value[0]) for value in values.values()}) == 3
    # A record under the name of another setting's run is no record of it.
    text = json.loads(store.path(runs["text"]).read_text())
    store.path(runs["ours"]).write_text(json.dumps(text))
    assert store.load(runs["ours"]) is None
    assert store.missing(runs.values()) == [runs["ours"]]
    alone = Results(store, [runs["text"]], "ours")
    assert judge(CLAIMS, alone)["verdict"].eq("not measured").all()


def test_a_recipe_that_changed_makes_its_runs_anew(tmp_path, monkeypatch):
    store, run = Store(tmp_path), Run("adult", "AdaBoost", None, 0, recipe="confidence")
    perform([run], store)
    assert store.load(run) is not None
    monkeypatch.setitem(RECIPES, "confidence", {"update": "confidence", "n_estimators": 3})
    assert store.load(run) is None


def test_scopes_join_only_where_nothing_is_missing():
    small = Scope.of({1}, {"adult"}, {"ours"}, 2)
    assert small.joined(Scope.of({1, 2}, {"adult", "bank"}, {"ours"}, 10)).datasets == ("adult", "bank")
    assert Scope.of({1, 2}, {"adult"}, {"ours"}, 2).joined(small).figures == (1, 2)
    assert small.joined(Scope.of({3}, {"adult"}, {"ours"}, 2)).figures == (1, 3)
    assert small.joined(Scope.of({1}, {"adult"}, {"text"}, 2)).settings == ("text", "ours")
    assert small.joined(Scope.of({3}, {"bank"}, {"ours"}, 2)) is None
    assert small.joined(Scope.of({3}, {"adult"}, {"ours"}, 10)) is None


# --- Verdicts -----------------------------------------------------------------------------------------


def around(mean, sd, n=10):
    values = np.linspace(-1, 1, n)
    return mean + sd * values / values.std(ddof=1)


@pytest.mark.parametrize(
    ("check", "values", "verdict", "tie"),
    [
        (gain(0.07), around(0.065, 0.01), "holds", False),
        (gain(0.07), around(0.02, 0.01), "same direction, other size", False),
        (gain(0.07), around(0.03, 0.1), "holds", False),  # within two standard errors of the paper's figure
        (gain(0.30), around(0.02, 0.1), "differs", False),  # no direction: within two standard errors of zero
        (gain(-0.07), around(0.02, 0.01), "differs", False),
        (gain(0.0), around(0.03, 0.01), "differs", False),
        (below(0), around(-0.02, 0.01), "holds", False),
        (below(0), around(-0.002, 0.01), "holds", True),
        (below(0), around(0.002, 0.01), "holds", True),
        (below(0), around(0.02, 0.01), "differs", False),
        (above(0), np.array([-0.001]), "differs", False),  # one run has no standard error
        (below(0.03), around(0.031, 0.05), "differs", False),  # a limit is no order
        (near(0.22), around(0.20, 0.001), "holds", False),
        (near(0.22), around(0.10, 0.001), "differs", False),
    ],
)
def test_verdicts_and_ties(check, values, verdict, tie):
    assert check.verdict(values) == (verdict, tie)


def test_claims_have_one_name_each_and_the_first_are_175():
    names = [(claim.where, claim.says) for claim in CLAIMS]
    assert len(set(names)) == len(names)
    assert len(FIRST_CLAIMS) == 175
    assert CLAIMS[:175] == FIRST_CLAIMS


def test_the_table_of_claims_names_nothing_that_is_not_there():
    """A name that is misspelt would leave its claim unmeasured without a word."""
    lines = {"objective", *(f"{part}_{name}" for part in ("validation", "test") for name in ("ber", "violation"))}
    known = {
        "datasets": set(DATASETS),
        "notion": {DM, EO, SP},
        "methods": set(METHODS),
        "others": {*METHODS, *DATASETS, DM, EO, SP},
        "measures": {*MEASURE_NAMES, *lines},
        "value": {*FORMULAS, *NUMBERS},
        "check": set(CHECKS),
    }
    for row in read_table("claims.csv"):
        for column, names in known.items():
            assert set(filter(None, row[column].split(" | "))) <= names, row


def test_what_the_authors_logged_is_computed_like_everything_else():
    def claim(where, says):
        return next(c for c in CLAIMS if c.where == where and c.says.startswith(says))

    assert logged(claim("5.4 COMPAS", "D.M. of Krasanakis et al. against")) == pytest.approx(4.2 - 7.7, abs=0.06)
    assert logged(claim("5.6 KDD census", "D.M. of NoCumul")) == pytest.approx(48.3 - 2.1, abs=0.06)
    assert logged(claim("5.4 COMPAS", "D.M. of Zafar et al. is almost twice")) == pytest.approx(0.094 / 0.042, abs=0.06)
    for where, says in (
        ("5.4 COMPAS", "Krasanakis et al. are the least stable"),
        ("5.2 Bank", "Bal.Acc."),
        ("5.5", "At"),
    ):
        assert logged(claim(where, says)) is None
    anything = Claim("5.4", "θ", "", lambda results: results.theta(None), Check(lambda values: True))
    assert logged(anything) is None


def test_the_marks_in_the_figures_are_numbers_of_the_claims():
    sections = {1: "5.2", 2: "5.3", 3: "5.4", 5: "5.6", 8: "Appendix", 10: "Appendix"}
    names = {"adult": "Adult census", "bank": "Bank", "compas": "COMPAS", "kdd": "KDD census"}
    marked = [(figure.number, dataset, marks) for figure in FIGURES for dataset, marks in figure.marks.items()]
    assert {number for number, _, _ in marked} == set(sections)
    for number, dataset, marks in marked:
        where = f"{sections[number]} {names[dataset]}"
        said = " ".join(claim.paper for claim in FIRST_CLAIMS if claim.where == where)
        for mark in marks:
            text = f"{100 * mark.value:+.3g} points" if mark.against else f"{100 * mark.value:.0f} %"
            assert text.replace("-", "−") in said or (mark.value == 0.58 and "57 to 59 %" in said), (where, mark)
    for dataset, gains in GAINS_OF_C.items():
        said = [
            c.paper for c in FIRST_CLAIMS if c.where == f"5.7 {names[dataset]}" and "for c = 1 against c = 0" in c.says
        ]
        assert sorted(said) == sorted(f"{100 * g:+.3g} points".replace("-", "−") for g in gains.values())


# --- Reasons --------------------------------------------------------------------------------------------


def test_a_reason_says_which_part_was_tested_or_that_it_is_open():
    holds, differs = "holds", "differs"
    where, says = "5.4 Bank", "AdaFair has a higher Bal.Acc. than SMOTEBoost"
    assert reason(where, says, dict.fromkeys(SETTINGS, holds)) == ""
    assert reason(where, says, dict.fromkeys(SETTINGS, differs)) == "Open."
    only = {"text": differs, "authors": holds, "ours": differs}
    assert reason(where, says, only) == "The authors' setting gives it."
    parts = (Part("T = 200", "lost"), Part("no guard", "lost"))
    assert reason(where, says, only, parts) == "The authors' setting gives it; lost again with T = 200, or no guard."
    regained = reason(where, says, dict.fromkeys(SETTINGS, differs), (Part("SMOTE-NC", "gained"),))
    assert regained == "Holds in the authors' setting with one change: SMOTE-NC."
    assert reason("5.5 Adult census", "θ of 500", dict.fromkeys(SETTINGS, differs)).startswith("One random split")
    assert reason(where, says, {"ours": differs}) == ""  # nothing is known without the authors' setting


def test_parts_are_counted_and_reach_their_claims(tmp_path):
    parts = pd.DataFrame(
        [
            ("T = 200", 116, "lost", "5.4 Adult census", FIRST_CLAIMS[40].says),
            ("T = 200", 116, "gained", "5.5", "x"),
            ("SMOTE-NC", 130, "", "", ""),
        ],
        columns=["part", "holds", "change", "where", "claim"],
    )
    table = parts_table(parts)
    assert table[["claims that hold", "lost", "gained"]].to_numpy().tolist() == [[116, 1, 1], [130, 0, 0]]
    assert table["lost in"].tolist() == ["5.4 (1)", ""]
    assert compare(CLAIMS, {"ours": Results(Store(tmp_path), [])}, parts)["why"].str.startswith("no run").all()
