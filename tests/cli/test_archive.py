"""``archive`` and ``search --archived``: by commands, and by a command beside an owner."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, documented, move_home, runner


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory away from the user's own settings, in no agent's environment."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        move_home(patch, home)
        for mark in ("CLAUDECODE", "CLAUDE_CODE", "AI_AGENT", "AGENT"):
            patch.delenv(mark, raising=False)
        yield home / "desk"


@pytest.fixture
def cli(store: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(store, capsys)


def add(cli: Cli, text: str) -> str:
    key: str = cli("memories", "add", "--agent", "tester", text, "--json").json["id"]
    return key


def test_a_memory_is_archived_listed_found_and_restored(cli: Cli) -> None:
    key = add(cli, "Releases are signed with the hardware key.")
    assert cli("archive", "add", key[:8], "--json").json == documented("archive add")
    listed = cli("archive", "list", "--why", "by_hand", "--json").json
    assert [row["id"] for row in listed["memories"]] == [key]
    assert listed["memories"][0].keys() == documented("archive list")["memories"][0].keys()
    assert cli("archive", "list", "--why", "room", "--json").json["total"] == 0
    shown = cli("archive", "list").out
    assert "by hand" in shown
    assert "Releases are signed" in shown
    for command in (("archive", "search"), ("search", "--archived")):
        found = cli(*command, "hardware key for signing", "--json").json["results"]
        assert [hit["id"] for hit in found] == [key]
    assert cli("search", "hardware key for signing", "--json").json["results"] == []
    assert cli("memories", "list", "--archived", "--json").json["total"] == 1
    assert "by hand" in cli("memories", "show", key[:8]).out
    assert cli("archive", "restore", key[:8], "--json").json == documented("archive restore")
    assert cli("memories", "show", key, "--json").json["archived_at"] is None


def test_archiving_is_undone_as_other_changes_are(cli: Cli) -> None:
    key = add(cli, "The lift is out of order.")
    cli("archive", "add", key)
    undone = cli("memories", "undo", "--json").json["undone"]
    assert (undone["kind"], undone["ids"]) == ("archived", [key])
    assert cli("memories", "list", "--archived", "--json").json["total"] == 0


def test_what_is_not_archived_cannot_be_restored_from_there(cli: Cli) -> None:
    key = add(cli, "The printer is on the second floor.")
    refused = cli("archive", "restore", key[:8])
    assert refused.code == 1
    assert "is not in the archive" in refused.err
    assert "archive list" in refused.err


def test_an_archived_memory_is_deleted_and_erased_like_any_other(cli: Cli) -> None:
    key = add(cli, "The alarm code changes on Mondays.")
    cli("archive", "add", key)
    assert cli("memories", "delete", key[:8], "--yes", "--json").json == {"deleted": 1}
    assert cli("archive", "list", "--json").json["total"] == 0
    assert cli("memories", "purge", key[:8], "--yes", "--json").json["purged"] == 1


def test_an_empty_archive_says_so(cli: Cli) -> None:
    assert cli("archive", "list").out == "No archived memory matches.\n"
    assert cli("archive", "search", "nothing at all").out == "No memory matches.\n"


@pytest.mark.parametrize("act", ["add", "restore"])
def test_an_agents_command_neither_archives_nor_restores(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = cli("archive", act, "3f2a")
    assert refused.code != 0
    assert "only a person decides" in refused.err
