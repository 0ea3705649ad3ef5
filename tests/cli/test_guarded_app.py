"""The real app under a shell: whatever stops or ends it, the terminal is as it was before."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.pty_kit import without_marks

# A shell with job control, no more: it starts the app in a group of its own, tells what became of
# it and whether the terminal is as it was, and continues it for the line "fg".
SHELL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)
app = os.fork()
if app == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-m", "synthorg_tui", *sys.argv[1:]])
while True:
    _, status = os.waitpid(app, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    same = "SAME" if termios.tcgetattr(0) == before else "OTHER"
    if not os.WIFSTOPPED(status):
        print(f"<ENDED {os.waitstatus_to_exitcode(status)} {same}>", flush=True)
        sys.stdin.readline()
        break
    print(f"<STOPPED {same}>", flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, os.getpgid(app))
    os.killpg(app, signal.SIGCONT)
"""
MODES = ("1049", "1000", "1003", "1006", "2004", "1004")


class Terminal:
    """A terminal with the app, started by a shell."""

    def __init__(self, data_dir: Path) -> None:
        self._ours, theirs = pty.openpty()
        self.shell = subprocess.Popen(
            [sys.executable, "-c", SHELL, "--data-dir", str(data_dir)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=without_marks(TERM="xterm-256color", HOME=str(data_dir)),
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, is_so: Callable[[str], bool]) -> str:
        """What is written from now on until it is so."""
        end, start = time.monotonic() + PATIENCE, len(self.shown)
        while not is_so(self.shown[start:]):
            assert time.monotonic() < end, self.shown[-2000:]
            if select.select([self._ours], [], [], 0.05)[0]:
                self.shown += os.read(self._ours, 65536).decode(errors="replace")
        return self.shown[start:]

    def until_open(self) -> None:
        self.until(lambda shown: "Start empty" in shown)
        self.type("e")
        self.until(lambda shown: "No memories yet" in shown)

    def modes(self) -> dict[str, str]:
        """The last state that each mode of the terminal was put into."""
        return dict(re.findall(r"\x1b\[\?(\d+)([hl])", self.shown))

    @property
    def app(self) -> int:
        """The process of the app, which the shell doesn't know."""
        return child_of(child_of(self.shell.pid))

    def close(self) -> None:
        """Close the terminal, and wait until everything that ran at it has ended."""
        ran = [pid for child in children(self.shell.pid) for pid in (child, *children(child))]
        os.close(self._ours)
        self.shell.kill()
        self.shell.wait()
        end = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{pid}").exists() for pid in ran):
            assert time.monotonic() < end
            time.sleep(0.05)


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def child_of(pid: int) -> int:
    return children(pid)[0]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    try:
        terminal.until_open()
        yield terminal
    finally:
        terminal.close()


def assert_given_back(terminal: Terminal) -> None:
    modes = terminal.modes()
    assert {modes[mode] for mode in MODES} == {"l"}, modes
    assert modes["25"] == modes["7"] == "h"  # the cursor is shown, lines are wrapped


def test_a_stop_gives_the_terminal_back_and_fg_draws_the_app_again(terminal: Terminal) -> None:
    """Stopped by Ctrl-Z, and from outside by a signal to either process."""
    for _ in range(2):
        terminal.type("\x1a")
        assert "SAME" in terminal.until(lambda shown: "<STOPPED" in shown and ">" in shown)
        assert_given_back(terminal)
        terminal.type("fg\r")
        terminal.until(lambda shown: "No memories yet" in shown)
        assert terminal.modes()["1049"] == "h"
    for pid in (child_of(terminal.shell.pid), terminal.app):
        os.kill(pid, signal.SIGTSTP)
        assert "SAME" in terminal.until(lambda shown: "<STOPPED" in shown and ">" in shown)
        assert_given_back(terminal)
        terminal.type("fg\r")
        terminal.until(lambda shown: "No memories yet" in shown)
    terminal.type("?")
    terminal.until(lambda shown: "esc closes" in shown)  # keys arrive, once


def test_sigterm_ends_it_in_order(terminal: Terminal) -> None:
    os.kill(child_of(terminal.shell.pid), signal.SIGTERM)
    shown = terminal.until(lambda shown: "<ENDED" in shown and ">" in shown)
    assert f"<ENDED {128 + signal.SIGTERM} SAME>" in shown
    assert "the app was ended by SIGTERM" in shown
    assert_given_back(terminal)


def test_ctrl_c_says_how_to_quit_and_twice_it_does(terminal: Terminal) -> None:
    terminal.type("\x03")
    terminal.until(lambda shown: "q quits" in shown)
    terminal.type("\x03")
    assert "<ENDED 0 SAME>" in terminal.until(lambda shown: "<ENDED" in shown and ">" in shown)
    assert_given_back(terminal)


def test_an_app_that_is_killed_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    os.kill(terminal.app, signal.SIGKILL)
    shown = terminal.until(lambda shown: "<ENDED" in shown and ">" in shown)
    assert f"<ENDED {128 + signal.SIGKILL} SAME>" in shown
    assert_given_back(terminal)


def test_a_closed_terminal_ends_it_in_order(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.until_open()
    terminal.until(lambda _: (tmp_path / "owner.sock").exists())
    terminal.close()
    assert not (tmp_path / "owner.sock").exists()


def command(data_dir: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "synthorg_tui", "--data-dir", str(data_dir), *words],
        env=without_marks(HOME=str(data_dir)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("ends", ["closes", "is killed"])
def test_after_q_the_next_command_waits_for_the_store_and_nothing_is_lost(
    terminal: Terminal, tmp_path: Path, ends: str
) -> None:
    terminal.until(lambda _: (tmp_path / "owner.sock").exists())
    added = command(tmp_path, "memories", "add", "--agent", "me", "Push with an upstream.")
    assert added.returncode == 0, added.stderr
    app = terminal.app
    terminal.type("q")
    assert "<ENDED 0 SAME>" in terminal.until(lambda shown: "<ENDED" in shown and ">" in shown)
    assert_given_back(terminal)
    if ends == "is killed":
        with contextlib.suppress(ProcessLookupError):
            os.kill(app, signal.SIGKILL)
    listed = command(tmp_path, "memories", "list")
    assert listed.returncode == 0, listed.stderr
    assert "Push with an upstream." in listed.stdout
