"""parityboost: AdaFair, fairness-aware boosting, as a fast glass-box scikit-learn classifier."""

from . import metrics, notions
from ._io.model_json import load
from ._io.onnx import onnx_inputs
from ._io.skops_types import SKOPS_TYPES
from ._io.strict_json import ModelFileError
from ._model.warning import FitWarning
from .estimators import AdaFairClassifier
from .recommended import ParityBoostClassifier

__all__ = [
    "SKOPS_TYPES",
    "AdaFairClassifier",
    "FitWarning",
    "ModelFileError",
    "ParityBoostClassifier",
    "__version__",
    "load",
    "metrics",
    "notions",
    "onnx_inputs",
]
__version__ = "0.2.0"
