"""Several trainings on different parts of the rows, and one model of all: their mean.

Each bag trains on its part of the rows and chooses θ and a threshold on the rows that it holds out. Its margins,
shifted by that threshold and divided by their standard deviation, are averaged. A row's *out-of-bag* margin is the mean
over the bags that held it out: what they say about a row that they were not trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .._arrays import Codes, Floats, on_grid
from .._choice.wishes import Settings
from .._engine.cpu import count_pairs
from .._engine.threads import Team
from .._model.dial import Dial, ordered_weights
from .._model.tables import CountPairs, Effects, average, covariance, differences, place_pairs
from .._table.binning import Bundles
from .loop import Boosted, boost
from .progress import Progress
from .samples import CodedSample, Part, Sample, merge_equal_rows

Rows = NDArray[np.intp]
# Of fewer rows than this one training after the other is fastest. A column to split makes about as much work as so many
# rows.
FEW_ROWS, ROWS_PER_COLUMN = 1 << 13, 200
LEAST_DEVIATION = 2.0**-10  # of the largest margin that there can be; usual is a tenth


class Fold(NamedTuple):
    """Which rows a bag trains on, and which it holds out, among the rows that count."""

    train: Rows
    held: Rows


def draw_folds(
    cell: NDArray[Any], cluster: Rows | None, fraction: float, n_bags: int, rng: np.random.RandomState
) -> list[Fold]:
    """Parts of about this share, one after the other until all rows have been held out, then new ones.

    Each has its share of every cell. Rows of one cluster are on the same side; it counts for the cell of its first.
    """
    first, whom = np.arange(len(cell)), np.arange(len(cell))
    if cluster is not None:
        _, first, whom = np.unique(cluster, return_index=True, return_inverse=True)
    of = cell[first]
    sizes, n_parts = np.bincount(of)[of], max(round(1.0 / fraction), 2)
    order, folds = np.argsort(of, kind="stable"), []
    rank = np.empty(len(of), dtype=np.intp)
    for b in range(n_bags):
        part = b % n_parts
        if part == 0:
            rank[order] = np.concatenate([rng.permutation(size) for size in np.bincount(of).tolist()])
        # A cell of fewer has someone in each part nevertheless, but for one of a single row.
        held = np.where(sizes >= n_parts, rank * n_parts // sizes == part, (rank == part % sizes) & (sizes > 1))[whom]
        folds.append(Fold(np.flatnonzero(~held), np.flatnonzero(held)))
    return folds


def read_folds(splits: Any, part: Part, n_groups: int, X: Any, names: Sequence[str]) -> list[Fold]:
    """Splits that the user gives, as (train, test) positions in X or as a splitter of scikit-learn's.

    Each needs rows of both classes, which have these ``names``: of one there is nothing to tell apart.
    """
    labels = np.zeros(len(X), dtype=np.int64)  # 0 and 1, whatever the labels are: a splitter does not take them all
    labels[part.positions] = part.cell >= n_groups
    pairs: Iterable[Any] = splits
    if hasattr(splits, "split"):
        try:
            pairs = list(splits.split(X, labels))
        except ValueError as error:
            raise ValueError(f"n_bags={splits!r:.80}: {error}") from None
    place = np.full(len(X), -1, dtype=np.intp)
    place[part.positions] = np.arange(len(part.positions))
    folds = []
    for b, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"n_bags[{b}] must be a pair of rows to train on and rows to hold out, got {pair!r:.60}")
        train, held = (_positions(rows, len(X), f"n_bags[{b}][{side}]") for side, rows in enumerate(pair))
        if len(np.intersect1d(train, held)):
            raise ValueError(f"n_bags[{b}]: row {np.intersect1d(train, held)[0]} is both trained on and held out")
        folds.append(Fold(*(found[found >= 0] for found in (place[train], place[held]))))
    if not folds:
        raise ValueError("n_bags holds no splits: give at least one pair of rows to train on and rows to hold out")
    for b, fold in enumerate(folds):
        for rows, what in zip(fold, ("train on", "hold out"), strict=True):
            if len(rows) == 0:
                raise ValueError(f"bag {b} has no row to {what} (rows without weight are none): give it some in n_bags")
            y = part.cell[rows] >= n_groups
            if y.all() or not y.any():
                raise ValueError(
                    f"n_bags[{b}] has no row of class {names[int(not y.any())]!r} to {what}: each bag needs rows of "
                    "both classes to train on and to hold out (rows without weight are none)"
                )
    return folds


def _positions(rows: Any, n_rows: int, where: str) -> Rows:
    found = np.asarray(rows)
    if found.dtype == np.bool_ and found.shape == (n_rows,):
        found = np.flatnonzero(found)
    if found.ndim != 1 or found.dtype.kind not in "iu" or len(found) == 0:
        raise ValueError(f"{where} must be a list of row positions, got {rows!r:.60}")
    wrong = found[(found < 0) | (found >= n_rows)]
    if len(wrong):
        raise ValueError(f"{where}: there is no row {wrong[0]}, X has {n_rows}")
    unique: Rows = np.unique(found).astype(np.intp)
    return unique


@dataclass(frozen=True)
class CodeTable:
    """The codes of all rows that count, which all bags share."""

    bundles: Bundles
    codes: Codes  # [bundle, row]

    is_remote = False  # whether the rows are in other processes

    def margins(self, effects: Effects, rows: Rows) -> Floats:
        """What tables say about some of the rows."""
        return effects.margins(self.codes, self.bundles.bundle_of, self.bundles.code_of, rows)

    def count_pairs(self, part: Part) -> CountPairs:
        """A function that counts the sample weight in the cells of pairs of columns."""
        return lambda pairs: count_pairs(
            self.codes, part.masses.values, place_pairs(pairs, self.bundles.bundle_of, self.bundles.code_of)
        )

    @contextmanager
    def samples(self, part: Part, fold: Fold, n_groups: int, team: Team) -> Iterator[tuple[CodedSample, CodedSample]]:
        """The rows of a bag as samples, to train on and held out."""
        both = []
        for rows in fold:
            sample = Sample(part.cell[rows], n_groups, part.masses.at(rows), rows, team)
            codes = np.ascontiguousarray(self.codes[:, sample.rows])
            both.append(merge_equal_rows(CodedSample(sample, codes)))
        yield both[0], both[1]


class Bag(NamedTuple):
    """What one training leaves behind."""

    boosted: Boosted
    effects: Effects  # of its first θ learners
    importances: Floats
    threshold: float
    deviation: float  # of its margins on the rows that it held out
    held: Rows
    margins: Floats  # of these rows, shifted and scaled


LearnerOf = Callable[[CodedSample, CodedSample], Any]


def train_bags(
    folds: Sequence[Fold],
    part: Part,
    table: Any,  # a CodeTable, or what has the same methods
    settings: Settings,
    n_groups: int,
    make_learner: LearnerOf,
    unit: float,
    n_jobs: int,
    device: str,
    progress: Progress | None = None,
    lengths: Sequence[int] | None = None,
) -> list[Bag]:
    """Train each bag, side by side; the bags do not depend on how many at a time.

    It makes as many rounds as ``lengths`` says, or as many as are best on the rows that it holds out.
    """
    # Every bag has a threshold of its own, whatever the model's will be: it is what its margins are centred by.
    settings = replace(settings, threshold="auto")
    work = len(part.cell) + ROWS_PER_COLUMN * len(table.bundles.bundle_of)
    is_here = device == "cpu" and not table.is_remote
    n_threads = 1 if is_here and work < FEW_ROWS else min(n_jobs, len(folds))
    ended = Event()  # when one training was interrupted, or has failed: nothing else ends a thread

    def train(fold: Fold, length: int | None) -> Bag:
        own = settings
        if length is not None:
            own = replace(settings, n_estimators=length, n_iter_no_change=None, choose_theta=False)
        if ended.is_set():
            raise InterruptedError("another training was interrupted, or failed")
        on_round, on_end = (None, None) if progress is None else progress.begin()
        with Team(1, device) as team, table.samples(part, fold, n_groups, team) as (coded, held):
            learner = make_learner(coded, held)
            boosted = boost(learner, own, on_round, unit, ended)
            theta = boosted.choice.theta
            ensemble = learner.ensemble([r.model for r in boosted.rounds[:theta]], boosted.alphas[:theta])
            del coded, held, learner  # and with them whatever is on a device
        if on_end is not None:
            on_end()
        effects = ensemble.effects(theta)
        threshold = float(boosted.choice.thresholds[theta - 1])
        margins = table.margins(effects, fold.held) - threshold
        deviation = standard_deviation(margins, part.masses.at(fold.held).values)
        # Of hardly any: a training that says the same of nearly all rows must not outvote the others.
        largest = math.fsum(float(np.abs(r.steps).max()) for r in boosted.rounds[:theta])
        deviation = max(deviation, largest * LEAST_DEVIATION)
        scaled = margins / deviation
        return Bag(boosted, effects, ensemble.importances(theta), threshold, deviation, fold.held, scaled)

    # The kernels release the GIL: threads share the codes and need no copies.
    try:
        tasks = (delayed(train)(fold, lengths[k] if lengths else None) for k, fold in enumerate(folds))
        trained: list[Bag] = Parallel(n_jobs=n_threads, require="sharedmem")(tasks)
    except BaseException:
        ended.set()
        raise
    return trained


def standard_deviation(values: Floats, mass: NDArray[Any]) -> float:
    """Of weighted values. Sums are rounded once, so that no order changes a bit."""
    weighted = values * mass if len(mass) else values
    total = float(mass.sum()) if len(mass) else float(len(values))
    mean = math.fsum(weighted.tolist()) / total
    squares = (values - mean) ** 2
    variance = math.fsum((squares * mass if len(mass) else squares).tolist()) / total
    return math.sqrt(variance)


class Combined(NamedTuple):
    """The mean of the bags."""

    effects: Effects
    spread: Floats
    importances: Floats
    offset: float  # the mean of their thresholds, on the same scale
    rows: Rows  # that some bag held out
    margins: Floats  # of these rows, by the bags that did


def combine(bags: Sequence[Bag], part: Part, table: Any) -> Combined:
    """The bags' mean, and what it says about rows that were held out."""
    n_bags, n_rows = len(bags), len(part.cell)
    factors = [1.0 / bag.deviation / n_bags for bag in bags]
    parts = [bag.effects for bag in bags]
    n_codes = [column.n_codes for column in table.bundles.binner.columns]
    effects = average(parts, factors, n_codes, table.count_pairs(part), part.masses.unit)
    sums, times = np.zeros(n_rows), np.zeros(n_rows)
    for bag in bags:
        sums[bag.held] += bag.margins
        times[bag.held] += 1.0
    rows = np.flatnonzero(times)
    offset = math.fsum(factor * bag.threshold for factor, bag in zip(factors, bags, strict=True))
    # On the scale of the averaged tables' sums, so that one threshold serves both.
    margins = on_grid(sums[rows] / times[rows] + offset)
    importances = np.mean([bag.importances for bag in bags], axis=0)
    spread = differences([part.pure.tables for part in parts], factors)
    return Combined(effects, spread, importances, offset, rows, margins)


class Trained(NamedTuple):
    """All bags, and their means."""

    bags: list[Bag]  # of the fair model
    ends: list[Combined]  # the fair model alone, or the plain one and the fair one
    dial: Dial | None  # between these two, without points
    paced: list[Bag]  # those that chose how many rounds there are

    def blends(self, margins: Sequence[Floats]) -> Callable[[], Iterator[Floats]]:
        """A function that goes through the blends of the margins of both ends, or the margins of the only one."""
        if self.dial is None:
            return lambda: iter(margins)
        (plain, fair), weights = margins, self.dial.weights
        return lambda: (on_grid(plain + w * (fair - plain)) for w in weights)


def dial_between(plain: Sequence[Bag], fair: Sequence[Bag], ends: Sequence[Combined], orders: Any, table: Any) -> Dial:
    """From the plain bags to the fair ones, which have the same folds; ``ends`` are their means, of the same cells."""
    binner = table.bundles.binner
    effects = ends[0].effects, ends[1].effects
    return Dial(
        *effects,
        (ends[0].spread, ends[1].spread),
        covariance(*([1.0 / bag.deviation * bag.effects.pure.tables for bag in bags] for bags in (plain, fair))),
        (ends[0].importances, ends[1].importances),
        orders,
        ordered_weights(*effects, orders, binner),
    )


def same_cells(ends: Sequence[Combined], part: Part, table: Any) -> list[Combined]:
    """The same means with pairs that have the same cells in all of them, so that they can be blended."""
    effects = [end.effects for end in ends]
    n_codes = [column.n_codes for column in table.bundles.binner.columns]
    given = n_codes, table.count_pairs(part), part.masses.unit
    chosen = np.eye(len(ends)).tolist()
    return [end._replace(effects=average(effects, row, *given)) for end, row in zip(ends, chosen, strict=True)]
