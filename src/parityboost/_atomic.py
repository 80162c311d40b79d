"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write under beside ``path``, which it replaces once all is written; a reader, or a crash, finds the old
    or the new file, never a part.
    """
    target = Path(path).resolve()  # through links
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to write {target.name!r} into")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Replace a file by new content in one step."""
    with replacing(path) as temporary, temporary.open("xb") as file:
        file.write(content.encode("utf8") if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
