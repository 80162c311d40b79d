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
import pandas as pd
from numpy.typing import NDArray

from ._choice import Choice, Rounds, is_constant
from ._ensemble import on_grid
from ._learners import Learner
from ._rates import balanced_error_rate, error_rate
from ._samples import Sample
from ._settings import Settings
from ._thresholds import candidates

Floats = NDArray[np.float64]

# A learner with less weighted error than this is perfect: there is nothing left to boost.
PERFECT = 1e-10


class Round(NamedTuple):
    """What one round of boosting leaves behind."""

    hypothesis: Any
    alpha: float
    error: float  # of h_j under D^j
    z: float  # normalisation factor Z_j, Eq. (15)
    cost_counts: Floats  # the counts that the costs were taken from
    costs: Floats  # u[group, class]
    train_counts: Floats  # of the partial ensemble, at the given threshold (at 0 if it is chosen per round)


@dataclass(frozen=True)
class Boosted:
    """The outcome of :func:`boost`."""

    rounds: list[Round]
    choice: Choice
    stopped: str  # why training ended: "n_estimators", "perfect", "termination" or "no_change"

    @property
    def alphas(self) -> Floats:
        return np.array([r.alpha for r in self.rounds])


def boost(
    learner: Learner,
    settings: Settings,
    on_round: Callable[[int, Round, float, int], None] | None = None,
    unit: float = 1.0,
) -> Boosted:
    """Train up to T weak learners and choose θ.

    ``learner.scored`` holds the rows that θ is chosen on, and may be ``learner.train`` itself. ``on_round`` is told the
    number of the round, the round, its objective, and the best round so far. ``unit`` is the number of rows that a
    weight of one on the scored rows stands for.
    """
    notion, train, scored = settings.notion, learner.train, learner.scored
    watched = scored if settings.costs_from == "validation" else train
    offers = Rounds(settings, unit)
    threshold = 0.0 if isinstance(settings.threshold, str) else settings.threshold
    watch_objective = on_round is not None or settings.n_iter_no_change is not None
    rounds: list[Round] = []
    stopped = "n_estimators"
    for j in range(1, settings.n_estimators + 1):
        h = learner.fit()
        alpha = learner_weight(1.0 - h.error, h.error)
        if alpha <= 0.0:
            stopped = "termination"
            break
        column = h.column(scored=False)
        left, right_vote, left_vote = h.left, h.right_vote, h.left_vote
        train.advance(column, left, alpha * right_vote, alpha * left_vote, threshold, not settings.cumulative)
        given = 0.0  # of α to the rows that θ is chosen on
        if watched is not train:
            given = alpha
            scored_column = h.column(scored=True)
            watched.advance(
                scored_column, left, alpha * right_vote, alpha * left_vote, threshold, not settings.cumulative
            )
        counts = watched.ensemble_counts() if settings.cumulative else watched.learner_counts()
        u = notion.costs(counts, settings.epsilon)
        if settings.learner_weight == "cost":
            # Eq. (22) needs C, which needs H_{1:j}, which needs α: the α so far was provisional.
            wrong = float(((1.0 + u) * h.wrong_weight()).sum())
            final = learner_weight(1.0 - h.error, wrong)
            if final <= 0.0:  # Eq. (23) does not hold
                stopped = "termination"
                break
            train.advance(column, left, (final - alpha) * right_vote, (final - alpha) * left_vote, threshold)
            alpha = final
        if scored is not train and given != alpha:
            rest = alpha - given
            scored.advance(h.column(scored=True), left, rest * right_vote, rest * left_vote, threshold)
        # C = 1 + u, line 6 of Algorithm 1: costs only ever boost.
        growth = h.reweight(1.0 + u, alpha, settings.update == "confidence")
        z = math.exp(-alpha) * growth

        if isinstance(settings.threshold, str):
            offers.add_candidates(candidates(scored.margin, scored.cell, scored.sample_weight, scored.totals))
        else:
            offers.add_counts(scored.threshold_counts())
        rounds.append(Round(h, alpha, h.error, z, counts, u, train.threshold_counts()))
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
    if not rounds:
        raise ValueError(
            "the first weak learner is no better than chance under the starting weights, so the ensemble cannot be "
            "fitted: check that the columns of X say something about y, or use a stronger estimator"
            + (' or learner_weight="error"' if settings.learner_weight == "cost" else "")
        )
    return Boosted(rounds, offers.choose(), stopped)


def learner_weight(right: float, wrong: float) -> float:
    """α = ½ ln(right / wrong), on the grid that makes sums of α exact; 0 when it would not be positive."""
    if right <= wrong:
        return 0.0
    return max(on_grid(0.5 * math.log(right / max(wrong, PERFECT))), 0.0)


def starting_weights(train: Sample, class_weight: str | Floats | None) -> Floats:
    """D¹ in the order of ``train``: the sample weights, with equal mass per class or per (class, group) cell, or scaled
    by a factor for each of the two classes.
    """
    weights = train.sample_weight.copy() if len(train.sample_weight) else np.ones(len(train))
    if class_weight is None:
        factors = np.ones((train.n_groups, 2))
    elif isinstance(class_weight, np.ndarray):
        factors = np.broadcast_to(class_weight, (train.n_groups, 2))
    elif class_weight == "balanced":
        factors = np.broadcast_to(1.0 / train.totals.sum(axis=0), (train.n_groups, 2))
    else:
        with np.errstate(divide="ignore"):  # an empty cell has no rows that would read its factor
            factors = 1.0 / train.totals
    for cell, first, last in train.blocks:
        weights[first:last] *= factors[cell % train.n_groups, cell // train.n_groups]
    weights /= weights.sum()
    return weights


def history(
    boosted: Boosted,
    settings: Settings,
    groups: list[str],
    labels: list[str],
    columns: list[str] | None,
    has_validation: bool,
) -> pd.DataFrame:
    """One row per round: everything that the paper draws over the rounds."""
    rounds = boosted.rounds
    notion = settings.notion
    z = np.array([r.z for r in rounds])
    table: dict[str, Any] = {"alpha": boosted.alphas, "error": [r.error for r in rounds]}
    if columns is not None:
        table["feature"] = [columns[r.hypothesis.stump.feature] for r in rounds]
    cost_counts = np.array([r.cost_counts for r in rounds])
    for name, delta in notion.deltas(cost_counts).items():
        table[f"delta_{name}"] = delta
    costs = np.array([r.costs for r in rounds])
    boosted_classes = sorted({label for gap in notion.gaps for label in (*gap.boosts, *gap.boosts_ahead)})
    for k, group in enumerate(groups):
        for label in boosted_classes:
            table[f"cost[{group}, {labels[label]}]"] = costs[:, k, label]
    table["Z"] = z
    # The bound holds for ±1 votes, i.e. for the discrete update (Eq. 20 with γ = 1, as every C ≥ 1).
    table["bound"] = np.cumprod(z) if settings.update == "discrete" else np.full(len(z), np.nan)
    scored_counts = boosted.choice.counts
    if has_validation:
        measured = {"train": np.array([r.train_counts for r in rounds]), "validation": scored_counts}
    else:
        measured = {"train": scored_counts}
    for prefix, counts in measured.items():
        table[f"{prefix}_er"] = error_rate(counts)
        table[f"{prefix}_ber"] = balanced_error_rate(counts)
        table[f"{prefix}_violation"] = notion.violation(counts)
        table[f"{prefix}_objective"] = notion.objective(counts, settings.c)
    if boosted.choice.thresholds.ndim == 1:
        table["threshold"] = boosted.choice.thresholds
    else:
        table |= {f"threshold[{group}]": boosted.choice.thresholds[:, k] for k, group in enumerate(groups)}
    return pd.DataFrame(table, index=pd.RangeIndex(1, len(rounds) + 1, name="round"))
