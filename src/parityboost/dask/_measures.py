"""Measures of collections: the workers count their rows, and what comes here are the counts.

For a frontier, each partition counts how much weight there is of every margin and cell, after each round. Of very many
rows, margins are counted in buckets, as in training: each worker makes them as fine as its own margins need, and
whoever puts counts together makes them as coarse as all of them need. So they do not depend on the partitions.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d

from .._arrays import THRESHOLD_GRID, Floats, Integers
from .._choice.frontier import Points, SelectionData, best_points, chosen_point, frontier
from .._choice.thresholds import N_BUCKETS
from ._cluster import Cluster
from ._rows import Held, Partitioned, PreparedRows, Rows, check_part, part_weights

MAX_EXACT = 1 << 20  # of up to so many rows every margin is told apart
MAX_TOGETHER = 1 << 22  # so many margins and cells, of several rounds, come here at a time


def accuracy(cluster: Cluster, data: Partitioned, model: Any) -> float:
    """The share of the rows, or of their weight, that a model is right about."""
    given = data.X, data.y, data.sensitive, data.weight
    parts = cluster.gather(cluster.map(_count_right, range(len(data.X)), *given, model=model))
    right, total = np.sum(parts, axis=0).tolist()
    if total == 0:
        raise ValueError(f"X has no rows of positive weight in {len(data.X)} partition(s)")
    return float(right / total)


def _count_right(number: int, x: Any, y: Any, sensitive: Any, weight: Any, model: Any) -> tuple[float, float]:
    """What the rows weigh that the model is right about, and all rows."""
    y = column_or_1d(y)
    check_part(number, x, len(y))
    weights, _ = part_weights(number, weight, len(y))
    weights = np.ones(len(y)) if weights is None else weights
    keep = weights > 0
    if not keep.any():
        return 0.0, 0.0
    predicted = model.predict(x, sensitive_features=sensitive)[keep]
    right = accuracy_score(y[keep], predicted, normalize=False, sample_weight=weights[keep])
    return float(right), float(weights.sum())


class CountedMargins(NamedTuple):
    """How much weight there is of each bucket of margins and cell.

    A bucket is ``2**shift`` steps of the grid of thresholds wide; a margin on a border belongs to the bucket below.
    """

    bucket: Integers
    cell: NDArray[Any]
    mass: Integers
    shift: int

    def added_up(self, n_buckets: int | None) -> CountedMargins:
        """Each bucket and cell once, with wider buckets if they are more than so many."""
        bucket, cell, mass, shift = self
        if n_buckets is not None and len(bucket):
            lowest, highest = int(bucket.min()), int(bucket.max())
            while (highest >> (shift - self.shift)) - (lowest >> (shift - self.shift)) >= n_buckets:
                shift += 1
            bucket = bucket >> (shift - self.shift)
        order = np.lexsort((cell, bucket))
        bucket, cell, mass = bucket[order], cell[order], mass[order]
        is_new = np.append(True, (bucket[1:] != bucket[:-1]) | (cell[1:] != cell[:-1]))
        starts = np.flatnonzero(is_new[: len(bucket)])
        return CountedMargins(bucket[starts], cell[starts], np.add.reduceat(mass, starts) if len(mass) else mass, shift)

    def as_selection(self, n_groups: int, unit: float) -> SelectionData:
        """The same as rows that a threshold can be chosen on.

        The middles of two buckets have a border of buckets half-way between them, or a bucket without rows.
        """
        middle = np.ldexp(self.bucket + 0.5, self.shift) if self.shift else (self.bucket + 1).astype(np.float64)
        margin: Floats = middle * THRESHOLD_GRID
        return SelectionData(self.cell, self.mass.astype(np.float64) * unit, n_groups, lambda: iter([margin]))


def remote_frontier(cluster: Cluster, rows: PreparedRows, model: Any) -> Points:
    """The frontier of rows that stay on the workers; the same as :func:`~parityboost._choice.frontier.frontier`."""
    settings = model._about.with_groups(rows.groups).settings
    notion, c = settings.notion, settings.c
    n_groups, group_thresholds, chosen = len(rows.groups), model._group_thresholds, model._chosen
    n_buckets = None if rows.n_counted <= MAX_EXACT else N_BUCKETS
    n_counts = min(rows.n_counted, N_BUCKETS * 2 * n_groups) * (1 if group_thresholds is None else 2)
    n_together = max(MAX_TOGETHER // n_counts, 1)

    def count(first: int, bases: list[list[Floats]], n_buckets: int | None) -> Any:
        tasks = rows.map(_count_margins, model=model, exponent=rows.exponent, first=first, bases=bases, most=n_buckets)
        return cluster.fold(tasks, _put_together, n_buckets=n_buckets)

    parts: list[Points] = []
    for first in range(0, model._n_stages, n_together):
        stages = range(first, min(first + n_together, model._n_stages))
        bases = [[np.zeros(n_groups)] for _ in stages]
        if group_thresholds is not None:
            bases = [[*of_stage, group_thresholds[j]] for j, of_stage in zip(stages, bases, strict=True)]
        counted = iter(count(first, bases, n_buckets))
        for j, of_stage in zip(stages, bases, strict=True):
            for base in of_stage:
                found = frontier(next(counted).as_selection(n_groups, rows.unit), notion, c)
                found["theta"] = np.full(len(found["theta"]), j + 1)
                if group_thresholds is not None:
                    found["threshold"] = base + found["threshold"][:, None]
                parts.append(found)
    own = None
    if chosen is not None:  # two buckets are enough: no bucket has margins on either side of its threshold
        theta, threshold = chosen
        [at_chosen] = count(theta - 1, [[np.zeros(n_groups) + threshold]], 2)
        counts = at_chosen.as_selection(n_groups, rows.unit).counts(at_chosen.bucket >= 0)
        own = chosen_point(chosen, counts, notion, c)
    return best_points(parts, c, own)


def _count_margins(
    number: int, x: Any, rows: Rows, held: Held, model: Any, exponent: int, first: int, bases: Any, most: int | None
) -> list[CountedMargins]:
    """Of each of some stages, and each of its thresholds per group, the margins above these."""
    check_part(number, x, rows.n_rows)
    if len(rows.cell) == 0:
        nothing = np.empty(0, dtype=np.int64)
        return [CountedMargins(nothing, rows.cell, nothing, 0) for of_stage in bases for _ in of_stage]
    masses = rows.masses(exponent)
    mass = masses if len(masses) else np.ones(len(rows.cell), dtype=np.int64)
    found = []
    for of_stage, margin in zip(bases, islice(model._stages(model._read_new(x)), first, None), strict=False):
        for base in of_stage:
            above = margin[rows.positions] - base[rows.cell % len(base)]
            steps = np.rint(above / THRESHOLD_GRID).astype(np.int64)
            found.append(CountedMargins(steps - 1, rows.cell, mass, 0).added_up(most))
    return found


def _put_together(parts: list[list[CountedMargins]], n_buckets: int | None) -> list[CountedMargins]:
    found = []
    for of_all in zip(*parts, strict=True):
        shift = max(counted.shift for counted in of_all)
        bucket = np.concatenate([counted.bucket >> (shift - counted.shift) for counted in of_all])
        cell, mass = (np.concatenate([counted[k] for counted in of_all]) for k in (1, 2))
        found.append(CountedMargins(bucket, cell, mass, shift).added_up(n_buckets))
    return found
