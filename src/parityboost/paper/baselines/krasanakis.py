"""Adaptive sensitive reweighting (Krasanakis et al. 2018)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import direct
from scipy.special import expit
from sklearn.utils._param_validation import Interval

from ..._arrays import Floats
from ..._stats.rates import error_rate
from ...notions import get_notion
from ._base import CATEGORICAL_FEATURES, Data
from ._linear import LinearBaseline, Logistic

# Where the publication searches α and β of each group.
ALPHA_RANGE, BETA_RANGE = (0.0, 1.0), (0.0, 3.0)
# A training ends when no coordinate of the (whitened) gradient is above this: far below what moves a prediction.
TOLERANCE = 1e-4


def culep_weights(errors: Floats, group: NDArray[np.intp], alpha: Floats, beta: Floats) -> Floats:
    """The publication's model of weights, convex underlying label error perturbation: α·exp(β·e) + (1−α)·exp(−β·e).

    ``errors`` are the signed errors e = P(y = +) − y of the last classifier: above zero for negatives, below for
    positives. α of a group near one puts weight on negatives that look positive, α near zero on positives that look
    negative; β says how much.
    """
    growth = np.exp(beta[group] * errors)
    return alpha[group] * growth + (1.0 - alpha[group]) / growth


@dataclass(eq=False, repr=False)
class KrasanakisClassifier(LinearBaseline):
    """Logistic regression under adaptive sensitive reweighting (Krasanakis et al. 2018).

    The weights of the training rows follow from the errors of the classifier trained before, by a model with two
    parameters per group, :func:`culep_weights`; the classifier is re-trained a few times. The parameters are searched
    by DIRECT for the highest accuracy minus disparate mistreatment on the training data.

    The sensitive attribute is needed by :meth:`fit` only, for two groups. The adaptive weights multiply sample weights.

    Parameters
    ----------
    n_evaluations : int, default=320
        How many parameters DIRECT may try.
    n_retrainings : int, default=4
        Times that weights are adapted and the classifier re-trained, for each of them.
    C : float, default=1.0
        Inverse strength of the L2 penalty, as in scikit-learn's LogisticRegression.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that hold categories, as in :class:`parityboost.AdaFairClassifier`.

    Attributes
    ----------
    classes_, groups_, coef_, intercept_, design_names_ :
        As in :class:`ZafarClassifier`.
    alpha_, beta_ : ndarray of shape (2,)
        The parameters found, one per group.
    objective_ : float
        Accuracy minus disparate mistreatment on the training data.
    n_evaluations_ : int
        How many parameters were tried.

    Notes
    -----
    Nothing here is random. DIRECT finishes the division of a cell that it has begun, so a few more parameters than
    ``n_evaluations`` may be tried.

    References
    ----------
    E. Krasanakis, E. Spyromitros-Xioufis, S. Papadopoulos, Y. Kompatsiaris: Adaptive Sensitive Reweighting to Mitigate
    Bias in Fairness-aware Classification. WWW 2018.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_evaluations": [Interval(Integral, 1, None, closed="left")],
        "n_retrainings": [Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "categorical_features": CATEGORICAL_FEATURES,
    }

    n_evaluations: int = 320
    _: KW_ONLY
    n_retrainings: int = 4
    C: float = 1.0
    categorical_features: Any = "from_dtype"

    def _train(self, data: Data) -> None:
        rows, total = self._encode(data)
        search = _Search(rows, 1.0 / (self.C * total), self.n_retrainings)
        n_groups = len(self.groups_)
        direct(
            search,
            [ALPHA_RANGE] * n_groups + [BETA_RANGE] * n_groups,
            maxfun=self.n_evaluations,
            maxiter=self.n_evaluations,
            # Every evaluation is to be used: neither a small cell nor a small gain ends the search.
            vol_tol=0.0,
            len_tol=0.0,
            locally_biased=False,  # Jones' original DIRECT
        )
        self.alpha_, self.beta_ = search.best_parameters[:n_groups], search.best_parameters[n_groups:]
        self.objective_ = search.best
        self.n_evaluations_ = search.n_evaluations
        self._keep(search.best_w)


class _Search:
    """What DIRECT minimises, and the best that it has seen."""

    def __init__(self, rows: Data, l2: float, n_retrainings: int) -> None:
        self._rows, self._n_retrainings = rows, n_retrainings
        self._logistic = Logistic(rows.X, rows.y, l2)
        # All evaluations begin with equal weights, so they share this classifier, and each is the same whatever was
        # tried before it.
        self._plain = self._logistic.train_plain(rows.weight)
        self._notion = get_notion("disparate_mistreatment")
        self.best, self.best_w = -np.inf, self._plain
        self.best_parameters: Floats = np.empty(0)
        self.n_evaluations = 0

    def __call__(self, parameters: Floats) -> float:
        w = self.train(parameters)
        objective = self.objective(w)
        self.n_evaluations += 1
        if objective > self.best:
            self.best, self.best_w, self.best_parameters = objective, w, parameters.copy()
        return -objective

    def train(self, parameters: Floats) -> Floats:
        """The publication's inner loop: errors, weights, training."""
        alpha, beta = np.split(parameters, 2)
        w = self._plain
        for _ in range(self._n_retrainings):
            errors = expit(self._rows.X @ w) - self._rows.y
            weights = self._rows.weight * culep_weights(errors, self._rows.group, alpha, beta)
            # The total weight stays, and with it what the penalty means.
            weights /= weights.sum()
            w = self._logistic.minimise(self._logistic.objective(weights), w, tol=TOLERANCE)
        return w

    def objective(self, w: Floats) -> float:
        """Accuracy − D.M. of the classifier w on the training data."""
        counts = self._rows.counts(self._rows.X @ w > 0)
        return 1.0 - float(error_rate(counts)) - float(self._notion.violation(counts))
