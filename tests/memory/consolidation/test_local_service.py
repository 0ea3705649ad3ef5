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
from synthorg_tui.memory.store.backend import LocalMemoryBackend
from synthorg_tui.memory.store.policy import StorePolicy
from tests.conftest import FixedClock
from tests.memory.consolidation.consolidation_kit import (
    AGENT,
    EPISODIC,
    TODAY,
    Agent,
    InMemoryArchivalStore,
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


def service(
    backend: LocalMemoryBackend, config: dict[str, object] | None = None
) -> MemoryConsolidationService:
    return made_service(
        ConsolidationConfig.model_validate(ARCHIVING | (config or {})),
        backend=backend,
        archival_store=InMemoryArchivalStore(),
    )


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
    policy = StorePolicy(level=lambda _: MemoryLevel.PROJECT)
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
