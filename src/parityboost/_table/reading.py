"""What `fit` is given, row by row: which rows count, and the class, group and weight of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .._arrays import Floats, on_card
from .grouping import Grouping
from .inputs import (
    cells,
    check_lengths,
    group_name,
    read_groups,
    read_table,
    read_target,
    sensitive_columns,
    sensitive_frame,
    take_rows,
    warn_of_order,
)
from .labels import LabelsMixin
from .placed import few_values
from .weights import read_fit_weights

Found = TypeVar("Found")

NO_GROUPS = np.array(["all"], dtype=object)  # where nothing depends on them


class ReadingMixin(LabelsMixin):
    """Reading of tables, labels, groups and weights; a mixin of the classifier."""

    groups_: NDArray[Any]
    n_samples_fit_: int
    device: str = "cpu"
    _sensitive_feature: Any
    _sensitive_names: list[str]  # of the columns that the groups came from, for messages of fit
    _grouping: Grouping

    @property
    def _groups_needed_for(self) -> str:
        """What depends on the groups, empty if nothing does; of the classifier that this is mixed into."""
        raise NotImplementedError

    def _read_table(self, X: Any, reset: bool) -> Any:
        table = read_table(X)
        if on_card(table) and self.device == "cpu":
            raise TypeError('X is on the graphics card, and device="cpu": use device="cuda", or X.get()')
        validate_data(self, table, skip_check_array=True, reset=reset)  # names and number of columns
        return table

    def _read_rows(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[NDArray[np.int32], NDArray[Any], Floats | None]:
        """The rows of X that count, and of each its cell and weight; sets the labels, ``groups_`` and their number.

        A row without weight is no row: it shapes neither the bins nor the classes nor the groups.
        """
        rows, y, sensitive_features, weights = self._weighted_rows(X, y, sensitive_features, sample_weight)
        try:
            codes, classes = read_target(y, len(rows))
            self._take_labels(classes)
            if self._positive_is_first:
                codes = 1 - codes
            group, self.groups_ = self._read_groups(X, rows, sensitive_features)
        except ValueError as error:
            if len(rows) == len(X):
                raise
            raise ValueError(f"of the {len(rows)} rows of positive sample_weight: {error}") from None
        self.n_samples_fit_ = len(rows)
        return rows, cells(codes, group, len(self.groups_)), weights

    def _read_validation(self, validation: Any) -> tuple[Any, NDArray[np.int32], NDArray[Any], Floats | None]:
        """X, and the rows of it that count with the cell and weight of each, of the tuple that `fit` is given."""
        return self._with_validation(validation, self._read_new_rows)

    def _with_validation(self, validation: Any, read: Callable[..., Found]) -> Found:
        """What a function makes of X, y, groups and weights of the tuple; its errors say that they are about this."""
        if not isinstance(validation, (tuple, list)) or not 2 <= len(validation) <= 4:
            raise ValueError(
                "validation must be (X, y), (X, y, sensitive_features) or (X, y, sensitive_features, sample_weight), "
                f"got {type(validation).__name__}"
                + (f" of length {len(validation)}" if hasattr(validation, "__len__") else "")
            )
        given = f"validation=({', '.join(('X', 'y', 'sensitive_features', 'sample_weight')[: len(validation)])})"
        X, y, sensitive, sample_weight = (*validation, None, None)[:4]
        if sensitive is None and self._sensitive_feature is None and self._groups_needed_for:
            raise ValueError(f"{given} lacks the groups: pass validation=(X, y, sensitive_features)")
        try:
            return read(X, y, sensitive, sample_weight)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{given}: {error}") from error

    def _read_new_rows(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[Any, NDArray[np.int32], NDArray[Any], Floats | None]:
        """X, and the rows of it that count with the cell and weight of each; classes and groups are known."""
        X = self._read_table(X, reset=False)
        rows, y, sensitive_features, weights = self._weighted_rows(X, y, sensitive_features, sample_weight)
        codes, _ = read_target(y, len(rows), self._outcomes)
        group, _ = self._read_groups(X, rows, sensitive_features, self.groups_)
        return X, rows, cells(codes, group, len(self.groups_)), weights

    def _weighted_rows(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> tuple[NDArray[np.int32], Any, Any, Floats | None]:
        """The rows of positive weight, and y, the groups and the weights of these."""
        warn_of_order(X, sensitive_features)
        weights = read_fit_weights(sample_weight, len(X))
        rows = np.arange(len(X), dtype=np.int32)
        if weights is None or weights.all():
            return rows, y, sensitive_features, weights
        rows = rows[weights > 0]
        if isinstance(y, dict):  # which groups may be
            raise ValueError(f"y should be a 1d array, got a dictionary of {', '.join(map(repr, y)):.60}")
        check_lengths(len(X), y=y, sensitive_features=sensitive_features)
        return rows, take_rows(y, rows), take_rows(sensitive_features, rows), weights[rows]

    def _read_groups(
        self, X: Any, rows: NDArray[np.int32], sensitive_features: Any, groups: NDArray[Any] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """The group of each row, and the groups; ``sensitive_features`` belongs to these rows."""
        self._check_sensitive(sensitive_features)
        if sensitive_features is None and self._sensitive_feature is not None:
            sensitive_features = sensitive_columns(X, self._sensitive_feature)
            if len(rows) < len(X):
                sensitive_features = take_rows(sensitive_features, rows)
        if sensitive_features is None:
            return np.zeros(len(rows), dtype=np.intp), NO_GROUPS.copy()
        few = few_values(sensitive_features)
        if few is not None:
            check_lengths(len(rows), sensitive_features=sensitive_features)
        given = sensitive_features if few is None else few.distinct
        frame = self._grouping.apply(sensitive_frame(given))
        codes, found = read_groups(frame, len(rows) if few is None else len(given), groups)
        if groups is None:
            self._sensitive_names = [str(name) for name in frame.columns]
        if few is not None:
            codes = few.spread(codes)
        self._check_found(found)
        return codes, found

    def _check_sensitive(self, sensitive_features: Any) -> None:
        """Whether the groups are given, once, if they are needed."""
        if sensitive_features is not None and self._sensitive_feature is not None:
            raise ValueError(
                "the sensitive attribute is given twice: as sensitive_features and with sensitive_feature="
                f"{self._sensitive_feature!r} in the constructor; use one of them"
            )
        if sensitive_features is None and self._sensitive_feature is None and self._groups_needed_for:
            raise ValueError(
                f"{type(self).__name__} needs the sensitive attribute for {self._groups_needed_for}: pass "
                "sensitive_features=… to fit, or name a column of X with the parameter sensitive_feature"
            )

    def _check_found(self, groups: NDArray[Any]) -> None:
        """Whether the groups are enough."""
        if len(groups) < 2 and self._groups_needed_for:
            raise ValueError(
                f"only one group in the sensitive attribute, {group_name(groups[0])!r}: two are needed for "
                f"{self._groups_needed_for}"
            )
