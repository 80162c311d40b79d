"""What explanations need of a model, after checking that it has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._arrays import Codes, Floats
from .._engine.codes import N_CODES
from .._engine.threads import Team
from .._model.pairs import Effects, Pair
from .._model.prediction import of_one_training
from .._table.binning import Column
from .._table.sources import read_sources
from ..estimators import AdaFairClassifier

# The last column of contributions, and the last row of gaps, which stand beside those of the features.
CONSTANT, TOTAL = "constant", "total"
PAIR = " × "  # between the names of two features


def check_model(model: Any) -> None:
    """Whether it is a fitted model of this package's boosting."""
    if not isinstance(model, AdaFairClassifier):
        raise TypeError(
            "expected a fitted ParityBoostClassifier, AdaFairClassifier, AdaBoostClassifier or SMOTEBoostClassifier of "
            f"parityboost, got {type(model).__name__}: of a pipeline pass the last step, pipeline[-1], of a search its "
            "best_estimator_"
        )
    check_is_fitted(model)


def check_one_training(model: Any) -> None:
    """Whether it is such a model with one run of rounds, and not an average of several."""
    check_model(model)
    try:
        of_one_training(model)
    except AttributeError as error:
        raise ValueError(str(error)) from None


def score_effects(model: Any) -> tuple[Effects, float]:
    check_model(model)
    effects, constant = model._score_effects()
    return effects, constant


def feature_effects(model: Any) -> Effects:
    check_model(model)
    effects: Effects = model._feature_effects()
    return effects


def kinds_of(names: Iterable[str]) -> str:
    """What rows of a table are called."""
    return "features and pairs" if any(PAIR in name for name in names) else "features"


def free_name(name: str, taken: Iterable[str]) -> str:
    """A name for what is no column: in brackets if a column has that name."""
    names = set(taken)
    while name in names:
        name = f"({name})"
    return name


def pair_names(pairs: list[Pair], columns: tuple[Column, ...]) -> list[str]:
    """How tables name each pair."""
    names = [column.name for column in columns]
    for pair in pairs:
        names.append(free_name(PAIR.join(columns[f].name for f in pair.features), names))
    return names[len(columns) :]


def columns_of(model: AdaFairClassifier) -> tuple[Column, ...]:
    """The model's columns, by names that can be told apart from each other."""
    columns: tuple[Column, ...] = model._ensemble.binner.columns
    name, times = Counter(column.name for column in columns).most_common(1)[0]
    if times > 1:
        raise ValueError(f"column {name!r} has the same name as another column: rename it and fit again")
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


def pair_means(
    pair: Pair, values: Floats, codes: Codes, group: NDArray[np.intp], n_groups: int, weights: Floats | None
) -> Floats:
    """The mean of a value per cell of a pair over the rows of each group; NaN if a group has no weight."""
    first, second = pair.features
    per_row = values[pair.row_of[codes[first]], pair.column_of[codes[second]]]
    sums = np.bincount(group, per_row if weights is None else per_row * weights, minlength=n_groups)
    with np.errstate(invalid="ignore"):
        means: Floats = sums / np.bincount(group, weights, minlength=n_groups)
    return means
