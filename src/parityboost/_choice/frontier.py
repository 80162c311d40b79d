"""All that a fitted model can be without refitting: every θ with every threshold, and the best of these points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats
from .._stats.rates import balanced_error_rate, error_rate
from ..notions import FairnessNotion
from .thresholds import SelectionData as SelectionData
from .thresholds import candidates, undominated
from .wishes import SAME_OBJECTIVE, Settings

Points = dict[str, NDArray[Any]]  # columns of a table; plain arrays, which any format can store


Chosen = tuple[int, Any]  # θ and threshold, or an array with one per group


def frontier(
    selection: SelectionData,
    notion: FairnessNotion,
    c: float,
    group_thresholds: Floats | None = None,
    chosen: Chosen | None = None,
) -> Points:
    """The points (θ, threshold) that no other beats in error and violation, by error: c·balanced error + (1 - c)·error.

    ``group_thresholds[round, group]``, if given, adds to the thresholds common to all groups those of each round
    together with all shifts that are common to all groups; ``threshold`` then has a column per group. The point that
    was ``chosen`` is there even if it is beaten: by a threshold that could not be chosen, say.
    """
    group, totals = selection.cell % selection.n_groups, selection.totals
    common = np.zeros(selection.n_groups)
    wanted = Settings(notion, c=c)
    parts: list[Points] = []
    own: Points | None = None
    for j, margin in enumerate(selection.margins()):
        for base in [common] if group_thresholds is None else [common, group_thresholds[j]]:
            shifted = margin if base is common else margin - base[group]
            found = candidates(shifted, selection.cell, selection.weight, totals, ends=True)
            measures = found.measures(wanted, 1.0)
            error = measures.objective - measures.violation
            best = undominated(error, measures.violation, np.abs(found.thresholds))
            thresholds = found.thresholds[best]
            thresholds = thresholds if group_thresholds is None else base + thresholds[:, None]
            parts.append(points_of(j + 1, thresholds, found.counts(best), notion, c))
        if chosen is not None and chosen[0] == j + 1:
            threshold = chosen[1]
            of_rows = threshold[group] if np.ndim(threshold) else threshold
            own = chosen_point(chosen, selection.counts(margin > of_rows), notion, c)
    return best_points(parts, c, own)


def best_points(parts: list[Points], c: float, own: Points | None = None) -> Points:
    """Of several lists of points those that no other beats, and the one that was chosen."""
    points = _joined(parts)
    front = _at(points, undominated(_error(points, c), points["violation"]))
    if own is None:
        return front
    is_same = np.abs(_error(front, c) - _error(own, c)) <= SAME_OBJECTIVE
    is_same &= np.abs(front["violation"] - own["violation"]) <= SAME_OBJECTIVE
    front = _joined([own, _at(front, ~is_same)])  # of equals the one that was chosen
    return _at(front, np.argsort(_error(front, c), kind="stable"))


def chosen_point(chosen: Chosen, counts: Floats, notion: FairnessNotion, c: float) -> Points:
    """The one point that was chosen, by its ``counts[group, y_true, y_pred]``."""
    theta, threshold = chosen
    return points_of(theta, np.asarray(threshold)[None], counts[None], notion, c)


def points_of(theta: Any, thresholds: Floats, counts: Floats, notion: FairnessNotion, c: float) -> Points:
    """Options with their measures, by their counts."""
    return {
        "theta": np.broadcast_to(theta, len(thresholds)),
        "threshold": thresholds,
        "ber": balanced_error_rate(counts),
        "er": error_rate(counts),
        "violation": notion.violation(counts),
        "objective": notion.objective(counts, c),
        **notion.by_view(counts),
    }


def _error(points: Points, c: float) -> Floats:
    error: Floats = c * points["ber"] + (1.0 - c) * points["er"]
    return error


def _at(points: Points, places: Any) -> Points:
    return {name: values[places] for name, values in points.items()}


def _joined(parts: list[Points]) -> Points:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def as_table(points: Points, groups: list[Any]) -> pd.DataFrame:
    """The points as a table, a threshold per group as a dictionary."""
    thresholds: Any = points["threshold"]
    if thresholds.ndim > 1:
        thresholds = [dict(zip(groups, row, strict=True)) for row in thresholds]
    return pd.DataFrame({**points, "threshold": thresholds})
