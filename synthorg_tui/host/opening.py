"""Opens the store, or connects to the process that has it open."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.core.failsafe import surviving
from synthorg_tui.host.client import OwnerConnection, RemoteEngine, connect, remote_engine
from synthorg_tui.host.errors import NoOwnerError, OwnerGoneError, RefusedError
from synthorg_tui.host.headless import last_words, spawn
from synthorg_tui.host.owner import Owner, OwnerKind
from synthorg_tui.host.wire import EventSink

if TYPE_CHECKING:
    from synthorg_tui.agents.models import AgentIdentity
    from synthorg_tui.engine import Engine
    from synthorg_tui.persistence.integrity import ReadProgress
    from synthorg_tui.persistence.lock import DataDirLock
    from synthorg_tui.persistence.port import StoreDatabase
    from synthorg_tui.settings.root import RootConfig

PATIENCE: Final = 3.0
"""Seconds to wait for a store that is held by a process which doesn't listen (yet)."""
OPENS_WITHIN: Final = 60.0
"""Seconds more for an owner that was started here and is still opening the store."""
_RETRY: Final = 0.03


@asynccontextmanager
async def engine_or_owner(
    settings: "RootConfig",
    *,
    data_dir: Path,
    role: str,
    on_event: EventSink | None = None,
    on_yield: Callable[[], None] | None = None,
    is_long: bool = False,
) -> AsyncIterator["Engine | RemoteEngine"]:
    """Yield the owner's engine if another process owns the directory, else open and serve it here.

    ``on_event`` gets the topic and data of each event that the owner passes on, ``on_yield``
    and ``is_long`` are as for ``served``.
    Raises the errors of ``Engine.open`` and ``connect``; ``StoreLockedError`` only when the owner
    neither listens nor ends within ``PATIENCE`` seconds.
    """
    deadline = time.monotonic() + PATIENCE
    async with AsyncExitStack() as stack:
        engine: Engine | RemoteEngine | None = None
        while engine is None:
            with suppress(NoOwnerError, OwnerGoneError):
                remote = remote_engine(data_dir, settings, role=role, on_event=on_event)
                engine = await stack.enter_async_context(remote)
                break
            try:
                own = await stack.enter_async_context(_own_engine(settings, data_dir))
                engine = await stack.enter_async_context(
                    served(own, on_yield=on_yield, is_long=is_long)
                )
            except StoreLockedError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(_RETRY)
        yield engine


@asynccontextmanager
async def served(
    engine: "Engine",
    *,
    on_yield: Callable[[], None] | None = None,
    is_long: bool = False,
    refuses: str = "",
) -> AsyncIterator["Engine"]:
    """Answer other processes with an engine of this one until the ``async with`` ends.

    The end waits for the calls of other processes and, if agents were among these, until the next
    owner of the store is loaded. With ``on_yield`` this process makes room for an app, as an owner
    without a screen does. With ``is_long`` what agents call is loaded before this listens, else at
    the first call. A text in ``refuses`` is the reason for which every change is refused. Where no
    socket can be made, the engine serves this process alone.
    """
    kind: OwnerKind = "command" if on_yield is None else "headless"
    layers = engine.settings.layers  # none in a program whose settings no other process can read
    start_next = partial(spawn, engine.data_dir, layers.asked) if layers is not None else None
    owner = Owner(engine, data_dir=engine.data_dir, kind=kind, on_yield=on_yield, refuses=refuses)
    try:
        if is_long:
            await owner.prepare()
        with suppress(RefusedError, OSError):
            await owner.start()
        yield engine
        await owner.hand_over(start_next)
    finally:
        await owner.stop()


def _own_engine(
    settings: "RootConfig", data_dir: Path, database: "StoreDatabase | None" = None
) -> "AbstractAsyncContextManager[Engine]":
    from synthorg_tui.engine import Engine  # here: a client of an owner doesn't need it

    return Engine.open(settings, data_dir=data_dir, database=database)


@asynccontextmanager
async def engine_for_app(
    settings: "RootConfig",
    *,
    data_dir: Path,
    waits: Callable[[StoreLockedError], None] = lambda _: None,
) -> AsyncIterator["Engine"]:
    """Open the store in this process and yield its engine; raises ``StoreLockedError``.

    Owners are asked to end, or waited for, as ``lock_of`` says.
    """
    from synthorg_tui.persistence.lock import own_database

    lock = await lock_of(data_dir, waits)
    async with (
        own_database(data_dir, settings.persistence, lock) as database,
        _own_engine(settings, data_dir, database) as engine,
    ):
        yield engine


async def lock_of(
    data_dir: Path, waits: Callable[[StoreLockedError], None] = lambda _: None
) -> "DataDirLock":
    """Own a data directory and return its lock, which the caller releases.

    An owner without a screen is asked to end, and a command that has the store open is waited
    for. ``waits`` is called at each try, with the error that names the owner.
    Raises ``StoreLockedError`` when the owner is another app or stays for ``PATIENCE`` seconds.
    """
    from synthorg_tui.persistence.lock import DataDirLock

    lock = DataDirLock(data_dir)
    deadline = time.monotonic() + PATIENCE
    while not lock.is_held:
        try:
            await lock.wait()
        except StoreLockedError as error:
            waits(error)
            if time.monotonic() > deadline or await _stays(data_dir):
                raise
            await asyncio.sleep(_RETRY)
    return lock


@asynccontextmanager
async def reads_served(
    settings: "RootConfig", database: "StoreDatabase", *, data_dir: Path, why: str
) -> AsyncIterator[None]:
    """Answer other processes from a database of this process until the ``async with`` ends.

    Opens and closes the database; the caller owns the data directory. Every change is refused with
    the reason ``why``. If the database can't be opened, other processes get no answer.
    """
    stack = AsyncExitStack()
    stack.push_async_callback(database.close)
    try:
        with surviving("opening a store to answer others from"):
            await database.open()
            engine = await stack.enter_async_context(_own_engine(settings, data_dir, database))
            await stack.enter_async_context(served(engine, is_long=True, refuses=why))
        yield
    finally:
        with surviving("closing that store"):  # it may be damaged
            await stack.aclose()


async def restore(
    settings: "RootConfig",
    data_dir: Path,
    backup: Path,
    *,
    progress: "ReadProgress",
    cancel: threading.Event,
) -> None:
    """Replace the database of a store by a backup, and answer others from the old one meanwhile.

    The errors are those of ``lock_of`` and ``restore_backup``.
    """
    from synthorg_tui.persistence.backups import restore_backup
    from synthorg_tui.persistence.database import Database

    with await lock_of(data_dir) as lock:
        await restore_backup(
            data_dir,
            backup,
            lock=lock,
            meanwhile=reads_served(
                settings,
                Database.in_dir(data_dir),
                data_dir=data_dir,
                why="a backup is being restored, which replaces all that is stored",
            ),
            progress=progress,
            cancel=cancel,
        )


async def _stays(data_dir: Path) -> bool:
    """Ask an owner without a screen to leave; whether it is an app, which doesn't."""
    try:
        connection = await connect(data_dir, role="app")
    except (NoOwnerError, OwnerGoneError):
        return False
    try:
        if connection.owner.kind != "command":  # that leaves by itself
            await connection.ask_to_leave()
    except OwnerGoneError:
        return False
    except RefusedError:
        return True
    finally:
        await connection.close()
    return False


async def reach(
    data_dir: Path,
    *,
    role: str,
    agent: "AgentIdentity | None" = None,
    config_path: Path | None = None,
    on_event: EventSink | None = None,
    patience: float = PATIENCE,
) -> OwnerConnection:
    """Connect to the owner, starting one without a screen if there is none.

    Raises ``NoOwnerError`` when none listens within ``patience`` seconds, ``OPENS_WITHIN`` more for
    one that was started, or none can be started, and the errors of ``connect``.
    """
    deadline = time.monotonic() + patience
    started = None
    while True:
        code = 0 if started is None else started.poll()
        try:
            return await connect(data_dir, role=role, agent=agent, on_event=on_event)
        except (NoOwnerError, OwnerGoneError):
            if time.monotonic() > deadline + (OPENS_WITHIN if code is None else 0.0):
                raise
        # An owner that ended because of another owner or a signal isn't the end of the attempts.
        if code is not None and code > 0 and code != StoreLockedError.exit_code:
            raise NoOwnerError(f"the store can't be opened: {last_words(data_dir)}")
        # One that lost a race for the directory ends at once; the winner is about to listen.
        if code is not None:
            started = spawn(data_dir, config_path)
        await asyncio.sleep(_RETRY)
