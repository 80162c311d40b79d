"""The files of a command: what can be said of them before it does any work, and standard input and output as ``-``."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .._io.atomic import check_writable
from ..datasets._files import DAMAGED
from ..datasets._formats import is_table, tables_in

STANDARD = "-"
# How files of some kinds start; what is none of them is text.
STARTS = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx", b"{": ".jsonl"}
PACKED: dict[bytes, str] = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz"}
OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
LONGEST_START = 4096


def check_files(inputs: dict[str, Path | None], outputs: dict[str, Path | None]) -> None:
    """Every output can be written and is a file of its own; ``inputs`` and ``outputs`` are by what the user calls them.

    An input may be a folder: then it is all the tables in it.

    Raises
    ------
    ValueError
        If two of them are one file, by whatever names and links, or an output is no file.
    """
    earlier = {name: path for name, path in inputs.items() if path is not None and not is_standard(path)}
    standard = [option for option, path in outputs.items() if is_standard(path)]
    if len(standard) > 1:
        raise ValueError(f"standard output (-) can be one file only, got it for {' and '.join(standard)}")
    for option, path in outputs.items():
        if path is None or is_standard(path):
            continue
        if path.is_dir():
            raise ValueError(f"{option} must be a file, got the folder {str(path)!r}")
        try:
            check_writable(path)
        except OSError as error:
            raise ValueError(f"{option}: {error}") from error
        for name, other in earlier.items():
            # An output may lie in a folder that is read, but not replace a table of it.
            for file in tables_in(other) if other.is_dir() else [other]:
                if is_same_file(path, file):
                    got = f"{str(path)!r} and {str(file)!r}, one file, for both"
                    got = f"{str(path)!r}, which is {str(file)!r}" if file is not other else got
                    got = f"{str(path)!r} for both" if str(path) == str(file) else got
                    raise ValueError(f"{option} must be another file than {name}, got {got}")
        earlier[option] = path


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two names lead to one file, also if it is not there yet."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


def check_model_file(command: str, path: Path, instead: str) -> None:
    if is_table(path) or path.is_dir():
        raise ValueError(
            f"{command} takes a model file first, such as train writes, got the table {str(path)!r}: {instead}"
        )


def is_standard(path: Path | None) -> bool:
    return path is not None and str(path) == STANDARD


def standard_output() -> Any:
    sys.stdout.flush()
    return sys.stdout.buffer


@contextmanager
def as_files(**paths: Path | None) -> Iterator[dict[str, Any]]:
    """The same paths, with standard input kept in a file while it is needed: it may have to be read more than once."""
    standard = [name for name, path in paths.items() if is_standard(path)]
    if len(standard) > 1:
        raise ValueError(f"standard input (-) can be one file only, got it for {' and '.join(standard)}")
    if not standard:
        yield paths
        return
    with TemporaryDirectory() as folder:
        file = _keep(Path(folder), ".json" if standard == ["model"] else None)
        try:
            yield {**paths, standard[0]: file}
        except (ValueError, OSError) as error:  # the user knows nothing of that file
            if str(file) not in str(error):
                raise
            raise ValueError(str(error).replace(str(file), "standard input")) from error


def _keep(folder: Path, suffix: str | None) -> Path:
    """Standard input in a file whose name says what it is."""
    file = folder / "stdin"
    with file.open("wb") as target:
        shutil.copyfileobj(sys.stdin.buffer, target)
    with file.open("rb") as stored:
        start = stored.read(LONGEST_START)
    if not start:
        raise ValueError("standard input is empty")
    packing = next((packing for begin, packing in PACKED.items() if start.startswith(begin)), "")
    if packing:
        with suppress(*DAMAGED), OPEN[packing](file, "rb") as unpacked:  # what is damaged is told when it is read
            start = unpacked.read(LONGEST_START)
    if suffix is None:
        suffix = next((kind for begin, kind in STARTS.items() if start.lstrip().startswith(begin)), ".txt")
    return file.rename(folder / f"stdin{suffix}{packing}")
