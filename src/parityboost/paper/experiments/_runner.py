"""Executes runs, several at a time, and stores each as soon as it is finished."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import connection, get_context, parent_process
from typing import Any

from ._execute import execute
from ._plan import Run
from ._store import Store

PACKAGES = ("parityboost", "numpy", "scipy", "scikit-learn", "pandas", "numba")
OnDone = Callable[[Run, dict[str, Any]], None]


def perform(
    runs: Iterable[Run], store: Store, n_jobs: int = 1, on_done: OnDone | None = None, retry_failed: bool = False
) -> None:
    """Make every run that the store does not have yet.

    A run that fails is stored as failed, with its reason, and does not stop the others. Interrupted or killed, it loses
    the runs in flight only; the same call then goes on with what is missing.

    Parameters
    ----------
    runs : iterable of Run
        What :func:`plan` yields.
    store : Store
        Where finished runs are, and go.
    n_jobs : int, default=1
        Number of processes. The results do not depend on it.
    on_done : callable, optional
        Told each run that has just been stored, and its record.
    retry_failed : bool, default=False
        Make runs again that failed before.

    Examples
    --------
    >>> import tempfile
    >>> from parityboost.paper.experiments import Run, Store, perform
    >>> run = Run("adult", "AdaBoost", None, split=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     perform([run], Store(folder))
    ...     Store(folder).load(run)["status"]
    'ok'
    """
    missing = store.missing(runs, retry_failed)
    for run in missing:
        store.path(run).unlink(missing_ok=True)  # damaged, made with other settings, or failed
    tell = on_done or (lambda run, record: None)
    if n_jobs == 1 or len(missing) < 2:
        for run in missing:
            tell(run, attempt(run, store))
        return
    for run in _in_parallel(missing, store, n_jobs, tell):
        # A process died (out of memory, say), and it is not known over which of its runs: one at a time now.
        if store.load(run) is None:
            _in_parallel([run], store, 1, tell)
        if store.load(run) is None:
            record = _failed("the process died, perhaps for lack of memory")
            store.save(run, record)
            tell(run, record)


def attempt(run: Run, store: Store) -> dict[str, Any]:
    """Make one run and store what came of it."""
    try:
        record = {"status": "ok", "reason": None, **execute(run), **_circumstances()}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        record = _failed(f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})")
    store.save(run, record)
    return record


def _in_parallel(runs: list[Run], store: Store, n_jobs: int, tell: OnDone) -> list[Run]:
    """Make the runs; return those that were lost because a process died."""
    waiting = list(reversed(runs))
    lost: list[Run] = []
    while waiting:
        running: dict[Future[dict[str, Any]], Run] = {}
        # Not forked: threads and locks of this process would be copied in whatever state they are.
        pool = ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"), initializer=_start_worker)
        try:
            while waiting or running:
                while waiting and len(running) < n_jobs:
                    run = waiting.pop()
                    running[pool.submit(attempt, run, store)] = run
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    run = running.pop(future)
                    tell(run, future.result())
        except BrokenProcessPool:
            lost += [run, *running.values()]
        except BaseException:
            _terminate(pool)
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return lost


def _start_worker() -> None:
    """Ctrl-C is for the parent to handle; and without a parent there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:  # pragma: no cover - in a process of its own
    connection.wait([sentinel])
    os._exit(1)


def _terminate(pool: ProcessPoolExecutor) -> None:
    if sys.version_info >= (3, 14):  # pragma: no cover
        pool.terminate_workers()
        return
    for process in (pool._processes or {}).values():
        process.terminate()


def _failed(reason: str) -> dict[str, Any]:
    return {"status": "failed", "reason": reason, **_circumstances()}


def _circumstances() -> dict[str, Any]:
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": sys.version.split()[0], **{name: version(name) for name in PACKAGES}},
    }
