"""AdaFair's loop (Algorithm 1 of the paper) and the choice of θ.

The heart of a round needs nothing but ``counts[group, y_true, y_pred]``: of the partial ensemble H_{1:j}, or of the
weak learner h_j alone when the costs are not cumulative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Floats
from .._choice.rule import Choice, Rounds, is_constant
from .._choice.settings import Settings
from .._model.grid import on_grid
from .learners.base import Learner
from .ranking import Ranking

# A learner with less weighted error than this is perfect: there is nothing left to boost.
PERFECT = 1e-10
MAX_TOGETHER = 32  # rounds that are boosted in one call


class Round(NamedTuple):
    """What one round of boosting leaves behind."""

    model: Any  # what remains of the weak learner h_j
    alpha: float
    error: float  # of h_j under D^j
    z: float  # normalisation factor Z_j, Eq. (15)
    cost_counts: Floats  # the counts that the costs were taken from
    costs: Floats  # u[group, class]
    train_counts: Floats  # of the partial ensemble, at the given threshold (at 0 if it is chosen per round)
    steps: Floats  # what it moves the margins in its leaves by


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
    learner: Learner,
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
    notion, train, selection = settings.notion, learner.train, learner.selection
    watched = selection if settings.costs_from == "validation" else train
    offers = Rounds(settings, unit)
    threshold, is_ranked = 0.0, False
    if isinstance(settings.threshold, str):
        ranking = Ranking(selection, settings, unit)
        is_ranked = ranking.is_here and watched is train  # and needs no margins besides
    else:
        threshold = settings.threshold
    # With the usual settings the costs are taken from the very counts that the round's record holds.
    counted_already = (
        watched is train and settings.cumulative and settings.learner_weight == "error" and threshold == 0.0
    )
    is_real = settings.update == "real"  # votes of any size have their weight in them
    watch_objective = on_round is not None or settings.n_iter_no_change is not None
    rounds: list[Round] = []
    stopped = "n_estimators"

    def look_at_thresholds() -> None:
        if check is not None:
            check()
        for found in ranking.look():
            offers.add_measured(found)

    # Where nobody watches and all is known beforehand, rounds need not be asked for one by one.
    if counted_already and not watch_objective and (is_ranked or settings.threshold == 0.0):
        several = learner.several(settings, ranking.most if is_ranked else MAX_TOGETHER)
        if several is not None:
            why: str | None = None
            while why is None and len(rounds) < settings.n_estimators:
                found, why = several.next(min(several.most, settings.n_estimators - len(rounds)))
                rounds += [record for _, record in found]
                if is_ranked:
                    for leaves, record in found:
                        ranking.note(leaves, record.steps)
                    look_at_thresholds()
                else:
                    for counts, _ in found:
                        offers.add_counts(counts)
            return _ended(rounds, offers, why or stopped, settings)

    for j in range(1, settings.n_estimators + 1):
        h = learner.fit()
        alpha = 1.0 if is_real else learner_weight(1.0 - h.error, h.error, settings.learning_rate)
        if alpha <= 0.0 or (is_real and not h.votes.any()):
            stopped = "termination"
            break
        steps = alpha * h.votes
        train.move_margins(h.leaves, steps, threshold, not settings.cumulative)
        selection_leaves = h.leaves if selection is train else learner.selection_leaves(h)
        given = 0.0  # of α to the rows that θ is chosen on
        if watched is not train:
            given = alpha
            watched.move_margins(selection_leaves, steps, threshold, not settings.cumulative)
        counts = watched.ensemble_counts() if settings.cumulative else watched.learner_counts()
        u = notion.costs(counts, settings.epsilon)
        if settings.learner_weight == "cost":
            # Eq. (22) needs C, which needs H_{1:j}, which needs α: the α so far was provisional.
            wrong = float(((1.0 + u) * learner.wrong_weight(h)).sum())
            final = learner_weight(1.0 - h.error, wrong, settings.learning_rate)
            if final <= 0.0:  # Eq. (23) does not hold
                stopped = "termination"
                break
            train.move_margins(h.leaves, (final - alpha) * h.votes, threshold)
            alpha, steps = final, final * h.votes
        if selection is not train and given != alpha and not is_ranked:
            selection.move_margins(selection_leaves, (alpha - given) * h.votes if given else steps, threshold)
        # C = 1 + u, line 6 of Algorithm 1: costs only ever boost.
        growth = learner.reweight(h, 1.0 + u, alpha, settings.update)
        z = growth if is_real else math.exp(-alpha) * growth

        if isinstance(settings.threshold, str):
            ranking.note(selection_leaves, steps)
            if watch_objective or ranking.is_full:
                look_at_thresholds()
        else:
            offers.add_counts(selection.threshold_counts())
        train_counts = counts if counted_already else train.threshold_counts()
        rounds.append(Round(h.model, alpha, h.error, z, counts, u, train_counts, steps))
        if watch_objective:
            choice = offers.choose()
            if on_round is not None:
                on_round(j, rounds[-1], float(choice.measures.objective[-1]), choice.theta)
        if h.error <= PERFECT:
            stopped = "perfect"
            break
        # As long as the best model predicts one class for everyone, there is something to wait for.
        if (
            settings.n_iter_no_change is not None
            and j - choice.theta >= settings.n_iter_no_change
            and not is_constant(choice.chosen)
        ):
            stopped = "no_change"
            break
    if isinstance(settings.threshold, str):
        look_at_thresholds()
    return _ended(rounds, offers, stopped, settings)


def _ended(rounds: list[Round], offers: Rounds, stopped: str, settings: Settings) -> Boosted:
    if not rounds:
        raise ValueError(
            "the first weak learner is no better than chance under the starting weights, so the ensemble cannot be "
            "fitted: check that the columns of X say something about y, or use a stronger estimator"
            + (' or learner_weight="error"' if settings.learner_weight == "cost" else "")
        )
    return Boosted(rounds, offers.choose(), stopped)


def learner_weight(right: float, wrong: float, rate: float = 1.0) -> float:
    """α = ½ ln(right / wrong), on the grid that makes sums of α exact; 0 when it would not be positive."""
    if right <= wrong:
        return 0.0
    return max(on_grid(rate * (0.5 * math.log(right / max(wrong, PERFECT)))), 0.0)


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
