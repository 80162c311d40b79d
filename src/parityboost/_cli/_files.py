"""What can be said of the files of a command before it does any work: no output is an input, or another output."""

from __future__ import annotations

import os
from pathlib import Path

from .._io.atomic import check_writable
from ..datasets._formats import is_table, tables_in
from ._streams import is_standard


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
            if other.is_dir():
                _check_not_in(other, option, path, name)
            elif is_same_file(path, other):
                both = f"{str(path)!r}" if str(path) == str(other) else f"{str(path)!r} and {str(other)!r}, one file,"
                raise ValueError(f"{option} must be another file than {name}, got {both} for both")
        earlier[option] = path


def _check_not_in(folder: Path, option: str, path: Path, name: str) -> None:
    """An output may lie in a folder that is read, but not replace a file of it."""
    for table in tables_in(folder):
        if is_same_file(path, table):
            raise ValueError(f"{option} must be another file than {name}, got {str(path)!r}, which is {str(table)!r}")


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two names lead to one file, also if it is not there yet."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return os.path.normcase(os.path.realpath(one)) == os.path.normcase(os.path.realpath(other))


def check_report(option: str, path: Path | None) -> None:
    """A report is a page, a model card or its data."""
    if path is None or path.suffix.lower() in (".html", ".htm", ".md", ".json"):
        return
    advice = "; a browser prints the page as PDF" if path.suffix.lower() == ".pdf" else ""
    raise ValueError(f"{option} must end in .html, .md or .json, got {str(path)!r}{advice}")


def check_model_file(command: str, path: Path, instead: str) -> None:
    """A table where a model belongs."""
    if is_table(path) or path.is_dir():
        raise ValueError(
            f"{command} takes a model file first, such as train writes, got the table {str(path)!r}: {instead}"
        )
