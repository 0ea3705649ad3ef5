"""Learns from recorded runs: lessons go to the queue, and what is known already gains evidence."""

import asyncio
import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from synthorg_tui.approvals.models import ApprovalConflictError, ApprovalItem, ApprovalStatus
from synthorg_tui.approvals.proposals import ProposalBox
from synthorg_tui.core.clock import Clock
from synthorg_tui.core.errors import DomainError
from synthorg_tui.core.failsafe import raise_fatal
from synthorg_tui.curation.inbox import (
    ACTOR,
    WORDING_TRIED,
    item_id,
    item_of,
    lesson_of,
    metadata_of,
    title_of,
)
from synthorg_tui.curation.models import Author, FailureAnalysisPayload, Lesson
from synthorg_tui.executions.models import Execution
from synthorg_tui.executions.store import ExecutionStore
from synthorg_tui.learning.capture import Captured, create_capture_strategy
from synthorg_tui.learning.drafting import merged
from synthorg_tui.learning.models import (
    Adopt,
    Learned,
    LearnProgress,
    LearnReport,
    LearnVerdict,
    ProgressSink,
    RecurrenceSink,
)
from synthorg_tui.learning.recipes import find_recipe
from synthorg_tui.learning.wording import (
    ProceduralMemoryProposer,
    SuccessMemoryProposer,
    WordingCancelledError,
)
from synthorg_tui.memory.config import ProceduralMemoryConfig
from synthorg_tui.providers.completion.errors import CompletionError
from synthorg_tui.providers.completion.protocol import CompletionProvider

_LOG = logging.getLogger(__name__)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_MAX_BUSY = 2
"""After so many lessons in a row that the model was too busy for, the others aren't tried."""


class LearnService:
    """Draws lessons from executions and keeps their items up to date.

    Args:
        queue: Where lessons wait for a person.
        executions: The recorded runs.
        config: What counts as a lesson, and how it is worded.
        clock: Decides when an item was made.
        provider: Words lessons; without one they stay as code wrote them.
        sink: Is told when a lesson that was approved is seen again.
        adopt: Approves what needs no person, after something was proposed.
    """

    def __init__(
        self,
        *,
        queue: ProposalBox,
        executions: ExecutionStore,
        config: ProceduralMemoryConfig,
        clock: Clock,
        provider: CompletionProvider | None = None,
        sink: RecurrenceSink | None = None,
        adopt: Adopt | None = None,
    ) -> None:
        self._queue = queue
        self._executions = executions
        self._config = config
        self._clock = clock
        self._sink = sink
        self._adopt = adopt
        self._has_model = provider is not None
        self._failures = ProceduralMemoryProposer(config, provider)
        self._successes = SuccessMemoryProposer(config, provider)
        self._strategy = create_capture_strategy(config.capture)
        self._qualities: dict[str, float | None] = {}
        self._one_at_a_time = asyncio.Lock()

    async def learn(
        self,
        *,
        since: datetime | None = None,
        word: bool = True,
        progress: ProgressSink | None = None,
        cancel: threading.Event | None = None,
    ) -> LearnReport:
        """Look at every execution, or those that ended after ``since``, and word what is new.

        What the model does wrong is a warning in the report, as is a run that can't be
        understood. Learning that is cancelled keeps what it found. Raises what the stores raise.
        """
        ids = await self._executions.ids()
        async with self._one_at_a_time:
            return await _Round(self, progress, cancel or threading.Event()).run(
                ids, since=since, word=word and self._has_model
            )

    async def learn_from(
        self, ids: Sequence[str], *, cancel: threading.Event | None = None
    ) -> LearnReport:
        """Look at these executions only, without a model."""
        async with self._one_at_a_time:
            return await _Round(self, None, cancel or threading.Event()).run(
                ids, since=None, word=False
            )

    async def settle(self, learned: Iterable[Learned]) -> str:
        """Have approved what needs no person; what went wrong, empty when nothing did."""
        fresh = any(
            each.verdict in (LearnVerdict.PROPOSED, LearnVerdict.SEEN_AGAIN) for each in learned
        )
        if self._adopt is None or not fresh:
            return ""
        try:
            await self._adopt()
        except DomainError as error:
            return f"nothing was adopted: {error.message}"
        return ""

    def capture(self, execution: Execution) -> tuple[Captured, ...]:
        """What one run teaches; how good it was is remembered for comparison."""
        recipe = find_recipe(execution)
        self._qualities[execution.id] = recipe.quality if recipe else None
        return self._strategy.capture(execution)

    async def outstanding(self, found: Iterable[Captured]) -> list[Captured]:
        """Those that are worth a lesson next to all other runs."""
        found = list(found)
        if any(each.quality is not None for each in found):
            await self._judge_others()
        return [each for each in found if self._strategy.stands_out(each, self._others(each))]

    async def _judge_others(self) -> None:
        for each in await self._executions.ids():
            if each not in self._qualities and (run := await self._executions.get(each)):
                recipe = await asyncio.to_thread(find_recipe, run)
                self._qualities[each] = recipe.quality if recipe else None

    def _others(self, captured: Captured) -> list[float]:
        own = {each.execution for each in captured.lesson.evidence}
        return [
            quality
            for run, quality in self._qualities.items()
            if quality is not None and run not in own
        ]

    async def submit(self, lesson: Lesson) -> Learned:
        """Propose the lesson, or add what it brings to what is known of it."""
        identity = item_id(lesson.key)
        item = await self._queue.get(identity)
        if item is None:
            if lesson.proposal.confidence < self._config.min_confidence:
                return _learned(lesson, LearnVerdict.UNCERTAIN)
            try:
                await self._queue.add(item_of(lesson, self._clock))
            except ApprovalConflictError:  # somebody else was quicker
                item = await self._queue.get(identity)
            else:
                return _learned(lesson, LearnVerdict.PROPOSED)
        return await self._known(item, lesson) if item else _learned(lesson, LearnVerdict.KNOWN)

    async def _known(self, item: ApprovalItem, lesson: Lesson) -> Learned:
        if item.status is ApprovalStatus.REJECTED:
            return _learned(lesson, LearnVerdict.REJECTED)
        if item.status is ApprovalStatus.APPROVED:
            adopted = self._sink is not None and await self._sink.seen_again(lesson)
            return _learned(lesson, LearnVerdict.ADOPTED if adopted else LearnVerdict.KNOWN)
        known = lesson_of(item)
        together = merged(known, lesson) if known is not None else None
        if together is None or together is known:
            return _learned(known or lesson, LearnVerdict.KNOWN)
        await self._keep(item, together)
        return _learned(together, LearnVerdict.SEEN_AGAIN)

    async def _keep(self, item: ApprovalItem, lesson: Lesson) -> None:
        """The item with this lesson; one that has expired waits again."""
        payload, metadata = lesson.model_dump_json(), item.metadata | metadata_of(lesson)
        if item.status is ApprovalStatus.EXPIRED:
            changes = {
                "status": ApprovalStatus.PENDING,
                "expires_at": None,
                "payload": payload,
                "metadata": metadata,
            }
            await self._queue.save(item.model_copy(update=changes))
            return
        await self._queue.revise(
            item.id, actor=ACTOR, payload=payload, metadata=metadata, title=title_of(lesson)
        )

    async def word(self, captured: Captured, cancel: threading.Event) -> tuple[str, ...]:
        """Have the model word a pending lesson that it wasn't asked for yet; the fields it wrote.

        Raises ``CompletionError`` and ``WordingCancelledError``.
        """
        item = await self._queue.get(item_id(captured.lesson.key))
        lesson = lesson_of(item) if item is not None else None
        if item is None or lesson is None or not _unworded(item):
            return ()
        if isinstance(captured.payload, FailureAnalysisPayload):
            worded = await self._failures.propose(captured.payload, lesson, cancel=cancel)
        else:
            worded = await self._successes.propose(captured.payload, lesson, cancel=cancel)
        if worded is None:
            return ()
        metadata = item.metadata | {WORDING_TRIED: "yes"}
        try:
            await self._queue.revise(
                item.id,
                actor=ACTOR,
                payload=worded.model_dump_json(),
                metadata=metadata,
                title=title_of(worded),
                description=worded.proposal.condition,
            )
        except ApprovalConflictError:  # decided while the model was writing
            return ()
        return tuple(
            field
            for field, author in worded.authors.items()
            if author is Author.MODEL and lesson.authors.get(field) is not Author.MODEL
        )


class _Round:
    """One run of learning."""

    def __init__(
        self, service: LearnService, progress: ProgressSink | None, cancel: threading.Event
    ) -> None:
        self._service = service
        self._progress = progress
        self._cancel = cancel
        self._warnings: list[str] = []
        self._looked_at = 0

    async def run(self, ids: Sequence[str], *, since: datetime | None, word: bool) -> LearnReport:
        captured = await self._service.outstanding(_together(await self._read(ids, since)))
        learned: list[Learned] = []
        for each in captured:
            if self._cancel.is_set():
                break
            learned.append(await self._service.submit(each.lesson))
        if word:
            learned = await self._word(captured, learned)
        if problem := await self._service.settle(learned):
            self._warn(problem)
        return LearnReport(
            executions=self._looked_at,
            lessons=tuple(learned),
            warnings=tuple(self._warnings),
            cancelled=self._cancel.is_set(),
        )

    async def _read(self, ids: Sequence[str], since: datetime | None) -> list[Captured]:
        found: list[Captured] = []
        for place, each in enumerate(ids):
            if self._cancel.is_set():
                break
            self._tell("reading", place, len(ids))
            execution = await self._service._executions.get(each)
            if execution is None or _is_before(execution, since):
                continue
            self._looked_at += 1
            try:
                found += await asyncio.to_thread(self._service.capture, execution)
            except Exception as error:
                raise_fatal(error)
                _LOG.exception("can't learn from %s", each)
                self._warnings.append(f"{each} can't be understood: {type(error).__name__}")
        self._tell("reading", len(ids), len(ids))
        return found

    async def _word(self, captured: list[Captured], learned: list[Learned]) -> list[Learned]:
        """The lessons again, with the fields that the model wrote."""
        done: list[Learned] = []
        busy = 0
        for place, (each, known) in enumerate(zip(captured, learned, strict=False)):
            self._tell("wording", place, len(learned))
            if self._cancel.is_set() or busy >= _MAX_BUSY:
                break
            try:
                done.append(replace(known, worded=await self._service.word(each, self._cancel)))
                busy = 0
            except WordingCancelledError:
                break
            except CompletionError as error:
                self._warn(f"the model failed: {error.message}")
                done.append(known)
                busy = busy + 1 if error.retryable else _MAX_BUSY
            except Exception as error:
                raise_fatal(error)
                self._warn(f"the model failed unexpectedly ({type(error).__name__})")
                busy = _MAX_BUSY
                done.append(known)
        self._tell("wording", len(learned), len(learned))
        return [*done, *learned[len(done) :]]

    def _warn(self, text: str) -> None:
        _LOG.warning("%s", text)
        self._warnings.append(text)

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(LearnProgress(stage, done, total))


def _together(found: Iterable[Captured]) -> list[Captured]:
    """Each lesson once with all its evidence: as the most certain run taught it, else the first."""
    first = sorted(
        found, key=lambda each: (-each.lesson.proposal.confidence, _first_seen(each.lesson))
    )
    lessons: dict[str, Captured] = {}
    for each in first:
        known = lessons.setdefault(each.lesson.key, each)
        if known is not each:
            lesson = merged(known.lesson, each.lesson)
            lessons[each.lesson.key] = replace(known, lesson=lesson)
    return list(lessons.values())


def _first_seen(lesson: Lesson) -> datetime:
    return min((each.at for each in lesson.evidence if each.at), default=_LONG_AGO)


def _is_before(execution: Execution, since: datetime | None) -> bool:
    at = execution.ended_at or execution.started_at
    return since is not None and (at is None or at < since)


def _learned(lesson: Lesson, verdict: LearnVerdict) -> Learned:
    return Learned(
        item_id=item_id(lesson.key),
        title=title_of(lesson),
        verdict=verdict,
        recurrence=lesson.recurrence,
        confidence=lesson.proposal.confidence,
    )


def _unworded(item: ApprovalItem) -> bool:
    return item.status is ApprovalStatus.PENDING and WORDING_TRIED not in item.metadata
