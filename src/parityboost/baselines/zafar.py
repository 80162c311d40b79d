"""Logistic regression without disparate mistreatment (Zafar et al. 2017)."""

from __future__ import annotations

from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from .._caller import warn_caller
from .._extras import install
from ._convex_concave import Covariances, Solution, convex_concave
from ._linear import Examples, LinearBaseline
from ._logistic import Logistic

TAU_MAX = 1e10  # as in the authors' code


class ZafarClassifier(LinearBaseline):
    """Logistic regression under constraints on false negatives and false positives (Zafar et al. 2017).

    The covariance between the group and the distance by which false negatives lie on the wrong side of the decision
    boundary is bounded, and that of false positives as well: the publication's constraint on both rates at once. That
    is a disciplined convex-concave program, solved from plain logistic regression on.

    The sensitive attribute is needed by :meth:`fit` only, for two groups.

    Parameters
    ----------
    tolerance : float, default=0.0
        Largest absolute covariance c; zero asks for the fairest solution, as the authors do.
    solver : {"ccp", "dccp"}, default="ccp"
        ``"ccp"`` runs the convex-concave procedure on the logistic loss directly. ``"dccp"`` hands the program to cvxpy
        and dccp, as the authors do; it is meant for small data and needs ``pip install "parityboost[baselines]"``.
    tau, mu : float, default=0.5 and 1.2
        Price of violating a constraint in the first step of the procedure, and the factor by which it grows.
    max_iter : int, default=50
        Largest number of steps of the procedure.
    tol : float, default=1e-4
        It has converged when no covariance exceeds ``tolerance`` by more than this, and the loss changes by less than
        a tenth of it.
    l2 : float, default=1e-5
        L2 penalty relative to the mean loss. The publication has none; a little keeps the coefficient of a rare
        category finite.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that hold categories, as in :class:`parityboost.AdaFairClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels; the second one is the positive class.
    groups_ : ndarray of shape (2,)
        The groups found in training.
    coef_ : ndarray of shape (1, n_columns)
        Coefficients of the columns of the design matrix: standardised numbers, one column per category.
    intercept_ : ndarray of shape (1,)
        The constant.
    design_names_ : ndarray of shape (n_columns,)
        What each coefficient belongs to.
    constraint_values_ : ndarray of shape (2,)
        The covariances for false negatives and for false positives on the training data; negative where the second
        group is worse off.
    loss_ : float
        Penalised mean logistic loss on the training data.
    converged_ : bool
        Whether a solution was found that keeps the constraints; a ConvergenceWarning says so if not.
    n_iter_ : int
        Steps of the convex-concave procedure; -1 with ``solver="dccp"``, which does not tell.

    Notes
    -----
    The covariance takes means over whole groups, not over the positives or negatives of a group, and distances instead
    of counts. Where the groups differ much in their share of positives, it can be zero while the rates still differ.

    The publication studies models with and without the sensitive attribute among the features. That is decided by the
    columns of X, and it matters: on Adult without the column ``sex`` hardly any positive predictions remain under a
    tolerance of zero.

    References
    ----------
    M. B. Zafar, I. Valera, M. Gomez Rodriguez, K. P. Gummadi: Fairness Beyond Disparate Treatment & Disparate Impact:
    Learning Classification without Disparate Mistreatment. WWW 2017.

    X. Shen, S. Diamond, Y. Gu, S. Boyd: Disciplined Convex-Concave Programming. CDC 2016.

    Examples
    --------
    >>> from parityboost.baselines import ZafarClassifier
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = ZafarClassifier()
    >>> model = model.fit(
    ...     adult.data[:3000], adult.target[:3000], sensitive_features=adult.sensitive[:3000]
    ... )
    >>> model.converged_
    True
    >>> bool(abs(model.constraint_values_).max() < 1e-3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"ccp", "dccp"})],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "mu": [Interval(Real, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    def __init__(
        self,
        tolerance: float = 0.0,
        *,
        solver: str = "ccp",
        tau: float = 0.5,
        mu: float = 1.2,
        max_iter: int = 50,
        tol: float = 1e-4,
        l2: float = 1e-5,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.tolerance = tolerance
        self.solver = solver
        self.tau = tau
        self.mu = mu
        self.max_iter = max_iter
        self.tol = tol
        self.l2 = l2
        self.categorical_features = categorical_features

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> ZafarClassifier:
        """Train on X, y.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; missing values are fine.
        y : array-like of shape (n_samples,)
            Labels of two classes. The larger label is the positive class.
        sensitive_features : array-like, Series or DataFrame
            The group of each instance, two groups.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each instance, in the loss and in the covariances: weight 2 equals a repeated row.

        Returns
        -------
        self
        """
        rows = self._read_rows(X, y, sensitive_features, sample_weight)
        logistic = Logistic(rows.X, rows.y, self.l2)
        solve = self._solve_with_dccp if self.solver == "dccp" else self._solve_directly
        solution = solve(rows, logistic)
        self._keep(solution.w)
        self.constraint_values_ = Covariances(rows).values(rows.X @ solution.w)
        self.loss_ = logistic.objective(rows.weights)(solution.w)[0]
        self.converged_, self.n_iter_ = solution.converged, solution.n_iter
        if not solution.converged:
            shown = ", ".join(f"{value:.2g}" for value in self.constraint_values_)
            warn_caller(
                f"solver={self.solver!r} did not converge: the covariances for false negatives and false positives are "
                f"{shown}, their bound is {self.tolerance:g}; try max_iter above {self.max_iter} or a larger tolerance",
                ConvergenceWarning,
            )
        return self

    def _solve_directly(self, rows: Examples, logistic: Logistic) -> Solution:
        return convex_concave(
            logistic,
            rows,
            logistic.train_plain(rows.weights),
            bound=self.tolerance,
            tau=self.tau,
            mu=self.mu,
            tau_max=TAU_MAX,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _solve_with_dccp(self, rows: Examples, logistic: Logistic) -> Solution:
        """The program as the authors write it, for cvxpy."""
        try:
            cp, dccp = import_module("cvxpy"), import_module("dccp").dccp
        except ImportError as error:
            raise ImportError(f'solver="dccp" needs cvxpy and dccp ({error}): {install("baselines")}') from error

        covariances = Covariances(rows)
        w = cp.Variable(rows.X.shape[1])
        w.value = start = logistic.train_plain(rows.weights)
        towards = cp.multiply(logistic.sign, rows.X @ w)
        loss = rows.weights @ cp.logistic(-towards) + 0.5 * cp.sum(cp.multiply(logistic.penalty, cp.square(w)))
        # Σ a·min(0, y·d) of each group, for false negatives (positives) and false positives (negatives).
        sums = [cp.multiply(covariances.a, covariances.convex_in == side) @ cp.minimum(0, towards) for side in range(4)]
        constraints = []
        for first, second in (sums[:2], sums[2:]):
            constraints += [second <= first + self.tolerance, second >= first - self.tolerance]
        problem = cp.Problem(cp.Minimize(loss), constraints)
        settings = {"max_iter": self.max_iter, "tau_ini": self.tau, "mu": self.mu, "tau_max": TAU_MAX}
        try:
            with catch_warnings():
                simplefilter("ignore")  # "solution may be inaccurate": judged by the covariances below
                dccp(problem, **settings, max_slack=self.tol, ep=0.1 * self.tol)
        except cp.error.SolverError:
            return Solution(start, False, -1)  # the interior-point method failed: there is no better point
        found = start if w.value is None else np.asarray(w.value)
        return Solution(found, problem.status == cp.OPTIMAL, -1)
