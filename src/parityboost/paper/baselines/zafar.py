"""Logistic regression without disparate mistreatment (Zafar et al. 2017), and the procedure that trains it.

Zafar et al. bound, for false negatives and for false positives, the covariance between the group and how far
misclassified rows lie on the wrong side of the boundary,

    C = Σ over group 1 of a·min(0, y·d) − Σ over group 0 of a·min(0, y·d),   |C| ≤ c,

where a is the row's weight times the share of the *other* group, and only rows of the class in question take part.
Each of −c ≤ C ≤ c is a difference of convex functions. As in DCCP (Shen et al. 2016), the concave part is replaced by
its tangent at the current point, slack on the constraints costs τ, and τ grows by μ from step to step. For the tangent
it only matters which rows are misclassified at the moment.

A step is itself solved by the method of multipliers with L-BFGS: slack at price τ is the same as multipliers that may
not exceed τ, and the augmented Lagrangian is smooth where the penalty τ·max(0, ·) has a kink.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from ..._arrays import Floats
from ..._caller import warn_caller
from ..._extras import install
from ._base import CATEGORICAL_FEATURES, Data
from ._linear import LinearBaseline, Logistic, Objective

TAU_MAX = 1e10  # as in the authors' code
FALSE_NEGATIVE, FALSE_POSITIVE = 0, 1  # rows of the covariances
RHO, RHO_MAX = 100.0, 1e5  # weight of squared violations, at first and at most: covariances are hundredths
# A step need not be solved to the end: the next one begins where it stopped, with its multipliers.
MULTIPLIER_UPDATES = 3
STEP_TOLERANCE = 1e-4  # of the whitened gradient
STEP_MAX_ITER = 100  # of L-BFGS
Solution = tuple[Floats, bool, int]  # coefficients, whether they keep the constraints, and steps


@dataclass(eq=False, repr=False)
class ZafarClassifier(LinearBaseline):
    """Logistic regression under constraints on false negatives and false positives (Zafar et al. 2017).

    The covariance between the group and the distance by which false negatives lie on the wrong side of the decision
    boundary is bounded, and that of false positives as well: the publication's constraint on both rates at once. That
    is a disciplined convex-concave program, solved from plain logistic regression on.

    The sensitive attribute is needed by :meth:`fit` only, for two groups. Sample weights count in the loss and in the
    covariances: weight 2 equals a repeated row.

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
    classes_, groups_ :
        As in :class:`parityboost.AdaFairClassifier`.
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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"ccp", "dccp"})],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "mu": [Interval(Real, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "categorical_features": CATEGORICAL_FEATURES,
    }

    tolerance: float = 0.0
    _: KW_ONLY
    solver: str = "ccp"
    tau: float = 0.5
    mu: float = 1.2
    max_iter: int = 50
    tol: float = 1e-4
    l2: float = 1e-5
    categorical_features: Any = "from_dtype"

    def _train(self, data: Data) -> None:
        rows, total = self._encode(data)
        logistic = Logistic(rows.X, rows.y, self.l2)
        # Narrow enough not to matter, wide enough to hold a row or two: else the objective is a polygon to L-BFGS.
        covariances = Covariances(rows, self.tolerance, width=float(np.clip(2.0 / total, 1e-3, 1e-2)))
        start = logistic.train_plain(rows.weight)
        solve = self._solve_with_dccp if self.solver == "dccp" else self._solve_directly
        w, self.converged_, self.n_iter_ = solve(covariances, logistic, start)
        self._keep(w)
        self.constraint_values_ = covariances.values(rows.X @ w)
        self.loss_ = logistic.objective(rows.weight)(w)[0]
        if not self.converged_:
            shown = ", ".join(f"{value:.2g}" for value in self.constraint_values_)
            warn_caller(
                f"solver={self.solver!r} did not converge: the covariances for false negatives and false positives are "
                f"{shown}, their bound is {self.tolerance:g}; try max_iter above {self.max_iter} or a larger tolerance",
                ConvergenceWarning,
            )

    def _solve_directly(self, covariances: Covariances, logistic: Logistic, w: Floats) -> Solution:
        X, plain = logistic.X, logistic.objective(covariances.rows.weight)
        tol, tau, rho = self.tol, self.tau, RHO
        multipliers, before = np.zeros(4), np.inf
        for step in range(1, self.max_iter + 1):
            wrong_now = (logistic.sign * (X @ w) < 0).astype(np.float64)
            last_change = np.inf
            for _ in range(MULTIPLIER_UPDATES):
                objective = covariances.lagrangian(logistic, wrong_now, multipliers, rho, tau)
                w = logistic.minimise(objective, w, tol=STEP_TOLERANCE, max_iter=STEP_MAX_ITER)
                updated = covariances.multiply(covariances.convexified(X @ w, wrong_now)[0], multipliers, rho, tau)
                change = float(np.abs(updated - multipliers).max()) / rho
                multipliers = updated
                if change < 0.1 * tol:
                    break
                if change > 0.5 * last_change:  # with a bound of zero, opposite constraints may need large multipliers
                    rho = min(4.0 * rho, RHO_MAX)
                last_change = change
            loss, _ = plain(w)
            excess = float(np.abs(covariances.values(X @ w)).max()) - self.tolerance
            if excess <= tol and abs(before - loss) <= 0.1 * tol:
                return w, True, step
            before = loss
            tau = min(self.mu * tau, TAU_MAX)
        return w, False, self.max_iter

    def _solve_with_dccp(self, covariances: Covariances, logistic: Logistic, start: Floats) -> Solution:
        """The program as the authors write it, for cvxpy."""
        try:
            cp, dccp = import_module("cvxpy"), import_module("dccp").dccp
        except ImportError as error:
            raise ImportError(f'solver="dccp" needs cvxpy and dccp ({error}): {install("baselines")}') from error

        w = cp.Variable(len(start))
        w.value = start
        towards = cp.multiply(logistic.sign, logistic.X @ w)
        loss = covariances.rows.weight @ cp.logistic(-towards)
        loss += 0.5 * cp.sum(cp.multiply(logistic.penalty, cp.square(w)))
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
            return start, False, -1  # the interior-point method failed: there is no better point
        return start if w.value is None else np.asarray(w.value), problem.status == cp.OPTIMAL, -1


class Covariances:
    """The four one-sided constraints, [class, side] in a flat row: C ≤ c and −C ≤ c for each class of rows."""

    def __init__(self, rows: Data, bound: float, width: float) -> None:
        self.rows, self.bound, self.width = rows, bound, width
        share = np.bincount(rows.group, weights=rows.weight, minlength=2)
        self.a = rows.weight * share[1 - rows.group]
        self.sign = np.where(rows.y == 1, 1.0, -1.0)
        # convex_in[i] is the constraint in which row i is on the convex side: C = −Σ₁ a·relu + Σ₀ a·relu with
        # relu = max(0, −y·d), so group 0 is convex in C ≤ c and group 1 in −C ≤ c.
        kind = np.where(rows.y == 1, FALSE_NEGATIVE, FALSE_POSITIVE)
        self.convex_in = 2 * kind + rows.group
        self.concave_in = 2 * kind + (1 - rows.group)

    def values(self, margin: Floats) -> Floats:
        """The covariances with false negatives and with false positives."""
        wrong = np.maximum(0.0, -self.sign * margin)
        sums: Floats = np.bincount(self.convex_in, weights=self.a * wrong, minlength=4).astype(np.float64)
        result: Floats = sums[[0, 2]] - sums[[1, 3]]
        return result

    def convexified(self, margin: Floats, wrong_now: Floats) -> tuple[Floats, Floats, Floats]:
        """The four constraints (without −c) with tangents where ``wrong_now``, and the slopes of both parts by row.

        The kink of max(0, t) is rounded over ±width from above, so a rounded constraint is never too lenient.
        """
        t, width = -self.sign * margin, self.width
        inside = np.clip(t, -width, width)
        slope = (inside + width) / (2.0 * width)
        rounded = np.where(t > width, t, (inside + width) ** 2 / (4.0 * width))
        q: Floats = np.bincount(self.convex_in, weights=self.a * rounded, minlength=4).astype(np.float64)
        q -= np.bincount(self.concave_in, weights=self.a * wrong_now * t, minlength=4)
        return q, -self.sign * self.a * slope, self.sign * self.a * wrong_now

    def multiply(self, q: Floats, multipliers: Floats, rho: float, tau: float) -> Floats:
        """The multipliers that follow from how far the constraints are violated."""
        return np.clip(multipliers + rho * (q - self.bound), 0.0, tau)

    def lagrangian(
        self, logistic: Logistic, wrong_now: Floats, multipliers: Floats, rho: float, tau: float
    ) -> Objective:
        """Loss + max over 0 ≤ λ ≤ τ of λ·(q − c) − |λ − multipliers|² / 2ρ: smooth, and convex in w."""

        def value_and_gradient(w: Floats) -> tuple[float, Floats]:
            margin = logistic.X @ w
            loss, by_margin = logistic.loss_by_margin(margin, self.rows.weight)
            q, convex_slope, concave_slope = self.convexified(margin, wrong_now)
            lam = self.multiply(q, multipliers, rho, tau)
            by_margin += lam[self.convex_in] * convex_slope + lam[self.concave_in] * concave_slope
            value = loss + 0.5 * float(logistic.penalty @ w**2)
            value += float(lam @ (q - self.bound) - np.sum((lam - multipliers) ** 2) / (2.0 * rho))
            return value, logistic.pull_back(by_margin) + logistic.penalty * w

        return value_and_gradient
