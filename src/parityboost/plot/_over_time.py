"""Gaps over time with their control limits, a panel per group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import install
from ._chart import ROLES, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..audit import AuditOverTime

MOST = 6  # groups: those with alarms first, then the largest
TICKS = 8  # periods that are named


def over_time(found: AuditOverTime, *, groups: list[str] | None = None) -> Axes:
    """The gap of each group in each period, with its interval, its control limits, and its alarms.

    Parameters
    ----------
    found : AuditOverTime
        What :func:`parityboost.audit.audit_over_time` found.
    groups : list of str, optional
        The groups to draw; by default those with alarms and the largest others, six at most.

    Returns
    -------
    Axes
        The last panel; its figure has all.

    Examples
    --------
    >>> import pandas as pd
    >>> from parityboost import plot
    >>> from parityboost.audit import audit_over_time
    >>> days = pd.date_range("2024-01-01", periods=720).repeat(20)
    >>> teams, chosen = ["red", "blue"] * 7200, [1, 0, 0, 1] * 3600
    >>> ax = plot.over_time(audit_over_time(chosen, by=days, sensitive_features=teams))
    >>> ax.get_title(loc="left")
    'red'
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"parityboost.plot needs matplotlib: {install('plot')}") from error
    known = list(dict.fromkeys(found.periods["group"]))
    if groups is None:
        sizes = found.periods.groupby("group")["n"].sum().sort_values(ascending=False, kind="stable")
        chosen = list(dict.fromkeys([*found.alarms["group"], *sizes.index]))[:MOST]
        groups = [group for group in known if group in chosen]
    unknown = [group for group in groups if group not in known]
    if unknown or not groups:
        raise ValueError(f"groups must be some of {', '.join(map(repr, known))}, got {groups!r}")
    height = 0.9 + 1.7 * len(groups)
    figure, panels = plt.subplots(
        len(groups), 1, figsize=(8.5, height), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    periods = found.periods["period"].drop_duplicates().tolist()
    for ax, group in zip(panels[:, 0], groups, strict=True):
        _panel(ax, found.periods[found.periods["group"] == group], group)
    last: Any = panels[-1, 0]
    shown = np.arange(len(periods) - 1, -1, -max(len(periods) // TICKS, 1))[::-1]  # evenly, up to the last one
    last.set_xticks(shown, [plain(periods[k]) for k in shown])
    panels[0, 0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.12), ncols=5, frameon=False, fontsize=9)
    figure.supylabel("gap to everyone else", fontsize=10)
    return last  # type: ignore[no-any-return]


def _panel(ax: Any, rows: Any, group: str) -> None:
    x, gap, limit = np.arange(len(rows)), rows["gap"].to_numpy(), rows["control_limit"].to_numpy()
    ax.spines[["top", "right"]].set_visible(False)
    ax.axhline(0, color=ROLES["grid"], linewidth=1, zorder=0)
    low, high = rows["gap_lower"].to_numpy(), rows["gap_upper"].to_numpy()
    ax.fill_between(x, low, high, color=ROLES["ours"], alpha=0.2, linewidth=0, label="interval")
    ax.plot(x, gap, color=ROLES["ours"], linewidth=1.6, label="gap")
    for side, label in ((1, "control limits"), (-1, None)):
        ax.step(x, side * limit, where="mid", color=ROLES["muted"], linestyle=(0, (4, 3)), linewidth=1, label=label)
    for kind, face, label in (("at once", ROLES["down"], "alarm"), ("added up", "white", "alarm, added up")):
        alarm = (rows["alarm"] == kind).to_numpy()
        ax.plot(x[alarm], gap[alarm], "o", color=ROLES["down"], markerfacecolor=face, markersize=4, label=label)
    ax.set_title(plain(group), loc="left", fontsize=10)
