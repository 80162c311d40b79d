"""Options of the command line that are more than a word or a number."""

from __future__ import annotations

import re

from ..datasets._formats import TextFormat

# How the names of models and of tables end.
FILE = re.compile(r"\.(json|csv|tsv|txt|jsonl|ndjson|xlsx|parquet|pq)(\.(gz|xz|bz2|zip))?$", re.IGNORECASE)


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
    """An option that is a number or one of some words."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'{option} must be a number, "auto" or "per_group", got {text!r}') from None


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
