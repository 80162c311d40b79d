"""Other choices of θ among the rounds of one training."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from .._choice.rule import Measures, allowed_ber
from .._choice.thresholds import first_minimum
from ..estimators import AdaFairClassifier
from ._reading import check_one_training


def choices_over_c(model: AdaFairClassifier, values: Iterable[float] | None = None) -> pd.DataFrame:
    """The θ that other values of the parameter ``c`` would have chosen; nothing is trained again.

    ``c`` only decides which of the trained learners are used, so ``history_`` has all that is needed. Exceptions:
    rounds that early stopping (``n_iter_no_change``) left out are not considered, the thresholds that
    ``threshold="auto"`` chose are those of the model's own ``c``, and with ``keep`` the rates are taken as they are.

    Parameters
    ----------
    model : AdaFairClassifier
        A fitted model of one training; a :class:`~parityboost.ParityBoostClassifier` averages several.
    values : iterable of float, optional
        Values of c between 0 and 1; 0, 0.1, …, 1 by default.

    Returns
    -------
    DataFrame
        Columns ``c``, ``theta``, ``er``, ``ber`` and ``violation``, the measures on the data that θ is chosen on.

    Examples
    --------
    >>> from parityboost import AdaFairClassifier, explain
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = AdaFairClassifier(n_estimators=20, random_state=0)
    >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    >>> choices = explain.choices_over_c(model, [0, 0.5, 1])
    >>> choices.columns.tolist()
    ['c', 'theta', 'er', 'ber', 'violation']
    >>> int(choices["theta"].iloc[-1]) == model.theta_
    True
    """
    check_one_training(model)
    if not model._fitted.choose_theta:
        raise ValueError(f"{type(model).__name__} uses all its learners: it has no θ to choose, and no parameter c")
    chosen = np.arange(11) / 10 if values is None else np.array(list(values), dtype=np.float64)
    outside = chosen[~((chosen >= 0) & (chosen <= 1))]
    if len(outside):
        raise ValueError(f"c must be between 0 and 1, got {outside[0]}")
    er, ber, violation = (
        model.history_[f"{selection_part(model)}_{name}"].to_numpy() for name in ("er", "ber", "violation")
    )
    settings = model._fitted
    allowed = allowed_ber(settings, float(np.nanmin(ber)))
    objectives = (c * ber + (1.0 - c) * er + violation for c in chosen)
    costs = (Measures(ber, violation, violation, objective).cost(settings, allowed) for objective in objectives)
    best = np.array([first_minimum(cost) for cost in costs], dtype=np.intp)
    return pd.DataFrame(
        {"c": chosen, "theta": best + 1, "er": er[best], "ber": ber[best], "violation": violation[best]}
    )


def selection_part(model: AdaFairClassifier) -> str:
    """Prefix of the columns of ``history_`` that θ was chosen by."""
    return "validation" if "validation_objective" in model.history_ else "train"
