"""Several columns in one byte.

Columns with few bins waste most of a byte: sex, race and marital status together have fewer than 256 combinations. A
*bundle* is a set of columns whose combinations fit into one byte, and a *joint code* numbers them. Training passes over
the bundles, which are fewer than the columns; the histogram of a column is a sum over the joint codes of its bundle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._arrays import Codes
from .._engine.codes import N_CODES, X_BINNED_DTYPE
from .._engine.threads import Team
from .binning import Binner


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

    def __init__(self, binner: Binner, n_codes: list[int] | None = None) -> None:
        self.binner = binner
        if n_codes is None:
            n_codes = [column.n_codes for column in binner.columns]
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

    @classmethod
    def of(cls, binner: Binner, coded: list[list[Codes]], team: Team) -> Bundles:
        """Room for the codes that occur in some rows; *other* mostly does not."""
        n_codes = [column.n_codes for column in binner.columns]

        def task(first: int, last: int) -> None:
            for j in range(first, last):
                if binner.columns[j].categorical:
                    n_codes[j] = (
                        max(binner.columns[j].n_bins, *(int(codes[j].max()) for codes in coded if len(codes[j]))) + 1
                    )

        team.run(task, len(n_codes), len(coded[0][0]))
        return cls(binner, n_codes)

    def join(self, codes: Sequence[Codes]) -> Codes:
        """Joint codes from the codes of every column, ``codes[column][row]``."""
        joint = np.zeros((len(self.members), len(codes[0])), dtype=X_BINNED_DTYPE)
        for j, column in enumerate(codes):
            joint[self.bundle_of[j]] += column * X_BINNED_DTYPE(self._strides[j])
        return joint

    def consume(self, codes: list[Codes], team: Team) -> Codes:
        """The same, while the codes of the columns are let go one by one: they may be all that fits into memory."""
        joint: Codes = np.empty_like(codes[0], shape=(len(self.members), len(codes[0])))
        nothing = np.empty(0, dtype=X_BINNED_DTYPE)

        def task(first: int, last: int) -> None:
            for b in range(first, last):
                for position, j in enumerate(self.members[b]):
                    column, codes[j] = codes[j], nothing
                    if position == 0:
                        joint[b] = column
                    else:
                        column *= X_BINNED_DTYPE(self._strides[j])
                        joint[b] += column

        team.run(task, len(self.members), joint.shape[1])
        return joint
