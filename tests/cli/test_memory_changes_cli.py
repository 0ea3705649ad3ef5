"""``memories undo``, ``redo``, ``restore-version``, ``uses`` and ``similar``."""

from pathlib import Path

import pytest

from tests.cli.cli_kit import Cli, documented, move_home, runner


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def cli(store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    move_home(monkeypatch, store / "home")
    return runner(store / "data", capsys)


def added(cli: Cli, text: str) -> str:
    result = cli("memories", "add", "--agent", "undoer", text, "--json")
    return str(result.json["id"])


def shown(cli: Cli, memory_id: str) -> str:
    return str(cli("memories", "show", memory_id, "--json").json["content"])


def test_an_edit_is_undone_and_redone_by_later_commands(cli: Cli) -> None:
    memory_id = added(cli, "Otters hold hands.")
    cli("memories", "edit", memory_id, "--content", "Otters swim.")
    undone = cli("memories", "undo", "--json").json
    assert set(undone["undone"]) == set(documented("memories undo")["undone"])
    assert before["valid_from"] is not None
    assert before["valid_to"] is not None
    found = cli("search", "where is the nest", "--agent", "keeper", "--json").json["results"]
    assert [hit["id"] for hit in found] == [new]
    early = cli("search", "nest", "--agent", "keeper", "--as-of", "2020-01-01", "--json").json
    assert early["results"] == []


def test_only_a_fact_has_times_and_as_of_takes_few_filters(cli: Cli) -> None:
    note = cli("memories", "add", "--agent", "keeper", "Owls.", "--valid-to", "7d")
    assert (note.code, "only facts" in note.err) == (1, True)
    asked = cli("search", "nest", "--as-of", "1d", "--tag", "a")
    assert (asked.code, "--as-of goes with" in asked.err) == (2, True)
