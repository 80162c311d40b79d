"""Tables in files of many kinds: how they are told apart and read, and what is wrong with them."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.io.common import get_handle  # type: ignore[import-not-found]

from .._table.values import to_pandas
from ._files import DAMAGED

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}  # of text files; None: whatever is in the header
CANDIDATES = (",", ";", "\t", "|")
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")
EXCEL = (".xlsx",)
PACKINGS = ("", ".gz", ".xz", ".bz2", ".zip")
PACKABLE = (*SEPARATORS, *JSON_LINES)
KINDS = {kind + packing: kind for kind in PACKABLE for packing in PACKINGS} | {k: k for k in (*PARQUET, *EXCEL)}

# A number with decimal comma, or with dots between the thousands; and whole numbers, which may stand among them.
OTHER_NUMBER = re.compile(r"[+-]?(\d+,\d+|\d{1,3}(\.\d{3})+(,\d+)?)")
WHOLE_NUMBER = re.compile(r"[+-]?\d+")

LARGEST_WHOLE = 2**53  # beyond it, floats are not all the whole numbers
MISSING = ("", "NA", "N/A", "NaN", "nan", "null")  # some of what pandas takes for missing, unless a space precedes it
SPACES = "give sep ', ' (--sep ', ') if spaces after the separator are no part of the values"


def hint_at_spaces(wanted: Iterable[Any], found: Iterable[Any]) -> str:
    """What to add to an error if something that is wanted is there but for the spaces in front of it."""
    behind_spaces = {name.lstrip() for name in found if isinstance(name, str) and name.startswith(" ")}
    return "" if behind_spaces.isdisjoint(wanted) else f"; {SPACES}"


@dataclass(frozen=True)
class TextFormat:
    """How text files are written; None where the file has to tell."""

    encoding: str | None = None
    sep: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise ValueError(f"encoding must be one of Python's, such as latin-1, got {self.encoding!r}") from None
        if self.sep is not None and len(self.sep.removesuffix(" ") or " ") != 1:
            raise ValueError(f"sep must be one character, such as ';', or one and a space, ', ', got {self.sep!r}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.delimiter is not None and self.delimiter == self.decimal:
            raise ValueError(f"sep and decimal must differ, got {self.sep!r} for both")

    @property
    def delimiter(self) -> str | None:
        """The character of ``sep``, without the space that may follow it."""
        return None if self.sep is None else self.sep[0]

    @property
    def skips_spaces(self) -> bool:
        """Whether spaces after the separator are no part of the values, as the user has to say."""
        return self.sep is not None and len(self.sep) == 2

    def options(self, path: Path) -> dict[str, Any]:
        """What ``pandas.read_csv`` has to be told about a file."""
        return {
            "sep": self.separator(path),
            "encoding": self.encoding or "utf-8",
            "decimal": self.decimal or ".",
            "skipinitialspace": self.skips_spaces,
        }

    def separator(self, path: Path) -> str:
        """What separates the fields of a file, by its name and, if it exists, by its header."""
        if self.delimiter is not None:
            return self.delimiter
        by_name = SEPARATORS[kind_of(path)]
        if by_name == "\t" or not path.is_file():
            return by_name or ","
        n_fields = {}
        for sep in CANDIDATES:
            n_fields[sep] = len(header_of(path, sep=sep, encoding=self.encoding or "utf-8", index_col=False))
        if by_name is not None and n_fields[by_name] > 1:
            return by_name
        return max(n_fields, key=lambda sep: n_fields[sep])  # the first of those that are equal


AS_FOUND = TextFormat()


def header_of(path: Path, **options: Any) -> list[str]:
    """The names of a text file's columns as pandas reads them, without making a column of each, which takes long."""
    names: dict[Any, None] = {}
    pd.read_csv(path, **options, nrows=0, usecols=lambda name: names.setdefault(name) is not None)
    return list(names)


def read_file(path: Path, text_format: TextFormat = AS_FOUND) -> pd.DataFrame:
    """A whole file, or all files of a folder, as they are."""
    return with_one_writing(_read_folder(path, text_format) if path.is_dir() else _read_file(path, text_format))


def with_one_writing(table: pd.DataFrame) -> pd.DataFrame:
    """A code that is a number in one row and text in another, 1 and "1", as text in both: a text file has one of it."""
    for j in [j for j, dtype in enumerate(table.dtypes) if dtype.kind == "O"]:
        values: list[Any] = table.iloc[:, j].tolist()
        texts = {value for value in values if isinstance(value, str)}
        if texts and any(type(value) in (bool, int, float) for value in values):
            table.isetitem(j, pd.Series([_as_text(value, texts) for value in values], dtype=object).to_numpy())
    return table


def _as_text(value: Any, texts: set[str]) -> Any:
    """The one of the texts that is a way to write a number or truth value; else the value itself."""
    if type(value) not in (bool, int, float):
        return value
    return next((text for text in writings(value) if text in texts), value)


def writings(value: Any) -> list[str]:
    """How files write a number or truth value, the usual way first."""
    if isinstance(value, bool):
        return [str(value), str(value).lower(), str(value).upper()]
    if isinstance(value, float) and value.is_integer():
        return [str(value), str(int(value))]
    return [str(value), f"{value}.0"] if isinstance(value, int) else [str(value)]


def _read_file(path: Path, text_format: TextFormat) -> pd.DataFrame:
    kind = existing_kind(path)
    if kind in PARQUET:
        return next(read_parquet(path))
    if kind in EXCEL:
        return read_excel(path)[1]
    with naming(path, text_format):
        if kind in JSON_LINES:
            (table,) = read_json_lines(path, text_format)
        else:  # in one piece, or else pandas guesses the type of each piece on its own
            table = _read_text(path, **text_format.options(path))
            check_fields(path, table)
    if kind in SEPARATORS:
        check_numbers(path, table, text_format)
    return table


def _read_text(source: Any, **options: Any) -> pd.DataFrame:
    """A text file whose whole numbers stay whole beside missing ones, also where a float would round them."""
    table: pd.DataFrame = pd.read_csv(source, **options, low_memory=False)
    floats = table.select_dtypes("float64")
    large = floats.columns[(floats.abs() >= LARGEST_WHOLE).any() & floats.isna().any()]
    for name in large:
        if hasattr(source, "seek"):
            source.seek(0)
        with suppress(ValueError, TypeError, OverflowError):  # other numbers, or infinity
            table[name] = pd.read_csv(source, **options, usecols=[name], dtype="Int64")[name]
    return table


def files_of(path: Path) -> list[Path]:
    """The files of a table: one, or those of a folder in the order of their names."""
    if not path.is_dir():
        existing_kind(path)
        return [path]
    tables = tables_in(path)
    if not tables:
        raise ValueError(f"the folder {str(path)!r} has no table: files must end in one of {_endings()}")
    kinds = {kind_of(file) for file in tables}
    if len(kinds) > 1:
        raise ValueError(f"the folder {str(path)!r} has tables of several kinds, {', '.join(sorted(kinds))}: use one")
    return tables


def tables_in(folder: Path) -> list[Path]:
    """The files of a folder that would be read, in the order of their names."""
    found = [file for file in folder.iterdir() if file.is_file() and not file.name.startswith((".", "_"))]
    return sorted(file for file in found if is_table(file))


def _read_folder(path: Path, text_format: TextFormat) -> pd.DataFrame:
    files = files_of(path)
    if kind_of(files[0]) not in SEPARATORS:
        parts = {file: _read_file(file, text_format) for file in files}
        if kind_of(files[0]) in JSON_LINES:  # of which one without rows has no columns either
            parts = {file: table for file, table in parts.items() if len(table)} or parts
        tables = list(parts.values())
        check_same_columns(parts, tables)
        return pd.concat(tables, ignore_index=True)
    tables = []
    for file in files:
        with naming(file, text_format):
            tables.append(pd.read_csv(file, **text_format.options(file), dtype=str, keep_default_na=False))
        check_fields(file, tables[-1])
    check_same_columns(files, tables)
    # As one text, or else pandas guesses the types of each file on its own.
    whole = io.StringIO(pd.concat(tables, ignore_index=True).to_csv(index=False))
    table = _read_text(whole, decimal=text_format.decimal or ".")
    check_numbers(path, table, text_format)
    return table


def check_same_columns(files: Iterable[Path], tables: list[pd.DataFrame]) -> None:
    """The files of a folder are parts of one table."""
    for file, table in zip(files, tables, strict=True):
        if list(table.columns) != list(tables[0].columns):
            raise ValueError(f"{file} has other columns than the first file of its folder: {list(table.columns)[:20]}")


def read_json_lines(path: Path, text_format: TextFormat, rows: int | None = None) -> Iterator[pd.DataFrame]:
    """One JSON object per line, in pieces of some rows, or in one piece."""
    records: list[dict[str, Any]] = []
    with get_handle(path, "r", encoding=text_format.encoding or "utf-8", compression="infer") as handles:
        for number, line in enumerate(handles.handle, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{path} cannot be read as one JSON object per line: line {number}: {error}"
                ) from error
            if not isinstance(record, dict):
                raise ValueError(f"{path} must hold one JSON object per line, got another value in line {number}")
            records.append(record)
            if len(records) == rows:
                yield _to_frame(records)
                records = []
    if records or rows is None:
        yield _to_frame(records)


def _to_frame(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Records as a table in which whole numbers stay whole beside missing ones."""
    table = pd.DataFrame(records)
    for name in table.columns[table.dtypes == np.float64]:
        values = [record.get(name) for record in records]
        if all(value is None or type(value) is int for value in values) and any(value is not None for value in values):
            with suppress(OverflowError):  # more than 64 bits
                table[name] = pd.array(values, dtype="Int64")
    return table


@contextmanager
def naming(path: Path, text_format: TextFormat = AS_FOUND) -> Iterator[None]:
    """What goes wrong in reading a text file says which file it was."""
    encoding = (text_format.encoding or "utf-8").upper()
    try:
        yield
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (pd.errors.ParserError, UnicodeError, *DAMAGED) as error:
        kind = kind_of(path)[1:].upper()
        hint = ""
        if isinstance(error, UnicodeError):
            hint = ": give its encoding (--encoding latin-1 or cp1252, for many files of Europe and America)"
        raise ValueError(f"{path} cannot be read as {kind} in {encoding}: {str(error).strip()}{hint}") from error


def check_fields(path: Path, table: pd.DataFrame) -> None:
    """Rows with more fields than the header: pandas would take those in excess for row names."""
    if len(table) and not isinstance(table.index, pd.RangeIndex):
        hint = f": {SPACES}" if any(str(name).startswith(" ") for name in table.columns) else ""
        raise ValueError(f"{path} has more fields in its rows than the {len(table.columns)} in its header{hint}")


def check_numbers(path: Path, table: pd.DataFrame, text_format: TextFormat) -> None:
    """Columns of text that are numbers in another notation, or beside blanks: each would be a category of its own."""
    decimal = text_format.decimal
    for name in table.columns:
        if pd.api.types.is_numeric_dtype(table[name].dtype):
            continue
        values = table[name].dropna().unique().tolist()
        texts = [value for value in values if isinstance(value, str)]
        blank = [text for text in texts if text.startswith(" ") and text.strip() in MISSING]
        others = pd.Series([text.replace(decimal or ".", ".") for text in texts if text not in blank], dtype=object)
        if blank and len(others) and pd.to_numeric(others, errors="coerce").notna().all():
            raise ValueError(f"{path}: column {name!r} holds numbers, and {blank[0]!r} for a missing one: {SPACES}")
        odd = [text for text in texts if OTHER_NUMBER.fullmatch(text)]
        n_whole = sum(WHOLE_NUMBER.fullmatch(text) is not None for text in texts)
        if odd and len(odd) + n_whole == len(values) and decimal != ".":  # else it was said that they are text
            if decimal == ",":
                advice = "remove the dots between the thousands"
            else:
                advice = "give decimal ',' (--decimal ,), or '.' if they are text"
            raise ValueError(
                f"{path}: column {name!r} looks like numbers in another notation, such as {odd[0]!r}: {advice}"
            )


def kind_of(path: Path) -> str:
    """How a file is written, by its name."""
    kind = next((kind for suffix, kind in KINDS.items() if path.name.lower().endswith(suffix)), None)
    if kind is None:
        raise ValueError(
            f"path must end in one of {_endings()}, text files optionally packed as "
            f"{[packing for packing in PACKINGS if packing]}, got {str(path)!r}"
        )
    return kind


def existing_kind(path: Path) -> str:
    """The same of a file that has to be there."""
    kind = kind_of(path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be an existing file or a folder of files, got {str(path)!r}")
    return kind


def _endings() -> list[str]:
    return [*PACKABLE, *PARQUET, *EXCEL]


def read_parquet(path: Path, rows: int | None = None) -> Iterator[pd.DataFrame]:
    """The table of a file, in pieces of some rows, or in one piece."""
    parquet = import_parquet(path)
    import pyarrow

    try:
        if rows is None:
            yield to_pandas(parquet.read_table(path)).reset_index(drop=True)
            return
        with parquet.ParquetFile(path) as file:
            if file.metadata.num_rows == 0:  # there is no batch, but there are columns
                yield to_pandas(file.schema_arrow.empty_table())
            yield from map(to_pandas, file.iter_batches(batch_size=rows))
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def import_parquet(path: Path) -> Any:
    """pyarrow's Parquet module."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{path.name} needs pyarrow: pip install pyarrow") from error
    return pyarrow.parquet


def read_excel(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first sheet of a workbook, as its cells are and as pandas reads them.

    pandas makes numbers of text that looks like numbers, and takes text such as NA for missing.
    """
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{path.name} needs openpyxl: pip install openpyxl") from error
    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            cells = pd.read_excel(book, dtype=object, keep_default_na=False, na_values=[""])
            return cells, pd.read_excel(book)
    except (*DAMAGED, KeyError, ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as an Excel workbook: {error}") from error


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a table."""
    return str(path).lower().endswith(tuple(KINDS))
