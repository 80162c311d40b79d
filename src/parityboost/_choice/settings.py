"""How a model is boosted; kept with what was fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..notions import FairnessNotion

# Objectives closer than this are equal, so that the first minimum wins whatever the rounding.
SAME_OBJECTIVE = 1e-12


@dataclass(frozen=True)
class Settings:
    """How to boost; the names are the estimator's parameters."""

    notion: FairnessNotion
    n_estimators: int = 200
    c: float = 1.0
    epsilon: float = 0.0
    cumulative: bool = True
    costs_from: str = "training"  # or "validation": the rows whose rates decide who pays
    update: str = "confidence"
    learning_rate: float = 1.0  # what the votes of every learner are multiplied by
    learner_weight: str = "error"
    threshold: float | str = 0.0  # "auto" and "per_group": chosen together with θ
    n_iter_no_change: int | None = None
    keep: float = 0.0  # share of the lowest balanced error's lead over chance that a choice must keep
    max_violation: float | None = None
    choose_theta: bool = True  # False: θ is the last round

    @property
    def highest_violation(self) -> float:
        """Up to which a choice is within the limit; without one every violation is, but for one that is not defined."""
        return np.inf if self.max_violation is None else self.max_violation + SAME_OBJECTIVE
