"""Claims of the paper beside those of :mod:`._claim_list`: what it says in words, and "all datasets" one by one."""

from __future__ import annotations

import numpy as np

from .._arrays import Floats
from ..baselines.registry import DM, EO, SP
from ._claim_list import ACC, ADA, FAE, GROUP, KRASA, SDB, SMOTE, ZAFAR
from ._claim_values import (
    BAL,
    EVERYWHERE,
    IMBALANCED,
    NO_CUMUL,
    OURS,
    TNR,
    TPR,
    Value,
    cost_steps,
    gain_of_c,
    highest_of,
    lowest_of,
    more,
    of,
    sd_difference,
    spread,
    theta_of,
    worse_than_best,
)
from ._claims import Claim, above, below, gain
from ._plan import C_VALUES
from ._rows import DATASET_NAMES, Results

PLAIN, FAIR = (ADA, SMOTE), (KRASA, ZAFAR)


def _statistical_parity() -> list[Claim]:
    adult, bank = (f"5.2 {DATASET_NAMES[d]}" for d in ("adult", "bank"))
    return [
        Claim(adult, "AdaBoost SDB follows closely in St.Parity (SDB against AdaFair)", "close: within 2 points",
              more("adult", SDB, OURS, SP, SP), gain(0.0)),
        Claim(adult, "SMOTEBoost has the best Bal.Acc. (distance to the best other, below 0 if so)", "best",
              worse_than_best("adult", SMOTE, (ADA, SDB, OURS), SP, BAL, lowest=False), below(0)),
        Claim(adult, "AdaFair has the second-best Bal.Acc. (distance to the best but SMOTEBoost, below 0 if so)",
              "second", worse_than_best("adult", OURS, (ADA, SDB), SP, BAL, lowest=False), below(0)),
        Claim(bank, "SMOTEBoost has the best Bal.Acc. (distance to the best other, below 0 if so)", "best",
              worse_than_best("bank", SMOTE, (ADA, SDB, OURS), SP, BAL, lowest=False), below(0)),
        *(Claim(bank, f"AdaBoost predicts fewest positives, {group} (distance to the next, below 0 if so)", "fewest",
                worse_than_best("bank", ADA, (SMOTE, SDB, OURS), SP, m), below(0))
          for m, group in (("pos_prot", "protected"), ("pos_nonprot", "non-protected"))),
        *(Claim(f"5.2 {DATASET_NAMES[d]}", "AdaFair is fairer than SDB (St.Parity of AdaFair against SDB)", "fairer",
                more(d, OURS, SDB, SP, SP), below(0)) for d in EVERYWHERE),
        *(Claim(f"5.2 {DATASET_NAMES[d]}", "AdaFair predicts better than SDB (Bal.Acc. of AdaFair against SDB)",
                "better", more(d, OURS, SDB, SP, BAL), above(0)) for d in EVERYWHERE),
        *(Claim(f"5.2 {DATASET_NAMES[d]}", "SMOTEBoost has the higher Bal.Acc. (SMOTEBoost against AdaFair)", "higher",
                more(d, SMOTE, OURS, SP, BAL), above(0)) for d in IMBALANCED),
    ]  # fmt: skip


def _equal_opportunity() -> list[Claim]:
    adult, bank = (f"5.3 {DATASET_NAMES[d]}" for d in ("adult", "bank"))
    return [
        Claim(adult, "FAE follows by a minimal margin in Eq.Op. (FAE against AdaFair)", "close: within 2 points",
              more("adult", FAE, OURS, EO, EO), gain(0.0)),
        *(Claim(adult, f"FAE performs alike for both groups, {name} (difference of the groups)", "similar: 5 points",
                _between_groups("adult", FAE, EO, rates), gain(0.0, 0.05))
          for name, rates in (("TPR", TPR), ("TNR", TNR))),
        *(Claim(f"5.3 {DATASET_NAMES[d]}", "SMOTEBoost cannot mitigate (Eq.Op. of SMOTEBoost against the worse of "
                "AdaFair and FAE)", "higher", lowest_of(*(more(d, SMOTE, m, EO, EO) for m in (OURS, FAE))), above(0))
          for d in ("bank", "kdd")),
        Claim(bank, "FAE finds more positives and rejects fewer negatives (TPR of FAE against AdaFair, smaller group)",
              "more", lowest_of(*(more("bank", FAE, OURS, EO, m) for m in TPR)), above(0)),
        *(Claim(f"5.3 {DATASET_NAMES[d]}", "AdaFair and FAE have similar Bal.Acc. (AdaFair against FAE)",
                "similar: within 2 points", more(d, OURS, FAE, EO, BAL), gain(0.0)) for d in ("adult", "kdd")),
    ]  # fmt: skip


def _disparate_mistreatment() -> list[Claim]:
    adult, bank, compas, kdd = (f"5.4 {DATASET_NAMES[d]}" for d in EVERYWHERE)
    return [
        Claim(adult, "SMOTEBoost has the highest Bal.Acc. (distance to the best other, below 0 if so)", "highest",
              worse_than_best("adult", SMOTE, (ADA, *FAIR, OURS), DM, BAL, lowest=False), below(0)),
        Claim(adult, "AdaFair has the second-highest Bal.Acc. (distance to the best but SMOTEBoost, below 0 if so)",
              "second", worse_than_best("adult", OURS, (ADA, *FAIR), DM, BAL, lowest=False), below(0)),
        Claim(adult, "AdaBoost and SMOTEBoost are worst in D.M. (the better of them against the worst of the fair)",
              "worst", lowest_of(*(more("adult", plain, fair, DM, DM) for plain in PLAIN for fair in (*FAIR, OURS))),
              above(0)),
        Claim(adult, "AdaFair is second in D.M. (distance to the best but Krasanakis et al., below 0 if so)", "second",
              worse_than_best("adult", OURS, (ADA, SMOTE, ZAFAR), DM, DM), below(0)),
        *(Claim(adult, f"Krasanakis et al. have the second-best TPR of the fairness-aware, {GROUP[m]} (against Zafar)",
                "second", more("adult", KRASA, ZAFAR, DM, m), above(0)) for m in TPR),
        *(Claim(adult, f"Krasanakis and Zafar et al. have higher TNRs than AdaFair, {GROUP[m]} (the lower of them)",
                "higher", lowest_of(*(more("adult", fair, OURS, DM, m) for fair in FAIR)), above(0)) for m in TNR),
        *(Claim(bank, f"Zafar et al. have the second-best TPR of the fairness-aware, {GROUP[m]} (against Krasanakis)",
                "second", more("bank", ZAFAR, KRASA, DM, m), above(0)) for m in TPR),
        *(Claim(bank, f"Krasanakis and Zafar et al. behave alike, {name} {GROUP[m]} (one against the other)",
                "similar: within 5 points", more("bank", KRASA, ZAFAR, DM, m), gain(0.0, 0.05))
          for name, rates in (("TPR", TPR), ("TNR", TNR)) for m in rates),
        Claim(compas, "The differences in Bal.Acc. are not that high (largest minus smallest)", "within 5 points",
              spread("compas", (ADA, SMOTE, *FAIR, OURS), DM, BAL), below(0.05)),
        Claim(compas, "Krasanakis et al. have the lowest D.M. (distance to the best other, below 0 if so)", "lowest",
              worse_than_best("compas", KRASA, (ADA, SMOTE, ZAFAR, OURS), DM, DM), below(0)),
        Claim(compas, "AdaFair is second in D.M. (distance to the best but Krasanakis et al., below 0 if so)", "second",
              worse_than_best("compas", OURS, (ADA, SMOTE, ZAFAR), DM, DM), below(0)),
        Claim(kdd, "AdaBoost and SMOTEBoost are worst in D.M. (the better of them against the worse of the fair)",
              "worst", lowest_of(*(more("kdd", plain, fair, DM, DM) for plain in PLAIN for fair in (KRASA, OURS))),
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
        Claim(f"5.5 {DATASET_NAMES[d]}", "At least 100 rounds are needed (θ of 500)", "at least 100", theta_of(d),
              above(99.5), percent=False) for d in EVERYWHERE
    ]  # fmt: skip
    for d in EVERYWHERE:
        for n, section, name in ((DM, "5.6", "D.M."), (SP, "Appendix", "St.Parity"), (EO, "Appendix", "Eq.Op.")):
            where = f"{section} {DATASET_NAMES[d]}"
            claims += [
                Claim(where, f"NoCumul is less fair ({name} of NoCumul against AdaFair)", "less fair",
                      more(d, NO_CUMUL, OURS, n, n), above(0)),
                Claim(where, f"NoCumul's costs for {name} fluctuate more (difference of steps)", "more",
                      cost_steps(d, n), above(0), percent=False),
            ]  # fmt: skip
        claims.append(
            Claim(f"5.6 {DATASET_NAMES[d]}", "NoCumul's D.M. varies more over the splits (difference of sd)", "more",
                  sd_difference(d), above(0))
        )  # fmt: skip
    return claims


def _effect_of_c() -> list[Claim]:
    claims = []
    for d in IMBALANCED:
        where, appendix = f"5.7 {DATASET_NAMES[d]}", f"Appendix {DATASET_NAMES[d]}"
        claims += [
            *(Claim(where, f"TPR is best for c = 1, {GROUP[m]} (against the best other c)", "best",
                    _best_at_one(d, DM, m), above(0)) for m in TPR),
            *(Claim(where, f"TPR rises by more than TNR falls with c, {GROUP[rise]} (sum of both changes)", "more",
                    _sum_of_changes(d, rise, fall), above(0)) for rise, fall in zip(TPR, TNR, strict=True)),
            Claim(where, "D.M. stays low for every c (largest)", "low: below 10 points",
                  highest_of(*(of(d, OURS, DM, DM, c) for c in C_VALUES)), below(0.10)),
            *(Claim(appendix, f"{name}: Bal.Acc. is higher for c = 1 than for c = 0", "higher",
                    gain_of_c(d, n, BAL), above(0)) for n, name in ((SP, "St.Parity"), (EO, "Eq.Op."))),
        ]  # fmt: skip
    claims.append(
        Claim("5.7 COMPAS", "Accuracy and Bal.Acc. are very close (accuracy against Bal.Acc., c = 1)",
              "within 2 points", _accuracy_over_balanced, gain(0.0))
    )  # fmt: skip
    return claims


def _between_groups(d: str, method: str, n: str, rates: tuple[str, str]) -> Value:
    return lambda results: results.values(d, method, n, rates[0]) - results.values(d, method, n, rates[1])


def _best_at_one(d: str, n: str, m: str) -> Value:
    def value(results: Results) -> Floats:
        *others, last = (results.values(d, OURS, n, m, c) for c in C_VALUES)
        return last - max(others, key=lambda found: float(found.mean()))

    return value


def _sum_of_changes(d: str, rise: str, fall: str) -> Value:
    return lambda results: np.add(gain_of_c(d, DM, rise)(results), gain_of_c(d, DM, fall)(results))


def _accuracy_over_balanced(results: Results) -> Floats:
    difference: Floats = results.values("compas", OURS, DM, ACC) - results.values("compas", OURS, DM, BAL)
    return difference


ADDED_CLAIMS: tuple[Claim, ...] = (
    *_statistical_parity(),
    *_equal_opportunity(),
    *_disparate_mistreatment(),
    *_one_by_one(),
    *_effect_of_c(),
)
