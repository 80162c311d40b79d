"""What must hold for every data set and every option."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import make_people, make_wide
from parityboost import AdaFairClassifier
from parityboost._engine.kernels import boosting
from parityboost._engine.threads import Team
from parityboost._fit.loop import starting_factors
from parityboost._fit.samples import Sample, to_masses
from problems import OPTIONS, draw_rows, frame_of, group_labels, problems

NOTIONS = ["disparate_mistreatment", "equal_opportunity", "statistical_parity", "predictive_equality"]
FEW = settings(max_examples=60)


def fitted(X, y, group, **options):
    weights = options.pop("sample_weight", None)
    options.setdefault("n_estimators", 20)
    return AdaFairClassifier(**options).fit(X, y, sensitive_features=group, sample_weight=weights)


def assert_same_model(one, other, X):
    assert one.theta_ == other.theta_
    np.testing.assert_allclose(one.estimator_weights_, other.estimator_weights_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=0, atol=1e-9)


@pytest.mark.no_cover
@settings(max_examples=100)
@given(problems(), OPTIONS)
def test_training_error_is_below_the_product_of_z_in_every_round(problem, options):
    _, (columns, y, group, weights), _ = problem
    options |= {"update": "discrete", "threshold": 0.0, "class_weight": None}
    try:
        model = fitted(
            frame_of(columns), y, group_labels(group), sample_weight=weights, validation_fraction=None, **options
        )
    except ValueError as error:
        assert "no better than chance" in str(error)
        return
    assert (model.history_["train_er"] <= model.history_["bound"] + 1e-12).all()
    np.testing.assert_allclose(model.history_["bound"], np.cumprod(model.history_["Z"]))


def test_the_confidence_update_claims_no_bound(people):
    X, y, group = people
    assert fitted(X, y, group).history_["bound"].isna().all()


@FEW
@given(problems(), st.sampled_from([None, "balanced", "balanced_groups"]))
def test_starting_weights_sum_to_one_with_equal_mass_where_asked(problem, class_weight):
    _, (_, y, group, weights), _ = problem
    with Team(1) as team:
        n_groups = group.max() + 1
        train = Sample(y * n_groups + group, n_groups, to_masses(weights), np.arange(len(y)), team)
        start = starting_factors(train.totals, class_weight)
        rows = train.place(np.empty((0, len(y)), dtype=np.uint8), np.empty(0))
        classes = boosting.start_classes(train.cell_mass, start)
        rows.start_weights(start, classes)
        D = rows.distribution(classes, boosting.weigh(classes))
    assert D.sum() == pytest.approx(1)
    if class_weight == "balanced":
        assert D[train.y == 0].sum() == pytest.approx(0.5)
    if class_weight == "balanced_groups":
        np.testing.assert_allclose(np.bincount(train.cell, weights=D), 1 / (2 * (group.max() + 1)))


@pytest.mark.no_cover
@FEW
@given(problems(), OPTIONS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(problem, options, random):
    _, (columns, y, group, weights), _ = problem
    order = list(range(len(y)))
    random.shuffle(order)
    X = frame_of(columns)

    def fit(rows):
        w = None if weights is None else weights[rows]
        return fitted(
            X.iloc[rows], y[rows], group_labels(group[rows]), sample_weight=w, validation_fraction=None, **options
        )

    try:
        one = fit(np.arange(len(y)))
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            fit(order)
        assert "no better than chance" in str(error)
        return
    other = fit(order)
    assert_same_model(one, other, X)


@pytest.mark.parametrize("notion", NOTIONS)
def test_renaming_the_groups_changes_nothing_but_signs(notion):
    X, y, group = make_people(400)
    one = fitted(X, y, group, notion=notion, random_state=0, validation_fraction=None)
    swapped = np.where(group == "a", "z", "b")  # now the other group comes first
    other = fitted(X, y, swapped, notion=notion, random_state=0, validation_fraction=None)
    assert_same_model(one, other, X)
    for column in [name for name in one.history_ if name.startswith("delta_")]:
        np.testing.assert_allclose(one.history_[column], -other.history_[column], atol=1e-12)
    costs = [name for name in one.history_ if name.startswith("cost[a")]
    for column in costs:
        np.testing.assert_allclose(one.history_[column], other.history_[column.replace("[a", "[z")], atol=1e-12)


@pytest.mark.no_cover
@FEW
@given(st.integers(0, 2**32 - 1), OPTIONS)
def test_weight_two_equals_a_repeated_row(seed, options):
    rng = np.random.default_rng(seed)
    columns, y, group, _ = draw_rows(rng, 30, 2, ["float missing", "category", "integer"], False)
    repeats = rng.integers(0, 4, len(y))
    repeats[[np.flatnonzero((y == a) & (group == b))[0] for a in (0, 1) for b in (0, 1)]] = 2
    X, rows = frame_of(columns), np.repeat(np.arange(len(y)), repeats)
    try:
        repeated = fitted(X.iloc[rows], y[rows], group[rows], validation_fraction=None, **options)
    except ValueError as error:
        assert "no better than chance" in str(error)
        return
    weighted = fitted(X, y, group, sample_weight=repeats, validation_fraction=None, **options)
    assert_same_model(weighted, repeated, X.iloc[rows])


def test_weight_two_equals_a_repeated_row_with_more_values_than_bins():
    X, y, group = make_people(2000)
    repeats = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), repeats)
    weighted = fitted(X, y, group, sample_weight=repeats, validation_fraction=None, max_bins=20)
    repeated = fitted(X.iloc[rows], y[rows], group[rows], validation_fraction=None, max_bins=20)
    assert_same_model(weighted, repeated, X)


WIDE = {"category_splits": "sets", "max_bins": 6, "max_depth": 2}  # ten categories share six codes


@pytest.mark.parametrize("weights", [None, "some"])
def test_a_column_that_shares_codes_does_not_depend_on_the_order_or_on_how_rows_are_repeated(weights):
    X, y, group = make_wide(900, 10)
    rng = np.random.default_rng(0)
    repeats = np.ones(len(y), dtype=int) if weights is None else rng.integers(1, 4, len(y))
    options = {"validation_fraction": None, **WIDE}
    one = fitted(X, y, group, sample_weight=repeats, **options)
    column = one.glass_box_.binner.columns[0]
    assert len(column.categories) == 10 and column.n_bins <= 6 and column.shared is not None
    order = rng.permutation(np.repeat(np.arange(len(y)), repeats))
    other = fitted(X.iloc[order], y[order], group[order], **options)
    assert other.glass_box_.binner.columns[0] == column
    assert_same_model(one, other, X)


def test_the_same_seed_gives_the_same_model(people):
    X, y, group = people
    one, other = (fitted(X, y, group, random_state=7) for _ in range(2))
    assert one.history_.equals(other.history_)
    different = fitted(X, y, group, random_state=8)
    assert not one.history_.equals(different.history_)
