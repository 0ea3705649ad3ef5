"""The engine as programs use it: one ``async with``, everything wired."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.agents.gateway import AgentGateway
from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.engine import Engine
from synthorg_tui.memory.errors import MemoryCapabilityError, MemoryStoreError
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.settings.root import RootConfig
from tests.conftest import FixedClock
from tests.disk_kit import disk_of
from tests.ingest.transcript_kit import ClaudeTranscript
from tests.patience import PATIENCE, until

FACT = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC, content="The staging database listens on port 6543."
)


def settings(**memory: object) -> RootConfig:
    return RootConfig.model_validate({"memory": {"level": "persistent"} | memory})


async def test_a_stored_memory_is_found_after_reopening(tmp_path: Path) -> None:
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        assert isinstance(engine.memory, MemoryBackend)
        stored = await engine.memory.store("builder", FACT)
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        query = MemoryQuery(text="which port does the staging database use?")
        found = await engine.memory.retrieve("builder", query)
    assert [entry.id for entry in found] == [stored]


async def test_a_data_directory_has_one_owner(tmp_path: Path) -> None:
    async with Engine.open(settings(), data_dir=tmp_path):
        with pytest.raises(StoreLockedError) as refused:
            async with Engine.open(settings(), data_dir=tmp_path):
                pass
    assert refused.value.owner_pid is not None
    async with Engine.open(settings(), data_dir=tmp_path):
        pass


async def test_the_level_of_an_agent_comes_from_the_settings(tmp_path: Path) -> None:
    silent = RootConfig.model_validate({"agents": [{"id": "silent", "level": "none"}]})
    async with Engine.open(silent, data_dir=tmp_path) as engine:
        with pytest.raises(MemoryStoreError, match="level none"):
            await engine.memory.store("silent", FACT)


async def test_agents_are_those_declared_and_those_with_memories(tmp_path: Path) -> None:
    declared = RootConfig.model_validate(
        {"memory": {"level": "persistent"}, "agents": [{"id": "planner", "role": "plans"}]}
    )
    async with Engine.open(declared, data_dir=tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        agents = await engine.agents()
    assert [(a.id, a.declared, a.memories) for a in agents] == [
        ("builder", False, 1),
        ("planner", True, 0),
    ]
    assert {agent.level for agent in agents} == {MemoryLevel.PERSISTENT}


async def test_other_backends_say_that_they_have_no_desk(tmp_path: Path) -> None:
    async with Engine.open(settings(backend="inmemory"), data_dir=tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        with pytest.raises(MemoryCapabilityError):
            _ = engine.desk


async def test_the_backup_of_the_day_is_made_while_the_store_is_open(tmp_path: Path) -> None:
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        failed: list[DomainError] = []
        keeping = asyncio.create_task(engine.keep_backups(failed.append))
        await until(lambda: list(tmp_path.glob("backups/*-daily.duckdb")))
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    assert not failed


@pytest.mark.parametrize(("days", "left"), [(1, 0), (None, 1)])
async def test_sessions_beyond_their_age_are_deleted_while_the_store_is_open(
    tmp_path: Path, days: int | None, left: int
) -> None:
    said = ClaudeTranscript().user("Never push on a Friday.").say("Yes")
    configured = settings(storage={"max_session_days": days})
    clock = FixedClock(datetime(2027, 1, 1, tzinfo=UTC))
    async with Engine.open(configured, data_dir=tmp_path / "data", clock=clock) as engine:
        await engine.imports.run([said.write(tmp_path / "logs" / "session.jsonl")])
        assert await engine.executions.count() == 1
        failed: list[DomainError] = []
        keeping = asyncio.create_task(engine.keep_backups(failed.append))
        await until(lambda: list(tmp_path.glob("data/backups/*-daily.duckdb")))
        async with asyncio.timeout(PATIENCE):
            while await engine.executions.count() > left:
                pass
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        checks = {check.name: check.detail for check in (await engine.maintenance.doctor()).checks}
    assert not failed
    assert ("1 deleted by age, the last on 2027-01-01" in checks["sessions"]) is (left == 0)


async def test_that_no_backup_of_the_day_could_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        await engine.memory.store("builder", FACT)
        disk_of(monkeypatch, free_mib=1)
        told: asyncio.Queue[DomainError] = asyncio.Queue()
        keeping = asyncio.create_task(engine.keep_backups(told.put_nowait))
        async with asyncio.timeout(PATIENCE):
            problem = await told.get()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    assert "MB are free" in problem.message
    assert not list(tmp_path.glob("backups/*"))


async def test_what_was_built_on_use_is_closed_with_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[AgentGateway] = []

    async def close(gateway: AgentGateway) -> None:
        closed.append(gateway)

    monkeypatch.setattr(AgentGateway, "close", close)
    async with Engine.open(settings(), data_dir=tmp_path):
        pass
    assert closed == []
    async with Engine.open(settings(), data_dir=tmp_path) as engine:
        gateway = engine.gateway
        assert engine.gateway is gateway
    assert closed == [gateway]
