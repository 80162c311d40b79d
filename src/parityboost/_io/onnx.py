"""A model as an ONNX graph: per column a code, by comparison, and a look-up in the tables of columns and of pairs.

Only what changes the score is computed: an edge between two bins of equal score and a category that scores like all
others are left out. Thresholds per group that are no step function of one column have a table of their own. The groups
are then those of columns of X, or of inputs of their own, each of which is a *part*.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import MISSING, Floats, Integers
from .._extras import install
from .._model.calibration import Calibrator
from .._model.glass_box import GlassBox
from .._model.groups import GroupSource
from .._model.tables import Pair
from .._table.binning import CategoricalColumn, Column, NumericColumn
from .._table.grouping import band_names, read_edges, sensitive_frame
from .._table.sources import NumberSource, Source, raise_infinite, read_sources
from .atomic import write_atomically

OUTPUTS = ("label", "probabilities", "score", "contributions")
OLDEST_OPSET, ML_OPSET = 13, 2
EXACT_INTS = 2**53  # doubles can tell integers below this apart


class Part(NamedTuple):
    """One of the columns that make the groups."""

    values: list[Any]  # that occur in groups, each once
    column: Column  # what tells them apart
    position: Integers  # per code of the column that of its value; one more for any other


def read_parts(source: GroupSource) -> list[Part]:
    cuts = [read_edges(name, edges) for name, edges in (source.grouping.bands or {}).items()]
    missing, parts = source.grouping.missing_group, []
    for name, in_groups in zip(own_names(source), zip(*_as_tuples(source.groups), strict=True), strict=True):
        values = list(dict.fromkeys(in_groups))
        known = [value for value in values if value != missing]
        place = {value: k for k, value in enumerate(values)}
        edges = next((edges for edges in cuts if set(known) <= set(band_names(edges))), None)
        column: Column
        if edges is None:
            column, codes = CategoricalColumn(name, tuple(known)), [*known, None]  # the last code is for all others
        else:  # a number at an edge is in the band above it
            codes = band_names(edges)
            column = NumericColumn(name, np.nextafter(edges, -np.inf), len(codes))
        parts.append(Part(values, column, np.array([place.get(value, len(values)) for value in (missing, *codes)])))
    return parts


def own_names(source: GroupSource) -> list[str]:
    """What the inputs are called if the groups are no columns of X."""
    n_parts = len(_as_tuples(source.groups)[0])
    return ["sensitive_features"] if n_parts == 1 else [f"s{j}" for j in range(n_parts)]


def _as_tuples(groups: NDArray[Any]) -> list[tuple[Any, ...]]:
    return [group if isinstance(group, tuple) else (group,) for group in groups.tolist()]


def to_onnx(box: GlassBox, path: Any, opset: int, contributions: bool = False) -> Any:
    """The graph of a fitted model, written to ``path`` if there is one."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(f"to_onnx needs onnx: {install('onnx')}") from error
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise ValueError(f"opset must be from {OLDEST_OPSET} to {newest}, what the installed onnx knows, got {opset!r}")

    source, calibrator, labels = box.about.source, box.calibrator, box.about.labels
    apart = source is not None and (source.codes is None or calibrator is not None)  # thresholds on their own
    effects, constant = (box.effects, 0.0) if apart else box.score_effects(pure=False)
    parts, part_constant = box.score_effects() if contributions else (None, 0.0)
    if parts is not None:
        effects = box.effects.pure if apart else parts
    graph = Graph(onnx, input_names(box.columns))
    scores = []
    codes: dict[int, Code] = {}  # of the columns that are used
    kinds = [[table] for table in effects.tables]  # per code, what has to be told apart
    for of_code, part in zip(kinds, [] if parts is None else parts.tables, strict=False):
        of_code.append(part)
    for pair in effects.pairs:
        for f, of_pair in zip(pair.features, pair.kinds, strict=True):
            kinds[f].append(of_pair)
    for f, (column, name, table) in enumerate(zip(box.columns, graph.inputs, effects.tables, strict=True)):
        graph.add_input(name, is_text(column))
        if is_text(column):
            category_texts(column)  # also of a column that is not used: its input has to be made all the same
        table = table[: column.n_codes]
        told_apart = np.stack(kinds[f])[:, : column.n_codes]
        if (told_apart != told_apart[:, [MISSING]]).any():
            codes[f] = graph.column_code(column, name, np.unique(told_apart, axis=1, return_inverse=True)[1].ravel())
        if (table == table[MISSING]).all():
            constant += table[MISSING]
        else:
            scores.append(graph.lookup(codes[f].name, table[codes[f].stands_for]))
    for pair in effects.pairs:
        scores.append(graph.pair_score(pair, *(codes.get(f) for f in pair.features)))
    if not scores:  # the same score for all
        scores.append(graph.zeros())
    shares = None
    if calibrator is not None:  # of the margin, whatever the thresholds are
        offset = constant if apart else constant + float(box.threshold)
        margin = graph.node("Add", graph.node("Sum", *scores), graph.constant(float(offset)))
        shares = graph.calibrated(margin, calibrator, labels.positive_is_first)
    if source is not None and apart:
        scores.append(_add_thresholds(graph, source, box))
    properties = {"classes": repr(labels.classes.tolist())}
    if parts is not None:
        own = [graph.part_score(table, codes.get(f)) for f, table in enumerate(parts.tables)]
        own += [graph.pair_score(pair, *(codes.get(f) for f in pair.features)) for pair in parts.pairs]
        graph.contributions([*own, graph.part_score(np.array([part_constant]), None)])
        names = [column.name for column in box.columns]
        names += [" × ".join(box.columns[f].name for f in pair.features) for pair in parts.pairs]
        properties["contributions"] = json.dumps([*names, "constant"], ensure_ascii=False)
    graph.decide(scores, float(constant), label_values(labels.outcomes), labels.positive_is_first, shares)
    proto = graph.model(properties, opset)
    if path is not None:
        write_atomically(path, proto.SerializeToString())
    return proto


def _add_thresholds(graph: Graph, source: GroupSource, box: GlassBox) -> str:
    """The node that has minus the threshold of each row."""
    parts = read_parts(source)
    table = np.full([len(part.values) + 1 for part in parts], source.mean(box.threshold))
    for group, threshold in zip(_as_tuples(source.groups), box.threshold.tolist(), strict=True):
        table[tuple(part.values.index(value) for part, value in zip(parts, group, strict=True))] = threshold
    names = [graph.inputs[f] for f in source.columns] or _unused_names(source, graph.inputs)
    position = None
    for j, (part, name) in enumerate(zip(parts, names, strict=True)):
        of_x = box.columns[source.columns[j]] if source.columns else part.column
        if not source.columns:
            graph.add_input(name, is_text(part.column))
        missing = missing_text(category_texts(of_x)) if is_text(of_x) else None
        code = graph.column_code(part.column, name, part.position, missing)
        stride = int(np.prod(table.shape[j + 1 :], dtype=np.int64))
        scaled = graph.lookup(code.name, part.position[code.stands_for] * stride)
        position = scaled if position is None else graph.node("Add", position, scaled)
    return graph.lookup(str(position), -table.ravel())


def _unused_names(source: GroupSource, inputs: Iterable[str]) -> list[str]:
    return [unused_name(name, {*inputs, *OUTPUTS}) for name in own_names(source)]


def onnx_inputs(model: Any, X: Any, *, sensitive_features: Any = None) -> dict[str, NDArray[Any]]:
    """The rows of X as the inputs of the graph that ``model.to_onnx()`` makes.

    Parameters
    ----------
    model : AdaFairClassifier, ParityBoostClassifier, AdaBoostClassifier or GlassBox
        The fitted model.
    X : DataFrame or array-like of shape (n_samples, n_features)
        Whatever ``model.predict`` takes. Infinite numbers are refused.
    sensitive_features : array-like, Series or DataFrame, optional
        The groups, if each has its own threshold and they are no columns of X.

    Returns
    -------
    dict
        One array of shape ``(n_samples, 1)`` per column: float64, or text for an input of type ``string``. A missing
        value is NaN or ``""``; if ``""`` is itself a category, the first of ``"missing 0"``, ``"missing 1"``, … that is
        none.

    Examples
    --------
    >>> import onnxruntime
    >>> from parityboost import AdaFairClassifier, onnx_inputs
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = AdaFairClassifier(n_estimators=10, random_state=0)
    >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    >>> session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    >>> label, probabilities, score = session.run(None, onnx_inputs(model, adult.data))
    >>> bool((label == model.predict(adult.data)).all())
    True
    """
    box = model if isinstance(model, GlassBox) else model.glass_box_  # says so if it has none
    sources = read_sources(box.read(X))
    box.binner.check(sources)
    found = {
        name: (_text_input(column, source) if is_text(column) else _number_input(column, source))[:, None]
        for name, column, source in zip(input_names(box.columns), box.columns, sources, strict=True)
    }
    of_groups = box.about.source
    if of_groups is not None and not of_groups.columns:
        if sensitive_features is None:
            raise ValueError("this model has a threshold per group, and the groups are no column of X: pass them too")
        inputs = _own_inputs(read_parts(of_groups), sensitive_features, len(sources[0]))
        found |= {name: values[:, None] for name, values in zip(_unused_names(of_groups, found), inputs, strict=True)}
    return found


def _own_inputs(parts: list[Part], sensitive_features: Any, n_rows: int) -> list[NDArray[Any]]:
    frame = sensitive_frame(sensitive_features)
    if frame.shape != (n_rows, len(parts)):
        raise ValueError(
            f"sensitive_features must have {n_rows} rows and {len(parts)} columns, as the model's groups, got "
            f"{frame.shape[0]} and {frame.shape[1]}"
        )
    found = []
    for j, part in enumerate(parts):
        column = frame.iloc[:, j]
        if is_text(part.column):
            texts = column.astype(object).map(str, na_action="ignore")
            found.append(texts.fillna(missing_text(category_texts(part.column))).to_numpy(dtype=object))
        else:
            found.append(pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan))
    return found


def _number_input(column: Column, source: Source) -> Floats:
    if column.n_bins == 0 and isinstance(column, NumericColumn):  # nothing was learnt about it
        return np.full(len(source), np.nan)
    if isinstance(source, NumberSource) or isinstance(column, NumericColumn):  # which a category of numbers may be
        values = source.floats(slice(None))
        if isinstance(column, NumericColumn) and np.isinf(values).any():
            raise_infinite(column.name)
        return values
    codes, found = source.factorized(slice(None))
    try:
        numbers = {category: float(category) for category in column.categories}
    except OverflowError:
        raise ValueError(f"column {column.name!r} has categories that are too large for a number of ONNX") from None
    none = next(float(i) for i in range(len(numbers) + 1) if i not in numbers)  # for whatever is no category
    return np.array([*(numbers.get(value, none) for value in found), np.nan])[codes]


def _text_input(column: Any, source: Source) -> NDArray[Any]:
    texts = category_texts(column)
    text_of = dict(zip(column.categories, texts, strict=True))
    missing = missing_text(texts)
    codes, found = source.factorized(slice(None))
    # Text that is no category stays as it is, to be none in the graph as well; anything else that is none might read
    # like one, or like a missing value.
    taken = {*texts, missing}
    none = next(text for i in range(len(taken) + 1) if (text := f"other {i}") not in taken)
    shown = [text_of.get(value, value if _is_text_of_its_own(value, taken) else none) for value in found]
    return np.array([*shown, missing], dtype=object)[codes]


def _is_text_of_its_own(value: Any, taken: set[str]) -> bool:
    """Whether a graph can be given a value that is no category as it is: half a surrogate pair is no UTF-8."""
    return isinstance(value, str) and value not in taken and value == value.encode("utf8", "replace").decode()


# The graph in the making: how columns become codes, codes scores, and scores decisions


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
        self._n_parts = 0

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
        kept = [i for i, code in enumerate(column.codes) if kinds[code] != kinds[column.other]]
        stands_for = np.array([column.other, MISSING, *(column.codes[i] for i in kept)])
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

    def part_score(self, table: NDArray[Any], code: Code | None) -> str:
        """What a feature adds to the score of each row; a column without a code adds the same to all."""
        if code is None:
            return self.node("Add", self.zeros(), self.constant(float(table[MISSING])))
        return self.lookup(code.name, table[code.stands_for])

    def contributions(self, parts: list[str]) -> None:
        """The parts of the score, side by side."""
        columns = [self.node("Unsqueeze", part, self.constant([1])) for part in parts]
        self.node("Concat", *columns, axis=1, output="contributions")
        self._n_parts = len(parts)

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

    def decide(
        self,
        scores: list[str],
        constant: float,
        labels: NDArray[Any],
        positive_is_first: bool,
        shares: list[str] | None,
    ) -> None:
        """From the columns' scores to the outputs; ``labels`` are the negative and the positive one.

        Probabilities are the calibrated ``shares``, or what the scores say.
        """
        parts = self.node("Sum", *scores), self.constant(constant)
        if positive_is_first:
            own = self.node("Add", *parts)
            score = self.node("Neg", own, output="score")
        else:
            own = score = self.node("Add", *parts, output="score")
        above = self.node("Greater", own, self.constant(0.0))
        self.lookup(self.node("Cast", above, to=self.onnx.TensorProto.INT64), labels, output="label")
        if shares is None:
            doubled = self.node("Unsqueeze", self.node("Add", score, score), self.constant([1]))
            second = self.node("Sigmoid", doubled)
            shares = [self.node("Sub", self.constant(1.0), second), second]
        self.node("Concat", *shares, axis=1, output="probabilities")
        self._label_type = self.onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)

    def calibrated(self, margin: str, calibrator: Calibrator, positive_is_first: bool) -> list[str]:
        """The calibrated probability of each class, from the margin without any threshold."""
        column = self.node("Unsqueeze", margin, self.constant([1]))
        piece = self.count(self.node("Less", self.constant(calibrator.edges), column))
        line = self.node("Mul", self.lookup(piece, calibrator.slopes), margin)
        line = self.node("Add", self.lookup(piece, calibrator.intercepts), line)
        bounded = self.node("Max", self.node("Min", line, self.constant(1.0)), self.constant(0.0))
        positive = self.node("Unsqueeze", bounded, self.constant([1]))
        negative = self.node("Sub", self.constant(1.0), positive)
        return [positive, negative] if positive_is_first else [negative, positive]

    def model(self, properties: dict[str, str], opset: int) -> Any:
        """The finished graph, checked."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        outputs = [
            helper.make_tensor_value_info("label", self._label_type, ["rows"], "the predicted class"),
            helper.make_tensor_value_info("probabilities", double, ["rows", 2], "one column per class, in their order"),
            helper.make_tensor_value_info("score", double, ["rows"], "positive for the second class"),
        ]
        if self._n_parts:
            note = "what each adds to the positive label's score; the property contributions has their names"
            outputs.append(helper.make_tensor_value_info("contributions", double, ["rows", self._n_parts], note))
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
