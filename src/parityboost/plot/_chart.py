"""Figures as records of what to draw: ``_paper`` draws them with matplotlib, a report's page with plotly.

A colour is named by its role, because a page has a light and a dark theme. Numbers beside bars stand to their right,
whichever way a bar goes, so that they never meet the names of the rows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from .._arrays import Floats
from ..explain import ShapeFunction
from ..explain._scores import kinds_of
from ..explain._shapes import OTHER, Extent

Numbers = Any  # a sequence or an array

# Okabe and Ito's palette, without the yellow that paper swallows; neighbours differ in lightness too.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
PLAIN, OURS = "#7F7F7F", "#0072B2"  # a plain model is grey, ours is blue, in every picture, report and result
UP, DOWN = OURS, "#D55E00"  # raises the score, lowers it
# Groups of people have colours that no model has: gold and wine first, which also differ in lightness.
GROUPS = ("#B8860B", "#882255", "#2F8F80", "#CC6677", "#6F7F1F", "#7B4B2A")
GROUP_ROLES = tuple(f"group-{i + 1}" for i in range(len(GROUPS)))
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
# Paper's colours of the roles; a page has its own in its style sheet. What is not a role is a colour itself.
ROLES = {"ours": OURS, "baseline": PLAIN, "down": DOWN, "ink": "#000000", "muted": "#595959", "grid": "#D9D9D9"}
ROLES |= dict(zip(GROUP_ROLES, GROUPS, strict=True))
DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot")


class Bars(NamedTuple):
    """Horizontal bars, one per row; the last ones may be hatched, because they are of values that training lacked."""

    values: Numbers
    roles: Sequence[str]
    texts: Sequence[str]
    at: Numbers
    start: Numbers | None = None  # where each begins; else at 0
    hover: Sequence[str] | None = None
    name: str = ""
    thickness: float = 0.7
    hatched: int = 0

    @property
    def ends(self) -> Floats:
        """Where bars begin and end."""
        start = np.zeros(len(self.values)) if self.start is None else np.asarray(self.start)
        return np.array([start, start + np.asarray(self.values)])


class Line(NamedTuple):
    """A line, with intervals at its points, dots on them and a word at its end if they are given."""

    x: Numbers
    y: Numbers
    role: str
    name: str = ""
    dash: str = "solid"
    width: float = 2.0
    dots: bool = False
    low: Numbers | None = None
    high: Numbers | None = None
    end: str = ""
    hover: Any = None  # a text per point, or plotly's template for all
    steps: bool = False  # of a frontier: first down, then to the right


class Points(NamedTuple):
    """Points with a word right of each, and intervals along x."""

    x: Numbers
    y: Numbers
    roles: str | Sequence[str]
    kind: str = "dot"  # or ring, or diamond
    size: float = 6.0  # points
    texts: Sequence[str] | None = None
    low: Numbers | None = None
    high: Numbers | None = None
    hover: Sequence[str] | None = None
    name: str = ""
    shades: Numbers | None = None  # from light to dark instead of a role


class Steps(NamedTuple):
    """A step function, with how far it is uncertain to either side, over a histogram of where the rows are."""

    edges: Numbers
    values: Numbers
    spread: Numbers | None
    bins: Numbers = ()
    heights: Numbers = ()


class Cells(NamedTuple):
    """A table of scores; a cell of fewer rows than ``few`` is grey, one of none is empty."""

    scores: Floats
    weight: Floats
    few: float
    names: Sequence[Sequence[str]] = ()  # of each cell


class Rule(NamedTuple):
    """A straight line through the whole picture, with a word at its end: upright, level, or falling through a point."""

    x: float | None = None
    y: float | None = None
    role: str = "muted"
    dash: str = "solid"
    text: str = ""
    band: float = 0.0  # how far a level one reaches up and down


class Word(NamedTuple):
    """A word beside a point; one that is optional is left out if there is no room. A heading stands above rows."""

    x: float
    y: float
    text: str
    role: str = "muted"
    optional: bool = False
    heading: bool = False


@dataclass(frozen=True)
class Axis:
    """Numbers, or names at some places (0, 1, 2, … if they are not given)."""

    title: str = ""
    names: Sequence[str] | None = None
    at: Numbers | None = None
    range: tuple[float, float] | None = None
    bounds: tuple[float, float] | None = None  # how much of it is drawn
    percent: bool = False
    whole: bool = False
    from_zero: bool = False

    @property
    def places(self) -> Numbers:
        return range(len(self.names or ())) if self.at is None else self.at


@dataclass(frozen=True)
class Chart:
    """A figure: what to draw, first to last, on which axes."""

    marks: Sequence[Any]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    title: str = ""  # on paper; a page has its headings
    note: str = ""  # a line below it
    lines: int = 1  # of text in a row
    pixels: float | None = None  # height on a page, if it is not that of the rows
    inches: float = 4.2  # height on paper, likewise
    legend: bool = False
    margin: Sequence[str] = ()  # words at the right end of each row, on paper


def group_roles(n_groups: int) -> Sequence[str]:
    """Every row has its group beside it, so colours are a help as long as there are enough of them."""
    return GROUP_ROLES[:n_groups] if n_groups <= len(GROUP_ROLES) else GROUP_ROLES[:1] * n_groups


def signed(value: float) -> str:
    """A number with its sign, unless that is lost in rounding, and a real minus."""
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def cut(text: Any, length: int) -> str:
    """What is too long loses its middle: names often differ at their ends."""
    text, kept = str(text), max(length, 8) - 1
    return text if len(text) <= kept + 1 else f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def plain(text: Any, width: int = 0) -> str:
    """Text that matplotlib takes literally, in at most two lines of some width."""
    written = str(text)
    if width:
        length = 2 * width
        while len(lines := textwrap.wrap(cut(written, length), width)) > 2:
            length -= 1
        written = "\n".join(lines)
    return written.replace("$", r"\$")


def apart(positions: Any, gap: float) -> Any:
    """Sorted positions, moved as little as need be so that neighbours are a gap apart."""
    if not len(positions):
        return positions
    places = gap * np.arange(len(positions))  # relative to these, positions may not decrease
    return isotonic_regression(positions - places) + places


Parts = list[tuple[Any, list[float]]]  # names of rows, with a number per series


def top_and_rest(parts: Iterable[tuple[Any, Sequence[float]]], top: int) -> Parts:
    """The rows of largest size, and the sum of all others in one row; nothing is left out of the sum."""
    rows = sorted(((name, list(values)) for name, values in parts), key=lambda row: -max(map(abs, row[1])))
    if len(rows) <= top + 1:
        return rows
    others = rows[top:]
    rest = [sum(column) for column in zip(*(values for _, values in others), strict=True)]
    return [*rows[:top], (f"{len(others)} other {kinds_of(name for name, _ in others)}", rest)]


def bars(
    rows: Parts, series: Mapping[str, str], written: Callable[[float], str], marks: Sequence[Any] = (), **more: Any
) -> Chart:
    """Horizontal bars with their values: a row per name, a bar in it per series, whose roles are given."""
    names, n = [name for name, _ in rows], len(series)
    thickness = 0.76 / max(n, 1)
    drawn = []
    for j, (name, role) in enumerate(series.items()):
        values = [row[j] for _, row in rows]
        at = [i + (j - (n - 1) / 2) * thickness for i in range(len(rows))]
        texts = [written(value) for value in values]
        drawn.append(Bars(values, [role] * len(rows), texts, at, None, names, name if n > 1 else "", 0.92 * thickness))
    zero = [Rule(x=0.0)] if any(value < 0 for _, row in rows for value in row) else []
    x, y = Axis(more.pop("x", "")), Axis(names=names)
    return Chart([*marks, *drawn, *zero], x, y, lines=max(n, 1), legend=n > 1, **more)


def gap(total: str, totals: Sequence[float], parts: Parts, series: Mapping[str, str], top: int, **more: Any) -> Chart:
    """What each feature adds to the difference between two groups, below the sum of all."""
    shown = top_and_rest(((name, row) for name, row in parts if any(row)), top)
    return bars([(total, list(totals)), *shown], series, signed, [Rule(y=0.5, role="grid")], **more)


def waterfall(start: tuple[str, float], parts: Parts, end: tuple[str, float], **more: Any) -> Chart:
    values = [value for _, (value,) in parts]
    begins = start[1] + np.cumsum([0.0, *values])[:-1]
    places, texts = np.arange(1, len(parts) + 1), [signed(value) for value in values]
    names = [start[0], *(name for name, _ in parts), end[0]]
    roles = ["ours" if value > 0 else "down" for value in values]
    marks = [
        Bars(values, roles, texts, places, begins, names[1:-1]),
        Points([start[1], end[1]], [0, len(parts) + 1], "ink", size=8, texts=[signed(start[1]), signed(end[1])]),
        Rule(x=0.0, role="grid"),
    ]
    return Chart(marks, Axis(more.pop("x", "score")), Axis(names=names), **more)


def steps(function: ShapeFunction, extent: Extent, heights: Numbers, missing: str = "", **more: Any) -> Chart:
    """What a number adds to the score, over where the rows are; beside it, what a missing one adds."""
    (low, high), scores, value = extent.range, np.array(function.scores), function.missing
    at = high + 0.06 * (high - low)
    spread = 0.0 if function.spread is None else np.array(function.spread)
    ends = [*(scores - spread), *(scores + spread), value, 0.0]
    size = max(ends) - min(ends) or 1.0
    there = len(heights) > 0 and max(heights) > 0  # in the lowest quarter of the picture
    marks = [
        Rule(y=0.0, role="grid"),
        Steps([low, *function.thresholds, high], scores, function.spread, *((extent.edges, heights) if there else ())),
        Points([at], [value], "down", "diamond", 7, [missing], hover=[f"missing: {signed(value)}"]),
    ]
    x = Axis(function.feature, range=(low, at), bounds=(low, high))
    y = Axis("score", range=(min(ends) - (0.43 if there else 0.08) * size, max(ends) + 0.08 * size))
    return Chart(marks, x, y, pixels=240, **more)


class Category(NamedTuple):
    """Categories of the same score."""

    name: str
    score: float
    share: float | None
    spread: float | None


def same_score(function: ShapeFunction, shares: Sequence[float] | None, top: int) -> list[Category]:
    """The categories by score, highest first, then other categories and missing values; of many, the two ends."""
    by_score: dict[float, list[int]] = {}
    for i, score in enumerate(function.scores):
        by_score.setdefault(score, []).append(i)
    scores = sorted(by_score, reverse=True)
    if len(scores) > top:
        scores = [*scores[: top - top // 2], *scores[len(scores) - top // 2 :]]
    found = []
    for score in scores:
        members = by_score[score] if shares is None else sorted(by_score[score], key=lambda i: -shares[i])
        names = [str(function.categories[i]) for i in members]
        name = ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} others"
        share = None if shares is None else sum(shares[i] for i in members)
        spread = None if function.spread is None else max(function.spread[i] for i in members)
        found.append(Category(name, score, share, spread))
    other, last = (None, None) if shares is None else shares[-2:]
    beyond = function.missing if function.other is None else function.other
    return [*found, Category(OTHER, beyond, other, None), Category("missing", function.missing, last, None)]


def categories(rows: list[Category], **more: Any) -> Chart:
    values = [row.score for row in rows]
    texts = [signed(row.score) + ("" if row.spread is None else f" ± {row.spread:.2f}") for row in rows]
    hover = [row.name + ("" if row.share is None else f", {row.share:.1%} of the rows") for row in rows]
    roles = ["ours" if value > 0 else "down" for value in values]
    marks = [Bars(values, roles, texts, range(len(rows)), hover=hover, hatched=2), Rule(x=0.0)]
    shares = [f"{row.share:.1%}{'' if i else ' of X'}" for i, row in enumerate(rows) if row.share is not None]
    return Chart(marks, Axis("score"), Axis(names=[row.name for row in rows]), margin=shares, **more)


def pair(features: Sequence[str], labels: Sequence[Sequence[str]], cells: Cells, top: int, **more: Any) -> Chart:
    """What two features add together: of many values, those with the strongest effect."""
    rows, columns = _strongest(cells.scores, cells.weight, top), _strongest(cells.scores.T, cells.weight.T, top)
    at = np.ix_(rows, columns)
    x, y = (
        Axis(name, [text[k] for k in kept])
        for name, text, kept in zip(features[::-1], labels[::-1], (columns, rows), strict=True)
    )
    names = [[f"{row}, {column}" for column in x.names or ()] for row in y.names or ()]
    return Chart([Cells(cells.scores[at], cells.weight[at], cells.few, names)], x, y, **more)


def _strongest(scores: Floats, weight: Floats, top: int) -> list[int]:
    """The rows to draw, in their order: the last one, missing values, only if there are any or nothing else is left."""
    effect = (np.abs(scores) * weight).sum(axis=1)
    last = len(scores) - 1
    kept = sorted(np.argsort(-effect[:last], kind="stable")[:top].tolist())
    return [*kept, last] if weight[last].any() or not kept else kept


def reliability(rows: Sequence[Mapping[Any, Any]], roles: Sequence[str], intervals: bool = True, **more: Any) -> Chart:
    """Scores against outcomes, a line per group, for as many groups as there are roles."""
    marks: list[Any] = []
    for i, name in enumerate(list(dict.fromkeys(row["group"] for row in rows))[: len(roles)]):
        own = [row for row in rows if row["group"] == name]
        x, y, low, high = (
            [row[key] for row in own] for key in ("mean_score", "observed", "observed_lower", "observed_upper")
        )
        hover = [
            f"{name}: {row['n']:,} rows, score {row['mean_score']:.1%}, positive {row['observed']:.1%}" for row in own
        ]
        away: dict[str, Any] = {"low": low, "high": high} if intervals else {}
        marks.append(Line(x, y, roles[i], name, DASHES[i], dots=True, hover=hover, **away))
    marks.append(Line([0, 1], [0, 1], "muted", dash="dot", width=1))
    return Chart(marks, **more)


def blocks(sizes: Sequence[int]) -> list[tuple[float, list[float]]]:
    """Rows in blocks, each below a heading: the place of the heading, and those of the rows."""
    tops = np.cumsum([0.0, *(size + 1.2 for size in sizes)])[:-1]
    return [(float(top), [top + 1 + i for i in range(size)]) for top, size in zip(tops, sizes, strict=True)]
