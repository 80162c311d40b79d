"""Wishes, choose, alternatives and export on the command line are those of Python."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from conftest import make_people
from parityboost import ParityBoostClassifier, cli, load
from parityboost.datasets import read_table
from parityboost.explain import reasons

SMALL = {"n_estimators": 12, "random_state": 0}
OPTIONS = ["--target", "hired", "--positive", "yes", "--sensitive", "sex", "--rounds", 12]
WISHES = [
    (["--maximize", "accuracy", "--limit", 0.1], {"maximize": "accuracy", "limit": 0.1}),
    (["--cost-false-negative", 5], {"maximize": {"false_positive": 1, "false_negative": 5}}),
    (
        ["--cost-false-positive", 2, "--cost-false-negative", 3, "--capacity", 0.4],
        {"maximize": {"false_positive": 2, "false_negative": 3}, "capacity": 0.4},
    ),
    (["--min-ratio", 0.7, "--min-group-share", 0.1], {"min_ratio": 0.7, "min_group_share": 0.1}),
    (["--max-false-positive-rate", 0.2, "--no-dial"], {"max_false_positive_rate": 0.2, "dial": False}),
    (["--maximize", "balanced-accuracy"], {"maximize": "balanced_accuracy"}),
]


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def run_well(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def people(n=800):
    X, y, group = make_people(n, 0)
    y = np.where(np.asarray(y).astype(int) == 1, "yes", "no")
    return pd.DataFrame(X).assign(sex=np.where(np.asarray(group) == np.unique(group)[0], "f", "m")), y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choices")
    X, y = people()
    rng = np.random.default_rng(0)
    table = X.assign(hired=y, weight=rng.integers(0, 4, len(X)), region=rng.choice(["east", "west"], len(X)))
    table.to_csv(folder / "people.csv", index=False)
    run_well("train", folder / "people.csv", *OPTIONS, "--drop", "weight,region", "--model", folder / "model.json")
    return folder


@pytest.fixture(scope="module")
def table(folder):
    drop = ["weight", "region"]
    return read_table(folder / "people.csv", target="hired", positive="yes", sensitive="sex", drop=drop)


def fitted(table, sample_weight=None, **wishes):
    model = ParityBoostClassifier(**SMALL, **wishes)
    return model.fit(table.data, table.target, sensitive_features=table.sensitive, sample_weight=sample_weight)


@pytest.mark.no_cover
@pytest.mark.parametrize(("options", "wishes"), WISHES)
def test_wishes_are_parameters(folder, table, tmp_path, options, wishes):
    path = tmp_path / "model.json"
    told = run_well("train", folder / "people.csv", *OPTIONS, "--drop", "weight,region", *options, "--model", path)
    ours, theirs = load(path), fitted(table, **wishes)
    assert {name: ours.get_params()[name] for name in wishes} == wishes
    assert ours.glass_box_.wishes == theirs.glass_box_.wishes
    assert (ours.threshold_, ours.fairness_) == (theirs.threshold_, theirs.fairness_)
    said = theirs.glass_box_.wishes.said(theirs.about_.settings.notion)
    assert f"Chosen for {said}." in " ".join(told.split())
    assert max(len(line) for line in told.splitlines() if str(path) not in line) <= 80


def test_the_figures_that_train_tells_are_those_of_the_choice(folder, tmp_path):
    path = tmp_path / "model.json"
    told = run_well("train", folder / "people.csv", *OPTIONS, "--drop", "weight,region", "--model", path)
    model = load(path)
    counts = model.glass_box_.held_out_counts
    total = counts.sum(axis=0)
    accuracy = np.trace(total) / total.sum()
    balanced = (total[0, 0] / total[0].sum() + total[1, 1] / total[1].sum()) / 2
    said = " ".join(told.split())
    assert f"accuracy {accuracy:.3f}, balanced accuracy {balanced:.3f}" in said
    assert "Chosen for the highest balanced accuracy (the mean over both labels, not accuracy), less the gap" in said
    assert f"parityboost alternatives {path}" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--limit", 0.1], "--limit is for --method parityboost, the recommended model; for adafair: --max-violation"),
        (["--maximize", "accuracy"], "--maximize is for --method parityboost, the recommended model; for adafair: --c"),
        (["--cost-false-positive", 2], "--cost-… is for --method parityboost"),
        (["--capacity", 0.1], "--capacity is for --method parityboost, the recommended model; for adafair: leave"),
        (["--dial"], "--dial and --no-dial is for --method parityboost"),
    ],
)
def test_wishes_are_for_the_recommended_method(folder, options, message):
    assert message in refused("train", folder / "people.csv", *OPTIONS, "--method", "adafair", *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--maximize", "profit"], "--maximize must be balanced_accuracy or accuracy, got 'profit'"),
        (["--maximize", "accuracy", "--cost-false-positive", 2], "exclude each other"),
        (["--cost-false-positive", 0, "--cost-false-negative", 0], "one of the two mistakes must cost something"),
        (["--limit", 0.1, "--notion", "none"], "limits what a notion compares"),
        (["--weights", "no such"], "weights must be in the table, got 'no such'"),
        (["--weights", "sex"], "--weights must name another column than --target and --sensitive, got 'sex'"),
        (["--weights", "region"], "--weights: column 'region' must hold numbers, got"),
    ],
)
def test_wishes_that_make_no_sense_are_one_sentence(folder, tmp_path, options, message):
    path = tmp_path / "model.json"
    assert message in refused("train", folder / "people.csv", *OPTIONS, *options, "--model", path)
    assert not path.exists()


def test_a_limit_that_cannot_be_kept_is_said_in_options(folder, tmp_path):
    path = tmp_path / "model.json"
    wish = ["--limit", 0, "--min-ratio", 1, "--capacity", 0.9]
    drop = ["--drop", "weight,region"]
    line = refused("train", folder / "people.csv", *OPTIONS, *drop, *wish, "--model", path)
    assert "--limit 0: the smallest largest gap" in line and "(--threshold per_group)" in line
    line = refused("choose", folder / "model.json", *wish, "--out", path)
    assert "--min-ratio 1: the highest ratio of any useful choice is" in line
    assert not path.exists()


def test_old_names_warn_and_still_work(folder, table, tmp_path):
    path = tmp_path / "model.json"
    old = ["--c", 0, "--keep", 0.8, "--max-violation", 0.3, "--dial"]
    result = run("train", folder / "people.csv", *OPTIONS, "--drop", "weight,region", *old, "--model", path)
    assert result.exit_code == 0, result.output
    for name, new in (("--c 0", "--maximize"), ("--keep 0.8", "nothing"), ("--max-violation 0.3", "--limit")):
        [line] = [line for line in result.stderr.splitlines() if line.startswith(f"Warning: {name} is an old name")]
        assert f"now: {new}" in line
    assert "Warning: --dial is an old name" in result.stderr
    with pytest.warns(FutureWarning, match="old name"):
        theirs = fitted(table, c=0.0, keep=0.8, max_violation=0.3)
    assert load(path).threshold_ == theirs.threshold_
    result = run("train", folder / "people.csv", *OPTIONS, "--method", "adafair", "--c", 0, "--model", path)
    assert result.exit_code == 0 and "old name" not in result.output
    assert load(path).c == 0


@pytest.mark.parametrize("favourable", ["1", "no"])
def test_ratios_of_labels_that_are_text_and_a_number_are_of_the_favourable_one(tmp_path, favourable):
    X, y = people()
    labels = [1 if label == "yes" else label for label in y]
    rows = pd.DataFrame(X).assign(hired=labels).to_dict("records")
    (tmp_path / "mixed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / "model.json"
    options = ["--target", "hired", "--positive", "1", "--sensitive", "sex", "--rounds", 12, "--favourable", favourable]
    wish = ["--capacity", 0.55, "--notion", "statistical_parity"]
    run_well("train", tmp_path / "mixed.jsonl", *options, *wish, "--model", path)
    model = load(path)
    assert model.favourable_ == (1 if favourable == "1" else "no") and model.positive_ == 1
    given = np.mean([label == model.favourable_ for label in model.predict(X.astype({"sex": "category"})).tolist()])
    assert given < 0.7  # of 0.55 of the rows that it was chosen on
    counts = model.glass_box_.held_out_counts.sum(axis=0)
    assert counts[:, int(favourable == "1")].sum() / counts.sum() <= 0.55


@pytest.mark.parametrize(("options", "wishes"), [pair for pair in WISHES if "dial" not in pair[1]])
def test_choose_is_that_of_python(folder, tmp_path, options, wishes):
    told = run_well("choose", folder / "model.json", *options, "--out", tmp_path / "new.json")
    before, now = load(folder / "model.json"), load(tmp_path / "new.json")
    expected = before.choose(**wishes)
    assert (now.threshold_, now.fairness_) == (expected.threshold_, expected.fairness_)
    assert now.glass_box_.wishes == expected.glass_box_.wishes
    counts = [model.glass_box_.held_out_counts.sum(axis=0) for model in (before, expected)]
    shown = next(line for line in told.splitlines() if line.startswith("accuracy  ")).split()[1:]
    assert shown == [f"{np.trace(each) / each.sum():.3f}" for each in counts]


def test_wishes_stay_until_they_are_given_up(folder, tmp_path):
    first, second, third = (tmp_path / f"{name}.json" for name in "abc")
    run_well("choose", folder / "model.json", "--maximize", "accuracy", "--limit", 0.2, "--out", first)
    run_well("choose", first, "--capacity", 0.5, "--out", second)
    wishes = load(second).glass_box_.wishes
    assert (wishes.maximize, wishes.limit, wishes.capacity) == ("accuracy", 0.2, 0.5)
    run_well("choose", second, "--without", "limit", "capacity", "--out", third)
    wishes = load(third).glass_box_.wishes
    assert (wishes.maximize, wishes.limit, wishes.capacity) == ("accuracy", None, None)


def test_a_blend_and_a_threshold_can_be_set(folder, tmp_path):
    out = tmp_path / "new.json"
    told = run_well("choose", folder / "model.json", "--fairness", 0, "--threshold", "-0.265625", "--out", out)
    model = load(out)
    assert (model.fairness_, model.threshold_) == (0.0, -0.265625)
    assert "Not chosen, but set: fairness 0, threshold -0.2656." in told and "–" in told
    assert "not measured" in told
    options = [*OPTIONS, "--drop", "weight,region", "--threshold", "per_group"]
    run_well("train", folder / "people.csv", *options, "--model", tmp_path / "groups.json")
    run_well("choose", tmp_path / "groups.json", "--threshold=-0.5,0.25", "--out", out)
    assert load(out).threshold_.tolist() == [-0.5, 0.25]
    line = refused("choose", tmp_path / "groups.json", "--threshold", "0.5", "--out", out)
    assert "must be 2 numbers with commas between them, one for each group, in this order: f, m, got '0.5'" in line


def test_a_chosen_model_may_go_into_a_pipe(folder, tmp_path):
    run_well("choose", folder / "model.json", "--limit", 0.2, "--out", tmp_path / "a.json")
    result = run("choose", folder / "model.json", "--limit", 0.2, "--out", "-")
    assert result.exit_code == 0 and "Chosen for" in result.stderr
    assert result.stdout_bytes == (tmp_path / "a.json").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "choose needs a wish, such as --limit 0.05 or --maximize accuracy"),
        (["--limit", 0.1, "--fairness", 1], "--limit says what to choose, and --fairness is a choice"),
        (["--without", "fairness"], "--without must name wishes, some of maximize, limit"),
        (["--without", "limit", "--limit", 0.1], "--without limit and --limit exclude each other"),
        (["--threshold", "high"], "--threshold must be a number, got 'high'"),
        (["--fairness", 7], "7"),
    ],
)
def test_what_cannot_be_chosen_is_one_sentence(folder, tmp_path, options, message):
    assert message in refused("choose", folder / "model.json", *options, "--out", tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()


def test_the_paper_has_no_other_choices(folder, tmp_path):
    path = tmp_path / "paper.json"
    run_well("train", folder / "people.csv", *OPTIONS, "--method", "adafair", "--model", path)
    for command in (["choose", path, "--limit", 0.1, "--out", tmp_path / "x.json"], ["alternatives", path]):
        assert "is for models of the recommended method, and this one is of AdaFairClassifier" in refused(*command)
    assert "choose takes a model file first" in refused("choose", folder / "people.csv", "--out", tmp_path / "x.json")


def test_no_model_replaces_itself(folder):
    path = folder / "model.json"
    assert "--out must be another file than the model" in refused("choose", path, "--limit", 0.3, "--out", path)


@pytest.mark.parametrize("wish", [["--limit", 0.15], ["--cost-false-negative", 5, "--limit", 0.2]])
def test_the_record_of_alternatives_is_that_of_python(folder, tmp_path, wish):
    chosen, file = tmp_path / "chosen.json", tmp_path / "alternatives.csv"
    run_well("choose", folder / "model.json", *wish, "--out", chosen)
    told = run_well("alternatives", chosen, "--out", file, "--confidence", 0.9)
    expected = load(chosen).alternatives(confidence=0.9)
    written = pd.read_csv(file)
    assert written.columns.tolist() == expected.columns.tolist()
    for name in expected.select_dtypes("number"):
        np.testing.assert_allclose(written[name], expected[name], rtol=1e-12)
    lines = [line for line in told.splitlines() if str(chosen) not in line and str(file) not in line]
    assert max(map(len, lines)) <= 80
    head = next(j for j, line in enumerate(lines) if line.startswith("best for"))
    assert "(90 % interval)" in lines[head]
    rows = lines[head + 1 : lines.index("", head)]
    assert len(rows) == len(expected) and rows[0].startswith("* ") and not rows[1].startswith("* ")
    for line, row in zip(rows, expected.to_dict("records"), strict=True):
        assert f"{row['share_of_yes']:.3f}  {row['accuracy']:.3f}     {row['balanced_accuracy']:.3f}" in line
        assert f"{row['largest_gap']:.3f} ({row['gap_lower']:.3f}–{row['gap_upper']:.3f})" in line


def test_alternatives_can_be_chosen_from_their_table(folder):
    model = load(folder / "model.json").choose(maximize={"false_positive": 1, "false_negative": 4}, limit=0.2)
    table = model.alternatives()
    costs = [row for row in table.to_dict("records") if isinstance(row["maximize"], dict)]
    assert costs
    for row in costs:
        again = model.choose(maximize=row["maximize"], limit=row["limit"])
        assert again.threshold_ == row["threshold"]


def test_exports_are_those_of_python(folder, table, tmp_path):
    pytest.importorskip("onnx")
    path, model = folder / "model.json", load(folder / "model.json")
    graph, query, card = (tmp_path / name for name in ("m.onnx", "q.sql", "card.csv"))
    of_query = ["--sql", query, "--table", "main", "people", "--keep", "id", "--reasons", 2, "--dialect", "sqlite"]
    given = ["--onnx", graph, *of_query, "--contributions", "--favourable", "no", "--scorecard", card]
    told = run_well("export", path, *given, "--data", folder / "people.csv", "--points", 500, "--double", 30)
    assert graph.read_bytes() == model.to_onnx(contributions=True).SerializeToString()
    rule = reasons(model, table.data, n=2, favourable="no").rule
    options = {"keep": ["id"], "contributions": True, "reasons": rule}
    assert query.read_text() == model.to_sql(["main", "people"], "sqlite", **options) + "\n"
    expected = model.scorecard(table.data, points=500, double=30, favourable="no")
    assert card.read_text() == expected.to_csv()
    assert all(sentence in told for sentence in expected.summary())
    assert f"{expected.n_changed} of {len(table.data)} decisions" in told
    page = tmp_path / "card.html"
    run_well("export", path, "--scorecard", page)
    assert page.read_text() == model.scorecard().to_html()
    result = run("export", path, "--sql", "-", "--table", "people")
    assert result.stdout.strip() == model.to_sql("people").strip() and "standard output" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "export needs --onnx FILE, --sql FILE or --scorecard FILE"),
        (["--sql", "q.sql"], "--sql needs --table"),
        (["--sql", "q.sql", "--table", "t", "--unnamed", "sex"], "--unnamed is about --reasons"),
        (["--sql", "q.sql", "--table", "t", "--dialect", "dbase"], "dbase"),
        (["--onnx", "m.onnx", "--table", "t"], "--table is about --sql"),
        (["--onnx", "-"], "--onnx must be a file, got standard output (-)"),
        (["--scorecard", "card.txt"], "--scorecard must end in .html or .csv, got 'card.txt'"),
        (["--scorecard", "card.csv", "--contributions"], "--contributions is about --onnx and --sql"),
        (["--onnx", "m.onnx", "--data", "people.csv"], "--data is about --scorecard"),
        (["--onnx", "m.onnx", "--favourable", "yes"], "--favourable is about --scorecard and --reasons"),
        (["--scorecard", "card.csv", "--favourable", "maybe"], "'maybe'"),
        (["--onnx", "people.csv", "--scorecard", "card.csv", "--data", "people.csv"], "another file than --data"),
    ],
)
def test_exports_that_make_no_sense_are_one_sentence(folder, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    assert message in refused("export", "model.json", *options)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_weights_are_sample_weights(folder, table, tmp_path):
    path, weights = tmp_path / "model.json", pd.read_csv(folder / "people.csv")["weight"]
    options = [*OPTIONS, "--weights", "weight", "--drop", "region", "--model", path]
    run_well("train", folder / "people.csv", *options)
    ours, theirs = load(path), fitted(table, weights)
    assert "weight" not in ours.feature_names_in_
    np.testing.assert_array_equal(ours.decision_function(table.data), theirs.decision_function(table.data))
    told = run_well("train", folder / "people.csv", *options, "--holdout", 0.3, "--report", tmp_path / "report.json")
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["data"]["weighted"] and "weight" in told
    share = next(row["value"] for row in found["audit"]["overall"] if row["measure"] == "base_rate")
    n = found["data"]["n"]
    assert share != pytest.approx(round(share * n) / n, abs=1e-9)  # no share of rows that count one each
    bad = pd.read_csv(folder / "people.csv")
    bad.loc[6, "weight"] = -1
    bad.to_csv(tmp_path / "bad.csv", index=False)
    line = refused("train", tmp_path / "bad.csv", *options)
    assert "--weights: column 'weight' must hold no number below 0, got -1 in row 7" in line


def test_scores_can_be_had_with_predictions(folder, table, tmp_path):
    out = tmp_path / "out.csv"
    run_well("predict", folder / "model.json", folder / "people.csv", "--score", "--out", out)
    model, written = load(folder / "model.json"), pd.read_csv(out)
    np.testing.assert_allclose(written["score"], model.decision_function(table.data), rtol=1e-9, atol=1e-12)
    assert ((written["score"] > 0) == (written["prediction"] == "yes")).all()
    line = refused("predict", folder / "model.json", out, "--score", "--out", tmp_path / "again.csv")
    assert "already has a column" in line


@pytest.mark.no_cover
def test_a_report_may_be_of_one_attribute_of_several(folder, tmp_path):
    path = tmp_path / "model.json"
    several = ["--target", "hired", "--positive", "yes", "--sensitive", "sex", "region", "--rounds", 12]
    run_well("train", folder / "people.csv", *several, "--drop", "weight", "--model", path)
    out, new = tmp_path / "report.json", pd.read_csv(folder / "people.csv")
    run_well("report", path, folder / "people.csv", "--target", "hired", "--sensitive", "region", "--out", out)
    found = json.loads(out.read_text())
    assert found["data"]["attributes"] == ["region"]
    [east, west] = found["audit"]["groups"]
    assert (east["group"], east["n"]) == ("east", int((new["region"] == "east").sum()))
    assert west["n"] == int((new["region"] == "west").sum())
    run_well(
        "explore", path, folder / "people.csv", "--target", "hired", "--sensitive", "sex", "--out", tmp_path / "x.html"
    )
    line = refused("report", path, folder / "people.csv", "--target", "hired", "--sensitive", "sex", "region", "job")
    assert "the model's groups are made of 2 columns, --sensitive names 'sex', 'region', 'job'" in line


@pytest.mark.no_cover
def test_a_threshold_of_each_group_needs_all_their_columns_or_finds_them(folder, tmp_path):
    several = ["--target", "hired", "--positive", "yes", "--sensitive", "sex", "region", "--rounds", 12]
    several += ["--threshold", "per_group", "--drop", "weight"]
    for name, more in (("in", []), ("out", ["--exclude-sensitive"])):
        run_well("train", folder / "people.csv", *several, *more, "--model", tmp_path / f"{name}.json")
    of_one = [folder / "people.csv", "--target", "hired", "--sensitive", "sex", "--out", tmp_path / "report.json"]
    run_well("report", tmp_path / "in.json", *of_one)
    assert "the model's groups are made of 2 columns" in refused("report", tmp_path / "out.json", *of_one)
