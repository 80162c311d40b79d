"""The report as one plain dict: what is in it is on the page, and nothing else is."""

from __future__ import annotations

import platform
from copy import copy
from datetime import UTC, datetime
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from .. import explain
from .._io.json_values import to_plain
from .._model.averaged import AveragedEnsemble
from .._model.dial import WEIGHTS
from .._model.ensemble import EstimatorEnsemble
from .._model.extent import bin_edges, category_shares, drawn_range, feature_source
from .._stats.intervals import Interval
from .._table.frames import to_pandas
from .._table.inputs import group_name, group_names, read_groups, sensitive_columns, sensitive_frame
from .._table.sources import column_names
from .._table.weights import read_weights
from ..audit import Audit, audit
from ..baselines import AdaBoostClassifier
from ..estimators import AdaFairClassifier
from . import _measures, _pairs, _words

MAX_SHAPES = 24  # features whose step functions are drawn


def build(
    model: AdaFairClassifier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any = None,
    baseline: Any = None,
    train: tuple[Any, Any] | None = None,
    sample_weight: Any = None,
    title: str | None = None,
    confidence: float = 0.95,
    min_group_size: int = 30,
    created: str | None = None,
) -> dict[str, Any]:
    """Everything a report on a fitted model says, as a dict of plain lists, numbers and text.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model; AdaBoostClassifier and SMOTEBoostClassifier are such too.
    X, y : DataFrame or array-like, array-like
        Data that the model was *not* trained on.
    sensitive_features : array-like, Series, dict or DataFrame, optional
        The group of each row. Several columns are shown each by itself and crossed. Not needed if the model's
        ``sensitive_feature`` names columns of X.
    baseline : fitted classifier, optional
        A model to compare with, such as :class:`parityboost.baselines.AdaBoostClassifier`.
    train : tuple (X, y), optional
        The training data, to fit plain AdaBoost with as many rounds and compare with that. Instead of ``baseline``.
    sample_weight : array-like of shape (n_samples,), optional
        Sampling weights of the rows.
    title : str, optional
        Heading of the page.
    confidence : float, default=0.95
        Coverage of every interval by itself.
    min_group_size : int, default=30
        Rates that are shares of fewer rows are noted as too uncertain to judge.
    created : str, optional
        Date to show; by default now, in UTC.

    Returns
    -------
    dict
        Can be written as JSON; where a number is not defined it is None.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, report
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> X, y, group = adult.data[:2000], adult.target[:2000], adult.sensitive[:2000]
    >>> model = AdaFairClassifier(n_estimators=10, random_state=0)
    >>> model = model.fit(adult.data[2000:], adult.target[2000:], sensitive_features=adult.sensitive[2000:])
    >>> page = report.build(model, X, y, sensitive_features=group)
    >>> page["data"]["n"], len(page["rounds"]["rounds"])
    (2000, 10)
    """
    explain.check_model(model)
    if baseline is not None and train is not None:
        raise ValueError("give baseline or train, not both: train is there to fit a baseline from")
    X, y = to_pandas(X), to_pandas(y)
    table = model._read_new(X)
    frame = _sensitive(model, table, sensitive_features)
    group, found = read_groups(frame, len(table))
    weights = read_weights(sample_weight, len(table))
    if weights is not None and not weights.all():  # a row without weight is no row
        kept = np.flatnonzero(weights)
        X, y, table, frame = (_take(values, kept) for values in (X, y, table, frame))
        weights = weights[kept]
        if sensitive_features is not None:
            sensitive_features = frame
        group, found = read_groups(frame, len(table))
    names = group_names(found)
    options: dict[str, Any] = {
        "sensitive_features": frame,
        "sample_weight": weights,
        "positive_label": model.classes_[1],
        "confidence": confidence,
        "min_group_size": min_group_size,
    }
    # Only thresholds per group ask for the groups.
    groups_too: dict[str, Any] = {"sensitive_features": sensitive_features} if np.ndim(model.threshold_) else {}
    predicted = model.predict(X, **groups_too)
    audited = audit(y, predicted, scores=model.predict_proba(X, **groups_too)[:, 1], **options)
    positive = np.asarray(y) == model.classes_[1]
    if train is not None:
        baseline = _fit_baseline(model, train)

    report = _from_audit(audited, title or f"Fairness report: {_name(model)}", created)
    report["kind"] = "model"
    report["data"] |= {
        "target": None if getattr(y, "name", None) is None else str(y.name),
        "negative_label": to_plain(model.classes_[0]),
        "n_features": model.n_features_in_,
    }
    report["model"] = _model(model, X, table, weights)
    stages = _stages(model, X, groups_too)
    if stages is not None:
        report["rounds"] = _measures.rounds(model, stages, positive, group, names, weights)
    if baseline is not None:
        report["comparison"] = _comparison(baseline, audited, X, y, predicted, options)
    report["gaps"] = _gaps(model, baseline, X, positive, frame, weights)
    plain: dict[str, Any] = to_plain(report)
    plain["summary"] = _words.summary(plain)
    return plain


def build_audit(audit: Audit, *, title: str | None = None, created: str | None = None) -> dict[str, Any]:
    """The report on an audit of any model's predictions: the sections that need no model.

    Parameters
    ----------
    audit : Audit
        What :func:`parityboost.audit.audit` returns.
    title : str, optional
        Heading of the page.
    created : str, optional
        Date to show; by default now, in UTC.

    Returns
    -------
    dict
        As of :func:`build`, with None for what needs a model.

    Examples
    --------
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=["a", "a", "b", "b"] * 100)
    >>> page = report.build_audit(found, title="Our model of 2024")
    >>> page["title"], page["model"]
    ('Our model of 2024', None)
    """
    report: dict[str, Any] = to_plain(_from_audit(audit, title or "Fairness audit", created))
    report["summary"] = _words.summary(report)
    return report


def _from_audit(audited: Audit, title: str, created: str | None) -> dict[str, Any]:
    tables = audited.to_dict()
    settings = tables["settings"]
    packages = ("parityboost", "numpy", "pandas", "scikit-learn")
    return {
        "kind": "audit",
        "title": title,
        "created": created or datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in packages},
        "data": {
            "n": settings["n"],
            "weighted": settings["weighted"],
            "positive_label": settings["positive_label"],
            "negative_label": None,
            "target": None,
            "attributes": list(dict.fromkeys(row["attribute"] for row in tables["groups"])),
        },
        "audit": tables,
        "model": None,
        "rounds": None,
        "comparison": None,
        "gaps": [],
    }


def _take(values: Any, rows: Any) -> Any:
    return values.iloc[rows] if isinstance(values, (pd.DataFrame, pd.Series)) else np.asarray(values)[rows]


def _sensitive(model: AdaFairClassifier, table: Any, sensitive_features: Any) -> pd.DataFrame:
    """The sensitive columns, by the names that the page calls them."""
    if sensitive_features is None:
        if model.sensitive_feature is None:
            raise ValueError(
                "a report compares groups: pass sensitive_features, as to fit (the model names no column of X as its "
                "sensitive_feature)"
            )
        return model._grouping.apply(sensitive_columns(table, model.sensitive_feature))
    frame = model._grouping.apply(sensitive_frame(sensitive_features))
    return frame.rename(columns={"sensitive_features": "group"}) if frame.shape[1] == 1 else frame


def _fit_baseline(model: AdaFairClassifier, train: tuple[Any, Any]) -> AdaBoostClassifier:
    if not isinstance(train, (tuple, list)) or len(train) != 2:
        raise ValueError("train must be (X_train, y_train), the data to fit plain AdaBoost on")
    same = ("n_estimators", "estimator", "criterion", "max_bins", "categorical_features", "n_jobs")
    baseline = AdaBoostClassifier(**{name: getattr(model, name) for name in same})
    baseline.fit(*train)
    return baseline


def _stages(model: Any, X: Any, groups_too: dict[str, Any]) -> Any:
    """The predictions after every round, or at every point of the dial; None for an average that has neither."""
    if not isinstance(model._ensemble, AveragedEnsemble):
        return model.staged_predict(X, **groups_too)
    if model._dial is None:
        return None
    moved = copy(model)
    return (moved.set_fairness(w).predict(X, **groups_too) for w in WEIGHTS)


def _model(model: AdaFairClassifier, X: Any, table: Any, weights: Any) -> dict[str, Any]:
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
        "name": _name(model),
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
        "no_shapes": _no_tables(model),
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


def _no_tables(model: AdaFairClassifier) -> str | None:
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


def _comparison(
    baseline: Any, audited: Audit, X: Any, y: Any, predicted: Any, options: dict[str, Any]
) -> dict[str, Any]:
    """The measures of both models, and the differences between them, overall and per sensitive attribute."""
    others = baseline.predict(X)
    other = audit(y, others, **options)
    true, mine, theirs = (np.asarray(values) == options["positive_label"] for values in (y, predicted, others))
    changes = _measures.performance_changes(true, mine, theirs, options["sample_weight"], options["confidence"])
    rows: list[dict[str, Any]] = []
    for name, change in changes.items():
        pair = [_interval(result.overall.loc[name]) for result in (other, audited)]
        rows.append({"attribute": None, "measure": name} | _pair(*pair) | change)
    for (_, was), (_, now) in zip(other.measures.iterrows(), audited.measures.iterrows(), strict=True):
        if now["measure"] in _measures.FAIRNESS:
            pair = [_interval(row) for row in (was, now)]
            names = {"attribute": now["attribute"], "measure": now["measure"]}
            rows.append(names | _pair(*pair) | _measures.gap_change(*pair))
    return {"baseline": _name(baseline), "rows": rows}


def _interval(row: Any) -> Interval:
    return Interval(*(float(row[end]) for end in Interval._fields))


def _pair(baseline: Interval, model: Interval) -> dict[str, Any]:
    return {"baseline": baseline._asdict(), "model": model._asdict()}


def _name(model: Any) -> str:
    """How the page calls a model in a sentence."""
    return type(model).__name__.removesuffix("Classifier")


# The rows that a gap of a notion is about.
_ABOUT = {"sp": "all", "fnr": "positives", "fpr": "negatives"}


def _gaps(
    model: AdaFairClassifier, baseline: Any, X: Any, positive: Any, frame: pd.DataFrame, weights: Any
) -> list[dict[str, Any]]:
    """How much each feature adds to the difference in mean score between the two groups that are furthest apart."""
    models = {_name(model): model}
    if _no_tables(model) is not None:
        return []
    if isinstance(baseline, AdaFairClassifier) and _no_tables(baseline) is None:
        name = _name(baseline)
        models = {f"{name} (baseline)" if name in models else name: baseline} | models
    wanted = dict.fromkeys(_ABOUT.get(gap.name, "all") for gap in model._fitted.notion.gaps)
    parts = []
    for about in wanted or ["all"]:
        rows = np.flatnonzero({"all": np.ones_like(positive), "positives": positive, "negatives": ~positive}[about])
        own = None if weights is None else weights[rows]
        some = _take(X, rows)
        group, found = read_groups(frame.iloc[rows], len(rows))
        if len(found) < 2:
            continue
        score = next(iter(models.values())).decision_function(some)
        mean = np.bincount(group, score if own is None else score * own) / np.bincount(group, own)
        pair = (found[int(np.argmin(mean))], found[int(np.argmax(mean))])
        if mean.min() == mean.max():
            pair = (found[0], found[1])
        table = explain.compare_gaps(models, some, frame.iloc[rows], groups=pair, sample_weight=own)
        parts_of = dict(zip(table.index, table.to_numpy().tolist(), strict=True))
        total = parts_of.pop(explain.TOTAL)
        parts.append(
            {
                "rows": about,
                "n": len(rows),
                "low": group_name(pair[0]),
                "high": group_name(pair[1]),
                "models": list(models),
                "features": [{"feature": name, "parts": part} for name, part in parts_of.items()],
                "total": total,
            }
        )
    return parts
