"""What a reader sees first: counts of people, four facts, and what makes the figures doubtful."""

import re

import numpy as np
import pandas as pd
import pytest

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, report
from parityboost.audit import audit
from parityboost.report import _render, _warnings, _words

ORDER = ["groups", "differences", "comparison", "gaps", "scores", "data", "model", "person", "history", "card", "notes"]


def audited(group, true, predicted, **options):
    return audit(true, predicted, sensitive_features={"sex": group}, positive_label="yes", **options)


def people_of(*cells):
    """Rows by group, true label, predicted label and number."""
    rows = [row for group, true, predicted, n in cells for row in [(group, true, predicted)] * n]
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.fixture
def counted():
    return count_people()


def count_people(**options):
    """Of 100 women and 200 men who qualify, 20 and 36 are missed; of 100 each who do not, 10 and 5 are chosen."""
    group, true, predicted = people_of(
        ("women", "yes", "no", 20), ("women", "yes", "yes", 80), ("women", "no", "yes", 10), ("women", "no", "no", 90),
        ("men", "yes", "no", 36), ("men", "yes", "yes", 164), ("men", "no", "yes", 5), ("men", "no", "no", 95),
    )  # fmt: skip
    return audited(group, true, predicted, **options)


def test_people_are_counted_in_words(counted):
    page = report.build_audit(counted)
    assert page["summary"]["people"] == {
        "sex": [
            "Of every 100 who truly are “yes”, 82 in the group men and 80 in the group women are found.",
            "Of every 100 who truly are not “yes”, 5 in the group men and 10 in the group women are wrongly predicted "
            "“yes”.",
            "Of every 100, 56 in the group men and 45 in the group women are predicted “yes”.",
        ]
    }
    assert [_words.hundred(share) for share in (0, 0.004, 0.005001, 0.5, 0.996, 1)] == [
        "0", "fewer than 1", "1", "50", "more than 99", "100",
    ]  # fmt: skip


def test_of_many_groups_the_most_and_the_fewest_are_named_and_small_ones_are_not(counted):
    cells = [(name, "yes", "no", n) for name, n in (("a", 10), ("b", 20), ("c", 40))]
    cells += [(name, "yes", "yes", 100 - n) for name, _, _, n in cells]
    cells += [(name, "no", "no", 100) for name in "abc"] + [("few", "yes", "no", 5)]
    first = report.build_audit(audited(*people_of(*cells)))["summary"]["people"]["sex"][0]
    assert first == (
        "Of every 100 who truly are “yes”, 90 in the group a and 60 in the group c are found (most and fewest of 3 "
        "groups)."
    )


def test_the_four_facts():
    ratio, gap, sensitive, smallest = report.build_audit(count_people(favourable="yes"))["summary"]["strip"]
    assert (ratio["value"], ratio["state"], ratio["mark"]) == ("0.798", "bad", 0.8)  # 0.450 / 0.563, not 0.80
    assert ratio["remark"] == "“yes”: women against men. Below 0.80, the mark of the four-fifths rule."
    assert (gap["value"], gap["name"]) == ("7.0 points", "Gap by sex")
    assert "no limit was set" in gap["remark"]
    assert sensitive["value"] == "Not known"
    assert (smallest["value"], smallest["remark"]) == ("women", "200 rows, 100 of them “yes”.")


def declined(**options):
    """85 of 100 women and 70 of 100 men are declined, as they were before."""
    cells = ("women", "yes", "yes", 85), ("women", "no", "no", 15), ("men", "yes", "yes", 70), ("men", "no", "no", 30)
    group, true, predicted = people_of(*cells)
    return audited(group, true, predicted, **options)


@pytest.mark.parametrize(("favourable", "value", "state", "words"), [
    ("yes", "0.82", "good", "“yes”: men against women. At least 0.80, as the four-fifths rule asks."),
    ("no", "0.50", "bad", "“not yes”: women against men. Below 0.80, the mark of the four-fifths rule."),
    (None, "0.82 or 0.50", "plain", "Which one is favourable was not stated"),
])  # fmt: skip
def test_the_four_fifths_rule_is_about_the_favourable_label(favourable, value, state, words):
    page = report.build_audit(declined(favourable=favourable))
    tile = page["summary"]["strip"][0]
    assert (tile["value"], tile["state"]) == (value, state)
    assert words in tile["remark"]
    for text in (report.to_html(page), report.to_markdown(page)):
        assert tile["remark"] in text
        heads = ("Ratio, positive", "Ratio, negative", "Ratio, favourable")
        assert [head in text for head in heads] == [favourable is None, favourable is None, favourable is not None]


@pytest.mark.parametrize(("favourable", "words"), [
    ("yes", "men is predicted 'yes', the favourable label, 15.0 points less often than women (70.0 % against 85.0 %, "
            "ratio 0.82; "),
    ("no", "women is predicted 'no', the favourable label, 15.0 points less often than men (15.0 % against 30.0 %, "
           "ratio 0.50; "),
    (None, "men is predicted positive 15.0 points less often than women (70.0 % against 85.0 %, ratio 0.82, of the "
           "other label 0.50; "),
])  # fmt: skip
def test_an_audit_tells_the_ratio_of_the_favourable_label(favourable, words):
    found = declined(favourable=favourable)
    assert found.settings["favourable"] == favourable
    assert words in found.summary()[1]
    assert any("favourable to the person was not stated" in text for text in found.summary()) == (favourable is None)
    assert found.groups["selection_ratio"].min() == pytest.approx(70 / 85)
    assert found.groups["rejection_ratio"].min() == pytest.approx(0.5)


def test_a_favourable_label_that_does_not_occur_is_refused():
    with pytest.raises(ValueError, match="favourable='maybe' is not one of the labels 'yes', 'no'"):
        declined(favourable="maybe")


@pytest.mark.parametrize("fitted_with", [None, "declined"])
def test_a_report_compares_the_ratio_with_the_one_before(fitted_with):
    X, y, group = make_people(600)
    y = np.where(y == 1, "approved", "declined")
    model = AdaFairClassifier(n_estimators=5, positive="declined", favourable=fitted_with, random_state=0)
    model.fit(X, y, sensitive_features=group)
    page = report.build(model, X, y, sensitive_features=group, train=(X, y), favourable="approved")
    plain = {row["group"]: 1 - row["selection_rate"] for row in page["comparison"]["groups"]}
    told = f"with plain boosting {min(plain.values()) / max(plain.values()):.2f}"
    assert page["data"]["favourable"] == "approved" and told in page["summary"]["strip"][0]["remark"]
    page = report.build(model, X, y, sensitive_features=group)
    assert page["data"]["favourable"] == fitted_with


@pytest.mark.parametrize(("limit", "state", "words"), [
    (0.5, "good", "passes: below the limit of 50.0 points"),
    (0.05, "plain", "passes: not shown to be above the limit of 5.0 points"),
    (0.0, "plain", "passes: not shown"),
])  # fmt: skip
def test_the_gap_is_held_against_the_limit(counted, limit, state, words):
    page = report.build_audit(counted, limit=limit, measures=["disparate_mistreatment"])
    gap = page["summary"]["strip"][1]
    assert gap["state"] == state and words in gap["remark"]


def test_a_limit_is_for_the_measures_it_is_said_to_be(counted):
    gap = report.build_audit(counted, limit=0.02)["summary"]["strip"][1]  # of the four, one is established
    assert gap["state"] == "bad" and "In predicted positive" in gap["remark"]
    with pytest.raises(ValueError, match="measures must be some of statistical_parity"):
        report.build_audit(counted, limit=0.02, measures=["fairness"])


def test_a_gap_above_the_limit_does_not_pass():
    group, true, predicted = people_of(
        ("a", "yes", "no", 90), ("a", "yes", "yes", 10), ("a", "no", "no", 100),
        ("b", "yes", "no", 10), ("b", "yes", "yes", 90), ("b", "no", "no", 100),
    )  # fmt: skip
    gap = report.build_audit(audited(group, true, predicted), limit=0.2)["summary"]["strip"][1]
    assert gap["state"] == "bad" and "does not pass: above the limit of 20.0 points" in gap["remark"]
    for bad in (-1, float("inf"), float("nan"), "0.1"):
        with pytest.raises(ValueError, match=r"limit must be a difference such as 0\.1"):
            report.build_audit(audited(group, true, predicted), limit=bad)


def test_the_finding_comes_first(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    page = report.build(model, X, y, sensitive_features=group, train=(X, y), person=3)
    html = report.to_html(page)
    places = [html.index(f'<section id="{name}"') for name in ("summary", *ORDER)]
    assert places == sorted(places)
    assert [place for place, _ in _render._sections(page)] == ORDER
    first = page["summary"]["people"]["group"][0]
    assert html.index(first) < html.index('class="strip"') < html.index('data-chart="groups-0"')
    assert "; with plain boosting, " in first


def test_rates_are_called_found_and_only_one_of_the_two_is_shown(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    html = report.to_html(report.build(model, X, y, sensitive_features=group, train=(X, y)))
    body = re.sub(r"<script.*?</script>", "", html.split("<body>")[1], flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", " ", body)
    before_terms = text.split("How to read this report")[0]
    assert not re.search(r"\b(TPR|FNR|TNR|FPR|true positive rate|false negative)\b", before_terms, re.IGNORECASE)
    assert "Ratio, positive" in before_terms and "Ratio, negative" in before_terms


def test_nearly_the_same_prediction_for_all_is_the_headline():
    true = ["yes", "no"] * 500
    predicted = ["no"] * 990 + ["yes"] * 10
    page = report.build_audit(audited(["a", "a", "b", "b"] * 250, true, predicted))
    assert page["summary"]["degenerate"].startswith("The predictions are “not yes” for 99.0\u00a0% of the rows.")
    better = report.build_audit(audited(["a", "a", "b", "b"] * 250, true, true))
    assert better["summary"]["degenerate"] is None


def test_a_label_that_says_nothing_is_shown_with_its_column(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    page = report.build(model, X, pd.Series(y, name="hired"), sensitive_features=group)
    assert (page["data"]["positive"], page["data"]["negative"]) == ("hired = 1", "hired = 0")
    assert "who truly are “hired = 1”" in page["summary"]["people"]["group"][0]


def leaking(n=600):
    X, y, group = make_people(n)
    rng = np.random.default_rng(1)
    X = X.assign(
        outcome=np.where(rng.random(n) < 0.98, y, 1 - y),
        case=np.where(y == 1, [f"case {i}" for i in range(n)], None),
    )
    return X, y, group


@pytest.mark.parametrize("make", [AdaFairClassifier, ParityBoostClassifier])
@pytest.mark.filterwarnings("ignore")
def test_a_column_that_nearly_decides_alone_is_the_first_warning(make):
    X, y, group = leaking()
    model = make(n_estimators=5, random_state=0).fit(X.drop(columns="case"), y, sensitive_features=group)
    page = report.build(model, X.drop(columns="case"), y, sensitive_features=group)
    assert page["warnings"][0]["kind"] == "leak"
    assert page["warnings"][0]["text"].startswith("Column outcome nearly decides alone: outcome gives a balanced")
    html = report.to_html(page)
    assert html.index("Column outcome nearly decides") < html.index('class="pb-explorer"')


@pytest.mark.filterwarnings("ignore")
def test_missing_where_the_outcome_is_missing_is_a_leak_as_well():
    X, y, group = leaking()
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X[["case", "years"]], y, sensitive_features=group)
    warned = report.build(model, X[["case", "years"]], y, sensitive_features=group)["warnings"]
    assert [row["kind"] for row in warned[:2]] == ["leak", "names"]
    assert "case" in warned[0]["text"] and "case" in warned[1]["text"]


def test_ordinary_columns_are_no_leaks_identifiers_or_dates(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=20, random_state=0).fit(X, y, sensitive_features=group)
    kinds = {row["kind"] for row in report.build(model, X, y, sensitive_features=group)["warnings"]}
    assert not kinds & {"leak", "names"}


@pytest.mark.parametrize(("values", "kind"), [
    (range(1000, 1400), "identifier"),
    ([f"u{i}" for i in range(400)], "identifier"),
    ([f"2020-{1 + i % 12:02}-{1 + i % 28:02} 10:00" for i in range(400)], "date"),
    ([f"{1 + i % 28}.{1 + i % 12}.1999" for i in range(400)], "date"),
    ([i * i * 1000 for i in range(400)], None),  # all different, as numbers of so wide a range are
    (np.random.default_rng(0).normal(size=400), None),
    ([i % 50 for i in range(400)], None),
    ([i % 2 == 0 for i in range(400)], None),
    (["a", "b"] * 200, None),
    (range(20), None),
])  # fmt: skip
def test_what_a_column_looks_like(values, kind):
    assert _warnings._kind(pd.Series(values)) == kind


def test_an_interval_that_says_nothing_is_warned_of_with_the_groups_to_blame():
    group, true, predicted = people_of(
        ("a", "yes", "no", 50), ("a", "yes", "yes", 50), ("a", "no", "no", 100),
        ("b", "yes", "no", 2), ("b", "yes", "yes", 2), ("b", "no", "no", 40),
    )  # fmt: skip
    [warned] = report.build_audit(audited(group, true, predicted))["warnings"]
    assert warned["kind"] == "wide"
    assert re.search(r"anything from 0\.0 to \d\d\.\d points, because few rows are there of b\.", warned["text"])


@pytest.mark.filterwarnings("ignore")
def test_hardly_a_model_and_small_groups_reach_the_page(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=10, random_state=0).fit(X, y, sensitive_features=group)
    model.set_theta(1)
    kinds = {row["kind"]: row["text"] for row in report.build(model, X, y, sensitive_features=group)["warnings"]}
    assert kinds["few_rules"] == "Only the first rule of 10 is used: this is hardly a model."


def rows_of_cards(n_rows, seed, apart=0.0):
    """Rare positives, which may have to do with the groups: X, y, group."""
    rng = np.random.default_rng(seed)
    group = pd.Series(rng.choice(["f", "m"], n_rows), name="sex")
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    X["a"] += apart * (group == "m")
    y = (X["a"] + X["b"] + 1.5 * rng.normal(size=n_rows) > 1.8).astype(int)
    return X, y, group


@pytest.mark.no_cover
@pytest.mark.parametrize(("options", "against"), [
    ({}, "train"), ({}, "baseline"), ({"dial": True}, "train"), ({"dial": True}, None),
])  # fmt: skip
def test_a_model_that_gained_nothing_over_a_plain_one_says_so_first(options, against):
    X, y, group = rows_of_cards(3000, 0)
    model = ParityBoostClassifier(n_estimators=30, random_state=0, **options).fit(X, y, sensitive_features=group)
    given = {"train": {"train": (X, y)}, "baseline": {"baseline": AdaBoostClassifier(30).fit(X, y)}, None: {}}[against]
    page = report.build(model, *rows_of_cards(3000, 1)[:2], sensitive_features=rows_of_cards(3000, 1)[2], **given)
    headline, text = page["summary"]["no_gain"]
    compared = page["comparison"]
    named = {"baseline": "AdaBoost", "train": "plain boosting", None: "the plain version"}
    assert compared["baseline"] == named[against]
    rows = {row["measure"]: row for row in compared["rows"]}
    gap = rows["disparate_mistreatment"]
    was, now = (f"{100 * gap[which]['value']:.1f}" for which in ("baseline", "model"))
    assert headline == f"No gain in fairness over {compared['baseline']} is established."
    assert text.startswith("Between the groups of sex, ") and f" is {now} points, and {was} with the other. " in text
    for name, words in (("accuracy", " points of accuracy"), ("balanced_accuracy", " points of balanced accuracy")):
        assert (words in text) == (rows[name]["upper"] < 0)
    html = report.to_html(page)
    assert html.index(headline) < html.index(text) < html.index('class="strip"')
    assert "**No gain in fairness over" in report.to_markdown(page)


def test_a_model_that_gained_something_does_not():
    X, y, group = rows_of_cards(4000, 0, apart=1.5)
    X_new, y_new, group_new = rows_of_cards(4000, 1, apart=1.5)
    model = ParityBoostClassifier(n_estimators=30, random_state=0).fit(X, y, sensitive_features=group)
    page = report.build(model, X_new, y_new, sensitive_features=group_new, train=(X, y))
    assert page["summary"]["no_gain"] == []
    without = AdaFairClassifier("none", n_estimators=5, random_state=0).fit(X, y)
    page = report.build(without, X_new, y_new, sensitive_features=group_new, train=(X, y))
    assert page["summary"]["no_gain"] == []
