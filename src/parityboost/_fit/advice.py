"""What `fit` says about a model that may be of no use: the culprit, and a remedy that was tried.

Other choices of θ and the threshold are choices among the rounds of the same run, so whether they would help is not
guessed: they are made, on the rows that θ was chosen on, before they are recommended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Floats
from .._choice.frontier import SelectionData
from .._choice.rule import Choice, Rounds
from .._choice.settings import SAME_OBJECTIVE, Settings
from .._choice.thresholds import candidates
from .._stats.rates import balanced_error_rate
from .._table.grouping import first_few
from .loop import Boosted

# A class that is predicted so much less often than it occurs is hardly predicted at all.
HARDLY_PREDICTED = 0.1
FEW_LEARNERS = 2
MANY_GROUPS = 20
FEW_EXAMPLES = 10  # a rate of fewer is off by more than 0.15 every third time
NEARLY_PERFECT = 0.01  # balanced error of one column
SIZEABLE = 0.1  # a difference in a rate that is worth a word: ten points
MAX_ROWS_TO_TRY = 1 << 16  # remedies are tried on a part of more rows than this


def choose_again(selection: SelectionData, settings: Settings, unit: float, all_rows: bool = False) -> Choice:
    """What other settings would have chosen; on every so many rows if there are very many."""
    step = 1 if all_rows else -(-len(selection.cell) // MAX_ROWS_TO_TRY)
    part = replace(selection, cell=selection.cell[::step], weight=selection.weight[::step])
    rounds = Rounds(settings, unit * step)
    for margin in selection.margins():
        if isinstance(settings.threshold, str):
            rounds.add_candidates(candidates(margin[::step], part.cell, part.weight, part.totals))
        else:
            rounds.add_counts(part.counts(margin[::step] > settings.threshold))
    return rounds.choose()


@dataclass(frozen=True)
class Fitted:
    """A run of boosting and its choice, as advice looks at it."""

    boosted: Boosted
    settings: Settings
    selection: SelectionData
    unit: float  # number of rows that a weight of one stands for
    groups: list[str]
    labels: list[str]
    columns: list[str] | None

    @property
    def choice(self) -> Choice:
        return self.boosted.choice

    def messages(self) -> list[str]:
        """One for each thing that is wrong, the gravest first."""
        perfect = self._one_column_decides()
        found = [
            perfect,
            self._nothing_defined(),
            None if perfect else self._one_class() or self._few_learners() or self._nothing_mitigated(),
            self._above_limit() or self._costly_limit(),
            self._many_groups(),
            self._small_groups(),
        ]
        return [message for message in found if message is not None]

    def _one_column_decides(self) -> str | None:
        first = self.boosted.rounds[0]
        ber = float(balanced_error_rate(first.train_counts))
        perfect = self.boosted.stopped == "perfect" and len(self.boosted.rounds) == 1
        if self.columns is None or not (perfect or ber <= NEARLY_PERFECT):
            return None
        names = [repr(self.columns[feature]) for feature in first.model.features]
        if len(names) == 1:
            found, column = f"column {names[0]} alone predicts", "the column"
        else:
            found, column = f"columns {', '.join(names[:-1])} and {names[-1]} alone predict", "such a column"
        if perfect:
            return (
                f"{found} the target: is it a leak of the outcome? Nothing was left to boost, so nothing was "
                f"mitigated. Leave {column} out if it is not known when the model is used"
            )
        return (
            f"{found} the target with a balanced accuracy of {1 - ber:.3f}: is it a leak of the outcome? Leave "
            f"{column} out if it is not known when the model is used"
        )

    def _nothing_defined(self) -> str | None:
        if not np.isnan(self.choice.measures.objective[self.choice.theta - 1]):
            return None
        return (
            f"in no round is the violation of {self.settings.notion.name!r} defined on the rows that θ is chosen on, "
            "so the first is used: fewer than two groups have a rate there. Give more rows, or merge groups"
        )

    def _one_class(self) -> str | None:
        counts = self.choice.chosen
        if not hardly_predicts_a_class(counts):
            return None
        share = counts.sum(axis=(0, 1)) / counts.sum()
        label = self.labels[int(share.argmax())]
        whom = "everyone" if share.max() == 1 else f"{100 * share.max():.1f} % of the rows"
        return (
            f"the model predicts {label!r} for {whom} on the data that θ was chosen on, so it is of little use. "
            + self._remedy(self._is_useless, self._better())
        )

    def _few_learners(self) -> str | None:
        if not (self.choice.theta <= FEW_LEARNERS < len(self.boosted.rounds)):
            return None
        learners = "weak learner is" if self.choice.theta == 1 else f"{self.choice.theta} weak learners are"
        return (
            f"only the first {learners} used of {len(self.boosted.rounds)}, which is hardly a model. "
            + self._remedy(self._is_useless, self._better())
        )

    def _nothing_mitigated(self) -> str | None:
        """Compared with the lowest balanced error of the same run."""
        if not self.settings.notion.gaps or self.settings.keep == 1:
            return None
        before = float(self.choice.plain.judged)
        reached = float(self.choice.measures.judged[self.choice.theta - 1])
        sizeable = reached > SIZEABLE * len(self.settings.notion.gaps)
        if not (sizeable and reached >= before - SAME_OBJECTIVE):
            return None
        limit = round(before / 2, 3)
        no_better = (
            f"the violation of {self.settings.notion.name!r} is {reached:.3f}, no smaller than {before:.3f}, that of "
            "the plain choice of the same run, with the lowest balanced error: nothing was given up for fairness. "
        )

        def still(choice: Choice) -> bool:
            judged = float(choice.measures.judged[choice.theta - 1])
            return self._is_useless(choice) or not judged < float(choice.plain.judged) - SAME_OBJECTIVE

        def unreached(choice: Choice) -> bool:
            return still(choice) or float(choice.measures.violation[choice.theta - 1]) > limit

        limited: list[dict[str, Any]] = [{"max_violation": limit}, {"max_violation": limit, "threshold": "auto"}]
        simple = self._remedy(still, [{"threshold": "auto"}], tell=False)
        return no_better + (simple or self._remedy(unreached, limited))

    def _above_limit(self) -> str | None:
        if not self._is_above(self.choice):
            return None
        keep = f" that keep={self.settings.keep:g} allows" if self.settings.keep else ""

        def above(choice: Choice) -> bool:
            return self._is_useless(choice) or self._is_above(choice)

        tries: list[dict[str, Any]] = [{"threshold": "auto"}]
        tries += [{"keep": keep, "threshold": "auto"} for keep in (0.25, 0.1) if keep < self.settings.keep]
        return (
            f"no choice of θ and threshold{keep} has a violation of at most {self.settings.max_violation:g} on the "
            f"data that it is made on: the closest, {self.choice.own.violation:.3f}, is used. "
        ) + (
            self._remedy(above, tries, tell=False)
            or "No other θ or threshold reaches it, so it takes another model: other starting weights (class_weight), "
            "other columns, or a threshold for each group (threshold='per_group')"
        )

    def _costly_limit(self) -> str | None:
        """Where a limit is kept by a much worse model."""
        if self.settings.max_violation is None:
            return None
        free, own = self._free_choice().own, self.choice.own
        if not own.ber > free.ber + SIZEABLE:
            return None

        def still(choice: Choice) -> bool:
            is_costly = bool(choice.own.ber > choice.plain.ber + SIZEABLE)  # without the limit it is no lower than that
            return self._is_useless(choice) or is_costly or self._is_above(choice)

        return (
            f"max_violation={self.settings.max_violation:g} costs much: on the data that the choice is made on, the "
            f"balanced accuracy is {1 - own.ber:.3f}, and without the limit {1 - free.ber:.3f} with a violation of "
            f"{free.violation:.3f}. "
        ) + (
            self._remedy(still, [{"threshold": "auto"}], tell=False)
            or "No other θ or threshold keeps the limit at a lower price"
        )

    def _is_above(self, choice: Choice) -> bool:
        return bool(choice.own.violation > self.settings.highest_violation)

    def _free_choice(self) -> Choice:
        """The choice without a limit."""
        return choose_again(self.selection, replace(self.settings, max_violation=None), self.unit)

    def _is_useless(self, choice: Choice) -> bool:
        return hardly_predicts_a_class(choice.chosen) or choice.theta <= FEW_LEARNERS

    def _many_groups(self) -> str | None:
        if len(self.groups) <= MANY_GROUPS or not self.settings.notion.gaps:
            return None
        return (
            f"{len(self.groups)} groups: the largest difference between so many is mostly chance. Cut columns of "
            "numbers with bands (--bands), or merge groups"
        )

    def _small_groups(self) -> str | None:
        sizes = self.choice.chosen.sum(axis=-1) * self.unit
        small: dict[str, str] = {}
        for gap in self.settings.notion.gaps:
            n = sizes[:, list(gap.of)].sum(axis=1)
            what = f"of class {self.labels[gap.of[0]]!r}" if len(gap.of) == 1 else "rows"
            for k in np.flatnonzero((n > 0) & (n < FEW_EXAMPLES - SAME_OBJECTIVE)):
                small.setdefault(self.groups[k], f"{self.groups[k]!r} ({n[k]:.3g} {what})")
        if not small:
            return None
        return (
            f"groups with fewer than {FEW_EXAMPLES} examples among the rows that θ is chosen on: "
            f"{first_few(list(small.values()))}. Their rates are mostly chance: "
            f"{'merge groups, or ' if len(self.groups) > 2 else ''}give more rows"
        )

    def _better(self) -> list[dict[str, Any]]:
        return [changes for changes in BETTER if changes.get("keep", 1.0) > self.settings.keep]

    def _remedy(self, problem: Callable[[Choice], bool], tries: list[dict[str, Any]], tell: bool = True) -> str:
        """The first of other settings of the choice that do not have the problem, with what they reach."""
        for changes in tries:
            other = replace(self.settings, **changes)
            if other == self.settings:
                continue
            choice = choose_again(self.selection, other, self.unit)
            if problem(choice):
                continue
            named = ", ".join(f"{key}={value!r}" for key, value in changes.items())
            return self._compared(f"Tried on the same rows, {named}", choice.own.ber, choice.own.violation)
        if not tell:
            return ""
        return (
            "No other θ or threshold of this run was found to do better: the columns of X say too little about the "
            "target, or the groups are too many or too small to be made equal"
        )

    def _compared(self, what: str, ber: Any, violation: Any) -> str:
        own = self.choice.own
        return (
            f"{what} gives a balanced accuracy of {1.0 - ber:.3f} with a violation of {violation:.3f} (now "
            f"{1.0 - own.ber:.3f} and {own.violation:.3f})"
        )


BETTER: tuple[dict[str, Any], ...] = (
    {"keep": 0.5},
    {"threshold": "auto"},
    {"keep": 0.5, "threshold": "auto"},
    {"keep": 0.8, "threshold": "auto"},
)


def hardly_predicts_a_class(counts: Floats) -> bool:
    """Whether (nearly) everyone gets the same prediction."""
    occurs, predicted = counts.sum(axis=(0, 2)), counts.sum(axis=(0, 1))
    return bool((predicted < HARDLY_PREDICTED * occurs).any())


@dataclass(frozen=True)
class FittedAverage(Fitted):
    """The same for an average of several runs, which has one stage and no θ."""

    free: Choice | None = None  # without the limit, if there is one
    asked: Choice | None = None  # with the starting weights that were asked for, if others were used
    class_weight: Any = None  # what was asked for

    def messages(self) -> list[str]:
        """One for each thing that is wrong, and first that the starting weights are others."""
        return [message for message in (self._other_weights(), *super().messages()) if message is not None]

    def _other_weights(self) -> str | None:
        if self.asked is None:
            return None
        best, own = self.asked.own, self.choice.own
        return (
            f"class_weight={self.class_weight!r} does not suit max_violation={self.settings.max_violation:g}: on the "
            f"rows that are chosen on, the best with it has a balanced accuracy of {1 - best.ber:.3f} and a violation "
            f"of {best.violation:.3f}. class_weight=None was used, which has {1 - own.ber:.3f} and {own.violation:.3f}"
        )

    def _free_choice(self) -> Choice:
        return super()._free_choice() if self.free is None else self.free

    def _is_useless(self, choice: Choice) -> bool:
        return hardly_predicts_a_class(choice.chosen)

    def _one_column_decides(self) -> str | None:
        return None

    def _few_learners(self) -> str | None:
        return None
