"""Sentences and tables as text for a terminal, as Markdown and as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import pandas as pd

from .._table.values import printable
from ._text import WIDTH, markdown_text

UNDEFINED = "–"


class Section(NamedTuple):
    """A table under a heading; all of its cells are text."""

    title: str
    table: pd.DataFrame


def as_text(title: str, sections: Sequence[Section], sentences: Sequence[str]) -> str:
    """For a terminal."""
    lines = [title]
    for section in sections:
        lines += ["", section.title, section.table.to_string(index=False)]
    lines += ["", "Summary"]
    for sentence in sentences:
        lines += textwrap.wrap(sentence, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(line.rstrip() for line in lines)


def as_markdown(title: str, sections: Sequence[Section], sentences: Sequence[str]) -> str:
    """Headings, a list and tables."""
    lines = [f"# {markdown_text(title)}", "", *(f"- {markdown_text(sentence)}" for sentence in sentences)]
    for section in sections:
        names = [str(name) for name in section.table]
        lines += ["", f"## {markdown_text(section.title)}", ""]
        lines += [_row(names), "| --- |" + " ---: |" * (len(names) - 1)]
        lines += [_row(row) for row in section.table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


def as_html(title: str, sections: Sequence[Section], sentences: Sequence[str]) -> str:
    """For a notebook: no scripts, no style but what the notebook has."""
    items = "".join(f"<li>{_shown(sentence)}</li>" for sentence in sentences)
    parts = [f"<div><p><strong>{_shown(title)}</strong></p><ul>{items}</ul>"]
    for section in sections:
        head = "".join(f"<th>{_shown(str(name))}</th>" for name in section.table)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_shown(cell)}</td>" for cell in row) + "</tr>"
            for row in section.table.itertuples(index=False)
        )
        parts.append(
            f"<h4>{_shown(section.title)}</h4><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )
    return "\n".join([*parts, "</div>"])


def interval(value: float, lower: float, upper: float) -> str:
    """A value with its limits in brackets."""
    return UNDEFINED if pd.isna(value) else f"{value:.3f} [{lower:.3f}, {upper:.3f}]"


def share(value: float) -> str:
    return UNDEFINED if pd.isna(value) else f"{100 * value:.1f} %"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown_text(str(cell)) for cell in cells) + " |"


def _shown(text: str) -> str:
    return escape(printable(str(text)))
