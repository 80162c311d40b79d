"""From the rows that were read to samples and codes: who is trained on, and who θ is chosen on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import on_card, to_host
from .._caller import warn_caller
from .._engine.codes import BYTES_PER_ROW
from .._engine.threads import Team
from .._table.binning import Binner
from .._table.bundles import Bundles
from .._table.cuts import EXACT_ROWS
from .._table.inputs import stratified_split
from .._table.sources import Source, find_categorical, place_sources, read_sources
from .samples import CodedSample, Masses, Sample, code_sample


class Part(NamedTuple):
    """Rows of a table that count: their positions in it, the cell and the sample weight of each."""

    positions: NDArray[Any]
    cell: NDArray[Any]
    masses: Masses

    def on_host(self) -> Part:
        return self._replace(cell=to_host(self.cell))

    def at(self, chosen: Any) -> Part:
        return Part(self.positions[chosen], self.cell[chosen], self.masses.at(chosen))


class Split(NamedTuple):
    """The rows of X to train on, and those of another table, or of X as well, that θ is chosen on."""

    X: Any
    train: Part
    X_selection: Any
    selection: Part | None  # None for the training rows themselves

    def samples(self, n_groups: int, team: Team) -> tuple[Sample, Sample]:
        """Both kinds of rows as samples; one and the same if θ is chosen on the training rows."""
        train = Sample(self.train.cell, n_groups, self.train.masses, self.train.positions, team)
        if self.selection is None:
            return train, train
        return train, Sample(self.selection.cell, n_groups, self.selection.masses, self.selection.positions, team)


def hold_out(X: Any, rows: Part, fraction: float | None, rng: np.random.RandomState) -> Split:
    """Some of the rows to choose θ on, a share of each cell; none if the share is None or no cell has two rows."""
    if fraction is None:
        return Split(X, rows, X, None)
    rows = rows.on_host()
    train_at, selection_at = stratified_split(rows.cell, fraction, rng)
    if len(selection_at):
        return Split(X, rows.at(train_at), X, rows.at(selection_at))
    warn_of_none_held_out(len(rows.cell))
    return Split(X, rows, X, None)


def warn_of_none_held_out(n_rows: int) -> None:
    warn_caller(f"{none_held_out(n_rows)}: θ is chosen on the training data")


def none_held_out(n_rows: int) -> str:
    return f"no row can be held out of {n_rows}, one or less of each class and group"


class CodedTables(NamedTuple):
    """Columns turned into codes, and what they were turned from."""

    bundles: Bundles
    sources: list[Source]
    train_sample: Sample  # before equal rows were merged
    selection_sources: list[Source]
    selection_sample: Sample
    train: CodedSample
    selection: CodedSample

    def with_binner(self, binner: Binner) -> CodedTables:
        """The same rows with other bins."""
        return _code(binner, self.sources, self.train_sample, self.selection_sources, self.selection_sample)


def code_tables(
    split: Split, train: Sample, selection: Sample, max_bins: int, categorical_features: Any
) -> CodedTables:
    """Learn the bins from the training rows, and encode these and those that θ is chosen on."""
    sources = read_sources(split.X)
    categorical = find_categorical(split.X, sources, categorical_features)
    selection_sources = sources if split.X_selection is split.X else read_sources(split.X_selection)
    if train.team.device != "cpu" and len(train) > EXACT_ROWS:  # for fewer rows it does not pay
        n_rows = len(train) + (0 if selection is train else len(selection))
        train.team.card.require(n_rows * (2 * len(sources) + BYTES_PER_ROW))
        same = selection_sources is sources
        sources = place_sources(sources, train.team.card.place)
        selection_sources = sources if same else place_sources(selection_sources, train.team.card.place)
    masses = split.train.masses.values_or_none
    binner = Binner.fit(sources, split.train.positions, masses, max_bins, categorical, train.team)
    return _code(binner, sources, train, selection_sources, selection)


def _code(
    binner: Binner, sources: list[Source], train: Sample, selection_sources: list[Source], selection: Sample
) -> CodedTables:
    columns = [binner.encode(sources, train.rows, train.team)]
    if selection is not train:
        binner.check(selection_sources)
        columns.append(binner.encode(selection_sources, selection.rows, selection.team))
    if any(on_card(codes) for codes in columns[0]):
        columns = [[train.team.card.place(codes) for codes in part] for part in columns]
    bundles = Bundles.of(binner, columns, train.team)
    coded = coded_selection = code_sample(bundles, columns[0], train)
    if selection is not train:
        coded_selection = code_sample(bundles, columns[1], selection)
    return CodedTables(bundles, sources, train, selection_sources, selection, coded, coded_selection)
