"""The tables and the figure of tradeoff.py, from its rows."""

from __future__ import annotations

import platform
from datetime import date
from importlib.metadata import version

import numpy as np
from tradeoff_peers import NOTIONS, REQUIREMENTS

SHORT = dict(zip(NOTIONS, ("D.M.", "Eq.Op.", "St.Parity"), strict=True))
TITLES = {"adult": "Adult", "bank": "Bank", "compass": "COMPAS", "kdd": "KDD census"}
PAPER = ["adult", "bank", "compass"]
# What a prediction needs of the group, and whether the same row always gets the same answer.
NO, IN_X, YES = "no", "as a column", "yes"
METHODS = {
    "ParityBoost": (NO, False),
    "ParityBoost, group in X": (IN_X, False),
    "ParityBoost, threshold per group": (YES, False),
    "AdaFair": (NO, False),
    "AdaFair, group in X": (IN_X, False),
    "AdaBoost": (NO, False),
    "AdaBoost, group in X": (IN_X, False),
    "HistGradientBoosting": (NO, False),
    "HistGradientBoosting, group in X": (IN_X, False),
    "HistGradientBoosting, thresholds per group": (YES, False),
    "ThresholdOptimizer(HistGradientBoosting)": (YES, True),
    "ThresholdOptimizer(HistGradientBoosting), no rows held out": (YES, True),
    "error-parity(HistGradientBoosting)": (YES, True),
    "oxonfair(HistGradientBoosting)": (YES, False),
    "oxonfair(HistGradientBoosting), inferred group": (NO, False),
    "ExponentiatedGradient(HistGradientBoosting)": (NO, True),
    "ExponentiatedGradient(HistGradientBoosting), majority": (NO, False),
    "FairGBM, group in X": (IN_X, False),
    "MMM-Fair, group in X": (IN_X, False),
}
OURS = [method for method in METHODS if method.startswith(("ParityBoost", "AdaFair"))]
POINTS = {
    "sum": "lowest balanced error + measure",
    "0.10": "measure at most 0.10",
    "0.05": "measure at most 0.05",
    "ber": "lowest balanced error",
}


def table(columns, rows, texts=1):
    """Lines of a Markdown table; the first columns are texts."""
    lines = ["| " + " | ".join(columns) + " |"]
    lines.append("|" + " --- |" * texts + " ---: |" * (len(columns) - texts))
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def number(value):
    return "" if np.isnan(value) else f"{value:.3f}"


def cells(rows, point="sum"):
    """Balanced error + measure, mean over the splits: a row per method, a column per (dataset, notion)."""
    found = rows[(rows["point"] == point) & ~rows["family"].isin(["bags", "times"])]
    found = found.assign(total=found["ber"] + found["measure"])
    mean = found.pivot_table(index="method", columns=["dataset", "notion"], values="total", sort=False)
    return mean.reindex([method for method in METHODS if method in mean.index])


def complete(rows):
    """The methods that were measured everywhere."""
    return set(cells(rows).reindex(columns=[(name, notion) for name in PAPER for notion in NOTIONS]).dropna().index)


def summary(rows, names=PAPER):
    """The table that people look at first: means over the datasets, per notion and over all."""
    found = cells(rows).reindex(columns=[(name, notion) for name in names for notion in NOTIONS])
    splits = rows[rows["dataset"].isin(names) & (rows["point"] == "sum")].groupby(["method", "dataset"])["split"]
    lines = []
    for method, row in found.dropna().iterrows():
        group, random = METHODS[method]
        means = [row.mean(skipna=False), *(row.xs(notion, level=1).mean(skipna=False) for notion in NOTIONS)]
        fewest = splits.nunique()[method].min()
        lines.append([method, group, "yes" if random else "no", fewest, *map(number, means)])
    return table(["", "needs the group", "random", "splits", "mean", *SHORT.values()], lines, texts=3)


def per_dataset(rows, names=PAPER):
    """Every cell, the lowest in bold."""
    found = cells(rows).reindex(columns=[(name, notion) for name in names for notion in NOTIONS]).dropna()
    lines = [
        [method, *(f"**{v:.3f}**" if v == found[cell].min() else number(v) for cell, v in row.items())]
        for method, row in found.iterrows()
    ]
    return table(["", *(f"{TITLES[name]} {SHORT[notion]}" for name, notion in found.columns)], lines)


def at_points(rows):
    """Accuracy, balanced accuracy and measure, mean over datasets and splits, at each point of the trade-off."""
    found = rows[rows["dataset"].isin(PAPER) & rows["method"].isin(METHODS) & rows["ber"].notna()]
    found = found[found["method"].isin(complete(rows))]
    lines = []
    for notion in NOTIONS:
        lines += ["", f"### {notion.replace('_', ' ').capitalize()}", ""]
        mean = found[found["notion"] == notion].groupby(["method", "point"])[["accuracy", "ber", "measure"]].mean()
        body = []
        for method in METHODS:
            if (method, "sum") in mean.index:
                texts = []
                for point in POINTS:
                    if (method, point) in mean.index:
                        accuracy, ber, measure = mean.loc[(method, point)]
                        texts.append(f"{accuracy:.3f}, {1 - ber:.3f}, {measure:.3f}")
                    else:
                        texts.append("")
                body.append([method, *texts])
        lines += table(["", *POINTS.values()], body)
    return lines


def processor_times(rows):
    """Fit times on Adult, and of ours and gradient boosting on the whole training half, measured in turns."""
    lines = []
    turns = rows[rows["family"] == "times"]
    for dataset, own in turns.groupby("dataset", sort=False):
        median = own.groupby("method")["seconds"].median()
        hist = median["HistGradientBoosting"]
        parts = [f"{method} {median[method] / hist:.2f} ×" for method in ("ParityBoost", "AdaFair")]
        lines += [f"On the training half of {TITLES[dataset]}, in turns: {', '.join(parts)} HistGradientBoosting", ""]
    adult = rows[(rows["dataset"] == "adult") & (rows["point"] == "sum") & rows["method"].isin(METHODS)]
    median = adult.groupby("method")["seconds"].median()
    if "ParityBoost, group in X" not in median:
        return lines
    own = median["ParityBoost, group in X"]
    body = [[m, f"{median[m] / own:.3g} ×"] for m in METHODS if m in median.index]
    return [*lines, *table(["all that it takes to make the model, on Adult", "against ParityBoost, group in X"], body)]


def bags(rows):
    """How many trainings and how deep: mean of balanced error + measure per dataset, and processor time."""
    found = rows[rows["family"] == "bags"]
    if found.empty:
        return []
    tables = found.groupby("split")["dataset"].nunique()
    found = found[found["split"].isin(tables.index[tables == found["dataset"].nunique()])]  # splits that are complete
    found = found.assign(total=found["ber"] + found["measure"])
    mean = found.pivot_table(index="method", columns="dataset", values="total", sort=False)
    seconds = found.pivot_table(index="method", columns="dataset", values="seconds", aggfunc="median", sort=False)
    names = [name for name in (*PAPER, *sorted(set(mean.columns) - set(PAPER))) if name in mean]
    ratio = seconds["adult"] / seconds["adult"]["4 of depth 2"]
    body = [
        [m, *(f"{mean.loc[m, n]:.4f}" for n in names), f"{mean.loc[m, names].mean():.4f}", f"{ratio[m]:.2f} ×"]
        for m in mean.index
    ]
    lines = [f"Mean over three notions; random halves: {found['split'].nunique()}.", ""]
    return lines + table(["trainings", *(TITLES.get(n, n) for n in names), "mean", "fit time, Adult"], body)


def verdicts(rows):
    """Whether ParityBoost is better than each deterministic peer, and every cell that is lost."""
    found = cells(rows).reindex(columns=[(name, notion) for name in PAPER for notion in NOTIONS]).dropna()
    sums = rows[(rows["point"] == "sum") & rows["dataset"].isin(PAPER) & rows["method"].isin(METHODS)]
    by_split = sums.assign(total=sums["ber"] + sums["measure"]).pivot_table(
        index="method", columns="split", values="total"
    )
    lines = []
    for mine in ("ParityBoost", "ParityBoost, group in X"):
        own = found.loc[mine]
        lines += ["", f"{mine} (mean {own.mean():.3f}). The standard error is of five splits.", ""]
        body = []
        for method in METHODS:
            if method in found.index and not method.startswith("ParityBoost"):
                other = found.loc[method]
                lost = [f"{TITLES[d]} {SHORT[n]} by {own[d, n] - other[d, n]:.3f}" for d, n in own.index
                        if own[d, n] > other[d, n]]  # fmt: skip
                kind = "random" if METHODS[method][1] else "deterministic"
                differences = (by_split.loc[mine] - by_split.loc[method]).dropna()
                error = differences.std() / np.sqrt(len(differences))
                body.append([method, kind, f"{differences.mean():+.3f} ± {error:.3f}", "; ".join(lost) or "none"])
        lines += table(["against", "", "difference of the means", "cells lost"], body, texts=2)
    return lines


def page(rows):
    failed = rows[rows["failed"].notna()] if "failed" in rows else rows.iloc[:0].assign(failed="")
    lines = [
        "# Trade-offs",
        "",
        f"`make tradeoff` on {date.today()}: Python {platform.python_version()}, {platform.machine()}, parityboost "
        f"{version('parityboost')}, scikit-learn {version('scikit-learn')}, fairlearn {version('fairlearn')}, "
        + ", ".join(names[0].replace("==", " ") for names in REQUIREMENTS.values())
        + ".",
        "",
        "Balanced error + measure of unfairness on the test half, mean over five random halves (KDD census: one). Less",
        "is better; a model that says the same about everyone has 0.5. A peer trains on two thirds of the training",
        "half, and its thresholds are chosen on the other third, the same for every peer, for the lowest sum.",
        "ParityBoost and AdaFair have their defaults and get the training half. *Needs the group* says what a",
        "prediction asks for: nothing, the sensitive column among the others in X, or the group itself. *Random*",
        "methods toss coins.",
        "",
        "<!-- summary -->",
        "",
        *summary(rows),
        "",
        "<!-- end of summary -->",
        "",
        *per_dataset(rows),
    ]
    if "kdd" in set(rows["dataset"]):
        lines += ["", "KDD census, one split:", "", *per_dataset(rows, ["kdd"])]
    lines += ["", "## Against each peer", *verdicts(rows), "", "## Points of the trade-off", ""]
    lines += ["Accuracy, balanced accuracy and measure on the test halves, mean over Adult, Bank and COMPAS. The point"]
    lines += ["is chosen on the held-out rows, or, for ours, on those that each training held out.", *at_points(rows)]
    lines += ["", "## Fit times", "", "Processor time, one thread.", "", *processor_times(rows)]
    lines += ["", "## How many trainings, how deep", ""]
    lines += ["ParityBoost without the group in X.", ""]
    lines += ["<!-- bags -->", "", *bags(rows), "", "<!-- end of bags -->"]
    missing = [method for method in METHODS if method not in complete(rows)]
    if missing or len(failed):
        lines += ["", "## Not measured", ""]
    for (method, reason), own in failed.groupby(["method", "failed"]):
        lines.append(f"- {method}: {', '.join(sorted({TITLES[d] for d in own['dataset']}))}: `{reason}`")
    lines += [f"- {method}: its runs were not all made. `make tradeoff` makes them." for method in missing]
    lines += ["", "FairGBM has no constraint for statistical parity: there, both error rates are constrained."]
    return "\n".join(lines) + "\n"


def write(rows, folder):
    (folder / "tradeoff.md").write_text(page(rows), encoding="utf8")
    keys = ["family", "dataset", "notion", "method", "point"]
    found = rows[rows["point"].fillna("") != ""].groupby(keys, sort=False)
    mean, deviation = (getattr(found[["ber", "measure", "accuracy", "seconds"]], name)() for name in ("mean", "std"))
    both = mean.join(deviation[["ber", "measure", "accuracy"]].add_suffix("_sd")).assign(splits=found.size())
    both.round(5).to_csv(folder / "tradeoff.csv")
    draw(rows, folder)


def draw(rows, folder):
    """Balanced error against measure, one panel per dataset and notion."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colours = {
        "ParityBoost": "#c1121f", "AdaFair": "#f4a261", "AdaBoost": "#6c757d", "HistGradientBoosting": "#1d3557",
        "ThresholdOptimizer": "#2a9d8f", "error-parity": "#8338ec", "oxonfair": "#3a86ff",
        "ExponentiatedGradient": "#8d6e63", "FairGBM": "#588157",
        "MMM-Fair": "#bc6c25",
    }  # fmt: skip
    shapes = {NO: "o", IN_X: "^", YES: "s"}
    left_out = {"ThresholdOptimizer(HistGradientBoosting), no rows held out"}
    found = rows[rows["method"].isin(complete(rows) - left_out) & (rows["point"] == "sum")]
    found = found.groupby(["dataset", "notion", "method"])[["ber", "measure"]].mean()
    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "tradeoff", "svg.fonttype": "none"})
    figure, axes = plt.subplots(3, 3, figsize=(11, 10.5))
    for row, dataset in zip(axes, PAPER, strict=True):
        for axis, notion in zip(row, NOTIONS, strict=True):
            own = found.loc[(dataset, notion)]
            for method in [m for m in METHODS if m in own.index]:
                colour = colours[method.partition(",")[0].partition("(")[0]]
                group, random = METHODS[method]
                axis.plot(
                    own.loc[method, "measure"], own.loc[method, "ber"], shapes[group], color=colour, ms=8,
                    mfc="white" if random else colour, mew=1.6, zorder=3 if method in OURS else 2, alpha=0.85,
                )  # fmt: skip
            axis.margins(0.12)
            low, high = axis.get_xlim(), axis.get_ylim()
            x = np.array([min(0, low[0]), low[1]])
            for total in np.arange(0, 1.5, 0.05):
                axis.plot(x, total - x, color="#dddddd", lw=0.7, zorder=0)
            axis.set(xlim=(max(low[0], -0.01), low[1]), ylim=high, title=f"{TITLES[dataset]}, {SHORT[notion]}")
            axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("measure of unfairness", y=0.075)
    figure.supylabel("balanced error", x=0.01)
    drawn = {method.partition(",")[0].partition("(")[0] for method in found.index.get_level_values("method")}
    marks = [plt.Line2D([], [], marker="o", ls="", color=c, label=name) for name, c in colours.items() if name in drawn]
    names = {NO: "blind to the group", IN_X: "group as a column of X", YES: "needs the group"}
    marks += [plt.Line2D([], [], marker=shapes[g], ls="", color="black", label=name) for g, name in names.items()]
    marks += [plt.Line2D([], [], marker="o", ls="", color="black", mfc="white", mew=1.6, label="random (hollow)")]
    figure.legend(handles=marks, loc="lower center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0.015, 0.085, 1, 1))
    figure.savefig(folder / "tradeoff.svg", metadata={"Date": None})
    figure.savefig(folder / "tradeoff.png", dpi=110)
    plt.close(figure)
