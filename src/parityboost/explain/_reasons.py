"""Why a decision was unfavourable: the features that lowered a score most, against a stated reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import MISSING, Codes, Floats, on_grid
from .._model.reasons import ReasonRule, best, divided
from .._model.tables import Effects
from .._table.binning import Column, NumericColumn
from .._table.reading import find_label
from .._table.values import listed, object_array, plain, short
from ..estimators import AdaFairClassifier
from ._reading import columns_of, encode, glass_box, new_rows

BEST, APPROVED = "best", "approved"
DIRECTIONS = ("up", "down", "any")
BLOCK_ROWS = 1 << 12  # whose changes are looked for at a time
NO_CHANGE = "no value is enough on its own"
SHOWN = 5  # categories that are enough


@dataclass(frozen=True, repr=False, eq=False)
class Reasons:
    """What :func:`reasons` found. Printing it says the reasons of each row.

    Attributes
    ----------
    table : DataFrame
        One row per reason: ``row`` (of the index of X), ``rank`` from 1 on, ``feature`` and its ``value``,
        ``shortfall`` (how much it lowered the score against the reference), ``text`` and ``code`` to name it by, and
        ``change``: what would be enough on its own, for the features that can change.
    rows : DataFrame
        One row per unfavourable decision: its ``score``, the ``reference`` score, ``named``, the sum of the reasons'
        shortfalls, and ``others``, that of all other features. The two add up to the difference of the scores exactly.
    favourable : label
        The label that is favourable to the person.
    favourable_is_stated : bool
        Whether that was stated; if not, the positive label counts.
    rule : ReasonRule
        What the reasons were found by, for ``model.to_sql(reasons=…)``.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> X, y = [[1, 5], [2, 1], [3, 5], [4, 1], [5, 5], [6, 1]], [0, 0, 0, 1, 1, 1]
    >>> found = explain.reasons(AdaBoostClassifier(5).fit(X, y), X, codes={"x0": "R1"})
    >>> found.table[["row", "rank", "feature", "value", "code"]]
       row  rank feature  value code
    0    0     1      x0      1   R1
    1    1     1      x0      2   R1
    2    2     1      x0      3   R1
    """

    table: pd.DataFrame
    rows: pd.DataFrame
    favourable: Any
    favourable_is_stated: bool
    rule: ReasonRule = field()

    def __str__(self) -> str:
        stated = "" if self.favourable_is_stated else " (the positive label: which one is favourable was not stated)"
        rows = "1 row" if len(self.rows) == 1 else f"{len(self.rows):,} rows"
        lines = [f"{rows} did not get {self.favourable!r}{stated}."]
        for label, found in self.table.groupby("row", sort=False):
            lines += ["", f"Row {label}:"]
            for reason in found.to_dict("records"):
                code = f"[{reason['code']}] " if reason["code"] else ""
                enough = "" if reason["change"] == NO_CHANGE else "enough: "
                change = f"; {enough}{reason['change']}" if reason["change"] else ""
                lines.append(f"  {reason['rank']}. {code}{reason['text']} ({reason['value']}){change}")
        return "\n".join(lines)

    __repr__ = __str__


def reasons(
    model: AdaFairClassifier,
    X: Any,
    n: int = 4,
    *,
    reference: Any = BEST,
    favourable: Any = None,
    can_change: Iterable[str] | Mapping[str, str] = (),
    texts: Mapping[str, str] | None = None,
    codes: Mapping[str, str] | None = None,
    unnamed: Iterable[str] = (),
) -> Reasons:
    """Why the decision was unfavourable, for each row where it was: the features that lowered the score most.

    A feature's part of a score is what it adds on its own and half of what each of its pairs adds, so each feature is
    named once. How far it falls short is the difference to its part of the reference. The shortfalls of all features
    add up to the difference between the scores, to the last bit.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of stumps or native trees.
    X : DataFrame or array-like of shape (n_samples, n_features)
        The rows.
    n : int, default=4
        How many reasons at most. Only features that lowered the score are reasons.
    reference : {"best", "approved"} or table, default="best"
        What is compared with: ``"best"`` is the most that each feature can add, ``"approved"`` the mean of those rows
        of X that got the favourable decision; a table is for the mean of its rows that did.
    favourable : label, optional
        The label that is favourable to the person; by default the model's, or if that was not stated the positive one.
    can_change : list of str or dict, default=()
        The features that a person can change. A dict says in which direction: ``{"savings": "up", "rent": "any"}``.
    texts, codes : dict, optional
        What to call a feature in a letter, and the code that goes with it. By default its name, and none.
    unnamed : list of str, default=()
        Features that may not be named. What they add still counts, in ``others``.

    Returns
    -------
    Reasons

    Notes
    -----
    A change is about the score alone: the smallest step of one number, or the categories of one column, with which the
    decision would have been favourable if all else had stayed the same. It is no promise, and no cause.

    Examples
    --------
    >>> from parityboost import AdaBoostClassifier, explain
    >>> X, y = [[1, 5], [2, 1], [3, 5], [4, 1], [5, 5], [6, 1]], [0, 0, 0, 1, 1, 1]
    >>> model = AdaBoostClassifier(5).fit(X, y)
    >>> explain.reasons(model, X[:1], favourable=1, can_change=["x0"])
    1 row did not get 1.
    <BLANKLINE>
    Row 0:
      1. x0 (1); enough: more than 3.5
    """
    rule, good, stated = reason_rule(model, X, n, reference, favourable, texts, codes, unnamed)
    directions = _directions(model, can_change)
    (effects, constant), table = glass_box(model).score_effects(), new_rows(model, X)
    coded = encode(model, X)
    parts = divided(effects, coded)
    score = parts.sum(axis=1) + constant
    at = np.flatnonzero(is_unfavourable(score, rule))
    shortfalls = rule.shortfalls(parts[at])
    ranked = rule.ranked(shortfalls)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(score))
    named = np.where(ranked >= 0, np.take_along_axis(shortfalls, np.maximum(ranked, 0), axis=1), 0.0).sum(axis=1)
    rows = pd.DataFrame({"score": score[at], "reference": rule.reference.sum() + constant}, index=index[at])
    rows["named"], rows["others"] = named, shortfalls.sum(axis=1) - named

    person, rank = np.nonzero(ranked >= 0)
    features = ranked[person, rank].astype(np.intp)
    columns = columns_of(model)
    changes = _changes(effects, columns, coded[:, at], score[at], table, at, directions, rule)
    found = pd.DataFrame(
        {
            "row": index[at[person]],
            "rank": rank + 1,
            "feature": [columns[f].name for f in features],
            "value": _objects([_value(table, at[i], f) for i, f in zip(person, features, strict=True)]),
            "shortfall": shortfalls[person, features],
            "text": [rule.texts[f] for f in features],
            "code": [rule.codes[f] for f in features],
            "change": _objects([changes.get((i, f)) for i, f in zip(person.tolist(), features, strict=True)]),
        }
    )
    return Reasons(found, rows, good, stated, rule)


def reason_rule(
    model: AdaFairClassifier,
    X: Any,
    n: int = 4,
    reference: Any = BEST,
    favourable: Any = None,
    texts: Mapping[str, str] | None = None,
    codes: Mapping[str, str] | None = None,
    unnamed: Iterable[str] = (),
) -> tuple[ReasonRule, Any, bool]:
    """What reasons are found by, the label that is favourable, and whether that was stated. See :func:`reasons`."""
    columns = columns_of(model)
    names = [column.name for column in columns]
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, got {n!r}")
    unnamed = [unnamed] if isinstance(unnamed, str) else list(unnamed)
    for what, given in (("texts", texts or {}), ("codes", codes or {}), ("unnamed", unnamed)):
        _check_features(what, given, names)
    if favourable is not None:
        favourable = find_label("favourable", favourable, model.classes_.tolist())
    stated = favourable if favourable is not None else model.favourable_
    good = model.positive_ if stated is None else stated
    sign = 1 if good == model.positive_ else -1
    named = tuple(f for f, name in enumerate(names) if name not in unnamed)
    effects, constant = glass_box(model).score_effects()
    if isinstance(reference, str) and reference == BEST:
        wanted = best(effects, [column.n_codes for column in columns], sign)
    else:
        if isinstance(reference, str) and reference != APPROVED:
            raise ValueError(f"reference must be {BEST!r}, {APPROVED!r} or a table of rows, got {reference!r}")
        of = X if isinstance(reference, str) else reference
        parts = divided(effects, encode(model, of))
        score = parts.sum(axis=1) + constant
        approved = score > 0 if sign > 0 else score <= 0
        if not approved.any():
            raise ValueError(
                f"reference: none of the {len(approved):,} rows got {good!r}, so there is no mean of those who did"
            )
        wanted = on_grid(parts[approved].mean(axis=0))
    told = (
        tuple(str((texts or {}).get(name, name)) for name in names),
        tuple(str((codes or {}).get(name, "")) for name in names),
    )
    return ReasonRule(wanted, sign, named, *told, int(n)), plain(good), stated is not None


def is_unfavourable(score: Floats, rule: ReasonRule) -> NDArray[np.bool_]:
    """Which decisions were: a score of 0 is for the negative label."""
    return score <= 0 if rule.sign > 0 else score > 0


def reason_columns(model: Any, X: Any, rule: ReasonRule) -> dict[str, NDArray[Any]]:
    """``reason_1``, ``reason_2``, … of each row, and their codes if there are any: None where there is no reason."""
    effects, constant = glass_box(model).score_effects()
    parts = divided(effects, encode(model, X))
    ranked = rule.ranked(rule.shortfalls(parts))
    ranked[~is_unfavourable(parts.sum(axis=1) + constant, rule)] = -1
    found = {}
    for k in range(rule.n):
        of = ranked[:, k] if k < ranked.shape[1] else np.full(len(ranked), -1)
        for suffix, texts in (("", rule.texts), ("_code", rule.codes)):
            if any(texts):
                found[f"reason_{k + 1}{suffix}"] = object_array([*texts, None])[of]
    return found


def _objects(values: list[Any]) -> pd.Series[Any]:
    """A column that stays what it is: pandas would make text of it, and of None a number."""
    return pd.Series(object_array(values), dtype=object)


def _check_features(what: str, given: Iterable[str], names: list[str]) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"{what}: the model has no feature {name!r}; its features are {listed(names)}")


def _directions(model: Any, can_change: Any) -> dict[int, str]:
    """The features that can change, and in which direction."""
    columns = columns_of(model)
    names = [column.name for column in columns]
    given = [can_change] if isinstance(can_change, str) else can_change
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, "any")
    _check_features("can_change", wanted, names)
    for name, direction in wanted.items():
        if direction not in DIRECTIONS:
            raise ValueError(f"can_change: {name!r} must go {', '.join(DIRECTIONS)}, got {direction!r}")
        if direction != "any" and not isinstance(columns[names.index(name)], NumericColumn):
            raise ValueError(f"can_change: {name!r} holds categories, which go neither up nor down: use 'any'")
    return {names.index(name): direction for name, direction in wanted.items()}


def _changes(
    effects: Effects,
    columns: tuple[Column, ...],
    codes: Codes,
    score: Floats,
    table: Any,
    at: NDArray[np.intp],
    directions: dict[int, str],
    rule: ReasonRule,
) -> dict[tuple[int, int], str]:
    """What would be enough, for each row and each feature that can change."""
    found = {}
    for f, direction in directions.items():
        column = columns[f]
        every = np.arange(column.n_codes)
        for start in range(0, len(score), BLOCK_ROWS):
            rows = np.arange(start, min(start + BLOCK_ROWS, len(score)))
            adds = np.repeat(effects.tables[f, every][None, :], len(rows), axis=0)
            for pair in effects.pairs:
                if f == pair.features[0]:
                    adds += pair.scores[pair.row_of[every]][:, pair.column_of[codes[pair.features[1], rows]]].T
                elif f == pair.features[1]:
                    adds += pair.scores[pair.row_of[codes[pair.features[0], rows]]][:, pair.column_of[every]]
            own = codes[f, rows].astype(np.intp)
            with_it = score[rows][:, None] - np.take_along_axis(adds, own[:, None], axis=1) + adds
            enough = ~is_unfavourable(with_it, rule)
            for k, row in enumerate(rows.tolist()):
                if isinstance(column, NumericColumn):
                    change = _number_that_is_enough(
                        column, enough[k], int(own[k]), _value(table, at[row], f), direction
                    )
                else:
                    change = _categories_that_are_enough(column, enough[k])
                found[row, f] = change or NO_CHANGE
    return found


def _number_that_is_enough(
    column: NumericColumn, enough: NDArray[np.bool_], own: int, value: Any, direction: str
) -> str:
    """The nearest numbers that are enough; nothing is near a missing one."""
    bins = np.flatnonzero(enough[: column.n_bins + 1])
    bins = bins[bins != MISSING]
    if own == MISSING or not len(bins):
        return ""
    starts = [int(bins[0]), *(int(b) for a, b in pairwise(bins.tolist()) if b > a + 1)]
    ends = [*(int(a) for a, b in pairwise(bins.tolist()) if b > a + 1), int(bins[-1])]
    near: list[tuple[float, str]] = []
    for first, last in zip(starts, ends, strict=True):
        low = float(column.edges[first - 2]) if first > 1 else None
        high = float(column.edges[last - 1]) if last <= len(column.edges) else None
        if first > own and direction != "down" and low is not None:
            upper = "" if high is None else f" and at most {high:.15g}"
            near.append((low - float(value), f"more than {low:.15g}{upper}"))
        if last < own and direction != "up" and high is not None:
            lower = "" if low is None else f" and more than {low:.15g}"
            near.append((float(value) - high, f"at most {high:.15g}{lower}"))
    return min(near)[1] if near else ""


def _categories_that_are_enough(column: Any, enough: NDArray[np.bool_]) -> str:
    found = [short(value) for value, code in zip(column.categories, column.codes, strict=True) if enough[code]]
    more = f" or {len(found) - SHOWN} others" if len(found) > SHOWN else ""
    return " or ".join(found[:SHOWN]) + more


def _value(table: Any, row: int, feature: int) -> Any:
    value = table.iloc[row, feature] if isinstance(table, pd.DataFrame) else table[row, feature]
    return plain(value)
