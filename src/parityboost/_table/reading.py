"""The rows that `fit` is given: which of them count, the labels, and the cell and weight of each.

Only the ratios of weights matter in training, so no size of them can overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._arrays import Floats, on_card, to_host
from .grouping import Sensitive, shown, warn_of_order
from .sources import TableLike
from .values import check_length, few_values, object_array, short, take_rows, to_pandas

Found = TypeVar("Found")

# Of weights whose largest is about one: so much lighter ones change nothing, and their reciprocals might overflow.
SMALLEST_WEIGHT = 1e-150
MOST_REPEATS = 2.0**53  # larger integers are no numbers of rows


@dataclass(frozen=True)
class Labels:
    """The two labels of a model: which of them it predicts as positive, and which is favourable to the person.

    ``classes`` is sorted, as scikit-learn's scorers take for granted. Training knows the negative label as 0 and the
    positive one as 1, in whichever order they sort.
    """

    classes: NDArray[Any]
    positive: Any
    favourable: Any = None  # None: not stated

    @classmethod
    def of(cls, classes: NDArray[Any], positive: Any = None, favourable: Any = None) -> Labels:
        """From what the user stated; the positive label is the last one by default.

        A label that was stated and does not occur is an error.
        """
        values = classes.tolist()
        positive = values[1] if positive is None else find_label("positive", positive, values)
        favourable = None if favourable is None else find_label("favourable", favourable, values)
        return cls(classes, positive, favourable)

    @property
    def positive_is_first(self) -> bool:
        return bool(self.classes.tolist()[0] == self.positive)

    @property
    def favours_negative(self) -> bool:
        """Whether it was stated that the negative label is the favourable one."""
        return self.favourable is not None and not bool(np.all(self.favourable == self.positive))

    @property
    def outcomes(self) -> NDArray[Any]:
        """The negative and the positive label."""
        return self.classes[::-1] if self.positive_is_first else self.classes

    @property
    def shown(self) -> list[str]:
        """The negative and the positive label, as messages name them."""
        return [shown(label) for label in self.outcomes]

    def signed(self, score: Floats) -> Floats:
        """Scores for the positive label as scores for ``classes[1]``."""
        return -score if self.positive_is_first else score

    def decided(self, decision: Floats) -> NDArray[Any]:
        """Labels from signed scores. A score of 0 is not above the threshold: such a row gets the negative label."""
        positive = decision < 0 if self.positive_is_first else decision > 0
        labels: NDArray[Any] = self.outcomes[positive.astype(np.intp)]
        return labels


def find_label(name: str, stated: Any, labels: list[Any]) -> Any:
    for label in labels:
        if isinstance(label, str) == isinstance(stated, str) and bool(np.all(label == stated)):
            return label
    raise ValueError(f"{name}={stated!r} is not one of the labels {', '.join(map(short, labels))}")


def read_target(y: Any, n_rows: int, classes: NDArray[Any] | None = None) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """y as 0/1 and the two classes, sorted; the second one is the positive class."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    few = few_values("y", y, n_rows) if on_card(y) else None
    if few is not None:
        codes, found = read_target(few.distinct, len(few.distinct), classes)
        return few.spread(codes), found
    y = to_pandas(y)
    if isinstance(y, (list, tuple)) and any(isinstance(value, str) for value in y):
        y = object_array(list(y))  # NumPy would make text of a missing label
    try:
        values = column_or_1d(y, warn=True)
    except ValueError as error:
        raise ValueError(f"y: {str(error).splitlines()[0]}") from None  # the other lines are all of y
    check_length("y", len(values), n_rows)
    values, missing = label_values(values)
    refuse_missing_labels(int(missing.sum()), n_rows)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
    found = _distinct_labels(values)
    with np.errstate(invalid="ignore"):  # scikit-learn asks whether floats are integers by making integers of them
        check_classification_targets(found)
    if classes is not None:
        unknown = [value for value in found.tolist() if value not in classes.tolist()]
        if unknown:
            raise ValueError(f"the validation labels hold {unknown[0]!r}, which is not one of {classes.tolist()}")
        found = classes
    if len(found) > 2:
        first = ", ".join(map(repr, found[:5].tolist())) + (", …" if len(found) > 5 else "")
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(found)}: y has "
            f"{len(found)} classes, {first}"
        )
    if len(found) < 2:
        raise ValueError(f"Classifier can't train when only one class is present: all labels are {found.tolist()[0]!r}")
    return (values == found[1]).astype(np.int8), found


def label_values(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels as they are compared, and which of them are missing."""
    # Objects that are all True or False are booleans: what a frame makes of them where it cannot tell.
    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=False) == "boolean":
        values = values.astype(bool)
    return values, pd.isna(values)


def refuse_missing_labels(n_missing: int, n_rows: int) -> None:
    if n_missing:
        raise ValueError(f"Input y contains NaN: {n_missing} of {n_rows} labels are missing")


def _distinct_labels(values: NDArray[Any]) -> NDArray[Any]:
    """The labels, sorted, without a sorted copy of them all."""
    try:
        found = pd.unique(values)
    except TypeError:
        first = next(value for value in values.tolist() if not isinstance(value, Hashable))
        raise TypeError(f"y: a label must be a number, text or boolean, got {short(first)}") from None
    try:
        return np.sort(found)
    except TypeError:
        kinds = {type(value).__name__: value for value in reversed(found.tolist())}
        examples = " and ".join(f"{short(value)} ({kind})" for kind, value in sorted(kinds.items()))
        raise TypeError(f"y mixes labels that cannot be sorted, such as {examples}: use labels of one type") from None


class LabelledRows(NamedTuple):
    """The rows of a table that count, with the cell and the weight of each, and what the cells stand for."""

    positions: NDArray[np.int32]  # in the table
    cell: NDArray[Any]
    weights: Floats | None  # None for equal ones
    labels: Labels
    groups: NDArray[Any]
    sensitive_names: list[str]  # of the columns that the groups came from

    def with_groups(self, groups: NDArray[Any]) -> LabelledRows:
        """The same where there are others behind the groups."""
        n = len(self.groups)
        if len(groups) == n:
            return self
        y, group = (self.cell >= n).astype(np.int8), (self.cell % n).astype(np.intp)
        return self._replace(cell=cells(y, group, len(groups)), groups=groups)


def read_rows(
    X: TableLike,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    sensitive: Sensitive,
    *,
    positive: Any = None,
    favourable: Any = None,
    labels: Labels | None = None,
    groups: NDArray[Any] | None = None,
) -> LabelledRows:
    """What `fit` is given beside the table. ``labels`` and ``groups`` are the model's, where there is one already.

    A row without weight is no row: it shapes neither the bins nor the classes nor the groups.
    """
    warn_of_order(X, sensitive_features)
    weights = read_fit_weights(sample_weight, len(X))
    rows = np.arange(len(X), dtype=np.int32)
    if weights is not None and not weights.all():
        rows = rows[weights > 0]
        if isinstance(y, dict):  # which groups may be
            raise ValueError(f"y should be a 1d array, got a dictionary of {', '.join(map(repr, y)):.60}")
        for name, given in (("y", y), ("sensitive_features", sensitive_features)):
            if given is not None:
                first = next(iter(given.values()), given) if isinstance(given, dict) else given
                check_length(name, len(first), len(X))
        y, sensitive_features, weights = take_rows(y, rows), take_rows(sensitive_features, rows), weights[rows]
    try:
        codes, classes = read_target(y, len(rows), None if labels is None else labels.outcomes)
        if labels is None:
            labels = Labels.of(classes, positive, favourable)
            codes = 1 - codes if labels.positive_is_first else codes
        group, groups, names = sensitive.read(X, rows, sensitive_features, groups)
    except ValueError as error:
        if len(rows) == len(X):
            raise
        raise ValueError(f"of the {len(rows)} rows of positive sample_weight: {error}") from None
    return LabelledRows(rows, cells(codes, group, len(groups)), weights, labels, groups, names)


def read_clusters(cluster: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Who each row is one of, as numbers."""
    if cluster is None:
        return None
    given = np.asarray(to_host(cluster) if not hasattr(cluster, "to_numpy") else cluster.to_numpy())
    if given.ndim != 1:
        raise ValueError(f"cluster must have one value for each row, got an array of shape {given.shape}")
    check_length("cluster", len(given), n_rows)
    codes, _ = pd.factorize(given)
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise ValueError(f"cluster is missing in row {row}: give a row that belongs to no other a value of its own")
    return codes.astype(np.intp)


def read_validation(validation: Any, sensitive: Sensitive, read: Callable[..., Found]) -> Found:
    """What ``read`` makes of X, y, groups and weights of the tuple; its errors say that they are about this."""
    if not isinstance(validation, (tuple, list)) or not 2 <= len(validation) <= 4:
        raise ValueError(
            "validation must be (X, y), (X, y, sensitive_features) or (X, y, sensitive_features, sample_weight), "
            f"got {type(validation).__name__}"
            + (f" of length {len(validation)}" if hasattr(validation, "__len__") else "")
        )
    given = f"validation=({', '.join(('X', 'y', 'sensitive_features', 'sample_weight')[: len(validation)])})"
    X, y, groups, sample_weight = (*validation, None, None)[:4]
    if groups is None and sensitive.feature is None and sensitive.needed_for:
        raise ValueError(f"{given} lacks the groups: pass validation=(X, y, sensitive_features)")
    try:
        return read(X, y, groups, sample_weight)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{given}: {error}") from error


def cells(y: NDArray[np.int8], group: NDArray[np.intp], n_groups: int) -> NDArray[Any]:
    """The cell of each row, class * n_groups + group, in the smallest integer type that holds it."""
    if on_card(y) != on_card(group):
        y, group = to_host(y), to_host(group)
    small = np.min_scalar_type(2 * n_groups)
    cell: NDArray[Any] = y.astype(small)
    cell *= small.type(n_groups)
    cell += group.astype(small, copy=False)
    return cell


def stratified_split(
    cell: NDArray[Any], fraction: float, random_state: np.random.RandomState
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Positions of training and validation rows, each cell split in the same proportion.

    A cell with a single row stays in training; any other gives at least one row to each side.
    """
    held_out = np.zeros(len(cell), dtype=bool)
    order = np.argsort(cell, kind="stable").astype(np.int32)
    start = 0
    for size in np.bincount(cell).tolist():
        rows, start = order[start : start + size], start + size
        held_out[rows[held_out_ranks(size, fraction, random_state)]] = True
    del order
    return np.flatnonzero(~held_out).astype(np.int32), np.flatnonzero(held_out).astype(np.int32)


def held_out_ranks(size: int, fraction: float, random_state: np.random.RandomState) -> NDArray[np.int32]:
    """Which of the rows of a cell are held out, in the order in which they were drawn."""
    if size < 2:
        return np.empty(0, dtype=np.int32)
    n_held_out = min(max(round(fraction * size), 1), size - 1)
    ranks: NDArray[np.int32] = random_state.permutation(np.arange(size, dtype=np.int32))[:n_held_out]
    return ranks


def read_fit_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Sample weights for training, where only their ratios matter: the largest between 1 and 2.

    They are scaled by a power of two, which rounds nothing, so that no sum of them can overflow.
    """
    weights = read_weights(sample_weight, n_rows, summed=False)
    return None if weights is None else _scaled("sample_weight", weights)


def rows_per_weight(sample_weight: Any, n_rows: int) -> float:
    """How many rows a weight of one stands for, after :func:`read_fit_weights`.

    Integers are numbers of repeated rows. Other weights, such as those of a survey, are taken to mean one row each on
    average.
    """
    if sample_weight is None:
        return 1.0
    return WeightSums.of(plain_weights(sample_weight, n_rows)).rows_per_weight


class WeightSums(NamedTuple):
    """What is to be known about sample weights, and can be put together from parts of the rows."""

    n_positive: int
    lowest: float
    highest: float
    lightest: float  # that is not zero
    whole: bool  # all are integers
    parts: tuple[float, ...]  # that add up to exactly the sum of all, scaled as ``exponent`` says

    @classmethod
    def of(cls, weights: Floats) -> WeightSums:
        positive = weights[weights > 0]
        low, high, light = weights.min(initial=np.inf), weights.max(initial=0.0), positive.min(initial=np.inf)
        whole = bool((weights == np.floor(weights)).all())
        found = cls(len(positive), float(low), float(high), float(light), whole, ())
        return found._replace(parts=exact_parts(np.ldexp(positive, found.exponent)))

    def __add__(self, other: WeightSums) -> WeightSums:  # type: ignore[override]
        both = WeightSums(
            self.n_positive + other.n_positive,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            min(self.lightest, other.lightest),
            self.whole and other.whole,
            (),
        )
        parts = [math.ldexp(part, both.exponent - sums.exponent) for sums in (self, other) for part in sums.parts]
        return both._replace(parts=tuple(parts))

    @property
    def exponent(self) -> int:
        """By which power of two the weights are multiplied, so that the largest is between 1 and 2."""
        return 1 - int(np.frexp(self.highest)[1])

    @property
    def total(self) -> float:
        """The sum of the weights so scaled, rounded once: the same in any order."""
        return math.fsum(self.parts)

    @property
    def rows_per_weight(self) -> float:
        """See :func:`rows_per_weight`."""
        if self.lowest == self.highest:
            equal = self.highest
            return equal if 1 <= equal < MOST_REPEATS and equal.is_integer() else 1.0
        if self.whole and self.highest < MOST_REPEATS:
            return math.ldexp(1.0, -self.exponent)
        return float(self.n_positive / self.total)

    def check(self, name: str) -> None:
        """Refuse what weighs too little to count."""
        if math.ldexp(self.lightest, self.exponent) < SMALLEST_WEIGHT:
            raise ValueError(
                f"{name} ranges from {self.lightest} to {self.highest}, more than a factor of "
                f"{1 / SMALLEST_WEIGHT:.0e}: the lightest would not count at all"
            )


def exact_parts(values: Floats) -> tuple[float, ...]:
    """A few numbers that add up to exactly the sum of all, each what is left by those before, rounded."""
    rest: list[float] = values.tolist()
    parts: list[float] = []
    while (part := math.fsum(rest)) != 0.0:
        parts.append(part)
        rest.append(-part)
    return tuple(parts)


def _scaled(name: str, weights: Floats) -> Floats:
    positive = weights[weights > 0]
    sums = WeightSums(0, 0.0, float(positive.max()), float(positive.min()), False, ())
    sums.check(name)
    scaled: Floats = np.ldexp(weights, sums.exponent)
    return scaled


def read_weights(sample_weight: Any, n_rows: int, summed: bool = True) -> Floats | None:
    """Sample weights as floats, None for equal ones; ``summed`` if they are going to be added up as they are."""
    if sample_weight is None:
        return None
    weights = plain_weights(sample_weight, n_rows)
    if not weights.any():
        raise ValueError("sample_weight is zero for every row")
    if summed:
        with np.errstate(over="ignore"):
            if not np.isfinite(weights.sum()):
                raise ValueError(f"sample_weight is too large to be summed, up to {weights.max()}: divide all weights")
    return None if (weights == weights[0]).all() else weights


def plain_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Sample weights as floats; those of some rows may all be zero."""
    try:
        given = np.asarray(to_host(sample_weight))
        if given.dtype.kind in "cmM":  # dates would count nanoseconds, complex numbers lose a part
            raise TypeError
        weights = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_weight(sample_weight) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got an array of shape {weights.shape}")
    check_length("sample_weight", len(weights), n_rows)
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity")
    if (weights < 0).any():
        first = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(f"sample_weight must not be negative, got {weights[first]} in row {first}")
    return weights


def _no_weight(sample_weight: Any) -> Exception:
    """What to say about weights that are no numbers; it names the first."""
    several = isinstance(sample_weight, Iterable) and not isinstance(sample_weight, (str, dict))
    for row, value in enumerate(sample_weight if several else []):
        try:
            if isinstance(value, (complex, np.complexfloating)):
                raise TypeError
            float(value)
        except (TypeError, ValueError, OverflowError):
            return ValueError(f"sample_weight must hold numbers, got {short(value)} in row {row}")
    return ValueError(f"sample_weight must hold numbers, got {short(sample_weight)}")


def read_class_weight(class_weight: Any, classes: NDArray[Any]) -> str | Floats | None:
    """A name as it is, a dict as one factor per class; a class it leaves out keeps its weight."""
    if not isinstance(class_weight, dict):
        return None if class_weight is None else str(class_weight)
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(f"class_weight has the label {unknown[0]!r}, but the classes are {labels}")
    factors = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
    if not (np.isfinite(factors) & (factors > 0)).all():
        raise ValueError(f"class_weight must hold positive numbers, got {class_weight!r}")
    return _scaled("class_weight", factors)
