"""Dask collections without the rest of Dask's: their partitions, and what measures need of their rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._arrays import Floats
from .grouping import refuse_missing_groups, sensitive_frame
from .reading import plain_weights


def is_collection(values: Any) -> bool:
    """Whether something is a Dask collection; Dask is not imported for the answer."""
    return hasattr(values, "__dask_graph__") and hasattr(values, "to_delayed")


def is_frame(values: Any) -> bool:
    """Whether a collection is a DataFrame or Series, and no Array."""
    return hasattr(values, "map_partitions")


def partitions_of(values: Any) -> list[Any]:
    """The partitions that a collection says it has.

    Dask would read several files at once where few of their columns are wanted: labels would have fewer partitions than
    predictions.
    """
    import dask

    if not is_frame(values) and values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: -1})
    with dask.config.set({"optimization.tune.active": False}):
        found = list(np.ravel(values.to_delayed()))
    if is_frame(values) and len(found) != values.npartitions:  # a version of Dask that does so all the same
        found = list(values.to_delayed(optimize_graph=False))
    return found


class Distinct(NamedTuple):
    """The distinct rows of labels, predictions and groups, and what each of them stands for."""

    y_true: pd.Series[Any]
    y_pred: pd.Series[Any]
    sensitive: pd.DataFrame
    rows: Floats  # how many
    weight: Floats  # their sum
    squares: Floats  # the sum of their squares
    weighted: bool  # whether they differ


def distinct_rows(y_true: Any, y_pred: Any, sensitive: Any, weight: Any) -> Distinct:
    """Count the rows of collections where they are; what comes here has a row per class, prediction and group.

    Without sensitive columns all are one group.
    """
    from dask.base import compute
    from dask.delayed import delayed

    given = {"y_true": y_true, "y_pred": y_pred, "sensitive_features": sensitive, "sample_weight": weight}
    parts = {}
    for name, values in given.items():
        if values is None:
            continue
        if not is_collection(values):
            raise TypeError(
                f"{name} is no Dask collection, but others are: make one of it, or compute the others, got "
                f"{type(values).__name__}"
            )
        parts[name] = partitions_of(values)
        if len(parts[name]) != len(parts["y_true"]):
            raise ValueError(
                f"y_true has {len(parts['y_true'])} partitions, {name} {len(parts[name])}: they have to be divided "
                "alike"
            )
    task = delayed(_count_part, pure=False)
    columns = [parts.get(name, [None] * len(parts["y_true"])) for name in given]
    counted = compute(*(task(number, *row) for number, row in enumerate(zip(*columns, strict=True))))
    table = pd.concat([part for part in counted if len(part)] or [counted[0]], ignore_index=True)
    keys = [name for name in table.columns if name not in SUMS]
    names = counted[0].attrs["names"]
    table = _add_up(table, keys)
    for key, name in zip(keys[2:], names, strict=True):
        refuse_missing_groups(name, int(table["rows"][table[key].isna()].sum()), int(table["rows"].sum()))
    frame = table[keys[2:]].set_axis(names, axis=1)
    rows, total, squares = (table[name].to_numpy(np.float64) for name in ("rows", "weight", "squares"))
    differ = weight is not None and table["lowest"].min() < table["highest"].max()
    return Distinct(table["y_true"], table["y_pred"], frame, rows, total, squares, bool(differ))


SUMS = {"rows": "sum", "weight": "sum", "squares": "sum", "lowest": "min", "highest": "max"}


def _add_up(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return table.groupby(keys, dropna=False, observed=True, sort=False).agg(SUMS).reset_index()


def _count_part(number: int, y_true: Any, y_pred: Any, sensitive: Any, weight: Any) -> pd.DataFrame:
    n_rows = len(y_true)
    frame = sensitive_frame(np.zeros(n_rows, dtype=np.int64) if sensitive is None else sensitive)
    for name, values in (("y_pred", y_pred), ("sensitive_features", frame)):
        if len(values) != n_rows:
            raise ValueError(f"partition {number}: y_true has {n_rows} rows, {name} {len(values)}: divide them alike")
    weights = np.ones(n_rows) if weight is None else plain_weights(weight, n_rows)
    table = pd.DataFrame({"y_true": np.asarray(y_true), "y_pred": np.asarray(y_pred)})
    for j in range(frame.shape[1]):
        table[f"s{j}"] = frame.iloc[:, j].array
    table = table.assign(rows=1, weight=weights, squares=weights**2, lowest=weights, highest=weights)
    table = table[weights > 0]  # a row without weight is no row
    counted = _add_up(table, [name for name in table.columns if name not in SUMS])
    counted.attrs["names"] = list(frame.columns)
    return counted
