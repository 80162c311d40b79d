"""What `fit` says about a model that may be of no use: the culprit, and a remedy that was tried.

Other choices of θ and the threshold are choices among the rounds of the same run, so whether they would help is not
guessed: they are made, on the rows that θ was chosen on, before they are recommended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Floats
from .._choice.frontier import SelectionData
from .._choice.rule import Choice, Rounds
from .._choice.thresholds import candidates, highest_violation
from .._choice.wishes import SAME_OBJECTIVE, Settings, Wishes
from .._model.glass_box import NO_WISHES, About
from .._stats.rates import balanced_error_rate
from .._table.grouping import MANY_UNKNOWN, first_few, group_names, views_of
from .loop import Boosted

# A class that is predicted so much less often than it occurs is hardly predicted at all.
HARDLY_PREDICTED = 0.1
FEW_LEARNERS = 2
MANY_GROUPS = 20
FEW_EXAMPLES = 10  # a rate of fewer is off by more than 0.15 every third time
NEARLY_PERFECT = 0.01  # balanced error of one column
SIZEABLE = 0.1  # a difference in a rate that is worth a word: ten points
MAX_ROWS_TO_TRY = 1 << 16  # remedies are tried on a part of more rows than this
NO_REMEDY = (
    "No other θ or threshold of this run was found to do better: the columns of X say too little about the target, or "
    "the groups are too many or too small to be made equal"
)


def choose_again(selection: SelectionData, settings: Settings, unit: float, all_rows: bool = False) -> Choice:
    """What other settings would have chosen; on every so many rows if there are very many."""
    step = 1 if all_rows else -(-len(selection.cell) // MAX_ROWS_TO_TRY)
    part = replace(selection, cell=selection.cell[::step], weight=selection.weight[::step])
    rounds, totals = Rounds(settings, unit * step), part.totals
    for margin in selection.margins():
        if isinstance(settings.threshold, str):
            rounds.add(candidates(margin[::step], part.cell, part.weight, totals))
        else:
            rounds.add(part.counts(margin[::step] > settings.threshold))
    return rounds.choose()


def at_cap(trainings: Sequence[Boosted], settings: Settings) -> list[str]:
    """Whether trainings that would have stopped by themselves had to end at the last round."""
    n_capped = sum(boosted.stopped == "n_estimators" for boosted in trainings)
    if settings.n_iter_no_change is None or n_capped == 0:
        return []
    return [
        f"{n_capped} of {len(trainings)} trainings made all n_estimators={settings.n_estimators} rounds: each had "
        f"found a better choice in the last {settings.n_iter_no_change}, so more rounds may be better. Give a larger "
        "n_estimators, or a larger learning_rate, with which fewer are needed"
    ]


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
class Fitted:
    """A run of boosting and its choice, as advice looks at it; an average of several runs has no rounds and no θ."""

    boosted: Boosted
    about: About
    selection: SelectionData | None  # None if nothing was chosen
    unit: float  # number of rows that a weight of one stands for
    columns: list[str] | None = None
    # Of an average the choice for other wishes, None if nothing keeps them; and what the user wished.
    again: Callable[[dict[str, Any]], Choice | None] | None = None
    wishes: Wishes = NO_WISHES

    def messages(self) -> list[str]:
        """One for each thing that is wrong, the gravest first."""
        if self.selection is None:
            return []
        choice, settings = self.boosted.choice, self.about.settings
        found: list[str | None] = []
        leak = self._one_column_decides()
        found.append(leak)
        if np.isnan(choice.own.objective):
            found.append(
                f"in no round is the violation of {settings.notion.name!r} defined on the rows that θ is chosen on, "
                "so the first is used: fewer than two groups have a rate there. Give more rows, or merge groups"
            )
        found.append(None if leak else self._of_little_use() or self._nothing_mitigated())
        if settings.max_violation is not None:
            found.append(self._limit(settings.max_violation))
        elif self.again is not None and self.wishes.is_limited:
            found.append(self._costly_wishes(self.again({"limit": 1.0, "min_ratio": None})))
        return [message for message in (*found, *self._groups()) if message is not None]

    def _one_column_decides(self) -> str | None:
        if self.columns is None:
            return None
        first = self.boosted.rounds[0]
        ber = float(balanced_error_rate(first.train_counts))
        perfect = self.boosted.stopped == "perfect" and len(self.boosted.rounds) == 1
        if not (perfect or ber <= NEARLY_PERFECT):
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

    def _of_little_use(self) -> str | None:
        """One class for nearly everyone, or hardly a learner."""
        choice, n_rounds = self.boosted.choice, len(self.boosted.rounds)
        if hardly_predicts_a_class(choice.chosen):
            share = choice.chosen.sum(axis=(0, 1)) / choice.chosen.sum()
            label = self.about.labels.shown[int(share.argmax())]
            whom = "everyone" if share.max() == 1 else f"{100 * share.max():.1f} % of the rows"
            what = f"the model predicts {label!r} for {whom} on the data that θ was chosen on, so it is of little use. "
        elif choice.theta <= FEW_LEARNERS < n_rounds:
            learners = "weak learner is" if choice.theta == 1 else f"{choice.theta} weak learners are"
            what = f"only the first {learners} used of {n_rounds}, which is hardly a model. "
        else:
            return None
        better = [changes for changes in BETTER if changes.get("keep", 1.0) > self.about.settings.keep]
        if self.again is not None:
            # Under a limit that the user said nothing more need be given up.
            better = [] if self.wishes.is_limited else [{"limit": limit} for limit in (0.05, 0.1, 0.2)]
        return what + (self._remedy(self._is_useless, better) or NO_REMEDY)

    def _nothing_mitigated(self) -> str | None:
        """Compared with the lowest balanced error of the same run."""
        choice, settings = self.boosted.choice, self.about.settings
        if not settings.notion.gaps or settings.keep == 1 or self.wishes.is_limited:
            return None
        before, reached = float(choice.plain.judged), float(choice.own.judged)
        sizeable = reached > SIZEABLE * len(settings.notion.gaps)
        if not (sizeable and reached >= before - SAME_OBJECTIVE):
            return None
        limit = round(before / 2, 3)

        def still(choice: Choice) -> bool:
            return self._is_useless(choice) or not choice.own.judged < float(choice.plain.judged) - SAME_OBJECTIVE

        def unreached(choice: Choice) -> bool:
            return still(choice) or float(choice.own.violation) > limit

        first: list[dict[str, Any]] = [{"threshold": "auto"}]
        limited: list[dict[str, Any]] = [{"max_violation": limit}, {"max_violation": limit, "threshold": "auto"}]
        if self.again is not None:  # a limit on each gap
            first, limited = [], [{"limit": round(limit / len(settings.notion.gaps), 3)}]
        return (
            f"the violation of {settings.notion.name!r} is {reached:.3f}, no smaller than {before:.3f}, that of "
            "the plain choice of the same run, with the lowest balanced error: nothing was given up for fairness. "
        ) + (self._remedy(still, first) or self._remedy(unreached, limited) or NO_REMEDY)

    def _limit(self, limit: float) -> str | None:
        """Where a limit is not kept, or only by a much worse model."""
        own, settings = self.boosted.choice.own, self.about.settings

        def above(choice: Choice) -> bool:
            return self._is_useless(choice) or bool(choice.own.violation > highest_violation(settings))

        tries: list[dict[str, Any]] = [{"threshold": "auto"}] if self.again is None else []
        if own.violation > highest_violation(settings):
            allowed = f" that keep={settings.keep:g} allows" if settings.keep else ""
            lower = (0.25, 0.1) if self.again is None else ()
            tries += [{"keep": keep, "threshold": "auto"} for keep in lower if keep < settings.keep]
            return (
                f"no choice of θ and threshold{allowed} has a violation of at most {limit:g} on the "
                f"data that it is made on: the closest, {own.violation:.3f}, is used. "
            ) + (
                self._remedy(above, tries)
                or "No other θ or threshold reaches it, so it takes another model: other starting weights "
                "(class_weight), other columns, or a threshold for each group (threshold='per_group')"
            )
        assert self.selection is not None
        without = replace(settings, max_violation=None)
        free = choose_again(self.selection, without, self.unit).own
        if not own.ber > free.ber + SIZEABLE:
            return None

        def costly(choice: Choice) -> bool:
            # Without the limit it is no lower than the lowest.
            return above(choice) or bool(choice.own.ber > choice.plain.ber + SIZEABLE)

        return (
            f"max_violation={limit:g} costs much: on the data that the choice is made on, the "
            f"balanced accuracy is {1 - own.ber:.3f}, and without the limit {1 - free.ber:.3f} with a violation of "
            f"{free.violation:.3f}. "
        ) + (self._remedy(costly, tries) or "No other θ or threshold keeps the limit at a lower price")

    def _costly_wishes(self, free: Choice | None) -> str | None:
        """Where a limit of an average is kept at the price of a much worse model than that which is ``free`` of it."""
        if free is None:
            return None
        now, without = (1.0 - float(self.wishes.error(each.chosen)) for each in (self.boosted.choice, free))
        if not now < without - SIZEABLE:
            return None
        gap, name = float(self.about.settings.notion.largest_gap(free.chosen)), self.wishes.worth
        return (
            f"{self.wishes.limits_said} costs much: on the data that the choice is made on, the {name} is {now:.3f}, "
            f"and without the limit {without:.3f} with a gap of {gap:.3f}. alternatives() lists what there is between"
        )

    def _groups(self) -> list[str]:
        """Where rates are mostly chance: of many groups, of small ones, and where the groups of most are unknown."""
        notion, labels, counts = self.about.settings.notion, self.about.labels.shown, self.boosted.choice.chosen
        found, small = [], dict[str, str]()
        views = views_of(notion, self.about.groups)
        for view, seen in zip(views, notion.seen(counts), strict=True):
            names, by = group_names(view.groups), f" by {view.name!r}" if view.name else ""
            unknown = 1.0 - float(seen.sum() / counts.sum())
            if unknown > MANY_UNKNOWN and self.about.grouping.groups != "both":
                found.append(
                    f"the group{by} of {100 * unknown:.0f} % of the rows is unknown: what is measured of the others "
                    "says little about everyone"
                )
            if len(names) > MANY_GROUPS and notion.gaps:
                found.append(
                    f"{len(names)} groups{by}: the largest difference between so many is mostly chance. Cut columns of "
                    "numbers with bands (--bands), or merge groups"
                )
            sizes = seen.sum(axis=-1) * self.unit
            for gap in notion.gaps:
                n = sizes[:, list(gap.of)].sum(axis=1)
                what = f"of class {labels[gap.of[0]]!r}" if len(gap.of) == 1 else "rows"
                for k in np.flatnonzero((n > 0) & (n < FEW_EXAMPLES - SAME_OBJECTIVE)):
                    small.setdefault(names[k], f"{names[k]!r} ({n[k]:.3g} {what})")
        if small:
            found.append(
                f"groups with fewer than {FEW_EXAMPLES} examples among the rows that θ is chosen on: "
                f"{first_few(list(small.values()))}. Their rates are mostly chance: "
                f"{'merge groups, or ' if max(len(view.groups) for view in views) > 2 else ''}give more rows"
            )
        return found

    def _is_useless(self, choice: Choice) -> bool:
        few_learners = bool(self.boosted.rounds) and choice.theta <= FEW_LEARNERS
        return few_learners or hardly_predicts_a_class(choice.chosen)

    def _remedy(self, problem: Callable[[Choice], bool], tries: list[dict[str, Any]]) -> str | None:
        """The first of other settings of the choice that do not have the problem, with what they reach."""
        assert self.selection is not None
        now = self.boosted.choice.own
        for changes in tries:
            if self.again is not None:
                choice = self.again(changes)
            else:
                other = replace(self.about.settings, **changes)
                choice = None if other == self.about.settings else choose_again(self.selection, other, self.unit)
            if choice is not None and not problem(choice):
                named = ", ".join(f"{key}={value!r}" for key, value in changes.items())
                return (
                    f"Tried on the same rows, {named} gives a balanced accuracy of {1.0 - choice.own.ber:.3f} with a "
                    f"violation of {choice.own.violation:.3f} (now {1.0 - now.ber:.3f} and {now.violation:.3f})"
                )
        return None
