"""Builds the service that runs agents here, of the engine's services."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from synthorg_tui.runtime.runs import RunStore
from synthorg_tui.runtime.service import RunService
from synthorg_tui.wiring import Foundation

if TYPE_CHECKING:
    from synthorg_tui.agents.gateway import AgentGateway
    from synthorg_tui.approvals.queue import ApprovalQueue
    from synthorg_tui.executions.store import ExecutionStore
    from synthorg_tui.knowledge.service import KnowledgeService
    from synthorg_tui.learning.service import LearnService
    from synthorg_tui.memory.strategies.service import InjectionService
    from synthorg_tui.providers.completion.protocol import CompletionProvider

RUN_SERVICES: Final = (
    "approvals",
    "executions",
    "gateway",
    "injection",
    "knowledge",
    "learning",
    "model",
)
"""Names of the engine's services that ``RunParts`` has a function for."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """Functions that return services of the engine, each built when it is first needed."""

    approvals: "Callable[[], ApprovalQueue]"
    executions: "Callable[[], ExecutionStore]"
    gateway: "Callable[[], AgentGateway]"
    injection: "Callable[[], InjectionService]"
    knowledge: "Callable[[], KnowledgeService]"
    learning: "Callable[[], LearnService]"
    model: "Callable[[], CompletionProvider | None]"


def build_runs(base: Foundation, parts: RunParts) -> RunService:
    """Build the service of runs, which is closed before what its runs work with."""
    service = RunService(RunStore(base.database), {}, events=base.events, clock=base.clock)
    base.closing.push_async_callback(service.close)
    return service
