"""Models of memories as agents and backends exchange them, validated by pydantic.

Requests, queries, drafts and results of a memory backend. Listings and searches for a person use
the plain data in ``listing`` instead.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.types import FrozenModel, NotBlankStr
from synthorg_tui.memory.enums import Sensitivity, SourceKind
from synthorg_tui.memory.listing import ListedMemory

DEFAULT_NAMESPACE = "default"
MAX_QUERY_LIMIT = 1000


def _deduplicate(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tags))


Tags = Annotated[tuple[NotBlankStr, ...], AfterValidator(_deduplicate)]
"""Tags without repeats, first occurrences in order."""


class MemoryMetadata(FrozenModel):
    """Origin, confidence and tags of a memory; ``confidence`` is in [0, 1]."""

    source: NotBlankStr | None = None
    confidence: float = Field(default=1.0, ge=0.0, le=1.0)
    tags: Tags = ()


class MemoryStoreRequest(FrozenModel):
    """A memory to store; the backend assigns its id and creation time."""

    category: MemoryCategory
    namespace: NotBlankStr = DEFAULT_NAMESPACE
    content: NotBlankStr
    metadata: MemoryMetadata = MemoryMetadata.model_construct()
    expires_at: AwareDatetime | None = None


class MemoryEntry(FrozenModel):
    """A stored memory, as returned by backends.

    ``relevance_score`` is in [0, 1] and set by searches only.
    """

    id: NotBlankStr
    agent_id: NotBlankStr
    namespace: NotBlankStr = DEFAULT_NAMESPACE
    category: MemoryCategory
    content: NotBlankStr
    metadata: MemoryMetadata = MemoryMetadata.model_construct()
    created_at: AwareDatetime
    updated_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    relevance_score: float | None = Field(default=None, ge=0.0, le=1.0)
    seen_times: int = Field(default=1, ge=1)
    last_seen: AwareDatetime | None = None

    @model_validator(mode="after")
    def _validate_timestamps(self) -> Self:
        for field in ("updated_at", "expires_at"):
            value = getattr(self, field)
            if value is not None and value < self.created_at:
                raise ValueError(f"{field} ({value}) must be >= created_at ({self.created_at})")
        return self

    def listed(self) -> ListedMemory:
        """Return the memory as plain data for display, without scores."""
        return ListedMemory(
            id=self.id,
            agent_id=self.agent_id,
            category=self.category,
            content=self.content,
            created_at=self.created_at,
            tags=self.metadata.tags,
            source=self.metadata.source,
            confidence=self.metadata.confidence,
            namespace=self.namespace,
            updated_at=self.updated_at,
            expires_at=self.expires_at,
        )


SHORT_ID_CHARS: Final = 8
_SHORT_ID: Final = re.compile(f"[0-9a-fA-F]{{{SHORT_ID_CHARS}}}")


def short_id(memory_id: str) -> str:
    """Return how a memory's id begins, by which an agent may ask for it; whole if it is no UUID."""
    start = memory_id[:SHORT_ID_CHARS]
    return start if memory_id[SHORT_ID_CHARS:].startswith("-") and is_short_id(start) else memory_id


def is_short_id(text: str) -> bool:
    """Return whether a text may be the result of ``short_id``."""
    return _SHORT_ID.fullmatch(text) is not None


class MemoryQuery(FrozenModel):
    """Filters and, optionally, a text to search memories for.

    A memory matches when it was created in [``since``, ``until``) and has all of ``tags``. Empty or
    missing categories and namespaces don't filter. ``min_relevance`` excludes only memories with a
    lower score; those without a score pass. Expired memories never match.
    """

    text: NotBlankStr | None = None
    namespaces: frozenset[NotBlankStr] | None = None
    categories: frozenset[MemoryCategory] | None = None
    tags: Tags = ()
    min_relevance: float = Field(default=0.0, ge=0.0, le=1.0)
    limit: int = Field(default=10, ge=1, le=MAX_QUERY_LIMIT)
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None

    @model_validator(mode="after")
    def _validate_time_range(self) -> Self:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("since must be before until")
        return self


class MemoryDraft(FrozenModel):
    """A memory to be stored by an import.

    ``key`` identifies the same experience across imports. Storing a draft with a known key is
    skipped when nothing changed, updates the memory when its content changed, and is refused when a
    person deleted it. ``created_at`` is when the experience happened, by default now. ``level`` is
    its visibility, by default the agent's. ``project`` is a canonical path; ``source_kind`` is the
    kind of author. ``valid_from`` and ``valid_to`` are when a fact is true.
    """

    request: MemoryStoreRequest
    key: NotBlankStr | None = None
    created_at: AwareDatetime | None = None
    level: MemoryLevel | None = None
    session_id: NotBlankStr | None = None
    project: NotBlankStr | None = None
    source_kind: SourceKind = SourceKind.IMPORT
    valid_from: AwareDatetime | None = None
    valid_to: AwareDatetime | None = None


AGENT_IS_FULL: Final = "the agent's memory is full"
"""Reason for which a draft is skipped when the agent has as many memories as it may have."""


class MemoryEdit(FrozenModel):
    """Changes to the fields of a memory; fields that are ``None`` stay unchanged.

    New ``tags`` preserve the memory's fact key and sensitivity unless they set others. An empty
    ``fact_key`` removes the key; only semantic, social and working memories can have one. Only
    facts have times between which they are true.
    """

    content: NotBlankStr | None = None
    category: MemoryCategory | None = None
    tags: Tags | None = None
    confidence: float | None = None
    sensitivity: Sensitivity | None = None
    fact_key: str | None = None
    valid_from: AwareDatetime | None = None
    valid_to: AwareDatetime | None = None


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Result of storing a batch of drafts.

    ``added`` and ``updated`` are memory ids; ``skipped`` pairs the key of a draft with the reason.
    ``waiting`` are ids of approval items, for drafts that aren't stored until a person approves
    them.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    skipped: tuple[tuple[str | None, str], ...] = ()
    waiting: tuple[str, ...] = ()
