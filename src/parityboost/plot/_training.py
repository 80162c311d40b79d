"""Training, round by round, and the choices it leaves open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain
from .._table.inputs import group_names
from ..estimators import AdaFairClassifier
from . import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"er": "error", "ber": "balanced error", "violation": "violation", "objective": "objective"}
COLOURS = {"er": "#E69F00", "ber": "#0072B2", "violation": "#D55E00", "objective": "#000000"}


def history(model: AdaFairClassifier, *, ax: Axes | None = None) -> Axes:
    """Error, violation of the notion and their sum, the objective, after each round, with the chosen θ.

    Of error and balanced error those are drawn that the objective is made of: balanced error if ``c`` is 1. Solid lines
    are on the data that θ was chosen on, thin dashed ones on the training data if that was other data.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of one training; a :class:`~parityboost.ParityBoostClassifier` averages several.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, plot
    >>> model = AdaBoostClassifier(2).fit([[1], [2], [3], [4]], [0, 1, 0, 1])
    >>> ax = plot.history(model)
    >>> len(ax.get_lines()[0].get_xdata())  # one point per round
    2
    """
    explain.check_one_training(model)
    settings, selection = model._fitted, explain.selection_part(model)
    if settings.notion.gaps:
        measures = [*(["er"] if settings.c < 1 else []), *(["ber"] if settings.c > 0 else []), "violation", "objective"]
    else:
        measures = ["er", "ber"]
    ax = _style.axes(ax)
    rounds, ends = model.history_.index.to_numpy(), []
    for measure in measures:
        values = model.history_[f"{selection}_{measure}"].to_numpy()
        ax.plot(rounds, values, color=COLOURS[measure], linewidth=1.8, label=f"{selection} {NAMES[measure]}")
        ends.append((rounds[-1], values[-1], NAMES[measure], COLOURS[measure]))
        if selection != "train":
            trained = model.history_[f"train_{measure}"].to_numpy()
            ax.plot(rounds, trained, "--", color=COLOURS[measure], linewidth=0.9, label=f"train {NAMES[measure]}")
    _over_rounds(ax, model)
    ax.set_ylim(bottom=0)
    _style.label_ends(ax, ends)
    data = "training data" if selection == "train" else "validation data (dashed: training data)"
    _style.title(ax, f"Measures on {data}")
    return ax


def costs(model: AdaFairClassifier, *, ax: Axes | None = None) -> Axes:
    """The differences between groups after each round, which the fairness-related costs are taken from.

    With two groups, the rate of the second minus that of the first: the group with the higher error is boosted in the
    next round. With more groups, the largest rate minus the smallest. The grey band is the tolerance ε.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of one training; a :class:`~parityboost.ParityBoostClassifier` averages several.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[1], [2], [3], [4]], [0, 1, 0, 1]
    >>> model = AdaFairClassifier("equal_opportunity", n_estimators=2, validation_fraction=None)
    >>> ax = plot.costs(model.fit(X, y, sensitive_features=list("aabb")))
    >>> ax.get_lines()[0].get_label()
    'δ fnr'
    """
    explain.check_one_training(model)
    settings = model._fitted
    if not settings.notion.gaps:
        raise ValueError(f"{type(model).__name__} has no costs to draw: its notion is {settings.notion.name!r}")
    ax = _style.axes(ax)
    rounds, ends = model.history_.index.to_numpy(), []
    for j, gap in enumerate(settings.notion.gaps):
        values, colour = model.history_[f"delta_{gap.name}"].to_numpy(), _style.PALETTE[j % len(_style.PALETTE)]
        ax.plot(rounds, values, color=colour, linewidth=1.5, label=f"δ {gap.name}")
        ends.append((rounds[-1], values[-1], f"δ {gap.name.upper()}", colour))
    if settings.epsilon > 0:
        ax.axhspan(-settings.epsilon, settings.epsilon, color=_style.FAINT, alpha=0.6, linewidth=0, zorder=0)
    ax.axhline(0, color=_style.QUIET, linewidth=0.8, zorder=0)
    _over_rounds(ax, model)
    _style.label_ends(ax, ends)
    groups = group_names(model.groups_)
    pair = f"{groups[1]} − {groups[0]}" if len(groups) == 2 else "largest − smallest of the groups"
    ax.set_ylabel(_style.plain(pair, 40))
    what = "the partial ensemble" if settings.cumulative else "the single learner"
    _style.title(ax, f"Differences between groups, of {what} on training data")
    return ax


def tradeoff_c(model: AdaFairClassifier, values: Iterable[float] | None = None, *, ax: Axes | None = None) -> Axes:
    """Error, balanced error and violation at the θ that each value of ``c`` would choose; nothing is trained again.

    See :func:`parityboost.explain.choices_over_c`.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of one training; a :class:`~parityboost.ParityBoostClassifier` averages several.
    values : iterable of float, optional
        Values of c between 0 and 1; 0, 0.1, …, 1 by default.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

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
    ax = _style.axes(ax)
    c, ends = choices["c"].to_numpy(), []
    for measure in ("er", "ber", "violation"):
        at, colour = choices[measure].to_numpy(), COLOURS[measure]
        ax.plot(c, at, color=colour, linewidth=1.5, marker="o", markersize=4, label=NAMES[measure])
        ends.append((c[-1], at[-1], NAMES[measure], colour))
    ax.set_ylim(bottom=-0.02 * ax.get_ylim()[1])  # a violation of 0 is not to hide in the axis
    ax.spines["bottom"].set_bounds(c[0], c[-1])
    _style.label_ends(ax, ends)
    # At most eleven ticks, so that θ can be read below each.
    shown = np.unique(np.linspace(0, len(c) - 1, min(len(c), 11)).round().astype(int))
    ax.set_xticks(c[shown], [f"{c[i]:.3g}\nθ={choices['theta'].iloc[i]}" for i in shown], fontsize=_style.SMALL)
    ax.set_xlabel("c  (0: θ by error, 1: θ by balanced error)")
    where = "validation" if explain.selection_part(model) == "validation" else "training"
    _style.title(ax, f"What the choice of c changes, on {where} data")
    return ax


def tradeoff_theta(model: AdaFairClassifier, *, ax: Axes | None = None) -> Axes:
    """Balanced error against violation along the rounds, with the chosen θ.

    The rounds grow darker. With ``c=1`` all points on the dashed line through θ have the same objective.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of one training; a :class:`~parityboost.ParityBoostClassifier` averages several.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[1], [2], [3], [4]], [0, 1, 0, 1]
    >>> model = AdaFairClassifier(n_estimators=2, validation_fraction=None)
    >>> ax = plot.tradeoff_theta(model.fit(X, y, sensitive_features=list("aabb")))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('violation (disparate mistreatment)', 'balanced error')
    """
    explain.check_one_training(model)
    settings, selection = model._fitted, explain.selection_part(model)
    if not settings.notion.gaps:
        raise ValueError(f"{type(model).__name__} has no trade-off to draw: its notion is {settings.notion.name!r}")
    violation, ber = (model.history_[f"{selection}_{name}"].to_numpy() for name in ("violation", "ber"))
    ax = _style.axes(ax, 4.8)
    ax.plot(violation, ber, color=_style.FAINT, linewidth=0.8, zorder=1)
    ax.scatter(violation, ber, c=model.history_.index, cmap="cividis_r", s=18, linewidths=0, zorder=2)
    theta = model.theta_ - 1
    ax.plot(violation[theta], ber[theta], "o", markersize=11, markerfacecolor="none", markeredgecolor="#D55E00", mew=2)
    if settings.c == 1:
        ax.axline((violation[theta], ber[theta]), slope=-1, color=_style.QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    for at in {0, len(ber) - 1} - {theta}:
        _point_label(ax, violation[at], ber[at], f"round {at + 1}", _style.QUIET, 1)
    # Where there is room: no point is below and left of the one with the lowest objective.
    _point_label(ax, violation[theta], ber[theta], f"θ = {model.theta_}", "#D55E00", -1)
    ax.margins(0.08)
    ax.set_xlabel(f"violation ({settings.notion.name.replace('_', ' ')})")
    ax.set_ylabel("balanced error")
    where = "validation" if selection == "validation" else "training"
    _style.title(ax, f"Balanced error against unfairness, round by round, on {where} data")
    return ax


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
    """The choices of θ (or fairness) and threshold that no other beats, that of ``fit``, and the lowest objective.

    Some points are numbered along the curve; the numbers are the row labels of :meth:`AdaFairClassifier.frontier`, so
    a point is chosen with ``row = model.frontier().loc[7]`` and ``model.set_theta(row.theta)``,
    ``model.set_threshold(row.threshold)``. A :class:`~parityboost.ParityBoostClassifier` has no θ but a fairness, for
    ``model.set_fairness(row.fairness)`` if it was fitted with ``dial=True``.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model.
    X, y, sensitive_features, sample_weight :
        The data to measure on, as for :meth:`AdaFairClassifier.frontier`; by default those that θ was chosen on.
    top : int, default=6
        How many points to number at most.
    ax : Axes, optional
        Where to draw.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, plot
    >>> X, y = [[1], [2], [3], [4]], [0, 1, 0, 1]
    >>> model = AdaFairClassifier(n_estimators=2, validation_fraction=None)
    >>> ax = plot.frontier(model.fit(X, y, sensitive_features=list("aabb")))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('violation (disparate mistreatment)', 'balanced error')
    """
    explain.check_model(model)
    notion = model._fitted.notion
    if not notion.gaps:
        raise ValueError(f"{type(model).__name__} has no trade-off to draw: its notion is {notion.name!r}")
    points = model.frontier(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
    ax = _style.axes(ax, 4.8)
    line = points[points["violation"] == points["violation"].cummin()]  # what fit chose may be beaten
    ax.step(line["violation"], line["ber"], where="pre", color=_style.FAINT, linewidth=1, zorder=1)
    ax.scatter(points["violation"], points["ber"], s=18, color="#0072B2", linewidths=0, zorder=2)
    # Even steps along the axis: along the table they would crowd where the points do.
    steps = np.linspace(points["violation"].min(), points["violation"].max(), top)
    for at in np.unique([int((points["violation"] - step).abs().argmin()) for step in steps]):
        row = points.iloc[at]
        _point_label(ax, row["violation"], row["ber"], f"{points.index[at]}: {_choice(row)}", _style.QUIET, 1)
    best = points.iloc[int(points["objective"].argmin())]
    ax.plot(
        best["violation"], best["ber"], "o", markersize=11, markerfacecolor="none", markeredgecolor="#D55E00", mew=2
    )
    _point_label(ax, best["violation"], best["ber"], f"lowest objective: {_choice(best)}", "#D55E00", -1)
    ax.margins(0.25, 0.1)
    ax.set_xlabel(f"violation ({notion.name.replace('_', ' ')})")
    ax.set_ylabel("balanced error")
    _style.title(ax, f"What {'θ' if 'theta' in points else 'fairness'} and threshold can reach")
    return ax


def _choice(row: Any) -> str:
    """What a row of a frontier chooses beside the threshold: θ, or for an average the point of its dial."""
    return f"θ = {row['theta']:.0f}" if "theta" in row else f"fairness {row['fairness']:g}"


def _point_label(ax: Axes, x: float, y: float, text: str, colour: str, side: int) -> None:
    """Text above and right of a point (side 1), or below and left (side -1)."""
    ax.annotate(
        text,
        (x, y),
        (7 * side, 7 * side),
        textcoords="offset points",
        ha="left" if side > 0 else "right",
        va="bottom" if side > 0 else "top",
        fontsize=_style.SMALL,
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
    )


def _over_rounds(ax: Axes, model: AdaFairClassifier) -> None:
    ax.set_xlim(1, max(model.n_estimators_, 2))
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("round")
    if model._fitted.choose_theta:
        _style.mark(ax, model.theta_, f"θ = {model.theta_}")
