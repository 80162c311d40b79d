import json
import re

import fairlearn.metrics as fairlearn
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, precision_score, roc_auc_score

from parityboost import metrics
from parityboost._table.values import printable
from parityboost.audit import audit
from parityboost.audit._text import markdown_text

RATES = ["base_rate", "selection_rate", "tpr", "tnr", "fpr", "fnr", "accuracy", "precision"]


def make_case(n=600, seed=0, gap=0.25):
    """Labels, predictions, scores, weights and two sensitive columns; women are selected less often."""
    rng = np.random.default_rng(seed)
    who = pd.DataFrame({"sex": rng.choice(["woman", "man"], n), "region": rng.choice(["N", "E", "S"], n)})
    y = (rng.random(n) < 0.45).astype(int)
    scores = np.clip(0.3 + 0.35 * y - gap * (who["sex"] == "woman") + 0.2 * rng.normal(size=n), 0, 1).to_numpy()
    return y, (scores > 0.45).astype(int), scores, rng.uniform(0.2, 3, n), who


@st.composite
def cases(draw):
    """Predictions in which every group has both classes, so that fairlearn has every rate."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups = draw(st.integers(2, 5))
    cell = np.concatenate([np.arange(4 * n_groups), rng.integers(4 * n_groups, size=draw(st.integers(0, 100)))])
    weights = draw(st.sampled_from([None, rng.uniform(0.1, 3, len(cell))]))
    return cell // 2 % 2, cell % 2, np.array(list("vwxyz"))[cell // 4], weights


@pytest.mark.no_cover
@pytest.mark.slow
@settings(max_examples=25)  # fairlearn is slow
@given(cases())
def test_rates_are_those_of_fairlearns_metric_frame(case):
    y, p, s, w = case
    functions = {
        "selection_rate": fairlearn.selection_rate,
        "tpr": fairlearn.true_positive_rate,
        "tnr": fairlearn.true_negative_rate,
        "fpr": fairlearn.false_positive_rate,
        "fnr": fairlearn.false_negative_rate,
        "accuracy": accuracy_score,
        "precision": precision_score,
    }
    weights = None if w is None else {name: {"sample_weight": w} for name in functions}
    frame = fairlearn.MetricFrame(metrics=functions, y_true=y, y_pred=p, sensitive_features=s, sample_params=weights)
    result = audit(y, p, sensitive_features=s, sample_weight=w, n_bootstrap=100)
    groups = result.groups.set_index("group")
    for name in functions:
        np.testing.assert_allclose(groups[name], frame.by_group[name].astype(float))
        assert result.overall["value"][name] == pytest.approx(frame.overall[name])
    assert result.overall["value"]["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, p, sample_weight=w))
    np.testing.assert_array_equal(groups["n"], frame.by_group.index.map(pd.Series(s).value_counts()))
    ratio = fairlearn.demographic_parity_ratio(y, p, sensitive_features=s, sample_weight=w)
    assert groups["selection_ratio"].min() == pytest.approx(ratio)


@pytest.mark.no_cover
@pytest.mark.slow
@settings(max_examples=25)  # fairlearn is slow
@given(cases())
def test_measures_are_those_of_fairlearn_and_of_the_notions(case):
    y, p, s, w = case
    result = audit(y, p, sensitive_features=s, sample_weight=w, n_bootstrap=100).measures.set_index("measure")
    options = {"sensitive_features": s, "sample_weight": w}
    precision = [
        precision_score(y[s == g], p[s == g], sample_weight=None if w is None else w[s == g]) for g in np.unique(s)
    ]
    expected = {
        "statistical_parity": fairlearn.demographic_parity_difference(y, p, **options),
        "equal_opportunity": fairlearn.true_positive_rate_difference(y, p, **options),
        "predictive_equality": fairlearn.false_positive_rate_difference(y, p, **options),
        "disparate_mistreatment": metrics.disparate_mistreatment(y, p, **options),
        "equalized_odds_difference": fairlearn.equalized_odds_difference(y, p, **options),
        "accuracy_difference": fairlearn.accuracy_score_difference(y, p, **options),
        "precision_difference": np.ptp(precision),
    }
    assert result.index.tolist() == list(expected)
    np.testing.assert_allclose(result["value"], list(expected.values()), atol=1e-12)
    assert (result["lower"] <= result["value"] + 1e-12).all()
    assert (result["value"] <= result["upper"] + 1e-12).all()
    single = result.drop(index="disparate_mistreatment")
    np.testing.assert_allclose(single["highest_rate"] - single["lowest_rate"], single["value"], atol=1e-12)


def test_weights_equal_repeated_rows_in_every_value():
    y, p, scores, _, who = make_case(200)
    times = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = audit(y, p, sensitive_features=who, scores=scores, sample_weight=times)
    repeat = np.repeat(np.arange(len(y)), times)
    repeated = audit(y[repeat], p[repeat], sensitive_features=who.iloc[repeat], scores=scores[repeat])
    np.testing.assert_allclose(weighted.groups[RATES], repeated.groups[RATES])
    np.testing.assert_allclose(weighted.measures["value"], repeated.measures["value"], atol=1e-12)
    np.testing.assert_allclose(weighted.overall["value"], repeated.overall["value"])
    for column in ("mean_score", "base_rate", "brier", "auc"):
        np.testing.assert_allclose(weighted.calibration[column], repeated.calibration[column])
    # Repeating a row is no new person: the intervals of weights are the wider ones.
    assert (weighted.groups["tpr_upper"] - weighted.groups["tpr_lower"]).sum() > (
        repeated.groups["tpr_upper"] - repeated.groups["tpr_lower"]
    ).sum()


def test_the_effective_size_is_kishs_and_equal_weights_change_nothing():
    y, p, _, w, who = make_case()
    groups = audit(y, p, sensitive_features=who["sex"], sample_weight=w).groups.set_index("group")
    women = w[who["sex"] == "woman"]
    assert groups["n_effective"]["woman"] == pytest.approx(women.sum() ** 2 / (women**2).sum())
    assert groups["n"]["woman"] == len(women)
    plain, equal = (audit(y, p, sensitive_features=who, sample_weight=w) for w in (None, np.full(len(y), 7.0)))
    pd.testing.assert_frame_equal(plain.groups, equal.groups)
    pd.testing.assert_frame_equal(plain.measures, equal.measures)


def test_rows_without_weight_are_no_rows():
    y, p, scores, w, who = make_case()
    w[who["region"] == "S"] = 0
    kept = w > 0
    with_zeros = audit(y, p, sensitive_features=who, scores=scores, sample_weight=w)
    without = audit(y[kept], p[kept], sensitive_features=who[kept], scores=scores[kept], sample_weight=w[kept])
    assert with_zeros.to_json() == without.to_json()


def test_every_column_and_their_crossing_are_audited():
    y, p, _, _, who = make_case()
    result = audit(y, p, sensitive_features=who)
    sizes = result.groups.groupby("attribute", sort=False).size()
    assert sizes.to_dict() == {"sex": 2, "region": 3, "sex & region": 6}
    alone = audit(y, p, sensitive_features=who["region"])
    among = result.measures[result.measures["attribute"] == "region"].reset_index(drop=True)
    pd.testing.assert_frame_equal(among, alone.measures)
    assert "man & E" in result.groups["group"].tolist()
    without = audit(y, p, sensitive_features=who, intersections=False)
    assert without.groups["attribute"].unique().tolist() == ["sex", "region"]


def test_the_same_seed_gives_the_same_audit_and_another_nearly_the_same():
    y, p, scores, w, who = make_case()
    first, again, other = (
        audit(y, p, sensitive_features=who, scores=scores, sample_weight=w, random_state=seed) for seed in (0, 0, 1)
    )
    assert first.to_json() == again.to_json()
    assert not first.measures["lower"].equals(other.measures["lower"])
    np.testing.assert_allclose(first.measures["lower"], other.measures["lower"], atol=0.02)
    generator = audit(y, p, sensitive_features=who, random_state=np.random.default_rng(0))
    assert generator.settings["random_state"] is None


def test_more_confidence_is_wider():
    y, p, _, _, who = make_case()
    narrow, wide = (audit(y, p, sensitive_features=who, confidence=level).measures for level in (0.8, 0.99))
    assert (narrow["upper"] < wide["upper"]).all()
    assert (narrow["lower"] >= wide["lower"]).all()


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("as_true", "as_pred", "positive", "found"),
    [
        ([0, 1], [0, 1], None, 1),
        ([0, 1], [0.0, 1.0], None, 1),
        ([0, 1], [False, True], None, 1),
        ([False, True], [False, True], None, True),
        ([-1, 1], [-1, 1], None, 1),
        (["no", "yes"], ["no", "yes"], None, "yes"),
        (["yes", "no"], ["yes", "no"], "no", "no"),
        (["0", "1"], [0, 1], None, 1),
        ([0, 1], ["0", "1"], "1", 1),
        ([0.0, 1.0], [0, 1], "1.0", 1.0),
        ([2, 1], [2, 1], "1", 1),
    ],
)
@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pd.Categorical])
def test_labels_of_any_kind(as_true, as_pred, positive, found, kind):
    y, p, _, _, who = make_case(100)
    expected = audit(y, p, sensitive_features=who)
    true, pred = kind([as_true[label] for label in y]), kind([as_pred[label] for label in p])
    result = audit(true, pred, sensitive_features=who, positive_label=positive)
    assert result.settings["positive_label"] == found
    pd.testing.assert_frame_equal(result.measures, expected.measures)


def test_a_group_without_positives_is_left_out_and_noted():
    y, p = np.tile([0, 1, 0, 1], 60), np.tile([0, 1, 1, 0], 60)
    s = np.tile(["a", "a", "b", "b"], 60).astype(object)
    s[np.flatnonzero(y == 0)[:40]] = "c"
    result = audit(y, p, sensitive_features=s)
    groups, measures = result.groups.set_index("group"), result.measures.set_index("measure")
    assert np.isnan(groups["tpr"]["c"])
    assert "no positives: TPR and FNR not defined" in groups["note"]["c"]
    assert (measures["value"]["equal_opportunity"], measures["lowest"]["equal_opportunity"]) == (1, "a")
    assert measures["note"]["equal_opportunity"] == "no positives: c"
    assert json.loads(result.to_json())["groups"][2]["tpr"] is None


def test_measures_of_one_class_are_not_defined():
    result = audit([0] * 80, [0, 1, 0, 0] * 20, sensitive_features=["a", "b"] * 40, scores=[0.5] * 80)
    measures = result.measures.set_index("measure")
    assert np.isnan(measures["value"]["equal_opportunity"])
    assert np.isnan(measures["value"]["disparate_mistreatment"])
    assert measures["value"]["predictive_equality"] == 0.5
    assert measures["note"]["equal_opportunity"].startswith("not defined for fewer than two groups; no positives: a, b")
    assert any("cannot be compared" in sentence for sentence in result.summary())
    for shown in (str(result), result.to_markdown(), result._repr_html_()):
        assert "–" in shown
        assert "nan" not in shown.lower()
    json.loads(result.to_json(), parse_constant=pytest.fail)


def test_small_groups_say_so():
    y = np.r_[np.ones(7), np.zeros(50), np.ones(100), np.zeros(100), np.ones(3)].astype(int)
    s = np.repeat(["few positives", "enough", "tiny"], [57, 200, 3])
    result = audit(y, y, sensitive_features=s)
    notes = result.groups.set_index("group")["note"]
    assert notes["enough"] == ""
    assert "only 7 positives: too few to judge TPR and FNR" in notes["few positives"]
    assert notes["tiny"] == "only 3 rows: too few to judge"
    assert (audit(y, y, sensitive_features=s, min_group_size=2).groups["note"][[0, 1]] == "").all()
    assert "fewer than 30 rows: tiny" in result.measures["note"][0]


def test_exceeds_asks_for_the_whole_interval():
    y, p, _, _, who = make_case()
    result = audit(y, p, sensitive_features=who["sex"])
    parity = result.measures.set_index("measure").loc["statistical_parity"]
    between = (parity["lower"] + parity["value"]) / 2
    assert "statistical_parity" in result.exceeds(parity["lower"] - 0.001)["measure"].tolist()
    assert "statistical_parity" not in result.exceeds(between)["measure"].tolist()
    assert result.exceeds(0.1, "statistical_parity")["measure"].tolist() == ["statistical_parity"]
    assert result.exceeds(2).empty
    with pytest.raises(ValueError, match=r"measure must be one of statistical_parity, .*, got 'parity'"):
        result.exceeds(0.1, "parity")


def test_calibration_per_group():
    y, p, scores, w, who = make_case()
    result = audit(y, p, sensitive_features=who["sex"], scores=scores, sample_weight=w)
    for row in result.calibration.to_dict("records"):
        own = (who["sex"] == row["group"]).to_numpy()
        assert row["auc"] == pytest.approx(roc_auc_score(y[own], scores[own], sample_weight=w[own]))
        assert row["brier"] == pytest.approx(brier_score_loss(y[own], scores[own], sample_weight=w[own]))
        assert row["mean_score"] == pytest.approx(np.average(scores[own], weights=w[own]))
    assert result.overall["value"]["auc"] == pytest.approx(roc_auc_score(y, scores, sample_weight=w))
    bins = result.reliability
    assert bins["n"].sum() == len(y)
    assert (bins["mean_score"].between(bins["score_from"], bins["score_to"])).all()
    assert (bins["observed"].between(bins["observed_lower"], bins["observed_upper"])).all()
    assert audit(y, p, sensitive_features=who).calibration is None


def test_calibration_error_is_the_mean_distance_of_the_bins():
    scores = np.repeat([0.2, 0.7], 100)
    y = np.r_[np.repeat([0, 1], [70, 30]), np.repeat([0, 1], [30, 70])]
    s = np.tile(["a", "b"], 100)
    result = audit(y, scores > 0.5, sensitive_features=s, scores=scores)
    np.testing.assert_allclose(result.calibration["ece"], 0.05)
    assert len(result.reliability) == 4
    constant = audit(y, scores > 0.5, sensitive_features=s, scores=np.full(200, 0.5))
    np.testing.assert_allclose(constant.calibration["ece"], 0)


def test_scores_of_the_wrong_class_are_remarked_on():
    y, p, scores, _, who = make_case()
    assert not any("positive class?" in s for s in audit(y, p, sensitive_features=who, scores=scores).summary())
    assert any("positive class?" in s for s in audit(y, p, sensitive_features=who, scores=1 - scores).summary())


def test_the_summary_says_what_was_found_and_what_was_not():
    y, p, _, _, who = make_case(4000)
    result = audit(y, p, sensitive_features=who, intersections=False)
    row = result.measures.iloc[0]
    sentences = result.summary()
    assert sentences[1].startswith(
        f"sex: woman is predicted positive {100 * row['value']:.1f} points less often than man ("
    )
    assert f"95 % interval {100 * row['lower']:.1f} to {100 * row['upper']:.1f} points)" in sentences[1]
    assert any(s.startswith("region: no difference in positive predictions is established") for s in sentences)
    assert "does not say whether it is justified" in sentences[-1]


def test_groups_that_are_no_words_are_named_with_their_attribute():
    y, p, _, _, who = make_case(2000)
    s = pd.Series((who["sex"] == "man").astype(int), name="male")
    assert "male 0 is predicted positive" in audit(y, p, sensitive_features=s).summary()[1]


def test_the_printed_tables_fit_a_terminal_and_hold_every_group():
    y, p, scores, w, who = make_case()
    who["region"] = who["region"].map({"N": "Northern Territories", "E": "Eastern Provinces", "S": "South"})
    result = audit(y, p, sensitive_features=who, scores=scores, sample_weight=w)
    text = str(result)
    assert max(map(len, text.splitlines())) <= 100
    row = result.groups.iloc[0]
    assert f"{row['tpr']:.3f} [{row['tpr_lower']:.3f}, {row['tpr_upper']:.3f}]" in text
    for shown in (text, result.to_markdown(), result._repr_html_()):
        for group in result.groups["group"]:
            assert group.replace("&", "&amp;") in shown or group in shown
    assert repr(result) == text
    assert "weighted" in text


def test_group_names_cannot_break_markdown_or_html():
    y, p, _, _, who = make_case()
    s = who["sex"].map({"woman": "<script>|x", "man": "a\nb"})
    result = audit(y, p, sensitive_features=s)
    assert "<script>" not in result._repr_html_()
    rows = [line for line in result.to_markdown().splitlines() if line.startswith("| ")]
    assert "<script>" not in result.to_markdown()
    assert {line.replace("\\|", "").count("|") for line in rows if "script" in line} <= {4, 9}


MARKUP = ["<", "&lt;", "&#60;", "[", "](javascript:x)", "![i](x)", "]:", "`", "*", "_", "__", "~~", "$", "|", "\\", "#"]
MARKUP += ["-", "- ", "---", "1. ", "2)", "+ ", "> ", "=", "a", "b ", "\n", "\r", "\x7f", "\x1b", "\u2028", "é", "1"]


@given(st.lists(st.sampled_from(MARKUP), max_size=12).map("".join).filter(str.strip))
def test_whatever_a_name_holds_markdown_shows_it_and_nothing_else(name):
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    text, shown = markdown_text(name), printable(" ".join(name.split()))
    for page in (
        text,
        f"# {text}",
        f"- {text}",
        f"- a\n- {text}",
        f"| {text} |\n| --- |",
        f"| a |\n| --- |\n| {text} |",
    ):
        *_, line = [token for token in markdown.parse(page) if token.type == "inline"]
        assert {child.type for child in line.children} <= {"text", "text_special"}
        assert "".join(child.content for child in line.children) == shown


def test_nothing_in_names_or_labels_becomes_markdown_in_an_audit():
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    y, p, _, _, who = make_case()
    hostile = "<img src=x onerror=alert(1)> ![i](http://x) `c`\r\n# h\x7f"
    s = (hostile + who["sex"]).rename(hostile)
    labels = np.array(["a", hostile])
    text = audit(labels[y], labels[p], sensitive_features=s, positive_label=hostile).to_markdown()
    tokens = [child.type for token in markdown.parse(text) for child in token.children or []]
    assert set(tokens) <= {"text", "text_special"}
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


def test_json_holds_everything_as_plain_values():
    y, p, scores, _, who = make_case()
    result = audit(y, p, sensitive_features=who, scores=scores)
    report = json.loads(result.to_json())
    assert report == result.to_dict() | {"summary": result.summary()}
    assert report["settings"]["n"] == len(y)
    assert len(report["measures"]) == 3 * 7
    assert report["groups"][0]["tpr"] == pytest.approx(result.groups["tpr"][0])


GOOD = {
    "y_true": [0, 1, 1, 0],
    "y_pred": [0, 1, 0, 0],
    "sensitive_features": pd.DataFrame({"sex": ["f", "m", "f", "m"]}),
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y_pred": [0, 1]}, "y_true has 4 values, y_pred 2"),
        ({"sensitive_features": ["a", "b"]}, "y_true has 4 values, sensitive_features 2"),
        ({"scores": [0.1, 0.2]}, "y_true has 4 values, scores 2"),
        ({"sample_weight": [1, 2]}, "y_true has 4 values, sample_weight 2"),
        ({"y_true": [], "y_pred": [], "sensitive_features": []}, "y_true has no values"),
        ({"y_true": [0, 1, None, 0]}, "y_true is missing in 1 of 4 rows"),
        ({"y_pred": ["no", None, None, "yes"]}, "y_pred is missing in 2 of 4 rows"),
        ({"y_true": [0, 1, 2, 0]}, "y_true must have two different labels, got 3: 0, 1, 2"),
        ({"y_pred": [0.1, 0.9, 0.3, 0.5]}, "y_pred must have two .* probabilities go into scores"),
        ({"y_pred": [0, 2, 0, 0]}, "y_pred holds 2, but the labels in y_true are 0, 1"),
        ({"y_pred": ["no", "yes", "no", "no"]}, "y_pred holds 'no', 'yes', but the labels in y_true are 0, 1"),
        ({"y_true": ["a"] * 4, "y_pred": ["a"] * 4}, "all labels are 'a': give positive_label"),
        ({"y_true": ["yes"] * 4, "y_pred": [1.5] * 4}, "the labels are 'yes', 1.5: give positive_label"),
        ({"y_pred": np.zeros((4, 2))}, r"y_pred must have one value per row, got shape \(4, 2\)"),
        ({"positive_label": "yes"}, "positive_label='yes' is not one of the labels 0, 1"),
        ({"sensitive_features": {"sex": ["f", None, "m", None]}}, "'sex' is missing in 2 of 4 rows"),
        ({"sensitive_features": {"sex": ["f"] * 4}}, "'sex' has only one group, 'f': two are needed"),
        ({"scores": [0.1, 0.2, 0.3, 1.7]}, "between 0 and 1, got 1.7 in row 3"),
        ({"scores": [0.1, np.nan, 0.3, 0.7]}, "scores is missing in 1 of 4 rows"),
        ({"scores": ["a", "b", "c", "d"]}, "scores must be numbers, got 'a'"),
        ({"scores": np.full((4, 2), 0.5)}, r"scores must have one value per row, got shape \(4, 2\)"),
        ({"sample_weight": [1, -1, 1, 1]}, "must not be negative"),
        ({"confidence": 95}, "confidence must be between 0 and 1, such as 0.95, got 95"),
        ({"n_bootstrap": 5}, "n_bootstrap must be a whole number of at least 100, got 5"),
        ({"min_group_size": 1.5}, "min_group_size must be a whole number"),
    ],
)
def test_bad_input_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        audit(**(GOOD | changed))


def test_a_number_is_no_group():
    y = np.tile([0, 1], 150)
    with pytest.raises(
        ValueError,
        match=r"'age' has 300 groups, at most 100: cut it into bands, with",
    ):
        audit(y, y, sensitive_features={"age": np.arange(300.0)})
    two = {"a": np.repeat(np.arange(20), 15), "b": np.tile(np.arange(15), 20)}
    with pytest.raises(ValueError, match=r"'a & b' has 300 groups.*intersections=False"):
        audit(y, y, sensitive_features=two)
    assert len(audit(y, y, sensitive_features=two, intersections=False).groups) == 35


def test_columns_of_the_same_name_are_refused():
    twice = pd.DataFrame([["f", "x"], ["m", "y"]] * 2, columns=["sex", "sex"])
    with pytest.raises(ValueError, match="must have different names"):
        audit([0, 1, 1, 0], [0, 1, 0, 0], sensitive_features=twice)


@pytest.mark.no_cover
@pytest.mark.slow
def test_the_audit_of_simulated_data_covers_the_true_gaps():
    """From labels to limits: data are drawn whole, with sizes and classes of groups left to chance too."""
    rng, covered = np.random.default_rng(3), np.zeros(4)
    fnr, fpr = {"a": 0.3, "b": 0.3, "c": 0.45}, {"a": 0.1, "b": 0.15, "c": 0.1}
    names = ["equal_opportunity", "predictive_equality", "disparate_mistreatment", "equalized_odds_difference"]
    for _ in range(200):
        s = rng.choice(["a", "b", "c"], 900, p=[0.5, 0.3, 0.2])
        y = rng.random(900) < 0.4
        wrong = rng.random(900) < np.where(y, pd.Series(s).map(fnr), pd.Series(s).map(fpr))
        found = audit(y, y ^ wrong, sensitive_features=s, n_bootstrap=500).measures.set_index("measure").loc[names]
        truth = [0.15, 0.05, 0.2, 0.15]
        covered += (found["lower"].to_numpy() <= truth) & (truth <= found["upper"].to_numpy())
    assert (covered / 200 >= 0.92).all(), covered


def test_equal_groups_are_said_to_be_equal():
    result = audit([0, 1] * 100, [0, 1] * 100, sensitive_features=["a", "a", "b", "b"] * 50)
    assert any("the groups are equal here" in sentence for sentence in result.summary())
    assert not any("a and a" in sentence or "b and b" in sentence for sentence in result.summary())


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("rarely_drawn", [False, True])
def test_intervals_of_weighted_data_cover(rarely_drawn):
    """Rows are drawn by their prediction and weighted by the inverse: Kish's size alone covers 0.90 here."""
    rng, covered = np.random.default_rng(1), np.zeros(3)
    names = ["statistical_parity", "equal_opportunity", "disparate_mistreatment"]
    for _ in range(200):
        s, y = rng.integers(0, 2, 800), rng.random(800) < 0.4
        p = rng.random(800) < np.where(y, 0.6, 0.15)
        chance = np.where(p == rarely_drawn, 0.3, 0.9)
        kept = rng.random(800) < chance
        found = audit(y[kept], p[kept], sensitive_features=s[kept], sample_weight=1 / chance[kept], n_bootstrap=1000)
        covered += found.measures.set_index("measure").loc[names, "lower"].to_numpy() == 0  # no gap in truth
    assert (covered / 200 >= 0.92).all(), covered


def test_with_scores_there_is_an_explorer_with_the_predictions_as_its_mark():
    y, p, scores, w, who = make_case()
    found = audit(y, p, sensitive_features=who, scores=scores, sample_weight=w, favourable=1)
    record = found.explorer.record
    (model,) = record["models"]
    assert record["stated"] and model["cuts"][model["own"]] <= 0.45
    widest = found.measures[found.measures["measure"] == "disparate_mistreatment"].iloc[: who.shape[1]]
    column = who[widest.loc[widest["value"].idxmax(), "attribute"]]
    assert [group["name"] for group in record["groups"]] == sorted(column.unique())
    shown = found.explorer.table(record["stops"][model["own"]])
    groups = found.groups.set_index(["attribute", "group"]).loc[column.name]
    assert shown.loc["the model", "found"].to_numpy() == pytest.approx(100 * groups["tpr"].to_numpy(), abs=1e-3)
    other_way = audit(y, 1 - p, sensitive_features=who, scores=scores)
    assert other_way.explorer.record["models"][0]["own"] is None  # no cut-off of the scores gives these
    assert audit(y, p, sensitive_features=who).explorer is None


# Unknown groups


def unknown_people(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    y, sex = rng.random(n) < 0.4, rng.choice(["f", "m"], n)
    predicted = rng.random(n) < 0.3 + 0.3 * y - 0.1 * (sex == "f")
    frame = pd.DataFrame({"sex": sex, "town": rng.choice(["x", "y", "z"], n)})
    frame.loc[rng.random(n) < 0.2, "sex"] = None
    frame.loc[rng.random(n) < 0.1, "town"] = None
    return y.astype(int), predicted.astype(int), frame


def test_rows_of_unknown_group_are_in_no_group_and_count_overall():
    y, p, frame = unknown_people()
    found = audit(y, p, sensitive_features=frame, missing_group="ignore", n_bootstrap=100)
    assert found.settings["n"] == len(y)
    assert found.overall.loc["accuracy", "value"] == pytest.approx((y == p).mean())
    n_unknown = {"sex": frame["sex"].isna().sum(), "town": frame["town"].isna().sum()}
    n_unknown["sex & town"] = frame.isna().any(axis=1).sum()
    assert found.settings["unknown"] == n_unknown
    known = frame["sex"].notna().to_numpy()
    alone = audit(y[known], p[known], sensitive_features=frame[["sex"]][known], n_bootstrap=100)
    own = found.groups[found.groups["attribute"] == "sex"]
    pd.testing.assert_frame_equal(own.reset_index(drop=True), alone.groups)
    own = found.measures[found.measures["attribute"] == "sex"].drop(columns="worst")
    pd.testing.assert_frame_equal(own.reset_index(drop=True), alone.measures)
    assert any("sex: unknown for" in sentence for sentence in found.summary())
    assert "worst" not in alone.measures and "unknown" not in alone.settings


def test_the_worst_gap_is_that_of_the_worst_group_for_all_who_are_unknown():
    y, p, frame = unknown_people()
    found = audit(y, p, sensitive_features=frame, missing_group="ignore", n_bootstrap=100)
    for attribute in ("sex", "town"):
        told = found.measures[found.measures["attribute"] == attribute].set_index("measure")
        filled = [frame[[attribute]].fillna(group) for group in frame[attribute].dropna().unique()]
        by_hand = [audit(y, p, sensitive_features=each, n_bootstrap=100).measures for each in filled]
        worst = pd.concat(by_hand).groupby("measure")["value"].max()
        pd.testing.assert_series_equal(told["worst"].sort_index(), worst, check_names=False)
        assert (told["worst"] >= 0).all()


def test_many_unknown_groups_are_warned_of_and_none_known_is_refused():
    y, p, frame = unknown_people()
    few = frame.assign(sex=frame["sex"].where(np.arange(len(y)) % 3 == 0))
    with pytest.warns(UserWarning, match="the sex of 7. % of the rows is unknown"):
        audit(y, p, sensitive_features=few[["sex"]], missing_group="ignore", n_bootstrap=100)
    with pytest.raises(ValueError, match="sensitive attribute 'sex' is missing in all rows"):
        audit(y, p, sensitive_features=frame.assign(sex=None), missing_group="ignore")
    with pytest.raises(ValueError, match="has a group called 'ignore' already"):
        audit(y, p, sensitive_features=frame.replace({"sex": {"f": "ignore"}}), missing_group="ignore")
    with pytest.raises(ValueError, match="for audits with outcomes"):
        audit(None, p, sensitive_features=frame, missing_group="ignore")
    named = audit(y, p, sensitive_features=frame[["sex"]], missing_group="not told", n_bootstrap=100)
    assert named.groups["group"].tolist() == ["f", "m", "not told"]


# Among people who are alike


def departments(rng, n, gap=0.0):
    """Women apply where few are taken; within a department both are taken alike, but for the gap."""
    sex = rng.choice(["f", "m"], n)
    hard = rng.random(n) < np.where(sex == "f", 0.8, 0.3)
    y = rng.random(n) < 0.5
    p = rng.random(n) < np.where(hard, 0.2, 0.7) - gap * (sex == "f")
    return y.astype(int), p.astype(int), pd.DataFrame({"sex": sex}), pd.DataFrame({"department": np.where(hard, 1, 2)})


def test_conditional_gaps_are_those_within_strata_and_their_standardised_mean():
    y, p, sex, control = departments(np.random.default_rng(0), 4000)
    w = np.random.default_rng(1).gamma(2.0, 1.0, len(y))
    for weights in (None, w):
        given = {"sample_weight": weights, "n_bootstrap": 100}
        found = audit(y, p, sensitive_features=sex, control_features=control, **given)
        table = found.conditional.set_index(["measure", "stratum"])
        each = np.ones(len(y)) if weights is None else weights
        for measure, rows in (
            ("statistical_parity", y >= 0),
            ("equal_opportunity", y == 1),
            ("predictive_equality", y == 0),
        ):
            rates, shares = {}, {}
            for stratum in (1, 2):
                inside = rows & (control["department"] == stratum).to_numpy()
                shares[stratum] = each[inside].sum() / each[rows].sum()
                for group in ("f", "m"):
                    mine = inside & (sex["sex"] == group).to_numpy()
                    rates[group, stratum] = np.average(p[mine], weights=each[mine])
                gap = abs(rates["f", stratum] - rates["m", stratum])
                row = table.loc[measure, str(stratum)]
                assert row["value"] == pytest.approx(gap) and row["lower"] <= gap <= row["upper"]
            both = {g: sum(shares[k] * rates[g, k] for k in (1, 2)) for g in ("f", "m")}
            row = table.loc[measure, "all, standardised"]
            assert row["value"] == pytest.approx(abs(both["f"] - both["m"]))
            assert row["lower"] <= row["value"] <= row["upper"]
    marginal = found.measures.set_index("measure").loc["statistical_parity"]
    assert marginal["lower"] > 0.15 > table.loc["statistical_parity", "all, standardised"]["upper"]
    assert "of people alike in department" in " ".join(found.summary())
    assert "among people alike in department" in str(found) and found.to_dict()["conditional"]
    assert "among people alike in department" in found.to_markdown()


@pytest.mark.no_cover
@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_intervals_of_standardised_gaps_cover_the_truth(gap):
    rng, hits = np.random.default_rng(3), 0
    for _ in range(200):
        y, p, sex, control = departments(rng, 600, gap)
        table = audit(y, p, sensitive_features=sex, control_features=control, n_bootstrap=100).conditional
        row = table[(table["measure"] == "statistical_parity") & (table["stratum"] == "all, standardised")].iloc[0]
        hits += row["lower"] <= gap <= row["upper"]
    assert hits >= 184  # 95 % of 200 is 190, and 183 or fewer would be chance once in a thousand


def test_strata_without_a_group_are_left_out_of_the_mean_and_said():
    y, p, sex, control = departments(np.random.default_rng(0), 2000)
    control = control.astype(str)
    men = np.flatnonzero(sex["sex"] == "m")
    control.iloc[men[:100], 0] = "men only"
    sex.iloc[men[100:103], 0] = "few"
    table = audit(y, p, sensitive_features=sex, control_features=control, n_bootstrap=100).conditional
    row = table[(table["measure"] == "statistical_parity") & (table["stratum"] == "all, standardised")].iloc[0]
    assert row["note"] == "left out, too small: few; of 2 of 3 strata, those with all groups: 95 % of people"
    alone = table[(table["measure"] == "statistical_parity") & (table["stratum"] == "men only")].iloc[0]
    assert np.isnan(alone["value"])
    nowhere = audit(y, p, sensitive_features=sex, control_features=sex, n_bootstrap=100)
    assert nowhere.conditional["value"].isna().all()
    assert any("cannot be compared" in sentence for sentence in nowhere.summary())
    with pytest.raises(ValueError, match="y_true has 2000 values, control_features 3"):
        audit(y, p, sensitive_features=sex, control_features=[1, 2, 3])
    with pytest.raises(ValueError, match="control_features is for audits with outcomes"):
        audit(None, p, sensitive_features=sex, control_features=control)
