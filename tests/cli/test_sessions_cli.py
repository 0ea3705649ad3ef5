"""Imported sessions on the command line: listed, shown, and forgotten for good."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.cli import main
from tests.cli.cli_kit import SAMPLE, Cli, documented, move_home, runner

CODEX = "codex:0199f0c4-3d21-7a52-b6e8-2f4d90c1a7e3"
WORDS = b"Never change the table layout"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with the bundled sample, to be copied."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        assert main(["import", str(SAMPLE), "--data-dir", str(home / "data")]) == 0
    return home / "data"


@pytest.fixture
def data(tmp_path: Path, imported: Path) -> Path:
    return Path(shutil.copytree(imported, tmp_path / "data"))


@pytest.fixture
def cli(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line on a store with the bundled sample."""
    move_home(monkeypatch, data.parent)
    return runner(data, capsys)


def listed(cli: Cli, *options: str) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = cli("sessions", "list", *options, "--json").json["sessions"]
    return sessions


def holding(data: Path) -> list[str]:
    files = [path for path in data.rglob("*") if path.is_file()]
    return [path.name for path in files if WORDS in path.read_bytes()]


def test_sessions_are_listed_latest_first_with_their_size(cli: Cli) -> None:
    result = cli("sessions", "list", "--json").json
    documented_shape = documented("sessions list")
    assert result.keys() == documented_shape.keys()
    assert result["sessions"][0].keys() == documented_shape["sessions"][0].keys()
    ended = [session["ended_at"] for session in result["sessions"]]
    assert ended == sorted(ended, reverse=True)
    assert result["total"] == 3
    assert result["bytes"] == sum(session["bytes"] for session in result["sessions"]) > 0
    assert [each["agent_id"] for each in listed(cli, "--agent", "codex")] == ["codex"]
    assert len(listed(cli, "--limit", "2")) == 2
    told = cli("sessions", "list")
    assert CODEX in told.out
    assert "3 sessions" in told.err


def test_showing_a_session_says_what_forgetting_it_would_erase(cli: Cli) -> None:
    told = cli("sessions", "show", "codex").out
    assert CODEX in told
    assert "19 stored lines of 1 session with their records" in told
    assert "3 memories" in told
    assert cli("sessions", "show", CODEX, "--json").json["forgetting"]
    assert len(listed(cli)) == 3


def test_an_id_that_is_unknown_or_stands_for_several_is_refused(cli: Cli) -> None:
    assert "no session has an id" in cli("sessions", "show", "nowhere").err
    result = cli("sessions", "purge", "claude_code:", "--yes")
    assert result.code == 2
    assert "several ids start with" in result.err


def test_nothing_is_forgotten_when_nobody_can_confirm(cli: Cli) -> None:
    result = cli("sessions", "purge", CODEX)
    assert result.code == 2
    assert "The transcript's file isn't touched" in result.err
    assert len(listed(cli)) == 3


def test_a_forgotten_session_is_nowhere_and_not_imported_again(cli: Cli, data: Path) -> None:
    assert holding(data)
    backup = cli("backup", "--json").json["path"]
    told = cli("sessions", "purge", CODEX)
    assert "A backup keeps it: " in told.err
    assert Path(backup).name in told.err
    done = cli("sessions", "purge", CODEX, "--yes", "--json").json
    assert done.keys() == documented("sessions purge").keys()
    assert done["forgotten"] == [CODEX]
    assert done["purged"] == 3
    assert (done["remains"], done["copies"]) == ("", [backup])
    assert holding(data) == [Path(backup).name]
    assert cli("import", str(SAMPLE), "--json").json["executions"] == 0
    assert len(listed(cli)) == 2


def test_backups_that_hold_it_are_deleted_on_request(cli: Cli, data: Path) -> None:
    backup = cli("backup", "--json").json["path"]
    done = cli("sessions", "purge", CODEX, "--yes", "--backups", "--json").json
    assert done["deleted_copies"] == [backup]
    assert holding(data) == []


def test_memories_of_a_forgotten_session_may_be_kept(cli: Cli) -> None:
    done = cli("sessions", "purge", CODEX, "--yes", "--keep-memories", "--json").json
    assert done["purged"] == 0
    assert cli("memories", "list", "--agent", "codex", "--json").json["memories"]


@pytest.mark.parametrize(("what", "sessions"), [("redact", 3), ("forget", 2)])
def test_purging_a_memory_reaches_its_transcript_on_request(
    cli: Cli, data: Path, what: str, sessions: int
) -> None:
    memories = cli("memories", "list", "--agent", "codex", "--json").json["memories"]
    ids = [memory["id"] for memory in memories]
    asked = cli("memories", "purge", *ids)
    assert "The session's stored transcript has it, too" in asked.err
    assert "--transcript redact" in asked.err
    done = cli("memories", "purge", *ids, "--yes", "--transcript", what, "--json").json
    assert done.keys() == documented("memories purge").keys()
    assert (done["purged"], done["remains"]) == (len(ids), "")
    assert len(listed(cli)) == sessions
    shown = cli("sessions", "show", CODEX)
    assert WORDS.decode() not in shown.out
    assert holding(data) == []


def test_a_purge_that_leaves_the_transcript_says_how_to_go_on(cli: Cli) -> None:
    (memory, *_) = cli("memories", "list", "--agent", "codex", "--json").json["memories"]
    assert f"sessions purge {CODEX}" in cli("memories", "purge", memory["id"], "--yes").err
