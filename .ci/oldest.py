"""Whether the versions in constraints/ are the oldest that pyproject.toml allows: neither can be changed alone."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
NOT_SHIPPED = {"bench", "dev", "docs"}  # extras for working on the package
NOT_TRIED = {"cuda12", "cuda13"}  # these need a graphics card

project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
extras = project["optional-dependencies"]
wrong = []
tried = extras.keys() - NOT_SHIPPED - NOT_TRIED
for requirement in project["dependencies"] + [r for name in sorted(tried) for r in extras[name]]:
    name, lowest = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement).groups()
    pins = [
        found[1]
        for path in sorted((ROOT / "constraints").glob("*.txt"))
        for found in [re.search(rf"^{name}==(.*)$", path.read_text(encoding="utf8"), flags=re.MULTILINE)]
        if found
    ]
    if not any(f"{pin}.".startswith(f"{lowest}.") for pin in pins):
        wrong.append(f"{requirement} is allowed, constraints/ has {name} {' and '.join(pins) or 'nowhere'}")
sys.exit("\n".join(wrong) or None)
