"""``parityboost explain``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from .._table.sources import listed
from ..datasets._formats import AS_FOUND, TextFormat
from ..explain._reading import PAIR
from ._files import check_model_file
from ._models import size_of
from ._streams import as_files
from ._tables import read_pieces, typed_frame
from ._text import one_line, shortened

LONGEST_ROW = 18  # digits of a row's number


def explain(
    model_path: Path,
    row: str | None,
    data: Path | None,
    feature: str | None,
    top: int,
    text_format: TextFormat = AS_FOUND,
) -> str:
    """The model in words and numbers: importances, one shape function, or one row's contributions."""
    from .. import load

    check_model_file("explain", model_path, f"parityboost explain model.json --data {model_path} --row 1")
    with as_files(model=model_path, data=data) as files:
        model = load(files["model"])
        X = None if row is None else _read_row(model, row, files["data"], text_format)
        return _explanation(model, X, feature, top)


def _explanation(model: Any, X: pd.DataFrame | None, feature: str | None, top: int) -> str:
    from ..explain import contributions, importances, shape_function

    if X is not None:
        parts = contributions(model, X).iloc[0]
        values = X.iloc[0]
        own = parts.iloc[:-1]
        order = own.abs().sort_values(ascending=False).index[:top]
        lines = [one_line(_with_value(name, values)).ljust(44) + f"{parts[name]:+9.4f}" for name in order]
        score = float(parts.sum())
        others = own.drop(order)
        if len(others):
            lines.append(f"{len(others)} other features".ljust(44) + f"{others.sum():+9.4f}")
        lines += [parts.index[-1].ljust(44) + f"{parts.iloc[-1]:+9.4f}"]
        label = model._outcomes[int(score > 0)]
        lines += ["─" * 53, "score".ljust(44) + f"{score:+9.4f}", f"prediction: {one_line(label)}"]
        return "\n".join(lines)
    if feature is not None:
        table = shape_function(model, feature).frame()
        table["value"] = table["value"].map(one_line)
        return f"{one_line(feature)}: what each value adds to the score\n\n{table.to_string()}"
    table = importances(model).rename(index=one_line)
    lines = [
        f"{type(model).__name__} for {model.notion!r}: {size_of(model)}, positive class {model.positive_!r}.",
        "",
        table.head(top).round(4).to_string(),
        "",
        "See what a feature's values add with --feature NAME, and one row with --data FILE --row NUMBER.",
    ]
    return "\n".join(lines)


def _with_value(name: str, values: pd.Series[Any]) -> str:
    """A feature with its value, or both features of a pair with theirs."""
    both = [name] if name in values else name.split(PAIR)
    return PAIR.join(f"{part} = {values[part]}" if part in values else part for part in both)


def _unusable(value: Any) -> str | None:
    """What is wrong with a value from JSON, None if nothing is."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and value.bit_length() > 1023:
        return f"a whole number of {value.bit_length()} bits, more than a float holds"
    if isinstance(value, str) and not value.isascii() and value != value.encode("utf8", "replace").decode():
        return f"{shortened(value)}, which is no Unicode"
    return None


def _read_row(model: Any, row: str, data: Path | None, text_format: TextFormat) -> pd.DataFrame:
    columns = {column.name: column for column in model._ensemble.binner.columns}
    names = list(columns)
    if data is None:
        try:
            values = json.loads(row)
        except (ValueError, RecursionError):  # brackets within brackets without end
            values = None
        if not isinstance(values, dict):
            raise ValueError(
                f"--row must be a number together with --data, or a JSON object of values, got {shortened(row)}"
            )
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise ValueError(f"the model has no column {shortened(unknown[0])}; its columns are {listed(names)}")
        for name, value in values.items():
            if (problem := _unusable(value)) is not None:
                raise ValueError(f"--row: column {name!r} must be a number, text, true, false or null, got {problem}")
        return typed_frame(pd.DataFrame([{name: values.get(name) for name in names}]), columns)
    if not (row.isdecimal() and len(row) <= LONGEST_ROW and int(row) > 0):
        raise ValueError(f"--row must be the number of a row, from 1, got {shortened(row)}")
    start = 0
    for _, X, _ in read_pieces(data, model, [], text_format):
        if int(row) <= start + len(X):
            return X.iloc[[int(row) - 1 - start]]
        start += len(X)
    raise ValueError(f"{data} has {start} rows, no row {row}")
