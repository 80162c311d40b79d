"""The weights D of the training rows, kept so that every sum of them is a sum of integers.

A row weighs m·f: m is its sample weight as an integer, f the float64 product of the row's own factors, which depends on
nothing but that row's history. What is summed is the integer

    m · max(1, round(f · 2^k)),    each of which weighs  scale · 2^-k

with one k and one scale per class. Integers add up to the same whatever the order: threads, the order of the rows, the
blocks and the merging of equal rows cannot change a bit of the model.

The factor that most rows of a class are multiplied by is put aside as the class's ``scale``, and only the other rows
are changed, relative to it. How common a factor is comes from sample weights, which merging does not change.

k is such that the integers of a class add up to some 50 bits when it is chosen. It is chosen anew before they could
reach 2^62, and when they have become few; a change by d bits changes f · 2^k by a power of two, which is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats, Integers
from .._engine.kernels import boosting, rounds
from .._engine.threads import Team
from .samples import MAX_MASS, Leaves

# No sum ever reaches 2^LIMIT, so none overflows.
LIMIT = 62
ROOM = 2.0 ** (LIMIT - 1)  # rounding, and integers of at least 1, add less than as much again
# The integers of a class add up to about 2^TARGET at first, and have ten bits to grow: a row of average weight among a
# million is then 32 bits long. Sample weights of many bits need more, so that FACTOR_BITS are left for the factors,
# but five bits to grow have to remain.
TARGET, MAX_TARGET = 52, 57
FACTOR_BITS = 24
# Fewer than 2^-SHRUNK of the target are too few.
SHRUNK = 8
# A sum of weights so large is made smaller before floats are at their end.
LARGE = 2.0**500


@dataclass
class Changes:
    """The rows whose integers have changed since the histograms were last told, by how much, and how many per block.

    Block b lists its rows from position ``blocks[b, 1]`` on. A class that is ``renewed`` lists all its rows with all
    that they weigh.
    """

    lists: tuple[Any, Any, Any]  # rows, gains and numbers, where the rows are placed
    renewed: set[int] = field(default_factory=set)
    told: bool = False  # the histograms have them

    def tell(self) -> None:
        self.told = True
        self.lists[2][:] = 0
        self.renewed.clear()


class RowWeights:
    """Weights of rows in blocks of one cell each.

    Parameters
    ----------
    blocks : ndarray of shape (n_blocks, 3)
        Cell, first row, last row + 1.
    mass : ndarray of int64
        Sample weight of each row, empty for one each.
    start : ndarray of shape (n_cells,)
        The factor that all rows of a cell start with.
    team : Team
        Who does the work.
    n_joined : int, optional
        How many of the blocks are there from the start; the others :meth:`join`.
    known : tuple of int and ndarray of int64, optional
        The number of rows and the sample weight of each cell; told by blocks and masses, if these are here to tell.

    Attributes
    ----------
    values : ndarray
        f · 2^k of each row.
    sums : list of int
        The sum of the integers of each class.
    units : ndarray of shape (2,)
        What one of these integers weighs.
    total : float
        The weight of all rows.
    """

    def __init__(
        self,
        blocks: Any,
        mass: Integers,
        start: Floats,
        team: Team,
        n_joined: int | None = None,
        known: tuple[int, Integers] | None = None,
    ) -> None:
        self._all_blocks = blocks
        self._n_joined = len(blocks) if n_joined is None else n_joined
        self._mass = mass
        self._n_groups = len(start) // 2
        self._backend = backend = team.backend
        self._all_placed, self._placed_mass = backend.place(blocks), backend.place(mass)
        n_to_join = 0
        if known is not None:
            n_rows, cell_mass = known
        else:
            cell_mass = np.zeros(len(start), dtype=np.int64)
            for cell, first, last in self.blocks.tolist():
                cell_mass[cell] += int(mass[first:last].sum()) if len(mass) else last - first
            n_rows = int(blocks[:, 2].max())
            n_to_join = int((blocks[self._n_joined :, 2] - blocks[self._n_joined :, 1]).sum())
        self._cell_mass = cell_mass
        self.values = backend.zeros(n_rows)
        backend.fill_weights(self.placed_blocks, start, self.values)
        self._class_mass = [int(part.sum()) + n_to_join for part in self._cell_mass.reshape(2, -1)]
        assert max(self._class_mass) <= 2 * MAX_MASS, "the sample weights are not those of to_masses"
        self._targets = [min(max(TARGET, mass.bit_length() + FACTOR_BITS), MAX_TARGET) for mass in self._class_mass]
        self._scale = np.ones(2)
        self._powers = np.ones(2)  # 2^-k
        self._block_sums = backend.block_sums(len(blocks))
        self._class_sums = np.zeros(2, dtype=np.int64)
        self._changes = Changes(backend.lists(len(self.values), len(blocks)))
        for y in (0, 1):
            weight = 0.0
            for cell in range(y * self._n_groups, (y + 1) * self._n_groups):
                weight += float(self._cell_mass[cell]) * float(start[cell])
            self._shift(y, self._targets[y] - math.frexp(weight)[1])
        self._renew({0, 1})
        self._add_up()

    @property
    def blocks(self) -> Any:
        """The blocks that are there by now."""
        return self._all_blocks[: self._n_joined]

    @property
    def placed_blocks(self) -> Any:
        """The same where the rows are placed."""
        return self._all_placed[: self._n_joined]

    @property
    def changes(self) -> Changes:
        """What the histograms have not been told yet."""
        return self._changes

    def distribution(self) -> Floats:
        """D, which sums to one."""
        values = self._backend.to_host(self.values)
        D: Floats = np.maximum(np.rint(values), 1.0) * (self._mass if len(self._mass) else 1.0)
        for cell, first, last in self.blocks.tolist():
            D[first:last] *= self.units[cell // self._n_groups]
        D /= self.total
        return D

    def wrong(self, leaves: Leaves, votes: NDArray[Any]) -> Floats:
        """Weight of the misclassified rows per ``[group, class]``, all weights summing to one."""
        wrong = np.repeat(np.stack([votes > 0, votes <= 0]), self._n_groups, axis=0)  # [cell, leaf]
        sums = self._backend.sum_wrong(leaves, wrong, self.values, self._placed_mass, self.placed_blocks)
        wrong_weight: Floats = sums.reshape(2, self._n_groups).T * self.units / self.total
        return wrong_weight

    def boost_wrong(
        self,
        leaves: Leaves,
        votes: NDArray[Any],
        right: Floats,
        wrong: Floats,
        costs: Floats,
        leaf_mass: Integers,
    ) -> float:
        """Multiply misclassified rows by ``costs[group, class] * wrong[leaf]``, the others by ``right[leaf]``.

        ``leaf_mass[leaf, class]`` is the sample weight in each leaf. Returns the new total by the old one.
        """
        factors, largest = np.empty((2 * self._n_groups, len(votes))), np.empty(2)
        rounds.relative_factors(costs, right, wrong, votes, self._cell_mass, leaf_mass, self._scale, factors, largest)
        renewed = set() if self._changes.told else {0, 1}  # whoever missed a change gets everything
        for y, factor in enumerate(largest.tolist()):
            expected = factor * (self.sums[y] + self._class_mass[y])
            if expected >= ROOM:
                self._make_room(y, expected)
                renewed.add(y)
        self._backend.change_weights(
            leaves,
            factors,
            self.values,
            self._placed_mass,
            self._all_placed,
            self._n_joined,
            self._changes.lists,
            self._block_sums,
        )
        self._changes.told = False
        before = self.total
        self._add_up()
        for y in (0, 1):
            n_bits = self.sums[y].bit_length()
            if y not in renewed and n_bits < self._targets[y] - SHRUNK:
                self._shift(y, self._targets[y] - n_bits)
                renewed.add(y)
        if renewed:
            self._renew(renewed)
            self._add_up()
        growth: float = self.total / before
        if self.total > LARGE:  # a power of two for both classes changes nothing but the size of the floats
            self._scale /= LARGE
            self._add_up()
        return growth

    @staticmethod
    def limits() -> tuple[float, int, float]:
        """What the sums keep to: room, shrunk and large of ``boosting.How``."""
        return ROOM, SHRUNK, LARGE

    def lend(self) -> boosting.Weights:
        """What ``boost_rounds`` changes, until it is taken back."""
        is_renewed = np.array([y in self._changes.renewed for y in (0, 1)])
        return boosting.Weights(
            self.values,
            self._block_sums,
            self._scale,
            self._powers,
            self._class_sums,
            np.array(self._class_mass, dtype=np.int64),
            np.array(self._targets, dtype=np.int64),
            is_renewed,
        )

    def take_back(self, lent: boosting.Weights) -> None:
        """Go on where ``boost_rounds`` has ended."""
        self._changes.renewed = {y for y in (0, 1) if lent.is_renewed[y]}
        self._changes.told = False  # if there is nothing to tell, it does no harm
        self._add_up()

    def make_room(self, y: int, weight: float) -> None:
        """See to it that rows of class y that weigh so much in all can be added to its sums."""
        expected = self.sums[y] + weight / float(self.units[y])
        if expected >= ROOM:
            self._make_room(y, expected)
            self._renew({y})
            self._add_up()

    def join(self, weight: float) -> None:
        """Let the next block's rows be there from now on, and weigh so much each."""
        b = self._n_joined
        cell, first, last = self._all_blocks[b].tolist()
        y = cell // self._n_groups
        self.make_room(y, weight * (last - first))
        self._n_joined += 1
        self.values[first:last] = weight / float(self.units[y])
        self._list(b, b + 1, {y})
        self._add_up()

    def _make_room(self, y: int, expected: float) -> None:
        """Take a smaller k, with which what would add up to so much is at its target."""
        self._shift(y, self._targets[y] - math.frexp(expected)[1])

    def _shift(self, y: int, n_bits: int) -> None:
        """Add to k."""
        self._powers[y] *= 2.0**-n_bits
        self._backend.scale_weights(self.placed_blocks, self._n_groups, y, 2.0**n_bits, self.values)

    def _renew(self, classes: set[int]) -> None:
        """List all rows of some classes with all that they weigh now."""
        self._changes.renewed |= classes
        self._list(0, self._n_joined, classes)

    def _list(self, first: int, last: int, classes: set[int]) -> None:
        self._backend.list_everything(
            self.values,
            self._placed_mass,
            self._all_placed,
            first,
            last,
            self._n_groups,
            classes,
            self._changes.lists,
            self._block_sums,
        )
        self._changes.told = False

    def _add_up(self) -> None:
        self._backend.sum_per_class(
            self._all_placed, self._block_sums, self._n_groups, self._n_joined, self._class_sums
        )
        self.sums: list[int] = self._class_sums.tolist()
        self.units = self._scale * self._powers
        negative, positive = self.units.tolist()
        self.total = float(self.sums[0]) * negative + float(self.sums[1]) * positive
