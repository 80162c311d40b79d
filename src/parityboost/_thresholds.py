"""Thresholds to choose from, for all or per group, from cumulative counts over sorted margins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
Cost = Callable[[Floats], Floats]  # counts[…, group, y_true, y_pred] to what is to be low

# Objectives closer than this are equal, so that the first minimum wins whatever the rounding.
SAME_OBJECTIVE = 1e-12
DECIMALS = 12  # measures that agree so far are equal, whatever the rounding
# Thresholds per group are looked for among so many candidates of all groups together, evenly spaced by their rates.
# The cost of a round then does not grow with the number of rows, and closer steps would only fit noise.
MAX_CANDIDATES = 1024
# So many counts are looked at together: the thresholds of many rows and many groups need not fit into memory at once.
MAX_COUNTS = 1 << 21
# The search starts where every group has the same rate, at so many levels of it.
N_LEVELS = 101


class Candidates(NamedTuple):
    """Thresholds worth trying, ascending, and the weight at or below each, ``negatives[threshold, group, class]``."""

    thresholds: Floats
    negatives: Floats
    totals: Floats  # [group, class]

    def counts(self, at: Any = slice(None)) -> Floats:
        """``counts[threshold, group, y_true, y_pred]``, of some of the thresholds."""
        return _counts(self.negatives[at], self.totals)

    def parts(self) -> list[slice]:
        """All thresholds, so many at a time that their counts fit into memory."""
        step = max(MAX_COUNTS // (2 * self.totals.size), 1)
        return [slice(first, first + step) for first in range(0, len(self.thresholds), step)]

    def preference(self) -> Positions:
        """The candidates in the order in which equals are preferred: the nearest to 0, then the lower."""
        order: Positions = np.lexsort((self.thresholds, np.abs(self.thresholds)))
        return order


def candidates(margin: Floats, cell: NDArray[Any], weight: Floats, totals: Floats, ends: bool = False) -> Candidates:
    """0 and the midpoints between neighbouring distinct margins (0 stands for the midpoint of the two around it).

    Sorted by margin, the rows above a threshold are a suffix, so the counts for *all* thresholds are differences of
    cumulative sums. ``cell`` is class * n_groups + group, ``weight`` empty for equal weights. ``ends`` adds a threshold
    below and one above all margins.
    """
    order = np.argsort(margin, kind="stable")
    margin, cell = margin[order], cell[order]
    weight = weight[order] if len(weight) else np.ones(len(order))
    last_of_run = np.flatnonzero(margin[1:] > margin[:-1])  # a threshold lies behind each of these
    below, above = margin[last_of_run], margin[last_of_run + 1]
    thresholds = np.where((below <= 0) & (above > 0), 0.0, 0.5 * (below + above))
    n_groups = len(totals)
    negatives = np.empty((len(thresholds), n_groups, 2))
    for k in range(2 * n_groups):
        negatives[:, k % n_groups, k // n_groups] = np.cumsum(np.where(cell == k, weight, 0.0))[last_of_run]
    # Before and behind all margins; 0 is always a candidate and may be one of these.
    lowest, highest = (margin[0], margin[-1]) if len(margin) else (1.0, 1.0)
    if ends or lowest > 0:
        thresholds = np.append(0.0 if lowest > 0 else lowest - 1.0, thresholds)
        negatives = np.concatenate([np.zeros((1, n_groups, 2)), negatives])
    if ends or highest <= 0:
        thresholds = np.append(thresholds, 0.0 if highest <= 0 else highest + 1.0)
        negatives = np.concatenate([negatives, totals[None]])
    return Candidates(thresholds, negatives, totals)


def best_of(found: Candidates, cost: Floats) -> int:
    """Position of the candidate with the lowest cost; among equals the nearest to 0, then the lower."""
    preference = found.preference()
    return int(preference[first_minimum(cost[preference])])


def undominated(first: Floats, second: Floats) -> Positions:
    """Positions of the points that no other is as good as in both and better in one, by the first; of equals one.

    A point whose measure is not defined (NaN) is none.
    """
    first, second = first.round(DECIMALS), np.where(np.isnan(second), np.inf, second.round(DECIMALS))
    order = np.lexsort((second, first))  # stable: of equal points the one that comes first
    lowest = np.minimum.accumulate(np.append(np.inf, second[order]))
    kept: Positions = order[second[order] < lowest[:-1]]
    return kept


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
    return _counts(found.negatives[at, groups], found.totals), found.thresholds[at]


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
        yield at[first_minimum(cost(_counts(found.negatives[at, groups], found.totals)))]


def _descend(start: Positions, curves: list[Positions], found: Candidates, cost: Cost) -> tuple[float, Positions]:
    """Move one group's threshold at a time to its best place; the cost and the place of every threshold."""
    groups = np.arange(len(curves))
    at = start.copy()
    here = found.negatives[at, groups]
    best = float(cost(_counts(here, found.totals)[None])[0])
    best = np.inf if np.isnan(best) else best
    moved = True
    while moved:
        moved = False
        for group, curve in enumerate(curves):
            negatives = np.repeat(here[None], len(curve), axis=0)
            negatives[:, group] = found.negatives[curve, group]
            costs = cost(_counts(negatives, found.totals))
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


def _counts(negatives: Floats, totals: Floats) -> Floats:
    return np.stack([negatives, np.maximum(totals - negatives, 0.0)], axis=-1)
