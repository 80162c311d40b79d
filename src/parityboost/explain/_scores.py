"""Scores: step functions, contributions, importances, gaps between groups, and other choices of θ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .._arrays import Codes, Floats
from .._choice.rule import allowed_ber
from .._choice.thresholds import Measures, first_minimum
from .._docs import ONE_TRAINING, documented
from .._model.tables import Effects
from .._table.grouping import group_name, read_groups
from .._table.reading import read_weights
from .._table.values import listed
from ..estimators import AdaFairClassifier
from ._reading import check_one_training, columns_of, encode, glass_box, selection_part
from ._shapes import PairFunction, ShapeFunction, read_pair, read_shape

# The last column of contributions, and the last row of gaps, which stand beside those of the features.
CONSTANT, TOTAL = "constant", "total"
PAIR = " × "  # between the names of two features


@documented()
def shape_functions(model: AdaFairClassifier) -> dict[str, ShapeFunction]:
    """The whole model: one step function per feature, in the order of the columns.

    Neighbouring bins of a number with the same score are one step. Features that the model does not use are there too;
    their ``is_flat`` is true. The functions of an instance's values add up to its score, but for the constant that
    :func:`contributions` shows, or for the threshold of its group if no feature tells the groups apart. Trees of depth
    two have :func:`pair_functions` besides.

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
    box, columns = glass_box(model), columns_of(model)
    spread = [None] * len(columns) if box.spread is None else box.spread
    tables = box.feature_effects().tables
    return {column.name: read_shape(column, *of) for column, *of in zip(columns, tables, spread, strict=True)}


@documented()
def shape_function(model: AdaFairClassifier, feature: str | int) -> ShapeFunction:
    """The step function of one feature, given by name or by position.

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


@documented()
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
    pairs, columns = glass_box(model).feature_effects().pairs, columns_of(model)
    functions = sorted((read_pair(pair, columns) for pair in pairs), key=lambda function: -function.mean_abs)
    return {function.features: function for function in functions}


@documented()
def pair_function(model: AdaFairClassifier, first: str | int, second: str | int) -> PairFunction:
    """What two features, given by name or by position, add to the score together.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of trees of depth two.

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
    >>> explain.pair_function(model, "x1", 0).frame().round(2).head(3)
          x0       x1  score  weight
    0  ≤ 0.5    ≤ 0.5 -11.51    10.0
    1  ≤ 0.5    > 0.5  11.51    10.0
    2  ≤ 0.5  missing -11.51     0.0
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
    if str(feature) in names:
        return names.index(str(feature))
    if isinstance(feature, (int, np.integer)) and -len(names) <= feature < len(names):
        return int(feature) % len(names)
    raise ValueError(f"the model has no feature {feature!r}; its features are {listed(names)}")


@documented()
def contributions(model: AdaFairClassifier, X: Any) -> pd.DataFrame:
    """What each feature adds to the score of each instance.

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
    effects, constant = glass_box(model).score_effects()
    codes = encode(model, X)
    parts = dict(_parts(model, effects, codes))
    index = X.index if isinstance(X, pd.DataFrame) else None
    return pd.DataFrame({**parts, free_name(CONSTANT, parts): np.full(codes.shape[1], constant + 0.0)}, index=index)


@documented()
def importances(model: AdaFairClassifier, X: Any = None, *, sample_weight: Any = None) -> pd.DataFrame:
    """How much each feature matters, the most important first.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_features), optional
        Instances to measure the effect on the score on.

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
    names = pd.Index([column.name for column in columns_of(model)], name="feature")
    table = pd.DataFrame({"alpha_share": model.feature_importances_}, index=names)
    if X is not None:
        codes = encode(model, X)
        weights = read_weights(sample_weight, codes.shape[1])
        deviations = {}
        for name, part in _parts(model, glass_box(model).feature_effects(), codes):
            mean = np.average(part, weights=weights)
            deviations[name] = np.average(np.abs(part - mean), weights=weights)
        table = table.reindex(pd.Index(deviations, name="feature")).assign(mean_abs_deviation=list(deviations.values()))
    return table.sort_values(table.columns[-1], ascending=False, kind="stable")


@documented()
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
    effects, _ = glass_box(model).score_effects()
    codes = encode(model, X)
    n_rows = codes.shape[1]
    group, found = read_groups(sensitive_features, n_rows)
    pairs = _pairs(found.tolist(), groups)
    weights = read_weights(sample_weight, n_rows)
    weights = np.ones(n_rows) if weights is None else weights
    total = np.bincount(group, weights, minlength=len(found))
    for k in {k for pair in pairs for k in pair}:
        if not total[k]:
            raise ValueError(f"sample_weight is zero for every row of group {group_name(found[k])!r}")
    with np.errstate(invalid="ignore"):  # a group without weight may be there if it is not compared
        parts = _parts(model, effects, codes)
        means = {name: np.bincount(group, part * weights) / total for name, part in parts}
    mean = pd.DataFrame(means, columns=pd.Index(means, name="feature"))
    gaps = {f"{group_name(found[b])} − {group_name(found[a])}": mean.loc[b] - mean.loc[a] for a, b in pairs}
    return _with_total(pd.DataFrame(gaps))


@documented()
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
    groups : tuple of two groups, optional
        Which two to compare, needed if there are more than two.

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


@documented(model=ONE_TRAINING)
def choices_over_c(model: AdaFairClassifier, values: Iterable[float] | None = None) -> pd.DataFrame:
    """The θ that other values of the parameter ``c`` would have chosen; nothing is trained again.

    ``c`` only decides which of the trained learners are used, so ``history_`` has all that is needed. Exceptions:
    rounds that early stopping (``n_iter_no_change``) left out are not considered, the thresholds that
    ``threshold="auto"`` chose are those of the model's own ``c``, and with ``keep`` the rates are taken as they are.

    Parameters
    ----------
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
    check_one_training(model)
    settings = model.about_.settings
    if not settings.choose_theta:
        raise ValueError(f"{type(model).__name__} uses all its learners: it has no θ to choose, and no parameter c")
    chosen = np.arange(11) / 10 if values is None else np.array(list(values), dtype=np.float64)
    outside = chosen[~((chosen >= 0) & (chosen <= 1))]
    if len(outside):
        raise ValueError(f"c must be between 0 and 1, got {outside[0]}")
    er, ber, violation = (
        model.history_[f"{selection_part(model)}_{name}"].to_numpy() for name in ("er", "ber", "violation")
    )
    allowed = allowed_ber(settings, float(np.nanmin(ber)))
    objectives = (c * ber + (1.0 - c) * er + violation for c in chosen)
    costs = (Measures(ber, violation, violation, objective).cost(settings, allowed) for objective in objectives)
    best = np.array([first_minimum(cost) for cost in costs], dtype=np.intp)
    return pd.DataFrame(
        {"c": chosen, "theta": best + 1, "er": er[best], "ber": ber[best], "violation": violation[best]}
    )


def kinds_of(names: Iterable[str]) -> str:
    kinds = {PAIR in name for name in names}
    return "features and pairs" if len(kinds) == 2 else "pairs" if True in kinds else "features"


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name for what is no column: in brackets if a column has that name."""
    names = set(taken)
    while name in names:
        name = f"({name})"
    return name


def _parts(model: Any, effects: Effects, codes: Codes) -> Iterator[tuple[str, Floats]]:
    """What each feature, and after them each pair of features, adds to the score of every row."""
    names = [column.name for column in columns_of(model)]
    for name, table, code in zip(names, effects.tables, codes, strict=True):
        yield name, table[code]
    taken = set(names)
    for pair in effects.pairs:
        name = free_name(PAIR.join(names[feature] for feature in pair.features), taken)
        taken.add(name)
        yield name, pair.at(*codes[list(pair.features)])
