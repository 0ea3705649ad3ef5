"""What a person asks for when looking through a store, and the plain parts of the answer.

Loaded before the first rows are on the screen: nothing here needs pydantic.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from synthorg_tui.core.enums import MemoryCategory

SortOrder = Literal["newest", "oldest", "agent", "category", "confidence"]


@dataclass(frozen=True, slots=True)
class BrowseFilter:
    """What a person wants listed; empty fields don't filter.

    ``words`` must all occur in the content (case-insensitive), ``without`` must not.
    """

    agents: tuple[str, ...] = ()
    categories: tuple[MemoryCategory, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Facets:
    """Live memory counts by agent and by category."""

    agents: tuple[tuple[str, int], ...]
    categories: tuple[tuple[MemoryCategory, int], ...]


class ChangeKind(StrEnum):
    """What a revision did to a memory."""

    ADDED = "added"
    EDITED = "edited"
    DELETED = "deleted"
    RESTORED = "restored"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class MemoryRevision:
    """One change in a memory's history; ``before`` and ``after`` hold the fields that changed."""

    revision: int
    memory_id: str
    at: datetime
    actor: str
    kind: ChangeKind
    before: dict[str, object]
    after: dict[str, object]
