"""What the package offers under its own name, which it hands out when it is first asked for."""

from . import metrics, notions
from ._choice.wishes import LimitNotMet
from ._io.model_json import load
from ._io.onnx import onnx_inputs
from ._io.skops_types import SKOPS_TYPES
from ._io.strict_json import ModelFileError
from ._model.glass_box import FitWarning, GlassBox
from .adaboost import AdaBoostClassifier
from .estimators import AdaFairClassifier
from .recommended import ParityBoostClassifier

__all__ = [
    "SKOPS_TYPES",
    "AdaBoostClassifier",
    "AdaFairClassifier",
    "FitWarning",
    "GlassBox",
    "LimitNotMet",
    "ModelFileError",
    "ParityBoostClassifier",
    "load",
    "metrics",
    "notions",
    "onnx_inputs",
]
