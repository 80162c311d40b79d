"""``train --confidence`` and ``audit --certificate``, and where the certificate is shown."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from conftest import make_people
from parityboost import load, report
from parityboost.cli import app

ROLES = ["--target", "y", "--sensitive", "group"]
OPTIONS = ["--notion", "equal_opportunity", "--rounds", "10", "--confidence", "0.9"]


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("promise")
    X, y, s = make_people(6000)
    table = X.drop(columns="member").assign(group=s, y=y)
    table[:4000].to_csv(folder / "train.csv", index=False)
    table[4000:].to_csv(folder / "new.csv", index=False)
    done = invoke(
        "train", folder / "train.csv", *ROLES, "--positive", 1, *OPTIONS, "--limit", 0.3, "--model", folder / "m"
    )
    assert done.exit_code == 0, done.output
    done = invoke("predict", folder / "m", folder / "new.csv", "--out", folder / "decided.csv")
    assert done.exit_code == 0, done.output
    return folder


def test_a_saved_model_has_its_certificate_and_new_decisions_are_judged_by_it(trained):
    assert load(trained / "m").glass_box_.certificate.limit == 0.3
    judged = "audit", trained / "decided.csv", *ROLES, "--prediction", "prediction", "--certificate", trained / "m"
    done = invoke(*judged)
    assert done.exit_code == 0, done.output
    assert (
        "- Certificate: equal opportunity: the largest gap is at most 0.3, with 90 % confidence. 2,000 new"
        in done.output
    )
    unfair = pd.read_csv(trained / "decided.csv")
    unfair["prediction"] = (unfair["group"] == "a").astype(int)
    unfair.to_csv(trained / "unfair.csv", index=False)
    done = invoke("audit", trained / "unfair.csv", *judged[2:])
    assert done.exit_code == 1
    assert "The largest gap is 1.000" in done.output
    assert "It is broken, beyond what chance can explain" in done.output
    done = invoke(*judged[:-1], trained / "new.csv")
    assert done.exit_code not in (0, 1)


def test_what_the_rows_cannot_support_is_an_error_that_says_so(trained):
    done = invoke(
        "train", trained / "train.csv", *ROLES, "--positive", 1, *OPTIONS, "--limit", 0.005, "--model", trained / "n"
    )
    assert done.exit_code != 0
    assert "the smallest limit that could be promised is" in " ".join(done.output.split())
    assert not (trained / "n").exists()
    done = invoke("train", trained / "train.csv", *ROLES, "--positive", 1, *OPTIONS, "--model", trained / "n")
    assert "promises a limit" in " ".join(done.output.split())


@pytest.mark.no_cover
def test_choosing_again_promises_again(trained):
    done = invoke("choose", trained / "m", "--out", trained / "other", "--limit", 0.28)
    assert done.exit_code == 0, done.output
    certificate = load(trained / "other").glass_box_.certificate
    assert (certificate.limit, certificate.confidence) == (0.28, 0.9)
    done = invoke("choose", trained / "m", "--out", trained / "other", "--without", "confidence")
    assert done.exit_code == 0, done.output
    assert load(trained / "other").glass_box_.certificate is None


def test_card_page_and_explorer_show_the_certificate(trained):
    model, table = load(trained / "m"), pd.read_csv(trained / "new.csv")
    X, y = table.drop(columns="y"), table["y"]
    found = report.build(model, X, y, sensitive_features=table["group"], created="2026-01-02 03:04 UTC")
    certificate = found["certificate"]
    assert certificate["Promise"] == "equal opportunity: the largest gap is at most 0.3"
    assert certificate["Model"] == f"SHA-256 {model.glass_box_.certificate.model}"
    card = report.to_markdown(found)
    assert "## Certificate\n\n- Promise: equal opportunity" in card
    assert "- Read on: 2026-01-02 03:04 UTC" in card
    page = report.to_html(found)
    first_screen = page[: page.index('<section id="groups">')]
    assert "at most 10 % of all samples lead to a certificate that is broken" in first_screen
    assert json.loads(report.to_json(found))["certificate"] == certificate
    explorer = model.explore(X, y, sensitive_features=table["group"])
    assert explorer.record["certificate"] == certificate
    explorer.save(trained / "explorer.html")
    assert certificate["Promise"] in (trained / "explorer.html").read_text()
    plain = model.choose(confidence=None)
    assert report.build(plain, X, y, sensitive_features=table["group"])["certificate"] is None
