"""Where numba cannot be imported, everything but training works, with the same bits."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import make_people, run_python
from parityboost import AdaBoostClassifier, AdaFairClassifier
from parityboost._engine.kernels import columns as kernels
from parityboost.explain import contributions

FLOATS = st.floats(width=64, allow_nan=True, allow_infinity=True)


@given(values=st.lists(FLOATS, max_size=30), edges=st.sets(st.floats(-1e300, 1e300), max_size=30))
def test_the_twin_of_encoding_gives_the_same_codes(values, edges):
    values, edges = np.array(values, dtype=float), np.array(sorted(edges), dtype=float)
    for some in (values, np.concatenate([values, edges])):
        codes, twins = np.zeros(len(some), np.uint8), np.ones(len(some), np.uint8)
        finite = kernels.encode_numbers(some, edges, codes)
        assert kernels.encode_numbers_in_numpy(some, edges, twins) == finite
        np.testing.assert_array_equal(twins, codes)


def test_the_twin_of_the_look_up_gives_the_same_sums():
    rng = np.random.default_rng(0)
    codes, steps = rng.integers(0, 256, 1000).astype(np.uint8), rng.normal(size=256)
    margin = rng.normal(size=1000)
    other = margin.copy()
    kernels.add_steps(codes, steps, margin)
    kernels.add_steps_in_numpy(codes, steps, other)
    np.testing.assert_array_equal(other, margin)


def test_the_twins_of_pairs_and_trees_give_the_same_sums():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 256, (3, 5000)).astype(np.uint8)
    columns, widths = np.array([[0, 1], [2, 0]]), np.array([4, 3])
    row_of, column_of = rng.integers(0, 5, (2, 256)).astype(np.uint8), rng.integers(0, 3, (2, 256)).astype(np.uint8)
    pairs = codes, columns, row_of, column_of, widths, np.array([0, 20]), rng.normal(size=35)
    tree = *codes, *(rng.random((3, 256)) < 0.5), rng.normal(size=4)
    for name, parts in (("add_pair_steps", pairs), ("add_tree", tree)):
        margin = rng.normal(size=5000)
        other = margin.copy()
        getattr(kernels, name)(*parts, margin)
        getattr(kernels, f"{name}_in_numpy")(*parts, other)
        np.testing.assert_array_equal(other, margin)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models, data, and what numba's kernels make of them."""
    folder = tmp_path_factory.mktemp("models")
    X, y, group = make_people(200)
    X = X.assign(group=group)
    X.assign(y=y).to_csv(folder / "people.csv", index=False)
    model = AdaFairClassifier(n_estimators=10, sensitive_feature="group", threshold="per_group", random_state=0)
    model.fit(X, y).save(folder / "model.json")
    AdaBoostClassifier(10).fit(X, y).save(folder / "plain.json")
    pairs = AdaFairClassifier(n_estimators=10, max_depth=2, random_state=0).fit(X, y, sensitive_features=group)
    pairs.save(folder / "pairs.json")
    expected = {
        "scores": [value.hex() for value in model.decision_function(X)],
        "stages": [value.hex() for margin in model.staged_decision_function(X) for value in margin],
        "parts": contributions(model, X).to_numpy().tolist(),
        "pairs": [value.hex() for value in pairs.decision_function(X)],
        "stages of pairs": [value.hex() for margin in pairs.staged_decision_function(X) for value in margin],
    }
    (folder / "expected.json").write_text(json.dumps(expected))
    return folder


BLOCKED = """
import json, sys
sys.modules["numba"] = None  # importing it now fails
import pandas as pd
from pathlib import Path
import parityboost
folder = Path({folder!r})
people = pd.read_csv(folder / "people.csv").astype({{"job": "category"}})
X, y = people.drop(columns="y"), people["y"]
model = parityboost.load(folder / "model.json")
"""


def run_blocked(folder, code):
    result = run_python(BLOCKED.format(folder=str(folder)) + code)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_loading_predicting_and_explaining(folder):
    run_blocked(
        folder,
        """
expected = json.loads((folder / "expected.json").read_text())
assert [value.hex() for value in model.decision_function(X)] == expected["scores"]
assert [value.hex() for margin in model.staged_decision_function(X) for value in margin] == expected["stages"]
from parityboost import explain
assert explain.contributions(model, X).to_numpy().tolist() == expected["parts"]
explain.importances(model, X), explain.shape_functions(model), explain.gap_decomposition(model, X, X["group"])
pairs = parityboost.load(folder / "pairs.json")
assert [value.hex() for value in pairs.decision_function(X)] == expected["pairs"]
stages = [value.hex() for margin in pairs.staged_decision_function(X) for value in margin]
assert stages == expected["stages of pairs"]
explain.contributions(pairs, X), explain.importances(pairs, X), explain.gap_decomposition(pairs, X, X["group"])
model.set_theta(3).set_threshold(0.1).predict_proba(X)
""",
    )


def test_auditing_reporting_and_exporting(folder):
    pytest.importorskip("jinja2"), pytest.importorskip("plotly"), pytest.importorskip("onnx")
    run_blocked(
        folder,
        """
from parityboost.audit import audit
from parityboost import metrics, report
assert "Summary" in str(audit(y, model.predict(X), sensitive_features=X["group"]))
metrics.group_table(y, model.predict(X), sensitive_features=X["group"])
baseline = parityboost.load(folder / "plain.json")
report.write_report(folder / "report.html", model, X, y, baseline=baseline)
parityboost.load(folder / "plain.json").to_onnx(folder / "plain.onnx")
model.save(folder / "again.json")
""",
    )
    assert (folder / "report.html").stat().st_size > 100_000
    assert (folder / "again.json").exists()


def test_the_command_line(folder):
    pytest.importorskip("typer")
    out = run_blocked(
        folder,
        """
from parityboost.cli import app
for command in (
    ["predict", "model.json", "people.csv", "--out", "predicted.csv"],
    ["explain", "model.json"],
    ["audit", "predicted.csv", "--target", "y", "--prediction", "prediction", "--sensitive", "group"],
):
    app([str(folder / part) if part.endswith(("json", "csv")) else part for part in command], standalone_mode=False)
""",
    )
    assert "200 rows" in out and "Summary" in out


def test_training_says_what_it_needs(folder):
    out = run_blocked(
        folder,
        """
from parityboost import AdaFairClassifier
for train in (
    lambda: AdaFairClassifier("none").fit(X, y),
    lambda: model.frontier(X, y),
):
    try:
        train()
    except ImportError as error:
        print(error)
""",
    )
    assert out.count("need numba, which cannot be imported: pip install numba. Loading, predicting") == 2
