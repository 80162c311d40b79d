"""The model card: what only its owner knows, what the report fills in, and all of it in Markdown for Hugging Face."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

from .._docs import documented
from ..audit._text import Row, markdown_table, markdown_text
from . import _tables, _words
from ._tables import Table
from ._words import ALTERNATIVES

# What YAML asks to be escaped, and its line breaks.
NOT_YAML = re.compile(r"[^ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
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
    if model is not None and model["aim"] is not None:
        found.append(("Chosen for", model["aim"]["said"]))
    if card["file"] is not None:
        found.append(("Model file", f"{card['file']['name']}, SHA-256 {card['file']['sha256']}"))
    if card["training_rows"] is not None:
        found.append(("Trained on", f"{card['training_rows']:,} rows"))
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    return [*found, ("Checked on", f"{data['n']:,} rows"), ("Report made", report["created"]), ("With", versions)]


def fields(report: Row) -> list[tuple[str, list[str]]]:
    """What the owner says; what a card leaves out is shown as such."""
    about = report["card"]["about"]
    if about is None:
        return []
    return [(title, about.get(name, [])) for name, title in FIELDS.items() if name in about or name != "license"]


@documented()
def to_markdown(report: dict[str, Any]) -> str:
    """The report as a model card: Markdown with the metadata header that Hugging Face reads.

    Examples
    --------
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit([0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=list("aabb") * 100)
    >>> card = report.to_markdown(
    ...     report.build_audit(found, title="Mine", about={"purpose": "To show a card."})
    ... )
    >>> print(card.split("---")[2].strip().splitlines()[0])
    # Mine
    """
    summary, about = report["summary"], fields(report)
    lines = [*_header(report), "", f"# {markdown_text(report['title'])}", ""]
    for headline in filter(None, (summary["degenerate"], " ".join(summary["no_gain"]))):
        lines += [f"**{markdown_text(headline)}**", ""]
    for sentences in summary["people"].values():
        lines += [f"- {markdown_text(sentence)}" for sentence in sentences]
    lines += ["", *(markdown_text(sentence) for sentence in summary["sentences"])]
    if report["warnings"]:
        lines += ["", "## Warnings", "", *(f"- {markdown_text(item['text'])}" for item in report["warnings"])]
    if report["certificate"]:
        lines += ["", "## Certificate", ""]
        lines += [f"- {name}: {markdown_text(text)}" for name, text in report["certificate"].items()]
        lines.append(f"- Read on: {report['created']}")
    if about:
        lines += ["", "## About the model", ""]
        for name, texts in about:
            lines += [f"**{name}:** {'; '.join(map(markdown_text, texts)) or 'not given'}", ""]
    lines += ["", "## Facts", "", *(f"- {name}: {markdown_text(text)}" for name, text in facts(report))]
    strip = [f"{tile['name']}: {tile['value']}. {tile['remark']}" for tile in summary["strip"]]
    lines += [f"- {markdown_text(sentence)}" for sentence in strip]
    lines += ["", "## Results", *_table(_tables.overall(report))]
    for attribute in report["data"]["attributes"]:
        lines += [*_table(_tables.groups(report, attribute)), *_table(_tables.measures(report, attribute))]
    if report["comparison"]:
        lines += ["", f"## Compared with {markdown_text(report['comparison']['baseline'])}"]
        for attribute in (None, *report["data"]["attributes"]):
            lines += _table(_tables.comparison(report, attribute))
    if report["alternatives"]:
        lines += ["", "## Record of alternatives", "", markdown_text(f"{ALTERNATIVES} {_words.taken(report)}")]
        lines += _table(_tables.alternatives(report))
    for title, key in (("What you can conclude", "conclude"), ("What you should not conclude", "not_conclude")):
        lines += ["", f"## {title}", "", *(f"- {markdown_text(item)}" for item in summary[key])]
    text = "\n".join(lines)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _header(report: Row) -> list[str]:
    """Hugging Face's metadata: JSON's texts and numbers are YAML's as well."""
    about = report["card"]["about"] or {}
    lines = ["---", "library_name: parityboost", "pipeline_tag: tabular-classification"]
    if "license" in about:
        lines.append(f"license: {_yaml(about['license'][0])}")
    lines += ["tags:", "- tabular-classification", "- fairness", "metrics:", "- accuracy"]
    overall = _words.overall_rows(report)
    found = [(name, _tables.TITLES[name], overall[name]["value"]) for name in _words.PERFORMANCE]
    for attribute in _words.columns(report):
        row = _words.measure_row(report, attribute, _words.target_measure(report))
        found.append((row["measure"], f"{_tables.TITLES[row['measure']]}, {attribute}", row["value"]))
    lines += ["model-index:", f"- name: {_yaml(report['title'])}", "  results:"]
    lines += ["  - task:", "      type: tabular-classification", "    dataset:"]
    lines += [f"      name: {_yaml(report['data']['target'] or 'rows that were checked')}", "      type: tabular"]
    lines.append("    metrics:")
    for name, title, value in found:
        if value is not None:
            lines += [f"    - type: {name}", f"      name: {_yaml(title)}", f"      value: {round(value, 4)}"]
    return [*lines, "---"]


def _yaml(text: str) -> str:
    """Quoted as in JSON. YAML allows fewer characters unescaped, and reads escaped pairs of surrogates as two."""
    return NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _table(table: Table) -> list[str]:
    rows = [[cell.replace(_tables.DASH, "–") for cell in row] for row in table.rows]  # no line ends in a cell
    return ["", f"**{markdown_text(table.caption)}**", "", *markdown_table(table.header, rows, table.text)]
