"""An agent's connection to the owner of the store, which reconnects when the owner ends."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthorg_tui.host.calls import AGENT_CALLS
from synthorg_tui.host.client import OwnerConnection
from synthorg_tui.host.errors import OwnerGoneError
from synthorg_tui.host.opening import PATIENCE, reach
from synthorg_tui.host.wire import EventSink

if TYPE_CHECKING:
    from synthorg_tui.agents.models import (
        AgentIdentity,
        CallReply,
        ServedDigest,
        ServedHint,
        SkillCard,
    )
    from synthorg_tui.learning.actions import AgentAction
    from synthorg_tui.memory.models import MemoryDraft, MemoryEdit
    from synthorg_tui.providers.models import ToolDefinition


class AgentConnection:
    """Makes the calls of an ``AgentSession`` in the process that owns the store.

    It connects at the first call. When the owner ends, the call is repeated with the next owner,
    which is started if there is none. Repeating a write is safe, since an agent's memory with the
    same content is stored only once. ``patience`` is how many seconds to wait for an owner.
    """

    def __init__(
        self,
        data_dir: Path,
        identity: "AgentIdentity",
        *,
        role: str = "agent",
        config_path: Path | None = None,
        on_event: EventSink | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._data_dir = data_dir
        self._identity = identity
        self._role = role
        self._config_path = config_path
        self._on_event = on_event
        self._patience = patience
        self._connection: OwnerConnection | None = None
        self._connecting = asyncio.Lock()

    @property
    def owner_pid(self) -> int | None:
        """The process id of the owner that answers; ``None`` while there is no connection."""
        return self._connection.owner.pid if self._connection is not None else None

    async def open(self) -> None:
        """Connect now rather than with the first call; raises ``NoOwnerError``."""
        await self._connected()

    async def tools(self) -> "tuple[ToolDefinition, ...]":
        """See ``AgentSession.tools``; every call can also raise ``NoOwnerError``."""
        return await self._call("tools")  # type: ignore[no-any-return]

    async def call(self, name: str, arguments: dict[str, Any]) -> "CallReply":
        """See ``AgentSession.call``."""
        return await self._call("call", name, arguments)  # type: ignore[no-any-return]

    async def digest(
        self, query: str, token_budget: int | None = None, anew: bool = False
    ) -> "ServedDigest":
        """See ``AgentSession.digest``."""
        return await self._call("digest", query, token_budget, anew)  # type: ignore[no-any-return]

    async def hint(self, moment: str, action: "AgentAction", subagent: str = "") -> "ServedHint":
        """See ``AgentSession.hint``."""
        return await self._call("hint", moment, action, subagent)  # type: ignore[no-any-return]

    async def acknowledge(self, receipt: str) -> None:
        """See ``AgentSession.acknowledge``; an owner that is gone knows of no receipt."""
        if self._connection is not None:
            with suppress(OwnerGoneError):
                await self._connection.acknowledge(receipt)

    async def skills(self) -> "tuple[SkillCard, ...]":
        """See ``AgentSession.skills``."""
        return await self._call("skills")  # type: ignore[no-any-return]

    async def read_skill(self, name: str) -> str:
        """See ``AgentSession.read_skill``."""
        return await self._call("read_skill", name)  # type: ignore[no-any-return]

    async def add_memory(self, draft: "MemoryDraft") -> "CallReply":
        """See ``AgentSession.add_memory``."""
        return await self._call("add_memory", draft)  # type: ignore[no-any-return]

    async def edit_memory(self, memory_id: str, change: "MemoryEdit") -> "CallReply":
        """See ``AgentSession.edit_memory``."""
        return await self._call("edit_memory", memory_id, change)  # type: ignore[no-any-return]

    async def delete_memories(self, memory_ids: list[str]) -> "CallReply":
        """See ``AgentSession.delete_memories``."""
        return await self._call("delete_memories", memory_ids)  # type: ignore[no-any-return]

    async def restore_memories(self, memory_ids: list[str]) -> "CallReply":
        """See ``AgentSession.restore_memories``."""
        return await self._call("restore_memories", memory_ids)  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Close the connection; the next call would open a new one."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _call(self, method: str, *args: Any) -> Any:
        call = AGENT_CALLS[f"agent.{method}"]
        connection = None
        try:
            connection = await self._connected()
            return await connection.call(call, args, {})
        except OwnerGoneError:
            if connection is not None:
                await connection.close()  # who writes may find out before who reads
            return await (await self._connected()).call(call, args, {})

    async def _connected(self) -> OwnerConnection:
        async with self._connecting:
            if self._connection is None or self._connection.is_closed:
                await self.close()
                self._connection = await reach(
                    self._data_dir,
                    role=self._role,
                    agent=self._identity,
                    config_path=self._config_path,
                    on_event=self._on_event,
                    patience=self._patience,
                )
            return self._connection
