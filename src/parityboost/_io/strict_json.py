"""JSON from anywhere, read without trust: every value is asked for by its type and range, every error says where."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

LONGEST_INT = 20  # digits and sign: what 64 bits hold


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


@dataclass(frozen=True)
class Node:
    """A value of the document, and where it stands."""

    value: Any
    where: str = ""

    def fail(self, expected: str) -> NoReturn:
        raise ModelFileError(f"{self.where or 'the document'}: expected {expected}, got {_shown(self.value)}")

    def fields(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Node]:
        """The fields of an object; none may be missing, and none may be there that is not known."""
        required, known = list(required), {*required, *optional}
        found = self.mapping()
        absent = [key for key in required if key not in found]
        if absent:
            self.fail(f"a field {absent[0]!r}")
        unknown = [key for key in found if key not in known]
        if unknown:
            found[unknown[0]].fail(f"no such field; known are {', '.join(sorted(known))}")
        return found

    def mapping(self) -> dict[str, Node]:
        """The fields of an object, whatever they are called."""
        if not isinstance(self.value, dict):
            self.fail("an object")
        prefix = f"{self.where}." if self.where else ""
        return {key: Node(value, prefix + _shown_key(key)) for key, value in self.value.items()}

    def items(self, most: int, least: int = 0) -> list[Node]:
        """The elements of a list."""
        return [Node(value, f"{self.where}[{i}]") for i, value in enumerate(self.values(most, least))]

    def values(self, most: int, least: int = 0) -> list[Any]:
        """The elements of a list as they are, if there are too many for a node each."""
        if not isinstance(self.value, list) or not least <= len(self.value) <= most:
            self.fail(f"a list of {least} to {most} values" if least < most else f"a list of {most} values")
        return self.value

    def integer(self, low: int, high: int) -> int:
        if type(self.value) is not int or not low <= self.value <= high:  # True is no number here
            self.fail(f"a whole number from {low} to {high}")
        return self.value

    def number(self, low: float, high: float) -> float:
        if type(self.value) not in (int, float) or not low <= self.value <= high:
            self.fail(f"a number from {low:g} to {high:g}")
        return float(self.value)

    def numbers(self, most: int, least: int = 0, limit: float = np.inf) -> NDArray[np.float64]:
        """A list of finite numbers, none of them beyond ``limit``."""
        values = self.values(most, least)
        for i, value in enumerate(values):
            if type(value) not in (int, float) or not (abs(value) < np.inf and abs(value) <= limit):
                bounds = "a finite number" if limit == np.inf else f"a number from {-limit:g} to {limit:g}"
                Node(value, f"{self.where}[{i}]").fail(bounds)
        return np.array(values, dtype=np.float64)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail("text")
        try:
            self.value.encode("utf8")
        except UnicodeEncodeError:  # half a surrogate pair, which "\\ud800" stands for in JSON
            self.fail("text that can be written as UTF-8")
        return self.value

    def one_of(self, choices: Iterable[str]) -> str:
        choices = list(choices)
        if not isinstance(self.value, str) or self.value not in choices:
            self.fail(f"one of {', '.join(map(repr, choices))}")
        return self.value


def parse(data: bytes) -> Node:
    """The document in some bytes: plain JSON, no field twice, no NaN or infinity, no number longer than 64 bits."""
    try:
        text = data.decode("utf8")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_int=_short_int)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"not UTF-8 text: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        raise ModelFileError(f"not JSON: {error}") from None
    except RecursionError:
        raise ModelFileError("not a model: lists within lists without end") from None
    return Node(value)


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


def _shown_key(key: str) -> str:
    return key[:50] if key.isprintable() else repr(key[:50])


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)} values"
    if isinstance(value, dict):
        return "an object with the fields " + (", ".join(repr(key[:20]) for key in list(value)[:5]) or "(none)")
    return repr(value[:50] if isinstance(value, str) else value)
