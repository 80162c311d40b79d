"""Draws the figures: one panel per dataset and setting, narrow enough for a phone, readable in print and in grey."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pandas as pd

from ..._extras import install
from ...plot._style import GROUPS, METHODS, apart
from ._claim_list import GAINS_OF_C, MARKS, SETTLED, STRETCHES, THETA
from ._plan import Figure
from ._rows import DATASET_NAMES, MEASURE_NAMES, measures_of

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
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#e5e5e5",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "parityboost",  # the same numbers make the same file
    "svg.fonttype": "none",
    "path.simplify": True,
    "figure.dpi": 100,
}
WIDTH = 5.0  # inches: two beside each other on a screen, one on a phone


def render(figure: Figure, dataset: str, table: pd.DataFrame, setting: str = "") -> dict[str, bytes]:
    """A panel as SVG and PNG, from its table."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"the figures need matplotlib: {install('plot')}") from error

    files = {}
    with mpl.rc_context(STYLE):
        canvas = draw(figure, dataset, table, setting)
        options: dict[str, dict[str, Any]] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 160}}
        for kind, chosen in options.items():
            buffer = io.BytesIO()
            canvas.savefig(buffer, format=kind, **chosen)
            files[kind] = buffer.getvalue()
    # A hundredth of a point is enough for a drawing.
    files["svg"] = re.sub(rb"(\d\.\d\d)\d+", rb"\1", files["svg"])
    return files


def draw(figure: Figure, dataset: str, table: pd.DataFrame, setting: str = "") -> Any:
    """A matplotlib figure, in the style that is set."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(WIDTH, 3.6), layout="constrained")
    axis = canvas.subplots()
    axis.set_title(DATASET_NAMES[dataset] + (f", {setting}" if setting else ""), loc="left")
    panels = {"performance": _bars, "balance": _over_c, "rounds": _over_rounds, "costs": _costs}
    panels[figure.kind](axis, figure, dataset, table)
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        canvas.legend(handles, labels, loc="outside lower center", ncols=3)
    return canvas


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
        for mark in MARKS.get((figure.number, dataset), ()):
            if mark.method == method:
                height = mark.value + (means[mark.against, mark.measure] if mark.against else 0.0)
                label = None if marked else "the paper's text"
                axis.plot([at[measures.index(mark.measure)]], [height], label=label, **PAPER)
                marked = True
    names = [MEASURE_NAMES[m].replace("Non-prot.", "Non-p.").replace(" ", "\n", 1) for m in measures]
    axis.set_xticks(np.arange(len(measures)), names, fontsize=8)
    axis.tick_params(axis="x", length=0)
    axis.set_ylim(0, max(1.15, 1.15 * float((table["mean"] + table["sd"]).max())))
    axis.set_yticks(np.arange(0, 1.01, 0.2))
    axis.set_ylabel("share; unfairness: 0 is best")


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
    axis.set_ylim(-0.02, 1.05)
    axis.set_xlim(-0.03, 1.03)
    axis.set_xticks(np.linspace(0, 1, 6))
    axis.set_xlabel("c: by error (0) or balanced error (1)")
    axis.set_ylabel("share; unfairness: 0 is best")
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
    axis.set_ylim(0, top)
    axis.set_xlim(0, len(table))
    axis.set_xlabel("boosting rounds")
    axis.set_ylabel("share; 0 is best")
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
                axis.fill_between(
                    rows["round"], rows["low"], rows["high"], color=METHODS[method], alpha=0.2, linewidth=0
                )
                axis.plot(rows["round"], rows["split_0"], ("-", "--")[k], color=METHODS[method], linewidth=1.1,
                          label=label)  # fmt: skip
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
    axis.set_ylim(-limit, limit)
    axis.set_xlim(0, int(table["round"].max()) + 1)
    axis.set_xlabel("boosting rounds")
    axis.set_ylabel("non-protected minus protected")


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
