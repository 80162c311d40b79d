"""Any scikit-learn classifier that takes ``sample_weight`` as weak learner.

Its weights are floats, and so are the sums of them: a classifier adds them up in its own way anyhow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from ..._arrays import Codes, Floats
from ..._choice.settings import Settings
from ..._model.ensemble import EstimatorEnsemble
from ..samples import Leaves, Sample
from .base import Trained

# The two "leaves" are the classes that it predicts.
LEAF_OF_CODE = np.array([0, 1], dtype=np.uint8)
VOTES = np.array([-1, 1], dtype=np.int8)


@dataclass(slots=True)
class TrainedEstimator(Trained):
    """A fitted classifier and what it says about the training rows."""

    wrong: NDArray[np.bool_]
    confidences: Floats  # of each row


class EstimatorLearner:
    """Any scikit-learn classifier, cloned and fitted afresh in each round.

    Parameters
    ----------
    estimator : classifier
        What to clone.
    classes : ndarray of shape (2,)
        The labels.
    X, X_selection : DataFrame or ndarray
        What the rows of the two samples are rows of.
    train, selection : Sample
        The rows to train on, and those that θ is chosen on; they may be the same.
    start : ndarray of shape (n_cells,)
        The factor that D¹ gives to the rows of each cell, besides their sample weights.
    random_state : RandomState
        Where seeds come from.
    """

    def __init__(
        self,
        estimator: Any,
        classes: NDArray[Any],
        X: Any,
        train: Sample,
        X_selection: Any,
        selection: Sample,
        start: Floats,
        random_state: np.random.RandomState,
    ) -> None:
        self._estimator = estimator
        self._classes = classes
        self.train = train
        self.selection = selection
        self._X = _safe_indexing(X, train.rows)
        self._X_selection = self._X if selection is train else _safe_indexing(X_selection, selection.rows)
        self._labels = classes[train.y]
        self._random_state = random_state
        self._seeds: dict[str, int] | None = None  # of the coming fit
        mass = train.masses.values
        self._weights = start[train.cell] * (mass if len(mass) else 1.0)
        self._weights /= self._weights.sum()

    def fit(self) -> TrainedEstimator:
        estimator = clone(self._estimator)
        if self._seeds is None:
            self._seeds = {
                name: int(self._random_state.randint(np.iinfo(np.int32).max))
                for name in sorted(estimator.get_params(deep=True))
                if name == "random_state" or name.endswith("__random_state")
            }
        if self._seeds:
            estimator.set_params(**self._seeds)
        estimator.fit(self._X, self._labels, sample_weight=self._weights)
        predicted = self._predict(estimator, self._X)
        if hasattr(estimator, "predict_proba"):
            confidences = np.asarray(estimator.predict_proba(self._X), dtype=np.float64).max(axis=1)
        else:
            confidences = np.ones(len(predicted))
        wrong = predicted != self.train.y
        error = float(self._weights[wrong].sum())
        return TrainedEstimator(estimator, error, Leaves(predicted, LEAF_OF_CODE), VOTES, wrong, confidences)

    def several(self, settings: Settings, most: int) -> None:
        return None

    def selection_leaves(self, trained: TrainedEstimator) -> Leaves:
        return Leaves(self._predict(trained.model, self._X_selection), LEAF_OF_CODE)

    def wrong_weight(self, trained: TrainedEstimator) -> Floats:
        cell, n_groups = self.train.cell, self.train.n_groups
        sums = np.bincount(cell, weights=self._weights * trained.wrong, minlength=2 * n_groups)
        return sums.astype(np.float64).reshape(2, n_groups).T

    def reweight(self, trained: TrainedEstimator, costs: Floats, alpha: float, update: str) -> float:
        wrong = trained.wrong
        boost = np.exp(2.0 * alpha * (trained.confidences[wrong] if update == "confidence" else 1.0))
        self._weights[wrong] *= costs.T.ravel()[self.train.cell[wrong]] * boost
        growth = float(self._weights.sum())
        self._weights /= growth
        self._seeds = None  # new weights, new seeds
        return growth

    def distribution(self) -> Floats:
        return self._weights

    def _predict(self, estimator: Any, X: Any) -> Codes:
        """Predictions as codes of one column, 1 for the positive class."""
        return np.asarray(estimator.predict(X) == self._classes[1]).astype(np.uint8)

    def ensemble(self, models: list[Any], alphas: Floats) -> EstimatorEnsemble:
        return EstimatorEnsemble(models, alphas, self._classes[1])

    def selection_margins(self, ensemble: EstimatorEnsemble) -> Callable[[], Iterator[Floats]]:
        return partial(ensemble.staged_margin, self._X_selection)
