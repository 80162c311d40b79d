"""How often the intervals of an audit's measures hold the true difference, with the audit's defaults.

    python benchmarks/interval_coverage.py [--draws 1000] [--jobs 2]

Groups of a few rows or of many, two of them or fifty, alike or not: labels and predictions are drawn anew for every
audit from known rates, and what is counted is how often an interval of 95 % holds what these rates say. Prints a
Markdown table; a column per measure, with standard errors. All of it takes 20 minutes of a core, half of them for fifty
groups.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

from parityboost.audit import audit

MEASURES = ("statistical_parity", "equal_opportunity", "predictive_equality", "disparate_mistreatment")
MEASURES += ("equalized_odds_difference", "accuracy_difference", "precision_difference")
# Measures of rates that not every group need have.
OF_FEWER = {"equal_opportunity": ("tpr",), "predictive_equality": ("fpr",), "precision_difference": ("precision",)}
OF_FEWER |= dict.fromkeys(("disparate_mistreatment", "equalized_odds_difference"), ("tpr", "fpr"))
SIZES = {
    "2 groups of 8": [8] * 2,
    "2 groups of 8 and 200": [8, 200],
    "2 groups of 30": [30] * 2,
    "2 groups of 200": [200] * 2,
    "3 groups of 8": [8] * 3,
    "10 groups of 8": [8] * 10,
    "10 groups of 30": [30] * 10,
    "50 groups of 30": [30] * 50,
}
# The share of positives, how many of them are found, and of the negatives how many are predicted positive; and how much
# more the first group has of both.
RATES = {
    "alike, half and half": (0.5, 0.5, 0.5, 0.0),
    "alike, a good model": (0.3, 0.7, 0.1, 0.0),
    "one group 0.2 above": (0.3, 0.6, 0.2, 0.2),
}


def truth(base, tpr, fpr):
    """Every measure of groups with these rates, by its name."""
    selected = base * tpr + (1 - base) * fpr
    right = base * tpr + (1 - base) * (1 - fpr)
    of_tpr, of_fpr = np.ptp(tpr), np.ptp(fpr)
    both = (of_tpr + of_fpr, max(of_tpr, of_fpr), np.ptp(right), np.ptp(base * tpr / selected))
    return dict(zip(MEASURES, (np.ptp(selected), of_tpr, of_fpr, *both), strict=True))


def covered(sizes, rates, seed):
    """Whether each measure's interval of one audit holds the truth; None where a group has nobody to measure it on."""
    base, tpr, fpr, more = rates
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    above = np.where(np.arange(len(sizes)) == 0, more, 0.0)
    y = rng.random(len(groups)) < base
    predicted = rng.random(len(groups)) < np.where(y, tpr, fpr) + above[groups]
    if len(np.unique(y)) < 2 or len(np.unique(predicted)) < 2:
        return dict.fromkeys(MEASURES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = audit(y, predicted, sensitive_features=groups, positive_label=True)
    least = {"tpr": y, "fpr": ~y, "precision": predicted}
    least = {rate: np.bincount(groups[own], minlength=len(sizes)).min() for rate, own in least.items()}
    rows, holds = found.measures.set_index("measure"), {}
    for name, value in truth(base, tpr + above, fpr + above).items():
        lower, upper = rows.loc[name, ["lower", "upper"]]
        defined = all(least[rate] for rate in OF_FEWER.get(name, ()))
        holds[name] = bool(lower - 1e-12 <= value <= upper + 1e-12) if defined else None
    return holds


def share(holds):
    """How often, and the standard error."""
    if not holds:
        return "–"
    p = np.mean(holds)
    return f"{p:.3f} ± {np.sqrt(p * (1 - p) / len(holds)):.3f}"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES))
    options = parser.parse_args()
    print(f"{options.draws} audits per row\n\n| groups | rates | " + " | ".join(MEASURES) + " |")
    print("| --- | --- |" + " ---: |" * len(MEASURES))
    for groups in options.sizes:
        for name, rates in RATES.items():
            found = Parallel(options.jobs)(delayed(covered)(SIZES[groups], rates, j) for j in range(options.draws))
            kept = {measure: [one[measure] for one in found if one[measure] is not None] for measure in MEASURES}
            shares = [share(kept[measure]) for measure in MEASURES]
            print(f"| {groups} | {name} | " + " | ".join(shares) + " |", flush=True)


if __name__ == "__main__":
    main()
