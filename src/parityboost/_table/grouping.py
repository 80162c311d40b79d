"""What makes a group of people: sensitive columns, crossed; numbers cut into bands; a group for missing values.

A group is a value of one sensitive column, or a tuple of the values of several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._arrays import Floats, on_card, to_host
from .._caller import warn_caller
from ..notions import FairnessNotion, View, Viewed
from .sources import TableLike, column_position, read_sources
from .values import check_length, few_values, listed, object_array, short, sort_key, take_rows, to_pandas

SHOWN = 5  # groups that a message names
IGNORE = "ignore"  # as missing_group: no group at all
LEAST_CROSSED = 30  # rows of either class in a crossed group that is compared beside each attribute by itself
MANY_UNKNOWN = 0.5  # share of the rows from which on little is known of a group
NO_GROUPS = object_array(["all"])  # where nothing depends on them


@dataclass(frozen=True)
class Grouping:
    """How sensitive columns become groups; the names are the estimator's parameters."""

    bands: Mapping[Any, Sequence[float]] | None = None
    missing_group: str | None = None
    groups: str = "crossed"  # or "each", "both": which groups are compared

    @property
    def has_views(self) -> bool:
        """Whether the groups that are compared may be others than those that are counted."""
        return self.groups != "crossed" or self.missing_group == IGNORE

    def __post_init__(self) -> None:
        for name, values in (self.bands or {}).items():
            read_edges(name, values)  # says so if they are none

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The sensitive columns as groups; other columns stay what they are."""
        if not self.bands and self.missing_group is None:
            return frame
        edges = {str(name): read_edges(name, values) for name, values in (self.bands or {}).items()}
        names = [str(name) for name in frame.columns]
        for name in edges:
            if name not in names:
                raise ValueError(f"bands: no sensitive column is called {name!r}, only {listed(names)}")
        columns = [frame.iloc[:, j] for j in range(frame.shape[1])]
        for j, name in enumerate(names):
            if name in edges:
                columns[j] = cut(columns[j], edges[name])
            if self.missing_group is not None:
                columns[j] = name_missing(columns[j], self.missing_group)
        result = pd.concat(columns, axis=1)
        result.columns = frame.columns
        return result


AS_GIVEN = Grouping()  # every value is a group, and none may be missing


def read_edges(name: Any, values: Any) -> list[float]:
    numbers = [values] if isinstance(values, Real) else values
    if isinstance(numbers, str) or not isinstance(numbers, (Sequence, np.ndarray)) or not len(numbers):
        raise ValueError(f"bands: column {name!r} needs a list of numbers to cut at, such as [25, 40], got {values!r}")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Real) or not np.isfinite(float(number)):
            raise ValueError(f"bands: column {name!r} must be cut at finite numbers, got {short(number)}")
    edges = [float(number) for number in numbers]
    for before, after in pairwise(edges):
        if before >= after:
            raise ValueError(
                f"bands: column {name!r} must be cut at increasing numbers, got {before:g} before {after:g}"
            )
    return edges


def cut(column: pd.Series[Any], edges: list[float]) -> pd.Series[Any]:
    """The band of each number, as ordered categories; a number at an edge is in the band above it."""
    source = read_sources(column.to_frame())[0]
    if not source.holds_numbers:
        example = column.dropna().iloc[:1].tolist()
        raise ValueError(
            f"bands: sensitive column {column.name!r} must hold numbers to be cut, got {source.kind} values"
            + (f" such as {short(example[0])}" if example else "")
        )
    values = source.floats(slice(None))
    codes = np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="right"))
    bands = pd.Categorical.from_codes(codes, categories=pd.Index(band_names(edges)), ordered=True)
    return pd.Series(bands, index=column.index, name=column.name)


def band_names(edges: list[float]) -> list[str]:
    """``under 25``, ``25 to under 40``, ``40 or more``."""
    written = [str(int(edge)) if edge == int(edge) else repr(edge) for edge in edges]
    between = [f"{low} to under {high}" for low, high in pairwise(written)]
    return [f"under {written[0]}", *between, f"{written[-1]} or more"]


def name_missing(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    """A column whose missing values are a group called ``name``, behind all others of ordered categories."""
    missing = column.isna()
    if (column[~missing].astype(object) == name).any():
        what = "which says here that a missing value is no group: rename that group" if name == IGNORE else ""
        raise ValueError(
            f"missing_group: sensitive attribute {column.name!r} has a group called {name!r} already"
            + (f", {what}" if what else ": use another name")
        )
    if not missing.any():
        return column
    if isinstance(column.dtype, pd.CategoricalDtype):
        filled = column if name in column.cat.categories else column.cat.add_categories([name])
        return filled.fillna(name)
    return column.astype(object).where(~missing, name)


@dataclass(frozen=True)
class Sensitive:
    """What an estimator was told about the sensitive attribute: where the groups of rows come from, and what for."""

    feature: Any = None  # columns of X, by name or position
    grouping: Grouping = AS_GIVEN
    needed_for: str = ""  # what depends on the groups, empty if nothing does
    estimator: str = ""  # its name, for messages

    def check(self, sensitive_features: Any) -> None:
        """Whether the groups are given, once, if they are needed."""
        if sensitive_features is not None and self.feature is not None:
            raise ValueError(
                "the sensitive attribute is given twice: as sensitive_features and with sensitive_feature="
                f"{self.feature!r} in the constructor; use one of them"
            )
        if sensitive_features is None and self.feature is None and self.needed_for:
            raise ValueError(
                f"{self.estimator} needs the sensitive attribute for {self.needed_for}: pass "
                "sensitive_features=… to fit, or name a column of X with the parameter sensitive_feature"
            )

    def check_found(self, groups: NDArray[Any]) -> None:
        known = groups if self.grouping.missing_group != IGNORE else [group for group in groups if group != IGNORE]
        if len(known) == 0 and self.needed_for:
            raise ValueError(f"the sensitive attribute is missing in all rows: it is needed for {self.needed_for}")
        if len(known) < 2 and self.needed_for:
            groups = np.asarray(known, dtype=object)
            raise ValueError(
                f"only one group in the sensitive attribute, {group_name(groups[0])!r}: two are needed for "
                f"{self.needed_for}"
            )

    def read(
        self, X: TableLike, rows: NDArray[np.int32], sensitive_features: Any, groups: NDArray[Any] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[Any], list[str]]:
        """The group of each row, the groups, and the names of the columns they come from.

        ``sensitive_features`` belongs to these rows; ``groups`` are those that may occur, if they are known.
        """
        self.check(sensitive_features)
        if self.feature is not None:
            sensitive_features = sensitive_columns(X, self.feature)
            if len(rows) < len(X):
                sensitive_features = take_rows(sensitive_features, rows)
        if sensitive_features is None:
            return np.zeros(len(rows), dtype=np.intp), NO_GROUPS.copy(), []
        few = few_values("sensitive_features", sensitive_features, len(rows)) if on_card(sensitive_features) else None
        frame = self.grouping.apply(sensitive_frame(sensitive_features if few is None else few.distinct))
        n_rows = len(rows) if few is None else len(frame)
        codes, found = read_groups(frame, n_rows, groups, self.grouping)
        self.check_found(found)
        return codes if few is None else few.spread(codes), found, [str(name) for name in frame.columns]


def sensitive_frame(sensitive_features: Any) -> pd.DataFrame:
    """The sensitive columns as a frame, with the names that messages use."""
    if isinstance(sensitive_features, str):
        given = short(sensitive_features)
        raise ValueError(
            f"sensitive_features takes the group of each row, not the name of a column, got {given}: pass X[{given}], "
            f"or name the column of X with the parameter sensitive_feature={given} (without an s at its end)"
        )
    sensitive_features = to_pandas(sensitive_features)
    if isinstance(sensitive_features, pd.DataFrame):
        frame = sensitive_features
    elif isinstance(sensitive_features, pd.Series):
        name = "sensitive_features" if sensitive_features.name is None else sensitive_features.name
        frame = sensitive_features.to_frame(name)
    elif isinstance(sensitive_features, dict):
        frame = pd.DataFrame(sensitive_features)
    else:
        # A list as objects: NumPy would make text of what stands beside text, missing values included.
        array = np.asarray(sensitive_features, dtype=object if isinstance(sensitive_features, (list, tuple)) else None)
        if array.ndim not in (1, 2):
            raise ValueError(
                "sensitive_features must have one value, or one row of values, per instance, "
                f"got {array.ndim} dimensions"
            )
        frame = pd.DataFrame(array, dtype=object if array.dtype == object else None)  # no guess at what objects are
        frame.columns = ["sensitive_features"] if frame.shape[1] == 1 else [f"s{j}" for j in range(frame.shape[1])]
    if frame.shape[1] == 0:
        raise ValueError("sensitive_features has no column")
    return frame


def named_positions(X: TableLike, names: Any) -> list[int]:
    """Where in X the columns are that ``sensitive_feature`` names."""
    wanted = list(names) if isinstance(names, (list, tuple)) else [names]
    if not wanted:
        raise ValueError(f"sensitive_feature={names!r} names no column of X")
    return [column_position(X, name, "sensitive_feature") for name in wanted]


def leave_out(X: TableLike, names: Any, n_features: int | None = None) -> TableLike:
    """X without the columns that ``sensitive_feature`` names.

    If the model is there already, and has ``n_features`` columns, X may come without them.
    """
    wanted = list(names) if isinstance(names, (list, tuple)) else [names]
    if n_features is not None:
        if X.shape[1] != n_features + len(wanted):  # none are there, or some, or it is another table
            wanted = [name for name in wanted if isinstance(X, pd.DataFrame) and name in X.columns]
        if X.shape[1] == n_features or not wanted:
            return X
    positions = named_positions(X, wanted) if wanted else []
    others = [j for j in range(X.shape[1]) if j not in positions]
    return X.iloc[:, others] if isinstance(X, pd.DataFrame) else X[:, others]


def sensitive_columns(X: TableLike, names: Any) -> pd.DataFrame:
    """The columns of X that ``sensitive_feature`` names."""
    positions = named_positions(X, names)
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, positions]
    dtype = object if X.dtype == object else None  # no guess at what objects are
    return pd.DataFrame({f"x{j}": to_host(X[:, j]) for j in positions}, dtype=dtype)


def read_groups(
    sensitive_features: Any, n_rows: int, groups: NDArray[Any] | None = None, grouping: Grouping = AS_GIVEN
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The group of each row, and the groups: the sorted values of one column, or tuples of the values of several.

    Where groups are known others are refused. Only if views of them are compared, new combinations of known values come
    behind them.
    """
    frame = sensitive_frame(sensitive_features)
    check_length("sensitive_features", len(frame), n_rows)
    codes: NDArray[Any] = np.zeros(0, dtype=np.intp)
    names: list[Any] = []
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        refuse_missing_groups(name, int(column.isna().sum()), n_rows)
        own_codes, values = _sorted_codes(column)
        if position == 0:
            codes, names = own_codes, values
        else:  # cross the groups so far with this column, and keep the combinations that occur
            codes, found = pd.factorize(codes.astype(np.int64) * len(values) + own_codes, sort=True)
            before = [group if isinstance(group, tuple) else (group,) for group in names]
            names = [(*before[code // len(values)], values[code % len(values)]) for code in found]
    if groups is None:
        return codes, object_array(names)
    position_of = {name: i for i, name in enumerate(groups.tolist())}
    unknown = [name for name in names if name not in position_of]
    if grouping.has_views and unknown:
        ignored = [IGNORE] if grouping.missing_group == IGNORE else []
        known = [{*ignored, *values} for values in zip(*map(as_tuple, groups), strict=True)]
        new = [name for name in unknown if all(v in k for v, k in zip(as_tuple(name), known, strict=True))]
        groups = object_array([*groups, *new])
        position_of |= {name: len(position_of) + i for i, name in enumerate(new)}
        unknown = [name for name in unknown if name not in position_of]
    if unknown:
        raise ValueError(f"group {group_name(unknown[0])!r} does not occur in the training data")
    return np.array([position_of[name] for name in names], dtype=np.intp)[codes], groups


def as_tuple(group: Any) -> tuple[Any, ...]:
    """The value of each attribute."""
    return group if isinstance(group, tuple) else (group,)


def make_views(
    groups: NDArray[Any], names: Sequence[str], grouping: Grouping, sizes: Callable[[], Floats], needed_for: str = ""
) -> tuple[View, ...]:
    """The views that are compared; none if these are just the groups.

    ``sizes`` gives the number of rows ``[group, class]``. Of views that are the same the first is taken: an attribute
    that repeats another adds nothing.
    """
    if not grouping.has_views:
        return ()
    cells = [as_tuple(group) for group in groups]
    each: list[tuple[int, ...]] = [(j,) for j in range(len(names))]
    crossed = tuple(range(len(names)))
    wanted = {"each": each, "both": [*each, crossed], "crossed": [crossed]}
    views: dict[Any, View] = {}
    for positions in dict.fromkeys(wanted[grouping.groups]):
        of_cells = [tuple(cell[j] for j in positions) for cell in cells]
        labels = [of for of in of_cells if grouping.missing_group != IGNORE or IGNORE not in of]
        if grouping.groups == "both" and len(positions) > 1:
            is_large = np.all(sizes() >= LEAST_CROSSED, axis=1)
            labels = [of for k, of in enumerate(of_cells) if of in labels and is_large[k]]
        elif len(positions) == 1:
            labels = _in_order(labels, (grouping.bands or {}).get(names[positions[0]]))
        place = {label: k for k, label in enumerate(dict.fromkeys(labels))}
        group_of = tuple(place.get(of, -1) for of in of_cells)
        if len(place) > 1:
            first = list(dict.fromkeys(group_of))
            known = tuple(label if len(label) > 1 else label[0] for label in place)
            view = View(" & ".join(names[j] for j in positions), positions, known, group_of)
            views.setdefault(tuple(g if g < 0 else first.index(g) for g in group_of), view)
    if not views and needed_for:
        raise ValueError(f"no sensitive attribute has two known groups, which are needed for {needed_for}")
    found = tuple(views.values())
    return () if len(found) == 1 and sorted(found[0].group_of) == list(range(len(groups))) else found


def views_of(notion: FairnessNotion, groups: NDArray[Any]) -> tuple[View, ...]:
    """The views of a notion, or the groups as the only one, without a name."""
    n = len(groups)
    n_attributes = len(as_tuple(groups[0])) if n else 0
    return notion.views or (View("", tuple(range(n_attributes)), tuple(groups.tolist()), tuple(range(n))),)


def viewed(notion: FairnessNotion, groups: NDArray[Any]) -> FairnessNotion:
    """The same views of other groups, such as occur in other rows; what is none of a view's groups is in none there.

    Without views the notion itself.
    """
    if not notion.views:
        return notion
    found = []
    for view in notion.views:
        place = {as_tuple(group): k for k, group in enumerate(view.groups)}
        of_cells = [tuple(as_tuple(group)[j] for j in view.positions) for group in groups]
        found.append(replace(view, group_of=tuple(place.get(of, -1) for of in of_cells)))
    return Viewed(notion.each, tuple(found))


def _in_order(labels: list[Any], edges: Any) -> list[Any]:
    """The values of one attribute, in tuples, in the order of its bands or sorted."""
    values = list(dict.fromkeys(label[0] for label in labels))
    if edges is not None:
        bands = band_names(read_edges("", edges))
        return [(value,) for value in sorted(values, key=lambda v: bands.index(v) if v in bands else len(bands))]
    return [(values[i],) for i in _sorted_places(values)]


def _sorted_places(values: list[Any]) -> list[int]:
    """The places of values of any kind in their order."""
    try:
        return sorted(range(len(values)), key=lambda i: sort_key(values[i]))
    except TypeError:  # values of a type that has no order
        return sorted(range(len(values)), key=lambda i: (sort_key(values[i])[0], str(values[i])))


def _sorted_codes(column: pd.Series[Any]) -> tuple[NDArray[Any], list[Any]]:
    """The values that occur, sorted, and the position of each row's value among them, in a small integer type."""
    try:
        # Objects as they are: an index of them would guess at what they are, and some integers are beyond its guesses.
        codes, uniques = pd.factorize(column.to_numpy() if column.dtype == np.dtype(object) else column)
    except TypeError:
        value = next(value for value in column.tolist() if not isinstance(value, Hashable))
        raise TypeError(
            f"sensitive attribute {column.name!r}: a group must be a number, text or boolean, got {short(value)}"
        ) from None
    values = list(np.asarray(uniques, dtype=object))
    if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered:
        position = {value: i for i, value in enumerate(column.dtype.categories)}
        order = sorted(range(len(values)), key=lambda i: position[values[i]])
    else:
        order = _sorted_places(values)
    rank = np.empty(len(values), dtype=np.min_scalar_type(len(values)))
    rank[order] = np.arange(len(values))
    return rank[codes], [values[i] for i in order]


def refuse_missing_groups(name: Any, n_missing: int, n_rows: int) -> None:
    if n_missing:
        raise ValueError(
            f"sensitive attribute {name!r} is missing in {n_missing} of {n_rows} rows: missing_group "
            "(--missing-group) names a group for them"
        )


def warn_of_order(X: Any, sensitive_features: Any) -> None:
    """Warn of groups that are in another order than the rows of X: they are matched by position, not by index."""
    if not isinstance(X, pd.DataFrame) or not isinstance(sensitive_features, (pd.Series, pd.DataFrame)):
        return
    ours, theirs = X.index, sensitive_features.index
    if len(ours) != len(theirs) or ours.equals(theirs) or not (ours.is_unique and theirs.is_unique):
        return
    if theirs.isin(ours).all():
        warn_caller(
            "the index of sensitive_features is that of X in another order: rows are matched by position, not by "
            "index. Pass sensitive_features.loc[X.index] if the index says which row is which, or .to_numpy() if not"
        )


def group_name(group: Any) -> str:
    """How a group is written in tables and messages."""
    return " & ".join(map(shown, group)) if isinstance(group, tuple) else shown(group)


def shown(value: Any) -> str:
    """A label or group as text; what no file or terminal can hold is spelt out."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def group_names(groups: Iterable[Any]) -> list[str]:
    """The same for all groups; where two would be written alike (1 and "1"), as Python writes them."""
    groups = list(groups)
    names = [group_name(group) for group in groups]
    times = Counter(names)
    return [repr(group) if times[name] > 1 else name for group, name in zip(groups, names, strict=True)]


def first_few(texts: Sequence[str], separator: str = ", ") -> str:
    """The first of many texts, and how many there are besides."""
    more = len(texts) - SHOWN
    return separator.join(texts[:SHOWN]) + (f" and {more} other{'s' if more > 1 else ''}" if more > 0 else "")


def how_to_cut(groups: Iterable[Any], names: Sequence[str]) -> str:
    """The sensitive column that holds the most different numbers, and what cuts it; empty if none holds many."""
    numbers: dict[str, int] = {}
    for j, name in enumerate(names):
        values = {group[j] if len(names) > 1 else group for group in groups}
        n = sum(isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) for value in values)
        if n > 2 and n >= len(values) - 1:  # the group of missing values has a name
            numbers[name] = n
    if not numbers:
        return ""
    name = max(numbers, key=numbers.__getitem__)
    return (
        f"sensitive attribute {name!r} has {numbers[name]} different values, each a group of its own: "
        f"bands={{{name!r}: […]}} (--bands) cuts numbers into ranges"
    )


def check_groups(
    parts: Sequence[tuple[str, Floats]],
    groups: NDArray[Any],
    labels: list[str],
    notion: FairnessNotion,
    names: Sequence[str] = (),
) -> None:
    """Warn about groups that a rate of the notion is not defined for, once per rate; at least two must remain.

    Each part of the data has a name, and ``totals[group, class]`` is the weight of each of its cells. ``names`` are
    those of the sensitive columns.
    """
    for view in notion.views:
        seen = [(where, view.sum(totals, 0)) for where, totals in parts]
        of_view = [names[j] for j in view.positions] if names else ()
        check_groups(seen, object_array(list(view.groups)), labels, notion.each, of_view)
    for gap in notion.gaps if not notion.views else ():
        places: dict[str, list[str]] = {}  # from what is absent to the parts that lack it
        for where, totals in parts:
            # Every instance counted as misclassified: a rate exists for the groups that it has a denominator for.
            counts = np.zeros((*totals.shape, 2))
            counts[:, 0, 1], counts[:, 1, 0] = totals[:, 0], totals[:, 1]
            absent = [
                f"group {group_name(groups[k])!r} has no example of class "
                + " or ".join(repr(labels[y]) for y in (0, 1) if totals[k, y] == 0)
                for k in np.flatnonzero(np.isnan(gap.rate(counts)))
            ]
            if len(groups) - len(absent) < 2:
                advice = how_to_cut(groups, names)
                raise ValueError(
                    f"{where}: {first_few(absent, '; ')}: the rate {gap.name!r} of notion {notion.name!r} cannot be "
                    f"compared between fewer than two groups{advice and f'; {advice}'}"
                )
            for what in absent:
                if where not in places.setdefault(what, []):
                    places[what].append(where)
        together: dict[str, list[str]] = {}
        for what, wheres in places.items():
            together.setdefault(" and ".join(wheres), []).append(what)
        if together:
            said = "; ".join(f"{where}: {first_few(absent, '; ')}" for where, absent in together.items())
            warn_caller(f"{said}: left out of the rate {gap.name!r}")
