"""Tables of any size, piece by piece: CSV, TSV and Parquet, read as the model was trained on them."""

from __future__ import annotations

import bz2
import gzip
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
from ..datasets._table import PARQUET, check_fields, naming, separator_by_name, text_format
from ..datasets._table import check_columns as check_named

CHUNK_ROWS = 100_000
TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def read_pieces(
    path: Path, model: Any, sensitive: list[str] | None = None
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Pieces of a file, each as it is to be written again, as the model reads it, and its groups.

    Text is parsed twice: numbers that are only passed on keep their spelling, and numbers that the model reads are
    parsed by the same parser as in training, to the last bit.
    """
    columns = {column.name: column for column in model._ensemble.binner.columns}
    groups = sensitive or []
    if path.name.lower().endswith(PARQUET):
        for piece in _parquet_pieces(path, set(columns)):
            check_named(piece, sensitive=groups)
            yield piece, _typed_frame(piece[list(columns)], columns), _typed_groups(piece[groups], model)
        return
    with naming(path):
        options: dict[str, Any] = {"sep": text_format(path), "skipinitialspace": True}
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
                    raise ValueError(_not_a_number(words, numbers)) from error
                for name in numbers:
                    frame[name] = values[name]  # type: ignore[index]
                yield text, _typed_frame(frame, columns), _typed_groups(words[groups], model)


def check_columns(path: Path, found: Any, wanted: set[str]) -> None:
    """All columns of the model have to be in the file; others do not matter."""
    missing = sorted(wanted - set(found))
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        names = ", ".join(map(repr, missing[:5])) + more
        raise ValueError(f"{path} lacks {names}, which the model needs; its columns are {listed(list(found))}")


def _typed_frame(frame: pd.DataFrame, columns: dict[str, Any]) -> pd.DataFrame:
    """Categories with the type they had in training: what was read as text may stand for truth values or numbers."""
    typed = {
        name: _as_type_of(column.categories, frame[name])
        for name, column in columns.items()
        if isinstance(column, CategoricalColumn)
    }
    return frame.assign(**typed)


def _typed_groups(groups: pd.DataFrame, model: Any) -> pd.DataFrame:
    """Groups with the type they had in training."""
    known = [group if isinstance(group, tuple) else (group,) for group in model.groups_.tolist()]
    if groups.shape[1] and groups.shape[1] != len(known[0]):
        names = ", ".join(map(repr, groups.columns))
        raise ValueError(f"the model's groups are made of {len(known[0])} columns, --sensitive names {names}")
    return groups.assign(
        **{name: _as_type_of([group[j] for group in known], groups[name]) for j, name in enumerate(groups.columns)}
    )


def _as_type_of(known: Sequence[Any], column: pd.Series[Any]) -> pd.Series[Any]:
    """Values as booleans or numbers if the known ones are; what cannot be read so stays as it is."""
    if not known or isinstance(known[0], str) or pd.api.types.is_bool_dtype(column.dtype):
        return column
    if isinstance(known[0], (bool, np.bool_)):
        return column.astype(object).map(lambda value: TRUTH.get(str(value).lower(), value)).astype(object)
    numbers = pd.to_numeric(column, errors="coerce")
    unread = numbers.isna() & column.notna()
    return numbers.astype(object).mask(unread, column) if unread.any() else numbers


def _not_a_number(words: pd.DataFrame, numbers: list[str]) -> str:
    for name in numbers:
        bad = words[name][words[name].notna() & pd.to_numeric(words[name], errors="coerce").isna()]
        if len(bad):
            return f"column {name!r} held numbers in training, got {bad.iloc[0]!r} in row {bad.index[0] + 1}"
    return "a column that held numbers in training has other values"


def _parquet_pieces(path: Path, wanted: set[str]) -> Iterator[pd.DataFrame]:
    parquet = import_parquet(path)
    import pyarrow

    try:
        with parquet.ParquetFile(path) as file:
            check_columns(path, file.schema_arrow.names, wanted)
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
def table_writer(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write a table piece by piece; the file is there once all of it is written."""
    with replacing(path) as temporary:
        if path.name.lower().endswith(PARQUET):
            yield from _write_parquet(temporary, path)
        else:
            yield from _write_text(temporary, path)


def _write_text(temporary: Path, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    separator, packing = separator_by_name(path), path.suffix.lower()
    if packing == ".zip":
        raise ValueError(f"a .zip file cannot be written piece by piece, got {str(path)!r}: use .gz, .xz or .bz2")
    open_text: Any = PACKED.get(packing, open)
    with naming_output(path):
        file = open_text(temporary, "wt", encoding="utf8", newline="")
    header = True

    def write(piece: pd.DataFrame) -> None:
        nonlocal header
        with naming_output(path):
            piece.to_csv(file, sep=separator, index=False, header=header, lineterminator="\n")
        header = False

    try:
        yield write
    finally:
        with naming_output(path):
            file.close()


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
