"""The package as a whole: what importing it costs, its documentation, its demo."""

import ast
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import parityboost
from conftest import run_python
from parityboost import audit, demo, explain, explore, metrics, notions, plot, report
from parityboost.paper import baselines, experiments

ROOT = Path(__file__).parent.parent
EXTRAS = [
    "typer",
    "rich",
    "matplotlib",
    "plotly",
    "jinja2",
    "cvxpy",
    "dccp",
    "pooch",
    "onnx",
    "pyarrow",
    "fairlearn",
    "dask",
    "distributed",
]
MODULES = [info.name for info in pkgutil.walk_packages(parityboost.__path__, "parityboost.")]


def test_everything_imports_without_the_extras():
    code = f"""
import sys
for name in {EXTRAS}:
    sys.modules[name] = None  # importing it now fails
import importlib
for name in {MODULES}:
    importlib.import_module(name)
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr


def test_importing_costs_little_beside_pandas_and_scikit_learn_and_leaves_numba_alone(tmp_path, monkeypatch):
    # As for users, whose Python keeps what it has compiled.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    code = """
import sys
from time import process_time
started = process_time()
import pandas, sklearn.ensemble
theirs = process_time()
import parityboost
from parityboost import audit, datasets, explain, plot, report
print((process_time() - theirs) / (theirs - started), "numba" in sys.modules)
"""
    run_python(code)
    result = run_python(code)
    share, with_numba = result.stdout.split()
    assert float(share) < 0.2, result.stdout  # measured: 0.06
    assert with_numba == "False"


@pytest.mark.slow
def test_kernels_work_without_a_folder_to_cache_in(tmp_path):
    """As on a read-only system without a home: numba then has nowhere to put what it compiles."""
    X = np.arange(20.0)[:, None]
    parityboost.AdaBoostClassifier(2).fit(X, X[:, 0] > 9).save(tmp_path / "model.json")
    code = f"""
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
import numpy as np
import parityboost
print(parityboost.load({str(tmp_path / "model.json")!r}).predict(np.arange(20.0)[:, None]).sum())
"""
    result = run_python(code)
    assert result.stdout.strip() == "10", result.stderr


def test_kernels_work_uncompiled(monkeypatch):
    """As with a debugger in them."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    code = """
import warnings
import numpy as np
from parityboost import AdaFairClassifier
warnings.filterwarnings("ignore", "overflow", RuntimeWarning)  # of hashes
X = np.random.default_rng(0).normal(size=(60, 2))
y, group = X[:, 0] > 0, X[:, 1] > 0
model = AdaFairClassifier("none", n_estimators=2, validation_fraction=None).fit(X, y, sensitive_features=group)
print((model.predict(X) == y).all())
"""
    result = run_python(code)
    assert result.stdout.strip() == "True", result.stderr


# Who may import whom: a room's imports stand above it. The rooms are in three rings, and imports point inwards.
# CONTRIBUTING.md says what lives in each.
CORE = [  # from a table to a fitted model
    {"_arrays", "_caller", "_docs", "_extras", "_notebook"},
    {"_stats", "_engine", "_moved"},
    {"notions"},
    {"_table"},
    {"_choice"},
    {"_model"},
    {"_fit"},
    {"_io"},
    {"_base"},
    {"estimators", "recommended"},
    {"adaboost"},
    {"dask"},
]
LOOK = [  # reads models and predictions
    {"metrics"},
    {"_public"},
    {"datasets", "explain"},
    {"explore"},
    {"audit"},
    {"demo", "plot"},
    {"report"},
]
PAPER = [  # its competitors and its evaluation
    {"baselines", "experiments"},  # where names of paper were: see _moved.py
    {"paper"},
]
COMMANDS = [{"_cli"}, {"cli"}, {"__main__"}]  # part of look, but one of them, reproduce, reads paper
LAYERS = [*CORE, *LOOK, *PAPER, *COMMANDS]
RINGS = {"core": CORE, "look": [*LOOK, *COMMANDS], "paper": PAPER}


SOURCE = ROOT / "src" / "parityboost"
PATHS = sorted(SOURCE.rglob("*.py"))


def module_of(path):
    """The names of its folders and its own: ``["parityboost", "_fit", "loop"]``; a package is named by its folder."""
    parts = ["parityboost", *path.relative_to(SOURCE).with_suffix("").parts]
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(source, package):
    """What some source imports, anywhere in it: the names of each; ``package`` are the names of its folders."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            yield from ([*base, alias.name] for alias in node.names)


def imported_parts(source, package):
    """The parts of parityboost among them."""
    return (name[1] for name in imports(source, package) if name[0] == "parityboost" and len(name) > 1)


@pytest.mark.parametrize(
    ("line", "package", "parts"),
    [
        ("from . import notions, metrics", ["parityboost"], ["notions", "metrics"]),
        ("from ._stats.rates import spread, accuracy", ["parityboost"], ["_stats", "_stats"]),
        ("from ._stats.rates import (\n    spread,\n    accuracy,\n)", ["parityboost"], ["_stats", "_stats"]),
        ("from .. import notions as given", ["parityboost", "audit"], ["notions"]),
        ("from ..datasets._table import read_table", ["parityboost", "_cli"], ["datasets"]),
        ("from . import _models", ["parityboost", "_cli"], ["_cli"]),
        ("import parityboost.explain, numpy", ["parityboost"], ["explain"]),
        ("from parityboost.plot import show", ["parityboost"], ["plot"]),
        ("def f():\n    from .report import write", ["parityboost"], ["report"]),
        ("import numpy\nfrom scipy import sparse", ["parityboost"], []),
    ],
)
def test_every_way_to_import_is_seen(line, package, parts):
    assert list(imported_parts(line, package)) == parts


def package_of(path):
    return ["parityboost", *path.relative_to(SOURCE).parts[:-1]]


def against_the_direction(part, source, package):
    """What a part imports though it stands beside or below it."""
    rank = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    assert part in rank, f"{part} has no layer"
    found = {target for target in imported_parts(source, package) if target in rank and target != part}
    return sorted(target for target in found if rank[target] >= rank[part])


@pytest.mark.no_cover
def test_imports_point_one_way():
    for path in PATHS:
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part != "__init__":
            assert against_the_direction(part, path.read_text(encoding="utf8"), package_of(path)) == [], path


def test_an_import_against_the_direction_is_seen():
    assert against_the_direction("_fit", "def f():\n    from .._io import onnx", ["parityboost", "_fit"]) == ["_io"]
    assert against_the_direction("_stats", "import parityboost._engine.threads", ["parityboost", "_stats"]) == [
        "_engine"
    ]
    assert against_the_direction("_io", "from .._fit import loop", ["parityboost", "_io"]) == []


def ring_of(part):
    return next(ring for ring, layers in RINGS.items() if any(part in layer for layer in layers))


def readers_of(ring):
    """The modules of other rings that import something of a ring, by their own ring."""
    rooms, found = set().union(*RINGS[ring]), {}
    for path in PATHS:
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        read = rooms & set(imported_parts(path.read_text(encoding="utf8"), package_of(path)))
        if read and part != "__init__" and ring_of(part) != ring:
            found.setdefault(ring_of(part), set()).add(path.relative_to(SOURCE).as_posix())
    return found


def test_every_room_is_in_one_ring():
    rooms = [part for layers in RINGS.values() for layer in layers for part in layer]
    there = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in PATHS} - {"__init__"}
    assert sorted(rooms) == sorted(there)


@pytest.mark.no_cover
def test_the_core_reads_no_other_ring():
    assert set(readers_of("look")) == {"paper"}
    assert "core" not in readers_of("paper")


@pytest.mark.no_cover
def test_nothing_but_the_command_reproduce_reads_the_papers_ring():
    assert readers_of("paper") == {"look": {"_cli/_reproduce.py"}}


def test_the_guide_for_contributors_names_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    places = text[text.index("## Where things are") : text.index("## Add a notion")]
    known = {part.removesuffix(".py") for name in re.findall(r"`([\w/.]+)`", places) for part in [name.split("/")[0]]}
    assert set().union(*LAYERS) - {"__main__"} <= known


def modules_imported(modules):
    """Which of these modules each imports, anywhere in it; ``modules`` maps names to (source, package)."""
    found = {}
    for name, (source, package) in modules.items():
        targets = set()
        for target in map(tuple, imports(source, package)):
            targets |= {target} & modules.keys() or {target[:-1]} & modules.keys()
        found[name] = targets - {name, ("parityboost",)}
    return found


def find_cycle(graph):
    """Some modules that import each other in a circle, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return None
        path.append(node)
        found = next(filter(None, map(visit, sorted(graph[node]))), None)
        path.pop()
        done.add(node)
        return found

    return next(filter(None, map(visit, sorted(graph))), None)


@pytest.mark.no_cover
def test_no_modules_import_each_other():
    modules = {tuple(module_of(path)): (path.read_text(encoding="utf8"), package_of(path)) for path in PATHS}
    graph = modules_imported(modules)
    assert sum(map(len, graph.values())) > 300
    assert find_cycle(graph) is None
    circle = {("p", "a"): ("from . import b", ["p"]), ("p", "b"): ("def f():\n    from .a import g", ["p"])}
    assert find_cycle(modules_imported(circle)) == [("p", "a"), ("p", "b"), ("p", "a")]


@pytest.mark.no_cover
def test_no_module_takes_a_private_name_from_another():
    modules = {tuple(module_of(path)) for path in PATHS}
    for path in PATHS:
        for target in imports(path.read_text(encoding="utf8"), package_of(path)):
            private = target[0] == "parityboost" and target[-1].startswith("_") and not target[-1].startswith("__")
            assert not private or tuple(target) in modules, f"{path.relative_to(SOURCE)} imports {'.'.join(target)}"


@pytest.mark.parametrize("name", ["parityboost", *(name for name in MODULES if "datasets" not in name)])
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    flags = doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(module, optionflags=flags)
    assert result.failed == 0


def test_public_names_are_documented_and_exist():
    for module in (parityboost, metrics, notions, audit, baselines, experiments, explain, explore, plot, report):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value):
                assert value.__doc__, name


def test_the_demo_prints_a_table_and_what_it_shows(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(demo, "run", lambda n_estimators=25, run=demo.run: run(min(n_estimators, 25)))
    demo.main()
    out = capsys.readouterr().out
    rows = [re.split("  +", line)[0] for line in out.splitlines() if re.search(r"(\d\.\d[ *] *\d*){7}", f"{line} ")]
    words = ("people found", "both mistakes", "yeses")
    assert rows == ["AdaBoost, plain", *(f"{name}, {what}" for name in ("AdaFair", "ParityBoost") for what in words)]
    assert len(re.findall(r"\d\.\d\*", out)) == 6 and "D.M." not in out
    assert [line[:2] for line in out.splitlines() if line[:1].isdigit()] == ["1.", "2.", "3."]
    assert max(len(line) for line in out.splitlines()) <= 80


def test_the_version_is_that_of_the_project():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    assert f'version = "{parityboost.__version__}"' in text
    assert f"\nversion: {parityboost.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf8")
    assert f"version = {{{parityboost.__version__}}}" in (ROOT / "docs" / "cite.md").read_text(encoding="utf8")
