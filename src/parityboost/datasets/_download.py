"""Downloading with pooch: into a private folder, verified, then moved into the cache in one step.

Two processes that fetch the same dataset each work in a folder of their own and move equal files to the same place, so
neither needs to wait for the other and no reader ever sees half a file.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from ._files import read
from ._spec import Dataset

ATTEMPTS = 2  # a connection that broke once is worth a second try; a "not found" is not
WAIT_SECONDS = 1.0
_WORK_PREFIX = ".download-"
_STALE_SECONDS = 24 * 3600


def download(dataset: Dataset, cache: Path) -> dict[str, bytes]:
    """Fetch `dataset`, keep its files in `cache` and return their contents by name.

    Raises
    ------
    OSError
        If the publisher cannot be reached or sends anything but the published files. The cache is then as before.
    """
    cache.mkdir(parents=True, exist_ok=True)
    _remove_stale_work(cache)
    for attempt in range(1, ATTEMPTS + 1):
        # In the cache itself: only a move within one file system is atomic.
        with tempfile.TemporaryDirectory(prefix=_WORK_PREFIX, dir=cache) as work:
            try:
                archive = _fetch(dataset, Path(work))
                contents = {file.name: read(file, archive, dataset) for file in dataset.files}
            except OSError as error:
                if attempt == ATTEMPTS or _is_final(error):
                    raise
                time.sleep(WAIT_SECONDS)
                continue
            for name, content in contents.items():
                _store(content, Path(work), cache / f"{name}.gz")
            return contents
    raise AssertionError("unreachable")  # pragma: no cover


def _fetch(dataset: Dataset, work: Path) -> Path:
    """Download the publisher's file as it is."""
    import pooch

    path = work / dataset.archive
    print(f"Downloading {dataset.url}", file=sys.stderr)
    fetch = pooch.HTTPDownloader(progressbar=Progress(), chunk_size=1 << 16)
    try:
        fetch(dataset.url, str(path), None)
    except OSError as error:
        response = getattr(error, "response", None)
        if response is not None:
            response.close()  # pooch leaves the connection open when the server answers with an error
        raise
    return path


def _store(content: bytes, work: Path, path: Path) -> None:
    """Put `content` at `path` in one step, gzipped: KDD census takes 156 MB unpacked."""
    packed = work / path.name
    packed.write_bytes(gzip.compress(content, compresslevel=6, mtime=0))
    try:
        packed.replace(path)
    except PermissionError:  # pragma: no cover
        # Windows refuses while another process reads `path`; then that process has put the same file there.
        if not path.exists():
            raise


def _is_final(error: OSError) -> bool:
    """Whether trying again is pointless: the server answered, and the answer was no."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status is not None and 400 <= status < 500


def _remove_stale_work(cache: Path) -> None:
    """Remove what killed downloads left behind."""
    for folder in cache.glob(f"{_WORK_PREFIX}*"):
        with suppress(FileNotFoundError):  # another process has just finished in it
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


class Progress:
    """A progress bar on stderr with the four members pooch asks for, which spares users a dependency on tqdm."""

    def __init__(self) -> None:
        self.total = 0  # set by pooch; 0 if the server does not say
        self.done = 0
        self.shown = ""

    def update(self, n: int) -> None:
        self.done += n
        if self.total:
            share = min(self.done / self.total, 1.0)
            text = f"[{'#' * round(30 * share):<30}] {share:4.0%} of {self.total / 1e6:.1f} MB"
        else:
            text = f"{self.done / 1e6:.0f} MB"
        if text != self.shown:  # else every chunk would write to the terminal
            self.shown = text
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def reset(self) -> None:
        # pooch resets the bar at the end to then fill it up to the total, which is of no use without one.
        if self.total:
            self.done = 0

    def close(self) -> None:
        print(file=sys.stderr)
