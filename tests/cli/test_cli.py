"""The command line as a user meets it."""

import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

import parityboost
from conftest import run_python
from parityboost import cli
from parityboost._cli._running import spread
from parityboost.paper.baselines import METHODS
from parityboost.paper.experiments import _runner


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def test_version_and_help():
    assert run("--version").output.strip() == f"parityboost {parityboost.__version__}"
    for command in ("demo", "reproduce", "datasets"):
        assert command in run("--help").output
        assert run(command, "--help").exit_code == 0


@pytest.mark.slow
def test_without_typer_it_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; import parityboost.__main__ as m; m.main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith('The command line needs typer: pip install "rich>=')


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="about signals of Unix")
@pytest.mark.parametrize("module", ["pandas", "sklearn", "typer", "parityboost._cli._models"])
def test_interrupted_while_it_starts_it_ends_without_a_traceback(module):
    code = f"""
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's jobs in the background start without
sys.meta_path.insert(0, Interrupting())
sys.argv = ["parityboost", "predict", "m.json", "x.csv", "--out", "y.csv"]
runpy.run_module("parityboost", run_name="__main__")
"""
    result = run_python(code)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.parametrize(
    "given, expected",
    [
        (["--dataset", "a", "b", "--jobs", "2"], ["--dataset", "a", "--dataset", "b", "--jobs", "2"]),
        (["--dataset", "a,b", "--quick"], ["--dataset", "a", "--dataset", "b", "--quick"]),
        (["--dataset", "a", "--dataset", "b"], ["--dataset", "a", "--dataset", "b"]),
        (["x", "--jobs", "2", "y"], ["x", "--jobs", "2", "y"]),
        (["--dataset", "a", "b", "m.json", "t.csv.gz"], ["--dataset", "a", "--dataset", "b", "m.json", "t.csv.gz"]),
        (["--dataset", "a", "b,c.csv", "--quick"], ["--dataset", "a", "b,c.csv", "--quick"]),
        (["--dataset", "t.csv", "--dataset", "a"], ["--dataset", "t.csv", "--dataset", "a"]),
    ],
)
def test_an_option_may_take_several_values(given, expected):
    assert spread(given, {"--dataset"}) == expected


def test_bad_names_are_one_sentence_and_exit_code_2(tmp_path):
    for arguments, message in (
        (("reproduce", "--dataset", "titanic"), "unknown dataset 'titanic'; known are adult, bank, compas, kdd"),
        (("reproduce", "--figure", "14"), "unknown figure '14'"),
        (("reproduce", "--setting", "theirs"), "unknown setting 'theirs'; known are text, authors, ours"),
        (("datasets", "titanic"), "unknown dataset 'titanic'"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert message in result.output
        assert len(result.output.strip().splitlines()) == 1


def test_datasets_lists_what_is_here_and_table_1(monkeypatch, tmp_path):
    monkeypatch.delenv("PARITYBOOST_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = run("datasets")
    assert result.exit_code == 0
    assert "no: parityboost datasets --download bank" in result.output
    assert "45,175" in result.output


def test_a_dataset_that_cannot_be_had_stops_a_reproduction_before_it_starts(monkeypatch, tmp_path):
    monkeypatch.delenv("PARITYBOOST_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("parityboost.datasets._files._fetch", unreachable)
    _runner.load.cache_clear()
    result = run(
        "reproduce", "--figure", "1", "--dataset", "adult", "compas", "--splits", "1", "--out", tmp_path / "out"
    )
    assert result.exit_code == 2
    assert "compas" in result.output.lower()
    assert not (tmp_path / "out").exists()


def unreachable(*_):
    raise OSError("no network")


def test_failed_runs_are_told_and_the_exit_code_is_1(monkeypatch, tmp_path):
    execute = _runner.execute

    def broken(run):
        if run.method == "AdaBoost SDB":
            raise ZeroDivisionError("no luck")
        return execute(run)

    monkeypatch.setattr(_runner, "execute", broken)
    arguments = ("--figure", "1", "--dataset", "adult", "--setting", "ours", "--splits", "1", "--jobs", "1")
    result = run("reproduce", *arguments, "--out", tmp_path)
    assert result.exit_code == 1
    assert "1 runs failed" in result.output
    assert "no luck" in (tmp_path / "rows.csv").read_text(encoding="utf8")
    assert (tmp_path / "README.md").exists()


def test_an_interrupted_reproduction_says_how_to_go_on(tmp_path, monkeypatch):
    import parityboost.paper.experiments as experiments

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "perform", interrupted)
    result = run("reproduce", "--quick", "--figure", "1", "5", "--out", tmp_path)
    assert result.exit_code == 130
    flat = " ".join(result.output.split())
    command = f"parityboost reproduce --figure 1 5 --dataset adult --setting ours --splits 2 --out {tmp_path}"
    assert command in flat.replace(" /", " /")


@pytest.mark.no_cover
def test_a_smaller_request_into_a_folder_keeps_what_the_folder_has(tmp_path):
    quick = ("--dataset", "adult", "--splits", "1", "--jobs", "1", "--out", tmp_path)
    assert run("reproduce", "--figure", "5", "7", "--setting", "ours", *quick).exit_code == 0
    rows, claims = ((tmp_path / name).read_bytes() for name in ("rows.csv", "claims.csv"))
    smaller = run("reproduce", "--figure", "7", "--setting", "ours", *quick)
    assert smaller.exit_code == 0, smaller.output
    assert "keeps what it has" in " ".join(smaller.output.split())
    assert (tmp_path / "rows.csv").read_bytes() == rows
    assert (tmp_path / "claims.csv").read_bytes() == claims
    assert "--figure 5 7 --dataset adult --setting ours" in (tmp_path / "README.md").read_text(encoding="utf8")
    other = run("reproduce", "--figure", "5", "7", "--setting", "text", *quick)  # one more setting, all else as it was
    assert other.exit_code == 0, other.output
    both = pd.read_csv(tmp_path / "rows.csv")
    assert set(both["settings"]) == {"text", "ours"}
    assert {"ours", "text"} <= set(pd.read_csv(tmp_path / "claims.csv").columns)
    before = pd.read_csv(pd.io.common.BytesIO(rows))
    pd.testing.assert_frame_equal(both[both["settings"] == "ours"].reset_index(drop=True), before)


def test_a_request_that_would_leave_holes_asks_for_another_folder(tmp_path):
    quick = ("--dataset", "adult", "--jobs", "1", "--out", tmp_path)
    assert run("reproduce", "--figure", "7", "--setting", "ours", "--splits", "1", *quick).exit_code == 0
    index = (tmp_path / "README.md").read_bytes()
    result = run("reproduce", "--figure", "5", "--setting", "text", "--splits", "2", *quick)
    assert result.exit_code == 2
    assert "would have holes: choose another --out" in " ".join(result.output.split())
    for path in (tmp_path / "runs").glob("*.json"):
        path.unlink()
    (tmp_path / "scope.json").write_text(
        (tmp_path / "scope.json").read_text().replace('"figures": [\n  7\n ]', '"figures": [5, 7]')
    )
    result = run("reproduce", "--figure", "7", "--setting", "ours", "--splits", "1", *quick)
    assert result.exit_code == 2
    assert "of the runs behind that are not in" in " ".join(result.output.split())
    (tmp_path / "scope.json").unlink()
    result = run("reproduce", "--figure", "7", "--setting", "ours", "--splits", "1", *quick)
    assert result.exit_code == 2
    assert "another version of parityboost" in " ".join(result.output.split())
    assert (tmp_path / "README.md").read_bytes() == index


@pytest.mark.slow
def test_quick_reproduction_makes_everything(tmp_path, monkeypatch):
    """All thirteen figures and all methods on two splits of the bundled Adult."""
    # The search of Krasanakis et al. takes longer than all the rest: here it is a short one.
    monkeypatch.setitem(METHODS["Krasanakis et al."].defaults, "n_evaluations", 12)
    result = run("reproduce", "--quick", "--jobs", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert len(list(tmp_path.glob("figures/*.svg"))) == len(list(tmp_path.glob("figures/*.png"))) == 13
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert set(rows["status"]) == {"ok"}
    assert rows.query("c == 1 and protocol == 'halves'").groupby("method").size().to_dict() == {
        "AdaBoost": 2,
        "AdaBoost SDB": 2,
        "AdaFair": 6,
        "AdaFair NoCumul": 6,
        "FAE": 2,
        "Krasanakis et al.": 2,
        "SMOTEBoost": 2,
        "Zafar et al.": 2,
    }
    claims = pd.read_csv(tmp_path / "claims.csv")
    adult = claims["where"].str.contains("Adult")
    assert (claims.loc[adult, "ours_verdict"] != "not measured").all()
    assert "claims measured" in result.output
    again = run("reproduce", "--quick", "--out", tmp_path)
    assert "25 are there." in again.output
