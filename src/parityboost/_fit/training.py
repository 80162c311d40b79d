"""The steps of `fit` of one training, once its input is read: the split, the learner, and what is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from .._arrays import Floats
from .._choice.frontier import SelectionData
from .._choice.settings import Settings
from .._model.glass_box import About
from .._stats.rates import balanced_error_rate, error_rate
from .._table.grouping import check_groups, group_names
from .._table.reading import LabelledRows
from .advice import Fitted
from .loop import Boosted, Round
from .samples import Part, to_masses

History = dict[str, "NDArray[Any] | list[str]"]  # plain columns, which every store of models can hold


def counted_rows(rows: LabelledRows) -> Part:
    """The rows that count, with sample weights as integers."""
    return Part(rows.positions, rows.cell, to_masses(rows.weights))


def check_settings(settings: Settings, has_validation: bool, validation_fraction: Any) -> None:
    """Whether what was asked for goes together."""
    if settings.update == "real" and settings.learner_weight == "cost":
        raise ValueError(
            'learner_weight="cost" weighs votes of -1 and 1, and those of update="real" are their own weights: use '
            'learner_weight="error" or another update'
        )
    if settings.costs_from == "validation" and not has_validation:
        raise ValueError(
            'costs_from="validation" needs a validation set: pass validation=… to fit, or set '
            f"validation_fraction to a share between 0 and 1, got {validation_fraction!r}"
        )


def check_totals(about: About, train: Floats, selection: Floats | None, names: list[str]) -> None:
    """Whether the rates of the notion are defined; of other rows to choose θ on as well."""
    parts = [("training data", train), *([] if selection is None else [("validation data", selection)])]
    check_groups(parts, about.groups, about.labels.shown, about.settings.notion, names)


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


class Kept(NamedTuple):
    """What remains of one training."""

    rounds: Any  # TreeRounds or EstimatorRounds
    theta: int
    threshold: Any
    thresholds: Floats  # of each round
    selection: SelectionData | None  # the rows that θ was chosen on
    history: dict[str, Any]


def keep(boosted: Boosted, learner: Any, about: About, columns: list[str] | None, depth: int) -> Kept:
    """Without the rows that were trained on; ``columns`` are names of those that the native trees ask about."""
    settings, theta = about.settings, boosted.choice.theta
    rounds = learner.ensemble([r.model for r in boosted.rounds], boosted.alphas)
    thresholds = boosted.choice.thresholds
    threshold = thresholds[theta - 1] if thresholds.ndim > 1 else float(thresholds[theta - 1])
    selection = None
    if settings.choose_theta:
        selection = selection_data(learner.selection, learner.selection_margins(rounds))
    names = group_names(about.groups), about.labels.shown
    table = history(boosted, settings, *names, columns, depth, learner.selection is not learner.train)
    return Kept(rounds, theta, threshold, thresholds, selection, table)


def selection_data(sample: Any, margins: Any) -> SelectionData:
    """The rows of a sample, to choose on."""
    n_cells = 2 * sample.n_groups
    cell = np.repeat(np.arange(n_cells, dtype=np.min_scalar_type(n_cells)), sample.sizes)
    return SelectionData(cell, sample.sample_weight, sample.n_groups, margins)


def advise(boosted: Boosted, about: About, selection: SelectionData | None, unit: float, columns: Any) -> list[str]:
    """What is to be said about a model that may be of no use."""
    if selection is None:
        return []
    names = group_names(about.groups), about.labels.shown
    return Fitted(boosted, about.settings, selection, unit, *names, columns).messages()


def history(
    boosted: Boosted,
    settings: Settings,
    groups: list[str],
    labels: list[str],
    columns: list[str] | None,
    depth: int,
    has_validation: bool,
) -> History:
    """Everything that the paper draws over the rounds: per column a list of text or an array, of one value a round."""
    rounds = boosted.rounds
    notion = settings.notion
    z = np.array([r.z for r in rounds])
    table: History = {"alpha": boosted.alphas, "error": np.array([r.error for r in rounds])}
    if columns is not None:
        table |= _features(rounds, columns, depth)
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


def _features(rounds: list[Round], columns: list[str], depth: int) -> History:
    """What the tree of each round asks about; the empty text where a side is not split."""
    sides = {"feature": "root", "feature_left": "left", "feature_right": "right"} if depth > 1 else {"feature": "root"}
    asked = {name: [getattr(r.model, side) for r in rounds] for name, side in sides.items()}
    return {name: ["" if split is None else columns[split.feature] for split in of] for name, of in asked.items()}
