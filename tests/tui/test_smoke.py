"""The real app on a real terminal, from the command line to the prompt after it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

from synthorg_tui.host.endpoint import socket_path
from synthorg_tui.persistence.lock import DataDirLock
from tests.patience import PATIENCE

LEAVES_THE_SCREEN = b"\x1b[?1049l"


def read_for(descriptor: int, seconds: float) -> bytes:
    """What is written within some seconds."""
    deadline, written = time.monotonic() + seconds, b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0]:
            try:
                written += os.read(descriptor, 65536)
            except OSError:  # the other end is closed
                break
    return written


def started(data_dir: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The app on a terminal of its own, which no hang-up is sent from, and our end of it."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    app = subprocess.Popen(
        [sys.executable, "-m", "synthorg_tui", "--data-dir", str(data_dir)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", "HOME": str(data_dir)},
        start_new_session=True,
    )
    os.close(terminal)
    return app, main


def read_until(descriptor: int, is_so: Callable[[bytes], bool]) -> bytes:
    """What is written until it is so, or the other end is closed."""
    end, written = time.monotonic() + PATIENCE, b""
    while not is_so(written):
        assert time.monotonic() < end, written[-2000:]
        written += read_for(descriptor, 0.05)
    return written


def test_the_app_leaves_when_its_terminal_is_gone(tmp_path: Path) -> None:
    """It ends in order: the socket goes, and the next owner finds the store free."""
    app, main = started(tmp_path)
    read_until(main, lambda _: Path(socket_path(tmp_path)).exists())
    os.close(main)
    app.wait(PATIENCE)
    assert not Path(socket_path(tmp_path)).exists()
    with DataDirLock(tmp_path) as lock:
        assert lock.is_held


def test_the_app_opens_answers_and_leaves_a_clean_terminal(tmp_path: Path) -> None:
    """Nothing is printed after the screen is given back; the socket is gone."""
    app, main = started(tmp_path)
    written = read_until(main, lambda shown: b"Start empty" in shown)
    written += read_until(main, lambda _: Path(socket_path(tmp_path)).exists())
    written += read_for(main, 2.0)  # it settles in: searches are made ready
    os.write(main, b"\x1b")
    written += read_until(main, lambda shown: b"No memories yet" in shown)
    os.write(main, b"q")
    written += read_until(main, lambda _: app.poll() is not None)
    written += read_for(main, 0.2)
    os.close(main)
    assert app.returncode == 0
    assert b"synthorg" in written
    last = written.rpartition(LEAVES_THE_SCREEN)[2]
    assert b"leaked" not in last
    assert b"Traceback" not in last
    assert not Path(socket_path(tmp_path)).exists()
