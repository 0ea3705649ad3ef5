"""Maintenance of one agent's memories: what expires, what is merged, what is too much.

In this order, since what expires needn't be merged and what is merged makes room. Nothing here
decides when it runs; whoever calls it does.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.consolidation.archival import ArchivalStore, Departures
from synthorg_tui.memory.consolidation.config import ConsolidationConfig
from synthorg_tui.memory.consolidation.eviction import eviction_key
from synthorg_tui.memory.consolidation.models import ArchivalMode, ConsolidationResult
from synthorg_tui.memory.consolidation.retention import RetentionEnforcer, days_before
from synthorg_tui.memory.consolidation.strategy import ConsolidationStrategy, ProposingStrategy
from synthorg_tui.memory.extensions import PlacedMemories
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend

_BATCHES: Final = range(100, 10_001)
ENABLED: Final = "memory.consolidation_enabled"
"""Name of the kill switch for a ``ConfigResolver``."""

ConfigResolver: TypeAlias = Callable[[str], Awaitable[bool | None]]
"""Returns the present value of a switch by its name; ``None`` when nothing is set."""

_log = logging.getLogger(__name__)


class MemoryConsolidationService:
    """Retention, consolidation and the bound on memories, for one agent at a time.

    With archival enabled in the settings and a store for it, a memory is archived before it is
    deleted, and stays when that fails.

    A backend whose memories are given in one project or session only (``PlacedMemories``) has those
    merged that are given where the merged text will be. On the local store that is the place of the
    view that the service is made with: for a project, make it with the project's view. Retention
    and the bound count every memory that the view sees.

    Args:
        backend: Where the memories are.
        config: Rules and bounds.
        strategy: How memories are merged; without one none are.
        archival_store: The archive; without one nothing is archived.
        max_enforce_batch: Memories read at once when the bound is enforced, 100 to 10,000; a query
            returns no more than 1000.
        config_resolver: Asked at each call whether consolidation is enabled; without one, or where
            it knows of nothing, the settings decide.

    Raises:
        ValueError: ``max_enforce_batch`` is outside its range.
    """

    def __init__(
        self,
        *,
        backend: MemoryBackend,
        config: ConsolidationConfig,
        strategy: ConsolidationStrategy | None = None,
        archival_store: ArchivalStore | None = None,
        max_enforce_batch: int = 1000,
        config_resolver: ConfigResolver | None = None,
    ) -> None:
        if max_enforce_batch not in _BATCHES:
            allowed = f"[{_BATCHES.start}, {_BATCHES.stop - 1}]"
            raise ValueError(f"max_enforce_batch must be in {allowed}, not {max_enforce_batch}")
        self._backend = backend
        self._config = config
        self._strategy = strategy
        self._archive = archival_store if config.archival.enabled else None
        self._page = min(max_enforce_batch, MAX_QUERY_LIMIT)
        self._resolver = config_resolver

    async def run_consolidation(self, agent_id: NotBlankStr) -> ConsolidationResult:
        """Merge the agent's memories, at most 1000 of them, and return what was done.

        With archival enabled, memories younger than ``archival.age_threshold_days`` are left alone.
        Raises what backend and strategy raise, after logging it.
        """
        if not await self._is_enabled():
            return ConsolidationResult()
        return await self._consolidated(agent_id)

    async def enforce_max_memories(self, agent_id: NotBlankStr) -> int:
        """Delete what the agent has above its bound, and return how many memories that were.

        The least useful leave first, then the oldest; facts and what a person pinned last. Raises
        what the backend raises, after logging it.
        """
        return await self._enforced(agent_id) if await self._is_enabled() else 0

    async def cleanup_retention(
        self,
        agent_id: NotBlankStr,
        agent_category_overrides: Mapping[MemoryCategory, int] | None = None,
        agent_default_retention_days: int | None = None,
    ) -> int:
        """Delete the agent's expired memories and return how many were deleted.

        See ``RetentionEnforcer.cleanup_expired``, also for what is raised.
        """
        if not await self._is_enabled():
            return 0
        return await self._cleaned(agent_id, agent_category_overrides, agent_default_retention_days)

    async def run_maintenance(
        self,
        agent_id: NotBlankStr,
        agent_category_overrides: Mapping[MemoryCategory, int] | None = None,
        agent_default_retention_days: int | None = None,
    ) -> ConsolidationResult:
        """Enforce retention, merge memories, enforce the bound; return what merging did.

        Whether it is enabled is asked once. Raises what its steps raise, after logging it.
        """
        if not await self._is_enabled():
            return ConsolidationResult()
        await self._cleaned(agent_id, agent_category_overrides, agent_default_retention_days)
        result = await self._consolidated(agent_id)
        await self._enforced(agent_id)
        return result

    async def _is_enabled(self) -> bool:
        told = await self._resolver(ENABLED) if self._resolver is not None else None
        return self._config.enabled if told is None else told

    async def _consolidated(self, agent_id: NotBlankStr) -> ConsolidationResult:
        strategy = self._strategy
        if strategy is None:
            return ConsolidationResult()
        departures = Departures(self._backend, self._archive)
        with _telling("consolidation", agent_id):
            entries = await self._mergeable(agent_id)
            if isinstance(strategy, ProposingStrategy):
                return await strategy.consolidate(entries, agent_id, departures)
            # It deletes by itself; what it removed is at hand, and all that is left.
            result = await strategy.consolidate(entries, agent_id)
            modes = {chosen.original_id: chosen.mode for chosen in result.mode_assignments}
            by_id = {entry.id: entry for entry in entries}
            for entry in (by_id[one] for one in result.removed_ids if one in by_id):
                await departures.archived(entry, modes.get(entry.id, ArchivalMode.EXTRACTIVE))
            return departures.told(result)

    async def _mergeable(self, agent_id: NotBlankStr) -> tuple[MemoryEntry, ...]:
        """The memories that a strategy is shown: all are given where its texts will be."""
        found = await self._backend.retrieve(agent_id, MemoryQuery(limit=MAX_QUERY_LIMIT))
        if isinstance(self._backend, PlacedMemories):
            alike = await self._backend.given_alike(agent_id)
            found = tuple(entry for entry in found if entry.id in alike)
        if self._archive is None:
            return found
        limit = days_before(datetime.now(UTC), self._config.archival.age_threshold_days)
        return tuple(entry for entry in found if entry.created_at <= limit)

    async def _cleaned(
        self,
        agent_id: NotBlankStr,
        overrides: Mapping[MemoryCategory, int] | None,
        default_days: int | None,
    ) -> int:
        enforcer = RetentionEnforcer(self._config.retention, self._backend, archive=self._archive)
        with _telling("retention", agent_id):
            return await enforcer.cleanup_expired(
                agent_id,
                agent_category_overrides=overrides,
                agent_default_retention_days=default_days,
            )

    async def _enforced(self, agent_id: NotBlankStr) -> int:
        departures = Departures(self._backend, self._archive)
        with _telling("making room", agent_id):
            excess = await self._backend.count(agent_id) - self._config.max_memories_per_agent
            if excess <= 0:
                return 0
            ordered = sorted(
                [one async for one in all_memories(self._backend, agent_id, page=self._page)],
                key=lambda entry: eviction_key(entry.listed()),
            )
            return sum([await departures.leave(entry) for entry in ordered[:excess]])


async def all_memories(
    backend: MemoryBackend, agent_id: NotBlankStr, *, page: int = MAX_QUERY_LIMIT
) -> AsyncIterator[MemoryEntry]:
    """Yield every memory of an agent, from the newest back, reading so many at once.

    Of more than ``page`` memories of one and the same moment only the first are found.
    """
    until: datetime | None = None
    seen: set[str] = set()
    while True:
        found = await backend.retrieve(agent_id, MemoryQuery(limit=page, until=until))
        fresh = [entry for entry in found if entry.id not in seen]
        if not fresh:
            return
        seen.update(entry.id for entry in fresh)
        for entry in fresh:
            yield entry
        # Others of the same moment may be on the next page.
        until = min(entry.created_at for entry in found) + timedelta(microseconds=1)


@contextmanager
def _telling(what: str, agent_id: str) -> Iterator[None]:
    """Log what fails, and let it pass on."""
    try:
        yield
    except Exception:
        _log.exception("%s of the memories of %s failed", what, agent_id)
        raise
