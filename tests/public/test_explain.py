"""Explanations add up: to the score, to the gap between groups, to the choice of θ."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, explain
from parityboost._table.binning import Binner
from parityboost.paper.baselines import SMOTEBoostClassifier
from problems import OPTIONS, draw_rows, frame_of, group_labels, problems

MODELS = [
    AdaFairClassifier(n_estimators=30, random_state=0),
    AdaFairClassifier(n_estimators=30, threshold="auto", max_bins=8, random_state=0),
    AdaBoostClassifier(30),
    SMOTEBoostClassifier(30, random_state=0),
]


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def fitted(request, people):
    X, y, group = people
    return request.param.fit(X, y, sensitive_features=group)


@pytest.fixture
def model(people):
    X, y, group = people
    return AdaFairClassifier(n_estimators=30, random_state=0).fit(X, y, sensitive_features=group)


@st.composite
def explained(draw):
    """A fitted model, and new rows in which values are missing and categories unseen: model, X, group, weights."""
    kinds, (columns, y, group, weights), _ = draw(problems())
    model = AdaFairClassifier(validation_fraction=None, **draw(OPTIONS))
    try:
        model.fit(frame_of(columns), y, sensitive_features=group_labels(group), sample_weight=weights)
    except ValueError as error:
        assert "no better than chance" in str(error)
        model = None
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns, _, group, weights = draw_rows(rng, 30, draw(st.integers(2, 4)), kinds, draw(st.booleans()))
    for column in columns:
        column[rng.random(len(column)) < 0.2] = "unseen" if column.dtype == object else np.nan
    return model, frame_of(columns), group_labels(group), weights


def names_of_pairs(model):
    """In the order of the columns."""
    names = list(model.feature_names_in_)
    pairs = sorted(explain.pair_functions(model), key=lambda pair: [names.index(name) for name in pair])
    return [" × ".join(pair) for pair in pairs]


@pytest.mark.no_cover
@settings(max_examples=100)
@given(explained())
def test_contributions_add_up_to_the_score(example):
    model, X, _, _ = example
    if model is not None:
        parts = explain.contributions(model, X)
        assert list(parts) == [*X.columns, *names_of_pairs(model), "constant"]
        np.testing.assert_array_equal(parts.sum(axis=1), model.decision_function(X))


@pytest.mark.no_cover
@settings(max_examples=100)
@given(explained())
def test_tables_of_pairs_evaluated_by_hand_are_the_contributions(example):
    model, X, _, _ = example
    if model is not None:
        parts = explain.contributions(model, X)
        for (first, second), function in explain.pair_functions(model).items():
            np.testing.assert_array_equal(function.at(X[first], X[second]), parts[f"{first} × {second}"])


@pytest.mark.no_cover
@settings(max_examples=100)
@given(explained())
def test_tables_of_pairs_have_no_effect_of_one_feature_alone(example):
    model, *_ = example
    if model is None:
        return
    for function in explain.pair_functions(model).values():
        total = function.weight.sum()
        assert total > 0
        weighted = function.weight * function.scores / total
        np.testing.assert_allclose(weighted.sum(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(weighted.sum(axis=1), 0, atol=1e-9)
        assert function.frame()["weight"].sum() == pytest.approx(total)


@pytest.mark.no_cover
@settings(max_examples=100)
@given(explained())
def test_step_functions_evaluated_by_hand_are_the_contributions(example):
    model, X, _, _ = example
    if model is not None:
        parts = explain.contributions(model, X)
        for name, function in explain.shape_functions(model).items():
            np.testing.assert_array_equal(function.at(X[name]), parts[name])


@pytest.mark.no_cover
@settings(max_examples=100)
@given(explained())
def test_the_parts_of_a_gap_add_up_to_the_difference_of_mean_scores(example):
    model, X, group, weights = example
    if model is None:
        return
    gaps = explain.gap_decomposition(model, X, group, sample_weight=weights)
    score = model.decision_function(X)
    mean = {
        g: np.average(score[group == g], weights=None if weights is None else weights[group == g])
        for g in np.unique(group)
    }
    assert list(gaps) == [f"{g} − a" for g in list(mean)[1:]]
    assert set(gaps.index) == {*X.columns, *names_of_pairs(model), "total"}
    for g in list(mean)[1:]:
        parts = gaps[f"{g} − a"]
        assert parts["total"] == pytest.approx(mean[g] - mean["a"], rel=1e-10, abs=1e-10 * (1 + np.abs(score).max()))
        assert parts.drop("total").sum() == pytest.approx(parts["total"], rel=1e-10, abs=1e-12)


@settings(max_examples=50)
@given(explained())
def test_a_feature_carries_the_difference_of_its_mean_contributions(example):
    model, X, group, weights = example
    if model is None:
        return
    parts = explain.contributions(model, X).drop(columns="constant")
    first, second = sorted(set(group))[-1], sorted(set(group))[0]
    gaps = explain.gap_decomposition(model, X, group, groups=(first, second), sample_weight=weights)
    assert gaps.columns.tolist() == [f"{second} − {first}"]
    weights = np.ones(len(X)) if weights is None else weights
    one, other = (np.average(parts[group == g], axis=0, weights=weights[group == g]) for g in (first, second))
    np.testing.assert_allclose(gaps.loc[parts.columns].iloc[:, 0], other - one, rtol=1e-10, atol=1e-10)


def test_every_model_of_stumps_can_be_explained(fitted, people):
    X, _, group = people
    parts = explain.contributions(fitted, X)
    np.testing.assert_allclose(parts.sum(axis=1), fitted.decision_function(X), rtol=0, atol=1e-12)
    score = pd.Series(fitted.decision_function(X)).groupby(group).mean()
    total = explain.gap_decomposition(fitted, X, group).loc["total", "b − a"]
    assert total == pytest.approx(score["b"] - score["a"], rel=1e-10)


def test_contributions_keep_the_index_of_x(model, people):
    X = people[0].iloc[[7, 3, 200]]
    assert explain.contributions(model, X).index.tolist() == [7, 3, 200]


def test_arrays_have_numbered_features():
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = AdaBoostClassifier(10).fit(X, X[:, 1] > 0.3)
    assert list(explain.contributions(model, X)) == ["x0", "x1", "x2", "constant"]
    assert explain.shape_function(model, 1) == explain.shape_function(model, -2) == explain.shape_function(model, "x1")


def test_neighbouring_bins_with_the_same_score_are_one_step():
    X = pd.DataFrame({"x": np.arange(100.0)})
    model = AdaBoostClassifier(1).fit(X, X["x"] >= 40)
    function = explain.shape_function(model, "x")
    alpha = model.estimator_weights_[0]
    assert function.thresholds == (39.5,)
    assert function.scores == (-alpha, alpha)
    assert function.frame()["value"].tolist() == ["≤ 39.5", "> 39.5", "missing"]
    assert function.frame()["score"].tolist() == [-alpha, alpha, function.missing]


def test_neighbouring_steps_differ(fitted):
    for function in explain.shape_functions(fitted).values():
        if function.kind == "numeric":
            assert len(function.scores) == len(function.thresholds) + 1
            assert (np.diff(function.scores) != 0).all()


def test_each_category_has_its_score(model, people):
    function = explain.shape_function(model, "job")
    assert function.kind == "categorical"
    assert function.categories == ("clerk", "cook", "smith")
    assert function.frame()["value"].tolist() == ["clerk", "cook", "smith", "any other", "missing"]
    assert function.at(["smith", "pilot", None, np.nan]).tolist() == [function.scores[2], *[function.missing] * 3]
    assert function.at("cook").tolist() == [function.scores[1]]


def test_features_the_model_does_not_use_are_flat(people):
    X, y, group = people
    X = X.assign(empty=np.nan, nothing=pd.Series([None] * len(X), dtype=object), same=1)
    model = AdaFairClassifier(n_estimators=3, random_state=0).fit(X, y, sensitive_features=group)
    functions = explain.shape_functions(model)
    used = set(model.history_["feature"][: model.theta_])
    assert {name for name, function in functions.items() if not function.is_flat} == used
    assert list(functions) == list(X.columns)
    assert functions["empty"].frame()["value"].tolist() == ["any number", "missing"]
    np.testing.assert_array_equal(functions["empty"].at([1.0, np.nan]), 0.0)


def test_thresholds_are_written_with_the_digits_that_tell_them_apart():
    X = pd.DataFrame({"x": [1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3]})
    function = explain.ShapeFunction("x", "numeric", (1000000.5, 1000001.5), (), (0.0, 1.0, 2.0), 0.0)
    assert function.frame()["value"].tolist() == ["≤ 1000000.5", "(1000000.5, 1000001.5]", "> 1000001.5", "missing"]
    assert function.at(X["x"]).tolist() == [0.0, 1.0, 2.0, 2.0]


def test_text_has_no_place_on_a_numeric_feature(model):
    with pytest.raises(ValueError, match="'years' holds numbers"):
        explain.shape_function(model, "years").at(["many"])


def test_importances_are_the_shares_of_alpha_and_the_spread_of_the_contributions(model, people):
    X = people[0]
    table = explain.importances(model)
    assert list(table) == ["alpha_share"]
    assert table["alpha_share"].is_monotonic_decreasing
    np.testing.assert_array_equal(table.loc[list(X), "alpha_share"], model.feature_importances_)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    for weight in (None, weights):
        table = explain.importances(model, X, sample_weight=weight)
        parts = explain.contributions(model, X if weight is None else X.loc[X.index.repeat(weight)])
        deviation = (parts - parts.mean()).abs().mean().drop("constant")
        np.testing.assert_allclose(table["mean_abs_deviation"], deviation[table.index], atol=1e-12)
        assert table["mean_abs_deviation"].is_monotonic_decreasing


def test_gaps_between_crossed_groups(model, people):
    X, _, group = people
    sensitive = pd.DataFrame({"group": group, "city": X["city"]})
    gaps = explain.gap_decomposition(model, X, sensitive, groups=(("a", "x"), ("b", "y")))
    score = model.decision_function(X)
    first, second = ((group == g) & (X["city"] == city) for g, city in (("a", "x"), ("b", "y")))
    assert gaps.loc["total", "b & y − a & x"] == pytest.approx(score[second].mean() - score[first].mean(), rel=1e-10)
    assert explain.gap_decomposition(model, X, sensitive).columns.tolist() == [
        "a & y − a & x",
        "b & x − a & x",
        "b & y − a & x",
    ]


def test_features_that_carry_most_of_a_gap_come_first(model, people):
    X, _, group = people
    parts = explain.gap_decomposition(model, X, group)["b − a"].drop("total").abs()
    assert parts.is_monotonic_decreasing
    assert parts.index[0] == "skill"  # the feature that group 'b' is behind in


def test_gaps_of_several_models_side_by_side(model, people):
    X, y, group = people
    plain = AdaBoostClassifier(30).fit(X, y)
    both = explain.compare_gaps({"plain": plain, "fair": model}, X, group)
    assert list(both) == ["plain", "fair"]
    assert both.index[-1] == "total"
    for name, one in (("plain", plain), ("fair", model)):
        alone = explain.gap_decomposition(one, X, group)["b − a"]
        np.testing.assert_allclose(both.loc[alone.index, name], alone, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("options", [{}, {"c": 0.0}, {"c": 0.3}, {"validation_fraction": None}, {"threshold": 0.125}])
def test_the_choice_at_the_models_own_c_is_its_theta(people, options):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=40, random_state=0, **options).fit(X, y, sensitive_features=group)
    (choice,) = explain.choices_over_c(model, [model.c]).itertuples()
    assert choice.theta == model.theta_
    prefix = "train" if model.validation_fraction is None else "validation"
    row = model.history_.loc[model.theta_]
    assert (choice.er, choice.ber, choice.violation) == tuple(row[f"{prefix}_{m}"] for m in ("er", "ber", "violation"))


def test_choices_over_c_are_those_of_models_trained_with_that_c():
    X, y, group = make_people(600)
    y = y & (X["years"].to_numpy() < 15)  # positives are rare, so error and balanced error disagree
    model = AdaFairClassifier("equal_opportunity", n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    choices = explain.choices_over_c(model)
    assert choices["c"].tolist() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    again = [
        AdaFairClassifier("equal_opportunity", n_estimators=40, c=c, random_state=0)
        .fit(X, y, sensitive_features=group)
        .theta_
        for c in choices["c"]
    ]
    assert choices["theta"].tolist() == again
    assert len(set(again)) > 1


def test_the_first_of_equal_rounds_is_chosen(model, monkeypatch):
    history = {
        "validation_er": [0.4, 0.2, 0.2, 0.3],
        "validation_ber": [0.4, 0.3, 0.3, 0.2],
        "validation_violation": [0.0, 0.1, 0.1 - 1e-15, 0.1],
        "validation_objective": [np.nan] * 4,
    }
    monkeypatch.setattr(type(model), "history_", pd.DataFrame(history))
    assert explain.choices_over_c(model, [0, 1])["theta"].tolist() == [2, 4]


FUNCTIONS = {
    "shape_functions": lambda model, X, group: explain.shape_functions(model),
    "contributions": lambda model, X, group: explain.contributions(model, X),
    "importances": lambda model, X, group: explain.importances(model),
    "gap_decomposition": explain.gap_decomposition,
    "choices_over_c": lambda model, X, group: explain.choices_over_c(model),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_cannot_be_explained_is_refused(function, people):
    X, _, group = people
    with pytest.raises(NotFittedError):
        function(AdaFairClassifier(), X, group)
    with pytest.raises(TypeError, match=r"got LogisticRegression.*pipeline\[-1\]"):
        function(LogisticRegression(), X, group)


def test_a_model_of_other_weak_learners_has_no_step_functions(people):
    X, y, group = people
    X = X.select_dtypes("number").fillna(0)
    trees = AdaFairClassifier(n_estimators=2, estimator=DecisionTreeClassifier(max_depth=2), random_state=0)
    trees.fit(X, y, sensitive_features=group)
    for name, function in FUNCTIONS.items():
        if name == "choices_over_c":  # this one asks the history only
            assert len(function(trees, X, group)) == 11
        else:
            with pytest.raises(ValueError, match=r"only a model of stumps.*DecisionTreeClassifier"):
                function(trees, X, group)


def test_errors_name_the_culprit_and_what_is_known(model, people):
    X, _, group = people
    with pytest.raises(ValueError, match=r"no feature 'age'; its features are 'skill', 'years', 'job'"):
        explain.shape_function(model, "age")
    with pytest.raises(ValueError, match=r"no feature 5;"):
        explain.shape_function(model, 5)
    with pytest.raises(ValueError, match="feature names"):
        explain.contributions(model, X.rename(columns={"skill": "talent"}))
    with pytest.raises(ValueError, match="'years' held numbers"):
        explain.contributions(model, X.assign(years="many"))
    with pytest.raises(ValueError, match=r"no group 'z'; the groups are 'a', 'b'"):
        explain.gap_decomposition(model, X, group, groups=("a", "z"))
    for groups in (("a", "a"), "ab", ("a",)):
        with pytest.raises(ValueError, match=r"two different groups, got .*; the groups are 'a', 'b'"):
            explain.gap_decomposition(model, X, group, groups=groups)
    with pytest.raises(ValueError, match="all rows are of group 'a'"):
        explain.gap_decomposition(model, X, ["a"] * len(X))
    with pytest.raises(ValueError, match="zero for every row of group 'b'"):
        explain.gap_decomposition(model, X, group, sample_weight=np.where(group == "a", 1.0, 0.0))
    with pytest.raises(ValueError, match="X has 300 rows, sensitive_features 299"):
        explain.gap_decomposition(model, X, group[1:])
    with pytest.raises(ValueError, match="name the two to compare"):
        explain.compare_gaps({"model": model}, X, X["job"])
    with pytest.raises(ValueError, match="models is empty"):
        explain.compare_gaps({}, X, group)
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        explain.choices_over_c(model, [0.5, 1.5])
    with pytest.raises(ValueError, match="between 0 and 1, got nan"):
        explain.choices_over_c(model, [np.nan])


def test_models_that_use_all_learners_have_no_choice(people):
    X, y, _ = people
    with pytest.raises(ValueError, match="AdaBoostClassifier uses all its learners"):
        explain.choices_over_c(AdaBoostClassifier(3).fit(X, y))


def test_the_rounds_of_an_average_are_no_choices_of_c(people):
    X, y, group = people
    model = ParityBoostClassifier(n_bags=2, n_estimators=4, random_state=0).fit(X, y, sensitive_features=group)
    with pytest.raises(
        ValueError, match=r"this ParityBoostClassifier is an average .* alternatives\(\) lists its choices"
    ):
        explain.choices_over_c(model)


@pytest.mark.parametrize(
    ("names", "constant", "total"),
    [
        (["total", "constant"], "(constant)", "(total)"),
        (["constant", "(constant)"], "((constant))", "total"),
        (["(total)", "total"], "constant", "((total))"),
    ],
)
def test_columns_named_like_sums_are_explained_like_any_other(people, names, constant, total):
    X, y, group = people
    options = {"n_estimators": 8, "max_depth": 2, "random_state": 0}
    model = AdaFairClassifier(**options).fit(X, y, sensitive_features=group)
    named = X.rename(columns=dict(zip(X.columns, names, strict=False)))
    same = AdaFairClassifier(**options).fit(named, y, sensitive_features=group)
    parts, expected = explain.contributions(same, named), explain.contributions(model, X)
    np.testing.assert_array_equal(parts, expected)
    assert parts.columns.is_unique
    assert list(parts)[: X.shape[1]] == list(named)
    assert parts.columns[-1] == constant
    gaps, expected = (explain.gap_decomposition(m, table, group) for m, table in ((same, named), (model, X)))
    np.testing.assert_array_equal(gaps, expected)
    assert gaps.index.is_unique
    assert gaps.index[-1] == total
    assert list(explain.shape_functions(same)) == list(named)
    both = explain.compare_gaps({"one": same, "same": same}, named, group)
    np.testing.assert_array_equal(both["one"], gaps.iloc[:, 0])


def test_pairs_named_like_columns_or_like_each_other_are_explained(people):
    X, y, group = people
    X = X[[*X.columns[:3]]].assign(fourth=np.arange(len(X)) % 7)
    X.columns = ["a", "a × b", "b × a", "b"]
    model = AdaFairClassifier(n_estimators=60, max_depth=2, random_state=0).fit(X, y, sensitive_features=group)
    parts = explain.contributions(model.set_theta(60), X)
    assert len(explain.pair_functions(model)) >= 3
    assert parts.shape[1] == 4 + len(explain.pair_functions(model)) + 1
    np.testing.assert_allclose(parts.sum(axis=1), model.decision_function(X), atol=1e-12)


def test_columns_of_the_same_name_are_refused(model, people, monkeypatch):
    """Recent versions of scikit-learn refuse them in fit."""
    first, second, *others = model.glass_box_.binner.columns
    renamed = Binner((first, replace(second, name=first.name), *others))
    monkeypatch.setattr(model, "_rounds", replace(model._rounds, binner=renamed))
    with pytest.raises(ValueError, match="column 'skill' has the same name as another column"):
        explain.contributions(model, people[0])


def test_thresholds_per_group_outside_x_leave_shapes_and_importances(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=30, threshold="per_group", random_state=0)
    model.fit(X, y, sensitive_features=group).set_threshold({"a": 0.25, "b": -0.5})
    score = model.decision_function(X, sensitive_features=group)
    functions = explain.shape_functions(model)
    added = sum(functions[name].at(X[name]) for name in X.columns)
    np.testing.assert_array_equal(added - score, np.where(group == "a", 0.25, -0.5))
    np.testing.assert_array_equal(explain.importances(model)["alpha_share"].loc[X.columns], model.feature_importances_)
    assert (explain.importances(model, X)["mean_abs_deviation"] > 0).any()
    assert explain.shape_function(model, 0) == functions[X.columns[0]]
    for refused in (lambda: explain.contributions(model, X), lambda: explain.gap_decomposition(model, X, group)):
        with pytest.raises(ValueError, match="not a step function of one feature"):
            refused()


def test_one_module_knows_models_from_the_inside():
    """What looks at models reads them through it, and otherwise by their public names."""
    source = Path(explain.__file__).parent.parent
    private = re.compile(r"\b(model|models|baseline|estimator|m|moved)\._[a-z]|getattr\((model|baseline), \"_")
    readers = {
        path.relative_to(source).as_posix()
        for room in ("audit", "explain", "metrics", "plot", "report")
        for path in (source / room).glob("*.py")
        if private.search(re.sub(r"\._asdict", "", path.read_text(encoding="utf8")))
    }
    assert readers == {"explain/_reading.py"}
