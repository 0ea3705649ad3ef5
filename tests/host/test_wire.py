"""The wire: JSON-RPC 2.0, one message a line, over a real socket pair."""

import asyncio
import importlib
import json
import pkgutil
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import synthorg_tui
from synthorg_tui.core.errors import DomainError, StoreLockedError
from synthorg_tui.host import wire
from synthorg_tui.host.errors import OwnerGoneError, UnexpectedRemoteError
from synthorg_tui.host.wire import MethodNotFoundError, Peer, Request
from tests.patience import PATIENCE
from tests.tables import rows

Handler = Callable[[Request], Awaitable[Any]]


@asynccontextmanager
async def pair(handler: Handler, *, limit: int = wire.MAX_REQUEST) -> AsyncIterator[Peer]:
    """A client's end whose other end answers with ``handler``."""
    near, far = socket.socketpair()
    far_peer = Peer(*await asyncio.open_connection(sock=far, limit=limit), handler=handler)
    near_peer = Peer(*await asyncio.open_connection(sock=near, limit=wire.MAX_RESPONSE))
    running = [asyncio.create_task(each.run()) for each in (far_peer, near_peer)]
    try:
        yield near_peer
    finally:
        await near_peer.close()
        await far_peer.close()
        await asyncio.gather(*running)


@asynccontextmanager
async def raw(handler: Handler, *, limit: int = wire.MAX_REQUEST) -> AsyncIterator[Any]:
    """A plain stream to a peer that answers with ``handler``."""
    near, far = socket.socketpair()
    peer = Peer(*await asyncio.open_connection(sock=far, limit=limit), handler=handler)
    running = asyncio.create_task(peer.run())
    reader, writer = await asyncio.open_connection(sock=near)
    try:
        yield reader, writer
    finally:
        writer.close()
        await peer.close()
        await running


async def echo(request: Request) -> Any:
    return request.params


async def ask(streams: Any, line: bytes) -> dict[str, Any]:
    reader, writer = streams
    writer.write(line + b"\n")
    answer: dict[str, Any] = json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))
    return answer


class TestCalls:
    async def test_a_call_returns_what_the_other_side_answers(self) -> None:
        async with pair(echo) as peer:
            assert await peer.request("echo", {"text": "grüße\n☃"}) == {"text": "grüße\n☃"}

    async def test_calls_are_answered_out_of_order(self) -> None:
        gate = asyncio.Event()

        async def handler(request: Request) -> Any:
            if request.method == "slow":
                await gate.wait()
            return request.method

        async with pair(handler) as peer:
            slow = asyncio.create_task(peer.request("slow", {}))
            assert await peer.request("quick", {}) == "quick"
            gate.set()
            assert await slow == "slow"

    async def test_an_error_keeps_its_type_message_and_remedy(self) -> None:
        async def handler(request: Request) -> Any:
            raise StoreLockedError("in use", owner_pid=1, remedy="Wait.")

        async with pair(handler) as peer:
            with pytest.raises(StoreLockedError, match="in use") as caught:
                await peer.request("any", {})
        assert caught.value.remedy == "Wait."
        assert caught.value.exit_code == 3

    async def test_an_unexpected_error_is_told_and_the_connection_lives_on(self) -> None:
        async def handler(request: Request) -> Any:
            return 1 / request.params["by"]

        async with pair(handler) as peer:
            with pytest.raises(UnexpectedRemoteError, match="ZeroDivisionError"):
                await peer.request("divide", {"by": 0})
            assert await peer.request("divide", {"by": 2}) == 0.5

    async def test_a_side_without_calls_says_so(self) -> None:
        async with pair(wire.refuse_all) as peer:
            with pytest.raises(MethodNotFoundError):
                await peer.request("any", {})

    async def test_progress_reaches_the_caller_in_order(self) -> None:
        async def handler(request: Request) -> Any:
            for step in range(5):
                request.progress(step)

        seen: list[int] = []
        async with pair(handler) as peer:
            await peer.request("count", {}, progress=seen.append)
        assert seen == [0, 1, 2, 3, 4]

    async def test_a_lone_surrogate_does_not_break_the_line(self) -> None:
        async def handler(request: Request) -> Any:
            return "\ud800"

        async with pair(handler) as peer:
            assert await peer.request("any", {}) == "?"


class TestCancelling:
    async def test_cancelling_the_caller_cancels_the_call(self) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def handler(request: Request) -> Any:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.set()
                raise

        async with pair(handler) as peer:
            call = asyncio.create_task(peer.request("sleep", {}))
            await begun.wait()
            call.cancel()
            await asyncio.wait_for(ended.wait(), PATIENCE)

    async def test_a_call_that_can_stop_early_still_answers(self) -> None:
        begun = asyncio.Event()

        async def handler(request: Request) -> Any:
            stopped = asyncio.Event()
            request.stop = stopped.set
            begun.set()
            await stopped.wait()
            return "half"

        stop = threading.Event()
        async with pair(handler) as peer:
            call = asyncio.create_task(peer.request("work", {}, stop=stop))
            await begun.wait()
            stop.set()
            assert await asyncio.wait_for(call, PATIENCE) == "half"

    async def test_a_lost_connection_ends_the_calls_of_both_sides(self) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def handler(request: Request) -> Any:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with pair(handler) as peer:
            call = asyncio.create_task(peer.request("sleep", {}))
            await begun.wait()
            await peer.close()
            with pytest.raises(OwnerGoneError):
                await call
            await asyncio.wait_for(ended.wait(), PATIENCE)
            with pytest.raises(OwnerGoneError):
                await peer.request("again", {})


class TestHostileInput:
    @rows(
        ("line", "code"),
        [
            (b"{", wire.PARSE_ERROR),
            (b"\xff\xfe", wire.PARSE_ERROR),
            (b"[" * 100_000, wire.PARSE_ERROR),
            (b"[]", wire.INVALID_REQUEST),
            (b'{"id": 1, "method": 5}', wire.INVALID_REQUEST),
            (b'{"id": 1, "method": "x", "params": [1]}', wire.INVALID_REQUEST),
            (b'{"id": {}, "method": "x"}', wire.INVALID_REQUEST),
            (b'{"id": NaN, "method": "x"}', wire.PARSE_ERROR),
            (b'{"id": 1, "method": "x", "params": {"a": [-Infinity]}}', wire.PARSE_ERROR),
            (b'{"id": {"a": [NaN]}, "method": 5}', wire.PARSE_ERROR),
            (b'{"id": 1e999, "method": "x"}', wire.INVALID_REQUEST),
            (b'{"id": 1e999, "method": 5}', wire.INVALID_REQUEST),
            (b'{"id": [{"a": 1e999}], "method": 5}', wire.INVALID_REQUEST),
            (b'{"id": 1.5, "method": "x"}', wire.INVALID_REQUEST),
            (b'{"id": 1, "method": "x", "params": {"a": 1e999}}', wire.INTERNAL_ERROR),
        ],
    )
    async def test_what_is_no_call_is_refused_and_the_next_one_answered(
        self, line: bytes, code: int
    ) -> None:
        async with raw(echo) as streams:
            assert (await ask(streams, line))["error"]["code"] == code
            good = await ask(streams, b'{"id": 7, "method": "x", "params": {"a": 1}}')
        assert good == {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}

    async def test_an_id_in_use_is_refused(self) -> None:
        async def handler(request: Request) -> Any:
            await asyncio.Event().wait()

        async with raw(handler) as streams:
            streams[1].write(b'{"id": 1, "method": "x"}\n')
            answer = await ask(streams, b'{"id": 1, "method": "x"}')
        assert answer["error"]["code"] == wire.INVALID_REQUEST

    async def test_a_line_over_the_limit_is_refused_and_ends_the_connection(self) -> None:
        async with raw(echo, limit=1000) as streams:
            answer = await ask(streams, b"x" * 5000)
            assert "too long" in answer["error"]["message"]
            assert await streams[0].read() == b""

    async def test_answers_and_notes_nobody_waits_for_are_ignored(self) -> None:
        async with raw(echo) as streams:
            for line in (
                b'{"id": 99, "result": 1}',
                b'{"method": "$/cancel", "params": {"id": 5}}',
                b'{"method": "$/progress", "params": {"id": [], "value": 1}}',
                b'{"method": "unknown", "params": {}}',
            ):
                streams[1].write(line + b"\n")
            assert (await ask(streams, b'{"id": 1, "method": "x"}'))["id"] == 1

    @settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(
            st.one_of(
                st.binary(max_size=200).map(lambda data: data.replace(b"\n", b" ")),
                st.recursive(
                    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
                    lambda inner: (
                        st.lists(inner, max_size=3)
                        | st.dictionaries(
                            st.sampled_from(["id", "method", "params", "result", "error"]),
                            inner,
                            max_size=5,
                        )
                    ),
                    max_leaves=10,
                ).map(lambda value: json.dumps(value).encode()),
            ),
            max_size=8,
        )
    )
    def test_whatever_arrives_the_next_good_call_is_answered(self, lines: list[bytes]) -> None:
        async def run() -> None:
            async with raw(echo) as (reader, writer):
                for line in lines:
                    writer.write(line + b"\n")
                writer.write(b'{"id": "last one", "method": "x", "params": {"ok": true}}\n')
                while True:
                    answer = json.loads(await asyncio.wait_for(reader.readline(), PATIENCE))
                    if answer.get("id") == "last one":
                        break
                assert answer["result"] == {"ok": True}

        asyncio.run(run())


def test_no_two_errors_have_the_same_name() -> None:
    """Errors cross the wire by name."""
    for module in pkgutil.walk_packages(synthorg_tui.__path__, "synthorg_tui."):
        if not module.name.startswith("synthorg_tui.tui") and "__main__" not in module.name:
            importlib.import_module(module.name)
    waiting, names = [DomainError], list[str]()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("synthorg_tui"):
            names.append(kind.__name__)
    assert [name for name in names if names.count(name) > 1] == []
