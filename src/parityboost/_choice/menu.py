"""The menu: all that a fitted model can be without training again, counted once, and the best of it for any wish.

An *option* is a blend of the plain and the fair model, a shift between the groups, and a threshold. What is kept of
each is how much weight of every cell it says yes to, on the rows that are chosen on. Every measure follows from that,
so whatever is wished later, of a model that was loaded too, is looked up and not trained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import ALPHA_GRID, THRESHOLD_GRID, Floats, Integers
from .._stats.rates import POSITIVE, balanced_error_rate
from ..notions import FairnessNotion
from .frontier import Points, best_points, points_of
from .rule import allowed_ber, best_group_thresholds, best_of
from .thresholds import SelectionData, candidates, first_minimum, measure, shrunk_violation, to_counts
from .wishes import SAME_OBJECTIVE, LimitNotMet, Settings, Wishes, is_within

# Thresholds of a blend: all that make a difference, or so many, at even steps of the share of either class. Of a blend
# whose groups are shifted fewer, since there are many such.
MAX_CUTS, MAX_SHIFTED_CUTS = 256, 48
# How far groups are shifted against each other, in units of `vectors`; the threshold per group that is best at 0.5.
SHIFTS = (0.0, *(sign * k / 10 for k in range(1, 6) for sign in (1, -1)))
BEST_SHIFT = 0.5
STEP = 0.75  # of margins, whose standard deviation is about one
# One more number to choose: with fewer rows held out, of any class and group, it would be fitted to noise.
MIN_ROWS_FOR_MORE = 500
MAX_REFINED = 64  # thresholds more around the choice of `fit`


@dataclass(frozen=True)
class Menu:
    """Options in order of their stage, which is a blend and a shift, and of their threshold.

    Attributes
    ----------
    weights : tuple of float
        Where each blend stands between the plain model (0) and the fair one (1); 1 if there is no other.
    vectors : ndarray of shape (n_blends, n_groups) or None
        What a shift of one adds to the threshold of each group.
    shifts : tuple of float
        The shifts; 0 is the first of them.
    stage : ndarray of int, shape (n_options,)
        Of each option, ``blend * n_shifts + shift``.
    thresholds : ndarray of shape (n_options,)
        Common to all groups, before the shift.
    yes : ndarray of shape (n_options, n_cells)
        How much weight of each cell is above the threshold; a cell is ``class * n_groups + group``.
    totals : ndarray of shape (n_groups, 2)
        Weight of each cell.
    ends : ndarray of shape (n_stages, 2)
        The lowest and the highest margin.
    unit : float
        The number of rows that a weight of one stands for.
    per_group : bool
        Whether shifts are thresholds per group, and not steps of a column of X.
    only : float or None
        The threshold that was given, if it was: others are there for probabilities alone.
    """

    weights: tuple[float, ...]
    vectors: Floats | None
    shifts: tuple[float, ...]
    stage: Integers
    thresholds: Floats
    yes: Floats
    totals: Floats
    ends: Floats
    unit: float
    per_group: bool = False
    only: float | None = None

    def __len__(self) -> int:
        return len(self.thresholds)

    def counts(self, at: Any = slice(None)) -> Floats:
        """``counts[option, group, y_true, y_pred]`` of some of the options."""
        yes = self.yes[at].reshape(-1, 2, len(self.totals)).swapaxes(-1, -2)
        return to_counts(np.maximum(self.totals - yes, 0.0), self.totals)

    def weight(self, stage: int) -> float:
        """Where the blend of a stage stands between plain and fair."""
        return self.weights[stage // len(self.shifts)]

    def shift(self, stage: int) -> Floats | None:
        """What a stage adds to the threshold of each group; None if nothing."""
        blend, k = divmod(stage, len(self.shifts))
        by = self.shifts[k]
        return None if self.vectors is None or by == 0 else _shift(by, self.vectors[blend], self.per_group)

    @property
    def best_shifts(self) -> Floats:
        """Of each blend the thresholds per group that are best for it, or 0."""
        nothing = np.zeros((len(self.weights), len(self.totals)))
        if self.vectors is None:
            return nothing
        return np.stack([nothing[0], *(_shift(BEST_SHIFT, vector, self.per_group) for vector in self.vectors)])[1:]

    def of_stage(self, stage: int) -> slice:
        """The options of a stage."""
        first, last = np.searchsorted(self.stage, [stage, stage + 1])
        return slice(int(first), int(last))

    def bins(self, stage: int) -> tuple[Floats, Floats]:
        """Middles of the margins between neighbouring thresholds, and ``weight[bin, cell]`` there."""
        at = self.of_stage(stage)
        low, high = self.ends[stage]
        edges = np.concatenate([[low], np.clip(self.thresholds[at], low, high), [high]])
        total = self.totals.T.reshape(1, -1)
        above = np.concatenate([total, self.yes[at], np.zeros_like(total)])
        return (edges[:-1] + edges[1:]) / 2, np.maximum(above[:-1] - above[1:], 0.0)

    def frontier(self, notion: FairnessNotion, c: float, by: int, own: Points | None) -> Points:
        """Of the options with the shift of this place, or with all if that is thresholds, those that none beats."""
        at = np.arange(len(self)) if self.per_group else np.flatnonzero(self.stage % len(self.shifts) == by)
        thresholds = self.thresholds[at]
        if self.per_group:
            shifts = [self.shift(stage) for stage in range(len(self.ends))]
            of_stage = np.stack([np.zeros(len(self.totals)) if shift is None else shift for shift in shifts])
            thresholds = thresholds[:, None] + of_stage[self.stage[at]]
        blends = self.stage[at] // len(self.shifts)
        return best_points([points_of(blends + 1, thresholds, self.counts(at), notion, c)], c, own)

    def offered(self, wishes: Wishes, notion: FairnessNotion, fair: float = 1.0) -> NDArray[np.bool_]:
        """The options that a choice may take: of few rows only the fair model, and under a limit the plain one."""
        there = np.ones(len(self), dtype=np.bool_)
        if self.only is not None:
            there &= self.thresholds == self.only
        is_strict = wishes.limit is None and wishes.min_ratio is None
        if not _is_large(self.totals, notion, self.unit, is_strict, wishes):
            few = (fair,) if is_strict else (fair, 0.0)
            there &= np.isin(np.array(self.weights)[self.stage // len(self.shifts)], few)
        return there

    def best(
        self,
        wishes: Wishes,
        notion: FairnessNotion,
        c: float,
        keep: float,
        favourable: int = POSITIVE,
        among: NDArray[np.bool_] | None = None,
    ) -> int:
        """The best option for some wishes; :class:`LimitNotMet` if none keeps them.

        A choice keeps the share ``keep`` of the balanced accuracy over chance that the best choice has of those that
        need not be fair: else a model that says the same of everyone would keep any limit.
        """
        there = np.flatnonzero(self.offered(wishes, notion) if among is None else among)
        counts = self.counts(there)
        error, ber = wishes.error(counts, c), balanced_error_rate(counts)
        kept = wishes.kept(counts, favourable)
        within = np.all([np.ones(len(there), dtype=np.bool_), *map(is_within, kept.values())], axis=0)
        if not within.any():
            raise _not_met(kept, within | True, error, {}, "")
        lowest = np.flatnonzero(within)[first_minimum(error[within])]
        allowed = allowed_ber(Settings(notion, keep=keep), float(ber[lowest]))
        useful = within & (ber <= allowed + SAME_OBJECTIVE)
        limits = wishes.limits(counts, notion, favourable)
        fair = useful & np.all([useful, *map(is_within, limits.values())], axis=0)
        is_old = wishes.limit is None and wishes.min_ratio is None  # or there is no limit at all
        if wishes.is_limited and not fair.any():
            if is_old:  # the closest
                violation = limits["max_violation"][0]
                least = np.min(violation[useful], initial=np.inf, where=~np.isnan(violation[useful]))
                closest = useful & (~(violation > least + SAME_OBJECTIVE))  # or not defined anywhere
                return int(there[self._preferred(there, error, closest)])
            raise _not_met(limits, useful, error, kept, notion.name)
        cost = error
        if is_old and keep == 0:
            cost = error + notion.violation(counts)
        elif is_old:
            cost = error + shrunk_violation(notion, counts * self.unit, on_others=True)
        return int(there[self._preferred(there, cost, fair)])

    def _preferred(self, there: Integers, cost: Floats, allowed: NDArray[np.bool_]) -> int:
        """The place of the lowest cost; of equals the first stage, and there the threshold nearest to 0."""
        cost = np.where(allowed & ~np.isnan(cost), cost, np.inf)
        if np.isinf(cost).all():  # not defined anywhere
            cost = np.where(allowed, 0.0, np.inf)
        best = np.flatnonzero(cost <= cost.min() + SAME_OBJECTIVE)
        of_first = best[self.stage[there[best]] == self.stage[there[best]].min()]
        return int(of_first[np.argmin(np.abs(self.thresholds[there[of_first]]))])

    def shifted(self, stage: int, rows: SelectionData) -> Floats:
        """The margins of a stage."""
        blend, shift = stage // len(self.shifts), self.shift(stage)
        margin: Floats = next(islice(rows.margins(), blend, None))
        return margin if shift is None else margin - shift[rows.cell % rows.n_groups]

    def refined(self, at: int, rows: SelectionData) -> Menu:
        """With more thresholds between those around an option: all that there are, or close steps."""
        if self.only is not None:
            return self
        stage, options = int(self.stage[at]), self.of_stage(int(self.stage[at]))
        low = self.thresholds[at - 1] if at > options.start else -np.inf
        high = self.thresholds[at + 1] if at + 1 < options.stop else np.inf
        cells = _Cells.of(rows, self.shifted(stage, rows))
        more = cells.thresholds_between(low, high)
        more = more[more != self.thresholds[at]]
        places = options.start + np.searchsorted(self.thresholds[options], more)
        return replace(
            self,
            stage=np.insert(self.stage, places, stage),
            thresholds=np.insert(self.thresholds, places, more),
            yes=np.insert(self.yes, places, cells.above(more), axis=0),
        )


def make_menu(
    selection: SelectionData,
    weights: tuple[float, ...],
    settings: Settings,
    unit: float,
    *,
    per_group: bool,
    may_shift: bool,
) -> Menu:
    """All options, counted on the rows that are chosen on: an average says how it scores these as each blend.

    If the groups may be shifted against each other (by thresholds per group, which were asked for, or by a column of X
    that tells them), the shifts lead to the best thresholds per group, or if there are two groups just both ways.
    """
    n_groups, totals = selection.n_groups, selection.totals
    only = None if isinstance(settings.threshold, str) else float(settings.threshold)
    is_large = _is_large(totals, settings.notion, unit)
    shifts: tuple[float, ...] = (0.0,)
    if n_groups > 1 and only is None and (per_group or (may_shift and is_large)):
        shifts = SHIFTS if is_large else (0.0, BEST_SHIFT)
    vectors, stages, thresholds, yes, ends = [], [], [], [], []
    for blend, margin in enumerate(selection.margins()):
        vector = np.zeros(n_groups)
        if len(shifts) > 1:
            vector = _vector(selection, margin, settings, unit, per_group)
            vectors.append(vector)
        unshifted = _Cells.of(selection, margin)
        for k, by in enumerate(shifts):
            cells = unshifted.shifted(_shift(by, vector, per_group)) if by else unshifted
            cuts = cells.thresholds(MAX_SHIFTED_CUTS if by else MAX_CUTS, only)
            stages.append(np.full(len(cuts), blend * len(shifts) + k))
            thresholds.append(cuts)
            yes.append(cells.above(cuts))
            ends.append(cells.ends)
    return Menu(
        weights,
        np.array(vectors) if vectors else None,
        shifts,
        np.concatenate(stages),
        np.concatenate(thresholds),
        np.concatenate(yes),
        totals,
        np.array(ends),
        unit,
        per_group,
        only,
    )


def _is_large(
    totals: Floats, notion: FairnessNotion, unit: float, is_strict: bool = True, wishes: Wishes | None = None
) -> bool:
    """Whether the rows of either class of any group are enough to choose a blend and a shift by them.

    If it is not so strict, as under a limit that says what is wanted, then of the groups of one view. Groups that are
    too small to be compared do not count.
    """
    of_views = []
    for seen in notion.seen(totals[..., None]):
        compared = (wishes or Wishes()).compared(seen)
        rows = compared[compared.sum(axis=(-2, -1)) > 0] * unit
        of_views.append(bool(rows.min(initial=np.inf) >= MIN_ROWS_FOR_MORE))
    return all(of_views) if is_strict else any(of_views)


def _vector(selection: SelectionData, margin: Floats, settings: Settings, unit: float, per_group: bool) -> Floats:
    """The direction in which groups are shifted: their best thresholds, or of two groups both ways."""
    if selection.n_groups == 2 and not per_group:
        return np.array([STEP, -STEP])
    found = candidates(margin, selection.cell, selection.weight, selection.totals)
    measures = found.measures(settings, unit)
    allowed = allowed_ber(settings, float(np.nanmin(measures.ber)))

    def cost(counts: Floats) -> Floats:
        return measure(counts, settings, unit).cost(settings, allowed)

    _, thresholds = best_group_thresholds(found, best_of(found, measures.cost(settings, allowed)), cost)
    doubled: Floats = np.asarray(thresholds) / BEST_SHIFT
    return doubled


def _shift(by: float, vector: Floats, per_group: bool) -> Floats:
    """What is added to the thresholds of the groups: a step of a column is part of its table, and on its grid."""
    grid = THRESHOLD_GRID if per_group else ALPHA_GRID
    shift: Floats = np.rint(by * vector / grid) * grid
    return shift


class _Cells:
    """The distinct margins of each cell in order, and how much weight is above a threshold.

    Only distinct margins and their weight matter, so a repeated row is the same as its weight, and to shift a group
    changes no order.
    """

    def __init__(self, margins: list[Floats], above: list[Floats]) -> None:
        self.margins, self._above = margins, above  # weight[k] at or above the k-th margin, and 0 behind the last
        there = [rows for rows in margins if len(rows)]
        self.ends = float(min(rows[0] for rows in there)), float(max(rows[-1] for rows in there))

    @classmethod
    def of(cls, selection: SelectionData, margin: Floats) -> _Cells:
        order = np.lexsort((margin, selection.cell))
        stops = np.cumsum(np.bincount(selection.cell, minlength=2 * selection.n_groups)).tolist()
        ordered, weight = margin[order], selection.weight[order] if len(selection.weight) else np.ones(len(order))
        margins, above = [], []
        for first, stop in zip([0, *stops], stops, strict=False):
            rows = ordered[first:stop]
            starts = np.flatnonzero(np.append(np.ones(min(len(rows), 1), dtype=np.bool_), rows[1:] != rows[:-1]))
            margins.append(rows[starts])
            above.append(np.append(np.cumsum(weight[first:stop][::-1])[::-1][starts], 0.0))
        return cls(margins, above)

    def shifted(self, by: Floats) -> _Cells:
        """With something taken off the margins of each group."""
        n_groups = len(by)
        return _Cells([rows - by[k % n_groups] for k, rows in enumerate(self.margins)], self._above)

    def above(self, thresholds: Floats) -> Floats:
        """The weight of each cell above each threshold, ``[threshold, cell]``."""
        pairs = zip(self.margins, self._above, strict=True)
        return np.column_stack([above[np.searchsorted(rows, thresholds, side="right")] for rows, above in pairs])

    def thresholds(self, most: int, only: float | None) -> Floats:
        """Half-way between margins; of very many those at even steps of the share of each class."""
        below, is_short = self.margins, sum(map(len, self.margins)) > most
        if is_short:
            below, half = [], len(self.margins) // 2
            for k, (rows, above) in enumerate(zip(self.margins, self._above, strict=True)):
                of_class = sum(each[0] for each in self._above[k // half * half :][:half])
                n = int(np.ceil(most / 2 * above[0] / of_class)) if above[0] else 0
                levels = above[0] * (np.arange(n) + 0.5) / max(n, 1)
                below.append(rows[np.searchsorted(-above[:-1], -levels, side="right") - 1])
        cuts = self._middles(np.unique(np.concatenate(below)), is_short)
        if len(cuts) == 0:
            cuts = np.zeros(1)
        return cuts if only is None else np.unique(np.append(cuts, only))

    def thresholds_between(self, low: float, high: float) -> Floats:
        """All thresholds between two others."""
        inside = [rows[np.searchsorted(rows, low) : np.searchsorted(rows, high)] for rows in self.margins]
        below = np.unique(np.concatenate(inside))
        cuts = self._middles(below[:: len(below) // MAX_REFINED + 1])
        return cuts[(cuts > low) & (cuts < high)]

    def _middles(self, below: Floats, is_short: bool = False) -> Floats:
        """Half-way between some margins and the next ones, or about there with few digits; 0 instead of what is around.

        A file holds thousands of them.
        """
        below = below[below < self.ends[1]]
        above = np.full(len(below), np.inf)
        for rows in self.margins:
            first = np.searchsorted(rows, below, side="right")
            there = first < len(rows)
            above[there] = np.minimum(above[there], rows[first[there]])
        middles: Floats = (below + above) / 2
        for digits in range(10, 0, -1) if is_short else ():
            short = np.rint(np.round(middles, digits) / THRESHOLD_GRID) * THRESHOLD_GRID
            middles = np.where((below <= short) & (short < above), short, middles)
        return np.where((below <= 0) & (above > 0), 0.0, middles)


def _not_met(
    measured: dict[str, tuple[Floats, float, int]], useful: NDArray[np.bool_], error: Floats, kept: Any, notion: str
) -> LimitNotMet:
    """What is possible instead: of each wish the closest by itself, and the best error with it."""
    possible, parts = {}, []
    for name, (values, bound, direction) in measured.items():
        known = np.where(useful & ~np.isnan(values), direction * values, -np.inf)
        if np.isinf(known).all():
            parts.append(
                f"{name}={bound:g}: there is nothing to compare in any choice: fewer than two groups have the rates of "
                f"{notion!r}, or nobody gets a yes"
            )
            continue
        best = float(known.max())
        closest = direction * best
        possible[name] = closest
        lowest = float(np.min(error[known >= best - SAME_OBJECTIVE]))
        word = (
            "the smallest largest gap"
            if name == "limit"
            else "the highest ratio"
            if name == "min_ratio"
            else "the lowest"
        )
        parts.append(f"{name}={bound:g}: {word} of any useful choice is {closest:.3g} (with an error of {lowest:.3f})")
    among = f" among those within {', '.join(kept)}" if kept else ""
    return LimitNotMet(
        f"no choice{among} keeps what was asked for on the rows that are chosen on. {'. '.join(parts)}. Ask for less, "
        "give more rows, or a threshold for each group (threshold='per_group')",
        possible,
    )
