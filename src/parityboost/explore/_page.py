"""The record as a page, as a part of a page, and as a short table."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from itertools import pairwise
from string import Template
from typing import Any

import numpy as np
import pandas as pd

from .._stats.intervals import critical_z
from .._table.values import printable
from ._counts import Record

NAME, LINE = 24, 79  # letters of a name and of a line in a terminal
# Nothing may be fetched from anywhere, by whatever is in the page.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)
PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<title>$title</title>
<link rel="icon" href="data:,">
<style>
html { color-scheme: light dark; background: #fff; }
@media (prefers-color-scheme: dark) { html { background: #14181d; } }
body { margin: 0; } main { max-width: 62rem; margin: 0 auto; padding: 1.2rem clamp(1rem, 4vw, 2rem); }
h1 { font: 600 1rem/1.4 system-ui, sans-serif; color: #59636e; margin: 0 0 .5rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { h1 { color: #a3adb8; } }
@media print { html { background: #fff; } }
$style</style>
</head>
<body>
<main>
<h1>$title</h1>
$body
</main>
<script>$script</script>
</body>
</html>
"""
)
BODY = Template(
    """<section class="pb-explorer" id="$id" aria-label="Trade-off explorer"$own>
<script type="application/json">$data</script>
<noscript><p>Without JavaScript this page shows one setting only.</p>$table</noscript>
<div data-part="live" hidden>
<p class="pb-say" data-part="say" aria-live="polite"></p>
<p data-part="alone"></p>
<p class="pb-quiet">$people</p>
<div class="pb-knob" data-part="knob"></div>
<div data-part="pills"></div>
<div data-part="rows"></div>
<div class="pb-models" data-part="models"></div>
<p class="pb-quiet pb-lower">$about</p>
<div class="pb-buttons" data-part="buttons"><span class="pb-quiet" role="status" data-part="told"></span></div>
$certificate<div class="pb-lower"><p class="pb-quiet">In Python, this setting is:</p>
<pre tabindex="0" role="region" aria-label="Python"><code data-part="code"></code></pre></div>
</div>
</section>"""
)


def page(record: Record) -> str:
    """The whole page, which needs nothing else."""
    body = section(record, "explorer", own=True)
    given = {"title": escape(record["title"]), "policy": POLICY, "body": body}
    return PAGE.substitute(given, style=style(), script=script())


def section(record: Record, name: str, own: bool = False) -> str:
    """The explorer as a part of a page that has its style and its script; ``own`` if it may keep its state there."""
    certificate, level = "", "h2" if own else "h3"
    if record["certificate"]:
        rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(text)}</dd>" for key, text in record["certificate"].items())
        certificate = f'<div class="pb-lower"><{level}>Certificate</{level}><dl>{rows}</dl></div>\n'
    people, terms = about(record)
    return BODY.substitute(
        id=escape(name),
        own=" data-page" if own else "",
        data=script_json(_packed(record)),
        table=_table_without_script(record),
        people=escape(people),
        about=escape(terms),
        certificate=certificate,
    )


def style() -> str:
    return files(__package__).joinpath("_style.css").read_text(encoding="utf8")


def script() -> str:
    return files(__package__).joinpath("_script.js").read_text(encoding="utf8")


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def about(record: Record) -> tuple[str, str]:
    """What is counted, in words: above the slider, and below the models."""
    people = f"{record['n']:,} people{', weighted' if record['weighted'] else ''}."
    unstated = (
        "" if record["stated"] else f" Which label is favourable was not stated: a yes is “{record['yes']}” here."
    )
    return f"{people} Found: of 100 {record['who']}, how many get a yes.", (
        f"Wrong yeses: of 100 others, how many get a yes. A gap is the largest difference between two groups. "
        f"{100 * record['confidence']:g} % intervals in brackets.{unstated}"
    )


def start(record: Record) -> int:
    """The stop that the page opens with: what the last model that has a choice of its own chose."""
    owns = [model["own"] for model in record["models"] if model["own"] is not None]
    if owns:
        return int(owns[-1])
    right, other = (sum(group[side] for group in record["groups"]) for side in ("right", "other"))
    return nearest(record, 100 * right / (right + other))


def nearest(record: Record, yeses: float) -> int:
    return int(np.argmin(np.abs(np.array(record["stops"]) - yeses)))


def table(record: Record, yeses: float | None) -> pd.DataFrame:
    """What each model gives to each group at one stop, in people of 100."""
    stop = start(record) if yeses is None else nearest(record, yeses)
    right, other = (np.array([group[side] for group in record["groups"]], dtype=float) for side in ("right", "other"))
    rows = []
    for model in record["models"]:
        found, wrong = (np.array(model[side][stop], dtype=float) for side in ("found", "wrong"))
        with np.errstate(invalid="ignore"):
            shares = {"found": found / right, "wrong": wrong / other, "yes": (found + wrong) / (right + other)}
        answers = (found.sum() + (other - wrong).sum()) / (right + other).sum()
        limits: dict[str, float] = {}
        for name in shares:
            ends = model["gaps"][name][stop] or (np.nan, np.nan)
            limits |= {f"{name}_gap_lower": ends[0] / 10, f"{name}_gap_upper": ends[1] / 10}
        for g, group in enumerate(record["groups"]):
            row = {"model": model["name"], "group": group["name"]} | {name: 100 * shares[name][g] for name in shares}
            rows.append(row | limits | {"right": 100 * answers, "cutoff": model["cuts"][stop]})
    return pd.DataFrame(rows).set_index(["model", "group"])


def text_table(record: Record) -> str:
    """For a terminal: the first groups and the right answers of each model, where the page starts."""
    found = table(record, None)
    names = [group["name"] for group in record["groups"]]
    shown = [_short(name, 12) for name in names[:4]]
    width = max(len(_short(model["name"], NAME)) for model in record["models"])
    header = " " * width + "  " + "  ".join(f"{name:>12}" for name in [*shown, "right"])
    lines = [
        f"With {record['stops'][start(record)]:.0f} yeses per 100 people, how many are found of 100 {record['who']}:"
    ]
    lines = [*_wrapped(lines[0]), header]
    for model in record["models"]:
        own = found.loc[[model["name"]]]
        cells = [f"{value:.0f}" for value in own["found"].to_numpy()[: len(shown)]] + [f"{own['right'].iloc[0]:.1f}"]
        lines.append(_short(model["name"], NAME).ljust(width) + "  " + "  ".join(f"{cell:>12}" for cell in cells))
    more = f" {len(names) - len(shown)} more groups are in the page." if len(names) > len(shown) else ""
    return "\n".join([*lines, *_wrapped(f"save(path) writes the page to move along the trade-off.{more}")])


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(printable(text), LINE)


def _short(name: str, length: int) -> str:
    text = printable(name)
    return (
        text
        if len(text) <= length
        else f"{text[: (length - 1) - (length - 1) // 2]}…{text[len(text) - (length - 1) // 2 :]}"
    )


def _packed(record: Record) -> Record:
    """As the page's script unpacks it: counts per group, each as its difference to the one before."""

    def steps(counts: Any) -> Any:
        return [[of[0], *(b - a for a, b in pairwise(of))] for of in zip(*counts, strict=True)]

    models = [model | {side: steps(model[side]) for side in ("found", "wrong")} for model in record["models"]]
    return record | {"models": models, "start": start(record), "z": critical_z(record["confidence"])}


def _table_without_script(record: Record) -> str:
    found = table(record, None).reset_index()
    names = {
        "model": "Model",
        "group": "Group",
        "found": "Found",
        "wrong": "Wrong yeses",
        "yes": "Yeses",
        "right": "Right answers of all",
    }
    head = "".join(f'<th scope="col">{name}</th>' for name in names.values())
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{escape(cell if isinstance(cell, str) else f'{cell:.1f}')}</td>" for cell in row)
        + "</tr>"
        for row in found[list(names)].itertuples(index=False)
    )
    caption = f"Of 100 people each; {record['stops'][start(record)]:.0f} of 100 people get a yes"
    table_head = f'<table class="pb-table"><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
    return f"{table_head}<tbody>{rows}</tbody></table>"
