"""The service on the local store with its own archive: nothing is lost, no project is mixed."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.consolidation.service import MemoryConsolidationService
from synthorg_tui.memory.extensions import MemoryDraft
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.store.archive import LocalArchivalStore
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.maintenance import Maintenance
from synthorg_tui.memory.store.policy import UniformPolicy
from tests.conftest import FixedClock
from tests.memory.consolidation.consolidation_kit import (
    AGENT,
    EPISODIC,
    TODAY,
    Agent,
    agent_of,
    made_service,
)
from tests.memory.store.store_kit import opened, request

ARCHIVING: Final = {"archival": {"enabled": True, "age_threshold_days": 30}}


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent_of("local", tmp_path) as made:
        yield made


def local(agent: Agent) -> LocalMemoryBackend:
    assert isinstance(agent.backend, LocalMemoryBackend)
    return agent.backend


def archive_of(agent: Agent) -> LocalArchivalStore:
    return LocalArchivalStore(local(agent).core)


def service(
    backend: LocalMemoryBackend, config: dict[str, object] | None = None
) -> MemoryConsolidationService:
    return made_service(
        ConsolidationConfig.model_validate(ARCHIVING | (config or {})),
        backend=backend,
        archival_store=LocalArchivalStore(backend.core),
    )


async def test_what_is_merged_is_archived_and_comes_back_by_its_id(agent: Agent) -> None:
    old = [await agent.has(f"note {n}", days=40 + n) for n in range(3)]
    young = await agent.has("young", days=1)
    result = await service(local(agent)).run_consolidation(AGENT)
    archive = archive_of(agent)
    assert set(result.removed_ids) == set(old[1:])
    assert result.archived_count == await archive.count(AGENT) == 2
    assert {entry.id for entry in await agent.entries()} == {old[0], young, result.summary_id}
    (index, *_) = result.archival_index
    restored = await archive.restore(AGENT, index.archival_id)
    assert restored is not None
    assert restored.content in await agent.contents()
    assert await archive.count(AGENT) == 1
    assert [e.content for e in await archive.search(AGENT, MemoryQuery(text="note 2"))]


async def test_what_is_above_the_bound_is_archived(agent: Agent) -> None:
    ids = [await agent.has(f"note {n}", days=10 - n) for n in range(4)]
    assert (
        await service(local(agent), {"max_memories_per_agent": 3}).enforce_max_memories(AGENT) == 1
    )
    assert ids[0] not in {entry.id for entry in await agent.entries()}
    (gone,) = await archive_of(agent).search(AGENT, MemoryQuery())
    assert gone.original_id == ids[0]


async def test_what_is_past_its_time_is_archived(agent: Agent) -> None:
    await agent.has("long ago", days=20)
    kept = await agent.has("lately", days=1)
    rules = {"rules": [{"category": "episodic", "retention_days": 7}]}
    assert await service(local(agent), {"retention": rules}).cleanup_retention(AGENT) == 1
    assert {entry.id for entry in await agent.entries()} == {kept}
    assert await archive_of(agent).count(AGENT) == 1


async def test_maintenance_does_all_three_and_the_store_stays_whole(
    agent: Agent, tmp_path: Path
) -> None:
    await agent.has("long ago", days=400)
    for n in range(4):
        await agent.has(f"note {n}", days=40 + n)
    rules = {"rules": [{"category": "episodic", "retention_days": 100}]}
    result = await service(
        local(agent), {"retention": rules, "max_memories_per_agent": 1}
    ).run_maintenance(AGENT)
    assert result.archived_count == 3
    assert len(await agent.entries()) == 1
    assert await archive_of(agent).count(AGENT) == 5
    assert (await Maintenance(local(agent), data_dir=tmp_path).doctor()).ok


async def kept_in(backend: LocalMemoryBackend, project: str | None) -> tuple[str, ...]:
    """Three old memories of a place; their ids."""
    drafts = [
        MemoryDraft(
            request=request(f"{project} note {n}", category=EPISODIC),
            created_at=TODAY - timedelta(days=40 + n),
            level=MemoryLevel.PROJECT if project else MemoryLevel.PERSISTENT,
            project=project,
        )
        for n in range(3)
    ]
    return (await backend.store_many(AGENT, drafts, actor="test")).added


async def test_memories_of_several_projects_are_never_merged_into_one(tmp_path: Path) -> None:
    policy = UniformPolicy(default_level=MemoryLevel.PROJECT)
    async with opened(tmp_path, clock=FixedClock(TODAY), policy=policy) as backend:
        shop, mail = await kept_in(backend, "/src/shop"), await kept_in(backend, "/src/mail")
        everywhere = await kept_in(backend, None)

        result = await service(backend).run_consolidation(AGENT)
        assert result.removed_ids == (), "none is given where a text of this view would be"

        view = backend.scoped(Visibility(session_id=None, project="/src/shop"))
        result = await service(view).run_consolidation(AGENT)
        assert set(result.removed_ids) == set(shop[1:])
        summary = await view.get(AGENT, str(result.summary_id))
        assert summary is not None
        assert "/src/mail" not in summary.content
        assert "None" not in summary.content
        other = backend.scoped(Visibility(session_id=None, project="/src/mail"))
        given = {entry.id for entry in await other.retrieve(AGENT, MemoryQuery(limit=50))}
        assert given == {*mail, *everywhere}
