"""The rows of a sample on a cluster, at both ends: a shard of them on each worker, and here the sums over all shards.

A shard knows nothing of boosting. It is told which passes to make over the rows of its samples, as
:class:`~parityboost._engine.cpu.CpuRows` is on one machine, which makes them there too, and answers with sums.
A :class:`RemoteSample` has the same passes and adds up the answers. What needs no answer is put off until an answer is
wanted, so that a round has two messages: one with the tree, which is answered by counts, and one with the new weights'
factors, which is answered by what the histograms gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import N_CODES, Codes, Floats, Integers
from .._engine.cpu import NONE, Classes, Grown, count_pairs
from .._engine.threads import Team
from .._fit.samples import CodedSample, Masses, Sample, merge_equal_rows
from .._model.tables import Effects
from .._table.binning import Bundles
from ._columns import part_sources
from ._crew import Reply, Session
from ._rows import Held, Rows

Array = NDArray[Any]
# Rows that are held out, or are not; or by the number of a partition packed bits that tell its rows.
Which = bool | dict[int, NDArray[np.uint8]]

NO_CODES = np.empty((0, 0), dtype=np.uint8)  # they are where the rows are
NOT_KNOWN = np.zeros(0, dtype=np.bool_)  # and not needed


class CodedPart(NamedTuple):
    """A partition as codes: the rows that count, and which of them are held out."""

    number: int
    codes: Codes  # [bundle, row]
    cell: NDArray[Any]
    masses: Integers  # empty for one each
    held: NDArray[np.bool_]

    def positions(self, which: Which) -> NDArray[np.intp]:
        """Of some rows."""
        if isinstance(which, dict):
            return np.flatnonzero(np.unpackbits(which[self.number], count=len(self.cell)))
        return np.flatnonzero(self.held == which)


def encode_part(
    number: int, x: Any, rows: Rows, held: Held, exponent: int, is_new: bool, bundles: Bundles
) -> CodedPart:
    """The codes of a partition; nothing else is kept of it. ``exponent`` is that of the sample weights' unit, and
    ``is_new`` says that the bins were not learnt from it.
    """
    sources = part_sources(number, x, rows)
    if is_new:
        bundles.binner.check(sources)
    with Team(1) as team:
        codes = bundles.consume(bundles.binner.encode(sources, rows.positions, team))
    return CodedPart(number, codes, rows.cell, rows.masses(exponent), rows.is_held(held))


def codes_at(parts: Sequence[CodedPart], chosen: NDArray[np.intp]) -> Codes:
    """The codes of some rows, column by column: there shall be no second copy of them all."""
    codes = np.empty((len(parts[0].codes), len(chosen)), dtype=parts[0].codes.dtype)
    for b in range(len(codes)):
        codes[b] = np.concatenate([part.codes[b] for part in parts])[chosen]
    return codes


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
    return merge_equal_rows(CodedSample(sample, codes_at(parts, sample.rows)))


class Shard:
    """The rows of some partitions, in samples, with whatever training keeps of each row; an actor on a worker.

    ``bundles`` tells what the codes mean. Of histograms, the joint codes that there are travel.
    """

    def __init__(self, parts: list[CodedPart], n_groups: int, bundles: Bundles) -> None:
        self._parts = sorted(parts, key=lambda part: part.number)
        self._n_groups, self._bundles = n_groups, bundles
        self._in_use = codes_in_use(bundles.sizes)
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

    def do_make(self, key: str, rows: Which) -> tuple[int, int, Integers, Integers, Integers]:
        """Make a sample of some rows.

        The number of rows given and kept, their number and sample weight per cell, and the weight per [class, bundle,
        joint code].
        """
        firsts = np.cumsum([0, *(len(part.cell) for part in self._parts)]).tolist()
        each = [first + part.positions(rows) for first, part in zip(firsts, self._parts, strict=False)]
        coded = to_sample(self._parts, np.concatenate(each), self._n_groups, self._team)
        sample = coded.sample
        placed = sample.place(coded.codes, self._bundles.bundle_of)
        self._samples[key] = placed
        return sample.n_given, len(sample), sample.sizes.astype(np.int64), sample.cell_mass, placed.sum_masses()

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
        classes = Classes(sums, nothing, nothing, nothing, sums.copy(), sums.copy(), bits, is_renewed, nothing)
        getattr(rows, name)(*([] if given is None else [given]), classes)
        return sums, self._summed(rows.add_changes)

    def do_put_into_leaves(self, key: str, grown: Grown) -> Integers | None:
        """Of a tree that is more than a stump, the mass per [leaf, class]."""
        mass: Integers = self._samples[key].put_into_leaves(grown)
        return mass if len(mass) else None

    def do_side(self, key: str, grown: Grown, side: int) -> Any:
        """The histograms of the rows on one side of a tree's first split."""
        return self._summed(lambda histograms: self._samples[key].add_side(grown, side, histograms))

    def _summed(self, add_to: Callable[[Integers], None]) -> Any:
        """``[bundle, class, joint code]`` of what is added, the joint codes that there are."""
        values = np.zeros((len(self._in_use), 2, 2, N_CODES), dtype=np.int64)
        add_to(values)
        return values.sum(axis=2)[self._in_use]

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
        order = np.lexsort((margin, cell))
        margin, cell = margin[order], cell[order]
        mass = mass[order] if len(mass) else np.ones(len(order), dtype=np.int64)
        starts = np.flatnonzero(np.append(True, (margin[1:] != margin[:-1]) | (cell[1:] != cell[:-1]))[: len(order)])
        return margin[starts], cell[starts], np.add.reduceat(mass, starts) if len(starts) else mass

    def do_count_pairs(self, key: str | None, pairs: Sequence[tuple[Any, ...]]) -> Any:
        """The mass in the cells of pairs of columns, of a sample or of all rows."""
        if key is not None:
            return self._samples[key].count_pairs(pairs)
        return sum_each([count_pairs(part.codes, part.masses, pairs) for part in self._parts])

    def do_margins(self, effects: Effects, rows: Which) -> dict[int, Floats]:
        """What tables say about some rows of each partition."""
        places = self._bundles.bundle_of, self._bundles.code_of
        return {part.number: effects.margins(part.codes, *places, part.positions(rows)) for part in self._parts}

    def do_take(self, rows: Which, firsts: dict[int, int], every: int) -> dict[int, CodedPart]:
        """Every so many of some rows, of which a partition's first one is number ``firsts``, as they are."""
        found = {}
        for part in self._parts:
            chosen = part.positions(rows)
            chosen = chosen[(np.arange(len(chosen)) + firsts[part.number]) % every == 0]
            arrays = codes_at([part], chosen), part.cell[chosen], masses_at([part], chosen)
            found[part.number] = CodedPart(part.number, *arrays, NOT_KNOWN)
        return found


class RemoteSample(Sample):
    """A sample whose rows are on the workers, with the passes of :class:`~parityboost._engine.cpu.CpuRows`.

    ``key`` is its name there, ``unit`` what a mass of one weighs, and ``team`` does what is done here.
    """

    def __init__(
        self, session: Session, key: str, rows: Which, n_groups: int, unit: float, bundles: Bundles, team: Team
    ) -> None:
        self._session, self._key = session, key
        made = session.later("make", key, rows, combine=sum_each).read()
        self.n_given, self._n_rows, self.sizes, self.cell_mass, self._mass_of = made
        self.n_groups, self.team, self.masses = n_groups, team, Masses(np.empty(0, dtype=np.int64), unit)
        self.n_negative = int(self.sizes[:n_groups].sum())
        self.totals = (self.cell_mass.astype(np.float64) * unit).reshape(2, n_groups).T
        self._in_use = codes_in_use(bundles.sizes)
        self._gained = np.zeros(self._in_use.shape, dtype=np.int64)  # what the histograms have not been told

    def __len__(self) -> int:
        return int(self._n_rows)

    def place(self, codes: Any, bundle_of: Any) -> RemoteSample:
        """They are where they are."""
        return self

    def _later(self, name: str, *given: Any, combine: Any = sum) -> Reply:
        return self._session.later(name, self._key, *given, combine=combine)

    def start_weights(self, start: Array, classes: Classes) -> None:
        self._change("start_weights", start, classes)

    def change_weights(self, factors: Array, classes: Classes) -> None:
        self._change("change_weights", factors, classes)

    def list_anew(self, classes: Classes) -> None:
        self._change("list_anew", None, classes)

    def _change(self, name: str, given: Array | None, classes: Classes) -> None:
        # Copies, because a worker that comes later is told all of it again, and these are used again.
        told = None if given is None else given.copy(), classes.bits.copy(), classes.is_renewed.copy()
        sums, gained = self._later("weights", name, *told, combine=sum_each).read()
        classes.sums[:] = sums
        self._gained[:, classes.is_renewed] = 0  # all that these weigh is listed anew
        self._gained[self._in_use] += gained

    def add_changes(self, histograms: Array) -> None:
        """The even and the odd places of one machine's histograms are added up at once."""
        histograms[:, :, 0] += self._gained
        self._gained[:] = 0

    def add_side(self, grown: Grown, side: int, histograms: Array) -> None:
        histograms[:, :, 0][self._in_use] += self._later("side", _told(grown), side).read()

    def put_into_leaves(self, grown: Grown) -> Any:
        reply = self._later("put_into_leaves", _told(grown))
        # Of a tree it is read once the counts have been asked for; of a stump it is known.
        return reply if (grown.features[1:] != NONE).any() else grown.leaf_mass.copy()

    def move_margins(self, steps: Array, threshold: float, learner_too: bool) -> Reply:
        return self._later("move_margins", steps, threshold, learner_too)

    def sum_wrong(self, wrong: Array) -> Any:
        return self._later("sum_wrong", wrong).read()

    def sum_masses(self) -> Any:
        return self._mass_of

    def count_pairs(self, pairs: Sequence[tuple[Any, ...]]) -> Any:
        return self._later("count_pairs", pairs, combine=sum_each).read()

    def list_margins(self) -> tuple[Array, Array, Array]:
        parts = self._later("list_margins", combine=list).read()
        margins, cells, masses = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return margins, cells, masses

    def margin_range(self) -> tuple[float, float]:
        lowest, highest = zip(*self._later("margin_range", combine=list).read(), strict=True)
        return min(lowest), max(highest)

    def count_margins(self, grid: float, shift: int, lowest: int, n_buckets: int) -> Array:
        counts = np.zeros(n_buckets * len(self.sizes), dtype=np.int64)
        for places, masses in self._later("count_margins", grid, shift, lowest, n_buckets, combine=list).read():
            counts[places] += masses
        return counts.reshape(n_buckets, len(self.sizes))


def codes_in_use(sizes: Integers) -> NDArray[np.bool_]:
    """``[bundle, class, joint code]``: whether there is such a code."""
    return np.repeat((np.arange(N_CODES) < sizes[:, None])[:, None], 2, axis=1)


def sum_each(answers: list[Any]) -> list[Any]:
    """Sums of several things at once."""
    return [sum(each) for each in zip(*answers, strict=True)]


def _told(grown: Grown) -> Grown:
    """What shards have to know of a tree; a copy, because it is put off and written down."""
    is_split = (grown.features[1:] != NONE).any()
    told = {"features", "side_of_code", "leaf_of_code" if is_split else "root_leaves"}
    return Grown(*(part.copy() if name in told else part[:0] for name, part in grown._asdict().items()))
