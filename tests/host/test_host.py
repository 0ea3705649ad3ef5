"""One owner, many clients: real processes, a real store, a real socket."""

import asyncio
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.errors import StoreLockedError
from synthorg_tui.engine import Engine
from synthorg_tui.host import endpoint, opening
from synthorg_tui.host.client import OwnerConnection, RemoteEngine, connect, remote_engine
from synthorg_tui.host.errors import (
    NoOwnerError,
    OwnerGoneError,
    RefusedError,
    VersionMismatchError,
)
from synthorg_tui.host.headless import spawn
from synthorg_tui.host.opening import engine_for_app, engine_or_owner, reach
from synthorg_tui.host.owner import CHANGED, Owner
from synthorg_tui.ingest.service import ImportProgress
from synthorg_tui.memory.errors import MemoryNotFoundError
from synthorg_tui.memory.extensions import BatchStore, BrowseFilter, MemoryAdmin, MemoryEdit
from synthorg_tui.memory.models import MemoryQuery, MemoryStoreRequest
from synthorg_tui.memory.protocol import MemoryBackend
from synthorg_tui.memory.strategies.service import InjectionRequest
from synthorg_tui.settings.root import RootConfig
from synthorg_tui.tui.engine_host import LocalEngineHost
from tests import REPO
from tests.patience import PATIENCE, until
from tests.soak import points
from tests.tables import rows

SAMPLE = REPO / "synthorg_tui" / "ingest" / "sample"
SETTINGS = RootConfig.model_validate({"memory": {"level": "persistent"}})
FACT = MemoryStoreRequest(
    category=MemoryCategory.SEMANTIC, content="The staging database listens on port 6543."
)


@asynccontextmanager
async def owned(data_dir: Path, **options: Any) -> AsyncIterator[tuple[Engine, Owner]]:
    """An engine with somebody listening."""
    async with Engine.open(SETTINGS, data_dir=data_dir) as engine:
        owner = Owner(engine, data_dir=data_dir, kind=options.pop("kind", "app"), **options)
        await owner.start()
        try:
            yield engine, owner
        finally:
            await owner.stop()


def client(data_dir: Path) -> Any:
    return remote_engine(data_dir, SETTINGS, role="test")


class TestCalls:
    async def test_a_client_gets_what_the_engine_gives(self, tmp_path: Path) -> None:
        async with owned(tmp_path) as (engine, _), client(tmp_path) as remote:
            stored = await remote.memory.store("builder", FACT)
            query = MemoryQuery(text="which port does the staging database use?")
            assert await remote.desk.find(query) == await engine.desk.find(query)
            assert await remote.desk.browse(BrowseFilter()) == await engine.desk.browse(
                BrowseFilter()
            )
            assert await remote.agents() == await engine.agents()
            request = InjectionRequest("builder", "staging port", 500)
            given, ours = (
                await remote.injection.prepare(request),
                await engine.injection.prepare(request),
            )
            assert given.text == ours.text
            assert stored in given.text or "6543" in given.text

    async def test_a_client_looks_like_an_engine_to_who_probes_it(self, tmp_path: Path) -> None:
        async with owned(tmp_path), client(tmp_path) as remote:
            assert isinstance(remote.desk, MemoryAdmin)
            assert isinstance(remote.memory, BatchStore)
            assert not isinstance(remote.desk, MemoryBackend)

    async def test_an_error_of_the_engine_arrives_as_itself(self, tmp_path: Path) -> None:
        async with owned(tmp_path), client(tmp_path) as remote:
            unknown = "00000000-0000-0000-0000-000000000000"
            with pytest.raises(MemoryNotFoundError):
                await remote.desk.edit(unknown, MemoryEdit(content="x"), actor="person")

    async def test_an_import_reports_its_progress(self, tmp_path: Path) -> None:
        seen: list[ImportProgress] = []
        async with owned(tmp_path), client(tmp_path) as remote:
            report = await remote.imports.run([SAMPLE], progress=seen.append)
        assert report.memories_added > 0
        assert seen[-1].files_done == seen[-1].files_total

    async def test_progress_of_two_numbers_is_reported(self, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        async with owned(tmp_path) as (engine, _), client(tmp_path) as remote:
            await remote.imports.run([SAMPLE])
            sessions = [session.id for session in await remote.sessions.list()]
            await engine.sessions.purge(sessions, actor="person")
            remains = await remote.maintenance.compact(progress=lambda *step: seen.append(step))
        assert remains.is_empty
        assert seen
        assert {len(step) for step in seen} == {2}

    async def test_a_session_is_read_and_traced_over_the_wire(self, tmp_path: Path) -> None:
        async with owned(tmp_path) as (engine, _), client(tmp_path) as remote:
            await remote.imports.run([SAMPLE])
            listed = await remote.sessions.list()
            assert listed == await engine.sessions.list() != ()
            for session in listed:
                told = await remote.sessions.conversation(session.id)
                assert told == await engine.sessions.conversation(session.id)
                assert told.entries
            assert await remote.sessions.conversation("nowhere:1") is None
            assert (await remote.sessions.blame("/nowhere/a.py", "x")).touches == ()
            assert (await remote.sessions.aged()).count == 0

    async def test_an_import_that_is_stopped_keeps_what_is_done(self, tmp_path: Path) -> None:
        stop = threading.Event()
        stop.set()
        async with owned(tmp_path), client(tmp_path) as remote:
            report = await remote.imports.run([SAMPLE], cancel=stop)
        assert report.cancelled or report.executions > 0  # it may have been quicker than the word

    async def test_the_owner_hears_of_what_clients_change(self, tmp_path: Path) -> None:
        heard: list[tuple[str, Any]] = []
        async with owned(tmp_path) as (engine, _), client(tmp_path) as remote:
            engine.events.subscribe(lambda topic, data: heard.append((topic, data)))
            await remote.desk.facets()
            await remote.memory.store("builder", FACT)
        assert heard == [(CHANGED, "memory.store")]

    async def test_a_wrong_argument_is_named(self, tmp_path: Path) -> None:
        answers = []
        async with owned(tmp_path):
            reader, writer = await greeted(tmp_path)
            for params in ({"memory_id": 5}, {"nonsense": 1}, {}):
                answers.append(await ask(reader, writer, "desk.history", params))
            writer.close()
        assert [each["error"]["code"] for each in answers] == [-32602] * 3
        assert "memory_id" in answers[0]["error"]["message"]
        assert "nonsense" in answers[1]["error"]["message"]

    @rows(
        "method",
        ["desk.__class__", "engine.settings", "reviews.approve", "approvals.save", "desk", ""],
    )
    async def test_only_listed_calls_can_be_made(self, tmp_path: Path, method: str) -> None:
        async with owned(tmp_path):
            reader, writer = await greeted(tmp_path)
            answer = await ask(reader, writer, method, {})
            writer.close()
        assert answer["error"]["code"] == -32601


async def greeted(data_dir: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    from synthorg_tui import __version__

    reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(data_dir))
    await ask(reader, writer, "host.hello", {"version": __version__, "role": "test"})
    return reader, writer


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    writer.write(json.dumps(message).encode() + b"\n")
    answer: dict[str, Any] = json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))
    return answer


class TestWhoMayTalk:
    async def test_the_socket_is_for_this_user_only(self, tmp_path: Path) -> None:
        async with owned(tmp_path):
            assert Path(endpoint.socket_path(tmp_path)).stat().st_mode & 0o777 == 0o600

    async def test_who_does_not_say_who_it_is_gets_nothing(self, tmp_path: Path) -> None:
        async with owned(tmp_path):
            reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(tmp_path))
            answer = await ask(reader, writer, "desk.facets", {})
            writer.close()
        assert answer["error"]["data"]["type"] == "RefusedError"

    async def test_another_version_is_told_both_versions(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with owned(tmp_path):
            monkeypatch.setattr("synthorg_tui.host.client.__version__", "0.0.1")
            with pytest.raises(VersionMismatchError, match=r"0\.0\.1"):
                await connect(tmp_path, role="test")

    async def test_a_file_in_place_of_the_socket_is_not_talked_to(self, tmp_path: Path) -> None:
        Path(endpoint.socket_path(tmp_path)).write_text("")
        with pytest.raises(RefusedError):
            await connect(tmp_path, role="test")

    async def test_the_socket_of_another_user_is_not_talked_to(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with owned(tmp_path):
            monkeypatch.setattr("os.getuid", lambda: 12345)
            with pytest.raises(RefusedError):
                await connect(tmp_path, role="test")

    def test_a_process_of_another_user_is_told_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        near, far = socket.socketpair()
        with near, far:
            assert endpoint.is_same_user(near)
            monkeypatch.setattr("os.getuid", lambda: 12345)
            assert not endpoint.is_same_user(near)

    async def test_a_long_path_gets_a_short_socket(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deep = tmp_path / ("long" * 30)
        with tempfile.TemporaryDirectory() as short:
            monkeypatch.setenv("XDG_RUNTIME_DIR", short)
            async with owned(deep), client(deep) as remote:
                assert (await remote.desk.facets()).agents == ()
            assert Path(endpoint.socket_path(deep)).is_relative_to(short)

    async def test_who_says_nothing_is_hung_up_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("synthorg_tui.host.owner.HELLO_TIMEOUT", 0.05)
        async with owned(tmp_path):
            reader, writer = await asyncio.open_unix_connection(endpoint.socket_path(tmp_path))
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()


class TestOwnership:
    async def test_without_an_owner_there_is_nobody_to_reach(self, tmp_path: Path) -> None:
        with pytest.raises(NoOwnerError):
            await connect(tmp_path, role="test")

    async def test_without_an_owner_a_command_opens_the_store_itself(self, tmp_path: Path) -> None:
        async with engine_or_owner(SETTINGS, data_dir=tmp_path, role="test") as engine:
            assert isinstance(engine, Engine)

    async def test_with_an_owner_a_command_talks_to_it(self, tmp_path: Path) -> None:
        async with (
            owned(tmp_path),
            engine_or_owner(SETTINGS, data_dir=tmp_path, role="test") as engine,
        ):
            assert isinstance(engine, RemoteEngine)

    async def test_a_socket_left_by_a_dead_owner_is_no_owner(self, tmp_path: Path) -> None:
        left = socket.socket(socket.AF_UNIX)
        left.bind(endpoint.socket_path(tmp_path))
        left.close()
        async with engine_or_owner(SETTINGS, data_dir=tmp_path, role="test") as engine:
            assert isinstance(engine, Engine)

    async def test_an_app_does_not_make_room_for_another(self, tmp_path: Path) -> None:
        async with owned(tmp_path):
            with pytest.raises(StoreLockedError):
                async with engine_for_app(SETTINGS, data_dir=tmp_path):
                    pass

    async def test_a_command_that_has_the_store_open_answers_others(self, tmp_path: Path) -> None:
        async with engine_or_owner(SETTINGS, data_dir=tmp_path, role="test") as engine:
            assert isinstance(engine, Engine)
            stored = await engine.memory.store("builder", FACT)
            async with client(tmp_path) as remote:
                assert remote.owner.kind == "command"
                assert await remote.memory.get("builder", stored) is not None
        assert not Path(endpoint.socket_path(tmp_path)).exists()

    async def test_a_command_leaves_once_what_was_asked_of_it_is_answered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, may_answer = asyncio.Event(), asyncio.Event()
        agents = Engine.agents

        async def held_open(engine: Engine) -> Any:
            asked.set()
            await may_answer.wait()
            return await agents(engine)

        monkeypatch.setattr(Engine, "agents", functools.wraps(agents)(held_open))
        opened = engine_or_owner(SETTINGS, data_dir=tmp_path, role="test")
        await opened.__aenter__()
        async with client(tmp_path) as remote, client(tmp_path) as beside:
            answer = asyncio.create_task(remote.agents())
            await asked.wait()
            leaving = asyncio.create_task(opened.__aexit__(None, None, None))
            assert await beside.memory.count("builder") == 0  # others are still answered
            assert not leaving.done()
            may_answer.set()
            assert await answer == ()
            await leaving

    async def test_an_app_waits_for_a_command_and_does_not_ask_it_to_leave(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("synthorg_tui.host.opening.PATIENCE", PATIENCE)
        waits = asyncio.Event()
        opened = engine_or_owner(SETTINGS, data_dir=tmp_path, role="test")
        await opened.__aenter__()
        app = engine_for_app(SETTINGS, data_dir=tmp_path, waits=lambda _: waits.set())
        coming = asyncio.create_task(app.__aenter__())
        await waits.wait()
        assert not coming.done()
        await opened.__aexit__(None, None, None)
        assert isinstance(await coming, Engine)
        await app.__aexit__(None, None, None)

    async def test_a_command_starts_no_run_for_others(self, tmp_path: Path) -> None:
        async with owned(tmp_path, kind="command"), client(tmp_path) as remote:
            with pytest.raises(RefusedError, match="a run would end with it"):
                await remote.runs.resume("none")

    async def test_an_owner_that_was_started_may_take_its_time_to_open(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [0.0]

        def late(data_dir: Path, config_path: Path | None) -> "subprocess.Popen[bytes]":
            now[0] = opening.PATIENCE + 1
            return spawn(data_dir, config_path)

        monkeypatch.setattr(opening, "spawn", late)
        monkeypatch.setattr(opening, "time", SimpleNamespace(monotonic=lambda: now[0]))
        connection = await reach(tmp_path, role="test")
        assert connection.owner.kind == "headless"
        await connection.close()

    async def test_a_headless_owner_makes_room_for_the_app(self, tmp_path: Path) -> None:
        connection = await reach(tmp_path, role="test", patience=PATIENCE)
        assert connection.owner.kind == "headless"
        async with engine_for_app(SETTINGS, data_dir=tmp_path):
            await until(lambda: connection.is_closed)
        await connection.close()

    async def test_an_owner_that_was_killed_is_replaced_with_all_it_acknowledged(
        self, tmp_path: Path
    ) -> None:
        """A call that is under way when it dies fails at once."""
        first = await reach(tmp_path, role="test", patience=PATIENCE)
        stored = await RemoteEngine(first, SETTINGS).memory.store("builder", FACT)
        os.kill(first.owner.pid, signal.SIGSTOP)  # lest it answers before
        call = asyncio.create_task(RemoteEngine(first, SETTINGS).desk.find(MemoryQuery(text="x")))
        await asyncio.sleep(0.01)
        os.kill(first.owner.pid, signal.SIGKILL)
        with pytest.raises(OwnerGoneError):
            await asyncio.wait_for(call, PATIENCE)
        await until(lambda: first.is_closed)
        second = await reach(tmp_path, role="test", patience=PATIENCE)
        assert second.owner.pid != first.owner.pid
        assert await RemoteEngine(second, SETTINGS).memory.get("builder", stored) is not None
        for connection in (first, second):
            await connection.close()

    async def test_a_suspended_owner_is_in_the_way_but_nobody_hangs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Once it goes on it leaves, as a started owner does after its last client."""
        connection = await reach(tmp_path, role="test", patience=PATIENCE)
        monkeypatch.setattr("synthorg_tui.host.client.HELLO_TIMEOUT", 0.05)
        monkeypatch.setattr("synthorg_tui.host.opening.PATIENCE", 0.0)
        told: list[StoreLockedError] = []
        os.kill(connection.owner.pid, signal.SIGSTOP)
        try:
            with pytest.raises(NoOwnerError, match="doesn't answer"):
                await connect(tmp_path, role="test")
            for each in (
                engine_or_owner(SETTINGS, data_dir=tmp_path, role="test"),
                engine_for_app(SETTINGS, data_dir=tmp_path, waits=told.append),
            ):
                with pytest.raises(StoreLockedError, match=str(connection.owner.pid)):
                    await each.__aenter__()
            assert {each.owner_pid for each in told} == {connection.owner.pid}
        finally:
            os.kill(connection.owner.pid, signal.SIGCONT)
            await connection.close()
        await until(lambda: not is_alive(connection.owner.pid))

    @pytest.mark.soak
    async def test_of_owners_started_together_exactly_one_stays(self, tmp_path: Path) -> None:
        """The other one ends with exit code 3; often in `make soak`, since it is a race."""
        for attempt in range(points(1, 20)):
            data_dir = tmp_path / str(attempt)
            command = [sys.executable, "-m", "synthorg_tui", "--data-dir", str(data_dir), "serve"]
            started = [start(command) for _ in range(2)]
            connection = await reach_only(data_dir)
            while len(alive := [each for each in started if each.poll() is None]) > 1:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert [each.pid for each in alive] == [connection.owner.pid]
            assert [each.returncode for each in started if each not in alive] == [3]
            await connection.close()
            alive[0].send_signal(signal.SIGINT)
            alive[0].wait(PATIENCE)

    async def test_a_client_that_dies_leaves_nothing_behind(self, tmp_path: Path) -> None:
        async with owned(tmp_path) as (_, owner):
            connection = await connect(tmp_path, role="test")
            assert len(owner.clients) == 1
            connection._peer._writer.transport.abort()  # what the kernel does for a dead process
            await asyncio.wait_for(owner.idle.wait(), PATIENCE)
            assert not owner.clients
            await connection.close()


def start(command: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def reach_only(data_dir: Path) -> OwnerConnection:
    """A connection to an owner that somebody else starts."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await connect(data_dir, role="test")
        except (NoOwnerError, OwnerGoneError):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that ended and wasn't waited for doesn't."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


class TestTheApp:
    async def test_the_app_listens_once_it_has_settled_in(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("synthorg_tui.tui.engine_host.WARM_UP_AFTER", 0)
        host = LocalEngineHost(data_dir=tmp_path)
        await host.open()
        try:
            connection = await reach_only(tmp_path)
            assert connection.owner.kind == "app"
            assert connection.owner.pid == os.getpid()
            await connection.close()
        finally:
            await host.close()

    async def test_the_app_takes_over_from_an_owner_without_a_screen(self, tmp_path: Path) -> None:
        headless = await reach(tmp_path, role="test", patience=PATIENCE)
        host = LocalEngineHost(data_dir=tmp_path)
        try:
            assert (await (await host.open()).facets()).total == 0
            await until(lambda: headless.is_closed)
        finally:
            await host.close()
            await headless.close()
