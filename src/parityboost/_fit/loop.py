"""AdaFair's loop (Algorithm 1 of the paper) and the choice of θ."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Floats
from .._choice.counting import Counting
from .._choice.rule import Choice, Rounds, is_constant
from .._choice.settings import Settings
from .._choice.watching import Watch
from .rounds import OneByOne, Round

MAX_TOGETHER = 32  # rounds that are boosted in one call


@dataclass(frozen=True)
class Boosted:
    """The outcome of :func:`boost`."""

    rounds: list[Round]
    choice: Choice
    stopped: str  # why training ended: "n_estimators", "perfect", "termination" or "no_change"

    @property
    def alphas(self) -> Floats:
        return np.array([r.alpha for r in self.rounds])

    def largest_margin(self, theta: int) -> float:
        """The largest margin that the first θ learners could give."""
        return math.fsum(float(np.abs(r.steps).max()) for r in self.rounds[:theta])


def boost(
    learner: Any,
    settings: Settings,
    on_round: Callable[[int, Round, float, int], None] | None = None,
    unit: float = 1.0,
    check: Callable[[], None] | None = None,
) -> Boosted:
    """Train up to T weak learners and choose θ.

    ``learner.selection`` holds the rows that θ is chosen on, and may be ``learner.train`` itself. ``on_round`` is told
    the number of the round, the round, its objective, and the best round so far. ``unit`` is the number of rows that a
    weight of one stands for there. ``check`` is called now and then; what it raises ends the training.
    """
    offers = Rounds(settings, unit)
    counting, most = None, MAX_TOGETHER
    if isinstance(settings.threshold, str):
        counting = Counting(learner.selection, learner.selection_rows, settings, unit)
        most = counting.most
    way = learner.several(settings, most, counting is not None) or OneByOne(learner, settings)
    rounds: list[Round] = []
    stopped: str | None = None
    patience = math.inf if settings.n_iter_no_change is None else settings.n_iter_no_change
    watch = Watch(offers)
    due = 1.0 if on_round is not None else 1.0 + patience  # the first round after which there is something to do
    while stopped is None and len(rounds) < settings.n_estimators:
        n_next = min(_next_rounds(way.most, due - len(rounds)), settings.n_estimators - len(rounds))
        found, stopped = way.next(n_next)
        if check is not None:
            check()
        rounds += [record._replace(leaves=None) for record in found]
        if counting is None:
            for record in found:
                offers.add_counts(record.selection_counts)
        else:
            for measured in counting.look(found):
                offers.add_measured(measured)
        is_last = stopped is not None or len(rounds) == settings.n_estimators
        if len(rounds) < due and not (is_last and due < math.inf):
            continue
        for j, theta, objective in watch.update():
            if on_round is not None:
                on_round(j, rounds[j - 1], objective, theta)
            # As long as the best model predicts one class for everyone, there is something to wait for.
            if j - theta >= patience and not is_constant(watch.chosen):
                if not (stopped == "perfect" and j == len(rounds)):
                    stopped = "no_change"
                del rounds[j:]  # those after it were made in vain
                offers.keep_first(j)
                break
        if on_round is None:
            due = max(watch.theta + patience, len(rounds) + 1)
    if not rounds:
        raise ValueError(
            "the first weak learner is no better than chance under the starting weights, so the ensemble cannot be "
            "fitted: check that the columns of X say something about y, or use a stronger estimator"
            + (' or learner_weight="error"' if settings.learner_weight == "cost" else "")
        )
    return Boosted(rounds, offers.choose(), stopped or "n_estimators")


def _next_rounds(most: int, until_due: float) -> int:
    """How many rounds to boost in one call, so that few are made in vain and no call makes hardly any."""
    if not most / 2 <= until_due < math.inf:
        return most
    return math.ceil(until_due / math.ceil(until_due / most))


def starting_factors(totals: Floats, class_weight: str | Floats | None) -> Floats:
    """What D¹ multiplies the sample weights of each cell by.

    That is equal mass per class or per (class, group) cell, or a given factor for each of the two classes.
    ``totals[group, class]`` is the sample weight of each cell.
    """
    if class_weight is None:
        factors = np.ones_like(totals)
    elif isinstance(class_weight, np.ndarray):
        factors = np.broadcast_to(class_weight, totals.shape)
    elif class_weight == "balanced":
        factors = np.broadcast_to(1.0 / totals.sum(axis=0), totals.shape)
    else:  # an empty cell has no rows that would read its factor
        factors = 1.0 / np.where(totals > 0.0, totals, 1.0)
    return factors.T.ravel()
