"""JSON from anywhere, read without trust: what msgspec would let pass is refused first, and every error says where."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Self, TypeVar

import msgspec
import numpy as np

from . import limits

Found = TypeVar("Found")

LONGEST_INT = 20  # digits and sign: what 64 bits hold
CHECKSUM = re.compile(rb',\n  "sha256": "([0-9a-f]{64})"\n}\n')
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
WORDS = {
    **{"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false"},
    **{"array": "a list", "object": "an object", "null": "null"},
}
# Each part of these has a line of its own; of lists "[]" are the elements.
ONE_PER_LINE = {
    *("", "made_with", "parameters", "columns", "trees", "pairs", "history"),
    *("average", "ends", "ends[]", "tables", "spread", "dial", "spreads", "spreads[]", "covariance"),
    *("menu", "stages"),
}


class ModelFileError(ValueError):
    """A model that cannot be stored in a file, or a file that is no sound model.

    The message names the file and the place in it.

    Examples
    --------
    >>> import parityboost, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.json")
    ...     _ = path.write_text('{"format": "parityboost model", "version": 1')
    ...     try:
    ...         parityboost.load(path)
    ...     except parityboost.ModelFileError as error:
    ...         print(str(error).removeprefix(folder + "/"))
    model.json: the file ends early or was changed: its last line must hold its checksum
    """


def fail(where: str, expected: str, value: Any) -> NoReturn:
    """Say what was expected at a place, and what is there; whoever reads a larger part adds the place of the part."""
    raise ModelFileError(f"{where}: expected {expected}, got {_shown(value)}")


def inside(where: str, error: ModelFileError) -> ModelFileError:
    """The error of a part with the place of that part."""
    return ModelFileError(where + ("" if str(error).startswith(("[", ":")) else ".") + str(error))


@contextmanager
def at(where: str) -> Iterator[None]:
    try:
        yield
    except ModelFileError as error:
        raise inside(where, error) from None


def each(where: str, items: Iterable[Any], read: Callable[[Any], Found]) -> list[Found]:
    """Every element of a list read; an error says which it was."""
    found: list[Found] = []
    try:
        found.extend(map(read, items))
    except ModelFileError as error:
        raise inside(f"{where}[{len(found)}]", error) from None
    return found


def each_field(fields: dict[str, Any], read: Callable[[Any], Found]) -> dict[str, Found]:
    """Every field of an object read; an error says which it was."""
    found = {}
    for key, value in fields.items():
        with at(shown_key(key)):
            found[key] = read(value)
    return found


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)} values"
    if isinstance(value, dict):
        return "an object with the fields " + (", ".join(repr(key[:20]) for key in list(value)[:5]) or "(none)")
    return repr(value[:50] if isinstance(value, str) else value)


# Bytes to a document


def parse(data: bytes, verify: bool) -> Any:
    """The document in the bytes of a file, not too large and, unless it was edited, as it was written.

    Plain JSON: no field twice, no NaN or infinity, no number longer than 64 bits, text that UTF-8 can hold.
    """
    n_containers = data.count(b"{") + data.count(b"[")
    if (
        len(data) > limits.MAX_BYTES
        or data.count(b",") > limits.MAX_COMMAS
        or n_containers > limits.MAX_CONTAINERS  # in memory they are many times as large
    ):
        raise ModelFileError(
            f"more than {limits.MAX_BYTES} bytes, {limits.MAX_COMMAS} values or {limits.MAX_CONTAINERS} lists and "
            "objects, which no model should have"
        )
    if verify:
        check_checksum(data)
    try:
        text = data.decode("utf8")
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_int=_short_int)
        if SURROGATE.search(data):
            _check_text(found)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"not UTF-8 text: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        raise ModelFileError(f"not JSON: {error}") from None
    except RecursionError:
        raise ModelFileError("not a model: lists within lists without end") from None
    return found


def check_checksum(data: bytes) -> None:
    """Whether a file is, byte by byte, what was written; line ends may be those of Windows."""
    data = data.replace(b"\r\n", b"\n")
    end = CHECKSUM.search(data, max(len(data) - 100, 0))
    if end is None or end.end() != len(data):
        raise ModelFileError("the file ends early or was changed: its last line must hold its checksum")
    if hashlib.sha256(data[: end.start()]).hexdigest().encode() != end[1]:
        raise ModelFileError(
            "the file was changed after it was saved: it does not match its checksum. If the change is meant, "
            "load(…, verify=False) reads it, with all other checks"
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ModelFileError(f"the field {twice[:50]!r} stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ModelFileError(f"{name} is no JSON number")


def _short_int(digits: str) -> int:
    if len(digits) > LONGEST_INT:
        raise ModelFileError(f"a whole number of {len(digits)} digits, {digits[:10]}…, is too long")
    return int(digits)


def _check_text(value: Any) -> None:
    """Whether no text has half a surrogate pair, which "\\ud800" stands for in JSON."""
    if isinstance(value, str):
        try:
            value.encode("utf8")
        except UnicodeEncodeError:
            fail("", "text that can be written as UTF-8", value)
    elif isinstance(value, list):
        each("", value, _check_text)
    elif isinstance(value, dict):
        for key in value:
            _check_text(key)
        each_field(value, _check_text)


def shown_key(key: str) -> str:
    return key[:50] if key.isprintable() else repr(key[:50])


# A document to typed records and back


class Record(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    @classmethod
    def of(cls, found: Any, **given: Any) -> Self:
        """The record of what has attributes of the same names, but for those that are given."""
        names = [name for name in cls.__struct_fields__ if name not in given]
        return cls(**given, **{name: _plain(getattr(found, name)) for name in names})


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return list(map(_plain, value)) if isinstance(value, (list, tuple)) else value


def convert(value: Any, kind: type[Found]) -> Found:
    """A part of a document as a record or another type; what does not fit is named by its place in the part."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).rpartition(" - at `$")
        said, where = (said, path[:-1].removeprefix(".")) if said else (path, "")
    with suppress(LookupError):  # of a field whose name looks like a place
        for step in re.findall(r"\w+", where):
            value = value[int(step) if isinstance(value, list) else step]
    if said.startswith("Object missing"):
        fail(where, f"a field {said.split('`')[1]!r}", value)
    if said.startswith("Object contains"):
        key = said.split("`", 1)[1][:-1]
        there = value.get(key) if isinstance(value, dict) else value
        fail(f"{where}.{shown_key(key)}".removeprefix("."), "no such field", there)
    expected = said.removeprefix("Expected ").split(", got")[0]
    fail(
        where,
        re.sub(r"`(.*?)`", lambda kinds: " or ".join(map(WORDS.__getitem__, kinds[1].split(" | "))), expected),
        value,
    )


def render(record: msgspec.Struct) -> bytes:
    """The file of a record: one parameter, column, tree, pair and round per line, and a checksum at the end."""
    try:
        body = _lines(msgspec.to_builtins(record), "", "").removesuffix(b"\n}")
    except UnicodeEncodeError as error:
        shown = error.object[max(error.start - 20, 0) : error.end]
        raise ModelFileError(f"{shown!r} cannot be written as UTF-8") from None
    return body + f',\n  "sha256": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def _lines(value: Any, name: str, indent: str) -> bytes:
    if name not in ONE_PER_LINE or not value or not isinstance(value, (dict, list)):
        return msgspec.json.format(msgspec.json.encode(value), indent=0)
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [msgspec.json.encode(key) + b": " + _lines(item, key, inner) for key, item in value.items()]
        start, end = b"{\n", b"}"
    else:
        parts = [_lines(item, f"{name}[]", inner) for item in value]
        start, end = b"[\n", b"]"
    separated = f",\n{inner}".encode().join(parts)
    return start + inner.encode() + separated + f"\n{indent}".encode() + end
