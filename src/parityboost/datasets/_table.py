"""A user's own table as the same Bunch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from .._caller import warn_caller
from .._table.grouping import AS_GIVEN, Grouping
from .._table.values import same_number, short
from ._bunch import make_bunch
from ._formats import TextFormat, hint_at_spaces, read_file

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
    bands: Mapping[Any, Sequence[float]] | None = None,
    missing_group: str | None = None,
    encoding: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
) -> Bunch:
    """Read a file or folder with a table that has a binary target and one or more sensitive attributes.

    Text and boolean columns become categories, numbers stay numbers. Missing attributes stay missing; a missing target
    or sensitive attribute is an error.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.txt``, ``.jsonl``, ``.parquet`` or ``.xlsx`` file (of this the first sheet), or a
        folder of files of one of these kinds. Text may be packed (``.csv.gz``, also ``.xz``, ``.bz2``, ``.zip``).
        Parquet needs pyarrow, Excel openpyxl. A column without a name that counts the rows is left out, with a warning.
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
    bands : dict, default=None
        From the name of a sensitive column of numbers to where it is cut into groups: ``{"age": [25, 40, 60]}``.
    missing_group : str, default=None
        Name of the group of rows whose sensitive value is missing. With None, a missing value is an error.
    encoding : str, default=None
        Of text files, such as ``"latin-1"``. None is UTF-8.
    sep : str, default=None
        What separates the fields of text files. None: a comma, semicolon, tab or vertical bar, as the header has it.
        Spaces after it are part of the values, as in pandas, unless it is given with a space: ``", "``.
    decimal : {".", ","}, default=None
        The decimal sign of text files. None is the point, with an error if a column looks like decimal commas.

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
    ...     loans = read_table(
    ...         path, target="paid", positive="yes", sensitive="sex", protected="f", drop="id"
    ...     )
    >>> loans.feature_types
    {'sex': 'categorical', 'amount': 'numeric'}
    >>> loans.target.tolist()
    [1, 0, 1]
    """
    path = Path(path)
    roles: dict[str, Any] = {"target": target, "positive": positive, "sensitive": sensitive, "protected": protected}
    table = read_file(path, TextFormat(encoding, sep, decimal))
    return to_bunch(table, path, **roles, drop=drop, grouping=Grouping(bands, missing_group))


def to_bunch(
    table: pd.DataFrame,
    path: Path,
    *,
    target: str,
    positive: Any,
    sensitive: str | Sequence[str],
    protected: Any = None,
    drop: str | Iterable[str] | None = None,
    grouping: Grouping = AS_GIVEN,
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

    counting = [name for name in _row_numbers(table) if name not in (target, *groups, *dropped)]
    if counting:
        warn_caller(
            f"{path} has a column without a name, {counting[0]!r}, that counts the rows, as pandas writes its index: "
            "it is left out"
        )
    data = table.drop(columns=[target, *dropped, *counting])
    if data.shape[1] == 0:
        raise ValueError(f"{path} has no attributes left besides the target {target!r} and the dropped {dropped!r}")
    for column in data.columns:
        data[column] = _to_attribute(data[column])
    negative, positive = find_classes(table[target], positive)
    sensitive_table = grouping.apply(table[groups])
    sensitive_table = pd.DataFrame({name: _to_groups(sensitive_table[name]) for name in groups})
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


def check_columns(table: pd.DataFrame, **roles: list[str]) -> None:
    """Each column that is given a role has to be there."""
    for role, names in roles.items():
        for name in names:
            if name not in table.columns:
                hint = hint_at_spaces([name], table.columns)
                raise ValueError(
                    f"{role} must be in the table, got {name!r}; {_listing('columns', table.columns)}{hint}"
                )


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


def _row_numbers(table: pd.DataFrame) -> list[str]:
    """The columns that have no name in the file, and a whole number of its own in every row."""
    unnamed = [name for name in table.columns if re.fullmatch(r"Unnamed: \d+", str(name))]
    return [name for name in unnamed if pd.api.types.is_integer_dtype(table[name].dtype) and table[name].is_unique]


def find_classes(column: pd.Series[Any], positive: Any) -> tuple[Any, Any]:
    """The negative and the positive value of the target."""
    values = _values_without_gaps("target", column)
    if len(values) != 2:
        raise ValueError(
            f"target {column.name!r} must have exactly two classes, got {len(values)}; {_listing('values', values)}"
        )
    chosen = values.index(match_label("positive", positive, column.name, values))
    return values[1 - chosen], values[chosen]


def match_label(role: str, wanted: Any, target: Any, values: list[Any]) -> Any:
    """A value of the target, as the table spells it."""
    chosen = _match(values, wanted)
    if chosen is None:
        hint = hint_at_spaces([wanted], values)
        raise ValueError(
            f"{role} must be a value of target {target!r}, got {wanted!r}; {_listing('values', values)}{hint}"
        )
    return values[chosen]


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
        hint = ": missing_group (--missing-group) names a group for them" if role == "sensitive" else ""
        raise ValueError(f"{role} column {column.name!r} has no value in {n_missing} of {len(column)} rows{hint}")
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
    """The position of `wanted`, equal as it is or else as text, so that "1" finds 1, or as a number: 1.0 as well."""
    for same in (lambda value: value == wanted, lambda value: str(value) == str(wanted), same_number(wanted)):
        for i, value in enumerate(values):
            if same(value):
                return i
    return None


def _listing(what: str, names: Iterable[Any]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"its {what} are [{', '.join(map(short, names[:_SHOWN]))}]{more}"
