"""Model files of versions 1 and 2 as such of version 3: from one document to another, before anything is checked."""

from __future__ import annotations

from typing import Any

from .strict_json import fail

STUMP = ("alpha", "feature", "split", "missing_left", "left_vote", "right_vote", "left_confidence", "right_confidence")


def upgraded(document: dict[str, Any], version: int) -> dict[str, Any]:
    """A document of version 1 or 2 as one of version 3. What is no sound part of it stays as it is, to be refused."""
    found = {**document, "version": 3}
    if isinstance(found.get("stumps"), list) and "trees" not in found:
        found["trees"] = [_tree(stump) for stump in found.pop("stumps")]
    if isinstance(found.get("average"), dict):
        _without_points(found)
    if version == 1 and isinstance(found.get("columns"), list):  # a category that is none of the column's was missing
        found["columns"] = [_by_old_rule(column, f"columns[{j}]") for j, column in enumerate(found["columns"])]
    return found


def _tree(stump: Any) -> Any:
    """A stump is a tree whose sides are not split."""
    if not isinstance(stump, dict) or set(stump) != set(STUMP):
        return stump
    alpha, feature, split, missing_left, *leaves = (stump[name] for name in STUMP)
    votes, confidences = ([left, left, right, right] for left, right in (leaves[:2], leaves[2:]))
    root = {"feature": feature, "split": split, "missing_left": missing_left, "gain": 0.0}
    return {"alpha": alpha, "root": root, "votes": votes, "confidences": confidences}


def _without_points(found: dict[str, Any]) -> None:
    """What was chosen for each blend of a dial is no menu: the model stays at the blend where it is.

    The first files with such points had no dial: both ends were like the fair one.
    """
    average = found["average"] = dict(found["average"])
    if average.pop("points", None) is None:
        return
    spread, shares = average.get("spread"), average.get("importances")
    if "dial" not in average:
        squares = [_squares(row) for row in spread] if isinstance(spread, list) else spread
        parts = {"spreads": [spread, spread], "covariance": squares, "importances": [shares, shares], "orders": None}
        average["dial"] = parts
    found.pop("chosen", None)


def _squares(row: Any) -> Any:
    return [x * x if type(x) in (int, float) else x for x in row] if isinstance(row, list) else row


def _by_old_rule(column: Any, where: str) -> Any:
    if not isinstance(column, dict) or "categories" not in column:
        return column
    if "others_are_missing" in column:
        fail(f"{where}.others_are_missing", "no such field in version 1", column["others_are_missing"])
    return {**column, "others_are_missing": True}
