"""From collections to shards: the passes over the partitions before training."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd

from .._arrays import Integers
from .._engine.codes import N_CODES
from .._engine.threads import Team
from .._fit.samples import CodedSample, MassSums, find_exponent
from .._table.bundles import Bundles
from .._table.cuts import EXACT_ROWS
from .._table.grouping import Grouping
from .._table.inputs import refuse_missing_groups, refuse_missing_labels
from .._table.sources import Source, column_names, find_categorical, read_sources
from .._table.weights import WeightSums
from . import _columns, _rows
from ._collections import Delayed, Partitioned
from ._crew import PATIENCE, ClusterError, Crew, Patience, cancel, release
from ._shard import CodePlan, encode_part, find_present, take_held, to_sample

FAN_IN = 8  # so many answers are put together at a time


MAX_HERE = 1 << 20  # so many of the rows that θ is chosen on come here


class Passes:
    """Passes over partitions, made by the workers; what they keep is let go at the end.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._kept: list[Any] = []

    def map(self, function: Callable[..., Any], *columns: Sequence[Any] | None, **shared: Any) -> list[Delayed]:
        """A task for each partition, which is given its number, what ``columns`` have for it, and what is shared."""
        from dask.delayed import delayed

        n_parts = len(next(column for column in columns if column is not None))
        given = {name: delayed(value, traverse=False, pure=False) for name, value in shared.items()}
        task = delayed(function, pure=False)
        rows = zip(*(column if column is not None else [None] * n_parts for column in columns), strict=True)
        return [task(*row, **given) for row in rows]

    def gather(self, tasks: list[Delayed]) -> list[Any]:
        """The results of tasks."""
        return self.results(self.client.compute(tasks))

    def keep(self, tasks: list[Delayed]) -> list[Any]:
        """Futures of tasks, whose results stay on the workers until :meth:`close`."""
        futures = self.client.compute(tasks)
        self._kept += futures
        return list(futures)

    def fold(self, tasks: list[Delayed], merge: Callable[..., Any], **shared: Any) -> Any:
        """The results of all tasks put together on the workers, a few at a time."""
        from dask.delayed import delayed

        task = delayed(merge, pure=False)
        while True:
            tasks = [task(tasks[k : k + FAN_IN], **shared) for k in range(0, len(tasks), FAN_IN)]
            if len(tasks) == 1:
                return self.gather(tasks)[0]

    def results(self, futures: list[Any]) -> list[Any]:
        """The results of futures, or an error that says what happened."""
        from distributed import KilledWorker

        patience = Patience(self.client)
        patience.look()  # says so if the scheduler is gone
        # Not gather by itself, which would wait for ever if no worker is left.
        gathering = asyncio.run_coroutine_threadsafe(
            self.client.gather(futures, asynchronous=True), self.client.loop.asyncio_loop
        )
        try:
            while not wait([gathering], PATIENCE).done:
                patience.look()
            found: list[Any] = gathering.result()
        except BaseException as error:  # interrupted, or refused: nobody waits for the others any more
            gathering.cancel()
            cancel(self.client, futures)
            if not isinstance(error, (KilledWorker, MemoryError)):
                raise
            raise ClusterError(
                "a partition was given up: there was not enough memory for it, or its workers were lost several times, "
                f"probably for that reason: make the partitions smaller, or give the workers more ({error})"
            ) from error
        return found

    def close(self) -> None:
        """Let go of what is kept."""
        release(self._kept)
        self._kept = []


class PreparedRows:
    """Partitions whose rows are in numbers.

    Parameters
    ----------
    passes : Passes
        Who asks the workers.
    data : Partitioned
        The collections.
    bands : dict or None
        Where sensitive numbers are cut.
    """

    def __init__(self, passes: Passes, data: Partitioned, bands: Any, names: list[str] | None) -> None:
        self._passes, self.data, self._names = passes, data, names
        numbers = range(len(data))
        self.facts: list[_rows.RowFacts] = passes.gather(
            passes.map(_rows.read_facts, numbers, data.y, data.sensitive, data.weight, bands=bands, names=names)
        )
        self.n_rows = sum(fact.n_rows for fact in self.facts)
        self.n_counted = sum(fact.n_counted for fact in self.facts)
        if self.n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) in {len(data)} partition(s) while a minimum of 1 is required."
            )
        self.weights: WeightSums | None = None
        for fact in self.facts:
            if fact.weights is not None:
                self.weights = fact.weights if self.weights is None else self.weights + fact.weights
        if self.weights is not None and self.weights.n_positive == 0:
            raise ValueError("sample_weight is zero for every row")
        self.scale: int | None = None  # of weights that differ
        if self.weights is not None and self.weights.lowest < self.weights.highest:
            self.weights.check("sample_weight")
            self.scale = self.weights.exponent

    @property
    def rows_per_weight(self) -> float:
        return 1.0 if self.weights is None else self.weights.rows_per_weight

    def labels(self) -> Any:
        """The labels that occur, each once."""
        refuse_missing_labels(sum(fact.n_missing_labels for fact in self.facts), self.n_counted)
        return pd.unique(np.concatenate([fact.labels for fact in self.facts if len(fact.labels)]))

    def groups(self, missing_group: str | None) -> pd.DataFrame | None:
        """The combinations of sensitive values that occur, each once."""
        found = [fact for fact in self.facts if fact.groups is not None and len(fact.groups)]
        if not found:
            return None
        if missing_group is None:
            for name in found[0].missing:
                refuse_missing_groups(name, sum(fact.missing[name] for fact in found), self.n_counted)
        frames = [fact.groups for fact in found if fact.groups is not None]
        return pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True)

    def number(self, classes: Any, groups: Any, grouping: Grouping) -> None:
        """Turn labels, groups and weights into numbers, which stay on the workers; ``counts[partition, cell]``."""
        plan = _rows.RowPlan(classes, groups, grouping, self.scale, self._names)
        data, numbers = self.data, range(len(self.data))
        tasks = self._passes.map(_rows.number_rows, numbers, data.y, data.sensitive, data.weight, plan=plan)
        self.rows = self._passes.keep(tasks)
        counted = self._passes.map(_rows.count_cells, self.rows, n_groups=len(groups))
        self.counts: Integers = np.array(self._passes.gather(counted), dtype=np.int64)
        self.n_groups = len(groups)
        self.exponent = 0
        if self.scale is not None:
            assert self.weights is not None
            self.exponent = find_exponent(self.weights.n_positive, self.weights.total, self._measure)

    @property
    def unit(self) -> float:
        return 2.0**-self.exponent

    def bring(self) -> list[_rows.Rows]:
        """The rows in numbers, here."""
        found: list[_rows.Rows] = self._passes.results(self.rows)
        return found

    def _measure(self, exponent: int) -> MassSums:
        parts = self._passes.gather(self._passes.map(_rows.measure, self.rows, exponent=exponent))
        parts = [part for part, count in zip(parts, self.counts.sum(axis=1).tolist(), strict=True) if count]
        total: MassSums = reduce(add, parts)
        return total

    def cell_masses(self, held: list[_rows.Held]) -> Integers:
        """``[all or held out, cell]``."""
        parts = self._passes.gather(
            self._passes.map(_rows.mass_per_cell, self.rows, held, exponent=self.exponent, n_groups=self.n_groups)
        )
        masses: Integers = np.sum(parts, axis=0)
        return masses


def find_sources(passes: Passes, data: Partitioned) -> list[Source]:
    """What the columns are, without their rows."""
    if not _columns.needs_a_look(data.meta):
        return read_sources(data.meta)
    kinds = passes.gather(passes.map(_columns.column_kinds, data.X))
    return [_columns.source_of(name, [part[j] for part in kinds]) for j, name in enumerate(column_names(data.meta))]


class CodedRows:
    """All partitions as codes, those to train on and those that are held out, or will be."""

    def __init__(self, passes: Passes, parts: list[PreparedRows], held: list[list[_rows.Held]]) -> None:
        self._passes, self._parts = passes, parts
        self._X = [x for part in parts for x in part.data.X]
        self._rows = [rows for part in parts for rows in part.rows]
        self._held = [mark for marks in held for mark in marks]
        self._exponents = [part.exponent for part in parts for _ in part.data.X]
        self.counts = np.concatenate([part.counts for part in parts]).sum(axis=1)
        self.n_groups, self.unit, self.held_unit = parts[0].n_groups, parts[0].unit, parts[-1].unit

    def learn(self, n_train: int, max_bins: int, categorical_features: Any) -> None:
        """Learn the bins from the rows that are not held out."""
        meta, passes = self._parts[0].data.meta, self._passes
        sources = find_sources(passes, self._parts[0].data)
        categorical = tuple(find_categorical(meta, sources, categorical_features))
        exponent, exact = self._parts[0].exponent, n_train <= EXACT_ROWS
        look = _columns.Look(categorical, exponent, exact)
        numbers = range(len(self._X))
        tasks = passes.map(_columns.look_at, numbers, self._X, self._rows, self._held, look=look)
        facts = passes.fold(tasks, _columns.merge_looks, exact=exact)
        bins = _columns.Bins(column_names(meta), facts, max_bins, [source.is_mixed for source in sources])
        while counts := bins.wanted():
            given = {"exponent": exponent, "counts": counts}
            tasks = passes.map(_columns.count_stretches, numbers, self._X, self._rows, self._held, **given)
            bins.tell(passes.fold(tasks, _columns.merge_answers))
        binner = bins.binner()
        self.bundles = Bundles(binner, bins.n_codes(binner))

    def encode(self, numbers: Sequence[int]) -> list[Any]:
        """Futures of some partitions as codes."""
        n_first = len(self._parts[0].data)
        tasks: list[Delayed] = []
        for number in numbers:
            plan = CodePlan(self.bundles, self._exponents[number], number >= n_first)
            given = [[number], [self._X[number]], [self._rows[number]], [self._held[number]]]
            tasks += self._passes.map(encode_part, *given, plan=plan)
        return list(self._passes.client.compute(tasks))

    def assemble(self, crew: Crew, watched: Callable[[dict[int, Any]], None]) -> None:
        """Encode everything, and make shards of it; ``watched`` is shown the codes before they are let go."""
        numbers = range(len(self._X))
        futures = dict(zip(numbers, self.encode(numbers), strict=True))
        try:
            # Until all are there; what a task refuses is raised here.
            self._passes.gather(self._passes.map(_n_held, list(futures.values()), everyone=True))
            watched(futures)
            crew.assemble(futures, dict(zip(numbers, (self.counts + 1).tolist(), strict=True)))
        finally:
            release(list(futures.values()))

    def held_sample(self, futures: dict[int, Any], everyone: bool, every: int, team: Team) -> CodedSample:
        """The rows that are held out, or all, as a sample that is here; or every so many of them."""
        n_held = np.array(self._passes.gather(self._passes.map(_n_held, list(futures.values()), everyone=everyone)))
        firsts = np.cumsum(n_held) - n_held
        tasks = self._passes.map(
            take_held, list(futures.values()), [everyone] * len(futures), [every] * len(futures), firsts.tolist()
        )
        parts = self._passes.gather(tasks)
        n_rows = sum(len(part.cell) for part in parts)
        coded = to_sample(parts, np.arange(n_rows), self.n_groups, team, self.held_unit)
        return present_in(self.bundles, coded)


def present_in(bundles: Bundles, coded: CodedSample) -> CodedSample:
    """A sample that knows which columns have missing values, and which categories that share a code."""
    counts = np.array([np.bincount(codes, minlength=N_CODES) for codes in coded.codes])
    has_missing, has_other = find_present(bundles, counts[None])
    return coded._replace(has_missing=has_missing, has_other=has_other)


def _n_held(part: Any, everyone: bool) -> int:
    return len(part.held) if everyone else int(part.held.sum())
