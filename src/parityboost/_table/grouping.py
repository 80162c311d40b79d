"""What makes a group of a sensitive value: numbers cut into bands, missing values as a group of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from .sources import listed, read_sources, short


@dataclass(frozen=True)
class Grouping:
    """How sensitive columns become groups; the names are the estimator's parameters."""

    bands: Mapping[Any, Sequence[float]] | None = None
    missing_group: str | None = None

    def __post_init__(self) -> None:
        for name, values in (self.bands or {}).items():
            read_edges(name, values)  # says so if they are none

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The sensitive columns as groups; other columns stay what they are."""
        if not self.bands and self.missing_group is None:
            return frame
        edges = {str(name): read_edges(name, values) for name, values in (self.bands or {}).items()}
        names = [str(name) for name in frame.columns]
        for name in edges:
            if name not in names:
                raise ValueError(f"bands: no sensitive column is called {name!r}, only {listed(names)}")
        columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
        for j, name in enumerate(names):
            if name in edges:
                columns[j] = cut(columns[j], edges[name])
            if self.missing_group is not None:
                columns[j] = name_missing(columns[j], self.missing_group)
        result = pd.concat(columns, axis=1)
        result.columns = frame.columns
        return result


def how_to_cut(groups: Iterable[Any], names: Sequence[str]) -> str:
    """The sensitive column that holds the most different numbers, and what cuts it; empty if none holds many."""
    numbers: dict[str, int] = {}
    for j, name in enumerate(names):
        values = {group[j] if len(names) > 1 else group for group in groups}
        n = sum(isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) for value in values)
        if n > 2 and n >= len(values) - 1:  # the group of missing values has a name
            numbers[name] = n
    if not numbers:
        return ""
    name = max(numbers, key=numbers.__getitem__)
    return (
        f"sensitive attribute {name!r} has {numbers[name]} different values, each a group of its own: "
        f"bands={{{name!r}: […]}} (--bands) cuts numbers into ranges"
    )


AS_GIVEN = Grouping()  # every value is a group, and none may be missing


def read_edges(name: Any, values: Any) -> list[float]:
    """Where a column is cut."""
    numbers = [values] if isinstance(values, Real) else values
    if isinstance(numbers, str) or not isinstance(numbers, (Sequence, np.ndarray)) or not len(numbers):
        raise ValueError(f"bands: column {name!r} needs a list of numbers to cut at, such as [25, 40], got {values!r}")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Real) or not np.isfinite(float(number)):
            raise ValueError(f"bands: column {name!r} must be cut at finite numbers, got {short(number)}")
    edges = [float(number) for number in numbers]
    for before, after in pairwise(edges):
        if before >= after:
            raise ValueError(
                f"bands: column {name!r} must be cut at increasing numbers, got {before:g} before {after:g}"
            )
    return edges


def cut(column: pd.Series[Any], edges: list[float]) -> pd.Series[Any]:
    """The band of each number, as ordered categories; a number at an edge is in the band above it."""
    source = read_sources(column.to_frame())[0]
    if not source.holds_numbers:
        example = column.dropna().iloc[:1].tolist()
        raise ValueError(
            f"bands: sensitive column {column.name!r} must hold numbers to be cut, got {source.kind} values"
            + (f" such as {short(example[0])}" if example else "")
        )
    values = source.floats(slice(None))
    codes = np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))
    bands = pd.Categorical.from_codes(codes, categories=pd.Index(band_names(edges)), ordered=True)
    return pd.Series(bands, index=column.index, name=column.name)


def band_names(edges: list[float]) -> list[str]:
    """``under 25``, ``25 to under 40``, ``40 or more``."""
    written = [str(int(edge)) if edge == int(edge) else repr(edge) for edge in edges]
    between = [f"{low} to under {high}" for low, high in pairwise(written)]
    return [f"under {written[0]}", *between, f"{written[-1]} or more"]


def name_missing(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    """A column whose missing values are a group called ``name``, behind all others of ordered categories."""
    missing = column.isna()
    if (column[~missing].astype(object) == name).any():
        raise ValueError(
            f"missing_group: sensitive attribute {column.name!r} has a group called {name!r} already: use another name"
        )
    if not missing.any():
        return column
    if isinstance(column.dtype, pd.CategoricalDtype):
        filled = column if name in column.cat.categories else column.cat.add_categories([name])
        return filled.fillna(name)
    return column.astype(object).where(~missing, name)
