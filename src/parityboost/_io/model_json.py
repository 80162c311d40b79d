"""A fitted model as a JSON file: readable, versioned, exact to the last bit, and free of code.

The file holds what prediction and refitting need and nothing else: the class, its parameters, the columns with their
bins, the trees with their weights or the tables of an average, θ, the threshold and ``history_``. Its last line is a
checksum of all lines before. A field more is a line in its record, one where the record is made of the model, and one
where it is read; with a default, files that were written before can be read.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from msgspec import Meta, field
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._arrays import on_grid
from .._caller import warn_caller
from .._engine.threads import MAX_THREADS
from .._model.glass_box import About
from .._model.trees import EstimatorRounds, TreeRounds
from .._table.binning import Binner
from .._table.grouping import AS_GIVEN, Grouping, as_tuple
from .._table.reading import Labels as TwoLabels
from .._table.values import object_array
from ..notions import NOTION_NAMES, FairnessNotion, Viewed, get_notion
from . import limits
from .atomic import write_atomically
from .json_values import Labels, decode_distinct, decode_value, decode_values, encode_value, one_of, whole
from .older import upgraded
from .parts import Average, Chosen, Column, OneOrMore, PerGroup, Stage, Tree, TreePair, View, exactly, thresholds
from .strict_json import ModelFileError, Record, at, convert, each, each_field, fail, inside, parse, render, shown_key

__all__ = ["ModelFileError", "load", "save"]

FORMAT, VERSION = "parityboost model", 3
# Where each class that can be stored lives. A file names one of these and nothing else.
CLASSES = {
    "AdaFairClassifier": "parityboost.estimators",
    "ParityBoostClassifier": "parityboost.recommended",
    "AdaBoostClassifier": "parityboost.adaboost",
    "SMOTEBoostClassifier": "parityboost.paper.baselines.smoteboost",
}
LIBRARIES = ("numpy", "pandas", "scikit-learn", "numba")
FITTED_WITH = ("notion", "c", "sensitive_feature", "bands", "missing_group", "groups", "blind")


def save(model: Any, path: Any) -> None:
    """Write a fitted model to a file, all of it or nothing."""
    write_atomically(path, to_bytes(model))


def to_bytes(model: Any) -> bytes:
    """The file of a fitted model."""
    data = render(Document.of_model(model))
    if isinstance(getattr(model, "random_state", None), np.random.RandomState):
        warn_caller(
            "random_state is a RandomState, of which the file keeps nothing: the loaded model has random_state=None. "
            "Use an integer if it is to be fitted again with the same split"
        )
    read(data, verify=True)  # what is written can be read: the limits of reading apply to writing too
    return data


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
    AdaFairClassifier, ParityBoostClassifier, AdaBoostClassifier or SMOTEBoostClassifier
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
    >>> bool(
    ...     (loaded.decision_function(adult.data) == model.decision_function(adult.data)).all()
    ... )
    True
    """
    with Path(path).open("rb") as opened:
        data = opened.read(limits.MAX_BYTES + 1)
    try:
        return read(data, verify)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def read(data: bytes, verify: bool) -> Any:
    """The model in the bytes of a file, of whatever version."""
    try:
        found = parse(data, verify)
        if not isinstance(found, dict):
            fail("", "an object", found)
        if found.get("format") != FORMAT:
            fail("", f"an object with the field format={FORMAT!r}", found)
        written = found.get("version")
        if type(written) is not int or written < 1:
            fail("version", f"a whole number from 1 to {VERSION}", written)
        if written > VERSION:
            expected = f"a version up to {VERSION}: the file is from a newer parityboost, update to read it"
            fail("version", expected, written)
        document = upgraded(found, written) if written < VERSION else found
        return convert(document, Document).read()
    except ModelFileError as error:
        raise inside("the document", error) if str(error).startswith(":") else error from None


class Document(Record, kw_only=True):
    format: str
    version: int
    class_: str = field(name="class")
    made_with: dict[str, Any]
    parameters: dict[str, Any]
    fitted_with: dict[str, Any] = field(default_factory=dict)
    warnings: Annotated[list[str], Meta(max_length=100)] = field(default_factory=list)
    rows: Annotated[int, Meta(ge=1, le=1 << 53)] | None = None
    classes: Labels
    positive: Any = None
    favourable: Any = None
    groups: Annotated[list[Any], Meta(min_length=1, max_length=limits.MAX_GROUPS)]
    views: Annotated[list[View], Meta(max_length=limits.MAX_VIEWS)] = field(default_factory=list)
    theta: Stage
    threshold: OneOrMore
    chosen: Chosen | None = None
    per_group: PerGroup | None = None
    fitted: dict[str, Any] = field(default_factory=dict)
    named_columns: bool
    columns: Annotated[list[Column], Meta(min_length=1, max_length=limits.MAX_COLUMNS)]
    trees: Annotated[list[Tree], Meta(max_length=limits.MAX_ROUNDS)] = field(default_factory=list)
    pairs: list[TreePair] = field(default_factory=list)
    average: Average | None = None
    history_columns: Annotated[list[str], Meta(max_length=limits.MAX_HISTORY)]
    history: list[list[Any]]
    sha256: str = ""

    @classmethod
    def of_model(cls, model: Any) -> Document:
        """Without its checksum."""
        check_is_fitted(model)
        name = type(model).__name__
        if name not in CLASSES or find_class(name) is not type(model):
            raise ModelFileError(f"a {name} cannot be stored; models of {', '.join(CLASSES)} can")
        rounds, about, history = getattr(model, "_rounds", None), model._about, model._history
        if isinstance(rounds, EstimatorRounds):
            name = type(rounds.learners[0]).__name__
            raise ModelFileError(f"only a model of native trees (estimator=None) can be stored, this one is of {name}")
        if vars(model).get("estimator") is not None:
            raise ModelFileError(
                f"the model is of native trees, but its parameter is now estimator={model.estimator!r}, which a file "
                "cannot hold: model.set_params(estimator=None).save(…) stores it"
            )
        predicts = model._box if rounds is None else rounds
        labels, source = about.labels, about.source
        chosen = None if rounds is None else model._chosen  # of an average the menu tells
        of_rounds = [] if rounds is None or source is None else model._group_thresholds.tolist()
        used = {*predicts.used_features(), *(() if source is None else source.columns)}
        weighted = () if rounds is None else zip(rounds.learners, rounds.alphas, strict=True)
        return cls(
            format=FORMAT,
            version=VERSION,
            class_=name,
            made_with={"python": platform.python_version(), "parityboost": __version__}
            | {x: version(x) for x in LIBRARIES},
            parameters={key: encode_parameter(key, value) for key, value in _parameters(model).items()},
            fitted_with=_fitted_with(model),
            warnings=list(about.warnings),
            rows=None if about.n_rows is None else int(about.n_rows),
            classes=Labels.of_array(labels.classes, "classes_"),
            positive=encode_value(labels.positive, "positive_") if labels.positive_is_first else None,
            favourable=encode_value(labels.favourable, "favourable_"),
            groups=[encode_value(group, "groups_") for group in about.groups],
            views=[View.of_view(view) for view in about.settings.notion.views],
            theta=int(model.theta_),
            threshold=np.asarray(model.threshold_, dtype=np.float64).tolist(),
            chosen=None if chosen is None else Chosen(int(chosen[0]), np.asarray(chosen[1]).tolist()),
            per_group=None if source is None else PerGroup.of(source, rounds=of_rounds),
            fitted={key: encode_value(getattr(model, key), key) for key in model._stored_values},
            named_columns=about.names is not None,
            columns=[Column.of_column(column, j in used) for j, column in enumerate(predicts.binner.columns)],
            trees=[Tree.of_round(tree, alpha) for tree, alpha in weighted],
            pairs=[] if rounds is None else [TreePair.of(pair) for pair in rounds.support],
            average=Average.of_model(model) if rounds is None else None,
            history_columns=list(history),
            history=[list(row) for row in zip(*map(_encode_history, history.values()), strict=True)],
        )

    def read(self) -> Any:
        """The fitted model."""
        one_of(self.class_, CLASSES, "class")
        cls = find_class(self.class_)
        with at("made_with"):
            each_field(self.made_with, partial(convert, kind=str))
        with at("parameters"):
            parameters = decode_fields(self.parameters, cls._get_param_names())
            model = make_model(cls, parameters)
        with at("fitted_with" if self.fitted_with else "parameters"):
            known = [name for name in FITTED_WITH if name in cls._get_param_names()]
            original = make_model(cls, parameters | decode_fields(self.fitted_with, known))
            settings, feature = checked(original._settings), vars(original).get("sensitive_feature")
            fields = {name: vars(original).get(name, default) for name, default in vars(AS_GIVEN).items()}
            grouping = checked(lambda: Grouping(**fields))
        with at("classes"):
            classes = self.classes.read()
        stated = each_field({"positive": self.positive, "favourable": self.favourable}, decode_parameter)
        labels = checked(lambda: TwoLabels.of(classes, **stated))
        groups = object_array(decode_distinct(self.groups, "groups"))
        if self.views:
            cells = list(map(as_tuple, groups))
            views = tuple(each("views", self.views, lambda view: view.read(cells)))
            settings = replace(settings, notion=Viewed(settings.notion, views))
        binner = Binner(tuple(each("columns", self.columns, Column.read)))
        taken: set[str] = set()
        for j, column in enumerate(self.columns):
            if column.name in taken:
                fail(f"columns[{j}].name", "a name that no other column has", column.name)
            taken.add(column.name)
        names = object_array([column.name for column in binner.columns]) if self.named_columns else None
        about = About(labels, groups, len(binner.columns), names, settings, feature, grouping, None, self.rows)
        is_blind = bool(vars(original).get("blind"))
        about, n_groups = replace(about, warnings=tuple(self.warnings), blind=is_blind), None
        if self.per_group is not None:
            with at("per_group"):
                about, n_groups = replace(about, source=self.per_group.read(about, binner)), len(groups)

        threshold = thresholds(self.threshold, n_groups, "threshold")
        if self.class_ == "ParityBoostClassifier":
            if self.average is None or self.trees:
                raise ModelFileError(": expected the field 'average', and no trees")
            with at("average"):
                model.thetas_ = np.array(each("bags", self.average.bags, lambda bag: bag.read()))
                model._bag_sizes = [bag.rounds for bag in self.average.bags]
                model._box = self.average.read(about, threshold, binner, n_groups)
        else:
            if self.average is not None or not self.trees:
                raise ModelFileError(": expected the field 'trees', and no average")
            self._read_stages(model, threshold, binner, n_groups)
        whole(self.theta, 1, model.n_estimators_, "theta")
        with at("fitted"):
            stored = decode_fields(self.fitted, cls._stored_values)
        for key in cls._stored_values:
            if key not in stored:
                fail("fitted", f"a field {key!r}", self.fitted)
            setattr(model, key, stored[key])
        model._history = self._read_history(model.n_estimators_)
        model.n_features_in_, model._about = about.n_features, about
        if names is not None:
            model.feature_names_in_ = names
        return model

    def _read_stages(self, model: Any, threshold: Any, binner: Binner, n_groups: int | None) -> None:
        """What a model has that keeps its rounds. The data that θ was chosen on stays where it was."""
        model._rounds, model.threshold_, model.theta_ = self._read_rounds(binner), threshold, self.theta
        model._chosen = (self.theta, threshold) if model._settings().choose_theta else None  # files of 0.1 do not say
        if self.chosen is not None:
            of_fit = thresholds(self.chosen.threshold, n_groups, "chosen.threshold")
            model._chosen = whole(self.chosen.stage, 1, model._n_stages, "chosen.stage"), of_fit
        model._group_thresholds = model._selection = model._frontier = None
        if self.per_group is not None:
            rounds = exactly(model._n_stages, self.per_group.rounds, "per_group.rounds")
            found = each("per_group.rounds", rounds, lambda values: thresholds(values, n_groups, ""))
            model._group_thresholds = np.array(found)

    def _read_rounds(self, binner: Binner) -> TreeRounds:
        trees = each("trees", self.trees, lambda tree: tree.read(binner))
        # Already multiples of the grid, unless someone edited them: sums must stay exact.
        rounds = TreeRounds(binner, trees, on_grid(np.array([tree.alpha for tree in self.trees])))
        cells = rounds.cells()
        pairs = zip(exactly(len(cells), self.pairs, "pairs"), cells, strict=True)
        return replace(rounds, support=tuple(each("pairs", pairs, lambda both: both[0].read(both[1]))))

    def _read_history(self, n_rounds: int) -> dict[str, Any]:
        """One list per round, which may have thousands of cells."""
        names, rows = self.history_columns, exactly(n_rounds, self.history, "history")
        if len(set(names)) < len(names):
            fail("history_columns", "different names", names)
        each("history", rows, lambda row: exactly(len(names), row, ""))
        table: dict[str, Any] = {}
        for i, (name, cells) in enumerate(zip(names, zip(*rows, strict=True), strict=True)):
            values = _decode_history(cells, i)
            if len(set(map(type, values))) > 1:
                fail("history", f"values of one type in the column {name[:50]!r}", rows)
            table[name] = values if type(values[0]) is str else np.array(values)
        return table


def find_class(name: str) -> Any:
    return getattr(import_module(CLASSES[name]), name)


def _parameters(model: Any) -> dict[str, Any]:
    """The parameters; splits that were given are stored as their number, since they are positions in data.

    Not the device: whoever reads the file may have another one.
    """
    parameters: dict[str, Any] = model.get_params(deep=False)
    parameters.pop("device", None)
    if "n_bags" in parameters and not isinstance(parameters["n_bags"], Integral):
        parameters["n_bags"] = len(model.thetas_)
    return parameters


def _fitted_with(model: Any) -> dict[str, Any]:
    """The parameters that still matter after ``fit``, if they have been changed since then: as they were.

    A notion of the user's own cannot be told in a file: the loaded model measures by its parameter ``notion``.
    """
    about, changed = model._about, {}
    notion = about.settings.notion.each
    if notion != model._settings().notion and _is_known(notion):
        changed["notion"] = encode_parameter("notion", notion)
    fitted = {"c": about.settings.c, "sensitive_feature": about.sensitive_feature, **vars(about.grouping)}
    fitted["blind"] = about.blind
    for name, value in fitted.items():
        was, is_now = (encode_parameter(name, each) for each in (value, vars(model).get(name, value)))
        if was != is_now:
            changed[name] = was
    return changed


def _encode_history(column: Any) -> list[Any]:
    """A float that is no number is null, infinity is text."""
    values: list[Any] = list(column) if isinstance(column, list) else column.tolist()
    if not isinstance(column, list) and column.dtype == np.float64 and np.isfinite(column).all():
        return values
    return [None if type(value) is float and np.isnan(value) else encode_value(value, "history_") for value in values]


def _decode_history(cells: Sequence[Any], i: int) -> list[Any]:
    """Column i: where something is wrong is looked for only if something is."""
    if set(map(type, cells)) <= {float, type(None)}:
        values = np.array(cells, dtype=np.float64)  # null is NaN
        if not np.isinf(values).any():  # 1e999
            return list(values.tolist())
    found = []
    for j, cell in enumerate(cells):
        with at(f"history[{j}][{i}]"):
            found.append(np.nan if cell is None else decode_value(cell))
            if type(found[-1]) not in (bool, int, float, str):
                fail("", "a number, text or null", cell)
    return found


# Parameters


class Pairs(Record):
    """A dictionary, such as ``class_weight``."""

    pairs: Annotated[list[Annotated[list[Any], Meta(min_length=2, max_length=2)]], Meta(max_length=1000)]


def encode_parameter(name: str, value: Any) -> Any:
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
        pairs = ((key, tuple(item) if isinstance(item, (list, np.ndarray)) else item) for key, item in value.items())
        return {"pairs": [[encode_value(key, where), encode_value(item, where)] for key, item in pairs]}
    if isinstance(value, (list, tuple, np.ndarray, pd.Index, pd.Series)):
        items = value if isinstance(value, (list, tuple)) else value.tolist()
        return [encode_value(_as_tuple(item), where) for item in items]
    return encode_value(value, where)


def _as_tuple(item: Any) -> Any:
    """A set of columns, as ``interaction_cst`` has them, as a tuple, which means the same there."""
    if isinstance(item, (set, frozenset)):
        return tuple(sorted(item, key=str))  # a file does not depend on the order of a set
    return tuple(item) if isinstance(item, list) else item


def _is_known(notion: FairnessNotion) -> bool:
    """Whether a notion is one of this library's."""
    try:
        return type(get_notion(notion.name))(**vars(notion)) == notion
    except (TypeError, ValueError):
        return False


def decode_parameter(value: Any) -> Any:
    if isinstance(value, list):
        if len(value) > limits.MAX_LIST:
            fail("", f"a list of 0 to {limits.MAX_LIST} values", value)
        return decode_values(value, "")
    if isinstance(value, dict) and "pairs" in value:
        return dict(each("pairs", convert(value, Pairs).pairs, partial(decode_values, where="")))
    if isinstance(value, dict) and "notion" in value:
        one_of(value["notion"], sorted(NOTION_NAMES), "notion")
        options = {key: option for key, option in value.items() if key != "notion"}
        each_field(options, partial(convert, kind=str))
        return checked(lambda: type(get_notion(value["notion"]))(**options))
    return decode_value(value)


def checked(make: Callable[[], Any]) -> Any:
    """What a function makes of values of a file."""
    try:
        return make()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f": {str(error)[:500]}") from None  # it may show all of a long list


def make_model(cls: Any, parameters: dict[str, Any]) -> Any:
    """A model that is not fitted, of parameters that it can have."""
    if parameters.get("estimator") is not None:
        fail("estimator", "null: only native trees can be stored", parameters["estimator"])
    n_jobs: Any = parameters.get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, (int, np.integer)) and 0 < abs(int(n_jobs)) <= MAX_THREADS):
        fail("n_jobs", f"a number of threads up to {MAX_THREADS}, or null", n_jobs)
    model = cls(**parameters)
    checked(model._validate_params)
    return model


def decode_fields(given: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Parameters, or other values, under names that are known."""
    for key in given:
        if key not in known:
            fail(shown_key(key), f"no such field; known are {', '.join(sorted(known))}", given[key])
    return each_field(given, decode_parameter)
