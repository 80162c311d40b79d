"""Figures of a model, of its training and of its predictions. Needs matplotlib: ``pip install 'parityboost[plot]'``.

Every function draws on the ``ax`` it is given, or on a new figure, and returns the Axes. Colours are those of Okabe and
Ito, which people with any colour vision can tell apart; what a line or bar stands for is written beside it.
"""

from ._groups import group_bars
from ._models import gap_decomposition, importances, shape_function, waterfall
from ._pairs import pair
from ._scores import reliability
from ._training import costs, frontier, history, tradeoff_c, tradeoff_theta

__all__ = [
    "costs",
    "frontier",
    "gap_decomposition",
    "group_bars",
    "history",
    "importances",
    "pair",
    "reliability",
    "shape_function",
    "tradeoff_c",
    "tradeoff_theta",
    "waterfall",
]
