"""What the paper says, as data: its claims, how the figure of each is computed, and the numbers that figures can mark.

Percentages of the paper are read as percentage points throughout, also where it says "increase": a relative reading
does not fit measures that are close to zero. `d` is a dataset, `n` a notion, `m` a measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._arrays import Floats
from ..baselines.registry import DM, EO, SP
from ._claims import TOLERANCE, Check, Claim, Value, above, below, gain, near, within
from ._plan import C_VALUES, CUMULATIVE
from ._rows import DATASET_NAMES, MEASURE_NAMES, Results

OURS, NO_CUMUL = CUMULATIVE
ADA, SMOTE, SDB, FAE, ZAFAR, KRASA = (
    "AdaBoost",
    "SMOTEBoost",
    "AdaBoost SDB",
    "FAE",
    "Zafar et al.",
    "Krasanakis et al.",
)
PLAIN, FAIR = (ADA, SMOTE), (KRASA, ZAFAR)
ACC, BAL = "accuracy", "balanced_accuracy"
TPR, TNR = ("tpr_prot", "tpr_nonprot"), ("tnr_prot", "tnr_nonprot")
GROUP = {m: group for rates in (TPR, TNR) for m, group in zip(rates, ("protected", "non-protected"), strict=True)}
IMBALANCED = ("adult", "bank", "kdd")
EVERYWHERE = tuple(DATASET_NAMES)

# What the text gives more than once. NoCumul's unfairness above AdaFair's, in the order of the datasets:
INCREASES = {
    DM: ("5.6", "D.M.", (0.78, 0.59, 0.20, 0.80)),
    SP: ("Appendix", "St.Parity", (0.31, 0.12, 0.15, 0.15)),
    EO: ("Appendix", "Eq.Op.", (0.15, 0.02, 0.12, 0.08)),
}
# What a rate gains from c = 0 to c = 1, Figure 7: TPR and TNR of the protected and the non-protected group.
GAINS_OF_C = {
    "adult": {"tpr_prot": 0.12, "tpr_nonprot": 0.11, "tnr_prot": -0.04, "tnr_nonprot": -0.05},
    "bank": {"tpr_prot": 0.16, "tpr_nonprot": 0.16, "tnr_prot": -0.01, "tnr_nonprot": -0.02},
    "kdd": {"tpr_prot": 0.27, "tpr_nonprot": 0.27, "tnr_prot": -0.04, "tnr_nonprot": -0.04},
}
SETTLED = 0.05  # Figure 6: where AdaFair's costs end up, on either side of zero
THETA = {"adult": 488}


# --- How the figure of a claim is computed


@dataclass(frozen=True)
class Amount:
    """One value per split, or per round, computed from the results. Amounts can be added and subtracted."""

    value: Value

    def __call__(self, results: Results) -> Floats:
        return self.value(results)

    def __add__(self, other: Amount) -> Amount:
        return Amount(lambda results: self(results) + other(results))

    def __sub__(self, other: Amount) -> Amount:
        return Amount(lambda results: self(results) - other(results))


def mean_of(values: Floats) -> float:
    return float(values.mean())


def lowest_of(*values: Value) -> Amount:
    """The smallest of several, by mean."""
    return Amount(lambda results: min((value(results) for value in values), key=mean_of))


def highest_of(*values: Value) -> Amount:
    """The largest of several, by mean."""
    return Amount(lambda results: max((value(results) for value in values), key=mean_of))


def number(compute: Callable[[Results], float]) -> Amount:
    """A single number, of all splits together."""
    return Amount(lambda results: np.array([compute(results)]))


def of(d: str, method: str, n: str, m: str, c: float = 1.0) -> Amount:
    """A measure."""
    return Amount(lambda results: results.values(d, method, n, m, c))


def more(d: str, method: str, than: str, n: str, m: str) -> Amount:
    """A measure of a method minus that of another, split by split."""
    return of(d, method, n, m) - of(d, than, n, m)


def worse_than_best(d: str, method: str, others: Sequence[str], n: str, m: str, lowest: bool = True) -> Amount:
    """How far a method lies from the best of the others (by mean), split by split: below zero if it is the best."""
    sign = 1.0 if lowest else -1.0

    def value(results: Results) -> Floats:
        best = min((sign * results.values(d, other, n, m) for other in others), key=mean_of)
        return sign * results.values(d, method, n, m) - best

    return Amount(value)


def spread(d: str, methods: Sequence[str], n: str, m: str) -> Amount:
    """Largest minus smallest mean over methods."""
    return number(lambda results: np.ptp([results.values(d, method, n, m).mean() for method in methods]))


def over_c(d: str, n: str, m: str) -> list[Amount]:
    """A measure of AdaFair for every c."""
    return [of(d, OURS, n, m, c) for c in C_VALUES]


def gain_of_c(d: str, n: str, m: str) -> Amount:
    """A measure of AdaFair for c = 1 minus that for c = 0."""
    return of(d, OURS, n, m, 1.0) - of(d, OURS, n, m, 0.0)


def lead_of_one(d: str, n: str, m: str) -> Amount:
    """c = 1 against the best other c."""
    *others, last = over_c(d, n, m)
    return last - highest_of(*others)


def line(results: Results, d: str, name: str) -> Floats:
    """What the run with T = 500 has for every round."""
    return results.rounds(results.round_by_round(d, DM))[name]


def steps(values: Floats) -> float:
    """How much a line moves from round to round."""
    return float(np.abs(np.diff(values)).mean())


def drift(d: str, name: str, start: int = 100) -> Amount:
    """The last 50 rounds of a line against 50 earlier ones."""

    def value(results: Results) -> float:
        found = line(results, d, name)
        return float(found[-50:].mean() - found[start : start + 50].mean())

    return number(value)


def after(d: str, name: str, first: int) -> Amount:
    """The rounds of a line from some round on."""
    return Amount(lambda results: line(results, d, name)[first:])


def distance(d: str, one: str, other: str) -> Amount:
    return number(lambda results: np.abs(line(results, d, one) - line(results, d, other)).mean())


def restless(d: str) -> Amount:
    def value(results: Results) -> float:
        moves = {name: steps(line(results, name, "objective")[100:]) for name in EVERYWHERE}
        return moves.pop(d) - max(moves.values())

    return number(value)


def settles(d: str) -> Amount:
    def value(results: Results) -> float:
        objective = line(results, d, "objective")
        return steps(objective[150:]) - steps(objective[:100])

    return number(value)


def theta_of(d: str) -> Amount:
    return number(lambda results: float(results.theta(results.round_by_round(d, DM))))


def steps_of_costs(d: str, method: str, n: str) -> Amount:
    """How much the costs move from round to round, split by split."""
    return Amount(
        lambda results: np.array(
            [np.mean([steps(costs) for costs in rounds.values()]) for rounds in results.costs(d, method, n)]
        )
    )


def cost_steps(d: str, n: str) -> Amount:
    """How much more NoCumul's costs move than AdaFair's."""
    return steps_of_costs(d, NO_CUMUL, n) - steps_of_costs(d, OURS, n)


def settled_cost(d: str) -> Amount:
    """Share of the rounds after 100 with |δ| ≤ 0.05, for the gap with the smaller share, split by split."""
    return Amount(
        lambda results: np.array(
            [
                min(float((np.abs(costs[100:]) <= SETTLED).mean()) for costs in rounds.values())
                for rounds in results.costs(d, OURS, DM)
            ]
        )
    )


def sd(d: str, method: str, m: str) -> Amount:
    """Standard deviation over the splits, for disparate mistreatment."""
    return number(lambda results: results.values(d, method, DM, m).std(ddof=1))


def least_stable(d: str, method: str, others: Sequence[str]) -> Amount:
    def of_rates(results: Results, name: str) -> float:
        return float(np.mean([sd(d, name, m)(results) for m in TPR]))

    return number(lambda results: of_rates(results, method) - max(of_rates(results, other) for other in others))


def ratio(d: str, method: str, to: str, n: str) -> Amount:
    return number(lambda results: results.values(d, method, n, n).mean() / results.values(d, to, n, n).mean())


def zafar_trains(results: Results) -> Floats:
    """1 for every split on which the solver converged."""
    results.values("kdd", ZAFAR, DM, DM)  # all splits are there
    rows = results.rows.query("dataset == 'kdd' and method == 'Zafar et al.'")
    return np.array([float(note is None) for note in rows["note"]])


# --- The claims: those that were counted first


def at(section: str, d: str) -> str:
    return f"{section} {DATASET_NAMES[d]}"


def gains(where: str, says: str, value: Value, paper: float) -> Claim:
    """A difference that the paper gives the size of."""
    return Claim(where, says, f"{100 * paper:+.3g} points".replace("-", "−"), value, gain(paper))


class Place(NamedTuple):
    """A section of the paper on one dataset, and the notion it is about."""

    section: str
    d: str
    n: str

    def of(self, method: str, m: str) -> Amount:
        return of(self.d, method, self.n, m)

    def more(self, method: str, than: str, m: str) -> Amount:
        return more(self.d, method, than, self.n, m)

    def claim(self, says: str, paper: str, value: Value, check: Check, percent: bool = True) -> Claim:
        return Claim(at(self.section, self.d), says, paper, value, check, percent)

    def gains(self, *differences: tuple[str, str, str, float]) -> Iterator[Claim]:
        """Differences that the paper gives the size of: of a method to another, in a measure."""
        for method, than, m, paper in differences:
            measure, group = (m[:3].upper(), f", {GROUP[m]}") if m in GROUP else (MEASURE_NAMES[m], "")
            says = f"{measure} of {method} against {than}{group}{'' if paper else ' (similar)'}".replace(SDB, "SDB")
            yield gains(at(self.section, self.d), says, self.more(method, than, m), paper)

    def ranks(
        self, says: str, paper: str, method: str, others: Sequence[str], m: str, *, lowest: bool = True,
        to: str = "the best other",
    ) -> Claim:  # fmt: skip
        """A method is ahead of all others, by the lowest or the highest of a measure."""
        value = worse_than_best(self.d, method, others, self.n, m, lowest)
        return self.claim(f"{says} (distance to {to}, below 0 if so)", paper, value, below(0))


def _statistical_parity() -> list[Claim]:
    adult, bank, compas, kdd = (Place("5.2", d, SP) for d in EVERYWHERE)
    return [
        *(Claim(at("5.2", d), "AdaFair has the lowest St.Parity (distance to the best other, below 0 if so)", "lowest",
                worse_than_best(d, OURS, (ADA, SMOTE, SDB), SP, SP), below(0)) for d in EVERYWHERE),
        adult.claim("AdaFair's rates of positive predictions are almost identical", "|δ| ≤ 2 points",
                    adult.of(OURS, SP), below(0.02)),
        *adult.gains((OURS, SMOTE, BAL, -0.035), (OURS, SDB, BAL, 0.05)),
        adult.claim("SMOTEBoost has the worst St.Parity (distance to the next)", "highest",
                    worse_than_best("adult", SMOTE, (ADA, SDB, OURS), SP, SP, lowest=False), below(0)),
        *bank.gains((OURS, SDB, BAL, 0.10), (SMOTE, OURS, BAL, 0.05)),
        bank.ranks("AdaBoost has the best accuracy", "best", ADA, (SMOTE, SDB, OURS), ACC, lowest=False),
        bank.claim("The others have similar accuracy (largest minus smallest of SMOTEBoost, SDB, AdaFair)",
                   "similar: within 3 points", spread("bank", (SMOTE, SDB, OURS), SP, ACC), below(0.03)),
        compas.claim("All methods have similar accuracy (largest minus smallest)", "similar: within 5 points",
                     spread("compas", (ADA, SMOTE, SDB, OURS), SP, ACC), below(0.05)),
        *compas.gains((OURS, SDB, SP, -0.035), (OURS, SDB, BAL, 0.01)),
        compas.claim("All methods have similar Bal.Acc. (largest minus smallest)", "similar: within 5 points",
                     spread("compas", (ADA, SMOTE, SDB, OURS), SP, BAL), below(0.05)),
        compas.claim("AdaBoost and SMOTEBoost have a very poor St.Parity (the lower of the two against AdaFair)",
                     "more than 5 points worse", lowest_of(compas.more(ADA, OURS, SP), compas.more(SMOTE, OURS, SP)),
                     above(0.05)),
        *kdd.gains((OURS, SDB, SP, -0.04), (OURS, ADA, BAL, 0.085), (OURS, SDB, BAL, 0.10), (SMOTE, OURS, BAL, 0.02),
                   (SMOTE, OURS, SP, 0.10)),
    ]  # fmt: skip


def _equal_opportunity() -> list[Claim]:
    adult, bank, compas, kdd = (Place("5.3", d, EO) for d in EVERYWHERE)
    return [
        adult.ranks("AdaFair has the lowest Eq.Op.", "lowest", OURS, (ADA, SMOTE, FAE), EO),
        *adult.gains((OURS, FAE, BAL, 0.01), (OURS, FAE, ACC, 0.01), (SMOTE, OURS, BAL, 0.005),
                     (SMOTE, OURS, EO, 0.22)),
        adult.ranks("SMOTEBoost has the best Bal.Acc.", "best", SMOTE, (ADA, FAE, OURS), BAL, lowest=False),
        adult.claim("SMOTEBoost is the most unfair (Eq.Op.: distance to the next, below 0 if so)", "highest",
                    worse_than_best("adult", SMOTE, (ADA, FAE, OURS), EO, EO, lowest=False), below(0)),
        *bank.gains((OURS, FAE, EO, 0.0), (OURS, FAE, BAL, 0.0), (FAE, OURS, TPR[0], 0.17), (FAE, OURS, TPR[1], 0.17),
                    (FAE, OURS, TNR[0], -0.17), (FAE, OURS, TNR[1], -0.10), (SMOTE, OURS, BAL, 0.0)),
        compas.ranks("AdaFair has the lowest Eq.Op.", "lowest", OURS, (ADA, SMOTE, FAE), EO),
        *compas.gains((OURS, FAE, BAL, 0.0), (SMOTE, ADA, BAL, 0.0), (SMOTE, ADA, EO, 0.0)),
        *kdd.gains((OURS, SMOTE, BAL, 0.07), (FAE, SMOTE, BAL, 0.065)),
        *(kdd.claim(f"FAE finds more positives than AdaFair, {GROUP[m]} (TPR of FAE against AdaFair)", "more",
                    kdd.more(FAE, OURS, m), above(0)) for m in TPR),
        *(kdd.claim(f"FAE rejects more negatives than AdaFair, {GROUP[m]} (TNR of FAE against AdaFair)", "fewer",
                    kdd.more(FAE, OURS, m), below(0)) for m in TNR),
        *(kdd.claim(f"{method} mitigates (Eq.Op.)", "low: below 3 points", kdd.of(method, EO), below(0.03))
          for method in (OURS, FAE)),
    ]  # fmt: skip


def _disparate_mistreatment() -> list[Claim]:
    adult, bank, compas, kdd = (Place("5.4", d, DM) for d in EVERYWHERE)
    return [
        *adult.gains((OURS, SMOTE, BAL, -0.01), (OURS, ADA, BAL, 0.07), (OURS, KRASA, BAL, 0.09),
                     (OURS, ZAFAR, BAL, 0.09)),
        adult.ranks("Krasanakis et al. have the lowest D.M.", "lowest", KRASA, (ADA, SMOTE, ZAFAR, OURS), DM),
        *adult.gains((OURS, KRASA, DM, 0.02)),
        *(gains(at("5.4", "adult"), f"TPR of AdaFair against Krasanakis, {GROUP[m]}", adult.more(OURS, KRASA, m), paper)
          for m, paper in zip(TPR, (0.29, 0.20), strict=True)),
        *(adult.claim(f"AdaFair has the highest TPR of the fairness-aware, {GROUP[m]} (against the best other)",
                      "highest", lowest_of(*(adult.more(OURS, other, m) for other in FAIR)), above(0)) for m in TPR),
        bank.claim("AdaFair has a higher Bal.Acc. than SMOTEBoost", "higher", bank.more(OURS, SMOTE, BAL), above(0)),
        bank.claim("AdaFair has a higher Bal.Acc. than AdaBoost, Krasanakis and Zafar (against the best)", "higher",
                   lowest_of(*(bank.more(OURS, other, BAL) for other in (ADA, *FAIR))), above(0)),
        bank.claim("The fairness-aware have a lower D.M. than AdaBoost and SMOTEBoost (worst against best)", "lower",
                   highest_of(*(worse_than_best("bank", m, (ADA, SMOTE), DM, DM) for m in (*FAIR, OURS))), below(0)),
        *bank.gains((OURS, ZAFAR, TPR[0], 0.29), (OURS, ZAFAR, TPR[1], 0.29), (OURS, ZAFAR, TNR[0], -0.06),
                    (OURS, ZAFAR, TNR[1], -0.07)),
        *(bank.claim(f"AdaBoost and SMOTEBoost have higher TPRs than Krasanakis and Zafar, {GROUP[m]}", "higher",
                     lowest_of(*(bank.more(plain, other, m) for plain in (ADA, SMOTE) for other in FAIR)), above(0))
          for m in TPR),
        compas.ranks("AdaBoost has the best Bal.Acc.", "best", ADA, (SMOTE, *FAIR, OURS), BAL, lowest=False),
        compas.ranks("Zafar et al. have the worst Bal.Acc.", "worst", ZAFAR, (ADA, SMOTE, KRASA, OURS), BAL,
                     to="the next"),
        *compas.gains((KRASA, OURS, DM, -0.035), (KRASA, OURS, BAL, 0.002)),
        compas.claim("D.M. of Zafar et al. is almost twice that of Krasanakis et al. (ratio of means)", "2",
                     ratio("compas", ZAFAR, KRASA, DM), within(1.5, 2.5), percent=False),
        compas.claim("Krasanakis et al. are the least stable (sd of their TPRs against the next)", "highest sd",
                     least_stable("compas", KRASA, (ADA, SMOTE, ZAFAR, OURS)), above(0)),
        *(compas.claim(f"AdaFair has a better TPR than Krasanakis and Zafar et al., {GROUP[m]}", "better",
                       lowest_of(*(compas.more(OURS, other, m) for other in FAIR)), above(0)) for m in TPR),
        *(compas.claim(f"TNR of AdaFair, {GROUP[m]}", "57 to 59 %", compas.of(OURS, m), within(0.55, 0.61))
          for m in TNR),
        *(compas.ranks(f"AdaFair has the lowest TNR, {GROUP[m]}", "lowest", OURS, (ADA, SMOTE, *FAIR), m, to="the next")
          for m in TNR),
        compas.ranks("Zafar et al. have the worst D.M. of the fairness-aware", "worst", ZAFAR, (KRASA, OURS), DM,
                     lowest=False, to="the next"),
        *(kdd.claim(f"AdaFair has the highest TPR, {GROUP[m]} (against the best other)", "highest",
                    lowest_of(*(kdd.more(OURS, other, m) for other in (ADA, SMOTE, KRASA))), above(0)) for m in TPR),
        *kdd.gains((OURS, KRASA, BAL, 0.22), (OURS, ADA, BAL, 0.17), (OURS, SMOTE, BAL, 0.05)),
        *(kdd.claim(f"TNRs of {method} are close to 100 % (the lower group)", "almost 100 %",
                    lowest_of(*(kdd.of(method, m) for m in TNR)), above(0.97)) for method in (ADA, KRASA)),
        *kdd.gains((SMOTE, ADA, TNR[0], -0.02), (SMOTE, ADA, TNR[1], -0.04)),
        kdd.claim("AdaFair's TPR is above 65 % in both groups (the lower one)", "> 65 %",
                  lowest_of(*(kdd.of(OURS, m) for m in TPR)), above(0.65)),
        kdd.claim("The TPR of Krasanakis et al. is below 20 % in both groups (the higher one)", "< 20 %",
                  highest_of(*(kdd.of(KRASA, m) for m in TPR)), below(0.20)),
        *(kdd.claim(f"D.M. of {method}", f"{100 * paper:.0f} %", kdd.of(method, DM), near(paper))
          for method, paper in ((OURS, 0.02), (KRASA, 0.02), (ADA, 0.28), (SMOTE, 0.36))),
        kdd.claim("Zafar et al. cannot be trained (share of the splits on which it can)", "0 %", zafar_trains,
                  below(0.5)),
    ]  # fmt: skip


def _over_the_rounds() -> list[Claim]:
    adult, bank, compas, kdd = (at("5.5", d) for d in EVERYWHERE)
    return [
        Claim(adult, "The objective after round 150", "in [0.27, 0.29]", after("adult", "objective", 150),
              within(0.27, 0.29), percent=False),
        Claim(adult, "BER on validation and test data are almost identical (mean distance)", "almost identical",
              distance("adult", "validation_ber", "test_ber"), below(TOLERANCE), percent=False),
        Claim(adult, "θ of 500", "488", theta_of("adult"), near(THETA["adult"], 25), percent=False),
        Claim(adult, "Test BER no longer changes after round 100 (last 50 rounds against 100 to 150)", "no change",
              drift("adult", "test_ber"), gain(0.0), percent=False),
        Claim(bank, "BER on validation data after round 400", "0.22", after("bank", "validation_ber", 400),
              near(0.22), percent=False),
        Claim(bank, "BER on test data after round 400", "0.22", after("bank", "test_ber", 400), near(0.22),
              percent=False),
        Claim(bank, "BER falls with the rounds (last 50 against 100 to 150)", "falls",
              drift("bank", "validation_ber"), below(0), percent=False),
        Claim(bank, "Unfairness on validation data stays low after round 100", "low: below 0.1",
              after("bank", "validation_violation", 100), below(0.1), percent=False),
        *(Claim(where, "BER decreases over the rounds (last 50 against the first 50)", "decreases",
                drift(d, "validation_ber", 0), below(0), percent=False)
          for where, d in ((adult, "adult"), (bank, "bank"), (kdd, "kdd"))),
        Claim(compas, "BER rises with the rounds (last 50 against 100 to 150)", "rises",
              drift("compas", "validation_ber"), above(0), percent=False),
        Claim(compas, "The objective moves more from round to round than elsewhere (against the next, after round 100)",
              "more", restless("compas"), above(0), percent=False),
        *(Claim(where, "The objective moves less from round to round after 150 than before 100", "less",
                settles(d), below(0), percent=False)
          for where, d in ((adult, "adult"), (bank, "bank"), (kdd, "kdd"))),
        Claim(kdd, "BER hardly falls after round 200 (last 50 against 200 to 250)", "hardly",
              drift("kdd", "validation_ber", 200), within(-TOLERANCE, 0.0), percent=False),
        Claim("5.5", "At least 100 rounds are needed (smallest θ of the four datasets)", "at least 100",
              lowest_of(*(theta_of(d) for d in EVERYWHERE)), above(99.5), percent=False),
    ]  # fmt: skip


def _cumulative() -> list[Claim]:
    claims = []
    for n, (section, name, papers) in INCREASES.items():
        claims += [
            *(gains(at(section, d), f"{name} of NoCumul against AdaFair", more(d, NO_CUMUL, OURS, n, n), paper)
              for d, paper in zip(EVERYWHERE, papers, strict=True)),
            Claim(section, f"NoCumul's costs for {name} fluctuate more in all datasets (smallest difference of steps)",
                  "more", lowest_of(*(cost_steps(d, n) for d in EVERYWHERE)), above(0), percent=False),
        ]  # fmt: skip
    return [
        *claims,
        *(Claim(at("5.6", d), "AdaFair's costs settle within ±0.05 (share of the rounds after 100, of the less settled "
                "of δFNR and δFPR)", "all: at least 90 %", settled_cost(d), above(0.90)) for d in EVERYWHERE),
        *(Claim(at("5.6", d), f"NoCumul: {name} of the protected minus the non-protected", word,
                of(d, NO_CUMUL, DM, m) - of(d, NO_CUMUL, DM, other), below(0) if word == "lower" else above(0))
          for (m, other), name, words in ((TPR, "TPR", ("lower", "higher", "lower", "lower")),
                                          (TNR, "TNR", ("higher", "lower", "higher", "higher")))
          for d, word in zip(EVERYWHERE, words, strict=True)),
        Claim("5.6", "NoCumul's D.M. varies more over the splits in all datasets (smallest difference of sd)", "more",
              lowest_of(*(sd(d, NO_CUMUL, DM) - sd(d, OURS, DM) for d in EVERYWHERE)), above(0)),
    ]  # fmt: skip


def _effect_of_c() -> list[Claim]:
    claims = []
    for d, papers in GAINS_OF_C.items():
        where, appendix = at("5.7", d), at("Appendix", d)
        growing, by_c = over_c(d, DM, BAL), over_c(d, SP, BAL)
        own, *others = (gain_of_c(d, n, BAL) for n in (SP, DM, EO))
        claims += [
            *(gains(where, f"D.M.: {m[:3].upper()} for c = 1 against c = 0, {GROUP[m]}", gain_of_c(d, DM, m), paper)
              for m, paper in papers.items()),
            Claim(where, "D.M.: Bal.Acc. grows with c (smallest gain from one c to the next)", "grows",
                  lowest_of(*(after - before for before, after in pairwise(growing))), above(-0.005)),
            gains(where, "D.M. does not deteriorate with c (c = 1 against 0)", gain_of_c(d, DM, DM), 0.0),
            Claim(appendix, "St.Parity: c affects Bal.Acc. less than for the other notions (gain of c = 1 over 0, "
                  "against the smaller of theirs)", "less", own - lowest_of(*others), below(0)),
            Claim(appendix, "St.Parity: Bal.Acc. is worst for c = 0 (smallest lead of another c)", "worst",
                  lowest_of(*(other - by_c[0] for other in by_c[1:])), above(0)),
            *(Claim(appendix, f"{name} stays close to 0 for every c (largest)", "close to 0",
                    highest_of(*over_c(d, n, n)), below(0.03)) for n, name in ((SP, "St.Parity"), (EO, "Eq.Op."))),
        ]  # fmt: skip
    mean_gain = Amount(lambda results: np.mean([gain_of_c(d, EO, BAL)(results) for d in IMBALANCED], axis=0))
    return [
        *claims,
        gains("Appendix", "Eq.Op.: Bal.Acc. for c = 1 against c = 0 (the paper's example names no dataset; mean of the "
              "imbalanced three)", mean_gain, 0.08),
        *(gains(f"{section} COMPAS", f"{name}: Bal.Acc. for c = 1 against c = 0 (no change)",
                gain_of_c("compas", n, BAL), 0.0)
          for n, name, section in ((DM, "D.M.", "5.7"), (EO, "Eq.Op.", "Appendix"))),
    ]  # fmt: skip


FIRST_CLAIMS: tuple[Claim, ...] = (
    *_statistical_parity(),
    *_equal_opportunity(),
    *_disparate_mistreatment(),
    *_over_the_rounds(),
    *_cumulative(),
    *_effect_of_c(),
)


# --- The claims: what the paper says in words, and "all datasets" one by one


def _statistical_parity_added() -> list[Claim]:
    adult, bank = (Place("5.2", d, SP) for d in ("adult", "bank"))
    return [
        adult.claim("AdaBoost SDB follows closely in St.Parity (SDB against AdaFair)", "close: within 2 points",
                    adult.more(SDB, OURS, SP), gain(0.0)),
        adult.ranks("SMOTEBoost has the best Bal.Acc.", "best", SMOTE, (ADA, SDB, OURS), BAL, lowest=False),
        adult.ranks("AdaFair has the second-best Bal.Acc.", "second", OURS, (ADA, SDB), BAL, lowest=False,
                    to="the best but SMOTEBoost"),
        bank.ranks("SMOTEBoost has the best Bal.Acc.", "best", SMOTE, (ADA, SDB, OURS), BAL, lowest=False),
        *(bank.ranks(f"AdaBoost predicts fewest positives, {group}", "fewest", ADA, (SMOTE, SDB, OURS), m,
                     to="the next") for m, group in (("pos_prot", "protected"), ("pos_nonprot", "non-protected"))),
        *(Claim(at("5.2", d), "AdaFair is fairer than SDB (St.Parity of AdaFair against SDB)", "fairer",
                more(d, OURS, SDB, SP, SP), below(0)) for d in EVERYWHERE),
        *(Claim(at("5.2", d), "AdaFair predicts better than SDB (Bal.Acc. of AdaFair against SDB)", "better",
                more(d, OURS, SDB, SP, BAL), above(0)) for d in EVERYWHERE),
        *(Claim(at("5.2", d), "SMOTEBoost has the higher Bal.Acc. (SMOTEBoost against AdaFair)", "higher",
                more(d, SMOTE, OURS, SP, BAL), above(0)) for d in IMBALANCED),
    ]  # fmt: skip


def _equal_opportunity_added() -> list[Claim]:
    adult, bank = (Place("5.3", d, EO) for d in ("adult", "bank"))
    return [
        adult.claim("FAE follows by a minimal margin in Eq.Op. (FAE against AdaFair)", "close: within 2 points",
                    adult.more(FAE, OURS, EO), gain(0.0)),
        *(adult.claim(f"FAE performs alike for both groups, {name} (difference of the groups)", "similar: 5 points",
                      of("adult", FAE, EO, rates[0]) - of("adult", FAE, EO, rates[1]), gain(0.0, 0.05))
          for name, rates in (("TPR", TPR), ("TNR", TNR))),
        *(Claim(at("5.3", d), "SMOTEBoost cannot mitigate (Eq.Op. of SMOTEBoost against the worse of AdaFair and FAE)",
                "higher", lowest_of(*(more(d, SMOTE, m, EO, EO) for m in (OURS, FAE))), above(0))
          for d in ("bank", "kdd")),
        bank.claim("FAE finds more positives and rejects fewer negatives (TPR of FAE against AdaFair, smaller group)",
                   "more", lowest_of(*(bank.more(FAE, OURS, m) for m in TPR)), above(0)),
        *(Claim(at("5.3", d), "AdaFair and FAE have similar Bal.Acc. (AdaFair against FAE)", "similar: within 2 points",
                more(d, OURS, FAE, EO, BAL), gain(0.0)) for d in ("adult", "kdd")),
    ]  # fmt: skip


def _disparate_mistreatment_added() -> list[Claim]:
    adult, bank, compas, kdd = (Place("5.4", d, DM) for d in EVERYWHERE)
    return [
        adult.ranks("SMOTEBoost has the highest Bal.Acc.", "highest", SMOTE, (ADA, *FAIR, OURS), BAL, lowest=False),
        adult.ranks("AdaFair has the second-highest Bal.Acc.", "second", OURS, (ADA, *FAIR), BAL, lowest=False,
                    to="the best but SMOTEBoost"),
        adult.claim("AdaBoost and SMOTEBoost are worst in D.M. (the better of them against the worst of the fair)",
                    "worst", lowest_of(*(adult.more(plain, fair, DM) for plain in PLAIN for fair in (*FAIR, OURS))),
                    above(0)),
        adult.ranks("AdaFair is second in D.M.", "second", OURS, (ADA, SMOTE, ZAFAR), DM,
                    to="the best but Krasanakis et al."),
        *(adult.claim(f"Krasanakis et al. have the second-best TPR of the fairness-aware, {GROUP[m]} (against Zafar)",
                      "second", adult.more(KRASA, ZAFAR, m), above(0)) for m in TPR),
        *(adult.claim(f"Krasanakis and Zafar et al. have higher TNRs than AdaFair, {GROUP[m]} (the lower of them)",
                      "higher", lowest_of(*(adult.more(fair, OURS, m) for fair in FAIR)), above(0)) for m in TNR),
        *(bank.claim(f"Zafar et al. have the second-best TPR of the fairness-aware, {GROUP[m]} (against Krasanakis)",
                     "second", bank.more(ZAFAR, KRASA, m), above(0)) for m in TPR),
        *(bank.claim(f"Krasanakis and Zafar et al. behave alike, {name} {GROUP[m]} (one against the other)",
                     "similar: within 5 points", bank.more(KRASA, ZAFAR, m), gain(0.0, 0.05))
          for name, rates in (("TPR", TPR), ("TNR", TNR)) for m in rates),
        compas.claim("The differences in Bal.Acc. are not that high (largest minus smallest)", "within 5 points",
                     spread("compas", (ADA, SMOTE, *FAIR, OURS), DM, BAL), below(0.05)),
        compas.ranks("Krasanakis et al. have the lowest D.M.", "lowest", KRASA, (ADA, SMOTE, ZAFAR, OURS), DM),
        compas.ranks("AdaFair is second in D.M.", "second", OURS, (ADA, SMOTE, ZAFAR), DM,
                     to="the best but Krasanakis et al."),
        kdd.claim("AdaBoost and SMOTEBoost are worst in D.M. (the better of them against the worse of the fair)",
                  "worst", lowest_of(*(kdd.more(plain, fair, DM) for plain in PLAIN for fair in (KRASA, OURS))),
                  above(0)),
        *(Claim("5.5 COMPAS", f"No method has more than 70 % {name}, {notion} (the highest)", "at most 70 %",
                highest_of(*(of("compas", method, n, m) for method in methods)), below(0.70))
          for n, notion, methods in ((SP, "St.Parity", (*PLAIN, SDB, OURS)), (EO, "Eq.Op.", (*PLAIN, FAE, OURS)),
                                     (DM, "D.M.", (*PLAIN, *FAIR, OURS)))
          for m, name in ((ACC, "accuracy"), (BAL, "Bal.Acc."))),
    ]  # fmt: skip


def _one_by_one() -> list[Claim]:
    """What the paper says of all datasets."""
    claims = [
        Claim(at("5.5", d), "At least 100 rounds are needed (θ of 500)", "at least 100", theta_of(d), above(99.5),
              percent=False) for d in EVERYWHERE
    ]  # fmt: skip
    for d in EVERYWHERE:
        for n, (section, name, _) in INCREASES.items():
            claims += [
                Claim(at(section, d), f"NoCumul is less fair ({name} of NoCumul against AdaFair)", "less fair",
                      more(d, NO_CUMUL, OURS, n, n), above(0)),
                Claim(at(section, d), f"NoCumul's costs for {name} fluctuate more (difference of steps)", "more",
                      cost_steps(d, n), above(0), percent=False),
            ]  # fmt: skip
        says = "NoCumul's D.M. varies more over the splits (difference of sd)"
        claims.append(Claim(at("5.6", d), says, "more", sd(d, NO_CUMUL, DM) - sd(d, OURS, DM), above(0)))
    return claims


def _effect_of_c_added() -> list[Claim]:
    claims = []
    for d in IMBALANCED:
        where, appendix = at("5.7", d), at("Appendix", d)
        claims += [
            *(Claim(where, f"TPR is best for c = 1, {GROUP[m]} (against the best other c)", "best",
                    lead_of_one(d, DM, m), above(0)) for m in TPR),
            *(Claim(where, f"TPR rises by more than TNR falls with c, {GROUP[rise]} (sum of both changes)", "more",
                    gain_of_c(d, DM, rise) + gain_of_c(d, DM, fall), above(0))
              for rise, fall in zip(TPR, TNR, strict=True)),
            Claim(where, "D.M. stays low for every c (largest)", "low: below 10 points",
                  highest_of(*over_c(d, DM, DM)), below(0.10)),
            *(Claim(appendix, f"{name}: Bal.Acc. is higher for c = 1 than for c = 0", "higher",
                    gain_of_c(d, n, BAL), above(0)) for n, name in ((SP, "St.Parity"), (EO, "Eq.Op."))),
        ]  # fmt: skip
    says = "Accuracy and Bal.Acc. are very close (accuracy against Bal.Acc., c = 1)"
    close = of("compas", OURS, DM, ACC) - of("compas", OURS, DM, BAL)
    return [*claims, Claim("5.7 COMPAS", says, "within 2 points", close, gain(0.0))]


ADDED_CLAIMS: tuple[Claim, ...] = (
    *_statistical_parity_added(),
    *_equal_opportunity_added(),
    *_disparate_mistreatment_added(),
    *_one_by_one(),
    *_effect_of_c_added(),
)


# --- What the figures can mark


class Mark(NamedTuple):
    """A value of one bar: a share, or a difference to the bar of another method."""

    method: str
    measure: str
    value: float
    against: str | None = None


# By number of the figure and dataset.
MARKS: dict[tuple[int, str], tuple[Mark, ...]] = {
    (1, "adult"): (Mark(OURS, BAL, -0.035, SMOTE),),
    (1, "bank"): (Mark(OURS, BAL, 0.10, SDB), Mark(SMOTE, BAL, 0.05, OURS)),
    (1, "compas"): (Mark(OURS, BAL, 0.01, SDB), Mark(OURS, SP, -0.035, SDB)),
    (1, "kdd"): (Mark(OURS, BAL, 0.085, ADA), Mark(OURS, SP, -0.04, SDB), Mark(SMOTE, SP, 0.10, OURS)),
    (2, "adult"): (Mark(OURS, BAL, 0.01, FAE), Mark(SMOTE, EO, 0.22, OURS)),
    (2, "bank"): tuple(
        Mark(FAE, m, value, OURS) for m, value in zip((*TPR, *TNR), (0.17, 0.17, -0.17, -0.10), strict=True)
    ),
    (2, "kdd"): (Mark(OURS, BAL, 0.07, SMOTE), Mark(FAE, BAL, 0.065, SMOTE)),
    (3, "adult"): (
        *(Mark(OURS, BAL, 0.07, ADA), Mark(OURS, DM, 0.02, KRASA)),
        *(Mark(OURS, "tpr_prot", 0.29, KRASA), Mark(OURS, "tpr_nonprot", 0.20, KRASA)),
    ),
    (3, "bank"): tuple(
        Mark(OURS, m, value, ZAFAR) for m, value in zip((*TPR, *TNR), (0.29, 0.29, -0.06, -0.07), strict=True)
    ),
    (3, "compas"): (Mark(KRASA, DM, -0.035, OURS), Mark(KRASA, BAL, 0.002, OURS), *(Mark(OURS, m, 0.58) for m in TNR)),
    (3, "kdd"): (
        *(Mark(OURS, BAL, 0.17, ADA), Mark(OURS, DM, 0.02)),
        *(Mark(KRASA, DM, 0.02), Mark(ADA, DM, 0.28), Mark(SMOTE, DM, 0.36)),
    ),
    **{
        (figure, d): (Mark(NO_CUMUL, n, increase, OURS),)
        for figure, n in ((5, DM), (8, SP), (10, EO))
        for d, increase in zip(EVERYWHERE, INCREASES[n][2], strict=True)
    },
}


# Figure 4: from which round on a line lies between which values, Adult's objective and Bank's BER.
STRETCHES = {"adult": (150, 0.27, 0.29), "bank": (400, 0.22, 0.22)}
