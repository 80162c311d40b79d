"""Bags on a cluster: every shard keeps its rows as codes, and makes samples of those that a bag wants.

Which rows a bag trains on is drawn here, by row number, as on one machine: a byte or two per row come here for that,
and at the end the margin of each row that was held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._arrays import Floats, Integers
from .._engine.threads import Team
from .._fit.bags import Fold
from .._fit.preparation import Part
from .._fit.samples import CodedSample
from .._model.pairs import Effects
from .._model.tree_ensemble import CountPairs, place_pairs
from ._crew import Crew, PerPart, Session
from ._preparation import MAX_HERE, CodedRows, present_in
from ._remote import NO_CODES, RemoteSample, sum_each
from ._shard import find_present, to_sample


class RemoteCodeTable:
    """The codes of all rows, which all bags share; the same as :class:`~parityboost._fit.bags.CodeTable`.

    Parameters
    ----------
    crew : Crew
        Who has the rows.
    coded : CodedRows
        What the codes mean, and how many rows each partition has.
    """

    is_remote = True

    def __init__(self, crew: Crew, coded: CodedRows) -> None:
        self.bundles = coded.bundles
        self._crew, self._coded = crew, coded
        self._session = crew.session("table")
        counts: Integers = coded.counts
        self._bounds = np.append(0, np.cumsum(counts)).tolist()

    def _bits(self, rows: Any) -> PerPart:
        """Some rows as packed bits per partition."""
        mask = np.zeros(self._bounds[-1], dtype=np.bool_)
        mask[rows] = True
        bounds = zip(self._bounds[:-1], self._bounds[1:], strict=True)
        return PerPart({number: np.packbits(mask[first:last]) for number, (first, last) in enumerate(bounds)})

    @contextmanager
    def samples(self, part: Part, fold: Fold, n_groups: int, team: Team) -> Iterator[tuple[CodedSample, CodedSample]]:
        """The rows of a bag as samples, to train on and held out; up to so many of these come here."""
        session = self._crew.session("bag")
        name = f"bag{id(session)}"
        try:
            with Team(1) as there, Team(1) as held_there:
                train = self._remote_sample(session, f"{name}-train", fold.train, n_groups, there)
                if len(fold.held) <= MAX_HERE:
                    held = self._sample_here(session, fold.held, n_groups, team)
                else:
                    held = self._remote_sample(session, f"{name}-held", fold.held, n_groups, held_there)
                yield train, held
                for side in ("train", "held"):
                    session.later("forget", f"{name}-{side}")
                session.flush()
        finally:
            self._crew.end(session)

    def _remote_sample(self, session: Session, key: str, rows: Any, n_groups: int, team: Team) -> CodedSample:
        sizes = self.bundles.sizes
        sample = RemoteSample(session, key, self._bits(rows), n_groups, self._coded.unit, sizes, team)
        masses = sample.placed.sum_masses()
        return CodedSample(sample, NO_CODES, *find_present(self.bundles, masses))

    def _sample_here(self, session: Session, rows: Any, n_groups: int, team: Team) -> CodedSample:
        taken: dict[int, Any] = session.later("take", self._bits(rows), combine=_together).read()
        parts = [taken[number] for number in sorted(taken)]
        coded = to_sample(parts, np.arange(len(rows)), n_groups, team, self._coded.unit)
        return present_in(self.bundles, coded)

    def margins(self, effects: Effects, rows: Any) -> Floats:
        """What tables say about some of the rows."""
        session = self._crew.session("margins")
        try:
            found = session.later("margins", effects, self.bundles, self._bits(rows), combine=_together).read()
        finally:
            self._crew.end(session)
        margins: Floats = np.concatenate([found[number] for number in sorted(found)])
        return margins

    def count_pairs(self, part: Part) -> CountPairs:
        """A function that counts the sample weight in the cells of pairs of columns."""

        def count(pairs: Any) -> list[Integers]:
            places = place_pairs(pairs, self.bundles.bundle_of, self.bundles.code_of)
            counts: list[Integers] = self._session.later("count_pairs", None, places, combine=sum_each).read()
            return counts if pairs else []

        return count


def _together(answers: list[dict[int, Any]]) -> dict[int, Any]:
    return {number: value for answer in answers for number, value in answer.items()}
