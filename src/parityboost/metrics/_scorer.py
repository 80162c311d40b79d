"""A scorer that finds the groups in X, so that searches need no metadata routing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.metrics._scorer import _BaseScorer

from .._table.grouping import Grouping, sensitive_columns
from .._table.sources import read_table
from ..notions import FairnessNotion
from ._groups import ScoringError, group_counts


class FairnessScorer(_BaseScorer):
    """What ``fairness_scorer`` makes."""

    def __init__(self, sensitive_feature: Any, notion: FairnessNotion, c: float, grouping: Grouping) -> None:
        super().__init__(self._at_caller, -1, {}, "predict")
        self._sensitive_feature = sensitive_feature
        self._notion = notion
        self._c = c
        self._grouping = grouping

    def __repr__(self) -> str:
        return f"fairness_scorer({self._sensitive_feature!r}, notion={self._notion!r}, c={self._c!r})"

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any) -> float:
        y_pred = method_caller(estimator, "predict", X)
        return self._sign * self._objective(estimator, X, y_true, y_pred, **kwargs)  # type: ignore[no-any-return]

    def _at_caller(self, y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
        """What ``TunedThresholdClassifierCV`` calls for each threshold, with labels alone: X is its caller's."""
        frame = sys._getframe(1)
        while frame is not None and not (frame.f_code.co_name == "_score" and "X" in frame.f_locals):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None:
            raise ScoringError("a fairness_scorer has to be called with a model and X, to find the groups in it")
        return self._objective(frame.f_locals["estimator"], frame.f_locals["X"], y_true, y_pred, sample_weight)

    def _objective(self, estimator: Any, X: Any, y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
        classes = getattr(estimator, "classes_", None)
        positive = getattr(estimator, "positive_", None if classes is None else classes[-1])
        try:
            groups = self._grouping.apply(sensitive_columns(read_table(X), self._sensitive_feature))
            counts, names = group_counts(
                y_true,
                y_pred,
                sensitive_features=groups,
                sample_weight=sample_weight,
                pos_label=positive,
            )
        except (TypeError, ValueError) as error:
            raise ScoringError(f"{self!r}: {error}") from error
        if len(names) < 2 and self._notion.gaps:
            raise ScoringError(f"{self!r}: only one group in the rows to score, {names.tolist()[0]!r}: two are needed")
        objective = float(self._notion.objective(counts, self._c))
        if np.isnan(objective):
            right = np.zeros_like(counts)  # as if every prediction were right
            right[:, [0, 1], [0, 1]] = counts.sum(axis=2)
            if np.isnan(self._notion.violation(right)):  # the model has nothing to do with it
                raise ScoringError(
                    f"{self!r}: the rates of fewer than two of the groups {names.tolist()} are defined on the "
                    f"{len(groups)} rows to score: split by class and group, or into fewer parts"
                )
        return objective
