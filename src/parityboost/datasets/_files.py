"""The raw files of a dataset: from data_home, PARITYBOOST_DATA, the user's cache or the publisher, in this order.

What is found is unpacked and verified. A download goes into a private folder, and is moved into the cache in one step
once it is verified: two processes that fetch the same dataset each work in a folder of their own and move equal files
to the same place, so neither needs to wait for the other and no reader ever sees half a file.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from .._extras import install
from ._catalogue import Dataset, File

ENVIRONMENT_VARIABLE = "PARITYBOOST_DATA"
PACKINGS = ("", ".gz", ".xz", ".zip")  # of a file on disk, in the order in which they are looked for

# The largest of the datasets takes 156 MB: what is larger is none of them, and is not read to its end.
MAX_BYTES = 500_000_000

MAX_DOWNLOAD = 100_000_000  # bytes; the largest archive takes a tenth of it
MAX_SECONDS = 900.0  # for all attempts together
ATTEMPTS = 2  # a connection that broke once is worth a second try; a "not found" is not
WAIT_SECONDS = 1.0
_WORK_PREFIX = ".download-"
_STALE_SECONDS = 24 * 3600

_OPEN: dict[str, Callable[[io.BytesIO], Any]] = {".gz": gzip.open, ".xz": lzma.open}


class TooLargeError(Exception):
    """More came out of a file than can be in it."""


# What the standard library raises for damaged, truncated or encrypted archives.
DAMAGED = (
    EOFError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    TooLargeError,
)


class CorruptFileError(OSError):
    """A file has the right name and the wrong contents."""


class EndlessError(OSError):
    """A server sends too much or takes too long; asking again is pointless."""


def obtain(dataset: Dataset, data_home: str | os.PathLike[str] | None, download: bool) -> list[bytes]:
    """The verified contents of the dataset's files.

    A damaged file in a folder of the user's is an error, in the cache it is downloaded anew.
    """
    environment = os.environ.get(ENVIRONMENT_VARIABLE)
    folders = {
        "data_home": Path(data_home).expanduser() if data_home is not None else None,
        ENVIRONMENT_VARIABLE: Path(environment).expanduser() if environment else None,
        "the cache": user_cache(),
    }
    for label, folder in folders.items():
        if folder is not None and folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{label} must be a folder, got the file {str(folder)!r}")
    found = {file.name: _look_up(file, dataset, folders, repair=download) for file in dataset.files}
    missing = [name for name, content in found.items() if content is None]
    if missing:
        kind: type[Exception] = FileNotFoundError
        error: Exception | None = None
        reason = "download=False forbids fetching"
        try:
            if download:
                return list(fetch(dataset, user_cache()).values())
        except ImportError as caught:
            kind, error, reason = ImportError, caught, f"downloading needs pooch: {install('datasets')}"
        except OSError as caught:
            error, reason = caught, f"the download failed: {caught}"
        forms = ", ".join(packing for packing in PACKINGS if packing)
        advice = [
            f"{dataset.name}: {' and '.join(missing)} not found on this machine, and {reason}.",
            f"To get it by hand, download {dataset.url}",
            f"and put it, as it is or unpacked (also packed as {forms}), into one of these folders:",
            *(f"  {label}: {folder or 'not set'}" for label, folder in folders.items()),
        ]
        raise kind("\n".join(advice)) from error
    return [content for content in found.values() if content is not None]


def user_cache() -> Path:
    """Where downloads are kept: the folder that `pooch.os_cache` names, worked out without pooch."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "parityboost" / "parityboost" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "parityboost"
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "parityboost"


def _look_up(file: File, dataset: Dataset, folders: dict[str, Path | None], repair: bool) -> bytes | None:
    """A file, plain, packed or inside the publisher's archive, in the first of the folders that has it."""
    names = dict.fromkeys([*(file.name + packing for packing in PACKINGS), dataset.archive])
    for folder in folders.values():
        while folder is not None and (path := next(filter(Path.is_file, map(folder.joinpath, names)), None)):
            try:
                return read(file, path, dataset)
            except FileNotFoundError:
                continue  # another process is repairing the cache: look again
            except CorruptFileError:
                # Folders that the user names are the user's: say what is wrong and touch nothing.
                if not repair or folder != user_cache():
                    raise
                path.unlink(missing_ok=True)
    return None


def read(file: File, path: Path, dataset: Dataset) -> bytes:
    """The contents of `file` as found at `path`, unpacked and verified."""
    problem = "the archive has no such file"
    try:
        room = Room(MAX_BYTES)
        with path.open("rb") as handle:
            packed = room.read(handle)
        for contents in _unpack(file.name, path.name, packed, room):
            sha256 = hashlib.sha256(contents).hexdigest()
            if sha256 == file.sha256:
                return contents
            problem = f"its sha256 is {sha256}, expected {file.sha256}"
    except DAMAGED as error:
        problem = f"it cannot be unpacked ({type(error).__name__}: {error})"
    raise CorruptFileError(
        f"{path} does not hold {file.name} as published: {problem}. "
        f"Remove it or replace it with a fresh copy from {dataset.url}"
    )


class Room:
    """How many bytes may still be read, in whatever number of files: a small archive can unpack to any size."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def read(self, file: IO[bytes] | io.BufferedIOBase) -> bytes:
        pieces = []
        while piece := file.read(1 << 20):  # not all at once: some readers make room for as much as they are asked for
            self.left -= len(piece)
            if self.left < 0:
                raise TooLargeError(f"more than {self.most:,} bytes")
            pieces.append(piece)
        return b"".join(pieces)


def _unpack(wanted: str, name: str, packed: bytes, room: Room, nested: bool = False) -> Iterator[bytes]:
    """Every unpacked file called `wanted` that `packed`, a file called `name`, is or holds."""
    if name == wanted:
        yield packed
    elif name in {wanted + suffix for suffix in _OPEN}:
        with _OPEN[PurePosixPath(name).suffix](io.BytesIO(packed)) as file:
            yield room.read(file)
    elif _is_archive(name):
        members = _members_of_zip(packed, room) if name.endswith(".zip") else _members_of_tar(packed, room)
        # Plain members first: an archive in the archive, as UCI has them one level deep, is opened only if it must be.
        for inner, read_member in sorted(members, key=lambda member: _is_archive(member[0])):
            if inner.startswith(wanted) or (_is_archive(inner) and not nested):
                yield from _unpack(wanted, inner, read_member(), room, nested=True)


def _is_archive(name: str) -> bool:
    return name.endswith((".zip", ".tar.gz", ".tgz"))


def _members_of_zip(packed: bytes, room: Room) -> list[tuple[str, Callable[[], bytes]]]:
    archive = zipfile.ZipFile(io.BytesIO(packed))

    def read_member(info: zipfile.ZipInfo) -> bytes:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # of others, pieces have no limit
            raise NotImplementedError(f"{info.filename} is not packed by the method 'deflate'")
        with archive.open(info) as file:
            return room.read(file)

    return [(PurePosixPath(info.filename).name, partial(read_member, info)) for info in archive.infolist()]


def _members_of_tar(packed: bytes, room: Room) -> list[tuple[str, Callable[[], bytes]]]:
    with gzip.open(io.BytesIO(packed)) as file:
        plain = io.BytesIO(room.read(file))  # at once, for a list of the members takes all of it anyway
    archive = tarfile.open(fileobj=plain, mode="r:")  # noqa: SIM115 (holds memory only, nothing to close)

    def read_member(info: tarfile.TarInfo) -> bytes:
        handle = archive.extractfile(info)
        assert handle is not None  # it is for folders and links only
        return room.read(handle)

    return [(PurePosixPath(info.name).name, partial(read_member, info)) for info in archive if info.isfile()]


def fetch(dataset: Dataset, cache: Path) -> dict[str, bytes]:
    """Fetch `dataset`, keep its files in `cache` and return their contents by name.

    If the publisher cannot be reached or sends anything but the published files, the cache is as before.
    """
    cache.mkdir(parents=True, exist_ok=True)
    for left in cache.glob(f"{_WORK_PREFIX}*"):  # by downloads that were killed
        with suppress(FileNotFoundError):  # another process has just finished in it
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    deadline = time.monotonic() + MAX_SECONDS
    for attempt in range(1, ATTEMPTS + 1):
        # In the cache itself: only a move within one file system is atomic.
        with tempfile.TemporaryDirectory(prefix=_WORK_PREFIX, dir=cache, ignore_cleanup_errors=True) as work:
            try:
                archive = _fetch(dataset, Path(work), deadline)
                contents = {file.name: read(file, archive, dataset) for file in dataset.files}
            except OSError as error:
                status = getattr(getattr(error, "response", None), "status_code", None)
                answered_no = status is not None and 400 <= status < 500
                if attempt == ATTEMPTS or answered_no or isinstance(error, EndlessError):
                    raise
                time.sleep(WAIT_SECONDS)
                continue
            for name, content in contents.items():
                _store(content, Path(work), cache / f"{name}.gz")
            return contents
    raise AssertionError("unreachable")  # pragma: no cover


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
        if size > MAX_DOWNLOAD:
            raise EndlessError(f"it is larger than {MAX_DOWNLOAD:,} bytes")
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
