"""AdaFair's loop (Algorithm 1 of the paper): rounds, one after another, and the choice of θ among them.

The heart of a round needs nothing but ``counts[group, y_true, y_pred]``: of the partial ensemble H_{1:j}, or of the
weak learner h_j alone when the costs are not cumulative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from .._arrays import ALPHA_GRID, Floats
from .._choice.rule import Choice, Rounds, is_constant
from .._choice.thresholds import COUNTED_RATES, Counting
from .._choice.wishes import Settings
from .._engine.cpu import ABOVE_THRESHOLD, ABOVE_ZERO, BY_LEARNER
from .._engine.kernels.boosting import PERFECT_ERROR, Charges, alpha_of, charge
from .._model.glass_box import About
from .._stats.rates import balanced_error_rate, error_rate
from .._table.grouping import group_names
from ..notions import FairnessNotion, Gap, View

MAX_TOGETHER = 32  # rounds that are boosted in one call


class Trained(NamedTuple):
    """A weak learner h_j trained on D^j, as the round needs it; only ``model`` outlives the round."""

    model: Any
    error: float  # Σ D_i [h(x_i) ≠ y_i], D summing to one
    votes: Floats  # h in each leaf: -1 or +1, or any number if the update is "real"
    shares: Floats  # of a leaf's weight that belongs to the class it votes for
    leaf_mass: Any  # sample weight per [leaf, class], an array or what becomes one when it is read


class Round(NamedTuple):
    """What one round of boosting leaves behind."""

    model: Any  # what remains of the weak learner h_j
    alpha: float
    error: float  # of h_j under D^j
    z: float  # normalisation factor Z_j, Eq. (15)
    cost_counts: Floats  # the counts that the costs were taken from
    costs: Floats  # u[group, class]
    train_counts: Floats  # of the partial ensemble, at the given threshold (at 0 if it is chosen per round)
    selection_counts: Floats  # the same of the rows that θ is chosen on, where they are counted
    steps: Floats  # what it moves the margins in its leaves by
    leaves: Any  # of the rows that θ is chosen on, where the threshold is chosen from them; until the next round


class OneByOne:
    """Boosts one round at a time, with any weak learner, who has the rows and their weights, and any notion."""

    most = 1

    def __init__(self, learner: Any, settings: Settings) -> None:
        self._learner, self._settings = learner, settings
        self._charges = charges_of(settings.notion, settings.epsilon)

    def next(self, n_rounds: int) -> tuple[list[Round], str | None]:
        """The next round, and why there are no more of them."""
        learner, settings = self._learner, self._settings
        is_real = settings.update == "real"  # votes of any size have their weight in them
        threshold = 0.0 if isinstance(settings.threshold, str) else settings.threshold
        train, others = learner.train, learner.selection
        h = learner.fit()
        alpha = 1.0 if is_real else alpha_of(1.0 - h.error, h.error, settings.learning_rate, ALPHA_GRID)
        if alpha <= 0.0 or (is_real and not h.votes.any()):
            return [], "termination"

        def move(rows: Any, steps: Floats) -> Any:
            return rows.move_margins(steps, threshold, not settings.cumulative)

        positives = move(learner.rows, alpha * h.votes)
        of_others, given = positives, alpha  # what the rows that θ is chosen on have been told of α
        if others is not train:
            if settings.costs_from == "validation":
                of_others = move(learner.selection_rows, alpha * h.votes)
            else:
                given = 0.0
        kind = ABOVE_ZERO if settings.cumulative else BY_LEARNER
        by_others = settings.costs_from == "validation"
        counts = _counts(others, of_others, kind) if by_others else _counts(train, positives, kind)
        if self._charges is None:
            u = settings.notion.costs(counts, settings.epsilon)
        else:
            u = np.empty((len(counts), 2))
            charge(np.ascontiguousarray(counts), self._charges, np.empty(len(counts)), u)
        if settings.learner_weight == "cost":
            # Eq. (22) needs C, which needs H_{1:j}, which needs α: the α so far was provisional.
            wrong = float(((1.0 + u) * learner.wrong_weight(h)).sum())
            final = alpha_of(1.0 - h.error, wrong, settings.learning_rate, ALPHA_GRID)
            if final <= 0.0:  # Eq. (23) does not hold
                return [], "termination"
            positives = move(learner.rows, (final - alpha) * h.votes)
            alpha = final
        if others is train:
            of_others = positives
        elif given != alpha:
            of_others = move(learner.selection_rows, (alpha - given) * h.votes)
        # C = 1 + u, line 6 of Algorithm 1: costs only ever boost. Votes of any size are smaller, so is what is paid.
        pace = settings.learning_rate if is_real else 1.0
        growth = learner.reweight(h, 1.0 + pace * u, alpha, settings.update)
        z = growth if is_real else math.exp(-alpha) * growth
        train_counts = _counts(train, positives, ABOVE_THRESHOLD)
        selection_counts = _counts(others, of_others, ABOVE_THRESHOLD)
        found = Round(h.model, alpha, h.error, z, counts, u, train_counts, selection_counts, alpha * h.votes, None)
        return [found], "perfect" if h.error <= PERFECT_ERROR else None


def _counts(sample: Any, positives: Any, kind: int) -> Floats:
    """``counts[group, y_true, y_pred]``, read only now: what is elsewhere may answer several questions at once."""
    counts: Floats = sample.counts(np.asarray(positives)[:, kind])
    return counts


def charges_of(notion: FairnessNotion, epsilon: float) -> Charges | None:
    """What a kernel makes groups pay for; None if the notion has costs or rates of its own."""
    gaps, views = notion.gaps, notion.views
    costs = getattr(notion.each.costs, "__func__", None)
    plain = all(type(gap) is Gap and gap.rate in COUNTED_RATES for gap in gaps)
    if costs is not FairnessNotion.costs or not plain:
        return None
    boosted = [labels for gap in gaps for labels in (gap.boosts, gap.boosts_ahead)]
    if not all(type(of) is tuple and of in ((), (0,), (1,), (0, 1), (1, 0)) for of in boosted):
        return None
    boosts, ahead = np.zeros((2, len(gaps), 2), dtype=np.bool_)
    for k, gap in enumerate(gaps):
        boosts[k, list(gap.boosts)], ahead[k, list(gap.boosts_ahead)] = True, True
    kinds = np.array([COUNTED_RATES.index(gap.rate) for gap in gaps], dtype=np.int64)
    high_is_good = np.array([gap.high_is_good for gap in gaps], dtype=np.bool_)
    n_cells = len(views[0].group_of) if views else 0
    group_of = np.array([view.group_of for view in views], dtype=np.int64).reshape(len(views), n_cells)
    sizes = np.array([len(view.groups) for view in views], dtype=np.int64)
    room = np.empty((n_cells, 2, 2)), np.empty((n_cells, 2))
    rest_is_unknown = np.array([view.rest_is_unknown(views) for view in views], dtype=np.bool_)
    return Charges(kinds, high_is_good, boosts, ahead, float(epsilon), group_of, sizes, rest_is_unknown, *room)


@dataclass(frozen=True)
class Boosted:
    """The outcome of :func:`boost`."""

    rounds: list[Round]
    choice: Choice
    stopped: str  # why training ended: "n_estimators", "perfect", "termination" or "no_change"

    @property
    def alphas(self) -> Floats:
        return np.array([r.alpha for r in self.rounds])


def boost(
    learner: Any,
    settings: Settings,
    on_round: Callable[[int, Round, float, int], None] | None = None,
    unit: float = 1.0,
    ended: Event | None = None,
) -> Boosted:
    """Train up to T weak learners and choose θ.

    ``learner.selection`` holds the rows that θ is chosen on, and may be ``learner.train`` itself. ``on_round`` is told
    the number of the round, the round, its objective, and the best round so far. ``unit`` is the number of rows that a
    weight of one stands for there. Whoever sets ``ended`` ends the training.
    """
    offers = Rounds(settings, unit)
    counting, most = None, MAX_TOGETHER
    if isinstance(settings.threshold, str):
        counting = Counting(learner.selection, learner.selection_rows, settings, unit)
        most = counting.most
    way = learner.several(settings, most, counting is not None) or OneByOne(learner, settings)
    rounds: list[Round] = []
    stopped: str | None = None
    patience = math.inf if settings.n_iter_no_change is None else settings.n_iter_no_change
    due = 1.0 if on_round is not None else 1.0 + patience  # the first round after which there is something to do
    while stopped is None and len(rounds) < settings.n_estimators:
        # So many in one call that few are made in vain and no call makes hardly any.
        n_next, until_due = way.most, due - len(rounds)
        if n_next / 2 <= until_due < math.inf:
            n_next = math.ceil(until_due / math.ceil(until_due / n_next))
        n_next = min(n_next, settings.n_estimators - len(rounds))
        found, stopped = way.next(n_next)
        if ended is not None and ended.is_set():
            raise InterruptedError("another training was interrupted, or failed")
        rounds += [record._replace(leaves=None) for record in found]
        for offered in [r.selection_counts for r in found] if counting is None else counting.look(found):
            offers.add(offered)
        is_last = stopped is not None or len(rounds) == settings.n_estimators
        if len(rounds) < due and not (is_last and due < math.inf):
            continue
        for j, theta, objective in offers.watch():
            if on_round is not None:
                on_round(j, rounds[j - 1], objective, theta)
            # As long as the best model predicts one class for everyone, there is something to wait for.
            if j - theta >= patience and not is_constant(offers.chosen):
                if not (stopped == "perfect" and j == len(rounds)):
                    stopped = "no_change"
                del rounds[j:]  # those after it were made in vain
                offers.keep_first(j)
                break
        if on_round is None:
            due = max(offers.theta + patience, len(rounds) + 1)
    if not rounds:
        raise ValueError(
            "the first weak learner is no better than chance under the starting weights, so the ensemble cannot be "
            "fitted: check that the columns of X say something about y, or use a stronger estimator"
            + (' or learner_weight="error"' if settings.learner_weight == "cost" else "")
        )
    return Boosted(rounds, offers.choose(), stopped or "n_estimators")


def starting_factors(totals: Floats, class_weight: str | Floats | None, views: Sequence[View] = ()) -> Floats:
    """What D¹ multiplies the sample weights of each cell by.

    That is equal mass per class or per (class, group) cell, or a given factor for each of the two classes.
    ``totals[group, class]`` is the sample weight of each cell. Where views of the cells are compared, each view says
    what makes its groups equal, and a cell gets the mean; what is in no group of a view has the mean weight there.
    """
    if class_weight is None:
        factors = np.ones_like(totals)
    elif isinstance(class_weight, np.ndarray):
        factors = np.broadcast_to(class_weight, totals.shape)
    elif class_weight == "balanced":
        factors = np.broadcast_to(1.0 / totals.sum(axis=0), totals.shape)
    elif not views:  # an empty cell has no rows that would read its factor
        factors = 1.0 / np.where(totals > 0.0, totals, 1.0)
    else:
        factors = np.mean([_equal_groups(totals, view) for view in views], axis=0)
    return factors.T.ravel()


def _equal_groups(totals: Floats, view: View) -> Floats:
    """What gives all groups of a view the same weight of a class, of which there is one in all."""
    of_groups, everyone = view.sum(totals, 0), totals.sum(axis=0)
    there = of_groups > 0.0
    each = of_groups.sum(axis=0) / everyone / np.maximum(there.sum(axis=0), 1)
    by_group = np.where(there, each / np.where(there, of_groups, 1.0), 0.0)
    found: Floats = np.concatenate([by_group, 1.0 / everyone[None]])[list(view.group_of)]  # -1 is the last
    return found


def history(
    boosted: Boosted, about: About, columns: list[str] | None, depth: int, has_validation: bool
) -> dict[str, Any]:
    """Everything that the paper draws over the rounds: plain columns, lists of text or arrays, of one value a round."""
    groups, labels, settings = group_names(about.groups), about.labels.shown, about.settings
    rounds = boosted.rounds
    notion = settings.notion
    z = np.array([r.z for r in rounds])
    table: dict[str, Any] = {"alpha": boosted.alphas, "error": np.array([r.error for r in rounds])}
    if columns is not None:  # what the tree of each round asks about; the empty text where a side is not split
        for side in ("root", "left", "right") if depth > 1 else ("root",):
            asked = [getattr(r.model, side) for r in rounds]
            name = "feature" if side == "root" else f"feature_{side}"
            table[name] = ["" if split is None else columns[split.feature] for split in asked]
    cost_counts = np.array([r.cost_counts for r in rounds])
    for name, delta in notion.deltas(cost_counts).items():
        table[f"delta_{name}"] = delta
    costs = np.array([r.costs for r in rounds])
    boosted_classes = sorted(set().union(*((*gap.boosts, *gap.boosts_ahead) for gap in notion.gaps)))
    for k, group in enumerate(groups):
        for label in boosted_classes:
            table[f"cost[{group}, {labels[label]}]"] = costs[:, k, label]
    table["Z"] = z
    # The bound holds where rows are multiplied by exp(-y·α·h) or more: not with confidences (Eq. 20 with γ = 1, as
    # every C ≥ 1), and not where some cells pay less than the mean.
    has_bound = settings.update == "discrete" or (settings.update == "real" and not costs.any())
    table["bound"] = np.cumprod(z) if has_bound else np.full(len(z), np.nan)
    selection_counts = boosted.choice.counts
    if has_validation:
        measured = {"train": np.array([r.train_counts for r in rounds]), "validation": selection_counts}
    else:
        measured = {"train": selection_counts}
    for prefix, counts in measured.items():
        table[f"{prefix}_er"] = error_rate(counts)
        table[f"{prefix}_ber"] = balanced_error_rate(counts)
        table[f"{prefix}_violation"] = notion.violation(counts)
        table[f"{prefix}_objective"] = notion.objective(counts, settings.c)
    if boosted.choice.thresholds.ndim == 1:
        table["threshold"] = boosted.choice.thresholds
    else:
        table |= {f"threshold[{group}]": boosted.choice.thresholds[:, k] for k, group in enumerate(groups)}
    return table
