"""Fairness notions: which rate should be equal across groups, and whom to boost when it is not.

A notion is a tuple of :class:`Gap`. From the gaps the base class derives everything the algorithm asks for: the costs u
of a round (Eqs. 9, 11, 13 of the paper), the violation F.M. in the choice of θ (Eq. 16) and the signed differences δ
that the paper plots per round. A new notion is therefore one small class; :class:`PredictiveEquality` is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._arrays import Floats
from ._stats.rates import (
    NEGATIVE,
    POSITIVE,
    accuracy,
    balanced_error_rate,
    error_rate,
    false_negative_rate,
    false_positive_rate,
    precision,
    ratio,
    selection_rate,
    spread,
    true_negative_rate,
    true_positive_rate,
)

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "DisparateMistreatment",
    "EqualOpportunity",
    "FairnessNotion",
    "Gap",
    "NoNotion",
    "PredictiveEquality",
    "StatisticalParity",
    "accuracy",
    "false_negative_rate",
    "false_positive_rate",
    "get_notion",
    "precision",
    "selection_rate",
    "true_negative_rate",
    "true_positive_rate",
]

# How often a class is predicted: for these, the class; the other one for the rest of the instances.
_GIVEN = {
    selection_rate: POSITIVE,
    true_positive_rate: POSITIVE,
    false_positive_rate: POSITIVE,
    false_negative_rate: NEGATIVE,
    true_negative_rate: NEGATIVE,
}


@dataclass(frozen=True)
class Gap:
    """A rate that should be the same in every group.

    Parameters
    ----------
    name : str
        Short name; ``history_`` has a column ``delta_<name>``.
    rate : callable
        Maps ``counts[..., group, y_true, y_pred]`` to one rate per group, NaN where a group has none.
    boosts : tuple of int
        The true classes (0 negative, 1 positive) whose misclassified instances get the cost.
    high_is_good : bool
        Whether the group with the *lower* rate is the one discriminated against.
    of : tuple of int
        The true classes that the rate is a share of: it tells how many instances of a group a rate rests on.
    boosts_ahead : tuple of int
        The true classes whose misclassified instances get the cost in groups that are *better* off, by their distance
        to the group that is worst off.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.notions import Gap
    >>> accuracy = Gap(
    ...     "accuracy",
    ...     lambda n: (n[..., 0, 0] + n[..., 1, 1]) / n.sum((-2, -1)),
    ...     (0, 1),
    ...     high_is_good=True,
    ... )
    >>> counts = np.array([[[8.0, 2.0], [0.0, 10.0]], [[5.0, 5.0], [5.0, 5.0]]])
    >>> accuracy.shortfall(counts)
    array([0. , 0.4])
    """

    name: str
    rate: Callable[[Floats], Floats]
    boosts: tuple[int, ...]
    high_is_good: bool = False
    of: tuple[int, ...] = (NEGATIVE, POSITIVE)
    boosts_ahead: tuple[int, ...] = ()

    def given(self, counts: Floats, favourable: int = POSITIVE) -> Floats:
        """How often the favourable class is given to those that the rate is about; of a rate of its own, this rate."""
        rates = self.rate(counts)
        return rates if _GIVEN.get(self.rate, favourable) == favourable else 1.0 - rates

    def shortfall(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        """How far each group is behind the best one; 0 up to the tolerance, and for a group that has no such rate."""
        rates = self.rate(counts)
        if self.high_is_good:
            rates = -rates
        if rates.ndim == 1:  # one table, as in every round of boosting: so few numbers are faster without arrays
            values = rates.tolist()
            best = min((value for value in values if value == value), default=np.nan)
            return np.array([distance if (distance := value - best) > epsilon else 0.0 for value in values])
        behind = rates - np.fmin.reduce(rates, axis=-1, keepdims=True)
        return np.where(behind > epsilon, behind, 0.0)  # NaN is above nothing

    def lead(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        """How far each group is ahead of the worst one; 0 up to the tolerance, and for a group without such a rate."""
        return replace(self, high_is_good=not self.high_is_good).shortfall(counts, epsilon)


class FairnessNotion:
    """Base class: set ``name`` and ``gaps`` in a subclass.

    Examples
    --------
    >>> from parityboost.notions import FairnessNotion, Gap, accuracy
    >>> class AccuracyParity(FairnessNotion):
    ...     name = "accuracy_parity"
    ...     gaps = (Gap("accuracy", accuracy, boosts=(0, 1), high_is_good=True),)
    >>> AccuracyParity()
    AccuracyParity()
    """

    name: str = ""
    gaps: tuple[Gap, ...] = ()
    views: tuple[View, ...] = ()  # of the groups that are counted, where these are not what is compared

    @property
    def each(self) -> FairnessNotion:
        """What every view is asked for: the notion itself, if there are no views."""
        return self

    def seen(self, counts: Floats) -> list[Floats]:
        """The counts of each view; of the groups that are counted, if there are no views."""
        return [counts]

    def by_view(self, counts: Floats) -> dict[str, Floats]:
        """The violation in each view, ``violation[sex]`` say."""
        pairs = zip(self.views, self.seen(counts), strict=False)
        return {f"violation[{view.name}]": self.each.violation(seen) for view, seen in pairs}

    def costs(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        """The fairness-related costs ``u[..., group, y_true]`` of misclassified instances (Eqs. 9, 11, 13).

        A group pays its distance to the best group, if that is above the tolerance ``epsilon``. For two groups this is
        |δ| for the group discriminated against and 0 for the other.
        """
        u = np.zeros(counts.shape[:-1])
        for gap in self.gaps:
            behind = gap.shortfall(counts, epsilon)
            for label in gap.boosts:
                u[..., label] += behind
            for label in gap.boosts_ahead:
                u[..., label] += gap.lead(counts, epsilon)
        return u

    def violation(self, counts: Floats) -> Floats:
        """F.M. in Eq. (16): largest difference between any two groups, summed over the gaps, never negative."""
        total = np.zeros(counts.shape[:-3])
        for gap in self.gaps:
            total = total + spread(gap.rate(counts))
        return total

    def largest_gap(self, counts: Floats) -> Floats:
        """The largest difference between any two groups in any of the rates; of a violation of its own, that."""
        if not self.gaps or type(self).violation is not FairnessNotion.violation:
            return self.violation(counts)
        largest: Floats = np.max([spread(gap.rate(counts)) for gap in self.gaps], axis=0)
        return largest

    def lowest_ratio(self, counts: Floats, favourable: int = POSITIVE) -> Floats:
        """The smallest ratio between two groups of what the notion compares: how often the favourable class is given.

        That is the share of those selected, found, or selected wrongly; of a gap with a rate of its own, this rate. NaN
        where no group has any: nothing can be said of a ratio over nothing.
        """
        if not self.gaps:
            raise ValueError(f"the notion {self.name!r} compares no rates, so there is no ratio between groups")
        ratios = []
        for gap in self.gaps:
            rates = gap.given(counts, favourable)
            high = np.fmax.reduce(rates, axis=-1)
            shares = ratio(np.fmin.reduce(rates, axis=-1), np.where(high > 0, high, np.nan))
            ratios.append(np.where(np.isnan(spread(rates)), np.nan, shares))
        lowest: Floats = np.min(ratios, axis=0)
        return lowest

    def deltas(self, counts: Floats) -> dict[str, Floats]:
        """The difference δ per gap: second group minus first (signed) for two groups, else largest minus smallest."""
        rates = {gap.name: gap.rate(counts) for gap in self.gaps}
        if counts.shape[-3] == 2:
            return {name: r[..., 1] - r[..., 0] for name, r in rates.items()}
        return {name: spread(r) for name, r in rates.items()}

    def objective(self, counts: Floats, c: float = 1.0) -> Floats:
        """c·BER + (1−c)·ER + F.M., what the choice of θ minimises (Eq. 16)."""
        return c * balanced_error_rate(counts) + (1.0 - c) * error_rate(counts) + self.violation(counts)

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self).items())))


@dataclass(frozen=True)
class View:
    """A partition of the groups that are counted (the cells of sex × race, say) into those that are compared.

    A cell that belongs to no group of the view, as one of unknown sex does where sexes are compared, counts for the
    error and for no rate. It pays what the others owe in the mean.
    """

    name: str  # "sex", "race" or "sex & race"
    positions: tuple[int, ...]  # of its attributes among all
    groups: tuple[Any, ...]
    group_of: tuple[int, ...]  # of each cell, -1 for none

    def sum(self, counts: Floats, axis: int = -3) -> Floats:
        """``counts[…, cell, …]`` of the groups."""
        group_of = np.array(self.group_of)
        parts = [np.take(counts, np.flatnonzero(group_of == k), axis).sum(axis) for k in range(len(self.groups))]
        return np.stack(parts, axis)

    def rest_is_unknown(self, views: Sequence[View]) -> bool:
        """Whether nobody knows the group of cells that are in none: crossed ones, beside others, may be just small."""
        return len(self.positions) == 1 or len(views) == 1


class Viewed(FairnessNotion):
    """A notion that holds in several views of the same cells, if it holds in the one that is worst.

    Whoever counts need not know of views. A view in which there is nothing to compare says nothing.
    """

    def __init__(self, each: FairnessNotion, views: tuple[View, ...]) -> None:
        self._each, self.views = each, views

    @property
    def each(self) -> FairnessNotion:
        """The notion of every view."""
        return self._each

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the notion."""
        return self._each.name

    @property
    def gaps(self) -> tuple[Gap, ...]:  # type: ignore[override]
        """Those of the notion."""
        return self._each.gaps

    def seen(self, counts: Floats) -> list[Floats]:
        """The counts of each view."""
        return [view.sum(counts) for view in self.views]

    def costs(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        """Of a cell the highest cost of its groups.

        Where groups are unknown these rows pay what the known ones owe in the mean. The known ones pay so much more
        than that, or less but never less than nothing, that with its share of the unknown rows each group pays what it
        owes.
        """
        u = np.zeros(counts.shape[:-1])
        for view, seen in zip(self.views, self.seen(counts), strict=True):
            owed = self._each.costs(seen, epsilon)
            of_rest = np.zeros_like(owed[..., :1, :])
            rest = np.array(view.group_of) < 0
            if rest.any() and view.rest_is_unknown(self.views):
                sizes, unknown = seen.sum(axis=-1), counts[..., rest, :, :].sum(axis=(-3, -1))[..., None, :]
                known = sizes.sum(axis=-2, keepdims=True)
                there = (known > 0.0) & (unknown > 0.0)
                known = np.where(there, known, 1.0)
                # One group after the other, as a kernel adds them.
                mean = sum(owed[..., [k], :] * sizes[..., [k], :] for k in range(len(view.groups))) / known
                of_rest = np.where(there, mean, 0.0)
                more = mean + (owed - mean) * ((known + unknown) / known)
                owed = np.where(there, np.maximum(more, 0.0), owed)
            u = np.maximum(u, np.concatenate([owed, of_rest], axis=-2)[..., list(view.group_of), :])  # -1 is the last
        return u

    def violation(self, counts: Floats) -> Floats:
        """The worst of the views."""
        return worst([self._each.violation(seen) for seen in self.seen(counts)])

    def largest_gap(self, counts: Floats) -> Floats:
        """The worst of the views."""
        return worst([self._each.largest_gap(seen) for seen in self.seen(counts)])

    def lowest_ratio(self, counts: Floats, favourable: int = POSITIVE) -> Floats:
        """The worst of the views."""
        return -worst([-self._each.lowest_ratio(seen, favourable) for seen in self.seen(counts)])

    def deltas(self, counts: Floats) -> dict[str, Floats]:
        """The difference δ per gap and view."""
        return {
            f"{name}[{view.name}]": delta
            for view, seen in zip(self.views, self.seen(counts), strict=True)
            for name, delta in self._each.deltas(seen).items()
        }


def worst(of_views: list[Floats]) -> Floats:
    """The highest of the values that are defined."""
    highest: Floats = np.fmax.reduce(of_views)
    return highest


class StatisticalParity(FairnessNotion):
    """Equal rates of positive predictions: δSP = 0, equations 1 and 8 of the paper.

    Parameters
    ----------
    boost : {"auto", "positives", "both", "misclassified"}, default="auto"
        Which instances get the cost. ``"positives"`` boosts the misclassified positives of the group with fewer
        positive predictions, which is what brings parity. ``"both"`` also boosts the misclassified negatives of the
        group with more of them: the outcome then hardly depends on which label is called positive.
        ``"misclassified"`` boosts all misclassified instances of the group with fewer, as Eq. (9) is printed; boosting
        its false positives works against parity. ``"auto"`` is ``"both"`` in
        :class:`~parityboost.ParityBoostClassifier` and ``"positives"`` elsewhere, as the name
        ``"statistical_parity"`` is.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.notions import StatisticalParity
    >>> counts = np.array([[[8.0, 2.0], [0.0, 10.0]], [[8.0, 2.0], [5.0, 5.0]]])
    >>> float(StatisticalParity().violation(counts))
    0.25
    """

    name = "statistical_parity"

    def __init__(self, boost: str = "auto") -> None:
        if boost not in ("auto", "positives", "both", "misclassified"):
            raise ValueError(f"boost must be 'auto', 'positives', 'both' or 'misclassified', got {boost!r}")
        self.boost = boost

    @property
    def gaps(self) -> tuple[Gap, ...]:  # type: ignore[override]
        """The selection rate, higher being better."""
        boosts = (NEGATIVE, POSITIVE) if self.boost == "misclassified" else (POSITIVE,)
        ahead = (NEGATIVE,) if self.boost == "both" else ()
        return (Gap("sp", selection_rate, boosts, high_is_good=True, boosts_ahead=ahead),)


class EqualOpportunity(FairnessNotion):
    """Equal false negative rates: δFNR = 0, equations 2 and 10 of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.notions import EqualOpportunity
    >>> counts = np.array([[[8.0, 2.0], [0.0, 10.0]], [[8.0, 2.0], [5.0, 5.0]]])
    >>> float(EqualOpportunity().violation(counts))
    0.5
    """

    name = "equal_opportunity"
    gaps = (Gap("fnr", false_negative_rate, (POSITIVE,), of=(POSITIVE,)),)


class PredictiveEquality(FairnessNotion):
    """Equal false positive rates: δFPR = 0. Not in the paper; the mirror image of equal opportunity.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.notions import PredictiveEquality
    >>> counts = np.array([[[8.0, 2.0], [0.0, 10.0]], [[8.0, 2.0], [5.0, 5.0]]])
    >>> float(PredictiveEquality().violation(counts))
    0.0
    """

    name = "predictive_equality"
    gaps = (Gap("fpr", false_positive_rate, (NEGATIVE,), of=(NEGATIVE,)),)


class DisparateMistreatment(FairnessNotion):
    """Equal false negative and false positive rates: |δFNR| + |δFPR| = 0, equations 4, 10 and 12.

    The violation is the *sum* of the two differences; fairlearn's ``equalized_odds_difference`` is the larger of them.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.notions import DisparateMistreatment
    >>> counts = np.array([[[8.0, 2.0], [0.0, 10.0]], [[8.0, 2.0], [5.0, 5.0]]])
    >>> float(DisparateMistreatment().violation(counts))
    0.5
    """

    name = "disparate_mistreatment"
    gaps = (*EqualOpportunity.gaps, *PredictiveEquality.gaps)


class NoNotion(FairnessNotion):
    """No fairness at all: nothing ever costs anything, and AdaFair is AdaBoost.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.notions import NoNotion
    >>> counts = np.array([[[8.0, 2.0], [0.0, 10.0]], [[8.0, 2.0], [5.0, 5.0]]])
    >>> float(NoNotion().violation(counts))
    0.0
    """

    name = "none"


_NOTIONS: dict[str, type[FairnessNotion]] = {
    notion.name: notion
    for notion in (StatisticalParity, EqualOpportunity, DisparateMistreatment, PredictiveEquality, NoNotion)
}
# What fairlearn calls the same constraints.
_ALIASES = {
    "demographic_parity": "statistical_parity",
    "true_positive_rate_parity": "equal_opportunity",
    "equalized_odds": "disparate_mistreatment",
    "false_positive_rate_parity": "predictive_equality",
}
NOTION_NAMES = frozenset(_NOTIONS) | frozenset(_ALIASES)


def get_notion(notion: str | FairnessNotion) -> FairnessNotion:
    """A notion by its name, by fairlearn's name for it, or as it is.

    Parameters
    ----------
    notion : str or FairnessNotion
        ``"disparate_mistreatment"``, ``"equal_opportunity"``, ``"statistical_parity"``, ``"predictive_equality"``,
        ``"none"``; fairlearn's ``"equalized_odds"``, ``"true_positive_rate_parity"``, ``"demographic_parity"``,
        ``"false_positive_rate_parity"``; or a notion.

    Returns
    -------
    FairnessNotion
        What was asked for.

    Examples
    --------
    >>> from parityboost.notions import get_notion
    >>> get_notion("equalized_odds")
    DisparateMistreatment()
    """
    if isinstance(notion, FairnessNotion):
        return notion
    name = _ALIASES.get(notion, notion)
    if name not in _NOTIONS:
        known = ", ".join(sorted(NOTION_NAMES))
        raise ValueError(f"unknown fairness notion {notion!r}; known are {known}, or an instance of FairnessNotion")
    return _NOTIONS[name]()
