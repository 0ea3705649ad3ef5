"""The rule on which memories agents may be given, by sensitivity; the same for every strategy.

Raw records of runs are read by their id only: what they teach is a memory of its own.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from synthorg_tui.memory.consolidation.models import DETAILED_TAG
from synthorg_tui.memory.enums import GIVEN_BY_DEFAULT, Sensitivity
from synthorg_tui.memory.models import MAX_QUERY_LIMIT, MemoryEntry, MemoryQuery
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.tags import parse_tags


class FilteredMemories(NamedTuple):
    """Memories found by a search, divided into those that may be given and those withheld."""

    permitted: tuple[MemoryEntry, ...]
    withheld: tuple[MemoryEntry, ...]


class SensitivityFilter(NamedTuple):
    """Withholds memories whose sensitivity is not in ``allowed``."""

    allowed: Collection[Sensitivity] = GIVEN_BY_DEFAULT

    def refusal(self, entry: MemoryEntry) -> str:
        """Return why a memory is withheld, for a person; empty when it may be given."""
        if DETAILED_TAG in entry.metadata.tags:
            return "it is a raw record, which is read by its id only"
        sensitivity = parse_tags(entry.metadata.tags).sensitivity
        if sensitivity in self.allowed:
            return ""
        return f"it is {sensitivity}, which is not given to agents"

    def sort(self, entries: Iterable[MemoryEntry]) -> FilteredMemories:
        """Divide memories into permitted and withheld ones, each in unchanged order."""
        refused = [(bool(self.refusal(entry)), entry) for entry in entries]
        return FilteredMemories(
            permitted=tuple(entry for is_refused, entry in refused if not is_refused),
            withheld=tuple(entry for is_refused, entry in refused if is_refused),
        )

    async def search(
        self, backend: MemoryBackend, agent_id: str, query: MemoryQuery
    ) -> FilteredMemories:
        """Search for at most ``query.limit`` permitted memories.

        Withheld matches don't use up the limit: the search is widened until enough permitted ones
        are found.

        Raises:
            MemoryRetrievalError: The search failed.
        """
        limit = query.limit
        while True:
            wider = query.model_copy(update={"limit": limit})
            found = await backend.retrieve(agent_id, wider)
            cleared = self.sort(found)
            is_all = len(found) < limit or limit == MAX_QUERY_LIMIT
            if is_all or len(cleared.permitted) >= query.limit:
                return FilteredMemories(cleared.permitted[: query.limit], cleared.withheld)
            limit = min(2 * limit, MAX_QUERY_LIMIT)

    async def read(
        self, backend: MemoryBackend, agent_id: str, memory_id: str
    ) -> MemoryEntry | None:
        """Return the agent's memory with this id; ``None`` if it doesn't exist or is too sensitive.

        Raises:
            MemoryRetrievalError: Reading failed.
        """
        entry = await backend.get(agent_id, memory_id)
        if entry is None or parse_tags(entry.metadata.tags).sensitivity not in self.allowed:
            return None
        return entry
