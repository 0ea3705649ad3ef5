"""``agents``: what a person sees of them, takes from them, gives back and takes back."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui.agents.models import AgentIdentity, AgentRights, CallReply
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.core.actors import AGENT_MARKS
from synthorg_tui.engine import Engine
from synthorg_tui.host.calls import AGENT_CALLS, CALLS
from synthorg_tui.host.client import connect, remote_engine
from synthorg_tui.host.errors import OwnerGoneError
from synthorg_tui.host.owner import Owner
from synthorg_tui.host.wire import MethodNotFoundError
from synthorg_tui.memory.extensions import BrowseFilter
from synthorg_tui.settings.root import RootConfig
from tests.cli.cli_kit import Cli, documented, move_home, runner
from tests.ingest.agent_kit import GeminiSession

SETTINGS = RootConfig.model_validate(
    {"memory": {"level": "persistent", "retrieval": {"strategy": "self_editing"}}}
)
LESSON = {"content": "The staging database listens on port 6543.", "category": "semantic"}


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    move_home(monkeypatch, tmp_path)
    for mark in AGENT_MARKS:
        monkeypatch.delenv(mark, raising=False)
    return runner(tmp_path / "data", capsys)


def test_the_places_of_known_agents_are_listed_with_what_they_hold(
    cli: Cli, tmp_path: Path
) -> None:
    before = cli("agents", "readers")
    assert before.code == 0
    assert re.search(r"^codex +- +- +- +\S+/sessions +samples", before.out, re.MULTILINE)
    path = GeminiSession().story().write(tmp_path / GeminiSession.file)
    shown = cli("agents", "readers")
    assert re.search(r"^gemini +1 +\d kB +- +\S+/tmp +the source", shown.out, re.MULTILINE)
    places = cli("agents", "readers", "--json").json["places"]
    (found,) = [place for place in places if place["files"]]
    assert (found["reader"], found["bytes"]) == ("gemini", path.stat().st_size)
    assert documented("agents readers")["places"][0].keys() == found.keys()


def test_an_agent_is_shown_with_its_place_its_rights_and_whom_its_lessons_reach(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "company.yaml"
    file.write_text(
        "agents:\n  - {id: ada, role: Developer, seniority: lead, retrieval: {max_memories: 5}}\n"
        "  - {id: bob, role: Developer}\n"
    )
    monkeypatch.setenv("SYNTHORG_CONFIG", str(file))
    cli("memories", "add", "--agent", "zoe", "Herons wait.")
    cli("agents", "pause", "ada")
    ada = cli("agents", "show", "ada", "--json").json
    assert ada.keys() == documented("agents show").keys()
    assert (ada["role"], ada["seniority"], ada["paused"]) == ("Developer", "lead", True)
    assert ada["own_settings"] == ["retrieval.max_memories = 5"]
    assert ada["reach"]["role"] == ["ada", "bob"]
    assert ada["reach"]["org"] == ["ada", "bob", "zoe"]
    assert ada["last_seen"] is None
    zoe = cli("agents", "show", "zoe", "--json").json
    assert (zoe["declared"], zoe["memories"], zoe["seniority"]) == (False, 1, None)
    assert "max_memories = 5" in cli("agents", "show", "ada").out
    unknown = cli("agents", "show", "eve")
    assert unknown.code == 2
    assert "agents" in unknown.err


def test_records_that_no_reader_knows_are_named_and_never_fatal(cli: Cli, tmp_path: Path) -> None:
    story = GeminiSession().story()
    path = story.write(tmp_path / GeminiSession.file)
    with path.open("a") as stream:
        stream.write(json.dumps({"id": "x", "type": "hologram"}) + "\n")
        stream.write(json.dumps({"id": "y", "type": "evil\x1b[31m name"}) + "\n")
    assert cli("import").code == 0
    named = r"^gemini .* 2 \(hologram, without a plain name\)"
    assert re.search(named, cli("agents", "readers").out, re.MULTILINE)
    readers = cli("agents", "readers", "--json").json["readers"]
    (gemini,) = [each for each in readers if each["reader"] == "gemini"]
    assert gemini["unknown"] == {"hologram": 1, "without a plain name": 1}
    assert documented("agents readers")["readers"][0].keys() == gemini.keys()
    doctor = cli("doctor")
    assert doctor.code == 0
    assert "records of unknown types: gemini hologram ×1" in doctor.out
    path.write_text(path.read_text().replace("hologram", "info"))
    cli("import")
    assert "hologram" not in cli("doctor").out


def in_store(data_dir: Path, work: Callable[[Engine], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Engine.open(SETTINGS, data_dir=data_dir) as engine:
            await engine.gateway.open()
            return await work(engine)

    return asyncio.run(run())


def ada(engine: Engine) -> AgentSession:
    return engine.gateway.connect(AgentIdentity("ada", client="test 1"))


async def write(engine: Engine) -> CallReply:
    return await ada(engine).call("archival_memory_write", dict(LESSON))


async def memories(engine: Engine) -> int:
    return (await engine.desk.browse(BrowseFilter())).total


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory where ada wrote one memory."""
    in_store(tmp_path / "data", write)
    return tmp_path / "data"


def test_a_call_is_listed_taken_back_and_brought_back(cli: Cli, data: Path) -> None:
    (call,) = cli("agents", "calls", "--json").json["calls"]
    (example,) = documented("agents calls")["calls"]
    assert call.keys() == example.keys()
    assert (call["agent_id"], call["name"], call["wrote"]) == ("ada", "archival_memory_write", True)
    number = str(call["number"])
    undone = cli("agents", "undo", number, "--json").json
    assert undone.keys() == documented("agents undo").keys()
    assert (undone["memory_ids"], undone["restored"]) == (call["memory_ids"], False)
    assert in_store(data, memories) == 0
    assert "Brought back 1 memory of ada." in cli("agents", "undo", number).out
    assert in_store(data, memories) == 1


def test_calls_are_found_by_agent_and_text(cli: Cli, data: Path) -> None:
    assert "ada" in cli("agents", "calls", "--agent", "ada", "--text", "PORT 6543").out
    assert cli("agents", "calls", "--agent", "bob").out == "No calls.\n"
    assert cli("agents", "calls", "--text", "no such word", "--json").json == {"calls": []}


def test_a_call_that_is_not_there_is_not_taken_back(cli: Cli, data: Path) -> None:
    result = cli("agents", "undo", "99")
    assert result.code == 1
    assert "There is no call 99 on record" in result.err


def test_what_is_taken_from_an_agent_holds_and_is_listed(cli: Cli, data: Path) -> None:
    paused = cli("agents", "pause", "ada", "--json").json
    assert paused == {"agent_id": "ada", "paused": True, "read_only": False}
    assert paused.keys() == documented("agents pause").keys()
    assert cli("agents", "read-only", "ada").code == 0
    listed = cli("agents", "--json").json
    assert listed["restricted"] == [{"agent_id": "ada", "paused": True, "read_only": True}]
    assert "ada is paused" in cli("agents").err
    assert "paused this agent" in in_store(data, write).content
    assert cli("agents", "resume", "ada").out == "ada may only read.\n"
    assert "may only read" in in_store(data, write).content
    assert cli("agents", "read-only", "ada", "off").out == "ada may read and write.\n"
    assert not in_store(data, write).is_error
    assert cli("agents", "--json").json["restricted"] == []


def test_a_mistyped_agent_is_mentioned(cli: Cli, data: Path) -> None:
    assert "no agent named adda was here yet" in cli("agents", "pause", "adda").err
    assert "was here yet" not in cli("agents", "pause", "ada").err


@pytest.mark.parametrize(
    "arguments", [("resume", "ada"), ("read-only", "ada", "off"), ("undo", "1")]
)
class TestGivingBack:
    def test_an_agents_environment_is_refused(
        self,
        cli: Cli,
        data: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: tuple[str, ...],
    ) -> None:
        cli("agents", "pause", "ada")
        cli("agents", "read-only", "ada")
        monkeypatch.setenv("CLAUDECODE", "1")
        result = cli("agents", *arguments)
        assert result.code != 0
        assert "only a person decides" in result.err
        listed = cli("agents", "--json").json
        assert listed["restricted"] == [{"agent_id": "ada", "paused": True, "read_only": True}]
        assert in_store(data, memories) == 1

    def test_it_is_refused_where_the_command_line_decides_nothing(
        self,
        cli: Cli,
        data: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: tuple[str, ...],
    ) -> None:
        monkeypatch.setenv("SYNTHORG__APPROVALS__ALLOW_CLI", "false")
        assert "allow_cli is off" in cli("agents", *arguments).err
        assert in_store(data, memories) == 1


def test_an_agents_environment_shuts_no_agent_out(
    cli: Cli, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    for command in (("pause", "ada"), ("read-only", "ada"), ("disconnect", "ada")):
        refused = cli("agents", *command)
        assert refused.code == 1
        assert "only a person decides: it shuts agents out or lets them in" in refused.err
    assert cli("agents", "--json").json["restricted"] == []


@asynccontextmanager
async def owned(data_dir: Path) -> AsyncIterator[tuple[Engine, Any]]:
    """An owner's engine, and the same as a person's program has it over the socket."""
    async with Engine.open(SETTINGS, data_dir=data_dir) as engine:
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            async with remote_engine(data_dir, SETTINGS, role="command") as remote:
                yield engine, remote
        finally:
            await owner.stop()


async def test_the_same_holds_over_the_socket(tmp_path: Path) -> None:
    async with owned(tmp_path) as (engine, remote):
        await write(engine)
        (call,) = await remote.gateway.calls(limit=5)
        assert (call.agent_id, call.wrote) == ("ada", True)
        undone = await remote.gateway.undo_call(call.number, actor="person")
        assert (undone.memory_ids, undone.restored) == (call.memory_ids, False)
        assert await memories(engine) == 0
        await remote.gateway.restrict("ada", paused=True)
        assert engine.gateway.rights("ada").paused
        assert await remote.gateway.restrictions() == {"ada": AgentRights(paused=True)}
        await remote.gateway.restrict("ada", paused=False, read_only=True)
        assert engine.gateway.rights("ada") == AgentRights(paused=True, read_only=True)
        assert (await write(engine)).is_error


def test_nothing_is_given_back_over_the_socket() -> None:
    for method in ("set_paused", "set_read_only", "resume"):
        assert CALLS.get(f"gateway.{method}") is None


async def test_a_connected_agent_is_disconnected_and_can_call_none_of_this(tmp_path: Path) -> None:
    async with owned(tmp_path) as (_, remote):
        agent = await connect(tmp_path, role="agent", agent=AgentIdentity("ada"))
        for call, args in (("undo_call", (1,)), ("calls", ()), ("hang_up", ("bob",))):
            with pytest.raises(MethodNotFoundError):
                await agent.call(
                    CALLS[f"gateway.{call}"], args, {"actor": "x"} if args == (1,) else {}
                )
        assert await remote.gateway.hang_up("bob") == 0
        assert await remote.gateway.hang_up("ada") == 1
        await agent.close()
        with pytest.raises(OwnerGoneError):
            await agent.call(AGENT_CALLS["agent.tools"], (), {})


def test_hints_are_silenced_listed_and_allowed_again(cli: Cli, data: Path) -> None:
    assert cli("hints").out == "Nothing is silenced.\n"
    done = cli("hints", "silence", "command", "git  push", "--json").json
    assert (done["kind"], done["subject"]) == ("command", "git push")
    assert done.keys() == documented("hints silence").keys()
    assert cli("hints", "silence", "project", "/srv/shop/").code == 0
    listed = cli("hints", "--json").json
    assert listed.keys() == documented("hints").keys()
    assert [each["subject"] for each in listed["silenced"]] == ["/srv/shop", "git push"]
    assert cli("hints", "unsilence", "command", "git push").out == (
        "Hints again about the command git push.\n"
    )
    again = cli("hints", "unsilence", "command", "git push")
    assert again.code == 1
    assert "are not silenced" in again.err
    assert "git push" not in cli("hints").out
