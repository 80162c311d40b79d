import fairlearn.metrics as fairlearn
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from parityboost import metrics


@st.composite
def predictions(draw):
    """Labels, predictions, groups and weights; every group has both classes, so that every rate exists."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups = draw(st.integers(2, 4))
    n = draw(st.integers(2 * n_groups, 80))
    cell = np.concatenate([np.arange(2 * n_groups), rng.integers(2 * n_groups, size=n - 2 * n_groups)])
    group = np.array(list("wxyz"))[cell // 2]
    return cell % 2, rng.integers(0, 2, n), group, draw(st.sampled_from([None, rng.uniform(0.1, 3, n)]))


@pytest.mark.no_cover
@settings(max_examples=25)  # fairlearn is slow
@given(predictions())
def test_measures_agree_with_fairlearn(case):
    y, p, s, w = case
    ours, theirs = {"sensitive_features": s, "sample_weight": w}, {"sensitive_features": s, "sample_weight": w}
    same = {
        metrics.statistical_parity_difference: fairlearn.demographic_parity_difference,
        metrics.equal_opportunity_difference: fairlearn.false_negative_rate_difference,
        metrics.predictive_equality_difference: fairlearn.false_positive_rate_difference,
    }
    for mine, fairlearns in same.items():
        assert mine(y, p, **ours) == pytest.approx(fairlearns(y, p, **theirs))
    total = fairlearn.false_negative_rate_difference(y, p, **theirs) + fairlearn.false_positive_rate_difference(
        y, p, **theirs
    )
    assert metrics.disparate_mistreatment(y, p, **ours) == pytest.approx(total)
    assert metrics.disparate_mistreatment(y, p, **ours) >= fairlearn.equalized_odds_difference(y, p, **theirs) - 1e-12


@pytest.mark.no_cover
@settings(max_examples=25)
@given(predictions())
def test_the_table_agrees_with_fairlearns_metric_frame(case):
    y, p, s, w = case
    functions = {
        "selection_rate": fairlearn.selection_rate,
        "tpr": fairlearn.true_positive_rate,
        "tnr": fairlearn.true_negative_rate,
        "fpr": fairlearn.false_positive_rate,
        "fnr": fairlearn.false_negative_rate,
        "accuracy": accuracy_score,
    }
    frame = fairlearn.MetricFrame(
        metrics=functions,
        y_true=y,
        y_pred=p,
        sensitive_features=s,
        sample_params={name: {"sample_weight": w} for name in functions} if w is not None else None,
    )
    table = metrics.group_table(y, p, sensitive_features=s, sample_weight=w)
    for name in functions:
        np.testing.assert_allclose(table[name].iloc[:-1], frame.by_group[name].astype(float))
        assert table.loc["all", name] == pytest.approx(frame.overall[name])
    assert table["n"].iloc[:-1].sum() == pytest.approx(len(y) if w is None else w.sum())


@given(predictions(), st.floats(0, 1))
def test_errors_and_objective_agree_with_scikit_learn(case, c):
    y, p, s, w = case
    er = 1 - accuracy_score(y, p, sample_weight=w)
    ber = 1 - balanced_accuracy_score(y, p, sample_weight=w)
    assert metrics.error_rate(y, p, sample_weight=w) == pytest.approx(er)
    assert metrics.balanced_error_rate(y, p, sample_weight=w) == pytest.approx(ber)
    objective = metrics.fairness_objective(y, p, sensitive_features=s, sample_weight=w, notion="equalized_odds", c=c)
    measure = metrics.disparate_mistreatment(y, p, sensitive_features=s, sample_weight=w)
    assert objective == pytest.approx(c * ber + (1 - c) * er + measure)


def test_signed_differences_are_non_protected_minus_protected():
    y = np.array([1, 1, 0, 0, 1, 1, 0, 0, 1, 0])
    p = np.array([1, 0, 0, 0, 1, 1, 1, 0, 1, 0])
    s = np.array(["f"] * 4 + ["m"] * 4 + ["d"] * 2)
    signed = metrics.signed_differences(y, p, sensitive_features=s, protected="f")
    assert signed["statistical_parity"] == pytest.approx(4 / 6 - 1 / 4)
    assert signed["equal_opportunity"] == pytest.approx(0 - 1 / 2)
    assert signed["predictive_equality"] == pytest.approx(1 / 3 - 0)
    two = s != "d"
    there = metrics.signed_differences(y[two], p[two], sensitive_features=s[two], protected="f")
    back = metrics.signed_differences(y[two], p[two], sensitive_features=s[two], protected="m")
    np.testing.assert_allclose(there, -back)
    with pytest.raises(ValueError, match=r"got 'x'; the groups are 'd', 'f', 'm'"):
        metrics.signed_differences(y, p, sensitive_features=s, protected="x")


def test_several_sensitive_columns_are_crossed():
    s = pd.DataFrame({"sex": list("ffmm"), "old": [True, False, True, True]})
    counts, groups = metrics.group_counts([1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=s)
    assert groups.tolist() == [("f", False), ("f", True), ("m", True)]
    assert counts[2].tolist() == [[1, 0], [1, 0]]
    table = metrics.group_table([1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=s.to_numpy())
    assert table.index.tolist() == ["f & False", "f & True", "m & True", "all"]


def test_the_table_counts_people_in_whole_numbers_and_weights_in_floats():
    y, p, s = [1, 0, 1, 0], [1, 1, 0, 0], list("mmff")
    counted = metrics.group_table(y, p, sensitive_features=s)
    assert counted["n"].dtype == np.int64 and counted["n"].tolist() == [2, 2, 4]
    weighted = metrics.group_table(y, p, sensitive_features=s, sample_weight=[0.5, 0.5, 0.25, 0.5])
    assert weighted["n"].tolist() == [0.75, 1.0, 1.75]


def test_a_group_without_positives_has_no_tpr_and_is_left_out():
    y, p, s = [1, 0, 1, 0, 0], [1, 0, 0, 0, 1], ["a", "a", "b", "b", "c"]
    assert np.isnan(metrics.group_table(y, p, sensitive_features=s).loc["c", "tpr"])
    assert metrics.equal_opportunity_difference(y, p, sensitive_features=s) == 1


@pytest.mark.parametrize(
    ("labels", "pos_label", "positive"),
    [(["no", "yes"], None, "yes"), (["no", "yes"], "no", "no"), ([-1, 1], None, 1), ([False, True], None, True)],
)
def test_labels_of_any_kind(labels, pos_label, positive):
    y = np.array([labels[0], labels[1], labels[1]])
    counts, _ = metrics.group_counts(y, y, sensitive_features=[0, 0, 1], pos_label=pos_label)
    assert counts[:, 1, 1].sum() == (y == positive).sum()


def test_a_single_class_is_understood_where_it_can_be():
    counts, _ = metrics.group_counts([1, 1], [1, 1], sensitive_features=[0, 1])
    assert counts[:, 1, 1].sum() == 2
    assert metrics.balanced_error_rate([0, 0, 0], [0, 0, 1]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="all labels are 'yes': give pos_label"):
        metrics.group_counts(["yes"], ["yes"], sensitive_features=[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_pred": [0, 1]}, "y_true has 3 values, y_pred 2"),
        ({"y_pred": [0, 1, np.nan]}, "y_pred has missing values"),
        ({"y_pred": [0, 1, 2]}, "labels must be of two classes, got 3"),
        ({"pos_label": 7}, r"pos_label=7 is not one of the labels \[0, 1\]"),
        (
            {"sensitive_features": ["a", None, "b"]},
            "sensitive attribute 'sensitive_features' is missing in 1 of 3 rows",
        ),
        ({"sensitive_features": ["a", "b"]}, "X has 3 rows, sensitive_features 2"),
        ({"sample_weight": [1, -1, 1]}, r"must not be negative, got -1.0 in row 1"),
        ({"sensitive_features": np.zeros((1, 1, 3))}, "got 3 dimensions"),
    ],
)
def test_bad_input_is_named(arguments, message):
    good = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "sensitive_features": ["a", "b", "a"]}
    with pytest.raises(ValueError, match=message):
        metrics.group_counts(**(good | arguments))


def test_equal_weights_other_than_one_scale_the_counts():
    counts, _ = metrics.group_counts([0, 1], [0, 1], sensitive_features=[0, 1], sample_weight=[3, 3])
    assert counts.sum() == 6


def test_many_groups_do_not_run_into_each_other():
    group = np.repeat(np.arange(300), 4)
    y = np.tile([0, 0, 1, 1], 300)
    counts, groups = metrics.group_counts(y, y, sensitive_features=group)
    assert len(groups) == 300
    np.testing.assert_array_equal(counts.sum(axis=(1, 2)), 4)


def test_error_rate_needs_no_positive_class():
    assert metrics.error_rate(["a", "a"], ["a", "a"]) == 0
    assert metrics.error_rate(["a", "b"], ["b", "b"]) == 0.5
