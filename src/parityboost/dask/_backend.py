"""The backend whose rows are on the workers of a cluster: all that training knows of them.

It has the methods of :class:`~parityboost._engine.cpu.Cpu`. What each returns is the sum over all shards. What needs no
answer is put off until an answer is wanted, so that a round has two messages: one with the learner, which is answered
by counts, and one with the new weights' factors, which is answered by what the histograms gain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Integers
from .._engine.kernels.rounds import N_KINDS
from .._engine.threads import Team
from .._fit.samples import Masses, Sample
from ._crew import Reply, Session
from ._shard import Ref, codes_in_use

Array = NDArray[Any]


class Remote:
    """The rows of one sample, on all workers.

    Parameters
    ----------
    session : Session
        Whom the sample belongs to.
    key : str
        The name of the sample.
    sizes : ndarray
        Number of joint codes of each bundle.
    """

    is_remote = True

    def __init__(self, session: Session, key: str, sizes: Integers) -> None:
        self._session, self._key = session, key
        self._in_use = codes_in_use(sizes)
        self._listed: dict[str, Reply] = {}  # the histograms of what is listed, by the name of the lists
        self._sums: Reply | None = None

    def place(self, array: Any) -> Any:
        """What is placed is there already."""
        return array

    def to_host(self, array: Any) -> Array:
        raise NotImplementedError("the rows of a cluster are not brought together")

    def zeros(self, n: int) -> Ref:
        return self._allocate("rows")

    def block_sums(self, n: int) -> Ref:
        return self._allocate("blocks")

    def lists(self, n_rows: int, n_blocks: int) -> tuple[Ref, Ref, Ref]:
        lists = self._allocate("lists")
        return lists, lists, lists

    def _allocate(self, kind: str) -> Ref:
        name = self._session.new_name(kind)
        self._session.later("allocate", self._key, name, kind)
        return Ref(self._key, name)

    def require(self, n_bytes: int) -> None:
        """Each worker has its own limit."""

    def close(self) -> None:
        """The crew is closed by whoever made it."""

    def then(self, result: Reply, function: Callable[[Array], Array]) -> Reply:
        return result.then(function)

    def range_of(self, margin: Ref) -> tuple[float, float]:
        reply = self._session.later("range_of", margin, combine=_outermost)
        found: tuple[float, float] = reply.read()
        return found

    def move_margins(
        self,
        leaves: tuple[Any, Array],
        steps: Array,
        threshold: float,
        learner_too: bool,
        margin: Ref,
        mass: Ref,
        blocks: Ref,
        n_cells: int,
    ) -> Reply:
        """What is counted is read later, see :class:`RemoteSample`."""
        return self._session.later("move_margins", self._key, tuple(leaves), steps, threshold, learner_too, margin)

    def fill_weights(self, blocks: Ref, start: Array, weights: Ref) -> None:
        self._session.later("fill_weights", self._key, start, weights)

    def scale_weights(self, blocks: Ref, n_groups: int, y: int, factor: float, weights: Ref) -> None:
        self._session.later("scale_weights", self._key, y, factor, weights)

    def change_weights(
        self,
        leaves: tuple[Any, Array],
        factors: Array,
        weights: Ref,
        mass: Ref,
        blocks: Ref,
        n_blocks: int,
        lists: tuple[Ref, Ref, Ref],
        sums: Ref,
    ) -> None:
        self._listing(
            self._session.later(
                "change_weights",
                self._key,
                tuple(leaves),
                factors,
                weights,
                lists[0],
                sums,
                combine=sum_each,
            ),
            lists,
        )

    def list_everything(
        self,
        weights: Ref,
        mass: Ref,
        blocks: Ref,
        first: int,
        last: int,
        n_groups: int,
        classes: Collection[int],
        lists: tuple[Ref, Ref, Ref],
        sums: Ref,
    ) -> None:
        self._listing(
            self._session.later(
                "list_everything", self._key, weights, sorted(classes), lists[0], sums, combine=sum_each
            ),
            lists,
        )

    def _listing(self, reply: Reply, lists: tuple[Ref, Ref, Ref]) -> None:
        self._sums = reply.then(lambda both: both[0])
        self._listed[lists[0].name] = reply.then(lambda both: both[1])

    def sum_per_class(self, blocks: Ref, per_block: Ref, n_groups: int, n_blocks: int, sums: Array) -> None:
        assert self._sums is not None
        sums[:] = self._sums.read()

    def sum_wrong(self, leaves: tuple[Any, Array], wrong: Array, weights: Ref, mass: Ref, blocks: Ref) -> Array:
        sums: Array = self._session.later("sum_wrong", self._key, tuple(leaves), wrong, weights).read()
        return sums

    def list_leaf(
        self,
        leaves: tuple[Any, Array],
        leaf: int,
        weights: Ref,
        mass: Ref,
        blocks: Ref,
        lists: tuple[Ref, Ref, Ref],
    ) -> None:
        self._listed[lists[0].name] = self._session.later(
            "list_leaf", self._key, tuple(leaves), leaf, weights, lists[0]
        )

    def split_leaves(
        self,
        column: Ref,
        side_of_code: Array,
        columns: tuple[Ref, Ref],
        leaf_of_code: Array,
        mass: Ref,
        blocks: Ref,
        n_cells: int,
    ) -> tuple[Ref, Reply]:
        leaves = Ref(self._key, "leaves")  # of one tree at a time
        reply = self._session.later("split_leaves", self._key, leaves.name, column, side_of_code, columns, leaf_of_code)
        return leaves, reply

    def add_to_histograms(
        self, codes: Ref, lists: tuple[Ref, Ref, Ref], blocks: Ref, n_groups: int, values: Array
    ) -> None:
        """The even and the odd places of one machine's histograms are added up at once."""
        values[:, :, 0][self._in_use] += self._listed[lists[0].name].read()

    def sum_masses(self, codes: Ref, mass: Ref, n_negative: int, blocks: Ref, n_groups: int) -> Array:
        sums: Array = self._session.later("sum_masses", self._key).read()
        return sums

    def count_pairs(self, codes: Ref, mass: Ref, pairs: Sequence[tuple[Any, ...]]) -> list[Array]:
        counts: list[Array] = self._session.later("count_pairs", self._key, pairs, combine=sum_each).read()
        return counts

    def count_margins(
        self,
        margin: Ref,
        grid: float,
        shift: int,
        lowest: int,
        n_buckets: int,
        cell: Any,
        mass: Ref,
        blocks: Ref,
        n_cells: int,
    ) -> Array:
        counts = np.zeros(n_buckets * n_cells, dtype=np.int64)
        parts = self._session.later(
            "count_margins", self._key, margin, grid, shift, lowest, n_buckets, combine=list
        ).read()
        for places, masses in parts:
            counts[places] += masses
        return counts.reshape(n_buckets, n_cells)

    def list_margins(self, margin: Ref, mass: Ref, blocks: Ref) -> tuple[Array, Array, Array]:
        """The margins, cells and masses of all rows, equal ones of a shard together."""
        parts = self._session.later("list_margins", self._key, margin, combine=list).read()
        margins, cells, masses = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return margins, cells, masses


def sum_each(answers: list[Any]) -> list[Any]:
    """Sums of several things at once."""
    return [sum(each) for each in zip(*answers, strict=True)]


def _outermost(ends: list[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in ends), max(high for _, high in ends)


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
        Gets the rows' backend.
    """

    def __init__(
        self, session: Session, key: str, rows: Any, n_groups: int, unit: float, sizes: Integers, team: Team
    ) -> None:
        self.n_groups, self.team = n_groups, team
        team.backend = Remote(session, key, sizes)
        given, kept, self.sizes, self.cell_mass = session.later("make", key, rows, combine=sum_each).read()
        self.n_given, self._n_rows = int(given), int(kept)
        self.n_negative = int(self.sizes[:n_groups].sum())
        self.masses = Masses(Ref(key, "mass"), unit)  # type: ignore[arg-type]
        blocks: Any = Ref(key, "blocks")
        self.blocks = self.placed_blocks = blocks
        self.placed_mass = Ref(key, "mass")
        self.margin = Ref(key, "margin")
        self.codes: Any = Ref(key, "codes", len(sizes))
        self.shown: Any = None  # bundles and some of the rows, or all, that are here as well
        self.totals = self._totals()

    def __len__(self) -> int:
        return self._n_rows

    def _positive_counts(self) -> tuple[Any, Any]:
        n_cells = 2 * self.n_groups
        counted = self._positives.read()
        return np.arange(n_cells)[:, None], np.asarray(counted).reshape(n_cells, N_KINDS)
