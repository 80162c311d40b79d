"""The report as a model card in Markdown, with the metadata header that Hugging Face reads."""

from __future__ import annotations

import json
import re
from typing import Any

from ..audit._text import markdown_text
from . import _card, _tables, _words
from ._tables import Row, Table

# What YAML asks to be escaped, and its line breaks.
NOT_YAML = re.compile(r"[^ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
MEASURED = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy"}


def to_markdown(report: dict[str, Any]) -> str:
    """The report as a model card: Markdown with the metadata header that Hugging Face reads.

    Parameters
    ----------
    report : dict
        What :func:`build` or :func:`build_audit` returns.

    Examples
    --------
    >>> from parityboost import report
    >>> from parityboost.audit import audit
    >>> found = audit(
    ...     [0, 1] * 200, [0, 1, 0, 0] * 100, sensitive_features=["a", "a", "b", "b"] * 100
    ... )
    >>> card = report.to_markdown(
    ...     report.build_audit(found, title="Mine", about={"purpose": "To show a card."})
    ... )
    >>> print(card.split("---")[2].strip().splitlines()[0])
    # Mine
    """
    summary, about = report["summary"], _card.fields(report)
    lines = [*_header(report), "", f"# {markdown_text(report['title'])}", ""]
    for headline in filter(None, (summary["degenerate"], " ".join(summary["no_gain"]))):
        lines += [f"**{markdown_text(headline)}**", ""]
    for sentences in summary["people"].values():
        lines += [f"- {markdown_text(sentence)}" for sentence in sentences]
    lines += ["", *(markdown_text(sentence) for sentence in summary["sentences"])]
    if report["warnings"]:
        lines += ["", "## Warnings", "", *(f"- {markdown_text(item['text'])}" for item in report["warnings"])]
    if about:
        lines += ["", "## About the model", ""]
        for name, texts in about:
            lines += [f"**{name}:** {'; '.join(map(markdown_text, texts)) or 'not given'}", ""]
    lines += ["", "## Facts", "", *(f"- {name}: {markdown_text(text)}" for name, text in _card.facts(report))]
    strip = [f"{tile['name']}: {tile['value']}. {tile['remark']}" for tile in summary["strip"]]
    lines += [f"- {markdown_text(sentence)}" for sentence in strip]
    lines += ["", "## Results", "", *_table(_tables.overall(report))]
    for attribute in report["data"]["attributes"]:
        lines += ["", *_table(_tables.groups(report, attribute))]
        lines += ["", *_table(_tables.measures(report, attribute))]
    if report["comparison"]:
        lines += ["", f"## Compared with {markdown_text(report['comparison']['baseline'])}"]
        for attribute in (None, *report["data"]["attributes"]):
            lines += ["", *_table(_tables.comparison(report, attribute))]
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
    overall = {row["measure"]: row for row in report["audit"]["overall"]}
    found = [(name, title, overall[name]["value"]) for name, title in MEASURED.items()]
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
    header = "| " + " | ".join(map(markdown_text, table.header)) + " |"
    rule = "| " + " | ".join("---" if j < table.text else "---:" for j in range(len(table.header))) + " |"
    rows = ["| " + " | ".join(map(markdown_text, row)) + " |" for row in table.rows]
    return [f"**{markdown_text(table.caption)}**", "", header, rule, *rows]
