"""The weak learner and plain boosting against scikit-learn, which has the same thing."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.tree import DecisionTreeClassifier

import reference
from parityboost import AdaBoostClassifier, AdaFairClassifier
from parityboost._engine.kernels import splitting
from parityboost._fit import trees


def distinct_data(seed, n_rows, n_features, weighted):
    """Continuous columns (as float32, which scikit-learn's trees work in): all gains differ almost surely."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32).astype(np.float64)
    y = (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)
    y[:2] = [0, 1]
    # Of few bits: such weights are not rounded.
    weights = rng.integers(2**13, 2**15, n_rows) / 2**14 if weighted else None
    return X, y, weights


@pytest.mark.no_cover
@given(st.integers(0, 2**32 - 1), st.integers(10, 60), st.integers(1, 4), st.booleans())
def test_first_stump_equals_scikit_learns_tree_of_depth_one(seed, n_rows, n_features, weighted):
    X, y, weights = distinct_data(seed, n_rows, n_features, weighted)
    D = reference.exactly(y, np.ones(n_rows) if weights is None else weights)
    columns = list(X.T)
    gains = sorted(
        reference.score(split, columns, D, "gini", 0.0) / D.total
        for f in range(n_features)
        for split in reference.candidate_splits(f, columns[f], False, D)
    )
    assume(len(gains) == 1 or gains[-1] - gains[-2] > 1e-9)  # scikit-learn breaks ties at random
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, sample_weight=weights)
    ours = AdaBoostClassifier(1).fit(X, y, sample_weight=weights)
    tree_of_ours = ours.estimators_[0]
    stump = tree_of_ours.root
    assert stump.feature == tree.tree_.feature[0]
    assert ours.glass_box_.binner.columns[stump.feature].edges[stump.split - 1] == pytest.approx(
        tree.tree_.threshold[0]
    )
    np.testing.assert_array_equal(ours.predict(X), tree.predict(X))
    confidence = tree.tree_.value[1:, 0].max(axis=1)
    np.testing.assert_allclose(tree_of_ours.confidences[1:3], confidence)


@pytest.mark.no_cover
@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(20, 200), st.integers(1, 5), st.integers(1, 30))
def test_without_fairness_the_ensemble_is_scikit_learns_adaboost(seed, n_rows, n_features, n_estimators):
    # Random weights: two gains are equal only if the splits separate the same rows.
    X, y, weights = distinct_data(seed, n_rows, n_features, weighted=True)
    theirs = SklearnAdaBoost(DecisionTreeClassifier(max_depth=1), n_estimators=n_estimators, random_state=0)
    theirs.fit(X, y, sample_weight=weights)
    assume(theirs.estimator_errors_.min() > 1e-9)  # after a perfect learner scikit-learn stops with another weight
    ours = AdaFairClassifier("none", n_estimators=n_estimators, update="discrete", validation_fraction=None)
    ours.fit(X, y, sensitive_features=np.arange(n_rows) % 2, sample_weight=weights)
    assert ours.n_estimators_ == len(theirs.estimators_)
    np.testing.assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, atol=1e-8)
    new = np.random.default_rng(seed + 1).normal(size=(50, n_features)).astype(np.float32).astype(np.float64)
    same_columns = [s.root.feature for s in ours.estimators_] == [t.tree_.feature[0] for t in theirs.estimators_]
    for data in [X, new] if same_columns else [X]:
        for mine, sklearns in zip(ours.staged_predict(data), theirs.staged_predict(data), strict=True):
            np.testing.assert_array_equal(mine, sklearns)


@pytest.mark.parametrize("options", [{}, {"learner_weight": "cost"}, {"validation_fraction": None}])
def test_a_tree_of_depth_one_as_estimator_gives_the_native_ensemble(options):
    X, y, _ = distinct_data(3, 250, 4, False)  # as many values as fit into bins of their own
    group = (X[:, 1] > 0).astype(int)
    settings = {"n_estimators": 15, "random_state": 0} | options
    native = AdaFairClassifier(**settings).fit(X, y, sensitive_features=group)
    tree = AdaFairClassifier(estimator=DecisionTreeClassifier(max_depth=1), **settings)
    tree.fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(native.estimator_weights_, tree.estimator_weights_, atol=1e-9)
    assert native.theta_ == tree.theta_
    np.testing.assert_array_equal(native.decision_function(X) > 0, tree.decision_function(X) > 0)
    np.testing.assert_allclose(native.feature_importances_, tree.feature_importances_)
    np.testing.assert_allclose(native.history_["Z"], tree.history_["Z"])


def test_a_category_split_is_a_split_of_its_one_hot_column():
    rng = np.random.default_rng(0)
    jobs = rng.choice(list("abcdef"), 500)
    y = (np.isin(jobs, ["b", "e"]) ^ (rng.random(500) < 0.2)).astype(int)
    one_hot = (jobs[:, None] == np.array(list("abcdef"))).astype(float)
    ours = AdaBoostClassifier(6).fit(jobs[:, None], y)
    theirs = AdaBoostClassifier(6).fit(one_hot, y)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_)
    np.testing.assert_array_equal(ours.predict(jobs[:, None]), theirs.predict(one_hot))
    (category,) = ours.estimators_[0].root.split
    assert "abcdef"[category - 1] == "abcdef"[theirs.estimators_[0].root.feature]


def test_missing_values_go_to_the_better_side():
    x = np.array([1.0, 1, 1, 2, 2, 2, np.nan, np.nan])
    for label_of_missing in (0, 1):
        y = np.array([0, 0, 0, 1, 1, 1, label_of_missing, label_of_missing])
        model = AdaBoostClassifier(1).fit(x[:, None], y)
        np.testing.assert_array_equal(model.predict(x[:, None]), y)


def test_missing_values_can_be_separated_from_all_else():
    x = np.array([1.0, 2, 1, 2, np.nan, np.nan])
    y = np.array([0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(AdaBoostClassifier(1).fit(x[:, None], y).predict(x[:, None]), y)
    category = np.array(["a", "b", "a", "b", None, None], dtype=object)
    np.testing.assert_array_equal(AdaBoostClassifier(1).fit(category[:, None], y).predict(category[:, None]), y)


def test_columns_that_cannot_be_split_vote_for_the_majority():
    X, y = np.ones((5, 2)), np.array([0, 1, 1, 1, 0])
    model = AdaBoostClassifier(10).fit(X, y)
    assert model.n_estimators_ == 1
    assert (model.predict(X) == 1).all()


# --- Sets of categories -----------------------------------------------------------------------------------------------


def order_of(values, y, row=1.0):
    """The categories in the order that the kernel puts them in, last of all; ``row`` is the weight of each."""
    names, codes = np.unique(values, return_inverse=True)
    hist = np.zeros((256, 2), dtype=np.int64)
    np.add.at(hist, (codes + 1, y), 1)
    order, flags = np.arange(256)[None], np.zeros((1, 256), dtype=bool)
    found = splitting.Found(np.zeros(1), np.zeros(1, dtype=int), flags[0, :1], flags, order, np.zeros((1, 256)))
    found.scores[0] = -1.0
    limits, both = np.array([0.0, 1.0, 0.0]), (hist[:, 0].sum(), hist[:, 1].sum())
    given, ranks = (0, 0.0, 1.0, 1.0, found.scores, found.splits), np.arange(256)
    splitting.best_set(0, hist, len(names), both, row, trees.SMOOTH * row, ranks, found, limits, 1e-12, given)
    return [str(names[code - 1]) for code in found.order[0] if 1 <= code <= len(names)]


def one_set_split(values, y, **options):
    """The first stump when sets of categories are split, and the categories that it sends to the left."""
    model = AdaFairClassifier(
        "none", **{"n_estimators": 1, "update": "discrete"} | options, category_splits="sets", validation_fraction=None
    )
    model.fit(pd.DataFrame({"code": values}), y)
    column = model.glass_box_.binner.columns[0]
    root = model.estimators_[0].root
    left = {name for name, code in zip(column.categories, column.codes, strict=True) if code in root.split}
    return model, left | ({None} if root.missing_left else set())


def gini(y, left):
    """Of the two sides, larger is purer, as the kernels count it."""
    return sum((part.sum() ** 2 + (1 - part).sum() ** 2) / len(part) for part in (y[left], y[~left]))


@pytest.mark.filterwarnings("ignore::parityboost.FitWarning")
@pytest.mark.parametrize("with_missing", [False, True])
@settings(max_examples=40)
@given(st.data())
def test_the_best_set_is_the_best_of_all_subsets(with_missing, data):
    """With nothing between a category and its share: no other subset of the categories makes purer sides."""
    counts = data.draw(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=2, max_size=8))
    sizes = [(negative + 5, positive) for negative, positive in counts]  # none is so rare as to be taken with others
    names = [f"c{k}" for k in range(len(sizes))]
    if with_missing:
        names[-1] = None
    values = np.array([name for name, size in zip(names, sizes, strict=True) for _ in range(sum(size))], dtype=object)
    y = np.concatenate([np.repeat([0, 1], size) for size in sizes])
    assume(0 < y.sum() < len(y))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "RANKED", 0.0)
        try:
            _, left = one_set_split(values, y)
        except ValueError as error:
            assert "no better than chance" in str(error)
            return
    best = max(
        gini(y, np.isin(values, subset))
        for size in range(1, len(names))
        for subset in map(list, combinations(names, size))
    )
    found = np.array([value in left for value in values])
    if best - len(y) * (y.mean() ** 2 + (1 - y.mean()) ** 2) < 1e-9:
        return  # all shares are equal: nothing is better than not to split
    assert gini(y, found) == pytest.approx(best, abs=1e-9)


@pytest.mark.filterwarnings("ignore::parityboost.FitWarning")  # of a column that predicts the target
def test_one_split_sends_any_subset_of_categories_to_a_side():
    names = list("abcdef")
    for size in (2, 3, 4):
        for subset in combinations(names, size):
            values = np.repeat(names, 10)
            y = np.isin(values, subset).astype(int)
            model, left = one_set_split(values, y)
            assert left - {None} in (set(subset), set(names) - set(subset))
            np.testing.assert_array_equal(model.predict(pd.DataFrame({"code": values})), y)
        one = AdaFairClassifier("none", n_estimators=1, validation_fraction=None).fit(pd.DataFrame({"code": values}), y)
        assert one.score(pd.DataFrame({"code": values}), y) < 1


@pytest.mark.filterwarnings("ignore::parityboost.FitWarning")
def test_what_was_never_seen_goes_where_most_rows_go_and_missing_where_its_rows_go():
    values = np.repeat(np.array(["a", "b", "c", None], dtype=object), [40, 30, 10, 10])
    y = np.repeat([0, 0, 1, 1], [40, 30, 10, 10])
    model, left = one_set_split(values, y)
    assert left in ({"a", "b"}, {"c", None})
    new = pd.DataFrame({"code": np.array(["a", "c", None, "never seen"], dtype=object)})
    assert model.predict(new).tolist() == [0, 1, 1, 0]


@pytest.mark.filterwarnings("ignore::parityboost.FitWarning")
def test_a_rare_category_is_believed_in_part():
    """Its rows agree by chance, so its share counts as nearer to that of all than the share of a common one."""
    values = np.repeat(["rare", "low", "high"], [5, 200, 200])
    y = np.concatenate([np.ones(5), np.repeat([0, 1], [140, 60]), np.repeat([0, 1], [20, 180])]).astype(int)
    with pytest.MonkeyPatch.context() as patch:
        _, left = one_set_split(values, y)
        assert left in ({"low"}, {"high", "rare"})
        # Where all of the difference is believed, the rare one is at the end of the order; where half is, it is not.
        for smooth, last in ((0.0, "rare"), (50.0, "high")):
            patch.setattr(trees, "SMOOTH", smooth)
            assert order_of(values, y)[-1] == last
    column = one_set_split(values[1:], y[1:])[0].glass_box_.binner.columns[0]
    assert column.categories == ("high", "low")  # of fewer than five rows it is other
