"""Sentences on the page of results. Numbers are not among them: the page computes those."""

from __future__ import annotations

INTRODUCTION = """\
`parityboost reproduce` runs the paper's whole evaluation: eight methods, three notions, four datasets, ten splits,
thirteen figures. It does so in three settings, because the experiments behind the paper differ from its text, and both
from what we would recommend:"""

WHAT_TO_SEE = {
    1: "The third group of bars is the difference in positive predictions, which AdaFair and SDB bring close to zero "
    "and AdaBoost and SMOTEBoost do not; the second shows what that costs.",
    2: "The third group of bars is the difference in true positive rates; AdaFair and FAE bring it down, and "
    "SMOTEBoost pays for its balanced accuracy with the largest.",
    3: "The third group of bars is the sum of both differences; the four on the right show whether it fell by finding "
    "more positives in both groups, as AdaFair does, or fewer, as Krasanakis et al. do.",
    4: "One run of 500 rounds: balanced error and unfairness on validation and test data lie close together, and the "
    "dotted line is the round that is chosen.",
    5: "Costs from the last learner alone (NoCumul) against costs from the whole ensemble; what to look at is the "
    "third group, unfairness.",
    6: "The differences that the costs are made of, one line or dot per round: those of the ensemble stay within a "
    "narrow band, those of the single learners jump.",
    7: "From left to right the choice of θ gives more weight to the balanced error: true positive rates rise, true "
    "negative rates fall a little, and unfairness stays where it is.",
    8: "As Figure 5, for statistical parity: what to look at is the third group.",
    9: "As Figure 6, for statistical parity: the ensemble's difference in positive predictions settles near zero, that "
    "of the single learners jumps.",
    10: "As Figure 5, for equal opportunity: what to look at is the third group.",
    11: "As Figure 6, for equal opportunity: the ensemble's difference in false negative rates settles near zero, that "
    "of the single learners jumps.",
    12: "As Figure 7, for statistical parity, where c changes balanced accuracy less.",
    13: "As Figure 7, for equal opportunity, where a higher c buys true positives in both groups alike.",
}

RULES_OF_VERDICTS = """\
Shares are in per cent, differences of shares in percentage points with their sign, with the standard deviation over the
splits. A figure *holds* ✓ if ours is within 2 points or two standard errors of the paper's. If it is not, but lies
more than two standard errors from zero on the same side, it has the *same direction, other size* ≈. An order holds if
the means have it, or if nobody is ahead by more than two standard errors: a *tie*. All else *differs* ✗. *Logged* is
what the authors' logs of 2019 have, where they have it: the competitors of section 5.4 are of that year, AdaFair is
not."""

ABOUT_PARTS = """\
`benchmarks/differences.py` changes one part of the authors' setting at a time, to what the text or our defaults have,
and counts again: by bare means, and of the claims that were counted first. The claims' own lines say which parts they
need."""

AGREEMENT: tuple[str, ...] = (
    """\
What the authors' setting explains:

- **The collapse without cumulation.** The scripts choose the rounds of NoCumul by the fairness of its last learner,
  which says little about the ensemble. Chosen by the ensemble's, as the text has it, NoCumul is not far behind AdaFair.
- **AdaFair's lead on Adult.** It takes the guarded cost, which lets the non-protected group make more false positives,
  the eleven attributes, and the older AdaBoost that Figure 3 shows.
- **SMOTEBoost as the most unfair.** Plain SMOTE between 0/1 columns makes synthetic people that a stump can tell from
  real ones.
- **The effect of c.** With our defaults it is larger, because for c = 0 θ is often among the first rounds. The discrete
  update, 500 rounds and θ on the training data bring it to the paper's size.

Two parts of the scripts cost claims rather than give them: the first round that neither pays nor wins, and N = 500 for
SMOTEBoost on Bank. The figures may have been made with other versions.

What it does not explain: SDB and FAE do better here than in the paper; on KDD census the discrete update is not as far
ahead of the others as the paper's AdaFair, while the confidence-rated one of our defaults is; Zafar et al. train on KDD
census, to little effect; and Figure 4 is one random split.""",
    "",
)
