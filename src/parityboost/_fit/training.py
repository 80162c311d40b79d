"""The steps of `fit` of one training, once its input is read: the split, the learner, and what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from .._arrays import Floats, to_host
from .._model.glass_box import About
from .._stats.rates import balanced_error_rate, error_rate
from .._table.grouping import check_groups, group_names
from .._table.reading import LabelledRows
from .loop import Boosted
from .samples import Part, to_masses

History = dict[str, "NDArray[Any] | list[str]"]  # plain columns, which every store of models can hold


def counted_rows(rows: LabelledRows, stay: bool = False) -> Part:
    """The rows that count, with sample weights as integers; their cells may stay on the graphics card."""
    return Part(rows.positions, rows.cell if stay else to_host(rows.cell), to_masses(rows.weights))


def check(
    about: About, train: Floats, selection: Floats | None, validation_fraction: Any, sensitive_names: list[str]
) -> None:
    """Whether what was asked for goes together, and the rates of the notion are defined.

    That is by the weight per [group, class] of the rows to train on, and of those to choose θ on if they are others.
    """
    settings = about.settings
    if settings.update == "real" and settings.learner_weight == "cost":
        raise ValueError(
            'learner_weight="cost" weighs votes of -1 and 1, and those of update="real" are their own weights: use '
            'learner_weight="error" or another update'
        )
    if settings.costs_from == "validation" and selection is None:
        raise ValueError(
            'costs_from="validation" needs a validation set: pass validation=… to fit, or set '
            f"validation_fraction to a share between 0 and 1, got {validation_fraction!r}"
        )
    parts = [("training data", train), *([] if selection is None else [("validation data", selection)])]
    check_groups(parts, about.groups, about.labels.shown, settings.notion, sensitive_names)


def check_estimator(estimator: Any, given: dict[str, Any]) -> None:
    """Whether a classifier of the user's own can be boosted, with none of the native trees' options."""
    name = type(estimator).__name__
    for option, default in (("max_depth", 1), ("interaction_cst", None), ("monotonic_cst", None)):
        value = given.get(option, default)
        if value is not default and value != default:
            raise ValueError(f"{option}={value!r} is for the native trees: with estimator={name} set it there")
    if given["update"] == "real":
        raise ValueError(
            f'update="real" needs the leaves of the native trees: with estimator={name} use update="discrete" or '
            '"confidence"'
        )
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"estimator {name} does not take sample_weight in fit")
    chosen = given["categorical_features"]
    if chosen is not None and not isinstance(chosen, str) and len(chosen):
        raise ValueError(
            f"categorical_features is for the native stump, and {name} would take these columns as they are: encode "
            f"them before, or leave it out, got {chosen!r}"
        )


def history(boosted: Boosted, about: About, columns: list[str] | None, depth: int, has_validation: bool) -> History:
    """Everything that the paper draws over the rounds: per column a list of text or an array, of one value a round."""
    groups, labels, settings = group_names(about.groups), about.labels.shown, about.settings
    rounds = boosted.rounds
    notion = settings.notion
    z = np.array([r.z for r in rounds])
    table: History = {"alpha": boosted.alphas, "error": np.array([r.error for r in rounds])}
    if columns is not None:  # what the tree of each round asks about; the empty text where a side is not split
        for side in ("root", "left", "right") if depth > 1 else ("root",):
            asked = [getattr(r.model, side) for r in rounds]
            name = "feature" if side == "root" else f"feature_{side}"
            table[name] = ["" if split is None else columns[split.feature] for split in asked]
    cost_counts = np.array([r.cost_counts for r in rounds])
    for name, delta in notion.deltas(cost_counts).items():
        table[f"delta_{name}"] = delta
    costs = np.array([r.costs for r in rounds])
    boosted_classes = sorted(set().union(*((*gap.boosts, *gap.boosts_ahead) for gap in notion.gaps)))
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
