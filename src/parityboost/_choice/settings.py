"""How a model is boosted; kept with what was fitted."""

from __future__ import annotations

from dataclasses import dataclass

from ..notions import FairnessNotion


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
    def is_papers(self) -> bool:
        """Whether θ and the threshold are chosen by the paper's objective alone, Eq. (16)."""
        return self.keep == 0 and self.max_violation is None
