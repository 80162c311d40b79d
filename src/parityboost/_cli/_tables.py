"""Tables of any size, piece by piece, read as the model was trained on them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._io.atomic import naming, replacing
from .._table.binning import CategoricalColumn, NumericColumn
from .._table.grouping import first_few
from .._table.values import listed, short
from ..datasets import _formats as formats
from ..datasets._formats import AS_FOUND, TextFormat
from ..datasets._table import check_columns as check_named
from ._files import OPEN, is_standard, standard_output

CHUNK_ROWS = 100_000
ROWS_TO_WRITE = 5_000  # at a time
TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
EXCEL_ROWS = 1_048_576
EXCEL_CHARACTERS = 32_767  # of a cell
UNPRINTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # what XML does not have


def columns_of(model: Any) -> dict[str, Any]:
    """What a model has learnt about each of its columns, by their names."""
    return {column.name: column for column in model.glass_box_.columns}


def read_pieces(
    path: Path, model: Any, sensitive: list[str] | None = None, text_format: TextFormat = AS_FOUND
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Pieces of a file or folder, each as it is to be written again, as the model reads it, and its groups.

    Text is parsed twice: numbers that are only passed on keep their spelling, and numbers that the model reads are
    parsed by the same parser as in training, to the last bit.
    """
    columns, groups = columns_of(model), sensitive or []
    for file in formats.files_of(path):
        if formats.kind_of(file) in formats.SEPARATORS:
            yield from _text_pieces(file, columns, groups, model, text_format)
            continue
        for piece, read in _typed_pieces(file, columns, text_format):
            check_columns(file, piece.columns, set(columns))
            check_named(piece, sensitive=groups)
            yield piece, typed_frame(read[list(columns)], columns), _typed_groups(read[groups], model)


def _text_pieces(
    path: Path, columns: dict[str, Any], groups: list[str], model: Any, text_format: TextFormat
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    with formats.naming(path, text_format):
        options = text_format.options(path)
        names = formats.header_of(path, **options)
        check_columns(path, names, set(columns))
        check_named(pd.DataFrame(columns=names), sensitive=groups)
        numbers = [name for name, column in columns.items() if isinstance(column, NumericColumn)]
        others = list({*columns, *groups} - ({*numbers} - {*groups}))
        # Text as objects: of text as pandas has it, each column would be a block of its own, and slow to handle.
        options |= {"chunksize": CHUNK_ROWS}
        as_text = pd.read_csv(path, **options, dtype=object, keep_default_na=False)
        as_read = pd.read_csv(path, **options, usecols=others, dtype=object)
        typed = pd.read_csv(path, **options, usecols=numbers, dtype=np.float64)
        with as_text, as_read, typed:
            for text in as_text:
                formats.check_fields(path, text)
                words = next(as_read) if others else text[[]]
                try:
                    values = next(typed) if numbers else text[[]]
                except ValueError as error:
                    raise ValueError(_not_a_number(path, options, numbers)) from error
                frame = pd.concat([values, words.drop(columns=values.columns, errors="ignore")], axis=1)
                decimal = options["decimal"]
                yield text, typed_frame(frame, columns, decimal), _typed_groups(words[groups], model, decimal)


def _typed_pieces(
    path: Path, columns: dict[str, Any], text_format: TextFormat
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Pieces of a file that says which values are numbers: as they are, and as they are read."""
    kind = formats.kind_of(path)
    if kind in formats.EXCEL:
        cells, read = formats.read_excel(path)
        for name in read.columns:  # codes such as 00456 are text where the file says so; NA is missing everywhere
            if not isinstance(columns.get(name), NumericColumn):
                read[name] = cells[name].where(read[name].notna())
        yield cells, read
        return
    with formats.naming(path, text_format):
        pieces = (
            formats.read_parquet(path, CHUNK_ROWS)
            if kind in formats.PARQUET
            else formats.read_json_lines(path, text_format, CHUNK_ROWS)
        )
        for piece in pieces:
            yield piece, piece


def check_columns(path: Path, found: Any, wanted: set[str]) -> None:
    """All columns of the model have to be in the file; others do not matter."""
    missing = sorted(wanted - set(found))
    if missing:
        names, hint = first_few(list(map(repr, missing))), formats.hint_at_spaces(missing, found)
        raise ValueError(f"{path} lacks {names}, which the model needs; its columns are {listed(list(found))}{hint}")


def typed_frame(frame: pd.DataFrame, columns: dict[str, Any], decimal: str = ".") -> pd.DataFrame:
    """Categories with the type they had in training: text may stand for truth values or numbers, or the reverse."""
    typed = {}
    for name, column in columns.items():
        if isinstance(column, CategoricalColumn):
            typed[name] = as_type_of(column.categories, frame[name], decimal, column.mixed)
            _check_spaces(column, typed[name])
    rest = frame[[name for name in columns if name not in typed]]
    return pd.concat([rest, pd.DataFrame(typed, index=frame.index, copy=False)], axis=1)[list(columns)]


def _check_spaces(column: CategoricalColumn, values: pd.Series[Any]) -> None:
    """Whether all values are new only because of the spaces around them; some that are new are fine."""
    found = dict.fromkeys(value for value in values.tolist() if isinstance(value, str))
    if not set(column.categories).isdisjoint(found):
        return
    known = {text.strip(): text for text in column.categories if isinstance(text, str)}
    for text in found:
        if text.strip() in known:
            raise ValueError(
                f"column {column.name!r} has {short(text)}, and the model knows {short(known[text.strip()])}: "
                + (formats.SPACES if text.startswith(" ") else "write it with the spaces that it had in training")
            )


def _typed_groups(groups: pd.DataFrame, model: Any, decimal: str = ".") -> pd.DataFrame:
    """Groups with the type they had in training; those that were cut or missing are numbers or text again."""
    bands = {str(name) for name in model.about_.grouping.bands or {}}
    known = [group if isinstance(group, tuple) else (group,) for group in model.groups_.tolist()]
    n_known, source = len(known[0]), model.about_.source
    is_needed = source is not None and not source.columns
    if groups.shape[1] > n_known or (is_needed and 0 < groups.shape[1] < n_known):
        names = ", ".join(map(repr, groups.columns))
        raise ValueError(f"the model's groups are made of {n_known} columns, --sensitive names {names}")
    groups = groups.copy()
    for j, name in enumerate(groups.columns):
        # One of several columns stays as the file has it: which of them it is the model does not know.
        of_column = [group[j] for group in known] if groups.shape[1] == n_known else []
        values = [value for value in of_column if value != model.about_.grouping.missing_group]
        groups[name] = as_type_of([0.0] if name in bands else values, groups[name], decimal)
    return groups


def as_type_of(known: Sequence[Any], column: pd.Series[Any], decimal: str, mixed: bool = False) -> pd.Series[Any]:
    """Values as booleans, numbers or text, whatever the known ones are; what cannot be read so stays as it is.

    ``mixed`` if there were text and numbers, though those that are known may all be of one kind.
    """
    kinds = {
        bool if isinstance(value, (bool, np.bool_)) else str if isinstance(value, str) else float for value in known
    }
    if len(kinds) == 1 and str not in kinds and not mixed:
        if pd.api.types.is_bool_dtype(column.dtype):
            return column
        if kinds == {bool}:
            return column.astype(object).map(lambda value: TRUTH.get(str(value).lower(), value)).astype(object)
        numbers = _numbers(column, decimal)
        unread = numbers.isna() & column.notna()
        return numbers.astype(object).mask(unread, column) if unread.any() else numbers
    if not kinds or (kinds == {str} and pd.api.types.infer_dtype(column, skipna=True) == "string"):
        return column
    spelt = KnownValues(known, str(column.name), decimal)
    values = column.tolist()
    found = list(map(spelt.find, values))
    if all(one is other for one, other in zip(found, values, strict=True)):
        return column
    return pd.Series(found, index=column.index, name=column.name, dtype=object)


class KnownValues:
    """Values of which some are text, such as the codes 1, 2, A and 07: one file has 1 as a number, another as text."""

    def __init__(self, known: Sequence[Any], name: str, decimal: str) -> None:
        self.name, self.decimal = name, decimal
        self.known = {(type(value) is bool, value) for value in known}
        self.texts = {value for value in known if isinstance(value, str)}
        self.by_writing = {
            text: value for value in known if not isinstance(value, str) for text in formats.writings(value)
        }
        texts = sorted(self.texts)
        numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
        self.by_number = dict(zip(numbers.tolist(), texts, strict=True))

    def find(self, value: Any) -> Any:
        """The known value that a value stands for, or the value itself if it is none of them."""
        if not isinstance(value, (str, bool, int, float)) or value != value:  # missing, or what is refused later
            return value
        if (isinstance(value, bool), value) in self.known:
            return value
        if isinstance(value, str):
            return self.by_writing.get(value.replace(self.decimal, "."), value)
        text = next((text for text in formats.writings(value) if text in self.texts), None)
        if text is None and not isinstance(value, bool) and value in self.by_number:
            raise ValueError(
                f"column {self.name!r} has the number {value!r}, and the model knows the text "
                f"{self.by_number[value]!r}: make it text, as it was in training"
            )
        return value if text is None else text


def _numbers(column: pd.Series[Any], decimal: str) -> pd.Series[Any]:
    """Text as numbers, NaN where it is none."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    if decimal != ".":
        column = column.astype(object).str.replace(decimal, ".", regex=False)
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.dtype.kind == "f" and (numbers.abs() >= formats.LARGEST_WHOLE).any():  # whole ones stay whole
        return pd.to_numeric(column, errors="coerce", dtype_backend="numpy_nullable")
    return numbers


def _not_a_number(path: Path, options: dict[str, Any], numbers: list[str]) -> str:
    """Which value of a text file is none of the numbers that the model was trained on."""
    decimal = options["decimal"]
    with pd.read_csv(path, **options, usecols=numbers, dtype=object) as pieces:
        for words in pieces:
            for name in numbers:
                bad = words[name][words[name].notna() & _numbers(words[name], decimal).isna()]
                if len(bad):
                    hint = (
                        ": use --decimal ,"
                        if decimal == "." and formats.OTHER_NUMBER.fullmatch(str(bad.iloc[0]))
                        else ""
                    )
                    hint = f": {formats.SPACES}" if str(bad.iloc[0]).startswith(" ") else hint
                    row = bad.index[0] + 1
                    return f"column {name!r} held numbers in training, got {bad.iloc[0]!r} in row {row}{hint}"
    return "a column that held numbers in training has other values"


@contextmanager
def table_writer(
    path: Path, text_format: TextFormat = AS_FOUND, like: Path | None = None
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write a table piece by piece; the file is there once all of it is written.

    What goes to standard output is text, separated as in the file that it is ``like``.
    """
    encoding, kind = text_format.encoding or "utf8", ".csv"
    if is_standard(path):
        source = None if like is None or like.is_dir() or formats.kind_of(like) not in formats.SEPARATORS else like
        separator = text_format.delimiter or ("," if source is None else text_format.separator(source))
        file: Any = io.TextIOWrapper(standard_output(), encoding=encoding, newline="")
        yield from _write_lines(file, path, kind, separator, text_format)
        file.detach()
        return
    with replacing(path) as temporary:
        kind, packing = formats.kind_of(path), path.suffix.lower()
        if packing == ".zip":
            raise ValueError(f"a .zip file cannot be written piece by piece, got {str(path)!r}: use .gz, .xz or .bz2")
        if kind in formats.PARQUET:
            yield from _write_parquet(temporary, path)
        elif kind in formats.EXCEL:
            yield from _write_excel(temporary, path)
        else:
            with naming(path):
                file = OPEN.get(packing, open)(temporary, "wt", encoding=encoding, newline="")
            separator = text_format.delimiter or formats.SEPARATORS.get(kind) or "\t"
            yield from _write_lines(file, path, kind, separator, text_format)


def _write_lines(
    file: Any, path: Path, kind: str, separator: str, text_format: TextFormat
) -> Iterator[Callable[[pd.DataFrame], None]]:
    options: dict[str, Any] = {"sep": separator, "decimal": text_format.decimal or ".", "lineterminator": "\n"}
    options |= {"index": False, "header": True}

    def write(piece: pd.DataFrame) -> None:
        lines = _json_lines(piece, path) if kind in formats.JSON_LINES else None
        try:
            with naming(path):
                if lines is not None:
                    file.writelines(lines)
                else:  # pandas writes so few rows of many columns at a time that each column's costs recur without end
                    piece.to_csv(file, chunksize=ROWS_TO_WRITE, **options)
        except UnicodeEncodeError as error:
            character = error.object[error.start : error.end]
            raise ValueError(f"{path}: {character!r} cannot be written in {text_format.encoding}") from error
        options["header"] = False

    try:
        yield write
    finally:
        with naming(path):
            file.flush() if is_standard(path) else file.close()


def _json_lines(piece: pd.DataFrame, path: Path) -> list[str]:
    """An object per row; numbers to the last bit, which pandas would round to 15 digits, and times as in ISO 8601."""
    names = [str(name) for name in piece.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: the columns of JSON lines must have different names, got {listed(names)}")
    columns = [piece.iloc[:, j].astype(object) for j in range(len(names))]
    values = [column.where(column.notna(), None).tolist() for column in columns]
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_as_json).encode
    try:
        return [encode(dict(zip(names, row, strict=True))) + "\n" for row in zip(*values, strict=True)]
    except (TypeError, ValueError):
        for name, column in zip(names, values, strict=True):
            for value in column:
                try:
                    encode(value)
                except (TypeError, ValueError):
                    raise ValueError(
                        f"{path}: JSON cannot hold {value!r} of column {name!r}: write .csv or .parquet"
                    ) from None
        raise


def _as_json(value: Any) -> Any:
    """What JSON has no value for, as a list or text: arrays, times and decimal numbers."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Decimal):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError


def _write_excel(temporary: Path, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A workbook can only be written whole."""
    pieces: list[pd.DataFrame] = []
    yield pieces.append
    table = pd.concat(pieces, ignore_index=True)
    if len(table) >= EXCEL_ROWS:
        raise ValueError(f"{path}: a sheet holds {EXCEL_ROWS - 1:,} rows besides its header, got {len(table):,}")
    _check_cells(path, table)
    # In memory first: an archive that the disk has no room for would still try to write its end when it is freed.
    workbook = io.BytesIO()
    with naming(path), pd.ExcelWriter(workbook, engine="openpyxl") as book:
        table.to_excel(book, index=False)
        for cell in chain.from_iterable(next(iter(book.sheets.values())).iter_rows()):
            if cell.value == "":
                cell.value = None  # missing, as in a text file
            elif isinstance(cell.value, int) and abs(cell.value) > formats.LARGEST_WHOLE:  # which Excel would round
                cell.value = str(cell.value)
            elif isinstance(cell.value, str) and cell.data_type != "s":  # taken for a formula or an error
                cell.data_type, cell.quotePrefix = "s", True
    with naming(path), temporary.open("wb") as file:
        file.write(workbook.getbuffer())


def _check_cells(path: Path, table: pd.DataFrame) -> None:
    """What a cell cannot hold is named by its column; it would be cut off, or end in an error without a name."""
    for name, column in table.items():
        texts = [name, *(column if column.dtype.kind == "O" else ())]
        for text in (value for value in texts if isinstance(value, str)):
            if len(text) > EXCEL_CHARACTERS:
                raise ValueError(
                    f"{path}: column {short(name)} has a text of {len(text):,} characters, and a cell holds "
                    f"{EXCEL_CHARACTERS:,}: write .csv"
                )
            if UNPRINTED.search(text):
                raise ValueError(
                    f"{path}: column {short(name)} has {short(text)}, and a cell holds no control characters: "
                    "write .csv"
                )


def _write_parquet(temporary: Path, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    parquet = formats.import_parquet(path)
    import pyarrow

    writer = None

    def as_arrow(piece: pd.DataFrame) -> Any:
        """With the types of the first piece; of several columns that do not have them the first is named."""
        try:
            table = pyarrow.Table.from_pandas(piece, preserve_index=False)
            return table if writer is None else table.cast(pyarrow.schema(map(writer.schema.field, table.column_names)))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
            if piece.shape[1] > 1:
                for j in range(piece.shape[1]):
                    as_arrow(piece.iloc[:, [j]])
            raise ValueError(
                f"{path}: column {short(piece.columns[0])} has values of several types, and one of Parquet has one: "
                f"write .csv or .jsonl ({error.args[0]})"
            ) from error

    def write(piece: pd.DataFrame) -> None:
        nonlocal writer
        table = as_arrow(piece)
        with naming(path):
            if writer is None:
                writer = parquet.ParquetWriter(temporary, table.schema)
            writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            with naming(path):
                writer.close()
