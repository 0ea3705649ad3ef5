"""The client's side: connects to the owner, and offers its engine as if it were local.

The list of calls is in ``calls``; waiting for an owner, or starting one, is in ``opening``.
"""

import asyncio
import dataclasses
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthorg_tui import __version__
from synthorg_tui.core.events import Events
from synthorg_tui.host import endpoint, wire
from synthorg_tui.host.calls import CALLS, CANCEL, PROGRESS, RemoteCall
from synthorg_tui.host.errors import NoOwnerError, RefusedError
from synthorg_tui.host.owner import HANDED_OVER, HELLO, HELLO_TIMEOUT, YIELD, OwnerKind
from synthorg_tui.host.wire import EventSink, Peer

if TYPE_CHECKING:
    from synthorg_tui.agents.models import AgentIdentity
    from synthorg_tui.memory.listing import AgentSummary
    from synthorg_tui.settings.root import RootConfig


@dataclass(frozen=True, slots=True)
class OwnerInfo:
    """The process that owns the data directory."""

    pid: int
    kind: OwnerKind


class OwnerConnection:
    """An open connection to the owner; ``connect`` makes one, ``close`` ends it."""

    def __init__(self, peer: Peer, owner: OwnerInfo, reading: "asyncio.Task[None]") -> None:
        self._peer = peer
        self._reading = reading
        self.owner = owner

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return self._peer.is_closed

    async def call(self, call: RemoteCall, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Make an engine call and return its result; arguments and result are Python values.

        Raises the ``DomainError`` that the engine raised, or ``OwnerGoneError``.
        """
        report, stop = kwargs.pop(PROGRESS, None), kwargs.pop(CANCEL, None)
        sink = None
        if report is not None and call.progress is not None:
            adapter = call.progress

            def sink(value: Any) -> None:
                report(*adapter.validate_python(value))

        params = call.encode(args, kwargs)
        result = await self._peer.request(call.name, params, progress=sink, stop=stop)
        return call.result.validate_python(result)

    async def acknowledge(self, receipt: str) -> None:
        """Confirm that a text which the agent was served reached it; raises ``OwnerGoneError``."""
        await self._peer.emit(HANDED_OVER, receipt)

    async def ask_to_leave(self) -> None:
        """Ask an owner without a screen to end; raises ``RefusedError`` when it is the app."""
        await self._peer.request(YIELD, {})

    async def ended(self) -> None:
        """Return once the owner, or this side, has ended the connection."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        """Close the connection."""
        await self._peer.close()
        await asyncio.gather(self._reading, return_exceptions=True)


async def connect(
    data_dir: Path,
    *,
    role: str,
    agent: "AgentIdentity | None" = None,
    on_event: EventSink | None = None,
) -> OwnerConnection:
    """Connect to the owner of a data directory.

    With ``agent`` the connection acts as that agent and can make only an agent's calls. ``role``
    says what kind of program connects, for display. ``on_event`` gets each event's topic and data.

    Raises:
        NoOwnerError: No process listens there, or the one that does is suspended.
        RefusedError: The socket belongs to another user.
        VersionMismatchError: The owner is another version.
    """
    path = endpoint.socket_path(data_dir)
    endpoint.require_own_socket(path)
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=wire.MAX_RESPONSE)
    except OSError as error:  # the socket of an owner that died
        raise NoOwnerError(f"nobody listens at {path}") from error
    peer = Peer(reader, writer, on_event=on_event)
    reading = asyncio.create_task(peer.run())
    try:
        hello: dict[str, Any] = {"version": __version__, "role": role, "pid": os.getpid()}
        if agent is not None:
            hello["agent"] = dataclasses.asdict(agent)
        answer = await _greet(peer, hello, path)
    except BaseException:
        await peer.close()
        await asyncio.gather(reading, return_exceptions=True)
        raise
    return OwnerConnection(peer, OwnerInfo(int(answer["pid"]), answer["kind"]), reading)


async def _greet(peer: Peer, hello: dict[str, Any], path: str) -> Any:
    try:
        async with asyncio.timeout(HELLO_TIMEOUT):
            return await peer.request(HELLO, hello)
    except TimeoutError:
        raise NoOwnerError(
            f"the process that listens at {path} doesn't answer",
            remedy="It may be suspended: let it go on, or end it.",
        ) from None


class RemoteEngine:
    """The owner's engine as seen by a client: the groups of ``CALLS`` are its attributes.

    With ``read_only``, which says who has the store open, only calls that read are made; all others
    raise ``RefusedError``. ``events`` emits nothing: an owner tells a client through ``on_event``.
    """

    def __init__(
        self,
        connection: OwnerConnection,
        settings: "RootConfig",
        *,
        data_dir: Path | None = None,
        read_only: str = "",
    ) -> None:
        self._connection = connection
        self._read_only = read_only
        self.settings = settings
        self.data_dir = data_dir
        self.owner = connection.owner
        self.events = Events()

    @property
    def is_gone(self) -> bool:
        """Whether the owner has ended or hung up."""
        return self._connection.is_closed

    async def agents(self) -> tuple["AgentSummary", ...]:
        """Return the agents in the settings and those that imports added, sorted by id."""
        call = CALLS["engine.agents"]
        agents: tuple[AgentSummary, ...] = await self._connection.call(call, (), {})
        return agents

    def __getattr__(self, group: str) -> Any:
        """Return an object with the calls of a group as methods, so that protocols recognise it."""
        if group not in CALLS.groups:
            raise AttributeError(group)
        listed = CALLS.groups[group]
        names = listed.reads if self._read_only else listed.methods
        methods = {name: _method(f"{group}.{name}") for name in names}
        kind = type(f"Remote{group.title()}", (_RemoteGroup,), methods)
        part = kind(self._connection, self._read_only)
        setattr(self, group, part)
        return part


class _RemoteGroup:
    def __init__(self, connection: OwnerConnection, read_only: str) -> None:
        self.connection = connection
        self.read_only = read_only

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        """Return a method that refuses a change where the store can only be looked at."""
        if not self.read_only:
            raise AttributeError(name)

        async def refuse(*_: object, **__: object) -> None:
            raise RefusedError(
                f"Read-only here: the store is {self.read_only}.",
                remedy="Change it there, or close that one: this one takes over.",
            )

        return refuse


def _method(name: str) -> Callable[..., Any]:
    async def method(self: _RemoteGroup, *args: Any, **kwargs: Any) -> Any:
        return await self.connection.call(CALLS[name], args, kwargs)

    return method


@asynccontextmanager
async def remote_engine(
    data_dir: Path, settings: "RootConfig", *, role: str, on_event: EventSink | None = None
) -> AsyncIterator[RemoteEngine]:
    """Connect to the owner and yield its engine; the connection closes with the ``async with``.

    Raises the errors of ``connect``.
    """
    connection = await connect(data_dir, role=role, on_event=on_event)
    try:
        yield RemoteEngine(connection, settings)
    finally:
        await connection.close()
