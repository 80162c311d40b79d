"""Rows as a round of boosting sees them: sorted by class and group, with their margin under the ensemble so far."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _kernels
from ._binning import Codes
from ._threads import Team

Floats = NDArray[np.float64]

BLOCK_ROWS = 1 << 13  # what a kernel needs of a block stays in the cache
# Merging equal rows pays if at most this share of them is distinct. A part of the rows tells whether to look.
DISTINCT_SHARE = 0.5
MIN_ROWS_TO_MERGE = 1 << 11
MAX_ROWS_TO_TRY = 1 << 16


class Sample:
    """Rows of a class and group each, sorted by their cell ``class * n_groups + group``.

    Parameters
    ----------
    cell : ndarray of a small integer type
        The cell of each row.
    n_groups : int
        Number of groups.
    sample_weight : ndarray or None
        Weight of each row; None for one each.
    rows : ndarray
        The rows' positions in the caller's X.
    team : Team
        Who does the work.
    """

    def __init__(
        self,
        cell: NDArray[Any],
        n_groups: int,
        sample_weight: Floats | None,
        rows: NDArray[Any],
        team: Team,
    ) -> None:
        order = np.argsort(cell, kind="stable")
        self.rows = rows[order]
        self.n_groups = n_groups
        self.sample_weight = np.empty(0) if sample_weight is None else sample_weight[order]
        # Σ α·h so far. Made here, by one thread, and not when it is first read, by several; the system gives the memory
        # of zeros only once they are written to.
        self.margin = np.zeros(len(rows))
        self.sizes = np.bincount(cell, minlength=2 * n_groups)
        self.n_negative = int(self.sizes[:n_groups].sum())
        stops = np.cumsum(self.sizes)
        self.blocks = np.array(
            [
                (k, first, min(first + BLOCK_ROWS, stop))
                for k, (size, stop) in enumerate(zip(self.sizes.tolist(), stops.tolist(), strict=True))
                for first in range(stop - size, stop, BLOCK_ROWS)
            ],
            dtype=np.int64,
        ).reshape(-1, 3)
        self.team = team
        self._positives = np.empty((len(self.blocks), 3))
        if sample_weight is None:
            per_block = (self.blocks[:, 2] - self.blocks[:, 1]).astype(np.float64)
        else:
            per_block = np.array([self.sample_weight[first:last].sum() for _, first, last in self.blocks])
        self.totals = self.per_cell(per_block[:, None], 0)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def cell(self) -> NDArray[np.intp]:
        """The cell of each row, class * n_groups + group."""
        return np.repeat(np.arange(2 * self.n_groups), self.sizes)

    @property
    def y(self) -> NDArray[np.intp]:
        """The class of each row."""
        return np.repeat([0, 1], [self.n_negative, len(self) - self.n_negative])

    def advance(
        self,
        column: Codes,
        left: NDArray[np.uint8],
        right_step: float,
        left_step: float,
        threshold: float,
        learner_too: bool = False,
    ) -> None:
        """Add α·h to the margins and take the counts that the methods below read, on demand also those of h alone.

        Rows whose code is marked in ``left`` get the left step, the others the right one.
        """
        self.team.run(
            lambda first, last: _kernels.advance(
                column,
                left,
                right_step,
                left_step,
                threshold,
                learner_too,
                self.margin,
                self.sample_weight,
                self.blocks,
                first,
                last,
                self._positives,
            ),
            len(self.blocks),
            BLOCK_ROWS,
        )

    def ensemble_counts(self) -> Floats:
        """``counts[group, y_true, y_pred]`` of the partial ensemble H_{1:j}."""
        return self._counts(0)

    def threshold_counts(self) -> Floats:
        """The same with the threshold that was given to :meth:`advance`."""
        return self._counts(1)

    def learner_counts(self) -> Floats:
        """The same of the last weak learner h_j alone."""
        return self._counts(2)

    def _counts(self, which: int) -> Floats:
        counts = np.empty((self.n_groups, 2, 2))
        _kernels.fill_counts(self.blocks, self._positives, which, self.totals, counts)
        return counts

    def per_cell(self, per_block: Floats, which: int) -> Floats:
        """Sums of ``per_block[:, which]`` as ``[group, class]``."""
        sums = np.empty((self.n_groups, 2))
        _kernels.sum_per_cell(self.blocks, per_block, which, self.n_groups, sums)
        return sums


def merge_equal_rows(codes: Codes, sample: Sample) -> tuple[Codes, Sample]:
    """Equal rows of one cell always keep equal weights and margins: where there are many, keep one and add its weights.

    Rows are told apart by 64-bit hashes, and compared in full before anything is merged.
    """
    if len(sample) < MIN_ROWS_TO_MERGE or not _looks_repetitive(codes):
        return codes, sample
    hashes = _hashes(codes)
    hashes ^= sample.cell.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) > DISTINCT_SHARE * len(sample):
        return codes, sample
    like = first[inverse]
    if not all((column[like] == column).all() for column in codes):  # two rows of one hash are not equal after all
        return codes, sample
    weight = np.bincount(inverse, weights=sample.sample_weight if len(sample.sample_weight) else None)
    kept = np.argsort(first)  # back in the order of the cells
    rows = first[kept]
    merged = Sample(sample.cell[rows], sample.n_groups, weight[kept].astype(np.float64), sample.rows[rows], sample.team)
    return np.ascontiguousarray(codes[:, rows]), merged


def _looks_repetitive(codes: Codes) -> bool:
    step = max(codes.shape[1] // MAX_ROWS_TO_TRY, 8)
    part = np.ascontiguousarray(codes[:, ::step])
    return bool(len(np.unique(_hashes(part))) <= DISTINCT_SHARE * part.shape[1])


def _hashes(codes: Codes) -> NDArray[np.uint64]:
    hashes = np.empty(codes.shape[1], dtype=np.uint64)
    _kernels.hash_rows(codes, hashes)
    return hashes
