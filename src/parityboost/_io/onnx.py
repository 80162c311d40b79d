"""A model as an ONNX graph: per column a code, by comparison, and a look-up in the tables of columns and of pairs.

Only what changes the score is computed: an edge between two bins of equal score and a category that scores like all
others are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._arrays import Floats
from .._engine.codes import MISSING
from .._extras import install
from .._table.binning import Column, NumericColumn
from .._table.sources import NumberSource, Source, raise_infinite, read_sources
from .atomic import write_atomically
from .onnx_graph import OUTPUTS, Code, Graph, category_texts, input_names, is_text, label_values, unused_name
from .onnx_groups import Part, add_thresholds, missing_text, own_inputs, own_names, read_parts

OLDEST_OPSET = 13


def to_onnx(model: Any, path: Any, opset: int) -> Any:
    """The graph of a fitted model, written to ``path`` if there is one."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(f"to_onnx needs onnx: {install('onnx')}") from error
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise ValueError(f"opset must be from {OLDEST_OPSET} to {newest}, what the installed onnx knows, got {opset!r}")

    check_is_fitted(model)
    source = model._group_source
    calibrator = getattr(model, "_calibrator", None)  # of the margin, whatever the thresholds are
    apart = source is not None and (source.codes is None or calibrator is not None)  # thresholds on their own
    (tables, pairs), constant = (model._feature_effects(pure=False), 0.0) if apart else model._score_effects(pure=False)
    if apart:  # without the thresholds that are in them where a feature tells the groups
        tables, pairs = model._ensemble.effects(model.theta_)
    columns = model._ensemble.binner.columns
    graph = Graph(onnx, input_names(columns))
    scores = []
    codes: dict[int, Code] = {}  # of the columns that are used
    kinds = [[table] for table in tables]  # per code, what has to be told apart
    for pair in pairs:
        for f, of_pair in zip(pair.features, pair.kinds, strict=True):
            kinds[f].append(of_pair)
    for f, (column, name, table) in enumerate(zip(columns, graph.inputs, tables, strict=True)):
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
    for pair in pairs:
        scores.append(graph.pair_score(pair, *(codes.get(f) for f in pair.features)))
    if not scores:  # the same score for all
        scores.append(graph.zeros())
    if calibrator is not None:
        offset = constant if apart else constant + float(model.threshold_)
        margin = graph.node("Add", graph.node("Sum", *scores), graph.constant(float(offset)))
        graph.calibrate(margin, calibrator, model._positive_is_first)
    if apart:
        parts = read_parts(source)
        scores.append(
            add_thresholds(graph, source, parts, _group_inputs(graph, source, parts, columns), model.threshold_)
        )
    graph.decide(scores, float(constant), label_values(model._outcomes), model._positive_is_first)
    proto = graph.model(model, opset)
    if path is not None:
        write_atomically(path, proto.SerializeToString())
    return proto


def _group_inputs(graph: Graph, source: Any, parts: list[Part], columns: tuple[Column, ...]) -> list[tuple[str, str]]:
    """The name of each part's input, and its text for a missing value."""
    if source.columns:
        of_x = [(graph.inputs[f], columns[f]) for f in source.columns]
        return [(name, missing_text(category_texts(column)) if is_text(column) else "") for name, column in of_x]
    names = [unused_name(name, {*graph.inputs, *OUTPUTS}) for name in own_names(parts)]
    for name, part in zip(names, parts, strict=True):
        graph.add_input(name, part.is_text)
    return [(name, missing_text(part.texts)) for name, part in zip(names, parts, strict=True)]


def onnx_inputs(model: Any, X: Any, *, sensitive_features: Any = None) -> dict[str, NDArray[Any]]:
    """The rows of X as the inputs of the graph that ``model.to_onnx()`` makes.

    Parameters
    ----------
    model : AdaFairClassifier or AdaBoostClassifier
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
    check_is_fitted(model)
    model._feature_effects(pure=False)  # says so if the model has no tables
    sources, binner = read_sources(model._read_new(X)), model._ensemble.binner
    binner.check(sources)
    found = {
        name: (_text_input(column, source) if is_text(column) else _number_input(column, source))[:, None]
        for name, column, source in zip(input_names(binner.columns), binner.columns, sources, strict=True)
    }
    of_groups = model._group_source
    if of_groups is not None and not of_groups.columns:
        if sensitive_features is None:
            raise ValueError("this model has a threshold per group, and the groups are no column of X: pass them too")
        parts = read_parts(of_groups)
        names = [unused_name(name, {*found, *OUTPUTS}) for name in own_names(parts)]
        for name, values in zip(names, own_inputs(parts, sensitive_features, len(sources[0])), strict=True):
            found[name] = values[:, None]
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
