"""The classifiers on Dask collections."""

from __future__ import annotations

import copy
import inspect
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted, validate_data

from .._model.dial import WEIGHTS
from .._table.lazy import is_collection, is_frame
from ..estimators import AdaFairClassifier
from ..recommended import ParityBoostClassifier
from ._collections import empty_table, read_collections
from ._training import ClusterFitMixin


def _like(local: Any) -> Any:
    """Let a class have the parameters of another one, and ``client``."""

    def decorate(cls: Any) -> Any:
        given = inspect.signature(local.__init__)
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)

        def __init__(self: Any, *args: Any, client: Any = None, **parameters: Any) -> None:  # noqa: N807
            local.__init__(self, *args, **parameters)
            self.client = client

        __init__.__signature__ = given.replace(  # type: ignore[attr-defined]
            parameters=[*given.parameters.values(), client]
        )
        __init__.__qualname__ = f"{cls.__name__}.__init__"
        cls.__init__ = __init__
        cls._local_class = local
        cls._parameter_constraints = {**local._parameter_constraints, "client": "no_validation"}
        return cls

    return decorate


class DaskMixin(ClusterFitMixin):
    """What the classifiers on Dask collections have beside the local ones; whatever is local is given to these."""

    _local_class: ClassVar[Any]
    client: Any

    def to_local(self: Any) -> Any:
        """The ordinary classifier with the same parameters and the same fitted model, which needs no Dask."""
        parameters = self.get_params(deep=False)
        del parameters["client"]
        model = self._local_class(**parameters)
        for name, value in vars(self).items():
            if name not in parameters and name not in ("client", "_traffic"):
                setattr(model, name, copy.copy(value))
        return model

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file, as the local classifier that :meth:`to_local` gives."""
        self.to_local().save(path)

    def __getstate__(self: Any) -> dict[str, Any]:
        """A client is a connection: it is not stored."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, "client": None}

    def __sklearn_clone__(self: Any) -> Any:
        """A clone has the same client; copies of it would be clients of their own."""
        client, self.client = self.client, None
        try:
            twin: Any = super().__sklearn_clone__()  # type: ignore[misc]
        finally:
            self.client = client
        twin.client = client
        return twin

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predict_lazily("decision_function", X, sensitive_features, np.empty(0))

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predict_lazily("predict", X, sensitive_features, getattr(self, "classes_", np.empty(0))[:0])

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predict_lazily("predict_proba", X, sensitive_features, np.empty((0, 2)))

    def predict_log_proba(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predict_lazily("predict_log_proba", X, sensitive_features, np.empty((0, 2)))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Accuracy; of Dask collections the workers count their rows."""
        if not (is_collection(X) or is_collection(y)):
            score: float = super().score(X, y, sample_weight, sensitive_features=sensitive_features)  # type: ignore[misc]
            return score
        from ._measures import accuracy

        check_is_fitted(self)
        data = read_collections(X, y, sensitive_features, sample_weight, None)
        validate_data(self, data.meta, skip_check_array=True, reset=False)
        with self._cluster() as passes:
            return accuracy(passes, data, self.to_local())

    def _read_selection(self: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Any:
        """The collections as they are; their rows stay on the workers."""
        if X is None or y is None or not (is_collection(X) or is_collection(y)):
            return super()._read_selection(X, y, sensitive_features, sample_weight)  # type: ignore[misc]
        if sensitive_features is None and self._sensitive_feature is None and self._group_source is not None:
            columns = self._group_source.columns
            sensitive_features = X.iloc[:, list(columns)] if columns else None
        return X, y, sensitive_features, sample_weight

    def _frontier_of(self: Any, selection: Any) -> Any:
        if not isinstance(selection, tuple):
            return super()._frontier_of(selection)  # type: ignore[misc]
        from ._measures import remote_frontier

        with self._cluster() as passes:
            rows = self._prepare_rows(passes, *selection, False)
            how = self._n_stages, self._fitted, self._group_thresholds, self._chosen
            return remote_frontier(passes, rows, self.to_local(), *how)

    def _read_table(self, X: Any, reset: bool) -> Any:
        if is_collection(X):
            raise TypeError(
                f"X is a Dask {type(X).__name__}, and this needs rows that are here: X.compute() brings them"
            )
        return super()._read_table(X, reset)  # type: ignore[misc]

    def _predict_lazily(self: Any, method: str, X: Any, sensitive_features: Any, like: Any) -> Any:
        if not is_collection(X):
            here = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
            return getattr(super(), method)(X, **here)
        check_is_fitted(self)
        model = self.to_local()
        validate_data(model, empty_table(X), skip_check_array=True, reset=False)
        labels = [str(label) for label in self.classes_]
        given = [] if sensitive_features is None else [sensitive_features]
        if is_frame(X):
            meta = _as_pandas(like, X._meta.index, labels)
            return X.map_partitions(
                _predict_part, *given, model=model, method=method, labels=labels, meta=meta, align_dataframes=False
            )
        X = X.rechunk({1: -1})
        if like.ndim == 1:
            return X.map_blocks(_predict_block, *_rows_of(given), model=model, method=method, drop_axis=1, meta=like)
        chunks = (X.chunks[0], (like.shape[1],))
        return X.map_blocks(_predict_block, *_rows_of(given), model=model, method=method, chunks=chunks, meta=like)


def _rows_of(given: list[Any]) -> list[Any]:
    """Arrays with an axis for each that X has."""
    return [values[:, None] if values.ndim == 1 else values for values in given]


def _as_pandas(values: Any, index: Any, labels: list[str]) -> Any:
    if values.ndim == 1:
        return pd.Series(values, index=index, dtype=values.dtype)
    return pd.DataFrame(values, index=index, columns=labels)


def _predict_part(X: Any, sensitive_features: Any = None, *, model: Any, method: str, labels: list[str]) -> Any:
    values = _predict_block(X, sensitive_features, model=model, method=method)
    return _as_pandas(values, X.index, labels)


def _predict_block(X: Any, sensitive_features: Any = None, *, model: Any, method: str) -> Any:
    if len(X) == 0:
        n = {"predict": model.classes_[:0], "decision_function": np.empty(0)}
        return n.get(method, np.empty((0, 2)))
    if sensitive_features is not None and sensitive_features.ndim == 2 and sensitive_features.shape[1] == 1:
        sensitive_features = np.asarray(sensitive_features)[:, 0]
    given = {} if sensitive_features is None else {"sensitive_features": sensitive_features}
    return getattr(model, method)(X, **given)


@_like(AdaFairClassifier)
class DaskAdaFairClassifier(DaskMixin, AdaFairClassifier):  # type: ignore[misc]
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
        self._fit_on_cluster(X, y, sensitive_features, sample_weight, validation)
        return self

    @property
    def _n_stages(self) -> int:
        """How many rounds a frontier goes through."""
        return self.n_estimators_


@_like(ParityBoostClassifier)
class DaskParityBoostClassifier(DaskMixin, ParityBoostClassifier):  # type: ignore[misc]
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

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, validation: Any = None
    ) -> DaskParityBoostClassifier:
        """Train on X, y, on the workers of a cluster; as :meth:`DaskAdaFairClassifier.fit`."""
        self._forget()
        self._fit_bags_on_cluster(X, y, sensitive_features, sample_weight, validation)
        return self

    def predict_calibrated(self, X: Any) -> Any:
        """As of the local classifier; lazy for a Dask collection, with its partitions and index."""
        return self._predict_lazily("predict_calibrated", X, None, np.empty((0, 2)))

    @property
    def _n_stages(self) -> int:
        """How many blends a frontier goes through."""
        return 1 if self._dial is None else len(WEIGHTS)
