"""parityboost: AdaFair, fairness-aware boosting, as a fast glass-box scikit-learn classifier."""

from . import metrics, notions
from ._model_json import load
from ._onnx import onnx_inputs
from ._strict_json import ModelFileError
from ._warnings import FitWarning
from .estimators import AdaFairClassifier

__all__ = [
    "AdaFairClassifier",
    "FitWarning",
    "ModelFileError",
    "__version__",
    "load",
    "metrics",
    "notions",
    "onnx_inputs",
]
__version__ = "0.1.0"
