"""Where a dataset's files come from, in this order: data_home, PARITYBOOST_DATA, the user's cache, the publisher."""

from __future__ import annotations

import os
from pathlib import Path

from .._extras import install
from ._download import download as fetch
from ._files import PACKINGS, CorruptFileError, find, read, search_folders, user_cache
from ._spec import Dataset, File


def obtain(dataset: Dataset, data_home: str | os.PathLike[str] | None, download: bool) -> list[bytes]:
    """The verified contents of the dataset's files.

    Raises
    ------
    FileNotFoundError
        If a file is nowhere and may not or cannot be downloaded. The message says how to get it by hand.
    CorruptFileError
        If a file in a folder of the user's has the wrong contents. In the cache, such a file is downloaded anew.
    """
    folders = search_folders(data_home)
    for label, folder in folders.items():
        if folder is not None and folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{label} must be a folder, got the file {str(folder)!r}")
    found = {file.name: _look_up(file, dataset, folders, repair=download) for file in dataset.files}
    missing = [name for name, content in found.items() if content is None]
    if missing:
        found |= _download(dataset, missing, folders, download)
    return [content for content in found.values() if content is not None]


def _look_up(file: File, dataset: Dataset, folders: dict[str, Path | None], repair: bool) -> bytes | None:
    cache = user_cache()
    for folder in folders.values():
        while folder is not None and (path := find(file, dataset.archive, folder)) is not None:
            try:
                return read(file, path, dataset)
            except FileNotFoundError:
                continue  # another process is repairing the cache: look again
            except CorruptFileError:
                # Folders that the user names are the user's: say what is wrong and touch nothing.
                if not repair or folder != cache:
                    raise
                path.unlink(missing_ok=True)
    return None


def _download(
    dataset: Dataset, missing: list[str], folders: dict[str, Path | None], allowed: bool
) -> dict[str, bytes | None]:
    if not allowed:
        raise FileNotFoundError(_how_to_get(dataset, missing, folders, "download=False forbids fetching"))
    try:
        return dict(fetch(dataset, user_cache()))
    except ImportError as error:
        reason = f"downloading needs pooch: {install('datasets')}"
        raise ImportError(_how_to_get(dataset, missing, folders, reason)) from error
    except OSError as error:
        raise FileNotFoundError(_how_to_get(dataset, missing, folders, f"the download failed: {error}")) from error


def _how_to_get(dataset: Dataset, missing: list[str], folders: dict[str, Path | None], reason: str) -> str:
    """Which file is missing and why, where to get it by hand, and where it may be put."""
    forms = ", ".join(packing for packing in PACKINGS if packing)
    return "\n".join(
        [
            f"{dataset.name}: {' and '.join(missing)} not found on this machine, and {reason}.",
            f"To get it by hand, download {dataset.url}",
            f"and put it, as it is or unpacked (also packed as {forms}), into one of these folders:",
            *(f"  {label}: {folder or 'not set'}" for label, folder in folders.items()),
        ]
    )
