"""Logistic regression on columns of any dtype: what the methods of Zafar et al. and of Krasanakis et al. are built on.

Columns become the numeric design matrix of a linear model. Numbers are standardised, categories become one column each,
the last column is the constant. A number that is missing counts as the mean and is marked in a column of its own if
training had such rows; a missing or unknown category is a row of zeros. Kinds of columns are recognised as in AdaFair.

The regression is trained many times on the same rows, with other weights or with additional terms. L-BFGS runs in
coordinates in which the loss is about round: the Hessian at plain logistic regression is factorised once, and a
training that starts from there takes a dozen products with the design matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from ..._arrays import MAX_BINS, MISSING, Floats
from ..._table.binning import CategoricalColumn
from ..._table.grouping import check_groups
from ..._table.sources import Source, TableLike, find_categorical, raise_infinite, read_sources
from ...notions import get_notion
from ._base import Baseline, Data

Matrix = Any  # a dense array, or a scipy.sparse.csr_array where most entries are zero
Objective = Callable[[Floats], tuple[float, Floats]]  # of the coefficients: value and gradient

# Above this share of non-zeros a dense product is faster than a sparse one.
DENSE_SHARE = 0.3
JITTER = 1e-9  # keeps the factorisation defined for columns that are constant; the solution does not depend on it
ALL = slice(None)


@dataclass(frozen=True)
class NumberColumns:
    """A column of numbers: (x − mean) / scale, and a column that marks missing values if training had any."""

    name: str
    mean: float
    scale: float
    has_missing: bool
    is_empty: bool  # in training; then it may hold anything later, to no effect

    @classmethod
    def fit(cls, source: Source, weights: Floats | None) -> NumberColumns:
        values = source.floats(ALL)
        present = ~np.isnan(values)
        known = values[present]
        if np.isinf(known).any():
            raise_infinite(source.name)
        largest = float(np.abs(known).max(initial=0.0)) or 1.0
        known = known / largest  # squares of large numbers would overflow
        known_weights = None if weights is None else weights[present]
        mean = float(np.average(known, weights=known_weights)) if len(known) else 0.0
        spread = float(np.sqrt(np.average((known - mean) ** 2, weights=known_weights))) if len(known) else 0.0
        # A constant column is only rounding away from its mean: nothing to scale up.
        scale = spread * largest if spread > 1e-12 else largest
        return cls(source.name, mean * largest, scale, not bool(present.all()), not bool(present.any()))

    @property
    def names(self) -> list[str]:
        return [self.name, f"{self.name} is missing"] if self.has_missing else [self.name]

    def encode(self, source: Source) -> Matrix:
        if source.holds_numbers:
            values = source.floats(ALL)
        elif self.is_empty:
            values = np.full(len(source), np.nan)
        else:
            raise ValueError(f"column {self.name!r} held numbers in training, got {source.kind} values")
        if np.isinf(values).any():
            raise_infinite(self.name)
        missing = np.isnan(values)
        scaled = np.where(missing, 0.0, values / self.scale - self.mean / self.scale)
        return np.column_stack([scaled, missing] if self.has_missing else [scaled])


@dataclass(frozen=True)
class CategoryColumns:
    """A column per category."""

    column: CategoricalColumn

    @property
    def names(self) -> list[str]:
        return [f"{self.column.name} = {category}" for category in self.column.categories]

    def encode(self, source: Source) -> Matrix:
        self.column.check(source)
        codes = self.column.encode(source, ALL).astype(np.int32)
        known = np.flatnonzero((codes != MISSING) & (codes <= self.column.n_bins))
        shape = len(codes), len(self.column.categories)
        return sparse.csr_array((np.ones(len(known)), (known, codes[known] - 1)), shape=shape)


@dataclass(frozen=True)
class Design:
    """One encoder per column of X."""

    columns: tuple[NumberColumns | CategoryColumns, ...]

    @classmethod
    def fit(cls, X: TableLike, categorical_features: Any = "from_dtype", weights: Floats | None = None) -> Design:
        """Learn means, scales and categories."""
        sources = read_sources(X)
        categorical = find_categorical(X, sources, categorical_features)
        return cls(
            tuple(
                CategoryColumns(CategoricalColumn.fit(source, ALL, weights, MAX_BINS))
                if is_category
                else NumberColumns.fit(source, weights)
                for source, is_category in zip(sources, categorical, strict=True)
            )
        )

    @property
    def names(self) -> list[str]:
        """Names of the columns of the design matrix, without the constant."""
        return [name for column in self.columns for name in column.names]

    def encode(self, X: TableLike) -> Matrix:
        """The design matrix; its last column is the constant one."""
        sources = zip(self.columns, read_sources(X), strict=True)
        parts = [column.encode(source) for column, source in sources if column.names] + [np.ones((len(X), 1))]
        matrix = sparse.hstack([sparse.csr_array(part) for part in parts], format="csr")
        return matrix.toarray() if matrix.nnz > DENSE_SHARE * math.prod(matrix.shape) else matrix


class Logistic:
    """The loss Σ weight · log(1 + exp(−y·margin)) + ½ l2 ‖coefficients‖², the constant (last column) not penalised.

    Weights sum to one, so the loss is a mean.
    """

    def __init__(self, X: Matrix, y: NDArray[np.int8], l2: float) -> None:
        self.X = X
        self._Xt = X.T if isinstance(X, np.ndarray) else X.T.tocsr()  # rows of the transpose: a faster product
        self.sign = np.where(y == 1, 1.0, -1.0)
        self.penalty = np.append(np.full(X.shape[1] - 1, l2), 0.0)
        self._whitening: Floats = np.eye(X.shape[1])

    def pull_back(self, by_margin: Floats) -> Floats:
        """Gradient by the coefficients from the gradient by the margins."""
        gradient: Floats = self._Xt @ by_margin
        return gradient

    def loss_by_margin(self, margin: Floats, weights: Floats) -> tuple[float, Floats]:
        """The loss without penalty, and its gradient by the margins."""
        towards = -self.sign * margin
        return float(weights @ np.logaddexp(0.0, towards)), -self.sign * weights * expit(towards)

    def objective(self, weights: Floats) -> Objective:
        """The penalised loss for these weights."""

        def value_and_gradient(w: Floats) -> tuple[float, Floats]:
            loss, by_margin = self.loss_by_margin(self.X @ w, weights)
            return loss + 0.5 * float(self.penalty @ w**2), self.pull_back(by_margin) + self.penalty * w

        return value_and_gradient

    def whiten(self, w: Floats, weights: Floats) -> None:
        """Choose coordinates in which the Hessian at w is the identity."""
        probability = expit(self.X @ w)
        curvature = weights * probability * (1.0 - probability)
        if isinstance(self.X, np.ndarray):
            hessian = self._Xt @ (self.X * curvature[:, None])
        else:
            hessian = (self._Xt @ self.X.multiply(curvature[:, None]).tocsr()).toarray()
        hessian[np.diag_indices_from(hessian)] += self.penalty + JITTER
        upper = cholesky(hessian)
        self._whitening = solve_triangular(upper, np.eye(len(upper)))

    def minimise(self, objective: Objective, start: Floats, tol: float = 1e-5, max_iter: int = 500) -> Floats:
        """Where the objective is smallest, by L-BFGS from ``start``."""
        T = self._whitening

        def in_new_coordinates(u: Floats) -> tuple[float, Floats]:
            value, gradient = objective(start + T @ u)
            return value, T.T @ gradient

        options = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 2 * max_iter}
        found = minimize(in_new_coordinates, np.zeros(len(start)), jac=True, method="L-BFGS-B", options=options)
        solution: Floats = start + T @ found.x
        return solution

    def train_plain(self, weights: Floats) -> Floats:
        """Plain logistic regression; the coordinates are those of its solution afterwards."""
        share = float(weights @ (self.sign > 0))
        w = np.zeros(self.X.shape[1])
        w[-1] = np.log(share / (1.0 - share))
        for _ in range(2):
            self.whiten(w, weights)
            w = self.minimise(self.objective(weights), w)
        self.whiten(w, weights)
        return w


class LinearBaseline(Baseline):
    """Base class of methods that fit ``coef_`` and ``intercept_`` on the design matrix; predict needs no group."""

    _result = "coef_"
    categorical_features: Any

    def _encode(self, data: Data) -> tuple[Data, float]:
        """The rows of the design matrix, with weights that sum to one, and what these summed to."""
        totals = data.counts(np.zeros(len(data.y), dtype=np.bool_)).sum(axis=2)
        notion = get_notion("disparate_mistreatment")
        check_groups([("training data", totals)], self.groups_, [str(label) for label in self.classes_], notion)
        self._design = Design.fit(data.X, self.categorical_features, data.weights)
        total = float(data.weight.sum())
        return data._replace(X=self._design.encode(data.X), weights=data.weight / total), total

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
