"""`fit` on a cluster: the steps of the classifier that this is mixed into, with the rows on the workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from .._arrays import Floats, Integers
from .._choice.frontier import SelectionData
from .._choice.settings import Settings
from .._engine.threads import Team
from .._fit.progress import Progress
from .._model.groups import GroupSource, sensitive_positions
from .._table.grouping import Grouping
from .._table.inputs import held_out_ranks, read_groups, read_target
from .._table.lazy import is_frame
from .._table.reading import NO_GROUPS
from .._table.sources import column_names
from .._table.weights import read_class_weight
from ._collections import Partitioned, read_collections, require_dask

MAX_TRIED = 1 << 16  # rows that advice is tried on, if the rows held out are too many to come here


class ClusterFitMixin:
    """The steps of `fit`; a mixin of a Dask classifier, in front of the local one."""

    client: Any

    def _find_client(self) -> Any:
        require_dask()
        from distributed import default_client

        if self.client is not None:
            return self.client
        try:
            return default_client()
        except ValueError:
            raise ValueError(
                f"{type(self).__name__} found no Dask client: make one before, client = distributed.Client(address), "
                "or pass it as client="
            ) from None

    @contextmanager
    def _cluster(self: Any) -> Iterator[Any]:
        """Passes over the partitions; nothing is left on the cluster whatever happens."""
        from ._crew import cluster_errors
        from ._preparation import Passes

        if self.estimator is not None:
            raise ValueError(
                f"estimator={type(self.estimator).__name__} cannot be trained on a cluster: only sums over the rows "
                "travel, which the native trees alone are made of"
            )
        if self.device != "cpu":
            raise ValueError(f'device={self.device!r} is for one machine: on a cluster use device="cpu"')
        passes = Passes(self._find_client())
        try:
            with cluster_errors(passes.client):
                yield passes
        finally:
            passes.close()

    def _read_data(self: Any, X: Any, y: Any, sensitive: Any, weight: Any, reset: bool) -> Partitioned:
        data = read_collections(X, y, sensitive, weight, self._sensitive_feature)
        if data.meta.shape[1] == 0:
            raise ValueError(f"0 feature(s) (shape={data.meta.shape}) while a minimum of 1 is required.")
        validate_data(self, data.meta, skip_check_array=True, reset=reset)
        return data

    def _prepare_rows(self: Any, passes: Any, X: Any, y: Any, sensitive: Any, weight: Any, reset: bool) -> Any:
        """The rows in numbers; sets the labels and ``groups_``, or keeps to those that there are."""
        from ._preparation import PreparedRows

        self._check_sensitive(sensitive)
        data = self._read_data(X, y, sensitive, weight, reset)
        names = None
        if sensitive is None and data.sensitive is not None and not is_frame(X):
            columns = self._sensitive_feature
            chosen = columns if isinstance(columns, (list, tuple)) else [columns]
            names = [column_names(data.meta)[int(j)] for j in chosen]
        prepared = PreparedRows(passes, data, self.bands, names)
        labels, frame = prepared.labels(), prepared.groups(self.missing_group)
        _, classes = read_target(labels, len(labels), None if reset else self._outcomes)
        groups = NO_GROUPS.copy() if reset else self.groups_
        if frame is not None:
            named = Grouping(None, self.missing_group).apply(frame)
            _, groups = read_groups(named, len(frame), None if reset else self.groups_)
        if reset:
            self._check_found(groups)
            self._sensitive_names = [] if frame is None else [str(name) for name in frame.columns]
            self._take_labels(classes)
            self.groups_, self.n_samples_fit_ = groups, prepared.n_counted
            self._check_number_of_groups(self._settings())
        prepared.number(self._outcomes, groups, self._grouping)
        return prepared

    def _fit_on_cluster(
        self: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, validation: Any
    ) -> None:
        """All of `fit` for one training."""
        from ._crew import Crew
        from ._preparation import MAX_HERE, CodedRows

        settings: Settings = self._settings()
        rng = check_random_state(self.random_state)
        with self._cluster() as passes, Team(effective_n_jobs(self.n_jobs)) as here, Team(1) as there:
            rows = self._prepare_rows(passes, X, y, sensitive_features, sample_weight, True)
            parts, held = [rows], [self._hold_out(rows, rng) if validation is None else [False] * len(rows.data)]
            if validation is not None:
                parts.append(
                    self._with_validation(validation, lambda *given: self._prepare_rows(passes, *given, False))
                )
                held.append([True] * len(parts[1].data))
            separate = any(mark is not False for marks in held for mark in marks)
            self._check_settings(settings, separate)
            masses = [part.cell_masses(marks) for part, marks in zip(parts, held, strict=True)]
            kept, out = masses[0][0] - masses[0][1], masses[-1][1]
            train_totals, totals = _totals(kept, parts[0].unit), _totals(out, parts[-1].unit)
            self._check_totals(train_totals, totals if separate else None, settings.notion)
            coded = CodedRows(passes, parts, held)
            n_held = _count_held(parts[-1], held[-1])
            n_train = rows.n_counted - (n_held if validation is None else 0)
            coded.learn(n_train, self.max_bins, self.categorical_features)
            if settings.threshold == "per_group":
                source = self._group_source_of(passes, rows, sensitive_features, masses[0][0])
                self._group_source = self._code_groups(passes, source, parts, held, separate, coded)
            crew = Crew(passes.client, coded.encode, (len(self.groups_), coded.bundles.bundle_of, coded.bundles.sizes))
            try:
                # Up to so many rows come here, and the frontier can be asked for later.
                n_watched = n_held if separate else n_train
                all_here = n_watched <= MAX_HERE
                every = 1 if all_here else -(-n_watched // MAX_TRIED)
                shown: list[Any] = []
                coded.assemble(
                    crew, lambda futures: shown.append(coded.held_sample(futures, not separate, every, here))
                )
                learner = self._remote_learner(crew, coded, shown[0], separate, all_here, there)
                unit = parts[-1].rows_per_weight
                boosted = self._boost(learner, settings, unit)
                columns = column_names(rows.data.meta)
                self._keep(boosted, learner, settings, columns)
                self._traffic = crew.n_messages, crew.sent, crew.received
            finally:
                crew.close()
        self._speak(boosted, settings, unit * every, columns)
        if not all_here:  # it was a part of them
            self._selection = None

    def _fit_bags_on_cluster(
        self: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, validation: Any
    ) -> None:
        """All of `fit` for several trainings."""
        from ._bags import RemoteCodeTable
        from ._crew import Crew
        from ._preparation import CodedRows

        settings: Settings = self._settings()
        rng = check_random_state(self.random_state)
        with self._cluster() as passes:
            prepared = self._prepare_rows(passes, X, y, sensitive_features, sample_weight, True)
            rows = _rows_here(prepared)
            folds = self._folds(rows, np.empty((prepared.n_rows, 0)), rng)  # splitters get to know no more of X
            given = judged = None
            if validation is not None:
                given = self._with_validation(validation, lambda *given: self._prepare_rows(passes, *given, False))
                judged = given.bring()
            cells = None if judged is None else np.concatenate([part.cell for part in judged])
            self._check_parts(rows.cell, folds, cells, settings)
            unit = prepared.rows_per_weight
            held: list[Any] = [False] * len(prepared.data)
            coded = CodedRows(passes, [prepared], [held])
            coded.learn(prepared.n_counted, self.max_bins, self.categorical_features)
            if settings.threshold == "per_group":
                masses = prepared.cell_masses(held)[0]
                source = self._group_source_of(passes, prepared, sensitive_features, masses)
                self._group_source = self._code_groups(passes, source, [prepared], [held], False, coded)
            binner = coded.bundles.binner

            def rows_to_choose_on(trained: Any) -> SelectionData:
                if given is None:
                    return self._held_out(trained, rows)  # type: ignore[no-any-return]
                return self._judged(passes, given, judged, trained, binner)  # type: ignore[no-any-return]

            of_choice = unit if given is None else given.rows_per_weight
            crew = Crew(passes.client, coded.encode, (len(self.groups_), coded.bundles.bundle_of, coded.bundles.sizes))
            try:
                coded.assemble(crew, lambda futures: None)
                table = RemoteCodeTable(crew, coded)
                self._train_and_choose(
                    lambda settings, class_weight: self._train(folds, rows, table, settings, class_weight, unit),
                    rows_to_choose_on,
                    settings,
                    of_choice,
                    binner,
                    column_names(prepared.data.meta),
                )
                self._traffic = crew.n_messages, crew.sent, crew.received
            finally:
                crew.close()

    def _judged(self: Any, passes: Any, given: Any, rows: list[Any], trained: Any, binner: Any) -> SelectionData:
        """What the bags say about validation data."""
        from ..recommended import blends, ensemble_of

        margins = []
        for end in trained.ends:
            ensemble = ensemble_of(binner, end)
            parts = passes.gather(passes.map(_margins_of, given.data.X, given.rows, ensemble=ensemble))
            margins.append(np.concatenate(parts))
        weights = [part.weights for part in rows if part.weights is not None]
        cell = np.concatenate([part.cell for part in rows])
        weight = np.concatenate(weights) if weights else np.empty(0)
        return SelectionData(cell, weight, len(self.groups_), blends(margins, trained.weights))

    def _hold_out(self: Any, rows: Any, rng: np.random.RandomState) -> list[Any]:
        """Which rows θ is chosen on, those that a fit on one machine would hold out."""
        from .._fit.preparation import warn_of_none_held_out
        from ._rows import hold_out_ranks

        if self.validation_fraction is None:
            return [False] * len(rows.data)
        ranks = [held_out_ranks(n, self.validation_fraction, rng) for n in rows.counts.sum(axis=0).tolist()]
        if not any(map(len, ranks)):
            warn_of_none_held_out(rows.n_counted)
            return [False] * len(rows.data)
        marks: list[Any] = hold_out_ranks(rows.counts, ranks)
        return marks

    def _remote_learner(
        self: Any, crew: Any, coded: Any, shown: Any, separate: bool, all_here: bool, there: Team
    ) -> Any:
        """The weak learner on the rows of the workers; what is shown here is watched here, if that is all there is."""
        from .._fit.loop import starting_factors
        from .._fit.samples import CodedSample
        from ._remote import NO_CODES, RemoteSample
        from ._shard import find_present

        session, n_groups, sizes = crew.session("fit"), len(self.groups_), coded.bundles.sizes
        sample = RemoteSample(session, "train", "kept", n_groups, coded.unit, sizes, there)
        train = CodedSample(sample, NO_CODES, *find_present(coded.bundles, sample.placed.sum_masses()))
        selection, watched = train, sample
        if separate and all_here:
            selection = shown
        elif separate:
            watched = RemoteSample(session, "selection", "held", n_groups, coded.held_unit, sizes, Team(1))
            selection = CodedSample(watched, NO_CODES, train.has_missing, train.has_other)
        watched.shown = coded.bundles, shown
        session.later("forget", None)
        start = starting_factors(sample.totals, read_class_weight(self.class_weight, self._outcomes))
        return self._native_learner(coded.bundles, train, selection, start)

    def _progress(self: Any, learner: Any) -> Progress:
        bar: Progress = self._bar(self.n_estimators, learner.train.n_given)
        return bar

    def _bar(self: Any, n_rounds: int, n_rows: int) -> Progress:
        return Progress(type(self).__name__, n_rounds, n_rows, len(self._find_client().nthreads()))

    def _selection_data(self: Any, learner: Any) -> SelectionData:
        from .._fit.trees import staged_margins
        from ._remote import RemoteSample

        if not isinstance(learner.selection, RemoteSample):
            data: SelectionData = super()._selection_data(learner)  # type: ignore[misc]
            return data
        bundles, shown = learner.selection.shown
        n_cells = 2 * len(self.groups_)
        cell = np.repeat(np.arange(n_cells, dtype=np.min_scalar_type(n_cells)), shown.sample.sizes)
        margins = staged_margins(bundles, shown.codes, self._ensemble)
        return SelectionData(cell, shown.sample.sample_weight, len(self.groups_), margins)

    def _group_source_of(self: Any, passes: Any, rows: Any, sensitive: Any, masses: Integers) -> GroupSource:
        """Where prediction will find the group of a row, as far as the training rows tell."""
        data, names = rows.data, self.sensitive_feature
        columns: tuple[int, ...] = ()
        if names is not None or (is_frame(sensitive) and sensitive is not None):
            found = passes.gather(passes.map(_positions_of, data.X, data.sensitive, rows.rows, names=names))
            columns = found[0] if len(set(found)) == 1 else ()
        shares = masses.reshape(2, -1).sum(axis=0).astype(np.float64)
        return GroupSource(self.groups_, shares / shares.sum(), columns, grouping=self._grouping)

    def _code_groups(
        self: Any, passes: Any, source: GroupSource, parts: list[Any], held: list[Any], separate: bool, coded: Any
    ) -> GroupSource:
        """Without columns if those of the rows held out hold other groups; with the codes of the groups if it can."""
        if separate:
            given = parts[-1].data.X, parts[-1].rows, held[-1]
            found = passes.gather(passes.map(_agreeing, *given, source=source))
            source = min(found, key=lambda other: len(other.columns))
        pairs = passes.gather(
            passes.map(_pairs_of, parts[0].data.X, parts[0].rows, source=source, binner=coded.bundles.binner)
        )
        return source.with_pairs(coded.bundles.binner, np.unique(np.concatenate(pairs)))


def _rows_here(prepared: Any) -> Any:
    """The rows that count, by their numbers in all partitions together: the cell and sample weight of each."""
    from .._fit.preparation import Part
    from .._fit.samples import Masses

    parts = prepared.bring()
    firsts = np.cumsum([0, *(part.n_rows for part in parts)])
    positions = np.concatenate([first + part.positions for first, part in zip(firsts, parts, strict=False)])
    masses = np.concatenate([part.masses(prepared.exponent) for part in parts])
    return Part(positions, np.concatenate([part.cell for part in parts]), Masses(masses, prepared.unit))


def _margins_of(x: Any, rows: Any, ensemble: Any) -> Floats:
    if len(x) == 0:
        return np.empty(0)
    margins: Floats = ensemble.margin(x, 1)[rows.positions]
    return margins


def _positions_of(x: Any, sensitive: Any, rows: Any, names: Any) -> tuple[int, ...]:
    return sensitive_positions(x, sensitive, names)


def _agreeing(x: Any, rows: Any, held: Any, source: GroupSource) -> GroupSource:
    from ._rows import held_mask

    mask = held_mask(rows, held)
    if not mask.any():
        return source
    return source.agreeing_with(x, rows.positions[mask], rows.cell[mask] % len(source.groups))


def _pairs_of(x: Any, rows: Any, source: GroupSource, binner: Any) -> NDArray[np.int64]:
    return source.code_pairs(binner, x, rows.positions, rows.cell % len(source.groups))


def _totals(masses: Integers, unit: float) -> Floats:
    totals: Floats = masses.astype(np.float64) * unit
    return totals.reshape(2, -1).T


def _count_held(rows: Any, held: list[Any]) -> int:
    if all(mark is True for mark in held):
        return int(rows.n_counted)
    return sum(int(np.unpackbits(bits).sum()) for marks in held if not isinstance(marks, bool) for bits in marks)
