"""Tables of any size, piece by piece, read as the model was trained on them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._io.atomic import naming as naming_output
from .._io.atomic import replacing
from .._table.binning import CategoricalColumn, NumericColumn
from .._table.sources import listed
from ..datasets._formats import (
    AS_FOUND,
    EXCEL,
    JSON_LINES,
    OTHER_NUMBER,
    PARQUET,
    SEPARATORS,
    TextFormat,
    check_fields,
    files_of,
    kind_of,
    naming,
    read_file,
    read_json_lines,
)
from ..datasets._table import check_columns as check_named
from ._streams import is_standard, standard_output

CHUNK_ROWS = 100_000
TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
EXCEL_ROWS = 1_048_576


def read_pieces(
    path: Path, model: Any, sensitive: list[str] | None = None, text_format: TextFormat = AS_FOUND
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Pieces of a file or folder, each as it is to be written again, as the model reads it, and its groups.

    Text is parsed twice: numbers that are only passed on keep their spelling, and numbers that the model reads are
    parsed by the same parser as in training, to the last bit.
    """
    columns = {column.name: column for column in model._ensemble.binner.columns}
    groups = sensitive or []
    for file in files_of(path):
        if kind_of(file) in SEPARATORS:
            yield from _text_pieces(file, columns, groups, model, text_format)
            continue
        for piece in _typed_pieces(file, text_format):
            check_columns(file, piece.columns, set(columns))
            check_named(piece, sensitive=groups)
            yield piece, _typed_frame(piece[list(columns)], columns), _typed_groups(piece[groups], model)


def _text_pieces(
    path: Path, columns: dict[str, Any], groups: list[str], model: Any, text_format: TextFormat
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    with naming(path, text_format):
        options = text_format.options(path)
        header = pd.read_csv(path, **options, nrows=0)
        check_columns(path, header.columns, set(columns))
        check_named(header, sensitive=groups)
        numbers = [name for name, column in columns.items() if isinstance(column, NumericColumn)]
        options |= {"chunksize": CHUNK_ROWS}
        as_text = pd.read_csv(path, **options, dtype=str, keep_default_na=False)
        as_read = pd.read_csv(path, **options, usecols=list({*columns, *groups}), dtype=str)
        typed = pd.read_csv(path, **options, usecols=numbers, dtype=dict.fromkeys(numbers, np.float64))
        with as_text, as_read, typed:
            for text in as_text:
                check_fields(path, text)
                words = next(as_read)
                frame = words[list(columns)].copy()
                try:
                    values = next(typed) if numbers else None
                except ValueError as error:
                    raise ValueError(_not_a_number(words, numbers, options["decimal"])) from error
                for name in numbers:
                    frame[name] = values[name]  # type: ignore[index]
                decimal = options["decimal"]
                yield text, _typed_frame(frame, columns, decimal), _typed_groups(words[groups], model, decimal)


def _typed_pieces(path: Path, text_format: TextFormat) -> Iterator[pd.DataFrame]:
    """Pieces of a file that says which values are numbers."""
    kind = kind_of(path)
    if kind in PARQUET:
        yield from _parquet_pieces(path)
    elif kind in JSON_LINES:
        with naming(path, text_format):
            yield from read_json_lines(path, text_format, CHUNK_ROWS)
    else:
        yield read_file(path)


def check_columns(path: Path, found: Any, wanted: set[str]) -> None:
    """All columns of the model have to be in the file; others do not matter."""
    missing = sorted(wanted - set(found))
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        names = ", ".join(map(repr, missing[:5])) + more
        raise ValueError(f"{path} lacks {names}, which the model needs; its columns are {listed(list(found))}")


def _typed_frame(frame: pd.DataFrame, columns: dict[str, Any], decimal: str = ".") -> pd.DataFrame:
    """Categories with the type they had in training: what was read as text may stand for truth values or numbers."""
    frame = frame.copy()
    for name, column in columns.items():
        if isinstance(column, CategoricalColumn):
            frame[name] = as_type_of(column.categories, frame[name], decimal)
    return frame


def _typed_groups(groups: pd.DataFrame, model: Any, decimal: str = ".") -> pd.DataFrame:
    """Groups with the type they had in training; those that were cut or missing are numbers or text again."""
    bands = {str(name) for name in model._grouping.bands or {}}
    known = [group if isinstance(group, tuple) else (group,) for group in model.groups_.tolist()]
    if groups.shape[1] and groups.shape[1] != len(known[0]):
        names = ", ".join(map(repr, groups.columns))
        raise ValueError(f"the model's groups are made of {len(known[0])} columns, --sensitive names {names}")
    groups = groups.copy()
    for j, name in enumerate(groups.columns):
        values = [group[j] for group in known if group[j] != model._grouping.missing_group]
        groups[name] = as_type_of([0.0] if name in bands else values, groups[name], decimal)
    return groups


def as_type_of(known: Sequence[Any], column: pd.Series[Any], decimal: str) -> pd.Series[Any]:
    """Values as booleans or numbers if the known ones are; what cannot be read so stays as it is."""
    if not known or isinstance(known[0], str) or pd.api.types.is_bool_dtype(column.dtype):
        return column
    if isinstance(known[0], (bool, np.bool_)):
        return column.astype(object).map(lambda value: TRUTH.get(str(value).lower(), value)).astype(object)
    numbers = _numbers(column, decimal)
    unread = numbers.isna() & column.notna()
    return numbers.astype(object).mask(unread, column) if unread.any() else numbers


def _numbers(column: pd.Series[Any], decimal: str) -> pd.Series[Any]:
    """Text as numbers, NaN where it is none."""
    if decimal == "." or pd.api.types.is_numeric_dtype(column.dtype):
        return pd.to_numeric(column, errors="coerce")
    return pd.to_numeric(column.astype(object).str.replace(decimal, ".", regex=False), errors="coerce")


def _not_a_number(words: pd.DataFrame, numbers: list[str], decimal: str) -> str:
    for name in numbers:
        bad = words[name][words[name].notna() & _numbers(words[name], decimal).isna()]
        if len(bad):
            hint = ": use --decimal ," if decimal == "." and OTHER_NUMBER.fullmatch(str(bad.iloc[0])) else ""
            return f"column {name!r} held numbers in training, got {bad.iloc[0]!r} in row {bad.index[0] + 1}{hint}"
    return "a column that held numbers in training has other values"


def _parquet_pieces(path: Path) -> Iterator[pd.DataFrame]:
    parquet = import_parquet(path)
    import pyarrow

    try:
        with parquet.ParquetFile(path) as file:
            if file.metadata.num_rows == 0:  # there is no batch, but there are columns
                yield file.schema_arrow.empty_table().to_pandas()
            for batch in file.iter_batches(batch_size=CHUNK_ROWS):
                yield batch.to_pandas()
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error


def import_parquet(path: Path) -> Any:
    """pyarrow's Parquet module."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{path.name} needs pyarrow: pip install pyarrow") from error
    return pyarrow.parquet


@contextmanager
def table_writer(
    path: Path, text_format: TextFormat = AS_FOUND, like: Path | None = None
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write a table piece by piece; the file is there once all of it is written.

    What goes to standard output is text, separated as in the file that it is ``like``.
    """
    if is_standard(path):
        source = None if like is None or like.is_dir() or kind_of(like) not in SEPARATORS else like
        separator = text_format.sep or ("," if source is None else text_format.separator(source))
        file = io.TextIOWrapper(standard_output(), encoding=text_format.encoding or "utf8", newline="")
        yield from _write_text(file, path, separator, text_format)
        file.detach()
        return
    with replacing(path) as temporary:
        kind, packing = kind_of(path), path.suffix.lower()
        if packing == ".zip":
            raise ValueError(f"a .zip file cannot be written piece by piece, got {str(path)!r}: use .gz, .xz or .bz2")
        if kind in PARQUET:
            yield from _write_parquet(temporary, path)
        elif kind in EXCEL:
            yield from _write_excel(temporary, path)
        else:
            with naming_output(path):
                file = PACKED.get(packing, open)(temporary, "wt", encoding=text_format.encoding or "utf8", newline="")
            if kind in JSON_LINES:
                yield from _write_json_lines(file, path)
            else:
                separator = text_format.sep or SEPARATORS[kind] or "\t"
                yield from _write_text(file, path, separator, text_format)


def _write_text(
    file: Any, path: Path, separator: str, text_format: TextFormat
) -> Iterator[Callable[[pd.DataFrame], None]]:
    header = True

    def write(piece: pd.DataFrame) -> None:
        nonlocal header
        options: dict[str, Any] = {"sep": separator, "decimal": text_format.decimal or ".", "lineterminator": "\n"}
        with naming_output(path), naming_characters(path, text_format):
            piece.to_csv(file, index=False, header=header, **options)
        header = False

    try:
        yield write
    finally:
        with naming_output(path):
            file.flush() if is_standard(path) else file.close()


def _write_json_lines(file: Any, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    def write(piece: pd.DataFrame) -> None:
        with naming_output(path):
            piece.to_json(file, orient="records", lines=True, force_ascii=False, double_precision=15)

    try:
        yield write
    finally:
        with naming_output(path):
            file.close()


def _write_excel(temporary: Path, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A workbook can only be written whole."""
    pieces: list[pd.DataFrame] = []
    yield pieces.append
    table = pd.concat(pieces, ignore_index=True)
    if len(table) >= EXCEL_ROWS:
        raise ValueError(f"{path}: a sheet holds {EXCEL_ROWS - 1:,} rows besides its header, got {len(table):,}")
    with naming_output(path), temporary.open("wb") as file:
        table.to_excel(file, index=False, engine="openpyxl")


@contextmanager
def naming_characters(path: Path, text_format: TextFormat) -> Iterator[None]:
    """What cannot be written in an encoding is named."""
    try:
        yield
    except UnicodeEncodeError as error:
        character = error.object[error.start : error.end]
        raise ValueError(f"{path}: {character!r} cannot be written in {text_format.encoding}") from error


def _write_parquet(temporary: Path, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    parquet = import_parquet(path)
    import pyarrow

    writer = None

    def write(piece: pd.DataFrame) -> None:
        nonlocal writer
        table = pyarrow.Table.from_pandas(piece, preserve_index=False)
        with naming_output(path):
            if writer is None:
                writer = parquet.ParquetWriter(temporary, table.schema)
            writer.write_table(table.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            with naming_output(path):
                writer.close()
