"""How accurate the recommended model is, with how many terms, and how long it takes: results/accuracy.md.

    python benchmarks/accuracy.py [acs] [paper] [wide] [small]

- acs: ACSIncome (PARITYBOOST_DATA/folktables), plain boosting chosen for accuracy against HistGradientBoosting and
  LightGBM, 200 trees each. Trained on the rows that the Aequitas Flow benchmark calls validation, measured on its test.
- paper: Adult, Bank and COMPAS, three notions, halves of fifteen seeds: BER + measure with and without the group in X.
- wide: a million rows with a column of 200 or of 5,000 categories.
- small: few rows to train on, 26 seeds, beside the settings before sets of categories and chosen pairs.

A *term* is a table of the fitted model, of one feature or of two, that is not flat. One thread each. What was run is
stored in results/accuracy-runs, so that a benchmark that was stopped goes on where it was; results/accuracy.csv has all
of it. What is compared by its time is run one after the other in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from parityboost import ParityBoostClassifier, datasets, explain, metrics

HERE = Path(__file__).parent
RUNS = HERE / "results" / "accuracy-runs"
TABLE = HERE / "results" / "accuracy.csv"  # all runs that were made, on any machine
CODES = ["OCCP", "POBP", "RELP", "COW", "MAR", "SEX", "RAC1P"]
PLAIN = {"notion": "none", "maximize": "accuracy", "random_state": 0, "n_jobs": 1}
OURS = {"one training": {"n_bags": 1}, "two trainings": {"n_bags": 2}, "as it is": {}}
BEFORE = {
    "category_splits": "one",
    "max_pairs": None,
    "n_bags": 4,
    "n_estimators": 200,
    "n_iter_no_change": None,
    "learning_rate": 0.2,
}
NOTIONS = ("disparate_mistreatment", "equal_opportunity", "statistical_parity")
PAPER = {"Adult": datasets.load_adult, "Bank": datasets.fetch_bank, "COMPAS": datasets.fetch_compas}
HALVES = (*range(5), *range(20, 30))  # five, and ten more that nothing of the model was chosen by
DRAWS = 26  # of few rows
SMALL_ROWS = (500, 1000, 2000, 5000)
MOST_NEW = 50_000  # rows to measure on


def timed(model, *args, **kwargs):
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a model warns of is not the question here
        model.fit(*args, **kwargs)
    return time.perf_counter() - started


def n_terms(model):
    """Tables of the model that are not flat."""
    alone = [shape.scores for shape in explain.shape_functions(model).values()]
    pairs = [pair.scores for pair in explain.pair_functions(model).values()]
    return sum(bool(np.ptp(scores) > 0) for scores in alone + pairs)


def quality(model, X, y):
    return {
        "accuracy": accuracy_score(y, model.predict(X)),
        "auc": roc_auc_score(y, model.predict_proba(X)[:, 1]),
    }


def acs():
    """Plain boosting on many rows: what each run found, all in one process."""
    import lightgbm

    folder = Path(os.environ["PARITYBOOST_DATA"]) / "folktables"
    parts = [pd.read_parquet(folder / f"ACSIncome.{part}.parquet") for part in ("validation", "test")]
    y, y_test = (part.pop("PINCP").to_numpy() for part in parts)
    X, X_test = parts
    named, named_test = (part.astype(dict.fromkeys(CODES, "category")) for part in parts)
    some = np.arange(0, len(y), 50)
    ParityBoostClassifier(**PLAIN, n_estimators=3).fit(named.iloc[some], y[some])  # what is compiled once is loaded
    peers = {
        "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=200, early_stopping=False, random_state=0),
        "LightGBM": lightgbm.LGBMClassifier(n_estimators=200, n_jobs=1, random_state=0, verbose=-1),
    }
    for name, model in peers.items():
        seconds = timed(model, X, y)
        yield {"model": name, "seconds": seconds, "terms": None, **quality(model, X_test, y_test)}
    for name, options in OURS.items():
        model = ParityBoostClassifier(**PLAIN, **options)
        seconds = timed(model, named, y)
        rounds = [int(theta) for theta in model.thetas_]
        found = quality(model, named_test, y_test)
        yield {"model": f"ours, {name}", "seconds": seconds, "terms": n_terms(model), "rounds": rounds, **found}


def objective(data, rows, new, notion, blind, options, seed):
    """BER + measure on new rows, and how the model looks."""
    X = data.data.drop(columns=data.sensitive_names) if blind else data.data
    y, s = data.target, data.sensitive
    model = ParityBoostClassifier(notion, random_state=seed, n_jobs=1, **options)
    seconds = timed(model, X.iloc[rows], y.iloc[rows], sensitive_features=s.iloc[rows])
    found = metrics.fairness_objective(
        y.iloc[new],
        model.predict(X.iloc[new]),
        sensitive_features=s.iloc[new],
        notion=notion,
        pos_label=model.positive_,
    )
    return {"objective": found, "seconds": seconds, "terms": n_terms(model)}


def paper(name):
    data = PAPER[name]()
    for seed in HALVES:
        rows, new = train_test_split(np.arange(len(data.target)), test_size=0.5, random_state=seed)
        for notion in NOTIONS:
            for blind in (False, True):
                key = {"data": name, "seed": seed, "notion": notion, "group": "without" if blind else "in X"}
                yield key | objective(data, rows, new, notion, blind, {}, seed)


def acs_by_sex():
    path = Path(os.environ["PARITYBOOST_DATA"], "folktables", "ACSIncome.validation.parquet")
    X = pd.read_parquet(path).astype(dict.fromkeys(CODES, "category"))
    y = X.pop("PINCP").astype(int)
    return SimpleNamespace(data=X, target=y, sensitive=X[["SEX"]], sensitive_names=["SEX"])


def small(name, n_rows):
    """As it is; what the settings before gave is in the table, since what groups pay was another thing then."""
    found = pd.read_csv(TABLE)
    found = found[(found["settings"] == "before") & (found["data"] == name) & (found["rows"] == n_rows)]
    yield from found.drop(columns="part").dropna(axis=1, how="all").to_dict("records")
    data = acs_by_sex() if name == "ACSIncome" else PAPER[name]()
    for seed in range(DRAWS):
        everyone = np.random.RandomState(seed).permutation(len(data.target))
        rows, new = everyone[:n_rows], everyone[n_rows : n_rows + MOST_NEW]
        key = {"data": name, "rows": n_rows, "seed": seed, "settings": "now"}
        yield key | objective(data, rows, new, "disparate_mistreatment", False, {}, seed)


def wide():
    rng = np.random.RandomState(0)
    n_rows = 1_000_000
    numbers = rng.normal(size=(n_rows, 4))
    group = rng.randint(2, size=n_rows)
    tables = {}
    for n_categories in (200, 5_000):
        category, effect = rng.randint(n_categories, size=n_rows), rng.normal(size=n_categories)
        y = (numbers[:, 0] + effect[category] + 0.5 * group + rng.logistic(size=n_rows) > 0).astype(int)
        X = pd.DataFrame(numbers, columns=list("abcd"))
        tables[n_categories] = X.assign(category=pd.Categorical(category.astype(str))), y
    X, y = tables[200]
    ParityBoostClassifier(n_estimators=3, n_jobs=1).fit(X[:5000], y[:5000], sensitive_features=group[:5000])
    for turn in range(2):
        for n_categories, (X, y) in tables.items():
            model = ParityBoostClassifier(n_estimators=100, n_iter_no_change=None, n_jobs=1, random_state=0)
            seconds = timed(model, X, y, sensitive_features=group)
            yield {"categories": n_categories, "turn": turn, "seconds": seconds}


PARTS = {
    "acs": {"acs": acs},
    "paper": {f"paper-{name.lower()}": lambda name=name: paper(name) for name in PAPER},
    "wide": {"wide": wide},
    "small": {
        f"small-{name.lower()}-{n_rows}": lambda name=name, n_rows=n_rows: small(name, n_rows)
        for name in (*PAPER, "ACSIncome")
        for n_rows in SMALL_ROWS
        if (name, n_rows) != ("COMPAS", 5000)  # of 5,278: too few are left to measure on
    },
}


def make(name, run):
    """Make what is missing of a run, and store it whole."""
    path = RUNS / f"{name}.json"
    if path.exists():
        return
    found = []
    for row in run():
        print(name, row, file=sys.stderr, flush=True)
        found.append(row)
    RUNS.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found, indent=1), encoding="utf8")
    part.replace(path)


def stored(part):
    """All rows of the runs of a part; those of the committed table where it has not been run here."""
    files = [path for path in sorted(RUNS.glob("*.json")) if path.stem in PARTS[part]]
    if files or not TABLE.exists():
        return pd.DataFrame([row for path in files for row in json.loads(path.read_text("utf8"))])
    found = pd.read_csv(TABLE)
    found = found[found["part"] == part].dropna(axis=1, how="all").drop(columns="part", errors="ignore")
    if "rounds" in found:
        found["rounds"] = [json.loads(text) if isinstance(text, str) else None for text in found["rounds"]]
    return found


def page():
    lines = ["# How accurate the recommended model is", "", "Made by `benchmarks/accuracy.py`. One thread.", ""]
    table = stored("acs")
    if len(table):
        theirs = float(table.loc[table["model"] == "HistGradientBoosting", "seconds"].iloc[0])
        lines += ["## ACSIncome", ""]
        lines += [
            '332,900 rows to train on, as many to test, race among the columns; `notion="none"`, '
            '`maximize="accuracy"`. The peers have 200 trees and codes as numbers. Time as a ratio to '
            "HistGradientBoosting's in the same run, on a machine that did other things as well.",
            "",
            "| model | accuracy | AUC | terms | trees used by each training | time |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for row in table.to_dict("records"):
            terms = "" if pd.isna(row["terms"]) else f"{row['terms']:.0f}"
            rounds = ", ".join(map(str, row["rounds"])) if isinstance(row["rounds"], list) else ""
            time_ratio = f"{row['seconds'] / theirs:.1f}"
            lines.append(
                f"| {row['model']} | {row['accuracy']:.4f} | {row['auc']:.4f} | {terms} | {rounds} | {time_ratio} |"
            )
        lines.append("")
    table = stored("paper")
    if len(table):
        means = table.groupby(["data", "group"]).agg({"objective": "mean", "terms": ["mean", "max"]})
        lines += ["## Adult, Bank, COMPAS", "", "BER + measure, the mean of three notions and fifteen halves.", ""]
        lines += ["| data | group | BER + measure | terms, mean | most |", "| --- | --- | --- | --- | --- |"]
        for (data, group), row in means.iterrows():
            lines.append(f"| {data} | {group} | {row.iloc[0]:.4f} | {row.iloc[1]:.1f} | {row.iloc[2]:.0f} |")
        for group, value in table.groupby(["group", "data"])["objective"].mean().groupby("group").mean().items():
            lines.append(f"| all | {group} | {value:.4f} | | |")
        lines += ["", "The same by notion:", "", f"| data | group | {' | '.join(NOTIONS).replace('_', ' ')} |"]
        lines += ["| --- | --- | --- | --- | --- |"]
        for (data, group), of in table.groupby(["data", "group"]):
            cells = of.groupby("notion")["objective"].agg(["mean", "sem"]).loc[list(NOTIONS)]
            lines.append(f"| {data} | {group} | {' | '.join(f'{m:.4f} ± {e:.4f}' for m, e in cells.to_numpy())} |")
        lines.append("")
    table = stored("wide")
    if len(table):
        least = table.groupby("categories")["seconds"].min()
        lines += [
            "## A wide column",
            "",
            f"A million rows, 100 rounds: a fit with a column of 5,000 categories takes {least[5000] / least[200]:.2f} "
            "times as long as with one of 200 (the quicker of two fits each).",
            "",
        ]
    table = stored("small")
    if len(table):
        lines += [
            "## Few rows",
            "",
            f"BER + measure for disparate mistreatment, {DRAWS} draws of the rows. Before: `{BEFORE}`, and costs for "
            "misclassified people alone. Differences with their standard errors; below 0 is better now.",
            "",
        ]
        lines += ["| data | rows | before | now | difference |", "| --- | --- | --- | --- | --- |"]
        wide_table = table.pivot_table(index=["data", "rows", "seed"], columns="settings", values="objective")
        for (data, n_rows), both in wide_table.groupby(["data", "rows"]):
            more = both["now"] - both["before"]
            difference = f"{more.mean():+.4f} ± {more.std(ddof=1) / len(more) ** 0.5:.4f}"
            means = f"{both['before'].mean():.4f} | {both['now'].mean():.4f}"
            lines.append(f"| {data} | {n_rows:.0f} | {means} | {difference} |")
        lines.append("")
    (HERE / "results" / "accuracy.md").write_text("\n".join(lines), encoding="utf8")
    rows = [stored(part).assign(part=part) for part in PARTS]
    pd.concat([table for table in rows if len(table)]).to_csv(TABLE, index=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; without any, only the page is made")
    for part in parser.parse_args().parts:
        if part not in PARTS:
            parser.error(f"no part {part!r}: there are {', '.join(PARTS)}")
        for name, run in PARTS[part].items():
            make(name, run)
    page()


if __name__ == "__main__":
    main()
