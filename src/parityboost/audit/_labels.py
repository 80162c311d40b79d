"""Labels, scores and groups as an audit is given them, from any model and any file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from .._arrays import Floats
from .._io.json_values import to_plain
from .._table.grouping import sensitive_frame
from .._table.values import same_number, short, to_pandas


class Decisions(NamedTuple):
    """Who is selected, and who should have been, row by row; and what is said of that in settings."""

    true: NDArray[np.bool_]
    selected: NDArray[np.bool_]
    settings: dict[str, Any]


def read_decisions(y_true: Any, y_pred: Any, positive_label: Any, favourable: Any) -> Decisions:
    """Selected is who gets the favourable label or, if none is stated, the positive one."""
    true, pred, positive, good = read_labels(y_pred if y_true is None else y_true, y_pred, positive_label, favourable)
    wanted = positive if good is None else good
    settings = {"selected": to_plain(wanted), "positive_label": to_plain(positive), "favourable": to_plain(good)}
    return Decisions(true, pred if wanted == positive else ~pred, settings)


def read_columns(columns: Any, n_rows: int, of: str = "y_pred") -> pd.DataFrame:
    """Sensitive columns of as many rows as there are decisions."""
    if isinstance(columns, dict):
        columns = {name: pd.Series(np.asarray(to_pandas(values), dtype=object)) for name, values in columns.items()}
        for name, values in columns.items():
            _check_rows(name, values, n_rows, of)
    frame = sensitive_frame(columns)
    _check_rows("sensitive_features", frame, n_rows, of)
    return frame


def _check_rows(name: str, values: Any, n_rows: int, of: str) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{of} has {n_rows} values, {name} {len(values)}")


def read_labels(
    y_true: Any, y_pred: Any, positive_label: Any, favourable: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Any, Any]:
    """Which labels and which predictions are positive, the positive label, and the favourable one if it is stated."""
    true, pred = one_column("y_true", y_true), one_column("y_pred", y_pred)
    if len(true) != len(pred):
        raise ValueError(f"y_true has {len(true)} values, y_pred {len(pred)}")
    if len(true) == 0:
        raise ValueError("y_true has no values")
    if _is_text(true) != _is_text(pred):  # "1" from one file and 1 from another
        true, pred = _as_numbers(true), _as_numbers(pred)
    in_true, in_pred = pd.unique(true).tolist(), pd.unique(pred).tolist()
    if len(in_true) > 2:
        raise ValueError(f"y_true must have two different labels, got {len(in_true)}: {_shown(in_true)}")
    if len(in_pred) > 2:
        raise ValueError(
            f"y_pred must have two different labels, got {len(in_pred)}: {_shown(in_pred)}; "
            "predicted probabilities go into scores"
        )
    labels = list(dict.fromkeys([*in_true, *in_pred]))
    if len(labels) > 2:
        new = [label for label in in_pred if label not in in_true]
        raise ValueError(f"y_pred holds {_shown(new)}, but the labels in y_true are {_shown(in_true)}")
    positive = positive_of(labels, positive_label)
    return true == positive, pred == positive, positive, stated_label("favourable", favourable, labels, positive)


def one_column(name: str, values: Any) -> NDArray[Any]:
    values = to_pandas(values)
    if isinstance(values, (list, tuple)):
        values = pd.Series(values)  # NumPy would make text of a missing value beside text
    if np.ndim(values) > 1 and np.shape(values)[1] != 1:
        raise ValueError(f"{name} must have one value per row, got shape {np.shape(values)}")
    column: NDArray[Any] = column_or_1d(values)
    missing = int(pd.isna(column).sum())
    if missing:
        raise ValueError(f"{name} is missing in {missing} of {len(column)} rows")
    return column


def _is_text(values: NDArray[Any]) -> bool:
    return pd.api.types.infer_dtype(values) == "string"


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Text that reads as numbers, as numbers; else as it is."""
    try:
        numbers: NDArray[Any] = np.asarray(pd.to_numeric(values))
    except (TypeError, ValueError):
        return values
    return numbers


def positive_of(labels: list[Any], positive_label: Any) -> Any:
    if positive_label is not None:
        return stated_label("positive_label", positive_label, labels)
    if len(labels) == 2:
        if len({isinstance(label, str) for label in labels}) > 1:  # which have no order
            raise ValueError(f"the labels are {_shown(labels)}: give positive_label to say which one is positive")
        return max(labels)
    if labels[0] in (0, -1, 1):
        return 1
    raise ValueError(f"all labels are {labels[0]!r}: give positive_label to say which class is the positive one")


def stated_label(name: str, label: Any, labels: list[Any], *others: Any) -> Any:
    """A label as it is in the data, or among others that are known: it may come as text, from a command line."""
    if label is None:
        return None
    for same in (
        lambda other: other == label,
        lambda other: str(other) == str(label),
        same_number(label),
    ):
        found = [other for other in (*labels, *others) if same(other)]
        if found:
            return found[0]
    if len(labels) == 1:
        return label  # the other one, which nobody has here
    raise ValueError(f"{name}={label!r} is not one of the labels {_shown(labels)}")


def read_scores(scores: Any) -> Floats:
    values = one_column("scores", scores)
    if _is_text(values) or not pd.api.types.is_numeric_dtype(np.asarray(values.tolist()).dtype):
        raise ValueError(f"scores must be numbers, got {values[0]!r}")
    probabilities: Floats = values.astype(np.float64)
    outside = np.flatnonzero(~((probabilities >= 0) & (probabilities <= 1)))
    if len(outside):
        raise ValueError(
            f"scores must be probabilities of the positive class, between 0 and 1, got {probabilities[outside[0]]:g} "
            f"in row {outside[0]}"
        )
    return probabilities


def _shown(labels: Iterable[Any]) -> str:
    shown = [short(label) for label in labels]
    return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")
