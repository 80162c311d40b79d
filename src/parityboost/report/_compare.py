"""The model beside another one: measures of both on the same rows, and which features make the gap between groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .. import explain
from .._stats.intervals import Interval
from .._table.inputs import group_name, read_groups
from ..audit import Audit, audit
from ..baselines import AdaBoostClassifier
from ..estimators import AdaFairClassifier
from . import _measures
from ._model import name_of, no_tables


def take(values: Any, rows: Any) -> Any:
    return values.iloc[rows] if isinstance(values, (pd.DataFrame, pd.Series)) else np.asarray(values)[rows]


def fit_baseline(model: AdaFairClassifier, train: tuple[Any, Any]) -> AdaBoostClassifier:
    if not isinstance(train, (tuple, list)) or len(train) != 2:
        raise ValueError("train must be (X_train, y_train), the data to fit plain AdaBoost on")
    same = ("n_estimators", "estimator", "criterion", "max_bins", "categorical_features", "n_jobs")
    baseline = AdaBoostClassifier(**{name: getattr(model, name) for name in same})
    baseline.fit(*train)
    return baseline


def comparison(
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
    told = ["attribute", "group", "selection_rate", "fnr", "fpr"]
    return {"baseline": name_of(baseline), "rows": rows, "groups": other.groups[told].to_dict("records")}


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
    if isinstance(baseline, AdaFairClassifier) and no_tables(baseline) is None:
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
