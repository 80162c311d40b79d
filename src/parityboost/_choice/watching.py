"""The best round so far, after every round: what `verbose` shows, and what early stopping waits for.

The choice is not made anew each time. A round's options are measured once, and its best one is looked for again only if
it may no longer be allowed: with ``keep``, a lower balanced error may forbid options of rounds before. An option that
is forbidden stays so and costs more, so what was found earlier is a lower bound, and only bounds that would win have to
be looked into.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from .._arrays import Floats
from .rule import Measures, Rounds, allowed_ber, best_of_each
from .thresholds import SAME_OBJECTIVE, first_minimum


class Lowest:
    """The first of the lowest among values that come one by one and may change, without a look at all of them.

    A tree in an array: node i is the lower one of its children, 2i and 2i + 1, and the values are the leaves.
    """

    def __init__(self) -> None:
        self._n, self._width = 0, 1  # of values and of leaves
        self._nodes = [np.inf, np.inf]

    @property
    def lowest(self) -> float:
        return self._nodes[1]

    def append(self, value: float) -> None:
        """Another value; NaN is beaten by all others."""
        if self._n == self._width:
            leaves = self._nodes[self._width :]
            self._width *= 2
            self._nodes = [np.inf] * self._width + leaves + [np.inf] * len(leaves)
            for i in range(self._width - 1, 0, -1):
                self._nodes[i] = min(self._nodes[2 * i], self._nodes[2 * i + 1])
        self._n += 1
        self.change(self._n - 1, value)

    def change(self, place: int, value: float) -> None:
        """Another value in place of one."""
        nodes, i = self._nodes, self._width + place
        nodes[i] = value if value == value else np.inf
        while i > 1:
            i //= 2
            lower = min(nodes[2 * i], nodes[2 * i + 1])
            if nodes[i] == lower:
                return
            nodes[i] = lower

    def first(self, tolerance: float = SAME_OBJECTIVE) -> int:
        """The place of the first value that no other beats by more than the tolerance."""
        nodes, i = self._nodes, 1
        limit = nodes[1] + tolerance
        while i < self._width:
            i *= 2
            i += nodes[i] > limit
        return i - self._width

    def __getitem__(self, place: int) -> float:
        return self._nodes[self._width + place]


class Seen(NamedTuple):
    """The state of affairs after a round."""

    round: int
    theta: int
    objective: float  # of the round


class Watch:
    """Follows the choice among rounds while they come.

    Parameters
    ----------
    rounds : Rounds
        Where they are added.
    """

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._bers = Lowest()  # of each round, at a threshold that is given
        self._plain_ber = np.inf  # the lowest, where thresholds are chosen
        self._allowed = np.inf  # the highest balanced error
        self._costs = Lowest()  # of the best option of each round, as it was when it was looked for
        self._at: list[int] = []  # which option that is
        # With ``keep``, of each round: what was allowed then, and where the measures of its options are; and as a heap
        # the balanced errors and rounds of options whose cost is not defined as long as they are allowed.
        self._looked_at: list[float] = []
        self._measures: list[tuple[Measures, int, int]] = []
        self._undefined: list[tuple[float, int]] = []
        self.theta = 1  # the best round so far

    @property
    def chosen(self) -> Floats:
        """``counts[group, y_true, y_pred]`` of the best round so far."""
        counts: Floats = self._rounds.options[self.theta - 1].counts[self._at[self.theta - 1]]
        return counts

    def update(self) -> Iterator[Seen]:
        """Go through the rounds that were added since the last time."""
        settings, measures = self._rounds.settings, self._rounds.measure_new()
        if measures is None:
            return
        first = len(self._at)
        options = self._rounds.options[first:]
        sizes = [len(of.counts) for of in options]
        allowed = [np.inf] * len(sizes)
        if settings.keep > 0:
            plain = measures.ber.tolist() if self._rounds.is_given else [float(of.plain.ber) for of in options]
            allowed = [allowed_ber(settings, self._lowest_ber(ber)) for ber in plain]
        cost = measures.cost(settings, np.repeat(allowed, sizes))
        best, ends = best_of_each(cost, sizes), np.cumsum(sizes)
        self._at += (best - ends + sizes).tolist()
        if settings.keep > 0:
            self._looked_at += allowed
            self._measures += [(measures, end - n, end) for end, n in zip(ends.tolist(), sizes, strict=True)]
            for option in np.flatnonzero(np.isnan(cost) & (measures.ber < np.inf)):
                place = first + int(np.searchsorted(ends, option, "right"))
                heappush(self._undefined, (-float(measures.ber[option]), place))
        values, objectives = cost[best].tolist(), measures.objective[best].tolist()
        for j, (value, objective, ber) in enumerate(zip(values, objectives, allowed, strict=True), first + 1):
            may_differ = ber < self._allowed or not value >= self._costs.lowest
            self._costs.append(value)
            if ber < self._allowed:
                self._allow(ber)
            if not settings.choose_theta:
                self.theta = j
            elif may_differ:
                self.theta = self._first() + 1
            yield Seen(j, self.theta, objective)

    def _lowest_ber(self, ber: float) -> float:
        """The lowest balanced error so far, with that of another round."""
        if not self._rounds.is_given:
            self._plain_ber = min(self._plain_ber, ber)
            return self._plain_ber
        self._bers.append(ber)
        return self._bers[self._bers.first()]

    def _allow(self, ber: float) -> None:
        """Let balanced errors be at most so high, which is lower than before."""
        self._allowed = ber
        while self._undefined and -self._undefined[0][0] > ber + SAME_OBJECTIVE:
            self._look_again(heappop(self._undefined)[1])

    def _first(self) -> int:
        """The place of the best round. Both it and the one that costs least must have been looked at as things are."""
        while True:
            places = self._costs.first(0.0), self._costs.first()
            old = [place for place in places if self._looked_at and self._looked_at[place] > self._allowed]
            if not old:
                return places[1]
            self._look_again(old[0])

    def _look_again(self, place: int) -> None:
        """Find the best option of a round among those that are still allowed."""
        measures, start, end = self._measures[place]
        cost = measures.at(slice(start, end)).cost(self._rounds.settings, self._allowed)
        self._at[place] = at = first_minimum(cost)
        self._looked_at[place] = self._allowed
        self._costs.change(place, float(cost[at]))
