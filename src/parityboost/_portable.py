"""Models that can be taken along: to a file and back, to ONNX."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from ._strict_json import ModelFileError

Model = TypeVar("Model", bound="Portable")


class Portable:
    """The methods by which a model of stumps leaves Python and comes back."""

    # Fitted attributes of a subclass, single values each, that a file keeps besides what all models have.
    _stored_values: ClassVar[tuple[str, ...]] = ()

    def save(self, path: Any) -> None:
        """Write the fitted model to a JSON file, for :meth:`load` and for people to read.

        The file holds the class and its parameters, classes and groups, every column with its bin edges or categories,
        every stump with its weight α, θ, the threshold(s), ``history_`` and the versions of the libraries in use. It is
        written to a temporary file that then replaces ``path``, so there is never half a file.

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
            If the model cannot be stored: ``estimator`` is not None, ``notion`` is an object of a class of your own, or
            a class, group or category is neither text, number, boolean, timestamp, interval nor a tuple of these.
        """
        from ._model_json import save

        save(self, path)

    @classmethod
    def load(cls: type[Model], path: Any, *, verify: bool = True) -> Model:
        """Read a model that :meth:`save` has written; see :func:`parityboost.load`.

        The file says which class it is; it must be this one or a subclass of it.
        """
        from ._model_json import load

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

        A category that did not occur in training counts as missing, as in :meth:`predict`. All columns are inputs, also
        those that the model does not use. :func:`parityboost.onnx_inputs` makes the inputs from a DataFrame or array.

        Outputs: ``label`` of shape ``(rows,)``, of type int64, double, bool or string as the classes are;
        ``probabilities`` of shape ``(rows, 2)``, double; ``score`` of shape ``(rows,)``, double. Labels and scores are
        exactly those of :meth:`predict` and :meth:`decision_function`; probabilities differ by rounding at most.

        Thresholds per group are part of the graph if a single column of X holds the groups, each with a bin of its own;
        otherwise they cannot be.

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
        from ._onnx import to_onnx

        return to_onnx(self, path, opset)
