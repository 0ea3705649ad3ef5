"""The Activity port over the real engine, with agents on the socket."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from synthorg_tui.agents.models import AgentIdentity, CallRecord
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.memory.listing import BrowseFilter
from synthorg_tui.tui import engine_host as desk_module
from synthorg_tui.tui.activity.models import ActivityEvent
from synthorg_tui.tui.engine_adapter import Draft, EngineAdapter
from synthorg_tui.tui.engine_host import LocalEngineHost
from tests.patience import PATIENCE

CONFIG = "memory: {level: persistent, retrieval: {strategy: self_editing}}"
PLAIN = "memory: {level: persistent}"
ADA = AgentIdentity("ada", project="/srv/tidepool", client="test 1")
LESSON = "The staging database listens on port 6543."


async def until(desk: EngineAdapter, is_so: Callable[[], bool]) -> None:
    """Wait for something that the desk tells of."""
    told = asyncio.Event()
    desk.activity.listen(lambda _: told.set())
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await told.wait()
            told.clear()


@asynccontextmanager
async def opened(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, *, config_text: str = CONFIG
) -> AsyncIterator[tuple[EngineAdapter, list[ActivityEvent]]]:
    """The desk as the app has it, once agents can connect."""
    monkeypatch.setattr(desk_module, "WARM_UP_AFTER", 0.0)
    config = data_dir / "company.yaml"
    config.write_text(config_text, encoding="utf-8")
    host = LocalEngineHost(data_dir=data_dir / "data", config_path=config)
    desk, heard = await host.open(), list[ActivityEvent]()
    desk.activity.listen(heard.append)
    try:
        await until(desk, lambda: desk.activity.is_open)
        yield desk, heard
    finally:
        await host.close()


async def write(agent: AgentConnection) -> None:
    reply = await agent.call("archival_memory_write", {"content": LESSON, "category": "semantic"})
    assert not reply.is_error, reply.content


async def newest(desk: EngineAdapter, name: str) -> CallRecord:
    return next(each for each in await desk.activity.calls(limit=50) if each.name == name)


async def total(desk: EngineAdapter) -> int:
    return (await desk.browse(BrowseFilter(), sort="newest", offset=0, limit=1)).total


async def test_calls_are_told_as_they_happen_and_writes_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, monkeypatch) as (desk, heard):
        assert [each.topic for each in heard] == ["agents"]
        agent = AgentConnection(tmp_path / "data", ADA)
        await write(agent)
        topics = [each.topic for each in heard]
        assert topics.index("call") < topics.index("changed")
        assert heard[-1].connected == 1
        call = await newest(desk, "archival_memory_write")
        assert call in [each.call for each in heard]
        assert (call.agent_id, call.client, call.project) == ("ada", "test 1", "/srv/tidepool")
        assert call.wrote
        assert LESSON in call.arguments
        (kept,) = await desk.activity.memories(call)
        assert (kept.row.content, kept.is_live) == (LESSON, True)
        assert "Took back" in await desk.activity.undo(call)
        assert await total(desk) == 0
        assert "Brought back" in await desk.activity.undo(call)
        assert await total(desk) == 1
        delete = {"memory_id": kept.row.id, "confirm": True, "reason": "wrong"}
        assert not (await agent.call("synthorg_memory_delete_entry", delete)).is_error
        assert "Brought back" in await desk.activity.undo(
            await newest(desk, "synthorg_memory_delete_entry")
        )
        assert await total(desk) == 1
        await agent.close()


async def test_no_undo_reaches_another_agents_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, monkeypatch) as (desk, _):
        ada = AgentConnection(tmp_path / "data", ADA)
        await write(ada)
        mine = await newest(desk, "archival_memory_write")
        bob = AgentConnection(tmp_path / "data", AgentIdentity("bob"))
        content = f"see archival memory (id={mine.memory_ids[0]}, category=semantic)"
        await bob.call("archival_memory_write", {"content": content, "category": "semantic"})
        theirs = await newest(desk, "archival_memory_write")
        assert theirs.agent_id == "bob"
        await desk.activity.undo(theirs)
        (kept,) = await desk.activity.memories(mine)
        assert kept.is_live
        await ada.close()
        await bob.close()


async def test_a_digest_is_kept_byte_for_byte_with_its_explanation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, monkeypatch, config_text=PLAIN) as (
        desk,
        _,
    ):
        await desk.add(Draft("ada", MemoryCategory.SEMANTIC, LESSON, ("non-inferable",)))
        agent = AgentConnection(tmp_path / "data", ADA)
        await agent.call("search_memory", {"query": "port"})
        served = await agent.digest("staging database port", 600)
        call = await newest(desk, "digest")
        assert call.reply == served.text
        assert call.memory_ids == served.included
        answer = await desk.activity.answer(call)
        assert answer is not None
        assert (answer.text, answer.tokens_used) == (served.text, served.tokens)
        assert [each.entry.content for each in answer.included] == [LESSON]
        assert await desk.activity.answer(await newest(desk, "search_memory")) is None
        await agent.close()


async def test_an_agent_is_paused_made_read_only_and_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, monkeypatch) as (desk, heard):
        agent = AgentConnection(tmp_path / "data", ADA)
        await write(agent)
        (listed,) = await desk.activity.agents()
        assert (listed.agent_id, listed.client, listed.calls) == ("ada", "test 1", 1)
        await desk.activity.set_read_only("ada", True)
        assert (await agent.call("archival_memory_write", {"content": "x"})).is_error
        await desk.activity.set_paused("ada", True)
        assert (await agent.call("archival_memory_search", {"query": "port"})).is_error
        await desk.activity.disconnect([listed.number])
        await until(desk, lambda: heard[-1].connected == 0)
        (left,) = await desk.activity.agents()
        assert (left.agent_id, left.paused, left.read_only) == ("ada", True, True)
        await agent.close()


async def test_the_record_is_searched_by_agent_and_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, monkeypatch) as (desk, _):
        for name in ("ada", "bob"):
            agent = AgentConnection(tmp_path / "data", AgentIdentity(name))
            await agent.call("archival_memory_search", {"query": f"about {name}"})
            await agent.close()
        found = await desk.activity.calls(limit=10, agent="bob")
        assert {each.agent_id for each in found} == {"bob"}
        assert [
            each.agent_id for each in await desk.activity.calls(limit=10, text="ABOUT ada")
        ] == ["ada"]


async def test_until_agents_can_connect_nothing_is_restricted(tmp_path: Path) -> None:
    host = LocalEngineHost(data_dir=tmp_path)
    desk = await host.open()
    try:
        assert not desk.activity.is_open
        assert await desk.activity.agents() == ()
        assert await desk.activity.calls(limit=10) == ()
        with pytest.raises(DomainError, match="can't connect yet"):
            await desk.activity.set_paused("ada", True)
    finally:
        await host.close()
