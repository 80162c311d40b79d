"""Methods that AdaFair is compared with, as scikit-learn estimators on the same data frames."""

from .adaboost import AdaBoostClassifier

__all__ = ["AdaBoostClassifier"]
