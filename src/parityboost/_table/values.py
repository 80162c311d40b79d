"""What the user hands over, value by value and column by column: as Python and pandas have it, and as messages show it.

Frames may be of polars, pyarrow or whatever else narwhals knows, and arrays of CuPy's, on the graphics card.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from .._arrays import on_card, to_host

_KNOWN = (pd.DataFrame, pd.Series, pd.Index, pd.api.extensions.ExtensionArray, np.ndarray, list, tuple, str, type(None))
# Whole numbers, by their names in Arrow, as pandas has them where some are missing.
_WITH_MISSING = {
    name.lower(): pd.api.types.pandas_dtype(name) for bits in (8, 16, 32, 64) for name in (f"Int{bits}", f"UInt{bits}")
}
# Labels and groups on the graphics card with more distinct values are read by the processor, row by row.
MAX_FEW = 1 << 10


def plain(value: Any) -> Any:
    """NumPy scalars as Python's own: they hash and compare alike, and print better."""
    return value.item() if isinstance(value, np.generic) else value


def printable(text: str, keep: str = "\n\t") -> str:
    """The text with everything that does not print, but for what is to be kept, written as Python would: a name from a
    file may hold characters that move a terminal's cursor, or that a page must not hold."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def short(value: Any) -> str:
    """A value as it would be written, but not at any length."""
    try:
        text = repr(value)
    except ValueError:  # Python writes out no integer of more than 4,300 digits
        return f"a value of type {type(value).__name__} that is too long to show"
    return text if len(text) <= 60 else f"{text[:57]}…"


def listed(names: list[str], most: int = 20) -> str:
    """Names for a message as Python writes them, not all if there are very many, and not at any length."""
    return ", ".join(map(short, names[:most])) + (f", … ({len(names)} in all)" if len(names) > most else "")


def sort_key(value: Any) -> tuple[str, Any]:
    """Numbers before all else, then type by type, each in its own order: whatever order the values come in."""
    return ("", value) if isinstance(value, (bool, int, float, np.number, np.bool_)) else (type(value).__name__, value)


def same_number(wanted: Any) -> Callable[[Any], bool]:
    """Whether a value is the number that ``wanted`` is or is written as; truth values are no numbers."""
    try:
        number = float(wanted)
    except (TypeError, ValueError, OverflowError):
        return lambda value: False
    return lambda value: isinstance(value, (int, float, np.number)) and type(value) is not bool and value == number


def object_array(values: list[Any]) -> NDArray[Any]:
    """One element per value, also if the values are tuples."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, {name} {length}"
        )


def take_rows(values: Any, rows: NDArray[Any]) -> Any:
    """Some rows of a table, column or list, or None of None."""
    if values is None:
        return None
    values = to_pandas(values)
    return _safe_indexing(pd.DataFrame(values) if isinstance(values, dict) else values, rows)


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
        values = object_array(column.to_list())
    return pd.Series(values, name=column.name or None)


class FewValues(NamedTuple):
    """A column of few distinct values on the graphics card: what is said of each of them holds for its rows."""

    distinct: NDArray[Any]
    inverse: Any  # of each row, on the card

    def spread(self, codes: NDArray[Any]) -> Any:
        """The rows' codes, from those of the distinct values."""
        from .._engine.cuda.tables import place

        return place(codes)[self.inverse]


def few_values(name: str, values: Any, n_rows: int) -> FewValues | None:
    """Labels or groups on the graphics card, if they need not be read row by row."""
    if values.ndim != 1 or values.dtype.kind not in "biu" or len(values) == 0:
        return None
    from .._engine.cuda.tables import find_inverse

    found = find_inverse(values, MAX_FEW)
    if found is None:
        return None
    check_length(name, len(values), n_rows)
    return FewValues(*found)
