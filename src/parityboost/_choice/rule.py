"""The choice of θ and the threshold: the paper's objective, and what may not be given up for it.

Every round offers *options*: thresholds with their ``counts[group, y_true, y_pred]`` on the rows that are chosen on. At
the end one option of each round is taken, and one round. What is best depends on all rounds together, because ``keep``
refers to the lowest balanced error of the whole run, so a round keeps all options that may still win.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats, Integers, Positions
from .._stats.rates import (
    balanced_error_rate,
    error_rate,
    false_negative_rate,
    false_positive_rate,
    selection_rate,
    spread,
)
from ..notions import FairnessNotion
from .candidates import MAX_COUNTS, Candidates
from .settings import Settings
from .thresholds import SAME_OBJECTIVE, best_group_thresholds, best_of, first_minimum, undominated

# A rate of so many instances counts half, the rate of everyone the other half, when `keep` is used: benchmarks/keep.py.
HALF_BELIEVED = 5.0
# The rates that a kernel counts for all thresholds at once, in its order.
COUNTED_RATES = (selection_rate, false_negative_rate, false_positive_rate)
# What is not allowed is worse than anything allowed, and a violation above the limit worse than any balanced error.
NOT_ALLOWED, ABOVE_LIMIT = 1e6, 1e3


class Measures(NamedTuple):
    """What options are compared by."""

    ber: Floats
    violation: Floats  # as it is
    judged: Floats  # the violation of shrunk rates if `keep` is used
    objective: Floats  # Eq. (16) with the violation so judged

    def at(self, places: Any) -> Measures:
        """Of some options."""
        return Measures(*(part[places] for part in self))

    def cost(self, settings: Settings, allowed: float) -> Floats:
        """What the choice minimises among options with a balanced error up to ``allowed``."""
        if settings.max_violation is None:
            cost = self.objective
        else:
            reached = self.violation <= settings.max_violation + SAME_OBJECTIVE
            cost = np.where(reached, self.ber, ABOVE_LIMIT + self.violation)
        return np.where(self.ber <= allowed + SAME_OBJECTIVE, cost, NOT_ALLOWED + self.ber)


class Measured(NamedTuple):
    """Candidates, and what each of them would give."""

    candidates: Candidates
    measures: Measures
    lowest: int  # the one with the lowest balanced error
    front: Positions  # those that no other beats in balanced error and in what they are judged by
    counts: Floats  # of these, [option, group, y_true, y_pred]


class Options(NamedTuple):
    """Thresholds of one round, in the order in which equals are preferred."""

    thresholds: Floats  # [option], or [option, group] if each group has its own
    counts: Floats  # [option, group, y_true, y_pred]
    plain: Measures  # of the threshold for all with the lowest balanced error


class Choice(NamedTuple):
    """One option of each round, and the round that is used."""

    theta: int
    thresholds: Floats  # of each round; one column per group if each has its own
    counts: Floats  # of each round
    measures: Measures  # of each round
    plain: Measures  # of the threshold for all and the round with the lowest balanced error

    @property
    def chosen(self) -> Floats:
        """``counts[group, y_true, y_pred]`` of what was chosen."""
        counts: Floats = self.counts[self.theta - 1]
        return counts


def measure(counts: Floats, settings: Settings, unit: float) -> Measures:
    """The measures of ``counts[option, …]``, in which one row counts ``1 / unit``."""
    ber, violation = balanced_error_rate(counts), settings.notion.violation(counts)
    judged = violation if settings.keep == 0 else shrunk_violation(settings.notion, counts * unit)
    return Measures(ber, violation, judged, settings.c * ber + (1.0 - settings.c) * error_rate(counts) + judged)


def shrunk_violation(notion: FairnessNotion, counts: Floats) -> Floats:
    """The violation if a rate of few instances is believed only in part.

    The largest of many noisy differences is mostly noise. So each group's rate is drawn towards the rate of everyone,
    the more so the fewer instances it is a share of: by one half if there are ``HALF_BELIEVED`` of them.
    """
    if type(notion).violation is not FairnessNotion.violation:  # a notion with a violation of its own
        return notion.violation(counts)
    total = np.zeros(counts.shape[:-3])
    for gap in notion.gaps:
        size = counts[..., list(gap.of), :].sum(axis=(-2, -1))
        common = gap.rate(counts.sum(axis=-3))[..., None]
        total = total + spread(common + size / (size + HALF_BELIEVED) * (gap.rate(counts) - common))
    return total


class Yardstick(NamedTuple):
    """What a kernel measures thresholds by: rates of our own notions, for groups that stay the same."""

    totals: Floats  # mass per cell
    kinds: Integers  # of rates, by their place in COUNTED_RATES
    belief: Floats  # [kind, group]: how far a rate is believed
    c: float

    @classmethod
    def of(cls, totals: Floats, mass_unit: float, settings: Settings, unit: float) -> Yardstick | None:
        """For groups with these ``totals[group, class]``; None if the notion has a violation or rates of its own."""
        notion = settings.notion
        rates = [gap.rate for gap in notion.gaps]
        if type(notion).violation is not FairnessNotion.violation or not all(rate in COUNTED_RATES for rate in rates):
            return None
        belief = np.ones((len(rates), len(totals)))
        if settings.keep > 0:
            for k, gap in enumerate(notion.gaps):
                size = totals[:, list(gap.of)].sum(axis=1) * unit
                belief[k] = size / (size + HALF_BELIEVED)
        kinds = np.array([COUNTED_RATES.index(rate) for rate in rates], dtype=np.int64)
        return cls(totals.T.ravel() / mass_unit, kinds, belief, float(settings.c))


def measure_candidates(found: Candidates, settings: Settings, unit: float) -> Measured:
    """The measures at each threshold: in one pass over the rows for the rates of our own notions."""
    yardstick = Yardstick.of(found.totals, found.unit, settings, unit)
    if yardstick is None:
        parts = [measure(found.counts(part), settings, unit) for part in found.parts()]
        measures = Measures(*map(np.concatenate, zip(*parts, strict=True)))
    else:
        from .._engine.kernels.thresholds import measure_thresholds  # numba is needed only now

        measures = Measures(*np.empty((4, len(found.thresholds))))
        mass = np.asarray(found.mass, dtype=np.float64)  # one type: for another the kernel would be compiled anew
        measure_thresholds(found.rows, found.cell, mass, found.n_below, *yardstick, *measures)
    front = undominated(measures.ber, measures[judged_by(settings)], np.abs(found.thresholds))
    return Measured(found, measures, first_minimum(measures.ber), front, found.counts(front))


def judged_by(settings: Settings) -> int:
    """The place, among the measures, of what may not be worse for a lower balanced error."""
    return Measures._fields.index("objective" if settings.max_violation is None else "violation")


def options_among(measured: Measured, settings: Settings, unit: float, lowest_ber: float = np.inf) -> Options:
    """The options that may be the best, whatever the other rounds have to offer.

    ``lowest_ber`` is that of the rounds before: what gives up too much of it is none.
    """
    found, measures, lowest, at, counts = measured
    plain = measures.at(lowest)
    allowed = allowed_ber(settings, min(lowest_ber, float(plain.ber)))
    if settings.is_papers:
        at = np.array([best_of(found, measures.objective)])
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
    if settings.is_papers:
        return own
    same = np.repeat(common.thresholds[:, None], len(found.totals), axis=1)
    return Options(np.concatenate([own.thresholds, same]), np.concatenate([own.counts, common.counts]), plain)


def allowed_ber(settings: Settings, lowest: float) -> float:
    """The highest balanced error that keeps the share ``keep`` of the lowest one's lead over chance."""
    if settings.keep == 0:
        return np.inf
    return max(0.5 - settings.keep * (0.5 - lowest), lowest)


class Rounds:
    """The options of all rounds so far, and the choice among them.

    ``unit`` is the number of rows that a weight of one stands for.
    """

    def __init__(self, settings: Settings, unit: float = 1.0) -> None:
        self._settings = settings
        self._unit = unit
        self._options: list[Options] = []
        self._measured: list[Measures] = []  # of the options when a choice was last made
        self._counts: list[Floats] = []  # at the one threshold that is given: measured all at once
        self._plain = Measures(*np.full(4, np.inf))

    def add_counts(self, counts: Floats) -> None:
        """A round with the counts at the threshold that is given."""
        self._counts.append(counts)

    def add_candidates(self, found: Candidates) -> None:
        """A round with thresholds to choose from."""
        self.add_measured(measure_candidates(found, self._settings, self._unit))

    def add_measured(self, measured: Measured) -> None:
        """The same if what they would give is known."""
        options = options_among(measured, self._settings, self._unit, float(self._plain.ber))
        if options.plain.ber < self._plain.ber:
            self._plain = options.plain
        self._options.append(options)

    def choose(self) -> Choice:
        """One option per round, and the round: the first of the best."""
        settings = self._settings
        if self._counts:
            counts = np.array(self._counts)
            thresholds = np.full(len(counts), settings.threshold, dtype=np.float64)
            measures, starts = measure(counts, settings, self._unit), np.arange(len(counts))
            self._plain = measures.at(first_minimum(measures.ber))
        else:
            counts = np.concatenate([o.counts for o in self._options])
            thresholds = np.concatenate([o.thresholds for o in self._options])
            measures = self._measure(counts)
            starts = np.cumsum([0, *(len(o.thresholds) for o in self._options[:-1])])
        cost = measures.cost(settings, allowed_ber(settings, float(self._plain.ber)))
        at: NDArray[np.intp] = starts
        if len(cost) > len(starts):
            at = starts + np.array([first_minimum(part) for part in np.split(cost, starts[1:])])
        theta = first_minimum(cost[at]) + 1 if settings.choose_theta else len(at)
        return Choice(theta, thresholds[at], counts[at], measures.at(at), self._plain)

    def _measure(self, counts: Floats) -> Measures:
        """The measures of all options, many of them together and each once."""
        step = max(MAX_COUNTS // counts[0].size, 1)
        for first in range(sum(len(part.ber) for part in self._measured), len(counts), step):
            self._measured.append(measure(counts[first : first + step], self._settings, self._unit))
        return Measures(*map(np.concatenate, zip(*self._measured, strict=True)))


def is_constant(counts: Floats) -> bool:
    """Whether everyone gets the same prediction."""
    return bool((counts.sum(axis=(-3, -2)) == 0).any())
