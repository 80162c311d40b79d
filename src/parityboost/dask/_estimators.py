"""The classifiers on Dask collections."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base import FairClassifier
from .._choice.frontier import Points
from .._choice.promise import HELD_OUT
from .._engine.threads import Team
from .._fit.loop import boost, starting_factors
from .._fit.progress import Progress
from .._fit.samples import Masses, Part
from .._table.grouping import Sensitive
from .._table.lazy import is_collection, is_frame
from .._table.reading import read_class_weight, read_validation
from .._table.sources import column_names
from ..estimators import AdaFairClassifier
from ..recommended import ParityBoostClassifier, held_out
from . import _training
from ._cluster import Cluster, cluster_of, find_client
from ._measures import accuracy, remote_frontier
from ._rows import PreparedRows, empty_table, prepare_rows, read_collections
from ._training import CodedRows, find_group_source, rows_judged

OF_CLIENT = {"client": "no_validation"}


class OnCollections(FairClassifier):
    """What a classifier does with Dask collections; whatever is here is for the local one, which comes after it."""

    _local_class: ClassVar[Any]
    client: Any

    def to_local(self) -> Any:
        """The ordinary classifier with the same parameters and the same fitted model, which needs no Dask."""
        parameters = self.get_params(deep=False)
        model = self._local_class(**{name: value for name, value in parameters.items() if name != "client"})
        fitted = {name: value for name, value in vars(self).items() if name not in (*parameters, "_traffic")}
        vars(model).update({name: copy.copy(value) for name, value in fitted.items()})
        return model

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file, as the local classifier that :meth:`to_local` gives."""
        self.to_local().save(path)

    def __getstate__(self) -> dict[str, Any]:
        """A client is a connection: it is not stored."""
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Any:
        """A clone has the same client; copies of it would be clients of their own."""
        client, self.client = self.client, None
        try:
            twin: Any = super().__sklearn_clone__()
        finally:
            self.client = client
        twin.client = client
        return twin

    # Predicting

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predicted("decision_function", X, sensitive_features)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predicted("predict", X, sensitive_features)

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predicted("predict_proba", X, sensitive_features)

    def predict_log_proba(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predicted("predict_log_proba", X, sensitive_features)

    def _predicted(self, method: str, X: Any, sensitive_features: Any = None) -> Any:
        """What the local classifier predicts, for each partition of a collection."""
        if not is_collection(X):
            here = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
            return getattr(super(), method)(X, **here)
        check_is_fitted(self)
        how, empty = {"model": self.to_local(), "method": method}, empty_table(X)
        validate_data(how["model"], self._about.unseen(empty), skip_check_array=True, reset=False)
        meta = _predict_part(empty, **how)
        given = [] if sensitive_features is None else [sensitive_features]
        if is_frame(X):
            return X.map_partitions(_predict_part, *given, **how, meta=meta, align_dataframes=False)
        X = X.rechunk({1: -1})
        given = [values[:, None] if values.ndim == 1 else values for values in given]  # an axis for each that X has
        shape: dict[str, Any] = {"drop_axis": 1} if meta.ndim == 1 else {"chunks": (X.chunks[0], (2,))}
        return X.map_blocks(_predict_part, *given, **how, **shape, meta=meta)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Accuracy; of Dask collections the workers count their rows."""
        if not (is_collection(X) or is_collection(y)):
            return super().score(X, y, sample_weight, sensitive_features=sensitive_features)
        check_is_fitted(self)
        data = read_collections(X, y, sensitive_features, sample_weight)
        validate_data(self, self._about.unseen(data.meta), skip_check_array=True, reset=False)
        with self._cluster() as cluster:
            return accuracy(cluster, data, self.to_local())

    def _read_selection(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Any:
        """The collections as they are; their rows stay on the workers."""
        if X is None or y is None or not (is_collection(X) or is_collection(y)):
            return super()._read_selection(X, y, sensitive_features, sample_weight)
        source = self._about.source
        if sensitive_features is None and self._about.sensitive_feature is None and source is not None:
            sensitive_features = X.iloc[:, list(source.columns)] if source.columns else None
        return X, y, sensitive_features, sample_weight

    def _frontier_of(self, selection: Any) -> Points:
        if not isinstance(selection, tuple):
            return super()._frontier_of(selection)
        given = self._sensitive(self._about), self._about, *selection
        with self._cluster() as cluster:
            return remote_frontier(cluster, self._read_rows(cluster, *given), self.to_local())

    def _read_table(self, X: Any, reset: bool, about: Any = None) -> Any:
        if is_collection(X):
            raise TypeError(
                f"X is a Dask {type(X).__name__}, and this needs rows that are here: X.compute() brings them"
            )
        return super()._read_table(X, reset, about)

    # Training

    @contextmanager
    def _cluster(self) -> Iterator[Cluster]:
        """The cluster, if what was asked for can be done there."""
        estimator, device = vars(self).get("estimator"), vars(self).get("device")
        if estimator is not None:
            raise ValueError(
                f"estimator={type(estimator).__name__} cannot be trained on a cluster: only sums over the rows travel, "
                "which the native trees alone are made of"
            )
        if device != "cpu":
            raise ValueError(f'device={device!r} is for one machine: on a cluster use device="cpu"')
        with cluster_of(find_client(self.client, type(self).__name__)) as cluster:
            yield cluster

    def _read_rows(
        self, cluster: Cluster, sensitive: Sensitive, known: Any, X: Any, y: Any, groups: Any, sample_weight: Any
    ) -> PreparedRows:
        """The rows in numbers; labels and groups are those that occur, or those that are ``known``."""
        sensitive.check(groups)
        is_blind = bool(getattr(known, "blind", vars(self).get("blind")))
        data = read_collections(X, y, groups, sample_weight, sensitive.feature, is_blind)
        if data.meta.shape[1] == 0:
            raise ValueError(f"0 feature(s) (shape={data.meta.shape}) while a minimum of 1 is required.")
        validate_data(self, data.meta, skip_check_array=True, reset=known is None)
        return prepare_rows(cluster, sensitive, data, known, vars(self).get("positive"), vars(self).get("favourable"))

    def _progress(self, n_trainings: int = 1, n_rows: int = 0) -> Progress:
        name, is_open = type(self).__name__, self.n_iter_no_change is not None
        n_workers = len(find_client(self.client, name).nthreads())
        return Progress(name, self.n_estimators, is_open, n_trainings, n_rows, n_workers)


def _predict_part(X: Any, sensitive_features: Any = None, *, model: Any, method: str) -> Any:
    """The predictions for a partition, which may have no rows; a frame has an index and keeps it."""
    given = {}
    if sensitive_features is not None:
        is_column = sensitive_features.ndim == 2 and sensitive_features.shape[1] == 1
        given["sensitive_features"] = np.asarray(sensitive_features)[:, 0] if is_column else sensitive_features
    if len(X) == 0:
        nothing = {"predict": model.classes_[:0], "decision_function": np.empty(0)}
        values = nothing.get(method, np.empty((0, 2)))
    else:
        values = getattr(model, method)(X, **given)
    if not isinstance(X, pd.DataFrame):
        return values
    if values.ndim == 1:
        return pd.Series(values, index=X.index, dtype=values.dtype)
    return pd.DataFrame(values, index=X.index, columns=[str(label) for label in model.classes_])


@dataclass(eq=False, repr=False)
class DaskAdaFairClassifier(OnCollections, AdaFairClassifier):
    """:class:`~parityboost.AdaFairClassifier` on Dask collections, with the same model bit for bit.

    The rows stay on the workers: as one byte per cell, and a weight and a margin per row. Each round only sums travel.
    A worker that is lost is replaced, and the model is the same.

    Parameters
    ----------
    notion, n_estimators, … :
        As of :class:`~parityboost.AdaFairClassifier`; ``estimator`` and ``device="cuda"`` are for one machine only.
    client : distributed.Client, optional
        The cluster; by default the client that was made last. It is never stored with a model.

    Notes
    -----
    Rows are numbered in the order of the partitions. With the same ``random_state`` the same rows are held out as from
    the same rows in one DataFrame.
    """

    _local_class = AdaFairClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {**AdaFairClassifier._parameter_constraints, **OF_CLIENT}
    client: Any = field(default=None, kw_only=True)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, validation: Any = None
    ) -> DaskAdaFairClassifier:
        """Train on X, y, on the workers of a cluster.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; missing values are fine. Neither divisions nor the sizes of
            chunks need be known.
        y : dask Series or Array of shape (n_samples,)
            Labels of two classes, in partitions like those of X.
        sensitive_features : dask Series, DataFrame or Array, optional
            The group of each instance, in partitions like those of X.
        sample_weight : dask Series or Array of shape (n_samples,), optional
            Weight of each instance.
        validation : tuple of dask collections, optional
            Data to choose θ on.

        Returns
        -------
        self
        """
        self._forget()
        settings, sensitive, rng = self._settings(), self._sensitive(), check_random_state(self.random_state)
        with self._cluster() as cluster, Team(effective_n_jobs(self.n_jobs)) as team:
            rows = self._read_rows(cluster, sensitive, None, X, y, sensitive_features, sample_weight)
            about = self._about_rows(rows, sensitive, settings, rows.n_counted, rows.sizes)
            settings = about.settings
            parts = [rows]
            if validation is None:
                rows.hold_out(self.validation_fraction, rng)
            else:
                read = partial(self._read_rows, cluster, sensitive, rows)
                parts.append(read_validation(validation, sensitive, read))
                if len(parts[-1].groups) > len(rows.groups):
                    about = about.with_groups(parts[-1].groups)
                    settings, of_rows = about.settings, (X, y, sensitive_features, sample_weight)
                    rows = parts[0] = self._read_rows(cluster, sensitive, about, *of_rows)
                parts[-1].hold_out_all()
            chosen_on = parts[-1]
            n_held, unit = int(chosen_on.n_held.sum()), chosen_on.rows_per_weight
            is_apart = n_held > 0
            totals = [part.totals() for part in parts]
            of_both = totals[0][0], totals[-1][1] if is_apart else None
            self._check(about, *of_both, rows.sensitive_names)
            coded = CodedRows(cluster, parts, self.max_bins, self.categorical_features, self.category_splits == "sets")
            columns = column_names(rows.data.meta)
            if settings.threshold == "per_group":
                given = sensitive_features, totals[0].sum(axis=(0, 2)), coded.bundles.binner
                about = replace(about, source=find_group_source(cluster, about, parts, *given))
            # Up to so many rows come here, and the frontier can be asked for later.
            n_watched = n_held or rows.n_counted
            all_here = n_watched <= _training.MAX_HERE
            every = 1 if all_here else -(-n_watched // _training.MAX_TRIED)
            with coded.on_shards() as crew, crew.session() as session:
                train = selection = coded.sample_there(session, "train", False, team)
                shown = coded.sample_here(session, is_apart, team, every)
                if is_apart:
                    selection = shown if all_here else coded.sample_there(session, "selection", True, team)
                session.later("forget", None)
                class_weight = read_class_weight(self.class_weight, about.labels.outcomes)
                start = starting_factors(train.sample.totals, class_weight, settings.notion.views)
                learner = self._native_learner(coded.bundles, train, selection, start, rows.rows_per_weight)
                progress = self._progress(1, train.sample.n_given) if self.verbose else None
                boosted = boost(learner, settings, progress.begin()[0] if progress else None, unit)
                if progress is not None:
                    progress.close(boosted.choice.theta, [boosted.stopped])
                if selection is not shown:  # what is kept is about rows that are here
                    learner.selection, learner.selection_rows = (
                        shown.sample,
                        shown.sample.place(shown.codes, coded.bundles.bundle_of),
                    )
                    learner.train = learner.train if is_apart else shown.sample
                self._keep(boosted, learner, about, columns, unit * every)
                self._selection = self._selection if all_here else None
                self._traffic = crew.n_messages, crew.sent, crew.received
        return self


@dataclass(eq=False, repr=False)
class DaskParityBoostClassifier(OnCollections, ParityBoostClassifier):
    """:class:`~parityboost.ParityBoostClassifier` on Dask collections, with the same model bit for bit.

    The bags are drawn by row number, in the order of the partitions: whoever fits needs about 40 bytes per row for
    that. ``n_jobs`` says how many bags are trained at the same time.

    Parameters
    ----------
    notion, n_bags, … :
        As of :class:`~parityboost.ParityBoostClassifier`; splits of your own are pairs of row numbers.
    client : distributed.Client, optional
        The cluster; by default the client that was made last. It is never stored with a model.
    """

    _local_class = ParityBoostClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {**ParityBoostClassifier._parameter_constraints, **OF_CLIENT}
    client: Any = field(default=None, kw_only=True)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, validation: Any = None
    ) -> DaskParityBoostClassifier:
        """Train on X, y, on the workers of a cluster; as :meth:`DaskAdaFairClassifier.fit`."""
        self._forget()
        settings, sensitive, rng = self._settings(), self._sensitive(), check_random_state(self.random_state)
        self._check_wishes(settings.notion)
        if self.confidence is not None and (validation is not None or self.certify_on == HELD_OUT):
            raise ValueError(
                "on a cluster a promise is made on rows that the trainings hold out: certify_on='out_of_bag', without "
                "validation"
            )
        with self._cluster() as cluster:
            there = self._read_rows(cluster, sensitive, None, X, y, sensitive_features, sample_weight)
            about = self._about_rows(there, sensitive, settings, there.n_counted, there.sizes)
            given = None
            if validation is not None:
                given = read_validation(validation, sensitive, partial(self._read_rows, cluster, sensitive, there))
                if len(given.groups) > len(there.groups):
                    about, of_rows = about.with_groups(given.groups), (X, y, sensitive_features, sample_weight)
                    there = self._read_rows(cluster, sensitive, about, *of_rows)
            here, names = there.bring(), there.sensitive_names
            rows = Part(here.positions, here.cell, Masses(here.masses(there.exponent), there.unit))
            unit = of_choice = there.rows_per_weight
            no_columns = np.empty((there.n_rows, 0))  # a splitter knows no more of X
            folds = self._folds(about, rows, no_columns, rng, names, unit)
            judged = None
            if given is not None:
                judged, of_choice = given.bring(), given.rows_per_weight
            self._check_parts(about, rows.cell, folds, None if judged is None else judged.cell, names)
            coded = CodedRows(
                cluster, [there], self.max_bins, self.categorical_features, self.category_splits == "sets"
            )
            binner = coded.bundles.binner
            column = None
            if len(about.groups) > 1:
                of_groups = sensitive_features, there.totals().sum(axis=(0, 2)), binner
                source = find_group_source(cluster, about, [there], *of_groups)
                about, column = self._find_groups(about, source, binner)
            with coded.on_shards() as crew:
                trained = self._train(about, folds, rows, coded, unit)
                if given is None or judged is None:
                    selection = held_out(trained, rows, len(about.groups))
                else:
                    selection = rows_judged(given, judged, trained, binner)
                self._keep(about, trained, selection, of_choice, binner, column, None, len(rows.cell))
                self._traffic = crew.n_messages, crew.sent, crew.received
        return self
