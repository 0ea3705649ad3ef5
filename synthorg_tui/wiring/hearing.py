"""Emits events of this program for the changes that other programs make in a shared store.

The database notifies that something was written. A few marks (highest revisions and numbers) are
compared with those of the last look to find out what. A look every few seconds also finds changes
made while the connection was lost, and shows whether the server answers. Programs that have a store
to themselves need none of this.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from synthorg_tui.agents.session import WROTE
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.core.failsafe import background
from synthorg_tui.jobs.scheduler import JOBS
from synthorg_tui.persistence.port import Connection, StoreDatabase
from synthorg_tui.runtime.service import RUN

ELSEWHERE: Final = "elsewhere"
"""Topic: another program changed the store."""
CONNECTION: Final = "connection"
"""Topic: the database can't be reached, with a ``LostConnection``, or can again, with ``None``."""
SKILLS: Final = "skills"
TOGETHER: Final = 0.2
"""Seconds for which changes are gathered, so that many at once are looked at once."""
LOOK_EVERY: Final = 5.0
"""Seconds between two looks without a notice from the database."""
_POLL: Final = 0.5
_LATEST_RUNS: Final = 50
_MARKS: Final = {
    "memories": (
        "SELECT (SELECT max(revision) FROM history), (SELECT max(revision) FROM org_facts)"
    ),
    "decisions": "SELECT max(number) FROM approval_events",
    "skills": "SELECT max(number), count(undone_by) FROM operations",
    "jobs": "SELECT max(number), max(ended_at) FROM job_runs",
    "runs": f"SELECT id, status FROM agent_runs ORDER BY started_at DESC LIMIT {_LATEST_RUNS}",
}
"""By the part of a store, a query whose answer differs once another program changed that part."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LostConnection:
    """The database can't be reached: since when, and why in the words of its driver."""

    since: datetime
    why: str


StoreMarks = dict[str, set[tuple[object, ...]]]
"""The answers to ``_MARKS``."""


def marks_in(db: Connection) -> StoreMarks:
    """Read the marks of the store as it is."""
    return {part: set(map(tuple, db.execute(sql).fetchall())) for part, sql in _MARKS.items()}


@asynccontextmanager
async def hearing(database: StoreDatabase, events: Events, clock: Clock) -> AsyncIterator[None]:
    """Emit events for others' changes and a lost connection while the block lasts."""
    ears = StoreEars(database, events, clock)
    async with background(ears.hear(), ears.compare(), ears.watch(), ears.look()):
        yield


class StoreEars:
    """The tasks of hearing: notices, comparing, the connection's state, and regular looks."""

    def __init__(self, database: StoreDatabase, events: Events, clock: Clock) -> None:
        self._database = database
        self._events = events
        self._clock = clock
        self._changed = asyncio.Event()

    async def hear(self) -> None:
        """Have the marks compared whenever the database says that something changed."""
        async for _ in self._database.changes():
            self._changed.set()

    async def watch(self) -> None:
        """Tell when the connection is lost and when it is there again."""
        lost: LostConnection | None = None
        while True:
            why = self._database.trouble
            if bool(why) != (lost is not None):
                lost = LostConnection(self._clock.now(), why) if why else None
                self._tell(CONNECTION, lost)
                if lost is None:  # what couldn't be read is read again, changed or not
                    self._tell(ELSEWHERE, None)
            await asyncio.sleep(_POLL)

    async def look(self) -> None:
        """Look regularly; a database that doesn't answer shows in its ``trouble``."""
        await asyncio.sleep(_POLL)  # what came while listening began
        while True:
            self._changed.set()
            await asyncio.sleep(LOOK_EVERY)

    async def compare(self) -> None:
        """Emit events for what differs from the last look, each time one is asked for."""
        before: StoreMarks | None = None
        while True:
            try:
                now = await self._database.read(marks_in)
            except DomainError as error:
                _log.info("what others changed isn't known for now: %s", error)
                await asyncio.sleep(_POLL)
                continue
            if before is not None:
                self._tell_differences(before, now)
            before = now
            await self._changed.wait()
            await asyncio.sleep(TOGETHER)
            self._changed.clear()

    def _tell_differences(self, before: StoreMarks, now: StoreMarks) -> None:
        changed = {part for part in now if before[part] != now[part]}
        if not changed:
            return
        if changed & {"memories", "decisions"}:
            self._tell(WROTE, ELSEWHERE)
        if "skills" in changed:
            self._tell(SKILLS, ELSEWHERE)
        if "jobs" in changed:
            self._tell(JOBS, None)
        for run_id in {str(run[0]) for run in before["runs"] ^ now["runs"]}:
            self._tell(RUN, run_id)
        self._tell(ELSEWHERE, None)

    def _tell(self, topic: str, data: object) -> None:
        try:
            self._events.emit(topic, data)
        except Exception:  # a listener's; the next change is to be heard all the same
            _log.exception("a listener failed at %s", topic)
