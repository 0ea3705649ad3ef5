"""A memory of a backend without a database of ours, with its filters and orders.

The orders are total, so that paging and tests can rely on them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import ValidationError

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.memory.digest.models import DigestItem
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.errors import MemoryStoreError
from synthorg_tui.memory.index.protocol import Visibility
from synthorg_tui.memory.listing import ListedMemory
from synthorg_tui.memory.models import MemoryDraft, MemoryEntry, MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.shared import require_namespace


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """A memory with what its entry doesn't say: who is given it, where, and where it came from.

    The entry's ``agent_id`` is the publisher's of a ``shared`` one. ``level``, ``session_id`` and
    ``project`` are as in ``MemoryDraft``, and so is ``key``.
    """

    entry: MemoryEntry
    shared: bool = False
    level: MemoryLevel = MemoryLevel.PERSISTENT
    session_id: str | None = None
    project: str | None = None
    source_kind: SourceKind = SourceKind.TOOL
    key: str | None = None

    def is_live(self, now: datetime) -> bool:
        """Return whether the memory hasn't expired at this time."""
        return self.entry.expires_at is None or self.entry.expires_at > now

    def is_seen(self, visibility: Visibility | None) -> bool:
        """Return whether the memory is given in this session and project; ``None`` sees all."""
        return visibility is None or visibility.sees(self.level, self.session_id, self.project)

    def listed(self) -> ListedMemory:
        """Return the memory as plain data for display."""
        return replace(
            self.entry.listed(),
            shared=self.shared,
            project=self.project,
            session_id=self.session_id,
            recorded_at=self.entry.created_at,
        )

    def item(self) -> DigestItem:
        """Return the memory as an item of a digest."""
        return DigestItem(self.entry, self.source_kind, self.session_id)


def kept_of(
    memory_id: str,
    agent_id: str,
    draft: MemoryDraft,
    now: datetime,
    *,
    level: MemoryLevel,
    shared: bool = False,
) -> KeptMemory:
    """Convert a draft to a memory to be stored, without secrets; raises ``MemoryStoreError``.

    ``level`` is the agent's, for a draft without one; no agent of level ``none`` stores anything.
    """
    request = draft.request
    require_namespace(request.namespace)
    if level is MemoryLevel.NONE:
        raise MemoryStoreError(f"agent {agent_id} has memory level none: nothing is stored")
    try:
        entry = MemoryEntry(
            id=memory_id,
            agent_id=agent_id,
            namespace=request.namespace,
            category=request.category,
            content=redact_text(request.content, RedactionTally()),
            metadata=request.metadata,
            created_at=draft.created_at or now,
            expires_at=request.expires_at,
        )
    except ValidationError as error:
        reasons = "; ".join(str(problem["msg"]) for problem in error.errors())
        raise MemoryStoreError(f"the memory can't be stored: {reasons}") from error
    return KeptMemory(
        entry,
        shared=shared,
        level=MemoryLevel.PERSISTENT if shared else draft.level or level,
        session_id=draft.session_id,
        project=draft.project,
        source_kind=draft.source_kind,
        key=draft.key,
    )


def says_the_same(entry: MemoryEntry, request: MemoryStoreRequest) -> bool:
    """Return whether a memory has a request's content and category and at least its tags."""
    return (
        entry.content.strip() == request.content.strip()
        and entry.category is request.category
        and set(request.metadata.tags) <= set(entry.metadata.tags)
    )


def passes(entry: MemoryEntry, query: MemoryQuery) -> bool:
    """Return whether a memory passes a query's filters, whatever its text."""
    return (
        (not query.namespaces or entry.namespace in query.namespaces)
        and (not query.categories or entry.category in query.categories)
        and set(query.tags) <= set(entry.metadata.tags)
        and (query.since is None or entry.created_at >= query.since)
        and (query.until is None or entry.created_at < query.until)
    )


def matches(entry: MemoryEntry, query: MemoryQuery) -> bool:
    """Return whether a memory passes a query's filters and contains its text, ignoring case."""
    contains = query.text is None or query.text.casefold() in entry.content.casefold()
    return contains and passes(entry, query)


def newest_first(entries: Iterable[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """Return the memories ordered by creation time, latest first; ties by id."""
    by_id = sorted(entries, key=lambda entry: entry.id)
    return tuple(sorted(by_id, key=lambda entry: entry.created_at, reverse=True))


def by_relevance(entries: Iterable[MemoryEntry], *, default: float) -> tuple[MemoryEntry, ...]:
    """Return the memories ordered by relevance score, best first; ties newest first.

    Memories without a score are treated as having the score ``default``.
    """

    def relevance(entry: MemoryEntry) -> float:
        return default if entry.relevance_score is None else entry.relevance_score

    return tuple(sorted(newest_first(entries), key=relevance, reverse=True))
