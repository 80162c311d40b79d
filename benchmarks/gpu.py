"""Training on a graphics card: seconds, the ratio to the processor of the same machine, and how close to the limit.

    python benchmarks/gpu.py [--rows 10000000 100000000] [--out benchmarks/results/gpu.md]

Tables are codes of 50 columns with 255 bins each, made on the card. The limit is the memory: a round has to read all
codes once, and a copy on the card tells how many bytes a second that can be.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import cupy
import numpy as np

from parityboost import AdaFairClassifier
from parityboost._choice.wishes import Settings
from parityboost._engine.threads import Team
from parityboost._fit import loop, preparation
from parityboost._fit.loop import boost, starting_factors
from parityboost._fit.samples import CodedSample, Sample, to_masses
from parityboost._fit.trees import Growing, TreeLearner
from parityboost._table.binning import Binner, Bundles, NumericColumn
from parityboost.notions import get_notion

N_COLUMNS, N_BINS, N_ROUNDS = 50, 255, 200
N_FITS = 5  # of values, of which the median counts
N_COMPARED = 20  # rounds, where the processor has to do the same, and of what takes longer
SHARES = [0.4, 0.25, 0.25, 0.1]  # of the cells: two groups of negatives, two of positives


def make_cells(n_rows: int) -> np.ndarray:
    sizes = [int(n_rows * share) for share in SHARES]
    sizes[0] += n_rows - sum(sizes)
    return np.repeat(np.arange(4, dtype=np.uint8), sizes)


def make_codes(cell: np.ndarray) -> cupy.ndarray:
    """Codes whose columns say something about the class, the first ones more than the last ones."""
    rng = cupy.random.RandomState(0)
    codes = cupy.empty((N_COLUMNS, len(cell)), dtype=cupy.uint8)
    positive = int((cell < 2).sum())  # the first row of the positive class
    for f in range(N_COLUMNS):
        uniform = rng.random_sample(len(cell), dtype=cupy.float32)
        uniform[positive:] **= np.float32(1.0 - 0.4 / (1.0 + f))
        codes[f] = (uniform * np.float32(N_BINS - 1e-3)).astype(cupy.uint8) + 1
    return codes


def make_bundles() -> Bundles:
    edges = np.arange(N_BINS - 1) + 0.5
    return Bundles(Binner(tuple(NumericColumn(f"x{j}", edges, N_BINS) for j in range(N_COLUMNS))))


def train(codes, cell, device, n_threads=1, n_rounds=N_ROUNDS, depth=1, **settings):
    """Seconds of the rounds, and of making the learner before; and what was trained."""
    bundles = make_bundles()
    with Team(n_threads, device) as team:
        sample = Sample(cell, 2, to_masses(None), np.arange(len(cell), dtype=np.int32), team)
        coded = CodedSample(sample, codes)
        growing = Growing(depth, "gini", None, np.ones((1, N_COLUMNS), dtype=bool), None)
        started = perf_counter()
        learner = TreeLearner(bundles, coded, coded, starting_factors(sample.totals, None), growing)
        synchronize()
        made = perf_counter()
        options = Settings(get_notion("equal_opportunity"), n_estimators=n_rounds, **settings)
        boosted = boost(learner, options)
        synchronize()
        assert len(boosted.rounds) == n_rounds, boosted.stopped
        return perf_counter() - made, made - started, boosted


def synchronize() -> None:
    cupy.cuda.Device().synchronize()


def seconds_of(task, repeats: int = 7) -> float:
    """The median time of some work on the card."""
    times = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        task()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return median(times)


def copy_bandwidth() -> float:
    """Bytes a second that a large copy on the card reads and writes."""
    n_bytes = 4 << 30
    source, target = cupy.ones(n_bytes, dtype=cupy.uint8), cupy.empty(n_bytes, dtype=cupy.uint8)
    return 2 * n_bytes / seconds_of(lambda: cupy.copyto(target, source))


def histogram_pass(codes, cell, share: float) -> float:
    """Seconds to add a share of all rows to the histograms."""
    with Team(1, "cuda") as team:
        sample = Sample(cell, 2, to_masses(None), np.arange(len(cell), dtype=np.int32), team)
        placed = sample.place(codes, np.arange(N_COLUMNS))
        listed, gains, n_listed = lists = placed._lists()
        host_listed, host_n = np.empty(len(sample), dtype=np.uint32), np.zeros(len(sample.blocks), dtype=np.int64)
        rng = np.random.default_rng(0)
        for b, (_, first, last) in enumerate(sample.blocks.tolist()):
            chosen = np.flatnonzero(rng.random(last - first) < share) + first
            host_listed[first : first + len(chosen)] = chosen
            host_n[b] = len(chosen)
        listed.set(host_listed)
        n_listed.set(host_n)
        gains[:] = 2**52 // len(sample)
        return seconds_of(lambda: placed._histograms(lists))


def from_values(n_rows: int) -> tuple[float, dict[str, float]]:
    """Seconds of a whole fit of values on the card, labels and groups there too, and of the parts of the last one."""
    codes = make_codes(make_cells(n_rows))
    rng = cupy.random.RandomState(1)
    order = rng.permutation(n_rows)
    X = cupy.empty((n_rows, N_COLUMNS), dtype=cupy.float32)
    for f in range(N_COLUMNS):  # as many distinct values as rows, about
        X[:, f] = (codes[f] + rng.random_sample(n_rows, dtype=cupy.float32))[order]
    cell = cupy.asarray(make_cells(n_rows))[order]
    del codes, order
    cupy.get_default_memory_pool().free_all_blocks()
    y, group = cell // 2, cell % 2
    parts: dict[str, float] = {}

    def timed(module: Any, name: str) -> None:
        function = getattr(module, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            started = perf_counter()
            result = function(*args, **kwargs)
            synchronize()
            parts[name] = parts.get(name, 0.0) + perf_counter() - started
            return result

        setattr(module, name, wrapper)

    kept = preparation.code_tables, loop.boost, AdaFairClassifier._read_rows, preparation.Split.samples
    for module, name in (
        (preparation, "code_tables"),
        (loop, "boost"),
        (AdaFairClassifier, "_read_rows"),
        (preparation.Split, "samples"),
    ):
        timed(module, name)
    times = []
    for _ in range(N_FITS):
        parts.clear()
        started = perf_counter()
        model = AdaFairClassifier("equal_opportunity", validation_fraction=None, device="cuda")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, sensitive_features=group)
        times.append(perf_counter() - started)
    print("from values:", *(f"{seconds:.3f}" for seconds in times), "s", flush=True)
    preparation.code_tables, loop.boost, AdaFairClassifier._read_rows, preparation.Split.samples = kept
    started = perf_counter()
    model.decision_function(X)
    parts["predict"] = perf_counter() - started
    return median(times), parts


def same(first, second) -> bool:
    return [r.model for r in first.rounds] == [r.model for r in second.rounds] and bool(
        (first.alphas == second.alphas).all()
    )


def measure(n_rows: int, bandwidth: float, n_threads: int, with_processor: bool) -> list[str]:
    """A row of the table."""
    cell = make_cells(n_rows)
    codes = make_codes(cell)
    train(codes, cell, "cuda", n_rounds=3)
    seconds = median(train(codes, cell, "cuda")[0] for _ in range(3))
    one_pass = histogram_pass(codes, cell, 0.3)
    share = codes.nbytes / one_pass / bandwidth
    processor = ratio = "–"
    if with_processor:
        host = codes.get()
        train(host, cell, "cpu", n_threads, 2)
        theirs, _, expected = train(host, cell, "cpu", n_threads, N_COMPARED)
        ours, _, found = train(codes, cell, "cuda", n_rounds=N_COMPARED)
        assert same(found, expected), "the models differ"
        processor, ratio = f"{theirs / N_COMPARED * 1e3:.1f}", f"{theirs / ours:.0f}"
    others = []
    for options in ({"depth": 2}, {"threshold": "auto"}):
        train(codes, cell, "cuda", n_rounds=2, **options)
        others.append(train(codes, cell, "cuda", n_rounds=N_COMPARED, **options)[0] / N_COMPARED * 1e3)
    trees, auto = others
    del codes
    cupy.get_default_memory_pool().free_all_blocks()
    whole, parts = from_values(n_rows)
    print(n_rows, {name: round(part, 3) for name, part in parts.items()}, flush=True)
    cupy.get_default_memory_pool().free_all_blocks()
    return [
        f"{n_rows:,}",
        f"{seconds:.2f}",
        f"{seconds / N_ROUNDS * 1e3:.2f}",
        processor,
        ratio,
        f"{one_pass * 1e3:.2f}",
        f"{share:.0%}",
        f"{trees:.2f}",
        f"{auto:.1f}",
        f"{whole:.2f}",
        f"{parts['predict']:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--cpu-rows", type=int, default=10_000_000, help="the processor trains up to so many")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    bandwidth = copy_bandwidth()
    n_threads = os.cpu_count() or 1
    columns = [
        "rows",
        "from codes, s",
        "ms a round",
        "processor, ms a round",
        "ratio",
        "histogram pass, ms",
        "of the copy",
        "depth 2, ms a round",
        '`threshold="auto"`, ms a round',
        "from values, s",
        "predict, s",
    ]
    lines = [
        "# Training on a graphics card",
        "",
        f"{name}. {N_COLUMNS} columns of {N_BINS} bins, {N_ROUNDS} rounds of stumps, equal opportunity, θ chosen on "
        "the training rows. Written by `benchmarks/gpu.py`. The processor is that of the same machine, with "
        f"{n_threads} threads; the models are compared, and are the same to the last bit. Ratio, depth 2 and `auto` "
        f"are of {N_COMPARED} rounds.",
        "",
        "*From codes* is the loop alone, on codes that are on the card. *From values* is a whole `fit` of 32-bit "
        "floats, labels and groups on the card: reading, binning, the loop, and what the processor keeps of it; the "
        f"median of {N_FITS}.",
        "",
        f"A copy on the card moves {bandwidth / 1e12:.2f} TB/s, read and written. The histogram pass has 30 % of the "
        "rows in its lists, which is to read all codes; *of the copy* is its codes per second by that number.",
        "",
        f"| {' | '.join(columns)} |",
        f"| {' | '.join(['---:'] * len(columns))} |",
    ]
    from_values(1_000_000)  # compiles and loads whatever is used for the first time
    for n_rows in args.rows:
        row = measure(n_rows, bandwidth, n_threads, n_rows <= args.cpu_rows)
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    print("\n".join(lines))
    if args.out is not None:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
