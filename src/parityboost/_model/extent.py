"""Where the values of a feature lie: what a picture of its step function shows beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._table.sources import Source, read_sources
from .shapes import ShapeFunction


def feature_source(model: Any, feature: str, X: Any) -> Source:
    """The feature's column of X, if X is as in training."""
    columns, sources = model._ensemble.binner.columns, read_sources(model._read_new(X))
    position = [column.name for column in columns].index(feature)
    columns[position].check(sources[position])
    columns[position].encode(sources[position], slice(None))  # refuses infinity, as predicting does
    return sources[position]


def drawn_range(thresholds: tuple[float, ...], present: Any) -> tuple[float, float]:
    """What part of a number line to draw: all steps, and the data but for the far ends of its tails."""
    ends = [*thresholds, *(np.quantile(present, [0.01, 0.99]) if len(present) else ())]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    pad = 0.08 * (high - low) or 0.08 * abs(low) or 1.0
    if len(present) and present.min() < present.max():  # no further than there is data, or a step
        return max(low - pad, min(low, present.min())), min(high + pad, max(high, present.max()))
    return low - pad, high + pad


def bin_edges(present: Any, low: float, high: float) -> Any:
    """About forty bins; of integers, each holds as many different ones as the others."""
    if (present != np.round(present)).any():
        return np.linspace(low, high, 41)
    width = np.ceil((high - low) / 40)
    return np.arange(np.floor(low) - 0.5, high + width, width)


def category_shares(function: ShapeFunction, source: Source) -> list[float]:
    """Share of each category, of all other ones, and of missing values."""
    codes, found = source.factorized(slice(None))
    missing, *counts = np.bincount(codes + 1, minlength=len(found) + 1).tolist()
    by_value = dict(zip(found.tolist(), counts, strict=True))
    known = [by_value.get(category, 0) for category in function.categories]
    return [count / len(codes) for count in (*known, sum(counts) - sum(known), missing)]
