"""The explorer's record: every number equals what is counted from the rows."""

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from conftest import make_people
from parityboost import AdaBoostClassifier, AdaFairClassifier, ParityBoostClassifier
from parityboost._stats.intervals import Rates, largest_difference, largest_of
from parityboost._table.reading import Labels
from parityboost.explain import shape_function
from parityboost.explore import Explorer, explore

HOSTILE = "</script><script>alert(1)</script>\"'&<b>\u2028{cut}$body"


def rates_of(right, yes, group, weight):
    """What is found, said yes to wrongly and at all in a group, in people of 100; NaN where there is nobody."""

    def share(rows):
        return 100 * (weight * yes)[rows].sum() / weight[rows].sum() if weight[rows].any() else np.nan

    return {"found": share(group & right), "wrong": share(group & ~right), "yes": share(group)}


@st.composite
def tables(draw):
    n = draw(st.integers(4, 60))
    seed = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = seed.integers(0, 2, n)
    y[:2] = 0, 1
    kinds = [
        seed.normal(size=n),
        seed.integers(0, draw(st.integers(1, 5)), n) / 7,  # many ties
        np.round(seed.random(n), 2) * 10.0 ** draw(st.integers(-300, 300)),
        np.full(n, -1.5),
    ]
    scores = {f"m{k}": kinds[i] for k, i in enumerate(draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)))}
    weight = draw(st.sampled_from([None, seed.random(n) + 0.01, seed.integers(0, 3, n) + (y * 0 + (np.arange(n) < 2))]))
    return y, scores, seed.integers(0, draw(st.integers(1, 13)), n), weight, draw(st.sampled_from([None, 0, 1]))


@pytest.mark.no_cover
@settings(max_examples=30)
@given(tables(), st.integers(0, 30))
def test_every_number_is_that_of_the_rows(table, least):
    y, scores, group, weight, favourable = table
    cutoffs = {"m0": float(np.median(scores["m0"]))}
    options = {"sensitive_features": group, "sample_weight": weight, "favourable": favourable, "cutoffs": cutoffs}
    explorer = explore(y, scores, min_group_size=least, **options)
    record, w = explorer.record, np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    right = (y == 1) if favourable in (None, 1) else (y == 0)
    names = [each["name"] for each in record["groups"]]
    assert names == [str(value) for value in np.unique(group[w > 0])]
    close = 1e-9 if weight is None else 2e-4 * w.sum() / w[w > 0].min()
    for stop in record["stops"][least % 5 :: 5]:
        shown = explorer.table(stop)
        for name, values in scores.items():
            cut = shown.loc[name, "cutoff"].iloc[0]
            yes = values > cut if favourable in (None, 1) else values <= cut
            for g in names:
                expected = rates_of(right, yes, group == int(g), w)
                for rate, value in expected.items():
                    assert shown.loc[(name, g), rate] == pytest.approx(value, abs=close, nan_ok=True)
            assert shown.loc[name, "right"].iloc[0] == pytest.approx(
                100 * np.average(yes == right, weights=w), abs=close
            )
            # No other cut-off is nearer to the number of yeses that is wanted.
            share = 100 * np.average(yes, weights=w)
            others = [values > v if favourable in (None, 1) else values <= v for v in [*values, -np.inf]]
            nearest = min(abs(100 * np.average(other, weights=w) - stop) for other in others)
            assert abs(share - stop) == pytest.approx(nearest, abs=1e-5)
    own = record["models"][0]["own"]
    assert record["models"][0]["cuts"][own] == cutoffs["m0"]


def test_the_limits_of_a_gap_are_those_of_an_audit_for_two_groups_and_no_tighter_for_more():
    rng = np.random.default_rng(0)
    for n_groups in (2, 5):
        rates = Rates(rng.random(n_groups), rng.integers(30, 900, n_groups).astype(float))
        mine = largest_difference(rates, 0.95)
        theirs = largest_of([rates], 0.95, rng.standard_normal((1, 20_000, n_groups)))
        assert mine.value == theirs.value and mine.upper == theirs.upper
        assert mine.lower <= theirs.lower + 1e-12
        assert mine.lower == pytest.approx(theirs.lower, abs=0.02)
        if n_groups == 2:
            assert mine == theirs


def test_the_interval_of_the_largest_difference_covers_it():
    rng = np.random.default_rng(1)
    n, true = np.array([40.0, 60.0, 90.0, 200.0]), np.array([0.5, 0.55, 0.6, 0.5])
    covered = 0
    for _ in range(400):
        found = largest_difference(Rates(rng.binomial(n.astype(int), true) / n, n), 0.95)
        covered += found.lower <= 0.1 <= found.upper
    assert binomtest(covered, 400, 0.95, alternative="less").pvalue > 0.001


def test_groups_of_few_people_are_outside_the_gap():
    y = np.array([0, 1] * 100 + [1, 1, 0])
    scores = np.r_[np.tile([0.2, 0.8], 100), 0.1, 0.1, 0.1]
    group = np.array(["a", "b"] * 50 + ["b", "a"] * 50 + ["tiny"] * 3)
    with_tiny = explore(y, {"m": scores}, sensitive_features=group, min_group_size=0).table(48)
    without = explore(y, {"m": scores}, sensitive_features=group, min_group_size=30).table(48)
    assert with_tiny["found_gap_upper"].iloc[0] == pytest.approx(100, abs=0.1)
    assert without["found_gap_upper"].iloc[0] < 20
    assert without.loc[("m", "tiny"), "found"] == 0  # it is told all the same


NOTIONS = ["equal_opportunity", "predictive_equality", "statistical_parity", "disparate_mistreatment", "none"]


@pytest.mark.no_cover
@pytest.mark.parametrize("favourable", [None, 0, 1])
@pytest.mark.parametrize("notion", NOTIONS)
def test_the_line_of_python_makes_the_model_that_is_shown(notion, favourable):
    X, y, group = make_people(600)
    given_groups = {} if notion == "none" else {"sensitive_features": group}
    model = AdaFairClassifier(notion, n_estimators=12, random_state=0).fit(X, y, **given_groups)
    explorer = model.explore(X, y, sensitive_features=group, favourable=favourable)
    goals = {"equal_opportunity": "found", "predictive_equality": "wrong", "statistical_parity": "yes", "none": ""}
    goals["disparate_mistreatment"] = "both"
    swapped = {"found": "wrong", "wrong": "found"}
    goal = goals[notion]
    (shown,) = explorer.record["models"]
    assert shown["goal"] == (swapped.get(goal, goal) if favourable == 0 else goal)
    check_lines(explorer, {"model": model}, X, y, group, favourable)


def check_lines(explorer, variables, X, y, group, favourable):
    """Run each line, and count who gets a yes."""
    label = 1 if favourable is None else favourable
    for stop in explorer.record["stops"][::9]:
        table = explorer.table(stop)
        for k, shown in enumerate(explorer.record["models"]):
            cut = shown["cuts"][int(np.argmin(np.abs(np.array(explorer.record["stops"]) - stop)))]
            outcome = eval(shown["python"].replace("{cut}", repr(cut)), {"dict": dict, "zip": zip, "X": X}, variables)
            yes = outcome if isinstance(outcome, np.ndarray) else outcome.predict(X) == label
            own = table.loc[shown["name"]]
            for name in own.index:
                rows = (group == name) & (y == label)
                assert own.loc[name, "found"] == pytest.approx(100 * yes[rows].mean()), (k, stop)


def test_models_of_all_kinds_stand_beside_each_other():
    X, y, group = make_people(900)
    numbers = X[["skill", "years"]].fillna(0)
    fair = ParityBoostClassifier("equal_opportunity", n_bags=2, n_estimators=15, dial=True, random_state=0)
    fair.fit(numbers, y, sensitive_features=group)
    others = {
        "boosting": AdaBoostClassifier(10).fit(numbers, y),
        "regression": LogisticRegression().fit(numbers, y),
        "a machine": LinearSVC().fit(numbers, y),
        "points": numbers["skill"].to_numpy(),
    }
    explorer = fair.explore(numbers, y, sensitive_features=group, others=others)
    models = explorer.record["models"]
    assert [model["name"] for model in models] == [*others, "ParityBoost"]
    assert [model["goal"] for model in models] == ["", "", "", "", "found"]
    assert [model["own"] is None for model in models] == [False, False, False, True, False]
    check_lines(explorer, {"model": fair, "others": others}, numbers, y, group, None)
    alone = fair.explore(numbers, y, sensitive_features=group).record["models"]
    assert [(model["name"], model["goal"]) for model in alone] == [("the plain version", ""), ("ParityBoost", "found")]
    own = models[-1]["own"]
    predicted, fair = fair.predict(numbers), explorer.record["stops"][own]
    assert fair == pytest.approx(100 * predicted.mean(), abs=1e-5)


def test_a_model_with_a_threshold_per_group_is_shifted_as_a_whole():
    X, y, group = make_people(600)
    model = AdaFairClassifier("equal_opportunity", n_estimators=12, threshold="per_group", random_state=0)
    model.fit(X, y, sensitive_features=group)
    explorer = model.explore(X, y, sensitive_features=group)
    (shown,) = explorer.record["models"]
    table = explorer.table(explorer.record["stops"][shown["own"]])
    predicted = model.predict(X, sensitive_features=group)
    for name in "ab":
        assert table.loc[(shown["name"], name), "yes"] == pytest.approx(100 * predicted[group == name].mean())
    moved = eval(shown["python"].replace("{cut}", "0.25"), {"dict": dict, "zip": zip}, {"model": model})
    assert not np.array_equal(moved.predict(X, sensitive_features=group), predicted)


def test_groups_come_from_the_model_if_it_names_the_column():
    X, y, _ = make_people(500)
    model = AdaFairClassifier(n_estimators=5, sensitive_feature="city", random_state=0).fit(X, y)
    assert [group["name"] for group in model.explore(X, y).record["groups"]] == ["x", "y"]
    model = AdaFairClassifier(n_estimators=5, random_state=0).fit(X, y, sensitive_features=X["city"])
    with pytest.raises(ValueError, match="pass sensitive_features"):
        model.explore(X, y)


def test_a_row_without_weight_is_no_row():
    X, y, group = make_people(300)
    weight = np.arange(300) % 3.0
    kept = weight > 0
    scores = X["years"].to_numpy()
    some = explore(y[kept], {"m": scores[kept]}, sensitive_features=group[kept], sample_weight=weight[kept])
    every = explore(y, {"m": scores}, sensitive_features=group, sample_weight=weight)
    assert every.record == some.record and every.record["n"] == kept.sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": {}}, "map the name of each model"),
        ({"scores": [0.5] * 6}, "map the name of each model"),
        ({"scores": {"m": [0.5] * 5}}, "y has 6 values, the scores of 'm' 5"),
        ({"scores": {"m": ["a"] * 6}}, "scores of 'm' must be numbers"),
        ({"scores": {"m": [0.1, np.nan, 0, 0, 0, 0]}}, "scores of 'm' must be finite numbers, got nan in row 1"),
        ({"scores": {"m": np.ones((6, 2))}}, "one number per row"),
        ({"scores": {1: [0] * 6, "1": [0] * 6}}, "different names, got '1', '1'"),
        ({"scores": {str(k): [0] * 6 for k in range(9)}}, "up to 8 models, got 9"),
        ({"sensitive_features": list("aabb")}, "sensitive_features 4"),
        ({"cutoffs": {"other": 0.5}}, "cutoffs has the model 'other'"),
        ({"cutoffs": {"m": np.inf}}, "cut-off of 'm' must be a finite number"),
        ({"favourable": 2}, "favourable=2 is not one of the labels"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
        ({"min_group_size": -1}, "min_group_size must be a whole number"),
        ({"alternatives": [{"label": "x"}]}, "needs a label and a cutoff"),
        ({"alternatives": [{"label": "x", "cutoff": 0, "model": "no"}]}, "alternatives names the model 'no'"),
    ],
)
def test_errors_name_the_culprit(change, message):
    given = {"scores": {"m": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, "sensitive_features": list("aabbab")}
    given |= change
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        explore([0, 1, 0, 1, 0, 1], given.pop("scores"), **given)


def test_too_many_groups_and_models_of_other_labels_are_refused():
    y = np.arange(404) % 2
    with pytest.raises(ValueError, match="up to 100 groups, got 202"):
        explore(y, {"m": y}, sensitive_features=np.arange(404) // 2)
    X, y, group = make_people(200)
    model = AdaFairClassifier(n_estimators=3, random_state=0).fit(X, y, sensitive_features=group)
    words = AdaBoostClassifier(3).fit(X, np.where(y == 1, "yes", "no"))
    with pytest.raises(ValueError, match="'words' predicts other labels"):
        model.explore(X, y, sensitive_features=group, others={"words": words})
    logistic = LogisticRegression().fit(X[["years"]], np.where(y == 1, "yes", "no"))
    with pytest.raises(ValueError, match="'words' knows the labels"):
        model.explore(X, y, sensitive_features=group, others={"words": logistic})
    with pytest.raises(ValueError, match="is that of the model itself"):
        model.explore(X, y, sensitive_features=group, others={"AdaFair": y})


def test_labels_that_are_text_and_a_number_and_labels_that_are_unknown():
    X, y, group = make_people(200)
    model = AdaFairClassifier(n_estimators=3, random_state=0).fit(X, y, sensitive_features=group)
    for bad, message in ((np.where(np.arange(200) == 7, 2, y), "0 and 1, got 2 in row 7"), (y[1:], "y 199")):
        with pytest.raises(ValueError, match=message):
            model.explore(X, bad, sensitive_features=group)
    model.relabel(Labels(np.array(["no", 1], dtype=object), 1), [])
    mixed = np.array(["no", 1], dtype=object)[y]
    assert model.explore(X, mixed, sensitive_features=group).record["groups"][0]["right"] == y[group == "a"].sum()


def packed(page):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.S)[1])


def test_the_page_is_small_and_holds_nothing_but_the_record(tmp_path):
    rng = np.random.default_rng(0)
    n = 20_000
    y, group = rng.integers(0, 2, n), np.array([f"{HOSTILE} {k}" for k in range(10)])[rng.integers(0, 10, n)]
    scores = {f"{HOSTILE} {k}": rng.normal(size=n) + y for k in range(4)}
    explorer = explore(
        y,
        scores,
        sensitive_features=group,
        who=HOSTILE,
        title=HOSTILE,
        alternatives=[{"label": HOSTILE, "cutoff": 0.3}],
        certificate={HOSTILE: HOSTILE},
    )
    explorer.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf8")
    assert len(page.encode()) < 100_000
    assert "alert(1)</script>" not in page and page.count("</script>") == 2
    assert set(re.findall(r"\w+://[\w./]*", page)) == {"http://www.w3.org/2000/svg"}  # a name, and no address
    data, record = packed(page), explorer.record
    counts = [np.cumsum(model["found"], axis=1).T.tolist() for model in data["models"]]
    assert counts == [model["found"] for model in record["models"]]
    assert data["alternatives"][0]["label"] == HOSTILE


def test_a_notebook_gets_the_page_in_a_frame_and_a_terminal_a_short_table():
    X, y, group = make_people(400)
    explorer = explore(pd.Series(y, name="hired"), {"ours": X["years"]}, sensitive_features=group)
    frame = explorer._repr_html_()
    source = re.fullmatch(r'<iframe title="Trade-off explorer" style="[\w:;%.-]+" srcdoc="([^"]*)"></iframe>', frame)[1]
    assert unescape(source).startswith("<!doctype html>") and unescape(source).endswith("</html>\n")
    assert "whose hired is 1" in str(explorer) and max(map(len, str(explorer).splitlines())) <= 80
    assert isinstance(explorer, Explorer) and repr(explorer) == str(explorer)


def shown(thing):
    bundle = getattr(thing, "_repr_mimebundle_", None)
    return thing._repr_html_() if bundle is None else bundle()["text/html"]


@pytest.mark.parametrize("dial", [False, True])
def test_a_fitted_model_shows_itself_in_a_notebook(dial, tmp_path):
    X, y, group = make_people(900)
    for model in (AdaFairClassifier(n_estimators=8), ParityBoostClassifier(n_bags=2, n_estimators=8, dial=dial)):
        assert "srcdoc" not in shown(model)
        model.set_params(random_state=0).fit(X, y, sensitive_features=group)
        html = shown(model)
        assert html.index("srcdoc") < html.index("Shares of the features") < html.index("<pre>")
        data = packed(unescape(re.search('srcdoc="([^"]*)"', html)[1]))
        (only,) = data["models"]
        own = data["stops"][only["own"]]
        yes = np.mean([np.cumsum(only[side], axis=1)[:, only["own"]].sum() for side in ("found", "wrong")])
        assert own == pytest.approx(200 * yes / data["n"], abs=1e-5)
        model.save(tmp_path / "m.json")  # no rows are in the file, but of an average what was counted
        again = shown(type(model).load(tmp_path / "m.json"))
        assert again == html if hasattr(model, "choose") else "srcdoc" not in again
        assert "Shares of the features" in shown(type(model).load(tmp_path / "m.json"))
        points = model.frontier()
        assert shown(points).startswith("<p><strong>") and "<svg" in shown(points) and "<table" in shown(points)
        assert type(points.iloc[:2]) is pd.DataFrame
        assert max(map(len, str(points.head(2).round(2)).splitlines())) <= 80
    function = shape_function(model, "job")
    assert "What job adds to the score" in shown(function) and "clerk" in shown(function)


def test_names_are_no_markup_in_a_notebook():
    X, y, group = make_people(300)
    X = X.rename(columns={"skill": HOSTILE})
    model = AdaFairClassifier(n_estimators=3, random_state=0).fit(X, y, sensitive_features=group)
    assert "<script>alert" not in shown(model)
    assert "<script>alert" not in shown(shape_function(model, HOSTILE))
