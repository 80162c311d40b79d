"""Which columns tell the group: the attribute itself, and what all but tells it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._docs import documented
from .._table.grouping import Grouping, as_tuple, read_groups, sensitive_columns, sensitive_frame
from .._table.reading import read_weights
from ..estimators import AdaFairClassifier
from ._reading import all_columns, columns_of, encode, glass_box


@documented()
def proxies(
    model: AdaFairClassifier, X: Any, *, sensitive_features: Any = None, sample_weight: Any = None
) -> pd.DataFrame:
    """How well each column by itself predicts the group, and whether the model uses it.

    A model that cannot see an attribute may see it in another column: *husband* tells the sex.

    Parameters
    ----------
    X : DataFrame or array-like
        Rows to look at.
    sensitive_features : array-like, Series, dict or DataFrame, optional
        The group of each row; each column is looked at by itself. Not needed if the model's ``sensitive_feature`` names
        columns of X. Rows whose value is missing are left out.

    Returns
    -------
    DataFrame
        One row per attribute and column, those that tell most first: ``attribute``, ``feature``, ``tells`` (0: no
        better than a guess, 1: the group for certain) and ``used``, whether the score depends on the column. Of the
        value of the column the most likely group is guessed, where all groups are equally frequent; which one that is
        is learnt from one half of the rows and judged by the other.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, explain
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = AdaFairClassifier(
    ...     n_estimators=20, sensitive_feature="sex", blind=True, random_state=0
    ... )
    >>> model = model.fit(adult.data, adult.target)
    >>> explain.proxies(model, adult.data).head(2).round(2)
      attribute         feature  tells  used
    0       sex    relationship   0.61  True
    1       sex  marital-status   0.47  True
    """
    feature = model.about_.sensitive_feature
    if sensitive_features is None and feature is None:
        raise ValueError("pass sensitive_features, as to fit: the model names no column of X as its sensitive_feature")
    given = sensitive_columns(all_columns(model, X), feature) if sensitive_features is None else sensitive_features
    return list_proxies(model, X, Grouping(model.about_.grouping.bands).apply(sensitive_frame(given)), sample_weight)


def list_proxies(model: AdaFairClassifier, X: Any, frame: pd.DataFrame, sample_weight: Any = None) -> pd.DataFrame:
    """The same for sensitive columns as groups."""
    codes, columns, used = encode(model, X), columns_of(model), glass_box(model).used_features()
    weights = read_weights(sample_weight, codes.shape[1])
    weights = np.ones(codes.shape[1]) if weights is None else weights
    rows = []
    for j, name in enumerate(frame.columns):
        known = frame.iloc[:, j].notna().to_numpy()
        group, groups = read_groups(frame.iloc[known, [j]], int(known.sum()))
        if len(groups) < 2:
            raise ValueError(f"only one group in the sensitive attribute {str(name)!r}: {as_tuple(groups[0])[0]!r}")
        for f, column in enumerate(columns):
            told = _told(codes[f][known].astype(np.intp), group, len(groups), weights[known])
            rows.append({"attribute": str(name), "feature": column.name, "tells": told, "used": f in used})
    table = pd.DataFrame(rows)
    return table.sort_values("tells", ascending=False, kind="stable", ignore_index=True)


def _told(code: Any, group: Any, n_groups: int, weights: Any) -> float:
    """How far the balanced accuracy of a guess is from chance to certainty."""
    n_codes, halves = int(code.max(initial=0)) + 1, np.arange(len(code)) % 2 == 0
    right = np.zeros(n_groups)
    for half in (halves, ~halves):
        shares = np.zeros((n_codes, n_groups))
        np.add.at(shares, (code[half], group[half]), weights[half])
        shares /= np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
        guess = shares.argmax(axis=1)[code[~half]]
        right += np.bincount(group[~half], weights[~half] * (guess == group[~half]), n_groups)
    found = float(np.mean(right / np.bincount(group, weights, n_groups)))
    return max((found - 1.0 / n_groups) / (1.0 - 1.0 / n_groups), 0.0)
