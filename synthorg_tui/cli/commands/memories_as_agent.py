"""``memories`` inside a coding agent's environment: what a command changes, the agent changes.

It acts under the agent's own id and policy, on the memories that the agent wrote itself. What only
a person may do is refused by ``cli.agent_rules``. Reading is the same for everybody and stays in
``memories_reading``.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from synthorg_tui.cli.commands.memories_reading import changed, find_one, ids_of
from synthorg_tui.cli.context import Context
from synthorg_tui.cli.naming import project_named
from synthorg_tui.cli.output import Answer
from synthorg_tui.core.text import counted

if TYPE_CHECKING:
    from synthorg_tui.agents.models import CallReply
    from synthorg_tui.core.actors import CodingAgent
    from synthorg_tui.memory.models import MemoryStoreRequest


def refuse_times(agent: "CodingAgent", times: Sequence[datetime | None]) -> None:
    """Raise ``DecisionRefusedError`` when an agent says from when until when a fact is true."""
    from synthorg_tui.approvals.models import DecisionRefusedError

    if any(times):
        raise DecisionRefusedError(
            f"{agent.shown_by} runs this: when a fact is true is for the person to say",
            remedy="Leave out --valid-from and --valid-to.",
        )


async def add(context: Context, agent: "CodingAgent", request: "MemoryStoreRequest") -> Answer:
    """Add a memory to the agent's own, or propose it."""
    from synthorg_tui.approvals.models import DecisionRefusedError
    from synthorg_tui.memory.models import MemoryDraft

    if context.args.agent not in (None, agent.id):
        raise DecisionRefusedError(
            f"{agent.shown_by} runs this: it adds to the memory of {agent.id}, "
            f"not of {context.args.agent}",
            remedy=f"Use --agent {agent.id}, or ask the person to add it.",
        )
    project = None
    if context.args.project:
        async with context.engine() as engine:
            project = await project_named(engine, context.args.project, is_new=True)
    async with context.acting_as(agent) as acting:
        reply = await acting.add_memory(MemoryDraft(request=request, project=project))
        if reply.waiting:
            return _waits(reply)
        (memory_id,) = reply.memory_ids
        async with context.engine() as engine:
            (stored,) = await engine.desk.entries([memory_id])
    context.note_redacted(request.content, stored.content)
    return Answer({"id": memory_id}, f"Added {memory_id}")


async def delete(context: Context, agent: "CodingAgent") -> Answer:
    """Delete memories that the agent wrote, or propose it."""
    async with context.acting_as(agent) as acting:
        reply = await acting.delete_memories(await _named(context, deleted=False))
    if reply.waiting:
        return _waits(reply)
    return changed("deleted", len(reply.memory_ids))


async def restore(context: Context, agent: "CodingAgent") -> Answer:
    """Bring back memories that the agent wrote and itself deleted."""
    async with context.acting_as(agent) as acting:
        reply = await acting.restore_memories(await _named(context, deleted=True))
    return changed("restored", len(reply.memory_ids))


async def _named(context: Context, *, deleted: bool) -> list[str]:
    """The full ids of the memories that the arguments name, each once."""
    async with context.engine() as engine:
        found = [await find_one(engine.desk, start, deleted=deleted) for start in context.args.ids]
    return ids_of(found)


def _waits(reply: "CallReply") -> Answer:
    """Say that nothing was changed yet: a person decides on what was proposed."""
    count, ids = counted(len(reply.waiting), "proposal"), ", ".join(reply.waiting)
    return Answer(
        {"waiting": list(reply.waiting)}, f"Waits for the person's approval: {count}, {ids}"
    )
