"""The tables of an audit, from labels, predictions and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats
from .._stats import rates as _rates
from .._stats.intervals import Interval, Rates, auc, critical_z, largest_of, sum_of_largest, wilson
from .._table.grouping import IGNORE, group_names, read_groups
from ..metrics import group_counts

N_BINS = 10
MAX_GROUPS = 100  # of one sensitive column; more is a number that wants binning

# Which instances a rate is a share of, as ``[y_true, y_pred]``.
SHARE_OF = {
    "rows": np.array([[1.0, 1.0], [1.0, 1.0]]),
    "positives": np.array([[0.0, 0.0], [1.0, 1.0]]),
    "negatives": np.array([[1.0, 1.0], [0.0, 0.0]]),
    "predicted positives": np.array([[0.0, 1.0], [0.0, 1.0]]),
}


class _Rate(NamedTuple):
    of: str
    function: Callable[[Floats], Floats]


RATES = {
    "base_rate": _Rate("rows", _rates.base_rate),
    "selection_rate": _Rate("rows", _rates.selection_rate),
    "tpr": _Rate("positives", _rates.true_positive_rate),
    "fnr": _Rate("positives", _rates.false_negative_rate),
    "tnr": _Rate("negatives", _rates.true_negative_rate),
    "fpr": _Rate("negatives", _rates.false_positive_rate),
    "precision": _Rate("predicted positives", _rates.precision),
    "accuracy": _Rate("rows", _rates.accuracy),
}


# Rates whose largest difference between two groups is measured; of several, it is the largest of all.
MEASURES = {
    "statistical_parity": ["selection_rate"],
    "equal_opportunity": ["fnr"],
    "predictive_equality": ["fpr"],
    "disparate_mistreatment": ["fnr", "fpr"],  # but of these it is the sum of both differences
    "equalized_odds_difference": ["fnr", "fpr"],
    "accuracy_difference": ["accuracy"],
    "precision_difference": ["precision"],  # also called predictive parity
}


class Data(NamedTuple):
    """What is audited: true and predicted labels as booleans, weights or None, scores or None."""

    y: NDArray[np.bool_]
    p: NDArray[np.bool_]
    weights: Floats | None
    scores: Floats | None
    rows: Floats | None = None  # how many rows each stands for, if not one
    squares: Floats | None = None  # the sum of their weights' squares

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.y) if self.rows is None else int(self.rows.sum())

    def at(self, rows: NDArray[Any]) -> Data:
        """Some of the rows."""
        return Data(*(None if part is None else part[rows] for part in self))  # type: ignore[arg-type]


class Groups(NamedTuple):
    """The groups of one attribute: names, the code of every row, and ``[group, y_true, y_pred]`` three times."""

    names: list[str]
    code: NDArray[np.intp]
    rows: Floats
    weight: Floats
    squares: Floats  # of the weights

    def rates(self, name: str) -> Rates:
        """One of RATES per group, with the effective number of instances that it is a share of.

        The weighted share p has the variance Σw²(x − p)² / (Σw)², that of a share of p(1 − p) / variance instances.
        Where weights have nothing to do with the outcome x this is Kish's (Σw)² / Σw².
        """
        of, function = RATES[name]
        p, q, n = function(self.weight), function(self.squares), self.size(of)
        change = _rates.ratio(p * (1.0 - p), q * (1.0 - p) ** 2 + (1.0 - q) * p**2)
        rows = (self.rows * SHARE_OF[of]).sum(axis=(1, 2))
        return Rates(p, np.where((p > 0) & (p < 1), np.minimum(n * change, rows), n))

    def weight_of(self, of: str) -> Floats:
        """The weight of the rows, positives, … of every group."""
        found: Floats = (self.weight * SHARE_OF[of]).sum(axis=(1, 2))
        return found

    def size(self, of: str) -> Floats:
        """The effective number of rows, positives, … of every group, by Kish's (Σw)² / Σw²."""
        total, squares = ((counts * SHARE_OF[of]).sum(axis=(1, 2)) for counts in (self.weight, self.squares))
        return np.nan_to_num(_rates.ratio(total**2, squares))


def count(data: Data, sensitive: Any) -> Groups:
    code, names = read_groups(sensitive, len(data.y))

    def counted(weights: Floats | None) -> Floats:
        return group_counts(data.y, data.p, sensitive_features=code, sample_weight=weights, pos_label=True)[0]

    rows = counted(data.rows)
    if data.weights is None:
        return Groups(group_names(names), code, rows, rows, rows)
    squares = data.weights**2 if data.squares is None else data.squares
    return Groups(group_names(names), code, rows, counted(data.weights), counted(squares))


class Attribute(NamedTuple):
    """One sensitive column, or all of them crossed: the rows whose group is known, and these groups."""

    name: str
    columns: pd.DataFrame  # of these rows
    known: NDArray[np.bool_]
    groups: Groups


def count_attributes(
    data: Data, frame: pd.DataFrame, intersections: bool, missing_group: str | None = None
) -> Iterator[Attribute]:
    """The groups of each sensitive column, and of all of them crossed; a value that is ignored is in none."""
    attributes = {str(name): frame.iloc[:, [j]] for j, name in enumerate(frame.columns)}
    if len(attributes) < frame.shape[1]:
        raise ValueError(f"sensitive columns must have different names, got {[str(name) for name in frame.columns]}")
    if intersections and len(attributes) > 1:
        attributes[" & ".join(attributes)] = frame
    for attribute, columns in attributes.items():
        known = np.ones(len(frame), dtype=np.bool_)
        if missing_group == IGNORE:
            known = (columns != IGNORE).all(axis=1).to_numpy(dtype=np.bool_)
            if not known.any():
                raise ValueError(f"sensitive attribute {attribute!r} is missing in all rows")
        own = columns[known]
        groups = count(data.at(known), own)
        n = len(groups.names)
        if n < 2:
            raise ValueError(
                f"sensitive attribute {attribute!r} has only one group, {groups.names[0]!r}: two are needed"
            )
        if n > MAX_GROUPS:
            advice = "cut it into bands, with parityboost.metrics.into_groups say"
            if columns.shape[1] > 1:
                advice = "audit fewer columns together, or use intersections=False"
            raise ValueError(f"sensitive attribute {attribute!r} has {n} groups, at most {MAX_GROUPS}: {advice}")
        yield Attribute(attribute, own, known, groups)


def group_table(groups: Groups, confidence: float, min_group_size: int) -> pd.DataFrame:
    table: dict[str, Any] = {
        "group": groups.names,
        "n": groups.rows.sum(axis=(1, 2)).astype(np.int64),
        "n_effective": groups.size("rows"),
        "positives": groups.rows[:, 1].sum(axis=1).astype(np.int64),
    }
    for name in RATES:
        rates = groups.rates(name)
        table[name] = rates.value
        table[f"{name}_lower"], table[f"{name}_upper"] = wilson(rates.value, rates.n, critical_z(confidence))
    # Which of the two the four-fifths rule is about depends on which label is favourable.
    for name, shares in (("selection", table["selection_rate"]), ("rejection", 1.0 - table["selection_rate"])):
        table[f"{name}_ratio"] = _rates.ratio(shares, shares.max(keepdims=True))
    table["note"] = [_note(groups, g, min_group_size) for g in range(len(groups.names))]
    return pd.DataFrame(table)


def _note(groups: Groups, g: int, min_group_size: int) -> str:
    """What is too small to judge in a group: all of it, or some rates."""
    n = float(groups.size("rows")[g])
    if n < min_group_size:
        return f"only {_number(n)} rows: too few to judge"
    notes = []
    for of in ("positives", "negatives", "predicted positives"):
        n = float(groups.size(of)[g])
        names = " and ".join(name if name == "precision" else name.upper() for name in RATES if RATES[name].of == of)
        if n == 0:
            notes.append(f"no {of}: {names} not defined")
        elif n < min_group_size:
            notes.append(f"only {_number(n)} {of}: too few to judge {names}")
    return "; ".join(notes)


def _number(n: float) -> str:
    """An effective number of rows: whole unless weights made it otherwise."""
    return f"{n:.0f}" if abs(n - round(n)) < 1e-6 else f"{n:.1f} effective"


def measure_table(groups: Groups, confidence: float, normals: Floats, min_group_size: int) -> pd.DataFrame:
    """Every measure with its interval and the groups that are furthest apart."""
    rows = []
    for measure, names in MEASURES.items():
        parts = [groups.rates(name) for name in names]
        if measure == "disparate_mistreatment":
            interval = sum_of_largest(parts, confidence, normals)
        else:
            interval = largest_of(parts, confidence, normals[: len(parts)])
        row: dict[str, Any] = {"measure": measure, **interval._asdict(), "rate": None}
        for end in ("lowest", "highest"):
            row |= {end: None, f"{end}_rate": np.nan, f"{end}_n": np.nan}
        if not np.isnan(interval.value):
            widest = int(np.nanargmax([_rates.spread(part.value) for part in parts]))
            row["rate"] = names[widest]
            value, n = parts[widest]
            last = len(value) - 1  # of groups that are all equal, the first and the last: two different ones
            for end, g in (("lowest", int(np.nanargmin(value))), ("highest", last - int(np.nanargmax(value[::-1])))):
                row |= {end: groups.names[g], f"{end}_rate": value[g], f"{end}_n": n[g]}
        row["note"] = _measure_note(groups, names, min_group_size, bool(np.isnan(interval.value)))
        rows.append(row)
    return pd.DataFrame(rows)


def worst_gaps(groups: Groups, unknown: Floats) -> list[float]:
    """What each measure could be at worst, if all whose group is unknown were of one: ``unknown[y_true, y_pred]``."""
    weights = groups.weight[None] + np.eye(len(groups.names))[:, :, None, None] * unknown
    found = []
    for measure, names in MEASURES.items():
        gaps = [_rates.spread(RATES[name].function(weights)) for name in names]
        total = np.sum(gaps, axis=0) if measure == "disparate_mistreatment" else np.max(gaps, axis=0)
        found.append(float(np.fmax.reduce(total)))
    return found


def _measure_note(groups: Groups, names: list[str], min_group_size: int, undefined: bool) -> str:
    notes = []
    for of in dict.fromkeys(RATES[name].of for name in names):
        size = groups.size(of)
        absent = [groups.names[g] for g in np.flatnonzero(size == 0)]
        small = [groups.names[g] for g in np.flatnonzero((size > 0) & (size < min_group_size))]
        if absent:
            notes.append(f"no {of}: {', '.join(absent)}")
        if small:
            notes.append(f"fewer than {min_group_size} {of}: {', '.join(small)}")
    return ("not defined for fewer than two groups; " if undefined else "") + "; ".join(notes)


def overall_table(data: Data, confidence: float) -> pd.DataFrame:
    everyone = count(data, np.zeros(len(data.y), dtype=np.intp))
    z = critical_z(confidence)
    rows: dict[str, Interval] = {}
    for name in RATES:
        value, n = everyone.rates(name)
        lower, upper = wilson(value, n, z)
        rows[name] = Interval(float(value[0]), float(lower[0]), float(upper[0]))
    # Half the sum of two independent rates: each limit is as far away as half the two rates' limits together.
    ber = float(_rates.balanced_error_rate(everyone.weight))
    fnr, fpr = rows["fnr"], rows["fpr"]
    below = 0.5 * float(np.hypot(fnr.value - fnr.lower, fpr.value - fpr.lower))
    above = 0.5 * float(np.hypot(fnr.upper - fnr.value, fpr.upper - fpr.value))
    rows["balanced_accuracy"] = Interval(1 - ber, 1 - ber - above, 1 - ber + below)
    rows["balanced_error_rate"] = Interval(ber, ber - below, ber + above)
    if data.scores is not None:
        weights = np.ones(len(data.y)) if data.weights is None else data.weights
        rows["auc"] = auc(data.y, data.scores, weights, confidence)
    return pd.DataFrame(rows.values(), index=pd.Index(rows, name="measure"))


def calibration_tables(data: Data, groups: Groups, confidence: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How scores and outcomes agree, per group; and per group and bin. Bins are the deciles of all scores."""
    assert data.scores is not None
    y, scores = data.y, data.scores
    weights = np.ones(len(y)) if data.weights is None else data.weights
    edges = np.unique(np.quantile(scores, np.linspace(0, 1, N_BINS + 1)))
    bins = np.clip(np.searchsorted(edges, scores, side="left") - 1, 0, max(len(edges) - 2, 0))
    table = pd.DataFrame({"group": groups.code, "bin": bins, "n": 1, "w": weights, "ww": weights**2})
    table["score"], table["y"] = weights * scores, weights * y
    cells = table.groupby(["group", "bin"], sort=True).sum().reset_index()
    mean_score, observed = cells["score"] / cells["w"], np.minimum(cells["y"] / cells["w"], 1.0)
    lower, upper = wilson(observed, cells["w"] ** 2 / cells["ww"], critical_z(confidence))
    reliability = pd.DataFrame(
        {
            "group": np.array(groups.names, dtype=object)[cells["group"]],
            "score_from": edges[cells["bin"]],
            "score_to": edges[np.minimum(cells["bin"] + 1, len(edges) - 1)],
            "n": cells["n"],
            "mean_score": mean_score,
            "observed": observed,
            "observed_lower": lower,
            "observed_upper": upper,
        }
    )
    off = (cells["w"] * (mean_score - observed).abs()).groupby(cells["group"]).sum()
    total = table.groupby("group").sum()
    rows = []
    for g, name in enumerate(groups.names):
        own = groups.code == g
        area = auc(y[own], scores[own], weights[own], confidence)
        brier = np.average((scores[own] - y[own]) ** 2, weights=weights[own])
        row = {"group": name, "n": int(own.sum())}
        row |= {"mean_score": total["score"][g] / total["w"][g], "base_rate": total["y"][g] / total["w"][g]}
        row |= {"ece": off[g] / total["w"][g], "brier": brier, "auc": area.value}
        row |= {"auc_lower": area.lower, "auc_upper": area.upper}
        rows.append(row)
    return pd.DataFrame(rows), reliability
