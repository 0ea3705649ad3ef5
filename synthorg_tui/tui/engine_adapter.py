"""The engine behind the ports of the screens: who opens it, and what passes calls on to it.

With the adapters of the panes this is all of the app that knows the engine, which is loaded only
once the first rows are on the screen: every import of it stands inside a function. No rule of
what a change does belongs here; that is the engine's.
"""

import asyncio
import importlib
import threading
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.core.process_setup import ending, started
from synthorg_tui.ingest.discovery import FoundTranscripts
from synthorg_tui.memory.listing import (
    BrowseFilter,
    Facets,
    FoundMemories,
    ListedMemory,
    MemoryPage,
    MemoryRevision,
    SortOrder,
)
from synthorg_tui.tui.digest.adapter import EngineDigests
from synthorg_tui.tui.ports import Change, Draft

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.executions.store import Excerpt
    from synthorg_tui.ingest.service import ImportProgress, ImportReport
    from synthorg_tui.memory.store.reader import StoreReader
    from synthorg_tui.persistence.database import Database
    from synthorg_tui.settings.root import RootConfig
    from synthorg_tui.tui.activity.adapter import EngineActivity
    from synthorg_tui.tui.approvals.adapter import EngineApprovals
    from synthorg_tui.tui.skills.adapter import EngineSkills

ACTOR = "person"
"""Who the history names for changes made on a screen."""
WARM_UP_AFTER = 0.5
"""Seconds from opening until everything else gets ready: the list is on the screen first."""
PROGRESS_EVERY = 0.5
"""Seconds between two looks at how far the search index has come."""


class LocalEngineHost:
    """Opens the store, then the engine on it, after the first paint."""

    def __init__(self, *, data_dir: Path | None = None, config_path: Path | None = None) -> None:
        self._data_dir = data_dir
        self._config_path = config_path
        self._database: Database | None = None
        self._stack = AsyncExitStack()
        self._warming: asyncio.Task[None] | None = None
        self._desk: EngineAdapter | None = None
        self._failed: Callable[[DomainError], None] = lambda _: None
        self._waits: Callable[[DomainError], None] = lambda _: None
        self._indexes: Callable[[float | None], None] = lambda _: None

    def listen(
        self,
        *,
        failed: Callable[[DomainError], None],
        waits: Callable[[DomainError], None],
        indexes: Callable[[float | None], None],
    ) -> None:
        """Set who is called from now on."""
        self._failed, self._waits, self._indexes = failed, waits, indexes

    async def look(self) -> "StoreReader | None":
        """Own the store and open its database, which is all that listing needs.

        The engine and its settings take as long again to load. ``None`` when the settings choose
        another backend than the local one, and when another process owns the store: ``open``
        takes it over or says whose it is.
        """
        database = self._database
        if database is None:
            directory = await asyncio.to_thread(self._local_dir)
            if directory is None:
                return None
            from synthorg_tui.persistence.lock import own_database

            try:
                database = await self._stack.enter_async_context(own_database(directory))
            except StoreLockedError:
                return None
            self._data_dir, self._database = directory, database
        from synthorg_tui.core.clock import SystemClock
        from synthorg_tui.memory.store.reader import StoreReader

        return StoreReader(database, SystemClock())

    async def open(self) -> "EngineAdapter":
        """Load the engine off the event loop, then open it."""
        await asyncio.to_thread(importlib.import_module, "synthorg_tui.engine")
        from synthorg_tui.engine import Engine
        from synthorg_tui.settings.loader import load_settings

        settings = load_settings(self._config_path)
        opening = Engine.open(settings, data_dir=self._data_dir, database=self._database)
        try:
            engine = await self._stack.enter_async_context(opening)
        except StoreLockedError:
            engine = await self._take_over(settings)
        self._warming = asyncio.create_task(self._after_opening(engine))
        self._desk = EngineAdapter(engine)
        return self._desk

    async def _take_over(self, settings: "RootConfig") -> "Engine":
        """The engine once an owner without a screen has left; another app's stays its own."""
        from synthorg_tui.host.opening import engine_for_app

        data_dir = self._data_dir or Path(settings.memory.storage.data_dir)
        opening = engine_for_app(settings, data_dir=data_dir, waits=self._waits)
        return await self._stack.enter_async_context(opening)

    async def _after_opening(self, engine: "Engine") -> None:
        """What can wait until the list is on the screen: agents and commands, then searches."""
        await asyncio.sleep(WARM_UP_AFTER)
        from synthorg_tui.host.owner import Owner

        owner = Owner(engine, data_dir=engine.data_dir, kind="app")
        try:
            await owner.start()
        except (DomainError, OSError) as error:  # the screens work on, with nobody connected
            remedy = "They reach the store once the app is closed."
            self._failed(DomainError(f"Agents and commands can't connect: {error}.", remedy=remedy))
        else:
            self._stack.push_async_callback(owner.stop)
            if self._desk is not None:
                self._desk.activity.open(owner)
        async with asyncio.TaskGroup() as group:
            warming = group.create_task(engine.warm_up())
            group.create_task(self._report_progress(engine, warming))
        started()
        await engine.pack()

    async def _report_progress(self, engine: "Engine", warming: "asyncio.Task[None]") -> None:
        progress: float | None = None
        while not warming.done() or progress is not None:
            await asyncio.sleep(PROGRESS_EVERY)
            before, progress = progress, engine.index_progress
            if progress != before:
                self._indexes(progress)

    def _local_dir(self) -> Path | None:
        """The data directory when the local backend is the one that is chosen."""
        importlib.import_module("synthorg_tui.memory.store.reader")
        from synthorg_tui.core.paths import user_data_dir
        from synthorg_tui.settings.environment import is_anything_set

        if not is_anything_set(self._config_path):
            return self._data_dir or user_data_dir()
        from synthorg_tui.settings.loader import load_settings

        memory = load_settings(self._config_path).memory
        if memory.backend != "local":
            return None
        return self._data_dir or Path(memory.storage.data_dir)

    async def close(self) -> None:
        """Close the engine if it is open."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        if self._desk is not None:
            await self._desk.close()
        await self._stack.aclose()
        ending()


class EngineAdapter:
    """The memory port over an open engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.digests = EngineDigests(engine)

    # Made when first used: the list is on the screen sooner.

    @cached_property
    def approvals(self) -> "EngineApprovals":
        """What waits for a person."""
        from synthorg_tui.tui.approvals.adapter import EngineApprovals

        return EngineApprovals(self._engine)

    @cached_property
    def skills(self) -> "EngineSkills":
        """The skills on disk."""
        from synthorg_tui.tui.skills.adapter import EngineSkills

        return EngineSkills(self._engine)

    @cached_property
    def activity(self) -> "EngineActivity":
        """What connected agents do."""
        from synthorg_tui.tui.activity.adapter import EngineActivity

        return EngineActivity(self._engine, actor=ACTOR)

    async def close(self) -> None:
        """Stop what runs in the background."""
        skills: EngineSkills | None = self.__dict__.get("skills")
        if skills is not None:
            await skills.close()

    async def browse(
        self, what: BrowseFilter, *, sort: SortOrder, offset: int, limit: int
    ) -> MemoryPage:
        """A window on the memories that match."""
        return await self._engine.desk.browse(what, sort=sort, offset=offset, limit=limit)

    async def facets(self) -> Facets:
        """Live counts."""
        return await self._engine.desk.facets()

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        """Every change to a memory, newest first."""
        return await self._engine.desk.history(memory_id)

    async def search(self, text: str, what: BrowseFilter, *, limit: int) -> FoundMemories:
        """What is relevant to the text, among the memories that match."""
        from synthorg_tui.memory.models import MemoryQuery

        query = MemoryQuery(
            text=text,
            categories=frozenset(what.categories) or None,
            tags=what.tags,
            since=what.since,
            limit=limit,
        )
        agents = frozenset(what.agents) or None
        found = await self._engine.desk.find(query, agents=agents, without=what.without)
        return FoundMemories(found.hits, found.degraded)

    async def add(self, draft: Draft) -> str:
        """Store a new memory and return its id."""
        from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

        request = MemoryStoreRequest(
            category=draft.category,
            content=draft.content,
            metadata=MemoryMetadata(tags=draft.tags),
        )
        return await self._engine.memory.store(draft.agent_id, request)

    async def edit(self, memory_id: str, change: Change) -> ListedMemory:
        """Change a memory."""
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
        return await self._engine.desk.edit(memory_id, edit, actor=ACTOR)

    async def remove(self, memory_ids: Sequence[str]) -> int:
        """Soft-delete."""
        return await self._engine.desk.remove(memory_ids, actor=ACTOR)

    async def restore(self, memory_ids: Sequence[str]) -> int:
        """Undo a soft delete."""
        return await self._engine.desk.restore(memory_ids, actor=ACTOR)

    async def erasing(self, memory_ids: Sequence[str]) -> tuple[str, ...]:
        """What goes with these, and what stays."""
        return (await self._engine.erasure.review(memory_ids)).told

    async def purge(self, memory_ids: Sequence[str]) -> int:
        """Erase for good."""
        return (await self._engine.erasure.purge(memory_ids, actor=ACTOR)).memories

    async def excerpt(self, source: str, *, context: int) -> "Excerpt | None":
        """The transcript lines a source names."""
        from synthorg_tui.executions.models import SourceRef

        ref = SourceRef.parse(source)
        return None if ref is None else await self._engine.executions.excerpt(ref, context=context)

    async def found_places(self) -> tuple[FoundTranscripts, ...]:
        """Where transcripts are on this machine."""
        return await self._engine.imports.discover()

    async def run_import(
        self,
        roots: Sequence[Path],
        *,
        progress: "Callable[[ImportProgress], None]",
        cancel: threading.Event,
    ) -> "ImportReport":
        """Import; cancelling keeps what is done."""
        return await self._engine.imports.run(roots, progress=progress, cancel=cancel)

    async def load_sample(self) -> "ImportReport":
        """Import the sample sessions the program carries."""
        from importlib.resources import as_file, files

        with as_file(files("synthorg_tui.ingest").joinpath("sample")) as folder:
            if not folder.is_dir():
                raise DomainError("This installation carries no sample.")
            return await self._engine.imports.run([folder])
