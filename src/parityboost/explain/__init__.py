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

from .._model.pair_shapes import PairAxis, PairFunction
from .._model.shapes import ShapeFunction
from ._choices import choices_over_c
from ._choices import selection_part as selection_part
from ._gaps import compare_gaps, gap_decomposition
from ._reading import TOTAL as TOTAL
from ._reading import check_model as check_model
from ._reading import check_one_training as check_one_training
from ._reading import free_name as free_name
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
