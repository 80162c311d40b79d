"""``parityboost choose`` and ``alternatives``: what else a saved model can be; and the options that are wishes."""

from __future__ import annotations

import warnings
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from .._choice.wishes import COSTS, Wishes
from .._io.model_json import to_bytes
from .._stats.rates import accuracy, balanced_error_rate, ratio
from ..explain._reading import chosen_for
from ..recommended import OLD_PARAMETERS, WISHES
from ._files import as_files, check_files, check_model_file, is_standard, standard_output
from ._running import in_words_of_the_command_line
from ._tables import table_writer

WIDTH = 80  # of a terminal
# What the paper's method has instead.
OF_ADAFAIR = {
    "maximize": "--c 1 is balanced accuracy, --c 0 accuracy",
    "limit": "--max-violation limits the sum of gaps",
}
# What they are called now, as options.
INSTEAD = {
    "c": "--maximize balanced_accuracy or accuracy, or --cost-false-positive and --cost-false-negative",
    "keep": "nothing: half of the balanced accuracy over chance is always kept",
    "max_violation": "--limit, the largest of the gaps, where --max-violation was their sum",
}


def read_wishes(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, as parameters: the costs of the two mistakes are one of them."""
    costs = [given.pop(f"cost_{mistake}") for mistake in COSTS]
    maximize = given.pop("maximize")
    if any(cost is not None for cost in costs):
        if maximize is not None:
            raise ValueError(
                f"--maximize {maximize} and the costs of mistakes exclude each other: costs are what to make low, then"
            )
        maximize = {mistake: 1.0 if cost is None else cost for mistake, cost in zip(COSTS, costs, strict=True)}
    elif maximize is not None and maximize.replace("-", "_") not in ("balanced_accuracy", "accuracy"):
        raise ValueError(f"--maximize must be balanced_accuracy or accuracy, got {maximize!r}")
    else:
        maximize = None if maximize is None else maximize.replace("-", "_")
    found = {name: value for name, value in ({"maximize": maximize} | given).items() if value is not None}
    Wishes.of(found)
    return found


def check_wishes(method: str, parameters: dict[str, Any]) -> None:
    """Whether the method has what is wished, and what is called otherwise now."""
    if method == "adafair":
        for name in (*WISHES, "dial"):
            if name in parameters:
                option = "--cost-…" if isinstance(parameters[name], dict) else f"--{name.replace('_', '-')}"
                option = "--dial and --no-dial" if name == "dial" else option
                advice = OF_ADAFAIR.get(name, "leave --method out")
                raise ValueError(f"{option} is for --method parityboost, the recommended model; for adafair: {advice}")
    if method == "parityboost":
        for name in OLD_PARAMETERS:
            if name in parameters:
                option = f"--{name.replace('_', '-')} {parameters[name]:g}"
                warnings.warn(
                    f"{option} is an old name, which goes with the next version; now: {INSTEAD[name]}", stacklevel=2
                )
        if parameters.get("dial"):
            warnings.warn(
                "--dial is an old name, which goes with the next version; now it is the default", stacklevel=2
            )


def choose(
    model_path: Path,
    out: Path,
    wishes: dict[str, Any],
    without: list[str],
    fairness: float | None,
    threshold: str | None,
) -> str:
    """Save the model for other wishes; return what to tell the user."""
    from .. import load

    check_files({"the model": model_path}, {"--out": out})
    check_model_file("choose", model_path, f"parityboost choose model.json --out {out}")
    for name in without:
        if name.replace("-", "_") not in WISHES:
            raise ValueError(f"--without must name wishes, some of {', '.join(WISHES)}, got {name!r}")
        if name.replace("-", "_") in wishes:
            raise ValueError(f"--without {name} and --{name.replace('_', '-')} exclude each other")
    wishes |= {name.replace("-", "_"): None for name in without}
    with as_files(model=model_path) as files:
        model = load(files["model"])
    _check_has_choices("choose", model)
    point: dict[str, Any] = {"fairness": fairness}
    if threshold is not None:
        point["threshold"] = _read_threshold(model, threshold)
    point = {name: value for name, value in point.items() if value is not None}
    if not wishes and not point:
        raise ValueError(
            "choose needs a wish, such as --limit 0.05 or --maximize accuracy, or a --fairness or --threshold of yours"
        )
    if wishes and point:
        raise ValueError(
            f"--{next(iter(wishes)).replace('_', '-')} says what to choose, and --{next(iter(point))} is a choice: "
            "give one of them"
        )
    with in_words_of_the_command_line():
        found = model.choose(**wishes, **point)
    if is_standard(out):
        standard_output().write(to_bytes(found))
    else:
        found.save(out)
    lines = [fill(said_of(found), WIDTH), "", *_beside({"before": model, "now": found}), ""]
    return "\n".join([*lines, f"Model: {'standard output' if is_standard(out) else out}"])


def _read_threshold(model: Any, text: str) -> Any:
    """A number, or one for each group, separated by commas."""
    groups = model.groups_.tolist()
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and np.ndim(model.threshold_) == 0:
        return numbers[0]
    if np.ndim(model.threshold_) and len(numbers) == len(groups):
        return numbers
    of_each = f", one for each group, in this order: {', '.join(map(str, groups))}" if np.ndim(model.threshold_) else ""
    wanted = f"{len(groups)} numbers with commas between them{of_each}" if of_each else "a number"
    raise ValueError(f"--threshold must be {wanted}, got {text!r}")


def choice_told(model: Any) -> str:
    """What the model was chosen for, and what that means on the rows that it was chosen on."""
    said, measured = said_of(model), measured_on_choice(model)
    if measured is not None:
        figures = ", ".join(f"{name} {value:.3f}" for name, value in measured.items())
        said += f" On the rows that choices are made on: {figures}."
    return fill(said, WIDTH, break_long_words=False, break_on_hyphens=False)


def said_of(model: Any) -> str:
    """What a model was chosen for, as a sentence."""
    wishes, settings = chosen_for(model), model.about_.settings
    if wishes is not None:
        return f"Chosen for {wishes.said(settings.notion, settings.c)}."
    if hasattr(model, "choose"):
        return f"Not chosen, but set: fairness {model.fairness_:g}, threshold {_shown(model.threshold_)}."
    return "Nothing was chosen: all learners are used."


def _shown(threshold: Any) -> str:
    return ", ".join(f"{value:.4g}" for value in np.atleast_1d(threshold).tolist())


def measured_on_choice(model: Any) -> dict[str, float] | None:
    """What a model does on the rows that it was chosen on; None if nobody knows."""
    box = model.glass_box_ if hasattr(model, "choose") else None
    counts = None if box is None else box.held_out_counts
    if counts is None:
        return None
    labels, notion, total = model.about_.labels, model.about_.settings.notion, counts.sum(axis=0)
    favourable = int(not labels.favours_negative)
    found = {
        "accuracy": float(accuracy(total)),
        "balanced accuracy": 1.0 - float(balanced_error_rate(counts)),
        f"share of {'yes' if labels.favourable is None else labels.favourable}": float(
            ratio(total[:, favourable].sum(), total.sum())
        ),
    }
    if notion.gaps:
        found[f"largest gap in {notion.name.replace('_', ' ')}"] = float(notion.largest_gap(counts))
        found["lowest ratio between groups"] = float(notion.lowest_ratio(counts, favourable))
    return found


def _beside(models: dict[str, Any]) -> list[str]:
    """Models beside each other, on the rows that they were chosen on."""
    columns = {name: measured_on_choice(model) for name, model in models.items()}
    known = next((found for found in columns.values() if found is not None), {})
    rows = [[name, *("–" if found is None else f"{found[name]:.3f}" for found in columns.values())] for name in known]
    width = max((len(row[0]) for row in rows), default=0)
    head = "".join(f"{name:>9}" for name in columns)
    lines = ["On the rows that were held out in training, which choices are made on:", " " * width + head]
    if None in columns.values():
        lines[:0] = ["A threshold that was set was not measured; parityboost report does, on other rows."]
    return [*lines, *(row[0].ljust(width) + "".join(f"{cell:>9}" for cell in row[1:]) for row in rows)]


def _check_has_choices(command: str, model: Any) -> None:
    if not hasattr(model, "choose"):
        raise ValueError(
            f"{command} is for models of the recommended method, and this one is of {type(model).__name__}: train with "
            "--method parityboost, or move this one in Python with set_theta and set_threshold"
        )


def alternatives(model_path: Path, out: Path | None, confidence: float) -> str:
    """The record of alternatives of a model; return it as a table for a terminal."""
    from .. import load

    check_files({"the model": model_path}, {"--out": out})
    check_model_file("alternatives", model_path, "parityboost alternatives model.json")
    if not 0 < confidence < 1:
        raise ValueError(f"--confidence must be between 0 and 1, such as 0.95, got {confidence:g}")
    with as_files(model=model_path) as files:
        model = load(files["model"])
    _check_has_choices("alternatives", model)
    table = model.alternatives(confidence=confidence)
    table["maximize"] = table["maximize"].map(_costs_as_text)
    lines = [fill(said_of(model), WIDTH), "", *_aligned(table, confidence), ""]
    lines += [
        "On the rows that were held out in training, which choices are made on.",
        "* is the model as it is. “balanced, 0.05” has the highest balanced accuracy",
        "with no gap above 0.05. Another one is made by choose, such as",
        f"  parityboost choose {model_path} --maximize accuracy --limit 0.05 --out new.json",
    ]
    if out is not None:
        with table_writer(out) as write:
            write(table)
        if is_standard(out):
            return ""
        lines.append(f"Alternatives: {out}")
    return "\n".join(lines)


def _costs_as_text(maximize: Any) -> Any:
    """Costs as the file has them: false_positive=1 false_negative=5."""
    if isinstance(maximize, dict):
        return " ".join(f"{mistake}={cost:g}" for mistake, cost in maximize.items())
    return maximize


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _aligned(table: pd.DataFrame, confidence: float) -> list[str]:
    """Within 80 columns."""

    def within(row: dict[str, Any], name: str, digits: int) -> str:
        value, low, high = (row[key] for key in (name, f"{name.split('_')[1]}_lower", f"{name.split('_')[1]}_upper"))
        if np.isnan(value) or (np.isnan(low) and value == 0):  # nothing is compared
            return "not defined"
        interval = "" if np.isnan(low) else f" ({low:.{digits}f}–{high:.{digits}f})"
        return f"{value:.{digits}f}{interval}"

    rows = []
    for row in _records(table):
        shares = [f"{row[key]:.3f}" for key in ("share_of_yes", "accuracy", "balanced_accuracy")]
        rows.append([name_of(row), *shares, within(row, "largest_gap", 3), within(row, "lowest_ratio", 2)])
    heads = [
        ["", "share", "accu-", "balanced", "largest gap", "lowest ratio"],
        ["best for", "of yes", "racy", "accuracy", f"({100 * confidence:g} % interval)", f"({100 * confidence:g} %)"],
    ]
    widths = [max(len(row[j]) for row in [*heads, *rows]) for j in range(6)]
    return [
        "  ".join(
            cell.ljust(width) if j in (0, 4, 5) else cell.rjust(width) for j, (cell, width) in enumerate(pairs)
        ).rstrip()
        for pairs in (list(zip(row, widths, strict=True)) for row in [*heads, *rows])
    ]


def name_of(row: dict[str, Any]) -> str:
    """What an alternative is or is best for, in a few characters."""
    is_taken, what = row["what"].startswith("taken"), str(row["what"]).removeprefix("taken").removeprefix(", ")
    if not what:
        aim = row["maximize"]
        costs = None if aim is None or aim == "accuracy" else "balanced" if aim == "balanced_accuracy" else "costs"
        what = "as chosen" if aim is None else costs or "accuracy"
        if row["limit"] is not None and row["limit"] == row["limit"]:
            what += f", {row['limit']:g}"
    return ("* " if is_taken else "  ") + what
