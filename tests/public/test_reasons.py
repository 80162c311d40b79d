"""Reasons for unfavourable decisions: whose sums are exact, each feature once, and whose changes are enough."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier, explain
from parityboost.explain._reasons import reason_columns


def fitted(people, **options):
    X, y, group = people
    return AdaFairClassifier(**{"n_estimators": 30, "max_depth": 2, "random_state": 0} | options).fit(
        X, y, sensitive_features=group
    )


def score_of(model, X):
    decision = model.decision_function(X)
    return decision if model.classes_.tolist()[1] == model.positive_ else -decision


@pytest.mark.no_cover
@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([1, 2]), st.sampled_from([0, 1]), st.sampled_from(["best", "approved"]))
def test_sums_are_exact_and_each_feature_is_named_once(seed, depth, favourable, reference):
    X, y, group = make_people(120, seed)
    model = fitted((X, y, group), max_depth=depth)
    found = explain.reasons(model, X, 3, favourable=favourable, reference=reference)
    refused = model.predict(X) != favourable
    assert found.rows.index.tolist() == np.flatnonzero(refused).tolist()
    sign = 1 if favourable == 1 else -1
    np.testing.assert_array_equal(found.rows["score"], score_of(model, X)[refused])
    difference = sign * (found.rows["reference"] - found.rows["score"])
    np.testing.assert_array_equal(found.rows["named"] + found.rows["others"], difference)
    np.testing.assert_array_equal(
        found.table.groupby("row")["shortfall"].sum().reindex(found.rows.index, fill_value=0.0), found.rows["named"]
    )
    assert not found.table.duplicated(["row", "feature"]).any()
    assert (found.table["shortfall"] > 0).all() and (found.table["rank"] <= 3).all()
    for _, of_row in found.table.groupby("row"):
        assert of_row["rank"].tolist() == list(range(1, len(of_row) + 1))
        assert of_row["shortfall"].is_monotonic_decreasing
    if reference == "best":  # nobody has more
        np.testing.assert_array_less(-1e-12, sign * (found.rows["reference"].iloc[0] - score_of(model, X)))


def test_a_pair_is_divided_among_its_features():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    model = AdaFairClassifier("none", max_depth=2, n_estimators=1, validation_fraction=None)
    model.fit(X, y, sensitive_features=["a", "b"] * 20)
    found = explain.reasons(model, X[:1], can_change=["x0", "x1"], favourable=1)
    assert found.table["feature"].tolist() == ["x0", "x1"]
    assert found.table["shortfall"].iloc[0] == found.table["shortfall"].iloc[1]
    assert found.table["change"].tolist() == ["more than 0.5"] * 2


def test_changes_are_enough_and_none_smaller_is():
    people = make_people(400)
    X = people[0]
    model = fitted(people, favourable=1)
    found = explain.reasons(model, X, 5, can_change={"skill": "any", "years": "up", "city": "any"})
    table = found.table.set_index(["row", "feature"])
    tried = 0
    for (row, feature), reason in table.iterrows():
        change, changed = reason["change"], X.loc[[row]].copy()
        if feature in ("job", "member"):
            assert change is None
            continue
        if change == "no value is enough on its own":
            options = {
                "city": ["x", "y"],
                "years": range(int(X.loc[row, "years"]), 40),
                "skill": np.arange(-5, 5, 0.05),
            }
            if feature == "skill" and np.isnan(X.loc[row, "skill"]):
                continue
            everything = pd.concat([changed.assign(**{feature: value}) for value in options[feature]])
            assert not (model.predict(everything) == 1).any()
            continue
        if feature == "city":
            value = change.strip("'")
        else:
            edge = float(change.split()[2])
            up = change.startswith("more than")
            value = edge + 1e-9 if up else edge - 1e-9  # what is told is rounded to 15 digits
            before = edge - 1e-9 if up else edge + 1e-9
            assert model.predict(changed.astype({feature: float}).assign(**{feature: before}))[0] == 0
        assert model.predict(changed.assign(**{feature: value}))[0] == 1
        tried += 1
    assert tried > 20


def test_texts_codes_and_features_that_may_not_be_named(people):
    model = fitted(people, favourable=1)
    texts, codes = {"skill": "Too little experience"}, {"skill": "R07"}
    given = {"texts": texts, "codes": codes, "unnamed": ["city", "member"]}
    found = explain.reasons(model, people[0], 2, **given)
    assert {"city", "member"}.isdisjoint(found.table["feature"])
    of_skill = found.table[found.table["feature"] == "skill"]
    assert set(of_skill["text"]) == {"Too little experience"} and set(of_skill["code"]) == {"R07"}
    assert "1. [R07] Too little experience (" in str(found)
    everything = explain.reasons(model, people[0], 9)
    np.testing.assert_array_equal(
        everything.rows["named"] + everything.rows["others"],
        found.rows.sum(axis=1) - found.rows[["score", "reference"]].sum(axis=1),
    )
    wide = reason_columns(model, people[0], found.rule)
    assert list(wide) == ["reason_1", "reason_1_code", "reason_2", "reason_2_code"]
    firsts = found.table[found.table["rank"] == 1].set_index("row")["text"]
    assert [text for text in wide["reason_1"] if text is not None] == firsts.tolist()


def test_what_is_compared_with_may_be_other_rows(people):
    X, _, _ = people
    model = fitted(people, favourable=1)
    found = explain.reasons(model, X.iloc[:50], reference=X)
    approved = X[model.predict(X) == 1]
    assert abs(found.rows["reference"].iloc[0] - score_of(model, approved).mean()) < 1e-9
    refused = X[model.predict(X) == 0]
    with pytest.raises(ValueError, match=r"reference: none of the .* rows got 1"):
        explain.reasons(model, refused, reference="approved")


def test_it_is_said_which_decision_is_favourable(people):
    X, y, group = people
    unstated = fitted(people)
    found = explain.reasons(unstated, X)
    assert not found.favourable_is_stated and found.favourable == 1
    assert "did not get 1 (the positive label: which one is favourable was not stated)" in str(found)
    stated = fitted(people, favourable=0)
    found = explain.reasons(stated, X)
    assert found.favourable_is_stated and found.rule.sign == -1
    assert found.rows.index.tolist() == np.flatnonzero(stated.predict(X) == 1).tolist()
    turned = fitted((X, np.array(["yes", "no"])[y], group), positive="no", favourable="yes")
    found = explain.reasons(turned, X)
    assert found.rule.sign == -1
    assert found.rows.index.tolist() == np.flatnonzero(turned.predict(X) == "no").tolist()


def test_an_average_and_thresholds_per_group_have_reasons_too(people):
    X, y, _ = people
    model = ParityBoostClassifier(
        n_bags=2, n_estimators=10, threshold="per_group", sensitive_feature="city", random_state=0, favourable=1
    ).fit(X, y)
    found = explain.reasons(model, X)
    np.testing.assert_array_equal(found.rows["score"], score_of(model, X)[model.predict(X) == 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be a whole number of at least 1, got 0"),
        ({"unnamed": ["sex"]}, "unnamed: the model has no feature 'sex'; its features are 'skill', 'years'"),
        ({"texts": {"age": "x"}}, "texts: the model has no feature 'age'"),
        ({"can_change": {"skill": "left"}}, "can_change: 'skill' must go up, down, any, got 'left'"),
        ({"can_change": {"job": "up"}}, "can_change: 'job' holds categories, which go neither up nor down"),
        ({"reference": "mean"}, "reference must be 'best', 'approved' or a table of rows, got 'mean'"),
        ({"favourable": 7}, "favourable=7 is not one of the labels 0, 1"),
    ],
)
def test_what_cannot_be_is_refused_by_name(people, options, message):
    with pytest.raises(ValueError, match=message):
        explain.reasons(fitted(people), people[0], **options)


def test_arrays_and_rows_that_all_got_a_yes():
    X, y = np.array([[1.0, 5], [2, 1], [3, 5], [4, 1], [5, 5], [6, 1]]), [0, 0, 0, 1, 1, 1]
    model = AdaBoostClassifier(5).fit(X, y)
    found = explain.reasons(model, X[3:])
    assert len(found.table) == len(found.rows) == 0
    assert str(found).startswith("0 rows did not get 1")
