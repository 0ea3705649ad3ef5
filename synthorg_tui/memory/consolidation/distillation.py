"""What a run came to, in four lines: for a model that later condenses what happened around it."""

from collections.abc import Sequence
from typing import Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import counted
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

DISTILLATION_TAG: Final = "distillation"


def distillation_request(
    task_id: str,
    outcome: str,
    *,
    turns: int,
    tokens: int = 0,
    tools: Sequence[str] = (),
    memory_tools: Sequence[str] = (),
) -> MemoryStoreRequest:
    """Return the memory that is stored for a run: how it ended, how long it was, and its tools.

    ``tools`` are the names of all calls, repeats included; ``memory_tools`` those that read or
    wrote memories.
    """
    used = ", ".join(sorted(set(tools))) or "none"
    calls = f"tools: {used}; {counted(len(tools), 'tool call')} total"
    lines = (
        f"Task ID: {task_id}",
        f"Outcome: {outcome}",
        f"Trajectory: {counted(turns, 'turn')}, {tokens} tokens; {calls}",
        f"Memory tool invocations: {', '.join(memory_tools) or 'none'}",
    )
    return MemoryStoreRequest(
        category=MemoryCategory.EPISODIC,
        content="\n".join(lines),
        metadata=MemoryMetadata(source="distillation", tags=(DISTILLATION_TAG,)),
    )
