"""Whatever ends the app, the terminal is given back."""

import signal
import time
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.pty_kit import at_terminal

APP = """
import os, signal, sys, termios, tty
from synthorg_tui.cli.guarded import guarded
from synthorg_tui.cli.output import Console

def run(let_go):
    tty.setraw(2)
    os.write(2, b"\\x1b[?1049h\\x1b[?1003h\\x1b[?25l")
    {act}
    return 3

before = termios.tcgetattr(2)
parent = os.getpid()
code = guarded(run, Console(sys.stdout, sys.stderr))
if os.getpid() == parent:
    print("SAME" if termios.tcgetattr(2) == before else "OTHER")
sys.exit(code)
"""


@pytest.mark.parametrize("name", ["SIGBUS", "SIGSEGV", "SIGKILL", "SIGTERM"])
def test_after_a_signal_the_terminal_is_as_it_was_and_it_is_said_in_words(name: str) -> None:
    number = signal.Signals[name]
    ran = at_terminal(["-c", APP.format(act=f"os.kill(os.getpid(), {int(number)})")])
    assert ran.code == 128 + number
    for sequence in ("\x1b[?1049l", "\x1b[?1003l", "\x1b[?1000l", "\x1b[?25h", "\x1b[?2004l"):
        assert sequence in ran.screen.partition("\x1b[?1003h")[2]
    assert f"the app was ended by {name}" in ran.screen
    assert "SAME" in ran.screen


def test_a_signal_to_the_process_that_waits_reaches_the_app() -> None:
    act = "os.kill(os.getppid(), signal.SIGTERM); signal.pause()"
    ran = at_terminal(["-c", APP.format(act=act)])
    assert ran.code == 128 + signal.SIGTERM
    assert "SAME" in ran.screen


def test_an_app_that_ends_by_itself_passes_on_its_code_and_nothing_is_written() -> None:
    ran = at_terminal(["-c", APP.format(act="pass")])
    assert ran.code == 3
    assert "\x1b[?1049l" not in ran.screen
    assert "ended by" not in ran.screen


def test_an_app_that_is_stopped_and_continued_goes_on() -> None:
    """Whoever continues it does so once the process that waits for it has stopped as well."""
    act = (
        "import pathlib, time; state = pathlib.Path(f'/proc/{os.getppid()}/stat')\n"
        "    if os.fork():\n"
        "        os.kill(os.getpid(), signal.SIGSTOP)\n"
        "    else:\n"
        "        parent = int(state.parent.name)\n"
        "        while state.read_text().rpartition(')')[2].split()[0] != 'T': time.sleep(.01)\n"
        "        os.kill(parent, signal.SIGCONT)\n"
        "        os._exit(0)"
    )
    ran = at_terminal(["-c", APP.format(act=act)])
    assert ran.code == 3


def test_nobody_waits_for_an_app_that_has_let_go_and_it_has_no_terminal(tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    act = (
        "import pathlib, time; let_go()\n"
        f"    while not pathlib.Path({str(go)!r}).exists(): time.sleep(.01)\n"
        "    seen = [os.isatty(stream) for stream in range(3)], os.getsid(0) == os.getpid()\n"
        f"    pathlib.Path({str(done)!r}).write_text(str(seen))"
    )
    ran = at_terminal(["-c", APP.format(act=act)])
    assert ran.code == 0
    assert "ended by" not in ran.screen
    go.touch()
    end = time.monotonic() + PATIENCE
    while not done.exists() or not done.read_text():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert done.read_text() == "([False, False, False], True)"
