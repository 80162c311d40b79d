"""The cluster: tasks for the partitions of collections, and errors that say what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any

from .._extras import install

Delayed = Any
Future = Any

MAX_ASKED = 3  # times that results are asked for again
FAN_IN = 8  # so many answers are put together at a time
PATIENCE = 2.0  # seconds without an answer after which we ask whether the worker is still there
WAIT_FOR_WORKERS = 60.0  # seconds without any worker after which training is given up
LOOK_EVERY = 0.2  # seconds
ANSWER_WITHIN = 10.0  # seconds, a scheduler that is there


class ClusterError(ConnectionError):
    """The work of a cluster ended because the cluster did."""


def require_dask() -> None:
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(f"parityboost.dask needs Dask: {install('dask')}") from error


def find_client(client: Any, owner: str) -> Any:
    """The client that was given, or the one that was made last; ``owner`` needs it."""
    require_dask()
    from distributed import default_client

    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            f"{owner} found no Dask client: make one before, client = distributed.Client(address), or pass it as "
            "client="
        ) from None


@contextmanager
def cluster_of(client: Any) -> Iterator[Cluster]:
    """A client's cluster, on which nothing is left whatever happens.

    Once the scheduler is gone or the client closed, that is what is raised, instead of whatever Dask says.
    """
    from distributed.comm.core import CommClosedError

    cluster = Cluster(client)
    try:
        yield cluster
    except ClusterError:
        raise
    except Exception as error:
        if client.status == "running" and not isinstance(error, (CancelledError, CommClosedError)):
            raise
        raise cluster.lost() from error
    finally:
        release(cluster.kept)


class Cluster:
    """Tasks for partitions, done by the workers; what they keep is let go at the end."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.kept: list[Future] = []
        self._is_gone = False

    def map(self, function: Callable[..., Any], *columns: Sequence[Any] | None, **shared: Any) -> list[Delayed]:
        """A task for each partition, which is given what ``columns`` have for it, and what is shared."""
        from dask.delayed import delayed

        n_parts = len(next(column for column in columns if column is not None))
        given = {name: delayed(value, traverse=False, pure=False) for name, value in shared.items()}
        task = delayed(function, pure=False)
        rows = zip(*(column if column is not None else [None] * n_parts for column in columns), strict=True)
        return [task(*row, **given) for row in rows]

    def gather(self, tasks: list[Delayed]) -> list[Any]:
        return self.results(self.client.compute(tasks))

    def keep(self, tasks: list[Delayed]) -> list[Future]:
        """Futures of tasks, whose results stay on the workers until all ends."""
        futures = list(self.client.compute(tasks))
        self.kept += futures
        return futures

    def fold(self, tasks: list[Delayed], merge: Callable[..., Any], **shared: Any) -> Any:
        """The results of all tasks put together on the workers, a few at a time."""
        from dask.delayed import delayed

        task = delayed(merge, pure=False)
        while True:
            tasks = [task(tasks[k : k + FAN_IN], **shared) for k in range(0, len(tasks), FAN_IN)]
            if len(tasks) == 1:
                return self.gather(tasks)[0]

    def results(self, futures: list[Future]) -> list[Any]:
        """The results of futures, or an error that says what happened."""
        for _ in range(MAX_ASKED):
            try:
                return self._gather(futures)
            except ValueError:  # of Dask's own, if no task has failed: it lost a worker while it asked all of them
                if any(future.status == "error" for future in futures):
                    self.cancel(futures)
                    raise
        return self._gather(futures)

    def _gather(self, futures: list[Future]) -> list[Any]:
        from distributed import KilledWorker

        none_since = self.look(None)  # says so if the scheduler is gone
        # Not gather by itself, which would wait for ever if no worker is left.
        gathering = asyncio.run_coroutine_threadsafe(
            self.client.gather(futures, asynchronous=True), self.client.loop.asyncio_loop
        )
        try:
            while not wait([gathering], PATIENCE).done:
                none_since = self.look(none_since)
            found: list[Any] = gathering.result()
        except BaseException as error:  # interrupted, or refused: nobody waits for the others any more
            gathering.cancel()
            if not isinstance(error, ValueError):
                self.cancel(futures)
            if not isinstance(error, (KilledWorker, MemoryError)):
                raise
            raise ClusterError(
                "a partition was given up: there was not enough memory for it, or its workers were lost several times, "
                f"probably for that reason: make the partitions smaller, or give the workers more ({error})"
            ) from error
        return found

    def workers(self) -> dict[str, int]:
        """The workers that are there, by their addresses; an error that says so if the scheduler is not."""
        try:
            if self.client.status != "running":
                raise ConnectionError(self.client.status)
            found: dict[str, int] = self.client.sync(self.client.scheduler.ncores, callback_timeout=ANSWER_WITHIN)
        except OSError as error:
            self._is_gone = True
            raise self.lost() from error
        return found

    def look(self, none_since: float | None) -> float | None:
        """Since when there is no worker, None if there is one; an error if nobody came for too long."""
        if self.workers():
            return None
        now = monotonic()
        if none_since is not None and now - none_since > WAIT_FOR_WORKERS:
            raise ClusterError(
                f"no worker is left on the cluster {self.client.scheduler.address}, and none came within "
                f"{WAIT_FOR_WORKERS:.0f} seconds. If they ran out of memory, make the partitions smaller, or give the "
                "workers more"
            )
        return now if none_since is None else none_since

    def wait_for_workers(self) -> dict[str, int]:
        none_since = None
        while not (found := self.workers()):
            none_since = self.look(none_since)
            sleep(LOOK_EVERY)
        return found

    def cancel(self, futures: list[Future]) -> None:
        """Have nobody work for futures any more, if there is still a cluster that could."""
        if self.client.status == "running" and not self._is_gone:
            with suppress(OSError):
                self.client.cancel(futures, force=True)

    def lost(self) -> ClusterError:
        return ClusterError(
            f"the scheduler of the Dask cluster ({self.client!r:.120}) went away, or the client was closed: with it "
            "went all that was on the cluster"
        )


def release(futures: list[Future]) -> None:
    """Let go of what the cluster keeps for us, whoever still holds the futures."""
    for future in futures:
        future.release()
