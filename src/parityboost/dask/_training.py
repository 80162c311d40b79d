"""What `fit` needs of rows that are on the workers: codes, samples of them, and where the groups are found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from .._choice.frontier import SelectionData
from .._engine.threads import Team
from .._fit.bags import Fold
from .._fit.samples import CodedSample, Part
from .._model.glass_box import About
from .._model.groups import GroupSource, sensitive_positions
from .._model.tables import CountPairs, Effects, place_pairs
from .._table.binning import Binner, Bundles
from .._table.lazy import is_frame
from ._cluster import Cluster, Future, release
from ._columns import learn_bins
from ._crew import Crew, PerPart, Session
from ._rows import Held, PreparedRows, Rows
from ._shard import NO_CODES, RemoteSample, Shard, Which, encode_part, sum_each, to_sample

MAX_HERE = 1 << 20  # so many of the rows that θ is chosen on come here
MAX_TRIED = 1 << 16  # rows that advice is tried on, if those held out are too many to come here


class CodedRows:
    """All partitions as codes: those to train on, and those that θ is chosen on if they are others.

    Once they are on shards, these make samples of them. Bags share them; the methods that these need are those of
    :class:`~parityboost._fit.bags.CodeTable`. Which rows a bag wants is drawn here, by row number, as on one machine.
    """

    is_remote = True

    def __init__(
        self, cluster: Cluster, parts: list[PreparedRows], max_bins: int, categorical_features: Any, in_sets: bool
    ) -> None:
        self._cluster, self._parts = cluster, parts
        self.bundles = learn_bins(cluster, parts, max_bins, categorical_features, in_sets)
        given: list[Any] = []
        for part in parts:
            of_part = repeat(part.exponent), repeat(part is not parts[0])
            given += zip(part.data.X, part.rows, part.held, *of_part, strict=False)
        self._encode = partial(_encode, cluster, self.bundles, given)
        self._n_rows = np.concatenate([part.counts.sum(axis=1) for part in parts])
        self._crew = Crew(cluster, self._encode, Shard, (len(parts[0].groups), self.bundles))

    @contextmanager
    def on_shards(self) -> Iterator[Crew]:
        """Encode all partitions, and have shards of them on the workers for a while."""
        with closing(self._crew):
            futures = self._encode(range(len(self._n_rows)))
            try:
                # Until all are there; what a task refuses is raised here.
                self._cluster.gather(self._cluster.map(len, futures))
                self._crew.assemble(futures, self._n_rows.tolist())
            finally:
                release(futures)
            yield self._crew

    def sample_there(self, session: Session, key: str, rows: Which, team: Team) -> CodedSample:
        """Some of the rows as a sample of the workers'."""
        part = self._parts[-1 if rows is True else 0]
        sample = RemoteSample(session, key, rows, len(part.groups), part.unit, self.bundles, team)
        return CodedSample(sample, NO_CODES)

    def sample_here(self, session: Session, rows: Which, team: Team, every: int = 1) -> CodedSample:
        """Some of the rows as a sample that is here; or every so many of them, whatever the partitions."""
        n_rows = np.concatenate([part.n_held for part in self._parts]) if rows is True else self._n_rows
        firsts = PerPart(enumerate((np.cumsum(n_rows) - n_rows).tolist()))
        taken = self._per_part(session, "take", rows, firsts, every)
        chosen, part = np.arange(sum(len(each.cell) for each in taken)), self._parts[-1]
        return to_sample(taken, chosen, len(part.groups), team, part.unit)

    def _per_part(self, session: Session, name: str, *given: Any) -> list[Any]:
        answers: list[dict[int, Any]] = session.later(name, *given, combine=list).read()
        found = {number: value for answer in answers for number, value in answer.items()}
        return [found[number] for number in sorted(found)]

    def _bits(self, rows: Any) -> PerPart:
        """Rows by their numbers as packed bits per partition."""
        mask = np.zeros(self._n_rows.sum(), dtype=np.bool_)
        mask[rows] = True
        return PerPart(enumerate(map(np.packbits, np.split(mask, np.cumsum(self._n_rows)[:-1]))))

    # For bags

    @contextmanager
    def samples(self, part: Part, fold: Fold, n_groups: int, team: Team) -> Iterator[tuple[CodedSample, CodedSample]]:
        """The rows of a bag as samples, to train on and held out; up to so many of these come here."""
        with self._crew.session() as session:
            keys = [f"{side} of {id(session)}" for side in ("train", "held")]
            train, bits = self.sample_there(session, keys[0], self._bits(fold.train), team), self._bits(fold.held)
            if len(fold.held) <= MAX_HERE:
                yield train, self.sample_here(session, bits, team)
            else:
                yield train, self.sample_there(session, keys[1], bits, team)
            for key in keys:
                session.later("forget", key)
            session.flush()

    def margins(self, effects: Effects, rows: Any) -> Floats:
        """What tables say about some of the rows."""
        with self._crew.session() as session:
            return np.concatenate(self._per_part(session, "margins", effects, self._bits(rows)))

    def count_pairs(self, part: Part) -> CountPairs:
        """A function that counts the sample weight in the cells of pairs of columns."""

        def count(pairs: Any) -> Any:
            places = place_pairs(pairs, self.bundles.bundle_of, self.bundles.code_of)
            with self._crew.session() as session:
                return session.later("count_pairs", None, places, combine=sum_each).read()

        return count


def _encode(cluster: Cluster, bundles: Bundles, given: list[Any], numbers: Sequence[int]) -> list[Future]:
    columns = zip(*(given[number] for number in numbers), strict=True)
    return list(cluster.client.compute(cluster.map(encode_part, numbers, *columns, bundles=bundles)))


def rows_judged(there: PreparedRows, rows: Rows, trained: Any, binner: Binner) -> SelectionData:
    """What the bags say about validation data; ``rows`` is what of it is here."""
    margins = [
        np.concatenate(there.cluster.gather(there.map(_margins_of, effects=end.effects, binner=binner)))
        for end in trained.ends
    ]
    weight = np.empty(0) if rows.weights is None else rows.weights
    return SelectionData(rows.cell, weight, len(there.groups), trained.blends(margins))


def _margins_of(number: int, x: Any, rows: Rows, held: Held, effects: Effects, binner: Binner) -> Floats:
    return effects.predict(binner, x)[rows.positions] if len(x) else np.empty(0)


def find_group_source(
    cluster: Cluster, about: About, parts: list[PreparedRows], sensitive: Any, weights: Floats, binner: Binner
) -> GroupSource:
    """Where prediction will find the group of a row, if each group has its own threshold.

    ``weights`` are those of the groups in the first part. Columns of X are no source if those of the rows that
    θ is chosen on hold other groups.
    """
    rows, columns = parts[0], ()
    if not about.blind and (about.sensitive_feature is not None or is_frame(sensitive)):
        names = {"names": about.sensitive_feature}
        found = cluster.gather(cluster.map(sensitive_positions, rows.data.X, rows.data.sensitive, **names))
        columns = found[0] if len(set(found)) == 1 else ()
    source = GroupSource(about.groups, weights / weights.sum(), columns, grouping=about.grouping)
    if parts[-1].n_held.any():
        agreeing = cluster.gather(parts[-1].map(_agreeing, source=source))
        source = min(agreeing, key=lambda other: len(other.columns))
    pairs = cluster.gather(rows.map(_pairs_of, source=source, binner=binner))
    return source.with_pairs(binner, np.unique(np.concatenate(pairs)))


def _agreeing(number: int, x: Any, rows: Rows, held: Held, source: GroupSource) -> GroupSource:
    mask = rows.is_held(held)
    if not mask.any():
        return source
    return source.agreeing_with(x, rows.positions[mask], rows.cell[mask] % len(source.groups))


def _pairs_of(number: int, x: Any, rows: Rows, held: Held, source: GroupSource, binner: Binner) -> NDArray[np.int64]:
    return source.code_pairs(binner, x, rows.positions, rows.cell % len(source.groups))
