"""Gaps between groups, feature by feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .._table.inputs import group_name, read_groups
from .._table.weights import read_weights
from ..estimators import AdaFairClassifier
from ._reading import TOTAL, code_shares, columns_of, encode, free_name, pair_means, pair_names, score_effects


def gap_decomposition(
    model: AdaFairClassifier,
    X: Any,
    sensitive_features: Any,
    *,
    groups: tuple[Any, Any] | None = None,
    sample_weight: Any = None,
) -> pd.DataFrame:
    """How much of the difference in mean score between two groups each feature carries.

    For the gap that a notion is about, pass the rows it is about: those of the positive class for equal opportunity,
    all rows for statistical parity.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The instances.
    sensitive_features : array-like, Series or DataFrame
        The group of each instance; several columns are crossed, and groups are then tuples.
    groups : tuple of two groups, optional
        The difference is the mean score of the second minus that of the first. By default every group is compared with
        the first one in sorted order.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance.

    Returns
    -------
    DataFrame
        One row per feature, and per pair of features that trees of depth two combine, those that carry most first, and
        last a row ``total``, their sum: the difference of the mean scores. One column per pair of groups. If a feature
        is called ``total``, the sum is ``(total)``.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> X = [[1, 5], [2, 5], [3, 4], [4, 5]]
    >>> model = AdaBoostClassifier(2).fit(X, [0, 1, 0, 1])
    >>> explain.gap_decomposition(model, X, ["a", "a", "b", "b"]).round(2)
             b − a
    feature
    x1       -0.80
    x0        0.55
    total    -0.26
    """
    effects, _ = score_effects(model)
    columns, codes = columns_of(model), encode(model, X)
    group, found = read_groups(sensitive_features, codes.shape[1])
    pairs = _pairs(found.tolist(), groups)
    weights = read_weights(sample_weight, codes.shape[1])
    group, n_groups = group.astype(np.intp), len(found)
    mean = np.einsum("gfc,fc->gf", code_shares(codes, group, n_groups, weights), effects.tables)
    of_pairs = [pair_means(pair, pair.scores, codes, group, n_groups, weights) for pair in effects.pairs]
    mean = np.column_stack([mean, *of_pairs])
    for k in {k for pair in pairs for k in pair}:
        if np.isnan(mean[k, 0]):
            raise ValueError(f"sample_weight is zero for every row of group {group_name(found[k])!r}")
    names = pd.Index([*(column.name for column in columns), *pair_names(effects.pairs, columns)], name="feature")
    gaps = {f"{group_name(found[b])} − {group_name(found[a])}": mean[b] - mean[a] for a, b in pairs}
    return _with_total(pd.DataFrame(gaps, index=names))


def compare_gaps(
    models: Mapping[str, AdaFairClassifier],
    X: Any,
    sensitive_features: Any,
    *,
    groups: tuple[Any, Any] | None = None,
    sample_weight: Any = None,
) -> pd.DataFrame:
    """:func:`gap_decomposition` of several models side by side.

    Parameters
    ----------
    models : dict of str to AdaFairClassifier
        Fitted models by the names that the columns shall have.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The instances.
    sensitive_features : array-like, Series or DataFrame
        The group of each instance; several columns are crossed, and groups are then tuples.
    groups : tuple of two groups, optional
        Which two to compare, needed if there are more than two.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance.

    Returns
    -------
    DataFrame
        One row per feature, those that carry most first, and last a row ``total``. One column per model.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> X = [[1, 5], [2, 5], [3, 5], [4, 5]]
    >>> models = {f"T={T}": AdaBoostClassifier(T).fit(X, [0, 0, 1, 1]) for T in (1, 2)}
    >>> explain.compare_gaps(models, X, ["a", "b", "a", "b"])
             T=1  T=2
    feature
    x0       0.0  0.0
    x1       0.0  0.0
    total    0.0  0.0
    """
    if not models:
        raise ValueError("models is empty: pass a dict of fitted models, such as {'AdaFair': model}")
    gaps = {}
    for name, model in models.items():
        table = gap_decomposition(model, X, sensitive_features, groups=groups, sample_weight=sample_weight)
        if table.shape[1] > 1:
            pairs = ", ".join(table.columns)
            raise ValueError(
                f"there are more than two groups ({pairs}): name the two to compare, groups=(first, second)"
            )
        gaps[name] = table.iloc[:-1, 0]
    # A pair of features that a model does not have adds nothing to its gap.
    features = list(dict.fromkeys(feature for gap in gaps.values() for feature in gap.index))
    table = pd.DataFrame({name: gap.reindex(features, fill_value=0.0) for name, gap in gaps.items()})
    return _with_total(table.rename_axis("feature"))


def _pairs(found: list[Any], groups: tuple[Any, Any] | None) -> list[tuple[int, int]]:
    """Positions of the pairs of groups to compare."""
    known = ", ".join(repr(group) for group in found)
    if len(found) < 2:
        raise ValueError(f"a gap needs two groups, but all rows are of group {known}")
    if groups is None:
        return [(0, k) for k in range(1, len(found))]
    if not isinstance(groups, (tuple, list)) or len(groups) != 2 or groups[0] == groups[1]:
        raise ValueError(f"groups must be a tuple of two different groups, got {groups!r}; the groups are {known}")
    for group in groups:
        if group not in found:
            raise ValueError(f"there is no group {group!r}; the groups are {known}")
    return [(found.index(groups[0]), found.index(groups[1]))]


def _with_total(gaps: pd.DataFrame) -> pd.DataFrame:
    """The features that carry most first, and their sum."""
    order = np.argsort(-gaps.abs().max(axis=1).to_numpy(), kind="stable")
    gaps = gaps.iloc[order]
    total = free_name(TOTAL, gaps.index)
    return pd.concat([gaps, gaps.sum().to_frame(total).T.rename_axis("feature")])
