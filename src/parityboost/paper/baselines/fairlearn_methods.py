"""Today's field: two methods of fairlearn on scikit-learn's histogram gradient boosting, in this package's interface.

Thin adapters: the columns are turned into what gradient boosting takes natively (numbers, categories as codes, missing
values as NaN), everything else is fairlearn's.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils._param_validation import Interval, StrOptions

from ..._arrays import MAX_BINS, MISSING, Floats
from ..._engine.threads import Team
from ..._extras import install
from ..._table.binning import Binner
from ..._table.sources import find_categorical, read_sources
from ...notions import get_notion
from ._base import CATEGORICAL_FEATURES, Baseline, Data, DecidesByGroup

NOTIONS = ("statistical_parity", "equal_opportunity", "disparate_mistreatment")
ALIASES = ("demographic_parity", "true_positive_rate_parity", "equalized_odds")


class _OnGradientBoosting(Baseline):
    """What the two methods share."""

    _result = "method_"
    _two_groups_only: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "notion": [StrOptions({*NOTIONS, *ALIASES})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "categorical_features": CATEGORICAL_FEATURES,
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _method(self, model: HistGradientBoostingClassifier, k: int) -> Any:
        """fairlearn's method on a model, not fitted yet, for the notion of this position."""

    def _train(self, data: Data) -> None:
        try:
            import fairlearn  # noqa: F401
        except ImportError as error:
            raise ImportError(f"this method is fairlearn's: {install('baselines')}") from error
        if data.weights is not None:
            raise ValueError(f"{type(self).__name__} takes no sample_weight: fairlearn's method has no use for it")
        sources = read_sources(data.X)
        flags = find_categorical(data.X, sources, self.categorical_features)
        with Team(1) as team:
            self._binner = Binner.fit(sources, slice(None), None, MAX_BINS, flags, team)
        method = self._method(self._base_estimator(), NOTIONS.index(get_notion(self.notion).name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of what fairlearn asks of pandas
            method.fit(self._matrix(data.X), data.y.astype(int), sensitive_features=data.group)
        self.method_ = method

    def _matrix(self, X: Any) -> Floats:
        """Numbers as they are, categories as codes, NaN for what is missing."""
        sources = read_sources(X)
        self._binner.check(sources)
        matrix = np.empty((len(X), len(sources)), order="F")
        for j, (column, source) in enumerate(zip(self._binner.columns, sources, strict=True)):
            if column.categorical:
                codes = column.encode(source, slice(None))
                matrix[:, j] = np.where(codes == MISSING, np.nan, codes - 1.0)
            else:
                matrix[:, j] = source.floats(slice(None)) if source.holds_numbers else np.nan  # it held nothing
        return matrix

    def _base_estimator(self) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(
            max_iter=self.max_iter,
            categorical_features=[column.categorical for column in self._binner.columns],
            early_stopping=False,
            random_state=self.random_state,
        )


@dataclass(eq=False, repr=False)
class ExponentiatedGradientClassifier(_OnGradientBoosting):
    """fairlearn's ``ExponentiatedGradient`` (Agarwal et al. 2018) on histogram gradient boosting.

    Trains a randomised mixture of up to ``n_rounds`` gradient boosting models. ``predict`` needs no groups, but draws
    one of the models for each instance; ``random_state`` makes the draw repeatable. Sample weights must all be equal.

    Parameters
    ----------
    notion : str, default="disparate_mistreatment"
        ``"statistical_parity"``, ``"equal_opportunity"``, ``"disparate_mistreatment"``, or fairlearn's names for them.
    eps : float, default=0.01
        How much the constraint may be violated on the training data.
    n_rounds : int, default=50
        Largest number of rounds of the reduction.
    max_iter : int, default=100
        Number of trees of each gradient boosting model.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        As in :class:`parityboost.AdaFairClassifier`.
    random_state : int or None, default=0
        Seed of the draws.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_OnGradientBoosting._parameter_constraints,
        "eps": [Interval(Real, 0, None, closed="neither")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    notion: str = "disparate_mistreatment"
    _: KW_ONLY
    eps: float = 0.01
    n_rounds: int = 50
    max_iter: int = 100
    categorical_features: Any = "from_dtype"
    random_state: Any = 0

    def _method(self, model: HistGradientBoostingClassifier, k: int) -> Any:
        from fairlearn import reductions

        moments = (reductions.DemographicParity, reductions.TruePositiveRateParity, reductions.EqualizedOdds)
        return reductions.ExponentiatedGradient(model, moments[k](), eps=self.eps, max_iter=self.n_rounds)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels, drawn from the mixture; no groups are needed."""
        X = self._read_new(X)
        return self._labels(np.asarray(self.method_.predict(self._matrix(X), random_state=self.random_state)) == 1)


@dataclass(eq=False, repr=False)
class ThresholdOptimizerClassifier(_OnGradientBoosting, DecidesByGroup):
    """fairlearn's ``ThresholdOptimizer`` (Hardt et al. 2016) on histogram gradient boosting.

    Trains one gradient boosting model and chooses a (randomised) threshold on its score per group. The decision depends
    on the group: ``predict`` needs ``sensitive_features`` as well. Sample weights must all be equal.

    Parameters
    ----------
    notion : str, default="disparate_mistreatment"
        As in :class:`ExponentiatedGradientClassifier`.
    objective : {"accuracy_score", "balanced_accuracy_score"}, default="accuracy_score"
        What the thresholds maximise under the constraint.
    max_iter : int, default=100
        Number of trees.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        As in :class:`parityboost.AdaFairClassifier`.
    random_state : int or None, default=0
        Seed of the randomised thresholds.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_OnGradientBoosting._parameter_constraints,
        "objective": [StrOptions({"accuracy_score", "balanced_accuracy_score"})],
    }

    notion: str = "disparate_mistreatment"
    _: KW_ONLY
    objective: str = "accuracy_score"
    max_iter: int = 100
    categorical_features: Any = "from_dtype"
    random_state: Any = 0

    def _method(self, model: HistGradientBoostingClassifier, k: int) -> Any:
        from fairlearn.postprocessing import ThresholdOptimizer

        options = {"constraints": ALIASES[k], "objective": self.objective, "predict_method": "predict_proba"}
        return ThresholdOptimizer(estimator=model, **options)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Class labels; the groups are needed."""
        X = self._read_new(X)
        group = self._read_groups_of(X, sensitive_features)
        settings = {"sensitive_features": group, "random_state": self.random_state}
        return self._labels(np.asarray(self.method_.predict(self._matrix(X), **settings)) == 1)
