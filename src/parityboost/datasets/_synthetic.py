"""Synthetic data whose disparity between groups is known because it was put there."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from ._bunch import make_bunch

# Between the class means, over all informative columns together: with balanced classes, at most 84 % can be right.
_CLASS_DISTANCE = 2.0
# Inner edges that cut a normal variable into five levels.
_LEVEL_EDGES = np.array([-1.0, -0.3, 0.3, 1.0])
_LEVELS = ["very low", "low", "medium", "high", "very high"]


def make_biased_classification(
    n_samples: int = 1000,
    n_features: int = 20,
    *,
    n_groups: int = 2,
    bias: float = 0.5,
    imbalance: float = 3.0,
    label_noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Generate a binary problem in which the groups' base rates differ by a known amount.

    With p = 1 / (1 + `imbalance`) the share of positives, group k of K has the base rate

        p + `bias` · min(p, 1 − p) · t_k,    t_k evenly spaced from −1 (group 0) to +1 (group K − 1),

    so the largest gap between two groups is 2 · `bias` · min(p, 1 − p). Groups are equally large and have exactly these
    base rates, up to rounding to whole instances. Label noise then flips each label with the given probability,
    regardless of group and attributes, which moves a base rate r to r + `label_noise` · (1 − 2r).

    The columns of `data` are:

    - `group`, the sensitive attribute ("g0", "g1", ...), whose group "g0" is the protected one;
    - `proxy`, normal with mean `bias` · t_k, which knows about the group but nothing else about the label;
    - `x0`, `x1`, ..., alternately informative and pure noise. An informative column is normal with a mean that depends
      on the class before noise; all together put the classes 2 standard deviations apart, however many there are.
      Of each four columns, the last two (one informative, one noise) are then cut into five categories.

    With ``bias=0`` the group is independent of everything else.

    Parameters
    ----------
    n_samples : int, default=1000
        At least two per group.
    n_features : int, default=20
        Number of columns, `group` and `proxy` included; at least 3.
    n_groups : int, default=2
        At least 2.
    bias : float, default=0.5
        From 0 (no disparity) to 1 (with p ≤ 1/2, no positive in the protected group).
    imbalance : float, default=3.0
        Negatives per positive: 1 is balanced, 3 is about Adult, 15 about KDD census.
    label_noise : float, default=0.0
        Probability of a flipped label, from 0 to 0.5.
    random_state : int, RandomState or None, default=None
        The same integer gives the same data.

    Returns
    -------
    Bunch
        With the members that :func:`load_adult` lists, and `expected_base_rates`, the rates per group that follow from
        the parameters.

    Examples
    --------
    >>> from parityboost.datasets import base_rates, make_biased_classification
    >>> bunch = make_biased_classification(1000, bias=0.5, imbalance=3, random_state=0)
    >>> bunch.expected_base_rates.to_dict()
    {'g0': 0.125, 'g1': 0.375}
    >>> base_rates(bunch)["n"].to_dict()
    {'g0': 500, 'g1': 500}
    """
    _check_integer("n_groups", n_groups, 2)
    _check_integer("n_samples", n_samples, 2 * n_groups)
    _check_integer("n_features", n_features, 3)
    _check_real("bias", bias, 0.0, 1.0)
    _check_real("imbalance", imbalance, 0.0, np.inf)
    _check_real("label_noise", label_noise, 0.0, 0.5)
    if imbalance == 0 or np.isinf(imbalance):
        raise ValueError(f"imbalance must be positive and finite, got {imbalance!r}")
    rng = check_random_state(random_state)

    share = 1.0 / (1.0 + imbalance)
    advantage = np.linspace(-1.0, 1.0, n_groups)
    rates = share + bias * min(share, 1.0 - share) * advantage
    group, label = _groups_and_labels(n_samples, rates, rng)
    names = [f"g{k}" for k in range(n_groups)]
    columns: dict[str, Any] = {
        "group": pd.Categorical.from_codes(group, pd.Index(names)),
        "proxy": rng.standard_normal(n_samples) + bias * advantage[group],
    }
    columns |= _attributes(n_features - 2, label, rng)
    data = pd.DataFrame(columns)
    flipped = rng.random_sample(n_samples) < label_noise
    return make_bunch(
        name="Synthetic",
        data=data,
        target=pd.Series(np.where(flipped, 1 - label, label), name="label", dtype="int64"),
        sensitive=data["group"].copy(),
        protected="g0",
        target_names=["negative", "positive"],
        description=f"Synthetic data with bias={bias}, imbalance={imbalance} and label_noise={label_noise}.",
        licence="CC0 1.0",
        source="generated",
        expected_base_rates=pd.Series(rates + label_noise * (1 - 2 * rates), index=names, name="base_rate"),
    )


def _groups_and_labels(
    n_samples: int, rates: NDArray[np.float64], rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups of equal size with exact base rates, in random order."""
    group = np.arange(n_samples) % len(rates)
    rank = np.arange(n_samples) // len(rates)  # of an instance in its group
    positives = np.rint(rates * np.bincount(group)).astype(np.int64)
    label = (rank < positives[group]).astype(np.int64)
    order = rng.permutation(n_samples)
    return group[order], label[order]


def _attributes(n_columns: int, label: NDArray[np.int64], rng: np.random.RandomState) -> dict[str, Any]:
    n_informative = (n_columns + 1) // 2
    offset = _CLASS_DISTANCE / np.sqrt(n_informative) * (label - 0.5)
    columns: dict[str, Any] = {}
    for j in range(n_columns):
        values = rng.standard_normal(len(label))
        if j % 2 == 0:
            values += offset
        if j % 4 >= 2:
            columns[f"x{j}"] = pd.Categorical.from_codes(np.searchsorted(_LEVEL_EDGES, values), pd.Index(_LEVELS))
        else:
            columns[f"x{j}"] = values
    return columns


def _check_integer(name: str, value: Any, low: int) -> None:
    if not isinstance(value, Integral) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}")


def _check_real(name: str, value: Any, low: float, high: float) -> None:
    if not isinstance(value, Real) or not low <= float(value) <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")
