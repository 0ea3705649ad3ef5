"""The process's hold on the store: opens it, then the engine on it, and closes both.

The database comes first, as listing needs nothing else; agents, models, following and backups wait
until the list is on the screen. What the screens then ask is passed on by ``engine_adapter``.
"""

import asyncio
import importlib
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.core.process_setup import ending, started
from synthorg_tui.tui.actions import key_of
from synthorg_tui.tui.engine_adapter import EngineAdapter, MemoryReader

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.host.client import OwnerConnection
    from synthorg_tui.host.owner import Owner
    from synthorg_tui.jobs.models import RunProgress
    from synthorg_tui.persistence.config import PersistenceConfig
    from synthorg_tui.persistence.port import StoreDatabase
    from synthorg_tui.settings.root import RootConfig
    from synthorg_tui.tui.manage.adapter import StoreManagement

PREPARE_AFTER = 0.05
"""Seconds from opening until the other panes' modules are loaded, so that this one is drawn."""
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
    "tui.memories.dialogs",
    "tui.safety",
    "tui.skills.adapter",
)
"""What the panes ask for once the engine is open: loaded on the screen's own thread it would keep
keys waiting for a third of a second."""


class LocalEngineHost:
    """Opens the store of a data directory, then the engine on it, after the first paint.

    Order of calls: ``listen``, ``look``, ``open``, ``prepare``; from ``look`` on again after an
    error. ``read_only`` says why nothing can be changed here; empty where everything can.
    """

    def __init__(self, *, data_dir: Path | None = None, config_path: Path | None = None) -> None:
        self._data_dir = data_dir
        self._config_path = config_path
        self._database: StoreDatabase | None = None
        self._persistence: PersistenceConfig | None = None
        self._stack = AsyncExitStack()
        self._warming: asyncio.Task[None] | None = None
        self._desk: EngineAdapter | None = None
        self._owner: Owner | None = None
        self._engine: Engine | None = None
        self.read_only = ""
        self._failed: Callable[[DomainError], None] = lambda _: None
        self._waits: Callable[[DomainError], None] = lambda _: None
        self._indexes: Callable[[float | None], None] = lambda _: None
        self._works: Callable[[tuple[str, RunProgress] | None], None] = lambda _: None
        self._failures: dict[str, str] = {}

    def listen(
        self,
        *,
        failed: Callable[[DomainError], None],
        waits: Callable[[DomainError], None],
        indexes: Callable[[float | None], None],
        works: "Callable[[tuple[str, RunProgress] | None], None]",
    ) -> None:
        """Set the callbacks.

        ``failed`` is called with an error of work done after opening, ``waits`` with the reason why
        opening waits for another process that owns the store, ``indexes`` with the progress of
        building the search index, from 0 to 1, then ``None``, and ``works`` with the job that runs
        and how far it is, then ``None``.
        """
        self._failed, self._waits, self._indexes, self._works = failed, waits, indexes, works

    async def look(self) -> MemoryReader | None:
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
                database = await self._stack.enter_async_context(
                    own_database(directory, self._persistence)
                )
            except StoreLockedError:
                return None
            self._data_dir, self._database = directory, database
        from synthorg_tui.core.clock import SystemClock
        from synthorg_tui.memory.store.reader import StoreReader

        return StoreReader(database, SystemClock())

    async def open(self) -> "EngineAdapter":
        """Load the engine in a thread, then open it."""
        await asyncio.to_thread(importlib.import_module, "synthorg_tui.engine")
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

    async def prepare(self) -> None:
        """Load in a thread what the panes ask the engine for."""
        await asyncio.sleep(PREPARE_AFTER)
        await asyncio.to_thread(_load_services)

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
        self._stack.callback(engine.events.subscribe(partial(self._hear_of_jobs, engine)))
        await asyncio.gather(engine.jobs.keep(), engine.runs.keep())

    def _hear_of_jobs(self, engine: "Engine", topic: str, data: object) -> None:
        """Show which job runs, and tell of one that failed in another way than the last time."""
        from synthorg_tui.jobs.models import JobRun, RunState
        from synthorg_tui.jobs.scheduler import JOBS

        if topic != JOBS:
            return
        self._works(engine.jobs.running)
        if not isinstance(data, JobRun):
            return
        failure = data.told if data.state is RunState.FAILED else ""
        if failure and failure != self._failures.get(data.job):
            remedy = f"{key_of('app.jobs')} shows all jobs."
            self._failed(DomainError(f"The job {data.job} failed: {failure}", remedy=remedy))
        self._failures[data.job] = failure

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

        settings = load_settings(self._config_path)
        if settings.memory.backend != "local":
            return None
        self._persistence = settings.persistence
        return self._data_dir or Path(settings.memory.storage.data_dir)

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


class SharingHost(LocalEngineHost):
    """Opens the store; where another app has it, opens a read-only view of it."""

    _connection: "OwnerConnection | None" = None

    async def open(self) -> EngineAdapter:
        """Open the engine, or look along; raises what ``LocalEngineHost.open`` raises."""
        try:
            return await super().open()
        except StoreLockedError as error:
            with suppress(DomainError, OSError):
                return await self._look_along()
            raise error from None

    async def _look_along(self) -> EngineAdapter:
        from synthorg_tui.host.client import RemoteEngine, connect
        from synthorg_tui.persistence.lock import holder
        from synthorg_tui.settings.loader import load_settings
        from synthorg_tui.tui.beside import ReadingAdapter

        settings = load_settings(self._config_path)
        data_dir = self._data_dir or Path(settings.memory.storage.data_dir)
        self._connection = await connect(data_dir, role="reader")
        self._stack.push_async_callback(self._connection.close)
        why = f"open in another terminal ({holder(data_dir)})"
        engine = RemoteEngine(self._connection, settings, data_dir=data_dir, read_only=why)
        self.read_only = f"read-only: {why}"
        self._desk = ReadingAdapter(cast("Engine", engine))
        return self._desk

    async def owner_left(self) -> None:
        """Return once the app that has the store open leaves it; at once if none has it."""
        if self._connection is not None:
            await self._connection.ended()

    async def close(self) -> None:
        await super().close()
        self._connection, self.read_only = None, ""


def _load_services() -> None:
    for module in _ASKED_AT_ONCE:
        importlib.import_module(f"synthorg_tui.{module}")
