"""From the rows that were read to what boosting sees: who is trained on and who is chosen on, as codes.

Rows are sorted by class and group, and equal ones merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import BLOCK_ROWS, BYTES_PER_ROW, Codes, Floats, Integers, on_card, to_host
from .._caller import warn_caller
from .._engine.cpu import CpuRows
from .._engine.kernels.columns import hash_rows
from .._engine.threads import Team
from .._table.binning import EXACT_ROWS, Binner, Bundles, Ranking
from .._table.reading import LabelledRows, stratified_split
from .._table.sources import Source, find_categorical, place_sources, read_sources

# Sample weights are so many units on average, but all together at most MAX_MASS. That leaves bits for what boosting
# multiplies them by (see ``boosting``), and counts are exact as floats too.
MASS_PER_ROW = 1 << 24
MAX_MASS = 1 << 40
# Merging equal rows pays if at most this share of them is distinct. A part of the rows tells whether to look.
DISTINCT_SHARE = 0.5
MIN_ROWS_TO_MERGE = 1 << 11
MAX_ROWS_TO_TRY = 1 << 16


@dataclass(frozen=True)
class Masses:
    """Sample weights as integers: ``values[row] * unit``, the unit being a power of two; no values for one each."""

    values: Integers
    unit: float

    @property
    def values_or_none(self) -> Integers | None:
        return self.values if len(self.values) else None

    def at(self, rows: Any) -> Masses:
        return Masses(self.values[rows] if len(self.values) else self.values, self.unit)


def to_masses(weights: Floats | None) -> Masses:
    """Sample weights on a grid that depends on the weights alone, not on their order.

    Whole numbers stay what they are, and fractions such as 0.5 become whole numbers: to repeat a row is then to add up
    its weights. All others are rounded to the finest power of two with which the sum is not too large.
    """
    if weights is None:
        return Masses(np.empty(0, dtype=np.int64), 1.0)
    exponent = find_exponent(len(weights), float(weights.sum()), lambda e: measure_masses(weights, e))
    return Masses(whole_masses(weights, exponent), 2.0**-exponent)


class MassSums(NamedTuple):
    """What can be said of weights in units of a power of two, and added up over parts of the rows."""

    total: int
    exact: bool  # none was rounded
    common: int  # all of them, bit by bit

    def __add__(self, other: MassSums) -> MassSums:  # type: ignore[override]
        return MassSums(self.total + other.total, self.exact and other.exact, self.common | other.common)


def measure_masses(weights: Floats, exponent: int) -> MassSums:
    """Weights in units of ``2**-exponent``."""
    values = whole_masses(weights, exponent)
    exact = bool((values == np.ldexp(weights, exponent)).all())
    return MassSums(int(values.sum()), exact, int(np.bitwise_or.reduce(values)))


def whole_masses(weights: Floats, exponent: int) -> Integers:
    """Weights in units of ``2**-exponent``; what weighs little still weighs."""
    return np.maximum(np.rint(np.ldexp(weights, exponent)), weights > 0.0).astype(np.int64)


def find_exponent(n_rows: int, total: float, measure: Callable[[int], MassSums]) -> int:
    """The unit ``2**-exponent`` for so many weights of so much in all, of which ``measure`` tells the sums."""
    if total <= MAX_MASS and measure(0).exact:
        return 0
    most = min(MASS_PER_ROW * n_rows, MAX_MASS)
    exponent = most.bit_length() + 1 - int(np.frexp(total)[1])  # one too many, or two
    while True:
        sums = measure(exponent)
        if sums.total <= most:
            break
        exponent -= 1
    if exponent > 0 and sums.exact:
        exponent -= min((sums.common & -sums.common).bit_length() - 1, exponent)
    return exponent


class Sample:
    """Rows of a class and group each, sorted by their cell ``class * n_groups + group``.

    ``rows`` are their positions in the caller's X.
    """

    def __init__(self, cell: NDArray[Any], n_groups: int, masses: Masses, rows: NDArray[Any], team: Team) -> None:
        order = np.argsort(cell, kind="stable")
        self.n_given = len(rows)  # before equal ones are merged
        self.rows = team.card.place(rows)[order] if on_card(cell) else rows[order]
        self.n_groups = n_groups
        self.masses = masses.at(to_host(order)) if len(masses.values) else masses
        self.sizes = to_host(np.bincount(cell, minlength=2 * n_groups))
        self.n_negative = int(self.sizes[:n_groups].sum())
        stops = np.cumsum(self.sizes)
        self.blocks = np.array(
            [
                (k, first, min(first + BLOCK_ROWS, stop))
                for k, (size, stop) in enumerate(zip(self.sizes.tolist(), stops.tolist(), strict=True))
                for first in range(stop - size, stop, BLOCK_ROWS)
            ],
            dtype=np.int64,
        ).reshape(-1, 3)
        self.team = team
        if len(self.masses.values):
            cells = zip((stops - self.sizes).tolist(), stops.tolist(), strict=True)
            self.cell_mass = np.array([self.masses.values[first:stop].sum() for first, stop in cells], dtype=np.int64)
        else:
            self.cell_mass = self.sizes.astype(np.int64)
        self.totals = (self.cell_mass.astype(np.float64) * masses.unit).reshape(2, n_groups).T  # [group, class]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def cell(self) -> NDArray[np.intp]:
        """The cell of each row, class * n_groups + group."""
        return np.repeat(np.arange(2 * self.n_groups), self.sizes)

    @property
    def y(self) -> NDArray[np.intp]:
        """The class of each row."""
        return np.repeat([0, 1], [self.n_negative, len(self) - self.n_negative])

    def place(self, codes: Codes, bundle_of: Any) -> Any:
        """The rows with their joint codes where the passes of boosting are made, a :class:`CpuRows` or what has the
        same passes; ``bundle_of`` is the bundle of each feature.
        """
        given = codes, self.masses.values, self.masses.unit, self.blocks, self.cell_mass, bundle_of
        if self.team.device == "cpu":
            return CpuRows(*given, self.team.run)
        from .._engine.cuda.rows import CudaRows

        return CudaRows(*given, self.team.card)

    def counts(self, positive: Integers) -> Floats:
        """``counts[group, y_true, y_pred]`` from the mass of positive predictions per cell."""
        mass = np.stack([self.cell_mass - positive, positive], axis=-1)
        found: Floats = mass.reshape(2, self.n_groups, 2).transpose(1, 0, 2) * self.masses.unit
        return found


class CodedSample(NamedTuple):
    """A sample and the joint codes of its rows, ``codes[bundle, row]``."""

    sample: Sample
    codes: Codes


def merge_equal_rows(coded: CodedSample) -> CodedSample:
    """Equal rows of one cell always keep equal weights and margins: where there are many, keep one and add its masses.

    Rows are told apart by 64-bit hashes, and compared in full before anything is merged.
    """
    sample, codes = coded.sample, coded.codes
    if len(sample) < MIN_ROWS_TO_MERGE or on_card(codes):
        return coded
    some = _hashes(np.ascontiguousarray(codes[:, :: max(codes.shape[1] // MAX_ROWS_TO_TRY, 8)]))
    if len(np.unique(some)) > DISTINCT_SHARE * len(some):
        return coded
    hashes = _hashes(codes)
    hashes ^= sample.cell.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) > DISTINCT_SHARE * len(sample):
        return coded
    like = first[inverse]
    if not all((column[like] == column).all() for column in codes):  # two rows of one hash are not equal after all
        return coded
    # Sums of at most MAX_MASS are exact as floats.
    mass = np.bincount(inverse, weights=sample.masses.values if len(sample.masses.values) else None)
    kept = np.argsort(first)  # back in the order of the cells
    rows = first[kept]
    masses = Masses(mass[kept].astype(np.int64), sample.masses.unit)
    merged = Sample(sample.cell[rows], sample.n_groups, masses, sample.rows[rows], sample.team)
    merged.n_given = sample.n_given
    return coded._replace(sample=merged, codes=np.ascontiguousarray(codes[:, rows]))


def _hashes(codes: Codes) -> NDArray[np.uint64]:
    hashes = np.empty(codes.shape[1], dtype=np.uint64)
    hash_rows(codes, hashes)
    return hashes


class Part(NamedTuple):
    """Rows of a table that count: their positions in it, the cell and the sample weight of each."""

    positions: NDArray[Any]
    cell: NDArray[Any]
    masses: Masses

    def at(self, chosen: Any) -> Part:
        return Part(self.positions[chosen], self.cell[chosen], self.masses.at(chosen))


def counted_rows(rows: LabelledRows, stay: bool = False) -> Part:
    """The rows that count, with sample weights as integers; their cells may stay on the graphics card."""
    return Part(rows.positions, rows.cell if stay else to_host(rows.cell), to_masses(rows.weights))


def hold_out(rows: Part, fraction: float | None, rng: np.random.RandomState) -> tuple[Part, Part | None]:
    """Rows to train on and some to choose θ on, a share of each cell; none if that is None or no cell has two rows."""
    if fraction is None:
        return rows, None
    rows = rows._replace(cell=to_host(rows.cell))
    train_at, selection_at = stratified_split(rows.cell, fraction, rng)
    if len(selection_at):
        return rows.at(train_at), rows.at(selection_at)
    warn_of_none_held_out(len(rows.cell))
    return rows, None


def warn_of_none_held_out(n_rows: int) -> None:
    warn_caller(f"{none_held_out(n_rows)}: θ is chosen on the training data")


def none_held_out(n_rows: int) -> str:
    return f"no row can be held out of {n_rows}, one or less of each class and group"


class CodedTables(NamedTuple):
    """Columns turned into codes, and what they were turned from."""

    bundles: Bundles
    sources: list[Source]
    train_sample: Sample  # before equal rows were merged
    selection_sources: list[Source]
    selection_sample: Sample
    train: CodedSample
    selection: CodedSample

    def with_binner(self, binner: Binner) -> CodedTables:
        """The same rows with other bins."""
        return _code(binner, self.sources, self.train_sample, self.selection_sources, self.selection_sample)


def code_tables(
    X: Any,
    rows: Part,
    train: Sample,
    X_selection: Any,
    selection: Sample,
    max_bins: int,
    categorical_features: Any,
    rows_per_weight: float | None,
) -> CodedTables:
    """Learn the bins from the training rows, and encode these and those that θ is chosen on.

    If sets of categories are split, it has to be known how many rows a weight of one stands for.
    """
    sources = read_sources(X)
    categorical = find_categorical(X, sources, categorical_features)
    selection_sources = sources if X_selection is X else read_sources(X_selection)
    if train.team.device != "cpu" and len(train) > EXACT_ROWS:  # for fewer rows it does not pay
        n_rows = len(train) + (0 if selection is train else len(selection))
        train.team.card.require(n_rows * (2 * len(sources) + BYTES_PER_ROW))
        same = selection_sources is sources
        sources = place_sources(sources, train.team.card.place)
        selection_sources = sources if same else place_sources(selection_sources, train.team.card.place)
    ranking = None
    if rows_per_weight is not None:
        ranking = Ranking(to_host(rows.cell) >= train.n_groups, rows.masses.unit * rows_per_weight)
    given = rows.positions, rows.masses.values_or_none, max_bins, categorical
    binner = Binner.fit(sources, *given, train.team, ranking)
    return _code(binner, sources, train, selection_sources, selection)


def _code(
    binner: Binner, sources: list[Source], train: Sample, selection_sources: list[Source], selection: Sample
) -> CodedTables:
    columns = [binner.encode(sources, train.rows, train.team)]
    if selection is not train:
        binner.check(selection_sources)
        columns.append(binner.encode(selection_sources, selection.rows, selection.team))
    if any(on_card(codes) for codes in columns[0]):
        columns = [[train.team.card.place(codes) for codes in part] for part in columns]
    bundles = Bundles.of(binner, columns)
    coded = [
        merge_equal_rows(CodedSample(sample, bundles.consume(codes)))
        for sample, codes in zip((train, selection), columns, strict=False)
    ]
    return CodedTables(bundles, sources, train, selection_sources, selection, coded[0], coded[-1])
