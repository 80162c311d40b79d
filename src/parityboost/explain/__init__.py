"""What a fitted model does, read off the model itself.

A sum of stumps is a sum of one step function per feature, and trees of depth two add functions of pairs of features. So
nothing here is an approximation: the contributions of an instance add up to its score, and the contributions of the
features to a gap between groups add up to the gap.

The *score* is ``decision_function``; positive means the positive class. Every model of stumps or native trees can be
explained:
:class:`parityboost.AdaFairClassifier`, :class:`parityboost.baselines.AdaBoostClassifier` and
:class:`parityboost.baselines.SMOTEBoostClassifier`.
"""

from .._model.pair_shapes import PairAxis, PairFunction
from .._model.shapes import ShapeFunction
from ._choices import choices_over_c
from ._choices import selection_part as selection_part
from ._gaps import compare_gaps, gap_decomposition
from ._reading import CONSTANT as CONSTANT
from ._reading import TOTAL as TOTAL
from ._reading import check_model as check_model
from ._reading import kinds_of as kinds_of
from ._scores import contributions, importances, pair_function, pair_functions, shape_function, shape_functions

__all__ = [
    "PairAxis",
    "PairFunction",
    "ShapeFunction",
    "choices_over_c",
    "compare_gaps",
    "contributions",
    "gap_decomposition",
    "importances",
    "pair_function",
    "pair_functions",
    "shape_function",
    "shape_functions",
]
