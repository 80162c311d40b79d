"""What every command does: read its arguments, say what there is to say, end in one sentence if it cannot go on."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ._text import printable

# How the names of models and of tables end.
FILE = re.compile(r"\.(json|csv|tsv|txt|jsonl|ndjson|xlsx|parquet|pq)(\.(gz|xz|bz2|zip))?$", re.IGNORECASE)


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


def say(text: str, err: bool = False) -> None:
    """Print what may hold names and values from a file."""
    import typer

    typer.echo(printable(text), err=err)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Bad input ends in one sentence on standard error and exit code 2, not in a traceback."""
    import typer

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other libraries, to their developers
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = lambda message, *_: say(f"Warning: {message}", err=True)
            yield
    except BrokenPipeError:  # whoever reads our output has read enough, as head does
        with suppress(OSError, ValueError):  # nothing is left for Python to write when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (ValueError, TypeError, LookupError, OSError, ImportError, MemoryError) as error:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        say(f"Error: {text}", err=True)
        raise typer.Exit(2) from error
