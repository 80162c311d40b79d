"""Columns of any dtype to ``uint8`` codes.

Code 0 means missing, codes 1, 2, … are the bins of a column: its distinct values when there are at most ``max_bins`` of
them, else bins of about equal weight, or its categories. The weak learner sees codes only, so missing values,
categories and numbers cost it the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from warnings import warn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

X_BINNED_DTYPE = np.uint8  # hence MAX_BINS values and one code for missing
MAX_BINS = 255
MISSING = 0

Codes = NDArray[np.uint8]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumericColumn:
    """Bins of a numeric column: x has code ``1 + #{edge < x}``, so x ≤ edge stays on the left, as in scikit-learn."""

    name: str
    edges: Floats
    n_bins: int
    categorical = False

    @classmethod
    def fit(cls, name: str, column: Any, weights: Floats | None, max_bins: int) -> NumericColumn:
        values = _as_floats(name, column)
        if np.isnan(values).any():
            present = ~np.isnan(values)
            values, weights = values[present], None if weights is None else weights[present]
        distinct, inverse, mass = np.unique(values, return_inverse=True, return_counts=True)
        if len(distinct) and np.isinf(distinct[[0, -1]]).any():
            _raise_infinite(name)
        if len(distinct) > max_bins:
            if weights is not None:
                mass = np.bincount(inverse, weights=weights)
            cuts = _equal_mass_cuts(mass, max_bins)
        else:
            cuts = np.arange(len(distinct) - 1)
        below, above = distinct[cuts], distinct[cuts + 1]
        edges = below / 2 + above / 2  # halved first: no overflow
        # The midpoint of two neighbouring floats may round to the upper one, which would then move to the left bin.
        edges = np.where(edges >= above, below, edges)
        return cls(name, edges, len(edges) + 1 if len(distinct) else 0)

    def encode(self, column: Any) -> Codes:
        if not _is_numeric(column):
            raise ValueError(f"column {self.name!r} held numbers in training, got {_dtype_name(column)} values")
        values = _as_floats(self.name, column)
        if np.isinf(values).any():
            _raise_infinite(self.name)
        codes = (np.searchsorted(self.edges, values, side="left") + 1).astype(X_BINNED_DTYPE)
        codes[np.isnan(values)] = MISSING
        return codes


@dataclass(frozen=True)
class CategoricalColumn:
    """The categories of a column, sorted; category i has code i + 1, any other value counts as missing."""

    name: str
    categories: tuple[Any, ...]
    categorical = True

    @property
    def n_bins(self) -> int:
        return len(self.categories)

    @classmethod
    def fit(cls, name: str, column: Any, weights: Floats | None, max_bins: int) -> CategoricalColumn:
        codes, found = _factorize(name, column)
        order = _sort_order(found)
        if len(found) > max_bins:
            mass = np.bincount(codes + 1, weights=weights, minlength=len(found) + 1)[1:]
            heaviest = order[np.argsort(-mass[order], kind="stable")[:max_bins]]
            order = order[np.isin(order, heaviest)]
            warn(
                f"column {name!r} has {len(found)} categories, more than max_bins={max_bins}: "
                f"the {len(found) - max_bins} rarest are treated as missing",
                UserWarning,
                stacklevel=2,
            )
        return cls(name, tuple(found[order].tolist()))

    def encode(self, column: Any) -> Codes:
        index = pd.Index(self.categories, dtype=object)
        if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
            # Translate the few categories, not the many rows; the extra last entry is for pandas' code -1, missing.
            table = np.append(index.get_indexer(column.cat.categories.astype(object)) + 1, MISSING)
            codes: Codes = table.astype(X_BINNED_DTYPE)[column.cat.codes.to_numpy()]
            return codes
        values = _as_objects(self.name, column)
        if _is_numeric(column) and all(isinstance(c, str) for c in self.categories) and not pd.isna(values).all():
            example = self.categories[0] if self.categories else "none"
            raise ValueError(f"column {self.name!r} held categories in training (such as {example!r}), got numbers")
        found: Codes = (index.get_indexer(pd.Index(values, dtype=object)) + 1).astype(X_BINNED_DTYPE)
        return found


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True)
class Binner:
    """One encoder per column of X."""

    columns: tuple[Column, ...]

    @classmethod
    def fit(
        cls,
        X: pd.DataFrame | NDArray[Any],
        rows: NDArray[np.intp] | slice,
        weights: Floats | None,
        max_bins: int,
        categorical: Sequence[bool],
    ) -> Binner:
        """Learn the bins from ``rows`` of X only; ``weights`` belong to these rows."""
        names_and_columns = zip(column_names(X), iter_columns(X), categorical, strict=True)
        return cls(
            tuple(
                (CategoricalColumn if is_categorical else NumericColumn).fit(name, column[rows], weights, max_bins)
                for name, column, is_categorical in names_and_columns
            )
        )

    def encode(self, X: pd.DataFrame | NDArray[Any], rows: NDArray[np.intp] | slice = slice(None)) -> Codes:
        """Codes of the given rows of X, one contiguous row of the result per column of X."""
        n_rows = len(np.arange(len(X))[rows]) if isinstance(rows, slice) else len(rows)
        codes = np.empty((len(self.columns), n_rows), dtype=X_BINNED_DTYPE)
        for j, (column, values) in enumerate(zip(self.columns, iter_columns(X), strict=True)):
            codes[j] = column.encode(values[rows])
        return codes

    @property
    def n_bins(self) -> NDArray[np.int64]:
        return np.array([column.n_bins for column in self.columns], dtype=np.int64)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        return np.array([column.categorical for column in self.columns], dtype=np.bool_)


def column_names(X: pd.DataFrame | NDArray[Any]) -> list[str]:
    """Names to show in messages: the frame's, or x0, x1, …"""
    if isinstance(X, pd.DataFrame):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(X.shape[1])]


def iter_columns(X: pd.DataFrame | NDArray[Any]) -> Iterable[Any]:
    """Columns that can be indexed by row position."""
    for j in range(X.shape[1]):
        yield _Rows(X.iloc[:, j]) if isinstance(X, pd.DataFrame) else X[:, j]


class _Rows:
    """A Series indexed by position, so that frames and arrays read the same."""

    def __init__(self, series: pd.Series[Any]) -> None:
        self._series = series

    def __getitem__(self, rows: Any) -> Any:
        return self._series.iloc[rows]


def find_categorical(X: pd.DataFrame | NDArray[Any], choice: Any) -> list[bool]:
    """Which columns are categorical, from their dtypes or from the user's list of names, positions or booleans."""
    names = column_names(X)
    by_dtype = [not _is_numeric(X.iloc[:, j] if isinstance(X, pd.DataFrame) else X[:, j]) for j in range(len(names))]
    if isinstance(choice, str) and choice == "from_dtype":
        return by_dtype
    chosen = [] if choice is None else list(choice)
    if len(chosen) == len(names) and all(isinstance(item, (bool, np.bool_)) for item in chosen):
        flags = [bool(item) for item in chosen]
    else:
        flags = [False] * len(names)
        for item in chosen:
            flags[column_position(X, item, "categorical_features")] = True
    for name, is_categorical, by_its_dtype in zip(names, flags, by_dtype, strict=True):
        if by_its_dtype and not is_categorical:
            raise ValueError(f"column {name!r} does not hold numbers: add it to categorical_features, got {choice!r}")
    return flags


def column_position(X: pd.DataFrame | NDArray[Any], column: Any, parameter: str) -> int:
    """Position of a column given by name or by position."""
    if isinstance(X, pd.DataFrame) and column in X.columns:
        found = [j for j, name in enumerate(X.columns) if name == column]
        if len(found) > 1:
            raise ValueError(f"{parameter}: {len(found)} columns of X are called {column!r}")
        return found[0]
    if isinstance(column, (int, np.integer)) and -X.shape[1] <= column < X.shape[1]:
        return int(column % X.shape[1])
    raise ValueError(f"{parameter}: X has no column {column!r}; its columns are {', '.join(column_names(X))}")


def _equal_mass_cuts(mass: NDArray[Any], max_bins: int) -> NDArray[np.intp]:
    """Positions after which to cut sorted distinct values so that the bins weigh about the same.

    A value heavier than a bin gets one bin of its own and counts as exactly one bin, so that a column of mostly zeros
    still spends the other bins on what is not zero.
    """
    mass = np.asarray(mass, dtype=np.float64)
    cap = mass.sum() / max_bins
    while True:
        heavy = mass > cap
        new_cap = mass[~heavy].sum() / (max_bins - heavy.sum())
        if new_cap >= cap or heavy.sum() >= max_bins - 1:
            break
        cap = new_cap
    filled = np.cumsum(np.minimum(mass, cap)) / cap
    # A bin ends with the value that fills it; the small number keeps a bin that is full but for rounding from going on.
    full = np.floor(filled + 1e-9)
    return np.flatnonzero(np.diff(full, prepend=0.0)[:-1] > 0)[: max_bins - 1]


def _is_numeric(column: Any) -> bool:
    """Whether a column counts as numbers; everything else is read as categories."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return False
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return True
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        return kind in ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")
    return False


def _dtype_name(column: Any) -> str:
    return str(column.dtype)


def _as_floats(name: str, column: Any) -> Floats:
    if isinstance(column, pd.Series):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.dtype == object:
        return pd.Series(column).to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(column, dtype=np.float64)


def _as_objects(name: str, column: Any) -> Any:
    """A column of categories; dates and anything that is not text or a number are refused by name."""
    dtype = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise TypeError(f"column {name!r} holds dates (dtype {dtype}): turn it into a number or a category first")
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if kind not in ("string", "integer", "floating", "boolean", "empty"):
            for value in column:
                if not isinstance(value, (str, bool, int, float, np.number, np.bool_)) and not _is_missing(value):
                    raise TypeError(
                        f"column {name!r}: a value's type must be a string or a number, got {type(value).__name__} "
                        f"{value!r}"
                    )
    return np.asarray(column, dtype=object)


def _factorize(name: str, column: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes (-1 for missing) and the distinct values they stand for."""
    if isinstance(column, pd.Series) and isinstance(column.dtype, pd.CategoricalDtype):
        used, codes = np.unique(column.cat.codes.to_numpy(), return_inverse=True)
        n_missing = int(len(used) > 0 and used[0] < 0)
        return codes - n_missing, np.asarray(column.cat.categories, dtype=object)[used[n_missing:]]
    codes, found = pd.factorize(_as_objects(name, column))
    return codes, np.asarray(found, dtype=object)


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT


def _raise_infinite(name: str) -> None:
    raise ValueError(
        f"column {name!r} of X contains infinity or a value too large: replace it or mark it as missing (NaN)"
    )


def _sort_order(values: NDArray[Any]) -> NDArray[np.intp]:
    """Order of distinct categories, independent of the rows' order; mixed types sort by type first."""
    items = [(type(value).__name__ if not isinstance(value, (bool, int, float)) else "", value) for value in values]
    return np.array(sorted(range(len(items)), key=items.__getitem__), dtype=np.intp)
