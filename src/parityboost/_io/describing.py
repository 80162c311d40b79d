"""From a model to the document that its file holds."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._choice.frontier import Chosen
from .._model.averaged import AveragedEnsemble
from .._model.ensemble import EstimatorEnsemble
from .._model.groups import GroupSource
from .._model.tree_ensemble import TreeEnsemble
from .._table.binning import CategoricalColumn, Column
from ..notions import FairnessNotion, get_notion
from .average_json import describe_average
from .json_history import encode_history
from .json_values import (
    encode_array,
    encode_value,
)
from .layout import CLASSES, FORMAT, LIBRARIES, VERSION, find_class
from .strict_json import ModelFileError
from .tree_json import describe_trees


def describe(model: Any) -> dict[str, Any]:
    """The document of a model, without its checksum."""
    check_is_fitted(model)
    name = type(model).__name__
    if name not in CLASSES or find_class(name) is not type(model):
        raise ModelFileError(f"a {name} cannot be stored; models of {', '.join(CLASSES)} can")
    if isinstance(model._ensemble, EstimatorEnsemble):
        name = type(model.estimators_[0]).__name__
        raise ModelFileError(f"only a model of native trees (estimator=None) can be stored, this one is of {name}")
    if model.estimator is not None:
        raise ModelFileError(
            f"the model is of native trees, but its parameter is now estimator={model.estimator!r}, which a file "
            "cannot hold: model.set_params(estimator=None).save(…) stores it"
        )
    ensemble, history, source = model._ensemble, model._history, model._group_source
    used = {*model._used_features(), *(() if source is None else source.columns)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "class": name,
        "made_with": {"python": platform.python_version(), **{library: _version(library) for library in LIBRARIES}},
        "parameters": {key: _encode_parameter(key, value) for key, value in _parameters(model).items()},
        **_describe_fitted_with(model),
        **({"warnings": list(model.warnings_)} if model.warnings_ else {}),
        **({"rows": int(model.n_samples_fit_)} if hasattr(model, "n_samples_fit_") else {}),
        "classes": encode_array(model.classes_, "classes_"),
        **({"positive": encode_value(model.positive_, "positive_")} if model._positive_is_first else {}),
        **({} if model.favourable_ is None else {"favourable": encode_value(model.favourable_, "favourable_")}),
        "groups": [encode_value(group, "groups_") for group in model.groups_],
        "theta": int(model.theta_),
        "threshold": np.asarray(model.threshold_).tolist(),
        **_describe_chosen(model._chosen),
        "per_group": _describe_per_group(source, model._group_thresholds),
        "fitted": {key: encode_value(getattr(model, key), key) for key in model._stored_values},
        "named_columns": hasattr(model, "feature_names_in_"),
        "columns": [_describe_column(column, j in used) for j, column in enumerate(ensemble.binner.columns)],
        **_describe_learners(model),
        "history_columns": list(history),
        "history": encode_history(history),
    }


def _describe_chosen(chosen: Chosen | None) -> dict[str, Any]:
    """What `fit` chose, wherever the model has been moved to since then."""
    if chosen is None:
        return {}
    stage, threshold = chosen
    return {"chosen": {"stage": int(stage), "threshold": np.asarray(threshold).tolist()}}


def _parameters(model: Any) -> dict[str, Any]:
    """The parameters; splits that were given are stored as their number, since they are positions in data.

    Not the device: whoever reads the file may have another one.
    """
    parameters: dict[str, Any] = model.get_params(deep=False)
    parameters.pop("device", None)
    if "n_bags" in parameters and not isinstance(parameters["n_bags"], Integral):
        parameters["n_bags"] = len(model.thetas_)
    return parameters


def _describe_learners(model: Any) -> dict[str, Any]:
    ensemble = model._ensemble
    if isinstance(ensemble, AveragedEnsemble):
        return describe_average(model)
    if isinstance(ensemble, TreeEnsemble):
        return describe_trees(ensemble)
    weighted = zip(ensemble.alphas, ensemble.stumps, strict=True)
    return {"stumps": [{"alpha": float(alpha), **stump._asdict()} for alpha, stump in weighted]}


def _describe_fitted_with(model: Any) -> dict[str, Any]:
    """The parameters that still matter after ``fit``, if they have been changed since then: as they were.

    A notion of the user's own cannot be told in a file: the loaded model measures by its parameter ``notion``.
    """
    fitted = model._fitted
    changed: dict[str, Any] = {}
    if hasattr(model, "notion") and get_notion(model.notion) != fitted.notion and _is_known(fitted.notion):
        changed["notion"] = _encode_parameter("notion", fitted.notion)
    if hasattr(model, "c") and model.c != fitted.c:
        changed["c"] = encode_value(fitted.c, "c")
    if model.sensitive_feature != model._sensitive_feature:
        changed["sensitive_feature"] = _encode_parameter("sensitive_feature", model._sensitive_feature)
    for name, value in vars(model._grouping).items():
        if getattr(model, name) != value:
            changed[name] = _encode_parameter(name, value)
    return {"fitted_with": changed} if changed else {}


def _describe_per_group(source: GroupSource | None, thresholds: Any) -> dict[str, Any] | None:
    """Where a model with a threshold per group finds the groups, and the thresholds that each round would have."""
    if source is None:
        return None
    codes = None if source.codes is None else source.codes.tolist()
    columns, shares = list(source.columns), source.shares.tolist()
    return {"columns": columns, "codes": codes, "shares": shares, "rounds": thresholds.tolist()}


def _describe_column(column: Column, used: bool) -> dict[str, Any]:
    """A column with what prediction asks about it: of a column of numbers that is not used, only that it is one."""
    if isinstance(column, CategoricalColumn):
        where = f"column {column.name!r}"
        categories = [encode_value(value, where) for value in column.categories]
        flags = {flag: True for flag in ("mixed", "others_are_missing") if getattr(column, flag)}
        return {"name": column.name, "categories": categories, **flags}
    edges = None if not column.n_bins else column.edges.tolist() if used else []  # null: it held nothing
    return {"name": column.name, "edges": edges}


def _encode_parameter(name: str, value: Any) -> Any:
    where = f"parameter {name}"
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, FairnessNotion):
        if not _is_known(value):
            raise ModelFileError(
                f"{where}: {value!r} is a notion of your own, whose code a file cannot hold. Predictions do not need "
                f"it: model.set_params({name}='none').save(…) stores the model without. frontier() and reports of the "
                "loaded model then know of no notion"
            )
        return {"notion": value.name, **vars(value)}
    if isinstance(value, dict):
        pairs = ((key, tuple(item) if isinstance(item, (list, np.ndarray)) else item) for key, item in value.items())
        return {"pairs": [[encode_value(key, where), encode_value(item, where)] for key, item in pairs]}
    if isinstance(value, (list, tuple, np.ndarray, pd.Index, pd.Series)):
        return [
            encode_value(_as_tuple(item), where)
            for item in (value if isinstance(value, (list, tuple)) else value.tolist())
        ]
    return encode_value(value, where)


def _as_tuple(item: Any) -> Any:
    """A set of columns, as ``interaction_cst`` has them, as a tuple, which means the same there."""
    if isinstance(item, (set, frozenset)):
        return tuple(sorted(item, key=str))  # a file does not depend on the order of a set
    return tuple(item) if isinstance(item, list) else item


def _is_known(notion: FairnessNotion) -> bool:
    """Whether a notion is one of this library's."""
    try:
        return type(get_notion(notion.name))(**vars(notion)) == notion
    except (TypeError, ValueError):
        return False


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # run from its source without being installed
        return "unknown"
