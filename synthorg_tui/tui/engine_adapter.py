"""What the screens ask of the open engine, in plain data; a pane's own calls are its adapter's.

With the adapters of the panes this is the only part of the app that calls the engine. The engine is
loaded after the first rows are on the screen: every import of it is inside a function. Rules on
what a change does belong to the engine, not here.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from synthorg_tui.core.actors import agent_in
from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import DomainError
from synthorg_tui.memory.listing import (
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    MemoryRevision,
    MemoryUse,
    SortOrder,
    UndoneAct,
)
from synthorg_tui.tui.approvals.adapter import person
from synthorg_tui.tui.digest.adapter import EngineDigests

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.ingest.discovery import FoundTranscripts
    from synthorg_tui.ingest.service import ImportProgress, ImportReport
    from synthorg_tui.tui.activity.adapter import EngineActivity
    from synthorg_tui.tui.approvals.adapter import EngineApprovals
    from synthorg_tui.tui.organisation.adapter import EngineOrganisation
    from synthorg_tui.tui.safety import EngineSafety
    from synthorg_tui.tui.sessions.adapter import EngineSessions
    from synthorg_tui.tui.skills.adapter import EngineSkills


@dataclass(frozen=True, slots=True)
class Draft:
    """A new memory that a person wrote, for all projects, or for one: the path of its folder."""

    agent_id: str
    category: MemoryCategory
    content: str
    tags: tuple[str, ...] = ()
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """The fields of a memory to change; a field that is ``None`` stays as it is."""

    content: str | None = None
    category: MemoryCategory | None = None
    tags: tuple[str, ...] | None = None


class MemoryReader(Protocol):
    """Read access to memories. Methods raise ``DomainError``.

    Before the engine is open it is implemented by a reader of the store alone, then by
    ``EngineAdapter``.
    """

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder, offset: int, limit: int
    ) -> MemoryPage:
        """Return at most ``limit`` of the matching memories, from ``offset`` on, in order."""

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        """Return the number of memories by group, or of those that a filter lists.

        Deleted ones aren't counted, and kinds only under a filter.
        """

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        """Return all changes of a memory, newest first."""

    async def stands_for(self, memory_id: str) -> ListedMemory | None:
        """Return what stands for an archived memory; ``None`` where nothing does."""

    async def uses(self, memory_id: str, *, limit: int) -> tuple[MemoryUse, ...]:
        """Return at most ``limit`` of the agents' calls that were given it, newest first."""


class EngineAdapter:
    """The memories of all agents, by an open engine; its properties lead to what other panes show.

    Methods raise ``DomainError``.
    """

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._importing: dict[threading.Event, asyncio.Task[Any] | None] = {}
        self.digests = EngineDigests(engine)

    # Made when first used: the list is on the screen sooner.

    @cached_property
    def approvals(self) -> "EngineApprovals":
        """The interface of the Approvals pane, created when it is first used."""
        from synthorg_tui.tui.approvals.adapter import EngineApprovals

        return EngineApprovals(self._engine)

    @cached_property
    def skills(self) -> "EngineSkills":
        """The interface of the Skills pane, created when it is first used."""
        from synthorg_tui.tui.skills.adapter import EngineSkills

        return EngineSkills(self._engine)

    @cached_property
    def sessions(self) -> "EngineSessions":
        """The interface of the Sessions pane, created when it is first used."""
        from synthorg_tui.tui.sessions.adapter import EngineSessions

        return EngineSessions(self._engine)

    @cached_property
    def organisation(self) -> "EngineOrganisation":
        """The interface of the Organisation pane, created when it is first used."""
        from synthorg_tui.tui.organisation.adapter import EngineOrganisation

        return EngineOrganisation(self._engine)

    @cached_property
    def safety(self) -> "EngineSafety":
        """The interface of what the app says at its opening, created when it is first used."""
        from synthorg_tui.tui.safety import EngineSafety

        return EngineSafety(self._engine)

    @cached_property
    def activity(self) -> "EngineActivity":
        """The interface of the Activity pane, created when it is first used."""
        from synthorg_tui.tui.activity.adapter import EngineActivity

        return EngineActivity(self._engine)

    async def close(self) -> None:
        """Stop the background work of the adapter; what an import has done is stored."""
        for cancel in self._importing:
            cancel.set()
        await asyncio.gather(*filter(None, self._importing.values()), return_exceptions=True)
        skills: EngineSkills | None = self.__dict__.get("skills")
        if skills is not None:
            await skills.close()

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder, offset: int, limit: int
    ) -> MemoryPage:
        """Return at most ``limit`` of the matching memories, from ``offset`` on, in order."""
        return await self._engine.desk.browse(what, sort=sort, offset=offset, limit=limit)

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        """Return the number of memories by group, or of those that a filter lists.

        Deleted ones aren't counted, and kinds only under a filter.
        """
        return await self._engine.desk.facets(what)

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        """Return all changes of a memory, newest first."""
        return await self._engine.desk.history(memory_id)

    async def stands_for(self, memory_id: str) -> ListedMemory | None:
        """Return what stands for an archived memory; ``None`` where nothing does."""
        return await self._engine.desk.stands_for(memory_id)

    async def uses(self, memory_id: str, *, limit: int) -> tuple[MemoryUse, ...]:
        """Return at most ``limit`` of the agents' calls that were given it, newest first."""
        return await self._engine.desk.uses(memory_id, limit=limit)

    async def note_opened(self, query: str, memory_id: str) -> None:
        """Record that a person opened this memory after searching for ``query``."""
        if agent_in(os.environ) is None:
            await self._engine.comparison.note_opened(query, memory_id)

    async def search(self, text: str, what: BrowseFilter, *, limit: int) -> FoundMemories:
        """Search for memories relevant to ``text`` among those that match.

        Returns at most ``limit`` of them, and none if none is relevant enough.
        """
        from synthorg_tui.memory.models import MemoryQuery

        query = MemoryQuery(
            text=text,
            categories=frozenset(what.categories) or None,
            since=what.since,
            until=what.until,
            limit=limit,
        )
        agents = frozenset(what.agents) or None
        return await self._engine.desk.find(query, agents=agents, within=replace(what, words=()))

    async def add(self, draft: Draft) -> str:
        """Store a new memory and return its id."""
        from synthorg_tui.memory.errors import MemoryCapabilityError
        from synthorg_tui.memory.extensions import BatchStore, add_by_hand
        from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

        store = self._engine.memory
        if not isinstance(store, BatchStore):
            raise MemoryCapabilityError(f"the {store.backend_name} backend stores no drafts")
        request = MemoryStoreRequest(
            category=draft.category,
            content=draft.content,
            metadata=MemoryMetadata(tags=draft.tags),
        )
        return await add_by_hand(
            store, draft.agent_id, request, project=draft.project, actor=str(person())
        )

    async def edit(self, memory_id: str, change: Change) -> ListedMemory:
        """Change a memory and return it as it is afterwards."""
        from synthorg_tui.memory.extensions import MemoryEdit
        from synthorg_tui.memory.retrieval.tags import parse_tags

        # The person sees all tags in one field: what is gone from it is meant to be gone.
        traits = parse_tags(change.tags) if change.tags is not None else None
        edit = MemoryEdit(
            content=change.content,
            category=change.category,
            tags=change.tags,
            sensitivity=traits.sensitivity if traits else None,
            fact_key=(traits.fact_key or "") if traits else None,
        )
        return await self._engine.desk.edit(memory_id, edit, actor=str(person()))

    async def remove(self, memory_ids: Sequence[str]) -> int:
        """Soft-delete memories and return how many were deleted; ``restore`` reverts it."""
        return await self._engine.desk.remove(memory_ids, actor=str(person()))

    async def archive(self, memory_ids: Sequence[str]) -> int:
        """Archive live memories and return how many were; ``restore`` reverts it."""
        return await self._engine.desk.archive(memory_ids, actor=str(person()))

    async def publish(self, memory_ids: Sequence[str]) -> int:
        """Give copies of private memories to all agents; return how many weren't given yet."""
        return len(await self._engine.desk.publish(memory_ids, actor=str(person())))

    async def retract(self, memory_ids: Sequence[str]) -> int:
        """Withdraw what was published and return how many were; what it was made of stays."""
        return len(await self._engine.desk.retract(memory_ids, actor=str(person())))

    async def restore(self, memory_ids: Sequence[str]) -> int:
        """Restore soft-deleted and archived memories and return how many were restored."""
        return await self._engine.desk.restore(memory_ids, actor=str(person()))

    async def restore_version(self, memory_id: str, revision: int) -> None:
        """Give a memory its fields as of a revision of its history, as its newest version."""
        await self._engine.desk.restore_version(memory_id, revision, actor=str(person()))

    async def undo(self) -> UndoneAct | None:
        """Undo the last change that the person made, in this run or before; ``None`` without."""
        return await self._engine.desk.undo(actor=str(person()))

    async def redo(self) -> UndoneAct | None:
        """Make the change again that was undone last; ``None`` after a newer one."""
        return await self._engine.desk.redo(actor=str(person()))

    async def similar(self, memory_id: str) -> tuple[ListedMemory, ...]:
        """Return a few live memories that say nearly the same, most similar first."""
        return await self._engine.desk.similar(memory_id)

    async def erasing(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Describe what purging these memories deletes with them and what it leaves."""
        told = (await self._engine.erasure.review(memory_ids)).without_lines.told
        copies = await self._engine.maintenance.copies(memory_ids)
        kept = tuple(f"A backup keeps it: {copy.path.name}" for copy in copies if copy.is_backup)
        set_aside = tuple(
            f"A database that was set aside goes: {copy.path.name}"
            for copy in copies
            if not copy.is_backup
        )
        return (*told, *set_aside, *kept)

    async def transcripts(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the stored transcript lines that these memories were drawn from, as references."""
        return (await self._engine.erasure.review(memory_ids)).lines

    async def purge(self, memory_ids: Sequence[str], *, lines: bool = False) -> int:
        """Delete memories permanently, with ``lines`` also where they were drawn from."""
        erased = await self._engine.erasure.purge(memory_ids, actor=str(person()), lines=lines)
        await self._engine.maintenance.delete_copies(backups=False)
        return erased.memories

    @property
    def known_agents(self) -> int:
        """The number of agents in whose usual places is looked."""
        return len({reader for reader, _ in self._engine.imports.usual_places()})

    async def found_places(self) -> "tuple[FoundTranscripts, ...]":
        """Return the directories on this machine that hold transcripts."""
        return await self._engine.imports.discover()

    async def run_import(
        self,
        roots: Sequence[Path],
        *,
        progress: "Callable[[ImportProgress], None]",
        cancel: threading.Event,
    ) -> "ImportReport":
        """Import the transcripts in ``roots``; what was imported before a cancellation stays."""
        self._importing[cancel] = asyncio.current_task()
        try:
            return await self._engine.imports.run(roots, progress=progress, cancel=cancel)
        finally:
            del self._importing[cancel]

    async def load_sample(self) -> "ImportReport":
        """Import the sample sessions that come with the program."""
        from importlib.resources import as_file, files

        with as_file(files("synthorg_tui.ingest").joinpath("sample")) as folder:
            if not folder.is_dir():
                raise DomainError("This installation carries no sample.")
            return await self._engine.imports.run([folder])
