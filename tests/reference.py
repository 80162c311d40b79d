"""A plain NumPy twin of AdaFair, written for reading.

It works on the raw columns, without bins, histograms or sorting, looks at every candidate split row by row, and follows
Algorithm 1 of the paper line by line. The fast implementation is tested against it. Small numbers of rows only.
"""

from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

TIE = 1e-12  # scores, objectives and leaf weights this close are equal; the first candidate wins
PERFECT = 1e-10
HALF_BELIEVED = 5
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


def costs(notion, epsilon, y, group, predicted, w, n_groups):
    """u[group, class], Eqs. (9), (11), (13), for two or more groups."""
    u = np.zeros((n_groups, 2))
    for rate, worse, classes in NOTIONS[notion]:
        r = rates_per_group(rate, y, group, predicted, w, n_groups)
        behind = r.max() - r if worse == "low rate is worse" else r - r.min()
        for g in range(n_groups):
            for label in classes:
                if behind[g] > epsilon:
                    u[g, label] += behind[g]
    return u


def violation(notion, y, group, predicted, w, n_groups, shrunk=False):
    """F.M. in Eq. (16); if shrunk, a rate of 5 instances counts half, and the rate of everyone the other half."""
    total = 0.0
    for rate in {rate: None for rate, _, _ in NOTIONS[notion]}:  # each rate once
        r = rates_per_group(rate, y, group, predicted, w, n_groups)
        if shrunk:
            of = {false_negative_rate: y == 1, false_positive_rate: y == 0, selection_rate: y >= 0}[rate]
            size = np.array([w[of & (group == g)].sum() for g in range(n_groups)])
            common = rate(y, predicted, w)
            r = common + size / (size + HALF_BELIEVED) * (r - common)
        total += r.max() - r.min()
    return total


def balanced_error(y, predicted, w):
    return 0.5 * (false_negative_rate(y, predicted, w) + false_positive_rate(y, predicted, w))


def objective(notion, c, y, group, predicted, w, n_groups, shrunk=False):
    """c·BER + (1−c)·ER + F.M., Eq. (16)."""
    er = w[predicted != y].sum() / w.sum()
    fm = violation(notion, y, group, predicted, w, n_groups, shrunk)
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
    them the objective decides, or the balanced error of those with a small violation, or else the violation.
    """
    if max_violation is not None:
        rounds = [undominated(options, lambda option: option.violation) for options in rounds]
    elif keep > 0:
        rounds = [undominated(options, lambda option: option.objective) for options in rounds]
    lowest = min(option.ber for options in rounds for option in options)
    allowed = np.inf if keep == 0 else max(0.5 - keep * (0.5 - lowest), lowest)

    def cost(option):
        if option.ber > allowed + TIE:
            return 1e6 + option.ber
        if max_violation is None:
            return option.objective
        return option.ber if option.violation <= max_violation + TIE else 1e3 + option.violation

    chosen = [options[first_best(options, cost)] for options in rounds]
    return chosen, first_best(chosen, cost)


# --- The weak learner: every split of every column
# -----------------------------------------------------------------------


@dataclass
class Split:
    """Rows on the left: ``x <= value`` (numeric) or ``x == value`` (categorical); missing values as told."""

    feature: int
    categorical: bool
    value: object
    missing_left: bool
    known: tuple = ()  # the categories seen in training
    left_vote: int = 0
    right_vote: int = 0
    left_confidence: float = 0.0
    right_confidence: float = 0.0

    def goes_left(self, columns):
        x = columns[self.feature]
        left = np.zeros(len(x), dtype=bool)
        for i, value in enumerate(x):
            if is_missing(value) or (self.categorical and value not in self.known):
                left[i] = self.missing_left
            elif self.value is not None:
                left[i] = value == self.value if self.categorical else value <= self.value
        return left

    def vote(self, columns):
        return np.where(self.goes_left(columns), self.left_vote, self.right_vote)

    def confidence(self, columns):
        return np.where(self.goes_left(columns), self.left_confidence, self.right_confidence)


def is_missing(value):
    return value is None or (isinstance(value, float) and np.isnan(value))


def candidate_splits(feature, x, categorical, D):
    """In the order in which ties are broken."""
    values = sorted({value for value in x if not is_missing(value)})
    missing = np.array([is_missing(value) for value in x])
    known = tuple(values)
    if categorical:
        for value in values:
            if len(values) > 1 or missing.any():
                yield Split(feature, True, value, False, known)
            if len(values) > 1 and missing.any():
                yield Split(feature, True, value, True, known)
        if len(values) > 1 and missing.any():
            yield Split(feature, True, None, True, known)
        return
    for lower, upper in pairwise(values):
        threshold = (lower + upper) / 2
        if missing.any():
            yield Split(feature, False, threshold, True)
            yield Split(feature, False, threshold, False)
        else:  # no row tells where missing values belong: to the heavier side
            left = np.array([value <= threshold for value in x])
            yield Split(feature, False, threshold, D[left].sum() >= 0.5 * D.sum() - TIE)
    if values and missing.any():
        yield Split(feature, False, np.inf, False)  # missing against all values, also larger ones to come


def score(split, columns, y, D, criterion):
    left = split.goes_left(columns)
    total = 0.0
    for leaf in (left, ~left):
        negative, positive = D[leaf & (y == 0)].sum(), D[leaf & (y == 1)].sum()
        if criterion == "error":
            total += max(negative, positive)
        elif negative + positive > 0:
            total += (negative**2 + positive**2) / (negative + positive)
    return total


def best_stump(columns, categorical, y, D, criterion):
    best, best_score = None, -1.0
    for f, x in enumerate(columns):
        best_of_column, best_score_of_column = None, -1.0
        for split in candidate_splits(f, x, categorical[f], D):
            this = score(split, columns, y, D, criterion)
            if this > best_score_of_column + TIE:
                best_of_column, best_score_of_column = split, this
        if best_score_of_column > best_score + TIE:
            best, best_score = best_of_column, best_score_of_column
    if best is None:  # nothing can be split: one leaf for all
        best = Split(0, False, np.inf, True)
    left = best.goes_left(columns)
    for name, leaf in (("left", left), ("right", ~left)):
        if not leaf.any():
            leaf = ~leaf
        negative, positive = D[leaf & (y == 0)].sum(), D[leaf & (y == 1)].sum()
        vote = 1 if positive - negative > TIE else -1
        setattr(best, f"{name}_vote", vote)
        setattr(best, f"{name}_confidence", (positive if vote == 1 else negative) / (negative + positive))
    return best


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


def half_log(right, wrong):
    if right <= wrong:
        return 0.0
    return max(round(0.5 * np.log(right / max(wrong, PERFECT)) / GRID) * GRID, 0.0)


def starting_weights(y, group, w, n_groups, class_weight):
    D = w.astype(float).copy()
    if class_weight == "balanced":
        for label in (0, 1):
            D[y == label] /= w[y == label].sum()
    elif class_weight == "balanced_groups":
        for label in (0, 1):
            for g in range(n_groups):
                cell = (y == label) & (group == g)
                if cell.any():
                    D[cell] /= w[cell].sum()
    return D / D.sum()


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
    learner_weight="error",
    class_weight=None,
    threshold=0.0,
    criterion="gini",
    n_iter_no_change=None,
    keep=0.0,
    max_violation=None,
):
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    n_groups = group.max() + 1
    sign = np.where(y == 1, 1, -1)
    D = starting_weights(y, group, w, n_groups, class_weight)  # line 1 of Algorithm 1
    margin = np.zeros(len(y))
    if validation is not None:
        columns_v, y_v, group_v, w_v = validation
        w_v = np.ones(len(y_v)) if w_v is None else w_v
        margin_v = np.zeros(len(y_v))
    result = Result(D=D)
    rounds = []

    for j in range(1, n_estimators + 1):
        h = best_stump(columns, categorical, y, D, criterion)  # line 3
        votes = h.vote(columns)
        wrong = votes != sign
        error = D[wrong].sum()
        alpha = half_log(1 - error, error)
        if alpha <= 0:
            break

        # line 5: costs, from H_{1:j} or from h_j alone
        if costs_from == "validation":
            votes_v = h.vote(columns_v)
            decided_by = margin_v + alpha * votes_v if cumulative else votes_v
            u = costs(notion, epsilon, y_v, group_v, (decided_by > 0).astype(int), w_v, n_groups)
        else:
            decided_by = margin + alpha * votes if cumulative else votes
            u = costs(notion, epsilon, y, group, (decided_by > 0).astype(int), w, n_groups)
        C = np.where(wrong, 1 + u[group, y], 1.0)  # line 6
        if learner_weight == "cost":  # Eq. (22), and the termination condition, Eq. (23)
            alpha = half_log((C * D)[~wrong].sum(), (C * D)[wrong].sum())
            if alpha <= 0:
                break
        margin = margin + alpha * votes

        # line 8, Eqs. (14) and (15); with confidence 1 this is D·C·exp(−α·y·h)
        confidence = h.confidence(columns) if update == "confidence" else np.ones(len(y))
        D = D * C * np.exp(-alpha) * np.where(wrong, np.exp(2 * alpha * confidence), 1.0)
        Z = D.sum()
        D = D / Z

        # line 13: θ, Eq. (16)
        if validation is None:
            scored = (margin, y, group, w)
        else:
            margin_v = margin_v + alpha * h.vote(columns_v)
            scored = (margin_v, y_v, group_v, w_v)
        m_s, y_s, group_s, w_s = scored
        options = []
        for t in thresholds_to_try(threshold, m_s, n_groups):
            predicted = (m_s > (np.array(t)[group_s] if threshold == "per_group" else t)).astype(int)
            given = (y_s, group_s, predicted, w_s, n_groups)
            ber, fm = balanced_error(y_s, predicted, w_s), violation(notion, *given)
            judged = objective(notion, c, *given, shrunk=keep > 0)
            options.append(Option(t, ber, fm, judged, objective(notion, c, *given), predicted.min() == predicted.max()))
        rounds.append(options)
        chosen, best = choose(rounds, keep, max_violation)

        result.stumps.append(h)
        result.alphas.append(alpha)
        result.Z.append(Z)
        result.costs.append(u)
        result.objectives = [option.papers for option in chosen]
        result.thresholds = [option.threshold for option in chosen]
        result.theta = best + 1
        result.D = D
        if error <= PERFECT:
            break
        waited = j - result.theta
        if n_iter_no_change is not None and waited >= n_iter_no_change and not chosen[best].constant:
            break
    return result
