"""An audit as sentences, as text for a terminal, as Markdown and as HTML, all from the dict that ``to_dict`` makes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from .._table.values import printable

Row = dict[str, Any]

WIDTH = 80  # of the terminal
UNDEFINED = "–"
NO_BREAK = "\u00a0"  # a space at which no line ends; printed as an ordinary one
OVERALL = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "balanced_error_rate": "balanced error rate",
    "auc": "AUC",
    "tpr": "true positive rate",
    "tnr": "true negative rate",
    "precision": "precision",
    "base_rate": "base rate (share of positives)",
    "selection_rate": "predicted positive",
}
# TNR and FNR are one minus FPR and TPR: they are in the data frame only.
RATES = {
    "base_rate": "base rate",
    "selection_rate": "predicted positive",
    "accuracy": "accuracy",
    "tpr": "TPR",
    "fpr": "FPR",
    "precision": "precision",
}
RATE_NAMES = RATES | {"fnr": "FNR"}
MEASURES = {
    "statistical_parity": "statistical parity",
    "equal_opportunity": "equal opportunity",
    "predictive_equality": "predictive equality",
    "disparate_mistreatment": "disparate mistreatment (sum)",
    "equalized_odds_difference": "equalized odds (larger gap)",
    "accuracy_difference": "accuracy",
    "precision_difference": "precision",
}
# What a difference means: of the group with the lower or the higher rate, compared with the other.
FINDINGS = {
    "statistical_parity": ("lowest", "{0} is predicted positive {points} points less often than {1}"),
    "equal_opportunity": ("lowest", "of the true positives, {0} is found {points} points less often than {1}"),
    "predictive_equality": (
        "highest",
        "of the true negatives, {0} is wrongly predicted positive {points} points more often than {1}",
    ),
    "accuracy_difference": ("lowest", "predictions are right {points} points less often for {0} than for {1}"),
    "precision_difference": (
        "lowest",
        "a positive prediction is right {points} points less often for {0} than for {1}",
    ),
}
# What it is a difference in.
SUBJECTS = {
    "statistical_parity": "positive predictions",
    "equal_opportunity": "people found",
    "predictive_equality": "false alarms",
    "accuracy_difference": "accuracy",
    "precision_difference": "precision",
}


# What Markdown takes for markup inside a line. An underscore between letters is none, nor are brackets by themselves.
INLINE = re.compile(r"[\\`*|#~$]|(?<![^\W_])_|_(?![^\W_])|^\[|\](?=[(\[:])")
# And at the start of one: lists, quotes, rules and underlines of headings.
BLOCK_START = re.compile(r"^(\d*)([-+.)](?=\s|$)|[>=]|-(?=-))")
ALL_STRATA = "all, standardised"  # in a row about people alike in the control columns
ANSWERS = ("true", "false", "yes", "no", "y", "n")  # groups that are called so say nothing by themselves


class Section(NamedTuple):
    """A heading, a table whose first column is text, and remarks below it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    remarks: Sequence[str] = ()


def summary(report: Row) -> list[str]:
    """The findings, and what they do not say."""
    settings, overall = report["settings"], {row["measure"]: row for row in report["overall"]}
    percent = f"{100 * settings['confidence']:g} %"
    level = f"{percent} interval"
    accuracy = overall["accuracy"]
    sentences = [
        f"Of {settings['n']:,} rows {_percent(overall['base_rate']['value'])} are positive (label "
        f"{settings['positive_label']!r}) and {_percent(overall['selection_rate']['value'])} are predicted positive; "
        f"{_percent(accuracy['value'])} of the predictions are right ({level} {_percent(accuracy['lower'])} to "
        f"{_percent(accuracy['upper'])})."
    ]
    for row in report["measures"]:
        if row["measure"] in FINDINGS:
            sentences.append(finding(row, report["groups"], level, settings))
    for attribute, n in settings.get("unknown", {}).items():
        worst = next(row for row in of(report["measures"], attribute) if row["measure"] == "statistical_parity")[
            "worst"
        ]
        sentences.append(
            f"{attribute}: unknown for {n:,} of {settings['n']:,} rows ({_percent(n / settings['n'])}), which count in "
            f"no rate of a group; if all of them were of one group, positive predictions could be {_points(worst)} "
            "points apart."
        )
    for row in report.get("conditional") or []:
        if row["stratum"] == ALL_STRATA:
            sentences.append(_conditional(row, level, settings))
    if "auc" in overall and overall["auc"]["value"] is not None and overall["auc"]["upper"] < 0.5:
        sentences.append("The scores rank negatives above positives: are they those of the positive class?")
    if favours(settings) is None:
        sentences.append(
            "Which label is favourable to the person was not stated: ratios are given of both, and the four-fifths "
            "rule is about the favourable one."
        )
    small = [in_a_sentence(row["attribute"], row["group"]) for row in report["groups"] if row["note"]]
    if small:
        sentences.append(f"There is too little data to judge some rates of {', '.join(small)}: see their notes.")
    sentences.append(
        f"The intervals allow for chance in which rows were drawn, each by itself at {percent}: of many, a "
        "few miss. They do not allow for wrong or biased labels or for people missing from the data, and a difference "
        "by itself does not say whether it is justified."
    )
    return sentences


def _conditional(row: Row, level: str, settings: Row) -> str:
    """What is left of a difference among people who are alike in the control columns."""
    subject = f"{row['attribute']}: {SUBJECTS[row['measure']]}, of people alike in {' & '.join(settings['control'])}"
    note = f" ({row['note']})" if row["note"] else ""
    if row["value"] is None:
        return f"{subject}, cannot be compared{note}."
    return (
        f"{subject}, are {_points(row['value'])} points apart ({level} {_points(row['lower'])} to "
        f"{_points(row['upper'])}){note}."
    )


def favours(settings: Row) -> bool | None:
    """Whether the positive label is favourable to the person; None if it was not stated."""
    favourable = settings["favourable"]
    return None if favourable is None else bool(favourable == settings["positive_label"])


def as_found(row: Row) -> Row:
    """A difference in the share missed, as what it is in the share found."""
    if row["rate"] != "fnr":
        return row
    ends = {"lowest": "highest", "highest": "lowest"}
    turned = {end: row[other] for end, other in ends.items()}
    turned |= {f"{end}_n": row[f"{other}_n"] for end, other in ends.items()}
    return row | turned | {f"{end}_rate": 1.0 - row[f"{other}_rate"] for end, other in ends.items()} | {"rate": "tpr"}


def finding(row: Row, groups: list[Row], level: str, settings: Row) -> str:
    attribute, measure = row["attribute"], row["measure"]
    subject = SUBJECTS[measure] + {"equal_opportunity": " (TPR)", "predictive_equality": " (FPR)"}.get(measure, "")
    if row["value"] is None:
        return f"{attribute}: {subject} cannot be compared ({row['note']})."
    row = as_found(row)
    first, pattern = FINDINGS[measure]
    second = "highest" if first == "lowest" else "lowest"
    names = [in_a_sentence(attribute, row[which]) for which in (first, second)]
    compared = [group for group in of(groups, attribute) if group[row["rate"]] is not None]
    lower, upper = _points(row["lower"]), _points(row["upper"])
    small = "".join(
        f"; the rate of {in_a_sentence(attribute, row[end])} is of {row[end + '_n']:.0f} instances only"
        for end in ("lowest", "highest")
        if row[end + "_n"] < settings["min_group_size"]
    )
    if row["value"] == 0:
        return (
            f"{attribute}: no difference in {subject}: the groups are equal here ({level} 0 to {upper}: "
            f"up to {upper} points are not ruled out{small})."
        )
    if row["lower"] == 0:
        apart = f"{names[0]} and {names[1]} are {_points(row['value'])} points apart"
        if len(compared) > 2:
            apart = f"furthest apart of {len(compared)} groups, {apart}"
        return (
            f"{attribute}: no difference in {subject} is established: {apart}, which chance alone can "
            f"explain ({level} 0 to {upper}: up to {upper} points are not ruled out{small})."
        )
    sentence = pattern.format(*names, points=_points(row["value"]))
    against = f"{_percent(row[first + '_rate'])} against {_percent(row[second + '_rate'])}"
    if measure == "statistical_parity":
        shares = row["lowest_rate"], row["highest_rate"]
        other = 1.0 - row["highest_rate"], 1.0 - row["lowest_rate"]
        if favours(settings) is None:
            against += f", ratio {shares[0] / shares[1]:.2f}, of the other label {other[0] / other[1]:.2f}"
        else:
            if not favours(settings):
                names, shares = names[::-1], other
            sentence = (
                f"{names[0]} is predicted {settings['favourable']!r}, the favourable label, {_points(row['value'])} "
                f"points less often than {names[1]}"
            )
            against = f"{_percent(shares[0])} against {_percent(shares[1])}, ratio {shares[0] / shares[1]:.2f}"
    largest = ""
    if len(compared) > 2:  # which pair is the largest is uncertain too
        largest, level = f", the largest difference among {len(compared)} groups", f"{level} of the largest"
    return f"{attribute}: {sentence}{largest} ({against}; {level} {lower} to {upper} points{small})."


def text(report: Row) -> str:
    """For a terminal of 80 columns."""
    lines = [_title(report), ""]
    for table in _tables(report, WIDTH):
        lines += [table.title, *_aligned(table.header, table.rows)]
        for remark in table.remarks:
            lines += _wrapped(remark, "  ! ")
        lines.append("")
    lines.append("Summary")
    for sentence in summary(report):
        lines += _wrapped(sentence, "- ")
    return "\n".join(line.replace(NO_BREAK, " ").rstrip() for line in lines)


def markdown(report: Row) -> str:
    """Headings, tables and a list."""
    lines = ["# Fairness audit", "", markdown_text(_title(report)), "", "## Summary", ""]
    lines += [f"- {markdown_text(sentence)}" for sentence in summary(report)]
    for table in _tables(report, None):
        lines += ["", f"## {markdown_text(table.title)}", "", *markdown_table(table.header, table.rows)]
        if table.remarks:
            lines += ["", *(f"- {markdown_text(remark)}" for remark in table.remarks)]
    return "\n".join(lines) + "\n"


def html(report: Row) -> str:
    """For a notebook: no scripts, no style but what the notebook has."""
    parts = [f"<div><p><strong>{escape(_title(report))}</strong></p><ul>"]
    parts += [f"<li>{escape(sentence)}</li>" for sentence in summary(report)]
    parts.append("</ul>")
    for table in _tables(report, None):
        head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
        parts.append(f"<h4>{escape(table.title)}</h4><table><thead><tr>{head}</tr></thead><tbody>")
        for row in table.rows:
            parts.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
        parts.append("</tbody></table>")
        parts += [f"<p>{escape(remark)}</p>" for remark in table.remarks]
    return "\n".join([*parts, "</div>"])


def _title(report: Row) -> str:
    settings = report["settings"]
    weighted = "; weighted" if settings["weighted"] else ""
    good = "" if settings["favourable"] is None else f", favourable {settings['favourable']!r}"
    return (
        f"Audit of {settings['n']:,} predictions; positive label {settings['positive_label']!r}{good}{weighted}; "
        f"{100 * settings['confidence']:g} % intervals in brackets"
    )


def _tables(report: Row, width: int | None) -> list[Section]:
    overall = {row["measure"]: row for row in report["overall"]}
    rows = [[title, _interval(overall[name])] for name, title in OVERALL.items() if name in overall]
    tables = [Section("Overall", ["measure", "value"], rows)]
    for attribute in dict.fromkeys(row["attribute"] for row in report["groups"]):
        tables += _group_tables(attribute, of(report["groups"], attribute), width)
        tables.append(_measure_table(attribute, of(report["measures"], attribute)))
        if report.get("conditional") is not None:
            tables.append(_conditional_table(attribute, of(report["conditional"], attribute), report["settings"]))
        if report["calibration"] is not None:
            tables.append(_calibration_table(attribute, of(report["calibration"], attribute)))
    return tables


def of(rows: list[Row], attribute: str | None) -> list[Row]:
    """The rows about one sensitive attribute."""
    return [row for row in rows if row["attribute"] == attribute]


def _group_tables(attribute: str, groups: list[Row], width: int | None) -> list[Section]:
    """All rates in one table, or in as many as the width asks for."""
    names = list(RATES)
    per_table = len(names)
    if width is not None:
        longest = max(len(row["group"]) for row in groups)
        per_table = min(max((width - longest - 10) // 22, 1), 3)
    remarks = [f"{row['group']}: {row['note']}" for row in groups if row["note"]]
    tables = []
    for start in range(0, len(names), per_table):
        some = names[start : start + per_table]
        size = "positives" if start else "n"
        header = ["group", size, *(RATES[name] for name in some)]
        rows = [[row["group"], f"{row[size]:,}", *(_interval(limits(row, name)) for name in some)] for row in groups]
        title = f"Groups of {attribute}" + (", continued" if start else "")
        tables.append(Section(title, header, rows, remarks if start + per_table >= len(names) else ()))
    return tables


def _measure_table(attribute: str, measures: list[Row]) -> Section:
    rows = []
    for row in measures:
        apart = UNDEFINED
        if row["value"] is not None:
            ends = (f"{row[end]} {row[end + '_rate']:.3f}".replace(" ", NO_BREAK) for end in ("lowest", "highest"))
            most = "mostly " if row["measure"] == "disparate_mistreatment" else ""
            apart = f"{most}{RATE_NAMES[row['rate']]}: " + ", ".join(ends)
        rows.append([MEASURES[row["measure"]], _interval(row), apart])
    remarks = [f"{MEASURES[row['measure']]}: {row['note']}" for row in measures if row["value"] is None]
    header = ["measure", "difference", "furthest apart"]
    return Section(f"Largest differences between groups of {attribute}", header, rows, remarks)


def _conditional_table(attribute: str, rows: list[Row], settings: Row) -> Section:
    """A row per stratum, of all strata together the last one."""
    cells = [[MEASURES[row["measure"]], row["stratum"], f"{row['n']:,.0f}", _interval(row)] for row in rows]
    title = f"Differences between groups of {attribute} among people alike in {' & '.join(settings['control'])}"
    remarks = [f"{MEASURES[row['measure']]}, {row['stratum']}: {row['note']}" for row in rows if row["note"]]
    return Section(title, ["measure", "stratum", "n", "difference"], cells, remarks)


def _calibration_table(attribute: str, groups: list[Row]) -> Section:
    columns = {"mean_score": "mean score", "base_rate": "base rate", "ece": "calibration error", "brier": "Brier"}
    auc = [_interval(limits(row, "auc")) for row in groups]
    rows = [[row["group"], *(f"{row[n]:.3f}" for n in columns), area] for row, area in zip(groups, auc, strict=True)]
    return Section(f"Scores of groups of {attribute}", ["group", *columns.values(), "AUC"], rows)


def _interval(row: Row) -> str:
    value, lower, upper = (row[key] for key in ("value", "lower", "upper"))
    if value is None:
        return UNDEFINED
    return f"{value:.3f}" if lower is None else f"{value:.3f} [{lower:.3f}, {upper:.3f}]"


def limits(row: Row, name: str) -> Row:
    return {"value": row[name], "lower": row[f"{name}_lower"], "upper": row[f"{name}_upper"]}


def _aligned(header: list[str], rows: list[list[str]]) -> list[str]:
    """Text to the left, numbers to the right, two spaces between columns; a last column of text is wrapped."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    text_last = header[-1] == "furthest apart"
    margin = sum(widths[:-1]) + 2 * (len(widths) - 1)
    lines = []
    for row in [header, *rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        if not text_last:
            lines.append("  ".join(cells))
            continue
        first, *more = textwrap.wrap(row[-1], max(WIDTH - margin, 30), break_on_hyphens=False)
        lines += ["  ".join([*cells[:-1], first]), *(" " * margin + line for line in more)]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _wrapped(sentence: str, bullet: str) -> list[str]:
    """Lines of the terminal's width that break neither hyphenated names nor a number from its percent sign."""
    fixed = sentence.replace(" %", f"{NO_BREAK}%")
    indent = " " * len(bullet)
    return textwrap.wrap(fixed, WIDTH, initial_indent=bullet, subsequent_indent=indent, break_on_hyphens=False)


def markdown_table(header: list[str], rows: list[list[str]], n_text: int = 1) -> list[str]:
    """The lines of a table whose first columns are text."""
    cells = [[markdown_text(cell) for cell in row] for row in (header, *rows)]
    cells.insert(1, ["---"] * n_text + ["---:"] * (len(header) - n_text))
    return [f"| {' | '.join(row)} |" for row in cells]


def markdown_text(text: str) -> str:
    """Text as a line, an item or a cell of Markdown that shows just that: names and labels are data, and nothing in
    them may start a tag, a link, a picture, a list or another line."""
    shown = re.sub(r"&(?=#?\w+;)", "&amp;", printable(" ".join(text.split())))
    return BLOCK_START.sub(r"\1\\\2", INLINE.sub(r"\\\g<0>", shown)).replace("<", "&lt;")


def in_a_sentence(attribute: str, group: str) -> str:
    """A group that is called 1, True or yes needs its attribute beside it."""
    is_word = any(character.isalpha() for character in group) and group.lower() not in ANSWERS
    return group if is_word else f"{attribute} {group}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
