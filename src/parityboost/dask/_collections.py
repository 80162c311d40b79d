"""Dask collections as lists of partitions that belong together, row by row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._extras import install
from .._table.lazy import is_collection, is_frame, partitions_of
from .._table.sources import column_position, short

Delayed = Any


def require_dask() -> None:
    """Say what to install if Dask is not there."""
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(f"parityboost.dask needs Dask: {install('dask')}") from error


class Partitioned(NamedTuple):
    """X, labels, groups and weights, a list of partitions each; the partitions of one number hold the same rows."""

    X: list[Delayed]
    y: list[Delayed]
    sensitive: list[Delayed] | None
    weight: list[Delayed] | None
    meta: Any  # a table without rows that has the names and types of X's columns

    def __len__(self) -> int:
        return len(self.X)


def read_collections(X: Any, y: Any, sensitive: Any, weight: Any, sensitive_feature: Any) -> Partitioned:
    """The partitions of what `fit` is given; ``sensitive_feature`` names columns of X that hold the groups."""
    _refuse_others(X=X, y=y, sensitive_features=sensitive, sample_weight=weight)
    if X.ndim != 2:
        raise ValueError(f"X must be a Dask DataFrame or a two-dimensional Array, got {X.ndim} dimension(s)")
    meta = empty_table(X)
    if sensitive is None and sensitive_feature is not None:
        wanted = sensitive_feature if isinstance(sensitive_feature, (list, tuple)) else [sensitive_feature]
        if not wanted:
            raise ValueError(f"sensitive_feature={sensitive_feature!r} names no column of X")
        positions = [column_position(meta, name, "sensitive_feature") for name in wanted]
        sensitive = X.iloc[:, positions] if isinstance(meta, pd.DataFrame) else X[:, positions]
    parts = partitions_of(X)
    others = {"y": y, "sensitive_features": sensitive, "sample_weight": weight}
    found = {name: None if values is None else _matching(name, values, X, parts) for name, values in others.items()}
    assert found["y"] is not None
    return Partitioned(parts, found["y"], found["sensitive_features"], found["sample_weight"], meta)


def empty_table(X: Any) -> Any:
    """A table without rows that has the names and types of X's columns."""
    if is_frame(X):
        return X._meta
    if np.isnan(X.shape[1]):
        raise ValueError("X is a Dask Array of an unknown number of columns: X.compute_chunk_sizes() finds it out")
    return np.empty((0, X.shape[1]), dtype=X.dtype)


def _refuse_others(**given: Any) -> None:
    for name, values in given.items():
        if values is None and name in ("sensitive_features", "sample_weight"):
            continue
        if not is_collection(values):
            raise TypeError(
                f"{name} must be a Dask DataFrame, Series or Array, got {type(values).__name__} {short(values)[:30]}: "
                "dask.dataframe.from_pandas and dask.array.from_array make one; for data that fit into memory there "
                "is the classifier without Dask"
            )


def _matching(name: str, values: Any, X: Any, parts: list[Delayed]) -> list[Delayed]:
    """The partitions of what belongs to X, which has to be divided as X is."""
    if not is_frame(values) and not is_frame(X) and values.chunks[0] != X.chunks[0] and _is_known(values, X):
        values = values.rechunk({0: X.chunks[0]})
    found = partitions_of(values)
    if len(found) != len(parts):
        raise ValueError(
            f"X has {len(parts)} partitions, {name} {len(found)}: they have to be divided alike, as columns of one "
            "DataFrame are"
        )
    return found


def _is_known(*arrays: Any) -> bool:
    return (
        not any(np.isnan(size) for array in arrays for size in array.chunks[0])
        and len({array.shape[0] for array in arrays}) == 1
    )
