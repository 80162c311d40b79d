"""The command line and its files: nothing of the user's is lost, and what files hold cannot play tricks."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from conftest import make_device
from parityboost import AdaFairClassifier, cli, load
from parityboost._cli._running import one_line, shortened
from parityboost._table.values import printable


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def make_table(n_rows=200):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=n_rows).round(2), "g": rng.choice(["f", "m"], n_rows)})
    table["y"] = np.where(table["x"] + rng.normal(size=n_rows) > 0, "yes", "no")
    table["p"] = np.where(table["x"] > 0, "yes", "no")
    return table


ROLES = ["--target", "y", "--sensitive", "g"]


@pytest.fixture
def folder(tmp_path):
    """A table t.csv, a model m.json, and other names for them."""
    make_table().to_csv(tmp_path / "t.csv", index=False)
    result = run(
        "train", tmp_path / "t.csv", *ROLES, "--positive", "yes", "--rounds", 3, "--model", tmp_path / "m.json"
    )
    assert result.exit_code == 0, result.output
    for name in ("t.csv", "m.json"):
        os.link(tmp_path / name, tmp_path / f"hard-{name}")
        (tmp_path / f"soft-{name}").symlink_to(name)
    (tmp_path / "sub").mkdir()
    (tmp_path / "coming.json").symlink_to("new.json")  # which is not there yet
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


TABLES = ["t.csv", "sub/../t.csv", "hard-t.csv", "soft-t.csv"]
MODELS = ["m.json", "sub/../m.json", "hard-m.json", "soft-m.json"]
TRAIN = ["train", "{}/t.csv", *ROLES, "--positive", "yes", "--rounds", "3"]
AUDIT = ["audit", "{}/t.csv", *ROLES, "--prediction", "p"]
OVERWRITING = [
    *(([*TRAIN, "--model", f"{{}}/{name}"], "--model must be another file than the data") for name in TABLES),
    *(
        ([*TRAIN, "--model", "{}/n.json", "--report", f"{{}}/{name}"], "--report must be another file than the data")
        for name in TABLES
    ),
    *(
        ([*TRAIN, "--model", "{}/m.json", "--report", f"{{}}/{name}"], "--report must be another file than --model")
        for name in MODELS
    ),
    *(
        ([*TRAIN, "--model", "{}/new.json", "--report", f"{{}}/{name}"], "--report must be another file than --model")
        for name in ("new.json", "sub/../new.json", "coming.json")
    ),
    *(([*AUDIT, "--report", f"{{}}/{name}"], "--report must be another file than the data") for name in TABLES),
    *(
        (["predict", "{}/m.json", "{}/t.csv", "--out", f"{{}}/{name}"], "--out must be another file than the data")
        for name in TABLES
    ),
    *(
        (["predict", "{}/m.json", "{}/t.csv", "--out", f"{{}}/{name}"], "--out must be another file than the model")
        for name in MODELS
    ),
]


@pytest.mark.no_cover
@pytest.mark.parametrize("arguments, message", OVERWRITING)
def test_no_command_overwrites_its_own_files(folder, monkeypatch, arguments, message):
    before = contents(folder)

    def too_late(*args, **kwargs):
        raise AssertionError("work was done first")

    for name in ("AdaFairClassifier", "read_file", "read_pieces"):
        monkeypatch.setattr(f"parityboost._cli._models.{name}", too_late)
    result = run(*(argument.format(folder) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1, result.output
    assert contents(folder) == before


@pytest.fixture
def parts(folder):
    """A folder of two tables, one of them elsewhere, and other names for both."""
    (folder / "parts").mkdir()
    (folder / "parts" / "README.md").write_text("not read")
    make_table().to_csv(folder / "parts" / "a.csv", index=False)
    make_table().to_csv(folder / "elsewhere.csv", index=False)
    (folder / "parts" / "b.csv").symlink_to("../elsewhere.csv")
    os.link(folder / "parts" / "a.csv", folder / "hard-a.csv")
    (folder / "soft-a.csv").symlink_to("parts/a.csv")
    (folder / "soft-parts").symlink_to("parts")
    return folder


PART_NAMES = ["parts/a.csv", "parts/b.csv", "soft-parts/a.csv", "elsewhere.csv", "hard-a.csv", "soft-a.csv"]


@pytest.mark.no_cover
@pytest.mark.parametrize("given", ["parts", "soft-parts"])
@pytest.mark.parametrize("name", PART_NAMES)
@pytest.mark.parametrize("option", ["--model", "--out", "--report"])
def test_no_command_replaces_a_file_of_a_folder_that_it_reads(parts, option, name, given):
    before = contents(parts) | contents(parts / "parts")
    data, out = parts / given, parts / name
    arguments = {
        "--model": ["train", data, *TRAIN[2:], "--model", out],
        "--out": ["predict", parts / "m.json", data, "--out", out],
        "--report": ["audit", data, *AUDIT[2:], "--report", out],
    }
    result = run(*arguments[option])
    assert result.exit_code == 2, result.output
    told = f"{option} must be another file than the data, got {str(out)!r}"
    assert told + (" for both" if out.parent == data else f", which is '{data}/") in result.output
    assert len(result.output.strip().splitlines()) == 1, result.output
    assert contents(parts) | contents(parts / "parts") == before


def test_what_is_not_read_of_a_folder_may_be_an_output(parts):
    data = parts / "parts"
    for arguments in (
        ["audit", data, *AUDIT[2:], "--report", data / "README.md"],
        ["predict", parts / "m.json", data, "--out", data / "new.csv"],
    ):
        result = run(*arguments)
        assert result.exit_code == 0, result.output
    assert len(pd.read_csv(parts / "parts" / "new.csv")) == 400


def test_a_reproduction_goes_to_a_folder_of_its_own(tmp_path):
    (tmp_path / "README.md").write_text("# My project\n")
    (tmp_path / "file").write_text("")
    for out, message in ((tmp_path, "which holds other files"), (tmp_path / "file", "--out must be a folder, got the")):
        result = run("reproduce", "--quick", "--figure", 1, "--jobs", 1, "--out", out)
        assert result.exit_code == 2, result.output
        assert message in result.output
    assert (tmp_path / "README.md").read_text() == "# My project\n"


def test_outputs_keep_permissions_and_loops_are_told(folder):
    (folder / "p.csv").write_text("old")
    (folder / "p.csv").chmod(0o600)
    result = run("predict", folder / "m.json", folder / "t.csv", "--out", folder / "p.csv")
    assert result.exit_code == 0, result.output
    assert stat.S_IMODE((folder / "p.csv").stat().st_mode) == 0o600
    (folder / "loop.csv").symlink_to("loop.csv")
    result = run("predict", folder / "m.json", folder / "t.csv", "--out", folder / "loop.csv")
    assert result.exit_code == 2
    assert "it is a symbolic link that leads back to itself" in result.output


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p.csv.xz", "p.csv.bz2", "p.parquet", "p.xlsx"])
def test_a_full_disk_is_told_with_the_file(folder, name):
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    make_device(folder / name, "full")
    result = run("predict", folder / "m.json", folder / "t.csv", "--out", folder / name)
    assert result.exit_code == 2, result.output
    assert "No space left on device" in result.output
    assert name in result.output
    assert len(result.output.strip().splitlines()) == 1, result.output


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="about signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_prediction_that_is_ended_leaves_nothing_for_long(folder, number):
    pd.concat([make_table(1000)] * 400).to_csv(folder / "large.csv", index=False)
    (folder / "p.csv").write_text("old")
    command = [sys.executable, "-m", "parityboost", "predict", "m.json", "large.csv", "--out", "p.csv"]
    with subprocess.Popen(command, cwd=folder) as process:
        while not list(folder.glob(".p.csv.*.tmp")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(60) == -number
    assert (folder / "p.csv").read_text() == "old"
    assert len(list(folder.glob(".p.csv.*.tmp"))) == (number == signal.SIGKILL)
    assert run("predict", folder / "m.json", folder / "t.csv", "--out", folder / "p.csv").exit_code == 0
    assert list(folder.glob(".*.tmp")) == []


# --- What files hold ------------------------------------------------------------------------------

ESCAPE = "\x1b[31mred\x1b[0m\u202e\x9b\x07"


def test_terminal_escapes_are_shown_and_not_obeyed(tmp_path):
    table = make_table().rename(columns={"x": ESCAPE, "g": f"{ESCAPE} g"})
    table[f"{ESCAPE} g"] += ESCAPE
    table["k"] = np.where(table[ESCAPE] > 0, ESCAPE, f"{ESCAPE}\n2")
    table["y"] += ESCAPE
    table.to_csv(tmp_path / "t.csv", index=False)
    train = ["train", tmp_path / "t.csv", "--target", "y", "--positive", f"yes{ESCAPE}", "--sensitive", f"{ESCAPE} g"]
    model = ["--rounds", 3, "--model", tmp_path / "m.json", "--holdout", 0.3, "--drop", "p"]
    (tmp_path / "bad.csv").write_text(f"{ESCAPE[:3]},other\n1,2\n", encoding="utf8")
    outputs = [
        run(*train, *model),
        run(*train, "--drop", ESCAPE[:2]),
        run(*train, "--target", ESCAPE),
        run("explain", tmp_path / "m.json"),
        run("explain", tmp_path / "m.json", "--feature", ESCAPE),
        run("explain", tmp_path / "m.json", "--feature", "k"),
        run("explain", tmp_path / "m.json", "--feature", "none"),
        run("explain", tmp_path / "m.json", "--data", tmp_path / "t.csv", "--row", 1),
        run("explain", tmp_path / "m.json", "--row", '{"\\u001b[31m": 1}'),
        run("predict", tmp_path / "m.json", tmp_path / "t.csv", "--out", tmp_path / "p.csv"),
        run("predict", tmp_path / "m.json", tmp_path / "bad.csv", "--out", tmp_path / "p.csv"),
        run("audit", tmp_path / "t.csv", "--target", "y", "--prediction", "y", "--sensitive", f"{ESCAPE} g"),
        run("audit", tmp_path / "t.csv", "--target", "y", "--prediction", "k", "--sensitive", f"{ESCAPE} g"),
    ]
    assert [result.exit_code for result in outputs] == [0, 2, 2, 0, 0, 0, 2, 0, 2, 0, 2, 0, 2]
    for result in outputs:
        assert printable(result.output) == result.output
    assert sum("\\x1b[31m" in result.output for result in outputs) == len(outputs)
    rows = outputs[5].output.split("\n\n")[1].strip().splitlines()
    assert len(rows) == 5  # a heading, two categories, any other, missing: a line break in a category makes no row


def test_errors_of_the_library_show_names_as_python_does(people):
    X, y, group = people
    X = X.rename(columns={"skill": ESCAPE})
    for call in (
        lambda: AdaFairClassifier(sensitive_feature="nope").fit(X, y),
        lambda: AdaFairClassifier(categorical_features=["nope"]).fit(X, y, sensitive_features=group),
    ):
        with pytest.raises(ValueError, match="no column 'nope'") as caught:
            call()
        assert printable(str(caught.value)) == str(caught.value)


def test_text_for_a_terminal():
    assert printable("θ − ü\n\t≤") == "θ − ü\n\t≤"
    assert printable("a\x1b\x07\ud800\u200b") == "a\\x1b\\x07\\ud800\\u200b"
    assert one_line("a\nb") == "a\\nb"
    assert shortened("ab") == "'ab'"
    assert shortened("a" * 1000, 3) == "'aaa'… (1,000 characters)"


def test_groups_that_a_model_does_not_ask_for_are_not_ignored_in_silence(folder):
    predict = ["predict", folder / "m.json", folder / "t.csv", "--out", folder / "p.csv", "--sensitive"]
    result = run(*predict, "nope")
    assert result.exit_code == 2, result.output
    assert "sensitive must be in the table, got 'nope'" in result.output
    assert not (folder / "p.csv").exists()
    make_table().to_parquet(folder / "t.parquet", index=False)
    result = run("predict", folder / "m.json", folder / "t.parquet", "--out", folder / "p.csv", "--sensitive", "nope")
    assert result.exit_code == 2, result.output
    result = run(*predict, "g", "--sensitive", "g")
    assert "--sensitive must name different columns, got 'g', 'g'" in result.output
    result = run(*predict, "g")
    assert result.exit_code == 0, result.output
    assert "--sensitive made no difference" in result.output


ROWS = {
    "[" * 100_000: "--row must be a number together with --data, or a JSON object of values, got '[[[",
    '{"x":' * 100_000: "--row must be a number together with --data",
    "9" * 5000: "--row must be a number together with --data",
    f'{{"x": 1{"0" * 400}}}': "--row: column 'x' must be a number, text, true, false or null, got a whole number",
    '{"x": [1]}': "--row: column 'x' must be a number, text, true, false or null, got a list",
    '{"x": {"a": 1}}': "--row: column 'x' must be a number, text, true, false or null, got an object",
    '{"g": "\\ud800"}': "--row: column 'g' must be a number, text, true, false or null, got '\\ud800', which is no",
    '{"x": 1e999}': "column 'x' of X contains infinity",
    '{"z": 1}': "the model has no column 'z'; its columns are 'x', 'g'",
}


@pytest.mark.parametrize("row", ROWS, ids=[row[:12] for row in ROWS])
def test_a_row_that_is_none_is_one_short_sentence(folder, row):
    result = run("explain", folder / "m.json", "--row", row)
    assert result.exit_code == 2, result.output[-500:]
    assert ROWS[row] in result.output
    assert len(result.output) < 300
    assert result.output.startswith("Error: ")


def test_the_number_of_a_row_has_an_end(folder):
    result = run("explain", folder / "m.json", "--data", folder / "t.csv", "--row", "9" * 5000)
    assert result.exit_code == 2
    assert "--row must be the number of a row, from 1, got '999" in result.output
    assert len(result.output) < 300


def with_column(name, values):
    return make_table().assign(**{name: values})


HUGE = ["1" + "0" * (400 + k % 2) for k in range(200)]
ODD_TABLES = {
    "a feature of huge numbers": (TRAIN, with_column("x", HUGE), "column 'x' holds a whole number of"),
    "groups of huge numbers": (TRAIN, with_column("g", HUGE), "column 'g' holds a whole number of"),
    "one huge number": (TRAIN, with_column("x", ["0.5", *"0" * 198, HUGE[0]]), "column 'x' of X contains infinity"),
    "labels of huge numbers": (TRAIN, with_column("y", HUGE), "target column 'y' holds a whole number of"),
    "text weights": ([*AUDIT, "--weights", "w"], with_column("w", "heavy"), "--weights: column 'w' must hold numbers"),
    "a huge weight": ([*AUDIT, "--weights", "w"], with_column("w", [*"1" * 199, HUGE[0]]), "--weights: column 'w'"),
    "text scores": ([*AUDIT, "--scores", "w"], with_column("w", "high"), "--scores: column 'w' must hold numbers"),
}


READ_AS_TEXT = {case for case in ODD_TABLES if case.endswith(("of huge numbers", "one huge number"))}


@pytest.mark.parametrize("case", ODD_TABLES)
def test_odd_values_in_a_file_name_their_column(tmp_path, case):
    if case in READ_AS_TEXT and pd.__version__ < "3":
        pytest.skip("pandas 2 reads numbers of 400 digits as text, so they are categories")
    arguments, table, message = ODD_TABLES[case]
    table.to_csv(tmp_path / "t.csv", index=False)
    model = ["--model", str(tmp_path / "m.json")] if arguments[0] == "train" else []
    result = run(*(argument.format(tmp_path) for argument in [*arguments, *model]))
    assert result.exit_code == 2, result.output
    assert result.output.startswith("Error: ")
    assert message in result.output
    assert len(result.output) < 300


@pytest.mark.parametrize("role", ["y", "p", "g", "w"])
def test_lists_in_an_audited_column_are_told_by_its_name(tmp_path, role):
    table = make_table().assign(w=1.0)
    table[role] = [[1, 2]] * len(table)
    table.to_parquet(tmp_path / "t.parquet")
    result = run("audit", tmp_path / "t.parquet", *ROLES, "--prediction", "p", "--weights", "w")
    assert result.exit_code == 2, result.output
    assert f"column '{role}' must hold" in result.output


def test_a_model_that_could_not_be_saved_is_not_trained(folder, monkeypatch):
    def too_late(*args, **kwargs):
        raise AssertionError("trained first")

    monkeypatch.setattr("parityboost._cli._models.AdaFairClassifier.fit", too_late)
    train = [argument.format(folder) for argument in TRAIN]
    for more, message in {
        ("--rounds", "200000"): "it has 200000 rounds, and a file holds at most 100000",
        ("--jobs", "2000"): "--jobs must be a number of threads up to 1024",
        ("--jobs", "-2000"): "--jobs must be a number of threads up to 1024",
    }.items():
        result = run(*train, "--model", folder / "n.json", *more)
        assert result.exit_code == 2, result.output
        assert message in result.output
    make_table(40_000).assign(g=lambda table: table.index % 20_000).to_csv(folder / "t.csv", index=False)
    result = run(*train, "--model", folder / "n.json", "--rounds", 1000)
    assert result.exit_code == 2, result.output
    assert "with 20000 groups a file holds at most 249 rounds, and it may have 1000" in result.output


def test_a_model_file_is_read_back_by_what_it_is_called(folder):
    assert load(folder / "soft-m.json").theta_ == json.loads((folder / "m.json").read_text())["theta"]


def test_nothing_is_saved_if_rows_that_will_be_held_out_cannot_be_predicted(tmp_path):
    table = pd.DataFrame({"x": np.arange(200.0), "y": np.tile(["no", "yes"], 100), "g": np.repeat(["a", "b"], 100)})
    for row in (0, 60, 120, 180):  # in one of the two parts, whichever
        table.assign(x=table["x"].where(table.index != row, np.inf)).to_csv(tmp_path / "t.csv", index=False)
        options = ["--target", "y", "--sensitive", "g", "--positive", "yes", "--rounds", 3, "--holdout", 0.5]
        result = run("train", tmp_path / "t.csv", *options, "--model", tmp_path / "m.json")
        assert result.exit_code == 2 and "column 'x' of X contains infinity" in result.output
        assert not (tmp_path / "m.json").exists()


def test_messages_do_not_show_names_at_any_length(tmp_path):
    long = "n" * 50_000
    table = pd.DataFrame(
        {long: [1.0, 2.0] * 10, "y": ["no", "yes", long, "no"] * 5, "g": ["a", "b"] * 10, "p": [0, 1] * 10}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    rest = ["--sensitive", "g", "--positive", "yes", "--model", tmp_path / "m.json"]
    for arguments in (
        ["train", tmp_path / "t.csv", "--target", "z", *rest],
        ["train", tmp_path / "t.csv", "--target", "y", *rest],
        ["audit", tmp_path / "t.csv", "--target", "y", "--prediction", "p", "--sensitive", "g"],
    ):
        result = run(*arguments)
        assert result.exit_code == 2 and len(result.output) < 500, result.output[:1000]


def test_an_audit_of_no_rows_names_the_file(tmp_path):
    (tmp_path / "empty.csv").write_text("y,p,g\n")
    result = run("audit", tmp_path / "empty.csv", "--target", "y", "--prediction", "p", "--sensitive", "g")
    assert result.exit_code == 2
    assert "empty.csv has no rows" in result.output
