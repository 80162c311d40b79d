"""Logistic regression that is trained many times on the same rows, with other weights or with additional terms.

L-BFGS runs in coordinates in which the loss is about round: the Hessian at plain logistic regression is factorised
once, and a training that starts from there takes a dozen products with the design matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from .._arrays import Floats

Matrix = Any
Objective = Callable[[Floats], tuple[float, Floats]]  # of the coefficients: value and gradient

JITTER = 1e-9  # keeps the factorisation defined for columns that are constant; the solution does not depend on it


class Logistic:
    """The loss Σ weight · log(1 + exp(−y·margin)) + ½ l2 ‖coefficients‖², the constant (last column) not penalised.

    Weights sum to one, so the loss is a mean.
    """

    def __init__(self, X: Matrix, y: NDArray[np.int8], l2: float) -> None:
        self.X = X
        self._Xt = X.T if isinstance(X, np.ndarray) else X.T.tocsr()  # rows of the transpose: a faster product
        self.sign = np.where(y == 1, 1.0, -1.0)
        self.penalty = np.full(X.shape[1], l2)
        self.penalty[-1] = 0.0
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
