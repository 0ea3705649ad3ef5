"""The memories that say what is known, and the table of the lines behind them.

What is known of a project belongs to no agent, and every agent that works there needs it. So its
memories are shared ones of the reserved owner, which no agent can be, of level ``project``: an
agent is given them where it works in the project or a worktree of it, and nowhere else, and they
take no room of any agent. Lines on the person are of level ``persistent``, for all projects.

A line keeps its memory: further evidence edits it. What a person edited stays as it is, and what a
person deleted stays away. A line that nothing certain speaks for any more is put into the archive,
and comes back with new evidence.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.core.enums import MemoryCategory, MemoryLevel
from synthorg_tui.core.projects import folders_of
from synthorg_tui.executions.models import slug
from synthorg_tui.knowledge.lines import KnownLine
from synthorg_tui.knowledge.pages import PageLine, page_name
from synthorg_tui.learning.wishes import stored
from synthorg_tui.memory.enums import ArchiveReason
from synthorg_tui.memory.filter import NON_INFERABLE_TAG
from synthorg_tui.memory.kinds import MemoryKind
from synthorg_tui.memory.models import MemoryDraft, MemoryMetadata, MemoryStoreRequest
from synthorg_tui.memory.shared import SHARED_OWNER
from synthorg_tui.memory.store import queries
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.rows import StoredMemory
from synthorg_tui.memory.store.writer import MemoryWriter
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence.values import aware, insert, naive

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

ACTOR: Final = "knowledge"
_BATCH: Final = 64
_MAX_CONTENT: Final = 600
_TYPES: Final = (
    *("VARCHAR",) * 3,
    "BIGINT",
    *("VARCHAR",) * 3,
    *("BIGINT",) * 3,
    "TIMESTAMP",
    "DOUBLE",
    "VARCHAR[]",
)
_COLUMNS: Final = (
    "k.project, k.section, k.key, k.text, k.counts, k.good, k.bad, k.sessions, k.last_at, "
    "k.certainty, k.episodes"
)


@dataclass(frozen=True, slots=True)
class KnowledgeChange:
    """What became of the memories: how many were added, edited, put aside and brought back."""

    added: int = 0
    updated: int = 0
    withdrawn: int = 0
    restored: int = 0

    def __add__(self, other: "KnowledgeChange") -> "KnowledgeChange":
        return KnowledgeChange(
            self.added + other.added,
            self.updated + other.updated,
            self.withdrawn + other.withdrawn,
            self.restored + other.restored,
        )


class KnownMemories:
    """Stores lines as memories, and reads them for pages."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._writer = MemoryWriter(core)

    async def write(self, projects: Iterable[str], lines: Sequence[KnownLine]) -> KnowledgeChange:
        """Make these lines all that is known of these projects; raises ``MemoryStoreError``."""
        known = {line.memory_key: line for line in await self._lines(projects)}
        wanted = {line.memory_key: line for line in lines}
        fresh = [line for key, line in wanted.items() if known.get(key) != line]
        gone = [key for key in known if key not in wanted]
        restored = await self._restore([line.memory_key for line in fresh])
        added = updated = 0
        for start in range(0, len(fresh), _BATCH):
            drafts = [_draft(line) for line in fresh[start : start + _BATCH]]
            outcome = await self._writer.store_many(SHARED_OWNER, drafts, actor=ACTOR, shared=True)
            added += len(outcome.added)
            updated += len(outcome.updated)
        withdrawn = await self._put_aside(gone, list(wanted.values()) if fresh or gone else [])
        return KnowledgeChange(added, updated, withdrawn, restored)

    async def page_lines(self) -> tuple[PageLine, ...]:
        """Return all lines in the order of their pages, as their live memories have them."""
        where = self._core.live_where(shared=True)
        rows = await self._core.read(
            lambda db: db.execute(
                f"SELECT {_COLUMNS}, m.id::VARCHAR, m.content, m.edited FROM knowledge_lines k "
                f"JOIN memories m ON m.import_key = k.memory_key WHERE {where} "
                "ORDER BY k.project, k.place, k.key",
                where.values,
            ).fetchall()
        )
        return tuple(_shown(row) for row in rows)

    async def _lines(self, projects: Iterable[str]) -> list[KnownLine]:
        """The lines of these projects, those under another folder of one included."""
        listed = sorted({f for project in projects for f in folders_of(project) or ("",)})
        rows = await self._core.read(
            lambda db: db.execute(
                f"SELECT {_COLUMNS} FROM knowledge_lines k "
                "WHERE project IN (SELECT unnest(?::VARCHAR[]))",
                [listed],
            ).fetchall()
        )
        return [_line(row) for row in rows]

    async def _restore(self, keys: Sequence[str]) -> int:
        """Bring back the memories of these keys that were put aside here, and nobody else's."""

        def work(changes: Changes) -> int:
            rows = [row for row in _rows_of(changes.db, keys) if row.archived_at is not None]
            last = queries.last_actors(changes.db, [row.id for row in rows])
            own = [row.id for row in rows if last.get(row.id) == ACTOR]
            return len(changes.restore(own, actor=ACTOR)) if own else 0

        waiting = await self._core.read(
            lambda db: any(row.archived_at is not None for row in _rows_of(db, keys))
        )
        return await self._core.change(work) if waiting else 0

    async def _put_aside(self, gone: Sequence[str], lines: Sequence[KnownLine]) -> int:
        """Archive the memories of lines that are gone, and store the others' lines."""
        if not gone and not lines:
            return 0

        def work(changes: Changes) -> int:
            rows = [row for row in _rows_of(changes.db, gone) if row.is_current and not row.edited]
            changes.archive(rows, why=ArchiveReason.EXPIRED, actor=ACTOR)
            kept = {row.import_key for row in _rows_of(changes.db, gone) if row.edited}
            keys = [*(key for key in gone if key not in kept), *(x.memory_key for x in lines)]
            changes.db.execute(
                "DELETE FROM knowledge_lines WHERE memory_key IN (SELECT unnest(?::VARCHAR[]))",
                [keys],
            )
            values = [_values(line, place) for place, line in enumerate(lines)]
            insert(changes.db, "knowledge_lines", _TYPES, values)
            return len(rows)

        return await self._core.change(work)


def _rows_of(db: "Connection", keys: Sequence[str]) -> list[StoredMemory]:
    rows = queries.imported(db, SHARED_OWNER, keys, [], shared=True)
    return [row for row in rows if row.deleted_at is None]


def _draft(line: KnownLine) -> MemoryDraft:
    about = f"{page_name(line.project)}: " if line.project else ""
    tags = (
        MemoryKind.KNOWLEDGE.value,
        line.section,
        NON_INFERABLE_TAG,
        slug(page_name(line.project)) if line.project else "person",
    )
    return MemoryDraft(
        request=MemoryStoreRequest(
            category=MemoryCategory.SEMANTIC,
            content=stored(f"{about}{line.text} ({line.counts})", _MAX_CONTENT),
            metadata=MemoryMetadata(
                source=f"project:{line.project}",
                confidence=line.certainty,
                tags=tuple(dict.fromkeys(filter(None, tags))),
            ),
        ),
        key=line.memory_key,
        created_at=line.last,
        level=MemoryLevel.PROJECT if line.project else MemoryLevel.PERSISTENT,
        project=line.project or None,
    )


def _values(line: KnownLine, place: int) -> tuple[object, ...]:
    return (
        line.memory_key,
        line.project,
        line.section,
        place,
        line.key,
        line.text,
        line.counts,
        line.good,
        line.bad,
        line.sessions,
        naive(line.last),
        line.certainty,
        list(line.episodes),
    )


def _line(row: Sequence[Any]) -> KnownLine:
    project, section, key, text, counts, good, bad, sessions, last, certainty, episodes = row[:11]
    return KnownLine(
        project=project,
        section=section,
        key=key,
        text=text,
        counts=counts,
        good=good,
        bad=bad,
        sessions=sessions,
        last=aware(last),
        certainty=certainty,
        episodes=tuple(episodes),
    )


def _shown(row: Sequence[Any]) -> PageLine:
    line, (memory_id, content, edited) = _line(row), row[11:]
    return PageLine(line, content if edited else line.text, memory_id, edited)
