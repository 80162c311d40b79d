"""A user's own table as the same Bunch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from ._bunch import make_bunch
from ._files import DAMAGED

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
_PACKINGS = ("", ".gz", ".xz", ".bz2", ".zip")
_PLAIN = (str, bool, int, float, np.bool_, np.number)  # what an object column may hold
_BITS = 63  # of a whole number
_SHOWN = 20  # values or columns that an error message lists


def read_table(
    path: str | os.PathLike[str],
    *,
    target: str,
    positive: Any,
    sensitive: str | Sequence[str],
    protected: Any = None,
    drop: str | Iterable[str] | None = None,
) -> Bunch:
    """Read a CSV, TSV or Parquet file with a binary target and one or more sensitive attributes.

    Text and boolean columns become categories, numbers stay numbers. Missing attributes stay missing; a missing target
    or sensitive attribute is an error.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.pq`` file; text may be packed (``.csv.gz``, also ``.xz``, ``.bz2``,
        ``.zip``). CSV with semicolons instead of commas is recognised. Parquet needs pyarrow.
    target : str
        The column to predict; it must have exactly two values.
    positive : object
        The value of `target` that is the positive class, as it is in the file or as text.
    sensitive : str or list of str
        The sensitive column or columns. Several are kept as a DataFrame, and their combinations are the groups.
    protected : object, default=None
        The value of the protected group, for several columns one value each. None if no group is singled out.
    drop : str or list of str, default=None
        Columns that are no attributes, such as identifiers. A sensitive column may be among them: it is then in
        `sensitive` but not in `data`.

    Returns
    -------
    Bunch
        With the members that :func:`load_adult` lists.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from parityboost.datasets import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "loans.csv"
    ...     _ = path.write_text("id,sex,amount,paid\\n1,f,10,yes\\n2,m,20,no\\n3,f,5,yes\\n")
    ...     loans = read_table(path, target="paid", positive="yes", sensitive="sex", protected="f", drop="id")
    >>> loans.feature_types
    {'sex': 'categorical', 'amount': 'numeric'}
    >>> loans.target.tolist()
    [1, 0, 1]
    """
    path = Path(path)
    roles: dict[str, Any] = {"target": target, "positive": positive, "sensitive": sensitive}
    return to_bunch(read_file(path), path, **roles, protected=protected, drop=drop)


def to_bunch(
    table: pd.DataFrame,
    path: Path,
    *,
    target: str,
    positive: Any,
    sensitive: str | Sequence[str],
    protected: Any = None,
    drop: str | Iterable[str] | None = None,
) -> Bunch:
    """What :func:`read_table` returns, from the table in a file."""
    if table.empty:
        raise ValueError(f"{path} has no rows")
    several = not isinstance(sensitive, str)
    groups = list(sensitive) if several else [str(sensitive)]
    dropped = [drop] if isinstance(drop, str) else list(drop or [])
    if not groups or len(set(groups)) < len(groups):
        raise ValueError(f"sensitive must name one or more different columns, got {sensitive!r}")
    check_columns(table, target=[target], sensitive=groups, drop=dropped)
    for role, names in {"sensitive": groups, "drop": dropped}.items():
        if target in names:
            raise ValueError(f"{target!r} is the target and cannot be in {role} too, got {role}={names!r}")

    data = table.drop(columns=[target, *dropped])
    if data.shape[1] == 0:
        raise ValueError(f"{path} has no attributes left besides the target {target!r} and the dropped {dropped!r}")
    for column in data.columns:
        data[column] = _to_attribute(data[column])
    negative, positive = find_classes(table[target], positive)
    sensitive_table = pd.DataFrame({name: _to_groups(table[name]) for name in groups})
    return make_bunch(
        name=path.name.split(".")[0],
        data=data,
        target=(table[target] == positive).astype("int64"),
        sensitive=sensitive_table if several else sensitive_table[groups[0]],
        protected=_protected_group(sensitive_table, protected, several),
        target_names=[str(negative), str(positive)],
        description=f"Read from {path.name}.",
        licence=None,
        source=str(path),
    )


def read_file(path: Path) -> pd.DataFrame:
    """A whole file as it is."""
    kind = _kind(path)
    if kind in PARQUET:
        return _read_parquet(path)
    with naming(path):
        # In one piece, or else pandas guesses the type of each piece on its own.
        table = pd.read_csv(path, sep=text_format(path), skipinitialspace=True, low_memory=False)
    check_fields(path, table)
    return table


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What goes wrong in reading a text file says which file it was."""
    try:
        yield
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (pd.errors.ParserError, UnicodeDecodeError, *DAMAGED) as error:
        kind = _kind(path)[1:].upper()
        raise ValueError(f"{path} cannot be read as {kind} in UTF-8: {str(error).strip()}") from error


def check_fields(path: Path, table: pd.DataFrame) -> None:
    """Rows with more fields than the header: pandas would take those in excess for row names."""
    if len(table) and not isinstance(table.index, pd.RangeIndex):
        raise ValueError(f"{path} has more fields in its rows than the {len(table.columns)} in its header")


def text_format(path: Path) -> str:
    """What separates the fields of a text file; a CSV file that exists may turn out to have semicolons."""
    separator = separator_by_name(path)
    if separator == "," and path.is_file():
        header = pd.read_csv(path, sep=separator, nrows=0).columns
        if len(header) == 1 and ";" in header[0]:
            return ";"
    return separator


def separator_by_name(path: Path) -> str:
    """What separates the fields of a text file that is to be written."""
    return _SEPARATORS[_kind(path, exists=False)]


def _kind(path: Path, exists: bool = True) -> str:
    """How the file is written, by its name."""
    kinds = {kind + packing: kind for kind in _SEPARATORS for packing in _PACKINGS} | {kind: kind for kind in PARQUET}
    kind = next((kind for suffix, kind in kinds.items() if path.name.lower().endswith(suffix)), None)
    if kind is None:
        raise ValueError(
            f"path must end in one of {[*_SEPARATORS, *PARQUET]}, text files optionally packed as "
            f"{[packing for packing in _PACKINGS if packing]}, got {str(path)!r}"
        )
    if exists and not path.is_file():
        raise FileNotFoundError(f"path must be an existing file, got {str(path)!r}")
    return kind


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"reading {path.name} needs pyarrow: pip install pyarrow") from error
    try:
        return pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def check_columns(table: pd.DataFrame, **roles: list[str]) -> None:
    """Each column that is given a role has to be there."""
    for role, names in roles.items():
        for name in names:
            if name not in table.columns:
                raise ValueError(f"{role} must be in the table, got {name!r}; {_listing('columns', table.columns)}")


def _to_attribute(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column as floats, integers or categories, whatever it came as."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype("category")
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        # Types of pandas's own, such as Int64, may hold pd.NA, which NumPy cannot.
        plain = getattr(column.dtype, "numpy_dtype", column.dtype)
        return column.astype("float64" if column.isna().any() else plain)
    others = column.dropna() if column.dtype == object else column[:0]
    odd = next((type(value).__name__ for value in others if not isinstance(value, _PLAIN)), None)
    _check_whole_numbers("", column)
    if pd.api.types.is_string_dtype(column.dtype) and odd is None:
        return column.astype("category")
    raise ValueError(
        f"column {column.name!r} has the type {odd or column.dtype}, which is neither a number, text, boolean nor a "
        "category; convert it, or name it in drop"
    )


def find_classes(column: pd.Series[Any], positive: Any) -> tuple[Any, Any]:
    """The negative and the positive value of the target."""
    values = _values_without_gaps("target", column)
    if len(values) != 2:
        raise ValueError(
            f"target {column.name!r} must have exactly two classes, got {len(values)}; {_listing('values', values)}"
        )
    chosen = _match(values, positive)
    if chosen is None:
        raise ValueError(
            f"positive must be a value of target {column.name!r}, got {positive!r}; {_listing('values', values)}"
        )
    return values[1 - chosen], values[chosen]


def _to_groups(column: pd.Series[Any]) -> pd.Series[Any]:
    values = _values_without_gaps("sensitive", column)
    if len(values) < 2:
        raise ValueError(f"sensitive column {column.name!r} must have at least two groups, got only {values[0]!r}")
    return column.astype("category").cat.remove_unused_categories()


def _protected_group(groups: pd.DataFrame, protected: Any, several: bool) -> Any:
    """`protected` as the table spells it; one value, or a tuple with a value for each of several columns."""
    if protected is None:
        return None
    wanted = protected if several else [protected]
    if isinstance(wanted, str) or not isinstance(wanted, Sequence) or len(wanted) != groups.shape[1]:
        raise ValueError(
            f"protected must be a list with one value for each of the sensitive columns {list(groups.columns)}, "
            f"got {protected!r}"
        )
    found = []
    for (name, column), value in zip(groups.items(), wanted, strict=True):
        values = list(column.cat.categories)
        chosen = _match(values, value)
        if chosen is None:
            raise ValueError(
                f"protected must be a value of sensitive {name!r}, got {value!r}; {_listing('values', values)}"
            )
        found.append(values[chosen])
    return tuple(found) if several else found[0]


def _check_whole_numbers(role: str, column: pd.Series[Any]) -> None:
    """A file may hold whole numbers of any length; a model can tell those of 64 bits apart, and no others."""
    for value in column if column.dtype == object else ():
        if isinstance(value, int) and value.bit_length() > _BITS:
            raise ValueError(
                f"{role}column {column.name!r} holds a whole number of {value.bit_length()} bits, and at most {_BITS} "
                "are possible: make it text or a smaller number"
            )


def _values_without_gaps(role: str, column: pd.Series[Any]) -> list[Any]:
    _check_whole_numbers(f"{role} ", column)
    n_missing = int(column.isna().sum())
    if n_missing:
        raise ValueError(f"{role} column {column.name!r} has no value in {n_missing} of {len(column)} rows")
    return distinct_values(role, column)


def distinct_values(role: str, column: pd.Series[Any]) -> list[Any]:
    """The values of a column, each once."""
    try:
        values = list(pd.unique(column))
    except TypeError as error:
        example = type(next(value for value in column if getattr(value, "__hash__", None) is None)).__name__
        raise ValueError(f"{role} column {column.name!r} must hold text, numbers or booleans, got {example}") from error
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _match(values: list[Any], wanted: Any) -> int | None:
    """The position of `wanted`, equal as it is or else, so that "1" finds 1, as text."""
    for same in (lambda value: value == wanted, lambda value: str(value) == str(wanted)):
        for i, value in enumerate(values):
            if same(value):
                return i
    return None


def _listing(what: str, names: Iterable[Any]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"its {what} are {names[:_SHOWN]}{more}"
