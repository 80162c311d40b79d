"""Tables of any size, piece by piece: CSV, TSV and Parquet, read as the model was trained on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._binning import CategoricalColumn, NumericColumn
from ..datasets._table import PARQUET, text_format

CHUNK_ROWS = 100_000
TRUTH = {"true": True, "false": False}


def read_pieces(path: Path, model: Any) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Pieces of a file, each as it is to be written again and as the model reads it.

    Text is parsed twice: numbers that are only passed on keep their spelling, and numbers that the model reads are
    parsed by the same parser as in training, to the last bit.
    """
    columns = {column.name: column for column in model._ensemble.binner.columns}
    if path.name.lower().endswith(PARQUET):
        for piece in _parquet_pieces(path, set(columns)):
            yield piece, _typed_frame(piece[list(columns)], columns)
        return
    separator = text_format(path)
    header = pd.read_csv(path, sep=separator, nrows=0, skipinitialspace=True).columns
    check_columns(path, header, set(columns))
    options: dict[str, Any] = {"sep": separator, "chunksize": CHUNK_ROWS}
    as_text = pd.read_csv(path, **options, dtype=str, keep_default_na=False)
    kinds = {name: np.float64 if isinstance(column, NumericColumn) else str for name, column in columns.items()}
    as_read = pd.read_csv(path, **options, usecols=list(columns), dtype=str, skipinitialspace=True)
    numbers = [name for name, kind in kinds.items() if kind is np.float64]
    typed = pd.read_csv(
        path, **options, usecols=numbers, dtype=dict.fromkeys(numbers, np.float64), skipinitialspace=True
    )
    with as_text, as_read, typed:
        for text, words in zip(as_text, as_read, strict=True):
            frame = words[list(columns)].copy()
            try:
                values = next(typed) if numbers else None
            except ValueError as error:
                raise ValueError(_not_a_number(words, numbers)) from error
            for name in numbers:
                frame[name] = values[name]  # type: ignore[index]
            yield text, _typed_frame(frame, columns)


def check_columns(path: Path, found: Any, wanted: set[str]) -> None:
    """All columns of the model have to be in the file; others do not matter."""
    missing = sorted(wanted - set(found))
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        names = ", ".join(map(repr, missing[:5])) + more
        raise ValueError(f"{path} lacks {names}, which the model needs; its columns are {', '.join(map(str, found))}")


def _typed_frame(frame: pd.DataFrame, columns: dict[str, Any]) -> pd.DataFrame:
    """Categories with the type they had in training: what was read as text may stand for truth values or numbers."""
    for name, column in columns.items():
        if not isinstance(column, CategoricalColumn) or not column.categories:
            continue
        if isinstance(column.categories[0], str) or pd.api.types.is_bool_dtype(frame[name].dtype):
            continue
        if isinstance(column.categories[0], bool):
            frame[name] = frame[name].map(lambda text: TRUTH.get(str(text).lower())).astype(object)
        else:
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame


def _not_a_number(words: pd.DataFrame, numbers: list[str]) -> str:
    for name in numbers:
        bad = words[name][words[name].notna() & pd.to_numeric(words[name], errors="coerce").isna()]
        if len(bad):
            return f"column {name!r} held numbers in training, got {bad.iloc[0]!r} in row {bad.index[0] + 1}"
    return "a column that held numbers in training has other values"


def _parquet_pieces(path: Path, wanted: set[str]) -> Iterator[pd.DataFrame]:
    parquet = import_parquet(path)
    file = parquet.ParquetFile(path)
    check_columns(path, file.schema_arrow.names, wanted)
    for batch in file.iter_batches(batch_size=CHUNK_ROWS):
        yield batch.to_pandas()


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
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if path.name.lower().endswith(PARQUET):
            yield from _write_parquet(temporary, path)
        else:
            separator = text_format(path)
            with temporary.open("w", encoding="utf8", newline="") as file:

                def write(piece: pd.DataFrame) -> None:
                    piece.to_csv(file, sep=separator, index=False, header=file.tell() == 0, lineterminator="\n")

                yield write
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write_parquet(temporary: Path, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    parquet = import_parquet(path)
    import pyarrow

    writer = None

    def write(piece: pd.DataFrame) -> None:
        nonlocal writer
        table = pyarrow.Table.from_pandas(piece, preserve_index=False)
        if writer is None:
            writer = parquet.ParquetWriter(temporary, table.schema)
        writer.write_table(table.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
