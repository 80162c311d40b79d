"""A model as a scorecard: whole points for every bin, category and pair of them, which add up to a person's points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import MISSING, Floats, Integers
from .._model.glass_box import GlassBox
from .._model.tables import Effects
from .._table.binning import CategoricalColumn, Column, NumericColumn
from .._table.values import object_array, plain, printable
from .atomic import write_atomically

PAIR = " × "
MOST = 1e9  # points
STYLE = """body{font:15px/1.45 system-ui,sans-serif;color:#1b1f24;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;border-bottom:1px solid #d8dce1;text-align:left;font-weight:400}
thead th{border-bottom:2px solid #1b1f24;font-weight:600}td.n,th.n{text-align:right}
section{break-inside:avoid;overflow-x:auto}
@media print{body{margin:0;max-width:none;font-size:10.5pt}section{overflow:visible}}"""


class Part(NamedTuple):
    """The points of one feature, or of a pair of them: ``points[row]`` or ``points[row, column]``."""

    features: tuple[str, ...]
    labels: tuple[list[str], ...]  # of the rows, and of the columns
    points: Integers


@dataclass(frozen=True, repr=False, eq=False)
class Scorecard:
    """Whole points that add up; at the cut or above it the decision is favourable.

    Attributes
    ----------
    parts : tuple of Part
        The points of each feature and each pair that the model uses. The least of each is 0.
    base : int
        What everyone starts from.
    cut : int
        The points from which on the decision is favourable.
    odds : tuple of float
        The convention: the points at some odds, these odds (for the favourable label), and the points that double them.
    favourable : label
        The label that is favourable to the person.
    favourable_is_stated : bool
        Whether that was stated; if not, the positive label counts.
    n_changed, n_rows : int or None
        How many decisions differ from the model's because points are whole, and of how many rows; None if the card was
        made without rows.
    """

    parts: tuple[Part, ...]
    base: int
    cut: int
    odds: tuple[float, float, float]
    favourable: Any
    favourable_is_stated: bool
    box: GlassBox  # whose tables are the points
    n_changed: int | None = None
    n_rows: int | None = None

    def points(self, X: Any) -> Integers:
        """The points of each row of X."""
        found: Integers = np.rint(self.box.margin(self.box.read(X))).astype(np.int64) + self.base
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row by its points."""
        labels = self.box.about.labels
        negative, positive = labels.outcomes
        other = negative if self.favourable == plain(positive) else positive
        found: NDArray[Any] = object_array([other, self.favourable])[(self.points(X) >= self.cut).astype(np.intp)]
        return found.astype(labels.classes.dtype)

    @property
    def table(self) -> pd.DataFrame:
        """A row per bin or category, and per cell of a pair: ``feature``, ``value`` and ``points``."""
        rows: list[tuple[str, str, int]] = [("base", "", self.base)]
        for part in self.parts:
            name = PAIR.join(part.features)
            for at, points in np.ndenumerate(part.points):
                rows.append(
                    (name, PAIR.join(labels[k] for labels, k in zip(part.labels, at, strict=True)), int(points))
                )
        return pd.DataFrame(rows, columns=["feature", "value", "points"])

    def summary(self) -> list[str]:
        """What the points mean, and what rounding does, as sentences."""
        points, odds, double = self.odds
        stated = "" if self.favourable_is_stated else " (the positive label: which one is favourable was not stated)"
        said = [
            f"From {self.cut} points on the decision is {self.favourable!r}{stated}.",
            f"{points:g} points stand for odds of {odds:g} to 1 of it, and {double:g} points more double the odds.",
        ]
        if self.n_rows is None:
            said.append(
                "How many decisions whole points change is not known: make the card with rows to count them on."
            )
        else:
            share = f"{self.n_changed / self.n_rows:.2%}" if self.n_changed else "none"
            said.append(
                f"Whole points change {self.n_changed:,} of {self.n_rows:,} decisions ({share}); "
                "no other cut changes fewer."
            )
        return said

    def to_csv(self, path: Any = None) -> str:
        """The table as CSV, written to ``path`` if there is one."""
        return _written(path, self.table.to_csv(index=False, lineterminator="\n"))

    def to_html(self, path: Any = None, title: str = "Scorecard") -> str:
        """A page to print, without scripts, written to ``path`` if there is one."""
        page = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{STYLE}</style></head><body>\n<h1>{_text(title)}</h1>\n{self._repr_html_()}</body></html>\n"
        )
        return _written(path, page)

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{_text(sentence)}</p>" for sentence in self.summary())
        base = Part(("Base points",), (["everyone"],), np.array([self.base]))
        return "\n".join([said, *map(_section, (base, *self.parts))]) + "\n"

    def __str__(self) -> str:
        rows = self.table.assign(feature=lambda table: table["feature"].where(~table["feature"].duplicated(), ""))
        return "\n".join([*self.summary(), "", rows.to_string(index=False, max_colwidth=60)])

    __repr__ = __str__


def make_scorecard(
    box: GlassBox, X: Any, points: float, odds: float, double: float, favourable: Any, stated: bool
) -> Scorecard:
    """The card of a fitted model, with the cut that changes the fewest decisions on X if it is given."""
    for name, number in (("points", points), ("odds", odds), ("double", double)):
        if isinstance(number, bool) or not isinstance(number, (int, float, np.number)) or not np.isfinite(number):
            raise ValueError(f"{name} must be a finite number, got {number!r}")
        if name != "points" and number <= 0:
            raise ValueError(f"{name} must be above 0, got {number!r}")
    labels = box.about.labels
    sign = 1 if favourable == plain(labels.positive) else -1
    effects, constant = box.score_effects()
    scale = sign * 2.0 * double / np.log(2)  # the score is half the logarithm of the odds
    start = points - double * np.log2(odds) + scale * constant
    tables, pairs, parts = np.zeros_like(effects.tables), [], []
    for f, column in enumerate(box.columns):
        own = scale * effects.tables[f, : column.n_codes]
        start += own.min()
        whole = _rounded(own - own.min())
        tables[f, : column.n_codes] = whole
        runs = _runs(column, whole[:, None])
        if whole.any():
            parts.append(Part((column.name,), ([label for label, _ in runs],), whole[[code for _, code in runs]]))
    for pair in effects.pairs:
        start += (scale * pair.scores).min()
        cells = _rounded(scale * pair.scores - (scale * pair.scores).min())
        pairs.append(replace(pair, scores=cells.astype(np.float64)))
        if not cells.any():
            continue
        columns = [box.columns[f] for f in pair.features]
        by_code = cells[np.ix_(pair.row_of[: columns[0].n_codes], pair.column_of[: columns[1].n_codes])]
        rows, across = _runs(columns[0], by_code), _runs(columns[1], by_code.T)
        shown = by_code[np.ix_([code for _, code in rows], [code for _, code in across])]
        names = tuple(column.name for column in columns)
        parts.append(Part(names, ([label for label, _ in rows], [label for label, _ in across]), shown))
    base = int(_rounded(np.array([start]))[0])
    whole_box = replace(box, effects=Effects(tables.astype(np.float64), tuple(pairs)), calibrator=None, dial=None)
    nominal = int(np.ceil(points - double * np.log2(odds)))
    card = Scorecard(tuple(parts), base, nominal, (points, odds, double), favourable, stated, whole_box)
    return card if X is None else _with_best_cut(card, box, X)


def _with_best_cut(card: Scorecard, box: GlassBox, X: Any) -> Scorecard:
    """The card with the cut that changes the fewest decisions; of several the nearest."""
    total = card.points(X)
    good = np.asarray(box.predict(X) == card.favourable)
    cuts = np.unique(np.concatenate([total, total + 1, [card.cut]]))
    refused = np.sort(total[~good])
    granted = np.sort(total[good])
    # At each cut: those refused so far that reach it, and those granted so far that do not.
    changed = len(refused) - np.searchsorted(refused, cuts) + np.searchsorted(granted, cuts)
    best = np.flatnonzero(changed == changed.min())
    nearest = best[np.abs(cuts[best] - card.cut).argmin()]
    return replace(card, cut=int(cuts[nearest]), n_changed=int(changed[nearest]), n_rows=len(total))


def _rounded(points: Floats) -> Integers:
    if np.abs(points).max(initial=0.0) > MOST:
        raise ValueError(f"double is too large: a value would get {np.abs(points).max():.3g} points")
    whole: Integers = np.rint(points).astype(np.int64)
    return whole


def _runs(column: Column, by_code: NDArray[Any]) -> list[tuple[str, int]]:
    """A label and a code for each run of bins, each category or each kind of them of the same points."""
    same = [tuple(row) for row in by_code.tolist()]
    missing = [("missing", MISSING)]
    if isinstance(column, NumericColumn):
        if column.n_bins == 0:
            return missing
        firsts = [1, *(b for a, b in pairwise(range(1, column.n_bins + 1)) if same[a] != same[b])]
        runs = []
        for first, after in zip(firsts, [*firsts[1:], column.n_bins + 1], strict=True):
            low = f"{column.edges[first - 2]:.15g}" if first > 1 else ""
            high = f"{column.edges[after - 2]:.15g}" if after <= column.n_bins else ""
            label = f"({low}, {high}]" if low and high else f"≤ {high}" if high else f"> {low}" if low else "any number"
            runs.append((label, first))
        return runs + missing
    return _kinds(column, same) + missing


def _kinds(column: CategoricalColumn, same: Sequence[Any]) -> list[tuple[str, int]]:
    """Categories of the same points stand together; all that were not seen in training are the other ones."""
    found: dict[Any, tuple[list[str], int]] = {}
    for text, code in [*zip(map(str, column.categories), column.codes, strict=True), ("any other", column.other)]:
        found.setdefault(same[code], ([], code))[0].append(text)
    return [(", ".join(texts), code) for texts, code in found.values()]


def _section(part: Part) -> str:
    """One feature, or one pair, as a table of a page."""
    head = PAIR.join(map(_text, part.features))
    if len(part.features) == 1:
        rows = "".join(
            f"<tr><td>{_text(label)}</td><td class=n>{points}</td></tr>"
            for label, points in zip(part.labels[0], part.points.tolist(), strict=True)
        )
        return f"<section><h2>{head}</h2><table>{rows}</table></section>"
    across = "".join(f"<th class=n>{_text(label)}</th>" for label in part.labels[1])
    rows = "".join(
        f"<tr><th>{_text(label)}</th>{''.join(f'<td class=n>{points}</td>' for points in row)}</tr>"
        for label, row in zip(part.labels[0], part.points.tolist(), strict=True)
    )
    table = f"<table><thead><tr><th></th>{across}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<section><h2>{head}</h2>{table}</section>"


def _text(text: str) -> str:
    return escape(printable(str(text), keep=""))


def _written(path: Any, text: str) -> str:
    if path is not None:
        write_atomically(path, text.encode("utf8", "backslashreplace"))
    return text
