"""The one shape in which every loader, generator and reader returns its data, and the paper's Table 1 of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import Bunch


def make_bunch(
    *,
    name: str,
    data: pd.DataFrame,
    target: pd.Series[int],
    sensitive: pd.Series[Any] | pd.DataFrame,
    protected: Any,
    target_names: list[str],
    description: str,
    licence: str | None,
    source: str | None,
    **extra: Any,
) -> Bunch:
    """Assemble the Bunch. `target_names` is (negative, positive); `extra` goes in as it is."""
    names = [str(column) for column in pd.DataFrame(sensitive).columns]
    facts = [
        f"Instances: {len(data):,}; attributes: {data.shape[1]}",
        f"Sensitive attribute: {', '.join(names)}; protected group: {group_name(protected)}",
        f"Positive class: {target_names[1]}; positive to negative {class_ratio(target.to_numpy())}",
        f"Licence: {licence or 'not stated'}",
        f"Source: {source or 'not stated'}",
    ]
    return Bunch(
        name=name,
        data=data,
        target=target,
        sensitive=sensitive,
        sensitive_names=names,
        protected=protected,
        positive_label=target_names[1],
        feature_names=list(data.columns),
        feature_types={
            str(name): "categorical" if isinstance(dtype, pd.CategoricalDtype) else "numeric"
            for name, dtype in data.dtypes.items()
        },
        target_names=target_names,
        DESCR="\n".join([name, "=" * len(name), description, "", *facts, ""]),
        licence=licence,
        source=source,
        **extra,
    )


def to_arrays(bunch: Bunch) -> Bunch:
    """The same Bunch with NumPy arrays; a table with categories becomes an array of objects, else floats."""
    mixed = "categorical" in bunch.feature_types.values()
    return Bunch(
        **{
            **bunch,
            "data": bunch.data.to_numpy(dtype=object if mixed else np.float64),
            "target": bunch.target.to_numpy(),
            "sensitive": bunch.sensitive.to_numpy(dtype=object),
        }
    )


def overview(*bunches: Bunch) -> pd.DataFrame:
    """Describe datasets as Table 1 of the paper does, one column each, with the base rate of every group.

    Parameters
    ----------
    *bunches : Bunch
        What the loaders, :func:`read_table` and :func:`make_biased_classification` return.

    Returns
    -------
    pandas.DataFrame
        Text, made for printing; :func:`base_rates` has the numbers. The class ratio is truncated to two digits, as in
        the paper. Groups are ordered by name, the protected one first.

    Examples
    --------
    >>> from parityboost.datasets import load_adult, overview
    >>> print(overview(load_adult()))
                       Adult census
    #Instances               45,175
    #Attributes                  14
    Sen.Attr.                   sex
    Prot.Group (s)           Female
    Class ratio (+:-)        1:3.03
    Positive class             >50K
    Base rate 1        Female 0.114
    Base rate 2          Male 0.313
    """
    if not bunches:
        raise ValueError("overview needs at least one Bunch, got none")
    columns = [_column(bunch) for bunch in bunches]
    rows = max(columns, key=len)  # the dataset with most groups has all the rows, in order
    table = pd.DataFrame([[column.get(row, "") for column in columns] for row in rows], index=list(rows))
    table.columns = pd.Index([bunch.name for bunch in bunches])
    return table


def base_rates(bunch: Bunch) -> pd.DataFrame:
    """Count instances and positives per group; several sensitive columns are crossed.

    Parameters
    ----------
    bunch : Bunch
        What the loaders, :func:`read_table` and :func:`make_biased_classification` return.

    Returns
    -------
    pandas.DataFrame
        One row per group, the protected one first, with the columns `n`, `positives` and `base_rate`.

    Examples
    --------
    >>> from parityboost.datasets import base_rates, load_adult
    >>> print(base_rates(load_adult()).round(3).rename_axis(None))
                n  positives  base_rate
    Female  14680       1669      0.114
    Male    30495       9533      0.313
    """
    sensitive = pd.DataFrame(bunch.sensitive)
    keys = [sensitive[column].to_numpy() for column in sensitive.columns]
    target = pd.Series(np.asarray(bunch.target)).groupby(keys)
    counts = pd.DataFrame({"n": target.size(), "positives": target.sum()})
    counts.index.names = bunch.sensitive_names
    counts["base_rate"] = counts["positives"] / counts["n"]
    if bunch.protected is None:
        return counts
    others_last = np.argsort([group != bunch.protected for group in counts.index], kind="stable")
    return counts.iloc[others_last]


def class_ratio(target: ArrayLike) -> str:
    """Positive to negative instances as the paper prints it: truncated, not rounded."""
    positives = int(np.sum(target))
    negatives = int(np.size(target)) - positives
    if positives == 0:
        return f"0:{negatives}"
    hundredths = 100 * negatives // positives  # in integers: exact
    return f"1:{hundredths // 100}.{hundredths % 100:02d}"


def _column(bunch: Bunch) -> dict[str, str]:
    rates = base_rates(bunch)
    rows = {
        "#Instances": f"{len(bunch.target):,}",
        "#Attributes": f"{len(bunch.feature_names)}",
        "Sen.Attr.": " × ".join(bunch.sensitive_names),
        "Prot.Group (s)": group_name(bunch.protected),
        "Class ratio (+:-)": class_ratio(bunch.target),
        "Positive class": str(bunch.positive_label),
    }
    for i, (group, rate) in enumerate(rates["base_rate"].items(), start=1):
        rows[f"Base rate {i}"] = f"{group_name(group)} {rate:.3f}"
    return rows


def group_name(group: Any) -> str:
    """A group for printing: a value, a tuple of values for crossed attributes, or None for no group."""
    if group is None:
        return "-"
    return " × ".join(map(str, group)) if isinstance(group, tuple) else str(group)
