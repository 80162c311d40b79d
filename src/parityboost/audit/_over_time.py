"""Rates and gaps period by period, and an alarm where a gap is larger than it was, or may be, beyond chance.

The gap of a group is how far its rate is from that of everyone else. A gap is followed in two ways: by itself in each
period, which finds large changes, and added up over periods (a one-sided CUSUM), which finds small ones that last. Each
way has one limit for all periods and groups. The limits come from simulated series of the same sizes in which nothing
changes: of these no more than a given share may raise an alarm anywhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats, Integers
from .._io.json_values import to_plain
from .._stats.intervals import critical_z, exact
from .._table.grouping import group_names, read_groups
from .._table.values import plain, short, to_pandas
from ._labels import read_columns, read_decisions
from ._sections import Section, as_html, as_markdown, as_text, interval

EVERY = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
# Which rows a rate is a share of: all, those of the positive label, those of the negative one.
MEASURES = {"statistical_parity": None, "equal_opportunity": True, "predictive_equality": False}
SLACK = 0.5  # standard errors that a gap may be too large in each period without adding up
N_SERIES = 2_000  # simulated
BLOCK = 1 << 21  # numbers that are drawn at a time
SHARE_OF_REFERENCE = 5  # a fifth of the periods, if it is not said how many
FEWEST = 4  # periods to compare with
SHOWN = 10  # alarms that are told one by one
PART_OF_MINIMUM = 3  # a group with fewer rows than this part of the minimum, in the mean period, is left out


@dataclass(frozen=True, repr=False, eq=False)
class AuditOverTime:
    """What :func:`audit_over_time` found. Printing it shows the gaps and says whether there is an alarm.

    Attributes
    ----------
    periods : DataFrame
        One row per period and group that is followed: ``period``, ``group``, ``n``, ``rate``, ``gap`` (the rate minus
        that of everyone else), each with ``…_lower`` and ``…_upper``; the ``control_limit`` of the size of the gap,
        missing in the periods that are compared with; ``added_up``, how far the gap was too large so far, in standard
        errors, against ``settings["added_up_limit"]``; and ``alarm``: ``""``, ``"at once"`` or ``"added up"``.
    alarms : DataFrame
        The first row of ``periods`` with an alarm, for each group that has one (of two groups, for the one that is
        behind), and ``since``: the first period of a change that added up.
    notes : list of str
        Which periods were merged, and which groups are left out.
    settings : dict
        The attribute, the measure, how many periods there are and are compared with, the limits.

    Examples
    --------
    >>> import pandas as pd
    >>> from parityboost.audit import audit_over_time
    >>> days = pd.date_range("2024-01-01", periods=720).repeat(20)
    >>> teams, chosen = ["red", "blue"] * 7200, [1, 0, 0, 1] * 3600
    >>> found = audit_over_time(chosen, by=days, sensitive_features=teams, limit=0.1)
    >>> found.summary()[2]
    'No alarm: no gap is above a limit of 0.1 beyond chance.'
    """

    periods: pd.DataFrame
    alarms: pd.DataFrame
    notes: list[str]
    settings: dict[str, Any]

    def summary(self) -> list[str]:
        """The findings as sentences."""
        s = self.settings
        if s["limit"] is None:
            against = f"the gaps of the first {s['n_reference']} periods, up to {self.periods['period'][s['last']]},"
        else:
            against = f"a limit of {s['limit']:g}"
        what = "share that gets" if s["measure"] == "statistical_parity" else "share of them that gets"
        of = {"equal_opportunity": "Of the true positives, the", "predictive_equality": "Of the true negatives, the"}
        start = of.get(s["measure"], "The")
        said = [
            f"{start} {what} {s['selected']!r} was followed over {s['n_periods']} periods. The gap of a group is its "
            "share minus that of everyone else."
        ]
        if s["favourable"] is None:
            said.append("Which label is favourable to the person was not stated: it is the positive one.")
        if len(self.alarms) == 0:
            said.append(f"No alarm: no gap is above {against} beyond chance.")
        for row in self.alarms.head(SHOWN).to_dict("records"):
            if row["alarm"] == "at once":
                how = f"its gap of {row['gap']:+.3f} is beyond the control limit of {row['control_limit']:.3f}"
            else:
                how = (
                    f"its gap, {row['gap']:+.3f} now, has been too large since {row['since']} or so, a little each time"
                )
            said.append(
                f"Alarm in {row['period']}: {s['attribute']} {row['group']}: {how}, against {against.rstrip(',')}."
            )
        if len(self.alarms) > SHOWN:
            said.append(f"{len(self.alarms) - SHOWN} other groups have alarms too.")
        said.append(
            f"Where nothing changes, {100 * s['false_alarms']:g} % of such series raise an alarm somewhere, by chance."
        )
        return [*said, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, dicts, numbers and text; None where a value is not defined."""
        tables = {"periods": self.periods, "alarms": self.alarms}
        return {"settings": self.settings, "notes": self.notes} | {
            name: [{key: to_plain(value) for key, value in row.items()} for row in table.to_dict("records")]
            for name, table in tables.items()
        }

    def to_json(self, indent: int | None = 2) -> str:
        """:meth:`to_dict`, with the sentences of :meth:`summary`, as JSON."""
        report = self.to_dict() | {"summary": self.summary()}
        return json.dumps(report, indent=indent, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """Summary and table in Markdown."""
        return as_markdown(*self._shown())

    def _repr_html_(self) -> str:
        return as_html(*self._shown())

    def __str__(self) -> str:
        return as_text(*self._shown())

    __repr__ = __str__

    def _shown(self) -> tuple[str, list[Section], list[str]]:
        """The last periods, which are what a monthly audit is about; the frame has all."""
        last = self.periods["period"].drop_duplicates().tail(3)
        rows = self.periods[self.periods["period"].isin(last)]
        table = pd.DataFrame(
            {
                "period": rows["period"],
                "group": rows["group"],
                "n": rows["n"].map("{:,}".format),
                "rate": [interval(*limits) for limits in rows[["rate", "rate_lower", "rate_upper"]].to_numpy()],
                "gap": [interval(*limits) for limits in rows[["gap", "gap_lower", "gap_upper"]].to_numpy()],
                "control limit": ["" if np.isnan(limit) else f"±{limit:.3f}" for limit in rows["control_limit"]],
                "alarm": rows["alarm"],
            }
        )
        title = f"Audit of {self.settings['n']:,} decisions over {self.settings['n_periods']} periods"
        return title, [Section(f"The last periods by {self.settings['attribute']}", table)], self.summary()


class _Series(NamedTuple):
    """Counts per period and group, ``[..., period, group]``: rows and those selected, of the group and of others."""

    n: Floats
    selected: Floats
    n_others: Floats
    selected_others: Floats

    @property
    def gap(self) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = self.selected / self.n - self.selected_others / self.n_others
        return np.nan_to_num(found)

    def summed(self, periods: slice) -> _Series:
        return _Series(*(counts[..., periods, :].sum(axis=-2, keepdims=True) for counts in self))

    def variance(self, rate: Floats, rate_others: Floats) -> Floats:
        """Of the gap, where these are the rates."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = rate * (1.0 - rate) / self.n + rate_others * (1.0 - rate_others) / self.n_others
        return np.where((self.n > 0) & (self.n_others > 0), found, np.inf)


def audit_over_time(
    y_pred: Any,
    *,
    by: Any,
    sensitive_features: Any,
    every: str = "month",
    y_true: Any = None,
    measure: str = "statistical_parity",
    limit: float | None = None,
    n_reference: int | None = None,
    positive_label: Any = None,
    favourable: Any = None,
    confidence: float = 0.95,
    false_alarms: float = 0.01,
    min_group_size: int = 30,
    random_state: Any = 0,
) -> AuditOverTime:
    """Follow the gaps between groups over time, and raise an alarm if one grows beyond chance.

    Parameters
    ----------
    y_pred : array-like of shape (n_samples,)
        The decisions.
    by : array-like of shape (n_samples,)
        The date of each.
    sensitive_features : array-like, Series or DataFrame
        The group of each; several columns are crossed.
    every : {"day", "week", "month", "quarter", "year"}, default="month"
        The length of a period.
    y_true : array-like of shape (n_samples,), optional
        Outcomes, for the measures that need them.
    measure : {"statistical_parity", "equal_opportunity", "predictive_equality"}, default="statistical_parity"
        Whose shares are followed: of all, of the true positives, or of the true negatives.
    limit : float, optional
        The largest gap there may be. By default gaps are compared with those of the first periods.
    n_reference : int, optional
        How many periods are compared with; by default a fifth of them, at least 4.
    positive_label, favourable : label, optional
        As in :func:`audit`: selected is who gets the favourable label, by default the positive one.
    confidence : float, default=0.95
        Coverage of every interval by itself.
    false_alarms : float, default=0.01
        The share of series in which nothing changes that may raise an alarm anywhere.
    min_group_size : int, default=30
        Periods in which a group has fewer rows are merged with the next.
    random_state : int, Generator or None, default=0
        Seed of the simulated series.

    Returns
    -------
    AuditOverTime

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from parityboost.audit import audit_over_time
    >>> rng = np.random.default_rng(0)
    >>> days = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 1000, 20_000), "D")
    >>> team = rng.choice(["red", "blue"], 20_000)
    >>> late = (team == "blue") & (days >= "2024-02-01")
    >>> chosen = rng.random(20_000) < np.where(late, 0.3, 0.5)
    >>> found = audit_over_time(chosen, by=days, sensitive_features=team, favourable=True)
    >>> found.alarms[["period", "group", "alarm"]]
        period group    alarm
    0  2024-02  blue  at once
    """
    _check(every, measure, limit, confidence, false_alarms, min_group_size)
    if MEASURES[measure] is not None and y_true is None:
        raise ValueError(f"measure={measure!r} needs y_true: it is a share of those of one true label")
    true, selected, labels = read_decisions(y_true, y_pred, positive_label, favourable)
    period, names = _periods(by, every, len(selected))
    frame = read_columns(sensitive_features, len(selected))
    group, values = read_groups(frame, len(selected))
    groups = group_names(values)
    if MEASURES[measure] is not None:
        kept = true == MEASURES[measure]
        selected, period, group = selected[kept], period[kept], group[kept]
    shape = len(names), len(groups)
    cell = period.astype(np.int64) * len(groups) + group
    n = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    x = np.bincount(cell[selected], minlength=shape[0] * shape[1]).reshape(shape)
    followed, notes = _followed(n, groups, min_group_size)
    n, x, names = _merged(n, x, names, followed, min_group_size, notes)
    if limit is None:
        n_reference = max(len(n) // SHARE_OF_REFERENCE, FEWEST) if n_reference is None else n_reference
        if isinstance(n_reference, bool) or not isinstance(n_reference, (int, np.integer)) or n_reference < 1:
            raise ValueError(f"n_reference must be a whole number of at least 1, got {n_reference!r}")
        if n_reference >= len(n):
            raise ValueError(
                f"there are {len(n)} periods, and {n_reference} are compared with: none is left. Give limit, the "
                "largest gap there may be, or a smaller n_reference"
            )
    first = 0 if n_reference is None or limit is not None else int(n_reference)
    totals = n.sum(axis=1, keepdims=True), x.sum(axis=1, keepdims=True)
    own_n, own_x = n[:, followed], x[:, followed]
    series = _Series(*(np.asarray(c, dtype=np.float64) for c in (own_n, own_x, totals[0] - own_n, totals[1] - own_x)))
    judge = _AgainstLimit(series, limit) if limit is not None else _AgainstReference(series, first)
    at_once, added_up = _critical(judge, series, false_alarms, np.random.default_rng(random_state))
    table, alarms = _tables(series, judge, names, [groups[k] for k in followed], at_once, added_up, confidence)
    settings = {
        "attribute": " & ".join(map(str, frame.columns)),
        "measure": measure,
        **labels,
        "every": every,
        "n": int(n.sum()),
        "n_periods": len(n),
        "n_reference": first,
        "last": max(first - 1, 0) * len(followed),
        "limit": None if limit is None else float(limit),
        "added_up_limit": added_up,
        "confidence": float(confidence),
        "false_alarms": float(false_alarms),
    }
    return AuditOverTime(table, alarms, notes, settings)


def _check(every: str, measure: str, limit: Any, confidence: float, false_alarms: float, min_group_size: Any) -> None:
    for name, value, known in (("every", every, EVERY), ("measure", measure, MEASURES)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    for name, share in (("confidence", confidence), ("false_alarms", false_alarms)):
        if not 0 < share < 1:
            raise ValueError(f"{name} must be between 0 and 1, got {share!r}")
    if limit is not None and not 0 <= limit < 1:
        raise ValueError(f"limit must be a difference between 0 and 1, such as 0.1, got {limit!r}")
    if not isinstance(min_group_size, (int, np.integer)) or min_group_size < 1:
        raise ValueError(f"min_group_size must be a whole number of at least 1, got {min_group_size!r}")


def _periods(by: Any, every: str, n_rows: int) -> tuple[Integers, list[str]]:
    """The number of each row's period, and the names of the periods that occur, in their order."""
    column = to_pandas(by)
    name = getattr(column, "name", None) or "by"
    if isinstance(column, pd.DataFrame):
        raise ValueError("by must be one column of dates")
    values = pd.Series(column).reset_index(drop=True)
    if len(values) != n_rows:
        raise ValueError(f"y_pred has {n_rows} values, {name} {len(values)}")
    if pd.api.types.is_numeric_dtype(values.dtype):
        raise TypeError(f"{name} must hold dates, got numbers such as {short(plain(values.iloc[0]))}")
    codes, distinct = pd.factorize(values)  # to parse each date once
    dates = pd.to_datetime(pd.Series(distinct), errors="coerce", utc=False)
    bad = np.flatnonzero(codes < 0) if (codes < 0).any() else np.flatnonzero(dates.isna().to_numpy()[codes])
    if len(bad):
        raise ValueError(f"{name} must hold a date in every row, got {short(values.iloc[int(bad[0])])} in row {bad[0]}")
    if getattr(dates.dt, "tz", None) is not None:
        dates = dates.dt.tz_localize(None)
    periods = dates.dt.to_period(EVERY[every])
    number, found = pd.factorize(periods, sort=True)
    starts = [str(period.start_time.date()) if every == "week" else str(period) for period in found]
    return np.asarray(number)[codes], starts


def _followed(n: Integers, groups: list[str], min_group_size: int) -> tuple[list[int], list[str]]:
    """The groups that are large enough to be followed."""
    if len(groups) < 2:
        raise ValueError(f"there is only one group, {groups[0]!r}: two are needed")
    mean = n.sum(axis=0) / len(n)
    large = [k for k in range(len(groups)) if mean[k] * PART_OF_MINIMUM >= min_group_size]
    if len(large) < 2:
        large = sorted(np.argsort(-mean, kind="stable")[:2].tolist())
    left_out = [groups[k] for k in range(len(groups)) if k not in large]
    if not left_out:
        return large, []
    note = (
        f"Not followed, because a period has too few rows of them, but counted among the others: {', '.join(left_out)}."
    )
    return large, [note]


def _merged(
    n: Integers, x: Integers, names: list[str], followed: list[int], min_group_size: int, notes: list[str]
) -> tuple[Integers, Integers, list[str]]:
    """Periods in which every group that is followed has enough rows: small ones go with the next, the last with the one
    before."""
    ends: list[int] = []
    start = 0
    for t in range(len(n)):
        if n[start : t + 1, followed].sum(axis=0).min() >= min_group_size:
            ends.append(t + 1)
            start = t + 1
    if not ends:
        raise ValueError(f"there are fewer than {min_group_size} rows of a group in all periods together")
    ends[-1] = len(n)
    starts = [0, *ends[:-1]]
    if len(ends) < len(n):
        notes.append(
            f"{len(n)} periods were merged into {len(ends)}, so that a group has {min_group_size} rows or more in each."
        )
    labels = [names[a] if b - a == 1 else f"{names[a]} to {names[b - 1]}" for a, b in zip(starts, ends, strict=True)]
    return np.add.reduceat(n, starts, axis=0), np.add.reduceat(x, starts, axis=0), labels


class _AgainstReference:
    """How far gaps are beyond those of the first periods, on either side: a gap the other way round is one, too."""

    def __init__(self, series: _Series, first: int) -> None:
        self.first = first
        start = series.summed(slice(0, first))
        self.rate, self.rate_others = ((x + 0.5) / (n + 1.0) for n, x in ((start.n, start.selected), start[2:]))
        of_both = series.variance(self.rate, self.rate_others) + start.variance(self.rate, self.rate_others)
        self.error = np.sqrt(of_both)
        self.rates = np.broadcast_to(self.rate, series.n.shape), np.broadcast_to(self.rate_others, series.n.shape)

    def errors(self, series: _Series) -> tuple[Floats, Floats]:
        """How far gaps are too far up, and too far down, in standard errors, ``[..., period, group]``."""
        gap, before = series.gap, np.abs(series.summed(slice(0, self.first)).gap)
        up, down = ((side * gap - before) / self.error for side in (1.0, -1.0))
        return up[..., self.first :, :], down[..., self.first :, :]

    def limits(self, series: _Series, at_once: float) -> Floats:
        """The control limit of the size of each gap."""
        found = np.abs(series.summed(slice(0, self.first)).gap) + at_once * self.error
        found[: self.first] = np.nan
        return found


class _AgainstLimit:
    """How far gaps are beyond a limit, on either side. It is tried out on groups whose gaps are just at it."""

    first = 0

    def __init__(self, series: _Series, limit: float) -> None:
        self.limit = limit
        whole = series.summed(slice(None))
        others = np.clip((whole.selected_others + 0.5) / (whole.n_others + 1.0), 0.0, 1.0)
        side = np.where(whole.gap >= 0, 1.0, -1.0)
        side = np.where((others + side * limit > 1.0) | (others + side * limit < 0.0), -side, side)
        rate = np.clip(others + side * limit, 0.0, 1.0)
        self.rates = np.broadcast_to(rate, series.n.shape), np.broadcast_to(others, series.n.shape)

    def _error(self, series: _Series) -> Floats:
        rates = ((x + 1.0) / (n + 2.0) for n, x in ((series.n, series.selected), series[2:]))
        return np.sqrt(series.variance(*rates))

    def errors(self, series: _Series) -> tuple[Floats, Floats]:
        error, gap = self._error(series), series.gap
        return (gap - self.limit) / error, (-gap - self.limit) / error

    def limits(self, series: _Series, at_once: float) -> Floats:
        return self.limit + at_once * self._error(series)


def _added_up(errors: Floats) -> Floats:
    """The one-sided CUSUM over the periods, ``[..., period, group]``."""
    found = np.empty_like(errors)
    total = np.zeros_like(errors[..., 0, :])
    for t in range(errors.shape[-2]):
        total = np.maximum(total + errors[..., t, :] - SLACK, 0.0)
        found[..., t, :] = total
    return found


def _critical(judge: Any, series: _Series, false_alarms: float, rng: np.random.Generator) -> tuple[float, float]:
    """Limits of single errors and of those added up, each of which half of the false alarms may be beyond."""
    size = max(BLOCK // series.n.size, 1)
    worst, highest = [], []
    counts = series.n.astype(np.int64), series.n_others.astype(np.int64)
    for start in range(0, N_SERIES, size):
        shape = min(size, N_SERIES - start), *series.n.shape
        drawn = [rng.binomial(n, rate, size=shape) for n, rate in zip(counts, judge.rates, strict=True)]
        simulated = _Series(series.n, drawn[0].astype(np.float64), series.n_others, drawn[1].astype(np.float64))
        simulated = _Series(*(np.broadcast_to(values, shape) for values in simulated))
        errors = judge.errors(simulated)
        worst.append(np.maximum(*errors).max(axis=(1, 2)))
        highest.append(np.maximum(*(_added_up(side).max(axis=(1, 2)) for side in errors)))
    share = 1.0 - 0.5 * false_alarms
    return (
        float(np.quantile(np.concatenate(worst), share, method="higher")),
        float(np.quantile(np.concatenate(highest), share, method="higher")),
    )


def _tables(
    series: _Series, judge: Any, names: list[str], groups: list[str], at_once: float, added_up: float, confidence: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row per period and group; and the first alarm of each group."""
    z = critical_z(confidence)
    n_periods, n_groups = series.n.shape
    errors = np.full((2, n_periods, n_groups), -np.inf)
    errors[:, judge.first :] = judge.errors(series)
    sums = np.array([_added_up(side) for side in errors])
    rates = []
    for n, x in ((series.n, series.selected), (series.n_others, series.selected_others)):
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.nan_to_num(x / n)
        low, high = exact(rate, n, z)
        rates.append((np.where(n > 0, rate, np.nan), low, high))
    (own, low, high), (others, low_others, high_others) = rates
    gap = own - others
    alarm = np.where(errors.max(axis=0) > at_once, "at once", np.where(sums.max(axis=0) > added_up, "added up", ""))
    columns: dict[str, NDArray[Any]] = {
        "period": np.repeat(np.array(names, dtype=object), n_groups),
        "group": np.tile(np.array(groups, dtype=object), n_periods),
        "n": series.n.astype(np.int64).ravel(),
        "rate": own.ravel(),
        "rate_lower": low.ravel(),
        "rate_upper": high.ravel(),
        "gap": gap.ravel(),
        "gap_lower": (gap - np.hypot(own - low, high_others - others)).ravel(),
        "gap_upper": (gap + np.hypot(high - own, others - low_others)).ravel(),
        "control_limit": judge.limits(series, at_once).ravel(),
        "added_up": sums.max(axis=0).ravel(),
        "alarm": alarm.ravel(),
    }
    table = pd.DataFrame(columns)
    told = table["alarm"] != ""
    if n_groups == 2:  # the other's gap is the same
        told &= ((errors[1] > at_once) | (sums[1] > added_up)).ravel()
    first = table[told].drop_duplicates("group")
    since = []
    for row in first.index.tolist():
        t, g = divmod(row, n_groups)
        side = int(np.argmax(sums[:, t, g]))
        zero = np.flatnonzero(sums[side, : t + 1, g] == 0)
        since.append(names[min(int(zero[-1]) + 1, t) if len(zero) else judge.first])
    alarms = first.assign(since=since).reset_index(drop=True)
    return table, alarms
