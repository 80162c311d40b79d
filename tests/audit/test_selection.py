"""Audits without outcomes, and the tables of Local Law 144."""

import json

import numpy as np
import pandas as pd
import pytest

from parityboost._stats.intervals import Rates
from parityboost._stats.ratios import ratios_to_highest, simultaneous_shares
from parityboost.audit import SelectionAudit, audit, local_law_144

TEN = {
    "equal, small": (30, np.full(10, 0.5)),
    "equal, rare": (100, np.full(10, 0.12)),
    "one is highest": (200, np.r_[0.6, np.full(9, 0.3)]),
    "two are highest": (200, np.r_[0.5, 0.5, np.full(8, 0.3)]),
    "all differ": (200, np.linspace(0.15, 0.6, 10)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_limits_of_ten_groups_hold_at_once_as_often_as_they_say(name):
    size, share = TEN[name]
    rng = np.random.default_rng(0)
    n, true, hits = np.full(10, float(size)), share / share.max(), np.zeros(2)
    for _ in range(1000):
        rates = Rates(rng.binomial(size, share) / n, n)
        for k, (found, expected) in enumerate(
            [(simultaneous_shares(rates, 0.95), share), (ratios_to_highest(rates, 0.95, rng), true)]
        ):
            hits[k] += ((found.lower <= expected + 1e-12) & (expected <= found.upper + 1e-12)).all()
    error = 2 * np.sqrt(0.05 * 0.95 / 1000)
    assert (hits / 1000 >= 0.935 - error).all()
    assert (hits / 1000 <= 0.975 + error).all()


def test_small_groups_are_covered_too():
    rng = np.random.default_rng(0)
    n, share = np.full(10, 8.0), np.full(10, 0.2)
    hits = 0
    for _ in range(200):
        found = ratios_to_highest(Rates(rng.binomial(8, share) / n, n), 0.95, rng)
        hits += np.isnan(found.value).all() or bool((found.upper >= 1).all())
    assert hits >= 186


def test_ratios_of_groups_without_rows_and_of_nobody():
    rates = Rates(np.array([0.5, np.nan, 0.25]), np.array([100.0, 0.0, 100.0]))
    found = ratios_to_highest(rates, 0.95, np.random.default_rng(0))
    assert found.value[[0, 2]].tolist() == [1.0, 0.5] and np.isnan(found.lower[1])
    assert found.lower[2] < 0.5 < found.upper[2] < 1
    nobody = ratios_to_highest(Rates(np.zeros(3), np.full(3, 10.0)), 0.95, np.random.default_rng(0))
    assert np.isnan(nobody.value).all()
    some = ratios_to_highest(Rates(np.array([0.0, 0.5]), np.full(2, 20.0)), 0.95, np.random.default_rng(0))
    assert some.value[0] == some.lower[0] == 0 < some.upper[0] < 1


@pytest.fixture
def decided():
    rng = np.random.default_rng(0)
    sex, team = rng.choice(["F", "M"], 3000), rng.choice(["x", "y", "z"], 3000, p=[0.6, 0.39, 0.01])
    yes = rng.random(3000) < np.where(sex == "F", 0.3, 0.5)
    return np.where(yes, "yes", "no"), pd.DataFrame({"sex": sex, "team": team})


def test_it_counts_who_is_selected(decided):
    y, groups = decided
    found = audit(None, y, sensitive_features=groups, favourable="yes")
    assert isinstance(found, SelectionAudit)
    rows = found.groups.set_index(["attribute", "group"])
    for sex in ("F", "M"):
        own = y[groups["sex"] == sex] == "yes"
        row = rows.loc[("sex", sex)]
        assert row["n"] == len(own) and row["selected"] == own.sum() and row["selection_rate"] == own.mean()
        assert row["selection_rate_lower"] < own.mean() < row["selection_rate_upper"]
    measures = found.measures.set_index(["attribute", "measure"])
    assert list(dict.fromkeys(found.measures["attribute"])) == ["sex", "team", "sex & team"]
    rate = rows.loc["sex"]["selection_rate"]
    assert measures.loc[("sex", "statistical_parity"), "value"] == pytest.approx(rate["M"] - rate["F"])
    assert measures.loc[("sex", "selection_ratio"), "value"] == pytest.approx(rate["F"] / rate["M"])
    assert "sex: F is selected" in "\n".join(found.summary())
    assert "below four fifths, more than chance explains" in found.summary()[1]
    assert rows.loc[("team", "z"), "note"] == "" or "too few" in rows.loc[("team", "z"), "note"]
    # With outcomes, the same interval of the same difference.
    with_outcomes = audit(y, y, sensitive_features=groups).measures.set_index(["attribute", "measure"])
    for end in ("value", "lower", "upper"):
        same = ("sex", "statistical_parity"), end
        assert measures.loc[same] == pytest.approx(with_outcomes.loc[same], abs=1e-12)


def test_the_label_that_is_favourable_is_the_one_that_counts(decided):
    y, groups = decided
    unstated = audit(None, y, sensitive_features=groups["sex"])
    assert unstated.settings["selected"] == "yes" and "was not stated" in unstated.summary()[1]
    other = audit(None, y, sensitive_features=groups["sex"], favourable="no")
    assert other.settings["selected"] == "no" and "was not stated" not in " ".join(other.summary())
    np.testing.assert_allclose(other.groups["selection_rate"], 1 - unstated.groups["selection_rate"])


def test_weights_and_rows_without_weight(decided):
    y, groups = decided
    weights = np.arange(3000) % 3
    found = audit(None, y, sensitive_features=groups["sex"], sample_weight=weights, favourable="yes").groups
    own = (groups["sex"] == "F").to_numpy()
    assert found["selection_rate"][0] == pytest.approx(np.average(y[own] == "yes", weights=weights[own]))
    assert found["n"][0] == (own & (weights > 0)).sum() > found["n_effective"][0]


def test_it_can_be_handed_on(decided):
    y, groups = decided
    found = audit(None, y, sensitive_features=groups, favourable="yes")
    report = json.loads(found.to_json())
    assert report["settings"]["n"] == 3000 and len(report["groups"]) == len(found.groups)
    assert str(found).startswith("Audit of 3,000 decisions without outcomes")
    assert "| group | n | selected | ratio to highest | note |" in found.to_markdown()
    evil = audit(None, y, sensitive_features={"<b>sex</b>": groups["sex"]}, favourable="yes")
    assert "<b>" not in evil._repr_html_() and "&lt;b&gt;" in evil._repr_html_()
    assert found.exceeds(0.1)["attribute"].tolist() == ["sex", "sex & team"]
    assert found.exceeds(0.8, "selection_ratio")["attribute"].tolist()[0] == "sex"
    with pytest.raises(ValueError, match="measure must be one of statistical_parity, selection_ratio, got 'tpr'"):
        found.exceeds(0.1, "tpr")


def test_what_makes_no_sense_is_refused(decided):
    y, groups = decided
    with pytest.raises(ValueError, match="nothing to compare scores with"):
        audit(None, y, sensitive_features=groups, scores=np.ones(3000))
    with pytest.raises(ValueError, match="y_pred has 3000 values, sensitive_features 10"):
        audit(None, y, sensitive_features=groups[:10])
    with pytest.raises(ValueError, match="has only one group"):
        audit(None, y, sensitive_features=np.zeros(3000))


# --- Local Law 144 --------------------------------------------------------------------------------


def test_the_tables_of_local_law_144():
    """By hand: 98 people of known sex and race, 2 of unknown; one category of 1 of 98."""
    sex = ["F"] * 40 + ["M"] * 57 + ["F"] + [None, "F"]
    race = ["A"] * 20 + ["B"] * 20 + ["A"] * 27 + ["B"] * 30 + ["C"] + ["A", "not said"]
    yes = [1] * 5 + [0] * 15 + [1] * 10 + [0] * 10 + [1] * 18 + [0] * 9 + [1] * 15 + [0] * 15 + [1] + [1, 1]
    found = local_law_144(yes, sex=sex, race=race, favourable=1, unknown=["not said"])
    assert found.unknown == 2 and found.settings["n"] == 98
    assert found.sex.loc["F", ["n", "selected"]].tolist() == [41, 16]
    assert found.sex.loc["F", "impact_ratio"] == pytest.approx((16 / 41) / (33 / 57))
    assert found.race["small"].to_dict() == {"A": False, "B": False, "C": True}
    assert found.race.loc["B", "impact_ratio"] == 1.0 and np.isnan(found.race.loc["C", "impact_ratio"])
    assert found.crossed.loc["F & A", "impact_ratio"] == pytest.approx((5 / 20) / (18 / 27))
    assert "Categories of less than 2 % of the people have no impact ratio" in found.summary()[-1]
    assert "2 people of unknown sex or race/ethnicity are not included." in found.summary()
    included = local_law_144(yes, sex=sex, race=race, favourable=1, unknown=["not said"], exclude_small=False)
    assert included.race.loc["C", "impact_ratio"] == 1.0 and included.race.loc["C", "small"]
    assert "C \\*" in found.to_markdown() and "C *" in str(found)
    assert json.loads(found.to_json())["race"][0]["race"] == "A"
    turned = local_law_144(yes, sex=sex, race=race, favourable=0)
    assert turned.sex.loc["F", "selected"] == 42 - 17


def test_scoring_rates_are_shares_above_the_median():
    score = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    found = local_law_144(scores=score, sex=list("FFFFFMMMMM"), race=list("ABABABABAB"))
    assert found.settings["median"] == 5.5
    assert found.sex["rate"].to_dict() == {"F": 0.0, "M": 1.0}
    assert found.race["selected"].to_dict() == {"A": 2, "B": 3}
    assert "scores above 5.5, the median of all 10 scores" in " ".join(found.summary())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give y_pred for selection rates or scores for scoring rates, and not both"),
        ({"y_pred": [1, 0], "scores": [1, 0]}, "and not both"),
        ({"y_pred": [1, 0], "sex": ["F"]}, "sex has 1 values, and there are 2 people"),
        ({"scores": [1, "x"]}, "scores must be numbers, got 'x'"),
        ({"y_pred": [1, 0], "race": [None, None]}, "nobody's sex and race are both known"),
    ],
)
def test_what_makes_no_tables_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        local_law_144(**{"sex": ["F", "M"], "race": ["A", "B"]} | options)
