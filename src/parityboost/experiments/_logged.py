"""The authors' own figures for disparate mistreatment, from the logs in their public repository, to three digits.

They are of 2019: confidence-rated update, T = 200, θ on the training data. Section 5.4 still shows the competitors of
these logs; its AdaFair is of 2021 and not in any log. Numbers only: means over ten splits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Floats
from ..baselines.registry import DM
from ._rows import DATASET_NAMES, NotMeasuredError

MEASURES = ("accuracy", "balanced_accuracy", DM, "tpr_prot", "tpr_nonprot", "tnr_prot", "tnr_nonprot")
COMPARISON: dict[tuple[str, str], tuple[float, ...]] = {
    ("adult", "Zafar et al."): (0.835, 0.710, 0.134, 0.559, 0.443, 0.970, 0.953),
    ("adult", "Krasanakis et al."): (0.827, 0.703, 0.051, 0.436, 0.457, 0.944, 0.976),
    ("adult", "AdaBoost"): (0.848, 0.734, 0.223, 0.363, 0.533, 0.992, 0.940),
    ("adult", "AdaFair"): (0.839, 0.746, 0.063, 0.573, 0.561, 0.955, 0.914),
    ("bank", "Zafar et al."): (0.901, 0.657, 0.026, 0.340, 0.335, 0.977, 0.972),
    ("bank", "Krasanakis et al."): (0.899, 0.650, 0.029, 0.340, 0.323, 0.970, 0.980),
    ("bank", "AdaBoost"): (0.900, 0.688, 0.115, 0.377, 0.465, 0.969, 0.946),
    ("bank", "AdaFair"): (0.886, 0.750, 0.050, 0.586, 0.554, 0.931, 0.919),
    ("compas", "Zafar et al."): (0.644, 0.636, 0.094, 0.455, 0.492, 0.756, 0.794),
    ("compas", "Krasanakis et al."): (0.671, 0.659, 0.042, 0.550, 0.572, 0.769, 0.762),
    ("compas", "AdaBoost"): (0.671, 0.668, 0.361, 0.420, 0.637, 0.841, 0.697),
    ("compas", "AdaFair"): (0.661, 0.659, 0.077, 0.606, 0.625, 0.688, 0.698),
    ("kdd", "AdaBoost"): (0.944, 0.731, 0.368, 0.229, 0.559, 0.992, 0.953),
    ("kdd", "AdaFair"): (0.904, 0.783, 0.039, 0.649, 0.644, 0.919, 0.924),
}
# A comparison of its own, with AdaFair trained anew.
CUMULATION: dict[tuple[str, str], tuple[float, ...]] = {
    ("adult", "AdaFair NoCumul"): (0.792, 0.793, 0.587, 0.538, 0.841, 0.966, 0.682),
    ("adult", "AdaFair"): (0.833, 0.770, 0.086, 0.655, 0.643, 0.930, 0.872),
    ("bank", "AdaFair NoCumul"): (0.854, 0.793, 0.171, 0.679, 0.761, 0.900, 0.812),
    ("bank", "AdaFair"): (0.881, 0.750, 0.044, 0.578, 0.580, 0.928, 0.906),
    ("compas", "AdaFair NoCumul"): (0.666, 0.663, 0.225, 0.506, 0.639, 0.779, 0.686),
    ("compas", "AdaFair"): (0.651, 0.653, 0.063, 0.661, 0.679, 0.617, 0.633),
    ("kdd", "AdaFair NoCumul"): (0.922, 0.808, 0.483, 0.370, 0.762, 0.980, 0.889),
    ("kdd", "AdaFair"): (0.884, 0.828, 0.021, 0.760, 0.764, 0.897, 0.887),
}


class Logged:
    """Looks like results with one split that hold nothing but the logs, so that a claim can be computed from them."""

    n_splits = 1

    def __init__(self, where: str) -> None:
        self._log = CUMULATION if where.startswith("5.6") else COMPARISON

    def values(self, dataset: str, method: str, notion: str, measure: str, c: float = 1.0) -> Floats:
        """A mean that was logged."""
        if (dataset, method) not in self._log or notion != DM or measure not in MEASURES or c != 1.0:
            raise NotMeasuredError(f"{method} on {DATASET_NAMES[dataset]} is not in the logs")
        return np.array([self._log[dataset, method][MEASURES.index(measure)]])

    def __getattr__(self, name: str) -> Any:
        raise NotMeasuredError(f"the logs have no {name}")
