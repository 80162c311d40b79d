"""The ``history_`` table: what every round of boosting leaves behind, as columns."""

from __future__ import annotations

import numpy as np

from .._choice.settings import Settings
from .._model.prediction import History
from .._model.trees import Tree
from .._stats.rates import balanced_error_rate, error_rate
from .loop import Boosted
from .rounds import Round


def history(
    boosted: Boosted,
    settings: Settings,
    groups: list[str],
    labels: list[str],
    columns: list[str] | None,
    has_validation: bool,
) -> History:
    """Everything that the paper draws over the rounds: per column a list of text or an array, of one value a round."""
    rounds = boosted.rounds
    notion = settings.notion
    z = np.array([r.z for r in rounds])
    table: History = {"alpha": boosted.alphas, "error": np.array([r.error for r in rounds])}
    if columns is not None:
        table |= _features(rounds, columns)
    cost_counts = np.array([r.cost_counts for r in rounds])
    for name, delta in notion.deltas(cost_counts).items():
        table[f"delta_{name}"] = delta
    costs = np.array([r.costs for r in rounds])
    boosted_classes = sorted({label for gap in notion.gaps for label in (*gap.boosts, *gap.boosts_ahead)})
    for k, group in enumerate(groups):
        for label in boosted_classes:
            table[f"cost[{group}, {labels[label]}]"] = costs[:, k, label]
    table["Z"] = z
    # The bound holds where rows are multiplied by exp(-y·α·h) or more: not with confidences (Eq. 20 with γ = 1, as
    # every C ≥ 1).
    table["bound"] = np.cumprod(z) if settings.update != "confidence" else np.full(len(z), np.nan)
    selection_counts = boosted.choice.counts
    if has_validation:
        measured = {"train": np.array([r.train_counts for r in rounds]), "validation": selection_counts}
    else:
        measured = {"train": selection_counts}
    for prefix, counts in measured.items():
        table[f"{prefix}_er"] = error_rate(counts)
        table[f"{prefix}_ber"] = balanced_error_rate(counts)
        table[f"{prefix}_violation"] = notion.violation(counts)
        table[f"{prefix}_objective"] = notion.objective(counts, settings.c)
    if boosted.choice.thresholds.ndim == 1:
        table["threshold"] = boosted.choice.thresholds
    else:
        table |= {f"threshold[{group}]": boosted.choice.thresholds[:, k] for k, group in enumerate(groups)}
    return table


def _features(rounds: list[Round], columns: list[str]) -> History:
    """What the stump or tree of each round asks about; the empty text where a side of a tree is not split."""
    models = [r.model for r in rounds]
    if not isinstance(models[0], Tree):
        return {"feature": [columns[stump.feature] for stump in models]}
    splits = {"feature": "root", "feature_left": "left", "feature_right": "right"}
    asked = {name: [getattr(tree, side) for tree in models] for name, side in splits.items()}
    return {name: ["" if split is None else columns[split.feature] for split in of] for name, of in asked.items()}
