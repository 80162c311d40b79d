"""report on the command line, and what train and audit write: cards, titles, limits, other words for warnings."""

import hashlib
import json
import os
import threading

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import parityboost
from conftest import make_people
from parityboost import cli, report
from parityboost._cli._running import as_options, with_labels

CARD = """
purpose = "To decide who is invited."
owner = "Team Hiring"
positive = "was hired"
intended_use = ["Invitations", "Training of staff"]
next_audit = 2027-05-01
"""


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files, a model trained on one of them, and a card."""
    folder = tmp_path_factory.mktemp("report")
    X, y, group = make_people(1600)
    table = X.assign(group=group, hired=np.where(y == 1, "a yes", "no"))  # the positive label is the smaller one
    table[:1000].to_csv(folder / "old.csv", index=False)
    table[1000:].to_csv(folder / "new.csv", index=False)
    (folder / "card.toml").write_text(CARD, encoding="utf8")
    named = ["--target", "hired", "--positive", "a yes", "--sensitive", "group", "--rounds", 20]
    for name, *more in (("model", "--exclude-sensitive"), ("other", "--exclude-sensitive", "--notion", "none")):
        result = run("train", folder / "old.csv", *named, *more, "--model", folder / f"{name}.json")
        assert result.exit_code == 0, result.output
    return folder


def report_on(folder, *more, data="new.csv", target="hired"):
    out = [] if "--out" in more else ["--out", folder / "report.json"]
    return run("report", folder / "model.json", folder / data, "--target", target, "--sensitive", "group", *out, *more)


@pytest.mark.no_cover
def test_a_saved_model_is_reported_on_as_in_python(folder):
    result = report_on(folder, "--title", "Mine", "--against", folder / "other.json", "--person", 7)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("600 rows. Report: ")
    written = json.loads((folder / "report.json").read_text(encoding="utf8"))
    new = pd.read_csv(folder / "new.csv")
    built = report.build(
        parityboost.load(folder / "model.json"),
        new.drop(columns=["group", "hired"]),
        new["hired"],
        sensitive_features=new[["group"]],
        baseline=parityboost.load(folder / "other.json"),
        title="Mine",
        model_file=folder / "model.json",
        person=7,
        created=written["created"],
    )
    assert written == json.loads(report.to_json(built))
    assert (written["data"]["positive"], written["data"]["negative"]) == ("a yes", "hired = no")
    assert written["card"]["file"] == {
        "name": "model.json",
        "sha256": hashlib.sha256((folder / "model.json").read_bytes()).hexdigest(),
    }
    assert written["card"]["training_rows"] == 1000
    assert written["person"]["row"] == 7


@pytest.mark.no_cover
def test_a_card_is_a_page_or_markdown(folder):
    for kind, words in (("html", "<dt>Owner</dt><dd>Team Hiring</dd>"), ("md", "**Owner:** Team Hiring")):
        out = folder / f"card.{kind}"
        result = report_on(folder, "--about", folder / "card.toml", "--out", out)
        assert result.exit_code == 0, result.output
        text = out.read_text(encoding="utf8")
        assert words in text
        assert "2027-05-01" in text and "To decide who is invited." in text
        assert hashlib.sha256((folder / "model.json").read_bytes()).hexdigest() in text
    assert text.startswith("---\nlibrary_name: parityboost\n")


def test_a_card_that_says_only_who_owns_the_model_is_a_page(folder, tmp_path):
    (tmp_path / "card.toml").write_text('owner = "Team Hiring"')
    result = report_on(folder, "--about", tmp_path / "card.toml", "--out", tmp_path / "card.html")
    assert result.exit_code == 0, result.output


def test_the_favourable_label_is_stated_once_in_training_or_later(folder, tmp_path):
    named = ["--target", "hired", "--positive", "a yes", "--sensitive", "group", "--rounds", 3]
    out = tmp_path / "report.json"
    result = run(
        "train", folder / "old.csv", *named, "--favourable", "no", "--model", tmp_path / "m.json", "--report", out
    )
    assert result.exit_code == 0, result.output
    assert "positive label 'a yes', favourable 'no'" in result.output
    model = parityboost.load(tmp_path / "m.json")
    assert (model.positive_, model.favourable_, model.classes_.tolist()) == ("a yes", "no", ["a yes", "no"])
    assert json.loads(out.read_text(encoding="utf8"))["data"]["favourable_label"] == "no"
    assert report_on(folder, "--out", out).exit_code == 0
    assert json.loads(out.read_text(encoding="utf8"))["data"]["favourable_label"] is None
    assert report_on(folder, "--out", out, "--favourable", "a yes").exit_code == 0
    assert json.loads(out.read_text(encoding="utf8"))["data"]["favourable_label"] == "a yes"
    predicted = tmp_path / "predicted.csv"
    assert run("predict", tmp_path / "m.json", folder / "new.csv", "--out", predicted, "--score").exit_code == 0
    table = pd.read_csv(predicted)
    assert ((table["score"] > 0) == (table["prediction"] == "a yes")).all()
    judged = ["--target", "hired", "--prediction", "prediction", "--sensitive", "group", "--favourable", "no"]
    assert "'no', the favourable label" in run("audit", predicted, *judged).output.replace("\n ", "")
    for command in (
        lambda: run("train", folder / "old.csv", *named, "--favourable", "maybe"),
        lambda: report_on(folder, "--out", out, "--favourable", "maybe"),
        lambda: run("audit", predicted, *judged[:-1], "maybe"),
    ):
        result = command()
        assert result.exit_code == 2 and "favourable" in result.output and "'a yes'" in result.output, result.output


@pytest.mark.no_cover
def test_train_warns_of_a_model_that_gained_nothing(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(4000, 3)), columns=list("abc"))
    table["late"] = np.where(table["a"] + rng.normal(size=4000) > 1.5, "yes", "no")
    table["sex"] = rng.choice(["f", "m"], 4000)
    table.to_csv(tmp_path / "cards.csv", index=False)
    named = ["--target", "late", "--positive", "yes", "--sensitive", "sex", "--rounds", 20, "--holdout", 0.5]
    result = run("train", tmp_path / "cards.csv", *named, "--model", tmp_path / "m.json")
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert "Warning: No gain in fairness over plain boosting is established. Between" in told
    result = run("train", tmp_path / "cards.csv", *named, "--model", tmp_path / "m.json", "--notion", "none")
    assert result.exit_code == 0 and "No gain" not in result.output


@pytest.mark.parametrize("limit", [0.0, 1.9])
def test_a_limit_decides_how_report_and_train_end(folder, tmp_path, limit):
    old = ["--target", "hired", "--positive", "a yes", "--sensitive", "group", "--rounds", 5, "--notion", "none"]
    for command in (
        lambda: report_on(folder, "--fail-above", limit),
        lambda: run(
            "train",
            folder / "old.csv",
            *old,
            "--model",
            tmp_path / "m.json",
            "--fail-above",
            limit,
            "--report",
            tmp_path / "report.json",
        ),
    ):
        result = command()
        path = folder / "report.json" if not (tmp_path / "report.json").exists() else tmp_path / "report.json"
        page = json.loads(path.read_text(encoding="utf8"))
        measure = next(row for row in page["audit"]["measures"] if row["measure"] == "disparate_mistreatment")
        fails = measure["lower"] > limit
        assert result.exit_code == int(fails), result.output
        assert ("disparate_mistreatment of group is" in result.output) == fails
        assert ("does not pass" in page["summary"]["strip"][1]["remark"]) == fails
        assert page["limit"] == {"value": limit, "measures": ["disparate_mistreatment"]}


def test_train_with_a_limit_needs_rows_to_measure_on(folder, tmp_path):
    named = ["--target", "hired", "--positive", "a yes", "--sensitive", "group", "--model", tmp_path / "m.json"]
    result = run("train", folder / "old.csv", *named, "--fail-above", 0.1, "--holdout", 0)
    assert result.exit_code == 2
    assert "--fail-above needs rows that the model was not trained on" in result.output
    assert not (tmp_path / "m.json").exists()


def test_the_guard_of_an_audit_and_its_report_agree(folder, tmp_path):
    table = pd.DataFrame({
        "y": [1, 1, 0, 0] * 100, "p": [1, 1, 0, 0, 1, 0, 0, 0] * 50, "group": (["a"] * 4 + ["b"] * 4) * 50,
    })  # fmt: skip
    table.to_csv(tmp_path / "log.csv", index=False)
    named = ["--target", "y", "--prediction", "p", "--sensitive", "group", "--report", tmp_path / "audit.json"]
    for more, code, words in (
        (["--fail-above", 0.1], 1, "does not pass"),
        (["--fail-above", 0.1, "--measure", "predictive_equality"], 0, "passes"),
    ):
        result = run("audit", tmp_path / "log.csv", *named, "--title", "March", *more)
        assert result.exit_code == code, result.output
        page = json.loads((tmp_path / "audit.json").read_text(encoding="utf8"))
        assert words in page["summary"]["strip"][1]["remark"]
        assert page["title"] == "March"


def test_what_is_wrong_is_one_sentence(folder, tmp_path):
    (tmp_path / "bad.toml").write_text("porpose = 'x'", encoding="utf8")
    (tmp_path / "worse.toml").write_text("no toml", encoding="utf8")
    new = pd.read_csv(folder / "new.csv")
    new.assign(hired=new["hired"].where(new.index != 4, "maybe")).to_csv(tmp_path / "odd.csv", index=False)
    new.head(0).to_csv(tmp_path / "empty.csv", index=False)
    for more, words in (
        (["--about", tmp_path / "bad.toml"], "has the field 'porpose'; known are purpose, owner"),
        (["--about", tmp_path / "worse.toml"], "must be a TOML file"),
        (["--about", tmp_path / "none.toml"], "none.toml"),
        (["--out", tmp_path / "report.pdf"], "--out must end in .html, .md or .json"),
        (["--person", 601], "--person must be the number of a row"),
        (["--fail-above", -1], "--fail-above must be a difference such as 0.1, got -1"),
    ):
        result = report_on(folder, *more)
        assert result.exit_code == 2 and words in result.output, result.output
    result = report_on(folder, target="job")
    assert result.exit_code == 2 and "must hold the labels of the model, 'no' and 'a yes', got 'cook'" in result.output
    for name, words in (("odd.csv", "got 'maybe' in row 5"), ("empty.csv", "has no rows")):
        result = run("report", folder / "model.json", tmp_path / name, "--target", "hired", "--sensitive", "group")
        assert result.exit_code == 2 and words in result.output, result.output
    result = run("report", folder / "new.csv", folder / "new.csv", "--target", "hired", "--sensitive", "group")
    assert result.exit_code == 2 and "report takes a model file first" in result.output


def test_warnings_speak_of_the_labels_of_the_file_and_of_options():
    message = (
        "the model predicts '1' for everyone. Groups: '1' (2 of class '0'). Tried, keep=0.5, threshold='auto' gives"
    )
    assert with_labels(message, np.array(["no", "yes"])) == (
        "the model predicts 'yes' for everyone. Groups: '1' (2 of class 'no'). Tried, keep=0.5, threshold='auto' gives"
    )
    assert as_options(message).endswith("Tried, --keep 0.5, --threshold auto gives")


def test_train_warns_in_the_words_of_the_file(tmp_path):
    X, y, group = make_people(300)
    table = X.assign(group=np.where(np.arange(300) < 12, "few", group), hired=np.where(y == 1, "a yes", "no"))
    table.to_csv(tmp_path / "few.csv", index=False)
    named = ["--target", "hired", "--positive", "a yes", "--sensitive", "group", "--rounds", 5]
    result = run("train", tmp_path / "few.csv", *named, "--model", tmp_path / "m.json")
    assert result.exit_code == 0, result.output
    assert "of class 'a yes')" in result.output and "class '1'" not in result.output
    assert any("of class 'a yes')" in message for message in parityboost.load(tmp_path / "m.json").warnings_)


def test_explain_says_that_an_average_is_one(folder, tmp_path):
    named = ["--target", "hired", "--positive", "a yes", "--sensitive", "group", "--rounds", 5]
    result = run("train", folder / "old.csv", *named, "--method", "parityboost", "--model", tmp_path / "m.json")
    assert result.exit_code == 0, result.output
    told = run("explain", tmp_path / "m.json").output
    assert "the mean of 8 trainings, " in told and "θ" not in told.splitlines()[0]


def test_a_model_that_went_into_a_pipe_has_no_checksum(folder, tmp_path):
    """To read a pipe for one would wait for ever."""
    pipe = tmp_path / "model.json"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: (tmp_path / "copy.json").write_bytes(pipe.read_bytes()), daemon=True)
    reader.start()
    named = ["--target", "hired", "--positive", "a yes", "--sensitive", "group", "--rounds", 3]
    result = run("train", folder / "old.csv", *named, "--model", pipe, "--report", tmp_path / "report.json")
    reader.join(10)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf8"))["card"]["file"] is None
    assert parityboost.load(tmp_path / "copy.json").positive_ == "a yes"


def test_the_explorer_of_a_saved_model_is_that_of_python(folder, tmp_path):
    out = tmp_path / "explorer.html"
    given = folder / "model.json", folder / "new.csv", "--target", "hired", "--sensitive", "group", "--out", out
    result = run("explore", *given, "--against", folder / "other.json", "--who", "who were hired", "--title", "Mine")
    assert result.exit_code == 0, result.output
    assert result.output == f"600 rows. Explorer: {out}\n"
    new = pd.read_csv(folder / "new.csv")
    X = new.drop(columns=["group", "hired"])
    model, other = (parityboost.load(folder / f"{name}.json") for name in ("model", "other"))
    options = {"others": {"other": other}, "who": "who were hired", "title": "Mine"}
    model.explore(X, new["hired"], sensitive_features=new["group"], **options).save(tmp_path / "same.html")
    assert out.read_text(encoding="utf8") == (tmp_path / "same.html").read_text(encoding="utf8")


def test_the_explorer_of_an_audit_moves_along_its_scores(folder, tmp_path):
    new = pd.read_csv(folder / "new.csv")
    new["score"] = np.linspace(0, 1, len(new))
    new["said"] = np.where(new["score"] > 0.5, "a yes", "no")
    new.to_csv(tmp_path / "scored.csv", index=False)
    out = tmp_path / "explorer.html"
    named = ["--target", "hired", "--prediction", "said", "--sensitive", "group", "--positive", "a yes"]
    result = run("audit", tmp_path / "scored.csv", *named, "--scores", "score", "--explorer", out)
    assert result.exit_code == 0, result.output
    page = out.read_text(encoding="utf8")
    assert "whose hired is" in page and '"cuts":[0.99' in page and "0.5," in page
    result = run("audit", tmp_path / "scored.csv", *named, "--explorer", out)
    assert result.exit_code != 0 and "--explorer needs --scores" in result.output
