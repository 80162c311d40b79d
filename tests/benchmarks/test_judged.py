"""The benchmarks judged by others: what is stored, chosen, measured and said, on rows that are made here."""

import bz2
import importlib
import io
import re
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from parityboost import metrics

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KEY = {"table": "nine races", "method": "LightGBM", "setting": "", "split": 0, "version": "lightgbm 1"}


@pytest.fixture
def benchmark_module(monkeypatch):
    """A module of the benchmarks, which are scripts and no package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in [n for n, m in sys.modules.items() if Path(getattr(m, "__file__", None) or "").parent == BENCHMARKS]:
        del sys.modules[name]


def test_no_benchmark_has_the_name_of_a_package():
    """A script's folder comes first on its path: numba took coverage.py there for the package, and failed."""
    taken = {name for names in (sys.stdlib_module_names, packages_distributions(), {"tables"}) for name in names}
    assert [path.name for path in BENCHMARKS.glob("*.py") if path.stem in taken] == []


# --- The store ------------------------------------------------------------------------------------


@pytest.fixture
def store(benchmark_module, tmp_path):
    return benchmark_module("store").Store(tmp_path / "runs", tmp_path / "runs.csv")


def test_a_run_is_kept_and_another_version_is_another_run(store):
    assert not store.has(KEY)
    store.put(KEY, [{"point": "a", "seconds": 1.5}])
    assert store.has(KEY) and not store.has(KEY | {"version": "lightgbm 2"}) and not store.has(KEY | {"split": 1})


def test_the_last_made_version_of_a_run_counts(store, benchmark_module, monkeypatch):
    class Clock:
        now = staticmethod(lambda zone: next(times))

    times = (pd.Timestamp(f"2026-01-0{day}") for day in (1, 2))
    monkeypatch.setattr(benchmark_module("store"), "datetime", Clock)
    for version in ("lightgbm 1", "lightgbm 2"):
        store.put(KEY | {"version": version}, [{"point": version}])
    assert list(store.frame()["point"]) == ["lightgbm 2"]


def test_a_clone_reads_the_table_and_adds_its_own_runs(store, benchmark_module, tmp_path):
    store.put(KEY, [{"point": "a", "seconds": 1.5}, {"point": "b", "seconds": 2.5}])
    store.put(KEY | {"split": 1}, [{"failed": "no memory"}])
    store.pack()
    clone = benchmark_module("store").Store(tmp_path / "elsewhere", store.packed)
    assert clone.has(KEY) and clone.has(KEY | {"split": 1}) and not clone.has(KEY | {"split": 2})
    before = store.packed.read_bytes()
    clone.pack()
    assert store.packed.read_bytes() == before
    clone.put(KEY | {"split": 2}, [{"point": "c"}])
    assert set(clone.frame()["split"]) == {0, 1, 2}
    clone.forget(["LightGBM"])
    assert not clone.has(KEY) and clone.frame().empty


def test_a_file_that_was_not_finished_is_no_run(store):
    store.folder.mkdir()
    store.path(KEY).with_suffix(".part").write_text('{"key":')
    assert not store.has(KEY) and store.frame().empty


# --- Measures -------------------------------------------------------------------------------------


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    s = rng.choice(3, 4000, p=[0.6, 0.395, 0.005])
    y = (rng.random(4000) < 0.3 + 0.2 * (s == 0)).astype(int)
    return y, s, np.clip(0.3 * y + 0.1 * (s == 0) + 0.4 * rng.random(4000), 0, 1)


def test_measures_from_counts_are_those_of_the_rows(benchmark_module, people):
    counted, (y, s, scores) = benchmark_module("counted"), people
    thresholds = np.array([0.2, 0.5])
    tables = counted.count_thresholds(y, s, scores, thresholds, 3)
    for threshold, counts in zip(thresholds, tables, strict=True):
        yes = scores > threshold
        np.testing.assert_array_equal(counts, counted.count(y, s, yes, 3))
        assert counted.accuracy(counts) == pytest.approx(np.mean(yes == y))
        table = metrics.group_table(y, yes.astype(int), sensitive_features=s, pos_label=1).drop("all")
        assert counted.tpr_ratio(counts) == pytest.approx(table["tpr"].min() / table["tpr"].max())
        assert counted.gap(counts, 0) == pytest.approx(np.ptp(table["fpr"]))
        assert counted.larger_gap(counts) == pytest.approx(max(np.ptp(table["fpr"]), np.ptp(table["tpr"])))
    assert list(counted.large(tables)) == [True, True, False]


def test_answers_drawn_at_random_count_with_their_chances(benchmark_module, people):
    counted, (y, s, scores) = benchmark_module("counted"), people
    draws = [np.random.default_rng(k).random(len(y)) < scores for k in range(400)]
    found = np.mean([counted.count(y, s, yes, 3) for yes in draws], axis=0)
    np.testing.assert_allclose(counted.count(y, s, scores, 3), found, atol=4)


def test_an_interval_is_as_wide_as_the_measure_varies_between_samples(benchmark_module, people):
    counted, (y, s, scores) = benchmark_module("counted"), people
    rng, found = np.random.default_rng(1), []
    for _ in range(300):
        rows = rng.choice(len(y), len(y))
        found.append(counted.accuracy(counted.count(y[rows], s[rows], scores[rows] > 0.4, 3)))
    low, high = counted.interval(counted.accuracy(counted.drawn(counted.count(y, s, scores > 0.4, 3))))
    assert high - low == pytest.approx(2 * 1.96 * np.std(found), rel=0.15)


# --- What is chosen -------------------------------------------------------------------------------


def test_thresholds_keep_their_limit_on_held_out_rows_and_see_no_test_label(benchmark_module, monkeypatch, people):
    folktables, counted = benchmark_module("folktables"), benchmark_module("counted")
    y, s, scores = people
    held = np.arange(len(y)) % 3 == 0
    table = folktables.TABLES["nine races"]
    method = folktables.Method("LightGBM", "lightgbm", "lightgbm", scores=True)
    found = {"a|held": scores[held], "a|test": scores, "a|seconds": 1.0}
    found |= {"b|held": 1 - scores[held], "b|test": 1 - scores, "b|seconds": 1.0}
    chosen = []
    for y_test in (y, 1 - y):
        monkeypatch.setattr(folktables, "rows_of", lambda name, known=y_test: (None, y, s, held, None, known, s))
        chosen.append(list(folktables.points(table, method, found)))
    for first, second in zip(*chosen, strict=True):
        swapped = folktables.unpacked(second["counts"])[:, ::-1]
        np.testing.assert_array_equal(folktables.unpacked(first["counts"]), swapped)
    limits = {row["point"]: row for row in chosen[0] if row["point"].startswith("limit")}
    assert limits and {row["of"] for row in limits.values()} == {"a"}
    cuts = np.unique(scores[held])
    tables = counted.count_thresholds(y[held], s[held], scores[held], cuts, 9)
    best = counted.accuracy(tables)[table.keeps(tables, 0.9)].max()
    yes = folktables.unpacked(limits["limit 0.9"]["counts"])[:, :, 1].sum()
    cut = np.sort(scores)[-int(yes) - 1]
    taken = counted.count(y[held], s[held], scores[held] > cut, 9)
    assert table.keeps(taken, 0.9) and counted.accuracy(taken) > best - 0.01


def test_every_method_has_its_function_and_its_environment(benchmark_module):
    folktables, methods = benchmark_module("folktables"), benchmark_module("judged_methods")
    for table in folktables.TABLES.values():
        names = [method.name for method in table.methods]
        assert len(set(names)) == len(names)
        for method in table.methods:
            assert callable(getattr(methods, method.function))
            requirements = folktables.REQUIREMENTS[method.environment]
            assert method.environment == "parityboost" or requirements[0].startswith(f"{method.environment}==")
            assert "numpy" not in method.version and method.version


def method_run(tmp_path, function):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=900), rng.integers(0, 4, 900)])
    y = (X[:, 0] + 0.3 * X[:, 1] + rng.normal(size=900) > 0.4).astype(int)
    source, target = tmp_path / "in.npz", tmp_path / "out.npz"
    shared = {"categorical": [1], "notion": "equal_opportunity", "setting": "", "held": np.arange(600) % 3 == 0}
    np.savez(source, X=X[:600], y=y[:600], s=rng.integers(0, 2, 600), X_test=X[600:], s_test=np.zeros(300), **shared)
    script = str(BENCHMARKS / "judged_methods.py")
    subprocess.run([sys.executable, "-W", "ignore", script, function, str(source), str(target)], check=True)
    with np.load(target) as found:
        return dict(found), y[600:]


@pytest.mark.parametrize("function", ["hist_gradient_boosting", pytest.param("parityboost", marks=pytest.mark.slow)])
def test_a_method_says_something_about_held_out_and_test_rows(tmp_path, function):
    found, y = method_run(tmp_path, function)
    settings = [name.removesuffix("|test") for name in found if name.endswith("|test")]
    assert settings
    for setting in settings:
        assert found[f"{setting}|seconds"] >= 0
        # Ours chooses by itself, on what its trainings held out.
        assert f"{setting}|held" not in found if function == "parityboost" else found[f"{setting}|held"].shape == (200,)
        assert np.mean((found[f"{setting}|test"] > 0.5) == y) > 0.6


def test_the_method_of_the_page_is_one(benchmark_module, monkeypatch):
    page = (BENCHMARKS.parent / "docs" / "how-we-measure.md").read_text(encoding="utf8")
    function, line = re.findall(r"^```py\n(.*?)^```$", page, re.M | re.S)
    assert len([*function.splitlines(), *line.splitlines()]) <= 11
    methods, folktables = benchmark_module("judged_methods"), benchmark_module("folktables")
    exec(function, vars(methods))
    method = eval(line.strip().removesuffix(","), vars(folktables))
    assert method.environment in folktables.REQUIREMENTS
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 2
    part, rest, everyone = (SimpleNamespace(X=X[a:b], y=y[a:b]) for a, b in ((0, 60), (60, 90), (0, 90)))
    data = SimpleNamespace(part=part, rest=rest, all=everyone, X_test=X[:20])
    ((name, held, test),) = getattr(methods, method.function)(data)
    assert (name, held.shape, test.shape) == ("defaults", (30,), (20,))


# --- What must be true ----------------------------------------------------------------------------


def frame(*points):
    columns = ["method", "group", "accuracy", "tpr_ratio"]
    return pd.DataFrame(points, columns=columns).assign(table="nine races", point="limit")


def test_a_point_of_theirs_that_no_point_of_ours_meets_is_found(benchmark_module):
    pages = benchmark_module("folktables_pages")
    own = [("ParityBoost", "no", 0.81, 0.80), ("ParityBoost", "no", 0.79, 0.90)]
    met = [("FairGBM", "no", 0.79, 0.85), ("LightGBM", "no", 0.82, 0.74), ("error-parity", "yes", 0.82, 0.95)]
    assert pages.unmet(frame(*own, *met)) == []
    beyond = ("FairGBM", "no", 0.80, 0.81)
    assert [p["accuracy"] for p in pages.unmet(frame(*own, *met, beyond))] == [0.80]
    assert len(pages.unmet(frame(met[0]))) == 1


def test_the_lead_is_between_our_points_and_none_beyond_the_most_accurate(benchmark_module):
    pages = benchmark_module("folktables_pages")
    own = frame(("a", "no", 0.82, 0.6), ("a", "no", 0.80, 0.8), ("a", "no", 0.79, 0.7), ("a", "no", 0.70, 0.9))
    assert list(pages.front(own)["accuracy"]) == [0.70, 0.80, 0.82]
    assert pages.lead(own, 0.81, 0.65) == pytest.approx(0.05)
    assert pages.lead(own, 0.60, 0.95) == pytest.approx(-0.05)
    assert pages.lead(own, 0.83, 0.5) is None and pages.lead(own.iloc[:0], 0.8, 0.5) is None


def test_a_rate_says_which_group_it_is_of(benchmark_module):
    pages, sizes = benchmark_module("folktables_pages"), np.array([101620, 29, 92, 7227])
    rates = pd.Series([20 / 29, 61 / 92, 5003 / 7227])
    assert list(pages.group_of(rates, sizes)) == [29, 92, 7227]


@pytest.mark.no_cover
def test_the_page_is_made_from_what_is_stored_and_says_what_is_missing(benchmark_module, store, people, tmp_path):
    folktables, pages = benchmark_module("folktables"), benchmark_module("folktables_pages")
    counted, (y, s, scores) = benchmark_module("counted"), people

    def row(point, yes):
        return {"point": point, "seconds": 1.0, "counts": folktables.packed(counted.count(y, s, yes, 9))}

    store.put(KEY, [row(f"limit {cut:g}", scores > cut) for cut in (0.4, 0.5)])
    store.put(KEY | {"method": "FairGBM"}, [{"failed": "out of memory"}])
    text = pages.page(store.frame())
    assert "**Partial**: 2 of" in text and "- four races: LightGBM: not run yet" in text
    assert "ParityBoost was not run yet" in text and "FairGBM failed: `out of memory`" in text
    assert text.count("| LightGBM | no | no | limit") == 2
    assert "not run yet: nine races: ParityBoost" in pages.broken(store.frame())
    assert not any(line.startswith("not met") for line in pages.broken(store.frame()))
    store.put(KEY | {"method": "FairGBM"}, [row("limit 0.8", y)])
    assert any(line.startswith("not met: FairGBM, limit 0.8") for line in pages.broken(store.frame()))
    store.put(KEY | {"method": "ParityBoost"}, [row("limit 1", y)])
    assert not any(line.startswith("not met") for line in pages.broken(store.frame()))
    assert "as accurate and has as high a ratio" in pages.page(store.frame())
    store.pack()
    assert pages.page(type(store)(tmp_path / "none", store.packed).frame()) == pages.page(store.frame())
    pytest.importorskip("matplotlib")
    pages.draw(pages.measured(store.frame()), None, tmp_path)
    assert all((tmp_path / f"{name}.png").stat().st_size > 5000 for name in ("folktables", "folktables-races"))


# --- Tables of others -----------------------------------------------------------------------------

ENTRY = {"target": "label", "sensitive": "sex"}


@pytest.fixture
def own_table():
    return pd.DataFrame(
        {"id": range(6), "sex": list("fmfmxm"), "age": [1.0, 2, 3, None, 5, 6], "label": [0, 1, 0, 1, 1, 0]}
    )


def zipped(content):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("table.zip", content)  # as one package has it: a CSV file of that name in an archive of that name
    return archive.getvalue()


@pytest.mark.parametrize("pack", [bytes, zipped, bz2.compress, None])
def test_a_table_is_read_whatever_its_file_is_called(benchmark_module, monkeypatch, tmp_path, own_table, pack):
    monkeypatch.setenv("PARITYBOOST_DATA", str(tmp_path))
    if pack is None:
        own_table.to_parquet(tmp_path / "file")
    else:
        (tmp_path / "file").write_bytes(pack(own_table.to_csv(index=False).encode()))
    found = benchmark_module("tables_of_others").load(ENTRY | {"file": "file", "protected": "f", "drop": ["id"]})
    assert list(found.data) == ["sex", "age"] and str(found.data["sex"].dtype) == "category"
    assert list(found.target) == [0, 1, 0, 1, 1, 0] and found.sensitive_names == ["sex"]
    assert list(found.sensitive == "protected") == [True, False, True, False, False, False]


def test_a_table_that_cannot_be_compared_is_refused_by_name(benchmark_module, monkeypatch, tmp_path, own_table):
    monkeypatch.setenv("PARITYBOOST_DATA", str(tmp_path))
    own_table.to_csv(tmp_path / "t.csv", index=False)
    load = benchmark_module("tables_of_others").load
    with pytest.raises(ValueError, match=r"'sex', the sensitive of t\.csv, must have two values"):
        load(ENTRY | {"file": "t.csv"})
    with pytest.raises(ValueError, match=r"no column 'race' for sensitive in t\.csv"):
        load(ENTRY | {"file": "t.csv", "sensitive": "race"})


def test_every_table_says_where_it_is_from_and_under_which_licence(benchmark_module):
    for name, entry in benchmark_module("tables_of_others").entries_of(BENCHMARKS / "tables.toml").items():
        assert {"package", "file", "target", "sensitive", "licence", "source"} <= set(entry), name
        assert "==" in entry["package"], name


def test_wins_ties_and_losses_are_by_paired_intervals(benchmark_module):
    tables = benchmark_module("tables_of_others")
    rows = []
    for split in range(5):
        for method, mean in (("ParityBoost", 0.3), ("AdaBoost", 0.4), ("FairGBM, group in X", 0.2),
                              ("HistGradientBoosting", 0.3 + (-1) ** split * 0.1)):  # fmt: skip
            total = mean + 0.02 * split  # hard splits are hard for everyone
            rows.append({"table": "a", "method": "x", "shown": method, "notion": "equal_opportunity", "split": split,
                         "ber": total + 1e-4 * split * (method == "ParityBoost"), "measure": 0.0})  # fmt: skip
    found = tables.cells(pd.DataFrame(rows), "ParityBoost").set_index("method")["verdict"]
    assert dict(found) == {"AdaBoost": "win", "HistGradientBoosting": "tie", "FairGBM, group in X": "loss"}


def test_the_readmes_table_is_the_one_that_was_measured():
    tables = [
        re.search(r"<!-- judged -->\n(.*?)<!-- end -->", path.read_text(encoding="utf8"), re.S)
        for path in (BENCHMARKS.parent / "README.md", BENCHMARKS / "results" / "folktables.md")
    ]
    if tables[0] is not None:
        assert tables[1] is not None and tables[0][1].strip() == tables[1][1].strip()
