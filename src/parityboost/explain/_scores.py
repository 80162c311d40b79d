"""Scores: step functions, contributions, importances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._model.pair_shapes import PairFunction, read_pair
from .._model.shapes import ShapeFunction, read_shape
from .._table.sources import listed
from .._table.weights import read_weights
from ..estimators import AdaFairClassifier
from ._reading import (
    CONSTANT,
    PAIR,
    code_shares,
    columns_of,
    encode,
    feature_effects,
    free_name,
    pair_means,
    pair_names,
    score_effects,
)


def shape_functions(model: AdaFairClassifier) -> dict[str, ShapeFunction]:
    """The whole model: one step function per feature, in the order of the columns.

    Neighbouring bins of a number with the same score are one step. Features that the model does not use are there too;
    their ``is_flat`` is true. The functions of an instance's values add up to its score, but for the constant that
    :func:`contributions` shows, or for the threshold of its group if no feature tells the groups apart. Trees of depth
    two have :func:`pair_functions` besides.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps or native trees.

    Returns
    -------
    dict of str to ShapeFunction
        By the features' names.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> model = AdaBoostClassifier(2).fit([[1, 5], [2, 5], [3, 5], [4, 5]], [0, 0, 1, 1])
    >>> functions = explain.shape_functions(model)
    >>> functions["x0"].thresholds, functions["x1"].is_flat
    ((2.5,), True)
    """
    tables = feature_effects(model).tables
    columns = columns_of(model)
    spread = getattr(model._ensemble, "spread", [None] * len(columns))  # of an average
    return {column.name: read_shape(column, *of) for column, *of in zip(columns, tables, spread, strict=True)}


def shape_function(model: AdaFairClassifier, feature: str | int) -> ShapeFunction:
    """The step function of one feature, given by name or by position.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps or native trees.
    feature : str or int
        Name or position of the feature.

    Returns
    -------
    ShapeFunction
        Its steps or categories, and what each adds to the score.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> model = AdaBoostClassifier(1).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    >>> explain.shape_function(model, "x0") == explain.shape_function(model, 0)
    True
    """
    functions = shape_functions(model)
    names = list(functions)
    return functions[names[feature_position(feature, names)]]


def pair_functions(model: AdaFairClassifier) -> dict[tuple[str, str], PairFunction]:
    """What pairs of features add to the score together; a model of stumps has none.

    With the step functions of :func:`shape_functions` they are the whole model. What a feature does on its own is in
    its step function: the mean of a pair's table over the training data is 0 for every value of either feature.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of trees of depth two, ``max_depth=2``.

    Returns
    -------
    dict of pair of str to PairFunction
        By the features' names, in the order of the columns; those that matter most to the training data first.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, explain
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> model = AdaFairClassifier("none", max_depth=2, n_estimators=1, validation_fraction=None)
    >>> list(explain.pair_functions(model.fit(X, y, sensitive_features=["a", "b"] * 20)))
    [('x0', 'x1')]
    """
    pairs, columns = feature_effects(model).pairs, columns_of(model)
    functions = sorted((read_pair(pair, columns) for pair in pairs), key=lambda function: -function.mean_abs)
    return {function.features: function for function in functions}


def pair_function(model: AdaFairClassifier, first: str | int, second: str | int) -> PairFunction:
    """What two features, given by name or by position, add to the score together.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of trees of depth two.
    first, second : str or int
        Names or positions of two features; their order does not matter.

    Returns
    -------
    PairFunction
        Its table; rows are values of the feature that comes first in X.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, explain
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> model = AdaFairClassifier("none", max_depth=2, n_estimators=1, validation_fraction=None)
    >>> model = model.fit(X, y, sensitive_features=["a", "b"] * 20)
    >>> explain.pair_function(model, "x1", 0).frame().round(2)
            x0       x1  score  weight
    0    ≤ 0.5    ≤ 0.5 -11.51    10.0
    1    ≤ 0.5    > 0.5  11.51    10.0
    2    ≤ 0.5  missing -11.51     0.0
    3    > 0.5    ≤ 0.5  11.51    10.0
    4    > 0.5    > 0.5 -11.51    10.0
    5    > 0.5  missing  11.51     0.0
    6  missing    ≤ 0.5 -11.51     0.0
    7  missing    > 0.5  11.51     0.0
    8  missing  missing -11.51     0.0
    """
    functions = pair_functions(model)
    names = [column.name for column in columns_of(model)]
    pair = tuple(sorted(feature_position(feature, names) for feature in (first, second)))
    found = functions.get((names[pair[0]], names[pair[1]]))
    if found is None:
        asked = PAIR.join(repr(names[k]) for k in pair)
        known = ", ".join(PAIR.join(map(repr, features)) for features in list(functions)[:10])
        raise ValueError(
            f"the model does not combine {asked}; "
            + (f"the pairs that matter most are {known}" if known else "it has no pairs: fit it with max_depth=2")
        )
    return found


def feature_position(feature: str | int, names: list[str]) -> int:
    """The position of a feature, given by name or by position."""
    if str(feature) in names:
        return names.index(str(feature))
    if isinstance(feature, (int, np.integer)) and -len(names) <= feature < len(names):
        return int(feature) % len(names)
    raise ValueError(f"the model has no feature {feature!r}; its features are {listed(names)}")


def contributions(model: AdaFairClassifier, X: Any) -> pd.DataFrame:
    """What each feature adds to the score of each instance.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps or native trees.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The instances.

    Returns
    -------
    DataFrame of shape (n_samples, n_features + 1), or more
        One column per feature and, last, the column ``constant`` (minus the decision threshold), with the index of X.
        Trees of depth two add a column for each pair of features that they combine, named ``"a × b"``. What has the
        name of a feature is in brackets: ``(constant)``. The sum of a row is its score: ``model.decision_function`` of
        it, or minus that if the positive label is the first of ``classes_``.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> X = [[1, 1], [2, 1], [3, 2], [4, 1]]
    >>> model = AdaBoostClassifier(3).fit(X, [0, 0, 1, 0])
    >>> parts = explain.contributions(model, X)
    >>> bool((parts.sum(axis=1) == model.decision_function(X)).all())
    True
    """
    (tables, pairs), constant = score_effects(model)
    columns, codes = columns_of(model), encode(model, X)
    parts: dict[str, Any] = {
        column.name: table[code] for column, table, code in zip(columns, tables, codes, strict=True)
    }
    for name, pair in zip(pair_names(pairs, columns), pairs, strict=True):
        parts[name] = pair.at(*codes[list(pair.features)])
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(codes.shape[1])
    return pd.DataFrame({**parts, free_name(CONSTANT, parts): constant + 0.0}, index=index)


def importances(model: AdaFairClassifier, X: Any = None, *, sample_weight: Any = None) -> pd.DataFrame:
    """How much each feature matters, the most important first.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps or native trees.
    X : DataFrame or array-like of shape (n_samples, n_features), optional
        Instances to measure the effect on the score on.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each instance of X.

    Returns
    -------
    DataFrame
        One row per feature. ``alpha_share`` is a feature's share of the weights α of the learners
        (``feature_importances_``). If X is given, there is also a row per pair of features that trees of depth two
        combine, which has no share of α of its own, and ``mean_abs_deviation`` is how far the contribution to the
        score is from its mean, on average over X; this decides the order.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> X = [[1, 5], [2, 5], [3, 5], [4, 5]]
    >>> explain.importances(AdaBoostClassifier(1).fit(X, [0, 0, 1, 1]))
             alpha_share
    feature
    x0               1.0
    x1               0.0
    """
    tables, pairs = feature_effects(model)
    pairs = pairs if X is not None else []
    columns = columns_of(model)
    names = pd.Index([*(column.name for column in columns), *pair_names(pairs, columns)], name="feature")
    table = pd.DataFrame({"alpha_share": [*model.feature_importances_, *[np.nan] * len(pairs)]}, index=names)
    if X is not None:
        codes = encode(model, X)
        weights = read_weights(sample_weight, codes.shape[1])
        everyone = np.zeros(codes.shape[1], dtype=np.intp)
        shares = code_shares(codes, everyone, 1, weights)[0]
        mean = (shares * tables).sum(axis=1, keepdims=True)
        deviations = (shares * np.abs(tables - mean)).sum(axis=1).tolist()
        for pair in pairs:
            centre = pair_means(pair, pair.scores, codes, everyone, 1, weights)
            deviations.append(pair_means(pair, np.abs(pair.scores - centre), codes, everyone, 1, weights)[0])
        table["mean_abs_deviation"] = deviations
    return table.sort_values(table.columns[-1], ascending=False, kind="stable")
