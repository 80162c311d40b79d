"""What can be promised of people who are not known yet: bounds on gaps and ratios, and the certificate.

Two ways. *out_of_bag*: one critical value z, such that the bounds of all options that may be chosen hold at the same
time, so that the best of those whose bound is within the limit can be taken, as often as one likes. *held_out*: a few
options, chosen with growing safety margins on other rows, are tested on rows that took no part, the safest first.

The largest gap is a difference of one pair of groups, and if its bound is within the limit then that of this pair is:
so bounds of many pairs, rates, or of a gap and a ratio together need no correction, only those of many options do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import betainc, betaincinv, ndtri

from .._arrays import Floats, Integers
from .._stats.intervals import exact, sides
from .._stats.rates import balanced_error_rate
from .._table.grouping import first_few
from ..notions import FairnessNotion
from .menu import Menu
from .thresholds import SelectionData
from .wishes import SAME_OBJECTIVE, LimitNotMet, Wishes

OUT_OF_BAG, HELD_OUT = "out_of_bag", "held_out"
# A promise costs at most a tenth of the balanced accuracy over chance that the choice without it has.
KEPT = 0.9
N_DRAWS = 600  # of all options' errors, for the critical value
ENTRIES, PAIRS = 1 << 24, 1 << 22  # random numbers, and pairs of groups, that are in memory at a time
MARGINS = tuple(k / 4 for k in range(16, -1, -1))  # of the candidates for rows that took no part, in standard errors
TEST_SHARE = 0.25  # of the rows, if there are no others
NODES = 512  # for the distribution of one rate in a difference
SMALL_STEP = 1e-9  # of all weight: to see what a rate depends on

Rate = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Evidence:
    """What bounds on out-of-bag rows are made of, for any option and any wish.

    Attributes
    ----------
    confidence : float
        How surely all bounds hold.
    critical : float
        So many standard errors are added.
    highest_error : float
        Of options with a balanced error up to this the bounds hold together.
    rows : ndarray of shape (n_groups, 2)
        How many rows were counted of each group and class.
    effective : ndarray of shape (n_groups, 2)
        As how many they count: fewer if weights differ, or if rows belong to the same people.
    share : float
        The share of all rows that was counted.
    """

    confidence: float
    critical: float
    highest_error: float
    rows: Integers
    effective: Floats
    share: float

    def check(self, wishes: Wishes) -> None:
        """Whether it is as sure as is wished."""
        if wishes.confidence is not None and wishes.confidence > self.confidence:
            raise ValueError(
                f"confidence={wishes.confidence:g}: what was counted at fit is sure with {self.confidence:g} only; fit "
                f"again with confidence={wishes.confidence:g}"
            )


@dataclass(frozen=True)
class Certificate:
    """A promise about a fitted model: in the population of its rows it keeps the limit, with this confidence.

    It assumes that the rows are independent of each other (or people, if it was told which rows are of one), and drawn
    from the population that the model is used for.

    Attributes
    ----------
    notion : str
        What is compared.
    limit, min_ratio : float or None
        What was promised.
    confidence : float
        Of all samples at most the rest leads to a certificate whose limit is broken.
    method : {"out_of_bag", "held_out"}
        Which rows the bound is from.
    gap, ratio : float
        The largest gap and the lowest ratio on these rows.
    largest_gap, lowest_ratio : float
        Their bounds: no more than this, and no less.
    rows, effective : tuple of pairs
        The rows of each group, negatives and positives, and as how many they count.
    min_group_share : float
        Groups of a smaller share of the rows were not compared.
    model : str
        SHA-256 of all that the model decides by, which has no part of its certificate.
    """

    notion: str
    limit: float | None
    min_ratio: float | None
    confidence: float
    method: str
    gap: float
    ratio: float
    largest_gap: float
    lowest_ratio: float
    rows: tuple[tuple[int, int], ...]
    effective: tuple[tuple[float, float], ...]
    min_group_share: float
    model: str

    @property
    def promised(self) -> str:
        """What was promised, in words."""
        limit = [] if self.limit is None else [f"the largest gap is at most {self.limit:g}"]
        ratio = [] if self.min_ratio is None else [f"the lowest ratio is at least {self.min_ratio:g}"]
        return f"{self.notion.replace('_', ' ')}: {' and '.join([*limit, *ratio])}"

    def said(self, groups: Sequence[str], classes: Sequence[str]) -> dict[str, str]:
        """All of it in words, by what each is about."""
        limit = [] if self.limit is None else [f"gap {self.largest_gap:.3f} ({self.gap:.3f} on the rows counted)"]
        ratio = (
            [] if self.min_ratio is None else [f"ratio {self.lowest_ratio:.3f} ({self.ratio:.3f} on the rows counted)"]
        )
        where = {
            OUT_OF_BAG: "rows that the trainings held out",
            HELD_OUT: "rows that took no part in training or choice",
        }
        cells = []
        for group, rows, effective in zip(groups, self.rows, self.effective, strict=True):
            each = [f"{n:,} of {name}" for n, name in zip(rows, classes, strict=True)]
            less = sum(effective) < 0.995 * sum(rows)
            cells.append(f"{group}: {', '.join(each)}" + (f" (count as {sum(effective):,.0f})" if less else ""))
        small = f"; groups of less than {self.min_group_share:.4g} of the rows are not compared"
        return {
            "Promise": self.promised + (small if self.min_group_share else ""),
            "Confidence": f"{100 * self.confidence:.4g} %: at most {100 - 100 * self.confidence:.3g} % of all samples "
            "lead to a certificate that is broken",
            "Bound": ", ".join([*limit, *ratio]),
            "Made on": f"{sum(map(sum, self.rows)):,} {where[self.method]} ({self.method})",
            "Rows": first_few(cells, "; "),
            "Assumes": "rows that are independent of each other, and from the population that the model is used for",
            "Model": f"SHA-256 {self.model}",
        }


class People(NamedTuple):
    """Rows as people who are counted: the cell and the weight of each, and who belongs together."""

    cell: NDArray[Any]
    weight: Floats  # empty for equal ones
    cluster: NDArray[np.intp] | None
    n_groups: int

    @property
    def weights(self) -> Floats:
        return self.weight if len(self.weight) else np.ones(len(self.cell))

    def table(self, values: Any = None) -> Floats:
        """Sums per [group, class]."""
        sums = np.bincount(self.cell, weights=values, minlength=2 * self.n_groups)
        return sums.astype(np.float64).reshape(2, self.n_groups).T

    @property
    def effective(self) -> Floats:
        """As how many independent rows those of a cell count: Kish's (Σw)² / Σw², where a person is one row.

        That is what is known if all rows of a person are alike; if they are not, it is more.
        """
        weight = of_person = self.weights
        if self.cluster is not None:
            of_person = np.bincount(self.cluster, weights=weight)[self.cluster].astype(np.float64)
        return _per(self.table(weight) ** 2, self.table(weight * of_person))


def _per(part: Floats, whole: Floats) -> Floats:
    """``part / whole``, 0 where there is nothing."""
    found: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return found


class Compared(NamedTuple):
    """One rate of several groups, in each of some options."""

    value: Floats  # [option, group]; NaN where it is not known
    n: Floats  # as many independent rows it is a share of
    slope: Floats  # [option, group, y_true, y_pred]: what a row more of each kind changes
    of: NDArray[np.bool_]  # [group, cell's group, y_true]: the rows that it is about
    absent: NDArray[np.bool_]  # [group]: not to be compared

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Options in which the rate of a group is of nobody."""
        return np.any(np.isnan(self.value) & ~self.absent, axis=-1)  # type: ignore[no-any-return]


def compare(
    rate: Rate, counts: Floats, effective: Floats, view: Rate = np.asarray, keep: Rate = np.asarray
) -> Compared:
    """A rate in ``counts[option, group, y_true, y_pred]``, where a cell counts as ``effective[group, y_true]`` rows.

    How many rows a rate is a share of is seen from what one row more changes: p rises by (1 - p) / n, or falls by
    p / n. So it works for any share, whatever its whole is. A view sums the cells of its groups, and ``keep`` empties
    those that are too small to be compared.
    """
    n_groups = counts.shape[-3]
    one = 1.0 + np.arange(4 * n_groups, dtype=np.float64).reshape(n_groups, 2, 2)
    plain = rate(view(one))
    of = np.zeros((len(plain), n_groups, 2), dtype=np.bool_)
    for g, y, predicted in product(range(n_groups), (0, 1), (0, 1)):
        more = one.copy()
        more[g, y, predicted] *= 1.5
        of[:, g, y] |= ~np.isclose(rate(view(more)), plain, rtol=1e-9, atol=0.0)
    compared, totals = keep(view(counts)), counts.sum(axis=-1)
    value = rate(compared)
    step = SMALL_STEP * totals[0].sum()
    slope = np.empty((*value.shape, 2, 2))
    times = of.any(axis=-1).sum(axis=-1)  # groups of cells that a rate is about, all of which get the step
    for y, predicted in product((0, 1), (0, 1)):
        more = counts.copy()
        more[..., y, predicted] += step
        slope[..., y, predicted] = (rate(keep(view(more))) - value) / (step * np.maximum(times, 1))
    flat = slope.reshape(*value.shape, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = 1.0 / (flat.max(axis=-1) - flat.min(axis=-1))
        weight, squares = (np.einsum("vgy,gy->v", of, each) for each in (totals[0], _per(totals[0] ** 2, effective)))
        n = np.where(np.isnan(value), 0.0, whole * _per(weight, squares))
    return Compared(value, n, slope, of, compared[0].sum(axis=(-2, -1)) == 0)


class Bounds(NamedTuple):
    """Of each option the largest gap and the lowest ratio that there may be."""

    gap: Floats
    ratio: Floats

    def within(self, wishes: Wishes) -> NDArray[np.bool_]:
        """Which options keep the limits."""
        limit = np.inf if wishes.limit is None else wishes.limit
        lowest = -np.inf if wishes.min_ratio is None else wishes.min_ratio
        found: NDArray[np.bool_] = (self.gap <= limit + SAME_OBJECTIVE) & (self.ratio >= lowest - SAME_OBJECTIVE)
        return found


@dataclass(frozen=True)
class Question:
    """What is asked of options: gaps of a notion, or ratios, between groups that are large enough to be compared."""

    notion: FairnessNotion
    favourable: int
    wishes: Wishes
    groups: Sequence[str]
    classes: Sequence[str]  # the negative one and the positive one

    def __post_init__(self) -> None:
        if type(self.notion.each).violation is not FairnessNotion.violation:
            raise ValueError(
                f"confidence promises gaps between rates, and the notion {self.notion.name!r} has a violation of its "
                "own: give it gaps only"
            )

    def parts(self, counts: Floats, effective: Floats, is_ratio: bool) -> list[Compared]:
        """Each of the notion's rates in each view; for a ratio, how often the favourable class is given."""
        views: list[Rate] = [view.sum for view in self.notion.views] or [np.asarray]
        found = []
        for gap in self.notion.gaps:
            rate = partial(gap.given, favourable=self.favourable) if is_ratio else gap.rate
            parts = [compare(rate, counts, effective, view, self.wishes.compared) for view in views]
            # A view in which there is nothing to compare says nothing.
            found += [part for part in parts if (~part.absent).sum() > 1] or parts[:1]
        return found

    def named(self, group: int, y: int | None) -> str:
        """A group, or one class of it."""
        return f"group {self.groups[group]!r}" + ("" if y is None else f" and class {self.classes[y]!r}")

    @property
    def asked(self) -> list[tuple[str, bool, float]]:
        """The wishes, whether they are about ratios, and how far apart rates or their logarithms may be."""
        limit, lowest = self.wishes.limit, self.wishes.min_ratio
        ratio = [] if lowest is None else [("min_ratio", True, float(-np.log(lowest)))]
        return [*([] if limit is None else [("limit", False, limit)]), *ratio]

    def bounds(self, counts: Floats, effective: Floats, z: float) -> Bounds:
        """So many standard errors away."""
        gap, ratio = (
            np.max([limits(part, z, is_ratio).farthest for part in self.parts(counts, effective, is_ratio)], axis=0)
            for is_ratio in (False, True)
        )
        return Bounds(np.minimum(gap, 1.0), np.exp(-ratio))


class Limits(NamedTuple):
    """Rates of groups, or their logarithms, and how far the limits are below and above, all ``[option, group]``."""

    size: Floats
    down: Floats
    up: Floats
    unknown: NDArray[np.bool_]  # [option]
    place: NDArray[np.intp]  # of the groups that are compared, among all

    def pairs(self, at: Any = slice(None)) -> tuple[Floats, Floats]:
        """How far any two groups are apart, ``[option, g, h]``, and how much farther they may be: after Newcombe."""
        size, down, up = self.size[at], self.down[at], self.up[at]
        apart = size[:, :, None] - size[:, None, :]
        k = np.arange(apart.shape[-1])
        more = np.hypot(up[:, :, None], down[:, None, :])
        apart[:, k, k], more[:, k, k] = -np.inf, 0.0
        return apart, more

    @property
    def farthest(self) -> Floats:
        """How far apart two groups may be; a group of whom nothing is known may be anywhere."""
        n_options, n_groups = self.size.shape
        if n_groups < 2:
            return np.where(self.unknown, np.inf, 0.0)
        step = max(PAIRS // n_groups**2, 1)
        blocks = [slice(first, first + step) for first in range(0, n_options, step)]
        found = np.concatenate([np.add(*self.pairs(at)).max(axis=(1, 2)) for at in blocks] or [np.empty(0)])
        return np.where(self.unknown, np.inf, found)


def limits(part: Compared, z: float, is_ratio: bool) -> Limits:
    """Limits of the rates of the groups that are compared, so many standard errors away, of Clopper and Pearson's."""
    there = np.flatnonzero(~part.absent)
    value, n = part.value[:, there], part.n[:, there]
    known = ~np.isnan(value)
    value, n = np.where(known, value, 0.5), np.where(known, n, 1.0)
    unknown = np.logical_or(~known.all(axis=1), len(there) < min(len(part.absent), 2))
    if not is_ratio:
        return Limits(value, *sides(value, n, z), unknown, there)
    smooth = smoothed(value, n)
    low, high = exact(value, n, z)
    with np.errstate(divide="ignore"):
        down, up = np.log(smooth / low), np.log(np.maximum(high, smooth) / smooth)
    return Limits(np.log(smooth), np.maximum(down, 0.0), up, unknown, there)


def smoothed(value: Floats, n: Floats) -> Floats:
    """A share that is neither 0 nor 1."""
    return (value * n + 0.5) / (n + 1.0)


# Out-of-bag rows


def gather(
    menu: Menu,
    question: Question,
    place: int,
    rows: SelectionData,
    people: People,
    share: float,
    confidence: float,
) -> Evidence:
    """The critical value of all options that cost no more than a tenth of what the choice at a place is worth."""
    highest = highest_error(menu, place)
    counts, at = of_use(menu, question, highest)
    effective = people.effective
    linear = _errors(question, counts, effective)
    errors = _draw(menu, at, linear, rows, people)
    z = float(np.quantile(errors, confidence, method="higher"))
    given = confidence, max(z, float(ndtri(confidence))), highest
    return Evidence(*given, people.table().astype(np.int64), effective, share)


def highest_error(menu: Menu, place: int) -> float:
    """The balanced error up to which an option is of use, if the one at a place is what there is without a promise."""
    error = float(balanced_error_rate(menu.counts([place]))[0])
    return 0.5 - KEPT * (0.5 - error)


def of_use(menu: Menu, question: Question, highest: float) -> tuple[Floats, NDArray[np.intp]]:
    """The options with a balanced error up to so much: their counts, and their places in the menu."""
    counts = menu.counts()
    offered = menu.offered(question.wishes, question.notion)
    at = np.flatnonzero(offered & (balanced_error_rate(counts) <= highest + SAME_OBJECTIVE))
    return counts[at], at


def _errors(question: Question, counts: Floats, effective: Floats) -> list[Floats]:
    """What the studentised errors of each option are made of, ``[option, group, y_true, y_pred]``: of its largest gap,
    and of its lowest ratio.
    """
    found = []
    for is_ratio in (False, True):
        best, coefficients = np.full(len(counts), -np.inf), np.zeros(counts.shape)
        for part in question.parts(counts, effective, is_ratio):
            there = np.flatnonzero(~part.absent)
            value, n = part.value[:, there], part.n[:, there]
            known, smooth = ~np.isnan(value), smoothed(value, n)
            if len(there) < 2:
                continue
            scale = 1.0 / smooth if is_ratio else np.ones_like(value)
            size: Floats = np.log(smooth) if is_ratio else value
            own = np.arange(len(value))
            g, h = (np.argmax(np.where(known, sign * size, -np.inf), axis=1) for sign in (1, -1))
            with np.errstate(divide="ignore", invalid="ignore"):
                variance: Floats = scale**2 * smooth * (1.0 - smooth) / n
                deviation = np.sqrt(variance[own, g] + variance[own, h])
            slope = part.slope[:, there] * scale[..., None, None]
            of = np.any(part.of[there], axis=-1)[..., None, None]  # [group, cell's group, 1, 1]
            difference = slope[own, g][:, None] * of[g] - slope[own, h][:, None] * of[h]
            apart = size[own, g] - size[own, h]
            better = (known.sum(axis=1) > 1) & (apart > best) & (g != h)
            best[better] = apart[better]
            coefficients[better] = difference[better] / deviation[better, None, None, None]
        found.append(coefficients)
    return found


def _draw(menu: Menu, at: Integers, linear: Sequence[Floats], rows: SelectionData, people: People) -> Floats:
    """The largest error among all options, drawn: each person gets a random number, which all rates share.

    So options that decide alike about nearly all people err alike, and count as hardly more than one.
    """
    rng = np.random.default_rng(0)  # whatever random_state is: it is no part of the training
    n, n_cells = len(rows), menu.yes.shape[1]
    weight = people.weights.astype(np.float32)[:, None]
    cell = rows.cell.astype(np.intp)
    whom = np.arange(n) if people.cluster is None else np.unique(people.cluster, return_inverse=True)[1]
    n_whom = int(whom.max()) + 1
    largest = []
    block = max(ENTRIES // max(n, 1), 1)
    flat = [each.swapaxes(1, 2).reshape(len(at), n_cells, 2) for each in linear]  # cells are class * n_groups + group
    for first in range(0, N_DRAWS, block):
        size = min(block, N_DRAWS - first)
        draws = weight * rng.standard_normal((n_whom, size), dtype=np.float32)[whom]
        total = _sums(cell, n_cells, draws)
        highest = np.full(size, -np.inf)
        stages = menu.stage[at]
        for blend, margin in enumerate(rows.margins()):
            for k in range(len(menu.shifts)):
                own = np.flatnonzero(stages == blend * len(menu.shifts) + k)
                if len(own) == 0:
                    continue
                cuts, shift = menu.thresholds[at[own]], menu.shift(blend * len(menu.shifts) + k)
                moved = margin if shift is None else margin - shift[cell % len(menu.totals)]
                above = np.searchsorted(cuts, moved, side="left")  # that many of the thresholds are below
                sums = _sums(above * n_cells + cell, (len(cuts) + 1) * n_cells, draws).reshape(-1, n_cells, size)
                yes = np.cumsum(sums[:0:-1], axis=0)[::-1]
                for each in flat:
                    rise, fixed = each[own, :, 1] - each[own, :, 0], each[own, :, 0]
                    errors = np.einsum("oc,ocb->ob", rise, yes) + fixed @ total
                    highest = np.maximum(highest, errors.max(axis=0))
        largest.append(highest)
    return np.concatenate(largest)


def _sums(place: NDArray[np.intp], n_places: int, draws: NDArray[np.float32]) -> Floats:
    """The sums of rows of random numbers by their places."""
    n = len(place)
    ones = csr_array((np.ones(n, dtype=np.float32), (place, np.arange(n))), shape=(n_places, n))
    found: Floats = ones @ draws
    return found


def best_promised(
    menu: Menu, evidence: Evidence, question: Question, best: Callable[[Wishes, Any], int]
) -> tuple[int, Bounds]:
    """The best option whose bound keeps the limit, and its bound; :class:`LimitNotMet` if there is none."""
    wishes = question.wishes
    counts, at = of_use(menu, question, min(highest_error(menu, best(wishes, None)), evidence.highest_error))
    bounds = question.bounds(counts, evidence.effective, evidence.critical)
    within = bounds.within(wishes)
    if not within.any():
        rows = Rows(evidence.rows, evidence.effective, evidence.share, evidence.critical)
        raise not_promised(question, counts, bounds, rows)
    among = np.zeros(len(menu), dtype=np.bool_)
    among[at[within]] = True
    found = best(wishes, among)
    own = [int(np.flatnonzero(at == found)[0])]
    return found, Bounds(bounds.gap[own], bounds.ratio[own])


# Rows that took no part


def candidates_with_margins(
    menu: Menu, effective: Floats, question: Question, best: Callable[[Wishes, Any], int]
) -> list[int]:
    """The best options for growing safety margins, the safest first."""
    wishes = question.wishes
    plain, found = best(wishes, None), []
    counts, at = of_use(menu, question, highest_error(menu, plain))
    for z in MARGINS:
        among = np.zeros(len(menu), dtype=np.bool_)
        among[at[question.bounds(counts, effective, z).within(wishes)]] = True
        if among.any():
            found.append(best(wishes, among) if z else plain)
    return list(dict.fromkeys(found)) or [plain]  # what the bounds say nothing of is tested all the same


def passed(question: Question, counts: Floats, people: People, confidence: float, share: float) -> tuple[int, Bounds]:
    """Of candidates in order, ``counts[candidate, …]`` on rows that took no part, the last before one that fails.

    Each is tested at the full level: the first whose limit is broken passes as seldom as it should, and whatever comes
    after it is tested only then. :class:`LimitNotMet` if the first fails.
    """
    effective = people.effective
    parts = [(bound, is_ratio, question.parts(counts, effective, is_ratio)) for _, is_ratio, bound in question.asked]
    n_passed = 0
    while n_passed < len(counts) and all(
        surely_within(part, n_passed, bound, is_ratio) >= confidence for bound, is_ratio, each in parts for part in each
    ):
        n_passed += 1
    if n_passed == 0:
        rows = Rows(people.table().astype(np.int64), effective, share, float(ndtri(confidence)))
        raise not_promised(question, counts[:1], exact_bounds(question, counts, effective, 0, confidence), rows)
    return n_passed - 1, exact_bounds(question, counts, effective, n_passed - 1, confidence)


def exact_bounds(question: Question, counts: Floats, effective: Floats, k: int, confidence: float) -> Bounds:
    """The smallest limit, and the largest ratio, that one of the options passes."""
    found = []
    for is_ratio in (False, True):
        parts = question.parts(counts[[k]], effective, is_ratio)
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            bound = -np.log(middle) if is_ratio else middle
            is_within = all(surely_within(part, 0, bound, is_ratio) >= confidence for part in parts)
            low, high = (low, middle) if is_within != is_ratio else (middle, high)
        found.append(np.array([low if is_ratio else high]))
    return Bounds(*found)


def surely_within(part: Compared, k: int, bound: float, is_ratio: bool) -> float:
    """How sure it is of one option that no two groups are farther apart than a bound, for the pair with the least.

    Of each rate a distribution is made of its exact limits at all levels, Clopper and Pearson's: the upper ones of one
    group, the lower ones of the other. That their difference is within the bound is as probable as the confidence that
    there is (Fay, Proschan and Brittain 2015). No coverage below it is known, nor was any found by enumeration.
    """
    there = np.flatnonzero(~part.absent)
    if len(part.absent) < 2:
        return 1.0
    if len(there) < 2 or part.unknown[k]:
        return 0.0
    n, found = part.n[k, there], part.n[k, there] * part.value[k, there]
    levels = np.arange(NODES) / NODES  # each stands for the worse end of its step
    surest = 1.0
    for g, h in product(range(len(there)), repeat=2):
        if g == h:
            continue
        if is_ratio:  # g may not be much less than h
            nodes = _quantiles(found[h] + 1.0, n[h] - found[h], levels + 1.0 / NODES)
            above = 1.0 - _share_below(found[g], n[g] - found[g] + 1.0, np.exp(-bound) * nodes)
            surest = min(surest, float(above.mean()))
        else:
            nodes = _quantiles(found[h], n[h] - found[h] + 1.0, levels)
            below = _share_below(found[g] + 1.0, n[g] - found[g], bound + nodes)
            surest = min(surest, float(below.mean()))
    return surest


def _quantiles(a: float, b: float, levels: Floats) -> Floats:
    """Of a beta distribution; one without a is at 0, one without b at 1."""
    if a <= 0 or b <= 0:
        return np.full(len(levels), 0.0 if a <= 0 else 1.0)
    found: Floats = betaincinv(a, b, levels)
    return found


def _share_below(a: float, b: float, values: Floats) -> Floats:
    """Of the same distributions, what is at most each value; of one that is a point 0, below it."""
    if a <= 0:
        return np.where(values > 0, 1.0, 0.0)
    if b <= 0:
        return np.where(values >= 1, 1.0, 0.0)
    found: Floats = betainc(a, b, np.clip(values, 0.0, 1.0))
    return found


# What would be enough


class Rows(NamedTuple):
    """The rows that bounds are from: how many, as how many they count, their share of all, and the critical value."""

    n: Integers
    effective: Floats
    share: float
    critical: float


def not_promised(question: Question, counts: Floats, bounds: Bounds, rows: Rows) -> LimitNotMet:
    """What could be promised instead, and how many rows would be enough."""
    wishes, possible, parts = question.wishes, {}, []
    for name, is_ratio, _ in question.asked:
        others = wishes.__class__(min_ratio=wishes.min_ratio) if not is_ratio else wishes.__class__(limit=wishes.limit)
        among = bounds.within(others)
        values = (bounds.ratio if is_ratio else bounds.gap)[among if among.any() else slice(None)]
        possible[name] = float(values.max() if is_ratio else values.min())
        word = "the highest ratio" if is_ratio else "the smallest limit"
        parts.append(f"{name}={getattr(wishes, name):g}: {word} that could be promised is {possible[name]:.3g}")
    enough = rows_needed(question, counts, rows)
    if enough:
        named = [
            f"{n:,} rows of {question.named(group, y)} instead of {have:,}" for (group, y), (n, have) in enough.items()
        ]
        parts.append(f"About {first_few(named, '; ')} would be enough")
    else:
        parts.append("No number of rows would be enough, as far as these tell")
    return LimitNotMet(
        f"no choice of use can be promised to keep what was asked for, with confidence={wishes.confidence:g}, on "
        f"people who are not known yet. {'. '.join(parts)}. Ask for less, or leave confidence out for a limit that is "
        "kept on the rows that are chosen on, and may be broken on others",
        possible,
        {
            (question.groups[group], None if y is None else question.classes[y]): n
            for (group, y), (n, _) in enough.items()
        },
    )


def rows_needed(question: Question, counts: Floats, rows: Rows) -> dict[tuple[int, int | None], tuple[int, int]]:
    """Of which group and class so many rows would be enough, and how many there are; empty if nothing would.

    That is for the option that needs the fewest times more. The scarcer group of a pair is asked for more first.
    """
    found = [
        (part, limits(part, rows.critical, is_ratio), bound)
        for _, is_ratio, bound in question.asked
        for part in question.parts(counts, rows.effective, is_ratio)
    ]
    times = np.zeros(len(counts))
    for _, limit, bound in found:
        if limit.size.shape[1] > 1:
            apart, more = limit.pairs()
            with np.errstate(divide="ignore", invalid="ignore"):
                needed = np.where(apart < bound, (more / (bound - apart)) ** 2, np.inf)
            times = np.maximum(times, needed.max(axis=(1, 2)))
        times[limit.unknown] = np.inf
    option = int(np.argmin(times))
    enough: dict[tuple[int, int | None], tuple[int, int]] = {}
    if not np.isfinite(times[option]):
        return enough
    for part, limit, bound in found:
        (apart,), (more,) = limit.pairs([option])
        for a, b in np.argwhere(apart + more > bound).tolist():
            slack = float(bound - apart[a, b])
            sizes = float(limit.up[option, a]), float(limit.down[option, b])
            half = slack / np.sqrt(2.0)
            for k, own, other in ((a, *sizes), (b, *sizes[::-1])):
                allowed = np.sqrt(slack**2 - other**2) if other < half else half
                if own > allowed:
                    _add_needed(enough, part, int(limit.place[k]), (own / allowed) ** 2, rows)
    return enough


def _add_needed(enough: dict[Any, tuple[int, int]], part: Compared, group: int, times: float, rows: Rows) -> None:
    for g in np.flatnonzero(part.of[group].any(axis=-1)).tolist():
        classes = np.flatnonzero(part.of[group, g]).tolist()
        have = round(float(rows.n[g, classes].sum()) / rows.share)
        key = g, classes[0] if len(classes) == 1 else None
        needed = max(int(np.ceil(times * have)), enough.get(key, (0, 0))[0])
        digits = max(len(str(needed)) - 2, 0)
        enough[key] = -(-needed // 10**digits) * 10**digits, have
