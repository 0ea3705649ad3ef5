"""An owner of the store without a screen: run in this process, or started as another one."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import background
from synthorg_tui.core.files import ensure_private_dir, open_log
from synthorg_tui.core.process_setup import ending, started
from synthorg_tui.core.text import safe_text
from synthorg_tui.host.endpoint import LOG_FILE
from synthorg_tui.host.owner import NEXT, Owner

if TYPE_CHECKING:
    from synthorg_tui.engine import Engine
    from synthorg_tui.providers.embedding.protocol import Embedder
    from synthorg_tui.settings.root import RootConfig

_LOG_LIMIT: Final = 1024 * 1024
_LINGER: Final = 5
"""Seconds that an owner which a program started for itself waits for the next client."""
_KEEP_AFTER: Final = 1.0
"""Seconds in which the client that started the owner gets its answer before jobs run."""
_LOOK_AT_JOBS: Final = 0.5
"""Seconds between two looks whether the job still runs that an idle owner stays for."""


async def serve(
    settings: "RootConfig",
    *,
    data_dir: Path | None,
    stop: asyncio.Event,
    until_idle: float | None = None,
    on_ready: Callable[[Owner], None] | None = None,
) -> None:
    """Own the store and answer clients until ``stop`` is set or an app asks for the store.

    With ``until_idle`` it also ends when no client has been connected for that many seconds.
    ``on_ready`` is called once the owner listens. Raises the errors of ``Engine.open``.
    """
    try:
        async with _opened(settings, data_dir) as engine:
            owner = Owner(engine, data_dir=engine.data_dir, kind="headless", on_yield=stop.set)
            try:
                async with background(_settle(engine), _keep(engine)):
                    await owner.start()
                    if on_ready is not None:
                        on_ready(owner)
                    await _ended(engine, owner, stop, until_idle)
            finally:
                await owner.stop()
    finally:
        ending()


@asynccontextmanager
async def _opened(settings: "RootConfig", data_dir: Path | None) -> AsyncIterator["Engine"]:
    """The engine; model and database load on threads while the rest of the program is imported.

    The model first: it takes longest, and hardly needs the interpreter's lock once its library is
    there. The index, which loads last, keeps that lock: what still needs it then waits.
    """
    from synthorg_tui.persistence.lock import own_database
    from synthorg_tui.providers.embedding.factory import create_embedder, load_library

    directory = data_dir or Path(settings.memory.storage.data_dir)
    with suppress(ImportError, OSError):  # fails again, and is reported, when a text is embedded
        load_library(settings.embedding())
    embedder = create_embedder(settings.embedding())
    loading = asyncio.create_task(_loaded(embedder))
    try:
        async with AsyncExitStack() as stack:
            owned = own_database(directory, settings.persistence)
            owning = asyncio.create_task(stack.enter_async_context(owned))
            await asyncio.sleep(0)
            if owning.done():  # another process owns it, which is known at once
                await owning
            from synthorg_tui.engine import Engine
            from synthorg_tui.host.client import connect

            with suppress(DomainError):  # tells an owner that is leaving, if there is one
                await (await connect(directory, role=NEXT)).close()
            opening = Engine.open(
                settings, data_dir=directory, database=await owning, embedder=embedder
            )
            yield await stack.enter_async_context(opening)
    finally:
        await loading
        await embedder.close()


async def _loaded(embedder: "Embedder") -> None:
    """Load the model; an error here occurs again, and is reported, when it is needed."""
    with suppress(DomainError):
        await embedder.embed_query("warm up")


async def _settle(engine: "Engine") -> None:
    try:
        await engine.warm_up()
    finally:
        started()


async def _keep(engine: "Engine") -> None:
    """Run jobs, and runs that a person decided on; their problems are recorded."""
    await asyncio.sleep(_KEEP_AFTER)
    await asyncio.gather(engine.jobs.keep(), engine.runs.keep())


def spawn(data_dir: Path, config_path: Path | None = None) -> "subprocess.Popen[bytes]":
    """Start an owner as a process that runs on after this one and ends after its last client.

    Its messages go to ``owner.log`` in the data directory. Returns at once, before it listens.
    """
    ensure_private_dir(data_dir)
    paths = [data_dir, *([config_path] if config_path is not None else [])]
    directory, *config = (str(path.absolute()) for path in paths)
    with open_log(data_dir / LOG_FILE, _LOG_LIMIT) as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "synthorg_tui.host", directory, str(_LINGER), *config],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def last_words(data_dir: Path) -> str:
    """Return the last line that the most recently started owner logged, such as its error."""
    try:
        lines = (data_dir / LOG_FILE).read_text("utf-8", "replace").split("\n")
    except OSError as error:
        return f"{data_dir / LOG_FILE} can't be read: {error.strerror}"
    written = [line for line in lines if line.strip()]
    if not written:
        return f"see {data_dir / LOG_FILE}"
    return safe_text(written[-1].removeprefix("error: "))


async def _ended(
    engine: "Engine", owner: Owner, stop: asyncio.Event, until_idle: float | None
) -> None:
    """Return when it is time to leave."""
    ends: set[asyncio.Task[Any]] = {asyncio.create_task(stop.wait())}
    if until_idle is not None:
        ends.add(asyncio.create_task(_idle(engine, owner, until_idle)))
    _, waiting = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


async def _idle(engine: "Engine", owner: Owner, seconds: float) -> None:
    """Return once nobody has been connected for so long, and neither a job nor an agent runs.

    Such an agent was started by a program that has left.
    """
    while True:
        await owner.idle.wait()
        from synthorg_tui.runtime.models import RunStatus  # here: an agent waits for the start

        left = owner.idle_since + seconds - time.monotonic()
        if (
            left <= 0
            and engine.jobs.running is None
            and not await engine.runs.list(limit=1, status=RunStatus.RUNNING)
        ):
            return
        await asyncio.sleep(max(left, _LOOK_AT_JOBS))
