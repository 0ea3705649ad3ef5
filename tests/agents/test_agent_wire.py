"""An agent's calls over the socket: its own only, and whoever owns the store."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from synthorg_tui import __version__
from synthorg_tui.agents.models import (
    AgentIdentity,
    AgentRefusedError,
    ServedHint,
    SkillNotFoundError,
)
from synthorg_tui.agents.tools import REPORT_OUTCOME
from synthorg_tui.engine import Engine
from synthorg_tui.host import endpoint
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.host.calls import AGENT_CALLS, CALLS
from synthorg_tui.host.client import connect
from synthorg_tui.host.errors import RefusedError
from synthorg_tui.host.owner import SKILLS, Owner
from synthorg_tui.learning.actions import AgentAction
from synthorg_tui.settings.root import RootConfig
from tests.patience import PATIENCE, until
from tests.tables import rows

SETTINGS_DATA = {"memory": {"level": "persistent", "retrieval": {"strategy": "self_editing"}}}
SETTINGS = RootConfig.model_validate(SETTINGS_DATA)
ADA = AgentIdentity("ada", project="/srv/tidepool", client="test 1")


@asynccontextmanager
async def owned(data_dir: Path) -> AsyncIterator[tuple[Engine, Owner]]:
    async with Engine.open(SETTINGS, data_dir=data_dir) as engine:
        owner = Owner(engine, data_dir=data_dir, kind="app")
        await owner.start()
        try:
            yield engine, owner
        finally:
            await owner.stop()


async def remember(agent: AgentConnection, content: str) -> str:
    reply = await agent.call("archival_memory_write", {"content": content, "category": "semantic"})
    assert not reply.is_error, reply.content
    return reply.content


async def hello(data_dir: Path, agent: Any) -> dict[str, Any]:
    reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(data_dir))
    params = {"version": __version__, "role": "test", "agent": agent}
    message = {"jsonrpc": "2.0", "id": 1, "method": "host.hello", "params": params}
    writer.write(json.dumps(message).encode() + b"\n")
    answer: dict[str, Any] = json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))
    writer.close()
    return answer


async def test_an_agent_works_over_the_wire_as_in_the_process(tmp_path: Path) -> None:
    async with owned(tmp_path) as (engine, _):
        agent = AgentConnection(tmp_path, ADA)
        assert {each.name for each in await agent.tools()} >= {"core_memory_read", "list_skills"}
        await remember(agent, "The staging database listens on port 6543.")
        found = await agent.call("archival_memory_search", {"query": "staging database"})
        assert "6543" in found.content
        assert await agent.skills() == ()
        call = AgentAction("Bash", "git push", error="fatal: no upstream", project="/srv/other")
        assert await agent.hint("after", call, subagent="one") == ServedHint()
        with pytest.raises(SkillNotFoundError):
            await agent.read_skill("../../etc/passwd")
        (session,) = engine.gateway.sessions
        assert session.identity == ADA
        await agent.close()


async def test_an_agents_session_cannot_have_the_owner_leave(tmp_path: Path) -> None:
    asked: list[bool] = []
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        owner = Owner(
            engine, data_dir=tmp_path, kind="headless", on_yield=lambda: asked.append(True)
        )
        await owner.start()
        agent = await connect(tmp_path, role="bridge", agent=ADA)
        with pytest.raises(RefusedError, match="an agent's session"):
            await agent.ask_to_leave()
        assert asked == []
        await agent.close()
        person = await connect(tmp_path, role="app")
        await person.ask_to_leave()
        await person.close()
        await owner.stop()
    assert asked == [True]


async def test_a_client_that_leaves_takes_its_session_along(tmp_path: Path) -> None:
    async with owned(tmp_path) as (engine, owner):
        agent = AgentConnection(tmp_path, ADA)
        await agent.tools()
        await agent.close()
        await asyncio.wait_for(owner.idle.wait(), PATIENCE)
        assert engine.gateway.sessions == ()


async def test_an_agent_can_make_no_call_of_a_person(tmp_path: Path) -> None:
    """Every call there is for a person's programs, tried as an agent."""
    async with owned(tmp_path):
        reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(tmp_path))
        codes = set()
        greeting = {"version": __version__, "agent": {"agent_id": "ada"}}
        for number, (method, params) in enumerate(
            [("host.hello", greeting), *((name, {}) for name in CALLS)]
        ):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            writer.write(json.dumps(message).encode() + b"\n")
            answer = json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))
            if method != "host.hello":
                codes.add(answer["error"]["code"])
        writer.close()
    assert codes == {-32601}


async def test_an_agent_can_not_become_somebody_else_on_its_connection(tmp_path: Path) -> None:
    async with owned(tmp_path) as (engine, _):
        reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(tmp_path))
        for number, agent in enumerate(({"agent_id": "ada"}, {"agent_id": "bob"}, None)):
            params = {"version": __version__, "agent": agent}
            message = {"jsonrpc": "2.0", "id": number, "method": "host.hello", "params": params}
            writer.write(json.dumps(message).encode() + b"\n")
            await asyncio.wait_for(reader.readline(), PATIENCE)
        assert [each.identity.agent_id for each in engine.gateway.sessions] == ["ada"]
        writer.close()


@rows(
    "agent",
    [
        "ada",
        {},
        {"agent_id": 5},
        {"agent_id": ""},
        {"agent_id": "ada", "rights": "all"},
        {"agent_id": "ada", "project": ["/"]},
        {"agent_id": "x" * 10_000},
        {"agent_id": "ada", "read_only": "no"},
        {"agent_id": True},
        {"agent_id": "__synthorg_shared__"},
    ],
)
async def test_an_identity_that_can_not_be_is_refused(tmp_path: Path, agent: Any) -> None:
    async with owned(tmp_path):
        assert "error" in await hello(tmp_path, agent)


async def test_who_says_that_it_only_reads_is_held_to_it_by_the_owner(tmp_path: Path) -> None:
    async with owned(tmp_path) as (engine, _):
        agent = AgentConnection(tmp_path, AgentIdentity("ada", read_only=True))
        offered = {each.name for each in await agent.tools()}
        reply = await agent.call(REPORT_OUTCOME, {"task": "x", "outcome": "completed"})
        (record,) = await engine.gateway.calls()
        await agent.close()
    assert REPORT_OUTCOME not in offered
    assert "only read" in reply.content
    assert record.is_error


def test_nothing_that_can_be_called_decides() -> None:
    """What waits can be read by a person's programs; a decision is no call, for nobody."""
    parts = {"approvals", "reviews"}
    readable = {name for name in CALLS if name.partition(".")[0] in parts}
    assert not {name for name in readable if CALLS[name].changes}
    assert not parts & {name.partition(".")[0] for name in AGENT_CALLS}
    takes_a_person = [
        name for name, call in {**CALLS, **AGENT_CALLS}.items() if "person" in call.parameters
    ]
    assert takes_a_person == []
    verbs = {
        "approve",
        "approve_many",
        "reject",
        "snooze",
        "undo",
        "retire",
        "set_paused",
        "set_read_only",
        "open",
    }
    # A change of memories or settings is undone with no more rights than it was made with: a safety
    # setting that is looser than agreed waits for a person's yes either way.
    names = {*CALLS, *AGENT_CALLS} - {"desk.undo", "consolidation.undo", "kept.undo"}
    assert not verbs & {name.partition(".")[2] for name in names}


async def test_a_paused_agent_is_told_so(tmp_path: Path) -> None:
    async with owned(tmp_path) as (engine, _):
        await engine.gateway.set_paused("ada", True)
        agent = AgentConnection(tmp_path, ADA)
        with pytest.raises(AgentRefusedError, match="paused"):
            await agent.digest("anything")
        await agent.close()


async def test_agents_hear_that_the_skills_changed_and_of_nothing_else(tmp_path: Path) -> None:
    heard: list[str] = []
    async with owned(tmp_path) as (engine, _):
        agent = AgentConnection(tmp_path, ADA, on_event=lambda topic, _: heard.append(topic))
        await remember(agent, "a thought")
        engine.events.emit(SKILLS)
        await until(lambda: heard)
        await agent.close()
    assert heard == [SKILLS]


async def test_an_agent_goes_on_with_the_next_owner(tmp_path: Path) -> None:
    """The owner is killed; the next call starts another, which has all that was acknowledged."""
    config = tmp_path / "company.yaml"
    config.write_text(json.dumps(SETTINGS_DATA))
    agent = AgentConnection(tmp_path / "data", ADA, config_path=config, patience=PATIENCE)
    written = [await remember(agent, f"thought number {number}") for number in range(5)]
    first = (await agent.open()).owner.pid
    os.kill(first, signal.SIGKILL)
    again = [await remember(agent, f"thought number {number}") for number in range(5)]
    assert (await agent.open()).owner.pid != first
    assert again == written  # a write that is repeated is the same memory
    await agent.close()
