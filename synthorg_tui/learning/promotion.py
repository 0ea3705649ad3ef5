"""Promotion of lessons to every agent: the evolver's cycle over what is recorded, and its queue.

The service reads executions, active skills and earlier decisions, gives them to the evolver and
puts what that proposes in the queue. It holds no memory, no skill file and no way to approve.
"""

import asyncio
import logging
from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.core.pauses import pause_point
from synthorg_tui.curation import models
from synthorg_tui.curation.inbox import ACTION, item_id
from synthorg_tui.curation.models import LessonKind, ProceduralMemoryScope
from synthorg_tui.curation.registry import ActiveSkills
from synthorg_tui.curation.supersession import ExistingSkill
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.learning.capture import create_capture_strategy
from synthorg_tui.learning.evolver import (
    CONFLICT,
    EVOLVER,
    PROMOTION,
    AutonomousSkillEvolver,
    EvolverReport,
)
from synthorg_tui.learning.models import LearnProgress, ProgressSink, update_item
from synthorg_tui.learning.patterns import LessonOccurrence, trajectories_of
from synthorg_tui.memory.config import CompanyMemoryConfig

_DECIDED: Final = (ApprovalStatus.APPROVED, ApprovalStatus.REJECTED)

_log = logging.getLogger(__name__)
_COMPARED = frozenset({LessonKind.FAILURE, LessonKind.SUCCESS})
"""Kinds whose runs compare: what a person said to one agent, or a project's own commands, don't."""


@dataclass(frozen=True, slots=True)
class Evolution:
    """A cycle of the evolver, with the ids of approval items it added and of those it changed."""

    report: EvolverReport
    proposed: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()


class EvolutionService:
    """Runs cycles of the evolver over the recorded runs, and queues what it proposes.

    A lesson that a person rejected for its own agent isn't proposed for all agents either.

    Args:
        config: Settings of capture and evolver.
        executions: The recorded runs of all agents.
        skills: Reads which skills every agent is given already.
        queue: Where proposals wait for a person.
        clock: Decides what "now" is.
    """

    def __init__(
        self,
        config: CompanyMemoryConfig,
        executions: ExecutionStore,
        skills: ActiveSkills,
        queue: ProposalBox,
        clock: Clock,
    ) -> None:
        self._config = config.procedural.evolver
        self._executions = executions
        self._skills = skills
        self._queue = queue
        self._clock = clock
        self._capture = create_capture_strategy(config.procedural.capture)
        self._evolver = AutonomousSkillEvolver(self._config, clock)

    async def run(self, *, progress: ProgressSink | None = None) -> Evolution:
        """Run one cycle now; ``progress`` is called with the number of runs read so far.

        When the evolver is disabled the result is empty. Raises what the stores raise.
        """
        if not self._config.enabled:
            return Evolution(self._evolver.evolve((), ()))
        started = self._clock.now()
        try:
            rejected = await self._items((ACTION,), (ApprovalStatus.REJECTED,))
            occurrences = [
                occurrence
                for occurrence in await self._occurrences(started, progress)
                if item_id(occurrence.lesson.key) not in rejected
            ]
            trajectories = await asyncio.to_thread(trajectories_of, occurrences)
            report = self._evolver.evolve(
                trajectories,
                await self._shared(),
                decided=await self._items((PROMOTION, CONFLICT), _DECIDED),
            )
            evolution = await self._enqueue(report)
        except Exception:
            event = models.SKILL_EVOLVER_CYCLE_FAILED
            _log.exception("%s", event, extra={"event": event})
            raise
        return evolution

    async def _occurrences(
        self, now: datetime, progress: ProgressSink | None
    ) -> list[LessonOccurrence]:
        start = now - timedelta(days=self._config.window_days)
        ids = await self._executions.ids()
        occurrences: list[LessonOccurrence] = []
        for place, execution_id in enumerate(ids, 1):
            execution = await self._executions.get(execution_id)
            at = (execution.ended_at or execution.started_at) if execution else None
            # Reports count for no other agent: one program may report under many names.
            counts = execution is not None and not execution.is_reported
            if execution is not None and counts and at is not None and at >= start:
                occurrences += await asyncio.to_thread(self._taught_by, execution, at)
            if progress is not None:
                progress(LearnProgress("reading", place, len(ids)))
            await pause_point()
        return occurrences

    def _taught_by(self, execution: Execution, at: datetime) -> list[LessonOccurrence]:
        """What a run taught; one that can't be understood teaches nothing."""
        try:
            lessons = self._capture.capture(execution)
        except Exception as error:
            raise_fatal(error)
            _log.warning("nothing was learnt from %s: %s", execution.id, type(error).__name__)
            return []
        return [LessonOccurrence(lesson, at) for lesson in lessons if lesson.kind in _COMPARED]

    async def _shared(self) -> tuple[ExistingSkill, ...]:
        return tuple(
            ExistingSkill(skill.memory_ids[0], skill.proposal)
            for skill in await self._skills.active()
            if skill.proposal.scope is ProceduralMemoryScope.ORG and skill.memory_ids
        )

    async def _items(
        self, kinds: Iterable[str], statuses: Container[ApprovalStatus]
    ) -> frozenset[str]:
        """Ids of the items of these kinds with one of these statuses."""
        ids: list[str] = []
        for kind in kinds:
            items = await self._queue.list(action_type=kind, snoozed=True)
            ids += (item.id for item in items if item.status in statuses)
        return frozenset(ids)

    async def _enqueue(self, report: EvolverReport) -> Evolution:
        proposed: list[str] = []
        revised: list[str] = []
        for item in report.items:
            try:
                await self._queue.add(item)
            except ApprovalConflictError:
                if await self._update(item):
                    revised.append(item.id)
            else:
                proposed.append(item.id)
        return Evolution(report, tuple(proposed), tuple(revised))

    async def _update(self, item: ApprovalItem) -> bool:
        """Whether a known item was brought up to date; one that had expired waits again."""
        before = await self._queue.get(item.id)
        if before is None or before.payload == item.payload:
            return False
        return await update_item(
            self._queue,
            before,
            actor=EVOLVER,
            payload=item.payload,
            metadata=item.metadata,
            title=item.title,
            description=item.description,
        )
