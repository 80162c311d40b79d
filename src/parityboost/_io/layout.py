"""What a model file holds, whoever reads or writes it: its format, its classes, its limits."""

from __future__ import annotations

from importlib import import_module
from typing import Any

FORMAT, VERSION = "parityboost model", 2
# Version 1 knew no code for other categories: they counted as missing. It is read forever, by that rule.
# Where each class that can be stored lives. A file names one of these and nothing else.
CLASSES = {
    "AdaFairClassifier": "parityboost.estimators",
    "ParityBoostClassifier": "parityboost.recommended",
    "AdaBoostClassifier": "parityboost.adaboost",
    "SMOTEBoostClassifier": "parityboost.paper.baselines.smoteboost",
}
LIBRARIES = ("parityboost", "numpy", "pandas", "scikit-learn", "numba")

MAX_ALPHA, MAX_THRESHOLD = 1e3, 1e300
MAX_WARNINGS = 100
MAX_ROWS = 1 << 53
MAX_PAIRS = 1000  # of a dictionary, such as class_weight

REQUIRED = (
    *("format", "version", "class", "made_with", "parameters", "classes", "groups", "theta", "threshold", "per_group"),
    *("fitted", "named_columns", "columns", "history_columns", "history"),
)
OPTIONAL = ("fitted_with", "warnings", "rows", "chosen", "positive", "favourable")
# What predicts: the first of these, or the next two, or the last.
LEARNERS = ("stumps", "trees", "pairs", "average")


def find_class(name: str) -> Any:
    """A class that can be stored."""
    return getattr(import_module(CLASSES[name]), name)
