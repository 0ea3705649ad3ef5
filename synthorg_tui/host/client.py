"""The client's side: connects to the owner, and offers its engine as if it were local.

The list of calls is in ``calls``; waiting for an owner, or starting one, is in ``opening``.
"""

import asyncio
import dataclasses
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from synthorg_tui import __version__
from synthorg_tui.host import endpoint, wire
from synthorg_tui.host.calls import CALLS, CANCEL, PROGRESS, RemoteCall
from synthorg_tui.host.errors import NoOwnerError
from synthorg_tui.host.owner import HANDED_OVER, HELLO, HELLO_TIMEOUT, YIELD, OwnerKind
from synthorg_tui.host.wire import EventSink, Peer

if TYPE_CHECKING:
    from synthorg_tui.agents.gateway import AgentGateway
    from synthorg_tui.agents.models import AgentIdentity
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.approvals.trail import DecisionTrail
    from synthorg_tui.curation.consolidating import ConsolidationRuns
    from synthorg_tui.curation.erasure import Erasure
    from synthorg_tui.curation.forgetting import SessionErasure
    from synthorg_tui.curation.overview import SkillOverview
    from synthorg_tui.curation.pruning import PruneService
    from synthorg_tui.curation.secrets import SecretSearch
    from synthorg_tui.curation.service import ReviewService
    from synthorg_tui.evaluation.service import EvaluationService
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.figures.service import FigureService
    from synthorg_tui.host.runs import RunCalls
    from synthorg_tui.ingest.following import Following
    from synthorg_tui.ingest.service import ImportService
    from synthorg_tui.jobs.scheduler import JobScheduler
    from synthorg_tui.knowledge.service import KnowledgeService
    from synthorg_tui.learning.promotion import EvolutionService
    from synthorg_tui.learning.service import LearnService
    from synthorg_tui.memory.absences import Absences
    from synthorg_tui.memory.evaluation.comparing import EmbedderComparison
    from synthorg_tui.memory.extensions import MemoryAdmin
    from synthorg_tui.memory.listing import AgentSummary
    from synthorg_tui.memory.protocol import MemoryBackend
    from synthorg_tui.memory.scenarios import ScenarioService
    from synthorg_tui.memory.service import MemoryService
    from synthorg_tui.memory.store.maintenance import Maintenance
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.organisation.importing import OrgImports
    from synthorg_tui.organisation.service import OrganisationService
    from synthorg_tui.persistence.usage import UsageStore
    from synthorg_tui.settings.agreed import AgreedSettings
    from synthorg_tui.settings.changes import SettingChanges
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
    """The owner's engine as seen by a client: each listed call is made over the connection."""

    def __init__(self, connection: OwnerConnection, settings: "RootConfig") -> None:
        self._connection = connection
        self.settings = settings
        self.owner = connection.owner
        self.desk = cast("MemoryAdmin", self._group("desk"))
        self.erasure = cast("Erasure", self._group("erasure"))
        self.sessions = cast("SessionErasure", self._group("sessions"))
        self.evaluation = cast("EvaluationService", self._group("evaluation"))
        self.comparison = cast("EmbedderComparison", self._group("comparison"))
        self.memory_service = cast("MemoryService", self._group("memory_service"))
        self.knowledge = cast("KnowledgeService", self._group("knowledge"))
        self.organisation = cast("OrganisationService", self._group("organisation"))
        self.memory = cast("MemoryBackend", self._group("memory"))
        self.executions = cast("ExecutionStore", self._group("executions"))
        self.injection = cast("InjectionService", self._group("injection"))
        self.absences = cast("Absences", self._group("absences"))
        self.skills = cast("SkillOverview", self._group("skills"))
        self.scenarios = cast("ScenarioService", self._group("scenarios"))
        self.imports = cast("ImportService", self._group("imports"))
        self.org_imports = cast("OrgImports", self._group("org_imports"))
        self.following = cast("Following", self._group("following"))
        self.evolution = cast("EvolutionService", self._group("evolution"))
        self.pruning = cast("PruneService", self._group("pruning"))
        self.usage = cast("UsageStore", self._group("usage"))
        self.learning = cast("LearnService", self._group("learning"))
        self.reviews = cast("ReviewService", self._group("reviews"))
        self.approvals = cast("ApprovalQueue", self._group("approvals"))
        self.trail = cast("DecisionTrail", self._group("trail"))
        self.safety = cast("AgreedSettings", self._group("safety"))
        self.kept = cast("SettingChanges", self._group("kept"))
        self.gateway = cast("AgentGateway", self._group("gateway"))
        self.maintenance = cast("Maintenance", self._group("maintenance"))
        self.consolidation = cast("ConsolidationRuns", self._group("consolidation"))
        self.jobs = cast("JobScheduler", self._group("jobs"))
        self.figures = cast("FigureService", self._group("figures"))
        self.runs = cast("RunCalls", self._group("runs"))
        self.secrets = cast("SecretSearch", self._group("secrets"))

    @property
    def is_gone(self) -> bool:
        """Whether the owner has ended or hung up."""
        return self._connection.is_closed

    async def agents(self) -> tuple["AgentSummary", ...]:
        """Return the agents in the settings and those that imports added, sorted by id."""
        agents: tuple[AgentSummary, ...] = await self._connection.call(
            CALLS["engine.agents"], (), {}
        )
        return agents

    def _group(self, group: str) -> object:
        """An object with the calls of one group as methods, so that protocols recognise it."""
        methods = {method: _method(f"{group}.{method}") for method in CALLS.methods(group)}
        kind = type(f"Remote{group.title()}", (_RemoteGroup,), methods)
        return kind(self._connection)


class _RemoteGroup:
    def __init__(self, connection: OwnerConnection) -> None:
        self.connection = connection


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
