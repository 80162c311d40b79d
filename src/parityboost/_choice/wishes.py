"""What was asked of a model: how it is boosted; what to maximise, how far apart groups may be, who may get a yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._stats.rates import NEGATIVE, POSITIVE, balanced_error_rate, error_rate, false_positive_rate, ratio
from ..notions import FairnessNotion, worst

# Objectives closer than this are equal, so that the first minimum wins whatever the rounding.
SAME_OBJECTIVE = 1e-12
COSTS = ("false_positive", "false_negative")


@dataclass(frozen=True)
class Settings:
    """How to boost; the names are the estimator's parameters."""

    notion: FairnessNotion
    n_estimators: int = 200
    c: float = 1.0
    epsilon: float = 0.0
    cumulative: bool = True
    costs_from: str = "training"  # or "validation": the rows whose rates decide who pays
    update: str = "confidence"
    learning_rate: float = 1.0  # what the votes of every learner are multiplied by
    learner_weight: str = "error"
    threshold: float | str = 0.0  # "auto" and "per_group": chosen together with θ
    n_iter_no_change: int | None = None
    keep: float = 0.0  # share of the lowest balanced error's lead over chance that a choice must keep
    max_violation: float | None = None
    choose_theta: bool = True  # False: θ is the last round


class LimitNotMet(ValueError):  # noqa: N818 - it is no error of the program's
    """No choice keeps what was wished; the message says what is possible.

    Parameters
    ----------
    message : str
        What cannot be kept, and what could.
    possible : dict, optional
        By wish, the closest to it that can be kept together with the others.
    rows_needed : dict, optional
        With ``confidence``: of which ``(group, class)`` so many rows would be enough; the class is None for both.

    Examples
    --------
    >>> from parityboost import LimitNotMet
    >>> issubclass(LimitNotMet, ValueError)
    True
    """

    def __init__(
        self, message: str, possible: Mapping[str, float] | None = None, rows_needed: Mapping[Any, int] | None = None
    ) -> None:
        super().__init__(message)
        self.possible, self.rows_needed = dict(possible or {}), dict(rows_needed or {})


@dataclass(frozen=True)
class Wishes:
    """What a choice has to keep, and what is to be as high as possible; the names are the estimator's parameters."""

    maximize: Any = None  # a name, or the costs of a false positive and of a false negative
    limit: float | None = None
    min_ratio: float | None = None
    capacity: float | None = None
    max_false_positive_rate: float | None = None
    min_group_share: float = 0.0
    confidence: float | None = None
    max_violation: float | None = (
        None  # of the sum over the gaps: the old form of limit, which is missed with a warning
    )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Wishes:
        """From parameters of an estimator, checked."""
        found = {name: given[name] for name in cls.__dataclass_fields__ if given.get(name) is not None}
        maximize = found.get("maximize")
        if isinstance(maximize, Mapping):
            found["maximize"] = _read_costs(maximize)
        elif maximize not in (None, "balanced_accuracy", "accuracy"):
            raise ValueError(
                "maximize must be 'balanced_accuracy', 'accuracy', or the costs of the two mistakes as "
                f"{{'false_positive': 1, 'false_negative': 5}}, got {maximize!r}"
            )
        for name, value in found.items():
            if name == "maximize":
                continue
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
                raise ValueError(f"{name} must be a number, got {value!r}")
            highest = np.inf if name == "max_violation" else 1.0
            lowest_is_one = name in ("min_ratio", "capacity")
            is_open = name == "confidence" and value in (0, 1)
            if not 0 <= value <= highest or (lowest_is_one and value == 0) or is_open:
                bounds = "above 0 and at most 1" if lowest_is_one else "from 0 to 1"
                bounds = "between 0 and 1" if name == "confidence" else bounds
                raise ValueError(f"{name} must be a number {bounds}, got {value!r}")
            found[name] = float(value)
        return cls(**found)

    def check(self, notion: FairnessNotion) -> None:
        """Whether the notion has something that can be limited."""
        for name in ("limit", "min_ratio"):
            value = getattr(self, name)
            if value is not None and not notion.gaps:
                raise ValueError(
                    f"{name}={value:g} limits what a notion compares, and notion={notion.name!r} compares nothing: use "
                    "'equal_opportunity', 'equalized_odds' or 'statistical_parity'"
                )

        if self.confidence is not None and self.limit is None and self.min_ratio is None:
            raise ValueError(
                f"confidence={self.confidence:g} promises a limit on people who are not known yet: say which, as "
                "limit=0.05 or min_ratio=0.8"
            )

    @property
    def is_limited(self) -> bool:
        """Whether groups may only be so far apart."""
        return any(value is not None for value in (self.limit, self.min_ratio, self.max_violation))

    @property
    def worth(self) -> str:
        """What is maximised, of which a share of one is the best; of costs, what they leave."""
        named = isinstance(self.maximize, tuple)
        return "share of the costs that is saved" if named else (self.maximize or "balanced_accuracy").replace("_", " ")

    @property
    def limits_said(self) -> str:
        """The wishes about differences between groups, as parameters."""
        given = {name: getattr(self, name) for name in ("limit", "min_ratio") if getattr(self, name) is not None}
        return " and ".join(f"{name}={value:g}" for name, value in given.items())

    def error(self, counts: Floats, c: float = 1.0) -> Floats:
        """What is to be as low as possible: the share of the mistakes' cost, if everyone were misjudged it is 1.

        Without a wish that is c·balanced error + (1 - c)·error, as the paper has it.
        """
        if self.maximize is None:
            return c * balanced_error_rate(counts) + (1.0 - c) * error_rate(counts)
        if self.maximize == "balanced_accuracy":
            return balanced_error_rate(counts)
        if self.maximize == "accuracy":
            return error_rate(counts)
        total = counts.sum(axis=-3)
        costs = np.array(self.maximize)
        mistakes = costs[0] * total[..., NEGATIVE, POSITIVE] + costs[1] * total[..., POSITIVE, NEGATIVE]
        return ratio(mistakes, (costs * total.sum(axis=-1)).sum(axis=-1))

    def compared(self, counts: Floats) -> Floats:
        """With nobody in the groups that are too small to be compared: a rate of nobody is no rate."""
        if self.min_group_share == 0:
            return counts
        sizes = counts.sum(axis=(-2, -1), keepdims=True)
        return np.where(sizes >= self.min_group_share * sizes.sum(axis=-3, keepdims=True), counts, 0.0)

    def kept(self, counts: Floats, favourable: int) -> dict[str, tuple[Floats, float, int]]:
        """Of the wishes about all people: each option's measure, the bound, and 1 if higher is better or -1."""
        found: dict[str, tuple[Floats, float, int]] = {}
        total = counts.sum(axis=-3)
        if self.capacity is not None:
            given = ratio(total[..., favourable].sum(axis=-1), total.sum(axis=(-2, -1)))
            found["capacity"] = given, self.capacity, -1
        if self.max_false_positive_rate is not None:
            found["max_false_positive_rate"] = false_positive_rate(total), self.max_false_positive_rate, -1
        return found

    def limits(self, counts: Floats, notion: FairnessNotion, favourable: int) -> dict[str, tuple[Floats, float, int]]:
        """The same of the wishes about differences between groups."""
        found: dict[str, tuple[Floats, float, int]] = {}
        compared, each = [self.compared(seen) for seen in notion.seen(counts)], notion.each
        if self.limit is not None:
            found["limit"] = worst([each.largest_gap(seen) for seen in compared]), self.limit, -1
        if self.min_ratio is not None:
            ratios = [each.lowest_ratio(seen, favourable) for seen in compared]
            found["min_ratio"] = np.fmin.reduce(ratios), self.min_ratio, 1
        if self.max_violation is not None:
            found["max_violation"] = worst([each.violation(seen) for seen in compared]), self.max_violation, -1
        return found

    def aim(self, c: float = 1.0) -> str:
        """What is maximised, or of costs minimised, by its name."""
        if isinstance(self.maximize, tuple):
            return "costs of mistakes"
        if self.maximize is None and 0 < c < 1:
            return f"{c:g} × balanced accuracy + {1 - c:g} × accuracy"
        is_accuracy = self.maximize == "accuracy" or (self.maximize is None and c == 0)
        return "accuracy" if is_accuracy else "balanced accuracy"

    def said(self, notion: FairnessNotion, c: float = 1.0) -> str:
        """What is maximised, under which limits, in words."""
        what = f"the highest {self.aim(c)}"
        if isinstance(self.maximize, tuple):
            alarm, miss = self.maximize
            what = f"the lowest {self.aim(c)}, {alarm:g} for a false positive and {miss:g} for a false negative"
        elif what.endswith("balanced accuracy"):
            what += " (the mean over both labels, not accuracy)"
        if notion.gaps and not self.is_limited:
            what += ", less the gap between groups"
        name = notion.name.replace("_", " ")
        bounds = {
            "limit": f"no gap in {name} above {{:g}}",
            "min_ratio": f"no ratio between groups in {name} below {{:g}}",
            "max_violation": f"gaps in {name} that add up to at most {{:g}}",
            "capacity": "a yes for a share of at most {:g}",
            "max_false_positive_rate": "a false positive rate of at most {:g}",
        }
        parts = [text.format(getattr(self, key)) for key, text in bounds.items() if getattr(self, key) is not None]
        if parts and self.min_group_share and (self.limit is not None or self.min_ratio is not None):
            parts.append(f"groups below a share of {self.min_group_share:g} left out")
        if self.confidence is not None:
            parts.append(f"a promise of it with {100 * self.confidence:.4g} % confidence")
        return what + (f", with {' and '.join(parts)}" if parts else "")


def is_within(measured: tuple[Floats, float, int]) -> NDArray[np.bool_]:
    """Whether options keep a wish; what is not defined keeps none."""
    values, bound, direction = measured
    within: NDArray[np.bool_] = direction * values >= direction * bound - SAME_OBJECTIVE
    return within


def _read_costs(given: Mapping[str, Any]) -> tuple[float, float]:
    unknown = [name for name in given if name not in COSTS]
    absent = [name for name in COSTS if name not in given]
    if unknown or absent:
        problem = f"has no cost called {unknown[0]!r}" if unknown else f"says nothing of {absent[0]!r}"
        raise ValueError(f"maximize {problem}: give {{'false_positive': …, 'false_negative': …}}, got {dict(given)!r}")
    for name, value in given.items():
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
        if not is_number or not 0 <= float(value) < np.inf:
            raise ValueError(f"maximize: the cost of a {name} must be a number of at least 0, got {value!r}")
    costs = float(given[COSTS[0]]), float(given[COSTS[1]])
    if max(costs) == 0:
        raise ValueError("maximize: one of the two mistakes must cost something")
    return costs
