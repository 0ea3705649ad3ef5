"""Takes memories out of a backend whose time is over by the rules in force now."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.config import RetentionConfig
from synthorg_tui.memory.consolidation.models import ArchivalMode, retention_days
from synthorg_tui.memory.consolidation.strategy import Archiver, deleted
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


class RetentionEnforcer:
    """Deletes memories older than their category's days.

    Args:
        config: The company's rules.
        backend: Where memories are read and deleted.
        archiver: Archives each memory before it is deleted; one that can't be archived stays.
    """

    def __init__(
        self,
        config: RetentionConfig,
        backend: MemoryBackend,
        *,
        archiver: Archiver | None = None,
    ) -> None:
        self._config = config
        self._backend = backend
        self._archiver = archiver

    async def cleanup_expired(
        self,
        agent_id: NotBlankStr,
        now: datetime | None = None,
        *,
        agent_category_overrides: Mapping[MemoryCategory, int] | None = None,
        agent_default_retention_days: int | None = None,
    ) -> int:
        """Delete the agent's expired memories and return how many were deleted.

        At most 1000 of a category at once: call again for more. A category that fails is logged and
        doesn't stop the others. See ``retention_days`` for which days hold.

        Args:
            agent_id: Whose memories.
            now: The time by which they are judged; the current time by default.
            agent_category_overrides: The agent's own days by category.
            agent_default_retention_days: The agent's days where neither it nor the company has a
                rule for the category.

        Raises:
            ValueError: One of the agent's own numbers of days is below 1.
        """
        overrides = agent_category_overrides or {}
        _require_days(overrides, agent_default_retention_days)
        moment = now or datetime.now(UTC)
        count = 0
        for category in MemoryCategory:
            days = self._days(category, overrides, agent_default_retention_days)
            if days is None:
                continue
            with surviving(f"retention of {category.value} memories"):
                for entry in await self._expired(agent_id, category, days_before(moment, days)):
                    count += await self._left(entry)
        return count

    def _days(
        self, category: MemoryCategory, own: Mapping[MemoryCategory, int], default: int | None
    ) -> int | None:
        return retention_days(
            category,
            overrides=own,
            rules=self._config.rules,
            agent_default=default,
            default=self._config.default_retention_days,
        )

    async def _expired(
        self, agent_id: NotBlankStr, category: MemoryCategory, until: datetime
    ) -> tuple[MemoryEntry, ...]:
        query = MemoryQuery(categories=frozenset({category}), until=until, limit=MAX_QUERY_LIMIT)
        return await self._backend.retrieve(agent_id, query)

    async def _left(self, entry: MemoryEntry) -> bool:
        """Whether the memory left the backend, the archive before it."""
        if self._archiver is None:
            return await self._backend.delete(entry.agent_id, entry.id)
        if not await self._archiver(entry, ArchivalMode.EXTRACTIVE):
            return False
        return await deleted(entry, self._backend)


def _require_days(overrides: Mapping[MemoryCategory, int], default: int | None) -> None:
    for category, days in overrides.items():
        if days < 1:
            raise ValueError(f"retention of {category.value} must be >= 1 day, not {days}")
    if default is not None and default < 1:
        raise ValueError(f"agent_default_retention_days must be >= 1, not {default}")


def days_before(moment: datetime, days: int) -> datetime:
    """Return the moment so many days before; the beginning of time for more than there are."""
    try:
        return moment - timedelta(days=days)
    except OverflowError:
        return _BEFORE_ALL
