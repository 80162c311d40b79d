"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import signal
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover (Windows)
    fcntl = None

LONGEST_NAME = 50  # of the target in the temporary file's: in UTF-8 up to four times as many bytes, of 255
STALE_SECONDS = 24 * 3600  # where files cannot be locked
NOT_FILES = {stat.S_IFDIR: "folder", stat.S_IFBLK: "disk", stat.S_IFSOCK: "socket"}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write under beside ``path``, which it replaces once all is written; a reader, or a crash, finds the old
    or the new file, never a part. The file that is there stays as it was until then, and hands on its permissions.

    A pipe or a terminal would cease to be one if it were replaced: the name is then its own.
    """
    old = check_writable(path)
    if old is not None and not stat.S_ISREG(old.st_mode):
        yield Path(path)
        return
    target = Path(path).resolve()  # through links
    start = f".{target.name[:LONGEST_NAME]}."
    _remove_stale(target.parent, re.compile(re.escape(start) + r"[0-9a-f]{16}\.tmp"))
    temporary = target.with_name(f"{start}{secrets.token_hex(8)}.tmp")
    with _removing(temporary):
        with naming(path):
            lock = _create(temporary, 0o666 if old is None else 0o600)
        try:
            yield temporary
            with naming(path):
                if old is not None:
                    with suppress(AttributeError, PermissionError):  # Windows has no owners
                        os.chown(temporary, old.st_uid, old.st_gid)
                    temporary.chmod(stat.S_IMODE(old.st_mode))
                temporary.replace(target)
        finally:
            if lock is not None:
                os.close(lock)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    data = content.encode("utf8") if isinstance(content, str) else content
    with replacing(path) as temporary, naming(path), temporary.open("wb") as file:
        file.write(data)
        file.flush()
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fsync(file.fileno())


def check_writable(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What is there under a name that is to be written to, None if nothing is; says so if it cannot be written to."""
    problem = "it is a symbolic link that leads back to itself"
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        parent = Path(path).resolve().parent
        if not parent.is_dir():
            raise FileNotFoundError(f"there is no folder {str(parent)!r} to write {Path(path).name!r} into") from None
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    else:
        kind = NOT_FILES.get(stat.S_IFMT(found.st_mode))
        if kind is None:
            return found
        problem = f"it is a {kind}, not a file"
    raise OSError(f"{os.fspath(path)!r} cannot be written: {problem}")


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """What goes wrong in writing says which file it was; of a full disk, Python says nothing else."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise OSError(f"{os.fspath(path)!r} cannot be written: {error}") from error
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


@contextmanager
def _removing(path: Path) -> Iterator[None]:
    """At the end there is no such file, also if this process is asked to end; a child's end leaves it to the parent."""
    owner = os.getpid()

    def end(number: int, frame: Any) -> None:
        if os.getpid() == owner:
            path.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    # The program may have its own way to end.
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _create(path: Path, mode: int) -> int | None:
    """Create an empty file; the lock on it tells those who live from those who left theirs behind."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if fcntl is None:  # pragma: no cover (Windows does not rename an open file)
            os.close(descriptor)
            return None
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if path.exists():
            return descriptor
        os.close(descriptor)  # before it was locked, another process took it for a stale one


def _remove_stale(folder: Path, ours: re.Pattern[str]) -> None:
    """Remove what killed processes left behind of the same file."""
    for path in folder.iterdir():
        with suppress(OSError):  # another process writes it, or has just finished
            if not ours.fullmatch(path.name) or not stat.S_ISREG(path.lstat().st_mode):
                continue
            if fcntl is None:  # pragma: no cover (Windows)
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()
                continue
            with path.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails as long as its writer lives
                # On the way to the lock others may have been faster: the file that was opened is removed, and its
                # writer has begun a new one under the same name (_create).
                if os.path.samestat(os.fstat(file.fileno()), path.lstat()):
                    path.unlink()
