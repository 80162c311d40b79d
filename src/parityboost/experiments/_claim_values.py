"""How the figure of a claim is computed from the results. `d` is a dataset, `n` a notion, `m` a measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from .._arrays import Floats
from ..baselines.registry import DM, EO, SP
from ._plan import C_VALUES
from ._rows import DATASET_NAMES, Results

Value = Callable[[Results], Floats]

OURS, NO_CUMUL = "AdaFair", "AdaFair NoCumul"
BAL = "balanced_accuracy"
TPR, TNR = ("tpr_prot", "tpr_nonprot"), ("tnr_prot", "tnr_nonprot")
IMBALANCED = ("adult", "bank", "kdd")
EVERYWHERE = tuple(DATASET_NAMES)


def of(d: str, method: str, n: str, m: str, c: float = 1.0) -> Value:
    """A measure."""
    return lambda results: results.values(d, method, n, m, c)


def more(d: str, method: str, than: str, n: str, m: str) -> Value:
    """A measure of a method minus that of another, split by split."""
    return lambda results: results.values(d, method, n, m) - results.values(d, than, n, m)


def worse_than_best(d: str, method: str, others: Sequence[str], n: str, m: str, lowest: bool = True) -> Value:
    """How far a method lies from the best of the others (by mean), split by split: below zero if it is the best."""

    def value(results: Results) -> Floats:
        sign = 1.0 if lowest else -1.0
        rest = [sign * results.values(d, other, n, m) for other in others]
        best = min(rest, key=lambda values: float(values.mean()))
        return sign * results.values(d, method, n, m) - best

    return value


def spread(d: str, methods: Sequence[str], n: str, m: str) -> Value:
    """Largest minus smallest mean over methods."""
    return lambda results: np.ptp([results.values(d, method, n, m).mean() for method in methods], keepdims=True)


def lowest_of(*values: Value) -> Value:
    """The smallest of several, by mean."""
    return lambda results: min((value(results) for value in values), key=lambda found: float(found.mean()))


def highest_of(*values: Value) -> Value:
    """The largest of several, by mean."""
    return lambda results: max((value(results) for value in values), key=lambda found: float(found.mean()))


def gain_of_c(d: str, n: str, m: str) -> Value:
    """A measure of AdaFair for c = 1 minus that for c = 0."""
    return lambda results: results.values(d, "AdaFair", n, m, 1.0) - results.values(d, "AdaFair", n, m, 0.0)


def gain_of_more_c(d: str, n: str, m: str) -> Value:
    """The smallest gain, by mean, from one value of c to the next."""

    def value(results: Results) -> Floats:
        found = [results.values(d, "AdaFair", n, m, c) for c in C_VALUES]
        gains = [after - before for before, after in pairwise(found)]
        return min(gains, key=lambda gain: float(gain.mean()))

    return value


def over_c_zero(d: str, n: str, m: str) -> Value:
    """The smallest lead, by mean, of any other value of c over c = 0."""

    def value(results: Results) -> Floats:
        start, *rest = (results.values(d, "AdaFair", n, m, c) for c in C_VALUES)
        return min((found - start for found in rest), key=lambda lead: float(lead.mean()))

    return value


def path(d: str, n: str, name: str, first: int, last: int | None = None) -> Value:
    """What the run with T = 500 has for the rounds after ``first``, up to ``last``."""
    return lambda results: results.rounds(results.round_by_round(d, n))[name][first:last]


def steps(values: Floats) -> float:
    """How much a line moves from round to round."""
    return float(np.abs(np.diff(values)).mean())


def less_than_others(d: str) -> Value:
    def value(results: Results) -> Floats:
        own, *others = (gain_of_c(d, n, BAL)(results) for n in (SP, DM, EO))
        return own - min(others, key=lambda gain: float(gain.mean()))

    return value


def mean_gain(n: str, m: str) -> Value:
    return lambda results: np.mean([gain_of_c(d, n, m)(results) for d in IMBALANCED], axis=0)


def ratio(d: str, method: str, to: str, n: str) -> Value:
    return lambda results: np.array([results.values(d, method, n, n).mean() / results.values(d, to, n, n).mean()])


def least_stable(d: str, method: str, others: tuple[str, ...]) -> Value:
    def sd(results: Results, name: str) -> float:
        return float(np.mean([results.values(d, name, DM, m).std(ddof=1) for m in TPR]))

    return lambda results: np.array([sd(results, method) - max(sd(results, other) for other in others)])


def zafar_trains(results: Results) -> Floats:
    """1 for every split on which the solver converged."""
    results.values("kdd", "Zafar et al.", DM, DM)  # all splits are there
    rows = results.rows.query("dataset == 'kdd' and method == 'Zafar et al.'")
    return np.array([float(note is None) for note in rows["note"]])


def distance(d: str, one: str, other: str) -> Value:
    def value(results: Results) -> Floats:
        rounds = results.rounds(results.round_by_round(d, DM))
        return np.array([np.abs(rounds[one] - rounds[other]).mean()])

    return value


def theta_of(d: str) -> Value:
    return lambda results: np.array([float(results.theta(results.round_by_round(d, DM)))])


def drift(d: str, name: str, start: int = 100) -> Value:
    def value(results: Results) -> Floats:
        line = results.rounds(results.round_by_round(d, DM))[name]
        return np.array([line[-50:].mean() - line[start : start + 50].mean()])

    return value


def restless(d: str) -> Value:
    def value(results: Results) -> Floats:
        moves = {
            name: steps(results.rounds(results.round_by_round(name, DM))["objective"][100:]) for name in EVERYWHERE
        }
        return np.array([moves.pop(d) - max(moves.values())])

    return value


def settles(d: str) -> Value:
    def value(results: Results) -> Floats:
        line = results.rounds(results.round_by_round(d, DM))["objective"]
        return np.array([steps(line[150:]) - steps(line[:100])])

    return value


def cost_steps(d: str, n: str) -> Value:
    """How much more NoCumul's costs move from round to round than AdaFair's, split by split."""

    def value(results: Results) -> Floats:
        moves = [
            np.array([np.mean([steps(line) for line in rounds.values()]) for rounds in results.costs(d, method, n)])
            for method in (NO_CUMUL, OURS)
        ]
        difference: Floats = moves[0] - moves[1]
        return difference

    return value


def settled_cost(d: str) -> Value:
    """Share of the rounds after 100 with |δ| ≤ 0.05, for the gap with the smaller share, split by split."""
    return lambda results: np.array(
        [
            min(float((np.abs(line[100:]) <= 0.05).mean()) for line in rounds.values())
            for rounds in results.costs(d, OURS, DM)
        ]
    )


def between_groups(d: str, rate: str) -> Value:
    def value(results: Results) -> Floats:
        prot, nonprot = (results.values(d, NO_CUMUL, DM, f"{rate}_{group}") for group in ("prot", "nonprot"))
        difference: Floats = prot - nonprot
        return difference

    return value


def sd_difference(d: str) -> Value:
    return lambda results: np.array(
        [results.values(d, NO_CUMUL, DM, DM).std(ddof=1) - results.values(d, OURS, DM, DM).std(ddof=1)]
    )
