"""What the report knows about a model: its settings, what matters to it, its step functions and pairs."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from .. import explain
from .._model.averaged import AveragedEnsemble
from .._model.ensemble import EstimatorEnsemble
from .._model.extent import bin_edges, category_shares, drawn_range, feature_source
from .._table.inputs import group_names
from .._table.sources import column_names
from ..estimators import AdaFairClassifier
from . import _pairs

MAX_SHAPES = 24  # features whose step functions are drawn


def name_of(model: Any) -> str:
    """How the page calls a model in a sentence."""
    return type(model).__name__.removesuffix("Classifier")


def describe(model: AdaFairClassifier, X: Any, table: Any, weights: Any) -> dict[str, Any]:
    defaults = signature(type(model)).parameters
    parameters = [
        {"name": name, "value": _setting(value), "default": _setting(value) == _setting(defaults[name].default)}
        for name, value in model.get_params(deep=False).items()
    ]
    threshold: Any = model.threshold_
    if np.ndim(threshold):  # one per group of the training data
        groups = group_names(model.groups_)
        threshold = [{"group": g, "threshold": t} for g, t in zip(groups, threshold.tolist(), strict=True)]
    found = {
        "name": name_of(model),
        "class": type(model).__name__,
        "learner": type(model.estimators_[0]).__name__ if isinstance(model._ensemble, EstimatorEnsemble) else None,
        "notion": model._fitted.notion.name,
        "warnings": list(model.warnings_),
        "parameters": parameters,
        "theta": model.theta_,
        "n_estimators": model.n_estimators_,
        "n_bags": len(model.thetas_) if isinstance(model._ensemble, AveragedEnsemble) else None,
        "threshold": threshold,
        "importances": None,
        "shapes": None,
        "n_used": None,
        "pairs": None,
        "no_shapes": no_tables(model),
    }
    if found["no_shapes"] is not None:
        shares = getattr(model, "feature_importances_", None)  # not every base estimator has them
        if shares is not None and len(shares) == table.shape[1]:
            rows = zip(column_names(table), shares, strict=True)
            ordered = sorted(rows, key=lambda row: -row[1])
            found["importances"] = [{"feature": name, "alpha_share": share} for name, share in ordered]
        return found
    importances = explain.importances(model, X, sample_weight=weights)
    table = importances.reset_index().astype({"alpha_share": object})
    table.loc[importances["alpha_share"].isna().to_numpy(), "alpha_share"] = None  # a pair has none of its own
    found["importances"] = table.to_dict("records")
    functions = explain.shape_functions(model)
    used = [name for name in importances.index if name in functions and not functions[name].is_flat]
    found["n_used"] = len(used)
    found["shapes"] = [_shape(functions[name], feature_source(model, name, X)) for name in used[:MAX_SHAPES]]
    found |= _pairs.describe(model, X, weights)
    return found


def no_tables(model: AdaFairClassifier) -> str | None:
    """Why the model is not a sum of step functions, if it is not."""
    try:
        model._score_effects()
    except ValueError as error:
        return str(error)
    return None


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _shape(function: explain.ShapeFunction, source: Any) -> dict[str, Any]:
    """A step function, and where the rows of X are on it."""
    shape: dict[str, Any] = {
        "feature": function.feature,
        "kind": function.kind,
        "scores": list(function.scores),
        "missing": function.missing,
        "spread": None if function.spread is None else list(function.spread),
    }
    if function.kind == "categorical":
        *shares, other, missing = category_shares(function, source)
        names = [str(category) for category in function.categories]
        shape |= {"categories": names, "shares": shares, "other": function.other, "other_share": other}
        return shape | {"missing_share": missing}
    values = source.floats(slice(None))
    present = values[~np.isnan(values)]
    low, high = drawn_range(function.thresholds, present)
    edges = bin_edges(present, low, high) if len(present) else np.array([low, high])
    return shape | {
        "thresholds": list(function.thresholds),
        "range": [low, high],
        "edges": edges.tolist(),
        "shares": (np.histogram(present, edges)[0] / len(values)).tolist(),
        "missing_share": 1 - len(present) / len(values),
    }
