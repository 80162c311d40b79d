"""What the loop asks of a weak learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from ..._arrays import Floats
from ..._choice.settings import Settings
from ..samples import Leaves, Sample


@dataclass(slots=True)
class Trained:
    """A weak learner h_j trained on D^j, as the round needs it; only ``model`` outlives the round."""

    model: Any
    error: float  # Σ D_i [h(x_i) ≠ y_i], D summing to one
    leaves: Leaves  # of the training rows
    votes: NDArray[Any]  # h in each leaf: -1 or +1, or any number if the update is "real"


class Learner(Protocol):
    """Trains weak learners on weights that it keeps, and that change only when told so."""

    train: Sample
    selection: Sample  # the rows that θ is chosen on

    def fit(self) -> Any:
        """The weak learner for the current weights, a :class:`Trained`; asked again, the same."""

    def several(self, settings: Settings, most: int) -> Any:
        """Who boosts up to so many rounds at once, with votes of any size; None if nobody does."""

    def selection_leaves(self, trained: Any) -> Leaves:
        """The leaves of the rows that θ is chosen on."""

    def wrong_weight(self, trained: Any) -> Floats:
        """Weight of the misclassified rows per ``[group, class]``, all weights summing to one."""

    def reweight(self, trained: Any, costs: Floats, alpha: float, update: str) -> float:
        """Multiply misclassified rows by C·exp(2α·conf), Eq. (14) times exp(α); new sum of weights by the old one.

        With votes of any size all rows are multiplied by exp(-y·h), and misclassified ones by C too.
        """

    def ensemble(self, models: list[Any], alphas: Floats) -> Any:
        """What remains after training."""

    def selection_margins(self, ensemble: Any) -> Callable[[], Iterator[Floats]]:
        """A function that goes through the margins of the ``selection`` rows again, without the rest of the learner."""

    def distribution(self) -> Floats:
        """D, in the order of the training sample."""
