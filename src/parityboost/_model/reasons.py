"""Why a decision was unfavourable: how far each feature falls short of a reference. A pair belongs half to each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Codes, Floats
from .tables import Effects


@dataclass(frozen=True)
class ReasonRule:
    """What reasons are found by, the same for every row.

    Attributes
    ----------
    reference : ndarray of shape (n_features,)
        What each feature adds to the score of the reference.
    sign : int
        1 if a higher score is favourable to the person, -1 if a lower one is.
    named : tuple of int
        The features that may be named, by their positions.
    texts, codes : tuple of str
        What each feature is called, and the code that goes with it; a code may be empty.
    n : int
        How many reasons at most.
    """

    reference: Floats
    sign: int
    named: tuple[int, ...]
    texts: tuple[str, ...]
    codes: tuple[str, ...]
    n: int

    def shortfalls(self, parts: Floats) -> Floats:
        """How much each feature lowered the chances of a row, ``[row, feature]``, from what each adds to its score."""
        found: Floats = self.sign * (self.reference - parts) + 0.0
        return found

    def ranked(self, shortfalls: Floats) -> Codes:
        """The features to name in each row, ``[row, rank]``, those that lowered its score most first; -1 for none.

        Of features that lowered it as much, the first column comes first.
        """
        named = np.array(self.named, dtype=np.intp)
        own = shortfalls[:, named]
        order = np.argsort(-own, axis=1, kind="stable")[:, : self.n]
        features: Codes = np.where(np.take_along_axis(own, order, axis=1) > 0, named[order], -1)
        return features


def divided(effects: Effects, codes: Codes) -> Floats:
    """What each feature adds to the score of each row, ``[row, feature]``, its half of each pair included.

    The tables are multiples of a power of two, and so are halves of them: the sums are exact.
    """
    parts: Floats = np.array([table[code] for table, code in zip(effects.tables, codes, strict=True)])
    for pair in effects.pairs:
        half = 0.5 * pair.at(*codes[list(pair.features)])
        for feature in pair.features:
            parts[feature] += half
    return parts.T


def best(effects: Effects, n_codes: list[int], sign: int) -> Floats:
    """The most favourable that each feature can add, whatever the values of the others are."""
    found = []
    for feature, n in enumerate(n_codes):
        scores = sign * effects.tables[feature, :n]
        for pair in effects.pairs:
            if feature in pair.features:
                first = pair.features[0] == feature
                of_code = pair.scores[pair.row_of[:n]] if first else pair.scores.T[pair.column_of[:n]]
                scores = scores + (sign * 0.5 * of_code).max(axis=1)
        found.append(sign * scores.max())
    return np.array(found)
