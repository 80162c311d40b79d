"""θ and the threshold after fit, the frontier of all choices, and thresholds per group."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import reference
from conftest import best_option, make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, metrics
from parityboost._choice.thresholds import Candidates, candidates
from parityboost._table.sources import read_sources
from parityboost.notions import get_notion
from parityboost.paper.baselines import SMOTEBoostClassifier

NOTIONS = ["disparate_mistreatment", "equal_opportunity", "statistical_parity", "predictive_equality"]
KINDS = {
    "string": lambda k: np.array([f"g{i}" for i in range(k)], dtype=object),
    "category": lambda k: np.array([f"g{i}" for i in range(k)], dtype=object),
    "integer": lambda k: np.arange(k) * 10 - 5,
    "float": lambda k: np.arange(k) / 4 - 0.5,
    "boolean": lambda k: np.array([False, True]),
}


def fitted(people, **options):
    X, y, group = people
    # The discrete update soon has many different margins, and so many thresholds to choose from.
    options = {"n_estimators": 15, "update": "discrete", "random_state": 0} | options
    return AdaFairClassifier(**options).fit(X, y, sensitive_features=group)


def many_groups(kind, n_groups, n_rows=400, seed=0):
    """People with a column ``group`` of some dtype: X, y."""
    X, y, _ = make_people(n_rows, seed)
    values = KINDS[kind](n_groups)
    codes = np.random.default_rng(seed + 1).integers(len(values), size=n_rows)
    column = pd.Series(values[codes], index=X.index)
    return X.assign(group=column.astype("category") if kind == "category" else column), y


def explicit(model, X, groups):
    """Decisions from the margin and the threshold of each row's group, row by row."""
    margin = model._model.margin(X)
    of_group = dict(zip(model.groups_.tolist(), model.threshold_.tolist(), strict=True))
    return np.array([m - of_group[g] for m, g in zip(margin.tolist(), list(groups), strict=True)])


def sum_of_tables(model, X):
    effects, constant = model.glass_box_.score_effects()
    tables = effects.tables
    sources = read_sources(X)
    codes = [column.encode(sources[f], slice(None)) for f, column in enumerate(model.glass_box_.binner.columns)]
    return constant + sum(tables[f][code] for f, code in enumerate(codes))


# --- θ and threshold --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"estimator": DecisionTreeClassifier(max_depth=2)}])
def test_theta_and_threshold_can_be_moved_after_fit(people, options):
    X, y, group = people
    X = X.select_dtypes("number").fillna(0)
    model = fitted((X, y, group), **options)
    margins = list(model.set_threshold(0.0).staged_decision_function(X))
    for theta, threshold in [(1, 0.0), (7, 0.25), (model.n_estimators_, -1)]:
        assert model.set_theta(theta).set_threshold(threshold) is model
        np.testing.assert_array_equal(model.decision_function(X), margins[theta - 1] - threshold)
        np.testing.assert_array_equal(model.predict(X), (margins[theta - 1] > threshold).astype(int))
        np.testing.assert_array_equal(list(model.staged_predict(X))[theta - 1], model.predict(X))
        if not options:
            np.testing.assert_array_equal(sum_of_tables(model, X), model.decision_function(X))
            used = np.bincount(
                [s.root.feature for s in model.estimators_[:theta]],
                weights=model.estimator_weights_[:theta],
                minlength=2,
            )
            np.testing.assert_allclose(model.feature_importances_, used / used.sum())


@pytest.mark.parametrize("theta", [0, 16, -1, 2.5, "3", None, True, np.nan])
def test_a_theta_that_is_no_round_is_refused(people, theta):
    with pytest.raises(ValueError, match=r"theta must be an integer from 1 to 15.*got"):
        fitted(people).set_theta(theta)


@pytest.mark.parametrize("threshold", [np.nan, np.inf, "auto", None, True, {"a": 0.0, "b": 1.0}])
def test_a_threshold_that_is_no_finite_number_is_refused(people, threshold):
    with pytest.raises(ValueError, match="threshold must be a finite number, got"):
        fitted(people).set_threshold(threshold)


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ({"a": 0.0}, "has none for the group 'b'"),
        ({"a": 0.0, "b": 1.0, "c": 2.0}, "has the group 'c'; the groups are 'a', 'b'"),
        ({"a": 0.0, "b": np.nan}, "finite number, got nan"),
        ({"a": 0.0, "b": "x"}, "finite number, got 'x'"),
        ([0.0, 1.0, 2.0], "2 thresholds in the order of groups_"),
        ("auto", "a mapping from group to threshold"),
        (np.inf, "finite number, got inf"),
    ],
)
def test_thresholds_per_group_that_make_no_sense(people, threshold, message):
    model = fitted(people, threshold="per_group")
    before = model.threshold_
    with pytest.raises(ValueError, match=message):
        model.set_threshold(threshold)
    assert model.threshold_ is before


def test_thresholds_per_group_by_mapping_by_position_or_one_for_all(people):
    X, _, group = people
    model = fitted(people, threshold="per_group")
    margin = model.glass_box_.margin(X)
    for given_as in ({"b": -0.5, "a": 0.25}, [0.25, -0.5], np.array([0.25, -0.5]), pd.Series({"a": 0.25, "b": -0.5})):
        model.set_threshold(0.0).set_threshold(given_as)
        expected = margin - np.where(group == "a", 0.25, -0.5)
        np.testing.assert_array_equal(model.decision_function(X, sensitive_features=group), expected)
    model.set_threshold(0.125)
    np.testing.assert_array_equal(model.decision_function(X, sensitive_features=group), margin - 0.125)
    assert model.threshold_.tolist() == [0.125, 0.125]


def test_what_is_not_fitted_cannot_be_moved(people):
    for call in (lambda m: m.set_theta(1), lambda m: m.set_threshold(0.0), lambda m: m.frontier()):
        with pytest.raises(NotFittedError):
            call(AdaFairClassifier())


def test_a_refit_or_a_clone_knows_nothing_of_the_moves(people):
    X, y, group = people
    model = fitted(people, threshold="per_group")
    theta, thresholds, frontier = model.theta_, model.threshold_.copy(), model.frontier()
    model.set_theta(1).set_threshold(3.0)
    assert not hasattr(clone(model), "theta_")
    model.fit(X, y, sensitive_features=group)
    assert model.theta_ == theta
    np.testing.assert_array_equal(model.threshold_, thresholds)
    pd.testing.assert_frame_equal(model.frontier(), frontier)
    model.set_params(threshold=0.0).fit(X, y, sensitive_features=group)
    assert model.threshold_ == 0.0
    model.predict(X)  # needs no groups any more
    assert not model.frontier().equals(frontier)


# --- The frontier -----------------------------------------------------------------------------------------------------


def brute_force_frontier(model, X, y, group, weights, notion, c):
    """The undominated (error, violation) of every round with every threshold, one prediction at a time."""
    model = pickle.loads(pickle.dumps(model)).set_threshold(0.0)
    measures = {"sensitive_features": group, "sample_weight": weights, "pos_label": 1}
    points = set()
    for margin in model.staged_decision_function(X, sensitive_features=group):
        distinct = np.unique(margin)
        for t in [distinct[0] - 1, *((a + b) / 2 for a, b in pairwise(distinct)), distinct[-1] + 1]:
            predicted = (margin > t).astype(int)
            ber = metrics.balanced_error_rate(y, predicted, sample_weight=weights, pos_label=1)
            error = c * ber + (1 - c) * metrics.error_rate(y, predicted, sample_weight=weights)
            points.add((round(error, 9), round(metrics.violation(y, predicted, notion=notion, **measures), 9)))
    return sorted(p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points))


@pytest.mark.no_cover
@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(NOTIONS), st.booleans(), st.sampled_from([0.0, "auto"]))
@example(6923, "disparate_mistreatment", False, "auto")  # one class for everyone beats what was chosen
@example(1832, "equal_opportunity", False, 0.0)  # a threshold that was not offered does
def test_the_frontier_is_the_pareto_set_of_all_rounds_and_thresholds(seed, notion, weighted, threshold):
    X, y, group = make_people(60, seed % 1000)
    new_X, new_y, new_group = make_people(40, seed % 1000 + 1)
    for labels, groups in ((y, group), (new_y, new_group)):
        assume(len(set(zip(labels, groups, strict=True))) == 4)  # else a rate is not defined, which is another test
    weights = np.random.default_rng(seed).integers(1, 4, 40) / 2 if weighted else None
    model = AdaFairClassifier(notion, n_estimators=4, c=0.4, update="discrete", threshold=threshold)
    model.fit(X, y, sensitive_features=group, validation=(new_X, new_y, new_group, weights))
    frontier = model.frontier()
    assert list(frontier) == ["theta", "threshold", "ber", "er", "violation", "objective"]
    expected = brute_force_frontier(model, new_X, new_y, new_group, weights, notion, 0.4)
    own = (frontier["theta"] == model.theta_) & (frontier["threshold"] == model.threshold_)
    assert own.sum() == 1  # what fit chose is there even if it is beaten
    error = 0.4 * frontier["ber"] + 0.6 * frontier["er"]
    assert error.is_monotonic_increasing
    is_beaten = [
        chosen and any(a <= e + 2e-9 and b <= v + 2e-9 and (a < e - 2e-9 or b < v - 2e-9) for a, b in expected)
        for chosen, e, v in zip(own, error, frontier["violation"], strict=True)
    ]
    if threshold == "auto" and any(is_beaten):  # only by one class for everyone, which fit does not choose
        share = np.average(new_y, weights=weights)
        constant = [(0.4 * 0.5 + 0.6 * wrong, 0.0) for wrong in (share, 1 - share)]
        e, v = error[own].iloc[0], frontier["violation"][own].iloc[0]
        beating = [p for p in expected if p[0] <= e + 2e-9 and p[1] <= v + 2e-9]
        assert all(np.isclose(p, constant, atol=1e-8).all(axis=1).any() for p in beating)
    best = np.column_stack([error, frontier["violation"]])[~np.array(is_beaten)]
    np.testing.assert_allclose(best, expected, atol=2e-9)
    given_data = model.frontier(new_X, new_y, sensitive_features=new_group, sample_weight=weights)
    pd.testing.assert_frame_equal(given_data, frontier)
    measured = {"sensitive_features": new_group, "sample_weight": weights, "pos_label": 1}
    for row in frontier.itertuples():  # each row is what it says
        predicted = model.set_theta(row.theta).set_threshold(row.threshold).predict(new_X)
        objective = metrics.fairness_objective(new_y, predicted, notion=notion, c=0.4, **measured)
        assert objective == pytest.approx(row.objective)
        assert metrics.error_rate(new_y, predicted, sample_weight=weights) == pytest.approx(row.er)
        assert metrics.violation(new_y, predicted, notion=notion, **measured) == pytest.approx(row.violation)


def test_the_frontier_counts_no_more_than_it_keeps(people, monkeypatch):
    """Counts of all thresholds and thousands of groups would not fit into memory."""
    options = {"update": "real", "learning_rate": 0.2, "max_depth": 2, "validation_fraction": None}
    model, asked, counts = fitted(people, **options), [], Candidates.counts

    def asking(self, at=slice(None)):
        found = counts(self, at)
        asked.append((len(found), len(self.thresholds)))
        return found

    monkeypatch.setattr(Candidates, "counts", asking)
    model.frontier()
    n_counted, n_thresholds = np.sum(asked, axis=0)
    assert n_counted < n_thresholds / 2


@pytest.mark.parametrize("threshold", [0.0, 0.3, 50.0, "auto", "per_group"])
@pytest.mark.parametrize("validation_fraction", [0.33, None])
def test_the_frontier_is_as_good_as_the_chosen_point(people, threshold, validation_fraction):
    model = fitted(people, threshold=threshold, validation_fraction=validation_fraction)
    chosen = model.history_.loc[model.theta_]
    prefix = "train" if validation_fraction is None else "validation"
    frontier = model.frontier()
    as_good = frontier["ber"] <= chosen[f"{prefix}_ber"] + 1e-12
    as_good &= frontier["violation"] <= chosen[f"{prefix}_violation"] + 1e-12
    assert as_good.any()
    assert frontier["ber"].is_monotonic_increasing
    threshold = model.threshold_
    own = threshold if np.ndim(threshold) == 0 else dict(zip(model.groups_, threshold, strict=True))
    is_own = (frontier["theta"] == model.theta_) & pd.Series([each == own for each in frontier["threshold"]])
    assert is_own.sum() == 1
    assert frontier["violation"][~is_own].is_monotonic_decreasing


def test_rows_of_a_frontier_per_group_can_be_set(people):
    X, y, group = people
    model = fitted(people, threshold="per_group", validation_fraction=None)
    frontier = model.frontier()
    assert any(len(set(t.values())) == 2 for t in frontier["threshold"])
    for _, row in frontier.iterrows():
        predicted = model.set_theta(row.theta).set_threshold(row.threshold).predict(X, sensitive_features=group)
        assert metrics.balanced_error_rate(y, predicted) == pytest.approx(row.ber)
        assert metrics.disparate_mistreatment(y, predicted, sensitive_features=group) == pytest.approx(row.violation)
    common = fitted(people, validation_fraction=None).frontier()
    for row in common.itertuples():  # nothing is lost by thresholds per group
        assert ((frontier["ber"] <= row.ber + 1e-12) & (frontier["violation"] <= row.violation + 1e-12)).any()


def test_the_frontier_where_equal_rows_were_merged():
    X, y, group = make_people(6000)
    X = X[["city", "member", "job"]]
    model = fitted((X, y, group), validation_fraction=None)
    assert len(model._selection.cell) < 100
    pd.testing.assert_frame_equal(model.frontier(), model.frontier(X, y, sensitive_features=group))


def test_the_frontier_of_any_classifier(people):
    X, y, group = people
    X = X.select_dtypes("number").fillna(0)
    model = fitted((X, y, group), estimator=DecisionTreeClassifier(max_depth=2), validation_fraction=None)
    pd.testing.assert_frame_equal(model.frontier(), model.frontier(X, y, sensitive_features=group))


def test_a_stored_model_holds_a_frontier_but_nobodys_data(people):
    X, y, group = people
    model = fitted(people)
    stored = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match=r"holds no validation data.*pass X, y and sensitive_features"):
        stored.frontier()
    pd.testing.assert_frame_equal(
        stored.frontier(X, y, sensitive_features=group), model.frontier(X, y, sensitive_features=group)
    )
    frontier = model.frontier()  # now it is kept
    stored = pickle.loads(pickle.dumps(model))
    assert stored._selection is None
    pd.testing.assert_frame_equal(stored.frontier(), frontier)
    pd.testing.assert_frame_equal(model.frontier(), frontier)
    np.testing.assert_array_equal(stored.set_theta(3).decision_function(X), model.set_theta(3).decision_function(X))


def test_a_frontier_that_was_changed_by_the_caller_is_not_the_models(people):
    model = fitted(people)
    frontier = model.frontier()
    frontier["ber"] = -1.0
    assert (model.frontier()["ber"] >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda X, y, g: {"X": X}, "both X and y"),
        (lambda X, y, g: {"y": y}, "both X and y"),
        (lambda X, y, g: {"sensitive_features": g}, "without data"),
        (lambda X, y, g: {"X": X, "y": y}, "needs the sensitive attribute"),
        (lambda X, y, g: {"X": X, "y": y + 1, "sensitive_features": g}, "2, which is not one of"),
    ],
)
def test_a_frontier_of_incomplete_data(people, arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted(people).frontier(**arguments(*people))


@pytest.mark.parametrize("baseline", [AdaBoostClassifier(10), SMOTEBoostClassifier(10, random_state=0)])
def test_baselines_can_be_moved_and_keep_no_data(people, baseline):
    X, y, group = people
    baseline.fit(X, y, sensitive_features=group)
    stages = list(baseline.staged_predict(X))
    np.testing.assert_array_equal(baseline.set_theta(3).predict(X), stages[2])
    with pytest.raises(ValueError, match="chooses no θ"):
        baseline.frontier()
    best = baseline.frontier(X, y, sensitive_features=group)
    assert len(best) == 1  # without a notion, nothing but the error counts
    predicted = baseline.set_theta(best.theta[0]).set_threshold(best.threshold[0]).predict(X)
    assert metrics.balanced_error_rate(y, predicted) == pytest.approx(best.ber[0])
    with pytest.raises(ValueError, match="thresholds per group are for models fitted with"):
        baseline.set_threshold({"a": 0.0, "b": 0.0})
    with pytest.raises(ValueError, match="Invalid parameter 'threshold'"):
        baseline.set_params(threshold="per_group")


# --- A threshold per group --------------------------------------------------------------------------------------------


def draw_margins(seed, n_groups, n_rows):
    rng = np.random.default_rng(seed)
    cell = np.concatenate([np.arange(2 * n_groups), rng.integers(2 * n_groups, size=n_rows - 2 * n_groups)])
    y, group = cell // n_groups, cell % n_groups
    margin = np.round(rng.normal(y - 0.5 * (group == 0), 1), int(rng.integers(1, 3)))
    weights = rng.integers(1, 4, n_rows) / 2 if seed % 2 else np.ones(n_rows)
    totals = np.bincount(cell, weights=weights, minlength=2 * n_groups).reshape(2, n_groups).T
    return margin, y, group, weights, candidates(margin, cell, weights, totals)


@pytest.mark.no_cover
@pytest.mark.parametrize(("n_groups", "n_rows", "n_problems"), [(2, 16, 25), (3, 9, 10)])
@pytest.mark.parametrize("notion", NOTIONS)
def test_thresholds_per_group_are_nearly_always_the_best_of_all_combinations(notion, n_groups, n_rows, n_problems):
    optimal = 0
    for seed in range(n_problems):
        margin, y, group, weights, found = draw_margins(seed, n_groups, n_rows)
        counts, thresholds = best_option(found, notion, 0.7, "per_group")
        predicted = (margin > thresholds[group]).astype(int)
        value = reference.objective(notion, 0.7, y, group, predicted, weights, n_groups)
        assert value == pytest.approx(float(get_notion(notion).objective(counts, 0.7)))
        best, _ = reference.best_group_thresholds(margin, y, group, weights, notion, 0.7, n_groups)
        assert value >= best - 1e-12
        optimal += value <= best + 1e-12
    assert optimal >= 0.9 * n_problems


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(12, 3000), st.sampled_from([*NOTIONS, "none"]))
def test_thresholds_per_group_are_never_worse_than_a_common_one(seed, n_groups, n_rows, notion):
    *_, found = draw_margins(seed, n_groups, n_rows)
    notion = get_notion(notion)
    counts, thresholds = best_option(found, notion, 0.7, "per_group")
    common, _ = best_option(found, notion, 0.7)
    assert notion.objective(counts, 0.7) <= notion.objective(common, 0.7) + 1e-12
    assert len(thresholds) == n_groups
    np.testing.assert_allclose(counts.sum(axis=-1), found.totals)


@pytest.mark.parametrize("notion", [*NOTIONS, "none"])
def test_in_every_round_the_objective_is_as_low_as_with_a_common_threshold(people, notion):
    auto, per_group = (fitted(people, notion=notion, threshold=t).history_ for t in ("auto", "per_group"))
    assert (per_group["validation_objective"] <= auto["validation_objective"] + 1e-12).all()
    assert "threshold" not in per_group
    assert list(per_group)[-2:] == ["threshold[a]", "threshold[b]"]


@pytest.mark.no_cover
@settings(max_examples=25)
@given(st.sampled_from(sorted(KINDS)), st.integers(2, 4), st.integers(0, 1000), st.booleans())
def test_with_the_group_in_x_prediction_needs_x_alone(kind, n_groups, seed, named):
    X, y = many_groups(kind, n_groups, seed=seed)
    new_X, _ = many_groups(kind, n_groups, n_rows=100, seed=seed + 7)
    model = AdaFairClassifier(
        "statistical_parity",
        n_estimators=6,
        update="discrete",
        threshold="per_group",
        sensitive_feature="group" if named else None,
        random_state=0,
    )
    model.fit(X, y, sensitive_features=None if named else X["group"])
    assert len(model.groups_) == len(model.threshold_) == len(KINDS[kind](n_groups))
    for data in (X, new_X):
        expected = explicit(model, data, data["group"])
        np.testing.assert_array_equal(model.decision_function(data), expected)
        np.testing.assert_array_equal(model.predict(data), (expected > 0).astype(int))
        np.testing.assert_array_equal(model.predict_proba(data)[:, 1] > 0.5, expected > 0)
        np.testing.assert_array_equal(list(model.staged_decision_function(data))[model.theta_ - 1], expected)
        np.testing.assert_array_equal(sum_of_tables(model, data), expected)
    assert model.glass_box_.score_effects()[1] == 0.0
    if not named:  # then the groups may be passed again, and are the same
        pd.testing.assert_frame_equal(model.frontier(X, y), model.frontier(X, y, sensitive_features=X["group"]))
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.decision_function(X), model.decision_function(X))


def test_the_measures_in_history_are_those_of_the_thresholds_per_group():
    X, y = many_groups("string", 3)
    model = AdaFairClassifier(
        n_estimators=8,
        update="discrete",
        threshold="per_group",
        sensitive_feature="group",
        validation_fraction=None,
    ).fit(X, y)
    predicted = model.predict(X)
    row = model.history_.loc[model.theta_]
    assert [row[f"threshold[g{k}]"] for k in range(3)] == model.threshold_.tolist()
    assert metrics.balanced_error_rate(y, predicted) == pytest.approx(row["train_ber"])
    violation = metrics.disparate_mistreatment(y, predicted, sensitive_features=X["group"])
    assert violation == pytest.approx(row["train_violation"])


@pytest.mark.parametrize("columns", ["group", ["group", "city"]])
@pytest.mark.parametrize("unseen", ["z", None])
def test_an_unseen_or_missing_group_in_x_gets_the_mean_threshold(people, columns, unseen):
    X, y, group = people
    X = X.assign(group=group)
    model = fitted((X, y, None), threshold="per_group", sensitive_feature=columns)
    new = X.iloc[:40].assign(group=unseen)
    groups = list(group) if columns == "group" else list(zip(group, X["city"], strict=True))
    shares = np.array([groups.count(g) / 300 for g in model.groups_.tolist()])
    mean = shares @ model.threshold_
    expected = model.glass_box_.margin(new) - mean
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=0, atol=1e-9)
    if columns == "group":
        np.testing.assert_array_equal(sum_of_tables(model, new), model.decision_function(new))


def test_several_sensitive_columns_are_read_from_x(people):
    X, y, group = people
    X = X.assign(group=group)
    both = X[["group", "city"]]
    options = {"n_estimators": 8, "update": "discrete", "threshold": "per_group", "random_state": 0}
    named = AdaFairClassifier(sensitive_feature=["group", "city"], **options).fit(X, y)
    passed = AdaFairClassifier(**options).fit(X, y, sensitive_features=both)
    elsewhere = AdaFairClassifier(**options).fit(X, y, sensitive_features=both.to_numpy())
    expected = explicit(named, X, zip(group, X["city"], strict=True))
    for model in (named, passed):
        np.testing.assert_array_equal(model.decision_function(X), expected)
        with pytest.raises(ValueError, match="not a step function of one feature"):
            model.glass_box_.score_effects()
        pd.testing.assert_frame_equal(model.frontier(X, y), elsewhere.frontier(X, y, sensitive_features=both))
    np.testing.assert_array_equal(elsewhere.decision_function(X, sensitive_features=both), expected)


def test_groups_outside_x_have_to_be_passed(people):
    X, y, group = people
    model = fitted(people, threshold="per_group")
    expected = explicit(model, X, group)
    np.testing.assert_array_equal(model.decision_function(X, sensitive_features=group), expected)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=list(group)), (expected > 0).astype(int))
    np.testing.assert_array_equal(model.predict_proba(X, sensitive_features=group)[:, 1] > 0.5, expected > 0)
    stages = list(model.staged_predict(X, sensitive_features=group))
    np.testing.assert_array_equal(stages[model.theta_ - 1], (expected > 0).astype(int))
    assert model.score(X, y, sensitive_features=group) == np.mean((expected > 0) == y)
    for call in (model.predict, model.predict_proba, model.decision_function, lambda X: next(model.staged_predict(X))):
        with pytest.raises(
            ValueError, match="threshold per group, and the groups are no column of X: pass sensitive_f"
        ):
            call(X)
    with pytest.raises(ValueError, match="'z' does not occur in the training data"):
        model.predict(X, sensitive_features=np.where(group == "a", "z", "b"))
    with pytest.raises(ValueError, match="X has 300 rows, sensitive_features 10"):
        model.predict(X, sensitive_features=group[:10])
    with pytest.raises(ValueError, match="not a step function of one feature"):
        model.glass_box_.score_effects()


@pytest.mark.parametrize("options", [{}, {"threshold": "auto"}])
def test_groups_that_are_not_needed_are_ignored(people, options):
    X, _, group = people
    model = fitted(people, **options)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=group), model.predict(X))


def test_a_series_is_a_column_of_x_only_with_its_name_and_values(people):
    X, y, group = people
    X = X.assign(group=group)
    other = pd.Series(np.where(group == "a", "b", "a"), name="group")
    for given_as in (other, pd.Series(group, name="sex"), pd.Series(group), group):
        model = fitted((X, y, given_as), threshold="per_group")
        with pytest.raises(ValueError, match="pass sensitive_features"):
            model.predict(X)
    assert fitted((X, y, X["group"]), threshold="per_group").predict(X).shape == (300,)


def test_validation_groups_that_differ_from_their_column_are_not_read_from_it(people):
    X, y, group = people
    X = X.assign(group=group)
    options = {"n_estimators": 5, "threshold": "per_group"}
    swapped = np.where(group == "a", "b", "a")
    model = AdaFairClassifier(**options).fit(X, y, sensitive_features=X["group"], validation=(X, y, swapped))
    with pytest.raises(ValueError, match="pass sensitive_features"):
        model.predict(X)
    model = AdaFairClassifier(**options).fit(X, y, sensitive_features=X["group"], validation=(X, y, group))
    np.testing.assert_array_equal(model.decision_function(X), explicit(model, X, group))


def test_more_groups_than_bins_are_still_told_apart():
    X, y = many_groups("integer", 4, n_rows=600)
    model = AdaFairClassifier(n_estimators=5, threshold="per_group", sensitive_feature="group", max_bins=3)
    model.fit(X.drop(columns=["job"]), y)
    new = X.drop(columns=["job"])
    np.testing.assert_array_equal(model.decision_function(new), explicit(model, new, X["group"]))
    with pytest.raises(ValueError, match="a bin for each"):
        model.glass_box_.score_effects()


def test_arrays_and_any_classifier_have_thresholds_per_group(people):
    X, y, group = people
    numbers = np.column_stack([X[["skill", "years"]].fillna(0), group == "b"]).astype(float)
    for estimator in (None, DecisionTreeClassifier(max_depth=2)):
        model = AdaFairClassifier(
            n_estimators=5, threshold="per_group", sensitive_feature=-1, estimator=estimator, random_state=0
        ).fit(numbers, y)
        np.testing.assert_array_equal(model.decision_function(numbers), explicit(model, numbers, numbers[:, -1]))


def test_rows_without_weight_have_no_threshold(people):
    X, y, group = people
    more = (pd.concat([X, X[:20]], ignore_index=True), np.append(y, y[:20]), np.append(group, ["c"] * 20))
    weights = np.append(np.ones(300), np.zeros(20))
    model = AdaFairClassifier(n_estimators=5, update="discrete", threshold="per_group", random_state=0)
    model.fit(more[0], more[1], sensitive_features=more[2], sample_weight=weights)
    assert model.threshold_.shape == (2,)
    expected = fitted(people, n_estimators=5, threshold="per_group").threshold_
    np.testing.assert_array_equal(model.threshold_, expected)


# --- Among scikit-learn's tools ---------------------------------------------------------------------------------------


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_groups_are_routed_to_fit_predict_and_score(people, routing):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, threshold="per_group", random_state=0)
    model.set_fit_request(sensitive_features=True)
    pipeline = make_pipeline(FunctionTransformer(), model)
    pipeline.fit(X, y, sensitive_features=group)
    predicted = pipeline.predict(X, sensitive_features=group)
    assert pipeline.score(X, y, sensitive_features=group) == np.mean(predicted == y)
    assert pipeline.predict_proba(X, sensitive_features=group).shape == (300, 2)
    result = cross_validate(model, X, y, cv=3, params={"sensitive_features": group}, error_score="raise")
    assert (result["test_score"] > 0.5).all()
    refused = clone(model).set_score_request(sensitive_features=False).set_predict_request(sensitive_features=False)
    with pytest.raises(ValueError, match="pass sensitive_features"):
        cross_validate(refused, X, y, cv=3, params={"sensitive_features": group}, error_score="raise")


def test_grid_search_over_thresholds_with_the_group_in_x(people):
    X, y, group = people
    search = GridSearchCV(
        AdaFairClassifier(sensitive_feature="group", n_estimators=5, random_state=0),
        {"threshold": [0.0, "auto", "per_group"]},
        cv=2,
        error_score="raise",
    ).fit(X.assign(group=group), y)
    assert search.predict(X.assign(group=group)).shape == (300,)
    assert len(search.best_estimator_.frontier())
