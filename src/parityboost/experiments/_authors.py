"""What the authors' scripts do and the paper's text does not say, on the library's own loop.

These rules explain the paper's figures. They are defects or accidents of the experiments, so they live here and not in
the estimator: a cost that is guarded by the wrong difference, a first round that never pays and never wins, and a
choice of θ by the fairness of a single learner.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._arrays import Floats
from .._choice.thresholds import first_minimum
from .._stats.rates import NEGATIVE, false_negative_rate
from ..estimators import AdaFairClassifier
from ..explain import selection_part
from ..notions import DisparateMistreatment, FairnessNotion
from ._run import RULES

if TYPE_CHECKING:
    from .._choice.settings import Settings


class GuardedMistreatment(DisparateMistreatment):
    """The non-protected group's false positives cost something only if its true positive rate is lower, δTPR < 0.

    Eq. (12) compares false positive rates. The scripts do so for the protected group alone.

    Parameters
    ----------
    protected : int
        Position of the protected group among the two.
    """

    def __init__(self, protected: int = 0) -> None:
        self.protected = protected

    def costs(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        u = super().costs(counts, epsilon)
        fnr = false_negative_rate(counts)
        other = 1 - self.protected
        lower_tpr = fnr[..., other] > fnr[..., self.protected]
        u[..., other, NEGATIVE] = np.where(lower_tpr, u[..., other, NEGATIVE], 0.0)
        return u


class FreeFirstRound(FairnessNotion):
    """A notion that costs nothing when it is first asked: for one fit, whose rounds ask in turn."""

    def __init__(self, notion: FairnessNotion) -> None:
        self.notion = notion
        self.name = notion.name
        self.gaps = notion.gaps
        self.is_first = True

    def costs(self, counts: Floats, epsilon: float = 0.0) -> Floats:
        u = self.notion.costs(counts, epsilon)
        if self.is_first:
            self.is_first = False
            return np.zeros_like(u)
        return u


class AuthorsClassifier(AdaFairClassifier):
    """AdaFair by some of the scripts' rules, see ``RULES``. ``theta_`` is still ours: see :func:`choose_theta`."""

    rules: tuple[str, ...] = tuple(RULES)

    def _settings(self) -> Settings:
        settings = super()._settings()
        return replace(settings, notion=FreeFirstRound(settings.notion)) if "first round" in self.rules else settings


def fairness_for_theta(model: AuthorsClassifier) -> Floats:
    """F.M. of every round as the scripts have it: 1 in the first; without cumulation that of h_j alone."""
    history = model.history_
    if "learner's theta" in model.rules and not model.cumulative:
        fairness = history.filter(like="delta_").abs().sum(axis=1).to_numpy().copy()
    else:
        fairness = history[f"{selection_part(model)}_violation"].to_numpy().copy()
    if "first round" in model.rules:
        fairness[0] = 1.0
    return fairness


def objective_for_theta(model: AuthorsClassifier, c: float = 1.0) -> Floats:
    """Eq. (16) with that F.M.; the errors are the ensemble's in any case."""
    er, ber = (model.history_[f"{selection_part(model)}_{name}"].to_numpy() for name in ("er", "ber"))
    objective: Floats = c * ber + (1.0 - c) * er + fairness_for_theta(model)
    return objective


def choose_theta(model: AuthorsClassifier, c: float = 1.0) -> int:
    """θ by the scripts' rule: the first round with the lowest objective."""
    return first_minimum(objective_for_theta(model, c)) + 1
