"""Columns of any dtype to the numeric design matrix of a linear model.

Numbers are standardised, categories become one column each, the last column is the constant. A number that is missing
counts as the mean and is marked in a column of its own if training had such rows; a missing or unknown category is a
row of zeros. Kinds of columns are recognised as in AdaFair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._arrays import Floats
from .._engine.codes import MAX_BINS, MISSING
from .._table.binning import CategoricalColumn
from .._table.sources import Source, TableLike, find_categorical, raise_infinite, read_sources

Matrix = Any  # a dense array, or a scipy.sparse.csr_array where most entries are zero

# Above this share of non-zeros a dense product is faster than a sparse one.
DENSE_SHARE = 0.3
ALL = slice(None)


@dataclass(frozen=True)
class NumberColumns:
    """A column of numbers: (x − mean) / scale, and a column that marks missing values if training had any."""

    name: str
    mean: float
    scale: float
    has_missing: bool
    is_empty: bool  # in training; then it may hold anything later, to no effect

    @classmethod
    def fit(cls, source: Source, weights: Floats | None) -> NumberColumns:
        values = source.floats(ALL)
        present = ~np.isnan(values)
        known = values[present]
        if np.isinf(known).any():
            raise_infinite(source.name)
        largest = float(np.abs(known).max(initial=0.0)) or 1.0
        known = known / largest  # squares of large numbers would overflow
        known_weights = None if weights is None else weights[present]
        mean = float(np.average(known, weights=known_weights)) if len(known) else 0.0
        spread = float(np.sqrt(np.average((known - mean) ** 2, weights=known_weights))) if len(known) else 0.0
        # A constant column is only rounding away from its mean: nothing to scale up.
        scale = spread * largest if spread > 1e-12 else largest
        return cls(source.name, mean * largest, scale, not bool(present.all()), not bool(present.any()))

    @property
    def names(self) -> list[str]:
        return [self.name, f"{self.name} is missing"] if self.has_missing else [self.name]

    def encode(self, source: Source) -> list[tuple[NDArray[Any], Floats]]:
        """For each design column of this one: the offset within it per row, and the values; see ``Design.encode``."""
        if not source.holds_numbers:
            if not self.is_empty:
                raise ValueError(f"column {self.name!r} held numbers in training, got {source.kind} values")
            values = np.full(len(source), np.nan)
        else:
            values = source.floats(ALL)
        if np.isinf(values).any():
            raise_infinite(self.name)
        missing = np.isnan(values)
        first = np.zeros(len(values), dtype=np.int32)
        scaled = np.where(missing, 0.0, values / self.scale - self.mean / self.scale)
        if not self.has_missing:
            return [(first, scaled)]
        return [(first, scaled), (first + 1, missing.astype(np.float64))]


@dataclass(frozen=True)
class CategoryColumns:
    """A column per category."""

    column: CategoricalColumn

    @property
    def names(self) -> list[str]:
        return [f"{self.column.name} = {category}" for category in self.column.categories]

    def encode(self, source: Source) -> list[tuple[NDArray[Any], Floats]]:
        self.column.check(source)
        codes = self.column.encode(source, ALL).astype(np.int32)
        known = (codes != MISSING) & (codes <= self.column.n_bins)
        return [(np.where(known, codes - 1, 0), known.astype(np.float64))]


@dataclass(frozen=True)
class Design:
    """One encoder per column of X."""

    columns: tuple[NumberColumns | CategoryColumns, ...]

    @classmethod
    def fit(cls, X: TableLike, categorical_features: Any = "from_dtype", weights: Floats | None = None) -> Design:
        """Learn means, scales and categories."""
        sources = read_sources(X)
        categorical = find_categorical(X, sources, categorical_features)
        return cls(
            tuple(
                CategoryColumns(CategoricalColumn.fit(source, ALL, weights, MAX_BINS))
                if is_category
                else NumberColumns.fit(source, weights)
                for source, is_category in zip(sources, categorical, strict=True)
            )
        )

    @property
    def names(self) -> list[str]:
        """Names of the columns of the design matrix, without the constant."""
        return [name for column in self.columns for name in column.names]

    def encode(self, X: TableLike) -> Matrix:
        """The design matrix; its last column is the constant one."""
        n_rows, n_columns = len(X), len(self.names)
        positions: list[NDArray[Any]] = []
        values: list[Floats] = []
        start = 0
        for column, source in zip(self.columns, read_sources(X), strict=True):
            if column.names:
                for offset, value in column.encode(source):
                    positions.append(offset + np.int32(start))
                    values.append(value)
            start += len(column.names)
        positions.append(np.full(n_rows, n_columns, dtype=np.int32))
        values.append(np.ones(n_rows))
        # Every row has the same number of entries, so the row pointers of CSR are known beforehand.
        per_row = len(positions)
        data, indices = np.column_stack(values).ravel(), np.column_stack(positions).ravel()
        pointers = np.arange(0, n_rows * per_row + 1, per_row)
        matrix = sparse.csr_array((data, indices, pointers), shape=(n_rows, n_columns + 1))
        matrix.eliminate_zeros()
        if matrix.nnz > DENSE_SHARE * n_rows * (n_columns + 1):
            return matrix.toarray()
        return matrix
