"""Sentences on the page of results. Numbers are not among them: the page computes those."""

from __future__ import annotations

INTRODUCTION = """\
`parityboost reproduce` runs the paper's whole evaluation: eight methods, three notions, four datasets, ten splits,
thirteen figures. It does so in three settings. The paper's text, the scripts behind its experiments and our own
defaults differ, and each is one setting:"""

WHAT_TO_SEE = {
    1: "The third group of bars is the difference in positive predictions. AdaFair and SDB bring it close to zero, "
    "AdaBoost and SMOTEBoost do not. The second group shows what that costs.",
    2: "The third group of bars is the difference in true positive rates. AdaFair and FAE make it small. SMOTEBoost "
    "has the largest difference, and a high balanced accuracy.",
    3: "The third group of bars is the sum of both differences. The four on the right show how it became smaller: "
    "AdaFair finds more positives in both groups, Krasanakis et al. find fewer.",
    4: "One run of 500 rounds. Balanced error and unfairness on validation and test data lie close together. The "
    "dotted line is the round that is chosen.",
    5: "Costs from the last learner alone (NoCumul) against costs from the whole ensemble. Look at the third group of "
    "bars, unfairness.",
    6: "The differences between the groups that the costs come from, in every round. Those of the whole ensemble "
    "change little from round to round, those of single learners a lot.",
    7: "From left to right, the balanced error counts more in the choice of θ. Raising c finds many more positives and "
    "loses few negatives, and unfairness hardly changes.",
    8: "As Figure 5, for statistical parity. Look at the third group of bars.",
    9: "As Figure 6, for statistical parity. The difference in positive predictions stays near zero for the whole "
    "ensemble, and changes a lot for single learners.",
    10: "As Figure 5, for equal opportunity. Look at the third group of bars.",
    11: "As Figure 6, for equal opportunity. The difference in false negative rates stays near zero for the whole "
    "ensemble, and changes a lot for single learners.",
    12: "As Figure 7, for statistical parity, where c changes balanced accuracy less.",
    13: "As Figure 7, for equal opportunity. Raising c finds more positives in both groups alike.",
}

RULES_OF_VERDICTS = """\
Shares are in per cent, differences of shares in percentage points with their sign; ± is the standard deviation over the
splits. A number *holds* ✓ if ours is within 2 points or two standard errors of the paper's. If it is not, but lies
more than two standard errors from zero on the same side, it has the *same direction, other size* ≈. A statement that
one method is ahead of another holds if our means say so, or if neither is ahead by more than two standard errors: a
*tie*. Everything else *differs* ✗. *Logged* is the number in the authors' logs of 2019, if there is one. The
competitors of section 5.4 are of that year, AdaFair is not."""

ABOUT_PARTS = """\
`benchmarks/differences.py` changes one part of the authors' setting at a time, to that of the text or of our defaults,
and counts how many claims then hold. It counts the 175 claims that were listed first, by their means alone, without
ties. The page of claims says which parts each claim needs."""

AGREEMENT: tuple[str, ...] = (
    """\
What the authors' setting explains:

- **Why NoCumul is so unfair in the paper.** The scripts choose the number of rounds of NoCumul by the fairness of its
  last learner, which says little about the ensemble. Chosen by the fairness of the ensemble, as the text says, NoCumul
  is not far behind AdaFair.
- **Why AdaFair is ahead on Adult.** Three things are needed: the guarded cost, which lets the non-protected group make
  more false positives, the eleven attributes, and the older AdaBoost of Figure 3.
- **Why SMOTEBoost is the most unfair.** Plain SMOTE between 0/1 columns makes synthetic people that a stump can tell
  from real ones.
- **How large the effect of c is.** It is larger with our defaults, because with c = 0 θ is often one of the first
  rounds. With the discrete update, 500 rounds and θ on the training data it is as large as in the paper.

With two parts of the scripts, fewer claims hold than without them: the first round without costs that cannot be chosen,
and N = 500 for SMOTEBoost on Bank. The paper's figures may have been made with other versions of the scripts.

What it does not explain: SDB and FAE do better here than in the paper. On KDD census the paper's AdaFair is far ahead
of the others; so is the confidence-rated update of our defaults, but not the discrete one. Zafar et al. can be trained
on KDD census here, but it changes little. Figure 4 is one random split.""",
    "",
)
