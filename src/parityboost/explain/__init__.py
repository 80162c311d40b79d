"""What a fitted model does, read off the model itself.

A sum of stumps is a sum of one step function per feature, and trees of depth two add functions of pairs of features. So
nothing here is an approximation: the contributions of an instance add up to its score, and the contributions of the
features to a gap between groups add up to the gap.

The *score* is ``decision_function``; above 0 means the positive label. (Where that is the first of ``classes_``, the
score is minus ``decision_function``, which has to speak for the second one.)

Every model of stumps or native trees can be explained:
:class:`parityboost.ParityBoostClassifier`, :class:`parityboost.AdaFairClassifier`,
:class:`parityboost.AdaBoostClassifier` and :class:`parityboost.paper.baselines.SMOTEBoostClassifier`. Only
:func:`choices_over_c` is about the rounds of one training, and not for the first, which averages several.
"""

from ._proxies import proxies
from ._reading import selection_part as selection_part
from ._reasons import Reasons, reasons
from ._scores import (
    choices_over_c,
    compare_gaps,
    contributions,
    gap_decomposition,
    importances,
    pair_function,
    pair_functions,
    shape_function,
    shape_functions,
)
from ._shapes import PairAxis, PairFunction, ShapeFunction

__all__ = [
    "PairAxis",
    "PairFunction",
    "Reasons",
    "ShapeFunction",
    "choices_over_c",
    "compare_gaps",
    "contributions",
    "gap_decomposition",
    "importances",
    "pair_function",
    "pair_functions",
    "proxies",
    "reasons",
    "shape_function",
    "shape_functions",
]
