"""Weak learners as they are kept: a few numbers each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
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
    left_vote: float  # -1 or +1, or any number: then it has its weight in it
    right_vote: float
    left_confidence: float  # share of the leaf's weight that belongs to the class it votes for
    right_confidence: float

    @property
    def features(self) -> tuple[int, ...]:
        """What it asks about."""
        return (self.feature,)

    @property
    def size(self) -> float:
        """How far it moves a margin, about."""
        return (abs(self.left_vote) + abs(self.right_vote)) / 2.0

    def votes(self, categorical: bool) -> Floats:
        """h(x) per code of the feature's column."""
        left = goes_left(self.split, self.missing_left, categorical)
        votes: Floats = np.where(left, float(self.left_vote), float(self.right_vote))
        return votes


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
    votes: tuple[float, ...]  # of the four leaves from left to right; twice the same where a side is one leaf
    confidences: tuple[float, ...]

    @property
    def size(self) -> float:
        """How far it moves a margin, about."""
        return sum(map(abs, self.votes)) / len(self.votes)

    @property
    def splits(self) -> list[Split]:
        """All there are, the first one first."""
        return [split for split in (self.root, self.left, self.right) if split is not None]

    @property
    def features(self) -> tuple[int, ...]:
        """What it asks about, each once."""
        return tuple(dict.fromkeys(split.feature for split in self.splits))
