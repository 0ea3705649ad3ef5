"""An agent that gets what it is served: its client acknowledges every receipt."""

from typing import Any

from synthorg_tui.agents.models import CallReply, ServedDigest, ServedHint
from synthorg_tui.agents.session import AgentSession


async def told(session: AgentSession, *call: Any, **options: Any) -> ServedHint:
    served = await session.hint(*call, **options)
    await session.acknowledge(served.receipt)
    return served


async def digested(session: AgentSession, query: str, *rest: Any, **options: Any) -> ServedDigest:
    served = await session.digest(query, *rest, **options)
    await session.acknowledge(served.receipt)
    return served


async def answered(session: AgentSession, name: str, arguments: dict[str, Any]) -> CallReply:
    served = await session.call(name, arguments)
    await session.acknowledge(served.receipt)
    return served
