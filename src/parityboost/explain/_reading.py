"""What explanations need of a model, after checking that it has it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._arrays import Codes, Floats
from .._engine.codes import N_CODES
from .._engine.threads import Team
from .._table.binning import Column
from .._table.sources import read_sources
from ..estimators import AdaFairClassifier

# Rows and columns of the tables here that stand beside those of the features.
CONSTANT, TOTAL = "constant", "total"


def check_model(model: Any) -> None:
    """Whether it is a fitted model of this package's boosting."""
    if not isinstance(model, AdaFairClassifier):
        raise TypeError(
            "expected a fitted AdaFairClassifier, AdaBoostClassifier or SMOTEBoostClassifier of parityboost, got "
            f"{type(model).__name__}: of a pipeline pass the last step, pipeline[-1], of a search its best_estimator_"
        )
    check_is_fitted(model)


def score_tables(model: Any) -> tuple[Floats, float]:
    check_model(model)
    tables, constant = model._score_tables()
    return tables, constant


def feature_tables(model: Any) -> Floats:
    check_model(model)
    tables: Floats = model._feature_tables()
    return tables


def columns_of(model: AdaFairClassifier) -> tuple[Column, ...]:
    """The model's columns, by names that can be told apart from each other and from those of sums."""
    columns: tuple[Column, ...] = model._ensemble.binner.columns
    names = [*(column.name for column in columns), CONSTANT, TOTAL]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        other = "the sum in the tables" if name in (CONSTANT, TOTAL) else "another column"
        raise ValueError(f"column {name!r} has the same name as {other}: rename it and fit again")
    return columns


def encode(model: AdaFairClassifier, X: Any) -> Codes:
    """``codes[feature, row]``, after the same checks as in ``decision_function``."""
    binner, sources = model._ensemble.binner, read_sources(model._read_new(X))
    binner.check(sources)
    with Team(1) as team:
        codes: Codes = np.array(binner.encode(sources, slice(None), team))
    return codes


def code_shares(codes: Codes, group: NDArray[np.intp], n_groups: int, weights: Floats | None) -> Floats:
    """``shares[group, feature, code]``: share of the group's weight that has the code; NaN if it has no weight."""
    mass = [np.bincount(group * N_CODES + code, weights, minlength=n_groups * N_CODES) for code in codes]
    shares = np.array(mass, dtype=np.float64).reshape(len(codes), n_groups, N_CODES).swapaxes(0, 1)
    with np.errstate(invalid="ignore"):
        normed: Floats = shares / shares.sum(axis=2, keepdims=True)
    return normed
