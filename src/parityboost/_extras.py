"""What an optional part of the package needs, in words that pip can follow wherever the package came from."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires


def install(extra: str) -> str:
    """The command that installs what an extra needs."""
    try:
        found = requires("parityboost") or []
    except PackageNotFoundError:  # run from its source without being installed
        found = []
    wanted = [line.split(";")[0].strip() for line in found if re.search(rf"extra == ['\"]{extra}['\"]", line)]
    return "pip install " + " ".join(f'"{requirement}"' for requirement in wanted or [f"parityboost[{extra}]"])
