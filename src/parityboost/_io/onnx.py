"""A model as an ONNX graph: per column a code, by comparison, and a look-up in the tables of columns and of pairs.

Only what changes the score is computed: an edge between two bins of equal score and a category that scores like all
others are left out. Thresholds per group that are no step function of one column have a table of their own. The groups
are then those of columns of X, or of inputs of their own, each of which is a *part*.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats, Integers
from .._engine.codes import MISSING
from .._extras import install
from .._model.glass_box import GlassBox
from .._model.groups import GroupSource
from .._table.binning import CategoricalColumn, Column, NumericColumn
from .._table.grouping import band_names, read_edges, sensitive_frame
from .._table.sources import NumberSource, Source, raise_infinite, read_sources
from .atomic import write_atomically
from .onnx_graph import (
    OUTPUTS,
    Code,
    Graph,
    category_texts,
    input_names,
    is_text,
    label_values,
    missing_text,
    unused_name,
)

OLDEST_OPSET = 13


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


def to_onnx(box: GlassBox, path: Any, opset: int) -> Any:
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
    graph = Graph(onnx, input_names(box.columns))
    scores = []
    codes: dict[int, Code] = {}  # of the columns that are used
    kinds = [[table] for table in effects.tables]  # per code, what has to be told apart
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
    if calibrator is not None:  # of the margin, whatever the thresholds are
        offset = constant if apart else constant + float(box.threshold)
        margin = graph.node("Add", graph.node("Sum", *scores), graph.constant(float(offset)))
        graph.calibrate(margin, calibrator, labels.positive_is_first)
    if source is not None and apart:
        scores.append(_add_thresholds(graph, source, box))
    graph.decide(scores, float(constant), label_values(labels.outcomes), labels.positive_is_first)
    proto = graph.model({"classes": repr(labels.classes.tolist())}, opset)
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
    if column.n_bins == 0:  # nothing was learnt about it: whatever it holds is unseen
        return np.full(len(source), np.nan)
    if isinstance(source, NumberSource) or isinstance(column, NumericColumn):  # which a category of numbers may be
        values = source.floats(slice(None))
    else:  # a category that is no number is none of the column's
        codes, found = source.factorized(slice(None))
        none = _no_category(column)
        values = np.array([*(_number(value, none) for value in found), np.nan])[codes]
    if isinstance(column, NumericColumn) and np.isinf(values).any():
        raise_infinite(column.name)
    return values


def _no_category(column: Any) -> float:
    """A number that is no category of the column: of the first numbers from 0 on, one more than it has suffice."""
    return next(float(i) for i in range(column.n_bins + 1) if i not in column.categories)


def _number(value: Any, none: float) -> float:
    """A category as a number; ``none`` if it is no number or beyond all floats."""
    try:
        return float(value) if isinstance(value, (bool, int, float, np.number, np.bool_)) else none
    except OverflowError:
        return none


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
    if not isinstance(value, str) or value in taken:
        return False
    try:
        value.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True
