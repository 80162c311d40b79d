"""What a claim of the paper is, and how it is judged on the stored rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._plan import C_VALUES, Run
from ._reasons import reason
from ._rows import NotMeasuredError, Results

Floats = NDArray[np.float64]
Value = Callable[[Results], Floats]
Check = Callable[[Floats], bool]

# Two points, or two standard errors of ours: what the paper's rounding and its ten splits leave open.
TOLERANCE, MOST_TOLERANCE = 0.02, 0.05
HOLDS, DIFFERS, NOT_MEASURED = "holds", "differs", "not measured"


@dataclass(frozen=True)
class Claim:
    """A checkable statement of the paper.

    Attributes
    ----------
    where : str
        Section and dataset.
    says : str
        The statement, in our words.
    paper : str
        The paper's figure or words.
    value : callable
        Computes ours from the results: one value per split, or per round.
    holds : callable
        Judges the values.
    percent : bool
        Whether values are shares, shown times 100.

    Examples
    --------
    >>> from parityboost.experiments import Claim
    >>> Claim(
    ...     "Adult",
    ...     "AdaFair is right more often than not",
    ...     "> 50 %",
    ...     value=lambda results: results.values("adult", "AdaFair", "equal_opportunity", "accuracy"),
    ...     holds=lambda values: values.mean() > 0.5,
    ... ).paper
    '> 50 %'
    """

    where: str
    says: str
    paper: str
    value: Value
    holds: Check
    percent: bool = True


def judge(claims: Sequence[Claim], results: Results) -> pd.DataFrame:
    """Every claim with our figure and the verdict.

    Parameters
    ----------
    claims : sequence of Claim
        What to judge.
    results : Results
        The stored rows. A claim is "not measured" if one of the rows it needs is not there.

    Returns
    -------
    DataFrame
        ``where``, ``claim``, ``paper``, ``ours``, ``sd``, ``verdict``, and ``why`` where ours differs.

    Examples
    --------
    >>> from parityboost.experiments import CLAIMS, Results, Store, judge, plan
    >>> nothing = Results(Store("runs-of-nobody"), plan(["adult"], n_splits=1))
    >>> judge(CLAIMS, nothing)["verdict"].unique().tolist()
    ['not measured']
    """
    rows = []
    for claim in claims:
        row: dict[str, object] = {"where": claim.where, "claim": claim.says, "paper": claim.paper}
        try:
            values = np.atleast_1d(claim.value(results))
        except NotMeasuredError as missing:
            rows.append(row | {"ours": None, "sd": None, "verdict": NOT_MEASURED, "why": f"no run: {missing}"})
            continue
        scale = 100 if claim.percent else 1
        verdict = HOLDS if claim.holds(values) else DIFFERS
        row |= {"ours": scale * float(values.mean()), "sd": scale * deviation(values), "verdict": verdict}
        rows.append(row | {"why": reason(claim.where, claim.says) if verdict == DIFFERS else ""})
    return pd.DataFrame(rows, columns=["where", "claim", "paper", "ours", "sd", "verdict", "why"])


def deviation(values: Floats) -> float:
    """Standard deviation over the splits."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


# How a claim may be judged.


def near(paper: float, tolerance: float = TOLERANCE) -> Check:
    """The mean is the paper's figure, but for the tolerance or two standard errors, which may not excuse much."""

    def check(values: Floats) -> bool:
        error = deviation(values) / math.sqrt(len(values)) if len(values) >= 5 else 0.0
        return bool(abs(values.mean() - paper) <= max(tolerance, min(2 * error, MOST_TOLERANCE)))

    return check


def above(limit: float) -> Check:
    """The mean is above the limit."""
    return lambda values: bool(values.mean() > limit)


def below(limit: float) -> Check:
    """The mean is below the limit."""
    return lambda values: bool(values.mean() < limit)


def within(low: float, high: float) -> Check:
    """The mean is within the limits."""
    return lambda values: bool(low <= values.mean() <= high)


# How a value may be computed. `m` is a measure, `n` a notion.


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


def round_by_round(d: str, n: str) -> Run:
    """The run with T = 500."""
    return Run(d, "AdaFair", n, 0, "rounds")


def path(d: str, n: str, name: str, first: int, last: int | None = None) -> Value:
    """What the run with T = 500 has for the rounds after ``first``, up to ``last``."""
    return lambda results: results.rounds(round_by_round(d, n))[name][first:last]


def steps(values: Floats) -> float:
    """How much a line moves from round to round."""
    return float(np.abs(np.diff(values)).mean())


def costs_of(results: Results, d: str, method: str, n: str) -> list[dict[str, Floats]]:
    """The δ per round, of every split."""
    return [results.rounds(Run(d, method, n, split)) for split in range(results.n_splits)]
