"""``config set`` and its kin: with no app open, beside one, by a person and by an agent."""

import asyncio
from pathlib import Path

import pytest

from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import Owner
from synthorg_tui.settings.loader import load_settings
from tests.cli.cli_kit import Cli, documented, move_home, runner

MOST = "memory.retrieval.max_memories"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    move_home(monkeypatch, home)
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    return home


@pytest.fixture
def cli(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return runner(tmp_path / "data", capsys)


def test_a_changed_setting_holds_is_explained_listed_and_undone(cli: Cli) -> None:
    done = cli("config", "set", MOST, "7", "--json")
    assert done.code == 0
    assert done.json.keys() == documented("config set").keys()
    assert (done.json["after"], done.json["takes"]) == ("7", "now")
    assert cli("config", "show", "--json").json["memory"]["retrieval"]["max_memories"] == 7
    (explained,) = cli("config", "explain", MOST, "--json").json["settings"]
    assert explained["source"] == "kept in the app"
    changes = cli("config", "changes", "--json").json
    assert changes["changes"][0].keys() == documented("config changes")["changes"][0].keys()
    assert cli("config", "undo").out == f"{MOST}: not set here any more; it holds now.\n"
    assert cli("config", "undo").code == 1
    assert cli("config", "redo").out == f"{MOST}: 7; it holds now.\n"
    assert cli("config", "unset", MOST).code == 0
    assert cli("config", "unset", MOST).code == 2


def test_a_value_that_cannot_be_names_what_is_allowed(cli: Cli) -> None:
    refused = cli("config", "set", MOST, "700")
    assert (refused.code, refused.out) == (2, "")
    assert "700 is not allowed; allowed: whole number from 1 to 100" in refused.err
    assert cli("config", "changes", "--json").json == {"changes": []}


def test_a_switch_is_turned_off_and_on(cli: Cli) -> None:
    assert "memory.procedural.enabled: false" in cli("config", "off", "learning").out
    assert cli("config", "off", "learning").out == "learning is off already.\n"
    listed = cli("config", "off", "--json").json["switches"]
    assert listed[0] == documented("config off")["switches"][0]
    assert {each["switch"]: each["on"] for each in listed}["learning"] is False
    assert cli("config", "on", "learning").code == 0
    assert cli("config", "on", "learning").out == "learning is on already.\n"
    assert cli("config", "on", "injection", "--json").json == documented("config on")
    assert "There are injection, learning" in cli("config", "off", "nonsense").err


def test_a_looser_safety_setting_waits_and_says_where_it_was_set(cli: Cli) -> None:
    assert (
        "looser than what you agreed to"
        in cli("config", "set", "approvals.review", "uncertain").out
    )
    shown = cli("config", "show", "--json")
    assert shown.json["approvals"]["review"] == "all"
    assert "uncertain kept in the app is not taken yet; all holds" in shown.err


def test_an_agents_command_changes_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    for command in (("set", MOST, "7"), ("off", "writes"), ("undo",), ("redo",), ("unset", MOST)):
        refused = cli("config", *command)
        assert refused.code != 0
        assert "only a person decides" in refused.err


async def test_beside_an_open_app_its_services_take_the_change(cli: Cli, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with Engine.open(load_settings(environ={}), data_dir=data_dir) as engine:
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            told = await asyncio.to_thread(cli, "config", "set", MOST, "7")
            waits = await asyncio.to_thread(cli, "config", "set", "jobs.packing", "never")
        finally:
            await owner.stop()
        assert told.out == f"{MOST}: 7; it holds now.\n"
        assert waits.out.endswith("it holds from the next start of the app on.\n")
        assert engine.settings.memory.retrieval.max_memories == 7
