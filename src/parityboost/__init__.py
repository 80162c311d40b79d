"""parityboost: AdaFair, fairness-aware boosting, as a fast glass-box scikit-learn classifier."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import metrics, notions
    from ._public import (
        SKOPS_TYPES,
        AdaBoostClassifier,
        AdaFairClassifier,
        FitWarning,
        GlassBox,
        LimitNotMet,
        ModelFileError,
        ParityBoostClassifier,
        load,
        onnx_inputs,
    )

__all__ = [
    "SKOPS_TYPES",
    "AdaBoostClassifier",
    "AdaFairClassifier",
    "FitWarning",
    "GlassBox",
    "LimitNotMet",
    "ModelFileError",
    "ParityBoostClassifier",
    "__version__",
    "load",
    "metrics",
    "notions",
    "onnx_inputs",
]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import what is offered once it is asked for: pandas and scikit-learn take a while, and the command line has to be
    there before them to end well if it is interrupted."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    public = import_module("._public", __name__)
    globals().update({offered: getattr(public, offered) for offered in public.__all__})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
