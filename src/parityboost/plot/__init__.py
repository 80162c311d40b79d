"""Figures of a model, of its training and of its predictions. Needs matplotlib: ``pip install 'parityboost[plot]'``.

Every function draws on the ``ax`` it is given, or on a new figure, and returns the Axes. Colours are those of Okabe and
Ito, which people with any colour vision can tell apart; what a line or bar stands for is written beside it.
"""

from ._figures import (
    costs,
    frontier,
    gap_decomposition,
    group_bars,
    history,
    importances,
    pair,
    reliability,
    shape_function,
    tradeoff_c,
    tradeoff_theta,
    waterfall,
)
from ._over_time import over_time

__all__ = [
    "costs",
    "frontier",
    "gap_decomposition",
    "group_bars",
    "history",
    "importances",
    "over_time",
    "pair",
    "reliability",
    "shape_function",
    "tradeoff_c",
    "tradeoff_theta",
    "waterfall",
]
