"""What the classifiers share: predicting, moving a fitted model, files, and the steps that every training has."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import MAX_BINS, Floats, on_card, on_fine_grid, to_host
from ._caller import warn_caller
from ._choice.frontier import Points, SelectionData, as_table, frontier
from ._choice.wishes import Settings
from ._engine.threads import MAX_THREADS
from ._io.limits import too_large
from ._model.glass_box import About, FittedModel, FitWarning, GlassBox, log_probabilities, probabilities
from ._model.groups import GroupSource, sensitive_positions
from ._notebook import Frontier
from ._table.grouping import AS_GIVEN, Grouping, Sensitive, leave_out, make_views
from ._table.reading import LabelledRows, Labels, find_label, read_clusters, read_rows, read_validation, rows_per_weight
from ._table.sources import read_table
from ._table.values import take_rows, to_pandas
from .notions import NOTION_NAMES, FairnessNotion, Viewed, get_notion

# A threshold for each of more groups would be chosen on a handful of rows, and take long.
MAX_GROUP_THRESHOLDS = 100

CONSTRAINTS: dict[str, list[Any]] = {
    "notion": [StrOptions(set(NOTION_NAMES)), FairnessNotion],
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "c": [Interval(Real, 0, 1, closed="both")],
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "update": [StrOptions({"confidence", "discrete", "real"})],
    "learning_rate": [Interval(Real, 0.001, 1, closed="both")],
    "class_weight": [StrOptions({"balanced", "balanced_groups"}), dict, None],
    "threshold": [StrOptions({"auto", "per_group"}), Interval(Real, None, None, closed="neither")],
    "max_depth": [Interval(Integral, 1, 2, closed="both")],
    "interaction_cst": [StrOptions({"pairwise", "no_interactions"}), list, tuple, None],
    "monotonic_cst": [dict, "array-like", None],
    "criterion": [StrOptions({"gini", "error"})],
    "category_splits": [StrOptions({"one", "sets"})],
    "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
    "keep": [Interval(Real, 0, 1, closed="both")],
    "max_violation": [Interval(Real, 0, None, closed="left"), None],
    "positive": ["boolean", Real, str, None],
    "favourable": ["boolean", Real, str, None],
    "sensitive_feature": [str, Integral, list, None],
    "groups": [StrOptions({"crossed", "each", "both"})],
    "blind": ["boolean"],
    "bands": [dict, None],
    "missing_group": [str, None],
    "n_jobs": [Interval(Integral, -MAX_THREADS, MAX_THREADS, closed="both"), None],
    "device": [StrOptions({"cpu", "cuda"})],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}
OF_THE_PAPER: dict[str, list[Any]] = {
    "cumulative": ["boolean"],
    "costs_from": [StrOptions({"training", "validation"})],
    "learner_weight": [StrOptions({"error", "cost"})],
    "estimator": [HasMethods(["fit", "predict"]), None],
}


def has_glass_box(model: Any) -> bool:
    """Whether a model is a sum of tables, or is not fitted yet; otherwise the error says what it is."""
    if model.__sklearn_is_fitted__() and not isinstance(model._model, GlassBox):
        name = type(model._model.learners[0]).__name__
        raise AttributeError(
            f"only a model of stumps or native trees (estimator=None) is a sum of step functions, this one is of {name}"
        )
    return True


class Data(NamedTuple):
    """A table that was read, and the rows of it that count."""

    X: Any
    rows: LabelledRows
    unit: float  # how many rows a weight of one stands for
    cluster: NDArray[np.intp] | None = None  # of each row of X, who it is one of, if rows belong together
    is_part: bool = False  # whether other rows of the same table are elsewhere

    def at(self, chosen: Any) -> Data:
        """Some of the rows that count."""
        rows, weights = self.rows, self.rows.weights
        part = {"positions": rows.positions[chosen], "cell": rows.cell[chosen]}
        part["weights"] = None if weights is None else weights[chosen]
        return self._replace(rows=rows._replace(**part), is_part=True)


class FairClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose fitted model is one value; what it says about the rows of a table."""

    # What `fit` sets, in one of the classes or in both.
    thetas_: NDArray[Any]
    _rounds: Any  # TreeRounds or EstimatorRounds
    _box: GlassBox
    _bag_sizes: list[int]  # rounds of each training
    _about: About
    _history: dict[str, Any]  # plain columns, which every store of models can hold
    _selection: SelectionData | None  # of one training: the rows that were chosen on, and
    _frontier: Points | None
    _chosen: Any  # a stage and its threshold (Chosen), which a frontier has in any case; or None
    _group_thresholds: Any  # that every stage would have, or None

    # Fitted attributes of a subclass, single values each, that a file keeps besides what all models have.
    _stored_values: ClassVar[tuple[str, ...]] = ()
    _uses_groups: ClassVar[bool] = True  # plain boosting takes them and makes nothing of them

    # Where metadata is routed, the methods that may need the groups get them unless told otherwise.
    __metadata_request__predict: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__predict_proba: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__predict_log_proba: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__decision_function: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"sensitive_features": True}

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, validation: Any = None
    ) -> Self:
        """Train on X, y.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Numbers, booleans, categories and strings; missing values are fine.
        y : array-like of shape (n_samples,)
            Labels of two classes. The larger label is the positive class, unless ``positive`` says otherwise.
        sensitive_features : array-like, Series or DataFrame, optional
            The group of each instance. Several columns are crossed. Not needed if ``sensitive_feature`` names columns
            of X.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each instance, in the errors and in the rates: weight 2 equals a repeated row.
        validation : tuple, optional
            Data to choose θ or the final threshold on, instead of rows of X that are held out: ``(X, y)``, ``(X, y,
            sensitive_features)`` or ``(X, y, sensitive_features, sample_weight)``.

        Returns
        -------
        self
        """
        return self._fit(X, y, sensitive_features, sample_weight, validation)

    def _fit(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, validation: Any, clusters: Any = (None, None)
    ) -> Self:
        """The same; ``clusters`` are of X and of the validation data."""
        self._forget()
        given_X, X = read_table(X), self._read_table(X, reset=True)
        sensitive, stated = self._sensitive(), (vars(self).get("positive"), vars(self).get("favourable"))
        given = given_X, y, sensitive_features, sample_weight, sensitive
        rows = read_rows(*given, positive=stated[0], favourable=stated[1])
        data, held = Data(X, rows, rows_per_weight(sample_weight, len(X)), read_clusters(clusters[0], len(X))), None

        def sizes() -> Floats:
            counted = np.bincount(to_host(rows.cell), rows.weights, 2 * len(rows.groups))
            return counted.reshape(2, -1).T.astype(np.float64) * data.unit

        about = self._about_rows(rows, sensitive, self._settings(), len(rows.positions), sizes)
        if validation is not None:

            def read(X: Any, *given: Any) -> tuple[Any, LabelledRows]:
                return self._read_table(X, False, about), self._read_known(about, read_table(X), *given)

            table, rows = read_validation(validation, self._sensitive(about), read)
            unit = rows_per_weight((*validation, None, None)[3], len(table))
            held = Data(table, rows, unit, read_clusters(clusters[1], len(table)))
            about, data = about.with_groups(rows.groups), data._replace(rows=data.rows.with_groups(rows.groups))
        self._fit_rows(about, data, held, sensitive_features)
        return self

    def _fit_rows(self, about: About, data: Data, held: Data | None, sensitive_features: Any) -> None:
        """Train on the rows that were read, choose on others if there are some, and keep what was fitted."""
        raise NotImplementedError

    # The fitted model

    @property
    def _model(self) -> FittedModel:
        """What predicts now."""
        raise NotImplementedError

    @property
    def _n_stages(self) -> int:
        """How many models the frontier goes through: rounds, or blends."""
        raise NotImplementedError

    def _stages(self, X: Any) -> Iterator[Floats]:
        """The margins of each of them."""
        raise NotImplementedError

    @property
    def glass_box_(self) -> GlassBox:
        """The fitted model as one immutable value, see :class:`~parityboost.GlassBox`."""
        check_is_fitted(self)
        has_glass_box(self)
        return self._model  # type: ignore[return-value]

    @property
    def about_(self) -> About:
        """What the model knows besides its scores: labels, groups, columns, and what ``fit`` was asked for."""
        check_is_fitted(self)
        return self._about

    def relabel(self, labels: Labels, warnings: list[str]) -> None:
        """Speak of other labels than those that were fitted: the command line fits some labels as 0 and 1.

        Parameters
        ----------
        labels : Labels
            The labels to speak of, in the order of ``classes_``.
        warnings : list of str
            What ``fit`` warned of, in terms of these.
        """
        self._about = replace(self._about, labels=labels, warnings=tuple(warnings))

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels, sorted."""
        return self._about.labels.classes

    @property
    def positive_(self) -> Any:
        """The label that is predicted as positive."""
        return self._about.labels.positive

    @property
    def favourable_(self) -> Any:
        """The label that is favourable to the person; None if it was not stated."""
        return self._about.labels.favourable

    @property
    def groups_(self) -> NDArray[Any]:
        """The groups found in training; tuples if there are several sensitive columns."""
        return self._about.groups

    @property
    def views_(self) -> dict[str, list[Any]]:
        """Of several attributes the views that are compared, from ``"sex"`` or ``"sex & race"`` to their groups.

        Empty if it is ``groups_`` that are compared.
        """
        return {view.name: list(view.groups) for view in self._about.settings.notion.views}

    @property
    def warnings_(self) -> list[str]:
        """What ``fit`` warned of."""
        return list(self._about.warnings)

    @property
    def n_samples_fit_(self) -> int:
        """Number of rows that ``fit`` was given, without those of weight 0."""
        if self._about.n_rows is None:
            raise AttributeError("files of version 0.1 do not say how many rows a model was fitted on")
        return self._about.n_rows

    @property
    def feature_importances_(self) -> Floats:
        """Each feature's share of the weights of the learners in use."""
        check_is_fitted(self)
        importances: Floats = self._model.importances  # type: ignore[attr-defined]
        return importances

    @property
    def history_(self) -> pd.DataFrame:
        """What every round of boosting left behind, a row per round; a copy."""
        check_is_fitted(self)
        return pd.DataFrame(self._history, index=self._round_names())

    def _round_names(self) -> Any:
        raise NotImplementedError

    # Predicting

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """The margin, a sum of weighted votes, minus the threshold; above 0 it is for ``classes_[1]``.

        That is the positive label, unless ``positive`` says that the first one is: then it is minus the score that
        :mod:`parityboost.explain` takes apart, as scikit-learn's scorers need it.

        ``sensitive_features`` is needed only if each group has its own threshold and the groups are no columns of X; it
        is ignored otherwise. The same holds for the other methods that predict.
        """
        given = self._read_new(X), sensitive_features  # says so if nothing was fitted
        score = self._model.score(*given, effective_n_jobs(self.n_jobs), vars(self).get("device", "cpu"))
        return self._about.labels.signed(score)

    def predict(self, X: Any, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Class labels."""
        decision = self.decision_function(X, sensitive_features=sensitive_features)
        return self._about.labels.decided(decision)

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Scores between 0 and 1 per class that sum to one and agree with :meth:`predict`; not calibrated."""
        return probabilities(self.decision_function(X, sensitive_features=sensitive_features))

    def predict_log_proba(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Logarithms of :meth:`predict_proba`, finite also where a probability rounds to 0."""
        return log_probabilities(self.decision_function(X, sensitive_features=sensitive_features))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, sensitive_features: Any = None) -> float:
        """Accuracy."""
        from sklearn.metrics import accuracy_score  # takes long to import, and few need it

        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(to_pandas(y), predicted, sample_weight=sample_weight))

    # Moving a fitted model

    def set_threshold(self, threshold: Any) -> Self:
        """Predict positive where the margin is above ``threshold``, without refitting.

        Parameters
        ----------
        threshold : float, mapping or array-like
            One threshold for all. If the model was fitted with ``threshold="per_group"``, also a mapping from every
            group to its threshold, or an array of thresholds in the order of ``groups_``.

        Returns
        -------
        self

        Examples
        --------
        >>> from parityboost import AdaFairClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = AdaFairClassifier(n_estimators=20, random_state=0)
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> before = model.predict(adult.data).sum()
        >>> bool(model.set_threshold(0.5).predict(adult.data).sum() < before)
        True
        """
        check_is_fitted(self)
        self._take_threshold(self._read_threshold(threshold))
        return self

    def _read_threshold(self, threshold: Any) -> Any:
        """One threshold, or one for each group."""
        per_group = self._about.source is not None
        if is_number(threshold):
            values = [threshold] * (len(self.groups_) if per_group else 1)
        elif not per_group:
            raise ValueError(
                f"threshold must be a finite number, got {threshold!r}; thresholds per group are for models fitted "
                'with threshold="per_group"'
            )
        else:
            values = _read_group_thresholds(threshold, self.groups_.tolist())
        for value in values:
            if not is_number(value) or not np.isfinite(float(value)):
                raise ValueError(f"a threshold must be a finite number, got {value!r}")
        fine = [on_fine_grid(float(value)) for value in values]
        return np.array(fine) if per_group else fine[0]

    def _take_threshold(self, threshold: Any) -> None:
        raise NotImplementedError

    def frontier(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        max_violation: float | None = None,
    ) -> pd.DataFrame:
        """The choices that no other choice beats in both error and unfairness, and that of ``fit``.

        Every round, or with a dial every blend, is combined with every threshold that makes a difference. Error is what
        the objective counts, ``c``·balanced error + (1 - ``c``)·error. Without arguments the measures are on the data
        that was chosen on: the validation data, or the training data if there was none.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : optional
            Other data to measure on, as for ``fit``.
        max_violation : float, optional
            Only the choices with a violation up to this: the first of them has the lowest error. If there is none, the
            one with the lowest violation, with a warning.

        Returns
        -------
        DataFrame
            One row per choice, from the lowest error to the lowest violation: ``theta`` (of a
            :class:`~parityboost.ParityBoostClassifier` ``fairness`` instead), ``threshold``, balanced error rate
            ``ber``, error rate ``er``, ``violation`` of the notion, and the ``objective``. No other choice is as good
            in error and ``violation`` and better in one of them. Only the choice that ``fit`` made, or that a loaded
            file held, is a row even if another one beats it, as may be where ``fit`` was given the threshold, or where
            one class for everyone would be best, which ``fit`` never chooses by a threshold. For a row,
            ``model.set_theta(row.theta).set_threshold(row.threshold)`` makes the model that one; for a
            :class:`~parityboost.ParityBoostClassifier`, ``choose(fairness=row.fairness, threshold=row.threshold)``
            returns that one.

        Notes
        -----
        For this a fitted :class:`~parityboost.AdaFairClassifier` keeps the codes of the validation data, one byte per
        bundle of columns and row, and their classes, groups and weights (with ``estimator=`` the rows themselves). They
        are not pickled. The outcome is kept, and pickled: call it once before storing a model, or give it data
        afterwards. A :class:`~parityboost.ParityBoostClassifier` keeps counts instead, in its file too.

        With ``threshold="per_group"`` a ``threshold`` is a dictionary from group to threshold, and the choices are all
        common thresholds, and the thresholds that were chosen in each round with every common shift of them.

        Examples
        --------
        >>> from parityboost import AdaFairClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = AdaFairClassifier(n_estimators=20, random_state=0)
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> fair = model.frontier(max_violation=0.1).iloc[
        ...     0
        ... ]  # the lowest error with so little unfairness
        >>> model = model.set_theta(fair.theta).set_threshold(fair.threshold)
        """
        check_is_fitted(self)
        if max_violation is not None and not (is_number(max_violation) and max_violation >= 0):
            raise ValueError(f"max_violation must be a number of at least 0, got {max_violation!r}")
        if X is not None or y is not None:
            points = self._frontier_of(self._read_selection(X, y, sensitive_features, sample_weight))
        else:
            if sensitive_features is not None or sample_weight is not None:
                raise ValueError("frontier was given groups or weights without data: pass X and y as well, or nothing")
            points = self._own_frontier()
        table = self._frontier_table(as_table(points, self.groups_.tolist()))
        return Frontier(_up_to(table, max_violation))

    def _own_frontier(self) -> Points:
        """Measured where the model was chosen."""
        raise NotImplementedError

    def _frontier_table(self, points: pd.DataFrame) -> pd.DataFrame:
        return points

    def _frontier_of(self, selection: Any) -> Points:
        about = self._about if selection.groups is None else self._about.with_groups(selection.groups)
        settings = about.settings
        return frontier(selection, settings.notion, settings.c, self._group_thresholds, self._chosen)

    def _read_selection(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> Any:
        if X is None or y is None:
            raise ValueError("frontier needs both X and y, or neither")
        about = self._about
        if sensitive_features is None and about.source is not None and about.sensitive_feature is None:
            sensitive_features = about.source.sensitive_features(X)
        rows = self._read_known(about, read_table(X), y, sensitive_features, sample_weight)
        X = self._read_new(X)
        part = X if len(rows.positions) == len(X) else take_rows(X, rows.positions)
        weight = np.empty(0) if rows.weights is None else rows.weights
        return SelectionData(rows.cell, weight, len(rows.groups), lambda: self._stages(part), rows.groups)

    # Showing: the rooms that do it read this one, so they are called by their names, when they are asked for

    def explore(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        others: Mapping[str, Any] | None = None,
        sample_weight: Any = None,
        favourable: Any = None,
        **words: Any,
    ) -> Any:
        """The trade-off explorer: one small page that shows whom the model finds, at every number of yeses.

        It opens in a notebook, and ``save`` writes it as one HTML file that works offline. Without ``others``, the
        plain version of a model with a dial is shown beside it.

        Parameters
        ----------
        X, y : DataFrame or array-like, array-like
            Data that the model was *not* trained on.
        sensitive_features : array-like, Series, dict or DataFrame, optional
            The group of each row; several columns are crossed. Not needed if ``sensitive_feature`` names columns of X.
        others : mapping from name to fitted classifier or scores, optional
            Models to compare with, of this package or any other; or their scores for the positive label on these rows.
            Those of this package that were trained for another notion become choices of what to make equal.
        sample_weight : array-like of shape (n_samples,), optional
            Sampling weights of the rows.
        favourable : label, optional
            The label that is favourable to the person, the "yes" of the page. By default what the model was fitted
            with, or else the positive label.
        **words
            ``who``, ``title``, ``alternatives``, ``certificate``, ``confidence`` and ``min_group_size`` of
            :func:`parityboost.explore.explore`.

        Returns
        -------
        Explorer
            See :class:`parityboost.explore.Explorer`.

        Examples
        --------
        >>> from parityboost import ParityBoostClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = ParityBoostClassifier(
        ...     "equal_opportunity", n_bags=2, n_estimators=20, random_state=0
        ... )
        >>> X, y, sex = adult.data[:30000], adult.target[:30000], adult.data["sex"][:30000]
        >>> model = model.fit(X, y, sensitive_features=sex)
        >>> new, known = adult.data[30000:], adult.target[30000:]
        >>> explorer = model.explore(
        ...     new, known, sensitive_features=new["sex"], who="who earn over 50K"
        ... )
        >>> explorer.save("explorer.html")  # doctest: +SKIP
        """
        from importlib import import_module

        given = {"sensitive_features": sensitive_features, "others": others, "sample_weight": sample_weight}
        explore_model = import_module("parityboost.explore").explore_model
        return explore_model(self, X, y, favourable=favourable, **given, **words)

    def _html_repr(self) -> str:
        """What a notebook shows: of a fitted model the explorer of the rows it was chosen on, then its features."""
        from importlib import import_module

        if not self.__sklearn_is_fitted__():
            return str(super()._html_repr())
        return str(import_module("parityboost.explore").show(self))

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    # Files

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file, for :meth:`load` and for people to read.

        The file holds the class and its parameters, classes and groups, every column with its categories or, if the
        model or the groups use it, its bin edges, the tables or every tree with its weight α, θ, the threshold(s),
        ``history_`` and the versions of the libraries in use. It is written to a temporary file that then replaces
        ``path`` and has its permissions, so there is never half a file; a pipe or terminal is written to as it is.

        Not kept: the data and the outcome of :meth:`frontier`, which needs data once the model is loaded; requests of
        metadata routing (``set_fit_request``); the state of a ``random_state`` that is a
        RandomState, which becomes None with a warning. An array, Index or Series given as a parameter becomes a list.

        Parameters
        ----------
        path : str or path-like
            The file; one that exists is replaced.

        Raises
        ------
        ModelFileError
            If the model cannot be stored: ``estimator`` is not None, ``notion`` is an object of a class of your own, a
            class, group or category is neither text, number, boolean, timestamp, interval nor a tuple of these, or the
            file would be larger than :func:`parityboost.load` reads (``fit`` warns of that before it trains).
        """
        from ._io.model_json import save

        save(self, path)

    @classmethod
    def load(cls, path: Any, *, verify: bool = True) -> Self:
        """Read a model that :meth:`save` has written; see :func:`parityboost.load`.

        The file says which class it is; it must be this one or a subclass of it.
        """
        from ._io.model_json import ModelFileError, load

        model = load(path, verify=verify)
        if not isinstance(model, cls):
            raise ModelFileError(f"{path}: holds a {type(model).__name__}, not a {cls.__name__}: use parityboost.load")
        return model

    @available_if(has_glass_box)
    def to_onnx(self, path: Any = None, *, opset: int = 15, contributions: bool = False) -> Any:
        """The fitted model as an ONNX graph, which runs without Python and without this library.

        Inputs, one per column of X, in its order and by its name (a name that is taken gets a number behind it), each
        of shape ``(rows, 1)``:

        - numbers and booleans: ``double``, NaN for a missing value;
        - categories that are numbers or booleans: ``double`` as well, NaN or any other number for a missing value;
        - categories otherwise: ``string``, and any text that is no category, such as ``""``, for a missing value.

        A category that did not occur in training is any other one, as in :meth:`predict`. All columns are inputs, also
        those that the model does not use. :func:`parityboost.onnx_inputs` makes the inputs from a DataFrame or array.

        Outputs: ``label`` of shape ``(rows,)``, of type int64, double, bool or string as the classes are;
        ``probabilities`` of shape ``(rows, 2)``, double; ``score`` of shape ``(rows,)``, double. Labels and scores are
        exactly those of :meth:`predict` and :meth:`decision_function`; probabilities differ by rounding at most.

        Thresholds per group are part of the graph. If the groups are no columns of X, there is an input for them,
        ``sensitive_features``, or ``s0``, ``s1``, … for several columns. A group that did not occur in training has the
        mean threshold.

        An infinite number, which :meth:`predict` refuses, cannot be refused by a graph: +∞ lies in a column's last bin,
        -∞ counts as missing.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write the graph; one that exists is replaced.
        opset : int, default=15
            Version of ONNX's operators, at least 13. Of ``ai.onnx.ml``, version 2 is used.
        contributions : bool, default=False
            Also have an output ``contributions`` of shape ``(rows, parts)``: what each feature and each pair adds to
            the score, and a constant, as :func:`parityboost.explain.contributions` has it. Their names are a JSON list
            in the graph's metadata, under ``contributions``.

        Returns
        -------
        onnx.ModelProto
            The graph, checked.

        Examples
        --------
        >>> from parityboost import AdaFairClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = AdaFairClassifier(n_estimators=10, random_state=0)
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> [output.name for output in model.to_onnx().graph.output]
        ['label', 'probabilities', 'score']
        """
        from ._io.onnx import to_onnx

        return to_onnx(self.glass_box_, path, opset, contributions)

    @available_if(has_glass_box)
    def to_sql(
        self,
        table: Any,
        dialect: str = "duckdb",
        *,
        keep: Any = (),
        contributions: bool = False,
        reasons: Any = None,
        columns: Any = None,
        types: Any = None,
        sensitive_features: Any = (),
    ) -> str:
        """The fitted model as one SQL query, which scores a table where it is.

        The result has a row per row of the table, with the columns to ``keep`` and

        - ``score``: above 0 for the positive label, so minus :meth:`decision_function` if that is the first of
          ``classes_``;
        - ``probability``: that of the positive label as in :meth:`predict_proba`;
        - ``decision``: the label that :meth:`predict` gives.

        The database adds up whole numbers, so scores and decisions are those of :meth:`predict` to the last bit;
        probabilities differ by rounding at most. NULL and NaN are missing, and so is an infinite number, which
        :meth:`predict` refuses. A category that did not occur in training is any other one.

        Parameters
        ----------
        table : str or list of str
            The table's name; a list if it has a schema, ``["risk", "applicants"]``. Names are quoted.
        dialect : {"duckdb", "sqlite", "postgres", "bigquery", "snowflake", "spark", "databricks"}, default="duckdb"
            The database. Queries are tested in DuckDB and SQLite. SQLite needs its mathematical functions.
        keep : list of str, default=()
            Columns of the table that the result has too, such as a key: a database promises no order of rows.
        contributions : bool, default=False
            Also have what each feature and each pair adds to the score, as :func:`parityboost.explain.contributions`
            has it: columns ``contribution_…``, the last of them ``contribution_constant``.
        reasons : ReasonRule, optional
            Also have reasons for unfavourable decisions: the ``rule`` of :func:`parityboost.explain.reasons`.
        columns : dict, optional
            Where the table has another name for a column of the model: ``{"x0": "age"}``.
        types : dict, optional
            Where the table has another type than the training data: ``{"member": "boolean"}`` for truth values that
            the model knows as numbers, ``"number"`` for the reverse. Not all databases make numbers of booleans.
        sensitive_features : list of str, default=()
            The table's columns of groups, if each group has its own threshold and they are no columns of X.

        Returns
        -------
        str
            The query. ``CREATE TABLE decisions AS`` before it stores the result.

        Examples
        --------
        >>> from parityboost import AdaBoostClassifier
        >>> model = AdaBoostClassifier(1).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
        >>> query = model.to_sql("people", columns={"x0": "age"})
        >>> print(query.splitlines()[-2].strip())
        CASE WHEN "score" > 0 THEN 1 ELSE 0 END AS "decision"
        """
        from ._io.sql import Names, to_sql

        lists = [[names] if isinstance(names, str) else list(names) for names in (keep, sensitive_features)]
        names = Names(table, lists[0], columns, types, lists[1])
        return to_sql(self.glass_box_, dialect, names, contributions, reasons)

    @available_if(has_glass_box)
    def scorecard(
        self, X: Any = None, *, points: float = 600, odds: float = 1, double: float = 20, favourable: Any = None
    ) -> Any:
        """The fitted model as whole points for every bin, category and pair of them, which people can add up.

        Points rise with the chances of the favourable label. Rounding changes a few decisions: the card says how many,
        and its cut is the one that changes the fewest.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features), optional
            Rows to count changed decisions on, and to choose the cut by.
        points, odds : float, default=600 and 1
            So many points stand for these odds of the favourable label, e to the power of twice the score; odds of 1
            are where the decision changes.
        double : float, default=20
            So many points more double the odds. The more, the fewer decisions change.
        favourable : label, optional
            The label that is favourable to the person; by default the model's, or if that was not stated the positive
            one.

        Returns
        -------
        Scorecard
            With its ``table``, ``points(X)``, ``predict(X)``, ``to_csv(path)``, and ``to_html(path)``, a page to print.

        Examples
        --------
        >>> from parityboost import AdaBoostClassifier
        >>> X, y = [[1], [2], [3], [4]], [0, 0, 1, 1]
        >>> print(AdaBoostClassifier(1).fit(X, y).scorecard(X, favourable=1))
        From 600 points on the decision is 1.
        600 points stand for odds of 1 to 1 of it, and 20 points more double the odds.
        Whole points change 0 of 4 decisions (none); no other cut changes fewer.
        <BLANKLINE>
        feature   value  points
           base             -64
             x0   ≤ 2.5       0
                  > 2.5    1329
                missing       0
        """
        from ._io.scorecard import make_scorecard

        box, labels = self.glass_box_, self.about_.labels
        if favourable is not None:
            favourable = find_label("favourable", favourable, labels.classes.tolist())
        stated = labels.favourable if favourable is None else favourable
        good = labels.positive if stated is None else stated
        return make_scorecard(box, X, points, odds, double, good, stated is not None)

    # Training: the steps that all have

    def _settings(self) -> Settings:
        """The parameters that say how to boost and to choose, read."""
        given = self.get_params(deep=False)
        read = {field.name: given[field.name] for field in fields(Settings) if field.name in given}
        read["notion"] = get_notion(read["notion"])
        for name in ("epsilon", "learning_rate", "keep", "max_violation"):
            if read.get(name) is not None:
                read[name] = float(read[name])
        if isinstance(read["threshold"], Real):
            read["threshold"] = on_fine_grid(float(read["threshold"]))
        return Settings(**read)

    def _forget(self) -> None:
        """Remove what an earlier fit left: if this one fails, nothing of it shall be taken for the outcome."""
        left = "_about", "_box", "_rounds", "_selection", "_frontier", "_chosen", "_group_thresholds"
        for name in [name for name in vars(self) if name.endswith("_") or name in left]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_about")

    def _sensitive(self, about: About | None = None) -> Sensitive:
        """Where the groups come from, and what needs them; for other rows than those of `fit`, as they did there."""
        given, needed_for = vars(self), ""
        if about is None:
            feature = given.get("sensitive_feature")
            grouping = Grouping(*(given.get(name, default) for name, default in vars(AS_GIVEN).items()))
        else:
            feature, grouping = about.sensitive_feature, about.grouping
        if not self._uses_groups:
            pass
        elif self._settings().notion.gaps:
            needed_for = f"notion={given.get('notion')!r}"
        elif given.get("class_weight") == "balanced_groups":
            needed_for = "class_weight='balanced_groups' ('balanced' or None does without)"
        elif given.get("threshold") == "per_group":
            needed_for = "threshold='per_group' ('auto' does without)"
        return Sensitive(feature, grouping, needed_for, type(self).__name__)

    def _read_known(self, about: About, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> LabelledRows:
        """The rows that count of a table that was read, of labels and groups that are known."""
        given = X, y, sensitive_features, sample_weight, self._sensitive(about)
        return read_rows(*given, labels=about.labels, groups=about.groups)

    def _read_table(self, X: Any, reset: bool, about: About | None = None) -> Any:
        table = read_table(X)
        if on_card(table) and vars(self).get("device", "cpu") == "cpu":
            raise TypeError('X is on the graphics card, and device="cpu": use device="cuda", or X.get()')
        given = vars(self)
        if not reset:
            table = (about or self._about).unseen(table)
        elif given.get("blind"):
            if given["sensitive_feature"] is None:
                raise ValueError("blind=True takes the sensitive columns out of X: name them with sensitive_feature")
            if given["threshold"] == "per_group":
                raise ValueError('threshold="per_group" decides by group, and blind=True says that the model must not')
            table = leave_out(table, given["sensitive_feature"])
        validate_data(self, table, skip_check_array=True, reset=reset)  # names and number of columns
        return table

    def _read_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._read_table(X, reset=False)

    def _about_rows(self, rows: Any, sensitive: Sensitive, settings: Settings, n_rows: int, sizes: Any) -> About:
        """What is known before training; ``rows`` has the labels and the groups, ``sizes`` tells how many rows of each.

        Says what :meth:`save` would only say afterwards, and whether thresholds can be chosen for so many groups.
        """
        n_groups = len(rows.groups)
        of_file = self.n_features_in_, n_groups, self.n_estimators, settings.notion, settings.threshold
        problem = too_large(*of_file) if vars(self).get("estimator") is None else None
        if problem is not None:
            warn_caller(f"the model may turn out too large to be saved: {problem}")
        if settings.threshold == "per_group" and n_groups > MAX_GROUP_THRESHOLDS:
            raise ValueError(
                f'threshold="per_group" is for up to {MAX_GROUP_THRESHOLDS} groups, got {n_groups}: merge groups, cut '
                'the column into bands, or use threshold="auto", one threshold for all'
            )
        if (
            settings.threshold == "per_group"
            and sensitive.grouping.groups != "crossed"
            and len(rows.sensitive_names) > 1
        ):
            raise ValueError(
                'threshold="per_group" is a threshold for each crossed group, and '
                f'groups={sensitive.grouping.groups!r} compares others: use groups="crossed", or threshold="auto", one '
                "threshold for all"
            )
        views = make_views(rows.groups, rows.sensitive_names, sensitive.grouping, sizes, sensitive.needed_for)
        if views:
            settings = replace(settings, notion=Viewed(settings.notion, views))
        names = getattr(self, "feature_names_in_", None)
        of_groups = sensitive.feature, sensitive.grouping
        about = About(rows.labels, rows.groups, self.n_features_in_, names, settings, *of_groups, None, n_rows)
        return replace(about, blind=bool(vars(self).get("blind")))

    def _group_source(self, about: About, X: Any, rows: Any, sensitive_features: Any) -> GroupSource:
        """Where prediction will find the group of a row; ``rows`` is a Part of X."""
        columns = () if about.blind else sensitive_positions(X, sensitive_features, about.sensitive_feature)
        n_groups = len(about.groups)
        shares = np.bincount(rows.cell % n_groups, weights=rows.masses.values_or_none, minlength=n_groups)
        return GroupSource(about.groups, shares / shares.sum(), columns, grouping=about.grouping)

    def _native_learner(
        self, bundles: Any, train: Any, selection: Any, start: Floats, unit: float, shape: Any = None
    ) -> Any:
        """Stumps or trees of depth two; a weight of one stands for ``unit`` rows."""
        from ._fit.trees import Growing, TreeLearner, read_orders, read_shape  # numba is needed only now

        given, names = vars(self), [column.name for column in bundles.binner.columns]
        orders = read_orders(given.get("monotonic_cst"), names, bundles.binner)
        rate = float(given["learning_rate"]) if given.get("update") == "real" else None
        is_by_sets = given.get("category_splits") == "sets"
        row = 1.0 / (float(train.sample.totals.sum()) * unit) if is_by_sets else None
        shape = shape or read_shape(given.get("max_depth", 1), given.get("interaction_cst"), names)
        growing = Growing(shape, given["criterion"], orders, rate, row)
        return TreeLearner(bundles, train, selection, start, growing)

    def _progress(self, n_trainings: int = 1, n_rows: int = 0) -> Any:
        from ._fit.progress import Progress

        given = vars(self)
        return Progress(
            type(self).__name__, given["n_estimators"], given.get("n_iter_no_change") is not None, n_trainings
        )

    def _speak(self, about: About, messages: list[str]) -> tuple[str, ...]:
        """Warn of what was found; say which of two texts is positive if only the alphabet says so, and which crossed
        groups are compared if not all are.

        The latter is no warning of Python's: taking the last label is what scikit-learn's classifiers do.
        """
        for message in messages:
            warn_caller(message, FitWarning)
        told = about.notes(vars(self).get("positive"))
        if self.verbose:
            print(*told, sep="\n", end="\n" if told else "", file=sys.stderr, flush=True)
        return (*messages, *told)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _read_group_thresholds(threshold: Any, groups: list[Any]) -> list[Any]:
    if isinstance(threshold, (Mapping, pd.Series)):
        given = dict(threshold.items())
        unknown = [group for group in given if group not in groups]
        absent = [group for group in groups if group not in given]
        if unknown or absent:
            problem = f"has the group {unknown[0]!r}" if unknown else f"has none for the group {absent[0]!r}"
            raise ValueError(f"threshold {problem}; the groups are {', '.join(map(repr, groups))}")
        return [given[group] for group in groups]
    if isinstance(threshold, (list, tuple, np.ndarray)) and np.shape(threshold) == (len(groups),):
        return list(threshold)
    raise ValueError(
        f"threshold must be a finite number, a mapping from group to threshold, or {len(groups)} thresholds in the "
        f"order of groups_, got {threshold!r}"
    )


def _up_to(points: pd.DataFrame, max_violation: float | None) -> pd.DataFrame:
    """The points of a frontier that are not above a limit."""
    if max_violation is None:
        return points
    reached = points[points["violation"] <= max_violation]
    if len(reached) == 0:
        closest = int(points["violation"].argmin())
        warn_caller(
            f"no choice of θ and threshold has a violation of at most {max_violation:g}: the closest has "
            f"{points['violation'].iloc[closest]:.3f}",
            FitWarning,
        )
        reached = points.iloc[[closest]]
    return reached.reset_index(drop=True)


def is_number(value: Any) -> bool:
    """Whether it is a number, as a parameter may be; a boolean is none."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
