"""What is shown in a notebook: small charts of plain HTML and SVG, which need neither scripts nor an extra."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import pandas as pd

OURS, OTHER, MUTED = "#0072b2", "#d55e00", "#59636e"  # of parityboost.plot
MOST = 20  # rows of a table


def bars(title: str, rows: Iterable[tuple[Any, float]]) -> str:
    """Names and numbers, each number with a bar: blue to the right where it is positive, orange where negative."""
    shown = list(rows)
    largest = max((abs(value) for _, value in shown), default=0.0) or 1.0
    lines = [f"<p><strong>{escape(title)}</strong></p><table>"]
    for name, value in shown[:MOST]:
        colour = OURS if value >= 0 else OTHER
        size = f"display:inline-block;height:.7em;width:{10 * abs(value) / largest:.2f}em;background:{colour}"
        lines.append(
            f'<tr><th style="text-align:left">{escape(str(name))}</th><td style="text-align:right">{value:.3f}</td>'
            f'<td style="text-align:left"><span style="{size}"></span></td></tr>'
        )
    if len(shown) > MOST:
        lines.append(f'<tr><td colspan="3">and {len(shown) - MOST} more</td></tr>')
    return "\n".join([*lines, "</table>"])


def curve(title: str, across: Sequence[float], up: Sequence[float], names: tuple[str, str]) -> str:
    """Points joined by a line, the first of them marked."""
    low, high = (min(across), min(up)), (max(across), max(up))
    size = [b - a or 1.0 for a, b in zip(low, high, strict=True)]
    places = [
        (60 + 400 * (x - low[0]) / size[0], 180 - 150 * (y - low[1]) / size[1]) for x, y in zip(across, up, strict=True)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{OURS}"/>' for x, y in places)
    look = f'fill="{MUTED}" font-size="12" font-family="sans-serif"'
    words = [
        (60, 200, "start", f"{low[0]:.3f}"),
        (460, 200, "end", f"{high[0]:.3f}"),
        (260, 214, "middle", f"{names[0]} →"),
        (52, 180, "end", f"{low[1]:.3f}"),
        (52, 34, "end", f"{high[1]:.3f}"),
        (6, 14, "start", f"↑ {names[1]}"),
    ]
    text = "".join(f'<text x="{x}" y="{y}" text-anchor="{end}" {look}>{escape(t)}</text>' for x, y, end, t in words)
    return (
        f"<p><strong>{escape(title)}</strong></p>"
        f'<svg viewBox="0 0 480 220" width="480" style="max-width:100%" role="img" aria-label="{escape(title)}">'
        f'<polyline points="{line}" fill="none" stroke="{OURS}" stroke-width="2"/>{dots}{text}</svg>'
    )


class Frontier(pd.DataFrame):
    """A table of choices that shows itself in a notebook as a curve, then as the table; its parts are plain tables."""

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        table = pd.DataFrame(self)
        drawn = ""
        if len(table):
            error = table["objective"] - table["violation"]
            names = ("difference between the groups (violation)", "error")
            drawn = curve(
                f"{len(table)} choices that no other one beats", table["violation"].tolist(), error.tolist(), names
            )
        return drawn + table.to_html(max_rows=MOST, escape=True)
