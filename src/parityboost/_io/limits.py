"""How large a model a file can hold."""

from __future__ import annotations

from typing import Any

from ..notions import FairnessNotion

# A file beyond these is not read: they are far above any real model, and keep what a file can ask for small. Values
# and containers are told by their commas and brackets, before they are parsed: in memory they are many times as large.
MAX_BYTES, MAX_COMMAS, MAX_CONTAINERS = 1 << 28, 10_000_000, 2_000_000
MAX_COLUMNS, MAX_ROUNDS, MAX_GROUPS, MAX_HISTORY, MAX_LIST = 200_000, 100_000, 100_000, 200_000, 200_000
MAX_VIEWS = 1_000
PER_ROUND = 30  # values in a file that do not depend on the groups, rather more than there are


def too_large(n_columns: int, n_groups: int, n_rounds: int, notion: FairnessNotion, threshold: Any) -> str | None:
    """Why a file could not hold a model of so many columns, groups and rounds; None if it could."""
    for number, most, what in (
        (n_columns, MAX_COLUMNS, "columns"),
        (n_groups, MAX_GROUPS, "groups"),
        (n_rounds, MAX_ROUNDS, "rounds"),
    ):
        if number > most:
            return f"it has {number} {what}, and a file holds at most {most}"
    costs = len(set().union(*(gap.boosts for gap in notion.gaps)))
    thresholds = 2 if threshold == "per_group" else 0  # in the history, and to go back to
    most = MAX_COMMAS // (PER_ROUND + n_groups * (costs + thresholds))
    if n_rounds > most:
        return f"with {n_groups} groups a file holds at most {most} rounds, and it may have {n_rounds}"
    return None
