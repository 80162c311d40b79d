"""The choice of θ and the threshold: the paper's objective, and what may not be given up for it.

Every round offers *options*: thresholds with their ``counts[group, y_true, y_pred]`` on the rows that are chosen on. At
the end one option of each round is taken, and one round. What is best depends on all rounds together, because ``keep``
refers to the lowest balanced error of the whole run, so a round keeps all options that may still win.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._arrays import Floats, Positions
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
# What is not allowed is worse than anything allowed, and a violation above the limit worse than any objective.
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

    def cost(self, settings: Settings, allowed: float | Floats = np.inf) -> Floats:
        """What the choice minimises among options with a balanced error up to ``allowed``.

        A limit leaves out options and changes nothing else: where the best of all is within it, that one is taken.
        """
        reached = self.violation <= settings.highest_violation
        cost = np.where(reached, self.objective, ABOVE_LIMIT + self.violation)
        return np.where(self.ber <= allowed + SAME_OBJECTIVE, cost, NOT_ALLOWED + self.ber)


UNKNOWN = Measures(*np.full(4, np.inf))


class Measured(NamedTuple):
    """Candidates, and what each of them would give."""

    candidates: Candidates
    measures: Measures
    lowest: int  # the one with the lowest balanced error
    front: Positions  # those that no other beats in balanced error and in what the choice minimises
    counts: Floats  # of these, [option, group, y_true, y_pred]


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
    measures: Measures  # of each round
    plain: Measures  # of the threshold for all and the round with the lowest balanced error

    @property
    def chosen(self) -> Floats:
        """``counts[group, y_true, y_pred]`` of what was chosen."""
        counts: Floats = self.counts[self.theta - 1]
        return counts

    @property
    def own(self) -> Measures:
        """The measures of what was chosen."""
        return self.measures.at(self.theta - 1)


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


def yardstick_of(totals: Floats, mass_unit: float, settings: Settings, unit: float) -> Any:
    """What a kernel measures thresholds by, for groups with these ``totals[group, class]``.

    None if the notion has a violation or rates of its own.
    """
    from .._engine.kernels.thresholds import Yardstick  # numba is needed only now

    notion = settings.notion
    rates = [gap.rate for gap in notion.gaps]
    if type(notion).violation is not FairnessNotion.violation or not all(rate in COUNTED_RATES for rate in rates):
        return None
    belief = np.ones((len(rates), len(totals)))
    if settings.keep > 0:
        for k, gap in enumerate(notion.gaps):
            size = totals[:, list(gap.of)].sum(axis=1) * unit
            belief[k] = size / (size + HALF_BELIEVED)
    beliefs = np.ones((len(rates), max((len(np.unique(each)) for each in belief), default=1)))
    belief_of = np.zeros(belief.shape, dtype=np.int64)
    for k, each in enumerate(belief):
        found, belief_of[k] = np.unique(each, return_inverse=True)
        beliefs[k, : len(found)] = found
    kinds = np.array([COUNTED_RATES.index(rate) for rate in rates], dtype=np.int64)
    return Yardstick(totals.T.ravel() / mass_unit, kinds, beliefs, belief_of, float(settings.c))


def measures_of(found: Candidates, settings: Settings, unit: float) -> Measures:
    """The measures at each threshold: in one pass over the rows for the rates of our own notions."""
    yardstick = yardstick_of(found.totals, found.unit, settings, unit)
    if yardstick is None:
        parts = [measure(found.counts(part), settings, unit) for part in found.parts()]
        return Measures(*map(np.concatenate, zip(*parts, strict=True)))
    from .._engine.kernels.thresholds import measure_thresholds  # numba is needed only now

    numbers = np.empty((4, len(found.thresholds)))
    measure_thresholds(found.cells, found.mass, found.n_below, yardstick, numbers)
    return Measures(*numbers)


def measure_candidates(found: Candidates, settings: Settings, unit: float) -> Measured:
    """All candidates measured, and which of them may be chosen."""
    measures = measures_of(found, settings, unit)
    front = undominated(measures.ber, measures.cost(settings), np.abs(found.thresholds))
    return Measured(found, measures, first_minimum(measures.ber), front, found.counts(front))


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


class Rounds:
    """The options of all rounds so far, and the choice among them.

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

    def add_counts(self, counts: Floats) -> None:
        """A round with the counts at the threshold that is given."""
        self.options.append(Options(np.array([self.settings.threshold], dtype=np.float64), counts[None], UNKNOWN))

    def add_candidates(self, found: Candidates) -> None:
        """A round with thresholds to choose from."""
        self.add_measured(measure_candidates(found, self.settings, self._unit))

    def add_measured(self, measured: Measured) -> None:
        """The same if what they would give is known."""
        options = options_among(measured, self.settings, self._unit, float(self._plain.ber))
        self.options.append(options)
        self._note_plain(options)

    def keep_first(self, n_rounds: int) -> None:
        """Forget all rounds after so many."""
        n_options = sum(len(options.counts) for options in self.options[:n_rounds])
        self.options, self._plain = self.options[:n_rounds], UNKNOWN
        for options in self.options:
            self._note_plain(options)
        if self._n_measured > n_rounds:
            self._measured, self._n_measured = [_joined(self._measured).at(slice(n_options))], n_rounds

    def choose(self) -> Choice:
        """One option per round, and the round: the first of the best."""
        self.measure_new()
        settings, measures = self.settings, _joined(self._measured)
        if self.is_given:  # what is given is the only threshold, and the plain one too
            self._plain = measures.at(first_minimum(measures.ber))
        cost = measures.cost(settings, allowed_ber(settings, float(self._plain.ber)))
        at = best_of_each(cost, [len(options.counts) for options in self.options])
        theta = first_minimum(cost[at]) + 1 if settings.choose_theta else len(at)
        counts, thresholds = (np.concatenate(parts)[at] for parts in list(zip(*self.options, strict=True))[1::-1])
        return Choice(theta, thresholds, counts, measures.at(at), self._plain)

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
        self._measured.append(_joined(parts))
        return self._measured[-1]

    def _note_plain(self, options: Options) -> None:
        if options.plain.ber < self._plain.ber:
            self._plain = options.plain


def _joined(parts: list[Measures]) -> Measures:
    return Measures(*map(np.concatenate, zip(*parts, strict=True)))


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
