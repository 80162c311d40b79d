"""The model beside another one: measures of both on the same rows, and which features make the gap between groups."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any

import numpy as np
import pandas as pd

from .. import explain
from .._model.warning import FitWarning
from .._stats.intervals import Interval
from .._table.inputs import group_name, read_groups
from ..adaboost import AdaBoostClassifier
from ..audit import Audit, audit
from ..estimators import AdaFairClassifier
from . import _measures
from ._model import name_of, no_tables


def take(values: Any, rows: Any) -> Any:
    return values.iloc[rows] if isinstance(values, (pd.DataFrame, pd.Series)) else np.asarray(values)[rows]


def fit_baseline(model: AdaFairClassifier, train: tuple[Any, Any]) -> AdaBoostClassifier:
    if not isinstance(train, (tuple, list)) or len(train) != 2:
        raise ValueError("train must be (X_train, y_train), the data to fit plain AdaBoost on")
    same = ("n_estimators", "estimator", "criterion", "max_bins", "categorical_features", "n_jobs")
    baseline = AdaBoostClassifier(**{name: getattr(model, name) for name in same}, positive=model.positive_)
    baseline.fit(*train)
    return baseline


# The plain model in a sentence. AdaBoost is none: it is after accuracy, whatever the model is after.
PLAIN = "plain boosting with the same objective"


def fit_plain(model: AdaFairClassifier, X: Any, y: Any) -> AdaFairClassifier:
    """Boosting with the learners of the model and its objective, but for the violation: θ and threshold are chosen too.

    What a fair model gives up, and what it gains, is seen beside this one.
    """
    tree = ("estimator", "max_depth", "interaction_cst", "monotonic_cst", "criterion")
    same = ("n_estimators", "update", "learning_rate", *tree, "max_bins", "categorical_features", "n_jobs")
    weight = "balanced" if model.class_weight == "balanced_groups" else model.class_weight  # it is given no groups
    plain = AdaFairClassifier(
        "none",
        c=model._fitted.c,
        class_weight=weight,
        threshold="auto",
        positive=model.positive_,
        random_state=0,
        **{name: getattr(model, name) for name in same},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # what there is to say is said about the model
        plain.fit(X, y)
    return plain


def plain_end(model: Any, X: Any, groups_too: dict[str, Any]) -> Any:
    """The predictions at the plain end of a model's dial, whose threshold was chosen by the same objective."""
    return copy(model).set_fairness(0.0).predict(X, **groups_too)


def comparison(
    name: str, others: Any, audited: Audit, y: Any, predicted: Any, options: dict[str, Any]
) -> dict[str, Any]:
    """The measures of both models, and the differences between them, overall and per sensitive attribute."""
    other = audit(y, others, **options)
    true, mine, theirs = (np.asarray(values) == options["positive_label"] for values in (y, predicted, others))
    changes = _measures.performance_changes(true, mine, theirs, options["sample_weight"], options["confidence"])
    rows: list[dict[str, Any]] = []
    for measure, change in changes.items():
        pair = [_interval(result.overall.loc[measure]) for result in (other, audited)]
        rows.append({"attribute": None, "measure": measure} | _pair(*pair) | change)
    for (_, was), (_, now) in zip(other.measures.iterrows(), audited.measures.iterrows(), strict=True):
        if now["measure"] in _measures.FAIRNESS:
            pair = [_interval(row) for row in (was, now)]
            names = {"attribute": now["attribute"], "measure": now["measure"]}
            rows.append(names | _pair(*pair) | _measures.gap_change(*pair))
    told = ["attribute", "group", "selection_rate", "fnr", "fpr"]
    return {"baseline": name, "rows": rows, "groups": other.groups[told].to_dict("records")}


def _interval(row: Any) -> Interval:
    return Interval(*(float(row[end]) for end in Interval._fields))


def _pair(baseline: Interval, model: Interval) -> dict[str, Any]:
    return {"baseline": baseline._asdict(), "model": model._asdict()}


# The rows that a gap of a notion is about.
_ABOUT = {"sp": "all", "fnr": "positives", "fpr": "negatives"}


def gaps(
    model: AdaFairClassifier, baseline: Any, X: Any, positive: Any, frame: pd.DataFrame, weights: Any
) -> list[dict[str, Any]]:
    """How much each feature adds to the difference in mean score between the two groups that are furthest apart."""
    models = {name_of(model): model}
    if no_tables(model) is not None:
        return []
    # The scores of a baseline that predicts the other label as positive are no sums to put beside ours.
    alike = isinstance(baseline, AdaFairClassifier) and bool(np.all(baseline.positive_ == model.positive_))
    if alike and no_tables(baseline) is None:
        name = name_of(baseline)
        models = {f"{name} (baseline)" if name in models else name: baseline} | models
    wanted = dict.fromkeys(_ABOUT.get(gap.name, "all") for gap in model._fitted.notion.gaps)
    parts = []
    for about in wanted or ["all"]:
        rows = np.flatnonzero({"all": np.ones_like(positive), "positives": positive, "negatives": ~positive}[about])
        own = None if weights is None else weights[rows]
        some = take(X, rows)
        group, found = read_groups(frame.iloc[rows], len(rows))
        if len(found) < 2:
            continue
        score = next(iter(models.values()))._score_of(some)
        mean = np.bincount(group, score if own is None else score * own) / np.bincount(group, own)
        pair = (found[int(np.argmin(mean))], found[int(np.argmax(mean))])
        if mean.min() == mean.max():
            pair = (found[0], found[1])
        table = explain.compare_gaps(models, some, frame.iloc[rows], groups=pair, sample_weight=own)
        *of_features, total = table.to_numpy().tolist()
        parts.append(
            {
                "rows": about,
                "n": len(rows),
                "low": group_name(pair[0]),
                "high": group_name(pair[1]),
                "models": list(models),
                "features": [
                    {"feature": name, "parts": part} for name, part in zip(table.index[:-1], of_features, strict=True)
                ],
                "total": total,
            }
        )
    return parts
