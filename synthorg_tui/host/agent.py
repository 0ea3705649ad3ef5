"""An agent's connection to the owner of the store, which reconnects when the owner ends."""

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthorg_tui.host.calls import AGENT_CALLS
from synthorg_tui.host.client import OwnerConnection
from synthorg_tui.host.errors import OwnerGoneError
from synthorg_tui.host.opening import PATIENCE, reach
from synthorg_tui.host.wire import EventSink

if TYPE_CHECKING:
    from synthorg_tui.agents.models import AgentIdentity
    from synthorg_tui.agents.session import AgentSession as Calls
else:
    Calls = object


class AgentConnection(Calls):
    """Makes the calls of an ``AgentSession``, as it has them, in the process that owns the store.

    Every call can also raise ``NoOwnerError``. It connects at the first call. When the owner ends,
    the call is repeated with the next owner, which is started if there is none. Repeating a write
    is safe, since an agent's memory with the same content is stored only once. ``patience`` is how
    many seconds to wait for an owner.
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
        self._reach = partial(
            reach,
            data_dir,
            role=role,
            agent=identity,
            config_path=config_path,
            on_event=on_event,
            patience=patience,
        )
        self._to_owner: OwnerConnection | None = None
        self._connecting = asyncio.Lock()

    def __getattr__(self, name: str) -> Any:
        if name not in AGENT_CALLS.groups["agent"].methods:
            raise AttributeError(name)
        return partial(self._call, name)

    async def acknowledge(self, receipt: str) -> None:
        """See ``AgentSession.acknowledge``; an owner that is gone knows of no receipt."""
        if self._to_owner is not None:
            with suppress(OwnerGoneError):
                await self._to_owner.acknowledge(receipt)

    async def close(self) -> None:
        """Close the connection; the next call would open a new one."""
        if self._to_owner is not None:
            await self._to_owner.close()
            self._to_owner = None

    async def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        call = AGENT_CALLS[f"agent.{method}"]
        connection = None
        try:
            connection = await self.open()
            return await connection.call(call, args, kwargs)
        except OwnerGoneError:
            if connection is not None:
                await (
                    connection.close()
                )  # the writing side may notice the end before the reading one
            return await (await self.open()).call(call, args, kwargs)

    async def open(self) -> OwnerConnection:
        """Return the open connection; a new one is made if there is none, or the owner ended.

        Raises ``NoOwnerError``.
        """
        async with self._connecting:
            if self._to_owner is None or self._to_owner.is_closed:
                await self.close()
                self._to_owner = await self._reach()
            return self._to_owner
