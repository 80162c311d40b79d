"""Audits over time: an alarm where a gap grows, and none where nothing changes."""

import json
import time

import numpy as np
import pandas as pd
import pytest

from parityboost import plot
from parityboost.audit import audit_over_time

START = pd.Period("2010-01", "M")


def rows_of(n, share, seed=0):
    """Decisions of as many rows, ``[period, group]``, selected with these shares: dates, groups, decisions."""
    rng = np.random.default_rng(seed)
    n, share = np.broadcast_arrays(np.asarray(n), np.asarray(share, dtype=float))
    periods, groups = np.indices(n.shape)
    period, group = np.repeat(periods.ravel(), n.ravel()), np.repeat(groups.ravel(), n.ravel())
    dates = np.array([(START + t).to_timestamp() for t in range(len(n))])[period]
    chosen = rng.random(len(period)) < share[period, group]
    return {"by": pd.Series(dates, name="date"), "sensitive_features": pd.Series(group, name="team").map(str)}, chosen


def follow(n, share, seed=0, **options):
    given, chosen = rows_of(n, share, seed)
    return audit_over_time(chosen, favourable=True, **given, **options)


def gap_of(before, after, at, n_periods=60, n_groups=4):
    share = np.full((n_periods, n_groups), 0.5)
    share[:at, 1], share[at:, 1] = 0.5 - before, 0.5 - after
    return share


def test_a_gap_that_doubles_is_found_and_said():
    found = follow(np.full((60, 4), 400), gap_of(0.1, 0.2, 30), n_reference=12)
    alarms = found.alarms.set_index("group")
    assert "2012-07" <= alarms.loc["1", "period"] <= "2012-12"
    assert alarms.loc["1", "gap"] == pytest.approx(-0.2, abs=0.05)
    sentence = next(sentence for sentence in found.summary() if "team 1" in sentence)
    assert sentence.startswith(f"Alarm in {alarms.loc['1', 'period']}: team 1: its gap")
    table = found.periods
    assert len(table) == 240 and table["control_limit"].isna().sum() == 12 * 4
    row = table[(table["period"] == "2012-08") & (table["group"] == "1")].iloc[0]
    assert row["gap_lower"] < row["gap"] < row["gap_upper"] < 0


def test_a_small_change_that_lasts_adds_up():
    found = follow(np.full((100, 2), 400), gap_of(0.0, 0.06, 50, 100, 2), n_reference=30)
    first = found.alarms.iloc[0]
    assert len(found.alarms) == 1 and first["gap"] < 0  # the other group's gap is the same
    assert first["alarm"] == "added up" and "2013-06" <= first["since"] <= first["period"] <= "2015-12"
    assert f"has been too large since {first['since']} or so" in " ".join(found.summary())


def test_nothing_changes_and_there_is_no_alarm():
    found = follow(np.full((60, 4), 400), gap_of(0.2, 0.2, 30))
    assert len(found.alarms) == 0 and found.summary()[1].startswith(
        "No alarm: no gap is above the gaps of the first 12"
    )
    assert (found.periods["alarm"] == "").all()


@pytest.mark.no_cover
@pytest.mark.slow
def test_at_most_one_series_in_twenty_raises_a_false_alarm():
    n = np.tile([400, 200, 100, 50, 40], (80, 1))
    share = np.tile([0.5, 0.3, 0.3, 0.2, 0.4], (80, 1))
    assert sum(len(follow(n, share, seed).alarms) > 0 for seed in range(20)) <= 1
    assert sum(len(follow(n, share, seed, limit=0.3).alarms) > 0 for seed in range(20)) <= 1


def test_a_gap_at_the_limit_is_none_above_it_is_one():
    n = np.full((40, 3), 300)
    share = np.tile([0.5, 0.5, 0.4], (40, 1))
    assert len(follow(n, share, limit=0.1).alarms) == 0
    found = follow(n, share - [0, 0, 0.1], limit=0.1)
    assert found.alarms["group"].tolist() == ["2"] and found.settings["n_reference"] == 0
    assert "against a limit of 0.1." in " ".join(found.summary())


def test_small_periods_are_merged_and_small_groups_left_out():
    n = np.tile([100, 100, 12, 2], (24, 1))
    found = follow(n, np.full((24, 4), 0.5), limit=0.5)
    assert found.settings["n_periods"] == 8
    assert found.periods["period"].iloc[0] == "2010-01 to 2010-03"
    assert found.periods["n"].min() >= 30 and set(found.periods["group"]) == {"0", "1", "2"}
    assert any("24 periods were merged into 8" in note for note in found.notes)
    assert any("Not followed" in note and note.endswith(": 3.") for note in found.notes)
    assert found.settings["n"] == n.sum()  # those left out are among the others


def test_rates_of_those_who_should_be_selected():
    given, chosen = rows_of(np.full((30, 2), 500), np.full((30, 2), 0.5))
    true = np.random.default_rng(1).random(len(chosen)) < 0.5
    late = (given["by"] >= "2011-06-01").to_numpy() & (given["sensitive_features"] == "1").to_numpy()
    missed = chosen & ~(late & true & (np.arange(len(chosen)) % 2 == 0))
    options = {"y_true": true, "favourable": True, "n_reference": 12}
    found = audit_over_time(missed, **given, measure="equal_opportunity", **options)
    assert found.alarms["period"].min() == "2011-06" and found.summary()[0].startswith(
        "Of the true positives, the share"
    )
    assert len(audit_over_time(missed, **given, measure="predictive_equality", **options).alarms) == 0
    with pytest.raises(ValueError, match="measure='equal_opportunity' needs y_true"):
        audit_over_time(missed, **given, measure="equal_opportunity")


@pytest.mark.parametrize(
    ("every", "first"),
    [("day", "2024-01-31"), ("week", "2024-01-29"), ("month", "2024-01"), ("quarter", "2024Q1"), ("year", "2024")],
)
def test_periods_of_any_length(every, first):
    days = [f"{year}-{day}" for year in (2024, 2025) for day in ("01-31", "11-05")]
    found = audit_over_time(
        [0, 1] * 160, by=np.repeat(days, 80), sensitive_features=["a", "b"] * 160, every=every, limit=0.9
    )
    assert found.periods["period"].iloc[0] == first


@pytest.mark.no_cover
def test_a_million_rows_take_seconds():
    given, chosen = rows_of(np.full((200, 10), 500), np.full((200, 10), 0.3))
    given["by"] = given["by"].dt.strftime("%Y-%m-%d")
    start = time.perf_counter()
    audit_over_time(chosen, favourable=True, **given)
    assert time.perf_counter() - start < 30


def test_it_can_be_handed_on_and_drawn():
    found = follow(np.full((30, 3), 200), gap_of(0.0, 0.3, 20, 30, 3))
    report = json.loads(found.to_json())
    assert len(report["periods"]) == 90 and report["alarms"]
    assert "| period | group | n |" in found.to_markdown() and "<table>" in found._repr_html_()
    figure = plot.over_time(found).get_figure()
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["0", "1", "2"]
    named = [int(tick) for tick in figure.axes[-1].get_xticks()]
    assert named == list(range(named[0], 30, named[1] - named[0])) and named[-1] == 29
    assert len(plot.over_time(found, groups=["1"]).get_figure().axes) == 1
    with pytest.raises(ValueError, match="groups must be some of '0', '1', '2', got"):
        plot.over_time(found, groups=["7"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": "fortnight"}, "every must be one of day, week, month, quarter, year, got 'fortnight'"),
        ({"measure": "precision"}, "measure must be one of statistical_parity"),
        ({"limit": 2}, "limit must be a difference between 0 and 1"),
        ({"n_reference": 30}, "there are 30 periods, and 30 are compared with: none is left"),
        ({"n_reference": 0}, "n_reference must be a whole number of at least 1, got 0"),
        ({"false_alarms": 0}, "false_alarms must be between 0 and 1"),
        ({"min_group_size": 10**6}, "fewer than 1000000 rows of a group in all periods together"),
        ({"by": pd.Series(["2024-01-01"] * 5999 + ["soon"], name="day")}, "day must hold a date .* 'soon' in row 5999"),
        ({"by": pd.Series([None] * 6000, name="day", dtype=object)}, "day must hold a date in every row"),
        ({"by": ["2024-01-01"]}, "y_pred has 6000 values, by 1"),
        ({"sensitive_features": ["a"] * 6000}, "there is only one group"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(options, message):
    given, chosen = rows_of(np.full((30, 2), 100), np.full((30, 2), 0.5))
    with pytest.raises(ValueError, match=message):
        audit_over_time(chosen, **given | options)


def test_numbers_are_no_dates():
    with pytest.raises(TypeError, match="month must hold dates, got numbers such as 1"):
        audit_over_time([0, 1], by=pd.Series([1, 2], name="month"), sensitive_features=["a", "b"])
