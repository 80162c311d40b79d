"""What the paper says: its claims, how the figure of each is computed and judged, and why it differs.

The claims are rows of ``claims.csv``: what the paper says and gives, the formula of our figure with what it is computed
from, and the check that judges it. Percentages of the paper are read as percentage points throughout, also where it
says "increase": a relative reading does not fit measures that are close to zero.
"""

from __future__ import annotations

import csv
import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._arrays import Floats
from ..baselines import DM
from ._plan import C_VALUES
from ._store import DATASET_NAMES, NotMeasuredError, Results

Value = Callable[[Results], Floats]

# Two points, or two standard errors of ours: what the paper's rounding and its ten splits leave open.
TOLERANCE, MOST_TOLERANCE = 0.02, 0.05
HOLDS, SAME_DIRECTION, DIFFERS = "holds", "same direction, other size", "differs"
NOT_MEASURED = "not measured"
VERDICTS = (HOLDS, SAME_DIRECTION, DIFFERS)

OURS = "AdaFair"
SETTLED = 0.05  # Figure 6: where AdaFair's costs end up, on either side of zero


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a table beside this file."""
    with Path(__file__).with_name(name).open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file))


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
    changes: dict[tuple[str, ...], list[Part]] = {}
    if parts is not None:
        for part, change, *claim in parts[["part", "change", "where", "claim"]].to_numpy().tolist():
            changes.setdefault(tuple(claim), []).append(Part(part, change))
    table["why"] = [
        reason(where, says, dict(zip(results, verdicts, strict=True)), changes.get((where, says), ()))
        for where, says, *verdicts in table[["where", "claim", *(f"{name}_verdict" for name in results)]].to_numpy()
    ]
    for name in results:
        missing = table.pop(f"{name}_missing")
        table["why"] = table["why"].mask(missing != "", "no run: " + missing)
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


class Logged:
    """Looks like results with one split that hold nothing but the authors' logs: claims can be computed from them.

    ``logged.csv`` has their own figures for disparate mistreatment, means over ten splits, from the logs in their
    public repository. They are of 2019: confidence-rated update, T = 200, θ on the training data. Section 5.4 still
    shows the competitors of these logs; its AdaFair is of 2021 and not in any log. Section 5.6 has a comparison of its
    own, with AdaFair trained anew.
    """

    n_splits = 1

    def __init__(self, where: str) -> None:
        comparison = "cumulative or not" if where.startswith("5.6") else "fairness-aware"
        rows = [row for row in read_table("logged.csv") if row["comparison"] == comparison]
        self._log = {(row["dataset"], row["method"]): row for row in rows}

    def values(self, dataset: str, method: str, notion: str, measure: str, c: float = 1.0) -> Floats:
        """A mean that was logged."""
        row = self._log.get((dataset, method), {})
        if measure not in row or notion != DM or c != 1.0:
            raise NotMeasuredError(f"{method} on {DATASET_NAMES[dataset]} is not in the logs")
        return np.array([float(row[measure])])

    def __getattr__(self, name: str) -> Any:
        raise NotMeasuredError(f"the logs have no {name}")


# --- How the figure of a claim is computed


@dataclass(frozen=True)
class Asked:
    """What the figure of a claim is computed from on one dataset: a row of ``claims.csv``, and the results."""

    results: Results
    dataset: str
    notion: str
    methods: tuple[str, ...]
    others: tuple[str, ...]
    measures: tuple[str, ...]
    start: int  # of the rounds that count

    def of(self, method: str, measure: str, c: float = 1.0) -> Floats:
        """A measure on every split."""
        return self.results.values(self.dataset, method, self.notion, measure, c)

    def values(self) -> list[Floats]:
        return [self.of(method, m) for method in self.methods for m in self.measures]

    def differences(self) -> list[Floats]:
        """Between each method and each other."""
        pairs = product(self.methods, self.others, self.measures)
        return [self.of(method, m) - self.of(other, m) for method, other, m in pairs]

    def over_c(self) -> list[Floats]:
        return [self.of(OURS, self.measures[0], c) for c in C_VALUES]

    def lines(self) -> list[Floats]:
        """What the run with T = 500 has for every round."""
        rounds = self.results.rounds(self.results.round_by_round(self.dataset, self.notion))
        return [rounds[name] for name in self.measures]

    def costs(self, method: str) -> list[list[Floats]]:
        """The differences δ that the costs of every round come from, of every split."""
        return [list(costs.values()) for costs in self.results.costs(self.dataset, method, self.notion)]


def lowest(found: Iterable[Floats]) -> Floats:
    """The smallest of several, by mean."""
    return min(found, key=np.mean)


def highest(found: Iterable[Floats]) -> Floats:
    """The largest of several, by mean."""
    return max(found, key=np.mean)


def steps(values: Floats) -> float:
    """How much a line moves from round to round."""
    return float(np.abs(np.diff(values)).mean())


def gain_of_c(asked: Asked) -> Any:
    """What AdaFair's measures gain from c = 0 to c = 1, in all."""
    return sum(asked.of(OURS, m, 1.0) - asked.of(OURS, m, 0.0) for m in asked.measures)


def gain_above_other_notions(asked: Asked) -> Any:
    """The same for one measure, above the least that it gains for other notions."""
    return gain_of_c(asked) - lowest([gain_of_c(replace(asked, notion=other)) for other in asked.others])


def difference_of_sd(asked: Asked) -> Any:
    """How much more a method varies over the splits than any other; of several measures, their mean."""

    def sd(method: str) -> Any:
        return np.mean([asked.of(method, m).std(ddof=1) for m in asked.measures])

    return sd(asked.methods[0]) - max(sd(other) for other in asked.others)


def drift(asked: Asked) -> float:
    """The last 50 rounds of a line against 50 earlier ones."""
    (line,) = asked.lines()
    return float(line[-50:].mean() - line[asked.start : asked.start + 50].mean())


def steps_above_other_datasets(asked: Asked) -> float:
    """How much more a line moves after some round than on any other dataset."""
    datasets = (asked.dataset, *asked.others)
    own, *others = (steps(replace(asked, dataset=d).lines()[0][asked.start :]) for d in datasets)
    return own - max(others)


def calming(asked: Asked) -> float:
    """How much more a line moves after round 150 than before 100."""
    (line,) = asked.lines()
    return steps(line[150:]) - steps(line[:100])


def share_settled(asked: Asked) -> Floats:
    """Share of the rounds after 100 with |δ| ≤ 0.05, for the gap with the smaller share."""
    splits = asked.costs(asked.methods[0])
    return np.array([min((np.abs(line[100:]) <= SETTLED).mean() for line in costs) for costs in splits])


def steps_of_costs(asked: Asked) -> Floats:
    """How much more a method's costs move from round to round than another's."""

    def moves(method: str) -> Floats:
        return np.array([np.mean([steps(line) for line in costs]) for costs in asked.costs(method)])

    return moves(asked.methods[0]) - moves(asked.others[0])


def share_trained(asked: Asked) -> Floats:
    """1 for every split on which the solver converged."""
    (method,) = asked.methods
    asked.of(method, asked.notion)  # all splits are there
    rows = asked.results.rows
    own = rows[(rows["dataset"] == asked.dataset) & (rows["method"] == method)]
    return np.array([float(note is None) for note in own["note"]])


def theta(asked: Asked) -> float:
    return float(asked.results.theta(asked.results.round_by_round(asked.dataset, asked.notion)))


FORMULAS: dict[str, Callable[[Asked], Any]] = {
    "value": lambda asked: lowest(asked.values()),
    "lowest value": lambda asked: lowest(asked.values()),
    "highest value": lambda asked: highest(asked.values()),
    "difference": lambda asked: lowest(asked.differences()),
    "lowest difference": lambda asked: lowest(asked.differences()),
    "highest difference": lambda asked: highest(asked.differences()),
    "difference of measures": lambda asked: np.subtract(*asked.values()),
    "difference of sd": difference_of_sd,
    "spread": lambda asked: np.ptp([values.mean() for values in asked.values()]),
    "share settled": share_settled,
    "share trained": share_trained,
    "gain of c": gain_of_c,
    "mean gain of c": gain_of_c,
    "gain of c against other notions": gain_above_other_notions,
    "highest over c": lambda asked: highest(asked.over_c()),
    "smallest step of c": lambda asked: lowest(after - before for before, after in pairwise(asked.over_c())),
    "lead of other c over c = 0": lambda asked: lowest(other - asked.over_c()[0] for other in asked.over_c()[1:]),
    "lead of c = 1": lambda asked: asked.over_c()[-1] - highest(asked.over_c()[:-1]),
}
# The same, of figures that are no shares.
NUMBERS: dict[str, Callable[[Asked], Any]] = {
    "ratio": lambda asked: asked.values()[0].mean() / asked.values()[1].mean(),
    "theta": theta,
    "after": lambda asked: asked.lines()[0][asked.start :],
    "distance": lambda asked: np.abs(np.subtract(*asked.lines())).mean(),
    "drift": drift,
    "calming": calming,
    "steps against other datasets": steps_above_other_datasets,
    "steps of costs": steps_of_costs,
}
CHECKS: dict[str, Callable[..., Check]] = {"near": near, "gain": gain, "above": above, "below": below, "within": within}


def read_claims() -> tuple[Claim, ...]:
    """The claims in ``claims.csv``."""
    return tuple(_to_claim(row) for row in read_table("claims.csv"))


def _to_claim(row: Mapping[str, str]) -> Claim:
    def several(column: str) -> tuple[str, ...]:
        return tuple(row[column].split(" | ")) if row[column] else ()

    datasets, limits = several("datasets"), [float(limit) for limit in several("limits")]
    name, start = row["value"], int(row["start"] or 0)
    formula = (FORMULAS | NUMBERS)[name]
    of = several("methods"), several("others"), several("measures")

    def value(results: Results) -> Any:
        found = [formula(Asked(results, dataset, row["notion"], *of, start)) for dataset in datasets]
        return np.mean(found, axis=0) if name.startswith("mean") else lowest(found)

    where = row["section"] if len(datasets) > 1 else f"{row['section']} {DATASET_NAMES[datasets[0]]}"
    return Claim(where, row["says"], row["paper"], value, CHECKS[row["check"]](*limits), name in FORMULAS)


# Of each section those that were counted first, then what the paper says in words or of all datasets.
CLAIMS = read_claims()
FIRST_CLAIMS = CLAIMS[:175]


# --- What the figures can mark of the paper's text, besides single bars


# What a rate gains from c = 0 to c = 1, Figure 7.
GAINS_OF_C = {
    "adult": {"tpr_prot": 0.12, "tpr_nonprot": 0.11, "tnr_prot": -0.04, "tnr_nonprot": -0.05},
    "bank": {"tpr_prot": 0.16, "tpr_nonprot": 0.16, "tnr_prot": -0.01, "tnr_nonprot": -0.02},
    "kdd": {"tpr_prot": 0.27, "tpr_nonprot": 0.27, "tnr_prot": -0.04, "tnr_nonprot": -0.04},
}
# Figure 4: θ, and from which round on a line lies between which values, Adult's objective and Bank's BER.
THETA = {"adult": 488}
STRETCHES = {"adult": (150, 0.27, 0.29), "bank": (400, 0.22, 0.22)}


# --- Why a claim differs

OPEN = "Open."
# What was tested, or that it is open: the first pattern that finds "where: claim" says it. Where the authors' setting
# gives the paper's figure, ``parts.csv`` (from ``benchmarks/differences.py``) says which of its parts do. These
# sentences are for what remains. They hold no numbers: those stand beside them.
REASONS = [(row["pattern"], row["reason"]) for row in read_table("reasons.csv")]


class Part(NamedTuple):
    """What a claim loses or gains when one part of the authors' setting is put back to the text's."""

    part: str
    change: str  # "lost" or "gained"


def reason(where: str, says: str, verdicts: Mapping[str, str], parts: Sequence[Part] = ()) -> str:
    """The sentence for a claim in the settings that were run, or nothing if it holds in all."""
    if all(verdict == HOLDS for verdict in verdicts.values()):
        return ""
    written = next((text for pattern, text in REASONS if re.search(pattern, f"{where}: {says}")), "")
    if "authors" not in verdicts:
        return written
    lost, gained = (", or ".join(p.part for p in parts if p.change == change) for change in ("lost", "gained"))
    if verdicts["authors"] == HOLDS:
        return "The authors' setting gives it" + (f"; lost again with {lost}." if lost else ".")
    if gained:
        found = f"Holds in the authors' setting with one change: {gained}."
        return found if "pen." in written else f"{found} {written}".strip()  # no longer open
    return written or OPEN
