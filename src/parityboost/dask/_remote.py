"""The rows of a sample that are on the workers of a cluster, with the passes of ``CpuRows``.

What each pass returns is the sum over all shards. What needs no answer is put off until an answer is wanted, so that a
round has two messages: one with the tree, which is answered by counts, and one with the new weights' factors, which is
answered by what the histograms gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Integers
from .._engine.kernels.boosting import Classes
from .._engine.kernels.trees import NONE, Grown
from .._engine.threads import Team
from .._fit.samples import Masses, Sample
from ._crew import Reply, Session
from ._shard import codes_in_use

Array = NDArray[Any]

NO_CODES = np.empty((0, 0), dtype=np.uint8)  # they are where the rows are


class RemoteRows:
    """As :class:`~parityboost._engine.cpu.CpuRows`, of the sample ``key`` on all workers; there are ``sizes`` joint
    codes of each bundle.
    """

    def __init__(self, session: Session, key: str, n_rows: int, n_cells: int, sizes: Integers) -> None:
        self._session, self._key, self._n_rows, self._n_cells = session, key, n_rows, n_cells
        self._in_use = codes_in_use(sizes)
        self._gained = np.zeros(self._in_use.shape, dtype=np.int64)  # what the histograms have not been told

    def __len__(self) -> int:
        return self._n_rows

    def _later(self, name: str, *given: Any, combine: Any = sum) -> Reply:
        return self._session.later(name, self._key, *given, combine=combine)

    def start_weights(self, start: Array, classes: Classes) -> None:
        self._change("start_weights", start, classes)

    def change_weights(self, factors: Array, classes: Classes) -> None:
        self._change("change_weights", factors, classes)

    def list_anew(self, classes: Classes) -> None:
        self._change("list_anew", None, classes)

    def _change(self, name: str, given: Array | None, classes: Classes) -> None:
        told = classes.bits.copy(), classes.is_renewed.copy()
        sums, gained = self._later("weights", name, given, *told, combine=sum_each).read()
        classes.sums[:] = sums
        self._gained[:, classes.is_renewed] = 0  # all that these weigh is listed anew
        self._gained[self._in_use] += gained

    def add_changes(self, histograms: Array) -> None:
        """The even and the odd places of one machine's histograms are added up at once."""
        histograms[:, :, 0] += self._gained
        self._gained[:] = 0

    def add_side(self, grown: Grown, side: int, histograms: Array) -> None:
        histograms[:, :, 0][self._in_use] += self._later("side", _told(grown), side).read()

    def put_into_leaves(self, grown: Grown) -> Any:
        reply = self._later("put_into_leaves", _told(grown))
        # Of a tree it is read once the counts have been asked for; of a stump it is known.
        return reply if (grown.features[1:] != NONE).any() else grown.leaf_mass.copy()

    def move_margins(self, steps: Array, threshold: float, learner_too: bool) -> Reply:
        return self._later("move_margins", steps, threshold, learner_too)

    def sum_wrong(self, wrong: Array) -> Array:
        sums: Array = self._later("sum_wrong", wrong).read()
        return sums

    def sum_masses(self) -> Array:
        sums: Array = self._later("sum_masses").read()
        return sums

    def count_pairs(self, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
        counts: list[Array] = self._later("count_pairs", pairs, combine=sum_each).read()
        return counts

    def list_margins(self) -> tuple[Array, Array, Array]:
        parts = self._later("list_margins", combine=list).read()
        margins, cells, masses = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return margins, cells, masses

    def margin_range(self) -> tuple[float, float]:
        ends = self._later("margin_range", combine=list).read()
        return min(low for low, _ in ends), max(high for _, high in ends)

    def count_margins(self, grid: float, shift: int, lowest: int, n_buckets: int) -> Array:
        counts = np.zeros(n_buckets * self._n_cells, dtype=np.int64)
        for places, masses in self._later("count_margins", grid, shift, lowest, n_buckets, combine=list).read():
            counts[places] += masses
        return counts.reshape(n_buckets, self._n_cells)


def sum_each(answers: list[Any]) -> list[Any]:
    """Sums of several things at once."""
    return [sum(each) for each in zip(*answers, strict=True)]


def _told(grown: Grown) -> Grown:
    """What shards have to know of a tree; a copy, because it is put off and written down."""
    is_split = (grown.features[1:] != NONE).any()
    told = {"features", "side_of_code", "leaf_of_code" if is_split else "root_leaves"}
    return Grown(*(part.copy() if name in told else part[:0] for name, part in grown._asdict().items()))


class RemoteSample(Sample):
    """A sample whose rows are on the workers; what is here are sums.

    Parameters
    ----------
    session : Session
        Whom it belongs to.
    key : str
        Its name.
    rows : "kept", "held" or PerPart
        Which rows, see :meth:`Shard.do_make`.
    n_groups : int
        Number of groups.
    unit : float
        What a mass of one weighs.
    sizes : ndarray
        Number of joint codes of each bundle.
    team : Team
        Who does what is done here.
    """

    def __init__(
        self, session: Session, key: str, rows: Any, n_groups: int, unit: float, sizes: Integers, team: Team
    ) -> None:
        self.n_groups, self.team = n_groups, team
        given, kept, self.sizes, self.cell_mass = session.later("make", key, rows, combine=sum_each).read()
        self.n_given, n_rows = int(given), int(kept)
        self.n_negative = int(self.sizes[:n_groups].sum())
        self.masses = Masses(np.empty(0, dtype=np.int64), unit)
        self.placed = RemoteRows(session, key, n_rows, 2 * n_groups, sizes)
        self.shown: Any = None  # bundles and some of the rows, or all, that are here as well
        self.totals = self._totals()

    def __len__(self) -> int:
        return len(self.placed)

    def place(self, codes: Any, bundle_of: Any) -> RemoteRows:
        """They are where they are."""
        return self.placed
