"""Several attributes: each by itself, crossed, or both; and rows whose group is not known."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_against_reference import LEAST_ROWS

import parityboost
import reference
from conftest import make_people
from parityboost import AdaFairClassifier, FitWarning, LimitNotMet, ParityBoostClassifier
from parityboost._fit import samples
from parityboost._table import binning, grouping
from parityboost.notions import EqualOpportunity, FairnessNotion, Gap, View, Viewed, accuracy, get_notion
from problems import SYMMETRIC, TWIN_OPTIONS, draw_rows, frame_of

NOTIONS = ["disparate_mistreatment", "equal_opportunity", "statistical_parity"]
SEX, RACE = np.array(["F", "F", "M", "M"], dtype=object), np.array(["p", "q", "p", "q"], dtype=object)


def people(n_rows=600, seed=0):
    """Rows with two attributes: the second is of three values, of which one is rare."""
    X, y, sex = make_people(n_rows, seed)
    rng = np.random.default_rng(seed + 100)
    race = rng.choice(["p", "q", "r"], n_rows, p=[0.55, 0.4, 0.05])
    y = np.where((race == "q") & (rng.random(n_rows) < 0.3), 0, y)
    race[:2], y[:2] = "r", [0, 1]
    return X, y, pd.DataFrame({"sex": sex, "race": race})


def fitted(groups="each", cls=AdaFairClassifier, data=None, **options):
    X, y, sensitive = people() if data is None else data
    few = {"n_bags": 2, "n_estimators": 15} if cls is ParityBoostClassifier else {"n_estimators": 15}
    return cls(groups=groups, random_state=0, **few | options).fit(X, y, sensitive_features=sensitive)


def assert_same_bits(one, other, X):
    assert (one.decision_function(X) == other.decision_function(X)).all()
    assert one.thetas_.tolist() == other.thetas_.tolist() if hasattr(one, "thetas_") else one.theta_ == other.theta_


# The twin


def attributes_of(cells, holes=()):
    """Cells 0 to 3 as two attributes of two values; in the cells of ``holes`` one of them is missing."""
    frame = pd.DataFrame({"sex": SEX[cells], "race": RACE[cells]})
    for cell, name in holes:
        frame.loc[cells == cell, name] = None
    return frame


CROSSED = np.arange(4)
VIEWS = {"each": [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]}
VIEWS["both"] = [*VIEWS["each"], CROSSED]


@st.composite
def of_four_cells(draw, kinds=("category missing", "integer", "float missing")):
    """Rows in which every cell of two attributes and every class occurs, and others to choose θ on, or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))
    parts = [draw_rows(rng, draw(st.integers(8, 40)), 4, kinds, draw(st.booleans())) for _ in range(2)]
    return kinds, parts[0], parts[1] if draw(st.booleans()) else None


@pytest.mark.parametrize("mode", ["each", "both", "ignore", "ignore crossed", "ignore both"])
@settings(max_examples=30)
@given(problem=of_four_cells(), options=TWIN_OPTIONS)
def test_views_equal_the_twin_to_the_last_bit(mode, problem, options):
    kinds, (columns, y, cells, weights), validation = problem
    holes, missing_group, groups, rank = (), None, mode, CROSSED
    views = VIEWS.get(mode)
    if mode.startswith("ignore"):  # nobody knows the race of the last cell: of two values of M it is the first then
        holes, missing_group, groups = [(3, "race")], "ignore", mode.removeprefix("ignore").strip() or "each"
        unknown, small = reference.UNKNOWN, reference.SMALL  # of crossed groups beside others some are always left out
        views = [VIEWS["each"][0], np.array([0, 1, unknown, 0])]
        views += [np.array([0, 1, small, 2])] if groups == "both" else []
        views = [np.array([0, 1, unknown, 2])] if groups == "crossed" else views
        rank = np.array([0, 1, 3, 2])
    given_validation, twin_validation = {}, None
    if validation is not None:
        columns_v, y_v, cells_v, weights_v = validation
        twin_validation = (columns_v, y_v, rank[cells_v], weights_v)
        given_validation = {"validation": (frame_of(columns_v), y_v, attributes_of(cells_v, holes), weights_v)}
    else:
        options = options | {"costs_from": "training"}
    name = "symmetric_parity" if options["notion"] is SYMMETRIC else options["notion"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "LEAST_ROWS", LEAST_ROWS)
        patch.setattr(binning, "LEAST_ROWS", LEAST_ROWS)
        patch.setattr(grouping, "LEAST_CROSSED", 0)
        patch.setattr(samples, "MIN_ROWS_TO_MERGE", 0)
        twin = reference.fit(
            columns,
            [kind.startswith("category") for kind in kinds],
            y,
            rank[cells],
            sample_weight=weights,
            validation=twin_validation,
            views=views,
            **(options | {"notion": name}),
        )
        model = AdaFairClassifier(validation_fraction=None, groups=groups, missing_group=missing_group, **options)
        fit_args = {"sensitive_features": attributes_of(cells, holes), "sample_weight": weights, **given_validation}
        if not twin.stumps:
            with pytest.raises(ValueError, match="no better than chance"):
                model.fit(frame_of(columns), y, **fit_args)
            return
        model.fit(frame_of(columns), y, **fit_args)
    assert model.theta_ == twin.theta
    assert model.estimator_weights_.tolist() == twin.alphas
    assert model.history_["Z"].tolist() == twin.Z
    assert model.threshold_ == pytest.approx(twin.thresholds[twin.theta - 1], abs=1e-9)
    prefix = "train" if validation is None else "validation"
    np.testing.assert_allclose(model.history_[f"{prefix}_objective"], twin.objectives, atol=1e-9)
    labels = {label for gap in get_notion(options["notion"]).gaps for label in (*gap.boosts, *gap.boosts_ahead)}
    for g, shown in enumerate(grouping.group_names(model.groups_)):
        for label in labels:
            assert model.history_[f"cost[{shown}, {label}]"].tolist() == [u[g, label] for u in twin.costs]


# What changes nothing


@pytest.mark.parametrize("cls", [AdaFairClassifier, ParityBoostClassifier])
@pytest.mark.parametrize("notion", NOTIONS)
def test_each_of_one_attribute_is_what_it_was(cls, notion):
    X, y, sensitive = people()
    data = X, y, sensitive["sex"]
    crossed = fitted("crossed", cls, data, notion=notion)
    for groups in ("each", "both"):
        model = fitted(groups, cls, data, notion=notion, missing_group="ignore")
        assert_same_bits(crossed, model, X)
        assert model.history_.equals(crossed.history_) and model.views_ == {}


@pytest.mark.parametrize("class_weight", [None, "balanced_groups"])
@pytest.mark.parametrize("groups", ["each", "both"])
def test_an_attribute_that_repeats_another_changes_nothing(groups, class_weight):
    X, y, sensitive = people()
    again = sensitive["sex"].map({"a": "first", "b": "second"})
    given = {"class_weight": class_weight, "threshold": "auto"}
    one = fitted(groups, data=(X, y, sensitive), **given)
    other = fitted(groups, data=(X, y, sensitive.assign(other=again)), **given)
    assert_same_bits(one, other, X)
    assert list(one.views_)[:2] == list(other.views_)[:2] == ["sex", "race"]
    alone = fitted("crossed", data=(X, y, sensitive["sex"]), **given)
    assert_same_bits(alone, fitted("each", data=(X, y, sensitive[["sex"]].assign(other=again)), **given), X)


@pytest.mark.no_cover
@pytest.mark.parametrize("cls", [AdaFairClassifier, ParityBoostClassifier])
@pytest.mark.filterwarnings("ignore:.*left out of the rate:UserWarning")  # few are r
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), notion=st.sampled_from(NOTIONS), groups=st.sampled_from(["each", "both"]))
def test_neither_names_nor_the_order_of_attributes_change_anything(cls, seed, notion, groups):
    X, y, sensitive = people(300, seed)
    sensitive.loc[:3, "race"], y[:4] = "r", [0, 0, 1, 1]  # who is rare is in either half, with both classes
    rows = np.arange(len(y))
    # Splits of one's own: drawn ones go through the cells in the order of their names.
    options = {"validation_fraction": None} if cls is AdaFairClassifier else {"n_bags": [(rows[::2], rows[1::2])] * 2}
    one = fitted(groups, cls, (X, y, sensitive), notion=notion, **options)
    turned = sensitive[["race", "sex"]].rename(columns={"race": "a", "sex": "b"})
    turned["a"] = turned["a"].map({"p": "z", "q": "y", "r": "x"})
    other = fitted(groups, cls, (X, y, turned), notion=notion, **options)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=0, atol=1e-9)
    assert [name.split("[")[0] for name in one.history_] == [name.split("[")[0] for name in other.history_]
    for ours, theirs in (("sex", "b"), ("race", "a")):
        for name in [name for name in one.history_ if name.endswith(f"[{ours}]") and name.startswith("delta_")]:
            theirs_of = other.history_[name.replace(f"[{ours}]", f"[{theirs}]")]
            np.testing.assert_allclose(one.history_[name].abs(), theirs_of.abs(), atol=1e-12)


# What is compared


def gaps_by_hand(y, predicted, group):
    """The largest difference in false negative rates, in false positive rates and in selection rates."""
    known = [g for g in pd.unique(group) if isinstance(g, str)]
    rates = []
    for g in known:
        mine = group == g
        rates.append(
            [
                1 - predicted[mine & (y == 1)].mean(),
                predicted[mine & (y == 0)].mean(),
                predicted[mine].mean(),
            ]
        )
    fnr, fpr, selected = np.ptp(np.array(rates), axis=0)
    return {"disparate_mistreatment": fnr + fpr, "equal_opportunity": fnr, "statistical_parity": selected}


@pytest.mark.no_cover
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("groups", ["each", "both", "crossed"])
def test_the_violation_is_the_worst_of_the_views(notion, groups, missing):
    X, y, sensitive = people(900)
    if missing:
        for name, share in (("sex", 0.2), ("race", 0.3)):
            sensitive.loc[np.random.default_rng(1).random(len(y)) < share, name] = None
    data = X, y, sensitive
    model = fitted(groups, data=data, notion=notion, missing_group="ignore", validation_fraction=None)
    predicted = model.predict(X)
    both = (sensitive["sex"] + " & " + sensitive["race"]).where(sensitive.notna().all(axis=1), None)
    columns = {"sex": sensitive["sex"], "race": sensitive["race"]} if groups != "crossed" else {}
    if groups == "both":
        shown = [" & ".join(group) for group in model.views_["sex & race"]]
        large = pd.crosstab(both, y).min(axis=1)
        assert sorted(shown) == sorted(large.index[large >= 30])
        both = both.where(both.isin(shown), None)
    if groups != "each":
        columns["sex & race"] = both
    assert list(model.views_) == (list(columns) if groups != "crossed" or missing else [])
    found = {name: gaps_by_hand(y, predicted, column.to_numpy(object))[notion] for name, column in columns.items()}
    violation = model.history_["train_violation"].iloc[model.theta_ - 1]
    assert violation == pytest.approx(max(found.values()))
    assert model.frontier()["violation"].min() <= violation
    of_these = model.frontier(X, y, sensitive_features=sensitive)
    pd.testing.assert_frame_equal(of_these, model.frontier())
    rounds = model.history_.iloc[model.theta_ - 1]
    for name in columns if len(model.views_) else ():
        deltas = [abs(rounds[f"delta_{gap.name}[{name}]"]) for gap in get_notion(notion).gaps]
        assert sum(deltas) == pytest.approx(found[name])


class Unequal(FairnessNotion):
    """A rate of its own, which no kernel counts."""

    name = "accuracy_parity"
    gaps = (Gap("accuracy", accuracy, boosts=(0, 1), high_is_good=True),)


class OwnCosts(EqualOpportunity):
    """The same as its base, but what it costs is told in Python."""

    def costs(self, counts, epsilon=0.0):
        return super().costs(counts, epsilon)


def test_a_notion_of_ones_own_has_views_without_a_change():
    X, y, sensitive = people()
    model = fitted("each", data=(X, y, sensitive), notion=Unequal(), threshold="auto")
    assert {"delta_accuracy[sex]", "delta_accuracy[race]"} <= set(model.history_)
    sensitive.loc[::7, "race"] = None
    for options in ({}, {"threshold": "auto", "keep": 0.5}):
        options["missing_group"] = "ignore"
        own = fitted("both", data=(X, y, sensitive), notion=OwnCosts(), **options)
        assert_same_bits(own, fitted("both", data=(X, y, sensitive), notion="equal_opportunity", **options), X)


def test_wishes_are_kept_in_every_view():
    X, y, sensitive = people(2500)
    model = fitted("both", ParityBoostClassifier, (X, y, sensitive), notion="equal_opportunity", limit=0.08)
    taken = model.alternatives().iloc[0]
    assert taken["largest_gap"] <= 0.08 and taken["widest_in"] in model.views_
    assert taken["gap_lower"] <= taken["largest_gap"] <= taken["gap_upper"]

    def gap(model, name, values):
        counts, cells = model.glass_box_.held_out_counts, model.groups_.tolist()
        place = ["sex", "race"].index(name)
        found = [counts[[cell[place] == value for cell in cells]].sum(axis=0) for value in values]
        return np.ptp([n[1, 0] / n[1].sum() for n in found])

    assert max(gap(model, "sex", "ab"), gap(model, "race", "pqr")) <= taken["largest_gap"] + 1e-12
    # A share of all rows is one of a view's groups, whatever cells it is made of: r is rare, and so are its cells.
    with pytest.raises(LimitNotMet):
        model.choose(limit=0.05)
    without = model.choose(limit=0.05, min_group_share=0.1)
    assert max(gap(without, "sex", "ab"), gap(without, "race", "pq")) <= 0.05


# Small cells, unknown groups and others that come later


@pytest.mark.parametrize("cls", [AdaFairClassifier, ParityBoostClassifier])
def test_tiny_cells_are_no_obstacle_where_every_group_of_a_view_is_fine(cls):
    X, y, sensitive = people()
    keep = ~((sensitive["sex"] == "a") & (sensitive["race"] == "r") & (y == 1))  # no positives in this cell
    data = X[keep], y[keep], sensitive[keep]
    for groups in ("each", "both"):
        model = fitted(groups, cls, data)
        assert ("a", "r") in model.groups_.tolist() and ("a", "r") not in model.views_.get("sex & race", [])
    assert any("left out are" in message and "a & r" in message for message in model.warnings_)
    with pytest.warns(UserWarning, match="group 'a & r' has no example"):
        fitted("crossed", cls, data)


def test_a_view_without_a_rate_names_its_group():
    X, y, sensitive = people()
    y = np.where(sensitive["race"] == "r", 0, y)
    with pytest.warns(UserWarning, match="group 'r' has no example of class '1'"):
        fitted("each", data=(X, y, sensitive), notion="equal_opportunity")
    only_p = y * (sensitive["race"] == "p")
    with pytest.raises(ValueError, match="cannot be compared between fewer than two groups"):
        fitted("each", data=(X, only_p.to_numpy(), sensitive), notion="equal_opportunity")


@pytest.mark.parametrize("cls", [AdaFairClassifier, ParityBoostClassifier])
def test_rows_of_unknown_group_count_for_the_error_and_for_no_rate(cls):
    X, y, sensitive = people()
    sex = sensitive["sex"].where(np.arange(len(y)) % 3 > 0, None)
    model = fitted("crossed", cls, (X, y, sex), missing_group="ignore")
    assert model.groups_.tolist() == ["a", "b", "ignore"] and model.views_ == {"sex": ["a", "b"]}
    assert not any("ignore" in name for name in model.history_ if name.startswith("delta"))
    for label in (0, 1):
        of_a, of_b, of_rest = (model.history_[f"cost[{group}, {label}]"] for group in model.groups_)
        behind = np.maximum(of_a, of_b)
        assert (np.minimum(of_a, of_b) == 0).all() and (behind > 0).any()  # of two groups the one behind
        assert ((of_rest < behind) | (behind == 0)).all() and ((of_rest > 0) == (behind > 0)).all()
    named = fitted("crossed", cls, (X, y, sex), missing_group="nobody knows")
    costs = [name for name in named.history_ if name.startswith("cost[nobody knows")]
    assert (named.history_[costs] > 0).any(axis=None)


@pytest.mark.parametrize("scale", [1.0, np.array([1.0, 2.0])[:, None, None, None]])
def test_each_group_pays_in_all_what_it_owes(scale):
    counts = np.zeros((3, 2, 2))  # of the groups a, b and unknown
    counts[:, 1] = [[5, 5], [3, 27], [7, 13]]
    notion = Viewed(get_notion("equal_opportunity"), (View("sex", (0,), ("a", "b"), (0, 1, -1)),))
    costs = notion.costs(scale * counts)[..., 1]
    # a owes 0.4, which its 10 known rows pay and the 5 of the 20 unknown rows that are likely from a.
    np.testing.assert_allclose(costs, np.broadcast_to([0.55, 0.0, 0.1], costs.shape))
    np.testing.assert_allclose(10 * costs[..., 0] + 5 * costs[..., 2], 15 * 0.4)
    counts[2] = 0  # nobody is unknown
    np.testing.assert_array_equal(notion.costs(counts)[:2, 1], notion.each.costs(counts[:2])[:, 1])


def test_a_group_called_ignore_is_refused():
    X, y, sensitive = people()
    sex = sensitive["sex"].replace({"a": "ignore"})
    with pytest.raises(ValueError, match="'sex' has a group called 'ignore' already, which says here that a missing"):
        fitted("crossed", data=(X, y, sex), missing_group="ignore")
    assert fitted("crossed", data=(X, y, sex)).groups_.tolist() == ["b", "ignore"]


@pytest.mark.parametrize("groups", ["crossed", "each"])
def test_nothing_known_is_refused(groups):
    X, y, sensitive = people(60)
    alone = sensitive["sex"].where(sensitive["sex"] == "a", None)
    with pytest.raises(ValueError, match="only one group in the sensitive attribute, 'a'"):
        fitted(groups, data=(X, y, alone), missing_group="ignore")
    with pytest.raises(ValueError, match="missing in all rows"):
        fitted(groups, data=(X, y, alone.where(alone.isna(), None)), missing_group="ignore")
    apart = pd.DataFrame({"sex": alone, "race": np.where(alone.isna(), "p", None)})
    with pytest.raises(ValueError, match="no sensitive attribute has two known groups"):
        fitted(groups, data=(X, y, apart), missing_group="ignore")


def test_many_unknown_groups_are_told():
    X, y, sensitive = people(900)
    sensitive["race"] = sensitive["race"].where(np.arange(len(y)) % 4 == 0, None)
    with pytest.warns(FitWarning, match="the group by 'race' of 7. % of the rows is unknown"):
        fitted("each", data=(X, y, sensitive), missing_group="ignore")


def test_later_rows_may_cross_known_values_anew():
    X, y, sensitive = people(800)
    old, new = np.arange(800) < 500, np.arange(800) >= 500
    is_b_r = (sensitive["sex"] == "b") & (sensitive["race"] == "r")
    sensitive.loc[old & is_b_r, "race"] = "p"
    sensitive.loc[np.flatnonzero(new)[:4], "race"], y[500:504] = "r", [0, 1, 0, 1]
    sensitive.loc[np.flatnonzero(new)[:4], "sex"] = "b"
    sensitive.loc[790:, "race"] = None
    later = X[new], y[new], sensitive[new]
    options = {"missing_group": "ignore", "n_estimators": 15}
    for cls in (AdaFairClassifier, ParityBoostClassifier):
        few = {"n_bags": 2} if cls is ParityBoostClassifier else {}
        model = cls(groups="each", **options, **few)
        model.fit(X[old], y[old], sensitive_features=sensitive[old], validation=later)
        assert model.groups_.tolist()[-1] in [("a", "ignore"), ("b", "ignore"), ("b", "r")]
        assert len(model.groups_) > 5
    alone = fitted("each", data=(X[old], y[old], sensitive[old]), missing_group="ignore")
    table = alone.frontier(X[new], y[new], sensitive_features=sensitive[new])
    theta, threshold = int(table["theta"].iloc[0]), table["threshold"].iloc[0]
    predicted = alone.set_theta(theta).set_threshold(threshold).predict(X[new])
    by_hand = [
        gaps_by_hand(y[new], predicted, sensitive[new][name].to_numpy(object))["disparate_mistreatment"]
        for name in ("sex", "race")
    ]
    assert table["violation"].iloc[0] == pytest.approx(max(by_hand))
    with pytest.raises(ValueError, match="group 'a & other' does not occur in the training data"):
        alone.frontier(X[new], y[new], sensitive_features=sensitive[new].assign(sex="a", race="other"))


def test_thresholds_per_group_are_of_crossed_groups():
    with pytest.raises(ValueError, match='compares others: use groups="crossed", or threshold="auto"'):
        fitted("each", threshold="per_group")
    X, y, sensitive = people()
    sex = sensitive["sex"].where(np.arange(len(y)) % 3 > 0, None)
    model = fitted("crossed", data=(X, y, sex), threshold="per_group", missing_group="ignore")
    assert len(model.threshold_) == 3 and len(model.predict(X, sensitive_features=sex)) == len(y)


# Files


@pytest.mark.no_cover
@pytest.mark.parametrize("cls", [AdaFairClassifier, ParityBoostClassifier])
@pytest.mark.parametrize("groups", ["each", "both"])
def test_files_and_pickles_keep_the_views(cls, groups, tmp_path):
    X, y, sensitive = people()
    sensitive.loc[::7, "race"] = None
    model = fitted(groups, cls, (X, y, sensitive), missing_group="ignore", notion="equal_opportunity")
    table = model.frontier(X, y, sensitive_features=sensitive)
    model.save(tmp_path / "model.json")
    for other in (parityboost.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert other.views_ == model.views_ and other.about_.settings.notion == model.about_.settings.notion
        pd.testing.assert_frame_equal(other.frontier(X, y, sensitive_features=sensitive), table)
        other.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()
    if cls is ParityBoostClassifier:
        pd.testing.assert_frame_equal(other.alternatives(), model.alternatives())
        assert other.choose(limit=0.2).glass_box_.threshold == model.choose(limit=0.2).glass_box_.threshold


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda view: view["group_of"].pop(), r"group_of: expected a list of"),
        (lambda view: view["group_of"].__setitem__(0, 9), r"group_of: expected all numbers from 0 to 1"),
        (lambda view: view.__setitem__("group_of", [-1] * len(view["group_of"])), r"group_of: expected all numbers"),
        (lambda view: view["groups"].pop(), r"groups: expected at least two values"),
        (lambda view: view["groups"].__setitem__(0, view["groups"][1]), "groups"),
        (lambda view: view["positions"].__setitem__(0, 7), "positions"),
    ],
)
def test_damaged_views_are_refused(damage, complaint, tmp_path):
    path = tmp_path / "model.json"
    fitted("each").save(path)
    document = json.loads(path.read_text())
    damage(document["views"][0])
    path.write_text(json.dumps(document))
    with pytest.raises(parityboost.ModelFileError, match=re.compile(rf"views\[0\].*{complaint}")):
        parityboost.load(path, verify=False)
