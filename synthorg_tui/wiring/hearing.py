"""Hears what other people's programs change in a shared store, and tells this program's events.

The database says that something was written; what it was is found out by comparing a few marks with
those of the last look. So nothing is missed either where the connection was lost for a while: the
look after that tells it, and there is one every few seconds anyhow, which shows that the server is
there. Programs that have a store to themselves need none of this.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from synthorg_tui.agents.session import WROTE
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.events import Events
from synthorg_tui.jobs.scheduler import JOBS
from synthorg_tui.persistence.port import StoreDatabase
from synthorg_tui.runtime.service import RUN

if TYPE_CHECKING:
    from synthorg_tui.persistence.port import Connection

ELSEWHERE: Final = "elsewhere"
"""Topic: another program changed the store."""
CONNECTION: Final = "connection"
"""Topic: the database can't be reached, with a ``LostConnection``, or can again, with ``None``."""
SKILLS: Final = "skills"
TOGETHER: Final = 0.2
"""Seconds for which changes are gathered, so that many at once are looked at once."""
LOOK_EVERY: Final = 5.0
"""Seconds between two looks that nobody was told to take."""
_POLL: Final = 0.5
_LATEST_RUNS: Final = 50
_REVISIONS: Final = (
    "SELECT (SELECT max(revision) FROM history), (SELECT max(revision) FROM org_facts)"
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LostConnection:
    """The database can't be reached: since when, and why in the words of its driver."""

    since: datetime
    why: str


class StoreMarks(NamedTuple):
    """What tells one state of a store from another, by the part that changed."""

    memories: tuple[object, ...]
    decisions: tuple[object, ...]
    skills: tuple[object, ...]
    jobs: tuple[object, ...]
    runs: frozenset[tuple[object, ...]]


def marks_in(db: "Connection") -> StoreMarks:
    """Read the marks of the store as it is."""
    runs = db.execute(
        f"SELECT id, status FROM agent_runs ORDER BY started_at DESC LIMIT {_LATEST_RUNS}"
    ).fetchall()
    return StoreMarks(
        memories=_row(db, _REVISIONS),
        decisions=_row(db, "SELECT max(number) FROM approval_events"),
        skills=_row(db, "SELECT max(number), count(undone_by) FROM operations"),
        jobs=_row(db, "SELECT max(number), max(ended_at) FROM job_runs"),
        runs=frozenset(map(tuple, runs)),
    )


def _row(db: "Connection", sql: str) -> tuple[object, ...]:
    return tuple(db.execute(sql).fetchone() or ())


@asynccontextmanager
async def hearing(database: StoreDatabase, events: Events, clock: Clock) -> AsyncIterator[None]:
    """Tell ``events`` of what others change, and of a lost connection, while the block lasts."""
    ears = StoreEars(database, events, clock)
    works = (ears.hear, ears.compare, ears.watch, ears.look)
    tasks = [asyncio.create_task(work()) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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
        """Have a look now and then, too; that nobody answers shows in the database's trouble."""
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
        if before == now:
            return
        if before.memories != now.memories or before.decisions != now.decisions:
            self._tell(WROTE, ELSEWHERE)
        if before.skills != now.skills:
            self._tell(SKILLS, ELSEWHERE)
        if before.jobs != now.jobs:
            self._tell(JOBS, None)
        for run_id in {str(run[0]) for run in before.runs ^ now.runs}:
            self._tell(RUN, run_id)
        self._tell(ELSEWHERE, None)

    def _tell(self, topic: str, data: object) -> None:
        try:
            self._events.emit(topic, data)
        except Exception:  # a listener's; the next change is to be heard all the same
            _log.exception("a listener failed at %s", topic)
