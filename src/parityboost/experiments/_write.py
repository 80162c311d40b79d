"""Writes what came of the runs: figures, their numbers, Table 1, the claims and the pages that show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from .._io.atomic import write_atomically
from ..datasets import overview
from ._claim_list import FIRST_CLAIMS
from ._claims import compare
from ._claims_added import ADDED_CLAIMS
from ._draw import render
from ._execute import TABLE_1
from ._pages import claims_page, figure_page, index_page, markdown
from ._plan import Figure
from ._rows import NotMeasuredError, Results, tabulate
from ._run import Run
from ._scope import Scope
from ._settings import SETTINGS
from ._store import Store

FIGURES_FOLDER = "figures"
PARTS = "parts.csv"  # what benchmarks/differences.py found, if it was run
Panels = dict[str, dict[str, pd.DataFrame]]  # by dataset and setting


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
