"""What every command does: read its arguments, say what there is to say, end in one sentence if it cannot go on."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .._table.values import printable
from ._dask import with_address
from ._options import spread


def list_options() -> Any:
    """A kind of command whose repeated options take several values at once: ``--dataset adult bank``."""
    from typer.core import TyperCommand

    class ListOptions(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            many = {name for p in self.params if getattr(p, "multiple", False) for name in p.opts}
            return super().parse_args(ctx, spread(with_address(args), many))

    return ListOptions


def show_version(wanted: bool) -> None:
    """Print the version and end, if asked to."""
    import typer

    if wanted:
        from .. import __version__

        typer.echo(f"parityboost {__version__}")
        raise typer.Exit


def stop_if(too_far: list[str]) -> None:
    """End with exit code 1 if a limit is not kept."""
    import typer

    if too_far:
        say("\n".join(too_far), err=True)
        raise typer.Exit(1)


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
