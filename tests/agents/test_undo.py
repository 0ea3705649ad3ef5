"""An undo reaches the memories of the agent that made the call, and no others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synthorg_tui.agents.audit import AuditTrail
from synthorg_tui.agents.models import CallKind, CallRecord
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.engine import Engine
from synthorg_tui.memory.models import MemoryStoreRequest
from synthorg_tui.persistence.lock import own_database
from synthorg_tui.settings.root import RootConfig

SETTINGS = RootConfig.model_validate({"memory": {"level": "persistent"}})
FACT = MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="The port is 6543.")


def record(agent_id: str, *memory_ids: str, name: str = "archival_memory_write") -> CallRecord:
    return CallRecord(
        number=0,
        at=datetime(2026, 1, 31, tzinfo=UTC),
        agent_id=agent_id,
        client="test 1",
        project=None,
        kind=CallKind.TOOL,
        name=name,
        arguments="{}",
        reply="",
        is_error=False,
        tokens=0,
        milliseconds=0.0,
        memory_ids=memory_ids,
        wrote=True,
    )


@asynccontextmanager
async def recorded(data_dir: Path) -> AsyncIterator[tuple[Engine, AuditTrail]]:
    """An engine and the record of its calls, which a test fills."""
    async with (
        own_database(data_dir) as database,
        Engine.open(SETTINGS, data_dir=data_dir, database=database) as engine,
    ):
        yield engine, AuditTrail(database, keep=100)


async def test_a_record_that_names_anothers_memory_takes_nothing_back(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (engine, trail):
        theirs = await engine.memory.store("ada", FACT)
        call = await trail.add(record("bob", theirs))
        with pytest.raises(DomainError):
            await engine.gateway.undo_call(call.number, actor="person")
        assert await engine.memory.get("ada", theirs) is not None


async def test_of_a_mixed_record_only_the_agents_own_memory_goes(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (engine, trail):
        theirs = await engine.memory.store("ada", FACT)
        own = await engine.memory.store("bob", FACT)
        call = await trail.add(record("bob", theirs, own, own[:8], "no-such-memory"))
        undone = await engine.gateway.undo_call(call.number, actor="person")
        assert (undone.memory_ids, undone.restored) == ((own,), False)
        assert await engine.memory.get("ada", theirs) is not None
        assert await engine.memory.get("bob", own) is None


async def test_what_was_brought_back_already_stays(tmp_path: Path) -> None:
    async with recorded(tmp_path) as (engine, trail):
        own = await engine.memory.store("bob", FACT)
        call = await trail.add(record("bob", own, name="synthorg_memory_delete_entry"))
        with pytest.raises(DomainError, match="brought back already"):
            await engine.gateway.undo_call(call.number, actor="person")
        await engine.memory.delete("bob", own)
        assert (await engine.gateway.undo_call(call.number, actor="person")).restored
        assert await engine.memory.get("bob", own) is not None
