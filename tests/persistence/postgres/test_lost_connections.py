"""What becomes of calls when the connection to the server is lost, on a real server."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from synthorg_tui.persistence.errors import PersistenceConnectionError
from synthorg_tui.persistence.port import Connection, StoreChange
from synthorg_tui.persistence.postgres import link
from synthorg_tui.persistence.postgres.database import PostgresDatabase
from tests.patience import PATIENCE, until
from tests.persistence.postgres.listening import listening
from tests.postgres_server import PostgresServer

SOCKET = ".s.PGSQL.5432"


class Wire:
    """A socket between a program and its server, which can be cut as a commit goes over it."""

    def __init__(self, folder: Path, server: Path) -> None:
        self._server = str(server / SOCKET)
        self.cuts: list[bool] = []
        """For the commits to come: cut before the server has it, or before its answer is here."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / SOCKET))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                theirs = socket.socket(socket.AF_UNIX)
                try:
                    theirs.connect(self._server)
                except OSError:
                    ours.close()
                    continue
                for pair in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if b"finish_write" in data and self.cuts:
                    arrives = not self.cuts.pop()
                    if arrives:
                        source.shutdown(socket.SHUT_RDWR)
                        target.sendall(data)
                        while target.recv(65536):
                            pass
                    break
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def wire(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Wire]:
    folder = tmp_path_factory.mktemp("w")
    wire = Wire(folder, postgres_server.folder)
    wire.folder = folder  # type: ignore[attr-defined]
    yield wire
    wire.close()


@pytest.fixture
async def database(
    postgres_url: str, wire: Wire, tmp_path: Path
) -> AsyncIterator[PostgresDatabase]:
    url = postgres_url.partition("?")[0] + f"?host={wire.folder}"  # type: ignore[attr-defined]
    database = PostgresDatabase(url, tmp_path, pool_size=3)
    await database.open()
    yield database
    await database.close()


def adding(calls: list[int]) -> Callable[[Connection], int]:
    """Work that isn't the same when it is done twice."""

    def work(db: Connection) -> int:
        calls.append(1)
        db.execute(
            "INSERT INTO lesson_uses (path, used_at, how, agent_id) "
            "VALUES ('p', '2026-01-01', 'read', 'a')"
        )
        return len(calls)

    return work


async def rows(database: PostgresDatabase) -> int:
    sql = "SELECT count(*) FROM lesson_uses"
    row = await database.read(lambda db: db.execute(sql).fetchone())
    return int(row[0]) if row else 0


async def test_a_commit_that_nobody_answered_but_took_effect_is_not_done_again(
    database: PostgresDatabase, wire: Wire
) -> None:
    calls: list[int] = []
    wire.cuts = [False]
    assert await database.write(adding(calls)) == 1
    assert (len(calls), await rows(database)) == (1, 1)


async def test_a_commit_that_never_arrived_is_done_again(
    database: PostgresDatabase, wire: Wire
) -> None:
    calls: list[int] = []
    wire.cuts = [True, True]
    assert await database.write(adding(calls)) == 3
    assert await rows(database) == 1


async def test_a_write_that_loses_its_connection_halfway_is_done_once(
    database: PostgresDatabase, postgres_server: PostgresServer
) -> None:
    calls: list[int] = []
    add = adding(calls)

    def work(db: Connection) -> int:
        number = add(db)
        if number == 1:
            postgres_server.cut_all()
            db.execute("SELECT 1")
        return number

    assert await database.write(work) == 2
    assert await rows(database) == 1


async def test_a_server_that_comes_back_is_waited_for(
    database: PostgresDatabase, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "PATIENCE", PATIENCE)
    await database.write(adding([]))
    postgres_server.stop(crash=True)
    waiting = asyncio.create_task(database.write(adding([])))
    reading = asyncio.create_task(rows(database))
    await until(lambda: database.trouble)
    await asyncio.to_thread(postgres_server.start)
    await waiting
    assert await reading in (1, 2)
    assert await rows(database) == 2
    assert database.trouble == ""


async def test_a_server_that_stays_away_is_told_after_a_time_and_used_when_it_is_back(
    database: PostgresDatabase, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "PATIENCE", 0.3)
    await database.write(adding([]))
    postgres_server.stop()
    try:
        for call in (database.write(adding([])), rows(database)):
            with pytest.raises(PersistenceConnectionError, match="doesn't answer"):
                await asyncio.wait_for(call, PATIENCE)
    finally:
        await asyncio.to_thread(postgres_server.start)
    monkeypatch.setattr(link, "PATIENCE", PATIENCE)
    assert await rows(database) == 1
    await database.write(adding([]))
    assert await rows(database) == 2


async def test_who_lost_the_connection_is_told_that_changes_may_have_been_missed(
    database: PostgresDatabase, postgres_server: PostgresServer, postgres_url: str
) -> None:
    told: asyncio.Queue[StoreChange] = asyncio.Queue()

    async def listen() -> None:
        async for change in database.changes():
            told.put_nowait(change)

    listener = asyncio.create_task(listen())
    await listening(postgres_url)
    postgres_server.cut_all()
    assert await asyncio.wait_for(told.get(), PATIENCE) == StoreChange("", 0)
    listener.cancel()
    await asyncio.gather(listener, return_exceptions=True)


async def test_writes_of_two_programs_are_one_after_another(
    database: PostgresDatabase, postgres_url: str, tmp_path: Path
) -> None:
    other = PostgresDatabase(postgres_url, tmp_path / "other")
    await other.open()

    def one_more(db: Connection) -> None:
        row = db.execute("SELECT value FROM meta WHERE name = 'count'").fetchone()
        values = ["count", str(int(row[0]) + 1 if row else 1)]
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)

    await asyncio.gather(*(each.write(one_more) for each in (database, other) * 20))
    sql = "SELECT value FROM meta WHERE name = 'count'"
    assert await other.read(lambda db: db.execute(sql).fetchone()) == ("40",)
    await other.close()
