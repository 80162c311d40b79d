"""The report on a model of trees: its pairs of features, and how much of the score they carry."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from parityboost import AdaFairClassifier, explain, report
from parityboost.report import _figures

pytest.importorskip("jinja2"), pytest.importorskip("plotly")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    n = 2000
    X = pd.DataFrame({"pay": rng.normal(size=n), "place": rng.choice(["a", "b", "<c>"], n), "age": rng.normal(size=n)})
    y = (X["pay"] * np.where(X["place"] == "a", 1, -1) + 0.1 * X["age"] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, y, np.where(rng.random(n) < 0.5, "x", "y")


@pytest.fixture(scope="module")
def built(data):
    X, y, group = data
    model = AdaFairClassifier("none", max_depth=2, n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    return model, report.build(model, X, y, sensitive_features=group)


def test_the_pairs_that_matter_most_are_told_and_drawn(built, data):
    model, found = built
    functions = list(explain.pair_functions(model).values())
    assert found["model"]["n_pairs"] == len(functions)
    first = found["model"]["pairs"][0]
    assert first["features"] == list(functions[0].features)
    assert ["pay", "place"] in [pair["features"] for pair in found["model"]["pairs"]]
    np.testing.assert_array_equal(first["scores"], functions[0].scores)
    parts = explain.contributions(model, data[0]).drop(columns="constant")
    is_pair = np.array(["×" in name for name in parts])
    alone, together = (
        np.abs(part - part.mean()).mean() for part in (parts.loc[:, of].sum(axis=1) for of in (~is_pair, is_pair))
    )
    assert found["model"]["pair_share"] == pytest.approx(together / (alone + together))
    page = report.to_html(found)
    assert "What two features add together" in page
    share = re.escape(f"{100 * found['model']['pair_share']:.1f}")
    assert re.search(rf"{share}\s?%\s+of\s+what\s+moves\s+the\s+score", page)
    assert "<c>" not in page.split("<script")[0]
    json.loads(report.to_json(found))


def test_cells_of_few_rows_are_grey_and_cells_of_none_empty():
    found = {
        "features": ["a", "b"],
        "rows": ["low", "high", "missing"],
        "columns": ["left", "right", "missing"],
        "scores": [[0.5, -0.5, 9.0], [-0.25, 0.25, 9.0], [1.0, 1.0, 9.0]],
        "weight": [[100.0, 19.0, 0.0], [50.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        "mean_abs": 0.1,
    }
    figure = _figures.pair(found, 0)
    enough, few = (trace["z"] for trace in figure.spec["data"])
    assert enough == [[0.5, None], [-0.25, None]]
    assert few == [[None, -0.5], [None, None]]
    assert "Grey cells have fewer than 20 training rows. Empty cells have no training rows." in figure.caption
    assert "highest for a low and b left (+0.50)" in figure.caption
    assert [row[3] for row in figure.table.rows] == ["100", "19", "50"]


def test_stumps_have_no_pairs_to_show(data):
    X, y, group = data
    model = AdaFairClassifier("none", n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    found = report.build(model, X, y, sensitive_features=group)
    assert found["model"]["pairs"] is None
    assert "What two features add together" not in report.to_html(found)
