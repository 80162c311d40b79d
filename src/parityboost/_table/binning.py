"""Columns of any dtype to ``uint8`` codes, and several columns in one byte.

Code 0 means missing, codes 1, 2, … are the bins of a column: its distinct values when there are at most ``max_bins`` of
them, else bins of about equal weight, or its categories. The code after the last category means *other*: a category too
rare to have a code of its own, or one that was never seen. The weak learner sees codes only, so missing values,
categories and numbers cost it the same.

A *source* gives access to a column as the user handed it over; a *column* is what was learnt about it.

Where a column of numbers is cut depends on the values and their weights alone, not on the order of the rows or on how
they are spread over machines: what is learnt from parts of the rows are counts, and counts add up. Up to ``EXACT_ROWS``
rows are sorted. Of more rows, the distinct values are counted if they are few; else it is counted how much weight falls
on each *stretch* of the number line. A stretch that holds much of the weight, and more than one value, is divided
further, so a value that is heavy on its own is found, whatever is next to it.

Columns with few bins waste most of a byte: sex, race and marital status together have fewer than 256 combinations. A
*bundle* is a set of columns whose combinations fit into one byte, and a *joint code* numbers them. Training passes over
the bundles, which are fewer than the columns; the histogram of a column is a sum over the joint codes of its bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import MAX_CATEGORIES, MISSING, N_CODES, X_BINNED_DTYPE, Codes, Floats, Integers, Rows, to_host
from .._caller import warn_caller
from .._engine.threads import Team, kernels_for
from .sources import CategorySource, NumberSource, PlacedNumbers, Source, raise_infinite
from .values import plain, sort_key

Keys = NDArray[np.uint64]

EXACT_ROWS = 1 << 18
# So many distinct values are counted one by one, however many rows there are.
MAX_COUNTED = 1 << 12
# So many stretches the number line is divided into at first, and at most any one of them later.
N_STRETCHES = 1 << 12
# A stretch of more than this share of the weight is divided into stretches of about a fourth of it.
LARGE_SHARE = 1 / (1 << 11)
# Where sets of categories are split, one of fewer rows is taken with others: it would go wherever chance has put it.
LEAST_ROWS = 5
# If more than fit into a byte have so many rows, they share codes with others of a similar share of positives. Those of
# fewer rows would tell the model their labels by the company that they keep.
MANY_ROWS, SMOOTH_ROWS = 50, 5


@dataclass(frozen=True)
class NumericColumn:
    """Bins of numbers: x has code ``1 + #{edge < x}``, so x ≤ edge stays on the left, as in scikit-learn."""

    name: str
    edges: Floats
    n_bins: int
    categorical = False

    @property
    def codes(self) -> tuple[int, ...]:
        """The code of each bin."""
        return tuple(range(1, self.n_bins + 1))

    @property
    def n_codes(self) -> int:
        """How many codes there are, from 0 on."""
        return self.n_bins + 1

    @classmethod
    def fit(cls, source: Source, rows: Rows, weights: NDArray[Any] | None, max_bins: int) -> NumericColumn:
        """Learn the bins from some rows; ``weights`` belong to these rows."""
        values = source.floats(rows)
        distinct = np.empty(max_bins)
        n_distinct = kernels_for(values).find_distinct(values, distinct)
        if n_distinct <= max_bins:
            distinct = np.sort(distinct[:n_distinct])
            stretches = Stretches(distinct, distinct, np.ones(n_distinct))
        else:
            stretches = find_stretches(values, source.place(weights) if isinstance(source, PlacedNumbers) else weights)
        return cls.of(source.name, stretches, max_bins)

    @classmethod
    def of(cls, name: str, stretches: Stretches, max_bins: int) -> NumericColumn:
        """From what is known about the values; there may be none."""
        n_distinct = len(stretches.mass)
        if n_distinct and np.isinf([stretches.lowest[0], stretches.highest[-1]]).any():
            raise_infinite(name)
        edges = stretches.edges(max_bins)
        return cls(name, edges, len(edges) + 1 if n_distinct else 0)

    def check(self, source: Source) -> None:
        """Whether it is still the kind of column that was learnt from."""
        if not source.holds_numbers and self.n_bins:  # a column that held nothing is of any kind
            raise ValueError(f"column {self.name!r} held numbers in training, got {source.kind} values")

    def encode(self, source: Any, rows: Rows) -> Codes:
        """Codes of some rows."""
        if self.n_bins == 0:  # nothing was learnt about it: whatever it holds is unseen
            unseen: Codes = np.full(len(source), MISSING, dtype=X_BINNED_DTYPE)[to_host(rows)]
            return unseen
        values = source.floats(rows)
        codes = np.empty_like(values, dtype=X_BINNED_DTYPE)
        if not kernels_for(values).encode_numbers(values, self.edges, codes):
            raise_infinite(self.name)
        return codes


class Ranking(NamedTuple):
    """Which rows are positive, so that categories can be ranked by it, and how many rows a mass of one stands for."""

    positive: NDArray[np.bool_]
    rows_per_mass: float


@dataclass(frozen=True)
class CategoricalColumn:
    """The categories of a column, sorted; category i has code i + 1, and all others share the code after the last.

    If there are more categories than codes, those with a similar share of positives can share one: then ``shared`` has
    the code of each. In models of the first file format there was no code for others: they counted as missing.
    """

    name: str
    categories: tuple[Any, ...]
    mixed: bool = False  # held text and numbers, though the categories that were kept may all be of one kind
    others_are_missing: bool = False
    shared: tuple[int, ...] | None = None
    categorical = True

    @property
    def codes(self) -> tuple[int, ...]:
        """The code of each category."""
        return tuple(range(1, len(self.categories) + 1)) if self.shared is None else self.shared

    @property
    def n_bins(self) -> int:
        return len(self.categories) if self.shared is None else max(self.shared)

    @property
    def other(self) -> int:
        """The code of whatever is none of the categories."""
        return MISSING if self.others_are_missing else self.n_bins + 1

    @property
    def n_codes(self) -> int:
        """How many codes there are, from 0 on."""
        return max(self.other, self.n_bins) + 1

    @classmethod
    def fit(
        cls, source: Source, rows: Rows, weights: NDArray[Any] | None, max_bins: int, ranking: Ranking | None = None
    ) -> CategoricalColumn:
        # Rows that are held out have been seen as well: what one of them holds is no surprise.
        found = category_masses(source, rows, weights, None if ranking is None else ranking.positive)
        per_mass = None if ranking is None else ranking.rows_per_mass
        return cls.of(source.name, *found, max_bins, source.is_mixed, per_mass)

    @classmethod
    def of(
        cls,
        name: str,
        values: Sequence[Any],
        mass: Integers,
        max_bins: int,
        mixed: bool = False,
        rows_per_mass: float | None = None,
    ) -> CategoricalColumn:
        """From the values that occur, in any order, and the mass of each by class; ``mixed`` if others are of another
        kind. If it is known how many rows a mass of one stands for, values can share codes.
        """
        try:
            order = sorted(range(len(values)), key=lambda i: sort_key(values[i]))
        except TypeError as error:
            raise TypeError(f"column {name!r} has categories that cannot be sorted: {error}") from None
        mixed = mixed or len({isinstance(value, str) for value in values}) > 1
        of_all, most, shared = mass.sum(axis=1), min(max_bins, MAX_CATEGORIES), None
        if rows_per_mass is not None:
            of_many = [i for i in order if of_all[i] * rows_per_mass >= MANY_ROWS]
            order = of_many if len(of_many) > most else [i for i in order if of_all[i] * rows_per_mass >= LEAST_ROWS]
            if len(of_many) > most:
                shared = _share_codes(mass[order], SMOOTH_ROWS / rows_per_mass, most)
        if len(order) > most and shared is None:
            kept = set(sorted(order, key=lambda i: -of_all[i])[:most])
            order = [i for i in order if i in kept]
        if len(order) < len(values) and len(values) > most:
            warn_caller(
                f"column {name!r} has {len(values)} categories, more than {most} (max_bins={max_bins}): the "
                f"{len(values) - len(order)} rarest are taken together as 'other'; drop it if it is an identifier or a "
                "date"
            )
        return cls(name, tuple(plain(values[i]) for i in order), mixed, shared=shared)

    def check(self, source: Source) -> None:
        """Whether it is still the kind of column that was learnt from; nothing but missing values is of any kind."""
        if not self.categories or self.mixed:
            return
        kinds = {isinstance(category, str) for category in self.categories}
        if isinstance(source, NumberSource):
            differs = False not in kinds and not np.isnan(source.floats(slice(None))).all()
        elif True in kinds and not isinstance(source, CategorySource):
            differs = False  # objects that are all numbers are a source of numbers
        else:  # new categories are fine, but not if all are text where there were numbers, or the other way round
            differs = kinds.isdisjoint(_kinds_of(source))
        if differs:
            got = "numbers" if True in kinds else "text"
            example = self.categories[0]
            raise ValueError(f"column {self.name!r} held categories in training (such as {example!r}), got {got}")

    def encode(self, source: Source, rows: Rows) -> Codes:
        """Codes of some rows."""
        codes, values = source.factorized(rows)
        # Translate the few values, not the many rows; the extra last entry is for code -1, missing.
        known = dict(zip(self.categories, self.codes, strict=True))
        table = np.array([*(known.get(plain(value), self.other) for value in values), MISSING], dtype=X_BINNED_DTYPE)
        return table[codes]


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True)
class Binner:
    """One encoder per column of X."""

    columns: tuple[Column, ...]

    @classmethod
    def fit(
        cls,
        sources: list[Source],
        rows: Rows,
        weights: NDArray[Any] | None,
        max_bins: int,
        categorical: list[bool],
        team: Team,
        ranking: Ranking | None = None,
    ) -> Binner:
        """Learn the bins from ``rows`` only; ``weights`` belong to these rows, and so does the ranking."""
        of_categories = partial(CategoricalColumn.fit, ranking=ranking)
        fits: list[Any] = [of_categories if is_one else NumericColumn.fit for is_one in categorical]
        n_rows = len(sources[0].values)
        return cls(tuple(for_each(len(fits), lambda j: fits[j](sources[j], rows, weights, max_bins), team, n_rows)))

    def check(self, sources: list[Source]) -> None:
        """Whether every column is still of the kind that was learnt from."""
        for column, source in zip(self.columns, sources, strict=True):
            column.check(source)

    def encode(self, sources: list[Source], rows: Rows, team: Team) -> list[Codes]:
        """Codes of some rows, an array per column of X."""
        n_rows = len(sources[0].values)
        return for_each(len(self.columns), lambda j: self.columns[j].encode(sources[j], rows), team, n_rows)


def for_each(n: int, function: Callable[[int], Any], team: Team, n_rows: int) -> list[Any]:
    """What a function makes of 0, 1, …, n - 1, each of which is a pass over so many rows."""
    results: list[Any] = [None] * n

    def task(first: int, last: int) -> None:
        for j in range(first, last):
            results[j] = function(j)

    team.run(task, n, n_rows)
    return results


def category_masses(
    source: Source, rows: Rows, weights: NDArray[Any] | None, positive: NDArray[np.bool_] | None = None
) -> tuple[list[Any], Integers]:
    """The values that occur in some rows, and ``mass[value, class]``.

    ``weights`` and ``positive`` belong to these rows; if nobody tells which are positive, none are.
    """
    codes, values = source.factorized(rows)
    places = 2 * (codes.astype(np.int64) + 1) + (0 if positive is None else positive)
    room = 2 * (len(values) + 1)
    occurs = np.flatnonzero(np.bincount(places, minlength=room).reshape(-1, 2)[1:].any(axis=1))
    mass = np.bincount(places, weights=weights, minlength=room).reshape(-1, 2)[1:].astype(np.int64)
    return [values[i] for i in occurs.tolist()], mass[occurs]


def _share_codes(mass: Integers, smooth: float, most: int) -> tuple[int, ...]:
    """The code of each category, so that those of a similar share of positives have the same.

    In the order of their shares they are like numbers, and are put into bins of about equal weight.
    """
    of_each = mass.sum(axis=1).astype(np.float64)
    shares = (mass[:, 1] + smooth * (mass[:, 1].sum() / of_each.sum())) / (of_each + smooth)
    order = np.argsort(shares, kind="stable")
    places = np.arange(len(mass), dtype=np.float64)
    codes = np.empty(len(mass), dtype=np.int64)
    codes[order] = 1 + np.searchsorted(Stretches(places, places, of_each[order]).edges(most), places)
    return tuple(codes.tolist())


def _kinds_of(source: Source) -> set[bool]:
    """Whether the values are text, or not, or some of each; what is missing does not count."""
    if isinstance(source, CategorySource):  # categories that do not occur are looked for only if it matters
        declared = {isinstance(value, str) for value in source.values.categories}
        if len(declared) == 1:
            return declared if (source.values.codes >= 0).any() else {True, False}
    codes, values = source.factorized(slice(None))
    return {isinstance(values[code], str) for code in np.unique(codes[codes >= 0])} or {True, False}


class Stretches(NamedTuple):
    """Pieces of the number line that hold values, ascending, from the lowest to the highest that may be in them."""

    lowest: Floats
    highest: Floats
    mass: Floats

    def edges(self, max_bins: int) -> Floats:
        """The edges of bins of about equal weight, half-way between stretches."""
        cuts = np.arange(len(self.mass) - 1)
        if len(self.mass) > max_bins:
            # A value heavier than a bin gets one bin of its own and counts as exactly one bin, so that a column of
            # mostly zeros still spends the other bins on what is not zero.
            cap = self.mass.sum() / max_bins
            while True:
                heavy = self.mass > cap
                lower_cap = self.mass[~heavy].sum() / (max_bins - heavy.sum())
                if lower_cap >= cap or heavy.sum() >= max_bins - 1:
                    break
                cap = lower_cap
            filled = np.cumsum(np.minimum(self.mass, cap)) / cap
            # A bin ends with the value that fills it; the small number ends a bin that is full but for rounding, too.
            full = np.floor(filled + 1e-9)
            cuts = np.flatnonzero(np.diff(full, prepend=0.0)[:-1] > 0)[: max_bins - 1]
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
    kernels = kernels_for(values)
    distinct, masses = np.empty(MAX_COUNTED), np.empty(MAX_COUNTED, dtype=np.int64)
    n_distinct = kernels.find_masses(values, weights, distinct, masses)
    if n_distinct <= MAX_COUNTED:
        order = np.argsort(distinct[:n_distinct])
        return Stretches(distinct[order], distinct[order], masses[order].astype(np.float64))
    division = Division(float(values.min()), float(values.max()))
    for question in division.questions():
        if question.wanted is None:
            kernels.count_keys(values, weights, *question.where, question.tree.mass)
        else:
            kernels.look_into(values, *question.where, question.wanted, question.tree.one_value, question.tree.is_mixed)
    return division.stretches()


def sorted_values(values: Floats, weights: Integers | None) -> Stretches:
    if weights is None:
        values = np.sort(values)
        last = np.flatnonzero(np.append(values[1:] > values[:-1], True))
        return Stretches(values[last], values[last], np.diff(last, prepend=-1).astype(np.float64))
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    first = np.flatnonzero(np.append(True, values[1:] > values[:-1]))
    return Stretches(values[first], values[first], np.add.reduceat(weights, first).astype(np.float64))


class Division:
    """How the number line between two values is divided: it asks, and whoever has the values counts.

    Numbers are counted level by level, by their *keys*: the bits of a float as an integer, in the order of the numbers.
    A stretch is 2^shift keys long, so the key of a value tells its stretch without a search. What is too heavy is
    divided. The answers to a question are sums over the values, or tell whether all are one: they can be put together
    from answers about parts of the values.
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


class Bundles:
    """Which columns share a byte, and how to tell their codes from a joint code.

    Attributes
    ----------
    members : list of list of int
        The columns of each bundle.
    bundle_of : ndarray of shape (n_columns,)
        The bundle of each column.
    code_of : ndarray of shape (n_columns, 256)
        The code of a column that a joint code of its bundle stands for.
    sizes : ndarray of shape (n_bundles,)
        Number of joint codes of each bundle.
    """

    def __init__(self, binner: Binner, n_codes: list[int] | None = None) -> None:
        self.binner = binner
        if n_codes is None:
            n_codes = [column.n_codes for column in binner.columns]
        self.members: list[list[int]] = []
        products: list[int] = []
        # First fit, largest first: not the least possible number of bundles, but close to it.
        for column in sorted(range(len(n_codes)), key=lambda j: -n_codes[j]):
            for b, product in enumerate(products):
                if product * n_codes[column] <= N_CODES:
                    self.members[b].append(column)
                    products[b] *= n_codes[column]
                    break
            else:
                self.members.append([column])
                products.append(n_codes[column])
        self.sizes = np.array(products)
        self.bundle_of = np.empty(len(n_codes), dtype=np.int64)
        self.code_of = np.zeros((len(n_codes), N_CODES), dtype=X_BINNED_DTYPE)
        self._strides = np.empty(len(n_codes), dtype=np.int64)
        for b, columns in enumerate(self.members):
            stride = 1
            for column in columns:
                self.bundle_of[column], self._strides[column] = b, stride
                joint = np.arange(products[b])
                self.code_of[column, : products[b]] = joint // stride % n_codes[column]
                stride *= n_codes[column]

    @classmethod
    def of(cls, binner: Binner, coded: list[list[Codes]]) -> Bundles:
        """Room for the codes that occur in some rows; *other* mostly does not."""
        n_codes = []
        for j, column in enumerate(binner.columns):
            found = [int(codes[j].max()) for codes in coded if column.categorical and len(codes[j])]
            n_codes.append(max([column.n_bins, *found]) + 1)
        return cls(binner, n_codes)

    def consume(self, codes: list[Codes]) -> Codes:
        """Joint codes from the codes of every column, ``codes[column][row]``, which are let go one by one: they may be
        all that fits into memory.
        """
        joint: Codes = np.empty_like(codes[0], shape=(len(self.members), len(codes[0])))
        for b, (first, *others) in enumerate(self.members):
            joint[b], codes[first] = codes[first], np.empty(0, dtype=X_BINNED_DTYPE)
            for j in others:
                column, codes[j] = codes[j], np.empty(0, dtype=X_BINNED_DTYPE)
                column *= X_BINNED_DTYPE(self._strides[j])
                joint[b] += column
        return joint
