"""Columns of every kind: sound ones, odd ones, and those that no model can learn from."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd

SOUND, ODD, BAD = "sound", "odd", "bad"
COLUMN_NAMES = [
    *("a", "b", "long name", "ü", "1", "x1", "cost[a, 0]", "a,b", "[red]", "\x1b[31mred", "alpha", "Z", "threshold"),
    *("'quoted'", "n" * 120, "None", "nan", "日本", "all", "missing", "constant", "total", " leading"),
]


def pick(rng, choices):
    """One of a list, as it is."""
    return choices[rng.integers(len(choices))]


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def spoilt(rng, values, value, share=0.1):
    """Objects, some of which are the value."""
    array = objects(list(values))
    at = np.append(rng.integers(len(array)), np.flatnonzero(rng.random(len(array)) < share))
    for i in at:
        array[i] = value
    return array


def with_holes(rng, values, hole):
    array = objects(list(values))
    array[rng.random(len(array)) < 0.2] = hole
    return array


def text_of(signal, prefix="v"):
    return objects([f"{prefix}{value:.0f}" for value in np.round(signal)])


def large(signal):
    """Whole numbers that no float can tell apart."""
    return [2**53 + int(value) for value in np.round(signal)]


def cut(signal):
    return pd.cut(signal, [-50, -1, 0, 1, 2, 50])


# Each has the random generator and numbers that say something about y, one per row.
SOUND_COLUMNS = {
    "float": lambda rng, s: s,
    "rounded": lambda rng, s: np.round(s, 1),
    "float32": lambda rng, s: s.astype(np.float32),
    "float16": lambda rng, s: s.astype(np.float16),
    "int": lambda rng, s: np.round(s).astype(int),
    "int8": lambda rng, s: np.round(s).astype(np.int8),
    "uint64": lambda rng, s: (np.abs(s) * 2**60).astype(np.uint64),
    "big int": lambda rng, s: np.round(s).astype(np.int64) * (2**62 // 64),
    "bool": lambda rng, s: s > 0,
    "nan": lambda rng, s: np.where(rng.random(len(s)) < 0.3, np.nan, s),
    "all nan": lambda rng, s: np.full(len(s), np.nan),
    "constant": lambda rng, s: np.ones(len(s)),
    "near infinite": lambda rng, s: np.where(s > 1, 1.7e308, s),
    "denormal": lambda rng, s: s * 5e-320,
    "wide": lambda rng, s: np.sign(s) * 10.0 ** (100 * np.abs(s) % 300),
    "signed zero": lambda rng, s: np.where(s > 0, 0.0, np.where(s > -1, -0.0, -1.0)),
    "zero-inflated": lambda rng, s: np.where(rng.random(len(s)) < 0.8, 0.0, s),
    "Float64": lambda rng, s: pd.array(with_holes(rng, s, pd.NA), dtype="Float64"),
    "Int64": lambda rng, s: pd.array(with_holes(rng, np.round(s).astype(int), pd.NA), dtype="Int64"),
    "large Int64": lambda rng, s: pd.array(with_holes(rng, large(s), pd.NA), dtype="Int64"),
    "large ints": lambda rng, s: with_holes(rng, large(s), None),
    "boolean": lambda rng, s: pd.array(with_holes(rng, s > 0, pd.NA), dtype="boolean"),
    "object numbers": lambda rng, s: with_holes(rng, np.round(s, 1), None),
    "object ints": lambda rng, s: with_holes(rng, [int(v) for v in np.round(s)], None),
    "object bools": lambda rng, s: objects([bool(v > 0) for v in s]),
    "decimal": lambda rng, s: objects([Decimal(f"{v:.2f}") for v in s]),
    "text": lambda rng, s: text_of(s),
    "text nan": lambda rng, s: with_holes(rng, text_of(s), pick(rng, [None, np.nan, pd.NA])),
    "empty text": lambda rng, s: objects(["" if v > 0 else " " for v in s]),
    "string": lambda rng, s: pd.array(with_holes(rng, text_of(s), pd.NA), dtype="string"),
    "leading spaces": lambda rng, s: text_of(s, pick(rng, [" ", "  v", "\t"])),
    "codes": lambda rng, s: objects([["1", "2", "A", "07"][int(abs(v)) % 4] for v in s]),
    "mixed codes": lambda rng, s: objects([[1, 2, "A", "07"][int(abs(v)) % 4] for v in s]),
    "many texts": lambda rng, s: text_of(s * 1000),
    "category": lambda rng, s: pd.Categorical(text_of(s)),
    "category nan": lambda rng, s: pd.Categorical(with_holes(rng, text_of(s), None)),
    "category unused": lambda rng, s: pd.Categorical(text_of(s), categories=[*sorted(set(text_of(s))), "never"]),
    "category int": lambda rng, s: pd.Categorical(np.round(s).astype(int)),
    "category float": lambda rng, s: pd.Categorical(np.round(s, 1)),
    "category bool": lambda rng, s: pd.Categorical(s > 0),
    "ordered": lambda rng, s: pd.Categorical(text_of(s), categories=sorted(set(text_of(s)))[::-1], ordered=True),
    "mixed": lambda rng, s: objects([f"v{v:.0f}" if v > 0 else int(v) for v in s]),
}
# Refused, or taken for what they are: either will do, if the message names the column.
ODD_COLUMNS = {
    "bands": lambda rng, s: cut(s),
    "category mixed": lambda rng, s: pd.Categorical(objects(["1" if v > 0 else 1 for v in s])),
    "category dates": lambda rng, s: pd.Categorical(pd.to_datetime(np.where(s > 0, "2020-01-01", "2021-01-01"))),
    "category tuples": lambda rng, s: pd.Categorical(objects([(int(v), 1) for v in s])),
    "category complex": lambda rng, s: pd.Categorical(objects([complex(int(v), 1) for v in s])),
    "category huge": lambda rng, s: pd.Categorical(objects([10**400 if v > 0 else 1 for v in s])),
    "fractions": lambda rng, s: objects([Fraction(int(v * 10), 7) for v in s]),
    "surrogate": lambda rng, s: pd.Series(objects(["\ud800" if v > 0 else "x" for v in s]), dtype=object),
    "period": lambda rng, s: pd.PeriodIndex(np.where(s > 0, "2020", "2021"), freq="Y").array,
    "bytes": lambda rng, s: objects([b"x" if v > 0 else b"y" for v in s]),
    "decimal nan": lambda rng, s: objects([Decimal("NaN") if v > 0 else Decimal(1) for v in s]),
    "big object ints": lambda rng, s: objects([2**70 + int(v) for v in s]),
    "unicode": lambda rng, s: np.asarray(text_of(s), dtype=str),
    "bool and numbers": lambda rng, s: objects([True if v > 0 else 2.5 for v in s]),
    "infinite decimal": lambda rng, s: spoilt(rng, [Decimal(1)] * len(s), Decimal("Infinity")),
}
BAD_COLUMNS = {
    "inf": lambda rng, s: np.where(np.arange(len(s)) % 2, np.inf, s),
    "minus inf": lambda rng, s: np.where(np.arange(len(s)) % 2, -np.inf, s),
    "dates": lambda rng, s: pd.Timestamp("2020-01-01") + pd.to_timedelta(np.round(s), unit="D"),
    "time zones": lambda rng, s: pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(np.round(s), unit="D"),
    "durations": lambda rng, s: pd.to_timedelta(np.round(s), unit="D"),
    "complex": lambda rng, s: s + 1j,
    "object complex": lambda rng, s: spoilt(rng, s, 1j),
    "huge ints": lambda rng, s: spoilt(rng, [int(v) for v in s], 10**400, share=0.9),
    "lists": lambda rng, s: spoilt(rng, text_of(s), [1, 2], share=0.9),
    "dicts": lambda rng, s: spoilt(rng, text_of(s), {"a": 1}, share=0.9),
    "arrays": lambda rng, s: spoilt(rng, s, np.arange(3), share=0.9),
    "sparse": lambda rng, s: pd.arrays.SparseArray(s),
    "objects": lambda rng, s: objects([object() for _ in s]),
}
COLUMNS = {SOUND: SOUND_COLUMNS, ODD: ODD_COLUMNS, BAD: BAD_COLUMNS}
NUMBER_COLUMNS = [*("float", "rounded", "int", "bool", "nan", "all nan", "constant", "near infinite", "wide"), "int8"]
