"""The HTTP server with clients that hold on to it and do nothing: nobody else is kept out."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from synthorg_tui.mcp import bridge as bridges
from synthorg_tui.mcp import doors
from synthorg_tui.mcp.doors import Limits, WaitingRoom
from synthorg_tui.mcp.token import require_token
from tests.mcp.mcp_kit import acting, owned
from tests.patience import PATIENCE, until
from tests.tables import rows

QUICK = Limits(header_seconds=0.3, idle_seconds=PATIENCE)
PATIENT = Limits(header_seconds=PATIENCE, waiting=300, idle_seconds=PATIENCE)
FEW = Limits(header_seconds=PATIENCE, waiting=8, requests=4, sessions=3, idle_seconds=PATIENCE)
WHOLE = b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n"
HALF = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-half: "
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Door:
    """A running server: its URL, and requests of a client that has the token."""

    def __init__(self, url: str, token: str, http: httpx.AsyncClient) -> None:
        self.url = url
        self.port = httpx.URL(url).port
        self._http = http
        self.headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
        }

    async def hold(self, data: bytes = HALF) -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        await writer.drain()
        return reader, writer

    async def initialize(self) -> httpx.Response:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        return await self.post({"id": 1, "method": "initialize", "params": params})

    async def ping(self, session: str) -> int:
        answer = await self.post({"id": 2, "method": "ping"}, {"mcp-session-id": session})
        return answer.status_code

    async def post(
        self, call: dict[str, Any], more: dict[str, str] | None = None
    ) -> httpx.Response:
        headers = self.headers | (more or {})
        return await self._http.post(self.url, headers=headers, json={"jsonrpc": "2.0", **call})

    async def open_session(self) -> str:
        answer = await self.initialize()
        assert answer.status_code == 200, answer.text
        return str(answer.headers["mcp-session-id"])


@asynccontextmanager
async def open_door(data_dir: Path, limits: Limits) -> AsyncIterator[Door]:
    stop, url = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with owned(data_dir), httpx.AsyncClient(timeout=PATIENCE) as http:
        serving = asyncio.create_task(
            bridges.serve_http(
                acting(data_dir), port=0, stop=stop, on_ready=url.set_result, limits=limits
            )
        )
        await asyncio.wait({serving, url}, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield Door(url.result(), require_token(data_dir), http)
        finally:
            stop.set()
            await asyncio.wait_for(serving, PATIENCE)


class Time:
    """Lets the time for a header run out when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._rooms: list[WaitingRoom] = []

        def made(limits: Limits) -> WaitingRoom:
            self._rooms.append(WaitingRoom(limits))
            return self._rooms[-1]

        monkeypatch.setattr(doors, "WaitingRoom", made)

    async def is_up(self) -> None:
        """Wait until a connection waits for a header, and turn out all that do."""
        (room,) = self._rooms
        await until(lambda: room._timers)
        for waiting in tuple(room._timers):
            room._turn_out(waiting)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


@contextmanager
def closing(held: list[Streams]) -> Iterator[None]:
    try:
        yield
    finally:
        for _, writer in held:
            writer.close()


async def ended(streams: Streams) -> bytes:
    """What comes until the server closes the connection."""
    try:
        return await asyncio.wait_for(streams[0].read(), PATIENCE)
    except ConnectionResetError:
        return b""


class TestHalfHeaders:
    async def test_260_of_them_keep_nobody_out(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, PATIENT) as door:
            held = [await door.hold() for _ in range(260)]
            with closing(held):
                assert (await door.initialize()).status_code == 200

    @rows("said", [b"", b"G", HALF])
    async def test_a_connection_without_a_whole_header_is_closed(
        self, tmp_path: Path, said: bytes
    ) -> None:
        async with open_door(tmp_path, QUICK) as door:
            assert await ended(await door.hold(said)) == b""

    async def test_more_bytes_give_no_more_time(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, QUICK) as door:
            reader, writer = await door.hold()

            async def drip() -> None:
                while True:
                    writer.write(b"x")
                    await asyncio.sleep(0.05)

            dripping = asyncio.create_task(drip())
            try:
                assert await ended((reader, writer)) == b""
            finally:
                dripping.cancel()

    async def test_neither_does_an_answer_before_the_half_header(
        self, tmp_path: Path, time: Time
    ) -> None:
        async with open_door(tmp_path, PATIENT) as door:
            reader, writer = await door.hold(WHOLE + HALF)
            assert (await reader.readline()).startswith(b"HTTP/1.1 401")
            await time.is_up()
            await ended((reader, writer))

    async def test_nor_a_body_that_nobody_reads(self, tmp_path: Path, time: Time) -> None:
        async with open_door(tmp_path, PATIENT) as door:
            head = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n"
            reader, writer = await door.hold(head)
            assert (await reader.readline()).startswith(b"HTTP/1.1 401")
            writer.write(b"x")
            await time.is_up()
            await ended((reader, writer))

    async def test_of_too_many_the_oldest_is_closed(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, FEW) as door:
            held = [await door.hold() for _ in range(9)]
            with closing(held):
                assert await ended(held[0]) == b""
                assert not any(reader.at_eof() for reader, _ in held[1:])


@asynccontextmanager
async def listening(door: Door, session: str) -> AsyncIterator[asyncio.StreamReader]:
    """Hold a session's stream of notifications open."""
    head = (
        f"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:{door.port}\r\n"
        f"authorization: {door.headers['authorization']}\r\n"
        f"accept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n"
    )
    reader, writer = await door.hold(head.encode())
    with closing([(reader, writer)]):
        status = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        assert status.startswith(b"HTTP/1.1 200"), status
        yield reader


class TestRequests:
    async def test_one_that_takes_longer_than_a_header_may_goes_on(
        self, tmp_path: Path, time: Time
    ) -> None:
        async with open_door(tmp_path, PATIENT) as door:
            session = await door.open_session()
            async with listening(door, session) as stream:
                await time.is_up()
                others = await door.hold(WHOLE)
                assert (await others[0].readline()).startswith(b"HTTP/1.1 401")
                assert not stream.at_eof()
                others[1].close()

    async def test_too_many_at_once_are_told_to_come_back(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, Limits(header_seconds=PATIENCE, requests=1)) as door:
            session = await door.open_session()
            async with listening(door, session):
                assert await door.ping(session) == 503
            assert await until_answered(door, session, 200)


async def until_answered(door: Door, session: str, status: int) -> bool:
    """Wait until a ping is answered so; the pause is longer than a session may be idle here."""
    async with asyncio.timeout(PATIENCE):
        while await door.ping(session) != status:  # noqa: ASYNC110 - the server has no event
            await asyncio.sleep(0.4)
    return True


class TestSessions:
    async def test_64_dead_ones_give_way_to_the_next(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, PATIENT) as door:
            dead = [await door.open_session() for _ in range(64)]
            alive = await door.open_session()
            assert await door.ping(alive) == 200
            assert await door.ping(dead[0]) == 404
            assert await door.ping(dead[1]) == 200

    async def test_the_one_that_is_idle_longest_gives_way(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, FEW) as door:
            first, second, third = [await door.open_session() for _ in range(3)]
            assert await door.ping(first) == 200
            await door.open_session()
            assert [await door.ping(each) for each in (first, second, third)] == [200, 404, 200]

    async def test_one_that_listens_is_not_idle(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, FEW) as door:
            first, second, _ = [await door.open_session() for _ in range(3)]
            async with listening(door, first):
                await door.open_session()
                assert [await door.ping(each) for each in (first, second)] == [200, 404]

    async def test_an_idle_one_ends_by_itself(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, Limits(header_seconds=PATIENCE, idle_seconds=0.2)) as door:
            assert await until_answered(door, await door.open_session(), 404)

    async def test_requests_without_sessions_end_none(self, tmp_path: Path) -> None:
        async with open_door(tmp_path, FEW) as door:
            sessions = [await door.open_session() for _ in range(3)]
            await door.post({"id": 3, "method": "ping"}, {"mcp-protocol-version": "2026-07-28"})
            assert [await door.ping(each) for each in sessions] == [200, 200, 200]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1.5", '{"a": [NaN]}'])
async def test_an_id_that_is_no_number_does_no_harm(
    tmp_path: Path, number: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_door(tmp_path, PATIENT) as door:
        session = await door.open_session()
        body = f'{{"jsonrpc": "2.0", "id": {number}, "method": "ping"}}'
        headers = door.headers | {"content-type": "application/json", "mcp-session-id": session}
        async with httpx.AsyncClient(timeout=PATIENCE) as http:
            answer = await http.post(door.url, headers=headers, content=body)
        assert answer.status_code < 500
        assert await door.ping(session) == 200
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
