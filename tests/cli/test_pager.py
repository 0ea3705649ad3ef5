"""Long results on a terminal go through the pager, and only there."""

import os
from pathlib import Path

import pytest

from synthorg_tui.cli import main
from tests import pty_kit
from tests.cli.cli_kit import SAMPLE, move_home
from tests.patience import PATIENCE

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
    ran = pty_kit.at_terminal(["-m", "synthorg_tui", *args], env=environ, patience=PATIENCE)
    return ran.code, ran.screen


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
