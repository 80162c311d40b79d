"""Weak learners as they are kept: a few numbers each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine.codes import MISSING, N_CODES


class Stump(NamedTuple):
    """A decision tree of depth one on binned data."""

    feature: int
    split: int  # numeric: bins 1…split go left; categorical: bin split goes left
    missing_left: bool
    left_vote: int  # -1 or +1
    right_vote: int
    left_confidence: float  # share of the leaf's weight that belongs to the class it votes for
    right_confidence: float

    def votes(self, categorical: bool) -> NDArray[np.int8]:
        """h(x) per code of the feature's column."""
        codes = np.arange(N_CODES)
        left = codes == self.split if categorical else codes <= self.split
        left[MISSING] = self.missing_left
        return np.where(left, self.left_vote, self.right_vote).astype(np.int8)
