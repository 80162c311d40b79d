"""The table X and its columns as the user handed them over: numbers, categories, or anything that can be told apart.

Reading a source copies nothing; asking it for rows copies those rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from .._arrays import Rows, on_card, to_host
from .values import listed, short, to_pandas

TableLike = pd.DataFrame | NDArray[Any]

NUMERIC_KINDS = ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")


def read_table(X: Any) -> TableLike:
    """X as a DataFrame or a two-dimensional array; values are looked at column by column later."""
    if sparse.issparse(X):
        raise TypeError("X is a sparse matrix, but dense data is required: use X.toarray() or a DataFrame")
    if on_card(X):  # where it stays
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"X must have two dimensions and at least one row and column, got the shape {X.shape}")
        if X.dtype.kind not in "biuf":
            raise TypeError(f"an array X on the graphics card must hold real numbers, got dtype {X.dtype}")
        placed: NDArray[Any] = X
        return placed
    X = to_pandas(X)
    if isinstance(X, pd.DataFrame):
        if len(X) == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
        if X.shape[1] == 0:
            raise ValueError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        for j, dtype in enumerate(X.dtypes):
            if isinstance(dtype, pd.SparseDtype):
                raise TypeError(f"column {str(X.columns[j])!r} of X is sparse: use X.sparse.to_dense()")
        return X
    if isinstance(X, list) and any(
        isinstance(value, str) for row in X if isinstance(row, (list, tuple)) for value in row
    ):
        X = np.asarray(X, dtype=object)  # NumPy would make text of the numbers beside text
    try:
        array: NDArray[Any] = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    except (TypeError, ValueError):
        _name_odd_cell(X)
        raise
    return array.astype(object) if array.dtype.kind in "US" else array


def _name_odd_cell(X: Any) -> None:
    """Raise an error about the first cell that is no single value or no real number, if there is one."""
    rows = X.tolist() if isinstance(X, np.ndarray) and X.dtype == object else X
    for i, row in enumerate(rows if isinstance(rows, (list, tuple)) else []):
        for j, value in enumerate(row if isinstance(row, (list, tuple)) else []):
            if isinstance(value, complex) or not (isinstance(value, str) or np.ndim(value) == 0):
                raise TypeError(f"column 'x{j}': a value must be a number or text, got {short(value)} in row {i}")


@dataclass(eq=False)
class Source:
    name: str
    values: Any
    kind = ""  # how messages call it
    holds_numbers = False  # whether it has floats
    is_mixed = False  # whether some values are text and others are not, in any row

    def __len__(self) -> int:
        return len(self.values)

    def floats(self, rows: Rows) -> NDArray[np.float64]:
        """The numbers in some rows, NaN for missing; only columns of numbers have them."""
        raise NotImplementedError

    def factorized(self, rows: Rows) -> tuple[NDArray[np.intp], Any]:
        """Codes of some rows (-1 for missing) and the distinct values they stand for."""
        codes, values = pd.factorize(to_host(self.values)[to_host(rows)])
        return codes, np.asarray(values, dtype=object)


class NumberSource(Source):
    """Numbers or booleans; missing values are NaN."""

    kind = "number"
    holds_numbers = True

    def floats(self, rows: Rows) -> NDArray[np.float64]:
        values = to_host(self.values)[rows]
        if isinstance(values, np.ndarray) and values.dtype != object:
            return np.ascontiguousarray(values, dtype=np.float64)
        try:
            return pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan)
        except OverflowError:
            raise_infinite(self.name)
            raise


@dataclass(eq=False)
class PlacedNumbers(NumberSource):
    """Numbers whose floats are on the graphics card, wherever the column is."""

    to_card: Callable[[Any], Any]
    shared: dict[int, tuple[Any, Any]]  # by the columns: which rows, their weights; each is copied once

    def place(self, array: Any) -> Any:
        """An array with an entry per row, or which rows, on the card as well."""
        if array is None or isinstance(array, slice):
            return array
        if id(array) not in self.shared:  # as long as the array is kept, its id is its own
            self.shared[id(array)] = array, self.to_card(array)
        return self.shared[id(array)][1]

    def floats(self, rows: Rows) -> Any:
        if not on_card(self.values):
            return self.to_card(super().floats(rows))
        values = self.values[self.place(rows)].astype(np.float64, copy=False)
        return values if values.flags.c_contiguous else values.copy()


class CategorySource(Source):
    """A pandas categorical: small codes and the categories they stand for."""

    kind = "category"

    @property
    def holds_numbers(self) -> bool:  # type: ignore[override]
        return getattr(self.values.categories.dtype, "kind", "O") in "biuf"

    def floats(self, rows: Rows) -> NDArray[np.float64]:
        values = np.append(self.values.categories.to_numpy(np.float64), np.nan)  # code -1 is the last
        numbers: NDArray[np.float64] = values[self.values.codes[rows]]
        return numbers

    def factorized(self, rows: Rows) -> tuple[NDArray[np.intp], Any]:
        return self.values.codes[rows], np.asarray(self.values.categories, dtype=object)


class ObjectSource(Source):
    """Strings, or objects of any kind that can be told apart."""

    @property
    def kind(self) -> str:  # type: ignore[override]
        return str(self.values.dtype)

    @property
    def is_mixed(self) -> bool:  # type: ignore[override]
        dtype = self.values.dtype
        return dtype == np.dtype(object) and pd.api.types.infer_dtype(self.values, skipna=True).startswith("mixed")

    def factorized(self, rows: Rows) -> tuple[NDArray[np.intp], Any]:
        try:
            codes, values = super().factorized(rows)
        except TypeError:  # not even hashable
            self._refuse(next(v for v in self.values[rows] if getattr(v, "__hash__", None) is None))
        for value in values:
            if not isinstance(value, (str, bool, int, float, np.integer, np.floating, np.bool_)):
                self._refuse(value)
        return codes, values

    def _refuse(self, value: Any) -> None:
        name = type(value).__name__
        raise TypeError(f"column {self.name!r}: a value's type must be a string or a number, got {name} {value!r}")


def raise_infinite(name: str) -> None:
    raise ValueError(
        f"column {name!r} of X contains infinity or a value too large: replace it or mark it as missing (NaN)"
    )


def check_finite(X: TableLike) -> None:
    """Refuse infinite numbers in any row, by the name of their column."""
    for source in read_sources(X):
        if isinstance(source, NumberSource) and np.isinf(source.floats(slice(None))).any():
            raise_infinite(source.name)


def read_sources(X: TableLike) -> list[Source]:
    if isinstance(X, pd.DataFrame):
        columns: list[Any] = [
            column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array for _, column in X.items()
        ]
    else:
        columns = [X[:, j] for j in range(X.shape[1])]
    return [_read_source(name, values) for name, values in zip(column_names(X), columns, strict=True)]


def _read_source(name: str, values: Any) -> Source:
    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biuf":
            return NumberSource(name, values)
    elif isinstance(dtype, pd.CategoricalDtype):
        return CategorySource(name, values)
    elif pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return NumberSource(name, values)
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        raise TypeError(f"column {name!r} holds dates (dtype {dtype}): turn it into a number or a category first")
    if dtype == np.dtype(object) and pd.api.types.infer_dtype(values, skipna=True) in NUMERIC_KINDS:
        return NumberSource(name, values)
    return ObjectSource(name, values)


def place_sources(sources: list[Source], place: Callable[[Any], Any]) -> list[Source]:
    shared: dict[int, tuple[Any, Any]] = {}
    return [
        PlacedNumbers(source.name, source.values, place, shared) if isinstance(source, NumberSource) else source
        for source in sources
    ]


def column_names(X: TableLike) -> list[str]:
    """Names to show in messages: the frame's, or x0, x1, …"""
    if isinstance(X, pd.DataFrame):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(X.shape[1])]


def column_position(X: TableLike, column: Any, parameter: str) -> int:
    if isinstance(X, pd.DataFrame) and isinstance(column, Hashable) and column in X.columns:
        found = [j for j, name in enumerate(X.columns) if name == column]
        if len(found) > 1:
            raise ValueError(f"{parameter}: {len(found)} columns of X are called {column!r}")
        return found[0]
    if isinstance(column, (int, np.integer)) and -X.shape[1] <= column < X.shape[1]:
        return int(column % X.shape[1])
    raise ValueError(f"{parameter}: X has no column {column!r}; its columns are {listed(column_names(X))}")


def find_categorical(X: TableLike, sources: list[Source], choice: Any) -> list[bool]:
    """Which columns are categorical: by their dtypes, and those the user lists by name or position.

    A boolean for every column, or None for no column, replaces what the dtypes say.
    """
    flags = [not isinstance(source, NumberSource) for source in sources]
    if isinstance(choice, str) and choice == "from_dtype":
        return flags
    chosen = [] if choice is None else list(choice)
    if choice is None:
        flags = [False] * len(sources)
    elif chosen and all(isinstance(item, (bool, np.bool_)) for item in chosen):
        if len(chosen) != len(sources):
            raise ValueError(f"categorical_features has {len(chosen)} booleans, X {len(sources)} columns")
        flags = [bool(item) for item in chosen]
    else:
        for item in chosen:
            flags[column_position(X, item, "categorical_features")] = True
    for source, is_categorical in zip(sources, flags, strict=True):
        if not is_categorical and not source.holds_numbers:
            raise ValueError(
                f"column {source.name!r} does not hold numbers, so categorical_features must have it, got {choice!r}"
            )
    return flags
