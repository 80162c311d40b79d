"""Where the group of an instance comes from at prediction, for a model with a threshold per group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import MISSING, N_CODES, X_BINNED_DTYPE, Codes, Floats, Integers, on_fine_grid, to_host
from .._table.binning import Binner
from .._table.grouping import AS_GIVEN, Grouping, named_positions, read_groups, sensitive_frame
from .._table.sources import column_names, read_sources
from .._table.values import to_pandas

Group = NDArray[np.intp]


@dataclass(frozen=True)
class GroupSource:
    """How to find the group of each row of X.

    Attributes
    ----------
    groups : ndarray
        The groups found in training.
    shares : ndarray
        Each group's share of the weight.
    columns : tuple of int
        The columns of X that hold the sensitive attribute; if there are none, it has to be passed.
    codes : ndarray or None
        The code of each group if one column holds the attribute and tells all groups apart: a threshold per group is
        then a step function of that column.
    grouping : Grouping
        What makes a group of a sensitive value.
    """

    groups: NDArray[Any]
    shares: Floats
    columns: tuple[int, ...]
    codes: Codes | None = None
    grouping: Grouping = AS_GIVEN

    def code_pairs(self, binner: Binner, X: Any, rows: NDArray[Any], group: Group) -> Integers:
        """Which codes of its one column and which groups occur together, as ``code * n_groups + group``; ``group``
        belongs to ``rows``.
        """
        if len(self.columns) != 1 or self.grouping.bands:  # the column's own bins are no bands
            return np.empty(0, dtype=np.int64)
        return np.unique(self._encode(binner, X, rows).astype(np.int64) * len(self.groups) + group)

    def with_pairs(self, binner: Binner, pairs: Integers) -> GroupSource:
        """With the code of each group, if its one column has a code for each; see :meth:`code_pairs`."""
        if len(pairs) == 0:
            return self
        n_groups = len(self.groups)
        code, of_group = pairs // n_groups, pairs % n_groups
        in_bins = (code != MISSING) & (code <= binner.columns[self.columns[0]].n_bins)
        if len(pairs) > n_groups or len(np.unique(code)) < n_groups or not in_bins.all():
            return self
        codes = np.empty(n_groups, dtype=X_BINNED_DTYPE)
        codes[of_group] = code
        return replace(self, codes=codes)

    def agreeing_with(self, X: Any, rows: NDArray[Any], group: Group) -> GroupSource:
        """Without columns if those of X do not hold these groups of ``rows``."""
        if self.columns and not np.array_equal(self._look_up(X)[rows], group):
            return replace(self, columns=(), codes=None)
        return self

    def by_code(self, thresholds: Floats) -> Floats:
        """The threshold for each code of the sensitive column; the mean one for what is missing or unseen."""
        table = np.full(N_CODES, self.mean(thresholds))
        table[self.codes] = thresholds
        return table

    def by_row(self, X: Any, sensitive_features: Any, thresholds: Floats, binner: Binner | None) -> Floats:
        """The threshold for each row of X."""
        if self.codes is not None and binner is not None:
            return self.by_code(thresholds)[self._encode(binner, X, slice(None))]
        if self.columns:
            group = self._look_up(X)
        elif sensitive_features is not None:
            frame = self.grouping.apply(sensitive_frame(sensitive_features))
            group, _ = read_groups(frame, len(X), self.groups)
        else:
            raise ValueError(
                "this model has a threshold per group, and the groups are no column of X: pass sensitive_features=…, "
                "or name the column with the parameter sensitive_feature before fit"
            )
        by_row: Floats = np.append(thresholds, self.mean(thresholds))[group]  # -1 is the last
        return by_row

    def sensitive_features(self, X: Any) -> pd.DataFrame | None:
        """The sensitive columns of X, None if there are none."""
        return _columns(X, self.columns) if self.columns else None

    def mean(self, thresholds: Floats) -> float:
        """The threshold of whoever is in none of the groups, weighted by their shares."""
        return on_fine_grid(float(self.shares @ thresholds))

    def _encode(self, binner: Binner, X: Any, rows: Any) -> Codes:
        source = read_sources(_columns(X, self.columns))[0]
        codes: Codes = binner.columns[self.columns[0]].encode(source, rows)
        return codes

    def _look_up(self, X: Any) -> Group:
        """The group of each row, -1 where a value is missing or unseen."""
        frame = self.grouping.apply(_columns(X, self.columns))
        joint = np.zeros(len(frame), dtype=np.int64)
        for position in range(frame.shape[1]):
            codes, values = pd.factorize(frame.iloc[:, position])
            joint = joint * (len(values) + 1) + codes + 1
        # Translate the few combinations, not the many rows.
        _, first, inverse = np.unique(joint, return_index=True, return_inverse=True)
        position_of = {name: k for k, name in enumerate(self.groups.tolist())}
        names = [tuple(frame.iloc[row, j] for j in range(frame.shape[1])) for row in first.tolist()]
        found = [position_of.get(name if len(name) > 1 else name[0], -1) for name in names]
        return np.array(found, dtype=np.intp)[inverse]


def sensitive_positions(X: Any, sensitive_features: Any, names: Any) -> tuple[int, ...]:
    """The columns of X that hold the sensitive attribute: those named, or those of its own names and values."""
    if names is not None:
        return tuple(named_positions(X, names))
    sensitive_features = to_pandas(sensitive_features)
    if isinstance(sensitive_features, pd.Series):
        sensitive_features = sensitive_features.to_frame()
    if not isinstance(sensitive_features, pd.DataFrame) or not isinstance(X, pd.DataFrame):
        return ()
    positions = []
    for j, name in enumerate(sensitive_features.columns):
        same_name = [position for position, other in enumerate(X.columns) if other == name]
        if len(same_name) != 1:
            return ()
        inside, given = X.iloc[:, same_name[0]], sensitive_features.iloc[:, j]
        if inside.isna().any() or not np.array_equal(inside.to_numpy(dtype=object), given.to_numpy(dtype=object)):
            return ()
        positions.append(same_name[0])
    return tuple(positions)


def _columns(X: Any, positions: tuple[int, ...]) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, list(positions)]
    names = column_names(X)
    return pd.DataFrame({names[j]: to_host(X[:, j]) for j in positions})
