"""Downloading with pooch: into a private folder, verified, then moved into the cache in one step.

Two processes that fetch the same dataset each work in a folder of their own and move equal files to the same place, so
neither needs to wait for the other and no reader ever sees half a file.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ._files import read
from ._spec import Dataset

MAX_BYTES = 100_000_000  # the largest archive takes a tenth of it
MAX_SECONDS = 900.0  # for all attempts together
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
    deadline = time.monotonic() + MAX_SECONDS
    for attempt in range(1, ATTEMPTS + 1):
        # In the cache itself: only a move within one file system is atomic.
        with tempfile.TemporaryDirectory(prefix=_WORK_PREFIX, dir=cache, ignore_cleanup_errors=True) as work:
            try:
                archive = _fetch(dataset, Path(work), deadline)
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


class EndlessError(OSError):
    """A server sends too much or takes too long; asking again is pointless."""


def _fetch(dataset: Dataset, work: Path, deadline: float) -> Path:
    """Download the publisher's file as it is.

    In a thread of its own: a server that sends a byte now and then keeps a read busy for ever, and nothing but another
    thread notices. The thread ends with the next piece that it gets, at the latest when this process does.
    """
    import pooch

    path = work / dataset.archive
    print(f"Downloading {dataset.url}", file=sys.stderr)
    progress = Progress(path)
    responses: list[Any] = []
    errors: list[Exception] = []
    fetch = pooch.HTTPDownloader(
        progressbar=progress,
        chunk_size=1 << 16,
        headers={"Accept-Encoding": "identity"},  # what is packed anyway is to be as large as it looks
        hooks={"response": lambda response, **_: responses.append(response)},
    )

    def task() -> None:
        try:
            fetch(dataset.url, str(path), None)
        except Exception as error:  # raised again below, where it is waited for
            errors.append(error)
        finally:
            for response in responses:
                response.close()  # pooch leaves the connection open when something goes wrong

    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    thread.join(max(deadline - time.monotonic(), 0.0))
    if thread.is_alive():
        progress.stopped = True
        raise EndlessError(f"{dataset.url} has not been sent within {MAX_SECONDS:g} seconds")
    if errors:
        raise errors[0]
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
    if isinstance(error, EndlessError):
        return True
    return status is not None and 400 <= status < 500


def _remove_stale_work(cache: Path) -> None:
    """Remove what killed downloads left behind."""
    for folder in cache.glob(f"{_WORK_PREFIX}*"):
        with suppress(FileNotFoundError):  # another process has just finished in it
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


class Progress:
    """A progress bar on stderr with the four members pooch asks for, which spares users a dependency on tqdm.

    As it is asked after each piece, it is also what ends a download that is too large or no longer waited for.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stopped = False
        self.total = 0  # set by pooch; 0 if the server does not say
        self.done = 0
        self.shown = ""

    def update(self, n: int) -> None:
        if self.stopped:
            raise EndlessError("stopped")
        size = max(self.total, self.path.stat().st_size)  # pooch counts a piece as whole even if it is not
        if size > MAX_BYTES:
            raise EndlessError(f"it is larger than {MAX_BYTES:,} bytes")
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
