"""Files are written whole or not at all, and read only when they are plain ones."""

import errno
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthorg_tui.core.files import (
    FileTooLargeError,
    NotPlainFileError,
    open_log,
    opened_folder,
    read_plain,
    remove_drafts,
    write_atomically,
)
from tests.tables import rows

STEPS = ("open", "fchmod", "fsync", "replace", "unlink")
OLD, NEW = b"old" * 1000, b"new" * 2000


def leftover(path: Path, writer: int | str) -> Path:
    """What a writer with this process number leaves beside the file when it is killed."""
    return path.with_name(f".{path.name}.{writer}-0a1b2c3d.synthorg-tmp")


def dead_process() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


class TestWriting:
    def test_the_content_is_there_and_nothing_else(self, tmp_path: Path) -> None:
        for content in (b"one", b"", b"three"):
            write_atomically(tmp_path / "file", content, mode=None)
            assert (tmp_path / "file").read_bytes() == content
            assert names(tmp_path) == ["file"]

    @rows("mode", [0o600, 0o640, 0o644, 0o400, 0o4755])
    @rows("is_there", [False, True])
    def test_the_mode_is_the_one_asked_for(self, tmp_path: Path, mode: int, is_there: bool) -> None:
        path = tmp_path / "file"
        if is_there:
            path.write_bytes(OLD)
            path.chmod(0o666)
        umask = os.umask(0o077)
        try:
            write_atomically(path, NEW, mode=mode)
        finally:
            os.umask(umask)
        assert path.stat().st_mode & 0o7777 == mode

    def test_without_a_mode_it_is_that_of_new_files(self, tmp_path: Path) -> None:
        umask = os.umask(0o027)
        try:
            write_atomically(tmp_path / "file", NEW, mode=None)
        finally:
            os.umask(umask)
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640

    def test_nobody_else_can_read_a_private_file_while_it_is_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[int] = []

        def watched(descriptor: int) -> None:
            seen.append(os.fstat(descriptor).st_mode & 0o777)

        monkeypatch.setattr(os, "fsync", watched)
        write_atomically(tmp_path / "file", NEW, mode=0o600)
        assert seen[0] == 0o600

    def test_content_is_on_disk_before_it_has_the_name_and_the_name_afterwards(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        order: list[str] = []
        log_calls(monkeypatch, order, "fsync", "replace")
        write_atomically(tmp_path / "file", NEW, mode=None)
        assert order == ["fsync", "replace", "fsync"]

    def test_what_need_not_outlive_a_power_failure_waits_for_no_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        order: list[str] = []
        log_calls(monkeypatch, order, "fsync", "replace")
        write_atomically(tmp_path / "file", NEW, mode=None, durable=False)
        assert order == ["replace"]

    @rows("is_dangling", [False, True])
    def test_a_link_is_replaced_and_not_followed(self, tmp_path: Path, is_dangling: bool) -> None:
        target, path = tmp_path / "target", tmp_path / "file"
        if not is_dangling:
            target.write_bytes(OLD)
        path.symlink_to(target)
        write_atomically(path, NEW, mode=None)
        assert not path.is_symlink()
        assert path.read_bytes() == NEW
        assert not target.exists() if is_dangling else target.read_bytes() == OLD

    def test_a_link_where_the_draft_belongs_is_not_followed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "urandom", lambda size: b"\x0a\x1b\x2c\x3d"[:size])
        path, target = tmp_path / "file", tmp_path / "target"
        target.write_bytes(OLD)
        leftover(path, os.getpid()).symlink_to(target)
        with pytest.raises(FileExistsError):
            write_atomically(path, NEW, mode=0o666)
        assert target.read_bytes() == OLD
        assert not path.exists()

    @rows("kind", ["file", "link", "folder"])
    def test_what_is_there_stays_when_it_must_not_be_replaced(
        self, tmp_path: Path, kind: str
    ) -> None:
        path = tmp_path / "file"
        if kind == "file":
            path.write_bytes(OLD)
        elif kind == "link":
            path.symlink_to(tmp_path / "nowhere")
        else:
            path.mkdir()
        before = path.lstat()
        with pytest.raises(FileExistsError):
            write_atomically(path, NEW, mode=0o600, replace=False)
        assert path.lstat().st_ino == before.st_ino
        assert names(tmp_path) == ["file"]

    def test_what_is_new_is_written_when_nothing_is_there(self, tmp_path: Path) -> None:
        write_atomically(tmp_path / "file", NEW, mode=0o600, replace=False)
        assert (tmp_path / "file").read_bytes() == NEW
        assert (tmp_path / "file").stat().st_nlink == 1
        assert names(tmp_path) == ["file"]

    def test_without_its_folder_nothing_is_written(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            write_atomically(tmp_path / "none" / "file", NEW, mode=None)
        assert names(tmp_path) == []

    def test_a_name_without_a_folder_is_in_this_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write_atomically("file", NEW, mode=None)
        assert names(tmp_path) == ["file"]


class TestFailing:
    @rows("step", ["write", "fchmod", "fsync", "replace"])
    def test_a_refusal_leaves_the_old_content_and_no_draft(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(OLD)
        if step == "write":
            full = Path("/dev/full").open("wb")  # noqa: SIM115
            monkeypatch.setattr(os, "fdopen", lambda *_: full)
        else:
            monkeypatch.setattr(os, step, refuse)
        with pytest.raises(OSError, match="No space left"):
            write_atomically(path, NEW, mode=0o600)
        monkeypatch.undo()
        assert path.read_bytes() == OLD
        assert names(tmp_path) == ["file"]

    @rows("when", ["before", "after"])
    @rows("step", STEPS)
    def test_killed_at_any_step_the_file_is_the_old_one_or_the_new_one(
        self, tmp_path: Path, step: str, when: str
    ) -> None:
        path = tmp_path / "file"
        path.write_bytes(OLD)
        path.chmod(0o640)
        process = multiprocessing.get_context("fork").Process(
            target=write_and_die, args=(path, step, when)
        )
        process.start()
        process.join(30)
        assert process.exitcode == -signal.SIGKILL
        is_new = step == "unlink" or (step, when) == ("replace", "after")
        assert path.read_bytes() == (NEW if is_new else OLD)
        assert path.stat().st_mode & 0o777 == (0o600 if is_new else 0o640)
        write_atomically(path, b"next", mode=None)
        assert path.read_bytes() == b"next"
        assert names(tmp_path) == ["file"], "the draft of the killed writer is still there"

    def test_readers_see_all_of_one_or_all_of_the_other(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        write_atomically(path, OLD, mode=None)
        context = multiprocessing.get_context("fork")
        writers = [
            context.Process(target=write_often, args=(path, content)) for content in (OLD, NEW)
        ]
        for writer in writers:
            writer.start()
        seen = set()
        while any(writer.is_alive() for writer in writers):
            seen.add(read_plain(path)[0])
        for writer in writers:
            writer.join()
        assert [writer.exitcode for writer in writers] == [0, 0]
        assert seen <= {OLD, NEW}
        assert names(tmp_path) == ["file"]


class TestLeftovers:
    def test_those_of_killed_writers_are_removed(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        leftover(path, dead_process()).write_bytes(b"half")
        leftover(path, 10**30).write_bytes(b"half")
        write_atomically(path, NEW, mode=None)
        assert names(tmp_path) == ["file"]

    def test_a_link_among_them_is_removed_and_not_followed(self, tmp_path: Path) -> None:
        path, target = tmp_path / "file", tmp_path / "target"
        target.write_bytes(OLD)
        leftover(path, dead_process()).symlink_to(target)
        write_atomically(path, NEW, mode=None)
        assert target.read_bytes() == OLD
        assert names(tmp_path) == ["file", "target"]

    @rows("writer", [pytest.param(os.getpid(), id="own"), 1, "", "x", "²", "-1"])
    def test_those_of_writers_at_work_and_of_strangers_stay(
        self, tmp_path: Path, writer: int | str
    ) -> None:
        path = tmp_path / "file"
        leftover(path, writer).write_bytes(b"half")
        remove_drafts(path)
        assert leftover(path, writer).exists()

    def test_those_of_other_files_stay(self, tmp_path: Path) -> None:
        other = leftover(tmp_path / "other", dead_process())
        other.write_bytes(b"half")
        write_atomically(tmp_path / "file", NEW, mode=None)
        assert other.exists()


class TestReading:
    @given(content=st.binary(max_size=40), limit=st.integers(0, 40))
    def test_a_file_within_the_limit_comes_back_whole(
        self, tmp_path_factory: pytest.TempPathFactory, content: bytes, limit: int
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "plain"
        path.write_bytes(content)
        if len(content) > limit:
            with pytest.raises(FileTooLargeError):
                read_plain(path, limit=limit)
        else:
            assert read_plain(path, limit=limit)[0] == content

    def test_the_status_is_that_of_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_bytes(OLD)
        path.chmod(0o640)
        assert read_plain(path)[1] == path.stat()

    @rows("kind", ["link", "dangling", "folder", "pipe", "socket", "device"])
    def test_what_is_no_plain_file_is_refused_at_once(self, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "file"
        listener = socket.socket(socket.AF_UNIX)
        if kind == "link":
            (tmp_path / "target").write_bytes(OLD)
            path.symlink_to("target")
        elif kind == "dangling":
            path.symlink_to("nowhere")
        elif kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            listener.bind(str(path))
        else:
            path = Path("/dev/zero")
        before = os.listdir("/dev/fd")  # noqa: PTH208
        with listener, pytest.raises(NotPlainFileError):
            read_plain(path)
        left = os.listdir("/dev/fd")  # noqa: PTH208
        assert len(left) == len(before) - 1, "more than the listener was left open"

    def test_what_is_not_there_is_told_apart(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(OLD)
        with pytest.raises(FileNotFoundError):
            read_plain(tmp_path / "none")
        with pytest.raises(NotADirectoryError):
            read_plain(tmp_path / "file" / "none")

    def test_a_folder_that_was_opened_stays_the_one_it_was(self, tmp_path: Path) -> None:
        folder, outside = tmp_path / "folder", tmp_path / "outside"
        folder.mkdir()
        outside.mkdir()
        (folder / "file").write_bytes(b"inside")
        (outside / "file").write_bytes(b"outside")
        with opened_folder(folder) as descriptor:
            folder.rename(tmp_path / "moved")
            folder.symlink_to(outside)
            assert read_plain("file", folder=descriptor)[0] == b"inside"

    def test_a_folder_that_is_a_link_is_opened_only_where_that_is_allowed(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "file").write_bytes(OLD)
        link = tmp_path / "link"
        link.symlink_to("folder")
        with pytest.raises(OSError, match="link"), opened_folder(link):
            pass
        with opened_folder(link, may_be_link=True) as descriptor:
            assert read_plain("file", folder=descriptor)[0] == OLD
            with pytest.raises(OSError), opened_folder("file", folder=descriptor):  # noqa: PT011
                pass


def test_a_log_is_private_grows_and_starts_over_once_it_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "log"
    sizes = []
    for _ in range(4):
        with open_log(path, 20) as log:
            log.write(b"twelve bytes")
        sizes.append(path.stat().st_size)
    assert sizes == [12, 24, 12, 24]
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_loads_neither_pathlib_nor_typing() -> None:
    code = (
        "import sys; before = set(sys.modules); import synthorg_tui.core.files; "
        "print({'pathlib', 'typing', 'dataclasses'} & (set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "set()"


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def log_calls(monkeypatch: pytest.MonkeyPatch, order: list[str], *functions: str) -> None:
    for name in functions:
        monkeypatch.setattr(os, name, logged(getattr(os, name), name, order))


def logged(function: Callable[..., Any], name: str, order: list[str]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        order.append(name)
        return function(*args, **kwargs)

    return call


def write_and_die(path: Path, step: str, when: str) -> None:
    function: Callable[..., Any] = getattr(os, step)

    def deadly(*args: Any, **kwargs: Any) -> Any:
        if when == "after":
            with_error: BaseException | None = None
            try:
                function(*args, **kwargs)
            except OSError as error:
                with_error = error
            assert with_error is None or step == "unlink"
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(os, step, deadly)
    write_atomically(path, NEW, mode=0o600)


def write_often(path: Path, content: bytes) -> None:
    for _ in range(200):
        write_atomically(path, content, mode=None, durable=False)
