"""Files as people have them: encodings, separators, decimal signs, kinds, pipes and folders; and what is noticed."""

import io
import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import parityboost
from conftest import make_people
from parityboost import cli
from parityboost._cli._files import as_files
from parityboost.datasets import read_table

pytest.importorskip("pyarrow")
openpyxl = pytest.importorskip("openpyxl")

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


def test_json_lines_hold_what_a_parquet_file_held(people, folder, tmp_path):
    rng = np.random.default_rng(0)
    floats = rng.normal(size=400) * 10.0 ** rng.integers(-300, 300, 400)
    floats[:3] = 0.1 + 0.2, np.nextafter(1, 2), np.nan
    more = {
        "float": floats,
        "single": floats.clip(-1e30, 1e30).astype(np.float32),
        "whole": np.arange(400) + 2**62,
        "some": pd.array([None, *range(399)], dtype="Int64"),
        "text": [None, "ü </x>", *["a"] * 398],
        "when": pd.date_range("2020-01-01", periods=400, freq="s"),
        "list": [[0.1, 2]] * 400,
        "price": [Decimal("0.10")] * 400,
    }
    people.assign(**more).to_parquet(tmp_path / "more.parquet")
    run_well("predict", folder / "model.json", tmp_path / "more.parquet", "--out", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    found = {name: [row[name] for row in rows] for name in rows[0]}
    run_well("predict", folder / "model.json", tmp_path / "more.parquet", "--out", tmp_path / "out.parquet")
    probability = pd.read_parquet(tmp_path / "out.parquet")["probability"]
    assert found["probability"] == probability.tolist()
    for name in ("float", "single"):
        assert found[name] == [None if np.isnan(value) else float(value) for value in more[name]]
    assert found["whole"] == more["whole"].tolist()
    assert found["some"] == [None, *range(399)] and found["text"] == more["text"]
    assert found["when"] == [time.isoformat() for time in more["when"]]
    assert found["list"][0] == [0.1, 2] and found["price"][0] == "0.10"


@pytest.mark.parametrize("value", [np.inf, b"\xff"])
def test_what_json_cannot_hold_is_named(people, folder, tmp_path, value):
    people.assign(more=[value] * 400).to_parquet(tmp_path / "more.parquet")
    message = refused("predict", folder / "model.json", tmp_path / "more.parquet", "--out", tmp_path / "out.jsonl")
    assert f"JSON cannot hold {value!r} of column 'more': write .csv or .parquet" in message
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("pieces", [1, 2])
def test_what_parquet_cannot_hold_is_named(people, folder, tmp_path, pieces):
    (tmp_path / "parts").mkdir()
    for j in range(pieces):  # the values of each piece may be of one type
        code = [1, "07"] if pieces == 1 else [[1, 2], ["A", "07"]][j]
        people.assign(code=code * 200).to_json(tmp_path / "parts" / f"{j}.jsonl", orient="records", lines=True)
    message = refused("predict", folder / "model.json", tmp_path / "parts", "--out", tmp_path / "out.parquet")
    assert "column 'code' has values of several types, and one of Parquet has one: write .csv or .jsonl" in message
    assert not (tmp_path / "out.parquet").exists()


def test_types_are_told_from_all_files_of_a_folder(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text("g,x,y\na,1,0\nb,2,1\n")
    (folder / "b.csv").write_text("g,x,y\na,A7,1\nb,2,0\n")
    table = read_table(folder, target="y", positive=1, sensitive="g")
    assert table.data["x"].astype(str).tolist() == ["1", "2", "A7", "2"]
    assert set(map(type, table.data["x"].cat.categories)) == {str}


@pytest.mark.parametrize("empty", ["a.jsonl", "c.jsonl"])
def test_a_part_without_rows_has_no_columns_in_json_lines(tmp_path, empty):
    (tmp_path / empty).write_text("")
    (tmp_path / "b.jsonl").write_text('{"g": "a", "x": 1, "y": 0}\n{"g": "b", "x": 2, "y": 1}\n')
    assert read_table(tmp_path, target="y", positive=1, sensitive="g").data["x"].tolist() == [1, 2]


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
        (["--sep", ";;"], "--sep must be one character, such as ';', or one and a space, ', ', got ';;'"),
        (["--sep", ", ", "--decimal", ","], "--sep and decimal must differ"),
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


def test_plain_models_stand_beside_ours(folder, tmp_path):
    result = run_well("train", folder / "clean.csv", *TRAIN, "--model", tmp_path / "m.json", "--holdout", 0.4)
    lines = result.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Beside plain boosting"))
    assert lines[at + 1].split() == ["ParityBoost", "AdaBoost", "same", "objective"]
    names = [re.match(r"(.*?)(\s+[\d.]+){3}$", line)[1] for line in lines[at + 2 : at + 5]]
    assert names == ["accuracy", "balanced accuracy", "disparate mistreatment (difference)"]
    assert f"accuracy  {lines[at + 2].split()[1]}" in re.sub(r" +", "  ", result.stdout)  # the audit says the same
    none = run_well(
        "train", folder / "clean.csv", *TRAIN, "--model", tmp_path / "m.json", "--holdout", 0.4, "--notion", "none"
    )
    assert "(difference)" not in none.stdout and "same objective" not in none.stdout


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
    told = " ".join(told.split())  # lines that are broken
    for name in ("statistical parity", "equal opportunity"):
        assert re.search(rf"{name} 0\.000 \[[\d., ]+\] [\w ]+: a 0\.500, b 0\.500", told), name
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


def write_spaced(table, path):
    """As the UCI repository publishes Adult: a space behind every comma, but for those of the header."""
    header, *rows = table.to_csv(index=False, lineterminator="\n").splitlines()
    path.write_text("\n".join([header, *(row.replace(",", ", ") for row in rows), ""]))


SPACED = ["--target", "y", "--positive", " yes", "--sensitive", "g", "--rounds", "10"]


@pytest.fixture
def spaced(tmp_path):
    """A table with spaces behind the commas."""
    X, y, group = make_people(400)
    table = X[["skill", "years", "job"]].astype({"job": str})
    table = table.assign(g=group, note="a  b", y=np.where(y == 1, "yes", "no"))
    write_spaced(table.fillna({"job": "none"}), tmp_path / "t.csv")
    return tmp_path


def test_spaces_are_part_of_the_values_as_in_python(spaced):
    table = pd.read_csv(spaced / "t.csv")
    X = table.drop(columns=["y", "note"])
    model = parityboost.AdaFairClassifier(n_estimators=10, random_state=0)
    model.fit(X, table["y"], sensitive_features=table["g"]).save(spaced / "m.json")
    run_well("predict", spaced / "m.json", spaced / "t.csv", "--out", spaced / "p.csv")
    found = pd.read_csv(spaced / "p.csv")
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
    given = (spaced / "t.csv").read_text().splitlines()
    written = (spaced / "p.csv").read_text().splitlines()
    assert all(row.startswith(f"{before},") for before, row in zip(given, written, strict=True))


def test_the_command_line_trains_on_values_with_their_spaces(spaced):
    run_well("train", spaced / "t.csv", *SPACED, "--model", spaced / "m.json", "--drop", "note")
    model = parityboost.load(spaced / "m.json")
    assert model.classes_.tolist() == [" no", " yes"] and model.groups_.tolist() == [" a", " b"]
    X = pd.read_csv(spaced / "t.csv")[list(model.feature_names_in_)]
    run_well("predict", spaced / "m.json", spaced / "t.csv", "--out", spaced / "p.csv")
    np.testing.assert_array_equal(pd.read_csv(spaced / "p.csv")["prediction"], model.predict(X))


def test_a_separator_with_a_space_leaves_spaces_out(spaced):
    plain = [*SPACED[:3], "yes", *SPACED[4:], "--sep", ", "]
    run_well("train", spaced / "t.csv", *plain, "--model", spaced / "m.json")
    assert parityboost.load(spaced / "m.json").groups_.tolist() == ["a", "b"]
    run_well("predict", spaced / "m.json", spaced / "t.csv", "--out", spaced / "p.csv", "--sep", ", ")
    table = pd.read_csv(spaced / "t.csv", skipinitialspace=True)
    pd.testing.assert_frame_equal(pd.read_csv(spaced / "p.csv")[list(table)], table)
    bunch = read_table(spaced / "t.csv", target="y", positive="yes", sensitive="g", sep=", ")
    assert bunch.sensitive.cat.categories.tolist() == ["a", "b"]


def test_categories_that_differ_only_in_spaces_are_told(spaced):
    plain = [*SPACED[:3], "yes", *SPACED[4:], "--sep", ", ", "--exclude-sensitive"]
    asked = "give sep ', ' (--sep ', ') if spaces after the separator are no part of the values"
    run_well("train", spaced / "t.csv", *plain, "--model", spaced / "plain.json")
    message = refused("predict", spaced / "plain.json", spaced / "t.csv", "--out", spaced / "p.csv")
    assert re.search(r"column 'job' has ' (\w+)', and the model knows '\1': ", message) and asked in message
    run_well("train", spaced / "t.csv", *SPACED, "--model", spaced / "spaced.json", "--exclude-sensitive")
    message = refused("predict", spaced / "spaced.json", spaced / "t.csv", "--out", spaced / "p.csv", "--sep", ", ")
    assert "and the model knows ' " in message and "write it with the spaces that it had in training" in message
    (spaced / "header.csv").write_text((spaced / "t.csv").read_text().replace(",", ", ").replace(",  ", ", "))
    message = refused("predict", spaced / "plain.json", spaced / "header.csv", "--out", spaced / "p.csv")
    assert "lacks 'job', 'note', 'years', which the model needs" in message and asked in message


def test_spaces_for_missing_numbers_are_told(spaced):
    asked = "give sep ', ' (--sep ', ') if spaces after the separator are no part of the values"
    for blank in (" ", "  ", " NA"):
        (spaced / "t.csv").write_text(f"g,x,y\na, 1,yes\nb,{blank},no\na, 3,no\nb, 4,yes\n")
        message = refused("train", spaced / "t.csv", "--target", "y", "--positive", "yes", "--sensitive", "g")
        assert f"column 'x' holds numbers, and {blank!r} for a missing one: {asked}" in message
    table = read_table(spaced / "t.csv", target="y", positive="yes", sensitive="g", sep=", ")
    assert table.data["x"].isna().tolist() == [False, True, False, False]
    parityboost.AdaFairClassifier(n_estimators=2, validation_fraction=None).fit(
        table.data[["x"]], table.target, sensitive_features=table.sensitive
    ).save(spaced / "m.json")
    message = refused("predict", spaced / "m.json", spaced / "t.csv", "--out", spaced / "p.csv")
    assert f"column 'x' held numbers in training, got ' NA' in row 2: {asked}" in message


CODES = ["1", "2", "A", "07"]  # in a CSV file they are text, in others some may be numbers


def make_codes(codes, n=400):
    """A table whose label depends on a code, and whose group is one too."""
    rng = np.random.default_rng(0)
    which, group = rng.integers(0, len(codes), n), rng.integers(0, len(codes), n)
    label = (rng.random(n) < np.array([0.1, 0.9, 0.35, 0.65])[which]).astype(int)
    columns = {"code": [codes[i] for i in which], "group": [codes[i] for i in group], "y": label}
    return pd.DataFrame(columns).astype({"code": object, "group": object})


def write_table(table, path):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, table.to_dict("records"))))
    else:
        table.to_excel(path, index=False)


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["csv", "jsonl", "xlsx"])
@pytest.mark.parametrize("missing", [False, True])
def test_codes_are_the_same_categories_and_groups_in_every_kind_of_file(tmp_path, kind, missing):
    written = {
        "text.csv": make_codes(CODES),
        "text.jsonl": make_codes(CODES),
        "text.xlsx": make_codes(CODES),
        "some.jsonl": make_codes([1, 2, "A", "07"]),
        "some.xlsx": make_codes([1, 2, "A", "07"]),
    }
    if missing:
        for table in written.values():
            table.loc[0, "code"] = None
    for name, table in written.items():
        write_table(table, tmp_path / name)
    options = ["--target", "y", "--positive", "1", "--sensitive", "group", "--exclude-sensitive", "--rounds", 20]
    for data in (name for name in written if name.endswith(kind)):
        model = [*options, "--threshold", "per_group", "--model", tmp_path / "m.json"]
        run_well("train", tmp_path / data, *model)
        expected = None
        for name in written:
            run_well(
                "predict", tmp_path / "m.json", tmp_path / name, "--out", tmp_path / "p.csv", "--sensitive", "group",
                "--score",
            )  # fmt: skip
            found = pd.read_csv(tmp_path / "p.csv")["score"]
            expected = found if expected is None else expected
            pd.testing.assert_series_equal(found, expected, obj=f"{data} to {name}")
        assert expected.nunique() > 3


@pytest.mark.no_cover
@pytest.mark.parametrize("folder", [False, True])
def test_a_code_that_is_a_number_here_and_text_there_is_one_category_and_one_group(tmp_path, folder):
    table = make_codes(CODES)
    some = table.iloc[::2].replace({"1": 1, "2": 2.0}).reset_index(drop=True)
    rest = table.iloc[1::2].reset_index(drop=True)
    write_table(pd.concat([table.iloc[::2], rest]), tmp_path / "t.csv")
    data = tmp_path / "t.jsonl"
    if folder:
        data = tmp_path / "parts"
        data.mkdir()
        write_table(some, data / "a.jsonl")
        write_table(rest, data / "b.jsonl")
    else:
        write_table(pd.concat([some, rest]), data)
    options = ["--target", "y", "--positive", "1", "--sensitive", "group", "--threshold", "per_group", "--rounds", 20]
    run_well("train", data, *options, "--exclude-sensitive", "--model", tmp_path / "m.json")
    model = parityboost.load(tmp_path / "m.json")
    assert sorted(model.groups_) == ["07", "1", "2", "A"]
    found = {}
    for source in (data, tmp_path / "t.csv"):
        out = tmp_path / "p.csv"
        run_well("predict", tmp_path / "m.json", source, "--out", out, "--sensitive", "group")
        found[source] = pd.read_csv(out)["probability"].tolist()
    assert found[data] == found[tmp_path / "t.csv"]
    assert len(set(found[data])) > 3


def test_rows_that_hold_only_the_numbers_among_the_codes_are_read_too(tmp_path):
    write_table(make_codes(CODES), tmp_path / "t.csv")
    options = ["--target", "y", "--positive", "1", "--sensitive", "group", "--model", tmp_path / "m.json"]
    run_well("train", tmp_path / "t.csv", *options, "--rounds", 20, "--drop", "group")
    found = {}
    for name, codes in {
        "text.csv": ["1", "2", "2"],
        "whole.xlsx": [1, 2, 2],
        "whole.jsonl": [1, 2, 2],
        "real.jsonl": [1.0, 2.0, 2.0],
    }.items():
        for more in ([], [None]):
            table = pd.DataFrame({"code": pd.Series([*codes, *more], dtype=object)})
            write_table(table, tmp_path / name)
            run_well("predict", tmp_path / "m.json", tmp_path / name, "--out", tmp_path / "p.csv")
            found[name, len(more)] = pd.read_csv(tmp_path / "p.csv")["probability"].tolist()[:3]
    assert all(probabilities == found["text.csv", 0] for probabilities in found.values())
    assert len(set(found["text.csv", 0])) == 2
    rows = [run_well("explain", tmp_path / "m.json", "--row", row).stdout for row in ('{"code": 2}', '{"code": "2"}')]
    assert rows[0] == rows[1]


def test_a_number_that_may_be_a_code_with_zeros_is_refused(tmp_path):
    write_table(make_codes(CODES), tmp_path / "t.csv")
    options = ["--target", "y", "--positive", "1", "--sensitive", "group", "--model", tmp_path / "m.json"]
    run_well("train", tmp_path / "t.csv", *options, "--rounds", 5)
    write_table(make_codes([1, 2, "A", 7]), tmp_path / "lost.xlsx")
    message = refused("predict", tmp_path / "m.json", tmp_path / "lost.xlsx", "--out", tmp_path / "p.csv")
    assert "column 'code' has the number 7, and the model knows the text '07': make it text" in message
    write_table(make_codes([5, 6]), tmp_path / "other.xlsx")
    message = refused("predict", tmp_path / "m.json", tmp_path / "other.xlsx", "--out", tmp_path / "p.csv")
    assert "column 'code' held categories in training (such as '07'), got numbers" in message


# What spreadsheets take for formulas, errors, numbers or missing values.
TRICKY = [
    "=1+1",
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@x",
    "#N/A",
    "#REF!",
    "00456",
    "1e5",
    "NA",
    "null",
    "None",
    "TRUE",
    "'q",
]


@pytest.fixture
def tricky(people, folder, tmp_path):
    """A table with such texts in a column, and in the name of a column, that the model does not read."""
    table = people.head(len(TRICKY)).assign(note=TRICKY, **{"=A1": "x"})
    table.to_csv(tmp_path / "tricky.csv", index=False)
    return tmp_path


def test_a_workbook_holds_the_text_of_the_table_and_no_formula(folder, tricky):
    run_well("predict", folder / "model.json", tricky / "tricky.csv", "--out", tricky / "out.xlsx")
    sheet = openpyxl.load_workbook(tricky / "out.xlsx").active
    columns = {column[0].value: column[1:] for column in sheet.iter_cols()}
    assert "=A1" in columns
    assert [cell.value for cell in columns["note"]] == TRICKY
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} == {"s", "n"}
    assert {cell.data_type for cell in columns["probability"]} == {"n"}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.xlsx", "out.parquet"])
def test_text_of_a_workbook_is_passed_on_as_it_is(folder, tricky, name):
    run_well("predict", folder / "model.json", tricky / "tricky.csv", "--out", tricky / "in.xlsx")
    book = openpyxl.load_workbook(tricky / "in.xlsx")
    book.active.delete_cols(book.active.max_column - 1, 2)  # what predict added
    book.save(tricky / "in.xlsx")
    run_well("predict", folder / "model.json", tricky / "in.xlsx", "--out", tricky / name)
    run_well("predict", folder / "model.json", tricky / "tricky.csv", "--out", tricky / "direct.csv")
    if name == "out.csv":  # as it is: what a spreadsheet makes of it is not known here
        assert (tricky / name).read_text() == (tricky / "direct.csv").read_text()
        table = pd.read_csv(tricky / name, dtype=str, keep_default_na=False)
    elif name == "out.jsonl":
        table = pd.DataFrame(map(json.loads, (tricky / name).read_text().splitlines()))
    elif name == "out.parquet":
        table = pd.read_parquet(tricky / name)
    else:
        table = pd.read_excel(tricky / name, dtype=object, keep_default_na=False)
    assert table["note"].tolist() == TRICKY


def test_large_whole_numbers_in_a_workbook_are_text(people, folder, tmp_path):
    large = [2**53, 2**53 + 1, -(2**63)]
    people.head(3).assign(id=large).to_parquet(tmp_path / "t.parquet")
    run_well("predict", folder / "model.json", tmp_path / "t.parquet", "--out", tmp_path / "p.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "p.xlsx").active
    ids = next(column[1:] for column in sheet.iter_cols() if column[0].value == "id")
    assert [cell.value for cell in ids] == [2**53, str(2**53 + 1), str(-(2**63))]


@pytest.mark.parametrize("note, message", [("x" * 40_000, "40,000 characters"), ("a\x01b", "no control characters")])
def test_text_that_no_cell_holds_is_named(people, folder, tmp_path, note, message):
    people.head(1).assign(note=note).to_csv(tmp_path / "t.csv", index=False)
    told = refused("predict", folder / "model.json", tmp_path / "t.csv", "--out", tmp_path / "p.xlsx")
    assert "column 'note' has" in told and message in told and "write .csv" in told
    assert not (tmp_path / "p.xlsx").exists()


def test_labels_that_are_text_and_a_number_are_held_out_reported_and_predicted(people, tmp_path):
    labels = [1 if paid == "ja" else "nein" for paid in people["bezahlt"]]
    people.assign(bezahlt=pd.Series(labels, dtype=object)).to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    where = ["--model", tmp_path / "m.json", "--report", tmp_path / "r.json"]
    told = run_well("train", tmp_path / "t.jsonl", *TRAIN[:3], "1", *TRAIN[4:], *where).output
    assert "Beside plain boosting" in told
    run_well("predict", tmp_path / "m.json", tmp_path / "t.jsonl", "--out", tmp_path / "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert {row["prediction"] for row in rows} == {1, "nein"}
