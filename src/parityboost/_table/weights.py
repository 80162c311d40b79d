"""Reading the weights of rows and of classes. Only their ratios matter in training, so no size of them can overflow."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats, to_host
from .values import check_length, short

# Of weights whose largest is about one: so much lighter ones change nothing, and their reciprocals might overflow.
SMALLEST_WEIGHT = 1e-150
MOST_REPEATS = 2.0**53  # larger integers are no numbers of rows


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
