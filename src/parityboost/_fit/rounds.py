"""One round of boosting, lines 3 to 10 of Algorithm 1, and what it leaves behind.

The heart of a round needs nothing but ``counts[group, y_true, y_pred]``: of the partial ensemble H_{1:j}, or of the
weak learner h_j alone when the costs are not cumulative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Floats
from .._choice.rule import COUNTED_RATES
from .._choice.settings import Settings
from .._engine.kernels.boosting import PERFECT_ERROR, Charges, alpha_of, charge
from .._engine.kernels.passes import ABOVE_THRESHOLD, ABOVE_ZERO, BY_LEARNER
from .._model.grid import ALPHA_GRID
from ..notions import FairnessNotion, Gap


class Trained(NamedTuple):
    """A weak learner h_j trained on D^j, as the round needs it; only ``model`` outlives the round."""

    model: Any
    error: float  # Σ D_i [h(x_i) ≠ y_i], D summing to one
    votes: Floats  # h in each leaf: -1 or +1, or any number if the update is "real"
    shares: Floats  # of a leaf's weight that belongs to the class it votes for
    leaf_mass: Any  # sample weight per [leaf, class], an array or what becomes one when it is read


class Round(NamedTuple):
    """What one round of boosting leaves behind."""

    model: Any  # what remains of the weak learner h_j
    alpha: float
    error: float  # of h_j under D^j
    z: float  # normalisation factor Z_j, Eq. (15)
    cost_counts: Floats  # the counts that the costs were taken from
    costs: Floats  # u[group, class]
    train_counts: Floats  # of the partial ensemble, at the given threshold (at 0 if it is chosen per round)
    selection_counts: Floats  # the same of the rows that θ is chosen on, where they are counted
    steps: Floats  # what it moves the margins in its leaves by
    leaves: Any  # of the rows that θ is chosen on, where the threshold is chosen from them; until the next round


class OneByOne:
    """Boosts one round at a time, with any weak learner and any notion.

    Parameters
    ----------
    learner : TreeLearner or EstimatorLearner
        Who has the rows and their weights.
    settings : Settings
        What is to be done.
    """

    most = 1

    def __init__(self, learner: Any, settings: Settings) -> None:
        self._learner, self._settings = learner, settings
        self._costs = costs_of(settings)

    def next(self, n_rounds: int) -> tuple[list[Round], str | None]:
        """The next round, and why there are no more of them."""
        learner, settings = self._learner, self._settings
        is_real = settings.update == "real"  # votes of any size have their weight in them
        threshold = 0.0 if isinstance(settings.threshold, str) else settings.threshold
        train, others = learner.train, learner.selection
        h = learner.fit()
        alpha = 1.0 if is_real else alpha_of(1.0 - h.error, h.error, settings.learning_rate, ALPHA_GRID)
        if alpha <= 0.0 or (is_real and not h.votes.any()):
            return [], "termination"

        def move(rows: Any, steps: Floats) -> Any:
            return rows.move_margins(steps, threshold, not settings.cumulative)

        positives = move(learner.rows, alpha * h.votes)
        of_others, given = positives, alpha  # what the rows that θ is chosen on have been told of α
        if others is not train:
            if settings.costs_from == "validation":
                of_others = move(learner.selection_rows, alpha * h.votes)
            else:
                given = 0.0
        kind = ABOVE_ZERO if settings.cumulative else BY_LEARNER
        by_others = settings.costs_from == "validation"
        counts = _counts(others, of_others, kind) if by_others else _counts(train, positives, kind)
        u = self._costs(counts)
        if settings.learner_weight == "cost":
            # Eq. (22) needs C, which needs H_{1:j}, which needs α: the α so far was provisional.
            wrong = float(((1.0 + u) * learner.wrong_weight(h)).sum())
            final = alpha_of(1.0 - h.error, wrong, settings.learning_rate, ALPHA_GRID)
            if final <= 0.0:  # Eq. (23) does not hold
                return [], "termination"
            positives = move(learner.rows, (final - alpha) * h.votes)
            alpha = final
        if others is train:
            of_others = positives
        elif given != alpha:
            of_others = move(learner.selection_rows, (alpha - given) * h.votes)
        # C = 1 + u, line 6 of Algorithm 1: costs only ever boost.
        growth = learner.reweight(h, 1.0 + u, alpha, settings.update)
        z = growth if is_real else math.exp(-alpha) * growth
        train_counts = _counts(train, positives, ABOVE_THRESHOLD)
        selection_counts = _counts(others, of_others, ABOVE_THRESHOLD)
        found = Round(h.model, alpha, h.error, z, counts, u, train_counts, selection_counts, alpha * h.votes, None)
        return [found], "perfect" if h.error <= PERFECT_ERROR else None


def _counts(sample: Any, positives: Any, kind: int) -> Floats:
    """``counts[group, y_true, y_pred]``, read only now: what is elsewhere may answer several questions at once."""
    counts: Floats = sample.counts(np.asarray(positives)[:, kind])
    return counts


def costs_of(settings: Settings) -> Callable[[Floats], Floats]:
    """From counts to costs: those of our own notions are compiled."""
    charges = charges_of(settings.notion, settings.epsilon)
    if charges is None:
        return lambda counts: settings.notion.costs(counts, settings.epsilon)

    def costs(counts: Floats) -> Floats:
        rates, found = np.empty(len(counts)), np.empty((len(counts), 2))
        charge(np.ascontiguousarray(counts), charges, rates, found)
        return found

    return costs


def charges_of(notion: FairnessNotion, epsilon: float) -> Charges | None:
    """What a kernel makes groups pay for; None if the notion has costs or rates of its own."""
    gaps = notion.gaps
    costs = getattr(notion.costs, "__func__", None)
    if costs is not FairnessNotion.costs or not all(_is_plain(gap) for gap in gaps):
        return None
    boosts, ahead = np.zeros((2, len(gaps), 2), dtype=np.bool_)
    for k, gap in enumerate(gaps):
        boosts[k, list(gap.boosts)], ahead[k, list(gap.boosts_ahead)] = True, True
    kinds = np.array([COUNTED_RATES.index(gap.rate) for gap in gaps], dtype=np.int64)
    high_is_good = np.array([gap.high_is_good for gap in gaps], dtype=np.bool_)
    return Charges(kinds, high_is_good, boosts, ahead, float(epsilon))


def _is_plain(gap: Gap) -> bool:
    known = type(gap) is Gap and gap.rate in COUNTED_RATES
    return known and all(
        type(labels) is tuple and labels in ((), (0,), (1,), (0, 1), (1, 0))
        for labels in (gap.boosts, gap.boosts_ahead)
    )
