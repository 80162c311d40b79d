"""The public figures: what to draw, taken from a model, from its training or from predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .. import explain
from .._docs import ONE_TRAINING, documented
from .._table.grouping import group_name, group_names, read_groups
from .._table.sources import NumberSource, Source
from .._table.values import to_pandas
from ..audit import audit
from ..estimators import AdaFairClassifier
from ..explain._reading import check_model, check_one_training, feature_source, scores_of, selection_part
from ..explain._scores import kinds_of
from ..explain._shapes import category_shares, extent
from ..metrics import group_table
from . import _chart
from ._chart import DOWN, GROUP_ROLES, METHODS, PALETTE, UP, Axis, Bars, Cells, Chart, Line, Points, Rule, Word
from ._paper import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DATA = {"validation": "validation data", "train": "training data"}
RATES = {
    "tpr": "found, of the positives",
    "tnr": "left alone, of the negatives",
    "selection_rate": "predicted positive",
}
MEASURES = {
    "er": ("error", "#E69F00"),
    "ber": ("balanced error", UP),
    "violation": ("violation", DOWN),
    "objective": ("objective", "#000000"),
}


@documented()
def shape_function(
    model: AdaFairClassifier, feature: str | int, X: Any = None, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """What a feature adds to the score, for each of its values.

    For an average of several trainings, a band of one standard deviation to either side (or ± beside a bar) shows how
    far these differ.

    Parameters
    ----------
    X : DataFrame or array-like, optional
        Data to show where the instances are: as a histogram, or as shares of the categories.
    top : int, default=20
        Categories of the same score share a bar; of more bars than this, the highest and the lowest are drawn.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, plot
    >>> model = AdaBoostClassifier(1).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    >>> ax = plot.shape_function(model, "x0")
    >>> steps = ax.patches[0].get_data()
    >>> steps.edges[1:-1].tolist()
    [2.5]
    """
    function = explain.shape_function(model, feature)
    source = None if X is None else feature_source(model, function.feature, X)
    title = f"{function.feature}: what it adds to the score"
    if function.kind == "categorical":
        shares = None if source is None else category_shares(function, source)
        return draw(_chart.categories(_chart.same_score(function, shares, top), title=title), ax)
    lies, missing = extent(function, source), "missing"
    if lies.n:
        missing = f"missing ({lies.n_missing / lies.n:.1%} of X)" if lies.n_missing else "missing (none in X)"
    return draw(_chart.steps(function, lies, lies.counts, missing, title=title), ax)


@documented()
def pair(
    model: AdaFairClassifier,
    first: str | int,
    second: str | int,
    X: Any = None,
    *,
    few: float = 20,
    top: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """What two features add to the score together, beyond what each of them adds alone.

    Each cell has the colour of its score and, where there is room, the score and the number of rows it rests on. A cell
    of fewer than ``few`` rows is faded, a cell of none is hatched: what the model says there is not learnt from data.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of trees of depth two, ``max_depth=2``.
    X : DataFrame or array-like, optional
        Data whose rows are counted in the cells; by default the rows that the model was trained on.
    few : float, default=20
        Cells of fewer rows (by sample weight, if the model was trained with weights) are faded.
    top : int, default=15
        Of more values than this on an axis, only those are drawn that have the strongest effect, and missing values.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> model = AdaFairClassifier("none", max_depth=2, n_estimators=1, validation_fraction=None)
    >>> ax = plot.pair(model.fit(X, y, sensitive_features=["a", "b"] * 20), "x0", "x1")
    >>> ax.get_ylabel(), ax.get_xlabel()
    ('x0', 'x1')
    """
    function = explain.pair_function(model, first, second)
    axes, weight = (function.rows, function.columns), function.weight
    if X is not None:
        weight = np.zeros_like(weight)
        positions = [axis.positions(_values(feature_source(model, axis.feature, X))) for axis in axes]
        np.add.at(weight, tuple(positions), 1)
    cells, labels = Cells(function.scores, weight, few), [axis.labels for axis in axes]
    title = f"{' × '.join(function.features)}: beyond what each adds alone"
    chart = _chart.pair(function.features, labels, cells, top, title=title)
    [cells] = chart.marks
    note = "Score and number of rows in each cell"
    if ((cells.weight > 0) & (cells.weight < few)).any():
        note += f"; grey: fewer than {few:g} rows"
    if (cells.weight == 0).any():
        note += "; hatched: no rows"
    return draw(replace(chart, note=note), ax)


def _values(source: Source) -> Any:
    if isinstance(source, NumberSource):
        return source.floats(slice(None))
    codes, found = source.factorized(slice(None))
    values = np.empty(len(found) + 1, dtype=object)  # the last one is for code -1, missing
    values[:-1] = found
    return values[codes]


@documented()
def waterfall(
    model: AdaFairClassifier, row: Any, *, background: Any = None, top: int = 9, ax: Axes | None = None
) -> Axes:
    """How the features of one instance add up to its score.

    Parameters
    ----------
    row : DataFrame or array of one row, or Series
        The instance, ``X.iloc[[0]]`` say.
    background : DataFrame or array-like, optional
        Data to compare with: start from its mean score, and show how the instance differs from its mean contributions.
        By default start from the model's constant.
    top : int, default=9
        Number of features to show; the others are one bar.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, plot
    >>> X = [[1, 1], [2, 1], [3, 2], [4, 1]]
    >>> model = AdaBoostClassifier(3).fit(X, [0, 0, 1, 0])
    >>> ax = plot.waterfall(model, X[2:3])
    >>> bool(
    ...     abs(sum(bar.get_width() for bar in ax.patches) - model.decision_function(X[2:3])[0])
    ...     < 1e-12
    ... )
    True
    """
    row = to_pandas(row)
    if isinstance(row, pd.Series):
        row = row.to_frame().T
    parts = explain.contributions(model, row)
    if len(parts) != 1:
        raise ValueError(f"row must be one instance, got {len(parts)} rows: X.iloc[[0]] is the first one")
    own, start = parts.iloc[0, :-1], (str(parts.columns[-1]), float(parts.to_numpy()[0, -1]))
    if background is not None:
        mean = explain.contributions(model, background).mean()
        own, start = own - mean[own.index], ("mean score", float(mean.sum()))
    values = row.iloc[0] if isinstance(row, pd.DataFrame) else pd.Series(list(row[0]))
    # Pairs of features, which come last, have no value.
    shown = {name: f"{name} = {_value(value)}" for name, value in zip(own.index, values, strict=False)}
    rows = _chart.top_and_rest(((name, [part]) for name, part in own.items()), top)
    named = [(shown.get(name, name), part) for name, part in rows]
    x, title = f"score (above 0: {model.positive_})", f"Predicted class: {model.predict(row)[0]}"
    return draw(_chart.waterfall(start, named, ("score", float(scores_of(model, row)[0])), x=x, title=title), ax)


def _value(value: Any) -> str:
    if pd.isna(value):
        return "missing"
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else str(value)


@documented()
def importances(
    model: AdaFairClassifier, X: Any = None, *, sample_weight: Any = None, top: int = 15, ax: Axes | None = None
) -> Axes:
    """The features that matter most: by their share of the weights α, or by their effect on the scores of X.

    See :func:`parityboost.explain.importances`.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_features), optional
        Instances to measure the effect on the score on.
    top : int, default=15
        Number of features to show.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, plot
    >>> model = AdaBoostClassifier(1).fit([[1, 5], [2, 5], [3, 5], [4, 5]], [0, 0, 1, 1])
    >>> ax = plot.importances(model)
    >>> [float(bar.get_width()) for bar in ax.patches]
    [1.0]
    """
    table = explain.importances(model, X, sample_weight=sample_weight).iloc[:, -1]
    used = table[table > 0]
    shown = used.iloc[:top]
    most = "The" if len(shown) == len(used) else f"The first {len(shown)} of the"
    title = f"{most} {len(used)} {kinds_of(used.index)} used, of {len(table)}"
    x = "share of the weights of all rules" if X is None else "how far it moves the score, on average"
    rows = [(name, [value]) for name, value in shown.items()]
    return draw(_chart.bars(rows, {"": "ours"}, "{:.2f}".format, x=x, title=title), ax)


@documented()
def gap_decomposition(
    models: AdaFairClassifier | Mapping[str, AdaFairClassifier],
    X: Any,
    sensitive_features: Any,
    *,
    groups: tuple[Any, Any] | None = None,
    sample_weight: Any = None,
    top: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """How much of the difference in mean score between groups each feature carries.

    Of one model, for one or several pairs of groups, or of several models by name, for one pair, side by side. See
    :func:`parityboost.explain.gap_decomposition`.

    Parameters
    ----------
    models : AdaFairClassifier or dict of str to AdaFairClassifier
        A fitted model of stumps, or several by the names to show.
    top : int, default=10
        Number of features to show; the others are one bar.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, plot
    >>> X = [[1, 5], [2, 5], [3, 4], [4, 5]]
    >>> models = {f"T={T}": AdaBoostClassifier(T).fit(X, [0, 1, 0, 1]) for T in (1, 2)}
    >>> ax = plot.gap_decomposition(models, X, ["a", "a", "b", "b"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['total', 'x1', 'x0']
    """
    if isinstance(models, Mapping):
        gaps = explain.compare_gaps(models, X, sensitive_features, groups=groups, sample_weight=sample_weight)
        one = next(iter(models.values()))
        pair = explain.gap_decomposition(one, X, sensitive_features, groups=groups).columns[0]
    else:
        gaps = explain.gap_decomposition(models, X, sensitive_features, groups=groups, sample_weight=sample_weight)
        pair = gaps.columns[0]
        if gaps.shape[1] > 1:  # all are compared with the same group: say so once
            first = group_name(read_groups(sensitive_features, len(to_pandas(X)))[1][0])
            pair = f"group − {first}"
            gaps.columns = gaps.columns.str.removesuffix(f" − {first}")
    *parts, (total, totals) = zip(gaps.index, gaps.to_numpy().tolist(), strict=True)
    series = {str(name): METHODS.get(str(name), PALETTE[j % len(PALETTE)]) for j, name in enumerate(gaps)}
    title = "What makes the gap between the groups"
    return draw(_chart.gap(total, totals, parts, series, top, x=f"difference in mean score ({pair})", title=title), ax)


@documented()
def group_bars(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Who is found (true positive rate), left alone (true negative rate) and predicted positive in each group.

    Examples
    --------
    >>> from parityboost import plot
    >>> ax = plot.group_bars([1, 0, 1, 0], [1, 1, 0, 0], list("mmff"))
    >>> [float(bar.get_width()) for bar in ax.patches]  # f and m, for each of the three rates
    [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    """
    table = group_table(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    ).iloc[:-1]
    n_groups = len(table)
    roles = _chart.group_roles(n_groups)
    marks: list[Any] = []
    for (top, places), (column, name) in zip(_chart.blocks([n_groups] * len(RATES)), RATES.items(), strict=True):
        rates = table[column].to_numpy()
        texts = ["not defined" if np.isnan(rate) else f"{rate:.2f}" for rate in rates]
        marks += [Word(0, top, name, heading=True), Bars(rates, roles, texts, places, thickness=0.8)]
    at = [place for mark in marks if isinstance(mark, Bars) for place in mark.at]
    names = Axis(names=[*table.index] * len(RATES), at=at)
    return draw(Chart(marks, Axis(bounds=(0.0, 1.0)), names, title="Rates by group"), ax)


@documented()
def reliability(
    y_true: Any,
    probabilities: Any,
    sensitive_features: Any = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """How often what is predicted with a probability comes true, in tenths of the rows, for all or for each group.

    On the dotted line, of 100 rows with a probability of 0.3, 30 are positive. The lines at each point are intervals of
    95 % confidence.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, two different ones.
    probabilities : array-like of shape (n_samples,)
        The probability of the positive class, such as ``model.predict_proba(X)[:, 1]``.
    sensitive_features : array-like, Series or DataFrame, optional
        The group of each instance, for a line per group; several columns are crossed.

    Examples
    --------
    >>> from parityboost import plot
    >>> ax = plot.reliability([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9])
    >>> [line.get_ydata().tolist() for line in ax.lines][0]
    [0.0, 1.0]
    """
    # An audit compares groups: where there are none, everybody is in both.
    n = len(y_true)
    options: dict[str, Any] = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
    if sensitive_features is None:
        y_true, probabilities = (pd.concat([pd.Series(np.asarray(v))] * 2) for v in (y_true, probabilities))
        options["sensitive_features"] = np.repeat(["all", "all again"], n)
        if sample_weight is not None:
            options["sample_weight"] = np.tile(sample_weight, 2)
    # Which labels are predicted makes no difference to the scores.
    found = audit(y_true, y_true, scores=probabilities, positive_label=pos_label, **options)
    assert found.reliability is not None
    table: pd.DataFrame = found.reliability
    table = table[table["attribute"] == table["attribute"].iloc[-1]]  # the last one is all of them, crossed
    alone, groups = sensitive_features is None, table["group"].nunique()
    some = f" ({len(GROUP_ROLES)} of {groups} groups)" if groups > len(GROUP_ROLES) else ""
    roles, title = ["ours"] if alone else GROUP_ROLES, f"Predicted, and come true{some}"
    x, y = (Axis(name, range=(0.0, 1.0)) for name in ("mean probability", "share that is positive"))
    return draw(_chart.reliability(table.to_dict("records"), roles, x=x, y=y, title=title, legend=not alone), ax)


@documented(model=ONE_TRAINING)
def history(model: AdaFairClassifier, *, ax: Axes | None = None) -> Axes:
    """Error, violation of the notion and their sum, the objective, after each round, with the chosen θ.

    Of error and balanced error those are drawn that the objective is made of: balanced error if ``c`` is 1. Solid lines
    are on the data that θ was chosen on, thin dashed ones on the training data if that was other data.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, plot
    >>> model = AdaBoostClassifier(2).fit([[1], [2], [3], [4]], [0, 1, 0, 1])
    >>> ax = plot.history(model)
    >>> len(ax.get_lines()[0].get_xdata())  # one point per round
    2
    """
    check_one_training(model)
    settings, selection = model.about_.settings, selection_part(model)
    measures = ["er", "ber"]
    if settings.notion.gaps:
        measures = [*(["er"] if settings.c < 1 else []), *(["ber"] if settings.c > 0 else []), "violation", "objective"]
    rounds = model.history_.index.to_numpy()
    marks: list[Any] = []
    for measure in measures:
        name, colour = MEASURES[measure]
        for part in dict.fromkeys([selection, "train"]):
            values, chosen = model.history_[f"{part}_{measure}"].to_numpy(), part == selection
            look = ("solid", 1.8) if chosen else ("dash", 0.9)
            marks.append(Line(rounds, values, colour, f"{part} {name}", *look, end=name if chosen else ""))
    title = f"Measures on {DATA[selection]}" + ("" if selection == "train" else " (dashed: training data)")
    return draw(_over_rounds(model, marks, Axis(from_zero=True), title), ax)


@documented(model=ONE_TRAINING)
def costs(model: AdaFairClassifier, *, ax: Axes | None = None) -> Axes:
    """The differences between groups after each round, which the fairness-related costs are taken from.

    With two groups, the rate of the second minus that of the first: the group with the higher error is boosted in the
    next round. With more groups, the largest rate minus the smallest. The grey band is the tolerance ε.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[1], [2], [3], [4]], [0, 1, 0, 1]
    >>> model = AdaFairClassifier("equal_opportunity", n_estimators=2, validation_fraction=None)
    >>> ax = plot.costs(model.fit(X, y, sensitive_features=list("aabb")))
    >>> ax.get_lines()[0].get_label()
    'δ fnr'
    """
    check_one_training(model)
    _check_notion(model, "costs")
    settings = model.about_.settings
    rounds = model.history_.index.to_numpy()
    marks: list[Any] = []
    views = [f"[{view.name}]" for view in settings.notion.views] or [""]
    for j, (gap, view) in enumerate(product(settings.notion.gaps, views)):
        values, colour = model.history_[f"delta_{gap.name}{view}"].to_numpy(), PALETTE[j % len(PALETTE)]
        ends = f"δ {gap.name.upper()}{view}"
        marks.append(Line(rounds, values, colour, f"δ {gap.name}{view}", width=1.5, end=ends))
    groups = group_names(model.groups_)
    alone = len(groups) == 2 and views == [""]
    pair = f"{groups[1]} − {groups[0]}" if alone else "largest − smallest of the groups"
    what = "the partial ensemble" if settings.cumulative else "the single learner"
    title = f"Differences between groups, of {what} on training data"
    return draw(_over_rounds(model, [*marks, Rule(y=0.0, band=settings.epsilon)], Axis(pair), title), ax)


@documented(model=ONE_TRAINING)
def tradeoff_c(model: AdaFairClassifier, values: Iterable[float] | None = None, *, ax: Axes | None = None) -> Axes:
    """Error, balanced error and violation at the θ that each value of ``c`` would choose; nothing is trained again.

    See :func:`parityboost.explain.choices_over_c`.

    Parameters
    ----------
    values : iterable of float, optional
        Values of c between 0 and 1; 0, 0.1, …, 1 by default.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[1], [2], [3], [4]], [0, 1, 0, 1]
    >>> model = AdaFairClassifier(n_estimators=2, validation_fraction=None)
    >>> ax = plot.tradeoff_c(model.fit(X, y, sensitive_features=list("aabb")), [0, 1])
    >>> [line.get_label() for line in ax.get_lines()]
    ['error', 'balanced error', 'violation']
    """
    choices = explain.choices_over_c(model, values).sort_values("c")
    if choices.empty:
        raise ValueError("values is empty: pass values of c between 0 and 1")
    c = choices["c"].to_numpy()
    marks = []
    for measure in ("er", "ber", "violation"):
        name, colour = MEASURES[measure]
        marks.append(Line(c, choices[measure].to_numpy(), colour, name, width=1.5, dots=True, end=name))
    # At most eleven ticks, so that θ can be read below each.
    shown = np.unique(np.linspace(0, len(c) - 1, min(len(c), 11)).round().astype(int))
    ticks = [f"{c[i]:.3g}\nθ={choices['theta'].iloc[i]}" for i in shown]
    x = Axis("c  (0: θ by error, 1: θ by balanced error)", ticks, c[shown], bounds=(c[0], c[-1]))
    title = f"What the choice of c changes, on {DATA[selection_part(model)]}"
    return draw(Chart(marks, x, Axis(from_zero=True), title=title), ax)


@documented(model=ONE_TRAINING)
def tradeoff_theta(model: AdaFairClassifier, *, ax: Axes | None = None) -> Axes:
    """Balanced error against violation along the rounds, with the chosen θ.

    The rounds grow darker. With ``c=1`` all points on the dashed line through θ have the same objective.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[1], [2], [3], [4]], [0, 1, 0, 1]
    >>> model = AdaFairClassifier(n_estimators=2, validation_fraction=None)
    >>> ax = plot.tradeoff_theta(model.fit(X, y, sensitive_features=list("aabb")))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('violation (disparate mistreatment)', 'balanced error')
    """
    check_one_training(model)
    _check_notion(model, "trade-off")
    selection = selection_part(model)
    violation, ber = (model.history_[f"{selection}_{name}"].to_numpy() for name in ("violation", "ber"))
    theta = model.theta_ - 1
    here = violation[theta], ber[theta]
    marks: list[Any] = [
        Line(violation, ber, "grid", width=0.8),
        Points(violation, ber, "ours", shades=model.history_.index),
        Points([here[0]], [here[1]], "down", "ring", 11),
        Word(*here, f"θ = {model.theta_}", "down"),
        *(Word(violation[at], ber[at], f"round {at + 1}") for at in sorted({0, len(ber) - 1} - {theta})),
    ]
    if model.about_.settings.c == 1:
        marks.append(Rule(*here, dash="dash"))
    title = f"Balanced error against unfairness, round by round, on {DATA[selection]}"
    return draw(_trade_off(model, marks, title), ax)


@documented()
def frontier(
    model: AdaFairClassifier,
    X: Any = None,
    y: Any = None,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    top: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """The choices of blend (or θ) and threshold that no other beats, that of ``fit``, and the lowest objective.

    Some points are numbered along the curve; the numbers are the row labels of ``frontier``, so a point is chosen with
    ``row = model.frontier().loc[7]`` and ``model.choose(fairness=row.fairness, threshold=row.threshold)``. For the
    paper's class it is ``model.set_theta(row.theta)`` and ``model.set_threshold(row.threshold)``.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model.
    X, y, sensitive_features, sample_weight :
        The data to measure on, as for :meth:`AdaFairClassifier.frontier`; by default those that θ was chosen on.
    top : int, default=6
        How many points to number at most.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[1], [2], [3], [4]], [0, 1, 0, 1]
    >>> model = AdaFairClassifier(n_estimators=2, validation_fraction=None)
    >>> ax = plot.frontier(model.fit(X, y, sensitive_features=list("aabb")))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('violation (disparate mistreatment)', 'balanced error')
    """
    check_model(model)
    _check_notion(model, "trade-off")
    points = model.frontier(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
    violation, ber = points["violation"], points["ber"]
    line = points[violation == violation.cummin()]  # what fit chose may be beaten
    best = points.iloc[int(points["objective"].argmin())]
    # Even steps along the axis: along the table they would crowd where the points do.
    nearest = [int((violation - step).abs().argmin()) for step in np.linspace(violation.min(), violation.max(), top)]
    numbered = dict.fromkeys([*nearest[:1], *nearest[-1:], *nearest])  # the ends first
    marks = [
        Line(line["violation"].to_numpy(), line["ber"].to_numpy(), "grid", width=1, steps=True),
        Points(violation, ber, "ours"),
        Points([best["violation"]], [best["ber"]], "down", "ring", 11),
        Word(best["violation"], best["ber"], f"lowest objective{_choice(best, ': ')}", "down"),
    ]
    for k, at in enumerate(numbered):
        row = points.iloc[at]
        marks.append(Word(row["violation"], row["ber"], f"{points.index[at]}{_choice(row, ': ')}", optional=k > 1))
    title = f"What {'θ' if 'theta' in points else 'blend'} and threshold can reach"
    return draw(_trade_off(model, marks, title), ax)


def _choice(row: Any, before: str) -> str:
    """What a row of a frontier chooses beside the threshold: θ. The weight of a blend says nothing to people."""
    return f"{before}θ = {row['theta']:.0f}" if "theta" in row else ""


def _check_notion(model: AdaFairClassifier, drawn: str) -> None:
    notion = model.about_.settings.notion
    if not notion.gaps:
        raise ValueError(f"{type(model).__name__} has no {drawn} to draw: its notion is {notion.name!r}")


def _trade_off(model: AdaFairClassifier, marks: list[Any], title: str) -> Chart:
    violation = f"violation ({model.about_.settings.notion.name.replace('_', ' ')})"
    return Chart(marks, Axis(violation), Axis("balanced error"), title=title, inches=4.8)


def _over_rounds(model: AdaFairClassifier, marks: list[Any], y: Axis, title: str) -> Chart:
    if model.about_.settings.choose_theta:
        marks.append(Rule(x=model.theta_, dash="dash", text=f"θ = {model.theta_}"))
    return Chart(marks, Axis("round", range=(1, max(model.n_estimators_, 2)), whole=True), y, title=title)
