"""What can be changed in a fitted model without refitting: θ and the threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._arrays import Floats
from .._caller import warn_caller
from .._choice.frontier import Chosen, Points, SelectionData, as_table, frontier
from .._table.inputs import take_rows
from .grid import on_fine_grid
from .groups import GroupSource
from .prediction import of_one_training
from .warning import FitWarning

if TYPE_CHECKING:
    from .._choice.settings import Settings


class ControlMixin:
    """Moves a fitted model along its rounds and thresholds; a mixin of the classifier."""

    n_estimators_: int
    theta_: int
    threshold_: Any
    groups_: NDArray[Any]
    _ensemble: Any
    _group_source: GroupSource | None
    _sensitive_feature: Any
    _group_thresholds: Floats | None
    _fitted: Settings  # what the model was fitted with, whatever its parameters are now
    _selection: SelectionData | None
    _frontier: Points | None
    _chosen: Chosen | None  # what fit chose, or what the file held that the model was loaded from

    @property
    def _stage(self) -> int:
        """Which of the stages that the frontier goes through the model stands at, from 1 on."""
        return self.theta_

    @property
    def _n_stages(self) -> int:
        return self.n_estimators_

    @available_if(of_one_training)
    def set_theta(self, theta: float) -> Self:
        """Use the first ``theta`` weak learners, without refitting. The threshold stays as it is.

        A :class:`~parityboost.ParityBoostClassifier` averages several trainings: it has neither this method nor those
        that go through the rounds (``staged_predict`` and its kin).

        Parameters
        ----------
        theta : int
            Between 1 and ``n_estimators_``.

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
        >>> model.set_theta(5).theta_
        5
        """
        check_is_fitted(self)
        # A row of frontier() is a Series of floats: 5.0 is an integer as well.
        if not (_is_number(theta) and 1 <= theta <= self.n_estimators_ and theta == int(theta)):
            raise ValueError(
                f"theta must be an integer from 1 to {self.n_estimators_}, the number of learners, got {theta!r}"
            )
        self.theta_ = int(theta)
        return self

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
        per_group = self._group_source is not None
        if _is_number(threshold):
            values = [threshold] * (len(self.groups_) if per_group else 1)
        elif not per_group:
            raise ValueError(
                f"threshold must be a finite number, got {threshold!r}; thresholds per group are for models fitted "
                'with threshold="per_group"'
            )
        else:
            values = self._read_group_thresholds(threshold)
        for value in values:
            if not _is_number(value) or not np.isfinite(float(value)):
                raise ValueError(f"a threshold must be a finite number, got {value!r}")
        fine = [on_fine_grid(float(value)) for value in values]
        self.threshold_ = np.array(fine) if per_group else fine[0]
        return self

    def _read_group_thresholds(self, threshold: Any) -> list[Any]:
        groups = self.groups_.tolist()
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

    def frontier(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        max_violation: float | None = None,
    ) -> pd.DataFrame:
        """The choices of θ and threshold that no other choice beats in both error and unfairness, and that of ``fit``.

        Every round is combined with every threshold that makes a difference. Error is what the objective counts,
        ``c``·balanced error + (1 - ``c``)·error. Without arguments the measures are on the data that θ was chosen on:
        the validation data, or the training data if there was none.

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
            One row per choice, from the lowest error to the lowest violation: ``theta``, ``threshold``, balanced error
            rate ``ber``, error rate ``er``, ``violation`` of the notion, and the ``objective``. No other choice is as
            good in error and ``violation`` and better in one of them. Only the choice that ``fit`` made, or that a
            loaded file held, is a row even if another one beats it, as may be where ``fit`` was given the threshold.
            For a row, ``model.set_theta(row.theta).set_threshold(row.threshold)`` makes the model that one.

        Notes
        -----
        For this the fitted model keeps the codes of the validation data, one byte per bundle of columns and row, and
        their classes, groups and weights (with ``estimator=`` the rows themselves). They are not pickled. The outcome
        is kept, and pickled: call it once before storing a model, or give it data afterwards.

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
        if max_violation is not None and not (_is_number(max_violation) and max_violation >= 0):
            raise ValueError(f"max_violation must be a number of at least 0, got {max_violation!r}")
        if X is not None or y is not None:
            found = self._frontier_of(self._read_selection(X, y, sensitive_features, sample_weight))
            return _up_to(as_table(found, self.groups_.tolist()), max_violation)
        if sensitive_features is not None or sample_weight is not None:
            raise ValueError("frontier was given groups or weights without data: pass X and y as well, or nothing")
        if self._frontier is None:
            if not self._selection:  # none, or no rows
                raise ValueError(
                    f"this {type(self).__name__} holds no validation data: it was unpickled, loaded, or chooses no θ; "
                    "pass X, y and sensitive_features to frontier"
                )
            self._frontier = self._frontier_of(self._selection)
        return _up_to(as_table(self._frontier, self.groups_.tolist()), max_violation)

    def _frontier_of(self, selection: SelectionData) -> Points:
        return frontier(selection, self._fitted.notion, self._fitted.c, self._group_thresholds, self._chosen)

    def _read_selection(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> SelectionData:
        if X is None or y is None:
            raise ValueError("frontier needs both X and y, or neither")
        if sensitive_features is None and self._group_source is not None and self._sensitive_feature is None:
            sensitive_features = self._group_source.sensitive_features(X)
        X, rows, cell, weight = self._read_new_rows(X, y, sensitive_features, sample_weight)
        n_groups = len(self.groups_)
        part = X if len(rows) == len(X) else take_rows(X, rows)
        return SelectionData(cell, np.empty(0) if weight is None else weight, n_groups, lambda: self._stages(part))

    def _stages(self, X: Any) -> Iterator[Floats]:
        """The margins after each round."""
        stages: Iterator[Floats] = self._ensemble.staged_margin(X)
        return stages

    def _read_new_rows(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[Any, NDArray[np.int32], NDArray[Any], Floats | None]:
        """Of the classifier that this is mixed into."""
        raise NotImplementedError


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


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
