"""Prediction on the graphics card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Floats
from .._table.binning import Binner
from .._table.sources import Source, place_sources

# So many rows at a time: their codes, and one column of their values, are on the card.
PLACED_ROWS = 1 << 24


def placed_margin(
    binner: Binner, sources: list[Source], used: list[int], add: Callable[[list[Any], Any], None]
) -> Floats:
    """The margins of all rows; ``add(codes, margin)`` adds what the codes of the features in use say."""
    from .._engine.cuda import tables  # CuPy is needed only now

    sources = place_sources(sources, tables.place)
    margin = np.empty(len(sources[0]))
    for first in range(0, len(margin), PLACED_ROWS):
        rows = slice(first, min(first + PLACED_ROWS, len(margin)))
        part = tables.zeros(rows.stop - first)
        add([tables.place(binner.columns[f].encode(sources[f], rows)) for f in used], part)
        part.get(out=margin[rows])
        del part
    tables.free()
    return margin
