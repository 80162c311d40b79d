"""Files are replaced whole or not at all, and only what may be replaced."""

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

from conftest import make_device
from parityboost._io.atomic import replacing, write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about files of Unix")


def left_over(folder):
    return [path.name for path in folder.iterdir() if path.suffix == ".tmp"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "private.json"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600  # nobody else reads what is not finished
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new.json", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_that_is_replaced_keeps_its_owner(tmp_path):
    path = tmp_path / "theirs.json"
    path.write_text("old")
    os.chown(path, 4321, 4322)
    write_atomically(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 4322)


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()
    write_atomically(path, "through")
    reader.join(10)
    assert found == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert left_over(tmp_path) == []


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    make_device(tmp_path / "null", "null")
    (tmp_path / "link").symlink_to("null")
    for path in (tmp_path / "null", tmp_path / "link"):
        write_atomically(path, "gone")
        assert path.read_bytes() == b""
    assert (tmp_path / "link").is_symlink()
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)


def test_a_device_that_is_full_is_told_by_its_name(tmp_path):
    make_device(tmp_path / "full", "full")
    with pytest.raises(OSError, match=r"No space left on device: '.*full'"):
        write_atomically(tmp_path / "full", "text")
    assert stat.S_ISCHR((tmp_path / "full").stat().st_mode)


def test_what_is_no_file_is_refused_in_words(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))  # a short name: it may have a hundred bytes
        for name, problem in {
            "folder": "it is a folder, not a file",
            "socket": "it is a socket, not a file",
            "one": "it is a symbolic link that leads back to itself",
        }.items():
            with pytest.raises(OSError, match=problem) as caught:
                write_atomically(tmp_path / name, "text")
            assert repr(str(tmp_path / name)) in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "one", "other", "socket"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), OSError("disk full")])
def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch, error):
    path = tmp_path / "model.json"
    path.write_text("old")

    def fail(_):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"(No space left|disk full)") as caught:
        write_atomically(path, "new")
    assert repr(str(path)) in str(caught.value)
    assert caught.value.errno == error.errno
    assert path.read_text() == "old"
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("name", ["ü" * 120 + ".json", "\U0001f600" * 60 + ".json", "a" * 250])
def test_long_names_leave_room_for_the_temporary_one(tmp_path, name):
    write_atomically(tmp_path / name, "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


WRITER = """
import signal, sys, time
from parityboost._io.atomic import replacing
if "own" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def start_writer(path, *more):
    process = subprocess.Popen([sys.executable, "-c", WRITER, path, *more], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if line != "writing\n":
        process.communicate(timeout=30)
    assert line == "writing\n"
    assert len(left_over(path.parent)) == 1
    return process


@pytest.mark.parametrize("more, code", [((), -signal.SIGTERM), (("own",), 7)])
def test_a_process_that_is_asked_to_end_leaves_nothing_behind(tmp_path, more, code):
    path = tmp_path / "model.json"
    path.write_text("old")
    with start_writer(path, *more) as process:
        process.terminate()
        assert process.wait(30) == code
    assert path.read_text() == "old"
    assert left_over(tmp_path) == []


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_is_being_written_is_not(tmp_path):
    path = tmp_path / "model.json"
    with start_writer(path) as process:
        alive = left_over(tmp_path)
        write_atomically(path, "new")
        assert left_over(tmp_path) == alive
        process.kill()
        process.wait(30)
    mine = tmp_path / ".model.json.backup.tmp"
    mine.write_text("of the user")
    write_atomically(tmp_path / "other.json", "of another file")
    assert set(left_over(tmp_path)) == {*alive, mine.name}
    write_atomically(path, "newer")
    assert path.read_text() == "newer"
    assert left_over(tmp_path) == [mine.name]


def test_a_file_begun_anew_under_the_name_of_a_stale_one_is_left_alone(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    path, temporary = tmp_path / "model.json", tmp_path / f".model.json.{'0' * 16}.tmp"
    temporary.write_text("stale")
    lock = fcntl.flock

    def lock_late(file, operation):
        if operation & fcntl.LOCK_NB:  # since it was opened, others were faster
            temporary.unlink()
            temporary.write_text("being written")
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    write_atomically(path, "new")
    assert temporary.read_text() == "being written"
    assert path.read_text() == "new"


def test_threads_and_children_do_not_remove_what_others_write(tmp_path):
    path = tmp_path / "model.json"
    errors = []

    def write_often():
        try:
            for k in range(50):
                write_atomically(path, str(k))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with replacing(path) as temporary:
        temporary.write_text("mine")
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        time.sleep(0.1)
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert temporary.exists()
    assert path.read_text() == "mine"
    assert left_over(tmp_path) == []
