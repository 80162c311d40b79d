"""Weak learners as they are kept: a few numbers each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine.codes import MISSING, N_CODES


def goes_left(split: int, missing_left: bool, categorical: bool) -> NDArray[np.bool_]:
    """Whether each code of a column goes left."""
    codes = np.arange(N_CODES)
    left = codes == split if categorical else codes <= split
    left[MISSING] = missing_left
    return left


class Stump(NamedTuple):
    """A decision tree of depth one on binned data."""

    feature: int
    split: int  # numeric: bins 1…split go left; categorical: bin split goes left
    missing_left: bool
    left_vote: int  # -1 or +1
    right_vote: int
    left_confidence: float  # share of the leaf's weight that belongs to the class it votes for
    right_confidence: float

    @property
    def features(self) -> tuple[int, ...]:
        """What it asks about."""
        return (self.feature,)

    def votes(self, categorical: bool) -> NDArray[np.int8]:
        """h(x) per code of the feature's column."""
        left = goes_left(self.split, self.missing_left, categorical)
        return np.where(left, self.left_vote, self.right_vote).astype(np.int8)


class Split(NamedTuple):
    """A question that a tree asks about one column."""

    feature: int
    split: int  # as in a stump
    missing_left: bool
    gain: float  # how much purer its two sides are, weighted by their share of all weight

    def goes_left(self, categorical: bool) -> NDArray[np.bool_]:
        """Whether each code of the column goes left."""
        return goes_left(self.split, self.missing_left, categorical)


class Tree(NamedTuple):
    """A decision tree of depth two on binned data."""

    root: Split
    left: Split | None  # None: this side is one leaf
    right: Split | None
    votes: tuple[int, ...]  # of the four leaves from left to right; twice the same where a side is one leaf
    confidences: tuple[float, ...]

    @property
    def splits(self) -> list[Split]:
        """All there are, the first one first."""
        return [split for split in (self.root, self.left, self.right) if split is not None]

    @property
    def features(self) -> tuple[int, ...]:
        """What it asks about, each once."""
        return tuple(dict.fromkeys(split.feature for split in self.splits))
