"""What the report knows about a model: its settings, what matters to it, one person's score, its rounds."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import explain
from .._arrays import Floats
from .._io.json_values import to_plain
from .._stats import rates
from .._table.grouping import group_names, viewed
from .._table.reading import read_weights
from .._table.sources import column_names
from ..audit._text import Row
from ..estimators import AdaFairClassifier
from ..explain._proxies import list_proxies
from ..explain._reading import chosen_for, dial_of, feature_source, no_tables
from ..explain._shapes import category_shares, extent
from ..notions import DisparateMistreatment
from . import _tables

MAX_PAIRS = 6  # that are drawn
MAX_CELLS = 40_000  # rounds × groups that a page holds; of more rounds, every second, third, … is kept
MAX_PROXIES = 3
MAX_SHAPES = 24  # features whose step functions are drawn


def name_of(model: Any) -> str:
    """How the page calls a model in a sentence."""
    return type(model).__name__.removesuffix("Classifier")


def describe(model: AdaFairClassifier, X: Any, table: Any, weights: Any) -> Row:
    defaults = signature(type(model)).parameters
    parameters = []
    for name, value in model.get_params(deep=False).items():
        shown = _setting(value)
        parameters.append({"name": name, "value": shown, "default": shown == _setting(defaults[name].default)})
    threshold: Any = model.threshold_
    if np.ndim(threshold):  # one per group of the training data
        groups = group_names(model.groups_)
        threshold = [{"group": g, "threshold": t} for g, t in zip(groups, threshold.tolist(), strict=True)]
    found = {
        "name": name_of(model),
        "class": type(model).__name__,
        "learner": None if hasattr(model, "glass_box_") else type(model.estimators_[0]).__name__,
        "notion": model.about_.settings.notion.name,
        "aim": _aim(model),
        "warnings": list(model.warnings_),
        "parameters": parameters,
        "theta": model.theta_,
        "n_estimators": model.n_estimators_,
        "n_bags": len(model.thetas_) if hasattr(model, "thetas_") else None,
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
    found |= _pairs(model, X, weights)
    return found


def _aim(model: Any) -> Row | None:
    """What was maximised, in a few words, and what the model was chosen for in all; None if nothing was chosen."""
    wishes, settings = chosen_for(model), model.about_.settings
    if wishes is None:
        return None
    said = wishes.said(settings.notion, settings.c)
    return {"name": wishes.aim(settings.c), "said": said, "limit": wishes.limit}


def alternatives(model: Any, confidence: float) -> Row | None:
    """The record of alternatives of a model that has one."""
    if not hasattr(model, "choose") or model.glass_box_.menu is None:
        return None
    rows = model.glass_box_.alternatives(confidence)
    is_here = bool(rows) and rows[0]["what"].startswith("taken")
    return {"rows": rows, "confidence": confidence, "is_here": is_here, "notion": model.about_.settings.notion.name}


def proxies(model: AdaFairClassifier, X: Any, frame: pd.DataFrame, weights: Any) -> list[Row]:
    """Of each sensitive column what tells it: the column itself if the model reads it, and those that tell most."""
    if no_tables(model) is not None:
        return []
    table = list_proxies(model, X, frame, weights)
    is_own = table["feature"] == table["attribute"]
    most = table[~is_own].groupby("attribute", sort=False).head(MAX_PROXIES)
    shown = pd.concat([table[is_own], most]).sort_values("attribute", kind="stable")
    return shown.to_dict("records")  # type: ignore[return-value]


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _shape(function: explain.ShapeFunction, source: Any) -> Row:
    """A step function, and where the rows of X are on it."""
    shape: Row = {name: getattr(function, name) for name in ("feature", "kind", "scores", "missing", "spread")}
    if function.kind == "categorical":
        *shares, other, missing = category_shares(function, source)
        names = [str(category) for category in function.categories]
        shape |= {"categories": names, "shares": shares, "other": function.other, "other_share": other}
        return shape | {"missing_share": missing}
    lies = extent(function, source)
    shape |= {"thresholds": function.thresholds, "range": lies.range, "edges": lies.edges.tolist()}
    return shape | {"shares": (lies.counts / lies.n).tolist(), "missing_share": lies.n_missing / lies.n}


def _pairs(model: AdaFairClassifier, X: Any, weights: Any) -> Row:
    """The pairs that matter most, and how much of the score pairs carry; ``None`` for a model without any."""
    functions = list(explain.pair_functions(model).values())
    if not functions:
        return {"pairs": None, "n_pairs": 0, "pair_share": None}
    parts = explain.contributions(model, X).to_numpy()[:, :-1]
    row_weights = read_weights(weights, len(parts))
    features, pairs = np.split(parts, [model.n_features_in_], axis=1)
    alone, together = (_movement(part.sum(axis=1), row_weights) for part in (features, pairs))
    shown = [
        {
            "features": list(function.features),
            "rows": function.rows.labels,
            "columns": function.columns.labels,
            "scores": function.scores.tolist(),
            "weight": function.weight.tolist(),
            "mean_abs": function.mean_abs,
        }
        for function in functions[:MAX_PAIRS]
    ]
    share = together / (alone + together) if alone + together > 0 else 0.0
    return {"pairs": shown, "n_pairs": len(functions), "pair_share": share}


def _movement(scores: Any, weights: Any) -> float:
    """How far scores are from their mean, on average."""
    mean = np.average(scores, weights=weights)
    return float(np.average(np.abs(scores - mean), weights=weights))


def person(model: AdaFairClassifier, X: Any, y: Any, weights: Any, at: Any, favourable: Any = None) -> Row | None:
    """The parts of the score of a row, given by its position, compared with the mean of all rows."""
    if at is None:
        return None
    problem = no_tables(model)
    if problem is not None:
        raise ValueError(f"one person cannot be explained: {problem}")
    all_parts = explain.contributions(model, X)
    mean = pd.Series(np.average(all_parts.to_numpy(), axis=0, weights=weights), index=all_parts.columns)
    own = (all_parts.iloc[at] - mean).iloc[:-1]
    values = X.iloc[at] if isinstance(X, pd.DataFrame) else pd.Series(np.asarray(X)[at])
    known = dict(zip(own.index, values.tolist(), strict=False))  # pairs of features come after the features
    score = float(all_parts.iloc[at].sum())
    order = own.abs().sort_values(ascending=False, kind="stable").index
    row = X.iloc[[int(at)]] if isinstance(X, pd.DataFrame) else np.asarray(X)[[int(at)]]
    why = explain.reasons(model, row, favourable=favourable)
    return {
        "reasons": [
            {"feature": reason["feature"], "value": _text(reason["value"]), "shortfall": reason["shortfall"]}
            for reason in why.table.to_dict("records")
        ],
        "favourable": to_plain(why.favourable),
        "row": int(at) + 1,
        "score": score,
        "mean": float(mean.sum()),
        "predicted": to_plain(model.about_.labels.outcomes[int(score > 0)]),
        "true": to_plain(np.asarray(y)[at]),
        "parts": [
            {"feature": name, "value": _text(known[name]) if name in known else None, "part": float(own[name])}
            for name in order
            if own[name] != 0
        ],
    }


def _text(value: Any) -> str:
    if pd.isna(value):
        return "missing"
    return _tables.number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def rounds(
    model: AdaFairClassifier, predictions: Iterable[Any], y: Any, group: Any, groups: Any, weights: Floats | None
) -> Row:
    """Predicted positives after every round, per group and true class: all rates of all rounds follow from them.

    ``predictions`` are those of ``staged_predict``, or those at each point of the dial.
    Without sample weights counts are numbers of rows.
    """
    dial = dial_of(model)
    places: list[Any] = list(range(1, model.n_estimators_ + 1)) if dial is None else list(dial.weights)
    here = model.theta_ if dial is None else model.fairness_
    n_groups, n_rounds = len(groups), len(places)
    cell = group.astype(np.intp) * 2 + y

    def count(rows: Any) -> NDArray[Any]:
        counts = np.bincount(cell[rows], None if weights is None else weights[rows], minlength=2 * n_groups)
        return counts.reshape(n_groups, 2)

    totals = count(slice(None))
    every = -(-n_rounds * n_groups // MAX_CELLS)
    kept, selected = [], []
    for j, (place, labels) in enumerate(zip(places, predictions, strict=True), start=1):
        if j % every == 0 or j in (1, n_rounds) or place == here:
            kept.append(place)
            selected.append(count(labels == model.positive_))
    positive = np.array(selected, dtype=np.float64)
    own = model.about_.settings.notion
    notion = viewed(own, groups) if own.gaps else DisparateMistreatment()  # what is shown of a model without one
    counts = np.stack([totals - positive, positive], axis=-1)
    on = "validation" if dial is not None else explain.selection_part(model)
    if dial is None:
        chosen = model.history_.loc[kept, [f"{on}_ber", f"{on}_violation"]].to_numpy()
    else:
        held_out = np.array([box.held_out_counts for box in model.glass_box_.blends()])
        held_out = held_out[[dial.weights.index(place) for place in kept]]
        chosen = np.column_stack([rates.balanced_error_rate(held_out), own.violation(held_out)])
    return {
        "groups": group_names(groups),
        "negatives": totals[:, 0].tolist(),
        "positives": totals[:, 1].tolist(),
        "symbol": "θ" if dial is None else "fairness",
        "theta": here,
        "rounds": kept,
        "false_positives": [row[:, 0].tolist() for row in selected],
        "true_positives": [row[:, 1].tolist() for row in selected],
        "notion": notion.name,
        "ber": rates.balanced_error_rate(counts).tolist(),
        "violation": notion.violation(counts).tolist(),
        # What θ was chosen by; a model without a notion chooses none.
        "chosen_on": on if own.gaps else None,
        "chosen_ber": chosen[:, 0].tolist(),
        "chosen_violation": chosen[:, 1].tolist(),
    }
