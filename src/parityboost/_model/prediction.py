"""What a fitted model says about new data, and what it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._arrays import Floats
from .._table.frames import to_pandas
from .._table.labels import LabelsMixin
from .ensemble import EstimatorEnsemble
from .groups import GroupSource
from .pairs import Effects

# What every round of boosting leaves behind: plain columns, which every store of models can hold.
History = dict[str, "NDArray[Any] | list[str]"]


def of_one_training(model: Any) -> bool:
    """Whether a model has one run of rounds; otherwise the error says what an average has instead."""
    if model._is_average:
        raise AttributeError(
            f"this {type(model).__name__} is an average of several trainings, each with rounds and a θ of its own: "
            "frontier() lists its choices, plot.frontier draws them, set_threshold and (fitted with dial=True) "
            "set_fairness take one, and history_ has the rounds of each training"
        )
    return True


class PredictionMixin(LabelsMixin):
    """Prediction from an ensemble, θ and a threshold; a mixin of the classifier."""

    n_jobs: int | None
    device: str = "cpu"
    theta_: int
    n_estimators_: int
    threshold_: Any
    _ensemble: Any
    _group_source: GroupSource | None
    _history: History
    _is_average: ClassVar[bool] = False  # of several trainings

    # Where metadata is routed, the methods that may need the groups get them unless told otherwise.
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__predict_log_proba: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__decision_function: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sensitive_features": True}

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """The margin Σ α_j h_j(x) over the first θ learners, minus the threshold; above 0 it is for ``classes_[1]``.

        That is the positive label, unless ``positive`` says that the first one is: then it is minus the score that
        :mod:`parityboost.explain` takes apart, as scikit-learn's scorers need it.

        ``sensitive_features`` is needed only if each group has its own threshold and the groups are no columns of X; it
        is ignored otherwise. The same holds for the other methods that predict.
        """
        score = self._score_of(X, sensitive_features)
        return -score if self._positive_is_first else score

    def _score_of(self, X: Any, sensitive_features: Any = None) -> Floats:
        """The margin minus the threshold: above 0 for the positive label, whichever of the classes it is."""
        X = self._read_new(X)
        margin: Floats = self._ensemble.margin(X, self.theta_, effective_n_jobs(self.n_jobs), self.device)
        margin -= self._thresholds(X, sensitive_features)
        return margin

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Class labels."""
        return self._labels(self.decision_function(X, sensitive_features=sensitive_features))

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Scores between 0 and 1 per class that sum to one and agree with :meth:`predict`; not calibrated."""
        return _probabilities(self.decision_function(X, sensitive_features=sensitive_features))

    def predict_log_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Logarithms of :meth:`predict_proba`, finite also where a probability rounds to 0."""
        margin = self.decision_function(X, sensitive_features=sensitive_features)
        return log_expit(np.column_stack([-2.0 * margin, 2.0 * margin]))  # type: ignore[no-any-return]

    @available_if(of_one_training)
    def staged_decision_function(self, X: Any, *, sensitive_features: Any = None) -> Iterator[Floats]:
        """:meth:`decision_function` after each of the ``n_estimators_`` rounds, with the one threshold of the model."""
        X = self._read_new(X)
        thresholds = self._thresholds(X, sensitive_features)
        for margin in self._ensemble.staged_margin(X):
            yield thresholds - margin if self._positive_is_first else margin - thresholds

    @available_if(of_one_training)
    def staged_predict(self, X: Any, *, sensitive_features: Any = None) -> Iterator[NDArray[Any]]:
        """:meth:`predict` after each of the ``n_estimators_`` rounds; at number ``theta_`` it is :meth:`predict`."""
        for margin in self.staged_decision_function(X, sensitive_features=sensitive_features):
            yield self._labels(margin)

    @available_if(of_one_training)
    def staged_predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Iterator[Floats]:
        """:meth:`predict_proba` after each of the ``n_estimators_`` rounds."""
        for margin in self.staged_decision_function(X, sensitive_features=sensitive_features):
            yield _probabilities(margin)

    @available_if(of_one_training)
    def staged_score(
        self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None
    ) -> Iterator[float]:
        """:meth:`score` after each of the ``n_estimators_`` rounds."""
        from sklearn.metrics import accuracy_score

        y = to_pandas(y)
        for predicted in self.staged_predict(X, sensitive_features=sensitive_features):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Accuracy."""
        from sklearn.metrics import accuracy_score  # takes long to import, and few need it

        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(to_pandas(y), predicted, sample_weight=sample_weight))

    @property
    def history_(self) -> pd.DataFrame:
        """What every round of boosting left behind, a row per round; a copy."""
        check_is_fitted(self)
        return pd.DataFrame(self._history, index=pd.RangeIndex(1, self.n_estimators_ + 1, name="round"))

    @property
    def estimator_weights_(self) -> Floats:
        """α of every trained learner."""
        check_is_fitted(self)
        of_one_training(self)
        weights: Floats = self._ensemble.alphas
        return weights

    @property
    def estimators_(self) -> list[Any]:
        """Every trained weak learner."""
        check_is_fitted(self)
        of_one_training(self)
        return list(self._ensemble.learners)

    @property
    def feature_importances_(self) -> Floats:
        """Each feature's share of the weights of the θ learners."""
        check_is_fitted(self)
        importances: Floats = self._ensemble.importances(self.theta_)
        return importances

    def _used_features(self) -> set[int]:
        """The features that the model depends on, after any number of rounds."""
        used: set[int] = self._ensemble.used_features()
        return used

    def _score_effects(self, pure: bool = True) -> tuple[Effects, float]:
        """The whole model: ``tables[f, code]`` is what feature f adds to the score of an instance with that code, the
        tables of pairs what two features add together, and a constant; they add up to the score for the positive
        label. Only stumps and the native trees have them.
        """
        effects = self._feature_effects(pure)
        source = self._group_source
        if source is None:
            return effects, -self.threshold_
        if source.codes is None:
            raise ValueError(
                "the thresholds per group are not a step function of one feature, because the groups are not a single "
                "column of X with a bin for each: name such a column with the parameter sensitive_feature"
            )
        return effects, 0.0

    def _feature_effects(self, pure: bool = True) -> Effects:
        """The tables of :meth:`_score_effects`; thresholds per group are in them only if a feature tells the groups.

        If they are to be pure, what a feature does on its own is in its own table; otherwise they are as the trees'
        votes add up, which is less work.
        """
        check_is_fitted(self)
        if isinstance(self._ensemble, EstimatorEnsemble):
            name = type(self._ensemble.learners[0]).__name__
            raise ValueError(
                f"only a model of stumps or native trees (estimator=None) is a sum of step functions, this one is of "
                f"{name}"
            )
        effects: Effects = (self._ensemble.pure_effects if pure else self._ensemble.effects)(self.theta_)
        tables = effects.tables.copy()
        source = self._group_source
        if source is not None and source.codes is not None:
            tables[source.columns[0]] -= source.by_code(self.threshold_)
        return effects._replace(tables=tables)

    def _thresholds(self, X: Any, sensitive_features: Any) -> Any:
        """The threshold of each row, or the one for all."""
        if self._group_source is None:
            return self.threshold_
        binner = getattr(self._ensemble, "binner", None)
        return self._group_source.by_row(X, sensitive_features, self.threshold_, binner)

    def _labels(self, decision: Floats) -> NDArray[Any]:
        """A score of 0 is not above the threshold: such a row gets the negative label."""
        positive = decision < 0 if self._positive_is_first else decision > 0
        labels: NDArray[Any] = self._outcomes[positive.astype(np.intp)]
        return labels

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._read_table(X, reset=False)

    def _read_table(self, X: Any, reset: bool) -> Any:
        """Of the classifier that this is mixed into."""
        raise NotImplementedError


def _probabilities(margin: Floats) -> Floats:
    positive = expit(2.0 * margin)
    return np.column_stack([1.0 - positive, positive])
