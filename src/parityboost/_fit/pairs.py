"""Which pairs of features may occur together in a tree: those that say most beyond what each says on its own.

A model of a hundred tables is read by no one. So some rounds are boosted with every pair allowed, on the rows that one
bag trains on, and only the strongest pairs are boosted from then on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._choice.settings import Settings
from .._model.tables import Effects
from .loop import boost

ROUNDS = 100


def choose_pairs(learner: Any, settings: Settings, most: int) -> NDArray[np.bool_]:
    """The strongest pairs, as sets of columns ``[set, column]``; ``learner`` may ask about all pairs."""
    n_rounds = min(ROUNDS, settings.n_estimators)
    settings = replace(settings, threshold=0.0, n_estimators=n_rounds, n_iter_no_change=None, max_violation=None)
    boosted = boost(learner, settings)
    ensemble = learner.ensemble([record.model for record in boosted.rounds], boosted.alphas)
    effects: Effects = ensemble.effects(len(boosted.rounds))
    strengths = pair_strengths(effects)
    chosen = sorted(strengths, key=lambda pair: (-strengths[pair], pair))[:most]
    partners = np.zeros((len(chosen), len(effects.tables)), dtype=np.bool_)
    for k, pair in enumerate(chosen):
        partners[k, list(pair)] = True
    return partners


def pair_strengths(effects: Effects) -> dict[tuple[int, int], float]:
    """How far each pair moves the score of a row, on average of squares, beyond what its features do on their own."""
    return {pair.features: _deviation(pair.scores, pair.weight) for pair in effects.pure.pairs}


def _deviation(scores: Floats, weight: Floats) -> float:
    total = weight.sum()
    return float(np.sqrt((weight * scores**2).sum() / total)) if total > 0.0 else 0.0
