"""parityboost: AdaFair, fairness-aware boosting, as a fast glass-box scikit-learn classifier."""

__version__ = "0.1.0"
