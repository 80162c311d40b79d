"""Standard input and output under the name ``-``."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..datasets._files import DAMAGED

STANDARD = "-"
# How files of some kinds start; what is none of them is text.
STARTS = {
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".xlsx",
    b"{": ".jsonl",
}
PACKED: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": (".gz", gzip.open),
    b"BZh": (".bz2", bz2.open),
    b"\xfd7zXZ": (".xz", lzma.open),
}


LONGEST_START = 4096


def is_standard(path: Path | None) -> bool:
    """Whether standard input or output is meant."""
    return path is not None and str(path) == STANDARD


def standard_output() -> Any:
    """The bytes of standard output."""
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
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        file = _keep(folder, ".json" if standard == ["model"] else None)
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
    packing, opened = next((packed for begin, packed in PACKED.items() if start.startswith(begin)), ("", open))
    if packing:
        with suppress(*DAMAGED), opened(file, "rb") as unpacked:  # what is damaged is told when it is read
            start = unpacked.read(LONGEST_START)
    if suffix is None:
        suffix = next((kind for begin, kind in STARTS.items() if start.lstrip().startswith(begin)), ".txt")
    return file.rename(folder / f"stdin{suffix}{packing}")
