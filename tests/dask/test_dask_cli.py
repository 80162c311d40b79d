"""The command line on a cluster: folders of Parquet files in, a model or a folder of Parquet files out."""

import numpy as np
import pandas as pd
import pytest
from test_dask import client, make_table  # noqa: F401
from typer.testing import CliRunner

import parityboost
from parityboost._cli._running import with_address
from parityboost.cli import app


@pytest.fixture
def folder(tmp_path):
    table = make_table(np.random.default_rng(0), 600, 2).astype({"city": str, "group": str})
    table["label"] = np.where(table["label"] == 1, "yes", "no")
    data = tmp_path / "data"
    data.mkdir()
    for part in range(3):
        table.iloc[200 * part : 200 * (part + 1)].to_parquet(data / f"part{part}.parquet", index=False)
    return data


OPTIONS = ["--target", "label", "--positive", "yes", "--sensitive", "group", "--rounds", "8", "--method", "adafair"]


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_training_and_prediction_on_a_cluster_are_those_of_one_process(folder, tmp_path, client):  # noqa: F811
    address = client.scheduler.address
    here = run("train", folder, *OPTIONS, "--model", tmp_path / "here.json")
    assert here.exit_code == 0, here.output
    there = run("train", folder / "*.parquet", *OPTIONS, "--model", tmp_path / "there.json", "--dask", address)
    assert there.exit_code == 0, there.output
    assert "rows per second  2 workers" in there.output
    assert "3 partitions on 2 workers" in there.stdout
    ours, theirs = parityboost.load(tmp_path / "here.json"), parityboost.load(tmp_path / "there.json")
    pd.testing.assert_frame_equal(ours.history_, theirs.history_)
    assert theirs.classes_.tolist() == ["no", "yes"]
    predicted = run("predict", tmp_path / "there.json", folder, "--out", tmp_path / "out", "--dask", address)
    assert predicted.exit_code == 0, predicted.output
    written = pd.concat([pd.read_parquet(path) for path in sorted((tmp_path / "out").glob("*.parquet"))])
    alone = run("predict", tmp_path / "here.json", folder, "--out", tmp_path / "out.parquet")
    assert alone.exit_code == 0, alone.output
    expected = pd.read_parquet(tmp_path / "out.parquet")
    assert written["prediction"].tolist() == expected["prediction"].tolist()
    assert written["probability"].tolist() == expected["probability"].tolist()
    again = run("predict", tmp_path / "there.json", folder, "--out", tmp_path / "out", "--dask", address)
    assert again.exit_code == 2
    assert "--out must be a new or empty folder" in again.output


def test_the_labels_that_are_stated_are_those_of_one_process(folder, tmp_path, client):  # noqa: F811
    stated = [*OPTIONS, "--favourable", "yes"]
    stated[stated.index("--positive") + 1] = "no"  # which sorts first
    for name, more in (("here", []), ("there", ["--dask", client.scheduler.address])):
        result = run("train", folder, *stated, "--model", tmp_path / f"{name}.json", *more)
        assert result.exit_code == 0, result.output
    ours, theirs = (parityboost.load(tmp_path / f"{name}.json") for name in ("here", "there"))
    for model in (ours, theirs):
        assert (model.positive_, model.favourable_, model.classes_.tolist()) == ("no", "yes", ["no", "yes"])
    pd.testing.assert_frame_equal(ours.history_, theirs.history_)
    result = run(
        "predict", tmp_path / "there.json", folder, "--out", tmp_path / "out", "--dask", client.scheduler.address
    )
    assert result.exit_code == 0, result.output
    written = pd.read_parquet(tmp_path / "out")
    assert ((written["probability"] > 0.5) == (written["prediction"] == "no")).all()


@pytest.mark.slow
def test_without_an_address_there_is_a_cluster_on_this_machine(folder, tmp_path):
    found = run("train", folder, *OPTIONS, "--model", tmp_path / "model.json", "--method", "parityboost", "--dask")
    assert found.exit_code == 0, found.output
    assert "3 partitions on 1 workers" in found.stdout
    assert parityboost.load(tmp_path / "model.json").classes_.tolist() == ["no", "yes"]


def test_an_address_may_be_left_out():
    assert with_address(["train", "--dask", "--rounds", "8"]) == ["train", "--dask", "local", "--rounds", "8"]
    assert with_address(["--dask", "data/*.parquet"]) == ["--dask", "local", "data/*.parquet"]
    assert with_address(["x", "--dask"]) == ["x", "--dask", "local"]
    for address in ("tcp://127.0.0.1:8786", "node-1.example:8786", "local"):
        assert with_address(["--dask", address]) == ["--dask", address]


def test_what_cannot_be_is_said_in_a_sentence(folder, tmp_path, client):  # noqa: F811
    address = client.scheduler.address
    for extra, message in (
        (["--report", tmp_path / "r.html"], "--report cannot be used with --dask"),
        (["--holdout", "0.2"], "--holdout cannot be used with --dask"),
        (["--method", "magic"], "--method must be one of parityboost, adafair"),
        (["--drop", "height"], "drop must be in the table, got 'height'"),
    ):
        found = run("train", folder, *OPTIONS, "--model", tmp_path / "m.json", "--dask", address, *extra)
        assert found.exit_code == 2
        assert message in found.output
    nothing = run("train", tmp_path / "*.csv", *OPTIONS, "--model", tmp_path / "m.json", "--dask", address)
    assert "--dask reads Parquet files" in nothing.output


def test_no_model_replaces_a_file_that_it_is_trained_on(folder, client):  # noqa: F811
    part = folder / "part1.parquet"
    before = part.read_bytes()
    for data in (folder, folder / "*.parquet", part):
        found = run("train", data, *OPTIONS, "--model", part, "--dask", client.scheduler.address)
        assert found.exit_code == 2
        assert f"--model must be another file than the data {str(part)!r}, got" in found.output
        assert part.read_bytes() == before


def test_wishes_weights_and_scores_are_those_of_one_process(folder, tmp_path, client):  # noqa: F811
    for k, path in enumerate(sorted(folder.glob("*.parquet"))):
        table = pd.read_parquet(path)
        table.assign(count=np.random.default_rng(k).integers(0, 4, len(table))).to_parquet(path, index=False)
    options = ["--target", "label", "--positive", "yes", "--sensitive", "group", "--rounds", 6, "--weights", "count"]
    wishes = ["--maximize", "accuracy", "--limit", 0.3, "--capacity", 0.6, "--notion", "statistical_parity"]
    told = []
    for name, more in (("here", []), ("there", ["--dask", client.scheduler.address])):
        result = run("train", folder, *options, *wishes, "--model", tmp_path / f"{name}.json", *more)
        assert result.exit_code == 0, result.output
        told.append(result.stdout)
    ours, theirs = (parityboost.load(tmp_path / f"{name}.json") for name in ("here", "there"))
    assert "count" not in theirs.feature_names_in_
    assert theirs.glass_box_.wishes == ours.glass_box_.wishes
    assert (theirs.glass_box_.wishes.maximize, theirs.limit, theirs.capacity) == ("accuracy", 0.3, 0.6)
    assert (theirs.threshold_, theirs.fairness_) == (ours.threshold_, ours.fairness_)
    chosen = [text[text.index("Chosen for the highest accuracy") :].split("Model:")[0].split(".\n")[0] for text in told]
    assert chosen[0] == chosen[1] and "with no gap in statistical parity above 0.3" in " ".join(chosen[0].split())
    given = ["--score", "--out"]
    there = run(
        "predict", tmp_path / "there.json", folder, *given, tmp_path / "out", "--dask", client.scheduler.address
    )
    assert there.exit_code == 0, there.output
    here = run("predict", tmp_path / "here.json", folder, *given, tmp_path / "out.parquet")
    assert here.exit_code == 0, here.output
    assert (
        pd.read_parquet(tmp_path / "out")["score"].tolist()
        == pd.read_parquet(tmp_path / "out.parquet")["score"].tolist()
    )


def test_a_limit_that_no_choice_keeps_is_said_in_options(folder, tmp_path, client):  # noqa: F811
    options = ["--target", "label", "--positive", "yes", "--sensitive", "group", "--rounds", 6, "--limit", 0]
    options += ["--min-ratio", 1, "--model", tmp_path / "model.json", "--dask", client.scheduler.address]
    result = run("train", folder, *options)
    assert result.exit_code == 2 and "--limit 0: the smallest largest gap" in result.stderr
    assert not (tmp_path / "model.json").exists()
    result = run("train", folder, *options, "--method", "adafair")
    assert result.exit_code == 2 and "--limit is for --method parityboost" in result.stderr
    result = run("train", folder, *options, "--weights", "no such")
    assert result.exit_code == 2 and "weights must be in the table, got 'no such'" in result.stderr
