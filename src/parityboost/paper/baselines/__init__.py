"""Methods that AdaFair is compared with, as scikit-learn estimators on the same data frames."""

from .fae import FAEClassifier
from .fairlearn_methods import ExponentiatedGradientClassifier, ThresholdOptimizerClassifier
from .krasanakis import KrasanakisClassifier
from .registry import METHODS, Method, get_method
from .sdb import AdaBoostSDBClassifier
from .smoteboost import SMOTEBoostClassifier
from .zafar import ZafarClassifier

__all__ = [
    "METHODS",
    "AdaBoostSDBClassifier",
    "ExponentiatedGradientClassifier",
    "FAEClassifier",
    "KrasanakisClassifier",
    "Method",
    "SMOTEBoostClassifier",
    "ThresholdOptimizerClassifier",
    "ZafarClassifier",
    "get_method",
]
