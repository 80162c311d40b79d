"""The record of alternatives: what else a fitted model could be, and why it is what it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Floats
from .._stats.intervals import Rates, largest_of
from .._stats.rates import accuracy, balanced_error_rate, ratio
from .._stats.ratios import lowest_ratio
from ..notions import FairnessNotion
from .menu import Menu
from .wishes import COSTS, LimitNotMet, Wishes

LIMITS = tuple(k / 100 for k in range(1, 21))
AIMS = ("balanced_accuracy", "accuracy")
N_DRAWS = 2_000
PLAIN, DEFAULT = "plain boosting", "default"

Row = dict[str, Any]
Best = Callable[[Wishes, Any], int]  # the menu's best option for some wishes, among some


def list_alternatives(
    menu: Menu,
    best: Best,
    notion: FairnessNotion,
    taken: int | None,
    wishes: Wishes,
    favourable: int,
    confidence: float,
) -> list[Row]:
    """What was taken, the default, the plain model, and the best of every limit: rows with measures and intervals."""
    found: dict[int, Row] = {}
    if taken is not None:
        found[taken] = {"what": "taken", "maximize": wishes.maximize, "limit": wishes.limit}
    for what, aim, limit, place in _candidates(menu, best, notion, wishes):
        found.setdefault(place, {"what": what, "maximize": aim, "limit": limit})
        if found[place]["what"] == "taken" and what:
            found[place]["what"] = f"taken, {what}"
    for row in found.values():  # costs as the parameter has them
        if isinstance(row["maximize"], tuple):
            row["maximize"] = dict(zip(COSTS, row["maximize"], strict=True))
    rows = [row | _measures(menu, place, notion, favourable, confidence) for place, row in found.items()]
    return sorted(rows, key=lambda row: (not row["what"].startswith("taken"), row["largest_gap"], -row["accuracy"]))


def _candidates(menu: Menu, best: Best, notion: FairnessNotion, wishes: Wishes) -> Iterator[tuple[str, Any, Any, int]]:
    yield DEFAULT, None, None, best(Wishes(), None)
    if 0.0 in menu.weights:
        stage = menu.weights.index(0.0) * len(menu.shifts)
        yield PLAIN, "accuracy", None, _best_error(menu, stage)
    if not notion.gaps:
        return
    aims = [*AIMS, *([wishes.maximize] if wishes.maximize not in (None, *AIMS) else [])]
    for aim in aims:
        for limit in LIMITS:
            try:
                yield "", aim, limit, best(replace(wishes, maximize=aim, limit=limit, min_ratio=None), None)
            except LimitNotMet:
                continue


def _best_error(menu: Menu, stage: int) -> int:
    """The threshold of a blend with the most right answers."""
    at = menu.of_stage(stage)
    error = Wishes("accuracy").error(menu.counts(at))
    if menu.only is not None:
        error = np.where(menu.thresholds[at] == menu.only, error, np.inf)
    return int(at.start) + int(error.argmin())


def _measures(menu: Menu, place: int, notion: FairnessNotion, favourable: int, confidence: float) -> Row:
    counts = menu.counts([place])[0]
    total = counts.sum(axis=0)
    gap, low_ratio = intervals_of(counts * menu.unit, notion, favourable, confidence)
    return {
        "fairness": menu.weight(int(menu.stage[place])),
        "threshold": float(menu.thresholds[place]),
        "share_of_yes": float(ratio(total[:, favourable].sum(), total.sum())),
        "accuracy": float(accuracy(total)),
        "balanced_accuracy": 1.0 - float(balanced_error_rate(counts)),
        "largest_gap": float(notion.largest_gap(counts)),
        **({"widest_in": _widest(counts, notion)} if notion.views else {}),
        "gap_lower": gap[0],
        "gap_upper": gap[1],
        "lowest_ratio": float(notion.lowest_ratio(counts, favourable)) if notion.gaps else np.nan,
        "ratio_lower": low_ratio[0],
        "ratio_upper": low_ratio[1],
    }


def _widest(counts: Floats, notion: FairnessNotion) -> str:
    """The view with the largest gap."""
    gaps = np.array([notion.each.largest_gap(seen) for seen in notion.seen(counts)], dtype=np.float64)
    known = np.nan_to_num(gaps, nan=-1.0)
    return notion.views[int(known.argmax())].name


def intervals_of(
    counts: Floats, notion: FairnessNotion, favourable: int, confidence: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of the largest gap and of the lowest ratio, from rows that are counted; of several views of the worst."""
    nothing = (np.nan, np.nan)
    if not notion.gaps or len(counts) < 2:
        return nothing, nothing
    if notion.views:
        of_views = [intervals_of(seen, notion.each, favourable, confidence) for seen in notion.seen(counts)]
        gap_low, gap_high = np.fmax.reduce([of_gap for of_gap, _ in of_views]).tolist()
        low, high = np.fmin.reduce([of_ratio for _, of_ratio in of_views]).tolist()
        return (gap_low, gap_high), (low, high)
    rng = np.random.default_rng(0)
    rates, given = [], []
    for gap in notion.gaps:
        value, n = gap.rate(counts), counts[:, list(gap.of)].sum(axis=(-2, -1))
        own = ~np.isnan(value)
        rates.append(Rates(np.clip(np.where(own, value, 0.0), 0.0, 1.0), np.where(own, n, 0.0)))
        given.append(Rates(gap.given(counts, favourable), rates[-1].n))
    draws = [rng.standard_normal((N_DRAWS, len(counts))) for _ in rates]
    found = largest_of(rates, confidence, draws)
    ratios = np.array([lowest_ratio(each, confidence) for each in given])
    lower, upper = (float(np.fmin.reduce(ratios[:, end])) for end in (1, 2))
    return (found.lower, found.upper), (lower, upper)
