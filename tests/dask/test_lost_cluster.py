"""A cluster that loses all its workers, or is closed, at whatever step of a training: an error that says so."""

import time
from contextlib import contextmanager
from threading import Timer

import numpy as np
import pytest

from parityboost.dask import ClusterError, DaskAdaFairClassifier, DaskParityBoostClassifier, _cluster, _columns
from parityboost.dask._cluster import Cluster
from parityboost.dask._crew import Crew

pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from test_dask import FEATURES, assert_same, in_partitions, make_table  # noqa: E402

STEPS = {
    "while partitions are read": (Cluster, "fold"),
    "while results come here": (Cluster, "results"),
    "between encoding and shards": (Crew, "assemble"),
    "while shards work": (Crew, "session"),
}


@pytest.fixture
def cluster(monkeypatch):
    """Two workers in this process, and little patience."""
    monkeypatch.setattr(_cluster, "WAIT_FOR_WORKERS", 0.3)
    monkeypatch.setattr(_cluster, "PATIENCE", 0.2)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


@contextmanager
def at_step(step, action):
    """Do something once, just before a step of the training."""
    owner, name = STEPS[step]
    original, done = getattr(owner, name), []

    def wrapped(self, *given, **shared):
        if not done:
            done.append(True)
            action()
        return original(self, *given, **shared)

    setattr(owner, name, wrapped)
    try:
        yield
    finally:
        setattr(owner, name, original)
    assert done


def lose_workers(cluster, client):
    cluster.scale(0)
    while client.nthreads():
        time.sleep(0.05)


def fit(cls=DaskAdaFairClassifier, **options):
    table = make_table(np.random.default_rng(0), 400, 2)
    there = in_partitions(table, [100, 0, 200])
    model = cls(n_estimators=5, random_state=0, **options)
    return model.fit(there[FEATURES], there["label"], sensitive_features=there["group"])


@pytest.mark.parametrize("step", STEPS)
def test_no_worker_left_is_an_error_at_every_step(cluster, step):
    with (
        at_step(step, lambda: lose_workers(*cluster)),
        pytest.raises(ClusterError, match=r"no worker is left on the cluster .*, and none came within"),
    ):
        fit()


@pytest.mark.parametrize("step", ["while partitions are read", "between encoding and shards"])
def test_workers_that_come_in_time_finish_the_training(cluster, monkeypatch, step):
    monkeypatch.setattr(_cluster, "WAIT_FOR_WORKERS", 20.0)
    expected = fit()

    def exchange_workers():
        lose_workers(*cluster)
        later.start()

    later = Timer(1.0, cluster[0].scale, [2])
    with at_step(step, exchange_workers):
        found = fit()
    assert_same(expected, found)


@pytest.mark.parametrize("closed", ["cluster", "client"])
@pytest.mark.parametrize("step", STEPS)
def test_a_cluster_or_client_that_is_closed_is_an_error_of_ours(cluster, step, closed):
    def close():
        cluster[closed == "client"].close()

    with at_step(step, close), pytest.raises(ClusterError, match="went away, or the client was closed"):
        fit()


def test_bags_on_a_cluster_that_is_closed_end_alike(cluster):
    with at_step("while shards work", cluster[0].close), pytest.raises(ClusterError, match="went away"):
        fit(DaskParityBoostClassifier, n_bags=2, n_jobs=2)


def test_a_partition_that_does_not_fit_is_an_error_of_ours(cluster, monkeypatch):
    def refuse(*given, **shared):
        raise MemoryError

    monkeypatch.setattr(_columns, "_look_at", refuse)
    with pytest.raises(ClusterError, match=r"not enough memory .* make the partitions smaller"):
        fit()


def test_what_ends_takes_no_other_training_with_it():
    """Neither had done anything to its samples when the inner one ended."""
    crew = Crew(None, None, None, ())
    with crew.session() as outer:
        with crew.session():
            pass
        outer.log.append(("start", ()))
    assert not crew._sessions
