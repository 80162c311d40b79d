"""Data frames of other libraries (polars, pyarrow and whatever else narwhals knows) as pandas has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._arrays import on_card, to_host

_KNOWN = (pd.DataFrame, pd.Series, pd.Index, pd.api.extensions.ExtensionArray, np.ndarray, list, tuple, str, type(None))
# Whole numbers, by their names in Arrow, as pandas has them where some are missing.
_WITH_MISSING = {
    name.lower(): pd.api.types.pandas_dtype(name) for bits in (8, 16, 32, 64) for name in (f"Int{bits}", f"UInt{bits}")
}


def to_pandas(values: Any) -> Any:
    """A frame or column of another library as a DataFrame or Series; whatever else is given as it is.

    Names, types and categories stay what they are; a lazy frame is collected.
    """
    if isinstance(values, _KNOWN):
        return values
    if on_card(values):
        return to_host(values)
    if isinstance(values, dict):
        return {name: to_pandas(column) for name, column in values.items()}
    if type(values).__module__.startswith("pyarrow.") and hasattr(values, "to_pandas"):
        return _from_arrow(values)  # arrays and batches too, which narwhals does not know
    import narwhals  # only now: it takes its time

    found = narwhals.from_native(values, allow_series=True, pass_through=True)
    if isinstance(found, narwhals.LazyFrame):
        found = found.collect()
    if isinstance(found, narwhals.DataFrame):
        columns = {name: _column(found[name]) for name in found.columns}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(found)))
    return _column(found) if isinstance(found, narwhals.Series) else values


def _from_arrow(values: Any) -> Any:
    """As pyarrow does it, but whole numbers stay whole beside missing ones: as floats, large ones would merge."""
    columns = values.columns if hasattr(values, "columns") else [values]
    incomplete = {column.type for column in columns if str(column.type) in _WITH_MISSING and column.null_count}
    return values.to_pandas(types_mapper=lambda kind: _WITH_MISSING[str(kind)] if kind in incomplete else None)


def _column(column: Any) -> pd.Series[Any]:
    """A narwhals Series as pandas would have read the same values; whole numbers stay whole beside missing ones."""
    import narwhals

    dtype: Any = column.dtype
    values: Any
    if isinstance(dtype, narwhals.Enum):  # its categories have an order, others have none
        values = pd.Categorical(column.to_list(), categories=dtype.categories, ordered=True)
    elif isinstance(dtype, narwhals.Categorical):
        values = pd.Categorical(column.to_list())
    elif isinstance(dtype, narwhals.Decimal):
        values = column.cast(narwhals.Float64).to_numpy()
    elif dtype.is_integer() and column.is_null().any():
        values = pd.arrays.IntegerArray(column.fill_null(0).to_numpy().copy(), column.is_null().to_numpy().copy())
    elif dtype.is_numeric() or dtype.is_temporal() or (dtype == narwhals.Boolean and not column.is_null().any()):
        values = column.to_numpy()
    else:  # text, and whatever is told apart, or refused, value by value
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_list()
    return pd.Series(values, name=column.name or None)
