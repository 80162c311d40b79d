"""Which pairs of features may occur together in a tree: those that say most beyond what each says on its own.

A model of a hundred tables is read by no one. So some rounds are boosted with every pair allowed, on the rows that one
bag trains on, and only the strongest pairs are boosted from then on. If functions of one feature each, or stumps, do as
well on the rows that the bag holds out, there are no pairs: on small tables they mostly fit noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import ALPHA_GRID
from .._choice.wishes import Settings
from .._model.tables import Effects
from .loop import boost

# Rounds to choose pairs by; of many rows more, which tell more pairs apart (chosen on ACSIncome's validation part).
ROUNDS, MANY_ROUNDS, MANY_ROWS = 50, 100, 100_000
N_BUCKETS = 1 << 12


class Shape(NamedTuple):
    """What trees may ask about."""

    depth: int
    partners: NDArray[np.bool_]  # [set, column]: a tree asks only about columns of one set, or about one column


def choose_pairs(
    learner_of: Callable[[Shape], AbstractContextManager[Any]],
    offered: Shape,
    settings: Settings,
    most: int,
    n_rows: float,
) -> Shape:
    """The strongest of the pairs that are offered, if any are worth their while; of so many rows."""
    n_rounds = min(MANY_ROUNDS if n_rows >= MANY_ROWS else ROUNDS, settings.n_estimators)
    settings = replace(settings, threshold=0.0, n_estimators=n_rounds, n_iter_no_change=None, max_violation=None)
    none = offered.partners[:0]
    shapes = [Shape(1, none), Shape(offered.depth, none)]
    losses = []
    for shape in (*shapes, offered):
        with learner_of(shape) as learner:
            boosted = boost(learner, settings)
            losses.append(_held_out_loss(learner))
            if shape is offered:
                ensemble = learner.ensemble([record.model for record in boosted.rounds], boosted.alphas)
                strengths = pair_strengths(ensemble.effects(len(boosted.rounds)))
    chosen = sorted(strengths, key=lambda pair: (-strengths[pair], pair))[:most]
    partners = np.zeros((len(chosen), offered.partners.shape[1]), dtype=np.bool_)
    for k, pair in enumerate(chosen):
        partners[k, list(pair)] = True
    shapes.append(Shape(offered.depth, partners))
    return shapes[losses.index(min(losses))]


def pair_strengths(effects: Effects) -> dict[tuple[int, int], float]:
    """How far each pair moves the score of a row, on average of squares, beyond what its features do on their own."""
    strengths = {}
    for pair in effects.pure.pairs:
        total = pair.weight.sum()
        strengths[pair.features] = math.sqrt((pair.weight * pair.scores**2).sum() / total) if total > 0.0 else 0.0
    return strengths


def _held_out_loss(learner: Any) -> float:
    """The mean logistic loss of the rows that were held out, where each class weighs the same.

    Margins are counted in buckets, so that neither the order of the rows nor where they are changes a bit.
    """
    from .._engine.kernels.thresholds import buckets_between

    rows, n_groups = learner.selection_rows, learner.selection.n_groups
    shift, lowest = buckets_between(*rows.margin_range(), ALPHA_GRID, N_BUCKETS)
    counts = rows.count_margins(ALPHA_GRID, shift, lowest, N_BUCKETS + 1).reshape(-1, 2, n_groups).sum(axis=2)
    centres = ALPHA_GRID * 2.0**shift * (lowest + np.arange(len(counts)) + 0.5)
    losses = np.logaddexp(0.0, 2.0 * np.outer(centres, [1.0, -1.0]))
    return float(((counts * losses).sum(axis=0) / np.maximum(counts.sum(axis=0), 1)).sum())
