"""The two labels of a model: which of them it predicts as positive, and which is favourable to the person."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sources import short


class LabelsMixin:
    """The labels of a classifier; a mixin of it.

    ``classes_`` is sorted, as scikit-learn's scorers take for granted. Training knows the negative label as 0 and the
    positive one as 1, in whichever order they sort.
    """

    positive: Any = None
    favourable: Any = None
    classes_: NDArray[Any]
    positive_: Any
    favourable_: Any

    def _take_labels(self, classes: NDArray[Any]) -> None:
        """Set ``classes_``, ``positive_`` and ``favourable_``; classes are in order, the positive one last by default.

        A label that was stated and does not occur is an error.
        """
        self.classes_ = classes
        stated = find_label("positive", self.positive, classes.tolist())
        self.positive_ = classes.tolist()[1] if stated is None else stated
        self.favourable_ = find_label("favourable", self.favourable, classes.tolist())

    @property
    def _positive_is_first(self) -> bool:
        return bool(self.classes_.tolist()[0] == self.positive_)

    @property
    def _outcomes(self) -> NDArray[Any]:
        """The negative and the positive label."""
        return self.classes_[::-1] if self._positive_is_first else self.classes_

    def _say_positive(self) -> list[str]:
        """Of labels that are text, and if it was not stated: which one is taken as positive. The alphabet decides."""
        negative, positive = self._outcomes.tolist()
        if self.positive is not None or not isinstance(positive, str):
            return []
        return [
            f"{positive!r} is taken as the positive label, because it comes after {negative!r} in the alphabet: "
            f"positive={positive!r} or positive={negative!r} says which one is meant"
        ]


def find_label(name: str, stated: Any, labels: list[Any]) -> Any:
    """The label that was stated, as it is among the labels; None if none was."""
    if stated is None:
        return None
    for label in labels:
        if isinstance(label, str) == isinstance(stated, str) and bool(np.all(label == stated)):
            return label
    raise ValueError(f"{name}={stated!r} is not one of the labels {', '.join(map(short, labels))}")
