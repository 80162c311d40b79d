"""Collections as partitions that belong together, and their labels, groups and weights in numbers.

A partition may lack a class or a group, or have no rows. What is learnt from it are the distinct values; the rows stay
where they are, as a byte or two each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from .._arrays import Floats, Integers
from .._fit.samples import MassSums, find_exponent, measure_masses, warn_of_none_held_out, whole_masses
from .._model.groups import sensitive_positions
from .._table.grouping import NO_GROUPS, Grouping, Sensitive, read_groups, refuse_missing_groups, sensitive_frame
from .._table.lazy import is_collection, is_frame, partitions_of
from .._table.reading import (
    Labels,
    WeightSums,
    cells,
    held_out_ranks,
    label_values,
    plain_weights,
    read_target,
    refuse_missing_labels,
)
from .._table.sources import column_names
from .._table.values import short
from ._cluster import Cluster, Delayed, Future

# Collections


class Partitioned(NamedTuple):
    """X, labels, groups and weights, a list of partitions each; the partitions of one number hold the same rows."""

    X: list[Delayed]
    y: list[Delayed]
    sensitive: list[Delayed] | None
    weight: list[Delayed] | None
    meta: Any  # a table without rows that has the names and types of X's columns
    names: list[str] | None  # of the columns of an Array that hold the groups


def read_collections(
    X: Any, y: Any, sensitive: Any, weight: Any, sensitive_feature: Any = None, is_blind: bool = False
) -> Partitioned:
    """The partitions of what `fit` is given; ``sensitive_feature`` names columns of X that hold the groups.

    These are no columns of the table if the model is blind to them.
    """
    for name, values in {"X": X, "y": y, "sensitive_features": sensitive, "sample_weight": weight}.items():
        if not is_collection(values) and (values is not None or name in ("X", "y")):
            raise TypeError(
                f"{name} must be a Dask DataFrame, Series or Array, got {type(values).__name__} {short(values)[:30]}: "
                "dask.dataframe.from_pandas and dask.array.from_array make one; for data that fit into memory there "
                "is the classifier without Dask"
            )
    if X.ndim != 2:
        raise ValueError(f"X must be a Dask DataFrame or a two-dimensional Array, got {X.ndim} dimension(s)")
    meta, names = empty_table(X), None
    if sensitive is None and sensitive_feature is not None:
        positions = list(sensitive_positions(meta, None, sensitive_feature))
        sensitive = X.iloc[:, positions] if is_frame(X) else X[:, positions]
        names = None if is_frame(X) else [column_names(meta)[j] for j in positions]
        if is_blind:
            seen = [j for j in range(X.shape[1]) if j not in positions]
            X = X.iloc[:, seen] if is_frame(X) else X[:, seen]
            meta = empty_table(X)
    parts = partitions_of(X)
    others = {"y": y, "sensitive_features": sensitive, "sample_weight": weight}
    y, sensitive, weight = (
        None if values is None else _matching(name, values, X, parts) for name, values in others.items()
    )
    return Partitioned(parts, y, sensitive, weight, meta, names)


def empty_table(X: Any) -> Any:
    """A table without rows that has the names and types of X's columns."""
    if is_frame(X):
        return X._meta
    if np.isnan(X.shape[1]):
        raise ValueError("X is a Dask Array of an unknown number of columns: X.compute_chunk_sizes() finds it out")
    return np.empty((0, X.shape[1]), dtype=X.dtype)


def _matching(name: str, values: Any, X: Any, parts: list[Delayed]) -> list[Delayed]:
    if not is_frame(values) and not is_frame(X) and values.chunks[0] != X.chunks[0]:
        is_known = not np.isnan([*values.chunks[0], *X.chunks[0]]).any()
        if is_known and values.shape[0] == X.shape[0]:
            values = values.rechunk({0: X.chunks[0]})
    found = partitions_of(values)
    if len(found) != len(parts):
        raise ValueError(
            f"X has {len(parts)} partitions, {name} {len(found)}: they have to be divided alike, as columns of one "
            "DataFrame are"
        )
    return found


# Of one partition, by the workers


class RowFacts(NamedTuple):
    """What is to be known of the rows of a partition before they can be numbered."""

    n_rows: int
    n_counted: int  # of positive weight
    labels: NDArray[Any]  # distinct
    n_missing_labels: int
    groups: pd.DataFrame | None  # the combinations of sensitive values that occur
    missing: dict[Any, int]  # how many values of each sensitive column are
    weights: WeightSums | None


def read_facts(number: int, y: Any, sensitive: Any, weight: Any, names: list[str] | None, bands: Any) -> RowFacts:
    n_rows, weights, _, y, groups = _read_part(number, y, sensitive, weight, names)
    labels, is_missing = label_values(y)
    missing = {}
    if groups is not None:
        groups = Grouping(bands, None).apply(groups)
        missing = {name: int(groups.iloc[:, j].isna().sum()) for j, name in enumerate(groups.columns)}
        groups = groups.drop_duplicates()
    sums = None if weights is None else WeightSums.of(weights)
    return RowFacts(n_rows, len(y), pd.unique(labels[~is_missing]), int(is_missing.sum()), groups, missing, sums)


Held = bool | tuple[NDArray[np.uint8], ...]  # all or none, or packed bits per cell


class Rows(NamedTuple):
    """The rows of a partition: which of them count, and the cell and weight of each."""

    n_rows: int
    keep: NDArray[np.bool_] | None  # None for all
    cell: NDArray[Any]
    weights: Floats | None  # None for equal ones

    @property
    def positions(self) -> NDArray[np.intp]:
        return np.arange(self.n_rows) if self.keep is None else np.flatnonzero(self.keep)

    def masses(self, exponent: int) -> Integers:
        """The weights as integers; empty for one each."""
        return np.empty(0, dtype=np.int64) if self.weights is None else whole_masses(self.weights, exponent)

    def is_held(self, held: Held) -> NDArray[np.bool_]:
        if isinstance(held, bool):
            return np.full(len(self.cell), held)
        mask = np.zeros(len(self.cell), dtype=np.bool_)
        for cell, bits in enumerate(held):
            mine = np.flatnonzero(self.cell == cell)
            mask[mine] = np.unpackbits(bits, count=len(mine)).astype(np.bool_)
        return mask

    def per_cell(self, n_groups: int) -> Integers:
        return np.bincount(self.cell, minlength=2 * n_groups)

    def cell_masses(self, held: Held, exponent: int, n_groups: int) -> Floats:
        """The mass of each cell, of the rows that are not held out and then of those that are."""
        masses, joint = self.masses(exponent), self.cell + 2 * n_groups * self.is_held(held)
        sums = np.bincount(joint, weights=masses if len(masses) else None, minlength=4 * n_groups)
        return sums.astype(np.float64)

    def measure(self, exponent: int) -> MassSums:
        """What the weights, which differ, add up to in a unit."""
        return measure_masses(self.weights, exponent)  # type: ignore[arg-type]


def number_rows(
    number: int, y: Any, sensitive: Any, weight: Any, names: Any, labels: Labels, groups: Any, grouping: Any, scale: Any
) -> Rows:
    """The rows of a partition in numbers; weights are multiplied by ``2**scale``, which is None if all are equal."""
    n_rows, weights, keep, y, frame = _read_part(number, y, sensitive, weight, names)
    if len(y) == 0:
        no_cell = np.empty(0, dtype=np.min_scalar_type(2 * len(groups)))
        return Rows(n_rows, keep, no_cell, None if scale is None else np.empty(0))
    codes, _ = read_target(y, len(y), labels.outcomes)
    group = np.zeros(len(y), dtype=np.intp)
    if frame is not None:
        group, _ = read_groups(grouping.apply(frame), len(y), groups)
    scaled = None
    if scale is not None and weights is not None:
        scaled = np.ldexp(weights if keep is None else weights[keep], scale)
    return Rows(n_rows, keep, cells(codes, group, len(groups)), scaled)


def _read_part(
    number: int, y: Any, sensitive: Any, weight: Any, names: list[str] | None
) -> tuple[int, Floats | None, NDArray[np.bool_] | None, NDArray[Any], pd.DataFrame | None]:
    """The number of rows, their weights, and which of them count, None for all; and of these labels and groups."""
    y = column_or_1d(y)
    n_rows, frame = len(y), None
    weights, keep = part_weights(number, weight, n_rows)
    if sensitive is not None:
        frame = sensitive_frame(sensitive)
        if len(frame) != n_rows:
            raise ValueError(
                f"partition {number}: y has {n_rows} rows, sensitive_features {len(frame)}: they have to be divided "
                "alike"
            )
        if names is not None:
            frame.columns = pd.Index(names)
    if keep is not None:
        y, frame = y[keep], None if frame is None else frame[keep]
    return n_rows, weights, keep, y, frame


def part_weights(number: int, weight: Any, n_rows: int) -> tuple[Floats | None, NDArray[np.bool_] | None]:
    """The weights, and which of them are positive if some are not."""
    if weight is None:
        return None, None
    try:
        weights = plain_weights(weight, n_rows)
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from None
    return weights, None if weights.all() else weights > 0


def check_part(number: int, x: Any, n_rows: int) -> None:
    """Whether a partition of X has as many rows as that of y."""
    if len(x) != n_rows:
        raise ValueError(
            f"partition {number}: X has {len(x)} rows, y {n_rows}: they have to be divided alike, as columns of one "
            "DataFrame are"
        )


# Of all partitions together


@dataclass
class PreparedRows:
    """Partitions whose rows are in numbers: these stay on the workers, counts are here."""

    cluster: Cluster
    data: Partitioned
    labels: Labels
    groups: NDArray[Any]
    sensitive_names: list[str]  # of the columns that the groups came from
    weights: WeightSums | None
    n_rows: int
    rows: list[Future]  # of Rows
    counts: Integers  # [partition, cell]: how many rows count
    exponent: int  # of the sample weights' unit
    held: list[Held]  # per partition, the rows that θ is chosen on
    n_held: Integers  # per partition

    @property
    def n_counted(self) -> int:
        return int(self.counts.sum())

    @property
    def unit(self) -> float:
        """What a mass of one weighs."""
        return 2.0**-self.exponent

    @property
    def rows_per_weight(self) -> float:
        return 1.0 if self.weights is None else self.weights.rows_per_weight

    def map(self, function: Any, **shared: Any) -> list[Delayed]:
        """A task for each partition, which is given its number, X, its rows and which of them are held out."""
        return self.cluster.map(function, range(len(self.rows)), self.data.X, self.rows, self.held, **shared)

    def totals(self) -> Floats:
        """The sample weight of the rows that are not held out and of those that are, ``[0 or 1, group, class]``."""
        how = {"exponent": self.exponent, "n_groups": len(self.groups)}
        masses = np.sum(self.cluster.gather(self.cluster.map(Rows.cell_masses, self.rows, self.held, **how)), axis=0)
        totals: Floats = masses.reshape(2, 2, -1).transpose(0, 2, 1) * self.unit
        return totals

    def sizes(self) -> Floats:
        """How many rows the weight of each group and class stands for, ``[group, class]``."""
        found: Floats = self.totals().sum(axis=0) * self.rows_per_weight
        return found

    def bring(self) -> Rows:
        """All rows in numbers, here, as if they were one partition."""
        parts: list[Rows] = self.cluster.results(self.rows)
        keep = [np.ones(part.n_rows, dtype=np.bool_) if part.keep is None else part.keep for part in parts]
        weights = [part.weights for part in parts if part.weights is not None]
        return Rows(
            self.n_rows,
            None if all(part.keep is None for part in parts) else np.concatenate(keep),
            np.concatenate([part.cell for part in parts]),
            np.concatenate(weights) if weights else None,
        )

    def hold_out_all(self) -> None:
        """Let θ be chosen on all rows."""
        self.held, self.n_held = [True] * len(self.rows), self.counts.sum(axis=1)

    def hold_out(self, fraction: float | None, rng: np.random.RandomState) -> None:
        """Let θ be chosen on some rows, those that a fit on one machine would hold out."""
        if fraction is None:
            return
        ends = np.cumsum(self.counts, axis=0)  # of the partitions, among the rows of each cell
        masks = [np.zeros(n, dtype=np.bool_) for n in ends[-1].tolist()]
        for mask in masks:
            mask[held_out_ranks(len(mask), fraction, rng)] = True
        if not any(mask.any() for mask in masks):
            warn_of_none_held_out(self.n_counted)
            return
        parts = list(zip(*(np.split(mask, ends[:-1, cell]) for cell, mask in enumerate(masks)), strict=True))
        self.held = [tuple(map(np.packbits, part)) for part in parts]
        self.n_held = np.array([sum(int(mask.sum()) for mask in part) for part in parts])


def prepare_rows(
    cluster: Cluster, sensitive: Sensitive, data: Partitioned, known: Any, positive: Any, favourable: Any
) -> PreparedRows:
    """The rows of collections in numbers. Labels and groups are those that occur, or those that are ``known``."""
    numbers, given = range(len(data.X)), (data.y, data.sensitive, data.weight)
    tasks = cluster.map(read_facts, numbers, *given, names=data.names, bands=sensitive.grouping.bands)
    facts: list[RowFacts] = cluster.gather(tasks)
    n_rows, n_counted = sum(fact.n_rows for fact in facts), sum(fact.n_counted for fact in facts)
    if n_rows == 0:
        raise ValueError(f"Found array with 0 sample(s) in {len(facts)} partition(s) while a minimum of 1 is required.")
    sums = [fact.weights for fact in facts if fact.weights is not None]
    weights = reduce(add, sums) if sums else None
    scale = None
    if weights is not None:
        if weights.n_positive == 0:
            raise ValueError("sample_weight is zero for every row")
        if weights.lowest < weights.highest:
            weights.check("sample_weight")
            scale = weights.exponent
    refuse_missing_labels(sum(fact.n_missing_labels for fact in facts), n_counted)
    found = pd.unique(np.concatenate([fact.labels for fact in facts if len(fact.labels)]))
    _, classes = read_target(found, len(found), None if known is None else known.labels.outcomes)
    labels = Labels.of(classes, positive, favourable) if known is None else known.labels
    groups, names = _groups(facts, n_counted, sensitive, known)
    how = {"labels": labels, "groups": groups, "grouping": sensitive.grouping, "scale": scale}
    rows = cluster.keep(cluster.map(number_rows, numbers, *given, names=data.names, **how))
    counts = np.array(cluster.gather(cluster.map(Rows.per_cell, rows, n_groups=len(groups))), dtype=np.int64)
    exponent = 0
    if scale is not None and weights is not None:
        there = [part for part, n in zip(rows, counts.sum(axis=1).tolist(), strict=True) if n]

        def measure(exponent: int) -> MassSums:
            total: MassSums = reduce(add, cluster.gather(cluster.map(Rows.measure, there, exponent=exponent)))
            return total

        exponent = find_exponent(weights.n_positive, weights.total, measure)
    read = cluster, data, labels, groups, names, weights, n_rows, rows, counts, exponent
    return PreparedRows(*read, held=[False] * len(rows), n_held=np.zeros(len(rows), dtype=np.int64))


def _groups(facts: list[RowFacts], n_counted: int, sensitive: Sensitive, known: Any) -> tuple[NDArray[Any], list[str]]:
    """The groups, and the names of the columns that they come from."""
    groups, names = NO_GROUPS.copy() if known is None else known.groups, []
    found = [fact for fact in facts if fact.groups is not None and len(fact.groups)]
    if found:
        missing_group = sensitive.grouping.missing_group
        if missing_group is None:
            for name in found[0].missing:
                refuse_missing_groups(name, sum(fact.missing[name] for fact in found), n_counted)
        frame = pd.concat([fact.groups for fact in found if fact.groups is not None], ignore_index=True)
        frame = frame.drop_duplicates(ignore_index=True)
        names = [str(name) for name in frame.columns]
        named = Grouping(None, missing_group).apply(frame)
        _, groups = read_groups(named, len(frame), None if known is None else groups, sensitive.grouping)
    if known is None:
        sensitive.check_found(groups)
    return groups, names
