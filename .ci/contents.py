"""Whether an sdist and a wheel hold what they should, and nothing else: ``python contents.py FILE…``."""

import re
import sys
import tarfile
import zipfile
from pathlib import PurePosixPath

IN_WHEEL = {
    "parityboost/py.typed",
    "parityboost/datasets/catalogue.toml",
    "parityboost/datasets/data/adult.csv.gz",
    "parityboost/estimators.py",
    "parityboost/paper/experiments/claims.csv",
}
IN_SDIST = {
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CITATION.cff",
    "Makefile",
    "pyproject.toml",
    "constraints/oldest.txt",
    "tests/conftest.py",
    *(f"src/{name}" for name in IN_WHEEL),
}


def check(path):
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
            info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
            metadata = wheel.read(f"{info}/METADATA").decode()
        expected = IN_WHEEL | {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"}
        outside = {name for name in names if name.split("/")[0] not in ("parityboost", info)}
        assert not outside, f"beside the package: {sorted(outside)}"
    else:
        with tarfile.open(path) as sdist:
            names = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in sdist.getnames()}
            top = sdist.getnames()[0].split("/")[0]
            metadata = sdist.extractfile(f"{top}/PKG-INFO").read().decode()
        expected = IN_SDIST
    assert expected <= names, f"{path} lacks {sorted(expected - names)}"
    rubbish = {name for name in names if re.search(r"__pycache__|\.py[co]$|\.nb[ic]$|(^|/)\.venv|\.egg-info", name)}
    assert not rubbish, sorted(rubbish)
    assert "Description-Content-Type: text/markdown" in metadata and "# parityboost" in metadata
    print(f"{PurePosixPath(path).name}: {len(names)} files")


for argument in sys.argv[1:]:
    check(argument)
