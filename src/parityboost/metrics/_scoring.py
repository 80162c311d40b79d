"""What to ask for a score in scikit-learn's searches; the scorer itself is in ``_scorer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._table.grouping import Grouping
from ..notions import FairnessNotion, get_notion

if TYPE_CHECKING:
    from ._scorer import FairnessScorer


def fairness_scorer(
    sensitive_feature: Any,
    *,
    notion: str | FairnessNotion = "disparate_mistreatment",
    c: float = 1.0,
    bands: Mapping[Any, Sequence[float]] | None = None,
    missing_group: str | None = None,
) -> FairnessScorer:
    """A scorer for ``GridSearchCV``, ``cross_validate`` and ``TunedThresholdClassifierCV``: accurate *and* fair.

    The score is minus :func:`fairness_objective`, so 0 is best. The groups are a column of the X that is scored:
    nothing has to be routed, but metadata routing may be on.

    Parameters
    ----------
    sensitive_feature : str, int or list
        Column(s) of X to take the groups from.
    notion : str or FairnessNotion, default="disparate_mistreatment"
        What should be equal across groups, see :func:`parityboost.notions.get_notion`.
    c : float, default=1.0
        Between 1 (balanced error) and 0 (error).
    bands : dict, optional
        From the name of a column of numbers to where it is cut into groups, as in
        :class:`parityboost.AdaFairClassifier`.
    missing_group : str, optional
        Name of the group of rows whose sensitive value is missing. By default they are an error.

    Returns
    -------
    scorer
        To be passed as ``scoring=``, or called as ``scorer(model, X, y)``.

    Raises
    ------
    ScoringError
        By the scorer, if X has no such column or the rates of fewer than two groups are defined: a search then ends
        with this error.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from parityboost import AdaFairClassifier
    >>> from parityboost.datasets import load_adult
    >>> from parityboost.metrics import fairness_scorer
    >>> X, y = load_adult(return_X_y=True)
    >>> model = AdaFairClassifier(n_estimators=20, sensitive_feature="sex", random_state=0)
    >>> notions = {"notion": ["none", "disparate_mistreatment"]}
    >>> GridSearchCV(model, notions, scoring=fairness_scorer("sex"), cv=2).fit(
    ...     X, y
    ... ).best_params_
    {'notion': 'disparate_mistreatment'}
    """
    from ._scorer import FairnessScorer  # scikit-learn's measures take long to import, and few need them

    if not 0 <= c <= 1:
        raise ValueError(f"c must be between 0 and 1, got {c!r}")
    return FairnessScorer(sensitive_feature, get_notion(notion), c, Grouping(bands, missing_group))
