"""The stages after a run: costs, record, distillation, lessons, knowledge, end of the session.

A stage is a function that returns in a few words what it did, which becomes a note of the run. Each
may fail without stopping the others, and a program can leave some out.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from synthorg_tui.core.clock import Clock
from synthorg_tui.core.enums import MemoryLevel, TerminationReason
from synthorg_tui.core.text import counted
from synthorg_tui.memory.consolidation.distillation import distillation_request
from synthorg_tui.memory.enums import SourceKind
from synthorg_tui.memory.extensions import BatchStore
from synthorg_tui.memory.models import MemoryDraft
from synthorg_tui.persistence.entities import CollaborationMetric
from synthorg_tui.persistence.operational import DuckDBPersistence
from synthorg_tui.runtime.models import (
    BUILT_IN,
    AgentRun,
    ExecutionResult,
    RecoveryResult,
    RunStep,
    StepKind,
)
from synthorg_tui.runtime.record import RunRecords
from synthorg_tui.runtime.steps import used_by

COSTS: Final = "costs"
RECORD: Final = "record"
DISTILLATION: Final = "distillation"
CAPTURE: Final = "capture"
LEARNING: Final = "learning"
ENDING: Final = "ending"
ACTOR: Final = "run"
"""Who the history names for what a run leaves in memory."""
_OF_MEMORY: Final = ("memory", "memories")


@dataclass(slots=True)
class FinishedRun:
    """A run that ended, as the stages are given it; ``recovery`` is how its last request went.

    ``execution_id`` is that of its record, empty until there is one.
    """

    run: AgentRun
    steps: Sequence[RunStep]
    result: ExecutionResult
    recovery: RecoveryResult | None = None
    execution_id: str = ""


RunStage = Callable[[FinishedRun], Awaitable[str]]
"""Does one thing with a run that ended, and returns in words what it did; empty for nothing."""
Learn = Callable[[str], Awaitable[int]]
"""Draws lessons from the execution with this id; returns how many were proposed."""


@dataclass(frozen=True, slots=True)
class RunPipeline:
    """The stages of the app, and the services that they work with.

    ``operations`` keeps how delegated runs went, ``store`` keeps memories, ``level`` returns an
    agent's memory level, ``learn`` is ``None`` where the settings want no lessons, ``refresh``
    brings what is known of projects up to date, and ``end_session`` deletes what is limited to a
    run and returns how much.
    """

    records: RunRecords
    operations: Callable[[], DuckDBPersistence]
    clock: Clock
    store: Callable[[], BatchStore]
    level: Callable[[str], MemoryLevel]
    learn: Learn | None
    refresh: Callable[[], Awaitable[None]]
    end_session: Callable[[AgentRun], Awaitable[int]]

    def stages(self) -> Mapping[str, RunStage]:
        """Return the stages by name, in their order."""
        return {
            COSTS: self._costs,
            RECORD: self._record,
            DISTILLATION: self._distil,
            CAPTURE: self._capture,
            LEARNING: self._refresh,
            ENDING: self._end,
        }

    async def _costs(self, finished: FinishedRun) -> str:
        """Tell what the run used; each answer is on record since it was given."""
        used = used_by(finished.steps)
        if finished.run.request.parent:
            now, run = self.clock.now(), finished.run
            is_done = finished.result.termination_reason is TerminationReason.COMPLETED
            await self.operations().collaboration_metrics.save(
                CollaborationMetric(
                    agent_id=run.request.agent_id,
                    recorded_at=now,
                    delegation_success=is_done,
                    delegation_response_seconds=max(0.0, (now - run.started_at).total_seconds()),
                )
            )
        cost = f", cost {used.cost:.4f}" if used.cost else ""
        return (
            f"{counted(used.turns, 'answer')}, {counted(used.calls, 'call')}, "
            f"{used.tokens:,} tokens{cost}"
        )

    async def _record(self, finished: FinishedRun) -> str:
        if finished.execution_id:
            return finished.execution_id
        is_stopped = finished.result.termination_reason is TerminationReason.SHUTDOWN
        if is_stopped and finished.run.request.executor != BUILT_IN:
            return ""  # what its program wrote of it was imported when it was stopped
        taken = await self.records.take(finished.run, finished.steps, finished.result)
        finished.execution_id = taken
        return taken or "nothing was said or done"

    async def _distil(self, finished: FinishedRun) -> str:
        """Keep the four lines of the run; the same run again keeps no second entry."""
        request = finished.run.request
        level = self.level(request.agent_id)
        if level is MemoryLevel.NONE or not request.memory:
            return ""
        tools = [step.tool for step in finished.steps if step.kind is StepKind.CALL]
        used = used_by(finished.steps)
        distilled = distillation_request(
            finished.run.id,
            finished.result.termination_reason.value,
            turns=used.turns,
            tokens=used.tokens,
            tools=tools,
            memory_tools=[tool for tool in tools if any(part in tool for part in _OF_MEMORY)],
        )
        draft = MemoryDraft(
            request=distilled,
            key=f"run|{finished.run.id}|distillation",
            project=str(request.workspace),
            session_id=finished.run.id,
            level=level,
            source_kind=SourceKind.SYSTEM,
        )
        store = self.store()
        done = await store.store_many(request.agent_id, [draft], actor=ACTOR)
        if done.skipped:
            return done.skipped[0][1]
        return "stored" if done.added or done.updated else "waits for a person"

    async def _capture(self, finished: FinishedRun) -> str:
        if self.learn is None or not finished.execution_id:
            return ""
        proposed = await self.learn(finished.execution_id)
        return f"{counted(proposed, 'lesson')} proposed" if proposed else "no new lesson"

    async def _refresh(self, _finished: FinishedRun) -> str:
        await self.refresh()
        return ""

    async def _end(self, finished: FinishedRun) -> str:
        ended = await self.end_session(finished.run)
        return f"{counted(ended, 'memory', 'memories')} of the run deleted" if ended else ""
