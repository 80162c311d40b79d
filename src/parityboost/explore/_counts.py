"""Scores to the record of an explorer: what every cut-off of every model gives to each group, as whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._stats.intervals import Rates, largest_difference

PARTS = 10_000_000  # of all weight: weighted counts are whole numbers of these, as others are of rows
# Of which people each rate is a share: 1 are those whom a yes is right for, 0 the others.
RATES = {"found": [1], "wrong": [0], "yes": [0, 1]}
Record = dict[str, Any]


class People(NamedTuple):
    """Who is counted: whom a yes is right for, the group of each, and what each weighs."""

    right: NDArray[np.bool_]
    group: NDArray[np.intp]
    names: list[str]
    weight: Floats | None


class Scored(NamedTuple):
    """A model, as far as the explorer knows it."""

    name: str
    scores: Floats
    own: float | None  # the cut-off that it has by itself
    goal: str  # what it was trained to make equal: "found", "wrong", "yes", "both" or nothing
    python: str  # the line that makes it cut at {cut}
    rounded: Callable[[float], float] = float  # what a cut-off becomes in the model


class Alternative(NamedTuple):
    """A point that could be chosen instead."""

    label: str
    model: int
    cut: float


def record(
    people: People,
    models: Sequence[Scored],
    alternatives: Sequence[Alternative],
    above: bool,
    confidence: float,
    least: int,
    **said: Any,
) -> Record:
    """Everything that the page shows; ``above`` says whether it is the scores above a cut-off that get a yes."""
    cell, size = people.group * 2 + people.right, 2 * len(people.names)
    totals = np.bincount(cell, people.weight, minlength=size).reshape(-1, 2)
    squares, unit = totals, 1.0
    if people.weight is not None:
        squares = np.bincount(cell, people.weight**2, minlength=size).reshape(-1, 2)
        unit = totals.sum() / PARTS
    effective = {name: _effective(totals, squares, columns) for name, columns in RATES.items()}
    ranked = [_Ranked(model.scores, cell, people.weight, size, above) for model in models]
    owns = [None if model.own is None else each.share(model.own) for model, each in zip(models, ranked, strict=True)]
    others = [ranked[point.model].share(point.cut) for point in alternatives]
    stops = _stops([*(share for share in owns if share is not None), *others])
    found = []
    for model, each, own in zip(models, ranked, owns, strict=True):
        positions = [each.nearest(stop) for stop in stops]
        cuts = [each.cut(k, model.rounded) for k in positions]
        if own is not None and model.own is not None:
            cuts[stops.index(own)] = model.own
        counts = each.counts(positions).reshape(len(stops), -1, 2)
        found.append(
            {
                "name": model.name,
                "goal": model.goal,
                "python": model.python,
                "own": None if own is None else stops.index(own),
                "cuts": cuts,
                "found": _whole(counts[:, :, 1], unit),
                "wrong": _whole(counts[:, :, 0], unit),
                "gaps": _gaps(counts, totals, effective, confidence, least),
            }
        )
    counts = _whole(totals, unit)
    return {
        "n": len(people.right),
        "weighted": people.weight is not None,
        "confidence": confidence,
        "least": least,
        "groups": [
            {"name": name, "right": counts[g][1], "other": counts[g][0]}
            | {f"n_{rate}": round(float(n[g]), 3) for rate, n in effective.items()}
            for g, name in enumerate(people.names)
        ],
        "stops": [round(100 * stop, 6) for stop in stops],
        "models": found,
        "alternatives": [
            {"label": point.label, "model": point.model, "stop": stops.index(share)}
            for point, share in zip(alternatives, others, strict=True)
        ],
        **said,
    }


def _stops(owns: Sequence[float]) -> list[float]:
    """The shares of people who get a yes: 1 to 99 per cent, of which the nearest give way to what models chose."""
    taken = {round(100 * share) for share in owns}
    return sorted({k / 100 for k in range(1, 100) if k not in taken} | set(owns))


def _whole(counts: Any, unit: float) -> Any:
    return np.rint(counts / unit).astype(np.int64).tolist()


class _Ranked:
    """The rows from the lowest score to the highest. Cut-off 0 is below all scores, cut-off k is the k-th of them."""

    def __init__(self, scores: Floats, cell: NDArray[np.intp], weight: Floats | None, size: int, above: bool):
        order = np.argsort(scores)  # of equal scores in any order: they are on the same side of every cut-off
        ranked = scores[order]
        ends = np.flatnonzero(np.append(ranked[1:] > ranked[:-1], True)) + 1
        self._cell, self._size, self._above = cell[order], size, above
        self._weight = None if weight is None else weight[order]
        self._scores, self._ends = ranked[ends - 1], np.append(0, ends)
        weights = np.ones(len(order)) if self._weight is None else self._weight
        up_to = np.append(0.0, np.cumsum(weights))[self._ends]
        self.shares = (up_to[-1] - up_to if above else up_to) / up_to[-1]

    def position(self, cut: float) -> int:
        """Which cut-off a number is: as many of the different scores are not above it."""
        return int(np.searchsorted(self._scores, cut, side="right"))

    def share(self, cut: float) -> float:
        """How many of all people a cut-off gives a yes to."""
        return float(self.shares[self.position(cut)])

    def nearest(self, share: float) -> int:
        """The cut-off that gives a yes to nearly this share of the people; of two as near, to fewer."""
        rising = self.shares[::-1] if self._above else self.shares
        k = int(np.searchsorted(rising, share).clip(1, len(rising) - 1))
        k -= bool(share - rising[k - 1] <= rising[k] - share)
        return len(rising) - 1 - k if self._above else k

    def cut(self, k: int, rounded: Callable[[float], float]) -> float:
        """A short number from the k-th score to the next one, which it stays below once it is rounded."""
        scores = self._scores
        low = scores[k - 1] if k else scores[0] - max(1.0, abs(scores[0]))
        high = scores[k] if k < len(scores) else scores[-1] + max(1.0, abs(scores[-1]))
        for digits in range(1, 17):
            short = float(f"{0.5 * low + 0.5 * high:.{digits}g}") + 0.0
            if low <= short < high and low <= rounded(short) < high:
                return short
        return float(low)

    def counts(self, positions: Sequence[int]) -> Floats:
        """``counts[stop, cell]`` of those who get a yes."""
        ends = self._ends[positions]
        falling = len(ends) > 1 and bool(ends[0] > ends[-1])
        rising = ends[::-1] if falling else ends
        part = np.searchsorted(rising, np.arange(len(self._cell)), side="right")
        parts = np.bincount(part * self._size + self._cell, self._weight, minlength=(len(ends) + 1) * self._size)
        up_to = parts.reshape(-1, self._size).cumsum(axis=0)
        yes = up_to[-1] - up_to[:-1] if self._above else up_to[:-1]
        return yes[::-1] if falling else yes


def _effective(totals: Any, squares: Any, columns: list[int]) -> Floats:
    """How many rows a share of a group is of: Kish's (Σw)² / Σw²."""
    total, square = (sums[:, columns].sum(axis=1).astype(np.float64) for sums in (totals, squares))
    size: Floats = np.divide(total**2, square, out=np.zeros(len(total)), where=square > 0)
    return size


def _gaps(counts: Floats, totals: Any, effective: dict[str, Floats], confidence: float, least: int) -> Record:
    """The limits of the largest difference between groups of enough people, in tenths of a person of a hundred."""
    found: Record = {}
    for name, columns in RATES.items():
        n = effective[name]
        enough = n >= max(least, 1)
        shares = counts[:, :, columns].sum(axis=2)[:, enough] / totals[:, columns].sum(axis=1)[enough]
        intervals = (largest_difference(Rates(np.clip(each, 0.0, 1.0), n[enough]), confidence) for each in shares)
        found[name] = [
            None if np.isnan(each.value) else [round(1000 * each.lower), round(1000 * each.upper)] for each in intervals
        ]
    return found
