"""What a claim of the paper is, and how it is judged on the stored rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._arrays import Floats
from ._claim_values import Value
from ._logged import Logged
from ._reasons import Part, reason
from ._rows import NotMeasuredError, Results

# Two points, or two standard errors of ours: what the paper's rounding and its ten splits leave open.
TOLERANCE, MOST_TOLERANCE = 0.02, 0.05
HOLDS, SAME_DIRECTION, DIFFERS = "holds", "same direction, other size", "differs"
NOT_MEASURED = "not measured"
VERDICTS = (HOLDS, SAME_DIRECTION, DIFFERS)


@dataclass(frozen=True)
class Check:
    """How a claim's values are judged.

    Attributes
    ----------
    holds : callable
        Whether the mean is what the paper says.
    direction : float
        The sign of a difference that the paper gives a size for, 0 if it gives none.
    order : bool
        Whether the claim is nothing but that a difference is above or below zero.
    signed : bool
        Whether the values are differences.

    Examples
    --------
    >>> import numpy as np
    >>> from parityboost.experiments import Check
    >>> positive = Check(lambda values: bool(values.mean() > 0), order=True)
    >>> positive.verdict(np.array([0.01, -0.02, 0.02, -0.01, -0.01]))  # nobody is ahead
    ('holds', True)
    """

    holds: Callable[[Floats], bool]
    direction: float = 0.0
    order: bool = False
    signed: bool = False

    def verdict(self, values: Floats) -> tuple[str, bool]:
        """The verdict, and whether the two sides of a difference are tied.

        Within two standard errors of zero nobody is ahead: an order that ends in a tie is not contradicted, and a
        difference has no direction.
        """
        tied = (self.order or self.direction != 0) and abs(values.mean()) <= 2 * standard_error(values)
        if self.holds(values) or (self.order and tied):
            return HOLDS, tied and self.order
        if self.direction and not tied and values.mean() * self.direction > 0:
            return SAME_DIRECTION, False
        return DIFFERS, False


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
    check : Check
        Judges the values.
    percent : bool
        Whether values are shares, shown times 100.

    Examples
    --------
    >>> from parityboost.experiments import Check, Claim
    >>> Claim(
    ...     "Adult",
    ...     "AdaFair is right more often than not",
    ...     "> 50 %",
    ...     value=lambda results: results.values(
    ...         "adult", "AdaFair", "equal_opportunity", "accuracy"
    ...     ),
    ...     check=Check(lambda values: values.mean() > 0.5),
    ... ).paper
    '> 50 %'
    """

    where: str
    says: str
    paper: str
    value: Value
    check: Check
    percent: bool = True


def judge(claims: Sequence[Claim], results: Results) -> pd.DataFrame:
    """Every claim with the figure of one setting and the verdict.

    Parameters
    ----------
    claims : sequence of Claim
        What to judge.
    results : Results
        The stored rows. A claim is "not measured" if one of the rows it needs is not there.

    Returns
    -------
    DataFrame
        ``where``, ``claim``, ``paper``, ``value``, ``sd``, ``verdict``; ``tie`` where an order holds only because
        nobody is ahead, ``by_mean`` whether the bare means have what the paper says, and ``missing``.

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
            rows.append(row | {"verdict": NOT_MEASURED, "tie": False, "by_mean": False, "missing": str(missing)})
            continue
        scale = 100 if claim.percent else 1
        verdict, tie = claim.check.verdict(values)
        row |= {"value": scale * float(values.mean()), "sd": scale * deviation(values), "verdict": verdict, "tie": tie}
        rows.append(row | {"by_mean": claim.check.holds(values), "missing": ""})
    return pd.DataFrame(
        rows, columns=["where", "claim", "paper", "value", "sd", "verdict", "tie", "by_mean", "missing"]
    )


def compare(claims: Sequence[Claim], results: Mapping[str, Results], parts: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every claim in every setting, side by side, with what the authors logged and why a difference remains.

    Parameters
    ----------
    claims : sequence of Claim
        What to judge.
    results : mapping of str to Results
        The rows of each setting.
    parts : DataFrame, optional
        What ``benchmarks/differences.py`` found: ``part``, ``change``, ``where`` and ``claim``.

    Returns
    -------
    DataFrame
        ``where``, ``claim``, ``paper``, ``percent``, ``signed``, ``logged``, then ``text``, ``text_sd``,
        ``text_verdict``, ``text_tie``, ``text_by_mean`` and so on for each setting, and ``why``.

    Examples
    --------
    >>> from parityboost.experiments import CLAIMS, Results, Store, compare, plan
    >>> nothing = {
    ...     "ours": Results(
    ...         Store("runs-of-nobody"), plan(["adult"], n_splits=1, settings=["ours"])
    ...     )
    ... }
    >>> compare(CLAIMS, nothing)["ours_verdict"].unique().tolist()
    ['not measured']
    """
    table = pd.DataFrame(
        [(c.where, c.says, c.paper, c.percent, c.check.signed, logged(c)) for c in claims],
        columns=["where", "claim", "paper", "percent", "signed", "logged"],
    )
    for name, found in results.items():
        judged = judge(claims, found)
        table[name], table[f"{name}_sd"] = judged["value"], judged["sd"]
        for column in ("verdict", "tie", "by_mean", "missing"):
            table[f"{name}_{column}"] = judged[column]
    found_parts: dict[tuple[str, str], list[Part]] = {}
    if parts is not None:
        for part, change, where, says in parts[["part", "change", "where", "claim"]].itertuples(index=False):
            found_parts.setdefault((where, says), []).append(Part(part, change))
    table["why"] = [
        reason(where, says, dict(zip(results, verdicts, strict=True)), tuple(found_parts.get((where, says), ())))
        for where, says, *verdicts in table[["where", "claim", *(f"{name}_verdict" for name in results)]].to_numpy()
    ]
    for name in results:
        missing = table.pop(f"{name}_missing")
        absent = missing != ""
        table.loc[absent, "why"] = "no run: " + missing[absent]
    return table


def logged(claim: Claim) -> float | None:
    """The claim's figure from the authors' logs of 2019, if they have what it needs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # one value has no deviation
            value = float(np.mean(claim.value(Logged(claim.where))))  # type: ignore[arg-type]
    except NotMeasuredError:
        return None
    return (100 if claim.percent else 1) * value if math.isfinite(value) else None


def deviation(values: Floats) -> float:
    """Standard deviation over the splits."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def standard_error(values: Floats) -> float:
    """Of the mean; 0 if there are too few splits to tell."""
    return deviation(values) / math.sqrt(len(values)) if len(values) >= 5 else 0.0


# How a claim may be judged.


def near(paper: float, tolerance: float = TOLERANCE) -> Check:
    """The mean is the paper's figure, but for the tolerance or two standard errors, which may not excuse much."""

    def holds(values: Floats) -> bool:
        return bool(abs(values.mean() - paper) <= max(tolerance, min(2 * standard_error(values), MOST_TOLERANCE)))

    return Check(holds)


def gain(paper: float, tolerance: float = TOLERANCE) -> Check:
    """A difference of the paper's size, or at least of its sign."""
    return Check(near(paper, tolerance).holds, direction=float(np.sign(paper)), signed=True)


def above(limit: float) -> Check:
    """The mean is above the limit."""
    return Check(lambda values: bool(values.mean() > limit), order=limit == 0, signed=limit <= 0)


def below(limit: float) -> Check:
    """The mean is below the limit."""
    return Check(lambda values: bool(values.mean() < limit), order=limit == 0, signed=limit <= 0)


def within(low: float, high: float) -> Check:
    """The mean is within the limits."""
    return Check(lambda values: bool(low <= values.mean() <= high), signed=low < 0)
