"""What makes a model or its figures doubtful, to be said before anything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._table.grouping import SHOWN, first_few
from ..audit._text import Row, of
from ..estimators import AdaFairClassifier
from ..explain._reading import columns_of, encode, glass_box, no_tables
from . import _words

NEARLY_ALONE = 0.95  # balanced accuracy of a single column
MAX_PARTS = 20  # of a column that is judged by itself
MANY_REPEATS = 5.0  # expected among numbers that are drawn at random; where none is seen, rows are numbered
MOST = 0.9  # of the values of a column that is said to hold dates
WIDE = 0.3  # an interval of a gap from which nothing can be said
FEW_RULES = 2
# What training says, in part, of what a warning here has said already.
SAID = {
    "leak": "is it a leak",
    "few_rules": "hardly a model",
    "wide": "groups with fewer than",
    "small": "groups with fewer than",
}
DATE = r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})\b.*"


def of_columns(model: AdaFairClassifier, X: Any, positive: Any, weights: Any) -> list[Row]:
    """What the columns that the model uses look like: a leak of the outcome, identifiers, dates."""
    if no_tables(model) is not None:
        return []
    columns, effects = columns_of(model), glass_box(model).feature_effects()
    used = {*np.flatnonzero(effects.tables.any(axis=1)).tolist(), *(f for pair in effects.pairs for f in pair.features)}
    found = []
    alone = _alone(encode(model, X), columns, positive, weights)
    leaks = sorted((j for j in used if alone[j] >= NEARLY_ALONE), key=lambda j: -alone[j])
    if leaks:
        names, best = [columns[j].name for j in leaks], _words.percent(alone[leaks[0]])
        decide = "decides alone" if len(leaks) == 1 else "decide alone, each by itself"
        text = (
            f"{_columns(names)} nearly {decide}: {names[0]} gives a balanced accuracy of {best}. Is it known before "
            "the outcome? If not, the outcome leaks into the model and all figures here are too good: train without it."
        )
        found.append({"kind": "leak", "text": text})
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    kinds = {j: _kind(table.iloc[:, j]) for j in sorted(used)}
    parts: list[str] = []
    for kind, text in (("identifier", "like identifiers, different in nearly every row"), ("date", "like dates")):
        names = [columns[j].name for j in kinds if kinds[j] == kind]
        if names:
            looks = f"{_columns(names)} {'looks' if len(names) == 1 else 'look'} {text}"
            parts.append(f"c{looks[1:]}" if parts else looks)
    if parts:
        text = f"{'; '.join(parts)}. What is learnt from such values does not hold for new rows."
        found.append({"kind": "names", "text": text})
    return found


def _alone(codes: Any, columns: Any, positive: Any, weights: Any) -> list[float]:
    """The balanced accuracy of each column by itself: every value is predicted as the class it speaks for.

    A column is cut into few parts first, neighbouring numbers or all rare categories together, so that one of many
    values is not taken for one that knows.
    """
    w = np.ones(len(positive)) if weights is None else np.asarray(weights)
    if positive.all() or not positive.any():
        return [0.0] * len(codes)
    values = []
    for code, column in zip(codes, columns, strict=True):
        mass = np.bincount(code, w)
        part = np.arange(len(mass))
        if column.categorical:
            part[mass < w.sum() / MAX_PARTS] = len(mass)
        else:  # the code of missing values is the first one and stays by itself
            part[1:] = 1 + np.floor(MAX_PARTS * (np.cumsum(mass[1:]) - mass[1:] / 2) / max(mass[1:].sum(), 1.0))
        yes, no = (
            np.bincount(part[code[rows]], w[rows], minlength=len(mass) + MAX_PARTS + 2) / w[rows].sum()
            for rows in (positive, ~positive)
        )
        values.append(0.5 * float(np.maximum(yes, no).sum()))
    return values


def _kind(column: pd.Series[Any]) -> str | None:
    present = column.dropna()
    n, distinct = len(present), present.nunique()
    if n < 30 or pd.api.types.is_bool_dtype(present):
        return None
    if pd.api.types.is_numeric_dtype(present):
        numbers = present.to_numpy(dtype=np.float64)
        whole = bool((numbers == np.floor(numbers)).all())
        width = float(numbers.max() - numbers.min()) + 1
        # Of n numbers drawn from so many, n²/2 pairs meet with a chance of 1 in width each.
        return "identifier" if whole and distinct == n and n * n / 2 / width >= MANY_REPEATS else None
    text = pd.Series(present.unique()).astype(str)
    if text.str.fullmatch(DATE).mean() >= MOST:
        return "date"
    return "identifier" if distinct >= MOST * n else None


def of_report(report: Row) -> list[Row]:
    """What the figures themselves are too uncertain for, and what training noticed."""
    found = []
    model = report["model"]
    if model is not None and not model["n_bags"] and model["theta"] <= FEW_RULES < model["n_estimators"]:
        first = "first rule of {} is" if model["theta"] == 1 else f"first {model['theta']} rules of {{}} are"
        text = f"Only the {first.format(model['n_estimators'])} used: this is hardly a model."
        found.append({"kind": "few_rules", "text": text})
    measure, least = _words.target_measure(report), report["audit"]["settings"]["min_group_size"]
    for attribute in _words.columns(report):
        row = _words.measure_row(report, attribute, measure)
        small = [group["group"] for group in of(report["audit"]["groups"], attribute) if group["note"]]
        if row["value"] is not None and row["upper"] - row["lower"] > WIDE:
            why = f", because few rows are there of {_listed(small)}" if small else ""
            text = (
                f"These rows cannot tell how large the gap between the groups of {attribute} is: anything from "
                f"{_words.points(row['lower'])} to {_words.points(row['upper'])} points{why}. "
                "Check more rows, or merge groups."
            )
            found.append({"kind": "wide", "text": text})
        elif small:
            text = f"Some rates of {_listed(small)} are shares of fewer than {least} rows and mostly chance."
            found.append({"kind": "small", "text": text})
    return found


def from_training(report: Row, known: list[Row]) -> list[Row]:
    """The words of training, but for what has been said already."""
    said = [SAID[row["kind"]] for row in known if row["kind"] in SAID]
    messages = report["model"]["warnings"] if report["model"] else []
    new = [message for message in messages if not any(word in message for word in said)]
    return [{"kind": "training", "text": f"From training: {message}."} for message in new]


def _columns(names: list[str]) -> str:
    return f"{'Column' if len(names) == 1 else 'Columns'} {_listed(names)}"


def _listed(names: list[str]) -> str:
    if len(names) == 1 or len(names) > SHOWN:
        return first_few(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
