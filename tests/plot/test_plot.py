"""Figures draw the numbers that the other modules compute."""

import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, explain, metrics, plot
from parityboost.plot import _chart

plt.switch_backend("agg")


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture
def model(people):
    X, y, group = people
    return AdaFairClassifier(n_estimators=30, c=0.5, random_state=0).fit(X, y, sensitive_features=group)


@pytest.fixture
def plain(people):
    X, y, group = people
    return AdaBoostClassifier(20).fit(X, y, sensitive_features=group)


@pytest.fixture
def average(people):
    X, y, group = people
    model = ParityBoostClassifier(n_bags=2, n_estimators=8, dial=True, random_state=0)
    return model.fit(X, y, sensitive_features=group)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def widths(ax):
    return np.array([bar.get_width() for bar in ax.patches])


def line(ax, label):
    (found,) = [line for line in ax.get_lines() if line.get_label() == label]
    return found


def visible_words(ax):
    """All that is written; matplotlib keeps labels of ticks outside the view, and does not draw them."""
    words = [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax._left_title]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        words += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [word for word in words if word.get_text()]


def assert_nothing_is_cut_off(ax):
    """Every word lies inside the figure, and no two words on each other."""
    figure = ax.figure
    figure.draw_without_rendering()
    boxes = []
    for word in visible_words(ax):
        box = word.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1, word
        assert box.y0 >= -1 and box.y1 <= figure.bbox.y1 + 1, word
        box = box.padded(-0.15 * word.get_fontsize())  # letters do not fill their box
        for other, other_box in boxes:
            assert not box.overlaps(other_box), (word, other)
        boxes.append((word, box))


def test_a_numeric_feature_is_drawn_as_its_steps(model, people):
    X = people[0]
    function = explain.shape_function(model, "skill")
    for data in (None, X):
        ax = plot.shape_function(model, "skill", data)
        steps = ax.patches[0].get_data()
        assert steps.values.tolist() == list(function.scores)
        assert steps.edges[1:-1].tolist() == list(function.thresholds)
        (marker,) = [shown for shown in ax.get_lines() if shown.get_marker() == "D"]
        assert marker.get_ydata().tolist() == [function.missing]
        assert ax.get_xlabel() == "skill"
        assert_nothing_is_cut_off(ax)
    share = X["skill"].isna().mean()
    assert texts(ax) == [f"missing ({share:.1%} of X)"]


def test_a_score_of_missing_values_beyond_all_others_is_in_the_picture():
    x = np.repeat([1.0, 2.0, np.nan], 50)
    model = AdaBoostClassifier(10).fit(
        x[:, None], np.random.default_rng(0).random(150) < np.where(np.isnan(x), 0.9, x / 4)
    )
    function = explain.shape_function(model, "x0")
    assert function.missing > max(function.scores)
    low, high = plot.shape_function(model, "x0", x[:, None]).get_ylim()
    assert low < min(function.scores) < function.missing < high


def test_the_histogram_counts_the_rows_in_view(model, people):
    years = people[0]["years"]
    ax = plot.shape_function(model, "years", people[0])
    (density,) = [other for other in ax.figure.axes if other is not ax]
    bars = density.patches
    for bar in bars:
        inside = (years >= bar.get_x()) & (years < bar.get_x() + bar.get_width())
        assert bar.get_height() == inside.sum()
    assert sum(bar.get_height() for bar in bars) >= 0.98 * len(years)
    assert density.get_ylim()[1] == 5 * max(bar.get_height() for bar in bars)
    assert texts(ax) == ["missing (none in X)"]


def test_categories_of_the_same_score_share_a_bar(people):
    X, y, _ = people
    rng = np.random.default_rng(0)
    town = rng.choice(["Ulm", "Bern", "Graz", "Linz", "Wien"], len(X), p=[0.1, 0.15, 0.2, 0.3, 0.25])
    X = X.assign(town=town)
    y = np.where(town == "Wien", 1, y)
    model = AdaBoostClassifier(3).fit(X[["town"]], y)
    function = explain.shape_function(model, "town")
    assert len(set(function.scores)) == 2
    ax = plot.shape_function(model, "town", X[["town"]])
    counts = pd.Series(town).value_counts().drop("Wien")
    assert rows(ax) == ["Wien", f"{counts.index[0]}, {counts.index[1]} and 2 others", "any other", "missing"]
    assert widths(ax).tolist() == [max(function.scores), min(function.scores), function.other, function.missing]
    shares = [(town == "Wien").mean(), (town != "Wien").mean(), 0.0, 0.0]
    first, *others = (f"{share:.1%}" for share in shares)
    assert texts(ax)[4:] == [f"{first} of X", *others]
    assert_nothing_is_cut_off(ax)


def test_of_many_categories_the_extremes_are_drawn():
    names = [f"${k} and a name that is much longer than anyone would want it to be, number {k}" for k in range(40)]
    column = "the name of the column is also quite long, and has a price tag of $5 in it, or $6"
    X = pd.DataFrame({column: np.repeat(names, 30)})
    y = np.random.default_rng(0).random(len(X)) < np.repeat(np.arange(40) / 40, 30)
    model = AdaBoostClassifier(200).fit(X, y)
    scores = sorted(set(explain.shape_function(model, column).scores), reverse=True)
    assert len(scores) > 12
    ax = plot.shape_function(model, column, X, top=11)
    assert widths(ax)[:-2].tolist() == [*scores[:6], *scores[-5:]]
    assert len(rows(ax)) == 13
    for other in (ax, plot.waterfall(model, X[:1]), plot.importances(model), plot.gap_decomposition(model, X, y)):
        assert_nothing_is_cut_off(other)


def test_a_feature_that_held_nothing_can_be_drawn(people):
    X, y, _ = people
    X = X.assign(empty=np.nan, unknown=pd.Categorical([None] * len(X), ["left", "right"]))
    model = AdaBoostClassifier(3).fit(X, y)
    for data in (None, X, X.assign(empty="text", unknown="left")):
        assert plot.shape_function(model, "empty", data).patches[0].get_data().values.tolist() == [0.0]
        ax = plot.shape_function(model, "unknown", data)
        assert (rows(ax), widths(ax).tolist()) == (["any other", "missing"], [0.0, 0.0])
    assert texts(ax)[2:] == ["100.0% of X", "0.0%"]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("top", [1, 2, 10])
def test_a_waterfall_leads_from_the_start_to_the_score(people, background, top):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=30, threshold=0.125, random_state=0).fit(X, y, sensitive_features=group)
    parts = explain.contributions(model, X)
    start = parts.mean().sum() if background else -0.125
    own = parts.drop(columns="constant")
    own = (own - own.mean() if background else own).iloc[7]
    ax = plot.waterfall(model, X.iloc[[7]], background=X if background else None, top=top)
    edges = [bar.get_x() + np.array([0, bar.get_width()]) for bar in ax.patches]
    assert edges[0][0] == pytest.approx(start)
    for before, after in pairwise(edges):
        assert after[0] == pytest.approx(before[1])
    score = model.decision_function(X.iloc[[7]])[0]
    assert edges[-1][1] == pytest.approx(score)
    largest = own[own.abs().sort_values(ascending=False).index[0]]
    assert widths(ax)[0] == pytest.approx(largest)
    assert rows(ax)[0] == ("mean score" if background else "constant")
    assert rows(ax)[-1] == "score"
    assert len(ax.patches) == min(top + 1, 5)
    assert (f"{5 - top} other features" in rows(ax)) == (top < 4)
    assert texts(ax)[-1] == _chart.signed(score)
    assert_nothing_is_cut_off(ax)


def test_a_waterfall_takes_a_series_and_says_what_is_missing(model, people):
    X = people[0]
    position = int(np.flatnonzero(X["skill"].isna())[0])
    ax = plot.waterfall(model, X.iloc[position])
    assert "skill = missing" in rows(ax)
    assert widths(ax).tolist() == widths(plot.waterfall(model, X.iloc[[position]])).tolist()
    with pytest.raises(ValueError, match="got 300 rows"):
        plot.waterfall(model, X)


def test_columns_named_like_sums_are_drawn_beside_them(people):
    X, y, group = people
    X = X.rename(columns={"skill": "total", "years": "constant"})
    model = AdaFairClassifier(n_estimators=10, random_state=0).fit(X, y, sensitive_features=group)
    drawn = rows(plot.waterfall(model, X.iloc[[0]]))
    assert drawn[0] == "(constant)"
    assert any(row.startswith("total = ") for row in drawn)
    drawn = plot.gap_decomposition(model, X, group)
    assert rows(drawn)[0] == "(total)"
    assert "total" in rows(drawn)


def test_importances_are_bars_in_their_order(model, people):
    X = people[0]
    for data, column in ((None, "alpha_share"), (X, "mean_abs_deviation")):
        expected = explain.importances(model, data)[column]
        expected = expected[expected > 0]
        ax = plot.importances(model, data)
        assert widths(ax).tolist() == expected.tolist()
        assert rows(ax) == expected.index.tolist()
        assert_nothing_is_cut_off(ax)
        assert widths(plot.importances(model, data, top=2)).tolist() == expected[:2].tolist()


def test_the_gap_of_several_models_is_drawn_side_by_side(people):
    X, y, group = people
    models = {"plain": AdaBoostClassifier(100), "fair": AdaFairClassifier(n_estimators=100, validation_fraction=None)}
    for model in models.values():
        model.fit(X, y, sensitive_features=group)
    gaps = explain.compare_gaps(models, X, group)
    ax = plot.gap_decomposition(models, X, group, top=2)
    n_others = int((gaps.iloc[2:-1] != 0).any(axis=1).sum())  # that some model uses
    assert rows(ax) == ["total", *gaps.index[:2], f"{n_others} other features"]
    for container, name in zip(ax.containers, models, strict=True):
        drawn = [bar.get_width() for bar in container]
        rest = gaps[name].iloc[2:-1].sum()
        np.testing.assert_allclose(drawn, [gaps[name]["total"], *gaps[name].iloc[:2], rest])
        assert drawn[0] == pytest.approx(sum(drawn[1:]))
        assert any(text.endswith(name) for text in texts(ax))
    assert "(b − a)" in ax.get_xlabel()
    assert_nothing_is_cut_off(ax)


def test_the_gap_of_one_model_between_all_groups(model, people):
    X = people[0]
    gaps = explain.gap_decomposition(model, X, X["job"])
    ax = plot.gap_decomposition(model, X, X["job"])
    assert [container.get_label() for container in ax.containers] == ["cook", "smith"]
    assert "(group − clerk)" in ax.get_xlabel()
    for container, column in zip(ax.containers, gaps, strict=True):
        assert container[0].get_width() == gaps.loc["total", column]
    assert_nothing_is_cut_off(ax)
    one = plot.gap_decomposition(model, X, X["job"], groups=("smith", "cook"))
    assert widths(one)[0] == explain.gap_decomposition(model, X, X["job"], groups=("smith", "cook")).iloc[-1, 0]
    assert "(cook − smith)" in one.get_xlabel()


def test_history_draws_what_the_objective_is_made_of(model):
    ax = plot.history(model)
    history = model.history_
    for data in ("train", "validation"):
        for column, name in (("er", "error"), ("ber", "balanced error"), ("violation",) * 2, ("objective",) * 2):
            drawn = line(ax, f"{data} {name}")
            np.testing.assert_array_equal(drawn.get_ydata(), history[f"{data}_{column}"])
            np.testing.assert_array_equal(drawn.get_xdata(), history.index)
    assert f"θ = {model.theta_}" in texts(ax)
    assert {"error", "balanced error", "violation", "objective"} <= set(texts(ax))
    assert [mark.get_xdata() for mark in ax.get_lines()][-1] == [model.theta_, model.theta_]
    assert_nothing_is_cut_off(ax)


@pytest.mark.parametrize(("c", "absent"), [(1.0, "error"), (0.0, "balanced error")])
def test_history_leaves_out_the_error_that_does_not_count(people, c, absent):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, c=c, validation_fraction=None).fit(X, y, sensitive_features=group)
    assert absent not in texts(plot.history(model))


def test_history_without_a_notion_is_the_errors_alone(plain):
    ax = plot.history(plain)
    assert [shown.get_label() for shown in ax.get_lines()] == ["train error", "train balanced error"]
    assert not any("θ" in text for text in texts(ax))  # nothing was chosen


def test_costs_are_the_differences_between_groups(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=20, epsilon=0.05, random_state=0).fit(X, y, sensitive_features=group)
    ax = plot.costs(model)
    for name in ("fnr", "fpr"):
        np.testing.assert_array_equal(line(ax, f"δ {name}").get_ydata(), model.history_[f"delta_{name}"])
    assert ax.get_ylabel() == "b − a"
    band = ax.patches[0]
    assert (band.get_y(), band.get_height()) == pytest.approx((-0.05, 0.1))
    assert_nothing_is_cut_off(ax)
    many = AdaFairClassifier("statistical_parity", n_estimators=5, random_state=0, cumulative=False)
    assert "largest" in plot.costs(many.fit(X, y, sensitive_features=X["job"])).get_ylabel()


def test_group_bars_are_the_rates_of_the_table(model, people):
    X, y, group = people
    predicted = model.predict(X)
    weights = np.random.default_rng(0).uniform(1, 2, len(y))
    sensitive = pd.DataFrame({"group": group, "job": X["job"], "city": X["city"]})  # more groups than colours
    for by in (group, sensitive):
        table = metrics.group_table(y, predicted, sensitive_features=by, sample_weight=weights).iloc[:-1]
        ax = plot.group_bars(y, predicted, by, sample_weight=weights)
        expected = pd.concat([table["tpr"], table["tnr"], table["selection_rate"]])
        assert widths(ax).tolist() == expected.tolist()
        assert rows(ax) == expected.index.tolist()
        assert {f"{rate:.2f}" for rate in expected} <= set(texts(ax))
        assert_nothing_is_cut_off(ax)


def test_group_bars_say_where_a_rate_is_not_defined():
    ax = plot.group_bars([1, 0, 0, 0], [1, 1, 0, 0], list("aabb"))
    assert texts(ax).count("not defined") == 1


def test_the_trade_off_over_c_draws_the_choices(model):
    choices = explain.choices_over_c(model)
    ax = plot.tradeoff_c(model)
    for column, name in (("er", "error"), ("ber", "balanced error"), ("violation", "violation")):
        np.testing.assert_array_equal(line(ax, name).get_ydata(), choices[column])
        np.testing.assert_array_equal(line(ax, name).get_xdata(), choices["c"])
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert ticks == [f"{c:g}\nθ={theta}" for c, theta in zip(choices["c"], choices["theta"], strict=True)]
    assert_nothing_is_cut_off(ax)
    assert len(plot.tradeoff_c(model, np.linspace(0, 1, 101)).get_xticklabels()) == 11
    with pytest.raises(ValueError, match="values is empty"):
        plot.tradeoff_c(model, [])


def test_the_trade_off_along_the_rounds_marks_theta(model):
    ax = plot.tradeoff_theta(model)
    violation, ber = model.history_["validation_violation"], model.history_["validation_ber"]
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), np.column_stack([violation, ber]))
    (ring,) = [shown for shown in ax.get_lines() if shown.get_marker() == "o"]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (violation[model.theta_], ber[model.theta_])
    assert f"θ = {model.theta_}" in texts(ax)


def test_the_frontier_shows_its_table_and_the_lowest_objective(model, people):
    X, y, group = people
    for data in ({}, {"X": X, "y": y, "sensitive_features": group}):
        ax = plot.frontier(model, **data)
        table = model.frontier(**data)
        np.testing.assert_array_equal(ax.collections[0].get_offsets(), table[["violation", "ber"]])
        best = table.loc[table["objective"].idxmin()]
        (ring,) = [shown for shown in ax.get_lines() if shown.get_marker() == "o"]
        assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (best["violation"], best["ber"])
        numbered = [text for text in texts(ax) if text.endswith(f"θ = {table['theta'].iloc[0]:.0f}")]
        assert any(text.startswith(f"{table.index[0]}:") for text in numbered)
        assert_nothing_is_cut_off(ax)


def test_no_point_is_below_the_line_of_equal_objective(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=30, random_state=0).fit(X, y, sensitive_features=group)
    ax = plot.tradeoff_theta(model)
    x, y = ax.get_lines()[-1].get_xy1()
    points = ax.collections[0].get_offsets().sum(axis=1)
    assert points.min() >= x + y - 1e-12
    assert ax.get_lines()[-1].get_slope() == -1


DRAW = {
    "shape_function": lambda model, X, group, ax: plot.shape_function(model, "skill", X, ax=ax),
    "shape_function of categories": lambda model, X, group, ax: plot.shape_function(model, "job", X, ax=ax),
    "waterfall": lambda model, X, group, ax: plot.waterfall(model, X[:1], ax=ax),
    "importances": lambda model, X, group, ax: plot.importances(model, X, ax=ax),
    "gap_decomposition": lambda model, X, group, ax: plot.gap_decomposition(model, X, group, ax=ax),
    "history": lambda model, X, group, ax: plot.history(model, ax=ax),
    "costs": lambda model, X, group, ax: plot.costs(model, ax=ax),
    "tradeoff_c": lambda model, X, group, ax: plot.tradeoff_c(model, ax=ax),
    "tradeoff_theta": lambda model, X, group, ax: plot.tradeoff_theta(model, ax=ax),
    "frontier": lambda model, X, group, ax: plot.frontier(model, ax=ax),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_figures_are_drawn_on_the_axes_given(draw, model, people):
    X, _, group = people
    _, axes = plt.subplots(1, 2)
    assert draw(model, X, group, axes[1]) is axes[1]
    assert axes[1].has_data()
    assert not axes[0].has_data()
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_what_is_not_fitted_is_not_drawn(draw, people):
    X, _, group = people
    plt.close("all")  # those of examples in docstrings, which may have run before
    with pytest.raises(NotFittedError):
        draw(AdaFairClassifier(), X, group, None)
    assert not plt.get_fignums()


@pytest.mark.parametrize("draw", [*DRAW.values(), lambda *_: plot.group_bars([0, 1], [0, 1], ["a", "b"])])
def test_without_matplotlib_it_says_what_to_install(draw, model, people, monkeypatch):
    X, _, group = people
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'needs matplotlib: pip install "matplotlib>='):
        draw(model, X, group, None)


def test_models_without_a_notion_have_no_costs(plain):
    for draw in (plot.costs, plot.tradeoff_theta):
        with pytest.raises(ValueError, match=r"AdaBoostClassifier has no .* its notion is 'none'"):
            draw(plain)


@pytest.mark.parametrize("draw", [plot.history, plot.costs, plot.tradeoff_theta, plot.tradeoff_c])
def test_the_rounds_of_an_average_are_not_drawn_as_if_they_were_one_run(draw, average):
    with pytest.raises(ValueError, match=r"this ParityBoostClassifier is an average .* plot\.frontier draws them"):
        draw(average)
    assert not plt.get_fignums()


def test_the_frontier_of_an_average_numbers_its_points(average):
    ax, table = plot.frontier(average), average.frontier()
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), table[["violation", "ber"]])
    assert {str(table.index[0]), "lowest objective"} <= set(texts(ax))
    assert {int(text) for text in texts(ax) if text.isdigit()} <= set(table.index)


FITTED = {
    "the paper's": AdaFairClassifier(n_estimators=30, random_state=0),
    "the paper's, of pairs": AdaFairClassifier(n_estimators=30, max_depth=2, threshold="auto", random_state=0),
    "an average": ParityBoostClassifier(n_bags=2, n_estimators=30, dial=False, random_state=0),
    "an average with a dial": ParityBoostClassifier(n_bags=2, n_estimators=30, random_state=0),
}


@pytest.mark.no_cover
@pytest.mark.parametrize("name", FITTED)
def test_every_figure_is_drawn_of_every_kind_of_model(name, people):
    X, y, group = people
    model = clone(FITTED[name]).fit(X, y, sensitive_features=group)
    figures = {shown: plot.__dict__[shown] for shown in plot.__all__ if shown not in ("over_time", "pair")}
    of_data = {"group_bars": (y, model.predict(X), group), "reliability": (y, model.predict_proba(X)[:, 1], group)}
    of_model = {
        "shape_function": (model, "skill", X),
        "waterfall": (model, X.iloc[[0]]),
        "importances": (model, X),
        "gap_decomposition": (model, X, group),
    }
    for shown, figure in figures.items():
        given = (of_data | of_model).get(shown, (model,))
        if shown in ("history", "costs", "tradeoff_c", "tradeoff_theta") and hasattr(model, "thetas_"):
            with pytest.raises(ValueError, match="is an average"):
                figure(*given)
            continue
        ax = figure(*given)
        assert ax.has_data(), shown
        if shown not in ("tradeoff_theta", "frontier"):  # whose points may lie below words
            assert_nothing_is_cut_off(ax)
    for pair in list(explain.pair_functions(model))[:2] if model.max_depth == 2 else []:
        assert_nothing_is_cut_off(plot.pair(model, *pair, X))


def test_x_of_another_kind_is_refused(model, people):
    X = people[0]
    with pytest.raises(ValueError, match="'years' held numbers"):
        plot.shape_function(model, "years", X.assign(years="many"))
    with pytest.raises(ValueError, match="column 'skill' of X contains infinity"):
        plot.shape_function(model, "skill", X.assign(skill=np.inf))
    with pytest.raises(ValueError, match="no feature 'age'"):
        plot.shape_function(model, "age")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([0, 100], [0, 100]),
        ([0, 0], [-5, 5]),
        ([0, 1, 30], [-4.5, 5.5, 30]),
        ([0, 8, 9], [-10 + 17 / 3, 17 / 3, 10 + 17 / 3]),  # the second pair pushes into the first
    ],
)
def test_labels_are_moved_apart_no_further_than_need_be(wanted, expected):
    np.testing.assert_allclose(_chart.apart(wanted, 10), expected)


def test_numbers_of_categories_meet_neither_names_nor_shares(average, people):
    X = people[0]
    for feature in ("job", "city"):
        ax = plot.shape_function(average, feature, X)
        assert any("±" in text for text in texts(ax)) and texts(ax)[-1].endswith("%")
        assert_nothing_is_cut_off(ax)


def test_what_is_too_long_loses_its_middle_and_only_then():
    assert _chart.cut("hours per week", 14) == "hours per week"
    assert _chart.cut("hours per week and month", 14) == "hours p… month"
    name = "the number of hours that a person works in a usual week"
    assert _chart.plain(name, 40).replace("\n", " ") == name  # two lines are enough
    assert "…" in _chart.plain(name, 20) and _chart.plain(name, 20).endswith("usual week")


@pytest.mark.parametrize(
    ("names", "kinds"), [("a b", "features"), ("a×b b×c", "pairs"), ("a a×b", "features and pairs")]
)
def test_what_is_left_over_is_counted_as_what_it_is(names, kinds):
    rows = [("most", [9.0]), *((name.replace("×", " × "), [1.0]) for name in names.split())]
    assert _chart.top_and_rest(rows, 1) == [("most", [9.0]), (f"2 other {kinds}", [2.0])]


def test_lines_of_the_training_data_are_dashed(model):
    drawn = {shown.get_label(): shown.get_linestyle() for shown in plot.history(model).get_lines()}
    assert (drawn["train objective"], drawn["validation objective"]) == ("--", "-")


def test_text_is_taken_literally():
    assert _chart.plain("$5 to $9") == r"\$5 to \$9"
    assert _chart.signed(-0.25) == "−0.25"
    assert _chart.signed(-0.001) == "0.00"


def test_reliability_shows_shares_that_came_true():
    rng = np.random.default_rng(0)
    probability = rng.random(4_000)
    y = rng.random(4_000) < probability
    group = rng.choice(["a", "b"], 4_000)
    ax = plot.reliability(y, probability)
    points = ax.containers[0].lines[0].get_xydata()
    assert len(points) == 10
    np.testing.assert_allclose(points[:, 0], points[:, 1], atol=0.08)
    inside = probability <= np.quantile(probability, 0.1)
    np.testing.assert_allclose(points[0], [probability[inside].mean(), y[inside].mean()], atol=1e-3)
    ax = plot.reliability(np.where(y, "yes", "no"), probability, group, pos_label="yes")
    assert [container.get_label() for container in ax.containers] == ["a", "b"]
    colours = {container.lines[0].get_color() for container in ax.containers}
    assert len(colours) == 2 and _chart.OURS not in colours
    plt.close("all")


@pytest.mark.parametrize("feature", ["skill", "job"])
def test_shapes_of_an_average_have_bands(feature):
    X, y, group = make_people(300)
    model = ParityBoostClassifier(n_bags=4, n_estimators=20, random_state=2).fit(X, y, sensitive_features=group)
    function = explain.shape_function(model, feature)
    assert len(function.spread) == len(function.scores) and max(function.spread) > 0
    assert function.frame()["spread"].notna().sum() == len(function.scores)
    ax = plot.shape_function(model, feature)
    if feature == "skill":
        steps = ax.patches[0].get_data()
        np.testing.assert_allclose(steps.values - function.scores, function.spread)
        np.testing.assert_allclose(function.scores - np.asarray(steps.baseline), function.spread)
    else:
        texts = [text.get_text() for text in ax.texts if "±" in text.get_text()]
        assert any(text.endswith(f"± {max(function.spread):.2f}") for text in texts)
    plt.close("all")
