"""Trees of depth two: against scikit-learn, which has the same thing, and what they must be able to do."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.tree import DecisionTreeClassifier
from test_against_reference import assert_equal_to_the_last_bit, fit_both
from test_stump import distinct_data

import reference
from parityboost import AdaFairClassifier, explain
from parityboost._fit import samples
from problems import problems


def plain_trees(n_estimators=1, **options):
    return AdaFairClassifier(
        "none", n_estimators=n_estimators, max_depth=2, update="discrete", validation_fraction=None, **options
    )


def fit_plain(X, y, weights=None, **options):
    return plain_trees(**options).fit(X, y, sensitive_features=np.arange(len(y)) % 2, sample_weight=weights)


def has_distinct_gains(columns, D, rows):
    """Whether the best split of some rows is better than all others that separate other rows."""
    gains = {}
    for f, x in enumerate(columns):
        for split in reference.candidate_splits(f, x, False, D):
            left = split.goes_left(columns)[rows]
            if left.any() and not left.all():
                side = left if left[0] else ~left
                gains[side.tobytes()] = reference.score(split, columns, D, "gini", 0.0, rows) / D.total
    best = sorted(gains.values())
    return len(best) < 2 or best[-1] - best[-2] > 1e-9


@pytest.mark.no_cover
@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(10, 60), st.integers(1, 4), st.booleans())
def test_the_first_tree_equals_scikit_learns_tree_of_depth_two(seed, n_rows, n_features, weighted):
    X, y, weights = distinct_data(seed, n_rows, n_features, weighted)
    D = reference.exactly(y, np.ones(n_rows) if weights is None else weights)
    columns = list(X.T)
    twin = reference.best_tree(columns, [False] * n_features, D, "gini")
    left = twin.root.goes_left(columns)
    assume(all(has_distinct_gains(columns, D, rows) for rows in (left | ~left, left, ~left)))
    theirs = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y, sample_weight=weights)
    assume(theirs.score(X, y, sample_weight=weights) > 0.5)
    model = fit_plain(X, y, weights)
    ours = model.estimators_[0]
    edges = [column.edges for column in model.glass_box_.binner.columns]
    nodes = theirs.tree_
    # Two columns may separate the same rows, and scikit-learn draws one of them.
    mine = X[:, ours.root.feature] <= edges[ours.root.feature][ours.root.split - 1]
    sklearns = X[:, nodes.feature[0]] <= nodes.threshold[0]
    assert (mine == sklearns).all() or (mine != sklearns).all()
    below = (nodes.children_left[0], nodes.children_right[0])
    for split, child in zip((ours.left, ours.right), below if (mine == sklearns).all() else below[::-1], strict=True):
        if nodes.children_left[child] < 0:  # a pure leaf
            assert split is None
        elif split is not None:
            rows = theirs.decision_path(X)[:, [child]].toarray().ravel() == 1
            mine = (X[:, split.feature] <= edges[split.feature][split.split - 1])[rows]
            sklearns = (X[:, nodes.feature[child]] <= nodes.threshold[child])[rows]
            assert (mine == sklearns).all() or (mine != sklearns).all()
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    np.testing.assert_allclose(model.feature_importances_.sum(), 1)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(40, 200), st.integers(2, 5), st.integers(1, 15))
def test_without_fairness_the_ensemble_is_scikit_learns_adaboost(seed, n_rows, n_features, n_estimators):
    X, y, weights = distinct_data(seed, n_rows, n_features, weighted=True)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    theirs = SklearnAdaBoost(tree, n_estimators=n_estimators, random_state=0).fit(X, y, sample_weight=weights)
    assume(theirs.estimator_errors_.min() > 1e-9)
    ours = fit_plain(X, y, weights, n_estimators=n_estimators)
    n_same = 0
    for mine, sklearns in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=False):
        n_same += bool((mine == sklearns).all())
    # A side with few rows may be split alike by two columns, which scikit-learn draws from; such ties are rare.
    assume(np.allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, atol=1e-8))
    assert n_same == len(theirs.estimators_)


def test_a_tree_of_depth_two_as_estimator_gives_the_native_ensemble():
    X, y, weights = distinct_data(3, 250, 4, True)  # as many values as fit into bins of their own
    group = (X[:, 1] > 0).astype(int)
    options = {"n_estimators": 15, "random_state": 0}
    native = AdaFairClassifier(max_depth=2, **options).fit(X, y, sensitive_features=group, sample_weight=weights)
    tree = AdaFairClassifier(estimator=DecisionTreeClassifier(max_depth=2), **options)
    tree.fit(X, y, sensitive_features=group, sample_weight=weights)
    np.testing.assert_allclose(native.estimator_weights_, tree.estimator_weights_, atol=1e-6)
    assert native.theta_ == tree.theta_
    np.testing.assert_array_equal(native.decision_function(X) > 0, tree.decision_function(X) > 0)
    np.testing.assert_allclose(native.feature_importances_, tree.feature_importances_, atol=1e-6)


def test_two_features_that_matter_only_together():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20, dtype=float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    with pytest.raises(ValueError, match="no better than chance"):
        plain_trees().set_params(max_depth=1).fit(X, y, sensitive_features=np.arange(80) % 2)
    with pytest.warns(UserWarning, match="columns 'x0' and 'x1' alone predict the target"):
        model = fit_plain(X, y)
    assert (model.predict(X) == y).all()
    assert model.history_[["feature", "feature_left", "feature_right"]].iloc[0].tolist() == ["x0", "x1", "x1"]


def test_the_columns_of_history_for_a_side_that_is_not_split_are_empty():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    y = ((X[:, 0] == 1) & (X[:, 1] == 1)).astype(int)
    with pytest.warns(UserWarning, match="alone predict"):
        model = fit_plain(X, y)
    assert model.history_["feature_left"].tolist() == [""]
    assert model.history_["feature_right"].tolist() == ["x1"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_same_bits_for_any_threads_and_row_order(people, n_jobs, monkeypatch):
    X, y, group = people
    monkeypatch.setattr("parityboost._engine.threads.WORTH_A_THREAD", 1)
    options = {"max_depth": 2, "n_estimators": 20, "validation_fraction": None, "threshold": "auto"}
    first = AdaFairClassifier(**options, n_jobs=1).fit(X, y, sensitive_features=group)
    order = np.random.default_rng(0).permutation(len(X))
    X2, y2 = X.iloc[order], np.asarray(y)[order]
    second = AdaFairClassifier(**options, n_jobs=n_jobs).fit(X2, y2, sensitive_features=np.asarray(group)[order])
    assert first.estimators_ == second.estimators_
    assert first.estimator_weights_.tolist() == second.estimator_weights_.tolist()
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    for pair, function in explain.pair_functions(first).items():
        np.testing.assert_array_equal(function.scores, explain.pair_function(second, *pair).scores)
        np.testing.assert_array_equal(function.weight, explain.pair_function(second, *pair).weight)


# --- Constraints


@st.composite
def constraints(draw, n_columns):
    """Sets that cover all columns, as every model has it in the end, and directions."""
    together = draw(st.one_of(st.none(), st.lists(st.sets(st.integers(0, n_columns - 1)), max_size=3)))
    orders = draw(st.one_of(st.none(), st.lists(st.sampled_from([-1, 0, 1]), min_size=n_columns, max_size=n_columns)))
    return together, orders


@pytest.mark.no_cover
@settings(max_examples=80)
@given(problem=problems(), data=st.data())
def test_constrained_trees_equal_the_twin(problem, data):
    kinds, _, _ = problem
    together, orders = data.draw(constraints(len(kinds)))
    if orders is not None:
        orders = [0 if kind.startswith("category") else order for kind, order in zip(kinds, orders, strict=True)]
    depth = data.draw(st.sampled_from([1, 2]))
    options = {"n_estimators": 6, "max_depth": depth, "notion": "equal_opportunity", "costs_from": "training"}
    rules = reference.Rules(orders=orders if orders is not None and any(orders) else None)
    if together is not None:
        rules.together = [*together, set(range(len(kinds))) - set().union(*together)]
    twin, model, _ = fit_both(
        problem, options, merge=False, rules=rules, interaction_cst=together, monotonic_cst=orders
    )
    if twin is not None:
        assert_equal_to_the_last_bit(twin, model, problem, options)
        for tree in model.estimators_ if rules.together is not None and depth == 2 else []:
            below = [split.feature for split in tree.splits[1:]]
            assert all(any({tree.root.feature, f} <= set(members) for members in rules.together) for f in below)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]), st.sampled_from([-1, 1]), st.booleans())
def test_the_score_moves_in_one_direction_only(seed, depth, order, with_holes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)).round(1)
    y = (X[:, 0] * np.where(X[:, 1] > 0, 1, -1) + rng.normal(size=150) > 0).astype(int)
    if with_holes:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = AdaFairClassifier(max_depth=depth, n_estimators=30, monotonic_cst={0: order}, validation_fraction=None)
    model.fit(X, y, sensitive_features=np.arange(150) % 2)
    grid = np.linspace(-4, 4, 60)
    for row in X[:20]:
        people = np.repeat(row[None], 60, axis=0)
        people[:, 0] = grid
        assert (order * np.diff(model.decision_function(people)) >= 0).all()


def test_no_pair_with_the_sensitive_column(people):
    X, y, group = people
    X = X.assign(group=group)
    free = AdaFairClassifier(max_depth=2, n_estimators=40, random_state=0).fit(X, y, sensitive_features=group)
    assert any("group" in pair for pair in explain.pair_functions(free.set_theta(40)))
    model = AdaFairClassifier(max_depth=2, interaction_cst=[{"group"}], n_estimators=40, random_state=0)
    pairs = explain.pair_functions(model.fit(X, y, sensitive_features=group).set_theta(40))
    assert pairs
    assert not any("group" in pair for pair in pairs)
    alone = AdaFairClassifier(max_depth=2, interaction_cst="no_interactions", n_estimators=20)
    assert not explain.pair_functions(alone.fit(X, y, sensitive_features=group))
    assert len(alone.history_["feature_left"].unique()) > 1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"interaction_cst": [{"nothing"}]}, r"interaction_cst names the column 'nothing', which X does not have"),
        ({"interaction_cst": ["x0"]}, r"interaction_cst must be a list of sets of columns.*got 'x0' in it"),
        ({"interaction_cst": [{7}]}, r"names the column 7"),
        ({"monotonic_cst": [1]}, r"monotonic_cst has 1 entries, but X has 2 columns"),
        ({"monotonic_cst": {"x0": 2}}, r"of column 'x0' must be 1 .* got 2"),
        ({"monotonic_cst": {"x1": 1}}, r"column 'x1' holds categories"),
        ({"monotonic_cst": {"x0": 1}, "estimator": DecisionTreeClassifier()}, r"is for the native trees"),
        ({"max_depth": 2, "estimator": DecisionTreeClassifier()}, r"max_depth=2 is for the native trees"),
        ({"max_depth": 3}, r"max_depth"),
    ],
)
def test_constraints_that_cannot_be_meant(options, message):
    X = pd.DataFrame({"x0": [0.0, 1, 2, 3] * 3, "x1": list("abcd") * 3})
    model = AdaFairClassifier(validation_fraction=None, **options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, [0, 1, 1, 0] * 3, sensitive_features=[0, 1] * 6)


# --- Limits


def test_many_columns_categories_and_groups_stay_small(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    n_rows, n_groups = 4000, 200
    X = pd.DataFrame(rng.normal(size=(n_rows, 300)), columns=[f"n{j}" for j in range(300)])
    for j in range(3):
        X[f"c{j}"] = pd.Categorical(rng.integers(0, 254, n_rows).astype(str))
    group = np.arange(n_rows) % n_groups
    y = ((X["n0"] * X["n1"] + rng.normal(size=n_rows) > 0) | (rng.random(n_rows) < 0.05)).astype(int)
    model = AdaFairClassifier(max_depth=2, n_estimators=30, random_state=0).fit(X, y, sensitive_features=group)
    cells = sum(pair.weight.size for pair in model._rounds.support)
    assert cells <= 2 * 30 * 16  # most pairs have one use, which has 3 × 3 cells
    model.save(tmp_path / "model.json")
    without_history = model.set_params(notion="none")
    assert (tmp_path / "model.json").stat().st_size < 2_000_000
    np.testing.assert_array_equal(without_history.predict(X.iloc[:5]), model.predict(X.iloc[:5]))


def test_equal_rows_are_counted_as_often_as_they_were_there(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 2)).astype(float)
    y = (X[:, 0] == X[:, 1]).astype(int) ^ (rng.random(400) < 0.1)
    options = {"max_depth": 2, "n_estimators": 5, "validation_fraction": None}
    apart = AdaFairClassifier(**options).fit(X, y, sensitive_features=np.arange(400) % 2)
    monkeypatch.setattr(samples, "MIN_ROWS_TO_MERGE", 0)
    merged = AdaFairClassifier(**options).fit(X, y, sensitive_features=np.arange(400) % 2)
    for pair, function in explain.pair_functions(apart).items():
        other = explain.pair_function(merged, *pair)
        assert function.weight.sum() == other.weight.sum() == 400
        np.testing.assert_array_equal(function.weight, other.weight)
        np.testing.assert_array_equal(function.scores, other.scores)
