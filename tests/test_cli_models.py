"""train, predict, audit and explain on the command line do what the library does."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import parityboost
from parityboost import AdaFairClassifier, cli
from parityboost.audit import audit
from parityboost.datasets import load_adult, read_table
from parityboost.explain import contributions


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Adult as files: to train on, and to predict."""
    folder = tmp_path_factory.mktemp("adult")
    adult = load_adult()
    table = adult.data.assign(income=np.array(adult.target_names)[adult.target], id=range(len(adult.data)))
    table.iloc[:20_000].to_csv(folder / "train.csv", index=False)
    table.iloc[20_000:25_000].to_csv(folder / "new.csv", index=False)
    table.iloc[20_000:25_000].to_csv(folder / "new.tsv", index=False, sep="\t")
    table.iloc[20_000:25_000].to_parquet(folder / "new.parquet", index=False)
    options = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--drop", "id", "--rounds", 40]
    result = run("train", folder / "train.csv", *options, "--model", folder / "model.json")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def model(folder):
    """The same model, trained in Python."""
    table = read_table(folder / "train.csv", target="income", positive=">50K", sensitive="sex", drop="id")
    model = AdaFairClassifier(n_estimators=40, random_state=0)
    return model.fit(table.data, table.target, sensitive_features=table.sensitive)


def test_train_predict_audit_equals_the_same_in_python(folder, model):
    result = run("predict", folder / "model.json", folder / "new.csv", "--out", folder / "predicted.csv")
    assert result.exit_code == 0, result.output
    new = read_table(folder / "new.csv", target="income", positive=">50K", sensitive="sex", drop="id")
    predicted = pd.read_csv(folder / "predicted.csv")
    np.testing.assert_array_equal(predicted["prediction"], np.array(new.target_names)[model.predict(new.data)])
    np.testing.assert_allclose(
        predicted["probability"], model.predict_proba(new.data)[:, 1], rtol=1e-12
    )  # pandas 2 reads decimals less exactly
    original = (folder / "new.csv").read_text().splitlines()
    written = (folder / "predicted.csv").read_text().splitlines()
    assert all(line.startswith(start + ",") for start, line in zip(original, written, strict=True))  # as it was
    report = folder / "audit.txt"
    options = ["--target", "income", "--prediction", "prediction", "--sensitive", "sex", "--scores", "probability"]
    result = run("audit", folder / "predicted.csv", *options)
    assert result.exit_code == 0, result.output
    expected = audit(
        np.array(new.target_names)[new.target],
        np.array(new.target_names)[model.predict(new.data)],
        sensitive_features=pd.DataFrame(new.sensitive).astype(str),
        scores=predicted["probability"],
    )
    assert result.output.strip() == str(expected).strip()
    assert not report.exists()


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_every_format_gives_the_same_predictions(folder, kind):
    run("predict", folder / "model.json", folder / "new.csv", "--out", folder / "a.csv")
    result = run("predict", folder / "model.json", folder / f"new.{kind}", "--out", folder / f"b.{kind}")
    assert result.exit_code == 0, result.output
    other = pd.read_parquet(folder / "b.parquet") if kind == "parquet" else pd.read_csv(folder / "b.tsv", sep="\t")
    plain = pd.read_csv(folder / "a.csv")
    np.testing.assert_array_equal(plain["prediction"], other["prediction"].astype(str))
    np.testing.assert_allclose(
        plain["probability"], other["probability"], rtol=1e-12
    )  # pandas 2 reads decimals less exactly


def test_pieces_do_not_matter(folder, monkeypatch):
    run("predict", folder / "model.json", folder / "new.csv", "--out", folder / "whole.csv")
    monkeypatch.setattr("parityboost._cli._tables.CHUNK_ROWS", 777)
    for kind in ("csv", "parquet"):
        result = run("predict", folder / "model.json", folder / f"new.{kind}", "--out", folder / f"pieces.{kind}")
        assert result.exit_code == 0, result.output
    assert (folder / "whole.csv").read_bytes() == (folder / "pieces.csv").read_bytes()
    whole, pieces = pd.read_csv(folder / "whole.csv"), pd.read_parquet(folder / "pieces.parquet")
    np.testing.assert_array_equal(whole["prediction"], pieces["prediction"].astype(str))


def test_missing_values_unseen_categories_booleans_and_quotes_survive(tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "name, with comma": rng.choice(["a b", 'say "hi"', "ü", None], n),
            "flag": rng.choice([True, False], n),
            "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "group": rng.choice(["x", "y"], n),
        }
    )
    table["label"] = np.where(table["number"].fillna(0) + table["flag"] + rng.normal(size=n) > 0.5, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "label", "--positive", "no", "--sensitive", "group", "--rounds", 20]
    assert run("train", tmp_path / "t.csv", *options, "--model", tmp_path / "m.json").exit_code == 0
    read = read_table(tmp_path / "t.csv", target="label", positive="no", sensitive="group")
    model = AdaFairClassifier(n_estimators=20, random_state=0).fit(
        read.data, read.target, sensitive_features=read.sensitive
    )
    new = table.copy()
    new.loc[:5, "name, with comma"] = "never seen"
    new.drop(columns="label").to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", tmp_path / "m.json", tmp_path / "new.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    X = read.data.copy()
    X["name, with comma"] = X["name, with comma"].astype(object)
    X.loc[:5, "name, with comma"] = "never seen"
    X["name, with comma"] = X["name, with comma"].astype("category")
    expected = np.array(["yes", "no"])[model.predict(X)]
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "p.csv")["prediction"], expected)


def test_a_threshold_per_group_outside_x_asks_for_the_group(folder):
    options = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--drop", "id", "--rounds", 20]
    options += ["--exclude-sensitive", "--threshold", "per_group", "--model", folder / "groups.json"]
    assert run("train", folder / "train.csv", *options).exit_code == 0
    result = run("predict", folder / "groups.json", folder / "new.csv", "--out", folder / "g.csv")
    assert result.exit_code == 2
    assert "--sensitive" in result.output
    result = run("predict", folder / "groups.json", folder / "new.csv", "--out", folder / "g.csv", "--sensitive", "sex")
    assert result.exit_code == 0, result.output
    new = pd.read_csv(folder / "new.csv")
    loaded = parityboost.load(folder / "groups.json")
    X = new[list(loaded.feature_names_in_)]
    expected = loaded.predict(X, sensitive_features=new["sex"])
    np.testing.assert_array_equal(pd.read_csv(folder / "g.csv")["prediction"], expected)


def test_held_out_rows_are_audited(folder):
    options = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--drop", "id", "--rounds", 10]
    result = run("train", folder / "train.csv", *options, "--holdout", 0.25, "--model", folder / "h.json")
    assert result.exit_code == 0, result.output
    assert "15,000 rows" in result.output
    assert "On 5,000 rows that were held out" in result.output


def test_fail_above_guards_a_pipeline(folder):
    run("predict", folder / "model.json", folder / "new.csv", "--out", folder / "guard.csv")
    options = ["--target", "income", "--prediction", "prediction", "--sensitive", "sex"]
    result = run("audit", folder / "guard.csv", *options, "--fail-above", 0.05)
    assert result.exit_code == 1
    assert "statistical_parity of sex is" in result.output
    assert run("audit", folder / "guard.csv", *options, "--fail-above", 0.9).exit_code == 0
    one = run("audit", folder / "guard.csv", *options, "--fail-above", 0.05, "--measure", "equal_opportunity")
    assert one.exit_code == 0, one.output


def test_explain_adds_up(folder, model):
    new = read_table(folder / "new.csv", target="income", positive=">50K", sensitive="sex", drop="id")
    parts = contributions(model, new.data.iloc[[6]]).iloc[0]
    result = run("explain", folder / "model.json", "--data", folder / "new.csv", "--row", 7, "--top", 3)
    assert result.exit_code == 0, result.output
    lines = {line[:44].split(" = ")[0].strip(): line[44:].strip() for line in result.output.splitlines()}
    assert float(lines["score"]) == pytest.approx(parts.sum(), abs=1e-4)
    largest = parts.drop("constant").abs().idxmax()
    assert float(lines[largest]) == pytest.approx(parts[largest], abs=1e-4)
    numbers = [float(v) for k, v in lines.items() if k != "score" and v.startswith(("+", "-"))]
    assert sum(numbers) == pytest.approx(parts.sum(), abs=1e-3)
    whole = run("explain", folder / "model.json")
    assert all(name in whole.output for name in ("capital-gain", "alpha_share", "θ ="))
    assert "missing" in run("explain", folder / "model.json", "--feature", "age").output
    assert run("explain", folder / "model.json", "--row", json.dumps({"age": 30})).exit_code == 0


def bad_calls(folder):
    model, new, train = folder / "model.json", folder / "new.csv", folder / "train.csv"
    (folder / "half.json").write_text(model.read_text()[:500])
    pd.read_csv(new).drop(columns="age").to_csv(folder / "lacks.csv", index=False)
    wrong = pd.read_csv(new)
    wrong["age"] = wrong["age"].astype(object)
    wrong.loc[3, "age"] = "old"
    wrong.to_csv(folder / "wrong.csv", index=False)
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text(new.read_text().splitlines()[0] + "\n")
    data = ["--target", "income", "--positive", ">50K", "--sensitive", "sex"]
    judged = ["--target", "income", "--prediction", "income", "--sensitive", "sex"]
    return [
        (["train", folder / "no.csv", *data], "existing file"),
        (["train", folder / "empty.csv", *data], "empty"),
        (["train", train, "--target", "wage", *data[2:]], "'wage'"),
        (["train", train, "--target", "income", "--positive", "rich", "--sensitive", "sex"], "'rich'"),
        (["train", train, *data, "--notion", "justice"], "justice"),
        (["train", train, *data, "--threshold", "high"], "--threshold must be a number"),
        (["predict", model, folder / "lacks.csv", "--out", folder / "x.csv"], "lacks 'age'"),
        (["predict", model, folder / "wrong.csv", "--out", folder / "x.csv"], "'age' held numbers in training"),
        (["predict", model, folder / "header.csv", "--out", folder / "x.csv"], "has no rows"),
        (["predict", model, new, "--out", folder / "x.xlsx"], ".xlsx"),
        (["predict", model, new, "--out", new], "another file"),
        (["predict", folder / "half.json", new, "--out", folder / "x.csv"], "half.json"),
        (["audit", new, "--target", "income", "--prediction", "guess", "--sensitive", "sex"], "'guess'"),
        (["audit", new, *judged, "--fail-above", 0.1, "--measure", "luck"], "unknown measure 'luck'"),
        (["explain", model, "--row", 3], "--row must be a number together with --data"),
        (["explain", model, "--row", 9999, "--data", new], "no row 9999"),
        (["explain", model, "--feature", "height"], "height"),
    ]  # fmt: skip


def test_bad_input_is_one_clear_sentence(folder):
    for arguments, message in bad_calls(folder):
        result = run(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert message in result.output, result.output
        assert len(result.output.strip().splitlines()) == 1, result.output
        assert result.output.startswith("Error: ")
    assert not list(folder.glob(".*.tmp"))
    assert not (folder / "x.csv").exists()


MEMORY = """
import resource, sys
from typer.testing import CliRunner
from parityboost import cli
result = CliRunner().invoke(cli.app, ["predict", *sys.argv[1:3], "--out", sys.argv[3]])
assert result.exit_code == 0, result.output
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="getrusage is of Unix")
def test_two_million_rows_are_predicted_in_constant_memory(tmp_path):
    rng = np.random.default_rng(0)
    n = 200_000
    table = pd.DataFrame(
        {"a": rng.integers(0, 100, n), "b": rng.choice(["x", "y", "z"], n), "g": rng.choice(["f", "m"], n)}
    )
    table["y"] = (table["a"] + rng.normal(0, 20, n) > 60).astype(int)
    table.to_csv(tmp_path / "small.csv", index=False)
    body = (tmp_path / "small.csv").read_text().split("\n", 1)
    with (tmp_path / "large.csv").open("w") as file:
        file.write(body[0] + "\n")
        for _ in range(10):
            file.write(body[1])
    train = ["--target", "y", "--positive", "1", "--sensitive", "g", "--rounds", 20, "--model", tmp_path / "m.json"]
    assert run("train", tmp_path / "small.csv", *train).exit_code == 0
    peak = {}
    for name in ("small", "large"):
        command = [sys.executable, "-c", MEMORY, tmp_path / "m.json", tmp_path / f"{name}.csv", tmp_path / "out.csv"]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        peak[name] = int(result.stdout) / 1024
    with (tmp_path / "out.csv").open() as file:
        assert sum(1 for _ in file) == 2_000_001
    assert peak["large"] < peak["small"] + 60  # MiB; the table itself takes more than 200


def test_reports_are_written_for_a_model_and_for_an_audit(folder):
    pytest.importorskip("plotly")
    options = ["--target", "income", "--positive", "<=50K", "--sensitive", "sex", "--drop", "id", "--rounds", 10]
    saved = ["--model", folder / "reported.json", "--report", folder / "model.html"]
    result = run("train", folder / "train.csv", *options, *saved)
    assert result.exit_code == 0, result.output
    assert "On 6,000 rows that were held out" in result.output
    page = (folder / "model.html").read_text(encoding="utf8")
    assert "AdaBoost" in page
    judged = ["--target", "income", "--prediction", "prediction", "--sensitive", "sex", "race"]
    run("predict", folder / "reported.json", folder / "new.csv", "--out", folder / "reported.csv")
    result = run("audit", folder / "reported.csv", *judged, "--positive", "<=50K", "--report", folder / "audit.json")
    assert result.exit_code == 0, result.output
    report = json.loads((folder / "audit.json").read_text(encoding="utf8"))
    table = pd.read_csv(folder / "reported.csv")
    expected = audit(
        table["income"], table["prediction"], sensitive_features=table[["sex", "race"]], positive_label="<=50K"
    )
    assert report["audit"] == expected.to_dict()
