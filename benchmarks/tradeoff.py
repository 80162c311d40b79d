"""How far each method gets with balanced error and unfairness together: the table and figure of docs/which-model.md.

    python benchmarks/tradeoff.py [--quick] [--kdd] [--jobs 1] [--again FAMILY] [--environments FOLDER]

Random halves (seeds 0 to 4) of Adult, Bank and COMPAS, for three notions. Peers train on two thirds of the training
half, and everything about them that can be chosen (thresholds, thresholds per group, tolerances) is chosen on the other
third, which is the same for all. Ours get the training half and make their own splits of it. All measures are of the
test half. One thread each.

Each run is stored as JSON lines in benchmarks/results/tradeoff-runs, so that a run that was stopped goes on where it
was; ``--again`` forgets those of a family. Results go to benchmarks/results/tradeoff.{md,csv,svg,png}. ``--quick`` is
one split of Adult without the peers that need environments of their own or minutes; it prints, and stores nothing.
All but Adult need PARITYBOOST_DATA or a network.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

# Read when NumPy and scikit-learn are loaded; the peers' processes inherit them.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import pandas as pd
from joblib import Parallel, delayed
from tradeoff_methods import FAMILIES, LOADERS, halves
from tradeoff_pages import per_dataset, write

HERE = Path(__file__).parent
RUNS = HERE / "results" / "tradeoff-runs"
ENVIRONMENTS = HERE.parent / ".venv" / "peers"


def plan(quick, kdd):
    """(family, dataset, split) of every run, the quick ones first."""
    if quick:
        return [(family, "adult", 0) for family in ("ours", "boosting")]
    paper = ("adult", "bank", "compass")
    runs = [
        (family, dataset, split)
        for family in FAMILIES
        if family != "times"
        for split in range(5)
        for dataset in (*paper, *(name for name in LOADERS if name.startswith("synthetic") and family == "bags"))
    ]
    runs += [("times", "adult", 0)]
    if kdd:
        runs += [(family, "kdd", 0) for family in ("ours", "boosting", "postprocessing", "fairgbm", "times")]
    return runs


def execute(run, environments):
    """The rows of one run."""
    family, dataset, split = run
    options = {"environments": environments} if family in ("postprocessing", "fairgbm", "mmm_fair") else {}
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a method warns of is not the question here
        for method, notion, seconds, found in FAMILIES[family](*halves(dataset, split), split, **options):
            row = {"family": family, "dataset": dataset, "split": split, "method": method, "notion": notion}
            if isinstance(found, str):
                rows.append(row | {"failed": found})
            else:
                rows += [row | {"seconds": seconds, "point": point, **m} for point, m in found or [("", {})]]
    return rows


def path_of(run):
    family, dataset, split = run
    return RUNS / f"{family}-{dataset.replace(', ', '-').replace(' ', '-')}-{split}.jsonl"


def execute_and_store(run, environments):
    rows = execute(run, environments)
    path = path_of(run)
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf8")
    part.replace(path)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one split of Adult, printed")
    parser.add_argument("--kdd", action="store_true", help="KDD census as well, one split")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--only", nargs="+", choices=FAMILIES, help="only runs of these families")
    parser.add_argument("--again", nargs="+", choices=FAMILIES, default=[], help="forget the runs of these families")
    parser.add_argument(
        "--environments", type=Path, default=ENVIRONMENTS, help="where the peers' environments are kept"
    )
    arguments = parser.parse_args()
    runs = [run for run in plan(arguments.quick, arguments.kdd) if run[0] in (arguments.only or FAMILIES)]
    if arguments.quick:
        rows = [row for run in runs for row in execute(run, arguments.environments)]
        print("\n".join(per_dataset(pd.DataFrame(rows), ["adult"])))
        return
    RUNS.mkdir(parents=True, exist_ok=True)
    for family in arguments.again:
        for path in RUNS.glob(f"{family}-*.jsonl"):
            path.unlink()
    missing = [run for run in runs if not path_of(run).exists()]
    print(f"{len(runs)} runs, {len(missing)} to make", file=sys.stderr, flush=True)
    started = time.perf_counter()
    done = Parallel(arguments.jobs, return_as="generator_unordered")(
        delayed(execute_and_store)(run, arguments.environments) for run in missing
    )
    for k, (family, dataset, split) in enumerate(done, 1):
        spent = time.perf_counter() - started
        print(
            f"{k}/{len(missing)} after {spent:.0f} s: {family}, {dataset}, split {split}", file=sys.stderr, flush=True
        )
    stored = [json.loads(line) for path in sorted(RUNS.glob("*.jsonl")) for line in path.read_text("utf8").splitlines()]
    write(pd.DataFrame(stored), HERE / "results")


if __name__ == "__main__":
    main()
