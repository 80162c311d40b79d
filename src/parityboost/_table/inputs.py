"""Reading what the user hands over. Every error names the culprit and says what would be accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from .._arrays import Floats, on_card, to_host
from .._caller import warn_caller
from ..notions import FairnessNotion, Gap
from .frames import to_pandas
from .grouping import how_to_cut
from .placed import check_placed, few_values
from .sources import column_position, short
from .values import sort_key

SHOWN = 5  # groups that a message names


def read_table(X: Any) -> pd.DataFrame | NDArray[Any]:
    """X as a DataFrame or a two-dimensional array; values are looked at column by column later."""
    if sparse.issparse(X):
        raise TypeError("X is a sparse matrix, but dense data is required: use X.toarray() or a DataFrame")
    if on_card(X):
        return check_placed(X)
    X = to_pandas(X)
    if isinstance(X, pd.DataFrame):
        if len(X) == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
        if X.shape[1] == 0:
            raise ValueError(f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        for j, dtype in enumerate(X.dtypes):
            if isinstance(dtype, pd.SparseDtype):
                raise TypeError(f"column {str(X.columns[j])!r} of X is sparse: use X.sparse.to_dense()")
        return X
    if isinstance(X, list):
        X = np.asarray(X, dtype=object) if _holds_text(X) else X
    try:
        array: NDArray[Any] = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    except (TypeError, ValueError):
        _name_odd_cell(X)
        raise
    return array.astype(object) if array.dtype.kind in "US" else array


def _name_odd_cell(X: Any) -> None:
    """Raise an error about the first cell that is no single value or no real number, if there is one."""
    rows = X.tolist() if isinstance(X, np.ndarray) and X.dtype == object else X
    for i, row in enumerate(rows if isinstance(rows, (list, tuple)) else []):
        for j, value in enumerate(row if isinstance(row, (list, tuple)) else []):
            if isinstance(value, complex) or not (isinstance(value, str) or np.ndim(value) == 0):
                raise TypeError(f"column 'x{j}': a value must be a number or text, got {short(value)} in row {i}")


def _holds_text(rows: Sequence[Any]) -> bool:
    """Whether a list of rows mixes text and numbers, which NumPy would turn into text throughout."""
    return any(isinstance(value, str) for row in rows if isinstance(row, (list, tuple)) for value in row)


def read_target(y: Any, n_rows: int, classes: NDArray[Any] | None = None) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """y as 0/1 and the two classes, sorted; the second one is the positive class."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    few = few_values(y)
    if few is not None:
        check_length("y", len(y), n_rows)
        codes, found = read_target(few.distinct, len(few.distinct), classes)
        return few.spread(codes), found
    y = to_pandas(y)
    if isinstance(y, (list, tuple)) and any(isinstance(value, str) for value in y):
        y = _object_array(list(y))  # NumPy would make text of a missing label
    try:
        values = column_or_1d(y, warn=True)
    except ValueError as error:
        raise ValueError(f"y: {str(error).splitlines()[0]}") from None  # the other lines are all of y
    check_length("y", len(values), n_rows)
    values, missing = label_values(values)
    refuse_missing_labels(int(missing.sum()), n_rows)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
    found = _distinct_labels(values)
    with np.errstate(invalid="ignore"):  # scikit-learn asks whether floats are integers by making integers of them
        check_classification_targets(found)
    if classes is not None:
        unknown = [value for value in found.tolist() if value not in classes.tolist()]
        if unknown:
            raise ValueError(f"the validation labels hold {unknown[0]!r}, which is not one of {classes.tolist()}")
        found = classes
    if len(found) > 2:
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {type_of_target(found)}: y has "
            f"{len(found)} classes, {_shown(found)}"
        )
    if len(found) < 2:
        raise ValueError(f"Classifier can't train when only one class is present: all labels are {found.tolist()[0]!r}")
    return (values == found[1]).astype(np.int8), found


def label_values(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels as they are compared, and which of them are missing."""
    values = _plain_booleans(values)
    return values, pd.isna(values)


def refuse_missing_labels(n_missing: int, n_rows: int) -> None:
    if n_missing:
        raise ValueError(f"Input y contains NaN: {n_missing} of {n_rows} labels are missing")


def refuse_missing_groups(name: Any, n_missing: int, n_rows: int) -> None:
    if n_missing:
        raise ValueError(
            f"sensitive attribute {name!r} is missing in {n_missing} of {n_rows} rows: missing_group "
            "(--missing-group) names a group for them"
        )


def _plain_booleans(values: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all True or False as booleans: what a frame makes of them where it cannot tell."""
    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=False) == "boolean":
        return values.astype(bool)
    return values


def _distinct_labels(values: NDArray[Any]) -> NDArray[Any]:
    """The labels, sorted, without a sorted copy of them all."""
    try:
        found = pd.unique(values)
    except TypeError:
        first = next(value for value in values.tolist() if not isinstance(value, Hashable))
        raise TypeError(f"y: a label must be a number, text or boolean, got {short(first)}") from None
    try:
        return np.sort(found)
    except TypeError:
        kinds = {type(value).__name__: value for value in reversed(found.tolist())}
        examples = " and ".join(f"{short(value)} ({kind})" for kind, value in sorted(kinds.items()))
        raise TypeError(f"y mixes labels that cannot be sorted, such as {examples}: use labels of one type") from None


def take_rows(values: Any, rows: NDArray[Any]) -> Any:
    """Some rows of a table, column or list, or None of None."""
    if values is None:
        return None
    values = to_pandas(values)
    if isinstance(values, dict):
        values = pd.DataFrame(values)
    return _safe_indexing(values, rows)


def read_groups(
    sensitive_features: Any, n_rows: int, groups: NDArray[Any] | None = None
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The group of each row, and the groups: the sorted values of one column, or tuples of the values of several."""
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
        return codes, _object_array(names)
    position_of = {name: i for i, name in enumerate(groups.tolist())}
    unknown = [name for name in names if name not in position_of]
    if unknown:
        raise ValueError(f"group {group_name(unknown[0])!r} does not occur in the training data")
    return np.array([position_of[name] for name in names], dtype=np.intp)[codes], groups


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
        order = _sorted_order(values)
    rank = np.empty(len(values), dtype=np.min_scalar_type(len(values)))
    rank[order] = np.arange(len(values))
    return rank[codes], [values[i] for i in order]


def _object_array(values: list[Any]) -> NDArray[Any]:
    """One element per value, also if the values are tuples."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


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


def sensitive_columns(X: pd.DataFrame | NDArray[Any], names: Any) -> pd.DataFrame:
    """The columns of X that ``sensitive_feature`` names."""
    wanted = list(names) if isinstance(names, (list, tuple)) else [names]
    if not wanted:
        raise ValueError(f"sensitive_feature={names!r} names no column of X")
    positions = [column_position(X, name, "sensitive_feature") for name in wanted]
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, positions]
    dtype = object if X.dtype == object else None  # no guess at what objects are
    return pd.DataFrame({f"x{j}": to_host(X[:, j]) for j in positions}, dtype=dtype)


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
    for gap in notion.gaps:
        places: dict[str, list[str]] = {}  # from what is absent to the parts that lack it
        for where, totals in parts:
            absent = _without_rate(gap, totals, groups, labels)
            if len(groups) - len(absent) < 2:
                cut = how_to_cut(groups, names)
                raise ValueError(
                    f"{where}: {first_few(absent, '; ')}: the rate {gap.name!r} of notion {notion.name!r} cannot be "
                    f"compared between fewer than two groups{cut and f'; {cut}'}"
                )
            for what in absent:
                if where not in places.setdefault(what, []):
                    places[what].append(where)
        if places:
            together: dict[str, list[str]] = {}
            for what, wheres in places.items():
                together.setdefault(" and ".join(wheres), []).append(what)
            said = "; ".join(f"{where}: {first_few(absent, '; ')}" for where, absent in together.items())
            warn_caller(f"{said}: left out of the rate {gap.name!r}")


def _without_rate(gap: Gap, totals: Floats, groups: NDArray[Any], labels: list[str]) -> list[str]:
    """What the groups lack that have no such rate."""
    # Every instance counted as misclassified: a rate exists for exactly the groups that it has a denominator for.
    counts = np.zeros((*totals.shape, 2))
    counts[:, 0, 1], counts[:, 1, 0] = totals[:, 0], totals[:, 1]
    return [
        f"group {group_name(groups[k])!r} has no example of class "
        + " or ".join(repr(labels[y]) for y in (0, 1) if totals[k, y] == 0)
        for k in np.flatnonzero(np.isnan(gap.rate(counts)))
    ]


def first_few(texts: Sequence[str], separator: str = ", ") -> str:
    """The first of many texts, and how many there are besides."""
    more = len(texts) - SHOWN
    return separator.join(texts[:SHOWN]) + (f" and {more} other{'s' if more > 1 else ''}" if more > 0 else "")


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
    repeated = {name for name, n in Counter(names).items() if n > 1}
    return [repr(group) if name in repeated else name for group, name in zip(groups, names, strict=True)]


def cells(y: NDArray[np.int8], group: NDArray[np.intp], n_groups: int) -> NDArray[Any]:
    """The cell of each row, class * n_groups + group, in the smallest integer type that holds it."""
    if on_card(y) != on_card(group):
        y, group = to_host(y), to_host(group)
    small = np.min_scalar_type(2 * n_groups)
    cell: NDArray[Any] = y.astype(small)
    cell *= small.type(n_groups)
    cell += group.astype(small, copy=False)
    return cell


def stratified_split(
    cell: NDArray[Any], fraction: float, random_state: np.random.RandomState
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Positions of training and validation rows, each cell split in the same proportion.

    A cell with a single row stays in training; any other gives at least one row to each side.
    """
    held_out = np.zeros(len(cell), dtype=bool)
    order = np.argsort(cell, kind="stable").astype(np.int32)
    start = 0
    for size in np.bincount(cell).tolist():
        rows, start = order[start : start + size], start + size
        held_out[rows[held_out_ranks(size, fraction, random_state)]] = True
    del order
    return np.flatnonzero(~held_out).astype(np.int32), np.flatnonzero(held_out).astype(np.int32)


def held_out_ranks(size: int, fraction: float, random_state: np.random.RandomState) -> NDArray[np.int32]:
    """Which of the rows of a cell are held out, in the order in which they were drawn."""
    if size < 2:
        return np.empty(0, dtype=np.int32)
    n_held_out = min(max(round(fraction * size), 1), size - 1)
    ranks: NDArray[np.int32] = random_state.permutation(np.arange(size, dtype=np.int32))[:n_held_out]
    return ranks


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


def check_lengths(n_rows: int, **given: Any) -> None:
    """Whether everything that is given has as many rows as X."""
    for name, values in given.items():
        if values is not None:
            length = len(next(iter(values.values()))) if isinstance(values, dict) and values else len(values)
            check_length(name, length, n_rows)


def check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, {name} {length}"
        )


def _shown(values: NDArray[Any]) -> str:
    shown = ", ".join(repr(value) for value in values[:5].tolist())
    return shown + (", …" if len(values) > 5 else "")


def _sorted_order(values: list[Any]) -> list[int]:
    """Positions in the order of the values: numbers before all else, each type in its own order."""
    try:
        return sorted(range(len(values)), key=lambda i: sort_key(values[i]))
    except TypeError:  # values of a type that has no order
        return sorted(range(len(values)), key=lambda i: (sort_key(values[i])[0], str(values[i])))
