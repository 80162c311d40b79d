"""Predictions by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..metrics import group_table
from . import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATES = {
    "tpr": "found, of the positives",
    "tnr": "left alone, of the negatives",
    "selection_rate": "predicted positive",
}


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

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels, at most two different ones.
    sensitive_features : array-like, Series or DataFrame
        The group of each instance; several columns are crossed.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance.
    pos_label : label, optional
        The positive class. By default the larger of the two labels.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        What was drawn on.

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
    ax = _style.axes(ax, _style.height_of(len(RATES) * (n_groups + 1)))
    # Every bar has its group beside it, so colours are a help as long as there are enough of them.
    colours = _style.GROUPS[:n_groups] if n_groups <= len(_style.GROUPS) else _style.GROUPS[0]
    ticks: list[float] = []
    for i, (column, name) in enumerate(RATES.items()):
        top = i * (n_groups + 1.2)
        at = top + 1 + np.arange(n_groups)
        ticks.extend(at)
        rates = table[column].to_numpy()
        ax.annotate(name, (0, top), (3, 0), textcoords="offset points", va="center", fontsize=10, fontweight="bold")
        ax.barh(at, rates, 0.8, color=colours)
        for y, rate in zip(at, rates, strict=True):
            text, x = ("not defined", 0.0) if np.isnan(rate) else (f"{rate:.2f}", rate)
            _style.beside(ax, x, y, text)
    ax.set_yticks(ticks, [_style.plain(group, 34) for group in table.index] * len(RATES))
    ax.set_ylim(ticks[-1] + 0.6, -0.6)
    ax.set_xlim(0, 1.08)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.tick_params(axis="y", length=0)
    ax.spines["bottom"].set_bounds(0, 1)
    _style.title(ax, "Rates by group")
    return ax
