"""Follows what agents write: imports it while the store is open, a little at a time.

What changed is told by ``watching``; here is when it is imported, and whether: a session is left
until its file is at rest, a large one is read again the more seldom the longer that takes, and what
was there before the person imported anything stays theirs to import. Reading and storing is the
import's.
"""

import asyncio
import logging
import os.path
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.ingest import IngestConfig
from synthorg_tui.ingest.discovery import TranscriptFile, collect
from synthorg_tui.ingest.watching import PlaceWatcher, transcripts_in
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.persistence.settings_kv import LastRuns

if TYPE_CHECKING:
    from synthorg_tui.ingest.service import ImportReport, ImportService

_log = logging.getLogger(__name__)

FOLLOWED: Final = "followed"
"""Topic of the event with the ``ImportReport`` of what came in by itself; owners pass it on."""
FOLLOWING_FAILED: Final = "following_failed"
"""Topic of the event with the ``DomainError`` that keeps sessions from being imported, once."""
QUIET: Final = 0.3
"""Seconds without a change after which a file is imported."""
MAX_UNREST: Final = 5.0
"""Seconds after which a file is imported even while it grows."""
SLOW: Final = 0.5
"""Seconds of work up to which a file is imported again soon."""
MAX_REST: Final = 60.0
"""Longest rest, in seconds, between two imports of one file."""
AFTER_FAILURE: Final = 300.0
"""Seconds until what couldn't be stored is tried again."""
LOOK_FOR_CONSENT: Final = 2.0
"""Seconds between two looks whether the person has imported anything yet."""
_BEGUN: Final = "following"
_FIRST_NS: Final = 100_000_000 * 1_000_000_000
"""A smaller time isn't one of a file in nanoseconds: databases have their own."""


@dataclass(frozen=True, slots=True)
class FollowStatus:
    """Whether sessions are imported by themselves; ``reason`` says why not, empty when they are."""

    follows: bool
    reason: str = ""


class _Pending:
    """Changed paths until it is their turn; times are those of ``time.monotonic``."""

    def __init__(self) -> None:
        self._since: dict[Path, tuple[float, float]] = {}
        self._resting: dict[Path, float] = {}
        self._more = asyncio.Event()
        self.begun = asyncio.Event()
        self.ended = False

    async def fill(self, watcher: PlaceWatcher, stop: asyncio.Event) -> None:
        """Take in what the watcher tells until ``stop`` is set."""
        try:
            async with aclosing(watcher.changes(stop)) as changes:
                async for paths in changes:
                    self._add(transcripts_in(paths))
                    self.begun.set()
        finally:
            self.ended = True
            self.begun.set()
            self._more.set()

    def _add(self, paths: Sequence[Path]) -> None:
        now = time.monotonic()
        for path in paths:
            first, _ = self._since.get(path, (now, now))
            self._since[path] = first, now
        if paths:
            self._more.set()

    async def take(self) -> tuple[Path, ...]:
        """Wait for paths whose turn it is, and return them; none once the watcher has ended."""
        while not self.ended:
            now = time.monotonic()
            turns = {path: self._turn(path) for path in self._since}
            ready = tuple(path for path, turn in turns.items() if turn <= now)
            if ready:
                for path in ready:
                    del self._since[path]
                self._resting = {path: at for path, at in self._resting.items() if at > now}
                return ready
            self._more.clear()
            wait = min(turns.values()) - now if turns else None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), wait)
        return ()

    def _turn(self, path: Path) -> float:
        first, last = self._since[path]
        return max(min(last + QUIET, first + MAX_UNREST), self._resting.get(path, 0.0))

    def rest(self, paths: Sequence[Path], seconds: float) -> None:
        """Leave these paths alone for so long, whatever changes in them."""
        until = time.monotonic() + seconds
        for path in paths:
            self._resting[path] = max(self._resting.get(path, 0.0), until)

    def again(self, paths: Sequence[Path]) -> None:
        """Give these paths out once more, after their rest."""
        self._add(paths)


async def _turns(
    places: Callable[[], Sequence[Path]], stop: asyncio.Event
) -> AsyncGenerator[tuple[tuple[Path, ...], _Pending]]:
    """Yield what to import now; the first time nothing, when all that changes later is seen."""
    pending = _Pending()
    filling = asyncio.create_task(pending.fill(PlaceWatcher(places), stop))
    try:
        await pending.begun.wait()
        ready: tuple[Path, ...] = ()
        while not pending.ended:
            before = time.monotonic()
            yield ready, pending
            took = time.monotonic() - before
            pending.rest(ready, min(took * (2 if took < SLOW else 10), MAX_REST))
            ready = await pending.take()
    finally:
        filling.cancel()
        await asyncio.gather(filling, return_exceptions=True)


async def watch(
    imports: "ImportService", places: Callable[[], Sequence[Path]], *, stop: asyncio.Event
) -> AsyncGenerator["ImportReport"]:
    """Import all that is there, then what changes, until ``stop`` is set.

    Yields a report for each import that read a session. ``imports`` may be another process's.
    """
    async with aclosing(_turns(places, stop)) as turns:
        first = True
        async for ready, _ in turns:
            paths = [place for place in places() if place.exists()] if first else ready
            first = False
            report = await imports.run(list(paths)) if paths else None
            if report is not None and report.executions:
                yield report


class Following:
    """Imports by itself what agents write, from ``run`` until that is cancelled.

    Args:
        imports: Does the imports.
        database: Knows which files were imported, and since when this store follows.
        config: Says whether to follow, and which places.
        events: Gets ``FOLLOWED`` and ``FOLLOWING_FAILED``.
    """

    def __init__(
        self,
        imports: "ImportService",
        database: StoreDatabase,
        config: IngestConfig,
        events: Events,
    ) -> None:
        self._imports = imports
        self._executions = ExecutionStore(database)
        self._moments = LastRuns(database)
        self._config = config
        self._events = events
        self._has_failed = False
        self._since_ns = 0
        self._passed: dict[Path, tuple[int, int]] = {}
        self._told = ""

    def mirror(self, follow: bool) -> None:
        """Import what comes from now on, or nothing; what comes meanwhile is imported later."""
        self._config = self._config.model_copy(update={"follow": follow})

    def places(self) -> list[Path]:
        """Return the places that are followed, whether or not they exist."""
        usual, chosen = self._imports.usual_places(), self._config.places
        if not chosen:
            return [place for _, place in usual]
        named = [place for reader, place in usual if reader in chosen]
        return [*named, *self._config.folders()]

    async def status(self) -> FollowStatus:
        """Tell whether whoever has the store open imports what agents write, now or in a moment."""
        if not self._config.follow:
            return FollowStatus(False, "ingest.follow is off")
        if self._has_failed:
            return FollowStatus(False, "it failed, and has said why")
        if not self._since_ns and await self._newest_import() is None:
            return FollowStatus(False, "no sessions were imported from these places yet")
        return FollowStatus(True)

    async def run(self) -> None:
        """Follow until cancelled; returns at once when the settings say not to."""
        if not self._config.follow:
            return
        try:
            await self._follow()
        except Exception as error:  # nothing is followed then, and whoever opened the store goes on
            self._has_failed = True
            self._tell(error)

    async def _follow(self) -> None:
        opened = self._imports.now()
        begun = await self._moments.get(_BEGUN) or await self._newest_import()
        while begun is None:
            await asyncio.sleep(LOOK_FOR_CONSENT)
            if not self._imports.is_running and await self._newest_import():
                begun = opened
        await self._moments.put(_BEGUN, begun)
        self._since_ns = int(begun.timestamp() * 1e9)
        async with aclosing(_turns(self.places, asyncio.Event())) as turns:
            first = True
            async for ready, pending in turns:
                due = await (self._first_look() if first else self._due(ready))
                first = False
                paths = [file.path for file in due]
                if not await self._bring_in(paths):
                    pending.rest(paths, AFTER_FAILURE)
                    pending.again(paths)

    async def _newest_import(self) -> datetime | None:
        """The time of the newest file that was imported from these places; ``None`` without one.

        Nothing is followed before: months of sessions are the person's to import.
        """
        marks = await self._executions.marks()
        roots = await asyncio.to_thread(lambda: tuple(map(os.path.realpath, self.places())))
        times = [mark.mtime_ns for mark in marks.values() if _is_in(mark.path, roots)]
        now = self._imports.now()
        of_files = [at for at in times if _FIRST_NS < at <= now.timestamp() * 1e9]
        newest = datetime.fromtimestamp(max(of_files) / 1e9, UTC) if of_files else now
        return newest if times else None

    async def _first_look(self) -> list[TranscriptFile]:
        """What came since the last time; what is older and was never imported is passed over."""
        marks = await self._executions.marks()
        files, _ = await asyncio.to_thread(collect, [at for at in self.places() if at.exists()])
        databases = {path.rpartition("#")[0] for path in marks if "#" in path}
        due = []
        for file in files:
            mark = marks.get(str(file.path))
            owner = str(file.path).rpartition("#")[0]
            is_new = owner in databases if owner else file.mtime_ns > self._since_ns
            if mark is None and not is_new:
                self._passed[file.path] = file.state
            elif mark is None or (mark.size, mark.mtime_ns) != file.state:
                due.append(file)
        return due

    async def _due(self, paths: Sequence[Path]) -> list[TranscriptFile]:
        """What of these paths has changed since it was imported or passed over."""
        marks = await self._executions.marks()
        files, _ = await asyncio.to_thread(collect, paths)
        due = []
        for file in files:
            mark = marks.get(str(file.path))
            if mark is None and file.path not in paths and self._is_old(file):
                self._passed.setdefault(file.path, file.state)
            known = (mark.size, mark.mtime_ns) if mark else self._passed.get(file.path)
            if known != file.state:
                due.append(file)
        return due

    def _is_old(self, file: TranscriptFile) -> bool:
        """Whether a file in a folder that appeared is older than the beginning."""
        return "#" not in file.path.name and file.mtime_ns <= self._since_ns

    async def _bring_in(self, paths: Sequence[Path]) -> bool:
        """Import these files and tell of it; ``False`` when the store can't take them now."""
        if not paths:
            return True
        if not self._config.follow:
            return False
        try:
            report = await self._imports.run(paths)
        except Exception as error:  # full disk, no memory: told once, and tried again much later
            self._tell(error)
            return False
        self._told = ""
        if report.executions:
            self._events.emit(FOLLOWED, report)
        return True

    def _tell(self, error: Exception) -> None:
        problem = error.message if isinstance(error, DomainError) else str(error)
        _log.warning("new sessions can't be imported: %s", problem or type(error).__name__)
        if problem != self._told:
            self._told = problem
            remedy = error.remedy if isinstance(error, DomainError) else ""
            told = DomainError(f"New sessions can't be imported: {problem}.", remedy=remedy)
            self._events.emit(FOLLOWING_FAILED, told)


def _is_in(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith((f"{root}/", f"{root}#")) for root in roots)
