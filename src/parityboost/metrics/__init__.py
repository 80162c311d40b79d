"""Fairness and performance measures for any classifier's predictions.

Everything is computed from ``counts[group, y_true, y_pred]``, so two or more groups, several sensitive columns and
sample weights work throughout. Signs follow the paper: δ = rate(non-protected) − rate(protected).

:func:`fairness_scorer` makes a scorer for scikit-learn's searches that finds the groups in a column of X. The measures
take ``sensitive_features`` as a named keyword and can be used as scorers with metadata routing::

    scorer = make_scorer(disparate_mistreatment, greater_is_better=False).set_score_request(
        sensitive_features=True
    )
"""

from ._groups import ScoringError, group_counts, group_table, into_groups, signed_differences
from ._measures import (
    balanced_error_rate,
    disparate_mistreatment,
    disparate_mistreatment_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    error_rate,
    fairness_objective,
    fairness_scorer,
    predictive_equality_difference,
    predictive_equality_ratio,
    statistical_parity_difference,
    statistical_parity_ratio,
    violation,
)

__all__ = [
    "ScoringError",
    "balanced_error_rate",
    "disparate_mistreatment",
    "disparate_mistreatment_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "error_rate",
    "fairness_objective",
    "fairness_scorer",
    "group_counts",
    "group_table",
    "into_groups",
    "predictive_equality_difference",
    "predictive_equality_ratio",
    "signed_differences",
    "statistical_parity_difference",
    "statistical_parity_ratio",
    "violation",
]
