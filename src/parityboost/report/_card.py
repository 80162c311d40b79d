"""The model card: what only its owner knows, from a file, and what the report fills in by itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

Row = dict[str, Any]

FIELDS = {
    "purpose": "Purpose",
    "owner": "Owner",
    "positive": "What the positive label means",
    "intended_use": "Intended use",
    "out_of_scope": "Out of scope",
    "sign_off": "Signed off",
    "next_audit": "Next audit",
    "license": "Licence",
}


def read_about(about: Any) -> dict[str, list[str]] | None:
    """The fields of a card, each as a list of texts; ``about`` is a mapping or the path of a TOML file."""
    if about is None:
        return None
    where = "about"
    if not isinstance(about, Mapping):
        import tomllib  # which takes a tenth of a second

        where = str(about)
        try:
            about = tomllib.loads(Path(about).read_text(encoding="utf8"))
        except UnicodeDecodeError as error:
            raise ValueError(f"{where} must be a TOML file in UTF-8: {error}") from None
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f'{where} must be a TOML file, lines such as purpose = "…": {error}') from None
    unknown = [name for name in about if name not in FIELDS]
    if unknown:
        raise ValueError(f"{where} has the field {str(unknown[0])!r}; known are {', '.join(FIELDS)}")
    return {name: _texts(where, name, about[name]) for name in FIELDS if name in about}


def _texts(where: str, name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) and value else [value]
    texts = [
        value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value for value in values
    ]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{where}: {name} must be text, a list of texts or a date, got {text!r}")
    return [text.strip() for text in texts]


def describe_file(path: Any) -> Row | None:
    """A model file by its name and checksum; a pipe or a device has none, and reading it might never end."""
    if path is None or not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        return {"name": Path(path).name, "sha256": file_digest(file, "sha256").hexdigest()}


def facts(report: Row) -> list[tuple[str, str]]:
    """What the report knows by itself."""
    card, data, model = report["card"], report["data"], report["model"]
    found = []
    if model is not None:
        found.append(("Model", f"{model['name']} ({model['class']} of parityboost)"))
    if card["file"] is not None:
        found.append(("Model file", f"{card['file']['name']}, SHA-256 {card['file']['sha256']}"))
    if card["training_rows"] is not None:
        found.append(("Trained on", f"{card['training_rows']:,} rows"))
    found.append(("Checked on", f"{data['n']:,} rows"))
    found.append(("Report made", report["created"]))
    found.append(("With", ", ".join(f"{name} {version}" for name, version in report["versions"].items())))
    return found


def fields(report: Row) -> list[tuple[str, list[str]]]:
    """What the owner says; what a card leaves out is shown as such."""
    about = report["card"]["about"]
    if about is None:
        return []
    return [(title, about.get(name, [])) for name, title in FIELDS.items() if name in about or name != "license"]
