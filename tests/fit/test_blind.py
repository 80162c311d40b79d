"""blind=True: the sensitive columns are named, say who is in which group, and are no features."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import parityboost
from conftest import make_people
from parityboost import AdaFairClassifier, ParityBoostClassifier, explain, report
from parityboost.metrics import fairness_scorer

CLASSES = [
    (AdaFairClassifier, {"n_estimators": 10}),
    (ParityBoostClassifier, {"n_estimators": 10, "n_bags": 2}),
]


def people(n_rows=500):
    X, y, sex = make_people(n_rows)
    X.insert(1, "sex", sex)
    X["title"] = np.where(np.random.default_rng(0).random(n_rows) < 0.9, sex, "?")  # all but tells the sex
    return X, y


@pytest.mark.parametrize(("cls", "few"), CLASSES)
def test_a_blind_model_is_that_of_the_other_columns(cls, few, tmp_path):
    X, y = people()
    others = X.drop(columns="sex")
    blind = cls(sensitive_feature="sex", blind=True, random_state=0, **few).fit(X, y)
    by_hand = cls(random_state=0, **few).fit(others, y, sensitive_features=X["sex"])
    assert blind.feature_names_in_.tolist() == others.columns.tolist()
    for rows in (X, others, X[[*reversed(X.columns[:0]), *X.columns]]):
        assert (blind.decision_function(rows) == by_hand.decision_function(others)).all()
        assert (blind.glass_box_.predict(rows) == by_hand.predict(others)).all()
    blind.save(tmp_path / "model.json")
    loaded = parityboost.load(tmp_path / "model.json")
    assert loaded.about_.blind and (loaded.predict_proba(X) == blind.predict_proba(others)).all()
    pd.testing.assert_frame_equal(loaded.frontier(X, y), blind.frontier(X, y))
    assert blind.scorecard(X).table.equals(by_hand.scorecard(others).table)
    assert blind.to_sql("people").count("sex") == 0
    assert "sex" not in explain.importances(blind, X).index
    pd.testing.assert_frame_equal(explain.contributions(blind, X), explain.contributions(blind, others))
    # What was fitted stays blind, whatever its parameters are set to.
    assert (blind.set_params(blind=False).predict(X) == by_hand.predict(others)).all()


@pytest.mark.parametrize(("cls", "few"), CLASSES)
def test_arrays_and_several_columns(cls, few):
    X, y = people()
    X["club"] = np.where(np.arange(len(y)) % 3, "x", "y")
    named = cls(sensitive_feature=["sex", "club"], groups="each", blind=True, random_state=0, **few).fit(X, y)
    assert (named.predict(X) == named.predict(X.drop(columns=["sex"]))).all()
    assert (named.predict(X) == named.predict(X.drop(columns=["club", "sex"]))).all()
    numbers = np.column_stack([X["skill"], X["sex"] == "a", X["years"]]).astype(float)
    model = cls(sensitive_feature=1, blind=True, random_state=0, **few).fit(numbers, y)
    assert model.n_features_in_ == 2
    assert (model.predict(numbers) == model.predict(numbers[:, [0, 2]])).all()
    with pytest.raises(ValueError, match="X has 1 features"):
        model.predict(numbers[:, :1])
    with pytest.raises(ValueError, match="skill"):
        named.predict(X.drop(columns="skill"))


def test_validation_data_and_searches_need_no_routing():
    X, y = people()
    options = {"sensitive_feature": "sex", "blind": True, "random_state": 0, "n_estimators": 10}
    model = AdaFairClassifier(**options).fit(X[:300], y[:300], validation=(X[300:], y[300:]))
    assert model.groups_.tolist() == ["a", "b"]
    search = GridSearchCV(
        make_pipeline(AdaFairClassifier(**options)),
        {"adafairclassifier__notion": ["none", "equal_opportunity"]},
        scoring=fairness_scorer("sex", notion="equal_opportunity"),
        cv=2,
        error_score="raise",
    )
    best = search.fit(X, y).best_estimator_[-1]
    assert "sex" not in best.feature_names_in_


def test_blind_needs_a_name_and_decides_nothing_by_group():
    X, y = people(100)
    with pytest.raises(ValueError, match="blind=True takes the sensitive columns out of X: name them"):
        AdaFairClassifier(blind=True).fit(X, y, sensitive_features=X["sex"])
    with pytest.raises(ValueError, match="blind=True says that the model must not"):
        AdaFairClassifier(sensitive_feature="sex", blind=True, threshold="per_group").fit(X, y)
    with pytest.raises(ValueError, match="X has no column 'gender'"):
        AdaFairClassifier(sensitive_feature="gender", blind=True).fit(X, y)


def test_proxies_tell_how_well_a_column_tells_the_group():
    X, y = people(2000)
    model = AdaFairClassifier(sensitive_feature="sex", blind=True, random_state=0, n_estimators=20).fit(X, y)
    table = explain.proxies(model, X)
    assert table["feature"].tolist()[0] == "title" and set(table["attribute"]) == {"sex"}
    told = table.set_index("feature")["tells"]
    # Of nine in ten the title tells the sex; of the others one guess for all is right for half.
    assert told["title"] == pytest.approx(0.9, abs=0.03)
    assert told["member"] < 0.06 and told["city"] < 0.06  # have nothing to do with it
    assert told["years"] < 0.1  # thirty values: what is learnt is judged by other rows
    used = table.set_index("feature")["used"]
    assert used.to_dict() == {f: j in model.glass_box_.used_features() for j, f in enumerate(model.feature_names_in_)}
    seeing = AdaFairClassifier(sensitive_feature="sex", random_state=0, n_estimators=20).fit(X, y)
    both = explain.proxies(seeing, X).set_index("feature")["tells"]
    assert both["sex"] == 1.0 and both["title"] == told["title"]
    assert explain.proxies(seeing, X, sensitive_features=X["sex"].where(X.index % 2 == 0)).shape == (7, 4)
    with pytest.raises(ValueError, match="pass sensitive_features"):
        explain.proxies(AdaFairClassifier(n_estimators=2).fit(X, y, sensitive_features=X["sex"]), X)


@pytest.mark.parametrize("blind", [True, False])
def test_the_report_says_what_the_model_sees(blind):
    X, y = people(1200)
    model = AdaFairClassifier(sensitive_feature="sex", blind=blind, random_state=0, n_estimators=20)
    page = report.build(model.fit(X[:600], y[:600]), X[600:], pd.Series(y[600:]))
    said = " ".join(page["summary"]["sentences"])
    own = explain.proxies(model, X[600:])
    is_used = (not blind) and bool(own.set_index("feature")["used"]["sex"])
    if blind:
        assert "sex is no column of the model." in said
    else:
        assert f"sex is a column that the model {'uses' if is_used else 'does not use'}." in said
    assert "Of the other columns title," in said
    assert page["proxies"][0]["feature"] == ("title" if blind else "sex")
