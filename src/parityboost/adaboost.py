"""Plain boosting, to compare with: AdaFair with a notion that never costs anything, and θ = T."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from ._base import CONSTRAINTS, OF_THE_PAPER
from ._choice.wishes import Settings
from .estimators import BoostedClassifier
from .notions import NoNotion

__all__ = ["AdaBoostClassifier"]


class PlainBoosting(BoostedClassifier):
    """Boosting without fairness: all rounds are used, and groups change nothing."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        **OF_THE_PAPER,
        "update": [StrOptions({"confidence", "discrete"})],
    }
    _uses_groups = False

    def _settings(self) -> Settings:
        return Settings(NoNotion(), n_estimators=self.n_estimators, update=self.update, choose_theta=False)


@dataclass(eq=False, repr=False)
class AdaBoostClassifier(PlainBoosting):
    """AdaBoost with decision stumps on AdaFair's own kernel: no fairness, no choice of θ.

    Takes the same data frames as :class:`parityboost.AdaFairClassifier` (categories and missing values included).
    ``sensitive_features`` may be passed to ``fit`` like to any other method here; it changes nothing but adds the
    groups to the measures in ``history_``.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of boosting rounds T.
    update : {"discrete", "confidence"}, default="discrete"
        AdaBoost's own reweighting, or the confidence-rated one that AdaFair defaults to.
    class_weight, estimator, criterion, max_bins, categorical_features, positive, n_jobs, verbose, random_state :
        As in :class:`parityboost.AdaFairClassifier`.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier
    >>> from parityboost.datasets import load_adult
    >>> X, y = load_adult(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> model.theta_
    20
    """

    n_estimators: int = 200
    _: KW_ONLY
    update: str = "discrete"
    class_weight: str | dict[Any, float] | None = None
    estimator: Any = None
    criterion: str = "gini"
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    positive: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None
