"""The picture of a pair of features shows its table, and what the table rests on."""

import numpy as np
import pandas as pd
import pytest

from parityboost import AdaFairClassifier, explain

plt = pytest.importorskip("matplotlib.pyplot")
from parityboost import AdaBoostClassifier, plot  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def mixed():
    """Numbers, categories and missing values whose effects depend on each other."""
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(1)),
            "place": pd.Categorical(rng.choice(list("abcde"), n)),
            "job": pd.Categorical(rng.choice(["smith", "clerk", "judge"], n)),
        }
    )
    signal = np.where(X["place"].isin(["a", "b"]), 1.5, -1.5) * X["number"].fillna(1.0)
    signal += np.where((X["place"] == "a") & (X["job"] == "judge"), 3.0, 0.0)
    y = (signal + rng.normal(size=n) > 0).astype(int)
    model = AdaFairClassifier("none", max_depth=2, n_estimators=60, validation_fraction=None)
    return model.fit(X, y, sensitive_features=np.arange(n) % 2), X


def cells(ax):
    return [patch for patch in ax.patches if patch.get_width() == 1 and patch.get_height() == 1]


@pytest.mark.parametrize("features", [("number", "place"), ("place", "job"), (0, 2)])
def test_every_cell_says_its_score_and_its_rows(mixed, features):
    model, _ = mixed
    function = explain.pair_function(model, *features)
    ax = plot.pair(model, *features)
    shape = len(ax.get_yticks()), len(ax.get_xticks())
    assert len(cells(ax)) == shape[0] * shape[1]
    texts = {text.get_text() for text in ax.texts}
    for score, weight in zip(function.scores.ravel(), function.weight.ravel(), strict=True):
        if weight > 0:
            shown = "0.00" if abs(score) < 0.005 else f"{score:+.2f}".replace("-", "−")
            assert f"{shown}\n{weight:,.0f}" in texts
    assert (ax.get_ylabel(), ax.get_xlabel()) == function.features


def test_missing_values_have_a_row_of_their_own_only_if_there_were_any(mixed):
    model, _ = mixed
    rows = [label.get_text() for label in plot.pair(model, "number", "place").get_yticklabels()]
    assert rows[-1] == "missing"
    columns = [label.get_text() for label in plot.pair(model, "number", "place").get_xticklabels()]
    assert "missing" not in columns


def test_cells_of_few_rows_are_faded_and_cells_of_none_hatched(mixed):
    model, X = mixed
    few = X[(X["place"] != "a") | (X["job"] != "judge")]
    one = X[(X["place"] == "a") & (X["job"] == "judge")].iloc[:1]
    ax = plot.pair(model, "place", "job", few)
    assert any(cell.get_hatch() for cell in cells(ax))
    assert "hatched: no rows" in ax.texts[-1].get_text()
    ax = plot.pair(model, "place", "job", pd.concat([few, one]))
    assert not any(cell.get_hatch() for cell in cells(ax))
    assert "grey: fewer than 20 rows" in ax.texts[-1].get_text()
    assert "grey" not in plot.pair(model, "place", "job", few=0).texts[-1].get_text()


def test_numbers_are_left_out_where_cells_have_no_room_for_them(mixed):
    model, _ = mixed
    _, ax = plt.subplots(figsize=(1.6, 1.2))
    plot.pair(model, "number", "place", ax=ax)
    assert cells(ax)
    assert [text.get_text().split(";")[0] for text in ax.texts] == ["Blue raises the score, orange lowers it"]


def test_rows_of_new_data_are_counted(mixed):
    model, X = mixed
    ax = plot.pair(model, "place", "job", pd.concat([X.iloc[:30]] * 2))
    numbers = [
        int(text.get_text().split("\n")[1].replace(",", "")) for text in ax.texts[:-1] if "\n" in text.get_text()
    ]
    assert sum(numbers) == 60


def test_the_strongest_values_are_drawn_if_there_are_many(mixed):
    model, _ = mixed
    ax = plot.pair(model, "number", "place", top=2)
    assert len(ax.get_yticks()) == 3  # and missing values
    assert len(ax.get_xticks()) == 2


def test_a_pair_that_the_model_does_not_have(mixed):
    model, X = mixed
    with pytest.raises(ValueError, match=r"does not combine 'number' × 'number'; the pairs that matter most are "):
        plot.pair(model, "number", "number")
    stumps = AdaBoostClassifier(3).fit(X, np.arange(len(X)) % 2)
    with pytest.raises(ValueError, match=r"does not combine .* it has no pairs: fit it with max_depth=2"):
        plot.pair(stumps, "number", "job")
    with pytest.raises(ValueError, match=r"no feature 'nothing'"):
        plot.pair(model, "number", "nothing")


def test_other_pictures_show_pairs_as_well(mixed):
    model, X = mixed
    rows = [label.get_text() for label in plot.importances(model, X).get_yticklabels()]
    assert "number × place" in rows
    ax = plot.waterfall(model, X.iloc[[0]], background=X)
    assert any("×" in label.get_text() for label in ax.get_yticklabels())
    ax = plot.gap_decomposition(model, X, np.arange(len(X)) % 2, top=2)
    assert "other features and pairs" in ax.get_yticklabels()[-1].get_text()
