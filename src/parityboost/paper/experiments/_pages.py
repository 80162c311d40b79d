"""Writes what came of the runs: figures, their numbers, Table 1, the claims, and the pages that show them.

Pages are Markdown that GitHub and Sphinx both show. The sentences on them hold no numbers: those are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._io.atomic import write_atomically
from ...datasets import overview
from ...datasets._loaders import TABLE_1
from ._claim_list import ADDED_CLAIMS, FIRST_CLAIMS
from ._claims import DIFFERS, HOLDS, NOT_MEASURED, SAME_DIRECTION, VERDICTS, compare
from ._draw import render
from ._plan import SETTINGS, Figure, Run
from ._rows import DATASET_NAMES, MEASURE_NAMES, NotMeasuredError, Results, measures_of, tabulate
from ._store import Scope, Store

FIGURES_FOLDER = "figures"
PARTS = "parts.csv"  # what benchmarks/differences.py found, if it was run
Panels = dict[str, dict[str, pd.DataFrame]]  # by dataset and setting
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
INTRODUCTION = """\
`parityboost reproduce` runs the paper's whole evaluation: eight methods, three notions, four datasets, ten splits,
thirteen figures. It does so in three settings. The paper's text, the scripts behind its experiments and our own
defaults differ, and each is one setting:"""

WHAT_TO_SEE = {
    1: "The third group of bars is the difference in positive predictions. AdaFair and SDB bring it close to zero, "
    "AdaBoost and SMOTEBoost do not. The second group shows what that costs.",
    2: "The third group of bars is the difference in true positive rates. AdaFair and FAE make it small. SMOTEBoost "
    "has the largest difference, and a high balanced accuracy.",
    3: "The third group of bars is the sum of both differences. The four on the right show how it became smaller: "
    "AdaFair finds more positives in both groups, Krasanakis et al. find fewer.",
    4: "One run of 500 rounds. Balanced error and unfairness on validation and test data lie close together. The "
    "dotted line is the round that is chosen.",
    5: "Costs from the last learner alone (NoCumul) against costs from the whole ensemble. Look at the third group of "
    "bars, unfairness.",
    6: "The differences between the groups that the costs come from, in every round. Those of the whole ensemble "
    "change little from round to round, those of single learners a lot.",
    7: "From left to right, the balanced error counts more in the choice of θ. Raising c finds many more positives and "
    "loses few negatives, and unfairness hardly changes.",
    8: "As Figure 5, for statistical parity. Look at the third group of bars.",
    9: "As Figure 6, for statistical parity. The difference in positive predictions stays near zero for the whole "
    "ensemble, and changes a lot for single learners.",
    10: "As Figure 5, for equal opportunity. Look at the third group of bars.",
    11: "As Figure 6, for equal opportunity. The difference in false negative rates stays near zero for the whole "
    "ensemble, and changes a lot for single learners.",
    12: "As Figure 7, for statistical parity, where c changes balanced accuracy less.",
    13: "As Figure 7, for equal opportunity. Raising c finds more positives in both groups alike.",
}

RULES_OF_VERDICTS = """\
Shares are in per cent, differences of shares in percentage points with their sign; ± is the standard deviation over the
splits. A number *holds* ✓ if ours is within 2 points or two standard errors of the paper's. If it is not, but lies
more than two standard errors from zero on the same side, it has the *same direction, other size* ≈. A statement that
one method is ahead of another holds if our means say so, or if neither is ahead by more than two standard errors: a
*tie*. Everything else *differs* ✗. *Logged* is the number in the authors' logs of 2019, if there is one. The
competitors of section 5.4 are of that year, AdaFair is not."""

ABOUT_PARTS = """\
`benchmarks/differences.py` changes one part of the authors' setting at a time, to that of the text or of our defaults,
and counts how many claims then hold. It counts the 175 claims that were listed first, by their means alone, without
ties. The page of claims says which parts each claim needs."""

AGREEMENT: tuple[str, ...] = (
    """\
What the authors' setting explains:

- **Why NoCumul is so unfair in the paper.** The scripts choose the number of rounds of NoCumul by the fairness of its
  last learner, which says little about the ensemble. Chosen by the fairness of the ensemble, as the text says, NoCumul
  is not far behind AdaFair.
- **Why AdaFair is ahead on Adult.** Three things are needed: the guarded cost, which lets the non-protected group make
  more false positives, the eleven attributes, and the older AdaBoost of Figure 3.
- **Why SMOTEBoost is the most unfair.** Plain SMOTE between 0/1 columns makes synthetic people that a stump can tell
  from real ones.
- **How large the effect of c is.** It is larger with our defaults, because with c = 0 θ is often one of the first
  rounds. With the discrete update, 500 rounds and θ on the training data it is as large as in the paper.

With two parts of the scripts, fewer claims hold than without them: the first round without costs that cannot be chosen,
and N = 500 for SMOTEBoost on Bank. The paper's figures may have been made with other versions of the scripts.

What it does not explain: SDB and FAE do better here than in the paper. On KDD census the paper's AdaFair is far ahead
of the others; so is the confidence-rated update of our defaults, but not the discrete one. Zafar et al. can be trained
on KDD census here, but it changes little. Figure 4 is one random split.""",
    "",
)


def write_all(scope: Scope, store: Store, out: Path, command: str) -> pd.DataFrame:
    """Write everything that the runs allow; return the judged claims."""
    results = {
        name: Results(store, Scope.of(set(scope.figures), set(scope.datasets), {name}, scope.n_splits).runs(), name)
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
    claims = compare((*FIRST_CLAIMS, *ADDED_CLAIMS), results, parts)
    claims.insert(0, "first", [True] * len(FIRST_CLAIMS) + [False] * len(ADDED_CLAIMS))
    write_csv(claims, out / "claims.csv", digits=4)
    write_atomically(out / "claims.md", claims_page(claims, list(results)))
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
        of_row = [run for run in found.runs for _ in found.rows_of(run)]
        is_new = [used[run][0] == name for run in of_row]  # a run that is shared is told where it first occurs
        parts.append(found.rows.assign(settings=[" ".join(used[run]) for run in of_row])[is_new])
    table = pd.concat(parts, ignore_index=True)
    keys = ["protocol", "dataset", "attributes", "method", "recipe", "notion", "split", "c"]
    return table.sort_values(keys, kind="stable", na_position="first", ignore_index=True)


def write_figure(figure: Figure, results: Mapping[str, Results], out: Path, datasets: Sequence[str]) -> bool:
    """One figure: a panel per dataset and setting as SVG and PNG, the numbers as CSV and Markdown; False if empty."""
    panels: Panels = {}
    for dataset in datasets:
        for name, found in results.items():
            try:
                table = tabulate(figure, found, dataset)
            except NotMeasuredError:
                continue
            if not ("mean" in table and table["mean"].isna().all()):
                panels.setdefault(dataset, {})[name] = table
    if not panels:
        return False
    (out / FIGURES_FOLDER).mkdir(parents=True, exist_ok=True)
    tables = []
    for dataset, by_setting in panels.items():
        for name, table in by_setting.items():
            for kind, content in render(figure, dataset, table, SETTINGS[name].title).items():
                write_atomically(out / FIGURES_FOLDER / f"{figure.name}-{dataset}-{name}.{kind}", content)
            table = table.assign(dataset=dataset, setting=name)
            tables.append(table[["dataset", "setting", *table.columns[:-2]]])
    write_csv(pd.concat(tables, ignore_index=True), out / f"{figure.name}.csv", digits=5)
    write_atomically(out / f"{figure.name}.md", figure_page(figure, panels))
    return True


def write_csv(table: pd.DataFrame, path: Path, digits: int | None = None) -> None:
    """A table as CSV; floats with so many digits."""
    text = table.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g" if digits else None)
    write_atomically(path, text)


def figure_page(figure: Figure, panels: Mapping[str, Mapping[str, pd.DataFrame]]) -> str:
    """The figure in every setting, with its numbers."""
    lines = [f"# Figure {figure.number}. {figure.title}", "", WHAT_TO_SEE[figure.number], ""]
    for dataset, by_setting in panels.items():
        images = [panel(figure, dataset, name) for name in by_setting]
        tables = [_readable(figure, table).assign(setting=name) for name, table in by_setting.items()]
        together = pd.concat(tables, ignore_index=True)
        together.insert(0, "setting", together.pop("setting"))
        lines += [f"## {DATASET_NAMES[dataset]}", "", *images, "", markdown(together), ""]
    return "\n".join(lines)


def panel(figure: Figure, dataset: str, setting: str) -> str:
    """An image of one panel; several flow beside or below each other, as there is room."""
    title = f"{figure.title}, {DATASET_NAMES[dataset]}, {SETTINGS[setting].title}"
    return f"![{title}](figures/{figure.name}-{dataset}-{setting}.svg)"


def _readable(figure: Figure, table: pd.DataFrame) -> pd.DataFrame:
    """The numbers of a panel as a small table of text."""
    if figure.kind in ("performance", "balance"):
        across = "method" if figure.kind == "performance" else "c"
        names = measures_of(figure)
        table = table.assign(text=[plus_minus(m, s) for m, s in zip(table["mean"], table["sd"], strict=True)])
        wide = table.pivot_table(index=across, columns="measure", values="text", aggfunc="first")
        wide = wide.loc[list(dict.fromkeys(table[across])), names]
        return wide.rename(columns=MEASURE_NAMES).rename_axis(None, axis=1).reset_index()
    stretches = {"rounds 1–50": (0, 50), "51–150": (50, 150), "151–end": (150, None)}
    rows = []
    if figure.kind == "costs":
        for (method, gap), part in table.groupby(["method", "gap"], sort=False):
            means = {k: f"{part['mean'].iloc[a:b].abs().mean():.3f}" for k, (a, b) in stretches.items()}
            rows.append({"method": method, "mean of": f"|δ{gap}|", **means})
        return pd.DataFrame(rows)
    theta = int(table["theta"].iloc[0])
    for name in table.columns.drop(["round", "theta"]):
        means = {k: f"{table[name].iloc[a:b].mean():.3f}" for k, (a, b) in stretches.items()}
        rows.append({"line": name.replace("_", " "), **means, "at θ": f"{table[name].iloc[theta - 1]:.3f}"})
    rows.append({"line": "θ", **dict.fromkeys(stretches, ""), "at θ": str(theta)})
    return pd.DataFrame(rows)


def claims_page(claims: pd.DataFrame, settings: Sequence[str]) -> str:
    """All claims, a table per section."""
    lines = [
        "# The paper's claims",
        "",
        *(f"- {count_claims(claims, name)}" for name in settings),
        "",
        RULES_OF_VERDICTS,
        "",
    ]
    section = claims["where"].str.split(" ").str[0]
    for name, what in SECTIONS.items():
        part = claims[section == name]
        if len(part):
            lines += [f"## {name}: {what}", "", markdown(readable_claims(part, settings)), ""]
    return "\n".join(lines)


def readable_claims(claims: pd.DataFrame, settings: Sequence[str]) -> pd.DataFrame:
    """The claims as text."""
    table = claims[["where", "claim", "paper"]].copy()
    signed = claims["signed"]
    # Digits of a claim are the same in all its columns: one for shares in per cent and for rounds, else three.
    found = claims[[*settings, *(f"{name}_sd" for name in settings)]].astype(float).abs().max(axis=1)
    digits = np.where(claims["percent"] | (found >= 10), 1, 3)
    if claims["logged"].notna().any():
        table["logged"] = [
            _number(value, d, s) for value, d, s in zip(claims["logged"].astype(float), digits, signed, strict=True)
        ]
    for name in settings:
        cells = []
        for value, sd, verdict, tie, d, s in zip(
            claims[name].astype(float), claims[f"{name}_sd"].astype(float), claims[f"{name}_verdict"],
            claims[f"{name}_tie"], digits, signed, strict=True,
        ):  # fmt: skip
            spread = f" ± {sd:.{d}f}" if np.isfinite(sd) and sd else ""
            cells.append(f"{MARKS[verdict]} {_number(value, d, s)}{spread}{' tie' if tie else ''}")
        table[name] = cells
    return table.assign(why=claims["why"])


def _number(value: float, digits: int, signed: bool) -> str:
    if not np.isfinite(value):
        return "–"
    return f"{value:{'+' if signed else ''}.{digits}f}".replace("-", "−")


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
    section = claims["where"].str.split(" ").str[0]
    rows = []
    for name, what in [*SECTIONS.items(), ("all", "")]:
        part = claims if name == "all" else claims[section == name]
        if len(part):
            row: dict[str, Any] = {"section": f"{name} {what}".strip(), "claims": len(part)}
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
    settings = list(scope.settings)
    made = [record for record in records.values() if record]
    used: dict[str, list[str]] = {}  # a folder may hold runs of several versions
    for record in made:
        for name, number in record["versions"].items():
            if number not in used.setdefault(name, []):
                used[name].append(number)
    failed = rows[rows["status"] == "failed"]
    days = sorted({record["finished"][:10] for record in made}) or [date.today().isoformat()]
    hours = rows.drop_duplicates(["protocol", "dataset", "attributes", "method", "recipe", "notion", "split"])
    seconds = float(hours["seconds"].sum()) if "seconds" in hours else 0.0
    counts = [first_count(claims, name) for name in settings]
    lines = [
        TITLE,
        "",
        INTRODUCTION,
        "",
        markdown(pd.DataFrame([SETTINGS[name].as_dict() for name in settings])),
        "",
        "## What holds",
        "",
        markdown(summary(claims, settings)),
        "",
        "✓ holds · ≈ same direction, other size · ✗ differs. [All claims](claims.md) lists the paper's number, ours",
        "and, where they differ, why. Without ties, by the means alone, and of the "
        f"{counts[0][1]} claims that were listed first, "
        + ", ".join(
            f"{count[0]} hold with {SETTINGS[name].title}" for name, count in zip(settings, counts, strict=True)
        )
        + ".",
        "",
        *(AGREEMENT if set(settings) == set(SETTINGS) else ()),
        *([] if parts is None else ["## Which part gives what", "", ABOUT_PARTS, "", markdown(parts_table(parts)), ""]),
        "## How it was made",
        "",
        "```bash",
        command,
        "```",
        "",
        f"{scope.n_splits} random 50/50 splits (seeds 0 to {scope.n_splits - 1}), means ± standard deviations on "
        f"the test halves; Figure 4: one 67/33 split. Made {' to '.join(dict.fromkeys((days[0], days[-1])))} with "
        + ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in used.items())
        + ". [rows.csv](rows.csv) has every run and the settings that share it; "
        f"{len(failed)} of {len(records)} failed. The fits took {_duration(seconds)} on one core in all.",
        "",
        "## Table 1. The datasets",
        "",
        markdown(table1),
        "",
    ]
    for figure in figures:
        lines += _figure_part(figure, scope, claims)
    if len(failed):
        lines += [
            "## Failed runs",
            "",
            markdown(failed[["dataset", "method", "recipe", "notion", "split", "note"]]),
            "",
        ]
    notes = rows.query("status == 'ok'").dropna(subset="note")
    if len(notes):
        keys = ["dataset", "method", "recipe", "note"]
        together = notes.groupby(keys, dropna=False)["split"].nunique().reset_index(name="splits")
        lines += ["## Warnings of the methods", "", markdown(together), ""]
    return "\n".join(lines)


def parts_table(parts: pd.DataFrame) -> pd.DataFrame:
    """How many claims hold when one part is put back, and what that costs and gains."""
    rows = []
    for part, found in parts.groupby("part", sort=False):
        changes = found["change"].value_counts()
        rows.append(
            {
                "the authors' setting, but with": part,
                "claims that hold": int(found["holds"].iloc[0]),
                "lost": int(changes.get("lost", 0)),
                "gained": int(changes.get("gained", 0)),
                "lost in": _sections(found[found["change"] == "lost"]),
            }
        )
    return pd.DataFrame(rows)


def _sections(found: pd.DataFrame) -> str:
    counts = found["where"].str.split(" ").str[0].value_counts(sort=False)
    return ", ".join(f"{section} ({count})" for section, count in counts.items())


# Where a figure's claims stand.
_CLAIMS_OF = {
    1: r"^5\.2", 2: r"^5\.3", 3: r"^5\.4", 4: r"^5\.5", 5: r"^5\.6.*(NoCumul|TPR|TNR)", 6: r"^5\.6.*costs",
    7: r"^5\.7", 8: r"^Appendix.*St\.Parity of NoCumul", 9: r"^Appendix.*costs for St\.Parity",
    10: r"^Appendix.*Eq\.Op\. of NoCumul", 11: r"^Appendix.*costs for Eq\.Op\.",
    12: r"^Appendix.*St\.Parity(:| stays)", 13: r"^Appendix.*Eq\.Op\.(:| stays)",
}  # fmt: skip


def _figure_part(figure: Figure, scope: Scope, claims: pd.DataFrame) -> list[str]:
    about = (claims["where"] + ": " + claims["claim"]).str.contains(_CLAIMS_OF[figure.number].replace("(", "(?:"))
    if figure.number == 5:
        about &= ~claims["claim"].str.contains("costs")
    agrees: list[str] = []
    for name in scope.settings:
        verdicts = claims.loc[about, f"{name}_verdict"]
        agrees.append(f"{int((verdicts == HOLDS).sum())}{' hold' if not agrees else ''} with {SETTINGS[name].title}")
    shown = SHOWN if SHOWN in scope.settings else scope.settings[0]
    said = f"Of the {int(about.sum())} claims about it, {', '.join(agrees)}." if about.any() else ""
    return [
        f"## Figure {figure.number}. {figure.title}",
        "",
        f"{WHAT_TO_SEE[figure.number]} {said}".strip(),
        "",
        *(panel(figure, dataset, shown) for dataset in scope.datasets),
        "",
        f"[Numbers, and the other settings]({figure.name}.md), [CSV]({figure.name}.csv)",
        "",
    ]


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{max(seconds / 60, 1):.0f} minutes"


def plus_minus(mean: float, sd: float) -> str:
    """A mean with its standard deviation."""
    return f"{mean:.3f} ± {sd:.3f}" if np.isfinite(mean) else "–"


def markdown(table: pd.DataFrame) -> str:
    """A table in Markdown, aligned to be read as text too."""
    cells = [[str(name) for name in table.columns]]
    cells += [
        ["" if _empty(value) else str(value).replace("|", "\\|") for value in row]
        for row in table.itertuples(index=False)
    ]
    widths = [max(3, *(len(row[k]) for row in cells)) for k in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))
