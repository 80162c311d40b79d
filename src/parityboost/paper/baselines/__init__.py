"""Methods that AdaFair is compared with, as scikit-learn estimators on the same data frames.

``METHODS`` has every one of them by name, AdaFair included: what it is for, and how the paper runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...adaboost import AdaBoostClassifier
from ...datasets._loaders import TABLE_1
from ...estimators import AdaFairClassifier
from .fae import FAEClassifier
from .fairlearn_methods import ExponentiatedGradientClassifier, ThresholdOptimizerClassifier
from .krasanakis import KrasanakisClassifier
from .sdb import AdaBoostSDBClassifier
from .smoteboost import SMOTEBoostClassifier
from .zafar import ZafarClassifier

__all__ = [
    "METHODS",
    "AdaBoostSDBClassifier",
    "ExponentiatedGradientClassifier",
    "FAEClassifier",
    "KrasanakisClassifier",
    "Method",
    "SMOTEBoostClassifier",
    "ThresholdOptimizerClassifier",
    "ZafarClassifier",
    "get_method",
]

DATASETS = tuple(TABLE_1)
SP, EO, DM = "statistical_parity", "equal_opportunity", "disparate_mistreatment"


@dataclass(frozen=True)
class Method:
    """A way to train a classifier.

    Attributes
    ----------
    name : str
        How tables and figures call it.
    factory : callable
        Makes the estimator from its parameters; the paper's parameters are the defaults.
    notions : tuple of str
        The notions it is compared for.
    predict_needs_group : bool
        Whether ``predict`` takes ``sensitive_features``.
    takes_notion : bool
        Whether the estimator has a parameter ``notion``.
    in_paper : bool
        Whether the paper compares AdaFair with it.
    defaults : dict
        Parameters of the reproduction that are not the estimator's own defaults.
    per_dataset : dict
        Parameters that the paper sets for one dataset.
    """

    name: str
    factory: Callable[..., Any]
    notions: tuple[str, ...]
    predict_needs_group: bool = False
    takes_notion: bool = False
    in_paper: bool = True
    defaults: dict[str, Any] = field(default_factory=dict)
    per_dataset: dict[str, dict[str, Any]] = field(default_factory=dict)

    def make(self, notion: str | None = None, dataset: str | None = None, **parameters: Any) -> Any:
        """An unfitted estimator with the paper's parameters, changed by those given.

        Parameters
        ----------
        notion : str, optional
            One of ``notions``, for estimators that can be told; by default the estimator's own.
        dataset : {"adult", "bank", "compas", "kdd"}, optional
            Use the paper's parameters for this dataset.
        **parameters
            Parameters of the estimator. ``n_jobs``, ``random_state`` and ``verbose`` are left out where it has no such
            parameter.
        """
        if notion is not None and notion not in self.notions:
            raise ValueError(f"{self.name} is not for {notion!r}, only for {', '.join(self.notions)}")
        if dataset is not None and dataset not in DATASETS:
            raise ValueError(f"unknown dataset {dataset!r}; known are {', '.join(DATASETS)}")
        settings = {**self.defaults, **self.per_dataset.get(dataset or "", {}), **parameters}
        if self.takes_notion and notion is not None:
            settings["notion"] = notion
        estimator = self.factory()
        known = estimator.get_params()
        optional = {"n_jobs", "random_state", "verbose"}
        return estimator.set_params(**{k: v for k, v in settings.items() if k in known or k not in optional})


# SMOTEBoost: keeping the synthetic instances gives the paper's picture, see SMOTEBoostClassifier.
N_SYNTHETIC = {"compas": 2, "adult": 100, "bank": 100, "kdd": 500}
EVERY = SP, EO, DM
FAIRLEARN: dict[str, Any] = {"takes_notion": True, "in_paper": False}
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("AdaBoost", AdaBoostClassifier, EVERY),
        Method(
            "SMOTEBoost",
            SMOTEBoostClassifier,
            EVERY,
            defaults={"keep_synthetic": True},
            per_dataset={name: {"n_synthetic": n} for name, n in N_SYNTHETIC.items()},
        ),
        Method("AdaBoost SDB", AdaBoostSDBClassifier, (SP,), predict_needs_group=True),
        Method("FAE", FAEClassifier, (EO,), predict_needs_group=True),
        Method("Zafar et al.", ZafarClassifier, (DM,)),
        Method("Krasanakis et al.", KrasanakisClassifier, (DM,)),
        Method("AdaFair", AdaFairClassifier, EVERY, takes_notion=True),
        Method("AdaFair NoCumul", AdaFairClassifier, EVERY, takes_notion=True, defaults={"cumulative": False}),
        Method("ExponentiatedGradient", ExponentiatedGradientClassifier, EVERY, **FAIRLEARN),
        Method("ThresholdOptimizer", ThresholdOptimizerClassifier, EVERY, predict_needs_group=True, **FAIRLEARN),
    )
}


def get_method(name: str) -> Method:
    """A method by its name.

    Parameters
    ----------
    name : str
        A key of ``METHODS``.

    Returns
    -------
    Method
        What makes the estimator.
    """
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known are {', '.join(METHODS)}")
    return METHODS[name]
