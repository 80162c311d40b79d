"""Which pairs of features may occur together in a tree: those that say most beyond what each says on its own.

A model of a hundred tables is read by no one. So some rounds are boosted with every pair allowed, on the rows that one
bag trains on, and only the strongest pairs are boosted from then on: none, if on the rows that the bag holds out they
are worth no more than chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._choice.settings import Settings
from .._model.tables import Effects
from .loop import boost

ROUNDS = 100
# Pairs are worth their while if the held-out loss falls by so many standard errors of the mean difference.
BEYOND_CHANCE = 1.0

Partners = NDArray[np.bool_]  # [set, column]: a tree asks only about columns of one set, or about one column


def choose_pairs(
    make_learner: Callable[[Partners], Any], offered: Partners, settings: Settings, most: int, unit: float
) -> Partners:
    """The strongest of the pairs that are offered, as sets of two columns; a weight of one stands for ``unit`` rows."""
    n_rounds = min(ROUNDS, settings.n_estimators)
    settings = replace(settings, threshold=0.0, n_estimators=n_rounds, n_iter_no_change=None, max_violation=None)
    none = offered[:0]
    if most == 0 or not (offered.sum(axis=1) > 1).any():
        return none
    learner = make_learner(offered)
    boosted = boost(learner, settings)
    ensemble = learner.ensemble([record.model for record in boosted.rounds], boosted.alphas)
    strengths = pair_strengths(ensemble.effects(len(boosted.rounds)))
    chosen = sorted(strengths, key=lambda pair: (-strengths[pair], pair))[:most]
    with_pairs = _Loss.of(learner, unit)
    del learner
    alone = make_learner(none)
    boost(alone, settings)
    if not with_pairs.is_below(_Loss.of(alone, unit)):
        return none
    partners = np.zeros((len(chosen), offered.shape[1]), dtype=np.bool_)
    for k, pair in enumerate(chosen):
        partners[k, list(pair)] = True
    return partners


def pair_strengths(effects: Effects) -> dict[tuple[int, int], float]:
    """How far each pair moves the score of a row, on average of squares, beyond what its features do on their own."""
    strengths = {}
    for pair in effects.pure.pairs:
        total = pair.weight.sum()
        strengths[pair.features] = float(np.sqrt((pair.weight * pair.scores**2).sum() / total)) if total > 0.0 else 0.0
    return strengths


class _Loss(NamedTuple):
    """The logistic loss of rows that were held out: each class weighs the same in all."""

    values: Floats
    factors: Floats  # what a row of its class weighs
    rows: Floats  # how many there are

    @classmethod
    def of(cls, learner: Any, unit: float) -> _Loss:
        margin, cell, mass = learner.selection_rows.list_margins()
        positive = np.asarray(cell) >= learner.selection.n_groups
        rows = unit * learner.selection.masses.unit * (mass if len(mass) else np.ones(len(margin)))
        factors = np.empty(len(margin))
        for of_class in (positive, ~positive):
            factors[of_class] = 1.0 / rows[of_class].sum()
        return cls(np.logaddexp(0.0, np.where(positive, -2.0, 2.0) * margin), factors, rows)

    def is_below(self, other: _Loss) -> bool:
        """Whether the mean loss of the same rows is lower beyond chance."""
        gain = other.values - self.values
        weight = self.rows * self.factors
        mean = _sum(weight * gain) / _sum(weight)
        error = math.sqrt(_sum(weight * self.factors * (gain - mean) ** 2)) / _sum(weight)
        return mean > BEYOND_CHANCE * error


def _sum(values: Floats) -> float:
    """Rounded once, so that no order of the rows changes a bit."""
    return math.fsum(values.tolist())
