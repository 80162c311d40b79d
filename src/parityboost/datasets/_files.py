"""Finding raw files, unpacking them, and never using one whose contents are not the published ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ._spec import Dataset, File

ENVIRONMENT_VARIABLE = "PARITYBOOST_DATA"
PACKINGS = ("", ".gz", ".xz", ".zip")  # of a file on disk, in the order in which they are looked for

# The largest of the datasets takes 156 MB: what is larger is none of them, and is not read to its end.
MAX_BYTES = 500_000_000

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

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


def user_cache() -> Path:
    """Where downloads are kept: the folder that `pooch.os_cache` names, worked out without pooch."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local) / "parityboost" / "parityboost" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "parityboost"
    return Path(os.environ.get("XDG_CACHE_HOME", "").strip() or Path.home() / ".cache") / "parityboost"


def search_folders(data_home: str | os.PathLike[str] | None) -> dict[str, Path | None]:
    """The folders in which files are looked for, first one first; None where the user named no folder."""
    environment = os.environ.get(ENVIRONMENT_VARIABLE)
    return {
        "data_home": Path(data_home).expanduser() if data_home is not None else None,
        ENVIRONMENT_VARIABLE: Path(environment).expanduser() if environment else None,
        "the cache": user_cache(),
    }


def find(file: File, archive: str, folder: Path) -> Path | None:
    """The path of `file` in `folder`: plain, packed, or inside the publisher's archive."""
    names = [file.name + packing for packing in PACKINGS]
    if archive not in names:
        names.append(archive)
    return next((path for name in names if (path := folder / name).is_file()), None)


def read(file: File, path: Path, dataset: Dataset) -> bytes:
    """The contents of `file` as found at `path`, unpacked and verified.

    Raises
    ------
    CorruptFileError
        If the file cannot be unpacked or its contents are not the published ones.
    """
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
        path,
        f"{path} does not hold {file.name} as published: {problem}. "
        f"Remove it or replace it with a fresh copy from {dataset.url}",
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
    files = [member for member in archive if member.isfile()]
    return [(PurePosixPath(member.name).name, partial(_read_from_tar, archive, member, room)) for member in files]


def _read_from_tar(archive: tarfile.TarFile, member: tarfile.TarInfo, room: Room) -> bytes:
    handle = archive.extractfile(member)
    assert handle is not None  # it is for folders and links only
    return room.read(handle)
