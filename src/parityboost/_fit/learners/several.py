"""Several rounds of boosting at once, in compiled code: the same trees, weights and costs as round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._choice.rule import COUNTED_RATES
from ..._engine.cpu import MAX_LEAVES
from ..._engine.kernels import boosting, trees
from ..._model.trees import Split, Tree
from ...notions import FairnessNotion, Gap
from ..loop import PERFECT, Round
from ..samples import Leaves, Sample
from ..weights import LARGE, ROOM, SHRUNK, RowWeights

# A leaf is 2 · the side of the first split + the side of the second; a side that is not split is all on its left.
LEAVES = np.arange(MAX_LEAVES, dtype=np.uint8)
# Rounds in one call look at no more cells of the training rows than this, which takes a tenth of a second or so: nobody
# wants to wait longer for Ctrl-C.
MAX_CELLS = 1 << 26
WHY = {boosting.NO_VOTES: "termination", boosting.PERFECT: "perfect"}


def charges_of(notion: FairnessNotion, epsilon: float) -> boosting.Charges | None:
    """What a kernel makes groups pay for; None if the notion has costs or rates of its own."""
    gaps = notion.gaps
    costs = getattr(notion.costs, "__func__", None)
    if costs is not FairnessNotion.costs or not all(_is_plain(gap) for gap in gaps):
        return None
    boosts, ahead = np.zeros((2, len(gaps), 2), dtype=np.bool_)
    for k, gap in enumerate(gaps):
        boosts[k, list(gap.boosts)], ahead[k, list(gap.boosts_ahead)] = True, True
    kinds = np.array([COUNTED_RATES.index(gap.rate) for gap in gaps], dtype=np.int64)
    high_is_good = np.array([gap.high_is_good for gap in gaps], dtype=np.bool_)
    return boosting.Charges(kinds, high_is_good, boosts, ahead, float(epsilon))


def _is_plain(gap: Gap) -> bool:
    known = type(gap) is Gap and gap.rate in COUNTED_RATES
    return known and all(
        type(labels) is tuple and labels in ((), (0,), (1,), (0, 1), (1, 0))
        for labels in (gap.boosts, gap.boosts_ahead)
    )


class Several:
    """Boosts the trees of a learner, some rounds at a time.

    Parameters
    ----------
    most : int
        How many rounds there are at a time, at most; of many rows there are fewer.
    train : Sample
        The training rows.
    rows, other : trees.Rows
        The same, and those that θ is chosen on, none if they are the same.
    search : boosting.Search
        What trees are grown with.
    weights : RowWeights
        Of the training rows.
    charges : boosting.Charges
        What groups pay for.
    """

    def __init__(
        self,
        most: int,
        train: Sample,
        rows: trees.Rows,
        other: trees.Rows,
        search: boosting.Search,
        weights: RowWeights,
        charges: boosting.Charges,
    ) -> None:
        self.most = most = max(min(most, MAX_CELLS // max(rows.codes.size, 1)), 1)
        self._train, self._rows, self._other = train, rows, other
        self._search, self._weights, self._charges = search, weights, charges
        n_groups, n_rows = train.n_groups, len((other if len(other.blocks) else rows).leaves)
        self._records = boosting.Records(
            np.empty((most, 3), dtype=np.int64),
            np.empty((most, 3), dtype=np.int64),
            np.empty((most, 3), dtype=np.bool_),
            np.empty((most, 3)),
            np.empty((most, MAX_LEAVES)),
            np.empty((most, MAX_LEAVES)),
            np.empty(most),
            np.empty(most),
            np.empty((most, n_groups, 2, 2)),
            np.empty((most, n_groups, 2)),
            np.empty((most, n_rows), dtype=np.uint8),
            train.masses.unit,
        )

    def next(self, n_rounds: int) -> tuple[list[tuple[Leaves, Round]], str | None]:
        """The next rounds with the leaves of the rows that θ is chosen on, and why there are no more of them."""
        weights = self._weights.lend()
        n_done, why = boosting.boost_rounds(
            n_rounds,
            self._rows,
            self._other,
            self._train.n_groups,
            self._train.margin,
            self._search,
            self._weights.changes.lists,
            weights,
            boosting.Limits(ROOM, SHRUNK, LARGE, PERFECT),
            self._charges,
            self._records,
        )
        self._weights.take_back(weights)
        found = self._records
        numbers = zip(*(part[:n_done].tolist() for part in found[:8]), strict=True)
        rounds = []
        for j, (*parts, error, growth) in enumerate(numbers):
            tree = tree_of(parts)
            counts, costs = found.counts[j].copy(), found.costs[j].copy()
            record = Round(tree, 1.0, error, growth, counts, costs, counts, found.votes[j].copy())
            rounds.append((Leaves(found.leaves[j], LEAVES), record))
        return rounds, WHY.get(why)


def tree_of(parts: Sequence[Any]) -> Tree:
    """From features, splits, missing_left and gains, of the first split, the right side's and the left side's, and the
    votes and shares of the leaves from right to left.
    """
    *of_splits, votes, shares = parts
    root, right, left = (Split(*split) if split[0] != trees.NONE else None for split in zip(*of_splits, strict=True))
    return Tree(root, left, right, tuple(votes[::-1]), tuple(shares[::-1]))  # type: ignore[arg-type]
