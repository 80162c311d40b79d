"""Where files come from: folders in their order, every packing, real downloads, and never a corrupt file."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import subprocess
import sys
import tarfile
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from parityboost.datasets import _files, _loaders, fetch_bank
from parityboost.datasets._catalogue import BANK, COMPAS, KDD_CENSUS, Dataset, File

HEADER = ";".join(f'"{name}"' for name in (*BANK.attributes, BANK.target))
LINES = [
    '58;"management";"married";"tertiary";"no";2143;"yes";"no";"unknown";5;"may";261;1;-1;0;"unknown";"no"',
    '44;"technician";"single";"secondary";"no";29;"yes";"no";"unknown";5;"may";151;1;-1;0;"unknown";"yes"',
    '33;"entrepreneur";"divorced";"unknown";"no";2;"yes";"yes";"unknown";5;"may";76;1;-1;0;"unknown";"no"',
]
CONTENT = "\n".join([HEADER, *LINES, ""]).encode()
NAME = "bank-full.csv"


def zipped(method: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


ARCHIVE = zipped(**{"bank.zip": zipped(**{f"folder/{NAME}": CONTENT, "bank.csv": b"other"}), "notes.txt": b"hello"})


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, no folder in the environment, and a three-row Bank that nobody serves."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(_files, "user_cache", lambda: folder)
    monkeypatch.delenv("PARITYBOOST_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_files, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(_loaders, "BANK", small_bank("http://127.0.0.1:9/bank+marketing.zip"))
    return folder


def small_bank(url: str) -> Dataset:
    return replace(BANK, files=(File(NAME, hashlib.sha256(CONTENT).hexdigest()),), url=url)


PACKED = {
    NAME: CONTENT,
    f"{NAME}.gz": gzip.compress(CONTENT),
    f"{NAME}.xz": lzma.compress(CONTENT),
    f"{NAME}.zip": zipped(**{NAME: CONTENT}),
    "bank+marketing.zip": ARCHIVE,
}


@pytest.mark.parametrize("name", PACKED)
def test_every_packing_and_the_publishers_archive_work(name: str, cache: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PACKED[name])
    bank = fetch_bank(data_home=tmp_path, download=False)
    assert bank.data["age"].tolist() == [58, 44]  # the divorced client is left out
    assert bank.data["marital"].cat.categories.tolist() == ["married", "single"]
    assert bank.target.tolist() == [0, 1]


@pytest.mark.parametrize(
    "archive",
    [
        zipped(**{f"{NAME}.gz": gzip.compress(CONTENT)}),
        zipped(**{f"deep/{NAME}.xz": lzma.compress(CONTENT)}),
        zipped(**{"all.tar.gz": tarred(f"x/{NAME}", CONTENT)}),
        zipped(**{"inner.zip": zipped(**{f"{NAME}.gz": gzip.compress(CONTENT)})}),
        zipped(**{"damaged.zip": b"PK", NAME: CONTENT}),
        zipped(**{f"old/{NAME}": b"an older edition", f"new/{NAME}": CONTENT}),
    ],
    ids=["gz member", "xz member", "tar in zip", "gz in zip in zip", "damaged neighbour", "two editions"],
)
def test_the_file_is_found_wherever_an_archive_holds_it(archive: bytes, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "bank+marketing.zip").write_bytes(archive)
    assert len(fetch_bank(data_home=tmp_path, download=False).data) == 2


def test_folders_are_searched_in_the_documented_order(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_from: list[Path] = []
    read = _files.read
    monkeypatch.setattr(
        _files, "read", lambda file, path, dataset: (read_from.append(path.parent), read(file, path, dataset))[1]
    )
    home, environment = tmp_path / "home", tmp_path / "environment"
    for folder in (home, environment, cache):
        folder.mkdir()
        (folder / NAME).write_bytes(CONTENT)
    monkeypatch.setenv("PARITYBOOST_DATA", str(environment))
    for expected in (home, environment, cache):
        fetch_bank(data_home=home, download=False)
        assert read_from.pop() == expected
        (expected / NAME).unlink()
    with pytest.raises(FileNotFoundError):
        fetch_bank(data_home=home, download=False)


def test_a_missing_file_s_error_says_which_where_it_may_be_put_and_where_to_get_it(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "my data"
    with pytest.raises(FileNotFoundError) as caught:
        fetch_bank(data_home=home, download=False)
    message = str(caught.value)
    for part in (NAME, "download=False", "http://127.0.0.1:9/bank+marketing.zip", str(home), str(cache)):
        assert part in message
    assert "PARITYBOOST_DATA: not set" in message
    with pytest.raises(FileNotFoundError, match="the download failed") as caught:  # nobody listens on port 9
        fetch_bank(data_home=home)
    assert "put it" in str(caught.value)
    assert list(cache.iterdir()) == []


def test_a_file_that_vanishes_while_another_process_repairs_the_cache_is_looked_for_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    (cache / NAME).write_bytes(CONTENT)
    (cache / f"{NAME}.gz").write_bytes(gzip.compress(CONTENT))

    read = _files.read

    def read_and_vanish(file: File, path: Path, dataset: Dataset) -> bytes:
        (cache / NAME).unlink(missing_ok=True)
        return read(file, path, dataset)

    monkeypatch.setattr(_files, "read", read_and_vanish)
    assert len(fetch_bank(download=False).data) == 2


CORRUPT = {
    NAME: CONTENT[:-1],
    f"{NAME}.gz": gzip.compress(CONTENT)[:-9],
    f"{NAME}.xz": b"not xz",
    f"{NAME}.zip": zipped(**{"something.csv": CONTENT}),
    "bank+marketing.zip": ARCHIVE[: len(ARCHIVE) // 2],
}


@pytest.mark.parametrize("name", CORRUPT)
@pytest.mark.parametrize("place", ["data_home", "PARITYBOOST_DATA"])
def test_a_corrupt_file_of_the_users_is_reported_and_neither_used_nor_touched(
    name: str, place: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    path.write_bytes(CORRUPT[name])
    if place == "PARITYBOOST_DATA":
        monkeypatch.setenv("PARITYBOOST_DATA", str(tmp_path))
    with pytest.raises(_files.CorruptFileError, match=r"does not hold bank-full\.csv as published") as caught:
        fetch_bank(data_home=tmp_path if place == "data_home" else None)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == CORRUPT[name]


def test_a_file_given_as_folder_is_refused(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(CONTENT)
    with pytest.raises(NotADirectoryError, match="data_home must be a folder"):
        fetch_bank(data_home=path)


def test_without_pooch_a_needed_download_names_the_extra(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError) as caught:
        fetch_bank()
    assert 'pip install "pooch>=' in str(caught.value)
    assert "bank+marketing.zip" in str(caught.value)


def test_the_cache_is_where_pooch_would_put_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pooch = pytest.importorskip("pooch")
    assert _files.user_cache() == Path(pooch.os_cache("parityboost"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert _files.user_cache() == Path("/somewhere/parityboost")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert _files.user_cache() == Path.home() / ".cache" / "parityboost"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert _files.user_cache() == Path.home() / "Library" / "Caches" / "parityboost"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert _files.user_cache() == Path("/local/parityboost/parityboost/Cache")


def test_the_published_addresses_and_checksums_are_well_formed() -> None:
    for dataset, archive in ((BANK, "bank+marketing.zip"), (KDD_CENSUS, "census+income+kdd.zip")):
        assert dataset.archive == archive
    assert COMPAS.archive == COMPAS.files[0].name
    for dataset in (BANK, COMPAS, KDD_CENSUS):
        assert dataset.url.startswith("https://")
        assert all(len(bytes.fromhex(file.sha256)) == 32 for file in dataset.files)


# Real downloads, from a server on this machine.

Answer = Callable[[BaseHTTPRequestHandler], None]


class Publisher:
    """A local HTTP server whose answers a test decides, one after the other; the last one repeats."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[str] = []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.requests.append(self.path)
                answers = publisher.answers
                (answers.pop(0) if len(answers) > 1 else answers[0])(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/static/bank+marketing.zip"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def publisher(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    publisher = Publisher()
    monkeypatch.setattr(_loaders, "BANK", small_bank(publisher.url))
    yield publisher
    publisher.server.shutdown()
    publisher.server.server_close()


def good(handler: BaseHTTPRequestHandler, body: bytes = ARCHIVE, length: int | None = None) -> None:
    handler.send_response(200)
    if length != -1:
        handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def truncated(handler: BaseHTTPRequestHandler) -> None:
    good(handler, ARCHIVE[: len(ARCHIVE) // 2], length=len(ARCHIVE))


def truncated_without_length(handler: BaseHTTPRequestHandler) -> None:
    good(handler, ARCHIVE[: len(ARCHIVE) // 2], length=-1)


def wrong_contents(handler: BaseHTTPRequestHandler) -> None:
    good(handler, zipped(**{"bank.zip": zipped(**{NAME: CONTENT + b"one more line\n"})}))


def login_page(handler: BaseHTTPRequestHandler) -> None:
    good(handler, b"<html>please sign in to this network</html>")


def failing(status: int) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def test_a_download_is_verified_cached_and_not_repeated(
    cache: Path, publisher: Publisher, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher.answers = [good]
    assert len(fetch_bank().data) == 2
    assert [path.name for path in cache.iterdir()] == [f"{NAME}.gz"]
    assert gzip.decompress((cache / f"{NAME}.gz").read_bytes()) == CONTENT
    shown = capsys.readouterr().err
    assert publisher.url in shown
    assert "100%" in shown
    assert len(fetch_bank(download=False).data) == 2
    assert publisher.requests == ["/static/bank+marketing.zip"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (truncated, "the download failed"),
        (truncated_without_length, "BadZipFile"),
        (wrong_contents, "its sha256 is"),
        (login_page, "BadZipFile"),
        (failing(404), "404"),
        (failing(500), "500"),
    ],
    ids=["truncated", "truncated, no length", "wrong checksum", "login page", "404", "500"],
)
def test_a_bad_download_is_an_error_and_leaves_nothing_behind(
    answer: Answer, reason: str, cache: Path, publisher: Publisher
) -> None:
    publisher.answers = [answer]
    with pytest.raises(FileNotFoundError, match="by hand") as caught:
        fetch_bank()
    assert reason in str(caught.value)
    assert list(cache.iterdir()) == []
    publisher.answers = [good]
    assert len(fetch_bank().data) == 2  # and the next attempt starts cleanly


@pytest.mark.parametrize("answer", [truncated, wrong_contents, failing(503)], ids=["truncated", "wrong", "503"])
def test_a_download_that_broke_once_is_restarted(answer: Answer, cache: Path, publisher: Publisher) -> None:
    publisher.answers = [answer, good]
    assert len(fetch_bank().data) == 2
    assert len(publisher.requests) == 2
    assert [path.name for path in cache.iterdir()] == [f"{NAME}.gz"]


def test_a_refusal_is_not_asked_twice(cache: Path, publisher: Publisher) -> None:
    publisher.answers = [failing(403)]
    with pytest.raises(FileNotFoundError, match="403"):
        fetch_bank()
    assert len(publisher.requests) == 1


@pytest.mark.parametrize("name", CORRUPT)
def test_a_corrupt_file_in_the_cache_is_replaced(name: str, cache: Path, publisher: Publisher) -> None:
    publisher.answers = [good]
    cache.mkdir()
    (cache / name).write_bytes(CORRUPT[name])
    with pytest.raises(_files.CorruptFileError, match="Remove it"):
        fetch_bank(download=False)
    assert len(fetch_bank().data) == 2
    assert [path.name for path in cache.iterdir()] == [f"{NAME}.gz"]
    assert len(fetch_bank(download=False).data) == 2


def test_leftovers_of_killed_downloads_are_removed_after_a_day(cache: Path, publisher: Publisher) -> None:
    publisher.answers = [good]
    old, recent = cache / ".download-old", cache / ".download-recent"
    for folder in (old, recent):
        folder.mkdir(parents=True)
        (folder / "part").write_bytes(b"half a file")
    os.utime(old, (time.time() - 2 * 24 * 3600,) * 2)
    (cache / ".download-vanishing").symlink_to("nowhere")  # listed but gone, as if its process had just finished
    fetch_bank()
    assert not old.exists()
    assert recent.exists()  # another process may be at work in it


def test_progress_without_a_total_counts_megabytes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(b"")
    bar = _files.Progress(tmp_path / "part")
    for _ in range(40):
        bar.update(100_000)
    bar.reset()
    bar.update(bar.total)
    bar.close()
    assert capsys.readouterr().err.split("\r") == ["", *(f"{i} MB" for i in range(4)), "4 MB\n"]  # not once per chunk


def test_several_files_of_one_archive_are_downloaded_once(
    cache: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"one.csv": CONTENT, "two.csv": b"\n".join(CONTENT.splitlines()[1:]) + b"\n"}
    files = tuple(File(name, hashlib.sha256(content).hexdigest()) for name, content in parts.items())
    monkeypatch.setattr(_loaders, "BANK", replace(_loaders.BANK, files=files))
    publisher.answers = [
        lambda handler: good(handler, zipped(**{f"{n}.gz": gzip.compress(c) for n, c in parts.items()}))
    ]
    assert fetch_bank().data["age"].tolist() == [58, 44, 58, 44]
    assert len(publisher.requests) == 1
    assert sorted(path.name for path in cache.iterdir()) == ["one.csv.gz", "two.csv.gz"]


# --- Servers without end --------------------------------------------------------------------------


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):  # until the other side hangs up
        while True:
            handler.wfile.write(bytes(1 << 16))


def endless_in_pieces(handler: BaseHTTPRequestHandler) -> None:
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    with suppress(OSError):
        while True:
            handler.wfile.write(b"400\r\n" + bytes(0x400) + b"\r\n")


def too_long_by_its_own_account(handler: BaseHTTPRequestHandler) -> None:
    good(handler, bytes(200_000), length=10**12)


def dripping(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(ARCHIVE)))
    handler.end_headers()
    drip(handler, ARCHIVE)


def dripping_headers(handler: BaseHTTPRequestHandler) -> None:
    drip(handler, b"HTTP/1.0 200 OK\r\nX: " + b"y" * 60_000)


def drip(handler: BaseHTTPRequestHandler, content: bytes) -> None:
    with suppress(OSError):
        for k in range(len(content)):
            handler.wfile.write(content[k : k + 1])
            handler.wfile.flush()
            time.sleep(0.05)


@pytest.mark.parametrize("answer", [endless, endless_in_pieces, too_long_by_its_own_account])
def test_a_server_that_sends_too_much_is_left(
    answer: Answer, cache: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "MAX_DOWNLOAD", 3_000_000)
    publisher.answers = [answer]
    start = time.monotonic()
    with pytest.raises(FileNotFoundError, match="larger than 3,000,000 bytes"):
        fetch_bank()
    assert time.monotonic() - start < 20
    assert len(publisher.requests) == 1  # it would be no smaller the second time
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("answer", [dripping, dripping_headers])
def test_a_server_that_takes_too_long_is_left(
    answer: Answer, cache: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "MAX_SECONDS", 0.7)
    publisher.answers = [answer]
    start = time.monotonic()
    with pytest.raises(FileNotFoundError, match=r"has not been sent within 0\.7 seconds"):
        fetch_bank()
    assert time.monotonic() - start < 10
    assert len(publisher.requests) == 1
    assert list(cache.iterdir()) == []


def test_the_time_is_for_all_attempts_together(
    cache: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "MAX_SECONDS", 0.7)
    monkeypatch.setattr(_files, "WAIT_SECONDS", 0.6)
    publisher.answers = [failing(503), dripping]
    start = time.monotonic()
    with pytest.raises(FileNotFoundError, match="has not been sent"):
        fetch_bank()
    assert time.monotonic() - start < 5


def bombs() -> dict[str, tuple[str, bytes]]:
    """Small archives that unpack to 4 MB and more, under the name of the publisher's archive or of a packed file."""
    zeros = bytes(4_000_000)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w:gz") as archive:
        other = tarfile.TarInfo("not what is looked for")
        other.size = len(zeros)
        archive.addfile(other, io.BytesIO(zeros))
    deflated = zipped(zipfile.ZIP_DEFLATED, **{NAME: zeros})
    lying = bytearray(deflated)
    for at in (22, lying.rindex(b"PK\x01\x02") + 24):  # the size that the archive claims
        lying[at : at + 4] = (100).to_bytes(4, "little")
    archives = {
        "zip": deflated,
        "zip in zip": zipped(**{"bank.zip": deflated}),
        "many files": zipped(zipfile.ZIP_DEFLATED, **{f"{k}/{NAME}": bytes(200_000) for k in range(20)}),
        "a tar of something else": zipped(**{"x.tar.gz": tar.getvalue()}),
        "a size that is not true": bytes(lying),
        "bzip2 in zip": zipped(zipfile.ZIP_BZIP2, **{NAME: zeros}),
    }
    files = {f"{NAME}.gz": gzip.compress(zeros), f"{NAME}.xz": lzma.compress(zeros, preset=0), NAME: zeros}
    return {kind: ("bank+marketing.zip", content) for kind, content in archives.items()} | {
        name: (name, content) for name, content in files.items()
    }


@pytest.mark.parametrize("kind", bombs())
def test_an_archive_that_unpacks_to_too_much_is_not_unpacked(
    kind: str, cache: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_files, "MAX_BYTES", 1_000_000)
    name, content = bombs()[kind]
    (tmp_path / name).write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(_files.CorruptFileError, match="cannot be unpacked"):
            fetch_bank(data_home=tmp_path, download=False)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    if name.endswith("+marketing.zip"):
        publisher.answers = [lambda handler: good(handler, content)]
        with pytest.raises(FileNotFoundError, match="cannot be unpacked"):
            fetch_bank()
        assert list(cache.iterdir()) == []


@pytest.mark.slow
def test_two_processes_that_fetch_at_once_both_succeed(cache: Path, publisher: Publisher) -> None:
    both_asked = threading.Barrier(2)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        both_asked.wait(timeout=60)  # nobody gets a byte before both are downloading
        good(handler)

    publisher.answers = [answer]
    script = f"""
from dataclasses import replace
from pathlib import Path
from parityboost.datasets import _files, _loaders, fetch_bank
from parityboost.datasets._catalogue import File
_files.user_cache = lambda: Path({str(cache)!r})
_loaders.BANK = replace(_loaders.BANK, files=({_loaders.BANK.files[0]!r},), url={publisher.url!r})
print(len(fetch_bank().data))
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out.strip()) == (0, "2"), err
    assert len(publisher.requests) == 2
    assert [path.name for path in cache.iterdir()] == [f"{NAME}.gz"]
    assert gzip.decompress((cache / f"{NAME}.gz").read_bytes()) == CONTENT
