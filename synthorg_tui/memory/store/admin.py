"""A person's operations on the memories of all agents: find, list, change, delete, erase.

It sees every agent, session and project, so nothing here may be handed to an agent.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from synthorg_tui.core.enums import MemoryLevel
from synthorg_tui.core.projects import repository_of
from synthorg_tui.core.redaction import RedactionTally, redact_text
from synthorg_tui.core.types import NotBlankStr
from synthorg_tui.executions.drawn import DrawnMemory, drawn_from
from synthorg_tui.executions.models import SourceRef
from synthorg_tui.memory.enums import ArchiveReason, EdgeKind
from synthorg_tui.memory.errors import (
    MemoryNotFoundError,
    MemoryRetrievalError,
    MemoryStoreError,
    translate_errors,
)
from synthorg_tui.memory.extensions import (
    BundleOutcome,
    MemoryBundle,
    MemoryEdit,
)
from synthorg_tui.memory.listing import (
    SHARED_OWNER,
    AgentPlaces,
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    SortOrder,
    UndoneAct,
)
from synthorg_tui.memory.models import MemoryQuery
from synthorg_tui.memory.org.erasing import redact_facts
from synthorg_tui.memory.org.store import OrgStore
from synthorg_tui.memory.retrieval.tags import FACT_CATEGORIES, retagged, tags_with
from synthorg_tui.memory.shared import require_agent_id
from synthorg_tui.memory.store import facts, queries
from synthorg_tui.memory.store.acts import PersonActs
from synthorg_tui.memory.store.archive import find_archived
from synthorg_tui.memory.store.as_of import find_as_of
from synthorg_tui.memory.store.core import Core
from synthorg_tui.memory.store.edges import MemoryEdge, add_edges, copies_published
from synthorg_tui.memory.store.facts import require_fact
from synthorg_tui.memory.store.plans import mark_of
from synthorg_tui.memory.store.reader import StoreReader
from synthorg_tui.memory.store.rows import (
    LISTED,
    StoredMemory,
    content_hash,
    listed,
    require_length,
    with_tags,
)
from synthorg_tui.memory.store.search import Search, SearchScope
from synthorg_tui.memory.store.writer import MemoryWriter
from synthorg_tui.memory.store.writes import Changes
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.values import naive

T = TypeVar("T")


_READING: Final = "reading"


def _anything(db: Connection, memory_id: str) -> None:
    """The rule where every memory may be edited."""


class StoreAdmin(StoreReader):
    """``MemoryAdmin`` on the local store, purging, and changes together with other records.

    Methods that change memories raise ``MemoryStoreError``, all others ``MemoryRetrievalError``.
    ``may_edit`` is called in the transaction of an edit with the id of the memory, and raises to
    refuse it.
    """

    def __init__(
        self, core: Core, *, may_edit: Callable[[Connection, str], None] = _anything
    ) -> None:
        super().__init__(core, core.clock)
        self._core = core
        self._may_edit = may_edit
        self._search = Search(core)
        self._writer = MemoryWriter(core)
        self._acts = PersonActs(core, may_edit)

    @property
    def org(self) -> OrgStore:
        """The facts of the organisation, which are in the same database."""
        return OrgStore(self._core)

    async def find(
        self,
        query: MemoryQuery,
        *,
        agents: frozenset[str] | None = None,
        within: BrowseFilter | None = None,
        as_of: datetime | None = None,
    ) -> FoundMemories:
        """Search private and shared memories by meaning and keywords; see ``MemoryAdmin.find``."""
        with translate_errors(MemoryRetrievalError, "searching"):
            if within is not None and "archived" in within.states:
                return await find_archived(self._core, query, agents=agents, within=within)
            if as_of is not None:
                return await find_as_of(self._core, query, as_of, agents=agents)
            return await self._search.hybrid(query, SearchScope(agents=agents), within=within)

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder = "newest", offset: int = 0, limit: int = 300
    ) -> MemoryPage:
        """Return one page of the memories that match a filter; ties by import key, then id."""
        page = await super().browse(what, sort=sort, offset=offset, limit=limit)
        marked = await self._core.read(lambda db: facts.marked(db, page.entries), action="listing")
        return replace(page, entries=marked)

    async def lookup(
        self, id_start: NotBlankStr, *, deleted: bool = False, limit: int = 10
    ) -> tuple[ListedMemory, ...]:
        """Return memories of any agent whose id starts with ``id_start``, expired ones included."""
        where = queries.WhereClause() if deleted else queries.WhereClause(queries.LIVE)
        where.add("starts_with(m.id::VARCHAR, ?)", id_start.lower())
        rows = await self._core.read(
            lambda db: facts.marked(
                db, queries.listing(db, where, LISTED, order="m.id", limit=limit)
            ),
            action=_READING,
        )
        return tuple(map(self._core.ages.shown, rows))

    async def entries(
        self, memory_ids: Sequence[NotBlankStr], *, deleted: bool = False
    ) -> tuple[ListedMemory, ...]:
        """Return the memories of any agent with exactly these ids, expired ones included.

        Deleted and archived memories are included only when ``deleted``; unknown ids are omitted.
        """
        rows = await self._rows(memory_ids)
        found = (rows[key] for key in queries.known_ids(memory_ids) if key in rows)
        known = (listed(row) for row in found if deleted or row.is_current)
        return tuple(map(self._core.ages.shown, known))

    async def marks(self, memory_ids: Sequence[NotBlankStr]) -> dict[str, str]:
        """Return the marks of current memories by id; a change of a memory changes its mark."""
        rows = await self._rows(memory_ids)
        return {key: mark_of(row) for key, row in rows.items() if row.is_current}

    async def made_of(self, execution_ids: Sequence[NotBlankStr]) -> tuple[str, ...]:
        """Return the ids of all memories that were drawn from these sessions, deleted ones too."""
        return await self._core.read(
            lambda db: queries.drawn_from(db, execution_ids), action=_READING
        )

    async def known_from(self, refs: Sequence[SourceRef]) -> tuple[DrawnMemory, ...]:
        """Return the memories of knowledge that these lines of sessions show."""
        return await self._core.read(lambda db: drawn_from(db, refs), action=_READING)

    async def transcripts_of(self, memory_ids: Sequence[NotBlankStr]) -> tuple[str, ...]:
        """Return the sources of these memories that are lines of a stored session, each once."""
        return await self._core.read(
            lambda db: queries.stored_sources(db, memory_ids), action=_READING
        )

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        """Return the number of live memories by group, or of those that a filter lists."""
        facets = await super().facets(what)
        return replace(facets, limit=self._core.policy.max_memories_per_agent)

    async def places(self, agent_id: NotBlankStr) -> AgentPlaces:
        """Return the projects and sessions of an agent's live memories."""
        anywhere, in_session = (self._core.live_where(agent=agent_id) for _ in range(2))
        in_session.add("m.level = ?", MemoryLevel.SESSION.value)
        return await self._core.read(
            lambda db: AgentPlaces(
                tuple(
                    dict.fromkeys(
                        map(repository_of, queries.latest_values(db, "project", anywhere))
                    )
                ),
                tuple(queries.latest_values(db, "session_id", in_session)),
            ),
            action=_READING,
        )

    async def agents(self) -> tuple[str, ...]:
        """Return the ids of the agents that have private memories, those of the newest first."""
        where = self._core.live_where(shared=False)
        return await self._core.read(
            lambda db: tuple(queries.latest_values(db, "agent_id", where)), action=_READING
        )

    async def authors(self, memory_ids: Sequence[NotBlankStr]) -> dict[str, str]:
        """Return who last wrote each memory's text, as recorded; unknown ids are omitted."""
        return await self._core.read(
            lambda db: queries.authors_of(db, memory_ids), action="reading the history"
        )

    async def edit(self, memory_id: NotBlankStr, change: MemoryEdit, *, actor: str) -> ListedMemory:
        """Change a live memory and return it; a later import won't overwrite the edit.

        Secrets are redacted. Raises ``MemoryNotFoundError`` when no live memory has the id.
        """
        vector = None
        change = _redacted(change)
        with translate_errors(MemoryStoreError, "editing"):
            if change.content is not None:
                require_length(change.content)
                (vector,) = await self._core.embed([change.content])

            def work(changes: Changes) -> StoredMemory:
                before = queries.row_by_id(changes.db, memory_id)
                if before is None or not before.is_current:
                    raise MemoryNotFoundError(f"there is no memory {memory_id}")
                after = _edited(before, change, self._core.salt)
                if after == before:
                    return before
                self._may_edit(changes.db, before.id)
                return changes.edit(before, after._replace(edited=True), vector, actor=actor)

            return listed(await self._core.change(work))

    async def undo(self, *, actor: str) -> UndoneAct | None:
        """Undo the last change a person made; see ``MemoryAdmin.undo``."""
        with translate_errors(MemoryStoreError, "undoing"):
            return await self._acts.step(undoes=True, actor=actor)

    async def redo(self, *, actor: str) -> UndoneAct | None:
        """Make the change again that was undone last; see ``MemoryAdmin.redo``."""
        with translate_errors(MemoryStoreError, "redoing"):
            return await self._acts.step(undoes=False, actor=actor)

    async def restore_version(
        self, memory_id: NotBlankStr, revision: int, *, actor: str
    ) -> ListedMemory:
        """Restore a memory's fields as of a revision of its history, as a new revision."""
        with translate_errors(MemoryStoreError, "restoring a version"):
            return listed(await self._acts.restore_version(memory_id, revision, actor=actor))

    async def similar(self, memory_id: NotBlankStr, *, limit: int = 5) -> tuple[ListedMemory, ...]:
        """Return live memories that say nearly the same, most similar first."""
        with translate_errors(MemoryRetrievalError, "searching"):
            return await self._search.similar(memory_id, limit=limit)

    async def remove(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Soft-delete live and archived memories and return how many; ``restore`` can undo it."""
        return await self._core.change(
            lambda c: len(c.remove(memory_ids, actor=actor)), action="deleting"
        )

    async def archive(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Archive memories and return how many were live or expired; ``restore`` can undo it."""

        def work(changes: Changes) -> int:
            rows = queries.rows_by_id(changes.db, memory_ids).values()
            current = [row for row in rows if row.is_current]
            changes.archive(current, why=ArchiveReason.BY_HAND, actor=actor)
            return len(current)

        return await self._core.change(work, action="archiving")

    async def restore(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Make deleted, archived and expired memories live again and return how many were."""
        return await self._core.change(
            lambda c: len(c.restore(memory_ids, actor=actor)), action="restoring"
        )

    async def publish(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> tuple[str, ...]:
        """Publish private memories to all agents and return the ids of the copies.

        Memories that are published already, and copies, are skipped. A copy has an edge to the
        memory that it was made of, which stays its agent's as it was: so withdrawing takes away the
        copy alone, and the agent isn't given the same twice, as it is never given what it
        published.
        """
        with translate_errors(MemoryStoreError, "publishing"):
            rows = await self._core.read(lambda db: queries.rows_by_id(db, memory_ids))
            texts = {row.id: row.content for row in rows.values()}
            vectors = dict(zip(texts, await self._core.embed(list(texts.values())), strict=True))

        def work(changes: Changes) -> tuple[str, ...]:
            wanted = self._to_publish(changes, memory_ids)
            if any(texts.get(row.id) != row.content for row in wanted):
                raise MemoryStoreError("a memory changed just now", remedy="Try again.")
            made = [(_copy(row, changes), vectors[row.id]) for row in wanted]
            changes.add(made, actor=actor)
            edges = [
                MemoryEdge(copy.id, row.id, EdgeKind.DERIVED_FROM)
                for row, (copy, _) in zip(wanted, made, strict=True)
            ]
            add_edges(changes.db, edges, made_at=changes.now, made_by=actor)
            return tuple(copy.id for copy, _ in made)

        return await self._core.change(work, action="publishing")

    async def retract(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> tuple[str, ...]:
        """Withdraw published memories, named by the copy or by what it was made of.

        Returns the ids of those that were withdrawn. They are deleted, so that undoing publishes
        them again; the memories that they were made of stay as they are.
        """

        def work(changes: Changes) -> tuple[str, ...]:
            found = _current(changes, memory_ids)
            if any(row.agent_id == SHARED_OWNER for row in found):
                raise MemoryStoreError(
                    "what is known of a project belongs to all agents: no one published it",
                    remedy="Delete it instead.",
                )
            named = [row.id for row in found if row.shared]
            made = copies_published(changes.db, [row.id for row in found if not row.shared])
            leaving = dict.fromkeys([*named, *made.values()])
            for memory_id in leaving:
                self._may_edit(changes.db, memory_id)
            return tuple(row.id for row in changes.remove(list(leaving), actor=actor))

        return await self._core.change(work, action="retracting")

    def _to_publish(self, changes: Changes, memory_ids: Sequence[str]) -> list[StoredMemory]:
        """The private ones that have no copy yet; raises where one may not be published."""
        private = [row for row in _current(changes, memory_ids) if not row.shared]
        known = copies_published(changes.db, [row.id for row in private])
        wanted = [row for row in private if row.id not in known]
        for row in wanted:
            self._may_edit(changes.db, row.id)
            if row.level == MemoryLevel.NONE or changes.is_hidden(row):
                raise MemoryStoreError(f"memory {row.id} has expired: nobody is given it")
        return wanted

    async def purge(self, memory_ids: Sequence[NotBlankStr], *, actor: str) -> int:
        """Erase live, archived and deleted memories from rows, vectors, history and index.

        Return how many were erased. This can't be undone. Only the memories themselves are erased:
        use ``Erasure`` to erase also what was derived from them.
        """
        return await self._core.change(
            lambda c: len(c.purge(memory_ids, actor=actor)), action="purging"
        )

    async def change_together(
        self,
        bundle: MemoryBundle,
        within: Callable[[Connection, BundleOutcome], T],
        *,
        actor: str,
    ) -> T:
        """Make the changes and what ``within`` writes, all or nothing; returns what it returns.

        ``within`` runs last in the transaction: what it raises undoes everything and is raised
        here. Raises ``MemoryStoreError`` when an agent may keep nothing, or nothing more.
        """
        for memory in bundle.add:
            require_agent_id(memory.agent_id, MemoryStoreError)
        with translate_errors(MemoryStoreError, "storing"):
            return await self._writer.change_together(bundle, within, actor=actor)

    async def redact_together(
        self,
        clean: Callable[[str], str],
        within: Callable[[Connection], T],
        *,
        actor: str,
    ) -> T:
        """Replace what ``clean`` makes another text of in all memories, deleted ones included.

        In the organisation's facts with their log, too. ``within`` runs before it in the same
        transaction, and its result is returned. What changed waits for embedding
        (``Maintenance.reembed``) and its old text for compaction.
        """

        def work(changes: Changes) -> T:
            result = within(changes.db)
            changes.redact(clean, salt=self._core.salt, actor=actor)
            redact_facts(changes, clean)
            return result

        return await self._core.change(work, action="redacting")

    async def _rows(self, memory_ids: Sequence[str]) -> dict[str, StoredMemory]:
        return await self._core.read(lambda db: queries.rows_by_id(db, memory_ids), action=_READING)


def _redacted(change: MemoryEdit) -> MemoryEdit:
    content, tags = change.content, change.tags
    if content is not None:
        content = redact_text(content, RedactionTally())
    if tags is not None:
        tags = tuple(redact_text(tag, RedactionTally()) for tag in tags)
    return change.model_copy(update={"content": content, "tags": tags})


def _edited(before: StoredMemory, change: MemoryEdit, salt: str) -> StoredMemory:
    """The row with the fields of a change; raises ``MemoryStoreError`` where it can't have them."""
    after = before
    if change.content is not None:
        digest = content_hash(change.content, salt)
        after = after._replace(content=change.content, content_hash=digest)
    if change.category is not None:
        after = after._replace(category=change.category.value)
    tags = before.tags if change.tags is None else retagged(before.tags, change.tags)
    tags = tags_with(tags, fact_key=change.fact_key, sensitivity=change.sensitivity)
    after = with_tags(after, tags)
    if change.confidence is not None:
        if not 0 <= change.confidence <= 1:
            raise MemoryStoreError(f"confidence {change.confidence} must be from 0 to 1")
        after = after._replace(confidence=change.confidence)
    is_new_fact = after.fact_key not in (None, before.fact_key)
    if after != before and is_new_fact and after.category not in FACT_CATEGORIES:
        raise MemoryStoreError(
            f"{after.category} memories can't be facts",
            remedy=f"Only {', '.join(sorted(FACT_CATEGORIES))} ones can.",
        )
    if change.valid_from is None and change.valid_to is None:
        return after
    after = after._replace(
        valid_from=naive(change.valid_from) or before.valid_from,
        valid_to=naive(change.valid_to) or before.valid_to,
    )
    require_fact(after)
    return after


def _current(changes: Changes, memory_ids: Sequence[str]) -> list[StoredMemory]:
    rows = queries.rows_by_id(changes.db, memory_ids)
    for memory_id in memory_ids:
        row = rows.get(memory_id)
        if row is None or not row.is_current:
            raise MemoryNotFoundError(f"there is no live memory {memory_id}")
    return [rows[memory_id] for memory_id in queries.known_ids(memory_ids)]


def _copy(row: StoredMemory, changes: Changes) -> StoredMemory:
    """The same memory for all agents, in every session and project."""
    return row._replace(
        id=str(uuid.uuid4()),
        revision=0,
        shared=True,
        level=MemoryLevel.PERSISTENT.value,
        session_id=None,
        project=None,
        import_key=None,
        draft_hash=None,
        recorded_at=changes.now,
    )
