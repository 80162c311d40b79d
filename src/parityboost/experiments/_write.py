"""Writes what came of the runs: figures, their numbers, Table 1, the claims and a page that shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._atomic import write_atomically
from ..datasets import overview
from ._claim_list import CLAIMS
from ._claims import DIFFERS, HOLDS, NOT_MEASURED, judge
from ._draw import render
from ._execute import TABLE_1, load
from ._plan import Figure
from ._rows import DATASET_NAMES, MEASURE_NAMES, NotMeasuredError, Results, measures_of, tabulate

TITLE = "# The paper's evaluation, reproduced"  # by which a folder of results is known


def write_all(
    results: Results, out: Path, datasets: Sequence[str], figures: Sequence[Figure], command: str
) -> pd.DataFrame:
    """Write everything that the results allow; return the judged claims."""
    out.mkdir(parents=True, exist_ok=True)
    write_csv(results.rows.sort_values(["protocol", "dataset", "method", "split", "c"]), out / "rows.csv", digits=9)
    table1 = overview(*(TABLE_1[dataset]() if dataset == "compas" else load(dataset) for dataset in datasets))
    write_csv(table1.rename_axis("").reset_index(), out / "table-1-datasets.csv")
    write_atomically(out / "table-1-datasets.md", markdown(table1.rename_axis("").reset_index()))
    drawn = [figure for figure in figures if write_figure(figure, results, out, datasets)]
    claims = judge(CLAIMS, results)
    write_csv(claims, out / "claims.csv", digits=4)
    write_atomically(out / "claims.md", claims_page(claims))
    write_atomically(out / "README.md", index_page(results, claims, drawn, datasets, table1, command))
    return claims


def write_figure(figure: Figure, results: Results, out: Path, datasets: Iterable[str]) -> bool:
    """One figure as SVG, PNG, CSV and Markdown; False if there is nothing to draw."""
    panels = {}
    for dataset in datasets:
        try:
            table = tabulate(figure, results, dataset)
        except NotMeasuredError:
            continue
        if not ("mean" in table and table["mean"].isna().all()):
            panels[dataset] = table
    if not panels:
        return False
    out.mkdir(parents=True, exist_ok=True)
    for kind, content in render(figure, panels).items():
        write_atomically(out / f"{figure.name}.{kind}", content)
    together = pd.concat([table.assign(dataset=dataset) for dataset, table in panels.items()], ignore_index=True)
    together.insert(0, "dataset", together.pop("dataset"))
    write_csv(together, out / f"{figure.name}.csv", digits=5)
    write_atomically(out / f"{figure.name}.md", figure_page(figure, panels))
    return True


def figure_page(figure: Figure, panels: dict[str, pd.DataFrame]) -> str:
    """The figure with its numbers."""
    lines = [f"# Figure {figure.number}. {figure.title}", "", f"![{figure.title}]({figure.name}.svg)", ""]
    if figure.kind == "costs":
        lines += [
            "Lines are split 0, bands the middle 80 % of all splits. The table has the mean |δ| of three stretches.",
            "",
        ]
    for dataset, table in panels.items():
        lines += [f"## {DATASET_NAMES[dataset]}", "", markdown(_readable(figure, table)), ""]
    return "\n".join(lines)


def _readable(figure: Figure, table: pd.DataFrame) -> pd.DataFrame:
    """The numbers of a panel as a small table of text."""
    if figure.kind in ("performance", "balance"):
        across = "method" if figure.kind == "performance" else "c"
        names = measures_of(figure) if figure.kind == "performance" else list(dict.fromkeys(table["measure"]))
        table = table.assign(text=[plus_minus(m, s) for m, s in zip(table["mean"], table["sd"], strict=True)])
        wide = table.pivot_table(index=across, columns="measure", values="text", aggfunc="first")
        wide = wide.loc[list(dict.fromkeys(table[across])), names]
        return wide.rename(columns=MEASURE_NAMES).rename_axis(None, axis=1).reset_index()
    stretches = {"rounds 1–50": (0, 50), "51–150": (50, 150), "151–end": (150, None)}
    rows = []
    if figure.kind == "costs":
        for (method, gap), part in table.groupby(["method", "gap"], sort=False):
            means = {k: f"{part['mean'].iloc[a:b].abs().mean():.3f}" for k, (a, b) in stretches.items()}
            rows.append({"method": method, "gap": gap, **means})
        return pd.DataFrame(rows)
    for name in table.columns.drop(["round", "theta"]):
        means = {k: f"{table[name].iloc[a:b].mean():.3f}" for k, (a, b) in stretches.items()}
        rows.append(
            {"line": name.replace("_", " "), **means, "at θ": f"{table[name].iloc[int(table['theta'][0]) - 1]:.3f}"}
        )
    rows.append({"line": "θ", **dict.fromkeys(stretches, ""), "at θ": str(table["theta"][0])})
    return pd.DataFrame(rows)


def claims_page(claims: pd.DataFrame) -> str:
    """All claims in one table."""
    lines = [
        "# The paper's claims",
        "",
        count_claims(claims),
        "",
        "Shares are in per cent, differences of shares in percentage points, ours with the standard deviation over the",
        "splits. A figure *holds* if ours is within 2 points or two standard errors of the paper's; an order or a",
        "direction holds if the means have it.",
        "",
        markdown(readable_claims(claims)),
    ]
    return "\n".join(lines)


def readable_claims(claims: pd.DataFrame) -> pd.DataFrame:
    """The claims as text."""
    ours = []
    for value, sd in zip(claims["ours"].astype(float), claims["sd"].astype(float), strict=True):
        digits = 1 if abs(value) >= 1 or sd >= 1 else 3
        spread = f" ± {sd:.{digits}f}" if sd else ""
        ours.append(f"{value:.{digits}f}{spread}" if np.isfinite(value) else "–")
    table = claims[["where", "claim", "paper"]].assign(ours=ours, verdict=claims["verdict"], why=claims["why"])
    return table


def count_claims(claims: pd.DataFrame) -> str:
    """One sentence."""
    n = claims["verdict"].value_counts()
    measured = len(claims) - n.get(NOT_MEASURED, 0)
    text = f"Of {measured} claims measured, {n.get(HOLDS, 0)} hold and {n.get(DIFFERS, 0)} differ"
    return f"{text}; {n[NOT_MEASURED]} were not measured." if NOT_MEASURED in n else f"{text}."


def index_page(
    results: Results,
    claims: pd.DataFrame,
    figures: Sequence[Figure],
    datasets: Sequence[str],
    table1: pd.DataFrame,
    command: str,
) -> str:
    """The page that leads to all the others."""
    records = [record for record in results.records.values() if record]
    used: dict[str, list[str]] = {}  # a folder may hold runs of several versions
    for record in records:
        for name, number in record["versions"].items():
            if number not in used.setdefault(name, []):
                used[name].append(number)
    failed = results.rows[results.rows["status"] == "failed"]
    days = sorted({record["finished"][:10] for record in records}) or [date.today().isoformat()]
    lines = [
        TITLE,
        "",
        f"{count_claims(claims)} [All claims](claims.md).",
        "",
        "```bash",
        command,
        "```",
        "",
        f"{results.n_splits} random 50/50 splits (seeds 0 to {results.n_splits - 1}), means ± standard deviations on "
        f"the test halves; Figure 4: one 67/33 split. Made {' to '.join(dict.fromkeys((days[0], days[-1])))} with "
        + ", ".join(f"{name} {' and '.join(numbers)}" for name, numbers in used.items())
        + f". [rows.csv](rows.csv) has every run; {len(failed)} of {len(results.runs)} failed.",
        "",
        "## Table 1. The datasets",
        "",
        markdown(table1.rename_axis("").reset_index()),
        "",
    ]
    for figure in figures:
        lines += [
            f"## Figure {figure.number}. {figure.title}",
            "",
            f"![{figure.title}]({figure.name}.svg)",
            "",
            f"[Numbers]({figure.name}.md), [CSV]({figure.name}.csv)",
            "",
        ]
    if len(failed):
        lines += ["## Failed runs", "", markdown(failed[["dataset", "method", "notion", "split", "note"]]), ""]
    notes = results.rows.query("status == 'ok'").dropna(subset="note")
    if len(notes):
        together = (
            notes.groupby(["dataset", "method", "note"], dropna=False)["split"].nunique().reset_index(name="splits")
        )
        lines += ["## Warnings of the methods", "", markdown(together), ""]
    return "\n".join(lines)


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


def write_csv(table: pd.DataFrame, path: Path, digits: int | None = None) -> None:
    """A table as CSV; floats with so many digits."""
    text = table.to_csv(index=False, lineterminator="\n", float_format=f"%.{digits}g" if digits else None)
    write_atomically(path, text)
