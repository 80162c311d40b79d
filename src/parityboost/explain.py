"""What a fitted model does, read off the model itself.

A sum of stumps is a sum of one step function per feature, so nothing here is an approximation: the contributions of an
instance add up to its score, and the contributions of the features to a gap between groups add up to the gap.

The *score* is ``decision_function``; positive means the positive class. Every model of stumps can be explained:
:class:`parityboost.AdaFairClassifier`, :class:`parityboost.baselines.AdaBoostClassifier` and
:class:`parityboost.baselines.SMOTEBoostClassifier`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._arrays import Codes, Floats
from ._choice.rule import Measures, allowed_ber
from ._choice.thresholds import first_minimum
from ._engine.codes import N_CODES
from ._engine.threads import Team
from ._model.shapes import ShapeFunction, read_shape
from ._table.binning import Column
from ._table.inputs import group_name, read_groups
from ._table.sources import listed, read_sources
from ._table.weights import read_weights
from .estimators import AdaFairClassifier

__all__ = [
    "ShapeFunction",
    "choices_over_c",
    "compare_gaps",
    "contributions",
    "gap_decomposition",
    "importances",
    "shape_function",
    "shape_functions",
]

# Rows and columns of the tables here that stand beside those of the features.
CONSTANT, TOTAL = "constant", "total"


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
    tables = _feature_tables(model)
    return {column.name: read_shape(column, table) for column, table in zip(_columns(model), tables, strict=True)}


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
    tables, constant = _score_tables(model)
    codes = _encode(model, X)
    parts: dict[str, Any] = {
        column.name: table[code] for column, table, code in zip(_columns(model), tables, codes, strict=True)
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
    tables = _feature_tables(model)
    names = pd.Index([column.name for column in _columns(model)], name="feature")
    table = pd.DataFrame({"alpha_share": model.feature_importances_}, index=names)
    if X is not None:
        codes = _encode(model, X)
        weights = read_weights(sample_weight, codes.shape[1])
        shares = _code_shares(codes, np.zeros(codes.shape[1], dtype=np.intp), 1, weights)[0]
        mean = (shares * tables).sum(axis=1, keepdims=True)
        table["mean_abs_deviation"] = (shares * np.abs(tables - mean)).sum(axis=1)
    return table.sort_values(table.columns[-1], ascending=False, kind="stable")


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
        One row per feature, those that carry most first, and a row ``total``, their sum: the difference of the means of
        ``decision_function``. One column per pair of groups.

    Examples
    --------
    >>> from parityboost import explain
    >>> from parityboost.baselines import AdaBoostClassifier
    >>> X = [[1, 5], [2, 5], [3, 4], [4, 5]]
    >>> model = AdaBoostClassifier(2).fit(X, [0, 1, 0, 1])
    >>> explain.gap_decomposition(model, X, ["a", "a", "b", "b"]).round(2)
             b − a
    feature
    x1       -0.80
    x0        0.55
    total    -0.26
    """
    tables, _ = _score_tables(model)
    columns, codes = _columns(model), _encode(model, X)
    group, found = read_groups(sensitive_features, codes.shape[1])
    pairs = _pairs(found.tolist(), groups)
    weights = read_weights(sample_weight, codes.shape[1])
    mean = np.einsum("gfc,fc->gf", _code_shares(codes, group.astype(np.intp), len(found), weights), tables)
    for k in {k for pair in pairs for k in pair}:
        if np.isnan(mean[k, 0]):
            raise ValueError(f"sample_weight is zero for every row of group {group_name(found[k])!r}")
    names = pd.Index([column.name for column in columns], name="feature")
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
        One row per feature, those that carry most first, and a row ``total``. One column per model.

    Examples
    --------
    >>> from parityboost import explain
    >>> from parityboost.baselines import AdaBoostClassifier
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
        gaps[name] = table.drop(index=TOTAL).iloc[:, 0]
    return _with_total(pd.DataFrame(gaps))


def choices_over_c(model: AdaFairClassifier, values: Iterable[float] | None = None) -> pd.DataFrame:
    """The θ that other values of the parameter ``c`` would have chosen; nothing is trained again.

    ``c`` only decides which of the trained learners are used, so ``history_`` has all that is needed. Exceptions:
    rounds that early stopping (``n_iter_no_change``) left out are not considered, the thresholds that
    ``threshold="auto"`` chose are those of the model's own ``c``, and with ``keep`` the rates are taken as they are.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model.
    values : iterable of float, optional
        Values of c between 0 and 1; 0, 0.1, …, 1 by default.

    Returns
    -------
    DataFrame
        Columns ``c``, ``theta``, ``er``, ``ber`` and ``violation``, the measures on the data that θ is chosen on.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, explain
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = AdaFairClassifier(n_estimators=20, random_state=0)
    >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    >>> choices = explain.choices_over_c(model, [0, 0.5, 1])
    >>> choices.columns.tolist()
    ['c', 'theta', 'er', 'ber', 'violation']
    >>> int(choices["theta"].iloc[-1]) == model.theta_
    True
    """
    check_model(model)
    if not model._fitted.choose_theta:
        raise ValueError(f"{type(model).__name__} uses all its learners: it has no θ to choose, and no parameter c")
    chosen = np.arange(11) / 10 if values is None else np.array(list(values), dtype=np.float64)
    outside = chosen[~((chosen >= 0) & (chosen <= 1))]
    if len(outside):
        raise ValueError(f"c must be between 0 and 1, got {outside[0]}")
    er, ber, violation = (
        model.history_[f"{selection_part(model)}_{name}"].to_numpy() for name in ("er", "ber", "violation")
    )
    settings = model._fitted
    allowed = allowed_ber(settings, float(np.nanmin(ber)))
    objectives = (c * ber + (1.0 - c) * er + violation for c in chosen)
    costs = (Measures(ber, violation, violation, objective).cost(settings, allowed) for objective in objectives)
    best = np.array([first_minimum(cost) for cost in costs], dtype=np.intp)
    return pd.DataFrame(
        {"c": chosen, "theta": best + 1, "er": er[best], "ber": ber[best], "violation": violation[best]}
    )


def check_model(model: Any) -> None:
    """Whether it is a fitted model of this package's boosting."""
    if not isinstance(model, AdaFairClassifier):
        raise TypeError(
            "expected a fitted AdaFairClassifier, AdaBoostClassifier or SMOTEBoostClassifier of parityboost, got "
            f"{type(model).__name__}: of a pipeline pass the last step, pipeline[-1], of a search its best_estimator_"
        )
    check_is_fitted(model)


def selection_part(model: AdaFairClassifier) -> str:
    """Prefix of the columns of ``history_`` that θ was chosen by."""
    return "validation" if "validation_objective" in model.history_ else "train"


def _score_tables(model: Any) -> tuple[Floats, float]:
    check_model(model)
    tables, constant = model._score_tables()
    return tables, constant


def _feature_tables(model: Any) -> Floats:
    check_model(model)
    tables: Floats = model._feature_tables()
    return tables


def _columns(model: AdaFairClassifier) -> tuple[Column, ...]:
    """The model's columns, by names that can be told apart from each other and from those of sums."""
    columns: tuple[Column, ...] = model._ensemble.binner.columns
    names = [*(column.name for column in columns), CONSTANT, TOTAL]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        other = "the sum in the tables" if name in (CONSTANT, TOTAL) else "another column"
        raise ValueError(f"column {name!r} has the same name as {other}: rename it and fit again")
    return columns


def _encode(model: AdaFairClassifier, X: Any) -> Codes:
    """``codes[feature, row]``, after the same checks as in ``decision_function``."""
    binner, sources = model._ensemble.binner, read_sources(model._read_new(X))
    binner.check(sources)
    with Team(1) as team:
        codes: Codes = binner.encode(sources, slice(None), team)
    return codes


def _code_shares(codes: Codes, group: NDArray[np.intp], n_groups: int, weights: Floats | None) -> Floats:
    """``shares[group, feature, code]``: share of the group's weight that has the code; NaN if it has no weight."""
    mass = [np.bincount(group * N_CODES + code, weights, minlength=n_groups * N_CODES) for code in codes]
    shares = np.array(mass, dtype=np.float64).reshape(len(codes), n_groups, N_CODES).swapaxes(0, 1)
    with np.errstate(invalid="ignore"):
        normed: Floats = shares / shares.sum(axis=2, keepdims=True)
    return normed


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
    return pd.concat([gaps, gaps.sum().to_frame(TOTAL).T.rename_axis("feature")])
