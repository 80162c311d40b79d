"""What an installation with one extra must be able to do: ``python smoke.py EXTRA``, where "core" stands for none.

Run in an environment that holds the wheel with that extra and nothing else, away from the source tree. The examples in
the docstrings are what a user would try first, so they are what is tried here.
"""

import doctest
import importlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import parityboost
from parityboost import AdaFairClassifier
from parityboost.datasets import load_adult

os.environ["MPLBACKEND"] = "Agg"
OF_EXTRAS = (
    "typer",
    "rich",
    "matplotlib",
    "plotly",
    "jinja2",
    "cvxpy",
    "dccp",
    "fairlearn",
    "pooch",
    "onnx",
    "sqlglot",
    "pyarrow",
    "dask",
    "distributed",
)


def check_examples(*names):
    """Run the examples of the modules named and of those inside them; there must be some."""
    tried = 0
    for name in names:
        if importlib.util.find_spec(name) is None:
            print(f"  {name} is not part of this version")
            tried += 1
            continue
        module = importlib.import_module(name)
        inside = [info.name for info in pkgutil.walk_packages(getattr(module, "__path__", []), f"{name}.")]
        for part in [module, *map(importlib.import_module, inside)]:
            result = doctest.testmod(part, optionflags=doctest.NORMALIZE_WHITESPACE)
            assert result.failed == 0, f"{result.failed} examples of {part.__name__} failed"
            tried += result.attempted
    assert tried, f"no examples in {names}"


def fit(n_estimators=20):
    adult = load_adult()
    assert adult.data.shape[0] == 45175
    return AdaFairClassifier(n_estimators=n_estimators, random_state=0).fit(
        adult.data, adult.target, sensitive_features=adult.sensitive
    ), adult


def core():
    here = [name for name in OF_EXTRAS if importlib.util.find_spec(name)]
    assert not here, f"a core installation brought {here}"
    for info in pkgutil.walk_packages(parityboost.__path__, "parityboost."):
        importlib.import_module(info.name)
    model, adult = fit()
    assert (model.predict(adult.data) == adult.target).mean() > 0.7
    check_examples(
        "parityboost.metrics", "parityboost.notions", "parityboost.estimators", "parityboost.paper.experiments"
    )
    check_examples("parityboost.explain", "parityboost.audit")
    command = subprocess.run([script("parityboost"), "--version"], capture_output=True, text=True, check=False)
    assert command.returncode == 1 and '"typer>=' in command.stderr, command


def cli():
    def printed(*arguments):
        return subprocess.run([script("parityboost"), *arguments], capture_output=True, text=True, check=True).stdout

    assert printed("--version") == f"parityboost {parityboost.__version__}\n"
    assert "ParityBoost, people found" in printed("demo")
    assert "adult" in printed("datasets", "adult")


def plot():
    check_examples("parityboost.plot")
    draw = importlib.import_module("parityboost.paper.experiments._figures")  # the paper's figures
    assert importlib.util.find_spec("matplotlib") and draw


def report():
    check_examples("parityboost.report")


def baselines():
    from parityboost.datasets import make_biased_classification
    from parityboost.paper.baselines import METHODS, ZafarClassifier

    data = make_biased_classification(400, random_state=0)
    fairlearn = [METHODS[name].make(max_iter=5) for name in ("ExponentiatedGradient", "ThresholdOptimizer")]
    for model in (*fairlearn, ZafarClassifier(solver="dccp")):
        model.fit(data.data, data.target, sensitive_features=data.sensitive)
        groups = {"sensitive_features": data.sensitive} if model is fairlearn[1] else {}
        assert model.predict(data.data, **groups).shape == (400,)


def datasets():
    """Downloads go through pooch: from this machine here, and what comes is not what was published."""
    from parityboost.datasets._catalogue import BANK
    from parityboost.datasets._files import fetch

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    with tempfile.TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        os.chdir(folder)
        Path(BANK.archive).write_bytes(b"not the data")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            fetch(replace(BANK, url=f"http://127.0.0.1:{server.server_port}/{BANK.archive}"), Path(folder, "cache"))
        except OSError as error:
            assert BANK.archive in str(error), error
        else:
            raise AssertionError("a damaged download was accepted")
        finally:
            server.shutdown()
            os.chdir("/")


def onnx():
    if not hasattr(AdaFairClassifier, "to_onnx"):
        print("  to_onnx is not part of this version")
        return
    import onnx as format_

    model, _ = fit()
    format_.checker.check_model(model.to_onnx())


def sql():
    if not hasattr(AdaFairClassifier, "to_sql"):
        print("  to_sql is not part of this version")
        return
    import sqlite3

    model, adult = fit()
    connection = sqlite3.connect(":memory:")
    people = adult.data.astype({name: object for name in adult.data if adult.data[name].dtype == "category"})
    people.assign(row=range(len(people))).to_sql("people", connection, index=False)
    decided = dict(connection.execute(f"SELECT row, decision FROM ({model.to_sql('people', 'sqlite', keep=['row'])})"))
    assert [decided[row] for row in range(len(people))] == model.predict(adult.data).tolist()


def dask():
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from parityboost.dask import DaskAdaFairClassifier

    local, adult = fit()
    frame = dd.from_pandas(adult.data.assign(target=adult.target), npartitions=3)
    X = frame.drop(columns="target")
    validation = adult.data, adult.target, adult.sensitive
    with LocalCluster(n_workers=2, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
        model = DaskAdaFairClassifier(n_estimators=5, validation_fraction=None, client=client)
        model.fit(X, frame["target"], sensitive_features=frame["sex"])
    local.set_params(n_estimators=5, validation_fraction=None).fit(*validation[:2], sensitive_features=validation[2])
    assert (model.to_local().decision_function(adult.data) == local.decision_function(adult.data)).all()


def script(name):
    return str(Path(sysconfig.get_path("scripts"), name))


if __name__ == "__main__":
    extra = sys.argv[1]
    assert "site-packages" in parityboost.__file__, f"not the installed package: {parityboost.__file__}"
    tests = {test.__name__: test for test in (core, cli, plot, report, baselines, datasets, onnx, sql, dask)}
    tests[extra]()
    print(f"smoke test of {extra}: passed")
