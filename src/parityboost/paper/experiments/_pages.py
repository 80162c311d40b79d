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

AGREEMENT = """\
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
on KDD census here, but it changes little. Figure 4 is one random split."""
# What the claims about a figure look like.
CLAIMS_OF = {
    1: r"^5\.2", 2: r"^5\.3", 3: r"^5\.4", 4: r"^5\.5", 5: r"^5\.6(?!.*costs).*(?:NoCumul|TPR|TNR)", 6: r"^5\.6.*costs",
    7: r"^5\.7", 8: r"^Appendix.*St\.Parity of NoCumul", 9: r"^Appendix.*costs for St\.Parity",
    10: r"^Appendix.*Eq\.Op\. of NoCumul", 11: r"^Appendix.*costs for Eq\.Op\.",
    12: r"^Appendix.*St\.Parity(?::| stays)", 13: r"^Appendix.*Eq\.Op\.(?::| stays)",
}  # fmt: skip


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
    page = [f"# Figure {figure.number}. {figure.title}", WHAT_TO_SEE[figure.number]]
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
        RULES_OF_VERDICTS,
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
        INTRODUCTION,
        markdown(meanings),
        "## What holds",
        markdown(summary(claims, scope.settings)),
        "✓ holds · ≈ same direction, other size · ✗ differs. [All claims](claims.md) lists the paper's number, ours\n"
        "and, where they differ, why. Without ties, by the means alone, and of the "
        f"{counts[scope.settings[0]][1]} claims that were listed first, {by_mean}.",
        *([AGREEMENT] if set(titles) == set(SETTINGS) else []),
        *([] if parts is None else ["## Which part gives what", ABOUT_PARTS, markdown(parts_table(parts))]),
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
        about = claims[said.str.contains(CLAIMS_OF[figure.number])]
        holding = [f"{(about[f'{name}_verdict'] == HOLDS).sum()} with {title}" for name, title in titles.items()]
        agrees = ", ".join(holding).replace(" with", " hold with", 1)
        page += [
            f"## Figure {figure.number}. {figure.title}",
            WHAT_TO_SEE[figure.number] + (f" Of the {len(about)} claims about it, {agrees}." if len(about) else ""),
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
