"""The shards on their workers: everybody is told the same, and who is lost is replaced.

A shard is an actor of Dask's: messages go to it without a detour through the scheduler's plans, over connections that
are there anyway. What changes its arrays is written down. If its worker is lost, its partitions are read and encoded
again elsewhere, and the new shard is told all that was written down: all of it is small, and depends on nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, RLock
from time import monotonic, sleep
from typing import Any

import numpy as np

from ._shard import Shard

Command = tuple[str, tuple[Any, ...]]
# What leaves nothing behind, so that nobody has to be told again.
ASKING = {
    "sum_wrong",
    "side",
    "sum_masses",
    "margin_range",
    "count_margins",
    "list_margins",
    "count_pairs",
    "margins",
    "take",
}
# So often a shard may be lost in one and the same step. The data do not fit then, or a worker cannot be reached.
MAX_LOSSES = 3
PATIENCE = 2.0  # seconds without an answer after which we ask whether the worker is still there
WAIT_FOR_WORKERS = 60.0  # seconds without any worker after which training is given up
LOOK_EVERY = 0.2  # seconds
ANSWER_WITHIN = 10.0  # seconds, a scheduler that is there


class ClusterError(ConnectionError):
    """The work of a cluster ended because the cluster did."""


class LostSchedulerError(ClusterError):
    """There is nobody left to ask."""


class LostWorkerError(Exception):
    """A worker is no longer there."""


class PerPart(dict[int, Any]):
    """Something for each partition, of which a shard gets what belongs to its own."""


@dataclass
class Slot:
    """A place in the crew: the partitions of one shard, and where it is now."""

    numbers: list[int]
    worker: str = ""
    actor: Any = None
    generation: int = 0  # how often the shard was made
    future: Any = None


@dataclass
class Session:
    """One training: what was done to its samples."""

    crew: Crew
    name: str
    log: list[Command] = field(default_factory=list)
    queue: list[tuple[Command, Reply]] = field(default_factory=list)
    made: int = 0  # arrays that have a name

    def later(self, name: str, *given: Any, combine: Callable[[list[Any]], Any] = sum) -> Reply:
        """Have something done before the next answer is read."""
        reply = Reply(self, combine)
        self.queue.append(((name, given), reply))
        return reply

    def flush(self) -> None:
        """Have all done that was put off."""
        waiting, self.queue = self.queue, []
        answers = self.crew.run(self, [command for command, _ in waiting])
        for (_, reply), of_all in zip(waiting, answers, strict=True):
            reply.fill(of_all)

    def new_name(self, what: str) -> str:
        self.made += 1
        return f"{what}{self.made}"


class Reply:
    """An answer that all shards give together, once it is read; NumPy reads it where it wants an array."""

    def __init__(self, session: Session, combine: Callable[[list[Any]], Any]) -> None:
        self._session, self._combine = session, combine
        self._value: Any = None
        self._is_there = False

    def fill(self, answers: list[Any]) -> None:
        self._value, self._is_there = None if answers[0] is None else self._combine(answers), True

    def read(self) -> Any:
        if not self._is_there:
            self._session.flush()
        return self._value

    def then(self, function: Callable[[Any], Any]) -> Reply:
        """What a function makes of it."""
        return Later(self, function)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.read(), dtype=dtype)


class Later(Reply):
    """What a function makes of another reply."""

    def __init__(self, reply: Reply, function: Callable[[Any], Any]) -> None:
        self._reply, self._function = reply, function

    def read(self) -> Any:
        return self._function(self._reply.read())


class Crew:
    """All shards of a training.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    encode : function
        From numbers of partitions to futures of them as codes.
    given : tuple
        What else a :class:`Shard` is made of.
    """

    def __init__(self, client: Any, encode: Callable[[Sequence[int]], list[Any]], given: tuple[Any, ...]) -> None:
        self._client, self._encode, self._given = client, encode, given
        self._slots: list[Slot] = []
        self._sessions: list[Session] = []
        self._lock = RLock()
        self._counting = Lock()
        self._is_gone = False
        self.n_messages = self.sent = self.received = 0  # bytes of arrays, of all shards

    def assemble(self, futures: dict[int, Any], n_rows: dict[int, int]) -> None:
        """Make a shard on each worker, of about as many rows each; ``futures`` are the partitions as codes."""
        holders = self._client.who_has(list(futures.values()))
        at = {number: next(iter(holders.get(future.key, ())), None) for number, future in futures.items()}
        shares = share_out(n_rows, at, list(self._wait_for_workers()))
        for worker, numbers in shares.items():
            slot = Slot(numbers)
            self._slots.append(slot)
            try:
                self._make(slot, worker, [futures[number] for number in numbers])
            except LostWorkerError:
                self._replace(slot, slot.generation)

    def session(self, name: str) -> Session:
        with self._lock:
            self._sessions.append(Session(self, name))
            return self._sessions[-1]

    def end(self, session: Session) -> None:
        """What was done to its samples need not be done again."""
        with self._lock:
            self._sessions.remove(session)

    def run(self, session: Session, commands: list[Command]) -> list[list[Any]]:
        """Have all shards do something: of each command the answers of all."""
        done: dict[int, int] = {}
        answers: dict[int, list[Any]] = {}
        losses = 0
        while True:
            waiting = [
                (k, slot, slot.generation) for k, slot in enumerate(self._slots) if done.get(k) != slot.generation
            ]
            if not waiting:
                with self._lock:  # nobody is replaced now
                    if any(done[k] != slot.generation for k, slot in enumerate(self._slots)):
                        continue
                    session.log += [command for command in commands if command[0] not in ASKING]
                    return [list(of_command) for of_command in zip(*(answers[k] for k in sorted(answers)), strict=True)]
            asked = [(*it, self._ask(it[1], commands)) for it in waiting]
            for k, slot, generation, future in asked:
                try:
                    answers[k] = self._wait(slot, future)
                    done[k] = generation
                except LostWorkerError as error:
                    losses += 1
                    if losses > MAX_LOSSES:
                        raise self._given_up(slot) from error
                    self._replace(slot, generation)
            self._count(commands, [answers[k] for k, *_ in waiting if k in answers])

    def close(self) -> None:
        """Leave nothing on the cluster."""
        for slot in self._slots:
            self._let_go(slot)
        self._slots, self._sessions = [], []

    def _let_go(self, slot: Slot) -> None:
        """End a shard, also if somebody still holds a proxy of it: those of Dask's do for a while."""
        if slot.future is not None and not self._is_gone:
            cancel(self._client, [slot.future])
        slot.actor = slot.future = None

    def _ask(self, slot: Slot, commands: list[Command]) -> Any:
        mine = [(name, tuple(_for_slot(value, slot) for value in given)) for name, given in commands]
        try:
            return slot.actor.run(mine)
        except (RuntimeError, ValueError, AttributeError):  # "Worker holding Actor was lost", of either kind
            return None

    def _wait(self, slot: Slot, future: Any) -> Any:
        """An answer of a shard, or the news that its worker is lost."""
        from distributed import KilledWorker

        if future is None:
            raise LostWorkerError(slot.worker)
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if slot.worker not in self._workers():
                    raise LostWorkerError(slot.worker) from None
            except (MemoryError, KilledWorker) as error:  # the latter while its partitions were encoded again
                raise self._given_up(slot) from error
            except (OSError, ConnectionError) as error:
                self._workers()
                raise LostWorkerError(slot.worker) from error
            except KeyError as error:  # the worker is there, but it is another one, or lost its actors
                raise LostWorkerError(slot.worker) from error
            except ValueError as error:
                if slot.worker not in str(error):  # the scheduler's: it knows no such worker
                    raise
                raise LostWorkerError(slot.worker) from error

    def _workers(self) -> dict[str, int]:
        """The workers that are there, by their addresses."""
        return self._ask_scheduler(workers_of)

    def _wait_for_workers(self) -> dict[str, int]:
        return self._ask_scheduler(wait_for_workers)

    def _ask_scheduler(self, question: Callable[[Any], dict[str, int]]) -> dict[str, int]:
        try:
            return question(self._client)
        except LostSchedulerError:
            self._is_gone = True
            raise

    def _make(self, slot: Slot, worker: str, futures: list[Any]) -> None:
        slot.worker = worker
        key = f"parityboost-shard-{uuid.uuid4().hex}"
        slot.future = self._client.submit(
            Shard, futures, *self._given, actor=True, workers=[worker], allow_other_workers=False, key=key
        )
        slot.actor = self._wait(slot, slot.future)
        log = [command for session in self._sessions for command in session.log]
        if log:
            mine = [(name, tuple(_for_slot(value, slot) for value in given)) for name, given in log]
            self._wait(slot, slot.actor.replay(mine))
        slot.generation += 1

    def _replace(self, slot: Slot, generation: int) -> None:
        """Make a lost shard anew on another worker, unless somebody has done so in the meantime."""
        with self._lock:
            if slot.generation != generation:
                return
            for _ in range(MAX_LOSSES):
                self._let_go(slot)
                workers = dict.fromkeys(self._wait_for_workers(), 0)
                for other in self._slots:
                    if other is not slot and other.worker in workers:
                        workers[other.worker] += len(other.numbers)
                worker = min(workers, key=lambda address: workers[address])
                futures = self._encode(slot.numbers)
                with suppress(LostWorkerError):
                    self._make(slot, worker, futures)
                    return
            raise self._given_up(slot)

    def _given_up(self, slot: Slot) -> ClusterError:
        return ClusterError(
            f"worker {slot.worker} ran out of memory or was lost {MAX_LOSSES} times in the same step, with "
            f"{len(slot.numbers)} partitions: training was given up. A worker needs about one byte per cell of X and "
            "50 bytes per row of its share: give the workers more memory, or add workers"
        )

    def _count(self, commands: list[Command], answers: list[list[Any]]) -> None:
        with self._counting:
            self.n_messages += 1
            self.sent += len(answers) * n_bytes(commands)
            self.received += n_bytes(answers)


def release(futures: list[Any]) -> None:
    """Let go of what the cluster keeps for us, whoever still holds the futures."""
    for future in futures:
        future.release()


def workers_of(client: Any) -> dict[str, int]:
    """The workers that are there; an error that says so if the scheduler is not."""
    if client.status != "running":
        raise scheduler_lost(client)
    try:
        found: dict[str, int] = client.sync(client.scheduler.ncores, callback_timeout=ANSWER_WITHIN)
    except (OSError, TimeoutError) as error:
        raise scheduler_lost(client) from error
    return found


class Patience:
    """Looks for workers while something is waited for, and loses patience if there are none for too long."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._since: float | None = None  # when there was none for the first time

    def look(self) -> dict[str, int]:
        """The workers that are there."""
        found = workers_of(self._client)
        if found:
            self._since = None
        elif self._since is None:
            self._since = monotonic()
        elif monotonic() - self._since > WAIT_FOR_WORKERS:
            raise ClusterError(
                f"no worker is left on the cluster {self._client.scheduler.address}, and none came within "
                f"{WAIT_FOR_WORKERS:.0f} seconds. If they ran out of memory, make the partitions smaller, or give the "
                "workers more"
            )
        return found


def wait_for_workers(client: Any) -> dict[str, int]:
    """The workers that are there, at least one."""
    patience = Patience(client)
    while not (found := patience.look()):
        sleep(LOOK_EVERY)
    return found


def cancel(client: Any, futures: list[Any]) -> None:
    """Have nobody work for futures any more, if there is still a cluster that could."""
    if client.status == "running":
        with suppress(OSError, TimeoutError):
            client.cancel(futures, force=True)


@contextmanager
def cluster_errors(client: Any) -> Iterator[None]:
    """Raise a :class:`ClusterError` instead of whatever Dask says once the scheduler is gone or the client closed."""
    from distributed.comm.core import CommClosedError

    try:
        yield
    except ClusterError:
        raise
    except (CancelledError, CommClosedError) as error:
        raise scheduler_lost(client) from error
    except Exception as error:
        if client.status == "running":
            raise
        raise scheduler_lost(client) from error


def scheduler_lost(client: Any) -> ClusterError:
    return LostSchedulerError(
        f"the scheduler of the Dask cluster ({client!r:.120}) went away, or the client was closed: with it went all "
        "that was on the cluster"
    )


def share_out(n_rows: dict[int, int], at: dict[int, str | None], workers: Sequence[str]) -> dict[str, list[int]]:
    """Which worker gets which partitions: about as many rows each, and if possible those that it has already."""
    limit = 1.1 * sum(n_rows.values()) / len(workers)
    load = dict.fromkeys(workers, 0)
    shares: dict[str, list[int]] = {worker: [] for worker in workers}
    for number in sorted(n_rows, key=lambda number: -n_rows[number]):
        worker = at.get(number)
        if worker not in load or load[worker] + n_rows[number] > limit:
            worker = min(load, key=lambda address: load[address])
        shares[worker].append(number)
        load[worker] += n_rows[number]
    return {worker: sorted(numbers) for worker, numbers in shares.items() if numbers}


def _for_slot(value: Any, slot: Slot) -> Any:
    return {number: value[number] for number in slot.numbers} if isinstance(value, PerPart) else value


def n_bytes(values: Any) -> int:
    """Of all arrays and numbers among some values."""
    if isinstance(values, np.ndarray):
        return int(values.nbytes)
    if isinstance(values, (int, float)) and not isinstance(values, bool):
        return 8
    if isinstance(values, dict):
        return sum(map(n_bytes, values.values()))
    if isinstance(values, Iterable) and not isinstance(values, str):
        return sum(map(n_bytes, values))
    return 0
