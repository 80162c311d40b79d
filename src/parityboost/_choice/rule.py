"""The choice of θ and the threshold: the paper's objective, and what may not be given up for it.

Every round offers *options*: thresholds with their ``counts[group, y_true, y_pred]`` on the rows that are chosen on. At
the end one option of each round is taken, and one round. What is best depends on all rounds together, because ``keep``
refers to the lowest balanced error of the whole run, so a round keeps all options that may still win.

The best round so far, which `verbose` shows and early stopping waits for, is not chosen anew each time. A round's
options are measured once, and its best one is looked for again only if it may no longer be allowed: with ``keep``, a
lower balanced error may forbid options of rounds before. An option that is forbidden stays so and costs more, so what
was found earlier is a lower bound, and only bounds that would win have to be looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from .._arrays import Floats, Positions
from .thresholds import MAX_COUNTS, Candidates, Measured, Measures, first_minimum, joined, measure, to_counts
from .wishes import SAME_OBJECTIVE, Settings

Cost = Callable[[Floats], Floats]  # counts[…, group, y_true, y_pred] to what is to be low

# Thresholds per group are looked for among so many candidates of all groups together, evenly spaced by their rates.
# The cost of a round then does not grow with the number of rows, and closer steps would only fit noise.
MAX_CANDIDATES = 1024
# The search starts where every group has the same rate, at so many levels of it.
N_LEVELS = 101

UNKNOWN = Measures(*np.full(4, np.inf))


class Options(NamedTuple):
    """Thresholds of one round, in the order in which equals are preferred."""

    thresholds: Floats  # [option], or [option, group] if each group has its own
    counts: Floats  # [option, group, y_true, y_pred]
    plain: Measures  # of the threshold for all with the lowest balanced error; unknown if the only one is given


class Choice(NamedTuple):
    """One option of each round, and the round that is used."""

    theta: int
    thresholds: Floats  # of each round; one column per group if each has its own
    counts: Floats  # of each round
    chosen: Floats  # those of the round that is used, [group, y_true, y_pred]
    own: Measures  # its measures
    plain: Measures  # of the threshold for all and the round with the lowest balanced error


def options_among(measured: Measured, settings: Settings, unit: float, lowest_ber: float = np.inf) -> Options:
    """The options that may be the best, whatever the other rounds have to offer.

    ``lowest_ber`` is that of the rounds before: what gives up too much of it is none.
    """
    found, measures, lowest, at, counts = measured
    plain = measures.at(lowest)
    allowed = allowed_ber(settings, min(lowest_ber, float(plain.ber)))
    if settings.keep == 0:  # what is best does not depend on the other rounds
        at = np.array([best_of(found, measures.cost(settings))])
        counts = found.counts(at)
    else:
        if len(at) == 0:  # a measure that is not defined at any threshold: the last choice, but a choice
            at = np.array([lowest])
            counts = found.counts(at)
        # What keeps too little now will not keep enough later; if nothing does, the lowest balanced error counts.
        n_kept = max(np.count_nonzero(measures.ber[at] <= allowed + 2.0 * SAME_OBJECTIVE), 1)
        at, counts = at[:n_kept], counts[:n_kept].copy()  # the others need not stay in memory
    common = Options(found.thresholds[at], counts, plain)
    if settings.threshold != "per_group":
        return common

    def cost(counts: Floats) -> Floats:
        return measure(counts, settings, unit).cost(settings, allowed)

    counts, thresholds = best_group_thresholds(found, best_of(found, measures.cost(settings, allowed)), cost)
    own = Options(thresholds[None], counts[None], plain)
    if settings.keep == 0:
        return own
    same = np.repeat(common.thresholds[:, None], len(found.totals), axis=1)
    return Options(np.concatenate([own.thresholds, same]), np.concatenate([own.counts, common.counts]), plain)


def allowed_ber(settings: Settings, lowest: float) -> float:
    """The highest balanced error that keeps the share ``keep`` of the lowest one's lead over chance."""
    if settings.keep == 0:
        return np.inf
    return max(0.5 - settings.keep * (0.5 - lowest), lowest)


def best_of(found: Candidates, cost: Floats) -> int:
    """Position of the candidate with the lowest cost; among equals the nearest to 0, then the lower."""
    cost = np.where(np.isnan(cost), np.inf, cost)
    best = np.flatnonzero(cost <= cost.min() + SAME_OBJECTIVE)
    return int(best[np.argmin(np.abs(found.thresholds[best]))])  # thresholds ascend: the first of two is the lower


def best_group_thresholds(found: Candidates, common: int, cost: Cost) -> tuple[Floats, Floats]:
    """The counts at thresholds per group of a low cost, and the thresholds; as good as ``common`` for all.

    All combinations are too many. And to change one threshold at a time gets stuck: where a rate is the same in every
    group, a change in any one of them alone is a step back. So the search starts at the common threshold and, for each
    of three rates (FPR, FNR, selection rate), at the best of the points where every group has that rate; from there
    each group's threshold in turn moves to its best place, until none gets better.
    """
    curves = [_curve(found, k) for k in range(len(found.totals))]
    groups, levels = np.arange(len(curves)), np.linspace(0.0, 1.0, N_LEVELS)
    starts = [np.full(len(curves), common)]
    for classes in ([0], [1], [0, 1]):  # for each kind of rate, the best of the levels that all groups can share
        places = []
        for group, curve in enumerate(curves):
            total = found.totals[group, classes].sum()
            rate = found.negatives[curve, group][:, classes].sum(axis=1) / (total if total > 0 else 1.0)
            above = np.searchsorted(rate, levels).clip(max=len(rate) - 1)
            below = np.maximum(above - 1, 0)
            places.append(curve[np.where(levels - rate[below] < rate[above] - levels, below, above)])
        at = np.column_stack(places)
        starts.append(at[first_minimum(cost(to_counts(found.negatives[at, groups], found.totals)))])
    reached = [_descend(start, curves, found, cost) for start in starts]
    at = reached[first_minimum(np.array([lowest for lowest, _ in reached]))][1]
    return to_counts(found.negatives[at, groups], found.totals), found.thresholds[at]


def _curve(found: Candidates, group: int) -> Positions:
    """The candidates that matter for a group: of those with the same counts the preferred one, not too many of them."""
    negatives = found.negatives[:, group]
    is_new = np.append(True, (negatives[1:] > negatives[:-1]).any(axis=1))
    run = np.cumsum(is_new) - 1
    preferred = np.argsort(np.abs(found.thresholds), kind="stable")  # of equals the nearest to 0, then the lower
    _, first = np.unique(run[preferred], return_index=True)
    curve = preferred[first]
    most = max(MAX_CANDIDATES // len(found.totals), 16)
    if len(curve) > most:
        rate = (negatives[curve] / np.maximum(found.totals[group], np.finfo(float).tiny)).sum(axis=1)
        levels = np.linspace(rate[0], rate[-1], most)
        curve = curve[np.unique(np.searchsorted(rate, levels).clip(max=len(curve) - 1))]
    return curve


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


class Rounds:
    """The options of all rounds so far, the choice among them, and the best round while they come.

    ``unit`` is the number of rows that a weight of one stands for.
    """

    def __init__(self, settings: Settings, unit: float = 1.0) -> None:
        self.settings = settings
        self.options: list[Options] = []
        self._unit = unit
        self.is_given = not isinstance(settings.threshold, str)
        self._measured: list[Measures] = []  # of the options, some rounds at a time
        self._n_measured = 0  # of the rounds
        self._plain = UNKNOWN
        # What is kept of the rounds that were watched.
        self.theta = 1  # the best round so far
        self._lower_bers = [
            np.inf
        ]  # lower and lower balanced errors, from the first that none beats by more than rounding
        self._allowed = np.inf  # the highest balanced error
        self._costs = np.full(1 << 8, np.inf)  # of the best option of each round, as it was when it was looked for
        self._at: list[int] = []  # which option that is
        # With ``keep``, of each round: what was allowed then, and where the measures of its options are; and as a heap
        # the balanced errors and rounds of options whose cost is not defined as long as they are allowed.
        self._looked_at: list[float] = []
        self._places: list[tuple[Measures, int, int]] = []
        self._undefined: list[tuple[float, int]] = []

    def add(self, offered: Floats | Candidates | Measured) -> None:
        """A round: its counts at the threshold that is given, or thresholds to choose from."""
        if isinstance(offered, np.ndarray):
            self.options.append(Options(np.array([self.settings.threshold], dtype=np.float64), offered[None], UNKNOWN))
            return
        measured = offered.measured(self.settings, self._unit) if isinstance(offered, Candidates) else offered
        options = options_among(measured, self.settings, self._unit, float(self._plain.ber))
        self.options.append(options)
        self._plain = options.plain if options.plain.ber < self._plain.ber else self._plain

    def keep_first(self, n_rounds: int) -> None:
        """Forget all rounds after so many."""
        n_options = sum(len(options.counts) for options in self.options[:n_rounds])
        del self.options[n_rounds:]
        self._plain = UNKNOWN
        for options in self.options:
            self._plain = options.plain if options.plain.ber < self._plain.ber else self._plain
        if self._n_measured > n_rounds:
            self._measured, self._n_measured = [joined(self._measured).at(slice(n_options))], n_rounds

    def choose(self) -> Choice:
        """One option per round, and the round: the first of the best."""
        self.measure_new()
        settings, measures = self.settings, joined(self._measured)
        if self.is_given:  # what is given is the only threshold, and the plain one too
            self._plain = measures.at(first_minimum(measures.ber))
        cost = measures.cost(settings, allowed_ber(settings, float(self._plain.ber)))
        at = best_of_each(cost, [len(options.counts) for options in self.options])
        theta = first_minimum(cost[at]) + 1 if settings.choose_theta else len(at)
        counts, thresholds = (np.concatenate(parts)[at] for parts in list(zip(*self.options, strict=True))[1::-1])
        return Choice(theta, thresholds, counts, counts[theta - 1], measures.at(at[theta - 1]), self._plain)

    def measure_new(self) -> Measures | None:
        """The measures of the options of all rounds since the last call, many of them together and each once."""
        if self._n_measured == len(self.options):
            return None
        counts = np.concatenate([options.counts for options in self.options[self._n_measured :]])
        step = max(MAX_COUNTS // counts[0].size, 1)
        parts = [
            measure(counts[first : first + step], self.settings, self._unit) for first in range(0, len(counts), step)
        ]
        self._n_measured = len(self.options)
        self._measured.append(joined(parts))
        return self._measured[-1]

    @property
    def chosen(self) -> Floats:
        """``counts[group, y_true, y_pred]`` of the best round so far, of those that were watched."""
        counts: Floats = self.options[self.theta - 1].counts[self._at[self.theta - 1]]
        return counts

    def watch(self) -> Iterator[tuple[int, int, float]]:
        """Go through the rounds that were added since the last time: the round, the best so far, its objective."""
        settings, measures = self.settings, self.measure_new()
        if measures is None:
            return
        first = len(self._at)
        options = self.options[first:]
        sizes = [len(of.counts) for of in options]
        allowed = [np.inf] * len(sizes)
        if settings.keep > 0:
            plain = measures.ber.tolist() if self.is_given else [float(of.plain.ber) for of in options]
            allowed = [allowed_ber(settings, self._lowest_ber(ber)) for ber in plain]
        cost = measures.cost(settings, np.repeat(allowed, sizes))
        best, ends = best_of_each(cost, sizes), np.cumsum(sizes)
        self._at += (best - ends + sizes).tolist()
        if settings.keep > 0:
            self._looked_at += allowed
            self._places += [(measures, end - n, end) for end, n in zip(ends.tolist(), sizes, strict=True)]
            for option in np.flatnonzero(np.isnan(cost) & (measures.ber < np.inf)):
                place = first + int(np.searchsorted(ends, option, "right"))
                heappush(self._undefined, (-float(measures.ber[option]), place))
        n = len(self._at)
        if n > len(self._costs):
            self._costs = np.append(self._costs, np.full(n, np.inf))
        values, objectives = np.where(np.isnan(cost[best]), np.inf, cost[best]), measures.objective[best].tolist()
        for j, (value, objective, ber) in enumerate(zip(values.tolist(), objectives, allowed, strict=True), first + 1):
            may_differ = ber < self._allowed or value < self._costs[: j - 1].min(initial=np.inf) or j == 1
            self._costs[j - 1] = value
            if ber < self._allowed:
                self._allowed = ber
                while self._undefined and -self._undefined[0][0] > ber + SAME_OBJECTIVE:
                    self._look_again(heappop(self._undefined)[1])
            if not settings.choose_theta:
                self.theta = j
            elif may_differ:
                self.theta = self._first(j) + 1
            yield j, self.theta, objective

    def _lowest_ber(self, ber: float) -> float:
        """The lowest balanced error so far, with that of another round; at a given threshold the first of equals."""
        lower = self._lower_bers
        if ber < lower[-1]:
            lower.append(ber)
            while lower[0] > ber + (SAME_OBJECTIVE if self.is_given else 0.0):
                del lower[0]
        return lower[0]

    def _first(self, n: int) -> int:
        """The place of the best of n rounds. Both it and what costs least must have been looked at as things are."""
        costs = self._costs[:n]
        while True:
            places = int(costs.argmin()), first_minimum(costs)
            old = [place for place in places if self._looked_at and self._looked_at[place] > self._allowed]
            if not old:
                return places[1]
            self._look_again(old[0])

    def _look_again(self, place: int) -> None:
        """Find the best option of a round among those that are still allowed."""
        measures, start, end = self._places[place]
        cost = measures.at(slice(start, end)).cost(self.settings, self._allowed)
        self._at[place] = at = first_minimum(cost)
        self._looked_at[place] = self._allowed
        self._costs[place] = np.inf if np.isnan(cost[at]) else cost[at]


def best_of_each(cost: Floats, sizes: list[int]) -> Positions:
    """The position of the :func:`first_minimum` of each run of options, of which there are so many."""
    starts = np.cumsum([0, *sizes[:-1]])
    cost = np.where(np.isnan(cost), np.inf, cost)
    lowest = np.minimum.reduceat(cost, starts)
    good = np.flatnonzero(cost <= np.repeat(lowest, sizes) + SAME_OBJECTIVE)
    best: Positions = good[np.searchsorted(good, starts)]
    return best


def is_constant(counts: Floats) -> bool:
    """Whether everyone gets the same prediction."""
    return bool((counts.sum(axis=(-3, -2)) == 0).any())
