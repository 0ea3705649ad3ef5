"""Long results on a terminal go through the pager, and only there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from synthorg_tui.cli import main
from tests.cli.cli_kit import SAMPLE, move_home

CODEX = "codex:0199f0c4"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home with the sample imported, and a pager that marks what it is given."""
    home = tmp_path_factory.mktemp("home")
    pager = home / "pager"
    pager.write_text('#!/bin/sh\nsed "s/^/paged: /"\n')
    quits = home / "quits"
    quits.write_text("#!/bin/sh\nread first\necho only: $first\n")
    for script in (pager, quits):
        script.chmod(0o700)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environ = kept | {"HOME": str(home), "TERM": "dumb", "COLUMNS": "100"}
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.delenv(name)
        assert main(["import", str(SAMPLE)]) == 0
    return environ


def at_terminal(environ: dict[str, str], *args: str) -> tuple[int, str]:
    """Run a command with a terminal as its output; returns the exit code and what it shows."""
    main, side = os.openpty()
    command = [sys.executable, "-m", "synthorg_tui", *args]
    process = subprocess.Popen(command, env=environ, stdin=side, stdout=side, stderr=side)
    os.close(side)
    shown = b""
    while chunk := _read(main):
        shown += chunk
    os.close(main)
    return process.wait(), shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side is closed
        return b""


def test_a_session_is_paged_on_a_terminal(environment: dict[str, str]) -> None:
    pager = str(Path(environment["HOME"]) / "pager")
    code, shown = at_terminal(environment | {"PAGER": pager}, "sessions", "show", CODEX)
    assert code == 0
    assert all(line.startswith("paged: ") for line in shown.splitlines())
    assert CODEX in shown
    for options in (["--no-pager"], ["--json"]):
        code, shown = at_terminal(
            environment | {"PAGER": pager}, "sessions", "show", CODEX, *options
        )
        assert (code, "paged: " in shown) == (0, False)


def test_a_pager_that_is_quit_or_is_not_there_is_no_error(environment: dict[str, str]) -> None:
    quits = str(Path(environment["HOME"]) / "quits")
    code, shown = at_terminal(environment | {"PAGER": quits}, "sessions", "show", CODEX)
    assert (code, shown.startswith("only: "), len(shown.splitlines())) == (0, True, 1)
    code, shown = at_terminal(environment | {"PAGER": "/no/pager"}, "sessions", "show", CODEX)
    assert (code, CODEX in shown) == (0, True)
