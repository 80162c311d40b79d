"""The model card and one person explained: what the owner says, what is filled in, and what adds up."""

import hashlib
import re
from datetime import date

import numpy as np
import pandas as pd
import pytest

from parityboost import AdaFairClassifier, ParityBoostClassifier, explain, report
from parityboost.audit import audit
from parityboost.report import _figures

ABOUT = {
    "purpose": "To decide <who> is invited.",
    "owner": "Team | Hiring",
    "positive": "was hired",
    "intended_use": ["Invitations", "Training of staff"],
    "next_audit": date(2027, 5, 1),
    "license": "bsd-3-clause",
}


@pytest.fixture
def fitted(people):
    X, y, group = people
    return AdaFairClassifier(n_estimators=10, random_state=0).fit(X, y, sensitive_features=group)


def built(model, people, **options):
    X, y, group = people
    return report.build(model, X, pd.Series(y, name="hired"), sensitive_features=group, **options)


def test_the_card_says_what_its_owner_says_and_what_is_left_out(fitted, people):
    html = report.to_html(built(fitted, people, about=ABOUT, title="Who is invited"))
    text = " ".join(re.sub(r"<[^>]*>", " ", html.split('<section id="card">')[1].split("</section>")[0]).split())
    assert text.startswith("Model card Purpose To decide &lt;who&gt; is invited. Owner Team | Hiring")
    assert "Out of scope not given" in text and "Signed off not given" in text
    assert "Intended use Invitations Training of staff" in text and "Next audit 2027-05-01" in text
    assert f"Trained on {len(people[1])} rows" in text
    assert "It means: was hired" in html
    assert "were not given" not in html
    assert "were not given" in report.to_html(built(fitted, people))


@pytest.mark.no_cover
@pytest.mark.parametrize("left_out", ABOUT)
def test_a_card_may_leave_out_any_field(fitted, people, left_out):
    page = built(fitted, people, about={name: value for name, value in ABOUT.items() if name != left_out})
    assert ("It means: was hired" in report.to_html(page)) == (left_out != "positive")


@pytest.mark.parametrize("make", [AdaFairClassifier, ParityBoostClassifier])
def test_file_and_rows_are_filled_in_also_of_a_model_that_was_saved(people, tmp_path, make):
    X, y, group = people
    model = make(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    path = tmp_path / "model.json"
    model.save(path)
    page = built(model.load(path), people, model_file=path)
    assert page["card"]["training_rows"] == len(X) == model.n_samples_fit_
    assert page["card"]["file"] == {"name": "model.json", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


@pytest.mark.parametrize(("about", "words"), [
    ({"porpose": "x"}, "about has the field 'porpose'; known are purpose, owner, positive"),
    ({"purpose": 3}, "about: purpose must be text, a list of texts or a date, got 3"),
    ({"purpose": ["x", " "]}, "about: purpose must be text"),
    ({"purpose": []}, "about: purpose must be text"),
])  # fmt: skip
def test_a_card_that_cannot_be_read_is_refused(fitted, people, about, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        built(fitted, people, about=about)


def test_a_file_that_is_no_toml_is_refused(fitted, people, tmp_path):
    path = tmp_path / "card.toml"
    for content, words in ((b"purpose", "must be a TOML file"), (b'purpose = "\xff"', "in UTF-8")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            built(fitted, people, about=path)
    path.write_text('purpose = "x"\nnext_audit = 2027-05-01', encoding="utf8")
    assert built(fitted, people, about=path)["card"]["about"] == {"purpose": ["x"], "next_audit": ["2027-05-01"]}


def test_markdown_has_the_header_of_hugging_face(fitted, people):
    yaml = pytest.importorskip("yaml")
    page = built(fitted, people, about=ABOUT, title='A "title": yes', train=(people[0], people[1]))
    card = report.to_markdown(page)
    _, header, body = card.split("---\n", 2)
    found = yaml.safe_load(header)
    assert (found["library_name"], found["license"]) == ("parityboost", "bsd-3-clause")
    [index] = found["model-index"]
    assert index["name"] == 'A "title": yes'
    [result] = index["results"]
    assert (result["task"]["type"], result["dataset"]["name"]) == ("tabular-classification", "hired")
    accuracy = next(row["value"] for row in page["audit"]["overall"] if row["measure"] == "accuracy")
    assert result["metrics"][0] == {"type": "accuracy", "name": "Accuracy", "value": round(accuracy, 4)}
    assert {"accuracy", "balanced_accuracy", "disparate_mistreatment"} == {row["type"] for row in result["metrics"]}
    assert '# A "title": yes' in body
    assert "To decide &lt;who>" in body and "Team \\| Hiring" in body
    assert "**Out of scope:** not given" in body
    for part in ("## Facts", "## Results", "## Compared with plain boosting", "## What you should not conclude"):
        assert part in body


def test_nothing_in_the_data_becomes_markdown_or_a_tag(people):
    X, y, group = people
    team = pd.Series(np.where(group == "a", "<script>|x", "[y](http://z)\n# b"), name="*team*")
    model = AdaFairClassifier(n_estimators=3, random_state=0).fit(X, y, sensitive_features=team)
    card = report.to_markdown(report.build(model, X, y, sensitive_features=team, title="# <b>"))
    body = card.split("---\n", 2)[2]
    assert "<script" not in body and "<b>" not in body and "\n# b" not in body
    table = [line for line in body.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == line.replace("\\|", "").count("|") for line in table)


@pytest.mark.parametrize("hostile", ["a\x7f\x85\u2028b", "\x00\x1f\ufeff\ufffe", "😀 “q” \\ ---\nx: y"])
def test_any_title_and_name_is_in_the_header(people, hostile):
    yaml = pytest.importorskip("yaml")
    _, y, group = people
    found = audit(y, y, sensitive_features=pd.Series(group, name=hostile))
    card = report.to_markdown(report.build_audit(found, title=hostile, about={"license": hostile}))
    header = yaml.safe_load(card.split("\n---\n")[0])
    assert header["model-index"][0]["name"] == hostile
    assert header["license"] == hostile.strip()
    assert header["model-index"][0]["results"][0]["metrics"][-1]["name"].endswith(hostile)
    card.encode("utf8")


def test_a_column_cannot_bring_a_tag_into_the_tiles_of_a_card(people):
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    _, y, group = people
    found = audit(y, y, sensitive_features=pd.Series(group, name="<img src=x onerror=alert(1)>"))
    tokens = markdown.parse(report.to_markdown(report.build_audit(found)).split("\n---\n", 1)[1])
    assert not [child for token in tokens for child in token.children or [] if child.type == "html_inline"]
    assert not [token for token in tokens if token.type == "html_block"]


@pytest.mark.no_cover
@pytest.mark.parametrize("depth", [1, 2])
def test_the_bars_of_a_person_add_up_to_the_score(people, depth):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=30, max_depth=depth, random_state=0).fit(X, y, sensitive_features=group)
    page = built(model, people, person=6)
    person, score = page["person"], model.decision_function(X)
    assert person["score"] == pytest.approx(score[5])
    assert person["mean"] == pytest.approx(score.mean())
    assert person["mean"] + sum(part["part"] for part in person["parts"]) == pytest.approx(score[5])
    assert person["predicted"] == model.predict(X)[5] and person["true"] == y[5]
    parts = explain.contributions(model, X)
    name = person["parts"][0]["feature"]
    assert person["parts"][0]["part"] == pytest.approx(parts[name].iloc[5] - parts[name].mean())
    [figure] = _figures.figures(page)["person"]
    bars, ends = figure.spec["data"]
    np.testing.assert_allclose(np.array(bars["base"][1:]), np.add(bars["base"], bars["x"])[:-1], atol=1e-4)
    assert ends["x"] == pytest.approx([person["mean"], person["score"]], abs=1e-5)
    assert "One person explained" in report.to_html(page)
    for favourable in (0, 1):
        page = built(model, people, person=6, favourable=favourable)
        told = explain.reasons(model, X.iloc[[5]], favourable=favourable).table["feature"].tolist()
        assert [reason["feature"] for reason in page["person"]["reasons"]] == told
        assert bool(told) == (model.predict(X)[5] != favourable)
        assert ("Why the decision was not" in report.to_html(page)) == bool(told)


def test_a_person_has_to_be_there(fitted, people):
    X, y, group = people
    for bad in (-1, 0, len(X) + 1, True, "3", 1.0):
        with pytest.raises(ValueError, match=f"person must be the number of a row, from 1 to {len(X)}"):
            built(fitted, people, person=bad)
    weights = np.where(np.arange(len(X)) == 3, 0.0, 1.0)
    with pytest.raises(ValueError, match="person must be a row with a weight above 0"):
        report.build(fitted, X, y, sensitive_features=group, sample_weight=weights, person=4)
    after = report.build(fitted, X, y, sensitive_features=group, sample_weight=weights, person=5)["person"]
    assert after["score"] == pytest.approx(fitted.decision_function(X)[4])
    assert after["row"] == 5  # as counted in X
