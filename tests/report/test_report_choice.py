"""What a model was chosen for, and what else it could have been: said in reports, cards and by ``verbose``."""

import json

import numpy as np
import pytest

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, load, report

SMALL = {"n_bags": 2, "n_estimators": 8, "random_state": 0}
BALANCED = "the highest balanced accuracy (the mean over both labels, not accuracy)"


@pytest.fixture(scope="module")
def people():
    X, y, group = make_people(1200)
    return X[:800], y[:800], group[:800], X[800:], y[800:], group[800:]


@pytest.fixture(scope="module")
def model(people):
    return ParityBoostClassifier("equal_opportunity", **SMALL).fit(*people[:2], sensitive_features=people[2])


def built(model, people):
    return report.build(model, *people[3:5], sensitive_features=people[5])


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("wishes", "name", "said"),
    [
        ({}, "balanced accuracy", f"{BALANCED}, less the gap between groups"),
        ({"maximize": "accuracy"}, "accuracy", "the highest accuracy, less the gap between groups"),
        (
            {"maximize": "balanced_accuracy", "limit": 0.2},
            "balanced accuracy",
            f"{BALANCED}, with no gap in equal opportunity above 0.2",
        ),
        (
            {"maximize": {"false_positive": 1, "false_negative": 5}, "min_ratio": 0.5, "capacity": 0.6},
            "costs of mistakes",
            "the lowest costs of mistakes, 1 for a false positive and 5 for a false negative, with no ratio between "
            "groups in equal opportunity below 0.5 and a yes for a share of at most 0.6",
        ),
        (
            {"maximize": "accuracy", "limit": 0.3, "max_false_positive_rate": 0.4, "min_group_share": 0.1},
            "accuracy",
            "the highest accuracy, with no gap in equal opportunity above 0.3 and a false positive rate of at most 0.4 "
            "and groups below a share of 0.1 left out",
        ),
    ],
)
def test_what_a_model_was_chosen_for_is_on_the_first_screen_and_in_the_card(
    people, model, tmp_path, wishes, name, said
):
    found = built(model.choose(**wishes) if wishes else model, people)
    assert found["model"]["aim"] == {"name": name, "said": said, "limit": wishes.get("limit")}
    assert f"It was chosen for {said}." in found["summary"]["sentences"][0]
    tile = found["summary"]["strip"][-1]
    worth = {row["measure"]: row["value"] for row in found["audit"]["overall"]}
    figures = [f"{100 * worth[of]:.1f}\u00a0%" for of in ("accuracy", "balanced_accuracy")]
    assert tile["name"] == ("Minimised" if "costs" in name else "Maximised")
    assert tile["value"].lower() == name and all(figure in tile["remark"] for figure in figures)
    page, card = report.to_html(found), report.to_markdown(found)
    assert f"it was chosen for {said}." in page and f"- Chosen for: {said}" in card
    gap = found["summary"]["strip"][1]["remark"]
    assert ("no limit was set" in gap) == ("limit" not in wishes)
    if "limit" in wishes:
        assert f"the choice allowed {100 * wishes['limit']:.1f} in each rate" in gap


def test_a_loaded_model_says_the_same_and_a_point_that_was_set_says_so(people, model, tmp_path):
    model.choose(maximize="accuracy", limit=0.2).save(tmp_path / "model.json")
    loaded = built(load(tmp_path / "model.json"), people)
    assert loaded["model"]["aim"]["said"] == "the highest accuracy, with no gap in equal opportunity above 0.2"
    for moved in (model.choose(threshold=0.123), model.choose(fairness=0.0, threshold=0.123)):
        found = built(moved, people)
        assert found["model"]["aim"] is None and len(found["summary"]["strip"]) == 4
        assert "chosen for" not in found["summary"]["sentences"][0]
        assert "its threshold was set, and not measured in training" in report.to_markdown(found)
        assert not any(row["what"].startswith("taken") for row in found["alternatives"]["rows"])


def test_the_other_classifiers_say_what_they_are_after(people):
    X, y, group = people[:3]
    options = {"n_estimators": 8, "random_state": 0}
    for c, said in (
        (1.0, BALANCED),
        (0.0, "the highest accuracy"),
        (0.25, "0.25 × balanced accuracy + 0.75 × accuracy"),
    ):
        paper = AdaFairClassifier("equal_opportunity", c=c, **options).fit(X, y, sensitive_features=group)
        found = built(paper, people)
        assert said in found["model"]["aim"]["said"] and found["model"]["aim"]["said"].endswith("gap between groups")
        assert found["alternatives"] is None
    paper = AdaFairClassifier("equal_opportunity", max_violation=0.5, **options).fit(X, y, sensitive_features=group)
    assert built(paper, people)["model"]["aim"]["said"] == (
        f"{BALANCED}, with gaps in equal opportunity that add up to at most 0.5"
    )
    paper.set_theta(1 if paper.theta_ > 1 else 2)
    assert built(paper, people)["model"]["aim"] is None
    plain = AdaBoostClassifier(8).fit(X, y)
    found = built(plain, people)
    assert found["model"]["aim"] is None and "chosen for" not in report.to_html(found)


@pytest.mark.parametrize("wishes", [{}, {"maximize": "accuracy", "limit": 0.05}])
def test_the_record_of_alternatives_is_that_of_the_model(people, model, wishes):
    chosen = model.choose(**wishes) if wishes else model
    found = report.build(chosen, *people[3:5], sensitive_features=people[5], confidence=0.9)
    expected = chosen.alternatives(confidence=0.9)
    rows = found["alternatives"]["rows"]
    assert len(rows) == len(expected) and found["alternatives"]["confidence"] == 0.9
    for row, other in zip(rows, expected.to_dict("records"), strict=True):
        for name, value in other.items():
            assert row[name] == value or (row[name] is None and (value is None or np.isnan(value)))
    assert rows[0]["what"].startswith("taken")
    json.loads(report.to_json(found))
    page, card = report.to_html(found), report.to_markdown(found)
    assert 'id="alternatives"' in page and '<a href="#alternatives">Record of alternatives</a>' in page
    assert f"Taken is the first row, for it has {found['model']['aim']['said']}." in page
    lines = card.split("## Record of alternatives")[1].split("##")[0].splitlines()
    table = [line for line in lines if line.startswith("| ")][2:]
    assert len(table) == len(rows) and table[0].startswith("| Taken: ") and "Taken" not in "".join(table[1:])
    for line, row in zip(table, rows, strict=True):
        gap = f"{100 * row['largest_gap']:.1f} ({100 * row['gap_lower']:.1f}–{100 * row['gap_upper']:.1f})"
        ratio = f"{row['lowest_ratio']:.2f} ({row['ratio_lower']:.2f}–{row['ratio_upper']:.2f})"
        assert f"{100 * row['accuracy']:.1f}" in line and gap in line and ratio in line
    assert any("lain boosting" in line for line in table)


def test_a_notion_without_gaps_has_nothing_to_take_off(people):
    model = ParityBoostClassifier("none", class_weight="balanced", **SMALL).fit(*people[:2])
    found = built(model, people)
    assert found["model"]["aim"]["said"] == BALANCED
    rows = report.to_markdown(found).split("## Record of alternatives")[1].split("##")[0].splitlines()
    found = [row for row in rows if row.startswith("| ") and "%" in row]
    assert found and all(row.endswith("| – | – |") for row in found)


def test_the_plain_model_beside_ours_is_after_the_same(people):
    from parityboost.report._compare import fit_plain

    X, y, group = people[:3]
    for maximize, c in (("accuracy", 0.0), ("balanced_accuracy", 1.0), (None, 1.0)):
        model = ParityBoostClassifier("equal_opportunity", maximize=maximize, **SMALL)
        assert fit_plain(model.fit(X, y, sensitive_features=group), (X, y)).c == c


def test_verbose_says_what_was_chosen_and_what_that_means(people, capsys):
    X, y, group = people[:3]
    model = ParityBoostClassifier("equal_opportunity", maximize="accuracy", limit=0.1, verbose=1, **SMALL)
    model.fit(X, y, sensitive_features=group)
    last = capsys.readouterr().err.splitlines()[-1]
    total = model.glass_box_.held_out_counts.sum(axis=0)
    assert last.startswith("ParityBoost: chosen for the highest accuracy, with no gap in equal opportunity above 0.1;")
    assert f"accuracy {np.trace(total) / total.sum():.3f}, balanced accuracy" in last
    gap = model.about_.settings.notion.largest_gap(model.glass_box_.held_out_counts)
    assert last.endswith(f"largest gap {gap:.3f}") and gap <= 0.1
