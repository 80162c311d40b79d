"""A plain NumPy twin of AdaFair, written for reading.

It works on the raw columns, without bins, histograms or sorting, looks at every candidate split row by row, and follows
Algorithm 1 of the paper line by line. The fast implementation is tested against it, to the last bit: weights are
rounded to integers in the same way, and integers add up to the same in any order. Small numbers of rows only.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

import numpy as np

PRIOR = 0.001  # with update="real", a leaf is judged as if so much of all weight was in it besides, of either class
DOUBT = 0.1  # no leaf is surer than half the log-odds of 1 + DOUBT to DOUBT
TIE = 1e-12  # scores, objectives and leaf weights this close (relative to all weight) are equal; the first one wins
PERFECT = 1e-10
TARGET, MAX_TARGET, FACTOR_BITS, LIMIT, SHRUNK = 52, 57, 24, 62, 8  # bits of sums of weights, see BoostedWeights
HALF_BELIEVED = 5
UNKNOWN, SMALL = -1, -2  # no group of a view: nobody knows it, or it has too few rows to be compared there
# With category_splits="sets": a category of fewer rows is taken with others, and what a category differs by is believed
# by half if it has so many average rows.
LEAST_ROWS, SMOOTH, RANKED = 5, 5.0, 20.0
GRID = 2.0**-36  # α is rounded to this, so that sums of α are exact and ties are ties


# --- Fairness notions: rate, which group is worse off, which true classes get the cost
# -----------------------------------


def selection_rate(y, predicted, w):
    return w[predicted == 1].sum() / w.sum()


def false_negative_rate(y, predicted, w):
    return w[(y == 1) & (predicted == 0)].sum() / w[y == 1].sum()


def false_positive_rate(y, predicted, w):
    return w[(y == 0) & (predicted == 1)].sum() / w[y == 0].sum()


NOTIONS = {
    "statistical_parity": [(selection_rate, "low rate is worse", (1,))],
    "symmetric_parity": [(selection_rate, "low rate is worse", (1,)), (selection_rate, "high rate is worse", (0,))],
    "equal_opportunity": [(false_negative_rate, "high rate is worse", (1,))],
    "predictive_equality": [(false_positive_rate, "high rate is worse", (0,))],
    "disparate_mistreatment": [
        (false_negative_rate, "high rate is worse", (1,)),
        (false_positive_rate, "high rate is worse", (0,)),
    ],
    "none": [],
}


def rates_per_group(rate, y, group, predicted, w, n_groups):
    return np.array([rate(y[group == g], predicted[group == g], w[group == g]) for g in range(n_groups)])


def each_view(group, n_groups, views):
    """Of each view the group of every row (UNKNOWN, SMALL), how many there are, and the group of every cell."""
    for view in [np.arange(n_groups)] if views is None else views:
        yield view[group], view.max() + 1, view


def costs(notion, epsilon, y, group, predicted, w, n_groups, views=None):
    """u[group, class], Eqs. (9), (11), (13), for two or more groups; of several views of them the highest."""
    u = np.zeros((n_groups, 2))
    for seen, n_seen, view in each_view(group, n_groups, views):
        owed = np.zeros((n_seen, 2))
        for rate, worse, classes in NOTIONS[notion]:
            r = rates_per_group(rate, y, seen, predicted, w, n_seen)
            behind = r.max() - r if worse == "low rate is worse" else r - r.min()
            for g in range(n_seen):
                for label in classes:
                    if behind[g] > epsilon:
                        owed[g, label] += behind[g]
        unknown_pay = [pay_for_unknown(owed[:, label], seen[y == label], w[y == label]) for label in (0, 1)]
        for cell in range(n_groups):
            if view[cell] != SMALL:
                u[cell] = np.maximum(u[cell], unknown_pay if view[cell] == UNKNOWN else owed[view[cell]])
    return u


def pay_for_unknown(owed, group, w):
    """Of rows of one class: what those of unknown group pay, the mean of what the others owe.

    What the others owe is changed so that each group pays in all what it owes, if it has the same share of the unknown
    rows as of the others.
    """
    sizes = [w[group == g].sum() for g in range(len(owed))]
    unknown, known = w[group == UNKNOWN].sum(), sum(sizes)
    if unknown == 0 or known == 0:
        return 0.0
    mean = sum(owed * sizes) / known
    owed[:] = np.maximum(mean + (owed - mean) * ((known + unknown) / known), 0.0)
    return mean


def violation(notion, y, group, predicted, w, n_groups, shrunk_by=None, views=None):
    """F.M. in Eq. (16), of several views the worst. Shrunk, a rate of 5 instances counts half, and the rate of everyone
    the other half.

    A weight of one then stands for ``shrunk_by`` instances.
    """
    totals = []
    for seen, n_seen, _ in each_view(group, n_groups, views):
        total = 0.0
        for rate in {rate: None for rate, _, _ in NOTIONS[notion]}:  # each rate once
            r = rates_per_group(rate, y, seen, predicted, w, n_seen)
            if shrunk_by is not None:
                of = {false_negative_rate: y == 1, false_positive_rate: y == 0, selection_rate: y >= 0}[rate]
                size = shrunk_by * np.array([w[of & (seen == g)].sum() for g in range(n_seen)])
                common = rate(y, predicted, w)
                r = common + size / (size + HALF_BELIEVED) * (r - common)
            total += r.max() - r.min()
        totals.append(total)
    return max(totals)


def balanced_error(y, predicted, w):
    return 0.5 * (false_negative_rate(y, predicted, w) + false_positive_rate(y, predicted, w))


def objective(notion, c, y, group, predicted, w, n_groups, shrunk_by=None, views=None):
    """c·BER + (1−c)·ER + F.M., Eq. (16)."""
    er = w[predicted != y].sum() / w.sum()
    fm = violation(notion, y, group, predicted, w, n_groups, shrunk_by, views)
    return c * balanced_error(y, predicted, w) + (1 - c) * er + fm


# --- The choice of θ and the threshold
# -------------------------------------------------------------------------------------


@dataclass
class Option:
    threshold: float
    ber: float
    violation: float
    objective: float  # what is compared: of shrunk rates if `keep` is used
    papers: float  # Eq. (16)
    constant: bool  # one prediction for everyone


def first_best(options, cost):
    """Position of the first option that no other beats."""
    best = 0
    for i, option in enumerate(options):
        if cost(option) < cost(options[best]) - TIE:
            best = i
    return best


def undominated(options, other):
    """The options that no other one beats in balanced error and in another measure; of equals the first."""

    def beats(a, b):
        as_good = a.ber <= b.ber + TIE and other(a) <= other(b) + TIE
        return as_good and (a.ber < b.ber - TIE or other(a) < other(b) - TIE)

    return [option for option in options if not any(beats(rival, option) for rival in options)]


def choose(rounds, keep, max_violation):
    """The best option of each round, and the position of the round with the best of these.

    Only options may win that keep the share ``keep`` of the lead over chance that the lowest balanced error has. Among
    them the objective of those with a small violation decides, or else the violation.
    """

    def limited(option):
        if max_violation is None or option.violation <= max_violation + TIE:
            return option.objective
        return 1e3 + option.violation

    if keep > 0:
        rounds = [undominated(options, limited) for options in rounds]
    lowest = min(option.ber for options in rounds for option in options)
    allowed = np.inf if keep == 0 else max(0.5 - keep * (0.5 - lowest), lowest)

    def cost(option):
        return limited(option) if option.ber <= allowed + TIE else 1e6 + option.ber

    chosen = [options[first_best(options, cost)] for options in rounds]
    return chosen, first_best(chosen, cost)


# --- Weights that are summed as integers
# ---------------------------------------------------------------------------------


def to_masses(w):
    """Sample weights as integers, and the power of two that one of them stands for."""
    if w is None or len(set(w)) == 1:
        return None, 1.0
    if all(x == math.floor(x) for x in w) and sum(w) <= 2**40:
        return [int(x) for x in w], 1.0
    exponent = 60
    while sum(max(1, round(math.ldexp(x, exponent))) for x in w) > min(len(w) * 2**24, 2**40):
        exponent -= 1
    while exponent > 0 and all(x == math.floor(x) for x in (math.ldexp(y, exponent - 1) for y in w)):
        exponent -= 1  # still whole numbers
    return [max(1, round(math.ldexp(x, exponent))) for x in w], 2.0**-exponent


@dataclass
class Weights:
    """Whole numbers per row, and what one of them weighs in each class."""

    y: np.ndarray
    whole: list
    units: tuple

    def of(self, rows):
        """Weight of the negative and of the positive ones among some rows."""
        return tuple(
            float(sum(n for n, chosen, label in zip(self.whole, rows, self.y, strict=True) if chosen and label == y))
            * self.units[y]
            for y in (0, 1)
        )

    @property
    def total(self):
        return sum(self.of([True] * len(self.y)))

    def distribution(self):
        return np.array([n * self.units[label] for n, label in zip(self.whole, self.y, strict=True)]) / self.total


def exactly(y, D):
    """Any weights as whole numbers, as close as integers of 50 bits come."""
    unit = 2.0 ** (math.frexp(D.sum())[1] - 50)
    return Weights(y, [round(d / unit) for d in D.tolist()], (unit, unit))


def mean_cost(costs, cells):
    """Of the groups, as the cells of a class weigh. On a grid, so that their order does not matter."""
    bits = 36 - math.frexp(max(cells))[1]
    paid = sum(round(math.ldexp(cost * cell, bits)) for cost, cell in zip(costs, cells, strict=True))
    return paid / sum(round(math.ldexp(cell, bits)) for cell in cells)


class BoostedWeights:
    """A row weighs m·f; what is summed is m·max(1, round(f·2^k)), each of which weighs scale·2^-k of its class."""

    def __init__(self, y, group, mass, start):
        self.y, self.group, self.mass = y, group, mass
        self.f = [start[g, label] for g, label in zip(group, y, strict=True)]
        self.scale, self.k = [1.0, 1.0], [0, 0]
        self.class_mass = [sum(m for m, label in zip(mass, y, strict=True) if label == c) for c in (0, 1)]
        self.target = [min(max(TARGET, n.bit_length() + FACTOR_BITS), MAX_TARGET) for n in self.class_mass]
        self.cells = np.zeros((len(start), 2))  # what each cell weighs at first
        for label in (0, 1):
            weight = 0.0
            for g in range(len(start)):
                self.cells[g, label] = float(self.mass_of((y == label) & (group == g))) * start[g, label]
                weight += self.cells[g, label]
            self.k[label] = self.target[label] - math.frexp(weight)[1]

    def mass_of(self, rows):
        return sum(m for m, chosen in zip(self.mass, rows, strict=True) if chosen)

    @property
    def now(self):
        whole = [
            m * max(1, round(math.ldexp(f, self.k[label])))
            for m, f, label in zip(self.mass, self.f, self.y, strict=True)
        ]
        return Weights(self.y, whole, tuple(math.ldexp(self.scale[c], -self.k[c]) for c in (0, 1)))

    def boost_wrong(self, leaf, votes, right, wrong, costs, all_pay):
        """Multiply misclassified rows by costs[group, class] · wrong[leaf], the others by right[leaf].

        If all rows of a cell pay, that is what it pays as a share of the mean of its class.
        """
        for label in (0, 1):
            is_wrong = [(vote > 0) != (label == 1) for vote in votes]
            mean = mean_cost(costs[:, label], self.cells[:, label]) if all_pay else 1.0
            factor = {
                (g, t): costs[g, label] / mean * wrong[t]
                if is_wrong[t]
                else costs[g, label] / mean * right[t]
                if all_pay
                else right[t]
                for g in range(len(costs))
                for t in range(len(votes))
            }
            # The most common factor is put aside, as if every group was spread over the leaves as its class is.
            rows = self.y == label
            common, most = 1.0, -1.0
            for at in factor:
                mass = 0.0
                for g, t in factor:
                    if factor[g, t] == factor[at]:
                        mass += float(self.mass_of(rows & (self.group == g))) * float(self.mass_of(rows & (leaf == t)))
                if mass > most or (mass == most and factor[at] > common):
                    common, most = factor[at], mass
            self.scale[label] *= common
            factor = {at: value / common for at, value in factor.items()}
            # Fewer bits before the sum could reach 2^LIMIT, more bits when it has shrunk.
            before = sum(n for n, mine in zip(self.now.whole, rows, strict=True) if mine)
            expected = max(1.0, *factor.values()) * (before + self.class_mass[label])
            room_made = expected >= 2.0 ** (LIMIT - 1)
            if room_made:
                self.k[label] += self.target[label] - math.frexp(expected)[1]
            for i in np.flatnonzero(rows):
                self.f[i] *= factor[self.group[i], leaf[i]]
            n_bits = sum(n for n, mine in zip(self.now.whole, rows, strict=True) if mine).bit_length()
            if not room_made and n_bits < self.target[label] - SHRUNK:
                self.k[label] += self.target[label] - n_bits


# --- The weak learner: every split of every column
# -----------------------------------------------------------------------


@dataclass
class Split:
    """Rows on the left: ``x <= value`` (numeric) or ``x == value`` (categorical); missing values as told."""

    feature: int
    categorical: bool
    value: object
    missing_left: bool
    left_vote: int = 0
    right_vote: int = 0
    left_confidence: float = 0.0
    right_confidence: float = 0.0

    def goes_left(self, columns):
        x = columns[self.feature]
        left = np.zeros(len(x), dtype=bool)
        for i, value in enumerate(x):
            if is_missing(value):
                left[i] = self.missing_left
            elif self.value is not None:
                all_left = self.value == np.inf  # nothing can be split, whatever the column
                left[i] = all_left or (value == self.value if self.categorical else value <= self.value)
        return left

    @property
    def is_one_leaf(self):
        """Nothing could be split: everything is on the left."""
        return self.value == np.inf and self.missing_left

    def leaf(self, columns):
        return self.goes_left(columns).astype(int)

    @property
    def votes(self):
        return [self.right_vote, self.left_vote]

    @property
    def confidences(self):
        return [self.right_confidence, self.left_confidence]

    def vote(self, columns):
        return np.where(self.goes_left(columns), self.left_vote, self.right_vote)

    def confidence(self, columns):
        return np.where(self.goes_left(columns), self.left_confidence, self.right_confidence)


@dataclass
class SetSplit(Split):
    """Rows on the left: those of some categories, of which missing is one. ``value`` has them; others that are here go
    right, and what is not here goes where most do.
    """

    known: tuple = ()  # that are told apart; all others are one
    here: tuple = ()
    rest_left: bool = False
    sides: tuple = ()  # the weight of each class, left and right, as far as it is believed

    def goes_left(self, columns):
        keys = [
            None if is_missing(value) else value if value in self.known else OTHER for value in columns[self.feature]
        ]
        return np.array([key in self.value if key in self.here else self.rest_left for key in keys])


def is_missing(value):
    return value is None or (isinstance(value, float) and np.isnan(value))


OTHER = object()  # stands for all categories that are too rare: equal to no category that is split off


def merge_rare(x, mass, most, least=0.0):
    """The categories of a column. Those that weigh less than ``least`` or are not of the heaviest are one."""
    values = sorted({value for value in x if not is_missing(value)})
    values = [value for value in values if sum(m for v, m in zip(x, mass, strict=True) if v == value) >= least]
    heavy = sorted(values, key=lambda value: -sum(m for v, m in zip(x, mass, strict=True) if v == value))[:most]
    return np.array([value if is_missing(value) or value in heavy else OTHER for value in x], dtype=object)


def candidate_splits(feature, x, categorical, weights, rows=None):
    """Of a column, or of some of its rows, in the order in which ties are broken.

    Also in some of the rows there are the values of all.
    """
    values = sorted({value for value in x if not is_missing(value) and value is not OTHER})
    rows = np.ones(len(x), dtype=bool) if rows is None else rows
    missing = np.array([is_missing(value) for value in x]) & rows
    if categorical:
        several = len(values) + any(value is OTHER for value in x) > 1
        for value in values:
            if several or missing.any():
                yield Split(feature, True, value, False)
            if several and missing.any():
                yield Split(feature, True, value, True)
        if several and missing.any():
            yield Split(feature, True, None, True)
        return
    for lower, upper in pairwise(values):
        threshold = (lower + upper) / 2
        if missing.any():
            yield Split(feature, False, threshold, True)
            yield Split(feature, False, threshold, False)
        else:  # no row tells where missing values belong: to the heavier side
            left, total = sum(weights.of([value <= threshold for value in x] & rows)), sum(weights.of(rows))
            yield Split(feature, False, threshold, left >= 0.5 * total - TIE * total)
    if values and missing.any():
        yield Split(feature, False, np.inf, False)  # missing against all values, also larger ones to come


def candidate_sets(feature, x, weights, rows, row, smooth, ranks):
    """Splits of a column into two sets of categories: between neighbours in the order of their shares of positives.

    First in their order among all training rows, then in that of the rows that are here: there each category is
    believed as far as categories differ by more than chance (DerSimonian and Laird), for the order and for what the
    sides are judged by. ``row`` is the weight of an average row, ``smooth`` that of what is believed by half at most.
    """
    names = list(ranks)
    both = weights.of(rows)
    total, of_all = sum(both), both[1] / sum(both) if sum(both) > 0 else 0.0
    keys = [None if is_missing(value) else value for value in x]
    rows_of = {name: np.array([key is name or key == name for key in keys]) & rows for name in names}
    here = [name for name in names if rows_of[name].any()]
    weight_of = {name: sum(weights.of(rows_of[name])) for name in here}
    raw = {name: weights.of(rows_of[name])[1] / weight_of[name] for name in here}

    by_chance = of_all * (1 - of_all) * row
    beyond = sum(weight_of[name] * squared(raw[name] - of_all) for name in here) - (len(here) - 1) * by_chance
    half = np.inf
    if beyond > 0:
        spread = total - sum(squared(weight_of[name]) for name in here) / total
        half = max(by_chance * spread / beyond, smooth)
    believed = {
        name: of_all + weight_of[name] / (weight_of[name] + half) * (raw[name] - of_all) for name in here
    }  # fmt: skip

    for shares, rank in ((raw, ranks), (believed, believed)):
        order = sorted(here, key=lambda name: (rank[name], names.index(name)))
        yield from sets_in_order(feature, order, shares, weights, rows_of, both, here, names)


def squared(x):
    return x * x  # a power may be rounded otherwise


def sets_in_order(feature, order, shares, weights, rows_of, both, here, names):
    """A split between any two neighbours."""
    total, known = sum(both), 0.0
    for k in range(1, len(order)):
        known += sum(weights.of(rows_of[order[k - 1]])) * shares[order[k - 1]]
        left = np.logical_or.reduce([rows_of[name] for name in order[:k]])
        weight = sum(weights.of(left))
        positive = min(max(known, 0.0), weight)
        sides = (weight - positive, positive), (total - weight - (both[1] - positive), both[1] - positive)
        rest_left = weight >= 0.5 * total - TIE * total
        missing_left = None in order[:k] if None in here else rest_left
        told_apart = tuple(name for name in names if name is not None and name is not OTHER)
        yield SetSplit(
            feature, True, set(order[:k]), missing_left,
            known=told_apart, here=tuple(here), rest_left=rest_left, sides=sides,
        )  # fmt: skip


def ranks_of(x, y, mass, few):
    """The share of positives of each category among all training rows, with ``few`` rows more of what all have.

    In the order of their codes: missing, the categories, the rare ones.
    """
    keys = [None if is_missing(value) else value for value in x]
    names = [None, *sorted({key for key in keys if key is not None and key is not OTHER}), OTHER]
    everyone = sum(m for m, label in zip(mass, y, strict=True) if label) / sum(mass)
    ranks = {}
    for name in names:
        mine = [i for i, key in enumerate(keys) if key is name or key == name]
        size, positive = sum(mass[i] for i in mine), sum(mass[i] for i in mine if y[i])
        ranks[name] = (positive + few * everyone) / (size + few) if size else np.inf
    return ranks


def purity(rows, weights, criterion, prior):
    return purity_of(*weights.of(rows), criterion, prior)


def purity_of(negative, positive, criterion, prior):
    negative, positive = negative + prior, positive + prior
    if criterion == "error":
        return max(negative, positive)
    return (negative * negative + positive * positive) / (negative + positive) if negative + positive > 0 else 0.0


def score(split, columns, weights, criterion, prior, rows=True):
    if isinstance(split, SetSplit):
        return sum(purity_of(*side, criterion, prior) for side in split.sides)
    left = split.goes_left(columns)
    return purity(left & rows, weights, criterion, prior) + purity(~left & rows, weights, criterion, prior)


def vote_of(rows, weights):
    negative, positive = weights.of(rows)
    return 1 if positive - negative > TIE * weights.total else -1


def log_odds(rows, weights, rate):
    """What a leaf votes with update="real"."""
    negative, positive = weights.of(rows)
    weight = negative + positive
    return round(rate * (0.5 * math.log((positive / weight + DOUBT) / (negative / weight + DOUBT))) / GRID) * GRID


def positive_share(rows, weights):
    negative, positive = weights.of(rows)
    return positive / (negative + positive)


@dataclass
class Rules:
    """Which columns may be asked about below which (None: all), and -1, 0 or 1 per column for the score's direction."""

    together: list = None
    orders: list = None
    row: float = None  # an average row as a share of all weight, to split sets of categories; None: one by one
    ranks: list = None  # of each column of categories then, see ``ranks_of``

    def allow_below(self, feature, other):
        return self.together is None or any({feature, other} <= set(members) for members in self.together)

    def allow(self, split, left, right, weights, lowest, highest):
        """Whether the shares of positives are in order and within limits, and the votes agree with the shares."""
        if self.orders is None or not left.any() or not right.any():
            return True
        shares = [positive_share(leaf, weights) for leaf in (left, right)]
        votes = [vote_of(leaf, weights) for leaf in (left, right)]
        if min(shares) < lowest or max(shares) > highest or (lowest > 0.5 and min(votes) < 0):
            return False
        order = 0 if split.value == np.inf else self.orders[split.feature]
        if order < 0:
            shares, votes = shares[::-1], votes[::-1]
        return order == 0 or (shares[0] <= shares[1] and (sum(shares) <= 1 or votes[1] > 0))


def best_split(columns, categorical, weights, criterion, prior, rows, rules, allowed, lowest=0.0, highest=1.0):
    """The best split of some rows and its score; None if they cannot be split."""
    best, best_score = None, -1.0
    tie = TIE * sum(weights.of(rows))
    for f, x in enumerate(columns):
        if not allowed(f):
            continue
        best_of_column, best_score_of_column = None, -1.0
        splits = candidate_splits(f, x, categorical[f], weights, rows)
        if categorical[f] and rules.row is not None:
            row, smooth = rules.row * weights.total, SMOOTH * rules.row * weights.total
            splits = candidate_sets(f, x, weights, rows, row, smooth, rules.ranks[f])
        for split in splits:
            left = split.goes_left(columns)
            this = score(split, columns, weights, criterion, prior, rows)
            if this > best_score_of_column + tie and rules.allow(
                split, left & rows, ~left & rows, weights, lowest, highest
            ):
                best_of_column, best_score_of_column = split, this
        if best_score_of_column > best_score + tie:
            best, best_score = best_of_column, best_score_of_column
    return best, best_score


def best_stump(columns, categorical, weights, criterion, rules=None, rate=None):
    everyone = np.ones(len(columns[0]), dtype=bool)
    prior = 0.0 if rate is None else PRIOR * weights.total
    best, _ = best_split(columns, categorical, weights, criterion, prior, everyone, rules or Rules(), lambda f: True)
    if best is None:  # nothing can be split: one leaf for all
        best = Split(0, False, np.inf, True)
    left = best.goes_left(columns)
    for name, leaf in (("left", left), ("right", ~left)):
        if not leaf.any():
            leaf = ~leaf
        vote = vote_of(leaf, weights)
        setattr(best, f"{name}_vote", vote if rate is None else log_odds(leaf, weights, rate))
        negative, positive = weights.of(leaf)
        setattr(best, f"{name}_confidence", (positive if vote == 1 else negative) / (negative + positive))
    return best


@dataclass
class Tree:
    """A split, and below each side of it another one, or None."""

    root: Split
    below: tuple  # right, left
    gains: tuple  # of the root, right, left
    votes: list  # per leaf: 2 · side of the first split + side of the second; the left one is 1
    confidences: list

    def leaf(self, columns):
        side = self.root.goes_left(columns).astype(int)
        second = [np.ones(len(side)) if split is None else split.goes_left(columns) for split in self.below]
        return 2 * side + np.where(side == 1, second[1], second[0]).astype(int)

    def vote(self, columns):
        return np.array(self.votes)[self.leaf(columns)]


def best_tree(columns, categorical, weights, criterion, rules=None, rate=None):
    """The best stump, each side of which is split if that gains anything."""
    rules = rules or Rules()
    root = best_stump(columns, categorical, weights, criterion, rules, rate)
    left = root.goes_left(columns)
    total, sides = weights.total, [~left, left]
    prior = 0.0 if rate is None else PRIOR * total
    is_split = (~left).any()
    whole = np.ones(len(left), dtype=bool)
    # What is not split is one leaf and an empty one, which has nothing but the prior.
    unsplit = purity(whole, weights, criterion, prior)
    root_gain = score(root, columns, weights, criterion, prior) - unsplit - prior if is_split else 0.0
    limits = [(0.0, 1.0), (0.0, 1.0)]
    order = 0 if rules.orders is None or root.value == np.inf else rules.orders[root.feature]
    if is_split and order:
        middle = (positive_share(left, weights) + positive_share(~left, weights)) / 2
        limits = [(middle, 1.0), (0.0, middle)] if order > 0 else [(0.0, middle), (middle, 1.0)]
    below, gains = [None, None], [0.0, 0.0]
    for side in (0, 1) if is_split else ():
        rows = sides[side]
        split, best_score = best_split(
            columns, categorical, weights, criterion, prior, rows, rules,
            lambda f: rules.allow_below(root.feature, f), *limits[side],
        )  # fmt: skip
        gain = max(best_score - purity(rows, weights, criterion, prior) - prior, 0.0) / total
        if split is not None and min(weights.of(rows)) > 0 and gain * total > TIE * sum(weights.of(rows)):
            below[side], gains[side] = split, gain
    tree = Tree(root, tuple(below), (max(root_gain, 0.0) / total, *gains), [0] * 4, [0.0] * 4)
    leaf = tree.leaf(columns)
    for k in (3, 2, 1, 0):
        rows = leaf == k
        if not rows.any():  # as its sibling, or as all
            rows = leaf == k + 1 if (leaf == k + 1).any() else whole
        vote = vote_of(rows, weights)
        tree.votes[k] = vote if rate is None else log_odds(rows, weights, rate)
        negative, positive = weights.of(rows)
        tree.confidences[k] = (positive if vote == 1 else negative) / (negative + positive)
    return tree


def weighted_error(h, leaf, weights):
    """The weight that the leaves are wrong about, of all; from the leftmost leaf on."""
    wrong = 0.0
    for k in reversed(range(len(h.votes))):
        wrong += weights.of(leaf == k)[0 if h.votes[k] > 0 else 1]
    return wrong / weights.total


# --- Boosting
# ------------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    stumps: list = field(default_factory=list)
    alphas: list = field(default_factory=list)
    Z: list = field(default_factory=list)
    costs: list = field(default_factory=list)
    objectives: list = field(default_factory=list)
    thresholds: list = field(default_factory=list)
    D: np.ndarray = None
    theta: int = 0


def half_log(right, wrong, rate=1.0):
    if right <= wrong:
        return 0.0
    return max(round(rate * (0.5 * math.log(right / max(wrong, PERFECT))) / GRID) * GRID, 0.0)


def starting_factors(y, group, w, n_groups, class_weight, views=None):
    """What D¹ multiplies the sample weights by, [group, class].

    With "balanced_groups" each of several views would have all its groups weigh the same; the mean of them is taken.
    """
    factors = np.ones((n_groups, 2))
    if views is not None and class_weight == "balanced_groups":
        for cell, label in product(range(n_groups), (0, 1)):
            wanted = []
            for seen, n_seen, view in each_view(group, n_groups, views):
                of_class = [w[(y == label) & (seen == g)].sum() for g in range(n_seen)]
                everyone, known = w[y == label].sum(), [total for total in of_class if total > 0]
                if view[cell] < 0:
                    wanted.append(1 / everyone)
                elif of_class[view[cell]] > 0:
                    wanted.append(sum(known) / everyone / len(known) / of_class[view[cell]])
                else:
                    wanted.append(0.0)
            factors[cell, label] = np.mean(wanted)
        return factors
    for g, label in product(range(n_groups), (0, 1)):
        if class_weight == "balanced":
            factors[g, label] = 1 / w[y == label].sum()
        elif class_weight == "balanced_groups" and ((y == label) & (group == g)).any():
            factors[g, label] = 1 / w[(y == label) & (group == g)].sum()
    return factors


def candidate_thresholds(margin):
    """0 and the midpoints between neighbouring margins, 0 standing for the two around it; nearest to 0 first."""
    distinct = np.unique(margin)
    candidates = [0.0]
    for lower, upper in pairwise(distinct):
        if not lower <= 0 < upper:
            candidates.append((lower + upper) / 2)
    return sorted(candidates, key=lambda t: (abs(t), t))


def thresholds_to_try(threshold, margin, n_groups):
    """The given one, every candidate, or every combination of candidates, one per group."""
    if threshold == "per_group":
        return list(product(candidate_thresholds(margin), repeat=n_groups))
    return candidate_thresholds(margin) if threshold == "auto" else [threshold]


def best_group_thresholds(margin, y, group, w, notion, c, n_groups):
    """The lowest objective of all combinations of candidate thresholds, one per group, and the first that has it."""
    best, best_thresholds = np.inf, None
    for thresholds in thresholds_to_try("per_group", margin, n_groups):
        predicted = (margin > np.array(thresholds)[group]).astype(int)
        value = objective(notion, c, y, group, predicted, w, n_groups)
        if value < best - TIE:
            best, best_thresholds = value, thresholds
    return best, best_thresholds


def rows_of_one_weight(sample_weight):
    """Integers are numbers of rows, other weights stand for one row each on average."""
    if sample_weight is None or all(x == int(x) for x in sample_weight):
        return 1.0
    if len(set(sample_weight)) == 1:
        return 1.0 / sample_weight[0]
    return len(sample_weight) / math.fsum(sample_weight)


def fit(
    columns,
    categorical,
    y,
    group,
    *,
    sample_weight=None,
    validation=None,  # (columns, y, group, sample_weight)
    notion="disparate_mistreatment",
    n_estimators=200,
    c=1.0,
    epsilon=0.0,
    cumulative=True,
    costs_from="training",
    update="confidence",
    learning_rate=1.0,
    learner_weight="error",
    class_weight=None,
    threshold=0.0,
    criterion="gini",
    n_iter_no_change=None,
    keep=0.0,
    max_violation=None,
    max_categories=254,
    max_depth=1,
    rules=None,
    category_splits="one",
    views=None,  # of each view that is compared, the group of every cell of ``group``, UNKNOWN or SMALL
):
    mass, unit = to_masses(sample_weight)
    mass = [1] * len(y) if mass is None else mass
    w = np.array(mass) * unit
    least = 0.0
    if category_splits == "sets":
        rules = replace(rules or Rules(), row=1.0 / (w.sum() * rows_of_one_weight(sample_weight)))
        least = LEAST_ROWS / (unit * rows_of_one_weight(sample_weight))
    columns = [
        merge_rare(x, mass, max_categories, least) if kind else x for x, kind in zip(columns, categorical, strict=True)
    ]
    if category_splits == "sets":
        few = RANKED * rules.row * sum(mass)
        ranks = [ranks_of(x, y, mass, few) if kind else None for x, kind in zip(columns, categorical, strict=True)]
        rules = replace(rules, ranks=ranks)
    n_groups = group.max() + 1
    sign = np.where(y == 1, 1, -1)
    boosted = BoostedWeights(y, group, mass, starting_factors(y, group, w, n_groups, class_weight, views))  # line 1
    margin = np.zeros(len(y))
    if validation is not None:
        columns_v, y_v, group_v, w_v = validation
        mass_v, unit_v = to_masses(w_v)
        w_v = np.ones(len(y_v)) if mass_v is None else np.array(mass_v) * unit_v
        margin_v = np.zeros(len(y_v))
    rows_per_weight = rows_of_one_weight(sample_weight if validation is None else validation[3])
    result = Result(D=boosted.now.distribution())
    rounds = []

    for j in range(1, n_estimators + 1):
        weights = boosted.now
        rate = learning_rate if update == "real" else None
        h = (best_stump if max_depth == 1 else best_tree)(
            columns, categorical, weights, criterion, rules, rate
        )  # line 3
        leaf, votes = h.leaf(columns), h.vote(columns)
        wrong = (votes > 0) != (sign > 0)
        error = weighted_error(h, leaf, weights)
        alpha = half_log(1 - error, error, learning_rate) if update != "real" else 1.0  # else it is in the votes
        if alpha <= 0 or not any(h.votes):
            break

        # line 5: costs, from H_{1:j} or from h_j alone
        if costs_from == "validation":
            votes_v = h.vote(columns_v)
            decided_by = margin_v + alpha * votes_v if cumulative else votes_v
            u = costs(notion, epsilon, y_v, group_v, (decided_by > 0).astype(int), w_v, n_groups, views)
        else:
            decided_by = margin + alpha * votes if cumulative else votes
            u = costs(notion, epsilon, y, group, (decided_by > 0).astype(int), w, n_groups, views)
        C = 1 + (learning_rate if update == "real" else 1.0) * u  # of misclassified rows, line 6; or of all
        if learner_weight == "cost":  # Eq. (22), and the termination condition, Eq. (23)
            wrong_weight = np.array([weights.of(wrong & (group == g)) for g in range(n_groups)]) / weights.total
            alpha = half_log(1 - error, (C * wrong_weight).sum(), learning_rate)
            if alpha <= 0:
                break
        margin = margin + alpha * votes

        # line 8, Eqs. (14) and (15); with confidence 1 this is D·C·exp(−α·y·h), up to the sum of all
        if update == "real":  # nothing is put aside
            boosts = [[math.exp(way * abs(vote)) for vote in h.votes] for way in (-1, 1)]
        else:
            wrongs = [math.exp(2 * alpha * (share if update == "confidence" else 1.0)) for share in h.confidences]
            boosts = [[1.0] * len(wrongs), wrongs]
        boosted.boost_wrong(leaf, h.votes, *boosts, C, update == "real")
        Z = boosted.now.total / weights.total * (1.0 if update == "real" else math.exp(-alpha))

        # line 13: θ, Eq. (16)
        if validation is None:
            selection = (margin, y, group, w)
        else:
            margin_v = margin_v + alpha * h.vote(columns_v)
            selection = (margin_v, y_v, group_v, w_v)
        m_s, y_s, group_s, w_s = selection
        options = []
        for t in thresholds_to_try(threshold, m_s, n_groups):
            predicted = (m_s > (np.array(t)[group_s] if threshold == "per_group" else t)).astype(int)
            given = (y_s, group_s, predicted, w_s, n_groups)
            ber, fm = balanced_error(y_s, predicted, w_s), violation(notion, *given, views=views)
            judged = objective(notion, c, *given, rows_per_weight if keep > 0 else None, views)
            papers = objective(notion, c, *given, views=views)
            options.append(Option(t, ber, fm, judged, papers, predicted.min() == predicted.max()))
        rounds.append(options)
        chosen, best = choose(rounds, keep, max_violation)

        result.stumps.append(h)
        result.alphas.append(alpha)
        result.Z.append(Z)
        result.costs.append(u)
        result.objectives = [option.papers for option in chosen]
        result.thresholds = [option.threshold for option in chosen]
        result.theta = best + 1
        result.D = boosted.now.distribution()
        if error <= PERFECT:
            break
        waited = j - result.theta
        if n_iter_no_change is not None and waited >= n_iter_no_change and not chosen[best].constant:
            break
    return result
