"""Several backends behind one, each with the namespaces that are routed to it.

An ability of only some of its backends is used where these have it; an operation that needs it of
another backend fails with an error that names that backend.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.backends.desk import PlainDesk, all_listed
from synthorg_tui.memory.backends.digest_items import DigestItems, JoinedDigestSource
from synthorg_tui.memory.backends.kept import by_relevance, newest_first
from synthorg_tui.memory.capabilities import MemoryCapabilities
from synthorg_tui.memory.digest.models import DigestSource
from synthorg_tui.memory.errors import (
    MemoryCapabilityError,
    MemoryConfigError,
    MemoryConnectionError,
)
from synthorg_tui.memory.extensions import BatchStore, PlacedMemories
from synthorg_tui.memory.index.protocol import IndexHit, IndexHits, Visibility
from synthorg_tui.memory.listing import ListedMemory, MemoryRevision
from synthorg_tui.memory.models import (
    BatchOutcome,
    MemoryDraft,
    MemoryEntry,
    MemoryQuery,
    MemoryStoreRequest,
)
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.retrieval.hits import (
    CandidateSource,
    ContentLookup,
    ScopedViews,
    SearchHit,
    SearchResult,
    SparseSearch,
)
from synthorg_tui.memory.retrieval.relevance import fuse_hits
from synthorg_tui.memory.shared import SharedKnowledgeStore

T = TypeVar("T")

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
        return await self._open[self._route(request.namespace)].store(agent_id, request)

    async def retrieve(self, agent_id: NotBlankStr, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the merged matches of all children, at most ``query.limit``.

        With a query text they are ordered by score and then newest first, without one newest first.
        """
        answers = await asyncio.gather(
            *(self._open[name].retrieve(agent_id, part) for name, part in self._parts(query))
        )
        found = [entry for answer in answers for entry in answer]
        if query.text is None:
            return newest_first(found)[: query.limit]
        return by_relevance(found, default=self._default_relevance)[: query.limit]

    async def get(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> MemoryEntry | None:
        """Return the memory with this id from the child that has it, or ``None``."""
        for child in self._open.values():
            entry = await child.get(agent_id, memory_id)
            if entry is not None:
                return entry
        return None

    async def delete(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Delete the memory from the child that has it; return ``False`` when none has it."""
        for child in self._open.values():
            if await child.delete(agent_id, memory_id):
                return True
        return False

    async def count(self, agent_id: NotBlankStr, *, category: MemoryCategory | None = None) -> int:
        """Return the number of the agent's memories in all children together."""
        counts = (child.count(agent_id, category=category) for child in self._open.values())
        return sum(await asyncio.gather(*counts))

    async def retrieve_sparse(
        self, agent_id: NotBlankStr, query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        """Return the matches by keywords of those children that search by them, best first."""
        parts = self._parts(query)
        able = [(self._open[name], part) for name, part in parts]
        answers = await asyncio.gather(
            *(c.retrieve_sparse(agent_id, part) for c, part in able if isinstance(c, SparseSearch))
        )
        found = [entry for answer in answers for entry in answer]
        return by_relevance(found, default=self._default_relevance)[: query.limit]

    async def candidates(
        self, agent_id: NotBlankStr, query: MemoryQuery, *, include_shared: bool
    ) -> SearchResult:
        """Return the candidates of all children, their rankings fused anew."""
        parts = self._parts(query)
        answers = await asyncio.gather(
            *(self._of_child(name, agent_id, part, include_shared) for name, part in parts)
        )
        hits = {hit.entry.id: hit for answer in answers for hit in answer.hits}
        fused = fuse_hits(_rankings(list(hits.values())), limit=len(hits))
        return SearchResult(
            tuple(replace(hits[each.id], fused=each.fused) for each in fused),
            "; ".join(answer.degraded for answer in answers if answer.degraded),
            _merged(answer.neighbours for answer in answers),
            _merged(answer.copies for answer in answers),
            _merged(answer.places for answer in answers),
            _merged(answer.made_of for answer in answers),
        )

    async def with_content(
        self, agent_id: NotBlankStr, request: MemoryStoreRequest
    ) -> NotBlankStr | None:
        """Return the id of the memory that a request would duplicate where it would be stored."""
        child = self._open[self._route(request.namespace)]
        if not isinstance(child, ContentLookup):
            return None
        return await child.with_content(agent_id, request)

    async def given_alike(self, agent_id: NotBlankStr) -> frozenset[str]:
        """Return the ids of the memories that are given where a new one would be."""
        able = [c for c in self._children.values() if isinstance(c, PlacedMemories)]
        return frozenset().union(*[await child.given_alike(agent_id) for child in able])

    async def store_many(
        self, agent_id: NotBlankStr, drafts: Sequence[MemoryDraft], *, actor: str
    ) -> BatchOutcome:
        """Store each draft in the child for its namespace, all or nothing in each of them."""
        outcomes = []
        for name in dict.fromkeys(self._route(draft.request.namespace) for draft in drafts):
            own = [draft for draft in drafts if self._route(draft.request.namespace) == name]
            child = self._open[name]
            if not isinstance(child, BatchStore):
                raise _lacks(child, "stores no drafts")
            outcomes.append(await child.store_many(agent_id, own, actor=actor))
        return BatchOutcome(
            added=tuple(one for outcome in outcomes for one in outcome.added),
            updated=tuple(one for outcome in outcomes for one in outcome.updated),
            skipped=tuple(one for outcome in outcomes for one in outcome.skipped),
            waiting=tuple(one for outcome in outcomes for one in outcome.waiting),
        )

    async def publish(self, agent_id: NotBlankStr, request: MemoryStoreRequest) -> NotBlankStr:
        """Share a memory in the child for its namespace.

        Raises ``MemoryCapabilityError`` when that shares nothing.
        """
        child = self._open[self._route(request.namespace)]
        if not isinstance(child, SharedKnowledgeStore):
            raise _lacks(child, "shares no memories between agents")
        return await child.publish(agent_id, request)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: NotBlankStr | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return what is shared in all children that share."""
        able = [(self._open[name], part) for name, part in self._parts(query)]
        answers = [
            await child.search_shared(part, exclude_agent=exclude_agent)
            for child, part in able
            if isinstance(child, SharedKnowledgeStore)
        ]
        found = [entry for answer in answers for entry in answer]
        if query.text is None:
            return newest_first(found)[: query.limit]
        return by_relevance(found, default=self._default_relevance)[: query.limit]

    async def retract(self, agent_id: NotBlankStr, memory_id: NotBlankStr) -> bool:
        """Withdraw a memory from the child that has it; ``False`` when none has it."""
        for child in self._open.values():
            if isinstance(child, SharedKnowledgeStore) and await child.retract(agent_id, memory_id):
                return True
        return False

    def scoped(self, visibility: Visibility) -> "CompositeBackend":
        """Return a view from that session and project; children without levels stay as they are."""
        views = {
            name: child.scoped(visibility) if isinstance(child, ScopedViews) else child
            for name, child in self._children.items()
        }
        return CompositeBackend(
            views,
            routes=self._routes,
            default=self._default,
            default_relevance=self._default_relevance,
        )

    def digest_items(self) -> DigestSource:
        """Return the source of digests from all children that have one."""
        able = [c for c in self._children.values() if isinstance(c, DigestItems)]
        return JoinedDigestSource([child.digest_items() for child in able])

    @cached_property
    def admin(self) -> PlainDesk:
        """Access to the memories of all agents, for a person; must not be given to agents."""
        return PlainDesk(self)

    async def everything(self) -> tuple[ListedMemory, ...]:
        """Return all live memories of all agents, for a person."""
        parts = [await all_listed(child) for child in self._open.values()]
        return tuple(memory for part in parts for memory in part)

    async def history(self, memory_id: str) -> Sequence[MemoryRevision]:
        """Return nothing: changes are recorded by children, each in its own way."""
        return ()

    @property
    def supports_shared_access(self) -> bool:
        """Whether every child lets agents share, so that they may in any namespace."""
        return all(isinstance(c, SharedKnowledgeStore) for c in self._children.values())

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

    async def _of_child(
        self, name: str, agent_id: str, query: MemoryQuery, include_shared: bool
    ) -> SearchResult:
        """The candidates of one child; without raw scores its relevance counts as a cosine."""
        child = self._open[name]
        if isinstance(child, CandidateSource):
            return await child.candidates(agent_id, query, include_shared=include_shared)
        entries = await child.retrieve(agent_id, query)
        scores = [
            self._default_relevance if e.relevance_score is None else e.relevance_score
            for e in entries
        ]
        return SearchResult(
            tuple(SearchHit(e, s, None, s) for e, s in zip(entries, scores, strict=True))
        )

    @property
    def _open(self) -> dict[str, MemoryBackend]:
        """The children, once all of them are connected; raises ``MemoryConnectionError``."""
        if not self.is_connected:
            raise MemoryConnectionError("the composite backend is not connected")
        return self._children


def _lacks(child: MemoryBackend, lacking: str) -> MemoryCapabilityError:
    return MemoryCapabilityError(
        f"the {child.backend_name} backend {lacking}",
        remedy="Route the namespace to another backend in memory.composite.routes.",
    )


def _rankings(hits: Sequence[SearchHit]) -> IndexHits:
    """What stands in each ranking, with its raw score, best first."""
    dense = [IndexHit(hit.entry.id, hit.dense) for hit in hits if hit.dense is not None]
    sparse = [IndexHit(hit.entry.id, hit.sparse) for hit in hits if hit.sparse is not None]
    return IndexHits(
        dense=tuple(sorted(dense, key=lambda hit: -hit.score)),
        sparse=tuple(sorted(sparse, key=lambda hit: -hit.score)),
    )


def _merged(parts: Iterable[Mapping[str, T]]) -> dict[str, T]:
    return {key: value for part in parts for key, value in part.items()}


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
