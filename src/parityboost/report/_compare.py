"""The model beside another one: measures of both on the same rows, and which features make the gap between groups."""

from __future__ import annotations

import warnings
from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import explain
from .._arrays import Floats
from .._base import FairClassifier
from .._model.glass_box import FitWarning
from .._stats.intervals import Interval, critical_z
from .._table.grouping import group_name, read_groups
from .._table.values import take_rows
from ..audit import Audit, audit
from ..audit._text import Row
from ..estimators import AdaFairClassifier
from ..explain._reading import no_tables, scores_of
from ._model import name_of
from ._words import GOALS

Bools = NDArray[np.bool_]


# The plain model in a sentence. AdaBoost is none: it is after accuracy, whatever the model is after.
PLAIN, PLAIN_END = "plain boosting", "the plain version"
SAME = {"n_estimators", "estimator", "criterion", "max_bins", "categorical_features", "n_jobs"}  # in both models


def name_beside(baseline: Any) -> str:
    """How the page calls the model to compare with."""
    paper = type(baseline) is AdaFairClassifier and not baseline.about_.settings.notion.gaps
    return PLAIN if paper else name_of(baseline)


def _given(model: Any, names: Set[str]) -> dict[str, Any]:
    """Some parameters of a model, as far as it has them."""
    return {name: value for name, value in model.get_params(deep=False).items() if name in names}


def fit_plain(model: AdaFairClassifier, train: tuple[Any, Any], sample_weight: Any = None) -> AdaFairClassifier:
    """Boosting with the learners of the model and its objective, but for the violation: θ and threshold are chosen too.

    What a fair model gives up, and what it gains, is seen beside this one.
    """
    if not isinstance(train, (tuple, list)) or len(train) != 2:
        raise ValueError("train must be (X_train, y_train), the data to fit a plain model on")
    same = SAME | {"update", "learning_rate", "max_depth", "interaction_cst", "monotonic_cst"}
    weight: Any = model.class_weight
    if hasattr(model, "starting_weights"):
        weight = model.starting_weights(model.about_.labels.outcomes)
    weight = "balanced" if isinstance(weight, str) else weight  # it is given no groups
    plain = AdaFairClassifier(
        "none",
        c=0.0 if vars(model).get("maximize") == "accuracy" else model.about_.settings.c,
        class_weight=weight,
        threshold="auto",
        positive=model.positive_,
        random_state=0,
        **_given(model, same),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # what there is to say is said about the model
        plain.fit(*train, sample_weight=sample_weight)
    return plain


def comparison(name: str, others: Any, audited: Audit, y: Any, predicted: Any, options: Row) -> Row:
    """The measures of both models, and the differences between them, overall and per sensitive attribute."""
    other = audit(y, others, **options)
    true, mine, theirs = (np.asarray(values) == options["positive_label"] for values in (y, predicted, others))
    changes = performance_changes(true, mine, theirs, options["sample_weight"], options["confidence"])
    rows: list[Row] = []
    for measure, change in changes.items():
        both: Row = {"baseline": other.overall.loc[measure].to_dict(), "model": audited.overall.loc[measure].to_dict()}
        rows.append({"attribute": None, "measure": measure} | both | change)
    for (_, was), (_, now) in zip(other.measures.iterrows(), audited.measures.iterrows(), strict=True):
        if now["measure"] in GOALS:
            baseline, model = (Interval(*row[list(Interval._fields)]) for row in (was, now))
            both = {"baseline": baseline._asdict(), "model": model._asdict()}
            names = {"attribute": now["attribute"], "measure": now["measure"]}
            rows.append(names | both | gap_change(baseline, model))
    told = ["attribute", "group", "selection_rate", "tpr", "fpr"]
    return {"baseline": name, "rows": rows, "groups": other.groups[told].to_dict("records")}


# The rows that a gap of a notion is about.
_ABOUT = {"sp": "all", "fnr": "positives", "fpr": "negatives"}


def gaps(model: Any, other: str, baseline: Any, X: Any, positive: Any, frame: Any, weights: Any) -> list[Row]:
    """How much each feature adds to the difference in mean score between the two groups that are furthest apart."""
    if no_tables(model) is not None:
        return []
    models = {name_of(model): model}
    # The scores of a baseline that predicts the other label as positive are no sums to put beside ours.
    alike = isinstance(baseline, FairClassifier) and bool(np.all(baseline.positive_ == model.positive_))
    if alike and no_tables(baseline) is None:
        models = {f"{other} (baseline)" if other in models else other: baseline} | models
    wanted = dict.fromkeys(_ABOUT.get(gap.name, "all") for gap in model.about_.settings.notion.gaps)
    parts = []
    for about in wanted or ["all"]:
        rows = np.flatnonzero({"all": np.ones_like(positive), "positives": positive, "negatives": ~positive}[about])
        own = None if weights is None else weights[rows]
        some = take_rows(X, rows)
        group, found = read_groups(frame.iloc[rows], len(rows))
        if len(found) < 2:
            continue
        score = scores_of(next(iter(models.values())), some)
        mean = np.bincount(group, score if own is None else score * own) / np.bincount(group, own)
        pair = (found[int(np.argmin(mean))], found[int(np.argmax(mean))])
        if mean.min() == mean.max():
            pair = (found[0], found[1])
        table = explain.compare_gaps(models, some, frame.iloc[rows], groups=pair, sample_weight=own)
        *features, (_, total) = zip(table.index, table.to_numpy().tolist(), strict=True)
        parts.append(
            {
                "rows": about,
                "n": len(rows),
                "low": group_name(pair[0]),
                "high": group_name(pair[1]),
                "models": list(models),
                "features": [{"feature": name, "parts": part} for name, part in features],
                "total": total,
            }
        )
    return parts


def performance_changes(y: Bools, model: Bools, baseline: Bools, weights: Floats | None, confidence: float) -> Row:
    """Accuracy and balanced accuracy of the model minus those of the baseline, with intervals.

    Both predicted the same rows: what counts is where one of them is right and the other one wrong.
    """
    gained = (model == y).astype(np.float64) - (baseline == y)
    w = np.ones(len(y)) if weights is None else weights

    def moments(rows: Bools) -> tuple[float, float]:
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


def gap_change(baseline: Interval, model: Interval) -> Row:
    """A gap with the model minus the gap with the baseline, with an interval from those of the two gaps.

    On the same rows the two gaps may vary together or, where the model turns a gap around, against each other. From the
    ends of both intervals the interval of the change holds in either case; it is wide where groups are small.
    """
    return {
        "difference": model.value - baseline.value,
        "lower": model.lower - baseline.upper,
        "upper": model.upper - baseline.lower,
    }
