"""Files as people have them: encodings, separators, decimal signs, kinds, pipes and folders; and what is noticed."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import parityboost
from conftest import make_people
from parityboost import cli
from parityboost._cli._streams import as_files
from parityboost.datasets import read_table

pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")

TRAIN = ["--target", "bezahlt", "--positive", "ja", "--sensitive", "Straße", "--rounds", "15"]
GERMAN = ["--encoding", "latin-1", "--decimal", ","]


def run(*arguments, stdin=None):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions of click keep them apart
        runner = CliRunner()
    return runner.invoke(cli.app, [str(argument) for argument in arguments], input=stdin)


def run_well(*arguments, stdin=None):
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments, stdin=None):
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ") and len(result.stderr.strip().splitlines()) == 1, result.output
    return result.stderr


@pytest.fixture(scope="module")
def people():
    X, y, group = make_people(400)
    return pd.DataFrame(
        {
            "Fähigkeit": X["skill"],
            "Größe": X["years"] + 0.25,
            "Beruf": X["job"].astype(str),
            "Straße": np.where(group == "a", "Bäckerstraße", "Hof"),
            "bezahlt": np.where(y == 1, "ja", "nein"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, people):
    folder = tmp_path_factory.mktemp("files")
    people.to_csv(folder / "clean.csv", index=False)
    people.to_csv(folder / "german.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    run_well("train", folder / "clean.csv", *TRAIN, "--model", folder / "model.json")
    return folder


def without_versions(path):
    """A model file without what does not belong to the model."""
    return [line for line in Path(path).read_text().splitlines() if "sha256" not in line]


def test_a_german_file_through_pipes_gives_the_model_and_predictions_of_the_clean_one(folder):
    german = (folder / "german.csv").read_bytes()
    for options in (GERMAN, [*GERMAN, "--sep", ";"]):
        result = run_well("train", "-", *TRAIN, *options, "--model", "-", stdin=german)
        assert "Model: standard output" in result.stderr
        (folder / "piped.json").write_bytes(result.stdout_bytes)
        assert without_versions(folder / "piped.json") == without_versions(folder / "model.json")
    run_well("predict", folder / "model.json", folder / "clean.csv", "--out", folder / "clean-out.csv")
    clean = pd.read_csv(folder / "clean-out.csv")
    result = run_well("predict", folder / "piped.json", "-", "--out", "-", *GERMAN, stdin=german)
    assert "400 rows" in result.stderr and "standard output" in result.stderr
    written = result.stdout_bytes
    assert written.splitlines()[0].decode("latin-1") == "Fähigkeit;Größe;Beruf;Straße;bezahlt;prediction;probability"
    back = pd.read_csv(io.BytesIO(written), sep=";", decimal=",", encoding="latin-1")
    pd.testing.assert_frame_equal(back, clean)
    model = (folder / "model.json").read_bytes()  # the model may come by the pipe as well
    run_well("predict", "-", folder / "german.csv", "--out", folder / "german-out.csv", *GERMAN, stdin=model)
    again = pd.read_csv(folder / "german-out.csv", sep=",", decimal=",", encoding="latin-1")
    pd.testing.assert_frame_equal(again, clean)
    assert "Fähigkeit" in run_well("explain", "-", stdin=model).stdout


@pytest.mark.slow
def test_the_same_in_a_shell(folder):
    program = f'"{sys.executable}" -m parityboost'
    command = (
        f"cat german.csv | {program} train - {' '.join(TRAIN + GERMAN)} --model - > shell.json && "
        f"cat german.csv | {program} predict shell.json - {' '.join(GERMAN)} --out - | head -n 2"
    )
    result = subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    assert without_versions(folder / "shell.json") == without_versions(folder / "model.json")
    assert len(result.stdout.splitlines()) == 2
    pd.concat([pd.read_csv(folder / "clean.csv")] * 100).to_csv(
        folder / "long.csv", index=False
    )  # more than a pipe holds
    cut = subprocess.run(
        f"{program} predict model.json long.csv --out - | head -n 2",
        shell=True,
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert len(cut.stdout.splitlines()) == 2 and cut.stderr == b""  # no traceback for a reader that has read enough


def write_parts(people, path):
    path.mkdir()
    people.iloc[:150].to_csv(path / "part-0.csv", index=False)
    people.iloc[150:].to_csv(path / "part-1.csv", index=False)
    (path / "_SUCCESS").touch()
    (path / "README.md").touch()
    return path


def write_parquets(people, path):
    path.mkdir()
    people.iloc[:150].to_parquet(path / "a.parquet")
    people.iloc[150:].to_parquet(path / "b.parquet")
    return path


KINDS = {
    "tab.txt": lambda people, path: people.to_csv(path, index=False, sep="\t"),
    "bar.txt": lambda people, path: people.to_csv(path, index=False, sep="|"),
    "semicolon.txt": lambda people, path: people.to_csv(path, index=False, sep=";"),
    "bar.csv": lambda people, path: people.to_csv(path, index=False, sep="|"),
    "lines.jsonl": lambda people, path: people.to_json(path, orient="records", lines=True),
    "lines.jsonl.gz": lambda people, path: people.to_json(path, orient="records", lines=True),
    "book.xlsx": lambda people, path: people.to_excel(path, index=False),
    "parts": write_parts,
    "parquets": write_parquets,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_model_and_predictions(people, folder, tmp_path, kind):
    path = tmp_path / kind
    KINDS[kind](people, path)
    run_well("train", path, *TRAIN, "--model", tmp_path / "model.json")
    assert without_versions(tmp_path / "model.json") == without_versions(folder / "model.json")
    run_well("predict", folder / "model.json", path, "--out", tmp_path / "out.parquet")
    run_well("predict", folder / "model.json", folder / "clean.csv", "--out", tmp_path / "clean.parquet")
    found, expected = pd.read_parquet(tmp_path / "out.parquet"), pd.read_parquet(tmp_path / "clean.parquet")
    assert found["prediction"].tolist() == expected["prediction"].tolist()
    np.testing.assert_array_equal(found["probability"], expected["probability"])
    if path.is_file():
        piped = run_well("predict", folder / "model.json", "-", "--out", "-", stdin=path.read_bytes())
        assert piped.stdout.count("\n") == 401


@pytest.mark.parametrize("name", ["out.txt", "out.jsonl", "out.xlsx", "out.jsonl.gz"])
def test_every_kind_of_file_can_be_written(people, folder, tmp_path, name):
    run_well("predict", folder / "model.json", folder / "clean.csv", "--out", tmp_path / name)
    table = parityboost.datasets._formats.read_file(tmp_path / name)
    assert list(table.columns) == [*people.columns, "prediction", "probability"]
    assert len(table) == 400 and table["probability"].between(0, 1).all()


def test_types_are_told_from_all_files_of_a_folder(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text("g,x,y\na,1,0\nb,2,1\n")
    (folder / "b.csv").write_text("g,x,y\na,A7,1\nb,2,0\n")
    table = read_table(folder, target="y", positive=1, sensitive="g")
    assert table.data["x"].astype(str).tolist() == ["1", "2", "A7", "2"]
    assert set(map(type, table.data["x"].cat.categories)) == {str}


def test_folders_that_are_no_table_are_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no table: files must end in one of" in refused("train", empty, *TRAIN)
    (empty / "a.csv").write_text("g,y\na,1\n")
    (empty / "b.csv").write_text("g,z\na,1\n")
    assert re.search("b.csv has other columns than the first file of its folder", refused("train", empty, *TRAIN))
    (empty / "c.jsonl").write_text("{}\n")
    assert "has tables of several kinds, .csv, .jsonl: use one" in refused("train", empty, *TRAIN)


def test_what_the_options_say_is_checked(folder):
    german = folder / "german.csv"
    for options, message in [
        (["--encoding", "klingon"], "--encoding must be one of Python's, such as latin-1, got 'klingon'"),
        (["--sep", ";;"], "--sep must be one character, such as ';', got ';;'"),
        (["--decimal", "x"], "--decimal must be '.' or ',', got 'x'"),
        (["--sep", ",", "--decimal", ","], "--sep and decimal must differ"),
        ([], "cannot be read as CSV in UTF-8"),
        ([], "give its encoding (--encoding latin-1"),
    ]:
        assert message in refused("train", german, *TRAIN, *options)
    table = run_well("train", folder / "clean.csv", *TRAIN, "--sep", ",", "--model", folder / "same.json")
    assert "400 rows" in table.stdout
    tab = (folder / "clean.csv").read_text().replace(",", "\t")
    run_well("train", "-", *TRAIN, "--sep", "tab", "--model", folder / "tab.json", stdin=tab.encode())
    assert without_versions(folder / "tab.json") == without_versions(folder / "model.json")


def test_decimal_commas_are_noticed_and_named(folder):
    latin = ["--encoding", "latin-1"]
    message = refused("train", folder / "german.csv", *TRAIN, *latin)
    assert re.search(r"column 'Fähigkeit' looks like numbers in another notation, such as '-?\d+,\d+'", message)
    assert "--decimal ," in message
    run_well("train", folder / "german.csv", *TRAIN, *latin, "--decimal", ".", "--model", folder / "text.json")
    message = refused("predict", folder / "model.json", folder / "german.csv", "--out", folder / "x.csv", *latin)
    assert re.search(r"'Fähigkeit' held numbers in training, got '-?\d+,\d+' in row \d+: use --decimal ,", message)
    thousands = b"g;x;y\na;1.234,5;0\nb;2.000,0;1\n"
    message = refused(
        "train", "-", "--target", "y", "--positive", "1", "--sensitive", "g", "--decimal", ",", stdin=thousands
    )
    assert "column 'x' looks like numbers in another notation, such as '1.234,5': remove the dots" in message
    assert "standard input" in message and "stdin.txt" not in message


def test_the_index_that_pandas_writes_is_noticed_and_left_out(people, folder, tmp_path):
    people.to_csv(tmp_path / "indexed.csv")
    result = run_well("train", tmp_path / "indexed.csv", *TRAIN, "--model", tmp_path / "model.json")
    assert "Warning: " in result.stderr
    assert "column without a name, 'Unnamed: 0', that counts the rows" in result.stderr
    assert without_versions(tmp_path / "model.json") == without_versions(folder / "model.json")
    with pytest.warns(UserWarning, match="'Unnamed: 0', that counts the rows, as pandas writes its index: it is left"):
        table = read_table(tmp_path / "indexed.csv", target="bezahlt", positive="ja", sensitive="Straße")
    assert "Unnamed: 0" not in table.data
    people.rename(columns={"Beruf": ""}).to_csv(tmp_path / "nameless.csv", index=False)
    nameless = read_table(tmp_path / "nameless.csv", target="bezahlt", positive="ja", sensitive="Straße")
    assert "Unnamed: 2" in nameless.data  # it counts nothing


@pytest.mark.parametrize("positive", ["1", "1.0", 1, 1.0])
def test_one_is_one_point_zero(tmp_path, positive):
    for text in ("1", "1.0"):
        (tmp_path / "t.csv").write_text(f"g,x,y\na,1,{text}\nb,2,0\na,3,{text}\nb,4,{text}\n")
        assert read_table(tmp_path / "t.csv", target="y", positive=positive, sensitive="g").target.tolist() == [
            1,
            0,
            1,
            1,
        ]
        judged = ["--target", "y", "--prediction", "y", "--sensitive", "g", "--positive", positive]
        assert "75.0 % are positive" in run_well("audit", tmp_path / "t.csv", *judged).stdout.replace("\n  ", " ")
    with pytest.raises(ValueError, match="positive must be a value of target 'y', got 2"):
        read_table(tmp_path / "t.csv", target="y", positive=2, sensitive="g")


def test_the_plain_model_stands_beside_ours(folder, tmp_path):
    result = run_well("train", folder / "clean.csv", *TRAIN, "--model", tmp_path / "m.json", "--holdout", 0.4)
    lines = result.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Beside a plain model, AdaBoost"))
    assert lines[at + 1].split() == ["ParityBoost", "AdaBoost"]
    names = [re.match(r"(.*?)\s+[\d.]+\s+[\d.]+$", line)[1] for line in lines[at + 2 : at + 5]]
    assert names == ["accuracy", "balanced accuracy", "disparate mistreatment (difference)"]
    assert f"accuracy  {lines[at + 2].split()[1]}" in re.sub(r" +", "  ", result.stdout)  # the audit says the same
    none = run_well(
        "train", folder / "clean.csv", *TRAIN, "--model", tmp_path / "m.json", "--holdout", 0.4, "--notion", "none"
    )
    assert "(difference)" not in none.stdout


def test_a_sensitive_column_that_is_a_feature_is_told(folder, tmp_path):
    model = ["--model", tmp_path / "m.json"]
    told = run_well("train", folder / "clean.csv", *TRAIN, *model).stdout
    assert "Straße is also a feature of the model; --exclude-sensitive leaves it out." in told
    assert "also a feature" not in run_well("train", folder / "clean.csv", *TRAIN, *model, "--exclude-sensitive").stdout
    two = run_well("train", folder / "clean.csv", *TRAIN, "--sensitive", "Beruf", *model).stdout
    assert "each of Straße, Beruf is also a feature" in two


def test_wrong_files_are_refused_in_words_that_fit(folder, tmp_path):
    clean, model = folder / "clean.csv", folder / "model.json"
    message = refused("train", clean, *TRAIN, "--model", tmp_path / "m.json", "--report", tmp_path / "r.pdf")
    assert "--report must end in .html, .md or .json, got" in message and "a browser prints the page as PDF" in message
    assert not (tmp_path / "m.json").exists()  # before any work
    judged = ["--target", "bezahlt", "--prediction", "bezahlt", "--sensitive", "Straße"]
    assert "--report must end in .html, .md or .json" in refused(
        "audit", clean, *judged, "--report", tmp_path / "r.docx"
    )
    message = refused("explain", clean)
    assert "explain takes a model file first, such as train writes, got the table" in message
    assert f"parityboost explain model.json --data {clean} --row 1" in message
    assert "predict takes a model file first" in refused("predict", clean, model, "--out", tmp_path / "x.csv")
    assert "standard input (-) can be one file only, got it for model and data" in refused(
        "predict", "-", "-", "--out", tmp_path / "x.csv", stdin=b"x"
    )
    assert "standard input is empty" in refused("train", "-", *TRAIN, stdin=b"")
    assert "standard output (-) can be one file only" in refused(
        "train", clean, *TRAIN, "--model", "-", "--report", "-"
    )
    assert re.search("standard input: .*", refused("explain", "-", stdin=b"{}"))


def test_no_temporary_file_is_left(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_well("train", "-", *TRAIN, "--model", tmp_path / "m.json", stdin=(folder / "clean.csv").read_bytes())
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
    with as_files(data=Path("x.csv")) as files:
        assert files == {"data": Path("x.csv")}


def test_characters_that_an_encoding_lacks_are_named(folder, tmp_path):
    message = refused(
        "predict", folder / "model.json", folder / "clean.csv", "--out", tmp_path / "x.csv", "--encoding", "ascii"
    )
    assert "ASCII" in message
    lines = [
        json.loads(line)
        for line in pd.read_csv(folder / "clean.csv").to_json(orient="records", lines=True).splitlines()
    ]
    lines[0]["Beruf"] = "smith €"
    (tmp_path / "euro.jsonl").write_text("\n".join(map(json.dumps, lines)))
    out = ["--out", "-", "--encoding", "latin-1"]
    assert "'€' cannot be written in latin-1" in refused(
        "predict", folder / "model.json", tmp_path / "euro.jsonl", *out
    )


def test_bands_and_missing_groups(people, folder, tmp_path):
    holes = people.assign(Größe=people["Größe"].where(people.index % 7 > 0))
    holes.to_csv(tmp_path / "holes.csv", index=False)
    base = ["--target", "bezahlt", "--positive", "ja", "--sensitive", "Größe", "--rounds", 15]
    groups = ["--bands", "Größe=10,20", "--missing-group", "unbekannt"]
    out = ["--model", tmp_path / "m.json"]
    assert "has no value in 58 of 400 rows" in refused("train", tmp_path / "holes.csv", *base, "--bands", "Größe=10,20")
    told = run_well("train", tmp_path / "holes.csv", *base, *groups, *out, "--holdout", 0.5).stdout
    for name in ("under 10", "10 to under 20", "20 or more", "unbekannt"):
        assert name in told
    model = parityboost.load(tmp_path / "m.json")
    assert model.groups_.tolist() == ["under 10", "10 to under 20", "20 or more", "unbekannt"]
    assert model.bands == {"Größe": (10.0, 20.0)}
    # A threshold per group, of a column that is no feature: predict is told the numbers.
    per_group = [*base, *groups, "--threshold", "per_group", "--exclude-sensitive", *out]
    run_well("train", tmp_path / "holes.csv", *per_group)
    options = ["--out", tmp_path / "out.csv", "--sensitive", "Größe"]
    run_well("predict", tmp_path / "m.json", tmp_path / "holes.csv", *options)
    model = parityboost.load(tmp_path / "m.json")
    read = pd.read_csv(tmp_path / "holes.csv")
    expected = model.predict(read[list(model.feature_names_in_)], sensitive_features=read["Größe"])
    assert pd.read_csv(tmp_path / "out.csv")["prediction"].tolist() == expected.tolist()
    judged = ["--target", "bezahlt", "--prediction", "prediction", "--sensitive", "Größe", "--positive", "ja"]
    told = run_well("audit", tmp_path / "out.csv", *judged, *groups).stdout
    assert "10 to under 20" in told and "unbekannt" in told
    for bad in ("10", "Größe=", "Größe=a", "=,"):
        assert "--bands must be like age=25,40,60" in refused("train", tmp_path / "holes.csv", *base, "--bands", bad)
    assert cli.read_bands(["age=25", "40", "60", "x=1"]) == {"age": [25, 40, 60], "x": [1]}
    assert cli.read_bands(None) is None
    page = run_well("train", tmp_path / "holes.csv", *base, *groups, *out, "--report", tmp_path / "r.html")
    assert "Report: " in page.stdout and "unbekannt" in (tmp_path / "r.html").read_text()


def test_equal_groups_are_two_different_ones(tmp_path):
    (tmp_path / "t.csv").write_text("g,y,p\n" + "a,1,1\nb,1,1\na,0,0\nb,0,0\na,1,0\nb,1,0\na,0,1\nb,0,1\n" * 10)
    told = run_well("audit", tmp_path / "t.csv", "--target", "y", "--prediction", "p", "--sensitive", "g").stdout
    for line in told.splitlines():
        if (
            line.startswith(("statistical parity", "equal opportunity", "accuracy  ", "precision  "))
            and "0.000 [" in line
        ):
            assert re.search(r"a 0\.500, b 0\.500", line), line
    assert told.count("a 0.500, b 0.500") >= 5


def test_columns_may_have_names_that_mean_something_in_python(people, tmp_path):
    """Found with a table of mortgages that has a column called self."""
    odd = people.rename(columns={"Fähigkeit": "self", "Beruf": "class", "Größe": "index", "Straße": "black"})
    odd = odd.assign(black=np.where(odd["black"] == "Hof", "yes", "no"))
    odd.to_csv(tmp_path / "odd.csv", index=False)
    base = ["--target", "bezahlt", "--positive", "ja", "--rounds", 10, "--model", tmp_path / "m.json"]
    run_well("train", tmp_path / "odd.csv", *base, "--sensitive", "black")
    run_well("predict", tmp_path / "m.json", tmp_path / "odd.csv", "--out", tmp_path / "out.csv")
    assert "self = " in run_well("explain", tmp_path / "m.json", "--data", tmp_path / "odd.csv", "--row", 1).stdout
    judged = ["--target", "bezahlt", "--prediction", "prediction", "--sensitive", "black", "--positive", "ja"]
    told = run_well("audit", tmp_path / "out.csv", *judged).stdout.replace("\n  ", " ")
    assert re.search(r"black (yes|no) (is|and) ", told)  # a group called yes needs its attribute beside it
    assert not re.search(r"for (yes|no) than for", told)


def test_warnings_call_the_classes_as_the_file_does(people, tmp_path):
    """Found with a table of benefits: training on 0 and 1 had told of class '1'."""
    few = people.assign(wer=[f"g{i % 40}" for i in range(len(people))])
    few.to_csv(tmp_path / "few.csv", index=False)
    options = ["--target", "bezahlt", "--positive", "nein", "--sensitive", "wer", "--rounds", 5]
    told = run_well("train", tmp_path / "few.csv", *options, "--model", tmp_path / "m.json").stderr
    assert "of class 'ja'" in told or "of class 'nein'" in told
    assert "class '1'" not in told and "class '0'" not in told
    model = parityboost.load(tmp_path / "m.json")
    assert model.classes_.tolist() == ["ja", "nein"]
    assert any(", nein]" in name for name in model.history_.columns)
