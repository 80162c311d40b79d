"""``parityboost train --dask`` and ``predict --dask``: Parquet files of any size, on a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._table.grouping import Grouping
from ..dask import DaskAdaFairClassifier, DaskParityBoostClassifier
from ..dask._collections import require_dask
from ..datasets._table import check_columns
from ._files import check_files, check_model_file
from ._models import METHODS, Labels, needs_groups

LOCAL = "local"  # a cluster on this machine, for as long as the command runs
ADDRESS = re.compile(r"^(\w+://.+|[\w.-]+:\d+)$")
SHARE_OF_MEMORY = 0.8  # that a cluster on this machine may take


def with_address(args: list[str]) -> list[str]:
    """``--dask`` without an address as ``--dask local``."""
    result: list[str] = []
    for arg in args:
        if result and result[-1] == "--dask" and not (ADDRESS.match(arg) or arg == LOCAL):
            result.append(LOCAL)
        result.append(arg)
    return [*result, LOCAL] if result and result[-1] == "--dask" else result


def refuse(**given: Any) -> None:
    """What is for tables that are read here."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"--{name.replace('_', '-')} cannot be used with --dask, got {str(value)!r}")


@contextmanager
def cluster(address: str, jobs: int) -> Iterator[Any]:
    """A client of the cluster at an address, or of one on this machine with a worker per job and a limit of memory."""
    require_dask()
    from dask.system import CPU_COUNT
    from distributed import Client, LocalCluster
    from distributed.system import MEMORY_LIMIT

    if address != LOCAL:
        with Client(address, timeout="10s") as client:
            yield client
        return
    n_workers = jobs if jobs > 0 else CPU_COUNT
    limit = int(SHARE_OF_MEMORY * MEMORY_LIMIT / n_workers)
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=limit,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as local,
        Client(local) as client,
    ):
        yield client


def parquet_files(data: Path) -> list[Path]:
    """The Parquet files of a folder, one file, or those that fit a pattern."""
    if data.is_dir():
        files = sorted([*data.glob("*.parquet"), *data.glob("*.pq")])
    else:
        files = sorted(data.parent.glob(data.name))
    files = [file for file in files if file.suffix in (".parquet", ".pq")]
    if not files:
        raise ValueError(
            f"--dask reads Parquet files, and {str(data)!r} names none: a folder, a file or 'data/*.parquet'"
        )
    return files


def read_parquet(data: Path) -> Any:
    """The same files as a collection."""
    import dask.dataframe as dd

    return dd.read_parquet([str(file) for file in parquet_files(data)])


def train(
    data: Path,
    target: str,
    positive: str,
    sensitive: list[str],
    parameters: dict[str, Any],
    model_path: Path,
    address: str,
    drop: list[str] | None,
    exclude_sensitive: bool,
) -> str:
    """Train on a cluster and save the model; return what to tell the user."""
    check_files({f"the data {str(file)!r}": file for file in parquet_files(data)}, {"--model": model_path})
    parameters = dict(parameters)
    method, jobs = parameters.pop("method", "adafair"), parameters["n_jobs"]
    if method not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {method!r}")
    Grouping(parameters.get("bands"), parameters.get("missing_group"))  # says so if they are none
    with cluster(address, jobs) as client:
        frame = read_parquet(data)
        dropped = list(dict.fromkeys([target, *(drop or []), *(sensitive if exclude_sensitive else [])]))
        check_columns(frame._meta, target=[target], sensitive=sensitive, drop=drop or [])
        found = frame[target].map_partitions(pd.Series.drop_duplicates, meta=frame[target]._meta).compute()
        labels = Labels.of(found.drop_duplicates(), positive, parameters.pop("favourable", None))
        X = frame.drop(columns=dropped)
        truths = [name for name, dtype in X.dtypes.items() if pd.api.types.is_bool_dtype(dtype)]
        cls: Any = DaskParityBoostClassifier if method == "parityboost" else DaskAdaFairClassifier
        parameters |= labels.parameters
        model = cls(**parameters, client=client, verbose=1, categorical_features=truths or "from_dtype")
        y = frame[target]
        if not labels.can_be_sorted:
            y = y.map_partitions(_is_positive, labels.outcomes[1], meta=pd.Series([], dtype="int64", name=target))
        groups = frame[sensitive[0]] if len(sensitive) == 1 else frame[sensitive]
        model.fit(X, y, sensitive_features=groups)
        local = model.to_local()
        n_workers = len(client.nthreads())
    labels.name(local)
    local.save(model_path)
    return (
        f"{X.shape[1]} columns, {frame.npartitions} partitions on {n_workers} workers: {local.theta_} learners in use."
        f"\nModel: {model_path}"
    )


def _is_positive(labels: pd.Series[Any], positive: Any) -> pd.Series[Any]:
    found: pd.Series[Any] = (labels == positive).astype("int64")
    return found


def predict(model_path: Path, data: Path, out: Path, sensitive: list[str], address: str) -> str:
    """Predict on a cluster, to a folder of Parquet files; return what to tell the user."""
    from .. import load

    check_model_file("predict", model_path, f"parityboost predict model.json {model_path} --out {out}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"--out must be a new or empty folder for the Parquet files, got {str(out)!r}")
    model = load(model_path)
    if needs_groups(model) and not sensitive:
        raise ValueError("the model has a threshold per group: name the group's column with --sensitive")
    with cluster(address, 1):
        frame = read_parquet(data)
        check_columns(frame._meta, model=list(model.feature_names_in_), sensitive=sensitive)
        meta = _predict_part(frame._meta, model, None)
        given = {"model": model, "sensitive": sensitive if needs_groups(model) else None}
        frame.map_partitions(_predict_part, **given, meta=meta).to_parquet(str(out), write_index=False)
    return f"{frame.npartitions} partitions: {out}"


def _predict_part(part: pd.DataFrame, model: Any, sensitive: list[str] | None) -> pd.DataFrame:
    classes = pd.Series(model._outcomes.tolist())  # as pandas has such values, whatever the model's array holds
    score = np.empty(0)
    if len(part):
        extra = {} if sensitive is None else {"sensitive_features": part[sensitive]}
        score = model._score_of(part[list(model.feature_names_in_)], **extra)
    predicted = classes.take((score > 0).astype(int)).array
    return part.assign(prediction=predicted, probability=1 / (1 + np.exp(-2 * score)))
