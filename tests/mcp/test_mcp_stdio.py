"""The bridge process over standard input and output, as a client's program starts it."""

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult

from synthorg_tui.host.client import connect
from synthorg_tui.host.owner import SKILLS
from synthorg_tui.mcp.stdio import MAX_MESSAGE
from tests.curation.review_kit import evidence
from tests.mcp.mcp_kit import approve_skill, bridge, owned, text_of
from tests.patience import PATIENCE, until
from tests.postgres_switch import files_only
from tests.soak import points
from tests.tables import rows

FACT = {"content": "The staging database listens on port 6543.", "category": "semantic"}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


async def owner_pid(data_dir: Path) -> int:
    connection = await connect(data_dir, role="test")
    await connection.close()
    return connection.owner.pid


class TestClient:
    @files_only
    @rows("era", ["legacy", "auto"])
    async def test_a_client_starts_the_memory_and_uses_all_of_it(
        self, tmp_path: Path, era: str
    ) -> None:
        """Nothing runs by then; list, call, prompt, resource and skill through the real bridge."""
        data_dir = tmp_path / "data"
        async with owned(data_dir) as (engine, _):
            described = await approve_skill(engine)
        async with Client(bridge(data_dir), mode=era) as client:
            assert len((await client.list_tools()).tools) == 14
            assert not (await client.call_tool("core_memory_write", {"content": "Ada"})).is_error
            prompt = await client.get_prompt("memory_digest", {"query": "who am I?"})
            assert "Ada" in prompt.messages[0].content.text  # type: ignore[union-attr]
            digest = await client.read_resource("synthorg://digest/who")
            assert "handed over earlier" in digest.contents[0].text  # type: ignore[union-attr]
            (skill,) = (await client.list_resources()).resources
            assert skill.description == described
            read = await client.read_resource(skill.uri)
            assert skill.name in read.contents[0].text  # type: ignore[union-attr]

    async def test_a_long_call_is_reported_on_and_can_be_cancelled(self, tmp_path: Path) -> None:
        """The owner is stopped for a while, so that calls take long."""
        heard = asyncio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.set()

        async with Client(bridge(tmp_path / "data")) as client:
            await client.list_tools()
            pid = await owner_pid(tmp_path / "data")
            os.kill(pid, signal.SIGSTOP)
            try:
                call = asyncio.create_task(
                    client.call_tool("core_memory_read", progress_callback=hear)
                )
                with anyio.move_on_after(0.3) as scope:
                    await client.call_tool("core_memory_read")
                await asyncio.wait_for(heard.wait(), PATIENCE)
            finally:
                os.kill(pid, signal.SIGCONT)
            assert scope.cancelled_caught
            assert not (await call).is_error
            assert not (await client.call_tool("core_memory_read")).is_error

    async def test_the_owner_is_killed_and_the_next_call_succeeds(self, tmp_path: Path) -> None:
        data_dir = tmp_path / "data"
        async with Client(bridge(data_dir)) as client:
            await client.call_tool("archival_memory_write", FACT)
            first = await owner_pid(data_dir)
            os.kill(first, signal.SIGKILL)
            found = await client.call_tool("archival_memory_search", {"query": "staging port"})
            assert "6543" in text_of(found)
            assert await owner_pid(data_dir) != first

    @files_only
    async def test_what_is_known_about_a_call_is_told_through_the_bridge(
        self, tmp_path: Path
    ) -> None:
        known = evidence().model_copy(
            update={
                "failed": "git push",
                "error": "The current branch x has no upstream branch",
                "resolved_by": "git push --set-upstream origin x",
            }
        )
        data_dir = tmp_path / "data"
        async with owned(data_dir) as (engine, _):
            await approve_skill(engine, seen=(known,), agent="ada")
        async with Client(bridge(data_dir)) as client:
            told = await client.call_tool("before_action", {"command": "git push"})
            quiet = await client.call_tool("before_action", {"command": "git status"})
        assert "From memory (approved lesson" in text_of(told)
        assert text_of(quiet) == "Nothing is known about this call."

    async def test_a_killed_bridge_leaves_nothing_behind(self, tmp_path: Path) -> None:
        async with owned(tmp_path / "data") as (engine, owner):
            async with raw(tmp_path / "data") as process:
                await ask(process, 1, "tools/list")
                await until(lambda: engine.gateway.sessions)
                process.kill()
                await until(lambda: not engine.gateway.sessions)
            assert owner.idle.is_set()

    async def test_the_bridge_goes_on_with_who_owns_the_store_next(self, tmp_path: Path) -> None:
        """Without a call of the client: the next owner sees it, and it hears of changes."""
        heard = asyncio.Event()

        async def hear(message: Any) -> None:
            if getattr(message, "method", "") == "notifications/resources/list_changed":
                heard.set()

        data_dir = tmp_path / "data"
        parameters = bridge(data_dir)
        async with owned(data_dir) as (engine, _):
            client = Client(parameters, mode="legacy", message_handler=hear)
            await client.__aenter__()
            await client.list_tools()
        try:
            async with owned(data_dir) as (engine, _):
                await until(lambda: engine.gateway.sessions)
                engine.events.emit(SKILLS)
                await asyncio.wait_for(heard.wait(), PATIENCE)
        finally:
            await client.__aexit__(None, None, None)


@asynccontextmanager
async def raw(data_dir: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A bridge that has been greeted, to be talked to in bytes."""
    parameters = bridge(data_dir)
    process = await asyncio.create_subprocess_exec(
        parameters.command,
        *parameters.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=parameters.cwd,
        limit=2**24,
        preexec_fn=heeding_ctrl_c,
    )
    try:
        await ask(process, 0, "initialize", INITIALIZE)
        await send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), PATIENCE)


def heeding_ctrl_c() -> None:
    """What runs in the background, as tests may, passes on that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


async def send(process: asyncio.subprocess.Process, message: Any) -> None:
    assert process.stdin is not None
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    process.stdin.write(line + b"\n")
    await process.stdin.drain()


async def ask(
    process: asyncio.subprocess.Process, number: int, method: str, params: Any = None
) -> dict[str, Any]:
    """The answer to a request, past whatever comes before it."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    await send(process, message | ({"params": params} if params is not None else {}))
    return await answer(process, number)


async def answer(process: asyncio.subprocess.Process, number: int | None) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        while line := await process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if "method" not in message and message.get("id", "") == number:
                return message
    raise AssertionError("the bridge hung up")


def strange(dice: random.Random) -> bytes:
    """A line that no client should send."""
    value: Any = dice.choice(
        [None, True, -1, 2**70, 1.5, "", "x" * 2000, "../../etc/passwd", [], {}, [[]] * 9, {"a": 1}]
    )
    methods = ["tools/call", "tools/list", "prompts/get", "resources/read", "initialize", "ping"]
    methods += ["subscriptions/listen", "$/cancel", "host.yield", "agent.call", "notifications/x"]
    methods += ["notifications/cancelled", "notifications/initialized", "logging/setLevel", ""]
    name = dice.choice(["core_memory_write", "search_memory", "read_skill", "report_outcome", ""])
    arguments = {"content": value, "query": value, "task": value, "outcome": "success"}
    params = dice.choice(
        [
            value,
            {"name": value},
            {"name": name, "arguments": value},
            {"name": name, "arguments": arguments},
            {"uri": value},
            {"uri": f"synthorg://skills/{value}"},
            {"requestId": value},
            {"_meta": value},
        ]
    )
    message: dict[str, Any] = {
        "jsonrpc": dice.choice(["2.0", "2.0", "2.0", "1.0", None]),
        "id": dice.choice([dice.randrange(100, 10_000), str(value)[:50], value]),
        "method": dice.choice([*methods, value]),
        "params": params,
    }
    for key in list(message):
        if dice.random() < 0.1:
            del message[key]
    line = bytearray(json.dumps(message).encode())
    if dice.random() < 0.3:
        for _ in range(dice.randrange(1, 8)):
            line[dice.randrange(len(line))] = dice.choice(b'\x00\xff"{}[]:,9\x80')
    return bytes(line).replace(b"\n", b" ")


class TestHostileClient:
    @pytest.mark.soak
    async def test_strange_messages_and_it_lives_on(self, tmp_path: Path) -> None:
        dice = random.Random(20260101)
        async with owned(tmp_path / "data") as (engine, _):
            async with raw(tmp_path / "data") as process:
                for number in range(points(200, 1000)):
                    await send(process, strange(dice))
                    if number % 100 == 99:
                        assert "result" in await ask(process, 100_000 + number, "ping")
                tools = await ask(process, 200_000, "tools/list")
                assert len(tools["result"]["tools"]) == 14
            assert (await engine.agents()) is not None

    async def test_after_what_is_too_large_too_deep_or_no_number_the_next_is_answered(
        self, tmp_path: Path
    ) -> None:
        """What gets longer when it is passed on must not cost the connection to the owner."""
        async with owned(tmp_path / "data"), raw(tmp_path / "data") as process:
            await send(process, b'{"jsonrpc": "2.0", "id": 7, "x": "' + b"x" * 3 * MAX_MESSAGE)
            refused = await answer(process, None)
            assert str(MAX_MESSAGE) in refused["error"]["message"]
            await send(process, b'{"jsonrpc": "2.0", "id": 5, "params": ' + b"[" * 100_000)
            assert "result" in await ask(process, 8, "tools/list")
            head = b'{"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": '
            for value in (b"1e999", b"NaN", b"-Infinity"):
                arguments = b'"core_memory_read", "arguments": {"x": ' + value + b"}}}"
                await send(process, head + arguments)
                assert "error" in await answer(process, 6)
            grown = b"[" + b",".join([b"1e9"] * (MAX_MESSAGE // 5)) + b"]"
            await send(process, head + b'"core_memory_read", "arguments": {"x": ' + grown + b"}}}")
            reply = CallToolResult.model_validate((await answer(process, 6))["result"])
            assert reply.is_error
            after = await ask(process, 9, "tools/call", {"name": "core_memory_read"})
            assert not after["result"].get("isError")


class TestEnd:
    async def test_a_client_that_reads_no_more_ends_the_bridge(self, tmp_path: Path) -> None:
        """Its standard input stays open: only writing tells that it is gone."""
        parameters = bridge(tmp_path / "data")
        reading, writing = os.pipe()
        process = await asyncio.create_subprocess_exec(
            parameters.command,
            *parameters.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=writing,
            stderr=asyncio.subprocess.PIPE,
            cwd=parameters.cwd,
        )
        os.close(writing)
        os.close(reading)
        await send(
            process, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
        )
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        assert process.stderr is not None
        assert await process.stderr.read() == b""

    async def test_ctrl_c_ends_it_while_it_waits_for_the_client(self, tmp_path: Path) -> None:
        async with owned(tmp_path / "data"), raw(tmp_path / "data") as process:
            process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(process.wait(), PATIENCE) == 130

    @rows("nobody", ["<&-", ">&-", "</dev/null"])
    async def test_without_a_client_it_says_so(self, tmp_path: Path, nobody: str) -> None:
        parameters = bridge(tmp_path / "data")
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            f'exec "$0" "$@" {nobody}',
            parameters.command,
            *parameters.args,
            stderr=asyncio.subprocess.PIPE,
            cwd=parameters.cwd,
        )
        assert process.stderr is not None
        assert b"standard input" in await asyncio.wait_for(process.stderr.read(), PATIENCE)
        assert await process.wait() == 1
