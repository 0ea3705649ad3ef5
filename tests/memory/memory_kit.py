"""Memories for unit tests of ranking, filtering and packing."""

from datetime import UTC, datetime, timedelta

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.memory.models import MemoryEntry, MemoryMetadata
from synthorg_tui.memory.ranking import ScoredMemory

NOW = datetime(2026, 1, 10, tzinfo=UTC)


def entry(
    key: str = "a",
    content: str = "",
    *,
    relevance: float | None = None,
    hours: float = 0,
    tags: tuple[str, ...] = (),
    category: MemoryCategory = MemoryCategory.SEMANTIC,
    agent: str = "ada",
) -> MemoryEntry:
    return MemoryEntry(
        id=key,
        agent_id=agent,
        category=category,
        content=content or f"text of {key}",  # equal ones would be one line
        metadata=MemoryMetadata(tags=tags),
        created_at=NOW - timedelta(hours=hours),
        relevance_score=relevance,
    )


def scored(
    key: str = "a",
    content: str = "text",
    *,
    score: float = 0.5,
    tags: tuple[str, ...] = (),
    is_shared: bool = False,
) -> ScoredMemory:
    return ScoredMemory(
        entry=entry(key, content, tags=tags),
        relevance_score=score,
        recency_score=0.0,
        combined_score=score,
        is_shared=is_shared,
    )


def ids(memories: tuple[ScoredMemory, ...]) -> list[str]:
    return [memory.entry.id for memory in memories]
