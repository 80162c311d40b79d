"""parityboost: AdaFair, fairness-aware boosting, as a fast glass-box scikit-learn classifier."""

from . import metrics, notions
from .estimators import AdaFairClassifier

__all__ = ["AdaFairClassifier", "__version__", "metrics", "notions"]
__version__ = "0.1.0"
