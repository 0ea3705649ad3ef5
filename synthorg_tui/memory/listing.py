"""Plain data for a person's listings and searches of a store: filters, pages and results.

Commands and screens use these classes as they are. The first rows are on the screen before the
engine is loaded, so nothing here may import pydantic, DuckDB or a model.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, get_args

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.paths import short_path
from synthorg_tui.core.projects import project_name, project_names, same_project
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.kinds import FACT_PREFIX, MemoryKind, kind_of

SortOrder = Literal["newest", "oldest", "agent", "category", "confidence"]
SORT_ORDERS: tuple[SortOrder, ...] = get_args(SortOrder)

SHARED_OWNER: Final = "__synthorg_shared__"
"""Reserved owner of shared memories; no agent may use it as its id."""
ORG_OWNER: Final = "__synthorg_org__"
"""Reserved owner of what the organisation knows; no agent may use it as its id."""
ORG_NAMESPACE: Final = "org"
"""Reserved namespace of what the organisation knows; no memory may be stored in it."""
ALL_AGENTS: Final = "all agents"
"""What the reserved owner is called to people."""

MemoryState = Literal["edited", "expiring", "expired", "archived", "shared"]
MEMORY_STATES: tuple[MemoryState, ...] = get_args(MemoryState)
"""What a listing can ask of a memory: changed by hand, with an end, past that end, archived,
given to all agents."""


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """A memory as shown to a person; times are in UTC.

    Only searches set the scores. ``dense`` is the cosine similarity and ``sparse`` the raw BM25
    score, each ``None`` when the respective ranking didn't return the memory. ``fused`` is the
    combined score in [0, 1] by which search results are ordered. Of exact copies a search returns
    one, which was seen ``seen_times``, last at ``last_seen`` (``None`` for once). ``project`` is
    the path of a folder, ``session_id`` what the agent's own program calls the session.
    ``archived_why`` is an ``ArchiveReason``. A ``shared`` memory is given to all agents but the one
    that published it. A fact is true from ``valid_from``, by default since
    it happened, until ``valid_to``; ``recorded_at`` is when this store learnt of the memory. Only
    listings set ``stands_on_replaced``: when a fact was replaced that the memory was derived from
    or depends on.
    """

    id: str
    agent_id: str
    category: MemoryCategory
    content: str
    created_at: datetime
    tags: tuple[str, ...] = ()
    source: str | None = None
    confidence: float = 1.0
    namespace: str = "default"
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    dense: float | None = None
    sparse: float | None = None
    fused: float | None = None
    deleted_at: datetime | None = None
    project: str | None = None
    session_id: str | None = None
    edited: bool = False
    archived_at: datetime | None = None
    archived_why: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    recorded_at: datetime | None = None
    stands_on_replaced: datetime | None = None
    seen_times: int = 1
    last_seen: datetime | None = None
    shared: bool = False

    @property
    def kind(self) -> MemoryKind:
        """What sort of thing the memory tells."""
        return kind_of(self.category, self.tags, self.content)

    @property
    def is_fact(self) -> bool:
        """Whether it states something under a key, whatever its category."""
        return any(tag.startswith(FACT_PREFIX) for tag in self.tags)

    @property
    def project_name(self) -> str:
        """What people call the project; empty without one."""
        return project_name(self.project or "")

    @property
    def stored_session(self) -> str:
        """The id of the stored session that the memory was drawn from; empty without one."""
        session, mark, _ = (self.source or "").partition("#")
        return session if mark else ""

    def is_of(self, session: str) -> bool:
        """Return whether the memory was drawn from this session, or from one of its subagents'.

        Of a session that isn't stored, ``session`` is what the agent's own program calls it.
        """
        drawn_from, source = self.stored_session, self.source or ""
        return (
            session in (self.session_id, source, drawn_from)
            or drawn_from.startswith(f"{session}/")
            or source.endswith(f":{session}")
        )

    def is_live(self, now: datetime) -> bool:
        """Return whether the memory is not deleted, archived or, at the time ``now``, expired."""
        is_kept = self.deleted_at is None and self.archived_at is None
        return is_kept and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of a listing.

    ``entries`` are the matches from position ``offset`` (0-based) on; ``total`` is the number of
    all matches.
    """

    entries: tuple[ListedMemory, ...]
    offset: int
    total: int


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Search results, best first.

    ``degraded`` says in words which source could not be searched; empty when none was missing.
    """

    hits: tuple[ListedMemory, ...]
    degraded: str = ""


@dataclass(frozen=True, slots=True)
class Unwanted:
    """What a listing leaves out: memories of one of these groups, or with one of these tags."""

    agents: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    kinds: tuple[MemoryKind, ...] = ()
    categories: tuple[MemoryCategory, ...] = ()
    tags: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrowseFilter:
    """Filter of a listing; empty fields don't restrict it.

    A memory must contain all of ``words`` (case-insensitive) and none of ``without``, have all
    ``tags`` (case-insensitive, too) and ``states``, and have been created in [``since``,
    ``until``). ``projects`` are paths, ``sessions`` as in ``ListedMemory.is_of``. With ``deleted``
    only soft-deleted and expired memories are listed, with the state ``expired`` only expired ones,
    with ``archived`` only archived ones, and of these only those for one of the reasons
    ``archived_for``.
    """

    agents: tuple[str, ...] = ()
    categories: tuple[MemoryCategory, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    deleted: bool = False
    projects: tuple[str, ...] = ()
    kinds: tuple[MemoryKind, ...] = ()
    states: tuple[MemoryState, ...] = ()
    sessions: tuple[str, ...] = ()
    unwanted: Unwanted = Unwanted()
    archived_for: tuple[ArchiveReason, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is restricted."""
        return self == BrowseFilter()


@dataclass(frozen=True, slots=True)
class AgentPlaces:
    """The projects (folders) and sessions of an agent's memories, those of the newest first.

    ``sessions`` are only those with memories that are limited to them.
    """

    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()

    def usual(self, here: Path) -> str | None:
        """Return the project that ``here`` is in, else the agent's latest; ``None`` without any."""
        return project_of(here, self.projects) or (self.projects[0] if self.projects else None)


@dataclass(frozen=True, slots=True)
class Facets:
    """Numbers of live memories by agent, category, project (a path) and kind.

    Kinds are counted only under a filter, and all ``archived`` memories only without one. ``limit``
    is how many an agent may have; ``None`` means any number. ``final`` tells that the backend keeps
    no record of changes, so that what is deleted is gone and nothing is undone.
    """

    agents: tuple[tuple[str, int], ...] = ()
    categories: tuple[tuple[MemoryCategory, int], ...] = ()
    limit: int | None = None
    projects: tuple[tuple[str, int], ...] = ()
    kinds: tuple[tuple[MemoryKind, int], ...] = ()
    archived: int = 0
    final: bool = False

    @property
    def total(self) -> int:
        """Number of all live memories."""
        return sum(count for _, count in self.categories)

    @property
    def named_agents(self) -> tuple[str, ...]:
        """The ids of those that are agents: all but the owner of what belongs to everybody."""
        return tuple(agent for agent, _ in self.agents if agent != SHARED_OWNER)

    def is_full(self, count: int) -> bool:
        """Tell whether an agent with so many memories can store no more."""
        return self.limit is not None and count >= self.limit


def owner_words(agent_id: str) -> str:
    """Return whose a memory is, for people."""
    return ALL_AGENTS if agent_id == SHARED_OWNER else agent_id


def owner_named(words: str) -> str:
    """Return the owner that a person calls so."""
    return SHARED_OWNER if words == ALL_AGENTS else words


def project_of(here: Path, projects: Collection[str]) -> str | None:
    """Return the one of the projects that the folder ``here`` is of or in, or ``None``."""
    found = next((str(at) for at in (here, *here.parents) if str(at) in projects), None)
    return found or next((each for each in projects if same_project(each, str(here))), None)


def answered_elsewhere(
    project: str | None, here: Path, agent: str, counts: Sequence[tuple[str, int]]
) -> str:
    """Return for which project is answered in a folder that is none, and which others hold more.

    Empty in a folder of the project; ``counts`` are the memories of each.
    """
    if project is None or same_project(project, str(here)):
        return ""
    told = f"this folder is no known project: as in {short_path(project)}, the latest of {agent}"
    others = [(each, count) for each, count in counts if each != project]
    names = project_names([each for each, _ in others])
    few = ", ".join(f"{names[each]} {count:,}" for each, count in others[:3])
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return f"{told}; other projects hold more ({few}{more})" if others else told


def projects_named(value: str, projects: Sequence[str]) -> list[str]:
    """Return the project of this path, else all whose folder is called so, else in part."""
    folded = value.lower()
    return (
        [path for path in projects if path == value]
        or [path for path in projects if project_name(path).lower() == folded]
        or [path for path in projects if folded in project_name(path).lower()]
    )


class ChangeKind(StrEnum):
    """Kind of change that a revision made to a memory."""

    ADDED = "added"
    EDITED = "edited"
    DELETED = "deleted"
    ARCHIVED = "archived"
    RESTORED = "restored"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class MemoryRevision:
    """One change in a memory's history.

    ``before`` and ``after`` hold the old and new values of the changed fields only. ``actor`` names
    the author of the change.
    """

    revision: int
    memory_id: str
    at: datetime
    actor: str
    kind: ChangeKind
    before: dict[str, object]
    after: dict[str, object]


@dataclass(frozen=True, slots=True)
class UndoneAct:
    """A person's change of memories that was undone or redone.

    ``kind`` and ``at`` are those of the change itself; ``title`` is the first line of the first
    memory as it was before.
    """

    kind: ChangeKind
    memory_ids: tuple[str, ...]
    at: datetime
    title: str


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """A call of an agent that was given a memory: a digest, or a tool's reply.

    ``task`` is what it asked for, empty where that isn't recorded; ``score`` is the memory's in
    that digest, ``None`` if none is recorded.
    """

    number: int
    at: datetime
    agent_id: str
    name: str
    task: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent that is declared in the settings or has memories, or both.

    ``memories`` is the number of its memories; ``is_full`` tells that it can store no more.
    """

    id: str
    role: str | None
    department: str | None
    level: MemoryLevel
    declared: bool
    memories: int
    is_full: bool = False
