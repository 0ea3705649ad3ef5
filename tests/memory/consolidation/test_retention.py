"""Memories whose time is over leave by the rules in force now."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.consolidation.config import RetentionConfig
from synthorg_tui.memory.consolidation.models import ArchivalEntry, RetentionRule
from synthorg_tui.memory.consolidation.retention import RetentionEnforcer, days_before
from synthorg_tui.memory.errors import MemoryRetrievalError
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from tests.memory.consolidation.consolidation_kit import (
    AGENT,
    TODAY,
    Agent,
    InMemoryArchivalStore,
    agent_of,
)

EPISODIC, WORKING, SOCIAL = MemoryCategory.EPISODIC, MemoryCategory.WORKING, MemoryCategory.SOCIAL


@pytest.fixture(params=["inmemory", "local"])
async def agent(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent_of(request.param, tmp_path) as made:
        yield made


@pytest.fixture
async def quick(tmp_path: Path) -> AsyncIterator[Agent]:
    async with agent_of("inmemory", tmp_path) as made:
        yield made


def rules(default: int | None = None, **days: int) -> RetentionConfig:
    return RetentionConfig(
        rules=tuple(
            RetentionRule(category=MemoryCategory(name), retention_days=one)
            for name, one in days.items()
        ),
        default_retention_days=default,
    )


async def test_what_is_older_than_its_rule_leaves_and_the_day_itself_stays(agent: Agent) -> None:
    await agent.has("older", days=8)
    await agent.has("as old", days=7)
    await agent.has("younger", days=6)
    await agent.has("of no rule", days=99, category=SOCIAL)
    enforcer = RetentionEnforcer(rules(episodic=7), agent.backend)
    assert await enforcer.cleanup_expired(AGENT, TODAY) == 1
    assert await agent.contents() == {"as old", "younger", "of no rule"}


async def test_a_rule_that_changed_reaches_memories_that_are_stored_already(quick: Agent) -> None:
    await quick.has("stored under no rule", days=8)
    assert await RetentionEnforcer(rules(), quick.backend).cleanup_expired(AGENT, TODAY) == 0
    assert await RetentionEnforcer(rules(7), quick.backend).cleanup_expired(AGENT, TODAY) == 1


async def test_the_agents_own_days_for_a_category_win_over_the_companys(quick: Agent) -> None:
    await quick.has("episodic", days=8)
    await quick.has("working", days=8, category=WORKING)
    await quick.has("social", days=8, category=SOCIAL)
    enforcer = RetentionEnforcer(rules(99, episodic=7, working=7), quick.backend)
    assert await enforcer.cleanup_expired(
        AGENT, TODAY, agent_category_overrides={EPISODIC: 9}, agent_default_retention_days=5
    )
    # The override keeps one, the company's rule takes one, the agent's own days one.
    assert await quick.contents() == {"episodic"}


async def test_the_companys_default_comes_last(quick: Agent) -> None:
    await quick.has("social", days=8, category=SOCIAL)
    enforcer = RetentionEnforcer(rules(7), quick.backend)
    assert await enforcer.cleanup_expired(AGENT, TODAY, agent_default_retention_days=9) == 0
    assert await enforcer.cleanup_expired(AGENT, TODAY) == 1


@pytest.mark.parametrize(("overrides", "default"), [({EPISODIC: 0}, None), (None, 0), ({}, -1)])
async def test_less_than_a_day_is_refused_before_anything_is_touched(
    overrides: dict[MemoryCategory, int] | None, default: int | None, quick: Agent
) -> None:
    await quick.has("old", days=99)
    enforcer = RetentionEnforcer(rules(7), quick.backend)
    with pytest.raises(ValueError, match=">= 1"):
        await enforcer.cleanup_expired(
            AGENT,
            TODAY,
            agent_category_overrides=overrides,
            agent_default_retention_days=default,
        )
    assert await quick.contents() == {"old"}


class Watched:
    """Notes what is asked of a backend, and fails for one category."""

    def __init__(self, agent: Agent, broken: MemoryCategory | None = None) -> None:
        self.agent, self.broken = agent, broken
        self.asked: list[MemoryQuery] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.agent.backend, name)

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        self.asked.append(query)
        if self.broken is not None and self.broken in (query.categories or ()):
            raise MemoryRetrievalError("broken")
        return await self.agent.backend.retrieve(agent_id, query)


async def test_categories_are_asked_for_in_their_order_and_a_thousand_at_most(
    quick: Agent,
) -> None:
    watched = Watched(quick)
    backend: MemoryBackend = watched  # type: ignore[assignment]
    await RetentionEnforcer(rules(7), backend).cleanup_expired(AGENT, TODAY)
    assert [tuple(query.categories or ()) for query in watched.asked] == [
        (category,) for category in MemoryCategory
    ]
    assert {(query.limit, query.until) for query in watched.asked} == {
        (1000, TODAY - timedelta(days=7))
    }


async def test_one_category_that_fails_does_not_keep_the_others(quick: Agent) -> None:
    await quick.has("episodic", days=8)
    await quick.has("social", days=8, category=SOCIAL)
    backend: MemoryBackend = Watched(quick, EPISODIC)  # type: ignore[assignment]
    assert await RetentionEnforcer(rules(7), backend).cleanup_expired(AGENT, TODAY) == 1
    assert await quick.contents() == {"episodic"}


async def test_only_confirmed_deletions_are_counted(quick: Agent) -> None:
    class Gone(Watched):
        async def delete(self, agent_id: str, memory_id: str) -> bool:
            return False

    await quick.has("old", days=8)
    backend: MemoryBackend = Gone(quick)  # type: ignore[assignment]
    assert await RetentionEnforcer(rules(7), backend).cleanup_expired(AGENT, TODAY) == 0


async def test_what_can_not_be_archived_does_not_leave(quick: Agent) -> None:
    class OnlyFirst(InMemoryArchivalStore):
        async def archive(self, entry: ArchivalEntry) -> str:
            if entry.content != "first":
                raise OSError("full")
            return await super().archive(entry)

    await quick.has("first", days=9)
    await quick.has("second", days=8)
    enforcer = RetentionEnforcer(rules(7), quick.backend, archive=OnlyFirst())
    assert await enforcer.cleanup_expired(AGENT, TODAY) == 1
    assert await quick.contents() == {"second"}


def test_more_days_than_there_are_reach_back_to_the_beginning() -> None:
    assert days_before(TODAY, 10**9).year == 1
    assert days_before(TODAY, 1) == TODAY - timedelta(days=1)
