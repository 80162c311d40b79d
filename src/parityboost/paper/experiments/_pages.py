"""Writes what came of the runs: figures, their numbers, Table 1, the claims, and the pages that show them.

Pages are Markdown that GitHub and Sphinx both show. ``texts.toml`` and
``figures.toml`` have the sentences on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from ..._io.atomic import write_atomically
from ...datasets import overview
from ...datasets._loaders import TABLE_1
from ._claims import CLAIMS, DIFFERS, FIRST_CLAIMS, HOLDS, NOT_MEASURED, SAME_DIRECTION, VERDICTS, compare
from ._figures import readable, render, tabulate
from ._plan import SETTINGS, Figure, Run, Scope
from ._store import DATASET_NAMES, NotMeasuredError, Results, Store

PARTS = "parts.csv"  # what benchmarks/differences.py found, if it was run
MARKS = {HOLDS: "✓", SAME_DIRECTION: "≈", DIFFERS: "✗", NOT_MEASURED: "○"}
TITLE = "# The paper's evaluation, reproduced"  # by which a folder of results is known
SHOWN = "authors"  # the setting whose panels the first page shows, if it is there
SECTIONS = {
    "5.2": "St.Parity",
    "5.3": "Eq.Op.",
    "5.4": "D.M.",
    "5.5": "over the rounds",
    "5.6": "cumulative or not",
    "5.7": "the effect of c",
    "Appendix": "5.6 and 5.7 for the other notions",
}
TEXTS = msgspec.toml.decode(Path(__file__).with_name("texts.toml").read_bytes(), type=dict[str, str])


def write_all(scope: Scope, store: Store, out: Path, command: str) -> pd.DataFrame:
    """Write everything that the runs allow; return the judged claims."""
    results = {
        name: Results(store, Scope.of(scope.figures, scope.datasets, [name], scope.n_splits).runs(), name)
        for name in scope.settings
    }
    out.mkdir(parents=True, exist_ok=True)
    rows = all_rows(results)
    write_csv(rows, out / "rows.csv", digits=9)
    table1 = overview(*(TABLE_1[dataset]() for dataset in scope.datasets)).rename_axis("").reset_index()
    write_csv(table1, out / "table-1-datasets.csv")
    write_atomically(out / "table-1-datasets.md", markdown(table1))
    drawn = [figure for figure in scope.panels() if write_figure(figure, results, out, scope.datasets)]
    parts = pd.read_csv(out / PARTS, keep_default_na=False) if (out / PARTS).exists() else None
    claims = compare(CLAIMS, results, parts)
    claims.insert(0, "first", np.arange(len(CLAIMS)) < len(FIRST_CLAIMS))
    write_csv(claims, out / "claims.csv", digits=4)
    write_atomically(out / "claims.md", claims_page(claims, scope.settings))
    records = {run: record for found in results.values() for run, record in found.records.items()}
    write_atomically(out / "README.md", index_page(scope, rows, records, claims, drawn, table1, command, parts))
    scope.write(out)  # last: what it says is there, is there
    return claims


def all_rows(results: Mapping[str, Results]) -> pd.DataFrame:
    """Every run once, with the settings that use it."""
    used: dict[Run, list[str]] = {}
    for name, found in results.items():
        for run in found.runs:
            used.setdefault(run, []).append(name)
    parts = []
    for name, found in results.items():
        is_new = [
            used[run][0] == name for run in found.run_of_row
        ]  # a run that is shared is told where it first occurs
        parts.append(found.rows.assign(settings=[" ".join(used[run]) for run in found.run_of_row])[is_new])
    keys = ["protocol", "dataset", "attributes", "method", "recipe", "notion", "split", "c"]
    table = pd.concat(parts, ignore_index=True)
    return table.sort_values(keys, kind="stable", na_position="first", ignore_index=True)


def write_figure(figure: Figure, results: Mapping[str, Results], out: Path, datasets: Sequence[str]) -> bool:
    """One figure: a panel per dataset and setting as SVG and PNG, the numbers as CSV and Markdown; False if empty."""
    panels: dict[tuple[str, str], pd.DataFrame] = {}
    for dataset in datasets:
        for name, found in results.items():
            try:
                table = tabulate(figure, found, dataset)
            except NotMeasuredError:
                continue
            if not ("mean" in table and table["mean"].isna().all()):
                panels[dataset, name] = table
    if not panels:
        return False
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for (dataset, name), table in panels.items():
        for kind, content in render(figure, dataset, table, SETTINGS[name].title).items():
            write_atomically(out / "figures" / f"{figure.name}-{dataset}-{name}.{kind}", content)
    together = pd.concat(panels, names=["dataset", "setting", None]).reset_index(["dataset", "setting"])
    write_csv(together, out / f"{figure.name}.csv", digits=5)
    page = [f"# Figure {figure.number}. {figure.title}", figure.see]
    for dataset in dict.fromkeys(dataset for dataset, _ in panels):
        own = {name: readable(figure, table) for (of, name), table in panels.items() if of == dataset}
        images = "\n".join(panel(figure, dataset, name) for name in own)
        numbers = pd.concat(own, names=["setting", None]).reset_index("setting")
        page += [f"## {DATASET_NAMES[dataset]}", images, markdown(numbers)]
    write_atomically(out / f"{figure.name}.md", joined(page))
    return True


def write_csv(table: pd.DataFrame, path: Path, digits: int | None = None) -> None:
    """A table as CSV; floats with so many digits."""
    text = table.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g" if digits else None)
    write_atomically(path, text)


def joined(paragraphs: Sequence[str]) -> str:
    """A page."""
    return "\n\n".join(paragraphs) + "\n"


def panel(figure: Figure, dataset: str, setting: str) -> str:
    """An image of one panel; several flow beside or below each other, as there is room."""
    title = f"{figure.title}, {DATASET_NAMES[dataset]}, {SETTINGS[setting].title}"
    return f"![{title}](figures/{figure.name}-{dataset}-{setting}.svg)"


def by_section(claims: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The claims of each section of the paper that has some."""
    section = claims["where"].str.split(" ").str[0]
    return {name: claims[section == name] for name in SECTIONS if (section == name).any()}


def claims_page(claims: pd.DataFrame, settings: Sequence[str]) -> str:
    """All claims, a table per section."""
    page = [
        "# The paper's claims",
        "\n".join(f"- {count_claims(claims, name)}" for name in settings),
        TEXTS["rules_of_verdicts"],
    ]
    for name, part in by_section(claims).items():
        page += [f"## {name}: {SECTIONS[name]}", markdown(readable_claims(part, settings))]
    return joined(page)


def readable_claims(claims: pd.DataFrame, settings: Sequence[str]) -> pd.DataFrame:
    """The claims as text."""
    table = claims[["where", "claim", "paper"]].copy()
    # Digits of a claim are the same in all its columns: one for shares in per cent and for rounds, else three.
    found = claims[[*settings, *(f"{name}_sd" for name in settings)]].astype(float).abs().max(axis=1)
    digits = np.where(claims["percent"] | (found >= 10), 1, 3)

    def numbers(name: str) -> list[str]:
        shown = zip(claims[name].astype(float), digits, claims["signed"], strict=True)
        texts = (f"{value:{'+' if signed else ''}.{d}f}" if np.isfinite(value) else "–" for value, d, signed in shown)
        return [text.replace("-", "−") for text in texts]

    if claims["logged"].notna().any():
        table["logged"] = numbers("logged")
    for name in settings:
        columns = (claims[f"{name}_{column}"] for column in ("verdict", "sd", "tie"))
        table[name] = [
            f"{MARKS[verdict]} {text}{f' ± {sd:.{d}f}' if np.isfinite(sd) and sd else ''}{' tie' if tie else ''}"
            for text, d, verdict, sd, tie in zip(numbers(name), digits, *columns, strict=True)
        ]
    return table.assign(why=claims["why"])


def count_claims(claims: pd.DataFrame, setting: str) -> str:
    """One sentence."""
    n = claims[f"{setting}_verdict"].value_counts()
    measured = len(claims) - n.get(NOT_MEASURED, 0)
    text = (
        f"**{SETTINGS[setting].title}**: of {measured} claims measured, {n.get(HOLDS, 0)} hold "
        f"({int(claims[f'{setting}_tie'].sum())} of them as ties), {n.get(SAME_DIRECTION, 0)} have the same direction "
        f"and another size, {n.get(DIFFERS, 0)} differ"
    )
    return f"{text}; {n[NOT_MEASURED]} were not measured." if NOT_MEASURED in n else f"{text}."


def summary(claims: pd.DataFrame, settings: Sequence[str]) -> pd.DataFrame:
    """How many claims of each section have which verdict in which setting: ✓ ≈ ✗."""
    rows = []
    for name, part in {**by_section(claims), "all": claims}.items():
        row: dict[str, Any] = {"section": f"{name} {SECTIONS.get(name, '')}".strip(), "claims": len(part)}
        for setting in settings:
            n = part[f"{setting}_verdict"].value_counts()
            row[setting] = " · ".join(f"{MARKS[verdict]} {n.get(verdict, 0)}" for verdict in VERDICTS)
        rows.append(row)
    return pd.DataFrame(rows)


def first_count(claims: pd.DataFrame, setting: str) -> tuple[int, int]:
    """Of the claims that the first edition had, how many hold by its rule, the bare means; and how many there are."""
    first = claims[claims["first"]]
    return int(first[f"{setting}_by_mean"].sum()), len(first)


def index_page(
    scope: Scope,
    rows: pd.DataFrame,
    records: Mapping[Run, dict[str, Any] | None],
    claims: pd.DataFrame,
    figures: Sequence[Figure],
    table1: pd.DataFrame,
    command: str,
    parts: pd.DataFrame | None = None,
) -> str:
    """The page that leads to all the others."""
    titles = {name: SETTINGS[name].title for name in scope.settings}
    meanings = pd.DataFrame([{"setting": name, "meaning": SETTINGS[name].says} for name in titles])
    made = [record for record in records.values() if record]
    used: dict[str, dict[str, None]] = {}  # a folder may hold runs of several versions
    for record in made:
        for name, number in record["versions"].items():
            used.setdefault(name, {})[number] = None
    versions = ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in used.items())
    failed = rows[rows["status"] == "failed"]
    days = sorted({record["finished"][:10] for record in made}) or [date.today().isoformat()]
    once = rows.drop_duplicates(["protocol", "dataset", "attributes", "method", "recipe", "notion", "split"])
    seconds = float(once["seconds"].sum()) if "seconds" in once else 0.0
    duration = f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{max(seconds / 60, 1):.0f} minutes"
    counts = {name: first_count(claims, name) for name in titles}
    by_mean = ", ".join(f"{counts[name][0]} hold with {title}" for name, title in titles.items())
    page = [
        TITLE,
        TEXTS["introduction"],
        markdown(meanings),
        "## What holds",
        markdown(summary(claims, scope.settings)),
        "✓ holds · ≈ same direction, other size · ✗ differs. [All claims](claims.md) lists the paper's number, ours\n"
        "and, where they differ, why. Without ties, by the means alone, and of the "
        f"{counts[scope.settings[0]][1]} claims that were listed first, {by_mean}.",
        *([TEXTS["agreement"]] if set(titles) == set(SETTINGS) else []),
        *([] if parts is None else ["## Which part gives what", TEXTS["about_parts"], markdown(parts_table(parts))]),
        "## How it was made",
        f"```bash\n{command}\n```",
        f"{scope.n_splits} random 50/50 splits (seeds 0 to {scope.n_splits - 1}), means ± standard deviations on "
        f"the test halves; Figure 4: one 67/33 split. Made {' to '.join(dict.fromkeys((days[0], days[-1])))} with "
        f"{versions}. [rows.csv](rows.csv) has every run and the settings that share it; "
        f"{len(failed)} of {len(records)} failed. The fits took {duration} on one core in all.",
        "## Table 1. The datasets",
        markdown(table1),
    ]
    said = claims["where"] + ": " + claims["claim"]
    shown = SHOWN if SHOWN in titles else scope.settings[0]
    for figure in figures:
        about = claims[said.str.contains(figure.claims)]
        holding = [f"{(about[f'{name}_verdict'] == HOLDS).sum()} with {title}" for name, title in titles.items()]
        agrees = ", ".join(holding).replace(" with", " hold with", 1)
        page += [
            f"## Figure {figure.number}. {figure.title}",
            figure.see + (f" Of the {len(about)} claims about it, {agrees}." if len(about) else ""),
            "\n".join(panel(figure, dataset, shown) for dataset in scope.datasets),
            f"[Numbers, and the other settings]({figure.name}.md), [CSV]({figure.name}.csv)",
        ]
    if len(failed):
        page += ["## Failed runs", markdown(failed[["dataset", "method", "recipe", "notion", "split", "note"]])]
    notes = rows.query("status == 'ok'").dropna(subset="note")
    if len(notes):
        splits = notes.groupby(["dataset", "method", "recipe", "note"], dropna=False)["split"].nunique()
        page += ["## Warnings of the methods", markdown(splits.reset_index(name="splits"))]
    return joined(page)


def parts_table(parts: pd.DataFrame) -> pd.DataFrame:
    """How many claims hold when one part is put back, and what that costs and gains."""
    rows = []
    for part, found in parts.groupby("part", sort=False):
        lost = found[found["change"] == "lost"]
        sections = lost["where"].str.split(" ").str[0].value_counts(sort=False)
        rows.append(
            {
                "the authors' setting, but with": part,
                "claims that hold": int(found["holds"].iloc[0]),
                "lost": len(lost),
                "gained": int((found["change"] == "gained").sum()),
                "lost in": ", ".join(f"{section} ({count})" for section, count in sections.items()),
            }
        )
    return pd.DataFrame(rows)


def markdown(table: pd.DataFrame) -> str:
    """A table in Markdown, aligned to be read as text too."""
    shown = table.astype(object).where(table.notna(), "").to_numpy()
    cells = [list(map(str, table.columns)), *([str(value).replace("|", "\\|") for value in row] for row in shown)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = (" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(f"| {line} |" for line in lines)
