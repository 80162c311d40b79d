"""The file that holds a model: how it is laid out and sealed by a checksum."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from ._strict_json import ModelFileError

ONE_PER_LINE = ("made_with", "parameters", "columns", "stumps", "history")
CHECKSUM = re.compile(rb',\n  "sha256": "([0-9a-f]{64})"\n}\n')


def render(document: dict[str, Any]) -> bytes:
    """The file: one parameter, column, stump and round per line, and a checksum at the end."""
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
