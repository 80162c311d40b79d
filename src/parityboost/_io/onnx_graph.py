"""An ONNX graph in the making: how columns become codes, codes scores, and scores decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._engine.codes import MISSING
from .._model.calibration import Calibrator
from .._model.tables import Pair
from .._table.binning import Column, NumericColumn

OUTPUTS = ("label", "probabilities", "score", "calibrated")
ML_OPSET = 2
EXACT_INTS = 2**53  # doubles can tell integers below this apart


def input_names(columns: tuple[Column, ...]) -> list[str]:
    """The name of each column's input: its own, unless it is empty or taken."""
    names: list[str] = []
    taken = set(OUTPUTS)
    for column in columns:
        names.append(unused_name(column.name or "x", taken))
        taken.add(names[-1])
    return names


def unused_name(name: str, taken: set[str]) -> str:
    """The name, with a number behind it if it is taken."""
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def is_text(column: Column) -> bool:
    return not isinstance(column, NumericColumn) and not all(
        isinstance(value, (bool, int, float)) for value in column.categories
    )


def category_texts(column: Any) -> list[str]:
    """The categories of a column as text, if ONNX can hold them and tell them apart."""
    texts = [value if isinstance(value, str) else str(value) for value in column.categories]
    for text in texts:
        _utf8(text, f"category of column {column.name!r}")
    twice = [text for i, text in enumerate(texts) if text in texts[:i]]
    if twice:
        raise ValueError(f"column {column.name!r}: two categories read {twice[0]!r}, so ONNX cannot tell them apart")
    return texts


def missing_text(texts: list[str]) -> str:
    """The text that stands for a missing value among the texts of categories."""
    return next(text for text in ("", *(f"missing {i}" for i in range(len(texts)))) if text not in texts)


def label_values(classes: NDArray[Any]) -> NDArray[Any]:
    """The two labels as an array that ONNX has a type for."""
    values = classes.tolist()
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64), (str, np.object_)):
        if all(type(value) is kind for value in values):
            try:
                return np.array(values, dtype=dtype)
            except OverflowError:
                break
    raise ValueError(f"ONNX has no type for the labels {values}: text, booleans, int64 and floats are fine")


class Code(NamedTuple):
    """A number per row of a column, and the code of the column that each number stands for."""

    name: str  # of the node
    stands_for: NDArray[Any]


class Graph:
    def __init__(self, onnx: Any, inputs: list[str]) -> None:
        self.onnx = onnx
        self.inputs = inputs
        self._taken = {*inputs, *OUTPUTS}
        self._inputs: list[Any] = []
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._calibrated = False

    def add_input(self, name: str, text: bool) -> None:
        _utf8(name, "column")
        kind = self.onnx.TensorProto.STRING if text else self.onnx.TensorProto.DOUBLE
        note = "text; empty is missing, unless that is a category" if text else "number; NaN is missing"
        self._inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["rows", 1], note))

    def constant(self, values: Any) -> str:
        array = np.asarray(values)
        name = self._new("constant")
        if array.dtype == object:
            texts = [_utf8(text, "label") for text in array.tolist()]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        else:
            tensor = self.onnx.numpy_helper.from_array(array, name)
        self._constants.append(tensor)
        return name

    def node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Apply an operator; the name of its result."""
        output = output or self._new(operator)
        self._nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def column_code(self, column: Column, name: str, kinds: NDArray[Any], missing: str | None = None) -> Code:
        """A number for each row that tells the codes of different kinds apart, ``kinds[code]``.

        The text for a missing value is the first that is no category, unless ``missing`` says another one.
        """
        if isinstance(column, NumericColumn):
            steps = np.flatnonzero(kinds[2:] != kinds[1:-1])  # the edges at which something changes
            # Code = #{edge < x} as in training. The first edge lies below every number, so that NaN alone has code 0.
            edges = self.constant(np.concatenate([[-np.inf], column.edges[steps]]))
            stands_for = np.concatenate([[MISSING, 1], steps + 2])
            return Code(self.count(self.node("Less", edges, name)), stands_for[: len(kinds)])
        # Number 0 is for all other categories, 1 for missing values, the rest for categories that differ from others.
        kept = [i for i in range(column.n_bins) if kinds[i + 1] != kinds[column.other]]
        stands_for = np.array([column.other, MISSING, *(i + 1 for i in kept)])
        numbers = list(range(1, len(stands_for)))
        if is_text(column):
            texts = category_texts(column)
            missing = missing_text(texts) if missing is None else missing
            keys = [text.encode("utf8") for text in (missing, *(texts[i] for i in kept))]
            how: dict[str, Any] = {"keys_strings": keys, "values_int64s": numbers, "default_int64": 0}
            encoded = self.node("LabelEncoder", name, domain="ai.onnx.ml", **how)
            return Code(self.node("Squeeze", encoded, self.constant([1])), stands_for)
        for i in kept:
            if isinstance(column.categories[i], int) and abs(column.categories[i]) >= EXACT_INTS:
                shown = f"{column.categories[i]!s:.20}"
                raise ValueError(f"column {column.name!r}: the category {shown} is too large for ONNX's double")
        categories = self.constant(np.array([float(column.categories[i]) for i in kept]))
        same = self.node("Equal", name, categories)
        return Code(self.count(self.node("Concat", self.node("IsNaN", name), same, axis=1), numbers), stands_for)

    def pair_score(self, pair: Pair, first: Code | None, second: Code | None) -> str:
        """What a pair adds to the score of each row; a column without a code makes no difference."""
        width = pair.scores.shape[1]
        positions = []
        for code, cell_of, step in ((first, pair.row_of, width), (second, pair.column_of, 1)):
            cells = cell_of.astype(np.int64) * step
            positions.append(
                self.constant(cells[MISSING]) if code is None else self.lookup(code.name, cells[code.stands_for])
            )
        if first is None and second is None:
            return self.node("Add", self.zeros(), self.constant(pair.scores[0, 0]))
        return self.lookup(self.node("Add", *positions), pair.scores.ravel())

    def count(self, conditions: str, weights: list[int] | None = None) -> str:
        """How many conditions hold in each row, or the sum of their weights."""
        numbers = self.node("Cast", conditions, to=self.onnx.TensorProto.INT64)
        if weights is not None:
            numbers = self.node("Mul", numbers, self.constant(np.array(weights)))
        return self.node("ReduceSum", numbers, self.constant([1]), keepdims=0)

    def zeros(self) -> str:
        rows = self.node("Gather", self.node("Shape", self.inputs[0]), self.constant([0]))
        return self.node("ConstantOfShape", rows, value=self.onnx.numpy_helper.from_array(np.zeros(1)))

    def lookup(self, positions: str, table: NDArray[Any], output: str = "") -> str:
        return self.node("Gather", self.constant(table), positions, output=output)

    def decide(self, scores: list[str], constant: float, labels: NDArray[Any], positive_is_first: bool) -> None:
        """From the columns' scores to the outputs; ``labels`` are the negative and the positive one."""
        parts = self.node("Sum", *scores), self.constant(constant)
        if positive_is_first:
            own = self.node("Add", *parts)
            score = self.node("Neg", own, output="score")
        else:
            own = score = self.node("Add", *parts, output="score")
        above = self.node("Greater", own, self.constant(0.0))
        self.lookup(self.node("Cast", above, to=self.onnx.TensorProto.INT64), labels, output="label")
        doubled = self.node("Unsqueeze", self.node("Add", score, score), self.constant([1]))
        second = self.node("Sigmoid", doubled)
        first = self.node("Sub", self.constant(1.0), second)
        self.node("Concat", first, second, axis=1, output="probabilities")
        self._label_type = self.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)

    def calibrate(self, margin: str, calibrator: Calibrator, positive_is_first: bool) -> None:
        """The probabilities of :meth:`predict_calibrated`, from the margin without any threshold."""
        column = self.node("Unsqueeze", margin, self.constant([1]))
        piece = self.count(self.node("Less", self.constant(calibrator.edges), column))
        line = self.node("Mul", self.lookup(piece, calibrator.slopes), margin)
        line = self.node("Add", self.lookup(piece, calibrator.intercepts), line)
        bounded = self.node("Max", self.node("Min", line, self.constant(1.0)), self.constant(0.0))
        positive = self.node("Unsqueeze", bounded, self.constant([1]))
        negative = self.node("Sub", self.constant(1.0), positive)
        shares = [negative, positive]
        self.node("Concat", *(shares[::-1] if positive_is_first else shares), axis=1, output="calibrated")
        self._calibrated = True

    def model(self, properties: dict[str, str], opset: int) -> Any:
        """The finished graph, checked."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        outputs = [
            helper.make_tensor_value_info("label", self._label_type, ["rows"], "the predicted class"),
            helper.make_tensor_value_info("probabilities", double, ["rows", 2], "one column per class, in their order"),
            helper.make_tensor_value_info("score", double, ["rows"], "positive for the second class"),
        ]
        if self._calibrated:
            note = "shares of each class to expect, in their order"
            outputs.append(helper.make_tensor_value_info("calibrated", double, ["rows", 2], note))
        graph = helper.make_graph(self._nodes, "parityboost", self._inputs, outputs, self._constants)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        proto = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),  # so that older runtimes read it too
            producer_name="parityboost",
        )
        helper.set_model_props(proto, properties)
        self.onnx.checker.check_model(proto)
        return proto

    def _new(self, name: str) -> str:
        name = unused_name(f"{name}_{len(self._nodes) + len(self._constants)}", self._taken)
        self._taken.add(name)
        return name


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode("utf8")
    except UnicodeEncodeError:
        raise ValueError(f"{what}: {text!r} cannot be written as UTF-8, which ONNX needs") from None
