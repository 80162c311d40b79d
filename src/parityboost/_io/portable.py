"""Models that can be taken along: to a file and back, to ONNX."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from .._caller import warn_caller
from ..notions import FairnessNotion
from .model_file import MAX_COLUMNS, MAX_COMMAS, MAX_GROUPS, MAX_STUMPS
from .strict_json import ModelFileError

Model = TypeVar("Model", bound="StorageMixin")

PER_ROUND = 30  # values in a file that do not depend on the groups, rather more than there are


class StorageMixin:
    """The methods by which a model of stumps leaves Python and comes back."""

    # Fitted attributes of a subclass, single values each, that a file keeps besides what all models have.
    _stored_values: ClassVar[tuple[str, ...]] = ()
    estimator: Any
    n_estimators: int
    n_features_in_: int
    groups_: Any

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file, for :meth:`load` and for people to read.

        The file holds the class and its parameters, classes and groups, every column with its categories or, if a stump
        or the groups use it, its bin edges, every stump with its weight α, θ, the threshold(s), ``history_`` and the
        versions of the libraries in use. It is written to a temporary file that then replaces ``path`` and has its
        permissions, so there is never half a file; a pipe or terminal is written to as it is.

        Not kept: the data and the outcome of :meth:`frontier`, which needs data once the model is loaded; requests of
        metadata routing (``set_fit_request``); the state of a ``random_state`` that is a
        RandomState, which becomes None with a warning. An array, Index or Series given as a parameter becomes a list.

        Parameters
        ----------
        path : str or path-like
            The file; one that exists is replaced.

        Raises
        ------
        ModelFileError
            If the model cannot be stored: ``estimator`` is not None, ``notion`` is an object of a class of your own, a
            class, group or category is neither text, number, boolean, timestamp, interval nor a tuple of these, or the
            file would be larger than :func:`parityboost.load` reads (``fit`` warns of that before it trains).
        """
        from .model_json import save

        save(self, path)

    def _warn_if_too_large(self, notion: FairnessNotion, threshold: Any) -> None:
        """Say before training what :meth:`save` would only say afterwards."""
        problem = too_large(self.n_features_in_, len(self.groups_), self.n_estimators, notion, threshold)
        if problem is not None and self.estimator is None:
            warn_caller(f"the model may turn out too large to be saved: {problem}")

    @classmethod
    def load(cls: type[Model], path: Any, *, verify: bool = True) -> Model:
        """Read a model that :meth:`save` has written; see :func:`parityboost.load`.

        The file says which class it is; it must be this one or a subclass of it.
        """
        from .model_json import load

        model = load(path, verify=verify)
        if not isinstance(model, cls):
            raise ModelFileError(f"{path}: holds a {type(model).__name__}, not a {cls.__name__}: use parityboost.load")
        return model

    def to_onnx(self, path: Any = None, *, opset: int = 15) -> Any:
        """The fitted model as an ONNX graph, which runs without Python and without this library.

        Inputs, one per column of X, in its order and by its name (a name that is taken gets a number behind it), each
        of shape ``(rows, 1)``:

        - numbers and booleans: ``double``, NaN for a missing value;
        - categories that are numbers or booleans: ``double`` as well, NaN or any other number for a missing value;
        - categories otherwise: ``string``, and any text that is no category, such as ``""``, for a missing value.

        A category that did not occur in training is any other one, as in :meth:`predict`. All columns are inputs, also
        those that the model does not use. :func:`parityboost.onnx_inputs` makes the inputs from a DataFrame or array.

        Outputs: ``label`` of shape ``(rows,)``, of type int64, double, bool or string as the classes are;
        ``probabilities`` of shape ``(rows, 2)``, double; ``score`` of shape ``(rows,)``, double. Labels and scores are
        exactly those of :meth:`predict` and :meth:`decision_function`; probabilities differ by rounding at most.

        Thresholds per group are part of the graph. If the groups are no columns of X, there is an input for them,
        ``sensitive_features``, or ``s0``, ``s1``, … for several columns. A group that did not occur in training has the
        mean threshold.

        An infinite number, which :meth:`predict` refuses, cannot be refused by a graph: +∞ lies in a column's last bin,
        -∞ counts as missing.

        Parameters
        ----------
        path : str or path-like, optional
            Where to write the graph; one that exists is replaced.
        opset : int, default=15
            Version of ONNX's operators, at least 13. Of ``ai.onnx.ml``, version 2 is used.

        Returns
        -------
        onnx.ModelProto
            The graph, checked.

        Examples
        --------
        >>> from parityboost import AdaFairClassifier
        >>> from parityboost.datasets import load_adult
        >>> adult = load_adult()
        >>> model = AdaFairClassifier(n_estimators=10, random_state=0)
        >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
        >>> [output.name for output in model.to_onnx().graph.output]
        ['label', 'probabilities', 'score']
        """
        from .onnx import to_onnx

        return to_onnx(self, path, opset)


def too_large(n_columns: int, n_groups: int, n_rounds: int, notion: FairnessNotion, threshold: Any) -> str | None:
    """Why a file could not hold a model of so many columns, groups and rounds; None if it could."""
    for number, most, what in (
        (n_columns, MAX_COLUMNS, "columns"),
        (n_groups, MAX_GROUPS, "groups"),
        (n_rounds, MAX_STUMPS, "rounds"),
    ):
        if number > most:
            return f"it has {number} {what}, and a file holds at most {most}"
    costs = len({label for gap in notion.gaps for label in gap.boosts})
    thresholds = 2 if threshold == "per_group" else 0  # in the history, and to go back to
    most = MAX_COMMAS // (PER_ROUND + n_groups * (costs + thresholds))
    if n_rounds > most:
        return f"with {n_groups} groups a file holds at most {most} rounds, and it may have {n_rounds}"
    return None
