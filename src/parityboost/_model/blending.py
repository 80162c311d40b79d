"""What an average of several trainings can do besides predicting: move along its dial, and give probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._arrays import Floats
from .._table.labels import LabelsMixin
from .averaged import AveragedEnsemble
from .calibration import Calibrator
from .control import ControlMixin
from .dial import Dial, Point
from .prediction import History


def _has_dial(model: Any) -> bool:
    """Whether the plain model was trained as well, or will be."""
    trained = model._dial is not None if model.__sklearn_is_fitted__() else model.dial
    if not trained:
        raise AttributeError(
            "set_fairness needs the plain model beside the fair one: fit with dial=True, which takes about twice as "
            "long. set_threshold moves this model, and frontier() lists the choices"
        )
    return True


class BlendingMixin(LabelsMixin, ControlMixin):
    """Control of an averaged model; a mixin of the classifier."""

    _is_average: ClassVar[bool] = True
    n_jobs: int | None
    fairness_: float
    _dial: Dial | None
    _calibrator: Calibrator
    _bag_sizes: list[int]
    _history: History
    _read_new: Any

    def _take(self, point: Point) -> None:
        self.threshold_, self._calibrator = point.threshold, point.calibrator
        if self._group_source is not None:
            points = (point,) if self._dial is None else self._dial.points
            self._group_thresholds = np.stack([np.asarray(each.threshold) for each in points])

    @property
    def _stage(self) -> int:
        return 1 if self._dial is None else self._dial.weights.index(self.fairness_) + 1

    @property
    def _n_stages(self) -> int:
        return 1 if self._dial is None else len(self._dial.points)

    @available_if(_has_dial)
    def set_fairness(self, fairness: float) -> Self:
        """Move along the trade-off, without refitting: from the plain model (0) to the fair one (1) and beyond.

        The threshold that was chosen for this blend at fit is set as well, and importances and bands are those of the
        blend. For models fitted with ``dial=True``.

        Parameters
        ----------
        fairness : float
            One of 0.0, 0.1, 0.2, … 2.0. Above 1 the plain model is subtracted from the fair one, so with
            ``monotonic_cst`` only what still rises and falls as it should is there.

        Returns
        -------
        self

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, dial=True, random_state=0
        ... )
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> model.set_fairness(0.5).fairness_
        0.5
        """
        check_is_fitted(self)
        assert self._dial is not None
        self._move(self._dial.place(fairness, self._ensemble.binner))
        return self

    def _move(self, at: int) -> None:
        """Be another blend, with all that belongs to it."""
        assert self._dial is not None
        self.fairness_ = self._dial.weights[at]
        self._ensemble = self._dial.ensemble(self._ensemble.binner, self.fairness_)
        self._take(self._dial.points[at])

    def predict_calibrated(self, X: Any) -> Floats:
        """Probabilities per class, calibrated on rows that were held out: of 100 rows with 0.8, about 80 are positive.

        They rise with the score. :meth:`predict_proba` gives scores that agree with :meth:`predict` instead: 0.5 is
        where the decision changes, which need not be where the classes are equally likely.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            One column per class, in the order of ``classes_``.

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
        ... )
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> bool(
        ...     abs(model.predict_calibrated(adult.data)[:, 1].mean() - adult.target.mean()) < 0.02
        ... )
        True
        """
        X = self._read_new(X)
        positive = self._calibrator.at(self._ensemble.margin(X, self.theta_, effective_n_jobs(self.n_jobs)))
        shares = [1.0 - positive, positive]
        return np.column_stack(shares[::-1] if self._positive_is_first else shares)

    def frontier(self, *args: Any, **options: Any) -> pd.DataFrame:
        """As in :class:`~parityboost.AdaFairClassifier`, with ``fairness`` instead of θ: each blend and threshold.

        Parameters
        ----------
        *args, **options :
            As there.

        Returns
        -------
        DataFrame
            The choices that no other beats in error and violation, and the one that ``fit`` made.
        """
        found = super().frontier(*args, **options)
        weights = np.array([1.0] if self._dial is None else self._dial.weights)
        fairness = weights[found.pop("theta").to_numpy() - 1]
        found.insert(0, "fairness", fairness)
        return found

    def _used_features(self) -> set[int]:
        """The features that any blend depends on."""
        used: set[int] = self._ensemble.used_features()
        return used.union(*(ensemble.used_features() for ensemble in self._blends((0.0, 1.0))))

    def _stages(self, X: Any) -> Iterator[Floats]:
        """The margins of every blend, or of the only model there is."""
        weights = () if self._dial is None else self._dial.weights
        return (ensemble.margin(X, 1) for ensemble in self._blends(weights))

    def _blends(self, weights: tuple[float, ...]) -> Iterator[AveragedEnsemble]:
        """What predicts at some weights of the dial; the only model there is without one."""
        if self._dial is None:
            yield self._ensemble
            return
        for w in weights:
            yield self._dial.ensemble(self._ensemble.binner, w)

    @property
    def history_(self) -> pd.DataFrame:
        """What every round of boosting left behind, a row per bag and round; a copy."""
        check_is_fitted(self)
        index = [(b, j) for b, size in enumerate(self._bag_sizes, 1) for j in range(1, size + 1)]
        return pd.DataFrame(self._history, index=pd.MultiIndex.from_tuples(index, names=["bag", "round"]))
