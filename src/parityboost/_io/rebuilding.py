"""From a document to the model that it describes; nothing in it is trusted."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._engine.codes import MAX_BINS, MAX_CATEGORIES, X_BINNED_DTYPE
from .._engine.threads import MAX_THREADS
from .._model.ensemble import StumpEnsemble
from .._model.grid import LARGE_THRESHOLD, THRESHOLD_GRID, on_fine_grid
from .._model.groups import GroupSource
from .._model.trees import Stump
from .._table.binning import Binner, CategoricalColumn, Column, NumericColumn
from .._table.grouping import Grouping
from .._table.labels import find_label
from ..notions import NOTION_NAMES, get_notion
from .average_json import read_average
from .json_history import decode_history
from .json_values import (
    decode_array,
    decode_distinct,
    decode_value,
    object_array,
)
from .layout import (
    CLASSES,
    FORMAT,
    LEARNERS,
    MAX_PAIRS,
    MAX_ROWS,
    MAX_THRESHOLD,
    MAX_WARNINGS,
    OPTIONAL,
    REQUIRED,
    VERSION,
    find_class,
)
from .model_file import MAX_COLUMNS, MAX_GROUPS, MAX_LIST, MAX_STUMPS
from .strict_json import ModelFileError, Node
from .tree_json import read_alpha, read_trees, read_vote

COLUMN_FLAGS = ("others_are_missing", "mixed")  # of categories; version 1 has the second only


def rebuild(root: Node) -> Any:
    """The model that a document describes."""
    found = root.mapping()
    if "format" not in found or found["format"].value != FORMAT:
        root.fail(f"an object with the field format={FORMAT!r}")
    if "version" in found and found["version"].integer(1, 2**31) > VERSION:
        found["version"].fail(f"a version up to {VERSION}: the file is from a newer parityboost, update to read it")
    fields = root.fields(REQUIRED, optional=["sha256", *OPTIONAL, *LEARNERS])
    for library in fields["made_with"].mapping().values():
        library.text()

    cls = find_class(fields["class"].one_of(CLASSES))
    model = _make_model(cls, fields["parameters"])
    _read_fitted_with(model, fields.get("fitted_with"))
    model.warnings_ = [node.text() for node in fields["warnings"].items(MAX_WARNINGS)] if "warnings" in fields else []
    if "rows" in fields:  # files of 0.1 have none
        model.n_samples_fit_ = fields["rows"].integer(1, MAX_ROWS)
    model.classes_ = decode_array(fields["classes"], 2, 2)
    model.positive_ = _read_label(fields.get("positive"), model.classes_, model.classes_.tolist()[1])
    model.favourable_ = _read_label(fields.get("favourable"), model.classes_, None)
    model.groups_ = object_array(decode_distinct(fields["groups"], MAX_GROUPS, 1))
    for key, node in fields["fitted"].fields(cls._stored_values).items():
        setattr(model, key, decode_value(node))

    by_old_rule = fields["version"].value == 1
    taken: set[str] = set()
    columns = tuple(_read_column(node, taken, by_old_rule) for node in fields["columns"].items(MAX_COLUMNS, 1))
    n_learners = _read_learners(root, fields, Binner(columns), model)
    model.n_features_in_ = len(columns)
    if fields["named_columns"].flag():
        model.feature_names_in_ = object_array([column.name for column in columns])
    model.n_estimators_ = n_learners
    model.theta_ = fields["theta"].integer(1, n_learners)
    model._group_source = model._group_thresholds = None
    read_threshold: Any = _read_threshold
    if fields["per_group"].value is not None:
        model._group_source, model._group_thresholds = _read_per_group(fields["per_group"], model)
        read_threshold = partial(_read_thresholds, n_groups=len(model.groups_))
    model.threshold_ = read_threshold(fields["threshold"])
    model._selection = model._frontier = None  # the data that θ was chosen on stays where it was
    model._chosen = (model._stage, model.threshold_) if model._fitted.choose_theta else None
    if "chosen" in fields:  # files of 0.1 have none
        chosen = fields["chosen"].fields(["stage", "threshold"])
        model._chosen = chosen["stage"].integer(1, model._n_stages), read_threshold(chosen["threshold"])
    model._history = decode_history(fields["history_columns"], fields["history"], n_learners)
    return model


def _read_label(node: Node | None, classes: Any, otherwise: Any) -> Any:
    """One of the labels; files of 0.1 name none."""
    if node is None:
        return otherwise
    value = decode_value(node)
    try:
        found = find_label("the label", value, classes.tolist())
    except ValueError:
        found = None
    if found is None:
        node.fail(f"one of the labels {classes.tolist()!r:.200}")
    return found


def _make_model(cls: Any, parameters: Node) -> Any:
    known = cls._get_param_names()
    values = {key: _read_parameter(node) for key, node in parameters.fields([], optional=known).items()}
    if values.get("estimator") is not None:
        Node(values["estimator"], f"{parameters.where}.estimator").fail("null: only native trees can be stored")
    n_jobs: Any = values.get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, (int, np.integer)) and 0 < abs(int(n_jobs)) <= MAX_THREADS):
        Node(n_jobs, f"{parameters.where}.n_jobs").fail(f"a number of threads up to {MAX_THREADS}, or null")
    model = _checked(cls(**values), parameters.where)
    return model


def _checked(model: Any, where: str) -> Any:
    try:
        model._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{where}: {str(error)[:500]}") from None  # it may show all of a long list
    return model


def _read_fitted_with(model: Any, node: Node | None) -> None:
    """Set what the model was fitted with: its parameters, but for those that the file says were others."""
    names = ("notion", "c", "sensitive_feature", "bands", "missing_group")
    optional = [name for name in names if name in model.get_params(deep=False)]
    changed = {} if node is None else {k: _read_parameter(n) for k, n in node.fields([], optional=optional).items()}
    original = _checked(type(model)(**{**model.get_params(deep=False), **changed}), "$" if node is None else node.where)
    model._fitted, model._sensitive_feature = original._settings(), original.sensitive_feature
    model._sensitive_names = []
    try:
        model._grouping = Grouping(original.bands, original.missing_group)
    except ValueError as error:
        raise ModelFileError(f"$.parameters: {error}") from None


def _read_parameter(node: Node) -> Any:
    value = node.value
    if isinstance(value, list):
        return [decode_value(item) for item in node.items(MAX_LIST)]
    if isinstance(value, dict) and "pairs" in value:
        pairs = (pair.items(2, 2) for pair in node.fields(["pairs"])["pairs"].items(MAX_PAIRS))
        return {decode_value(key): decode_value(item) for key, item in pairs}
    if isinstance(value, dict) and "notion" in value:
        fields = node.mapping()
        notion = type(get_notion(fields.pop("notion").one_of(sorted(NOTION_NAMES))))
        try:
            return notion(**{key: option.text() for key, option in fields.items()})
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{node.where}: {error}") from None
    return decode_value(node)


def _read_column(node: Node, taken: set[str], by_old_rule: bool) -> Column:
    fields = node.fields(["name"], optional=["edges", "categories", *COLUMN_FLAGS[by_old_rule:]])
    name = fields["name"].text()
    if name in taken:
        fields["name"].fail("a name that no other column has")
    taken.add(name)
    if ("edges" in fields) == ("categories" in fields):
        node.fail("either 'edges' or 'categories'")
    flags = {flag: fields[flag].flag() for flag in COLUMN_FLAGS if flag in fields}
    if "categories" in fields:
        flags["others_are_missing"] = old = by_old_rule or flags.get("others_are_missing", False)
        categories = decode_distinct(fields["categories"], MAX_BINS if old else MAX_CATEGORIES)
        return CategoricalColumn(name, tuple(categories), **flags)
    for flag in flags:
        fields[flag].fail("no such field beside 'edges'")
    if fields["edges"].value is None:
        return NumericColumn(name, np.empty(0), 0)
    edges = fields["edges"].numbers(MAX_BINS - 1)
    if (np.diff(edges) <= 0).any():
        fields["edges"].fail("numbers that increase")
    return NumericColumn(name, edges, len(edges) + 1)


def _read_learners(root: Node, fields: dict[str, Node], binner: Binner, model: Any) -> int:
    """Set what predicts: stumps, or trees with the training rows in the cells of their pairs, or averaged tables.

    The number of learners that were trained.
    """
    given = {name for name in LEARNERS if name in fields}
    averages = type(model).__name__ == "ParityBoostClassifier"
    if given == {"average"} and averages:
        read_average(model, fields["average"], binner, fields["per_group"].value is not None)
        return sum(model._bag_sizes)
    if averages:
        root.fail("the field 'average'")
    if given == {"trees", "pairs"}:
        model._ensemble = read_trees(fields["trees"], fields["pairs"], binner)
        return len(model._ensemble.trees)
    if given != {"stumps"}:
        root.fail("either the field 'stumps' or the fields 'trees' and 'pairs'")
    nodes = fields["stumps"].items(MAX_STUMPS, 1)
    stumps, alphas = zip(*(_read_stump(node, binner.columns) for node in nodes), strict=True)
    model._ensemble = StumpEnsemble(binner, list(stumps), np.array(alphas))
    return len(stumps)


def _read_stump(node: Node, columns: tuple[Column, ...]) -> tuple[Stump, float]:
    fields = node.fields(["alpha", *Stump._fields])
    feature = fields["feature"].integer(0, len(columns) - 1)
    stump = Stump(
        feature,
        fields["split"].integer(0, columns[feature].n_bins),
        fields["missing_left"].flag(),
        read_vote(fields["left_vote"]),
        read_vote(fields["right_vote"]),
        fields["left_confidence"].number(0, 1),
        fields["right_confidence"].number(0, 1),
    )
    return stump, read_alpha(fields["alpha"])


def _read_per_group(node: Node, model: Any) -> tuple[GroupSource, Any]:
    fields = node.fields(["columns", "codes", "shares", "rounds"])
    columns, n_groups = model._ensemble.binner.columns, len(model.groups_)
    at = tuple(item.integer(0, len(columns) - 1) for item in fields["columns"].items(len(columns)))
    shares = np.array([item.number(0, 1) for item in fields["shares"].items(n_groups, n_groups)])
    codes = None
    if fields["codes"].value is not None:
        if len(at) != 1:
            fields["codes"].fail("null, unless one column holds the groups")
        found = [item.integer(1, columns[at[0]].n_bins) for item in fields["codes"].items(n_groups, n_groups)]
        codes = np.array(found, dtype=X_BINNED_DTYPE)
    rounds = fields["rounds"].items(model._n_stages, model._n_stages)
    thresholds = np.array([_read_thresholds(item, n_groups) for item in rounds])
    return GroupSource(model.groups_, shares, at, codes, model._grouping), thresholds


def _read_thresholds(node: Node, n_groups: int) -> Any:
    values = node.numbers(n_groups, n_groups, MAX_THRESHOLD)
    # Already multiples of the grid, unless someone edited them.
    fine = np.rint(values / THRESHOLD_GRID) * THRESHOLD_GRID + 0.0  # no -0
    return np.where(np.abs(values) > LARGE_THRESHOLD, values, fine)


def _read_threshold(node: Node) -> float:
    return on_fine_grid(node.number(-MAX_THRESHOLD, MAX_THRESHOLD))
