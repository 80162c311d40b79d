"""Every mistake in the input is a clear error that names the culprit, before any training."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from parityboost import AdaBoostClassifier, AdaFairClassifier


@pytest.fixture(autouse=True)
def no_training(monkeypatch, request):
    """Fails the test if boosting starts; `trains` marks those that may."""
    if "trains" in request.keywords:
        return

    def refuse(*_args, **_kwargs):
        raise AssertionError("training started")

    import parityboost._fit.loop

    monkeypatch.setattr(parityboost._fit.loop, "boost", refuse)


def fit(people, model=None, **changes):
    X, y, group = people
    arguments = {"X": X, "y": y, "sensitive_features": group} | changes
    return (model or AdaFairClassifier(n_estimators=3)).fit(**arguments)


def test_no_sensitive_attribute(people):
    with pytest.raises(ValueError, match=r"needs the sensitive attribute for notion='.*': pass sensitive_features=…"):
        fit(people, sensitive_features=None)


def test_the_sensitive_attribute_given_twice(people):
    with pytest.raises(ValueError, match=r"given twice.*sensitive_feature='city'"):
        fit(people, AdaFairClassifier(sensitive_feature="city"))


def test_one_group_only(people):
    with pytest.raises(ValueError, match="only one group in the sensitive attribute, 'a'"):
        fit(people, sensitive_features=["a"] * 300)


def test_more_than_two_classes(people):
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*3 classes, 0, 1, 2"):
        fit(people, y=np.arange(300) % 3)


def test_one_class_only(people):
    with pytest.raises(ValueError, match="only one class is present: all labels are 'yes'"):
        fit(people, y=["yes"] * 300)


def test_no_labels_at_all(people):
    with pytest.raises(ValueError, match="requires y to be passed"):
        fit(people, y=None)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels(people, missing):
    y = people[1].astype(object)
    y[5] = missing
    with pytest.raises(ValueError, match="1 of 300 labels are missing"):
        fit(people, y=y)


def test_missing_values_in_plain_lists_of_text(people):
    labels = [float("nan"), *("yes" if label else "no" for label in people[1][1:])]
    with pytest.raises(ValueError, match="1 of 300 labels are missing"):
        fit(people, y=labels)
    with pytest.raises(ValueError, match="is missing in 1 of 300 rows"):
        fit(people, sensitive_features=[float("nan"), *people[2][1:].tolist()])


def test_missing_groups_name_the_attribute(people):
    group = pd.Series(people[2], name="gender", dtype=object)
    group[[3, 4]] = None
    with pytest.raises(ValueError, match="sensitive attribute 'gender' is missing in 2 of 300 rows"):
        fit(people, sensitive_features=group)


@pytest.mark.parametrize("name", ["y", "sensitive_features", "sample_weight"])
def test_lengths_that_differ(people, name):
    with pytest.raises(ValueError, match=f"X has 300 rows, {name} 299"):
        fit(people, **{name: np.arange(299) % 2 + 0.0})


def test_negative_weights(people):
    weights = np.ones(300)
    weights[17] = -2
    with pytest.raises(ValueError, match=r"sample_weight must not be negative, got -2.0 in row 17"):
        fit(people, sample_weight=weights)


def test_all_zero_weights(people):
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        fit(people, sample_weight=np.zeros(300))


def test_weights_that_are_no_numbers(people):
    with pytest.raises(ValueError, match="sample_weight contains NaN or infinity"):
        fit(people, sample_weight=np.full(300, np.nan))
    with pytest.raises(ValueError, match=r"must be 1D array or scalar, got an array of shape \(300, 1\)"):
        fit(people, sample_weight=np.ones((300, 1)))


def test_weights_that_leave_one_class_or_one_group(people):
    _, y, group = people
    with pytest.raises(ValueError, match=r"rows of positive sample_weight: .* only one class .* are 1"):
        fit(people, sample_weight=(y == 1) * 1.0)
    with pytest.raises(ValueError, match=r"rows of positive sample_weight: only one group .* 'b'"):
        fit(people, sample_weight=(group == "b") * 1.0)


def test_an_unknown_notion_lists_the_known_ones(people):
    with pytest.raises(
        ValueError, match=r"'notion' parameter of AdaFairClassifier must be a str among .*'equal_opport"
    ):
        fit(people, AdaFairClassifier("fair"))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_name_the_column(people, value):
    X = people[0].copy()
    X.loc[3, "skill"] = value
    with pytest.raises(ValueError, match="column 'skill' of X contains infinity"):
        fit(people, X=X)


def test_sparse_data(people):
    with pytest.raises(TypeError, match="X is a sparse matrix, but dense data is required"):
        fit(people, X=sparse.csr_matrix(np.eye(300)))
    for name in ("z", 2):
        X = pd.DataFrame({name: pd.arrays.SparseArray(np.zeros(300))})
        with pytest.raises(TypeError, match=f"column '{name}' of X is sparse"):
            fit(people, X=X)


def test_empty_frames(people):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fit(people, X=people[0].iloc[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        fit(people, X=people[0].iloc[:, :0])


def test_dates_are_named(people):
    X = people[0].assign(born=pd.Timestamp("2000-01-01"))
    with pytest.raises(TypeError, match="column 'born' holds dates"):
        fit(people, X=X)


def test_an_unknown_sensitive_column_lists_the_columns(people):
    with pytest.raises(
        ValueError, match=r"sensitive_feature: X has no column 'sex'; its columns are 'skill', 'years', 'job'"
    ):
        fit(people, AdaFairClassifier(sensitive_feature="sex"), sensitive_features=None)


def test_an_estimator_without_sample_weight(people):
    with pytest.raises(ValueError, match="KNeighborsClassifier does not take sample_weight"):
        fit(people, AdaFairClassifier(estimator=KNeighborsClassifier()))


@pytest.mark.parametrize("columns", [["years"], [0], pd.Index(["years"]), ["no such column"], [[0]]])
def test_categories_for_an_estimator_that_cannot_be_told_of_them(people, columns):
    X = people[0][["years"]]
    model = AdaFairClassifier(estimator=LogisticRegression(), categorical_features=columns, n_estimators=2)
    with pytest.raises(ValueError, match="categorical_features is for the native stump, and LogisticRegression would"):
        fit(people, model, X=X)


@pytest.mark.trains
@pytest.mark.parametrize("columns", ["from_dtype", None, []])
def test_no_categories_for_an_estimator(people, columns):
    model = AdaFairClassifier(estimator=LogisticRegression(), categorical_features=columns, n_estimators=2)
    assert fit(people, model, X=people[0][["years"]]).n_estimators_ >= 1


def test_no_sensitive_columns_at_all(people):
    with pytest.raises(ValueError, match="sensitive_features has no column"):
        fit(people, sensitive_features=pd.DataFrame(index=range(300)))


def test_too_few_groups_for_a_rate(people):
    _, y, group = people
    y = np.where(group == "b", 0, y)
    with pytest.raises(
        ValueError, match=r"training data: group 'b' has no example of class '1'.*'fnr'.*fewer than two groups"
    ):
        fit(people, y=y)


def test_a_validation_set_of_the_wrong_form(people):
    X, y, group = people
    with pytest.raises(ValueError, match=r"validation must be \(X, y\).*got ndarray"):
        fit(people, validation=np.ones(3))
    with pytest.raises(ValueError, match=r"got tuple of length 1"):
        fit(people, validation=(X,))
    with pytest.raises(ValueError, match="validation labels hold 5"):
        fit(people, validation=(X, np.full(300, 5), group))
    with pytest.raises(ValueError, match="group 'c' does not occur"):
        fit(people, validation=(X, y, ["c"] * 300))
    with pytest.raises(ValueError, match="feature names should match"):
        fit(people, validation=(X.rename(columns={"job": "work"}), y, group))


@pytest.mark.trains
def test_a_group_without_positives_is_left_out_of_that_rate_with_a_warning(people):
    _, y, group = people
    group = np.where(np.arange(300) < 20, "c", group)
    y = np.where(group == "c", 0, y)
    with pytest.warns(
        UserWarning, match=r"training data: group 'c' has no example of class '1': left out of the rate 'fnr'"
    ):
        model = fit(people, AdaFairClassifier(n_estimators=3, validation_fraction=None), y=y, sensitive_features=group)
    assert np.isfinite(model.history_["train_violation"]).all()


@pytest.mark.trains
def test_a_first_learner_no_better_than_chance(people):
    X = pd.DataFrame({"constant": np.ones(300)})
    with pytest.raises(ValueError, match="the first weak learner is no better than chance"):
        fit(people, AdaFairClassifier(class_weight="balanced"), X=X)


@pytest.mark.trains
def test_a_fit_that_fails_leaves_nothing_to_predict_with(people):
    X, y, group = people
    model = fit(people)
    with pytest.raises(ValueError, match="no better than chance"):
        model.set_params(class_weight="balanced").fit(X.assign(skill=1.0).iloc[:, :1], y, sensitive_features=group)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.trains
def test_a_frame_with_other_columns_at_predict(people):
    model = fit(people)
    X = people[0]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"job": "work"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.drop(columns="job"))
    with pytest.raises(ValueError, match="column 'years' held numbers in training"):
        model.predict(X.assign(years="many"))
    with pytest.raises(ValueError, match="column 'job' held categories in training"):
        model.predict(X.assign(job=1.5))


@pytest.mark.trains
def test_arrays_of_another_width_at_predict():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = AdaBoostClassifier(3).fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="X has 2 features, but AdaBoostClassifier"):
        model.predict(X[:, :2])


@pytest.mark.trains
def test_importances_of_an_estimator_that_has_none(people):
    X, y, group = people
    model = AdaFairClassifier(estimator=LogisticRegression(), n_estimators=2)
    model.fit(X[["years"]], y, sensitive_features=group)
    with pytest.raises(AttributeError, match="LogisticRegression has none"):
        _ = model.feature_importances_


def test_a_dictionary_is_no_target_whether_or_not_all_rows_count():
    X, group = np.arange(8.0)[:, None], np.tile(["a", "b"], 4)
    for weight in (np.ones(8), np.r_[0, np.ones(7)]):
        with pytest.raises(ValueError, match="y should be a 1d array"):
            AdaFairClassifier().fit(X, {"y": np.tile([0, 0, 1, 1], 2)}, sensitive_features=group, sample_weight=weight)
