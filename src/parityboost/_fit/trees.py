"""The native weak learner: decision trees of depth one or two on binned rows, whose weights it keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import ALPHA_GRID, BLOCK_ROWS, MISSING, N_CODES, Floats, Integers, room
from .._choice.wishes import Settings
from .._engine.cpu import FOUR_LEAVES, GROWN, MAX_LEAVES, N_KINDS, NONE, Classes, CpuRows, Grown
from .._engine.kernels import boosting, splitting
from .._model.tables import place_pairs
from .._model.trees import Split, Tree, TreeRounds
from .._table.binning import Binner, Bundles
from .._table.values import listed
from .loop import Round, Trained, charges_of
from .pairs import Shape
from .samples import CodedSample

# A split is judged as if so much of all weight was in each of its leaves besides, of either class: with steps of any
# size, small pure leaves would otherwise win too often. Plain boosting of Adult and Bank had the best balanced accuracy
# with it, on other halves than those of benchmarks/pairs.py.
PRIOR = 0.001
# What a category differs by from all others is believed by half at most if it has so few average rows: of those to be
# split, and of all training rows, by whose shares categories have an order before the first round; see ``best_set``.
SMOOTH, RANKED = 5.0, 20.0
MAX_TOGETHER = 32  # rounds that are boosted in one call
# Rounds in one call look at no more cells of the training rows than this, which takes a tenth of a second or so: nobody
# wants to wait longer for Ctrl-C.
MAX_CELLS = 1 << 26
WHY = {boosting.NO_BETTER_THAN_CHANCE: "termination", boosting.PERFECT: "perfect"}
UPDATES = {"real": boosting.REAL, "confidence": boosting.CONFIDENCE, "discrete": boosting.DISCRETE}


class Growing(NamedTuple):
    """How trees are grown; the names are the estimator's parameters, read."""

    shape: Shape
    criterion: str
    orders: NDArray[np.int8] | None  # 1 or -1 for columns with which the score may only rise or fall
    rate: float | None  # leaves vote with so much of half their log-odds, not with -1 or 1
    row: float | None  # an average row as a share of all weight, to split sets of categories; None: one by one


class TreeLearner:
    """Trees on the rows of a sample; a tree of depth one is a stump.

    Parameters
    ----------
    bundles : Bundles
        Which columns share a byte.
    train, selection : CodedSample
        The rows to train on, and those that θ is chosen on; they may be the same.
    start : ndarray of shape (n_cells,)
        The factor that D¹ gives to the rows of each cell, besides their sample weights.
    growing : Growing
        How trees are grown.
    """

    def __init__(
        self, bundles: Bundles, train: CodedSample, selection: CodedSample, start: Floats, growing: Growing
    ) -> None:
        self.train, self.selection, self._bundles, self._growing = train.sample, selection.sample, bundles, growing
        self._team = self.train.team
        self.rows, self.classes = self._place(train, start)
        self.selection_rows = (
            self.rows if selection is train else self.selection.place(selection.codes, bundles.bundle_of)
        )
        self._limits = boosting.Limits(boosting.ROOM, boosting.SHRUNK, boosting.LARGE)
        self.total: float = boosting.weigh(self.classes)
        mass_of = self.rows.sum_masses()
        occurs = mass_of.any(axis=0)  # [bundle, joint code], in the rows to train on
        there = [codes[occurs[b]] for codes, b in zip(bundles.code_of, bundles.bundle_of, strict=True)]
        others = [column.n_bins + 1 if column.categorical else N_CODES for column in bundles.binner.columns]
        self._columns = splitting.Columns(
            bundles.bundle_of,
            bundles.code_of,
            bundles.sizes,
            np.array([column.n_bins for column in bundles.binner.columns]),
            np.array([column.categorical for column in bundles.binner.columns]),
            np.array([(codes == MISSING).any() for codes in there]),
            np.array([(codes == other).any() for codes, other in zip(there, others, strict=True)]),
            np.zeros(len(bundles.bundle_of), dtype=np.int8) if growing.orders is None else growing.orders,
            self._ranks(mass_of),
        )
        self._n_codes = [column.n_codes for column in bundles.binner.columns]
        n_features = len(bundles.bundle_of)
        found = splitting.Found(
            *room(
                (np.float64, n_features),
                (np.int64, n_features),
                (np.bool_, n_features),
                (np.bool_, n_features, N_CODES),
                (np.int64, n_features, N_CODES),
                (np.float64, n_features, N_CODES),
            )
        )
        found.order[:] = np.arange(N_CODES)
        of_bundles = np.int64, len(bundles.sizes), 2, 2, N_CODES
        histograms, allowed, hist = room(of_bundles, (np.bool_, n_features), (np.int64, N_CODES, 2))
        grown = Grown(*room(*GROWN))
        self._search = splitting.Search(histograms, mass_of, self._columns, allowed, found, grown, hist)
        self._part = np.empty_like(histograms if growing.shape.depth > 1 else histograms[:0])  # of one side
        n_leaves = self.train.n_groups * MAX_LEAVES  # of each class
        factors = np.float64, 2 * self.train.n_groups, MAX_LEAVES
        self._plan = boosting.Plan(*room(factors, (np.int64, 2 * n_leaves + 1), (np.float64, n_leaves)))

    def _place(self, train: CodedSample, start: Floats) -> tuple[Any, Classes]:
        """Place all rows to train on and give them their weights; SMOTEBoost has rows that come later."""
        rows = train.sample.place(train.codes, self._bundles.bundle_of)
        classes = boosting.start_classes(train.sample.cell_mass, start)
        rows.start_weights(start, classes)
        return rows, classes

    def update_histograms(self) -> Integers:
        """The weight of each class in each bin, ``[bundle, class, even or odd place, joint code]``, in integers.

        They are not made anew in each round: they are given what the rows gained that changed their weight.
        """
        histograms, is_renewed = self._search.histograms, self.classes.is_renewed
        for y in (0, 1):
            if is_renewed[y]:  # all its rows are listed, with all that they weigh
                histograms[:, y] = 0
        self.rows.add_changes(histograms)
        is_renewed[:] = False
        return histograms

    def fit(self) -> Trained:
        """The weak learner for the current weights, which all rows are put into; asked again, the same."""
        error = self._grow(self.update_histograms(), self.total)
        return self._trained(error)

    def _trained(self, error: float) -> Trained:
        """Put all rows into the leaves of the tree that was grown."""
        grown = self._search.grown
        leaf_mass = self.rows.put_into_leaves(grown)
        if self.selection_rows is not self.rows:
            self.selection_rows.put_into_leaves(grown)
        votes, shares = grown.votes.copy(), grown.shares.copy()
        parts = [*(part.tolist() for part in grown[:4]), votes.tolist(), shares.tolist()]
        model = self._model(parts, grown.categories)
        return Trained(model, error, votes, shares, leaf_mass)

    def _grow(self, histograms: Integers, total: float) -> float:
        """The best stump for these histograms, each side of which is split if that makes it purer; its error.

        The same decisions as those of ``boosting.grow``, with the passes shared out among threads or other machines.
        """
        search, weighing = self._search, self.weighing(total)
        grown, allowed = search.grown, search.allowed

        def find_splits(values: Integers, limits: Floats) -> None:
            def task(first: int, last: int) -> None:
                splitting.best_splits(values, search, weighing, limits, np.empty_like(search.hist), first, last)

            self._team.run(task, len(allowed), 4 * N_CODES)

        allowed[:] = True
        grown.limits[2] = 0.0, 1.0, splitting.TIE * total
        find_splits(histograms, grown.limits[2])
        small = boosting.settle_root(histograms, search, weighing)
        if self._growing.shape.depth > 1 and small != NONE:
            part = self._part
            part[:] = 0
            self.rows.add_side(grown, small, part)
            boosting.list_partners(self._growing.shape.partners, grown.features[0], allowed)
            for side in (small, 1 - small):
                if side != small:
                    np.subtract(histograms, part, out=part)
                if grown.side_sums[side].all():
                    find_splits(part, grown.limits[side])
                    boosting.settle_side(part, side, search, weighing)
        return float(boosting.settle_leaves(weighing, grown))

    def weighing(self, total: float) -> splitting.Weighing:
        """How splits are judged if all rows weigh so much."""
        rate = self._growing.rate
        criterion = splitting.ERROR if self._growing.criterion == "error" else splitting.GINI
        prior = 0.0 if rate is None else PRIOR * total
        row = -1.0 if self._growing.row is None else self._growing.row
        sets = row * total, SMOOTH * row * total  # as ``boost_rounds`` multiplies them, to the last bit
        return splitting.Weighing(criterion, self.classes.units, total, prior, rate or 0.0, ALPHA_GRID, *sets)

    def _ranks(self, mass_of: Integers) -> Integers:
        """Of every feature the codes by their share of positives, ``[feature, place]``; those without rows are last."""
        bundles, row = self._bundles, self._growing.row
        order = np.tile(np.arange(N_CODES), (len(bundles.bundle_of), 1))
        if row is None:
            return order
        for f in (f for f, column in enumerate(bundles.binner.columns) if column.categorical):
            sums = np.zeros((2, N_CODES), dtype=np.int64)
            for y in (0, 1):
                np.add.at(sums[y], bundles.code_of[f], mass_of[y, bundles.bundle_of[f]])
            of_code, everyone = sums.sum(axis=0), sums.sum(axis=1) / sums.sum()
            few = RANKED * row * sums.sum()
            with np.errstate(invalid="ignore"):
                share = (sums[1] + few * everyone[1]) / (of_code + few)
            order[f] = np.argsort(np.where(of_code > 0, share, np.inf), kind="stable")
        return order

    def wrong_weight(self, trained: Trained) -> Floats:
        """Weight of the misclassified rows per ``[group, class]``, all weights summing to one."""
        votes, n_groups = trained.votes, self.train.n_groups
        wrong = np.repeat(np.stack([votes > 0, votes <= 0]), n_groups, axis=0)  # [cell, leaf]
        weight: Floats = self.rows.sum_wrong(wrong).reshape(2, n_groups).T * self.classes.units / self.total
        return weight

    def reweight(self, trained: Trained, costs: Floats, alpha: float, update: str) -> float:
        """Multiply misclassified rows by C·exp(2α·conf), Eq. (14) times exp(α); new sum of weights by the old one.

        With votes of any size all rows are multiplied by exp(-y·h), and all of a cell by its C.
        """
        limits, classes, plan = self._limits, self.classes, self._plan
        votes, shares, leaf_mass = trained.votes, trained.shares, np.asarray(trained.leaf_mass)
        known = votes, shares, costs, self.train.cell_mass, leaf_mass
        boosting.plan_weights(UPDATES[update], float(alpha), *known, limits, classes, plan)
        self.rows.change_weights(plan.factors, classes)
        if boosting.check_sums(limits, classes):
            self.rows.list_anew(classes)
        before, self.total = self.total, boosting.weigh(classes)
        growth = self.total / before
        self.total = boosting.keep_small(limits, classes, self.total)
        return growth

    def distribution(self) -> Floats:
        """D, in the order of the training sample."""
        weights: Floats = self.rows.distribution(self.classes, self.total)
        return weights

    def several(self, settings: Settings, most: int, keeps_leaves: bool) -> Several | None:
        """Who boosts up to so many rounds at a time, if that can be: not if several threads share the passes, or the
        rows are elsewhere, or the notion has costs of its own.
        """
        charges = charges_of(settings.notion, settings.epsilon)
        if charges is None or settings.learner_weight == "cost" or type(self.rows) is not CpuRows:
            return None
        codes, n_blocks = self.rows.arrays.codes, len(self.rows.arrays.blocks)
        if any(self._team.n_sharing(*work) > 1 for work in (codes.shape, (n_blocks, BLOCK_ROWS))):
            return None
        return Several(self, settings, charges, most, keeps_leaves)

    def _model(self, parts: list[Any], categories: NDArray[np.bool_]) -> Tree:
        """From features, splits, missing_left and gains, of the first split, the right side's and the left side's, and
        the votes and shares of the leaves from right to left; ``categories[split, code]`` go left.
        """
        *of_splits, votes, shares = parts
        if self._growing.rate is None:
            votes = [int(vote) for vote in votes]
        splits: list[Split | None] = []
        for (feature, at, missing_left, gain), goes_left in zip(zip(*of_splits, strict=True), categories, strict=True):
            if feature == NONE:
                splits.append(None)
                continue
            if self._columns.categorical[feature]:
                at = tuple((1 + np.flatnonzero(goes_left[1 : self._n_codes[feature]])).tolist())
            splits.append(Split(feature, at, missing_left, gain))
        root, right, left = splits
        return Tree(root, left, right, tuple(votes[::-1]), tuple(shares[::-1]))  # type: ignore[arg-type]

    def ensemble(self, models: list[Tree], alphas: Floats) -> TreeRounds:
        """What remains after training."""
        bundles = self._bundles
        return TreeRounds.counted(
            bundles.binner,
            models,
            alphas,
            lambda pairs: self.rows.count_pairs(place_pairs(pairs, bundles.bundle_of, bundles.code_of)),
            self.train.masses.unit,
        )

    def selection_margins(self, ensemble: Any) -> Callable[[], Iterator[Floats]]:
        """A function that goes through the margins of the ``selection`` rows again, without the rest of the learner."""
        bundles = self._bundles
        return partial(ensemble.staged_codes, self.selection_rows.codes_on_host(), bundles.bundle_of, bundles.code_of)


class Several:
    """Boosts some rounds at a time in compiled code: the processor's way of making the passes of :class:`TreeLearner`.

    There are at most ``most`` rounds at a time, and fewer of many rows. If ``keeps_leaves``, each comes with the leaves
    of the rows that θ is chosen on, and otherwise with counts of their predictions.
    """

    def __init__(
        self, learner: TreeLearner, settings: Settings, charges: boosting.Charges, most: int, keeps_leaves: bool
    ) -> None:
        self._learner, self._charges = learner, charges
        growing, rows, others = learner._growing, learner.rows, learner.selection_rows
        self.most = most = max(min(most, MAX_CELLS // max(rows.arrays.codes.size, 1)), 1)
        self._below = None
        if growing.shape.depth > 1:
            rows.room_for_leaves()
            others.room_for_leaves()
            self._below = boosting.Below(
                rows.room_for_side(), np.empty(N_CODES, dtype=np.uint8), learner._part, growing.shape.partners
            )
        self._train, self._other, has_others = rows.arrays, others.arrays, others is not rows
        if not has_others:
            self._other = self._other._replace(blocks=self._other.blocks[:0])
        by_others = settings.costs_from == "validation"
        self._how = boosting.How(
            UPDATES[settings.update],
            float(settings.learning_rate),
            0.0 if isinstance(settings.threshold, str) else float(settings.threshold),
            settings.cumulative,
            by_others,
            keeps_leaves,
            learner.weighing(1.0),
        )
        n_groups, n_kept = learner.train.n_groups, len(others) if keeps_leaves else 0
        scratch = room(
            (np.int64, len(self._train.blocks), N_KINDS),
            (np.int64, len(self._other.blocks), N_KINDS),
            (np.float64, MAX_LEAVES),
            (np.float64, N_CODES),
            (np.float64, n_groups),
            (np.float64, n_groups, 2),
        )
        self._scratch = boosting.Scratch(*[*scratch, learner._plan, FOUR_LEAVES])
        n_counted = most if has_others and (by_others or not keeps_leaves) else 0
        self._records = boosting.Records(
            *room(
                (np.int64, most, 3),
                (np.int64, most, 3),
                (np.bool_, most, 3),
                (np.float64, most, 3),
                *([(np.float64, most, MAX_LEAVES)] * 2),
                *([(np.float64, most)] * 3),
                (np.float64, most, n_groups, 2),
                *([(np.float64, most, n_groups, 2, 2)] * 2),
                (np.float64, n_counted, n_groups, 2, 2),
                (np.uint8, most, n_kept),
                (np.bool_, most, 3, N_CODES),
            )
        )

    def next(self, n_rounds: int) -> tuple[list[Round], str | None]:
        """The next rounds, and why there are no more of them."""
        learner, records = self._learner, self._records
        n_done, why = boosting.boost_rounds(
            n_rounds,
            self._train,
            self._other,
            learner._search,
            self._below,
            learner.rows.weights,
            learner.classes,
            self._how,
            learner._limits,
            self._charges,
            self._scratch,
            records,
        )
        learner.total = boosting.weigh(learner.classes)
        numbers = zip(*(part[:n_done].tolist() for part in records[:9]), strict=True)
        kept = records.costs, records.cost_counts, records.counts
        costs, cost_counts, counts = (part[:n_done].copy() for part in kept)
        chosen_on = records.other_counts[:n_done].copy() if len(records.other_counts) else counts
        steps = records.alphas[:n_done, None] * records.votes[:n_done]
        rounds = []
        for j, (*parts, error, alpha, growth) in enumerate(numbers):
            z = growth if self._how.update == boosting.REAL else math.exp(-alpha) * growth
            model = learner._model(parts, records.categories[j])
            leaves = records.leaves[j] if self._how.keeps_leaves else None
            given = cost_counts[j], costs[j], counts[j], chosen_on[j], steps[j], leaves
            rounds.append(Round(model, alpha, error, z, *given))
        return rounds, WHY.get(why)


def read_shape(max_depth: int, interaction_cst: Any, names: list[str]) -> Shape:
    """How deep trees are, and which columns they may ask about together.

    Columns that no set names are a set of their own, as in scikit-learn.
    """
    n_columns = len(names)
    if interaction_cst is None or isinstance(interaction_cst, str):
        n_sets = 0 if interaction_cst == "no_interactions" else 1
        return Shape(max_depth, np.ones((n_sets, n_columns), dtype=np.bool_))
    sets = []
    for members in interaction_cst:
        if isinstance(members, (str, bytes)) or not hasattr(members, "__iter__"):
            raise ValueError(
                f"interaction_cst must be a list of sets of columns, such as [{{{names[0]!r}}}], got {members!r} in it"
            )
        sets.append({_position(member, names, "interaction_cst") for member in members})
    sets.append(set(range(n_columns)) - set().union(*sets))

    partners = np.zeros((len(sets), n_columns), dtype=np.bool_)
    for k, members in enumerate(sets):
        partners[k, list(members)] = True
    return Shape(max_depth, partners)


def read_orders(monotonic_cst: Any, names: list[str], binner: Binner) -> NDArray[np.int8] | None:
    """1, -1 or 0 per column: whether the score may only rise or fall with it; None if no column is restricted."""
    if monotonic_cst is None:
        return None
    if isinstance(monotonic_cst, Mapping):
        given = {_position(key, names, "monotonic_cst"): value for key, value in monotonic_cst.items()}
    else:
        values = list(monotonic_cst)
        if len(values) != len(names):
            raise ValueError(f"monotonic_cst has {len(values)} entries, but X has {len(names)} columns")
        given = dict(enumerate(values))
    orders = np.zeros(len(names), dtype=np.int8)
    for column, order in given.items():
        if not isinstance(order, (int, np.integer)) or int(order) not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst of column {names[column]!r} must be 1 (the score may only rise with it), -1 (only "
                f"fall) or 0, got {order!r}"
            )
        if order and binner.columns[column].categorical:
            raise ValueError(
                f"monotonic_cst: column {names[column]!r} holds categories, which have no order; make it a number, or "
                "give it 0"
            )
        orders[column] = order
    return orders if orders.any() else None


def _position(column: Any, names: list[str], parameter: str) -> int:
    """A column by its name or position."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and type(column) is not bool and 0 <= int(column) < len(names):
        return int(column)
    raise ValueError(f"{parameter} names the column {column!r}, which X does not have; its columns are {listed(names)}")
