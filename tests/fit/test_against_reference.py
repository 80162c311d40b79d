"""The fast implementation equals the plain twin in tests/reference.py, to the last bit, with every option."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
from parityboost import AdaFairClassifier
from parityboost._engine.kernels import boosting
from parityboost._fit import loop, samples
from parityboost._table import binning
from parityboost.notions import get_notion
from problems import SYMMETRIC, TWIN_OPTIONS, draw_rows, frame_of, group_labels, problems

LEAST_ROWS = 2  # of a category that is told apart in sets: these tables have few rows


def fit_both(problem, options, merge, max_categories=254, rules=None, least=LEAST_ROWS, **constraints):
    """The twin and the model, and the model's learner; None for both models if the first learner is at chance."""
    kinds, (columns, y, group, weights), validation = problem
    if validation is None:
        options = options | {"costs_from": "training"}
    categorical = [kind.startswith("category") for kind in kinds]
    name = "symmetric_parity" if options["notion"] is SYMMETRIC else options["notion"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "LEAST_ROWS", least)
        twin = reference.fit(
            columns,
            categorical,
            y,
            group,
            sample_weight=weights,
            validation=validation,
            max_categories=max_categories,
            rules=rules,
            **(options | {"notion": name}),
        )

    model = AdaFairClassifier(validation_fraction=None, max_bins=max_categories, **options, **constraints)
    fit_args = {"sensitive_features": group_labels(group), "sample_weight": weights}
    if validation is not None:
        columns_v, y_v, group_v, weights_v = validation
        fit_args["validation"] = (frame_of(columns_v), y_v, group_labels(group_v), weights_v)
    if not twin.stumps:
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ValueError, match="no better than chance"):
            patch.setattr(binning, "LEAST_ROWS", least)
            model.fit(frame_of(columns), y, **fit_args)
        return None, None, None
    learners = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "LEAST_ROWS", least)
        boost = loop.boost
        patch.setattr(loop, "boost", lambda learner, *rest: learners.append(learner) or boost(learner, *rest))
        if merge:
            patch.setattr(samples, "MIN_ROWS_TO_MERGE", 0)
            patch.setattr(samples, "DISTINCT_SHARE", 1.0)
        model.fit(frame_of(columns), y, **fit_args)
    return twin, model, learners[0]


def assert_same_tree(ours, theirs):
    splits = [(ours.root, theirs.root), (ours.right, theirs.below[0]), (ours.left, theirs.below[1])]
    for (mine, twins), gain in zip(splits, theirs.gains, strict=True):
        assert (mine is None) == (twins is None)
        if mine is not None:
            assert (mine.feature, mine.gain) == (twins.feature, gain)
            assert mine.missing_left == twins.missing_left or twins.is_one_leaf
    assert list(ours.votes) == theirs.votes[::-1]
    assert list(ours.confidences) == theirs.confidences[::-1]


def assert_equal_to_the_last_bit(twin, model, problem, options):
    _, (columns, *_), validation = problem
    assert model.theta_ == twin.theta
    assert model.estimator_weights_.tolist() == twin.alphas
    assert model.history_["Z"].tolist() == twin.Z
    assert model.threshold_ == pytest.approx(twin.thresholds[twin.theta - 1], abs=1e-9)
    prefix = "train" if validation is None else "validation"
    np.testing.assert_allclose(model.history_[f"{prefix}_objective"], twin.objectives, atol=1e-9)
    for ours, theirs in zip(model.estimators_, twin.stumps, strict=True):
        if isinstance(theirs, reference.Tree):
            assert_same_tree(ours, theirs)
            continue
        assert (ours.root.feature, ours.left, ours.right) == (theirs.feature, None, None)
        assert ours.root.missing_left == theirs.missing_left or theirs.is_one_leaf
        both = [theirs.left_vote] * 2 + [theirs.right_vote] * 2
        assert list(ours.votes) == both
        shares = [theirs.left_confidence] * 2 + [theirs.right_confidence] * 2
        assert list(ours.confidences) == shares
    # Same stumps: the same vote in every round, on training data and on new data with unseen values.
    for data in [columns] + ([validation[0]] if validation is not None else []):
        margin = 0.0
        for stump, alpha, staged in zip(
            twin.stumps, twin.alphas, model.staged_decision_function(frame_of(data)), strict=True
        ):
            margin = margin + alpha * stump.vote(data)
            assert (staged == margin - model.threshold_).all()
    gaps = get_notion(options["notion"]).gaps
    labels = [label for gap in gaps for label in (*gap.boosts, *gap.boosts_ahead)]
    for g, name in enumerate(model.groups_):
        for label in labels:
            assert model.history_[f"cost[{name}, {label}]"].tolist() == [u[g, label] for u in twin.costs]


def set_split_judged_by_few_rows():
    """Where the number of rows that are believed by half, a product of three, decides a gain to the last bit."""
    texts = "12113314212330001-1022--33-2", "--1-2413-33-13-312-312404--2"
    columns = [np.array([None if x == "-" else f"v{x}" for x in text], dtype=object) for text in texts]
    y = np.array([int(x) for x in "0110011110100111000110010000"])
    group = np.array([int(x) for x in "0012122101110100120102000101"])
    return ["category missing"] * 2, (columns, y, group, None), None


@pytest.mark.no_cover
@settings(max_examples=200)
@given(problem=problems(), options=TWIN_OPTIONS)
@example(
    problem=set_split_judged_by_few_rows(),
    options={
        "notion": "statistical_parity", "n_estimators": 1, "c": 0.0, "epsilon": 0.0, "cumulative": False,
        "update": "real", "learning_rate": 1.0, "learner_weight": "error", "class_weight": None, "threshold": 0.0,
        "criterion": "error", "category_splits": "sets", "max_depth": 2, "n_iter_no_change": None, "keep": 0.0,
        "max_violation": None, "costs_from": "training",
    },
)  # fmt: skip
def test_fast_fit_equals_the_plain_twin(problem, options):
    twin, model, learner = fit_both(problem, options, merge=False)
    if twin is None:
        return
    assert_equal_to_the_last_bit(twin, model, problem, options)
    D = np.empty(len(learner.train))
    D[learner.train.rows] = learner.distribution()
    if options["n_iter_no_change"] is None:  # otherwise rounds may have been made, and weighed by, that are not used
        assert D.tolist() == twin.D.tolist()
    assert D.sum() == pytest.approx(1)


@pytest.mark.no_cover
@settings(max_examples=100)
@given(problem=problems(few_values=True), options=TWIN_OPTIONS)
def test_merging_equal_rows_changes_no_bit(problem, options):
    _, (columns, y, group, _), _ = problem
    twin, model, learner = fit_both(problem, options, merge=True, least=1)
    if twin is None:
        return
    cells = {(*(str(x) for x in row), a, b) for *row, a, b in zip(*columns, y, group, strict=True)}
    if options["category_splits"] == "sets":  # rare categories share a code
        assert len(learner.train) <= len(cells)
    else:
        assert len(learner.train) == len(cells)
    assert_equal_to_the_last_bit(twin, model, problem, options)


@pytest.mark.no_cover
@pytest.mark.filterwarnings("ignore:column 'x:UserWarning")
@settings(max_examples=60)
@given(problem=problems(categories_only=True), options=TWIN_OPTIONS, most=st.integers(2, 4), merge=st.booleans())
def test_rare_and_unseen_categories_share_one_code_as_in_the_twin(problem, options, most, merge):
    twin, model, _ = fit_both(problem, options, merge, most)
    if twin is not None:
        assert_equal_to_the_last_bit(twin, model, problem, options)


@pytest.mark.no_cover
@settings(max_examples=60)
@given(problem=problems(), options=TWIN_OPTIONS)
def test_sums_that_leave_their_range_all_the_time_equal_the_twin(problem, options):
    with pytest.MonkeyPatch.context() as patch:
        for module in (reference, boosting):
            patch.setattr(module, "TARGET", 60)
            patch.setattr(module, "MAX_TARGET", 60)
            patch.setattr(module, "SHRUNK", 0)
        twin, model, _ = fit_both(problem, options, merge=False)
    if twin is not None:
        assert_equal_to_the_last_bit(twin, model, problem, options)


def test_costs_from_validation_data_need_validation_data():
    X, y = [[0.0], [1.0], [0.0], [1.0]], [0, 1, 1, 0]
    model = AdaFairClassifier(costs_from="validation", validation_fraction=None)
    with pytest.raises(ValueError, match=r'costs_from="validation" needs a validation set.*got None'):
        model.fit(X, y, sensitive_features=["a", "a", "b", "b"])


@pytest.mark.no_cover
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_groups=st.integers(2, 3),
    validated=st.booleans(),
    weighted=st.booleans(),
    notion=st.sampled_from(["disparate_mistreatment", "equal_opportunity", "statistical_parity", "none"]),
    c=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_thresholds_per_group_against_every_combination(seed, n_groups, validated, weighted, notion, c):
    """The whole fit with a threshold per group. The twin tries every combination, the fast search some of them: what it
    says of its choice must be true, not better than the best there is nor worse than a threshold for all.
    """
    rng = np.random.default_rng(seed)
    kinds = ["integer", "category missing"]
    n_rows = 12 if n_groups == 2 else 7
    train = draw_rows(rng, n_rows, n_groups, kinds, weighted)
    validation = draw_rows(rng, n_rows, n_groups, kinds, weighted) if validated else None
    columns, y, group, weights = train
    options = {"notion": notion, "c": c, "n_estimators": 4, "update": "discrete"}
    twin = reference.fit(
        columns, [False, True], y, group, sample_weight=weights, validation=validation, threshold="per_group", **options
    )
    model = AdaFairClassifier(validation_fraction=None, threshold="per_group", **options)
    fit_args = {"sensitive_features": group_labels(group), "sample_weight": weights}
    if validated:
        columns_v, y_v, group_v, weights_v = validation
        fit_args["validation"] = (frame_of(columns_v), y_v, group_labels(group_v), weights_v)
    if not twin.stumps:
        with pytest.raises(ValueError, match="no better than chance"):
            model.fit(frame_of(columns), y, **fit_args)
        return
    model.fit(frame_of(columns), y, **fit_args)

    np.testing.assert_allclose(model.estimator_weights_, twin.alphas, rtol=0, atol=1e-9)
    selection_columns, y_s, group_s, w_s = train if validation is None else validation
    mass, unit = reference.to_masses(w_s)
    w_s = np.ones(len(y_s)) if mass is None else np.array(mass) * unit
    chosen = model.history_[[f"threshold[{name}]" for name in model.groups_]].to_numpy()
    objectives = model.history_["validation_objective" if validated else "train_objective"].to_numpy()
    margin = np.zeros(len(y_s))
    for j, (stump, alpha) in enumerate(zip(twin.stumps, twin.alphas, strict=True)):
        margin = margin + alpha * stump.vote(selection_columns)

        def objective_at(thresholds, margin=margin):
            predicted = (margin > thresholds).astype(int)
            return reference.objective(notion, c, y_s, group_s, predicted, w_s, n_groups)

        assert objectives[j] == pytest.approx(objective_at(chosen[j][group_s]), abs=1e-9)
        assert objectives[j] >= twin.objectives[j] - 1e-9
        assert objectives[j] <= min(map(objective_at, reference.candidate_thresholds(margin))) + 1e-9
    assert model.theta_ == np.flatnonzero(objectives <= objectives.min() + 1e-12)[0] + 1
    np.testing.assert_array_equal(model.threshold_, chosen[model.theta_ - 1])
    if np.allclose(objectives, twin.objectives, rtol=0, atol=1e-9):  # the best of all was found in every round
        assert model.theta_ == twin.theta
