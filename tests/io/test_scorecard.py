"""Scorecards: whole points that add up to a person's, and a cut that changes as few decisions as possible."""

import io

import numpy as np
import pandas as pd
import pytest

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier
from parityboost.datasets import load_adult


def fitted(people, **options):
    X, y, group = people
    return AdaFairClassifier(**{"n_estimators": 20, "max_depth": 2, "random_state": 0} | options).fit(
        X, y, sensitive_features=group
    )


@pytest.mark.parametrize("favourable", [0, 1])
@pytest.mark.parametrize("double", [5, 20, 1000])
def test_the_cut_changes_as_few_decisions_as_any(people, favourable, double):
    X = people[0]
    model = fitted(people)
    card = model.scorecard(X, double=double, favourable=favourable)
    points, good = card.points(X), model.predict(X) == favourable
    np.testing.assert_array_equal(card.predict(X) == favourable, points >= card.cut)
    assert ((points >= card.cut) != good).sum() == card.n_changed
    assert card.n_changed == min(((points >= cut) != good).sum() for cut in range(points.min() - 1, points.max() + 2))
    assert card.n_rows == len(X)
    assert double < 1000 or card.n_changed == 0  # fine points round hardly anything


def test_points_are_what_a_person_adds_up_by_hand(people):
    X = people[0][["skill", "job", "member"]]
    X = X.assign(job=X["job"].astype(object).where(X.index % 9 > 0))
    model = fitted((X, *people[1:]))
    card = model.scorecard(X)
    table = pd.read_csv(io.StringIO(card.to_csv()), keep_default_na=False)
    assert table.equals(card.table.astype(table.dtypes.to_dict()))

    def is_in(label, value):
        if value is None or value != value:
            return label == "missing"
        if isinstance(value, str):
            return value in label.split(", ")
        if label[0] in "≤>":
            edge = float(label[1:])
            return value <= edge if label[0] == "≤" else value > edge
        if label[0] == "(":
            low, high = map(float, label[1:-1].split(", "))
            return low < value <= high
        return label == "any number"

    for row in range(0, 300, 7):
        total = int(card.base)
        for part in card.parts:
            values = [X.iloc[row][name] for name in part.features]
            values = [int(value) if isinstance(value, (bool, np.bool_)) else value for value in values]
            at = [
                [is_in(label, value) for label in labels].index(True)
                for labels, value in zip(part.labels, values, strict=True)
            ]
            total += int(part.points[tuple(at)])
        assert total == card.points(X.iloc[[row]])[0]
    assert all(part.points.min() == 0 for part in card.parts)


def test_points_stand_for_odds(people):
    X = people[0]
    model = fitted(people, max_depth=1)
    card = model.scorecard(X, points=500, odds=20, double=50)
    chance = model.predict_proba(X)[:, 1]
    expected = 500 + 50 * np.log2(chance / (1 - chance) / 20)
    assert np.abs(card.points(X) - expected).max() < 3.5  # each of 5 features and the base is off by a half at most
    other = model.scorecard(X, points=500, odds=20, double=50, favourable=0)
    assert np.abs(other.points(X) - (500 + 50 * np.log2((1 - chance) / chance / 20))).max() < 3.5


def test_it_says_what_it_means(people, tmp_path):
    X = people[0].rename(columns={"job": "<b>job & 'co'</b>"})
    model = fitted((X, *people[1:]), favourable=1)
    card = model.scorecard(X)
    assert card.favourable_is_stated
    assert card.summary()[0] == f"From {card.cut} points on the decision is 1."
    assert f"Whole points change {card.n_changed} of 300 decisions" in card.summary()[2]
    page = card.to_html(tmp_path / "card.html", title="A <card>")
    assert (tmp_path / "card.html").read_text(encoding="utf8") == page
    assert "<b>" not in page and "&lt;b&gt;job &amp; &#x27;co&#x27;&lt;/b&gt;" in page and "<script" not in page
    assert "A &lt;card&gt;" in page
    assert (tmp_path / "card.csv").exists() is False and card.to_csv(tmp_path / "card.csv").startswith("feature,value")
    blind = fitted(people).scorecard()
    assert not blind.favourable_is_stated and blind.n_changed is None
    assert "which one is favourable was not stated" in blind.summary()[0]
    assert "not known: make the card with rows" in blind.summary()[2] and str(blind).startswith("From 600 points")


def test_labels_that_are_text_and_groups_with_thresholds_of_their_own():
    X, y, _ = make_people(400)
    labels = np.array(["refused", "granted"])[y]
    model = AdaFairClassifier(
        n_estimators=20, threshold="per_group", sensitive_feature="city", positive="granted", random_state=0
    ).fit(X, labels)
    card = model.scorecard(X, double=1000)
    assert card.favourable == "granted" and card.n_changed <= 1
    assert set(card.predict(X)) <= {"granted", "refused"}
    other = AdaFairClassifier(n_estimators=5, threshold="per_group", random_state=0)
    other.fit(X, y, sensitive_features=np.arange(400) % 2)
    with pytest.raises(ValueError, match="thresholds per group are not a step function of one feature"):
        other.scorecard()


def test_the_recommended_model_on_adult():
    adult = load_adult()
    model = ParityBoostClassifier(n_bags=2, n_estimators=50, random_state=0)
    model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    card = model.scorecard(adult.data, double=100)
    assert card.n_changed < 0.01 * card.n_rows
    assert (card.predict(adult.data) != model.predict(adult.data)).sum() == card.n_changed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"double": 0}, "double must be above 0, got 0"),
        ({"odds": -1}, "odds must be above 0, got -1"),
        ({"points": np.nan}, "points must be a finite number, got nan"),
        ({"double": True}, "double must be a finite number, got True"),
        ({"double": 1e12}, "double is too large: a value would get .* points"),
        ({"favourable": "x"}, "favourable='x' is not one of the labels 0, 1"),
    ],
)
def test_what_makes_no_card_is_refused(options, message):
    model = AdaBoostClassifier(1).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=message):
        model.scorecard(**options)
