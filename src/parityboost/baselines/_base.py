"""What the baselines share: reading the input as AdaFair does, with the same errors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import Floats
from .._table.inputs import group_name, read_groups, read_table, read_target
from .._table.weights import read_weights


class Data(NamedTuple):
    """Training data as read: rows without weight are gone."""

    X: Any  # DataFrame or array
    y: NDArray[np.int8]  # 1 is the positive class
    group: NDArray[np.intp]  # position in groups_
    weights: Floats | None  # None for equal ones


class Baseline(ClassifierMixin, BaseEstimator):
    """Base class of the methods that AdaFair is compared with.

    A subclass has ``fit(X, y, *, sensitive_features=None, sample_weight=None)`` that starts with :meth:`_read_fit`, and
    names in ``_result`` what is there once fit has succeeded.
    """

    _two_groups_only: ClassVar[bool] = True
    _result: ClassVar[str]

    classes_: NDArray[Any]
    groups_: NDArray[Any]

    def _read_fit(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Data:
        """Read and check everything; sets ``classes_``, ``groups_`` and what scikit-learn wants to know about X."""
        self.__dict__.pop(self._result, None)  # if this fit fails, nothing of an earlier one is left to predict with
        X = self._read_table(X, reset=True)
        labels, self.classes_ = read_target(y, len(X))
        weights = read_weights(sample_weight, len(X))
        if sensitive_features is None:
            raise ValueError(f"{type(self).__name__} needs the sensitive attribute: pass sensitive_features=… to fit")
        group, self.groups_ = read_groups(sensitive_features, len(X))
        self._check_number_of_groups()
        if weights is not None and (weights == 0).any():
            rows = np.flatnonzero(weights > 0)
            X, labels, group, weights = _safe_indexing(X, rows), labels[rows], group[rows], weights[rows]
            if len(np.unique(labels)) < 2:
                raise ValueError(f"only class {self.classes_.tolist()[labels[0]]!r} has rows of positive sample_weight")
            kept, group = np.unique(group, return_inverse=True)
            self.groups_ = self.groups_[kept]
            self._check_number_of_groups()
        return Data(X, labels, group.astype(np.intp), weights)

    def _check_number_of_groups(self) -> None:
        names = ", ".join(repr(group_name(group)) for group in self.groups_)
        if len(self.groups_) < 2:
            raise ValueError(f"only one group in the sensitive attribute, {names}: two are needed")
        if self._two_groups_only and len(self.groups_) > 2:
            raise ValueError(f"{type(self).__name__} compares two groups, got {len(self.groups_)}: {names}")

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._read_table(X, reset=False)

    def _read_table(self, X: Any, reset: bool) -> Any:
        table = read_table(X)
        validate_data(self, table, skip_check_array=True, reset=reset)
        return table

    def _labels(self, positive: NDArray[np.bool_]) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return labels

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._result)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class DecidesByGroup(Baseline):
    """A baseline whose ``predict`` and ``score`` take ``sensitive_features`` as well."""

    @abstractmethod
    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Class labels; the groups are needed."""

    def score(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> float:
        """Accuracy."""
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _read_groups_of(self, X: Any, sensitive_features: Any) -> NDArray[np.intp]:
        """Positions in ``groups_`` at prediction time."""
        if sensitive_features is None:
            raise ValueError(
                f"{type(self).__name__} decides by group: pass sensitive_features=… to predict as well as to fit"
            )
        group, _ = read_groups(sensitive_features, len(X), self.groups_)
        return group
