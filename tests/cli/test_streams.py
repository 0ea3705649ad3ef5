"""The program's standard streams may be closed, or end somewhere else than at a terminal."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import REPO
from tests.cli.cli_kit import move_home
from tests.patience import PATIENCE
from tests.pty_kit import at_terminal
from tests.tables import rows

MAIN = "import sys; from synthorg_tui.cli import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    move_home(monkeypatch, tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPO))
    return tmp_path


def redirected(redirection: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """The program, started by a shell with such streams."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-c", MAIN, *command],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_command_ends_as_ever_when_streams_are_closed(home: Path, closed: str) -> None:
    done = redirected(closed, "memories", "list", "--data-dir", str(home / "desk"))
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_what_fails_fails_with_its_own_code_when_streams_are_closed(
    home: Path, closed: str
) -> None:
    done = redirected(closed, "memories", "show", "nothing", "--data-dir", str(home / "desk"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_nothing_that_is_opened_gets_the_number_of_a_closed_stream() -> None:
    program = (
        "import os, sys; sys.argv[1:] = ['--version']; from synthorg_tui.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "sys.exit(os.open(os.devnull, os.O_RDONLY))"
    )
    done = subprocess.run(
        ["sh", "-c", '"$@" <&- >&- 2>&-', "sh", sys.executable, "-c", program],
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 3


@rows("descriptor", [0, 1, 2])
def test_the_app_needs_all_three_at_a_terminal(descriptor: int) -> None:
    """With standard error in a file the app would be drawn into the file."""
    program = f"import os; os.dup2(os.open(os.devnull, os.O_RDWR), {descriptor}); {MAIN}"
    assert at_terminal(["-c", program], patience=PATIENCE).code == 2
