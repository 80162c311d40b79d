"""What a worker keeps of its partitions, and does in each round: a shard of the rows.

A shard knows nothing of boosting. It is told which passes to make over its rows, as the backend for one machine is
(:class:`~parityboost._engine.cpu.Cpu`, which makes them), and answers with sums. Its arrays have names; whoever tells
it what to do knows no more of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Floats, Integers
from .._engine.codes import MISSING, N_CODES
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


@dataclass(frozen=True)
class Ref:
    """The name of an array that a shard keeps, for whoever is elsewhere."""

    sample: str
    name: str
    length: int = 0
    index: int | None = None

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, at: Any) -> Ref:
        """One column of codes; a slice is of blocks, and all of them."""
        return self if isinstance(at, slice) else replace(self, index=int(at))

    def __setitem__(self, at: Any, value: Any) -> None:
        """What was listed is forgotten by the next pass that lists."""

    @property
    def nbytes(self) -> int:
        return 0


class Shard:
    """The rows of some partitions, in samples, with whatever training keeps of each row; an actor on a worker.

    Parameters
    ----------
    parts : list of CodedPart
        The partitions.
    n_groups : int
        Number of groups.
    sizes : ndarray of shape (n_bundles,)
        Number of joint codes of each bundle; those of its histograms travel.
    """

    def __init__(self, parts: list[CodedPart], n_groups: int, sizes: Integers) -> None:
        self._parts = sorted(parts, key=lambda part: part.number)
        self._n_groups = n_groups
        self._in_use = codes_in_use(sizes)
        self._team = Team(1)
        self._cpu = self._team.backend
        self._samples: dict[str, CodedSample] = {}
        self._arrays: dict[tuple[str, str], Any] = {}

    def run(self, commands: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
        """Do one thing after another: the answers."""
        return [getattr(self, f"do_{name}")(*map(self._resolve, given)) for name, given in commands]

    def replay(self, commands: list[tuple[str, tuple[Any, ...]]]) -> None:
        """Do all that was done to lost rows; nobody wants to hear the answers again."""
        self.run(commands)

    def _resolve(self, given: Any) -> Any:
        if isinstance(given, Ref):
            array = self._arrays[given.sample, given.name]
            return array if given.index is None else array[given.index]
        return tuple(map(self._resolve, given)) if type(given) is tuple else given

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
        self._samples[key] = coded
        kept = {"codes": coded.codes, "blocks": sample.blocks, "mass": sample.masses.values, "margin": sample.margin}
        self._arrays |= {(key, name): array for name, array in kept.items()}
        return sample.n_given, len(sample), sample.sizes.astype(np.int64), sample.cell_mass

    def do_forget(self, key: str | None) -> None:
        """Let go of a sample, or of the partitions once all samples are made."""
        if key is None:
            self._parts = []
            return
        self._samples.pop(key, None)
        for name in [name for name in self._arrays if name[0] == key]:
            del self._arrays[name]

    def do_allocate(self, key: str, name: str, kind: str) -> None:
        """Room for a number per row or block, or for lists of rows."""
        n_rows, n_blocks = len(self._samples[key].sample), len(self._samples[key].sample.blocks)
        if kind == "lists":
            self._arrays[key, name] = self._cpu.lists(n_rows, n_blocks)
        else:
            self._arrays[key, name] = np.zeros(n_rows) if kind == "rows" else np.zeros(n_blocks, dtype=np.int64)

    def do_move_margins(
        self, key: str, leaves: Any, steps: Floats, threshold: float, learner_too: bool, margin: Floats
    ) -> Integers:
        """The positive predictions per cell."""
        sample = self._samples[key].sample
        blocks, positives = self._cpu.move_margins(
            leaves, steps, threshold, learner_too, margin, sample.masses.values, sample.blocks, 2 * self._n_groups
        )
        return self._per_cell(blocks, positives)

    def do_fill_weights(self, key: str, start: Floats, weights: Floats) -> None:
        self._cpu.fill_weights(self._samples[key].sample.blocks, start, weights)

    def do_scale_weights(self, key: str, y: int, factor: float, weights: Floats) -> None:
        self._cpu.scale_weights(self._samples[key].sample.blocks, self._n_groups, y, factor, weights)

    def do_change_weights(
        self, key: str, leaves: Any, factors: Floats, weights: Floats, lists: Any, sums: Integers
    ) -> tuple[Integers, Integers]:
        """The sum of the integers per class, and what the histograms gain."""
        sample = self._samples[key].sample
        blocks = sample.blocks
        self._cpu.change_weights(leaves, factors, weights, sample.masses.values, blocks, len(blocks), lists, sums)
        return self._class_sums(blocks, sums), self._histograms(key, lists)

    def do_list_everything(
        self, key: str, weights: Floats, classes: Collection[int], lists: Any, sums: Integers
    ) -> tuple[Integers, Integers]:
        """The same of all rows of some classes, with all that they weigh."""
        sample = self._samples[key].sample
        blocks = sample.blocks
        self._cpu.list_everything(
            weights, sample.masses.values, blocks, 0, len(blocks), self._n_groups, classes, lists, sums
        )
        return self._class_sums(blocks, sums), self._histograms(key, lists)

    def do_list_leaf(self, key: str, leaves: Any, leaf: int, weights: Floats, lists: Any) -> Integers:
        """The histograms of the rows in one leaf."""
        sample = self._samples[key].sample
        self._cpu.list_leaf(leaves, leaf, weights, sample.masses.values, sample.blocks, lists)
        return self._histograms(key, lists)

    def do_sum_wrong(self, key: str, leaves: Any, wrong: NDArray[np.bool_], weights: Floats) -> Integers:
        sample = self._samples[key].sample
        sums: Integers = self._cpu.sum_wrong(leaves, wrong, weights, sample.masses.values, sample.blocks)
        return sums

    def do_split_leaves(
        self, key: str, name: str, column: Codes, side_of_code: Codes, columns: tuple[Codes, Codes], leaf_of_code: Codes
    ) -> Integers:
        """Keep the leaves of a tree under a name; the sample weight per [cell, leaf]."""
        sample = self._samples[key].sample
        leaves, mass = self._cpu.split_leaves(
            column, side_of_code, columns, leaf_of_code, sample.masses.values, sample.blocks, 2 * self._n_groups
        )
        self._arrays[key, name] = leaves
        per_leaf: Integers = mass
        return per_leaf

    def do_sum_masses(self, key: str) -> Integers:
        coded = self._samples[key]
        sample = coded.sample
        sums: Integers = self._cpu.sum_masses(
            coded.codes, sample.masses.values, sample.n_negative, sample.blocks, self._n_groups
        )
        return sums

    def do_range_of(self, margin: Floats) -> tuple[float, float]:
        return float(margin.min(initial=np.inf)), float(margin.max(initial=-np.inf))

    def do_count_margins(
        self, key: str, margin: Floats, grid: float, shift: int, lowest: int, n_buckets: int
    ) -> tuple[NDArray[np.int32], Integers]:
        """The mass per bucket and cell, where there is any."""
        sample = self._samples[key].sample
        n_cells = 2 * self._n_groups
        counts = self._cpu.count_margins(
            margin, grid, shift, lowest, n_buckets, sample.cell, sample.masses.values, sample.blocks, n_cells
        ).ravel()
        there = np.flatnonzero(counts)
        return there.astype(np.int32), counts[there]

    def do_list_margins(self, key: str, margin: Floats) -> tuple[Floats, NDArray[Any], Integers]:
        """The distinct margins of each cell, and their mass."""
        sample = self._samples[key].sample
        found = [(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        stops = np.cumsum(sample.sizes)
        for cell, (first, stop) in enumerate(zip((stops - sample.sizes).tolist(), stops.tolist(), strict=True)):
            values, inverse = np.unique(margin[first:stop], return_inverse=True)
            mass = sample.masses.values[first:stop] if len(sample.masses.values) else None
            sums = np.bincount(inverse, weights=mass, minlength=len(values)).astype(np.int64)
            found.append((values, np.full(len(values), cell), sums))
        margins, cells, masses = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        return margins, cells, masses

    def do_count_pairs(self, key: str | None, pairs: Sequence[tuple[Any, ...]]) -> list[Integers]:
        """The mass in the cells of pairs of columns, of a sample or of all rows."""
        if key is not None:
            coded = self._samples[key]
            counts: list[Integers] = self._cpu.count_pairs(coded.codes, coded.sample.masses.values, pairs)
            return counts
        each = [self._cpu.count_pairs(part.codes, part.masses, pairs) for part in self._parts]
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

    def _per_cell(self, blocks: Integers, per_block: Integers) -> Integers:
        sums = np.zeros((2 * self._n_groups, per_block.shape[1]), dtype=np.int64)
        np.add.at(sums, blocks[:, 0], per_block)
        return sums

    def _class_sums(self, blocks: Integers, per_block: Integers) -> Integers:
        sums = np.zeros(2, dtype=np.int64)
        self._cpu.sum_per_class(blocks, per_block, self._n_groups, len(blocks), sums)
        return sums

    def _histograms(self, key: str, lists: Any) -> Integers:
        """``[bundle, class, joint code]`` of what is listed, the joint codes that there are."""
        coded = self._samples[key]
        values = np.zeros((len(coded.codes), 2, 2, N_CODES), dtype=np.int64)
        self._cpu.add_to_histograms(coded.codes, lists, coded.sample.blocks, self._n_groups, values)
        summed: Integers = values.sum(axis=2)[self._in_use]
        return summed


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
