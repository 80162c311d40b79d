"""Several rounds of boosting at once, in compiled code: the same learners, weights and costs as round by round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._choice.rule import COUNTED_RATES
from ..._choice.settings import Settings
from ..._engine.cpu import MAX_LEAVES
from ..._engine.kernels import boosting, trees
from ..._model.trees import Split, Stump, Tree
from ...notions import FairnessNotion, Gap
from ..loop import PERFECT, Round
from ..samples import CodedSample, Leaves
from ..weights import RowWeights

# A leaf is 2 · the side of the first split + the side of the second; a side that is not split is all on its left.
LEAVES = np.arange(MAX_LEAVES, dtype=np.uint8)
# Rounds in one call look at no more cells of the training rows than this, which takes a tenth of a second or so: nobody
# wants to wait longer for Ctrl-C.
MAX_CELLS = 1 << 26
WHY = {boosting.NO_BETTER_THAN_CHANCE: "termination", boosting.PERFECT: "perfect"}
UPDATES = {"real": boosting.REAL, "confidence": boosting.CONFIDENCE, "discrete": boosting.DISCRETE}


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


def rows_of(coded: CodedSample, has_rows: bool = True, has_leaves: bool = True) -> trees.Rows:
    """The rows of a sample as kernels want them, with room for their leaves."""
    sample = coded.sample
    blocks = sample.blocks if has_rows else sample.blocks[:0]
    n_rows, n_blocks = (len(sample), len(blocks)) if has_rows and has_leaves else (0, 0)
    return trees.Rows(
        coded.codes,
        sample.masses.values,
        blocks,
        sample.margin,
        sample.cell_mass,
        sample.masses.unit,
        np.empty(n_rows, dtype=np.uint8),
        np.empty((n_blocks, MAX_LEAVES), dtype=np.int64),
    )


class Several:
    """Boosts stumps or trees, some rounds at a time.

    Parameters
    ----------
    settings : Settings
        What is to be done.
    most : int
        How many rounds there are at a time, at most; of many rows there are fewer.
    rows, other : trees.Rows
        The training rows, and those that θ is chosen on, none if they are the same.
    n_groups : int
        Number of groups.
    search : boosting.Search
        What learners are found with.
    below : boosting.Below, optional
        What trees need besides; without it there are stumps.
    weights : RowWeights
        Of the training rows.
    charges : boosting.Charges
        What groups pay for.
    """

    def __init__(
        self,
        settings: Settings,
        most: int,
        rows: trees.Rows,
        other: trees.Rows,
        n_groups: int,
        search: boosting.Search,
        below: boosting.Below | None,
        weights: RowWeights,
        charges: boosting.Charges,
    ) -> None:
        self.most = most = max(min(most, MAX_CELLS // max(rows.codes.size, 1)), 1)
        self._rows, self._other, self._n_groups = rows, other, n_groups
        self._search, self._below, self._weights, self._charges = search, below, weights, charges
        is_ranked, has_other = isinstance(settings.threshold, str), len(other.blocks) > 0
        update = UPDATES[settings.update]
        self._how = boosting.How(update, float(settings.learning_rate), is_ranked, *weights.limits(), PERFECT)
        n_chosen_on = len((other if has_other else rows).margin) if is_ranked else 0
        n_leaves = 2 if below is None else MAX_LEAVES
        self._scratch = boosting.Scratch.room(n_leaves, n_groups, len(rows.blocks), len(other.blocks))
        self._records = boosting.Records(
            np.empty((most, 3), dtype=np.int64),
            np.empty((most, 3), dtype=np.int64),
            np.empty((most, 3), dtype=np.bool_),
            np.empty((most, 3)),
            np.empty((most, MAX_LEAVES)),
            np.empty((most, MAX_LEAVES)),
            np.empty(most),
            np.empty(most),
            np.empty(most),
            np.empty((most, n_groups, 2, 2)),
            np.empty((most, n_groups, 2)),
            np.empty((most, n_chosen_on), dtype=np.uint8),
            np.empty((most if has_other and not is_ranked else 0, n_groups, 2, 2)),
        )

    def next(self, n_rounds: int) -> tuple[list[tuple[Any, Round]], str | None]:
        """The next rounds, and why there are no more of them.

        Each comes with the leaves of the rows that θ is chosen on, or with their counts at a threshold of 0.
        """
        weights = self._weights.lend()
        n_done, why = boosting.boost_rounds(
            n_rounds,
            self._rows,
            self._other,
            self._n_groups,
            self._search,
            self._below,
            True if self._below is None else None,
            self._weights.changes.lists,
            weights,
            self._how,
            self._charges,
            self._scratch,
            self._records,
        )
        self._weights.take_back(weights)
        how, found, n_leaves = self._how, self._records, len(self._scratch.steps)
        model_of = stump_of if self._below is None else tree_of
        numbers = zip(*(part[:n_done].tolist() for part in found[:9]), strict=True)
        all_counts, all_costs = found.counts[:n_done].copy(), found.costs[:n_done].copy()
        steps = found.alphas[:n_done, None] * found.votes[:n_done, :n_leaves]
        on = all_counts if len(found.other_counts) == 0 else found.other_counts[:n_done].copy()
        rounds: list[tuple[Any, Round]] = []
        for j, (*parts, error, alpha, growth) in enumerate(numbers):
            z = growth if how.update == boosting.REAL else math.exp(-alpha) * growth
            model = model_of(parts, self._search.rate == 0.0)
            record = Round(model, alpha, error, z, all_counts[j], all_costs[j], all_counts[j], steps[j])
            rounds.append((Leaves(found.leaves[j], LEAVES[:n_leaves]) if how.is_ranked else on[j], record))
        return rounds, WHY.get(why)


def stump_of(parts: Sequence[Any], votes_are_whole: bool) -> Stump:
    """As :func:`tree_of`, from the first split and two leaves."""
    (feature, *_), (split, *_), (missing_left, *_), _, (right_vote, left_vote, *_), (right_share, left_share, *_) = (
        parts
    )
    if votes_are_whole:
        left_vote, right_vote = int(left_vote), int(right_vote)
    return Stump(feature, split, missing_left, left_vote, right_vote, left_share, right_share)


def tree_of(parts: Sequence[Any], votes_are_whole: bool) -> Tree:
    """From features, splits, missing_left and gains, of the first split, the right side's and the left side's, and the
    votes and shares of the leaves from right to left.
    """
    *of_splits, votes, shares = parts
    if votes_are_whole:
        votes = [int(vote) for vote in votes]
    root, right, left = (Split(*split) if split[0] != trees.NONE else None for split in zip(*of_splits, strict=True))
    return Tree(root, left, right, tuple(votes[::-1]), tuple(shares[::-1]))  # type: ignore[arg-type]
