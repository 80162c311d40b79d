"""What the report counts itself: predictions after every round, and the paired comparison of two models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _rates
from ..estimators import AdaFairClassifier
from ..explain import scored_on
from ..notions import DisparateMistreatment, EqualOpportunity, FairnessNotion, PredictiveEquality, StatisticalParity

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

MAX_CELLS = 40_000  # rounds × groups that a page holds; of more rounds, every second, third, … is kept
N_DRAWS = 2000


def _balanced_accuracy(counts: Floats) -> Floats:
    return 1.0 - _rates.balanced_error_rate(counts)


def _accuracy(counts: Floats) -> Floats:
    return 1.0 - _rates.error_rate(counts)


PERFORMANCE: dict[str, Callable[[Floats], Floats]] = {"accuracy": _accuracy, "balanced_accuracy": _balanced_accuracy}
FAIRNESS: dict[str, Callable[[Floats], Floats]] = {
    notion.name: notion.violation
    for notion in (StatisticalParity(), EqualOpportunity(), PredictiveEquality(), DisparateMistreatment())
}


def shown_notion(model: AdaFairClassifier) -> FairnessNotion:
    """The model's own notion; of a model without one, disparate mistreatment."""
    notion = model._settings().notion
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

    ``predictions`` are those of ``staged_predict``, ``names`` those of the groups. Without sample weights counts are
    numbers of rows.
    """
    n_groups, n_rounds, theta = len(names), model.n_estimators_, model.theta_
    cell = group.astype(np.intp) * 2 + y

    def count(rows: Any) -> NDArray[Any]:
        counts = np.bincount(cell[rows], None if weights is None else weights[rows], minlength=2 * n_groups)
        return counts.reshape(n_groups, 2)

    totals = count(slice(None))
    every = -(-n_rounds * n_groups // MAX_CELLS)
    kept, selected = [], []
    for j, labels in enumerate(predictions, start=1):
        if j % every == 0 or j in (1, theta, n_rounds):
            kept.append(j)
            selected.append(count(labels == model.classes_[1]))
    positive = np.array(selected, dtype=np.float64)
    notion = shown_notion(model)
    counts = np.stack([totals - positive, positive], axis=-1)
    on = scored_on(model)
    chosen = model.history_.loc[kept, [f"{on}_ber", f"{on}_violation"]]
    return {
        "groups": names,
        "negatives": totals[:, 0].tolist(),
        "positives": totals[:, 1].tolist(),
        "theta": theta,
        "rounds": kept,
        "false_positives": [row[:, 0].tolist() for row in selected],
        "true_positives": [row[:, 1].tolist() for row in selected],
        "notion": notion.name,
        "ber": _rates.balanced_error_rate(counts).tolist(),
        "violation": notion.violation(counts).tolist(),
        # What θ was chosen by; a model without a notion chooses none.
        "chosen_on": on if model._settings().notion.gaps else None,
        "chosen_ber": chosen.iloc[:, 0].tolist(),
        "chosen_violation": chosen.iloc[:, 1].tolist(),
    }


def differences(
    y: NDArray[np.bool_],
    model: NDArray[np.bool_],
    baseline: NDArray[np.bool_],
    group: Ints,
    n_groups: int,
    weights: Floats | None,
    confidence: float,
) -> dict[str, dict[str, float | None]]:
    """Each measure of the model minus that of the baseline, on the same rows, with a percentile bootstrap interval.

    A measure of fairness near zero is pulled upwards in the draws, as any absolute value is, so an improvement that
    ends near zero is rather understated.
    """
    cell = ((group.astype(np.intp) * 2 + y) * 2 + baseline) * 2 + model
    mass = np.bincount(cell, weights, minlength=8 * n_groups).astype(np.float64)
    # As in the audit, n is Kish's effective number of rows.
    n = len(y) if weights is None else round(float(weights.sum() ** 2 / (weights**2).sum()))
    draws = np.random.default_rng(0).multinomial(n, mass / mass.sum(), N_DRAWS).astype(np.float64)
    found, drawn = (cells.reshape(-1, n_groups, 2, 2, 2) for cells in (mass[None], draws))
    table: dict[str, dict[str, float | None]] = {}
    for name, measure in (PERFORMANCE | FAIRNESS).items():
        of = [measure(cells.sum(-2)) - measure(cells.sum(-1)) for cells in (found, drawn)]
        tail = (1 - confidence) / 2
        defined = of[1][~np.isnan(of[1])]
        limits = np.quantile(defined, [tail, 1 - tail]).tolist() if len(defined) else [None, None]
        table[name] = {"difference": float(of[0][0]), "lower": limits[0], "upper": limits[1]}
    return table
