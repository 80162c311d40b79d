"""Draws the figures: one panel per dataset, the same colour for a method everywhere, readable in print and in grey."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ._plan import Figure
from ._rows import DATASET_NAMES, MEASURE_NAMES, measures_of

# Okabe and Ito's colours, which colour-blind readers can tell apart, ordered so that neighbours differ in lightness.
COLOURS = {
    "AdaBoost": "#999999",
    "SMOTEBoost": "#E69F00",
    "AdaBoost SDB": "#56B4E9",
    "FAE": "#009E73",
    "Krasanakis et al.": "#CC79A7",
    "Zafar et al.": "#F0E442",
    "AdaFair": "#0072B2",
    "AdaFair NoCumul": "#D55E00",
}
HATCHES = {"AdaFair": "", "AdaFair NoCumul": "////", "Zafar et al.": "....", "Krasanakis et al.": "\\\\\\\\"}
LINES = {
    "accuracy": ("#000000", "-", "o"),
    "balanced_accuracy": ("#0072B2", "-", "s"),
    "unfairness": ("#D55E00", "-", "D"),
    "tpr_prot": ("#009E73", "-", "^"),
    "tpr_nonprot": ("#009E73", "--", "v"),
    "tnr_prot": ("#CC79A7", "-", "<"),
    "tnr_nonprot": ("#CC79A7", "--", ">"),
}
OVER_ROUNDS = {
    "objective": ("Objective (validation)", "#000000", "-"),
    "validation_ber": ("BER (validation)", "#0072B2", "-"),
    "test_ber": ("BER (test)", "#56B4E9", "-"),
    "validation_violation": ("D.M. (validation)", "#D55E00", "-"),
    "test_violation": ("D.M. (test)", "#E69F00", "-"),
}
GAP_NAMES = {"fnr": "δFNR", "fpr": "δFPR", "selection_rate": "δSP"}
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
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
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "parityboost",  # the same numbers make the same file
    "svg.fonttype": "none",
    "figure.dpi": 100,
}


def render(figure: Figure, panels: dict[str, pd.DataFrame]) -> dict[str, bytes]:
    """A figure as SVG and PNG, from the tables of its panels."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("the figures need matplotlib: pip install 'parityboost[plot]'") from error

    files = {}
    with mpl.rc_context(STYLE):
        canvas = draw(figure, panels)
        options: dict[str, dict[str, Any]] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 160}}
        for kind, chosen in options.items():
            buffer = io.BytesIO()
            canvas.savefig(buffer, format=kind, **chosen)
            files[kind] = buffer.getvalue()
    return files


def draw(figure: Figure, panels: dict[str, pd.DataFrame]) -> Any:
    """A matplotlib figure, in the style that is set."""
    from matplotlib.figure import Figure as Canvas

    draw_panel: Callable[..., None] = {
        "performance": _bars,
        "balance": _over_c,
        "rounds": _over_rounds,
        "costs": _costs,
    }[figure.kind]
    wide = figure.kind == "rounds"
    n_columns = 1 if wide or len(panels) == 1 else 2
    n_rows = -(-len(panels) // n_columns)
    height = 2.1 if wide else 2.9
    canvas = Canvas(figsize=(10.2 if n_columns == 2 or wide else 6.4, height * n_rows + 0.7), layout="constrained")
    canvas.suptitle(f"Figure {figure.number}. {figure.title}", x=0.01, ha="left", fontsize=11, fontweight="bold")
    axes = canvas.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axis, (dataset, table) in zip(axes, panels.items(), strict=False):
        axis.set_title(DATASET_NAMES[dataset], loc="left")
        draw_panel(axis, figure, table)
    for axis in axes[len(panels) :]:
        axis.remove()
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        canvas.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return canvas


def _bars(axis: Any, figure: Figure, table: pd.DataFrame) -> None:
    """Bars of every method side by side for each measure, with the number above."""
    measures = measures_of(figure)
    width = 0.84 / len(figure.methods)
    for k, method in enumerate(figure.methods):
        rows = table[table["method"] == method].set_index("measure").loc[measures]
        at = np.arange(len(measures)) - 0.42 + width * (k + 0.5)
        axis.bar(
            at,
            rows["mean"],
            width * 0.92,
            yerr=rows["sd"],
            label=method,
            color=COLOURS[method],
            hatch=HATCHES.get(method),
            edgecolor="white" if HATCHES.get(method) else COLOURS[method],
            linewidth=0,
            error_kw={"elinewidth": 0.7, "capsize": 1.3, "capthick": 0.7},
        )
        for x, mean, sd in zip(at, rows["mean"], rows["sd"], strict=True):
            text, height = (f"{mean:.2f}".removeprefix("0"), mean + sd) if np.isfinite(mean) else ("n/a", 0)
            axis.text(x, height + 0.015, text, ha="center", va="bottom", fontsize=5, rotation=90, color="#333333")
    axis.set_xticks(np.arange(len(measures)), [MEASURE_NAMES[m].replace(" ", "\n", 1) for m in measures], fontsize=7)
    axis.tick_params(axis="x", length=0)
    axis.set_ylim(0, max(1.12, 1.15 * float((table["mean"] + table["sd"]).max())))
    axis.set_yticks(np.arange(0, 1.01, 0.2))


def _over_c(axis: Any, figure: Figure, table: pd.DataFrame) -> None:
    ends = []
    for name, (colour, line, marker) in LINES.items():
        measure = figure.notion if name == "unfairness" else name
        rows = table[table["measure"] == measure]
        axis.errorbar(
            rows["c"], rows["mean"], rows["sd"], color=colour, linestyle=line, marker=marker, markersize=3.5,
            linewidth=1.2, elinewidth=0.6, capsize=1.5, capthick=0.6,
        )  # fmt: skip
        ends.append((float(rows["mean"].iloc[-1]), MEASURE_NAMES[measure], colour))
    axis.set_ylim(-0.02, 1.05)
    axis.set_xlim(-0.03, 1.03)
    axis.set_xticks(np.linspace(0, 1, 6))
    axis.set_xlabel("c")
    _label_ends(axis, ends, 1.03, 0.062)


def _over_rounds(axis: Any, figure: Figure, table: pd.DataFrame) -> None:
    ends = []
    for name, (label, colour, line) in OVER_ROUNDS.items():
        axis.plot(table["round"], table[name], color=colour, linestyle=line, linewidth=0.9)
        ends.append((float(table[name].iloc[-20:].mean()), label, colour))
    theta = int(table["theta"].iloc[0])
    axis.axvline(theta, color="#666666", linestyle=":", linewidth=1)
    top = min(1.0, 1.05 * float(table[list(OVER_ROUNDS)].iloc[5:].max().max()))
    axis.annotate(f"θ = {theta}", (theta, top), xytext=(-3, -2), textcoords="offset points", ha="right", va="top")
    axis.set_ylim(0, top)
    axis.set_xlim(0, len(table))
    axis.set_xlabel("boosting rounds")
    _label_ends(axis, ends, len(table) * 1.005, 0.11 * top)


def _costs(axis: Any, figure: Figure, table: pd.DataFrame) -> None:
    """Split 0, as a line for AdaFair and as dots for NoCumul, which may jump from -1 to 1 every round; the band is the
    middle 80 % of all splits.
    """
    gaps = list(dict.fromkeys(table["gap"]))
    for method in reversed(figure.methods):
        colour = COLOURS[method]
        for gap, line, marker in zip(gaps, ("-", "--"), ("o", "x"), strict=False):
            rows = table[(table["method"] == method) & (table["gap"] == gap)]
            name = GAP_NAMES.get(gap, gap)
            if method == "AdaFair":
                axis.fill_between(rows["round"], rows["low"], rows["high"], color=colour, alpha=0.2, linewidth=0)
                axis.plot(
                    rows["round"],
                    rows["split_0"],
                    color=colour,
                    linestyle=line,
                    linewidth=1.1,
                    label=f"{name} {method}",
                )
            else:
                axis.scatter(
                    rows["round"], rows["split_0"], s=6, marker=marker, linewidths=0.6, color=colour,
                    label=f"{name} {method}",
                )  # fmt: skip
    axis.axhline(0, color="#666666", linewidth=0.6)
    limit = float(np.abs(table[["low", "high", "split_0"]].to_numpy()).max()) * 1.05
    axis.set_ylim(-limit, limit)
    axis.set_xlim(0, int(table["round"].max()) + 1)
    axis.set_xlabel("boosting rounds")


def _label_ends(axis: Any, ends: list[tuple[float, str, str]], x: float, gap: float) -> None:
    """Names beside the ends of the lines; where they would overlap they form a block around their common middle."""
    ordered = sorted((end for end in ends if np.isfinite(end[0])), key=lambda end: end[0])
    blocks: list[list[float]] = []
    for end in ordered:
        blocks.append([end[0]])
        while len(blocks) > 1 and _top(blocks[-2], gap) + gap > _bottom(blocks[-1], gap):
            last = blocks.pop()
            blocks[-1] += last
    heights = [_bottom(block, gap) + gap * k for block in blocks for k in range(len(block))]
    for (_, label, colour), height in zip(ordered, heights, strict=True):
        axis.text(x, height, label, color=_darker(colour), fontsize=7, va="center", ha="left", clip_on=False)


def _bottom(block: list[float], gap: float) -> float:
    return float(np.mean(block)) - gap * (len(block) - 1) / 2


def _top(block: list[float], gap: float) -> float:
    return float(np.mean(block)) + gap * (len(block) - 1) / 2


def _darker(colour: str) -> str:
    """The colour as text on white: the light ones would be hard to read."""
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{int(0.75 * value):02x}" for value in rgb)
