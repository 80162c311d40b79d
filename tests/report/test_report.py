"""A report is one dict; what it says equals what the measures say, and nothing in the data can break its page."""

import json
import re
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, explain, metrics, report
from parityboost._stats import rates
from parityboost._stats.intervals import Interval
from parityboost.audit import audit
from parityboost.datasets import load_adult
from parityboost.notions import get_notion
from parityboost.plot import _chart
from parityboost.report import _compare, _figures, _model, _tables, _words

NASTY = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "<!--\u2028&amp;", "{{ 7 * 7 }} %{x}"]
MEASURES = {
    "statistical_parity": metrics.statistical_parity_difference,
    "equal_opportunity": metrics.equal_opportunity_difference,
    "predictive_equality": metrics.predictive_equality_difference,
    "disparate_mistreatment": metrics.disparate_mistreatment,
}


@pytest.fixture(scope="module")
def adult():
    """A model of 60 rounds, plain AdaBoost, and 4,000 rows that neither has seen."""
    data = load_adult()
    X, y, sex = data.data, data.target, data.sensitive
    held = slice(0, 4000)
    train = slice(4000, 14000)
    model = AdaFairClassifier(n_estimators=60, random_state=0).fit(X[train], y[train], sensitive_features=sex[train])
    baseline = AdaBoostClassifier(60).fit(X[train], y[train])
    return model, baseline, X[held], y[held], sex[held]


@pytest.fixture(scope="module")
def page(adult):
    model, baseline, X, y, sex = adult
    return report.build(model, X, y, sensitive_features=sex, baseline=baseline)


class Reader(HTMLParser):
    """What a browser would find: tags, and text that is not script or style."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.scripts, self.inside = [], [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside != "style":
            (self.scripts if self.inside == "script" else self.text).append(data)


def measures_at(rounds, i):
    """What the page's script computes, from the same integers."""
    counts = np.zeros((len(rounds["groups"]), 2, 2))
    counts[:, 0, 1], counts[:, 1, 1] = rounds["false_positives"][i], rounds["true_positives"][i]
    counts[:, 0, 0] = np.array(rounds["negatives"]) - counts[:, 0, 1]
    counts[:, 1, 0] = np.array(rounds["positives"]) - counts[:, 1, 1]
    wrong, balanced = rates.error_rate(counts), rates.balanced_error_rate(counts)
    fairness = {name: float(get_notion(name).violation(counts)) for name in _words.GOALS}
    return {"accuracy": 1 - wrong, "balanced_accuracy": 1 - balanced} | fairness


def test_the_counts_of_every_round_give_the_measures_of_its_predictions(adult, page):
    model, _, X, y, sex = adult
    rounds = page["rounds"]
    assert rounds["rounds"] == list(range(1, 61))
    for j, predicted in enumerate(model.staged_predict(X), start=1):
        if j % 20 and j != model.theta_:
            continue
        found = measures_at(rounds, j - 1)
        for name, measure in MEASURES.items():
            assert found[name] == pytest.approx(measure(y, predicted, sensitive_features=sex), abs=1e-12)
        assert found["accuracy"] == pytest.approx(np.mean(y == predicted))
        assert found["balanced_accuracy"] == pytest.approx(1 - metrics.balanced_error_rate(y, predicted))
        assert rounds["ber"][j - 1] == pytest.approx(1 - found["balanced_accuracy"])
        assert rounds["violation"][j - 1] == pytest.approx(found["disparate_mistreatment"])


def test_counts_are_whole_numbers_and_the_chosen_round_is_the_model(adult, page):
    model, _, X, y, sex = adult
    rounds = page["rounds"]
    assert all(
        isinstance(n, int) for part in ("true_positives", "false_positives") for row in rounds[part] for n in row
    )
    assert rounds["theta"] == model.theta_
    table = metrics.group_table(y, model.predict(X), sensitive_features=sex)
    at = rounds["rounds"].index(model.theta_)
    tpr = np.array(rounds["true_positives"][at]) / rounds["positives"]
    np.testing.assert_allclose(tpr, table["tpr"].iloc[:-1])


def test_the_dict_is_json_and_json_is_the_dict(page):
    assert json.loads(report.to_json(page)) == page
    json.dumps(page, allow_nan=False)


def test_the_comparison_has_both_models_measures_and_their_difference(adult, page):
    model, baseline, X, y, sex = adult
    rows = {row["measure"]: row for row in page["comparison"]["rows"]}
    assert page["comparison"]["baseline"] == "AdaBoost"
    for name, measure in MEASURES.items():
        was, now = (measure(y, m.predict(X), sensitive_features=sex) for m in (baseline, model))
        assert rows[name]["baseline"]["value"] == pytest.approx(was)
        assert rows[name]["model"]["value"] == pytest.approx(now)
        assert rows[name]["difference"] == pytest.approx(now - was)
        assert rows[name]["lower"] <= rows[name]["upper"]
    assert rows["accuracy"]["lower"] < rows["accuracy"]["difference"] < rows["accuracy"]["upper"]


def test_intervals_of_changes_cover_the_true_change():
    """A baseline that is right in 80 % of the rows, a model in 85 %: the change is 5 points in nearly all samples."""
    rng = np.random.default_rng(0)
    covered = dict.fromkeys(_words.PERFORMANCE, 0)
    for _ in range(500):
        y, luck, other_luck = rng.random(800) < 0.3, rng.random(800), rng.random(800)
        baseline, model = y ^ (luck < 0.2), y ^ (np.where(other_luck < 0.5, luck, other_luck * 2 - 1) < 0.15)
        for name, found in _compare.performance_changes(y, model, baseline, None, 0.95).items():
            covered[name] += found["lower"] <= 0.05 <= found["upper"]
    assert all(0.93 <= n / 500 <= 0.97 for n in covered.values()), covered


def test_a_change_of_a_gap_is_established_only_where_the_gaps_intervals_are_apart(page):
    for row in page["comparison"]["rows"]:
        if row["attribute"] is None:
            continue
        overlap = (
            row["model"]["lower"] <= row["baseline"]["upper"] and row["baseline"]["lower"] <= row["model"]["upper"]
        )
        assert overlap == (row["lower"] <= 0 <= row["upper"])
    assert _compare.gap_change(Interval(0.2, 0.1, 0.3), Interval(0.05, 0.0, 0.08)) == pytest.approx(
        {"difference": -0.15, "lower": -0.3, "upper": -0.02}
    )


def test_weights_that_repeat_rows_give_the_figures_of_repeated_rows(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=10, random_state=0).fit(X, y, sensitive_features=group)
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    weighted = report.build(model, X, y, sensitive_features=group, sample_weight=weights)
    repeated = report.build(model, X.iloc[twice], y[twice], sensitive_features=group[twice])
    for key in ("positives", "negatives", "true_positives", "false_positives", "ber", "violation"):
        np.testing.assert_allclose(weighted["rounds"][key], repeated["rounds"][key])
    ours, theirs = ([gap["total"] for gap in built["gaps"]] for built in (weighted, repeated))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert report.to_html(weighted)


def test_rows_without_weight_are_no_rows(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=10, random_state=0).fit(X, y, sensitive_features=group)
    team = np.where(np.arange(len(y)) % 7 == 0, "nobody", group)
    weights = np.where(team == "nobody", 0.0, 1.0 + np.arange(len(y)) % 2)
    kept = weights > 0
    weighted = report.build(model, X, y, sensitive_features=team, sample_weight=weights, created="x")
    without = report.build(
        model, X[kept], y[kept], sensitive_features=team[kept], sample_weight=weights[kept], created="x"
    )
    assert weighted == without
    assert weighted["rounds"]["groups"] == ["a", "b"]


def test_what_is_not_defined_is_said_to_be(people):
    """Only one group has positives: there is no gap to speak of, in neither model."""
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    team = np.where(y == 1, "a", group)
    built = report.build(model, X, y, sensitive_features=team, train=(X, y))
    assert [gap["rows"] for gap in built["gaps"]] == ["negatives"]
    assert next(row for row in built["comparison"]["rows"] if row["measure"] == "equal_opportunity")["lower"] is None
    text = " ".join(Reader(report.to_html(built)).text)
    assert "These cannot be compared: people found (group: not defined for fewer than two groups" in text
    gap = built["summary"]["strip"][1]
    assert gap["value"] == "–" and "no positives: b" in gap["remark"]


def test_wide_data_are_cut_short_and_nothing_is_left_out_of_sums():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 30)), columns=[f"feature {j}" for j in range(30)])
    X["place"] = [f"place {k}" for k in rng.integers(0, 40, 2000)]
    effect = dict(zip(sorted(set(X["place"])), rng.normal(size=40), strict=True))
    y = (X.iloc[:, :30].sum(axis=1) + 6 * X["place"].map(effect) > 0).astype(int)
    group = pd.Series(np.where(X["feature 0"] + rng.normal(size=2000) > 0, "a", "b"), name="group")
    model = AdaFairClassifier(n_estimators=400, random_state=0).fit(X, y, sensitive_features=group)
    built = report.build(model, X, y, sensitive_features=group)
    assert len(built["model"]["shapes"]) == 24 < built["model"]["n_used"]
    figures = _figures.figures(built)
    bars = figures["gaps"][0].spec["data"][0]
    total, *others = bars["x"]
    assert sum(others) == pytest.approx(total, abs=1e-4)
    assert (
        figures["gaps"][0].spec["layout"]["yaxis"]["ticktext"][-1] == f"{built['model']['n_used'] - 12} other features"
    )
    place = next(figure for figure in figures["shapes"] if figure.title == "place")
    assert len(place.spec["data"][0]["x"]) == 22
    assert len(place.table.rows) == 42
    assert "are drawn; all are in the table" in place.caption
    assert "24 most important of" in " ".join(Reader(report.to_html(built)).text)


def test_train_fits_the_one_plain_model(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=7, random_state=0).fit(X, y, sensitive_features=group)
    by_train = report.build(model, X, y, sensitive_features=group, train=(X, y), created="x")
    plain = AdaFairClassifier("none", n_estimators=7, threshold="auto", random_state=0).fit(X, y)
    by_model = report.build(model, X, y, sensitive_features=group, baseline=plain, created="x")
    assert by_train == by_model and by_train["comparison"]["baseline"] == "plain boosting"
    assert [each["name"] for each in by_train["explorer"]["models"]] == ["plain boosting", "AdaFair"]
    with pytest.raises(ValueError, match="baseline or train, not both"):
        report.build(model, X, y, sensitive_features=group, train=(X, y), baseline=model)
    with pytest.raises(ValueError, match="train must be"):
        report.build(model, X, y, sensitive_features=group, train=(X,))


def test_any_classifier_can_be_the_baseline(people):
    X, y, group = people
    numbers = X[["years"]]
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(numbers, y, sensitive_features=group)
    built = report.build(model, numbers, y, sensitive_features=group, baseline=LogisticRegression().fit(numbers, y))
    assert built["comparison"]["baseline"] == "LogisticRegression"
    assert built["gaps"][0]["models"] == ["AdaFair"]
    assert "Compared with LogisticRegression" in report.to_html(built)


def test_gaps_are_those_of_the_rows_the_notion_is_about(adult, page):
    model, baseline, X, y, sex = adult
    assert [gap["rows"] for gap in page["gaps"]] == ["positives", "negatives"]
    for gap, rows in zip(page["gaps"], (y == 1, y == 0), strict=True):
        table = explain.compare_gaps({"a": baseline, "b": model}, X[rows], sex[rows], groups=(gap["low"], gap["high"]))
        assert gap["total"] == pytest.approx(table.loc["total"].tolist())
        assert np.sum([row["parts"] for row in gap["features"]], axis=0) == pytest.approx(gap["total"])
        assert gap["total"][0] > 0  # the baseline says which group is called the higher one


def test_columns_named_like_sums_are_reported_beside_them(people):
    X, y, group = people
    built = []
    for table in (X, X.rename(columns={"skill": "total", "years": "constant"})):
        model = ParityBoostClassifier(n_bags=2, n_estimators=10, random_state=0).fit(table, y, sensitive_features=group)
        built.append(report.build(model, table, y, sensitive_features=group, person=1))
    plain, named = built
    assert [gap["total"] for gap in named["gaps"]] == [gap["total"] for gap in plain["gaps"]]
    assert "total" in [row["feature"] for row in named["gaps"][0]["features"]]
    assert named["person"]["score"] == plain["person"]["score"]
    assert named["model"]["pair_share"] == plain["model"]["pair_share"]
    assert "(total)" in report.to_html(named)


def test_shapes_are_the_most_important_first_and_exact(adult, page):
    model, _, X, _, _ = adult
    functions = explain.shape_functions(model)
    order = [name for name in explain.importances(model, X).index if not functions[name].is_flat]
    assert [shape["feature"] for shape in page["model"]["shapes"]] == order
    for shape in page["model"]["shapes"]:
        function = functions[shape["feature"]]
        assert shape["scores"] == list(function.scores)
        assert shape["missing"] == function.missing
        assert sum(shape["shares"]) + shape["missing_share"] <= 1 + 1e-9


def test_the_page_is_small_and_asks_for_nothing(page):
    html = report.to_html(page)
    assert len(html.encode()) < 6_000_000
    found = Reader(html)
    for tag, attributes in found.tags:
        for name in ("src", "href", "action", "data"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:")), (tag, value)
    assert "url(" not in re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]


def test_the_page_shows_the_numbers(page):
    text = " ".join(Reader(report.to_html(page)).text)
    accuracy = next(row for row in page["audit"]["overall"] if row["measure"] == "accuracy")
    assert f"{100 * accuracy['value']:.1f}\u00a0%" in text
    for sentence in (s for part in ("sentences", "conclude", "not_conclude") for s in page["summary"][part]):
        assert sentence in text
    assert "nan" not in text.lower().split()
    assert "None" not in text.replace("class_weight None", "").split("Parameters of the model")[0]


def test_every_chart_has_a_caption_and_a_table_has_heads(page):
    found = Reader(report.to_html(page))
    charts = [attributes for _, attributes in found.tags if "data-chart" in attributes]
    assert len(charts) > 10
    assert all(chart["aria-label"] for chart in charts)
    names = [tag for tag, _ in found.tags]
    assert names.count("figcaption") == len(charts)
    assert names.count("caption") == names.count("table")
    assert all(attributes.get("scope") for tag, attributes in found.tags if tag == "th")


@pytest.fixture
def nasty(people):
    """Names of columns, categories, groups and labels that would like to be code."""
    X, y, group = people
    X = X.rename(columns={"skill": NASTY[0], "job": NASTY[1]})
    X[NASTY[1]] = X[NASTY[1]].cat.rename_categories(NASTY[:3])
    X[NASTY[3]] = np.where(y == 1, NASTY[0], NASTY[2])
    labels = np.array(NASTY[:2])[y]
    team = pd.Series(np.where(group == "a", NASTY[0], NASTY[3]), name=NASTY[2])
    model = AdaFairClassifier(n_estimators=10, random_state=0).fit(X, labels, sensitive_features=team)
    return report.build(
        model, X, pd.Series(labels, name=NASTY[1]), sensitive_features=team, train=(X, labels), title=NASTY[0]
    )


def test_text_of_the_data_stays_text(nasty):
    html = report.to_html(nasty)
    found = Reader(html)
    assert not [tag for tag, attributes in found.tags if tag == "img" or "onerror" in attributes]
    assert len(found.scripts) == [tag for tag, _ in found.tags].count("script") == 4
    explorer, data = (json.loads(script) for script in found.scripts[:2])
    assert {group["name"] for group in explorer["groups"]} == {NASTY[0], NASTY[3]}
    assert data["rounds"]["groups"] == sorted([NASTY[0], NASTY[3]])
    assert "\u2028" not in found.scripts[0] + found.scripts[1]
    assert "<script>alert" not in json.dumps(data["charts"])  # plotly reads tags too
    assert NASTY[0] in "".join(found.text)
    assert "49 %{x}" not in html


def test_several_columns_are_shown_each_and_crossed(people):
    X, y, group = people
    both = pd.DataFrame({"group": group, "member": X["member"]})
    model = AdaFairClassifier("statistical_parity", n_estimators=10, random_state=0)
    model.fit(X, y, sensitive_features=both)
    built = report.build(model, X, y, sensitive_features=both, train=(X, y))
    assert built["data"]["attributes"] == ["group", "member", "group & member"]
    assert built["rounds"]["groups"] == ["a & False", "a & True", "b & False", "b & True"]
    assert [gap["rows"] for gap in built["gaps"]] == ["all"]
    changes = [row for row in built["comparison"]["rows"] if row["measure"] == "statistical_parity"]
    for change, columns in zip(changes, (both[["group"]], both[["member"]], both), strict=True):
        value = metrics.statistical_parity_difference(y, model.predict(X), sensitive_features=columns)
        assert change["model"]["value"] == pytest.approx(value)
    html = report.to_html(built)
    assert "The groups of group &amp; member" in html
    rows = _tables.attributes(built).rows  # one row for each, in place of sentences
    assert [row[0] for row in rows] == built["data"]["attributes"]
    assert "What was found, one row per attribute" in html
    differences = [item for item in built["summary"]["conclude"] if item.startswith(("group:", "member:", "group &"))]
    assert len(differences) <= 3
    assert sum("No difference is established" in item for item in built["summary"]["conclude"]) <= 1


def test_the_sensitive_column_may_be_named_by_the_model(people):
    X, y, group = people
    X = X.assign(group=group)
    model = AdaFairClassifier(n_estimators=5, sensitive_feature="group", random_state=0).fit(X, y)
    assert report.build(model, X, y)["data"]["attributes"] == ["group"]
    without = AdaBoostClassifier(5).fit(X, y)
    with pytest.raises(ValueError, match="pass sensitive_features"):
        report.build(without, X, y)


def test_plain_adaboost_can_be_reported_on(people):
    X, y, group = people
    built = report.build(AdaBoostClassifier(5).fit(X, y), X, y, sensitive_features=group)
    assert built["model"]["notion"] == "none"
    assert built["rounds"]["chosen_on"] is None
    assert built["rounds"]["notion"] == "disparate_mistreatment"
    html = report.to_html(built)
    assert "trained for" not in html
    assert "Compared with" not in " ".join(Reader(html).text)


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(max_depth=2), LogisticRegression()])
def test_a_model_of_other_learners_has_no_shapes_and_says_so(people, estimator):
    X, y, group = people
    numbers = X[["years", "member"]].astype(float)
    model = AdaFairClassifier(n_estimators=5, estimator=estimator, random_state=0)
    model.fit(numbers, y, sensitive_features=group)
    built = report.build(model, numbers, y, sensitive_features=group)
    assert built["model"]["shapes"] is None
    assert built["gaps"] == []
    assert (built["model"]["importances"] is None) == isinstance(estimator, LogisticRegression)
    text = " ".join(Reader(report.to_html(built)).text)
    assert "It has no curves per feature to show: only a model of stumps" in text
    assert "What makes the gap" not in text


def test_arrays_without_names_will_do():
    X, y, group = make_people(200)
    values = X[["skill", "years"]].to_numpy()
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(values, y, sensitive_features=group)
    built = report.build(model, values, y.tolist(), sensitive_features=group.tolist())
    assert built["data"]["attributes"] == ["group"]
    assert built["data"]["target"] is None
    assert report.to_html(built)


def test_a_group_without_positives_has_no_rate_and_no_nan(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    third = np.where((group == "a") & (y == 0) & (np.arange(len(y)) % 2 == 0), "c", group)
    built = report.build(model, X, y, sensitive_features=third)
    row = next(row for row in built["audit"]["groups"] if row["group"] == "c")
    assert row["tpr"] is None
    text = " ".join(Reader(report.to_html(built)).text)
    assert "c: no positives" in text
    assert built["summary"]["not_conclude"][1:] and any(
        "few rows: c" in item for item in built["summary"]["not_conclude"]
    )


def test_a_threshold_per_group_is_shown_per_group(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    built = report.build(model, X, y, sensitive_features=group)
    built["model"]["threshold"] = [{"group": "a", "threshold": 0.25}, {"group": "b", "threshold": -0.125}]
    assert "a 0.25, b -0.125" in " ".join(Reader(report.to_html(built)).text)


def test_many_rounds_are_thinned_but_the_chosen_one_stays(people, monkeypatch):
    X, y, group = people
    monkeypatch.setattr(_model, "MAX_CELLS", 20)
    model = AdaFairClassifier(n_estimators=33, random_state=0).fit(X, y, sensitive_features=group)
    rounds = report.build(model, X, y, sensitive_features=group)["rounds"]
    assert set(rounds["rounds"]) == {1, model.theta_, 33, *range(4, 34, 4)}
    assert all(len(rounds[key]) == len(rounds["rounds"]) for key in ("true_positives", "ber", "chosen_violation"))


def test_an_audit_has_the_sections_that_need_no_model(people):
    _, y, group = people
    rng = np.random.default_rng(0)
    scores = np.clip(0.6 * y + 0.4 * rng.random(len(y)), 0, 1)
    found = audit(y, scores > 0.5, sensitive_features={"team": group}, scores=scores, positive_label=1)
    built = report.build_audit(found, title="Ours", created="2024-01-01")
    assert json.loads(report.to_json(built)) == built
    page = Reader(report.to_html(built))
    text = " ".join(page.text)
    assert {"Ours", "2024-01-01", "How to read this report"} <= {part.strip() for part in page.text} | {"2024-01-01"}
    assert "What a score means, by team" in text
    for absent in ("The model is", "Other settings", "slider", "What makes the gap"):
        assert absent not in text


def test_summaries_say_established_only_what_is(people):
    """Ten rows establish nothing; that must not read as fairness."""
    _, y, group = people
    few = audit(y[:12], y[:12], sensitive_features={"team": group[:12]})
    summary = report.build_audit(few)["summary"]
    open_items = [item for item in summary["conclude"] if "No difference is established" in item]
    assert len(open_items) == 1 and "people found" in open_items[0] and "not ruled out" in open_items[0]
    assert summary["not_conclude"][0].startswith("That groups are treated alike because no difference was found")


def test_a_model_that_uses_the_sensitive_attribute_is_said_to(people):
    X, y, group = people
    X = X.assign(group=np.where(np.arange(len(y)) % 4 > 0, np.where(y == 1, "b", "a"), group))
    model = AdaFairClassifier(n_estimators=10, random_state=0).fit(X, y, sensitive_features=X["group"])
    assert any("looks at group directly" in item for item in _summary(model, X, y, X["group"])["conclude"])
    blind = AdaFairClassifier(n_estimators=10, random_state=0)
    blind.fit(X.drop(columns="group"), y, sensitive_features=X["group"])
    items = _summary(blind, X.drop(columns="group"), y, X["group"])["not_conclude"]
    assert any("other columns may stand in for it" in item for item in items)


def _summary(model, X, y, group):
    return report.build(model, X, y, sensitive_features=group)["summary"]


def test_files_are_written_whole_or_not_at_all(people, tmp_path):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    html = report.write_report(tmp_path / "a.html", model, X, y, sensitive_features=group, title="Tïtle")
    assert html.read_text(encoding="utf8").startswith("<!doctype html>")
    assert "Tïtle" in html.read_text(encoding="utf8")
    path = report.write_report(str(tmp_path / "a.json"), model, X, y, sensitive_features=group, title="T")
    assert json.loads(path.read_text(encoding="utf8"))["title"] == "T"
    with pytest.raises(ValueError, match="Found input variables"):
        report.write_report(html, model, X, y, sensitive_features=group[:5])
    assert "Tïtle" in html.read_text(encoding="utf8")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        report.write_report(tmp_path / "nowhere" / "a.html", model, X, y, sensitive_features=group)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "a.json"]


def test_a_failed_write_leaves_the_old_file_and_no_other(people, tmp_path, monkeypatch):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=2, random_state=0).fit(X, y, sensitive_features=group)
    path = tmp_path / "a.json"
    path.write_text("old")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        report.write_report(path, model, X, y, sensitive_features=group)
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    assert path.read_text() == "old"


def test_what_cannot_be_reported_on_is_named(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=2, random_state=0).fit(X, y, sensitive_features=group)
    with pytest.raises(TypeError, match="of a pipeline pass the last step"):
        report.build(make_pipeline(model), X, y, sensitive_features=group)
    with pytest.raises(ValueError, match="y_pred holds"):
        report.build(model, X, np.where(y == 1, "yes", "no"), sensitive_features=group)
    with pytest.raises(ValueError, match="only one group"):
        report.build(model, X, y, sensitive_features=["a"] * len(y))


def test_html_without_plotly_says_what_to_install(people, monkeypatch):
    import sys

    X, y, group = people
    model = AdaFairClassifier(n_estimators=2, random_state=0).fit(X, y, sensitive_features=group)
    built = report.build(model, X, y, sensitive_features=group)
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r'pip install "jinja2>=.*" "plotly>='):
        report.to_html(built)
    assert report.to_json(built)


def test_a_model_that_tells_nobody_apart_is_the_headline():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(25), 100)
    X = pd.DataFrame({f"x{j}": rng.normal(size=2500) for j in range(3)})
    y = np.where(X["x0"] + rng.normal(size=2500) > 2, "Pass", "Fail")
    model = AdaFairClassifier(n_estimators=20, random_state=0).fit(X, y, sensitive_features=group)
    model.set_theta(1).set_threshold(100.0)
    page = report.build(model, X, y, sensitive_features=group)
    assert page["summary"]["degenerate"].startswith("The model predicts “Fail” for everyone.")
    assert page["model"]["warnings"] == model.warnings_
    text = " ".join(Reader(report.to_html(page)).text)
    assert text.index("The model predicts “Fail” for everyone.") < text.index("Lowest ratio")
    assert all(word in text for word in ("Before you read on", "From training: 25 groups: the largest difference"))


def test_models_and_groups_have_the_colours_of_the_plots_and_none_in_common():
    css = resources.files("parityboost.report").joinpath("_style.css").read_text(encoding="utf8")
    light, dark = (
        dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", part)) for part in css.split('[data-theme="dark"]')
    )
    assert [light["baseline"], light["ours"]] == [_chart.PLAIN.lower(), _chart.OURS.lower()]
    assert [light[f"group-{i + 1}"] for i in range(6)] == [colour.lower() for colour in _chart.GROUPS]
    assert not {*_chart.GROUPS} & {*_chart.METHODS.values(), *_chart.PALETTE, _chart.UP, _chart.DOWN}
    for theme in (light, dark):
        names = [name for name in theme if name.startswith("group-") or name in ("baseline", "ours", "down")]
        assert len({theme[name] for name in names}) == len(names) == 9


@pytest.mark.parametrize("predictions", [np.zeros(4000), [0] * 4000, pd.Series(np.zeros(4000))])
def test_predictions_are_no_baseline(adult, predictions):
    model, _, X, y, sex = adult
    with pytest.raises(TypeError, match=f"baseline must be a fitted classifier.* got {type(predictions).__name__}"):
        report.build(model, X, y, sensitive_features=sex, baseline=predictions)
