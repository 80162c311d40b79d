"""What every command does: read its options, say what there is to say, end in one sentence if it cannot go on."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .._choice.wishes import LimitNotMet
from .._table.values import printable
from ..datasets._formats import TextFormat

# How the names of models and of tables end.
FILE = re.compile(r"\.(json|csv|tsv|txt|jsonl|ndjson|xlsx|parquet|pq)(\.(gz|xz|bz2|zip))?$", re.IGNORECASE)
LOCAL = "local"  # a cluster on this machine, for as long as the command runs
ADDRESS = re.compile(r"^(\w+://.+|[\w.-]+:\d+)$")
# What `fit` warns of, and which parts of it the command line has other words for.
LABEL = re.compile(r"(?<=class )'([01])'|(?<=predicts )'([01])'")
PARAMETER = re.compile(
    r"\b(keep|threshold|limit|min_ratio|capacity|max_false_positive_rate|max_violation|class_weight|maximize)"
    r"=('?)([^\s,():']+)\2"
)


def command_class() -> Any:
    """What our commands are: bad input ends in one sentence, and an option takes several values at once."""
    from typer.core import TyperCommand

    class Command(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            many = {name for p in self.params if getattr(p, "multiple", False) for name in p.opts}
            return super().parse_args(ctx, spread(with_address(args), many))

        def invoke(self, ctx: Any) -> Any:
            with one_sentence():
                return super().invoke(ctx)

    return Command


def spread(args: list[str], many: set[str]) -> list[str]:
    """``--dataset a b`` as ``--dataset a --dataset b``; commas separate as well.

    A name of a file ends the list, so that ``train --sensitive sex people.csv`` has its data.
    """
    result: list[str] = []
    option: str | None = None
    fresh = False
    for arg in args:
        if not fresh and FILE.search(arg):
            option = None
        if arg.startswith("-"):
            option, fresh = (arg if arg in many else None), True
            result.append(arg)
            continue
        for value in arg.split(",") if option else [arg]:
            result += [value] if option is None or fresh else [option, value]
            fresh = False
    return result


def with_address(args: list[str]) -> list[str]:
    """``--dask`` without an address as ``--dask local``."""
    result: list[str] = []
    for arg in args:
        if result and result[-1] == "--dask" and not (ADDRESS.match(arg) or arg == LOCAL):
            result.append(LOCAL)
        result.append(arg)
    return [*result, LOCAL] if result and result[-1] == "--dask" else result


def read_bands(given: list[str] | None) -> dict[str, list[float]] | None:
    """``age=25,40,60``, the commas of which have been taken for those of a list."""
    bands: dict[str, list[float]] = {}
    name = None
    for item in given or []:
        if "=" in item:
            name, item = item.rsplit("=", 1)
            bands[name] = []
        try:
            bands[name or ""].append(float(item))
        except (KeyError, ValueError):
            raise ValueError(f"--bands must be like age=25,40,60: a column and where to cut it, got {item!r}") from None
    return bands or None


def read_format(encoding: str | None, sep: str | None, decimal: str | None) -> TextFormat:
    """How text files are written, as the user says."""
    try:
        return TextFormat(encoding, "\t" if sep in ("tab", "\\t") else sep, decimal)
    except ValueError as error:
        raise ValueError(f"--{error}") from None


def as_number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'{option} must be a number, "auto" or "per_group", got {text!r}') from None


def show_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        say(f"parityboost {__version__}")
        raise SystemExit


def stop_if(too_far: list[str]) -> None:
    """End with exit code 1 if a limit is not kept."""
    if too_far:
        say("\n".join(too_far), err=True)
        raise SystemExit(1)


def say(text: str, err: bool = False) -> None:
    """Print what may hold names and values from a file."""
    import typer

    typer.echo(printable(text), err=err)


def one_line(value: object) -> str:
    return printable(str(value), keep="")


def shortened(text: str, length: int = 80) -> str:
    """What the user typed, in a message: as Python writes it, and not all of it if it is long."""
    return repr(text) if len(text) <= length else f"{text[:length]!r}… ({len(text):,} characters)"


@contextmanager
def one_sentence() -> Iterator[None]:
    """Bad input ends in one sentence on standard error and exit code 2, not in a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other libraries, to their developers
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = lambda message, *_: say(f"Warning: {message}", err=True)
            yield
    except BrokenPipeError:  # whoever reads our output has read enough, as head does
        with suppress(OSError, ValueError):  # nothing is left for Python to write when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (ValueError, TypeError, LookupError, OSError, ImportError, MemoryError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        say(f"Error: {text}", err=True)
        raise SystemExit(2) from error


@contextmanager
def in_words_of_the_command_line(classes: Any = None) -> Iterator[None]:
    """Warnings of the block, and that limits cannot be kept, in other words.

    ``classes`` are those of the file, where it is trained on 0 and 1.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except LimitNotMet as error:
            raise ValueError(as_options(with_labels(str(error), classes))) from error
    for warning in caught:
        text = as_options(with_labels(str(warning.message), classes))
        warnings.warn(text, warning.category, stacklevel=2)


def with_labels(message: str, classes: Any) -> str:
    """The message with the labels of the file."""
    if classes is None:
        return message
    return LABEL.sub(lambda found: repr(str(classes[int(found[1] or found[2])])), message)


def as_options(message: str) -> str:
    """The message with ``--keep 0.5`` for ``keep=0.5``."""
    return PARAMETER.sub(lambda found: f"--{found[1].replace('_', '-')} {found[3]}", message)
