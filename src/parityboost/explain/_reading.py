"""What all that looks at a model needs of it, read off its glass box."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._arrays import Codes, Floats
from .._base import FairClassifier
from .._choice.frontier import SelectionData
from .._choice.wishes import Wishes
from .._engine.threads import Team
from .._model.dial import Dial
from .._model.glass_box import GlassBox
from .._table.binning import Column
from .._table.grouping import group_names
from .._table.sources import Source, read_sources, read_table


def check_model(model: Any) -> None:
    """Whether it is a fitted model of this package's boosting."""
    if not isinstance(model, FairClassifier):
        raise TypeError(
            "expected a fitted ParityBoostClassifier, AdaFairClassifier, AdaBoostClassifier or SMOTEBoostClassifier of "
            f"parityboost, got {type(model).__name__}: of a pipeline pass the last step, pipeline[-1], of a search its "
            "best_estimator_"
        )
    check_is_fitted(model)


def check_one_training(model: Any) -> None:
    """Whether it is such a model with one run of rounds, and not an average of several."""
    _available(model, "set_theta")


def glass_box(model: Any) -> GlassBox:
    """The model as a value; of a classifier of the user's own there is none."""
    box: GlassBox = _available(model, "glass_box_")
    return box


def _available(model: Any, name: str) -> Any:
    """What not every model has; one that has it not says why."""
    check_model(model)
    try:
        return getattr(model, name)
    except AttributeError as error:
        raise ValueError(str(error)) from None


def no_tables(model: Any) -> str | None:
    """Why the score is not a sum of tables, if it is not."""
    try:
        glass_box(model).score_effects()
    except ValueError as error:
        return str(error)
    return None


def columns_of(model: Any) -> tuple[Column, ...]:
    """The model's columns, by names that can be told apart from each other."""
    columns = glass_box(model).columns
    name, times = Counter(column.name for column in columns).most_common(1)[0]
    if times > 1:
        raise ValueError(f"column {name!r} has the same name as another column: rename it and fit again")
    return columns


def new_rows(model: Any, X: Any) -> Any:
    """X as the model reads it, if it has the columns of training."""
    return model._read_new(X)


def all_columns(model: Any, X: Any) -> Any:
    """X with its sensitive columns too, which a blind model does not read."""
    new_rows(model, X)
    return read_table(X)


def encode(model: Any, X: Any) -> Codes:
    """``codes[feature, row]``, after the same checks as in ``decision_function``."""
    binner, sources = glass_box(model).binner, read_sources(new_rows(model, X))
    binner.check(sources)
    with Team(1) as team:
        codes: Codes = np.array(binner.encode(sources, slice(None), team))
    return codes


def feature_source(model: Any, feature: str, X: Any) -> Source:
    """The feature's column of X, if X is as in training."""
    columns, sources = columns_of(model), read_sources(new_rows(model, X))
    position = [column.name for column in columns].index(feature)
    columns[position].check(sources[position])
    columns[position].encode(sources[position], slice(None))  # refuses infinity, as predicting does
    return sources[position]


def scores_of(model: Any, X: Any, sensitive_features: Any = None) -> Floats:
    """The score of each row: above 0 for the positive label, whichever of the classes it is."""
    decision = model.decision_function(X, sensitive_features=sensitive_features)
    scores: Floats = model.about_.labels.signed(decision)
    return scores


def chosen_on(model: Any) -> tuple[SelectionData, Floats] | None:
    """The rows that a model was chosen on, and its margins there; None if it holds none.

    Of an average all rows of a cell between two thresholds have the margin in the middle.
    """
    if hasattr(model, "choose"):
        menu = model.glass_box_.menu
        if menu is None:
            return None
        middles, weight = menu.bins(model.glass_box_.stage)
        row, cell = np.nonzero(weight)
        rows = np.rint(np.cumsum(weight[row, cell] * menu.unit)).astype(np.intp)
        row, cell = (np.repeat(each, np.diff(rows, prepend=0)) for each in (row, cell))
        return SelectionData(cell, np.empty(0), len(menu.totals), lambda: iter([middles[row]])), middles[row]
    selection = model._selection
    return (selection, next(islice(selection.margins(), model.theta_ - 1, None))) if selection else None


def chosen_for(model: Any) -> Wishes | None:
    """What a model was chosen for; None if its trees and its threshold were given."""
    if hasattr(model, "choose"):
        return model.glass_box_.chosen_for  # type: ignore[no-any-return]
    theta, threshold = model._chosen or (model.theta_, model.threshold_)
    is_moved = theta != model.theta_ or not np.array_equal(threshold, model.threshold_)
    return None if is_moved else model.about_.chosen_for


def certificate_of(model: Any) -> dict[str, str]:
    """What was promised of a model, in words by what each is about; nothing if nothing was."""
    box = getattr(model, "glass_box_", None) if hasattr(model, "choose") else None
    if box is None or box.certificate is None:
        return {}
    return box.certificate.said(group_names(box.about.groups), box.about.labels.shown)  # type: ignore[no-any-return]


def dial_of(model: Any) -> Dial | None:
    """The models between plain and fair, of a model that was fitted with ``dial=True``."""
    return model.glass_box_.dial if hasattr(model, "glass_box_") else None


def selection_part(model: Any) -> str:
    """Prefix of the columns of ``history_`` that θ was chosen by."""
    return "validation" if "validation_objective" in model.history_ else "train"
