"""The paper's evaluation: what is planned, that nothing is lost, and that everything shown comes from stored rows."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from parityboost import AdaFairClassifier, metrics
from parityboost.datasets import load_adult
from parityboost.paper.experiments import (
    C_VALUES,
    CLAIMS,
    FIGURES,
    SETTINGS,
    NotMeasuredError,
    Results,
    Run,
    Store,
    _runner,
    compare,
    judge,
    perform,
    plan,
)
from parityboost.paper.experiments._pages import markdown, readable_claims, write_all, write_figure
from parityboost.paper.experiments._plan import Scope

DM = "disparate_mistreatment"
FAST = [figure for figure in FIGURES if figure.number in (1, 5, 6, 7)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs of the fast methods on two splits of Adult."""
    store = Store(tmp_path_factory.mktemp("runs"))
    runs = list(plan(["adult"], FAST, n_splits=2, settings=["ours"]))
    perform(runs, store)
    return store, runs


def outcome(record):
    """A record without what differs from time to time."""
    return {key: value for key, value in record.items() if key not in ("seconds", "finished", "versions")}


def test_the_plan_has_thirteen_figures_and_each_run_once():
    assert [figure.number for figure in FIGURES] == list(range(1, 14))
    runs = list(plan(["adult", "kdd"], settings=["ours"]))
    assert len(set(runs)) == len(runs) == len({run.key for run in runs})
    # 6 methods without and 2 with a notion (three each) on ten splits, and one run over the rounds
    assert len(runs) == 2 * ((6 + 2 * 3) * 10 + 1)
    assert {run.split for run in runs} == set(range(10))


def test_settings_share_the_runs_they_agree_on_and_no_others():
    of = {name: set(plan(["adult", "kdd"], settings=[name])) for name in SETTINGS}
    assert set(plan(["adult", "kdd"])) == of["text"] | of["authors"] | of["ours"]
    shared = of["text"] & of["ours"]
    assert {run.method for run in shared} == {run.method for run in of["ours"]} - {"AdaFair", "AdaFair NoCumul"}
    assert {run.recipe for run in shared} == {"default"}
    assert {run.dataset for run in of["authors"] & of["ours"]} == {"kdd"}  # Adult has other attributes
    everything = list(plan())
    assert len({run.key for run in everything}) == len(everything)


def test_the_plan_refuses_an_unknown_setting():
    with pytest.raises(ValueError, match=r"unknown setting 'theirs'.*text, authors, ours"):
        list(plan(["adult"], settings=["theirs"]))


def test_the_plan_refuses_an_unknown_dataset():
    with pytest.raises(ValueError, match=r"unknown dataset 'titanic'.*adult, bank, compas, kdd"):
        list(plan(["titanic"]))


@pytest.mark.no_cover
def test_a_run_measures_what_a_plain_fit_and_predict_measure(made):
    store, runs = made
    adult = load_adult()
    X, X_test, y, y_test, s, s_test = train_test_split(
        adult.data, adult.target, adult.sensitive, test_size=0.5, random_state=1
    )
    for c in (0.0, 0.6, 1.0):  # the store has one fit for all c, this fits for each
        model = AdaFairClassifier(DM, c=c, random_state=1).fit(X, y, sensitive_features=s)
        predicted = model.predict(X_test)
        choice = next(x for x in store.load(Run("adult", "AdaFair", DM, 1))["choices"] if x["c"] == c)
        assert choice["theta"] == model.theta_
        counts, groups = metrics.group_counts(y_test, predicted, sensitive_features=s_test)
        assert groups.tolist() == ["Female", "Male"]
        np.testing.assert_array_equal(counts, choice["counts"])
        row = (
            Results(store, runs).rows.query("method == 'AdaFair' and notion == @DM and split == 1 and c == @c").iloc[0]
        )
        assert row[DM] == pytest.approx(metrics.disparate_mistreatment(y_test, predicted, sensitive_features=s_test))
        assert row["balanced_accuracy"] == pytest.approx(1 - metrics.balanced_error_rate(y_test, predicted))


def test_costs_are_non_protected_minus_protected(monkeypatch):
    run = Run("adult", "AdaFair", DM, 0)
    plain = _runner.execute(run)
    swapped = load_adult()
    swapped.protected = "Male"
    monkeypatch.setattr(_runner, "load", lambda dataset, attributes: swapped)
    other = _runner.execute(run)
    np.testing.assert_allclose(plain["rounds"]["delta_fnr"], -np.array(other["rounds"]["delta_fnr"]))
    assert other["groups"] == ["Male", "Female"]
    np.testing.assert_array_equal(plain["choices"][0]["counts"], other["choices"][0]["counts"][::-1])


def test_starting_again_makes_only_what_is_missing(made, tmp_path):
    store, runs = made
    assert store.missing(runs) == []
    copy = Store(tmp_path)
    for run in runs:
        copy.save(run, {k: v for k, v in store.load(run).items() if k not in ("format", "run")})
    lost, damaged = runs[0], runs[3]
    copy.path(lost).unlink()
    copy.path(damaged).write_text(copy.path(damaged).read_text()[:100])
    done = []
    perform(runs, copy, on_done=lambda run, record: done.append(run))
    assert done == [lost, damaged]
    assert all(outcome(copy.load(run)) == outcome(store.load(run)) for run in runs)


def test_a_run_made_with_other_settings_is_made_again(made, tmp_path):
    store, runs = made
    copy = Store(tmp_path)
    record = store.load(runs[0])
    record["run"]["n_estimators"] = 3
    copy.path(runs[0]).write_text(json.dumps(record))
    assert copy.missing(runs[:1]) == runs[:1]


@pytest.mark.parametrize(
    "damage",
    [
        {"status": "weird"},
        {"choices": []},
        {"choices": 5},
        {"choices": [{"c": 1.0, "theta": 3, "counts": [1, 2]}]},
        {"rounds": None},
        {"notes": None},
        {"versions": None},
        {"status": "failed"},
    ],
)
def test_a_record_that_lacks_something_is_made_again(made, tmp_path, damage):
    store, runs = made
    copy = Store(tmp_path)
    copy.path(runs[0]).write_text(json.dumps(store.load(runs[0]) | damage))
    assert copy.missing(runs[:1]) == runs[:1]
    copy.path(runs[0]).write_text(json.dumps({k: v for k, v in store.load(runs[0]).items() if k not in damage}))
    assert copy.missing(runs[:1]) == runs[:1]
    copy.path(runs[0]).write_text(json.dumps(store.load(runs[0])))
    assert copy.missing(runs[:1]) == []


def test_a_failed_run_is_recorded_with_its_reason_and_does_not_stop_the_rest(tmp_path, monkeypatch):
    runs = [Run("adult", "AdaBoost", None, split) for split in range(3)]
    execute = _runner.execute

    def broken(run):
        if run.split == 1:
            raise ZeroDivisionError("no luck")
        return execute(run)

    store = Store(tmp_path)
    monkeypatch.setattr(_runner, "execute", broken)
    perform(runs, store)
    assert [store.load(run)["status"] for run in runs] == ["ok", "failed", "ok"]
    assert "ZeroDivisionError: no luck" in store.load(runs[1])["reason"]
    results = Results(store, runs)
    assert results.rows["status"].tolist() == ["ok", "failed", "ok"]
    with pytest.raises(NotMeasuredError, match="AdaBoost on Adult census, split 1"):
        results.values("adult", "AdaBoost", DM, "accuracy")
    monkeypatch.setattr(_runner, "execute", execute)
    perform(runs, store)
    assert store.load(runs[1])["status"] == "failed"  # not repeated unasked
    perform(runs, store, retry_failed=True)
    assert store.load(runs[1])["status"] == "ok"


FINISHED = {"finished": "2026-01-01T00:00:00+00:00", "versions": {}}


def die_on_split_one(run, store):
    """In place of an attempt: nothing is fitted, as this is about processes."""
    if run.split == 1:
        os._exit(3)
    choice = {"c": 1.0, "theta": None, "counts": np.ones((2, 2, 2)).tolist()}
    record = {"status": "ok", "seconds": 0.0, "notes": [], "choices": [choice], "rounds": {}, **FINISHED}
    store.save(run, record)
    return record


@pytest.mark.slow
def test_a_process_that_dies_costs_only_its_own_run(tmp_path, monkeypatch):
    monkeypatch.setattr(_runner, "attempt", die_on_split_one)
    runs = [Run("adult", "AdaBoost", None, split) for split in range(4)]
    store = Store(tmp_path)
    perform(runs, store, n_jobs=2)
    assert [store.load(run)["status"] for run in runs] == ["ok", "failed", "ok", "ok"]
    assert "process died" in store.load(runs[1])["reason"]


@pytest.mark.no_cover
@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_it_equals_an_uninterrupted_run(tmp_path):
    runs = list(plan(["adult"], FAST[:1], n_splits=2, settings=["ours"]))
    store = Store(tmp_path / "uninterrupted")
    perform(runs, store)
    folder = tmp_path / "runs"
    code = f"""
from parityboost.paper.experiments import FIGURES, Store, perform, plan
perform(plan(["adult"], FIGURES[:1], n_splits=2, settings=["ours"]), Store({str(folder)!r}), n_jobs=2)
"""
    command = [sys.executable, "-c", code]
    rng = random.Random(0)
    kills = 0
    for n_finished in (0, 1, 4):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None and len(list(folder.glob("*.json"))) < n_finished:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        kept = [run for run in runs if Store(folder).load(run) is not None]
        assert len(kept) >= min(n_finished, len(runs))  # what was finished is there, and whole
    assert kills >= 2
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    for run in runs:
        assert outcome(Store(folder).load(run)) == outcome(store.load(run))


def test_claims_come_from_the_rows_and_a_missing_row_leaves_them_unmeasured(made, tmp_path):
    store, runs = made
    assert len(CLAIMS) >= 40
    before = judge(CLAIMS, Results(store, runs))
    measured = before["verdict"] != "not measured"
    assert 15 < measured.sum() < len(CLAIMS)
    claim = "D.M. of NoCumul against AdaFair"
    at = before.index[(before["claim"] == claim) & before["where"].str.contains("Adult")][0]
    values = [Results(store, runs).values("adult", method, DM, DM) for method in ("AdaFair NoCumul", "AdaFair")]
    assert before["value"][at] == pytest.approx(100 * (values[0] - values[1]).mean())
    copy = Store(tmp_path)
    for run in runs:
        if run != Run("adult", "AdaFair NoCumul", DM, 1):
            copy.save(run, {k: v for k, v in store.load(run).items() if k not in ("format", "run")})
    after = judge(CLAIMS, Results(copy, runs))
    assert after["verdict"][at] == "not measured"
    assert "AdaFair NoCumul on Adult census, split 1" in after["missing"][at]
    untouched = ~before["claim"].str.contains("NoCumul")
    pd.testing.assert_frame_equal(before[untouched], after[untouched])


def test_a_verdict_depends_on_the_figure(made):
    store, runs = made
    results = Results(store, runs)
    results.rows.loc[:, "x"] = 0
    for row in results._values.values():
        if row["method"] == "AdaBoost":
            row["balanced_accuracy"] = 0.5
        if row["method"] == "AdaFair":
            row["balanced_accuracy"] = 0.57
    table = judge(CLAIMS, results)
    row = table[(table["claim"] == "Bal.Acc. of AdaFair against AdaBoost") & table["where"].str.contains("5.4 Adult")]
    assert row["value"].item() == pytest.approx(7.0)
    assert row["verdict"].item() == "holds"
    for row in results._values.values():
        if row["method"] == "AdaFair":
            row["balanced_accuracy"] = 0.60
    at = row_of(table, "Bal.Acc. of AdaFair against AdaBoost")
    assert judge(CLAIMS, results)["verdict"][at] == "same direction, other size"
    for row in results._values.values():
        if row["method"] == "AdaFair":
            row["balanced_accuracy"] = 0.45
    assert judge(CLAIMS, results)["verdict"][at] == "differs"


def row_of(table, claim):
    return table.index[(table["claim"] == claim) & table["where"].str.contains("5.4 Adult")][0]


@pytest.mark.no_cover
def test_everything_is_written_and_the_numbers_beside_a_figure_are_those_of_the_rows(made, tmp_path):
    store, runs = made
    results = Results(store, runs)
    scope = Scope.of({figure.number for figure in FAST}, {"adult"}, {"ours"}, 2)
    write_all(scope, store, tmp_path, "parityboost reproduce")
    for figure in FAST:
        ET.parse(tmp_path / "figures" / f"{figure.name}-adult-ours.svg")
        assert (tmp_path / "figures" / f"{figure.name}-adult-ours.png").read_bytes().startswith(b"\x89PNG")
        assert figure.title in (tmp_path / f"{figure.name}.md").read_text(encoding="utf8")
    assert not list(tmp_path.rglob("*.tmp")) + list(tmp_path.rglob(".*"))
    table = pd.read_csv(tmp_path / f"{FAST[0].name}.csv")
    row = table.query("method == 'AdaBoost SDB' and measure == 'accuracy' and setting == 'ours'").iloc[0]
    values = results.values("adult", "AdaBoost SDB", "statistical_parity", "accuracy")
    assert (row["mean"], row["sd"], row["n"]) == pytest.approx((values.mean(), values.std(ddof=1), 2), rel=1e-4)
    balance = pd.read_csv(tmp_path / f"{FAST[3].name}.csv")
    assert sorted(balance["c"].unique()) == list(C_VALUES)
    index = (tmp_path / "README.md").read_text(encoding="utf8")
    assert "parityboost reproduce" in index
    assert "scikit-learn" in index
    assert "45,175" in index
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert len(rows) == len(results.rows)
    assert set(rows["status"]) == {"ok"}
    assert Scope.read(tmp_path) == scope


def test_the_same_rows_make_the_same_files(made, tmp_path):
    store, runs = made
    figure = FAST[0]
    for name in ("one", "two"):
        write_figure(figure, {"ours": Results(store, runs)}, tmp_path / name, ["adult"])
    for path in (f"figures/{figure.name}-adult-ours.svg", f"{figure.name}.csv", f"{figure.name}.md"):
        files = [(tmp_path / name / path).read_bytes() for name in ("one", "two")]
        assert files[0] == files[1]


def test_a_figure_without_runs_is_not_drawn_and_one_with_some_has_gaps(made, tmp_path):
    store, runs = made
    assert not write_figure(FIGURES[3], {"ours": Results(store, runs)}, tmp_path, ["adult"])
    some = [run for run in runs if run.method != "SMOTEBoost"]
    assert write_figure(FAST[0], {"ours": Results(store, some)}, tmp_path, ["adult"])
    table = pd.read_csv(tmp_path / f"{FAST[0].name}.csv")
    assert table.query("method == 'SMOTEBoost'")["mean"].isna().all()
    assert "–" in (tmp_path / f"{FAST[0].name}.md").read_text(encoding="utf8")


def test_markdown_tables_are_aligned_and_escape_bars():
    text = markdown(pd.DataFrame({"a": ["x|y", None], "long name": [1, 2]}))
    assert len({len(line) for line in text.splitlines()}) == 1
    assert "x\\|y" in text


def test_readable_claims_have_sane_digits_and_signs(made):
    store, runs = made
    text = readable_claims(compare(CLAIMS, {"ours": Results(store, runs)}), ["ours"])
    assert text["ours"].str.fullmatch(r"○ –|[✓≈✗] [+−]?\d+\.(\d|\d{3})( ± \d+\.(\d|\d{3}))?( tie)?").all()
    differences = pd.Series([claim.check.signed for claim in CLAIMS]) & ~text["ours"].str.startswith("○")
    assert differences.any()
    assert text.loc[differences, "ours"].str.match(r". [+−]").all()
    assert not text.loc[~differences, "ours"].str.match(r". [+−]").any()
