"""Scores: step functions, contributions, importances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._model.shapes import ShapeFunction, read_shape
from .._table.sources import listed
from .._table.weights import read_weights
from ..estimators import AdaFairClassifier
from ._reading import CONSTANT, code_shares, columns_of, encode, feature_tables, score_tables


def shape_functions(model: AdaFairClassifier) -> dict[str, ShapeFunction]:
    """The whole model: one step function per feature, in the order of the columns.

    Neighbouring bins of a number with the same score are one step. Features that the model does not use are there too;
    their ``is_flat`` is true. The functions of an instance's values add up to its score, but for the constant that
    :func:`contributions` shows, or for the threshold of its group if no feature tells the groups apart.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.

    Returns
    -------
    dict of str to ShapeFunction
        By the features' names.

    Examples
    --------
    >>> from parityboost import explain
    >>> from parityboost.baselines import AdaBoostClassifier
    >>> model = AdaBoostClassifier(2).fit([[1, 5], [2, 5], [3, 5], [4, 5]], [0, 0, 1, 1])
    >>> functions = explain.shape_functions(model)
    >>> functions["x0"].thresholds, functions["x1"].is_flat
    ((2.5,), True)
    """
    tables = feature_tables(model)
    return {column.name: read_shape(column, table) for column, table in zip(columns_of(model), tables, strict=True)}


def shape_function(model: AdaFairClassifier, feature: str | int) -> ShapeFunction:
    """The step function of one feature, given by name or by position.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.
    feature : str or int
        Name or position of the feature.

    Returns
    -------
    ShapeFunction
        Its steps or categories, and what each adds to the score.

    Examples
    --------
    >>> from parityboost import explain
    >>> from parityboost.baselines import AdaBoostClassifier
    >>> model = AdaBoostClassifier(1).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    >>> explain.shape_function(model, "x0") == explain.shape_function(model, 0)
    True
    """
    functions = shape_functions(model)
    names = list(functions)
    if str(feature) in functions:
        return functions[str(feature)]
    if isinstance(feature, (int, np.integer)) and -len(names) <= feature < len(names):
        return functions[names[feature]]
    raise ValueError(f"the model has no feature {feature!r}; its features are {listed(names)}")


def contributions(model: AdaFairClassifier, X: Any) -> pd.DataFrame:
    """What each feature adds to the score of each instance.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The instances.

    Returns
    -------
    DataFrame of shape (n_samples, n_features + 1)
        One column per feature and the column ``constant`` (minus the decision threshold), with the index of X. The sum
        of a row is ``model.decision_function`` of it.

    Examples
    --------
    >>> from parityboost import explain
    >>> from parityboost.baselines import AdaBoostClassifier
    >>> X = [[1, 1], [2, 1], [3, 2], [4, 1]]
    >>> model = AdaBoostClassifier(3).fit(X, [0, 0, 1, 0])
    >>> parts = explain.contributions(model, X)
    >>> bool((parts.sum(axis=1) == model.decision_function(X)).all())
    True
    """
    tables, constant = score_tables(model)
    codes = encode(model, X)
    parts: dict[str, Any] = {
        column.name: table[code] for column, table, code in zip(columns_of(model), tables, codes, strict=True)
    }
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(codes.shape[1])
    return pd.DataFrame({**parts, CONSTANT: constant + 0.0}, index=index)


def importances(model: AdaFairClassifier, X: Any = None, *, sample_weight: Any = None) -> pd.DataFrame:
    """How much each feature matters, the most important first.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps.
    X : DataFrame or array-like of shape (n_samples, n_features), optional
        Instances to measure the effect on the score on.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance of X.

    Returns
    -------
    DataFrame
        One row per feature. ``alpha_share`` is its share of the weights α of the learners (``feature_importances_``).
        If X is given, ``mean_abs_deviation`` is how far its contribution to the score is from the feature's mean
        contribution, on average over X; this decides the order.

    Examples
    --------
    >>> from parityboost import explain
    >>> from parityboost.baselines import AdaBoostClassifier
    >>> X = [[1, 5], [2, 5], [3, 5], [4, 5]]
    >>> explain.importances(AdaBoostClassifier(1).fit(X, [0, 0, 1, 1]))
             alpha_share
    feature
    x0               1.0
    x1               0.0
    """
    tables = feature_tables(model)
    names = pd.Index([column.name for column in columns_of(model)], name="feature")
    table = pd.DataFrame({"alpha_share": model.feature_importances_}, index=names)
    if X is not None:
        codes = encode(model, X)
        weights = read_weights(sample_weight, codes.shape[1])
        shares = code_shares(codes, np.zeros(codes.shape[1], dtype=np.intp), 1, weights)[0]
        mean = (shares * tables).sum(axis=1, keepdims=True)
        table["mean_abs_deviation"] = (shares * np.abs(tables - mean)).sum(axis=1)
    return table.sort_values(table.columns[-1], ascending=False, kind="stable")
