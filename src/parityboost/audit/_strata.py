"""Gaps among people who are alike in other ways: within strata, and of all strata together.

Two groups may be selected equally often in every department and not in all of them together, or the reverse. Within a
stratum groups are compared as everywhere. The standardised rate of a group is the mean of its rates in the strata, each
weighted by its share of all people that the rate is about: the rate that the group would have if its people were spread
over the strata as all people are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats
from .._stats.intervals import Rates, largest_difference
from .._table.grouping import group_names, read_groups
from ._tables import RATES, Data, Groups, count
from ._text import ALL_STRATA

MEASURES = {"statistical_parity": "selection_rate", "equal_opportunity": "fnr", "predictive_equality": "fpr"}


def conditional_table(
    data: Data, columns: pd.DataFrame, control: pd.DataFrame, confidence: float, min_group_size: int
) -> pd.DataFrame:
    """One row per measure and stratum, and one for all strata together; of one attribute."""
    stratum, found = read_groups(control, len(data.y))
    names = group_names(found)
    group, values = read_groups(columns, len(data.y))
    shown, parts = group_names(values), [_count(data, group, stratum == k, len(values)) for k in range(len(names))]
    rows = []
    for measure, name in MEASURES.items():
        rates = [part.rates(name) for part in parts]
        for k, own in enumerate(rates):
            rows.append({"measure": measure, "stratum": names[k], "rate": name, **_gap(own, shown, confidence)})
            small = [shown[g] for g in np.flatnonzero((own.n > 0) & (own.n < min_group_size))]
            rows[-1]["note"] = f"fewer than {min_group_size} {RATES[name].of}: {', '.join(small)}" if small else ""
        rows.append({"measure": measure, "stratum": ALL_STRATA, "rate": name})
        sizes = np.array([part.weight_of(RATES[name].of) for part in parts])
        kept, strata, standard = _standardised(rates, sizes, min_group_size)
        rows[-1] |= _gap(standard, [shown[g] for g in kept], confidence)
        share = float(sizes[strata].sum() / sizes.sum()) if sizes.sum() > 0 else 0.0
        told = [f"left out, too small: {', '.join(n for g, n in enumerate(shown) if g not in kept)}"]
        told = told if len(kept) < len(shown) else []
        if len(strata) < len(names):
            told.append(
                f"of {len(strata)} of {len(names)} strata, those with all groups: {100 * share:.0f} % of people"
            )
        rows[-1]["note"] = "; ".join(told)
    return pd.DataFrame(rows)


def _count(data: Data, group: NDArray[Any], inside: NDArray[np.bool_], n_groups: int) -> Groups:
    """The counts of a stratum, for all groups, whether they are there or not."""
    found, there = count(data.at(inside), group[inside]), np.unique(group[inside])

    def spread_out(part: Floats) -> Floats:
        whole = np.zeros((n_groups, 2, 2))
        whole[there] = part
        return whole

    parts = (spread_out(part) for part in (found.rows, found.weight, found.squares))
    return Groups([], group, *parts)


def _gap(rates: Rates, names: list[str], confidence: float) -> dict[str, Any]:
    """The largest difference, and the groups that are furthest apart."""
    interval = largest_difference(rates, confidence)
    row: dict[str, Any] = {"n": float(rates.n.sum()), **interval._asdict()}
    for end in ("lowest", "highest"):
        row |= {end: None, f"{end}_rate": np.nan}
    if not np.isnan(interval.value):
        value, last = rates.value, len(rates.value) - 1
        for end, g in (("lowest", int(np.nanargmin(value))), ("highest", last - int(np.nanargmax(value[::-1])))):
            row |= {end: names[g], f"{end}_rate": float(value[g])}
    return row


def _standardised(rates: list[Rates], sizes: Floats, least: int) -> tuple[list[int], list[int], Rates]:
    """The groups that are large enough, the strata where all of these are, and the mean rate of each group there.

    The mean has the variance of a share of so many instances; a rate of none or all in a stratum is not taken for
    certain there.
    """
    n, value = np.array([each.n for each in rates]), np.array([each.value for each in rates])
    kept = np.flatnonzero(n.sum(axis=0) >= max(least, 1))
    strata = np.flatnonzero((n[:, kept] > 0).all(axis=1)) if len(kept) else np.empty(0, dtype=np.intp)
    if len(kept) < 2 or len(strata) == 0:
        nothing = np.full(len(kept), np.nan)
        return kept.tolist(), strata.tolist(), Rates(nothing, np.zeros(len(kept)))
    n, value = n[np.ix_(strata, kept)], value[np.ix_(strata, kept)]
    weight = sizes[strata].sum(axis=1) / sizes[strata].sum()
    mean = weight @ value
    smooth = (value * n + 0.5) / (n + 1.0)
    variance = (weight**2) @ (smooth * (1.0 - smooth) / n)
    middle = np.clip(weight @ smooth, 0.0, 1.0)
    return kept.tolist(), strata.tolist(), Rates(mean, middle * (1.0 - middle) / variance)
