"""Probabilities from margins: a rising function of a few straight pieces, learnt from rows that were held out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._choice.menu import Menu

MAX_BINS = 100  # of about equal weight, each of which is one point to go through


class Calibrator(NamedTuple):
    """``intercepts[k] + slopes[k] * margin`` where k edges lie below the margin."""

    edges: Floats
    intercepts: Floats
    slopes: Floats

    @classmethod
    def fit(cls, margins: Floats, positive: NDArray[np.bool_], weight: Floats) -> Calibrator:
        """Isotonic regression of the classes on the margins, drawn through the means of bins."""
        w = weight if len(weight) else np.ones(len(margins))
        order = np.lexsort((positive, w, margins))  # an order of its own: the rows' order must not change a bit
        x, y, w = margins[order], positive[order].astype(np.float64), w[order]
        starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        # Equal margins are one: the bin is that of the middle of their weight.
        of_each = np.add.reduceat(w, starts)
        middle = (np.cumsum(of_each) - 0.5 * of_each) / of_each.sum()
        bins = np.minimum((MAX_BINS * middle).astype(np.intp), MAX_BINS - 1)
        bins = np.repeat(bins, np.diff(np.append(starts, len(x))))
        mass = np.bincount(bins, w, minlength=MAX_BINS).astype(np.float64)
        used = mass > 0
        centres = np.bincount(bins, w * x, minlength=MAX_BINS)[used] / mass[used]
        shares = _rising(np.bincount(bins, w * y, minlength=MAX_BINS)[used] / mass[used], mass[used])
        # Straight between these points, and level beyond them.
        slopes = np.concatenate([[0.0], np.diff(shares) / np.diff(centres), [0.0]])
        intercepts = np.concatenate([shares[:1], shares[:-1] - slopes[1:-1] * centres[:-1], shares[-1:]])
        return cls(centres, intercepts, slopes)

    def at(self, margins: Floats) -> Floats:
        """The probability of the positive class."""
        piece = np.searchsorted(self.edges, margins)  # how many edges lie below
        probabilities: Floats = np.clip(self.intercepts[piece] + self.slopes[piece] * margins, 0.0, 1.0)
        return probabilities


def calibrator_of(menu: Menu, stage: int) -> Calibrator:
    """From the counts between the thresholds of a stage."""
    middles, weight = menu.bins(stage)
    weight = weight.reshape(len(weight), 2, -1).sum(axis=-1)
    used = weight > 0
    classes = np.broadcast_to([False, True], weight.shape)
    return Calibrator.fit(np.repeat(middles[:, None], 2, axis=1)[used], classes[used], weight[used])


def _rising(values: Floats, mass: Floats) -> Floats:
    """The rising values closest to these by weighted squares: neighbours that fall are pooled."""
    pooled: list[tuple[float, float, int]] = []  # mean, mass, number of values
    for value, weight in zip(values.tolist(), mass.tolist(), strict=True):
        pooled.append((value, weight, 1))
        while len(pooled) > 1 and pooled[-2][0] >= pooled[-1][0]:
            (a, m, i), (b, n, j) = pooled[-2:]
            pooled[-2:] = [((a * m + b * n) / (m + n), m + n, i + j)]
    return np.repeat([mean for mean, _, _ in pooled], [n for _, _, n in pooled])
