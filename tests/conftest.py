import os
import shutil
import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path

# Before anything loads OpenMP: parallel tests with several threads each would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

# A first example may compile for seconds, so no deadline. CI always tries the same examples; elsewhere they vary.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

DATA = Path(os.environ.get("PARITYBOOST_DATA") or "/nonexistent")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="PARITYBOOST_DATA names no folder with the raw files")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=f"no browser is installed: none of {', '.join(BROWSERS)}")

KERNELS = [
    import_module(f"parityboost._engine.{name}")
    for name in ["cpu", "kernels.boosting", "kernels.columns", "kernels.splitting", "kernels.thresholds"]
]


def interpret_kernels(patch):
    """All kernels as the Python functions that they were made from."""
    for module in KERNELS:
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                patch.setattr(module, name, kernel.py_func)


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def browser():
    """One for all tests of a file, each of which has a context of its own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def people():
    """300 rows of mixed columns with two groups, in which group 'b' has fewer positives: X, y, group."""
    return make_people(300)


def make_people(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n_rows)
    skill = rng.normal(size=n_rows) - 0.6 * (group == "b")
    y = (skill + 0.5 * rng.normal(size=n_rows) > 0).astype(int)
    X = pd.DataFrame(
        {
            "skill": np.round(skill + 0.5 * rng.normal(size=n_rows), 2),
            "years": rng.integers(0, 30, n_rows),
            "job": pd.Categorical(rng.choice(["clerk", "cook", "smith"], n_rows)),
            "city": rng.choice(["x", "y"], n_rows),
            "member": rng.random(n_rows) < 0.5,
        }
    )
    X.loc[rng.random(n_rows) < 0.1, "skill"] = np.nan
    return X, y, group


def make_wide(n_rows, n_categories, seed=0):
    """A column of many categories, which have an effect each, a number, and groups."""
    rng = np.random.default_rng(seed)
    code, effect = rng.integers(n_categories, size=n_rows), rng.normal(size=n_categories)
    group = rng.choice(["a", "b"], n_rows)
    number = rng.normal(size=n_rows).round(1)
    y = (effect[code] + 0.5 * number - 0.5 * (group == "b") + rng.logistic(scale=0.5, size=n_rows) > 0).astype(int)
    names = np.array([f"c{k:05}" for k in range(n_categories)], dtype=object)[code]
    names[rng.random(n_rows) < 0.05] = None
    return pd.DataFrame({"code": names, "number": number}), y, group


def best_option(found, notion, c, threshold="auto"):
    """The counts and the threshold that the paper's objective chooses among candidates."""
    from parityboost._choice.rule import options_among
    from parityboost._choice.wishes import Settings
    from parityboost.notions import get_notion

    settings = Settings(get_notion(notion), c=c, threshold=threshold)
    options = options_among(found.measured(settings, 1.0), settings, 1.0)
    return options.counts[0], options.thresholds[0]


def pytest_configure(config):
    # Warnings are errors, but for what fit says about models of a few random rows; test_useless.py is about that.
    config.addinivalue_line("filterwarnings", "ignore::parityboost.FitWarning")


def make_device(path, name):
    """A device like /dev/null or /dev/full under another name, so that a mistake cannot harm the machine's own.

    Only root could replace those, and only root can make others; for everybody else a link is as good.
    """
    if not hasattr(os, "geteuid") or not os.path.exists(f"/dev/{name}"):  # noqa: PTH110
        pytest.skip("no such devices here")
    if os.geteuid() != 0:
        path.symlink_to(f"/dev/{name}")
        return
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, {"null": 3, "full": 7}[name]))
        path.open("wb").close()
    except OSError as error:
        pytest.skip(f"devices cannot be made here: {error}")
