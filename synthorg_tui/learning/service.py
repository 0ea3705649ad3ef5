"""Learning from recorded executions: one pass reads, draws lessons, proposes and words them.

In the end the policy may approve what needs no person. What a lesson is, is for ``capture`` and
``drafting``; what becomes of its item for ``proposals``. A pass can be cancelled at any time, and
what it has proposed by then stays.
"""

import asyncio
import logging
import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from synthorg_tui.approvals.queue import ApprovalQueue
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.curation.models import Author, Lesson, LessonKind
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.learning.capture import create_capture_strategy
from synthorg_tui.learning.corrections import one_key_each
from synthorg_tui.learning.drafting import merged
from synthorg_tui.learning.evidence import LessonEvidence
from synthorg_tui.learning.habits import SETTLED, without_covered
from synthorg_tui.learning.models import (
    Adopt,
    Learned,
    LearnReport,
    LearnRun,
    LearnVerdict,
    ProgressSink,
)
from synthorg_tui.learning.proposals import LessonProposals
from synthorg_tui.learning.word_run import LessonWording
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.config import CompletionConfig
from synthorg_tui.providers.completion.factory import too_small_to_write
from synthorg_tui.providers.completion.protocol import CompletionProvider

_log = logging.getLogger(__name__)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_MAX_READ_AGAIN = 500
"""For a lesson that isn't settled other runs are read, unless so many are yet to be read."""


class LearnService:
    """Draws lessons from executions and proposes them to a person.

    Args:
        executions: The recorded runs.
        proposals: Where lessons wait for a person.
        config: Says which lessons to draw, and how they are worded.
        provider: The model that words lessons; without one they stay as code wrote them.
        adopt: Called after something was proposed, to approve what needs no person.
        unasked: Why the model isn't asked although there is one; empty when it is.
    """

    def __init__(
        self,
        *,
        executions: ExecutionStore,
        proposals: LessonProposals,
        config: ProceduralMemoryConfig,
        provider: CompletionProvider | None = None,
        adopt: Adopt | None = None,
        unasked: str = "",
    ) -> None:
        self._executions = executions
        self._proposals = proposals
        self._adopt = adopt
        self._has_model = provider is not None
        self._unasked = unasked
        self._wording = LessonWording(proposals, config, provider)
        self._strategy = create_capture_strategy(config.capture)
        self._spanning: dict[str, tuple[Lesson, ...]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def learn(
        self,
        *,
        since: datetime | None = None,
        word: bool = True,
        progress: ProgressSink | None = None,
        cancel: threading.Event | None = None,
    ) -> LearnReport:
        """Learn from every execution, or those that ended at or after ``since``.

        New lessons are worded by the model unless ``word`` is false. Failures of the model and runs
        that can't be understood are warnings in the report. ``cancel`` stops it early; what was
        proposed by then stays. Raises what the stores raise.
        """
        ids = await self._executions.ids()
        run = LearnRun(progress, cancel or threading.Event())
        async with self._one_at_a_time:
            return await self._learn(run, ids, since=since, word=word and self._has_model)

    async def learn_from(
        self, ids: Sequence[str], *, cancel: threading.Event | None = None
    ) -> LearnReport:
        """Learn from the executions with these ids, without a model; otherwise as ``learn``."""
        run = LearnRun(None, cancel or threading.Event())
        async with self._one_at_a_time:
            return await self._learn(run, ids, since=None, word=False)

    def capture(self, execution: Execution) -> tuple[Lesson, ...]:
        """Return the lessons of one run, and record what matters for those of other runs."""
        lessons = self._strategy.capture(execution)
        self._spanning[execution.id] = tuple(one for one in lessons if _is_spanning(one))
        return lessons

    async def _learn(
        self, run: LearnRun, ids: Sequence[str], *, since: datetime | None, word: bool
    ) -> LearnReport:
        read = await self._with_others(await self._read(run, ids, since))
        lessons = _once_each(without_covered(_together(read)))
        told: list[Lesson] = []
        learned: list[Learned] = []
        for lesson in lessons:
            if run.is_cancelled:
                break
            became = await self._proposals.submit(lesson)
            if not _is_waiting(became):
                told.append(lesson)
                learned.append(became)
        if word:
            learned = await self._worded(run, told, learned)
        await self._adopt_new(run, learned)
        if not run.is_cancelled:
            await self._executions.learnt(run.read)
        return run.report(learned)

    async def _read(
        self, run: LearnRun, ids: Sequence[str], since: datetime | None
    ) -> list[Lesson]:
        lessons: list[Lesson] = []
        for place, execution_id in enumerate(ids):
            if run.is_cancelled:
                break
            run.show("reading", place, len(ids))
            execution = await self._executions.get(execution_id)
            if execution is None or _is_before(execution, since):
                continue
            run.read[execution_id] = execution.line_count
            try:
                lessons += await asyncio.to_thread(self.capture, execution)
            except Exception as error:
                raise_fatal(error)
                _log.exception("can't learn from %s", execution_id)
                run.warnings.append(f"{execution_id} can't be understood: {type(error).__name__}")
        run.show("reading", len(ids), len(ids))
        return lessons

    async def _with_others(self, lessons: list[Lesson]) -> list[Lesson]:
        """The lessons with what other runs say of the same, where it takes several sessions."""
        known = await self._executions.ids()
        unread = sum(execution_id not in self._spanning for execution_id in known)
        if any(_takes_others(one, unread) for one in lessons):
            await self._read_others()
        own = {seen.execution for one in lessons for seen in one.evidence}
        others = [
            one
            for execution_id in known
            if execution_id not in own
            for one in self._spanning.get(execution_id, ())
        ]
        together = one_key_each([*lessons, *others])
        wanted = {one.key for one in together[: len(lessons)]}
        return [one for one in together if one.key in wanted]

    async def _read_others(self) -> None:
        for execution_id in await self._executions.ids():
            if execution_id in self._spanning:
                continue
            execution = await self._executions.get(execution_id)
            if execution is None:
                continue
            try:
                await asyncio.to_thread(self.capture, execution)
            except Exception as error:
                raise_fatal(error)
                _log.exception("can't learn from %s", execution_id)

    async def _worded(
        self, run: LearnRun, lessons: Sequence[Lesson], learned: list[Learned]
    ) -> list[Learned]:
        """The lessons with the model's words, unless it is one that isn't asked."""
        if not self._unasked:
            return await self._wording.word_all(run, lessons, learned)
        if learned:
            run.tell(self._unasked)
        return learned

    async def _adopt_new(self, run: LearnRun, learned: Iterable[Learned]) -> None:
        """Have approved what needs no person, when there is anything new.

        What is known of a session that wasn't learnt from to the end may have been proposed by a
        run that was killed before it got here.
        """
        new = (LearnVerdict.PROPOSED, LearnVerdict.SEEN_AGAIN)
        is_new = any(lesson.verdict in new for lesson in learned)
        left = await self._executions.unlearnt()
        if self._adopt is None or not (is_new or left.keys() & run.read):
            return
        try:
            await self._adopt()
        except DomainError as error:
            run.warn(f"nothing was adopted: {error.message}")


def _together(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Each lesson once with all its evidence: as the most certain run taught it, else the first."""
    ordered = sorted(
        lessons,
        key=lambda lesson: (
            lesson.source is Author.REPORTED,
            -lesson.proposal.confidence,
            _first_seen(lesson),
        ),
    )
    known: dict[str, Lesson] = {}
    for lesson in ordered:
        before = known.setdefault(lesson.key, lesson)
        if before is not lesson:
            known[lesson.key] = merged(before, lesson)
    return list(known.values())


def _once_each(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Of lessons that tell an agent the same, whatever the error was, the most certain one."""
    best: dict[tuple[str, str], Lesson] = {}
    for one in lessons:
        told = one.agent_id, one.proposal.discovery
        best[told] = max(best.get(told, one), one, key=lambda each: each.proposal.confidence)
    return list(best.values())


def _is_waiting(learned: Learned) -> bool:
    """Whether it is kept in mind only, until another session teaches it, too."""
    return learned.verdict is LearnVerdict.UNCERTAIN and learned.confidence < SETTLED


def _is_spanning(lesson: Lesson) -> bool:
    """Whether several sessions make a lesson more certain before it is proposed."""
    said = lesson.kind in {LessonKind.CORRECTION, LessonKind.HABIT}
    return said or lesson.proposal.confidence < SETTLED


def _takes_others(lesson: Lesson, unread: int) -> bool:
    """Whether a lesson needs other runs: who said it before, whether it came up there, too."""
    unsettled = lesson.proposal.confidence < SETTLED and unread <= _MAX_READ_AGAIN
    return lesson.kind is LessonKind.CORRECTION or unsettled


def _first_seen(lesson: Lesson) -> datetime:
    return min((evidence.at for evidence in lesson.evidence if evidence.at), default=_LONG_AGO)


def _is_before(execution: Execution, since: datetime | None) -> bool:
    at = execution.ended_at or execution.started_at
    return since is not None and (at is None or at < since)


def build_learning(
    queue: ApprovalQueue,
    evidence: LessonEvidence,
    *,
    executions: ExecutionStore,
    config: ProceduralMemoryConfig,
    clock: Clock,
    provider: CompletionProvider | None,
    adopt: Adopt | None,
    completion: CompletionConfig,
) -> LearnService:
    """Build the service that proposes lessons in ``queue``; the rest is as ``LearnService`` has it.

    ``evidence`` adds what was seen since to lessons that are approved; ``completion`` says whether
    the model is large enough to write.
    """
    proposals = LessonProposals(
        queue, clock=clock, min_confidence=config.min_confidence, evidence=evidence
    )
    return LearnService(
        executions=executions,
        proposals=proposals,
        config=config,
        provider=provider,
        adopt=adopt,
        unasked=too_small_to_write(completion),
    )
