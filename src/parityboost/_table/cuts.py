"""Where to cut a column of numbers into bins of about equal weight.

The cuts depend on the values and their weights alone, not on the order of the rows or on how they are spread over
machines: what is learnt from parts of the rows are counts, and counts add up. Up to ``EXACT_ROWS`` rows are sorted. Of
more rows, the distinct values are counted if they are few; else it is counted how much weight falls on each *stretch*
of the number line. A stretch that holds much of the weight, and more than one value, is divided further, so a value
that is heavy on its own is found, whatever is next to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats, Integers, to_host
from .._engine.columns import kernels_for

Keys = NDArray[np.uint64]

EXACT_ROWS = 1 << 18
# So many distinct values are counted one by one, however many rows there are.
MAX_COUNTED = 1 << 12
# So many stretches the number line is divided into at first, and at most any one of them later.
N_STRETCHES = 1 << 12
# A stretch of more than this share of the weight is divided into stretches of about a fourth of it.
LARGE_SHARE = 1 / (1 << 11)


class Stretches(NamedTuple):
    """Pieces of the number line that hold values, ascending, from the lowest to the highest that may be in them."""

    lowest: Floats
    highest: Floats
    mass: Floats

    def edges(self, max_bins: int) -> Floats:
        """The edges of bins of about equal weight, half-way between stretches."""
        cuts = equal_mass_cuts(self.mass, max_bins)
        below, above = self.highest[cuts], self.lowest[cuts + 1]
        edges = below / 2 + above / 2  # halved first: no overflow
        # The midpoint of two neighbouring floats may round to the upper one, which would then move to the left bin.
        return np.where(edges >= above, below, edges)


def find_stretches(values: Floats, weights: Integers | None) -> Stretches:
    """Stretches of single values, or short ones if there are very many rows; NaN is left out."""
    present = ~np.isnan(values)
    if not present.all():
        values, weights = values[present], None if weights is None else weights[present]
    if len(values) <= EXACT_ROWS:
        return sorted_values(to_host(values), to_host(weights))
    weights = np.empty(0, dtype=np.int64) if weights is None else weights
    return _counted_values(values, weights) or _counted_stretches(values, weights)


def _counted_values(values: Floats, weights: Integers) -> Stretches | None:
    """The distinct values, if they are few."""
    distinct, masses = np.empty(MAX_COUNTED), np.empty(MAX_COUNTED, dtype=np.int64)
    n_distinct = kernels_for(values).find_masses(values, weights, distinct, masses)
    if n_distinct > MAX_COUNTED:
        return None
    order = np.argsort(distinct[:n_distinct])
    return Stretches(distinct[order], distinct[order], masses[order].astype(np.float64))


def sorted_values(values: Floats, weights: Integers | None) -> Stretches:
    if weights is None:
        values = np.sort(values)
        last = np.flatnonzero(np.append(values[1:] > values[:-1], True))
        return Stretches(values[last], values[last], np.diff(last, prepend=-1).astype(np.float64))
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    first = np.flatnonzero(np.append(True, values[1:] > values[:-1]))
    return Stretches(values[first], values[first], np.add.reduceat(weights, first).astype(np.float64))


def _counted_stretches(values: Floats, weights: Integers) -> Stretches:
    """Count level by level, dividing what is too heavy.

    Numbers are counted by their *keys*: the bits of a float as an integer, in the order of the numbers. A stretch is
    2^shift keys long, so the key of a value tells its stretch without a search.
    """
    kernels = kernels_for(values)
    division = Division(float(values.min()), float(values.max()))
    for question in division.questions():
        if question.wanted is None:
            kernels.count_keys(values, weights, *question.where, question.tree.mass)
        else:
            kernels.look_into(values, *question.where, question.wanted, question.tree.one_value, question.tree.is_mixed)
    return division.stretches()


class Division:
    """How the number line between two values is divided: it asks, and whoever has the values counts.

    The answers to a question are sums over the values, or tell whether all are one: they can be put together from
    answers about parts of the values.
    """

    def __init__(self, lowest: float, highest: float) -> None:
        self._start, self._end = to_keys(np.array([lowest, highest]))
        length = int(self._end) - int(self._start)
        self._shift = max(length.bit_length() - N_STRETCHES.bit_length() + 1, 0)
        starts = np.arange((length >> self._shift) + 1, dtype=np.uint64) << np.uint64(self._shift)
        self._tree = Tree.of(starts, self._shift)

    def questions(self) -> Iterator[Question]:
        """One after another; each has to be answered, in its tree, before the next is asked for."""
        yield self._ask(0)
        mass = self._tree.mass
        # What is much heavier than a bin can only be a value of its own: it shall not spoil the measure for the others.
        large = LARGE_SHARE * np.minimum(mass, mass.sum() / 64).sum()
        chosen = np.flatnonzero((mass > large) & (self._tree.shifts > 0))
        while len(chosen):
            first_new = len(self._tree.mass)
            self._tree = tree = self._tree.divide(chosen, large)
            yield self._ask(first_new)
            wanted = (np.arange(len(tree.mass)) >= first_new) & (tree.mass > large) & (tree.shifts > 0)
            if wanted.any():
                yield self._ask(first_new, wanted)
            chosen = np.flatnonzero(wanted & tree.is_mixed)

    def _ask(self, first_new: int, wanted: NDArray[np.bool_] | None = None) -> Question:
        return Question(self._start, self._shift, self._tree, first_new, wanted)

    def stretches(self) -> Stretches:
        """What came of it."""
        tree, start = self._tree, self._start
        kept = np.flatnonzero((tree.parts_of < 0) & (tree.mass > 0))
        kept = kept[np.argsort(tree.starts[kept])]
        lowest, lengths = start + tree.starts[kept], np.uint64(1) << tree.shifts[kept].astype(np.uint64)
        highest = np.minimum(lowest + (lengths - np.uint64(1)), self._end)
        known = ~np.isnan(tree.one_value[kept]) & ~tree.is_mixed[kept]
        return Stretches(
            np.where(known, tree.one_value[kept], to_floats(lowest)),
            np.where(known, tree.one_value[kept], to_floats(highest)),
            tree.mass[kept].astype(np.float64),
        )


class Question(NamedTuple):
    """How much weight falls on the new stretches of a tree; or which one value occurs in those that are ``wanted``."""

    start: int
    shift: int
    tree: Tree
    first_new: int
    wanted: NDArray[np.bool_] | None

    @property
    def where(self) -> tuple[int, int, Integers, Integers, int]:
        """What tells the stretch of a value."""
        return self.start, self.shift, self.tree.parts_of, self.tree.part_shift, self.first_new


class Tree(NamedTuple):
    """Stretches, and the parts of those that were divided, all of one level behind those of the level before."""

    starts: Keys  # counted from the start of the first one
    shifts: Integers  # each is 2^shift keys long
    parts_of: Integers  # where its parts begin, -1 if it is whole
    part_shift: Integers
    mass: Integers
    one_value: Floats  # that occurs in it, NaN where nobody looked
    is_mixed: NDArray[np.bool_]  # whether there are others

    @classmethod
    def of(cls, starts: Keys, shifts: int | Integers) -> Tree:
        n = len(starts)
        zeros = np.zeros(n, dtype=np.int64)
        return cls(
            starts, zeros + shifts, zeros - 1, zeros.copy(), zeros.copy(), np.full(n, np.nan), np.zeros(n, np.bool_)
        )

    def divide(self, chosen: NDArray[np.intp], large: float) -> Tree:
        """With parts of the chosen stretches, each of about ``large / 4`` if the weight is spread evenly."""
        n_bits = np.ceil(np.log2(4.0 * self.mass[chosen] / large)).astype(np.int64)
        n_bits = np.minimum(np.minimum(n_bits, N_STRETCHES.bit_length() - 1), self.shifts[chosen])
        sizes = np.left_shift(1, n_bits)
        firsts = np.cumsum(sizes) - sizes
        self.parts_of[chosen] = len(self.starts) + firsts
        self.part_shift[chosen] = self.shifts[chosen] - n_bits
        shifts = np.repeat(self.part_shift[chosen], sizes)
        place = (np.arange(sizes.sum()) - np.repeat(firsts, sizes)).astype(np.uint64)
        parts = Tree.of(np.repeat(self.starts[chosen], sizes) + (place << shifts.astype(np.uint64)), shifts)
        return Tree(*(np.append(old, new) for old, new in zip(self, parts, strict=True)))


def to_keys(values: Floats) -> Keys:
    """Integers in the order of the floats; -0.0 is 0.0."""
    bits = (values + 0.0).view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def to_floats(keys: Keys) -> Floats:
    """The floats that the keys stand for."""
    sign = np.uint64(1 << 63)
    floats: Floats = np.where(keys & sign, keys ^ sign, ~keys).view(np.float64)
    return floats


def equal_mass_cuts(mass: Floats, max_bins: int) -> NDArray[np.intp]:
    """Positions after which to cut ascending values so that the bins weigh about the same.

    A value heavier than a bin gets one bin of its own and counts as exactly one bin, so that a column of mostly zeros
    still spends the other bins on what is not zero.
    """
    if len(mass) <= max_bins:
        return np.arange(len(mass) - 1)
    cap = mass.sum() / max_bins
    while True:
        heavy = mass > cap
        lower_cap = mass[~heavy].sum() / (max_bins - heavy.sum())
        if lower_cap >= cap or heavy.sum() >= max_bins - 1:
            break
        cap = lower_cap
    filled = np.cumsum(np.minimum(mass, cap)) / cap
    # A bin ends with the value that fills it; the small number lets a bin that is full but for rounding end as well.
    full = np.floor(filled + 1e-9)
    return np.flatnonzero(np.diff(full, prepend=0.0)[:-1] > 0)[: max_bins - 1]
