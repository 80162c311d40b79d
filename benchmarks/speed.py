"""How fast parityboost is, as ratios against peers measured in the same run.

    python benchmarks/speed.py [--only TEXT] [--no-large]

Every measurement is a process of its own with a fixed number of threads (one, unless its name says otherwise), so a
peer that does not finish within the limit can be stopped and is reported as that. Our compilation is excluded from the
times and reported on its own. Results go to benchmarks/results/speed.json and speed.md.

The peers get prepared input: the one-hot matrix or integer codes are made before the clock starts. Ours starts from the
DataFrame, so its binning is always included.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parent / "results"
LIMIT = 150  # seconds that one measurement (all its repetitions) may take
ROUNDS = 200
ADULT_ROWS, KDD_ROWS = 22_587, 149_642


# --- Data: prepared before any clock starts -------------------------------------------------------


def load(name: str) -> tuple[Any, Any, Any]:
    """X, y and groups: the training half of a paper's dataset, or synthetic rows "N x F"."""
    from parityboost import datasets

    if name == "adult":
        bunch, n_rows = datasets.load_adult(), ADULT_ROWS
    elif name == "kdd":
        bunch, n_rows = datasets.fetch_kdd_census(download=False), KDD_ROWS
    else:
        n_rows, n_features = (int(part) for part in name.split("x"))
        bunch = datasets.make_biased_classification(n_rows, n_features, label_noise=0.1, random_state=0)
    return bunch.data.iloc[:n_rows], bunch.target.iloc[:n_rows], bunch.sensitive.iloc[:n_rows]


def one_hot(X: Any) -> Any:
    import numpy as np
    import pandas as pd

    return np.ascontiguousarray(pd.get_dummies(X).to_numpy(dtype=np.float32))


def integer_codes(X: Any) -> tuple[Any, list[bool]]:
    """Categories as integers, for peers that take them so."""
    categorical = [str(dtype) == "category" for dtype in X.dtypes]
    coded = X.copy()
    for name, flag in zip(X.columns, categorical, strict=True):
        coded[name] = X[name].cat.codes.astype("int32") if flag else X[name]
    return coded.to_numpy(dtype="float64"), categorical


# --- What is measured: each returns a function to time --------------------------------------------


def ours(data: str, n_jobs: int = 1, rounds: int = ROUNDS, depth: int = 1) -> Any:
    from parityboost import AdaFairClassifier

    X, y, s = load(data)
    model = AdaFairClassifier(n_estimators=rounds, max_depth=depth, random_state=0, n_jobs=n_jobs)
    return lambda: model.fit(X, y, sensitive_features=s)


def recommended(data: str, n_jobs: int = 1) -> Any:
    from parityboost import ParityBoostClassifier

    X, y, s = load(data)
    model = ParityBoostClassifier("equal_opportunity", random_state=0, n_jobs=n_jobs)
    return lambda: model.fit(X, y, sensitive_features=s)


def one_and_two_threads(data: str, n_turns: int) -> Any:
    """Not a time: one thread and two in turns, so that a machine that is busy for a while slows down both."""
    one, two = recommended(data), recommended(data, 2)
    for function in (one, two):  # compiles
        function()

    def timed(function: Any) -> tuple[float, float]:
        started, used = time.perf_counter(), time.process_time()
        function()
        wall = time.perf_counter() - started
        return wall, (time.process_time() - used) / wall

    def run() -> dict[str, float]:
        turns = [[timed(function) for function in (one, two)] for _ in range(n_turns)]
        return {
            "one": median(t[0][0] for t in turns),
            "two": median(t[1][0] for t in turns),
            "ratio": median(t[0][0] / t[1][0] for t in turns),
            "cores": median(t[1][1] for t in turns),
        }

    return run


def recommended_predict() -> Any:
    X, _, _ = load("adult")
    model = recommended("adult")()
    new = _million(X)
    return lambda: model.predict(new)


def ours_small() -> Any:
    from parityboost import AdaFairClassifier

    X, y, s = (part.iloc[:1000] for part in load("adult"))
    return lambda: AdaFairClassifier(random_state=0).fit(X, y, sensitive_features=s)


def histogram_passes(data: str) -> Any:
    """The physical limit: 200 histogram passes over the codes of all training rows, and nothing else."""
    import numpy as np

    from parityboost._engine.cpu import Listed, add_to_histograms
    from parityboost._engine.threads import Team
    from parityboost._table.binning import Binner
    from parityboost._table.sources import find_categorical, read_sources

    X, y, _ = load(data)
    n_train = round(0.67 * len(X))  # what a fit with the default validation split trains on
    sources = read_sources(X)
    with Team(1) as team:
        rows = np.argsort(y.to_numpy()[:n_train], kind="stable")
        binner = Binner.fit(sources, rows, None, 255, find_categorical(X, sources, "from_dtype"), team)
        codes = np.array(binner.encode(sources, rows, team))
    n_negative = int((y.to_numpy()[:n_train] == 0).sum())
    blocks = np.array([(0, 0, n_negative), (1, n_negative, n_train)])
    size = 1 << 13
    blocks = np.array(
        [(k, a, min(a + size, last)) for k, first, last in blocks.tolist() for a in range(first, last, size)]
    )
    histograms = np.zeros((len(codes), 2, 2, 256), dtype=np.int64)
    listed = Listed(np.arange(n_train, dtype=np.uint32), np.ones(n_train, dtype=np.int64), blocks[:, 2] - blocks[:, 1])

    def run() -> None:
        for _ in range(ROUNDS):
            histograms[:] = 0
            add_to_histograms(codes, listed, blocks, 1, histograms, 0, len(codes))

    return run


def sklearn_adaboost(data: str, rounds: int = ROUNDS) -> Any:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    X, y, _ = load(data)
    X = one_hot(X)
    return lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=rounds).fit(X, y)


def hist_gradient_boosting(data: str) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y, _ = load(data)
    model = HistGradientBoostingClassifier(max_iter=100, categorical_features="from_dtype", early_stopping=False)
    return lambda: model.fit(X, y)


def ebm(data: str) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    X, y, _ = load(data)
    return lambda: ExplainableBoostingClassifier(interactions=0, n_jobs=1).fit(X, y)


def _fairlearn_base(data: str) -> tuple[Any, Any, Any, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y, s = load(data)
    X, categorical = integer_codes(X)
    base = HistGradientBoostingClassifier(max_iter=100, categorical_features=categorical, early_stopping=False)
    return X, y, s, base


def exponentiated_gradient(data: str) -> Any:
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient

    X, y, s, base = _fairlearn_base(data)
    return lambda: ExponentiatedGradient(base, EqualizedOdds()).fit(X, y, sensitive_features=s)


def threshold_optimizer(data: str) -> Any:
    from fairlearn.postprocessing import ThresholdOptimizer

    X, y, s, base = _fairlearn_base(data)
    return lambda: ThresholdOptimizer(estimator=base, constraints="equalized_odds", predict_method="predict_proba").fit(
        X, y, sensitive_features=s
    )


def _million(X: Any) -> Any:
    return X.sample(1_000_000, replace=True, random_state=0).reset_index(drop=True)


def ours_predict(data: str = "adult", depth: int = 1) -> Any:
    from parityboost import AdaFairClassifier

    X, y, s = load(data)
    model = AdaFairClassifier("none", n_estimators=ROUNDS, max_depth=depth, validation_fraction=None)
    model.fit(X, y, sensitive_features=s)
    new = _million(X)
    model.set_theta(model.n_estimators_)
    return lambda: model.predict(new)


def sklearn_predict() -> Any:
    X, _, _ = load("adult")
    model = sklearn_adaboost("adult")()
    new = one_hot(_million(X))
    return lambda: model.predict(new)


def memory(data: str) -> Any:
    """Not a time: peak of Python's and NumPy's allocations during fit, in bytes per row beyond one byte per cell."""
    from parityboost import AdaFairClassifier

    X, y, s = load(data)
    AdaFairClassifier(n_estimators=2, random_state=0).fit(X[:2000], y[:2000], sensitive_features=s[:2000])  # compile

    def run() -> float:
        tracemalloc.start()
        AdaFairClassifier(n_estimators=20, random_state=0, n_jobs=1).fit(X, y, sensitive_features=s)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return (peak - X.shape[0] * X.shape[1]) / len(X)

    return run


def large() -> Any:
    """10 million rows of 50 float32 columns, two threads; peak memory of the whole process, data included."""
    import numpy as np

    from parityboost import AdaFairClassifier

    rng = np.random.default_rng(0)
    n_rows, n_columns = 10_000_000, 50
    X = np.empty((n_rows, n_columns), dtype=np.float32, order="F")
    for j in range(n_columns):
        X[:, j] = rng.standard_normal(n_rows, dtype=np.float32)
    s = (rng.random(n_rows, dtype=np.float32) < 0.5).astype(np.int8)
    noise = rng.standard_normal(n_rows, dtype=np.float32)
    y = (X[:, :10].sum(axis=1) / 3 + 0.3 * s + noise > 0.8).astype(np.int8)
    AdaFairClassifier(n_estimators=2).fit(X[:5000], y[:5000], sensitive_features=s[:5000])  # compile

    def run() -> dict[str, float]:
        started = time.perf_counter()
        AdaFairClassifier(random_state=0, n_jobs=2).fit(X, y, sensitive_features=s)
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}

    return run


# --- One measurement in a process of its own ------------------------------------------------------


def child(call: str, repetitions: int) -> None:
    started = time.perf_counter()
    function = eval(call)
    prepared = time.perf_counter() - started
    times, value = [], None
    is_ours = call.startswith(("ours", "histogram"))
    if is_ours:
        function()  # loads or compiles the kernels
    for _ in range(repetitions):
        started = time.perf_counter()
        value = function()
        times.append(time.perf_counter() - started)
        print(json.dumps({"times": times, "prepared": prepared, "value": _plain(value)}), flush=True)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, dict)) else None


def measure(call: str, repetitions: int, threads: int = 1, limit: float = LIMIT) -> dict[str, Any]:
    """Run one call in a process of its own; what it had measured when it was stopped counts."""
    environment = os.environ | {
        name: str(threads)
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    }
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        command = [sys.executable, __file__, "--child", call, "--repetitions", str(repetitions)]
        try:
            code = subprocess.run(
                command, stdout=out, stderr=err, env=environment, timeout=limit, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            code = 0
        out.seek(0)
        err.seek(0)
        lines = [line for line in out.read().splitlines() if line.startswith("{")]
        if code:
            return {"failed": err.read().strip().splitlines()[-1][:200]}
    if not lines:
        return {"unfinished": limit}
    result = json.loads(lines[-1])
    times = sorted(result["times"])
    stopped = len(times) < repetitions  # within the limit it did not get further
    return {"median": times[len(times) // 2], "runs": len(times), "stopped": stopped, "value": result["value"]}


def cold_start() -> dict[str, float]:
    """Seconds of a first fit with nothing compiled, and in a later process, over importing scikit-learn and pandas."""
    code = (
        "import time, sys; import sklearn.ensemble, pandas; t = time.perf_counter(); "
        "import numpy as np; from parityboost import AdaFairClassifier; "
        "X = np.random.default_rng(0).normal(size=(500, 3)); "
        "AdaFairClassifier(n_estimators=5).fit(X, X[:, 0] > 0.2, sensitive_features=X[:, 1] > 0).predict(X); "
        "print(time.perf_counter() - t)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        runs = [
            float(
                subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
                ).stdout
            )
            for _ in range(4)
        ]
    return {"first": runs[0], "later": min(runs[1:])}


# --- The table ------------------------------------------------------------------------------------


def seconds(result: dict[str, Any]) -> str:
    if "median" in result:
        value = result["median"]
        text = f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"
        return f"{text} ({result['runs']} run{'s' if result['runs'] > 1 else ''})" if result["stopped"] else text
    return f"> {result['unfinished']:.0f} s" if "unfinished" in result else f"failed: {result['failed']}"


class Report:
    """Rows of the table, printed as they come and written at the end."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, what: str, ours_text: str, peer: str, peer_text: str, ratio: float | None, sign: str = "") -> None:
        shown = "" if ratio is None else f"{sign}{ratio:.0f} ×" if ratio >= 10 else f"{sign}{ratio:.2f} ×"
        self.rows.append({"what": what, "ours": ours_text, "peer": peer, "peer_time": peer_text, "ratio": ratio})
        self.rows[-1] |= {"shown": shown, "date": date.today().isoformat()}
        print(f"{what:<44} {ours_text:>12}   {peer:<42} {peer_text:>14} {shown:>9}", flush=True)

    def compare(self, what: str, mine: dict[str, Any], peer: str, theirs: dict[str, Any], scale: float = 1.0) -> None:
        if "median" in theirs:
            theirs = theirs | {"median": theirs["median"] * scale}
            self.add(what, seconds(mine), peer, seconds(theirs), theirs["median"] / mine["median"])
        elif "unfinished" in theirs:
            self.add(what, seconds(mine), peer, seconds(theirs), theirs["unfinished"] * scale / mine["median"], "> ")
        else:
            self.add(what, seconds(mine), peer, seconds(theirs), None)

    def write(self, keep_others: bool) -> None:
        """Write the table; with ``keep_others`` rows that were not measured again stay as they were."""
        RESULTS.mkdir(exist_ok=True)
        if keep_others and (RESULTS / "speed.json").exists():
            before = json.loads((RESULTS / "speed.json").read_text(encoding="utf8"))
            new = {(row["what"], row["peer"]) for row in self.rows}
            old = [{"date": before["about"]["date"]} | row for row in before["rows"]]
            self.rows = [row for row in old if (row["what"], row["peer"]) not in new] + self.rows
        dates = sorted({row["date"] for row in self.rows})
        packages = ["parityboost", "numpy", "numba", "scikit-learn", "pandas", "fairlearn", "interpret-core"]
        about = {
            "date": date.today().isoformat(),
            "python": platform.python_version(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "versions": {name: version(name) for name in packages},
            "command": "make bench",
        }
        _write(RESULTS / "speed.json", json.dumps({"about": about, "rows": self.rows}, indent=1) + "\n")
        lines = [
            "# Speed",
            "",
            f"`make bench` on {' and '.join(dates)}: Python {about['python']}, {about['machine']}, "
            + ", ".join(f"{name} {v}" for name, v in about["versions"].items())
            + ".",
            "",
            "Medians of at least five runs, one thread each unless stated. A peer that did not get that far within",
            f"{LIMIT} seconds shows its number of runs, or that limit. Ours starts from the DataFrame; peers' input is",
            "prepared before the clock starts. The ratio is the peer's time divided by ours.",
            "",
            "| what | ours | peer | peer's time | ratio |",
            "| --- | ---: | --- | ---: | ---: |",
            *(f"| {r['what']} | {r['ours']} | {r['peer']} | {r['peer_time']} | {r['shown']} |" for r in self.rows),
            "",
        ]
        _write(RESULTS / "speed.md", "\n".join(lines))


def _write(path: Path, text: str) -> None:
    """All or nothing."""
    scratch = path.with_suffix(path.suffix + ".part")
    scratch.write_text(text, encoding="utf8")
    scratch.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--repetitions", type=int, default=5, help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="only sections whose name contains this text")
    parser.add_argument("--no-large", action="store_true", help="leave out 10 million rows")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.repetitions)
        return

    report = Report()

    def wanted(section: str) -> bool:
        return arguments.only in section

    print(f"{'':<44} {'ours':>12}   {'peer':<42} {'':>14} {'ratio':>9}")
    if wanted("adult"):
        what = f"fit, Adult, {ADULT_ROWS:,} rows, {ROUNDS} rounds"
        mine = measure("ours('adult')", 15)
        peers = {
            "scikit-learn AdaBoost, one-hot": "sklearn_adaboost('adult')",
            "scikit-learn HistGradientBoosting": "hist_gradient_boosting('adult')",
            "fairlearn ThresholdOptimizer (HistGB)": "threshold_optimizer('adult')",
            "fairlearn ExponentiatedGradient (HistGB)": "exponentiated_gradient('adult')",
            "InterpretML EBM, no interactions": "ebm('adult')",
        }
        for peer, call in peers.items():
            report.compare(what, mine, peer, measure(call, 5))
        report.compare(what, mine, f"{ROUNDS} pure histogram passes", measure("histogram_passes('adult')", 15))
        report.compare(what + ", 2 threads", measure("ours('adult', 2)", 15, 2), "ours, 1 thread", mine)
        trees = measure("ours('adult', depth=2)", 15)
        report.compare(what + ", depth 2", trees, "ours, stumps", mine)
        hist = measure("hist_gradient_boosting('adult')", 5)
        report.compare(what + ", depth 2", trees, "scikit-learn HistGradientBoosting", hist)
    if wanted("kdd") and os.environ.get("PARITYBOOST_DATA"):
        what = f"fit, KDD census, {KDD_ROWS:,} rows, {ROUNDS} rounds"
        mine = measure("ours('kdd')", 9)
        report.compare(
            what,
            mine,
            f"scikit-learn AdaBoost, one-hot (10 rounds × {ROUNDS // 10})",
            measure("sklearn_adaboost('kdd', 10)", 5, limit=2 * LIMIT),
            ROUNDS / 10,
        )
        report.compare(what, mine, "scikit-learn HistGradientBoosting", measure("hist_gradient_boosting('kdd')", 5))
        report.compare(what, mine, "InterpretML EBM, no interactions", measure("ebm('kdd')", 5))
        report.compare(
            what, mine, "fairlearn ExponentiatedGradient (HistGB)", measure("exponentiated_gradient('kdd')", 5)
        )
        report.compare(what, mine, "fairlearn ThresholdOptimizer (HistGB)", measure("threshold_optimizer('kdd')", 5))
        report.compare(what, mine, f"{ROUNDS} pure histogram passes", measure("histogram_passes('kdd')", 9))
        report.compare(what + ", 2 threads", measure("ours('kdd', 2)", 9, 2), "ours, 1 thread", mine)
        trees = measure("ours('kdd', depth=2)", 9)
        report.compare(what + ", depth 2", trees, "ours, stumps", mine)
        hist = measure("hist_gradient_boosting('kdd')", 5)
        report.compare(what + ", depth 2", trees, "scikit-learn HistGradientBoosting", hist)
    for data, n_rows in {"adult": ADULT_ROWS, "kdd": KDD_ROWS}.items():
        if not wanted(f"recommended {data}") or (data == "kdd" and not os.environ.get("PARITYBOOST_DATA")):
            continue
        what = f"fit, {'Adult' if data == 'adult' else 'KDD census'}, {n_rows:,} rows, the recommended model"
        n_runs = 11 if data == "adult" else 5
        mine = measure(f"recommended('{data}')", n_runs)
        peers = {
            "scikit-learn HistGradientBoosting": f"hist_gradient_boosting('{data}')",
            "fairlearn ThresholdOptimizer (HistGB)": f"threshold_optimizer('{data}')",
            "fairlearn ExponentiatedGradient (HistGB)": f"exponentiated_gradient('{data}')",
        }
        for peer, call in peers.items():
            report.compare(what, mine, peer, measure(call, 5))
        found = measure(f"one_and_two_threads('{data}', {n_runs})", 1, 1, limit=2 * LIMIT)
        if found.get("value") is None:
            report.add(what + ", 2 threads", seconds(found), "1 thread, in turns", "", None)
            continue
        value = found["value"]
        given = seconds({"median": value["two"], "stopped": False}), "1 thread, in turns"
        report.add(what + ", 2 threads", *given, seconds({"median": value["one"], "stopped": False}), value["ratio"])
        report.add(
            what + ", cores in use of 2",
            f"{value['cores']:.2f}",
            "processor time by wall time",
            "",
            None,
        )
    if wanted("recommended predict"):
        trees = measure("ours_predict(depth=2)", 7)
        report.compare(
            "predict, 1,000,000 rows of Adult, the recommended model",
            measure("recommended_predict()", 7),
            "one model of depth 2",
            trees,
        )
    if wanted("predict"):
        mine, theirs = measure("ours_predict()", 7), measure("sklearn_predict()", 5, limit=2 * LIMIT)
        report.compare("predict, 1,000,000 rows of Adult", mine, "scikit-learn AdaBoost, one-hot", theirs)
        trees = measure("ours_predict(depth=2)", 7)
        report.compare("predict, 1,000,000 rows of Adult, depth 2", trees, "ours, stumps", mine)
    if wanted("small"):
        report.add(
            "fit, 1,000 rows of Adult, 200 rounds", seconds(measure("ours_small()", 25)), "limit: 20 ms", "", None
        )
    if wanted("growth"):
        base = measure("ours('1000000x20')", 5, limit=2 * LIMIT)
        report.compare(
            "growth, 1 M → 4 M rows, 20 columns",
            base,
            "4 times the rows",
            measure("ours('4000000x20')", 5, limit=3 * LIMIT),
        )
        report.compare(
            "growth, 20 → 40 columns, 1 M rows",
            base,
            "twice the columns",
            measure("ours('1000000x40')", 5, limit=2 * LIMIT),
        )
    if wanted("memory"):
        for data, limit in (("1000000x20", 48), ("adult", None)):
            used = measure(f"memory('{data}')", 1)["value"]
            name = data if data == "adult" else "1 M × 20"
            report.add(
                f"memory of fit, {name}",
                f"{used:.0f} B/row",
                "beyond one byte per cell",
                f"limit {limit}" if limit else "",
                None,
            )
    if wanted("cold"):
        cold = cold_start()
        report.add("first fit, nothing compiled yet", f"{cold['first']:.1f} s", "limit: 20 s", "", None)
        report.add(
            "first fit in a later process",
            f"{cold['later']:.2f} s",
            "over scikit-learn and pandas, limit 0.5 s",
            "",
            None,
        )
    if wanted("large") and not arguments.no_large:
        result = measure("large()", 1, 2, limit=4 * LIMIT)
        value = result.get("value")
        shown = f"{value['seconds']:.0f} s" if value else seconds(result)
        report.add(
            "fit, 10 M × 50 float32, 200 rounds, 2 threads",
            shown,
            "peak memory, data included",
            f"{value['GiB']:.1f} GiB" if value else "",
            None,
        )
    report.write(keep_others=bool(arguments.only or arguments.no_large))


if __name__ == "__main__":
    main()
