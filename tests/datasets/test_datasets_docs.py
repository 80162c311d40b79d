"""Every example in the docstrings about datasets runs; those of the guide are run with the other pages."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest

from parityboost import datasets

DATA = Path(os.environ.get("PARITYBOOST_DATA") or "/nonexistent")


def run(test: doctest.DocTest) -> None:
    if not DATA.is_dir():
        test.examples = [example for example in test.examples if "fetch_" not in example.source]
    assert test.examples, f"{test.name} has no example"
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", datasets.__all__)
def test_the_example_in_the_docstring_runs(name: str) -> None:
    if name.startswith("fetch_") and not DATA.is_dir():
        pytest.skip("PARITYBOOST_DATA names no folder with the raw files")
    test = doctest.DocTestFinder(recurse=False).find(getattr(datasets, name), name, globs={})[0]
    run(test)
