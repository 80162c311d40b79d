"""The best of the thresholds to choose from, for all or per group."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .._arrays import Floats, Positions
from .candidates import Candidates, to_counts

Cost = Callable[[Floats], Floats]  # counts[…, group, y_true, y_pred] to what is to be low

# Objectives closer than this are equal, so that the first minimum wins whatever the rounding.
SAME_OBJECTIVE = 1e-12
# Thresholds per group are looked for among so many candidates of all groups together, evenly spaced by their rates.
# The cost of a round then does not grow with the number of rows, and closer steps would only fit noise.
MAX_CANDIDATES = 1024
# The search starts where every group has the same rate, at so many levels of it.
N_LEVELS = 101


def best_of(found: Candidates, cost: Floats) -> int:
    """Position of the candidate with the lowest cost; among equals the nearest to 0, then the lower."""
    cost = np.where(np.isnan(cost), np.inf, cost)
    best = np.flatnonzero(cost <= cost.min() + SAME_OBJECTIVE)
    return int(best[np.argmin(np.abs(found.thresholds[best]))])  # thresholds ascend: the first of two is the lower


def undominated(first: Floats, second: Floats, third: Floats | None = None) -> Positions:
    """Positions of the points that no other is as good as in both and better in one, by the first; of equals one.

    That is the one with the lowest ``third``, or else the first of them. A point whose measure is not defined (NaN) is
    none.
    """
    from .._engine.kernels.fronts import list_front  # numba is needed only now

    third = np.zeros(len(first)) if third is None else third
    measures = (np.array(measure, dtype=np.float64) for measure in (first, second, third))  # a notion may give any kind
    places = np.empty(len(first), dtype=np.intp)
    return places[: list_front(*measures, places)]


def best_group_thresholds(found: Candidates, common: int, cost: Cost) -> tuple[Floats, Floats]:
    """The counts at thresholds per group of a low cost, and the thresholds; as good as ``common`` for all.

    All combinations are too many. And to change one threshold at a time gets stuck: where a rate is the same in every
    group, a change in any one of them alone is a step back. So the search starts at the common threshold and, for each
    of three rates (FPR, FNR, selection rate), at the best of the points where every group has that rate; from there
    each group's threshold in turn moves to its best place, until none gets better.
    """
    curves = [_curve(found, k) for k in range(len(found.totals))]
    reached = [
        _descend(start, curves, found, cost)
        for start in (np.full(len(curves), common), *_level_starts(curves, found, cost))
    ]
    at = reached[first_minimum(np.array([lowest for lowest, _ in reached]))][1]
    groups = np.arange(len(curves))
    return to_counts(found.negatives[at, groups], found.totals), found.thresholds[at]


def _curve(found: Candidates, group: int) -> Positions:
    """The candidates that matter for a group: of those with the same counts the preferred one, not too many of them."""
    negatives = found.negatives[:, group]
    is_new = np.append(True, (negatives[1:] > negatives[:-1]).any(axis=1))
    run = np.cumsum(is_new) - 1
    preferred = found.preference()
    _, first = np.unique(run[preferred], return_index=True)
    curve = preferred[first]
    most = max(MAX_CANDIDATES // len(found.totals), 16)
    if len(curve) > most:
        rate = (negatives[curve] / np.maximum(found.totals[group], np.finfo(float).tiny)).sum(axis=1)
        levels = np.linspace(rate[0], rate[-1], most)
        curve = curve[np.unique(np.searchsorted(rate, levels).clip(max=len(curve) - 1))]
    return curve


def _level_starts(curves: list[Positions], found: Candidates, cost: Cost) -> Iterator[Positions]:
    """For each kind of rate, the candidates per group at the best of the levels that all groups can share."""
    groups = np.arange(len(curves))
    levels = np.linspace(0.0, 1.0, N_LEVELS)
    for classes in ([0], [1], [0, 1]):
        places = []
        for group, curve in enumerate(curves):
            total = found.totals[group, classes].sum()
            rate = found.negatives[curve, group][:, classes].sum(axis=1) / (total if total > 0 else 1.0)
            above = np.searchsorted(rate, levels).clip(max=len(rate) - 1)
            below = np.maximum(above - 1, 0)
            places.append(curve[np.where(levels - rate[below] < rate[above] - levels, below, above)])
        at = np.column_stack(places)
        yield at[first_minimum(cost(to_counts(found.negatives[at, groups], found.totals)))]


def _descend(start: Positions, curves: list[Positions], found: Candidates, cost: Cost) -> tuple[float, Positions]:
    """Move one group's threshold at a time to its best place; the cost and the place of every threshold."""
    groups = np.arange(len(curves))
    at = start.copy()
    here = found.negatives[at, groups]
    best = float(cost(to_counts(here, found.totals)[None])[0])
    best = np.inf if np.isnan(best) else best
    moved = True
    while moved:
        moved = False
        for group, curve in enumerate(curves):
            negatives = np.repeat(here[None], len(curve), axis=0)
            negatives[:, group] = found.negatives[curve, group]
            costs = cost(to_counts(negatives, found.totals))
            place = first_minimum(costs)
            if costs[place] < best - SAME_OBJECTIVE:
                best, at[group], here = float(costs[place]), curve[place], negatives[place]
                moved = True
    return best, at


def first_minimum(values: Floats) -> int:
    """Position of the first value that no other beats by more than rounding; NaN is beaten by all others.

    An objective is NaN where a rate of the notion is defined for no group at all.
    """
    values = np.where(np.isnan(values), np.inf, values)
    return int(np.flatnonzero(values <= values.min() + SAME_OBJECTIVE)[0])
