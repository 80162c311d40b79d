"""What the paper's text gives as numbers, where the figures can mark it. The figures themselves are not in the text."""

from __future__ import annotations

from typing import NamedTuple

from ..baselines.registry import DM, EO, SP
from ._claim_values import BAL, EVERYWHERE

OURS, NO_CUMUL = "AdaFair", "AdaFair NoCumul"


class Mark(NamedTuple):
    """A value of one bar: a share, or a difference to the bar of another method."""

    method: str
    measure: str
    value: float
    against: str | None = None


_INCREASES = {5: (DM, (0.78, 0.59, 0.20, 0.80)), 8: (SP, (0.31, 0.12, 0.15, 0.15)), 10: (EO, (0.15, 0.02, 0.12, 0.08))}

# By number of the figure and dataset.
MARKS: dict[tuple[int, str], tuple[Mark, ...]] = {
    (1, "adult"): (Mark(OURS, BAL, -0.035, "SMOTEBoost"),),
    (1, "bank"): (Mark(OURS, BAL, 0.10, "AdaBoost SDB"), Mark("SMOTEBoost", BAL, 0.05, OURS)),
    (1, "compas"): (Mark(OURS, BAL, 0.01, "AdaBoost SDB"), Mark(OURS, SP, -0.035, "AdaBoost SDB")),
    (1, "kdd"): (
        Mark(OURS, BAL, 0.085, "AdaBoost"),
        Mark(OURS, SP, -0.04, "AdaBoost SDB"),
        Mark("SMOTEBoost", SP, 0.10, OURS),
    ),
    (2, "adult"): (Mark(OURS, BAL, 0.01, "FAE"), Mark("SMOTEBoost", EO, 0.22, OURS)),
    (2, "bank"): (
        Mark("FAE", "tpr_prot", 0.17, OURS),
        Mark("FAE", "tpr_nonprot", 0.17, OURS),
        Mark("FAE", "tnr_prot", -0.17, OURS),
        Mark("FAE", "tnr_nonprot", -0.10, OURS),
    ),
    (2, "kdd"): (Mark(OURS, BAL, 0.07, "SMOTEBoost"), Mark("FAE", BAL, 0.065, "SMOTEBoost")),
    (3, "adult"): (
        Mark(OURS, BAL, 0.07, "AdaBoost"),
        Mark(OURS, DM, 0.02, "Krasanakis et al."),
        Mark(OURS, "tpr_prot", 0.29, "Krasanakis et al."),
        Mark(OURS, "tpr_nonprot", 0.20, "Krasanakis et al."),
    ),
    (3, "bank"): (
        Mark(OURS, "tpr_prot", 0.29, "Zafar et al."),
        Mark(OURS, "tpr_nonprot", 0.29, "Zafar et al."),
        Mark(OURS, "tnr_prot", -0.06, "Zafar et al."),
        Mark(OURS, "tnr_nonprot", -0.07, "Zafar et al."),
    ),
    (3, "compas"): (
        Mark("Krasanakis et al.", DM, -0.035, OURS),
        Mark("Krasanakis et al.", BAL, 0.002, OURS),
        Mark(OURS, "tnr_prot", 0.58),
        Mark(OURS, "tnr_nonprot", 0.58),
    ),
    (3, "kdd"): (
        Mark(OURS, BAL, 0.17, "AdaBoost"),
        Mark(OURS, DM, 0.02),
        Mark("Krasanakis et al.", DM, 0.02),
        Mark("AdaBoost", DM, 0.28),
        Mark("SMOTEBoost", DM, 0.36),
    ),
    **{
        (number, dataset): (Mark(NO_CUMUL, measure, increase, OURS),)
        for number, (measure, increases) in _INCREASES.items()
        for dataset, increase in zip(EVERYWHERE, increases, strict=True)
    },
}
# What a rate gains from c = 0 to c = 1, Figure 7: TPR and TNR of the protected and the non-protected group.
GAINS_OF_C = {
    "adult": {"tpr_prot": 0.12, "tpr_nonprot": 0.11, "tnr_prot": -0.04, "tnr_nonprot": -0.05},
    "bank": {"tpr_prot": 0.16, "tpr_nonprot": 0.16, "tnr_prot": -0.01, "tnr_nonprot": -0.02},
    "kdd": {"tpr_prot": 0.27, "tpr_nonprot": 0.27, "tnr_prot": -0.04, "tnr_nonprot": -0.04},
}
SETTLED = 0.05  # Figure 6: where AdaFair's costs end up, on either side of zero


class Stretch(NamedTuple):
    """From which round on a line of Figure 4 lies where."""

    line: str
    first: int
    low: float
    high: float


STRETCHES = {
    "adult": Stretch("objective", 150, 0.27, 0.29),
    "bank": Stretch("validation_ber", 400, 0.22, 0.22),
}
THETA = {"adult": 488}
