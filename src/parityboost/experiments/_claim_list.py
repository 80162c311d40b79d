"""The paper's claims, as data.

Percentages of the paper are read as percentage points throughout, also where it says "increase": a relative reading
does not fit measures that are close to zero.
"""

from __future__ import annotations

from ..baselines.registry import DM, EO, SP
from ._claim_values import (
    BAL,
    EVERYWHERE,
    NO_CUMUL,
    OURS,
    TNR,
    TPR,
    Value,
    between_groups,
    cost_steps,
    distance,
    drift,
    gain_of_c,
    gain_of_more_c,
    highest_of,
    least_stable,
    less_than_others,
    lowest_of,
    mean_gain,
    more,
    of,
    over_c_zero,
    path,
    ratio,
    restless,
    sd_difference,
    settled_cost,
    settles,
    spread,
    theta_of,
    worse_than_best,
    zafar_trains,
)
from ._claims import TOLERANCE, Claim, above, below, gain, near, within
from ._plan import C_VALUES
from ._rows import DATASET_NAMES

ADA, SMOTE, SDB, FAE, ZAFAR, KRASA = (
    "AdaBoost",
    "SMOTEBoost",
    "AdaBoost SDB",
    "FAE",
    "Zafar et al.",
    "Krasanakis et al.",
)
ACC = "accuracy"
GROUP = {
    "tpr_prot": "protected",
    "tpr_nonprot": "non-protected",
    "tnr_prot": "protected",
    "tnr_nonprot": "non-protected",
}


def _points(value: float) -> str:
    return f"{100 * value:+.3g} points".replace("-", "−")


def _gain(where: str, says: str, value: Value, paper: float) -> Claim:
    return Claim(where, says, _points(paper), value, gain(paper))


def _statistical_parity() -> list[Claim]:
    claims = [
        Claim(
            f"5.2 {DATASET_NAMES[d]}",
            "AdaFair has the lowest St.Parity (distance to the best other, below 0 if so)",
            "lowest",
            worse_than_best(d, OURS, (ADA, SMOTE, SDB), SP, SP),
            below(0),
        )
        for d in EVERYWHERE
    ]
    adult, bank, compas, kdd = (f"5.2 {DATASET_NAMES[d]}" for d in EVERYWHERE)
    return [
        *claims,
        Claim(adult, "AdaFair's rates of positive predictions are almost identical", "|δ| ≤ 2 points",
              of("adult", OURS, SP, SP), below(0.02)),
        _gain(adult, "Bal.Acc. of AdaFair against SMOTEBoost", more("adult", OURS, SMOTE, SP, BAL), -0.035),
        _gain(adult, "Bal.Acc. of AdaFair against SDB", more("adult", OURS, SDB, SP, BAL), 0.05),
        Claim(adult, "SMOTEBoost has the worst St.Parity (distance to the next)", "highest",
              worse_than_best("adult", SMOTE, (ADA, SDB, OURS), SP, SP, lowest=False), below(0)),
        _gain(bank, "Bal.Acc. of AdaFair against SDB", more("bank", OURS, SDB, SP, BAL), 0.10),
        _gain(bank, "Bal.Acc. of SMOTEBoost against AdaFair", more("bank", SMOTE, OURS, SP, BAL), 0.05),
        Claim(bank, "AdaBoost has the best accuracy (distance to the best other, below 0 if so)", "best",
              worse_than_best("bank", ADA, (SMOTE, SDB, OURS), SP, ACC, lowest=False), below(0)),
        Claim(bank, "The others have similar accuracy (largest minus smallest of SMOTEBoost, SDB, AdaFair)",
              "similar: within 3 points", spread("bank", (SMOTE, SDB, OURS), SP, ACC), below(0.03)),
        Claim(compas, "All methods have similar accuracy (largest minus smallest)", "similar: within 5 points",
              spread("compas", (ADA, SMOTE, SDB, OURS), SP, ACC), below(0.05)),
        _gain(compas, "St.Parity of AdaFair against SDB", more("compas", OURS, SDB, SP, SP), -0.035),
        _gain(compas, "Bal.Acc. of AdaFair against SDB", more("compas", OURS, SDB, SP, BAL), 0.01),
        Claim(compas, "All methods have similar Bal.Acc. (largest minus smallest)", "similar: within 5 points",
              spread("compas", (ADA, SMOTE, SDB, OURS), SP, BAL), below(0.05)),
        Claim(compas, "AdaBoost and SMOTEBoost have a very poor St.Parity (the lower of the two against AdaFair)",
              "more than 5 points worse",
              lowest_of(more("compas", ADA, OURS, SP, SP), more("compas", SMOTE, OURS, SP, SP)), above(0.05)),
        _gain(kdd, "St.Parity of AdaFair against SDB", more("kdd", OURS, SDB, SP, SP), -0.04),
        _gain(kdd, "Bal.Acc. of AdaFair against AdaBoost", more("kdd", OURS, ADA, SP, BAL), 0.085),
        _gain(kdd, "Bal.Acc. of AdaFair against SDB", more("kdd", OURS, SDB, SP, BAL), 0.10),
        _gain(kdd, "Bal.Acc. of SMOTEBoost against AdaFair", more("kdd", SMOTE, OURS, SP, BAL), 0.02),
        _gain(kdd, "St.Parity of SMOTEBoost against AdaFair", more("kdd", SMOTE, OURS, SP, SP), 0.10),
    ]  # fmt: skip


def _equal_opportunity() -> list[Claim]:
    adult, bank, compas, kdd = (f"5.3 {DATASET_NAMES[d]}" for d in EVERYWHERE)
    return [
        Claim(adult, "AdaFair has the lowest Eq.Op. (distance to the best other, below 0 if so)", "lowest",
              worse_than_best("adult", OURS, (ADA, SMOTE, FAE), EO, EO), below(0)),
        _gain(adult, "Bal.Acc. of AdaFair against FAE", more("adult", OURS, FAE, EO, BAL), 0.01),
        _gain(adult, "Accuracy of AdaFair against FAE", more("adult", OURS, FAE, EO, ACC), 0.01),
        _gain(adult, "Bal.Acc. of SMOTEBoost against AdaFair", more("adult", SMOTE, OURS, EO, BAL), 0.005),
        _gain(adult, "Eq.Op. of SMOTEBoost against AdaFair", more("adult", SMOTE, OURS, EO, EO), 0.22),
        Claim(adult, "SMOTEBoost has the best Bal.Acc. (distance to the best other, below 0 if so)", "best",
              worse_than_best("adult", SMOTE, (ADA, FAE, OURS), EO, BAL, lowest=False), below(0)),
        Claim(adult, "SMOTEBoost is the most unfair (Eq.Op.: distance to the next, below 0 if so)", "highest",
              worse_than_best("adult", SMOTE, (ADA, FAE, OURS), EO, EO, lowest=False), below(0)),
        _gain(bank, "Eq.Op. of AdaFair against FAE (similar)", more("bank", OURS, FAE, EO, EO), 0.0),
        _gain(bank, "Bal.Acc. of AdaFair against FAE (similar)", more("bank", OURS, FAE, EO, BAL), 0.0),
        *(_gain(bank, f"TPR of FAE against AdaFair, {GROUP[m]}", more("bank", FAE, OURS, EO, m), 0.17) for m in TPR),
        *(_gain(bank, f"TNR of FAE against AdaFair, {GROUP[m]}", more("bank", FAE, OURS, EO, m), paper)
          for m, paper in zip(TNR, (-0.17, -0.10), strict=True)),
        _gain(bank, "Bal.Acc. of SMOTEBoost against AdaFair (similar)", more("bank", SMOTE, OURS, EO, BAL), 0.0),
        Claim(compas, "AdaFair has the lowest Eq.Op. (distance to the best other, below 0 if so)", "lowest",
              worse_than_best("compas", OURS, (ADA, SMOTE, FAE), EO, EO), below(0)),
        _gain(compas, "Bal.Acc. of AdaFair against FAE (similar)", more("compas", OURS, FAE, EO, BAL), 0.0),
        _gain(compas, "Bal.Acc. of SMOTEBoost against AdaBoost (similar)", more("compas", SMOTE, ADA, EO, BAL), 0.0),
        _gain(compas, "Eq.Op. of SMOTEBoost against AdaBoost (similar)", more("compas", SMOTE, ADA, EO, EO), 0.0),
        _gain(kdd, "Bal.Acc. of AdaFair against SMOTEBoost", more("kdd", OURS, SMOTE, EO, BAL), 0.07),
        _gain(kdd, "Bal.Acc. of FAE against SMOTEBoost", more("kdd", FAE, SMOTE, EO, BAL), 0.065),
        *(Claim(kdd, f"FAE finds more positives than AdaFair, {GROUP[m]} (TPR of FAE against AdaFair)", "more",
                more("kdd", FAE, OURS, EO, m), above(0)) for m in TPR),
        *(Claim(kdd, f"FAE rejects more negatives than AdaFair, {GROUP[m]} (TNR of FAE against AdaFair)", "fewer",
                more("kdd", FAE, OURS, EO, m), below(0)) for m in TNR),
        *(Claim(kdd, f"{method} mitigates (Eq.Op.)", "low: below 3 points", of("kdd", method, EO, EO), below(0.03))
          for method in (OURS, FAE)),
    ]  # fmt: skip


def _disparate_mistreatment() -> list[Claim]:
    adult, bank, compas, kdd = (f"5.4 {DATASET_NAMES[d]}" for d in EVERYWHERE)
    fair = (KRASA, ZAFAR)
    return [
        _gain(adult, "Bal.Acc. of AdaFair against SMOTEBoost", more("adult", OURS, SMOTE, DM, BAL), -0.01),
        _gain(adult, "Bal.Acc. of AdaFair against AdaBoost", more("adult", OURS, ADA, DM, BAL), 0.07),
        _gain(adult, "Bal.Acc. of AdaFair against Krasanakis et al.", more("adult", OURS, KRASA, DM, BAL), 0.09),
        _gain(adult, "Bal.Acc. of AdaFair against Zafar et al.", more("adult", OURS, ZAFAR, DM, BAL), 0.09),
        Claim(adult, "Krasanakis et al. have the lowest D.M. (distance to the best other, below 0 if so)", "lowest",
              worse_than_best("adult", KRASA, (ADA, SMOTE, ZAFAR, OURS), DM, DM), below(0)),
        _gain(adult, "D.M. of AdaFair against Krasanakis et al.", more("adult", OURS, KRASA, DM, DM), 0.02),
        *(_gain(adult, f"TPR of AdaFair against Krasanakis, {GROUP[m]}", more("adult", OURS, KRASA, DM, m), paper)
          for m, paper in zip(TPR, (0.29, 0.20), strict=True)),
        *(Claim(adult, f"AdaFair has the highest TPR of the fairness-aware, {GROUP[m]} (against the best other)",
                "highest", lowest_of(*(more("adult", OURS, other, DM, m) for other in fair)), above(0)) for m in TPR),
        Claim(bank, "AdaFair has a higher Bal.Acc. than SMOTEBoost", "higher", more("bank", OURS, SMOTE, DM, BAL),
              above(0)),
        Claim(bank, "AdaFair has a higher Bal.Acc. than AdaBoost, Krasanakis and Zafar (against the best)", "higher",
              lowest_of(*(more("bank", OURS, other, DM, BAL) for other in (ADA, *fair))), above(0)),
        Claim(bank, "The fairness-aware have a lower D.M. than AdaBoost and SMOTEBoost (worst against best)", "lower",
              highest_of(*(worse_than_best("bank", m, (ADA, SMOTE), DM, DM) for m in (*fair, OURS))), below(0)),
        *(_gain(bank, f"TPR of AdaFair against Zafar et al., {GROUP[m]}", more("bank", OURS, ZAFAR, DM, m), 0.29)
          for m in TPR),
        *(_gain(bank, f"TNR of AdaFair against Zafar et al., {GROUP[m]}", more("bank", OURS, ZAFAR, DM, m), paper)
          for m, paper in zip(TNR, (-0.06, -0.07), strict=True)),
        *(Claim(bank, f"AdaBoost and SMOTEBoost have higher TPRs than Krasanakis and Zafar, {GROUP[m]}", "higher",
                lowest_of(*(more("bank", plain, other, DM, m) for plain in (ADA, SMOTE) for other in fair)), above(0))
          for m in TPR),
        Claim(compas, "AdaBoost has the best Bal.Acc. (distance to the best other, below 0 if so)", "best",
              worse_than_best("compas", ADA, (SMOTE, *fair, OURS), DM, BAL, lowest=False), below(0)),
        Claim(compas, "Zafar et al. have the worst Bal.Acc. (distance to the next, below 0 if so)", "worst",
              worse_than_best("compas", ZAFAR, (ADA, SMOTE, KRASA, OURS), DM, BAL), below(0)),
        _gain(compas, "D.M. of Krasanakis et al. against AdaFair", more("compas", KRASA, OURS, DM, DM), -0.035),
        _gain(compas, "Bal.Acc. of Krasanakis et al. against AdaFair", more("compas", KRASA, OURS, DM, BAL), 0.002),
        Claim(compas, "D.M. of Zafar et al. is almost twice that of Krasanakis et al. (ratio of means)", "2",
              ratio("compas", ZAFAR, KRASA, DM), within(1.5, 2.5), percent=False),
        Claim(compas, "Krasanakis et al. are the least stable (sd of their TPRs against the next)", "highest sd",
              least_stable("compas", KRASA, (ADA, SMOTE, ZAFAR, OURS)), above(0)),
        *(Claim(compas, f"AdaFair has a better TPR than Krasanakis and Zafar et al., {GROUP[m]}", "better",
                lowest_of(*(more("compas", OURS, other, DM, m) for other in fair)), above(0)) for m in TPR),
        *(Claim(compas, f"TNR of AdaFair, {GROUP[m]}", "57 to 59 %", of("compas", OURS, DM, m), within(0.55, 0.61))
          for m in TNR),
        *(Claim(compas, f"AdaFair has the lowest TNR, {GROUP[m]} (distance to the next, below 0 if so)", "lowest",
                worse_than_best("compas", OURS, (ADA, SMOTE, *fair), DM, m), below(0)) for m in TNR),
        Claim(compas, "Zafar et al. have the worst D.M. of the fairness-aware (distance to the next, below 0 if so)",
              "worst", worse_than_best("compas", ZAFAR, (KRASA, OURS), DM, DM, lowest=False), below(0)),
        *(Claim(kdd, f"AdaFair has the highest TPR, {GROUP[m]} (against the best other)", "highest",
                lowest_of(*(more("kdd", OURS, other, DM, m) for other in (ADA, SMOTE, KRASA))), above(0)) for m in TPR),
        _gain(kdd, "Bal.Acc. of AdaFair against Krasanakis et al.", more("kdd", OURS, KRASA, DM, BAL), 0.22),
        _gain(kdd, "Bal.Acc. of AdaFair against AdaBoost", more("kdd", OURS, ADA, DM, BAL), 0.17),
        _gain(kdd, "Bal.Acc. of AdaFair against SMOTEBoost", more("kdd", OURS, SMOTE, DM, BAL), 0.05),
        *(Claim(kdd, f"TNRs of {method} are close to 100 % (the lower group)", "almost 100 %",
                lowest_of(*(of("kdd", method, DM, m) for m in TNR)), above(0.97)) for method in (ADA, KRASA)),
        *(_gain(kdd, f"TNR of SMOTEBoost against AdaBoost, {GROUP[m]}", more("kdd", SMOTE, ADA, DM, m), paper)
          for m, paper in zip(TNR, (-0.02, -0.04), strict=True)),
        Claim(kdd, "AdaFair's TPR is above 65 % in both groups (the lower one)", "> 65 %",
              lowest_of(*(of("kdd", OURS, DM, m) for m in TPR)), above(0.65)),
        Claim(kdd, "The TPR of Krasanakis et al. is below 20 % in both groups (the higher one)", "< 20 %",
              highest_of(*(of("kdd", KRASA, DM, m) for m in TPR)), below(0.20)),
        *(Claim(kdd, f"D.M. of {method}", f"{100 * paper:.0f} %", of("kdd", method, DM, DM), near(paper))
          for method, paper in ((OURS, 0.02), (KRASA, 0.02), (ADA, 0.28), (SMOTE, 0.36))),
        Claim(kdd, "Zafar et al. cannot be trained (share of the splits on which it can)", "0 %", zafar_trains,
              below(0.5)),
    ]  # fmt: skip


def _over_the_rounds() -> list[Claim]:
    adult, bank, compas, kdd = (f"5.5 {DATASET_NAMES[d]}" for d in EVERYWHERE)
    return [
        Claim(adult, "The objective after round 150", "in [0.27, 0.29]", path("adult", DM, "objective", 150),
              within(0.27, 0.29), percent=False),
        Claim(adult, "BER on validation and test data are almost identical (mean distance)", "almost identical",
              distance("adult", "validation_ber", "test_ber"), below(TOLERANCE), percent=False),
        Claim(adult, "θ of 500", "488", theta_of("adult"), near(488, 25), percent=False),
        Claim(adult, "Test BER no longer changes after round 100 (last 50 rounds against 100 to 150)", "no change",
              drift("adult", "test_ber"), gain(0.0), percent=False),
        Claim(bank, "BER on validation data after round 400", "0.22", path("bank", DM, "validation_ber", 400),
              near(0.22), percent=False),
        Claim(bank, "BER on test data after round 400", "0.22", path("bank", DM, "test_ber", 400), near(0.22),
              percent=False),
        Claim(bank, "BER falls with the rounds (last 50 against 100 to 150)", "falls",
              drift("bank", "validation_ber"), below(0), percent=False),
        Claim(bank, "Unfairness on validation data stays low after round 100", "low: below 0.1",
              path("bank", DM, "validation_violation", 100), below(0.1), percent=False),
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
    increases = {
        DM: ("5.6", "D.M.", (0.78, 0.59, 0.20, 0.80)),
        SP: ("Appendix", "St.Parity", (0.31, 0.12, 0.15, 0.15)),
        EO: ("Appendix", "Eq.Op.", (0.15, 0.02, 0.12, 0.08)),
    }
    for n, (section, name, papers) in increases.items():
        for d, paper in zip(EVERYWHERE, papers, strict=True):
            where = f"{section} {DATASET_NAMES[d]}"
            claims.append(
                _gain(where, f"{name} of NoCumul against AdaFair", more(d, NO_CUMUL, OURS, n, n), paper)
            )  # fmt: skip
        claims.append(
            Claim(section, f"NoCumul's costs for {name} fluctuate more in all datasets (smallest difference of steps)",
                  "more", lowest_of(*(cost_steps(d, n) for d in EVERYWHERE)), above(0), percent=False)
        )  # fmt: skip
    for d in EVERYWHERE:
        claims.append(
            Claim(f"5.6 {DATASET_NAMES[d]}", "AdaFair's costs settle within ±0.05 (share of the rounds after 100, "
                  "of the less settled of δFNR and δFPR)", "all: at least 90 %", settled_cost(d), above(0.90))
        )  # fmt: skip
    for rate, signs in {"tpr": (-1, 1, -1, -1), "tnr": (1, -1, 1, 1)}.items():
        for d, sign in zip(EVERYWHERE, signs, strict=True):
            claims.append(
                Claim(f"5.6 {DATASET_NAMES[d]}", f"NoCumul: {rate.upper()} of the protected minus the non-protected",
                      "lower" if sign < 0 else "higher", between_groups(d, rate), below(0) if sign < 0 else above(0))
            )  # fmt: skip
    claims.append(
        Claim("5.6", "NoCumul's D.M. varies more over the splits in all datasets (smallest difference of sd)", "more",
              lowest_of(*(sd_difference(d) for d in EVERYWHERE)), above(0))
    )  # fmt: skip
    return claims


def _effect_of_c() -> list[Claim]:
    claims = []
    gains = {
        "adult": ((0.12, 0.11), (-0.04, -0.05)),
        "bank": ((0.16, 0.16), (-0.01, -0.02)),
        "kdd": ((0.27, 0.27), (-0.04, -0.04)),
    }
    for d, papers in gains.items():
        where = f"5.7 {DATASET_NAMES[d]}"
        for name, measures, values in zip(("TPR", "TNR"), (TPR, TNR), papers, strict=True):
            for m, paper in zip(measures, values, strict=True):
                says = f"D.M.: {name} for c = 1 against c = 0, {GROUP[m]}"
                claims.append(_gain(where, says, gain_of_c(d, DM, m), paper))
        claims.append(
            Claim(where, "D.M.: Bal.Acc. grows with c (smallest gain from one c to the next)", "grows",
                  gain_of_more_c(d, DM, BAL), above(-0.005))
        )  # fmt: skip
        claims.append(_gain(where, "D.M. does not deteriorate with c (c = 1 against 0)", gain_of_c(d, DM, DM), 0.0))
        claims.append(
            Claim(
                f"Appendix {DATASET_NAMES[d]}",
                "St.Parity: c affects Bal.Acc. less than for the other notions "
                "(gain of c = 1 over 0, against the smaller of theirs)",
                "less",
                less_than_others(d),
                below(0),
            )
        )
        claims.append(
            Claim(f"Appendix {DATASET_NAMES[d]}", "St.Parity: Bal.Acc. is worst for c = 0 (smallest lead of another c)",
                  "worst", over_c_zero(d, SP, BAL), above(0))
        )  # fmt: skip
        claims.append(
            Claim(f"Appendix {DATASET_NAMES[d]}", "St.Parity stays close to 0 for every c (largest)", "close to 0",
                  highest_of(*(of(d, OURS, SP, SP, c) for c in C_VALUES)), below(0.03))
        )  # fmt: skip
        claims.append(
            Claim(f"Appendix {DATASET_NAMES[d]}", "Eq.Op. stays close to 0 for every c (largest)", "close to 0",
                  highest_of(*(of(d, OURS, EO, EO, c) for c in C_VALUES)), below(0.03))
        )  # fmt: skip
    says = (
        "Eq.Op.: Bal.Acc. for c = 1 against c = 0 (the paper's example names no dataset; mean of the imbalanced three)"
    )
    claims.append(_gain("Appendix", says, mean_gain(EO, BAL), 0.08))
    for n, name, section in ((DM, "D.M.", "5.7"), (EO, "Eq.Op.", "Appendix")):
        says = f"{name}: Bal.Acc. for c = 1 against c = 0 (no change)"
        claims.append(_gain(f"{section} COMPAS", says, gain_of_c("compas", n, BAL), 0.0))
    return claims


FIRST_CLAIMS: tuple[Claim, ...] = (
    *_statistical_parity(),
    *_equal_opportunity(),
    *_disparate_mistreatment(),
    *_over_the_rounds(),
    *_cumulative(),
    *_effect_of_c(),
)
