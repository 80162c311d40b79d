"""Any scikit-learn classifier that takes ``sample_weight`` as weak learner.

Its weights are floats, and so are the sums of them: a classifier adds them up in its own way anyhow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from .._arrays import Codes, Floats
from .._choice.wishes import Settings
from .._model.trees import EstimatorRounds
from .loop import Trained
from .samples import Sample

# Of the "leaves" that rows are put into, the classes that it predicts; there are as many as the native trees have.
VOTES = np.array([-1.0, 1.0, 1.0, 1.0])


class EstimatorLearner:
    """Any scikit-learn classifier, cloned and fitted afresh in each round.

    The rows of the two samples are rows of ``X`` and of ``X_selection``. ``start[cell]`` is the factor that D¹ gives to
    the rows of each cell, besides their sample weights.
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
        self.rows = _place(train)
        self.selection_rows = self.rows if selection is train else _place(selection)
        self._X = _safe_indexing(X, train.rows)
        self._X_selection = self._X if selection is train else _safe_indexing(X_selection, selection.rows)
        self._labels = classes[train.y]
        self._random_state = random_state
        self._seeds: dict[str, int] | None = None  # of the coming fit
        mass = train.masses.values
        self._weights = start[train.cell] * (mass if len(mass) else 1.0)
        self._weights /= self._weights.sum()

    def fit(self) -> Trained:
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
        confidences = np.ones(len(predicted))
        if hasattr(estimator, "predict_proba"):
            confidences = np.asarray(estimator.predict_proba(self._X), dtype=np.float64).max(axis=1)
        self._wrong, self._confidences = predicted != self.train.y, confidences
        self.rows.put_as_told(predicted)
        if self.selection_rows is not self.rows:
            self.selection_rows.put_as_told(self._predict(estimator, self._X_selection))
        return Trained(estimator, float(self._weights[self._wrong].sum()), VOTES, np.ones(len(VOTES)), None)

    def several(self, settings: Settings, most: int, keeps_leaves: bool) -> None:
        return None

    def wrong_weight(self, trained: Trained) -> Floats:
        cell, n_groups = self.train.cell, self.train.n_groups
        sums = np.bincount(cell, weights=self._weights * self._wrong, minlength=2 * n_groups)
        return sums.astype(np.float64).reshape(2, n_groups).T

    def reweight(self, trained: Trained, costs: Floats, alpha: float, update: str) -> float:
        wrong = self._wrong
        boost = np.exp(2.0 * alpha * (self._confidences[wrong] if update == "confidence" else 1.0))
        self._weights[wrong] *= costs.T.ravel()[self.train.cell[wrong]] * boost
        growth = float(self._weights.sum())
        self._weights /= growth
        self._seeds = None  # new weights, new seeds
        return growth

    def _predict(self, estimator: Any, X: Any) -> Codes:
        """Predictions as codes of one column, 1 for the positive class."""
        return np.asarray(estimator.predict(X) == self._classes[1]).astype(np.uint8)

    def ensemble(self, models: list[Any], alphas: Floats) -> EstimatorRounds:
        return EstimatorRounds(models, alphas, self._classes[1])

    def selection_margins(self, ensemble: EstimatorRounds) -> Callable[[], Iterator[Floats]]:
        return partial(ensemble.staged_margin, self._X_selection)


def check_estimator(estimator: Any, given: dict[str, Any]) -> None:
    """Whether a classifier of the user's own can be boosted, with none of the native trees' options."""
    name = type(estimator).__name__
    for option, default in (("max_depth", 1), ("interaction_cst", None), ("monotonic_cst", None)):
        value = given.get(option, default)
        if value is not default and value != default:
            raise ValueError(f"{option}={value!r} is for the native trees: with estimator={name} set it there")
    if given["update"] == "real":
        raise ValueError(
            f'update="real" needs the leaves of the native trees: with estimator={name} use update="discrete" or '
            '"confidence"'
        )
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"estimator {name} does not take sample_weight in fit")
    chosen = given["categorical_features"]
    if chosen is not None and not isinstance(chosen, str) and len(chosen):
        raise ValueError(
            f"categorical_features is for the native stump, and {name} would take these columns as they are: encode "
            f"them before, or leave it out, got {chosen!r}"
        )


def _place(sample: Sample) -> Any:
    """The rows of a sample, of which nothing is known but what is predicted."""
    return sample.place(np.empty((0, len(sample)), dtype=np.uint8), np.empty(0))
