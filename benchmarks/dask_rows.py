"""Training on Dask: 5 and 50 million rows on two workers of 3 GiB, and what a round costs beside the work.

    python benchmarks/dask_rows.py rows 5 50       # millions of rows, in Parquet files in a folder that is removed
    python benchmarks/dask_rows.py overhead        # Adult on 1, 2 and 4 workers: milliseconds and bytes per round

Times of one run on a machine that may be busy: the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

N_NUMBERS, N_SMALL = 12, 8
ROWS_PER_FILE = 250_000
COLUMNS = [f"number{j}" for j in range(N_NUMBERS)] + [f"small{j}" for j in range(N_SMALL)]


def make_part(seed: int, n_rows: int) -> pd.DataFrame:
    """Twenty columns, twelve of numbers and eight of few values; a label and two groups."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(N_NUMBERS, n_rows)).astype(np.float32)
    small = rng.integers(0, [2, 3, 5, 7, 10, 16, 20, 50], size=(n_rows, N_SMALL)).astype(np.int8).T
    group = rng.integers(0, 2, n_rows).astype(np.int8)
    score = numbers[:4].sum(axis=0) + 0.3 * small[3] - 0.8 * group + rng.normal(size=n_rows)
    table = {f"number{j}": column for j, column in enumerate(numbers)}
    table |= {f"small{j}": column for j, column in enumerate(small)}
    return pd.DataFrame({**table, "label": (score > 1.5).astype(np.int8), "group": group})


def write_rows(folder: Path, millions: float) -> None:
    folder.mkdir(parents=True)
    for part in range(max(int(millions * 1e6) // ROWS_PER_FILE, 1)):
        make_part(part, ROWS_PER_FILE).to_parquet(folder / f"{part:05}.parquet")


class Watch:
    """The largest memory of each process below this one."""

    def __init__(self) -> None:
        self.peak: dict[int, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._stop.wait(0.5):
            for child in psutil.Process().children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    self.peak[child.pid] = max(self.peak.get(child.pid, 0), child.memory_info().rss)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()


class Timed:
    """When the first round began, told by the loop."""

    def __init__(self) -> None:
        from parityboost._fit import loop

        self.began = 0.0
        original = loop.boost

        def boost(*given: object) -> object:
            self.began = time.perf_counter()
            return original(*given)  # type: ignore[arg-type]

        loop.boost = boost  # type: ignore[assignment]


def fit_rows(folder: Path, rounds: int) -> tuple[float, float, float, object]:
    """Seconds before the first round and in the rounds, and the largest worker in GiB."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from parityboost.dask import DaskAdaFairClassifier

    timed = Timed()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="3GiB", host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster),
        Watch() as watch,
    ):
        frame = dd.read_parquet(str(folder / "*.parquet"))
        started = time.perf_counter()
        model = DaskAdaFairClassifier(n_estimators=rounds, random_state=0).fit(
            frame[COLUMNS], frame["label"], sensitive_features=frame["group"]
        )
        ended = time.perf_counter()
    return timed.began - started, ended - timed.began, max(watch.peak.values()) / 2**30, model


def run_rows(millions: list[float], rounds: int, folder: Path, compare: float) -> None:
    for n in millions:
        here = folder / f"{n:g}"
        write_rows(here, n)
        try:
            before, training, peak, model = fit_rows(here, rounds)
            total = before + training
            print(
                f"{n:g} million rows × {len(COLUMNS)} columns, 2 workers of 3 GiB, {rounds} rounds: {total:.1f} s "
                f"({before:.1f} s before the first round, {training:.1f} s in the rounds), "
                f"{1e9 * total / (n * 1e6):.0f} ns per row, largest worker {peak:.2f} GiB, θ = {model.theta_}",
                flush=True,
            )
            if n <= compare:
                run_local(here, rounds, total, model)
        finally:
            shutil.rmtree(here)


def run_local(folder: Path, rounds: int, total: float, model: object) -> None:
    from parityboost import AdaFairClassifier

    frame = pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))], ignore_index=True)
    started = time.perf_counter()
    local = AdaFairClassifier(n_estimators=rounds, random_state=0).fit(
        frame[COLUMNS], frame["label"], sensitive_features=frame["group"]
    )
    seconds = time.perf_counter() - started
    same = local.history_.equals(model.history_)  # type: ignore[attr-defined]
    print(
        f"  on one machine, one thread: {seconds:.1f} s; Dask takes {total / seconds:.2f} times as long; same: {same}"
    )


def run_overhead(rounds: int) -> None:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from parityboost import AdaFairClassifier
    from parityboost.dask import DaskAdaFairClassifier
    from parityboost.datasets import load_adult

    adult = load_adult()
    options = {"n_estimators": rounds, "random_state": 0}
    local = AdaFairClassifier(**options).fit(adult.data, adult.target, sensitive_features=adult.sensitive)
    table = adult.data.assign(label=np.asarray(adult.target), sensitive=np.asarray(adult.sensitive))
    timed = Timed()
    for n_workers in (1, 2, 4):
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            ) as cluster,
            Client(cluster),
        ):
            frame = dd.from_pandas(table, npartitions=2 * n_workers)
            given = frame[list(adult.data.columns)], frame["label"]
            model = DaskAdaFairClassifier(**options)
            times = []
            for _ in range(3):
                model.fit(*given, sensitive_features=frame["sensitive"])
                times.append(time.perf_counter() - timed.began)
            messages, sent, received = model._traffic
        print(
            f"Adult, {n_workers} workers: {1e3 * np.median(times) / model.n_estimators_:.1f} ms per round, "
            f"{messages} messages, {sent / n_workers / model.n_estimators_:.0f} bytes to and "
            f"{received / n_workers / model.n_estimators_:.0f} from each worker per round; "
            f"same as on one machine: {local.history_.equals(model.history_)}",
            flush=True,
        )


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rows", "overhead"])
    parser.add_argument("millions", nargs="*", type=float, default=[5.0, 50.0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where the files are written, and removed")
    parser.add_argument("--compare", type=float, default=5.0, help="up to so many million rows are trained here too")
    given = parser.parse_args()
    if given.what == "overhead":
        run_overhead(given.rounds)
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        run_rows(given.millions, given.rounds, Path(folder), given.compare)


if __name__ == "__main__":
    main()
