"""What a worker keeps of its partitions, and does in each round: a shard of the rows.

A shard knows nothing of boosting. It is told which passes to make over the rows of its samples, as
:class:`~parityboost._engine.cpu.CpuRows` is on one machine, which makes them here too, and answers with sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Floats, Integers
from .._engine.codes import MISSING, N_CODES
from .._engine.cpu import count_pairs
from .._engine.kernels.boosting import Classes
from .._engine.kernels.trees import Grown
from .._engine.threads import Team
from .._fit.bags import CodeTable
from .._fit.samples import CodedSample, Masses, Sample, merge_equal_rows
from .._model.pairs import Effects
from .._table.binning import Binner
from .._table.bundles import Bundles
from ._columns import part_sources
from ._rows import Held, Rows, held_mask


class CodePlan(NamedTuple):
    """What turns the columns of a partition into codes."""

    bundles: Bundles
    exponent: int  # of the sample weights' unit
    check: bool  # whether the columns are still of the kind that was learnt from


class CodedPart(NamedTuple):
    """A partition as codes: the rows that count, and which of them are held out."""

    number: int
    codes: Codes  # [bundle, row]
    cell: NDArray[Any]
    masses: Integers  # empty for one each
    held: NDArray[np.bool_]


def encode_part(number: int, x: Any, rows: Rows, held: Held, plan: CodePlan) -> CodedPart:
    """The codes of a partition; nothing else is kept of it."""
    sources = part_sources(number, x, rows)
    binner: Binner = plan.bundles.binner
    with Team(1) as team:
        if plan.check:
            binner.check(sources)
        codes = plan.bundles.consume(binner.encode(sources, rows.positions, team), team)
    return CodedPart(number, codes, rows.cell, rows.masses(plan.exponent), held_mask(rows, held))


def take_held(part: CodedPart, everyone: bool, every: int, first: int) -> CodedPart:
    """The rows that are held out, or all; of these every so many, the first of the partition being number ``first``."""
    chosen = np.flatnonzero(part.held | everyone)
    chosen = chosen[(np.arange(len(chosen)) + first) % every == 0]
    return join_parts([part], chosen)


def join_parts(parts: Sequence[CodedPart], chosen: NDArray[np.intp]) -> CodedPart:
    """Some of the rows of several partitions as one, column by column: there shall be no second copy of them all."""
    cell = np.concatenate([part.cell for part in parts])[chosen]
    codes = np.empty((len(parts[0].codes), len(chosen)), dtype=parts[0].codes.dtype)
    for b in range(len(codes)):
        codes[b] = np.concatenate([part.codes[b] for part in parts])[chosen]
    held = np.concatenate([part.held for part in parts])[chosen]
    return CodedPart(parts[0].number, codes, cell, masses_at(parts, chosen), held)


def masses_at(parts: Sequence[CodedPart], chosen: NDArray[np.intp]) -> Integers:
    """The masses of some rows, empty for one each; validation data may be weighted where the training data is not."""
    if not any(len(part.masses) for part in parts):
        return np.empty(0, dtype=np.int64)
    each = [part.masses if len(part.masses) else np.ones(len(part.cell), dtype=np.int64) for part in parts]
    return np.concatenate(each)[chosen]


def to_sample(
    parts: Sequence[CodedPart], chosen: NDArray[np.intp], n_groups: int, team: Team, unit: float = 1.0
) -> CodedSample:
    """Some of the rows of partitions as a sample, equal ones merged."""
    cell = np.concatenate([part.cell for part in parts])[chosen]
    sample = Sample(cell, n_groups, Masses(masses_at(parts, chosen), unit), chosen, team)
    codes = join_parts(parts, sample.rows).codes
    nothing = np.zeros(0, dtype=np.bool_)  # what is missing is told by all shards together
    return merge_equal_rows(CodedSample(sample, codes, nothing, nothing))


class Shard:
    """The rows of some partitions, in samples, with whatever training keeps of each row; an actor on a worker.

    Parameters
    ----------
    parts : list of CodedPart
        The partitions.
    n_groups : int
        Number of groups.
    bundle_of : ndarray
        The bundle of each feature.
    sizes : ndarray of shape (n_bundles,)
        Number of joint codes of each bundle; those of its histograms travel.
    """

    def __init__(self, parts: list[CodedPart], n_groups: int, bundle_of: Integers, sizes: Integers) -> None:
        self._parts = sorted(parts, key=lambda part: part.number)
        self._n_groups, self._bundle_of = n_groups, bundle_of
        self._in_use = codes_in_use(sizes)
        self._team = Team(1)
        self._samples: dict[str, Any] = {}  # CpuRows by name

    def run(self, commands: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        """Do one thing after another: the answers."""
        return [self._do(name, given) for name, given in commands]

    def _do(self, name: str, given: tuple[Any, ...]) -> Any:
        own = getattr(self, f"do_{name}", None)
        if own is not None:
            return own(*given)
        key, *rest = given
        return getattr(self._samples[key], name)(*rest)

    def replay(self, commands: list[tuple[str, tuple[Any, ...]]]) -> None:
        """Do all that was done to lost rows; nobody wants to hear the answers again."""
        self.run(commands)

    def do_make(self, key: str, rows: Any) -> tuple[int, int, Integers, Integers]:
        """Make a sample of the rows that are kept or held out, or of those that packed bits per partition tell.

        The number of rows given and kept, their number and sample weight per cell.
        """
        if isinstance(rows, dict):
            bits = [np.unpackbits(rows[part.number], count=len(part.cell)) for part in self._parts]
            chosen = np.flatnonzero(np.concatenate(bits))
        else:
            held = np.concatenate([part.held for part in self._parts])
            chosen = np.flatnonzero(held if rows == "held" else ~held)
        coded = to_sample(self._parts, chosen, self._n_groups, self._team)
        sample = coded.sample
        self._samples[key] = coded.place(self._bundle_of)
        return sample.n_given, len(sample), sample.sizes.astype(np.int64), sample.cell_mass

    def do_forget(self, key: str | None) -> None:
        """Let go of a sample, or of the partitions once all samples are made."""
        if key is None:
            self._parts = []
        else:
            self._samples.pop(key, None)

    def do_weights(
        self, key: str, name: str, given: Any, bits: Integers, is_renewed: NDArray[np.bool_]
    ) -> tuple[Integers, Integers]:
        """Start or change weights, or list them anew: the sum of the integers per class, and what histograms gain."""
        rows, nothing = self._samples[key], np.zeros(2)
        sums = np.zeros(2, dtype=np.int64)
        classes = Classes(sums, nothing, nothing, nothing, sums.copy(), sums.copy(), bits, is_renewed)
        getattr(rows, name)(*([] if given is None else [given]), classes)
        return sums, self._summed(rows, rows.add_changes)

    def do_put_into_leaves(self, key: str, grown: Grown) -> Integers | None:
        """Of a tree that is more than a stump, the mass per [leaf, class]."""
        mass: Integers = self._samples[key].put_into_leaves(grown)
        return mass if len(mass) else None

    def do_side(self, key: str, grown: Grown, side: int) -> Integers:
        """The histograms of the rows on one side of a tree's first split."""
        rows = self._samples[key]
        return self._summed(rows, lambda histograms: rows.add_side(grown, side, histograms))

    def _summed(self, rows: Any, add_to: Callable[[Integers], None]) -> Integers:
        """``[bundle, class, joint code]`` of what is added, the joint codes that there are."""
        values = np.zeros((len(self._in_use), 2, 2, N_CODES), dtype=np.int64)
        add_to(values)
        summed: Integers = values.sum(axis=2)[self._in_use]
        return summed

    def do_margin_range(self, key: str) -> tuple[float, float]:
        rows = self._samples[key]
        return rows.margin_range() if len(rows) else (np.inf, -np.inf)

    def do_count_margins(
        self, key: str, grid: float, shift: int, lowest: int, n_buckets: int
    ) -> tuple[NDArray[np.int32], Integers]:
        """The mass per bucket and cell, where there is any."""
        counts = self._samples[key].count_margins(grid, shift, lowest, n_buckets).ravel()
        there = np.flatnonzero(counts)
        return there.astype(np.int32), counts[there]

    def do_list_margins(self, key: str) -> tuple[Floats, NDArray[Any], Integers]:
        """The distinct margins of each cell, and their mass."""
        margin, cell, mass = self._samples[key].list_margins()
        found = [(np.empty(0), np.empty(0, dtype=cell.dtype), np.empty(0, dtype=np.int64))]
        for k in range(2 * self._n_groups):
            there = cell == k
            values, inverse = np.unique(margin[there], return_inverse=True)
            weights = mass[there] if len(mass) else None
            sums = np.bincount(inverse, weights=weights, minlength=len(values)).astype(np.int64)
            found.append((values, np.full(len(values), k, dtype=cell.dtype), sums))
        margins, cells, masses = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return margins, cells, masses

    def do_count_pairs(self, key: str | None, pairs: Sequence[tuple[Any, ...]]) -> list[Integers]:
        """The mass in the cells of pairs of columns, of a sample or of all rows."""
        if key is not None:
            counts: list[Integers] = self._samples[key].count_pairs(pairs)
            return counts
        each = [count_pairs(part.codes, part.masses, pairs) for part in self._parts]
        return [np.sum(of_pair, axis=0) for of_pair in zip(*each, strict=True)]

    def do_margins(self, effects: Effects, bundles: Bundles, rows: dict[int, NDArray[np.uint8]]) -> dict[int, Floats]:
        """What tables say about some rows of each partition."""
        found = {}
        for part in self._parts:
            chosen = np.flatnonzero(np.unpackbits(rows[part.number], count=len(part.cell)))
            found[part.number] = CodeTable(bundles, part.codes).margins(effects, chosen)
        return found

    def do_take(self, rows: dict[int, NDArray[np.uint8]]) -> dict[int, CodedPart]:
        """Some rows of each partition, as they are."""
        found = {}
        for part in self._parts:
            chosen = np.flatnonzero(np.unpackbits(rows[part.number], count=len(part.cell)))
            found[part.number] = join_parts([part], chosen)
        return found


def codes_in_use(sizes: Integers) -> NDArray[np.bool_]:
    """``[bundle, class, joint code]``: whether there is such a code."""
    return np.repeat((np.arange(N_CODES) < sizes[:, None])[:, None], 2, axis=1)


def find_present(bundles: Bundles, masses: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which columns have missing values, and which categories that share the code *other*, from
    ``masses[class, bundle, joint code]``.
    """
    has_missing, has_other = np.zeros((2, len(bundles.bundle_of)), dtype=np.bool_)
    there = masses.sum(axis=0) > 0
    for f, column in enumerate(bundles.binner.columns):
        codes = bundles.code_of[f][there[bundles.bundle_of[f]]]
        has_missing[f] = (codes == MISSING).any()
        has_other[f] = column.categorical and (codes == column.n_bins + 1).any()
    return has_missing, has_other
