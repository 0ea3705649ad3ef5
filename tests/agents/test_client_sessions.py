"""Memories of a session: which connections share them, and when they end."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.agents.client_sessions import ACTOR, MAX_UNUSED, ancestors
from synthorg_tui.agents.models import AgentIdentity
from synthorg_tui.agents.session import AgentSession
from synthorg_tui.engine import Engine
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock

SETTINGS = RootConfig.model_validate(
    {"memory": {"level": "session", "retrieval": {"strategy": "self_editing"}}}
)
NOTE = {"content": "The lighthouse has seven lamps.", "category": "semantic"}
ASKED = {"query": "lighthouse lamps"}
ME = os.getpid()


def hook(engine: Engine, session_id: str, *, pid: int = ME, agent: str = "ada") -> AgentSession:
    identity = AgentIdentity(agent, project="/srv/a", session_id=session_id)
    return engine.gateway.connect(identity, pid=pid)


def program(engine: Engine, own: str, *, pid: int = ME, agent: str = "ada") -> AgentSession:
    """A connection that isn't told which session it is in, as over MCP."""
    identity = AgentIdentity(agent, project="/srv/a", own_session=own)
    return engine.gateway.connect(identity, pid=pid)


async def knows(session: AgentSession) -> bool:
    return "lamps" in (await session.call("archival_memory_search", ASKED)).content


async def test_what_is_written_over_mcp_is_of_the_session_that_the_hooks_name(
    tmp_path: Path,
) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        await hook(engine, "s1").digest("hello")
        written = await program(engine, "x").call("archival_memory_write", NOTE)
        assert not written.is_error
        assert await knows(hook(engine, "s1"))
        assert await knows(program(engine, "another connection"))
        assert not await knows(hook(engine, "s2"))
        assert not await knows(hook(engine, "s1", agent="bob"))


async def test_a_connection_follows_its_program_into_its_next_session(tmp_path: Path) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        connection = program(engine, "x")
        await hook(engine, "s1").digest("hello")
        await connection.call("archival_memory_write", NOTE)
        await hook(engine, "s1").end_session()
        await hook(engine, "s2").digest("hello")
        assert not await knows(connection)
        await connection.call("archival_memory_write", NOTE)
        assert await knows(hook(engine, "s2"))


async def test_a_connection_without_hooks_has_a_session_of_its_own(tmp_path: Path) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        await hook(engine, "s1").digest("hello")
        alone = program(engine, "own", pid=1)  # nothing that the hook's process descends from
        other = AgentIdentity("ada", project="/srv/b", own_session="own")
        await engine.gateway.connect(other).call("archival_memory_write", NOTE)
        assert await knows(engine.gateway.connect(other))
        assert not await knows(hook(engine, "s1"))
        assert not await knows(program(engine, "own two"))
        assert alone.identity.session_id is None


async def test_at_its_end_the_memories_of_a_session_are_deleted_and_the_history_says_why(
    tmp_path: Path,
) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        for name in ("s1", "s2"):
            await hook(engine, name).call("archival_memory_write", NOTE)
        assert await hook(engine, "s1").end_session() == 1
        assert not await knows(hook(engine, "s1"))
        assert await knows(hook(engine, "s2"))
        (deleted,) = (await engine.desk.browse(BrowseFilter(deleted=True))).entries
        assert [change.actor for change in await engine.desk.history(deleted.id)] == [ACTOR, "ada"]
        assert await hook(engine, "s1").end_session() == 0
        assert await program(engine, "x").end_session() == 0


@pytest.mark.parametrize(("more", "left"), [(0, 1), (1, 0)])
async def test_without_an_end_they_are_deleted_a_day_after_the_last_use(
    tmp_path: Path, clock: FixedClock, more: int, left: int
) -> None:
    used = clock.now() + timedelta(hours=5)
    async with Engine.open(SETTINGS, data_dir=tmp_path, clock=clock) as engine:
        await hook(engine, "s1").call("archival_memory_write", NOTE)
        clock.advance(hours=5)
        await hook(engine, "s1").digest("hello")
    clock.advance(seconds=(used + MAX_UNUSED - clock.now()).total_seconds() + more)
    async with Engine.open(SETTINGS, data_dir=tmp_path, clock=clock) as engine:
        await engine.gateway.open()
        assert (await engine.desk.browse(BrowseFilter())).total == left


async def test_a_session_is_known_to_the_next_owner(tmp_path: Path) -> None:
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        await hook(engine, "s1").digest("hello")
        await program(engine, "x").call("archival_memory_write", NOTE)
    async with Engine.open(SETTINGS, data_dir=tmp_path) as engine:
        await engine.gateway.open()
        assert await knows(program(engine, "x"))
        assert await knows(hook(engine, "s1"))


async def test_memories_that_reach_further_than_a_session_outlive_it(tmp_path: Path) -> None:
    settings = RootConfig.model_validate(
        {"memory": {"level": "project", "retrieval": {"strategy": "self_editing"}}}
    )
    async with Engine.open(settings, data_dir=tmp_path) as engine:
        await hook(engine, "s1").call("archival_memory_write", NOTE)
        assert await hook(engine, "s1").end_session() == 0
        assert await knows(hook(engine, "s2"))


def test_processes_are_named_by_id_and_start_without_the_process_itself() -> None:
    found = ancestors(ME)
    assert all(part.split(":")[1].isdigit() for part in found)
    assert str(ME) not in [part.split(":")[0] for part in found]
    assert ancestors(2**22 + 1) == ()
