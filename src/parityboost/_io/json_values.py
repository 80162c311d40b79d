"""Labels, groups and categories in JSON: text, numbers and booleans as themselves, the rest as a tagged object."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Any

import numpy as np
import pandas as pd
from msgspec import Meta
from numpy.typing import NDArray

from .._table.values import object_array
from .strict_json import ModelFileError, Record, at, convert, each, fail

NUMBER_TYPES = ("bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)), "float16", "float32", "float64")
INT_RANGE = (-(2**63), 2**64 - 1)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?([+-]\d\d:\d\d(:\d\d)?)?")
CLOSED = ("left", "right", "both", "neither")
MAX_ITEMS, MAX_DEPTH = 1000, 5  # of tuples
MAX_LABEL = 100_000  # characters that a NumPy array keeps room for, per label
WIDE_LABEL = 1000  # beyond this, labels are objects: predictions would keep so much room in every row
SAME_HASH = 256  # values: those of (-1, -1, …) and (-2, -2, …) are alike, but more are made to be slow


class Infinite(Record):
    float: str


class Several(Record):
    tuple: Annotated[list[Any], Meta(max_length=MAX_ITEMS)]


class OfNumpy(Record):
    numpy: str
    value: Any


class Time(Record):
    timestamp: str


class Between(Record):
    interval: Annotated[list[Any], Meta(min_length=2, max_length=2)]
    closed: str


def encode_value(value: Any, where: str) -> Any:
    """A value as JSON; ``where`` is how an error names it. Hashable values only."""
    if isinstance(value, np.generic):
        name = "str" if isinstance(value, np.str_) else value.dtype.name
        if name == "str" or name in NUMBER_TYPES:
            return {"numpy": name, "value": encode_value(value.item(), where)}
    elif value is None or type(value) in (bool, str):
        return value
    elif type(value) is int:
        if INT_RANGE[0] <= value <= INT_RANGE[1]:
            return value
    elif type(value) is float:
        if math.isfinite(value):
            return value
        if math.isinf(value):
            return {"float": repr(value)}
    elif type(value) is tuple:
        return {"tuple": [encode_value(part, where) for part in value]}
    elif isinstance(value, pd.Timestamp):
        return {"timestamp": value.isoformat()}
    elif isinstance(value, pd.Interval):
        return {"interval": [encode_value(end, where) for end in (value.left, value.right)], "closed": value.closed}
    huge = type(value) is int and value.bit_length() > 256
    shown = f"a whole number of {value.bit_length()} bits," if huge else repr(value)[:200]
    raise ModelFileError(
        f"{where}: {shown} of type {type(value).__name__} cannot be stored; text, booleans, 64-bit integers, floats, "
        "timestamps, intervals and tuples of these can"
    )


def decode_value(value: Any, depth: int = 0) -> Any:
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return whole(value, *INT_RANGE)
    if type(value) is float:
        if not math.isfinite(value):  # 1e999
            fail("", "a finite number", value)
        return value
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        fail("", "a single value", value)
    if "float" in value:
        return float(one_of(convert(value, Infinite).float, ("inf", "-inf"), "float"))
    if "tuple" in value:
        return tuple(decode_values(convert(value, Several).tuple, "tuple", depth + 1))
    if "numpy" in value:
        found = convert(value, OfNumpy)
        with at("value"):
            inner = decode_value(found.value, depth + 1)
        return _as_dtype([inner], one_of(found.numpy, (*NUMBER_TYPES, "str"), "numpy"), value)[0]
    make: Callable[[], Any]
    if "timestamp" in value:
        text = convert(value, Time).timestamp
        if not TIME.fullmatch(text):
            fail("timestamp", "a time such as '2022-06-30T00:00:00'", text)
        make = partial(pd.Timestamp, text)
    else:
        between = convert(value, Between)
        one_of(between.closed, CLOSED, "closed")
        left, right = decode_values(between.interval, "interval", depth + 1)
        make = partial(pd.Interval, left, right, between.closed)  # type: ignore[arg-type]
    try:
        return make()
    except (ValueError, TypeError, OverflowError) as error:  # no such day; left end above the right one
        fail("", f"a valid value ({error})", value)


def whole(value: int, low: int, high: int, where: str = "") -> int:
    if not low <= value <= high:
        fail(where, f"a whole number from {low} to {high}", value)
    return value


def one_of(value: Any, choices: Collection[str], where: str) -> str:
    if not isinstance(value, str) or value not in choices:
        fail(where, f"one of {', '.join(map(repr, choices))}", value)
    return value


def decode_values(values: list[Any], where: str, depth: int = 0) -> list[Any]:
    """A list of values. Text and whole numbers, of which there may be millions, are checked all at once."""
    kinds = set(map(type, values))
    if kinds == {str} or (kinds == {int} and INT_RANGE[0] <= min(values) and max(values) <= INT_RANGE[1]):
        return values
    return each(where, values, partial(decode_value, depth=depth))


def decode_distinct(given: list[Any], where: str) -> list[Any]:
    """A list of values, no two of them equal or missing."""
    values = decode_values(given, where)
    # A look-up goes through all that have the same hash, and numbers and tuples of them can be chosen to have one.
    if len(values) > SAME_HASH and max(Counter(map(hash, values)).values()) > SAME_HASH:
        fail(where, f"values of which no more than {SAME_HASH} have the same hash", given)
    seen: set[Any] = set(values)
    if len(seen) == len(values) and None not in seen:
        return values
    seen.clear()
    for i, value in enumerate(values):
        if value is None or value in seen:
            fail(f"{where}[{i}]", "a value that is not there yet", given[i])
        seen.add(value)
    return values


class Labels(Record):
    """A one-dimensional array of two different values, with its dtype."""

    dtype: str
    values: Annotated[list[Any], Meta(min_length=2, max_length=2)]

    @classmethod
    def of_array(cls, array: NDArray[Any], where: str) -> Labels:
        if array.dtype != object and array.dtype.kind != "U" and array.dtype.name not in NUMBER_TYPES:
            raise ModelFileError(f"{where}: an array of dtype {array.dtype} cannot be stored")
        dtype = array.dtype.name
        if array.dtype.kind == "U":
            width = array.dtype.itemsize // 4
            dtype = f"str{width}" if width <= MAX_LABEL else "object"
        return cls(dtype, [encode_value(value, where) for value in array.tolist()])

    def read(self) -> NDArray[Any]:
        values = decode_distinct(self.values, "values")
        width = int(self.dtype[3:]) if re.fullmatch(r"str\d{1,6}", self.dtype) else None
        if self.dtype == "object":
            return object_array(values)
        if width is None:
            one_of(self.dtype, NUMBER_TYPES, "dtype")
        elif not max((len(value) for value in values if isinstance(value, str)), default=0) <= width <= MAX_LABEL:
            fail("dtype", f"'str' and a number from the length of the longest value to {MAX_LABEL}", self.dtype)
        wide = width is not None and width > WIDE_LABEL
        with at("values"):
            array = _as_dtype(values, self.dtype if width is None else "str", self.values, None if wide else width)
        return object_array(array.tolist()) if wide else array


def _as_dtype(values: list[Any], name: str, given: Any, length: int | None = None) -> NDArray[Any]:
    """An array that holds exactly these values; ``given`` is what the file has."""
    kinds = {"b": (bool,), "s": (str,), "i": (int,), "u": (int,), "f": (float, int)}[name[0]]
    dtype = np.dtype(f"<U{length}" if length else "U" if name == "str" else name)
    fits = all(type(value) in kinds for value in values)
    if fits and dtype.kind in "iu":  # before numpy 2, too large an integer is a warning
        fits = all(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max for value in values)
    if fits:
        with np.errstate(over="ignore"):
            try:
                array = np.array(values, dtype=dtype)
                if array.tolist() == values:
                    return array
            except OverflowError:
                pass
    return fail("", f"what dtype {name} can hold", given)


def to_plain(value: Any) -> Any:
    """As JSON knows it: no NumPy, no NaN."""
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
