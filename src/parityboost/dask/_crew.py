"""The shards on their workers: everybody is told the same, and who is lost is replaced.

A shard is an actor of Dask's: messages go to it without a detour through the scheduler's plans, over connections that
are there anyway. What changes its arrays is written down. If its worker is lost, its partitions are read and encoded
again elsewhere, and the new shard is told all that was written down: all of it is small, and depends on nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock, RLock
from typing import Any

import numpy as np

from . import _cluster
from ._cluster import Cluster, ClusterError, Future

Command = tuple[str, tuple[Any, ...]]
# What leaves nothing behind, so that nobody has to be told again.
ASKING = {"sum_wrong", "side", "margin_range", "count_margins", "list_margins", "count_pairs", "margins", "take"}
# So often a shard may be lost in one and the same step. The data do not fit then, or a worker cannot be reached.
MAX_LOSSES = 3


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
    future: Future = None

    def told(self, commands: Iterable[Command]) -> list[Command]:
        """The commands with what belongs to the shard's partitions."""

        def own(value: Any) -> Any:
            return {number: value[number] for number in self.numbers} if isinstance(value, PerPart) else value

        return [(name, tuple(map(own, given))) for name, given in commands]


@dataclass(eq=False)  # two of equal logs are still two
class Session:
    """One training: what was done to its samples."""

    crew: Crew
    log: list[Command] = field(default_factory=list)
    queue: list[tuple[Command, Reply]] = field(default_factory=list)

    def later(self, name: str, *given: Any, combine: Callable[[list[Any]], Any] = sum) -> Reply:
        """Have something done before the next answer is read."""
        reply = Reply(self, combine)
        self.queue.append(((name, given), reply))
        return reply

    def flush(self) -> None:
        waiting, self.queue = self.queue, []
        answers = self.crew.run(self, [command for command, _ in waiting])
        for (_, reply), of_all in zip(waiting, answers, strict=True):
            reply.fill(of_all)


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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.read(), dtype=dtype)


class Crew:
    """All shards of a training.

    ``encode`` makes futures of partitions as codes from their numbers; ``shard`` is the class of the actors, and
    ``given`` what they are made of besides.
    """

    def __init__(
        self, cluster: Cluster, encode: Callable[[Sequence[int]], list[Future]], shard: Any, given: tuple[Any, ...]
    ) -> None:
        self._cluster, self._encode, self._shard, self._given = cluster, encode, shard, given
        self._slots: list[Slot] = []
        self._sessions: list[Session] = []
        self._lock, self._counting = RLock(), Lock()
        self.n_messages = self.sent = self.received = 0  # bytes of arrays, of all shards

    def assemble(self, futures: list[Future], n_rows: list[int]) -> None:
        """Make a shard on each worker, of about as many rows each; ``futures`` are the partitions as codes."""
        holders = self._cluster.client.who_has(futures)
        at = [next(iter(holders.get(future.key, ())), None) for future in futures]
        for worker, numbers in share_out(n_rows, at, list(self._cluster.wait_for_workers())).items():
            slot = Slot(numbers)
            self._slots.append(slot)
            try:
                self._make(slot, worker, [futures[number] for number in numbers])
            except LostWorkerError:
                self._replace(slot, slot.generation)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A training; what was done to its samples need not be done again after it."""
        session = Session(self)
        with self._lock:
            self._sessions.append(session)
        try:
            yield session
        finally:
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
            of_these = [answers[k] for k, *_ in waiting if k in answers]
            with self._counting:
                self.n_messages += 1
                self.sent += len(of_these) * n_bytes(commands)
                self.received += n_bytes(of_these)

    def close(self) -> None:
        """Leave nothing on the cluster."""
        for slot in self._slots:
            self._let_go(slot)
        self._slots = []

    def _let_go(self, slot: Slot) -> None:
        """End a shard, also if somebody still holds a proxy of it: those of Dask's do for a while."""
        if slot.future is not None:
            self._cluster.cancel([slot.future])
        slot.actor = slot.future = None

    def _ask(self, slot: Slot, commands: list[Command]) -> Any:
        try:
            return slot.actor.run(slot.told(commands))
        except (RuntimeError, ValueError, AttributeError):  # "Worker holding Actor was lost", of either kind
            return None

    def _wait(self, slot: Slot, future: Any) -> Any:
        """An answer of a shard, or the news that its worker is lost."""
        from distributed import KilledWorker

        if future is None:
            raise LostWorkerError(slot.worker)
        while True:
            try:
                return future.result(timeout=_cluster.PATIENCE)
            except TimeoutError:
                if slot.worker not in self._cluster.workers():
                    raise LostWorkerError(slot.worker) from None
            except (MemoryError, KilledWorker) as error:  # the latter while its partitions were encoded again
                raise self._given_up(slot) from error
            except (OSError, KeyError) as error:  # the latter if it is there, but is another one, or lost its actors
                self._cluster.workers()
                raise LostWorkerError(slot.worker) from error
            except ValueError as error:
                if slot.worker not in str(error):  # the scheduler's: it knows no such worker
                    raise
                raise LostWorkerError(slot.worker) from error

    def _make(self, slot: Slot, worker: str, futures: list[Future]) -> None:
        slot.worker = worker
        how = {"actor": True, "workers": [worker], "allow_other_workers": False}
        key = f"parityboost-shard-{uuid.uuid4().hex}"
        slot.future = self._cluster.client.submit(self._shard, futures, *self._given, **how, key=key)
        slot.actor = self._wait(slot, slot.future)
        log = [command for session in self._sessions for command in session.log]
        if log:
            self._wait(slot, slot.actor.replay(slot.told(log)))
        slot.generation += 1

    def _replace(self, slot: Slot, generation: int) -> None:
        """Make a lost shard anew on another worker, unless somebody has done so in the meantime."""
        with self._lock:
            if slot.generation != generation:
                return
            for _ in range(MAX_LOSSES):
                self._let_go(slot)
                load = dict.fromkeys(self._cluster.wait_for_workers(), 0)
                for other in self._slots:
                    if other is not slot and other.worker in load:
                        load[other.worker] += len(other.numbers)
                with suppress(LostWorkerError):
                    self._make(slot, min(load, key=load.__getitem__), self._encode(slot.numbers))
                    return
            raise self._given_up(slot)

    def _given_up(self, slot: Slot) -> ClusterError:
        return ClusterError(
            f"worker {slot.worker} ran out of memory or was lost {MAX_LOSSES} times in the same step, with "
            f"{len(slot.numbers)} partitions: training was given up. A worker needs about one byte per cell of X and "
            "50 bytes per row of its share: give the workers more memory, or add workers"
        )


def share_out(n_rows: list[int], at: list[str | None], workers: list[str]) -> dict[str, list[int]]:
    """Which worker gets which partitions: about as many rows each, and if possible those that it has already."""
    limit = 1.1 * sum(n_rows) / len(workers)
    load = dict.fromkeys(workers, 0)
    shares: dict[str, list[int]] = {worker: [] for worker in workers}
    for number in sorted(range(len(n_rows)), key=lambda number: -n_rows[number]):
        worker = at[number]
        if worker not in load or load[worker] + n_rows[number] > limit:
            worker = min(load, key=load.__getitem__)
        shares[worker].append(number)
        load[worker] += n_rows[number]
    return {worker: sorted(numbers) for worker, numbers in shares.items() if numbers}


def n_bytes(values: Any) -> int:
    """Of all arrays and numbers among some values."""
    if isinstance(values, np.ndarray):
        return int(values.nbytes)
    if isinstance(values, Iterable) and not isinstance(values, str):
        return sum(map(n_bytes, values.values() if isinstance(values, dict) else values))
    return 8 if isinstance(values, (int, float)) and not isinstance(values, bool) else 0
