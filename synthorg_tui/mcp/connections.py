"""The agent's connections to the owner of the store, one for each program that acts as the agent.

Each program has a connection of its own so that a person sees in the app which ones are connected.
"""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthorg_tui.core.errors import DomainError
from synthorg_tui.host.agent import AgentConnection
from synthorg_tui.host.opening import reach
from synthorg_tui.host.owner import SKILLS

PATIENCE: Final = 20.0
"""Seconds to wait for an owner: one that opens a large store on a busy machine takes a while."""
MAX_PROGRAMS: Final = 16
"""Programs with a connection of their own; over HTTP more than one may ask."""
MAX_LABEL: Final = 80
LOOK_SECONDS: Final = 3.0
MAX_LOOK_SECONDS: Final = 60.0
"""Longest pause between two looks at the owner: it grows from ``LOOK_SECONDS`` without answers."""


@dataclass(frozen=True, slots=True)
class ActingAgent:
    """The agent that an MCP server acts as, its project, and where its store is.

    With ``read_only`` it gets no tools that write.
    """

    agent_id: str
    project: str
    data_dir: Path
    config_path: Path | None = None
    read_only: bool = False


class OwnerPool:
    """Connections by program, each opened when the program first calls, and closed by ``close``.

    ``on_skills`` is called when the list of skills changed, ``on_tools`` when the list of tools
    did; tool changes are noticed only while ``watch`` runs.
    """

    def __init__(
        self, acting: ActingAgent, *, on_skills: Callable[[], None], on_tools: Callable[[], None]
    ) -> None:
        self._acting = acting
        self._on_skills = on_skills
        self._on_tools = on_tools
        self._session_id = uuid.uuid4().hex
        self._open: dict[str, AgentConnection] = {}
        self._tools: dict[str, frozenset[str]] = {}

    def of(self, program: str) -> AgentConnection:
        """Return the connection of a program, given its name and version.

        Beyond ``MAX_PROGRAMS`` the remaining programs share one connection.
        """
        label = program[:MAX_LABEL]
        if label not in self._open and len(self._open) >= MAX_PROGRAMS - 1:
            label = "others"
        if label not in self._open:
            self._open[label] = self._connect(label)
        return self._open[label]

    async def watch(self) -> None:
        """Reconnect when the owner changes, and notice changed tools; runs until cancelled."""
        pause = LOOK_SECONDS
        while True:
            await asyncio.sleep(pause)
            try:
                for label, connection in tuple(self._open.items()):
                    await self._look(label, connection)
                pause = LOOK_SECONDS
            except DomainError:
                pause = min(2 * pause, MAX_LOOK_SECONDS)

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._open.values():
            await connection.close()
        self._open.clear()

    async def _look(self, label: str, connection: AgentConnection) -> None:
        names = frozenset(tool.name for tool in await connection.tools())
        before = self._tools.setdefault(label, names)
        if names != before:
            self._tools[label] = names
            self._on_tools()

    def _connect(self, label: str) -> AgentConnection:
        from synthorg_tui.agents.models import AgentIdentity

        identity = AgentIdentity(
            agent_id=self._acting.agent_id,
            project=self._acting.project,
            own_session=self._session_id,
            client=label,
            read_only=self._acting.read_only,
        )
        return AgentConnection(
            self._acting.data_dir,
            identity,
            config_path=self._acting.config_path,
            on_event=self._on_event,
            patience=PATIENCE,
        )

    def _on_event(self, topic: str, _: object) -> None:
        if topic == SKILLS:
            self._on_skills()


async def wake(acting: ActingAgent) -> None:
    """Start an owner if there is none; a failure is not raised here but by the first call."""
    with suppress(DomainError, OSError):
        connection = await reach(
            acting.data_dir, role="bridge", config_path=acting.config_path, patience=PATIENCE
        )
        await connection.close()
