"""Training on real processes: a scheduler and two workers started as commands, and what happens if they are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np
import pandas as pd
import pytest

from parityboost import AdaFairClassifier, ParityBoostClassifier
from parityboost.dask import ClusterError, DaskAdaFairClassifier, DaskParityBoostClassifier, _cluster
from parityboost.dask._cluster import Cluster
from parityboost.dask._crew import Crew

pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import dask.dataframe as dd  # noqa: E402

pytestmark = pytest.mark.slow
LOOPBACK = ["--host", "127.0.0.1"]


class Processes:
    """A scheduler and workers, by their process ids."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self._started = {}
        self.scheduler = self._start("scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0")

    def _start(self, what, *options):
        command = [sys.executable, "-m", "distributed.cli.dask_" + what, *LOOPBACK, "--scheduler-file", str(self.file)]
        process = subprocess.Popen(
            [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        self._started[process.pid] = process
        return process

    def start_worker(self, *options):
        given = "--nthreads", "1", "--no-dashboard", "--no-nanny", *options
        return self._start("worker", *given)

    def kill(self, pid, by=signal.SIGKILL):
        os.kill(pid, by)
        self._started[pid].wait(20)

    def stop(self):
        for process in self._started.values():
            if process.poll() is None:
                process.kill()
            process.wait(20)


@contextmanager
def started(folder, n_workers=2):
    processes = Processes(folder)
    try:
        for _ in range(n_workers):
            processes.start_worker()
        while not processes.file.exists():
            time.sleep(0.05)
        client = distributed.Client(scheduler_file=str(processes.file))
        try:
            client.wait_for_workers(n_workers, timeout=60)
            yield processes, client
        finally:
            with suppress(Exception):  # it may have lost its scheduler
                client.close(timeout=2)
    finally:
        processes.stop()


@pytest.fixture(scope="module")
def one_cluster(tmp_path_factory):
    """One for all tests, in this order: the last one leaves nothing of it."""
    with started(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def cluster(one_cluster):
    """With two workers, whatever became of those that the test before had."""
    processes, client = one_cluster
    for _ in range(2 - len(worker_pids(client))):
        processes.start_worker()
    client.wait_for_workers(2, timeout=60)
    return one_cluster


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


def make_data(folder, n_rows=2000, n_parts=5):
    """A table, and the same in Parquet files, which can be read again."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, n_rows)
    x = rng.normal(size=(n_rows, 4))
    table = pd.DataFrame(x, columns=list("abcd")).assign(
        city=rng.choice(["x", "y", "z"], n_rows), label=(x[:, 0] - 0.5 * group > 0).astype(int), group=group
    )
    flipped = rng.random(n_rows) < 0.15
    table.loc[flipped, "label"] = 1 - table.loc[flipped, "label"]
    for part, rows in enumerate(np.array_split(np.arange(n_rows), n_parts)):
        table.iloc[rows].to_parquet(folder / f"part{part}.parquet")
    whole = pd.concat([pd.read_parquet(folder / f"part{part}.parquet") for part in range(n_parts)])
    return whole, dd.read_parquet([str(folder / f"part{part}.parquet") for part in range(n_parts)])


FEATURES = [*"abcd", "city"]
OPTIONS = {"n_estimators": 25, "random_state": 1}


def fit_local(table, **options):
    return AdaFairClassifier(**OPTIONS, **options).fit(
        table[FEATURES], table["label"], sensitive_features=table["group"]
    )


def fit_there(collection, **options):
    return DaskAdaFairClassifier(**OPTIONS, **options).fit(
        collection[FEATURES], collection["label"], sensitive_features=collection["group"]
    )


@contextmanager
def at_message(number, action):
    """Do something just before a message of a training, once."""
    original, done = Crew.run, []

    def run(self, session, commands):
        if self.n_messages >= number and not done:
            done.append(True)
            action()
        return original(self, session, commands)

    Crew.run = run
    try:
        yield done
    finally:
        Crew.run = original


def worker_pids(client):
    return sorted(client.run(os.getpid).values())


def assert_nothing_left(client):
    for _ in range(50):
        left = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(left)


def test_two_fits_at_once_do_not_mix_and_no_port_or_thread_is_opened(cluster, data):
    _, client = cluster
    table, collection = data

    def listening():
        import psutil

        found = psutil.Process().net_connections("tcp")
        return sorted(c.laddr.port for c in found if c.status == psutil.CONN_LISTEN)

    fit_there(collection)  # so that all threads of Dask's are there
    before, threads = client.run(listening), client.run(threading.active_count)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda depth: fit_there(collection, max_depth=depth), (1, 2)))
    for depth, model in enumerate(found, 1):
        pd.testing.assert_frame_equal(fit_local(table, max_depth=depth).history_, model.history_, check_exact=True)
    assert client.run(listening) == before
    assert client.run(threading.active_count) == threads
    assert_nothing_left(client)


def test_an_interruption_leaves_nothing_behind(cluster, data):
    _, client = cluster

    def interrupt():
        raise KeyboardInterrupt

    with at_message(9, interrupt), pytest.raises(KeyboardInterrupt):
        fit_there(data[1])
    assert_nothing_left(client)


@pytest.mark.parametrize("options", [{}, {"max_depth": 2, "threshold": "auto"}])
def test_a_killed_worker_changes_no_bit_of_the_model(cluster, data, options):
    """At a random round; afterwards a new worker takes the place of the one that was killed."""
    processes, client = cluster
    table, collection = data
    rng = np.random.default_rng()
    message = int(rng.integers(0, 40))
    pid = int(rng.choice(worker_pids(client)))
    with at_message(message, lambda: processes.kill(pid)) as done:
        model = fit_there(collection, **options)
    assert done, message
    local = fit_local(table, **options)
    pd.testing.assert_frame_equal(local.history_, model.history_, check_exact=True)
    assert local.estimators_ == model.estimators_
    assert pid not in worker_pids(client)
    assert_nothing_left(client)


def test_bags_that_train_side_by_side_survive_as_well(cluster, data):
    processes, client = cluster
    table, collection = data
    options = {"n_estimators": 10, "n_bags": 3, "random_state": 0, "n_jobs": 2}
    pid = worker_pids(client)[1]
    with at_message(int(np.random.default_rng().integers(5, 60)), lambda: processes.kill(pid)) as done:
        model = DaskParityBoostClassifier(**options).fit(
            collection[FEATURES], collection["label"], sensitive_features=collection["group"]
        )
    assert done
    local = ParityBoostClassifier(**options).fit(table[FEATURES], table["label"], sensitive_features=table["group"])
    pd.testing.assert_frame_equal(local.history_, model.history_, check_exact=True)
    assert local.threshold_ == model.threshold_
    assert_nothing_left(client)


def test_a_worker_that_runs_out_of_memory_is_named(cluster, data):
    _, client = cluster

    def refuse(allocate):
        from parityboost.dask import _shard

        if not hasattr(_shard.Shard, "kept"):
            _shard.Shard.kept = _shard.Shard.run
        _shard.Shard.run = allocate or _shard.Shard.kept

    def allocate(self, commands):
        raise MemoryError

    with (
        at_message(5, lambda: client.run(refuse, allocate)),
        pytest.raises(ClusterError, match=r"worker tcp://127.0.0.1:\d+ ran out of memory"),
    ):
        fit_there(data[1])
    client.run(refuse, None)
    assert_nothing_left(client)


def test_a_worker_may_be_killed_while_partitions_are_read(cluster, data, monkeypatch):
    """Dask itself reads them again."""
    processes, client = cluster
    original, n_passes = Cluster.fold, []

    def fold(self, *given, **shared):
        n_passes.append(True)
        if len(n_passes) == 1:
            processes.kill(worker_pids(client)[0])
        return original(self, *given, **shared)

    monkeypatch.setattr(Cluster, "fold", fold)
    model = fit_there(data[1])
    pd.testing.assert_frame_equal(fit_local(data[0]).history_, model.history_, check_exact=True)


def test_workers_that_die_of_a_partition_end_training_with_a_sentence(tmp_path, data, monkeypatch):
    """As for lack of memory; nobody starts them again."""
    monkeypatch.setattr(_cluster, "WAIT_FOR_WORKERS", 1.0)
    client_pid = os.getpid()

    def die(part):
        if os.getpid() != client_pid:
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    with started(tmp_path, n_workers=1) as (_, client):
        collection = data[1].map_partitions(die, meta=data[1]._meta)
        with pytest.raises(ClusterError, match=r"no worker is left .* make the partitions smaller"):
            fit_there(collection, client=client)


def test_no_worker_left_ends_training_with_a_sentence(cluster, data, monkeypatch):
    processes, client = cluster
    monkeypatch.setattr(_cluster, "WAIT_FOR_WORKERS", 1.0)
    with (
        at_message(9, lambda: [processes.kill(pid) for pid in worker_pids(client)]),
        pytest.raises(ClusterError, match="no worker is left on the cluster"),
    ):
        fit_there(data[1])
    assert_nothing_left(client)


def test_a_lost_scheduler_ends_training_with_a_sentence(cluster, data):
    processes, _ = cluster
    with (
        at_message(9, lambda: processes.kill(processes.scheduler.pid)),
        pytest.raises(ClusterError, match=r"the scheduler of the Dask cluster .* went away"),
    ):
        fit_there(data[1])
