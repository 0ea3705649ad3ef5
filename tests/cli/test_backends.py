"""Each command with a backend that isn't the local one: it works, or says what to choose.

What is refused is decided alike for all of them, so one of them is asked for every command; what
each does by itself is asked of each.
"""

from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, move_home, runner
from tests.memory.mem0_kit import require_mem0
from tests.tables import rows

CHOOSE = "Set memory.backend to local."
UNKNOWN = "00000000-0000-0000-0000-00000000000a"

WORKS = (
    "memories list",
    "search port",
    "digest port --agent ada",
    "agents",
    "hints",
    "jobs list",
    "overview",
    "config check",
    "runs list",
    "models list",
    "prune",
    "scenarios list",
)
REFUSED = {
    "archive list": "has no archive",
    "backup": "no index and no backups",
    "consolidate plan": "nothing can be consolidated",
    "doctor": "no index and no backups",
    "import .": "can't tell what it was told already",
    "import mem0 .": "can't tell what it was told already",
    "learn": "stored sessions need",
    "memories list --deleted": "deletes for good",
    "memories undo": "no record of changes",
    "org list": "no facts of the organisation",
    "projects list": "from which sessions",
    "proposals list": "approvals",
    "reindex": "no index and no backups",
    "sessions list": "stored sessions need",
    "skills list": "skills",
    "watch .": "can't tell what it was told already",
    "blame x": "stored sessions need",
    "run hello": "running agents here needs",
}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYNTHORG__MEMORY__BACKEND", "inmemory")
    return runner(tmp_path / "data", capsys)


@rows("command", WORKS)
def test_it_works(cli: Cli, command: str) -> None:
    result = cli(*command.split())
    assert result.code == 0
    assert result.out or result.err


@rows("command", REFUSED)
def test_it_says_what_is_lacking_and_what_to_choose(cli: Cli, command: str) -> None:
    result = cli(*command.split())
    assert result.code == 1
    assert CHOOSE in result.err
    assert REFUSED[command] in result.err
    assert not result.out


def test_the_settings_tell_that_nothing_is_kept(cli: Cli) -> None:
    result = cli("config", "check")
    assert "gone when the program that has them ends" in result.err


@pytest.mark.parametrize("backend", ["mem0", "composite"])
def test_memories_are_added_listed_found_and_deleted(
    cli: Cli, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_mem0()
    monkeypatch.setenv("SYNTHORG__MEMORY__BACKEND", backend)
    if backend == "composite":
        routes = '{"default": "mem0", "routes": {"work": "inmemory"}}'
        monkeypatch.setenv("SYNTHORG__MEMORY__COMPOSITE", routes)
    added = cli("memories", "add", "--agent", "ada", "The port is 8080", "--json").json["id"]
    (listed,) = cli("memories", "list", "--json").json["memories"]
    assert listed["id"] == added
    assert cli("search", "which port", "--json").json["results"][0]["id"] == added
    assert "8080" in cli("digest", "which port is it?", "--agent", "ada").out
    assert cli("agents", "--json").json["agents"][0]["memories"] == 1
    edited = cli("memories", "edit", added, "--content", "The port is 9090")
    assert "can't change a memory" in edited.err
    deleted = cli("memories", "delete", added, "--yes")
    assert deleted.out == "Deleted 1 memory.\n"
    assert "restore" not in deleted.err
    assert cli("memories", "list", "--json").json["total"] == 0


def test_the_overview_says_whose_memories_it_does_not_count(cli: Cli) -> None:
    assert "the inmemory backend keeps aren't counted" in cli("overview").out
