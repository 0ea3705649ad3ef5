"""The owner's side: listens on the socket and answers clients with the open engine.

Nothing is decided here: a client can make only the calls that ``calls`` lists, and one that acts
as an agent only an agent's calls.
"""

import asyncio
import dataclasses
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import TypeAdapter

from synthorg_tui import __version__
from synthorg_tui.host import endpoint, wire
from synthorg_tui.host.calls import AGENT_CALLS, CALLS, CANCEL, PROGRESS, RemoteCall
from synthorg_tui.host.errors import OwnerGoneError, RefusedError, VersionMismatchError
from synthorg_tui.host.wire import InvalidParamsError, Json, MethodNotFoundError, Peer, Request

if TYPE_CHECKING:
    from synthorg_tui.agents.models import AgentIdentity
    from synthorg_tui.agents.session import AgentSession
    from synthorg_tui.engine import Engine

_log = logging.getLogger(__name__)

OwnerKind = Literal["app", "headless", "command"]
"""An app stays, a headless owner leaves when an app asks, a command when its work is done."""
HELLO: Final = "host.hello"
YIELD: Final = "host.yield"
NEXT: Final = "next owner"  # the role of one that is loaded, and waits for the store
CHANGED: Final = "changed"
"""Topic of the event that tells which part of the engine a client changed."""
SKILLS: Final = "skills"
"""Topic of the event that the list of skills changed."""
_STARTS_RUNS: Final = ("runs.start", "runs.resume")
"""Calls whose work would outlive a command."""
FOLLOWED: Final = "followed"
"""Topic of the event with the report of an automatic import."""
HANDED_OVER: Final = "handed_over"
"""Topic of the event by which an agent's client acknowledges the receipt of a text."""
RUN: Final = "run"
"""Topic of the event that a run of an agent here changed; its data is the run's id."""
MAX_CLIENTS: Final = 64
MAX_FIELD: Final = 4096
"""Longest text, in characters, in a client's description of itself."""
HELLO_TIMEOUT: Final = 5.0
"""Seconds a client has to introduce itself, the owner to answer that, and the next one to load."""


@dataclass(slots=True, eq=False)
class ConnectedClient:
    """A client's connection; with a ``session`` the client acts as an agent, else as a person's."""

    number: int
    peer: Peer
    since: datetime
    role: str = ""
    pid: int = 0
    session: "AgentSession | None" = None
    greeted: asyncio.Event = field(default_factory=asyncio.Event)


class Owner:
    """Answers clients on the socket of a data directory, from ``start`` until ``stop``.

    Args:
        engine: Makes the calls; must stay open until ``stop`` has returned.
        data_dir: The data directory; the caller must hold its lock.
        kind: What kind of process it is; see ``OwnerKind``.
        on_yield: Called when a person's client asks a headless owner to leave.
        refuses: Why changes are refused, in words; empty where they aren't.
    """

    def __init__(
        self,
        engine: "Engine",
        *,
        data_dir: Path,
        kind: OwnerKind,
        on_yield: Callable[[], None] | None = None,
        refuses: str = "",
    ) -> None:
        self._engine = engine
        self._kind = kind
        self._on_yield = on_yield
        self._refuses = refuses
        self._had_agents = False
        self._followed = asyncio.Event()
        self._data_dir = data_dir
        self._path = endpoint.socket_path(data_dir)
        self._server: asyncio.Server | None = None
        self._clients: dict[int, ConnectedClient] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._count = 0
        self._unsubscribe: Callable[[], None] = lambda: None
        self.idle = asyncio.Event()
        """Set while nobody is connected."""
        self.idle.set()
        self.idle_since = time.monotonic()
        """When the last client left, or the owner came to be."""

    @property
    def clients(self) -> tuple[ConnectedClient, ...]:
        """The connected clients that have said who they are, oldest first."""
        return tuple(client for client in self._clients.values() if client.greeted.is_set())

    async def prepare(self) -> None:
        """Load in a thread what clients call, before ``start``; for work that takes long.

        Otherwise their first calls load it, on the event loop: most commands never have one. The
        model and the index, which such work needs itself, are only begun to be loaded.
        """
        self._begin(self._engine.warm_up())
        await asyncio.to_thread(self._engine.load_for_agents)
        await self._engine.gateway.open()

    async def start(self) -> None:
        """Begin to listen, on a socket that only this user can read and write."""
        self._unsubscribe = self._engine.events.subscribe(self._pass_on)
        endpoint.prepare(self._path)
        mask = os.umask(0o177)  # the socket must not be open to others for even a moment
        try:
            self._server = await asyncio.start_unix_server(
                self._serve, self._path, limit=wire.MAX_REQUEST
            )
        finally:
            os.umask(mask)

    def withdraw(self) -> None:
        """Stop listening: new clients find no owner and wait for the store."""
        if self._server is not None:
            self._server.close()
            endpoint.withdraw(self._path)

    async def hand_over(self, start_next: Callable[[], object] | None) -> None:
        """Stop once the calls that clients wait for are answered; the store is then closed.

        First it says in the lock file that the store is about to be closed, so that the next owner
        waits for it. Where agents were answered, which will ask more, ``start_next`` starts that
        owner, which is waited for until it is loaded; and so are the calls of a person's programs,
        which may be long. Others are answered meanwhile. Then this stops listening, and answers
        what has been asked by then.
        """
        from synthorg_tui.persistence.lock import mark_leaving

        mark_leaving(self._data_dir)
        if self._had_agents and start_next is not None:
            start_next()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._followed.wait(), HELLO_TIMEOUT)
        persons = [client for client in self._clients.values() if client.session is None]
        await asyncio.gather(*(client.peer.answered() for client in persons))
        self.withdraw()
        await asyncio.gather(*(client.peer.answered() for client in self._clients.values()))
        await self.stop()

    async def stop(self) -> None:
        """Stop listening and end every connection; calling it again does nothing."""
        if self._server is None:
            return
        self.withdraw()
        self._server = None
        self._unsubscribe()
        await asyncio.gather(*(client.peer.close() for client in tuple(self._clients.values())))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def disconnect(self, number: int) -> None:
        """End the connection of the client with this number; the client may connect again."""
        client = self._clients.get(number)
        if client is not None:
            await client.peer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        connection = writer.get_extra_info("socket")
        if len(self._clients) >= MAX_CLIENTS or not endpoint.is_same_user(connection):
            writer.close()
            return
        self._count += 1
        number = self._count
        peer = Peer(
            reader,
            writer,
            handler=lambda request: self._handle(client, request),
            on_event=lambda topic, data: self._hear(client, topic, data),
        )
        client = ConnectedClient(number, peer, datetime.now().astimezone())
        self._clients[number] = client
        self.idle.clear()
        impatient = asyncio.create_task(_hang_up_on_silence(client))
        try:
            await self._engine.gateway.open()
            await peer.run()
        finally:
            impatient.cancel()
            del self._clients[number]
            if client.session is not None:
                self._engine.gateway.disconnect(client.session)
            if not self._clients:
                self.idle_since = time.monotonic()
                self.idle.set()

    async def _handle(self, client: ConnectedClient, request: Request) -> Json:
        if request.method == HELLO:
            return self._greet(client, request.params)
        if not client.greeted.is_set():
            raise RefusedError("say who you are first", remedy=f"Call {HELLO}.")
        if request.method == YIELD:
            return self._leave(client)
        known = AGENT_CALLS if client.session is not None else CALLS
        call = known.get(request.method)
        if call is None:
            raise MethodNotFoundError(f"there is no call {request.method!r}")
        return await self._run(call, request, client.session)

    def _greet(self, client: ConnectedClient, params: dict[str, Json]) -> Json:
        theirs = str(params.get("version"))
        if theirs != __version__:
            raise VersionMismatchError(
                f"the owner (process {os.getpid()}) is version {__version__}, this is {theirs}",
                remedy="Close it, so that both are the same.",
            )
        pid, agent = params.get("pid"), params.get("agent")
        client.pid = pid if isinstance(pid, int) else 0
        if agent is not None and client.session is None:
            self._had_agents = True
            client.session = self._engine.gateway.connect(
                _identity(agent), hang_up=client.peer.close, pid=client.pid
            )
        client.role = str(params.get("role", ""))[:40]
        if client.role == NEXT:
            self._followed.set()
        client.greeted.set()
        return {"version": __version__, "pid": os.getpid(), "kind": self._kind}

    def _leave(self, client: ConnectedClient) -> Json:
        if client.session is not None:
            raise RefusedError(
                "an agent's session can't ask the owner of the store to leave",
                remedy="Open the app; it takes the store over.",
            )
        if self._on_yield is None:
            raise RefusedError(
                f"the {self._kind} (process {os.getpid()}) owns the store and doesn't leave it",
                remedy="Close it first, or choose another directory with --data-dir.",
            )
        self._on_yield()
        return {}

    async def _run(
        self, call: RemoteCall, request: Request, session: "AgentSession | None"
    ) -> Json:
        if self._kind == "command" and call.name in _STARTS_RUNS:
            raise RefusedError(
                "a command has the store open, and a run would end with it",
                remedy="Try again once the command is over.",
            )
        values = call.decode(request.params)
        if self._refuses:
            from synthorg_tui.agents.tools import WRITING

            if call.changes or (call.name == "agent.call" and values["name"] in WRITING):
                raise RefusedError(self._refuses, remedy="Try again once that is over.")
        if call.progress is not None:
            adapter = call.progress
            values[PROGRESS] = lambda *step: request.progress(
                adapter.dump_python(step, mode="json")
            )
        if call.stops_early:
            stop = threading.Event()
            values[CANCEL] = stop
            request.stop = stop.set
        group, _, method = call.name.partition(".")
        target = session or self._part(group)
        waits = self._engine.gateway.answering() if session is not None else nullcontext()
        with waits:
            result = await getattr(target, method)(**values)
        if call.changes:
            self._engine.events.emit(CHANGED, call.name)
        return call.result.dump_python(result, mode="json")

    def _part(self, group: str) -> object:
        """The part of the engine that has the calls of a group."""
        if group == "engine":
            return self._engine
        if group == "runs":
            from synthorg_tui.host.runs import RunCalls

            return RunCalls(self._engine.runs)
        return getattr(self._engine, group)

    def _hear(self, client: ConnectedClient, topic: str, data: Json) -> None:
        """Note that a text reached the agent, also when its client leaves right after."""
        if topic == HANDED_OVER and client.session is not None:
            self._begin(client.session.acknowledge(str(data)))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done that ``stop`` waits for."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _pass_on(self, topic: str, data: Any) -> None:
        """Tell agents that the skills changed, and a person's programs of imports and of runs.

        Nothing else of the desk is the agents' business.
        """
        if topic not in (SKILLS, FOLLOWED, RUN):
            return
        told = None
        if topic != SKILLS:
            told = TypeAdapter(type(data)).dump_python(data, mode="json")
        for client in self.clients:
            if (client.session is not None) == (topic == SKILLS):
                self._begin(_tell(client.peer, topic, told))


async def _tell(peer: Peer, topic: str, data: Json) -> None:
    with suppress(OwnerGoneError):
        await peer.emit(topic, data)


def _identity(agent: Json) -> "AgentIdentity":
    """Parse the agent that a client wants to act as; raises ``InvalidParamsError``."""
    from synthorg_tui.agents.models import AgentIdentity

    texts = {field.name for field in dataclasses.fields(AgentIdentity)} - {"read_only"}
    if not isinstance(agent, dict):
        raise InvalidParamsError("agent is an object")
    given = {key: value for key, value in agent.items() if value is not None}
    read_only = given.pop("read_only", False)
    if not isinstance(read_only, bool) or not all(
        key in texts and isinstance(value, str) and len(value) <= MAX_FIELD
        for key, value in given.items()
    ):
        names = ", ".join(sorted(texts))
        raise InvalidParamsError(f"agent has texts ({names}) and read_only, which is true or false")
    if "agent_id" not in given:
        raise InvalidParamsError("agent.agent_id is missing")
    return AgentIdentity(**given, read_only=read_only)


async def _hang_up_on_silence(client: ConnectedClient) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(client.greeted.wait(), HELLO_TIMEOUT)
        return
    await client.peer.close()
