"""One fit of the evaluation, and what decides its outcome."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

CUMULATIVE = ("AdaFair", "AdaFair NoCumul")
# On how many rounds and how much test data a run is made: the paper's two protocols.
PROTOCOLS = {"halves": {"n_estimators": 200, "test_size": 0.5}, "rounds": {"n_estimators": 500, "test_size": 0.33}}
# What a run changes of the parameters that the registry and the protocol give. Settings choose among these by name.
# Plain SMOTE is on a 0/1 column for each category.
# The scripts' own rules, in _authors.py: the guarded cost; no costs in the first round, whose F.M. counts as 1; and, if
# not cumulative, F.M. of the round's learner in the choice of θ.
RULES = ["guard", "first round", "learner's theta"]
RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "discrete": {"update": "discrete"},
    "confidence": {"update": "confidence"},
    "authors": {"rules": RULES, "update": "discrete", "n_estimators": 500, "validation_fraction": None},
    "authors rounds": {
        "rules": RULES,
        "update": "discrete",
        "validation_fraction": 0.3,
        "costs_from": "validation",
    },
    "plain": {"smote": "plain"},
    "plain 500": {"smote": "plain", "n_synthetic": 500},
    "tau 3": {"tau": 3.0},
}


@dataclass(frozen=True)
class Run:
    """One fit: everything that decides its outcome.

    Attributes
    ----------
    dataset, method : str
        Names in :data:`DATASETS` and in the registry of the baselines.
    notion : str or None
        None for methods that cannot be told a notion; one run then serves all figures.
    split : int
        Seed of the split, of the validation split and of the method.
    protocol : {"halves", "rounds"}
        Random halves with T = 200, or 67/33 with T = 500 and everything measured after each round.
    attributes : {"table1", "authors", "zafar"}
        Which attributes of the dataset are used.
    recipe : str
        A name in :data:`RECIPES`: what differs from the method's parameters in the registry.

    Examples
    --------
    >>> from parityboost.experiments import Run
    >>> Run("adult", "AdaFair", "equal_opportunity", split=3).key
    'halves-adult_table1-adafair-default-equal_opportunity-03'
    """

    dataset: str
    method: str
    notion: str | None
    split: int
    protocol: str = "halves"
    attributes: str = "table1"
    recipe: str = "default"

    @property
    def key(self) -> str:
        """Name of the run's file."""
        words = [self.protocol, f"{self.dataset}_{self.attributes}", self.method, self.recipe]
        words += [self.notion or "any", f"{self.split:02d}"]
        return "-".join(re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_") for word in words)

    def as_dict(self) -> dict[str, Any]:
        """The run as JSON can hold it, with the numbers that its protocol and its recipe stand for."""
        return {**asdict(self), **PROTOCOLS[self.protocol], "parameters": RECIPES[self.recipe]}
