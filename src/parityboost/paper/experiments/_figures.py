"""The figures: the numbers behind each panel, the drawing, and a small table to read beside it.

One panel per dataset and setting, narrow enough for a phone, readable in print and in grey.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._extras import install
from ...plot._chart import GROUPS, METHODS, apart
from ..baselines import SP
from ._claims import GAINS_OF_C, SETTLED, STRETCHES, THETA
from ._plan import C_VALUES, Figure
from ._store import DATASET_NAMES, MEASURE_NAMES, NotMeasuredError, Results

HATCHES = {"AdaFair NoCumul": "////", "Krasanakis et al.": "\\\\\\\\"}
LINES = {
    "accuracy": ("#000000", "-", "o"),
    "balanced_accuracy": ("#0072B2", "-", "s"),
    "unfairness": ("#D55E00", "-", "D"),
    "tpr_prot": (GROUPS[1], "-", "^"),
    "tpr_nonprot": (GROUPS[0], "-", "v"),
    "tnr_prot": (GROUPS[1], "--", "<"),
    "tnr_nonprot": (GROUPS[0], "--", ">"),
}
OVER_ROUNDS = {
    "objective": ("Objective (validation)", "#000000"),
    "validation_ber": ("BER (validation)", "#0072B2"),
    "test_ber": ("BER (test)", "#56B4E9"),
    "validation_violation": ("D.M. (validation)", "#D55E00"),
    "test_violation": ("D.M. (test)", "#E69F00"),
}
GAP_NAMES = {"fnr": "δFNR", "fpr": "δFPR", "sp": "δSP"}
PAPER = {"color": "#B00020", "marker": "D", "markerfacecolor": "none", "markersize": 6, "linestyle": "none"}
STYLE = Path(__file__).with_name("figures.mplstyle")
WIDTH = 5.0  # inches: two beside each other on a screen, one on a phone


def measures_of(figure: Figure) -> list[str]:
    """What a figure shows of each method, or for each c."""
    rates = ("pos", "neg") if figure.notion == SP and figure.kind == "performance" else ("tpr", "tnr")
    of_groups = [f"{rate}_{group}" for rate in rates for group in ("prot", "nonprot")]
    return ["accuracy", "balanced_accuracy", figure.notion, *of_groups]


def tabulate(figure: Figure, results: Results, dataset: str) -> pd.DataFrame:
    """The numbers behind one panel, in long form.

    Performance: method, measure, mean, sd, n. The effect of c: c in place of the method. Rounds: round and one column
    per line. Costs: round, method, gap, mean over the splits and the middle 80 % of them.
    """
    if figure.kind == "rounds":
        run = results.round_by_round(dataset, figure.notion)
        lines = {name: line for name, line in results.rounds(run).items() if not name.startswith("delta_")}
        table = pd.DataFrame(lines)
        table.insert(0, "round", np.arange(1, len(table) + 1))
        return table.assign(theta=results.theta(run))
    if figure.kind == "costs":
        return pd.concat(_tabulate_costs(figure, results, dataset), ignore_index=True)
    rows: list[dict[str, Any]] = []
    for method in figure.methods:
        for c in C_VALUES if figure.kind == "balance" else (1.0,):
            for name in measures_of(figure):
                shown = {"c": c} if figure.kind == "balance" else {"method": method}
                try:
                    values = results.values(dataset, method, figure.notion, name, c)
                except NotMeasuredError:
                    rows.append({**shown, "measure": name, "mean": np.nan, "sd": np.nan, "n": 0})
                    continue
                sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
                rows.append({**shown, "measure": name, "mean": float(values.mean()), "sd": sd, "n": len(values)})
    return pd.DataFrame(rows)


def _tabulate_costs(figure: Figure, results: Results, dataset: str) -> Iterator[pd.DataFrame]:
    for method in figure.methods:
        found = results.costs(dataset, method, figure.notion)
        for gap in found[0]:
            length = min(len(rounds[gap]) for rounds in found)
            values = np.array([rounds[gap][:length] for rounds in found])
            low, high = np.quantile(values, [0.1, 0.9], axis=0)
            keys = {"round": np.arange(1, length + 1), "method": method, "gap": gap.removeprefix("delta_")}
            yield pd.DataFrame({**keys, "mean": values.mean(axis=0), "low": low, "high": high, "split_0": values[0]})


def readable(figure: Figure, table: pd.DataFrame) -> pd.DataFrame:
    """The numbers of a panel as a small table of text."""
    if figure.kind in ("performance", "balance"):
        across = "method" if figure.kind == "performance" else "c"
        numbers = zip(table["mean"], table["sd"], strict=True)
        table = table.assign(text=[f"{mean:.3f} ± {sd:.3f}" if np.isfinite(mean) else "–" for mean, sd in numbers])
        wide = table.pivot_table(index=across, columns="measure", values="text", aggfunc="first")
        wide = wide.loc[list(dict.fromkeys(table[across])), measures_of(figure)]
        return wide.rename(columns=MEASURE_NAMES).rename_axis(None, axis=1).reset_index()
    stretches = {"rounds 1–50": slice(50), "51–150": slice(50, 150), "151–end": slice(150, None)}

    def means(values: pd.Series[Any]) -> dict[str, str]:
        return {name: f"{values.iloc[part].mean():.3f}" for name, part in stretches.items()}

    if figure.kind == "costs":
        gaps = table.groupby(["method", "gap"], sort=False)["mean"]
        return pd.DataFrame({"method": m, "mean of": f"|δ{gap}|", **means(part.abs())} for (m, gap), part in gaps)
    theta = int(table["theta"].iloc[0])
    lines = table.drop(columns=["round", "theta"])
    rows = [
        {"line": str(name).replace("_", " "), **means(line), "at θ": f"{line.iloc[theta - 1]:.3f}"}
        for name, line in lines.items()
    ]
    return pd.DataFrame([*rows, {"line": "θ", **dict.fromkeys(stretches, ""), "at θ": str(theta)}])


def render(figure: Figure, dataset: str, table: pd.DataFrame, setting: str = "") -> dict[str, bytes]:
    """A panel as SVG and PNG, from its table."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"the figures need matplotlib: {install('plot')}") from error

    with mpl.rc_context(fname=STYLE):
        canvas = Canvas(figsize=(WIDTH, 3.6), layout="constrained")
        axis = canvas.subplots()
        axis.set_title(DATASET_NAMES[dataset] + (f", {setting}" if setting else ""), loc="left")
        panels = {"performance": _bars, "balance": _over_c, "rounds": _over_rounds, "costs": _costs}
        panels[figure.kind](axis, figure, dataset, table)
        handles, labels = axis.get_legend_handles_labels()
        if handles:
            canvas.legend(handles, labels, loc="outside lower center", ncols=3)
        svg, png = io.BytesIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None})
        canvas.savefig(png, format="png", dpi=160)
    # A hundredth of a point is enough for a drawing.
    return {"svg": re.sub(rb"(\d\.\d\d)\d+", rb"\1", svg.getvalue()), "png": png.getvalue()}


def _bars(axis: Any, figure: Figure, dataset: str, table: pd.DataFrame) -> None:
    """Bars of every method side by side for each measure; numbers where it matters: balanced accuracy, unfairness."""
    measures = measures_of(figure)
    width = 0.84 / len(figure.methods)
    means = table.set_index(["method", "measure"])["mean"]
    marked = False
    for k, method in enumerate(figure.methods):
        rows = table[table["method"] == method].set_index("measure").loc[measures]
        at = np.arange(len(measures)) - 0.42 + width * (k + 0.5)
        axis.bar(
            at, rows["mean"], width * 0.92, yerr=rows["sd"], label=method, color=METHODS[method],
            hatch=HATCHES.get(method), edgecolor="white" if method in HATCHES else METHODS[method], linewidth=0,
            error_kw={"elinewidth": 0.7, "capsize": 1.3, "capthick": 0.7},
        )  # fmt: skip
        for x, name, mean, sd in zip(at, measures, rows["mean"], rows["sd"], strict=True):
            if np.isfinite(mean) and name not in ("balanced_accuracy", figure.notion):
                continue
            height, text = (mean + sd + 0.02, f"{mean:.2f}".removeprefix("0")) if np.isfinite(mean) else (0.015, "n/a")
            axis.text(x, height, text, ha="center", va="bottom", fontsize=7, rotation=90, color="#333333")
        for mark in figure.marks.get(dataset, ()):
            if mark.method == method:
                height = mark.value + (means[mark.against, mark.measure] if mark.against else 0.0)
                label = None if marked else "the paper's text"
                axis.plot([at[measures.index(mark.measure)]], [height], label=label, **PAPER)
                marked = True
    names = [MEASURE_NAMES[m].replace("Non-prot.", "Non-p.").replace(" ", "\n", 1) for m in measures]
    axis.set_xticks(np.arange(len(measures)), names, fontsize=8)
    axis.tick_params(axis="x", length=0)
    top = max(1.15, 1.15 * float((table["mean"] + table["sd"]).max()))
    axis.set(ylim=(0, top), yticks=np.arange(0, 1.01, 0.2), ylabel="share; unfairness: 0 is best")


def _over_c(axis: Any, figure: Figure, dataset: str, table: pd.DataFrame) -> None:
    ends = []
    for name, (colour, line, marker) in LINES.items():
        measure = figure.notion if name == "unfairness" else name
        rows = table[table["measure"] == measure]
        axis.errorbar(
            rows["c"], rows["mean"], rows["sd"], color=colour, linestyle=line, marker=marker, markersize=3.5,
            linewidth=1.2, elinewidth=0.6, capsize=1.5, capthick=0.6,
        )  # fmt: skip
        ends.append((float(rows["mean"].iloc[-1]), MEASURE_NAMES[measure], colour))
        if figure.number == 7 and dataset in GAINS_OF_C and measure in GAINS_OF_C[dataset]:
            height = float(rows["mean"].iloc[0]) + GAINS_OF_C[dataset][measure]
            label = "the paper's text: from c = 0 to 1" if measure == "tpr_prot" else None
            axis.plot([1.0], [height], label=label, **PAPER)
    axis.set(ylim=(-0.02, 1.05), xlim=(-0.03, 1.03), xticks=np.linspace(0, 1, 6))
    axis.set(xlabel="c: by error (0) or balanced error (1)", ylabel="share; unfairness: 0 is best")
    _label_ends(axis, ends, 1.05, 0.07)


def _over_rounds(axis: Any, figure: Figure, dataset: str, table: pd.DataFrame) -> None:
    ends = []
    for name, (label, colour) in OVER_ROUNDS.items():
        axis.plot(table["round"], table[name], color=colour, linewidth=0.9)
        ends.append((float(table[name].iloc[-20:].mean()), label, colour))
    theta = int(table["theta"].iloc[0])
    axis.axvline(theta, color="#666666", linestyle=":", linewidth=1)
    top = min(1.0, 1.05 * float(table[list(OVER_ROUNDS)].iloc[5:].max().max()))
    side = "right" if theta > 0.2 * len(table) else "left"
    axis.annotate(f"θ = {theta}", (theta, top), xytext=(-3 if side == "right" else 3, -2), textcoords="offset points",
                  ha=side, va="top")  # fmt: skip
    if dataset in THETA:
        axis.axvline(THETA[dataset], color=PAPER["color"], linestyle="--", linewidth=1, label="the paper's text")
    if dataset in STRETCHES:
        first, low, high = STRETCHES[dataset]
        named = None if dataset in THETA else "the paper's text"
        axis.fill_between([first, len(table)], low, high, color=PAPER["color"], alpha=0.35,
                          linewidth=1.5, label=named)  # fmt: skip
    axis.set(ylim=(0, top), xlim=(0, len(table)), xlabel="boosting rounds", ylabel="share; 0 is best")
    _label_ends(axis, ends, len(table) * 1.02, 0.075 * top)


def _costs(axis: Any, figure: Figure, dataset: str, table: pd.DataFrame) -> None:
    """Split 0, a line for AdaFair and dots for NoCumul, which may jump; the band is the middle 80 % of all splits.

    Few dots may lie far out: those are left out, and counted.
    """
    gaps = list(dict.fromkeys(table["gap"]))
    shown = table[["low", "high", "split_0"]].to_numpy()
    limit = 1.1 * max(float(np.quantile(np.abs(shown), 0.98)), 2 * SETTLED)
    outside = int((table["split_0"].abs() > limit).sum())
    for method in reversed(figure.methods):
        for k, gap in enumerate(gaps):
            rows = table[(table["method"] == method) & (table["gap"] == gap)]
            label = f"{GAP_NAMES.get(gap, gap)} {method}"
            if method == "AdaFair":
                color, x = METHODS[method], rows["round"]
                axis.fill_between(x, rows["low"], rows["high"], color=color, alpha=0.2, linewidth=0)
                axis.plot(x, rows["split_0"], ("-", "--")[k], color=color, linewidth=1.1, label=label)
            else:  # one path of short strokes: hundreds of markers would make a large file
                x = rows["round"].to_numpy()
                strokes = np.column_stack([x - 0.3, x + 0.3, np.full(len(x), np.nan)]).ravel()
                axis.plot(strokes, rows["split_0"].to_numpy().repeat(3), color=(METHODS[method], "#7A3500")[k],
                          linewidth=(2.4, 1.4)[k], solid_capstyle="round", label=label)  # fmt: skip
    axis.axhline(0, color="#666666", linewidth=0.6)
    if figure.number == 6:
        for side in (-SETTLED, SETTLED):
            axis.axhline(side, color=PAPER["color"], linewidth=0.9, linestyle="--",
                         label=f"the paper's text: ±{SETTLED}" if side > 0 else None)  # fmt: skip
    if outside:
        axis.text(0.99, 0.98, f"{outside} of {len(table)} dots outside", transform=axis.transAxes, ha="right", va="top",
                  fontsize=8, color="#595959")  # fmt: skip
    axis.set(ylim=(-limit, limit), xlim=(0, int(table["round"].max()) + 1))
    axis.set(xlabel="boosting rounds", ylabel="non-protected minus protected")


def _label_ends(axis: Any, ends: list[tuple[float, str, str]], x: float, gap: float) -> None:
    """Names beside the ends of the lines, moved apart where they would overlap."""
    ordered = sorted((end for end in ends if np.isfinite(end[0])), key=lambda end: end[0])
    heights = apart([end[0] for end in ordered], gap)
    for (_, label, colour), height in zip(ordered, heights, strict=True):
        axis.text(x, height, label, color=_darker(colour), fontsize=8, va="center", ha="left", clip_on=False)


def _darker(colour: str) -> str:
    """The colour as text on white: the light ones would be hard to read."""
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{int(0.75 * value):02x}" for value in rgb)
