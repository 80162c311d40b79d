"""What the baselines share: reading the input as AdaFair does, with the same errors, and decisions by group."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._arrays import Floats
from ..._table.grouping import group_name, read_groups
from ..._table.reading import read_target, read_weights
from ..._table.sources import read_table

SAME_RATE = 1e-12  # rates closer than this are equal, whatever the rounding
# What the parameter of this name may be, for those who do not have it from AdaFair.
CATEGORICAL_FEATURES: list[Any] = [StrOptions({"from_dtype"}), "array-like", None]


class Data(NamedTuple):
    """Training data as read: rows without weight are gone."""

    X: Any  # DataFrame or array
    y: NDArray[np.int8]  # 1 is the positive class
    group: NDArray[np.intp]  # position in groups_
    weights: Floats | None  # None for equal ones

    @property
    def weight(self) -> Floats:
        """The weight of every row: equal ones count as one each, as everywhere else in the package."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def counts(self, predicted: NDArray[np.bool_]) -> Floats:
        """``counts[group, y, ŷ]`` of two groups."""
        cell = 4 * self.group + 2 * self.y + predicted
        return np.bincount(cell, weights=self.weight, minlength=8).astype(np.float64).reshape(2, 2, 2)


class Baseline(ClassifierMixin, BaseEstimator):
    """Base class of the methods that AdaFair is compared with.

    A subclass has :meth:`_train`, and names in ``_result`` what is there once it has succeeded. Those that are
    dataclasses have their parameters as fields: ``__init__`` stores them and does nothing else.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _two_groups_only: ClassVar[bool] = True
    _result: ClassVar[str]

    classes_: NDArray[Any]
    groups_: NDArray[Any]

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Train on X, y.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; missing values are fine.
        y : array-like of shape (n_samples,)
            Labels of two classes. The larger label is the positive class.
        sensitive_features : array-like, Series or DataFrame
            The group of each instance.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each instance.

        Returns
        -------
        self
        """
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
        self._train(Data(X, labels, group.astype(np.intp), weights))
        return self

    @abstractmethod
    def _train(self, data: Data) -> None:
        """Fit on what was read."""

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
        inputs = tags.input_tags
        inputs.allow_nan = inputs.categorical = inputs.string = True
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
        return read_groups(sensitive_features, len(X), self.groups_)[0]


class Boundaries(DecidesByGroup):
    """A score per row and, for each group, the boundary above which a score means the positive class.

    A subclass sets ``thresholds_``, one per group, and gives the scores.
    """

    _result = "thresholds_"
    thresholds_: Floats

    @abstractmethod
    def _scores(self, X: Any) -> Floats:
        """One score per row, before any boundary."""

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """The score minus the boundary of the instance's group; positive means the positive class."""
        X = self._read_new(X)
        group = self._read_groups_of(X, sensitive_features)
        return self._scores(X) - self.thresholds_[group]

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Class labels. The decision depends on the group, so the sensitive attribute is needed here as well."""
        return self._labels(self.decision_function(X, sensitive_features=sensitive_features) > 0)


def match_rate(
    scores: Floats,
    positive: NDArray[np.bool_],
    counted: NDArray[np.bool_],
    weights: Floats,
    target: float,
    usual: float,
) -> float:
    """The boundary for one group that brings the share of ``counted`` rows above it nearest to ``target``.

    Candidates are ``usual``, the midpoints between neighbouring distinct scores, and boundaries below and above all of
    them. Sorted by score, the rows below a boundary are a prefix, so that the rates and the errors of all candidates
    are cumulative sums. Among equals the most accurate wins, then the one nearest to ``usual``, then the lower.
    """
    order = np.argsort(scores, kind="stable")
    ordered, weight = scores[order], weights[order]
    stops = np.append(np.flatnonzero(ordered[1:] > ordered[:-1]) + 1, len(ordered))  # rows below a boundary
    below = np.append(0, stops)
    lower, upper = np.append(-np.inf, ordered[stops - 1]), np.append(ordered[below[:-1]], np.inf)
    with np.errstate(invalid="ignore"):  # the two ends are replaced
        boundaries = lower / 2 + upper / 2
    # The midpoint of two neighbouring floats may round to the upper one, which is then no longer above it.
    boundaries = np.where(boundaries >= upper, lower, boundaries)
    boundaries[0], boundaries[-1] = np.nextafter(ordered[0], -np.inf), ordered[-1]
    boundaries[(lower <= usual) & (usual < upper)] = usual

    def sums(values: Floats) -> Floats:
        so_far: Floats = np.append(0.0, np.cumsum(values))[below]
        return so_far

    counts = np.where(counted[order], weight, 0.0)
    rate = 1.0 - sums(counts) / counts.sum()
    # Right are the negatives below the boundary and the positives above it: the same up to a constant.
    right = sums(np.where(positive[order], -weight, weight)) / weight.sum()
    gap = np.abs(rate - target)
    nearest = gap <= gap.min() + SAME_RATE
    best = nearest & (right >= right[nearest].max() - SAME_RATE)
    candidates = boundaries[best]
    return float(candidates[np.argmin(np.abs(candidates - usual))])
