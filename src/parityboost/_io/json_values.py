"""Labels, groups and categories in JSON: text, numbers and booleans as themselves, the rest as a tagged object."""

from __future__ import annotations

import math
import re
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .strict_json import ModelFileError, Node

NUMBER_TYPES = ("bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)), "float16", "float32", "float64")
INT_RANGE = (-(2**63), 2**64 - 1)
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?([+-]\d\d:\d\d(:\d\d)?)?")
CLOSED = ("left", "right", "both", "neither")
MAX_ITEMS, MAX_DEPTH = 1000, 5  # of tuples
MAX_LABEL = 100_000  # characters that a NumPy array keeps room for, per label
WIDE_LABEL = 1000  # beyond this, labels are objects: predictions would keep so much room in every row
SAME_HASH = 256  # values: those of (-1, -1, …) and (-2, -2, …) are alike, but more are made to be slow


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


def decode_value(node: Node, depth: int = 0) -> Any:
    """The reverse of :func:`encode_value`."""
    value = node.value
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return node.text()
    if type(value) is int:
        return node.integer(*INT_RANGE)
    if type(value) is float:
        if not math.isfinite(value):  # 1e999
            node.fail("a finite number")
        return value
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        node.fail("a single value")
    if "float" in value:
        return float(node.fields(["float"])["float"].one_of(["inf", "-inf"]))
    if "tuple" in value:
        return tuple(decode_values(node.fields(["tuple"])["tuple"], MAX_ITEMS, depth=depth + 1))
    if "numpy" in value:
        fields = node.fields(["numpy", "value"])
        name = fields["numpy"].one_of([*NUMBER_TYPES, "str"])
        return _as_dtype([decode_value(fields["value"], depth + 1)], name, node)[0]
    try:
        if "timestamp" in value:
            text = node.fields(["timestamp"])["timestamp"]
            if not TIMESTAMP.fullmatch(text.text()):
                text.fail("a time such as '2022-06-30T00:00:00'")
            return pd.Timestamp(text.value)
        fields = node.fields(["interval", "closed"])
        left, right = (decode_value(item, depth + 1) for item in fields["interval"].items(2, 2))
        return pd.Interval(left, right, closed=fields["closed"].one_of(CLOSED))  # type: ignore[arg-type]
    except ModelFileError:
        raise
    except (ValueError, TypeError, OverflowError) as error:  # no such day; left end above the right one
        node.fail(f"a valid value ({error})")


def decode_values(node: Node, most: int, least: int = 0, depth: int = 0) -> list[Any]:
    """A list of values. Text and whole numbers, of which there may be millions, are checked all at once if they can."""
    values = node.values(most, least)
    kinds = set(map(type, values))
    if kinds == {str}:
        with suppress(UnicodeEncodeError):
            "".join(values).encode("utf8")
            return list(values)
    elif kinds == {int} and INT_RANGE[0] <= min(values) and max(values) <= INT_RANGE[1]:
        return list(values)
    return [decode_value(item, depth) for item in node.items(most, least)]


def decode_distinct(node: Node, most: int, least: int = 0) -> list[Any]:
    """A list of values, no two of them equal or missing."""
    values = decode_values(node, most, least)
    # A look-up goes through all that have the same hash, and numbers and tuples of them can be chosen to have one.
    if len(values) > SAME_HASH and max(Counter(map(hash, values)).values()) > SAME_HASH:
        node.fail(f"values of which no more than {SAME_HASH} have the same hash")
    seen: set[Any] = set(values)
    if len(seen) == len(values) and None not in seen:
        return values
    seen.clear()
    for i, value in enumerate(values):
        if value is None or value in seen:
            Node(node.value[i], f"{node.where}[{i}]").fail("a value that is not there yet")
        seen.add(value)
    return values


def encode_array(array: NDArray[Any], where: str) -> dict[str, Any]:
    """A one-dimensional array with its dtype."""
    if array.dtype != object and array.dtype.kind != "U" and array.dtype.name not in NUMBER_TYPES:
        raise ModelFileError(f"{where}: an array of dtype {array.dtype} cannot be stored")
    dtype = array.dtype.name
    if array.dtype.kind == "U":
        width = array.dtype.itemsize // 4
        dtype = f"str{width}" if width <= MAX_LABEL else "object"
    return {"dtype": dtype, "values": [encode_value(value, where) for value in array.tolist()]}


def decode_array(node: Node, most: int, least: int = 0) -> NDArray[Any]:
    """The reverse of :func:`encode_array`; the values are distinct."""
    fields = node.fields(["dtype", "values"])
    values = decode_distinct(fields["values"], most, least)
    dtype = fields["dtype"].text()
    if dtype == "object":
        return object_array(values)
    if re.fullmatch(r"str\d{1,6}", dtype):
        length = fields["dtype"]
        if (
            not max((len(value) for value in values if isinstance(value, str)), default=0)
            <= int(dtype[3:])
            <= MAX_LABEL
        ):
            length.fail(f"'str' and a number from the length of the longest value to {MAX_LABEL}")
        if int(dtype[3:]) > WIDE_LABEL:
            return object_array(_as_dtype(values, "str", fields["values"]).tolist())
        return _as_dtype(values, "str", fields["values"], int(dtype[3:]))
    return _as_dtype(values, fields["dtype"].one_of(NUMBER_TYPES), fields["values"])


def object_array(values: list[Any]) -> NDArray[Any]:
    """One element per value, also if the values are tuples."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _as_dtype(values: list[Any], name: str, node: Node, length: int | None = None) -> NDArray[Any]:
    """An array that holds exactly these values."""
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
    return node.fail(f"what dtype {name} can hold")


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
