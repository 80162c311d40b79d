"""Where the runs of a benchmark are kept: a file for each, written whole or not at all, and one table of all of them.

A run has a key that says what was run, with which version. A benchmark that is stopped goes on with the runs that are
missing; its pages are made from the store alone. The files of runs stay on the machine; the table, a CSV file, is
committed, and read where there are no files, so that a clone has everyone's results and adds its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

KEY = ["table", "method", "setting", "split"]
NUMBERS = ["seconds", "ber", "measure", "accuracy"]  # columns that may be empty; all others are texts


class Store:
    """The runs in `folder`, and those in the table `packed` that are not there."""

    def __init__(self, folder: Path, packed: Path):
        self.folder, self.packed = folder, packed

    def path(self, key):
        name = re.sub(r"[^a-z0-9]+", "-", "-".join(str(key[name]) for name in KEY).lower()).strip("-")
        return self.folder / f"{name}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:8]}.json"

    def has(self, key):
        """Whether this was run, with this version."""
        rows = self._packed()
        same = rows[[*KEY, "version"]].astype(str) == [str(key[name]) for name in (*KEY, "version")]
        return self.path(key).exists() or bool(same.all(axis=1).any())

    def put(self, key, rows):
        """Keep what a run found; a run that failed has a row that says why."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(key)
        part = path.with_suffix(".part")
        made = datetime.now(UTC).isoformat(timespec="seconds")
        part.write_text(json.dumps({"key": key, "made": made, "rows": rows}), encoding="utf8")
        part.replace(path)

    def frame(self):
        """A row for each that was found, of the run that was made last where several versions were run."""
        found = [self._packed()]
        for path in sorted(self.folder.glob("*.json")):
            run = json.loads(path.read_text(encoding="utf8"))
            found.append(pd.DataFrame([run["key"] | {"made": run["made"]} | row for row in run["rows"]]))
        rows = pd.concat([part.assign(file=k > 0) for k, part in enumerate(found) if len(part)] or found)
        if rows.empty:
            return rows
        made = rows["made"] + rows.pop("file").map({True: "file", False: ""})  # what is in both counts once
        rows = rows[made == made.groupby([rows[name] for name in KEY]).transform("max")]
        texts = [name for name in rows if name not in NUMBERS]
        rows = rows.fillna(dict.fromkeys(texts, ""))
        return rows.sort_values(KEY, kind="stable").reset_index(drop=True)

    def pack(self):
        """Write the table; the same runs make the same file."""
        part = self.packed.with_suffix(".part")
        self.frame().to_csv(part, index=False, lineterminator="\n")
        part.replace(self.packed)

    def forget(self, methods):
        """Drop all runs of these methods."""
        for path in self.folder.glob("*.json"):
            if json.loads(path.read_text(encoding="utf8"))["key"]["method"] in methods:
                path.unlink()
        rows = self._packed()
        if len(rows):
            rows[~rows["method"].isin(methods)].to_csv(self.packed, index=False, lineterminator="\n")

    def _packed(self):
        if not self.packed.exists():
            return pd.DataFrame(columns=[*KEY, "version", "made"])
        texts = {"setting": str, "version": str}
        return pd.read_csv(self.packed, keep_default_na=False, na_values=dict.fromkeys(NUMBERS, ""), dtype=texts)
