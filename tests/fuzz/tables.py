"""Tables that a careless or hostile caller might hand over, and what has to be said about them.

What is drawn is sound, odd or bad. Sound input must be accepted. Bad input must be refused, odd input may be, by a
message that names the culprit: each odd or bad part brings the words of which the message must hold one.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from .columns import (
    BAD,
    COLUMN_NAMES,
    COLUMNS,
    NUMBER_COLUMNS,
    ODD,
    SOUND,
    SOUND_COLUMNS,
    cut,
    objects,
    pick,
    spoilt,
    with_holes,
)


def chance(rng, share):
    return rng.random() < share


@dataclass
class Culprits:
    """What is wrong with the input of an attempt."""

    words: list[str] = field(default_factory=list)  # one of them has to be in a message
    must_refuse: bool = False

    def add(self, quality: str, *words: str) -> None:
        if quality != SOUND:
            self.words += words
        if quality == BAD:
            self.must_refuse = True


@dataclass
class Rows:
    """Arguments of ``fit``; everything but X may be None."""

    X: Any
    y: Any
    groups: Any
    weights: Any
    labels: np.ndarray  # 0 and 1, what y stands for
    codes: np.ndarray  # the group of each row as a number
    plain: bool  # whether all of it is sound

    def __len__(self):
        return len(self.labels)

    def at(self, rows):
        """Some of the rows."""
        parts = (take(part, rows) for part in (self.X, self.y, self.groups, self.weights))
        return Rows(*parts, self.labels[rows], self.codes[rows], self.plain)


def take(values, rows):
    """Some rows of whatever it is."""
    if values is None or np.isscalar(values):
        return values
    if isinstance(values, (pd.DataFrame, pd.Series)):
        return values.iloc[rows]
    if isinstance(values, dict):
        return {key: take(value, rows) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [values[i] for i in rows]
    return values[rows]


# --- Columns -----------------------------------------------------------------------------------------------------


def quality(rng, odd, bad):
    return pick(rng, [BAD] * bad + [ODD] * odd + [SOUND] * (100 - odd - bad))


def draw_columns(rng, signals, culprits):
    """A frame, an array or a list of rows."""
    n_columns = signals.shape[1]
    kind = pick(rng, ["frame"] * 8 + ["array", "objects", "list"])
    if kind == "array":
        columns = [SOUND_COLUMNS[pick(rng, NUMBER_COLUMNS)](rng, signals[:, j]) for j in range(n_columns)]
        array = np.column_stack(columns)
        if chance(rng, 0.05):
            array = array.astype(np.float64)
            array[::2, rng.integers(n_columns)] = np.inf  # in many rows: those without weight are none
            culprits.add(BAD, *(f"'x{j}'" for j in range(n_columns) if np.isinf(array[:, j]).any()))
        return np.asfortranarray(array) if chance(rng, 0.3) else array
    names = [str(name) for name in rng.permutation(COLUMN_NAMES)[:n_columns]] if kind == "frame" else []
    names = names or [f"x{j}" for j in range(n_columns)]
    columns = {}
    for j, name in enumerate(names):
        of = quality(rng, 5, 1)
        which = pick(rng, [name for name in COLUMNS[of] if kind == "frame" or name != "sparse"])
        columns[name] = COLUMNS[of][which](rng, signals[:, j])
        culprits.add(of if name not in ("constant", "total") else ODD, repr(name))  # which tables have of their own
    if chance(rng, 0.5):  # else pandas makes text of objects that are
        columns = {name: pd.Series(values, dtype=values.dtype) for name, values in columns.items()}
    frame = pd.DataFrame(columns)
    if kind != "frame":
        values = frame.astype(object).to_numpy()
        return values.tolist() if kind == "list" else values
    if chance(rng, 0.3):
        names = [f"row {i}" for i in range(len(frame))]
        frame.index = pick(rng, [rng.permutation(len(frame)), np.zeros(len(frame)), names])
    if chance(rng, 0.05):
        frame.columns = range(n_columns)
        culprits.words += [repr(str(j)) for j in range(n_columns)]
    return frame


# --- Targets, groups, weights ----------------------------------------------------------------------------------------

LABELS = [
    *([0, 1], [-1, 1], [1, 2], [0.0, 1.0], [False, True], ["no", "yes"], ["", "x"], ["0", "1"], [3.0, 7.0]),
    *([np.str_("a"), np.str_("b")], [2**62, 2**62 + 1], ["é", "\u2028"], ["n" * 300, "m"]),
]
Y = ("y", "label", "labels", "class", "classes")


def draw_target(rng, labels, culprits):
    """y for 0 and 1, and whether it can be indexed as an array."""
    of = quality(rng, 5, 3)
    pair = pick(rng, LABELS)
    plain = [pair[label] for label in labels]
    if of == SOUND:
        kinds = {
            "array": lambda: np.array(plain),
            "list": lambda: plain,
            "tuple": lambda: tuple(plain),
            "series": lambda: pd.Series(plain, index=rng.permutation(len(plain))),
            "category": lambda: pd.Series(pd.Categorical(plain)),
            "string": lambda: pd.Series([f"c{label}" for label in labels], dtype="string"),
            "Int64": lambda: pd.Series(labels, dtype="Int64"),
            "boolean": lambda: pd.Series(labels == 1, dtype="boolean"),
            "object bools": lambda: objects([bool(label) for label in labels]),
            "uint8": lambda: labels.astype(np.uint8),
            "column": lambda: np.array(plain)[:, None],
        }
    elif of == ODD:
        kinds = {
            "objects": lambda: objects(plain),  # scikit-learn takes objects for labels if they are text
            "fractions": lambda: np.where(labels == 1, 0.5, -0.25),
            "huge floats": lambda: np.where(labels == 1, 1e300, 1.0),
            "dates": lambda: pd.to_datetime(np.where(labels == 1, "2020-01-02", "2020-01-01")),
            "tuples": lambda: objects([(int(label), 0) for label in labels]),
            "huge": lambda: objects([10**400 if label else 0 for label in labels]),
            "bytes": lambda: np.where(labels == 1, b"p", b"n"),
            "decimals": lambda: objects([Decimal(int(label)) for label in labels]),
            "bands": lambda: cut(labels * 2.0),
            "surrogate": lambda: objects(["\ud800" if label else "n" for label in labels]),
            "mixed two": lambda: objects(["1" if label else 0 for label in labels]),
            "bool or int": lambda: objects([True if label else 0 for label in labels]),
        }
    else:
        kinds = {
            "none": lambda: None,
            "three": lambda: np.arange(len(labels)) % 3,
            "one": lambda: np.zeros(len(labels)),
            "nan": lambda: spoilt(rng, labels, np.nan),
            "missing text": lambda: spoilt(rng, np.where(labels == 1, "p", "n"), None).tolist(),
            "inf": lambda: np.where(labels == 1, np.inf, 0.0),
            "complex": lambda: labels + 1j,
            "mixed": lambda: spoilt(rng, labels, "x"),
            "lists": lambda: spoilt(rng, labels, [1]),
            "short": lambda: np.array(plain)[:-1],
            "two columns": lambda: np.column_stack([labels, labels]),
            "continuous": lambda: rng.normal(size=len(labels)),
            "table": lambda: pd.DataFrame({"p": labels, "q": labels}),
            "dict": lambda: {"y": labels},
        }
        if len(labels) < 3:
            kinds.pop("three")
    which = pick(rng, list(kinds))
    culprits.add(of, *Y, "1d", "binary")
    return kinds[which](), of == SOUND


def draw_groups(rng, codes, culprits):
    """Sensitive features for the codes 0, 1, …"""
    of = quality(rng, 6, 3)
    n_groups = codes.max() + 1
    name = pick(rng, ["sex", "ethnic group", "g\x1b[31m", 7])
    letters = objects(["a", "b", "c", *(f"g{k}" for k in range(n_groups))])[codes]
    if of == SOUND:
        kinds = {
            "letters": lambda: letters,
            "text array": lambda: letters.astype(str),
            "list": lambda: letters.tolist(),
            "numbers": lambda: codes,
            "floats": lambda: codes / 7,
            "bools": lambda: codes > 0,
            "series": lambda: pd.Series(letters, name=name, index=rng.permutation(len(codes))),
            "category": lambda: pd.Series(pd.Categorical(letters), name=name),
            "unused": lambda: pd.Series(pd.Categorical(letters, categories=[*np.unique(letters), "never"]), name=name),
            "ordered": lambda: pd.Series(pd.Categorical(letters, np.unique(letters)[::-1], ordered=True), name=name),
            "bands": lambda: pd.Series(pd.cut(codes * 10.0, 10 * np.arange(-1, n_groups) + 5.0), name=name),
            "two columns": lambda: pd.DataFrame({"p": letters, "q": codes % 2}),
            "dict": lambda: {"p": letters, "q": codes % 2},
            "two-dimensional": lambda: np.column_stack([codes, codes % 2]),
            "same words": lambda: objects(["1", 1, "1 & 1", "all"])[codes % 4],
            "ampersands": lambda: pd.DataFrame([("x & y", "z"), ("x", "y & z")], columns=["p", "q"]).iloc[codes % 2],
            "dates": lambda: pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(codes, unit="D"), name=name),
            "string": lambda: pd.Series(letters, dtype="string", name=name),
            "Int64": lambda: pd.Series(codes, dtype="Int64", name=name),
            "large": lambda: pd.Series(2**53 + codes, name=name),
            "leading spaces": lambda: objects([" a", "a", *(f"  g{k}" for k in range(n_groups))])[codes],
        }
    elif of == ODD:
        kinds = {
            "tuples": lambda: objects([(int(code), "x") for code in codes]),
            "huge": lambda: objects([10 ** (400 + int(code)) for code in codes]),
            "complex": lambda: codes + 1j,
            "mixed": lambda: objects([1, "1", 1.5, (1, 2), b"x", type])[codes % 6],
            "surrogate": lambda: objects(["\ud800", "x"])[codes % 2],
            "durations": lambda: pd.Series(pd.to_timedelta(codes, unit="D"), name=name),
            "periods": lambda: pd.Series(pd.period_range("2000", periods=n_groups, freq="Y")[codes], name=name),
            "infinite": lambda: np.where(codes > 0, np.inf, -np.inf),
            "bytes": lambda: np.where(codes > 0, b"x", b"y"),
            "decimals": lambda: objects([Decimal(int(code)) for code in codes]),
            "frozen sets": lambda: objects([frozenset([int(code)]) for code in codes]),
            "bool or int": lambda: objects([True, 0, 2])[codes % 3],
            "every row": lambda: np.arange(len(codes)),
            "one": lambda: np.full(len(codes), "a"),  # enough for AdaBoost
        }
    else:
        kinds = {
            "missing": lambda: spoilt(rng, letters, pick(rng, [None, np.nan, pd.NA, pd.NaT])),
            "lists": lambda: spoilt(rng, letters, [1, 2]),
            "dicts": lambda: spoilt(rng, letters, {}),
            "short": lambda: letters[:-1],
            "no column": lambda: pd.DataFrame(index=range(len(codes))),
            "three-dimensional": lambda: np.zeros((len(codes), 2, 2)),
            "scalar": lambda: "a",
        }
    which = pick(rng, list(kinds))
    words = ["sensitive", "sensitive_features", "group", repr(name), str(name), "'p'", "'q'", "'s0'", "'s1'"]
    culprits.add(of, *words)
    return kinds[which](), of


W = ("sample_weight", "Sample weights")


def draw_weights(rng, n_rows, culprits):
    of = quality(rng, 8, 4) if chance(rng, 0.6) else None
    if of is None:
        return None, SOUND
    uniform = rng.uniform(0.5, 2, n_rows)
    some = rng.random(n_rows) < 0.2
    if of == SOUND:
        kinds = {
            "uniform": lambda: uniform,
            "list": lambda: uniform.tolist(),
            "series": lambda: pd.Series(uniform, index=rng.permutation(n_rows)),
            "float32": lambda: uniform.astype(np.float32),
            "integers": lambda: rng.integers(1, 5, n_rows),
            "with zeros": lambda: rng.integers(0, 3, n_rows),
            "mostly zeros": lambda: (rng.random(n_rows) < 0.3) * uniform,
            "scalar": lambda: 2.5,
            "equal": lambda: np.full(n_rows, 1e300),
            "1e306": lambda: uniform * 1e306,
            "1.7e308": lambda: np.where(some, 1.7e308, 1.6e308),
            "1e-310": lambda: uniform * 1e-310,
            "5e-324": lambda: np.where(some, 1e-323, 5e-324),
            "1e17 among ones": lambda: np.where(np.arange(n_rows) == rng.integers(n_rows), 1e17, 1.0),
            "wide range": lambda: 2.0 ** rng.integers(-200, 200, n_rows),
            "booleans": lambda: ~some,
            "objects": lambda: objects(uniform.tolist()),
            "decimals": lambda: objects([Decimal(f"{w:.3f}") for w in uniform]),
            "Float64": lambda: pd.Series(uniform, dtype="Float64"),
        }
    elif of == ODD:
        kinds = {
            "tiny among ones": lambda: np.where(some, 1e-310, 1.0),
            "1e300 among ones": lambda: np.where(some, 1e300, 1.0),
            "everything": lambda: 10.0 ** rng.uniform(-320, 308, n_rows),
            "huge range": lambda: 2.0 ** rng.integers(-1074, 1023, n_rows),
            "text numbers": lambda: [f"{w:.3f}" for w in uniform],
            "category": lambda: pd.Series(pd.Categorical(np.round(uniform))),
            "column": lambda: uniform[:, None],
            "frame": lambda: pd.DataFrame({"w": uniform}),
        }
    else:
        kinds = {
            "negative": lambda: uniform - 1,
            "nan": lambda: np.where(np.arange(n_rows) == 0, np.nan, uniform),
            "inf": lambda: np.where(np.arange(n_rows) == 0, np.inf, uniform),
            "zeros": lambda: np.zeros(n_rows),
            "text": lambda: ["heavy"] * n_rows,
            "complex": lambda: uniform + 1j,
            "huge ints": lambda: objects([10**400] * n_rows),
            "short": lambda: uniform[:-1],
            "lists": lambda: objects([[1]] * n_rows),
            "missing": lambda: pd.Series(with_holes(rng, spoilt(rng, uniform, pd.NA), pd.NA), dtype="Float64"),
            "none": lambda: spoilt(rng, uniform, None),
            "dates": lambda: pd.date_range("2020-01-01", periods=n_rows),
            "dict": lambda: {"w": uniform},
            "empty": lambda: [],
        }
    which = pick(rng, list(kinds))
    weights = kinds[which]()
    if which == "negative" and (uniform >= 1).all():
        of = SOUND
    culprits.add(of, *W)
    return weights, of


# --- All together ----------------------------------------------------------------------------------------------------


def draw_rows(rng, culprits, of_groups, n_rows, n_columns, n_groups):
    """Random rows; small cells, and groups without one of the classes, happen. What is wrong goes to the culprits, what
    is wrong with the groups, which may not be needed, to those of their own.
    """
    codes = rng.integers(n_groups, size=n_rows)
    codes[: min(n_groups, n_rows)] = np.arange(min(n_groups, n_rows))
    labels = (rng.random(n_rows) < 0.3 + 0.3 * (codes % 2)).astype(int)
    labels[: min(2, n_rows)] = [0, 1][: min(2, n_rows)]
    if chance(rng, 0.7):  # every cell occurs, twice, so that none is lost to the validation part
        cells = np.tile(np.arange(2 * n_groups), 2)
        m = min(len(cells), n_rows)
        codes[:m], labels[:m] = cells[:m] % n_groups, cells[:m] // n_groups
    order = rng.permutation(n_rows)
    codes, labels = codes[order], labels[order]
    signals = rng.normal(size=(n_rows, n_columns)) + labels[:, None] * rng.uniform(0, 2, n_columns)
    X = draw_columns(rng, signals, culprits)
    y, y_plain = draw_target(rng, labels, culprits)
    groups, groups_quality = draw_groups(rng, codes, of_groups)
    weights, weights_quality = draw_weights(rng, n_rows, culprits)
    plain = y_plain and groups_quality == weights_quality == SOUND
    return Rows(X, y, groups, weights, labels, codes, plain)
