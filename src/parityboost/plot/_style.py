"""What the figures share: colours, a bare frame, bars with their values, labels at the ends of lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._extras import install

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Okabe and Ito's palette, without the yellow that paper swallows; neighbours differ in lightness too.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
PLAIN, OURS = "#7F7F7F", "#0072B2"  # a plain model is grey, ours is blue, in every picture, report and result
# Groups of people have colours that no model has: gold and wine first, which also differ in lightness.
GROUPS = ("#B8860B", "#882255", "#2F8F80", "#CC6677", "#6F7F1F", "#7B4B2A")
# A method has the same colour wherever it is drawn; what is not in this table takes the palette in turn.
METHODS = {
    "ParityBoost": "#00476F",
    "AdaFair": OURS,
    "AdaFair NoCumul": "#D55E00",
    "AdaBoost": PLAIN,
    "SMOTEBoost": "#E69F00",
    "AdaBoost SDB": "#56B4E9",
    "FAE": "#009E73",
    "Krasanakis et al.": "#CC79A7",
    "Zafar et al.": "#000000",
}
UP, DOWN = "#0072B2", "#D55E00"  # raises the score, lowers it
QUIET, FAINT = "#595959", "#D9D9D9"  # for what is not data: words, lines
SMALL = 9  # points


def axes(ax: Axes | None, height: float = 4.2, width: float = 7.0) -> Axes:
    """The axes to draw on, without a box around them."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(f"parityboost.plot needs matplotlib: {install('plot')}") from error
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def height_of(n_rows: int, n_lines: int = 1) -> float:
    """Height of a figure with so many rows, each of so many lines of text."""
    return 1.2 + max(n_rows, 3) * max(0.3, 0.19 * n_lines + 0.06)


def title(ax: Axes, text: str, width: int = 72) -> None:
    ax.set_title(plain(text, width), loc="left", fontsize=11)


def plain(text: Any, width: int = 0) -> str:
    """Text that matplotlib takes literally, cut to two lines of some width."""
    written = str(text)
    if width:
        written = textwrap.fill(written, width, max_lines=2, placeholder=" …")
    return written.replace("$", r"\$")


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def signed(value: float) -> str:
    """A number with its sign, unless that is lost in rounding, and a real minus."""
    return "0.00" if abs(value) < 0.005 else f"{value:+.2f}".replace("-", "−")


def rows(ax: Axes, labels: list[str], width: int = 34) -> None:
    """Name the rows of a horizontal chart, the first one on top."""
    ax.set_yticks(np.arange(len(labels)), [plain(label, width) for label in labels])
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def bars(ax: Axes, table: pd.DataFrame, written: Callable[[float], str]) -> None:
    """Horizontal bars with their values, one row per row of the table and one colour per column.

    If there are several columns, the bars of the first row say which one is whose.
    """
    rows(ax, [str(name) for name in table.index])
    n_series = table.shape[1]
    thickness = 0.76 / n_series
    for j, name in enumerate(table):
        at = np.arange(len(table)) + (j - (n_series - 1) / 2) * thickness
        colour = METHODS.get(str(name), PALETTE[j % len(PALETTE)])
        widths = table.iloc[:, j].to_numpy()
        drawn = ax.barh(at, widths, 0.92 * thickness, color=colour, label=plain(name))
        values = [written(width) for width in widths]
        if n_series > 1 and widths[0] >= 0:
            values[0] += f"  {plain(name)}"
        elif n_series > 1:  # left of the bar there may be no room
            beside(ax, 0, float(at[0]), plain(name))
        ax.bar_label(drawn, values, padding=3, fontsize=SMALL, color=QUIET)
    if (table.to_numpy() < 0).any():
        ax.spines["left"].set_visible(False)
        ax.axvline(0, color=QUIET, linewidth=0.8)
    ax.margins(x=0.12)
    ax.locator_params(axis="x", nbins=6)


def beside(ax: Axes, x: float, y: float, text: str) -> None:
    """A word to the right of a point."""
    ax.annotate(text, (x, y), (3, 0), textcoords="offset points", va="center", fontsize=SMALL, color=QUIET)


def mark(ax: Axes, x: float, text: str) -> None:
    """A vertical line with its name at the top, on the side where there is more room."""
    ax.axvline(x, color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    low, high = ax.get_xlim()
    right = x < (low + high) / 2
    ax.annotate(
        text,
        (x, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4 if right else -4, -2),
        textcoords="offset points",
        ha="left" if right else "right",
        va="top",
        fontsize=SMALL,
        color=QUIET,
    )


def label_ends(ax: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write what each line stands for at its end: x, y, text and colour of each. Labels too close are moved apart."""
    ends = sorted(ends, key=lambda end: end[1])
    to_points = 72.0 / ax.figure.dpi
    wanted = np.array([ax.transData.transform(end[:2])[1] * to_points for end in ends])
    placed = apart(wanted, 1.25 * SMALL)
    for (x, y, text, colour), shift in zip(ends, placed - wanted, strict=True):
        ax.annotate(
            plain(text),
            (x, y),
            xytext=(6, shift),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=colour,
            annotation_clip=False,
        )


def apart(positions: Any, gap: float) -> Any:
    """Sorted positions, moved as little as need be so that neighbours are a gap apart."""
    # Each run of labels that touch is centred on the mean of where they want to be; runs that then touch are one run.
    runs: list[list[float]] = []
    for position in positions:
        runs.append([position])
        while len(runs) > 1 and _first(runs[-1], gap) < _first(runs[-2], gap) + len(runs[-2]) * gap:
            runs[-2:] = [runs[-2] + runs[-1]]
    return np.array([_first(run, gap) + i * gap for run in runs for i in range(len(run))])


def _first(run: list[float], gap: float) -> float:
    return sum(run) / len(run) - (len(run) - 1) * gap / 2
