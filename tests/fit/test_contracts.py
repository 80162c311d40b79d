"""Small promises of the classifier: bands and missing values as groups, no groups where none matter, staged scores."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import parityboost
from parityboost import AdaFairClassifier, metrics, report
from parityboost._io.strict_json import ModelFileError
from parityboost.metrics import into_groups, violation

BANDS = {"years": [10, 20]}
NAMES = ["under 10", "10 to under 20", "20 or more"]


@pytest.fixture
def people(people):
    X, y, group = people
    return X, y, pd.Series(group, name="group")


def model(**options):
    return AdaFairClassifier(**{"n_estimators": 5, "random_state": 0} | options)


def test_bands_are_the_same_as_cutting_the_column_before(people):
    X, y, _ = people
    cut = pd.cut(X["years"], [-np.inf, 10, 20, np.inf], right=False, labels=NAMES)
    expected = model().fit(X, y, sensitive_features=cut)
    for found in (
        model(bands=BANDS).fit(X, y, sensitive_features=X["years"]),
        model(bands=BANDS, sensitive_feature="years").fit(X, y),
        model().fit(X, y, sensitive_features=into_groups(X["years"], bands=BANDS)),
    ):
        assert found.groups_.tolist() == NAMES  # in their order, not that of the alphabet
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    crossed = model(bands=BANDS).fit(X, y, sensitive_features=X[["city", "years"]])
    assert ("x", "20 or more") in crossed.groups_.tolist() and len(crossed.groups_) == 6


def test_thresholds_per_group_read_the_band_from_x_or_are_given_the_numbers(people, tmp_path):
    X, y, _ = people
    inside = model(bands=BANDS, sensitive_feature="years", threshold="per_group").fit(X, y)
    with pytest.raises(ValueError, match="no sensitive column is called 'years', only 'sensitive_features'"):
        model(bands=BANDS).fit(X, y, sensitive_features=X["years"].tolist())
    outside = model(bands={"age": [10, 20]}, threshold="per_group").fit(X, y, sensitive_features={"age": X["years"]})
    assert set(np.round(inside.threshold_, 9)) == set(np.round(outside.threshold_, 9))
    np.testing.assert_array_equal(inside.predict(X), outside.predict(X, sensitive_features={"age": X["years"]}))
    new = X.assign(years=X["years"] + 0.5)  # between the values of training: by band, not by bin
    by_hand = into_groups(new["years"], bands=BANDS)["years"]
    margin = inside.glass_box_.margin(new)
    np.testing.assert_array_equal(
        inside.decision_function(new), margin - inside.threshold_[by_hand.cat.codes.to_numpy()]
    )
    inside.save(tmp_path / "model.json")
    loaded = parityboost.load(tmp_path / "model.json")
    assert loaded.bands == {"years": (10, 20)}
    np.testing.assert_array_equal(loaded.decision_function(new), inside.decision_function(new))
    pd.testing.assert_frame_equal(loaded.frontier(X, y), inside.frontier(X, y))
    page = report.build(loaded, X, y)
    assert [row["group"] for row in page["audit"]["groups"]] == NAMES


def test_what_was_fitted_with_bands_stays_so_in_a_file(people, tmp_path):
    X, y, _ = people
    fitted = model(bands=BANDS, sensitive_feature="years", missing_group="?", threshold="per_group").fit(X, y)
    expected = fitted.predict(X)
    fitted.set_params(bands=None, missing_group=None).save(tmp_path / "model.json")
    loaded = parityboost.load(tmp_path / "model.json")
    assert loaded.bands is None and loaded.missing_group is None
    np.testing.assert_array_equal(loaded.predict(X), expected)
    text = (tmp_path / "model.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('{"tuple": [10, 20]}', '{"tuple": [20, 10]}'))
    with pytest.raises(ModelFileError, match="'years' must be cut at increasing numbers, got 20 before 10"):
        parityboost.load(tmp_path / "bad.json", verify=False)


@pytest.mark.parametrize(
    ("bands", "message"),
    [
        ({"age": [1]}, "bands: no sensitive column is called 'age', only 'years'"),
        ({"years": []}, r"bands: column 'years' needs a list of numbers to cut at, such as \[25, 40\], got \[\]"),
        ({"years": "10"}, "bands: column 'years' needs a list of numbers"),
        ({"years": [10, "20"]}, "bands: column 'years' must be cut at finite numbers, got '20'"),
        ({"years": [10, np.inf]}, "must be cut at finite numbers, got inf"),
        ({"years": [20, 10]}, "bands: column 'years' must be cut at increasing numbers, got 20 before 10"),
    ],
)
def test_bands_that_are_none_are_named(people, bands, message):
    X, y, _ = people
    with pytest.raises(ValueError, match=message):
        model(bands=bands, sensitive_feature="years").fit(X, y)


def test_text_cannot_be_cut(people):
    X, y, _ = people
    with pytest.raises(ValueError, match=r"sensitive column 'city' must hold numbers to be cut, got .* such as '[xy]'"):
        model(bands={"city": [1]}, sensitive_feature="city").fit(X, y)


def test_missing_values_can_be_a_group(people, tmp_path):
    X, y, group = people
    holes = group.where(np.arange(len(group)) % 5 > 0)
    named = holes.fillna("unknown")
    expected = model().fit(X, y, sensitive_features=named)
    for given in (holes, holes.astype("category"), holes.astype(object)):
        with pytest.raises(ValueError, match="'group' is missing in 60 of 300 rows"):
            model().fit(X, y, sensitive_features=given)
        found = model(missing_group="unknown").fit(X, y, sensitive_features=given)
        assert sorted(found.groups_) == ["a", "b", "unknown"]
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    with pytest.raises(ValueError, match="missing_group: sensitive attribute 'group' has a group called 'a' already"):
        model(missing_group="a").fit(X, y, sensitive_features=holes)
    banded = model(bands={"skill": [0]}, missing_group="unknown", sensitive_feature="skill").fit(X, y)
    assert banded.groups_.tolist() == ["under 0", "0 or more", "unknown"]
    per_group = clone(banded).set_params(threshold="per_group").fit(X, y)
    per_group.save(tmp_path / "model.json")
    np.testing.assert_array_equal(parityboost.load(tmp_path / "model.json").predict(X), per_group.predict(X))
    groups = into_groups(X["skill"], bands={"skill": [0]}, missing_group="unknown")
    predicted = per_group.predict(X)
    assert 0 <= violation(y, predicted, sensitive_features=groups, notion="statistical_parity") <= 1
    assert metrics.group_table(y, predicted, sensitive_features=groups).index.tolist() == [
        *banded.groups_,
        "all",
    ]


def test_no_groups_are_needed_where_none_matter(people):
    X, y, group = people
    found = model(notion="none").fit(X, y)
    assert found.groups_.tolist() == ["all"]
    same = model(notion="none", validation_fraction=None).fit(X, y)
    with_groups = model(notion="none", validation_fraction=None).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(same.decision_function(X), with_groups.decision_function(X))
    assert len(found.frontier(X, y)) > 0
    model(notion="none").fit(X, y, validation=(X, y))
    for options in ({"class_weight": "balanced_groups"}, {"threshold": "per_group"}, {"notion": "statistical_parity"}):
        with pytest.raises(ValueError, match="needs the sensitive attribute"):
            model(**{"notion": "none"} | options).fit(X, y)


def test_the_name_of_a_column_as_sensitive_features_points_to_the_parameter(people):
    X, y, _ = people
    message = r"not the name of a column, got 'city': pass X\['city'\], or .* sensitive_feature='city' \(without an s"
    with pytest.raises(ValueError, match=message):
        model().fit(X, y, sensitive_features="city")


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (lambda X, y, g: (X, y), r"validation=\(X, y\) lacks the groups: pass validation=\(X, y, sensitive_features\)"),
        (lambda X, y, g: (X, y[:5], g), r"validation=\(X, y, sensitive_features\): .* X has 300 rows, y 5"),
        (lambda X, y, g: (X, y, g[:7]), r"validation=\(X, y, sensitive_features\): .* sensitive_features 7"),
        (lambda X, y, g: (X.drop(columns="city"), y, g), r"validation=\(X, y, sensitive_features\): .*\n.*\n- city"),
        (lambda X, y, g: (X, y + 5, g), r"validation=\(X, y, sensitive_features\): the validation labels hold 5"),
        (lambda X, y, g: (X, y, g, y[:3]), r"validation=\(X, y, sensitive_features, sample_weight\): .*sample_weight"),
        (lambda X, y, g: (X, y, ["c"] * 300), r"validation=\(X, y, sensitive_features\): group 'c' does not occur"),
    ],
)
def test_errors_about_validation_name_the_tuple(people, validation, message):
    X, y, group = people
    with pytest.raises(ValueError, match=message):
        model().fit(X, y, sensitive_features=group, validation=validation(X, y, group))


def test_groups_in_another_order_than_x_are_warned_of(people):
    X, y, group = people
    shuffled = group.sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match=r"index of sensitive_features is that of X in another order.*loc\[X.index\]"):
        model().fit(X, y, sensitive_features=shuffled)
    with pytest.warns(UserWarning, match="in another order"):
        model().fit(X, y, sensitive_features=group, validation=(X, y, shuffled.to_frame()))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", parityboost.FitWarning)
        for given in (group, shuffled.loc[X.index], shuffled.to_numpy(), shuffled.reset_index(drop=True)):
            model().fit(X, y, sensitive_features=given)
        model().fit(X.set_axis(np.zeros(300), axis=0), y, sensitive_features=group.set_axis(np.ones(300)))


def test_logarithms_and_stages_are_those_of_the_probabilities(people):
    X, y, group = people
    fitted = model(n_estimators=8).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))
    fitted.set_threshold(500.0)
    assert np.isfinite(fitted.predict_log_proba(X)).all() and (fitted.predict_proba(X)[:, 1] == 0).all()
    fitted.set_threshold(0.0)
    probabilities = list(fitted.staged_predict_proba(X))
    scores = list(fitted.staged_score(X, y, np.arange(1, 301)))
    assert len(probabilities) == len(scores) == 8
    np.testing.assert_array_equal(probabilities[fitted.theta_ - 1], fitted.predict_proba(X))
    assert scores[fitted.theta_ - 1] == fitted.score(X, y, np.arange(1, 301))
    per_group = model(threshold="per_group").fit(X, y, sensitive_features=group.to_numpy())
    assert next(per_group.staged_score(X, y, sensitive_features=group)) > 0
    with pytest.raises(ValueError, match="pass sensitive_features"):
        per_group.predict_log_proba(X)
