"""The model beside another one: measures of both on the same rows, and which features make the gap between groups."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import explain
from .._arrays import Floats
from .._base import FairClassifier
from .._model.glass_box import FitWarning
from .._stats import rates
from .._stats.intervals import Interval, critical_z
from .._table.grouping import group_name, read_groups
from ..adaboost import AdaBoostClassifier
from ..audit import Audit, audit
from ..estimators import AdaFairClassifier
from ..explain._reading import no_tables, scores_of, settings_of
from ..notions import DisparateMistreatment, EqualOpportunity, PredictiveEquality, StatisticalParity
from ._model import name_of


def _balanced_accuracy(counts: Floats) -> Floats:
    return 1.0 - rates.balanced_error_rate(counts)


def _accuracy(counts: Floats) -> Floats:
    return 1.0 - rates.error_rate(counts)


PERFORMANCE: dict[str, Callable[[Floats], Floats]] = {"accuracy": _accuracy, "balanced_accuracy": _balanced_accuracy}
FAIRNESS: dict[str, Callable[[Floats], Floats]] = {
    notion.name: notion.violation
    for notion in (StatisticalParity(), EqualOpportunity(), PredictiveEquality(), DisparateMistreatment())
}


def take(values: Any, rows: Any) -> Any:
    return values.iloc[rows] if isinstance(values, (pd.DataFrame, pd.Series)) else np.asarray(values)[rows]


def fit_baseline(model: AdaFairClassifier, train: tuple[Any, Any]) -> AdaBoostClassifier:
    if not isinstance(train, (tuple, list)) or len(train) != 2:
        raise ValueError("train must be (X_train, y_train), the data to fit plain AdaBoost on")
    same = ("n_estimators", "estimator", "criterion", "max_bins", "categorical_features", "n_jobs")
    baseline = AdaBoostClassifier(**_given(model, same), positive=model.positive_)
    baseline.fit(*train)
    return baseline


# The plain model in a sentence. AdaBoost is none: it is after accuracy, whatever the model is after.
PLAIN = "plain boosting with the same objective"


def _given(model: Any, names: Iterable[str]) -> dict[str, Any]:
    """Some parameters of a model, as far as it has them."""
    parameters = model.get_params(deep=False)
    return {name: parameters[name] for name in names if name in parameters}


def fit_plain(model: AdaFairClassifier, X: Any, y: Any) -> AdaFairClassifier:
    """Boosting with the learners of the model and its objective, but for the violation: θ and threshold are chosen too.

    What a fair model gives up, and what it gains, is seen beside this one.
    """
    tree = ("estimator", "max_depth", "interaction_cst", "monotonic_cst", "criterion")
    same = ("n_estimators", "update", "learning_rate", *tree, "max_bins", "categorical_features", "n_jobs")
    weight = "balanced" if model.class_weight == "balanced_groups" else model.class_weight  # it is given no groups
    plain = AdaFairClassifier(
        "none",
        c=settings_of(model).c,
        class_weight=weight,
        threshold="auto",
        positive=model.positive_,
        random_state=0,
        **_given(model, same),
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
    changes = performance_changes(true, mine, theirs, options["sample_weight"], options["confidence"])
    rows: list[dict[str, Any]] = []
    for measure, change in changes.items():
        pair = [_interval(result.overall.loc[measure]) for result in (other, audited)]
        rows.append({"attribute": None, "measure": measure} | _pair(*pair) | change)
    for (_, was), (_, now) in zip(other.measures.iterrows(), audited.measures.iterrows(), strict=True):
        if now["measure"] in FAIRNESS:
            pair = [_interval(row) for row in (was, now)]
            names = {"attribute": now["attribute"], "measure": now["measure"]}
            rows.append(names | _pair(*pair) | gap_change(*pair))
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
    alike = isinstance(baseline, FairClassifier) and bool(np.all(baseline.positive_ == model.positive_))
    if alike and no_tables(baseline) is None:
        name = name_of(baseline)
        models = {f"{name} (baseline)" if name in models else name: baseline} | models
    wanted = dict.fromkeys(_ABOUT.get(gap.name, "all") for gap in settings_of(model).notion.gaps)
    parts = []
    for about in wanted or ["all"]:
        rows = np.flatnonzero({"all": np.ones_like(positive), "positives": positive, "negatives": ~positive}[about])
        own = None if weights is None else weights[rows]
        some = take(X, rows)
        group, found = read_groups(frame.iloc[rows], len(rows))
        if len(found) < 2:
            continue
        score = scores_of(next(iter(models.values())), some)
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


def performance_changes(
    y: NDArray[np.bool_],
    model: NDArray[np.bool_],
    baseline: NDArray[np.bool_],
    weights: Floats | None,
    confidence: float,
) -> dict[str, dict[str, float | None]]:
    """Accuracy and balanced accuracy of the model minus those of the baseline, with intervals.

    Both predicted the same rows: what counts is where one of them is right and the other one wrong.
    """
    gained = (model == y).astype(np.float64) - (baseline == y)
    w = np.ones(len(y)) if weights is None else weights

    def moments(rows: NDArray[np.bool_]) -> tuple[float, float]:
        """Weighted mean, and its variance."""
        mean = float(np.average(gained[rows], weights=w[rows]))
        return mean, float(((w[rows] * (gained[rows] - mean)) ** 2).sum() / w[rows].sum() ** 2)

    of_all = moments(np.ones_like(y))
    of_class = [moments(rows) for rows in (y, ~y) if w[rows].any()]
    n = len(of_class)
    balanced = sum(mean for mean, _ in of_class) / n, sum(variance for _, variance in of_class) / n**2
    z = critical_z(confidence)
    return {
        name: {"difference": mean, "lower": mean - z * variance**0.5, "upper": mean + z * variance**0.5}
        for name, (mean, variance) in (("accuracy", of_all), ("balanced_accuracy", balanced))
    }


def gap_change(baseline: Interval, model: Interval) -> dict[str, float | None]:
    """A gap with the model minus the gap with the baseline, with an interval from those of the two gaps.

    On the same rows the two gaps may vary together or, where the model turns a gap around, against each other. From the
    ends of both intervals the interval of the change holds in either case; it is wide where groups are small.
    """
    return {
        "difference": model.value - baseline.value,
        "lower": model.lower - baseline.upper,
        "upper": model.upper - baseline.lower,
    }
