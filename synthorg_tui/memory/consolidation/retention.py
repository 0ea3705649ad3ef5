"""Takes memories out of a backend whose time is over by the rules in force now."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.archival import ArchivalStore, Departures
from synthorg_tui.memory.consolidation.config import RetentionConfig
from synthorg_tui.memory.consolidation.models import retention_days
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend


class RetentionEnforcer:
    """Deletes memories older than their category's days.

    Args:
        config: The company's rules.
        backend: Where memories are read and deleted.
        archive: Takes each memory before it is deleted; one that can't be archived stays.
    """

    def __init__(
        self,
        config: RetentionConfig,
        backend: MemoryBackend,
        *,
        archive: ArchivalStore | None = None,
    ) -> None:
        self._config = config
        self._departures = Departures(backend, archive)

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
        own = [*overrides.values(), agent_default_retention_days]
        if any(days is not None and days < 1 for days in own):
            raise ValueError(f"an agent's days of retention must be >= 1: {own}")
        moment = now or datetime.now(UTC)
        count = 0
        for category in MemoryCategory:
            days = self._days(category, overrides, agent_default_retention_days)
            if days is None:
                continue
            until, wanted = days_before(moment, days), frozenset({category})
            query = MemoryQuery(categories=wanted, until=until, limit=MAX_QUERY_LIMIT)
            with surviving(f"retention of {category.value} memories"):
                for entry in await self._departures.backend.retrieve(agent_id, query):
                    count += await self._departures.leave(entry)
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


def days_before(moment: datetime, days: int) -> datetime:
    """Return the moment so many days before; the beginning of time for more than there are."""
    try:
        return moment - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
