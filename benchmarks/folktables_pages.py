"""The page and the figures of folktables.py, from what is stored; and whether what must be true of them is."""

from __future__ import annotations

import os
import platform
from functools import partial
from pathlib import Path

import counted
import numpy as np
import pandas as pd
from folktables import ALL_PAIRS, IN_X, NO, STORE, TABLES, YES, unpacked
from tradeoff_pages import table

NINE, FOUR = TABLES
OURS = "ParityBoost"
MAJORITY = ", majority"
FIFTHS = 0.8
SHORT_LIST = [OURS, "LightGBM", "FairGBM", "ExponentiatedGradient", "error-parity"]  # the README's five lines
AT_LEAST = 0.75  # the TPR ratio from which on the points of others must be met by one of ours
COLOURS = {
    ALL_PAIRS.name: "#f4845f", OURS: "#c1121f", "LightGBM": "#1d3557", "HistGradientBoosting": "#6c757d",
    "FairGBM": "#588157", "ExponentiatedGradient": "#8d6e63", "oxonfair": "#3a86ff",
    "ThresholdOptimizer": "#2a9d8f", "error-parity": "#8338ec",
}  # fmt: skip
SHAPES = {NO: "o", IN_X: "^", YES: "s"}
SEES = {NO: "does not see race", IN_X: "race among the columns", YES: "told the race to decide"}
# The benchmark's own trials, by the names in its file: thresholds per group are told the race.
RECORDED = {
    "lightgbm_baseline": ("LightGBM", NO, "#1d3557"),
    "prevalence_oversampling": ("oversampling", NO, "#c9a227"),
    "prevalence_undersampling": ("undersampling", NO, "#adb5bd"),
    "grid_search_folktables": ("GridSearch", NO, "#6c757d"),
    "exponentiated_gradient_folktables": ("ExponentiatedGradient", NO, "#8d6e63"),
    "fairgbm_folktables": ("FairGBM", NO, "#588157"),
    "group_threshold_folktables": ("thresholds per group", YES, "#2a9d8f"),
}
# Accuracy and larger gap on the rows of the four largest races, of predictions that others recorded: the benchmark's
# first three, and two of the notebook of Cruz and Hardt.
RECORDED_FOUR = {
    "LightGBM (recorded)": (0.820, 0.356, NO),
    "ExponentiatedGradient (recorded)": (0.816, 0.221, NO),
    "thresholds per group (recorded)": (0.811, 0.083, YES),
    "random forest (Cruz and Hardt)": (0.802, 0.355, IN_X),
    "random forest, post-processed (Cruz and Hardt)": (0.799, 0.081, YES),
}


# --- What is stored, measured ---------------------------------------------------------------------


def measured(stored):
    """A row per point: what its method needs, and its measures with intervals; *all* is over small groups too."""
    methods = {(t.name, m.name): m for t in TABLES.values() for m in t.methods}
    rows = []
    for row in stored.to_dict("records"):
        method = methods.get((row["table"], row["method"]))
        if method is None or not row.get("counts"):
            continue
        counts = unpacked(row["counts"])[list(TABLES[row["table"]].races)]
        again, majority = counted.drawn(counts), row["point"].endswith(MAJORITY)
        found = {
            "table": row["table"],
            "method": method.name + (MAJORITY if majority else ""),
            "group": method.group,
            "random": method.random and not majority,
            "point": row["point"].removesuffix(MAJORITY),
            "seconds": float(row["seconds"]),
        }
        everyone, large = np.ones(len(counts), dtype=bool), counted.large(counts)
        for name, measure, groups in (
            ("accuracy", counted.accuracy, everyone),
            ("tpr_ratio", counted.tpr_ratio, large),
            ("tpr_ratio_all", counted.tpr_ratio, everyone),
            ("larger_gap", counted.larger_gap, large),
            ("tpr_gap", partial(counted.gap, label=1), large),
            ("fpr_gap", partial(counted.gap, label=0), large),
            ("selection_gap", counted.selection_gap, large),
        ):
            found[name] = float(measure(counts[groups]))
            found[f"{name}_interval"] = counted.interval(measure(again[:, groups]))
        rows.append(found)
    return pd.DataFrame(rows)


def recorded(positives):
    """The benchmark's trials on its test rows, if their file is here; the interval of a ratio needs the two groups.

    The file has the ratio and the difference of two rates, hence both rates. Each is a number of people over a group's
    positives, which says which group it is of: the smallest that fits.
    """
    path = Path(os.environ.get("PARITYBOOST_DATA", ""), "folktables", "aequitas-flow-acsincome.csv")
    if not path.exists():
        return None
    trials = pd.read_csv(path)
    ratio, difference = trials["t_tpr_ratio"], trials["t_tpr_diff"]
    high = (difference / (1 - ratio)).where(ratio < 1, trials["t_tpr"])
    low = ratio * high
    variance = sum((1 - rate) / (rate * group_of(rate, positives)).clip(lower=0.5) for rate in (low, high))
    spread = np.exp(1.96 * np.sqrt(variance))
    trials = trials.assign(low=ratio / spread, high=(ratio * spread).clip(upper=1))
    error = 1.96 * np.sqrt(trials["t_accuracy"] * (1 - trials["t_accuracy"]) / 332_900)
    return trials.assign(error=error, name=trials["method"].map(lambda name: RECORDED[name][0]))


def group_of(rates, positives):
    """The number of positives of the smallest group that could have this rate."""
    sizes = np.sort(positives)
    people = rates.to_numpy()[:, None] * sizes
    fits = np.abs(people - np.round(people)) < 2e-5 * sizes + 1e-3
    return np.where(fits.any(axis=1), sizes[np.argmax(fits, axis=1)], sizes[0])


# --- What must be true ----------------------------------------------------------------------------


def unmet(found):
    """Points of methods that are not told the race, with a ratio of at least 0.75, that no point of ours meets."""
    own, others = sides(found)
    return [
        point
        for point in others[(others["group"] == NO) & (others["tpr_ratio"] >= AT_LEAST)].to_dict("records")
        if not ((own["accuracy"] >= point["accuracy"]) & (own["tpr_ratio"] >= point["tpr_ratio"])).any()
    ]


def broken(stored):
    """What must be true of the runs and is not: a line each, and none if all is well."""
    found = measured(stored)
    points = [
        f"not met: {p['method']}, {p['point']}: {p['accuracy']:.4f} at {p['tpr_ratio']:.3f}" for p in unmet(found)
    ]
    return points + [f"not run yet: {run}" for run in not_run(stored)]


def not_run(stored):
    made = set(zip(stored["table"], stored["method"], stored["setting"], strict=True))
    return [
        f"{table.name}: {method.name}{f', {setting}' if setting else ''}"
        for table in TABLES.values() for method in table.methods for setting in method.settings
        if (table.name, method.name, setting) not in made
    ]  # fmt: skip


def sides(found):
    found = found[found["table"] == NINE]
    mine = found["method"].str.startswith(OURS)
    return found[mine], found[~mine]


def front(points, ratio="tpr_ratio"):
    """The points that no other beats in both, from the least accurate to the most."""
    points = points.sort_values(["accuracy", ratio], ascending=False)
    return points[points[ratio] > points[ratio].cummax().shift(fill_value=-1)].sort_values("accuracy")


def lead(own, accuracy, ratio, of="tpr_ratio"):
    """Our ratio at this accuracy, interpolated between our points, minus theirs; None beyond our most accurate one."""
    line = front(own, of)
    if line.empty or accuracy > line["accuracy"].max():
        return None
    return float(np.interp(accuracy, line["accuracy"], line[of]) - ratio)


def accuracy_at(points, ratio):
    """A method's accuracy at a TPR ratio, interpolated between its points, and half of its interval; None beyond them.

    What is uncertain of the ratio counts as well: as much accuracy as the method pays for it there.
    """
    line = front(points).sort_values("tpr_ratio")
    if line.empty or line["tpr_ratio"].max() < ratio:
        return None
    found = np.interp(ratio, line["tpr_ratio"], line["accuracy"])
    nearest = line.iloc[[int(np.argmin(np.abs(line["tpr_ratio"] - ratio)))]].squeeze()
    halves = [np.diff(nearest[f"{name}_interval"])[0] / 2 for name in ("accuracy", "tpr_ratio")]
    near = np.interp([ratio - 0.02, ratio + 0.02], line["tpr_ratio"], line["accuracy"])
    return float(found), float(np.hypot(halves[0], halves[1] * (near[0] - near[1]) / 0.04))


# --- The page -------------------------------------------------------------------------------------


def within(value, interval):
    return f"{value:.3f} ({interval[0]:.3f}–{interval[1]:.3f})"


def order(found, name):
    known = [method.name for method in TABLES[name].methods]
    known = [label for method in known for label in (method, method + MAJORITY)]
    return [label for label in known if label in set(found["method"])]


def points_of(found, name):
    of_table = found[found["table"] == name]
    body = []
    for label in order(of_table, name):
        for row in of_table[of_table["method"] == label].to_dict("records"):
            half = (row["accuracy_interval"][1] - row["accuracy_interval"][0]) / 2
            start = [label, row["group"], "yes" if row["random"] else "no", row["point"]]
            start.append(f"{row['accuracy']:.4f} ± {half:.4f}")
            gaps = [f"{row[gap]:.3f}" for gap in ("tpr_gap", "fpr_gap", "selection_gap")]
            if name == NINE:
                ratios = [within(row[r], row[f"{r}_interval"]) for r in ("tpr_ratio", "tpr_ratio_all")]
                body.append([*start, *ratios, *gaps])
            else:
                body.append([*start, within(row["larger_gap"], row["larger_gap_interval"]), *gaps])
    columns = ["", "needs race", "random", "point", "accuracy"]
    columns += ["TPR ratio, groups ≥ 1 %", "TPR ratio, all nine"] if name == NINE else ["larger gap"]
    return table([*columns, "TPR gap", "FPR gap", "selection gap"], body, texts=4)


def summary(found, names=None):
    """What each method pays for a ratio of four fifths."""
    nine, body = found[found["table"] == NINE], []
    for label in names or order(nine, NINE):
        own = nine[nine["method"] == label]
        if len(own):
            best = own.loc[own["accuracy"].idxmax()]
            there = accuracy_at(own, FIFTHS)
            text = "not reached" if there is None else f"{there[0]:.3f} ± {there[1]:.3f}"
            random = "yes" if own["random"].any() else "no"
            most = f"{best['accuracy']:.3f} at {best['tpr_ratio']:.2f}"
            body.append([label, best["group"], random, text, most])
    columns = ["", "needs race", "random", f"accuracy at a TPR ratio of {FIFTHS}", "most accurate point"]
    return table(columns, body, texts=3)


def verdict(found):
    own, others = sides(found)
    lines = ["## Does it hold?", ""]
    if own.empty:
        return [*lines, f"{OURS} was not run yet: `make folktables` does.", ""]
    blind = others[(others["group"] == NO) & (others["tpr_ratio"] >= AT_LEAST)]
    bad = unmet(found)
    lines += [
        f"Of {len(blind)} points of methods that are not told the race and have a TPR ratio (groups ≥ 1 %) of at least "
        f"{AT_LEAST}, {len(blind) - len(bad)} are met by a point of ours that is as accurate and has as high a ratio."
    ]
    lines += [f"- not met: {p['method']}, {p['point']}: {p['accuracy']:.4f} at {p['tpr_ratio']:.3f}" for p in bad]
    lines += ["", "Our TPR ratio minus theirs at equal accuracy, interpolated between our points:", ""]
    body = []
    for row in others[others["method"].str.startswith("ExponentiatedGradient") | (others["group"] == YES)].to_dict(
        "records"
    ):
        ahead = lead(own, row["accuracy"], row["tpr_ratio"])
        text = "more accurate than all of ours" if ahead is None else f"{ahead:+.3f}"
        body.append(
            [row["method"], row["group"], row["point"], f"{row['accuracy']:.4f}", f"{row['tpr_ratio']:.3f}", text]
        )
    columns = ["against", "needs race", "point", "accuracy", "TPR ratio, groups ≥ 1 %", "ours − theirs"]
    return [*lines, *table(columns, body, texts=3), ""]


def trials_table(trials, own):
    """Per method of the benchmark, the trial with the highest accuracy + ratio on validation, all nine groups."""
    best = trials.loc[(trials["v_accuracy"] + trials["v_tpr_ratio"]).groupby(trials["method"]).idxmax()]
    body = []
    for row in best.sort_values("t_accuracy", ascending=False).to_dict("records"):
        ratio = within(row["t_tpr_ratio"], (row["low"], row["high"]))
        ahead = None if own.empty else lead(own, row["t_accuracy"], row["t_tpr_ratio"], "tpr_ratio_all")
        text = "" if own.empty else "more accurate than all of ours" if ahead is None else f"{ahead:+.3f}"
        needs = RECORDED[row["method"]][1]
        accurate = f"{row['t_accuracy']:.4f} ± {row['error']:.4f}"
        body.append([row["name"], needs, int((trials["method"] == row["method"]).sum()), accurate, ratio, text])
    columns = ["recorded", "needs race", "trials", "accuracy", "TPR ratio, all nine", "ours − theirs at this accuracy"]
    return table(columns, body, texts=2)


def seconds(found):
    """Processor seconds until a method's first setting is there: its models, the held-out rows, and what it chooses."""
    first = found.drop_duplicates(["table", "method"])
    body = []
    for label in dict.fromkeys([*order(found, NINE), *order(found, FOUR)]):
        own = first[first["method"] == label].set_index("table")["seconds"]
        if not label.endswith(MAJORITY):
            body.append([label, *(f"{own[name]:.0f}" if name in own else "" for name in TABLES)])
    return table(["processor seconds, one thread", *TABLES], body)


def page(stored):
    found = measured(stored)
    versions = sorted({part for text in stored["version"] for part in text.split(", ") if not part.startswith("code ")})
    made = sorted({text[:10] for text in stored["made"]})
    missing = not_run(stored)
    runs = sum(len(m.settings) for t in TABLES.values() for m in t.methods)
    lines = [
        "# ACSIncome, as others measure it",
        "",
        f"`make folktables`, runs of {' to '.join(dict.fromkeys((made[0], made[-1])))}: Python "
        f"{platform.python_version()}, {platform.machine()}, {', '.join(versions)}.",
        "",
        "Who earned more than 50,000 dollars in 2018, 332,900 people to train on (the benchmark's *validation* part: a",
        "third of what its own methods had) and 332,900 to test on. Race is the sensitive attribute. Whatever is",
        "chosen is chosen on a third of the training rows, then the model is trained again on all of them. Intervals",
        "are of 95 %. Methods that draw at random count with the chance of each answer. *Point*: a limit, with the",
        "most accurate threshold that kept it on held-out rows, or the method's own setting (thresholds of 0.5).",
        "",
    ]
    if missing:
        lines += [
            f"**Partial**: {runs - len(missing)} of {runs} runs were made. The last section lists the others.",
            "",
        ]
    if found.empty:
        return "\n".join([*lines, "Nothing was run yet."]) + "\n"
    lines += [
        "Accuracy where the lowest rate of true positives is four fifths of the highest, over races with at least"
    ]
    lines += ["1 % of the rows, interpolated between a method's points; race is not among the columns.", ""]
    lines += ["<!-- summary -->", "", *summary(found), "", "<!-- end of summary -->", ""]
    if set(SHORT_LIST) <= set(found["method"]):
        lines += ["For the README:", "", "<!-- judged -->", "", *summary(found, SHORT_LIST), "", "<!-- end -->", ""]
    lines += [*verdict(found), "## Nine races, not among the columns", ""]
    lines += ["The smallest rate of true positives over the largest, over races with at least 1 % of the rows and over",
              "all nine: the smallest race has 29 people with a high income in the test part.", ""]  # fmt: skip
    lines += [*points_of(found, NINE), ""]
    trials = recorded_here(stored)
    if trials is not None:
        lines += ["### The benchmark's own trials", ""]
        lines += [
            f"The best of each by accuracy + ratio on validation, of {len(trials)}; trained on three times the rows.",
            "",
        ]
        lines += [*trials_table(trials, sides(found)[0]), ""]
    lines += [
        "## The four largest races",
        "",
        "Accuracy against the larger of the gaps in true and false positive rates.",
        "",
    ]
    lines += [*points_of(found, FOUR), "", "Recorded by others on these test rows:", ""]
    lines += table(["", "needs race", "accuracy", "larger gap"],
                   [[n, g, f"{a:.3f}", f"{v:.3f}"] for n, (a, v, g) in RECORDED_FOUR.items()], texts=2)  # fmt: skip
    lines += [
        "",
        "## Fit times",
        "",
        "Until the first setting is there: two models (one without the held-out rows, one",
    ]
    lines += ["of all), and what is chosen. ExponentiatedGradient: one reduction of all rows.", "", *seconds(found)]
    failed = stored[stored["failed"] != ""] if "failed" in stored else stored.iloc[:0]
    if missing or len(failed):
        lines += ["", "## Not measured", ""]
    lines += [f"- {row['table']}: {row['method']} failed: `{row['failed']}`" for row in failed.to_dict("records")]
    lines += [f"- {run}: not run yet" for run in missing]
    return "\n".join(lines) + "\n"


def recorded_here(stored):
    nine = stored[(stored["table"] == NINE) & (stored["counts"] != "")]
    return None if nine.empty else recorded(unpacked(nine["counts"].iloc[0])[:, 1].sum(axis=-1))


def write(folder):
    stored = STORE.frame()
    if stored.empty:
        return
    if "counts" not in stored:
        stored = stored.assign(counts=None, point="")
    (folder / "folktables.md").write_text(page(stored), encoding="utf8")
    found = measured(stored)
    if len(found):
        draw(found, recorded_here(stored), folder)


# --- The figures ----------------------------------------------------------------------------------


def draw(found, trials, folder):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "folktables", "svg.fonttype": "none"})
    draw_nine(plt, found[found["table"] == NINE], trials, folder)
    draw_four(plt, found[found["table"] == FOUR], folder)
    plt.close("all")


def colour(label):
    return next(value for name, value in COLOURS.items() if label.startswith(name))


def mark(axis, rows, x, y):
    """A method's points with their intervals; those along its limits are joined, in that order."""
    row = rows.iloc[0]
    own = colour(row["method"])
    along, is_ours = rows["point"].str.contains("limit|ratio|at most|no difference"), row["method"].startswith(OURS)
    axis.plot(rows[x][along], rows[y][along], color=own, lw=2 if is_ours else 0.6, zorder=2)
    rows = rows.iloc[:: 1 + len(rows) // 20]  # of many points some are marked
    bars = {f"{k}err": np.abs(np.array(rows[f"{name}_interval"].tolist()).T - rows[name].to_numpy())
            for k, name in (("x", x), ("y", y))}  # fmt: skip
    axis.errorbar(
        rows[x], rows[y], **bars, fmt=SHAPES[row["group"]], color=own, ms=5, mew=1.2, elinewidth=0.6, alpha=0.9,
        mfc="white" if row["random"] else own, ls="",
        zorder=3 if is_ours else 4,
    )  # fmt: skip


def legend(figure, plt, found, extra=(), columns=4):
    names = [name for name in COLOURS if found["method"].str.startswith(name).any()]
    marks = [plt.Line2D([], [], marker="o", ls="", color=COLOURS[name], label=name) for name in names]
    groups = [g for g in SHAPES if (found["group"] == g).any()]
    marks += [plt.Line2D([], [], marker=SHAPES[g], ls="", color="black", label=SEES[g]) for g in groups]
    marks += [plt.Line2D([], [], marker="o", ls="", color="black", mfc="white", mew=1.3, label="random (hollow)")]
    figure.legend(handles=[*marks, *extra], loc="lower center", ncols=columns, frameon=False)


def draw_nine(plt, found, trials, folder):
    figure, axes = plt.subplots(1, 2, figsize=(11, 6.6), sharey=True)
    low, extra = 0.75, []
    if trials is not None:
        for method, (name, _, own) in RECORDED.items():
            rows = trials[trials["method"] == method]
            bars = np.abs(np.stack([rows["low"], rows["high"]]) - rows["t_tpr_ratio"].to_numpy())
            axes[0].errorbar(
                rows["t_tpr_ratio"], rows["t_accuracy"], xerr=bars, yerr=rows["error"], fmt="none", ecolor=own,
                elinewidth=0.4, alpha=0.12, zorder=0, rasterized=True,
            )  # fmt: skip
            axes[0].plot(rows["t_tpr_ratio"], rows["t_accuracy"], ".", ms=3, color=own, alpha=0.5, zorder=1)
            label = f"{name}, {len(rows)} recorded trials"
            extra.append(plt.Line2D([], [], marker=".", ms=4, ls="", color=own, alpha=0.5, label=label))
    for axis, ratio, title in zip(
        axes, ("tpr_ratio_all", "tpr_ratio"), ("all nine races", "races with at least 1 % of the rows"), strict=True
    ):
        for _, rows in found.groupby("method", sort=False):
            mark(axis, rows, ratio, "accuracy")
        axis.set(
            xlabel="smallest rate of true positives over the largest", title=title, xlim=(0.2, 1), ylim=(low, 0.825)
        )
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("accuracy")
    outside = [(found["accuracy"] < low).sum()] + ([] if trials is None else [(trials["t_accuracy"] < low).sum()])
    texts = [f"{n} {what}" for n, what in zip(outside, ("points", "recorded trials"), strict=False) if n]
    if texts:
        axes[0].text(0.01, 0.01, f"below: {' and '.join(texts)}", transform=axes[0].transAxes, color="#666666")
    legend(figure, plt, found, extra)
    figure.tight_layout(rect=(0, 0.15, 1, 1))
    save(figure, folder / "folktables")


def draw_four(plt, found, folder):
    figure, axis = plt.subplots(figsize=(8, 6.4))
    if len(found):
        for _, rows in found.groupby("method", sort=False):
            mark(axis, rows, "accuracy", "larger_gap")
    for name, (accuracy, gap, group) in RECORDED_FOUR.items():
        axis.plot(accuracy, gap, SHAPES[group], color="#999999", ms=5, zorder=1)
        right = accuracy > 0.805  # on the side where there is room
        axis.annotate(
            name, (accuracy, gap), xytext=(7 if right else -5, -10 if "post" in name else -3 if right else 4),
            textcoords="offset points", color="#777777", size=7, ha="left" if right else "right",
        )  # fmt: skip
    low = 0.76
    axis.set(xlabel="accuracy", ylabel="larger of the gaps in true and false positive rates", xlim=(low, 0.835))
    axis.set_ylim(bottom=0, top=0.45)
    axis.spines[["top", "right"]].set_visible(False)
    outside = int((found["accuracy"] < low).sum()) if len(found) else 0
    if outside:
        axis.text(0.01, 0.01, f"left of this: {outside} points", transform=axis.transAxes, color="#666666")
    if len(found):
        legend(figure, plt, found, columns=3)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    save(figure, folder / "folktables-races")


def save(figure, path):
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    figure.savefig(path.with_suffix(".png"), dpi=110)
