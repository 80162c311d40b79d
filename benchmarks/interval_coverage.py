"""How often the intervals of an audit's measures hold the true difference, with the audit's defaults.

    python benchmarks/interval_coverage.py [--draws 1000] [--jobs 2]
    python benchmarks/interval_coverage.py --without-outcomes
    python benchmarks/interval_coverage.py --over-time [--draws 200]

Groups of a few rows or of many, two of them or fifty, alike or not: labels and predictions are drawn anew for every
audit from known rates, and what is counted is how often an interval of 95 % holds what these rates say. Prints a
Markdown table; a column per measure, with standard errors. All of it takes 20 minutes of a core, half of them for fifty
groups.

Without outcomes there are ten groups. A column says how many people are expected at least in a group who are selected,
or who are not; the others are the shares of all groups at once, their ratios to the highest at once, the lowest ratio
and the largest gap. Over time: how many series in which nothing changes raise an alarm anywhere, and after how many
periods one is raised when a gap doubles.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from parityboost.audit import audit, audit_over_time

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

ALIKE = ((8, 0.2), (30, 0.1), (30, 0.35), (30, 0.5), (100, 0.12), (100, 0.8), (200, 0.5), (1000, 0.05), (1000, 0.5))
MIXED = np.geomspace(40, 3000, 10).astype(int)
# How many people ten groups have, and the share of them that is selected.
WITHOUT_OUTCOMES = {f"alike: {n} each, {p:g} selected": (np.full(10, n), np.full(10, p)) for n, p in ALIKE} | {
    "alike, of 40 to 3,000": (MIXED, np.full(10, 0.4)),
    "alike, of 3 to 400": (np.array([3, 5, 8, 8, 12, 20, 30, 30, 50, 400]), np.full(10, 0.25)),
    "one is higher: 0.6, others 0.3, 200 each": (np.full(10, 200), np.r_[0.6, np.full(9, 0.3)]),
    "one is lower: 0.2, others 0.5, 200 each": (np.full(10, 200), np.r_[0.2, np.full(9, 0.5)]),
    "two are higher: 0.5, others 0.3, 200 each": (np.full(10, 200), np.r_[0.5, 0.5, np.full(8, 0.3)]),
    "three are higher: 0.5, others 0.3, 200 each": (np.full(10, 200), np.r_[np.full(3, 0.5), np.full(7, 0.3)]),
    "half and half: 0.5 and 0.3, 200 each": (np.full(10, 200), np.r_[np.full(5, 0.5), np.full(5, 0.3)]),
    "one each way: 0.3, 0.6, others 0.45, 100 each": (np.full(10, 100), np.r_[0.6, 0.3, np.full(8, 0.45)]),
    "all differ: 0.15 to 0.6, 200 each": (np.full(10, 200), np.linspace(0.15, 0.6, 10)),
    "all differ: 0.15 to 0.6, 2,000 each": (np.full(10, 2000), np.linspace(0.15, 0.6, 10)),
    "all differ, of 40 to 3,000": (MIXED, np.linspace(0.3, 0.6, 10)),
    "one is higher by two standard errors, 30 each": (np.full(10, 30), np.r_[0.6, np.full(9, 0.35)]),
    "all differ within two standard errors, 200 each": (np.full(10, 200), np.linspace(0.4, 0.5, 10)),
    "all differ within three standard errors, 30 each": (np.full(10, 30), np.linspace(0.35, 0.65, 10)),
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


def covered_without(n, rates, seed):
    """Whether the shares and ratios of one audit without outcomes hold the truth, and the lowest ratio and the gap."""
    rng, found = np.random.default_rng([seed, n.sum(), int(1000 * rates.sum())]), np.zeros(10, dtype=int)
    while found.max() == 0:
        found = rng.binomial(n, rates)
    selected, weights = np.tile([1, 0], 10), np.column_stack([found, n - found]).ravel()
    of = audit(None, np.repeat(selected, weights), sensitive_features=np.repeat(np.arange(10).repeat(2), weights))
    measures, ratios = of.measures.set_index("measure"), rates / rates.max()
    wanted = (of.groups, "selection_rate_", rates), (of.groups, "ratio_", ratios)
    wanted += (
        (measures.loc[["selection_ratio"]], "", ratios.min()),
        (measures.loc[["statistical_parity"]], "", np.ptp(rates)),
    )
    return [
        bool(((table[f"{of}lower"] <= true + 1e-12) & (true <= table[f"{of}upper"] + 1e-12)).all())
        for table, of, true in wanted
    ]


def without_outcomes(n_draws, jobs):
    """A row for each setting of ten groups."""
    print(f"{n_draws} audits per row\n\n| ten groups | least | shares | ratios | lowest ratio | gap |")
    print("| --- |" + " ---: |" * 5)
    for name, (n, rates) in WITHOUT_OUTCOMES.items():
        holds = Parallel(jobs)(delayed(covered_without)(n, rates, seed) for seed in range(n_draws))
        least = min((n * rates).min(), (n * (1 - rates)).min())
        print(f"| {name} | {least:.3g} | " + " | ".join(share(of) for of in np.transpose(holds)) + " |", flush=True)


def first_alarm(sizes, share, gap, doubles, seed, limit=None):
    """The period of the first alarm of 200, or None: the gap of the last group doubles in period 100, or does not."""
    rng = np.random.default_rng(seed)
    rates = np.tile(share, (200, len(sizes)))
    rates[:, -1] -= gap
    rates[100:, -1] -= gap * doubles
    found = rng.binomial(np.array(sizes), rates)
    counts = np.stack([found, np.array(sizes) - found], axis=-1).ravel()
    period, group, chosen = (np.repeat(axis.ravel(), counts) for axis in np.indices((200, len(sizes), 2)))
    months = pd.period_range("2000-01", periods=200, freq="M").to_timestamp().to_numpy()[period]
    options = {"favourable": True, "limit": limit}
    alarms = audit_over_time(chosen == 0, by=months, sensitive_features=group, **options).alarms
    if len(alarms) == 0:
        return None
    return int((pd.PeriodIndex(alarms["period"], freq="M") - pd.Period("2000-01", "M")).map(lambda d: d.n).min())


def over_time(n_draws, jobs):
    """How many series of 200 periods raise an alarm if nothing changes, and how soon if a gap doubles half-way."""
    settings = {
        "5 groups of 40 to 400, gap 0.1": ([40, 50, 100, 200, 400], 0.4, 0.1, None),
        "2 groups of 100, gap 0.1": ([100] * 2, 0.4, 0.1, None),
        "2 groups of 100, at a limit of 0.1": ([100] * 2, 0.4, 0.1, 0.1),
    }
    print(f"{n_draws} series per row, a quarter of them for gaps that double\n")
    print("| every month | false alarms | found | median, 9 of 10 found after |")
    print("| --- | ---: | ---: | ---: |")
    for name, (sizes, rate, gap, limit) in settings.items():
        still, moved = (
            Parallel(jobs)(delayed(first_alarm)(sizes, rate, gap, by, seed, limit) for seed in range(n))
            for by, n in ((0, n_draws), (1, n_draws // 4))
        )
        after = np.sort([np.inf if at is None else at - 99.0 for at in moved if at is None or at >= 100])
        half, most = (after[int(part * (len(after) - 1))] for part in (0.5, 0.9))
        row = share([at is not None for at in still]), share(np.isfinite(after)), f"{half:.0f}, {most:.0f} periods"
        print(f"| {name} | " + " | ".join(row) + " |", flush=True)


def share(holds):
    """How often, and the standard error."""
    if len(holds) == 0:
        return "–"
    p = np.mean(holds)
    return f"{p:.3f} ± {np.sqrt(p * (1 - p) / len(holds)):.3f}"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--without-outcomes", action="store_true")
    parser.add_argument("--over-time", action="store_true")
    options = parser.parse_args()
    if options.without_outcomes or options.over_time:
        (without_outcomes if options.without_outcomes else over_time)(options.draws, options.jobs)
        return
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
