"""Several columns in one byte.

Columns with few bins waste most of a byte: sex, race and marital status together have fewer than 256 combinations. A
*bundle* is a set of columns whose combinations fit into one byte, and a *joint code* numbers them. Training passes over
the bundles, which are fewer than the columns; the histogram of a column is a sum over the joint codes of its bundle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._arrays import Codes, Rows
from .._engine.codes import MISSING, N_CODES, X_BINNED_DTYPE
from .._engine.threads import Team
from .binning import Binner, n_rows_of
from .sources import Source


class Bundles:
    """Which columns share a byte, and how to tell their codes from a joint code.

    Attributes
    ----------
    members : list of list of int
        The columns of each bundle.
    bundle_of : ndarray of shape (n_columns,)
        The bundle of each column.
    code_of : ndarray of shape (n_columns, 256)
        The code of a column that a joint code of its bundle stands for.
    sizes : ndarray of shape (n_bundles,)
        Number of joint codes of each bundle.
    """

    def __init__(self, binner: Binner) -> None:
        self.binner = binner
        n_codes = (binner.n_bins + 1).tolist()  # missing is a code too
        self.members: list[list[int]] = []
        products: list[int] = []
        # First fit, largest first: not the least possible number of bundles, but close to it.
        for column in sorted(range(len(n_codes)), key=lambda j: -n_codes[j]):
            for b, product in enumerate(products):
                if product * n_codes[column] <= N_CODES:
                    self.members[b].append(column)
                    products[b] *= n_codes[column]
                    break
            else:
                self.members.append([column])
                products.append(n_codes[column])
        self.sizes = np.array(products)
        self.bundle_of = np.empty(len(n_codes), dtype=np.int64)
        self.code_of = np.zeros((len(n_codes), N_CODES), dtype=X_BINNED_DTYPE)
        self._strides = np.empty(len(n_codes), dtype=np.int64)
        for b, columns in enumerate(self.members):
            stride = 1
            for column in columns:
                self.bundle_of[column], self._strides[column] = b, stride
                joint = np.arange(products[b])
                self.code_of[column, : products[b]] = joint // stride % n_codes[column]
                stride *= n_codes[column]

    def join(self, codes: Codes) -> Codes:
        """Joint codes from the codes of every column, ``codes[column, row]``."""
        joint = np.zeros((len(self.members), codes.shape[1]), dtype=X_BINNED_DTYPE)
        for j, column in enumerate(codes):
            joint[self.bundle_of[j]] += column * X_BINNED_DTYPE(self._strides[j])
        return joint

    def encode(self, sources: list[Source], rows: Rows, team: Team) -> tuple[Codes, NDArray[np.bool_]]:
        """Joint codes of some rows, one contiguous row per bundle, and which columns have missing values in them."""
        n_rows = n_rows_of(rows, sources)
        codes = np.empty((len(self.members), n_rows), dtype=X_BINNED_DTYPE)
        has_missing = np.zeros(len(self.bundle_of), dtype=np.bool_)

        def task(first: int, last: int) -> None:
            for b in range(first, last):
                for position, j in enumerate(self.members[b]):
                    column = self.binner.columns[j].encode(sources[j], rows)
                    has_missing[j] = (column == MISSING).any()
                    if position == 0:
                        codes[b] = column
                    else:
                        column *= X_BINNED_DTYPE(self._strides[j])
                        codes[b] += column

        team.run(task, len(self.members), n_rows)
        return codes, has_missing
