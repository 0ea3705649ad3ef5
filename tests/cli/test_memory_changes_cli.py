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
    assert (undone["undone"]["kind"], undone["undone"]["ids"]) == ("edited", [memory_id])
    assert shown(cli, memory_id) == "Otters hold hands."
    redone = cli("memories", "redo", "--json").json
    assert set(redone["redone"]) == set(documented("memories redo")["redone"])
    assert shown(cli, memory_id) == "Otters swim."
    assert cli("memories", "redo", "--json").json == {"redone": None}
    assert 'Undone: editing "Otters swim."' in cli("memories", "undo").out


def test_an_older_version_is_restored_by_its_number(cli: Cli) -> None:
    memory_id = added(cli, "Herons wait.")
    cli("memories", "edit", memory_id, "--content", "Herons fly.")
    first = cli("memories", "history", memory_id, "--json").json["history"][-1]["revision"]
    assert f"{first}  " in cli("memories", "history", memory_id).out
    restored = cli("memories", "restore-version", memory_id, str(first), "--json").json
    assert restored["content"] == shown(cli, memory_id) == "Herons wait."
    missing = cli("memories", "restore-version", memory_id, "999999")
    assert missing.code == 1
    assert "no version 999999" in missing.err


def test_uses_and_what_is_similar_are_told(cli: Cli) -> None:
    memory_id = added(cli, "Storks come back to the same nest on the church every spring.")
    near = added(cli, "Storks come back to the same nest on the church each spring.")
    found = cli("memories", "similar", memory_id, "--json").json
    assert [hit["id"] for hit in found["similar"]] == [near]
    assert set(found["similar"][0]) == set(documented("memories similar")["similar"][0])
    assert near[:8] in cli("memories", "similar", memory_id).out
    assert cli("memories", "uses", memory_id, "--json").json == {"id": memory_id, "uses": []}
    assert "No agent was given it" in cli("memories", "uses", memory_id).err


def test_an_agent_undoes_nothing_of_a_person(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    memory_id = added(cli, "Cranes dance.")
    monkeypatch.setenv("CLAUDECODE", "1")
    for command in (("undo",), ("redo",), ("restore-version", memory_id, "1")):
        assert cli("memories", *command).code != 0
    monkeypatch.delenv("CLAUDECODE")
    assert shown(cli, memory_id) == "Cranes dance."


def fact(cli: Cli, text: str, *options: str) -> str:
    stored = cli("memories", "add", "--agent", "keeper", "--fact-key", "nest", text, *options)
    return stored.out.split()[-1]


def test_a_newer_fact_replaces_the_older_which_says_so(cli: Cli) -> None:
    old = fact(cli, "The nest is on the church.", "--valid-from", "2026-01-01")
    new = fact(cli, "The nest is on the mill.")

    before, after = (cli("memories", "show", key, "--json").json for key in (old, new))

    assert (before["archived_why"], after["archived_why"]) == ("superseded", None)
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


def test_what_is_published_is_listed_withdrawn_and_published_again_by_undo(cli: Cli) -> None:
    memory_id = added(cli, "Lapwings nest on open ground.")
    published = cli("memories", "publish", memory_id[:8], "--json").json
    assert published.keys() == documented("memories publish").keys()
    (copy,) = published["published"]
    assert "published already" in cli("memories", "publish", memory_id).out
    listed = cli("memories", "list", "--shared", "--json").json["memories"]
    assert [(each["id"], each["shared"]) for each in listed] == [(copy, True)]
    retracted = cli("memories", "retract", memory_id, "--json").json
    assert retracted.keys() == documented("memories retract").keys()
    assert retracted == {"retracted": [copy]}
    assert "None is published" in cli("memories", "retract", memory_id).out
    assert shown(cli, memory_id) == "Lapwings nest on open ground."
    cli("memories", "undo")
    assert cli("memories", "list", "--shared", "--json").json["total"] == 1


@pytest.mark.parametrize("act", ["publish", "retract"])
def test_an_agent_neither_publishes_nor_retracts_for_the_person(
    cli: Cli, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_id = added(cli, f"Curlews call at dusk ({act}).")
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = cli("memories", act, memory_id)
    assert refused.code != 0
    monkeypatch.delenv("CLAUDECODE")
    found = cli("memories", "list", "--shared", "--word", "Curlews", "--json").json
    assert found["total"] == 0
