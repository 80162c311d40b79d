"""A fitted model as a JSON file: readable, versioned, exact to the last bit, and free of code.

The file holds what prediction and refitting need and nothing else: the class, its parameters, the columns with their
bins, the stumps with their weights, θ, the threshold and ``history_``. Its last line is a checksum of all lines before.
"""

from __future__ import annotations

import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._engine.codes import MAX_BINS, X_BINNED_DTYPE
from .._engine.threads import MAX_THREADS
from .._model.ensemble import StumpEnsemble
from .._model.grid import ALPHA_GRID, LARGE_THRESHOLD, THRESHOLD_GRID, on_fine_grid, on_grid
from .._model.groups import GroupSource
from .._model.trees import Stump
from .._table.binning import Binner, CategoricalColumn, Column, NumericColumn
from .._table.grouping import Grouping
from ..notions import NOTION_NAMES, FairnessNotion, get_notion
from . import model_file
from .atomic import write_atomically
from .json_history import decode_history, encode_history
from .json_values import (
    decode_array,
    decode_distinct,
    decode_value,
    encode_array,
    encode_value,
    object_array,
)
from .model_file import MAX_COLUMNS, MAX_GROUPS, MAX_LIST, MAX_STUMPS, check_checksum, check_size, render
from .strict_json import ModelFileError, Node, parse

FORMAT, VERSION = "parityboost model", 1
# Where each class that can be stored lives. A file names one of these and nothing else.
CLASSES = {
    "AdaFairClassifier": "parityboost.estimators",
    "AdaBoostClassifier": "parityboost.baselines.adaboost",
    "SMOTEBoostClassifier": "parityboost.baselines.smoteboost",
}
LIBRARIES = ("parityboost", "numpy", "pandas", "scikit-learn", "numba")

MAX_ALPHA, MAX_THRESHOLD = 1e3, 1e300
MAX_WARNINGS = 100
MAX_PAIRS = 1000  # of a dictionary, such as class_weight

REQUIRED = (
    *("format", "version", "class", "made_with", "parameters", "classes", "groups", "theta", "threshold", "per_group"),
    *("fitted", "named_columns", "columns", "stumps", "history_columns", "history"),
)


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file, all of it or nothing."""
    data = render(describe(model))
    if isinstance(getattr(model, "random_state", None), np.random.RandomState):
        warn(
            "random_state is a RandomState, of which the file keeps nothing: the loaded model has random_state=None. "
            "Use an integer if it is to be fitted again with the same split",
            UserWarning,
            stacklevel=3,
        )
    read(data, verify=True)  # what is written can be read: the limits of reading apply to writing too
    write_atomically(path, data)


def load(path: Any, *, verify: bool = True) -> Any:
    """Read a model that was stored with ``save``.

    The file says which class it is. Nothing in it is executed, and every value is checked before it is used, so a file
    from an unknown source can do no harm beyond predicting nonsense.

    Parameters
    ----------
    path : str or path-like
        The file.
    verify : bool, default=True
        Whether the file must match its checksum, byte by byte (but for line ends). Set it to False to read a file that
        was edited by hand; all other checks remain. The checksum guards against accidents, not against forgery.

    Returns
    -------
    AdaFairClassifier, AdaBoostClassifier or SMOTEBoostClassifier
        The fitted model: the same predictions to the last bit, the same parameters and ``history_``.

    Raises
    ------
    ModelFileError
        If the file is no sound model; the message says where.

    Examples
    --------
    >>> import parityboost, tempfile, pathlib
    >>> from parityboost.datasets import load_adult
    >>> adult = load_adult()
    >>> model = parityboost.AdaFairClassifier(n_estimators=10, random_state=0)
    >>> model = model.fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder, "model.json"))
    ...     loaded = parityboost.load(pathlib.Path(folder, "model.json"))
    >>> bool((loaded.decision_function(adult.data) == model.decision_function(adult.data)).all())
    True
    """
    with Path(path).open("rb") as file:
        data = file.read(model_file.MAX_BYTES + 1)
    try:
        return read(data, verify)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def read(data: bytes, verify: bool) -> Any:
    """The model in the bytes of a file."""
    check_size(data)
    if verify:
        check_checksum(data)
    return rebuild(parse(data))


def describe(model: Any) -> dict[str, Any]:
    """The document of a model, without its checksum."""
    check_is_fitted(model)
    name = type(model).__name__
    if name not in CLASSES or find_class(name) is not type(model):
        raise ModelFileError(f"a {name} cannot be stored; models of {', '.join(CLASSES)} can")
    if not isinstance(model._ensemble, StumpEnsemble):
        name = type(model.estimators_[0]).__name__
        raise ModelFileError(f"only a model of stumps (estimator=None) can be stored, this one is of {name}")
    if model.estimator is not None:
        raise ModelFileError(
            f"the model is of stumps, but its parameter is now estimator={model.estimator!r}, which a file cannot "
            "hold: model.set_params(estimator=None).save(…) stores it"
        )
    ensemble, history, source = model._ensemble, model.history_, model._group_source
    used = {stump.feature for stump in ensemble.stumps} | set(() if source is None else source.columns)
    return {
        "format": FORMAT,
        "version": VERSION,
        "class": name,
        "made_with": {"python": platform.python_version(), **{library: _version(library) for library in LIBRARIES}},
        "parameters": {key: _encode_parameter(key, value) for key, value in model.get_params(deep=False).items()},
        **_describe_fitted_with(model),
        **({"warnings": list(model.warnings_)} if model.warnings_ else {}),
        "classes": encode_array(model.classes_, "classes_"),
        "groups": [encode_value(group, "groups_") for group in model.groups_],
        "theta": int(model.theta_),
        "threshold": np.asarray(model.threshold_).tolist(),
        "per_group": _describe_per_group(source, model._group_thresholds),
        "fitted": {key: encode_value(getattr(model, key), key) for key in model._stored_values},
        "named_columns": hasattr(model, "feature_names_in_"),
        "columns": [_describe_column(column, j in used) for j, column in enumerate(ensemble.binner.columns)],
        "stumps": [
            {"alpha": float(alpha), **stump._asdict()}
            for alpha, stump in zip(ensemble.alphas, ensemble.stumps, strict=True)
        ],
        "history_columns": list(history.columns),
        "history": encode_history(history),
    }


def _describe_fitted_with(model: Any) -> dict[str, Any]:
    """The parameters that still matter after ``fit``, if they have been changed since then: as they were.

    A notion of the user's own cannot be told in a file: the loaded model measures by its parameter ``notion``.
    """
    fitted = model._fitted
    changed: dict[str, Any] = {}
    if hasattr(model, "notion") and get_notion(model.notion) != fitted.notion and _is_known(fitted.notion):
        changed["notion"] = _encode_parameter("notion", fitted.notion)
    if hasattr(model, "c") and model.c != fitted.c:
        changed["c"] = encode_value(fitted.c, "c")
    if model.sensitive_feature != model._sensitive_feature:
        changed["sensitive_feature"] = _encode_parameter("sensitive_feature", model._sensitive_feature)
    for name, value in vars(model._grouping).items():
        if getattr(model, name) != value:
            changed[name] = _encode_parameter(name, value)
    return {"fitted_with": changed} if changed else {}


def _describe_per_group(source: GroupSource | None, thresholds: Any) -> dict[str, Any] | None:
    """Where a model with a threshold per group finds the groups, and the thresholds that each round would have."""
    if source is None:
        return None
    columns, shares = list(source.columns), source.shares.tolist()
    codes = None if source.codes is None else source.codes.tolist()
    return {"columns": columns, "codes": codes, "shares": shares, "rounds": thresholds.tolist()}


def _describe_column(column: Column, used: bool) -> dict[str, Any]:
    """A column with what prediction asks about it: of a column of numbers that is not used, only that it is one."""
    if isinstance(column, CategoricalColumn):
        where = f"column {column.name!r}"
        return {"name": column.name, "categories": [encode_value(value, where) for value in column.categories]}
    edges = None if not column.n_bins else column.edges.tolist() if used else []  # null: it held nothing
    return {"name": column.name, "edges": edges}


def _encode_parameter(name: str, value: Any) -> Any:
    where = f"parameter {name}"
    if isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, FairnessNotion):
        if not _is_known(value):
            raise ModelFileError(
                f"{where}: {value!r} is a notion of your own, whose code a file cannot hold. Predictions do not need "
                f"it: model.set_params({name}='none').save(…) stores the model without. frontier() and reports of the "
                "loaded model then know of no notion"
            )
        return {"notion": value.name, **vars(value)}
    if isinstance(value, dict):
        items = {key: tuple(item) if isinstance(item, (list, np.ndarray)) else item for key, item in value.items()}
        return {"pairs": [[encode_value(key, where), encode_value(item, where)] for key, item in items.items()]}
    if isinstance(value, (list, tuple, np.ndarray, pd.Index, pd.Series)):
        return [encode_value(item, where) for item in (value if isinstance(value, (list, tuple)) else value.tolist())]
    return encode_value(value, where)


def _is_known(notion: FairnessNotion) -> bool:
    """Whether a notion is one of this library's."""
    try:
        return type(get_notion(notion.name))(**vars(notion)) == notion
    except (TypeError, ValueError):
        return False


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # run from its source without being installed
        return "unknown"


def rebuild(root: Node) -> Any:
    """The model that a document describes."""
    found = root.mapping()
    if "format" not in found or found["format"].value != FORMAT:
        root.fail(f"an object with the field format={FORMAT!r}")
    if "version" in found and found["version"].integer(1, 2**31) > VERSION:
        found["version"].fail(f"a version up to {VERSION}: the file is from a newer parityboost, update to read it")
    fields = root.fields(REQUIRED, optional=["sha256", "fitted_with", "warnings"])
    for library in fields["made_with"].mapping().values():
        library.text()

    cls = find_class(fields["class"].one_of(CLASSES))
    model = _make_model(cls, fields["parameters"])
    _read_fitted_with(model, fields.get("fitted_with"))
    model.warnings_ = [node.text() for node in fields["warnings"].items(MAX_WARNINGS)] if "warnings" in fields else []
    model.classes_ = decode_array(fields["classes"], 2, 2)
    model.groups_ = object_array(decode_distinct(fields["groups"], MAX_GROUPS, 1))
    for key, node in fields["fitted"].fields(cls._stored_values).items():
        setattr(model, key, decode_value(node))

    columns = tuple(_read_column(node) for node in fields["columns"].items(MAX_COLUMNS, 1))
    stump_nodes = fields["stumps"].items(MAX_STUMPS, 1)
    stumps, alphas = zip(*(_read_stump(node, columns) for node in stump_nodes), strict=True)
    model._ensemble = StumpEnsemble(Binner(columns), list(stumps), np.array(alphas))
    model.n_features_in_ = len(columns)
    if fields["named_columns"].flag():
        if len({column.name for column in columns}) < len(columns):
            fields["columns"].fail("different names")
        model.feature_names_in_ = object_array([column.name for column in columns])
    model.n_estimators_ = len(stumps)
    model.theta_ = fields["theta"].integer(1, len(stumps))
    if fields["per_group"].value is None:
        model._group_source = model._group_thresholds = None
        model.threshold_ = _read_threshold(fields["threshold"])
    else:
        model._group_source, model._group_thresholds = _read_per_group(fields["per_group"], model)
        model.threshold_ = _read_thresholds(fields["threshold"], len(model.groups_))
    model._selection = model._frontier = None  # the data that θ was chosen on stays where it was
    model.history_ = decode_history(fields["history_columns"], fields["history"], len(stumps))
    return model


def find_class(name: str) -> Any:
    """A class that can be stored."""
    return getattr(import_module(CLASSES[name]), name)


def _make_model(cls: Any, parameters: Node) -> Any:
    known = cls._get_param_names()
    values = {key: _read_parameter(node) for key, node in parameters.fields([], optional=known).items()}
    if values.get("estimator") is not None:
        Node(values["estimator"], f"{parameters.where}.estimator").fail("null: only stumps can be stored")
    n_jobs: Any = values.get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, (int, np.integer)) and 0 < abs(int(n_jobs)) <= MAX_THREADS):
        Node(n_jobs, f"{parameters.where}.n_jobs").fail(f"a number of threads up to {MAX_THREADS}, or null")
    return _checked(cls(**values), parameters.where)


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


def _read_column(node: Node) -> Column:
    fields = node.fields(["name"], optional=["edges", "categories"])
    name = fields["name"].text()
    if ("edges" in fields) == ("categories" in fields):
        node.fail("either 'edges' or 'categories'")
    if "categories" in fields:
        return CategoricalColumn(name, tuple(decode_distinct(fields["categories"], MAX_BINS)))
    if fields["edges"].value is None:
        return NumericColumn(name, np.empty(0), 0)
    edges = fields["edges"].numbers(MAX_BINS - 1)
    if (np.diff(edges) <= 0).any():
        fields["edges"].fail("numbers that increase")
    return NumericColumn(name, edges, len(edges) + 1)


def _read_stump(node: Node, columns: tuple[Column, ...]) -> tuple[Stump, float]:
    fields = node.fields(["alpha", *Stump._fields])
    feature = fields["feature"].integer(0, len(columns) - 1)
    votes = {key: fields[key].integer(-1, 1) for key in ("left_vote", "right_vote")}
    for key, vote in votes.items():
        if vote == 0:
            fields[key].fail("-1 or 1")
    stump = Stump(
        feature,
        fields["split"].integer(0, columns[feature].n_bins),
        fields["missing_left"].flag(),
        votes["left_vote"],
        votes["right_vote"],
        fields["left_confidence"].number(0, 1),
        fields["right_confidence"].number(0, 1),
    )
    # Already a multiple of the grid, unless someone edited it: sums must stay exact.
    return stump, on_grid(fields["alpha"].number(ALPHA_GRID, MAX_ALPHA))


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
    rounds = fields["rounds"].items(model.n_estimators_, model.n_estimators_)
    thresholds = np.array([_read_thresholds(item, n_groups) for item in rounds])
    return GroupSource(model.groups_, shares, at, codes, model._grouping), thresholds


def _read_thresholds(node: Node, n_groups: int) -> Any:
    values = node.numbers(n_groups, n_groups, MAX_THRESHOLD)
    # Already multiples of the grid, unless someone edited them.
    fine = np.rint(values / THRESHOLD_GRID) * THRESHOLD_GRID + 0.0  # no -0
    return np.where(np.abs(values) > LARGE_THRESHOLD, values, fine)


def _read_threshold(node: Node) -> float:
    return on_fine_grid(node.number(-MAX_THRESHOLD, MAX_THRESHOLD))
