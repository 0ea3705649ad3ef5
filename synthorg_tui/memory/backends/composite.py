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
    """``MemoryBackend`` and ``MemoryCapabilities`` over other backends.

    A memory is stored in the child that its namespace is routed to. Reads ask every child that
    can have an answer, and fail when one of them fails: a partial answer would look complete.

    Args:
        children: Backends by name.
        routes: Name of the child by namespace.
        default: Name of the child for all other namespaces.
        default_relevance: What a match counts for whose child gives no score.

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
        """Connect every child; when one fails, those connected by then are disconnected again."""
        connected: list[MemoryBackend] = []
        try:
            for child in self._children.values():
                await child.connect()
                connected.append(child)
        except BaseException:
            await _disconnect(connected)
            raise

    async def disconnect(self) -> None:
        """Disconnect every child, also when one fails; the first failure is raised."""
        failures = await _disconnect(list(self._children.values()))
        if failures:
            raise failures[0]

    async def health_check(self) -> bool:
        """Whether every child is healthy."""
        checks = [child.health_check() for child in self._children.values()]
        return all(await asyncio.gather(*checks))

    @property
    def is_connected(self) -> bool:
        """Whether every child is connected."""
        return all(child.is_connected for child in self._children.values())

    async def store(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Store a memory where its namespace is routed to."""
        self._require_connection()
        return await self._children[self._route(request.namespace)].store(agent_id, request)

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """The matches of all children together.

        With a text by score, then newest first; without one newest first.
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
        """The memory with this id from whichever child has it."""
        self._require_connection()
        for child in self._children.values():
            entry = await child.get(agent_id, memory_id)
            if entry is not None:
                return entry
        return None

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Remove the memory from whichever child has it."""
        self._require_connection()
        for child in self._children.values():
            if await child.delete(agent_id, memory_id):
                return True
        return False

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """How many memories the agent has in all children together."""
        self._require_connection()
        counts = (child.count(agent_id, category=category) for child in self._children.values())
        return sum(await asyncio.gather(*counts))

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        """Those that every child supports, so that the route doesn't matter."""
        supported = [child.supported_categories for child in self._capabilities()]
        return frozenset(MemoryCategory).intersection(*supported)

    @property
    def supports_temporal(self) -> bool:
        """Whether every child does."""
        return all(child.supports_temporal for child in self._capabilities())

    @property
    def supports_vector_search(self) -> bool:
        """Whether any child does."""
        return any(child.supports_vector_search for child in self._capabilities())

    @property
    def max_memories_per_agent(self) -> int | None:
        """The smallest bound of a child: from there on a store may be refused."""
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
