"""The file that holds a model: how it is laid out and sealed by a checksum."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from .strict_json import ModelFileError

# A file beyond these is not read: they are far above any real model, and keep what a file can ask for small. Values
# and containers are told by their commas and brackets, before they are parsed: in memory they are many times as large.
MAX_BYTES, MAX_COMMAS, MAX_CONTAINERS = 1 << 28, 10_000_000, 2_000_000
MAX_COLUMNS, MAX_STUMPS, MAX_GROUPS, MAX_HISTORY, MAX_LIST = 200_000, 100_000, 100_000, 200_000, 200_000

ONE_PER_LINE = ("made_with", "parameters", "columns", "stumps", "trees", "pairs", "history")
CHECKSUM = re.compile(rb',\n  "sha256": "([0-9a-f]{64})"\n}\n')


def check_size(data: bytes) -> None:
    """Whether a file is small enough to be parsed."""
    if len(data) > MAX_BYTES or data.count(b",") > MAX_COMMAS or data.count(b"{") + data.count(b"[") > MAX_CONTAINERS:
        raise ModelFileError(
            f"more than {MAX_BYTES} bytes, {MAX_COMMAS} values or {MAX_CONTAINERS} lists and objects, which no model "
            "should have"
        )


def render(document: dict[str, Any]) -> bytes:
    """The file: one parameter, column, learner, pair and round per line, and a checksum at the end."""
    fields = []
    for key, value in document.items():
        if key not in ONE_PER_LINE:
            text = _dumps(value)
        elif isinstance(value, dict):
            text = "{\n    " + ",\n    ".join(f"{_dumps(k)}: {_dumps(v)}" for k, v in value.items()) + "\n  }"
        else:
            text = "[\n    " + ",\n    ".join(map(_dumps, value)) + "\n  ]"
        fields.append(f"  {_dumps(key)}: {text}")
    text = "{\n" + ",\n".join(fields)
    try:
        body = text.encode("utf8")
    except UnicodeEncodeError as error:
        raise ModelFileError(f"{text[error.start - 20 : error.end]!r} cannot be written as UTF-8") from None
    return body + f',\n  "sha256": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


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
