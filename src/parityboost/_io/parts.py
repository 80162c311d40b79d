"""The parts of a model file, record by record: their fields with their ranges, how they are written and how read.

To add a field: a line in its record, one where the record is made of the model, and one where it is read. With a
default, files that were written before can be read. Fields are checked one by one before records are read, so reading
checks what depends on others. Nothing in a file is trusted.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import UNSET, Meta, UnsetType, field

from .. import notions
from .._arrays import (
    ALPHA_GRID,
    LARGE_THRESHOLD,
    MAX_BINS,
    MAX_CATEGORIES,
    N_CODES,
    THRESHOLD_GRID,
    X_BINNED_DTYPE,
    Floats,
    on_grid,
)
from .._choice import menu, promise
from .._choice.wishes import COSTS, Wishes
from .._model import calibration, dial, glass_box, trees
from .._model import tables as score_tables
from .._model.dial import WEIGHTS, blend
from .._model.groups import GroupSource
from .._table.binning import Binner, CategoricalColumn, NumericColumn
from .json_values import decode_distinct, encode_value, whole
from .limits import MAX_COLUMNS, MAX_GROUPS, MAX_ROUNDS
from .strict_json import ModelFileError, Record, at, each, fail

MAX_SCORE, MAX_WEIGHT, MAX_ALPHA, MAX_THRESHOLD = 1e6, 1e300, 1e3, 1e300
MAX_BAGS, MAX_PAIRS, MAX_CUTS = 1000, 100_000, 1000

Largest = sys.float_info.max
Finite = Annotated[float, Meta(ge=-Largest, le=Largest)]
Alpha = Annotated[float, Meta(ge=ALPHA_GRID, le=MAX_ALPHA)]
Vote = Annotated[float, Meta(ge=-MAX_ALPHA, le=MAX_ALPHA)]
Share = Annotated[float, Meta(ge=0, le=1)]
Score = Annotated[float, Meta(ge=-MAX_SCORE, le=MAX_SCORE)]
Product = Annotated[float, Meta(ge=-(MAX_SCORE**2), le=MAX_SCORE**2)]
Weight = Annotated[float, Meta(ge=0, le=MAX_WEIGHT)]
Threshold = Annotated[float, Meta(ge=-MAX_THRESHOLD, le=MAX_THRESHOLD)]
Positive = Annotated[float, Meta(ge=0, le=MAX_THRESHOLD)]
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Feature = Annotated[int, Meta(ge=0, le=MAX_COLUMNS - 1)]
Code = Annotated[int, Meta(ge=0, le=N_CODES - 1)]
Rounds = Annotated[int, Meta(ge=1, le=MAX_ROUNDS)]
Stage = Annotated[int, Meta(ge=1, le=MAX_BAGS * MAX_ROUNDS)]
TwoFeatures = Annotated[list[Feature], Meta(min_length=2, max_length=2)]
FourVotes = Annotated[list[Vote], Meta(min_length=4, max_length=4)]
FourShares = Annotated[list[Share], Meta(min_length=4, max_length=4)]
Tables = list[list[Score] | None]  # per feature the scores of its codes, or null if they are all 0
OneOrMore = Threshold | list[Threshold]  # thresholds: one for all, or one per group


# What several records need


def exactly(n: int, values: list[Any], where: str) -> list[Any]:
    if len(values) != n:
        fail(where, f"a list of {n} values", values)
    return values


def matrix(shape: tuple[int, int], rows: list[list[float]], where: str) -> Floats:
    return np.array(each(where, exactly(shape[0], rows, where), lambda row: exactly(shape[1], row, "")))


def rising(values: list[float], where: str) -> Floats:
    numbers = np.array(values, dtype=np.float64)
    if (np.diff(numbers) <= 0).any():
        fail(where, "numbers that increase", values)
    return numbers


def thresholds(value: Any, n_groups: int | None, where: str) -> Any:
    """One threshold, or one per group: already multiples of the grid, unless someone edited them."""
    if n_groups is not None:
        exactly(n_groups, value if isinstance(value, list) else [], where)
    elif isinstance(value, list):
        fail(where, f"a number from {-MAX_THRESHOLD:g} to {MAX_THRESHOLD:g}", value)
    values = np.array(value, dtype=np.float64)
    small = np.where(np.abs(values) > LARGE_THRESHOLD, 0.0, values)
    found = np.where(small == values, np.rint(small / THRESHOLD_GRID) * THRESHOLD_GRID + 0.0, values)  # no -0
    return float(found) if n_groups is None else found


def plain_tables(scores: Floats, binner: Binner) -> Tables:
    return [t[: c.n_codes].tolist() if t.any() else None for t, c in zip(scores, binner.columns, strict=True)]


def read_tables(given: Tables, binner: Binner, where: str) -> Floats:
    found = np.zeros((len(binner.columns), N_CODES))
    for f, scores in enumerate(exactly(len(found), given, where)):
        if scores is not None:
            n_codes = binner.columns[f].n_codes
            found[f, :n_codes] = exactly(n_codes, scores, f"{where}[{f}]")
    return found


# Columns and groups


class Column(Record):
    """Numbers have edges, null if the column held nothing; categories have no edges."""

    name: str
    edges: Annotated[list[Finite], Meta(max_length=MAX_BINS - 1)] | UnsetType | None = UNSET
    categories: list[Any] | UnsetType = UNSET
    mixed: bool = False
    others_are_missing: bool = False
    shared: list[Code] | None = None  # of each category, where several have the same

    @classmethod
    def of_column(cls, column: Any, used: bool) -> Column:
        """With what prediction asks about it: of a column of numbers that is not used, only that it is one."""
        if isinstance(column, CategoricalColumn):
            categories = [encode_value(value, f"column {column.name!r}") for value in column.categories]
            shared = None if column.shared is None else list(column.shared)
            return cls.of(column, edges=UNSET, categories=categories, shared=shared)
        return cls(column.name, None if not column.n_bins else column.edges.tolist() if used else [])

    def read(self) -> Any:
        if (self.edges is UNSET) == (self.categories is UNSET):
            raise ModelFileError(": expected either 'edges' or 'categories'")
        if isinstance(self.categories, list):
            most = MAX_BINS if self.others_are_missing else MAX_CATEGORIES
            if self.shared is None and len(self.categories) > most:
                fail("categories", f"a list of 0 to {most} values", self.categories)
            categories = decode_distinct(self.categories, "categories")
            shared = None
            if self.shared is not None:
                shared = tuple(exactly(len(categories), self.shared, "shared"))
                if (
                    set(shared) != set(range(1, max(shared, default=0) + 1))
                    or max(shared, default=256) > MAX_CATEGORIES
                ):
                    fail("shared", f"all codes from 1 to a number up to {MAX_CATEGORIES}", self.shared)
            return CategoricalColumn(self.name, tuple(categories), self.mixed, self.others_are_missing, shared)
        for flag in ("mixed", "others_are_missing", "shared"):
            if getattr(self, flag):
                fail(flag, "no such field beside 'edges'", True)
        edges = rising(self.edges or [], "edges")
        return NumericColumn(self.name, edges, 0 if self.edges is None else len(edges) + 1)


class View(Record):
    """A partition of the groups into those that are compared."""

    name: str
    positions: list[Feature]  # of its columns among the sensitive ones
    groups: list[Any]
    group_of: list[Annotated[int, Meta(ge=-1, le=MAX_GROUPS)]]  # of each group of the model, -1 for none

    @classmethod
    def of_view(cls, view: notions.View) -> View:
        return cls.of(view, groups=[encode_value(group, "views_") for group in view.groups])

    def read(self, cells: list[tuple[Any, ...]]) -> notions.View:
        groups, n_groups = decode_distinct(self.groups, "groups"), len(cells)
        each("positions", self.positions, partial(whole, low=0, high=len(cells[0]) - 1))
        if len(groups) < 2:
            fail("groups", "at least two values", self.groups)
        of = exactly(n_groups, self.group_of, "group_of")
        if set(of) - {-1} != set(range(len(groups))):
            fail("group_of", f"all numbers from 0 to {len(groups) - 1}", self.group_of)
        return notions.View(self.name, tuple(self.positions), tuple(groups), tuple(of))


class PerGroup(Record):
    """Where a model with a threshold per group finds the groups, and the thresholds that each round would have."""

    columns: list[Feature]
    codes: list[Code] | None
    shares: list[Share]
    rounds: list[list[Threshold]]

    def read(self, about: glass_box.About, binner: Binner) -> GroupSource:
        columns, n_groups = binner.columns, len(about.groups)
        if len(self.columns) > len(columns):
            fail("columns", f"a list of 0 to {len(columns)} values", self.columns)
        at_most = partial(whole, low=0, high=len(columns) - 1)
        positions = tuple(each("columns", self.columns, at_most))
        codes = None
        if self.codes is not None:
            if len(positions) != 1:
                fail("codes", "null, unless one column holds the groups", self.codes)
            in_bins = partial(whole, low=1, high=columns[positions[0]].n_bins)
            found = each("codes", exactly(n_groups, self.codes, "codes"), in_bins)
            codes = np.array(found, dtype=X_BINNED_DTYPE)
        shares = np.array(exactly(n_groups, self.shares, "shares"))
        return GroupSource(about.groups, shares, positions, codes, about.grouping)


class Chosen(Record):
    """What `fit` chose, wherever the model has been moved to since then."""

    stage: Stage
    threshold: OneOrMore


# Trees


class Split(Record):
    feature: Feature
    split: Code | list[Code]  # the last bin that goes left, or the codes of categories that do
    missing_left: bool
    gain: Share

    def read(self, binner: Binner) -> trees.Split:
        whole(self.feature, 0, len(binner.columns) - 1, "feature")
        column, split = binner.columns[self.feature], self.split
        if isinstance(split, list):
            if not column.categorical:
                fail("split", f"a whole number from 0 to {column.n_bins}", split)
            found = each("split", split, partial(whole, low=1, high=column.n_codes - 1))
            return trees.Split(self.feature, tuple(found), self.missing_left, self.gain)
        whole(split, 0, column.n_bins, "split")
        if column.categorical:  # before version 3 one category went left, or what is missing
            return trees.Split(self.feature, (split,) if split else (), self.missing_left, self.gain)
        return trees.Split(self.feature, split, self.missing_left, self.gain)


class Tree(Record):
    """A side that is not split has no field, and the same vote twice."""

    alpha: Alpha
    root: Split
    votes: FourVotes
    confidences: FourShares
    left: Split | None = None
    right: Split | None = None

    @classmethod
    def of_round(cls, tree: trees.Tree, alpha: float) -> Tree:
        splits = {side: getattr(tree, side) for side in ("root", "left", "right")}
        records = {side: None if split is None else Split.of(split) for side, split in splits.items()}
        return cls.of(tree, alpha=float(alpha), votes=list(map(float, tree.votes)), **records)

    def read(self, binner: Binner) -> trees.Tree:
        splits: dict[str, Any] = {}
        for side in ("root", "left", "right"):
            split = getattr(self, side)
            with at(side):
                splits[side] = None if split is None else split.read(binner)
        votes = tuple(on_grid(np.array(self.votes)).tolist())
        if (self.left is None and votes[0] != votes[1]) or (self.right is None and votes[2] != votes[3]):
            fail("votes", "the same vote twice on a side that is not split", self.votes)
        return trees.Tree(**splits, votes=votes, confidences=tuple(self.confidences))


class TreePair(Record):
    """The sample weight of the training rows in each cell of two features that some tree asks about."""

    features: TwoFeatures
    weight: list[list[Weight]]

    def read(self, cells: score_tables.PairCells) -> score_tables.Pair:
        if self.features != list(cells.features):
            fail("features", f"{list(cells.features)}, the pair that the trees have here", self.features)
        shape = int(cells.row_of.max()) + 1, int(cells.column_of.max()) + 1
        return score_tables.Pair(*cells, np.empty((0, 0)), matrix(shape, self.weight, "weight"))


# An average


class Pair(Record):
    features: TwoFeatures
    rows: list[Code]
    columns: list[Code]
    scores: list[list[Score]]
    weight: list[list[Weight]]

    @classmethod
    def of_pair(cls, pair: score_tables.Pair, binner: Binner) -> Pair:
        first, second = (binner.columns[f].n_codes for f in pair.features)
        return cls.of(pair, rows=pair.row_of[:first].tolist(), columns=pair.column_of[:second].tolist())

    def read(self, binner: Binner) -> score_tables.Pair:
        first, second = each("features", self.features, partial(whole, low=0, high=len(binner.columns) - 1))
        if first >= second:
            fail("features", "two different features, the one that comes first in X first", self.features)
        cells = []
        for side, found, feature in (("rows", self.rows, first), ("columns", self.columns, second)):
            n_codes = binner.columns[feature].n_codes
            if sorted(set(exactly(n_codes, found, side))) != list(range(max(found) + 1)):
                fail(side, "numbers from 0 on, each of which is used", found)
            cells.append(np.array(found + [0] * (N_CODES - n_codes), dtype=np.uint8))
        shape = int(cells[0].max()) + 1, int(cells[1].max()) + 1
        scores, weight = matrix(shape, self.scores, "scores"), matrix(shape, self.weight, "weight")
        return score_tables.Pair((first, second), cells[0], cells[1], on_grid(scores), weight)


class Effects(Record):
    tables: Tables
    pairs: Annotated[list[Pair], Meta(max_length=MAX_PAIRS)]

    @classmethod
    def of_effects(cls, found: score_tables.Effects, binner: Binner) -> Effects:
        return cls(plain_tables(found.tables, binner), [Pair.of_pair(pair, binner) for pair in found.pairs])

    def read(self, binner: Binner) -> score_tables.Effects:
        pairs = each("pairs", self.pairs, lambda pair: pair.read(binner))
        for k in range(1, len(pairs)):
            if pairs[k].features <= pairs[k - 1].features:
                fail(f"pairs[{k}]", "pairs of features in rising order", self.pairs[k].features)
        # Already multiples of the grid, unless someone edited them: sums must stay exact.
        return score_tables.Effects(on_grid(read_tables(self.tables, binner, "tables")), tuple(pairs))


class Calibrator(Record):
    edges: Annotated[list[Score], Meta(min_length=1, max_length=calibration.MAX_BINS)]
    intercepts: list[Threshold]
    slopes: list[Positive]

    def read(self) -> calibration.Calibrator:
        edges, n_pieces = rising(self.edges, "edges"), len(self.edges) + 1
        intercepts = np.array(exactly(n_pieces, self.intercepts, "intercepts"))
        return calibration.Calibrator(edges, intercepts, np.array(exactly(n_pieces, self.slopes, "slopes")))


class Dial(Record):
    """What the spread and the importances of every blend are made of."""

    spreads: Annotated[list[Tables], Meta(min_length=2, max_length=2)]
    covariance: list[list[Product] | None]
    importances: Annotated[list[list[Share]], Meta(min_length=2, max_length=2)]
    orders: list[Annotated[int, Meta(ge=-1, le=1)]] | None

    @classmethod
    def of_dial(cls, found: dial.Dial, binner: Binner) -> Dial:
        return cls.of(
            found,
            spreads=[plain_tables(spread, binner) for spread in found.spreads],
            covariance=plain_tables(found.covariance, binner),
            importances=[shares.tolist() for shares in found.shares],
        )

    def read(self, ends: list[score_tables.Effects], binner: Binner) -> dial.Dial:
        n_features = len(binner.columns)
        orders = None
        if self.orders is not None:
            orders = np.array(exactly(n_features, self.orders, "orders"), dtype=np.int8)
        weights = dial.ordered_weights(ends[0], ends[1], orders, binner)
        plain, fair = each("spreads", self.spreads, lambda given: read_tables(given, binner, ""))
        shares = each("importances", self.importances, lambda given: np.array(exactly(n_features, given, "")))
        covariance = read_tables(self.covariance, binner, "covariance")
        both = (plain, fair), covariance, (shares[0], shares[1])
        return dial.Dial(ends[0], ends[1], *both, orders, weights)


class MenuStage(Record):
    """A blend with a shift: its thresholds, and how much weight of each cell is above each, as what is lost by each."""

    thresholds: Annotated[list[Threshold], Meta(min_length=1, max_length=MAX_CUTS)]
    between: list[list[Weight]]  # weight[threshold, cell] below it and above the one before
    ends: Annotated[list[Score], Meta(min_length=2, max_length=2)]

    def read(self, totals: Floats) -> Any:
        cuts = thresholds(rising(self.thresholds, "thresholds").tolist(), len(self.thresholds), "thresholds")
        between = matrix((len(cuts), totals.size), self.between, "between")
        yes = totals.T.ravel() - np.cumsum(between, axis=0)
        if (yes < 0).any():
            fail("between", "no more weight than there is in a cell", self.between[0])
        if self.ends[0] > self.ends[1]:
            fail("ends", "the lowest margin and the highest", self.ends)
        return cuts, yes


class Menu(Record):
    """All that the model can be without training again, and which of it it is."""

    stage: Annotated[int, Meta(ge=0)]
    stages: Annotated[list[MenuStage], Meta(min_length=1, max_length=len(WEIGHTS) * len(menu.SHIFTS))]
    totals: list[list[Weight]]
    unit: Positive
    vectors: list[list[Threshold]] | None = None
    only: Threshold | None = None
    column: PerGroup | None = None  # that the groups are shifted by
    wishes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_box(cls, box: glass_box.GlassBox) -> Menu:
        unwished = vars(Wishes())
        found = box.menu
        assert found is not None
        stages = []
        total = found.totals.T.ravel()
        for stage, ends in enumerate(found.ends.tolist()):
            at = found.of_stage(stage)
            between = np.maximum(np.diff(total - found.yes[at], axis=0, prepend=0.0), 0.0)  # but for rounding
            stages.append(MenuStage(short(found.thresholds[at]), whole_or_not(between), ends))
        return cls(
            box.stage,
            stages,
            found.totals.tolist(),
            found.unit,
            None if found.vectors is None else found.vectors.tolist(),
            found.only,
            None if box.column is None else PerGroup.of(box.column, rounds=[]),
            {name: value for name, value in vars(box.wishes).items() if value != unwished[name] or name == "limit"},
        )

    def read(self, about: Any, binner: Binner, weights: tuple[float, ...]) -> dict[str, Any]:
        """What a glass box has of it, by name."""
        n_groups = len(about.groups)
        totals = matrix((n_groups, 2), self.totals, "totals")
        n_shifts = len(self.stages) // len(weights)
        if n_shifts * len(weights) != len(self.stages) or n_shifts not in (1, 2, len(menu.SHIFTS)):
            fail("stages", f"a stage for each of {len(weights)} blends and its shifts", len(self.stages))
        shifts = {1: (0.0,), 2: (0.0, menu.BEST_SHIFT)}.get(n_shifts, menu.SHIFTS)
        vectors = None
        if (self.vectors is None) != (n_shifts == 1):
            fail("vectors", "null, unless there are shifts", self.vectors)
        if self.vectors is not None:
            vectors = matrix((len(weights), n_groups), self.vectors, "vectors")
        whole(self.stage, 0, len(self.stages) - 1, "stage")
        read = each("stages", self.stages, lambda stage: stage.read(totals))
        sizes = [len(cuts) for cuts, _ in read]
        column = None
        if self.column is not None:
            with at("column"):
                column = self.column.read(about, binner)
            if column.codes is None or about.source is not None:
                fail("column", "a column that tells the groups, unless each group has its own threshold", None)
        if vectors is not None and column is None and about.source is None:
            fail("column", "the column that tells the groups that are shifted", None)
        with at("wishes"):
            known = {name: tuple(v) if isinstance(v, list) else v for name, v in self.wishes.items()}
            wished = read_wishes(known)
        found = menu.Menu(
            weights,
            vectors,
            shifts,
            np.repeat(np.arange(len(sizes)), sizes),
            np.concatenate([cuts for cuts, _ in read]),
            np.concatenate([yes for _, yes in read]),
            totals,
            np.array([stage.ends for stage in self.stages]),
            self.unit,
            about.source is not None,
            self.only,
        )
        return {"menu": found, "stage": self.stage, "wishes": wished, "column": column}


def short(values: Floats) -> list[float]:
    """Thresholds with as few digits as say which multiple of the grid is meant."""
    found = values.copy()
    near = np.where(np.abs(values) < 1.0 / THRESHOLD_GRID, values, 0.0)  # those beyond are whole numbers
    for digits in range(10, 0, -1):
        rounded = np.round(near, digits)
        found = np.where(np.rint(rounded / THRESHOLD_GRID) * THRESHOLD_GRID == values, rounded, found)
    return list(found.tolist())


def whole_or_not(weights: Floats) -> list[list[Any]]:
    """Weights without a decimal point, if they are whole."""
    rounded = np.rint(weights)
    return (rounded.astype(np.int64) if (rounded == weights).all() else weights).tolist()  # type: ignore[no-any-return]


def read_wishes(given: dict[str, Any]) -> Wishes:
    """Wishes as a file has them."""
    costs = given.get("maximize")
    if isinstance(costs, tuple):
        given = given | {"maximize": dict(zip(COSTS, costs, strict=False))}
    for name, value in given.items():
        if name not in Wishes.__dataclass_fields__:
            fail(name, "no such wish", value)
    try:
        return Wishes.of(given)
    except ValueError as error:
        raise ModelFileError(f": {error}") from None


class Evidence(Record):
    """What promises about other choices are made of."""

    confidence: Share
    critical: Positive
    highest_error: Share
    rows: list[list[Count]]
    effective: list[list[Weight]]
    share: Share

    def read(self, n_groups: int) -> promise.Evidence:
        rows = matrix((n_groups, 2), self.rows, "rows").astype(np.int64)  # type: ignore[arg-type]
        given = self.confidence, self.critical, self.highest_error, rows
        return promise.Evidence(*given, matrix((n_groups, 2), self.effective, "effective"), self.share)


class Certificate(Record):
    """What was promised; the assumptions are those of every promise."""

    notion: str
    limit: Share | None
    min_ratio: Share | None
    confidence: Share
    method: Literal["out_of_bag", "held_out"]
    gap: Share
    ratio: Share | None  # null if there is none
    largest_gap: Share
    lowest_ratio: Share
    rows: list[list[Count]]
    effective: list[list[Weight]]
    min_group_share: Share
    model: str

    @classmethod
    def of_certificate(cls, found: promise.Certificate) -> Certificate:
        return cls.of(found, ratio=None if np.isnan(found.ratio) else found.ratio)

    def read(self, box: glass_box.GlassBox) -> promise.Certificate:
        """It is of this very model."""
        n_groups = len(box.about.groups)
        for name in ("rows", "effective"):
            matrix((n_groups, 2), getattr(self, name), name)
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        pairs = {name: tuple((first, second) for first, second in given[name]) for name in ("rows", "effective")}
        ratio = np.nan if self.ratio is None else self.ratio
        if self.model != box.fingerprint:
            fail("model", f"{box.fingerprint!r}, the hash of the model in this file", self.model)
        return promise.Certificate(**given | pairs | {"ratio": ratio})


class Bag(Record):
    theta: Rounds
    rounds: Rounds

    def read(self) -> int:
        return whole(self.theta, 1, self.rounds, "theta")


class Average(Record):
    """The tables of several trainings together; with a dial those of its plain and of its fair end."""

    bags: Annotated[list[Bag], Meta(min_length=1, max_length=MAX_BAGS)]
    fairness: Annotated[float, Meta(ge=WEIGHTS[0], le=WEIGHTS[-1])]
    ends: Annotated[list[Effects], Meta(min_length=1, max_length=2)]
    spread: Tables  # these three of the blend that the model is now
    importances: list[Share]
    calibrator: Calibrator
    dial: Dial | None = None
    menu: Menu | None = None
    evidence: Evidence | None = None
    certificate: Certificate | None = None

    @classmethod
    def of_model(cls, model: Any) -> Average:
        box = model._box
        ends = [box.unshifted] if box.dial is None else [box.dial.plain, box.dial.fair]
        return cls.of(
            box,
            bags=[Bag(int(theta), size) for theta, size in zip(model.thetas_, model._bag_sizes, strict=True)],
            ends=[Effects.of_effects(end, box.binner) for end in ends],
            spread=plain_tables(box.spread, box.binner),
            calibrator=Calibrator.of(box.calibrator),
            dial=None if box.dial is None else Dial.of_dial(box.dial, box.binner),
            menu=None if box.menu is None else Menu.of_box(box),
            evidence=None if box.evidence is None else Evidence.of(box.evidence),
            certificate=None if box.certificate is None else Certificate.of_certificate(box.certificate),
        )

    def read(self, about: Any, threshold: Any, binner: Binner, n_groups: int | None) -> glass_box.GlassBox:
        exactly(1 if self.dial is None else 2, self.ends, "ends")
        ends = each("ends", self.ends, lambda end: end.read(binner))
        if [(p.features, p.scores.shape) for p in ends[0].pairs] != [
            (p.features, p.scores.shape) for p in ends[-1].pairs
        ]:
            fail("ends", "the same pairs, with the same cells, at both ends", self.ends)
        effects, found = ends[0], None
        if self.dial is not None:
            with at("dial"):
                found = self.dial.read(ends, binner)
        importances = np.array(exactly(len(binner.columns), self.importances, "importances"))
        spread = read_tables(self.spread, binner, "spread")
        with at("calibrator"):
            calibrator = self.calibrator.read()
        box = glass_box.GlassBox(about, threshold, binner, effects, importances, spread, calibrator, found)
        if self.menu is None:  # before version 3 there was none: such a model stays where it was
            return (
                box if found is None else replace(box, effects=blend(found.plain, found.fair, self.fairness), dial=None)
            )
        with at("menu"):
            box = replace(box, **self.menu.read(about, binner, (1.0,) if found is None else found.weights))
        if self.fairness != box.fairness:
            fail("fairness", f"{box.fairness}, where the menu's stage is", self.fairness)
        box = replace(box, effects=box.effects_at(box.stage))
        if self.evidence is not None:
            with at("evidence"):
                box = replace(box, evidence=self.evidence.read(len(about.groups)))
        if self.certificate is not None:
            with at("certificate"):
                box = replace(box, certificate=self.certificate.read(box))
        return box
