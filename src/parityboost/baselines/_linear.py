"""What the two methods built on logistic regression share: reading the rows, the fitted coefficients, predicting."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._arrays import Floats
from .._table.inputs import check_groups
from ..notions import get_notion
from ._base import Baseline
from ._design import Design, Matrix


class Examples(NamedTuple):
    """Training rows of a linear model."""

    X: Matrix  # the last column is constant
    y: NDArray[np.int8]  # 1 is the positive class
    group: NDArray[np.intp]  # position in groups_
    weights: Floats  # sum to one
    n: float  # total weight, the number of rows if all weigh one


class LinearBaseline(Baseline):
    """Base class of methods that fit ``coef_`` and ``intercept_`` on the design matrix; predict needs no group."""

    _result = "coef_"
    categorical_features: Any

    def _read_rows(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Examples:
        data = self._read_fit(X, y, sensitive_features, sample_weight)
        # Equal weights count as one each, as everywhere else in the package.
        weights = np.ones(len(data.y)) if data.weights is None else data.weights
        cells = np.bincount(data.group * 2 + data.y, weights=weights, minlength=2 * len(self.groups_))
        labels = [str(label) for label in self.classes_]
        notion = get_notion("disparate_mistreatment")
        check_groups(cells.astype(np.float64).reshape(-1, 2), self.groups_, labels, notion, "training data")
        self._design = Design.fit(data.X, self.categorical_features, data.weights)
        total = float(weights.sum())
        return Examples(self._design.encode(data.X), data.y, data.group, weights / total, total)

    def _keep(self, w: Floats) -> None:
        """Store the coefficients of the design matrix's columns."""
        self.coef_ = w[:-1].reshape(1, -1)
        self.intercept_ = w[-1:].copy()
        self.design_names_ = np.array(self._design.names, dtype=object)

    def decision_function(self, X: Any) -> Floats:
        """The linear function of the features; positive means the positive class."""
        X = self._read_new(X)
        margin: Floats = self._design.encode(X) @ np.append(self.coef_[0], self.intercept_)
        return margin

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels. No sensitive attribute is needed."""
        return self._labels(self.decision_function(X) > 0)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class according to the logistic model."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])
