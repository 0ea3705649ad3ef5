"""The loop that searches, asks whether that suffices, and searches with a better question."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from synthorg_tui.memory.models import MemoryEntry
from synthorg_tui.memory.reformulation import QueryReformulator, SufficiencyChecker
from synthorg_tui.memory.retrieval.safety import raise_fatal

logger = logging.getLogger(__name__)

Search: TypeAlias = Callable[[str], Awaitable[tuple[MemoryEntry, ...]]]


class SearchAndAsk:
    """At most ``rounds`` further searches, for as long as what was found isn't enough."""

    def __init__(
        self, reformulator: QueryReformulator, checker: SufficiencyChecker, *, rounds: int
    ) -> None:
        self._reformulator = reformulator
        self._checker = checker
        self._rounds = rounds

    async def run(self, query: str, search: Search) -> tuple[MemoryEntry, ...]:
        """Everything found, best first.

        What the first search raises is raised; any later failure ends the loop with what there is.
        """
        found = await search(query)
        words = query
        for _ in range(self._rounds):
            if await self._suffices(query, found):
                return found
            better = await self._better(words, found)
            if better is None:
                return found
            try:
                more = await search(better)
            except Exception as error:  # what was found already still counts
                _log_or_raise("searching again", error)
                return found
            words, found = better, merge_entries(found, more)
        if not await self._suffices(query, found):
            logger.info("%d memories don't suffice after %d rounds", len(found), self._rounds)
        return found

    async def _suffices(self, query: str, found: tuple[MemoryEntry, ...]) -> bool:
        try:
            return await self._checker.check_sufficiency(query, found)
        except Exception as error:  # not knowing counts as enough
            _log_or_raise("checking what was found", error)
            return True

    async def _better(self, query: str, found: tuple[MemoryEntry, ...]) -> str | None:
        """Another question, or ``None`` when there is none."""
        try:
            better = await self._reformulator.reformulate(query, found)
        except Exception as error:  # the question stays as it is
            _log_or_raise("reformulating", error)
            return None
        stripped = (better or "").strip()
        return None if stripped in ("", query.strip()) else stripped


def merge_entries(
    first: tuple[MemoryEntry, ...], second: tuple[MemoryEntry, ...]
) -> tuple[MemoryEntry, ...]:
    """Each memory once, in its more relevant version, most relevant first, else as first seen."""
    best: dict[str, MemoryEntry] = {}
    for entry in (*first, *second):
        known = best.get(entry.id)
        if known is None or (entry.relevance_score or 0.0) > (known.relevance_score or 0.0):
            best[entry.id] = entry
    return tuple(sorted(best.values(), key=lambda entry: -(entry.relevance_score or 0.0)))


def _log_or_raise(what: str, error: Exception) -> None:
    raise_fatal(error)
    logger.warning("%s failed: %s", what, error)
