"""``parityboost`` and ``python -m parityboost``: the command line, or how to get it."""

from __future__ import annotations

import sys

from ._extras import install


def main() -> None:
    """Run the command line."""
    try:
        from .cli import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"The command line needs {error.name}: {install('cli')}")
    app()


if __name__ == "__main__":
    main()
