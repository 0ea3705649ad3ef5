"""Several backends behind one, each keeping the namespaces that are routed to it."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.backends.inmemory import by_relevance, newest_first
from synthorg_tui.memory.capabilities import MemoryCapabilities
from synthorg_tui.memory.errors import MemoryConfigError, MemoryConnectionError
from synthorg_tui.memory.models import MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend

_log = logging.getLogger(__name__)


class CompositeBackend:
    """Memory backend that distributes memories over several other backends by namespace.

    Reads query every child that may have an answer, and fail when one of them fails, since a
    partial answer would look complete.

    Args:
        children: Backends by name.
        routes: Name of the child for each routed namespace.
        default: Name of the child for all other namespaces.
        default_relevance: Score assumed for matches to which a child gave none, when results are
            merged.

    Raises:
        MemoryConfigError: A route or the default names no child.
    """

    backend_name: NotBlankStr = "composite"
    supports_graph: bool = False
    """Relations can't span children."""
    supports_shared_access: bool = False
    """It publishes nothing itself."""

    def __init__(
        self,
        children: Mapping[str, MemoryBackend],
        *,
        routes: Mapping[str, str],
        default: str,
        default_relevance: float = 0.5,
    ) -> None:
        missing = sorted({default, *routes.values()} - children.keys())
        if missing:
            raise MemoryConfigError(
                f"no backend {missing} to route to; there is {sorted(children)}"
            )
        self._children = dict(children)
        self._routes = dict(routes)
        self._default = default
        self._default_relevance = default_relevance

    async def connect(self) -> None:
        """Connect every child; if one fails, disconnect the others and raise its error."""
        connected: list[MemoryBackend] = []
        try:
            for child in self._children.values():
                await child.connect()
                connected.append(child)
        except BaseException:
            await _disconnect(connected)
            raise

    async def disconnect(self) -> None:
        """Disconnect every child, even if some fail; then raise the first failure."""
        failures = await _disconnect(list(self._children.values()))
        if failures:
            raise failures[0]

    async def health_check(self) -> bool:
        """Return whether every child is healthy."""
        checks = [child.health_check() for child in self._children.values()]
        return all(await asyncio.gather(*checks))

    @property
    def is_connected(self) -> bool:
        """Whether every child is connected."""
        return all(child.is_connected for child in self._children.values())

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory in the child for its namespace and return its id."""
        self._require_connection()
        return await self._children[self._route(request.namespace)].store(agent_id, request)

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the merged matches of all children, at most ``query.limit``.

        With a query text they are ordered by score and then newest first, without one newest first.
        """
        self._require_connection()
        answers = await asyncio.gather(
            *(self._children[name].retrieve(agent_id, part) for name, part in self._parts(query))
        )
        found = [entry for answer in answers for entry in answer]
        if query.text is None:
            return newest_first(found)[: query.limit]
        return by_relevance(found, default=self._default_relevance)[: query.limit]

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return the memory with this id from the child that has it, or ``None``."""
        self._require_connection()
        for child in self._children.values():
            entry = await child.get(agent_id, memory_id)
            if entry is not None:
                return entry
        return None

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Delete the memory from the child that has it; return ``False`` when none has it."""
        self._require_connection()
        for child in self._children.values():
            if await child.delete(agent_id, memory_id):
                return True
        return False

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return the number of the agent's memories in all children together."""
        self._require_connection()
        counts = (child.count(agent_id, category=category) for child in self._children.values())
        return sum(await asyncio.gather(*counts))

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """Categories that every child supports, so that they work in any namespace."""
        supported = [child.supported_categories for child in self._capabilities()]
        return frozenset(MemoryCategory).intersection(*supported)

    @property
    def supports_temporal(self) -> bool:
        """Whether every child honours ``since``, ``until`` and expiry times."""
        return all(child.supports_temporal for child in self._capabilities())

    @property
    def supports_vector_search(self) -> bool:
        """Whether at least one child matches query texts by meaning."""
        return any(child.supports_vector_search for child in self._capabilities())

    @property
    def max_memories_per_agent(self) -> int | None:
        """Smallest limit of any child, or ``None``; beyond it a store may be refused."""
        bounds = [child.max_memories_per_agent for child in self._capabilities()]
        return min((bound for bound in bounds if bound is not None), default=None)

    def _route(self, namespace: str) -> str:
        return self._routes.get(namespace, self._default)

    def _parts(self, query: MemoryQuery) -> list[tuple[str, MemoryQuery]]:
        """The children to ask, each with the namespaces that are routed to it."""
        if not query.namespaces:
            return [(name, query) for name in self._children]
        wanted: dict[str, set[str]] = {}
        for namespace in query.namespaces:
            wanted.setdefault(self._route(namespace), set()).add(namespace)
        return [
            (name, query.model_copy(update={"namespaces": frozenset(namespaces)}))
            for name, namespaces in wanted.items()
        ]

    def _capabilities(self) -> list[MemoryCapabilities]:
        return [c for c in self._children.values() if isinstance(c, MemoryCapabilities)]

    def _require_connection(self) -> None:
        if not self.is_connected:
            raise MemoryConnectionError("the composite backend is not connected")


async def _disconnect(children: Sequence[MemoryBackend]) -> list[Exception]:
    """Disconnect each child in reverse order and return what went wrong."""
    failures: list[Exception] = []
    for child in reversed(children):
        try:
            await child.disconnect()
        except Exception as error:
            _log.warning("backend %s did not disconnect", child.backend_name, exc_info=True)
            failures.append(error)
    return failures
