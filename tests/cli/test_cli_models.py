"""train, predict, audit and explain on the command line do what the library does."""

import bz2
import gzip
import json
import lzma
import subprocess
import sys
import timeit
from time import process_time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import parityboost
from parityboost import AdaFairClassifier, ParityBoostClassifier, cli
from parityboost._cli._running import as_options
from parityboost.audit import audit, local_law_144
from parityboost.datasets import load_adult, read_table
from parityboost.explain import contributions, reasons


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
    model = ParityBoostClassifier(n_estimators=40, random_state=0)
    return model.fit(table.data, table.target, sensitive_features=table.sensitive)


@pytest.mark.no_cover
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


@pytest.mark.no_cover
def test_the_recommended_model_can_be_trained(folder):
    options = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--rounds", "10", "--holdout", "0.3"]
    path = folder / "recommended.json"
    result = run("train", folder / "new.csv", *options, "--method", "parityboost", "--model", path)
    assert result.exit_code == 0, result.output
    assert "the mean of 8 trainings" in result.output and "ParityBoost  AdaBoost" in result.output
    model = parityboost.load(path)
    assert type(model).__name__ == "ParityBoostClassifier"
    assert (model.threshold, model.class_weight, model.keep) == ("auto", "auto", 0.5)
    result = run("train", folder / "new.csv", *options, "--method", "best")
    assert result.exit_code == 2 and "--method must be one of parityboost, adafair, got 'best'" in result.output


@pytest.mark.no_cover
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


@pytest.mark.no_cover
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
    options = ["--target", "label", "--positive", "no", "--sensitive", "group", "--rounds", 20, "--method", "adafair"]
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


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small table, trained on as a file: a model on x and the text k, groups in g."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(2),
            "k": rng.choice(["a,b", "c"], n),
            "flag": rng.choice([True, False], n),
            "g": rng.integers(0, 2, n),
            "h": rng.choice([True, False], n),
        }
    )
    table["y"] = np.where(table["x"] + 0.5 * table["g"] + table["flag"] + rng.normal(size=n) > 0.8, "yes", "no")
    table.to_csv(folder / "t.csv", index=False)
    assert run(*train_small(folder, "m.json", "g", "--exclude-sensitive", "--drop", "h")).exit_code == 0
    return folder


def train_small(folder, model, *more):
    options = ["--target", "y", "--positive", "yes", "--rounds", 10, "--model", folder / model]
    return ["train", folder / "t.csv", *options, "--sensitive", *more]


def test_rows_with_more_fields_than_the_header_are_refused(small):
    for name, rows in {"more.csv": "1,c,True,9\n2,c,False,9\n", "words.csv": "u,1,c,True\nv,2,c,True\n"}.items():
        (small / name).write_text("x,k,flag\n" + rows)
        result = run("predict", small / "m.json", small / name, "--out", small / "p.csv")
        assert result.exit_code == 2, result.output
        assert f"{name} has more fields in its rows than the 3 in its header" in result.output


def test_quoted_fields_after_a_space_stay_whole(small):
    (small / "spaced.csv").write_text('x, k, flag, g\n1.50, "a,b", True, 1\n2, c, False, 0\n')
    (small / "plain.csv").write_text('x,k,flag,g\n1.50,"a,b",True,1\n2,c,False,0\n')
    run(*train_small(small, "spaced.json", "g", "--exclude-sensitive", "--drop", "h", "--threshold", "per_group"))
    for name in ("spaced", "plain"):
        arguments = ["predict", small / "spaced.json", small / f"{name}.csv", "--sensitive", "g"]
        result = run(*arguments, "--out", small / f"{name}-out.csv", "--sep", ", ")
        assert result.exit_code == 0, result.output
    written = (small / "spaced-out.csv").read_text()
    assert written == (small / "plain-out.csv").read_text()
    assert written.splitlines()[1].startswith('1.50,"a,b",True,1,')


@pytest.mark.parametrize("suffix, unpack", [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_output_is_packed_as_its_name_says(small, monkeypatch, suffix, unpack):
    monkeypatch.setattr("parityboost._cli._tables.CHUNK_ROWS", 100)
    run("predict", small / "m.json", small / "t.csv", "--out", small / "p.csv")
    packed = small / f"p.csv{suffix}"
    result = run("predict", small / "m.json", small / "t.csv", "--out", packed)
    assert result.exit_code == 0, result.output
    assert unpack.decompress(packed.read_bytes()) == (small / "p.csv").read_bytes()


def test_zip_is_refused_as_output(small):
    result = run("predict", small / "m.json", small / "t.csv", "--out", small / "p.csv.zip")
    assert result.exit_code == 2
    assert ".zip file cannot be written" in result.output


def test_an_older_output_with_semicolons_is_replaced_with_commas(small):
    run("predict", small / "m.json", small / "t.csv", "--out", small / "p.csv")
    (small / "old.csv").write_text("a;b\n1;2\n")
    run("predict", small / "m.json", small / "t.csv", "--out", small / "old.csv")
    assert (small / "old.csv").read_text() == (small / "p.csv").read_text()


@pytest.mark.no_cover
@pytest.mark.parametrize("groups", [["g"], ["h"], ["g", "h"]])
def test_groups_that_are_no_text_are_found_in_every_format(small, groups):
    other = [name for name in ("g", "h") if name not in groups]
    drop = ["--drop", *other] if other else []
    result = run(*train_small(small, "pg.json", *groups, "--exclude-sensitive", *drop, "--threshold", "per_group"))
    assert result.exit_code == 0, result.output
    table = pd.read_csv(small / "t.csv")
    table.to_parquet(small / "t.parquet", index=False)
    model = parityboost.load(small / "pg.json")
    X = table[list(model.feature_names_in_)].astype({"k": "category", "flag": "category"})
    expected = model.predict(X, sensitive_features=table[groups])
    for kind in ("csv", "parquet"):
        arguments = ["predict", small / "pg.json", small / f"t.{kind}", "--sensitive", *groups]
        result = run(*arguments, "--out", small / "pg.csv")
        assert result.exit_code == 0, result.output
        np.testing.assert_array_equal(pd.read_csv(small / "pg.csv")["prediction"], expected)


def test_a_group_that_is_missing_or_new_is_called_so(small):
    run(*train_small(small, "pg2.json", "g", "--exclude-sensitive", "--drop", "h", "--threshold", "per_group"))
    for value, message in {
        "": "'g' is missing in 1 of 2 rows",
        "7": "group '7' does not occur",
        "u": "group 'u'",
    }.items():
        (small / "new.csv").write_text(f"x,k,flag,g\n1,c,True,{value}\n2,c,False,0\n")
        result = run("predict", small / "pg2.json", small / "new.csv", "--sensitive", "g", "--out", small / "p.csv")
        assert result.exit_code == 2
        assert message in result.output
    result = run("predict", small / "pg2.json", small / "t.csv", "--sensitive", "g", "h", "--out", small / "p.csv")
    assert "made of 1 columns, --sensitive names 'g', 'h'" in result.output


def test_large_numbers_of_a_parquet_file_are_as_they_were_also_if_one_is_missing(small):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pd.read_csv(small / "t.csv")
    large = (2**53 + table["g"]).astype("Int64")
    large.iloc[::10] = pd.NA
    written = pa.Table.from_pandas(table.assign(g=large)).replace_schema_metadata()  # pandas's notes would help it
    parquet.write_table(written, small / "large.parquet")
    asked = [*train_small(small, "large.json", "g"), "--missing-group", "unknown"]
    asked[1] = small / "large.parquet"
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert parityboost.load(small / "large.json").groups_.tolist() == [2**53, 2**53 + 1, "unknown"]
    for kind in ("parquet", "csv"):
        out = small / f"large-out.{kind}"
        result = run("predict", small / "m.json", small / "large.parquet", "--out", out)
        assert result.exit_code == 0, result.output
        types = {"dtype_backend": "numpy_nullable"}
        written = pd.read_parquet(out, **types) if kind == "parquet" else pd.read_csv(out, **types)
        pd.testing.assert_series_equal(written["g"], large)


def test_large_numbers_of_a_text_file_are_as_they_were_also_if_one_is_missing(small):
    table = pd.read_csv(small / "t.csv")
    large = (2**53 + table["g"]).astype("Int64")
    large.iloc[::10] = pd.NA
    table = table.assign(g=large)
    (small / "parts").mkdir()
    for name, part in {"large.csv": table, "parts/a.csv": table[:50], "parts/b.csv": table[50:]}.items():
        part.to_csv(small / name, index=False)
    (small / "large.jsonl").write_text(table.to_json(orient="records", lines=True))
    predicted = []
    for data in ("large.jsonl", "large.csv", "parts"):
        asked = [*train_small(small, "large.json", "g"), "--missing-group", "unknown", "--threshold", "per_group"]
        asked[1] = small / data
        result = run(*asked, "--drop", "g")
        assert result.exit_code == 0, result.output
        assert parityboost.load(small / "large.json").groups_.tolist() == [2**53, 2**53 + 1, "unknown"]
        out = small / "large-out.csv"
        result = run("predict", small / "large.json", small / data, "--sensitive", "g", "--out", out)
        assert result.exit_code == 0, result.output
        predicted.append(pd.read_csv(out)["probability"].tolist())
    assert predicted[0] == predicted[1] == predicted[2]


def test_a_missing_number_in_a_text_file_changes_no_category_of_another_row(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    codes = pd.Series(2**53 + 2 * rng.integers(2, size=200) + y)
    model = AdaFairClassifier(n_estimators=5, categorical_features=["code"], random_state=0)
    model.fit(pd.DataFrame({"code": codes}), y, sensitive_features=rng.integers(2, size=200)).save(tmp_path / "m.json")
    expected = model.predict_proba(pd.DataFrame({"code": codes}))[1:, 1]
    codes.astype("Int64").where(codes.index > 0).to_frame("code").to_csv(tmp_path / "t.csv", index=False)
    result = run("predict", tmp_path / "m.json", tmp_path / "t.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "p.csv")["probability"].tolist()[1:] == expected.tolist()


def test_a_boolean_column_may_be_written_as_1_and_0(small):
    table = pd.read_csv(small / "t.csv")
    assert run(*train_small(small, "flag.json", "g", "--drop", "x", "k", "g", "h")).exit_code == 0
    predicted = {}
    for name, flag in {
        "truth": table["flag"],
        "bits": table["flag"].astype(int),
        "floats": table["flag"] * 1.0,
    }.items():
        table.assign(flag=flag).to_csv(small / f"{name}.csv", index=False)
        table.assign(flag=flag).to_parquet(small / f"{name}.parquet", index=False)
        for kind in ("csv", "parquet"):
            result = run("predict", small / "flag.json", small / f"{name}.{kind}", "--out", small / "flags.csv")
            assert result.exit_code == 0, result.output
            predicted[name, kind] = pd.read_csv(small / "flags.csv")["probability"]
    assert predicted["truth", "csv"].nunique() == 2
    for probability in predicted.values():
        pd.testing.assert_series_equal(probability, predicted["truth", "csv"])
    table.assign(flag="so-so").to_csv(small / "other.csv", index=False)
    result = run("predict", small / "flag.json", small / "other.csv", "--out", small / "flags.csv")
    assert "column 'flag' held categories in training (such as False), got text" in result.output


def test_a_model_with_a_threshold_per_group_outside_x_is_explained(small):
    run(*train_small(small, "pg3.json", "g", "--exclude-sensitive", "--drop", "h", "--threshold", "per_group"))
    result = run("explain", small / "pg3.json")
    assert result.exit_code == 0, result.output
    assert "alpha_share" in result.output
    result = run("explain", small / "pg3.json", "--feature", "k")
    assert result.exit_code == 0, result.output
    assert "a,b" in result.output
    result = run("explain", small / "pg3.json", "--row", 1, "--data", small / "t.csv")
    assert result.exit_code == 2
    assert "not a step function of one feature" in result.output


def test_options_with_several_values_may_come_before_the_files(small):
    options = ["--target", "y", "--positive", "yes", "--drop", "h", "--rounds", 3, "--model", small / "o.json"]
    result = run("train", *options, "--sensitive", "g", small / "t.csv")
    assert result.exit_code == 0, result.output
    result = run("predict", "--out", small / "p.csv", "--sensitive", "g", small / "o.json", small / "t.csv")
    assert result.exit_code == 0, result.output


@pytest.mark.no_cover
@pytest.mark.parametrize("values", [(False, True), (0, 1), (1.0, 2.0), ("no", "yes")])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_keep_their_type_from_training_to_the_audit(tmp_path, values, kind):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200), "g": rng.choice(["f", "m"], 200)})
    table["y"] = np.array(values)[(table["x"] + rng.normal(size=200) > 0).astype(int)]
    path, out = tmp_path / f"t.{kind}", tmp_path / f"p.{kind}"
    write, read = (pd.DataFrame.to_csv, pd.read_csv) if kind == "csv" else (pd.DataFrame.to_parquet, pd.read_parquet)
    write(table, path, index=False)
    for positive in values:
        options = ["--target", "y", "--positive", positive, "--sensitive", "g", "--rounds", 5, "--holdout", 0.2]
        result = run("train", path, *options, "--model", tmp_path / "m.json")
        assert result.exit_code == 0, result.output
        assert f"positive class {positive!r}." in run("explain", tmp_path / "m.json").output
        result = run("predict", tmp_path / "m.json", path, "--out", out)
        assert result.exit_code == 0, result.output
        assert f"predicted {positive!r}: " in result.output
        predicted = read(out)
        assert predicted["prediction"].dtype == predicted["y"].dtype
        accuracy = (predicted["prediction"] == predicted["y"]).mean()
        assert accuracy > 0.6
        model = parityboost.load(tmp_path / "m.json")
        assert model.score(table[["x", "g"]], table["y"]) == pytest.approx(accuracy)
        judged = ["--target", "y", "--prediction", "prediction", "--sensitive", "g", "--positive", positive]
        result = run("audit", out, *judged)
        assert result.exit_code == 0, result.output
        assert f"(label {positive!r})" in result.output


def test_a_guard_that_cannot_judge_does_not_pass(folder, tmp_path):
    run("predict", folder / "model.json", folder / "new.csv", "--out", tmp_path / "p.csv")
    options = ["--target", "income", "--prediction", "prediction", "--sensitive", "sex"]
    for limit in ("nan", "-0.1", "inf"):
        result = run("audit", tmp_path / "p.csv", *options, "--fail-above", limit)
        assert result.exit_code == 2, result.output
        assert f"--fail-above must be a difference such as 0.1, got {limit}" in result.output
    table = pd.read_csv(tmp_path / "p.csv")
    table[(table["sex"] == "Male") | (table["income"] == "<=50K")].to_csv(tmp_path / "p.csv", index=False)
    result = run("audit", tmp_path / "p.csv", *options, "--fail-above", 0.9)
    assert result.exit_code == 1
    assert "equal_opportunity of sex is not defined" in result.output
    assert "statistical_parity of sex is not" not in result.output
    result = run("audit", tmp_path / "p.csv", *options, "--fail-above", 0.9, "--measure", "statistical_parity")
    assert result.exit_code == 0, result.output


def test_columns_of_lists_or_dates_are_named(small):
    table = pd.read_csv(small / "t.csv")
    for name in ("x", "g", "y"):
        table.assign(**{name: [[1, 2]] * len(table)}).to_parquet(small / "lists.parquet", index=False)
        options = ["--target", "y", "--positive", "yes", "--sensitive", "g", "--drop", "h"]
        result = run("train", small / "lists.parquet", *options, "--model", small / "l.json")
        assert result.exit_code == 2, result.output
        assert f"column '{name}'" in result.output
    run(*train_small(small, "flag2.json", "g", "--drop", "x", "k", "g", "h"))
    for odd in ([[1, 2]] * len(table), pd.date_range("2020", periods=len(table))):
        table.assign(flag=odd).to_parquet(small / "lists.parquet", index=False)
        result = run("predict", small / "flag2.json", small / "lists.parquet", "--out", small / "l.csv")
        assert result.exit_code == 2, result.output
        assert result.output.startswith("Error: column 'flag'")


def test_what_would_fail_at_the_end_is_said_at_the_start(small, monkeypatch):
    def too_late(*args, **kwargs):
        raise AssertionError("trained or read first")

    monkeypatch.setattr("parityboost._cli._models.AdaFairClassifier.fit", too_late)
    monkeypatch.setattr("parityboost._cli._models.read_pieces", too_late)
    train, gone = train_small(small, "n.json", "g"), small / "gone"
    predict = ["predict", small / "m.json", small / "t.csv", "--out"]
    judge = ["audit", small / "t.csv", "--target", "y", "--prediction", "y", "--sensitive", "g"]
    pd.read_csv(small / "t.csv").rename(columns={"x": "probability"}).to_csv(small / "named.csv", index=False)
    for arguments, message in [
        ([*train, "--model", gone / "m.json"], "--model: there is no folder"),
        ([*train, "--report", gone / "r.html"], "--report: there is no folder"),
        ([*train, "--jobs", 0], "--jobs must be a number of threads up to 1024, or -1 for one per core, got 0"),
        ([*train, "--jobs", 2000], "--jobs must be a number of threads up to 1024, or -1 for one per core, got 2000"),
        ([*train, "--rounds", 10**6], "could not be saved: it has 1000000 rounds, and a file holds at most 100000"),
        ([*train[:1], small / "named.csv", *train[2:]], "has a column 'probability', which predict adds"),
        ([*predict, gone / "p.csv"], "--out: there is no folder"),
        ([*predict, "."], "--out must be a file, got the folder '.'"),
        ([*judge, "--report", gone / "r.html"], "--report: there is no folder"),
        (["explain", small / "m.json", "--data", small / "t.csv", "--row", "²"], "--row must be the number of a row"),
    ]:  # fmt: skip
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert message in result.output
        assert len(result.output.strip().splitlines()) == 1, result.output


def test_files_that_cannot_be_read_are_named(small):
    text = (small / "t.csv").read_bytes()
    (small / "cut.csv.gz").write_bytes(gzip.compress(text)[:-400])
    (small / "cut.csv.xz").write_bytes(lzma.compress(text)[:-400])
    (small / "bent.csv.gz").write_bytes(gzip.compress(text)[:60] + bytes(400))
    (small / "latin.csv").write_bytes("x,k,flag\n1,é,True\n".encode("latin-1"))
    (small / "nothing.csv").write_text("")
    (small / "ragged.csv").write_text("x,k,flag\n1,c,True\n2,c,True,9\n")
    (small / "no.parquet").write_bytes(b"PAR1 and no more")
    names = ["cut.csv.gz", "cut.csv.xz", "bent.csv.gz", "latin.csv", "nothing.csv", "ragged.csv", "no.parquet"]
    for name in names:
        result = run("predict", small / "m.json", small / name, "--out", small / "q.csv")
        assert result.exit_code == 2, result.output
        assert result.output.startswith(f"Error: {small / name} "), result.output
        assert len(result.output.strip().splitlines()) == 1, result.output
    assert not (small / "q.csv").exists()


@pytest.mark.no_cover
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
    assert all(name in whole.output for name in ("capital-gain", "alpha_share", "the mean of 4 trainings"))
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
        (["predict", model, new, "--out", folder / "x.ods"], ".ods"),
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


@pytest.mark.no_cover
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


@pytest.mark.no_cover
def test_many_columns_are_predicted_in_little_more_than_they_take_to_read_and_write(tmp_path):
    """Twice as long was measured; where pandas writes a few rows at a time it grew with the square of the columns."""
    n = 60
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 4000)).round(2)).rename(columns=str)
    model = AdaFairClassifier("none", n_estimators=1, validation_fraction=None).fit(X, np.arange(n) % 2)
    model.save(tmp_path / "m.json")
    X.to_csv(tmp_path / "x.csv", index=False)

    def copy():
        pd.read_csv(tmp_path / "x.csv", dtype=object).to_csv(tmp_path / "copy.csv", index=False, chunksize=n)

    def predict():
        assert run("predict", tmp_path / "m.json", tmp_path / "x.csv", "--out", tmp_path / "p.csv").exit_code == 0

    theirs, ours = (min(timeit.repeat(do, timer=process_time, repeat=2, number=1)) for do in (copy, predict))
    assert ours < 4 * theirs, (ours, theirs)
    predicted = pd.read_csv(tmp_path / "p.csv")["prediction"]
    np.testing.assert_array_equal(predicted, model.predict(X))


def test_reports_are_written_for_a_model_and_for_an_audit(folder):
    pytest.importorskip("plotly")
    options = ["--target", "income", "--positive", "<=50K", "--sensitive", "sex", "--drop", "id", "--rounds", 10]
    saved = ["--model", folder / "reported.json", "--report", folder / "model.html"]
    result = run("train", folder / "train.csv", *options, *saved)
    assert result.exit_code == 0, result.output
    assert "On 6,000 rows that were held out" in result.output
    page = (folder / "model.html").read_text(encoding="utf8")
    assert "plain boosting" in page
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


def test_train_passes_on_how_to_choose_and_says_what_fit_says(folder, tmp_path):
    options = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--drop", "id", "--rounds", 30]
    limits = ["--threshold", "auto", "--max-violation", 0.01, "--keep", 0.9]
    result = run("train", folder / "train.csv", *options, *limits, "--model", tmp_path / "m.json")
    assert result.exit_code == 0, result.output
    model = parityboost.load(tmp_path / "m.json")
    assert (model.max_violation, model.keep) == (0.01, 0.9)
    assert model.warnings_
    assert all(f"Warning: {as_options(message)}" in result.output for message in model.warnings_)
    assert "that --keep 0.9 allows" in result.output and "keep=" not in result.output


def test_a_model_of_hardly_any_round_and_a_column_of_too_many_categories_are_told(tmp_path):
    rng = np.random.default_rng(0)
    n = 600
    table = pd.DataFrame({"id": [f"p{k}" for k in range(n)], "x": rng.random(n), "g": rng.choice(["a", "b"], n)})
    table["y"] = (table["x"] + 0.1 * (table["g"] == "a") > 0.5).astype(int)
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "y", "--positive", "1", "--sensitive", "g", "--rounds", 30, "--model", tmp_path / "m.json"]
    result = run("train", tmp_path / "t.csv", *options, "--method", "adafair")
    assert result.exit_code == 0, result.output
    theta = int(result.output.split("θ = ")[1].split()[0])
    assert ("hardly a model" in result.output) == (theta <= 2)
    assert "Warning: column 'id' has" in result.output
    assert "drop it if it is an identifier" in result.output


def test_predict_gives_reasons(folder, model):
    options = ["--reasons", 2, "--favourable", ">50K", "--unnamed", "sex", "race"]
    result = run("predict", folder / "model.json", folder / "new.csv", "--out", folder / "why.csv", *options)
    assert result.exit_code == 0, result.output
    assert "Reasons are of rows that do not get '>50K', against the best of each feature." in result.output
    new = read_table(folder / "new.csv", target="income", positive=">50K", sensitive="sex", drop="id")
    found = reasons(model, new.data, 2, favourable=1, unnamed=["sex", "race"]).table
    told = pd.read_csv(folder / "why.csv")
    for k in (1, 2):
        expected = found[found["rank"] == k].set_index("row")["text"]
        assert told[f"reason_{k}"].dropna().to_dict() == expected.to_dict()
    assert (told["reason_1"].isna() == (told["prediction"] == ">50K")).all()


def test_predict_says_which_decision_is_taken_as_favourable(folder):
    result = run("predict", folder / "model.json", folder / "new.csv", "--out", folder / "why.csv", "--reasons", 1)
    assert "'>50K' is the positive label: say with --favourable which one is favourable." in result.output
    for options, message in [
        (["--favourable", ">50K"], "--favourable and --unnamed are about --reasons"),
        (["--reasons", 1, "--unnamed", "age2"], "unnamed: the model has no feature 'age2'"),
        (["--reasons", 1, "--favourable", "x"], "favourable must be a value of target"),
    ]:
        result = run("predict", folder / "model.json", folder / "new.csv", "--out", folder / "x.csv", *options)
        assert result.exit_code == 2 and message in result.output
    result = run("predict", folder / "model.json", folder / "why.csv", "--out", folder / "x.csv", "--reasons", 1)
    assert "already has a column" in result.output


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    """Decisions over three years, in the last of which one group has worse chances."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"day": pd.date_range("2021-01-01", "2023-12-31").repeat(20).strftime("%Y-%m-%d")})
    table["sex"], table["race"] = rng.choice(["F", "M"], len(table)), rng.choice(["A", "B", ""], len(table))
    late = (table["sex"] == "F") & (table["day"] >= "2023-03-01")
    table["score"] = rng.random(len(table)).round(3)
    table["hired"] = np.where(table["score"] < np.where(late, 0.3, 0.5), "yes", "no")
    path = tmp_path_factory.mktemp("decisions") / "decisions.csv"
    table.to_csv(path, index=False)
    return path


def test_audit_without_outcomes(decisions, tmp_path):
    options = ["--prediction", "hired", "--sensitive", "sex", "--favourable", "yes", "--without-outcomes"]
    result = run("audit", decisions, *options)
    table = pd.read_csv(decisions)
    found = audit(None, table["hired"], sensitive_features=table[["sex"]], favourable="yes")
    assert result.exit_code == 0 and result.output.strip() == str(found)
    result = run("audit", decisions, *options, "--fail-above", 0.01, "--report", tmp_path / "found.json")
    assert result.exit_code == 1 and "statistical_parity of sex is" in result.output
    assert json.loads((tmp_path / "found.json").read_text())["settings"] == found.settings
    for name in ("found.md", "found.html"):
        assert run("audit", decisions, *options, "--report", tmp_path / name).exit_code == 0
        assert "selected" in (tmp_path / name).read_text()


def test_audit_after_local_law_144(decisions):
    table = pd.read_csv(decisions)
    given = {"sex": table["sex"], "race": table["race"]}
    options = ["--sensitive", "sex", "race", "--ll144"]
    result = run("audit", decisions, *options, "--prediction", "hired", "--favourable", "yes")
    assert result.output.strip() == str(local_law_144(table["hired"], favourable="yes", **given))
    assert f"{table['race'].isna().sum():,} people of unknown sex or race/ethnicity" in result.output
    result = run("audit", decisions, *options, "--scores", "score", "--unknown", "B")
    assert result.output.strip() == str(local_law_144(scores=table["score"], unknown=["B"], **given))


def test_audit_over_time(decisions, tmp_path):
    options = ["--prediction", "hired", "--sensitive", "sex", "--favourable", "yes", "--by", "day"]
    result = run("audit", decisions, *options, "--chart", tmp_path / "chart.png")
    assert result.exit_code == 1 and "Alarm in 2023-03: sex F: its gap" in result.output
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert run("audit", decisions, *options, "--fail-above", 0.9).exit_code == 0
    result = run("audit", decisions, *options, "--every", "quarter", "--reference", 4)
    assert "Alarm in 2023Q" in result.output and "gaps of the first 4 periods" in result.output.replace("\n  ", " ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prediction", "hired"], "--target is missing"),
        (["--without-outcomes"], "--prediction is missing"),
        (["--without-outcomes", "--prediction", "hired", "--target", "hired"], "looks at no outcomes"),
        (
            ["--prediction", "hired", "--target", "hired", "--every", "week"],
            "--every, --reference and --chart are about",
        ),
        (["--prediction", "hired", "--ll144"], "--ll144 needs two columns, --sensitive SEX RACE"),
        (["--prediction", "hired", "--without-outcomes", "--unknown", "x"], "--unknown is about --ll144"),
        (["--prediction", "hired", "--without-outcomes", "--scores", "score"], "--scores is for audits with outcomes"),
        (["--prediction", "hired", "--by", "score"], "score must hold dates, got numbers"),
        (["--prediction", "hired", "--by", "date"], "'date'"),
        (["--prediction", "hired", "--by", "day", "--weights", "score"], "--weights cannot be used with --by"),
    ],
)
def test_audits_that_make_no_sense_are_refused(decisions, options, message):
    result = run("audit", decisions, "--sensitive", "sex", *options)
    assert result.exit_code == 2 and message in result.output


# Several attributes, unknown groups, blind models


def test_views_unknown_groups_and_people_alike_on_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    n = 1200
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "town": rng.choice(["x", "y", "z"], n)})
    table["skill"] = rng.normal(size=n).round(2) - 0.5 * (table["sex"] == "f")
    table["hired"] = np.where(table["skill"] + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    table.loc[rng.random(n) < 0.2, "town"] = None
    data, model, out = (tmp_path / name for name in ("people.csv", "model.json", "out.csv"))
    table.to_csv(data, index=False)
    given = ["train", data, "--target", "hired", "--positive", "yes", "--sensitive", "sex", "town", "--rounds", 5]
    options = ["--groups", "each", "--missing-group", "ignore", "--blind", "--holdout", 0.3, "--model", model]
    result = run(*given, *options)
    assert result.exit_code == 0, result.output
    assert "town: unknown for" in " ".join(result.output.split())
    fitted = parityboost.load(model)
    assert fitted.views_ == {"sex": ["f", "m"], "town": ["x", "y", "z"]}
    assert fitted.feature_names_in_.tolist() == ["skill"]
    assert run("predict", model, data, "--out", out).exit_code == 0
    audited = ["audit", out, "--target", "hired", "--prediction", "prediction", "--sensitive", "sex"]
    result = run(*audited, "--control", "town")
    assert result.exit_code == 2 and "control_features: 'town' is missing in" in " ".join(result.output.split())
    pd.read_csv(out).dropna().to_csv(out, index=False)
    result = run(*audited, "--control", "town")
    assert result.exit_code == 0 and "people alike in town" in " ".join(result.output.split())
    result = run(*given, "--missing-group", "ignore", "--groups", "all", "--model", model)
    assert result.exit_code == 2 and "'groups'" in result.output
