"""``parityboost`` and ``python -m parityboost``: the command line, or how to get it."""

from __future__ import annotations

import sys

from ._extras import install

INTERRUPTED = 130  # the exit code of shells, 128 and the number of the signal


def main() -> None:
    """Run the command line."""
    try:
        from .cli import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"The command line needs {error.name}: {install('cli')}")
    except KeyboardInterrupt:  # while modules are imported; later on typer does the same
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
