"""One process owns a data directory."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.persistence.lock import DataDirLock, mark_leaving

HOLD = """
import sys
from pathlib import Path
from synthorg_tui.persistence.lock import DataDirLock
with DataDirLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(data_dir: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "held"
    return holder


def test_the_second_process_is_told_the_pid_of_the_owner(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        try:
            with pytest.raises(StoreLockedError) as caught:
                DataDirLock(tmp_path).acquire()
            assert caught.value.owner_pid == holder.pid
            assert str(holder.pid) in caught.value.message
            assert "\n" not in caught.value.message
            assert caught.value.exit_code == 3
        finally:
            holder.kill()


def test_the_lock_of_a_killed_owner_is_taken_over_at_once(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        holder.send_signal(signal.SIGKILL)
    with DataDirLock(tmp_path) as lock:
        assert lock.is_held


def test_the_lock_file_says_who_since_when_and_running_what(tmp_path: Path) -> None:
    with DataDirLock(tmp_path):
        owner = json.loads((tmp_path / "owner.lock").read_text())
    assert owner["pid"] == os.getpid()
    assert set(owner) == {"pid", "started", "command", "terminal"}


def test_a_released_lock_can_be_taken_again(tmp_path: Path) -> None:
    lock = DataDirLock(tmp_path)
    lock.acquire()
    lock.release()
    lock.release()
    with DataDirLock(tmp_path) as other:
        assert other.is_held
        assert not lock.is_held


def test_a_lock_excludes_a_second_one_in_the_same_process(tmp_path: Path) -> None:
    with DataDirLock(tmp_path), pytest.raises(StoreLockedError) as caught:
        DataDirLock(tmp_path).acquire()
    assert caught.value.owner_pid == os.getpid()


def test_who_comes_waits_for_an_owner_that_says_it_is_leaving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = DataDirLock(tmp_path).acquire()
    with pytest.raises(StoreLockedError) as refused:
        DataDirLock(tmp_path).__enter__()
    assert not refused.value.is_leaving
    mark_leaving(tmp_path)
    with pytest.raises(StoreLockedError) as refused:
        DataDirLock(tmp_path).acquire()
    assert refused.value.is_leaving
    pauses = list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        lock.release()

    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=pause)
    monkeypatch.setattr("synthorg_tui.persistence.lock.time", clock)
    with DataDirLock(tmp_path) as next_lock:
        assert next_lock.is_held
        assert "leaving" not in (tmp_path / "owner.lock").read_text()
    assert len(pauses) == 1


def test_who_comes_while_the_owner_releases_the_lock_waits_for_it(tmp_path: Path) -> None:
    lock = DataDirLock(tmp_path).acquire()
    (tmp_path / "owner.lock").write_bytes(b"")  # as it is for a moment, with the lock still held
    with pytest.raises(StoreLockedError) as refused:
        DataDirLock(tmp_path).acquire()
    assert refused.value.is_leaving
    lock.release()


def test_nobody_says_that_another_process_is_leaving(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        try:
            mark_leaving(tmp_path)
            with pytest.raises(StoreLockedError) as refused:
                DataDirLock(tmp_path).acquire()
            assert not refused.value.is_leaving
        finally:
            holder.kill()
