"""What the screens ask of the engine, in plain data: no engine type crosses this line."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError

if TYPE_CHECKING:
    from synthorg_tui.tui.activity.ports import ActivityDesk
    from synthorg_tui.tui.approvals.ports import ApprovalsDesk
    from synthorg_tui.tui.digest.ports import DigestDesk
    from synthorg_tui.tui.skills.ports import SkillsDesk

SortOrder = Literal["newest", "oldest", "agent", "category", "confidence"]
SORT_ORDERS: tuple[SortOrder, ...] = ("newest", "oldest", "agent", "category", "confidence")


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory as listed. Scores are set by a search: cosine, raw BM25, and fused in [0, 1]."""

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


@dataclass(frozen=True, slots=True)
class Criteria:
    """What to list; empty fields don't filter. Words must all occur, ``without`` must not."""

    agents: tuple[str, ...] = ()
    categories: tuple[MemoryCategory, ...] = ()
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    words: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Rows from ``offset`` on, of ``total`` that match."""

    rows: tuple[MemoryRow, ...]
    offset: int
    total: int


@dataclass(frozen=True, slots=True)
class Hits:
    """Search results, best first; ``degraded`` says which source was missing, else empty."""

    rows: tuple[MemoryRow, ...]
    degraded: str = ""


@dataclass(frozen=True, slots=True)
class Facets:
    """Live memory counts by agent and by category."""

    agents: tuple[tuple[str, int], ...] = ()
    categories: tuple[tuple[MemoryCategory, int], ...] = ()

    @property
    def total(self) -> int:
        """All live memories."""
        return sum(count for _, count in self.categories)


@dataclass(frozen=True, slots=True)
class Revision:
    """One change; ``before`` and ``after`` hold the fields that changed."""

    at: datetime
    actor: str
    kind: str
    before: dict[str, object]
    after: dict[str, object]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Redacted transcript lines; those from ``first_line`` to ``last_line`` are the source."""

    execution_id: str
    path: str
    first_line: int
    last_line: int
    lines: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory a person writes."""

    agent_id: str
    category: MemoryCategory
    content: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """Fields to change; what is ``None`` stays."""

    content: str | None = None
    category: MemoryCategory | None = None
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """Transcripts found under ``root``; ``bytes`` is their size on disk."""

    reader: str
    root: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ImportStep:
    """How far an import is. ``seconds_left`` is ``None`` until it can be estimated."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    memories_added: int
    bytes_per_second: float
    seconds_left: float | None
    current: str


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import did; ``skipped`` pairs a file with the reason."""

    files: int
    executions: int
    memories_added: int
    memories_updated: int
    memories_skipped: int
    calls: tuple[tuple[str, int], ...]
    recoveries: int
    redactions: int
    malformed_lines: int
    skipped: tuple[tuple[str, str], ...]
    cancelled: bool
    lessons: int = 0


class MemoryShelf(Protocol):
    """Memories to look through. Failures are ``DomainError``."""

    async def page(self, what: Criteria, *, sort: SortOrder, offset: int, limit: int) -> Page:
        """A window on the memories that match."""
        ...

    async def facets(self) -> Facets:
        """Live counts."""
        ...

    async def history(self, memory_id: str) -> tuple[Revision, ...]:
        """Every change to a memory, newest first."""
        ...


class MemoryDesk(MemoryShelf, Protocol):
    """The memories of all agents, for a person. Failures are ``DomainError``."""

    @property
    def digests(self) -> "DigestDesk":
        """What agents would be given of them."""
        ...

    @property
    def approvals(self) -> "ApprovalsDesk":
        """What waits for a person."""
        ...

    @property
    def skills(self) -> "SkillsDesk":
        """The skills on disk."""
        ...

    @property
    def activity(self) -> "ActivityDesk":
        """What connected agents do."""
        ...

    async def search(self, text: str, what: Criteria, *, limit: int) -> Hits:
        """What is relevant to the text, among the memories that match; may be nothing."""
        ...

    async def add(self, draft: Draft) -> str:
        """Keep a new memory and return its id."""
        ...

    async def edit(self, memory_id: str, change: Change) -> MemoryRow:
        """Change a memory."""
        ...

    async def remove(self, memory_ids: Sequence[str]) -> int:
        """Soft-delete; ``restore`` brings them back."""
        ...

    async def restore(self, memory_ids: Sequence[str]) -> int:
        """Undo a soft delete; returns how many came back."""
        ...

    async def erasing(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """What erasing these takes with it, and what it leaves; a line each."""
        ...

    async def purge(self, memory_ids: Sequence[str]) -> int:
        """Erase for good."""
        ...

    async def excerpt(self, source: str, *, context: int) -> Excerpt | None:
        """The transcript lines a source names; ``None`` when it is no transcript or is gone."""
        ...

    async def found_places(self) -> tuple[FoundPlace, ...]:
        """Where transcripts are on this machine."""
        ...

    async def run_import(
        self,
        roots: Sequence[str],
        *,
        progress: Callable[[ImportStep], None],
        cancel: threading.Event,
    ) -> ImportOutcome:
        """Import; cancelling keeps what is done. ``progress`` may be called from any thread."""
        ...

    async def load_sample(self) -> ImportOutcome:
        """Import the sample sessions the program carries."""
        ...


class DeskHost(Protocol):
    """Opens the desk once the screen is painted, and closes it at the end."""

    def listen(
        self,
        *,
        failed: Callable[[DomainError], None],
        waits: Callable[[DomainError], None],
        indexes: Callable[[float | None], None],
    ) -> None:
        """Tell what fails after the desk is open, who is waited for until it is, and how far the
        search index has come while it is built: from 0 to 1, then ``None``.
        """
        ...

    async def look(self) -> MemoryShelf | None:
        """What can be looked through before the desk is open, if anything; raises as ``open``."""
        ...

    async def open(self) -> MemoryDesk:
        """The open desk; raises ``DomainError`` with the cause and a remedy."""
        ...

    async def close(self) -> None:
        """Close what was opened; closing twice does nothing."""
        ...
