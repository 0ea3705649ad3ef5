"""Maintenance of an agent's memories: its order, its switch, its bound, and the archive first."""

import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.consolidation.factory import create_consolidation_strategy
from synthorg_tui.memory.consolidation.models import (
    ArchivalEntry,
    ArchivalMode,
    ConsolidationResult,
)
from synthorg_tui.memory.consolidation.service import (
    ENABLED,
    MemoryConsolidationService,
    all_memories,
)
from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from tests.memory.consolidation.consolidation_kit import (
    AGENT,
    Agent,
    InMemoryArchivalStore,
    agent_of,
    made_service,
)
from tests.tables import rows

ARCHIVING = {"enabled": True, "age_threshold_days": 30}


@pytest.fixture(params=["inmemory", "local"])
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent_of(request.param, tmp_path) as made:
        yield made


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent_of("inmemory", tmp_path) as made:
        yield made


def service(
    agent: Agent, archive: InMemoryArchivalStore | None = None, **fields: object
) -> MemoryConsolidationService:
    config = ConsolidationConfig.model_validate(fields)
    return made_service(config, backend=agent.backend, archival_store=archive)


class Untouchable:
    """A backend that must not be asked for anything."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"{name} was asked for")


async def test_retention_then_merging_then_the_bound(agent: Agent) -> None:
    await agent.has("expired", days=99, category=MemoryCategory.WORKING)
    for days in (40, 41, 42):
        await agent.has(f"episode of {days} days ago", days=days)
    await agent.has("unsure", category=MemoryCategory.SOCIAL, confidence=0.1)
    await agent.has("sure", category=MemoryCategory.SOCIAL, confidence=0.9)
    rules = {"rules": [{"category": "working", "retention_days": 90}]}
    result = await service(agent, retention=rules, max_memories_per_agent=3).run_maintenance(AGENT)
    assert result.consolidated_count == 2
    left = await agent.contents()
    assert {"episode of 40 days ago", "sure"} <= left
    assert len(left) == 3
    assert not {"expired", "unsure"} & left


async def test_without_a_strategy_nothing_is_merged(quick: Agent) -> None:
    for days in (1, 2, 3):
        await quick.has(f"{days}", days=days)
    plain = MemoryConsolidationService(backend=quick.backend, config=ConsolidationConfig())
    assert await plain.run_consolidation(AGENT) == ConsolidationResult()
    assert len(await quick.entries()) == 3


class TestSwitch:
    async def test_off_nothing_is_touched(self) -> None:
        backend: MemoryBackend = Untouchable()  # type: ignore[assignment]
        off = ConsolidationConfig(enabled=False, max_memories_per_agent=1)
        made = made_service(off, backend=backend)
        assert await made.run_consolidation(AGENT) == ConsolidationResult()
        assert await made.run_maintenance(AGENT) == ConsolidationResult()
        assert await made.enforce_max_memories(AGENT) == 0
        assert await made.cleanup_retention(AGENT) == 0

    async def test_what_is_told_at_the_call_wins_over_the_settings(self, quick: Agent) -> None:
        await quick.has("one")
        await quick.has("two", days=1)
        told: list[bool | None] = [False, None, True]
        asked: list[str] = []

        async def resolver(name: str) -> bool | None:
            asked.append(name)
            return told.pop(0)

        config = ConsolidationConfig(enabled=False, max_memories_per_agent=1)
        made = made_service(config, backend=quick.backend, config_resolver=resolver)
        assert [await made.enforce_max_memories(AGENT) for _ in range(3)] == [0, 0, 1]
        assert asked == [ENABLED] * 3 == ["memory.consolidation_enabled"] * 3

    async def test_maintenance_asks_once(self, quick: Agent) -> None:
        await quick.has("one")
        await quick.has("two", days=1)
        told = [True]

        async def resolver(name: str) -> bool:
            return told.pop()

        config = ConsolidationConfig(max_memories_per_agent=1)
        made = made_service(config, backend=quick.backend, config_resolver=resolver)
        await made.run_maintenance(AGENT)
        assert len(await quick.entries()) == 1


class TestBound:
    async def test_what_is_above_it_leaves_the_least_useful_first(self, agent: Agent) -> None:
        await agent.has("old diary", days=3, tags=("session",))
        await agent.has("diary", days=1, tags=("session",))
        await agent.has("old note", days=9)
        await agent.has("old fact", days=99, tags=("fact:k",), category=MemoryCategory.SEMANTIC)
        await agent.has("old pinned diary", days=98, tags=("session", "pinned"))
        made = service(agent, max_memories_per_agent=3)
        assert await made.enforce_max_memories(AGENT) == 2
        assert await agent.contents() == {"old note", "old fact", "old pinned diary"}
        assert await made.enforce_max_memories(AGENT) == 0

    async def test_it_sees_all_memories_however_many_it_reads_at_once(self, quick: Agent) -> None:
        for number in range(250):
            await quick.has(f"{number}", days=number // 3, confidence=0.5)
        await quick.has("oldest but sure", days=400)
        config = ConsolidationConfig(max_memories_per_agent=1)
        made = MemoryConsolidationService(
            backend=quick.backend, config=config, max_enforce_batch=100
        )
        assert await made.enforce_max_memories(AGENT) == 250
        assert await quick.contents() == {"oldest but sure"}

    @rows("size", [99, 10_001])
    def test_a_batch_outside_its_range_is_refused(self, size: int) -> None:
        backend: MemoryBackend = Untouchable()  # type: ignore[assignment]
        with pytest.raises(ValueError, match="max_enforce_batch"):
            MemoryConsolidationService(
                backend=backend, config=ConsolidationConfig(), max_enforce_batch=size
            )

    @pytest.mark.parametrize("size", [100, 10_000])
    async def test_no_query_asks_for_more_than_a_thousand(self, size: int, quick: Agent) -> None:
        asked: list[int] = []

        class Watched:
            def __getattr__(self, name: str) -> object:
                return getattr(quick.backend, name)

            async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
                asked.append(query.limit)
                return await quick.backend.retrieve(agent_id, query)

        await quick.has("a")
        await quick.has("b")
        watched: MemoryBackend = Watched()  # type: ignore[assignment]
        config = ConsolidationConfig(max_memories_per_agent=1)
        made = MemoryConsolidationService(backend=watched, config=config, max_enforce_batch=size)
        await made.enforce_max_memories(AGENT)
        assert set(asked) == {min(size, 1000)}

    async def test_memories_of_one_moment_are_read_once_each(self, quick: Agent) -> None:
        for number in range(12):
            await quick.has(f"{number}", days=number // 4)
        found = [one.content async for one in all_memories(quick.backend, AGENT, page=5)]
        assert sorted(found, key=int) == [str(number) for number in range(12)]


class FailingArchive(InMemoryArchivalStore):
    """Refuses to archive what says so."""

    async def archive(self, entry: ArchivalEntry) -> str:
        if "unlucky" in entry.content:
            raise OSError("full")
        return await super().archive(entry)


class TestArchive:
    async def test_what_leaves_is_archived_and_comes_back_by_the_index(self, agent: Agent) -> None:
        kept = await agent.has("kept", days=40)
        gone = [await agent.has(f"gone {days}", days=days) for days in (41, 42)]
        archive = InMemoryArchivalStore()
        result = await service(agent, archive, archival=ARCHIVING).run_consolidation(AGENT)
        assert (set(result.removed_ids), result.archived_count) == (set(gone), 2)
        assert kept in {one.id for one in await agent.entries()}
        for index in result.archival_index:
            found = await archive.restore(AGENT, index.archival_id)
            assert found is not None
            assert found.original_id == index.original_id
            assert found.archival_mode is index.mode is ArchivalMode.EXTRACTIVE

    async def test_it_is_archived_before_it_is_deleted(self, quick: Agent) -> None:
        class Looking(InMemoryArchivalStore):
            async def archive(self, entry: ArchivalEntry) -> str:
                assert await quick.backend.get(AGENT, entry.original_id) is not None
                return await super().archive(entry)

        for days in (40, 41, 42):
            await quick.has(f"{days}", days=days)
        archive = Looking()
        await service(quick, archive, archival=ARCHIVING).run_consolidation(AGENT)
        assert await archive.count(AGENT) == 2

    async def test_what_can_not_be_archived_stays_and_the_rest_goes(self, quick: Agent) -> None:
        for days, text in ((40, "kept"), (41, "unlucky"), (42, "gone")):
            await quick.has(text, days=days)
        archive = FailingArchive()
        result = await service(quick, archive, archival=ARCHIVING).run_consolidation(AGENT)
        assert (result.consolidated_count, result.archived_count) == (1, 1)
        assert {"kept", "unlucky"} <= await quick.contents()

    async def test_younger_memories_are_left_alone(self, quick: Agent) -> None:
        for days in (28, 29, 31, 32, 33):
            await quick.has(f"{days}", days=days)
        result = await service(
            quick, InMemoryArchivalStore(), archival=ARCHIVING
        ).run_consolidation(AGENT)
        assert result.consolidated_count == 2
        assert {"28", "29", "31"} <= await quick.contents()

    @pytest.mark.parametrize("days", [1, 10**9])
    async def test_any_age_is_a_threshold(self, days: int, quick: Agent) -> None:
        for age in (2, 3, 4):
            await quick.has(f"{age}", days=age)
        archival = {"enabled": True, "age_threshold_days": days}
        made = service(quick, InMemoryArchivalStore(), archival=archival)
        assert (await made.run_consolidation(AGENT)).consolidated_count == (2 if days == 1 else 0)

    @pytest.mark.parametrize("archival", [{"enabled": False}, {"enabled": True}])
    async def test_it_needs_the_setting_and_a_store(
        self, archival: dict[str, bool], quick: Agent
    ) -> None:
        for days in (100, 101, 102):
            await quick.has(f"{days}", days=days)
        archive = InMemoryArchivalStore()
        given = None if archival["enabled"] else archive
        result = await service(quick, given, archival=archival).run_consolidation(AGENT)
        assert (result.consolidated_count, result.archived_count) == (2, 0)
        assert await archive.count(AGENT) == 0

    async def test_what_expires_or_makes_room_is_archived_at_any_age(self, quick: Agent) -> None:
        await quick.has("expired", days=2, category=MemoryCategory.WORKING)
        await quick.has("too much", days=1)
        await quick.has("kept")
        archive = InMemoryArchivalStore()
        rules = {"rules": [{"category": "working", "retention_days": 1}]}
        made = service(
            quick, archive, archival=ARCHIVING, retention=rules, max_memories_per_agent=1
        )
        await made.run_maintenance(AGENT)
        assert await quick.contents() == {"kept"}
        found = await archive.search(AGENT, MemoryQuery())
        assert {one.content for one in found} == {"expired", "too much"}

    async def test_the_mode_that_density_chose_is_the_archives(self, quick: Agent) -> None:
        for days in (40, 41, 42):
            await quick.has(f"plain talk of {days} days ago", days=days)
        made = service(
            quick, archive := InMemoryArchivalStore(), archival=ARCHIVING, strategy="dual_mode"
        )
        result = await made.run_consolidation(AGENT)
        assert {one.mode for one in result.mode_assignments} == {ArchivalMode.ABSTRACTIVE}
        assert {one.mode for one in result.archival_index} == {ArchivalMode.ABSTRACTIVE}
        assert await archive.count(AGENT) == 2

    async def test_a_strategy_that_only_consolidates_is_archived_from_what_was_read(
        self, quick: Agent
    ) -> None:
        for days in (40, 41, 42):
            await quick.has(f"{days}", days=days)
        config = ConsolidationConfig.model_validate({"archival": ARCHIVING})
        inner = create_consolidation_strategy(config, backend=quick.backend)

        class OnlyConsolidates:
            async def consolidate(
                self, entries: tuple[MemoryEntry, ...], agent_id: str
            ) -> ConsolidationResult:
                return await inner.consolidate(entries, agent_id)

        made = MemoryConsolidationService(
            backend=quick.backend,
            config=config,
            strategy=OnlyConsolidates(),
            archival_store=InMemoryArchivalStore(),
        )
        assert (await made.run_consolidation(AGENT)).archived_count == 2


async def test_what_fails_is_logged_and_passed_on(
    quick: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def __getattr__(self, name: str) -> object:
            async def broken(*args: object, **kwargs: object) -> None:
                raise MemoryRetrievalError("broken")

            return broken

    backend: MemoryBackend = Broken()  # type: ignore[assignment]
    made = made_service(ConsolidationConfig(), backend=backend)
    for step, what in (
        (made.run_consolidation, "consolidation"),
        (made.enforce_max_memories, "making room"),
    ):
        with caplog.at_level(logging.ERROR), pytest.raises(MemoryRetrievalError, match="broken"):
            await step(AGENT)
        assert any(what in record.getMessage() for record in caplog.records)


async def test_a_summary_starts_its_own_life_and_says_what_it_is(quick: Agent) -> None:
    for days in (40, 41, 42):
        await quick.has(f"{days}", days=days)
    result = await service(quick).run_consolidation(AGENT)
    found = await quick.backend.get(AGENT, str(result.summary_id))
    assert found is not None
    assert found.metadata.source == "consolidation"
    assert found.created_at > min(e.created_at for e in await quick.entries()) - timedelta(days=1)
