"""What another program writes to a shared store reaches this one's events, also after a cut."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from synthorg_tui.core.clock import SystemClock
from synthorg_tui.core.events import Events
from synthorg_tui.persistence.port import Connection
from synthorg_tui.persistence.postgres.database import PostgresDatabase
from synthorg_tui.wiring.hearing import CONNECTION, ELSEWHERE, LostConnection, hearing
from tests.patience import PATIENCE
from tests.persistence.store_rows import fill
from tests.postgres_server import PostgresServer
from tests.wiring.shared_kit import listened

pytestmark = pytest.mark.asyncio(loop_scope="module")


_RUN = "INSERT INTO agent_runs VALUES (?, '', '', now()::TIMESTAMP, NULL, '', '', '', '', '', '')"


class Heard:
    """What was told, for a test to wait for."""

    def __init__(self) -> None:
        self.events = Events()
        self.topics: list[tuple[str, Any]] = []
        self._more = asyncio.Event()
        self.events.subscribe(self._hear)

    def _hear(self, topic: str, data: object) -> None:
        self.topics.append((topic, data))
        self._more.set()

    async def until(self, topic: str, data: object = None) -> None:
        async with asyncio.timeout(PATIENCE):
            while (topic, data) not in self.topics:
                await self._any()

    async def lost(self) -> LostConnection:
        """Wait until a lost connection is told, and return it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for _, data in self.topics:
                    if isinstance(data, LostConnection):
                        return data
                await self._any()

    async def _any(self) -> None:
        self._more.clear()
        await self._more.wait()

    async def begun(self, there: PostgresDatabase) -> None:
        """Wait until changes are told; one that is there at the first look isn't."""
        async with asyncio.timeout(PATIENCE):
            while not any(topic == "run" for topic, _ in self.topics):
                await there.write(lambda db: db.execute(_RUN, [uuid4().hex]))
                await asyncio.wait([asyncio.create_task(self._any())], timeout=1)
        await self.told_until_now(there)

    async def told_until_now(self, there: PostgresDatabase) -> list[tuple[str, Any]]:
        """Forget and return what was told of all that was written before.

        Of a change that is written last, after which no more is told of those before it.
        """
        run = uuid4().hex
        await there.write(lambda db: db.execute(_RUN, [run]))
        await self.until("run", run)
        told = [each for each in self.topics if each != ("run", run)]
        self.topics.clear()
        return told


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def databases(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[PostgresDatabase, PostgresDatabase]]:
    url = postgres_server.new_store()
    both = [PostgresDatabase(url, tmp_path_factory.mktemp(name)) for name in ("here", "there")]
    for database in both:
        await database.open()
    yield both[0], both[1]
    for database in both:
        await database.close()
    postgres_server.drop(url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heard(
    databases: tuple[PostgresDatabase, PostgresDatabase],
) -> AsyncIterator[Heard]:
    heard = Heard()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synthorg_tui.wiring.hearing.LOOK_EVERY", 3600.0)  # it is told, or fails
        async with hearing(databases[0], heard.events, SystemClock()):
            await listened(databases[0]._url, 1)
            await heard.begun(databases[1])
            patch.undo()
            yield heard


Both = tuple[PostgresDatabase, PostgresDatabase]


async def test_each_change_is_told(databases: Both, heard: Heard) -> None:
    _, there = databases
    for table, topic, data in (
        ("history", "changed", ELSEWHERE),
        ("approval_events", "changed", ELSEWHERE),
        ("operations", "skills", ELSEWHERE),
        ("job_runs", "jobs", None),
        ("agent_runs", "run", "plain1"),
    ):
        await heard.told_until_now(there)
        await fill(there, 2, table)
        await heard.until(topic, data)
        await heard.until(ELSEWHERE)


async def test_what_concerns_nobody_is_not_told(databases: Both, heard: Heard) -> None:
    await heard.told_until_now(databases[1])
    await databases[1].write(lambda db: db.execute("INSERT INTO found_skills VALUES ('x')"))
    assert await heard.told_until_now(databases[1]) == [(ELSEWHERE, None)]  # of the last change


async def test_many_changes_at_once_are_told_together(
    databases: Both, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = databases
    go_on, read = asyncio.Event(), here.read

    async def held(work: Any) -> Any:
        await go_on.wait()
        return await read(work)

    def one(number: int, db: Connection) -> None:
        kind = "INSERT INTO approval_events VALUES (?, 'i', now()::TIMESTAMP, 'added', 'a', '', '')"
        db.execute(kind, [number])

    await heard.told_until_now(there)
    monkeypatch.setattr(here, "read", held)
    for number in range(2**50, 2**50 + 20):
        await there.write(lambda db, n=number: one(n, db))  # type: ignore[misc]
    go_on.set()
    told = await heard.told_until_now(there)
    assert told.count(("changed", ELSEWHERE)) == 1


async def test_a_lost_connection_is_told_and_what_was_missed_is_made_up(
    databases: Both, postgres_server: PostgresServer
) -> None:
    here, there = databases
    heard = Heard()
    async with hearing(here, heard.events, SystemClock()):
        await heard.begun(there)
        postgres_server.stop(crash=True)
        lost = await heard.lost()
        assert lost.why
        heard.topics.clear()
        postgres_server.start()
        await fill(there, 1, "forgotten_sessions")
        await there.write(lambda db: db.execute("DELETE FROM approval_events"))
        await heard.until(CONNECTION)
        await heard.until(ELSEWHERE)
        await heard.until("changed", ELSEWHERE)
        assert here.trouble == ""
