"""What the report counts itself: predictions after every round, and changes from one model to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._stats import rates
from .._stats.intervals import Interval, critical_z
from ..estimators import AdaFairClassifier
from ..explain import selection_part
from ..notions import DisparateMistreatment, EqualOpportunity, FairnessNotion, PredictiveEquality, StatisticalParity

Ints = NDArray[np.intp]

MAX_CELLS = 40_000  # rounds × groups that a page holds; of more rounds, every second, third, … is kept


def _balanced_accuracy(counts: Floats) -> Floats:
    return 1.0 - rates.balanced_error_rate(counts)


def _accuracy(counts: Floats) -> Floats:
    return 1.0 - rates.error_rate(counts)


PERFORMANCE: dict[str, Callable[[Floats], Floats]] = {"accuracy": _accuracy, "balanced_accuracy": _balanced_accuracy}
FAIRNESS: dict[str, Callable[[Floats], Floats]] = {
    notion.name: notion.violation
    for notion in (StatisticalParity(), EqualOpportunity(), PredictiveEquality(), DisparateMistreatment())
}


def shown_notion(model: AdaFairClassifier) -> FairnessNotion:
    """The model's own notion; of a model without one, disparate mistreatment."""
    notion = model._fitted.notion
    return notion if notion.gaps else DisparateMistreatment()


def rounds(
    model: AdaFairClassifier,
    predictions: Iterable[NDArray[Any]],
    y: NDArray[np.bool_],
    group: Ints,
    names: list[str],
    weights: Floats | None,
) -> dict[str, Any]:
    """Predicted positives after every round, per group and true class: all rates of all rounds follow from them.

    ``predictions`` are those of ``staged_predict``, or those at each point of the dial; ``names`` those of the groups.
    Without sample weights counts are numbers of rows.
    """
    dial = getattr(model, "_dial", None)
    places: list[Any] = list(range(1, model.n_estimators_ + 1)) if dial is None else list(dial.weights)
    here = model.theta_ if dial is None else model.fairness_
    n_groups, n_rounds = len(names), len(places)
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
    notion = shown_notion(model)
    counts = np.stack([totals - positive, positive], axis=-1)
    on = "validation" if dial is not None else selection_part(model)
    if dial is None:
        chosen = model.history_.loc[kept, [f"{on}_ber", f"{on}_violation"]].to_numpy()
    else:
        points = [dial.points[dial.weights.index(place)] for place in kept]
        chosen = np.array([(point.ber, point.violation) for point in points])
    return {
        "groups": names,
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
        "chosen_on": on if model._fitted.notion.gaps else None,
        "chosen_ber": chosen[:, 0].tolist(),
        "chosen_violation": chosen[:, 1].tolist(),
    }


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
