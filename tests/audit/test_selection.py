"""Audits without outcomes, and the tables of Local Law 144."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from parityboost._stats import ratios
from parityboost._stats.intervals import Rates
from parityboost._stats.ratios import largest_gap, lowest_ratio, ratios_to_highest, simultaneous_shares
from parityboost.audit import SelectionAudit, audit, local_law_144

DRAWS = 500
TEN = {
    "equal, small": (30, np.full(10, 0.5)),
    "equal, rare": (100, np.full(10, 0.12)),
    "one is highest": (200, np.r_[0.6, np.full(9, 0.3)]),
    "two are highest": (200, np.r_[0.5, 0.5, np.full(8, 0.3)]),
    "all differ": (200, np.linspace(0.15, 0.6, 10)),
}


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_limits_of_ten_groups_hold_as_often_as_they_say(name):
    size, share = TEN[name]
    rng, n = np.random.default_rng(0), np.full(10, float(size))
    found = {simultaneous_shares: share, ratios_to_highest: share / share.max()}
    found |= {largest_gap: np.ptp(share), lowest_ratio: share.min() / share.max()}
    hits = dict.fromkeys(found, 0)
    for _ in range(DRAWS):
        rates = Rates(rng.binomial(size, share) / n, n)
        for limits, expected in found.items():
            _, lower, upper = limits(rates, 0.95)
            hits[limits] += bool(np.all((lower <= expected + 1e-12) & (expected <= upper + 1e-12)))
    error = 2 * np.sqrt(0.05 * 0.95 / DRAWS)
    assert min(hits.values()) / DRAWS >= 0.935 - error
    most = 0.99 if name == "all differ" else 0.975  # which groups are the furthest apart chance does not let us say
    assert max(hits.values()) / DRAWS <= most + error


@pytest.mark.no_cover
@settings(max_examples=25)
@given(st.integers(1, 40), st.data())
def test_limits_of_a_share_are_those_of_a_search_through_all_counts(n, data):
    """Shares that a count is no surprise of: it and all that are less likely on either side, by a plain sum."""
    found = data.draw(st.integers(0, n))
    limits = simultaneous_shares(Rates(np.array([found / n]), np.array([float(n)])), 0.95)
    likely = []
    for share in np.linspace(0, 1, 2001)[1:-1]:
        chances = binom.pmf(np.arange(n + 1), n, share)
        up_to, from_here = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
        side, other = (from_here, up_to) if found > n * share else (up_to, from_here)
        far = other[other <= side[found] * (1 + 1e-9)].max(initial=0.0)
        if side[found] - 0.15 * chances[found] + far > 0.05:
            likely.append(share)
    step = 0.06 / np.sqrt(n)
    assert likely[0] - step <= limits.lower[0] <= likely[0] + 1e-3
    assert likely[-1] - 1e-3 <= limits.upper[0] <= likely[-1] + step


@pytest.mark.no_cover
@given(st.integers(2, 200), st.integers(0, 2**32 - 1))
def test_of_many_groups_those_at_the_edge_are_enough(n_groups, seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 400, n_groups).astype(float)
    rates = Rates(rng.binomial(n.astype(int), rng.random(n_groups)) / n, n)
    assume(rates.value.max() > 0)
    measures = ratios_to_highest, lowest_ratio, largest_gap
    some = [measure(rates, 0.95) for measure in measures]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ratios, "MANY", 10**6)
        every = [measure(rates, 0.95) for measure in measures]
    for (_, lower, upper), (_, all_lower, all_upper) in zip(some, every, strict=True):
        np.testing.assert_allclose(lower, all_lower, atol=2e-3)
        np.testing.assert_allclose(upper, all_upper, atol=2e-3)


@pytest.mark.parametrize("measure", [simultaneous_shares, ratios_to_highest, largest_gap, lowest_ratio])
def test_memory_grows_no_faster_than_the_number_of_groups(measure):
    """Pairs of 1,600 groups would be 64 times those of 200."""

    def peak(n_groups):
        rng, n = np.random.default_rng(0), np.full(n_groups, 50.0)
        rates = Rates(rng.binomial(50, 0.4, n_groups) / n, n)
        measure(rates, 0.95)  # what is drawn once, of order statistics
        tracemalloc.start()
        measure(rates, 0.95)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(1600) <= 12 * peak(200)


def test_small_groups_are_covered_too():
    rng = np.random.default_rng(0)
    n, share = np.full(10, 8.0), np.full(10, 0.2)
    hits = 0
    for _ in range(200):
        found = ratios_to_highest(Rates(rng.binomial(8, share) / n, n), 0.95)
        hits += np.isnan(found.value).all() or bool((found.upper >= 1).all())
    assert hits >= 186


def test_ratios_of_groups_without_rows_and_of_nobody():
    rates = Rates(np.array([0.5, np.nan, 0.25]), np.array([100.0, 0.0, 100.0]))
    found = ratios_to_highest(rates, 0.95)
    assert found.value[[0, 2]].tolist() == [1.0, 0.5] and np.isnan(found.lower[1])
    assert found.lower[2] < 0.5 < found.upper[2] < 1
    nobody = ratios_to_highest(Rates(np.zeros(3), np.full(3, 10.0)), 0.95)
    assert np.isnan(nobody.value).all()
    some = ratios_to_highest(Rates(np.array([0.0, 0.5]), np.full(2, 20.0)), 0.95)
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
    # With outcomes, the same difference; its interval is for small groups too, hence a little wider.
    with_outcomes = audit(y, y, sensitive_features=groups).measures.set_index(["attribute", "measure"])
    here, there = (table.loc[("sex", "statistical_parity")] for table in (measures, with_outcomes))
    assert here["value"] == pytest.approx(there["value"], abs=1e-12)
    assert there["lower"] <= here["lower"] <= there["lower"] + 0.001
    assert there["upper"] - 0.001 <= here["upper"] <= there["upper"]


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
        ({"y_pred": [1, 0], "sex": ["F"]}, "y_pred has 2 values, sex 1"),
        ({"scores": [1, "x"]}, "scores must be numbers, got 'x'"),
        ({"y_pred": [1, 0], "race": [None, None]}, "nobody's sex and race are both known"),
    ],
)
def test_what_makes_no_tables_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        local_law_144(**{"sex": ["F", "M"], "race": ["A", "B"]} | options)
