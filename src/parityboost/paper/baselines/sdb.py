"""AdaBoost SDB: AdaBoost with a decision boundary of its own for the protected group."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval

from ..._arrays import Floats
from ..._table.grouping import group_name
from ..._table.reading import cells, stratified_split
from ...adaboost import AdaBoostClassifier
from ._base import Boundaries, Data, match_rate


@dataclass(eq=False, repr=False)
class AdaBoostSDBClassifier(Boundaries):
    """AdaBoost with a shifted decision boundary (Fish, Kun, Lelkes 2016), for statistical parity.

    An AdaBoost is trained on part of the training data. On the rest, the boundary of the protected group is moved to
    where the selection rates of the two groups differ least, |St.Parity| being smallest; among equals the most accurate
    boundary is taken. All distinct margins are tried. The other group keeps AdaBoost's own boundary, 0.

    The decision depends on the group: :meth:`predict` needs ``sensitive_features`` as well. Sample weights count in
    AdaBoost and in the rates.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of boosting rounds T.
    protected : object, default=None
        The protected group. None is the group that AdaBoost selects less often in the validation data.
    update : {"discrete", "confidence"}, default="discrete"
        As in :class:`parityboost.AdaBoostClassifier`.
    validation_fraction : float, default=0.33
        Share of the training data, stratified by class and group, that the boundary is chosen on.
    criterion, max_bins, categorical_features, n_jobs, random_state :
        As in :class:`parityboost.AdaFairClassifier`; ``random_state`` is the seed of the split.

    Attributes
    ----------
    classes_, groups_, n_features_in_, feature_names_in_ :
        As in :class:`parityboost.AdaFairClassifier`.
    model_ : AdaBoostClassifier
        The AdaBoost; its classes are 0 and 1.
    protected_ : object
        The protected group.
    thresholds_ : ndarray of shape (2,)
        The boundary of each group, on the margin Σ α h(x) of the AdaBoost.
    shift_ : float
        The published λ: how far the protected group's boundary moved in its favour, on the confidence Σ α h(x) / Σ α
        between -1 and 1.

    References
    ----------
    B. Fish, J. Kun, Á. Lelkes: A Confidence-Based Approach for Balancing Fairness and Accuracy. SDM 2016.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AdaBoostClassifier._parameter_constraints,
        "protected": "no_validation",  # type: ignore[dict-item]
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }

    n_estimators: int = 200
    _: KW_ONLY
    protected: Any = None
    update: str = "discrete"
    validation_fraction: float = 0.33
    criterion: str = "gini"
    max_bins: int = 255
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None
    random_state: Any = None

    def _train(self, data: Data) -> None:
        groups = self.groups_.tolist()
        if self.protected is not None and self.protected not in groups:
            known = ", ".join(map(repr, groups))
            raise ValueError(f"protected must be one of the groups {known}, got {self.protected!r}")
        rng = check_random_state(self.random_state)
        train, held_out = stratified_split(cells(data.y, data.group, 2), self.validation_fraction, rng)
        group, positive = data.group[held_out], data.y[held_out] == 1
        for k in np.flatnonzero(np.bincount(group, minlength=2) == 0):
            raise ValueError(
                f"validation data: group {group_name(self.groups_[k])!r} has no rows, so its boundary cannot be "
                "compared: it needs two training rows of one class"
            )
        of_adaboost = ("n_estimators", "update", "criterion", "max_bins", "categorical_features", "n_jobs")
        self.model_ = AdaBoostClassifier(**{name: getattr(self, name) for name in of_adaboost})
        weights = data.weight
        self.model_.fit(_safe_indexing(data.X, train), data.y[train], sample_weight=weights[train])

        scores, weights = self._scores(_safe_indexing(data.X, held_out)), weights[held_out]
        rates = [float(np.average(scores[group == k] > 0, weights=weights[group == k])) for k in (0, 1)]
        protected = int(rates[1] < rates[0]) if self.protected is None else groups.index(self.protected)
        theirs = group == protected
        all_of_them = np.ones(int(theirs.sum()), dtype=bool)
        self.protected_ = self.groups_[protected]
        self.thresholds_ = np.zeros(2)
        self.thresholds_[protected] = match_rate(
            scores[theirs], positive[theirs], all_of_them, weights[theirs], target=rates[1 - protected], usual=0.0
        )
        self.shift_ = -float(self.thresholds_[protected] / self.model_.estimator_weights_.sum())

    def _scores(self, X: Any) -> Floats:
        margin: Floats = self.model_.decision_function(X)
        return margin
