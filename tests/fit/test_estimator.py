import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, metrics
from parityboost._choice.thresholds import first_minimum
from parityboost._stats.rates import ratio
from parityboost._table.reading import stratified_split
from parityboost._table.sources import read_sources
from parityboost.datasets import make_biased_classification
from parityboost.notions import FairnessNotion, Gap, StatisticalParity

NOTIONS = ["disparate_mistreatment", "equal_opportunity", "statistical_parity", "predictive_equality"]


def fitted(people, **options):
    X, y, group = people
    options = {"n_estimators": 30, "random_state": 0} | options
    return AdaFairClassifier(**options).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("notion", NOTIONS)
def test_adafair_is_fairer_than_adaboost_on_new_data(notion):
    biased = make_biased_classification(12_000, 8, bias=0.4, imbalance=3, label_noise=0.05, random_state=0)
    X, y, group = biased.data, biased.target, biased.sensitive
    train, new = slice(0, 6000), slice(6000, None)
    plain = AdaBoostClassifier(60).fit(X[train], y[train]).predict(X[new])
    model = AdaFairClassifier(notion, n_estimators=60, random_state=0)
    fair = model.fit(X[train], y[train], sensitive_features=group[train]).predict(X[new])
    before, after = (metrics.violation(y[new], p, sensitive_features=group[new], notion=notion) for p in (plain, fair))
    assert after < 0.5 * before
    assert metrics.balanced_error_rate(y[new], fair) < metrics.balanced_error_rate(y[new], plain) + 0.05


def test_history_explains_the_choice_of_theta(people):
    model = fitted(people, c=0.4)
    history = model.history_
    assert list(history.index) == list(range(1, model.n_estimators_ + 1))
    objective = 0.4 * history["validation_ber"] + 0.6 * history["validation_er"] + history["validation_violation"]
    np.testing.assert_allclose(objective, history["validation_objective"])
    assert model.theta_ == int(np.argmin(objective.to_numpy() > objective.min() + 1e-12)) + 1
    np.testing.assert_array_equal(history["alpha"], model.estimator_weights_)
    assert set(history["feature"]) <= set(people[0].columns)


def test_history_holds_every_column_the_figures_need(people):
    assert fitted(people, notion="equalized_odds").history_.columns.tolist() == [
        "alpha",
        "error",
        "feature",
        "delta_fnr",
        "delta_fpr",
        "cost[a, 0]",
        "cost[a, 1]",
        "cost[b, 0]",
        "cost[b, 1]",
        "Z",
        "bound",
        "train_er",
        "train_ber",
        "train_violation",
        "train_objective",
        "validation_er",
        "validation_ber",
        "validation_violation",
        "validation_objective",
        "threshold",
    ]


def test_training_measures_in_history_are_those_of_the_staged_predictions(people):
    X, y, group = people
    model = fitted(people, validation_fraction=None, notion="statistical_parity")
    assert not any(name.startswith("validation") for name in model.history_)
    for predicted, row in zip(model.staged_predict(X), model.history_.itertuples(), strict=True):
        assert metrics.error_rate(y, predicted) == pytest.approx(row.train_er)
        assert metrics.balanced_error_rate(y, predicted) == pytest.approx(row.train_ber)
        measure = metrics.statistical_parity_difference(y, predicted, sensitive_features=group)
        assert measure == pytest.approx(row.train_violation)
        signed = metrics.signed_differences(y, predicted, sensitive_features=group, protected="a")
        assert signed["statistical_parity"] == pytest.approx(row.delta_sp)


def test_non_cumulative_costs_come_from_the_last_learner_alone(people):
    X, y, group = people
    model = fitted(people, validation_fraction=None, cumulative=False, notion="equal_opportunity")
    before = np.zeros(len(y))
    for margin, row in zip(model.staged_decision_function(X), model.history_.itertuples(), strict=True):
        predicted = (margin - before > 0).astype(int)
        signed = metrics.signed_differences(y, predicted, sensitive_features=group, protected="a")
        assert signed["equal_opportunity"] == pytest.approx(row.delta_fnr)
        before = margin


def test_predict_is_the_stage_of_theta(people):
    X, _, _ = people
    model = fitted(people)
    stages, margins = list(model.staged_predict(X)), list(model.staged_decision_function(X))
    assert len(stages) == model.n_estimators_ == 30
    np.testing.assert_array_equal(stages[model.theta_ - 1], model.predict(X))
    np.testing.assert_array_equal(margins[model.theta_ - 1], model.decision_function(X))


@pytest.mark.parametrize("threshold", [0.0, 0.3, -0.2, "auto", 1e-30])
def test_probabilities_sum_to_one_and_agree_with_predict(people, threshold):
    X, _, _ = people
    model = fitted(people, threshold=threshold)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    np.testing.assert_array_equal(probabilities[:, 1] > 0.5, model.predict(X) == 1)
    margin = model.decision_function(X)
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-2 * margin)))
    by_margin = probabilities[np.argsort(margin, kind="stable"), 1]
    assert (np.diff(by_margin) >= 0).all() and by_margin[0] < by_margin[-1]  # the order of the margins is kept


def test_an_automatic_threshold_beats_zero_on_the_validation_data(people):
    zero, auto = (fitted(people, threshold=t).history_["validation_objective"].min() for t in (0.0, "auto"))
    assert auto <= zero


def test_the_first_minimum_wins():
    assert first_minimum(np.array([0.3, 0.2, 0.2 - 1e-15, 0.4])) == 1


def test_early_stopping_stops_so_many_rounds_after_the_best(people):
    model = fitted(people, n_estimators=200, n_iter_no_change=7)
    assert model.n_estimators_ < 200
    assert model.n_estimators_ == model.theta_ + 7


def test_a_validation_set_of_the_users_own(people):
    X, y, group = people
    new_X, new_y, new_group = make_people(200, seed=5)
    weights = np.random.default_rng(0).uniform(1, 2, 200)
    model = AdaFairClassifier(n_estimators=10).fit(X, y, sensitive_features=group, validation=(new_X, new_y, new_group))
    predicted = list(model.staged_predict(new_X))[model.theta_ - 1]
    objective = metrics.fairness_objective(new_y, predicted, sensitive_features=new_group)
    assert model.history_["validation_objective"].min() == pytest.approx(objective)
    weighted = AdaFairClassifier(n_estimators=10).fit(
        X, y, sensitive_features=group, validation=(new_X, new_y, new_group, weights)
    )
    assert not weighted.history_["validation_er"].equals(model.history_["validation_er"])
    np.testing.assert_array_equal(weighted.history_["alpha"], model.history_["alpha"])
    by_column = AdaFairClassifier(n_estimators=10, sensitive_feature="s")
    by_column.fit(X.assign(s=group), y, validation=(new_X.assign(s=new_group), new_y))
    assert by_column.groups_.tolist() == ["a", "b"]


@pytest.mark.parametrize("options", [{}, {"learner_weight": "cost"}, {"cumulative": False}, {"threshold": 0.2}])
def test_measures_in_history_are_those_of_the_final_learner_weights(people, options):
    X, y, group = people
    new_X, new_y, new_group = make_people(200, seed=5)
    X, new_X = X.assign(empty=np.nan), new_X.assign(empty=1.0)  # a column without values in training
    model = AdaFairClassifier(n_estimators=10, **options)
    model.fit(X, y, sensitive_features=group, validation=(new_X, new_y, new_group))
    for prefix, data, labels in (("train", X, y), ("validation", new_X, new_y)):
        errors = [metrics.error_rate(labels, predicted) for predicted in model.staged_predict(data)]
        np.testing.assert_allclose(model.history_[f"{prefix}_er"], errors)


def test_the_split_is_stratified_and_leaves_something_on_both_sides():
    cell = np.repeat([0, 1, 2, 3], [1000, 100, 2, 1])
    train, held_out = stratified_split(cell, 0.33, np.random.RandomState(0))
    assert sorted([*train, *held_out]) == list(range(len(cell)))
    np.testing.assert_array_equal(np.bincount(cell[held_out], minlength=4), [330, 33, 1, 0])


@pytest.mark.parametrize("kind", ["series", "list", "array", "dict", "column", "position"])
def test_every_way_of_naming_the_groups(people, kind):
    X, y, group = people
    options = {"n_estimators": 5, "random_state": 0}
    expected = AdaFairClassifier(**options).fit(X.assign(s=group), y, sensitive_features=group)
    named = {"column": "s", "position": -1}
    given = {"series": pd.Series(group), "list": list(group), "array": group, "dict": {"s": group}}
    model = AdaFairClassifier(sensitive_feature=named.get(kind), **options)
    model.fit(X.assign(s=group), y, sensitive_features=given.get(kind))
    assert model.history_.equals(expected.history_)


def test_several_sensitive_columns_are_crossed(people):
    X, y, group = people
    both = pd.DataFrame({"group": group, "city": X["city"]})
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=both)
    assert model.groups_.tolist() == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert "cost[b & y, 1]" in model.history_
    by_name = AdaFairClassifier(n_estimators=5, random_state=0, sensitive_feature=["group", "city"])
    by_name.fit(X.assign(group=group), y)
    assert by_name.groups_.tolist() == model.groups_.tolist()


def test_rows_without_weight_do_not_exist(people):
    X, y, group = people
    extra = X.iloc[:20].assign(skill=1e9, job="queen")
    more_X = pd.concat([X.assign(job=X["job"].astype(object)), extra], ignore_index=True)
    more_y, more_group = np.append(y, np.ones(20, int)), np.append(group, ["c"] * 20)
    weights = np.append(np.ones(300), np.zeros(20))
    options = {"n_estimators": 10, "random_state": 0}
    model = AdaFairClassifier(**options).fit(more_X, more_y, sensitive_features=more_group, sample_weight=weights)
    assert model.groups_.tolist() == ["a", "b"]
    assert model.history_.equals(fitted(people, **options).history_)


def test_labels_keep_their_type(people):
    X, y, group = people
    for labels in (np.array(["no", "yes"]), np.array([-1, 1]), np.array([False, True])):
        model = AdaFairClassifier(n_estimators=3).fit(X, labels[y], sensitive_features=group)
        assert model.classes_.tolist() == labels.tolist()
        assert model.predict(X).dtype == labels.dtype


def test_class_weights_set_the_starting_weights(people):
    X, y, _ = people
    errors = {}
    for class_weight in (None, "balanced", "balanced_groups", {1: 4.0}):
        model = fitted(people, class_weight=class_weight)
        errors[str(class_weight)] = model.history_["error"].iloc[0]
    assert len(set(errors.values())) == 4
    as_weights = AdaBoostClassifier(1).fit(X, y, sample_weight=np.where(y == 1, 4.0, 1.0))
    as_classes = AdaBoostClassifier(1, class_weight={1: 4.0}).fit(X, y)
    assert as_weights.estimator_weights_ == pytest.approx(as_classes.estimator_weights_)


@pytest.mark.parametrize(("weight", "message"), [({2: 1.0}, "label 2"), ({1: -1.0}, "positive numbers")])
def test_class_weights_that_make_no_sense(people, weight, message):
    with pytest.raises(ValueError, match=message):
        fitted(people, class_weight=weight)


def test_tolerance_switches_costs_off(people):
    history = fitted(people, epsilon=2.0).history_
    assert (history[[name for name in history if name.startswith("cost")]] == 0).all(axis=None)


def test_a_perfect_learner_ends_training():
    x = np.arange(40.0)[:, None]
    model = AdaFairClassifier(n_estimators=10, validation_fraction=None)
    model.fit(x, x[:, 0] >= 20, sensitive_features=np.arange(40) % 2)
    assert model.n_estimators_ == model.theta_ == 1
    assert model.score(x, x[:, 0] >= 20) == 1


def test_a_learner_no_better_than_chance_ends_training():
    x = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.concatenate([[0] * 15 + [1] * 5, [1] * 15 + [0] * 5])
    model = AdaBoostClassifier(50).fit(x, y)
    assert model.n_estimators_ < 50  # one stump says all there is to say


def test_the_cost_rule_stops_earlier():
    people = make_people(1000)
    by_error, by_cost = (fitted(people, n_estimators=200, learner_weight=rule) for rule in ("error", "cost"))
    assert by_cost.n_estimators_ < by_error.n_estimators_
    assert (by_cost.estimator_weights_ > 0).all()


def test_a_notion_of_ones_own(people):
    class AccuracyParity(FairnessNotion):
        name = "accuracy_parity"
        gaps = (Gap("accuracy", lambda n: (n[..., 0, 0] + n[..., 1, 1]) / n.sum((-2, -1)), (0, 1), high_is_good=True),)

    class PredictiveParity(FairnessNotion):  # not defined where nobody is predicted positive
        name = "predictive_parity"
        gaps = (Gap("ppv", lambda n: ratio(n[..., 1, 1], n[..., 0, 1] + n[..., 1, 1]), (0,), high_is_good=True),)

    X, y, group = make_people(400)
    rare = (y == 1) & (np.arange(400) % 6 == 0)
    parity = AdaFairClassifier(PredictiveParity(), n_estimators=8, validation_fraction=None)
    parity.fit(X[["years"]], rare, sensitive_features=group)
    assert parity.history_["train_violation"].isna().any()

    model = fitted(people, notion=AccuracyParity())
    assert "delta_accuracy" in model.history_
    printed = fitted(people, notion=StatisticalParity(boost="misclassified"))
    assert "cost[a, 0]" in printed.history_


def test_fit_forgets_what_was_fitted_before(people):
    X, y, group = people
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=group)
    model.fit(X[["years"]], 1 - y, sensitive_features=group)
    fresh = AdaFairClassifier(n_estimators=5, random_state=0).fit(X[["years"]], 1 - y, sensitive_features=group)
    assert model.history_.equals(fresh.history_)
    assert model.n_features_in_ == 1


def test_importances_are_shares_of_the_learner_weights(people):
    model = fitted(people)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 0  # skill
    used = {stump.root.feature for stump in model.estimators_[: model.theta_]}
    assert set(np.flatnonzero(model.feature_importances_)) == used


def test_new_data_may_hold_missing_values_and_new_categories(people):
    model = fitted(people)
    new = people[0].iloc[:3].assign(job="queen", years=np.nan, city=None, skill=np.nan)
    assert len(np.unique(model.decision_function(new))) <= 2  # only `member` differs


def test_lists_and_arrays_are_read_as_tables():
    rows = [["red", 1.0], ["blue", 2.0], ["red", None], ["blue", 4.0]] * 10
    y = [1, 0, 1, 0] * 10
    model = AdaBoostClassifier(3).fit(rows, y)
    assert model.predict(np.array(rows, dtype=object)).tolist() == y
    assert model.predict([["blue", 3.0]]).tolist() == [0]


def test_verbose_shows_progress_and_the_outcome(people, capsys):
    fitted(people, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert "30/30" in lines[-2] and "objective" in lines[-2]
    assert lines[-1].startswith("AdaFair: θ = ")
    assert "all rounds done" in lines[-1]


def test_what_is_compiled_is_said_once_on_a_terminal(capsys, monkeypatch):
    from parityboost._engine.kernels.compiling import say_that_it_compiles

    say_that_it_compiles.cache_clear()
    say_that_it_compiles()
    assert capsys.readouterr().err == ""  # a file is no terminal
    say_that_it_compiles.cache_clear()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    say_that_it_compiles()
    say_that_it_compiles()
    assert capsys.readouterr().err == "compiling for this machine, once, about 20 s …\n"


def test_verbose_redraws_one_line_on_a_terminal(people, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    fitted(people, verbose=1)
    out = capsys.readouterr().err
    out = out.replace("compiling for this machine, once, about 20 s …\n", "")  # where nothing was compiled before
    assert out.count("\n") == 2
    assert "\r" in out


def test_score_tables_are_the_whole_model(people):
    model = fitted(people, threshold=0.125)
    effects, constant = model.glass_box_.score_effects()
    tables = effects.tables
    sources = read_sources(people[0])
    codes = [column.encode(sources[f], slice(None)) for f, column in enumerate(model.glass_box_.binner.columns)]
    total = constant + sum(tables[f][code] for f, code in enumerate(codes))
    np.testing.assert_array_equal(total, model.decision_function(people[0]))


def test_score_tables_need_stumps(people):
    X, y, group = people
    X = X.select_dtypes("number").fillna(0)
    model = AdaFairClassifier(n_estimators=2, estimator=DecisionTreeClassifier(max_depth=2)).fit(
        X, y, sensitive_features=group
    )
    assert not hasattr(model, "glass_box_") and not hasattr(model, "to_onnx")
    with pytest.raises(AttributeError, match="DecisionTreeClassifier"):
        model.glass_box_  # noqa: B018
