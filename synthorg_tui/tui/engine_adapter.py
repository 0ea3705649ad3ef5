"""The engine behind the interfaces of the screens: opens it, and passes calls on to it.

With the adapters of the panes this is the only part of the app that knows the engine. The engine is
loaded after the first rows are on the screen: every import of it is inside a function. Rules on
what a change does belong to the engine, not here.
"""

import asyncio
import importlib
import threading
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.core.process_setup import ending, started
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
from synthorg_tui.tui.ports import Change, Draft

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.host.owner import Owner
    from synthorg_tui.ingest.discovery import FoundTranscripts
    from synthorg_tui.ingest.service import ImportProgress, ImportReport
    from synthorg_tui.memory.store.reader import StoreReader
    from synthorg_tui.persistence.database import Database
    from synthorg_tui.settings.root import RootConfig
    from synthorg_tui.tui.activity.adapter import EngineActivity
    from synthorg_tui.tui.approvals.adapter import EngineApprovals
    from synthorg_tui.tui.manage.adapter import StoreManagement
    from synthorg_tui.tui.safety import EngineSafety
    from synthorg_tui.tui.sessions.adapter import EngineSessions
    from synthorg_tui.tui.skills.adapter import EngineSkills

WARM_UP_AFTER = 0.5
"""Seconds from opening until agents can connect, so that the list is on the screen first."""
LOAD_MODELS_AFTER = 3.0
"""Seconds from then until model and index are loaded, unless a search wants them before: their
libraries keep the interpreter for up to a tenth of a second at a time, which a key would wait."""
PROGRESS_EVERY = 0.5
"""Seconds between two checks of the search index's progress."""
_ASKED_AT_ONCE = (
    "agents.client_sessions",
    "agents.gateway",
    "approvals.trail",
    "curation.forgetting",
    "curation.overview",
    "curation.service",
    "host.owner",
    "learning.evidence",
    "memory.store.admin",
    "memory.strategies.service",
    "providers.completion.factory",
    "tui.activity.adapter",
    "tui.approvals.adapter",
    "tui.skills.adapter",
)
"""What the panes ask for as soon as the engine is open: loaded on the screen's own thread it would
keep keys waiting for a third of a second."""


class LocalEngineHost:
    """Opens the store of a data directory, then the engine on it, after the first paint."""

    def __init__(self, *, data_dir: Path | None = None, config_path: Path | None = None) -> None:
        self._data_dir = data_dir
        self._config_path = config_path
        self._database: Database | None = None
        self._stack = AsyncExitStack()
        self._warming: asyncio.Task[None] | None = None
        self._desk: EngineAdapter | None = None
        self._owner: Owner | None = None
        self._engine: Engine | None = None
        self.read_only = ""
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
        """Set the callbacks for errors, for waiting, and for the progress of the search index."""
        self._failed, self._waits, self._indexes = failed, waits, indexes

    async def look(self) -> "StoreReader | None":
        """Become the store's owner and open its database, which is all that listing needs.

        Loading the engine and its settings takes about as long again. Returns ``None`` if the
        settings choose another backend than the local one, or if another process owns the store;
        ``open`` then takes the store over or raises an error that names the owner.
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
        """Load the engine in a thread, then open it."""
        await asyncio.to_thread(_load_engine)
        from synthorg_tui.engine import Engine
        from synthorg_tui.settings.loader import load_settings

        settings = load_settings(self._config_path)
        opening = Engine.open(settings, data_dir=self._data_dir, database=self._database)
        try:
            engine = await self._stack.enter_async_context(opening)
        except StoreLockedError:
            engine = await self._take_over(settings)
        self._engine = engine
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
            self._owner = owner
            self._stack.push_async_callback(owner.stop)
            if self._desk is not None:
                self._desk.activity.open(owner)
        await asyncio.sleep(LOAD_MODELS_AFTER)
        async with asyncio.TaskGroup() as group:
            warming = group.create_task(engine.warm_up())
            group.create_task(self._report_progress(engine, warming))
        started()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(engine))
            group.create_task(self._maintain(engine))

    async def _maintain(self, engine: "Engine") -> None:
        await engine.pack()
        await engine.keep_backups(self._without_backup)

    async def _follow(self, engine: "Engine") -> None:
        """Import what agents write; what comes, and what keeps it from coming, is an event."""
        with suppress(DomainError):  # another backend takes no imports
            await engine.following.run()

    def _without_backup(self, error: DomainError) -> None:
        problem = f"The backup of the day wasn't made: {error.message}."
        self._failed(DomainError(problem, remedy=error.remedy))

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

    @cached_property
    def management(self) -> "StoreManagement":
        """The interface of the screens about the whole, created when it is first used."""
        from synthorg_tui.core.paths import user_data_dir
        from synthorg_tui.tui.manage.adapter import StoreManagement

        return StoreManagement(
            self._opened,
            lambda: self._data_dir or self._local_dir() or user_data_dir(),
            lambda: len(self._owner.clients) if self._owner is not None else 0,
            self.close,
            self._config_path,
        )

    async def owner_left(self) -> None:
        """Return at once: this process is the owner."""

    def _opened(self) -> "Engine":
        if self.read_only:
            raise DomainError(f"This terminal is {self.read_only}.", remedy="Do it there.")
        if self._engine is None:
            raise DomainError(
                "The store isn't open yet.", remedy="Wait a moment, or r tries again."
            )
        return self._engine

    def withdraw(self) -> None:
        from synthorg_tui.persistence.lock import mark_leaving

        if self._owner is not None:
            self._owner.withdraw()
        if self._engine is not None:
            mark_leaving(self._engine.data_dir)

    async def close(self) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        if self._desk is not None:
            await self._desk.close()
        await self._stack.aclose()
        self._database = self._engine = self._owner = self._desk = self._warming = None
        ending()


def _load_engine() -> None:
    for module in ("engine", *_ASKED_AT_ONCE):
        importlib.import_module(f"synthorg_tui.{module}")


class EngineAdapter:
    """The implementation of ``MemoryPort``, which says what its methods do, by an open engine."""

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
        return await self._engine.desk.browse(what, sort=sort, offset=offset, limit=limit)

    async def facets(self, what: BrowseFilter | None = None) -> Facets:
        return await self._engine.desk.facets(what)

    async def history(self, memory_id: str) -> tuple[MemoryRevision, ...]:
        return await self._engine.desk.history(memory_id)

    async def uses(self, memory_id: str, *, limit: int) -> tuple[MemoryUse, ...]:
        return await self._engine.desk.uses(memory_id, limit=limit)

    async def search(self, text: str, what: BrowseFilter, *, limit: int) -> FoundMemories:
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
        return await self._engine.desk.remove(memory_ids, actor=str(person()))

    async def restore(self, memory_ids: Sequence[str]) -> int:
        return await self._engine.desk.restore(memory_ids, actor=str(person()))

    async def restore_version(self, memory_id: str, revision: int) -> None:
        await self._engine.desk.restore_version(memory_id, revision, actor=str(person()))

    async def undo(self) -> UndoneAct | None:
        return await self._engine.desk.undo(actor=str(person()))

    async def redo(self) -> UndoneAct | None:
        return await self._engine.desk.redo(actor=str(person()))

    async def similar(self, memory_id: str) -> tuple[ListedMemory, ...]:
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
