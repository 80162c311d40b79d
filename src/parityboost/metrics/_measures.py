"""Single numbers: how unfair, how wrong, and both together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.utils import column_or_1d

from .._arrays import Floats
from .._stats import rates as _rates
from .._table.grouping import Grouping
from .._table.lazy import is_collection
from .._table.values import to_pandas
from ..notions import (
    DisparateMistreatment,
    EqualOpportunity,
    FairnessNotion,
    PredictiveEquality,
    StatisticalParity,
    get_notion,
)
from ._groups import group_counts

if TYPE_CHECKING:
    from ._scorer import FairnessScorer


def violation(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    notion: str | FairnessNotion,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """How much a notion is violated: the largest difference between two groups, summed over the notion's rates.

    Parameters
    ----------
    y_true, y_pred, sensitive_features :
        As in :func:`group_counts`.
    notion : str or FairnessNotion
        What should be equal across groups, see :func:`parityboost.notions.get_notion`.
    sample_weight, pos_label :
        As in :func:`group_counts`.

    Returns
    -------
    float
        0 if the notion holds exactly. A group for which a rate is not defined (no positives, say) is left out of that
        rate.

    Examples
    --------
    >>> from parityboost.metrics import violation
    >>> violation(
    ...     [1, 0, 1, 0],
    ...     [1, 1, 0, 0],
    ...     sensitive_features=list("mmff"),
    ...     notion="equal_opportunity",
    ... )
    1.0
    """
    counts, _ = group_counts(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    return float(get_notion(notion).violation(counts))


class Measure(Protocol):
    """The signature that the named measures share."""

    def __call__(
        self, y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None, pos_label: Any = None
    ) -> float: ...


def _measure(name: str, of_counts: Callable[[Floats], Any], doc: str, best: str = "0 is best.") -> Measure:
    def measure(
        y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None, pos_label: Any = None
    ) -> float:
        counts, _ = group_counts(
            y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
        )
        return float(of_counts(counts))

    measure.__name__ = measure.__qualname__ = name
    measure.__doc__ = f"""{doc}

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, pos_label :
        As in :func:`group_counts`.

    Returns
    -------
    float
        {best} A group for which a rate is not defined is left out of it.

    Examples
    --------
    >>> from parityboost.metrics import {name}
    >>> {name}([1, 0, 1, 0], [1, 0, 1, 0], sensitive_features=list("mmff"))
    {best[0]}.0
    """
    return measure


statistical_parity_difference = _measure(
    "statistical_parity_difference",
    StatisticalParity().violation,
    "The largest difference in selection rate between two groups: the absolute value of St.Parity, equation 1.",
)
equal_opportunity_difference = _measure(
    "equal_opportunity_difference",
    EqualOpportunity().violation,
    "The largest difference in false negative rate between two groups: the absolute value of δFNR, equation 2.",
)
predictive_equality_difference = _measure(
    "predictive_equality_difference",
    PredictiveEquality().violation,
    "The largest difference in false positive rate between two groups: the absolute value of δFPR, equation 3.",
)
disparate_mistreatment = _measure(
    "disparate_mistreatment",
    DisparateMistreatment().violation,
    "The sum of both differences in error rate, abs(δFPR) + abs(δFNR), equation 4. fairlearn's "
    "``equalized_odds_difference`` is the larger of the two.",
)


_RATIO = (
    "1 is best; US law's four-fifths rule asks for 0.8 of the rates of the label that is favourable to "
    "the person: let ``pos_label`` name it."
)


statistical_parity_ratio = _measure(
    "statistical_parity_ratio",
    lambda counts: _rates.lowest_share(_rates.selection_rate(counts)),
    "Lowest selection rate of a group divided by the highest; fairlearn's ``demographic_parity_ratio``.",
    _RATIO,
)
equal_opportunity_ratio = _measure(
    "equal_opportunity_ratio",
    lambda counts: _rates.lowest_share(_rates.true_positive_rate(counts)),
    "Lowest true positive rate of a group divided by the highest.",
    _RATIO,
)
predictive_equality_ratio = _measure(
    "predictive_equality_ratio",
    lambda counts: _rates.lowest_share(_rates.false_positive_rate(counts)),
    "Lowest false positive rate of a group divided by the highest.",
    _RATIO,
)
disparate_mistreatment_ratio = _measure(
    "disparate_mistreatment_ratio",
    lambda counts: np.minimum(  # NaN if one of them is
        _rates.lowest_share(_rates.true_positive_rate(counts)),
        _rates.lowest_share(_rates.false_positive_rate(counts)),
    ),
    "The smaller of the ratios of true positive and of false positive rates; fairlearn's ``equalized_odds_ratio``.",
    _RATIO,
)


def error_rate(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """The share of wrong predictions, one minus accuracy: ER, equation 5 of the paper.

    Parameters
    ----------
    y_true, y_pred, sample_weight :
        As in :func:`group_counts`.

    Returns
    -------
    float
        Share of wrong predictions.

    Examples
    --------
    >>> from parityboost.metrics import error_rate
    >>> error_rate([1, 0, 0, 0], [0, 0, 0, 0])
    0.25
    """
    labels = column_or_1d(to_pandas(y_true))
    either = labels[0] if len(labels) else 1  # which class is called positive makes no difference here
    return float(_rates.error_rate(_ungrouped(y_true, y_pred, sample_weight, either)))


def balanced_error_rate(y_true: Any, y_pred: Any, *, sample_weight: Any = None, pos_label: Any = None) -> float:
    """The mean of the error rates of both classes, one minus balanced accuracy: BER, equation 6.

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label :
        As in :func:`group_counts`.

    Returns
    -------
    float
        Mean of the false positive rate and the false negative rate.

    Examples
    --------
    >>> from parityboost.metrics import balanced_error_rate
    >>> balanced_error_rate([1, 0, 0, 0], [0, 0, 0, 0])
    0.5
    """
    return float(_rates.balanced_error_rate(_ungrouped(y_true, y_pred, sample_weight, pos_label)))


def fairness_objective(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    notion: str | FairnessNotion = "disparate_mistreatment",
    c: float = 1.0,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> float:
    """What AdaFair's choice of θ makes small: c·BER + (1−c)·ER + violation, equation 16.

    Parameters
    ----------
    y_true, y_pred, sensitive_features :
        As in :func:`group_counts`.
    notion : str or FairnessNotion, default="disparate_mistreatment"
        What should be equal across groups, see :func:`parityboost.notions.get_notion`.
    c : float, default=1.0
        Between 1 (balanced error) and 0 (error).
    sample_weight, pos_label :
        As in :func:`group_counts`.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> from parityboost.metrics import fairness_objective
    >>> fairness_objective(
    ...     [1, 0, 1, 0],
    ...     [1, 0, 0, 0],
    ...     sensitive_features=list("mmff"),
    ...     notion="equal_opportunity",
    ... )
    1.25
    """
    counts, _ = group_counts(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    return float(get_notion(notion).objective(counts, c))


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


def _ungrouped(y_true: Any, y_pred: Any, sample_weight: Any, pos_label: Any) -> Floats:
    everyone = None if is_collection(y_true) else np.zeros(len(y_true), dtype=np.intp)
    counts, _ = group_counts(
        y_true, y_pred, sensitive_features=everyone, sample_weight=sample_weight, pos_label=pos_label
    )
    return counts
