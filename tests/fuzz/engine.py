"""Runs attempts in worker processes, each attempt with a limit of time and memory, and adds up what came of them.

An attempt is made from the name of its fuzzer and a seed alone, so that a failure can be repeated. It is a function of
a random generator that returns ``ACCEPTED`` or ``REFUSED``; whatever it raises is a failure, and so are a worker that
dies and a warning that is not for users.
"""

import argparse
import faulthandler
import importlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

ACCEPTED, REFUSED, FAILED = "accepted", "refused", "failed"
# Where each fuzzer lives, and its share of all attempts; the last is there to fail.
FUZZERS = {
    "fit": ("fuzz.fitting", 0.5),
    "file": ("fuzz.model_files", 0.25),
    "cli": ("fuzz.command_line", 0.25),
    "failing": ("fuzz.failing", 0),
}
LIMIT_S = 60  # of an attempt, which takes some hundredths of a second
LIMIT_BYTES = 4 << 30  # of address space, beyond what a worker has when it starts
SHOWN = 20  # failures that are printed in full


class Outcome(NamedTuple):
    fuzzer: str
    seed: int
    result: str
    detail: str = ""

    @property
    def command(self):
        python = Path(sys.executable)
        shown = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
        return f"{shown} tests/fuzz {self.fuzzer} {self.seed}"


def generator(fuzzer, seed):
    """The random numbers of an attempt; fuzzers with the same seed have nothing in common."""
    return np.random.default_rng([zlib.crc32(fuzzer.encode()), seed])


def attempt(fuzzer, seed):
    """Make an attempt in this process; failures are raised."""
    function = importlib.import_module(FUZZERS[fuzzer][0]).attempt
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # what users are told; all else is a defect
        warnings.filterwarnings("ignore", ".* is an old name, which goes with the next version", FutureWarning)
        result = function(generator(fuzzer, seed))
    assert result in (ACCEPTED, REFUSED), result
    return result


# --- In a worker -----------------------------------------------------------------------------------------------------


def limit_memory():
    """Let no attempt take much more than the process has now, where that is known."""
    in_use = Path("/proc/self/statm")
    if in_use.exists():
        import resource

        most = int(in_use.read_text().split()[0]) * resource.getpagesize() + LIMIT_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def work(fuzzer, log, limit_s):
    """Read seeds from standard input, write what came of each to standard output, until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever an attempt prints is not an answer
    faulthandler.enable(log)
    importlib.import_module(FUZZERS[fuzzer][0]).warm_up()
    limit_memory()
    for line in sys.stdin:
        faulthandler.dump_traceback_later(limit_s, exit=True, file=log)  # a thread of its own: sees loops in C as well
        try:
            result, detail = attempt(fuzzer, int(line)), ""
        except BaseException:
            result, detail = FAILED, traceback.format_exc()
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps([result, detail]), file=answers, flush=True)


# --- In the process that was started --------------------------------------------------------------------------------


class Worker:
    """A process that makes attempts; one that ended is replaced."""

    def __init__(self, limit_s):
        self.limit_s = limit_s
        self.process = self.fuzzer = None

    def ask(self, fuzzer, seed):
        if self.process is None or self.fuzzer != fuzzer:
            self.stop()
            self.start(fuzzer)
        try:
            self.process.stdin.write(f"{seed}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, as the empty answer will tell
        answer = self.process.stdout.readline()
        if answer:
            return Outcome(fuzzer, seed, *json.loads(answer))
        status = self.process.wait()
        self.log.seek(0)
        words = f"the worker ended with status {status}:\n{self.log.read()[-4000:]}"
        self.stop()
        return Outcome(fuzzer, seed, FAILED, words)

    def start(self, fuzzer):
        self.fuzzer = fuzzer
        self.log = tempfile.TemporaryFile("w+", encoding="utf8", errors="replace")  # noqa: SIM115 (stop closes it)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent), "--work", fuzzer, "--limit", str(self.limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.log.close()
            self.process = None


def run(counts, first_seed, n_jobs, on_outcome=lambda outcome: None, limit_s=LIMIT_S):
    """Make ``counts[fuzzer]`` attempts of each fuzzer with consecutive seeds; all outcomes."""
    tasks = queue.SimpleQueue()
    for fuzzer, count in counts.items():
        for seed in range(first_seed, first_seed + count):
            tasks.put((fuzzer, seed))
    outcomes, lock = [], threading.Lock()

    def serve():
        worker = Worker(limit_s)
        try:
            while True:
                try:
                    task = tasks.get_nowait()
                except queue.Empty:
                    return
                outcome = worker.ask(*task)
                with lock:
                    outcomes.append(outcome)
                    on_outcome(outcome)
        finally:
            worker.stop()

    threads = [threading.Thread(target=serve) for _ in range(n_jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def table(outcomes):
    """Totals per fuzzer."""
    found = Counter((outcome.fuzzer, outcome.result) for outcome in outcomes)
    names = [name for name in FUZZERS if any(outcome.fuzzer == name for outcome in outcomes)]
    rows = [[found[name, result] for result in (ACCEPTED, REFUSED, FAILED)] for name in names]
    lines = [("fuzzer", "attempts", "accepted", "refused", "failures")]
    lines += [(name, sum(row), *row) for name, row in zip(names, rows, strict=True)]
    totals = [sum(column) for column in zip(*rows, strict=True)] if rows else [0, 0, 0]
    lines.append(("total", sum(totals), *totals))
    return "\n".join(f"{name:<8}" + "".join(f"{cell:>10}" for cell in cells) for name, *cells in lines)


def shares(attempts, names):
    """How many attempts each of the fuzzers has."""
    total = sum(FUZZERS[name][1] for name in names) or 1
    return {name: max(round(attempts * FUZZERS[name][1] / total), 1) for name in names}


def main(arguments):
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("fuzzer", nargs="?", choices=list(FUZZERS), help="only this one")
    parser.add_argument("seed", nargs="?", type=int, help="make this attempt alone, here, and show what it raises")
    parser.add_argument("--attempts", type=int, default=20_000, help="in total (default: %(default)s)")
    parser.add_argument("--first-seed", type=int, default=0, help="the seeds count up from it (default: %(default)s)")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="worker processes (default: one per core)"
    )
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of an attempt (default: %(default)s)")
    parser.add_argument("--work", choices=list(FUZZERS), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work(options.work, sys.stderr, options.limit)
        return 0
    if options.seed is not None:
        faulthandler.dump_traceback_later(10 * LIMIT_S, exit=True)
        print(attempt(options.fuzzer, options.seed))
        return 0

    started, done, failed = time.monotonic(), 0, 0
    counts = shares(
        options.attempts, [options.fuzzer] if options.fuzzer else [name for name in FUZZERS if FUZZERS[name][1]]
    )
    total = sum(counts.values())

    def tell(outcome):
        nonlocal done, failed
        done += 1
        if outcome.result == FAILED:
            failed += 1
            last = outcome.detail.strip().splitlines()[-1]
            print(f"{outcome.command}\n{outcome.detail if failed <= SHOWN else last}", flush=True)
        if done % max(total // 20, 1) == 0:
            print(f"{done}/{total} attempts, {failed} failures, {time.monotonic() - started:.0f} s", flush=True)

    outcomes = run(counts, options.first_seed, options.jobs, tell, options.limit)
    print(table(outcomes))
    failures = [outcome for outcome in outcomes if outcome.result == FAILED]
    if failures:
        print("repeat a failure with:")
        print("\n".join(f"  {outcome.command}" for outcome in sorted(failures)))
    return 1 if failures else 0
