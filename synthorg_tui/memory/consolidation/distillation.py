"""What a run came to, in four lines: for a model that later condenses what happened around it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from synthorg_tui.core.enums import MemoryCategory
from synthorg_tui.core.text import counted
from synthorg_tui.memory.models import MemoryMetadata, MemoryStoreRequest

if TYPE_CHECKING:
    from synthorg_tui.executions.models import Execution

DISTILLATION_TAG: Final = "distillation"
DISTILLATION_SOURCE: Final = "distillation"
_OF_MEMORY: Final = "memory"


@dataclass(frozen=True, slots=True)
class DistillationRequest:
    """What is kept of a run: how it ended, how long it was, and which tools it used.

    ``tools`` are the names of all calls, repeats included; ``memory_tools`` those that read or
    wrote memories.
    """

    task_id: str
    outcome: str
    turns: int
    tokens: int = 0
    tools: Sequence[str] = ()
    memory_tools: Sequence[str] = ()

    def text(self) -> str:
        """Return the four lines."""
        used = ", ".join(sorted(set(self.tools))) or "none"
        trajectory = (
            f"{counted(self.turns, 'turn')}, {self.tokens} tokens; tools: {used}; "
            f"{counted(len(self.tools), 'tool call')} total"
        )
        return "\n".join(
            (
                f"Task ID: {self.task_id}",
                f"Outcome: {self.outcome}",
                f"Trajectory: {trajectory}",
                f"Memory tool invocations: {', '.join(self.memory_tools) or 'none'}",
            )
        )

    def request(self) -> MemoryStoreRequest:
        """Return the memory that is stored for the run."""
        return MemoryStoreRequest(
            category=MemoryCategory.EPISODIC,
            content=self.text(),
            metadata=MemoryMetadata(source=DISTILLATION_SOURCE, tags=(DISTILLATION_TAG,)),
        )


def distillation_of(execution: "Execution") -> DistillationRequest:
    """Return what is kept of a recorded run."""
    tools = tuple(call.tool for call in execution.calls)
    return DistillationRequest(
        task_id=execution.session_id,
        outcome=execution.outcome.value,
        turns=len(execution.turns),
        tokens=execution.tokens.input + execution.tokens.output,
        tools=tools,
        memory_tools=tuple(tool for tool in tools if _OF_MEMORY in tool.lower()),
    )
