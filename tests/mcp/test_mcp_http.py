"""MCP over HTTP: the SDK's client with the token, and everybody else without success."""

import asyncio
import functools
import json
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from synthorg_tui.agents.session import AgentSession
from synthorg_tui.core.errors import DomainError
from synthorg_tui.engine import Engine
from synthorg_tui.host.owner import SKILLS
from synthorg_tui.mcp import bridge as bridges
from synthorg_tui.mcp.server import NOTHING_NEW
from synthorg_tui.mcp.stdio import MAX_MESSAGE
from synthorg_tui.mcp.token import TOKEN_FILE, require_token
from tests.mcp.mcp_kit import acting, approve_skill, bridge, owned, text_of
from tests.patience import PATIENCE, until
from tests.tables import rows

ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])
PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
FOREIGN = (
    ("host", "attacker.example", 421),
    ("host", "attacker.example:{port}", 421),
    ("host", "127.0.0.1:1", 421),
    ("host", "localhost", 421),
    ("host", "127.0.0.1.attacker.example:{port}", 421),
    ("origin", "http://attacker.example", 403),
    ("origin", "null", 403),
    ("origin", "http://localhost:1", 403),
    ("origin", "http://localhost:{port}.attacker.example", 403),
    ("origin", "https://localhost:{port}", 403),
)
ACCEPT = {"accept": "application/json, text/event-stream"}


@asynccontextmanager
async def listening(data_dir: Path) -> AsyncIterator[tuple[Engine, str]]:
    """An owner and a bridge over HTTP in this process, and the bridge's URL."""
    stop, url = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with owned(data_dir) as (engine, _):
        serving = asyncio.create_task(
            bridges.serve_http(acting(data_dir), port=0, stop=stop, on_ready=url.set_result)
        )
        await asyncio.wait({serving, url}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        try:
            yield engine, url.result()
        finally:
            stop.set()
            await asyncio.wait_for(serving, PATIENCE)


@asynccontextmanager
async def client_of(
    url: str, token: str, era: str = "auto", **options: Any
) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=era, **options) as client:
            yield client


def bearer(data_dir: Path) -> dict[str, str]:
    return {"authorization": f"Bearer {require_token(data_dir)}"} | ACCEPT


class TestClient:
    @ERAS
    async def test_a_client_with_the_token_uses_all_of_it(self, tmp_path: Path, era: str) -> None:
        async with (
            listening(tmp_path) as (engine, url),
            client_of(url, require_token(tmp_path), era) as client,
        ):
            await approve_skill(engine)
            assert len((await client.list_tools()).tools) == 14
            await client.call_tool("core_memory_write", {"content": "I am Ada."})
            found = await client.call_tool("core_memory_read")
            prompt = await client.get_prompt("memory_digest", {"query": "who am I?"})
            again = await client.get_prompt("memory_digest", {"query": "who am I?"})
            (skill,) = (await client.list_resources()).resources
            read = await client.read_resource(skill.uri)
            (session,) = engine.gateway.sessions
        assert "I am Ada." in text_of(found)
        assert "I am Ada." in prompt.messages[0].content.text  # type: ignore[union-attr]
        assert again.messages[0].content.text == NOTHING_NEW  # type: ignore[union-attr]
        assert "<skill>" in read.contents[0].text  # type: ignore[union-attr]
        assert session.identity.agent_id == "ada"

    @ERAS
    async def test_notifications_come_over_http(self, tmp_path: Path, era: str) -> None:
        heard: list[str] = []

        async def hear(message: Any) -> None:
            heard.append(getattr(message, "method", ""))

        token = require_token(tmp_path)
        async with (
            listening(tmp_path) as (engine, url),
            client_of(url, token, era, message_handler=hear) as client,
        ):
            await client.list_tools()
            if era == "legacy":
                async with asyncio.timeout(PATIENCE):
                    while not heard:  # its stream for notifications opens in its own time
                        engine.events.emit(SKILLS)
                        await asyncio.sleep(0.1)
                assert heard[0] == "notifications/resources/list_changed"
            else:
                async with client.listen(resources_list_changed=True) as changes:
                    engine.events.emit(SKILLS)
                    async with asyncio.timeout(PATIENCE):
                        await anext(aiter(changes))

    @ERAS
    async def test_progress_and_cancellation_work_over_http(
        self, tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("synthorg_tui.mcp.server.PROGRESS_SECONDS", 0.05)
        heard, ended = asyncio.Event(), asyncio.Event()

        @functools.wraps(AgentSession.call)  # what a call is like is read when it is first made
        async def slow(*_: Any, **__: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.set()

        async with (
            listening(tmp_path) as (_, url),
            client_of(url, require_token(tmp_path), era) as client,
        ):
            with monkeypatch.context() as patch:
                patch.setattr(AgentSession, "call", slow)
                async with anyio.create_task_group() as group:
                    group.start_soon(
                        lambda: client.call_tool("core_memory_read", progress_callback=hear)
                    )
                    await asyncio.wait_for(heard.wait(), PATIENCE)
                    group.cancel_scope.cancel()
                await asyncio.wait_for(ended.wait(), PATIENCE)
            assert not (await client.call_tool("core_memory_read")).is_error


class TestRefused:
    async def test_nothing_is_answered_without_the_token(self, tmp_path: Path) -> None:
        token = require_token(tmp_path)
        wrong = [{}, {"authorization": ""}, {"authorization": token}]
        wrong += [{"authorization": f"Bearer {token[:-1]}"}, {"authorization": f"Basic {token}"}]
        wrong += [{"cookie": f"token={token}"}, {"x-authorization": f"Bearer {token}"}]
        async with listening(tmp_path) as (engine, url), httpx.AsyncClient() as http:
            for headers in wrong:
                for method in ("POST", "GET", "DELETE", "OPTIONS", "PUT"):
                    answer = await http.request(method, url, headers=headers | ACCEPT)
                    assert (answer.status_code, answer.content) == (401, b""), headers
            both = [("authorization", f"Bearer {token}"), ("authorization", "Bearer x")]
            assert (await http.post(url, headers=both, json=PING)).status_code == 401
            for elsewhere in ("/", "/mcp/../x", "/.well-known/oauth-protected-resource"):
                answer = await http.get(f"{url.removesuffix('/mcp')}{elsewhere}")
                assert answer.status_code == 401
            assert (await http.post(f"{url}?token={token}", json=PING)).status_code == 401
            assert engine.gateway.sessions == ()

    async def test_a_foreign_host_or_origin_is_refused_with_the_token(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (_, url), httpx.AsyncClient() as http:
            for header, value, status in FOREIGN:
                told = {header: value.format(port=httpx.URL(url).port)}
                for era in ({}, {"mcp-protocol-version": "2026-07-28"}):
                    answer = await http.post(url, headers=bearer(tmp_path) | told | era, json=PING)
                    assert answer.status_code == status, told

    @pytest.mark.parametrize("era", [{}, {"mcp-protocol-version": "2026-07-28"}])
    async def test_a_request_for_two_hosts_is_refused(
        self, tmp_path: Path, era: dict[str, str]
    ) -> None:
        body = json.dumps(PING)
        async with listening(tmp_path) as (_, url):
            good = f"localhost:{httpx.URL(url).port}"
            for hosts in ((good, "attacker.example"), ("attacker.example", good), (good, good)):
                told = bearer(tmp_path) | era | {"content-type": "application/json"}
                lines = [f"{name}: {value}" for name, value in told.items()]
                lines += [f"Host: {host}" for host in hosts]
                head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"content-length: {len(body)}"])
                reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(url).port)
                writer.write(f"{head}\r\n\r\n{body}".encode())
                assert (await reader.readline()).startswith(b"HTTP/1.1 400"), hosts
                writer.close()

    @pytest.mark.parametrize("era", [{}, {"mcp-protocol-version": "2026-07-28"}])
    async def test_a_body_that_is_not_called_json_is_refused(
        self, tmp_path: Path, era: dict[str, str]
    ) -> None:
        """Only such a body makes a browser ask before it sends one to another site."""
        body = json.dumps(PING).encode()
        async with listening(tmp_path) as (_, url), httpx.AsyncClient() as http:
            for kind in ("text/plain", "application/jsonp", "application/json, text/plain", ""):
                told = bearer(tmp_path) | era | ({"content-type": kind} if kind else {})
                assert (await http.post(url, headers=told, content=body)).status_code == 415, kind
            for kind in ("application/json", "application/json; charset=utf-8"):
                told = bearer(tmp_path) | era | {"content-type": kind}
                assert (await http.post(url, headers=told, content=body)).status_code != 415, kind

    async def test_what_is_too_long_or_no_message_is_refused(self, tmp_path: Path) -> None:
        async with listening(tmp_path) as (_, url), httpx.AsyncClient() as http:
            token = bearer(tmp_path) | {"content-type": "application/json"}
            long = b" " * (MAX_MESSAGE + 1)
            assert (await http.post(url, headers=token, content=long)).status_code == 413

            async def chunks() -> AsyncIterator[bytes]:
                for _ in range(MAX_MESSAGE // 65_536 + 2):
                    yield b" " * 65_536

            assert (await http.post(url, headers=token, content=chunks())).status_code == 413
            for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 50_000):
                answer = await http.post(url, headers=token, content=body)
                assert 400 <= answer.status_code < 500, body[:10]
            lost = token | {"mcp-session-id": "../../etc/passwd"}
            assert (await http.post(url, headers=lost, json=PING)).status_code == 404
            async with client_of(url, require_token(tmp_path)) as client:
                assert len((await client.list_tools()).tools) == 14

    async def test_strange_bytes_and_it_lives_on(self, tmp_path: Path) -> None:
        dice = random.Random(7)
        async with listening(tmp_path) as (_, url):
            port = httpx.URL(url).port
            for number in range(200):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                line = f"POST /mcp HTTP/1.1\r\nhost: localhost:{port}\r\n".encode()
                noise = dice.randbytes(dice.randrange(200))
                writer.write(noise if number % 2 else line + noise + b"\r\n\r\n")
                writer.write_eof()
                assert not (await reader.read(4096)).startswith(b"HTTP/1.1 2")
                writer.close()
            async with client_of(url, require_token(tmp_path)) as client:
                assert len((await client.list_tools()).tools) == 14


class TestCommand:
    async def test_the_command_tells_how_to_reach_it_and_ends_at_ctrl_c(
        self, tmp_path: Path
    ) -> None:
        data_dir = tmp_path / "data"
        parameters = bridge(data_dir, "--http", "--port", "0")
        process = await asyncio.create_subprocess_exec(
            parameters.command, *parameters.args, cwd=parameters.cwd, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        told = (await asyncio.wait_for(process.stderr.readline(), PATIENCE)).decode()
        hint = (await asyncio.wait_for(process.stderr.readline(), PATIENCE)).decode()
        url = next(word for word in told.split() if word.startswith("http://127.0.0.1:"))
        assert str(data_dir / TOKEN_FILE) in hint
        assert require_token(data_dir) not in told + hint
        async with client_of(url.rstrip(";"), require_token(data_dir)) as client:
            assert not (await client.call_tool("core_memory_read")).is_error
            process.send_signal(signal.SIGINT)
            assert await asyncio.wait_for(process.wait(), PATIENCE) == 0

    @rows(
        ("options", "why"),
        [
            (["--port", "5"], "--http"),
            (["--http", "--port", "65536"], "65535"),
            (["--project", "/no/such/folder"], "no directory"),
        ],
    )
    def test_wrong_options_are_told(self, tmp_path: Path, options: list[str], why: str) -> None:
        parameters = bridge(tmp_path / "data", *options)
        done = subprocess.run(
            [sys.executable, *parameters.args], capture_output=True, text=True, cwd=parameters.cwd
        )
        assert done.returncode == 2
        assert why in done.stderr
        assert done.stdout == ""

    async def test_a_port_in_use_is_told(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(DomainError, match=str(port)):
                await bridges.serve_http(
                    acting(tmp_path),
                    port=port,
                    stop=asyncio.Event(),
                    on_ready=pytest.fail,
                )


async def test_sessions_end_with_the_bridge(tmp_path: Path) -> None:
    async with owned(tmp_path) as (engine, _):
        stop, url = asyncio.Event(), asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            bridges.serve_http(acting(tmp_path), port=0, stop=stop, on_ready=url.set_result)
        )
        async with client_of(await url, require_token(tmp_path)) as client:
            await client.list_tools()
            assert len(engine.gateway.sessions) == 1
        stop.set()
        await serving
        await until(lambda: not engine.gateway.sessions)
