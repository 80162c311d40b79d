"""What a model does: its step functions, one instance's score, what matters, what makes the gap between groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .. import explain
from .._model.extent import bin_edges, category_shares, drawn_range, feature_source
from .._model.shapes import OTHER
from .._table.frames import to_pandas
from .._table.inputs import group_name, read_groups
from .._table.sources import Source
from ..estimators import AdaFairClassifier
from . import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS_TITLE = 44  # letters in a line of it


def shape_function(
    model: AdaFairClassifier, feature: str | int, X: Any = None, *, top: int = 20, ax: Axes | None = None
) -> Axes:
    """What a feature adds to the score, for each of its values.

    For an average of several trainings, a band of one standard deviation to either side (or ± beside a bar) shows how
    far these differ.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.
    feature : str or int
        Name or position of the feature.
    X : DataFrame or array-like, optional
        Data to show where the instances are: as a histogram, or as shares of the categories.
    top : int, default=20
        Categories of the same score share a bar; of more bars than this, the highest and the lowest are drawn.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

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
    ax = _categories(function, source, top, ax) if function.kind == "categorical" else _steps(function, source, ax)
    # A chart of rows has less room for a title, right of the names of the rows.
    width = ROWS_TITLE if function.kind == "categorical" else 72
    _style.title(ax, f"{_style.cut(function.feature, width)}: what it adds to the score", width)
    return ax


def _steps(function: explain.ShapeFunction, source: Source | None, ax: Axes | None) -> Axes:
    ax = _style.axes(ax)
    values = np.empty(0)
    if source is not None and source.holds_numbers:  # anything else is in a column that held nothing in training
        values = source.floats(slice(None))
    present = values[~np.isnan(values)]
    low, high = drawn_range(function.thresholds, present)
    ax.axhline(0, color=_style.FAINT, linewidth=0.8, zorder=0)
    edges = [low, *function.thresholds, high]
    if function.spread is not None:
        scores, spread = np.array(function.scores), np.array(function.spread)
        ax.stairs(scores + spread, edges, baseline=scores - spread, fill=True, color=_style.UP, alpha=0.2, linewidth=0)
    ax.stairs(function.scores, edges, baseline=None, color=_style.UP, linewidth=2)
    x = high + 0.05 * (high - low)
    ax.plot(x, function.missing, "D", color=_style.DOWN, markersize=6, markerfacecolor="none", mew=1.5, clip_on=False)
    label = "missing"
    if len(present):
        # The lowest fifth of the picture is the histogram's.
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom - 0.3 * (top - bottom), top)
        density = ax.twinx()
        counts, _, _ = density.hist(present, bin_edges(present, low, high), color=_style.FAINT)
        density.set_ylim(0, 5 * np.max(counts))
        density.set_axis_off()
        ax.set_zorder(density.get_zorder() + 1)
        ax.patch.set_visible(False)
    if len(values):
        n_missing = len(values) - len(present)
        label = f"missing ({n_missing / len(values):.1%} of X)" if n_missing else "missing (none in X)"
    _style.label_ends(ax, [(x, function.missing, label, _style.DOWN)])
    ax.set_xlim(low, x)
    ax.set_xticks([tick for tick in ax.get_xticks() if low <= tick <= high])
    ax.spines["bottom"].set_bounds(low, high)
    ax.set_xlabel(_style.plain(function.feature, 60))
    ax.set_ylabel("score")
    return ax


def _categories(function: explain.ShapeFunction, source: Source | None, top: int, ax: Axes | None) -> Axes:
    """Bars per distinct score, highest first; other categories and missing values last."""
    shares = None if source is None else category_shares(function, source)
    by_score: dict[float, list[int]] = {}
    for i, score in enumerate(function.scores):
        by_score.setdefault(score, []).append(i)
    scores = sorted(by_score, reverse=True)
    if len(scores) > top:
        scores = [*scores[: top - top // 2], *scores[len(scores) - top // 2 :]]
    labels, parts = [], []
    for score in scores:
        members = by_score[score]
        if shares is not None:
            members = sorted(members, key=lambda i: -shares[i])
            parts.append(sum(shares[i] for i in members))
        labels.append(_list_of([str(function.categories[i]) for i in members]))
    labels += [OTHER, "missing"]
    drawn = [*scores, function.missing if function.other is None else function.other, function.missing]
    ax = _style.axes(ax, _style.height_of(len(labels)))
    _style.rows(ax, labels, width=44)
    colours = [_style.UP if score > 0 else _style.DOWN for score in drawn]
    bars = ax.barh(np.arange(len(drawn)), drawn, 0.7, color=colours)
    for bar, colour in zip(bars[-2:], colours[-2:], strict=True):
        bar.set(facecolor="none", edgecolor=colour, hatch="////")
    texts = [_style.signed(score) for score in drawn]
    if function.spread is not None:
        widest = [max(function.spread[i] for i in by_score[score]) for score in scores]
        texts[: len(scores)] = [f"{text} ± {apart:.2f}" for text, apart in zip(texts, widest, strict=False)]
    ax.bar_label(bars, texts, padding=3, fontsize=_style.SMALL, color=_style.QUIET)
    ax.axvline(0, color=_style.QUIET, linewidth=0.8)
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.2)
    ax.locator_params(axis="x", nbins=6)
    if shares is not None:
        parts += shares[-2:]
        for y, part in enumerate(parts):
            _in_margin(ax, y, f"{part:.1%}" if y else f"{part:.1%} of X")
    ax.set_xlabel("score")
    return ax


def _list_of(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} others"


def _in_margin(ax: Axes, y: float, text: str) -> None:
    """A word in the right margin of a row."""
    ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=_style.SMALL, color=_style.QUIET)


def waterfall(
    model: AdaFairClassifier, row: Any, *, background: Any = None, top: int = 9, ax: Axes | None = None
) -> Axes:
    """How the features of one instance add up to its score.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.
    row : DataFrame or array of one row, or Series
        The instance, ``X.iloc[[0]]`` say.
    background : DataFrame or array-like, optional
        Data to compare with: start from its mean score, and show how the instance differs from its mean contributions.
        By default start from the model's constant.
    top : int, default=9
        Number of features to show; the others are one bar.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

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
    own, start, name = parts.iloc[0, :-1], float(parts.to_numpy()[0, -1]), str(parts.columns[-1])
    if background is not None:
        mean = explain.contributions(model, background).mean()
        own, start, name = own - mean[own.index], float(mean.sum()), "mean score"
    values = row.iloc[0] if isinstance(row, pd.DataFrame) else pd.Series(list(row[0]))
    shown = {
        feature: f"{_style.cut(feature, 40)} = {_style.cut(_value(value), 22)}"
        for feature, value in zip(own.index, values, strict=False)  # pairs of features come after the features
    }
    own = _top_and_rest(own.to_frame("score"), top)["score"]
    ends = start + np.cumsum(own.to_numpy())
    score = float(model._score_of(row)[0])

    ax = _style.axes(ax, _style.height_of(len(own) + 2))
    _style.rows(ax, [name, *(shown.get(feature, feature) for feature in own.index), "score"])
    at = 1 + np.arange(len(own))
    colours = [_style.UP if part > 0 else _style.DOWN for part in own]
    bars = ax.barh(at, own, 0.7, left=ends - own, color=colours)
    ax.bar_label(bars, [_style.signed(part) for part in own], padding=3, fontsize=_style.SMALL, color=_style.QUIET)
    for y, end in enumerate([start, *ends]):
        ax.plot([end, end], [y, y + 1], color=_style.QUIET, linewidth=0.8, zorder=0)
    for y, total in ((0, start), (len(own) + 1, score)):
        ax.plot(total, y, "o", color="black", markersize=6)
        ax.annotate(_style.signed(total), (total, y), (7, 0), textcoords="offset points", va="center")
    ax.axvline(0, color=_style.FAINT, linewidth=0.8, zorder=0)
    ax.spines["left"].set_visible(False)
    ax.use_sticky_edges = False
    ax.margins(x=0.15)
    ax.set_xlabel(_style.plain(f"score (above 0: {model.positive_})"))
    _style.title(ax, f"Predicted class: {model.predict(row)[0]}", ROWS_TITLE)
    return ax


def _value(value: Any) -> str:
    if pd.isna(value):
        return "missing"
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else str(value)


def importances(
    model: AdaFairClassifier, X: Any = None, *, sample_weight: Any = None, top: int = 15, ax: Axes | None = None
) -> Axes:
    """The features that matter most: by their share of the weights α, or by their effect on the scores of X.

    See :func:`parityboost.explain.importances`.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.
    X : DataFrame or array-like of shape (n_samples, n_features), optional
        Instances to measure the effect on the score on.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance of X.
    top : int, default=15
        Number of features to show.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, plot
    >>> model = AdaBoostClassifier(1).fit([[1, 5], [2, 5], [3, 5], [4, 5]], [0, 0, 1, 1])
    >>> ax = plot.importances(model)
    >>> [float(bar.get_width()) for bar in ax.patches]
    [1.0]
    """
    table = explain.importances(model, X, sample_weight=sample_weight)
    by = table.columns[-1]
    used = table.loc[table[by] > 0, [by]]
    shown = used.iloc[:top]
    ax = _style.axes(ax, _style.height_of(len(shown)))
    _style.bars(ax, shown, "{:.2f}".format)
    ax.set_xlim(left=0)
    ax.set_xlabel("share of the weights of all rules" if X is None else "how far it moves the score, on average")
    most = "The" if len(shown) == len(used) else f"The first {len(shown)} of the"
    _style.title(ax, f"{most} {len(used)} {explain.kinds_of(table.index)} used, of {len(table)}", ROWS_TITLE)
    return ax


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
    X : DataFrame or array-like of shape (n_samples, n_features)
        The instances.
    sensitive_features : array-like, Series or DataFrame
        The group of each instance; several columns are crossed, and groups are then tuples.
    groups : tuple of two groups, optional
        The difference is the mean score of the second minus that of the first. By default every group is compared with
        the first one in sorted order.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance.
    top : int, default=10
        Number of features to show; the others are one bar.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

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
    parts = gaps.iloc[:-1]
    shown = pd.concat([gaps.iloc[-1:], _top_and_rest(parts[(parts != 0).any(axis=1)], top)])
    ax = _style.axes(ax, _style.height_of(len(shown), shown.shape[1]))
    _style.bars(ax, shown, _style.signed)
    ax.axhline(0.5, color=_style.FAINT, linewidth=0.8)
    ax.set_xlabel(_style.plain(f"difference in mean score ({pair})"))
    _style.title(ax, "What makes the gap between the groups", ROWS_TITLE)
    return ax


def _top_and_rest(table: pd.DataFrame, top: int) -> pd.DataFrame:
    """The rows of largest size, and the sum of all others in one row; nothing is left out of the sum."""
    order = np.argsort(-table.abs().max(axis=1).to_numpy(), kind="stable")
    table = table.iloc[order]
    if len(table) <= top + 1:
        return table
    others = table.iloc[top:]
    rest = others.sum().to_frame(f"{len(others)} other {explain.kinds_of(map(str, others.index))}").T
    return pd.concat([table.iloc[:top], rest])
