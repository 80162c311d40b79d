"""Probabilities against what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..audit import audit
from . import _style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHES = ("-", "--", "-.", ":")


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
        The probability of the positive class, such as ``model.predict_calibrated(X)[:, 1]``.
    sensitive_features : array-like, Series or DataFrame, optional
        The group of each instance, for a line per group; several columns are crossed.
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
    if sensitive_features is None:
        table = table[table["group"] == "all"]
    ax = _style.axes(ax)
    names = list(dict.fromkeys(table["group"]))
    shown = names[: len(_style.GROUPS)]
    for i, name in enumerate(shown):
        own = table[table["group"] == name]
        x, y = own["mean_score"].to_numpy(), own["observed"].to_numpy()
        below, above = y - own["observed_lower"].to_numpy(), own["observed_upper"].to_numpy() - y
        colour = _style.OURS if sensitive_features is None else _style.GROUPS[i]
        ax.errorbar(
            *(x, y, np.maximum([below, above], 0.0)),
            color=colour,
            linestyle=DASHES[i % len(DASHES)],
            marker="o",
            markersize=4,
            elinewidth=1,
            label=_style.plain(name, 34),
        )
    ax.plot([0, 1], [0, 1], color=_style.QUIET, linewidth=1, linestyle=":", zorder=0)
    if sensitive_features is not None:
        ax.legend(frameon=False, title=None if len(shown) == len(names) else f"{len(shown)} of {len(names)} groups")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_xlabel("mean probability")
    ax.set_ylabel("share that is positive")
    _style.title(ax, "Predicted, and come true")
    return ax
