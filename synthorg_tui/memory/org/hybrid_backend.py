"""Organisation memory as every agent is told it: core policies always, facts on demand.

The documented backend, on the log in ``store``. The other backends are this one with another way to
find facts: ``search`` by meaning, ``temporal`` with what was said before, ``graph_rag`` by paths.
"""

from collections.abc import Sequence
from typing import Final

from synthorg_tui.core.enums import OrgFactCategory
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.memory.org.access_control import WriteAccessConfig, require_write_access
from synthorg_tui.memory.org.changes import OrgChange, OrgChangeKind
from synthorg_tui.memory.org.errors import (
    OrgMemoryConnectionError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
    translate_org_errors,
)
from synthorg_tui.memory.org.log import count_of
from synthorg_tui.memory.org.models import (
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)
from synthorg_tui.memory.org.policies import policies_of_settings
from synthorg_tui.memory.org.search import WRITTEN, FoundFact, OrgSearch, as_candidate
from synthorg_tui.memory.org.store import OrgAct, OrgStore

_POLICY: Final = frozenset({OrgFactCategory.CORE_POLICY})


class HybridPromptRetrievalBackend:
    """Implements ``OrgMemoryBackend``: policies go into every prompt, other facts are searched.

    Args:
        core_policies: Those of the settings; they stand first and are never written.
        store: Where facts are kept; it must be open before ``connect``.
        access_config: Who may write facts of which category.
        search: Finds facts by meaning and words; without it ``query`` has the documented order by
            text.
        backend_name: The name by which the settings select it.
    """

    def __init__(
        self,
        *,
        core_policies: Sequence[str] = (),
        store: OrgStore,
        access_config: WriteAccessConfig | None = None,
        search: OrgSearch | None = None,
        backend_name: NotBlankStr = "hybrid_prompt_retrieval",
    ) -> None:
        self.backend_name = backend_name
        self._core_policies = tuple(core_policies)
        self._store = store
        self._search = search
        self._access = access_config or WriteAccessConfig()
        self._connected = False

    @property
    def is_connected(self) -> bool:
        """Whether ``connect`` was called, and the store is open still."""
        return self._connected and self._store.core.is_open

    async def connect(self) -> None:
        """Make the backend ready; raises ``OrgMemoryConnectionError`` when the store is closed."""
        if not self._store.core.is_open:
            raise OrgMemoryConnectionError("the store of organisation memory is not open")
        self._connected = True

    async def disconnect(self) -> None:
        """Release the store, which stays open for its other users."""
        self._connected = False

    async def health_check(self) -> bool:
        """Return whether it is connected and the database answers."""
        return self.is_connected and await self._store.core.answers()

    async def query(self, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        """Return the active facts that answer the query, the best first, of all projects.

        The limit is the query's. Raises ``OrgMemoryQueryError``.
        """
        return tuple(found.fact for found in await self.find(query))

    async def find(
        self, query: OrgMemoryQuery, *, project: str | None = None
    ) -> tuple[FoundFact, ...]:
        """Return what ``query`` does, explained, for whoever asks from a project.

        ``project`` is as in ``OrgSearch.find``. Raises ``OrgMemoryQueryError``.
        """
        self._require_connection()
        with translate_org_errors(OrgMemoryQueryError, "searching the organisation's facts"):
            if self._search is not None:
                return await self._search.find(query, project=project)
            facts = await self._store.matching(
                query.context, categories=query.categories, limit=query.limit
            )
        reason = "is among the newest" if query.context is None else WRITTEN
        return tuple(
            FoundFact(fact, 1.0, as_candidate(fact, reason=reason, rank=rank))
            for rank, fact in enumerate(facts, start=1)
        )

    async def write(self, request: OrgFactWriteRequest, *, author: OrgFactAuthor) -> NotBlankStr:
        """Write a new fact and return its id.

        Raises ``OrgMemoryAccessDeniedError`` and ``OrgMemoryWriteError``; nothing has changed then.
        """
        self._require_connection()
        require_write_access(self._access, request.category, author)
        actor = "person" if author.is_human else str(author.agent_id)
        with translate_org_errors(OrgMemoryWriteError, "writing the fact"):
            new = OrgChange(kind=OrgChangeKind.PUBLISH, author=author, request=request)
            (written,) = await self._store.change([new], OrgAct(actor))
            return written.fact_id

    async def list_policies(
        self, *, limit: int | None = None, offset: int = 0
    ) -> tuple[OrgFact, ...]:
        """Return core policies: those of the settings first, then written ones, newest first.

        ``limit`` and ``offset`` cut this list; negative ones are 0, ``None`` is all.
        """
        self._require_connection()
        with translate_org_errors(OrgMemoryQueryError, "listing policies"):
            written = await self._store.matching(None, categories=_POLICY)
        policies = (
            *policies_of_settings(self._core_policies, self._store.core.clock.now()),
            *written,
        )
        start = max(offset, 0)
        return policies[start : None if limit is None else start + max(limit, 0)]

    async def count_policies(self) -> int:
        """Return how many ``list_policies`` lists without a limit."""
        self._require_connection()
        with translate_org_errors(OrgMemoryQueryError, "counting policies"):
            written = await self._store.core.read(
                lambda db: count_of(db, OrgFactCategory.CORE_POLICY)
            )
        return len(self._core_policies) + written

    def _require_connection(self) -> None:
        if not self.is_connected:
            raise OrgMemoryConnectionError(
                "organisation memory is not connected", remedy="Call connect() first."
            )
