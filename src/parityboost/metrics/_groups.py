"""Labels, predictions and groups to counts, and counts to tables of rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from .._arrays import Floats
from .._stats import rates as _rates
from .._table.grouping import Grouping, group_names, read_groups, sensitive_frame
from .._table.lazy import distinct_rows, is_collection
from .._table.reading import read_weights
from .._table.values import to_pandas


class ScoringError(BaseException):
    """The groups of a scorer cannot be compared, whatever the model predicts.

    It is no ``Exception``, because scikit-learn's searches make a score of NaN of those: all settings would be equal,
    and ``best_params_`` the first of them.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier
    >>> from parityboost.metrics import ScoringError, fairness_scorer
    >>> X, y = [[1, 5], [2, 5], [3, 4], [4, 5]], [0, 1, 0, 1]
    >>> try:
    ...     fairness_scorer("sex")(AdaBoostClassifier(2).fit(X, y), X, y)
    ... except ScoringError as error:
    ...     print(str(error)[-49:])
    X has no column 'sex'; its columns are 'x0', 'x1'
    """


def into_groups(
    sensitive_features: Any, *, bands: Mapping[Any, Sequence[float]] | None = None, missing_group: str | None = None
) -> pd.DataFrame:
    """Sensitive columns as groups: numbers cut into bands, missing values a group of their own.

    :class:`parityboost.AdaFairClassifier` does the same with its parameters ``bands`` and ``missing_group``; the
    measures, audits and plots take what this returns.

    Parameters
    ----------
    sensitive_features : Series, DataFrame, dict or array-like
        One or more columns.
    bands : dict, optional
        From the name of a column of numbers to where it is cut.
    missing_group : str, optional
        Name of the group of rows whose value is missing. By default they stay missing.

    Returns
    -------
    DataFrame
        The same columns; those that were cut are ordered categories.

    Examples
    --------
    >>> from parityboost.metrics import into_groups
    >>> into_groups(
    ...     {"age": [70, 25, None, 31]}, bands={"age": [25, 40]}, missing_group="unknown"
    ... )["age"].tolist()
    ['40 or more', '25 to under 40', 'unknown', '25 to under 40']
    """
    return Grouping(bands, missing_group).apply(sensitive_frame(sensitive_features))


def group_counts(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None, pos_label: Any = None
) -> tuple[Floats, NDArray[Any]]:
    """Weighted counts per group, true class and predicted class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels, at most two different ones.
    sensitive_features : array-like, Series or DataFrame
        The group of each instance; several columns are crossed.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance.
    pos_label : label, optional
        The positive class. By default the larger of the two labels.

    Returns
    -------
    counts : ndarray of shape (n_groups, 2, 2)
        Axes are group, true class and predicted class; 0 is negative and 1 positive.
    groups : ndarray of shape (n_groups,)
        The groups, sorted; tuples if there are several sensitive columns.

    Examples
    --------
    >>> from parityboost.metrics import group_counts
    >>> counts, groups = group_counts(
    ...     [1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=["a", "a", "b", "b"]
    ... )
    >>> counts[groups == "b", 1, 0]  # b's false negatives
    array([1.])
    """
    if is_collection(y_true) or is_collection(y_pred):
        found = distinct_rows(y_true, y_pred, sensitive_features, sample_weight)
        y_true, y_pred, sensitive_features, sample_weight = found.y_true, found.y_pred, found.sensitive, found.weight
    y_true, y_pred = (column_or_1d(to_pandas(labels)) for labels in (y_true, y_pred))
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        if len(values) != len(y_true):
            raise ValueError(f"y_true has {len(y_true)} values, {name} {len(values)}")
        if pd.isna(values).any():
            raise ValueError(f"{name} has missing values")
    positive = _positive_label(y_true, y_pred, pos_label)
    group, groups = read_groups(sensitive_features, len(y_true))
    weights = read_weights(sample_weight, len(y_true))
    cell = (group.astype(np.intp) * 2 + (y_true == positive)) * 2 + (y_pred == positive)
    counts = np.bincount(cell, weights=weights, minlength=4 * len(groups)).astype(np.float64)
    if weights is None and sample_weight is not None:  # equal weights other than one
        counts *= float(np.ravel(sample_weight)[0])
    return counts.reshape(len(groups), 2, 2), groups


def group_table(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None, pos_label: Any = None
) -> pd.DataFrame:
    """Size, selection rate, TPR, TNR, FPR, FNR and accuracy of every group, and of all together in the last row.

    Parameters
    ----------
    y_true, y_pred, sensitive_features, sample_weight, pos_label :
        As in :func:`group_counts`.

    Returns
    -------
    DataFrame
        One row per group and one named "all". With several sensitive columns the index shows their values joined by
        ``" & "``. ``n`` counts the instances; with ``sample_weight`` it is the sum of their weights, a float.

    Examples
    --------
    >>> from parityboost.metrics import group_table
    >>> table = group_table([1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=["a", "a", "b", "b"])
    >>> table[["n", "selection_rate", "tpr", "fpr"]]
           n  selection_rate  tpr  fpr
    group
    a      2             1.0  1.0  1.0
    b      2             0.0  0.0  0.0
    all    4             0.5  0.5  0.5
    """
    counts, groups = group_counts(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    counts = np.concatenate([counts, counts.sum(axis=0, keepdims=True)])
    size = counts.sum(axis=(1, 2))
    index = pd.Index([*group_names(groups), "all"], name="group")
    return pd.DataFrame(
        {
            "n": size.astype(np.int64) if sample_weight is None else size,
            "selection_rate": _rates.selection_rate(counts),
            "tpr": _rates.true_positive_rate(counts),
            "tnr": _rates.true_negative_rate(counts),
            "fpr": _rates.false_positive_rate(counts),
            "fnr": _rates.false_negative_rate(counts),
            "accuracy": _rates.accuracy(counts),
        },
        index=index,
    )


def signed_differences(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    protected: Any,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> pd.Series:
    """The paper's signed differences, rate(non-protected) − rate(protected).

    Parameters
    ----------
    y_true, y_pred, sensitive_features :
        As in :func:`group_counts`.
    protected : group
        The protected group, a tuple if there are several sensitive columns. All other groups together are the
        non-protected group.
    sample_weight, pos_label :
        As in :func:`group_counts`.

    Returns
    -------
    Series
        ``statistical_parity`` (Eq. 1), ``equal_opportunity`` (δFNR, Eq. 2), ``predictive_equality`` (δFPR, Eq. 3).

    Examples
    --------
    >>> from parityboost.metrics import signed_differences
    >>> signed_differences(
    ...     [1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=list("mmff"), protected="f"
    ... )
    statistical_parity     1.0
    equal_opportunity     -1.0
    predictive_equality    1.0
    dtype: float64
    """
    counts, groups = group_counts(
        y_true, y_pred, sensitive_features=sensitive_features, sample_weight=sample_weight, pos_label=pos_label
    )
    is_protected = np.array([group == protected for group in groups.tolist()])
    if not is_protected.any() or is_protected.all():
        known = ", ".join(repr(group) for group in groups.tolist())
        raise ValueError(f"protected must be one of two or more groups, got {protected!r}; the groups are {known}")
    pair = np.stack([counts[is_protected].sum(axis=0), counts[~is_protected].sum(axis=0)])
    rates = {
        "statistical_parity": _rates.selection_rate(pair),
        "equal_opportunity": _rates.false_negative_rate(pair),
        "predictive_equality": _rates.false_positive_rate(pair),
    }
    return pd.Series({name: float(rate[1] - rate[0]) for name, rate in rates.items()})


def _positive_label(y_true: NDArray[Any], y_pred: NDArray[Any], pos_label: Any) -> Any:
    labels = np.unique(np.concatenate([np.unique(y_true), np.unique(y_pred)]))
    if len(labels) > 2:
        raise ValueError(f"labels must be of two classes, got {len(labels)}: {labels[:5].tolist()}")
    if pos_label is not None:
        if pos_label not in labels and len(labels) == 2:
            raise ValueError(f"pos_label={pos_label!r} is not one of the labels {labels.tolist()}")
        return pos_label
    if len(labels) == 2:
        return labels[1]
    if labels[0] in (0, -1, False, 1, True):
        return 1
    raise ValueError(f"all labels are {labels.tolist()[0]!r}: give pos_label to say which class is the positive one")
