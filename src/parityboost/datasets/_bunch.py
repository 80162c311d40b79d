"""The one shape in which every loader, generator and reader of this package returns its data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from ._overview import class_ratio, group_name


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
        feature_types={str(column): feature_type(data[column]) for column in data.columns},
        target_names=target_names,
        DESCR="\n".join([name, "=" * len(name), description, "", *facts, ""]),
        licence=licence,
        source=source,
        **extra,
    )


def feature_type(column: pd.Series[Any]) -> str:
    return "categorical" if isinstance(column.dtype, pd.CategoricalDtype) else "numeric"


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
