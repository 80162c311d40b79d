"""``parityboost train --dask`` and ``predict --dask``: Parquet files of any size, on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from .._table.grouping import Grouping
from ..dask import DaskAdaFairClassifier, DaskParityBoostClassifier
from ..dask._cluster import require_dask
from ..datasets._table import check_columns
from ._choices import choice_told
from ._files import check_files, check_model_file
from ._models import (
    FileLabels,
    Roles,
    check_method,
    check_told_groups,
    needs_groups,
    predictions,
    size_of,
)
from ._running import LOCAL, in_words_of_the_command_line

SHARE_OF_MEMORY = 0.8  # that a cluster on this machine may take


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
    how = {"n_workers": n_workers, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    limit = int(SHARE_OF_MEMORY * MEMORY_LIMIT / n_workers)
    with LocalCluster(**how, memory_limit=limit) as local, Client(local) as client:
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
    import dask.dataframe as dd

    return dd.read_parquet([str(file) for file in parquet_files(data)])


def train(data: Path, roles: Roles, parameters: dict[str, Any], model_path: Path, address: str) -> str:
    """Train on a cluster and save the model; return what to tell the user."""
    check_files({f"the data {str(file)!r}": file for file in parquet_files(data)}, {"--model": model_path})
    method = parameters.pop("method")
    check_method(method, parameters)
    Grouping(parameters["bands"], parameters["missing_group"])  # says so if they are none
    target, sensitive = roles.target, roles.sensitive
    with cluster(address, parameters["n_jobs"]) as client:
        frame = read_parquet(data)
        check_columns(frame._meta, target=[target], sensitive=sensitive, drop=roles.drop)
        roles.check_weights(frame._meta)
        y = frame[target]
        found = y.map_partitions(pd.Series.drop_duplicates, meta=y._meta).compute()
        labels = FileLabels.of(found.drop_duplicates(), roles.positive, parameters.pop("favourable"))
        X = frame.drop(columns=list(dict.fromkeys([target, *roles.left_out])))
        truths = [name for name, dtype in X.dtypes.items() if pd.api.types.is_bool_dtype(dtype)]
        cls: Any = DaskParityBoostClassifier if method == "parityboost" else DaskAdaFairClassifier
        parameters |= labels.parameters
        model = cls(**parameters, client=client, verbose=1, categorical_features=truths or "from_dtype")
        if not labels.can_be_sorted:
            meta = pd.Series([], dtype="int64", name=target)
            y = y.map_partitions(lambda part: (part == labels.outcomes[1]).astype("int64"), meta=meta)
        with in_words_of_the_command_line(None if labels.can_be_sorted else labels.outcomes):
            groups = frame[sensitive[0]] if len(sensitive) == 1 else frame[sensitive]
            weights = None if roles.weights is None else frame[roles.weights]
            model.fit(X, y, sensitive_features=groups, sample_weight=weights)
        local = model.to_local()
        n_workers = len(client.nthreads())
    labels.name(local)
    local.save(model_path)
    return "\n".join(
        [
            f"{X.shape[1]} columns, {frame.npartitions} partitions on {n_workers} workers: {size_of(local)}.",
            choice_told(local),
            f"Model: {model_path}",
        ]
    )


def predict(
    model_path: Path, data: Path, out: Path, sensitive: list[str], address: str, with_score: bool = False
) -> str:
    """Predict on a cluster, to a folder of Parquet files; return what to tell the user."""
    from .. import load

    check_model_file("predict", model_path, f"parityboost predict model.json {model_path} --out {out}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"--out must be a new or empty folder for the Parquet files, got {str(out)!r}")
    model = load(model_path)
    check_told_groups(model, sensitive)
    with cluster(address, 1):
        frame = read_parquet(data)
        check_columns(frame._meta, model=list(model.feature_names_in_), sensitive=sensitive)
        given = {"model": model, "sensitive": sensitive if needs_groups(model) else [], "with_score": with_score}
        meta = _predict_part(frame._meta, **given)
        frame.map_partitions(_predict_part, **given, meta=meta).to_parquet(str(out), write_index=False)
    return f"{frame.npartitions} partitions: {out}"


def _predict_part(part: pd.DataFrame, model: Any, sensitive: list[str], with_score: bool) -> pd.DataFrame:
    # As pandas has such values, whatever the model's array holds.
    labels = pd.Series(model.about_.labels.outcomes.tolist())
    added = predictions(model, part[list(model.feature_names_in_)], part[sensitive], with_score)
    return part.assign(**(added | {"prediction": labels.take(added["prediction"]).array}))
