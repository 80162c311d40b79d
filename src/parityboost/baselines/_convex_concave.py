"""The convex-concave procedure for Zafar et al.'s constraints, without a modelling language.

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

from typing import NamedTuple

import numpy as np

from .._arrays import Floats
from ._linear import Examples
from ._logistic import Logistic, Objective

FALSE_NEGATIVE, FALSE_POSITIVE = 0, 1  # rows of the covariances
RHO, RHO_MAX = 100.0, 1e5  # weight of squared violations, at first and at most: covariances are hundredths
# A step need not be solved to the end: the next one begins where it stopped, with its multipliers.
MULTIPLIER_UPDATES = 3
STEP_TOLERANCE = 1e-4  # of the whitened gradient
STEP_MAX_ITER = 100  # of L-BFGS


class Solution(NamedTuple):
    """What the procedure arrived at."""

    w: Floats
    converged: bool
    n_iter: int


class Covariances:
    """The four one-sided constraints, [class, side] in a flat row: C ≤ c and −C ≤ c for each class of rows."""

    def __init__(self, rows: Examples) -> None:
        share = np.bincount(rows.group, weights=rows.weights, minlength=2)
        self.a = rows.weights * share[1 - rows.group]
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

    def convexified(self, margin: Floats, wrong_now: Floats, width: float) -> tuple[Floats, Floats, Floats]:
        """The four constraints (without −c) with tangents where ``wrong_now``, and the slopes of both parts by row.

        The kink of max(0, t) is rounded over ±width from above, so a rounded constraint is never too lenient.
        """
        t = -self.sign * margin
        inside = np.clip(t, -width, width)
        slope = (inside + width) / (2.0 * width)
        rounded = np.where(t > width, t, (inside + width) ** 2 / (4.0 * width))
        q: Floats = np.bincount(self.convex_in, weights=self.a * rounded, minlength=4).astype(np.float64)
        q -= np.bincount(self.concave_in, weights=self.a * wrong_now * t, minlength=4)
        convex_slope = -self.sign * self.a * slope
        concave_slope = self.sign * self.a * wrong_now
        return q, convex_slope, concave_slope


def convex_concave(
    logistic: Logistic,
    rows: Examples,
    start: Floats,
    *,
    bound: float,
    tau: float,
    mu: float,
    tau_max: float,
    max_iter: int,
    tol: float,
) -> Solution:
    """Minimise the logistic loss subject to |covariance| ≤ bound for false negatives and false positives."""
    covariances = Covariances(rows)
    # Narrow enough not to matter, wide enough to hold a row or two: else the objective is a polygon to L-BFGS.
    width = float(np.clip(2.0 / rows.n, 1e-3, 1e-2))
    plain = logistic.objective(rows.weights)
    w, multipliers, rho = start, np.zeros(4), RHO
    before = np.inf
    for step in range(1, max_iter + 1):
        wrong_now = (covariances.sign * (rows.X @ w) < 0).astype(np.float64)
        last_change = np.inf
        for _ in range(MULTIPLIER_UPDATES):
            objective = _lagrangian(logistic, rows, covariances, wrong_now, width, multipliers, rho, bound, tau)
            w = logistic.minimise(objective, w, tol=STEP_TOLERANCE, max_iter=STEP_MAX_ITER)
            q, _, _ = covariances.convexified(rows.X @ w, wrong_now, width)
            updated = np.clip(multipliers + rho * (q - bound), 0.0, tau)
            change = float(np.abs(updated - multipliers).max()) / rho
            multipliers = updated
            if change < 0.1 * tol:
                break
            if change > 0.5 * last_change:  # with a bound of zero, opposite constraints may need large multipliers
                rho = min(4.0 * rho, RHO_MAX)
            last_change = change
        loss, _ = plain(w)
        excess = float(np.abs(covariances.values(rows.X @ w)).max()) - bound
        if excess <= tol and abs(before - loss) <= 0.1 * tol:
            return Solution(w, True, step)
        before = loss
        tau = min(mu * tau, tau_max)
    return Solution(w, False, max_iter)


def _lagrangian(
    logistic: Logistic,
    rows: Examples,
    covariances: Covariances,
    wrong_now: Floats,
    width: float,
    multipliers: Floats,
    rho: float,
    bound: float,
    tau: float,
) -> Objective:
    """Loss + max over 0 ≤ λ ≤ τ of λ·(q − c) − |λ − multipliers|² / 2ρ: smooth, and convex in w."""

    def value_and_gradient(w: Floats) -> tuple[float, Floats]:
        margin = rows.X @ w
        loss, by_margin = logistic.loss_by_margin(margin, rows.weights)
        q, convex_slope, concave_slope = covariances.convexified(margin, wrong_now, width)
        lam = np.clip(multipliers + rho * (q - bound), 0.0, tau)
        by_margin += lam[covariances.convex_in] * convex_slope + lam[covariances.concave_in] * concave_slope
        value = loss + 0.5 * float(logistic.penalty @ w**2)
        value += float(lam @ (q - bound) - np.sum((lam - multipliers) ** 2) / (2.0 * rho))
        return value, logistic.pull_back(by_margin) + logistic.penalty * w

    return value_and_gradient
